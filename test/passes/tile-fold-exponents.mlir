// RUN: tilewright-opt %s --tile-fold-exponents | FileCheck %s

!x = memref<16x16xf32, #tile.scope<fragment>>
!r = memref<16xf32, #tile.scope<fragment>>
!h = memref<16x16xf16, #tile.scope<fragment>>

// exp2(x * c - m * c): the difference first, and ln 2 goes into the constant.
// CHECK-LABEL: func.func @difference
// CHECK: %[[X:.*]] = tile.load %{{.*}}[%{{.*}}, %{{.*}}]
// CHECK: %[[M:.*]] = tile.load
// CHECK: %[[D:.*]] = arith.subf %[[X]], %[[M]]
// CHECK: %[[C:.*]] = arith.constant 1.38629436 : f32
// CHECK: %[[P:.*]] = arith.mulf %[[D]], %[[C]]
// CHECK: %[[E:.*]] = math.exp %[[P]]
// CHECK-NOT: math.exp2
// CHECK: tile.store %[[E]]
func.func @difference() {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %two = arith.constant 2.0 : f32
  tile.launch (%b) in (%c1) {
    %x = tile.alloc "x" : !x
    %m = tile.alloc "m" : !r
    tile.parallel (%i, %j) in (%c16, %c16) {
      %0 = tile.load %x[%i, %j] : !x -> f32
      %1 = tile.load %m[%i] : !r -> f32
      %2 = arith.mulf %0, %two : f32
      %3 = arith.mulf %1, %two : f32
      %4 = arith.subf %2, %3 : f32
      %5 = math.exp2 %4 : f32
      tile.store %5, %x[%i, %j] : f32, !x
    }
  }
  return
}

// CHECK-LABEL: func.func @product
// CHECK: %[[P:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK: math.exp %[[P]]
func.func @product() {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %half = arith.constant 0.5 : f32
  tile.launch (%b) in (%c1) {
    %x = tile.alloc "x" : !x
    tile.parallel (%i, %j) in (%c16, %c16) {
      %0 = tile.load %x[%i, %j] : !x -> f32
      %1 = arith.mulf %half, %0 : f32
      %2 = math.exp2 %1 : f32
      tile.store %2, %x[%i, %j] : f32, !x
    }
  }
  return
}

// The natural form keeps what would gain nothing; other constants, other types and what is no product stay.
// CHECK-LABEL: func.func @as_written
// CHECK: arith.mulf
// CHECK: math.exp %
// CHECK: arith.mulf
// CHECK: arith.mulf
// CHECK: arith.subf
// CHECK: math.exp2
// CHECK: math.exp2 %{{.*}} : f32
// CHECK: math.exp2 %{{.*}} : f16
func.func @as_written() {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  %small = arith.constant 3.0 : f16
  tile.launch (%b) in (%c1) {
    %x = tile.alloc "x" : !x
    %h = tile.alloc "h" : !h
    tile.parallel (%i, %j) in (%c16, %c16) {
      %0 = tile.load %x[%i, %j] : !x -> f32
      %1 = arith.mulf %0, %two : f32
      %2 = math.exp %1 : f32
      %3 = arith.mulf %2, %two : f32
      %4 = arith.mulf %2, %three : f32
      %5 = arith.subf %3, %4 : f32
      %6 = math.exp2 %5 : f32
      %7 = math.exp2 %6 : f32
      tile.store %7, %x[%i, %j] : f32, !x
      %8 = tile.load %h[%i, %j] : !h -> f16
      %9 = arith.mulf %8, %small : f16
      %10 = math.exp2 %9 : f16
      tile.store %10, %h[%i, %j] : f16, !h
    }
  }
  return
}

// exp(x * c - m * c) saves a product too.
// CHECK-LABEL: func.func @natural
// CHECK: arith.subf
// CHECK: arith.mulf
// CHECK-NEXT: math.exp
func.func @natural() {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %two = arith.constant 2.0 : f32
  tile.launch (%b) in (%c1) {
    %x = tile.alloc "x" : !x
    %m = tile.alloc "m" : !r
    tile.parallel (%i, %j) in (%c16, %c16) {
      %0 = tile.load %x[%i, %j] : !x -> f32
      %1 = tile.load %m[%i] : !r -> f32
      %2 = arith.mulf %0, %two : f32
      %3 = arith.mulf %1, %two : f32
      %4 = arith.subf %2, %3 : f32
      %5 = math.exp %4 : f32
      tile.store %5, %x[%i, %j] : f32, !x
    }
  }
  return
}
