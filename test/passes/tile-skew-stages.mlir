// RUN: tilewright-opt %s --tile-place-accumulators --tile-place-buffers --tile-materialize-zero --tile-split-cores --tile-split-rows --tile-pipeline-buffers --tile-skew-stages -o %t.after.mlir 2> %t.log
// RUN: FileCheck %s < %t.after.mlir
// RUN: tilewright-opt %s --tilewright-pipeline=disable=fuse-turns -o %t.npu.mlir 2> %t.log
// RUN: tilewright-opt %s --tile-place-accumulators -o %t.ref.mlir 2> %t.log

// Each case is checked as text and run, with no turn, one, as many as there are stages, and more: before the pass,
// after it, and as the final program, with equal results.

// DEFINE: %{name} =
// DEFINE: %{turns} =
// DEFINE: %{options} = --checksums --function %{name} --set 3=%{turns}
// DEFINE: %{same} = tilewright-run %t.ref.mlir %{options} > %t.before \
// DEFINE:   && tilewright-run %t.after.mlir %{options} > %t.now && diff %t.before %t.now \
// DEFINE:   && tilewright-sim %t.npu.mlir --check %{options} > %t.now && diff %t.before %t.now \
// DEFINE:   && tilewright-sim %t.npu.mlir --delay 1 %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = one_answer
// REDEFINE: %{turns} = 0
// RUN: %{same}
// REDEFINE: %{turns} = 1
// RUN: %{same}
// REDEFINE: %{turns} = 2
// RUN: %{same}
// REDEFINE: %{turns} = 3
// RUN: %{same}
// REDEFINE: %{turns} = 5
// RUN: %{same}

// REDEFINE: %{name} = two_answers
// REDEFINE: %{turns} = 0
// RUN: %{same}
// REDEFINE: %{turns} = 1
// RUN: %{same}
// REDEFINE: %{turns} = 2
// RUN: %{same}
// REDEFINE: %{turns} = 3
// RUN: %{same}
// REDEFINE: %{turns} = 5
// RUN: %{same}

// REDEFINE: %{name} = hangs_together
// REDEFINE: %{turns} = 0
// RUN: %{same}
// REDEFINE: %{turns} = 1
// RUN: %{same}
// REDEFINE: %{turns} = 2
// RUN: %{same}
// REDEFINE: %{turns} = 3
// RUN: %{same}
// REDEFINE: %{turns} = 5
// RUN: %{same}

// REDEFINE: %{name} = short_inner
// REDEFINE: %{turns} = 0
// RUN: %{same}
// REDEFINE: %{turns} = 1
// RUN: %{same}
// REDEFINE: %{turns} = 2
// RUN: %{same}
// REDEFINE: %{turns} = 3
// RUN: %{same}
// REDEFINE: %{turns} = 4
// RUN: %{same}
// REDEFINE: %{turns} = 5
// RUN: %{same}

// REDEFINE: %{name} = busy_outer
// REDEFINE: %{turns} = 0
// RUN: %{same}
// REDEFINE: %{turns} = 1
// RUN: %{same}
// REDEFINE: %{turns} = 2
// RUN: %{same}
// REDEFINE: %{turns} = 3
// RUN: %{same}
// REDEFINE: %{turns} = 4
// RUN: %{same}
// REDEFINE: %{turns} = 5
// RUN: %{same}

#shared = #tile.scope<shared>
#fragment = #tile.scope<fragment>

// The product that waits for P runs two turns late, and with it the sum on the vector core. `m`, made in time and read late, is
// kept in copies. V is loaded where it is used.
// CHECK-LABEL: func.func @one_answer(
// CHECK-DAG: %m = tile.alloc "m"
// CHECK-DAG: %m.late = tile.alloc "m.late"
// CHECK: %[[END:.*]] = arith.addi %arg3, %c2
// CHECK: scf.for %[[T:.*]] = %c0 to %[[END]]
// CHECK: scf.if
// CHECK: tile.elementwise <copy> (%m.late.2{{.*}}%m.late[{{.*}}tile.core = #tile.core<aiv>
// CHECK: tile.elementwise <copy> (%m.late{{.*}}%m[{{.*}}tile.core = #tile.core<aiv>
// CHECK: arith.cmpi slt, %[[T]], %arg3
// CHECK: scf.if
// CHECK: tile.copy (%K[
// CHECK: tile.gemm (%S.acc
// CHECK: tile.publish %P.l1.exchange
// CHECK: arith.cmpi sge, %[[T]]
// CHECK: scf.if
// CHECK: tile.elementwise <mul> (%O[{{.*}}%m.late.2[
// CHECK: tile.copy (%V[
// CHECK: tile.wait %P.l1.exchange
// CHECK: tile.gemm (%O.acc
func.func @one_answer(%A: memref<160x32xf16> {tile.name = "A"}, %B: memref<160x32xf16> {tile.name = "B"},
    %C: memref<32x32xf32> {tile.name = "C", tile.output}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %part = arith.constant 0.0625 : f32
  tile.launch (%bx) in (%c1) {
    %K = tile.alloc "K" : memref<32x32xf16, #shared>
    %V = tile.alloc "V" : memref<32x32xf16, #shared>
    %P = tile.alloc "P" : memref<32x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    %O = tile.alloc "O" : memref<32x32xf32, #fragment>
    %m = tile.alloc "m" : memref<32xf32, #fragment>
    tile.fill %zero : f32, (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    scf.for %t = %c0 to %n step %c1 {
      %j = arith.muli %t, %c32 : index
      tile.copy(%K[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %A[%j, %c0] [%c32, %c32] : memref<160x32xf16>)
      tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %K[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %K[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
      tile.reduce <max> (%m[%c0] [%c32] : memref<32xf32, #fragment>,
                         %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) dims = [1]
      tile.elementwise <mul> (%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %part : f32
      tile.copy(%P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.elementwise <mul> (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %m[%c0] [%c32] : memref<32xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
      tile.copy(%V[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %B[%j, %c0] [%c32, %c32] : memref<160x32xf16>)
      tile.gemm(%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %V[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>)
    } {tile.num_stages = 2 : i64}
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Two turns within few: one loop of all of them, so that stages are late across the outer turns as well.
// CHECK-LABEL: func.func @short_inner(
// CHECK: %[[DISTANCE:.*]] = arith.subi %arg3, %c1
// CHECK: arith.divsi
// CHECK: %[[TURNS:.*]] = arith.muli %{{.*}}, %c2
// CHECK: %[[END:.*]] = arith.addi %[[TURNS]], %c2
// CHECK: scf.for %[[T:.*]] = %c0{{.*}} to %[[END]]
// CHECK-NOT: scf.for
// CHECK: arith.divui %[[T]]
// CHECK: arith.remui %[[T]]
// CHECK: return
func.func @short_inner(%A: memref<160x32xf16> {tile.name = "A"}, %B: memref<160x32xf16> {tile.name = "B"},
    %C: memref<32x32xf32> {tile.name = "C", tile.output}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %part = arith.constant 0.0625 : f32
  tile.launch (%bx) in (%c1) {
    %K = tile.alloc "K" : memref<32x32xf16, #shared>
    %V = tile.alloc "V" : memref<32x32xf16, #shared>
    %P = tile.alloc "P" : memref<32x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    %O = tile.alloc "O" : memref<32x32xf32, #fragment>
    %m = tile.alloc "m" : memref<32xf32, #fragment>
    tile.fill %zero : f32, (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    scf.for %t = %c1 to %n step %c2 {
      %i = arith.muli %t, %c32 : index
      scf.for %u = %c0 to %c2 step %c1 {
      %v = arith.muli %u, %c16 : index
      %j = arith.addi %i, %v : index
      tile.copy(%K[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %A[%j, %c0] [%c32, %c32] : memref<160x32xf16>)
      tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %K[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %K[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
      tile.reduce <max> (%m[%c0] [%c32] : memref<32xf32, #fragment>,
                         %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) dims = [1]
      tile.elementwise <mul> (%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %part : f32
      tile.copy(%P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.elementwise <mul> (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %m[%c0] [%c32] : memref<32xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
      tile.copy(%V[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %B[%j, %c0] [%c32, %c32] : memref<160x32xf16>)
      tile.gemm(%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %V[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>)
      } {tile.num_stages = 2 : i64}
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// The outer loop does work of its own: the loops stay two.
// CHECK-LABEL: func.func @busy_outer(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: return
func.func @busy_outer(%A: memref<160x32xf16> {tile.name = "A"}, %B: memref<160x32xf16> {tile.name = "B"},
    %C: memref<32x32xf32> {tile.name = "C", tile.output}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %part = arith.constant 0.0625 : f32
  tile.launch (%bx) in (%c1) {
    %K = tile.alloc "K" : memref<32x32xf16, #shared>
    %V = tile.alloc "V" : memref<32x32xf16, #shared>
    %P = tile.alloc "P" : memref<32x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    %O = tile.alloc "O" : memref<32x32xf32, #fragment>
    %m = tile.alloc "m" : memref<32xf32, #fragment>
    tile.fill %zero : f32, (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    scf.for %t = %c1 to %n step %c2 {
      %i = arith.muli %t, %c32 : index
      scf.for %u = %c0 to %c2 step %c1 {
      %v = arith.muli %u, %c16 : index
      %j = arith.addi %i, %v : index
      tile.copy(%K[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %A[%j, %c0] [%c32, %c32] : memref<160x32xf16>)
      tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %K[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %K[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
      tile.reduce <max> (%m[%c0] [%c32] : memref<32xf32, #fragment>,
                         %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) dims = [1]
      tile.elementwise <mul> (%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %part : f32
      tile.copy(%P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.elementwise <mul> (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %m[%c0] [%c32] : memref<32xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
      tile.copy(%V[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %B[%j, %c0] [%c32, %c32] : memref<160x32xf16>)
      tile.gemm(%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %V[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>)
      } {tile.num_stages = 2 : i64}
      tile.elementwise <mul> (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %part : f32
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Two round trips a turn: three stages. `m` is read two turns late and four. K, read in two stages, is loaded by both.
// CHECK-LABEL: func.func @two_answers(
// CHECK: tile.elementwise <copy> (%m.late.4{{.*}}%m.late.3[
// CHECK: tile.elementwise <copy> (%m.late{{.*}}%m[
// CHECK: tile.copy (%K[
// CHECK: tile.gemm (%S.acc
// CHECK: tile.copy (%K.again[
// CHECK: tile.gemm (%U.acc
// CHECK: tile.elementwise <mul> (%U[{{.*}}%m.late.2[
// CHECK: tile.gemm (%W.acc
// CHECK: tile.elementwise <add> (%W[{{.*}}%m.late.4[
func.func @two_answers(%A: memref<160x32xf16> {tile.name = "A"}, %B: memref<160x32xf16> {tile.name = "B"},
    %C: memref<32x32xf32> {tile.name = "C", tile.output}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %part = arith.constant 0.0625 : f32
  tile.launch (%bx) in (%c1) {
    %K = tile.alloc "K" : memref<32x32xf16, #shared>
    %V = tile.alloc "V" : memref<32x32xf16, #shared>
    %P = tile.alloc "P" : memref<32x32xf16, #shared>
    %X = tile.alloc "X" : memref<32x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    %U = tile.alloc "U" : memref<32x32xf32, #fragment>
    %W = tile.alloc "W" : memref<32x32xf32, #fragment>
    %O = tile.alloc "O" : memref<32x32xf32, #fragment>
    %m = tile.alloc "m" : memref<32xf32, #fragment>
    tile.fill %zero : f32, (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    scf.for %t = %c0 to %n step %c1 {
      %j = arith.muli %t, %c32 : index
      tile.copy(%K[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %A[%j, %c0] [%c32, %c32] : memref<160x32xf16>)
      tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %K[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %K[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
      tile.reduce <max> (%m[%c0] [%c32] : memref<32xf32, #fragment>,
                         %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) dims = [1]
      tile.elementwise <mul> (%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %part : f32
      tile.copy(%P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.gemm(%U[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %K[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
      tile.elementwise <mul> (%U[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %U[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %m[%c0] [%c32] : memref<32xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
      tile.elementwise <mul> (%U[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %U[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %part : f32
      tile.copy(%X[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %U[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.copy(%V[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %B[%j, %c0] [%c32, %c32] : memref<160x32xf16>)
      tile.gemm(%W[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %X[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %V[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
      tile.elementwise <add> (%W[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %W[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %m[%c0] [%c32] : memref<32xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
      tile.elementwise <add> (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %W[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    } {tile.num_stages = 2 : i64}
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// What a turn sends to the cube core is the result of the turn before: nothing can run late.
// CHECK-LABEL: func.func @hangs_together(
// CHECK: scf.for %{{.*}} = %c0 to %arg3 step
// CHECK-NOT: scf.if
func.func @hangs_together(%A: memref<160x32xf16> {tile.name = "A"}, %B: memref<160x32xf16> {tile.name = "B"},
    %C: memref<32x32xf32> {tile.name = "C", tile.output}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %part = arith.constant 0.0625 : f32
  tile.launch (%bx) in (%c1) {
    %K = tile.alloc "K" : memref<32x32xf16, #shared>
    %P = tile.alloc "P" : memref<32x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    %O = tile.alloc "O" : memref<32x32xf32, #fragment>
    %m = tile.alloc "m" : memref<32xf32, #fragment>
    tile.fill %zero : f32, (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.fill %part : f32, (%m[%c0] [%c32] : memref<32xf32, #fragment>)
    scf.for %t = %c0 to %n step %c1 {
      %j = arith.muli %t, %c32 : index
      tile.copy(%K[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %A[%j, %c0] [%c32, %c32] : memref<160x32xf16>)
      tile.copy(%P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %K[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
      tile.elementwise <mul> (%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %part : f32
      tile.elementwise <add> (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.elementwise <add> (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %m[%c0] [%c32] : memref<32xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
    } {tile.num_stages = 2 : i64}
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}
