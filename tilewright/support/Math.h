// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/support/Half.h"

#include <cmath>
#include <cstdint>
#include <type_traits>

/// Elementary functions and arithmetic, each as one fixed operation sequence, so that the reference
/// interpreter and the vector kernels give the same bits on every machine.
///
/// Float (f32) functions are branch-free, made of IEEE operations and fused multiply-adds alone,
/// and vectorise; against the exact value they are within 2 ulp (sigmoid 3). Values
/// of f16 and bf16 are widened to f32, computed here and rounded once by the caller. The double
/// overloads call the C library: f64 tiles are rare, and only there may two C libraries differ in
/// the last bit.
///
/// Which NaN (sign, payload) an operation returns is unspecified; that it is one is not.
namespace tilewright::support {

namespace math_detail {

TILEWRIGHT_INLINE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
TILEWRIGHT_INLINE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

inline constexpr float kInf = __builtin_inff();
inline constexpr float kNan = __builtin_nanf("");

/// Horner's scheme with fused steps; coefficients from the highest power down.
template <class T>
TILEWRIGHT_INLINE T poly(T, T c) {
  return c;
}
template <class T, class... Rest>
TILEWRIGHT_INLINE T poly(T x, T high, T next, Rest... rest) {
  return poly(x, fma(high, x, next), rest...);
}

/// An integral float n (|n| < 2^22) made by adding 1.5 * 2^23 and taking it away again: the sum's
/// low bits are the integer, without a conversion that NaN would make undefined.
struct Integral {
  float value;
  int32_t integer;
};
TILEWRIGHT_INLINE Integral integral(float shifted) {
  return {shifted - 0x1.8p23f, int32_t(bitsOf(shifted) - 0x4b400000u)};
}

/// p * 2^n for -252 <= n <= 254, rounded once: the first factor is exact for p near 1.
TILEWRIGHT_INLINE float scale(float p, int32_t n) {
  int32_t half = n >> 1;
  float a = floatOfBits(uint32_t(half + 127) << 23);
  float b = floatOfBits(uint32_t(n - half + 127) << 23);
  return p * a * b;
}

/// e^(r + low) for |r| <= ln(2)/2 and low far below r's last place. What 1 + r rounds away is added
/// to the small terms.
TILEWRIGHT_INLINE float expNear(float r, float low) {
  float q =
      poly(r, 0x1.6a4154p-10f, 0x1.1239c6p-7f, 0x1.5558bcp-5f, 0x1.555492p-3f, 0x1.fffffcp-2f);
  float sum = 1.0f + r;
  float rest = (1.0f - sum) + r + low;
  return sum + fma(r * r, q, rest);
}

/// x = 2^e * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for positive finite x. Others:
/// unspecified.
struct LogParts {
  float e, f;
};
TILEWRIGHT_INLINE LogParts splitForLog(float x) {
  bool tiny = x < 0x1p-126f;
  float scaled = tiny ? x * 0x1p23f : x;
  uint32_t bits = bitsOf(scaled) + (0x3f800000u - 0x3f3504f3u);
  float e = float(int32_t(bits >> 23) - 127) - (tiny ? 23.0f : 0.0f);
  float m = floatOfBits((bits & 0x007fffffu) + 0x3f3504f3u);
  return {e, m - 1.0f};
}

/// log(2^e (1 + f)) + extra, where extra is small beside f.
TILEWRIGHT_INLINE float logOf(LogParts p, float extra) {
  float z = p.f * p.f;
  float q = poly(p.f, 0x1.147dd0p-4f, -0x1.de2584p-4f, 0x1.e6cda8p-4f, -0x1.fc24b4p-4f,
                 0x1.233aacp-3f, -0x1.555c52p-3f, 0x1.99a47ep-3f, -0x1.000006p-2f, 0x1.555548p-2f);
  float y = fma(p.e, -0x1.05c610p-29f, p.f * z * q);
  y = fma(-0.5f, z, y) + extra;
  return fma(p.e, 0x1.62e430p-1f, p.f + y);
}

/// What a logarithm gives for arguments that are not positive and finite.
TILEWRIGHT_INLINE float logSpecial(float x, float result) {
  result = x == 0.0f ? -kInf : result;
  result = x == kInf ? kInf : result;
  return x >= 0.0f ? result : kNan;
}

/// log(1 + f) in double, f as splitForLog gives it; relative error below 1e-13.
TILEWRIGHT_INLINE double log1pWide(float f) {
  double s = double(f) / (2.0 + double(f));
  double z = s * s;
  double q = poly(z, 2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3);
  return fma(s * z, q, s + s);
}

/// 2^y in double for |y| <= 1000, relative error below 1e-12.
TILEWRIGHT_INLINE double exp2Wide(double y) {
  double shifted = y + 0x1.8p52;
  double n = shifted - 0x1.8p52;
  double r = (y - n) * 0x1.62e42fefa39efp-1;
  double p = poly(r, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                  1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0);
  uint64_t exponent = bitsOf(shifted) - bitsOf(0x1.8p52) + 1023;
  return p * doubleOfBits(exponent << 52);
}

/// An angle as quarter turns plus a rest r, |r| <= pi/4.
struct Angle {
  double r;
  uint64_t quarter;
};

/// From here on an angle is reduced with all the bits of 2/pi it needs.
inline constexpr float kHugeAngle = 0x1p28f;
TILEWRIGHT_INLINE bool isHugeAngle(float x) {
  return __builtin_fabsf(x) >= kHugeAngle && __builtin_fabsf(x) < kInf;
}

TILEWRIGHT_INLINE Angle reduceAngle(float angle) {
  double x = angle;
  double shifted = fma(x, 0x1.45f306dc9c883p-1, 0x1.8p52);
  double n = shifted - 0x1.8p52;
  double r = fma(-n, 0x1.921fb54442d18p+0, x);
  return {fma(-n, 0x1.1a62633145c07p-54, r), bitsOf(shifted)};
}

/// The same for 2^28 <= |x| < inf: x = m 2^e, and m times a window of 2/pi in fixed point, modulo
/// four quarter turns.
TILEWRIGHT_INLINE Angle reduceHugeAngle(float x) {
  constexpr uint64_t kTwoOverPi[5] = {0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u,
                                      0xfe5163abdebbc561u, 0xb7246e3a424dd2e0u};
  uint32_t bits = bitsOf(x) & 0x7fffffffu;
  uint32_t start = (bits >> 23) - 150 - 2;
  uint64_t mantissa = (bits & 0x007fffffu) | 0x00800000u;
  uint32_t word = start / 64, shift = start % 64;
  auto window = [&](uint32_t i) {
    return shift ? kTwoOverPi[i] << shift | kTwoOverPi[i + 1] >> (64 - shift) : kTwoOverPi[i];
  };
  unsigned __int128 turn = (unsigned __int128)(window(word)) << 64 | window(word + 1);
  turn *= mantissa;
  uint64_t high = uint64_t(turn >> 64);
  uint64_t quarter = (high + (uint64_t(1) << 61)) >> 62;
  double r = double(int64_t(high - (quarter << 62))) * 0x1p-62 * 0x1.921fb54442d18p+0;
  bool negative = x < 0;
  return {negative ? -r : r, negative ? -quarter : quarter};
}

TILEWRIGHT_INLINE double sinNear(double r) {
  double z = r * r;
  double q =
      poly(z, 1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6);
  return fma(r * z, q, r);
}
TILEWRIGHT_INLINE double cosNear(double r) {
  double z = r * r;
  double q = poly(z, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720,
                  1.0 / 24, -0.5);
  return fma(z, q, 1.0);
}

TILEWRIGHT_INLINE float sinOf(Angle a) {
  double v = (a.quarter & 1) ? cosNear(a.r) : sinNear(a.r);
  return float((a.quarter & 2) ? -v : v);
}
TILEWRIGHT_INLINE float cosOf(Angle a) { return sinOf({a.r, a.quarter + 1}); }
TILEWRIGHT_INLINE float tanOf(Angle a) {
  double s = sinNear(a.r), c = cosNear(a.r);
  return float((a.quarter & 1) ? -c / s : s / c);
}

} // namespace math_detail

//===-- Rounding and signs --------------------------------------------------------------------===//

TILEWRIGHT_INLINE float floor(float x) { return __builtin_floorf(x); }
TILEWRIGHT_INLINE double floor(double x) { return __builtin_floor(x); }
TILEWRIGHT_INLINE float ceil(float x) { return __builtin_ceilf(x); }
TILEWRIGHT_INLINE double ceil(double x) { return __builtin_ceil(x); }
TILEWRIGHT_INLINE float trunc(float x) { return __builtin_truncf(x); }
TILEWRIGHT_INLINE double trunc(double x) { return __builtin_trunc(x); }
/// Half to even.
TILEWRIGHT_INLINE float rint(float x) { return __builtin_rintf(x); }
TILEWRIGHT_INLINE double rint(double x) { return __builtin_rint(x); }
/// Half away from zero.
TILEWRIGHT_INLINE float round(float x) { return __builtin_roundf(x); }
TILEWRIGHT_INLINE double round(double x) { return __builtin_round(x); }

TILEWRIGHT_INLINE float neg(float x) { return -x; }
TILEWRIGHT_INLINE double neg(double x) { return -x; }
TILEWRIGHT_INLINE float abs(float x) { return __builtin_fabsf(x); }
TILEWRIGHT_INLINE double abs(double x) { return __builtin_fabs(x); }

/// 0 for negative numbers and both zeros; NaN stays.
template <class T>
TILEWRIGHT_INLINE T relu(T x) {
  return x <= T(0) ? T(0) : x;
}
template <class T>
TILEWRIGHT_INLINE bool isNan(T x) {
  return x != x;
}
TILEWRIGHT_INLINE bool isInf(float x) { return abs(x) == __builtin_inff(); }
TILEWRIGHT_INLINE bool isInf(double x) { return abs(x) == __builtin_inf(); }
TILEWRIGHT_INLINE bool isFinite(float x) { return abs(x) < __builtin_inff(); }
TILEWRIGHT_INLINE bool isFinite(double x) { return abs(x) < __builtin_inf(); }

//===-- Powers and logarithms -----------------------------------------------------------------===//

TILEWRIGHT_INLINE float exp(float x) {
  using namespace math_detail;
  float c = x > 89.0f ? 89.0f : x;
  c = c < -104.0f ? -104.0f : c;
  Integral n = integral(fma(c, 0x1.715476p+0f, 0x1.8p23f));
  float high = fma(n.value, -0x1.62e430p-1f, c); // exact
  float r = fma(n.value, 0x1.05c610p-29f, high);
  float low = fma(n.value, 0x1.05c610p-29f, high - r);
  return scale(expNear(r, low), n.integer);
}

TILEWRIGHT_INLINE float exp2(float x) {
  using namespace math_detail;
  float c = x > 129.0f ? 129.0f : x;
  c = c < -151.0f ? -151.0f : c;
  Integral n = integral(c + 0x1.8p23f);
  float r = c - n.value;
  float q = poly(r, 0x1.416f1ep-13f, 0x1.5f09a4p-10f, 0x1.3b2ddep-7f, 0x1.c6af7ap-5f,
                 0x1.ebfbdcp-3f, 0x1.62e430p-1f);
  return scale(fma(r, q, 1.0f), n.integer);
}

TILEWRIGHT_INLINE float exp10(float x) {
  using namespace math_detail;
  float c = x > 39.0f ? 39.0f : x;
  c = c < -46.0f ? -46.0f : c;
  Integral n = integral(fma(c, 0x1.a934f0p+1f, 0x1.8p23f));
  float r = fma(n.value, -0x1.344136p-2f, c);
  r = fma(n.value, 0x1.ec10c0p-27f, r);
  return scale(expNear(r * 0x1.26bb1cp+1f, 0.0f), n.integer);
}

TILEWRIGHT_INLINE float log(float x) {
  using namespace math_detail;
  return logSpecial(x, logOf(splitForLog(x), 0.0f));
}

TILEWRIGHT_INLINE float log1p(float x) {
  using namespace math_detail;
  float u = 1.0f + x;
  float lost = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x);
  float result = logSpecial(u, logOf(splitForLog(u), lost / u));
  return x == 0.0f ? x : result;
}

TILEWRIGHT_INLINE float log2(float x) {
  using namespace math_detail;
  LogParts p = splitForLog(x);
  return logSpecial(x, float(fma(log1pWide(p.f), 0x1.71547652b82fep+0, double(p.e))));
}

TILEWRIGHT_INLINE float log10(float x) {
  using namespace math_detail;
  LogParts p = splitForLog(x);
  double tail = log1pWide(p.f) * 0x1.bcb7b1526e50ep-2;
  return logSpecial(x, float(fma(double(p.e), 0x1.34413509f79ffp-2, tail)));
}

/// Correctly rounded.
#if __has_builtin(__builtin_elementwise_sqrt)
TILEWRIGHT_INLINE float sqrt(float x) { return __builtin_elementwise_sqrt(x); }
TILEWRIGHT_INLINE double sqrt(double x) { return __builtin_elementwise_sqrt(x); }
#else
TILEWRIGHT_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
TILEWRIGHT_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
#endif
template <class T>
TILEWRIGHT_INLINE T rec(T x) {
  return T(1) / x;
}
/// 1 / sqrt(x), each rounded.
template <class T>
TILEWRIGHT_INLINE T rsqrt(T x) {
  return T(1) / sqrt(x);
}

/// x to the power y, with the special values of IEEE 754's pow.
TILEWRIGHT_INLINE float pow(float x, float y) {
  using namespace math_detail;
  float ax = abs(x);
  LogParts p = splitForLog(ax);
  double l = fma(log1pWide(p.f), 0x1.71547652b82fep+0, double(p.e));
  l = ax == 0.0f ? -__builtin_inf() : l;
  l = ax == kInf ? __builtin_inf() : l;
  double t = l == 0.0 ? 0.0 : double(y) * l;
  t = t > 200.0 ? 200.0 : t;
  t = t < -200.0 ? -200.0 : t;
  float r = float(exp2Wide(t));
  bool negative = (bitsOf(x) >> 31) != 0;
  bool whole = rint(y) == y;
  float half = y * 0.5f;
  bool odd = whole && abs(y) < 0x1p24f && rint(half) != half;
  r = negative && odd ? -r : r;
  r = x < 0.0f && ax < kInf && !whole ? kNan : r;
  r = x != x || y != y ? kNan : r;
  return y == 0.0f || x == 1.0f ? 1.0f : r;
}

//===-- Angles
//---------------------------------------------------------------------------------===//
//
// Each function is `isHugeAngle(x) ? xHuge(x) : xFast(x)`; kernels run the fast part over a row and
// repair the rare huge angles after.

TILEWRIGHT_INLINE float sinFast(float x) {
  float v = math_detail::sinOf(math_detail::reduceAngle(x));
  return x == 0.0f ? x : v;
}
TILEWRIGHT_INLINE float cosFast(float x) { return math_detail::cosOf(math_detail::reduceAngle(x)); }
TILEWRIGHT_INLINE float tanFast(float x) {
  float v = math_detail::tanOf(math_detail::reduceAngle(x));
  return x == 0.0f ? x : v;
}
TILEWRIGHT_INLINE float sinHuge(float x) {
  return math_detail::sinOf(math_detail::reduceHugeAngle(x));
}
TILEWRIGHT_INLINE float cosHuge(float x) {
  return math_detail::cosOf(math_detail::reduceHugeAngle(x));
}
TILEWRIGHT_INLINE float tanHuge(float x) {
  return math_detail::tanOf(math_detail::reduceHugeAngle(x));
}

TILEWRIGHT_INLINE float sin(float x) {
  return math_detail::isHugeAngle(x) ? sinHuge(x) : sinFast(x);
}
TILEWRIGHT_INLINE float cos(float x) {
  return math_detail::isHugeAngle(x) ? cosHuge(x) : cosFast(x);
}
TILEWRIGHT_INLINE float tan(float x) {
  return math_detail::isHugeAngle(x) ? tanHuge(x) : tanFast(x);
}

//===-- Sigmoids
//-------------------------------------------------------------------------------===//

TILEWRIGHT_INLINE float tanh(float x) {
  using namespace math_detail;
  float ax = abs(x);
  float z = x * x;
  float q =
      poly(z, -0x1.734ee8p-8f, 0x1.519718p-6f, -0x1.b826fep-5f, 0x1.110688p-3f, -0x1.555530p-2f);
  float near = fma(x * z, q, x);
  float far = 1.0f - 2.0f / (exp(ax + ax) + 1.0f);
  return __builtin_copysignf(ax < 0.625f ? near : far, x);
}

TILEWRIGHT_INLINE float sigmoid(float x) {
  float e = exp(-abs(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

TILEWRIGHT_INLINE float erf(float x) {
  using namespace math_detail;
  float ax = abs(x);
  float z = x * x;
  float q = poly(z, -0x1.38742ep-11f, 0x1.46d9e4p-8f, -0x1.b67c04p-6f, 0x1.ce1986p-4f,
                 -0x1.8126e2p-2f, 0x1.06eba6p-3f);
  float near = fma(x, q, x);
  float t = ax > 4.0f ? 4.0f : ax;
  float g = poly(t, -0x1.428cd6p-18f, 0x1.710a7cp-15f, 0x1.e2f1d0p-15f, -0x1.82e8d6p-9f,
                 0x1.740f3cp-6f, -0x1.af49b0p-4f, -0x1.456e8cp-1f, -0x1.20e8fep+0f);
  float far = 1.0f - exp(t * g);
  return ax < 0.925f ? near : __builtin_copysignf(far, x);
}

//===-- Double: the C library
//-------------------------------------------------------------------===//

TILEWRIGHT_INLINE double exp(double x) { return __builtin_exp(x); }
TILEWRIGHT_INLINE double exp2(double x) { return __builtin_exp2(x); }
TILEWRIGHT_INLINE double exp10(double x) { return __builtin_pow(10.0, x); }
TILEWRIGHT_INLINE double log(double x) { return __builtin_log(x); }
TILEWRIGHT_INLINE double log1p(double x) { return __builtin_log1p(x); }
TILEWRIGHT_INLINE double log2(double x) { return __builtin_log2(x); }
TILEWRIGHT_INLINE double log10(double x) { return __builtin_log10(x); }
TILEWRIGHT_INLINE double sin(double x) { return __builtin_sin(x); }
TILEWRIGHT_INLINE double cos(double x) { return __builtin_cos(x); }
TILEWRIGHT_INLINE double tan(double x) { return __builtin_tan(x); }
TILEWRIGHT_INLINE double tanh(double x) { return __builtin_tanh(x); }
TILEWRIGHT_INLINE double erf(double x) { return __builtin_erf(x); }
TILEWRIGHT_INLINE double pow(double x, double y) { return __builtin_pow(x, y); }
TILEWRIGHT_INLINE double sigmoid(double x) {
  double e = exp(-abs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

//===-- Two operands
//---------------------------------------------------------------------------===//

/// The larger; NaN if either is NaN. Of two equal operands (also +0 and -0) the second.
template <class T>
TILEWRIGHT_INLINE T maxOf(T a, T b) {
  return a > b || a != a ? a : b;
}
template <class T>
TILEWRIGHT_INLINE T minOf(T a, T b) {
  return a < b || a != a ? a : b;
}
/// The larger; a NaN operand loses. Of two equal operands the first.
template <class T>
TILEWRIGHT_INLINE T maxNum(T a, T b) {
  return b > a || a != a ? b : a;
}
template <class T>
TILEWRIGHT_INLINE T minNum(T a, T b) {
  return b < a || a != a ? b : a;
}

/// The remainder of a / b rounded toward zero; exact.
TILEWRIGHT_INLINE float remainder(float a, float b) { return __builtin_fmodf(a, b); }
TILEWRIGHT_INLINE double remainder(double a, double b) { return __builtin_fmod(a, b); }

/// Python's % on floats: the sign of b.
template <class T>
  requires std::is_floating_point_v<T>
TILEWRIGHT_INLINE T floorMod(T a, T b) {
  T r = remainder(a, b);
  if (r == T(0))
    return b < T(0) ? T(-0.0) : T(0);
  return (r < T(0)) != (b < T(0)) ? r + b : r;
}

/// Python's // on floats: the floor of the exact quotient.
template <class T>
  requires std::is_floating_point_v<T>
TILEWRIGHT_INLINE T floorDiv(T a, T b) {
  if (b == T(0))
    return a / b;
  T r = remainder(a, b);
  T quotient = (a - r) / b;
  quotient = r != T(0) && (r < T(0)) != (b < T(0)) ? quotient - T(1) : quotient;
  T down = floor(quotient);
  return quotient - down > T(0.5) ? down + T(1) : down;
}

//===-- Integers: wrap in their own width, never trap
//------------------------------------------===//

template <class T>
concept Integer = std::is_integral_v<T>;

template <Integer T>
using UnsignedOf = std::make_unsigned_t<T>;

template <Integer T>
TILEWRIGHT_INLINE T addWrap(T a, T b) {
  return T(UnsignedOf<T>(a) + UnsignedOf<T>(b));
}
template <Integer T>
TILEWRIGHT_INLINE T subWrap(T a, T b) {
  return T(UnsignedOf<T>(a) - UnsignedOf<T>(b));
}
template <Integer T>
TILEWRIGHT_INLINE T mulWrap(T a, T b) {
  return T(UnsignedOf<T>(uint64_t(UnsignedOf<T>(a)) * UnsignedOf<T>(b)));
}
template <Integer T>
TILEWRIGHT_INLINE T negWrap(T a) {
  return subWrap(T(0), a);
}
template <Integer T>
TILEWRIGHT_INLINE T absWrap(T a) {
  return a < T(0) ? negWrap(a) : a;
}

/// a / b toward zero; 0 if b is 0; the smallest value divided by -1 wraps to itself.
template <Integer T>
TILEWRIGHT_INLINE T divTrunc(T a, T b) {
  if (b == T(0))
    return T(0);
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1))
      return negWrap(a);
  return T(a / b);
}
/// a - b * divTrunc(a, b) for b != 0, else 0.
template <Integer T>
TILEWRIGHT_INLINE T remTrunc(T a, T b) {
  if (b == T(0))
    return T(0);
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1))
      return T(0);
  return T(a % b);
}
/// Python's //, and 0 if b is 0.
template <Integer T>
TILEWRIGHT_INLINE T floorDiv(T a, T b) {
  T q = divTrunc(a, b), r = remTrunc(a, b);
  return r != T(0) && (r < T(0)) != (b < T(0)) ? T(q - 1) : q;
}
/// Python's %, and 0 if b is 0.
template <Integer T>
TILEWRIGHT_INLINE T floorMod(T a, T b) {
  T r = remTrunc(a, b);
  return r != T(0) && (r < T(0)) != (b < T(0)) ? T(r + b) : r;
}

/// Shifts by an amount outside [0, width) shift every bit out.
template <Integer T>
TILEWRIGHT_INLINE T shiftLeft(T a, T n) {
  constexpr unsigned kBits = sizeof(T) * 8;
  UnsignedOf<T> amount = UnsignedOf<T>(n);
  return amount < kBits ? T(UnsignedOf<T>(uint64_t(UnsignedOf<T>(a)) << (amount & 63))) : T(0);
}
/// Arithmetic for signed types.
template <Integer T>
TILEWRIGHT_INLINE T shiftRight(T a, T n) {
  constexpr unsigned kBits = sizeof(T) * 8;
  UnsignedOf<T> amount = UnsignedOf<T>(n);
  T all = a < T(0) ? T(-1) : T(0);
  return amount < kBits ? T(a >> (amount & (kBits - 1))) : all;
}

/// a to the power n, wrapping. For negative n what 1 / a^|n| truncates to, and 0 for a = 0.
template <Integer T>
TILEWRIGHT_INLINE T powWrap(T a, T n) {
  if (n < T(0))
    return a == T(1) ? T(1) : (a == T(-1) ? ((n & 1) ? T(-1) : T(1)) : T(0));
  T result = 1;
  for (UnsignedOf<T> left = UnsignedOf<T>(n); left != 0; left = UnsignedOf<T>(left >> 1)) {
    if (left & 1)
      result = mulWrap(result, a);
    a = mulWrap(a, a);
  }
  return result;
}

} // namespace tilewright::support
