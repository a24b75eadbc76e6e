// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RecordBuilder.h"

#include "tilewright/sim/Calendar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

using namespace tilewright;
using namespace tilewright::sim;
using namespace tilewright::sim::test;

namespace {

/// A chip without prologue, so that times start at zero.
machine::Machine plainChip() {
  machine::Machine machine = chip("910b3");
  machine.prologue = 0;
  return machine;
}

double busy(const RunResult &result, Pipe pipe, CoreKind kind = CoreKind::AIV) {
  const Timing &timing = result.timing;
  return (kind == CoreKind::AIV ? timing.aiv : timing.aic)[static_cast<int>(pipe)].busyCycles;
}

TEST(Calendar, NeverAboveRate) {
  Calendar calendar(100);
  double total = 0;
  uint64_t seed = 1;
  for (int i = 0; i < 5000; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const double start = static_cast<double>((seed >> 33) % 20000);
    const double bytes = static_cast<double>((seed >> 20) % 4096);
    const double end = calendar.take(start, bytes, 60);
    EXPECT_GE(end, start + bytes / 60 - 1e-6);
    total += bytes;
  }
  double booked = 0;
  for (size_t window = 0; window < calendar.windows(); ++window) {
    EXPECT_LE(calendar.booked(window), calendar.windowBudget() * (1 + 1e-9));
    booked += calendar.booked(window);
  }
  EXPECT_NEAR(booked, total, total * 1e-9);
}

TEST(Calendar, SharesAndQueues) {
  Calendar calendar(100);
  EXPECT_DOUBLE_EQ(calendar.take(10, 400, 40), 20);
  EXPECT_DOUBLE_EQ(calendar.take(10, 0, 40), 10);
  // 256 cycles hold 25,600 bytes; three users of 20,480 at 80 per cycle need 61,440.
  Calendar shared(100);
  double end = 0;
  for (int user = 0; user < 3; ++user)
    end = std::max(end, shared.take(0, 20480, 80));
  EXPECT_NEAR(end, 614.4, 40);
}

TEST(Clock, ComputeInOrder) {
  machine::Machine machine = plainChip();
  RecordBuilder core(CoreKind::AIV, 0);
  for (int i = 0; i < 10; ++i)
    core.compute(Pipe::V, 100);
  RunResult result = timeCore(core, machine);
  EXPECT_DOUBLE_EQ(result.timing.cycles, machine.scalarIssue + 1000);
  EXPECT_DOUBLE_EQ(busy(result, Pipe::V), 1000);
  EXPECT_EQ(result.timing.events, 10u);
  EXPECT_EQ(result.timing.aivCount, 1);
  EXPECT_EQ(result.timing.aicCount, 0);
  EXPECT_DOUBLE_EQ(result.timing.microseconds, result.timing.cycles / 1800);
  EXPECT_DOUBLE_EQ(result.timing.launchMicroseconds, machine.launchA + machine.launchB);
}

TEST(Clock, PipesOverlapUntilFlag) {
  machine::Machine machine = plainChip();
  RecordBuilder core(CoreKind::AIV, 0);
  core.compute(Pipe::MTE1, 100).compute(Pipe::V, 200);
  EXPECT_DOUBLE_EQ(timeCore(core, machine).timing.cycles, 2 * machine.scalarIssue + 200);
  RecordBuilder chained(CoreKind::AIV, 0);
  chained.compute(Pipe::MTE1, 100).set(Pipe::MTE1, Pipe::V, 3).wait(Pipe::MTE1, Pipe::V, 3);
  chained.compute(Pipe::V, 200);
  EXPECT_DOUBLE_EQ(timeCore(chained, machine).timing.cycles,
                   machine.scalarIssue + 100 + machine.flagWait + 200);
}

TEST(Clock, BarrierAllJoinsScalar) {
  machine::Machine machine = plainChip();
  RecordBuilder core(CoreKind::AIV, 0);
  core.compute(Pipe::MTE1, 500).barrier(Pipe::All).compute(Pipe::V, 10);
  EXPECT_DOUBLE_EQ(timeCore(core, machine).timing.cycles, 2 + 500 + 2 + 10);
  RecordBuilder scalar(CoreKind::AIV, 0);
  scalar.compute(Pipe::V, 300).scalarSync(Pipe::V).scalarWork(50).compute(Pipe::MTE1, 5);
  EXPECT_DOUBLE_EQ(timeCore(scalar, machine).timing.cycles, 2 + 300 + 50 + 2 + 5);
}

TEST(Clock, FullQueueHoldsScalar) {
  machine::Machine machine = plainChip();
  machine.queueDepth = 4;
  RecordBuilder core(CoreKind::AIV, 0);
  for (int i = 0; i < 6; ++i)
    core.compute(Pipe::V, 1000);
  core.compute(Pipe::MTE1, 1);
  // The sixth addition is handed out when the second starts, MTE1's only then.
  EXPECT_DOUBLE_EQ(timeCore(core, machine).timing.cycles, 2 + 6000);
  RecordBuilder late(CoreKind::AIV, 0);
  for (int i = 0; i < 6; ++i)
    late.compute(Pipe::V, 1000);
  late.compute(Pipe::MTE1, 9000);
  EXPECT_DOUBLE_EQ(timeCore(late, machine).timing.cycles, 2 + 1000 + 2 + 9000);
}

TEST(Clock, OneLoad) {
  machine::Machine machine = plainChip();
  RecordBuilder core(CoreKind::AIV, 0);
  core.read(0, 16, 512, 4096);
  // start, then 8 KiB and 16 rows: HBM at the one-core rate is faster than the pipe's own.
  const double data = machine.mte2Start + 8192 / machine.mte2RateAiv + 16 * machine.mte2RowAiv;
  RunResult result = timeCore(core, machine);
  EXPECT_NEAR(result.timing.cycles, machine.scalarIssue + data + machine.mte2LatencyMiss, 1e-6);
  EXPECT_NEAR(busy(result, Pipe::MTE2), data + machine.mte2LatencyMiss, 1e-6);
  EXPECT_EQ(result.timing.gmReadBytes, 8192u);
  EXPECT_EQ(result.timing.hbmBytes, 8192u);
  EXPECT_EQ(result.timing.gmWriteBytes, 0u);
}

TEST(Clock, LatencyOverlapsNextLoad) {
  machine::Machine machine = plainChip();
  machine.mte2LatencyHit = 300; // so that what is read second is there last
  RecordBuilder two(CoreKind::AIV, 0);
  two.read(0, 1, 8192, 8192).read(8192, 1, 8192, 8192);
  const double data = machine.mte2Start + 8192 / machine.mte2RateAiv + 16 * machine.mte2RowAiv;
  EXPECT_NEAR(timeCore(two, machine).timing.cycles, 2 + 2 * data + machine.mte2LatencyMiss, 1e-6);
  // A second read of the same bytes hits: shorter latency, no HBM.
  RecordBuilder again(CoreKind::AIV, 0);
  again.read(0, 1, 8192, 8192).read(0, 1, 8192, 8192);
  RunResult result = timeCore(again, machine);
  EXPECT_NEAR(result.timing.cycles, 2 + 2 * data + machine.mte2LatencyHit, 1e-6);
  EXPECT_EQ(result.timing.hbmBytes, 8192u);
}

/// A cube core has room for so many rows on their way; what that takes includes the latency.
TEST(Clock, RowsInFlight) {
  machine::Machine machine = plainChip();
  auto cycles = [&](CoreKind kind, double perRow, uint64_t stride) {
    machine.mte2RowInFlightAic = perRow;
    RecordBuilder core(kind, 0);
    core.read(0, 100, 128, stride);
    return timeCore(core, machine).timing.cycles - machine.scalarIssue - machine.mte2Start;
  };
  const double plain = cycles(CoreKind::AIC, 0, 4096);
  EXPECT_LT(plain, 1000);
  EXPECT_EQ(cycles(CoreKind::AIC, 3, 4096), plain) << "the rate and the latency take longer";
  EXPECT_NEAR(cycles(CoreKind::AIC, 20, 4096), 2000, 1e-6);
  EXPECT_LT(cycles(CoreKind::AIC, 20, 128), 1000) << "contiguous: a row is a line";
  EXPECT_EQ(cycles(CoreKind::AIV, 20, 4096), cycles(CoreKind::AIV, 0, 4096));
}

/// Only a part of the latency of its loads keeps MTE1, and L1, from what comes next.
TEST(Clock, LoadsIntoL0LeaveL1Early) {
  machine::Machine machine = plainChip();
  auto cycles = [&](double start) {
    machine.mte1Start = start;
    RecordBuilder core(CoreKind::AIC, 0);
    core.mmad(64, 64, 64).set(Pipe::MTE1, Pipe::MTE2, 0).wait(Pipe::MTE1, Pipe::MTE2, 0);
    core.compute(Pipe::MTE2, 5000);
    return timeCore(core, machine).timing.cycles;
  };
  EXPECT_NEAR(cycles(machine.mte1Latency) - cycles(10),
              2 * machine.mte1LoadsPerOperand * (machine.mte1Latency - 10), 1e-6);
}

TEST(Clock, WritesAndStrides) {
  machine::Machine machine = plainChip();
  auto cycles = [&](Pipe pipe, uint64_t stride) {
    RecordBuilder core(CoreKind::AIC, 0);
    core.write(pipe, 0, 64, 1024, stride);
    return timeCore(core, machine).timing.cycles - machine.scalarIssue;
  };
  EXPECT_NEAR(cycles(Pipe::FIX, 8192), machine.fixStart + 65536 / machine.fixGmRate, 1e-6);
  EXPECT_NEAR(cycles(Pipe::FIX, 32768),
              machine.fixStart + 65536 / machine.fixGmRate / machine.writePow2StrideFactor, 1e-6);
  EXPECT_NEAR(cycles(Pipe::MTE3, 32768), machine.mte3Start + 65536 / machine.mte3RateAiv, 1e-6);
}

TEST(Clock, HbmIsShared) {
  // Forty vector cores ask for 68 bytes per cycle each; the HBM gives 832 to all together.
  machine::Machine machine = plainChip();
  std::vector<CoreRecords> cores;
  const uint64_t per = 4 << 20;
  for (int i = 0; i < 40; ++i) {
    RecordBuilder core(CoreKind::AIV, i);
    for (uint64_t at = 0; at < per; at += 65536)
      core.read(i * per + at, 32, 2048, 2048);
    cores.push_back(core.core);
  }
  const double bytes = 40.0 * per * (1 + machine.hbmRowOverheadAiv / 512);
  RunResult result = timeCores(cores, machine);
  EXPECT_NEAR(result.timing.cycles, bytes / machine.hbmBytesPerCycle, 0.02 * result.timing.cycles);
}

TEST(Clock, MmadMacro) {
  machine::Machine machine = plainChip();
  // One macro: first loads, then the cube at its own pace.
  const MmadCost cost = mmadCost(128, 256, 256, DType::F16, machine);
  RecordBuilder one(CoreKind::AIC, 0);
  one.mmad(128, 256, 256);
  RunResult result = timeCore(one, machine);
  const double issue = machine.scalarIssue * 4 * (2 * machine.mte1LoadsPerOperand + 5);
  EXPECT_NEAR(result.timing.cycles, issue + cost.startup + machine.flagWait + cost.cube, 1e-3);
  EXPECT_NEAR(busy(result, Pipe::M, CoreKind::AIC), 4 * 522, 1e-3);
  // The second load begins before the latency of the first is over; the others wait for the cube.
  const double tail = 2 * machine.mte1LoadsPerOperand * (machine.mte1Latency - machine.mte1Start);
  EXPECT_NEAR(busy(result, Pipe::MTE1, CoreKind::AIC), cost.mte1 - tail, 1e-3);
  // A stream of macros keeps the cube busy.
  RecordBuilder many(CoreKind::AIC, 0);
  for (int i = 0; i < 50; ++i)
    many.mmad(128, 256, 256);
  result = timeCore(many, machine);
  EXPECT_GT(busy(result, Pipe::M, CoreKind::AIC) / result.timing.cycles, 0.99);
}

TEST(Clock, DoubleBufferHidesLoads) {
  machine::Machine machine = plainChip();
  auto loop = [&](int slots) {
    RecordBuilder core(CoreKind::AIV, 0);
    for (int turn = 0; turn < 64; ++turn) {
      const auto slot = static_cast<uint8_t>(turn % slots);
      if (turn >= slots)
        core.wait(Pipe::V, Pipe::MTE2, slot);
      core.read(uint64_t(turn) * 32768, 1, 32768, 32768);
      core.set(Pipe::MTE2, Pipe::V, slot).wait(Pipe::MTE2, Pipe::V, slot);
      core.compute(Pipe::V, 600).set(Pipe::V, Pipe::MTE2, slot);
    }
    return timeCore(core, machine).timing.cycles;
  };
  const double data = machine.mte2Start + 32768 / machine.mte2RateAiv + 64 * machine.mte2RowAiv;
  const double step = data + machine.mte2LatencyMiss + 600 + 2 * machine.flagWait;
  EXPECT_NEAR(loop(1), 64 * step, 0.02 * 64 * step);
  // Two slots: a turn of two loads is bound by one slot's round trip.
  EXPECT_NEAR(loop(2), 64 * step / 2, 0.05 * loop(2));
  // Three: only the slower pipe counts.
  EXPECT_NEAR(loop(3), 64 * std::max(data, 600.0), 0.05 * loop(3));
}

/// With a unit flag the fixpipe follows the product by blocks, and the next product the fixpipe.
TEST(Clock, UnitFlags) {
  machine::Machine machine = plainChip();
  auto tiles = [&](bool unit, double product) {
    RecordBuilder core(CoreKind::AIC, 0);
    for (int turn = 0; turn < 10; ++turn) {
      if (turn)
        core.wait(Pipe::FIX, Pipe::M, 0);
      core.compute(Pipe::M, product);
      core.set(Pipe::M, Pipe::FIX, 0, unit).wait(Pipe::M, Pipe::FIX, 0);
      core.write(Pipe::FIX, uint64_t(turn) * 65536, 1, 65536, 65536);
      core.set(Pipe::FIX, Pipe::M, 0, unit);
    }
    return timeCore(core, machine).timing.cycles;
  };
  const double store = machine.fixStart + 65536 / machine.fixGmRate;
  EXPECT_NEAR(tiles(false, 500), 10 * (500 + store + 2 * machine.flagWait), 100);
  // Now both go on side by side; the slower one counts.
  EXPECT_NEAR(tiles(true, 500), 10 * store, 0.05 * 10 * store);
  EXPECT_NEAR(tiles(true, 5000), 10 * 5000, 0.03 * 10 * 5000);
}

/// Two cube cores read one cold tile: the second finds the lines on their way and waits for them.
TEST(Clock, LinesOnTheirWay) {
  machine::Machine machine = plainChip();
  machine.singleCoreHbmBytesPerCycle = 40;
  auto cores = [&](bool isShared) {
    std::vector<CoreRecords> all;
    for (int i = 0; i < 2; ++i) {
      RecordBuilder core(CoreKind::AIC, i);
      core.read(isShared ? 0 : uint64_t(i) << 20, 64, 1024, 4096);
      all.push_back(core.core);
    }
    return timeCores(all, machine);
  };
  const RunResult apart = cores(false), shared = cores(true);
  EXPECT_EQ(shared.timing.hbmBytes, apart.timing.hbmBytes / 2);
  EXPECT_NEAR(busy(shared, Pipe::MTE2, CoreKind::AIC), busy(apart, Pipe::MTE2, CoreKind::AIC),
              machine.mte2LatencyMiss)
      << "no faster for being second";
}

TEST(Clock, CubeCoresShareAFeed) {
  machine::Machine machine = plainChip();
  auto cycles = [&](double limit) {
    machine.aicL2BytesPerCycle = limit;
    std::vector<CoreRecords> cores;
    for (int i = 0; i < 20; ++i) {
      RecordBuilder core(CoreKind::AIC, i);
      for (int turn = 0; turn < 64; ++turn)
        core.read(uint64_t(i) << 16, 32, 2048, 2048);
      cores.push_back(core.core);
    }
    return timeCores(cores, machine).timing.cycles;
  };
  const double bytes = 20.0 * 64 * 65536;
  EXPECT_NEAR(cycles(1000), bytes / 1000, 0.03 * bytes / 1000);
  EXPECT_LT(cycles(3800), 0.7 * cycles(1000));
}

/// A launch is as wide as the cores that have something to do.
TEST(Clock, IdleCoresAreNotCounted) {
  machine::Machine machine = plainChip();
  RecordBuilder works(CoreKind::AIV, 0), idles(CoreKind::AIV, 1);
  works.compute(Pipe::V, 1000);
  idles.set(Pipe::V, Pipe::MTE2, 0).wait(Pipe::V, Pipe::MTE2, 0);
  const RunResult result = timeCores({works.core, idles.core}, machine);
  EXPECT_EQ(result.timing.aivCount, 1);
  EXPECT_NEAR(result.timing.launchMicroseconds, machine.launchA + machine.launchB, 1e-9);
  EXPECT_NEAR(busy(result, Pipe::V, CoreKind::AIV), 1000, 1e-9) << "mean over those that ran";
}

TEST(Clock, CrossCoreFlags) {
  machine::Machine machine = plainChip();
  RecordBuilder cube(CoreKind::AIC, 0), first(CoreKind::AIV, 0, 0), second(CoreKind::AIV, 0, 1);
  cube.compute(Pipe::FIX, 1000).blockSet(Pipe::FIX, 1);
  cube.blockWait(Pipe::MTE2, 2).compute(Pipe::MTE2, 10);
  first.blockWait(Pipe::MTE2, 1).compute(Pipe::MTE2, 100).blockSet(Pipe::MTE2, 2);
  second.blockWait(Pipe::MTE2, 1).compute(Pipe::MTE2, 300).blockSet(Pipe::MTE2, 2);
  // Vector cores first in the list: they park until the cube core has set its flag.
  RunResult result = timeCores({first.core, second.core, cube.core}, machine);
  EXPECT_TRUE(result.findings.empty());
  EXPECT_NEAR(result.timing.cycles, 2 + 1000 + machine.blockFlag + 300 + machine.blockFlag + 10,
              1e-6);
  EXPECT_EQ(result.timing.aivCount, 2);
  ASSERT_EQ(result.cores.size(), 3u);
  EXPECT_EQ(result.cores[1].sub, 1);
}

TEST(Clock, DeadlockIsReported) {
  machine::Machine machine = plainChip();
  RecordBuilder cube(CoreKind::AIC, 0), first(CoreKind::AIV, 0, 0), second(CoreKind::AIV, 0, 1);
  cube.blockWait(Pipe::MTE2, 5).blockSet(Pipe::FIX, 1);
  first.blockWait(Pipe::MTE2, 1).blockSet(Pipe::MTE3, 5);
  second.blockWait(Pipe::MTE2, 1).blockSet(Pipe::MTE3, 5);
  RunResult result = timeCores({cube.core, first.core, second.core}, machine);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].kind, FindingKind::Deadlock);
  EXPECT_EQ(
      result.findings[0].message,
      "cores wait for each other: AIC 0 waits for cross-core flag 5 of its partner; AIV 0 waits "
      "for cross-core flag 1 of its partner; AIV 0.1 waits for cross-core flag 1 of its partner");
  RecordBuilder alone(CoreKind::AIV, 0);
  alone.wait(Pipe::V, Pipe::MTE2, 0).compute(Pipe::MTE2, 5);
  EXPECT_EQ(timeCore(alone, machine).findings.size(), 1u);
}

TEST(Clock, Deterministic) {
  machine::Machine machine = chip("910b3");
  std::vector<CoreRecords> cores;
  uint64_t seed = 7;
  for (int i = 0; i < 40; ++i) {
    RecordBuilder core(CoreKind::AIV, i);
    for (int turn = 0; turn < 200; ++turn) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      core.read((seed >> 30) & 0xFFFFE0, 8, 1024, 4096).set(Pipe::MTE2, Pipe::V, 0);
      core.wait(Pipe::MTE2, Pipe::V, 0).compute(Pipe::V, static_cast<double>(seed >> 56));
      core.write(Pipe::MTE3, (seed >> 20) & 0xFFFFE0, 1, 4096, 4096);
    }
    cores.push_back(core.core);
  }
  RunResult first = timeCores(cores, machine, true), second = timeCores(cores, machine, true);
  EXPECT_EQ(first.timing.cycles, second.timing.cycles);
  EXPECT_EQ(first.timing.hbmBytes, second.timing.hbmBytes);
  ASSERT_EQ(first.trace.size(), second.trace.size());
  for (size_t i = 0; i < first.trace.size(); ++i)
    ASSERT_EQ(first.trace[i].end, second.trace[i].end);
}

TEST(Clock, LineCyclesAndTrace) {
  Program program;
  program.name = "say \"add\"";
  program.locations = {{"kernel.py", 7, 3}, {"kernel.py", 9, 3}};
  program.aiv.code.resize(1);
  program.aiv.templates.resize(2);
  program.aiv.templates[0].location = 0;
  program.aiv.templates[0].label = "copy A_ub <- A";
  program.aiv.templates[1].location = 1;
  program.aiv.templates[1].label = "add";
  RecordBuilder core(CoreKind::AIV, 0);
  core.read(0, 1, 4096, 4096).compute(Pipe::V, 250).compute(Pipe::V, 50);
  core.core.records[0].templateId = 0;
  core.core.records[1].templateId = core.core.records[2].templateId = 1;
  machine::Machine machine = plainChip();
  RunResult result;
  timeLaunch(program, {core.core}, machine, {.trace = true}, result);
  ASSERT_EQ(result.lineCycles.size(), 2u);
  EXPECT_EQ(result.lineCycles[1], 300u);
  ASSERT_EQ(result.trace.size(), 3u);
  EXPECT_EQ(result.trace[0].bytes, 4096u);

  const std::string path = testing::TempDir() + "tilewright_trace.json";
  EXPECT_EQ(writeTrace(program, result, machine, path), "");
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  EXPECT_NE(text.str().find("\"kernel\":\"say \\\"add\\\"\""), std::string::npos);
  EXPECT_NE(text.str().find("\"name\":\"copy A_ub <- A\""), std::string::npos);
  EXPECT_NE(text.str().find("\"line\":\"kernel.py:7\",\"bytes\":4096"), std::string::npos);
  EXPECT_NE(text.str().find("\"args\":{\"name\":\"AIV 0\"}"), std::string::npos);
  EXPECT_EQ(writeTrace(program, result, machine, "/no/such/place/t.json"),
            "trace file /no/such/place/t.json cannot be written: No such file or directory");
}

} // namespace
