// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/machine/Machine.h"
#include "tilewright/support/Boxes.h"

namespace tilewright::passes {

/// Largest number of bytes of which the start of every row of a box in a global tensor is a
/// multiple, when the box moves by multiples of `move` elements along the last dimension. A line
/// where the tensor's extents are run-time values.
int64_t rowStep(const Box &box, int64_t move, const machine::Machine &chip);

/// Bytes that a row is charged for, in the mean over rows that start at multiples of `step` bytes.
double chargedBytes(int64_t bytes, int64_t step, const machine::Machine &chip);

/// Cycles in which a cube core loads one row, in the mean over rows that start at multiples of
/// `step` bytes; without the start of the load.
double rowCycles(int64_t bytes, int64_t step, const machine::Machine &chip);

/// Cycles of a product of `rows` x `depth` by `depth` x `columns` elements of `bytes` bytes.
struct ProductCycles {
  double cube = 0; ///< multiplying
  double feed = 0; ///< moving both operands from L1 to L0
};
ProductCycles productCycles(double rows, double columns, double depth, int64_t bytes,
                            const machine::Machine &chip);

} // namespace tilewright::passes
