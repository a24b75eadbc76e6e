// RUN: tilewright-opt %s --tile-forward-scalars -o %t.after.mlir 2> %t.log
// RUN: FileCheck %s < %t.after.mlir
// RUN: FileCheck %s --check-prefix=REMARK < %t.log
// RUN: tilewright-run %s --checksums --function steered > %t.before
// RUN: tilewright-run %t.after.mlir --checksums --function steered > %t.now
// RUN: diff %t.before %t.now

// A counter in a tile becomes a variable; an element of a copied tile is read from the tensor.

#shared = #tile.scope<shared>
#fragment = #tile.scope<fragment>

// REMARK: [tile-forward-scalars] applied: an element of 'wanted' is read from 'mask' itself

// CHECK-LABEL: func.func @steered(
// CHECK: tile.alloc "at" : memref<i32, #tile.scope<local>>
// CHECK-NOT: memref<1xi32, #tile.scope<fragment>>
// CHECK: tile.load %arg1[{{.+}}, {{.+}}] : memref<2x4xi32>
// CHECK: tile.load %at[] : memref<i32
func.func @steered(%A: memref<16x16xf16> {tile.name = "A"}, %mask: memref<2x4xi32> {tile.name = "mask"},
                   %C: memref<2x16x16xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0 : i32
  %three = arith.constant 3 : i32
  %fzero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c2) {
    %a = tile.alloc "a" : memref<16x16xf16, #shared>
    %c = tile.alloc "c" : memref<16x16xf32, #fragment>
    %wanted = tile.alloc "wanted" : memref<4xi32, #fragment>
    %at = tile.alloc "at" : memref<1xi32, #fragment>
    tile.copy(%a[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #shared>, %A[%c0, %c0] [%c16, %c16] : memref<16x16xf16>)
    tile.copy(%wanted[%c0] [%c4] : memref<4xi32, #fragment>, %mask[%bx, %c0] [%c1, %c4] : memref<2x4xi32>)
    tile.fill %fzero : f32, (%c[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #fragment>)
    tile.store %three, %at[%c0] : i32, memref<1xi32, #fragment>
    scf.for %i = %c0 to %c4 step %c1 {
      %w = tile.load %wanted[%i] : memref<4xi32, #fragment> -> i32
      %n = tile.load %at[%c0] : memref<1xi32, #fragment> -> i32
      %take = arith.cmpi slt, %w, %n : i32
      scf.if %take {
        tile.gemm(%c[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #fragment>,
                  %a[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #shared>,
                  %a[%c0, %c0] [%c16, %c16] : memref<16x16xf16, #shared>)
      }
    }
    tile.copy(%C[%bx, %c0, %c0] [%c1, %c16, %c16] : memref<2x16x16xf32>, %c[%c0, %c0] [%c16, %c16] : memref<16x16xf32, #fragment>)
  }
  return
}

// What the launch writes is not read past the tile; without a product nothing changes.
// CHECK-LABEL: func.func @kept(
// CHECK: tile.load %wanted[
func.func @kept(%mask: memref<4xi32> {tile.name = "mask"}, %C: memref<4xi32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  tile.launch (%bx) in (%c1) {
    %wanted = tile.alloc "wanted" : memref<4xi32, #fragment>
    tile.copy(%wanted[%c0] [%c4] : memref<4xi32, #fragment>, %mask[%c0] [%c4] : memref<4xi32>)
    %w = tile.load %wanted[%c2] : memref<4xi32, #fragment> -> i32
    tile.store %w, %C[%c2] : i32, memref<4xi32>
  }
  return
}
