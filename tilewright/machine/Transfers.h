// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/machine/Machine.h"

#include <bit>

namespace tilewright::machine {

/// What a row of global memory costs a mover: for the clock, and for those who plan by it.
struct RowPrice {
  explicit RowPrice(const Machine &chip)
      : lineShift(std::countr_zero(static_cast<unsigned>(chip.l2LineBytes))),
        sectorShift(std::countr_zero(static_cast<unsigned>(chip.l2SectorBytes))),
        unalignedFactor(chip.unalignedLineFactor) {}

  /// Bytes that a row of `bytes` at `address` is charged for. A row of a line or more that does not
  /// start at a line pays for the rest of the lines that it touches, times a factor; a shorter row
  /// pays for the sectors that it touches.
  double chargedBytes(uint64_t address, uint64_t bytes) const {
    const uint64_t line = uint64_t(1) << lineShift, last = address + bytes - 1;
    auto touched = [&](unsigned shift) {
      return ((last >> shift) - (address >> shift) + 1) << shift;
    };
    if (bytes < line)
      return static_cast<double>(touched(sectorShift));
    if ((address & (line - 1)) == 0)
      return static_cast<double>(bytes);
    return static_cast<double>(bytes) +
           static_cast<double>(touched(lineShift) - bytes) * unalignedFactor;
  }

  unsigned lineShift, sectorShift;
  double unalignedFactor;
};

} // namespace tilewright::machine
