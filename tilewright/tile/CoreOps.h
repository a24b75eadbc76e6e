// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/tile/TileOps.h"

#define GET_OP_CLASSES
#include "tilewright/tile/CoreOps.h.inc"

/// Launches whose body is the program of a core.
namespace tilewright::tile {

/// Unit on launches that are the program of a core, not of a block.
inline constexpr llvm::StringLiteral kByCoreAttr = "tile.by_core";
/// i64 on their allocs: the byte of its memory at which slot 0 begins, as the author says.
inline constexpr llvm::StringLiteral kAddressAttr = "tile.address";

/// True for a launch with a barrier over all blocks, or one between the vector cores of a block.
bool meets(LaunchOp launch, bool allBlocks);

inline bool isByCore(LaunchOp launch) { return launch->hasAttr(kByCoreAttr); }

} // namespace tilewright::tile
