// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/Kernels.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

/// Tile instructions by their definition, one element after the other, and random ones to try.
namespace tilewright::sim::testing {

/// Memory that all operands of one instruction lie in.
using Arena = std::vector<std::byte>;

/// An operand as an offset into an arena.
struct Place {
  int64_t offset = 0; ///< bytes
  DType type = DType::F32;
  std::vector<int64_t> sizes, strides;
};

/// An instruction over one arena.
struct Case {
  TileOp op = TileOp::Copy;
  uint16_t fn = 0;
  uint8_t flags = 0;
  RoundMode round = RoundMode::Rint;
  std::vector<Place> operands;
  std::vector<int64_t> scalars;

  ResolvedOp resolve(Arena &arena) const;
};

/// Carries the case out on `arena`, with all sources read from a copy made first.
void reference(const Case &c, Arena &arena);

/// Makes every NaN of the destination the same NaN: which one an operation gives is unspecified.
void forgetNans(const Case &c, Arena &arena);

std::string describe(const Case &c);

int64_t bytesOf(DType type);
bool isFloatType(DType type);

/// Draws cases and memory contents.
class Generator {
public:
  explicit Generator(uint32_t seed) : random(seed) {}

  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  bool chance(int percent) { return between(1, 100) <= percent; }

  /// Sizes of a box: mostly small, sometimes with a long inner dim.
  std::vector<int64_t> box(int maxRank, int64_t maxElements);
  /// A row-major place with padding, possibly permuted; `repeat` lets dims be broadcast. Placed
  /// after what was placed before.
  Place place(DType type, const std::vector<int64_t> &sizes, bool repeat);
  /// With some probability moves a source onto or near the destination.
  void maybeOverlap(const Place &dst, Place &src);
  /// Values of a type: ordinary ones, specials, small integers.
  int64_t scalar(DType type);
  void fill(const Place &place, Arena &arena);
  /// An arena big enough for everything placed, with random bytes.
  Arena arena();
  void reset() { used = 0; }

  int tamePercent = 50; ///< how many tiles hold ordinary numbers alone

private:
  double value();

  std::mt19937 random;
  int64_t used = 0;
  bool tame = false;
};

} // namespace tilewright::sim::testing
