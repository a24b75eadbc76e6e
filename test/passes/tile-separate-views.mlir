// RUN: tilewright-opt %s --tile-separate-views -o %t.mlir 2> %t.log
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=REMARK < %t.log
// RUN: tilewright-run %s --checksums --function scratch > %t.before
// RUN: tilewright-run %t.mlir --checksums --function scratch | diff %t.before -

// REMARK: 'V' and 'A' share memory as elements of two types; nothing passes from one to the other, so each has its own

// Two names of one memory: each gets its own where no bits pass from one to the other.

// CHECK-LABEL: func.func @scratch
// CHECK: %A = tile.alloc "A"
// CHECK: %V = tile.alloc "V" {tile.user} : memref<4x8xf32, #tile.scope<shared>>
// CHECK-NOT: tile.view
func.func @scratch(%x: memref<8x8xf16, #tile.scope<global>>, %y: memref<4x8xf32, #tile.scope<global>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %bound = arith.constant 4 : i32
  %one = arith.constant 1.0 : f32
  tile.launch (%b) in (%c1) {
    %A = tile.alloc "A" : memref<8x8xf16, #tile.scope<shared>>
    %V = tile.view "V" %A : memref<8x8xf16, #tile.scope<shared>> to memref<4x8xf32, #tile.scope<shared>>
    scf.for %k = %c0 to %c4 step %c1 {
      tile.parallel (%i, %j) in (%c8, %c8) {
        %v = tile.load %x[%i, %j] : memref<8x8xf16, #tile.scope<global>> -> f16
        tile.store %v, %A[%i, %j] : f16, memref<8x8xf16, #tile.scope<shared>>
      }
      tile.copy (%x[%c0, %c0] [%c8, %c8] : memref<8x8xf16, #tile.scope<global>>, %A[%c0, %c0] [%c8, %c8] : memref<8x8xf16, #tile.scope<shared>>)
      tile.parallel (%i, %j) in (%c8, %c8) {
        %row = arith.index_cast %i : index to i32
        %inside = arith.cmpi slt, %row, %bound : i32
        scf.if %inside {
          tile.store %one, %V[%i, %j] : f32, memref<4x8xf32, #tile.scope<shared>>
        }
      }
      tile.copy (%y[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #tile.scope<global>>, %V[%c0, %c0] [%c4, %c8] : memref<4x8xf32, #tile.scope<shared>>)
    }
  }
  return
}
