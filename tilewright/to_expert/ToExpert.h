// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/npu/NpuOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

/// From planned and synchronised npu functions back to Python: a kernel of `T.Cores` that compiles
/// to the same program.
namespace tilewright::to_expert {

/// A parameter of the host function as Python writes it.
struct Parameter {
  std::string name;
  std::string annotation; ///< `T.Tensor((M, 64), "float16")`, or `T.int32`
  int alias = -1;         ///< the parameter whose memory it views
};

/// The Python source of `host`, whose launches have been through npu-insert-sync: a `@T.prim_func`
/// of its name. Diagnoses, at the op, what the language of authors has no words for.
mlir::FailureOr<std::string> exportKernel(mlir::func::FuncOp host,
                                          const std::vector<Parameter> &parameters,
                                          const std::vector<std::string> &symbols);

} // namespace tilewright::to_expert
