// RUN: tilewright-hivm %s | FileCheck %s

// The end of a block of an Expert kernel: every core signals, and waits for the other kind.

#gm = #npu.space<gm>

// CHECK: func.func @host_mix_aic(
// CHECK: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}>
// CHECK-NEXT: "hivm.hir.sync_block_set"() <{operandSegmentSizes = array<i32: 0, 0>, pipe = #hivm.pipe<PIPE_S>, static_flag_id = 12 : i64, tcore_type = #hivm.tcore_type<CUBE>, tpipe = #hivm.pipe<PIPE_FIX>}>
// CHECK-NEXT: "hivm.hir.sync_block_wait"() <{pipe = #hivm.pipe<PIPE_S>, static_flag_id = 13 : i64, tcore_type = #hivm.tcore_type<CUBE>, tpipe = #hivm.pipe<PIPE_MTE3>}>
// CHECK: func.func @host_mix_aiv(
// CHECK: "hivm.hir.sync_block_set"() <{operandSegmentSizes = array<i32: 0, 0>, pipe = #hivm.pipe<PIPE_S>, static_flag_id = 13 : i64, tcore_type = #hivm.tcore_type<VECTOR>, tpipe = #hivm.pipe<PIPE_MTE3>}>
// CHECK-NEXT: "hivm.hir.sync_block_wait"() <{pipe = #hivm.pipe<PIPE_S>, static_flag_id = 12 : i64, tcore_type = #hivm.tcore_type<VECTOR>, tpipe = #hivm.pipe<PIPE_FIX>}>

func.func @host(%A: memref<64xf32, #gm>) {
  npu.launch aic @aic aiv @aiv(%A) : memref<64xf32, #gm>
  return
}
func.func private @aic(%A: memref<64xf32, #gm> {npu.name = "A"}) attributes {npu.core = #npu.core<aic>} {
  npu.end_block
  return
}
func.func private @aiv(%A: memref<64xf32, #gm> {npu.name = "A"}) attributes {npu.core = #npu.core<aiv>} {
  npu.end_block
  return
}
