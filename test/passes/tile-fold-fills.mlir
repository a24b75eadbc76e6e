// RUN: tilewright-opt %s --tile-fold-fills -o %t.after.mlir 2> %t.log
// RUN: FileCheck %s < %t.after.mlir
// RUN: FileCheck %s --check-prefix=REMARK < %t.log
// RUN: tilewright-opt %s --tile-fold-fills=strict=true 2> /dev/null | FileCheck %s --check-prefix=STRICT

// Each case is checked as text and run, before and after.

// DEFINE: %{name} =
// DEFINE: %{options} = --checksums --function %{name}
// DEFINE: %{same} = tilewright-run %s %{options} > %t.before && tilewright-run %t.after.mlir %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = scalar_of_a_product
// RUN: %{same}

// REDEFINE: %{name} = nothing_changes
// RUN: %{same}

// REDEFINE: %{name} = order_of_operands
// RUN: %{same}

// REDEFINE: %{name} = written_again
// RUN: %{same}

// REDEFINE: %{name} = in_a_branch
// RUN: %{same}

// REDEFINE: %{name} = part_of_a_tile
// RUN: %{same}

// REDEFINE: %{name} = both
// RUN: %{same}

// REMARK: [tile-fold-fills] applied: 'c' holds one number here, which is an operand by itself
// REMARK: [tile-fold-fills] applied: 'c' holds one number here, which changes nothing

// The number is filled in before the loop and stays.
// CHECK-LABEL: func.func @scalar_of_a_product(
// CHECK-NOT: tile.fill
// CHECK: tile.elementwise <mul> (%t[{{.*}} %x[{{.*}} scalar %cst : f32
func.func @scalar_of_a_product(%X: memref<8x8xf32> {tile.name = "X"}, %Y: memref<8x8xf32> {tile.name = "Y", tile.output}, %Z: memref<8x8xf32> {tile.name = "Z", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %two = arith.constant 2.0 : f32
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : memref<8x8xf32, #tile.scope<fragment>>
    %c = tile.alloc "c" : memref<8x8xf32, #tile.scope<fragment>>
    %t = tile.alloc "t" : memref<8x8xf32, #tile.scope<fragment>>
    tile.copy (%x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %X[%c0, %c0] [%c8, %c8] : memref<8x8xf32>)
    tile.fill %two : f32, (%c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    scf.for %i = %c0 to %c3 step %c1 {
      tile.elementwise <mul> (%t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
      tile.elementwise <add> (%x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    }
    tile.copy (%Y[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    tile.copy (%Z[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
  }
  return
}

// CHECK-LABEL: func.func @nothing_changes(
// STRICT-LABEL: func.func @nothing_changes(
// CHECK: tile.elementwise <copy> (%t[{{.*}} %x[{{.*}} {maps
// STRICT: tile.elementwise <add> (%t[{{.*}} %x[{{.*}} scalar %cst : f32
func.func @nothing_changes(%X: memref<8x8xf32> {tile.name = "X"}, %Y: memref<8x8xf32> {tile.name = "Y", tile.output}, %Z: memref<8x8xf32> {tile.name = "Z", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : memref<8x8xf32, #tile.scope<fragment>>
    %c = tile.alloc "c" : memref<8x8xf32, #tile.scope<fragment>>
    %t = tile.alloc "t" : memref<8x8xf32, #tile.scope<fragment>>
    tile.copy (%x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %X[%c0, %c0] [%c8, %c8] : memref<8x8xf32>)
    tile.fill %zero : f32, (%c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    tile.elementwise <add> (%t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    tile.copy (%Y[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    tile.copy (%Z[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
  }
  return
}

// A difference has no scalar on its left.
// CHECK-LABEL: func.func @order_of_operands(
// CHECK: tile.fill %cst
// CHECK: tile.elementwise <sub> (%t[{{.*}} %c[{{.*}} %x[
// CHECK: tile.elementwise <sub> (%x[{{.*}} %t[{{.*}} scalar %cst
func.func @order_of_operands(%X: memref<8x8xf32> {tile.name = "X"}, %Y: memref<8x8xf32> {tile.name = "Y", tile.output}, %Z: memref<8x8xf32> {tile.name = "Z", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %two = arith.constant 2.0 : f32
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : memref<8x8xf32, #tile.scope<fragment>>
    %c = tile.alloc "c" : memref<8x8xf32, #tile.scope<fragment>>
    %t = tile.alloc "t" : memref<8x8xf32, #tile.scope<fragment>>
    tile.copy (%x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %X[%c0, %c0] [%c8, %c8] : memref<8x8xf32>)
    tile.fill %two : f32, (%c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    tile.elementwise <sub> (%t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    tile.elementwise <sub> (%x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    tile.copy (%Y[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    tile.copy (%Z[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
  }
  return
}

// A later turn finds what an earlier one has written.
// CHECK-LABEL: func.func @written_again(
// CHECK: tile.fill %cst
// CHECK: tile.elementwise <mul> (%t[{{.*}} %x[{{.*}} %c[
func.func @written_again(%X: memref<8x8xf32> {tile.name = "X"}, %Y: memref<8x8xf32> {tile.name = "Y", tile.output}, %Z: memref<8x8xf32> {tile.name = "Z", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %two = arith.constant 2.0 : f32
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : memref<8x8xf32, #tile.scope<fragment>>
    %c = tile.alloc "c" : memref<8x8xf32, #tile.scope<fragment>>
    %t = tile.alloc "t" : memref<8x8xf32, #tile.scope<fragment>>
    tile.copy (%x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %X[%c0, %c0] [%c8, %c8] : memref<8x8xf32>)
    tile.fill %two : f32, (%c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    scf.for %i = %c0 to %c3 step %c1 {
      tile.elementwise <mul> (%t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
      tile.elementwise <add> (%c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    }
    tile.copy (%Y[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    tile.copy (%Z[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
  }
  return
}

// What a branch fills in is not known behind it.
// CHECK-LABEL: func.func @in_a_branch(
// CHECK: scf.if
// CHECK: tile.fill %cst
// CHECK: tile.elementwise <max> (%t[{{.*}} %x[{{.*}} scalar %cst
// CHECK: tile.elementwise <mul> (%t[{{.*}} %t[{{.*}} %c[
func.func @in_a_branch(%X: memref<8x8xf32> {tile.name = "X"}, %Y: memref<8x8xf32> {tile.name = "Y", tile.output}, %Z: memref<8x8xf32> {tile.name = "Z", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : memref<8x8xf32, #tile.scope<fragment>>
    %c = tile.alloc "c" : memref<8x8xf32, #tile.scope<fragment>>
    %t = tile.alloc "t" : memref<8x8xf32, #tile.scope<fragment>>
    tile.copy (%x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %X[%c0, %c0] [%c8, %c8] : memref<8x8xf32>)
    tile.fill %two : f32, (%c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    %is = arith.cmpi eq, %bx, %c0 : index
    scf.if %is {
      tile.fill %zero : f32, (%c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
      tile.elementwise <max> (%t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    }
    tile.elementwise <mul> (%t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    tile.copy (%Y[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    tile.copy (%Z[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
  }
  return
}

// Half of the tile holds something else.
// CHECK-LABEL: func.func @part_of_a_tile(
// CHECK: tile.elementwise <mul> (%t[{{.*}} %x[{{.*}} %c[
func.func @part_of_a_tile(%X: memref<8x8xf32> {tile.name = "X"}, %Y: memref<8x8xf32> {tile.name = "Y", tile.output}, %Z: memref<8x8xf32> {tile.name = "Z", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : memref<8x8xf32, #tile.scope<fragment>>
    %c = tile.alloc "c" : memref<8x8xf32, #tile.scope<fragment>>
    %t = tile.alloc "t" : memref<8x8xf32, #tile.scope<fragment>>
    tile.copy (%x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %X[%c0, %c0] [%c8, %c8] : memref<8x8xf32>)
    tile.fill %two : f32, (%c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    tile.fill %zero : f32, (%c[%c0, %c0] [%c4, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    tile.elementwise <mul> (%t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    tile.copy (%Y[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    tile.copy (%Z[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
  }
  return
}

// One operand is left as a tile.
// CHECK-LABEL: func.func @both(
// CHECK: tile.elementwise <add> (%t[{{.*}} %c[{{.*}} scalar %cst
func.func @both(%X: memref<8x8xf32> {tile.name = "X"}, %Y: memref<8x8xf32> {tile.name = "Y", tile.output}, %Z: memref<8x8xf32> {tile.name = "Z", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %two = arith.constant 2.0 : f32
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : memref<8x8xf32, #tile.scope<fragment>>
    %c = tile.alloc "c" : memref<8x8xf32, #tile.scope<fragment>>
    %t = tile.alloc "t" : memref<8x8xf32, #tile.scope<fragment>>
    tile.copy (%x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %X[%c0, %c0] [%c8, %c8] : memref<8x8xf32>)
    tile.fill %two : f32, (%c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    tile.elementwise <add> (%t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>, %c[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    tile.copy (%Y[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %t[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
    tile.copy (%Z[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %x[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #tile.scope<fragment>>)
  }
  return
}
