// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/support/Half.h"
#include "tilewright/support/Math.h"
#include "tilewright/support/Quarter.h"

#include <cstdint>
#include <limits>
#include <type_traits>

/// Conversions between element types:
///  float to narrower float: half to even unless a mode is asked for; overflow gives infinity, or
///    the greatest finite value of an 8-bit float, which knows half to even only;
///  float to integer: the mode rounds to an integral value (a plain cast truncates), then values
///  out
///    of range saturate and NaN gives 0;
///  integer to integer: wraps; anything to i1: is it non-zero;
///  integer to f32 or f64: half to even; to f16 and bf16: through double, rounded once from there.
namespace tilewright::support {

enum class Rounding : uint8_t {
  Rint,  ///< half to even
  Floor, ///< toward -inf
  Ceil,  ///< toward +inf
  Round, ///< half away from zero
  Trunc, ///< toward zero
  Odd,   ///< float to float: an inexact result gets an odd last bit; to an integer: as Trunc
};

/// x rounded to an integral value, still a float.
template <class T>
TILEWRIGHT_INLINE T roundToIntegral(T x, Rounding mode) {
  switch (mode) {
  case Rounding::Rint:
    return rint(x);
  case Rounding::Floor:
    return floor(x);
  case Rounding::Ceil:
    return ceil(x);
  case Rounding::Round:
    return round(x);
  case Rounding::Trunc:
  case Rounding::Odd:
    break;
  }
  return trunc(x);
}

/// An integral float to an integer type, saturating, NaN to 0.
template <class Int, class Float>
TILEWRIGHT_INLINE Int saturate(Float x) {
  static_assert(std::is_integral_v<Int> && std::is_floating_point_v<Float>);
  // Both ends as floats: `low` is a power of two or zero, `end` the first value too large.
  constexpr int kDigits = std::numeric_limits<Int>::digits;
  constexpr Float end = Float(uint64_t(1) << (kDigits - 1)) * Float(2);
  constexpr Float low = std::is_signed_v<Int> ? -end : Float(0);
  bool inRange = x >= low && x < end;
  Int result = Int(inRange ? x : Float(0));
  result = x >= end ? Int(~uint64_t(0) >> (64 - kDigits)) : result;
  return x < low ? Int(low) : result;
}

/// Float to integer in one step.
template <class Int, class Float>
TILEWRIGHT_INLINE Int toInteger(Float x, Rounding mode = Rounding::Trunc) {
  return saturate<Int>(roundToIntegral(x, mode));
}

/// A 32-bit sum as an 8-bit value: as f32 times `scale`, half to even, saturating.
TILEWRIGHT_INLINE int8_t quantised(int32_t x, float scale) {
  return toInteger<int8_t>(float(x) * scale, Rounding::Rint);
}

/// f64 to f32 with the last bit set if anything was lost: a later rounding to 16 bits is then the
/// same as rounding the double directly.
TILEWRIGHT_INLINE float toFloatOdd(double x) {
  float nearest = float(x);
  double back = nearest;
  uint32_t bits = bitsOf(nearest);
  // Rounded away from zero: step back. Exact, infinite from infinity, and NaN stay.
  bool away = (back < 0 ? -back : back) > (x < 0 ? -x : x);
  bits = away ? bits - 1 : bits;
  bits = back != x && x == x ? bits | 1u : bits;
  return floatOfBits(bits);
}

TILEWRIGHT_INLINE uint16_t doubleToHalf(double x) { return floatToHalf(toFloatOdd(x)); }
TILEWRIGHT_INLINE uint16_t doubleToBfloat(double x) { return floatToBfloat(toFloatOdd(x)); }
template <unsigned Mantissa>
TILEWRIGHT_INLINE uint8_t doubleToQuarter(double x) {
  return floatToQuarter<Mantissa>(toFloatOdd(x));
}

namespace convert_detail {

/// How a narrow float format is reached from double and back.
struct AsHalf {
  using Bits = uint16_t;
  static constexpr Bits kSign = 0x8000;
  TILEWRIGHT_INLINE static Bits nearest(double x) { return doubleToHalf(x); }
  TILEWRIGHT_INLINE static double widen(Bits b) { return halfToFloat(b); }
};
struct AsBfloat {
  using Bits = uint16_t;
  static constexpr Bits kSign = 0x8000;
  TILEWRIGHT_INLINE static Bits nearest(double x) { return doubleToBfloat(x); }
  TILEWRIGHT_INLINE static double widen(Bits b) { return bfloatToFloat(b); }
};
struct AsFloat {
  using Bits = uint32_t;
  static constexpr Bits kSign = 0x80000000u;
  TILEWRIGHT_INLINE static Bits nearest(double x) { return bitsOf(float(x)); }
  TILEWRIGHT_INLINE static double widen(Bits b) { return floatOfBits(b); }
};

/// Rounds to a narrow format in any mode. Works on magnitudes: `down` is the neighbour toward zero.
template <class Format>
TILEWRIGHT_INLINE typename Format::Bits narrow(double x, Rounding mode) {
  using Bits = typename Format::Bits;
  Bits nearest = Format::nearest(x);
  double back = Format::widen(nearest);
  if (mode == Rounding::Rint || back == x || x != x)
    return nearest;
  bool negative = (nearest & Format::kSign) != 0;
  double magnitude = negative ? -x : x, backMagnitude = negative ? -back : back;
  Bits down = backMagnitude > magnitude ? Bits(nearest - 1) : nearest;
  switch (mode) {
  case Rounding::Floor:
    return negative ? Bits(down + 1) : down;
  case Rounding::Ceil:
    return negative ? down : Bits(down + 1);
  case Rounding::Trunc:
    return down;
  case Rounding::Odd:
    return Bits(down | 1);
  case Rounding::Round: {
    double low = Format::widen(Bits(down & ~Format::kSign));
    double high = Format::widen(Bits((down & ~Format::kSign) + 1));
    return magnitude - low == high - magnitude ? Bits(down + 1) : nearest;
  }
  case Rounding::Rint:
    break;
  }
  return nearest;
}

} // namespace convert_detail

/// Narrowing in any mode; Rint gives the same as the plain functions.
TILEWRIGHT_INLINE uint16_t narrowToHalf(double x, Rounding mode) {
  return convert_detail::narrow<convert_detail::AsHalf>(x, mode);
}
TILEWRIGHT_INLINE uint16_t narrowToBfloat(double x, Rounding mode) {
  return convert_detail::narrow<convert_detail::AsBfloat>(x, mode);
}
TILEWRIGHT_INLINE float narrowToFloat(double x, Rounding mode) {
  return floatOfBits(convert_detail::narrow<convert_detail::AsFloat>(x, mode));
}

} // namespace tilewright::support
