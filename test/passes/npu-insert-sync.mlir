// RUN: tilewright-opt %s --npu-insert-sync --npu-verify-sync -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: tilewright-opt %s --npu-insert-sync=ids=1 --npu-verify-sync=ids=1 -o /dev/null
// RUN: tilewright-opt %s --npu-insert-sync=mode=barrier-all --npu-verify-sync | FileCheck %s --check-prefix=ALL

!gm = memref<64x64xf32, #npu.space<gm>>
!gmh = memref<?x64xf16, #npu.space<gm>>
!ub = memref<64x64xf32, #npu.space<ub>>
!ws = memref<64x64xf32, #npu.space<workspace>>
!l1 = memref<64x64xf16, #npu.space<l1>>
!l0c = memref<64x64xf32, #npu.space<l0c>>
#core = #npu.core<aiv>

// A tile is stored and then used by the vector unit: the vector op waits for the load, not for the store.
// CHECK-LABEL: @load_store_use
// CHECK: npu.load
// CHECK-NEXT: npu.set_flag <MTE2> to <MTE3> id 0
// CHECK-NEXT: npu.set_flag <MTE2> to <V> id 0
// CHECK-NEXT: npu.wait_flag <MTE2> to <MTE3> id 0
// CHECK-NEXT: npu.store
// CHECK-NEXT: npu.wait_flag <MTE2> to <V> id 0
// CHECK-NEXT: npu.elementwise
// CHECK-NEXT: return
// ALL-LABEL: @load_store_use
// ALL: npu.load
// ALL-NEXT: npu.barrier <All>
// ALL-NEXT: npu.store
// ALL-NEXT: npu.barrier <All>
// ALL-NEXT: npu.elementwise
// ALL-NEXT: npu.barrier <All>
func.func @load_store_use(%A: !gm, %B: !gm) attributes {npu.core = #core} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %y = npu.alloc "y" {address = 16384 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  npu.load (%x[%c0, %c0] [%c64, %c64] : !ub, %A[%c0, %c0] [%c64, %c64] : !gm)
  npu.store (%B[%c0, %c0] [%c64, %c64] : !gm, %x[%c0, %c0] [%c64, %c64] : !ub)
  npu.elementwise <exp> (%y[%c0, %c0] [%c64, %c64] : !ub, %x[%c0, %c0] [%c64, %c64] : !ub) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  return
}

// Tiles with two and three slots loaded in one loop: one event per slot of the smaller one orders both, and
// loads run ahead over the end of a block. The accumulator has its own pair.
// CHECK-LABEL: @gemm
// CHECK: npu.set_flag <MTE1> to <MTE2> id 0
// CHECK-NEXT: npu.set_flag <MTE1> to <MTE2> id 1
// CHECK-NEXT: npu.set_flag <FIX> to <M> id 0
// CHECK-NEXT: npu.set_flag <FIX> to <M> id 1
// CHECK: npu.begin_block
// CHECK-NEXT: npu.advance %c
// CHECK-NEXT: npu.wait_flag <FIX> to <M> id 0 rotate %c
// CHECK-NEXT: scf.for
// CHECK-NEXT: npu.advance %a
// CHECK-NEXT: npu.wait_flag <MTE1> to <MTE2> id 0 rotate %a
// CHECK-NEXT: npu.load (%a
// CHECK-NEXT: npu.advance %b
// CHECK-NEXT: npu.load (%b
// CHECK-NEXT: npu.set_flag <MTE2> to <MTE1> id 0 rotate %a
// CHECK-NEXT: arith.cmpi
// CHECK-NEXT: npu.wait_flag <MTE2> to <MTE1> id 0 rotate %a
// CHECK-NEXT: npu.mmad
// CHECK-NEXT: npu.set_flag <MTE1> to <MTE2> id 0 rotate %a
// CHECK-NEXT: }
// CHECK-NEXT: npu.set_flag <M> to <FIX> id 0 rotate %c
// CHECK-NEXT: npu.wait_flag <M> to <FIX> id 0 rotate %c
// CHECK-NEXT: npu.fixpipe
// CHECK-NEXT: npu.set_flag <FIX> to <M> id 0 rotate %c
// CHECK-NEXT: }
// CHECK-NEXT: npu.wait_flag <MTE1> to <MTE2> id 0
// CHECK-NEXT: npu.wait_flag <MTE1> to <MTE2> id 1
// CHECK-NEXT: npu.wait_flag <FIX> to <M> id 0
// CHECK-NEXT: npu.wait_flag <FIX> to <M> id 1
// CHECK-NEXT: return
func.func @gemm(%A: !gmh, %B: !gmh, %C: !gm, %blocks: index, %steps: index) attributes {npu.core = #npu.core<aic>} {
  %a = npu.alloc "a" {slots = 2 : i64, address = 0 : i64} : !l1
  %b = npu.alloc "b" {slots = 3 : i64, address = 16384 : i64} : !l1
  %c = npu.alloc "c" {slots = 2 : i64, address = 0 : i64} : !l0c
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %id = npu.core_id
  %count = npu.core_count
  scf.for %block = %id to %blocks step %count {
    npu.begin_block %block
    npu.advance %c : !l0c
    scf.for %step = %c0 to %steps step %c1 {
      npu.advance %a : !l1
      npu.load (%a[%c0, %c0] [%c64, %c64] : !l1, %A[%step, %c0] [%c64, %c64] : !gmh)
      npu.advance %b : !l1
      npu.load (%b[%c0, %c0] [%c64, %c64] : !l1, %B[%step, %c0] [%c64, %c64] : !gmh)
      %init = arith.cmpi eq, %step, %c0 : index
      npu.mmad (%c[%c0, %c0] [%c64, %c64] : !l0c, %a[%c0, %c0] [%c64, %c64] : !l1, %b[%c0, %c0] [%c64, %c64] : !l1) init %init
    }
    npu.fixpipe (%C[%block, %c0] [%c64, %c64] : !gm, %c[%c0, %c0] [%c64, %c64] : !l0c)
  }
  return
}

// A branch that only pads a tile: what comes behind waits at its end, if it is taken.
// CHECK-LABEL: @padding_in_branch
// CHECK: scf.if
// CHECK-NEXT: npu.fill
// CHECK-NEXT: npu.set_flag <V> to <MTE2> id 0
// CHECK-NEXT: npu.wait_flag <V> to <MTE2> id 0
// CHECK-NEXT: }
// CHECK-NEXT: npu.load
func.func @padding_in_branch(%A: !gm, %flag: i1) attributes {npu.core = #core} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.if %flag {
    npu.fill %zero : f32, (%x[%c0, %c0] [%c64, %c64] : !ub)
  }
  npu.load (%x[%c0, %c0] [%c32, %c64] : !ub, %A[%c0, %c0] [%c32, %c64] : !gm)
  npu.elementwise <exp> (%x[%c0, %c0] [%c64, %c64] : !ub, %x[%c0, %c0] [%c64, %c64] : !ub) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  return
}

// One branch loads: the flag is set behind the branch, whichever way it goes.
// CHECK-LABEL: @load_in_branch
// CHECK: scf.if
// CHECK-NEXT: npu.load
// CHECK-NEXT: }
// CHECK-NEXT: npu.set_flag <MTE2> to <V> id 0
// CHECK-NEXT: npu.wait_flag <MTE2> to <V> id 0
// CHECK-NEXT: npu.elementwise
func.func @load_in_branch(%A: !gm, %flag: i1) attributes {npu.core = #core} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  scf.if %flag {
    npu.load (%x[%c0, %c0] [%c64, %c64] : !ub, %A[%c0, %c0] [%c64, %c64] : !gm)
  }
  npu.elementwise <exp> (%x[%c0, %c0] [%c64, %c64] : !ub, %x[%c0, %c0] [%c64, %c64] : !ub) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  return
}

// The consumer's loop may have no turns: flags stay outside of it.
// CHECK-LABEL: @consumer_in_loops
// CHECK: npu.load
// CHECK-NEXT: npu.set_flag <MTE2> to <MTE3> id 0
// CHECK-NEXT: npu.wait_flag <MTE2> to <MTE3> id 0
// CHECK-NEXT: scf.for
// CHECK-NEXT: scf.for
// CHECK-NEXT: npu.store
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @consumer_in_loops(%A: !gm, %B: !gm, %n: index) attributes {npu.core = #core} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  npu.load (%x[%c0, %c0] [%c64, %c64] : !ub, %A[%c0, %c0] [%c64, %c64] : !gm)
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      npu.store (%B[%j, %c0] [%c64, %c64] : !gm, %x[%c0, %c0] [%c64, %c64] : !ub)
    }
  }
  return
}

// Halves of a tile: the second half is loaded while the vector unit works on the first.
// CHECK-LABEL: @halves
// CHECK: npu.load
// CHECK-NEXT: npu.set_flag <MTE2> to <V> id 0
// CHECK-NEXT: npu.wait_flag <MTE2> to <V> id 0
// CHECK-NEXT: npu.fill
// CHECK-NEXT: npu.load
// CHECK-NEXT: return
func.func @halves(%A: !gm) attributes {npu.core = #core} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  npu.load (%x[%c0, %c0] [%c32, %c64] : !ub, %A[%c0, %c0] [%c32, %c64] : !gm)
  npu.fill %zero : f32, (%x[%c0, %c0] [%c32, %c64] : !ub)
  npu.load (%x[%c32, %c0] [%c32, %c64] : !ub, %A[%c32, %c0] [%c32, %c64] : !gm)
  return
}

// The scalar unit needs no flag towards the others, but it waits for them.
// CHECK-LABEL: @scalar
// CHECK: npu.set_flag <V> to <S> id 0
// CHECK: scf.for
// CHECK-NEXT: npu.scalar_load
// CHECK-NEXT: npu.wait_flag <V> to <S> id 0
// CHECK-NEXT: npu.scalar_store
// CHECK-NEXT: npu.elementwise
// CHECK-NEXT: npu.set_flag <V> to <S> id 0
// CHECK-NEXT: }
// CHECK-NEXT: npu.wait_flag <V> to <S> id 0
func.func @scalar(%n: index) attributes {npu.core = #core} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %y = npu.alloc "y" {address = 16384 : i64} : !ub
  %v = npu.alloc "v" : memref<f32, #npu.space<reg>>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %n step %c1 {
    %value = npu.scalar_load %v[] : memref<f32, #npu.space<reg>> -> f32
    npu.scalar_store %value, %x[%i, %c0] : f32, !ub
    npu.elementwise <exp> (%y[%c0, %c0] [%c64, %c64] : !ub, %x[%c0, %c0] [%c64, %c64] : !ub) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  }
  return
}

// Global memory is written and read again in one block. Other blocks have nothing to do with it, but the event must have
// been awaited before it is set again.
// CHECK-LABEL: @reload
// CHECK: npu.begin_block
// CHECK-NEXT: npu.wait_flag <MTE2> to <MTE3> id 0
// CHECK-NEXT: npu.store
// CHECK-NEXT: npu.set_flag <MTE3> to <MTE2> id 0
// CHECK-NEXT: npu.wait_flag <MTE3> to <MTE2> id 0
// CHECK-NEXT: npu.load
// CHECK-NEXT: npu.set_flag <MTE2> to <MTE3> id 0
func.func @reload(%A: !gm, %blocks: index) attributes {npu.core = #core} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %y = npu.alloc "y" {address = 16384 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %id = npu.core_id
  %count = npu.core_count
  scf.for %block = %id to %blocks step %count {
    npu.begin_block %block
    npu.store (%A[%c0, %c0] [%c64, %c64] : !gm, %x[%c0, %c0] [%c64, %c64] : !ub)
    npu.load (%y[%c0, %c0] [%c64, %c64] : !ub, %A[%c0, %c0] [%c64, %c64] : !gm)
  }
  return
}

// Rows of a loop's turns do not meet: no order from the store to the next load of global memory.
// CHECK-LABEL: @in_place_rows
// CHECK: scf.for
// CHECK-NEXT: arith.muli
// CHECK-NEXT: npu.advance
// CHECK-NEXT: npu.wait_flag <MTE3> to <MTE2> id 0 rotate %x
// CHECK-NEXT: npu.load
// CHECK-NEXT: npu.set_flag <MTE2> to <MTE3> id 0 rotate %x
// CHECK-NEXT: npu.wait_flag <MTE2> to <MTE3> id 0 rotate %x
// CHECK-NEXT: npu.store
// CHECK-NEXT: npu.set_flag <MTE3> to <MTE2> id 0 rotate %x
// CHECK-NEXT: }
func.func @in_place_rows(%A: !gm, %n: index) attributes {npu.core = #core} {
  %x = npu.alloc "x" {slots = 2 : i64, address = 0 : i64} : memref<16x64xf32, #npu.space<ub>>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %n step %c1 {
    %row = arith.muli %i, %c16 : index
    npu.advance %x : memref<16x64xf32, #npu.space<ub>>
    npu.load (%x[%c0, %c0] [%c16, %c64] : memref<16x64xf32, #npu.space<ub>>, %A[%row, %c0] [%c16, %c64] : !gm)
    npu.store (%A[%row, %c0] [%c16, %c64] : !gm, %x[%c0, %c0] [%c16, %c64] : memref<16x64xf32, #npu.space<ub>>)
  }
  return
}

// Atomic adds follow each other without a flag.
// CHECK-LABEL: @atomics
// CHECK-NOT: npu.{{set_flag|wait_flag|barrier}}
// CHECK: return
func.func @atomics(%A: !gm) attributes {npu.core = #core} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  npu.atomic <sum> (%A[%c0, %c0] [%c64, %c64] : !gm, %x[%c0, %c0] [%c64, %c64] : !ub)
  npu.atomic <sum> (%A[%c0, %c0] [%c64, %c64] : !gm, %x[%c0, %c0] [%c64, %c64] : !ub)
  return
}

// Two chains on the vector unit: one barrier between dependent ops serves both.
// CHECK-LABEL: @chains
// CHECK: <exp>
// CHECK-NEXT: npu.elementwise <log>
// CHECK-NEXT: npu.barrier <V>
// CHECK-NEXT: npu.elementwise <exp>
// CHECK-NEXT: npu.elementwise <log>
// CHECK-NEXT: return
func.func @chains() attributes {npu.core = #core} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %y = npu.alloc "y" {address = 16384 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  npu.elementwise <exp> (%x[%c0, %c0] [%c64, %c64] : !ub, %x[%c0, %c0] [%c64, %c64] : !ub) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  npu.elementwise <log> (%y[%c0, %c0] [%c64, %c64] : !ub, %y[%c0, %c0] [%c64, %c64] : !ub) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  npu.elementwise <exp> (%x[%c0, %c0] [%c64, %c64] : !ub, %x[%c0, %c0] [%c64, %c64] : !ub) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  npu.elementwise <log> (%y[%c0, %c0] [%c64, %c64] : !ub, %y[%c0, %c0] [%c64, %c64] : !ub) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  return
}

// The same chains one after the other: they are interleaved, and the fill, which overwrites what the first op reads, stays
// behind it.
// CHECK-LABEL: @interleave
// CHECK: npu.elementwise <exp> (%x
// CHECK-NEXT: npu.elementwise <log> (%y
// CHECK-NEXT: npu.fill {{.*}}(%z
// CHECK-NEXT: npu.barrier <V>
// CHECK-NEXT: npu.elementwise <exp> (%x
// CHECK-NEXT: npu.elementwise <log> (%y
// CHECK-NEXT: return
func.func @interleave() attributes {npu.core = #core} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %y = npu.alloc "y" {address = 16384 : i64} : !ub
  %z = npu.alloc "z" {address = 32768 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  npu.elementwise <exp> (%x[%c0, %c0] [%c64, %c64] : !ub, %z[%c0, %c0] [%c64, %c64] : !ub) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  npu.elementwise <exp> (%x[%c0, %c0] [%c64, %c64] : !ub, %x[%c0, %c0] [%c64, %c64] : !ub) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  npu.elementwise <log> (%y[%c0, %c0] [%c64, %c64] : !ub, %y[%c0, %c0] [%c64, %c64] : !ub) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  npu.elementwise <log> (%y[%c0, %c0] [%c64, %c64] : !ub, %y[%c0, %c0] [%c64, %c64] : !ub) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  npu.fill %zero : f32, (%z[%c0, %c0] [%c64, %c64] : !ub)
  return
}

// A later write may overtake nothing that an earlier op still reads.
// CHECK-LABEL: @overwrite
// CHECK-NOT: npu.barrier
// CHECK: return
func.func @overwrite() attributes {npu.core = #core} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %y = npu.alloc "y" {address = 16384 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  npu.elementwise <exp> (%y[%c0, %c0] [%c64, %c64] : !ub, %x[%c0, %c0] [%c64, %c64] : !ub) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  npu.fill %zero : f32, (%x[%c0, %c0] [%c64, %c64] : !ub)
  return
}

// Cross-core signals stay where they are; inside of the core the tile has three slots.
// CHECK-LABEL: @cross_core
// CHECK-COUNT-3: npu.set_flag <MTE3> to <MTE2>
// CHECK: npu.block_wait <MTE2> id 0
// CHECK-NEXT: npu.wait_flag <MTE3> to <MTE2> id 0 rotate %x
// CHECK-NEXT: npu.load
// CHECK-NEXT: npu.set_flag <MTE2> to <V> id 0 rotate %x
// CHECK-NEXT: npu.block_set <MTE2> id 1
// CHECK-NEXT: npu.wait_flag <MTE2> to <V> id 0 rotate %x
// CHECK-NEXT: npu.elementwise
// CHECK-NEXT: npu.set_flag <V> to <MTE3> id 0 rotate %x
// CHECK-NEXT: npu.wait_flag <V> to <MTE3> id 0 rotate %x
// CHECK-NEXT: npu.store
// CHECK-NEXT: npu.set_flag <MTE3> to <MTE2> id 0 rotate %x
// CHECK-NEXT: }
// CHECK-COUNT-3: npu.wait_flag <MTE3> to <MTE2>
func.func @cross_core(%C: !gm, %n: index) attributes {npu.core = #core} {
  %w = npu.alloc "w" {slots = 3 : i64, address = 0 : i64} : !ws
  %x = npu.alloc "x" {slots = 3 : i64, address = 0 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %n step %c1 {
    npu.advance %w : !ws
    npu.advance %x : !ub
    npu.block_wait <MTE2> id 0
    npu.load (%x[%c0, %c0] [%c64, %c64] : !ub, %w[%c0, %c0] [%c64, %c64] : !ws)
    npu.block_set <MTE2> id 1
    npu.elementwise <exp> (%x[%c0, %c0] [%c64, %c64] : !ub, %x[%c0, %c0] [%c64, %c64] : !ub) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
    npu.store (%C[%i, %c0] [%c64, %c64] : !gm, %x[%c0, %c0] [%c64, %c64] : !ub)
  }
  return
}

// A load buffer and a store buffer at one address: the next load waits for the store.
// CHECK-LABEL: @shared_address
// CHECK: npu.wait_flag <MTE3> to <MTE2> id 0
// CHECK-NEXT: npu.load (%x
// CHECK: npu.store (%{{.*}}, %z
// CHECK-NEXT: npu.set_flag <MTE3> to <MTE2> id 0
func.func @shared_address(%A: !gm, %B: !gm, %n: index) attributes {npu.core = #core} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %y = npu.alloc "y" {address = 16384 : i64} : !ub
  %z = npu.alloc "z" {address = 0 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %n step %c1 {
    npu.load (%x[%c0, %c0] [%c64, %c64] : !ub, %A[%i, %c0] [%c64, %c64] : !gm)
    npu.elementwise <exp> (%y[%c0, %c0] [%c64, %c64] : !ub, %x[%c0, %c0] [%c64, %c64] : !ub) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
    npu.elementwise <exp> (%z[%c0, %c0] [%c64, %c64] : !ub, %y[%c0, %c0] [%c64, %c64] : !ub) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
    npu.store (%B[%i, %c0] [%c64, %c64] : !gm, %z[%c0, %c0] [%c64, %c64] : !ub)
  }
  return
}

// A rotating tile that is read once more after its loop: the event of the whole loop orders that read.
// CHECK-LABEL: @read_after_loop
// CHECK: scf.for
// CHECK: npu.wait_flag <MTE3> to <MTE2> id 1 rotate %x
// CHECK: npu.load
// CHECK: npu.store
// CHECK: npu.set_flag <MTE3> to <MTE2> id 1 rotate %x
// CHECK: }
// CHECK: npu.set_flag <MTE2> to <MTE3>
// CHECK: npu.wait_flag <MTE2> to <MTE3>
// CHECK-NEXT: npu.store
// CHECK-NEXT: npu.set_flag <MTE3> to <MTE2> id 0
// CHECK-NEXT: }
func.func @read_after_loop(%A: !gm, %B: !gm, %n: index) attributes {npu.core = #core} {
  %x = npu.alloc "x" {slots = 2 : i64, address = 0 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %block = %c0 to %n step %c1 {
    scf.for %i = %c0 to %n step %c1 {
      npu.advance %x : !ub
      npu.load (%x[%c0, %c0] [%c64, %c64] : !ub, %A[%i, %c0] [%c64, %c64] : !gm)
      npu.store (%B[%i, %c0] [%c64, %c64] : !gm, %x[%c0, %c0] [%c64, %c64] : !ub)
    }
    npu.store (%B[%block, %c0] [%c64, %c64] : !gm, %x[%c0, %c0] [%c64, %c64] : !ub)
  }
  return
}

// Branches that use one tile in different ways, turn by turn. The barrier is for the fill of another turn.
// CHECK-LABEL: @branches
// CHECK: scf.for
// CHECK-NEXT: npu.set_flag <V> to <MTE2> id 0
// CHECK-NEXT: npu.wait_flag <V> to <MTE2> id 0
// CHECK-NEXT: scf.if
// CHECK-NEXT: npu.load
// CHECK-NEXT: } else {
// CHECK-NEXT: npu.barrier <V>
// CHECK-NEXT: npu.fill
// CHECK-NEXT: }
// CHECK-NEXT: npu.set_flag <MTE2> to <V> id 0
// CHECK-NEXT: npu.wait_flag <MTE2> to <V> id 0
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @branches(%A: !gm, %n: index, %flag: i1) attributes {npu.core = #core} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    scf.if %flag {
      npu.load (%x[%c0, %c0] [%c64, %c64] : !ub, %A[%i, %c0] [%c64, %c64] : !gm)
    } else {
      npu.fill %zero : f32, (%x[%c0, %c0] [%c64, %c64] : !ub)
    }
  }
  return
}

// What the scalar unit awaits in a loop orders all pipes, but only from there on: the vector op before the wait
// still needs its barrier behind the fill.
// CHECK-LABEL: @scalar_wait_behind_the_first_op
// CHECK: npu.fill
// CHECK-NEXT: npu.barrier <V>
// CHECK-NEXT: scf.for
// CHECK-NEXT: npu.elementwise
// CHECK-NEXT: npu.set_flag <V> to <S> id 0
// CHECK-NEXT: npu.wait_flag <V> to <S> id 0
// CHECK-NEXT: npu.scalar_load
func.func @scalar_wait_behind_the_first_op(%A: !gm) attributes {npu.core = #core} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %y = npu.alloc "y" {address = 16384 : i64} : !ub
  %z = npu.alloc "z" {address = 32768 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %two = arith.constant 2.0 : f32
  npu.fill %two : f32, (%x[%c0, %c0] [%c64, %c64] : !ub)
  scf.for %i = %c0 to %c4 step %c1 {
    npu.elementwise <exp> (%y[%c0, %c0] [%c64, %c64] : !ub, %x[%c0, %c0] [%c64, %c64] : !ub) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
    %value = npu.scalar_load %y[%i, %c0] : !ub -> f32
    npu.fill %value : f32, (%z[%c0, %c0] [%c64, %c64] : !ub)
  }
  return
}

// A function that is synchronised already stays as it is.
// CHECK-LABEL: @manual
// CHECK: npu.load
// CHECK-NEXT: npu.barrier <All>
// CHECK-NEXT: npu.store
func.func @manual(%A: !gm, %B: !gm) attributes {npu.core = #core} {
  %x = npu.alloc "x" {address = 0 : i64} : !ub
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  npu.load (%x[%c0, %c0] [%c64, %c64] : !ub, %A[%c0, %c0] [%c64, %c64] : !gm)
  npu.barrier <All>
  npu.store (%B[%c0, %c0] [%c64, %c64] : !gm, %x[%c0, %c0] [%c64, %c64] : !ub)
  return
}

// With one id per pair of pipes: what a flag in the loop says of accesses in it does not hold for the
// events that are set before that flag's wait, so the loop cannot use the id of the flag before it.
// CHECK-LABEL: func.func @set_before_the_wait(
func.func @set_before_the_wait(%A: !gm, %B: !gm, %n: index, %flag: i1) attributes {npu.core = #core} {
  %x = npu.alloc "x" {slots = 2 : i64, address = 0 : i64} : !ub
  %y = npu.alloc "y" {address = 0 : i64} : !ws
  %z = npu.alloc "z" {address = 0 : i64} : !ws
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    %row = arith.muli %i, %c32 : index
    npu.load (%x[%row, %c0] [%c32, %c64] : !ub, %y[%c0, %c0] [%c64, %c64] : !ws)
    npu.atomic <sum> (%B[%c0, %c0] [%c64, %c64] : !gm, %x[%c0, %c0] [%c64, %c64] : !ub)
    scf.for %j = %c0 to %c32 step %c1 {
      scf.if %flag {
        npu.scalar_store %zero, %x[%c0, %c0] : f32, !ub
        npu.store (%z[%c0, %c0] [%c64, %c64] : !ws, %x[%c32, %c0] [%c32, %c64] : !ub)
      } else {
        npu.store (%z[%c0, %c0] [%c32, %c64] : !ws, %x[%row, %c0] [%c32, %c64] : !ub)
        npu.load (%x[%c32, %c0] [%c32, %c64] : !ub, %A[%c0, %c0] [%c32, %c64] : !gm)
      }
    }
  }
  return
}
