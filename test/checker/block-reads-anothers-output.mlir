// A block reads what another block writes.
// expect: read-after-write
// memory: tensor B
// edge: an atomic, or parts that do not overlap

!gm = memref<256xf32, #npu.space<gm>>
!ub = memref<64xf32, #npu.space<ub>>

func.func @main(%A: memref<256xf32> {tile.name = "A"}, %B: memref<256xf32> {tile.name = "B", tile.output}) {
  npu.launch aiv @aiv(%A, %B) : memref<256xf32>, memref<256xf32>
  return
}

func.func @aiv(%A: !gm {npu.name = "A"}, %B: !gm {npu.name = "B"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %x = npu.alloc "x" {address = 0} : !ub
  %id = npu.core_id
  %count = npu.core_count
  scf.for %block = %id to %c4 step %count {
    npu.begin_block %block
    %at = arith.muli %block, %c64 : index
    npu.load (%x[%c0] [%c64] : !ub, %A[%c0] [%c64] : !gm)
    npu.set_flag <MTE2> to <MTE3> id 0
    npu.wait_flag <MTE2> to <MTE3> id 0
    npu.store (%B[%at] [%c64] : !gm, %x[%c0] [%c64] : !ub) // first
    npu.barrier <All>
    npu.load (%x[%c0] [%c64] : !ub, %B[%c0] [%c64] : !gm) // bad second
    npu.load (%x[%c0] [%c64] : !ub, %B[%at] [%c64] : !gm) // good
    npu.barrier <All>
  }
  return
}
