// RUN: tilewright-opt %s --tile-place-accumulators -o %t.after.mlir 2> %t.log
// RUN: FileCheck %s < %t.after.mlir
// RUN: tilewright-opt %s --tilewright-pipeline=disable=fuse-turns -o %t.npu.mlir 2> %t.log

// Each case is checked as text and run: before the pass, after it, and as the final program, with equal
// results. Inputs are multiples of 1/8, so that sums in f32 are exact and their order does not matter.

// DEFINE: %{name} =
// DEFINE: %{args} =
// DEFINE: %{options} = --checksums --function %{name} %{args}
// DEFINE: %{same} = tilewright-run %s %{options} > %t.before \
// DEFINE:   && tilewright-run %t.after.mlir %{options} > %t.now && diff %t.before %t.now \
// DEFINE:   && tilewright-sim %t.npu.mlir --check %{options} > %t.now && diff %t.before %t.now \
// DEFINE:   && tilewright-sim %t.npu.mlir --delay 1 %{options} > %t.now && diff %t.before %t.now

// REDEFINE: %{name} = clear_then_loop
// RUN: %{same}

// REDEFINE: %{name} = trip_zero
// REDEFINE: %{args} = --set 3=0
// RUN: %{same}
// REDEFINE: %{args} = --set 3=1
// RUN: %{same}
// REDEFINE: %{args} = --set 3=3
// RUN: %{same}

// REDEFINE: %{name} = trip_zero_unwritten
// REDEFINE: %{args} = --set 3=0
// RUN: %{same}
// REDEFINE: %{args} = --set 3=1
// RUN: %{same}
// REDEFINE: %{args} = --set 3=3
// RUN: %{same}

// REDEFINE: %{name} = gemm_inside_if
// REDEFINE: %{args} = --set 3=0
// RUN: %{same}
// REDEFINE: %{args} = --set 3=2
// RUN: %{same}
// REDEFINE: %{args} = --set 3=5
// RUN: %{same}

// REDEFINE: %{name} = mask_prefill
// REDEFINE: %{args} =
// RUN: %{same}

// REDEFINE: %{name} = two_gemms_one_tile
// RUN: %{same}

// REDEFINE: %{name} = two_gemms_in_loop
// RUN: %{same}

// REDEFINE: %{name} = clear_each_turn
// RUN: %{same}

// REDEFINE: %{name} = clear_flag_each_turn
// RUN: %{same}

// REDEFINE: %{name} = clear_flag_after_values
// RUN: %{same}

// REDEFINE: %{name} = second_gemm_clears
// RUN: %{same}

// REDEFINE: %{name} = init_on_first_turn
// REDEFINE: %{args} = --set 3=0
// RUN: %{same}
// REDEFINE: %{args} = --set 3=1
// RUN: %{same}
// REDEFINE: %{args} = --set 3=3
// RUN: %{same}

// REDEFINE: %{name} = init_on_second_turn
// REDEFINE: %{args} =
// RUN: %{same}

// REDEFINE: %{name} = run_time_init
// REDEFINE: %{args} = --set 4=0
// RUN: %{same}
// REDEFINE: %{args} = --set 4=1
// RUN: %{same}

// REDEFINE: %{name} = f16_accumulator
// REDEFINE: %{args} =
// RUN: %{same}

// REDEFINE: %{name} = f16_on_vector_results
// RUN: %{same}

// REDEFINE: %{name} = i8_products
// RUN: %{same}

// REDEFINE: %{name} = fill_one_then_gemm
// RUN: %{same}

// REDEFINE: %{name} = negative_zero_fill
// RUN: %{same}

// REDEFINE: %{name} = read_twice
// RUN: %{same}

// REDEFINE: %{name} = cleared_again
// RUN: %{same}

// REDEFINE: %{name} = halves
// RUN: %{same}

// REDEFINE: %{name} = rescale_each_turn
// RUN: %{same}

// REDEFINE: %{name} = scaled_into_sum
// RUN: %{same}

// REDEFINE: %{name} = zero_on_every_path
// RUN: %{same}

// REDEFINE: %{name} = not_cleared_on_every_path
// RUN: %{same}

// REDEFINE: %{name} = read_after_clear
// RUN: %{same}

// REDEFINE: %{name} = nested_loops
// RUN: %{same}

// REDEFINE: %{name} = clear_inside_if
// REDEFINE: %{args} = --set 4=0
// RUN: %{same}
// REDEFINE: %{args} = --set 4=2
// RUN: %{same}
// REDEFINE: %{args} = --set 4=7
// RUN: %{same}

// REDEFINE: %{name} = sum_goes_on_over_outer_loop
// REDEFINE: %{args} =
// RUN: %{same}

// REDEFINE: %{name} = read_before_in_loop
// RUN: %{same}

// REDEFINE: %{name} = product_of_product
// RUN: %{same}

// REDEFINE: %{name} = narrowed_into_operand
// RUN: %{same}

// REDEFINE: %{name} = copied_to_two_tiles
// RUN: %{same}

// REDEFINE: %{name} = transposed_operands
// RUN: %{same}

// REDEFINE: %{name} = run_time_rows
// REDEFINE: %{args} = --set 3=0
// RUN: %{same}
// REDEFINE: %{args} = --set 3=7
// RUN: %{same}
// REDEFINE: %{args} = --set 3=32
// RUN: %{same}

// REDEFINE: %{name} = cube_then_vector_rows
// REDEFINE: %{args} =
// RUN: %{same}

// REDEFINE: %{name} = batched_tile
// RUN: %{same}

// REDEFINE: %{name} = sums_beyond_l0c
// RUN: %{same}

#shared = #tile.scope<shared>
#fragment = #tile.scope<fragment>

// The usual shape: the clear becomes the flag of the first turn, the result leaves through the fixpipe.
// CHECK-LABEL: func.func @clear_then_loop(
// CHECK-NOT: tile.fill
// CHECK: scf.for %[[K:.+]] = %c0 to
// CHECK: %[[FIRST:.+]] = arith.cmpi eq, %[[K]], %c0 : index
// CHECK: tile.gemm (%Cl.acc{{.+}} init %[[FIRST]]{{$}}
// CHECK: tile.copy (%arg2{{.+}}, %Cl.acc[
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

// Without a turn the accumulator would hold nothing: a product of zeros clears it.
// CHECK-LABEL: func.func @trip_zero(
// CHECK-NOT: tile.fill
// CHECK: scf.for
// CHECK: %[[ANY:.+]] = arith.cmpi slt, %c0, %arg3 : index
// CHECK: %[[NONE:.+]] = arith.xori %[[ANY]], %true
// CHECK: scf.if %[[NONE]] {
// CHECK: tile.fill {{.+}} (%Cl.zeros[
// CHECK: tile.fill {{.+}} (%Cl.zeros.2[
// CHECK: tile.gemm (%Cl.acc{{.+}}%Cl.zeros[{{.+}}%Cl.zeros.2[{{.+}} init %true
// CHECK: }
// CHECK: tile.copy (%arg2{{.+}}, %Cl.acc[
func.func @trip_zero(%A: memref<32x48xf16> {tile.name = "A"}, %B: memref<48x32xf16> {tile.name = "B"},
                     %C: memref<32x32xf32> {tile.name = "C", tile.output}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    scf.for %ko = %c0 to %n step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// A tile that nothing has written is zero.
// CHECK-LABEL: func.func @trip_zero_unwritten(
// CHECK-NOT: %Cl[
// CHECK: tile.gemm (%Cl.acc{{.+}}%As[{{.+}} init
// CHECK: tile.gemm (%Cl.acc{{.+}}%Cl.zeros[
// CHECK: tile.copy (%arg2{{.+}}, %Cl.acc[
func.func @trip_zero_unwritten(%A: memref<32x48xf16> {tile.name = "A"}, %B: memref<48x32xf16> {tile.name = "B"},
                               %C: memref<96x32xf32> {tile.name = "C", tile.output}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c3) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    scf.for %ko = %c0 to %n step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    }
    %i = arith.muli %bx, %c32 : index
    tile.copy(%C[%i, %c0] [%c32, %c32] : memref<96x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Only a bit at run time tells whether a product has been made.
// CHECK-LABEL: func.func @gemm_inside_if(
// CHECK: tile.store %false, %Cl.holds[]
// CHECK: scf.for
// CHECK: scf.if
// CHECK: %[[HOLDS:.+]] = tile.load %Cl.holds[]
// CHECK: %[[INIT:.+]] = arith.xori %[[HOLDS]], %true
// CHECK: tile.gemm (%Cl.acc{{.+}} init %[[INIT]]
// CHECK: tile.store %true{{.*}}, %Cl.holds[]
func.func @gemm_inside_if(%A: memref<32x48xf16> {tile.name = "A"}, %B: memref<48x32xf16> {tile.name = "B"},
                          %C: memref<32x32xf32> {tile.name = "C", tile.output}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    scf.for %ko = %c0 to %c3 step %c1 {
      %k = arith.muli %ko, %c16 : index
      %go = arith.cmpi sge, %ko, %n : index
      scf.if %go {
        tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
        tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
        tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                  %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                  %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
      }
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Zero on one path, a mask on the other: the vector unit adds.
// CHECK-LABEL: func.func @mask_prefill(
// CHECK: } else {
// CHECK: tile.fill {{.+}} (%S[
// CHECK: tile.gemm (%S.acc{{.+}} init %true
// CHECK: tile.copy (%S.sum{{.+}}, %S.acc[
// CHECK: tile.elementwise <add> (%S[{{.+}}, %S[{{.+}}, %S.sum[
func.func @mask_prefill(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                        %M: memref<32x32xf32> {tile.name = "M"}, %C: memref<32x96xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c3) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    %diagonal = arith.cmpi eq, %bx, %c1 : index
    scf.if %diagonal {
      tile.copy(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %M[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    } else {
      tile.fill %zero : f32, (%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    }
    tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    %j = arith.muli %bx, %c32 : index
    tile.copy(%C[%c0, %j] [%c32, %c32] : memref<32x96xf32>, %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// The first product starts the sum, the second goes on.
// CHECK-LABEL: func.func @two_gemms_one_tile(
// CHECK-NOT: tile.fill
// CHECK: tile.gemm (%S.acc{{.+}}%As[{{.+}} init %true
// CHECK: tile.gemm (%S.acc{{.+}}%A2s[{{.+}} init %false
// CHECK: tile.copy (%arg4{{.+}}, %S.acc[
func.func @two_gemms_one_tile(%A: memref<32x128xf16> {tile.name = "A"}, %B: memref<128x32xf16> {tile.name = "B"},
                              %A2: memref<32x64xf16> {tile.name = "A2"}, %B2: memref<64x32xf16> {tile.name = "B2"},
                              %C: memref<64x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c2) {
    %As = tile.alloc "As" : memref<32x128xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<128x32xf16, #shared>
    %A2s = tile.alloc "A2s" : memref<32x64xf16, #shared>
    %B2s = tile.alloc "B2s" : memref<64x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c128] : memref<32x128xf16, #shared>,
              %A[%c0, %c0] [%c32, %c128] : memref<32x128xf16>)
    tile.copy(%Bs[%c0, %c0] [%c128, %c32] : memref<128x32xf16, #shared>,
              %B[%c0, %c0] [%c128, %c32] : memref<128x32xf16>)
    tile.copy(%A2s[%c0, %c0] [%c32, %c64] : memref<32x64xf16, #shared>, %A2[%c0, %c0] [%c32, %c64] : memref<32x64xf16>)
    tile.copy(%B2s[%c0, %c0] [%c64, %c32] : memref<64x32xf16, #shared>, %B2[%c0, %c0] [%c64, %c32] : memref<64x32xf16>)
    tile.fill %zero : f32, (%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c128] : memref<32x128xf16, #shared>,
              %Bs[%c0, %c0] [%c128, %c32] : memref<128x32xf16, #shared>)
    tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %A2s[%c0, %c0] [%c32, %c64] : memref<32x64xf16, #shared>,
              %B2s[%c0, %c0] [%c64, %c32] : memref<64x32xf16, #shared>)
    %i = arith.muli %bx, %c32 : index
    tile.copy(%C[%i, %c0] [%c32, %c32] : memref<64x32xf32>, %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// The first product of the first turn starts the sum.
// CHECK-LABEL: func.func @two_gemms_in_loop(
// CHECK: %[[FIRST:.+]] = arith.cmpi eq, %{{.+}}, %c0
// CHECK: tile.gemm (%S.acc{{.+}} init %[[FIRST]]
// CHECK: tile.gemm (%S.acc{{.+}} init %false
func.func @two_gemms_in_loop(%A: memref<32x48xf16> {tile.name = "A"}, %B: memref<48x32xf16> {tile.name = "B"},
                             %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    tile.fill %zero : f32, (%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    scf.for %ko = %c0 to %c3 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
      tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
      tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Cleared in each turn: no sum goes on.
// CHECK-LABEL: func.func @clear_each_turn(
// CHECK-NOT: tile.fill
// CHECK: tile.gemm (%S.acc{{.+}} init %true
// CHECK: tile.copy (%arg2{{.+}}, %S.acc[
func.func @clear_each_turn(%A: memref<32x48xf16> {tile.name = "A"}, %B: memref<48x32xf16> {tile.name = "B"},
                           %C: memref<96x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    scf.for %ko = %c0 to %c3 step %c1 {
      %k = arith.muli %ko, %c16 : index
      %i = arith.muli %ko, %c32 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
      tile.fill %zero : f32, (%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
      tile.copy(%C[%i, %c0] [%c32, %c32] : memref<96x32xf32>, %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    }
  }
  return
}

// The same with the author's flag.
// CHECK-LABEL: func.func @clear_flag_each_turn(
// CHECK-NOT: tile.fill
// CHECK: tile.gemm (%S.acc{{.+}} init %true
// CHECK: tile.copy (%arg2{{.+}}, %S.acc[
func.func @clear_flag_each_turn(%A: memref<32x48xf16> {tile.name = "A"}, %B: memref<48x32xf16> {tile.name = "B"},
                                %C: memref<96x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    scf.for %ko = %c0 to %c3 step %c1 {
      %k = arith.muli %ko, %c16 : index
      %i = arith.muli %ko, %c32 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
      tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
      tile.copy(%C[%i, %c0] [%c32, %c32] : memref<96x32xf32>, %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    }
  }
  return
}

// The product that clears takes the place of what a copy wrote.
// CHECK-LABEL: func.func @clear_flag_after_values(
// CHECK: tile.gemm (%S.acc{{.+}} init %true
// CHECK: tile.copy (%arg3{{.+}}, %S.acc[
func.func @clear_flag_after_values(%A: memref<32x48xf16> {tile.name = "A"}, %B: memref<48x32xf16> {tile.name = "B"},
                                   %M: memref<32x32xf32> {tile.name = "M"},
                                   %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    tile.copy(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %M[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    scf.for %ko = %c0 to %c3 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
      tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// A flag that clears what vector work and another product left: each product by itself.
// CHECK-LABEL: func.func @second_gemm_clears(
// CHECK: tile.gemm (%S.acc.2{{.+}} init %true
// CHECK: tile.elementwise <add> (%S[{{.+}}%S.sum.2[
// CHECK: tile.gemm (%S.acc[{{.+}} init %true
// CHECK: tile.elementwise <copy> (%S[{{.+}}%S.sum[
func.func @second_gemm_clears(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                              %M: memref<32x32xf32> {tile.name = "M"},
                              %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %true = arith.constant true
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    tile.copy(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %M[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %true
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// The author's flag `k == 0` is the pass's own.
// CHECK-LABEL: func.func @init_on_first_turn(
// CHECK-NOT: arith.ori
// CHECK: %[[FIRST:.+]] = arith.cmpi eq, %{{.+}}, %c0 : index
// CHECK: tile.gemm (%S.acc{{.+}} init %[[FIRST]]
func.func @init_on_first_turn(%A: memref<32x48xf16> {tile.name = "A"}, %B: memref<48x32xf16> {tile.name = "B"},
                              %C: memref<64x32xf32> {tile.name = "C", tile.output}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %z = arith.constant 0 : i32
  tile.launch (%bx) in (%c2) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    scf.for %ko = %c0 to %n step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
      %ki = arith.index_cast %ko : index to i32
      %first = arith.cmpi eq, %ki, %z : i32
      tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %first
    }
    %i = arith.muli %bx, %c32 : index
    tile.copy(%C[%i, %c0] [%c32, %c32] : memref<64x32xf32>, %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Any other flag clears too.
// CHECK-LABEL: func.func @init_on_second_turn(
// CHECK: %[[SECOND:.+]] = arith.cmpi eq, %[[K:.+]], %c1 : index
// CHECK: %[[FIRST:.+]] = arith.cmpi eq, %[[K]], %c0 : index
// CHECK: %[[EITHER:.+]] = arith.ori %[[FIRST]], %[[SECOND]]
// CHECK: tile.gemm (%S.acc{{.+}} init %[[EITHER]]
func.func @init_on_second_turn(%A: memref<32x48xf16> {tile.name = "A"}, %B: memref<48x32xf16> {tile.name = "B"},
                               %C: memref<64x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c2) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    scf.for %ko = %c0 to %c3 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
      %second = arith.cmpi eq, %ko, %c1 : index
      tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %second
    }
    %i = arith.muli %bx, %c32 : index
    tile.copy(%C[%i, %c0] [%c32, %c32] : memref<64x32xf32>, %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// A flag known at run time, on top of a copy: added or not.
// CHECK-LABEL: func.func @run_time_init(
// CHECK: tile.gemm (%S.acc{{.+}} init %true
// CHECK: scf.if %arg4 {
// CHECK: tile.elementwise <copy> (%S[
// CHECK: } else {
// CHECK: tile.elementwise <add> (%S[
func.func @run_time_init(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                         %M: memref<32x32xf32> {tile.name = "M"}, %C: memref<32x32xf32> {tile.name = "C", tile.output},
                         %flag: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %S = tile.alloc "S" : memref<32x32xf32, #fragment>
    tile.copy(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %M[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>) init %flag
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %S[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// The sum is kept in f32 and rounded once.
// CHECK-LABEL: func.func @f16_accumulator(
// CHECK: tile.alloc "Cl.acc" : memref<32x32xf32, #tile.scope<l0c>>
// CHECK: tile.copy (%arg2{{.+}}f16>, %Cl.acc[
func.func @f16_accumulator(%A: memref<32x48xf16> {tile.name = "A"}, %B: memref<48x32xf16> {tile.name = "B"},
                           %C: memref<32x32xf16> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f16
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf16, #fragment>
    tile.fill %zero : f16, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #fragment>)
    scf.for %ko = %c0 to %c3 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf16>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #fragment>)
  }
  return
}

// A narrow tile is widened to take the sum.
// CHECK-LABEL: func.func @f16_on_vector_results(
// CHECK: tile.elementwise <cast> (%Cl.wide[{{.+}}, %Cl[
// CHECK: tile.elementwise <add> (%Cl.sum[{{.+}}, %Cl.wide[{{.+}}, %Cl.sum[
// CHECK: tile.elementwise <cast> (%Cl[{{.+}}, %Cl.sum[
func.func @f16_on_vector_results(%A: memref<32x48xf16> {tile.name = "A"}, %B: memref<48x32xf16> {tile.name = "B"},
                                 %M: memref<32x32xf16> {tile.name = "M"},
                                 %C: memref<32x32xf16> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf16, #fragment>
    tile.copy(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #fragment>, %M[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    scf.for %ko = %c0 to %c3 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf16>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #fragment>)
  }
  return
}

// Integers are summed in i32.
// CHECK-LABEL: func.func @i8_products(
// CHECK: tile.alloc "Cl.acc" : memref<32x32xi32, #tile.scope<l0c>>
// CHECK: tile.copy (%arg2{{.+}}, %Cl.acc[
func.func @i8_products(%A: memref<32x64xi8> {tile.name = "A"}, %B: memref<64x32xi8> {tile.name = "B"},
                       %C: memref<32x32xi32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0 : i32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x32xi8, #shared>
    %Bs = tile.alloc "Bs" : memref<32x32xi8, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xi32, #fragment>
    tile.fill %zero : i32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xi32, #fragment>)
    scf.for %ko = %c0 to %c2 step %c1 {
      %k = arith.muli %ko, %c32 : index
      tile.copy(%As[%c0, %c0] [%c32, %c32] : memref<32x32xi8, #shared>, %A[%c0, %k] [%c32, %c32] : memref<32x64xi8>)
      tile.copy(%Bs[%c0, %c0] [%c32, %c32] : memref<32x32xi8, #shared>, %B[%k, %c0] [%c32, %c32] : memref<64x32xi8>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xi32, #fragment>,
                %As[%c0, %c0] [%c32, %c32] : memref<32x32xi8, #shared>,
                %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xi8, #shared>)
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xi32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xi32, #fragment>)
  }
  return
}

// What is filled with something else stays with the vector unit.
// CHECK-LABEL: func.func @fill_one_then_gemm(
// CHECK: tile.fill {{.+}} (%Cl[
// CHECK: tile.gemm (%Cl.acc{{.+}} init
// CHECK: tile.elementwise <add> (%Cl[
func.func @fill_one_then_gemm(%A: memref<32x48xf16> {tile.name = "A"}, %B: memref<48x32xf16> {tile.name = "B"},
                              %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.fill %one : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    scf.for %ko = %c0 to %c3 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// -0 counts as zero: the sum of products that follows is the same.
// CHECK-LABEL: func.func @negative_zero_fill(
// CHECK-NOT: tile.fill
// CHECK: tile.gemm (%Cl.acc{{.+}} init %true
func.func @negative_zero_fill(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                              %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %nz = arith.constant -0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.fill %nz : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Read between two products: the second is added to what was read out.
// CHECK-LABEL: func.func @read_twice(
// CHECK: tile.gemm (%Cl.acc[
// CHECK: tile.copy (%Cl[{{.+}}, %Cl.acc[
// CHECK: tile.copy (%arg2{{.+}}, %Cl[
// CHECK: tile.gemm (%Cl.acc.2[{{.+}} init %true
// CHECK: tile.elementwise <add> (%Cl[{{.+}}, %Cl[{{.+}}, %Cl.sum[
// CHECK: tile.copy (%arg2{{.+}}, %Cl[
func.func @read_twice(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                      %C: memref<64x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<64x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    tile.copy(%C[%c32, %c0] [%c32, %c32] : memref<64x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// A clear ends a sum, so each goes straight to its place.
// CHECK-LABEL: func.func @cleared_again(
// CHECK-NOT: %Cl[
// CHECK: tile.copy (%arg2{{.+}}, %Cl.acc[
// CHECK: tile.gemm (%Cl.acc.2[{{.+}} init %true
// CHECK: tile.gemm (%Cl.acc.2[{{.+}} init %false
// CHECK: tile.copy (%arg2{{.+}}, %Cl.acc.2[
func.func @cleared_again(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                         %C: memref<64x32xf32> {tile.name = "C", tile.output}) {
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
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<64x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    tile.copy(%C[%c32, %c0] [%c32, %c32] : memref<64x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Products into parts of a tile are added there by the vector unit.
// CHECK-LABEL: func.func @halves(
// CHECK: tile.alloc "Cl.acc" : memref<32x32xf32, #tile.scope<l0c>>
// CHECK: tile.elementwise <add> (%Cl[%c0, %c0] [%c32, %c32]
// CHECK: tile.elementwise <add> (%Cl[%c0, %c32] [%c32, %c32]
func.func @halves(%A: memref<32x32xf16> {tile.name = "A"}, %B: memref<32x32xf16> {tile.name = "B"},
                  %C: memref<32x64xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x64xf32, #fragment>
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c64] : memref<32x64xf32, #fragment>)
    scf.for %ko = %c0 to %c2 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x32xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<32x32xf16>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x64xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    }
    scf.for %ko = %c0 to %c2 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x32xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<32x32xf16>)
      tile.gemm(%Cl[%c0, %c32] [%c32, %c32] : memref<32x64xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    }
    tile.copy(%C[%c0, %c0] [%c32, %c64] : memref<32x64xf32>, %Cl[%c0, %c0] [%c32, %c64] : memref<32x64xf32, #fragment>)
  }
  return
}

// The vector unit scales the sum in each turn, so it holds it.
// CHECK-LABEL: func.func @rescale_each_turn(
// CHECK: scf.for
// CHECK: tile.elementwise <mul> (%Cl[
// CHECK: tile.gemm (%Cl.acc{{.+}} init %true
// CHECK: tile.elementwise <add> (%Cl[
func.func @rescale_each_turn(%A: memref<32x48xf16> {tile.name = "A"}, %B: memref<48x32xf16> {tile.name = "B"},
                             %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    scf.for %ko = %c0 to %c3 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
      tile.elementwise <mul> (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %half : f32
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Cleared at the end of each turn and before the first: the product starts from zero, and no clear is left.
// CHECK-LABEL: func.func @scaled_into_sum(
// CHECK: tile.fill {{.+}} (%Sum[
// CHECK-NOT: tile.fill
// CHECK: scf.for
// CHECK: tile.gemm (%Cl.acc{{.+}} init %true
// CHECK: tile.copy (%Cl[{{.+}}, %Cl.acc[
// CHECK-NOT: tile.fill
// CHECK: return
func.func @scaled_into_sum(%A: memref<32x48xf16> {tile.name = "A"}, %B: memref<48x32xf16> {tile.name = "B"},
                           %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    %Sum = tile.alloc "Sum" : memref<32x32xf32, #fragment>
    tile.fill %zero : f32, (%Sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    scf.for %ko = %c0 to %c3 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
      tile.elementwise <mul> (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %half : f32
      tile.elementwise <add> (%Sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %Sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// So does a product in a branch; where none is made the clear is what is read.
// CHECK-LABEL: func.func @zero_on_every_path(
// CHECK: scf.for
// CHECK: scf.if
// CHECK: tile.gemm (%Cl.acc[
// CHECK: scf.if
// CHECK: tile.copy (%Cl[{{.+}}, %Cl.acc[
// CHECK: tile.elementwise <add> (%Sum[
// CHECK: tile.fill {{.+}} (%Cl[
func.func @zero_on_every_path(%A: memref<32x48xf16> {tile.name = "A"}, %B: memref<48x32xf16> {tile.name = "B"},
                              %C: memref<96x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c3) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    %Sum = tile.alloc "Sum" : memref<32x32xf32, #fragment>
    %some = arith.cmpi ne, %bx, %c1 : index
    scf.for %ko = %c0 to %c3 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
      scf.if %some {
        tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                  %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                  %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
      }
      tile.elementwise <add> (%Sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %Sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    }
    %i = arith.muli %bx, %c32 : index
    tile.copy(%C[%i, %c0] [%c32, %c32] : memref<96x32xf32>, %Sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// A clear under a condition does not make a sum start from zero.
// CHECK-LABEL: func.func @not_cleared_on_every_path(
// CHECK: scf.for
// CHECK: tile.gemm (%Cl.acc{{.+}} init %true
// CHECK: tile.elementwise <add> (%Cl[{{.+}}%Cl[{{.+}}%Cl.sum[
// CHECK: scf.if
// CHECK: tile.fill {{.+}} (%Cl[
func.func @not_cleared_on_every_path(%A: memref<32x64xf16> {tile.name = "A"}, %B: memref<64x32xf16> {tile.name = "B"},
                                     %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    %Sum = tile.alloc "Sum" : memref<32x32xf32, #fragment>
    scf.for %ko = %c0 to %c4 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x64xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<64x32xf16>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
      tile.elementwise <add> (%Sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %Sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      %some = arith.cmpi ne, %ko, %c1 : index
      scf.if %some {
        tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      }
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Sum[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// A clear that is read after the loop stays.
// CHECK-LABEL: func.func @read_after_clear(
// CHECK: scf.for
// CHECK: tile.gemm (%Cl.acc{{.+}} init %true
// CHECK: tile.fill {{.+}} (%Cl[
// CHECK: }
// CHECK: tile.copy (%arg3{{.+}}, %Cl[
func.func @read_after_clear(%A: memref<32x48xf16> {tile.name = "A"}, %B: memref<48x32xf16> {tile.name = "B"},
                            %C: memref<96x32xf32> {tile.name = "C", tile.output},
                            %D: memref<32x32xf32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    %T = tile.alloc "T" : memref<32x32xf32, #fragment>
    scf.for %ko = %c0 to %c3 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
      tile.elementwise <add> (%T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                              %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      %i = arith.muli %ko, %c32 : index
      tile.copy(%C[%i, %c0] [%c32, %c32] : memref<96x32xf32>, %T[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    }
    tile.copy(%D[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// First turn of both loops.
// CHECK-LABEL: func.func @nested_loops(
// CHECK: %[[OUTER:.+]] = arith.cmpi eq, %{{.+}}, %c0
// CHECK: %[[INNER:.+]] = arith.cmpi eq, %{{.+}}, %c0
// CHECK: %[[FIRST:.+]] = arith.andi %[[OUTER]], %[[INNER]]
// CHECK: tile.gemm (%Cl.acc{{.+}} init %[[FIRST]]
// CHECK: tile.copy (%arg2{{.+}}, %Cl.acc[
func.func @nested_loops(%A: memref<32x96xf16> {tile.name = "A"}, %B: memref<96x32xf16> {tile.name = "B"},
                        %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c48 = arith.constant 48 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    scf.for %kb = %c0 to %c2 step %c1 {
      %kk = arith.muli %kb, %c48 : index
      scf.for %ko = %c0 to %c3 step %c1 {
        %k1 = arith.muli %ko, %c16 : index
        %k = arith.addi %k1, %kk : index
        tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x96xf16>)
        tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<96x32xf16>)
        tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                  %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                  %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
      }
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// A clear inside the run forgets the sum and the tile's memory.
// CHECK-LABEL: func.func @clear_inside_if(
// CHECK: scf.if
// CHECK: tile.store %false{{.*}}, %Cl.holds[]
// CHECK: tile.fill {{.+}} (%Cl[
// CHECK: tile.gemm (%Cl.acc[
// CHECK: %[[ANY:.+]] = tile.load %Cl.holds[]
// CHECK: scf.if %[[ANY]] {
// CHECK: tile.elementwise <add> (%Cl[
func.func @clear_inside_if(%A: memref<32x64xf16> {tile.name = "A"}, %B: memref<64x32xf16> {tile.name = "B"},
                           %M: memref<32x32xf32> {tile.name = "M"},
                           %C: memref<32x32xf32> {tile.name = "C", tile.output}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>, %M[%c0, %c0] [%c32, %c32] : memref<32x32xf32>)
    scf.for %ko = %c0 to %c4 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x64xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<64x32xf16>)
      %reset = arith.cmpi eq, %ko, %n : index
      scf.if %reset {
        tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      }
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    }
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Read out in each turn of an outer loop, and never cleared.
// CHECK-LABEL: func.func @sum_goes_on_over_outer_loop(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tile.gemm (%Cl.acc[
// CHECK: }
// CHECK: tile.elementwise <add> (%Cl[
// CHECK: tile.copy (%arg2{{.+}}, %Cl[
func.func @sum_goes_on_over_outer_loop(%A: memref<32x48xf16> {tile.name = "A"},
                                       %B: memref<48x32xf16> {tile.name = "B"},
                                       %C: memref<96x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    scf.for %t = %c0 to %c3 step %c1 {
      scf.for %ko = %c0 to %c3 step %c1 {
        %k = arith.muli %ko, %c16 : index
        tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
        tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
        tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                  %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                  %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
      }
      %i = arith.muli %t, %c32 : index
      tile.copy(%C[%i, %c0] [%c32, %c32] : memref<96x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    }
  }
  return
}

// Read in the turn after: through the tile.
// CHECK-LABEL: func.func @read_before_in_loop(
// CHECK: tile.copy (%arg2{{.+}}, %Cl[
// CHECK: tile.gemm (%Cl.acc{{.+}} init %true
// CHECK: tile.copy (%Cl[{{.+}}, %Cl.acc[
func.func @read_before_in_loop(%A: memref<32x48xf16> {tile.name = "A"}, %B: memref<48x32xf16> {tile.name = "B"},
                               %C: memref<96x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    scf.for %ko = %c0 to %c3 step %c1 {
      %i = arith.muli %ko, %c32 : index
      tile.copy(%C[%i, %c0] [%c32, %c32] : memref<96x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %k] [%c32, %c16] : memref<32x48xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%k, %c0] [%c16, %c32] : memref<48x32xf16>)
      tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
      tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    }
  }
  return
}

// Vector work between two products.
// CHECK-LABEL: func.func @product_of_product(
// CHECK: tile.gemm (%P.acc[
// CHECK: tile.copy (%P[{{.+}}, %P.acc[
// CHECK: tile.gemm (%Cl.acc[{{.+}}%Ph[{{.+}} init %true
func.func @product_of_product(%A: memref<32x32xf16> {tile.name = "A"}, %B: memref<32x32xf16> {tile.name = "B"},
                              %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %eighth = arith.constant 0.0625 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x32xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<32x32xf16, #shared>
    %P = tile.alloc "P" : memref<32x32xf32, #fragment>
    %Ph = tile.alloc "Ph" : memref<32x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %A[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    tile.copy(%Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %B[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    tile.fill %zero : f32, (%P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.gemm(%P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
              %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>)
    tile.elementwise <mul> (%P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
                            %P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>) scalar %eighth : f32
    tile.copy(%Ph[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
              %P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %Ph[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
              %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>)
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// A product that becomes an operand is copied there at once.
// CHECK-LABEL: func.func @narrowed_into_operand(
// CHECK: tile.gemm (%P.acc[
// CHECK: tile.copy (%Ph[{{.+}}, %P.acc[
// CHECK: tile.gemm (%Cl.acc[{{.+}}%Ph[
func.func @narrowed_into_operand(%A: memref<32x32xf16> {tile.name = "A"}, %B: memref<32x32xf16> {tile.name = "B"},
                                 %C: memref<32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x32xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<32x32xf16, #shared>
    %P = tile.alloc "P" : memref<32x32xf32, #fragment>
    %Ph = tile.alloc "Ph" : memref<32x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %A[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    tile.copy(%Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %B[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    tile.fill %zero : f32, (%P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.gemm(%P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
              %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>)
    tile.copy(%Ph[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
              %P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %Ph[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
              %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>)
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// And to several tiles.
// CHECK-LABEL: func.func @copied_to_two_tiles(
// CHECK: tile.copy (%Ph[{{.+}}, %P.acc[
// CHECK: tile.copy (%Q[{{.+}}, %P.acc[
func.func @copied_to_two_tiles(%A: memref<32x32xf16> {tile.name = "A"}, %B: memref<32x32xf16> {tile.name = "B"},
                               %C: memref<32x32xf32> {tile.name = "C", tile.output},
                               %D: memref<32x32xf16> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f16
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x32xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<32x32xf16, #shared>
    %P = tile.alloc "P" : memref<32x32xf32, #fragment>
    %Ph = tile.alloc "Ph" : memref<32x32xf16, #shared>
    %Q = tile.alloc "Q" : memref<32x32xf16, #fragment>
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %A[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    tile.copy(%Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>, %B[%c0, %c0] [%c32, %c32] : memref<32x32xf16>)
    tile.fill %zero : f32, (%P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.gemm(%P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
              %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>)
    tile.copy(%Ph[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
              %P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.copy(%Q[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #fragment>,
              %P[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.elementwise <mul> (%Q[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #fragment>,
                            %Q[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #fragment>) scalar %half : f16
    tile.copy(%D[%c0, %c0] [%c32, %c32] : memref<32x32xf16>, %Q[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #fragment>)
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>,
              %Ph[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>,
              %Bs[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #shared>)
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Transposition stays with the product.
// CHECK-LABEL: func.func @transposed_operands(
// CHECK: tile.gemm (%Cl.acc{{.+}} init %true {transpose_a, transpose_b}
func.func @transposed_operands(%A: memref<16x32xf16> {tile.name = "A"}, %B: memref<48x16xf16> {tile.name = "B"},
                               %C: memref<32x48xf16> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c48 = arith.constant 48 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<16x32xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<48x16xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x48xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %A[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.copy(%Bs[%c0, %c0] [%c48, %c16] : memref<48x16xf16, #shared>, %B[%c0, %c0] [%c48, %c16] : memref<48x16xf16>)
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>,
              %As[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>,
              %Bs[%c0, %c0] [%c48, %c16] : memref<48x16xf16, #shared>) {transpose_a, transpose_b}
    tile.copy(%C[%c0, %c0] [%c32, %c48] : memref<32x48xf16>, %Cl[%c0, %c0] [%c32, %c48] : memref<32x48xf32, #fragment>)
  }
  return
}

// Only the rows that a size at run time names.
// CHECK-LABEL: func.func @run_time_rows(
// CHECK: tile.gemm (%Cl.acc[{{[^]]+}}] [%arg3, %c32]{{.+}} init %true
// CHECK: tile.copy (%Cl.sum[{{[^]]+}}] [%arg3, %c32]
// CHECK: tile.elementwise <add> (%Cl[{{[^]]+}}] [%arg3, %c32]
func.func @run_time_rows(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                         %C: memref<32x32xf32> {tile.name = "C", tile.output}, %m: index) {
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
    tile.gemm(%Cl[%c0, %c0] [%m, %c32] : memref<32x32xf32, #fragment>,
              %As[%c0, %c0] [%m, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf32>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
  }
  return
}

// Read out once for vector work.
// CHECK-LABEL: func.func @cube_then_vector_rows(
// CHECK: tile.copy (%Cl[{{.+}}, %Cl.acc[
// CHECK: tile.reduce
func.func @cube_then_vector_rows(%A: memref<37x16xf16> {tile.name = "A"}, %B: memref<16x24xf16> {tile.name = "B"},
                                 %C: memref<37x24xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %c37 = arith.constant 37 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<37x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x24xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<37x24xf32, #fragment>
    %m = tile.alloc "m" : memref<37xf32, #fragment>
    tile.copy(%As[%c0, %c0] [%c37, %c16] : memref<37x16xf16, #shared>, %A[%c0, %c0] [%c37, %c16] : memref<37x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c24] : memref<16x24xf16, #shared>, %B[%c0, %c0] [%c16, %c24] : memref<16x24xf16>)
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c37, %c24] : memref<37x24xf32, #fragment>)
    tile.gemm(%Cl[%c0, %c0] [%c37, %c24] : memref<37x24xf32, #fragment>,
              %As[%c0, %c0] [%c37, %c16] : memref<37x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c24] : memref<16x24xf16, #shared>)
    tile.reduce <max> (%m[%c0] [%c37] : memref<37xf32, #fragment>,
                       %Cl[%c0, %c0] [%c37, %c24] : memref<37x24xf32, #fragment>) dims = [1]
    tile.elementwise <sub> (%Cl[%c0, %c0] [%c37, %c24] : memref<37x24xf32, #fragment>,
                            %Cl[%c0, %c0] [%c37, %c24] : memref<37x24xf32, #fragment>,
                            %m[%c0] [%c37] : memref<37xf32, #fragment>) {maps = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0>]}
    tile.copy(%C[%c0, %c0] [%c37, %c24] : memref<37x24xf32>, %Cl[%c0, %c0] [%c37, %c24] : memref<37x24xf32, #fragment>)
  }
  return
}

// A leading dimension of one.
// CHECK-LABEL: func.func @batched_tile(
// CHECK: tile.alloc "Cl.acc" : memref<1x32x32xf32, #tile.scope<l0c>>
// CHECK: tile.copy (%arg2{{.+}}, %Cl.acc[
func.func @batched_tile(%A: memref<2x32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                        %C: memref<2x32x32xf32> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c2) {
    %As = tile.alloc "As" : memref<1x32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<1x32x32xf32, #fragment>
    tile.copy(%As[%c0, %c0, %c0] [%c1, %c32, %c16] : memref<1x32x16xf16, #shared>,
              %A[%bx, %c0, %c0] [%c1, %c32, %c16] : memref<2x32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.fill %zero : f32, (%Cl[%c0, %c0, %c0] [%c1, %c32, %c32] : memref<1x32x32xf32, #fragment>)
    tile.gemm(%Cl[%c0, %c0, %c0] [%c1, %c32, %c32] : memref<1x32x32xf32, #fragment>,
              %As[%c0, %c0, %c0] [%c1, %c32, %c16] : memref<1x32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    tile.copy(%C[%bx, %c0, %c0] [%c1, %c32, %c32] : memref<2x32x32xf32>,
              %Cl[%c0, %c0, %c0] [%c1, %c32, %c32] : memref<1x32x32xf32, #fragment>)
  }
  return
}

// 96 KiB of one sum and 64 of the other, of 128: the larger leaves in each turn, and then the other
// one too, beside which its product would not fit.
// CHECK-LABEL: func.func @sums_beyond_l0c(
// CHECK: scf.for
// CHECK: tile.gemm (%S.acc{{.+}} init %true
// CHECK: tile.copy (%S.sum{{.+}} %S.acc
// CHECK: tile.elementwise <add> (%S
// CHECK: tile.gemm (%R.acc{{.+}} init %true
// CHECK: tile.copy (%R.sum{{.+}} %R.acc
// CHECK: tile.elementwise <add> (%R
func.func @sums_beyond_l0c(%A: memref<48x128xf16> {tile.name = "A"}, %B: memref<48x192xf16> {tile.name = "B"},
                           %C: memref<128x192xf32> {tile.name = "C", tile.output},
                           %D: memref<128x128xf32> {tile.name = "D", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %c192 = arith.constant 192 : index
  %zero = arith.constant 0.0 : f32
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<16x128xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x192xf16, #shared>
    %S = tile.alloc "S" : memref<128x192xf32, #fragment>
    %R = tile.alloc "R" : memref<128x128xf32, #fragment>
    tile.fill %zero : f32, (%S[%c0, %c0] [%c128, %c192] : memref<128x192xf32, #fragment>)
    tile.fill %zero : f32, (%R[%c0, %c0] [%c128, %c128] : memref<128x128xf32, #fragment>)
    scf.for %ko = %c0 to %c3 step %c1 {
      %k = arith.muli %ko, %c16 : index
      tile.copy(%As[%c0, %c0] [%c16, %c128] : memref<16x128xf16, #shared>, %A[%k, %c0] [%c16, %c128] : memref<48x128xf16>)
      tile.copy(%Bs[%c0, %c0] [%c16, %c192] : memref<16x192xf16, #shared>, %B[%k, %c0] [%c16, %c192] : memref<48x192xf16>)
      tile.gemm(%S[%c0, %c0] [%c128, %c192] : memref<128x192xf32, #fragment>,
                %As[%c0, %c0] [%c16, %c128] : memref<16x128xf16, #shared>,
                %Bs[%c0, %c0] [%c16, %c192] : memref<16x192xf16, #shared>) {transpose_a}
      tile.gemm(%R[%c0, %c0] [%c128, %c128] : memref<128x128xf32, #fragment>,
                %As[%c0, %c0] [%c16, %c128] : memref<16x128xf16, #shared>,
                %As[%c0, %c0] [%c16, %c128] : memref<16x128xf16, #shared>) {transpose_a}
    }
    tile.copy(%C[%c0, %c0] [%c128, %c192] : memref<128x192xf32>, %S[%c0, %c0] [%c128, %c192] : memref<128x192xf32, #fragment>)
    tile.copy(%D[%c0, %c0] [%c128, %c128] : memref<128x128xf32>, %R[%c0, %c0] [%c128, %c128] : memref<128x128xf32, #fragment>)
  }
  return
}
