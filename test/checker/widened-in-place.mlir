// A conversion widens a tile in place: repeats overwrite what later ones read. Narrowed, later ones were read.
// expect: write-after-read
// memory: buffer x/h (UB)
// edge: a tile of its own

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
  %c96 = arith.constant 96 : index
  %x = npu.alloc "x" {address = 0} : memref<128xf32, #npu.space<ub>>
  %h = npu.alloc "h" {address = 0} : memref<128xf16, #npu.space<ub>>
  %id = npu.core_id
  %count = npu.core_count
  scf.for %block = %id to %c1 step %count {
    npu.begin_block %block
    npu.load (%x[%c0] [%c96] : memref<128xf32, #npu.space<ub>>, %A[%c0] [%c96] : !gm)
    npu.set_flag <MTE2> to <V> id 0
    npu.wait_flag <MTE2> to <V> id 0
    npu.elementwise <cast> (%x[%c0] [%c64] : memref<128xf32, #npu.space<ub>>, %h[%c0] [%c64] : memref<128xf16, #npu.space<ub>>) {maps = [array<i64: 0>, array<i64: 0>]} // bad second first
    npu.elementwise <cast> (%h[%c0] [%c64] : memref<128xf16, #npu.space<ub>>, %x[%c0] [%c64] : memref<128xf32, #npu.space<ub>>) {maps = [array<i64: 0>, array<i64: 0>]} // good
    npu.set_flag <V> to <MTE3> id 0
    npu.wait_flag <V> to <MTE3> id 0
    npu.store (%B[%c0] [%c64] : !gm, %x[%c0] [%c64] : memref<128xf32, #npu.space<ub>>)
  }
  return
}
