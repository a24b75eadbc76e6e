// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/interp/Print.h"

#include <gtest/gtest.h>

#include <limits>

using namespace tilewright::interp;

namespace {

template <class T>
std::string text(Kind kind, const std::vector<T> &data, llvm::ArrayRef<int64_t> sizes) {
  return tensorText(kind, reinterpret_cast<const char *>(data.data()), sizes);
}

TEST(Print, ChoosesOneFormat) {
  EXPECT_EQ(text<float>(Kind::F32, {1, -2, 10}, {3}), "tensor([ 1., -2., 10.])");
  EXPECT_EQ(text<float>(Kind::F32, {1, 0.5f}, {2}), "tensor([1.0000, 0.5000])");
  EXPECT_EQ(text<float>(Kind::F32, {1e-5f, 1}, {2}), "tensor([1.0000e-05, 1.0000e+00])");
  EXPECT_EQ(text<double>(Kind::F64, {1e9, 1}, {2}),
            "tensor([1.0000e+09, 1.0000e+00], dtype=float64)");
}

TEST(Print, SpecialValues) {
  float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(text<float>(Kind::F32, {inf, -inf, std::numeric_limits<float>::quiet_NaN(), 1}, {4}),
            "tensor([ inf, -inf,  nan,   1.])");
  EXPECT_EQ(text<float>(Kind::F32, {0, -0.0f}, {2}), "tensor([ 0., -0.])");
}

TEST(Print, Integers) {
  EXPECT_EQ(text<uint8_t>(Kind::U8, {0, 255}, {2}), "tensor([  0, 255], dtype=uint8)");
  EXPECT_EQ(text<int64_t>(Kind::I64, {-3, 3}, {2, 1}), "tensor([[-3],\n        [ 3]])");
  EXPECT_EQ(text<uint8_t>(Kind::I1, {0, 1}, {2}), "tensor([False,  True])");
}

TEST(Print, Shapes) {
  EXPECT_EQ(text<float>(Kind::F32, {2}, {}), "tensor(2.)");
  EXPECT_EQ(text<float>(Kind::F32, {}, {0}), "tensor([])");
  std::vector<int32_t> many(1001);
  for (int i = 0; i < 1001; ++i)
    many[i] = i;
  EXPECT_EQ(text(Kind::I32, many, {1001}),
            "tensor([   0,    1,    2, ...,  998,  999, 1000], dtype=int32)");
}

TEST(Print, Scalars) {
  Scalar value;
  value.integer = -1;
  EXPECT_EQ(scalarText(Kind::U16, value), "65535");
  EXPECT_EQ(scalarText(Kind::I16, value), "-1");
  value.real = 0.1f;
  EXPECT_EQ(scalarText(Kind::F32, value), "0.1");
}

} // namespace
