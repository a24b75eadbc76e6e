// RUN: tilewright-opt %s --split-input-file --verify-diagnostics --tile-place-accumulators --tile-place-buffers

// A conversion between tensors of unknown extent needs a tile of some size.


func.func @no_bound(%A: memref<?xf32> {tile.name = "A"}, %C: memref<?xf16> {tile.name = "C", tile.output}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.launch (%bx) in (%c1) {
    // expected-error @below {{needs a tile for a box of run-time size without a bound: dimension 0 of 'C'; copy through a tile of fixed shape instead}}
    tile.copy(%C[%c0] [%n] : memref<?xf16>, %A[%c0] [%n] : memref<?xf32>)
  }
  return
}

// -----

// Filling too.


func.func @no_bound_fill(%C: memref<?xf16> {tile.name = "C", tile.output}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f16
  tile.launch (%bx) in (%c1) {
    // expected-error @below {{needs a tile for a box of run-time size without a bound: dimension 0 of 'C'}}
    tile.fill %one : f16, (%C[%c0] [%n] : memref<?xf16>)
  }
  return
}

// -----

// Either run-time size may be the one that is 1.
#shared = #tile.scope<shared>

func.func @open_dims(%A: memref<32x32xf16> {tile.name = "A"}, %C: memref<32xf16> {tile.name = "C", tile.output},
                     %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<32x32xf16, #shared>
    %U = tile.alloc "U" : memref<32xf16, #shared>
    tile.copy(%T[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %A[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    // expected-error @below {{cannot tell which run-time dimensions belong together; give both sides the same rank}}
    tile.copy(%U[%c0] [%m] : memref<32xf16, #shared>, %T[%c0, %c0] [%m, %n] : memref<32x32xf16, #shared>)
    tile.copy(%C[%c0] [%c32] : memref<32xf16>, %U[%c0] [%c32] : memref<32xf16, #shared>)
  }
  return
}

// -----

// The same with a conversion.
#shared = #tile.scope<shared>

func.func @open_dims_converted(%A: memref<32x32xf32> {tile.name = "A"},
                               %C: memref<32xf16> {tile.name = "C", tile.output}, %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %U = tile.alloc "U" : memref<32xf16, #shared>
    // expected-error @below {{cannot tell which run-time dimensions belong together; give both sides the same rank}}
    tile.copy(%U[%c0] [%m] : memref<32xf16, #shared>, %A[%c0, %c0] [%m, %n] : memref<32x32xf32>)
    tile.copy(%C[%c0] [%c32] : memref<32xf16>, %U[%c0] [%c32] : memref<32xf16, #shared>)
  }
  return
}

// -----

// And with an atomic.
#shared = #tile.scope<shared>

func.func @open_dims_atomic(%A: memref<32x32xf32> {tile.name = "A"}, %C: memref<32xf32> {tile.name = "C", tile.output},
                            %m: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<32x32xf32, #shared>
    %U = tile.alloc "U" : memref<32xf32, #shared>
    tile.copy(%T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #shared>, %A[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    // expected-error @below {{cannot tell which run-time dimensions belong together; give both sides the same rank}}
    tile.atomic <sum> (%U[%c0] [%m] : memref<32xf32, #shared>, %T[%c0, %c0] [%m, %n] : memref<32x32xf32, #shared>)
    tile.copy(%C[%c0] [%c32] : memref<32xf32>, %U[%c0] [%c32] : memref<32xf32, #shared>)
  }
  return
}

// -----

// A tile in L1 by the author's choice takes no conversion.
#fragment = #tile.scope<fragment>
#l1 = #tile.scope<l1>

func.func @converted_into_l1(%A: memref<32x16xf32> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                             %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #l1>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #l1>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    // expected-error @below {{this copy loads 'f32' into the 'f16' operand 'As' of a product}}
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #l1>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf32>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #l1>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    // expected-remark @below {{applied: 'Cl' is summed in L0C and leaves through the fixpipe}}
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #l1>, %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #l1>)
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// -----

// Nor does one that is read out of it.
#fragment = #tile.scope<fragment>
#l1 = #tile.scope<l1>

func.func @converted_out_of_l1(%A: memref<32x16xf16> {tile.name = "A"},
                               %C: memref<32x16xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #l1>
    %T = tile.alloc "T" : memref<32x16xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #l1>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    // expected-error @below {{E0705: no instruction can move a tile from l1 to ub}}
    tile.copy(%T[%c0, %c0] [%c32, %c16] : memref<32x16xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #l1>)
    tile.copy(%C[%c0, %c0] [%c32, %c16] : memref<32x16xf32>, %T[%c0, %c0] [%c32, %c16] : memref<32x16xf32, #fragment>)
  }
  return
}
