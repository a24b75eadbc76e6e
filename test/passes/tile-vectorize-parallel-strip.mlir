// RUN: tilewright-opt %s --tile-vectorize-parallel=strip=1024 --canonicalize | FileCheck %s
// RUN: tilewright-run %s --shape 0=1x3000 --shape 1=3000 > %t.before
// RUN: tilewright-opt %s --tile-vectorize-parallel=strip=1024 | tilewright-run --shape 0=1x3000 --shape 1=3000 > %t.after
// RUN: diff %t.before %t.after

// Temporaries of long rows: in strips, the last one shorter, where lanes are independent.

#g = #tile.scope<global>
#f = #tile.scope<fragment>

// CHECK-LABEL: func.func @rows
func.func @rows(%x: memref<1x3000xf32, #g> {tile.name = "x"}, %y: memref<3000xf32, #g> {tile.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2999 = arith.constant 2999 : index
  %c3000 = arith.constant 3000 : index
  %half = arith.constant 5.0e-01 : f32
  tile.launch (%bx) in (%c1) {
    // CHECK: tile.alloc "tmp" : memref<1x1024xf32
    // CHECK-NOT: tile.alloc "tmp" : memref<1x3000xf32
    // CHECK: tile.alloc "a"
    %a = tile.alloc "a" : memref<1x3000xf32, #f>
    %s = tile.alloc "s" : memref<3000xf32, #f>
    tile.copy (%a[%c0, %c0] [%c1, %c3000] : memref<1x3000xf32, #f>, %x[%c0, %c0] [%c1, %c3000] : memref<1x3000xf32, #g>)
    // CHECK: scf.for %[[FIRST:.*]] = %c0 to %c3000 step %c1024 {
    // CHECK: %[[SIZE:.*]] = arith.minsi
    // CHECK: tile.elementwise <exp> (%{{.*}}[%c0, %c0] [%c1, %[[SIZE]]]
    // CHECK: }
    tile.parallel (%i, %j) in (%c1, %c3000) {
      %v = tile.load %a[%i, %j] : memref<1x3000xf32, #f> -> f32
      %e = math.exp %v : f32
      %h = arith.mulf %v, %half : f32
      %w = arith.addf %e, %h : f32
      %p = arith.mulf %w, %e : f32
      tile.store %p, %s[%j] : f32, memref<3000xf32, #f>
    }
    // Lanes that read what others write stay together.
    // CHECK-NOT: scf.for {{.*}} step %c1024
    // CHECK: tile.elementwise <add> (%{{.*}}[%c0] [%c2999]
    tile.parallel (%j) in (%c2999) {
      %next = arith.addi %j, %c1 : index
      %u = tile.load %s[%j] : memref<3000xf32, #f> -> f32
      %v = tile.load %s[%next] : memref<3000xf32, #f> -> f32
      %w = arith.addf %u, %v : f32
      tile.store %w, %s[%j] : f32, memref<3000xf32, #f>
    }
    tile.copy (%y[%c0] [%c3000] : memref<3000xf32, #g>, %s[%c0] [%c3000] : memref<3000xf32, #f>)
  }
  return
}
