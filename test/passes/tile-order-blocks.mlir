// RUN: tilewright-opt %s --tile-order-blocks 2> %t.log | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.log
// RUN: tilewright-opt %s --tile-order-blocks --tile-split-cores --convert-tile-to-npu 2>/dev/null | FileCheck %s --check-prefix=NPU

!x = memref<16xf32, #tile.scope<ub>>
!X = memref<64x16xf32, #tile.scope<global>>

// The loop gets longer along the first extent.
// REMARK: remark: [tile-order-blocks] applied: blocks with more turns are dealt out first, so that all cores get as much to do
// CHECK-LABEL: func.func @longer
// CHECK: tile.heavy_first = array<i64: 0, 1>
// The last round is forward, every other one backward; the number of the block is what is left of the extent.
// NPU-LABEL: func.func private @longer_0_aiv
// NPU: %[[CORES:.*]] = npu.core_count
// NPU: scf.for %[[TURN:.*]] =
// NPU: %[[ROUND:.*]] = arith.divui %[[TURN]], %[[CORES]]
// NPU: %[[FORWARD:.*]] = arith.cmpi eq
// NPU: arith.select %[[FORWARD]], %[[TURN]]
// NPU: npu.begin_block
func.func @longer(%A: !X, %C: !X {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  tile.launch (%b) in (%c64) {
    %x = tile.alloc "x" : !x
    %end = arith.addi %b, %c1 : index
    scf.for %k = %c0 to %end step %c1 {
      tile.copy (%x[%c0] [%c16] : !x, %A[%k, %c0] [%c1, %c16] : !X)
    }
    tile.copy (%C[%b, %c0] [%c1, %c16] : !X, %x[%c0] [%c16] : !x)
  }
  return
}

// Shorter along the second, through a quotient and a limit.
// CHECK-LABEL: func.func @shorter
// CHECK: tile.heavy_first = array<i64: 1, -1>
func.func @shorter(%A: !X, %C: !X {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  tile.launch (%h, %b) in (%c1, %c64) {
    %x = tile.alloc "x" : !x
    %start = arith.ceildivsi %b, %c4 : index
    %low = arith.maxsi %start, %c1 : index
    scf.for %k = %low to %c64 step %c1 {
      tile.copy (%x[%c0] [%c16] : !x, %A[%k, %c0] [%c1, %c16] : !X)
    }
    tile.copy (%C[%b, %c0] [%c1, %c16] : !X, %x[%c0] [%c16] : !x)
  }
  return
}

// One loop longer, one shorter: nothing is known of the whole.
// CHECK-LABEL: func.func @both
// CHECK-NOT: tile.heavy_first
func.func @both(%A: !X, %C: !X {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  tile.launch (%b) in (%c64) {
    %x = tile.alloc "x" : !x
    scf.for %k = %c0 to %b step %c1 {
      tile.copy (%x[%c0] [%c16] : !x, %A[%k, %c0] [%c1, %c16] : !X)
    }
    scf.for %k = %b to %c64 step %c1 {
      tile.copy (%x[%c0] [%c16] : !x, %A[%k, %c0] [%c1, %c16] : !X)
    }
    tile.copy (%C[%b, %c0] [%c1, %c16] : !X, %x[%c0] [%c16] : !x)
  }
  return
}
