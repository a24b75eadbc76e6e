// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Sensitivity.h"

#include "RecordBuilder.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::sim;
using namespace tilewright::sim::test;

namespace {

machine::Parameter parameter(const char *key, double low, double high) {
  machine::Parameter result;
  result.key = key;
  result.low = low;
  result.high = high;
  return result;
}

/// Cores that load 4 KiB and work on it, one turn after the other.
std::vector<CoreRecords> vectorCores(int turns) {
  std::vector<CoreRecords> cores;
  for (int i = 0; i < 4; ++i) {
    RecordBuilder core(CoreKind::AIV, i);
    for (int turn = 0; turn < turns; ++turn) {
      core.read(uint64_t(turn * 4 + i) * 4096, 1, 4096, 4096).set(Pipe::MTE2, Pipe::V, 0);
      core.wait(Pipe::MTE2, Pipe::V, 0).compute(Pipe::V, 300);
      core.set(Pipe::V, Pipe::MTE2, 1).wait(Pipe::V, Pipe::MTE2, 1);
    }
    cores.push_back(core.core);
  }
  return cores;
}

TEST(Sensitivity, EachConstantAlone) {
  const machine::Machine machine = chip("910b3");
  const std::vector<CoreRecords> cores = vectorCores(50);
  const double plain = timeCores(cores, machine).timing.microseconds;
  auto timed = [&](auto change) {
    machine::Machine changed = machine;
    change(changed);
    return timeCores(cores, changed).timing.microseconds;
  };
  const double slow = timed([](auto &chip) { chip.mte2LatencyMiss = 900; });
  const double fast = timed([](auto &chip) { chip.mte2LatencyMiss = 100; });
  const double flags = timed([](auto &chip) { chip.flagWait = 40; });
  const Sensitivity found =
      sensitivityOf(Program(), cores, machine,
                    {parameter("flag_wait", machine.flagWait, 40), parameter("fix_gm_rate", 1, 100),
                     parameter("mte2_latency_miss", 100, 900)},
                    plain, SIZE_MAX);
  EXPECT_EQ(found.share, 1);
  ASSERT_EQ(found.effects.size(), 2u) << "nothing leaves through the fixpipe";
  EXPECT_EQ(found.effects[0].key, "mte2_latency_miss");
  EXPECT_DOUBLE_EQ(found.effects[0].atLow, fast);
  EXPECT_DOUBLE_EQ(found.effects[0].atHigh, slow);
  EXPECT_EQ(found.effects[1].key, "flag_wait");
  EXPECT_DOUBLE_EQ(found.effects[1].atLow, plain);
  EXPECT_DOUBLE_EQ(found.effects[1].atHigh, flags);
  EXPECT_DOUBLE_EQ(found.least, fast);
  EXPECT_DOUBLE_EQ(found.most, slow);
}

/// The first turns stand for all, and are scaled to the time of all.
TEST(Sensitivity, OfASample) {
  const machine::Machine machine = chip("910b3");
  const std::vector<CoreRecords> cores = vectorCores(400);
  const double plain = timeCores(cores, machine).timing.microseconds;
  const std::vector<machine::Parameter> uncertain = {parameter("mte2_latency_miss", 100, 900),
                                                     parameter("flag_wait", 2, 40)};
  const Sensitivity whole = sensitivityOf(Program(), cores, machine, uncertain, plain, SIZE_MAX),
                    part = sensitivityOf(Program(), cores, machine, uncertain, plain, 1000);
  EXPECT_LT(part.share, 0.2);
  ASSERT_EQ(part.effects.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(part.effects[size_t(i)].key, whole.effects[size_t(i)].key);
    EXPECT_NEAR(part.effects[size_t(i)].atHigh, whole.effects[size_t(i)].atHigh, 0.02 * plain);
    EXPECT_NEAR(part.effects[size_t(i)].atLow, whole.effects[size_t(i)].atLow, 0.02 * plain);
  }
}

/// A sample ends in the middle of an exchange between cores, which is no deadlock.
TEST(Sensitivity, SampleOfCoresThatWaitForEachOther) {
  RecordBuilder cube(CoreKind::AIC, 0), first(CoreKind::AIV, 0, 0), second(CoreKind::AIV, 0, 1);
  for (int turn = 0; turn < 100; ++turn) {
    cube.compute(Pipe::FIX, 1000).blockSet(Pipe::FIX, 1).blockWait(Pipe::FIX, 2);
    for (RecordBuilder *core : {&first, &second})
      core->blockWait(Pipe::V, 1).compute(Pipe::V, 500).blockSet(Pipe::V, 2);
  }
  const std::vector<CoreRecords> cores = {cube.core, first.core, second.core};
  const machine::Machine machine = chip("910b3");
  const double plain = timeCores(cores, machine).timing.microseconds;
  const Sensitivity found =
      sensitivityOf(Program(), cores, machine, {parameter("block_flag", 50, 300)}, plain, 100);
  ASSERT_EQ(found.effects.size(), 1u);
  EXPECT_GT(found.most, 1.1 * plain);
}

} // namespace
