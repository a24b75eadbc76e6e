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
