// RUN: tilewright-opt %s --tile-fuse-k=factor=4 2>/dev/null | FileCheck %s
// RUN: tilewright-opt %s --tile-fuse-k=factor=4 2>/dev/null > %t.mlir
// RUN: tilewright-opt %s --tile-fuse-k="factor=2 depth=2" 2>/dev/null > %t.deep.mlir
// RUN: FileCheck %s --check-prefix=DEEP < %t.deep.mlir

// Each case is checked as text and run, before and after.

// DEFINE: %{name} =
// DEFINE: %{options} = --checksums --function %{name}
// DEFINE: %{same} = tilewright-run %s %{options} > %t.before && tilewright-run %t.mlir %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = even
// RUN: %{same}
// RUN: tilewright-run %t.deep.mlir %{options} > %t.now && diff %t.before %t.now
// REDEFINE: %{name} = rest
// RUN: %{same}
// REDEFINE: %{name} = run_time_trips
// RUN: %{same}
// REDEFINE: %{name} = transposed
// RUN: %{same}
// REDEFINE: %{name} = resident
// RUN: %{same}
// REDEFINE: %{name} = two_sums
// RUN: %{same}
// REDEFINE: %{name} = taps
// RUN: %{same}
// REDEFINE: %{name} = narrow_taps
// RUN: %{same}

!a = memref<32x16xf16, #tile.scope<l1>>
!b = memref<16x32xf16, #tile.scope<l1>>
!c = memref<32x32xf32, #tile.scope<l0c>>
!A = memref<32x96xf16, #tile.scope<global>>
!B = memref<96x32xf16, #tile.scope<global>>
!C = memref<32x32xf32, #tile.scope<global>>

// Four turns are one: wider tiles, one turn of the wide loop, nothing left over.
// CHECK-LABEL: func.func @even
// CHECK-DAG: tile.alloc "b" : memref<64x32xf16
// CHECK-DAG: tile.alloc "a" : memref<32x64xf16
// CHECK: scf.for
// CHECK: tile.gemm
// CHECK-SAME: memref<32x64xf16
// CHECK-NOT: scf.for
// CHECK: return

// Two turns are one, and A, whose rows run along K, is loaded for two of those.
// DEEP-LABEL: func.func @even
// DEEP-DAG: tile.alloc "b" : memref<32x32xf16
// DEEP-DAG: tile.alloc "a" : memref<32x64xf16
// DEEP: scf.for %[[K:.*]] = %c0
// DEEP: tile.copy (%a[{{.*}} [%c32, %c64
// DEEP: scf.for %[[DONE:.*]] = %c0
// DEEP: %[[AT:.*]] = arith.muli %[[DONE]]
// DEEP: arith.addi %[[K]], %[[DONE]]
// DEEP: tile.copy (%b[{{.*}} [%c32
// DEEP: tile.gemm (%c{{.*}} %a[%c0, %[[AT]]] [%c32, %c32
func.func @even(%A: !A, %B: !B, %C: !C {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : !a
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    scf.for %k = %c0 to %c4 step %c1 {
      %o = arith.muli %k, %c16 : index
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%c0, %o] [%c32, %c16] : !A)
      tile.copy (%b[%c0, %c0] [%c16, %c32] : !b, %B[%o, %c0] [%c16, %c32] : !B)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c16, %c32] : !b) init %first
    }
    tile.copy (%C[%c0, %c0] [%c32, %c32] : !C, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}

// Slices of 12 columns: the second product of two would begin within a fractal of 16, so A is loaded
// for each turn.
// DEEP-LABEL: func.func @slices_of_twelve
// DEEP-DAG: tile.alloc "a" : memref<32x12xf16
// DEEP: tile.gemm (%c{{.*}} %a[%c0, %c0] [%c32, %c12
func.func @slices_of_twelve(%A: !A, %B: !B, %C: !C {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c12 = arith.constant 12 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<32x12xf16, #tile.scope<l1>>
    %b = tile.alloc "b" : memref<12x32xf16, #tile.scope<l1>>
    %c = tile.alloc "c" : !c
    scf.for %k = %c0 to %c4 step %c1 {
      %o = arith.muli %k, %c12 : index
      tile.copy (%a[%c0, %c0] [%c32, %c12] : memref<32x12xf16, #tile.scope<l1>>, %A[%c0, %o] [%c32, %c12] : !A)
      tile.copy (%b[%c0, %c0] [%c12, %c32] : memref<12x32xf16, #tile.scope<l1>>, %B[%o, %c0] [%c12, %c32] : !B)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c12] : memref<32x12xf16, #tile.scope<l1>>, %b[%c0, %c0] [%c12, %c32] : memref<12x32xf16, #tile.scope<l1>>) init %first
    }
    tile.copy (%C[%c0, %c0] [%c32, %c32] : !C, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}

// Five turns: one of four, one as before. The second sum starts where the first ended.
// CHECK-LABEL: func.func @rest
// CHECK: scf.for
// CHECK: tile.gemm
// CHECK-SAME: memref<32x64xf16
// CHECK: scf.for
// CHECK: tile.gemm
// CHECK-SAME: memref<32x16xf16
func.func @rest(%A: !A, %B: !B, %C: !C {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : !a
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    scf.for %k = %c0 to %c5 step %c1 {
      %o = arith.muli %k, %c16 : index
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%c0, %o] [%c32, %c16] : !A)
      tile.copy (%b[%c0, %c0] [%c16, %c32] : !b, %B[%o, %c0] [%c16, %c32] : !B)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c16, %c32] : !b) init %first
    }
    tile.copy (%C[%c0, %c0] [%c32, %c32] : !C, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}

// Bounds that only the run knows: block b does b turns from 1 on, so none, one, ... five.
// CHECK-LABEL: func.func @run_time_trips
// CHECK: arith.ceildivsi
// CHECK: scf.for
// CHECK: tile.gemm
// CHECK: scf.for
// CHECK: tile.gemm
func.func @run_time_trips(%A: !A, %B: !B, %C: memref<192x32xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c6) {
    %a = tile.alloc "a" : !a
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    %end = arith.addi %bx, %c1 : index
    scf.for %k = %c1 to %end step %c1 {
      %o = arith.muli %k, %c16 : index
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%c0, %o] [%c32, %c16] : !A)
      tile.copy (%b[%c0, %c0] [%c16, %c32] : !b, %B[%o, %c0] [%c16, %c32] : !B)
      %first = arith.cmpi eq, %k, %c1 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c16, %c32] : !b) init %first
    }
    %r = arith.muli %bx, %c32 : index
    tile.copy (%C[%r, %c0] [%c32, %c32] : memref<192x32xf32, #tile.scope<global>>, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}

// Both operands transposed: K is the other dimension.
// CHECK-LABEL: func.func @transposed
// CHECK: tile.gemm
// CHECK-SAME: memref<64x32xf16
// CHECK-SAME: memref<32x64xf16
func.func @transposed(%A: !A, %B: !B, %C: !C {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : !a
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    scf.for %k = %c0 to %c4 step %c1 {
      %o = arith.muli %k, %c16 : index
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%c0, %o] [%c32, %c16] : !A)
      tile.copy (%b[%c0, %c0] [%c16, %c32] : !b, %B[%o, %c0] [%c16, %c32] : !B)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %b[%c0, %c0] [%c16, %c32] : !b, %a[%c0, %c0] [%c32, %c16] : !a) init %first {transpose_a, transpose_b}
    }
    tile.copy (%C[%c0, %c0] [%c32, %c32] : !C, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}

// The left operand is in L1 already: its box grows.
// CHECK-LABEL: func.func @resident
// CHECK: tile.gemm ({{.*}}[%c32, %c64{{.*}}] : memref<32x96xf16
// CHECK-SAME: memref<64x32xf16
func.func @resident(%A: !A, %B: !B, %C: !C {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c96 = arith.constant 96 : index
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<32x96xf16, #tile.scope<l1>>
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    tile.copy (%a[%c0, %c0] [%c32, %c96] : memref<32x96xf16, #tile.scope<l1>>, %A[%c0, %c0] [%c32, %c96] : !A)
    scf.for %k = %c0 to %c4 step %c1 {
      %o = arith.muli %k, %c16 : index
      tile.copy (%b[%c0, %c0] [%c16, %c32] : !b, %B[%o, %c0] [%c16, %c32] : !B)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %o] [%c32, %c16] : memref<32x96xf16, #tile.scope<l1>>, %b[%c0, %c0] [%c16, %c32] : !b) init %first
    }
    tile.copy (%C[%c0, %c0] [%c32, %c32] : !C, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}

// Two products a turn onto one sum: fusing turns would add them in another order.
// CHECK-LABEL: func.func @two_sums
// CHECK: tile.alloc "a" : memref<32x16xf16
// CHECK: scf.for
// CHECK-NOT: memref<32x64xf16
// CHECK: return
func.func @two_sums(%A: !A, %B: !B, %C: !C {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %false = arith.constant false
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : !a
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    scf.for %k = %c0 to %c4 step %c1 {
      %o = arith.muli %k, %c16 : index
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%c0, %o] [%c32, %c16] : !A)
      tile.copy (%b[%c0, %c0] [%c16, %c32] : !b, %B[%o, %c0] [%c16, %c32] : !B)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c16, %c32] : !b) init %first
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c16, %c32] : !b) init %false
    }
    tile.copy (%C[%c0, %c0] [%c32, %c32] : !C, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}

// K runs through the channels of one tap after the other: four turns stay within a tap.
// CHECK-LABEL: func.func @taps
// CHECK-DAG: tile.alloc "a" : memref<32x64xf16
// CHECK: tile.copy (%a[%c0, %c0] [%c32, %c64{{.*}} [%c32, %c1, %c64
// CHECK-NOT: scf.for
// CHECK: return
func.func @taps(%A: memref<32x3x64xf16, #tile.scope<global>>, %B: memref<192x32xf16, #tile.scope<global>>, %C: !C {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %turns = arith.constant 12 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %channels = arith.constant 64 : index
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : !a
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    scf.for %k = %c0 to %turns step %c1 {
      %o = arith.muli %k, %c16 : index
      %tap = arith.divsi %o, %channels : index
      %channel = arith.remsi %o, %channels : index
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%c0, %tap, %channel] [%c32, %c1, %c16] : memref<32x3x64xf16, #tile.scope<global>>)
      tile.copy (%b[%c0, %c0] [%c16, %c32] : !b, %B[%o, %c0] [%c16, %c32] : memref<192x32xf16, #tile.scope<global>>)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c16, %c32] : !b) init %first
    }
    tile.copy (%C[%c0, %c0] [%c32, %c32] : !C, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}

// Four turns would be two taps, which lie apart.
// CHECK-LABEL: func.func @narrow_taps
// CHECK: tile.alloc "a" : memref<32x16xf16
// CHECK-NOT: memref<32x64xf16
// CHECK: return
func.func @narrow_taps(%A: memref<32x3x32xf16, #tile.scope<global>>, %B: memref<96x32xf16, #tile.scope<global>>, %C: !C {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %turns = arith.constant 6 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %channels = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : !a
    %b = tile.alloc "b" : !b
    %c = tile.alloc "c" : !c
    scf.for %k = %c0 to %turns step %c1 {
      %o = arith.muli %k, %c16 : index
      %tap = arith.divsi %o, %channels : index
      %channel = arith.remsi %o, %channels : index
      tile.copy (%a[%c0, %c0] [%c32, %c16] : !a, %A[%c0, %tap, %channel] [%c32, %c1, %c16] : memref<32x3x32xf16, #tile.scope<global>>)
      tile.copy (%b[%c0, %c0] [%c16, %c32] : !b, %B[%o, %c0] [%c16, %c32] : memref<96x32xf16, #tile.scope<global>>)
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm (%c[%c0, %c0] [%c32, %c32] : !c, %a[%c0, %c0] [%c32, %c16] : !a, %b[%c0, %c0] [%c16, %c32] : !b) init %first
    }
    tile.copy (%C[%c0, %c0] [%c32, %c32] : !C, %c[%c0, %c0] [%c32, %c32] : !c)
  }
  return
}
