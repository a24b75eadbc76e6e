// RUN: tilewright-opt %s --tile-split-rows=parts=2 --split-input-file --verify-diagnostics

// Rows are summed into one: they stay together.
func.func @column_sum(%A: memref<8x16xf32, #tile.scope<global>>, %C: memref<1xf32, #tile.scope<global>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  // expected-error@+1 {{blocks cannot be cut by rows: no dimension of the tiles can be cut}}
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : memref<8x16xf32, #tile.scope<ub>>
    %s = tile.alloc "s" : memref<1xf32, #tile.scope<ub>>
    tile.reduce <sum> (%s[%c0] [%c1] : memref<1xf32, #tile.scope<ub>>, %x[%c0, %c0] [%c8, %c16] : memref<8x16xf32, #tile.scope<ub>>) dims = [0, 1] {tile.core = #tile.core<aiv>}
  }
  return
}

// -----

func.func @atomics(%C: memref<8x16xf32, #tile.scope<global>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  // expected-error@+1 {{blocks cannot be cut by rows: atomics and prints keep the order of blocks}}
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : memref<8x16xf32, #tile.scope<ub>>
    tile.atomic <sum> (%C[%c0, %c0] [%c8, %c16] : memref<8x16xf32, #tile.scope<global>>, %x[%c0, %c0] [%c8, %c16] : memref<8x16xf32, #tile.scope<ub>>) {tile.core = #tile.core<aiv>}
  }
  return
}

// -----

// A part reads what another may have written.
func.func @shifted_in_place(%C: memref<32x16xf32, #tile.scope<global>> {tile.name = "C"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  // expected-error@+1 {{rows of 'C' that one part writes could be touched by another}}
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : memref<8x16xf32, #tile.scope<ub>>
    tile.copy (%x[%c0, %c0] [%c8, %c16] : memref<8x16xf32, #tile.scope<ub>>, %C[%c1, %c0] [%c8, %c16] : memref<32x16xf32, #tile.scope<global>>) {tile.core = #tile.core<aiv>}
    tile.copy (%C[%c0, %c0] [%c8, %c16] : memref<32x16xf32, #tile.scope<global>>, %x[%c0, %c0] [%c8, %c16] : memref<8x16xf32, #tile.scope<ub>>) {tile.core = #tile.core<aiv>}
  }
  return
}

// -----

// Rows that one part stores in a turn are those of another part in the next.
func.func @overlapping_turns(%A: memref<8x16xf32, #tile.scope<global>>, %C: memref<32x16xf32, #tile.scope<global>> {tile.name = "C"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  // expected-error@+1 {{rows of 'C' that one part writes could be touched by another}}
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : memref<8x16xf32, #tile.scope<ub>>
    tile.copy (%x[%c0, %c0] [%c8, %c16] : memref<8x16xf32, #tile.scope<ub>>, %A[%c0, %c0] [%c8, %c16] : memref<8x16xf32, #tile.scope<global>>) {tile.core = #tile.core<aiv>}
    scf.for %t = %c0 to %c8 step %c1 {
      tile.copy (%C[%t, %c0] [%c8, %c16] : memref<32x16xf32, #tile.scope<global>>, %x[%c0, %c0] [%c8, %c16] : memref<8x16xf32, #tile.scope<ub>>) {tile.core = #tile.core<aiv>}
    }
  }
  return
}

// -----

// Turns whose places are whole tiles apart do not meet, whatever the loops are: no error.
func.func @whole_tiles_apart(%C: memref<1024x16xf32, #tile.scope<global>> {tile.name = "C"}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  // expected-remark@+1 {{each block is cut into 2 of 4 of 8 rows}}
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : memref<8x16xf32, #tile.scope<ub>>
    scf.for %t = %n to %c16 step %c8 {
      scf.for %u = %c0 to %n step %c4 {
        %half = arith.muli %u, %c6 : index
        %place = arith.addi %t, %half : index
        tile.copy (%C[%place, %c0] [%c8, %c16] : memref<1024x16xf32, #tile.scope<global>>, %x[%c0, %c0] [%c8, %c16] : memref<8x16xf32, #tile.scope<ub>>) {tile.core = #tile.core<aiv>}
      }
    }
  }
  return
}
