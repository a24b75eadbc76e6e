// What canonicalization and CSE must leave alone, and what they may take.
// RUN: tilewright-opt --canonicalize --cse %s | FileCheck %s

#ub = #tile.scope<ub>
#l0c = #tile.scope<l0c>

// A tile that is only written stays: a checker or the clock may see it.
// CHECK-LABEL: func.func @written_only(
func.func @written_only(%s: f32) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  // CHECK: tile.alloc "T"
  // CHECK: tile.fill
  %T = tile.alloc "T" : memref<4xf32, #ub>
  tile.fill %s : f32, (%T[%c0] [%c4] : memref<4xf32, #ub>)
  return
}

// Two allocs of one type are two tiles.
// CHECK-LABEL: func.func @two_tiles(
func.func @two_tiles(%s: f32, %t: f32) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  // CHECK: %[[T:.*]] = tile.alloc "T"
  // CHECK: %[[U:.*]] = tile.alloc "T"
  %T = tile.alloc "T" : memref<4xf32, #ub>
  %U = tile.alloc "T" : memref<4xf32, #ub>
  tile.store %s, %T[%c0] : f32, memref<4xf32, #ub>
  tile.store %t, %U[%c0] : f32, memref<4xf32, #ub>
  // CHECK: %[[A:.*]] = tile.load %[[T]]
  // CHECK: %[[B:.*]] = tile.load %[[U]]
  %a = tile.load %T[%c0] : memref<4xf32, #ub> -> f32
  %b = tile.load %U[%c0] : memref<4xf32, #ub> -> f32
  // CHECK: return %[[A]], %[[B]]
  return %a, %b : f32, f32
}

// A load is not moved over a store; a second load after it is not the first.
// CHECK-LABEL: func.func @loads(
func.func @loads(%A: memref<4xf32>, %s: f32, %i: index) -> (f32, f32, f32) {
  // CHECK: %[[A:.*]] = tile.load
  %a = tile.load %A[%i] : memref<4xf32> -> f32
  // Twice the same, without a write between: one is enough.
  // CHECK-NOT: tile.load
  %b = tile.load %A[%i] : memref<4xf32> -> f32
  // CHECK: tile.store
  tile.store %s, %A[%i] : f32, memref<4xf32>
  // CHECK: %[[C:.*]] = tile.load
  %c = tile.load %A[%i] : memref<4xf32> -> f32
  // CHECK: return %[[A]], %[[A]], %[[C]]
  return %a, %b, %c : f32, f32, f32
}

// Synchronising ops keep their number and order.
// CHECK-LABEL: func.func @order(
func.func @order() {
  %T = tile.alloc "T" {slots = 2 : i64} : memref<4xf32, #l0c>
  // CHECK: tile.advance
  // CHECK-NEXT: tile.advance
  // CHECK-NEXT: tile.wait
  // CHECK-NEXT: tile.wait
  // CHECK-NEXT: tile.release
  tile.advance %T : memref<4xf32, #l0c>
  tile.advance %T : memref<4xf32, #l0c>
  tile.wait %T on <aiv> : memref<4xf32, #l0c>
  tile.wait %T on <aiv> : memref<4xf32, #l0c>
  tile.release %T on <aiv> : memref<4xf32, #l0c>
  return
}

// One symbol is one value; an unused one goes.
// CHECK-LABEL: func.func @symbols(
func.func @symbols() -> (index, index) {
  // CHECK-NEXT: %[[M:.*]] = tile.symbol "M"
  // CHECK-NEXT: return %[[M]], %[[M]]
  %a = tile.symbol "M"
  %b = tile.symbol "M"
  %unused = tile.symbol "N"
  return %a, %b : index, index
}

// An assertion and a print stay even if nothing depends on them.
// CHECK-LABEL: func.func @effects(
func.func @effects(%p: i1) {
  %one = arith.constant 1 : i32
  // CHECK: tile.assert
  tile.assert %p, "p"
  // CHECK: tile.print "x"
  tile.print "x" () scalar %one : i32
  return
}

// A launch without effects may go; one that writes stays, and loops inside fold as usual.
// CHECK-LABEL: func.func @launches(
func.func @launches(%A: memref<4xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // CHECK: tile.launch (%[[B:.*]]) in
  // CHECK-NOT: scf.for
  // CHECK: tile.store %[[B]]
  tile.launch (%b) in (%c4) {
    scf.for %i = %c0 to %c1 step %c1 {
      %x = arith.addi %b, %i : index
      tile.store %x, %A[%b] : index, memref<4xindex>
    }
  }
  return
}
