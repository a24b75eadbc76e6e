// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/Program.h"

#include <array>
#include <cstdint>
#include <vector>

namespace tilewright::sim {

inline constexpr int kMaxFlagIds = 16;
/// The cross-core signal with which the cores of a group meet at the end of a block; no program
/// names it.
inline constexpr int kEndOfBlock = kMaxFlagIds;
/// Signals between the two vector cores of a group are counted behind those of the cube core.
inline constexpr int kSiblings = kMaxFlagIds + 1;
inline constexpr int kBlockSignals = kSiblings + kMaxFlagIds;

/// A value for each event id of each pair of pipes of a core. A kernel uses few of the pairs, so
/// those of a pair are made when one of them is asked for; this ends references to others.
template <typename T>
class FlagTable {
public:
  T &at(Pipe from, Pipe to, int64_t id) {
    uint8_t &place = places[size_t(from) * kNumPipes + size_t(to)];
    if (!place) [[unlikely]]
      add(place);
    return values[size_t(place - 1) * kMaxFlagIds + size_t(id)];
  }

  /// Calls fn(from, to, id, value) in the order of pipes for what was made.
  template <typename Fn>
  void forEach(Fn fn) {
    for (unsigned pair = 0; pair < places.size(); ++pair)
      for (int64_t id = 0; places[pair] && id < kMaxFlagIds; ++id) {
        Pipe from = Pipe(pair / kNumPipes), to = Pipe(pair % kNumPipes);
        fn(from, to, id, at(from, to, id));
      }
  }

private:
  /// Apart from `at`, which is short then and comes with every flag.
  [[gnu::noinline]] void add(uint8_t &place) {
    if (values.empty())
      values.reserve(size_t(kUsualPairs) * kMaxFlagIds);
    values.resize(values.size() + kMaxFlagIds);
    place = uint8_t(values.size() / kMaxFlagIds);
  }

  static constexpr int kUsualPairs = 8;
  std::array<uint8_t, size_t(kNumPipes) * kNumPipes> places{}; ///< plus one; 0: not made
  std::vector<T> values;
};

} // namespace tilewright::sim
