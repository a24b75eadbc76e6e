// RUN: tilewright-opt %s --split-input-file --npu-plan-memory --npu-verify-plan --verify-diagnostics | FileCheck %s

// A reduction of rows of more than 256 bytes takes half of its source beside its operands. The plan leaves
// 32128 bytes, enough for 62 rows; the results of 56 end at a 32-byte block.
// CHECK-LABEL: @pieces
// CHECK: %[[C56:.*]] = arith.constant 56 : index
// CHECK: npu.reduce <max> (%[[R:.*]][%[[C0:.*]]] [%[[C56]]] : {{.*}}, %[[X:.*]][%[[C0]], %[[C0]]] [%[[C56]], %{{.*}}] :
// CHECK: npu.reduce <max> (%[[R]][%c56{{.*}}] [%c56{{.*}}] : {{.*}}, %[[X]][%c56{{.*}}, %[[C0]]] [%c56{{.*}}, %{{.*}}] :
// CHECK: npu.reduce <max> (%[[R]][%c112] [%c48] : {{.*}}, %[[X]][%c112{{.*}}, %[[C0]]] [%c48, %{{.*}}] :
// CHECK-NOT: npu.reduce
func.func @pieces(%A: memref<160x256xf32, #npu.space<gm>>, %B: memref<160xf32, #npu.space<gm>>) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c160 = arith.constant 160 : index
  %c256 = arith.constant 256 : index
  %x = npu.alloc "x" : memref<160x256xf32, #npu.space<ub>>
  %r = npu.alloc "r" : memref<160xf32, #npu.space<ub>>
  npu.load (%x[%c0, %c0] [%c160, %c256] : memref<160x256xf32, #npu.space<ub>>, %A[%c0, %c0] [%c160, %c256] : memref<160x256xf32, #npu.space<gm>>)
  npu.reduce <max> (%r[%c0] [%c160] : memref<160xf32, #npu.space<ub>>, %x[%c0, %c0] [%c160, %c256] : memref<160x256xf32, #npu.space<ub>>) dims = [1] {dst_map = array<i64: 0>}
  npu.store (%B[%c0] [%c160] : memref<160xf32, #npu.space<gm>>, %r[%c0] [%c160] : memref<160xf32, #npu.space<ub>>)
  return
}

// -----

// Rows of a repeat take nothing, however full UB is.
// CHECK-LABEL: @short_rows
// CHECK: npu.reduce <sum>
// CHECK-NOT: npu.reduce
func.func @short_rows(%A: memref<752x64xf32, #npu.space<gm>>) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %n = arith.constant 752 : index
  %c64 = arith.constant 64 : index
  %x = npu.alloc "x" : memref<752x64xf32, #npu.space<ub>>
  %r = npu.alloc "r" : memref<752xf32, #npu.space<ub>>
  npu.load (%x[%c0, %c0] [%n, %c64] : memref<752x64xf32, #npu.space<ub>>, %A[%c0, %c0] [%n, %c64] : memref<752x64xf32, #npu.space<gm>>)
  npu.reduce <sum> (%r[%c0] [%n] : memref<752xf32, #npu.space<ub>>, %x[%c0, %c0] [%n, %c64] : memref<752x64xf32, #npu.space<ub>>) dims = [1] {dst_map = array<i64: 0>}
  return
}

// -----

// All would fit without sharing, but leave no room for the reduction: two tiles share a place.
// CHECK-LABEL: @makes_room
// CHECK-DAG: npu.alloc "y" {address = [[PLACE:[0-9]+]] : i64}
// CHECK-DAG: npu.alloc "z" {address = [[PLACE]] : i64}
// CHECK: npu.reduce <sum>
// CHECK-NOT: npu.reduce
// expected-remark @below {{applied: tiles of @makes_room that are not needed at the same time share memory, so that they take 132 KiB of 192 KiB UB}}
func.func @makes_room(%A: memref<64x256xf32, #npu.space<gm>>) attributes {npu.core = #npu.core<aiv>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %c1024 = arith.constant 1024 : index
  %x = npu.alloc "x" : memref<64x256xf32, #npu.space<ub>>
  %y = npu.alloc "y" : memref<64x256xf32, #npu.space<ub>>
  %z = npu.alloc "z" : memref<64x256xf32, #npu.space<ub>>
  %r = npu.alloc "r" : memref<1024xf32, #npu.space<ub>>
  npu.load (%x[%c0, %c0] [%c64, %c256] : memref<64x256xf32, #npu.space<ub>>, %A[%c0, %c0] [%c64, %c256] : memref<64x256xf32, #npu.space<gm>>)
  npu.reduce <sum> (%r[%c0] [%c64] : memref<1024xf32, #npu.space<ub>>, %x[%c0, %c0] [%c64, %c256] : memref<64x256xf32, #npu.space<ub>>) dims = [1] {dst_map = array<i64: 0>}
  npu.load (%y[%c0, %c0] [%c64, %c256] : memref<64x256xf32, #npu.space<ub>>, %A[%c0, %c0] [%c64, %c256] : memref<64x256xf32, #npu.space<gm>>)
  npu.store (%A[%c0, %c0] [%c64, %c256] : memref<64x256xf32, #npu.space<gm>>, %y[%c0, %c0] [%c64, %c256] : memref<64x256xf32, #npu.space<ub>>)
  npu.load (%z[%c0, %c0] [%c32, %c256] : memref<64x256xf32, #npu.space<ub>>, %A[%c0, %c0] [%c32, %c256] : memref<64x256xf32, #npu.space<gm>>)
  npu.store (%A[%c0, %c0] [%c32, %c256] : memref<64x256xf32, #npu.space<gm>>, %z[%c0, %c0] [%c32, %c256] : memref<64x256xf32, #npu.space<ub>>)
  return
}
