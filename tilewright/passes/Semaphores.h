// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/passes/TileUtils.h"

namespace tilewright::passes {

/// i64 on workspace allocs: those of one number are handed over in turn, and share semaphores.
inline constexpr llvm::StringLiteral kSemaphoreAttr = "tile.semaphore";
/// How far a semaphore counts.
inline constexpr int64_t kMaxCount = 15;

} // namespace tilewright::passes
