// RUN: tilewright-opt %s --split-input-file --npu-verify-sync --verify-diagnostics

!ub = memref<64x64xf32, #npu.space<ub>>
!gm = memref<64x64xf32, #npu.space<gm>>

func.func @no_flag(%A: !gm, %B: !gm) attributes {npu.core = #npu.core<aiv>} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  // expected-note @below {{the earlier access}}
  npu.load (%x[%c0, %c0] [%c64, %c64] : !ub, %A[%c0, %c0] [%c64, %c64] : !gm)
  // expected-error @below {{may touch 'x' on MTE3 before 'npu.load' on MTE2 is done with 'x'}}
  npu.store (%B[%c0, %c0] [%c64, %c64] : !gm, %x[%c0, %c0] [%c64, %c64] : !ub)
  return
}

// -----

!ub = memref<64x64xf32, #npu.space<ub>>
!gm = memref<64x64xf32, #npu.space<gm>>

// The next turn's load is not held back; nor is the set.
func.func @next_turn(%A: !gm, %B: !gm, %n: index) attributes {npu.core = #npu.core<aiv>} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{may touch 'x' on MTE2 before 'npu.store' on MTE3 is done with 'x'}}
    npu.load (%x[%c0, %c0] [%c64, %c64] : !ub, %A[%c0, %c0] [%c64, %c64] : !gm)
    // expected-error @below {{may set an event again before it was awaited}}
    npu.set_flag <MTE2> to <MTE3> id 0
    // expected-note @below {{awaited here}}
    npu.wait_flag <MTE2> to <MTE3> id 0
    // expected-note @below {{the earlier access}}
    npu.store (%B[%c0, %c0] [%c64, %c64] : !gm, %x[%c0, %c0] [%c64, %c64] : !ub)
  }
  return
}

// -----

!ub = memref<64x64xf32, #npu.space<ub>>

// V is not in order for reads of what was just written.
func.func @vector() attributes {npu.core = #npu.core<aiv>} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %y = npu.alloc "y" {address = 8192 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  // expected-note @below {{the earlier access}}
  npu.fill %zero : f32, (%x[%c0, %c0] [%c64, %c64] : !ub)
  // expected-error @below {{may touch 'y' on V before 'npu.fill' on V is done with 'x'}}
  npu.fill %zero : f32, (%y[%c0, %c0] [%c64, %c64] : !ub)
  return
}

// -----

func.func @events(%flag: i1) attributes {npu.core = #npu.core<aiv>} {
  // expected-note @below {{set here}}
  npu.set_flag <V> to <MTE3> id 0
  // expected-error @below {{sets an event that is still set}}
  // expected-error @below {{is never awaited}}
  npu.set_flag <V> to <MTE3> id 0
  npu.wait_flag <V> to <MTE3> id 0
  // expected-error @below {{waits for an event that nothing has set}}
  npu.wait_flag <V> to <MTE2> id 0
  scf.if %flag {
    // expected-error @below {{is never awaited}}
    npu.set_flag <V> to <MTE2> id 1
  }
  // expected-error @below {{has event id 8 of 8}}
  npu.set_flag <V> to <S> id 8
  // expected-error @below {{has event id 8 of 8}}
  npu.wait_flag <V> to <S> id 8
  return
}
