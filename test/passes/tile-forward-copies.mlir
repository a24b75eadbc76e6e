// RUN: tilewright-opt %s --tile-forward-copies --verify-diagnostics -o %t.mlir
// RUN: FileCheck %s < %t.mlir

// Each case is checked as text and run, before and after.

// DEFINE: %{name} =
// DEFINE: %{options} = --checksums --function %{name}
// DEFINE: %{same} = tilewright-run %s %{options} > %t.before && tilewright-run %t.mlir %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = staged
// RUN: %{same}
// REDEFINE: %{name} = operand
// RUN: %{same}
// REDEFINE: %{name} = changes
// RUN: %{same}
// REDEFINE: %{name} = rounds
// RUN: %{same}
// REDEFINE: %{name} = parts
// RUN: %{same}
// REDEFINE: %{name} = next_turn
// RUN: %{same}
// REDEFINE: %{name} = stored_again
// RUN: %{same}

!A = memref<32x32xf16, #tile.scope<global>>
!C = memref<32x32xf32, #tile.scope<global>>
!s = memref<32x32xf16, #tile.scope<shared>>
!f = memref<32x32xf32, #tile.scope<fragment>>

// A sum that leaves by way of a shared tile, which narrows it: the copy to global memory does.
// CHECK-LABEL: func.func @staged
// CHECK-NOT: tile.alloc "out"
// CHECK: tile.copy (%arg1{{.*}}, %sum[
// CHECK-NOT: tile.copy
// CHECK: return
func.func @staged(%A: !A, %B: !A {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : !s
    %sum = tile.alloc "sum" : !f
    %out = tile.alloc "out" : !s
    tile.copy (%a[%c0, %c0] [%c32, %c32] : !s, %A[%c0, %c0] [%c32, %c32] : !A)
    tile.gemm (%sum[%c0, %c0] [%c32, %c32] : !f, %a[%c0, %c0] [%c32, %c32] : !s, %a[%c0, %c0] [%c32, %c32] : !s) init %true
    // expected-remark @below {{'out' is a copy of 'sum', which is read in its place}}
    tile.copy (%out[%c0, %c0] [%c32, %c32] : !s, %sum[%c0, %c0] [%c32, %c32] : !f)
    tile.copy (%B[%c0, %c0] [%c16, %c32] : !A, %out[%c16, %c0] [%c16, %c32] : !s)
  }
  return
}

// A copy for the sake of a product; the source changes after it, and in the turn after.
// CHECK-LABEL: func.func @operand
// CHECK-NOT: tile.alloc "local"
// CHECK: tile.gemm {{.*}} %a[
// CHECK-NEXT: tile.elementwise <add> (%a[
func.func @operand(%A: !A, %C: !C {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %false = arith.constant false
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : !s
    %local = tile.alloc "local" : memref<32x32xf16, #tile.scope<fragment>>
    %sum = tile.alloc "sum" : !f
    tile.copy (%a[%c0, %c0] [%c32, %c32] : !s, %A[%c0, %c0] [%c32, %c32] : !A)
    tile.fill %zero : f32, (%sum[%c0, %c0] [%c32, %c32] : !f)
    scf.for %k = %c0 to %c4 step %c1 {
      // expected-remark @below {{'local' is a copy of 'a'}}
      tile.copy (%local[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #tile.scope<fragment>>, %a[%c0, %c0] [%c32, %c32] : !s)
      tile.gemm (%sum[%c0, %c0] [%c32, %c32] : !f, %local[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #tile.scope<fragment>>, %a[%c0, %c0] [%c32, %c32] : !s) init %false
      tile.elementwise <add> (%a[%c0, %c0] [%c32, %c32] : !s, %a[%c0, %c0] [%c32, %c32] : !s, %a[%c0, %c0] [%c32, %c32] : !s)
    }
    tile.copy (%C[%c0, %c0] [%c32, %c32] : !C, %sum[%c0, %c0] [%c32, %c32] : !f)
  }
  return
}

// The source changes before the last reader.
// CHECK-LABEL: func.func @changes
// CHECK: tile.alloc "before"
func.func @changes(%C: !C {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : !f
    %before = tile.alloc "before" : !f
    tile.fill %one : f32, (%x[%c0, %c0] [%c32, %c32] : !f)
    tile.copy (%before[%c0, %c0] [%c32, %c32] : !f, %x[%c0, %c0] [%c32, %c32] : !f)
    tile.elementwise <add> (%x[%c0, %c0] [%c32, %c32] : !f, %x[%c0, %c0] [%c32, %c32] : !f, %x[%c0, %c0] [%c32, %c32] : !f)
    tile.elementwise <sub> (%x[%c0, %c0] [%c32, %c32] : !f, %x[%c0, %c0] [%c32, %c32] : !f, %before[%c0, %c0] [%c32, %c32] : !f)
    tile.copy (%C[%c0, %c0] [%c32, %c32] : !C, %x[%c0, %c0] [%c32, %c32] : !f)
  }
  return
}

// Narrowed on the way to a tensor that is not: the rounding stays. And what else than a copy reads a narrowed tile needs it.
// CHECK-LABEL: func.func @rounds
// CHECK-DAG: tile.alloc "half"
// CHECK-DAG: tile.alloc "other"
func.func @rounds(%C: !C {tile.output}, %B: !A {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %third = arith.constant 0.333 : f32
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : !f
    %half = tile.alloc "half" : !s
    %other = tile.alloc "other" : !s
    tile.fill %third : f32, (%x[%c0, %c0] [%c32, %c32] : !f)
    tile.copy (%half[%c0, %c0] [%c32, %c32] : !s, %x[%c0, %c0] [%c32, %c32] : !f)
    tile.copy (%C[%c0, %c0] [%c32, %c32] : !C, %half[%c0, %c0] [%c32, %c32] : !s)
    tile.copy (%other[%c0, %c0] [%c32, %c32] : !s, %x[%c0, %c0] [%c32, %c32] : !f)
    tile.atomic <sum> (%B[%c0, %c0] [%c32, %c32] : !A, %other[%c0, %c0] [%c32, %c32] : !s)
  }
  return
}

// Copied in part; written by something else as well; of another shape.
// CHECK-LABEL: func.func @parts
// CHECK-DAG: tile.alloc "part"
// CHECK-DAG: tile.alloc "twice"
// CHECK-DAG: tile.alloc "flat"
func.func @parts(%C: !C {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : !f
    %part = tile.alloc "part" : !f
    %twice = tile.alloc "twice" : !f
    %flat = tile.alloc "flat" : memref<1x32x32xf32, #tile.scope<fragment>>
    tile.fill %one : f32, (%x[%c0, %c0] [%c32, %c32] : !f)
    tile.fill %one : f32, (%part[%c16, %c0] [%c16, %c32] : !f)
    tile.copy (%part[%c0, %c0] [%c16, %c32] : !f, %x[%c0, %c0] [%c16, %c32] : !f)
    tile.copy (%twice[%c0, %c0] [%c32, %c32] : !f, %part[%c0, %c0] [%c32, %c32] : !f)
    tile.fill %one : f32, (%twice[%c0, %c0] [%c16, %c32] : !f)
    tile.copy (%flat[%c0, %c0, %c0] [%c1, %c32, %c32] : memref<1x32x32xf32, #tile.scope<fragment>>, %twice[%c0, %c0] [%c32, %c32] : !f)
    tile.copy (%C[%c0, %c0] [%c32, %c32] : !C, %flat[%c0, %c0, %c0] [%c1, %c32, %c32] : memref<1x32x32xf32, #tile.scope<fragment>>)
  }
  return
}

// Read at the start of the turn after: another state of the source.
// CHECK-LABEL: func.func @next_turn
// CHECK: tile.alloc "old"
func.func @next_turn(%C: !C {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : !f
    %old = tile.alloc "old" : !f
    tile.fill %one : f32, (%x[%c0, %c0] [%c32, %c32] : !f)
    tile.fill %one : f32, (%old[%c0, %c0] [%c32, %c32] : !f)
    scf.for %k = %c0 to %c4 step %c1 {
      tile.elementwise <add> (%x[%c0, %c0] [%c32, %c32] : !f, %x[%c0, %c0] [%c32, %c32] : !f, %old[%c0, %c0] [%c32, %c32] : !f)
      tile.copy (%old[%c0, %c0] [%c32, %c32] : !f, %x[%c0, %c0] [%c32, %c32] : !f)
    }
    tile.copy (%C[%c0, %c0] [%c32, %c32] : !C, %x[%c0, %c0] [%c32, %c32] : !f)
  }
  return
}

// A loop that stores the tile several times would narrow it each time.
// CHECK-LABEL: func.func @stored_again
// CHECK: tile.alloc "half"
func.func @stored_again(%B: !A {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %third = arith.constant 0.333 : f32
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : !f
    %half = tile.alloc "half" : !s
    tile.fill %third : f32, (%x[%c0, %c0] [%c32, %c32] : !f)
    tile.copy (%half[%c0, %c0] [%c32, %c32] : !s, %x[%c0, %c0] [%c32, %c32] : !f)
    scf.for %k = %c0 to %c4 step %c1 {
      tile.copy (%B[%c0, %c0] [%c32, %c32] : !A, %half[%c0, %c0] [%c32, %c32] : !s)
    }
  }
  return
}
