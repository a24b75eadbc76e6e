// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/support/Half.h"

/// The 8-bit floats as bit patterns, and their conversions. Widening is exact. Narrowing rounds
/// half to even, keeps subnormals and **saturates**: a number that is too large becomes the
/// greatest finite value, since e4m3fn has no infinity and quantised tensors want none. An infinity
/// stays one where the type has it (e5m2), and a NaN stays a NaN.
namespace tilewright::support {

/// An 8-bit float with `Mantissa` stored bits; `kTop` is its greatest finite magnitude.
template <unsigned Mantissa>
struct Quarter;
template <>
struct Quarter<3> { ///< e4m3fn: bias 7, no infinity, one NaN
  static constexpr unsigned kShift = 20, kBias = 120;
  static constexpr uint8_t kTop = 0x7e, kNan = 0x7f, kInfinity = 0x7f;
};
template <>
struct Quarter<2> { ///< e5m2: bias 15, the upper half of an f16
  static constexpr unsigned kShift = 21, kBias = 112;
  static constexpr uint8_t kTop = 0x7b, kNan = 0x7f, kInfinity = 0x7c;
};

template <unsigned Mantissa>
TILEWRIGHT_INLINE float quarterToFloat(uint8_t b) {
  using Q = Quarter<Mantissa>;
  uint32_t magnitude = b & 0x7fu;
  // The bits at their place in an f32, then the difference of the biases; subnormals come out
  // right, since the product is exact.
  float value = floatOfBits(magnitude << Q::kShift) * floatOfBits((127 + Q::kBias) << 23);
  uint32_t bits = bitsOf(value);
  bits = magnitude == Q::kInfinity && Q::kInfinity != Q::kNan ? 0x7f800000u : bits;
  bits = magnitude > Q::kTop && magnitude != (Q::kInfinity == Q::kNan ? 0u : Q::kInfinity)
             ? 0x7fc00000u
             : bits;
  return floatOfBits(bits | uint32_t(b & 0x80u) << 24);
}

template <unsigned Mantissa>
TILEWRIGHT_INLINE uint8_t floatToQuarter(float x) {
  using Q = Quarter<Mantissa>;
  uint32_t bits = bitsOf(x), magnitude = bits & 0x7fffffffu;
  // Normal results: round the low bits away. Subnormal ones: an addition that lines the mantissa up
  // with the low bits of the sum, and rounds.
  constexpr uint32_t half = (1u << (Q::kShift - 1)) - 1;
  uint32_t normal =
      (magnitude - (Q::kBias << 23) + half + ((magnitude >> Q::kShift) & 1u)) >> Q::kShift;
  constexpr uint32_t magic = (Q::kBias + 1 + Q::kShift) << 23;
  uint32_t tiny = bitsOf(floatOfBits(magnitude) + floatOfBits(magic)) - magic;
  uint32_t finite = magnitude < ((Q::kBias + 1) << 23) ? tiny : normal;
  finite = magnitude >= 0x7f800000u || finite > Q::kTop ? Q::kTop : finite;
  finite = magnitude == 0x7f800000u && Q::kInfinity != Q::kNan ? Q::kInfinity : finite;
  uint32_t result = magnitude > 0x7f800000u ? Q::kNan : finite;
  return uint8_t(result | (bits >> 24 & 0x80u));
}

} // namespace tilewright::support
