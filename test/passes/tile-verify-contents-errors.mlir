// RUN: sed '/%x\[%c16\]/d' %S/tile-verify-contents.mlir | not tilewright-opt --tile-verify-contents 2>&1 | FileCheck %s --check-prefix=CHECK-PART
// RUN: sed 's/scf.if %isfirst/scf.if %islast/' %S/tile-verify-contents.mlir | not tilewright-opt --tile-verify-contents 2>&1 | FileCheck %s --check-prefix=CHECK-LATER
// RUN: sed 's/^    } .. filled/      tile.advance %w : memref<32xf32, #ub>\n&/' %S/tile-verify-contents.mlir | not tilewright-opt --tile-verify-contents 2>&1 | FileCheck %s --check-prefix=CHECK-VERSION
// RUN: sed 's/init %fresh/init %never/' %S/tile-verify-contents.mlir | not tilewright-opt --tile-verify-contents 2>&1 | FileCheck %s --check-prefix=CHECK-SUM
// RUN: sed '/slot$/s/%c32\]/%c16]/g' %S/tile-verify-contents.mlir | not tilewright-opt --tile-verify-contents 2>&1 | FileCheck %s --check-prefix=CHECK-SLOT

// Each edit of tile-verify-contents.mlir breaks one rule.

// CHECK-PART: error: E0799: reads elements of 'x' that nothing has written since its version began: [0:32]
// CHECK-LATER: error: E0799: reads elements of 'k' that nothing has written since its version began: [0:32]
// CHECK-VERSION: error: E0799: reads elements of 'w' that nothing has written since its version began: [0:1]
// CHECK-SUM: error: E0799: reads elements of 's' that nothing has written since its version began: [0:32, 0:32]
// CHECK-SLOT: error: E0799: reads elements of 'w.exchange' that nothing has written since its version began: [0:32]
