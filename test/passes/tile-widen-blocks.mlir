// RUN: tilewright-opt %s --tile-widen-blocks -o %t.after.mlir 2> %t.log
// RUN: FileCheck %s < %t.after.mlir
// RUN: FileCheck %s --check-prefix=REMARK < %t.log

// Each case is checked as text and run, before and after.

// DEFINE: %{name} =
// DEFINE: %{options} = --checksums --function %{name}
// DEFINE: %{same} = tilewright-run %s %{options} > %t.before && tilewright-run %t.after.mlir %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = attention
// RUN: %{same}
// REDEFINE: %{name} = transposed
// RUN: %{same}
// REDEFINE: %{name} = masked
// RUN: %{same}
// REDEFINE: %{name} = causal
// RUN: %{same}
// REDEFINE: %{name} = shared_rows
// RUN: %{same}

#ub = #tile.scope<ub>
#l1 = #tile.scope<l1>
#l0c = #tile.scope<l0c>
!Q = memref<2048x64xf16, #tile.scope<global>>
!K = memref<1024x64xf16, #tile.scope<global>>
!O = memref<2048x64xf32, #tile.scope<global>>
!V = memref<2048xf32, #tile.scope<global>>
!q = memref<32x64xf16, #l1>
!k = memref<64x64xf16, #l1>
!acc = memref<32x64xf32, #l0c>
!s = memref<32x64xf32, #ub>
!p = memref<32x64xf16, #ub>
!m = memref<32xf32, #ub>

// Rows of the queries; the keys are loaded once for all of them.
// REMARK: [tile-widen-blocks] applied: one block does the work of 4 neighbours: what they share is loaded once
// CHECK-LABEL: func.func @attention(
// CHECK: tile.launch (%{{.*}}) in (%c16
// CHECK-DAG: tile.alloc "q" : memref<128x64xf16
// CHECK-DAG: tile.alloc "k" : memref<64x64xf16
// CHECK-DAG: tile.alloc "acc" : memref<128x64xf32
// CHECK-DAG: tile.alloc "sum" : memref<128xf32
// CHECK: tile.gemm (%acc[%c0, %c0] [%c128{{.*}}, %c64] {{.*}}%q[%c0, %c0] [%c128{{.*}}, %c64]
func.func @attention(%Q: !Q, %K: !K, %O: !O {tile.output}, %V: !V {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %turns = arith.constant 16 : index
  %blocks = arith.constant 64 : index
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  tile.launch (%b) in (%blocks) {
    %q = tile.alloc "q" : !q
    %k = tile.alloc "k" : !k
    %acc = tile.alloc "acc" : !acc
    %s = tile.alloc "s" : !s
    %m = tile.alloc "m" : !m
    %sum = tile.alloc "sum" : !m
    %row = arith.muli %b, %c32 : index
    tile.copy (%q[%c0, %c0] [%c32, %c64] : !q, %Q[%row, %c0] [%c32, %c64] : !Q)
    tile.fill %zero : f32, (%sum[%c0] [%c32] : !m)
    tile.fill %zero : f32, (%s[%c0, %c0] [%c32, %c64] : !s)
    scf.for %turn = %c0 to %turns step %c1 {
      %o = arith.muli %turn, %c64 : index
      tile.copy (%k[%c0, %c0] [%c64, %c64] : !k, %K[%o, %c0] [%c64, %c64] : !K)
      tile.gemm (%acc[%c0, %c0] [%c32, %c64] : !acc, %q[%c0, %c0] [%c32, %c64] : !q, %k[%c0, %c0] [%c64, %c64] : !k) init %true {transpose_b}
      tile.copy (%s[%c0, %c0] [%c32, %c64] : !s, %acc[%c0, %c0] [%c32, %c64] : !acc)
      tile.reduce <max> (%m[%c0] [%c32] : !m, %s[%c0, %c0] [%c32, %c64] : !s) dims = [1]
      tile.elementwise <sub> (%s[%c0, %c0] [%c32, %c64] : !s, %s[%c0, %c0] [%c32, %c64] : !s, %m[%c0] [%c32] : !m) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
      tile.reduce <sum> (%sum[%c0] [%c32] : !m, %s[%c0, %c0] [%c32, %c64] : !s) dims = [1] {accumulate}
    }
    tile.copy (%O[%row, %c0] [%c32, %c64] : !O, %s[%c0, %c0] [%c32, %c64] : !s)
    tile.copy (%V[%row] [%c32] : !V, %sum[%c0] [%c32] : !m)
  }
  return
}

// The index of the row goes on from block to block.
// CHECK-LABEL: func.func @masked(
// CHECK: tile.launch (%{{.*}}) in (%c16
// CHECK: tile.iota (%index[%c0] [%c128{{.*}}]
func.func @masked(%Q: !Q, %K: !K, %O: !O {tile.output}, %V: !V {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %turns = arith.constant 16 : index
  %blocks = arith.constant 64 : index
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  tile.launch (%b) in (%blocks) {
    %q = tile.alloc "q" : !q
    %k = tile.alloc "k" : !k
    %acc = tile.alloc "acc" : !acc
    %s = tile.alloc "s" : !s
    %m = tile.alloc "m" : !m
    %sum = tile.alloc "sum" : !m
    %index = tile.alloc "index" : memref<32xi32, #ub>
    %weight = tile.alloc "weight" : !m
    %row = arith.muli %b, %c32 : index
    tile.copy (%q[%c0, %c0] [%c32, %c64] : !q, %Q[%row, %c0] [%c32, %c64] : !Q)
    tile.fill %zero : f32, (%sum[%c0] [%c32] : !m)
    tile.fill %zero : f32, (%s[%c0, %c0] [%c32, %c64] : !s)
    scf.for %turn = %c0 to %turns step %c1 {
      %o = arith.muli %turn, %c64 : index
      tile.copy (%k[%c0, %c0] [%c64, %c64] : !k, %K[%o, %c0] [%c64, %c64] : !K)
      tile.gemm (%acc[%c0, %c0] [%c32, %c64] : !acc, %q[%c0, %c0] [%c32, %c64] : !q, %k[%c0, %c0] [%c64, %c64] : !k) init %true {transpose_b}
      tile.copy (%s[%c0, %c0] [%c32, %c64] : !s, %acc[%c0, %c0] [%c32, %c64] : !acc)
      tile.iota (%index[%c0] [%c32] : memref<32xi32, #ub>) from %row by (%c1)
      tile.elementwise <cast> (%weight[%c0] [%c32] : !m, %index[%c0] [%c32] : memref<32xi32, #ub>)
      tile.elementwise <add> (%s[%c0, %c0] [%c32, %c64] : !s, %s[%c0, %c0] [%c32, %c64] : !s, %weight[%c0] [%c32] : !m) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
      tile.reduce <max> (%m[%c0] [%c32] : !m, %s[%c0, %c0] [%c32, %c64] : !s) dims = [1]
      tile.elementwise <sub> (%s[%c0, %c0] [%c32, %c64] : !s, %s[%c0, %c0] [%c32, %c64] : !s, %m[%c0] [%c32] : !m) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
      tile.reduce <sum> (%sum[%c0] [%c32] : !m, %s[%c0, %c0] [%c32, %c64] : !s) dims = [1] {accumulate}
    }
    tile.copy (%O[%row, %c0] [%c32, %c64] : !O, %s[%c0, %c0] [%c32, %c64] : !s)
    tile.copy (%V[%row] [%c32] : !V, %sum[%c0] [%c32] : !m)
  }
  return
}

// Each block has a number of turns of its own.
// CHECK-LABEL: func.func @causal(
// CHECK: tile.alloc "q" : memref<32x64xf16
func.func @causal(%Q: !Q, %K: !K, %O: !O {tile.output}, %V: !V {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %turns = arith.constant 16 : index
  %blocks = arith.constant 64 : index
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  tile.launch (%b) in (%blocks) {
    %q = tile.alloc "q" : !q
    %k = tile.alloc "k" : !k
    %acc = tile.alloc "acc" : !acc
    %s = tile.alloc "s" : !s
    %m = tile.alloc "m" : !m
    %sum = tile.alloc "sum" : !m
    %mine = arith.remui %b, %c2 : index
    %end = arith.addi %mine, %c1 : index
    %row = arith.muli %b, %c32 : index
    tile.copy (%q[%c0, %c0] [%c32, %c64] : !q, %Q[%row, %c0] [%c32, %c64] : !Q)
    tile.fill %zero : f32, (%sum[%c0] [%c32] : !m)
    tile.fill %zero : f32, (%s[%c0, %c0] [%c32, %c64] : !s)
    scf.for %turn = %c0 to %end step %c1 {
      %o = arith.muli %turn, %c64 : index
      tile.copy (%k[%c0, %c0] [%c64, %c64] : !k, %K[%o, %c0] [%c64, %c64] : !K)
      tile.gemm (%acc[%c0, %c0] [%c32, %c64] : !acc, %q[%c0, %c0] [%c32, %c64] : !q, %k[%c0, %c0] [%c64, %c64] : !k) init %true {transpose_b}
      tile.copy (%s[%c0, %c0] [%c32, %c64] : !s, %acc[%c0, %c0] [%c32, %c64] : !acc)
      tile.reduce <max> (%m[%c0] [%c32] : !m, %s[%c0, %c0] [%c32, %c64] : !s) dims = [1]
      tile.elementwise <sub> (%s[%c0, %c0] [%c32, %c64] : !s, %s[%c0, %c0] [%c32, %c64] : !s, %m[%c0] [%c32] : !m) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
      tile.reduce <sum> (%sum[%c0] [%c32] : !m, %s[%c0, %c0] [%c32, %c64] : !s) dims = [1] {accumulate}
    }
    tile.copy (%O[%row, %c0] [%c32, %c64] : !O, %s[%c0, %c0] [%c32, %c64] : !s)
    tile.copy (%V[%row] [%c32] : !V, %sum[%c0] [%c32] : !m)
  }
  return
}

// Two tiles of one shape, of which one is the same for all blocks: it would have to be repeated.
// CHECK-LABEL: func.func @shared_rows(
// CHECK: tile.alloc "q" : memref<32x64xf16
func.func @shared_rows(%Q: !Q, %K: !K, %O: !O {tile.output}, %V: !V {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %turns = arith.constant 16 : index
  %blocks = arith.constant 64 : index
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  tile.launch (%b) in (%blocks) {
    %q = tile.alloc "q" : !q
    %k = tile.alloc "k" : !k
    %acc = tile.alloc "acc" : !acc
    %s = tile.alloc "s" : !s
    %m = tile.alloc "m" : !m
    %sum = tile.alloc "sum" : !m
    %same = tile.alloc "same" : !s
    tile.fill %zero : f32, (%same[%c0, %c0] [%c32, %c64] : !s)
    %row = arith.muli %b, %c32 : index
    tile.copy (%q[%c0, %c0] [%c32, %c64] : !q, %Q[%row, %c0] [%c32, %c64] : !Q)
    tile.fill %zero : f32, (%sum[%c0] [%c32] : !m)
    tile.fill %zero : f32, (%s[%c0, %c0] [%c32, %c64] : !s)
    scf.for %turn = %c0 to %turns step %c1 {
      %o = arith.muli %turn, %c64 : index
      tile.copy (%k[%c0, %c0] [%c64, %c64] : !k, %K[%o, %c0] [%c64, %c64] : !K)
      tile.gemm (%acc[%c0, %c0] [%c32, %c64] : !acc, %q[%c0, %c0] [%c32, %c64] : !q, %k[%c0, %c0] [%c64, %c64] : !k) init %true {transpose_b}
      tile.copy (%s[%c0, %c0] [%c32, %c64] : !s, %acc[%c0, %c0] [%c32, %c64] : !acc)
      tile.elementwise <add> (%s[%c0, %c0] [%c32, %c64] : !s, %s[%c0, %c0] [%c32, %c64] : !s, %same[%c0, %c0] [%c32, %c64] : !s)
      tile.reduce <max> (%m[%c0] [%c32] : !m, %s[%c0, %c0] [%c32, %c64] : !s) dims = [1]
      tile.elementwise <sub> (%s[%c0, %c0] [%c32, %c64] : !s, %s[%c0, %c0] [%c32, %c64] : !s, %m[%c0] [%c32] : !m) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
      tile.reduce <sum> (%sum[%c0] [%c32] : !m, %s[%c0, %c0] [%c32, %c64] : !s) dims = [1] {accumulate}
    }
    tile.copy (%O[%row, %c0] [%c32, %c64] : !O, %s[%c0, %c0] [%c32, %c64] : !s)
    tile.copy (%V[%row] [%c32] : !V, %sum[%c0] [%c32] : !m)
  }
  return
}

// The rows are columns of the sum.
// CHECK-LABEL: func.func @transposed(
// CHECK: tile.launch (%{{.*}}) in (%c16
// CHECK-DAG: tile.alloc "acc" : memref<64x128xf32
// CHECK-DAG: tile.alloc "sum" : memref<128xf32
// CHECK: tile.reduce <sum> (%sum[%c0] [%c128{{.*}}] {{.*}}%s[%c0, %c0] [%c64, %c128
func.func @transposed(%Q: !Q, %K: !K, %V: !V {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %turns = arith.constant 16 : index
  %blocks = arith.constant 64 : index
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  tile.launch (%b) in (%blocks) {
    %q = tile.alloc "q" : !q
    %k = tile.alloc "k" : !k
    %acc = tile.alloc "acc" : memref<64x32xf32, #l0c>
    %s = tile.alloc "s" : memref<64x32xf32, #ub>
    %sum = tile.alloc "sum" : !m
    %row = arith.muli %b, %c32 : index
    tile.copy (%q[%c0, %c0] [%c32, %c64] : !q, %Q[%row, %c0] [%c32, %c64] : !Q)
    tile.fill %zero : f32, (%sum[%c0] [%c32] : !m)
    scf.for %turn = %c0 to %turns step %c1 {
      %o = arith.muli %turn, %c64 : index
      tile.copy (%k[%c0, %c0] [%c64, %c64] : !k, %K[%o, %c0] [%c64, %c64] : !K)
      tile.gemm (%acc[%c0, %c0] [%c64, %c32] : memref<64x32xf32, #l0c>, %k[%c0, %c0] [%c64, %c64] : !k, %q[%c0, %c0] [%c32, %c64] : !q) init %true {transpose_b}
      tile.copy (%s[%c0, %c0] [%c64, %c32] : memref<64x32xf32, #ub>, %acc[%c0, %c0] [%c64, %c32] : memref<64x32xf32, #l0c>)
      tile.reduce <sum> (%sum[%c0] [%c32] : !m, %s[%c0, %c0] [%c64, %c32] : memref<64x32xf32, #ub>) dims = [0] {accumulate}
    }
    tile.copy (%V[%row] [%c32] : !V, %sum[%c0] [%c32] : !m)
  }
  return
}
