// RUN: tilewright-opt %s --tile-place-accumulators --tile-place-buffers --tile-materialize-zero --tile-split-cores -o %t.after.mlir 2> %t.log
// RUN: FileCheck %s < %t.after.mlir
// RUN: tilewright-opt %s --tilewright-pipeline=disable=fuse-turns -o %t.npu.mlir 2> %t.log
// RUN: tilewright-opt %s --tile-place-accumulators -o %t.ref.mlir 2> %t.log

// Each case is checked as text and run: before the pass, after it, and as the final program, with equal
// results; the text form of a split program is still one sequential program.

// DEFINE: %{name} =
// DEFINE: %{args} =
// DEFINE: %{options} = --checksums --function %{name} %{args}
// DEFINE: %{same} = tilewright-run %t.ref.mlir %{options} > %t.before \
// DEFINE:   && tilewright-run %t.after.mlir %{options} > %t.now && diff %t.before %t.now \
// DEFINE:   && tilewright-sim %t.npu.mlir --check %{options} > %t.now && diff %t.before %t.now \
// DEFINE:   && tilewright-sim %t.npu.mlir --delay 1 %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = cube_only
// RUN: %{same}

// REDEFINE: %{name} = tensor_between_cores
// RUN: %{same}

// REDEFINE: %{name} = exchange_in_one_branch
// RUN: %{same}

// REDEFINE: %{name} = bound_from_global
// RUN: %{same}

// REDEFINE: %{name} = vector_scalar_steers_vector
// RUN: %{same}

// REDEFINE: %{name} = while_loop
// REDEFINE: %{args} = --set 3=0
// RUN: %{same}
// REDEFINE: %{args} = --set 3=1
// RUN: %{same}
// REDEFINE: %{args} = --set 3=4
// RUN: %{same}

// REDEFINE: %{name} = two_channels_in_loop
// REDEFINE: %{args} =
// RUN: %{same}

// REDEFINE: %{name} = attention
// RUN: %{same}

// REDEFINE: %{name} = state_through_both_cores
// RUN: %{same}

// REDEFINE: %{name} = scalar_store_of_vector
// RUN: %{same}

// REDEFINE: %{name} = asserts
// RUN: %{same}

// REDEFINE: %{name} = product_of_product
// RUN: %{same}

// REDEFINE: %{name} = read_twice
// RUN: %{same}

// REDEFINE: %{name} = halves
// RUN: %{same}

#shared = #tile.scope<shared>
#fragment = #tile.scope<fragment>
#local = #tile.scope<local>
#ub = #tile.scope<ub>

// No vector core.
// CHECK-LABEL: func.func @cube_only(
// CHECK-NOT: #tile.core<aiv>
// CHECK: tile.gemm {{.+}}#tile.core<aic>
// CHECK-NOT: #tile.core<aiv>
// CHECK: return
func.func @cube_only(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                     %C: memref<32x32xf16> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf16>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Both cores take the same branch; the hand-over is inside.
// CHECK-LABEL: func.func @exchange_in_one_branch(
// CHECK: tile.fill {{.+}}#tile.core<aiv>
// CHECK: scf.if
// CHECK: tile.gemm {{.+}}#tile.core<aic>
// CHECK: tile.acquire %Cl.exchange on <aic> {{{.*}}tile.core = #tile.core<aic>
// CHECK: tile.copy (%Cl.exchange[
// CHECK: tile.publish %Cl.exchange on <aic>
// CHECK: tile.wait %Cl.exchange on <aiv>
// CHECK: tile.copy ({{.+}}%Cl.exchange[
// CHECK: tile.release %Cl.exchange on <aiv>
// CHECK: tile.elementwise <add> {{.+}}#tile.core<aiv>
// CHECK: }
func.func @exchange_in_one_branch(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                                  %C: memref<96x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %one = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c3) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    %R = tile.alloc "R" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.fill %one : f32, (%R[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    %some = arith.cmpi ne, %bx, %c1 : index
    scf.if %some {
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
      tile.elementwise <add> (%R[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %R[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    }
    %i = arith.muli %bx, %c32 : index
    tile.copy(%C[%i, %c0] [%c32, %c32] : memref<96x32xf32>, %R[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// A loop bound out of a tensor: both cores read it.
// CHECK-LABEL: func.func @bound_from_global(
// CHECK: tile.load %arg2[{{.+}}#tile.core<both>
// CHECK: scf.for
// CHECK: tile.gemm {{.+}}#tile.core<aic>
func.func @bound_from_global(%A: memref<32x64xf16> {tile.name = "A"}, %B: memref<64x32xf16> {tile.name = "B"},
                             %N: memref<4xi32> {tile.name = "N"},
                             %C: memref<128x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c4) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    %n = tile.load %N[%bx] : memref<4xi32> -> i32
    %n1 = arith.index_cast %n : i32 to index
    %n2 = arith.remui %n1, %c4 : index
    scf.for %t = %c0 to %n2 step %c1 {
      %k = arith.muli %t, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x64xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<64x32xf16>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    }
    tile.elementwise <exp> (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    %i = arith.muli %bx, %c32 : index
    tile.copy(%C[%i, %c0] [%c32, %c32] : memref<128x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Scalars out of vector tiles may go through loops, variables and branches on the vector core.
// CHECK-LABEL: func.func @vector_scalar_steers_vector(
// CHECK: tile.load %m[{{.+}}#tile.core<aiv>
// CHECK: tile.store {{.+}} %best[] {tile.core = #tile.core<both>}
func.func @vector_scalar_steers_vector(%A: memref<32x16xf16> {tile.name = "A"},
                                       %B: memref<16x32xf16> {tile.name = "B"},
                                       %C: memref<32x32xf32> {tile.name = "C", tile.output}, %n: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %i1 = arith.constant 1 : i32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    %m = tile.alloc "m" : memref<32xf32, #fragment>
    %best = tile.alloc "best" : memref<f32, #local>
    %count = tile.alloc "count" : memref<i32, #local>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.reduce <max> (%m[%c0] [%c32] : memref<32xf32, #fragment>,
                       %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) dims = [1]
    %max = scf.for %t = %c0 to %c32 step %c1 iter_args(%old = %zero) -> f32 {
      %v = tile.load %m[%t] : memref<32xf32, #fragment> -> f32
      %new = arith.maximumf %old, %v : f32
      scf.yield %new : f32
    }
    tile.store %max, %best[] : f32, memref<f32, #local>
    %small = arith.cmpf olt, %max, %zero : f32
    scf.if %small {
      tile.store %i1, %count[] : i32, memref<i32, #local>
    }
    %b = tile.load %best[] : memref<f32, #local> -> f32
    tile.elementwise <sub> (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %b : f32
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// A loop with a condition runs on both.
// CHECK-LABEL: func.func @while_loop(
// CHECK: scf.while
// CHECK: tile.gemm {{.+}}#tile.core<aic>
// CHECK: tile.acquire %Cl.exchange on <aic> {{{.*}}tile.core = #tile.core<aic>
// CHECK: tile.copy (%Cl.exchange[
// CHECK: tile.publish %Cl.exchange on <aic>
// CHECK: tile.wait %Cl.exchange on <aiv>
// CHECK: tile.copy ({{.+}}%Cl.exchange[
// CHECK: tile.release %Cl.exchange on <aiv>
func.func @while_loop(%A: memref<32x64xf16> {tile.name = "A"}, %B: memref<64x32xf16> {tile.name = "B"},
                      %C: memref<64x32xf32> {tile.name = "C", tile.output}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c2) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    %end = scf.while (%t = %c0) : (index) -> index {
      %go = arith.cmpi slt, %t, %n : index
      scf.condition(%go) %t : index
    } do {
    ^bb0(%t: index):
      %k = arith.muli %t, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x64xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<64x32xf16>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
      %next = arith.addi %t, %c1 : index
      scf.yield %next : index
    }
    tile.elementwise <add> (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    %i = arith.muli %bx, %c32 : index
    tile.copy(%C[%i, %c0] [%c32, %c32] : memref<64x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// To the vector core and back.
// CHECK-LABEL: func.func @two_channels_in_loop(
// CHECK: tile.gemm (%S.acc
// CHECK: tile.acquire %S.exchange on <aic> {{{.*}}tile.core = #tile.core<aic>
// CHECK: tile.copy (%S.exchange[
// CHECK: tile.publish %S.exchange on <aic>
// CHECK: tile.wait %S.exchange on <aiv>
// CHECK: tile.copy ({{.+}}%S.exchange[
// CHECK: tile.release %S.exchange on <aiv>
// CHECK: tile.acquire %P.l1.exchange on <aiv> {{{.*}}tile.core = #tile.core<aiv>
// CHECK: tile.copy (%P.l1.exchange[
// CHECK: tile.publish %P.l1.exchange on <aiv>
// CHECK: tile.wait %P.l1.exchange on <aic>
// CHECK: tile.copy ({{.+}}%P.l1.exchange[
// CHECK: tile.release %P.l1.exchange on <aic>
// CHECK: tile.gemm (%O.acc
func.func @two_channels_in_loop(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x96xf16> {tile.name = "B"},
                                %D: memref<96x32xf16> {tile.name = "D"},
                                %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %scale = arith.constant 0.0625 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Ds = tile.alloc "Ds" : memref<32x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    %P = tile.alloc "P" : memref<32x32xf16, #shared>
    %O = tile.alloc "O" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    scf.for %t = %c0 to %c3 step %c1 {
      %j = arith.muli %t, %c32 : index
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %j] [%c16, %c32] : memref<16x96xf16>)
      tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
      tile.elementwise <mul> (%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %scale : f32
      tile.copy(%P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.copy(%Ds[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %D[%j, %c0] [%c32, %c32] : memref<96x32xf16>)
      tile.gemm(%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %Ds[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>)
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Three hand-overs in a turn.
// CHECK-LABEL: func.func @attention(
// CHECK: scf.for
// CHECK: tile.acquire %S.exchange on <aic> {{{.*}}tile.core = #tile.core<aic>
// CHECK: tile.copy (%S.exchange[
// CHECK: tile.publish %S.exchange on <aic>
// CHECK: tile.wait %S.exchange on <aiv>
// CHECK: tile.copy ({{.+}}%S.exchange[
// CHECK: tile.release %S.exchange on <aiv>
// CHECK: tile.acquire %P.l1.exchange on <aiv> {{{.*}}tile.core = #tile.core<aiv>
// CHECK: tile.copy (%P.l1.exchange[
// CHECK: tile.publish %P.l1.exchange on <aiv>
// CHECK: tile.wait %P.l1.exchange on <aic>
// CHECK: tile.copy ({{.+}}%P.l1.exchange[
// CHECK: tile.release %P.l1.exchange on <aic>
// CHECK: tile.acquire %O.sum.exchange on <aic> {{{.*}}tile.core = #tile.core<aic>
// CHECK: tile.copy (%O.sum.exchange[
// CHECK: tile.publish %O.sum.exchange on <aic>
// CHECK: tile.wait %O.sum.exchange on <aiv>
// CHECK: tile.copy ({{.+}}%O.sum.exchange[
// CHECK: tile.release %O.sum.exchange on <aiv>
func.func @attention(%Q: memref<64x32xf16> {tile.name = "Q"}, %K: memref<96x32xf16> {tile.name = "K"},
                     %V: memref<96x32xf16> {tile.name = "V"}, %C: memref<64x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %minf = arith.constant -1.0e30 : f32
  tile.launch (%bx) in (%c2) {
    %Qs = tile.alloc "Qs" : memref<32x32xf16, #shared>
    %Ks = tile.alloc "Ks" : memref<32x32xf16, #shared>
    %Vs = tile.alloc "Vs" : memref<32x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    %P = tile.alloc "P" : memref<32x32xf16, #shared>
    %O = tile.alloc "O" : memref<32x32xf32, #fragment>
    %m = tile.alloc "m" : memref<32xf32, #fragment>
    %mold = tile.alloc "mold" : memref<32xf32, #fragment>
    %alpha = tile.alloc "alpha" : memref<32xf32, #fragment>
    %l = tile.alloc "l" : memref<32xf32, #fragment>
    %rs = tile.alloc "rs" : memref<32xf32, #fragment>
    %i = arith.muli %bx, %c32 : index
    tile.copy(%Qs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %Q[%i, %c0] [%c32, %c32] : memref<64x32xf16>)
    tile.fill %zero : f32, (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.fill %zero : f32, (%l[%c0] [%c32] : memref<32xf32, #fragment>)
    tile.fill %minf : f32, (%m[%c0] [%c32] : memref<32xf32, #fragment>)
    scf.for %t = %c0 to %c3 step %c1 {
      %j = arith.muli %t, %c32 : index
      tile.copy(%Ks[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %K[%j, %c0] [%c32, %c32] : memref<96x32xf16>)
      tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %Qs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %Ks[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true {transpose_b}
      tile.elementwise <copy> (%mold[%c0] [%c32] : memref<32xf32, #fragment>,
                               %m[%c0] [%c32] : memref<32xf32, #fragment>)
      tile.reduce <max> (%m[%c0] [%c32] : memref<32xf32, #fragment>,
                         %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) dims = [1] {accumulate}
      tile.elementwise <sub> (%alpha[%c0] [%c32] : memref<32xf32, #fragment>,
                              %mold[%c0] [%c32] : memref<32xf32, #fragment>, %m[%c0] [%c32] : memref<32xf32, #fragment>)
      tile.elementwise <exp> (%alpha[%c0] [%c32] : memref<32xf32, #fragment>,
                              %alpha[%c0] [%c32] : memref<32xf32, #fragment>)
      tile.elementwise <sub> (%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %m[%c0] [%c32] : memref<32xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
      tile.elementwise <exp> (%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.reduce <sum> (%rs[%c0] [%c32] : memref<32xf32, #fragment>,
                         %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) dims = [1]
      tile.elementwise <mul> (%l[%c0] [%c32] : memref<32xf32, #fragment>, %l[%c0] [%c32] : memref<32xf32, #fragment>,
                              %alpha[%c0] [%c32] : memref<32xf32, #fragment>)
      tile.elementwise <add> (%l[%c0] [%c32] : memref<32xf32, #fragment>, %l[%c0] [%c32] : memref<32xf32, #fragment>,
                              %rs[%c0] [%c32] : memref<32xf32, #fragment>)
      tile.copy(%P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.elementwise <mul> (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %alpha[%c0] [%c32] : memref<32xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
      tile.copy(%Vs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %V[%j, %c0] [%c32, %c32] : memref<96x32xf16>)
      tile.gemm(%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %Vs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>)
    } {tile.num_stages = 2 : i64}
    tile.elementwise <div> (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %l[%c0] [%c32] : memref<32xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
    tile.copy(%C[%i, %c0] [%c32, %c32] : memref<64x32xf32>, %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// A state that the vector core changes and the cube multiplies in the next turn.
// CHECK-LABEL: func.func @state_through_both_cores(
// CHECK: tile.acquire %Hh.l1.exchange on <aiv> {{{.*}}tile.core = #tile.core<aiv>
// CHECK: tile.copy (%Hh.l1.exchange[
// CHECK: tile.publish %Hh.l1.exchange on <aiv>
// CHECK: tile.wait %Hh.l1.exchange on <aic>
// CHECK: tile.copy ({{.+}}%Hh.l1.exchange[
// CHECK: tile.release %Hh.l1.exchange on <aic>
// CHECK: tile.acquire %T.exchange on <aic> {{{.*}}tile.core = #tile.core<aic>
// CHECK: tile.copy (%T.exchange[
// CHECK: tile.publish %T.exchange on <aic>
// CHECK: tile.wait %T.exchange on <aiv>
// CHECK: tile.copy ({{.+}}%T.exchange[
// CHECK: tile.release %T.exchange on <aiv>
func.func @state_through_both_cores(%A: memref<96x32xf16> {tile.name = "A"}, %W: memref<32x32xf16> {tile.name = "W"},
                                    %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.0625 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x32xf16, #shared>
    %H = tile.alloc "H" : memref<32x32xf32, #fragment>
    %Hh = tile.alloc "Hh" : memref<32x32xf16, #shared>
    %T = tile.alloc "T" : memref<32x32xf32, #fragment>
    tile.fill %zero : f32, (%H[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    scf.for %t = %c0 to %c3 step %c1 {
      %j = arith.muli %t, %c32 : index
      tile.copy(%As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %A[%j, %c0] [%c32, %c32] : memref<96x32xf16>)
      tile.copy(%Hh[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %H[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.gemm(%T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %Hh[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
      tile.elementwise <mul> (%T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %scale : f32
      tile.elementwise <add> (%H[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %H[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.elementwise <add> (%H[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %H[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0, 1>]}
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %H[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// An element out of a vector tile, stored by the vector core.
// CHECK-LABEL: func.func @scalar_store_of_vector(
// CHECK: tile.load %m[{{.+}}#tile.core<aiv>
// CHECK: tile.store {{.+}}%arg2[{{.+}}#tile.core<aiv>
func.func @scalar_store_of_vector(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                                  %C: memref<3xf32> {tile.name = "C", tile.output},
                                  %D: memref<96x32xf32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c3) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    %m = tile.alloc "m" : memref<1xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.reduce <sum> (%m[%c0] [%c1] : memref<1xf32, #fragment>,
                       %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) dims = [0, 1]
    %v = tile.load %m[%c0] : memref<1xf32, #fragment> -> f32
    tile.store %v, %C[%bx] : f32, memref<3xf32>
    %i = arith.muli %bx, %c32 : index
    tile.copy(%D[%i, %c0] [%c32, %c32] : memref<96x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Without vector work a check runs on the cube core.
// CHECK-LABEL: func.func @asserts(
// CHECK: tile.assert {{.+}}#tile.core<aic>
func.func @asserts(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                   %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    %ok = arith.cmpi ult, %bx, %c5 : index
    tile.assert %ok, "block number"
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Vector work between two products.
// CHECK-LABEL: func.func @product_of_product(
// CHECK: tile.acquire %P.exchange on <aic> {{{.*}}tile.core = #tile.core<aic>
// CHECK: tile.copy (%P.exchange[
// CHECK: tile.publish %P.exchange on <aic>
// CHECK: tile.wait %P.exchange on <aiv>
// CHECK: tile.copy ({{.+}}%P.exchange[
// CHECK: tile.release %P.exchange on <aiv>
// CHECK: tile.acquire %Ph.l1.exchange on <aiv> {{{.*}}tile.core = #tile.core<aiv>
// CHECK: tile.copy (%Ph.l1.exchange[
// CHECK: tile.publish %Ph.l1.exchange on <aiv>
// CHECK: tile.wait %Ph.l1.exchange on <aic>
// CHECK: tile.copy ({{.+}}%Ph.l1.exchange[
// CHECK: tile.release %Ph.l1.exchange on <aic>
func.func @product_of_product(%A: memref<32x32xf16> {tile.name = "A"}, %B: memref<32x32xf16> {tile.name = "B"},
                              %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %eighth = arith.constant 0.0625 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x32xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<32x32xf16, #shared>
    %P = tile.alloc "P" : memref<32x32xf32, #fragment>
    %Ph = tile.alloc "Ph" : memref<32x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %A[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    tile.copy(%Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %B[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    tile.fill %zero : f32, (%P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.gemm(%P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
              %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>)
    tile.elementwise <mul> (%P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %eighth : f32
    tile.copy(%Ph[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
              %P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %Ph[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
              %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>)
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Two hand-overs of one tile have channels of their own.
// CHECK-LABEL: func.func @read_twice(
// CHECK: tile.acquire %Cl.exchange on <aic> {{{.*}}tile.core = #tile.core<aic>
// CHECK: tile.copy (%Cl.exchange[
// CHECK: tile.publish %Cl.exchange on <aic>
// CHECK: tile.wait %Cl.exchange on <aiv>
// CHECK: tile.copy ({{.+}}%Cl.exchange[
// CHECK: tile.release %Cl.exchange on <aiv>
// CHECK: tile.acquire %Cl.sum.exchange on <aic> {{{.*}}tile.core = #tile.core<aic>
// CHECK: tile.copy (%Cl.sum.exchange[
// CHECK: tile.publish %Cl.sum.exchange on <aic>
// CHECK: tile.wait %Cl.sum.exchange on <aiv>
// CHECK: tile.copy ({{.+}}%Cl.sum.exchange[
// CHECK: tile.release %Cl.sum.exchange on <aiv>
func.func @read_twice(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                      %C: memref<64x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<64x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    tile.copy(%C[%c32, %c0] [%c32, %c32] : memref<64x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// So have tiles of one name.
// CHECK-LABEL: func.func @halves(
// CHECK: tile.acquire %Cl.sum.exchange on <aic> {{{.*}}tile.core = #tile.core<aic>
// CHECK: tile.copy (%Cl.sum.exchange[
// CHECK: tile.publish %Cl.sum.exchange on <aic>
// CHECK: tile.wait %Cl.sum.exchange on <aiv>
// CHECK: tile.copy ({{.+}}%Cl.sum.exchange[
// CHECK: tile.release %Cl.sum.exchange on <aiv>
// CHECK: tile.acquire %Cl.sum.2.exchange on <aic> {{{.*}}tile.core = #tile.core<aic>
// CHECK: tile.copy (%Cl.sum.2.exchange[
// CHECK: tile.publish %Cl.sum.2.exchange on <aic>
// CHECK: tile.wait %Cl.sum.2.exchange on <aiv>
// CHECK: tile.copy ({{.+}}%Cl.sum.2.exchange[
// CHECK: tile.release %Cl.sum.2.exchange on <aiv>
func.func @halves(%A: memref<32x32xf16> {tile.name = "A"}, %B: memref<32x32xf16> {tile.name = "B"},
                  %C: memref<32x64xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x64xf32, #fragment>
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c64] : memref<32x64xf32, #fragment>)
    scf.for %ko = %c0 to %c2 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x32xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<32x32xf16>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x64xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    }
    scf.for %ko = %c0 to %c2 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x32xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<32x32xf16>)
      tile.gemm(%Cl[%c0, %c32] [%c32, %c32] : memref<32x64xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    }
    tile.copy(%C[%c0, %c0] [%c32, %c64] : memref<32x64xf32>, %Cl[%c0, %c0] [%c32, %c64] : memref<32x64xf32, #fragment>)
  }
  return
}

// Through a tensor: a channel without data stands around the write and the read behind it.
// CHECK-LABEL: func.func @tensor_between_cores(
// CHECK: tile.acquire %[[ORDER:[^ ]*]] on <aiv>
// CHECK-NEXT: tile.copy
// CHECK-NEXT: tile.publish %[[ORDER]] on <aiv>
// CHECK-NEXT: tile.wait %[[ORDER]] on <aic>
// CHECK-NEXT: tile.copy
// CHECK-NEXT: tile.release %[[ORDER]] on <aic>
func.func @tensor_between_cores(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                                %W: memref<32x16xf16> {tile.name = "W"}, %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %u = tile.alloc "u" : memref<32x16xf16, #ub>
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%u[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #ub>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%W[%c0, %c0] [%c32, %c16] : memref<32x16xf16>, %u[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #ub>)
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %W[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}
