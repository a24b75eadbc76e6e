// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/support/Math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

using namespace tilewright;

namespace {

const float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

/// How far `got` is from the exact value, in units of the last place of a float there.
double ulps(float got, double exact) {
  float rounded = float(exact);
  if (std::isnan(rounded) || std::isnan(got))
    return std::isnan(rounded) && std::isnan(got) ? 0 : 1e9;
  if (got == rounded)
    return 0;
  if (std::isinf(rounded) || std::isinf(got))
    return std::fabs(double(std::isinf(got) ? rounded : got)) > 3.4028e38 ? 1 : 1e9;
  int exponent;
  std::frexp(exact, &exponent);
  return std::fabs(double(got) - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

/// The largest error over a sample of all floats, NaNs and infinities among them.
template <class Got, class Exact>
double worst(Got got, Exact exact) {
  double result = 0;
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += 4093) {
    float x = support::floatOfBits(uint32_t(bits));
    result = std::max(result, ulps(got(x), exact(double(x))));
  }
  return result;
}

#define EXPECT_WORST(limit, fn, exact)                                                             \
  EXPECT_LE(worst([](float x) { return support::fn(x); }, [](double x) { return exact; }), limit)

TEST(Math, Exponentials) {
  EXPECT_WORST(0.8, exp, std::exp(x));
  EXPECT_WORST(1.0, exp2, std::exp2(x));
  EXPECT_WORST(1.3, exp10, std::pow(10.0, x));
}

TEST(Math, Logarithms) {
  EXPECT_WORST(1.0, log, std::log(x));
  EXPECT_WORST(1.2, log1p, std::log1p(x));
  EXPECT_WORST(0.6, log2, std::log2(x));
  EXPECT_WORST(0.6, log10, std::log10(x));
}

TEST(Math, Angles) {
  EXPECT_WORST(0.6, sin, std::sin(x));
  EXPECT_WORST(0.6, cos, std::cos(x));
  EXPECT_WORST(0.6, tan, std::tan(x));
}

TEST(Math, Sigmoids) {
  EXPECT_WORST(1.5, tanh, std::tanh(x));
  EXPECT_WORST(2.6, sigmoid, 1 / (1 + std::exp(-x)));
  EXPECT_WORST(1.3, erf, std::erf(x));
}

TEST(Math, Roots) {
  EXPECT_WORST(0.0, sqrt, std::sqrt(x));
  EXPECT_WORST(1.6, rsqrt, 1 / std::sqrt(x));
  EXPECT_WORST(0.6, rec, 1 / x);
}

TEST(Math, Pow) {
  std::mt19937 random(3);
  double result = 0;
  for (int i = 0; i < 300000; ++i) {
    float x = support::floatOfBits(random()), y = support::floatOfBits(random());
    if (i % 2) {
      x = std::exp(std::normal_distribution<float>(0, 3)(random)) * (i % 4 == 1 ? -1.0f : 1.0f);
      y = std::normal_distribution<float>(0, 10)(random);
      y = i % 3 ? std::rint(y) : y;
    }
    result = std::max(result, ulps(support::pow(x, y), std::pow(double(x), double(y))));
  }
  EXPECT_LE(result, 0.6);
}

TEST(Math, PowSpecialValues) {
  const float values[] = {0.0f, -0.0f, 1,     -1, kInf, -kInf, kNan,   2,
                          -2,   0.5f,  -0.5f, 3,  -3,   1e30f, -1e30f, 1e-40f};
  for (float x : values)
    for (float y : values) {
      float got = support::pow(x, y), wanted = std::pow(x, y);
      if (std::isnan(wanted)) {
        EXPECT_TRUE(std::isnan(got)) << x << " ^ " << y;
        continue;
      }
      EXPECT_EQ(got, wanted) << x << " ^ " << y;
      EXPECT_EQ(std::signbit(got), std::signbit(wanted)) << x << " ^ " << y;
    }
}

TEST(Math, ZerosKeepTheirSign) {
  for (float (*fn)(float) :
       {+[](float x) { return support::sin(x); }, +[](float x) { return support::tan(x); },
        +[](float x) { return support::tanh(x); }, +[](float x) { return support::erf(x); },
        +[](float x) { return support::log1p(x); }, +[](float x) { return support::sqrt(x); }}) {
    EXPECT_TRUE(std::signbit(fn(-0.0f)));
    EXPECT_FALSE(std::signbit(fn(0.0f)));
  }
}

TEST(Math, MaximaAndNan) {
  EXPECT_TRUE(std::isnan(support::maxOf(kNan, 1.0f)));
  EXPECT_TRUE(std::isnan(support::maxOf(1.0f, kNan)));
  EXPECT_TRUE(std::isnan(support::minOf(kNan, 1.0f)));
  EXPECT_EQ(support::maxNum(kNan, 1.0f), 1.0f);
  EXPECT_EQ(support::maxNum(1.0f, kNan), 1.0f);
  EXPECT_EQ(support::minNum(1.0f, kNan), 1.0f);
  EXPECT_TRUE(std::isnan(support::relu(kNan)));
  EXPECT_EQ(support::relu(-3.0f), 0.0f);
}

TEST(Math, FloatFloorDivisionIsPythons) {
  EXPECT_EQ(support::floorDiv(7.0f, 2.0f), 3.0f);
  EXPECT_EQ(support::floorDiv(-7.0f, 2.0f), -4.0f);
  EXPECT_EQ(support::floorMod(-7.0f, 2.0f), 1.0f);
  EXPECT_EQ(support::floorMod(7.0f, -2.0f), -1.0f);
  EXPECT_EQ(support::floorDiv(1.0f, 0.1f), 9.0f); // 0.1f is a little more than a tenth
}

TEST(Math, IntegersNeverTrap) {
  EXPECT_EQ(support::divTrunc<int32_t>(5, 0), 0);
  EXPECT_EQ(support::remTrunc<int32_t>(5, 0), 0);
  EXPECT_EQ(support::divTrunc<int32_t>(INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(support::remTrunc<int64_t>(INT64_MIN, -1), 0);
  EXPECT_EQ(support::floorDiv<int64_t>(INT64_MIN, 2), INT64_MIN / 2);
  EXPECT_EQ(support::floorDiv<int32_t>(-7, 2), -4);
  EXPECT_EQ(support::floorMod<int32_t>(-7, 2), 1);
  EXPECT_EQ(support::floorMod<int32_t>(7, -2), -1);
  EXPECT_EQ(support::floorDiv<uint64_t>(UINT64_MAX, 2), UINT64_MAX / 2);
  EXPECT_EQ(support::shiftLeft<int32_t>(1, 40), 0);
  EXPECT_EQ(support::shiftRight<int32_t>(-8, 40), -1);
  EXPECT_EQ(support::shiftRight<uint32_t>(8, 40), 0u);
  EXPECT_EQ(support::powWrap<int32_t>(3, 4), 81);
  EXPECT_EQ(support::powWrap<int32_t>(-1, -3), -1);
  EXPECT_EQ(support::powWrap<int32_t>(2, -1), 0);
  EXPECT_EQ(support::absWrap<int8_t>(-128), -128);
}

} // namespace
