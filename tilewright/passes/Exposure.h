// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/passes/TileUtils.h"

namespace tilewright::passes {

/// What a stretch of program does to one tile.
struct Summary {
  bool exposed = false; ///< reads elements that it has not written before
  bool kills = false;   ///< writes all elements, whatever happens
};

Summary summarize(mlir::Block &block, mlir::Value tile);
/// Of each op by itself.
llvm::SmallVector<Summary> summarize(llvm::ArrayRef<mlir::Operation *> ops, mlir::Value tile);

} // namespace tilewright::passes
