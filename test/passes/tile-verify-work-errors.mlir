// RUN: tilewright-opt %S/tile-verify-work.mlir --tile-verify-work=record=true -o %t.noted.mlir
// RUN: sed 's/%c16, %c0\] \[%c16, %c32\]/%c0, %c0] [%c32, %c32]/g' %t.noted.mlir | not tilewright-opt --tile-verify-work 2>&1 | FileCheck %s --check-prefix=CHECK-TWICE
// RUN: sed 's/to %c2 /to %c1 /' %t.noted.mlir | not tilewright-opt --tile-verify-work 2>&1 | FileCheck %s --check-prefix=CHECK-LESS
// RUN: sed '/tile.atomic/d' %t.noted.mlir | not tilewright-opt --tile-verify-work 2>&1 | FileCheck %s --check-prefix=CHECK-ATOMIC

// Each edit of tile-verify-work.mlir breaks one rule.

// CHECK-TWICE: error: E0799: block (0) does 98304 multiplications, before its statements were cut it did 65536
// CHECK-LESS: error: E0799: block (0) does 32768 multiplications, before its statements were cut it did 65536
// CHECK-ATOMIC: error: E0799: block (0) does 0 elements combined, before its statements were cut it did 32
