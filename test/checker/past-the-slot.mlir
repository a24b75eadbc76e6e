// A box ends beyond its slot, in the next slot of the same tile.
// expect: out-of-bounds
// memory: buffer x (UB)

!gm = memref<256xf32, #npu.space<gm>>
!ub = memref<64xf32, #npu.space<ub>>

func.func @main(%A: memref<256xf32> {tile.name = "A"}, %B: memref<256xf32> {tile.name = "B", tile.output}) {
  npu.launch aiv @aiv(%A, %B) : memref<256xf32>, memref<256xf32>
  return
}

func.func @aiv(%A: !gm {npu.name = "A"}, %B: !gm {npu.name = "B"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c65 = arith.constant 65 : index
  %x = npu.alloc "x" {address = 0, slots = 2} : !ub
  %id = npu.core_id
  %count = npu.core_count
  scf.for %block = %id to %c1 step %count {
    npu.begin_block %block
    %zero = arith.muli %block, %c64 : index
    npu.advance %x : !ub
    npu.load (%x[%zero] [%c65] : !ub, %A[%c0] [%c65] : !gm) // bad second
    npu.load (%x[%zero] [%c64] : !ub, %A[%c0] [%c64] : !gm) // good
    npu.set_flag <MTE2> to <MTE3> id 0
    npu.wait_flag <MTE2> to <MTE3> id 0
    npu.store (%B[%c0] [%c64] : !gm, %x[%c0] [%c64] : !ub)
  }
  return
}
