// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/interp/Elements.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace tilewright::interp {

/// Row-major elements as PyTorch would show them: `tensor([[1., 2.], [3., 4.]])`, with the type
/// after the elements unless it is float32, int64 or bool, four digits, and the middle of long
/// dimensions left out from 1000 elements on.
std::string tensorText(Kind kind, const char *data, llvm::ArrayRef<int64_t> sizes);

/// A scalar as Python would show it, floats with six significant digits.
std::string scalarText(Kind kind, Scalar value);

} // namespace tilewright::interp
