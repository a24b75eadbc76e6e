// RUN: tilewright-run %s --set 0=iota --set 1=iota | FileCheck %s --match-full-lines --strict-whitespace

func.func @main(%A: memref<2x2x3xf32>, %L: memref<40x40xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c40 = arith.constant 40 : index
  %quarter = arith.constant 0.25 : f32
  %tiny = arith.constant 1.0e-6 : f32
  tile.print "cube" (%A[%c0, %c0, %c0] [%c2, %c2, %c3] : memref<2x2x3xf32>)
//CHECK:cube: tensor({{\[\[\[}} 0.,  1.,  2.],
//CHECK-NEXT:         [ 3.,  4.,  5.]],
//CHECK-EMPTY:
//CHECK-NEXT:        {{\[\[}} 6.,  7.,  8.],
//CHECK-NEXT:         [ 9., 10., 11.]]])
  tile.elementwise <mul>(%A[%c0, %c0, %c0] [%c1, %c1, %c3] : memref<2x2x3xf32>, %A[%c0, %c0, %c0] [%c1, %c1, %c3] : memref<2x2x3xf32>) scalar %quarter : f32
  tile.print "fractions" (%A[%c0, %c0, %c0] [%c1, %c1, %c3] : memref<2x2x3xf32>)
//CHECK-NEXT:fractions: tensor({{\[\[\[}}0.0000, 0.2500, 0.5000]]])
  tile.store %tiny, %A[%c0, %c0, %c0] : f32, memref<2x2x3xf32>
  tile.print "wide" (%A[%c0, %c0, %c0] [%c1, %c1, %c3] : memref<2x2x3xf32>)
//CHECK-NEXT:wide: tensor({{\[\[\[}}1.0000e-06, 2.5000e-01, 5.0000e-01]]])
  tile.print "large" (%L[%c0, %c0] [%c40, %c40] : memref<40x40xi32>)
//CHECK-NEXT:large: tensor({{\[\[}}   0,    1,    2, ...,   37,   38,   39],
//CHECK-NEXT:        [  40,   41,   42, ...,   77,   78,   79],
//CHECK-NEXT:        [  80,   81,   82, ...,  117,  118,  119],
//CHECK-NEXT:        ...,
//CHECK-NEXT:        [1480, 1481, 1482, ..., 1517, 1518, 1519],
//CHECK-NEXT:        [1520, 1521, 1522, ..., 1557, 1558, 1559],
//CHECK-NEXT:        [1560, 1561, 1562, ..., 1597, 1598, 1599]], dtype=int32)
  tile.print "scalar" () scalar %quarter : f32
//CHECK-NEXT:scalar: 0.25
  tile.print "" () scalar %c40 : index
//CHECK-NEXT:40
  tile.print "words alone" ()
//CHECK-NEXT:words alone
  return
}
