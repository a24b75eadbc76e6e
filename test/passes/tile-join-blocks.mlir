// RUN: tilewright-opt %s --tile-join-blocks -o %t.after.mlir 2> %t.log
// RUN: FileCheck %s < %t.after.mlir
// RUN: FileCheck %s --check-prefix=REMARK < %t.log

// Each case is checked as text and run, before and after.

// DEFINE: %{name} =
// DEFINE: %{options} = --checksums --function %{name}
// DEFINE: %{same} = tilewright-run %s %{options} > %t.before && tilewright-run %t.after.mlir %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = left_operand
// RUN: %{same}

// REDEFINE: %{name} = gaps
// RUN: %{same}

// REDEFINE: %{name} = right_operand
// RUN: %{same}

// REDEFINE: %{name} = odd_extents
// RUN: %{same}

// REDEFINE: %{name} = other_turns
// RUN: %{same}

// REDEFINE: %{name} = vector_work
// RUN: %{same}

!a = memref<32x16xf16, #tile.scope<l1>>
!b = memref<32x16xf16, #tile.scope<l1>>
!c = memref<32x32xf32, #tile.scope<l0c>>

// Only the first extent is even: neighbours along it have A in common. Four of them become one, whose tile of B has four
// times the rows.
// REMARK: [tile-join-blocks] applied: one block does the work of two in larger tiles: 'a' is loaded once for both
// CHECK-LABEL: func.func @left_operand(
// CHECK: tile.launch
// CHECK-SAME: (%c4{{.*}}, %c13)
// CHECK: tile.alloc "a" : memref<32x16xf16
// CHECK: tile.alloc "b" : memref<128x16xf16
// CHECK: tile.alloc "c" : memref<32x128xf32
// CHECK: scf.for
// CHECK: tile.copy (%a[
// CHECK: tile.copy (%b[%c0, %c0] [%c128
// CHECK-SAME: %arg1{{.*}} [%c128
// CHECK: tile.gemm (%c[{{.*}}, %c128
// CHECK-NOT: tile.gemm
// CHECK: tile.copy (%arg2[{{.*}}, %c128
func.func @left_operand(%A: memref<416x64xf16, #tile.scope<global>>, %B: memref<512x64xf16, #tile.scope<global>>, %C: memref<416x512xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %gx = arith.constant 16 : index
  %gy = arith.constant 13 : index
  tile.launch (%bx, %by) in (%gx, %gy) {
    %a = tile.alloc "a" : !a
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    %i = arith.muli %by, %c32 : index
    %j = arith.muli %bx, %c32 : index
    scf.for %k = %c0 to %c4 step %c1 {
      %o = arith.muli %k, %c16 : index
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%i, %o] [%c32, %c16] : memref<416x64xf16, #tile.scope<global>>)
      tile.copy (%b[%c0, %c0] [%c32, %c16] : !b, %B[%j, %o] [%c32, %c16] : memref<512x64xf16, #tile.scope<global>>)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c32, %c16] : !b) init %first {transpose_b}
    }
    tile.copy (%C[%i, %j] [%c32, %c32] : memref<416x512xf32, #tile.scope<global>>, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}

// What neighbours write is not one piece: their statements run in turn.
// REMARK: [tile-join-blocks] applied: one block does the work of two: 'a' is loaded once for both
// CHECK-LABEL: func.func @gaps(
// CHECK: tile.launch
// CHECK-DAG: tile.alloc "a" :
// CHECK-DAG: tile.alloc "b" :
// CHECK-DAG: tile.alloc "b.2" :
// CHECK-DAG: tile.alloc "c" :
// CHECK-DAG: tile.alloc "c.2" :
// CHECK: scf.for
// CHECK: tile.copy (%a[
// CHECK-NOT: tile.copy (%a
// CHECK: tile.copy (%b[
// CHECK-NOT: tile.copy (%a
// CHECK: tile.copy (%b.2[
// CHECK-NOT: tile.copy (%a
// CHECK: tile.gemm (%c[
// CHECK: tile.gemm (%c.2[
// CHECK: tile.copy (%arg2[{{.*}}%c[
// CHECK: tile.copy (%arg2[{{.*}}%c.2[
func.func @gaps(%A: memref<416x64xf16, #tile.scope<global>>, %B: memref<1024x64xf16, #tile.scope<global>>, %C: memref<416x1024xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %gx = arith.constant 16 : index
  %gy = arith.constant 13 : index
  tile.launch (%bx, %by) in (%gx, %gy) {
    %a = tile.alloc "a" : !a
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    %i = arith.muli %by, %c32 : index
    %j = arith.muli %bx, %c64 : index
    scf.for %k = %c0 to %c4 step %c1 {
      %o = arith.muli %k, %c16 : index
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%i, %o] [%c32, %c16] : memref<416x64xf16, #tile.scope<global>>)
      tile.copy (%b[%c0, %c0] [%c32, %c16] : !b, %B[%j, %o] [%c32, %c16] : memref<1024x64xf16, #tile.scope<global>>)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c32, %c16] : !b) init %first {transpose_b}
    }
    tile.copy (%C[%i, %j] [%c32, %c32] : memref<416x1024xf32, #tile.scope<global>>, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}

// Along the second extent it is B.
// REMARK: [tile-join-blocks] applied: one block does the work of two in larger tiles: 'b' is loaded once for both
// CHECK-LABEL: func.func @right_operand(
// CHECK: tile.alloc "a" : memref<128x16xf16
// CHECK: tile.alloc "b" : memref<32x16xf16
// CHECK: tile.alloc "c" : memref<128x32xf32
func.func @right_operand(%A: memref<512x64xf16, #tile.scope<global>>, %B: memref<416x64xf16, #tile.scope<global>>, %C: memref<512x416xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %gx = arith.constant 13 : index
  %gy = arith.constant 16 : index
  tile.launch (%bx, %by) in (%gx, %gy) {
    %a = tile.alloc "a" : !a
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    %i = arith.muli %by, %c32 : index
    %j = arith.muli %bx, %c32 : index
    scf.for %k = %c0 to %c4 step %c1 {
      %o = arith.muli %k, %c16 : index
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%i, %o] [%c32, %c16] : memref<512x64xf16, #tile.scope<global>>)
      tile.copy (%b[%c0, %c0] [%c32, %c16] : !b, %B[%j, %o] [%c32, %c16] : memref<416x64xf16, #tile.scope<global>>)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c32, %c16] : !b) init %first {transpose_b}
    }
    tile.copy (%C[%i, %j] [%c32, %c32] : memref<512x416xf32, #tile.scope<global>>, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}

// CHECK-LABEL: func.func @odd_extents(
// CHECK-NOT: tile.alloc "a.2"
// CHECK-NOT: tile.alloc "b.2"
func.func @odd_extents(%A: memref<416x64xf16, #tile.scope<global>>, %B: memref<352x64xf16, #tile.scope<global>>, %C: memref<416x352xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %gx = arith.constant 11 : index
  %gy = arith.constant 13 : index
  tile.launch (%bx, %by) in (%gx, %gy) {
    %a = tile.alloc "a" : !a
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    %i = arith.muli %by, %c32 : index
    %j = arith.muli %bx, %c32 : index
    scf.for %k = %c0 to %c4 step %c1 {
      %o = arith.muli %k, %c16 : index
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%i, %o] [%c32, %c16] : memref<416x64xf16, #tile.scope<global>>)
      tile.copy (%b[%c0, %c0] [%c32, %c16] : !b, %B[%j, %o] [%c32, %c16] : memref<352x64xf16, #tile.scope<global>>)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c32, %c16] : !b) init %first {transpose_b}
    }
    tile.copy (%C[%i, %j] [%c32, %c32] : memref<416x352xf32, #tile.scope<global>>, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}

// The number of turns depends on the block along both extents.
// CHECK-LABEL: func.func @other_turns(
// CHECK-NOT: tile.alloc "a.2"
// CHECK-NOT: tile.alloc "b.2"
func.func @other_turns(%A: memref<320x64xf16, #tile.scope<global>>, %B: memref<512x64xf16, #tile.scope<global>>, %C: memref<320x512xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %gx = arith.constant 16 : index
  %gy = arith.constant 10 : index
  tile.launch (%bx, %by) in (%gx, %gy) {
    %a = tile.alloc "a" : !a
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    %i = arith.muli %by, %c32 : index
    %j = arith.muli %bx, %c32 : index
    %sum = arith.addi %bx, %by : index
    %rest = arith.remui %sum, %c4 : index
    %end = arith.addi %rest, %c1 : index
    scf.for %k = %c0 to %end step %c1 {
      %o = arith.muli %k, %c16 : index
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%i, %o] [%c32, %c16] : memref<320x64xf16, #tile.scope<global>>)
      tile.copy (%b[%c0, %c0] [%c32, %c16] : !b, %B[%j, %o] [%c32, %c16] : memref<512x64xf16, #tile.scope<global>>)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c32, %c16] : !b) init %first {transpose_b}
    }
    tile.copy (%C[%i, %j] [%c32, %c32] : memref<320x512xf32, #tile.scope<global>>, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}

// CHECK-LABEL: func.func @vector_work(
// CHECK-NOT: tile.alloc "a.2"
// CHECK-NOT: tile.alloc "b.2"
func.func @vector_work(%A: memref<320x64xf16, #tile.scope<global>>, %B: memref<512x64xf16, #tile.scope<global>>, %C: memref<320x512xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %gx = arith.constant 16 : index
  %gy = arith.constant 10 : index
  tile.launch (%bx, %by) in (%gx, %gy) {
    %a = tile.alloc "a" : !a
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    %i = arith.muli %by, %c32 : index
    %j = arith.muli %bx, %c32 : index
    %u = tile.alloc "u" : memref<32x32xf32, #tile.scope<ub>>
    scf.for %k = %c0 to %c4 step %c1 {
      %o = arith.muli %k, %c16 : index
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%i, %o] [%c32, %c16] : memref<320x64xf16, #tile.scope<global>>)
      tile.copy (%b[%c0, %c0] [%c32, %c16] : !b, %B[%j, %o] [%c32, %c16] : memref<512x64xf16, #tile.scope<global>>)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c32, %c16] : !b) init %first {transpose_b}
    }
    tile.copy (%u[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<ub>>, %c[%c0, %c0] [%c32, %c32] : !c)
    tile.copy (%C[%i, %j] [%c32, %c32] : memref<320x512xf32, #tile.scope<global>>, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}
