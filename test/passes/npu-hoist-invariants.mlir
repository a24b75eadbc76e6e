// RUN: tilewright-opt %s --npu-hoist-invariants --verify-diagnostics -o %t.after.mlir
// RUN: FileCheck %s < %t.after.mlir
// RUN: tilewright-opt %s --npu-plan-memory --npu-insert-sync -o %t.one.mlir 2>/dev/null
// RUN: tilewright-opt %t.after.mlir --npu-plan-memory --npu-insert-sync --npu-verify-plan --npu-verify-sync -o %t.two.mlir 2>/dev/null

// Each case is checked as text and run, before and after.

// DEFINE: %{name} =
// DEFINE: %{options} = --checksums --check --function %{name}
// DEFINE: %{same} = tilewright-sim %t.one.mlir %{options} > %t.before && tilewright-sim %t.two.mlir %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = weights
// RUN: %{same}
// REDEFINE: %{name} = stays
// RUN: %{same}
// REDEFINE: %{name} = no_room
// RUN: %{same}
// REDEFINE: %{name} = inner_loop
// RUN: %{same}

!x = memref<64x512xf16, #npu.space<gm>>
!y = memref<65x512xf16, #npu.space<gm>>
!w = memref<512xf16, #npu.space<gm>>
!half = memref<512xf16, #npu.space<ub>>
!wide = memref<512xf32, #npu.space<ub>>

// Weights, and what is made of them alone; the row of the block stays.
// CHECK-LABEL: func.func private @weights_aiv(
// CHECK: npu.alloc "w" : memref<512xf16
// CHECK: npu.load (%w
// CHECK-NEXT: npu.elementwise <cast> (%scale
// CHECK-NEXT: scf.for
// CHECK-NOT: npu.advance %w
// CHECK: npu.load (%row
// CHECK-NOT: npu.load
// CHECK: npu.store
func.func @weights(%X: !x {tile.name = "X"}, %W: !w {tile.name = "W"}, %Y: !x {tile.name = "Y", tile.output}) {
  npu.launch aiv @weights_aiv(%X, %W, %Y) : !x, !w, !x
  return
}
func.func private @weights_aiv(%X: !x {npu.name = "X"}, %W: !w {npu.name = "W"}, %Y: !x {npu.name = "Y"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %blocks = arith.constant 64 : index
  %row = npu.alloc "row" {slots = 2 : i64} : !half
  %w = npu.alloc "w" {slots = 2 : i64} : !half
  %x = npu.alloc "x" : !wide
  %scale = npu.alloc "scale" : !wide
  %out = npu.alloc "out" {slots = 2 : i64} : !half
  %core = npu.core_id
  %cores = npu.core_count
  scf.for %block = %core to %blocks step %cores {
    npu.begin_block %block
    npu.advance %row : !half
    npu.load (%row[%c0] [%c512] : !half, %X[%block, %c0] [%c1, %c512] : !x)
    npu.advance %w : !half
    // expected-remark @below {{'w' is the same in each turn: filled once, before the blocks of a core}}
    npu.load (%w[%c0] [%c512] : !half, %W[%c0] [%c512] : !w)
    npu.elementwise <cast> (%x[%c0] [%c512] : !wide, %row[%c0] [%c512] : !half) {maps = [array<i64: 0>, array<i64: 0>]}
    // expected-remark @below {{'scale' is the same in each turn}}
    npu.elementwise <cast> (%scale[%c0] [%c512] : !wide, %w[%c0] [%c512] : !half) {maps = [array<i64: 0>, array<i64: 0>]}
    npu.elementwise <mul> (%x[%c0] [%c512] : !wide, %x[%c0] [%c512] : !wide, %scale[%c0] [%c512] : !wide) {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>]}
    npu.advance %out : !half
    npu.elementwise <cast> (%out[%c0] [%c512] : !half, %x[%c0] [%c512] : !wide) {maps = [array<i64: 0>, array<i64: 0>]}
    npu.store (%Y[%block, %c0] [%c1, %c512] : !x, %out[%c0] [%c512] : !half)
  }
  return
}

// A tensor that the launch writes, a tile that the turn changes, one that is read before it is filled, and one that is
// filled under a condition.
// CHECK-LABEL: func.func private @stays_aiv(
// CHECK: scf.for
// CHECK: npu.load (%own
// CHECK: npu.load (%changed
// CHECK: npu.load (%late
// CHECK: scf.if
// CHECK-NEXT: npu.load (%sometimes
func.func @stays(%X: !x {tile.name = "X"}, %W: !w {tile.name = "W"}, %Y: !x {tile.name = "Y", tile.output}, %V: !w {tile.name = "V", tile.output}) {
  npu.launch aiv @stays_aiv(%X, %W, %Y, %V) : !x, !w, !x, !w
  return
}
func.func private @stays_aiv(%X: !x {npu.name = "X"}, %W: !w {npu.name = "W"}, %Y: !x {npu.name = "Y"}, %V: !w {npu.name = "V"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %turns = arith.constant 4 : index
  %zero = arith.constant 0.0 : f16
  %own = npu.alloc "own" : !half
  %changed = npu.alloc "changed" : !half
  %late = npu.alloc "late" : !half
  %sometimes = npu.alloc "sometimes" : !half
  npu.fill %zero : f16, (%late[%c0] [%c512] : !half)
  npu.fill %zero : f16, (%sometimes[%c0] [%c512] : !half)
  %core = npu.core_id
  %alone = arith.cmpi eq, %core, %c0 : index
  scf.if %alone {
  scf.for %block = %c0 to %turns step %c1 {
    npu.load (%own[%c0] [%c512] : !half, %V[%c0] [%c512] : !w)
    npu.load (%changed[%c0] [%c512] : !half, %W[%c0] [%c512] : !w)
    npu.elementwise <add> (%changed[%c0] [%c512] : !half, %changed[%c0] [%c512] : !half, %own[%c0] [%c512] : !half) {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>]}
    npu.elementwise <add> (%changed[%c0] [%c512] : !half, %changed[%c0] [%c512] : !half, %late[%c0] [%c512] : !half) {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>]}
    npu.load (%late[%c0] [%c512] : !half, %W[%c0] [%c512] : !w)
    %first = arith.cmpi eq, %block, %c0 : index
    scf.if %first {
      npu.load (%sometimes[%c0] [%c512] : !half, %W[%c0] [%c512] : !w)
    }
    npu.elementwise <add> (%changed[%c0] [%c512] : !half, %changed[%c0] [%c512] : !half, %sometimes[%c0] [%c512] : !half) {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>]}
    npu.store (%Y[%block, %c0] [%c1, %c512] : !x, %changed[%c0] [%c512] : !half)
    npu.store (%V[%c0] [%c512] : !w, %changed[%c0] [%c512] : !half)
  }
  }
  return
}

// What is needed later in the turn would take the place of what is needed now.
// CHECK-LABEL: func.func private @no_room_aiv(
// CHECK: scf.for
// CHECK: npu.load (%w
// CHECK: npu.elementwise <cast> (%scale
func.func @no_room(%X: memref<64x16384xf16, #npu.space<gm>> {tile.name = "X"}, %W: memref<16384xf16, #npu.space<gm>> {tile.name = "W"}, %Y: memref<64x16384xf16, #npu.space<gm>> {tile.name = "Y", tile.output}) {
  npu.launch aiv @no_room_aiv(%X, %W, %Y) : memref<64x16384xf16, #npu.space<gm>>, memref<16384xf16, #npu.space<gm>>, memref<64x16384xf16, #npu.space<gm>>
  return
}
func.func private @no_room_aiv(%X: memref<64x16384xf16, #npu.space<gm>> {npu.name = "X"}, %W: memref<16384xf16, #npu.space<gm>> {npu.name = "W"}, %Y: memref<64x16384xf16, #npu.space<gm>> {npu.name = "Y"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 16384 : index
  %blocks = arith.constant 64 : index
  %row = npu.alloc "row" : memref<16384xf16, #npu.space<ub>>
  %w = npu.alloc "w" : memref<16384xf16, #npu.space<ub>>
  %x = npu.alloc "x" : memref<16384xf32, #npu.space<ub>>
  %y = npu.alloc "y" : memref<16384xf32, #npu.space<ub>>
  %scale = npu.alloc "scale" : memref<16384xf32, #npu.space<ub>>
  %other = npu.alloc "other" : memref<16384xf16, #npu.space<ub>>
  %core = npu.core_id
  %cores = npu.core_count
  scf.for %block = %core to %blocks step %cores {
    npu.begin_block %block
    npu.load (%row[%c0] [%n] : memref<16384xf16, #npu.space<ub>>, %X[%block, %c0] [%c1, %n] : memref<64x16384xf16, #npu.space<gm>>)
    npu.elementwise <cast> (%x[%c0] [%n] : memref<16384xf32, #npu.space<ub>>, %row[%c0] [%n] : memref<16384xf16, #npu.space<ub>>) {maps = [array<i64: 0>, array<i64: 0>]}
    npu.elementwise <cast> (%y[%c0] [%n] : memref<16384xf32, #npu.space<ub>>, %row[%c0] [%n] : memref<16384xf16, #npu.space<ub>>) {maps = [array<i64: 0>, array<i64: 0>]}
    npu.elementwise <mul> (%x[%c0] [%n] : memref<16384xf32, #npu.space<ub>>, %x[%c0] [%n] : memref<16384xf32, #npu.space<ub>>, %y[%c0] [%n] : memref<16384xf32, #npu.space<ub>>) {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>]}
    npu.load (%w[%c0] [%n] : memref<16384xf16, #npu.space<ub>>, %W[%c0] [%n] : memref<16384xf16, #npu.space<gm>>)
    npu.elementwise <cast> (%scale[%c0] [%n] : memref<16384xf32, #npu.space<ub>>, %w[%c0] [%n] : memref<16384xf16, #npu.space<ub>>) {maps = [array<i64: 0>, array<i64: 0>]}
    npu.elementwise <mul> (%x[%c0] [%n] : memref<16384xf32, #npu.space<ub>>, %x[%c0] [%n] : memref<16384xf32, #npu.space<ub>>, %scale[%c0] [%n] : memref<16384xf32, #npu.space<ub>>) {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>]}
    npu.elementwise <cast> (%other[%c0] [%n] : memref<16384xf16, #npu.space<ub>>, %x[%c0] [%n] : memref<16384xf32, #npu.space<ub>>) {maps = [array<i64: 0>, array<i64: 0>]}
    npu.store (%Y[%block, %c0] [%c1, %n] : memref<64x16384xf16, #npu.space<gm>>, %other[%c0] [%n] : memref<16384xf16, #npu.space<ub>>)
  }
  return
}

// Out of the inner loop, which runs for sure; its place in the tensor is that of the block. A loop that may not run
// keeps what other values place.
// CHECK-LABEL: func.func private @inner_loop_aiv(
// CHECK: npu.begin_block
// CHECK: npu.load (%w
// CHECK-NEXT: scf.for
// CHECK: scf.for
// CHECK-NEXT: npu.load (%v
func.func @inner_loop(%X: !x {tile.name = "X"}, %Y: !y {tile.name = "Y", tile.output}) {
  npu.launch aiv @inner_loop_aiv(%X, %Y) : !x, !y
  return
}
func.func private @inner_loop_aiv(%X: !x {npu.name = "X"}, %Y: !y {npu.name = "Y"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c512 = arith.constant 512 : index
  %blocks = arith.constant 64 : index
  %zero = arith.constant 0.0 : f16
  %w = npu.alloc "w" : !half
  %v = npu.alloc "v" : !half
  %sum = npu.alloc "sum" : !half
  %core = npu.core_id
  %cores = npu.core_count
  scf.for %block = %core to %blocks step %cores {
    npu.begin_block %block
    npu.fill %zero : f16, (%sum[%c0] [%c512] : !half)
    scf.for %turn = %c0 to %c4 step %c1 {
      // expected-remark @below {{'w' is the same in each turn: filled once, before the loop}}
      npu.load (%w[%c0] [%c512] : !half, %X[%block, %c0] [%c1, %c512] : !x)
      npu.elementwise <add> (%sum[%c0] [%c512] : !half, %sum[%c0] [%c512] : !half, %w[%c0] [%c512] : !half) {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>]}
    }
    scf.for %turn = %c0 to %block step %c1 {
      npu.load (%v[%c0] [%c512] : !half, %X[%block, %c0] [%c1, %c512] : !x)
      npu.elementwise <add> (%sum[%c0] [%c512] : !half, %sum[%c0] [%c512] : !half, %v[%c0] [%c512] : !half) {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>]}
    }
    npu.store (%Y[%block, %c0] [%c1, %c512] : !y, %sum[%c0] [%c512] : !half)
  }
  return
}

// What the other kind of core hands over is another tile each turn.
// CHECK-LABEL: func.func private @handed_aic(
// CHECK: scf.for
// CHECK: npu.load (%h.l1
func.func private @handed_aic(%X: !x {npu.name = "X"}) attributes {npu.core = #npu.core<aic>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %true = arith.constant true
  %exchange = npu.alloc "h.exchange" : memref<16x16xf16, #npu.space<workspace>>
  %h = npu.alloc "h.l1" : memref<16x16xf16, #npu.space<l1>>
  %sum = npu.alloc "sum" : memref<16x16xf32, #npu.space<l0c>>
  scf.for %turn = %c0 to %c4 step %c1 {
    npu.block_wait <MTE2> id 0
    npu.load (%h[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #npu.space<l1>>, %exchange[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #npu.space<workspace>>)
    npu.block_set <MTE2> id 1
    npu.mmad (%sum[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #npu.space<l0c>>, %h[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #npu.space<l1>>, %h[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #npu.space<l1>>) init %true
  }
  return
}
func.func @handed(%X: !x {tile.name = "X"}) {
  npu.launch aic @handed_aic(%X) : !x
  return
}
