// RUN: tilewright-opt %s --npu-plan-memory -o %t.mlir
// RUN: tilewright-sim %t.mlir --check --set 0=iota | FileCheck %s
// RUN: tilewright-sim %t.mlir --print-program | FileCheck %s --check-prefix=CODE

// Tile instructions: broadcasts and transposes by maps, reductions over an outer dimension, scans, row-wise
// gathers, iota, comparison and select, scalar operands, copies between boxes of different rank.

#gm = #npu.space<gm>
#ub = #npu.space<ub>

// CODE: copy {UB{{.*}} 3x4xf32 strides 8,1}, {UB{{.*}} 3x4xf32 strides 1,8} "copy t <- flipped"
// CODE: reduce sum {UB{{.*}} 3x4xf32 strides 0,1}
// CODE: binary_scalar sub {{.*}} "sub t <- t, scalar"

// Input 1 x 3 x 4: 0 .. 11.
// CHECK: t: tensor({{\[\[}}0., 1., 2., 3.],
// CHECK-NOT: finding
// CHECK: float32 [12, 4] checksum
// Column sums; rows reversed by the gather; a scanned row; 100 - x - 6; select(x < 6, x, 0).
// CHECK-NEXT: 12., 15., 18., 21.
// CHECK-NEXT: [ 3., 2., 1., 0.]
// CHECK-NEXT: [ 7., 6., 5., 4.]
// CHECK-NEXT: [ 11., 10., 9., 8.]
// CHECK-NEXT: [ 4., 9., 15., 22.]
// CHECK-NEXT: [ 90., 89., 88., 87.]
// CHECK-NEXT: [ 0., 1., 2., 3.]
// CHECK-NEXT: [ 4., 5., 0., 0.]
// CHECK-NEXT: [ 0., 0., 0., 0.]
// CHECK-NEXT: [ 0., 1., 2., 3.]
// CHECK-NEXT: [ 4., 5., 100., 100.]
// CHECK-NEXT: [100., 100., 100., 100.]
func.func @ops(%A: memref<1x3x4xf32> {tile.name = "A"}, %C: memref<12x4xf32> {tile.name = "C", tile.output}) {
  npu.launch aiv @ops_aiv(%A, %C) : memref<1x3x4xf32>, memref<12x4xf32>
  return
}

func.func @ops_aiv(%A: memref<1x3x4xf32, #gm> {npu.name = "A"}, %C: memref<12x4xf32, #gm> {npu.name = "C"})
    attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c9 = arith.constant 9 : index
  %m1 = arith.constant -1 : index
  %hundred = arith.constant 100.0 : f32
  %six = arith.constant 6.0 : f32
  %x = npu.alloc "x" : memref<3x4xf32, #ub>
  %t = npu.alloc "t" : memref<3x4xf32, #ub>
  %flipped = npu.alloc "flipped" : memref<4x3xf32, #ub>
  %t2 = npu.alloc "t2" : memref<3x4xf32, #ub>
  %row = npu.alloc "row" : memref<4xf32, #ub>
  %index = npu.alloc "index" : memref<3x4xi32, #ub>
  %mask = npu.alloc "mask" : memref<3x4xi1, #ub>
  %zeros = npu.alloc "zeros" : memref<3x1xf32, #ub>
  %zero = arith.constant 0.0 : f32
  %id = npu.core_id
  %isFirst = arith.cmpi eq, %id, %c0 : index
  scf.if %isFirst {
    npu.load (%x[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>, %A[%c0, %c0, %c0] [%c1, %c3, %c4] : memref<1x3x4xf32, #gm>)
    npu.barrier <All>
    npu.elementwise <copy> (%flipped[%c0, %c0] [%c4, %c3] : memref<4x3xf32, #ub>, %x[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>)
                           {maps = [array<i64: 0, 1>, array<i64: 1, 0>]}
    npu.barrier <All>
    npu.elementwise <copy> (%t[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>, %flipped[%c0, %c0] [%c4, %c3] : memref<4x3xf32, #ub>)
                           {maps = [array<i64: 0, 1>, array<i64: 1, 0>]}
    npu.barrier <All>
    npu.reduce <sum> (%row[%c0] [%c4] : memref<4xf32, #ub>, %t[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>) dims = [0] {dst_map = array<i64: 1>}
    npu.barrier <All>
    npu.store (%C[%c0, %c0] [%c1, %c4] : memref<12x4xf32, #gm>, %row[%c0] [%c4] : memref<4xf32, #ub>)
    npu.iota (%index[%c0, %c0] [%c3, %c4] : memref<3x4xi32, #ub>) from %c3 by (%c0, %m1)
    npu.barrier <All>
    npu.gather (%t[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>, %x[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>,
                %index[%c0, %c0] [%c3, %c4] : memref<3x4xi32, #ub>)
    npu.barrier <All>
    npu.store (%C[%c1, %c0] [%c3, %c4] : memref<12x4xf32, #gm>, %t[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>)
    npu.barrier <All>
    npu.scan <sum> (%t[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>, %x[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>) dim = 1
    npu.barrier <All>
    npu.store (%C[%c4, %c0] [%c1, %c4] : memref<12x4xf32, #gm>, %t[%c1, %c0] [%c1, %c4] : memref<3x4xf32, #ub>)
    npu.barrier <All>
    npu.elementwise <sub> (%t[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>, %x[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>)
                          scalar %hundred : f32 {maps = [array<i64: 0, 1>, array<i64: 0, 1>], scalar_first}
    npu.barrier <All>
    npu.elementwise <sub> (%t[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>, %t[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>)
                          scalar %six : f32 {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
    npu.barrier <All>
    npu.store (%C[%c5, %c0] [%c1, %c4] : memref<12x4xf32, #gm>, %t[%c1, %c0] [%c1, %c4] : memref<3x4xf32, #ub>)
    npu.barrier <All>
    npu.fill %zero : f32, (%zeros[%c0, %c0] [%c3, %c1] : memref<3x1xf32, #ub>)
    npu.elementwise <lt> (%mask[%c0, %c0] [%c3, %c4] : memref<3x4xi1, #ub>, %x[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>)
                         scalar %six : f32 {maps = [array<i64: 0, 1>, array<i64: 0, 1>]}
    npu.barrier <All>
    npu.elementwise <select> (%t[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>, %mask[%c0, %c0] [%c3, %c4] : memref<3x4xi1, #ub>,
                              %x[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>, %zeros[%c0, %c0] [%c3, %c1] : memref<3x1xf32, #ub>)
                             {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0, -1>]}
    npu.barrier <All>
    npu.store (%C[%c6, %c0] [%c3, %c4] : memref<12x4xf32, #gm>, %t[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>)
    npu.elementwise <select> (%flipped[%c0, %c0] [%c4, %c3] : memref<4x3xf32, #ub>, %mask[%c0, %c0] [%c3, %c4] : memref<3x4xi1, #ub>,
                              %x[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>) scalar %hundred : f32
                             {maps = [array<i64: 1, 0>, array<i64: 0, 1>, array<i64: 0, 1>]}
    npu.barrier <All>
    npu.elementwise <copy> (%t2[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>, %flipped[%c0, %c0] [%c4, %c3] : memref<4x3xf32, #ub>)
                           {maps = [array<i64: 0, 1>, array<i64: 1, 0>]}
    npu.barrier <All>
    npu.store (%C[%c9, %c0] [%c3, %c4] : memref<12x4xf32, #gm>, %t2[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>)
    npu.print "t" (%t[%c0, %c0] [%c3, %c4] : memref<3x4xf32, #ub>)
    npu.barrier <All>
  }
  return
}
