// RUN: tilewright-opt %s --tile-verify-places -o %t.ok.mlir

#l1 = #tile.scope<l1>
#l0c = #tile.scope<l0c>
#ub = #tile.scope<ub>

// Each in a memory that its uses reach.
func.func @placed(%A: memref<64x64xf16> {tile.name = "A"}, %C: memref<64x64xf32> {tile.name = "C"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<64x64xf16, #l1>
    %s = tile.alloc "s" : memref<64x64xf32, #l0c>
    %u = tile.alloc "u" : memref<64x64xf32, #ub>
    tile.copy(%a[%c0, %c0] [%c64, %c64] : memref<64x64xf16, #l1>, %A[%c0, %c0] [%c64, %c64] : memref<64x64xf16>)
    tile.gemm(%s[%c0, %c0] [%c64, %c64] : memref<64x64xf32, #l0c>, %a[%c0, %c0] [%c64, %c64] : memref<64x64xf16, #l1>,
              %a[%c0, %c0] [%c64, %c64] : memref<64x64xf16, #l1>) init %true
    tile.copy(%u[%c0, %c0] [%c64, %c64] : memref<64x64xf32, #ub>, %s[%c0, %c0] [%c64, %c64] : memref<64x64xf32, #l0c>)
    tile.copy(%C[%c0, %c0] [%c64, %c64] : memref<64x64xf32>, %u[%c0, %c0] [%c64, %c64] : memref<64x64xf32, #ub>)
  }
  return
}
