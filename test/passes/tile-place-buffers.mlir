// RUN: tilewright-opt %s --tile-place-accumulators --tile-place-buffers -o %t.after.mlir 2> %t.log
// RUN: FileCheck %s < %t.after.mlir
// RUN: tilewright-opt %s --tilewright-pipeline=disable=fuse-turns -o %t.npu.mlir 2> %t.log

// Each case is checked as text and run: before the pass, after it, and as the final program, with equal
// results.

// DEFINE: %{name} =
// DEFINE: %{args} =
// DEFINE: %{options} = --checksums --function %{name} %{args}
// DEFINE: %{same} = tilewright-run %s %{options} > %t.before \
// DEFINE:   && tilewright-run %t.after.mlir %{options} > %t.now && diff %t.before %t.now \
// DEFINE:   && tilewright-sim %t.npu.mlir --check %{options} > %t.now && diff %t.before %t.now \
// DEFINE:   && tilewright-sim %t.npu.mlir --delay 1 %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = loaded_for_both
// RUN: %{same}

// REDEFINE: %{name} = read_by_both
// RUN: %{same}

// REDEFINE: %{name} = stored_back
// RUN: %{same}

// REDEFINE: %{name} = converted_operand
// RUN: %{same}

// REDEFINE: %{name} = written_by_vector_outside_loop
// RUN: %{same}

// REDEFINE: %{name} = written_by_vector_inside_loop
// RUN: %{same}

// REDEFINE: %{name} = updated_after_use
// RUN: %{same}

// REDEFINE: %{name} = written_in_one_branch
// RUN: %{same}

// REDEFINE: %{name} = row_block_written_read_three_times
// RUN: %{same}

// REDEFINE: %{name} = tile_is_a_and_b
// RUN: %{same}

// REDEFINE: %{name} = accumulator_to_operand
// RUN: %{same}

// REDEFINE: %{name} = accumulator_to_part_of_operand
// RUN: %{same}

// REDEFINE: %{name} = i32_product_to_f16
// RUN: %{same}

// REDEFINE: %{name} = atomic_of_product
// RUN: %{same}

// REDEFINE: %{name} = vector_only_casts
// RUN: %{same}

// REDEFINE: %{name} = global_casts
// RUN: %{same}

// REDEFINE: %{name} = global_to_global
// RUN: %{same}

// REDEFINE: %{name} = rank_grows
// RUN: %{same}

// REDEFINE: %{name} = global_fill
// RUN: %{same}

// REDEFINE: %{name} = atomics
// RUN: %{same}

// REDEFINE: %{name} = atomic_on_tile
// RUN: %{same}

// REDEFINE: %{name} = atomic_other_type_on_tile
// RUN: %{same}

// REDEFINE: %{name} = dropped_dims
// RUN: %{same}

#shared = #tile.scope<shared>
#fragment = #tile.scope<fragment>

// Read by the cube and by the vector unit: loaded twice.
// CHECK-LABEL: func.func @loaded_for_both(
// CHECK-DAG: "As.l1" : memref<32x16xf16, #tile.scope<l1>>
// CHECK-DAG: "As" : memref<32x16xf16, #tile.scope<ub>>
// CHECK-DAG: "Bs" : memref<16x32xf16, #tile.scope<l1>>
// CHECK: tile.copy (%As.l1[{{.+}}, %arg0[
// CHECK: tile.copy (%As[{{.+}}, %arg0[
// CHECK: tile.gemm {{.+}}%As.l1[
func.func @loaded_for_both(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                           %C: memref<32x32xf32> {tile.name = "C", tile.output},
                           %D: memref<32x16xf16> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    %T = tile.alloc "T" : memref<32x16xf16, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.elementwise <add> (%T[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #fragment>,
                            %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                            %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>)
    tile.copy(%D[%c0, %c0] [%c32, %c16] : memref<32x16xf16>, %T[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #fragment>)
  }
  return
}

// Loaded, multiplied, then changed by the vector unit: the cube loads it by itself.
// CHECK-LABEL: func.func @read_by_both(
// CHECK: tile.copy (%As[{{.+}}, %arg0[
// CHECK: tile.copy (%As.l1[{{.+}}, %arg0[
// CHECK: tile.gemm {{.+}}%As.l1[
// CHECK: tile.elementwise <add> (%As[
func.func @read_by_both(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                        %C: memref<32x32xf32> {tile.name = "C", tile.output},
                        %D: memref<32x16xf16> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.elementwise <add> (%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                            %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                            %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>)
    tile.copy(%D[%c0, %c0] [%c32, %c16] : memref<32x16xf16>, %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>)
  }
  return
}

// The same, but the vector unit stores to where it was loaded from: handed over.
// CHECK-LABEL: func.func @stored_back(
// CHECK-NOT: %As.l1[{{.+}}%arg0
// CHECK: tile.copy (%As[{{.+}}, %arg0[
// CHECK: tile.copy (%As.l1[{{.+}}, %As[
// CHECK: tile.gemm {{.+}}%As.l1[
// CHECK: tile.elementwise <add> (%As[
func.func @stored_back(%A: memref<32x16xf16> {tile.name = "A", tile.output}, %B: memref<16x32xf16> {tile.name = "B"},
                        %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.elementwise <add> (%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                            %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                            %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>)
    tile.copy(%A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>, %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>)
  }
  return
}

// A conversion is vector work, so the operand is handed over.
// CHECK-LABEL: func.func @converted_operand(
// CHECK: tile.copy (%As.raw[{{.+}}, %arg0[
// CHECK: tile.elementwise <cast> (%As[{{.+}}, %As.raw[
// CHECK: tile.copy (%As.l1[{{.+}}, %As[
// CHECK: tile.gemm {{.+}}%As.l1[
func.func @converted_operand(%A: memref<32x16xf32> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                             %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf32>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Handed over once, before the loop of the products.
// CHECK-LABEL: func.func @written_by_vector_outside_loop(
// CHECK: tile.elementwise <mul> (%As[
// CHECK: tile.copy (%As.l1[{{.+}}, %As[
// CHECK: scf.for
// CHECK-NOT: %As[
// CHECK: return
func.func @written_by_vector_outside_loop(%A: memref<32x16xf16> {tile.name = "A"},
                                          %B: memref<16x96xf16> {tile.name = "B"},
                                          %C: memref<32x96xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c2) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.elementwise <mul> (%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                            %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                            %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>)
    scf.for %t = %c0 to %c3 step %c2 {
      %t1 = arith.addi %t, %bx : index
      %j = arith.muli %t1, %c32 : index
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %j] [%c16, %c32] : memref<16x96xf16>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
      tile.copy(%C[%c0, %j] [%c32, %c32] : memref<32x96xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    }
  }
  return
}

// Handed over in each turn.
// CHECK-LABEL: func.func @written_by_vector_inside_loop(
// CHECK: scf.for
// CHECK: tile.elementwise <mul> (%As[
// CHECK: tile.copy (%As.l1[{{.+}}, %As[
// CHECK: tile.gemm
func.func @written_by_vector_inside_loop(%A: memref<32x48xf16> {tile.name = "A"},
                                         %B: memref<48x32xf16> {tile.name = "B"},
                                         %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 0.5 : f16
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    scf.for %t = %c0 to %c3 step %c1 {
      %k = arith.muli %t, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
      tile.elementwise <mul> (%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>) scalar %two : f16
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Written for the next turn: handed over at the start of each.
// CHECK-LABEL: func.func @updated_after_use(
// CHECK: scf.for
// CHECK: tile.copy (%As.l1[{{.+}}, %As[
// CHECK: tile.gemm
// CHECK: tile.elementwise <mul> (%As[
func.func @updated_after_use(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                             %C: memref<96x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %half = arith.constant 0.5 : f16
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    scf.for %t = %c0 to %c3 step %c1 {
      %i = arith.muli %t, %c32 : index
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
      tile.copy(%C[%i, %c0] [%c32, %c32] : memref<96x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.elementwise <mul> (%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>) scalar %half : f16
    }
  }
  return
}

// Written in one branch, used in both.
// CHECK-LABEL: func.func @written_in_one_branch(
// CHECK: tile.copy (%As.l1[{{.+}}, %arg0[
// CHECK: scf.if
// CHECK: tile.elementwise <mul> (%As[
// CHECK: tile.copy (%As.l1[{{.+}}, %As[
// CHECK: tile.gemm
// CHECK: } else {
// CHECK-NOT: tile.copy
// CHECK: tile.gemm
func.func @written_in_one_branch(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                                 %C: memref<96x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %half = arith.constant 0.5 : f16
  tile.launch (%bx) in (%c3) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    %some = arith.cmpi eq, %bx, %c1 : index
    scf.if %some {
      tile.elementwise <mul> (%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>) scalar %half : f16
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    } else {
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    }
    %i = arith.muli %bx, %c32 : index
    tile.copy(%C[%i, %c0] [%c32, %c32] : memref<96x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// One hand-over serves three products.
// CHECK-LABEL: func.func @row_block_written_read_three_times(
// CHECK: tile.elementwise <mul> (%As[
// CHECK: tile.copy (%As.l1[{{.+}}, %As[
// CHECK-NOT: tile.copy (%As.l1
// CHECK: tile.gemm (%C1.acc
// CHECK: tile.gemm (%C2.acc
// CHECK: tile.gemm (%C3.acc
func.func @row_block_written_read_three_times(%A: memref<32x16xf16> {tile.name = "A"},
                                              %B: memref<16x32xf16> {tile.name = "B"},
                                              %C: memref<96x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %true = arith.constant true
  %half = arith.constant 0.5 : f16
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %C1 = tile.alloc "C1" : memref<32x32xf32, #fragment>
    %C2 = tile.alloc "C2" : memref<32x32xf32, #fragment>
    %C3 = tile.alloc "C3" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.elementwise <mul> (%As[%c8, %c0] [%c8, %c16] : memref<32x16xf16, #shared>,
                            %As[%c8, %c0] [%c8, %c16] : memref<32x16xf16, #shared>) scalar %half : f16
    tile.gemm(%C1[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.gemm(%C2[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.gemm(%C3[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<96x32xf32>, %C1[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.copy(%C[%c32, %c0] [%c32, %c32] : memref<96x32xf32>, %C2[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.copy(%C[%c64, %c0] [%c32, %c32] : memref<96x32xf32>, %C3[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Both operands of one product.
// CHECK-LABEL: func.func @tile_is_a_and_b(
// CHECK: "As" : memref<32x32xf16, #tile.scope<l1>>
// CHECK: tile.gemm {{.+}}%As[{{.+}}%As[
func.func @tile_is_a_and_b(%A: memref<32x32xf16> {tile.name = "A"},
                           %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %A[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
              %As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true {transpose_b}
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// From the accumulator to L1 without the vector core.
// CHECK-LABEL: func.func @accumulator_to_operand(
// CHECK: "Ph" : memref<32x32xf16, #tile.scope<l1>>
// CHECK: tile.copy (%Ph[{{.+}}, %P.acc[
// CHECK: tile.gemm {{.+}}%Ph[
func.func @accumulator_to_operand(%A: memref<32x32xf16> {tile.name = "A"}, %B: memref<32x32xf16> {tile.name = "B"},
                                  %C: memref<96x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x32xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<32x32xf16, #shared>
    %P = tile.alloc "P" : memref<32x32xf32, #fragment>
    %Ph = tile.alloc "Ph" : memref<32x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %B[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    scf.for %t = %c0 to %c3 step %c1 {
      tile.copy(%As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %A[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
      tile.gemm(%P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
      tile.copy(%Ph[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %Ph[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
                %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
      %i = arith.muli %t, %c32 : index
      tile.copy(%C[%i, %c0] [%c32, %c32] : memref<96x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    } {tile.num_stages = 2 : i64}
  }
  return
}

// Parts of an operand go through UB.
// CHECK-LABEL: func.func @accumulator_to_part_of_operand(
// CHECK: tile.copy (%Ph[{{.+}}, %P.acc[
// CHECK: tile.copy (%Ph[{{.+}}, %P.acc.2[
// CHECK: tile.copy (%Ph.l1[{{.+}}, %Ph[
// CHECK: tile.gemm {{.+}}%Ph.l1[
func.func @accumulator_to_part_of_operand(%A: memref<16x32xf16> {tile.name = "A"},
                                          %B: memref<32x32xf16> {tile.name = "B"},
                                          %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<16x32xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<32x32xf16, #shared>
    %P = tile.alloc "P" : memref<16x32xf32, #fragment>
    %Ph = tile.alloc "Ph" : memref<32x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %B[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    tile.copy(%As[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %A[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%P[%c0, %c0] [%c16, %c32] : memref<16x32xf32, #fragment>,
              %As[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>,
              %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
    tile.copy(%Ph[%c0, %c0] [%c16, %c32] : memref<32x32xf16, #shared>,
              %P[%c0, %c0] [%c16, %c32] : memref<16x32xf32, #fragment>)
    tile.gemm(%P[%c0, %c0] [%c16, %c32] : memref<16x32xf32, #fragment>,
              %As[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>,
              %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
    tile.copy(%Ph[%c16, %c0] [%c16, %c32] : memref<32x32xf16, #shared>,
              %P[%c0, %c0] [%c16, %c32] : memref<16x32xf32, #fragment>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %Ph[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
              %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>) init %true
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// The fixpipe does not convert this: read out, converted, stored.
// CHECK-LABEL: func.func @i32_product_to_f16(
// CHECK: tile.copy (%C.raw[{{.+}}, %Cl.acc[
// CHECK: tile.elementwise <cast> (%C.cast[{{.+}}, %C.raw[
// CHECK: tile.copy (%arg2{{.+}}, %C.cast[
func.func @i32_product_to_f16(%A: memref<32x32xi8> {tile.name = "A"}, %B: memref<32x32xi8> {tile.name = "B"},
                              %C: memref<32x32xf16> {tile.name = "C", tile.output},
                              %D: memref<32x32xi32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x32xi8, #shared>
    %Bs = tile.alloc "Bs" : memref<32x32xi8, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xi32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c32] : memref<32x32xi8, #shared>, %A[%c0, %c0] [%c32, %c32] : memref<32x32xi8>)
    tile.copy(%Bs[%c0, %c0] [%c32, %c32] : memref<32x32xi8, #shared>, %B[%c0, %c0] [%c32, %c32] : memref<32x32xi8>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xi32, #fragment>,
              %As[%c0, %c0] [%c32, %c32] : memref<32x32xi8, #shared>,
              %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xi8, #shared>) init %true
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf16>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xi32, #fragment>)
  }
  return
}

// A product that is added to a tensor goes through UB.
// CHECK-LABEL: func.func @atomic_of_product(
// CHECK: tile.copy (%Cl[{{.+}}, %Cl.acc[
// CHECK: tile.atomic <sum> (%arg2{{.+}}, %Cl[
func.func @atomic_of_product(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                             %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c3) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.atomic <sum> (%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>,
                       %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Conversions on loads; float to integer truncates.
// CHECK-LABEL: func.func @vector_only_casts(
// CHECK: tile.copy (%T.raw[{{.+}}, %arg0[
// CHECK: tile.elementwise <cast> (%T[{{.+}}, %T.raw[
// CHECK: tile.elementwise <cast> (%I[{{.+}}, %T[{{.+}}round_mode<trunc>
// CHECK: tile.copy (%arg2{{.+}}, %I[
func.func @vector_only_casts(%A: memref<24x40xf16> {tile.name = "A"},
                             %C: memref<24x40xf32> {tile.name = "C", tile.output},
                             %D: memref<24x40xi32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %c40 = arith.constant 40 : index
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<24x40xf32, #shared>
    %I = tile.alloc "I" : memref<24x40xi32, #fragment>
    tile.copy(%T[%c0, %c0] [%c24, %c40] : memref<24x40xf32, #shared>, %A[%c0, %c0] [%c24, %c40] : memref<24x40xf16>)
    tile.copy(%C[%c0, %c0] [%c24, %c40] : memref<24x40xf32>, %T[%c0, %c0] [%c24, %c40] : memref<24x40xf32, #shared>)
    tile.copy(%I[%c0, %c0] [%c24, %c40] : memref<24x40xi32, #fragment>,
              %T[%c0, %c0] [%c24, %c40] : memref<24x40xf32, #shared>)
    tile.copy(%D[%c0, %c0] [%c24, %c40] : memref<24x40xi32>, %I[%c0, %c0] [%c24, %c40] : memref<24x40xi32, #fragment>)
  }
  return
}

// A conversion on a store.
// CHECK-LABEL: func.func @global_casts(
// CHECK: tile.elementwise <cast> (%C.cast[{{.+}}, %T[
// CHECK: tile.copy (%arg1{{.+}}, %C.cast[
func.func @global_casts(%A: memref<24x40xf32> {tile.name = "A"}, %C: memref<24x40xf16> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c12 = arith.constant 12 : index
  %c40 = arith.constant 40 : index
  tile.launch (%bx) in (%c2) {
    %T = tile.alloc "T" : memref<12x40xf32, #shared>
    %i = arith.muli %bx, %c12 : index
    tile.copy(%T[%c0, %c0] [%c12, %c40] : memref<12x40xf32, #shared>, %A[%i, %c0] [%c12, %c40] : memref<24x40xf32>)
    tile.copy(%C[%i, %c0] [%c12, %c40] : memref<24x40xf16>, %T[%c0, %c0] [%c12, %c40] : memref<12x40xf32, #shared>)
  }
  return
}

// From tensor to tensor through a tile, with edges on both sides.
// CHECK-LABEL: func.func @global_to_global(
// CHECK: tile.copy (%C.raw[{{.+}}, %arg0[
// CHECK: tile.copy (%arg1{{.+}}, %C.raw[
// CHECK: tile.copy (%D.raw[{{.+}}, %arg0[
// CHECK: tile.elementwise <cast> (%D.cast[
// CHECK: tile.copy (%arg2{{.+}}, %D.cast[
func.func @global_to_global(%A: memref<24x40xf32> {tile.name = "A"},
                            %C: memref<24x40xf32> {tile.name = "C", tile.output},
                            %D: memref<20x30xf16> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c10 = arith.constant 10 : index
  %c12 = arith.constant 12 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c40 = arith.constant 40 : index
  tile.launch (%bx) in (%c2) {
    %i = arith.muli %bx, %c12 : index
    tile.copy(%C[%i, %c0] [%c12, %c40] : memref<24x40xf32>, %A[%i, %c0] [%c12, %c40] : memref<24x40xf32>)
    %j = arith.muli %bx, %c16 : index
    tile.copy(%D[%j, %c2] [%c16, %c32] : memref<20x30xf16>, %A[%j, %c10] [%c16, %c32] : memref<24x40xf32>)
  }
  return
}

// Of another rank.
// CHECK-LABEL: func.func @rank_grows(
// CHECK: tile.copy (%C.raw[{{.+}}, %arg0[
// CHECK: tile.copy (%arg1{{.+}}, %C.raw[
// CHECK: tile.elementwise <cast> (%D.cast[
// CHECK: tile.copy (%arg2{{.+}}, %D.cast[
func.func @rank_grows(%A: memref<32x40xf32> {tile.name = "A"}, %C: memref<32x1x40xf32> {tile.name = "C", tile.output},
                      %D: memref<1x32x1x40xf16> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c40 = arith.constant 40 : index
  tile.launch (%bx) in (%c2) {
    %i = arith.muli %bx, %c16 : index
    tile.copy(%C[%i, %c0, %c0] [%c16, %c1, %c40] : memref<32x1x40xf32>, %A[%i, %c0] [%c16, %c40] : memref<32x40xf32>)
    tile.copy(%D[%c0, %i, %c0, %c0] [%c1, %c16, %c1, %c40] : memref<1x32x1x40xf16>,
              %A[%i, %c0] [%c16, %c40] : memref<32x40xf32>)
  }
  return
}

// A tensor is filled from a tile.
// CHECK-LABEL: func.func @global_fill(
// CHECK: tile.fill {{.+}}(%C.fill[
// CHECK: tile.copy (%arg0{{.+}}, %C.fill[
// CHECK: tile.fill {{.+}}(%D.fill[
// CHECK: tile.copy (%arg1{{.+}}, %D.fill[
func.func @global_fill(%C: memref<24x40xf32> {tile.name = "C", tile.output},
                       %D: memref<24x40xi32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c12 = arith.constant 12 : index
  %c16 = arith.constant 16 : index
  %c40 = arith.constant 40 : index
  %v = arith.constant 3.5 : f32
  %n = arith.constant -7 : i32
  tile.launch (%bx) in (%c2) {
    %i = arith.muli %bx, %c12 : index
    tile.fill %v : f32, (%C[%i, %c0] [%c12, %c40] : memref<24x40xf32>)
    %j = arith.muli %bx, %c16 : index
    tile.fill %n : i32, (%D[%j, %c8] [%c16, %c40] : memref<24x40xi32>)
  }
  return
}

// Atomics take a tile of the tensor's type.
// CHECK-LABEL: func.func @atomics(
// CHECK: tile.atomic <sum> (%arg2{{.+}}, %T[
// CHECK: tile.elementwise <cast> (%C.atomic[{{.+}}, %Th[
// CHECK: tile.atomic <sum> (%arg2{{.+}}, %C.atomic[
// CHECK: tile.atomic <max> (%arg3{{.+}}, %S[
// CHECK: tile.fill {{.+}}(%E.atomic[
// CHECK: tile.atomic <sum> (%arg4{{.+}}, %E.atomic[
func.func @atomics(%A: memref<32x32xf32> {tile.name = "A"}, %H: memref<32x32xf16> {tile.name = "H"},
                   %C: memref<32x32xf32> {tile.name = "C", tile.output},
                   %D: memref<32xf32> {tile.name = "D", tile.output},
                   %E: memref<16xf32> {tile.name = "E", tile.output}) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c3) {
    %T = tile.alloc "T" : memref<32x32xf32, #shared>
    %Th = tile.alloc "Th" : memref<32x32xf16, #shared>
    %S = tile.alloc "S" : memref<32xf32, #fragment>
    tile.copy(%T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #shared>, %A[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    tile.copy(%Th[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %H[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    tile.atomic <sum> (%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>,
                       %T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #shared>)
    tile.atomic <sum> (%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>,
                       %Th[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>)
    tile.reduce <sum> (%S[%c0] [%c32] : memref<32xf32, #fragment>,
                       %T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #shared>) dims = [1]
    tile.atomic <max> (%D[%c0] [%c32] : memref<32xf32>, %S[%c0] [%c32] : memref<32xf32, #fragment>)
    tile.atomic <sum> (%E[%c4] [%c8] : memref<16xf32>) scalar %one : f32
  }
  return
}

// On a tile they are plain arithmetic.
// CHECK-LABEL: func.func @atomic_on_tile(
// CHECK-NOT: tile.atomic
// CHECK: tile.elementwise <add> (%T[{{.+}}%T[{{.+}}%U[
// CHECK: tile.elementwise <maxnum> (%T[
func.func @atomic_on_tile(%A: memref<32x32xf32> {tile.name = "A"}, %H: memref<32x32xf16> {tile.name = "H"},
                          %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<32x32xf32, #shared>
    %U = tile.alloc "U" : memref<32x32xf32, #shared>
    tile.copy(%T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #shared>, %A[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    tile.copy(%U[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #shared>, %A[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    tile.atomic <sum> (%T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #shared>,
                       %U[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #shared>)
    tile.atomic <max> (%T[%c0, %c0] [%c4, %c32] : memref<32x32xf32, #shared>) scalar %one : f32
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #shared>)
  }
  return
}

// Also with another type.
// CHECK-LABEL: func.func @atomic_other_type_on_tile(
// CHECK-NOT: tile.atomic
// CHECK: tile.elementwise <add> (%T[
func.func @atomic_other_type_on_tile(%A: memref<32x32xf32> {tile.name = "A"}, %H: memref<32x32xf16> {tile.name = "H"},
                                     %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<32x32xf32, #shared>
    %U = tile.alloc "U" : memref<32x32xf16, #shared>
    tile.copy(%T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #shared>, %A[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    tile.copy(%U[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %H[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    tile.atomic <sum> (%T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #shared>,
                       %U[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>)
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #shared>)
  }
  return
}

// Dimensions of size 1 on either side.
// CHECK-LABEL: func.func @dropped_dims(
// CHECK: tile.elementwise <cast> (%T[{{.+}}maps = [array<i64: 0, 1, 2>, array<i64: -1, 1, 2>]
// CHECK: tile.copy (%arg1{{.+}}, %T[
// CHECK: tile.copy (%arg3{{.+}}, %V[
func.func @dropped_dims(%A: memref<3x24x40xf16> {tile.name = "A"},
                        %C: memref<24x1x40xf32> {tile.name = "C", tile.output}, %v: memref<40xf32> {tile.name = "v"},
                        %D: memref<3x40xf32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c40 = arith.constant 40 : index
  tile.launch (%bx) in (%c3) {
    %T = tile.alloc "T" : memref<1x8x40xf32, #shared>
    %V = tile.alloc "V" : memref<40xf32, #fragment>
    %i = arith.muli %bx, %c8 : index
    tile.copy(%T[%c0, %c0, %c0] [%c1, %c8, %c40] : memref<1x8x40xf32, #shared>,
              %A[%bx, %i, %c0] [%c1, %c8, %c40] : memref<3x24x40xf16>)
    tile.copy(%C[%i, %c0, %c0] [%c8, %c1, %c40] : memref<24x1x40xf32>,
              %T[%c0, %c0, %c0] [%c1, %c8, %c40] : memref<1x8x40xf32, #shared>)
    tile.copy(%V[%c0] [%c40] : memref<40xf32, #fragment>, %v[%c0] [%c40] : memref<40xf32>)
    tile.copy(%D[%bx, %c0] [%c1, %c40] : memref<3x40xf32>, %V[%c0] [%c40] : memref<40xf32, #fragment>)
  }
  return
}
