// RUN: tilewright-opt %s --tile-batch-blocks -o %t.after.mlir 2> %t.log
// RUN: FileCheck %s < %t.after.mlir
// RUN: FileCheck %s --check-prefix=REMARK < %t.log

// Each case is checked as text and run, before and after.

// DEFINE: %{name} =
// DEFINE: %{options} = --checksums --function %{name}
// DEFINE: %{same} = tilewright-run %s %{options} > %t.before && tilewright-run %t.after.mlir %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = rows
// RUN: %{same}
// REDEFINE: %{name} = several_rows
// RUN: %{same}
// REDEFINE: %{name} = rows_up_to_an_end
// RUN: %{same}
// REDEFINE: %{name} = left_over
// RUN: %{same}
// REDEFINE: %{name} = rows_behind
// RUN: %{same}
// REDEFINE: %{name} = one_result
// RUN: %{same}

#ub = #tile.scope<ub>
#global = #tile.scope<global>

// The tile and its sum get a dimension more, the weights, which all rows have in common, do not.
// REMARK: [tile-batch-blocks] applied: one block does the rows of 8: each instruction does more
// CHECK-LABEL: func.func @rows(
// CHECK: tile.launch (%[[B:.*]]) in (%c40
// CHECK: %[[ROW:.*]] = arith.muli %[[B]], %c8
// CHECK: tile.alloc "x" : memref<8x1x64xf32
// CHECK: tile.alloc "s" : memref<8x1xf32
// CHECK: tile.alloc "w" : memref<64xf32
// CHECK: tile.copy (%x[%{{.*}}] [%c8{{.*}}, %c1, %c64] {{.*}} %arg0[%[[ROW]], %c0] [%c8{{.*}}, %c64]
// CHECK: tile.copy (%w[%c0] [%c64]
// CHECK: tile.reduce <sum> (%s[{{.*}}] [%c8{{.*}}, %c1] {{.*}} dims = [2]
// CHECK: tile.elementwise <mul> {{.*}} {maps = [array<i64: 0, 1, 2>, array<i64: 0, 1, 2>, array<i64: 2>]}
// CHECK: tile.elementwise <add> {{.*}} {maps = [array<i64: 0, 1, 2>, array<i64: 0, 1, 2>, array<i64: 0, 1>]}
func.func @rows(%A: memref<320x64xf32, #global>, %W: memref<64xf32, #global>, %C: memref<320x64xf32, #global> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %blocks = arith.constant 320 : index
  tile.launch (%b) in (%blocks) {
    %x = tile.alloc "x" : memref<1x64xf32, #ub>
    %s = tile.alloc "s" : memref<1xf32, #ub>
    %w = tile.alloc "w" : memref<64xf32, #ub>
    tile.copy (%x[%c0, %c0] [%c1, %c64] : memref<1x64xf32, #ub>, %A[%b, %c0] [%c1, %c64] : memref<320x64xf32, #global>)
    tile.copy (%w[%c0] [%c64] : memref<64xf32, #ub>, %W[%c0] [%c64] : memref<64xf32, #global>)
    tile.reduce <sum> (%s[%c0] [%c1] : memref<1xf32, #ub>, %x[%c0, %c0] [%c1, %c64] : memref<1x64xf32, #ub>) dims = [1]
    tile.elementwise <mul> (%x[%c0, %c0] [%c1, %c64] : memref<1x64xf32, #ub>, %x[%c0, %c0] [%c1, %c64] : memref<1x64xf32, #ub>, %w[%c0] [%c64] : memref<64xf32, #ub>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 1>]}
    tile.elementwise <add> (%x[%c0, %c0] [%c1, %c64] : memref<1x64xf32, #ub>, %x[%c0, %c0] [%c1, %c64] : memref<1x64xf32, #ub>, %s[%c0] [%c1] : memref<1xf32, #ub>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
    tile.copy (%C[%b, %c0] [%c1, %c64] : memref<320x64xf32, #global>, %x[%c0, %c0] [%c1, %c64] : memref<1x64xf32, #ub>)
  }
  return
}

// Blocks of a few rows: the tile's own dimension grows.
// CHECK-LABEL: func.func @several_rows(
// CHECK: tile.launch (%{{.*}}) in (%c40
// CHECK: tile.alloc "x" : memref<32x64xf32
func.func @several_rows(%A: memref<1280x64xf32, #global>, %C: memref<1280x64xf32, #global> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %blocks = arith.constant 320 : index
  tile.launch (%b) in (%blocks) {
    %x = tile.alloc "x" : memref<4x64xf32, #ub>
    %row = arith.muli %b, %c4 : index
    tile.copy (%x[%c0, %c0] [%c4, %c64] : memref<4x64xf32, #ub>, %A[%row, %c0] [%c4, %c64] : memref<1280x64xf32, #global>)
    tile.copy (%C[%row, %c0] [%c4, %c64] : memref<1280x64xf32, #global>, %x[%c0, %c0] [%c4, %c64] : memref<4x64xf32, #ub>)
  }
  return
}

// Rows in front of an end that each block reads from a tensor, into a variable too: of the larger tile there are more.
// CHECK-LABEL: func.func @rows_up_to_an_end(
// CHECK: tile.alloc "x" : memref<32x64xf32
// CHECK: %[[LEFT:.*]] = arith.subi
// CHECK: %[[LEAST:.*]] = arith.minsi %c32{{.*}}, %[[LEFT]]
// CHECK: %[[HEAD:.*]] = arith.maxsi %[[LEAST]]
// CHECK: tile.elementwise <neg> ({{.*}}%c0] [%[[HEAD]], %c64]
func.func @rows_up_to_an_end(%A: memref<1280x64xf32, #global>, %E: memref<2xi32, #global>,
                             %C: memref<1280x64xf32, #global> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %blocks = arith.constant 320 : index
  tile.launch (%b) in (%blocks) {
    %x = tile.alloc "x" : memref<4x64xf32, #ub>
    %v = tile.alloc "v" : memref<i32, #tile.scope<local>>
    %row = arith.muli %b, %c4 : index
    %first = tile.load %E[%c1] : memref<2xi32, #global> -> i32
    tile.store %first, %v[] : i32, memref<i32, #tile.scope<local>>
    tile.copy (%x[%c0, %c0] [%c4, %c64] : memref<4x64xf32, #ub>, %A[%row, %c0] [%c4, %c64] : memref<1280x64xf32, #global>)
    %read = tile.load %v[] : memref<i32, #tile.scope<local>> -> i32
    %end = arith.index_cast %read : i32 to index
    %left = arith.subi %end, %row : index
    %least = arith.minsi %c4, %left : index
    %head = arith.maxsi %least, %c0 : index
    tile.elementwise <neg> (%x[%c0, %c0] [%head, %c64] : memref<4x64xf32, #ub>, %x[%c0, %c0] [%head, %c64] : memref<4x64xf32, #ub>)
    tile.copy (%C[%row, %c0] [%c4, %c64] : memref<1280x64xf32, #global>, %x[%c0, %c0] [%c4, %c64] : memref<4x64xf32, #ub>)
  }
  return
}

// Nothing divides the grid: the last block has rows that are in no tensor.
// CHECK-LABEL: func.func @left_over(
// CHECK: tile.launch (%{{.*}}) in (%c81
// CHECK: tile.alloc "x" : memref<16x64xf32
func.func @left_over(%A: memref<1283x64xf32, #global>, %C: memref<1283x64xf32, #global> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %blocks = arith.constant 321 : index
  tile.launch (%b) in (%blocks) {
    %x = tile.alloc "x" : memref<4x64xf32, #ub>
    %row = arith.muli %b, %c4 : index
    tile.copy (%x[%c0, %c0] [%c4, %c64] : memref<4x64xf32, #ub>, %A[%row, %c0] [%c4, %c64] : memref<1283x64xf32, #global>)
    tile.copy (%C[%row, %c0] [%c4, %c64] : memref<1283x64xf32, #global>, %x[%c0, %c0] [%c4, %c64] : memref<4x64xf32, #ub>)
  }
  return
}

// There the tensors go on behind the grid: a block more would write rows that are not meant.
// CHECK-LABEL: func.func @rows_behind(
// CHECK: tile.launch (%{{.*}}) in (%c321
// CHECK: tile.alloc "x" : memref<4x64xf32
func.func @rows_behind(%A: memref<1285x64xf32, #global>, %C: memref<1285x64xf32, #global> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %blocks = arith.constant 321 : index
  tile.launch (%b) in (%blocks) {
    %x = tile.alloc "x" : memref<4x64xf32, #ub>
    %row = arith.muli %b, %c4 : index
    tile.copy (%x[%c0, %c0] [%c4, %c64] : memref<4x64xf32, #ub>, %A[%row, %c0] [%c4, %c64] : memref<1285x64xf32, #global>)
    tile.copy (%C[%row, %c0] [%c4, %c64] : memref<1285x64xf32, #global>, %x[%c0, %c0] [%c4, %c64] : memref<4x64xf32, #ub>)
  }
  return
}

// Blocks that write one place have an order of their own.
// CHECK-LABEL: func.func @one_result(
// CHECK: tile.alloc "x" : memref<1x64xf32
func.func @one_result(%A: memref<320x64xf32, #global>, %C: memref<1x64xf32, #global> {tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %blocks = arith.constant 320 : index
  tile.launch (%b) in (%blocks) {
    %x = tile.alloc "x" : memref<1x64xf32, #ub>
    tile.copy (%x[%c0, %c0] [%c1, %c64] : memref<1x64xf32, #ub>, %A[%b, %c0] [%c1, %c64] : memref<320x64xf32, #global>)
    tile.copy (%C[%c0, %c0] [%c1, %c64] : memref<1x64xf32, #global>, %x[%c0, %c0] [%c1, %c64] : memref<1x64xf32, #ub>)
  }
  return
}
