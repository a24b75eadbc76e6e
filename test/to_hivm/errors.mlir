// RUN: not tilewright-hivm %s 2>&1 | FileCheck %s

#gm = #npu.space<gm>
#ub = #npu.space<ub>
#l1 = #npu.space<l1>

// What HIVM has nothing for is named, at its place.
func.func @host(%A: memref<16x16xf32, #gm>) {
  npu.launch aic @cube aiv @vector(%A) : memref<16x16xf32, #gm>
  npu.launch aiv @vector(%A) : memref<16x16xf32, #gm>
  // CHECK-DAG: error: names no function with a body
  npu.launch aiv @missing(%A) : memref<16x16xf32, #gm>
  return
}
func.func private @cube(%A: memref<16x16xf32, #gm> {npu.name = "A"}) attributes {npu.core = #npu.core<aic>} {
  // CHECK-DAG: error: HIVM has no operation for a flag between cores without another end
  npu.block_set <FIX> id 0
  return
}
func.func @offset(%A: memref<64x16xf16, #gm>, %n: index) {
  npu.launch aic @offset_aic(%A, %n) : memref<64x16xf16, #gm>, index
  return
}
func.func private @offset_aic(%A: memref<64x16xf16, #gm> {npu.name = "A"}, %n: index) attributes {npu.core = #npu.core<aic>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %x = npu.alloc "x" {address = 0} : memref<64x32xf16, #l1>
  // CHECK-DAG: error: HIVM has no operation for a box that may begin within a fractal of 16 x 16 elements
  npu.load (%x[%c0, %n] [%c16, %c16] : memref<64x32xf16, #l1>, %A[%c0, %c0] [%c16, %c16] : memref<64x16xf16, #gm>)
  return
}
func.func @from_l1(%A: memref<16x16xf16, #gm>) {
  npu.launch aic @from_l1_aic(%A) : memref<16x16xf16, #gm>
  npu.launch aic @two_ends_aic aiv @two_ends_aiv(%A) : memref<16x16xf16, #gm>
  return
}
func.func private @from_l1_aic(%A: memref<16x16xf16, #gm> {npu.name = "A"}) attributes {npu.core = #npu.core<aic>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %x = npu.alloc "x" {address = 0} : memref<16x16xf16, #l1>
  // CHECK-DAG: error: HIVM has no operation for a store from L1
  npu.store (%A[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #gm>, %x[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #l1>)
  return
}
func.func private @two_ends_aic(%A: memref<16x16xf16, #gm> {npu.name = "A"}) attributes {npu.core = #npu.core<aic>} {
  // CHECK-DAG: error: HIVM has no operation for a flag between cores whose other end is on several pipes
  npu.block_set <FIX> id 0
  return
}
func.func private @two_ends_aiv(%A: memref<16x16xf16, #gm> {npu.name = "A"}) attributes {npu.core = #npu.core<aiv>} {
  npu.block_wait <MTE2> id 0
  npu.block_wait <V> id 0
  return
}
func.func @blocks(%A: memref<16x16xf32, #gm>) {
  npu.launch aic @blocks_aic aiv @blocks_aiv(%A) : memref<16x16xf32, #gm>
  return
}
func.func private @blocks_aic(%A: memref<16x16xf32, #gm> {npu.name = "A"}) attributes {npu.core = #npu.core<aic>} {
  npu.block_set <FIX> id 12
  // CHECK-DAG: error: HIVM has no operation for the end of a block whose flags between cores are too many
  npu.end_block
  return
}
func.func private @blocks_aiv(%A: memref<16x16xf32, #gm> {npu.name = "A"}) attributes {npu.core = #npu.core<aiv>} {
  npu.block_wait <MTE2> id 12
  return
}
func.func private @vector(%A: memref<16x16xf32, #gm> {npu.name = "A"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %x = npu.alloc "x" {address = 0} : memref<16x16xf32, #ub>
  // CHECK-DAG: error: HIVM has no operation for pow of this element type
  npu.elementwise <pow> (%x[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #ub>, %x[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #ub>, %x[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #ub>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0, 1>]}
  return
}

// What a wrong sign or a wrong layout would make wrong silently.
func.func @types(%B: memref<16xi1, #gm>) {
  npu.launch aiv @greater(%B) : memref<16xi1, #gm>
  npu.launch aiv @largest(%B) : memref<16xi1, #gm>
  npu.launch aiv @converted(%B) : memref<16xi1, #gm>
  return
}
func.func private @greater(%B: memref<16xi1, #gm> {npu.name = "B"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %m = npu.alloc "m" {address = 0} : memref<16xi1, #ub>
  %x = npu.alloc "x" {address = 32} : memref<16xui32, #ub>
  // CHECK-DAG: :[[#@LINE+1]]:{{.*}}: error: HIVM has no operation for an order of unsigned integers of more than 8 bits
  npu.elementwise <gt> (%m[%c0] [%c16] : memref<16xi1, #ub>, %x[%c0] [%c16] : memref<16xui32, #ub>, %x[%c0] [%c16] : memref<16xui32, #ub>) {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>]}
  return
}
func.func private @largest(%B: memref<16xi1, #gm> {npu.name = "B"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %m = npu.alloc "m" {address = 0} : memref<1xui16, #ub>
  %x = npu.alloc "x" {address = 32} : memref<16xui16, #ub>
  // CHECK-DAG: :[[#@LINE+1]]:{{.*}}: error: HIVM has no operation for an order of unsigned integers of more than 8 bits
  npu.reduce <max> (%m[%c0] [%c1] : memref<1xui16, #ub>, %x[%c0] [%c16] : memref<16xui16, #ub>) dims = [0] {dst_map = array<i64: -1>}
  return
}
func.func private @converted(%B: memref<16xi1, #gm> {npu.name = "B"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %f = npu.alloc "f" {address = 0} : memref<16xf32, #ub>
  %x = npu.alloc "x" {address = 64} : memref<16xui32, #ub>
  // CHECK-DAG: error: HIVM has no operation for conversions of unsigned integers of more than 8 bits
  npu.elementwise <cast> (%f[%c0] [%c16] : memref<16xf32, #ub>, %x[%c0] [%c16] : memref<16xui32, #ub>) {maps = [array<i64: 0>, array<i64: 0>]}
  return
}
