// RUN: tilewright-opt %s --pass-pipeline="builtin.module(func.func(npu-legalize))" | FileCheck %s

!half = memref<8x32xf16, #npu.space<ub>>
!wide = memref<8x32xbf16, #npu.space<ub>>
!byte = memref<8x32xi8, #npu.space<ub>>
!word = memref<8x32xi32, #npu.space<ub>>
!float = memref<8x32xf32, #npu.space<ub>>
!column = memref<8xf16, #npu.space<ub>>
!sums = memref<8xf32, #npu.space<ub>>
!one = memref<1xf32, #npu.space<ub>>

// CHECK-LABEL: func.func @arithmetic
func.func @arithmetic() attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %s = arith.constant 2.0 : bf16
  %a = npu.alloc "a" : !wide
  %b = npu.alloc "b" : !byte
  // CHECK: npu.elementwise <cast> (%[[X:[a-z_.0-9]+]][{{.*}} : memref<8x32xf32, #npu.space<ub>>, %a
  // CHECK: arith.extf
  // CHECK: npu.elementwise <mul> (%[[Y:[a-z_.0-9]+]][{{.*}} : memref<8x32xf32, #npu.space<ub>>, %[[X]]
  // CHECK-SAME: scalar {{.*}} : f32
  // CHECK: npu.elementwise <cast> (%a{{.*}}, %[[Y]]
  npu.elementwise <mul> (%a[%c0, %c0] [%c8, %c32] : !wide, %a[%c0, %c0] [%c8, %c32] : !wide) scalar %s : bf16 {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  // Eight bits: in sixteen, wrapped.
  // CHECK-COUNT-1: npu.elementwise <cast>
  // CHECK: npu.elementwise <add> {{.*}} : memref<8x32xi16, #npu.space<ub>>
  // CHECK: npu.elementwise <shl>
  // CHECK: npu.elementwise <shr>
  // CHECK: npu.elementwise <cast> (%[[F:[a-z_.0-9]+]][{{.*}} : memref<8x32xf16
  // CHECK: npu.elementwise <cast> (%b[{{.*}}, %[[F]][
  npu.elementwise <add> (%b[%c0, %c0] [%c8, %c32] : !byte, %b[%c0, %c0] [%c8, %c32] : !byte, %b[%c0, %c0] [%c8, %c32] : !byte) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0, 1>]}
  return
}

// CHECK-LABEL: func.func @conversions
func.func @conversions() attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %a = npu.alloc "a" : !word
  %b = npu.alloc "b" : !half
  // CHECK: npu.iota (%[[N:[a-z_.0-9]+]][{{.*}} : memref<8x32xi32, #npu.space<ub>>) from
  // CHECK: npu.elementwise <cast> (%[[M:[a-z_.0-9]+]][{{.*}} : memref<8x32xf32, #npu.space<ub>>, %[[N]]
  // CHECK: npu.elementwise <cast> (%b{{.*}}, %[[M]]
  npu.iota (%b[%c0, %c0] [%c8, %c32] : !half) from %c0 by (%c32, %c1)
  // CHECK: npu.elementwise <cast> (%[[W:[a-z_.0-9]+]][{{.*}} : memref<8x32xf32, #npu.space<ub>>, %a
  // CHECK: npu.elementwise <cast> (%b{{.*}}, %[[W]]
  npu.elementwise <cast> (%b[%c0, %c0] [%c8, %c32] : !half, %a[%c0, %c0] [%c8, %c32] : !word) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  return
}

// CHECK-LABEL: func.func @reductions
func.func @reductions() attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %a = npu.alloc "a" : !half
  %b = npu.alloc "b" : !column
  %c = npu.alloc "c" : !float
  %d = npu.alloc "d" : !sums
  %e = npu.alloc "e" : !one
  // Sums of f16 are kept in f32.
  // CHECK: npu.elementwise <cast> {{.*}}xf32, #npu.space<ub>>, %a
  // CHECK: npu.reduce <sum> {{.*}}xf32
  // CHECK: npu.elementwise <cast> (%b
  npu.reduce <sum> (%b[%c0] [%c8] : !column, %a[%c0, %c0] [%c8, %c32] : !half) dims = [1] {dst_map = array<i64: 0>}
  // CHECK: npu.elementwise <abs>
  // CHECK: npu.reduce <max> (%[[T:[a-z_.0-9]+]][
  // CHECK: npu.elementwise <maxnum> (%d{{.*}}, %d{{.*}}, %[[T]]
  npu.reduce <absmax> (%d[%c0] [%c8] : !sums, %c[%c0, %c0] [%c8, %c32] : !float) dims = [1] {dst_map = array<i64: 0>, accumulate}
  // One dimension after the other, the last one first.
  // CHECK: npu.reduce <sum> (%[[R:[a-z_.0-9]+]][{{.*}} : memref<8x1xf32, #npu.space<ub>>, %c{{.*}} dims = [1]
  // CHECK: npu.reduce <sum> (%e{{.*}}, %[[R]]{{.*}} dims = [0
  npu.reduce <sum> (%e[%c0] [%c1] : !one, %c[%c0, %c0] [%c8, %c32] : !float) dims = [0, 1] {dst_map = array<i64: -1>}
  // CHECK: npu.reduce <max> (%b{{.*}}, %a
  npu.reduce <max> (%b[%c0] [%c8] : !column, %a[%c0, %c0] [%c8, %c32] : !half) dims = [1] {dst_map = array<i64: 0>}
  return
}

// Where the author orders the pipes, all stays.
// CHECK-LABEL: func.func @ordered
// CHECK-NOT: npu.elementwise <cast>
func.func @ordered() attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %a = npu.alloc "a" : !wide
  npu.barrier <V>
  npu.elementwise <neg> (%a[%c0, %c0] [%c8, %c32] : !wide, %a[%c0, %c0] [%c8, %c32] : !wide) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  return
}

!long = memref<8x32xi64, #npu.space<ub>>
!mask = memref<8x32xi1, #npu.space<ub>>
!plain = memref<8x32xui8, #npu.space<ub>>

// Integers of 32 bits are compared for equality alone; bits with a scalar are bits of two tiles.
// CHECK-LABEL: func.func @orders
func.func @orders() attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %two = arith.constant 2 : i32
  %yes = arith.constant true
  %a = npu.alloc "a" : !word
  %m = npu.alloc "m" : !mask
  // CHECK: npu.elementwise <max> (%[[X:[a-z_.0-9]+]][{{.*}}, %a[{{.*}} scalar
  // CHECK: npu.elementwise <eq> (%m[{{.*}}, %[[X]][{{.*}}, %a[
  // CHECK-NEXT: npu.elementwise <not> (%m[{{.*}}, %m[
  npu.elementwise <lt> (%m[%c0, %c0] [%c8, %c32] : !mask, %a[%c0, %c0] [%c8, %c32] : !word) scalar %two : i32 {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  // CHECK: npu.elementwise <not> (%m[{{.*}}, %m[
  npu.elementwise <xor> (%m[%c0, %c0] [%c8, %c32] : !mask, %m[%c0, %c0] [%c8, %c32] : !mask) scalar %yes : i1 {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  // CHECK: npu.fill %{{.*}} : i32, (%[[F:[a-z_.0-9]+]][
  // CHECK: npu.elementwise <and> (%a[{{.*}}, %a[{{.*}}, %[[F]][
  npu.elementwise <and> (%a[%c0, %c0] [%c8, %c32] : !word, %a[%c0, %c0] [%c8, %c32] : !word) scalar %two : i32 {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  return
}

// CHECK-LABEL: func.func @unsigned_bytes
func.func @unsigned_bytes() attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %a = npu.alloc "a" : !plain
  // CHECK: npu.elementwise <cast> (%[[H:[a-z_.0-9]+]][{{.*}} : memref<8x32xf16, #npu.space<ub>>, %a[
  // CHECK: npu.elementwise <cast> (%[[S:[a-z_.0-9]+]][{{.*}} : memref<8x32xi16, #npu.space<ub>>, %[[H]][
  // CHECK: npu.elementwise <add> (%[[T:[a-z_.0-9]+]][
  // CHECK: npu.fill %{{.*}} : i16
  // CHECK: npu.elementwise <and>
  // CHECK: npu.elementwise <cast> (%[[G:[a-z_.0-9]+]][{{.*}} : memref<8x32xf16
  // CHECK: npu.elementwise <cast> (%a[{{.*}}, %[[G]][
  npu.elementwise <add> (%a[%c0, %c0] [%c8, %c32] : !plain, %a[%c0, %c0] [%c8, %c32] : !plain, %a[%c0, %c0] [%c8, %c32] : !plain) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0, 1>]}
  return
}

// What the vector unit cannot do at all: 64-bit integers, quotients, sums along a single row.
// CHECK-LABEL: func.func @element_by_element
func.func @element_by_element() attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %l = npu.alloc "l" : !long
  %a = npu.alloc "a" : !word
  %f = npu.alloc "f" : !float
  // CHECK: scf.for %[[I:.*]] = %{{.*}} to %c8
  // CHECK: scf.for %[[J:.*]] = %{{.*}} to %c32
  // CHECK: %[[X:.*]] = npu.scalar_load %l[%[[I]], %[[J]]]
  // CHECK: %[[Y:.*]] = npu.scalar_load %l[%[[I]], %[[J]]]
  // CHECK: %[[Z:.*]] = arith.addi %[[X]], %[[Y]]
  // CHECK: npu.scalar_store %[[Z]], %l[%[[I]], %[[J]]]
  npu.elementwise <add> (%l[%c0, %c0] [%c8, %c32] : !long, %l[%c0, %c0] [%c8, %c32] : !long, %l[%c0, %c0] [%c8, %c32] : !long) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0, 1>]}
  // CHECK: arith.trunci {{.*}} : i64 to i32
  npu.elementwise <cast> (%a[%c0, %c0] [%c8, %c32] : !word, %l[%c0, %c0] [%c8, %c32] : !long) {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  // CHECK: arith.remsi
  // CHECK: arith.divsi
  npu.elementwise <floordiv> (%a[%c0, %c0] [%c8, %c32] : !word, %a[%c0, %c0] [%c8, %c32] : !word, %a[%c0, %c0] [%c8, %c32] : !word) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0, 1>]}
  // CHECK: npu.scalar_store %{{.*}}, %f[%c0, %{{.*}}]
  // CHECK: scf.for
  // CHECK: arith.addf
  // CHECK: npu.scalar_store
  npu.scan <sum> (%f[%c0, %c0] [%c1, %c32] : !float, %f[%c0, %c0] [%c1, %c32] : !float) dim = 1
  // CHECK: npu.scan <sum> {{.*}} dim = 0
  npu.scan <sum> (%f[%c0, %c0] [%c8, %c32] : !float, %f[%c0, %c0] [%c8, %c32] : !float) dim = 0
  return
}

// Rows become columns of a tile of their own: a scan of those is an instruction.
// CHECK-LABEL: func.func @rows_as_columns
func.func @rows_as_columns() attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %f = npu.alloc "f" : !float
  // CHECK: %[[T:.*]] = npu.alloc "f.turned" : memref<16x8xf32, #npu.space<ub>>
  // CHECK: npu.elementwise <copy> (%[[T]][%{{.*}}] [%c16, %c8] : {{.*}}, %f[%c0, %c16] [%c8, %c16] : {{.*}}) {maps = [array<i64: 0, 1>, array<i64: 1, 0>]}
  // CHECK: npu.scan <prod> (%[[T]][%{{.*}}] [%c16, %c8] : {{.*}}, %[[T]][%{{.*}}] [%c16, %c8] : {{.*}}) dim = 0 {reverse}
  // CHECK: npu.elementwise <copy> (%f[%c0, %c0] [%c8, %c16] : {{.*}}, %[[T]][%{{.*}}] [%c16, %c8] : {{.*}}) {maps = [array<i64: 0, 1>, array<i64: 1, 0>]}
  npu.scan <prod> (%f[%c0, %c0] [%c8, %c16] : !float, %f[%c0, %c16] [%c8, %c16] : !float) dim = 1 {reverse}
  return
}

// There is no room for the turned tile: the scalar unit's loop.
// CHECK-LABEL: func.func @no_room
func.func @no_room() attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c128 = arith.constant 128 : index
  // CHECK-NOT: turned
  %f = npu.alloc "f" : memref<256x128xf32, #npu.space<ub>>
  // CHECK: arith.addf
  npu.scan <sum> (%f[%c0, %c0] [%c256, %c128] : memref<256x128xf32, #npu.space<ub>>, %f[%c0, %c0] [%c256, %c128] : memref<256x128xf32, #npu.space<ub>>) dim = 1
  return
}

// Bools of which an op takes a part of each row are numbers: a bit cannot be the start of a row.
// CHECK-LABEL: func.func @flags_in_parts
func.func @flags_in_parts() attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  %true = arith.constant true
  // CHECK: %[[M:.*]] = npu.alloc "m" : memref<8x32xf16, #npu.space<ub>>
  %f = npu.alloc "f" : !float
  %m = npu.alloc "m" : memref<8x32xi1, #npu.space<ub>>
  // CHECK: npu.fill %{{.*}} : f16, (%[[M]][%c0, %c0] [%c8, %c32]
  npu.fill %true : i1, (%m[%c0, %c0] [%c8, %c32] : memref<8x32xi1, #npu.space<ub>>)
  // CHECK: npu.elementwise <lt> (%[[B:.*]][%{{.*}}] [%c8, %c16] : memref<8x16xi1, #npu.space<ub>>, %f[%c0, %c16]
  // CHECK: npu.elementwise <cast> (%[[N:.*]][%{{.*}}] [%c8, %c16] : memref<8x16xf16, #npu.space<ub>>, %[[B]][
  // CHECK: npu.elementwise <copy> (%[[M]][%c0, %c16] [%c8, %c16] : {{.*}}, %[[N]][
  npu.elementwise <lt> (%m[%c0, %c16] [%c8, %c16] : memref<8x32xi1, #npu.space<ub>>, %f[%c0, %c16] [%c8, %c16] : !float) scalar %one : f32 {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
  // CHECK: npu.elementwise <ne> (%[[W:.*]][%{{.*}}] [%c8, %c32] : memref<8x32xi1, #npu.space<ub>>, %[[M]][%c0, %c0] [%c8, %c32]
  // CHECK: npu.elementwise <select> (%f[%c0, %c0] [%c8, %c32] : {{.*}}, %[[W]][
  npu.elementwise <select> (%f[%c0, %c0] [%c8, %c32] : !float, %m[%c0, %c0] [%c8, %c32] : memref<8x32xi1, #npu.space<ub>>, %f[%c0, %c0] [%c8, %c32] : !float) scalar %one : f32 {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0, 1>]}
  return
}

// A bool for each row is repeated as a number.
// CHECK-LABEL: func.func @a_flag_for_each_row
func.func @a_flag_for_each_row() attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  %f = npu.alloc "f" : !float
  %m = npu.alloc "m" : memref<8xi1, #npu.space<ub>>
  // CHECK: npu.elementwise <cast> (%[[H:.*]][%{{.*}}] [%c8] : memref<8xf16, #npu.space<ub>>, %m[
  // CHECK: npu.elementwise <copy> (%[[W:.*]][%{{.*}}] [%c8, %c32] : memref<8x32xf16, #npu.space<ub>>, %[[H]][
  // CHECK: npu.elementwise <ne> (%[[B:.*]][%{{.*}}] [%c8, %c32] : memref<8x32xi1, #npu.space<ub>>, %[[W]][
  // CHECK: npu.elementwise <select> (%f[{{.*}}, %[[B]][
  npu.elementwise <select> (%f[%c0, %c0] [%c8, %c32] : !float, %m[%c0] [%c8] : memref<8xi1, #npu.space<ub>>, %f[%c0, %c0] [%c8, %c32] : !float) scalar %one : f32 {maps = [array<i64: 0, 1>, array<i64: 0>, array<i64: 0, 1>]}
  return
}
