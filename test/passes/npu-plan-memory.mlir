// RUN: tilewright-opt %s --split-input-file --npu-plan-memory --npu-verify-plan --verify-diagnostics | FileCheck %s

// All fits: nothing is shared, and the two sources of the sum lie 256 bytes apart modulo 512.
// CHECK-LABEL: @no_sharing
// CHECK: npu.alloc "x" {address = 0 : i64}
// CHECK: npu.alloc "y" {address = 4352 : i64}
// CHECK: npu.alloc "z" {address = 8448 : i64}
func.func @no_sharing(%A: memref<1024xf32, #npu.space<gm>>) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1024 = arith.constant 1024 : index
  %x = npu.alloc "x" : memref<1024xf32, #npu.space<ub>>
  %y = npu.alloc "y" : memref<1024xf32, #npu.space<ub>>
  %z = npu.alloc "z" : memref<1024xf32, #npu.space<ub>>
  npu.load (%x[%c0] [%c1024] : memref<1024xf32, #npu.space<ub>>, %A[%c0] [%c1024] : memref<1024xf32, #npu.space<gm>>)
  npu.load (%y[%c0] [%c1024] : memref<1024xf32, #npu.space<ub>>, %A[%c0] [%c1024] : memref<1024xf32, #npu.space<gm>>)
  npu.elementwise <add> (%z[%c0] [%c1024] : memref<1024xf32, #npu.space<ub>>, %x[%c0] [%c1024] : memref<1024xf32, #npu.space<ub>>,
                         %y[%c0] [%c1024] : memref<1024xf32, #npu.space<ub>>) {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>]}
  npu.store (%A[%c0] [%c1024] : memref<1024xf32, #npu.space<gm>>, %z[%c0] [%c1024] : memref<1024xf32, #npu.space<ub>>)
  return
}

// -----

// Two loops, each of which needs 120 KiB: the tiles of one take the place of the other's. The tile that is
// read inside a branch of the second loop stays, and so does the one that is filled before the first.
// CHECK-LABEL: @loops_share
// CHECK-DAG: npu.alloc "index" {address = [[INDEX:[0-9]+]] : i64}
// CHECK-DAG: npu.alloc "a" {address = [[FIRST:[0-9]+]] : i64}
// CHECK-DAG: npu.alloc "b" {address = [[FIRST]] : i64}
// expected-remark @below {{applied: tiles of @loops_share that are not needed at the same time share memory, so that they take 152 KiB of 192 KiB UB}}
func.func @loops_share(%A: memref<30720xf32, #npu.space<gm>>, %flag: i1) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = arith.constant 30720 : index
  %k = arith.constant 8192 : index
  %zero = arith.constant 0.0 : f32
  %index = npu.alloc "index" : memref<8192xf32, #npu.space<ub>>
  %a = npu.alloc "a" : memref<30720xf32, #npu.space<ub>>
  %b = npu.alloc "b" : memref<30720xf32, #npu.space<ub>>
  npu.fill %zero : f32, (%index[%c0] [%k] : memref<8192xf32, #npu.space<ub>>)
  scf.for %i = %c0 to %c8 step %c1 {
    npu.load (%a[%c0] [%n] : memref<30720xf32, #npu.space<ub>>, %A[%c0] [%n] : memref<30720xf32, #npu.space<gm>>)
    npu.store (%A[%c0] [%n] : memref<30720xf32, #npu.space<gm>>, %a[%c0] [%n] : memref<30720xf32, #npu.space<ub>>)
  }
  scf.for %i = %c0 to %c8 step %c1 {
    npu.load (%b[%c0] [%n] : memref<30720xf32, #npu.space<ub>>, %A[%c0] [%n] : memref<30720xf32, #npu.space<gm>>)
    npu.store (%A[%c0] [%n] : memref<30720xf32, #npu.space<gm>>, %b[%c0] [%n] : memref<30720xf32, #npu.space<ub>>)
    scf.if %flag {
      npu.store (%A[%c0] [%k] : memref<30720xf32, #npu.space<gm>>, %index[%c0] [%k] : memref<8192xf32, #npu.space<ub>>)
    }
  }
  return
}

// -----

// A clipped tile is written and read by the same sizes: it lives inside the turn. The running sum is read
// before it is written, so it lives through the loop.
// CHECK-LABEL: @within_a_turn
// CHECK-DAG: npu.alloc "sum" {address = [[SUM:[0-9]+]] : i64}
// CHECK-DAG: npu.alloc "p" {address = [[P:[0-9]+]] : i64}
// CHECK-DAG: npu.alloc "q" {address = [[P]] : i64}
// expected-remark @below {{applied}}
func.func @within_a_turn(%A: memref<?xf32, #npu.space<gm>>, %size: index) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = arith.constant 24576 : index
  %sum = npu.alloc "sum" : memref<8192xf32, #npu.space<ub>>
  %p = npu.alloc "p" : memref<24576xf32, #npu.space<ub>>
  %q = npu.alloc "q" : memref<24576xf32, #npu.space<ub>>
  scf.for %i = %c0 to %c8 step %c1 {
    %part = arith.minsi %size, %n : index
    npu.load (%p[%c0] [%part] : memref<24576xf32, #npu.space<ub>>, %A[%c0] [%part] : memref<?xf32, #npu.space<gm>>)
    npu.elementwise <exp> (%p[%c0] [%part] : memref<24576xf32, #npu.space<ub>>, %p[%c0] [%part] : memref<24576xf32, #npu.space<ub>>)
                          {maps = [array<i64: 0>, array<i64: 0>]}
    npu.store (%A[%c0] [%part] : memref<?xf32, #npu.space<gm>>, %p[%c0] [%part] : memref<24576xf32, #npu.space<ub>>)
    npu.load (%q[%c0] [%part] : memref<24576xf32, #npu.space<ub>>, %A[%c0] [%part] : memref<?xf32, #npu.space<gm>>)
    npu.store (%A[%c0] [%part] : memref<?xf32, #npu.space<gm>>, %q[%c0] [%part] : memref<24576xf32, #npu.space<ub>>)
    npu.elementwise <exp> (%sum[%c0] [%c8] : memref<8192xf32, #npu.space<ub>>, %sum[%c0] [%c8] : memref<8192xf32, #npu.space<ub>>)
                          {maps = [array<i64: 0>, array<i64: 0>]}
  }
  return
}

// -----

// A tile that is filled where it is clipped and then loaded is written whole: it lives inside the turn.
// CHECK-LABEL: @padded
// CHECK-DAG: npu.alloc "p" {address = [[P:[0-9]+]] : i64}
// CHECK-DAG: npu.alloc "q" {address = [[P]] : i64}
// expected-remark @below {{applied}}
func.func @padded(%A: memref<?xf32, #npu.space<gm>>, %size: index) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = arith.constant 32768 : index
  %zero = arith.constant 0.0 : f32
  %p = npu.alloc "p" : memref<32768xf32, #npu.space<ub>>
  %q = npu.alloc "q" : memref<32768xf32, #npu.space<ub>>
  scf.for %i = %c0 to %c8 step %c1 {
    %part = arith.minsi %size, %n : index
    %clipped = arith.cmpi ne, %part, %n : index
    scf.if %clipped {
      npu.fill %zero : f32, (%p[%c0] [%n] : memref<32768xf32, #npu.space<ub>>)
    }
    npu.load (%p[%c0] [%part] : memref<32768xf32, #npu.space<ub>>, %A[%c0] [%part] : memref<?xf32, #npu.space<gm>>)
    npu.store (%A[%c0] [%n] : memref<?xf32, #npu.space<gm>>, %p[%c0] [%n] : memref<32768xf32, #npu.space<ub>>)
    scf.if %clipped {
      npu.fill %zero : f32, (%q[%c0] [%n] : memref<32768xf32, #npu.space<ub>>)
    }
    npu.load (%q[%c0] [%part] : memref<32768xf32, #npu.space<ub>>, %A[%c0] [%part] : memref<?xf32, #npu.space<gm>>)
    npu.store (%A[%c0] [%n] : memref<?xf32, #npu.space<gm>>, %q[%c0] [%n] : memref<32768xf32, #npu.space<ub>>)
  }
  return
}

// -----

// A column tile next to a big one; nothing is wasted beyond the alignment.
// CHECK-LABEL: @column
// CHECK: npu.alloc "column" {address = 0 : i64}
// CHECK: npu.alloc "big" {address = 160 : i64}
func.func @column(%A: memref<40x1024xf32, #npu.space<gm>>) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  %c1024 = arith.constant 1024 : index
  %column = npu.alloc "column" : memref<40x1xf32, #npu.space<ub>>
  %big = npu.alloc "big" : memref<40x1024xf32, #npu.space<ub>>
  npu.load (%column[%c0, %c0] [%c40, %c1] : memref<40x1xf32, #npu.space<ub>>, %A[%c0, %c0] [%c40, %c1] : memref<40x1024xf32, #npu.space<gm>>)
  npu.load (%big[%c0, %c0] [%c40, %c1024] : memref<40x1024xf32, #npu.space<ub>>, %A[%c0, %c0] [%c40, %c1024] : memref<40x1024xf32, #npu.space<gm>>)
  npu.store (%A[%c0, %c0] [%c40, %c1] : memref<40x1024xf32, #npu.space<gm>>, %column[%c0, %c0] [%c40, %c1] : memref<40x1xf32, #npu.space<ub>>)
  npu.store (%A[%c0, %c0] [%c40, %c1024] : memref<40x1024xf32, #npu.space<gm>>, %big[%c0, %c0] [%c40, %c1024] : memref<40x1024xf32, #npu.space<ub>>)
  return
}

// -----

// L1 exactly full with two slots each. Two accumulators, one after the other in a block, share L0C: the
// first is started anew by its loop.
// CHECK-LABEL: @full
// CHECK-DAG: npu.alloc "a" {address = 0 : i64, slots = 2 : i64}
// CHECK-DAG: npu.alloc "b" {address = 262144 : i64, slots = 2 : i64}
// CHECK-DAG: npu.alloc "c" {address = 0 : i64}
// CHECK-DAG: npu.alloc "d" {address = 0 : i64}
// expected-remark @below {{so that they take 128 KiB of 128 KiB L0C}}
func.func @full(%A: memref<512x512xf16, #npu.space<gm>>, %C: memref<128x256xf32, #npu.space<gm>>, %turns: index) attributes {npu.core = #npu.core<aic>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %true = arith.constant true
  %a = npu.alloc "a" {slots = 2} : memref<256x256xf16, #npu.space<l1>>
  %b = npu.alloc "b" {slots = 2} : memref<256x256xf16, #npu.space<l1>>
  %c = npu.alloc "c" : memref<128x256xf32, #npu.space<l0c>>
  %d = npu.alloc "d" : memref<128x256xf32, #npu.space<l0c>>
  scf.for %block = %c0 to %turns step %c1 {
    scf.for %k = %c0 to %turns step %c1 {
      npu.advance %a : memref<256x256xf16, #npu.space<l1>>
      npu.load (%a[%c0, %c0] [%c256, %c256] : memref<256x256xf16, #npu.space<l1>>, %A[%c0, %c0] [%c256, %c256] : memref<512x512xf16, #npu.space<gm>>)
      npu.advance %b : memref<256x256xf16, #npu.space<l1>>
      npu.load (%b[%c0, %c0] [%c256, %c256] : memref<256x256xf16, #npu.space<l1>>, %A[%c0, %c0] [%c256, %c256] : memref<512x512xf16, #npu.space<gm>>)
      %first = arith.cmpi eq, %k, %c0 : index
      npu.mmad (%c[%c0, %c0] [%c128, %c256] : memref<128x256xf32, #npu.space<l0c>>, %a[%c0, %c0] [%c128, %c256] : memref<256x256xf16, #npu.space<l1>>,
                %b[%c0, %c0] [%c256, %c256] : memref<256x256xf16, #npu.space<l1>>) init %first
    }
    npu.fixpipe (%C[%c0, %c0] [%c128, %c256] : memref<128x256xf32, #npu.space<gm>>, %c[%c0, %c0] [%c128, %c256] : memref<128x256xf32, #npu.space<l0c>>)
    npu.mmad (%d[%c0, %c0] [%c128, %c256] : memref<128x256xf32, #npu.space<l0c>>, %a[%c0, %c0] [%c128, %c256] : memref<256x256xf16, #npu.space<l1>>,
              %b[%c0, %c0] [%c256, %c256] : memref<256x256xf16, #npu.space<l1>>) init %true
    npu.fixpipe (%C[%c0, %c0] [%c128, %c256] : memref<128x256xf32, #npu.space<gm>>, %d[%c0, %c0] [%c128, %c256] : memref<128x256xf32, #npu.space<l0c>>)
  }
  return
}

// -----

// Slots go before anything fails.
// CHECK-LABEL: @fewer_slots
// CHECK: npu.alloc "x" {address = 0 : i64} 
// CHECK: npu.alloc "y" {address = 131072 : i64, slots = 2 : i64}
// CHECK-NOT: npu.advance %x
// CHECK: npu.advance %y
// CHECK-NOT: npu.advance %x
func.func @fewer_slots(%A: memref<32768xf32, #npu.space<gm>>) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %m = arith.constant 8192 : index
  %n = arith.constant 32768 : index
  // expected-remark @below {{fallback: 'x' keeps 1 of 2 slots, so its moves overlap less: the tiles need 320 KiB of 192 KiB UB}}
  %x = npu.alloc "x" {slots = 2} : memref<32768xf32, #npu.space<ub>>
  %y = npu.alloc "y" {slots = 2} : memref<8192xf32, #npu.space<ub>>
  scf.for %i = %c0 to %c4 step %c1 {
    npu.advance %x : memref<32768xf32, #npu.space<ub>>
    npu.load (%x[%c0] [%n] : memref<32768xf32, #npu.space<ub>>, %A[%c0] [%n] : memref<32768xf32, #npu.space<gm>>)
    npu.advance %y : memref<8192xf32, #npu.space<ub>>
    npu.load (%y[%c0] [%m] : memref<8192xf32, #npu.space<ub>>, %A[%c0] [%m] : memref<32768xf32, #npu.space<gm>>)
    npu.store (%A[%c0] [%n] : memref<32768xf32, #npu.space<gm>>, %x[%c0] [%n] : memref<32768xf32, #npu.space<ub>>)
    npu.store (%A[%c0] [%m] : memref<32768xf32, #npu.space<gm>>, %y[%c0] [%m] : memref<8192xf32, #npu.space<ub>>)
  }
  return
}

// -----

// The two sides of a launch agree on the exchange buffers by name; the size is an odd number of lines.
// CHECK-LABEL: func.func @exchange_aic
// CHECK-SAME: npu.workspace = 8704 : i64
// CHECK-DAG: npu.alloc "u" {address = 0 : i64, slots = 2 : i64}
// CHECK-DAG: npu.alloc "v" {address = 4096 : i64}
// CHECK-LABEL: func.func @exchange_aiv
// CHECK-SAME: npu.workspace = 8704 : i64
// CHECK-DAG: npu.alloc "v" {address = 4096 : i64}
// CHECK-DAG: npu.alloc "u" {address = 0 : i64, slots = 2 : i64}
func.func @exchange() {
  npu.launch aic @exchange_aic aiv @exchange_aiv()
  return
}
func.func @exchange_aic() attributes {npu.core = #npu.core<aic>} {
  %u = npu.alloc "u" {slots = 2} : memref<512xf32, #npu.space<workspace>>
  %v = npu.alloc "v" : memref<1024xf32, #npu.space<workspace>>
  return
}
func.func @exchange_aiv() attributes {npu.core = #npu.core<aiv>} {
  %v = npu.alloc "v" : memref<1024xf32, #npu.space<workspace>>
  %u = npu.alloc "u" {slots = 2} : memref<512xf32, #npu.space<workspace>>
  %count = npu.alloc "count" : memref<i32, #npu.space<reg>>
  return
}

// -----

// Rows of 16 bytes that a reduction takes one by one get gaps, and so does the tile that the sum
// makes row-wise with them; one that is only ever a run of elements stays packed.
// CHECK-LABEL: @rows
// CHECK-DAG: npu.alloc "x" {address = {{[0-9]+}} : i64, pad_rows} : memref<8x4xf32
// CHECK-DAG: npu.alloc "y" {address = {{[0-9]+}} : i64, pad_rows} : memref<8x4xf32
// CHECK-DAG: npu.alloc "flat" {address = {{[0-9]+}} : i64} : memref<8x4xf32
// CHECK-DAG: npu.alloc "sums" {address = {{[0-9]+}} : i64} : memref<8x1xf32
func.func @rows(%A: memref<8x4xf32, #npu.space<gm>>) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = npu.alloc "x" : memref<8x4xf32, #npu.space<ub>>
  %y = npu.alloc "y" : memref<8x4xf32, #npu.space<ub>>
  %flat = npu.alloc "flat" : memref<8x4xf32, #npu.space<ub>>
  %sums = npu.alloc "sums" : memref<8x1xf32, #npu.space<ub>>
  npu.load (%x[%c0, %c0] [%c8, %c4] : memref<8x4xf32, #npu.space<ub>>, %A[%c0, %c0] [%c8, %c4] : memref<8x4xf32, #npu.space<gm>>)
  npu.load (%flat[%c0, %c0] [%c8, %c4] : memref<8x4xf32, #npu.space<ub>>, %A[%c0, %c0] [%c8, %c4] : memref<8x4xf32, #npu.space<gm>>)
  npu.elementwise <exp> (%y[%c0, %c0] [%c8, %c4] : memref<8x4xf32, #npu.space<ub>>, %x[%c0, %c0] [%c8, %c4] : memref<8x4xf32, #npu.space<ub>>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  npu.reduce <sum> (%sums[%c0, %c0] [%c8, %c1] : memref<8x1xf32, #npu.space<ub>>, %y[%c0, %c0] [%c8, %c4] : memref<8x4xf32, #npu.space<ub>>) dims = [1] {dst_map = array<i64: 0, -1>}
  npu.elementwise <abs> (%flat[%c0, %c0] [%c8, %c4] : memref<8x4xf32, #npu.space<ub>>, %flat[%c0, %c0] [%c8, %c4] : memref<8x4xf32, #npu.space<ub>>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  npu.store (%A[%c0, %c0] [%c8, %c4] : memref<8x4xf32, #npu.space<gm>>, %flat[%c0, %c0] [%c8, %c4] : memref<8x4xf32, #npu.space<ub>>)
  npu.store (%A[%c0, %c0] [%c8, %c1] : memref<8x4xf32, #npu.space<gm>>, %sums[%c0, %c0] [%c8, %c1] : memref<8x1xf32, #npu.space<ub>>)
  return
}
