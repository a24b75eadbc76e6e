// RUN: tilewright-hivm --place-temporaries %s | FileCheck %s

// Temporaries of instructions lie one behind the other in the free room, from its start again where it
// ends. A barrier stands in front of an instruction whose place another one may use still: one that
// wraps round, the first of a turn, and one that reads what another wrote there.

// CHECK-LABEL: sym_name = "wraps"
// CHECK: value = 1024 : i64
// CHECK: "hivm.hir.vexp"
// CHECK-NOT: pipe_barrier
// CHECK: value = 1152 : i64
// CHECK: "hivm.hir.vln"
// CHECK: value = 1024 : i64
// CHECK: "hivm.hir.pointer_cast"(%{{.*}}) {{.*}} -> memref<16xf32, #hivm.address_space<ub>>
// CHECK: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_V>}>
// CHECK-NEXT: "hivm.hir.vsqrt"
"func.func"() <{function_type = (memref<32xf32>) -> (), sym_name = "wraps"}> ({
^bb0(%x: memref<32xf32>):
  %a = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<32xf32>
  "hivm.hir.vexp"(%x, %x, %a) <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (memref<32xf32>, memref<32xf32>, memref<32xf32>) -> ()
  %b = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<32xf32>
  "hivm.hir.vln"(%x, %x, %b) <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (memref<32xf32>, memref<32xf32>, memref<32xf32>) -> ()
  %c = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<16xf32>
  "hivm.hir.vsqrt"(%x, %x, %c) <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (memref<32xf32>, memref<32xf32>, memref<16xf32>) -> ()
  "func.return"() : () -> ()
}) {tilewright.free_ub = array<i64: 1024, 1280>} : () -> ()

// CHECK-LABEL: sym_name = "turns"
// CHECK: "scf.for"
// CHECK: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_V>}>
// CHECK-NEXT: "hivm.hir.vexp"
// CHECK-NOT: pipe_barrier
"func.func"() <{function_type = (memref<32xf32>, index) -> (), sym_name = "turns"}> ({
^bb0(%x: memref<32xf32>, %n: index):
  "scf.for"(%n, %n, %n) ({
  ^bb0(%i: index):
    %a = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<32xf32>
    "hivm.hir.vexp"(%x, %x, %a) <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (memref<32xf32>, memref<32xf32>, memref<32xf32>) -> ()
    "scf.yield"() : () -> ()
  }) : (index, index, index) -> ()
  "func.return"() : () -> ()
}) {tilewright.free_ub = array<i64: 1024, 8192>} : () -> ()

// CHECK-LABEL: sym_name = "hands_on"
// CHECK: "hivm.hir.vexp"
// CHECK: "hivm.hir.pipe_barrier"() <{pipe = #hivm.pipe<PIPE_V>}>
// CHECK-NEXT: "hivm.hir.vln"
"func.func"() <{function_type = (memref<32xf32>) -> (), sym_name = "hands_on"}> ({
^bb0(%x: memref<32xf32>):
  %a = "memref.alloc"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<32xf32>
  "hivm.hir.vexp"(%x, %a) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (memref<32xf32>, memref<32xf32>) -> ()
  "hivm.hir.vln"(%a, %x) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (memref<32xf32>, memref<32xf32>) -> ()
  "func.return"() : () -> ()
}) {tilewright.free_ub = array<i64: 1024, 8192>} : () -> ()
