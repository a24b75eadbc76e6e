// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/CubeCost.h"

#include "tilewright/machine/Transfers.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace tilewright;

int64_t passes::rowStep(const Box &box, int64_t move, const machine::Machine &chip) {
  auto type = cast<MemRefType>(box.buffer.getType());
  int64_t pitch = std::max<int64_t>(type.getElementTypeBitWidth() / 8, 1);
  int64_t step = std::gcd<int64_t>(chip.l2LineBytes, move * pitch);
  for (int64_t dim = type.getRank() - 1; dim > 0; --dim) {
    if (type.isDynamicDim(dim))
      return chip.l2LineBytes;
    pitch *= type.getDimSize(dim);
    step = std::gcd(step, pitch);
  }
  return step;
}

double passes::chargedBytes(int64_t bytes, int64_t step, const machine::Machine &chip) {
  step = std::gcd<int64_t>(step, chip.l2LineBytes);
  const machine::RowPrice price(chip);
  double charged = 0;
  for (int64_t start = 0; start < chip.l2LineBytes; start += step)
    charged += price.chargedBytes(start, bytes);
  return charged / static_cast<double>(chip.l2LineBytes / step);
}

double passes::rowCycles(int64_t bytes, int64_t step, const machine::Machine &chip) {
  return std::max(chargedBytes(bytes, step, chip) / chip.mte2RateAic + chip.mte2RowAic,
                  chip.mte2RowInFlightAic);
}

passes::ProductCycles passes::productCycles(double rows, double columns, double depth,
                                            int64_t bytes, const machine::Machine &chip) {
  auto fractals = [&](double extent) {
    return std::ceil(extent / chip.fractalRows) * chip.fractalRows;
  };
  ProductCycles cycles;
  cycles.cube = fractals(rows) * fractals(columns) * depth / chip.macs(bytes) + chip.mmadOverhead;
  cycles.feed = depth * static_cast<double>(bytes) *
                (fractals(rows) / chip.mte1RateL0a + fractals(columns) / chip.mte1RateL0b);
  return cycles;
}
