// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/machine/Machine.h"
#include "tilewright/sim/Clock.h"

#include <cstdint>
#include <vector>

namespace tilewright::sim::test {

/// Writes the records of one core by hand.
class RecordBuilder {
public:
  RecordBuilder(CoreKind kind, int32_t group, int32_t sub = 0) {
    core.kind = kind;
    core.group = group;
    core.sub = sub;
  }

  RecordBuilder &compute(Pipe pipe, double cycles) {
    Record &record = add(RecordKind::Compute, pipe);
    record.cycles = static_cast<float>(cycles);
    return *this;
  }
  RecordBuilder &mmad(const MmadCost &cost) {
    Record &record = add(RecordKind::Mmad, Pipe::M);
    record.cycles = static_cast<float>(cost.cube);
    record.mte1Cycles = static_cast<float>(cost.mte1);
    record.chunks = static_cast<uint16_t>(cost.chunks);
    return *this;
  }
  RecordBuilder &read(uint64_t address, uint32_t rows, uint32_t rowBytes, uint64_t stride) {
    add(RecordKind::Transfer, Pipe::MTE2).gm = {address, rows, rowBytes, stride};
    return *this;
  }
  RecordBuilder &write(Pipe pipe, uint64_t address, uint32_t rows, uint32_t rowBytes,
                       uint64_t stride) {
    Record &record = add(RecordKind::Transfer, pipe);
    record.gm = {address, rows, rowBytes, stride};
    record.write = true;
    return *this;
  }
  RecordBuilder &set(Pipe from, Pipe to, uint8_t id, bool unit = false) {
    flag(RecordKind::SetFlag, from, to, id);
    core.records.back().unit = unit;
    return *this;
  }
  RecordBuilder &wait(Pipe from, Pipe to, uint8_t id) {
    return flag(RecordKind::WaitFlag, from, to, id);
  }
  RecordBuilder &barrier(Pipe pipe) {
    add(RecordKind::Barrier, pipe);
    return *this;
  }
  RecordBuilder &blockSet(Pipe pipe, uint8_t id) {
    return flag(RecordKind::BlockSet, pipe, pipe, id);
  }
  RecordBuilder &blockWait(Pipe pipe, uint8_t id) {
    return flag(RecordKind::BlockWait, pipe, pipe, id);
  }
  RecordBuilder &scalarWork(double cycles) {
    add(RecordKind::ScalarWork, Pipe::S).cycles = static_cast<float>(cycles);
    return *this;
  }
  RecordBuilder &scalarSync(Pipe pipe) {
    add(RecordKind::ScalarSync, pipe);
    return *this;
  }

  CoreRecords core;

private:
  Record &add(RecordKind kind, Pipe pipe) {
    Record &record = core.records.emplace_back();
    record.kind = kind;
    record.pipe = pipe;
    return record;
  }
  RecordBuilder &flag(RecordKind kind, Pipe from, Pipe to, uint8_t id) {
    Record &record = add(kind, from);
    record.other = to;
    record.id = id;
    return *this;
  }
};

inline machine::Machine chip(const char *name) { return machine::loadChip(name).machine; }

inline RunResult timeCores(const std::vector<CoreRecords> &cores, const machine::Machine &machine,
                           bool wantTrace = false) {
  RunResult result;
  timeLaunch(Program(), cores, machine, wantTrace, result);
  return result;
}

/// The same for one core.
inline RunResult timeCore(const RecordBuilder &core, const machine::Machine &machine,
                          bool wantTrace = false) {
  return timeCores({core.core}, machine, wantTrace);
}

} // namespace tilewright::sim::test
