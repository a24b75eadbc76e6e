// What canonicalization and CSE must leave alone, and what they may take.
// RUN: tilewright-opt --canonicalize --cse %s | FileCheck %s

#ub = #npu.space<ub>
#gm = #npu.space<gm>

// Two buffers of one type are two buffers; one that is only written stays.
// CHECK-LABEL: func.func @two_buffers(
func.func @two_buffers(%s: f32) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  // CHECK: %x = npu.alloc "x"
  // CHECK: %[[Y:.*]] = npu.alloc "x"
  %x = npu.alloc "x" : memref<8xf32, #ub>
  %y = npu.alloc "x" : memref<8xf32, #ub>
  // CHECK: npu.fill %{{.*}} : f32, (%x
  npu.fill %s : f32, (%x[%c0] [%c8] : memref<8xf32, #ub>)
  // CHECK: npu.fill %{{.*}} : f32, (%[[Y]]
  npu.fill %s : f32, (%y[%c0] [%c8] : memref<8xf32, #ub>)
  return
}

// Flags, barriers and rotations keep their number and order.
// CHECK-LABEL: func.func @order(
func.func @order() {
  // CHECK-NEXT: %x = npu.alloc
  // CHECK-NEXT: npu.set_flag <MTE2> to <V> id 0
  // CHECK-NEXT: npu.set_flag <MTE2> to <V> id 0
  // CHECK-NEXT: npu.barrier <V>
  // CHECK-NEXT: npu.barrier <V>
  // CHECK-NEXT: npu.advance %x
  // CHECK-NEXT: npu.advance %x
  // CHECK-NEXT: npu.wait_flag <MTE2> to <V> id 0
  // CHECK-NEXT: npu.wait_flag <MTE2> to <V> id 0
  // CHECK-NEXT: npu.block_set <MTE3> id 1
  // CHECK-NEXT: npu.block_set <MTE3> id 1
  // CHECK-NEXT: npu.block_wait <S> id 1
  // CHECK-NEXT: return
  %x = npu.alloc "x" {slots = 2 : i64} : memref<8xf32, #ub>
  npu.set_flag <MTE2> to <V> id 0
  npu.set_flag <MTE2> to <V> id 0
  npu.barrier <V>
  npu.barrier <V>
  npu.advance %x : memref<8xf32, #ub>
  npu.advance %x : memref<8xf32, #ub>
  npu.wait_flag <MTE2> to <V> id 0
  npu.wait_flag <MTE2> to <V> id 0
  npu.block_set <MTE3> id 1
  npu.block_set <MTE3> id 1
  npu.block_wait <S> id 1
  return
}

// A scalar is read again after anything that writes or waits.
// CHECK-LABEL: func.func @scalar_loads(
func.func @scalar_loads(%A: memref<8xf32, #gm>, %i: index, %s: f32) -> (f32, f32, f32) {
  // CHECK-NEXT: %[[A:.*]] = npu.scalar_load
  // CHECK-NEXT: npu.wait_flag
  // CHECK-NEXT: %[[B:.*]] = npu.scalar_load
  // CHECK-NEXT: npu.scalar_store
  // CHECK-NEXT: %[[C:.*]] = npu.scalar_load
  // CHECK-NEXT: return %[[A]], %[[B]], %[[C]]
  %a = npu.scalar_load %A[%i] : memref<8xf32, #gm> -> f32
  npu.wait_flag <MTE2> to <S> id 0
  %b = npu.scalar_load %A[%i] : memref<8xf32, #gm> -> f32
  npu.scalar_store %s, %A[%i] : f32, memref<8xf32, #gm>
  %c = npu.scalar_load %A[%i] : memref<8xf32, #gm> -> f32
  return %a, %b, %c : f32, f32, f32
}

// A core has one number; one that nobody asks for goes.
// CHECK-LABEL: func.func @numbers(
func.func @numbers() -> (index, index) {
  // CHECK-NEXT: %[[ID:.*]] = npu.core_id
  // CHECK-NEXT: return %[[ID]], %[[ID]]
  %a = npu.core_id
  %b = npu.core_id
  %unused = npu.sub_core_id
  return %a, %b : index, index
}

// Launches, assertions, prints and block starts stay.
// CHECK-LABEL: func.func @effects(
func.func @effects(%p: i1, %i: index) {
  // CHECK-NEXT: npu.launch aiv @empty()
  // CHECK-NEXT: npu.launch aiv @empty()
  // CHECK-NEXT: npu.begin_block
  // CHECK-NEXT: npu.assert
  // CHECK-NEXT: npu.print "i"
  // CHECK-NEXT: return
  npu.launch aiv @empty ()
  npu.launch aiv @empty ()
  npu.begin_block %i
  npu.assert %p, "p"
  npu.print "i" () scalar %i : index
  return
}
