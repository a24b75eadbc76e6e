// RUN: tilewright-run %s --function guarded | FileCheck %s --check-prefix=GUARD
// RUN: tilewright-run %s --function padded --set 0=iota | FileCheck %s --check-prefix=PAD
// RUN: tilewright-run %s --function overlap --set 0=iota | FileCheck %s --check-prefix=OVERLAP
// RUN: tilewright-run %s --function ranks --set 0=iota | FileCheck %s --check-prefix=RANKS
// RUN: tilewright-run %s --function casts | FileCheck %s --check-prefix=CASTS
// RUN: tilewright-run %s --function sizes --shape 0=5 --shape 1=5 --set 0=iota --set 2=3 | FileCheck %s --check-prefix=SIZES
// RUN: tilewright-run %s --function gather --set 0=iota | FileCheck %s --check-prefix=GATHER
// RUN: tilewright-run %s --function iota | FileCheck %s --check-prefix=IOTA

#ub = #tile.scope<ub>

// Reads outside a tensor give 0, writes outside are dropped, at every side.
func.func @guarded(%A: memref<3x3xi32>, %B: memref<3x3xi32>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %m1 = arith.constant -1 : index
  %seven = arith.constant 7 : i32
  tile.fill %seven : i32, (%A[%m1, %m1] [%c3, %c5] : memref<3x3xi32>)
  tile.print "A" (%A[%c0, %c0] [%c3, %c3] : memref<3x3xi32>)
  tile.print "around" (%A[%m1, %m1] [%c5, %c5] : memref<3x3xi32>)
  tile.copy(%B[%c0, %m1] [%c3, %c5] : memref<3x3xi32>, %A[%m1, %c0] [%c3, %c5] : memref<3x3xi32>)
  tile.print "B" (%B[%c0, %c0] [%c3, %c3] : memref<3x3xi32>)
  return
}
// GUARD:      A: tensor({{\[\[}} 7,  7,  7],
// GUARD-NEXT:            [ 7,  7,  7],
// GUARD-NEXT:            [{{ *-?[0-9]+, *-?[0-9]+, *-?[0-9]+}}]], dtype=int32)
// GUARD-NEXT: around: tensor({{\[\[}} 0,  0,  0,  0,  0],
// GUARD-NEXT:            [ 0,  7,  7,  7,  0],
// GUARD:      B: tensor({{\[\[}}0, 0, 0],
// GUARD-NEXT:            [7, 7, 0],
// GUARD-NEXT:            [7, 7, 0]], dtype=int32)

func.func @padded(%A: memref<3xf16>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %T = tile.alloc "T" : memref<4xf16, #ub>
  tile.copy(%T[%c0] [%c4] : memref<4xf16, #ub>, %A[%c2] [%c4] : memref<3xf16>) {pad = -1.5 : f64}
  tile.print "T" (%T[%c0] [%c4] : memref<4xf16, #ub>)
  return
}
// PAD: T: tensor([ 2.0000, -1.5000, -1.5000, -1.5000], dtype=float16)

// The source is read before the destination is written.
func.func @overlap(%A: memref<6xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  tile.copy(%A[%c1] [%c5] : memref<6xi32>, %A[%c0] [%c5] : memref<6xi32>)
  tile.print "A" (%A[%c0] [%c6] : memref<6xi32>)
  return
}
// OVERLAP: A: tensor([0, 0, 1, 2, 3, 4], dtype=int32)

// Boxes match once dimensions of size 1 are dropped.
func.func @ranks(%A: memref<2x3x2x4xi64>, %B: memref<3x4xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  tile.copy(%B[%c0, %c0] [%c3, %c4] : memref<3x4xi64>, %A[%c1, %c0, %c1, %c0] [%c1, %c3, %c1, %c4] : memref<2x3x2x4xi64>)
  tile.print "B" (%B[%c0, %c0] [%c3, %c4] : memref<3x4xi64>)
  return
}
// RANKS:      B: tensor({{\[\[}}28, 29, 30, 31],
// RANKS-NEXT:            [36, 37, 38, 39],
// RANKS-NEXT:            [44, 45, 46, 47]])

// Floats narrow half to even; float to integer truncates and saturates, NaN gives 0; integers wrap.
func.func @casts(%F: memref<6xf32>, %H: memref<6xf16>, %I: memref<6xi8>, %U: memref<6xui8>, %P: memref<6xi1>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %a = arith.constant 2049.0 : f32
  %b = arith.constant -2051.0 : f32
  %c = arith.constant 1.0e5 : f32
  %d = arith.constant 0x7FC00000 : f32
  %e = arith.constant -2.75 : f32
  %z = arith.constant 0.0 : f32
  tile.store %a, %F[%c0] : f32, memref<6xf32>
  tile.store %b, %F[%c1] : f32, memref<6xf32>
  tile.store %c, %F[%c2] : f32, memref<6xf32>
  tile.store %d, %F[%c3] : f32, memref<6xf32>
  tile.store %e, %F[%c4] : f32, memref<6xf32>
  tile.store %z, %F[%c5] : f32, memref<6xf32>
  tile.copy(%H[%c0] [%c6] : memref<6xf16>, %F[%c0] [%c6] : memref<6xf32>)
  tile.copy(%I[%c0] [%c6] : memref<6xi8>, %F[%c0] [%c6] : memref<6xf32>)
  tile.copy(%U[%c0] [%c6] : memref<6xui8>, %I[%c0] [%c6] : memref<6xi8>)
  tile.copy(%P[%c0] [%c6] : memref<6xi1>, %F[%c0] [%c6] : memref<6xf32>)
  tile.print "H" (%H[%c0] [%c6] : memref<6xf16>)
  tile.print "I" (%I[%c0] [%c6] : memref<6xi8>)
  tile.print "U" (%U[%c0] [%c6] : memref<6xui8>)
  tile.print "P" (%P[%c0] [%c6] : memref<6xi1>)
  return
}
// CASTS:      H: tensor([ 2048.0000, -2052.0000, inf, nan, -2.7500, 0.0000], dtype=float16)
// CASTS-NEXT: I: tensor([ 127, -128,  127,    0,   -2,    0], dtype=int8)
// CASTS-NEXT: U: tensor([127, 128, 127,   0, 254,   0], dtype=uint8)
// CASTS-NEXT: P: tensor([ True,  True,  True,  True,  True, False])

// Sizes known at run time only, one of them 0.
func.func @sizes(%A: memref<?xi32>, %B: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %extent = memref.dim %A, %c0 : memref<?xi32>
  %zero = arith.constant 0 : i32
  tile.fill %zero : i32, (%B[%c0] [%extent] : memref<?xi32>)
  tile.copy(%B[%c1] [%n] : memref<?xi32>, %A[%c0] [%n] : memref<?xi32>)
  tile.copy(%B[%c0] [%c0] : memref<?xi32>, %A[%c0] [%c0] : memref<?xi32>)
  tile.print "B" (%B[%c0] [%extent] : memref<?xi32>)
  return
}
// SIZES: B: tensor([0, 0, 1, 2, 0], dtype=int32)

func.func @gather(%A: memref<2x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %m1 = arith.constant -1 : index
  %T = tile.alloc "T" : memref<2x4xf32, #ub>
  %I = tile.alloc "I" : memref<2x3xi32, #ub>
  %D = tile.alloc "D" : memref<2x3xf32, #ub>
  tile.copy(%T[%c0, %c0] [%c2, %c4] : memref<2x4xf32, #ub>, %A[%c0, %c0] [%c2, %c4] : memref<2x4xf32>)
  tile.iota(%I[%c0, %c0] [%c2, %c3] : memref<2x3xi32, #ub>) from %c3 by (%m1, %m1)
  tile.gather(%D[%c0, %c0] [%c2, %c3] : memref<2x3xf32, #ub>, %T[%c0, %c0] [%c2, %c4] : memref<2x4xf32, #ub>, %I[%c0, %c0] [%c2, %c3] : memref<2x3xi32, #ub>)
  tile.print "D" (%D[%c0, %c0] [%c2, %c3] : memref<2x3xf32, #ub>)
  return
}
// GATHER:      D: tensor({{\[\[}}3., 2., 1.],
// GATHER-NEXT:            [6., 5., 4.]])

func.func @iota(%A: memref<2x3xf16>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c10 = arith.constant 10 : index
  tile.iota(%A[%c0, %c0] [%c2, %c3] : memref<2x3xf16>) from %c3 by (%c10, %c2)
  tile.print "A" (%A[%c0, %c0] [%c2, %c3] : memref<2x3xf16>)
  return
}
// IOTA:      A: tensor({{\[\[}} 3.,  5.,  7.],
// IOTA-NEXT:            [13., 15., 17.]], dtype=float16)
