// RUN: tilewright-hivm %s --form=plain | FileCheck %s
// RUN: not tilewright-hivm %s --form=flags 2>&1 | FileCheck %s --check-prefix=FLAGS
// RUN: sed 's/load_l0 (%%b0/load (%%a1[%%c0, %%c0] [%%c16, %%c16] : !l1, %%A[%%c0, %%c0] [%%c16, %%c16] : !gm)\n  npu.load_l0 (%%b0/' %s | not tilewright-hivm --form=plain - 2>&1 | FileCheck %s --check-prefix=STALE

// A product of tiles in L0 is one of what they were loaded from, where the other compiler makes the flags: its
// product loads L0. With flags of ours that is another program, and so it is where L1 has changed since.

// CHECK: "hivm.hir.nd2nz"(%{{.*}}, %[[A:.*]]) <{dst_continuous
// CHECK: "hivm.hir.nd2nz"(%{{.*}}, %[[B:.*]]) <{dst_continuous
// CHECK-NOT: #hivm.address_space<ca>
// CHECK: "hivm.hir.mmadL1"(%[[A]], %[[B]],
// FLAGS: error: HIVM has no operation for 'npu.load_l0'
// STALE: error: HIVM has no operation for a product of tiles in L0 that were not loaded just before

!gm = memref<16x16xf16, #npu.space<gm>>
!l1 = memref<16x16xf16, #npu.space<l1>>
!l0a = memref<16x16xf16, #npu.space<l0a>>
!l0b = memref<16x16xf16, #npu.space<l0b>>
!l0c = memref<16x16xf32, #npu.space<l0c>>
!out = memref<16x16xf32, #npu.space<gm>>

func.func @host(%A: !gm, %C: !out) {
  npu.launch aic @aic(%A, %C) : !gm, !out
  return
}
func.func private @aic(%A: !gm {npu.name = "A"}, %C: !out {npu.name = "C"}) attributes {npu.core = #npu.core<aic>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %true = arith.constant true
  %a1 = npu.alloc "a1" {address = 0} : !l1
  %b1 = npu.alloc "b1" {address = 512} : !l1
  %a0 = npu.alloc "a0" {address = 0} : !l0a
  %b0 = npu.alloc "b0" {address = 0} : !l0b
  %c = npu.alloc "c" {address = 0} : !l0c
  npu.load (%a1[%c0, %c0] [%c16, %c16] : !l1, %A[%c0, %c0] [%c16, %c16] : !gm)
  npu.load (%b1[%c0, %c0] [%c16, %c16] : !l1, %A[%c0, %c0] [%c16, %c16] : !gm)
  npu.load_l0 (%a0[%c0, %c0] [%c16, %c16] : !l0a, %a1[%c0, %c0] [%c16, %c16] : !l1)
  npu.load_l0 (%b0[%c0, %c0] [%c16, %c16] : !l0b, %b1[%c0, %c0] [%c16, %c16] : !l1)
  npu.mmad (%c[%c0, %c0] [%c16, %c16] : !l0c, %a0[%c0, %c0] [%c16, %c16] : !l0a, %b0[%c0, %c0] [%c16, %c16] : !l0b) init %true
  npu.fixpipe (%C[%c0, %c0] [%c16, %c16] : !out, %c[%c0, %c0] [%c16, %c16] : !l0c)
  return
}
