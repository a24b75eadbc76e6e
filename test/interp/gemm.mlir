// RUN: tilewright-run %s --function tiled | FileCheck %s --check-prefix=TILED
// RUN: tilewright-run %s --function transposed
// RUN: tilewright-run %s --function once_rounded
// RUN: tilewright-run %s --function integers
// RUN: tilewright-run %s --function run_time_init --set 3=1 | FileCheck %s --check-prefix=INIT
// RUN: tilewright-run %s --function run_time_init --set 3=0 | FileCheck %s --check-prefix=ADD

#shared = #tile.scope<shared>
#fragment = #tile.scope<fragment>

// C = A . B in tiles of 32 x 32, K in steps of 16, sizes that no tile divides; compared, bit for bit,
// with the fused multiply-adds written out.
func.func @tiled(%A: memref<40x48xf16> {tile.name = "A"}, %B: memref<48x40xf16> {tile.name = "B"},
                 %C: memref<40x40xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c40 = arith.constant 40 : index
  %c48 = arith.constant 48 : index
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
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    }
    tile.copy(%C[%i, %j] [%c32, %c32] : memref<40x40xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  scf.for %i = %c0 to %c40 step %c1 {
    scf.for %j = %c0 to %c40 step %c1 {
      %sum = scf.for %k = %c0 to %c48 step %c1 iter_args(%acc = %zero) -> f32 {
        %a = tile.load %A[%i, %k] : memref<40x48xf16> -> f16
        %b = tile.load %B[%k, %j] : memref<48x40xf16> -> f16
        %a32 = arith.extf %a : f16 to f32
        %b32 = arith.extf %b : f16 to f32
        %next = math.fma %a32, %b32, %acc : f32
        scf.yield %next : f32
      }
      %got = tile.load %C[%i, %j] : memref<40x40xf32> -> f32
      %same = arith.cmpf oeq, %got, %sum : f32
      tile.assert %same, "tiled product differs"
    }
  }
  return
}
// TILED: argument 2 (C): float32 [40, 40] checksum

// A^T . B^T into a fresh tile, against the plain loops; the boxes are parts of larger buffers.
func.func @transposed(%A: memref<1x9x20xf32>, %B: memref<18x9xf32>, %C: memref<19x18xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c9 = arith.constant 9 : index
  %c18 = arith.constant 18 : index
  %c19 = arith.constant 19 : index
  %zero = arith.constant 0.0 : f32
  %true = arith.constant true
  tile.gemm(%C[%c0, %c0] [%c19, %c18] : memref<19x18xf32>, %A[%c0, %c0, %c1] [%c1, %c9, %c19] : memref<1x9x20xf32>,
            %B[%c0, %c0] [%c18, %c9] : memref<18x9xf32>) init %true {transpose_a, transpose_b}
  scf.for %i = %c0 to %c19 step %c1 {
    scf.for %j = %c0 to %c18 step %c1 {
      %sum = scf.for %k = %c0 to %c9 step %c1 iter_args(%acc = %zero) -> f32 {
        %i1 = arith.addi %i, %c1 : index
        %a = tile.load %A[%c0, %k, %i1] : memref<1x9x20xf32> -> f32
        %b = tile.load %B[%j, %k] : memref<18x9xf32> -> f32
        %next = math.fma %a, %b, %acc : f32
        scf.yield %next : f32
      }
      %got = tile.load %C[%i, %j] : memref<19x18xf32> -> f32
      %same = arith.cmpf oeq, %got, %sum : f32
      tile.assert %same, "transposed product differs"
    }
  }
  return
}

// An f16 accumulator is rounded once, after all of k: 2048 + 1 + 1 is 2050 in f16, but 2048 + 1 is 2048.
func.func @once_rounded(%A: memref<1x2xf16>, %B: memref<2x1xf16>, %C: memref<1x1xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1.0 : f16
  %start = arith.constant 2048.0 : f16
  %expected = arith.constant 2050.0 : f16
  tile.fill %one : f16, (%A[%c0, %c0] [%c1, %c2] : memref<1x2xf16>)
  tile.fill %one : f16, (%B[%c0, %c0] [%c2, %c1] : memref<2x1xf16>)
  tile.fill %start : f16, (%C[%c0, %c0] [%c1, %c1] : memref<1x1xf16>)
  tile.gemm(%C[%c0, %c0] [%c1, %c1] : memref<1x1xf16>, %A[%c0, %c0] [%c1, %c2] : memref<1x2xf16>, %B[%c0, %c0] [%c2, %c1] : memref<2x1xf16>)
  %got = tile.load %C[%c0, %c0] : memref<1x1xf16> -> f16
  %same = arith.cmpf oeq, %got, %expected : f16
  tile.assert %same, "rounded more than once"
  return
}

// 8-bit integers multiply and add exactly in 32 bits, and wrap there.
func.func @integers(%A: memref<1x2xi8>, %B: memref<2x1xi8>, %C: memref<1x1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %low = arith.constant -128 : i8
  %start = arith.constant 2147483647 : i32
  %expected = arith.constant -2147450881 : i32
  tile.fill %low : i8, (%A[%c0, %c0] [%c1, %c2] : memref<1x2xi8>)
  tile.fill %low : i8, (%B[%c0, %c0] [%c2, %c1] : memref<2x1xi8>)
  tile.fill %start : i32, (%C[%c0, %c0] [%c1, %c1] : memref<1x1xi32>)
  tile.gemm(%C[%c0, %c0] [%c1, %c1] : memref<1x1xi32>, %A[%c0, %c0] [%c1, %c2] : memref<1x2xi8>, %B[%c0, %c0] [%c2, %c1] : memref<2x1xi8>)
  %got = tile.load %C[%c0, %c0] : memref<1x1xi32> -> i32
  %same = arith.cmpi eq, %got, %expected : i32
  tile.assert %same, "integer product differs"
  return
}

func.func @run_time_init(%A: memref<2x2xf32>, %B: memref<2x2xf32>, %C: memref<2x2xf32>, %init: i1) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1.0 : f32
  tile.fill %one : f32, (%A[%c0, %c0] [%c2, %c2] : memref<2x2xf32>)
  tile.fill %one : f32, (%B[%c0, %c0] [%c2, %c2] : memref<2x2xf32>)
  tile.fill %one : f32, (%C[%c0, %c0] [%c2, %c2] : memref<2x2xf32>)
  tile.gemm(%C[%c0, %c0] [%c2, %c2] : memref<2x2xf32>, %A[%c0, %c0] [%c2, %c2] : memref<2x2xf32>, %B[%c0, %c0] [%c2, %c2] : memref<2x2xf32>) init %init
  tile.print "C" (%C[%c0, %c0] [%c2, %c2] : memref<2x2xf32>)
  return
}
// INIT: C: tensor({{\[\[}}2., 2.],
// ADD: C: tensor({{\[\[}}3., 3.],
