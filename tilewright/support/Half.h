// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

/// Functions here are compiled at several instruction set levels; forced inlining keeps a copy made
/// for one level from being linked into code for another.
#define TILEWRIGHT_INLINE [[gnu::always_inline]] inline

/// The 16-bit floats as bit patterns, and their exact conversions. Narrowing rounds half to even
/// and keeps subnormals; a NaN stays a NaN with its sign and upper payload bits, made quiet. These
/// are the bits that F16C, AVX-512 and NEON conversions give.
namespace tilewright::support {

TILEWRIGHT_INLINE uint32_t bitsOf(float x) { return __builtin_bit_cast(uint32_t, x); }
TILEWRIGHT_INLINE uint64_t bitsOf(double x) { return __builtin_bit_cast(uint64_t, x); }
TILEWRIGHT_INLINE float floatOfBits(uint32_t b) { return __builtin_bit_cast(float, b); }
TILEWRIGHT_INLINE double doubleOfBits(uint64_t b) { return __builtin_bit_cast(double, b); }

/// f16 to f32, exact.
TILEWRIGHT_INLINE float halfToFloat(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000u) << 16;
  uint32_t magnitude = h & 0x7fffu;
  // Normal numbers: move the exponent from bias 15 to 127. Subnormals: the mantissa as an integer,
  // scaled by 2^-24, which is exact.
  uint32_t normal = (magnitude << 13) + (112u << 23);
  uint32_t special = (magnitude << 13) | 0x7f800000u | (magnitude > 0x7c00u ? 0x00400000u : 0u);
  uint32_t tiny = bitsOf(float(int32_t(magnitude)) * 0x1p-24f);
  uint32_t bits = magnitude >= 0x7c00u ? special : (magnitude < 0x0400u ? tiny : normal);
  return floatOfBits(bits | sign);
}

/// f32 to f16, half to even; overflow gives infinity.
TILEWRIGHT_INLINE uint16_t floatToHalf(float x) {
  uint32_t bits = bitsOf(x);
  uint32_t sign = (bits >> 16) & 0x8000u;
  uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x03ffu);
  // Normal results: round the low 13 bits away; a carry runs into the exponent as it should.
  uint32_t normal = (magnitude - (112u << 23) + 0x0fffu + ((magnitude >> 13) & 1u)) >> 13;
  // Subnormal results: adding 0.5 lines the f16 mantissa up with the low bits of the f32 one, and
  // the addition itself rounds half to even.
  uint32_t tiny = bitsOf(floatOfBits(magnitude) + 0.5f) - 0x3f000000u;
  uint32_t finite = magnitude < 0x38800000u ? tiny : normal;
  uint32_t result = magnitude > 0x7f800000u ? nan : magnitude >= 0x477ff000u ? 0x7c00u : finite;
  return uint16_t(result | sign);
}

/// bf16 to f32, exact.
TILEWRIGHT_INLINE float bfloatToFloat(uint16_t b) {
  uint32_t bits = uint32_t(b) << 16;
  return floatOfBits((bits & 0x7fffffffu) > 0x7f800000u ? (bits | 0x00400000u) : bits);
}

/// f32 to bf16, half to even; overflow gives infinity.
TILEWRIGHT_INLINE uint16_t floatToBfloat(float x) {
  uint32_t bits = bitsOf(x);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  uint32_t nan = (bits >> 16) | 0x0040u;
  return uint16_t((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

/// x rounded to the values of f16 or bf16, still as f32: what one 16-bit vector operation does to
/// the f32 result it computed.
TILEWRIGHT_INLINE float roundToHalf(float x) { return halfToFloat(floatToHalf(x)); }
TILEWRIGHT_INLINE float roundToBfloat(float x) { return bfloatToFloat(floatToBfloat(x)); }

} // namespace tilewright::support
