// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/passes/TileUtils.h"

namespace tilewright::passes {

/// Makes one loop of `inner` and the loop around it, whose turns are those of `inner` one after the
/// other. Null, and nothing changed, unless the turns of `inner` are constant and all else in the
/// outer loop only computes scalars for it.
mlir::scf::ForOp flattenNest(mlir::scf::ForOp inner);

} // namespace tilewright::passes
