// The event is set before the instruction that it stands for.
// expect: read-after-write
// memory: buffer x (UB)
// edge: set_flag/wait_flag MTE2->V

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
  %x = npu.alloc "x" {address = 0} : !ub
  %y = npu.alloc "y" {address = 256} : !ub
  %id = npu.core_id
  %count = npu.core_count
  scf.for %block = %id to %c1 step %count {
    npu.begin_block %block
    npu.set_flag <MTE2> to <V> id 0 // bad
    npu.load (%x[%c0] [%c64] : !ub, %A[%c0] [%c64] : !gm) // first
    npu.set_flag <MTE2> to <V> id 0 // good
    npu.wait_flag <MTE2> to <V> id 0
    npu.elementwise <exp> (%y[%c0] [%c64] : !ub, %x[%c0] [%c64] : !ub) {maps = [array<i64: 0>, array<i64: 0>]} // second
    npu.set_flag <V> to <MTE3> id 0
    npu.wait_flag <V> to <MTE3> id 0
    npu.store (%B[%c0] [%c64] : !gm, %y[%c0] [%c64] : !ub)
  }
  return
}
