// RUN: tilewright-opt %s --tile-vectorize-parallel --canonicalize | FileCheck %s
// RUN: tilewright-run %s --shape 0=24 > %t.before
// RUN: tilewright-opt %s --tile-vectorize-parallel | tilewright-run --shape 0=24 > %t.after
// RUN: diff %t.before %t.after

// A condition that no lane meets: its boxes would begin in front of the tile.

#g = #tile.scope<global>
#s = #tile.scope<shared>

// CHECK-LABEL: func.func @none
// CHECK: tile.elementwise <exp>
// CHECK-NOT: tile.elementwise
// CHECK: tile.copy
func.func @none(%y: memref<24xf32, #g> {tile.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<24xf32, #s>
    tile.copy (%a[%c0] [%c24] : memref<24xf32, #s>, %y[%c0] [%c24] : memref<24xf32, #g>)
    tile.parallel (%j) in (%c1) {
      %v = tile.load %a[%j] : memref<24xf32, #s> -> f32
      %e = math.exp %v : f32
      tile.store %e, %a[%j] : f32, memref<24xf32, #s>
      %late = arith.cmpi sge, %j, %c2 : index
      scf.if %late {
        %p = arith.subi %j, %c2 : index
        %w = tile.load %a[%p] : memref<24xf32, #s> -> f32
        %x = arith.addf %w, %w : f32
        tile.store %x, %a[%j] : f32, memref<24xf32, #s>
      }
    }
    tile.copy (%y[%c0] [%c24] : memref<24xf32, #g>, %a[%c0] [%c24] : memref<24xf32, #s>)
  }
  return
}
