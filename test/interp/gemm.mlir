// RUN: tilewright-run %s | FileCheck %s

#shared = #tile.scope<shared>
#fragment = #tile.scope<fragment>

// C = A . B in tiles of 32 x 32, K in steps of 16, with C of a size that no tile divides.
func.func @main(%A: memref<40x48xf16> {tile.name = "A"}, %B: memref<48x40xf16> {tile.name = "B"},
                %C: memref<40x40xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx, %by) in (%c2, %c2) {
    %As = tile.alloc "A_shared" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "B_shared" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "C_local" : memref<32x32xf32, #fragment>
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    %i = arith.muli %by, %c32 : index
    %j = arith.muli %bx, %c32 : index
    scf.for %ko = %c0 to %c3 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%i, %k] [%c32, %c16] : memref<40x48xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %j] [%c16, %c32] : memref<48x40xf16>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    }
    tile.copy(%C[%i, %j] [%c32, %c32] : memref<40x40xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}
// CHECK: argument 2 (C): float32 [40, 40] checksum
