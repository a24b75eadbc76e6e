// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/support/Convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace tilewright;
using support::Rounding;

namespace {

const double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

bool sameBits(float a, float b) { return support::bitsOf(a) == support::bitsOf(b); }

TEST(Half, WideningMatchesTheCompilersHalf) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    uint16_t h = uint16_t(bits);
    _Float16 native;
    std::memcpy(&native, &h, 2);
    EXPECT_TRUE(sameBits(support::halfToFloat(h), float(native))) << bits;
  }
}

TEST(Half, NarrowingMatchesTheCompilersHalf) {
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += 251) {
    float x = support::floatOfBits(uint32_t(bits));
    _Float16 native = _Float16(x);
    uint16_t wanted;
    std::memcpy(&wanted, &native, 2);
    ASSERT_EQ(support::floatToHalf(x), wanted) << x;
  }
}

TEST(Half, NarrowingGoesToTheNearerNeighbour) {
  EXPECT_EQ(support::floatToHalf(65504.0f), 0x7bff);
  EXPECT_EQ(support::floatToHalf(65519.9f), 0x7bff);
  EXPECT_EQ(support::floatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(support::floatToHalf(0x1p-24f), 0x0001);
  EXPECT_EQ(support::floatToHalf(0x1p-25f), 0x0000); // a tie, to even
  EXPECT_EQ(support::floatToHalf(0x1.8p-24f), 0x0002);
}

TEST(Bfloat, RoundTripAndTies) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    uint16_t b = uint16_t(bits);
    bool isNan = (b & 0x7fff) > 0x7f80;
    EXPECT_EQ(support::floatToBfloat(support::bfloatToFloat(b)), isNan ? b | 0x40 : b);
  }
  EXPECT_EQ(support::floatToBfloat(support::floatOfBits(0x3f808000)), 0x3f80); // tie to even
  EXPECT_EQ(support::floatToBfloat(support::floatOfBits(0x3f818000)), 0x3f82);
  EXPECT_EQ(support::floatToBfloat(3.4e38f), 0x7f80);
  EXPECT_TRUE(
      std::isnan(support::bfloatToFloat(support::floatToBfloat(support::floatOfBits(0x7f800001)))));
}

TEST(Convert, DoubleToHalfRoundsOnce) {
  // Just above the tie between two halves: rounding to f32 first would lose what breaks the tie.
  double tie = 1.0 + 0x1p-11;
  EXPECT_EQ(support::doubleToHalf(tie), 0x3c00);
  EXPECT_EQ(support::doubleToHalf(tie + 0x1p-40), 0x3c01);
  EXPECT_EQ(support::doubleToBfloat(1.0 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(support::doubleToHalf(1e300), 0x7c00);
  EXPECT_EQ(support::doubleToHalf(-1e-300), 0x8000);
  EXPECT_TRUE(std::isnan(support::halfToFloat(support::doubleToHalf(kNan))));
}

TEST(Convert, FloatToIntegerSaturatesAndNanIsZero) {
  EXPECT_EQ(support::toInteger<int32_t>(2.9f), 2);
  EXPECT_EQ(support::toInteger<int32_t>(-2.9f), -2);
  EXPECT_EQ(support::toInteger<int32_t>(3e9f), INT32_MAX);
  EXPECT_EQ(support::toInteger<int32_t>(-3e9f), INT32_MIN);
  EXPECT_EQ(support::toInteger<int8_t>(200.0f), 127);
  EXPECT_EQ(support::toInteger<int8_t>(-200.0f), -128);
  EXPECT_EQ(support::toInteger<uint8_t>(-1.0f), 0);
  EXPECT_EQ(support::toInteger<uint8_t>(300.0f), 255);
  EXPECT_EQ(support::toInteger<int64_t>(kInf), INT64_MAX);
  EXPECT_EQ(support::toInteger<int64_t>(-kInf), INT64_MIN);
  EXPECT_EQ(support::toInteger<uint64_t>(1e30), UINT64_MAX);
  EXPECT_EQ(support::toInteger<uint64_t>(0x1p63), uint64_t(1) << 63);
  EXPECT_EQ(support::toInteger<int32_t>(float(kNan)), 0);
}

TEST(Convert, RoundingModes) {
  struct {
    Rounding mode;
    int32_t results[4]; // of -2.5, -0.3, 1.5, 2.5
  } rows[] = {{Rounding::Rint, {-2, 0, 2, 2}},  {Rounding::Floor, {-3, -1, 1, 2}},
              {Rounding::Ceil, {-2, 0, 2, 3}},  {Rounding::Round, {-3, 0, 2, 3}},
              {Rounding::Trunc, {-2, 0, 1, 2}}, {Rounding::Odd, {-2, 0, 1, 2}}};
  const float inputs[] = {-2.5f, -0.3f, 1.5f, 2.5f};
  for (const auto &row : rows)
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(support::toInteger<int32_t>(inputs[i], row.mode), row.results[i])
          << int(row.mode) << ' ' << i;
}

TEST(Convert, NarrowingModesBracketTheValue) {
  std::mt19937 random(5);
  for (int i = 0; i < 200000; ++i) {
    double x = support::floatOfBits(random());
    if (!std::isfinite(x))
      continue;
    double down = support::halfToFloat(support::narrowToHalf(x, Rounding::Floor));
    double up = support::halfToFloat(support::narrowToHalf(x, Rounding::Ceil));
    double zero = support::halfToFloat(support::narrowToHalf(x, Rounding::Trunc));
    double nearest = support::halfToFloat(support::narrowToHalf(x, Rounding::Rint));
    uint16_t odd = support::narrowToHalf(x, Rounding::Odd);
    ASSERT_LE(down, x);
    ASSERT_GE(up, x);
    ASSERT_EQ(zero, x < 0 ? up : down);
    ASSERT_TRUE(nearest == up || nearest == down);
    ASSERT_TRUE(down == up || (odd & 1));
    ASSERT_TRUE(std::isinf(up) || std::isinf(down) || down == up ||
                std::nextafter(float(down), 1e9f) <= float(up));
  }
  EXPECT_EQ(support::narrowToHalf(1.0 + 0x1p-11, Rounding::Round), 0x3c01);
  EXPECT_EQ(support::narrowToHalf(-1.0 - 0x1p-11, Rounding::Round), 0xbc01);
  EXPECT_EQ(support::narrowToHalf(1e9, Rounding::Trunc), 0x7bff);
  EXPECT_EQ(support::narrowToFloat(1.0 + 0x1p-24, Rounding::Round), 1.0f + 0x1p-23f);
}

} // namespace
