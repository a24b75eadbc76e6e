// A box goes past the end of a row, so it goes on in the next one.
// expect: out-of-bounds
// memory: tensor A

!gm = memref<8x12xf32, #npu.space<gm>>
!ub = memref<4x8xf32, #npu.space<ub>>

func.func @main(%A: memref<8x12xf32> {tile.name = "A"}, %B: memref<8x12xf32> {tile.name = "B", tile.output}) {
  npu.launch aiv @aiv(%A, %B) : memref<8x12xf32>, memref<8x12xf32>
  return
}

func.func @aiv(%A: !gm {npu.name = "A"}, %B: !gm {npu.name = "B"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %x = npu.alloc "x" {address = 0} : !ub
  %id = npu.core_id
  %count = npu.core_count
  scf.for %block = %id to %c2 step %count {
    npu.begin_block %block
    %at = arith.muli %block, %c8 : index
    %rest = arith.subi %c12, %at : index
    %n = arith.minsi %rest, %c8 : index
    npu.load (%x[%c0, %c0] [%c4, %c8] : !ub, %A[%c0, %at] [%c4, %c8] : !gm) // bad second
    npu.load (%x[%c0, %c0] [%c4, %n] : !ub, %A[%c0, %at] [%c4, %n] : !gm) // good
    npu.set_flag <MTE2> to <MTE3> id 0
    npu.wait_flag <MTE2> to <MTE3> id 0
    npu.store (%B[%c0, %at] [%c4, %n] : !gm, %x[%c0, %c0] [%c4, %n] : !ub)
    npu.barrier <All>
  }
  return
}
