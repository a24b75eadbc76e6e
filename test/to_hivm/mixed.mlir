// RUN: tilewright-hivm %s --form=flags | FileCheck %s
// RUN: tilewright-hivm %s --form=plain | FileCheck %s --check-prefix=PLAIN

// A product on the cube, halved on the vector cores: two functions, handed over through the
// workspace; a flag between cores names the pipe at either end.

#gm = #npu.space<gm>
#ub = #npu.space<ub>
#l1 = #npu.space<l1>
#l0c = #npu.space<l0c>
#ws = #npu.space<workspace>

// CHECK: hivm.module_core_type = #hivm.module_core_type<MIX>
// CHECK: func.func @half_mix_aic(
// CHECK-SAME: hivm.func_core_type = #hivm.func_core_type<AIC>, hivm.part_of_mix, mix_mode = "mix"
// CHECK: %[[GROUP:.*]] = "hivm.hir.get_block_idx"()
// CHECK: %[[AT:.*]] = arith.muli
// CHECK: %[[A:.*]] = memref.alloc() : memref<2x2x16x16xf16, #hivm.address_space<cbuf>>
// CHECK: "hivm.hir.nd2nz"({{.*}}, %[[A]]) <{dst_continuous, operandSegmentSizes = array<i32: 1, 1, 0, 0>}>
// CHECK: "hivm.hir.mmadL1"(%[[A]], %[[A]], %true, %{{.*}}) <{b_transpose, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0>}>
// CHECK: memref.view %arg2[%[[AT]]][] : memref<?xi8, #hivm.address_space<gm>> to memref<1024xf16, #hivm.address_space<gm>>
// CHECK: "hivm.hir.fixpipe"({{.*}}) <{dma_mode = #hivm.dma_mode<nz2nd>, operandSegmentSizes = array<i32: 1, 1, 0, 0>, pre_quant = #hivm.fixpipe_pre_quant_mode<F322F16>}>
// CHECK: "hivm.hir.sync_block_set"() <{operandSegmentSizes = array<i32: 0, 0>, pipe = #hivm.pipe<PIPE_MTE2>, static_flag_id = 0 : i64, tcore_type = #hivm.tcore_type<CUBE>, tpipe = #hivm.pipe<PIPE_FIX>}>
// CHECK: func.func @half_mix_aiv(
// CHECK: "hivm.hir.get_sub_block_idx"()
// CHECK: "hivm.hir.sync_block_wait"() <{pipe = #hivm.pipe<PIPE_MTE2>, static_flag_id = 0 : i64, tcore_type = #hivm.tcore_type<VECTOR>, tpipe = #hivm.pipe<PIPE_FIX>}>
// CHECK: "hivm.hir.vmul"

// PLAIN-NOT: pipe_barrier
// PLAIN: sync_block_set
// PLAIN-NOT: pipe_barrier
// PLAIN: sync_block_wait
// PLAIN-NOT: pipe_barrier

func.func @half(%A: memref<32x32xf16, #gm>, %C: memref<32x32xf16, #gm>) {
  npu.launch aic @half_aic aiv @half_aiv(%A, %C) : memref<32x32xf16, #gm>, memref<32x32xf16, #gm>
  return
}
func.func private @half_aic(%A: memref<32x32xf16, #gm> {npu.name = "A"}, %C: memref<32x32xf16, #gm> {npu.name = "C"}) attributes {npu.core = #npu.core<aic>, npu.workspace = 2560 : i64} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %x = npu.alloc "x" {address = 0} : memref<32x32xf16, #ws>
  %a = npu.alloc "a" {address = 0} : memref<32x32xf16, #l1>
  %acc = npu.alloc "acc" {address = 0} : memref<32x32xf32, #l0c>
  npu.load (%a[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #l1>, %A[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #gm>)
  npu.barrier <All>
  npu.mmad (%acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #l0c>, %a[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #l1>, %a[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #l1>) init %true {transpose_b}
  npu.barrier <All>
  npu.fixpipe (%x[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #ws>, %acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #l0c>)
  npu.block_set <FIX> id 0
  return
}
func.func private @half_aiv(%A: memref<32x32xf16, #gm> {npu.name = "A"}, %C: memref<32x32xf16, #gm> {npu.name = "C"}) attributes {npu.core = #npu.core<aiv>, npu.workspace = 2560 : i64} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %half = arith.constant 0.5 : f16
  %sub = npu.sub_core_id
  %row = arith.muli %sub, %c16 : index
  %x = npu.alloc "x" {address = 0} : memref<32x32xf16, #ws>
  %t = npu.alloc "t" {address = 0} : memref<16x32xf16, #ub>
  npu.block_wait <MTE2> id 0
  npu.load (%t[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #ub>, %x[%row, %c0] [%c16, %c32] : memref<32x32xf16, #ws>)
  npu.barrier <All>
  npu.elementwise <mul> (%t[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #ub>, %t[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #ub>) scalar %half : f16 {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  npu.barrier <All>
  npu.store (%C[%row, %c0] [%c16, %c32] : memref<32x32xf16, #gm>, %t[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #ub>)
  return
}
