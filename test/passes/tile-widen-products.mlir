// RUN: tilewright-opt %s --tile-widen-products=chip=910b3 -o %t.910.mlir 2> %t.log
// RUN: FileCheck %s < %t.910.mlir
// RUN: FileCheck %s --check-prefix=REMARK < %t.log
// RUN: tilewright-opt %s --tile-widen-products=chip=950pr | FileCheck %s --check-prefix=KEPT
// RUN: tilewright-run %s --checksums --function product > %t.before
// RUN: tilewright-run %t.910.mlir --checksums --function product > %t.now
// RUN: diff %t.before %t.now
// RUN: tilewright-run %s --checksums --function one_operand_stays > %t.before
// RUN: tilewright-run %t.910.mlir --checksums --function one_operand_stays > %t.now
// RUN: diff %t.before %t.now

// A cube without products of 8-bit floats gets its operands as f16, which holds them all.

#shared = #tile.scope<shared>
#fragment = #tile.scope<fragment>

// REMARK: [tile-widen-products] widened: the cube of 910b3 has no products of 8-bit floats

// CHECK-LABEL: func.func @product(
// CHECK-DAG: %[[B:.+]] = tile.alloc "Bs.f16" : memref<32x16xf16,
// CHECK-DAG: %[[A:.+]] = tile.alloc "As.f16" : memref<16x32xf16,
// CHECK: tile.copy (%[[A]]{{.+}}, %As
// CHECK: tile.copy (%[[B]]{{.+}}, %Bs
// CHECK: tile.gemm (%Cl{{.+}}, %[[A]]{{.+}}, %[[B]]
// KEPT-LABEL: func.func @product(
// KEPT: tile.gemm (%Cl{{.+}}, %As{{.+}}, %Bs
func.func @product(%A: memref<16x32xf8E4M3FN> {tile.name = "A"}, %B: memref<32x16xf8E4M3FN> {tile.name = "B"},
                   %C: memref<16x16xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<16x32xf8E4M3FN, #shared>
    %Bs = tile.alloc "Bs" : memref<32x16xf8E4M3FN, #shared>
    %Cl = tile.alloc "Cl" : memref<16x16xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c16, %c32] : memref<16x32xf8E4M3FN, #shared>, %A[%c0, %c0] [%c16, %c32] : memref<16x32xf8E4M3FN>)
    tile.copy(%Bs[%c0, %c0] [%c32, %c16] : memref<32x16xf8E4M3FN, #shared>, %B[%c0, %c0] [%c32, %c16] : memref<32x16xf8E4M3FN>)
    tile.gemm(%Cl[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #fragment>,
              %As[%c0, %c0] [%c16, %c32] : memref<16x32xf8E4M3FN, #shared>,
              %Bs[%c0, %c0] [%c32, %c16] : memref<32x16xf8E4M3FN, #shared>)
    tile.copy(%C[%c0, %c0] [%c16, %c16] : memref<16x16xf32>, %Cl[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #fragment>)
  }
  return
}

// What a loop leaves alone is converted once, before it; what it loads, in each turn.
// CHECK-LABEL: func.func @one_operand_stays(
// CHECK: tile.copy (%As.f16[{{.+}}, %As
// CHECK: scf.for
// CHECK-NOT: tile.copy (%As.f16[
// CHECK: tile.copy (%Bs.f16{{.*}}, %Bs
// CHECK: tile.gemm (%Cl{{.+}}, %As.f16{{.*}}, %Bs.f16
func.func @one_operand_stays(%A: memref<16x32xf8E4M3FN> {tile.name = "A"}, %B: memref<64x32xf8E4M3FN> {tile.name = "B"},
                             %C: memref<16x16xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<16x32xf8E4M3FN, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf8E4M3FN, #shared>
    %Cl = tile.alloc "Cl" : memref<16x16xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c16, %c32] : memref<16x32xf8E4M3FN, #shared>, %A[%c0, %c0] [%c16, %c32] : memref<16x32xf8E4M3FN>)
    scf.for %t = %c0 to %c4 step %c1 {
      %j = arith.muli %t, %c16 : index
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf8E4M3FN, #shared>, %B[%j, %c0] [%c16, %c32] : memref<64x32xf8E4M3FN>)
      tile.gemm(%Cl[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #fragment>,
                %As[%c0, %c0] [%c16, %c32] : memref<16x32xf8E4M3FN, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf8E4M3FN, #shared>) {transpose_b}
    }
    tile.copy(%C[%c0, %c0] [%c16, %c16] : memref<16x16xf32>, %Cl[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #fragment>)
  }
  return
}
