// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times without data: what is read all the same, and what ends the run.
#include "ProgramBuilder.h"
#include "tilewright/sim/ControlSlice.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace tilewright::sim;
using namespace tilewright::sim::test;

namespace {

constexpr DType F32 = DType::F32, I32 = DType::I32;

enum class From { Memory, Tile, CopiedTile, ComputedTile, StoredTile, Output };

/// Copies `count` rows of 64 floats from tensor 0 to tensor 2, where tensor 1 holds the count and
/// `from` says which way it takes to the scalar unit.
struct CountedCopy {
  Program program;
  int line = 0;

  explicit CountedCopy(From from) {
    program.name = "counted_copy";
    program.tensors = {
        {"rows", F32, false}, {"count", I32, from == From::Output}, {"out", F32, true}};
    CoreBuilder b(program, program.aiv);
    int32_t count = b.newReg();
    Template read;
    read.op = TileOp::ScalarLoad;
    read.resultReg = count;
    read.label = "read count";
    bool isGm = from == From::Memory || from == From::Output;
    read.operands = {isGm ? gm(1, I32, imm(0), {}) : ub(I32, imm(0), {})};
    b.blocks(1, [&](int32_t) {
      if (!isGm) {
        int64_t first = from == From::Tile || from == From::StoredTile ? 0 : 32;
        b.issue(TileOp::Load, {ub(I32, imm(first), {imm(1)}), gm(1, I32, imm(0), {imm(1)})});
        b.sync(Pipe::MTE2, Pipe::V);
        if (from == From::CopiedTile)
          b.issue(TileOp::Copy, {ub(I32, imm(0), {imm(1)}), ub(I32, imm(32), {imm(1)})});
        if (from == From::ComputedTile)
          b.issue(TileOp::BinaryScalar, {ub(I32, imm(0), {imm(1)}), ub(I32, imm(32), {imm(1)})},
                  {imm(1)}, int(BinaryFn::Mul));
        b.sync(Pipe::V, Pipe::S);
        if (from == From::StoredTile)
          b.issue(TileOp::ScalarStore, {ub(I32, imm(0), {})}, {imm(3)});
      }
      line = b.issue(std::move(read));
      b.loop(b.constant(0), count, b.constant(1), [&](int32_t row) {
        int32_t base = b.binary(Opcode::Mul, row, b.constant(64));
        b.issue(TileOp::Load, {ub(F32, imm(512), {imm(64)}), gm(0, F32, reg(base), {imm(64)})});
        b.sync(Pipe::MTE2, Pipe::MTE3);
        b.issue(TileOp::Store, {gm(2, F32, reg(base), {imm(64)}), ub(F32, imm(512), {imm(64)})});
        b.sync(Pipe::MTE3, Pipe::MTE2);
      });
    });
    b.halt();
  }

  std::vector<float> rows = std::vector<float>(8 * 64, 1), out = std::vector<float>(8 * 64, 0);
  int32_t count = 5;

  RunResult run(bool timeOnly, bool isBare = false, bool isComputed = false) {
    RunOptions options;
    options.time = true;
    options.timeOnly = timeOnly;
    auto data = [&](void *memory) { return isBare ? nullptr : memory; };
    return tilewright::sim::run(
        program, {{data(rows.data()), 512}, {data(&count), 1, isComputed}, {data(out.data()), 512}},
        {}, smallChip(), options);
  }
};

class TimingOnly : public testing::TestWithParam<From> {};

TEST_P(TimingOnly, GivesTheTimesOfARunWithData) {
  CountedCopy kernel(GetParam());
  RunResult alone = kernel.run(true);
  ASSERT_TRUE(alone.ok) << alone.error;
  EXPECT_EQ(std::accumulate(kernel.out.begin(), kernel.out.end(), 0.0f), 0);
  RunResult whole = kernel.run(false);
  EXPECT_EQ(alone.timing.cycles, whole.timing.cycles);
  EXPECT_EQ(alone.timing.hbmBytes, whole.timing.hbmBytes);
  EXPECT_EQ(alone.lineCycles, whole.lineCycles);
  float rows = GetParam() == From::StoredTile ? 3 : 5;
  EXPECT_EQ(std::accumulate(kernel.out.begin(), kernel.out.end(), 0.0f), rows * 64);
}

INSTANTIATE_TEST_SUITE_P(Known, TimingOnly,
                         testing::Values(From::Memory, From::Tile, From::CopiedTile,
                                         From::StoredTile));

class TimingOnlyRefused : public testing::TestWithParam<From> {};

TEST_P(TimingOnlyRefused, WithTheLine) {
  CountedCopy kernel(GetParam());
  RunResult result = kernel.run(true);
  EXPECT_FALSE(result.ok);
  EXPECT_TRUE(result.needsData);
  EXPECT_TRUE(result.findings.empty());
  ASSERT_GE(result.errorLocation, 0);
  EXPECT_EQ(kernel.program.locations[size_t(result.errorLocation)].line, kernel.line);
  EXPECT_NE(result.error.find("depends on 'read count' (kernel.py:" + std::to_string(kernel.line)),
            std::string::npos)
      << result.error;
  EXPECT_NE(result.error.find("the kernel computes this value"), std::string::npos);
  EXPECT_TRUE(kernel.run(false).ok);
}

INSTANTIATE_TEST_SUITE_P(Computed, TimingOnlyRefused,
                         testing::Values(From::ComputedTile, From::Output));

TEST(TimingOnly, WantsTheArgumentsThatSteer) {
  for (From from : {From::Memory, From::Tile, From::CopiedTile}) {
    CountedCopy kernel(from);
    RunResult result = kernel.run(true, /*isBare=*/true);
    EXPECT_TRUE(result.needsData);
    EXPECT_NE(result.error.find("times need the contents of the arguments"), std::string::npos);
  }
  EXPECT_TRUE(CountedCopy(From::StoredTile).run(true, /*isBare=*/true).ok);
}

TEST(TimingOnly, DoesNotTrustWhatAnEarlierLaunchWasToWrite) {
  EXPECT_TRUE(CountedCopy(From::Memory).run(true, false, /*isComputed=*/true).needsData);
}

TEST(TimingOnly, TensorsWithoutDataAreApart) {
  CountedCopy kernel(From::StoredTile);
  EXPECT_EQ(kernel.run(true, /*isBare=*/true).timing.hbmBytes, kernel.run(true).timing.hbmBytes);
}

TEST(TimingOnly, NoDataIsRefusedWhereItIsUsed) {
  RunResult result = CountedCopy(From::Memory).run(false, /*isBare=*/true);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error, "tensor rows has no data");
}

TEST(KnownBytes, AreExact) {
  KnownBytes known(64);
  EXPECT_TRUE(known.all(5, 5));
  known.set(8, 16, true);
  EXPECT_TRUE(known.all(8, 16));
  EXPECT_FALSE(known.all(7, 16));
  EXPECT_FALSE(known.all(8, 17));
  known.set(12, 13, false);
  EXPECT_FALSE(known.all(8, 16));
  EXPECT_TRUE(known.all(13, 16));
}

} // namespace
