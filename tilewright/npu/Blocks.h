// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "llvm/ADT/StringRef.h"

namespace tilewright::npu {

/// i64, on `npu.begin_block`: so many vector cores share a block, and each counts as one there.
inline constexpr llvm::StringLiteral kCoresPerBlockAttr = "npu.cores_per_block";

} // namespace tilewright::npu
