// Two tiles that live at the same time share bytes, so nothing orders their writes.
// expect: write-after-write
// memory: buffer x/w (UB)
// edge: set_flag/wait_flag V->MTE2

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
  %w = npu.alloc "w" {address = 128} : !ub // bad
  %w = npu.alloc "w" {address = 512} : !ub // good
  %y = npu.alloc "y" {address = 1024} : !ub
  %id = npu.core_id
  %count = npu.core_count
  scf.for %block = %id to %c1 step %count {
    npu.begin_block %block
    npu.fill %zero : f32, (%w[%c0] [%c64] : !ub) // first
    npu.load (%x[%c0] [%c64] : !ub, %A[%c0] [%c64] : !gm) // second
    npu.set_flag <MTE2> to <V> id 0
    npu.wait_flag <MTE2> to <V> id 0
    npu.elementwise <exp> (%y[%c0] [%c64] : !ub, %x[%c0] [%c64] : !ub) {maps = [array<i64: 0>, array<i64: 0>]}
    npu.set_flag <V> to <MTE3> id 0
    npu.wait_flag <V> to <MTE3> id 0
    npu.store (%B[%c0] [%c64] : !gm, %w[%c0] [%c64] : !ub)
    npu.store (%B[%c64] [%c64] : !gm, %y[%c0] [%c64] : !ub)
  }
  return
}
