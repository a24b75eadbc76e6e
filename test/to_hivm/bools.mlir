// RUN: tilewright-hivm %s | FileCheck %s

// A bool tile that the scalar unit touches holds bytes; others are HIVM's, of bits.

#gm = #npu.space<gm>
#ub = #npu.space<ub>

// CHECK: %[[BITS:.*]] = memref.alloc() : memref<64xi1, #hivm.address_space<ub>>
// CHECK: %[[BYTES:.*]] = memref.alloc() : memref<64xi8, #hivm.address_space<ub>>
// CHECK: "hivm.hir.vcmp"({{.*}}, %[[BITS]]) <{compare_mode = #hivm.compare_mode<lt>
// CHECK: "hivm.hir.vcast"(%[[BITS]], %[[BYTES]])
// CHECK: %[[ELEMENT:.*]] = memref.load %[[BYTES]]
// CHECK: %[[BIT:.*]] = arith.cmpi ne, %[[ELEMENT]], %c0_i8
// CHECK: %[[BYTE:.*]] = arith.extui %[[BIT]] : i1 to i8
// CHECK: memref.store %[[BYTE]], %[[BYTES]]
// CHECK: "hivm.hir.vcmp"({{.*}}) <{compare_mode = #hivm.compare_mode<eq>
// CHECK: "hivm.hir.vcmp"({{.*}}) <{compare_mode = #hivm.compare_mode<ne>
// CHECK: "hivm.hir.vsel"

func.func @host(%A: memref<64xf32, #gm>) {
  npu.launch aiv @aiv(%A) : memref<64xf32, #gm>
  return
}
func.func private @aiv(%A: memref<64xf32, #gm> {npu.name = "A"}) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %x = npu.alloc "x" {address = 0} : memref<64xf32, #ub>
  %a = npu.alloc "a" {address = 256} : memref<64xi1, #ub>
  %b = npu.alloc "b" {address = 320} : memref<64xi1, #ub>
  npu.load (%x[%c0] [%c64] : memref<64xf32, #ub>, %A[%c0] [%c64] : memref<64xf32, #gm>)
  npu.barrier <All>
  npu.elementwise <lt> (%a[%c0] [%c64] : memref<64xi1, #ub>, %x[%c0] [%c64] : memref<64xf32, #ub>, %x[%c0] [%c64] : memref<64xf32, #ub>) {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>]}
  npu.barrier <All>
  npu.elementwise <copy> (%b[%c0] [%c64] : memref<64xi1, #ub>, %a[%c0] [%c64] : memref<64xi1, #ub>) {maps = [array<i64: 0>, array<i64: 0>]}
  npu.barrier <All>
  %bit = npu.scalar_load %b[%c0] : memref<64xi1, #ub> -> i1
  npu.scalar_store %bit, %b[%c1] : i1, memref<64xi1, #ub>
  npu.barrier <All>
  npu.elementwise <not> (%b[%c0] [%c64] : memref<64xi1, #ub>, %b[%c0] [%c64] : memref<64xi1, #ub>) {maps = [array<i64: 0>, array<i64: 0>]}
  npu.barrier <All>
  npu.elementwise <select> (%x[%c0] [%c64] : memref<64xf32, #ub>, %b[%c0] [%c64] : memref<64xi1, #ub>, %x[%c0] [%c64] : memref<64xf32, #ub>, %x[%c0] [%c64] : memref<64xf32, #ub>) {maps = [array<i64: 0>, array<i64: 0>, array<i64: 0>, array<i64: 0>]}
  return
}
