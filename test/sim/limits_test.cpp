// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Limits.h"

#include "ProgramBuilder.h"
#include "RecordBuilder.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::sim;
using namespace tilewright::sim::test;

namespace {

RecordBuilder vectorCore() { return {CoreKind::AIV, 0}; }

TEST(Limits, CountEachByteOnce) {
  RecordBuilder core = vectorCore(), other = vectorCore();
  core.read(0, 4, 64, 256).read(0, 4, 64, 256).read(64, 1, 4096, 4096);
  core.write(Pipe::MTE3, 8192, 2, 32, 64);
  other.read(0, 1, 2048, 2048).write(Pipe::MTE3, 8192, 1, 32, 32);
  Limits limits = limitsOf({core.core, other.core}, Timing(), smallChip());
  EXPECT_EQ(limits.readBytes, 64u + 4096);
  EXPECT_EQ(limits.writtenBytes, 64u);
}

TEST(Limits, PlanesAndPartsOfAGrain) {
  auto bytes = [](const GmTraffic &traffic) {
    RecordBuilder core = vectorCore();
    core.read(traffic);
    return limitsOf({core.core}, Timing(), smallChip()).readBytes;
  };
  EXPECT_EQ(bytes({0, 2, 32, 64, 3, 1024}), 6u * 32);
  EXPECT_EQ(bytes({30, 1, 4, 4}), 64u) << "over the border of two grains";
  EXPECT_EQ(bytes({0, 0, 0, 0}), 0u);
}

TEST(Limits, WhatIsReadBackOrExchangedIsNoInput) {
  RecordBuilder core = vectorCore();
  core.write(Pipe::MTE3, 0, 1, 64, 64).read(0, 1, 128, 128);
  core.read({1 << 20, 1, 512, 512}, /*isWorkspace=*/true);
  Limits limits = limitsOf({core.core}, Timing(), smallChip());
  EXPECT_EQ(limits.readBytes, 64u);
  EXPECT_EQ(limits.writtenBytes, 64u);
  // In place: read first.
  RecordBuilder inPlace = vectorCore();
  inPlace.read(0, 1, 64, 64).write(Pipe::MTE3, 0, 1, 64, 64);
  EXPECT_EQ(limitsOf({inPlace.core}, Timing(), smallChip()).readBytes, 64u);
}

TEST(Limits, Times) {
  machine::Machine chip = smallChip(4);
  RecordBuilder builder = vectorCore();
  builder.read(0, 1, 1 << 20, 1 << 20);
  CoreRecords &core = builder.core;
  core.macs16 = 4 * chip.macsF16 * chip.clockMHz; // a microsecond
  core.macs32 = chip.macsF32 * 4 * chip.clockMHz; // another one
  core.macs8 = chip.macsI8 * 4 * chip.clockMHz;   // and another
  Timing timing;
  timing.aic[int(Pipe::MTE1)].busyCycles = chip.clockMHz;
  timing.aiv[int(Pipe::V)].busyCycles = 2 * chip.clockMHz;
  Limits limits = limitsOf({core}, timing, chip);
  EXPECT_DOUBLE_EQ(limits.cubeMicroseconds, 3);
  EXPECT_DOUBLE_EQ(limits.flops, 2 * (core.macs8 + core.macs16 + core.macs32));
  EXPECT_NEAR(limits.memoryMicroseconds, (1 << 20) / 1.6e6, 1e-3);
  EXPECT_EQ(limits.pipe, "AIV V");
  EXPECT_DOUBLE_EQ(limits.pipeMicroseconds, 2);
  timing.hbmBytes = uint64_t(3 * chip.hbmBytesPerCycle * chip.clockMHz);
  limits = limitsOf({core}, timing, chip);
  EXPECT_EQ(limits.pipe, "HBM");
  EXPECT_NEAR(limits.pipeMicroseconds, 3, 1e-3);
}

} // namespace
