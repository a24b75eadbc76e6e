// RUN: tilewright-opt %s --tile-vectorize-parallel --canonicalize | FileCheck %s
// RUN: tilewright-run %s --set 2=9 > %t.before
// RUN: tilewright-opt %s --tile-vectorize-parallel | tilewright-run --set 2=9 > %t.after
// RUN: diff %t.before %t.after
// RUN: tilewright-opt %s --tile-vectorize-parallel 2>&1 >/dev/null --mlir-print-op-on-diagnostic=false | FileCheck %s --check-prefix=REMARK

// Serial loops whose turns are independent, outside tile.parallel.

#g = #tile.scope<global>
#f = #tile.scope<fragment>

// REMARK-COUNT-2: [tile-vectorize-parallel] applied: the loop's turns are independent: it runs as T.Parallel does
// REMARK-NOT: turns are independent

// CHECK-LABEL: func.func @loops
func.func @loops(%x: memref<16x24xf32, #g> {tile.name = "x"}, %y: memref<16x24xf32, #g> {tile.name = "y"}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<16x24xf32, #f>
    %s = tile.alloc "s" : memref<16xf32, #f>
    tile.copy (%a[%c0, %c0] [%c16, %c24] : memref<16x24xf32, #f>, %x[%c0, %c0] [%c16, %c24] : memref<16x24xf32, #g>)
    // A condition of the outer loop: a smaller box.
    // CHECK: tile.fill {{.*}} (%[[A:.*]][%{{.*}}, %c0] [%{{.*}}, %c24]
    // CHECK-NOT: tile.store
    scf.for %i = %c0 to %c16 step %c1 {
      scf.for %j = %c0 to %c24 step %c1 {
        %late = arith.cmpi sge, %i, %n : index
        scf.if %late {
          tile.store %zero, %a[%i, %j] : f32, memref<16x24xf32, #f>
        }
      }
    }
    // Sums of rows: lanes are rows, and the loop over columns stays.
    // CHECK: scf.for %[[J:.*]] = %c0 to %c24
    // CHECK-NEXT: tile.elementwise <add> (%[[S:.*]][%c0] [%c16]
    scf.for %i = %c0 to %c16 step %c1 {
      scf.for %j = %c0 to %c24 step %c1 {
        %u = tile.load %s[%i] : memref<16xf32, #f> -> f32
        %v = tile.load %a[%i, %j] : memref<16x24xf32, #f> -> f32
        %w = arith.addf %u, %v : f32
        tile.store %w, %s[%i] : f32, memref<16xf32, #f>
      }
    }
    // Each turn reads what the one before wrote.
    // CHECK: scf.for
    // CHECK: tile.store
    scf.for %j = %c1 to %c24 step %c1 {
      scf.for %i = %c0 to %c15 step %c1 {
        %next = arith.addi %i, %c1 : index
        %u = tile.load %a[%i, %j] : memref<16x24xf32, #f> -> f32
        %v = tile.load %a[%next, %c0] : memref<16x24xf32, #f> -> f32
        %w = arith.addf %u, %v : f32
        tile.store %w, %a[%next, %j] : f32, memref<16x24xf32, #f>
      }
    }
    // Few elements.
    // CHECK: scf.for
    // CHECK: tile.store
    scf.for %i = %c0 to %c4 step %c1 {
      tile.store %half, %s[%i] : f32, memref<16xf32, #f>
    }
    scf.for %i = %c0 to %c16 step %c1 {
      %u = tile.load %s[%i] : memref<16xf32, #f> -> f32
      tile.store %u, %y[%i, %c0] : f32, memref<16x24xf32, #g>
    }
    tile.copy (%y[%c0, %c1] [%c16, %c15] : memref<16x24xf32, #g>, %a[%c0, %c1] [%c16, %c15] : memref<16x24xf32, #f>)
  }
  return
}
