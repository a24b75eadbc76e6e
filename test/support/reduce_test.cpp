// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/support/Reduce.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

using namespace tilewright::support;

namespace {

TEST(Reduce, LastDimSumsInLanesAndThenNeighbours) {
  // 65 elements: lane 0 adds two, and only then meets lane 1. 1e8 swallows a 1 in f32.
  std::vector<float> x(65, 0.0f);
  x[0] = 1e8f;
  x[64] = 1.0f; // same lane: lost
  x[1] = -1e8f;
  EXPECT_EQ(reduceLanes<float>(ReduceKind::Sum, 65, [&](int64_t i) { return x[i]; }), 0.0f);
  x[64] = 0.0f;
  x[2] = 1.0f; // another pair of lanes: kept
  EXPECT_EQ(reduceLanes<float>(ReduceKind::Sum, 65, [&](int64_t i) { return x[i]; }), 1.0f);
}

TEST(Reduce, OtherDimsGoInIndexOrder) {
  const float x[3] = {1e8f, 1.0f, -1e8f};
  EXPECT_EQ(reduceInOrder<float>(ReduceKind::Sum, 3, [&](int64_t i) { return x[i]; }), 0.0f);
}

TEST(Reduce, BoxTakesTheLastDimFirst) {
  // Rows {1e8, -1e8} and {1, 0}: each row first, so that the 1 survives.
  const float x[2][2] = {{1e8f, -1e8f}, {1.0f, 0.0f}};
  const int64_t sizes[2] = {2, 2};
  const bool both[2] = {true, true}, outer[2] = {true, false};
  int64_t index[2] = {0, 0};
  auto get = [&](const int64_t *i) { return x[i[0]][i[1]]; };
  EXPECT_EQ(reduceBox<float>(ReduceKind::Sum, 2, sizes, both, index, get), 1.0f);
  index[1] = 1;
  EXPECT_EQ(reduceBox<float>(ReduceKind::Sum, 2, sizes, outer, index, get), -1e8f);
}

TEST(Reduce, NanLosesInMaximaAndWinsInSums) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float x[3] = {nan, -2.0f, nan};
  auto get = [&](int64_t i) { return x[i]; };
  EXPECT_EQ(reduceLanes<float>(ReduceKind::Max, 3, get), -2.0f);
  EXPECT_EQ(reduceLanes<float>(ReduceKind::Min, 3, get), -2.0f);
  float sum = reduceLanes<float>(ReduceKind::Sum, 3, get);
  EXPECT_TRUE(sum != sum);
  EXPECT_EQ(reduceCombine<float>(ReduceKind::Max, nan, 1.0f), 1.0f);
}

TEST(Reduce, Identities) {
  auto none = [](int64_t) { return 0; };
  EXPECT_EQ(reduceLanes<int32_t>(ReduceKind::Max, 0, none), INT32_MIN);
  EXPECT_EQ(reduceLanes<int32_t>(ReduceKind::Min, 0, none), INT32_MAX);
  EXPECT_EQ(reduceLanes<uint64_t>(ReduceKind::Max, 0, none), 0u);
  EXPECT_EQ(reduceLanes<uint64_t>(ReduceKind::Min, 0, none), UINT64_MAX);
  EXPECT_EQ(reduceLanes<int32_t>(ReduceKind::And, 0, none), -1);
  EXPECT_EQ(reduceLanes<float>(ReduceKind::Prod, 0, none), 1.0f);
  EXPECT_EQ(reduceLanes<double>(ReduceKind::Max, 0, none),
            -std::numeric_limits<double>::infinity());
}

TEST(Reduce, IntegersWrap) {
  auto big = [](int64_t) { return INT32_MAX; };
  EXPECT_EQ(reduceLanes<int32_t>(ReduceKind::Sum, 2, big), -2);
  EXPECT_EQ(reduceInOrder<int32_t>(ReduceKind::Prod, 2, big), 1);
}

} // namespace
