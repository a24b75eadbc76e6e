// RUN: tilewright-opt %s --tile-vectorize-parallel --canonicalize | FileCheck %s
// RUN: tilewright-run %s --shape 0=100x96 --shape 1=100x96 --set 2=70 > %t.before
// RUN: tilewright-opt %s --tile-vectorize-parallel | tilewright-run --shape 0=100x96 --shape 1=100x96 --set 2=70 > %t.after
// RUN: diff %t.before %t.after
// RUN: tilewright-opt %s --tile-vectorize-parallel=plain | tilewright-run --shape 0=100x96 --shape 1=100x96 --set 2=70 > %t.plain
// RUN: diff %t.before %t.plain

// Expressions, stores and masks that have a whole-tile form, each with the same result as lane by lane.

#g = #tile.scope<global>
#s = #tile.scope<shared>
#f = #tile.scope<fragment>

// CHECK-LABEL: func.func @forms
// CHECK-SAME: %[[X:.*]]: memref<?x96xf16{{.*}}, %[[Y:.*]]: memref<?x96xf16{{.*}}, %[[N:.*]]: index)
// CHECK-NOT: tile.parallel
func.func @forms(%x: memref<?x96xf16, #g> {tile.name = "x"}, %y: memref<?x96xf16, #g> {tile.name = "y"}, %n: index) {
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  %scale = arith.constant 1.250000e-01 : f32
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -1.0e+30 : f32
  tile.launch (%bx) in (%c2) {
    // The tile of i - j that conditions on both are compared with is made once.
    // CHECK: %[[IOTA:.*]] = tile.alloc "tmp" : memref<64x96xf16, #tile.scope<ub>>
    // CHECK-NEXT: tile.iota (%[[IOTA]]{{.*}} by(%c1{{.*}}, %c-1{{.*}})
    // CHECK: %[[A:.*]] = tile.alloc "a"
    // CHECK: %[[S:.*]] = tile.alloc "s"
    // CHECK: %[[M:.*]] = tile.alloc "m"
    %a = tile.alloc "a" : memref<64x96xf16, #s>
    %s = tile.alloc "s" : memref<64x96xf32, #f>
    %m = tile.alloc "m" : memref<64xf32, #f>

    // A move from global memory is one guarded copy.
    // CHECK: tile.copy (%[[A]][%c0, %c0] [%c64, %c96] : memref<64x96xf16, #tile.scope<shared>>, %[[X]][
    tile.parallel (%i, %j) in (%c64, %c96) {
      %r0 = arith.muli %bx, %c64 : index
      %r = arith.addi %r0, %i : index
      %v = tile.load %x[%r, %j] : memref<?x96xf16, #g> -> f16
      tile.store %v, %a[%i, %j] : f16, memref<64x96xf16, #s>
    }
    // CHECK-NEXT: tile.elementwise <cast> (%[[S]]{{.*}}, %[[A]]
    tile.parallel (%i, %j) in (%c64, %c96) {
      %v = tile.load %a[%i, %j] : memref<64x96xf16, #s> -> f16
      %w = arith.extf %v : f16 to f32
      tile.store %w, %s[%i, %j] : f32, memref<64x96xf32, #f>
    }
    // One element per row: a scalar index is a box of size 1.
    // CHECK-NEXT: tile.elementwise <exp> (%[[M]][%c0] [%c64] {{.*}}, %[[S]][%c0, %c3] [%c64, %c1] {{.*}}) {maps = [array<i64: 0>, array<i64: 0, -1>]}
    tile.parallel (%i) in (%c64) {
      %c3 = arith.constant 3 : index
      %v = tile.load %s[%i, %c3] : memref<64x96xf32, #f> -> f32
      %w = math.exp %v : f32
      tile.store %w, %m[%i] : f32, memref<64xf32, #f>
    }
    // A causal mask: one comparison with a scalar, one select.
    // CHECK: tile.elementwise <ge> (%[[MASK:.*]][%c0, %c0] [%c64, %c96] : memref<64x96xi1, #tile.scope<ub>>, %[[IOTA]]{{.*}} scalar %{{.*}} : f16
    // CHECK-NEXT: tile.elementwise <select> (%[[S]]{{.*}}, %[[MASK]]{{.*}}, %[[S]]{{.*}} scalar %{{.*}} : f32
    tile.parallel (%i, %j) in (%c64, %c96) {
      %r0 = arith.muli %bx, %c64 : index
      %r = arith.addi %r0, %i : index
      %c = arith.cmpi sge, %r, %j : index
      %v = tile.load %s[%i, %j] : memref<64x96xf32, #f> -> f32
      %w = arith.select %c, %v, %low : f32
      tile.store %w, %s[%i, %j] : f32, memref<64x96xf32, #f>
    }
    // A chain works in its destination; what varies along the rows only is computed for the rows only.
    // CHECK-NEXT: tile.elementwise <mul> (%[[R:.*]][%c0] [%c64] : memref<64xf32, #tile.scope<ub>>, %[[M]]
    // CHECK-NEXT: tile.elementwise <mul> (%[[S]]{{.*}}, %[[S]]{{.*}} scalar
    // CHECK-NEXT: tile.elementwise <sub> (%[[S]]{{.*}}, %[[S]]{{.*}}, %[[R]][%c0] [%c64] {{.*}}) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
    // CHECK-NEXT: tile.elementwise <exp2> (%[[S]]{{.*}}, %[[S]]
    tile.parallel (%i, %j) in (%c64, %c96) {
      %v = tile.load %s[%i, %j] : memref<64x96xf32, #f> -> f32
      %vs = arith.mulf %v, %scale : f32
      %b = tile.load %m[%i] : memref<64xf32, #f> -> f32
      %bs = arith.mulf %b, %scale : f32
      %d = arith.subf %vs, %bs : f32
      %e = math.exp2 %d : f32
      tile.store %e, %s[%i, %j] : f32, memref<64x96xf32, #f>
    }
    // A bound of one variable is a smaller box: no mask, no read outside.
    // CHECK: %[[MIN:.*]] = arith.minsi %[[N]], %c96
    // CHECK: %[[SIZE:.*]] = arith.maxsi %[[MIN]], %c0
    // CHECK: tile.fill %{{.*}} : f32, (%[[S]][%c0, %c0] [%c64, %[[SIZE]]]
    tile.parallel (%i, %j) in (%c64, %c96) {
      %c = arith.cmpi slt, %j, %n : index
      scf.if %c {
        tile.store %zero, %s[%i, %j] : f32, memref<64x96xf32, #f>
      }
    }
    // A condition on data is a mask.
    // CHECK: tile.elementwise <gt> (%[[MASK2:.*]][%c0, %c0] [%c64, %c96] : memref<64x96xi1, #tile.scope<ub>>, %[[S]]{{.*}}, %[[M]]
    // CHECK: tile.elementwise <select> (%[[S]]
    tile.parallel (%i, %j) in (%c64, %c96) {
      %v = tile.load %s[%i, %j] : memref<64x96xf32, #f> -> f32
      %b = tile.load %m[%i] : memref<64xf32, #f> -> f32
      %c = arith.cmpf ogt, %v, %b : f32
      scf.if %c {
        %w = arith.addf %v, %b : f32
        tile.store %w, %s[%i, %j] : f32, memref<64x96xf32, #f>
      }
    }
    // The copy out converts.
    // CHECK: tile.copy (%[[Y]]{{.*}} memref<?x96xf16, {{.*}}, %[[S]]
    tile.parallel (%i, %j) in (%c64, %c96) {
      %r0 = arith.muli %bx, %c64 : index
      %r = arith.addi %r0, %i : index
      %v = tile.load %s[%i, %j] : memref<64x96xf32, #f> -> f32
      %h = arith.truncf %v : f32 to f16
      tile.store %h, %y[%r, %j] : f16, memref<?x96xf16, #g>
    }
  }
  return
}

// Extents without a bound, and big ones between tensors: pieces of at most 4096 lanes.
// CHECK-LABEL: func.func private @pieces
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c1
// CHECK-NEXT: scf.for %[[AT:.*]] = %c0 to %[[N:.*]] step %c4096
// CHECK-NEXT: %[[REST:.*]] = arith.subi %[[N]], %[[AT]]
// CHECK-NEXT: %[[MIN:.*]] = arith.minsi %[[REST]], %c4096
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c512 step %c8
// CHECK-NEXT: tile.copy ({{.*}} : memref<8x512xf32, #tile.scope<ub>>, %{{.*}}[%[[ROW]], %c0] [%c8, %c512]
func.func private @pieces(%x: memref<?x?xf32, #g>, %y: memref<?x?xf32, #g>, %m: index, %n: index) {
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  tile.launch (%bx) in (%c1) {
    tile.parallel (%i, %j) in (%m, %n) {
      %v = tile.load %x[%i, %j] : memref<?x?xf32, #g> -> f32
      %w = math.exp %v : f32
      tile.store %w, %y[%i, %j] : f32, memref<?x?xf32, #g>
    }
    tile.parallel (%i, %j) in (%c512, %c512) {
      %v = tile.load %x[%i, %j] : memref<?x?xf32, #g> -> f32
      %w = math.exp %v : f32
      tile.store %w, %y[%j, %i] : f32, memref<?x?xf32, #g>
    }
  }
  return
}
