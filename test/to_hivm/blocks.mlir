// RUN: tilewright-hivm %s | FileCheck %s

// The end of a block of an Expert kernel: the cube core hears of the vector cores, then lets them go on.

#gm = #npu.space<gm>

// CHECK: func.func @host_0_mix_aic(
// CHECK: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_ALL>}>
// CHECK-NEXT: "hivm.hir.sync_block_wait"() <{pipe = #hivm.pipe<PIPE_S>, static_flag_id = 13 : i64, tcore_type = #hivm.tcore_type<CUBE>, tpipe = #hivm.pipe<PIPE_MTE3>}>
// CHECK-NEXT: "hivm.hir.sync_block_set"() <{operandSegmentSizes = array<i32: 0, 0>, pipe = #hivm.pipe<PIPE_S>, static_flag_id = 12 : i64, tcore_type = #hivm.tcore_type<CUBE>, tpipe = #hivm.pipe<PIPE_FIX>}>
// CHECK: func.func @host_0_mix_aiv(
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

// The cores of one kind meet, all or those of a block: a flag that all set, then wait for. Flags that a loop
// counts to less than 12 leave those of the end of a block alone.

// CHECK: func.func @meets_{{[0-9]}}_mix_aiv(
// CHECK: "hivm.hir.sync_block_set"() <{operandSegmentSizes = array<i32: 0, 0>, pipe = #hivm.pipe<PIPE_MTE3>, static_flag_id = 3 : i64, tcore_type = #hivm.tcore_type<VECTOR>, tpipe = #hivm.pipe<PIPE_MTE3>, tsync_instr_mode = #hivm.sync_block_instr_mode<INTER_BLOCK_SYNCHRONIZATION>}>
// CHECK-NEXT: "hivm.hir.sync_block_wait"() <{pipe = #hivm.pipe<PIPE_MTE3>, static_flag_id = 3 : i64, tcore_type = #hivm.tcore_type<VECTOR>, tpipe = #hivm.pipe<PIPE_MTE3>}>
// CHECK: tsync_instr_mode = #hivm.sync_block_instr_mode<INTER_SUBBLOCK_SYNCHRONIZATION>
// CHECK: scf.for
// CHECK: static_flag_id = 13
func.func @meets(%A: memref<64xf32, #gm>) {
  npu.launch aic @meets_aic aiv @meets_aiv(%A) : memref<64xf32, #gm>
  return
}
func.func private @meets_aic(%A: memref<64xf32, #gm> {npu.name = "A"}) attributes {npu.core = #npu.core<aic>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    npu.block_wait <MTE2> id 4 plus %i
  }
  npu.end_block
  return
}
func.func private @meets_aiv(%A: memref<64xf32, #gm> {npu.name = "A"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  npu.core_barrier <MTE3> id 3 all_blocks
  npu.core_barrier <S> id 1
  scf.for %i = %c0 to %c8 step %c1 {
    npu.block_set <MTE3> id 4 plus %i
  }
  npu.end_block
  return
}
