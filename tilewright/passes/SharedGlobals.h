// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/passes/TileUtils.h"

namespace tilewright::passes {

/// The global tensor through which the two vector cores of a mixed launch would meet: one may touch
/// what the other writes, and nothing orders the two. Null when each core keeps to rows of its own.
/// Tiles cut over both cores carry tile.split_dim; all other vector work is done by both, and
/// stored by the first.
mlir::Value tensorSharedByVectorCores(tile::LaunchOp launch);

} // namespace tilewright::passes
