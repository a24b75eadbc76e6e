// RUN: tilewright-opt %s --tile-separate-views --split-input-file --verify-diagnostics

// The first turn reads what it wrote, the second one what V left.
func.func @bits_of_the_last_turn(%x: memref<8x8xf16, #tile.scope<global>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%b) in (%c1) {
    %A = tile.alloc "A" : memref<8x8xf16, #tile.scope<shared>>
    %V = tile.view "V" %A : memref<8x8xf16, #tile.scope<shared>> to memref<4x8xf32, #tile.scope<shared>>
    scf.for %k = %c0 to %c4 step %c1 {
      // expected-error@+1 {{'A' is read after its memory was written under another name with another element type}}
      tile.copy (%x[%c0, %c0] [%c8, %c8] : memref<8x8xf16, #tile.scope<global>>, %A[%c0, %c0] [%c8, %c8] : memref<8x8xf16, #tile.scope<shared>>)
      tile.fill %one : f32, (%V[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #tile.scope<shared>>)
    }
  }
  return
}

// -----

// Half of V is what A was.
func.func @partly_written(%y: memref<4x8xf32, #tile.scope<global>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f16
  %one = arith.constant 1.0 : f32
  tile.launch (%b) in (%c1) {
    %A = tile.alloc "A" : memref<8x8xf16, #tile.scope<shared>>
    %V = tile.view "V" %A : memref<8x8xf16, #tile.scope<shared>> to memref<4x8xf32, #tile.scope<shared>>
    tile.fill %zero : f16, (%A[%c0, %c0] [%c8, %c8] : memref<8x8xf16, #tile.scope<shared>>)
    tile.fill %one : f32, (%V[%c0, %c0] [%c3, %c8] : memref<4x8xf32, #tile.scope<shared>>)
    // expected-error@+1 {{'V' is read after its memory was written under another name}}
    tile.copy (%y[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #tile.scope<global>>, %V[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #tile.scope<shared>>)
  }
  return
}
