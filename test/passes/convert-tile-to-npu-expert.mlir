// Launches with orders of their own: events as written, one program per kind of core, a meeting at the end of each block.
// RUN: tilewright-opt %s --tile-place-buffers --tile-split-cores --tile-split-rows --tile-pipeline-buffers --convert-tile-to-npu --canonicalize --cse --npu-plan-memory --npu-insert-sync 2>/dev/null | FileCheck %s

#l1 = #tile.scope<l1>
#l0a = #tile.scope<l0a>
#l0b = #tile.scope<l0b>
#l0c = #tile.scope<l0c>
#ub = #tile.scope<ub>

// CHECK-LABEL: func.func private @turns_0_aic(
// CHECK-NOT: npu.manual_sync
// CHECK: npu.set_flag <MTE2> to <MTE1>
// CHECK: npu.mmad
// CHECK: npu.fixpipe
// CHECK: npu.block_set <FIX> id 3
// CHECK: npu.end_block

// The vector cores run the same, each with its number.
// CHECK-LABEL: func.func private @turns_0_aiv(
// CHECK: %[[HALF:.*]] = npu.sub_core_id
// CHECK: npu.block_wait <MTE2> id 3
// CHECK: arith.muli %[[HALF]], %c8
// CHECK-NOT: scf.if
// CHECK: npu.store
// CHECK: npu.end_block
func.func @turns(%A: memref<16x16xf16> {tile.name = "A"}, %W: memref<16x16xf32> {tile.name = "W"},
                 %C: memref<16x16xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %yes = arith.constant true
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<16x16xf16, #l1>
    %c = tile.alloc "c" : memref<16x16xf32, #l0c>
    %x = tile.alloc "x" : memref<8x16xf32, #ub>
    tile.copy (%a[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #l1>, %A[%c0, %c0] [%c16, %c16] : memref<16x16xf16>)
    tile.gemm (%c[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #l0c>, %a[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #l1>, %a[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #l1>) init %yes
    tile.copy (%W[%c0, %c0] [%c16, %c16] : memref<16x16xf32>, %c[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #l0c>)
    tile.block_set <FIX> id %c3 {tile.placed = #tile.core<aic>}
    tile.block_wait <MTE2> id %c3 {tile.placed = #tile.core<aiv>}
    %half = tile.sub_core_id
    %row = arith.muli %half, %c8 : index
    tile.copy (%x[%c0, %c0] [%c8, %c16] : memref<8x16xf32, #ub>, %W[%row, %c0] [%c8, %c16] : memref<16x16xf32>)
    tile.copy (%C[%row, %c0] [%c8, %c16] : memref<16x16xf32>, %x[%c0, %c0] [%c8, %c16] : memref<8x16xf32, #ub>)
  }
  return
}

// Flags leave the function alone: no slots, no flags beside the author's.
// CHECK-LABEL: func.func private @flags_1_aiv(
// CHECK-SAME: npu.manual_sync
// CHECK: npu.alloc "x" {address = 0 : i64}
// CHECK: scf.for
// CHECK: scf.for %[[I:.*]] =
// CHECK-NEXT: npu.load
// CHECK-NEXT: npu.set_flag <MTE2> to <MTE3> id 0 rotate %[[I]] : index
// CHECK-NEXT: npu.wait_flag <MTE2> to <MTE3> id 0 rotate %[[I]] : index
// CHECK-NEXT: npu.store
// CHECK-NEXT: }
// CHECK-NEXT: npu.end_block
func.func @flags(%A: memref<16x16xf32> {tile.name = "A"}, %C: memref<16x16xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : memref<16x16xf32, #ub>
    scf.for %i = %c0 to %c2 step %c1 {
      tile.copy (%x[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #ub>, %A[%c0, %c0] [%c16, %c16] : memref<16x16xf32>)
      tile.set_flag <MTE2> to <MTE3> id %i {tile.placed = #tile.core<aiv>}
      tile.wait_flag <MTE2> to <MTE3> id %i {tile.placed = #tile.core<aiv>}
      tile.copy (%C[%c0, %c0] [%c16, %c16] : memref<16x16xf32>, %x[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #ub>)
    }
  }
  return
}

// Tiles in L0 without orders: the compiler's flags run over MTE1.
// CHECK-LABEL: func.func private @in_l0_2_aic(
// CHECK: npu.wait_flag <MTE2> to <MTE1>
// CHECK: npu.load_l0
// CHECK: npu.load_l0
// CHECK: npu.set_flag <MTE1> to <M>
// CHECK: npu.wait_flag <MTE1> to <M>
// CHECK: npu.mmad
func.func @in_l0(%A: memref<16x16xf16> {tile.name = "A"}, %C: memref<16x16xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %yes = arith.constant true
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<16x16xf16, #l1>
    %a0 = tile.alloc "a0" : memref<16x16xf16, #l0a>
    %b0 = tile.alloc "b0" : memref<16x16xf16, #l0b>
    %c = tile.alloc "c" : memref<16x16xf32, #l0c>
    tile.copy (%a[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #l1>, %A[%c0, %c0] [%c16, %c16] : memref<16x16xf16>)
    tile.copy (%a0[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #l0a>, %a[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #l1>)
    tile.copy (%b0[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #l0b>, %a[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #l1>)
    tile.gemm (%c[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #l0c>, %a0[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #l0a>, %b0[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #l0b>) init %yes
    tile.copy (%C[%c0, %c0] [%c16, %c16] : memref<16x16xf32>, %c[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #l0c>)
  }
  return
}
