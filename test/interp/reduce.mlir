// RUN: tilewright-run %s --function dims --set 0=iota | FileCheck %s --check-prefix=DIMS
// RUN: tilewright-run %s --function order
// RUN: tilewright-run %s --function narrow | FileCheck %s --check-prefix=NARROW
// RUN: tilewright-run %s --function kinds | FileCheck %s --check-prefix=KINDS
// RUN: tilewright-run %s --function scan --set 0=iota | FileCheck %s --check-prefix=SCAN
// RUN: tilewright-run %s --function atomic | FileCheck %s --check-prefix=ATOMIC

#ub = #tile.scope<ub>

func.func @dims(%A: memref<2x3xf32>, %R: memref<3xf32>, %C: memref<2x1xf32>, %S: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  tile.reduce <sum>(%R[%c0] [%c3] : memref<3xf32>, %A[%c0, %c0] [%c2, %c3] : memref<2x3xf32>) dims = [0]
  tile.print "rows" (%R[%c0] [%c3] : memref<3xf32>)
  tile.reduce <max>(%C[%c0, %c0] [%c2, %c1] : memref<2x1xf32>, %A[%c0, %c0] [%c2, %c3] : memref<2x3xf32>) dims = [1]
  tile.print "columns" (%C[%c0, %c0] [%c2, %c1] : memref<2x1xf32>)
  tile.reduce <sum>(%C[%c0, %c0] [%c2, %c1] : memref<2x1xf32>, %A[%c0, %c0] [%c2, %c3] : memref<2x3xf32>) dims = [1] {accumulate}
  tile.print "more" (%C[%c0, %c0] [%c2, %c1] : memref<2x1xf32>)
  tile.reduce <sum>(%S[%c0] [%c1] : memref<1xf32>, %A[%c0, %c0] [%c2, %c3] : memref<2x3xf32>) dims = [0, 1]
  tile.print "all" (%S[%c0] [%c1] : memref<1xf32>)
  tile.reduce <max>(%S[%c0] [%c1] : memref<1xf32>, %A[%c0, %c0] [%c2, %c0] : memref<2x3xf32>) dims = [0, 1]
  tile.print "none" (%S[%c0] [%c1] : memref<1xf32>)
  return
}
// DIMS: rows: tensor([3., 5., 7.])
// DIMS: columns: tensor({{\[\[}}2.],
// DIMS: [5.]])
// DIMS: more: tensor({{\[\[}} 5.],
// DIMS: [17.]])
// DIMS: all: tensor([15.])
// DIMS: none: tensor([-inf])

// The last dimension is summed in 64 lanes, then neighbours join; written out here in scalars.
func.func @order(%A: memref<1x200xf32>, %S: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  %c64 = arith.constant 64 : index
  %c200 = arith.constant 200 : index
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.3 : f32
  %lanes = tile.alloc "lanes" : memref<64xf32, #ub>
  tile.elementwise <mul>(%A[%c0, %c0] [%c1, %c200] : memref<1x200xf32>, %A[%c0, %c0] [%c1, %c200] : memref<1x200xf32>) scalar %scale : f32
  scf.for %i = %c0 to %c200 step %c1 {
    %l = arith.remui %i, %c64 : index
    %a = tile.load %A[%c0, %i] : memref<1x200xf32> -> f32
    %old = tile.load %lanes[%l] : memref<64xf32, #ub> -> f32
    %new = arith.addf %old, %a : f32
    tile.store %new, %lanes[%l] : f32, memref<64xf32, #ub>
  }
  scf.for %step = %c0 to %c6 step %c1 {
    %shift = arith.addi %step, %c1 : index
    %width = arith.shrui %c64, %shift : index
    scf.for %l = %c0 to %width step %c1 {
      %left = arith.muli %l, %c2 : index
      %right = arith.addi %left, %c1 : index
      %a = tile.load %lanes[%left] : memref<64xf32, #ub> -> f32
      %b = tile.load %lanes[%right] : memref<64xf32, #ub> -> f32
      %sum = arith.addf %a, %b : f32
      tile.store %sum, %lanes[%l] : f32, memref<64xf32, #ub>
    }
  }
  tile.reduce <sum>(%S[%c0] [%c1] : memref<1xf32>, %A[%c0, %c0] [%c1, %c200] : memref<1x200xf32>) dims = [1]
  %expected = tile.load %lanes[%c0] : memref<64xf32, #ub> -> f32
  %got = tile.load %S[%c0] : memref<1xf32> -> f32
  %same = arith.cmpf oeq, %expected, %got : f32
  tile.assert %same, "order of the sum"
  return
}

// f16 sums accumulate in f32: 2048 + 1 + 1 + 1 is not stuck at 2048.
func.func @narrow(%A: memref<4xf16>, %S: memref<1xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f16
  %big = arith.constant 2048.0 : f16
  tile.fill %one : f16, (%A[%c0] [%c4] : memref<4xf16>)
  tile.store %big, %A[%c0] : f16, memref<4xf16>
  tile.reduce <sum>(%S[%c0] [%c1] : memref<1xf16>, %A[%c0] [%c4] : memref<4xf16>) dims = [0]
  tile.print "S" (%S[%c0] [%c1] : memref<1xf16>)
  return
}
// NARROW: S: tensor([2052.], dtype=float16)

func.func @kinds(%A: memref<4xi32>, %S: memref<1xi32>, %P: memref<1xi1>, %Q: memref<4xi1>, %W: memref<4xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %m2 = arith.constant -2 : index
  %zero = arith.constant 0 : i32
  %low = arith.constant -128 : i8
  tile.iota(%A[%c0] [%c4] : memref<4xi32>) from %m2 by (%c1)
  tile.reduce <abssum>(%S[%c0] [%c1] : memref<1xi32>, %A[%c0] [%c4] : memref<4xi32>) dims = [0]
  tile.print "abssum" (%S[%c0] [%c1] : memref<1xi32>)
  tile.reduce <absmax>(%S[%c0] [%c1] : memref<1xi32>, %A[%c0] [%c4] : memref<4xi32>) dims = [0]
  tile.print "absmax" (%S[%c0] [%c1] : memref<1xi32>)
  tile.reduce <min>(%S[%c0] [%c1] : memref<1xi32>, %A[%c0] [%c4] : memref<4xi32>) dims = [0]
  tile.print "min" (%S[%c0] [%c1] : memref<1xi32>)
  tile.reduce <prod>(%S[%c0] [%c1] : memref<1xi32>, %A[%c0] [%c4] : memref<4xi32>) dims = [0]
  tile.print "prod" (%S[%c0] [%c1] : memref<1xi32>)
  tile.reduce <xor>(%S[%c0] [%c1] : memref<1xi32>, %A[%c0] [%c4] : memref<4xi32>) dims = [0]
  tile.print "xor" (%S[%c0] [%c1] : memref<1xi32>)
  tile.elementwise <ne>(%Q[%c0] [%c4] : memref<4xi1>, %A[%c0] [%c4] : memref<4xi32>) scalar %zero : i32
  tile.reduce <and>(%P[%c0] [%c1] : memref<1xi1>, %Q[%c0] [%c4] : memref<4xi1>) dims = [0]
  tile.print "all" (%P[%c0] [%c1] : memref<1xi1>)
  tile.reduce <or>(%P[%c0] [%c1] : memref<1xi1>, %Q[%c0] [%c4] : memref<4xi1>) dims = [0]
  tile.print "any" (%P[%c0] [%c1] : memref<1xi1>)
  tile.fill %low : i8, (%W[%c0] [%c4] : memref<4xi8>)
  tile.reduce <sum>(%S[%c0] [%c1] : memref<1xi32>, %W[%c0] [%c4] : memref<4xi8>) dims = [0]
  tile.print "wide" (%S[%c0] [%c1] : memref<1xi32>)
  return
}
// KINDS: abssum: tensor([4], dtype=int32)
// KINDS: absmax: tensor([2], dtype=int32)
// KINDS: min: tensor([-2], dtype=int32)
// KINDS: prod: tensor([0], dtype=int32)
// KINDS: xor: tensor([0], dtype=int32)
// KINDS: all: tensor([False])
// KINDS: any: tensor([True])
// KINDS: wide: tensor([-512], dtype=int32)

func.func @scan(%A: memref<2x3xf32>, %B: memref<2x3xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  tile.scan <sum>(%B[%c0, %c0] [%c2, %c3] : memref<2x3xf32>, %A[%c0, %c0] [%c2, %c3] : memref<2x3xf32>) dim = 1
  tile.print "sum" (%B[%c0, %c0] [%c2, %c3] : memref<2x3xf32>)
  tile.scan <sum>(%B[%c0, %c0] [%c2, %c3] : memref<2x3xf32>, %A[%c0, %c0] [%c2, %c3] : memref<2x3xf32>) dim = 1 {reverse}
  tile.print "reverse" (%B[%c0, %c0] [%c2, %c3] : memref<2x3xf32>)
  tile.scan <max>(%A[%c0, %c0] [%c2, %c3] : memref<2x3xf32>, %B[%c0, %c0] [%c2, %c3] : memref<2x3xf32>) dim = 0
  tile.print "max" (%A[%c0, %c0] [%c2, %c3] : memref<2x3xf32>)
  return
}
// SCAN:      sum: tensor({{\[\[}} 0.,  1.,  3.],
// SCAN-NEXT:            [ 3.,  7., 12.]])
// SCAN-NEXT: reverse: tensor({{\[\[}} 3.,  3.,  2.],
// SCAN-NEXT:            [12.,  9.,  5.]])
// SCAN-NEXT: max: tensor({{\[\[}} 3.,  3.,  2.],
// SCAN-NEXT:            [12.,  9.,  5.]])

// Blocks add into one box, in their order; parts outside are dropped.
func.func @atomic(%A: memref<3xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  tile.fill %zero : f32, (%A[%c0] [%c3] : memref<3xf32>)
  tile.launch (%b) in (%c4) {
    %T = tile.alloc "T" : memref<2xf32, #ub>
    tile.fill %half : f32, (%T[%c0] [%c2] : memref<2xf32, #ub>)
    tile.atomic <sum>(%A[%b] [%c2] : memref<3xf32>, %T[%c0] [%c2] : memref<2xf32, #ub>)
    tile.atomic <max>(%A[%c0] [%c2] : memref<3xf32>) scalar %half : f32
  }
  tile.print "A" (%A[%c0] [%c3] : memref<3xf32>)
  return
}
// ATOMIC: A: tensor([0.5000, 1.0000, 1.0000])
