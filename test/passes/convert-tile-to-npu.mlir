// RUN: tilewright-opt %s --tile-place-accumulators --tile-place-buffers --tile-materialize-zero --tile-split-cores --tile-split-rows --tile-pipeline-buffers --convert-tile-to-npu --canonicalize --cse -o %t.after.mlir 2> %t.log
// RUN: FileCheck %s < %t.after.mlir
// RUN: tilewright-opt %s --tilewright-pipeline=disable=fuse-turns -o %t.npu.mlir 2> %t.log
// RUN: tilewright-opt %s --tile-place-accumulators -o %t.ref.mlir 2> %t.log

// Each case is checked as text and run as the final program, with the results of the source.

// DEFINE: %{name} =
// DEFINE: %{args} =
// DEFINE: %{options} = --checksums --function %{name} %{args}
// DEFINE: %{same} = tilewright-run %t.ref.mlir %{options} > %t.before \
// DEFINE:   && tilewright-sim %t.npu.mlir --check %{options} > %t.now && diff %t.before %t.now \
// DEFINE:   && tilewright-sim %t.npu.mlir --delay 1 %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = grid_3d
// RUN: %{same}

// REDEFINE: %{name} = grid_run_time
// REDEFINE: %{args} = --set 2=3
// RUN: %{same}
// REDEFINE: %{args} = --set 2=5
// RUN: %{same}

// REDEFINE: %{name} = many_blocks
// REDEFINE: %{args} =
// RUN: %{same}

// REDEFINE: %{name} = negative_offsets
// RUN: %{same}

// REDEFINE: %{name} = negative_store
// RUN: %{same}

// REDEFINE: %{name} = all_outside
// REDEFINE: %{args} = --set 2=30
// RUN: %{same}
// REDEFINE: %{args} = --set 2=-30
// RUN: %{same}

// REDEFINE: %{name} = row_outside
// REDEFINE: %{args} =
// RUN: %{same}

// REDEFINE: %{name} = row_store_outside
// RUN: %{same}

// REDEFINE: %{name} = column_outside
// RUN: %{same}

// REDEFINE: %{name} = element_outside
// RUN: %{same}

// REDEFINE: %{name} = loads_with_guard
// RUN: %{same}

// REDEFINE: %{name} = stores_with_guard
// RUN: %{same}

// REDEFINE: %{name} = dynamic_tensor
// REDEFINE: %{args} = --shape 0=20x28 --shape 1=20x28
// RUN: %{same}
// REDEFINE: %{args} = --shape 0=24x32 --shape 1=17x3
// RUN: %{same}

// REDEFINE: %{name} = run_time_box
// REDEFINE: %{args} = --set 2=0
// RUN: %{same}
// REDEFINE: %{args} = --set 2=7
// RUN: %{same}
// REDEFINE: %{args} = --set 2=20
// RUN: %{same}

// REDEFINE: %{name} = i8_clipped
// REDEFINE: %{args} =
// RUN: %{same}

// REDEFINE: %{name} = f16_gemm_clipped
// RUN: %{same}

// REDEFINE: %{name} = written_in_zero_trip_loop
// REDEFINE: %{args} = --set 2=0
// RUN: %{same}
// REDEFINE: %{args} = --set 2=2
// RUN: %{same}

// REDEFINE: %{name} = two_channels_in_loop
// REDEFINE: %{args} =
// RUN: %{same}

// REDEFINE: %{name} = ten_channels
// RUN: %{same}

// REDEFINE: %{name} = odd_rows
// RUN: %{same}

// REDEFINE: %{name} = column_sum
// RUN: %{same}

// REDEFINE: %{name} = one_row
// RUN: %{same}

// REDEFINE: %{name} = iota_bias
// RUN: %{same}

// REDEFINE: %{name} = vector_scalar_steers_vector
// RUN: %{same}

// REDEFINE: %{name} = while_loop
// REDEFINE: %{args} = --set 3=0
// RUN: %{same}
// REDEFINE: %{args} = --set 3=1
// RUN: %{same}
// REDEFINE: %{args} = --set 3=4
// RUN: %{same}

// REDEFINE: %{name} = two_launch_variables
// REDEFINE: %{args} =
// RUN: %{same}

// REDEFINE: %{name} = atomics_of_parts
// RUN: %{same}

#shared = #tile.scope<shared>
#fragment = #tile.scope<fragment>
#local = #tile.scope<local>

// Block numbers, first extent fastest.
// CHECK-LABEL: func.func private @grid_3d_
// CHECK: scf.for %[[B:.+]] = %{{.+}} to %{{.+}} step
// CHECK: npu.begin_block %[[B]]
// CHECK-DAG: %[[X:.+]] = arith.remui %[[B]], %c2
// CHECK-DAG: %[[Q:.+]] = arith.divui %[[B]], %c2
// CHECK-DAG: %[[Y:.+]] = arith.remui %[[Q]], %c3
// CHECK-DAG: %[[Z:.+]] = arith.divui %[[Q]], %c3
// CHECK-DAG: %[[I:.+]] = arith.muli %[[Y]], %c4
// CHECK-DAG: %[[J:.+]] = arith.muli %[[X]], %c20
// CHECK: npu.load (%T[{{.+}}, %arg0[%[[Z]], %{{[0-9]+}}, %[[J]]]
func.func @grid_3d(%A: memref<6x10x40xf32> {tile.name = "A"}, %C: memref<6x10x40xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %c20 = arith.constant 20 : index
  tile.launch (%bx, %by, %bz) in (%c2, %c3, %c6) {
    %T = tile.alloc "T" : memref<4x20xf32, #shared>
    %i = arith.muli %by, %c4 : index
    %j = arith.muli %bx, %c20 : index
    tile.copy(%T[%c0, %c0] [%c4, %c20] : memref<4x20xf32, #shared>,
              %A[%bz, %i, %j] [%c1, %c4, %c20] : memref<6x10x40xf32>)
    tile.elementwise <add> (%T[%c0, %c0] [%c4, %c20] : memref<4x20xf32, #shared>,
                            %T[%c0, %c0] [%c4, %c20] : memref<4x20xf32, #shared>,
                            %T[%c0, %c0] [%c4, %c20] : memref<4x20xf32, #shared>)
    tile.copy(%C[%bz, %i, %j] [%c1, %c4, %c20] : memref<6x10x40xf32>,
              %T[%c0, %c0] [%c4, %c20] : memref<4x20xf32, #shared>)
  }
  return
}

// An extent known at run time, even none.
// CHECK-LABEL: func.func private @grid_run_time_
// CHECK: scf.for %{{.+}} = %{{.+}} to %arg2 step
// CHECK: npu.load
func.func @grid_run_time(%A: memref<37x40xf32> {tile.name = "A"}, %C: memref<37x40xf32> {tile.name = "C", tile.output},
                         %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c40 = arith.constant 40 : index
  tile.launch (%bx, %by) in (%c1, %n) {
    %T = tile.alloc "T" : memref<8x40xf32, #shared>
    %i = arith.muli %by, %c8 : index
    tile.copy(%T[%c0, %c0] [%c8, %c40] : memref<8x40xf32, #shared>, %A[%i, %c0] [%c8, %c40] : memref<37x40xf32>)
    tile.elementwise <add> (%T[%c0, %c0] [%c8, %c40] : memref<8x40xf32, #shared>,
                            %T[%c0, %c0] [%c8, %c40] : memref<8x40xf32, #shared>,
                            %T[%c0, %c0] [%c8, %c40] : memref<8x40xf32, #shared>)
    tile.copy(%C[%i, %c0] [%c8, %c40] : memref<37x40xf32>, %T[%c0, %c0] [%c8, %c40] : memref<8x40xf32, #shared>)
  }
  return
}

// More blocks than cores.
// CHECK-LABEL: func.func private @many_blocks_
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK: npu.load
// CHECK: npu.store
// CHECK: return
func.func @many_blocks(%A: memref<1000x8xf32> {tile.name = "A"}, %C: memref<1000x8xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c1000 = arith.constant 1000 : index
  tile.launch (%bx) in (%c1000) {
    %T = tile.alloc "T" : memref<1x8xf32, #shared>
    tile.copy(%T[%c0, %c0] [%c1, %c8] : memref<1x8xf32, #shared>, %A[%bx, %c0] [%c1, %c8] : memref<1000x8xf32>)
    tile.elementwise <add> (%T[%c0, %c0] [%c1, %c8] : memref<1x8xf32, #shared>,
                            %T[%c0, %c0] [%c1, %c8] : memref<1x8xf32, #shared>,
                            %T[%c0, %c0] [%c1, %c8] : memref<1x8xf32, #shared>)
    tile.copy(%C[%bx, %c0] [%c1, %c8] : memref<1000x8xf32>, %T[%c0, %c0] [%c1, %c8] : memref<1x8xf32, #shared>)
  }
  return
}

// Boxes that begin before the tensor: the rest of the tile holds the pad value.
// CHECK-LABEL: func.func private @negative_offsets_
// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: scf.if
// CHECK: npu.fill %cst
// CHECK: }
// CHECK: npu.load
func.func @negative_offsets(%A: memref<20x20xf32> {tile.name = "A"},
                            %C: memref<24x24xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  tile.launch (%bx, %by) in (%c3, %c3) {
    %T = tile.alloc "T" : memref<8x8xf32, #shared>
    %i8 = arith.muli %by, %c8 : index
    %j8 = arith.muli %bx, %c8 : index
    %i = arith.subi %i8, %c3 : index
    %j = arith.subi %j8, %c5 : index
    tile.copy(%T[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #shared>,
              %A[%i, %j] [%c8, %c8] : memref<20x20xf32>) {pad = 7.0 : f64}
    tile.copy(%C[%i8, %j8] [%c8, %c8] : memref<24x24xf32>, %T[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #shared>)
  }
  return
}

// Only the part inside is stored.
// CHECK-LABEL: func.func private @negative_store_
// CHECK: npu.load
// CHECK: arith.maxsi
// CHECK: npu.store
func.func @negative_store(%A: memref<24x24xf32> {tile.name = "A"},
                          %C: memref<20x20xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  tile.launch (%bx, %by) in (%c3, %c3) {
    %T = tile.alloc "T" : memref<8x8xf32, #shared>
    %i8 = arith.muli %by, %c8 : index
    %j8 = arith.muli %bx, %c8 : index
    %i = arith.subi %i8, %c3 : index
    %j = arith.subi %j8, %c5 : index
    tile.copy(%T[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #shared>, %A[%i8, %j8] [%c8, %c8] : memref<24x24xf32>)
    tile.copy(%C[%i, %j] [%c8, %c8] : memref<20x20xf32>, %T[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #shared>)
  }
  return
}

// Boxes with no part inside.
// CHECK-LABEL: func.func private @all_outside_
// CHECK: npu.fill
// CHECK: npu.load
func.func @all_outside(%A: memref<20x20xf32> {tile.name = "A"}, %C: memref<24x24xf32> {tile.name = "C", tile.output},
                       %n: index) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  tile.launch (%bx, %by) in (%c3, %c3) {
    %T = tile.alloc "T" : memref<8x8xf32, #shared>
    %i8 = arith.muli %by, %c8 : index
    %j8 = arith.muli %bx, %c8 : index
    %i = arith.addi %i8, %n : index
    tile.copy(%T[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #shared>,
              %A[%i, %n] [%c8, %c8] : memref<20x20xf32>) {pad = -1.0 : f64}
    tile.copy(%C[%i8, %j8] [%c8, %c8] : memref<24x24xf32>, %T[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #shared>)
    tile.copy(%C[%i, %n] [%c8, %c8] : memref<24x24xf32>, %T[%c0, %c0] [%c8, %c8] : memref<8x8xf32, #shared>)
  }
  return
}

// A row outside, in a tile without that dimension.
// CHECK-LABEL: func.func private @row_outside_
// CHECK: arith.select
// CHECK: npu.load
func.func @row_outside(%A: memref<5x20xf32> {tile.name = "A"}, %C: memref<8x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c8) {
    %T = tile.alloc "T" : memref<32xf32, #shared>
    %U = tile.alloc "U" : memref<1x32xf32, #shared>
    tile.copy(%T[%c0] [%c32] : memref<32xf32, #shared>, %A[%bx, %c0] [%c1, %c32] : memref<5x20xf32>) {pad = 3.0 : f64}
    tile.copy(%U[%c0, %c0] [%c1, %c32] : memref<1x32xf32, #shared>,
              %A[%bx, %c6] [%c1, %c32] : memref<5x20xf32>) {pad = 2.0 : f64}
    tile.elementwise <add> (%T[%c0] [%c32] : memref<32xf32, #shared>, %T[%c0] [%c32] : memref<32xf32, #shared>,
                            %U[%c0, %c0] [%c1, %c32] : memref<1x32xf32, #shared>) {maps = [array<i64: 0>, array<i64: 0>, array<i64: -1, 0>]}
    tile.copy(%C[%bx, %c0] [%c1, %c32] : memref<8x32xf32>, %T[%c0] [%c32] : memref<32xf32, #shared>)
  }
  return
}

// And stored.
// CHECK-LABEL: func.func private @row_store_outside_
// CHECK: npu.store
func.func @row_store_outside(%A: memref<8x32xf32> {tile.name = "A"},
                             %C: memref<5x20xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c8) {
    %T = tile.alloc "T" : memref<32xf32, #shared>
    tile.copy(%T[%c0] [%c32] : memref<32xf32, #shared>, %A[%bx, %c0] [%c1, %c32] : memref<8x32xf32>)
    tile.copy(%C[%bx, %c0] [%c1, %c32] : memref<5x20xf32>, %T[%c0] [%c32] : memref<32xf32, #shared>)
  }
  return
}

// A column that becomes a row: the size of 1 stays, nothing is left of the other dimension.
// CHECK-LABEL: func.func private @column_outside_
// CHECK: %[[GONE:.+]] = arith.cmpi eq
// CHECK: %[[ROWS:.+]] = arith.select %[[GONE]], %c0, %c10
// CHECK: npu.load (%T[%c0, %c0] [%c1, %[[ROWS]]] : {{.+}}, %arg0[%c26, %{{.+}}] [%[[ROWS]], %c1]
func.func @column_outside(%G: memref<36x3xi32> {tile.name = "G"}, %O: memref<3x27xi32> {tile.name = "O", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c19 = arith.constant 19 : index
  %c26 = arith.constant 26 : index
  tile.launch (%bx) in (%c3) {
    %T = tile.alloc "T" : memref<1x19xi32, #shared>
    %j = arith.addi %bx, %c2 : index
    tile.copy(%T[%c0, %c0] [%c1, %c19] : memref<1x19xi32, #shared>,
              %G[%c26, %j] [%c19, %c1] : memref<36x3xi32>) {pad = 3.0 : f64}
    tile.copy(%O[%bx, %c0] [%c1, %c19] : memref<3x27xi32>, %T[%c0, %c0] [%c1, %c19] : memref<1x19xi32, #shared>)
  }
  return
}

// A box of one element.
// CHECK-LABEL: func.func private @element_outside_
// CHECK: npu.fill
// CHECK: scf.if %{{.+}} {
// CHECK: } else {
// CHECK: npu.load (%T[%c0, %c0] [%c1, %c1]
func.func @element_outside(%G: memref<5x2xf32> {tile.name = "G"}, %O: memref<3x8xf32> {tile.name = "O", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  tile.launch (%bx) in (%c3) {
    %T = tile.alloc "T" : memref<1x1xf32, #shared>
    %j = arith.subi %bx, %c1 : index
    tile.copy(%T[%c0, %c0] [%c1, %c1] : memref<1x1xf32, #shared>,
              %G[%j, %j] [%c1, %c1] : memref<5x2xf32>) {pad = 3.0 : f64}
    tile.copy(%O[%bx, %j] [%c1, %c1] : memref<3x8xf32>, %T[%c0, %c0] [%c1, %c1] : memref<1x1xf32, #shared>)
  }
  return
}

// An element outside reads as the pad value.
// CHECK-LABEL: func.func private @loads_with_guard_
// CHECK: %[[V:.+]] = scf.if
// CHECK: npu.scalar_load
// CHECK: } else {
// CHECK: scf.yield %cst
func.func @loads_with_guard(%A: memref<5xf32> {tile.name = "A"}, %C: memref<8xf32> {tile.name = "C", tile.output}) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  tile.launch (%bx) in (%c8) {
    %x = tile.alloc "x" : memref<f32, #local>
    %b = arith.subi %bx, %c1 : index
    %v = tile.load %A[%b] {pad = 9.0 : f64} : memref<5xf32> -> f32
    %w = arith.addf %v, %v : f32
    tile.store %w, %C[%bx] : f32, memref<8xf32>
  }
  return
}

// An element outside is not stored.
// CHECK-LABEL: func.func private @stores_with_guard_
// CHECK: scf.if
// CHECK: npu.scalar_store
func.func @stores_with_guard(%A: memref<8xf32> {tile.name = "A"}, %C: memref<5xf32> {tile.name = "C", tile.output}) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  tile.launch (%bx) in (%c8) {
    %b = arith.subi %bx, %c1 : index
    %v = tile.load %A[%bx] : memref<8xf32> -> f32
    tile.store %v, %C[%b] : f32, memref<5xf32>
  }
  return
}

// Extents from the arguments.
// CHECK-LABEL: func.func private @dynamic_tensor_
// CHECK: memref.dim %arg0
// CHECK: npu.load
func.func @dynamic_tensor(%A: memref<?x?xf32> {tile.name = "A"}, %C: memref<?x?xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  tile.launch (%bx, %by) in (%c2, %c3) {
    %T = tile.alloc "T" : memref<8x16xf32, #shared>
    %i = arith.muli %by, %c8 : index
    %j = arith.muli %bx, %c16 : index
    tile.copy(%T[%c0, %c0] [%c8, %c16] : memref<8x16xf32, #shared>, %A[%i, %j] [%c8, %c16] : memref<?x?xf32>)
    tile.elementwise <add> (%T[%c0, %c0] [%c8, %c16] : memref<8x16xf32, #shared>,
                            %T[%c0, %c0] [%c8, %c16] : memref<8x16xf32, #shared>,
                            %T[%c0, %c0] [%c8, %c16] : memref<8x16xf32, #shared>)
    tile.copy(%C[%i, %j] [%c8, %c16] : memref<?x?xf32>, %T[%c0, %c0] [%c8, %c16] : memref<8x16xf32, #shared>)
  }
  return
}

// A box of run-time size.
// CHECK-LABEL: func.func private @run_time_box_
// CHECK: %[[ROWS:.+]] = arith.minsi %arg2, %c20
// CHECK: %[[SIZE:.+]] = arith.maxsi %[[ROWS]], %c0
// CHECK: npu.load (%T[{{.+}}] [%[[SIZE]], %c40]
// CHECK: npu.elementwise <add> (%T[{{.+}}] [%arg2,
func.func @run_time_box(%A: memref<20x40xf32> {tile.name = "A"}, %C: memref<20x40xf32> {tile.name = "C", tile.output},
                        %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<20x40xf32, #shared>
    tile.copy(%T[%c0, %c0] [%m, %c40] : memref<20x40xf32, #shared>, %A[%c0, %c0] [%m, %c40] : memref<20x40xf32>)
    tile.elementwise <add> (%T[%c0, %c0] [%m, %c40] : memref<20x40xf32, #shared>,
                            %T[%c0, %c0] [%m, %c40] : memref<20x40xf32, #shared>,
                            %T[%c0, %c0] [%m, %c40] : memref<20x40xf32, #shared>)
    tile.copy(%C[%c0, %c0] [%m, %c40] : memref<20x40xf32>, %T[%c0, %c0] [%m, %c40] : memref<20x40xf32, #shared>)
  }
  return
}

// Bytes.
// CHECK-LABEL: func.func private @i8_clipped_
// CHECK: npu.fill %c0_i8
// CHECK: npu.load
func.func @i8_clipped(%A: memref<20x40xi8> {tile.name = "A"}, %C: memref<24x64xi8> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %c64 = arith.constant 64 : index
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<24x64xi8, #shared>
    tile.copy(%T[%c0, %c0] [%c24, %c64] : memref<24x64xi8, #shared>, %A[%c0, %c0] [%c24, %c64] : memref<20x40xi8>)
    tile.copy(%C[%c0, %c0] [%c24, %c64] : memref<24x64xi8>, %T[%c0, %c0] [%c24, %c64] : memref<24x64xi8, #shared>)
  }
  return
}

// Edges of operands are zero; the store is clipped.
// CHECK-LABEL: func.func private @f16_gemm_clipped_
// CHECK: npu.alloc "As" {slots = 2 : i64} : memref<32x16xf16, #npu.space<l1>>
// CHECK: npu.advance %As
// CHECK: npu.fill_l1
// CHECK: npu.load (%As[
// CHECK: npu.mmad (%Cl.acc[
// CHECK: npu.fixpipe (%arg2[
func.func @f16_gemm_clipped(%A: memref<50x40xf16> {tile.name = "A"}, %B: memref<40x50xf16> {tile.name = "B"},
                            %C: memref<50x50xf16> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx, %by) in (%c2, %c2) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    %i = arith.muli %by, %c32 : index
    %j = arith.muli %bx, %c32 : index
    scf.for %ko = %c0 to %c3 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%i, %k] [%c32, %c16] : memref<50x40xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %j] [%c16, %c32] : memref<40x50xf16>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    } {tile.num_stages = 2 : i64}
    tile.copy(%C[%i, %j] [%c32, %c32] : memref<50x50xf16>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// A block whose loop has no turn.
// CHECK-LABEL: func.func private @written_in_zero_trip_loop_
// CHECK: npu.fill
// CHECK: scf.for %{{.+}} = %{{.+}} to %arg2
func.func @written_in_zero_trip_loop(%A: memref<24x40xf32> {tile.name = "A"},
                                     %C: memref<24x40xf32> {tile.name = "C", tile.output}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %c40 = arith.constant 40 : index
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<24x40xf32, #shared>
    scf.for %t = %c0 to %n step %c1 {
      tile.copy(%T[%c0, %c0] [%c24, %c40] : memref<24x40xf32, #shared>, %A[%c0, %c0] [%c24, %c40] : memref<24x40xf32>)
    }
    tile.copy(%C[%c0, %c0] [%c24, %c40] : memref<24x40xf32>, %T[%c0, %c0] [%c24, %c40] : memref<24x40xf32, #shared>)
  }
  return
}

// Ids of the semaphores: one for full slots, one for free ones; credits are granted before the first block and taken back after the last.
// CHECK-LABEL: func.func private @two_channels_in_loop_
// CHECK: npu.block_set <MTE2> id 1
// CHECK: scf.for
// CHECK: npu.block_wait <MTE2> id 0
// CHECK: npu.load (%P.l1[
// CHECK: npu.block_set <MTE2> id 1
// CHECK: npu.block_wait <FIX> id 3
func.func @two_channels_in_loop(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x96xf16> {tile.name = "B"},
                                %D: memref<96x32xf16> {tile.name = "D"},
                                %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %scale = arith.constant 0.0625 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Ds = tile.alloc "Ds" : memref<32x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    %P = tile.alloc "P" : memref<32x32xf16, #shared>
    %O = tile.alloc "O" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    scf.for %t = %c0 to %c3 step %c1 {
      %j = arith.muli %t, %c32 : index
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %j] [%c16, %c32] : memref<16x96xf16>)
      tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
      tile.elementwise <mul> (%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %scale : f32
      tile.copy(%P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.copy(%Ds[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %D[%j, %c0] [%c32, %c32] : memref<96x32xf16>)
      tile.gemm(%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %Ds[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>)
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Too many channels for ids of their own: those of one direction share.
// CHECK-LABEL: func.func private @ten_channels_
// CHECK-NOT: id 4
// CHECK: npu.block_wait <FIX> id 1
// CHECK: npu.fixpipe (%S1.exchange[
// CHECK: npu.block_set <FIX> id 0
// CHECK: npu.block_wait <FIX> id 1
// CHECK: npu.fixpipe (%S2.exchange[
// CHECK-NOT: id 4
// CHECK: return
func.func @ten_channels(%A: memref<32x32xf16> {tile.name = "A"}, %B: memref<32x32xf16> {tile.name = "B"},
                        %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %s = arith.constant 0.0625 : f32
  tile.launch (%bx) in (%c2) {
    %As = tile.alloc "As" : memref<32x32xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<32x32xf16, #shared>
    %S1 = tile.alloc "S1" : memref<32x32xf32, #fragment>
    %P1 = tile.alloc "P1" : memref<32x32xf16, #shared>
    %S2 = tile.alloc "S2" : memref<32x32xf32, #fragment>
    %P2 = tile.alloc "P2" : memref<32x32xf16, #shared>
    %S3 = tile.alloc "S3" : memref<32x32xf32, #fragment>
    %P3 = tile.alloc "P3" : memref<32x32xf16, #shared>
    %S4 = tile.alloc "S4" : memref<32x32xf32, #fragment>
    %P4 = tile.alloc "P4" : memref<32x32xf16, #shared>
    %S5 = tile.alloc "S5" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %A[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    tile.copy(%Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %B[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    scf.for %t = %c0 to %c3 step %c1 {
      tile.gemm(%S1[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
      tile.elementwise <mul> (%S1[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %S1[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %s : f32
      tile.copy(%P1[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %S1[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.gemm(%S2[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %P1[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
      tile.elementwise <mul> (%S2[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %S2[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %s : f32
      tile.copy(%P2[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %S2[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.gemm(%S3[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %P2[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
      tile.elementwise <mul> (%S3[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %S3[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %s : f32
      tile.copy(%P3[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %S3[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.gemm(%S4[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %P3[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
      tile.elementwise <mul> (%S4[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %S4[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %s : f32
      tile.copy(%P4[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %S4[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.gemm(%S5[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %P4[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
      tile.elementwise <add> (%S5[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %S5[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %s : f32
    } {tile.num_stages = 2 : i64}
    %one = arith.cmpi eq, %bx, %c1 : index
    scf.if %one {
      tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>,
                %S5[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    }
  }
  return
}

// Halves of the rows: offsets and sizes follow the vector core's number.
// CHECK-LABEL: func.func private @odd_rows_
// CHECK: npu.fixpipe
// CHECK: func.func private @odd_rows_{{.*}}aiv
// CHECK: %[[SUB:.+]] = npu.sub_core_id
// CHECK: npu.alloc "Cl" {{.+}}memref<19x24xf32
// CHECK: arith.muli %[[SUB]], %c19
func.func @odd_rows(%A: memref<37x16xf16> {tile.name = "A"}, %B: memref<16x24xf16> {tile.name = "B"},
                    %C: memref<37x24xf32> {tile.name = "C", tile.output},
                    %D: memref<37xf32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %c37 = arith.constant 37 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<37x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x24xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<37x24xf32, #fragment>
    %m = tile.alloc "m" : memref<37xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c37, %c16] : memref<37x16xf16, #shared>, %A[%c0, %c0] [%c37, %c16] : memref<37x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c24] : memref<16x24xf16, #shared>, %B[%c0, %c0] [%c16, %c24] : memref<16x24xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c37, %c24] : memref<37x24xf32, #fragment>,
              %As[%c0, %c0] [%c37, %c16] : memref<37x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c24] : memref<16x24xf16, #shared>) init %true
    tile.reduce <max> (%m[%c0] [%c37] : memref<37xf32, #fragment>,
                       %Cl[%c0, %c0] [%c37, %c24] : memref<37x24xf32, #fragment>) dims = [1]
    tile.elementwise <sub> (%Cl[%c0, %c0] [%c37, %c24] : memref<37x24xf32, #fragment>,
                            %Cl[%c0, %c0] [%c37, %c24] : memref<37x24xf32, #fragment>,
                            %m[%c0] [%c37] : memref<37xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
    tile.copy(%C[%c0, %c0] [%c37, %c24] : memref<37x24xf32>, %Cl[%c0, %c0] [%c37, %c24] : memref<37x24xf32, #fragment>)
    tile.copy(%D[%c0] [%c37] : memref<37xf32>, %m[%c0] [%c37] : memref<37xf32, #fragment>)
  }
  return
}

// Columns are cut.
// CHECK-LABEL: func.func private @column_sum_
// CHECK: npu.fixpipe
// CHECK: func.func private @column_sum_{{.*}}aiv
// CHECK: npu.alloc "Cl" {{.+}}memref<32x16xf32
func.func @column_sum(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                      %C: memref<96x32xf32> {tile.name = "C", tile.output},
                      %D: memref<3x32xf32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c3) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    %s = tile.alloc "s" : memref<32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.reduce <sum> (%s[%c0] [%c32] : memref<32xf32, #fragment>,
                       %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) dims = [0]
    tile.elementwise <sub> (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %s[%c0] [%c32] : memref<32xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 1>]}
    %i = arith.muli %bx, %c32 : index
    tile.copy(%C[%i, %c0] [%c32, %c32] : memref<96x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.copy(%D[%bx, %c0] [%c1, %c32] : memref<3x32xf32>, %s[%c0] [%c32] : memref<32xf32, #fragment>)
  }
  return
}

// What both vector cores compute the first stores.
// CHECK-LABEL: func.func private @one_row_
// CHECK: npu.fixpipe
// CHECK: func.func private @one_row_{{.*}}aiv
// CHECK: %[[SUB:.+]] = npu.sub_core_id
// CHECK: %[[FIRST:.+]] = arith.cmpi eq, %[[SUB]], %c0
// CHECK: scf.if %[[FIRST]] {
// CHECK: npu.store (%arg2[
func.func @one_row(%A: memref<1x16xf16> {tile.name = "A"}, %B: memref<16x24xf16> {tile.name = "B"},
                   %C: memref<1x24xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<1x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x24xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<1x24xf32, #fragment>
    %m = tile.alloc "m" : memref<1xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c1, %c16] : memref<1x16xf16, #shared>, %A[%c0, %c0] [%c1, %c16] : memref<1x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c24] : memref<16x24xf16, #shared>, %B[%c0, %c0] [%c16, %c24] : memref<16x24xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c1, %c24] : memref<1x24xf32, #fragment>,
              %As[%c0, %c0] [%c1, %c16] : memref<1x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c24] : memref<16x24xf16, #shared>) init %true
    tile.reduce <max> (%m[%c0] [%c1] : memref<1xf32, #fragment>,
                       %Cl[%c0, %c0] [%c1, %c24] : memref<1x24xf32, #fragment>) dims = [1]
    tile.elementwise <sub> (%Cl[%c0, %c0] [%c1, %c24] : memref<1x24xf32, #fragment>,
                            %Cl[%c0, %c0] [%c1, %c24] : memref<1x24xf32, #fragment>,
                            %m[%c0] [%c1] : memref<1xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
    tile.copy(%C[%c0, %c0] [%c1, %c24] : memref<1x24xf32>, %Cl[%c0, %c0] [%c1, %c24] : memref<1x24xf32, #fragment>)
  }
  return
}

// Numbers go on in the second half.
// CHECK-LABEL: func.func private @iota_bias_
// CHECK: npu.fixpipe
// CHECK: func.func private @iota_bias_{{.*}}aiv
// CHECK: npu.iota
func.func @iota_bias(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                     %C: memref<96x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c100 = arith.constant 100 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c3) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    %I = tile.alloc "I" : memref<32x32xf32, #fragment>
    %J = tile.alloc "J" : memref<32xi32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.iota(%I[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) from %bx by (%c100, %c1)
    tile.elementwise <add> (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %I[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    %i = arith.muli %bx, %c32 : index
    tile.copy(%C[%i, %c0] [%c32, %c32] : memref<96x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// The cube keeps the form of a loop that passes on a scalar of the vector core.
// CHECK-LABEL: func.func private @vector_scalar_steers_vector_
// CHECK-NOT: npu.scalar_load
// CHECK: npu.fixpipe
// CHECK-NOT: npu.scalar_load
// CHECK: func.func private @vector_scalar_steers_vector_{{.*}}aiv
// CHECK: npu.scalar_load %m[
func.func @vector_scalar_steers_vector(%A: memref<32x16xf16> {tile.name = "A"},
                                       %B: memref<16x32xf16> {tile.name = "B"},
                                       %C: memref<32x32xf32> {tile.name = "C", tile.output}, %n: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %i1 = arith.constant 1 : i32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    %m = tile.alloc "m" : memref<32xf32, #fragment>
    %best = tile.alloc "best" : memref<f32, #local>
    %count = tile.alloc "count" : memref<i32, #local>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.reduce <max> (%m[%c0] [%c32] : memref<32xf32, #fragment>,
                       %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) dims = [1]
    %max = scf.for %t = %c0 to %c32 step %c1 iter_args(%old = %zero) -> f32 {
      %v = tile.load %m[%t] : memref<32xf32, #fragment> -> f32
      %new = arith.maximumf %old, %v : f32
      scf.yield %new : f32
    }
    tile.store %max, %best[] : f32, memref<f32, #local>
    %small = arith.cmpf olt, %max, %zero : f32
    scf.if %small {
      tile.store %i1, %count[] : i32, memref<i32, #local>
    }
    %b = tile.load %best[] : memref<f32, #local> -> f32
    tile.elementwise <sub> (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %b : f32
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// A loop with a condition, on both cores.
// CHECK-LABEL: func.func private @while_loop_
// CHECK: scf.while
// CHECK: npu.mmad
func.func @while_loop(%A: memref<32x64xf16> {tile.name = "A"}, %B: memref<64x32xf16> {tile.name = "B"},
                      %C: memref<64x32xf32> {tile.name = "C", tile.output}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c2) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    %end = scf.while (%t = %c0) : (index) -> index {
      %go = arith.cmpi slt, %t, %n : index
      scf.condition(%go) %t : index
    } do {
    ^bb0(%t: index):
      %k = arith.muli %t, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x64xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<64x32xf16>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
      %next = arith.addi %t, %c1 : index
      scf.yield %next : index
    }
    tile.elementwise <add> (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    %i = arith.muli %bx, %c32 : index
    tile.copy(%C[%i, %c0] [%c32, %c32] : memref<64x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Scalar variables in a kernel without tiles.
// CHECK-LABEL: func.func private @two_launch_variables_
// CHECK: npu.alloc "y" : memref<i32, #npu.space<reg>>
// CHECK: npu.scalar_store
func.func @two_launch_variables(%A: memref<24xf32> {tile.name = "A"}, %C: memref<4xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  %i1 = arith.constant 1 : i32
  tile.launch (%bx) in (%c4) {
    %x = tile.alloc "x" : memref<f32, #local>
    %y = tile.alloc "y" : memref<i32, #local>
    tile.store %i1, %y[] : i32, memref<i32, #local>
    scf.for %t = %c0 to %c6 step %c1 {
      %b = arith.muli %bx, %c6 : index
      %q = arith.addi %b, %t : index
      %v = tile.load %A[%q] : memref<24xf32> -> f32
      %pos = arith.cmpf ogt, %v, %zero : f32
      scf.if %pos {
        %n = tile.load %y[] : memref<i32, #local> -> i32
        %n1 = arith.addi %n, %i1 : i32
        tile.store %n1, %y[] : i32, memref<i32, #local>
      }
    }
    %n = tile.load %y[] : memref<i32, #local> -> i32
    %f = arith.sitofp %n : i32 to f32
    tile.store %f, %C[%bx] : f32, memref<4xf32>
  }
  return
}

// Atomics of tiles that both cores hold.
// CHECK-LABEL: func.func private @atomics_of_parts_
// CHECK: npu.fixpipe
// CHECK: npu.atomic <sum>
func.func @atomics_of_parts(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                            %C: memref<32x32xf32> {tile.name = "C", tile.output},
                            %D: memref<32xf32> {tile.name = "D", tile.output},
                            %E: memref<1xf32> {tile.name = "E", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c3) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    %s = tile.alloc "s" : memref<32xf32, #fragment>
    %u = tile.alloc "u" : memref<1xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.reduce <sum> (%s[%c0] [%c32] : memref<32xf32, #fragment>,
                       %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) dims = [0]
    tile.reduce <sum> (%u[%c0] [%c1] : memref<1xf32, #fragment>,
                       %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) dims = [0, 1]
    tile.atomic <sum> (%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>,
                       %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.atomic <sum> (%D[%c0] [%c32] : memref<32xf32>, %s[%c0] [%c32] : memref<32xf32, #fragment>)
    tile.atomic <max> (%E[%c0] [%c1] : memref<1xf32>, %u[%c0] [%c1] : memref<1xf32, #fragment>)
  }
  return
}
