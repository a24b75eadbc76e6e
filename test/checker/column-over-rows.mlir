// A column is overwritten while rows that cross it are still stored.
// expect: write-after-read
// memory: buffer x (UB)
// edge: set_flag/wait_flag MTE3->V

!gm = memref<8x8xf32, #npu.space<gm>>
!ub = memref<8x8xf32, #npu.space<ub>>

func.func @main(%A: memref<8x8xf32> {tile.name = "A"}, %B: memref<8x8xf32> {tile.name = "B", tile.output}) {
  npu.launch aiv @aiv(%A, %B) : memref<8x8xf32>, memref<8x8xf32>
  return
}

func.func @aiv(%A: !gm {npu.name = "A"}, %B: !gm {npu.name = "B"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %x = npu.alloc "x" {address = 0} : !ub
  %id = npu.core_id
  %count = npu.core_count
  scf.for %block = %id to %c1 step %count {
    npu.begin_block %block
    npu.load (%x[%c0, %c0] [%c8, %c8] : !ub, %A[%c0, %c0] [%c8, %c8] : !gm)
    npu.set_flag <MTE2> to <MTE3> id 0
    npu.wait_flag <MTE2> to <MTE3> id 0
    npu.set_flag <MTE2> to <V> id 0
    npu.wait_flag <MTE2> to <V> id 0
    npu.store (%B[%c4, %c0] [%c1, %c8] : !gm, %x[%c4, %c0] [%c1, %c8] : !ub) // first
    npu.set_flag <MTE3> to <V> id 0 // good
    npu.wait_flag <MTE3> to <V> id 0 // good
    npu.fill %zero : f32, (%x[%c0, %c1] [%c8, %c1] : !ub) // second
  }
  return
}
