// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "mlir/IR/Value.h"

#include <optional>

namespace tilewright::passes {

/// Inclusive bounds of an integer value.
struct Bounds {
  int64_t low, high;
};

/// Bounds of `value` that follow from constants, loop bounds and grid extents; none when nothing is
/// known.
std::optional<Bounds> rangeOf(mlir::Value value);

} // namespace tilewright::passes
