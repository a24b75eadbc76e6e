// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mmad against a chain of fused multiply-adds per element, on every instruction set level.
#include "kernels_reference.h"

#include "tilewright/support/Convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace tilewright;
using namespace tilewright::sim;
using namespace tilewright::sim::testing;

namespace {

float floatAt(const ResolvedView &view, int64_t i, int64_t j) {
  const std::byte *at =
      view.data + (i * view.strides[0] + j * view.strides[1]) * bytesOf(view.type);
  uint16_t half;
  float value;
  switch (view.type) {
  case DType::F16:
    std::memcpy(&half, at, 2);
    return support::halfToFloat(half);
  case DType::BF16:
    std::memcpy(&half, at, 2);
    return support::bfloatToFloat(half);
  default:
    std::memcpy(&value, at, 4);
    return value;
  }
}

int32_t integerAt(const ResolvedView &view, int64_t i, int64_t j) {
  const std::byte *at =
      view.data + (i * view.strides[0] + j * view.strides[1]) * bytesOf(view.type);
  int32_t value;
  switch (view.type) {
  case DType::I8:
    return int32_t(int8_t(*at));
  case DType::U8:
    return int32_t(uint8_t(*at));
  default:
    std::memcpy(&value, at, 4);
    return value;
  }
}

void put(const ResolvedView &view, int64_t i, int64_t j, float value) {
  std::byte *at = view.data + (i * view.strides[0] + j * view.strides[1]) * bytesOf(view.type);
  uint16_t half =
      view.type == DType::F16 ? support::floatToHalf(value) : support::floatToBfloat(value);
  if (view.type == DType::F32)
    std::memcpy(at, &value, 4);
  else
    std::memcpy(at, &half, 2);
}

struct Transposes {
  bool a, b;
};

/// The definition.
void multiplyPlainly(const ResolvedView &c, const ResolvedView &a, const ResolvedView &b,
                     Transposes t, bool init) {
  int64_t depth = t.a ? a.sizes[0] : a.sizes[1];
  for (int64_t i = 0; i < c.sizes[0]; ++i)
    for (int64_t j = 0; j < c.sizes[1]; ++j) {
      if (c.type == DType::I32) {
        uint32_t sum = init ? 0 : uint32_t(integerAt(c, i, j));
        for (int64_t p = 0; p < depth; ++p)
          sum += uint32_t(t.a ? integerAt(a, p, i) : integerAt(a, i, p)) *
                 uint32_t(t.b ? integerAt(b, j, p) : integerAt(b, p, j));
        std::memcpy(c.data + (i * c.strides[0] + j * c.strides[1]) * 4, &sum, 4);
        continue;
      }
      float sum = init ? 0.0f : floatAt(c, i, j);
      for (int64_t p = 0; p < depth; ++p)
        sum = std::fma(t.a ? floatAt(a, p, i) : floatAt(a, i, p),
                       t.b ? floatAt(b, j, p) : floatAt(b, p, j), sum);
      put(c, i, j, sum);
    }
}

class Mmad : public ::testing::Test {
protected:
  void SetUp() override { gen.tamePercent = 90; }
  void TearDown() override { useKernelLevel(kernelLevels().front()); }

  void check(DType inputs, DType result, int64_t m, int64_t n, int64_t k, Transposes t, bool init) {
    gen.reset();
    Case c;
    c.op = TileOp::Mmad;
    c.flags = uint8_t((t.a ? kTransposeA : 0) | (t.b ? kTransposeB : 0));
    c.scalars = {init};
    using Sizes = std::vector<int64_t>;
    c.operands = {gen.place(result, {m, n}, false),
                  gen.place(inputs, t.a ? Sizes{k, m} : Sizes{m, k}, false),
                  gen.place(inputs, t.b ? Sizes{n, k} : Sizes{k, n}, false)};
    Arena start = gen.arena();
    for (const Place &place : c.operands)
      gen.fill(place, start);
    Arena wanted = start;
    ResolvedOp plain = c.resolve(wanted);
    multiplyPlainly(plain.operands[0], plain.operands[1], plain.operands[2], t, init);
    forgetNans(c, wanted);
    for (const std::string &level : kernelLevels()) {
      ASSERT_TRUE(useKernelLevel(level));
      Arena got = start;
      execute(c.resolve(got));
      forgetNans(c, got);
      ASSERT_EQ(std::memcmp(got.data(), wanted.data(), got.size()), 0)
          << "level " << level << " m " << m << " n " << n << " k " << k << "\n"
          << describe(c);
    }
  }

  void checkMany(DType inputs, DType result) {
    for (int i = 0; i < 60; ++i)
      check(inputs, result, gen.between(1, 40), gen.between(1, 70),
            gen.between(1, gen.chance(20) ? 400 : 40), {gen.chance(50), gen.chance(50)},
            gen.chance(50));
    for (int transposes = 0; transposes < 4; ++transposes)
      check(inputs, result, 32, 64, 160, {(transposes & 1) != 0, (transposes & 2) != 0}, false);
  }

  Generator gen{99};
};

TEST_F(Mmad, HalfIntoFloat) { checkMany(DType::F16, DType::F32); }
TEST_F(Mmad, BfloatIntoFloat) { checkMany(DType::BF16, DType::F32); }
TEST_F(Mmad, FloatIntoFloat) { checkMany(DType::F32, DType::F32); }
TEST_F(Mmad, HalfIntoHalfRoundsOnce) { checkMany(DType::F16, DType::F16); }
TEST_F(Mmad, BfloatIntoBfloatRoundsOnce) { checkMany(DType::BF16, DType::BF16); }
TEST_F(Mmad, Int8IntoInt32) { checkMany(DType::I8, DType::I32); }
TEST_F(Mmad, Uint8IntoInt32) { checkMany(DType::U8, DType::I32); }

TEST_F(Mmad, NoDepthClearsOrKeeps) {
  float memory[4] = {1, 2, 3, 4};
  ResolvedView c, a, b;
  c.data = a.data = b.data = reinterpret_cast<std::byte *>(memory);
  c.rank = a.rank = b.rank = 2;
  c.sizes = {2, 2};
  c.strides = {2, 1};
  a.sizes = {2, 0};
  b.sizes = {0, 2};
  mmad(c, a, b, false, false, false);
  EXPECT_EQ(memory[3], 4.0f);
  mmad(c, a, b, false, false, true);
  EXPECT_EQ(memory[0], 0.0f);
  EXPECT_EQ(memory[3], 0.0f);
}

} // namespace
