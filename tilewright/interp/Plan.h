// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/interp/Machine.h"

#include "llvm/ADT/DenseMap.h"

namespace tilewright::interp {

/// Turns functions into nodes with numbered slots. Keeps the plans of the functions they call.
class Planner {
public:
  const FunctionPlan *plan(mlir::func::FuncOp function);

private:
  class FunctionPlanner;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<FunctionPlan>> plans;
};

} // namespace tilewright::interp
