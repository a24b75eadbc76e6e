// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RecordBuilder.h"

#include "tilewright/sim/L2.h"

#include <gtest/gtest.h>

#include <random>

using namespace tilewright;
using namespace tilewright::sim;
using namespace tilewright::sim::test;

namespace {

/// A cache of `lines` lines in all, so that it is one set of that many ways.
machine::Machine tinyCache(int lines) {
  machine::Machine machine = chip("910b3");
  machine.l2Bytes = lines * 512;
  machine.l2EffectiveFraction = 1;
  machine.l2Ways = lines;
  return machine;
}

GmTraffic lineAt(uint64_t line) { return {line * 512, 1, 512, 512}; }

TEST(L2, LeastRecentlyUsed) {
  L2Cache cache(tinyCache(4), 0);
  for (uint64_t line : {0, 1, 2, 3})
    EXPECT_EQ(cache.access(lineAt(line), false).missedSectors, 4u);
  EXPECT_EQ(cache.access(lineAt(0), false).missedSectors, 0u);
  EXPECT_EQ(cache.access(lineAt(4), false).missedSectors, 4u); // drops 1
  EXPECT_EQ(cache.access(lineAt(0), false).missedSectors, 0u);
  EXPECT_EQ(cache.access(lineAt(2), false).missedSectors, 0u);
  EXPECT_EQ(cache.access(lineAt(1), false).missedSectors, 4u);
}

TEST(L2, Sectors) {
  L2Cache cache(tinyCache(4), 0);
  EXPECT_EQ(cache.access({0, 1, 128, 128}, false).missedSectors, 1u);
  EXPECT_EQ(cache.access({0, 1, 512, 512}, false).missedSectors, 3u);
  // 200 bytes from 100 on touch three sectors of 128.
  L2Access access = cache.access({512 + 100, 1, 200, 200}, false);
  EXPECT_EQ(access.missedSectors, 3u);
  EXPECT_EQ(access.chargedBytes, 3 * 128);
  EXPECT_EQ(access.bytes, 200u);
}

TEST(L2, WriteBack) {
  L2Cache cache(tinyCache(2), 0);
  EXPECT_EQ(cache.access({0, 1, 256, 256}, true).missedSectors, 0u);
  EXPECT_EQ(cache.access({0, 1, 256, 256}, false).missedSectors, 0u) << "written, so present";
  EXPECT_EQ(cache.access(lineAt(1), false).evictedDirtyBytes, 0);
  EXPECT_EQ(cache.access(lineAt(2), false).evictedDirtyBytes, 256);
  EXPECT_EQ(cache.access(lineAt(3), false).evictedDirtyBytes, 0) << "clean line";
}

TEST(L2, RowsAndAlignment) {
  machine::Machine machine = chip("910b3");
  L2Cache cache(machine, 0);
  EXPECT_EQ(cache.access({0, 8, 1024, 4096}, false).chargedBytes, 8192);
  // 1024 bytes from 256 on touch three lines; the half line too much at either end has its price.
  EXPECT_NEAR(cache.access({256, 8, 1024, 4096}, false).chargedBytes,
              8 * (1024 + 512 * machine.unalignedLineFactor), 1e-9);
  EXPECT_EQ(cache.access({0, 8, 1024, 4096}, false).rows, 8u);
  EXPECT_EQ(cache.access({0, 8, 1024, 1024}, false).rows, 16u) << "contiguous: one per line";
  EXPECT_EQ(cache.access({0, 8, 1024, 1024}, false).runs, 1u);
  EXPECT_EQ(cache.access({0, 8, 1024, 4096}, false).runs, 8u);
  EXPECT_EQ(cache.access({0, 8, 1024, 4096, 3, 65536}, false).rows, 24u);
  EXPECT_EQ(cache.access({0, 0, 1024, 4096}, false).bytes, 0u);
}

/// Miss share of a walk over `bytes` bytes that is done twice.
double secondPassMisses(unsigned shift, uint64_t bytes) {
  L2Cache cache(chip("910b3"), shift);
  uint64_t sectors = 0, missed = 0;
  for (int pass = 0; pass < 2; ++pass)
    for (uint64_t at = 0; at < bytes; at += 65536) {
      L2Access access = cache.access({at, 1, 65536, 65536}, false);
      sectors += pass * access.sampledSectors;
      missed += pass * access.missedSectors;
    }
  return static_cast<double>(missed) / static_cast<double>(sectors);
}

TEST(L2, SamplingIsCloseToExact) {
  EXPECT_LT(secondPassMisses(0, 64 << 20), 0.01);
  EXPECT_LT(secondPassMisses(4, 64 << 20), 0.01);
  EXPECT_GT(secondPassMisses(4, 256 << 20), 0.97);
  // Near the capacity of 139 MB the share in between agrees too.
  EXPECT_NEAR(secondPassMisses(4, 140u << 20), secondPassMisses(0, 140u << 20), 0.05);
}

/// What fits easily is followed by a bit per sector, to the same result.
TEST(L2, SmallLaunchesAreExact) {
  constexpr uint64_t kEnd = 16 << 20;
  L2Cache lines(chip("910b3"), 0), bits(chip("910b3"), 0, kEnd);
  std::mt19937 random(5);
  for (int turn = 0; turn < 2000; ++turn) {
    GmTraffic traffic;
    const bool aligned = random() % 2;
    traffic.address = random() % (kEnd / 2) / (aligned ? 512 : 1) * (aligned ? 512 : 1);
    traffic.rows = 1 + random() % 16;
    traffic.rowBytes = 1 + random() % 3000;
    traffic.stride = (traffic.rowBytes + random() % 4096 + 511) / 512 * 512;
    traffic.planes = 1 + random() % 3;
    traffic.planeStride = random() % 4096 * 512;
    const bool write = random() % 2;
    const L2Access a = lines.access(traffic, write), b = bits.access(traffic, write);
    ASSERT_EQ(a.missedSectors, b.missedSectors) << turn;
    ASSERT_EQ(a.sampledSectors, b.sampledSectors) << turn;
    ASSERT_EQ(a.chargedBytes, b.chargedBytes) << turn;
    ASSERT_EQ(a.rows, b.rows) << turn;
    ASSERT_EQ(a.evictedDirtyBytes + b.evictedDirtyBytes, 0) << turn;
  }
}

/// A transfer that comes again is answered from memory, as if it were walked through.
TEST(L2, TransfersThatComeAgain) {
  constexpr uint64_t kEnd = 4 << 20;
  L2Cache named(chip("910b3"), 0, kEnd), walked(chip("910b3"), 0, kEnd);
  std::mt19937 random(6);
  double now = 0;
  for (int turn = 0; turn < 4000; ++turn) {
    const uint32_t shape = random() % 5;
    const GmTraffic traffic{random() % 48 * 4096, 2 + 3 * shape, 512 * (1 + shape % 2), 4096};
    const bool write = shape == 3, bypass = shape == 4;
    const L2Access a = named.access(traffic, write, bypass, now, shape),
                   b = walked.access(traffic, write, bypass, now);
    ASSERT_EQ(a.missedSectors, b.missedSectors) << turn;
    ASSERT_EQ(a.sampledSectors, b.sampledSectors) << turn;
    ASSERT_EQ(a.chargedBytes, b.chargedBytes) << turn;
    ASSERT_EQ(a.bytes, b.bytes) << turn;
    ASSERT_EQ(a.rows, b.rows) << turn;
    ASSERT_EQ(a.runs, b.runs) << turn;
    ASSERT_EQ(std::max(now, a.pendingUntil), std::max(now, b.pendingUntil)) << turn;
    if (a.missedSectors && !bypass) {
      const double there = now + double(random() % 500);
      named.fetched(there);
      walked.fetched(there);
    }
    now += double(random() % 20);
  }
}

/// Rows that follow each other with a bit in between share their first sectors: all of it is cold.
TEST(L2, RowsInTheMiddleOfSectors) {
  for (uint64_t end : {uint64_t(0), uint64_t(1) << 20}) {
    L2Cache cache(chip("910b3"), 0, end);
    L2Access all;
    for (uint64_t row = 0; row < 64; ++row) {
      const L2Access access = cache.access({row * 510 + 2, 1, 510, 510}, false);
      all.sampledSectors += access.sampledSectors;
      all.missedSectors += access.missedSectors;
    }
    EXPECT_NEAR(double(all.missedSectors) / double(all.sampledSectors), 1, 0.02) << end;
  }
}

TEST(L2, BypassLeavesNothing) {
  for (uint64_t end : {uint64_t(0), uint64_t(1) << 20}) {
    L2Cache cache(chip("910b3"), 0, end);
    EXPECT_EQ(cache.access(lineAt(0), false, true).missedSectors, 4u);
    EXPECT_EQ(cache.access(lineAt(0), false, true).missedSectors, 4u) << "as before";
    EXPECT_EQ(cache.access(lineAt(0), false).missedSectors, 4u);
    EXPECT_EQ(cache.access(lineAt(0), false, true).missedSectors, 0u) << "takes what is there";
  }
}

TEST(L2, WhatIsBeingFetchedIsWaitedFor) {
  for (uint64_t end : {uint64_t(0), uint64_t(1) << 20}) {
    L2Cache cache(chip("910b3"), 0, end);
    EXPECT_EQ(cache.access(lineAt(0), false, false, 100).pendingUntil, 0);
    cache.fetched(500);
    const L2Access early = cache.access(lineAt(0), false, false, 200);
    EXPECT_EQ(early.missedSectors, 0u);
    EXPECT_EQ(early.pendingUntil, 500);
    EXPECT_EQ(cache.access(lineAt(1), false, false, 200).pendingUntil, 0) << "another line";
    cache.fetched(700);
    EXPECT_EQ(cache.access(lineAt(0), false, false, 800).pendingUntil, 0) << "it is there";
    EXPECT_EQ(cache.access(lineAt(1), true, false, 300).pendingUntil, 0) << "writes do not wait";
  }
}

/// A transfer that comes to one line several times does not wait for itself.
TEST(L2, NoWaitForItself) {
  for (uint64_t end : {uint64_t(0), uint64_t(1) << 20}) {
    L2Cache cache(chip("910b3"), 0, end);
    cache.access(lineAt(100), false, false, 0);
    cache.fetched(1e6); // so that something is on its way
    const L2Access access = cache.access({0, 8, 128, 256}, false, false, 10);
    EXPECT_EQ(access.missedSectors, 8u);
    EXPECT_EQ(access.pendingUntil, 0);
  }
}

/// Fetches are numbered; when the numbers run out, old ones are forgotten and new ones are not.
TEST(L2, ManyFetches) {
  machine::Machine machine = tinyCache(4);
  L2Cache cache(machine, 0);
  for (int turn = 0; turn < (1 << 20) + 10; ++turn) {
    ASSERT_EQ(cache.access(lineAt(uint64_t(turn) % 64), false, false, turn).pendingUntil, 0);
    cache.fetched(turn + 1);
  }
  cache.access(lineAt(100), false, false, 2e6);
  cache.fetched(3e6);
  EXPECT_EQ(cache.access(lineAt(100), false, false, 2e6).pendingUntil, 3e6);
}

} // namespace
