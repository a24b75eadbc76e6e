// RUN: tilewright-opt %s --split-input-file --verify-diagnostics --tile-split-cores --convert-tile-to-npu

// Either run-time size may be the one that is 1.
#ub = #tile.scope<ub>

func.func @open_dims(%A: memref<32x32xf16> {tile.name = "A"}, %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<32xf16, #ub>
    // expected-error @below {{cannot tell which run-time dimensions belong together; give both sides the same rank}}
    tile.copy(%T[%c0] [%m] : memref<32xf16, #ub>, %A[%c0, %c0] [%m, %n] : memref<32x32xf16>)
  }
  return
}

// -----

// The same with an atomic.
#ub = #tile.scope<ub>

func.func @open_dims_atomic(%A: memref<32x32xf32> {tile.name = "A"}, %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<32xf32, #ub>
    // expected-error @below {{cannot tell which run-time dimensions belong together; give both sides the same rank}}
    tile.atomic <sum> (%A[%c0, %c0] [%m, %n] : memref<32x32xf32>, %T[%c0] [%m] : memref<32xf32, #ub>)
  }
  return
}

// -----

// And with a sum.
#ub = #tile.scope<ub>

func.func @open_dims_sum(%A: memref<32x32xf32> {tile.name = "A"}, %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<32x32x32xf32, #ub>
    %S = tile.alloc "S" : memref<32xf32, #ub>
    // expected-error @below {{cannot pair the kept dimensions of source and destination}}
    tile.reduce <sum> (%S[%c0] [%m] : memref<32xf32, #ub>,
                       %T[%c0, %c0, %c0] [%m, %n, %c32] : memref<32x32x32xf32, #ub>) dims = [2]
  }
  return
}

// -----

// L0A is read by the cube only.
#l0a = #tile.scope<l0a>

func.func @out_of_l0a(%A: memref<32x16xf16> {tile.name = "A"}, %C: memref<32x16xf16> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #l0a>
    // expected-error @below {{this copy cannot store from l0a}}
    tile.copy(%C[%c0, %c0] [%c32, %c16] : memref<32x16xf16>, %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #l0a>)
  }
  return
}

// -----

// Element-wise regions are gone by now.


func.func @parallel(%C: memref<32xf32> {tile.name = "C", tile.output}) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) {
    // expected-error @below {{has no form on the NPU}}
    tile.parallel (%i) in (%c32) {
      tile.store %one, %C[%i] : f32, memref<32xf32>
    }
  }
  return
}
