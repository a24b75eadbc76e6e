// RUN: tilewright-opt %s --tile-split-live-ranges 2>/dev/null | FileCheck %s
// RUN: tilewright-run %s --function two_loops --checksums > %t.before
// RUN: tilewright-opt %s --tile-split-live-ranges 2>/dev/null > %t.mlir
// RUN: tilewright-run %t.mlir --function two_loops --checksums > %t.after
// RUN: diff %t.before %t.after

// Two loops that each write the tile before they read it get a tile each.
// CHECK-LABEL: func.func @two_loops
// CHECK-DAG: %[[FIRST:.*]] = tile.alloc "E" :
// CHECK-DAG: %[[SECOND:.*]] = tile.alloc "E.2" :
// CHECK: scf.for
// CHECK: tile.copy (%[[FIRST]]
// CHECK: tile.copy ({{.*}}%[[FIRST]]
// CHECK: scf.for
// CHECK: tile.copy (%[[SECOND]]
// CHECK: tile.copy ({{.*}}%[[SECOND]]
func.func @two_loops(%A: memref<64x16xf32, #tile.scope<global>>, %B: memref<64x16xf32, #tile.scope<global>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  tile.launch (%b) in (%c1) {
    %E = tile.alloc "E" : memref<16x16xf32, #tile.scope<ub>>
    scf.for %i = %c0 to %c4 step %c1 {
      %r = arith.muli %i, %c16 : index
      tile.copy (%E[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #tile.scope<ub>>, %A[%r, %c0] [%c16, %c16] : memref<64x16xf32, #tile.scope<global>>)
      tile.copy (%B[%r, %c0] [%c16, %c16] : memref<64x16xf32, #tile.scope<global>>, %E[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #tile.scope<ub>>)
    }
    scf.for %i = %c0 to %c4 step %c1 {
      %r = arith.muli %i, %c16 : index
      tile.copy (%E[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #tile.scope<ub>>, %B[%r, %c0] [%c16, %c16] : memref<64x16xf32, #tile.scope<global>>)
      tile.copy (%A[%r, %c0] [%c16, %c16] : memref<64x16xf32, #tile.scope<global>>, %E[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #tile.scope<ub>>)
    }
  }
  return
}

// The second loop reads what the first left: one tile.
// CHECK-LABEL: func.func @value_lives_on
// CHECK-NOT: tile.alloc "E.2"
func.func @value_lives_on(%A: memref<16x16xf32, #tile.scope<global>>, %B: memref<64x16xf32, #tile.scope<global>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  tile.launch (%b) in (%c1) {
    %E = tile.alloc "E" : memref<16x16xf32, #tile.scope<ub>>
    tile.copy (%E[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #tile.scope<ub>>, %A[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #tile.scope<global>>)
    scf.for %i = %c0 to %c4 step %c1 {
      %r = arith.muli %i, %c16 : index
      tile.copy (%B[%r, %c0] [%c16, %c16] : memref<64x16xf32, #tile.scope<global>>, %E[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #tile.scope<ub>>)
    }
  }
  return
}

// A loop that may not turn, then a read: the read may see the older value, so the tile stays one.
// CHECK-LABEL: func.func @loop_may_not_turn
// CHECK-NOT: tile.alloc "E.2"
func.func @loop_may_not_turn(%A: memref<16x16xf32, #tile.scope<global>>, %B: memref<16x16xf32, #tile.scope<global>>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.launch (%b) in (%c1) {
    %E = tile.alloc "E" : memref<16x16xf32, #tile.scope<ub>>
    tile.copy (%E[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #tile.scope<ub>>, %A[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #tile.scope<global>>)
    scf.for %i = %c0 to %n step %c1 {
      tile.copy (%E[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #tile.scope<ub>>, %B[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #tile.scope<global>>)
    }
    tile.copy (%B[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #tile.scope<global>>, %E[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #tile.scope<ub>>)
  }
  return
}
