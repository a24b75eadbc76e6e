// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>

namespace tilewright::passes {

#define GEN_PASS_DECL
#include "tilewright/passes/Checkers.h.inc"

/// Declares registerCheckerPasses(): every pass of Checkers.td, for the command line.
#define GEN_PASS_REGISTRATION
#include "tilewright/passes/Checkers.h.inc"

} // namespace tilewright::passes
