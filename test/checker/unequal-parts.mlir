// Blocks of unequal length: one ends an element after the next begins.
// expect: write-after-write
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
  %c60 = arith.constant 60 : index
  %c61 = arith.constant 61 : index
  %c64 = arith.constant 64 : index
  %x = npu.alloc "x" {address = 0} : !ub
  %id = npu.core_id
  %count = npu.core_count
  scf.for %block = %id to %c4 step %count {
    npu.begin_block %block
    %at = arith.muli %block, %c60 : index
    npu.load (%x[%c0] [%c64] : !ub, %A[%c0] [%c64] : !gm)
    npu.set_flag <MTE2> to <MTE3> id 0
    npu.wait_flag <MTE2> to <MTE3> id 0
    npu.store (%B[%at] [%c61] : !gm, %x[%c0] [%c61] : !ub) // bad second first
    npu.store (%B[%at] [%c60] : !gm, %x[%c0] [%c60] : !ub) // good
    npu.barrier <All>
  }
  return
}
