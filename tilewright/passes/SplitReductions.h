// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::passes {

/// Bytes of UB behind the plan with which every reduction of rows is one instruction: each takes
/// memory beside its operands.
int64_t roomForReductions(mlir::func::FuncOp function);

/// Where the plan leaves less than that, reductions of rows become several, of a few rows each,
/// whose results begin at 32-byte blocks. Needs addresses; results are the same.
void splitReductions(mlir::func::FuncOp function, int64_t bytes);

} // namespace tilewright::passes
