// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "mlir/IR/Builders.h"

/// Index arithmetic of the writer and the reader of HIVM text, folded where numbers are known.
namespace tilewright::hivm {

/// The value itself, or a constant.
mlir::Value asValue(mlir::OpBuilder &builder, mlir::Location loc, mlir::OpFoldResult value);
mlir::OpFoldResult times(mlir::OpBuilder &builder, mlir::Location loc, mlir::OpFoldResult a,
                         mlir::OpFoldResult b);
mlir::OpFoldResult plus(mlir::OpBuilder &builder, mlir::Location loc, mlir::OpFoldResult a,
                        mlir::OpFoldResult b);

} // namespace tilewright::hivm
