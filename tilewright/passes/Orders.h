// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/tile/TileOps.h"

/// Tensors in global memory through which one kind of core hands data to the other.
namespace tilewright::passes {

/// True for a channel without data, whose ends order what the two sides do to a tensor.
bool isOrder(mlir::Value channel);

/// Gives each tensor that one kind of core writes and the other one touches a channel without data:
/// its ends stand around all writes and behind them around all reads, in the innermost block that
/// holds both, so that a turn's writes wait for the reads of the turn before. An error where the
/// accesses have no such form. Every op has its core.
mlir::LogicalResult orderGlobals(tile::LaunchOp launch);

} // namespace tilewright::passes
