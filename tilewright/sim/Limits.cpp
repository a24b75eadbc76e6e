// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Limits.h"

#include "tilewright/sim/Names.h"

#include <algorithm>
#include <bit>

using namespace tilewright::sim;

namespace {

/// Which bytes of GM were touched, in grains of what one transfer moves at least.
class Touched {
public:
  static constexpr uint64_t kGrain = 32;

  /// Adds what is not in `apart`.
  void add(uint64_t address, uint64_t bytes, const Touched *apart) {
    uint64_t last = (address + bytes - 1) / kGrain;
    if (last / 64 >= words.size())
      words.resize(std::max<size_t>(last / 64 + 1, words.size() * 2));
    for (uint64_t at = address / kGrain; at <= last;) {
      uint64_t count = std::min<uint64_t>(64 - at % 64, last - at + 1);
      uint64_t mask = count == 64 ? ~uint64_t(0) : ((uint64_t(1) << count) - 1) << at % 64;
      if (apart && at / 64 < apart->words.size())
        mask &= ~apart->words[at / 64];
      words[at / 64] |= mask;
      at += count;
    }
  }

  uint64_t bytes() const {
    uint64_t grains = 0;
    for (uint64_t word : words)
      grains += uint64_t(std::popcount(word));
    return grains * kGrain;
  }

private:
  std::vector<uint64_t> words;
};

void add(Touched &touched, const GmTraffic &gm, uint64_t address, const Touched *apart = nullptr) {
  if (!gm.rowBytes)
    return;
  for (uint64_t plane = 0; plane < gm.planes; ++plane)
    for (uint64_t row = 0; row < gm.rows; ++row)
      touched.add(address + plane * gm.planeStride + row * gm.stride, gm.rowBytes, apart);
}

} // namespace

Limits tilewright::sim::limitsOf(const std::vector<CoreRecords> &records, const Timing &timing,
                                 const machine::Machine &chip) {
  Limits limits;
  Touched read, written;
  double macs8 = 0, macs16 = 0, macs32 = 0;
  for (const CoreRecords &core : records) {
    macs8 += core.macs8;
    macs16 += core.macs16;
    macs32 += core.macs32;
    for (const Record &record : core.records) {
      if (record.kind != RecordKind::Transfer)
        continue;
      const TransferShape &shape = core.table->shapes()[record.entry];
      if (shape.workspace)
        continue;
      if (shape.write)
        add(written, shape.gm, record.address);
      else
        add(read, shape.gm, record.address, &written);
    }
  }
  limits.flops = 2 * (macs8 + macs16 + macs32);
  limits.readBytes = read.bytes();
  limits.writtenBytes = written.bytes();
  double cubeCycles =
      (macs8 / chip.macsI8 + macs16 / chip.macsF16 + macs32 / chip.macsF32) / chip.aicCount;
  limits.cubeMicroseconds = cubeCycles / chip.clockMHz;
  limits.memoryMicroseconds =
      double(limits.readBytes + limits.writtenBytes) / chip.hbmPeakBytesPerCycle / chip.clockMHz;

  auto offer = [&](const std::string &pipe, double cycles) {
    if (cycles / chip.clockMHz <= limits.pipeMicroseconds)
      return;
    limits.pipe = pipe;
    limits.pipeMicroseconds = cycles / chip.clockMHz;
  };
  for (unsigned pipe = 0; pipe < kNumPipes; ++pipe) {
    offer(std::string("AIC ") + nameOf(Pipe(pipe)), timing.aic[pipe].busyCycles);
    offer(std::string("AIV ") + nameOf(Pipe(pipe)), timing.aiv[pipe].busyCycles);
  }
  offer("HBM", double(timing.hbmBytes) / chip.hbmBytesPerCycle);
  return limits;
}
