// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "mlir/IR/Types.h"

#include <string>

namespace tilewright {

/// Name of an element type as Python writes it: "float16", "uint8", "bool"; of another type its
/// text in IR.
std::string dtypeName(mlir::Type type);

} // namespace tilewright
