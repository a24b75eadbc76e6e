// A reduction adds to a result that nothing has set.
// expect: uninitialised-read
// memory: buffer s (UB)

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
  %zero = arith.constant 0.0 : f32
  %x = npu.alloc "x" {address = 0} : !ub
  %s = npu.alloc "s" {address = 256} : !ub
  %id = npu.core_id
  %count = npu.core_count
  scf.for %block = %id to %c1 step %count {
    npu.begin_block %block
    npu.load (%x[%c0] [%c64] : !ub, %A[%c0] [%c64] : !gm)
    npu.set_flag <MTE2> to <V> id 0
    npu.wait_flag <MTE2> to <V> id 0
    npu.fill %zero : f32, (%s[%c0] [%c1] : !ub) // good
    npu.barrier <V> // good
    npu.reduce <sum> (%s[%c0] [%c1] : !ub, %x[%c0] [%c64] : !ub) dims = [0] {dst_map = array<i64: -1>, accumulate} // second
    npu.set_flag <V> to <MTE3> id 0
    npu.wait_flag <V> to <MTE3> id 0
    npu.store (%B[%c0] [%c1] : !gm, %s[%c0] [%c1] : !ub)
  }
  return
}
