// RUN: tilewright-opt %s --tile-place-accumulators --tile-place-buffers --tile-materialize-zero --tile-split-cores --tile-verify-versions=record=true -o %t.noted.mlir 2> %t.log
// RUN: tilewright-opt %t.noted.mlir --tile-pipeline-buffers --tile-verify-versions --tile-skew-stages --tile-verify-versions -o %t.skewed.mlir 2> %t.log
// RUN: FileCheck %s < %t.skewed.mlir

// A loop whose second product runs two turns late.
// CHECK: tile.flow = array<i64: {{[0-9-]+, [0-9-]+}}>

#shared = #tile.scope<shared>
#fragment = #tile.scope<fragment>

func.func @one_answer(%A: memref<160x32xf16> {tile.name = "A"}, %B: memref<160x32xf16> {tile.name = "B"},
    %C: memref<32x32xf32> {tile.name = "C", tile.output}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %part = arith.constant 0.0625 : f32
  tile.launch (%bx) in (%c1) {
    %K = tile.alloc "K" : memref<32x32xf16, #shared>
    %V = tile.alloc "V" : memref<32x32xf16, #shared>
    %P = tile.alloc "P" : memref<32x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    %O = tile.alloc "O" : memref<32x32xf32, #fragment>
    %m = tile.alloc "m" : memref<32xf32, #fragment>
    tile.fill %zero : f32, (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    scf.for %t = %c0 to %n step %c1 {
      %j = arith.muli %t, %c32 : index
      tile.copy(%K[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %A[%j, %c0] [%c32, %c32] : memref<160x32xf16>)
      tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %K[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %K[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
      tile.reduce <max> (%m[%c0] [%c32] : memref<32xf32, #fragment>,
                         %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) dims = [1]
      tile.elementwise <mul> (%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %part : f32
      tile.copy(%P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.elementwise <mul> (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %m[%c0] [%c32] : memref<32xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
      tile.copy(%V[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %B[%j, %c0] [%c32, %c32] : memref<160x32xf16>)
      tile.gemm(%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %V[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>)
    } {tile.num_stages = 2 : i64}
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}
