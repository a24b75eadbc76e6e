// RUN: tilewright-run %s --function broadcast --set 0=iota --set 1=iota --set 2=iota | FileCheck %s --check-prefix=BROADCAST
// RUN: tilewright-run %s --function maps --set 0=iota | FileCheck %s --check-prefix=MAPS
// RUN: tilewright-run %s --function scalars --set 0=iota | FileCheck %s --check-prefix=SCALAR
// RUN: tilewright-run %s --function select | FileCheck %s --check-prefix=SELECT
// RUN: tilewright-run %s --function rounding | FileCheck %s --check-prefix=ROUND
// RUN: tilewright-run %s --function halves | FileCheck %s --check-prefix=HALF
// RUN: tilewright-run %s --function integers | FileCheck %s --check-prefix=INT
// RUN: tilewright-run %s --function booleans | FileCheck %s --check-prefix=BOOL
// RUN: tilewright-run %s --function nans | FileCheck %s --check-prefix=NAN
// RUN: tilewright-run %s --function same_as_scalar

#ub = #tile.scope<ub>

// Dimensions of size 1 broadcast; the destination may be an operand.
func.func @broadcast(%A: memref<2x3xf32>, %R: memref<1x3xf32>, %C: memref<2x1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  tile.elementwise <mul>(%A[%c0, %c0] [%c2, %c3] : memref<2x3xf32>, %R[%c0, %c0] [%c1, %c3] : memref<1x3xf32>, %A[%c0, %c0] [%c2, %c3] : memref<2x3xf32>)
  tile.print "A" (%A[%c0, %c0] [%c2, %c3] : memref<2x3xf32>)
  tile.elementwise <sub>(%A[%c0, %c0] [%c2, %c3] : memref<2x3xf32>, %C[%c0, %c0] [%c2, %c1] : memref<2x1xf32>, %R[%c0, %c0] [%c1, %c3] : memref<1x3xf32>)
  tile.print "A" (%A[%c0, %c0] [%c2, %c3] : memref<2x3xf32>)
  return
}
// BROADCAST:      A: tensor({{\[\[}} 0.,  1.,  4.],
// BROADCAST-NEXT:            [ 0.,  4., 10.]])
// BROADCAST-NEXT: A: tensor({{\[\[}} 0., -1., -2.],
// BROADCAST-NEXT:            [ 1.,  0., -1.]])

// Maps transpose and repeat: T[j, i] = A[i, j] + v[j].
func.func @maps(%A: memref<2x3xf32>, %T: memref<3x2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  tile.elementwise <add>(%T[%c0, %c0] [%c3, %c2] : memref<3x2xf32>, %A[%c0, %c0] [%c2, %c3] : memref<2x3xf32>, %A[%c1, %c0] [%c1, %c3] : memref<2x3xf32>)
    {maps = [array<i64: 1, 0>, array<i64: 0, 1>, array<i64: -1, 1>]}
  tile.print "T" (%T[%c0, %c0] [%c3, %c2] : memref<3x2xf32>)
  return
}
// MAPS:      T: tensor({{\[\[}} 3.,  6.],
// MAPS-NEXT:            [ 5.,  8.],
// MAPS-NEXT:            [ 7., 10.]])

func.func @scalars(%A: memref<4xf32>, %B: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %two = arith.constant 2.0 : f32
  tile.elementwise <sub>(%B[%c0] [%c4] : memref<4xf32>, %A[%c0] [%c4] : memref<4xf32>) scalar %two : f32
  tile.print "last" (%B[%c0] [%c4] : memref<4xf32>)
  tile.elementwise <sub>(%B[%c0] [%c4] : memref<4xf32>, %A[%c0] [%c4] : memref<4xf32>) scalar %two : f32 {scalar_first}
  tile.print "first" (%B[%c0] [%c4] : memref<4xf32>)
  return
}
// SCALAR: last: tensor([-2., -1.,  0.,  1.])
// SCALAR: first: tensor([ 2.,  1.,  0., -1.])

func.func @select(%A: memref<4xf32>, %B: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %two = arith.constant 2.0 : f32
  %nine = arith.constant 9.0 : f32
  %M = tile.alloc "M" : memref<4xi1, #ub>
  tile.iota(%A[%c0] [%c4] : memref<4xf32>) from %c0 by (%c1)
  tile.elementwise <ge>(%M[%c0] [%c4] : memref<4xi1, #ub>, %A[%c0] [%c4] : memref<4xf32>) scalar %two : f32
  tile.print "M" (%M[%c0] [%c4] : memref<4xi1, #ub>)
  tile.elementwise <select>(%B[%c0] [%c4] : memref<4xf32>, %M[%c0] [%c4] : memref<4xi1, #ub>, %A[%c0] [%c4] : memref<4xf32>) scalar %nine : f32
  tile.print "B" (%B[%c0] [%c4] : memref<4xf32>)
  return
}
// SELECT: M: tensor([False, False,  True,  True])
// SELECT: B: tensor([9., 9., 2., 3.])

// The rounding of casts to integers.
func.func @rounding(%F: memref<4xf32>, %I: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %start = arith.constant -1.5 : f32
  tile.iota(%F[%c0] [%c4] : memref<4xf32>) from %c0 by (%c1)
  tile.elementwise <add>(%F[%c0] [%c4] : memref<4xf32>, %F[%c0] [%c4] : memref<4xf32>) scalar %start : f32
  tile.elementwise <cast>(%I[%c0] [%c4] : memref<4xi32>, %F[%c0] [%c4] : memref<4xf32>)
  tile.print "rint" (%I[%c0] [%c4] : memref<4xi32>)
  tile.elementwise <cast>(%I[%c0] [%c4] : memref<4xi32>, %F[%c0] [%c4] : memref<4xf32>) {round = #tile.round_mode<round>}
  tile.print "round" (%I[%c0] [%c4] : memref<4xi32>)
  tile.elementwise <cast>(%I[%c0] [%c4] : memref<4xi32>, %F[%c0] [%c4] : memref<4xf32>) {round = #tile.round_mode<floor>}
  tile.print "floor" (%I[%c0] [%c4] : memref<4xi32>)
  tile.elementwise <cast>(%I[%c0] [%c4] : memref<4xi32>, %F[%c0] [%c4] : memref<4xf32>) {round = #tile.round_mode<trunc>}
  tile.print "trunc" (%I[%c0] [%c4] : memref<4xi32>)
  tile.elementwise <copy>(%I[%c0] [%c4] : memref<4xi32>, %F[%c0] [%c4] : memref<4xf32>)
  tile.print "copy" (%I[%c0] [%c4] : memref<4xi32>)
  return
}
// ROUND: rint: tensor([-2,  0,  0,  2], dtype=int32)
// ROUND: round: tensor([-2, -1,  1,  2], dtype=int32)
// ROUND: floor: tensor([-2, -1,  0,  1], dtype=int32)
// ROUND: trunc: tensor([-1,  0,  0,  1], dtype=int32)
// ROUND: copy: tensor([-1,  0,  0,  1], dtype=int32)

// Each op on f16 or bf16 rounds its result once; operands of f16 and f32 meet in f32.
func.func @halves(%H: memref<2xf16>, %B: memref<2xbf16>, %F: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %big = arith.constant 2048.0 : f16
  %one = arith.constant 1.0 : f16
  %bigb = arith.constant 256.0 : bf16
  %oneb = arith.constant 1.0 : bf16
  tile.fill %big : f16, (%H[%c0] [%c2] : memref<2xf16>)
  tile.elementwise <add>(%F[%c0] [%c2] : memref<2xf32>, %H[%c0] [%c2] : memref<2xf16>) scalar %one : f16
  tile.print "f32" (%F[%c0] [%c2] : memref<2xf32>)
  tile.elementwise <add>(%H[%c0] [%c2] : memref<2xf16>, %H[%c0] [%c2] : memref<2xf16>) scalar %one : f16
  tile.print "f16" (%H[%c0] [%c2] : memref<2xf16>)
  tile.fill %bigb : bf16, (%B[%c0] [%c2] : memref<2xbf16>)
  tile.elementwise <add>(%B[%c0] [%c2] : memref<2xbf16>, %B[%c0] [%c2] : memref<2xbf16>) scalar %oneb : bf16
  tile.print "bf16" (%B[%c0] [%c2] : memref<2xbf16>)
  tile.elementwise <mul>(%F[%c0] [%c2] : memref<2xf32>, %H[%c0] [%c2] : memref<2xf16>, %F[%c0] [%c2] : memref<2xf32>)
  tile.print "mixed" (%F[%c0] [%c2] : memref<2xf32>)
  return
}
// HALF: f32: tensor([2049., 2049.])
// HALF: f16: tensor([2048., 2048.], dtype=float16)
// HALF: bf16: tensor([256., 256.], dtype=bfloat16)
// HALF: mixed: tensor([4196352., 4196352.])

// Signedness is the element type's; results wrap; // and % floor; division by zero gives 0.
func.func @integers(%S: memref<3xi8>, %U: memref<3xui8>, %T: memref<3xi8>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c1 = arith.constant 1 : index
  %m7 = arith.constant -7 : i8
  %two = arith.constant 2 : i8
  %zero = arith.constant 0 : i8
  %start = arith.constant 126 : index
  tile.iota(%S[%c0] [%c3] : memref<3xi8>) from %start by (%c1)
  tile.iota(%U[%c0] [%c3] : memref<3xui8>) from %start by (%c1)
  tile.print "S" (%S[%c0] [%c3] : memref<3xi8>)
  tile.elementwise <div>(%S[%c0] [%c3] : memref<3xi8>, %S[%c0] [%c3] : memref<3xi8>) scalar %two : i8
  tile.print "S / 2" (%S[%c0] [%c3] : memref<3xi8>)
  tile.elementwise <div>(%U[%c0] [%c3] : memref<3xui8>, %U[%c0] [%c3] : memref<3xui8>) scalar %two : i8
  tile.print "U / 2" (%U[%c0] [%c3] : memref<3xui8>)
  tile.fill %m7 : i8, (%T[%c0] [%c3] : memref<3xi8>)
  tile.elementwise <floordiv>(%S[%c0] [%c3] : memref<3xi8>, %T[%c0] [%c3] : memref<3xi8>) scalar %two : i8
  tile.print "-7 // 2" (%S[%c0] [%c3] : memref<3xi8>)
  tile.elementwise <floormod>(%S[%c0] [%c3] : memref<3xi8>, %T[%c0] [%c3] : memref<3xi8>) scalar %two : i8
  tile.print "-7 % 2" (%S[%c0] [%c3] : memref<3xi8>)
  tile.elementwise <rem>(%S[%c0] [%c3] : memref<3xi8>, %T[%c0] [%c3] : memref<3xi8>) scalar %two : i8
  tile.print "rem" (%S[%c0] [%c3] : memref<3xi8>)
  tile.elementwise <div>(%S[%c0] [%c3] : memref<3xi8>, %T[%c0] [%c3] : memref<3xi8>) scalar %zero : i8
  tile.print "-7 / 0" (%S[%c0] [%c3] : memref<3xi8>)
  tile.elementwise <shr>(%S[%c0] [%c3] : memref<3xi8>, %T[%c0] [%c3] : memref<3xi8>) scalar %two : i8
  tile.print "-7 >> 2" (%S[%c0] [%c3] : memref<3xi8>)
  tile.elementwise <not>(%S[%c0] [%c3] : memref<3xi8>, %T[%c0] [%c3] : memref<3xi8>)
  tile.print "~-7" (%S[%c0] [%c3] : memref<3xi8>)
  return
}
// INT: S: tensor([ 126,  127, -128], dtype=int8)
// INT: S / 2: tensor([ 63,  63, -64], dtype=int8)
// INT: U / 2: tensor([63, 63, 64], dtype=uint8)
// INT: -7 // 2: tensor([-4, -4, -4], dtype=int8)
// INT: -7 % 2: tensor([1, 1, 1], dtype=int8)
// INT: rem: tensor([-1, -1, -1], dtype=int8)
// INT: -7 / 0: tensor([0, 0, 0], dtype=int8)
// INT: -7 >> 2: tensor([-2, -2, -2], dtype=int8)
// INT: ~-7: tensor([6, 6, 6], dtype=int8)

func.func @booleans(%P: memref<2xi1>, %Q: memref<2xi1>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %true = arith.constant true
  %false = arith.constant false
  tile.fill %true : i1, (%P[%c0] [%c2] : memref<2xi1>)
  tile.store %false, %P[%c1] : i1, memref<2xi1>
  tile.elementwise <not>(%Q[%c0] [%c2] : memref<2xi1>, %P[%c0] [%c2] : memref<2xi1>)
  tile.print "not" (%Q[%c0] [%c2] : memref<2xi1>)
  tile.elementwise <and>(%Q[%c0] [%c2] : memref<2xi1>, %P[%c0] [%c2] : memref<2xi1>, %Q[%c0] [%c2] : memref<2xi1>)
  tile.print "and" (%Q[%c0] [%c2] : memref<2xi1>)
  return
}
// BOOL: not: tensor([False,  True])
// BOOL: and: tensor([False, False])

// max and min propagate NaN, maxnum and minnum do not.
func.func @nans(%A: memref<2xf32>, %B: memref<2xf32>, %P: memref<2xi1>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %nan = arith.constant 0x7FC00000 : f32
  %one = arith.constant 1.0 : f32
  tile.store %nan, %A[%c0] : f32, memref<2xf32>
  tile.store %one, %A[%c1] : f32, memref<2xf32>
  tile.elementwise <max>(%B[%c0] [%c2] : memref<2xf32>, %A[%c0] [%c2] : memref<2xf32>) scalar %one : f32
  tile.print "max" (%B[%c0] [%c2] : memref<2xf32>)
  tile.elementwise <minnum>(%B[%c0] [%c2] : memref<2xf32>, %A[%c0] [%c2] : memref<2xf32>) scalar %one : f32
  tile.print "minnum" (%B[%c0] [%c2] : memref<2xf32>)
  tile.elementwise <isnan>(%P[%c0] [%c2] : memref<2xi1>, %A[%c0] [%c2] : memref<2xf32>)
  tile.print "isnan" (%P[%c0] [%c2] : memref<2xi1>)
  tile.elementwise <ne>(%P[%c0] [%c2] : memref<2xi1>, %A[%c0] [%c2] : memref<2xf32>, %A[%c0] [%c2] : memref<2xf32>)
  tile.print "ne" (%P[%c0] [%c2] : memref<2xi1>)
  return
}
// NAN: max: tensor([nan, 1.])
// NAN: minnum: tensor([1., 1.])
// NAN: isnan: tensor([ True, False])
// NAN: ne: tensor([ True, False])

// Functions of tiles and of scalars are the same, bit for bit.
func.func @same_as_scalar(%A: memref<40xf16>, %B: memref<40xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  tile.elementwise <exp>(%B[%c0] [%c40] : memref<40xf16>, %A[%c0] [%c40] : memref<40xf16>)
  scf.for %i = %c0 to %c40 step %c1 {
    %a = tile.load %A[%i] : memref<40xf16> -> f16
    %e = math.exp %a : f16
    %got = tile.load %B[%i] : memref<40xf16> -> f16
    %same = arith.cmpf oeq, %e, %got : f16
    tile.assert %same, "exp differs"
  }
  tile.elementwise <tanh>(%B[%c0] [%c40] : memref<40xf16>, %A[%c0] [%c40] : memref<40xf16>)
  scf.for %i = %c0 to %c40 step %c1 {
    %a = tile.load %A[%i] : memref<40xf16> -> f16
    %e = math.tanh %a : f16
    %got = tile.load %B[%i] : memref<40xf16> -> f16
    %same = arith.cmpf oeq, %e, %got : f16
    tile.assert %same, "tanh differs"
  }
  return
}
