// RUN: tilewright-opt %s --tile-place-accumulators --tile-place-buffers --tile-materialize-zero --tile-split-cores --tile-split-rows -o %t.after.mlir 2> %t.log
// RUN: FileCheck %s < %t.after.mlir
// RUN: tilewright-opt %s --tilewright-pipeline=disable=fuse-turns -o %t.npu.mlir 2> %t.log
// RUN: tilewright-opt %s --tile-place-accumulators -o %t.ref.mlir 2> %t.log

// Each case is checked as text and run as the final program: the row halves meet there.

// DEFINE: %{name} =
// DEFINE: %{args} =
// DEFINE: %{options} = --checksums --function %{name} %{args}
// DEFINE: %{same} = tilewright-run %t.ref.mlir %{options} > %t.before \
// DEFINE:   && tilewright-run %t.after.mlir %{options} > %t.now && diff %t.before %t.now \
// DEFINE:   && tilewright-sim %t.npu.mlir --check %{options} > %t.now && diff %t.before %t.now \
// DEFINE:   && tilewright-sim %t.npu.mlir --delay 1 %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = odd_rows
// RUN: %{same}

// REDEFINE: %{name} = one_row
// RUN: %{same}

// REDEFINE: %{name} = column_sum
// RUN: %{same}

// REDEFINE: %{name} = rows_and_columns
// RUN: %{same}

// REDEFINE: %{name} = transposed_between
// RUN: %{same}

// REDEFINE: %{name} = transposed_square
// RUN: %{same}

// REDEFINE: %{name} = scan_rows
// RUN: %{same}

// REDEFINE: %{name} = iota_bias
// RUN: %{same}

// REDEFINE: %{name} = clipped_rows
// RUN: %{same}

// REDEFINE: %{name} = parts_of_rows
// RUN: %{same}

// REDEFINE: %{name} = atomics_of_parts
// RUN: %{same}

// REDEFINE: %{name} = two_classes
// RUN: %{same}

// REDEFINE: %{name} = outer_product
// RUN: %{same}

// REDEFINE: %{name} = scalar_store_of_vector
// RUN: %{same}

// REDEFINE: %{name} = attention
// RUN: %{same}

// REDEFINE: %{name} = cube_only
// RUN: %{same}

#shared = #tile.scope<shared>
#fragment = #tile.scope<fragment>

// The first core takes the odd row.
// CHECK-LABEL: func.func @odd_rows(
// CHECK-DAG: tile.alloc "Cl" {tile.split_dim = 0 : i64, tile.split_rows = 19 : i64}
// CHECK-DAG: tile.alloc "m" {tile.split_dim = 0 : i64, tile.split_rows = 19 : i64}
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

// Nothing to cut: both do the work, the first stores it.
// CHECK-LABEL: func.func @one_row(
// CHECK-NOT: tile.split_dim
// CHECK: return
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

// A sum over rows forbids cutting them: columns are cut.
// CHECK-LABEL: func.func @column_sum(
// CHECK-DAG: tile.alloc "Cl" {tile.split_dim = 1 : i64, tile.split_rows = 16 : i64}
// CHECK-DAG: tile.alloc "s" {tile.split_dim = 0 : i64, tile.split_rows = 16 : i64}
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

// Sums over both: nothing is cut.
// CHECK-LABEL: func.func @rows_and_columns(
// CHECK-NOT: tile.split_dim
// CHECK: return
func.func @rows_and_columns(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x48xf16> {tile.name = "B"},
                            %C: memref<96x48xf32> {tile.name = "C", tile.output},
                            %D: memref<3x48xf32> {tile.name = "D", tile.output},
                            %E: memref<3x32xf32> {tile.name = "E", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c48 = arith.constant 48 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c3) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x48xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x48xf32, #fragment>
    %s = tile.alloc "s" : memref<48xf32, #fragment>
    %r = tile.alloc "r" : memref<32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c48] : memref<16x48xf16, #shared>, %B[%c0, %c0] [%c16, %c48] : memref<16x48xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c48] : memref<16x48xf16, #shared>) init %true
    tile.reduce <sum> (%s[%c0] [%c48] : memref<48xf32, #fragment>,
                       %Cl[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>) dims = [0]
    tile.reduce <sum> (%r[%c0] [%c32] : memref<32xf32, #fragment>,
                       %Cl[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>) dims = [1]
    tile.elementwise <sub> (%Cl[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>,
                            %Cl[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>,
                            %s[%c0] [%c48] : memref<48xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 1>]}
    %i = arith.muli %bx, %c32 : index
    tile.copy(%C[%i, %c0] [%c32, %c48] : memref<96x48xf32>, %Cl[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>)
    tile.copy(%D[%bx, %c0] [%c1, %c48] : memref<3x48xf32>, %s[%c0] [%c48] : memref<48xf32, #fragment>)
    tile.copy(%E[%bx, %c0] [%c1, %c32] : memref<3x32xf32>, %r[%c0] [%c32] : memref<32xf32, #fragment>)
  }
  return
}

// The cut follows a transposition.
// CHECK-LABEL: func.func @transposed_between(
// CHECK-DAG: tile.alloc "Cl" {tile.split_dim = 0 : i64, tile.split_rows = 16 : i64}
// CHECK-DAG: tile.alloc "T" {tile.split_dim = 1 : i64, tile.split_rows = 16 : i64}
func.func @transposed_between(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x48xf16> {tile.name = "B"},
                              %C: memref<48x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c48 = arith.constant 48 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x48xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x48xf32, #fragment>
    %T = tile.alloc "T" : memref<48x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c48] : memref<16x48xf16, #shared>, %B[%c0, %c0] [%c16, %c48] : memref<16x48xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c48] : memref<16x48xf16, #shared>) init %true
    tile.elementwise <copy> (%T[%c0, %c0] [%c48, %c32] : memref<48x32xf32, #fragment>,
                             %Cl[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 1, 0>]}
    tile.copy(%C[%c0, %c0] [%c48, %c32] : memref<48x32xf32>, %T[%c0, %c0] [%c48, %c32] : memref<48x32xf32, #fragment>)
  }
  return
}

// A tile plus its transpose cannot be cut.
// CHECK-LABEL: func.func @transposed_square(
// CHECK-NOT: tile.split_dim
// CHECK: return
func.func @transposed_square(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                             %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    %T = tile.alloc "T" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.elementwise <add> (%T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 1, 0>, array<i64: 0, 1>]}
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// A scan along the other dimension.
// CHECK-LABEL: func.func @scan_rows(
// CHECK-DAG: tile.alloc "Cl" {tile.split_dim = 0 : i64, tile.split_rows = 16 : i64}
// CHECK-DAG: tile.alloc "T" {tile.split_dim = 0 : i64, tile.split_rows = 16 : i64}
func.func @scan_rows(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                     %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    %T = tile.alloc "T" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.scan <sum> (%T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                     %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) dim = 1
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Row numbers go on where the first core's rows end.
// CHECK-LABEL: func.func @iota_bias(
// CHECK-DAG: tile.alloc "Cl" {tile.split_dim = 0 : i64, tile.split_rows = 16 : i64}
// CHECK-DAG: tile.alloc "I" {tile.split_dim = 0 : i64, tile.split_rows = 16 : i64}
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

// Rows beyond the edge of the tensors.
// CHECK-LABEL: func.func @clipped_rows(
// CHECK-DAG: tile.alloc "Cl" {tile.split_dim = 0 : i64, tile.split_rows = 16 : i64}
// CHECK-DAG: tile.alloc "Ms" {tile.split_dim = 0 : i64, tile.split_rows = 16 : i64}
func.func @clipped_rows(%A: memref<50x16xf16> {tile.name = "A"}, %B: memref<16x30xf16> {tile.name = "B"},
                        %M: memref<50x30xf32> {tile.name = "M"}, %C: memref<50x30xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c2) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    %Ms = tile.alloc "Ms" : memref<32x32xf32, #shared>
    %i = arith.muli %bx, %c32 : index
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%i, %c0] [%c32, %c16] : memref<50x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x30xf16>)
    tile.copy(%Ms[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #shared>,
              %M[%i, %c0] [%c32, %c32] : memref<50x30xf32>) {pad = -1.0 : f64}
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.elementwise <add> (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %Ms[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #shared>)
    tile.copy(%C[%i, %c0] [%c32, %c32] : memref<50x30xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// A part of the rows is named: columns are cut.
// CHECK-LABEL: func.func @parts_of_rows(
// CHECK-DAG: tile.alloc "Cl" {tile.split_dim = 1 : i64, tile.split_rows = 16 : i64}
func.func @parts_of_rows(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                         %C: memref<96x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %half = arith.constant 0.5 : f32
  tile.launch (%bx) in (%c3) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.elementwise <mul> (%Cl[%c4, %c0] [%c8, %c32] : memref<32x32xf32, #fragment>,
                            %Cl[%c4, %c0] [%c8, %c32] : memref<32x32xf32, #fragment>) scalar %half : f32
    %i = arith.muli %bx, %c32 : index
    tile.copy(%C[%i, %c0] [%c32, %c32] : memref<96x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Atomics are done once.
// CHECK-LABEL: func.func @atomics_of_parts(
// CHECK-NOT: tile.split_dim
// CHECK: return
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

// Tiles that have nothing to do with each other are cut each by itself.
// CHECK-LABEL: func.func @two_classes(
// CHECK-DAG: tile.alloc "C1" {tile.split_dim = 0 : i64, tile.split_rows = 16 : i64}
// CHECK-DAG: tile.alloc "r" {tile.split_dim = 0 : i64, tile.split_rows = 16 : i64}
// CHECK-DAG: tile.alloc "C2" {tile.split_dim = 1 : i64, tile.split_rows = 24 : i64}
// CHECK-DAG: tile.alloc "c" {tile.split_dim = 0 : i64, tile.split_rows = 24 : i64}
func.func @two_classes(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x48xf16> {tile.name = "B"},
                       %D: memref<48x16xf16> {tile.name = "D"}, %C: memref<32x48xf32> {tile.name = "C", tile.output},
                       %E: memref<48x48xf32> {tile.name = "E", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c48 = arith.constant 48 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x48xf16, #shared>
    %Ds = tile.alloc "Ds" : memref<48x16xf16, #shared>
    %C1 = tile.alloc "C1" : memref<32x48xf32, #fragment>
    %C2 = tile.alloc "C2" : memref<48x48xf32, #fragment>
    %r = tile.alloc "r" : memref<32xf32, #fragment>
    %c = tile.alloc "c" : memref<48xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c48] : memref<16x48xf16, #shared>, %B[%c0, %c0] [%c16, %c48] : memref<16x48xf16>)
    tile.copy(%Ds[%c0, %c0] [%c48, %c16] : memref<48x16xf16, #shared>, %D[%c0, %c0] [%c48, %c16] : memref<48x16xf16>)
    tile.gemm(%C1[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c48] : memref<16x48xf16, #shared>) init %true
    tile.gemm(%C2[%c0, %c0] [%c48, %c48] : memref<48x48xf32, #fragment>,
              %Ds[%c0, %c0] [%c48, %c16] : memref<48x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c48] : memref<16x48xf16, #shared>) init %true
    tile.reduce <max> (%r[%c0] [%c32] : memref<32xf32, #fragment>,
                       %C1[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>) dims = [1]
    tile.elementwise <sub> (%C1[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>,
                            %C1[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>,
                            %r[%c0] [%c32] : memref<32xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
    tile.reduce <max> (%c[%c0] [%c48] : memref<48xf32, #fragment>,
                       %C2[%c0, %c0] [%c48, %c48] : memref<48x48xf32, #fragment>) dims = [0]
    tile.elementwise <sub> (%C2[%c0, %c0] [%c48, %c48] : memref<48x48xf32, #fragment>,
                            %C2[%c0, %c0] [%c48, %c48] : memref<48x48xf32, #fragment>,
                            %c[%c0] [%c48] : memref<48xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 1>]}
    tile.copy(%C[%c0, %c0] [%c32, %c48] : memref<32x48xf32>, %C1[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>)
    tile.copy(%E[%c0, %c0] [%c48, %c48] : memref<48x48xf32>, %C2[%c0, %c0] [%c48, %c48] : memref<48x48xf32, #fragment>)
  }
  return
}

// One tile is cut along one dimension only.
// CHECK-LABEL: func.func @outer_product(
// CHECK-DAG: tile.alloc "xs" :
// CHECK-DAG: tile.alloc "ys" {tile.split_dim = 0 : i64, tile.split_rows = 24 : i64}
// CHECK-DAG: tile.alloc "O" {tile.split_dim = 1 : i64, tile.split_rows = 24 : i64}
// CHECK-DAG: tile.alloc "C1" {tile.split_dim = 1 : i64, tile.split_rows = 24 : i64}
func.func @outer_product(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x48xf16> {tile.name = "B"},
                         %C: memref<32x48xf32> {tile.name = "C", tile.output}, %x: memref<32xf32> {tile.name = "x"},
                         %y: memref<48xf32> {tile.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c48 = arith.constant 48 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x48xf16, #shared>
    %C1 = tile.alloc "C1" : memref<32x48xf32, #fragment>
    %xs = tile.alloc "xs" : memref<32xf32, #fragment>
    %ys = tile.alloc "ys" : memref<48xf32, #fragment>
    %O = tile.alloc "O" : memref<32x48xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c48] : memref<16x48xf16, #shared>, %B[%c0, %c0] [%c16, %c48] : memref<16x48xf16>)
    tile.copy(%xs[%c0] [%c32] : memref<32xf32, #fragment>, %x[%c0] [%c32] : memref<32xf32>)
    tile.copy(%ys[%c0] [%c48] : memref<48xf32, #fragment>, %y[%c0] [%c48] : memref<48xf32>)
    tile.gemm(%C1[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c48] : memref<16x48xf16, #shared>) init %true
    tile.elementwise <mul> (%O[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>,
                            %xs[%c0] [%c32] : memref<32xf32, #fragment>,
                            %ys[%c0] [%c48] : memref<48xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0>, array<i64: 1>]}
    tile.elementwise <add> (%C1[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>,
                            %C1[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>,
                            %O[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>)
    tile.copy(%C[%c0, %c0] [%c32, %c48] : memref<32x48xf32>, %C1[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>)
  }
  return
}

// A scalar is read out of a sum over all: nothing is cut.
// CHECK-LABEL: func.func @scalar_store_of_vector(
// CHECK-NOT: tile.split_dim
// CHECK: return
func.func @scalar_store_of_vector(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                                  %C: memref<3xf32> {tile.name = "C", tile.output},
                                  %D: memref<96x32xf32> {tile.name = "D", tile.output}) {
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
    %m = tile.alloc "m" : memref<1xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.reduce <sum> (%m[%c0] [%c1] : memref<1xf32, #fragment>,
                       %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) dims = [0, 1]
    %v = tile.load %m[%c0] : memref<1xf32, #fragment> -> f32
    tile.store %v, %C[%bx] : f32, memref<3xf32>
    %i = arith.muli %bx, %c32 : index
    tile.copy(%D[%i, %c0] [%c32, %c32] : memref<96x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// All tiles of an attention kernel.
// CHECK-LABEL: func.func @attention(
// CHECK-DAG: tile.alloc "S" {tile.split_dim = 0 : i64, tile.split_rows = 16 : i64}
// CHECK-DAG: tile.alloc "P" {tile.split_dim = 0 : i64, tile.split_rows = 16 : i64}
// CHECK-DAG: tile.alloc "O" {tile.split_dim = 0 : i64, tile.split_rows = 16 : i64}
// CHECK-DAG: tile.alloc "m" {tile.split_dim = 0 : i64, tile.split_rows = 16 : i64}
// CHECK-DAG: tile.alloc "alpha" {tile.split_dim = 0 : i64, tile.split_rows = 16 : i64}
// CHECK-DAG: tile.alloc "l" {tile.split_dim = 0 : i64, tile.split_rows = 16 : i64}
func.func @attention(%Q: memref<64x32xf16> {tile.name = "Q"}, %K: memref<96x32xf16> {tile.name = "K"},
                     %V: memref<96x32xf16> {tile.name = "V"}, %C: memref<64x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %minf = arith.constant -1.0e30 : f32
  tile.launch (%bx) in (%c2) {
    %Qs = tile.alloc "Qs" : memref<32x32xf16, #shared>
    %Ks = tile.alloc "Ks" : memref<32x32xf16, #shared>
    %Vs = tile.alloc "Vs" : memref<32x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    %P = tile.alloc "P" : memref<32x32xf16, #shared>
    %O = tile.alloc "O" : memref<32x32xf32, #fragment>
    %m = tile.alloc "m" : memref<32xf32, #fragment>
    %mold = tile.alloc "mold" : memref<32xf32, #fragment>
    %alpha = tile.alloc "alpha" : memref<32xf32, #fragment>
    %l = tile.alloc "l" : memref<32xf32, #fragment>
    %rs = tile.alloc "rs" : memref<32xf32, #fragment>
    %i = arith.muli %bx, %c32 : index
    tile.copy(%Qs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %Q[%i, %c0] [%c32, %c32] : memref<64x32xf16>)
    tile.fill %zero : f32, (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.fill %zero : f32, (%l[%c0] [%c32] : memref<32xf32, #fragment>)
    tile.fill %minf : f32, (%m[%c0] [%c32] : memref<32xf32, #fragment>)
    scf.for %t = %c0 to %c3 step %c1 {
      %j = arith.muli %t, %c32 : index
      tile.copy(%Ks[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %K[%j, %c0] [%c32, %c32] : memref<96x32xf16>)
      tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %Qs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %Ks[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true {transpose_b}
      tile.elementwise <copy> (%mold[%c0] [%c32] : memref<32xf32, #fragment>,
                               %m[%c0] [%c32] : memref<32xf32, #fragment>)
      tile.reduce <max> (%m[%c0] [%c32] : memref<32xf32, #fragment>,
                         %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) dims = [1] {accumulate}
      tile.elementwise <sub> (%alpha[%c0] [%c32] : memref<32xf32, #fragment>,
                              %mold[%c0] [%c32] : memref<32xf32, #fragment>, %m[%c0] [%c32] : memref<32xf32, #fragment>)
      tile.elementwise <exp> (%alpha[%c0] [%c32] : memref<32xf32, #fragment>,
                              %alpha[%c0] [%c32] : memref<32xf32, #fragment>)
      tile.elementwise <sub> (%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %m[%c0] [%c32] : memref<32xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
      tile.elementwise <exp> (%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.reduce <sum> (%rs[%c0] [%c32] : memref<32xf32, #fragment>,
                         %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) dims = [1]
      tile.elementwise <mul> (%l[%c0] [%c32] : memref<32xf32, #fragment>, %l[%c0] [%c32] : memref<32xf32, #fragment>,
                              %alpha[%c0] [%c32] : memref<32xf32, #fragment>)
      tile.elementwise <add> (%l[%c0] [%c32] : memref<32xf32, #fragment>, %l[%c0] [%c32] : memref<32xf32, #fragment>,
                              %rs[%c0] [%c32] : memref<32xf32, #fragment>)
      tile.copy(%P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.elementwise <mul> (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %alpha[%c0] [%c32] : memref<32xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
      tile.copy(%Vs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %V[%j, %c0] [%c32, %c32] : memref<96x32xf16>)
      tile.gemm(%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %P[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %Vs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>)
    } {tile.num_stages = 2 : i64}
    tile.elementwise <div> (%O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %l[%c0] [%c32] : memref<32xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
    tile.copy(%C[%i, %c0] [%c32, %c32] : memref<64x32xf32>, %O[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Without vector work there is nothing to do.
// CHECK-LABEL: func.func @cube_only(
// CHECK-NOT: tile.split_dim
// CHECK: return
func.func @cube_only(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                     %C: memref<32x32xf16> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf16>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}
