// RUN: tilewright-opt %s --split-input-file --verify-diagnostics --tile-split-cores

// One op on both kinds of core.
#l1 = #tile.scope<l1>
#ub = #tile.scope<ub>

func.func @both_cores(%A: memref<32x16xf16> {tile.name = "A"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #l1>
    %T = tile.alloc "T" : memref<32x16xf16, #ub>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #l1>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    // expected-error @below {{E0703: this statement touches tiles of the cube core and of the vector core; copy one of them}}
    tile.elementwise <add> (%T[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #ub>,
                            %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #l1>,
                            %T[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #ub>)
  }
  return
}

// -----

// A loop of products whose bound is computed by the vector core.
#l1 = #tile.scope<l1>
#l0c = #tile.scope<l0c>
#ub = #tile.scope<ub>

func.func @bound_from_tile(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                           %N: memref<8xi32> {tile.name = "N"}, %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #l1>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #l1>
    %acc = tile.alloc "acc" : memref<32x32xf32, #l0c>
    %I = tile.alloc "I" : memref<8xi32, #ub>
    tile.copy(%I[%c0] [%c8] : memref<8xi32, #ub>, %N[%c0] [%c8] : memref<8xi32>)
    // expected-note @below {{the scalar is read here}}
    %n = tile.load %I[%c0] : memref<8xi32, #ub> -> i32
    %m = arith.index_cast %n : i32 to index
    scf.for %t = %c0 to %m step %c1 {
      // expected-error @below {{runs on the cube core but depends on a scalar that the vector core computes; read such a value from a global tensor that this kernel does not write}}
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #l1>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #l1>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
      tile.gemm(%acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #l0c>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #l1>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #l1>) init %true
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #l0c>)
  }
  return
}

// -----

// A condition that goes through a variable set in a branch.
#local = #tile.scope<local>
#l1 = #tile.scope<l1>
#ub = #tile.scope<ub>

func.func @variable_set_in_branch(%A: memref<32x16xf16> {tile.name = "A"}, %N: memref<8xi32> {tile.name = "N"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %zero = arith.constant 0 : i32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #l1>
    %I = tile.alloc "I" : memref<8xi32, #ub>
    %flag = tile.alloc "flag" : memref<i1, #local>
    tile.copy(%I[%c0] [%c8] : memref<8xi32, #ub>, %N[%c0] [%c8] : memref<8xi32>)
    // expected-note @below {{the scalar is read here}}
    %n = tile.load %I[%c0] : memref<8xi32, #ub> -> i32
    %positive = arith.cmpi sgt, %n, %zero : i32
    scf.if %positive {
      tile.store %true, %flag[] : i1, memref<i1, #local>
    }
    %go = tile.load %flag[] : memref<i1, #local> -> i1
    scf.if %go {
      // expected-error @below {{runs on the cube core but depends on a scalar that the vector core computes}}
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #l1>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    }
  }
  return
}

// -----

// An offset that a loop carries.
#l1 = #tile.scope<l1>
#ub = #tile.scope<ub>

func.func @carried_offset(%A: memref<64x16xf16> {tile.name = "A"}, %N: memref<8xi32> {tile.name = "N"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #l1>
    %I = tile.alloc "I" : memref<8xi32, #ub>
    tile.copy(%I[%c0] [%c8] : memref<8xi32, #ub>, %N[%c0] [%c8] : memref<8xi32>)
    %last = scf.for %t = %c0 to %c4 step %c1 iter_args(%at = %c0) -> index {
      // expected-error @below {{runs on the cube core but depends on a scalar that the vector core computes}}
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #l1>, %A[%at, %c0] [%c32, %c16] : memref<64x16xf16>)
      // expected-note @below {{the scalar is read here}}
      %n = tile.load %I[%t] : memref<8xi32, #ub> -> i32
      %next = arith.index_cast %n : i32 to index
      scf.yield %next : index
    }
  }
  return
}

// -----

// The result of a branch.
#l1 = #tile.scope<l1>
#ub = #tile.scope<ub>

func.func @branch_result(%A: memref<64x16xf16> {tile.name = "A"}, %N: memref<8xi32> {tile.name = "N"}, %f: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #l1>
    %I = tile.alloc "I" : memref<8xi32, #ub>
    tile.copy(%I[%c0] [%c8] : memref<8xi32, #ub>, %N[%c0] [%c8] : memref<8xi32>)
    %at = scf.if %f -> index {
      // expected-note @below {{the scalar is read here}}
      %n = tile.load %I[%c0] : memref<8xi32, #ub> -> i32
      %next = arith.index_cast %n : i32 to index
      scf.yield %next : index
    } else {
      scf.yield %c0 : index
    }
    // expected-error @below {{runs on the cube core but depends on a scalar that the vector core computes}}
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #l1>, %A[%at, %c0] [%c32, %c16] : memref<64x16xf16>)
  }
  return
}

// -----

// A loop that goes on while the vector core finds something.
#l1 = #tile.scope<l1>
#ub = #tile.scope<ub>

func.func @condition_of_loop(%A: memref<64x16xf16> {tile.name = "A"}, %N: memref<8xi32> {tile.name = "N"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0 : i32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #l1>
    %I = tile.alloc "I" : memref<8xi32, #ub>
    tile.copy(%I[%c0] [%c8] : memref<8xi32, #ub>, %N[%c0] [%c8] : memref<8xi32>)
    %end = scf.while (%t = %c0) : (index) -> index {
      // expected-note @below {{the scalar is read here}}
      %n = tile.load %I[%t] : memref<8xi32, #ub> -> i32
      %go = arith.cmpi sgt, %n, %zero : i32
      scf.condition(%go) %t : index
    } do {
    ^bb0(%t: index):
      // expected-error @below {{runs on the cube core but depends on a scalar that the vector core computes}}
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #l1>, %A[%c0, %c0] [%c32, %c16] : memref<64x16xf16>)
      %next = arith.addi %t, %c1 : index
      scf.yield %next : index
    }
  }
  return
}

// -----

// An element of a tensor that the vector core has written.
#l1 = #tile.scope<l1>
#ub = #tile.scope<ub>

func.func @reads_what_it_wrote(%A: memref<64x16xf16> {tile.name = "A"}, %N: memref<8xi32> {tile.name = "N"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #l1>
    %I = tile.alloc "I" : memref<8xi32, #ub>
    tile.copy(%N[%c0] [%c8] : memref<8xi32>, %I[%c0] [%c8] : memref<8xi32, #ub>)
    // expected-note @below {{the scalar is read here}}
    %n = tile.load %N[%c0] : memref<8xi32> -> i32
    %at = arith.index_cast %n : i32 to index
    // expected-error @below {{runs on the cube core but depends on a scalar that the vector core computes}}
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #l1>, %A[%at, %c0] [%c32, %c16] : memref<64x16xf16>)
  }
  return
}

// -----

// A tensor that the cube stores and the vector core loads before.
#l1 = #tile.scope<l1>
#l0c = #tile.scope<l0c>
#ub = #tile.scope<ub>

func.func @shared_tensor(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                         %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #l1>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #l1>
    %acc = tile.alloc "acc" : memref<32x32xf32, #l0c>
    %T = tile.alloc "T" : memref<32x32xf32, #ub>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #l1>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #l1>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #l0c>, %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #l1>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #l1>) init %true
    // expected-error @below {{'C' is touched by the vector core here and written by the other core; write the result to another tensor or split the kernel in two launches}}
    tile.copy(%T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #ub>, %C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    // expected-note @below {{written here}}
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #l0c>)
  }
  return
}

// -----

// And the other way round.
#l1 = #tile.scope<l1>
#ub = #tile.scope<ub>

func.func @shared_tensor_back(%A: memref<32x16xf16> {tile.name = "A"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #l1>
    %T = tile.alloc "T" : memref<32x16xf16, #ub>
    // expected-error @below {{'A' is touched by the cube core here and written by the other core; write the result to another tensor or split the kernel in two launches}}
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #l1>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    // expected-note @below {{written here}}
    tile.copy(%A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>, %T[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #ub>)
  }
  return
}
