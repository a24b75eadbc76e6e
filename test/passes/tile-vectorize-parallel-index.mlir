// RUN: tilewright-opt %s --tile-vectorize-parallel --canonicalize 2>/dev/null | FileCheck %s
// RUN: tilewright-run %s --set 1=iota > %t.before
// RUN: tilewright-opt %s --tile-vectorize-parallel 2>/dev/null | tilewright-run --set 1=iota > %t.after
// RUN: diff %t.before %t.after
// RUN: tilewright-opt %s --tile-vectorize-parallel=plain | tilewright-run --set 1=iota > %t.plain
// RUN: diff %t.before %t.plain

// Indices: shifted, transposed, folded, through tables; stores that meet in one element.

#g = #tile.scope<global>
#s = #tile.scope<shared>

// CHECK-LABEL: func.func @indices
// CHECK-NOT: tile.parallel
func.func @indices(%x: memref<128xf32, #g> {tile.name = "x"}, %idx: memref<32xi32, #g> {tile.name = "idx"}, %kv: memref<64x32xf32, #g> {tile.name = "kv"},
                   %out: memref<32x128xf32, #g> {tile.name = "out"}, %packed: memref<32x8xf32, #g> {tile.name = "packed"}) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c32 = arith.constant 32 : index
  %c127 = arith.constant 127 : index
  %c128 = arith.constant 128 : index
  tile.launch (%bx) in (%c1) {
    // CHECK: %[[B:.*]] = tile.alloc "b"
    %b = tile.alloc "b" : memref<128xf32, #s>
    %y = tile.alloc "y" : memref<128xf32, #s>
    %w = tile.alloc "w" : memref<32x128xf32, #s>
    %t = tile.alloc "t" : memref<128x32xf32, #s>
    %v = tile.alloc "v" : memref<32x4xf32, #s>
    %table = tile.alloc "table" : memref<32xi32, #s>
    tile.parallel (%i) in (%c128) {
      %a = tile.load %x[%i] : memref<128xf32, #g> -> f32
      tile.store %a, %b[%i] : f32, memref<128xf32, #s>
    }
    // A stencil reads a box next to the other; the last point is a smaller box.
    // CHECK: tile.elementwise <add> (%[[Y:.*]][%c0] [%c127] {{.*}}, %[[B]][%c0] [%c127] {{.*}}, %[[B]][%c1] [%c127]
    tile.parallel (%i) in (%c127) {
      %next = arith.addi %i, %c1 : index
      %a = tile.load %b[%i] : memref<128xf32, #s> -> f32
      %c = tile.load %b[%next] : memref<128xf32, #s> -> f32
      %d = arith.addf %a, %c : f32
      tile.store %d, %y[%i] : f32, memref<128xf32, #s>
    }
    // In place the old values go aside first.
    // CHECK: tile.elementwise <copy> (%[[TMP:.*]][%c0] [%c127] {{.*}}, %[[B]][%c1] [%c127]
    // CHECK-NEXT: tile.elementwise <copy> (%[[B]][%c0] [%c127] {{.*}}, %[[TMP]]
    tile.parallel (%i) in (%c127) {
      %next = arith.addi %i, %c1 : index
      %c = tile.load %b[%next] : memref<128xf32, #s> -> f32
      tile.store %c, %b[%i] : f32, memref<128xf32, #s>
    }
    // Rotation and reversal: a tile of indices.
    // CHECK: tile.gather
    tile.parallel (%i) in (%c128) {
      %next = arith.addi %i, %c1 : index
      %k = arith.remsi %next, %c128 : index
      %c = tile.load %b[%k] : memref<128xf32, #s> -> f32
      tile.store %c, %y[%i] : f32, memref<128xf32, #s>
    }
    // CHECK: tile.iota {{.*}} from %c127 by(%c-1)
    // CHECK: tile.gather
    tile.parallel (%i) in (%c128) {
      %k = arith.subi %c127, %i : index
      %c = tile.load %y[%k] : memref<128xf32, #s> -> f32
      tile.store %c, %y[%i] : f32, memref<128xf32, #s>
    }
    // A broadcast needs no copy, a transposition is a map.
    // CHECK: tile.elementwise <copy> (%[[W:.*]][%c0, %c0] [%c32, %c128] {{.*}}, %[[Y]][%c0] [%c128] {{.*}}) {maps = [array<i64: 0, 1>, array<i64: 1>]}
    tile.parallel (%i, %j) in (%c32, %c128) {
      %c = tile.load %y[%j] : memref<128xf32, #s> -> f32
      tile.store %c, %w[%i, %j] : f32, memref<32x128xf32, #s>
    }
    // CHECK: {maps = [array<i64: 0, 1>, array<i64: 1, 0>]}
    tile.parallel (%i, %j) in (%c128, %c32) {
      %c = tile.load %w[%j, %i] : memref<32x128xf32, #s> -> f32
      tile.store %c, %t[%i, %j] : f32, memref<128x32xf32, #s>
    }
    // i % 12 of 32: three boxes, the last one shorter.
    // CHECK: scf.for %[[Q:.*]] = %c0 to %c3
    // CHECK: %[[FIRST:.*]] = arith.muli %[[Q]], %c12
    // CHECK: tile.elementwise <copy>
    tile.parallel (%i) in (%c32) {
      %k = arith.remsi %i, %c12 : index
      %c = tile.load %b[%k] : memref<128xf32, #s> -> f32
      tile.store %c, %y[%i] : f32, memref<128xf32, #s>
    }
    // j / 32: one scale per group.
    // CHECK: scf.for {{.*}} = %c0 to %c4
    // CHECK-NEXT: arith.muli
    // CHECK-NEXT: tile.elementwise <copy> ({{.*}} [%c32, %c32] {{.*}} [%c32, %c1]
    // CHECK: tile.elementwise <mul> (%[[W]]
    tile.parallel (%i, %j) in (%c32, %c128) {
      %k = arith.divsi %j, %c32 : index
      %c = tile.load %v[%i, %k] : memref<32x4xf32, #s> -> f32
      %d = tile.load %w[%i, %j] : memref<32x128xf32, #s> -> f32
      %e = arith.mulf %c, %d : f32
      tile.store %e, %w[%i, %j] : f32, memref<32x128xf32, #s>
    }
    tile.parallel (%i) in (%c32) {
      %c = tile.load %idx[%i] : memref<32xi32, #g> -> i32
      tile.store %c, %table[%i] : i32, memref<32xi32, #s>
    }
    // Rows of a tensor chosen by a table: one guarded copy a row.
    // CHECK: scf.for %[[ROW:.*]] = %c0 to %c32
    // CHECK-NEXT: %[[LOADED:.*]] = tile.load %{{.*}}[%[[ROW]]]
    // CHECK-NEXT: %[[AT:.*]] = arith.index_cast %[[LOADED]]
    // CHECK-NEXT: tile.copy ({{.*}}[%[[ROW]], %c0] [%c1, %c32] {{.*}}[%[[AT]], %c0] [%c1, %c32]
    tile.parallel (%i, %j) in (%c32, %c32) {
      %c = tile.load %table[%i] : memref<32xi32, #s> -> i32
      %k = arith.index_cast %c : i32 to index
      %d = tile.load %kv[%k, %j] : memref<64x32xf32, #g> -> f32
      tile.store %d, %w[%i, %j] : f32, memref<32x128xf32, #s>
    }
    // Elements of a tile chosen by a table.
    // CHECK: tile.gather
    tile.parallel (%i) in (%c32) {
      %c = tile.load %table[%i] : memref<32xi32, #s> -> i32
      %k = arith.index_cast %c : i32 to index
      %d = tile.load %y[%k] : memref<128xf32, #s> -> f32
      tile.store %d, %b[%i] : f32, memref<128xf32, #s>
    }
    // All lanes of a row store to one element: the last one counts.
    // CHECK: tile.elementwise <copy> (%[[Y]][%c0] [%c32] {{.*}}, %[[W]][%c0, %c127] [%c32, %c1]
    tile.parallel (%i, %j) in (%c32, %c128) {
      %d = tile.load %w[%i, %j] : memref<32x128xf32, #s> -> f32
      tile.store %d, %y[%i] : f32, memref<128xf32, #s>
    }
    // Lanes that meet in one element of an atomic keep their order.
    // CHECK: scf.for %[[K:.*]] = %c0 to %c128
    // CHECK-NEXT: tile.atomic <sum> (%[[Y]][%c0] [%c32] {{.*}}, %{{.*}}[%[[K]], %c0] [%c1, %c32]
    tile.parallel (%i, %j) in (%c32, %c128) {
      %d = tile.load %w[%i, %j] : memref<32x128xf32, #s> -> f32
      tile.atomic <sum> (%y[%i] [%c1] : memref<128xf32, #s>) scalar %d : f32
    }
    // A loop over independent turns is one more lane dimension.
    // CHECK: tile.elementwise <mul> (%[[W]][%c0, %c0] [%c32, %c128]
    tile.parallel (%i) in (%c32) {
      %c0 = arith.constant 0 : index
      scf.for %j = %c0 to %c128 step %c1 {
        %d = tile.load %w[%i, %j] : memref<32x128xf32, #s> -> f32
        %e = arith.mulf %d, %d : f32
        tile.store %e, %w[%i, %j] : f32, memref<32x128xf32, #s>
      }
    }
    // Columns of a compact tile into padded rows.
    // CHECK: tile.copy (%{{.*}}[%c0, %c2] [%c32, %c4] : memref<32x8xf32, {{.*}}, %{{.*}}[%c0, %c0] [%c32, %c4] : memref<32x4xf32
    tile.parallel (%i, %j) in (%c32, %c4) {
      %at = arith.addi %j, %c2 : index
      %d = tile.load %v[%i, %j] : memref<32x4xf32, #s> -> f32
      tile.store %d, %packed[%i, %at] : f32, memref<32x8xf32, #g>
    }
    // A sum that runs through a tensor row by row, and rows scattered by a table.
    // CHECK: scf.for %[[I:.*]] = %c0 to %c32
    // CHECK-NEXT: %[[AT2:.*]] = arith.muli %[[I]], %c4
    // CHECK-NEXT: tile.copy (%{{.*}}[%[[AT2]]] [%c4] : memref<128xf32, {{.*}}, %{{.*}}[%[[I]], %c0] [%c1, %c4]
    tile.parallel (%i, %j) in (%c32, %c4) {
      %k = arith.muli %i, %c4 : index
      %at = arith.addi %k, %j : index
      %d = tile.load %v[%i, %j] : memref<32x4xf32, #s> -> f32
      tile.store %d, %x[%at] : f32, memref<128xf32, #g>
    }
    // CHECK: scf.for %[[I:.*]] = %c0 to %c32
    // CHECK-NEXT: tile.load
    // CHECK-NEXT: arith.index_cast
    // CHECK-NEXT: tile.copy
    tile.parallel (%i, %j) in (%c32, %c32) {
      %c = tile.load %table[%i] : memref<32xi32, #s> -> i32
      %k = arith.index_cast %c : i32 to index
      %d = tile.load %t[%i, %j] : memref<128x32xf32, #s> -> f32
      tile.store %d, %kv[%k, %j] : f32, memref<64x32xf32, #g>
    }
    // A branch that no lane takes runs no block of its folded index.
    tile.parallel (%i) in (%c32) {
      %never = arith.cmpi sge, %i, %c128 : index
      %d = scf.if %never -> (f32) {
        %k = arith.divsi %i, %c12 : index
        %e = tile.load %b[%k] : memref<128xf32, #s> -> f32
        scf.yield %e : f32
      } else {
        %e = tile.load %y[%i] : memref<128xf32, #s> -> f32
        scf.yield %e : f32
      }
      tile.store %d, %y[%i] : f32, memref<128xf32, #s>
    }
    // A scatter stays scalar.
    // CHECK: scf.for
    // CHECK: tile.store %{{.*}}, %[[W]][
    tile.parallel (%i) in (%c32) {
      %k = arith.muli %i, %c2 : index
      %d = tile.load %y[%i] : memref<128xf32, #s> -> f32
      tile.store %d, %w[%i, %k] : f32, memref<32x128xf32, #s>
    }
    tile.parallel (%i, %j) in (%c32, %c128) {
      %a = tile.load %w[%i, %j] : memref<32x128xf32, #s> -> f32
      %c = tile.load %t[%j, %i] : memref<128x32xf32, #s> -> f32
      %d = tile.load %b[%j] : memref<128xf32, #s> -> f32
      %e = tile.load %y[%j] : memref<128xf32, #s> -> f32
      %f = arith.addf %a, %c : f32
      %h = arith.subf %d, %e : f32
      %k = arith.mulf %f, %h : f32
      tile.store %k, %out[%i, %j] : f32, memref<32x128xf32, #g>
    }
  }
  return
}
