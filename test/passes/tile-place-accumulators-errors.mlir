// RUN: tilewright-opt %s --split-input-file --verify-diagnostics --tile-place-accumulators
// RUN: not tilewright-opt %s --split-input-file --tile-place-accumulators=chip=none 2>&1 | FileCheck %s --check-prefix=CHIP

// CHIP: error: {{.*}}none

// A product straight into a tensor.
#shared = #tile.scope<shared>

func.func @into_global(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                       %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    // expected-error @below {{E0708: a product cannot accumulate into the global tensor 'C'; use an on-chip tile}}
    tile.gemm(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
  }
  return
}

// -----

// No block of a grid to work in.


// Outside of a launch.
func.func @outside(%A: memref<16x16xf16>, %B: memref<16x16xf16>, %C: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  // expected-error @below {{stands outside a kernel}}
  tile.gemm(%C[%c0, %c0] [%c16, %c16] : memref<16x16xf32>, %A[%c0, %c0] [%c16, %c16] : memref<16x16xf16>,
            %B[%c0, %c0] [%c16, %c16] : memref<16x16xf16>)
  return
}
