// RUN: tilewright-hivm %s --form=flags | FileCheck %s --check-prefixes=CHECK,FLAGS
// RUN: tilewright-hivm %s --form=plain | FileCheck %s --check-prefixes=CHECK,PLAIN

// Rows of x, scaled by a column and summed up. Two slots: a counter that the loop carries picks the
// slot and the event; plain text declares one buffer in the loop and says how many it may become.

#gm = #npu.space<gm>
#ub = #npu.space<ub>

// CHECK: module attributes {hacc.target = #hacc.target<"Ascend910B3">, hivm.module_core_type = #hivm.module_core_type<AIV>
// CHECK: func.func @rows(%[[FFTS:.*]]: i64 {hacc.arg_type = #hacc.arg_type<ffts_base_address>}
// CHECK-SAME: %[[X:arg3]]: memref<?xf32, #hivm.address_space<gm>>, %[[Y:arg4]]: memref<?xf32, #hivm.address_space<gm>>
// CHECK-SAME: %[[M:arg5]]: i64, %{{.*}}: i32
// CHECK-SAME: hacc.function_kind = #hacc.function_kind<DEVICE>
// CHECK: "hivm.hir.set_ffts_base_addr"(%[[FFTS]])
// CHECK: "hivm.hir.get_block_idx"() : () -> i64
// FLAGS: %[[XS:.*]] = memref.alloc() : memref<2x8x64xf32, #hivm.address_space<ub>>
// FLAGS: "hivm.hir.set_flag"() <{set_pipe = #hivm.pipe<PIPE_V>, static_event_id = #hivm.event<EVENT_ID0>, wait_pipe = #hivm.pipe<PIPE_MTE2>}>
// PLAIN-NOT: set_flag
// CHECK: "hivm.hir.get_block_num"() : () -> i64
// FLAGS: scf.for {{.*}} iter_args(%[[SLOT:.*]] = %{{.*}}) -> (index)
// FLAGS: %[[NEXT:.*]] = arith.remui
// FLAGS: "hivm.hir.wait_flag"(%{{.*}}) <{set_pipe = #hivm.pipe<PIPE_V>, wait_pipe = #hivm.pipe<PIPE_MTE2>}> : (i64) -> ()
// PLAIN: scf.for
// PLAIN: %[[XS:.*]] = memref.alloc() : memref<8x64xf32, #hivm.address_space<ub>>
// PLAIN: "annotation.mark"(%[[XS]]) {hivm.multi_buffer = 2 : i32}
// PLAIN-NOT: wait_flag
// CHECK: memref.reinterpret_cast %[[X]] to offset: [%{{.*}}], sizes: [8, 64], strides: [64, 1]
// FLAGS: memref.subview %[[XS]][%[[NEXT]], 0, 0] [1, 8, 64] [1, 1, 1]
// CHECK: "hivm.hir.load"({{.*}}) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>}>
// CHECK: memref.expand_shape %{{.*}} {{\[\[}}0, 1]] output_shape [8, 1]
// CHECK: "hivm.hir.vmul"({{.*}}) <{broadcast = array<i64: 1>, operandSegmentSizes = array<i32: 2, 1, 0>}>
// FLAGS: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_V>}>
// CHECK: "hivm.hir.vreduce"({{.*}}) <{arith = #hivm.reduce_op<sum>, operandSegmentSizes = array<i32: 1, 1, 0, 0>, reduce_dims = array<i64: 1>}>
// CHECK-SAME: memref<8x1xf32, #hivm.address_space<ub>>
// CHECK: "hivm.hir.store"
// FLAGS: scf.yield %[[NEXT]] : index
// FLAGS: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}>
// CHECK: return

func.func @rows(%X: memref<?x64xf32, #gm>, %Y: memref<?xf32, #gm>) {
  npu.launch aiv @rows_aiv(%X, %Y) : memref<?x64xf32, #gm>, memref<?xf32, #gm>
  return
}
func.func private @rows_aiv(%X: memref<?x64xf32, #gm> {npu.name = "X"}, %Y: memref<?xf32, #gm> {npu.name = "Y"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1.0 : f32
  %m = memref.dim %X, %c0 : memref<?x64xf32, #gm>
  %id = npu.core_id
  %x = npu.alloc "x" {slots = 2, address = 0} : memref<8x64xf32, #ub>
  %s = npu.alloc "s" {address = 8192} : memref<8xf32, #ub>
  npu.set_flag <V> to <MTE2> id 0
  npu.set_flag <V> to <MTE2> id 1
  %count = npu.core_count
  %blocks = arith.ceildivsi %m, %c8 : index
  scf.for %block = %id to %blocks step %count {
    npu.begin_block %block
    %row = arith.muli %block, %c8 : index
    npu.advance %x : memref<8x64xf32, #ub>
    npu.wait_flag <V> to <MTE2> id 0 rotate %x : memref<8x64xf32, #ub>
    npu.load (%x[%c0, %c0] [%c8, %c64] : memref<8x64xf32, #ub>, %X[%row, %c0] [%c8, %c64] : memref<?x64xf32, #gm>)
    npu.set_flag <MTE2> to <V> id 0 rotate %x : memref<8x64xf32, #ub>
    npu.wait_flag <MTE2> to <V> id 0 rotate %x : memref<8x64xf32, #ub>
    npu.fill %one : f32, (%s[%c0] [%c8] : memref<8xf32, #ub>)
    npu.barrier <V>
    npu.elementwise <mul> (%x[%c0, %c0] [%c8, %c64] : memref<8x64xf32, #ub>, %x[%c0, %c0] [%c8, %c64] : memref<8x64xf32, #ub>, %s[%c0] [%c8] : memref<8xf32, #ub>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
    npu.barrier <V>
    npu.reduce <sum> (%s[%c0] [%c8] : memref<8xf32, #ub>, %x[%c0, %c0] [%c8, %c64] : memref<8x64xf32, #ub>) dims = [1] {dst_map = array<i64: 0>}
    npu.set_flag <V> to <MTE2> id 0 rotate %x : memref<8x64xf32, #ub>
    npu.barrier <All>
    npu.store (%Y[%row] [%c8] : memref<?xf32, #gm>, %s[%c0] [%c8] : memref<8xf32, #ub>)
    npu.barrier <All>
  }
  npu.wait_flag <V> to <MTE2> id 0
  npu.wait_flag <V> to <MTE2> id 1
  return
}
