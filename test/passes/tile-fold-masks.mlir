// RUN: tilewright-opt %s --tile-fold-masks -o %t.after.mlir 2> %t.log
// RUN: FileCheck %s < %t.after.mlir
// RUN: FileCheck %s --check-prefix=REMARK < %t.log

// Each case is checked as text and run, before and after.

// DEFINE: %{name} =
// DEFINE: %{options} = --checksums --function %{name}
// DEFINE: %{same} = tilewright-run %s %{options} > %t.before && tilewright-run %t.after.mlir %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = kept_where_true
// RUN: %{same}

// REDEFINE: %{name} = kept_where_false
// RUN: %{same}

// REDEFINE: %{name} = mask_used_again
// RUN: %{same}

// REDEFINE: %{name} = other_constant
// RUN: %{same}

// REDEFINE: %{name} = looked_at
// RUN: %{same}

// REDEFINE: %{name} = mask_changes
// RUN: %{same}

// REDEFINE: %{name} = row_of_a_mask
// RUN: %{same}

// REDEFINE: %{name} = row_changes
// RUN: %{same}

// REMARK: [tile-fold-masks] applied: the mask chooses between the product and minus infinity, in place of a sum with 'score'
// CHECK-LABEL: func.func @kept_where_true(
// CHECK-NOT: tile.fill
// CHECK: tile.copy (%score[{{.*}} %acc
// CHECK: tile.elementwise <select> (%score[{{.*}} %mask[{{.*}} %score[{{.*}} scalar %[[LOW:.+]] : f32
// CHECK-NOT: <add>
func.func @kept_where_true(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"}, %X: memref<32x32xf32> {tile.name = "X"},
    %C: memref<32x32xf32> {tile.name = "C", tile.output}, %D: memref<32x32xf32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<32x16xf16, #tile.scope<shared>>
    %b = tile.alloc "b" : memref<16x32xf16, #tile.scope<shared>>
    %x = tile.alloc "x" : memref<32x32xf32, #tile.scope<fragment>>
    %mask = tile.alloc "mask" : memref<32x32xi1, #tile.scope<ub>>
    %score = tile.alloc "score" : memref<32x32xf32, #tile.scope<fragment>>
    %acc = tile.alloc "acc" : memref<32x32xf32, #tile.scope<l0c>>
    %sum = tile.alloc "sum" : memref<32x32xf32, #tile.scope<ub>>
    tile.copy (%a[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #tile.scope<shared>>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy (%b[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #tile.scope<shared>>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.copy (%x[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %X[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    tile.elementwise <lt> (%mask[%c0, %c0] [%c32, %c32] : memref<32x32xi1, #tile.scope<ub>>, %x[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %zero : f32
    tile.fill %zero : f32, (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>)
    tile.elementwise <select> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %mask[%c0, %c0] [%c32, %c32] : memref<32x32xi1, #tile.scope<ub>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %low : f32
    tile.gemm (%acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<l0c>>, %a[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #tile.scope<shared>>, %b[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #tile.scope<shared>>) init %true
    tile.copy (%sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<ub>>, %acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<l0c>>)
    tile.elementwise <add> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<ub>>)
    tile.elementwise <max> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %one : f32
    tile.copy (%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>)
  }
  return
}

// A scalar is chosen where the mask is false, so the mask is turned round.
// CHECK-LABEL: func.func @kept_where_false(
// CHECK-NOT: tile.fill
// CHECK: tile.elementwise <not> (%mask[{{.*}} %mask
// CHECK: tile.elementwise <select> (%score[{{.*}} %mask
func.func @kept_where_false(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"}, %X: memref<32x32xf32> {tile.name = "X"},
    %C: memref<32x32xf32> {tile.name = "C", tile.output}, %D: memref<32x32xf32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<32x16xf16, #tile.scope<shared>>
    %b = tile.alloc "b" : memref<16x32xf16, #tile.scope<shared>>
    %x = tile.alloc "x" : memref<32x32xf32, #tile.scope<fragment>>
    %mask = tile.alloc "mask" : memref<32x32xi1, #tile.scope<ub>>
    %score = tile.alloc "score" : memref<32x32xf32, #tile.scope<fragment>>
    %acc = tile.alloc "acc" : memref<32x32xf32, #tile.scope<l0c>>
    %sum = tile.alloc "sum" : memref<32x32xf32, #tile.scope<ub>>
    tile.copy (%a[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #tile.scope<shared>>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy (%b[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #tile.scope<shared>>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.copy (%x[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %X[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    tile.elementwise <lt> (%mask[%c0, %c0] [%c32, %c32] : memref<32x32xi1, #tile.scope<ub>>, %x[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %zero : f32
    tile.fill %low : f32, (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>)
    tile.elementwise <select> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %mask[%c0, %c0] [%c32, %c32] : memref<32x32xi1, #tile.scope<ub>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %zero : f32
    tile.gemm (%acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<l0c>>, %a[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #tile.scope<shared>>, %b[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #tile.scope<shared>>) init %true
    tile.copy (%sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<ub>>, %acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<l0c>>)
    tile.elementwise <add> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<ub>>)
    tile.elementwise <max> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %one : f32
    tile.copy (%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>)
  }
  return
}

// Others read the mask as it is.
// CHECK-LABEL: func.func @mask_used_again(
// CHECK: tile.elementwise <not> (%mask.not[{{.*}} %mask[
// CHECK: tile.elementwise <select> (%score[{{.*}} %mask.not
// CHECK: tile.elementwise <select> (%second[{{.*}} %mask[
func.func @mask_used_again(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"}, %X: memref<32x32xf32> {tile.name = "X"},
    %C: memref<32x32xf32> {tile.name = "C", tile.output}, %D: memref<32x32xf32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<32x16xf16, #tile.scope<shared>>
    %b = tile.alloc "b" : memref<16x32xf16, #tile.scope<shared>>
    %x = tile.alloc "x" : memref<32x32xf32, #tile.scope<fragment>>
    %mask = tile.alloc "mask" : memref<32x32xi1, #tile.scope<ub>>
    %score = tile.alloc "score" : memref<32x32xf32, #tile.scope<fragment>>
    %acc = tile.alloc "acc" : memref<32x32xf32, #tile.scope<l0c>>
    %sum = tile.alloc "sum" : memref<32x32xf32, #tile.scope<ub>>
    tile.copy (%a[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #tile.scope<shared>>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy (%b[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #tile.scope<shared>>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.copy (%x[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %X[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    tile.elementwise <lt> (%mask[%c0, %c0] [%c32, %c32] : memref<32x32xi1, #tile.scope<ub>>, %x[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %zero : f32
    tile.fill %low : f32, (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>)
    tile.elementwise <select> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %mask[%c0, %c0] [%c32, %c32] : memref<32x32xi1, #tile.scope<ub>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %zero : f32
    tile.gemm (%acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<l0c>>, %a[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #tile.scope<shared>>, %b[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #tile.scope<shared>>) init %true
    tile.copy (%sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<ub>>, %acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<l0c>>)
    tile.elementwise <add> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<ub>>)
    tile.elementwise <max> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %one : f32
    %second = tile.alloc "second" : memref<32x32xf32, #tile.scope<fragment>>
    tile.fill %zero : f32, (%second[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>)
    tile.elementwise <select> (%second[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %mask[%c0, %c0] [%c32, %c32] : memref<32x32xi1, #tile.scope<ub>>, %second[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %one : f32
    tile.copy (%D[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %second[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>)
    tile.copy (%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>)
  }
  return
}

// One is not nothing.
// CHECK-LABEL: func.func @other_constant(
// CHECK: tile.elementwise <add> (%score
func.func @other_constant(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"}, %X: memref<32x32xf32> {tile.name = "X"},
    %C: memref<32x32xf32> {tile.name = "C", tile.output}, %D: memref<32x32xf32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<32x16xf16, #tile.scope<shared>>
    %b = tile.alloc "b" : memref<16x32xf16, #tile.scope<shared>>
    %x = tile.alloc "x" : memref<32x32xf32, #tile.scope<fragment>>
    %mask = tile.alloc "mask" : memref<32x32xi1, #tile.scope<ub>>
    %score = tile.alloc "score" : memref<32x32xf32, #tile.scope<fragment>>
    %acc = tile.alloc "acc" : memref<32x32xf32, #tile.scope<l0c>>
    %sum = tile.alloc "sum" : memref<32x32xf32, #tile.scope<ub>>
    tile.copy (%a[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #tile.scope<shared>>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy (%b[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #tile.scope<shared>>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.copy (%x[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %X[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    tile.elementwise <lt> (%mask[%c0, %c0] [%c32, %c32] : memref<32x32xi1, #tile.scope<ub>>, %x[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %zero : f32
    tile.fill %one : f32, (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>)
    tile.elementwise <select> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %mask[%c0, %c0] [%c32, %c32] : memref<32x32xi1, #tile.scope<ub>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %low : f32
    tile.gemm (%acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<l0c>>, %a[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #tile.scope<shared>>, %b[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #tile.scope<shared>>) init %true
    tile.copy (%sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<ub>>, %acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<l0c>>)
    tile.elementwise <add> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<ub>>)
    tile.elementwise <max> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %one : f32
    tile.copy (%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>)
  }
  return
}

// The mask alone goes out too.
// CHECK-LABEL: func.func @looked_at(
// CHECK: tile.elementwise <add> (%score
func.func @looked_at(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"}, %X: memref<32x32xf32> {tile.name = "X"},
    %C: memref<32x32xf32> {tile.name = "C", tile.output}, %D: memref<32x32xf32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<32x16xf16, #tile.scope<shared>>
    %b = tile.alloc "b" : memref<16x32xf16, #tile.scope<shared>>
    %x = tile.alloc "x" : memref<32x32xf32, #tile.scope<fragment>>
    %mask = tile.alloc "mask" : memref<32x32xi1, #tile.scope<ub>>
    %score = tile.alloc "score" : memref<32x32xf32, #tile.scope<fragment>>
    %acc = tile.alloc "acc" : memref<32x32xf32, #tile.scope<l0c>>
    %sum = tile.alloc "sum" : memref<32x32xf32, #tile.scope<ub>>
    tile.copy (%a[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #tile.scope<shared>>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy (%b[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #tile.scope<shared>>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.copy (%x[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %X[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    tile.elementwise <lt> (%mask[%c0, %c0] [%c32, %c32] : memref<32x32xi1, #tile.scope<ub>>, %x[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %zero : f32
    tile.fill %zero : f32, (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>)
    tile.elementwise <select> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %mask[%c0, %c0] [%c32, %c32] : memref<32x32xi1, #tile.scope<ub>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %low : f32
    tile.gemm (%acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<l0c>>, %a[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #tile.scope<shared>>, %b[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #tile.scope<shared>>) init %true
    tile.copy (%sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<ub>>, %acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<l0c>>)
    tile.copy (%D[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>)
    tile.elementwise <add> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<ub>>)
    tile.elementwise <max> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %one : f32
    tile.copy (%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>)
  }
  return
}

// CHECK-LABEL: func.func @mask_changes(
// CHECK: tile.elementwise <add> (%score
func.func @mask_changes(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"}, %X: memref<32x32xf32> {tile.name = "X"},
    %C: memref<32x32xf32> {tile.name = "C", tile.output}, %D: memref<32x32xf32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<32x16xf16, #tile.scope<shared>>
    %b = tile.alloc "b" : memref<16x32xf16, #tile.scope<shared>>
    %x = tile.alloc "x" : memref<32x32xf32, #tile.scope<fragment>>
    %mask = tile.alloc "mask" : memref<32x32xi1, #tile.scope<ub>>
    %score = tile.alloc "score" : memref<32x32xf32, #tile.scope<fragment>>
    %acc = tile.alloc "acc" : memref<32x32xf32, #tile.scope<l0c>>
    %sum = tile.alloc "sum" : memref<32x32xf32, #tile.scope<ub>>
    tile.copy (%a[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #tile.scope<shared>>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy (%b[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #tile.scope<shared>>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.copy (%x[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %X[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    tile.elementwise <lt> (%mask[%c0, %c0] [%c32, %c32] : memref<32x32xi1, #tile.scope<ub>>, %x[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %zero : f32
    tile.fill %zero : f32, (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>)
    tile.elementwise <select> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %mask[%c0, %c0] [%c32, %c32] : memref<32x32xi1, #tile.scope<ub>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %low : f32
    tile.gemm (%acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<l0c>>, %a[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #tile.scope<shared>>, %b[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #tile.scope<shared>>) init %true
    tile.copy (%sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<ub>>, %acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<l0c>>)
    tile.elementwise <ge> (%mask[%c0, %c0] [%c32, %c32] : memref<32x32xi1, #tile.scope<ub>>, %x[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %one : f32
    tile.elementwise <add> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<ub>>)
    tile.elementwise <max> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %one : f32
    tile.copy (%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>)
  }
  return
}

// One row for all, as behind the end of a tensor: added as it is.
// REMARK: [tile-fold-masks] applied: 'row' is added row by row
// CHECK-LABEL: func.func @row_of_a_mask(
// CHECK-NOT: tile.elementwise <copy>
// CHECK: tile.copy (%score[{{.*}} %acc
// CHECK: tile.elementwise <add> (%score[{{.*}} %score[{{.*}} %row[%c0] [%c32]
func.func @row_of_a_mask(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"}, %X: memref<32x32xf32> {tile.name = "X"},
    %C: memref<32x32xf32> {tile.name = "C", tile.output}, %D: memref<32x32xf32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<32x16xf16, #tile.scope<shared>>
    %b = tile.alloc "b" : memref<16x32xf16, #tile.scope<shared>>
    %x = tile.alloc "x" : memref<32x32xf32, #tile.scope<fragment>>
    %row = tile.alloc "row" : memref<32xf32, #tile.scope<ub>>
    %score = tile.alloc "score" : memref<32x32xf32, #tile.scope<fragment>>
    %acc = tile.alloc "acc" : memref<32x32xf32, #tile.scope<l0c>>
    %sum = tile.alloc "sum" : memref<32x32xf32, #tile.scope<ub>>
    tile.copy (%a[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #tile.scope<shared>>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy (%b[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #tile.scope<shared>>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.copy (%x[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %X[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    tile.fill %one : f32, (%row[%c0] [%c32] : memref<32xf32, #tile.scope<ub>>)
    tile.fill %low : f32, (%row[%c0] [%c16] : memref<32xf32, #tile.scope<ub>>)
    tile.elementwise <copy> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %row[%c0] [%c32] : memref<32xf32, #tile.scope<ub>>) {maps = [array<i64: 0, 1>, array<i64: 1>]}
    tile.gemm (%acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<l0c>>, %a[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #tile.scope<shared>>, %b[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #tile.scope<shared>>) init %true
    tile.copy (%sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<ub>>, %acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<l0c>>)
    tile.elementwise <add> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<ub>>)
    tile.elementwise <max> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %one : f32
    tile.copy (%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>)
  }
  return
}

// CHECK-LABEL: func.func @row_changes(
// CHECK: tile.elementwise <copy> (%score
func.func @row_changes(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"}, %X: memref<32x32xf32> {tile.name = "X"},
    %C: memref<32x32xf32> {tile.name = "C", tile.output}, %D: memref<32x32xf32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %a = tile.alloc "a" : memref<32x16xf16, #tile.scope<shared>>
    %b = tile.alloc "b" : memref<16x32xf16, #tile.scope<shared>>
    %x = tile.alloc "x" : memref<32x32xf32, #tile.scope<fragment>>
    %row = tile.alloc "row" : memref<32xf32, #tile.scope<ub>>
    %score = tile.alloc "score" : memref<32x32xf32, #tile.scope<fragment>>
    %acc = tile.alloc "acc" : memref<32x32xf32, #tile.scope<l0c>>
    %sum = tile.alloc "sum" : memref<32x32xf32, #tile.scope<ub>>
    tile.copy (%a[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #tile.scope<shared>>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy (%b[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #tile.scope<shared>>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.copy (%x[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %X[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    tile.fill %one : f32, (%row[%c0] [%c32] : memref<32xf32, #tile.scope<ub>>)
    tile.fill %low : f32, (%row[%c0] [%c16] : memref<32xf32, #tile.scope<ub>>)
    tile.elementwise <copy> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %row[%c0] [%c32] : memref<32xf32, #tile.scope<ub>>) {maps = [array<i64: 0, 1>, array<i64: 1>]}
    tile.fill %one : f32, (%row[%c0] [%c32] : memref<32xf32, #tile.scope<ub>>)
    tile.gemm (%acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<l0c>>, %a[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #tile.scope<shared>>, %b[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #tile.scope<shared>>) init %true
    tile.copy (%sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<ub>>, %acc[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<l0c>>)
    tile.elementwise <add> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<ub>>)
    tile.elementwise <max> (%score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>) scalar %one : f32
    tile.copy (%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %score[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #tile.scope<fragment>>)
  }
  return
}
