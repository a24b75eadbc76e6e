// RUN: tilewright-opt %s --split-input-file --tile-verify-places --verify-diagnostics

func.func @no_memory() {
  %c1 = arith.constant 1 : index
  tile.launch (%bx) in (%c1) {
    // expected-error @below {{'a' has not been given a memory, it is still fragment}}
    %a = tile.alloc "a" : memref<64xf16, #tile.scope<fragment>>
  }
  return
}

// -----

func.func @factor_in_ub(%C: memref<64x64xf32> {tile.name = "C"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<64x64xf16, #tile.scope<ub>>
    %s = tile.alloc "s" : memref<64x64xf32, #tile.scope<l0c>>
    // expected-error @below {{'a' is in ub, which box 1 of 'tile.gemm' cannot be; it can be in l1, l0a}}
    tile.gemm(%s[%c0, %c0] [%c64, %c64] : memref<64x64xf32, #tile.scope<l0c>>,
              %a[%c0, %c0] [%c64, %c64] : memref<64x64xf16, #tile.scope<ub>>,
              %a[%c0, %c0] [%c64, %c64] : memref<64x64xf16, #tile.scope<ub>>) init %true
  }
  return
}

// -----

func.func @no_way_into_a_sum(%A: memref<64x64xf32> {tile.name = "A"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  tile.launch (%bx) in (%c1) {
    %s = tile.alloc "s" : memref<64x64xf32, #tile.scope<l0c>>
    // expected-error @below {{'s' is in l0c, which box 0 of 'tile.copy' cannot be; it can be in l1, ub}}
    tile.copy(%s[%c0, %c0] [%c64, %c64] : memref<64x64xf32, #tile.scope<l0c>>, %A[%c0, %c0] [%c64, %c64] : memref<64x64xf32>)
  }
  return
}

// -----

func.func @vector_work_in_l1() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<64xf32, #tile.scope<l1>>
    // expected-error @below {{'a' is in l1, which box 0 of 'tile.elementwise' cannot be; it can be in ub}}
    tile.elementwise <exp> (%a[%c0] [%c64] : memref<64xf32, #tile.scope<l1>>, %a[%c0] [%c64] : memref<64xf32, #tile.scope<l1>>)
  }
  return
}
