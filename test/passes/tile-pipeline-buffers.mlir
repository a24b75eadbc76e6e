// RUN: tilewright-opt %s --tile-place-accumulators --tile-place-buffers --tile-materialize-zero --tile-split-cores --tile-split-rows --tile-pipeline-buffers -o %t.after.mlir 2> %t.log
// RUN: FileCheck %s < %t.after.mlir
// RUN: tilewright-opt %s --tilewright-pipeline=disable=fuse-turns -o %t.npu.mlir 2> %t.log
// RUN: tilewright-opt %s --tile-place-accumulators -o %t.ref.mlir 2> %t.log

// Each case is checked as text and run, with several numbers of turns: before the pass, after it, and as
// the final program, with equal results.

// DEFINE: %{name} =
// DEFINE: %{args} =
// DEFINE: %{options} = --checksums --function %{name} %{args}
// DEFINE: %{same} = tilewright-run %t.ref.mlir %{options} > %t.before \
// DEFINE:   && tilewright-run %t.after.mlir %{options} > %t.now && diff %t.before %t.now \
// DEFINE:   && tilewright-sim %t.npu.mlir --check %{options} > %t.now && diff %t.before %t.now \
// DEFINE:   && tilewright-sim %t.npu.mlir --delay 1 %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = rotating_loop
// REDEFINE: %{args} = --set 2=0
// RUN: %{same}
// REDEFINE: %{args} = --set 2=1
// RUN: %{same}
// REDEFINE: %{args} = --set 2=2
// RUN: %{same}
// REDEFINE: %{args} = --set 2=3
// RUN: %{same}
// REDEFINE: %{args} = --set 2=7
// RUN: %{same}

// REDEFINE: %{name} = use_then_reload
// REDEFINE: %{args} =
// RUN: %{same}

// REDEFINE: %{name} = two_loops_one_tile
// RUN: %{same}

// REDEFINE: %{name} = read_after_loop
// REDEFINE: %{args} = --set 3=0
// RUN: %{same}
// REDEFINE: %{args} = --set 3=1
// RUN: %{same}
// REDEFINE: %{args} = --set 3=4
// RUN: %{same}

// REDEFINE: %{name} = odd_inner_trip
// REDEFINE: %{args} =
// RUN: %{same}

// REDEFINE: %{name} = bounds_with_step
// REDEFINE: %{args} = --set 2=1 --set 3=14
// RUN: %{same}
// REDEFINE: %{args} = --set 2=5 --set 3=5
// RUN: %{same}
// REDEFINE: %{args} = --set 2=2 --set 3=3
// RUN: %{same}

// REDEFINE: %{name} = fill_then_partial_copy
// REDEFINE: %{args} =
// RUN: %{same}

// REDEFINE: %{name} = updated_every_second_turn
// RUN: %{same}

// REDEFINE: %{name} = offset_from_tile
// RUN: %{same}

// REDEFINE: %{name} = versions_in_branch
// RUN: %{same}

// REDEFINE: %{name} = three_round_trips
// RUN: %{same}

// REDEFINE: %{name} = clear_then_loop
// RUN: %{same}

// REDEFINE: %{name} = attention
// RUN: %{same}

// REDEFINE: %{name} = many_blocks
// RUN: %{same}

#shared = #tile.scope<shared>
#fragment = #tile.scope<fragment>

// Loaded, used, stored; as many slots as the author asked for, any number of turns.
// CHECK-LABEL: func.func @rotating_loop(
// CHECK-DAG: tile.alloc "T" {slots = 3 : i64
// CHECK-DAG: tile.alloc "U" {slots = 3 : i64
// CHECK: scf.for
// CHECK: tile.advance %T
// CHECK: tile.copy (%T[
// CHECK: tile.advance %U
// CHECK: tile.elementwise <add> (%U[
func.func @rotating_loop(%A: memref<112x40xf32> {tile.name = "A"},
                         %C: memref<112x40xf32> {tile.name = "C", tile.output}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c40 = arith.constant 40 : index
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<16x40xf32, #shared>
    %U = tile.alloc "U" : memref<16x40xf32, #fragment>
    scf.for %t = %c0 to %n step %c1 {
      %i = arith.muli %t, %c16 : index
      tile.copy(%T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>, %A[%i, %c0] [%c16, %c40] : memref<112x40xf32>)
      tile.elementwise <add> (%U[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #fragment>,
                              %T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>,
                              %T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>)
      tile.copy(%C[%i, %c0] [%c16, %c40] : memref<112x40xf32>, %U[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #fragment>)
    } {tile.num_stages = 3 : i64}
  }
  return
}

// Used before it is loaded again: a version lives on into the next turn.
// CHECK-LABEL: func.func @use_then_reload(
// CHECK: tile.advance %T
// CHECK: tile.copy (%T[
// CHECK: scf.for
// CHECK-NOT: tile.advance
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

// One tile in two loops: its versions have no place of their own.
// CHECK-LABEL: func.func @two_loops_one_tile(
// CHECK-DAG: tile.alloc "T" :
// CHECK-NOT: tile.advance
// CHECK: return
func.func @two_loops_one_tile(%A: memref<64x40xf32> {tile.name = "A"},
                              %C: memref<64x40xf32> {tile.name = "C", tile.output},
                              %D: memref<48x40xf32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c40 = arith.constant 40 : index
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<16x40xf32, #shared>
    scf.for %t = %c0 to %c4 step %c1 {
      %i = arith.muli %t, %c16 : index
      tile.copy(%T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>, %A[%i, %c0] [%c16, %c40] : memref<64x40xf32>)
      tile.copy(%C[%i, %c0] [%c16, %c40] : memref<64x40xf32>, %T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>)
    } {tile.num_stages = 2 : i64}
    scf.for %t = %c0 to %c3 step %c1 {
      %i = arith.muli %t, %c16 : index
      tile.copy(%T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>, %A[%i, %c0] [%c16, %c40] : memref<64x40xf32>)
      tile.elementwise <add> (%T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>,
                              %T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>,
                              %T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>)
      tile.copy(%D[%i, %c0] [%c16, %c40] : memref<48x40xf32>, %T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>)
    } {tile.num_stages = 4 : i64}
  }
  return
}

// Read after the loop, which may have no turn.
// CHECK-LABEL: func.func @read_after_loop(
// CHECK: tile.advance %T
// CHECK: tile.fill
// CHECK: scf.for
// CHECK-NOT: tile.advance
// CHECK: return
func.func @read_after_loop(%A: memref<64x40xf32> {tile.name = "A"},
                           %C: memref<16x40xf32> {tile.name = "C", tile.output},
                           %S: memref<64x40xf32> {tile.name = "S", tile.output}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c40 = arith.constant 40 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<16x40xf32, #shared>
    tile.fill %one : f32, (%T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>)
    scf.for %t = %c0 to %n step %c1 {
      %i = arith.muli %t, %c16 : index
      tile.copy(%T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>, %A[%i, %c0] [%c16, %c40] : memref<64x40xf32>)
      tile.copy(%S[%i, %c0] [%c16, %c40] : memref<64x40xf32>, %T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>)
    } {tile.num_stages = 2 : i64}
    tile.copy(%C[%c0, %c0] [%c16, %c40] : memref<16x40xf32>, %T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>)
  }
  return
}

// An inner loop inside a rotating one.
// CHECK-LABEL: func.func @odd_inner_trip(
// CHECK-DAG: tile.alloc "T" {slots = 2 : i64
// CHECK-DAG: tile.alloc "U" {slots = 2 : i64
// CHECK: scf.for
// CHECK: tile.advance %U
// CHECK: scf.for
// CHECK: tile.advance %T
func.func @odd_inner_trip(%A: memref<96x40xf32> {tile.name = "A"},
                          %C: memref<32x40xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c40 = arith.constant 40 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<16x40xf32, #shared>
    %U = tile.alloc "U" : memref<16x40xf32, #fragment>
    scf.for %s = %c0 to %c2 step %c1 {
      tile.fill %zero : f32, (%U[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #fragment>)
      scf.for %t = %c0 to %c3 step %c1 {
        %s3 = arith.muli %s, %c3 : index
        %q = arith.addi %s3, %t : index
        %i = arith.muli %q, %c16 : index
        tile.copy(%T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>, %A[%i, %c0] [%c16, %c40] : memref<96x40xf32>)
        tile.elementwise <add> (%U[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #fragment>,
                                %U[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #fragment>,
                                %T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>)
      } {tile.num_stages = 2 : i64}
      %o = arith.muli %s, %c16 : index
      tile.copy(%C[%o, %c0] [%c16, %c40] : memref<32x40xf32>, %U[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #fragment>)
    } {tile.num_stages = 2 : i64}
  }
  return
}

// Bounds known at run time, a step of 3.
// CHECK-LABEL: func.func @bounds_with_step(
// CHECK-DAG: tile.alloc "T" {slots = 2 : i64
// CHECK: scf.for
// CHECK: tile.advance %T
func.func @bounds_with_step(%A: memref<64x40xf32> {tile.name = "A"},
                            %C: memref<64x40xf32> {tile.name = "C", tile.output}, %a: index, %b: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c40 = arith.constant 40 : index
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<4x40xf32, #shared>
    scf.for %t = %a to %b step %c3 {
      %i = arith.muli %t, %c4 : index
      tile.copy(%T[%c0, %c0] [%c4, %c40] : memref<4x40xf32, #shared>, %A[%i, %c0] [%c4, %c40] : memref<64x40xf32>)
      tile.elementwise <add> (%T[%c0, %c0] [%c4, %c40] : memref<4x40xf32, #shared>,
                              %T[%c0, %c0] [%c4, %c40] : memref<4x40xf32, #shared>,
                              %T[%c0, %c0] [%c4, %c40] : memref<4x40xf32, #shared>)
      tile.copy(%C[%i, %c0] [%c4, %c40] : memref<64x40xf32>, %T[%c0, %c0] [%c4, %c40] : memref<4x40xf32, #shared>)
    } {tile.num_stages = 2 : i64}
  }
  return
}

// Filled and then loaded in part: one version.
// CHECK-LABEL: func.func @fill_then_partial_copy(
// CHECK-DAG: tile.alloc "T" {slots = 2 : i64
// CHECK: scf.for
// CHECK: tile.advance %T
// CHECK: tile.fill
// CHECK-NOT: tile.advance
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

// Updated in every second turn: the version goes on.
// CHECK-LABEL: func.func @updated_every_second_turn(
// CHECK: scf.for
// CHECK-NOT: tile.advance
// CHECK: return
func.func @updated_every_second_turn(%A: memref<64x40xf32> {tile.name = "A"},
                                     %C: memref<64x40xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c40 = arith.constant 40 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<16x40xf32, #shared>
    scf.for %t = %c0 to %c4 step %c1 {
      %i = arith.muli %t, %c16 : index
      %r = arith.remui %t, %c2 : index
      %odd = arith.cmpi eq, %r, %c1 : index
      scf.if %odd {
        tile.elementwise <add> (%T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>,
                                %T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>) scalar %one : f32
      } else {
        tile.copy(%T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>, %A[%i, %c0] [%c16, %c40] : memref<64x40xf32>)
      }
      tile.copy(%C[%i, %c0] [%c16, %c40] : memref<64x40xf32>, %T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>)
    } {tile.num_stages = 2 : i64}
  }
  return
}

// The place to load from is read from the tile of the turn before.
// CHECK-LABEL: func.func @offset_from_tile(
// CHECK-DAG: tile.alloc "T" {slots = 2 : i64
// CHECK: scf.for
// CHECK: tile.advance %T
// CHECK-NOT: tile.advance %I
// CHECK: return
func.func @offset_from_tile(%A: memref<64x40xf32> {tile.name = "A"}, %N: memref<4x8xi32> {tile.name = "N"},
                            %C: memref<64x40xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c40 = arith.constant 40 : index
  %m = arith.constant 3 : i32
  tile.launch (%bx) in (%c1) {
    %T = tile.alloc "T" : memref<16x40xf32, #shared>
    %I = tile.alloc "I" : memref<8xi32, #shared>
    tile.copy(%I[%c0] [%c8] : memref<8xi32, #shared>, %N[%c0, %c0] [%c1, %c8] : memref<4x8xi32>)
    scf.for %t = %c0 to %c4 step %c1 {
      %v = tile.load %I[%c0] : memref<8xi32, #shared> -> i32
      %w = arith.andi %v, %m : i32
      %x = arith.index_cast %w : i32 to index
      %i = arith.muli %x, %c16 : index
      tile.copy(%T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>, %A[%i, %c0] [%c16, %c40] : memref<64x40xf32>)
      tile.copy(%I[%c0] [%c8] : memref<8xi32, #shared>, %N[%t, %c0] [%c1, %c8] : memref<4x8xi32>)
      %o = arith.muli %t, %c16 : index
      tile.copy(%C[%o, %c0] [%c16, %c40] : memref<64x40xf32>, %T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>)
    } {tile.num_stages = 2 : i64}
  }
  return
}

// Versions that start under a condition: one slot.
// CHECK-LABEL: func.func @versions_in_branch(
// CHECK-DAG: tile.alloc "T" :
// CHECK-NOT: tile.advance
// CHECK: return
func.func @versions_in_branch(%A: memref<64x40xf32> {tile.name = "A"},
                              %C: memref<64x40xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c40 = arith.constant 40 : index
  tile.launch (%bx) in (%c2) {
    %T = tile.alloc "T" : memref<16x40xf32, #shared>
    scf.for %t = %c0 to %c2 step %c1 {
      %b = arith.muli %bx, %c2 : index
      %q = arith.addi %b, %t : index
      %i = arith.muli %q, %c16 : index
      %c = arith.cmpi ne, %q, %c1 : index
      scf.if %c {
        tile.copy(%T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>, %A[%i, %c0] [%c16, %c40] : memref<64x40xf32>)
        tile.elementwise <add> (%T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>,
                                %T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>,
                                %T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>)
        tile.copy(%C[%i, %c0] [%c16, %c40] : memref<64x40xf32>, %T[%c0, %c0] [%c16, %c40] : memref<16x40xf32, #shared>)
      }
    } {tile.num_stages = 2 : i64}
  }
  return
}

// Channels, operands, accumulators and vector tiles rotate.
// CHECK-LABEL: func.func @three_round_trips(
// CHECK-DAG: tile.alloc "S1.exchange" {slots = {{[2-9]}} : i64}
// CHECK-DAG: tile.alloc "P2.l1.exchange" {slots = {{[2-9]}} : i64}
// CHECK-DAG: tile.alloc "P1.l1" {slots = 2 : i64
// CHECK-DAG: tile.alloc "S1.acc" {slots = 2 : i64
// CHECK-DAG: tile.alloc "S1" {slots = 2 : i64
// CHECK: tile.advance %S1.acc
// CHECK: tile.gemm (%S1.acc
// CHECK: tile.advance %P1.l1
func.func @three_round_trips(%A: memref<32x32xf16> {tile.name = "A"}, %B: memref<32x32xf16> {tile.name = "B"},
                             %C: memref<96x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  %s = arith.constant 0.0625 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x32xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<32x32xf16, #shared>
    %S1 = tile.alloc "S1" : memref<32x32xf32, #fragment>
    %P1 = tile.alloc "P1" : memref<32x32xf16, #shared>
    %S2 = tile.alloc "S2" : memref<32x32xf32, #fragment>
    %P2 = tile.alloc "P2" : memref<32x32xf16, #shared>
    %S3 = tile.alloc "S3" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %A[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    scf.for %t = %c0 to %c3 step %c1 {
      tile.copy(%Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %B[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
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
      %o = arith.muli %t, %c32 : index
      tile.copy(%C[%o, %c0] [%c32, %c32] : memref<96x32xf32>, %S3[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    } {tile.num_stages = 2 : i64}
  }
  return
}

// Operands rotate in the loop, the accumulator from block to block.
// CHECK-LABEL: func.func @clear_then_loop(
// CHECK-DAG: tile.alloc "As" {slots = 3 : i64
// CHECK-DAG: tile.alloc "Bs" {slots = 3 : i64
// CHECK-DAG: tile.alloc "Cl.acc" {slots = 2 : i64
// CHECK: tile.advance %Cl.acc
// CHECK: scf.for
// CHECK-DAG: tile.advance %As
// CHECK-DAG: tile.advance %Bs
func.func @clear_then_loop(%A: memref<40x48xf16> {tile.name = "A"}, %B: memref<48x40xf16> {tile.name = "B"},
                           %C: memref<40x40xf32> {tile.name = "C", tile.output}) {
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
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%i, %k] [%c32, %c16] : memref<40x48xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %j] [%c16, %c32] : memref<48x40xf16>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    } {tile.num_stages = 3 : i64}
    tile.copy(%C[%i, %j] [%c32, %c32] : memref<40x40xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// A state that goes on from turn to turn does not rotate in the loop.
// CHECK-LABEL: func.func @attention(
// CHECK: scf.for
// CHECK-NOT: tile.advance %O {tile.core
// CHECK-NOT: tile.advance %m {tile.core
// CHECK: tile.elementwise <div>
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

// Without a loop tiles rotate from block to block.
// CHECK-LABEL: func.func @many_blocks(
// CHECK-DAG: tile.alloc "T" {slots = 2 : i64
// CHECK: tile.advance %T
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
