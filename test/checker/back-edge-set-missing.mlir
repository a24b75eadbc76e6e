// The turn waits for an event that the turn before never sets.
// expect: deadlock
// edge: a set_flag before the wait

!gm = memref<32x32xf16, #npu.space<gm>>
!gc = memref<32x32xf32, #npu.space<gm>>
!l1 = memref<32x32xf16, #npu.space<l1>>
!l0 = memref<32x32xf32, #npu.space<l0c>>

func.func @main(%A: memref<32x32xf16> {tile.name = "A"}, %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  npu.launch aic @aic(%A, %C) : memref<32x32xf16>, memref<32x32xf32>
  return
}

func.func @aic(%A: !gm {npu.name = "A"}, %C: !gc {npu.name = "C"}) attributes {npu.core = #npu.core<aic>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %a = npu.alloc "a" {address = 0} : !l1
  %c = npu.alloc "c" {address = 0} : !l0
  %id = npu.core_id
  %count = npu.core_count
  scf.for %block = %id to %c1 step %count {
    npu.begin_block %block
    npu.set_flag <MTE1> to <MTE2> id 0
    scf.for %turn = %c0 to %c2 step %c1 {
      npu.wait_flag <MTE1> to <MTE2> id 0 // second
      npu.load (%a[%c0, %c0] [%c32, %c32] : !l1, %A[%c0, %c0] [%c32, %c32] : !gm)
      npu.set_flag <MTE2> to <MTE1> id 0
      npu.wait_flag <MTE2> to <MTE1> id 0
      npu.mmad (%c[%c0, %c0] [%c32, %c32] : !l0, %a[%c0, %c0] [%c32, %c32] : !l1, %a[%c0, %c0] [%c32, %c32] : !l1) init %true
      npu.set_flag <MTE1> to <MTE2> id 0 // good
    }
    npu.wait_flag <MTE1> to <MTE2> id 0 // good
    npu.set_flag <M> to <FIX> id 0
    npu.wait_flag <M> to <FIX> id 0
    npu.fixpipe (%C[%c0, %c0] [%c32, %c32] : !gc, %c[%c0, %c0] [%c32, %c32] : !l0)
  }
  return
}
