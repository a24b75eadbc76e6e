// RUN: not tilewright-opt %s --npu-hoist-invariants="chip=910z9" 2>&1 | FileCheck %s

// CHECK: error: E0906: unknown chip '910z9'
func.func @any_kernel() {
  return
}
