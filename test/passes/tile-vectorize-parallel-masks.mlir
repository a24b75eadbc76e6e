// RUN: tilewright-opt %s --tile-vectorize-parallel --canonicalize 2>/dev/null | FileCheck %s
// RUN: tilewright-run %s --set 3=5 --set 4=-3 > %t.before
// RUN: tilewright-opt %s --tile-vectorize-parallel 2>/dev/null | tilewright-run --set 3=5 --set 4=-3 > %t.after
// RUN: diff %t.before %t.after
// RUN: tilewright-opt %s --tile-vectorize-parallel=plain | tilewright-run --set 3=5 --set 4=-3 > %t.plain
// RUN: diff %t.before %t.plain

// Branches, lane variables and loops inside.

#g = #tile.scope<global>
#s = #tile.scope<shared>
#l = #tile.scope<local>

// CHECK-LABEL: func.func @masks
// CHECK-SAME: %[[X:.*]]: memref<40x24xf32{{.*}}, %[[OUT:.*]]: memref<40x24xf32{{.*}}, %[[IDX:.*]]: memref<16xi32{{.*}}, %[[N:.*]]: index, %[[K:.*]]: index)
// CHECK-NOT: tile.parallel
func.func @masks(%x: memref<40x24xf32, #g> {tile.name = "x"}, %out: memref<40x24xf32, #g> {tile.name = "out"},
                 %idx: memref<16xi32, #g> {tile.name = "idx"}, %n: index, %k: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %none = arith.constant 0 : i32
  tile.launch (%bx) in (%c3) {
    // CHECK: %[[S:.*]] = tile.alloc "s"
    // CHECK: %[[M:.*]] = tile.alloc "m"
    %s = tile.alloc "s" : memref<16x24xf32, #s>
    %m = tile.alloc "m" : memref<16xf32, #s>
    %sum = tile.alloc "sum" : memref<f32, #l>
    %first = arith.muli %bx, %c16 : index
    tile.parallel (%i, %j) in (%c16, %c24) {
      %r = arith.addi %first, %i : index
      %v = tile.load %x[%r, %j] : memref<40x24xf32, #g> -> f32
      tile.store %v, %s[%i, %j] : f32, memref<16x24xf32, #s>
    }
    // The condition is taken before the branch overwrites what it reads.
    // CHECK: tile.elementwise <gt> (%[[MASK:.*]][%c0, %c0] [%c16, %c24] : memref<16x24xi1, #tile.scope<ub>>, %[[S]]
    // CHECK: tile.elementwise <copy> (%[[OLD:.*]][%c0, %c0] [%c16, %c24] {{.*}}, %[[S]]
    // CHECK: tile.elementwise <select> (%[[S]]{{.*}}, %[[MASK]]{{.*}}, %{{tmp.*}}[%c0, %c0] {{.*}}, %[[S]]
    // CHECK: tile.elementwise <select> (%[[S]]{{.*}}, %[[MASK]]{{.*}}, %[[S]]{{.*}}, %tmp
    tile.parallel (%i, %j) in (%c16, %c24) {
      %v = tile.load %s[%i, %j] : memref<16x24xf32, #s> -> f32
      %c = arith.cmpf ogt, %v, %zero : f32
      scf.if %c {
        %w = arith.subf %zero, %v : f32
        tile.store %w, %s[%i, %j] : f32, memref<16x24xf32, #s>
      } else {
        %w = arith.addf %v, %one : f32
        tile.store %w, %s[%i, %j] : f32, memref<16x24xf32, #s>
      }
    }
    // A scalar condition stays a branch.
    // CHECK: scf.if
    // CHECK-NEXT: tile.elementwise <add> (%[[S]]
    // CHECK-NEXT: } else {
    // CHECK-NEXT: tile.fill {{.*}}(%[[M]]
    tile.parallel (%i, %j) in (%c16, %c24) {
      %c = arith.cmpi sgt, %bx, %c1 : index
      scf.if %c {
        %v = tile.load %s[%i, %j] : memref<16x24xf32, #s> -> f32
        %w = arith.addf %v, %one : f32
        tile.store %w, %s[%i, %j] : f32, memref<16x24xf32, #s>
      } else {
        tile.store %one, %m[%i] : f32, memref<16xf32, #s>
      }
    }
    // A guarded read touches the box where the guard holds, and nothing else.
    // CHECK: tile.fill %{{.*}} : f32, (%[[T:.*]][%c0, %c0] [%{{.*}}, %c24]
    // CHECK: tile.elementwise <copy> (%[[T]][%[[LO:.*]], %c0] [%[[SIZE:.*]], %c24] {{.*}}, %[[S]][%{{.*}}, %c0] [%[[SIZE]], %c24]
    tile.parallel (%i, %j) in (%c16, %c24) {
      %at = arith.addi %i, %k : index
      %c = arith.cmpi sge, %at, %c0 : index
      %v = scf.if %c -> (f32) {
        %w = tile.load %s[%at, %j] : memref<16x24xf32, #s> -> f32
        scf.yield %w : f32
      } else {
        scf.yield %one : f32
      }
      tile.store %v, %s[%i, %j] : f32, memref<16x24xf32, #s>
    }
    // A masked store to global memory writes only its box: another block owns the rest.
    // CHECK: arith.minsi %[[N]], %c24
    // CHECK: tile.copy (%[[OUT]]
    tile.parallel (%i, %j) in (%c16, %c24) {
      %c = arith.cmpi slt, %j, %n : index
      scf.if %c {
        %r = arith.addi %first, %i : index
        %v = tile.load %s[%i, %j] : memref<16x24xf32, #s> -> f32
        tile.store %v, %out[%r, %j] : f32, memref<40x24xf32, #g>
      }
    }
    // Where the mask is no box, lane by lane.
    // CHECK: scf.for
    // CHECK: scf.for
    // CHECK: scf.if
    // CHECK: tile.store %{{.*}}, %[[OUT]]
    tile.parallel (%i, %j) in (%c16, %c24) {
      %shifted = arith.addi %i, %n : index
      %c = arith.cmpi slt, %shifted, %j : index
      scf.if %c {
        %r = arith.addi %first, %i : index
        tile.store %one, %out[%r, %j] : f32, memref<40x24xf32, #g>
      }
    }
    // Indices that may be -1: rows whose guard fails are not read.
    tile.parallel (%i, %j) in (%c16, %c24) {
      %e = tile.load %idx[%i] : memref<16xi32, #g> -> i32
      %c = arith.cmpi sge, %e, %none : i32
      %v = scf.if %c -> (f32) {
        %at = arith.index_cast %e : i32 to index
        %w = tile.load %s[%at, %j] : memref<16x24xf32, #s> -> f32
        scf.yield %w : f32
      } else {
        scf.yield %zero : f32
      }
      tile.store %v, %s[%i, %j] : f32, memref<16x24xf32, #s>
    }
    // A variable has a value per lane inside; afterwards it holds that of the last lane.
    // CHECK: tile.elementwise <mul> (%[[VAR:[a-z0-9_]+]][%c0] [%c16] {{.*}}, %[[M]]
    // CHECK: %[[LAST:.*]] = tile.load %[[VAR]][%c15]
    // CHECK: tile.store %[[LAST]], %{{.*}}[]
    tile.parallel (%i) in (%c16) {
      %v = tile.load %m[%i] : memref<16xf32, #s> -> f32
      %w = arith.mulf %v, %v : f32
      tile.store %w, %sum[] : f32, memref<f32, #l>
      %u = tile.load %sum[] : memref<f32, #l> -> f32
      %t = arith.addf %u, %one : f32
      tile.store %t, %m[%i] : f32, memref<16xf32, #s>
    }
    // A loop with a bound per lane runs to the largest, under a mask.
    tile.parallel (%i) in (%c16) {
      %start = tile.load %sum[] : memref<f32, #l> -> f32
      %r = scf.for %q = %c0 to %i step %c1 iter_args(%acc = %start) -> (f32) {
        %v = tile.load %s[%i, %q] : memref<16x24xf32, #s> -> f32
        %w = arith.addf %acc, %v : f32
        scf.yield %w : f32
      }
      tile.store %r, %m[%i] : f32, memref<16xf32, #s>
    }
    tile.parallel (%i, %j) in (%c16, %c2) {
      %r = arith.addi %first, %i : index
      %v = tile.load %m[%i] : memref<16xf32, #s> -> f32
      tile.store %v, %out[%r, %j] : f32, memref<40x24xf32, #g>
    }
  }
  return
}
