// RUN: tilewright-opt %s --npu-verify-plan | FileCheck %s

// Shared addresses are fine where one tile is dead: each is written again before it is read.
// CHECK-LABEL: @shared_in_turn
func.func @shared_in_turn(%A: memref<64xf32, #npu.space<gm>>) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %x = npu.alloc "x" {address = 0} : memref<64xf32, #npu.space<ub>>
  %y = npu.alloc "y" {address = 128} : memref<64xf32, #npu.space<ub>>
  scf.for %i = %c0 to %c64 step %c1 {
    npu.load (%x[%c0] [%c64] : memref<64xf32, #npu.space<ub>>, %A[%c0] [%c64] : memref<64xf32, #npu.space<gm>>)
    npu.store (%A[%c0] [%c64] : memref<64xf32, #npu.space<gm>>, %x[%c0] [%c64] : memref<64xf32, #npu.space<ub>>)
    npu.load (%y[%c0] [%c64] : memref<64xf32, #npu.space<ub>>, %A[%c0] [%c64] : memref<64xf32, #npu.space<gm>>)
    npu.store (%A[%c0] [%c64] : memref<64xf32, #npu.space<gm>>, %y[%c0] [%c64] : memref<64xf32, #npu.space<ub>>)
  }
  return
}
