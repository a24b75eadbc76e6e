// The sequential meaning of a launch by cores: one core takes all blocks; slots take turns, each program counts its own.
// RUN: tilewright-run %s | FileCheck %s

#ub = #tile.scope<ub>
#l1 = #tile.scope<l1>
#workspace = #tile.scope<workspace>

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  tile.launch (%i) in (%c1) attributes {tile.by_core} {
    %w = tile.alloc "w" {slots = 2 : i64} : memref<1xi32, #workspace>
    %x = tile.alloc "x" : memref<1xi32, #ub>
    %a = tile.alloc "a" {slots = 2 : i64} : memref<1xi32, #l1>
    %core = tile.core_id
    %count = tile.core_count
    scf.for %b = %core to %c4 step %count {
      tile.begin_block %b {tile.placed = #tile.core<aic>}
      tile.advance %a {tile.placed = #tile.core<aic>} : memref<1xi32, #l1>
      // What is there is from two blocks before.
      // CHECK: old: tensor([0]
      // CHECK: old: tensor([0]
      // CHECK: old: tensor([0]
      // CHECK: old: tensor([1]
      tile.print "old" (%a[%c0] [%c1] : memref<1xi32, #l1>) {tile.placed = #tile.core<aic>}
      %n = arith.index_cast %b : index to i32
      tile.fill %n : i32, (%a[%c0] [%c1] : memref<1xi32, #l1>) {tile.placed = #tile.core<aic>}
      tile.advance %w {tile.placed = #tile.core<aic>} : memref<1xi32, #workspace>
      tile.copy (%w[%c0] [%c1] : memref<1xi32, #workspace>, %a[%c0] [%c1] : memref<1xi32, #l1>) {tile.placed = #tile.core<aic>}
      tile.block_set <FIX> id %c0 {tile.placed = #tile.core<aic>}
    } {tile.placed = #tile.core<aic>}
    // The cube core was ahead: of its last two blocks both slots are there.
    // CHECK: new: tensor([2]
    // CHECK: new: tensor([3]
    scf.for %b = %core to %c4 step %count {
      tile.advance %w {tile.placed = #tile.core<aiv>} : memref<1xi32, #workspace>
      tile.block_wait <MTE2> id %c0 {tile.placed = #tile.core<aiv>}
      tile.copy (%x[%c0] [%c1] : memref<1xi32, #ub>, %w[%c0] [%c1] : memref<1xi32, #workspace>) {tile.placed = #tile.core<aiv>}
      tile.print "new" (%x[%c0] [%c1] : memref<1xi32, #ub>) {tile.placed = #tile.core<aiv>}
    } {tile.placed = #tile.core<aiv>}
  }
  return
}
