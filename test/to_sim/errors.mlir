// RUN: not tilewright-sim %s --function no_address --print-program 2>&1 | FileCheck %s --check-prefix=ADDRESS
// RUN: not tilewright-sim %s --function wrong_operands --print-program 2>&1 | FileCheck %s --check-prefix=OPERANDS
// RUN: not tilewright-sim %s --function select_scalar --print-program 2>&1 | FileCheck %s --check-prefix=SELECT
// RUN: not tilewright-sim %s --function out_of_bounds 2>&1 | FileCheck %s --check-prefix=BOUNDS

#gm = #npu.space<gm>
#ub = #npu.space<ub>

// ADDRESS: error: buffer x has no address; run npu-plan-memory first
func.func @no_address() {
  npu.launch aiv @no_address_aiv()
  return
}
func.func @no_address_aiv() attributes {npu.core = #npu.core<aiv>} {
  %x = npu.alloc "x" : memref<8xf32, #ub>
  return
}

// OPERANDS: error: the operands do not fit the arguments of @no_address_aiv
func.func @wrong_operands(%A: memref<8xf32>) {
  npu.launch aiv @no_address_aiv(%A) : memref<8xf32>
  return
}

// SELECT: error: select wants its condition as a tile
func.func @select_scalar() {
  npu.launch aiv @select_scalar_aiv()
  return
}
func.func @select_scalar_aiv() attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %x = npu.alloc "x" {address = 0} : memref<8xf32, #ub>
  %m = npu.alloc "m" {address = 32} : memref<8xi1, #ub>
  npu.elementwise <select> (%x[%c0] [%c8] : memref<8xf32, #ub>, %m[%c0] [%c8] : memref<8xi1, #ub>, %x[%c0] [%c8] : memref<8xf32, #ub>)
                           scalar %zero : f32 {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>], scalar_first}
  return
}

// BOUNDS: load x <- A (errors.mlir:[[#]]) reads elements 4 to 12 of 8 of A
func.func @out_of_bounds(%A: memref<8xf32>) {
  npu.launch aiv @out_of_bounds_aiv(%A) : memref<8xf32>
  return
}
func.func @out_of_bounds_aiv(%A: memref<8xf32, #gm> {npu.name = "A"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = npu.alloc "x" {address = 0} : memref<8xf32, #ub>
  npu.load (%x[%c0] [%c8] : memref<8xf32, #ub>, %A[%c4] [%c8] : memref<8xf32, #gm>)
  return
}
