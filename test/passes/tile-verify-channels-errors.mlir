// RUN: sed 's/%x.exchange on <aiv>/%x.exchange on <aic>/' %S/tile-verify-channels.mlir | not tilewright-opt --tile-verify-channels 2>&1 | FileCheck %s --check-prefix=CHECK-SIDE
// RUN: sed '/tile.publish/d' %S/tile-verify-channels.mlir | not tilewright-opt --tile-verify-channels 2>&1 | FileCheck %s --check-prefix=CHECK-UNPUBLISHED
// RUN: sed '/tile.wait/d' %S/tile-verify-channels.mlir | not tilewright-opt --tile-verify-channels 2>&1 | FileCheck %s --check-prefix=CHECK-UNAWAITED
// RUN: sed '/tile.release/d' %S/tile-verify-channels.mlir | not tilewright-opt --tile-verify-channels 2>&1 | FileCheck %s --check-prefix=CHECK-UNRELEASED
// RUN: sed 's/scf.if %always/scf.if %first/' %S/tile-verify-channels.mlir | not tilewright-opt --tile-verify-channels 2>&1 | FileCheck %s --check-prefix=CHECK-LEFT
// RUN: sed 's/slots = 2/slots = 1/' %S/tile-verify-channels.mlir | not tilewright-opt --tile-verify-channels 2>&1 | FileCheck %s --check-prefix=CHECK-SLOTS
// RUN: sed 's/tile.core = #tile.core<aic>/tile.core = #tile.core<aiv>/' %S/tile-verify-channels.mlir | not tilewright-opt --tile-verify-channels 2>&1 | FileCheck %s --check-prefix=CHECK-CORE
// RUN: sed 's/ {tile.core = #tile.core<aic>}//' %S/tile-verify-channels.mlir | not tilewright-opt --tile-verify-channels 2>&1 | FileCheck %s --check-prefix=CHECK-UNLABELLED
// RUN: sed 's/%B\[/%A[/' %S/tile-verify-channels.mlir | not tilewright-opt --tile-verify-channels 2>&1 | FileCheck %s --check-prefix=CHECK-GLOBAL

// Each edit of tile-verify-channels.mlir breaks one rule.

// CHECK-SIDE: error: E0799: channel 'x.exchange' has an end on a core that is not of its side
// CHECK-UNPUBLISHED: error: E0799: channel 'x.exchange' is acquired again before it is published
// CHECK-UNAWAITED: error: E0799: channel 'x.exchange' is read outside of its ends on aiv
// CHECK-UNRELEASED: error: E0799: channel 'x.exchange' is awaited again before it is released
// CHECK-LEFT: error: E0799: channel 'x.exchange' has 8 versions published and 5 awaited in a block
// CHECK-SLOTS: error: E0799: channel 'two.exchange' with 1 slots makes the two kinds of core wait for each other here
// CHECK-CORE: error: E0799: 'a' is in l1 but this statement runs on aiv; nothing brings it there
// CHECK-UNLABELLED: error: E0799: this statement has no kind of core that runs it
// CHECK-GLOBAL: error: E0799: 'A' goes from one kind of core to the other without a channel
// CHECK-GLOBAL: {{.*}}the other core touches it here
