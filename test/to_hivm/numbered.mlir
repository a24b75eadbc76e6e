// RUN: tilewright-hivm %s | FileCheck %s

// Events and signals whose number is known at run time only.

#gm = #npu.space<gm>
#ub = #npu.space<ub>

// CHECK: func.func @host_mix_aic(
// CHECK: %[[SUM:.*]] = arith.addi %{{.*}}, %c3{{.*}} : index
// CHECK: %[[SIGNAL:.*]] = arith.index_cast %[[SUM]] : index to i64
// CHECK: "hivm.hir.sync_block_set"(%[[SIGNAL]]) <{operandSegmentSizes = array<i32: 1, 0>, pipe = #hivm.pipe<PIPE_MTE2>, tcore_type = #hivm.tcore_type<CUBE>, tpipe = #hivm.pipe<PIPE_FIX>}> : (i64) -> ()
// CHECK: func.func @host_mix_aiv(
// CHECK: "hivm.hir.sync_block_wait"() <{pipe = #hivm.pipe<PIPE_MTE2>, static_flag_id = 4 : i64, tcore_type = #hivm.tcore_type<VECTOR>, tpipe = #hivm.pipe<PIPE_FIX>}>
// CHECK: %[[EVENT:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK: "hivm.hir.set_flag"(%[[EVENT]]) <{set_pipe = #hivm.pipe<PIPE_MTE2>, wait_pipe = #hivm.pipe<PIPE_V>}> : (i64) -> ()

func.func @host(%A: memref<64xf32, #gm>, %n: index) {
  npu.launch aic @aic aiv @aiv(%A, %n) : memref<64xf32, #gm>, index
  return
}
func.func private @aic(%A: memref<64xf32, #gm> {npu.name = "A"}, %n: index) attributes {npu.core = #npu.core<aic>} {
  npu.block_set <FIX> id 3 plus %n
  return
}
func.func private @aiv(%A: memref<64xf32, #gm> {npu.name = "A"}, %n: index) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %x = npu.alloc "x" {address = 0} : memref<64xf32, #ub>
  npu.block_wait <MTE2> id 4
  npu.load (%x[%c0] [%c64] : memref<64xf32, #ub>, %A[%c0] [%c64] : memref<64xf32, #gm>)
  npu.set_flag <MTE2> to <V> id 0 rotate %n : index
  npu.wait_flag <MTE2> to <V> id 0 rotate %n : index
  return
}
