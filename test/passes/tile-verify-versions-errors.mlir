// RUN: tilewright-opt %S/tile-verify-versions.mlir --tile-place-accumulators --tile-place-buffers --tile-materialize-zero --tile-split-cores --tile-verify-versions=record=true -o %t.noted.mlir 2> %t.log
// RUN: tilewright-opt %t.noted.mlir --tile-pipeline-buffers --tile-verify-versions --tile-skew-stages --tile-verify-versions -o %t.skewed.mlir 2> %t.log
// RUN: sed 's/arith.constant -2 : index/arith.constant 0 : index/' %t.skewed.mlir | not tilewright-opt --tile-verify-versions 2>&1 | FileCheck %s --check-prefix=CHECK-VALUE
// RUN: sed 's/tile.copy *(%V\[/tile.copy(%K[/' %t.skewed.mlir | not tilewright-opt --tile-verify-versions 2>&1 | FileCheck %s --check-prefix=CHECK-VALUE
// RUN: sed 's/<max>/<min>/' %t.noted.mlir | not tilewright-opt --tile-verify-versions 2>&1 | FileCheck %s --check-prefix=CHECK-VALUE
// RUN: sed '/tile.reduce/d' %t.noted.mlir | not tilewright-opt --tile-verify-versions 2>&1 | FileCheck %s --check-prefix=CHECK-VALUE

// The late product of tile-verify-versions.mlir works on the turn of now, on the other tile, on other maxima, and on those of
// no turn.

// CHECK-VALUE: error: E0799: a statement gets a value of another turn than before the turns of its loop overlapped
