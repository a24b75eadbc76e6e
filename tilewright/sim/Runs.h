// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/Kernels.h"

#include <array>
#include <cstdint>

namespace tilewright::sim {

/// The runs of bytes that make up a box, without its place: broadcast dimensions dropped,
/// contiguous and overlapping ones merged, in rising order where possible.
class Runs {
public:
  Runs() = default;
  explicit Runs(const ResolvedView &view);

  bool operator==(const Runs &other) const = default;
  uint64_t hash() const {
    uint64_t result = uint64_t(run);
    for (int d = 0; d < depth; ++d)
      result = result * 31 + uint64_t(sizes[size_t(d)]) * 7 + uint64_t(strides[size_t(d)]);
    return result;
  }

  /// Calls fn(low, high) for each, the lowest byte of all being at `first`.
  template <typename Fn>
  void forEach(int64_t first, Fn fn) const {
    if (depth == 0)
      return fn(first, first + run);
    std::array<int64_t, kMaxRank> at{};
    for (;;) {
      fn(first, first + run);
      int d = 0;
      for (; d < depth; ++d) {
        first += strides[d];
        if (++at[d] < sizes[d])
          break;
        first -= strides[d] * sizes[d];
        at[d] = 0;
      }
      if (d == depth)
        return;
    }
  }

private:
  int64_t run = 0; ///< bytes
  int depth = 0;   ///< remaining dimensions, innermost first
  std::array<int64_t, kMaxRank> sizes{}, strides{};
};

} // namespace tilewright::sim
