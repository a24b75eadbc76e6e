// A part of a row of the workspace is in neither of the two boxes that the cube writes.
// expect: uninitialised-read
// memory: the workspace
// edge: a write of these bytes before the read

!gm = memref<32x32xf16, #npu.space<gm>>
!gc = memref<32x32xf32, #npu.space<gm>>
!l1 = memref<32x32xf16, #npu.space<l1>>
!l0 = memref<32x32xf32, #npu.space<l0c>>
!ws = memref<32x32xf32, #npu.space<workspace>>
!ub = memref<32x32xf32, #npu.space<ub>>

func.func @main(%A: memref<32x32xf16> {tile.name = "A"}, %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  npu.launch aic @aic aiv @aiv(%A, %C) : memref<32x32xf16>, memref<32x32xf32>
  return
}

func.func @aic(%A: !gm {npu.name = "A"}, %C: !gc {npu.name = "C"}) attributes {npu.core = #npu.core<aic>, npu.workspace = 4096} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c31 = arith.constant 31 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %a = npu.alloc "a" {address = 0} : !l1
  %c = npu.alloc "c" {address = 0} : !l0
  %w = npu.alloc "w" {address = 0} : !ws
  %id = npu.core_id
  %count = npu.core_count
  scf.for %block = %id to %c1 step %count {
    npu.begin_block %block
    npu.load (%a[%c0, %c0] [%c32, %c32] : !l1, %A[%c0, %c0] [%c32, %c32] : !gm)
    npu.set_flag <MTE2> to <MTE1> id 0
    npu.wait_flag <MTE2> to <MTE1> id 0
    npu.mmad (%c[%c0, %c0] [%c32, %c32] : !l0, %a[%c0, %c0] [%c32, %c32] : !l1, %a[%c0, %c0] [%c32, %c32] : !l1) init %true
    npu.set_flag <M> to <FIX> id 0
    npu.wait_flag <M> to <FIX> id 0
    npu.fixpipe (%w[%c0, %c0] [%c32, %c16] : !ws, %c[%c0, %c0] [%c32, %c16] : !l0)
    npu.fixpipe (%w[%c0, %c16] [%c31, %c16] : !ws, %c[%c0, %c16] [%c31, %c16] : !l0) // bad
    npu.fixpipe (%w[%c0, %c16] [%c32, %c16] : !ws, %c[%c0, %c16] [%c32, %c16] : !l0) // good
    npu.block_set <FIX> id 0
  }
  return
}

func.func @aiv(%A: !gm {npu.name = "A"}, %C: !gc {npu.name = "C"}) attributes {npu.core = #npu.core<aiv>, npu.workspace = 4096} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %x = npu.alloc "x" {address = 0} : !ub
  %w = npu.alloc "w" {address = 0} : !ws
  %sub = npu.sub_core_id
  %row = arith.muli %sub, %c16 : index
  %id = npu.core_id
  %count = npu.core_count
  scf.for %block = %id to %c1 step %count {
    npu.begin_block %block
    npu.block_wait <MTE2> id 0
    npu.load (%x[%c0, %c0] [%c16, %c32] : !ub, %w[%row, %c0] [%c16, %c32] : !ws) // second
    npu.set_flag <MTE2> to <MTE3> id 0
    npu.wait_flag <MTE2> to <MTE3> id 0
    npu.store (%C[%row, %c0] [%c16, %c32] : !gc, %x[%c0, %c0] [%c16, %c32] : !ub)
  }
  return
}
