// RUN: tilewright-opt %s --tile-expand-functions | FileCheck %s

!x = memref<16xf32, #tile.scope<fragment>>
!h = memref<16xf16, #tile.scope<fragment>>
!d = memref<16xf64, #tile.scope<fragment>>

// CHECK-LABEL: func.func @functions
// CHECK: %[[X:.*]] = tile.load
// CHECK: %[[LN2:.*]] = arith.constant 0.693147182 : f32
// CHECK: %[[P:.*]] = arith.mulf %[[X]], %[[LN2]]
// CHECK: %[[E:.*]] = math.exp %[[P]]
// CHECK: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK: %[[T:.*]] = arith.mulf %[[E]], %[[TWO]]
// CHECK: math.exp %[[T]]
// CHECK: arith.divf
// CHECK: tile.store
// In f16: in f32, rounded once.
// CHECK: %[[H:.*]] = tile.load
// CHECK: %[[W:.*]] = arith.extf %[[H]] : f16 to f32
// CHECK: math.roundeven
// CHECK: %[[S:.*]] = arith.truncf {{.*}} : f32 to f16
// CHECK: tile.store %[[S]]
// CHECK: math.log2 {{.*}} : f64
// CHECK: math.tanh
func.func @functions() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  tile.launch (%b) in (%c1) {
    %x = tile.alloc "x" : !x
    %h = tile.alloc "h" : !h
    %d = tile.alloc "d" : !d
    tile.parallel (%i) in (%c16) {
      %0 = tile.load %x[%i] : !x -> f32
      %1 = math.exp2 %0 : f32
      %2 = math.tanh %1 : f32
      tile.store %2, %x[%i] : f32, !x
      %3 = tile.load %h[%i] : !h -> f16
      %4 = math.sin %3 : f16
      tile.store %4, %h[%i] : f16, !h
      %5 = tile.load %d[%i] : !d -> f64
      %6 = math.log2 %5 : f64
      tile.store %6, %d[%i] : f64, !d
    }
    // Scalars keep their functions.
    %7 = tile.load %x[%c0] : !x -> f32
    %8 = math.tanh %7 : f32
    tile.store %8, %x[%c0] : f32, !x
  }
  return
}
