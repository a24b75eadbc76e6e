// RUN: tilewright-opt %s --tile-fit-blocks -o %t.after.mlir 2> %t.log
// RUN: FileCheck %s < %t.after.mlir
// RUN: FileCheck %s --check-prefix=REMARK < %t.log

// Each case is checked as text and run, before and after.

// DEFINE: %{name} =
// DEFINE: %{options} = --checksums --function %{name}
// DEFINE: %{same} = tilewright-run %s %{options} > %t.before && tilewright-run %t.after.mlir %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = ragged
// RUN: %{same}

// REDEFINE: %{name} = one_extent
// RUN: %{same}

// REDEFINE: %{name} = shifted
// RUN: %{same}

// REDEFINE: %{name} = part
// RUN: %{same}

// REDEFINE: %{name} = other_turns
// RUN: %{same}

// REDEFINE: %{name} = as_good
// RUN: %{same}

!a = memref<32x16xf16, #tile.scope<l1>>
!b = memref<32x16xf16, #tile.scope<l1>>
!c = memref<32x32xf32, #tile.scope<l0c>>

// 19 x 13 blocks of 32 x 32, the last ones ragged.
// REMARK: [tile-fit-blocks] applied: a block takes {{[0-9]+}} x {{[0-9]+}} along the grid instead of 32 x 32: {{[0-9]+}} blocks for 20 cores
// CHECK-LABEL: func.func @ragged(
// CHECK: tile.alloc "a" : memref<[[M:[0-9]+]]x16xf16
// CHECK: tile.alloc "b" : memref<[[N:[0-9]+]]x16xf16
// CHECK: tile.alloc "c" : memref<[[M]]x[[N]]xf32
// CHECK: scf.for
// CHECK: tile.copy (%a[%c0, %c0] [%c[[M]]
// CHECK: tile.copy (%b[%c0, %c0] [%c[[N]]
// CHECK: tile.gemm (%c[%c0, %c0] [%c[[M]]{{[_0-9]*}}, %c[[N]]
// CHECK: tile.copy (%arg2[{{.*}} [%c[[M]]{{[_0-9]*}}, %c[[N]]
func.func @ragged(%A: memref<393x64xf16, #tile.scope<global>>, %B: memref<600x64xf16, #tile.scope<global>>, %C: memref<393x600xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %gx = arith.constant 19 : index
  %gy = arith.constant 13 : index
  tile.launch (%bx, %by) in (%gx, %gy) {
    %a = tile.alloc "a" : !a
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    %i = arith.muli %by, %c32 : index
    %j = arith.muli %bx, %c32 : index
    scf.for %k = %c0 to %c4 step %c1 {
      %o = arith.muli %k, %c16 : index
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%i, %o] [%c32, %c16] : memref<393x64xf16, #tile.scope<global>>)
      tile.copy (%b[%c0, %c0] [%c32, %c16] : !b, %B[%j, %o] [%c32, %c16] : memref<600x64xf16, #tile.scope<global>>)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c32, %c16] : !b) init %first {transpose_b}
    }
    tile.copy (%C[%i, %j] [%c32, %c32] : memref<393x600xf32, #tile.scope<global>>, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}

// The tensors differ along the first extent, so only the second one is free.
// REMARK: [tile-fit-blocks] applied: a block takes {{[0-9]+}} along the grid instead of 32
// CHECK-LABEL: func.func @one_extent(
// CHECK: tile.alloc "b" : memref<32x16xf16
func.func @one_extent(%A: memref<393x64xf16, #tile.scope<global>>, %B: memref<620x64xf16, #tile.scope<global>>, %C: memref<393x600xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %gx = arith.constant 19 : index
  %gy = arith.constant 13 : index
  tile.launch (%bx, %by) in (%gx, %gy) {
    %a = tile.alloc "a" : !a
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    %i = arith.muli %by, %c32 : index
    %j = arith.muli %bx, %c32 : index
    scf.for %k = %c0 to %c4 step %c1 {
      %o = arith.muli %k, %c16 : index
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%i, %o] [%c32, %c16] : memref<393x64xf16, #tile.scope<global>>)
      tile.copy (%b[%c0, %c0] [%c32, %c16] : !b, %B[%j, %o] [%c32, %c16] : memref<620x64xf16, #tile.scope<global>>)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c32, %c16] : !b) init %first {transpose_b}
    }
    tile.copy (%C[%i, %j] [%c32, %c32] : memref<393x600xf32, #tile.scope<global>>, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}

// The first block does not begin with the tensor: its share is not known.
// CHECK-LABEL: func.func @shifted(
// CHECK: tile.alloc "a" : memref<{{[0-9]+}}x16xf16
// CHECK: tile.alloc "b" : memref<32x16xf16
func.func @shifted(%A: memref<393x64xf16, #tile.scope<global>>, %B: memref<600x64xf16, #tile.scope<global>>, %C: memref<393x600xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %gx = arith.constant 18 : index
  %gy = arith.constant 13 : index
  tile.launch (%bx, %by) in (%gx, %gy) {
    %a = tile.alloc "a" : !a
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    %i = arith.muli %by, %c32 : index
    %shift = arith.muli %bx, %c32 : index
    %j = arith.addi %shift, %c16 : index
    scf.for %k = %c0 to %c4 step %c1 {
      %o = arith.muli %k, %c16 : index
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%i, %o] [%c32, %c16] : memref<393x64xf16, #tile.scope<global>>)
      tile.copy (%b[%c0, %c0] [%c32, %c16] : !b, %B[%j, %o] [%c32, %c16] : memref<600x64xf16, #tile.scope<global>>)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c32, %c16] : !b) init %first {transpose_b}
    }
    tile.copy (%C[%i, %j] [%c32, %c32] : memref<393x600xf32, #tile.scope<global>>, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}

// The blocks leave the end of the tensor alone.
// CHECK-LABEL: func.func @part(
// CHECK: tile.alloc "b" : memref<32x16xf16
func.func @part(%A: memref<393x64xf16, #tile.scope<global>>, %B: memref<600x64xf16, #tile.scope<global>>, %C: memref<393x600xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %gx = arith.constant 17 : index
  %gy = arith.constant 13 : index
  tile.launch (%bx, %by) in (%gx, %gy) {
    %a = tile.alloc "a" : !a
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    %i = arith.muli %by, %c32 : index
    %j = arith.muli %bx, %c32 : index
    scf.for %k = %c0 to %c4 step %c1 {
      %o = arith.muli %k, %c16 : index
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%i, %o] [%c32, %c16] : memref<393x64xf16, #tile.scope<global>>)
      tile.copy (%b[%c0, %c0] [%c32, %c16] : !b, %B[%j, %o] [%c32, %c16] : memref<600x64xf16, #tile.scope<global>>)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c32, %c16] : !b) init %first {transpose_b}
    }
    tile.copy (%C[%i, %j] [%c32, %c32] : memref<393x600xf32, #tile.scope<global>>, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}

// Loops of other lengths along both extents.
// CHECK-LABEL: func.func @other_turns(
// CHECK: tile.alloc "a" : memref<32x16xf16
// CHECK: tile.alloc "b" : memref<32x16xf16
func.func @other_turns(%A: memref<393x64xf16, #tile.scope<global>>, %B: memref<600x64xf16, #tile.scope<global>>, %C: memref<393x600xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %gx = arith.constant 19 : index
  %gy = arith.constant 13 : index
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
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%i, %o] [%c32, %c16] : memref<393x64xf16, #tile.scope<global>>)
      tile.copy (%b[%c0, %c0] [%c32, %c16] : !b, %B[%j, %o] [%c32, %c16] : memref<600x64xf16, #tile.scope<global>>)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c32, %c16] : !b) init %first {transpose_b}
    }
    tile.copy (%C[%i, %j] [%c32, %c32] : memref<393x600xf32, #tile.scope<global>>, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}

// 20 blocks of one round: nothing is better by 3 %.
// CHECK-LABEL: func.func @as_good(
// CHECK: tile.alloc "a" : memref<32x16xf16
// CHECK: tile.alloc "b" : memref<32x16xf16
func.func @as_good(%A: memref<32x64xf16, #tile.scope<global>>, %B: memref<640x64xf16, #tile.scope<global>>, %C: memref<32x640xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %gx = arith.constant 20 : index
  %gy = arith.constant 1 : index
  tile.launch (%bx, %by) in (%gx, %gy) {
    %a = tile.alloc "a" : !a
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    %i = arith.muli %by, %c32 : index
    %j = arith.muli %bx, %c32 : index
    scf.for %k = %c0 to %c4 step %c1 {
      %o = arith.muli %k, %c16 : index
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%i, %o] [%c32, %c16] : memref<32x64xf16, #tile.scope<global>>)
      tile.copy (%b[%c0, %c0] [%c32, %c16] : !b, %B[%j, %o] [%c32, %c16] : memref<640x64xf16, #tile.scope<global>>)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c32, %c16] : !b) init %first {transpose_b}
    }
    tile.copy (%C[%i, %j] [%c32, %c32] : memref<32x640xf32, #tile.scope<global>>, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}
