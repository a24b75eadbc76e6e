// RUN: tilewright-opt %s --npu-plan-memory --npu-verify-plan -o %t.mlir
// RUN: tilewright-sim %t.mlir --check --time --set 0=one --set 1=one | FileCheck %s
// RUN: tilewright-sim %t.mlir --checksums > %t.plain
// RUN: tilewright-sim %t.mlir --checksums --delay 5 > %t.delayed
// RUN: diff %t.plain %t.delayed

// The cube multiplies 64 x 64 tiles into the workspace, the two vector cores take half of the rows each,
// subtract the row maximum and take the exponential.

// CHECK: exchange {{[1-9][0-9]*}} bytes
// CHECK-NOT: finding
// CHECK: argument 2 (C): float32 [320, 64] checksum
// CHECK: 1., 1., 1.

func.func @mixed(%A: memref<320x64xf16> {tile.name = "A"}, %B: memref<64x64xf16> {tile.name = "B"},
                 %C: memref<320x64xf32> {tile.name = "C", tile.output}) {
  npu.launch aic @mixed_aic aiv @mixed_aiv(%A, %B, %C) : memref<320x64xf16>, memref<64x64xf16>, memref<320x64xf32>
  return
}

func.func @mixed_aic(%A: memref<320x64xf16, #npu.space<gm>> {npu.name = "A"}, %B: memref<64x64xf16, #npu.space<gm>> {npu.name = "B"},
                     %C: memref<320x64xf32, #npu.space<gm>> {npu.name = "C"}) attributes {npu.core = #npu.core<aic>} {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c64 = arith.constant 64 : index
  %true = arith.constant true
  %a = npu.alloc "a" : memref<64x64xf16, #npu.space<l1>>
  %b = npu.alloc "b" : memref<64x64xf16, #npu.space<l1>>
  %s = npu.alloc "s" : memref<64x64xf32, #npu.space<l0c>>
  %w = npu.alloc "w" {slots = 2} : memref<64x64xf32, #npu.space<workspace>>
  %id = npu.core_id
  %count = npu.core_count
  scf.for %block = %id to %c5 step %count {
    npu.begin_block %block
    %row = arith.muli %block, %c64 : index
    npu.load (%a[%c0, %c0] [%c64, %c64] : memref<64x64xf16, #npu.space<l1>>, %A[%row, %c0] [%c64, %c64] : memref<320x64xf16, #npu.space<gm>>)
    npu.load (%b[%c0, %c0] [%c64, %c64] : memref<64x64xf16, #npu.space<l1>>, %B[%c0, %c0] [%c64, %c64] : memref<64x64xf16, #npu.space<gm>>)
    npu.set_flag <MTE2> to <MTE1> id 0
    npu.wait_flag <MTE2> to <MTE1> id 0
    npu.mmad (%s[%c0, %c0] [%c64, %c64] : memref<64x64xf32, #npu.space<l0c>>, %a[%c0, %c0] [%c64, %c64] : memref<64x64xf16, #npu.space<l1>>,
              %b[%c0, %c0] [%c64, %c64] : memref<64x64xf16, #npu.space<l1>>) init %true
    npu.set_flag <M> to <FIX> id 0
    npu.wait_flag <M> to <FIX> id 0
    npu.advance %w : memref<64x64xf32, #npu.space<workspace>>
    npu.block_wait <FIX> id 1
    npu.fixpipe (%w[%c0, %c0] [%c64, %c64] : memref<64x64xf32, #npu.space<workspace>>, %s[%c0, %c0] [%c64, %c64] : memref<64x64xf32, #npu.space<l0c>>)
    npu.block_set <FIX> id 0
    npu.barrier <All>
  }
  npu.block_wait <FIX> id 1
  npu.block_wait <FIX> id 1
  return
}

func.func @mixed_aiv(%A: memref<320x64xf16, #npu.space<gm>> {npu.name = "A"}, %B: memref<64x64xf16, #npu.space<gm>> {npu.name = "B"},
                     %C: memref<320x64xf32, #npu.space<gm>> {npu.name = "C"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %x = npu.alloc "x" : memref<32x64xf32, #npu.space<ub>>
  %m = npu.alloc "m" : memref<32xf32, #npu.space<ub>>
  %w = npu.alloc "w" {slots = 2} : memref<64x64xf32, #npu.space<workspace>>
  npu.block_set <MTE2> id 1
  npu.block_set <MTE2> id 1
  %id = npu.core_id
  %count = npu.core_count
  %sub = npu.sub_core_id
  %mine = arith.muli %sub, %c32 : index
  scf.for %block = %id to %c5 step %count {
    npu.begin_block %block
    %first = arith.muli %block, %c64 : index
    %row = arith.addi %first, %mine : index
    npu.advance %w : memref<64x64xf32, #npu.space<workspace>>
    npu.block_wait <MTE2> id 0
    npu.load (%x[%c0, %c0] [%c32, %c64] : memref<32x64xf32, #npu.space<ub>>, %w[%mine, %c0] [%c32, %c64] : memref<64x64xf32, #npu.space<workspace>>)
    npu.block_set <MTE2> id 1
    npu.set_flag <MTE2> to <V> id 0
    npu.wait_flag <MTE2> to <V> id 0
    npu.reduce <max> (%m[%c0] [%c32] : memref<32xf32, #npu.space<ub>>, %x[%c0, %c0] [%c32, %c64] : memref<32x64xf32, #npu.space<ub>>) dims = [1] {dst_map = array<i64: 0>}
    npu.barrier <V>
    npu.elementwise <sub> (%x[%c0, %c0] [%c32, %c64] : memref<32x64xf32, #npu.space<ub>>, %x[%c0, %c0] [%c32, %c64] : memref<32x64xf32, #npu.space<ub>>,
                           %m[%c0] [%c32] : memref<32xf32, #npu.space<ub>>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
    npu.barrier <V>
    npu.elementwise <exp> (%x[%c0, %c0] [%c32, %c64] : memref<32x64xf32, #npu.space<ub>>, %x[%c0, %c0] [%c32, %c64] : memref<32x64xf32, #npu.space<ub>>)
                          {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
    npu.set_flag <V> to <MTE3> id 0
    npu.wait_flag <V> to <MTE3> id 0
    npu.store (%C[%row, %c0] [%c32, %c64] : memref<320x64xf32, #npu.space<gm>>, %x[%c0, %c0] [%c32, %c64] : memref<32x64xf32, #npu.space<ub>>)
    npu.set_flag <MTE3> to <MTE2> id 0
    npu.wait_flag <MTE3> to <MTE2> id 0
  }
  return
}
