// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Limits.h"

#include "ProgramBuilder.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::sim;
using namespace tilewright::sim::test;

namespace {

Record transfer(uint64_t address, uint32_t rows, uint32_t rowBytes, uint64_t stride, bool write) {
  Record record;
  record.kind = RecordKind::Transfer;
  record.pipe = write ? Pipe::MTE3 : Pipe::MTE2;
  record.write = write;
  record.gm.address = address;
  record.gm.rows = rows;
  record.gm.rowBytes = rowBytes;
  record.gm.stride = stride;
  return record;
}

TEST(Limits, CountEachByteOnce) {
  CoreRecords core, other;
  core.records = {transfer(0, 4, 64, 256, false), transfer(0, 4, 64, 256, false),
                  transfer(64, 1, 4096, 4096, false), transfer(8192, 2, 32, 64, true)};
  other.records = {transfer(0, 1, 2048, 2048, false), transfer(8192, 1, 32, 32, true)};
  Limits limits = limitsOf({core, other}, Timing(), smallChip());
  EXPECT_EQ(limits.readBytes, 64u + 4096);
  EXPECT_EQ(limits.writtenBytes, 64u);
}

TEST(Limits, PlanesAndPartsOfAGrain) {
  CoreRecords core;
  core.records = {transfer(0, 2, 32, 64, false)};
  core.records[0].gm.planes = 3;
  core.records[0].gm.planeStride = 1024;
  EXPECT_EQ(limitsOf({core}, Timing(), smallChip()).readBytes, 6u * 32);
  core.records = {transfer(30, 1, 4, 4, false)}; // over the border of two grains
  EXPECT_EQ(limitsOf({core}, Timing(), smallChip()).readBytes, 64u);
  core.records = {transfer(0, 0, 0, 0, false)};
  EXPECT_EQ(limitsOf({core}, Timing(), smallChip()).readBytes, 0u);
}

TEST(Limits, WhatIsReadBackOrExchangedIsNoInput) {
  CoreRecords core;
  core.records = {transfer(0, 1, 64, 64, true), transfer(0, 1, 128, 128, false)};
  core.records.push_back(transfer(1 << 20, 1, 512, 512, false));
  core.records.back().workspace = true;
  Limits limits = limitsOf({core}, Timing(), smallChip());
  EXPECT_EQ(limits.readBytes, 64u);
  EXPECT_EQ(limits.writtenBytes, 64u);
  // In place: read first.
  core.records = {transfer(0, 1, 64, 64, false), transfer(0, 1, 64, 64, true)};
  EXPECT_EQ(limitsOf({core}, Timing(), smallChip()).readBytes, 64u);
}

TEST(Limits, Times) {
  machine::Machine chip = smallChip(4);
  CoreRecords core;
  core.macs16 = 4 * chip.macsF16 * chip.clockMHz; // a microsecond
  core.macs32 = chip.macsF32 * 4 * chip.clockMHz; // another one
  core.macs8 = chip.macsI8 * 4 * chip.clockMHz;   // and another
  core.records = {transfer(0, 1, 1 << 20, 1 << 20, false)};
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
