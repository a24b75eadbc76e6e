// The text of every op, printed, parsed again and printed, in custom and in generic form.
// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s
// RUN: tilewright-opt --mlir-print-op-generic %s | tilewright-opt | FileCheck %s

#shared = #tile.scope<shared>
#fragment = #tile.scope<fragment>
#local = #tile.scope<local>
#l0c = #tile.scope<l0c>
#workspace = #tile.scope<workspace>

// CHECK-LABEL: func.func @structure(
// CHECK-SAME: %[[A:.*]]: memref<?x64xf16> {tile.name = "A", tile.shape = affine_map<()[s0] -> (s0, 64)>}
// CHECK-SAME: attributes {tile.symbols = ["M"]}
func.func @structure(%A: memref<?x64xf16> {tile.name = "A", tile.shape = affine_map<()[s0] -> (s0, 64)>})
    attributes {tile.symbols = ["M"]} {
  // CHECK: %[[M:.*]] = tile.symbol "M"
  %M = tile.symbol "M"
  %c4 = arith.constant 4 : index
  // CHECK: tile.launch (%[[X:.*]], %[[Y:.*]]) in (%[[M]], %{{.*}}) {
  tile.launch (%bx, %by) in (%M, %c4) {
    // CHECK: %A_shared = tile.alloc "A_shared" : memref<4x64xf16, #tile.scope<shared>>
    %As = tile.alloc "A_shared" : memref<4x64xf16, #shared>
    // CHECK: %acc = tile.alloc "acc" {slots = 2 : i64, tile.user} : memref<16x16xf32, #tile.scope<l0c>>
    %acc = tile.alloc "acc" {slots = 2 : i64, tile.user} : memref<16x16xf32, #l0c>
    // CHECK: %v = tile.alloc "v" : memref<i32, #tile.scope<local>>
    %v = tile.alloc "v" : memref<i32, #local>
    // CHECK: tile.parallel (%[[I:.*]], %[[J:.*]]) in (%{{.*}}, %[[M]]) attributes {tile.core = #tile.core<aiv>} {
    tile.parallel (%i, %j) in (%c4, %M) attributes {tile.core = #tile.core<aiv>} {
      // CHECK: %[[V:.*]] = tile.load %[[A]][%[[I]], %[[J]]] : memref<?x64xf16> -> f16
      %x = tile.load %A[%i, %j] : memref<?x64xf16> -> f16
      // CHECK: tile.load %[[A]][%[[J]], %[[I]]] {pad = -1.000000e+00 : f64} : memref<?x64xf16> -> f16
      %y = tile.load %A[%j, %i] {pad = -1.0 : f64} : memref<?x64xf16> -> f16
      // CHECK: tile.store %[[V]], %A_shared[%[[I]], %[[J]]] : f16, memref<4x64xf16, #tile.scope<shared>>
      tile.store %x, %As[%i, %j] : f16, memref<4x64xf16, #shared>
    }
    // CHECK: tile.advance %acc : memref<16x16xf32, #tile.scope<l0c>>
    tile.advance %acc : memref<16x16xf32, #l0c>
  }
  return
}

// CHECK-LABEL: func.func @boxes(
func.func @boxes(%A: memref<8x8xf32>, %B: memref<8x8xf32>, %C: memref<8x8xf32>, %I: memref<8x8xi32>, %R: memref<8xf32>,
                 %init: i1, %s: f32, %U: memref<4xui8>, %byte: i8) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  // CHECK: tile.copy (%{{.*}}[%{{.*}}, %{{.*}}] [%{{.*}}, %{{.*}}] : memref<8x8xf32>, %{{.*}}[%{{.*}}, %{{.*}}] [%{{.*}}, %{{.*}}] : memref<8x8xf32>) {pad = 0x7FF0000000000000 : f64}
  tile.copy(%A[%c0, %c4] [%c8, %c4] : memref<8x8xf32>, %B[%c0, %c0] [%c8, %c4] : memref<8x8xf32>) {pad = 0x7FF0000000000000 : f64}
  // CHECK: tile.fill %{{.*}} : f32, (%{{.*}}[%{{.*}}] [%{{.*}}] : memref<8xf32>)
  tile.fill %s : f32, (%R[%c0] [%c8] : memref<8xf32>)
  // CHECK: tile.fill %{{.*}} : i8, (%{{.*}} : memref<4xui8>)
  tile.fill %byte : i8, (%U[%c0] [%c4] : memref<4xui8>)
  // CHECK: tile.gemm ({{.*}}) init %{{.*}} {transpose_b}
  tile.gemm(%C[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %A[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %B[%c0, %c0] [%c8, %c8] : memref<8x8xf32>) init %init {transpose_b}
  // CHECK: tile.gemm ({{.*}}){{$}}
  tile.gemm(%C[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %A[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %B[%c0, %c0] [%c8, %c8] : memref<8x8xf32>)
  // CHECK: tile.reduce <max> ({{.*}}) dims = [1] {accumulate}
  tile.reduce <max>(%R[%c0] [%c8] : memref<8xf32>, %A[%c0, %c0] [%c8, %c8] : memref<8x8xf32>) dims = [1] {accumulate}
  // CHECK: tile.scan <sum> ({{.*}}) dim = 0 {reverse}
  tile.scan <sum>(%B[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %A[%c0, %c0] [%c8, %c8] : memref<8x8xf32>) dim = 0 {reverse}
  // CHECK: tile.elementwise <sub> ({{.*}}) scalar %{{.*}} : f32 {scalar_first}
  tile.elementwise <sub>(%B[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %A[%c0, %c0] [%c8, %c8] : memref<8x8xf32>) scalar %s : f32 {scalar_first}
  // CHECK: tile.elementwise <cast> ({{.*}}) {round = #tile.round_mode<floor>}
  tile.elementwise <cast>(%I[%c0, %c0] [%c8, %c8] : memref<8x8xi32>, %A[%c0, %c0] [%c8, %c8] : memref<8x8xf32>) {round = #tile.round_mode<floor>}
  // CHECK: tile.elementwise <add> ({{.*}}) {maps = [array<i64: 1, 0>, array<i64: 0, 1>, array<i64: 0>]}
  tile.elementwise <add>(%B[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %A[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %R[%c0] [%c8] : memref<8xf32>)
    {maps = [array<i64: 1, 0>, array<i64: 0, 1>, array<i64: 0>]}
  // CHECK: tile.iota ({{.*}}) from %{{.*}} by(%{{.*}}, %{{.*}})
  tile.iota(%I[%c0, %c0] [%c8, %c8] : memref<8x8xi32>) from %c1 by (%c8, %c1)
  // CHECK: tile.gather ({{.*}} : memref<8x8xf32>, {{.*}} : memref<8x8xf32>, {{.*}} : memref<8x8xi32>)
  tile.gather(%B[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %A[%c0, %c0] [%c8, %c8] : memref<8x8xf32>, %I[%c0, %c0] [%c8, %c8] : memref<8x8xi32>)
  // CHECK: tile.atomic <sum> ({{.*}} : memref<8xf32>) scalar %{{.*}} : f32
  tile.atomic <sum>(%R[%c0] [%c1] : memref<8xf32>) scalar %s : f32
  // CHECK: %{{.*}} = tile.atomic <min> ({{.*}} : memref<8xf32>) scalar %{{.*}} : f32 -> f32
  %before = tile.atomic <min>(%R[%c0] [%c1] : memref<8xf32>) scalar %s : f32 -> f32
  // CHECK: tile.atomic <max> ({{.*}} : memref<8xf32>, {{.*}} : memref<8x8xf32>)
  tile.atomic <max>(%R[%c0] [%c8] : memref<8xf32>, %A[%c0, %c0] [%c1, %c8] : memref<8x8xf32>)
  // CHECK: tile.print "R" ({{.*}} : memref<8xf32>)
  tile.print "R" (%R[%c0] [%c8] : memref<8xf32>)
  // CHECK: tile.print "s" () scalar %{{.*}} : f32
  tile.print "s" () scalar %s : f32
  // CHECK: tile.assert %{{.*}}, "init is set"
  tile.assert %init, "init is set"
  return
}

// CHECK-LABEL: func.func @channels(
func.func @channels() {
  %W = tile.alloc "W" {slots = 2 : i64} : memref<16x16xf32, #workspace>
  // CHECK: tile.acquire %[[W:.*]] on <aic> : memref<16x16xf32, #tile.scope<workspace>>
  tile.acquire %W on <aic> : memref<16x16xf32, #workspace>
  // CHECK: tile.publish %[[W]] on <aic> :
  tile.publish %W on <aic> : memref<16x16xf32, #workspace>
  // CHECK: tile.wait %[[W]] on <aiv> :
  tile.wait %W on <aiv> : memref<16x16xf32, #workspace>
  // CHECK: tile.release %[[W]] on <aiv> :
  tile.release %W on <aiv> : memref<16x16xf32, #workspace>
  return
}

// CHECK-LABEL: func.func @orders_of_the_author(
func.func @orders_of_the_author(%n: index) {
  // CHECK: %[[ID:.*]] = tile.sub_core_id
  %id = tile.sub_core_id
  // CHECK-NEXT: tile.set_flag <MTE2> to <V> id %[[ID]] {tile.placed = #tile.core<aiv>}
  tile.set_flag <MTE2> to <V> id %id {tile.placed = #tile.core<aiv>}
  // CHECK-NEXT: tile.wait_flag <MTE2> to <V> id %{{.*}}
  tile.wait_flag <MTE2> to <V> id %n
  // CHECK-NEXT: tile.barrier <All>
  tile.barrier <All>
  // CHECK-NEXT: tile.block_set <FIX> id %{{.*}}
  tile.block_set <FIX> id %n
  // CHECK-NEXT: tile.block_wait <MTE2> id %{{.*}}
  tile.block_wait <MTE2> id %n
  return
}

// CHECK-LABEL: func.func @program_of_a_core(
func.func @program_of_a_core(%n: index, %x: memref<8xf32, #tile.scope<ub>>) {
  // CHECK: %[[CORE:.*]] = tile.core_id
  %core = tile.core_id
  // CHECK-NEXT: tile.core_count
  %count = tile.core_count
  // CHECK-NEXT: tile.begin_block %[[CORE]]
  tile.begin_block %core
  // CHECK-NEXT: tile.set_slot_flag <MTE2> to <V> id 2 rotate %{{.*}} : memref<8xf32, #tile.scope<ub>>
  tile.set_slot_flag <MTE2> to <V> id 2 rotate %x : memref<8xf32, #tile.scope<ub>>
  // CHECK-NEXT: tile.wait_slot_flag <MTE2> to <V> id 2 rotate %{{.*}} : memref<8xf32, #tile.scope<ub>>
  tile.wait_slot_flag <MTE2> to <V> id 2 rotate %x : memref<8xf32, #tile.scope<ub>>
  // CHECK-NEXT: tile.breakpoint
  tile.breakpoint
  return
}
