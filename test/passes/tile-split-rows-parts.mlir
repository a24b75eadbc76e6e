// RUN: tilewright-opt %s --tile-place-accumulators --tile-place-buffers --tile-materialize-zero --tile-split-cores --tile-split-rows=parts=3 -o %t.after.mlir 2> %t.log
// RUN: FileCheck %s < %t.after.mlir
// RUN: tilewright-opt %t.after.mlir --tile-pipeline-buffers --convert-tile-to-npu --canonicalize --cse --npu-plan-memory --npu-insert-sync -o %t.npu.mlir 2> %t.log
// RUN: tilewright-opt %s --tile-place-accumulators -o %t.ref.mlir 2> %t.log

// Kernels without cube work: each block becomes three. Checked as text and run.

// DEFINE: %{name} =
// DEFINE: %{options} = --checksums --function %{name}
// DEFINE: %{same} = tilewright-run %t.ref.mlir %{options} > %t.before \
// DEFINE:   && tilewright-run %t.after.mlir %{options} > %t.now && diff %t.before %t.now \
// DEFINE:   && tilewright-sim %t.npu.mlir --check %{options} > %t.now && diff %t.before %t.now \
// DEFINE:   && tilewright-sim %t.npu.mlir --delay 1 %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = row_maximum
// RUN: %{same}

// REDEFINE: %{name} = bias_for_all
// RUN: %{same}

// REDEFINE: %{name} = two_blocks_ragged
// RUN: %{same}

#shared = #tile.scope<shared>
#fragment = #tile.scope<fragment>

// Ten rows in parts of four, four and two.
// CHECK-LABEL: func.func @row_maximum(
// CHECK: tile.launch {{.*}} attributes {tile.parts = 3 : i64}
// CHECK-DAG: tile.alloc "x" {tile.split_dim = 0 : i64, tile.split_rows = 4 : i64}
// CHECK-DAG: tile.alloc "m" {tile.split_dim = 0 : i64, tile.split_rows = 4 : i64}
func.func @row_maximum(%A: memref<10x24xf32> {tile.name = "A"}, %C: memref<10xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c24 = arith.constant 24 : index
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : memref<10x24xf32, #fragment>
    %m = tile.alloc "m" : memref<10xf32, #fragment>
    tile.copy(%x[%c0, %c0] [%c10, %c24] : memref<10x24xf32, #fragment>, %A[%c0, %c0] [%c10, %c24] : memref<10x24xf32>)
    tile.reduce <max> (%m[%c0] [%c10] : memref<10xf32, #fragment>,
                       %x[%c0, %c0] [%c10, %c24] : memref<10x24xf32, #fragment>) dims = [1]
    tile.copy(%C[%c0] [%c10] : memref<10xf32>, %m[%c0] [%c10] : memref<10xf32, #fragment>)
  }
  return
}

// Rows are cut rather than columns, though the bias could be cut with these: every part needs all of it, the first stores it.
// CHECK-LABEL: func.func @bias_for_all(
// CHECK-DAG: tile.alloc "x" {tile.split_dim = 0 : i64, tile.split_rows = 4 : i64}
// CHECK-DAG: tile.alloc "b" : memref<24xf32
func.func @bias_for_all(%A: memref<10x24xf32> {tile.name = "A"}, %B: memref<24xf32> {tile.name = "B"},
                        %C: memref<10x24xf32> {tile.name = "C", tile.output}, %D: memref<24xf32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c24 = arith.constant 24 : index
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : memref<10x24xf32, #fragment>
    %b = tile.alloc "b" : memref<24xf32, #fragment>
    tile.copy(%x[%c0, %c0] [%c10, %c24] : memref<10x24xf32, #fragment>, %A[%c0, %c0] [%c10, %c24] : memref<10x24xf32>)
    tile.copy(%b[%c0] [%c24] : memref<24xf32, #fragment>, %B[%c0] [%c24] : memref<24xf32>)
    tile.elementwise <add> (%x[%c0, %c0] [%c10, %c24] : memref<10x24xf32, #fragment>,
                            %x[%c0, %c0] [%c10, %c24] : memref<10x24xf32, #fragment>,
                            %b[%c0] [%c24] : memref<24xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 1>]}
    tile.copy(%C[%c0, %c0] [%c10, %c24] : memref<10x24xf32>, %x[%c0, %c0] [%c10, %c24] : memref<10x24xf32, #fragment>)
    tile.copy(%D[%c0] [%c24] : memref<24xf32>, %b[%c0] [%c24] : memref<24xf32, #fragment>)
  }
  return
}

// The second block has three of its ten rows: its last two parts have none.
// CHECK-LABEL: func.func @two_blocks_ragged(
// CHECK: tile.launch {{.*}} attributes {tile.parts = 3 : i64}
func.func @two_blocks_ragged(%A: memref<13x24xf32> {tile.name = "A"}, %C: memref<13x24xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c10 = arith.constant 10 : index
  %c24 = arith.constant 24 : index
  tile.launch (%bx) in (%c2) {
    %x = tile.alloc "x" : memref<10x24xf32, #fragment>
    %i = arith.muli %bx, %c10 : index
    tile.copy(%x[%c0, %c0] [%c10, %c24] : memref<10x24xf32, #fragment>, %A[%i, %c0] [%c10, %c24] : memref<13x24xf32>)
    tile.elementwise <exp> (%x[%c0, %c0] [%c10, %c24] : memref<10x24xf32, #fragment>,
                            %x[%c0, %c0] [%c10, %c24] : memref<10x24xf32, #fragment>)
    tile.copy(%C[%i, %c0] [%c10, %c24] : memref<13x24xf32>, %x[%c0, %c0] [%c10, %c24] : memref<10x24xf32, #fragment>)
  }
  return
}
