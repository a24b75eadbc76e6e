// RUN: tilewright-opt %s --split-input-file --npu-insert-sync=ids=2 --verify-diagnostics
// RUN: not tilewright-opt %s --split-input-file --npu-insert-sync=ids=2 --npu-verify-sync=ids=2 2>/dev/null | FileCheck %s

!ub = memref<64x64xf32, #npu.space<ub>>
!gm = memref<64x64xf32, #npu.space<gm>>

func.func @no_address(%A: !gm) attributes {npu.core = #npu.core<aiv>} {
  // expected-error @below {{'x' has no address: run npu-plan-memory before}}
  %x = npu.alloc "x" : !ub
  return
}

// -----

!ub = memref<64x64xf32, #npu.space<ub>>
!gm = memref<64x64xf32, #npu.space<gm>>

func.func @unknown_buffer(%A: !gm, %B: !gm, %flag: i1) attributes {npu.core = #npu.core<aiv>} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %any = arith.select %flag, %A, %B : !gm
  // expected-error @below {{needs boxes of allocs and arguments, box 1 is of neither}}
  npu.load (%x[%c0, %c0] [%c64, %c64] : !ub, %any[%c0, %c0] [%c64, %c64] : !gm)
  return
}

// -----

!ub = memref<64x64xf32, #npu.space<ub>>
!gm = memref<64x64xf32, #npu.space<gm>>

// A flag in the function: left alone.
func.func @manual(%A: !gm) attributes {npu.core = #npu.core<aiv>} {
  // expected-remark @below {{@manual is left as it is: it has flags or barriers already}}
  npu.barrier <V>
  return
}

// -----

!ub = memref<64x64xf32, #npu.space<ub>>
!gm = memref<64x64xf32, #npu.space<gm>>

// Three loads in flight and two events: two loads share one.
// CHECK-LABEL: @merge
// CHECK: npu.load
// CHECK-NEXT: npu.load
// CHECK-NEXT: npu.set_flag <MTE2> to <V> id 0
// CHECK-NEXT: npu.load
// CHECK-NEXT: npu.set_flag <MTE2> to <V> id 1
// CHECK-NEXT: npu.wait_flag <MTE2> to <V> id 0
// CHECK-NEXT: npu.fill
// CHECK-NEXT: npu.fill
// CHECK-NEXT: npu.wait_flag <MTE2> to <V> id 1
// CHECK-NEXT: npu.fill
// expected-remark @below {{applied: 2 flags and 0 barriers in @merge}}
func.func @merge(%A: !gm) attributes {npu.core = #npu.core<aiv>} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %y = npu.alloc "y" {address = 16384 : i64} : !ub
  %z = npu.alloc "z" {address = 32768 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  npu.load (%x[%c0, %c0] [%c64, %c64] : !ub, %A[%c0, %c0] [%c64, %c64] : !gm)
  npu.load (%y[%c0, %c0] [%c64, %c64] : !ub, %A[%c0, %c0] [%c64, %c64] : !gm)
  npu.load (%z[%c0, %c0] [%c64, %c64] : !ub, %A[%c0, %c0] [%c64, %c64] : !gm)
  // expected-remark @below {{fallback: one event for two orders from MTE2 to V: more than the event ids there are; the first op waits for both}}
  npu.fill %zero : f32, (%x[%c0, %c0] [%c64, %c64] : !ub)
  npu.fill %zero : f32, (%y[%c0, %c0] [%c64, %c64] : !ub)
  npu.fill %zero : f32, (%z[%c0, %c0] [%c64, %c64] : !ub)
  return
}

// -----

!ub = memref<64x64xf32, #npu.space<ub>>
!gm = memref<64x64xf32, #npu.space<gm>>

// Three slots and two events: the slots share one.
// CHECK-LABEL: @slots
// CHECK: npu.set_flag <MTE3> to <MTE2> id 0
// CHECK: npu.wait_flag <MTE3> to <MTE2> id 0
// CHECK-NEXT: npu.load
// CHECK-NEXT: npu.set_flag <MTE2> to <MTE3> id 0
// expected-remark @below {{applied: 3 flags and 0 barriers in @slots}}
func.func @slots(%A: !gm, %B: !gm, %n: index) attributes {npu.core = #npu.core<aiv>} {
  %x = npu.alloc "x" {slots = 3 : i64, address = 0 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  // expected-remark @below {{applied: 2 flags and 0 barriers a turn}}
  scf.for %i = %c0 to %n step %c1 {
    npu.advance %x : !ub
    npu.load (%x[%c0, %c0] [%c64, %c64] : !ub, %A[%i, %c0] [%c64, %c64] : !gm)
    // expected-remark @below {{fallback: one event for all slots of 'x': more than the event ids from MTE2 to MTE3 there are; its slots no longer overlap}}
    npu.store (%B[%i, %c0] [%c64, %c64] : !gm, %x[%c0, %c0] [%c64, %c64] : !ub)
  }
  return
}
