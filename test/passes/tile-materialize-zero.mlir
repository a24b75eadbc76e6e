// RUN: tilewright-opt %s --tile-place-accumulators --tile-place-buffers --tile-materialize-zero -o %t.after.mlir 2> %t.log
// RUN: FileCheck %s < %t.after.mlir
// RUN: tilewright-opt %s --tilewright-pipeline=disable=fuse-turns -o %t.npu.mlir 2> %t.log

// Tiles that may be read before they are written. Each case is run, too: the simulator poisons memory
// that nothing has written.

// DEFINE: %{name} =
// DEFINE: %{args} =
// DEFINE: %{options} = --checksums --function %{name} %{args}
// DEFINE: %{same} = tilewright-run %s %{options} > %t.before \
// DEFINE:   && tilewright-run %t.after.mlir %{options} > %t.now && diff %t.before %t.now \
// DEFINE:   && tilewright-sim %t.npu.mlir --check %{options} > %t.now && diff %t.before %t.now \
// DEFINE:   && tilewright-sim %t.npu.mlir --delay 1 %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = partly_written_read_whole
// REDEFINE: %{args} = --set 3=0
// RUN: %{same}
// REDEFINE: %{args} = --set 3=5
// RUN: %{same}
// REDEFINE: %{args} = --set 3=32
// RUN: %{same}

// REDEFINE: %{name} = part_that_was_written
// REDEFINE: %{args} = --set 2=21
// RUN: %{same}

// REDEFINE: %{name} = unwritten_operand
// REDEFINE: %{args} =
// RUN: %{same}

// REDEFINE: %{name} = sum_on_unwritten
// RUN: %{same}

// REDEFINE: %{name} = written_in_zero_trip_loop
// REDEFINE: %{args} = --set 2=0
// RUN: %{same}
// REDEFINE: %{args} = --set 2=2
// RUN: %{same}

// REDEFINE: %{name} = written_in_both_branches
// REDEFINE: %{args} = --set 2=0
// RUN: %{same}
// REDEFINE: %{args} = --set 2=1
// RUN: %{same}

// REDEFINE: %{name} = written_in_one_branch_only
// REDEFINE: %{args} =
// RUN: %{same}

// REDEFINE: %{name} = fill_then_partial_copy
// RUN: %{same}

// REDEFINE: %{name} = use_then_reload
// RUN: %{same}

// REDEFINE: %{name} = variable_read_before_written
// RUN: %{same}

#shared = #tile.scope<shared>
#fragment = #tile.scope<fragment>
#local = #tile.scope<local>
#ub = #tile.scope<ub>

// A part of run-time size does not cover the operand.
// CHECK-LABEL: func.func @partly_written_read_whole(
// CHECK: tile.fill {{.+}}(%As[
// CHECK: tile.copy (%As[
func.func @partly_written_read_whole(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                                     %C: memref<32x32xf32> {tile.name = "C", tile.output}, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%m, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%m, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Never written: an operand in L1 and a tile in UB.
// CHECK-LABEL: func.func @unwritten_operand(
// CHECK-DAG: tile.fill {{.+}}(%As[
// CHECK-DAG: tile.fill {{.+}}(%V[
func.func @unwritten_operand(%B: memref<16x32xf16> {tile.name = "B"},
                             %C: memref<32x32xf32> {tile.name = "C", tile.output},
                             %D: memref<16xf32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    %V = tile.alloc "V" : memref<16xf32, #fragment>
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.copy(%D[%c0] [%c16] : memref<16xf32>, %V[%c0] [%c16] : memref<16xf32, #fragment>)
  }
  return
}

// The first turn reads it; the loaded tile needs nothing.
// CHECK-LABEL: func.func @sum_on_unwritten(
// CHECK-NOT: %T[
// CHECK: tile.fill {{.+}}(%S[
// CHECK: scf.for
func.func @sum_on_unwritten(%A: memref<24x40xf32> {tile.name = "A"},
                            %C: memref<48x40xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c24 = arith.constant 24 : index
  %c40 = arith.constant 40 : index
  tile.launch (%bx) in (%c2) {
    %T = tile.alloc "T" : memref<24x40xf32, #shared>
    %S = tile.alloc "S" : memref<24x40xf32, #fragment>
    scf.for %t = %c0 to %c3 step %c1 {
      tile.copy(%T[%c0, %c0] [%c24, %c40] : memref<24x40xf32, #shared>, %A[%c0, %c0] [%c24, %c40] : memref<24x40xf32>)
      tile.elementwise <add> (%S[%c0, %c0] [%c24, %c40] : memref<24x40xf32, #fragment>,
                              %S[%c0, %c0] [%c24, %c40] : memref<24x40xf32, #fragment>,
                              %T[%c0, %c0] [%c24, %c40] : memref<24x40xf32, #shared>)
    }
    %i = arith.muli %bx, %c24 : index
    tile.copy(%C[%i, %c0] [%c24, %c40] : memref<48x40xf32>, %S[%c0, %c0] [%c24, %c40] : memref<24x40xf32, #fragment>)
  }
  return
}

// A loop that may have no turn writes nothing for sure.
// CHECK-LABEL: func.func @written_in_zero_trip_loop(
// CHECK: tile.fill {{.+}}(%T[
// CHECK: scf.for
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

// Written on both ways.
// CHECK-LABEL: func.func @written_in_both_branches(
// CHECK-NOT: tile.fill
// CHECK: scf.if
// CHECK: } else {
// CHECK: tile.fill {{.+}}(%T[
// CHECK: return
func.func @written_in_both_branches(%A: memref<24x40xf32> {tile.name = "A"},
                                    %C: memref<24x40xf32> {tile.name = "C", tile.output}, %f: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %c40 = arith.constant 40 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<24x40xf32, #shared>
    scf.if %f {
      tile.copy(%T[%c0, %c0] [%c24, %c40] : memref<24x40xf32, #shared>, %A[%c0, %c0] [%c24, %c40] : memref<24x40xf32>)
    } else {
      tile.fill %one : f32, (%T[%c0, %c0] [%c24, %c40] : memref<24x40xf32, #shared>)
    }
    tile.copy(%C[%c0, %c0] [%c24, %c40] : memref<24x40xf32>, %T[%c0, %c0] [%c24, %c40] : memref<24x40xf32, #shared>)
  }
  return
}

// Written on one way.
// CHECK-LABEL: func.func @written_in_one_branch_only(
// CHECK: tile.fill {{.+}}(%T[
// CHECK: scf.if
func.func @written_in_one_branch_only(%A: memref<24x40xf32> {tile.name = "A"},
                                      %C: memref<48x40xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  %c40 = arith.constant 40 : index
  tile.launch (%bx) in (%c2) {
    %T = tile.alloc "T" : memref<24x40xf32, #shared>
    %f = arith.cmpi eq, %bx, %c0 : index
    scf.if %f {
      tile.copy(%T[%c0, %c0] [%c24, %c40] : memref<24x40xf32, #shared>, %A[%c0, %c0] [%c24, %c40] : memref<24x40xf32>)
    }
    %i = arith.muli %bx, %c24 : index
    tile.copy(%C[%i, %c0] [%c24, %c40] : memref<48x40xf32>, %T[%c0, %c0] [%c24, %c40] : memref<24x40xf32, #shared>)
  }
  return
}

// Filled first, then written in part.
// CHECK-LABEL: func.func @fill_then_partial_copy(
// CHECK-NOT: tile.fill
// CHECK: scf.for
// CHECK: tile.fill {{.+}}(%T[
// CHECK-NOT: tile.fill
// CHECK: return
func.func @fill_then_partial_copy(%A: memref<60x40xf32> {tile.name = "A"},
                                  %C: memref<64x40xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c40 = arith.constant 40 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<16x40xf32, #shared>
    scf.for %t = %c0 to %c4 step %c1 {
      %i = arith.muli %t, %c16 : index
      tile.fill %one : f32, (%T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>)
      tile.copy(%T[%c0, %c4] [%c16, %c32] : memref<16x40xf32, #shared>, %A[%i, %c0] [%c16, %c32] : memref<60x40xf32>)
      tile.copy(%C[%i, %c0] [%c16, %c40] : memref<64x40xf32>, %T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>)
    } {tile.num_stages = 2 : i64}
  }
  return
}

// Read at the start of a turn, written at its end, and before the loop.
// CHECK-LABEL: func.func @use_then_reload(
// CHECK-NOT: tile.fill
// CHECK: return
func.func @use_then_reload(%A: memref<64x40xf32> {tile.name = "A"},
                           %C: memref<64x40xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c40 = arith.constant 40 : index
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<16x40xf32, #shared>
    tile.copy(%T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>, %A[%c0, %c0] [%c16, %c40] : memref<64x40xf32>)
    scf.for %t = %c0 to %c4 step %c1 {
      %i = arith.muli %t, %c16 : index
      tile.copy(%C[%i, %c0] [%c16, %c40] : memref<64x40xf32>, %T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>)
      %t1 = arith.addi %t, %c1 : index
      %i1 = arith.muli %t1, %c16 : index
      tile.copy(%T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>, %A[%i1, %c0] [%c16, %c40] : memref<64x40xf32>)
    } {tile.num_stages = 3 : i64}
  }
  return
}

// A scalar variable.
// CHECK-LABEL: func.func @variable_read_before_written(
// CHECK: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK: tile.store %[[ZERO]], %x[]
// CHECK: scf.for
func.func @variable_read_before_written(%A: memref<24xf32> {tile.name = "A"},
                                        %C: memref<2xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  tile.launch (%bx) in (%c2) {
    %x = tile.alloc "x" : memref<f32, #local>
    scf.for %t = %c0 to %c24 step %c1 {
      %old = tile.load %x[] : memref<f32, #local> -> f32
      %a = tile.load %A[%t] : memref<24xf32> -> f32
      %new = arith.addf %old, %a : f32
      tile.store %new, %x[] : f32, memref<f32, #local>
    }
    %sum = tile.load %x[] : memref<f32, #local> -> f32
    tile.store %sum, %C[%bx] : f32, memref<2xf32>
  }
  return
}

// A part of a tile that only what was written there is read of needs no zeros, also in loops; what is read beside it does.
// CHECK-LABEL: func.func @part_that_was_written(
// CHECK-NOT: tile.fill
// CHECK: scf.for
// CHECK: return
func.func @part_that_was_written(%A: memref<32x16xf32> {tile.name = "A"},
                                 %C: memref<32x16xf32> {tile.name = "C", tile.output}, %n: index {tile.name = "n"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  tile.launch (%bx) in (%c1) {
    %x = tile.alloc "x" : memref<16x16xf32, #ub>
    %y = tile.alloc "y" : memref<16x16xf32, #ub>
    scf.for %t = %c0 to %c2 step %c1 {
      %at = arith.muli %t, %c16 : index
      %rest = arith.subi %n, %at : index
      %some = arith.minsi %rest, %c16 : index
      %rows = arith.maxsi %some, %c0 : index
      tile.copy(%x[%c0, %c0] [%rows, %c16] : memref<16x16xf32, #ub>, %A[%at, %c0] [%rows, %c16] : memref<32x16xf32>)
      tile.elementwise <neg> (%y[%c0, %c0] [%rows, %c16] : memref<16x16xf32, #ub>, %x[%c0, %c0] [%rows, %c16] : memref<16x16xf32, #ub>)
      tile.copy(%C[%at, %c0] [%rows, %c16] : memref<32x16xf32>, %y[%c0, %c0] [%rows, %c16] : memref<16x16xf32, #ub>)
    }
  }
  return
}
