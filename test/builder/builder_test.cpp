// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the builder makes of a kernel: types that meet, sizes that fold, choices that stay lazy.
#include "tilewright/builder/KernelBuilder.h"
#include "tilewright/builder/ModuleHandle.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace tilewright::builder;

namespace {

Value number(int64_t value) { return Value::number(value); }

Operand whole(const Buffer &buffer) {
  Operand operand;
  operand.buffer = buffer;
  return operand;
}

std::string finish(KernelBuilder &builder) {
  auto handle = builder.finish();
  std::string text;
  llvm::raw_string_ostream stream(text);
  handle->module->print(stream);
  return text;
}

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

TEST(Promotion, FloatsBeatIntegersAndWiderBeatsNarrower) {
  EXPECT_EQ(promote(DType::Int64, DType::Float16), DType::Float16);
  EXPECT_EQ(promote(DType::Int8, DType::Int32), DType::Int32);
  EXPECT_EQ(promote(DType::Float16, DType::Float32), DType::Float32);
  EXPECT_EQ(promote(DType::Float16, DType::BFloat16), DType::Float32);
  EXPECT_EQ(promote(DType::UInt32, DType::Int8), DType::Int32);
  EXPECT_EQ(promote(DType::Bool, DType::UInt8), DType::UInt8);
}

TEST(Promotion, IsSymmetric) {
  for (int left = 0; left <= static_cast<int>(DType::Float64); ++left)
    for (int right = 0; right <= static_cast<int>(DType::Float64); ++right)
      EXPECT_EQ(promote(DType(left), DType(right)), promote(DType(right), DType(left)));
}

TEST(Builder, SliceOfTwoProductsHasAConstantSize) {
  KernelBuilder builder("kernel");
  builder.setLocation("kernel.py", 1, 1);
  Buffer a = builder.addTensor("A", DType::Float16, {{"256"}, {"32"}}, false);
  std::vector<Value> ids = builder.beginLaunch({number(4)});
  Buffer tile = builder.alloc("tile", DType::Float16, {64, 32}, "shared");
  Value start = builder.binary("mul", ids[0], number(64));
  Value stop = builder.binary("mul", builder.binary("add", ids[0], number(1)), number(64));
  Operand region = builder.region(a, {start, number(0)}, {stop, std::nullopt}, {false, false});
  ASSERT_TRUE(region.sizes[0].isConstant());
  EXPECT_EQ(region.sizes[0].integer, 64);
  EXPECT_EQ(region.sizes[1].integer, 32);
  builder.copy(region, whole(tile), {});
  builder.endLaunch();
  std::string text = finish(builder);
  EXPECT_EQ(count(text, "tile.copy"), 1u);
  EXPECT_EQ(count(text, "arith.muli"), 1u) << "the unused end of the slice is dropped\n" << text;
}

/// Size of the slice A[v + 8 i : v + 8 (i + 1)] where v is an element of a tensor or a variable,
/// read again for the end, perhaps after a write.
Value sizeBetweenReads(bool isVariable, bool writesBetween) {
  KernelBuilder builder("kernel");
  builder.setLocation("kernel.py", 1, 1);
  Buffer a = builder.addTensor("A", DType::Float16, {{"256"}}, false);
  Buffer starts = builder.addTensor("starts", DType::Int32, {{"4"}}, true);
  std::vector<Value> ids = builder.beginLaunch({number(4)});
  Buffer variable = builder.alloc("v", DType::Int32, {}, "local");
  const Buffer &from = isVariable ? variable : starts;
  std::vector<Value> place;
  if (!isVariable)
    place.push_back(number(2));
  auto bound = [&](const Value &block) {
    return builder.binary("add", builder.load(from, place),
                          builder.binary("mul", block, number(8)));
  };
  Value start = bound(ids[0]);
  if (writesBetween)
    builder.store(ids[0], from, place);
  Value stop = bound(builder.binary("add", ids[0], number(1)));
  Value size = builder.region(a, {start}, {stop}, {false}).sizes[0];
  builder.endLaunch();
  finish(builder);
  return size;
}

TEST(Builder, SliceBetweenReadsOfOneNumberHasAConstantSize) {
  for (bool isVariable : {false, true}) {
    Value size = sizeBetweenReads(isVariable, /*writesBetween=*/false);
    ASSERT_TRUE(size.isConstant());
    EXPECT_EQ(size.integer, 8);
    EXPECT_FALSE(sizeBetweenReads(isVariable, /*writesBetween=*/true).isConstant());
  }
}

TEST(Builder, SymbolicSizesBecomeOneSymbolEach) {
  KernelBuilder builder("kernel");
  builder.setLocation("kernel.py", 1, 1);
  Buffer a = builder.addTensor("A", DType::Float32, {{"M", "2", "*", "1", "+"}, {"N"}}, false);
  EXPECT_EQ(a.shape, (std::vector<int64_t>{-1, -1}));
  builder.beginLaunch({builder.size({"M", "128", "ceildiv"})});
  builder.store(Value::number(1.0), a, {builder.size({"M"}), number(0)});
  builder.endLaunch();
  std::string text = finish(builder);
  EXPECT_EQ(count(text, "tile.symbol \"M\""), 1u);
  EXPECT_NE(text.find("affine_map<()[s0, s1] -> (s0 * 2 + 1, s1)>"), std::string::npos) << text;
  EXPECT_NE(text.find("tile.symbols = [\"M\", \"N\"]"), std::string::npos) << text;
}

/// `i < n ? tile[i + shift] : 0` over 16 lanes.
std::string choice(int64_t shift) {
  KernelBuilder builder("kernel");
  builder.setLocation("kernel.py", 1, 1);
  Buffer a = builder.addTensor("A", DType::Float32, {{"16"}}, false);
  Value n = builder.addScalar("n", DType::Int32);
  builder.beginLaunch({number(1)});
  Buffer tile = builder.alloc("tile", DType::Float32, {16}, "shared");
  Value i = builder.beginParallel({number(16)})[0];
  Value read = builder.load(tile, {builder.binary("add", i, number(shift))});
  Value chosen = builder.ifThenElse(builder.binary("lt", i, n), read, Value::number(0.0));
  builder.store(chosen, a, {i});
  builder.endParallel();
  builder.endLaunch();
  return finish(builder);
}

TEST(Builder, ChoiceIsASelectWhereNothingCanFault) {
  std::string text = choice(0);
  EXPECT_EQ(count(text, "arith.select"), 1u) << text;
  EXPECT_EQ(count(text, "scf.if"), 0u) << text;
}

TEST(Builder, ReadThatMayLieOutsideStaysBehindTheCondition) {
  std::string text = choice(4);
  EXPECT_EQ(count(text, "scf.if"), 1u) << text;
  EXPECT_EQ(count(text, "tile.load"), 1u) << text;
  EXPECT_LT(text.find("scf.if"), text.find("tile.load")) << text;
}

TEST(Builder, NonNegativeDivisionNeedsNoFloor) {
  KernelBuilder builder("kernel");
  builder.setLocation("kernel.py", 1, 1);
  Buffer a = builder.addTensor("A", DType::Int32, {{"16"}, {"16"}}, false);
  Value n = builder.addScalar("n", DType::Int32);
  Value id = builder.beginLaunch({number(256)})[0];
  builder.store(
      builder.binary("floordiv", n, number(3)), a,
      {builder.binary("floordiv", id, number(16)), builder.binary("floormod", id, number(16))});
  builder.endLaunch();
  std::string text = finish(builder);
  EXPECT_EQ(count(text, "arith.divsi"), 1u) << text;
  EXPECT_EQ(count(text, "arith.remsi"), 1u) << text;
  EXPECT_EQ(count(text, "arith.floordivsi"), 1u) << text;
}

TEST(Builder, TileOperationTurnsParallelIntoALoop) {
  KernelBuilder builder("kernel");
  builder.setLocation("kernel.py", 1, 1);
  Buffer a = builder.addTensor("A", DType::Float32, {{"8"}, {"4"}}, false);
  builder.beginLaunch({number(1)});
  Buffer tile = builder.alloc("tile", DType::Float32, {8, 4}, "shared");
  Value i = builder.beginParallel({number(8)})[0];
  auto row = [&](const Buffer &buffer) {
    return builder.region(buffer, {i, number(0)}, {std::nullopt, std::nullopt}, {true, false});
  };
  builder.copy(row(a), row(tile), {});
  builder.endParallel();
  builder.endLaunch();
  std::string text = finish(builder);
  EXPECT_EQ(count(text, "scf.for"), 1u) << text;
  EXPECT_EQ(count(text, "tile.parallel"), 0u) << text;
}

} // namespace
