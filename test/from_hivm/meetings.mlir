// RUN: tilewright-hivm --read %s | FileCheck %s
// RUN: sed '/sync_block_wait.*static_flag_id = 3/d' %s | not tilewright-hivm --read - 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: sed '/INTER_BLOCK/{s/"()/"(%%n)/; s/ static_flag_id = 3 : i64,//; s/0, 0>/1, 0>/; s/: () ->/: (i64) ->/}' %s | not tilewright-hivm --read - 2>&1 | FileCheck %s --check-prefix=NUMBER

// A flag that all cores of a kind set, and then wait for, is a meeting of them; other flags go from core to core.
// Integers leave L0C saturated.

// CHECK-LABEL: func.func private @k_aic
// CHECK: npu.fixpipe {{.*}} {scale = 1.000000e+00 : f32}
// CHECK-LABEL: func.func private @k_aiv
// CHECK: npu.core_barrier <MTE3> id 3 all_blocks
// CHECK-NEXT: npu.core_barrier <S> id 1
// CHECK-NOT: all_blocks
// CHECK-NEXT: npu.block_wait <MTE2> id 4

// ALONE: error: cores set flag 3 to meet, and none waits for it
// NUMBER: error: a meeting of cores whose flag is known at run time only

module attributes {hacc.target = #hacc.target<"Ascend910B3">} {
  func.func @k_mix_aic(%c: memref<?xi8, #hivm.address_space<gm>>, %n: i64) attributes {func_dyn_memref_args, hacc.function_kind = #hacc.function_kind<DEVICE>, hivm.func_core_type = #hivm.func_core_type<AIC>} {
    %c0_i64 = arith.constant 0 : i64
    %1 = "hivm.hir.pointer_cast"(%c0_i64) <{operandSegmentSizes = array<i32: 1, 0>}> : (i64) -> memref<2x2x16x16xi32, #hivm.address_space<cc>>
    %2 = memref.reinterpret_cast %c to offset: [0], sizes: [32, 32], strides: [32, 1] : memref<?xi8, #hivm.address_space<gm>> to memref<32x32xi8, strided<[32, 1]>, #hivm.address_space<gm>>
    "hivm.hir.fixpipe"(%1, %2) <{dma_mode = #hivm.dma_mode<nz2nd>, operandSegmentSizes = array<i32: 1, 1, 0, 0>, pre_quant = #hivm.fixpipe_pre_quant_mode<S322I8>}> : (memref<2x2x16x16xi32, #hivm.address_space<cc>>, memref<32x32xi8, strided<[32, 1]>, #hivm.address_space<gm>>) -> ()
    "hivm.hir.sync_block_set"() <{operandSegmentSizes = array<i32: 0, 0>, pipe = #hivm.pipe<PIPE_MTE2>, static_flag_id = 4 : i64, tcore_type = #hivm.tcore_type<CUBE>, tpipe = #hivm.pipe<PIPE_FIX>}> : () -> ()
    return
  }
  func.func @k_mix_aiv(%c: memref<?xi8, #hivm.address_space<gm>>, %n: i64) attributes {func_dyn_memref_args, hacc.function_kind = #hacc.function_kind<DEVICE>, hivm.func_core_type = #hivm.func_core_type<AIV>} {
    "hivm.hir.sync_block_set"() <{operandSegmentSizes = array<i32: 0, 0>, pipe = #hivm.pipe<PIPE_MTE3>, static_flag_id = 3 : i64, tcore_type = #hivm.tcore_type<VECTOR>, tpipe = #hivm.pipe<PIPE_MTE3>, tsync_instr_mode = #hivm.sync_block_instr_mode<INTER_BLOCK_SYNCHRONIZATION>}> : () -> ()
    "hivm.hir.sync_block_wait"() <{pipe = #hivm.pipe<PIPE_MTE3>, static_flag_id = 3 : i64, tcore_type = #hivm.tcore_type<VECTOR>, tpipe = #hivm.pipe<PIPE_MTE3>}> : () -> ()
    "hivm.hir.sync_block_set"() <{operandSegmentSizes = array<i32: 0, 0>, pipe = #hivm.pipe<PIPE_S>, static_flag_id = 1 : i64, tcore_type = #hivm.tcore_type<VECTOR>, tpipe = #hivm.pipe<PIPE_S>, tsync_instr_mode = #hivm.sync_block_instr_mode<INTER_SUBBLOCK_SYNCHRONIZATION>}> : () -> ()
    "hivm.hir.sync_block_wait"() <{pipe = #hivm.pipe<PIPE_S>, static_flag_id = 1 : i64, tcore_type = #hivm.tcore_type<VECTOR>, tpipe = #hivm.pipe<PIPE_S>}> : () -> ()
    "hivm.hir.sync_block_wait"() <{pipe = #hivm.pipe<PIPE_MTE2>, static_flag_id = 4 : i64, tcore_type = #hivm.tcore_type<VECTOR>, tpipe = #hivm.pipe<PIPE_FIX>}> : () -> ()
    return
  }
}
