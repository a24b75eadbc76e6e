// RUN: tilewright-opt %s --tile-vectorize-parallel --canonicalize 2>/dev/null | FileCheck %s
// RUN: tilewright-run %s > %t.before
// RUN: tilewright-opt %s --tile-vectorize-parallel 2>/dev/null | tilewright-run > %t.after
// RUN: diff %t.before %t.after
// RUN: tilewright-opt %s --tile-vectorize-parallel=plain | tilewright-run > %t.plain
// RUN: diff %t.before %t.plain

// Signedness, narrow floats, conversions, comparisons of numbers that may be NaN.

#g = #tile.scope<global>
#s = #tile.scope<shared>

// CHECK-LABEL: func.func @types
// CHECK-NOT: tile.parallel
func.func @types(%a: memref<32xi32, #g> {tile.name = "a"}, %u: memref<32xui32, #g> {tile.name = "u"},
                 %b: memref<32xbf16, #g> {tile.name = "b"}, %o: memref<8x32xi32, #g> {tile.name = "o"},
                 %f: memref<8x32xf32, #g> {tile.name = "f"}, %p: memref<4x32xi1, #g> {tile.name = "p"},
                 %l: memref<2x32xi64, #g> {tile.name = "l"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c32 = arith.constant 32 : index
  %three = arith.constant 3 : i32
  %big = arith.constant 4611686018427387903 : i64
  tile.launch (%bx) in (%c1) {
    // CHECK: %[[A:.*]] = tile.alloc "ta"
    // CHECK: %[[U:.*]] = tile.alloc "tu"
    // CHECK: %[[B:.*]] = tile.alloc "tb"
    %ta = tile.alloc "ta" : memref<32xi32, #s>
    %tu = tile.alloc "tu" : memref<32xui32, #s>
    %tb = tile.alloc "tb" : memref<32xbf16, #s>
    tile.copy (%ta[%c0] [%c32] : memref<32xi32, #s>, %a[%c0] [%c32] : memref<32xi32, #g>)
    tile.copy (%tu[%c0] [%c32] : memref<32xui32, #s>, %u[%c0] [%c32] : memref<32xui32, #g>)
    tile.copy (%tb[%c0] [%c32] : memref<32xbf16, #s>, %b[%c0] [%c32] : memref<32xbf16, #g>)
    tile.parallel (%i) in (%c32) {
      %x = tile.load %ta[%i] : memref<32xi32, #s> -> i32
      %y = tile.load %tu[%i] : memref<32xui32, #s> -> i32
      // Signed and unsigned division take tiles of their signedness.
      // CHECK: tile.elementwise <floordiv> ({{.*}}memref<32xi32, #tile.scope<ub>>, %[[A]]
      %q = arith.floordivsi %x, %three : i32
      tile.store %q, %o[%c0, %i] : i32, memref<8x32xi32, #g>
      // CHECK: tile.elementwise <cast> (%[[AU:.*]][%c0] [%c32] : memref<32xui32, #tile.scope<ub>>, %[[A]]
      // CHECK: tile.elementwise <div> ({{.*}}memref<32xui32, #tile.scope<ub>>, %[[AU]]
      %r = arith.divui %x, %three : i32
      tile.store %r, %o[%c1, %i] : i32, memref<8x32xi32, #g>
      // CHECK: tile.elementwise <shr> ({{.*}}memref<32xui32, #tile.scope<ub>>, %[[U]]
      %t = arith.shrui %y, %three : i32
      tile.store %t, %o[%c2, %i] : i32, memref<8x32xi32, #g>
      // CHECK: tile.elementwise <lt> ({{.*}}xi1, {{.*}}, %[[U]]
      %v = arith.cmpi ult, %y, %x : i32
      tile.store %v, %p[%c0, %i] : i1, memref<4x32xi1, #g>
      // CHECK: tile.elementwise <cast> ({{.*}}xf32, {{.*}}, %[[U]]
      %w = arith.uitofp %y : i32 to f32
      tile.store %w, %f[%c0, %i] : f32, memref<8x32xf32, #g>
      %n = arith.trunci %x : i32 to i1
      %e = arith.extsi %n : i1 to i32
      tile.store %e, %o[%c3, %i] : i32, memref<8x32xi32, #g>
      %k = arith.index_cast %i : index to i32
      %z = arith.muli %k, %x : i32
      tile.store %z, %o[%c4, %i] : i32, memref<8x32xi32, #g>
    }
    tile.parallel (%i) in (%c32) {
      %x = tile.load %tb[%i] : memref<32xbf16, #s> -> bf16
      // bf16 rounds at every op, as each op's lanes do.
      // CHECK: tile.elementwise <mul> (%[[P:.*]][%c0] [%c32] : memref<32xbf16, #tile.scope<ub>>, %[[B]]
      // CHECK: tile.elementwise <exp> (%{{.*}} : memref<32xbf16, #tile.scope<ub>>
      %y = arith.mulf %x, %x : bf16
      %z = math.exp %y : bf16
      %w = arith.extf %z : bf16 to f32
      tile.store %w, %f[%c1, %i] : f32, memref<8x32xf32, #g>
      // 0 / 0 is no number: equal to nothing, and not smaller either.
      %d = arith.divf %x, %x : bf16
      %e = arith.cmpf oeq, %d, %d : bf16
      tile.store %e, %p[%c1, %i] : i1, memref<4x32xi1, #g>
      %u1 = arith.cmpf ult, %d, %x : bf16
      tile.store %u1, %p[%c2, %i] : i1, memref<4x32xi1, #g>
      %n1 = arith.cmpf uno, %d, %x : bf16
      tile.store %n1, %p[%c3, %i] : i1, memref<4x32xi1, #g>
      // Float to integer goes toward zero.
      // CHECK: {round = #tile.round_mode<trunc>}
      %t = arith.fptosi %x : bf16 to i32
      tile.store %t, %o[%c5, %i] : i32, memref<8x32xi32, #g>
    }
    // 64 bits are exact.
    // CHECK: tile.elementwise <floordiv> ({{.*}}xi64
    tile.parallel (%i) in (%c32) {
      %x = tile.load %ta[%i] : memref<32xi32, #s> -> i32
      %y = arith.extsi %x : i32 to i64
      %z = arith.addi %y, %big : i64
      %seven = arith.constant 7 : i64
      %q = arith.floordivsi %z, %seven : i64
      %m = arith.muli %q, %seven : i64
      %r = arith.subi %z, %m : i64
      tile.store %q, %l[%c0, %i] : i64, memref<2x32xi64, #g>
      tile.store %r, %l[%c1, %i] : i64, memref<2x32xi64, #g>
    }
  }
  return
}
