// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/machine/Machine.h"
#include "tilewright/sim/Clock.h"
#include "tilewright/sim/Kernels.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tilewright::sim::test {

/// Writes the records of one core by hand.
class RecordBuilder {
public:
  RecordBuilder(CoreKind kind, int32_t group, int32_t sub = 0) {
    core.kind = kind;
    core.group = group;
    core.sub = sub;
    core.table = std::make_shared<RecordTable>();
  }

  RecordBuilder &compute(Pipe pipe, double cycles) {
    add(RecordKind::Compute, pipe).setCycles(static_cast<float>(cycles));
    core.works = true;
    return *this;
  }
  RecordBuilder &mmad(int64_t m, int64_t n, int64_t k, DType type = DType::F16) {
    ResolvedOp op;
    op.op = TileOp::Mmad;
    op.numOperands = 3;
    op.operands[0].sizes = {m, n};
    op.operands[1].sizes = {m, k};
    op.operands[1].type = type;
    Record &record = add(RecordKind::Mmad, Pipe::M);
    record.hasCost = true;
    record.entry = core.table->costOf(op);
    core.works = true;
    return *this;
  }
  RecordBuilder &read(const GmTraffic &traffic, bool isWorkspace = false) {
    return transfer(Pipe::MTE2, traffic, {.workspace = isWorkspace});
  }
  RecordBuilder &read(uint64_t address, uint32_t rows, uint32_t rowBytes, uint64_t stride) {
    return read({address, rows, rowBytes, stride});
  }
  RecordBuilder &write(Pipe pipe, uint64_t address, uint32_t rows, uint32_t rowBytes,
                       uint64_t stride) {
    return transfer(pipe, {address, rows, rowBytes, stride}, {.write = true});
  }
  RecordBuilder &set(Pipe from, Pipe to, uint8_t id, bool unit = false) {
    flag(RecordKind::SetFlag, from, to, id);
    core.records.back().isUnit = unit;
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
    add(RecordKind::ScalarWork, Pipe::S).setCycles(static_cast<float>(cycles));
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
  RecordBuilder &transfer(Pipe pipe, const GmTraffic &traffic, TransferShape shape) {
    shape.gm = traffic;
    shape.gm.address = 0;
    core.transfer(pipe, -1, traffic.address, core.table->shapeOf(shape));
    return *this;
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
  timeLaunch(Program(), cores, machine, {.trace = wantTrace}, result);
  return result;
}

/// The same for one core.
inline RunResult timeCore(const RecordBuilder &core, const machine::Machine &machine,
                          bool wantTrace = false) {
  return timeCores({core.core}, machine, wantTrace);
}

} // namespace tilewright::sim::test
