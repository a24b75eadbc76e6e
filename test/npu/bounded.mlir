// RUN: not tilewright-sim %s 2>&1 | FileCheck %s
// RUN: awk 'BEGIN { s = "func.func @deep() attributes {a = "; for (i = 0; i < 300; i++) s = s "["; print s }' > %t.mlir
// RUN: not tilewright-sim %t.mlir 2>&1 | FileCheck %s --check-prefix=DEEP

// What MLIR's parser cannot take is refused in front of it.

// CHECK: bounded.mlir:[[@LINE+7]]:5: error: a value that the operation around this region uses
// DEEP: mlir:1:{{[0-9]+}}: error: more than 256 brackets within each other

func.func @early() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %n = arith.constant 4 : index
  }
  %n = arith.constant 4 : index
  return
}
