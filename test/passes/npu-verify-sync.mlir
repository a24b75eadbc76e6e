// RUN: tilewright-opt %s --npu-verify-sync -o /dev/null

!gm = memref<64x64xf32, #npu.space<gm>>
!ub = memref<64x64xf32, #npu.space<ub>>
!l1 = memref<64x64xf16, #npu.space<l1>>
!l0c = memref<64x64xf32, #npu.space<l0c>>
!gmh = memref<64x64xf16, #npu.space<gm>>

// The product is on M after its operands' way through MTE1.
func.func @product(%A: !gmh, %C: !gm) attributes {npu.core = #npu.core<aic>} {
  %a = npu.alloc "a" {address = 0 : i64} : !l1
  %c = npu.alloc "c" {address = 0 : i64} : !l0c
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %true = arith.constant true
  npu.load (%a[%c0, %c0] [%c64, %c64] : !l1, %A[%c0, %c0] [%c64, %c64] : !gmh)
  npu.set_flag <MTE2> to <MTE1> id 3
  npu.wait_flag <MTE2> to <MTE1> id 3
  npu.mmad (%c[%c0, %c0] [%c64, %c64] : !l0c, %a[%c0, %c0] [%c64, %c64] : !l1, %a[%c0, %c0] [%c64, %c64] : !l1) init %true
  npu.set_flag <M> to <FIX> id 0
  npu.set_flag <M> to <MTE2> id 0
  npu.wait_flag <M> to <FIX> id 0
  npu.wait_flag <M> to <MTE2> id 0
  npu.fixpipe (%C[%c0, %c0] [%c64, %c64] : !gm, %c[%c0, %c0] [%c64, %c64] : !l0c)
  npu.load (%a[%c0, %c0] [%c64, %c64] : !l1, %A[%c0, %c0] [%c64, %c64] : !gmh)
  return
}

// Two slots let the load of the next turn go ahead.
func.func @slots(%A: !gm, %B: !gm, %n: index) attributes {npu.core = #npu.core<aiv>} {
  %x = npu.alloc "x" {slots = 2 : i64, address = 0 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  npu.set_flag <MTE3> to <MTE2> id 4
  npu.set_flag <MTE3> to <MTE2> id 5
  scf.for %i = %c0 to %n step %c1 {
    npu.advance %x : !ub
    npu.wait_flag <MTE3> to <MTE2> id 4 rotate %x : !ub
    npu.load (%x[%c0, %c0] [%c64, %c64] : !ub, %A[%c0, %c0] [%c64, %c64] : !gm)
    npu.set_flag <MTE2> to <MTE3> id 0 rotate %x : !ub
    npu.wait_flag <MTE2> to <MTE3> id 0 rotate %x : !ub
    npu.store (%B[%c0, %c0] [%c64, %c64] : !gm, %x[%c0, %c0] [%c64, %c64] : !ub)
    npu.set_flag <MTE3> to <MTE2> id 4 rotate %x : !ub
  }
  npu.wait_flag <MTE3> to <MTE2> id 4
  npu.wait_flag <MTE3> to <MTE2> id 5
  return
}

// Rows that never meet, the scalar unit before others, a read before a write on V.
func.func @no_flags(%A: !gm, %flag: i1) attributes {npu.core = #npu.core<aiv>} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %y = npu.alloc "y" {address = 16384 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  npu.scalar_store %zero, %x[%c0, %c0] : f32, !ub
  npu.elementwise <exp> (%y[%c0, %c0] [%c64, %c64] : !ub, %x[%c0, %c0] [%c64, %c64] : !ub) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  npu.fill %zero : f32, (%x[%c0, %c0] [%c64, %c64] : !ub)
  return
}
