// RUN: tilewright-opt %s --tile-halve-sums -o %t.after.mlir 2> %t.log
// RUN: FileCheck %s < %t.after.mlir
// RUN: FileCheck %s --check-prefix=REMARK < %t.log

// Each case is checked as text and run, before and after.

// DEFINE: %{name} =
// DEFINE: %{options} = --checksums --function %{name}
// DEFINE: %{same} = tilewright-run %s %{options} > %t.before && tilewright-run %t.after.mlir %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = rows
// RUN: %{same}

// REDEFINE: %{name} = columns
// RUN: %{same}

// REDEFINE: %{name} = transposed
// RUN: %{same}

// REDEFINE: %{name} = fits_twice
// RUN: %{same}

// REDEFINE: %{name} = in_parts
// RUN: %{same}

// REDEFINE: %{name} = over_a_loop
// RUN: %{same}

// REDEFINE: %{name} = loads_take_longest
// RUN: %{same}

// REDEFINE: %{name} = narrow
// RUN: %{same}

// Rows: the right operand is narrow, so that bringing it to L0 twice costs least.
// REMARK: [tile-halve-sums] applied: 'sum' is summed in halves of 112 and 88 rows
// CHECK-LABEL: func.func @rows(
// CHECK-DAG: tile.alloc "sum.1" : memref<112x128xf32
// CHECK-DAG: tile.alloc "sum.2" : memref<88x128xf32
// CHECK: tile.gemm (%sum.1[{{.*}} %a[%c0, %c0] [%c112
// CHECK: tile.gemm (%sum.2[{{.*}} %a[%c112{{.*}}, %c0] [%c88
// CHECK: tile.copy (%arg2[{{.*}} [%c112{{.*}} %sum.1
// CHECK: tile.copy (%arg2[{{.*}} [%c88{{.*}} %sum.2
func.func @rows(%A: memref<200x128xf16, #tile.scope<global>>, %B: memref<512x128xf16, #tile.scope<global>>, %C: memref<800x128xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ck = arith.constant 128 : index
  %cm = arith.constant 200 : index
  %cn = arith.constant 128 : index
  %turns = arith.constant 4 : index
  %inner = arith.constant 1 : index
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<200x128xf16, #tile.scope<l1>>
    %b = tile.alloc "b" : memref<128x128xf16, #tile.scope<l1>>
    %sum = tile.alloc "sum" : memref<200x128xf32, #tile.scope<l0c>>
    tile.copy (%a[%c0, %c0] [%cm, %ck] : memref<200x128xf16, #tile.scope<l1>>, %A[%c0, %c0] [%cm, %ck] : memref<200x128xf16, #tile.scope<global>>)
    scf.for %t = %c0 to %turns step %c1 {
      %row = arith.muli %t, %ck : index
      %first = arith.constant true
      tile.copy (%b[%c0, %c0] [%ck, %cn] : memref<128x128xf16, #tile.scope<l1>>, %B[%row, %c0] [%ck, %cn] : memref<512x128xf16, #tile.scope<global>>)
      tile.gemm (%sum[%c0, %c0] [%cm, %cn] : memref<200x128xf32, #tile.scope<l0c>>, %a[%c0, %c0] [%cm, %ck] : memref<200x128xf16, #tile.scope<l1>>, %b[%c0, %c0] [%ck, %cn] : memref<128x128xf16, #tile.scope<l1>>) init %first
      %place = arith.muli %t, %cm : index
      tile.copy (%C[%place, %c0] [%cm, %cn] : memref<800x128xf32, #tile.scope<global>>, %sum[%c0, %c0] [%cm, %cn] : memref<200x128xf32, #tile.scope<l0c>>)
    }
  }
  return
}

// REMARK: [tile-halve-sums] applied: 'sum' is summed in halves of 128 and 128 columns
// CHECK-LABEL: func.func @columns(
// CHECK-DAG: tile.alloc "sum.1" : memref<112x128xf32
// CHECK-DAG: tile.alloc "sum.2" : memref<112x128xf32
// CHECK: tile.gemm (%sum.1[{{.*}} %b[%c0, %c0] [%c128
// CHECK: tile.gemm (%sum.2[{{.*}} %b[%c128{{.*}}, %c0] [%c128
func.func @columns(%A: memref<112x128xf16, #tile.scope<global>>, %B: memref<256x512xf16, #tile.scope<global>>, %C: memref<448x256xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ck = arith.constant 128 : index
  %cm = arith.constant 112 : index
  %cn = arith.constant 256 : index
  %turns = arith.constant 4 : index
  %inner = arith.constant 1 : index
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<112x128xf16, #tile.scope<l1>>
    %b = tile.alloc "b" : memref<256x128xf16, #tile.scope<l1>>
    %sum = tile.alloc "sum" : memref<112x256xf32, #tile.scope<l0c>>
    tile.copy (%a[%c0, %c0] [%cm, %ck] : memref<112x128xf16, #tile.scope<l1>>, %A[%c0, %c0] [%cm, %ck] : memref<112x128xf16, #tile.scope<global>>)
    scf.for %t = %c0 to %turns step %c1 {
      %row = arith.muli %t, %ck : index
      %first = arith.constant true
      tile.copy (%b[%c0, %c0] [%cn, %ck] : memref<256x128xf16, #tile.scope<l1>>, %B[%c0, %row] [%cn, %ck] : memref<256x512xf16, #tile.scope<global>>)
      tile.gemm (%sum[%c0, %c0] [%cm, %cn] : memref<112x256xf32, #tile.scope<l0c>>, %a[%c0, %c0] [%cm, %ck] : memref<112x128xf16, #tile.scope<l1>>, %b[%c0, %c0] [%cn, %ck] : memref<256x128xf16, #tile.scope<l1>>) init %first {transpose_b}
      %place = arith.muli %t, %cm : index
      tile.copy (%C[%place, %c0] [%cm, %cn] : memref<448x256xf32, #tile.scope<global>>, %sum[%c0, %c0] [%cm, %cn] : memref<112x256xf32, #tile.scope<l0c>>)
    }
  }
  return
}

// CHECK-LABEL: func.func @transposed(
// CHECK: tile.gemm (%sum.1[{{.*}} %a[%c0, %c0] [%c128{{.*}}, %c112
// CHECK: tile.gemm (%sum.2[{{.*}} %a[%c0, %c112{{.*}}] [%c128{{.*}}, %c88
func.func @transposed(%A: memref<128x200xf16, #tile.scope<global>>, %B: memref<512x128xf16, #tile.scope<global>>, %C: memref<800x128xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ck = arith.constant 128 : index
  %cm = arith.constant 200 : index
  %cn = arith.constant 128 : index
  %turns = arith.constant 4 : index
  %inner = arith.constant 1 : index
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<128x200xf16, #tile.scope<l1>>
    %b = tile.alloc "b" : memref<128x128xf16, #tile.scope<l1>>
    %sum = tile.alloc "sum" : memref<200x128xf32, #tile.scope<l0c>>
    tile.copy (%a[%c0, %c0] [%ck, %cm] : memref<128x200xf16, #tile.scope<l1>>, %A[%c0, %c0] [%ck, %cm] : memref<128x200xf16, #tile.scope<global>>)
    scf.for %t = %c0 to %turns step %c1 {
      %row = arith.muli %t, %ck : index
      %first = arith.constant true
      tile.copy (%b[%c0, %c0] [%ck, %cn] : memref<128x128xf16, #tile.scope<l1>>, %B[%row, %c0] [%ck, %cn] : memref<512x128xf16, #tile.scope<global>>)
      tile.gemm (%sum[%c0, %c0] [%cm, %cn] : memref<200x128xf32, #tile.scope<l0c>>, %a[%c0, %c0] [%ck, %cm] : memref<128x200xf16, #tile.scope<l1>>, %b[%c0, %c0] [%ck, %cn] : memref<128x128xf16, #tile.scope<l1>>) init %first {transpose_a}
      %place = arith.muli %t, %cm : index
      tile.copy (%C[%place, %c0] [%cm, %cn] : memref<800x128xf32, #tile.scope<global>>, %sum[%c0, %c0] [%cm, %cn] : memref<200x128xf32, #tile.scope<l0c>>)
    }
  }
  return
}

// Two sums fit: they rotate.
// CHECK-LABEL: func.func @fits_twice(
// CHECK: tile.alloc "sum" :
func.func @fits_twice(%A: memref<112x128xf16, #tile.scope<global>>, %B: memref<512x128xf16, #tile.scope<global>>, %C: memref<448x128xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ck = arith.constant 128 : index
  %cm = arith.constant 112 : index
  %cn = arith.constant 128 : index
  %turns = arith.constant 4 : index
  %inner = arith.constant 1 : index
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<112x128xf16, #tile.scope<l1>>
    %b = tile.alloc "b" : memref<128x128xf16, #tile.scope<l1>>
    %sum = tile.alloc "sum" : memref<112x128xf32, #tile.scope<l0c>>
    tile.copy (%a[%c0, %c0] [%cm, %ck] : memref<112x128xf16, #tile.scope<l1>>, %A[%c0, %c0] [%cm, %ck] : memref<112x128xf16, #tile.scope<global>>)
    scf.for %t = %c0 to %turns step %c1 {
      %row = arith.muli %t, %ck : index
      %first = arith.constant true
      tile.copy (%b[%c0, %c0] [%ck, %cn] : memref<128x128xf16, #tile.scope<l1>>, %B[%row, %c0] [%ck, %cn] : memref<512x128xf16, #tile.scope<global>>)
      tile.gemm (%sum[%c0, %c0] [%cm, %cn] : memref<112x128xf32, #tile.scope<l0c>>, %a[%c0, %c0] [%cm, %ck] : memref<112x128xf16, #tile.scope<l1>>, %b[%c0, %c0] [%ck, %cn] : memref<128x128xf16, #tile.scope<l1>>) init %first
      %place = arith.muli %t, %cm : index
      tile.copy (%C[%place, %c0] [%cm, %cn] : memref<448x128xf32, #tile.scope<global>>, %sum[%c0, %c0] [%cm, %cn] : memref<112x128xf32, #tile.scope<l0c>>)
    }
  }
  return
}

// CHECK-LABEL: func.func @in_parts(
// CHECK: tile.alloc "sum" :
func.func @in_parts(%A: memref<192x128xf16, #tile.scope<global>>, %B: memref<512x128xf16, #tile.scope<global>>, %C: memref<768x128xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ck = arith.constant 128 : index
  %cm = arith.constant 192 : index
  %cn = arith.constant 128 : index
  %turns = arith.constant 4 : index
  %inner = arith.constant 1 : index
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<192x128xf16, #tile.scope<l1>>
    %b = tile.alloc "b" : memref<128x128xf16, #tile.scope<l1>>
    %sum = tile.alloc "sum" : memref<192x128xf32, #tile.scope<l0c>>
    tile.copy (%a[%c0, %c0] [%cm, %ck] : memref<192x128xf16, #tile.scope<l1>>, %A[%c0, %c0] [%cm, %ck] : memref<192x128xf16, #tile.scope<global>>)
    scf.for %t = %c0 to %turns step %c1 {
      %row = arith.muli %t, %ck : index
      %first = arith.constant true
      tile.copy (%b[%c0, %c0] [%ck, %cn] : memref<128x128xf16, #tile.scope<l1>>, %B[%row, %c0] [%ck, %cn] : memref<512x128xf16, #tile.scope<global>>)
      tile.gemm (%sum[%c0, %c0] [%cm, %cn] : memref<192x128xf32, #tile.scope<l0c>>, %a[%c0, %c0] [%cm, %ck] : memref<192x128xf16, #tile.scope<l1>>, %b[%c0, %c0] [%ck, %cn] : memref<128x128xf16, #tile.scope<l1>>) init %first
      %place = arith.muli %t, %cm : index
      %half = arith.constant 96 : index
      %below = arith.addi %place, %half : index
      tile.copy (%C[%place, %c0] [%half, %cn] : memref<768x128xf32, #tile.scope<global>>, %sum[%c0, %c0] [%half, %cn] : memref<192x128xf32, #tile.scope<l0c>>)
      tile.copy (%C[%below, %c0] [%half, %cn] : memref<768x128xf32, #tile.scope<global>>, %sum[%half, %c0] [%half, %cn] : memref<192x128xf32, #tile.scope<l0c>>)
    }
  }
  return
}

// Halves of a turn would follow each other too closely.
// CHECK-LABEL: func.func @over_a_loop(
// CHECK: tile.alloc "sum" :
func.func @over_a_loop(%A: memref<200x128xf16, #tile.scope<global>>, %B: memref<512x128xf16, #tile.scope<global>>, %C: memref<400x128xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ck = arith.constant 128 : index
  %cm = arith.constant 200 : index
  %cn = arith.constant 128 : index
  %turns = arith.constant 2 : index
  %inner = arith.constant 2 : index
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<200x128xf16, #tile.scope<l1>>
    %b = tile.alloc "b" : memref<128x128xf16, #tile.scope<l1>>
    %sum = tile.alloc "sum" : memref<200x128xf32, #tile.scope<l0c>>
    tile.copy (%a[%c0, %c0] [%cm, %ck] : memref<200x128xf16, #tile.scope<l1>>, %A[%c0, %c0] [%cm, %ck] : memref<200x128xf16, #tile.scope<global>>)
    scf.for %t = %c0 to %turns step %c1 {
      scf.for %u = %c0 to %inner step %c1 {
      %whole = arith.muli %t, %inner : index
      %number = arith.addi %whole, %u : index
      %row = arith.muli %number, %ck : index
      %first = arith.cmpi eq, %u, %c0 : index
      tile.copy (%b[%c0, %c0] [%ck, %cn] : memref<128x128xf16, #tile.scope<l1>>, %B[%row, %c0] [%ck, %cn] : memref<512x128xf16, #tile.scope<global>>)
      tile.gemm (%sum[%c0, %c0] [%cm, %cn] : memref<200x128xf32, #tile.scope<l0c>>, %a[%c0, %c0] [%cm, %ck] : memref<200x128xf16, #tile.scope<l1>>, %b[%c0, %c0] [%ck, %cn] : memref<128x128xf16, #tile.scope<l1>>) init %first
      }
      %place = arith.muli %t, %cm : index
      tile.copy (%C[%place, %c0] [%cm, %cn] : memref<400x128xf32, #tile.scope<global>>, %sum[%c0, %c0] [%cm, %cn] : memref<200x128xf32, #tile.scope<l0c>>)
    }
  }
  return
}

// The loads of B take longer than product and copy together.
// CHECK-LABEL: func.func @loads_take_longest(
// CHECK: tile.alloc "sum" :
func.func @loads_take_longest(%A: memref<32x256xf16, #tile.scope<global>>, %B: memref<512x800xf16, #tile.scope<global>>, %C: memref<64x800xf32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ck = arith.constant 256 : index
  %cm = arith.constant 32 : index
  %cn = arith.constant 800 : index
  %turns = arith.constant 2 : index
  %inner = arith.constant 1 : index
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<32x256xf16, #tile.scope<l1>>
    %b = tile.alloc "b" : memref<256x800xf16, #tile.scope<l1>>
    %sum = tile.alloc "sum" : memref<32x800xf32, #tile.scope<l0c>>
    tile.copy (%a[%c0, %c0] [%cm, %ck] : memref<32x256xf16, #tile.scope<l1>>, %A[%c0, %c0] [%cm, %ck] : memref<32x256xf16, #tile.scope<global>>)
    scf.for %t = %c0 to %turns step %c1 {
      %row = arith.muli %t, %ck : index
      %first = arith.constant true
      tile.copy (%b[%c0, %c0] [%ck, %cn] : memref<256x800xf16, #tile.scope<l1>>, %B[%row, %c0] [%ck, %cn] : memref<512x800xf16, #tile.scope<global>>)
      tile.gemm (%sum[%c0, %c0] [%cm, %cn] : memref<32x800xf32, #tile.scope<l0c>>, %a[%c0, %c0] [%cm, %ck] : memref<32x256xf16, #tile.scope<l1>>, %b[%c0, %c0] [%ck, %cn] : memref<256x800xf16, #tile.scope<l1>>) init %first
      %place = arith.muli %t, %cm : index
      tile.copy (%C[%place, %c0] [%cm, %cn] : memref<64x800xf32, #tile.scope<global>>, %sum[%c0, %c0] [%cm, %cn] : memref<32x800xf32, #tile.scope<l0c>>)
    }
  }
  return
}

// Along the last dimension of an operand of bytes, a half begins at a multiple of 32: 848 is none.
// REMARK: [tile-halve-sums] applied: 'sum' is summed in halves of 864 and 832 rows
// CHECK-LABEL: func.func @narrow(
// CHECK: tile.gemm (%sum.1[{{.*}} %a[%c0, %c0] [%c128{{.*}}, %c864
// CHECK: tile.gemm (%sum.2[{{.*}} %a[%c0, %c864{{.*}}] [%c128{{.*}}, %c832
func.func @narrow(%A: memref<128x1696xi8, #tile.scope<global>>, %B: memref<512x16xi8, #tile.scope<global>>, %C: memref<6784x16xi32, #tile.scope<global>> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ck = arith.constant 128 : index
  %cm = arith.constant 1696 : index
  %cn = arith.constant 16 : index
  %turns = arith.constant 4 : index
  %inner = arith.constant 1 : index
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<128x1696xi8, #tile.scope<l1>>
    %b = tile.alloc "b" : memref<128x16xi8, #tile.scope<l1>>
    %sum = tile.alloc "sum" : memref<1696x16xi32, #tile.scope<l0c>>
    tile.copy (%a[%c0, %c0] [%ck, %cm] : memref<128x1696xi8, #tile.scope<l1>>, %A[%c0, %c0] [%ck, %cm] : memref<128x1696xi8, #tile.scope<global>>)
    scf.for %t = %c0 to %turns step %c1 {
      %row = arith.muli %t, %ck : index
      %first = arith.constant true
      tile.copy (%b[%c0, %c0] [%ck, %cn] : memref<128x16xi8, #tile.scope<l1>>, %B[%row, %c0] [%ck, %cn] : memref<512x16xi8, #tile.scope<global>>)
      tile.gemm (%sum[%c0, %c0] [%cm, %cn] : memref<1696x16xi32, #tile.scope<l0c>>, %a[%c0, %c0] [%ck, %cm] : memref<128x1696xi8, #tile.scope<l1>>, %b[%c0, %c0] [%ck, %cn] : memref<128x16xi8, #tile.scope<l1>>) init %first {transpose_a}
      %place = arith.muli %t, %cm : index
      tile.copy (%C[%place, %c0] [%cm, %cn] : memref<6784x16xi32, #tile.scope<global>>, %sum[%c0, %c0] [%cm, %cn] : memref<1696x16xi32, #tile.scope<l0c>>)
    }
  }
  return
}
