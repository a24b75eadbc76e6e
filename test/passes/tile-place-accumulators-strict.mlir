// RUN: tilewright-opt %s --tile-place-accumulators=strict -o %t.after.mlir 2> %t.log
// RUN: FileCheck %s < %t.after.mlir
// RUN: tilewright-opt %s --tile-place-accumulators -o %t.loose.mlir 2> %t.log

// With strict each product rounds to the tile's type, as before the pass; without, a sum of f16 is kept in f32. The inputs are
// multiples of 1/8, so that sums in f32 are exact and only the rounding to f16 shows; next to 1000 it surely does.

// DEFINE: %{name} =
// DEFINE: %{args} =
// DEFINE: %{options} = --checksums --function %{name} %{args}
// DEFINE: %{same} = tilewright-run %s %{options} > %t.before \
// DEFINE:   && tilewright-run %t.after.mlir %{options} > %t.now && diff %t.before %t.now
// DEFINE: %{loose} = tilewright-run %t.loose.mlir %{options} > %t.now && not diff %t.before %t.now

// REDEFINE: %{name} = f16_accumulator
// RUN: %{same}

// REDEFINE: %{name} = two_products_on_values
// RUN: %{same} && %{loose}

// REDEFINE: %{name} = f32_accumulator
// RUN: %{same}

#shared = #tile.scope<shared>
#fragment = #tile.scope<fragment>

// CHECK-LABEL: func.func @f16_accumulator(
// CHECK: scf.for
// CHECK: tile.gemm (%Cl.acc[
// CHECK: tile.elementwise <cast> (%Cl.wide[{{.+}}, %Cl[
// CHECK: tile.elementwise <add> (%Cl.sum[{{.+}}, %Cl.wide[{{.+}}, %Cl.sum[
// CHECK: tile.elementwise <cast> (%Cl[{{.+}}, %Cl.sum[
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

// Two products onto values are two additions; each rounds to f16.
// CHECK-LABEL: func.func @two_products_on_values(
// CHECK-COUNT-2: tile.elementwise <cast> (%Cl[
func.func @two_products_on_values(%A: memref<32x16xf16> {tile.name = "A"}, %B: memref<16x32xf16> {tile.name = "B"},
                                  %C: memref<32x32xf16> {tile.name = "C", tile.output}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %large = arith.constant 1.0e+03 : f16
  tile.launch (%bx) in (%c1) {
    %As = tile.alloc "As" : memref<32x16xf16, #shared>
    %Bs = tile.alloc "Bs" : memref<16x32xf16, #shared>
    %Cl = tile.alloc "Cl" : memref<32x32xf16, #fragment>
    tile.copy(%As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>, %A[%c0, %c0] [%c32, %c16] : memref<32x16xf16>)
    tile.copy(%Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>, %B[%c0, %c0] [%c16, %c32] : memref<16x32xf16>)
    tile.fill %large : f16, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #fragment>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    tile.gemm(%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #fragment>,
              %As[%c0, %c0] [%c32, %c16] : memref<32x16xf16, #shared>,
              %Bs[%c0, %c0] [%c16, %c32] : memref<16x32xf16, #shared>)
    tile.copy(%C[%c0, %c0] [%c32, %c32] : memref<32x32xf16>, %Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf16, #fragment>)
  }
  return
}

// A sum in f32 from zero rounds nowhere else in L0C: it stays there.
// CHECK-LABEL: func.func @f32_accumulator(
// CHECK-NOT: tile.elementwise
// CHECK: tile.copy (%arg2{{.+}}f32>, %Cl.acc[
func.func @f32_accumulator(%A: memref<32x48xf16> {tile.name = "A"}, %B: memref<48x32xf16> {tile.name = "B"},
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
    %Cl = tile.alloc "Cl" : memref<32x32xf32, #fragment>
    tile.fill %zero : f32, (%Cl[%c0, %c0] [%c32, %c32] : memref<32x32xf32, #fragment>)
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
