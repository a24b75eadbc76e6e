// The text of every op, printed, parsed again and printed, in custom and in generic form.
// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s
// RUN: tilewright-opt --mlir-print-op-generic %s | tilewright-opt | FileCheck %s

#gm = #npu.space<gm>
#workspace = #npu.space<workspace>
#l1 = #npu.space<l1>
#l0c = #npu.space<l0c>
#ub = #npu.space<ub>
#reg = #npu.space<reg>

// CHECK-LABEL: func.func @host(
// CHECK-SAME: %[[A:.*]]: memref<8xf32, #npu.space<gm>>, %[[N:.*]]: index
func.func @host(%A: memref<8xf32, #gm>, %n: index) {
  // CHECK: npu.launch aic @cube aiv @vector(%[[A]], %[[N]]) : memref<8xf32, #npu.space<gm>>, index
  npu.launch aic @cube aiv @vector (%A, %n) : memref<8xf32, #gm>, index
  // CHECK: npu.launch aiv @vector(%[[A]], %[[N]]) : memref<8xf32, #npu.space<gm>>, index
  npu.launch aiv @vector (%A, %n) : memref<8xf32, #gm>, index
  // CHECK: npu.launch aic @nothing(){{$}}
  npu.launch aic @nothing ()
  return
}

// CHECK-LABEL: func.func @structure(
// CHECK-SAME: attributes {npu.core = #npu.core<aiv>}
func.func @structure(%n: index, %p: i1) attributes {npu.core = #npu.core<aiv>} {
  // CHECK: %[[CORE:.*]] = npu.core_id
  %core = npu.core_id
  // CHECK: npu.core_count
  %count = npu.core_count
  // CHECK: npu.sub_core_id
  %sub = npu.sub_core_id
  // CHECK: npu.begin_block %[[CORE]]
  npu.begin_block %core
  // CHECK: %tile = npu.alloc "tile" {address = 64 : i64, slots = 2 : i64} : memref<4x8xf16, #npu.space<ub>>
  %tile = npu.alloc "tile" {address = 64 : i64, slots = 2 : i64} : memref<4x8xf16, #ub>
  // CHECK: %v = npu.alloc "v" : memref<i32, #npu.space<reg>>
  %v = npu.alloc "v" : memref<i32, #reg>
  // CHECK: npu.advance %tile : memref<4x8xf16, #npu.space<ub>>
  npu.advance %tile : memref<4x8xf16, #ub>
  // CHECK: npu.assert %{{.*}}, "n is positive"
  npu.assert %p, "n is positive"
  return
}

// CHECK-LABEL: func.func @cube(
func.func @cube(%A: memref<64x32xf16, #gm>, %W: memref<64x64xf16, #workspace>, %init: i1, %zero: f16)
    attributes {npu.core = #npu.core<aic>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %a = npu.alloc "a" : memref<64x32xf16, #l1>
  %b = npu.alloc "b" : memref<32x64xf16, #l1>
  %c = npu.alloc "c" : memref<64x64xf32, #l0c>
  // CHECK: npu.load (%a[%{{.*}}, %{{.*}}] [%{{.*}}, %{{.*}}] : memref<64x32xf16, #npu.space<l1>>, %{{.*}}[%{{.*}}, %{{.*}}] [%{{.*}}, %{{.*}}] : memref<64x32xf16, #npu.space<gm>>)
  npu.load (%a[%c0, %c0] [%c64, %c32] : memref<64x32xf16, #l1>, %A[%c0, %c0] [%c64, %c32] : memref<64x32xf16, #gm>)
  // CHECK: npu.load ({{.*}}) {bypass_l2}
  npu.load (%a[%c0, %c0] [%c64, %c32] : memref<64x32xf16, #l1>, %A[%c0, %c0] [%c64, %c32] : memref<64x32xf16, #gm>) {bypass_l2}
  // CHECK: npu.fill_l1 %{{.*}} : f16, (%b[{{.*}}] [{{.*}}] : memref<32x64xf16, #npu.space<l1>>)
  npu.fill_l1 %zero : f16, (%b[%c0, %c0] [%c32, %c64] : memref<32x64xf16, #l1>)
  // CHECK: npu.mmad ({{.*}}) init %{{[^ ]*$}}
  npu.mmad (%c[%c0, %c0] [%c64, %c64] : memref<64x64xf32, #l0c>, %a[%c0, %c0] [%c64, %c32] : memref<64x32xf16, #l1>, %b[%c0, %c0] [%c32, %c64] : memref<32x64xf16, #l1>) init %init
  // CHECK: npu.mmad ({{.*}}) init %{{.*}} {transpose_b}
  npu.mmad (%c[%c0, %c0] [%c64, %c64] : memref<64x64xf32, #l0c>, %a[%c0, %c0] [%c64, %c32] : memref<64x32xf16, #l1>, %a[%c0, %c0] [%c64, %c32] : memref<64x32xf16, #l1>) init %init {transpose_b}
  // CHECK: npu.fixpipe (%{{.*}} : memref<64x64xf16, #npu.space<workspace>>, %c[{{.*}}] [{{.*}}] : memref<64x64xf32, #npu.space<l0c>>) {relu}
  npu.fixpipe (%W[%c0, %c0] [%c64, %c64] : memref<64x64xf16, #workspace>, %c[%c0, %c0] [%c64, %c64] : memref<64x64xf32, #l0c>) {relu}
  return
}

// CHECK-LABEL: func.func @vector(
func.func @vector(%A: memref<4x8xf32, #gm>, %s: f32) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = npu.alloc "x" : memref<4x8xf32, #ub>
  %h = npu.alloc "h" : memref<4x8xf16, #ub>
  %r = npu.alloc "r" : memref<4xf32, #ub>
  %i = npu.alloc "i" : memref<4x8xi32, #ub>
  // CHECK: npu.fill %{{.*}} : f32, (%x[{{.*}}] [{{.*}}] : memref<4x8xf32, #npu.space<ub>>)
  npu.fill %s : f32, (%x[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #ub>)
  // CHECK: npu.iota (%i[{{.*}}] [{{.*}}] : memref<4x8xi32, #npu.space<ub>>) from %{{.*}} by(%{{.*}}, %{{.*}})
  npu.iota (%i[%c0, %c0] [%c4, %c8] : memref<4x8xi32, #ub>) from %c1 by (%c8, %c1)
  // CHECK: npu.elementwise <cast> (%h[{{.*}}] : memref<4x8xf16, #npu.space<ub>>, %x[{{.*}}] : memref<4x8xf32, #npu.space<ub>>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>], round = #npu.round_mode<trunc>}
  npu.elementwise <cast> (%h[%c0, %c0] [%c4, %c8] : memref<4x8xf16, #ub>, %x[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #ub>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>], round = #npu.round_mode<trunc>}
  // CHECK: npu.elementwise <sub> ({{.*}}, %r[%{{.*}}] [%{{.*}}] : memref<4xf32, #npu.space<ub>>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
  npu.elementwise <sub> (%x[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #ub>, %x[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #ub>, %r[%c0] [%c4] : memref<4xf32, #ub>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
  // CHECK: npu.elementwise <sub> ({{.*}}) scalar %{{.*}} : f32 {maps = [array<i64: 0, 1>, array<i64: 0, 1>], scalar_first}
  npu.elementwise <sub> (%x[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #ub>, %x[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #ub>) scalar %s : f32 {maps = [array<i64: 0, 1>, array<i64: 0, 1>], scalar_first}
  // CHECK: npu.reduce <max> (%r[%{{.*}}] [%{{.*}}] : memref<4xf32, #npu.space<ub>>, %x[{{.*}}] : memref<4x8xf32, #npu.space<ub>>) dims = [1] {accumulate, dst_map = array<i64: 0>}
  npu.reduce <max> (%r[%c0] [%c4] : memref<4xf32, #ub>, %x[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #ub>) dims = [1] {accumulate, dst_map = array<i64: 0>}
  // CHECK: npu.scan <sum> ({{.*}}) dim = 1 {reverse}
  npu.scan <sum> (%x[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #ub>, %x[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #ub>) dim = 1 {reverse}
  // CHECK: npu.gather (%x[{{.*}}] : memref<4x8xf32, #npu.space<ub>>, %x[{{.*}}] : memref<4x8xf32, #npu.space<ub>>, %i[{{.*}}] : memref<4x8xi32, #npu.space<ub>>)
  npu.gather (%x[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #ub>, %x[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #ub>, %i[%c0, %c0] [%c4, %c8] : memref<4x8xi32, #ub>)
  // CHECK: npu.store (%{{.*}} : memref<4x8xf32, #npu.space<gm>>, %x[{{.*}}] : memref<4x8xf32, #npu.space<ub>>)
  npu.store (%A[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #gm>, %x[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #ub>)
  // CHECK: npu.atomic <sum> (%{{.*}} : memref<4x8xf32, #npu.space<gm>>, %x[{{.*}}] : memref<4x8xf32, #npu.space<ub>>)
  npu.atomic <sum> (%A[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #gm>, %x[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #ub>)
  // CHECK: npu.print "rows" (%r[%{{.*}}] [%{{.*}}] : memref<4xf32, #npu.space<ub>>)
  npu.print "rows" (%r[%c0] [%c4] : memref<4xf32, #ub>)
  // CHECK: npu.print "s" () scalar %{{.*}} : f32
  npu.print "s" () scalar %s : f32
  // CHECK: %[[E:.*]] = npu.scalar_load %x[%{{.*}}, %{{.*}}] : memref<4x8xf32, #npu.space<ub>> -> f32
  %e = npu.scalar_load %x[%c0, %c1] : memref<4x8xf32, #ub> -> f32
  // CHECK: npu.scalar_store %[[E]], %{{.*}}[%{{.*}}, %{{.*}}] : f32, memref<4x8xf32, #npu.space<gm>>
  npu.scalar_store %e, %A[%c0, %c0] : f32, memref<4x8xf32, #gm>
  // CHECK: npu.scalar_atomic <max> %[[E]], %{{.*}}[%{{.*}}, %{{.*}}] : memref<4x8xf32, #npu.space<gm>> -> f32
  %before = npu.scalar_atomic <max> %e, %A[%c0, %c0] : memref<4x8xf32, #gm> -> f32
  return
}

// CHECK-LABEL: func.func @synchronisation(
func.func @synchronisation() attributes {npu.core = #npu.core<aiv>} {
  %x = npu.alloc "x" {slots = 2 : i64} : memref<8xf32, #ub>
  // CHECK-NEXT: %x = npu.alloc
  // CHECK-NEXT: npu.set_flag <MTE2> to <V> id 3
  npu.set_flag <MTE2> to <V> id 3
  // CHECK-NEXT: npu.set_flag <M> to <FIX> id 0 {unit}
  npu.set_flag <M> to <FIX> id 0 {unit}
  // CHECK-NEXT: npu.set_flag <V> to <MTE2> id 0 {slot = 1 : i64}
  npu.set_flag <V> to <MTE2> id 0 {slot = 1 : i64}
  // CHECK-NEXT: npu.wait_flag <V> to <MTE2> id 0 rotate %x : memref<8xf32, #npu.space<ub>>
  npu.wait_flag <V> to <MTE2> id 0 rotate %x : memref<8xf32, #ub>
  // CHECK-NEXT: npu.barrier <V>
  npu.barrier <V>
  // CHECK-NEXT: npu.barrier <All>
  npu.barrier <All>
  // CHECK-NEXT: npu.block_set <MTE3> id 2
  npu.block_set <MTE3> id 2
  // CHECK-NEXT: npu.block_wait <S> id 2
  npu.block_wait <S> id 2
  %c2 = arith.constant 2 : index
  // CHECK: npu.set_flag <V> to <MTE2> id 1 rotate %{{.*}} : index
  npu.set_flag <V> to <MTE2> id 1 rotate %c2 : index
  // CHECK-NEXT: npu.block_set <MTE3> id 0 plus %{{.*}}
  npu.block_set <MTE3> id 0 plus %c2
  // CHECK-NEXT: npu.end_block
  npu.end_block
  return
}

// CHECK-LABEL: func.func @products_in_l0(
func.func @products_in_l0(%n: index, %yes: i1) attributes {npu.core = #npu.core<aic>} {
  %a1 = npu.alloc "a1" : memref<16x16xf16, #npu.space<l1>>
  %a = npu.alloc "a" : memref<16x16xf16, #npu.space<l0a>>
  %b = npu.alloc "b" : memref<16x16xf16, #npu.space<l0b>>
  %c = npu.alloc "c" : memref<16x16xf32, #npu.space<l0c>>
  // CHECK: npu.load_l0 (%a[%[[N:.*]], %[[N]]] [%[[N]], %[[N]]] : memref<16x16xf16, #npu.space<l0a>>, %a1
  npu.load_l0 (%a[%n, %n] [%n, %n] : memref<16x16xf16, #npu.space<l0a>>, %a1[%n, %n] [%n, %n] : memref<16x16xf16, #npu.space<l1>>)
  // CHECK-NEXT: npu.mmad (%c[%[[N]], %[[N]]] [%[[N]], %[[N]]] : memref<16x16xf32, #npu.space<l0c>>, %a[
  npu.mmad (%c[%n, %n] [%n, %n] : memref<16x16xf32, #npu.space<l0c>>, %a[%n, %n] [%n, %n] : memref<16x16xf16, #npu.space<l0a>>, %b[%n, %n] [%n, %n] : memref<16x16xf16, #npu.space<l0b>>) init %yes
  return
}
