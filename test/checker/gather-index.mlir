// A gather follows an index that lies outside of its table.
// expect: out-of-bounds

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
  %zero = arith.constant 0 : i32
  %step = arith.constant 2 : index // bad
  %step = arith.constant 1 : index // good
  %x = npu.alloc "x" {address = 0} : !ub
  %i = npu.alloc "i" {address = 256} : memref<64xi32, #npu.space<ub>>
  %z = npu.alloc "z" {address = 512} : !ub
  %id = npu.core_id
  %count = npu.core_count
  scf.for %block = %id to %c1 step %count {
    npu.begin_block %block
    npu.iota (%i[%c0] [%c64] : memref<64xi32, #npu.space<ub>>) from %c0 by (%step)
    npu.load (%x[%c0] [%c64] : !ub, %A[%c0] [%c64] : !gm)
    npu.set_flag <MTE2> to <V> id 0
    npu.wait_flag <MTE2> to <V> id 0
    npu.barrier <V>
    npu.gather (%z[%c0] [%c64] : !ub, %x[%c0] [%c64] : !ub, %i[%c0] [%c64] : memref<64xi32, #npu.space<ub>>) // second
    npu.set_flag <V> to <MTE3> id 0
    npu.wait_flag <V> to <MTE3> id 0
    npu.store (%B[%c0] [%c64] : !gm, %z[%c0] [%c64] : !ub)
  }
  return
}
