// Launches by cores: the body is the program, boxes are not cut, places and orders are the author's.
// RUN: tilewright-opt %s --convert-tile-to-npu --canonicalize --cse --npu-plan-memory --npu-insert-sync 2>/dev/null | FileCheck %s

#ub = #tile.scope<ub>
#l1 = #tile.scope<l1>

// CHECK-LABEL: func.func private @program_aic(
// CHECK-NOT: npu.begin_block
// CHECK: npu.load (%a
// CHECK-NOT: npu.elementwise

// CHECK-LABEL: func.func private @program_aiv(
// CHECK-SAME: npu.manual_sync
// CHECK-SAME: tile.by_core
// CHECK-DAG: %[[CORE:.*]] = npu.core_id
// CHECK-DAG: %[[COUNT:.*]] = npu.core_count
// CHECK-DAG: npu.alloc "x" {address = 64 : i64, slots = 2 : i64}
// CHECK-DAG: npu.alloc "y" {address = 512 : i64}
// CHECK-DAG: npu.set_flag <V> to <MTE2> id 0
// CHECK: scf.for %[[BLOCK:.*]] = %[[CORE]] to %{{.*}} step %[[COUNT]]
// CHECK-NEXT: npu.begin_block %[[BLOCK]]
// CHECK-NEXT: npu.advance
// CHECK-NEXT: npu.wait_flag <V> to <MTE2> id 0 rotate %x
// CHECK-NEXT: npu.load
// CHECK-NEXT: npu.elementwise <add>
// CHECK-NOT: npu.end_block
func.func @program(%A: memref<100x16xf32> {tile.name = "A"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%i) in (%c1) attributes {tile.by_core} {
    %x = tile.alloc "x" {slots = 2 : i64, tile.address = 64 : i64} : memref<2x16xf32, #ub>
    %y = tile.alloc "y" : memref<2x16xf32, #ub>
    %a = tile.alloc "a" : memref<16x16xf32, #l1>
    tile.copy (%a[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #l1>, %A[%c0, %c0] [%c16, %c16] : memref<100x16xf32>) {tile.placed = #tile.core<aic>}
    tile.set_flag <V> to <MTE2> id %c0 {tile.placed = #tile.core<aiv>}
    %core = tile.core_id
    %count = tile.core_count
    scf.for %b = %core to %c7 step %count {
      tile.begin_block %b {tile.placed = #tile.core<aiv>}
      tile.advance %x {tile.placed = #tile.core<aiv>} : memref<2x16xf32, #ub>
      tile.wait_slot_flag <V> to <MTE2> id 0 rotate %x {tile.placed = #tile.core<aiv>} : memref<2x16xf32, #ub>
      tile.copy (%x[%c0, %c0] [%c2, %c16] : memref<2x16xf32, #ub>, %A[%b, %c0] [%c2, %c16] : memref<100x16xf32>) {tile.placed = #tile.core<aiv>}
      tile.elementwise <add> (%y[%c0, %c0] [%c2, %c16] : memref<2x16xf32, #ub>, %x[%c0, %c0] [%c2, %c16] : memref<2x16xf32, #ub>) scalar %one : f32 {tile.placed = #tile.core<aiv>}
    } {tile.placed = #tile.core<aiv>}
  }
  return
}
