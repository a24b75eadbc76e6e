// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/ClockSample.h"

#include <algorithm>
#include <array>

using namespace tilewright::sim;
using tilewright::machine::Machine;

namespace {

/// What blocks took that the caches have settled for.
struct Steady {
  double cycles = 0, hbmBytes = 0, events = 0;

  double perEvent(double sum) const { return events > 0 ? sum / events : 0; }
};

/// Bytes that go back to the HBM because the L2 is full: of what `written` and `read` bring into
/// it, its capacity stays there.
double evictedBytes(double written, double read, const Machine &chip) {
  const double capacity = double(chip.l2Bytes) * chip.l2EffectiveFraction;
  return written * std::max(0.0, 1 - capacity / std::max(1.0, written + read));
}

} // namespace

void tilewright::sim::extrapolate(const std::vector<SampledCore> &cores, const Machine &chip,
                                  RunResult &result) {
  std::array<Steady, 2> steady; // by kind of core
  double timedEvents = 0, allEvents = 0, hbmBytes = 0;
  for (const SampledCore &core : cores) {
    timedEvents += double(core.waves.timedEvents);
    allEvents += double(core.waves.timedEvents + core.waves.leftOutEvents);
    hbmBytes += core.atEnd.hbmBytes;
    if (core.waves.timed <= core.waves.warming)
      continue;
    Steady &sum = steady[size_t(core.kind)];
    sum.cycles += core.atEnd.cycles - core.warm.cycles;
    sum.hbmBytes += core.atEnd.hbmBytes - core.warm.hbmBytes;
    sum.events += double(core.waves.timedEvents - core.waves.warmingEvents);
  }

  Timing &timing = result.timing;
  double cycles = timing.cycles, laterBytes = 0;
  for (const SampledCore &core : cores) {
    const Steady &sum = steady[size_t(core.kind)];
    const double leftOut = double(core.waves.leftOutEvents);
    cycles = std::max(cycles, core.atEnd.cycles + sum.perEvent(sum.cycles) * leftOut);
    laterBytes += sum.perEvent(sum.hbmBytes) * leftOut;
    timing.timedWaves = std::max(timing.timedWaves, core.waves.timed);
  }
  const double more = timedEvents > 0 ? allEvents / timedEvents : 1;
  const double written = more * double(timing.gmWriteBytes - timing.workspaceWriteBytes);
  const double evicted = evictedBytes(written, hbmBytes + laterBytes, chip);
  const double hbmCycles = (laterBytes + evicted * chip.hbmEvictFactor) / chip.hbmBytesPerCycle;
  cycles = std::max(cycles, timing.cycles + hbmCycles);

  const double longer = timing.cycles > 0 ? cycles / timing.cycles : 1;
  timing.cycles = cycles;
  timing.microseconds *= longer;
  for (unsigned pipe = 0; pipe < kNumPipes; ++pipe) {
    timing.aic[pipe].busyCycles *= longer;
    timing.aiv[pipe].busyCycles *= longer;
  }
  timing.hbmBytes += uint64_t(laterBytes + evicted);
  auto grow = [&](uint64_t &count) { count = uint64_t(double(count) * more); };
  for (uint64_t *bytes : {&timing.gmReadBytes, &timing.gmWriteBytes, &timing.workspaceReadBytes,
                          &timing.workspaceWriteBytes})
    grow(*bytes);
  for (uint64_t &count : result.lineCycles)
    grow(count);
}
