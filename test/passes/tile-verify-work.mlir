// RUN: tilewright-opt %s --tile-verify-work=record=true -o %t.noted.mlir
// RUN: FileCheck %s < %t.noted.mlir
// RUN: tilewright-opt %t.noted.mlir --tile-verify-work -o %t.ok.mlir

// A sum in two halves of 16 rows over two turns of 32: 32 * 32 * 64 multiplications.
// CHECK: tile.work = array<i64: 65536, 1024, 32>

#l1 = #tile.scope<l1>
#l0c = #tile.scope<l0c>
#ub = #tile.scope<ub>

func.func @halves(%A: memref<32x64xf16> {tile.name = "A"}, %C: memref<32x32xf32> {tile.name = "C"}, %D: memref<32xf32> {tile.name = "D"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<32x32xf16, #l1>
    %s = tile.alloc "s" : memref<32x32xf32, #l0c>
    %d = tile.alloc "d" : memref<32xf32, #ub>
    scf.for %k = %c0 to %c2 step %c1 {
      %start = arith.cmpi eq, %k, %c0 : index
      %from = arith.muli %k, %c32 : index
      tile.copy(%a[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #l1>, %A[%c0, %from] [%c32, %c32] : memref<32x64xf16>)
      tile.gemm(%s[%c0, %c0] [%c16, %c32] : memref<32x32xf32, #l0c>, %a[%c0, %c0] [%c16, %c32] : memref<32x32xf16, #l1>, %a[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #l1>) init %start
      tile.gemm(%s[%c16, %c0] [%c16, %c32] : memref<32x32xf32, #l0c>, %a[%c16, %c0] [%c16, %c32] : memref<32x32xf16, #l1>, %a[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #l1>) init %start
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %s[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #l0c>)
    tile.fill %one : f32, (%d[%c0] [%c32] : memref<32xf32, #ub>)
    tile.atomic <sum> (%D[%c0] [%c32] : memref<32xf32>, %d[%c0] [%c32] : memref<32xf32, #ub>)
  }
  return
}
