// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Clock.h"
#include "tilewright/sim/EngineGroup.h"

#include <algorithm>

using namespace tilewright::sim;

namespace {

/// Scalar work below this many cycles waits for more before it becomes a record of its own.
constexpr int64_t kScalarGrain = 8;

/// The GM side of a transfer: contiguous dimensions fold into the row, the next two become rows and
/// planes; whatever is left repeats the whole (callers emit one record each).
struct Folded {
  GmTraffic gm;
  int outer = 0; ///< remaining dimensions, innermost first
  std::array<int64_t, kMaxRank> sizes{}, strides{};
};

Folded fold(const ResolvedView &view, uint64_t address) {
  int64_t bytes = byteSize(view.type);
  struct Dim {
    int64_t size, stride;
  };
  std::array<Dim, kMaxRank> dims;
  int count = 0;
  Folded result;
  for (int d = view.rank - 1; d >= 0; --d) {
    if (view.sizes[d] == 1 || view.strides[d] == 0)
      continue;
    int64_t stride = view.strides[d] * bytes;
    if (stride < 0) {
      address -= uint64_t(-stride) * uint64_t(view.sizes[d] - 1);
      stride = -stride;
    }
    int place = count++;
    for (; place > 0 && dims[place - 1].stride > stride; --place)
      dims[place] = dims[place - 1];
    dims[place] = {view.sizes[d], stride};
  }
  int64_t row = bytes;
  int next = 0;
  while (next < count && dims[next].stride == row)
    row *= dims[next++].size;
  // Rows that follow each other without a gap beyond the first were folded; equal spacing of an
  // outer dimension folds into the inner one.
  auto take = [&](int64_t &size, int64_t &stride) {
    size = 1;
    stride = 0;
    if (next == count)
      return;
    size = dims[next].size;
    stride = dims[next++].stride;
    while (next < count && dims[next].stride == stride * size)
      size *= dims[next++].size;
  };
  int64_t rows, rowStride, planes, planeStride;
  take(rows, rowStride);
  take(planes, planeStride);
  result.gm.address = address;
  result.gm.rowBytes = uint32_t(row);
  result.gm.rows = uint32_t(rows);
  result.gm.stride = uint64_t(rows > 1 ? rowStride : row);
  result.gm.planes = uint32_t(planes);
  result.gm.planeStride = uint64_t(planeStride);
  for (; next < count; ++next) {
    result.sizes[result.outer] = dims[next].size;
    result.strides[result.outer++] = dims[next].stride;
  }
  return result;
}

/// Adds the multiply-adds of an Mmad to those of its core.
void countProducts(CoreRecords &core, const ResolvedOp &op) {
  const double k = double(op.operands[1].sizes[op.flags & kTransposeA ? 0 : 1]);
  const unsigned bytes = byteSize(op.operands[1].type);
  double &macs = bytes == 1 ? core.macs8 : bytes == 2 ? core.macs16 : core.macs32;
  macs += double(op.operands[0].sizes[0]) * double(op.operands[0].sizes[1]) * k;
}

} // namespace

void Group::recordScalarWork(CoreRun &core) {
  if (!launch.options.time)
    return;
  int64_t cycles = core.vm.executed - core.scalarMark;
  if (cycles < kScalarGrain)
    return;
  core.scalarMark = core.vm.executed;
  Record &record = core.records.records.emplace_back();
  record.kind = RecordKind::ScalarWork;
  record.cycles = float(cycles);
}

void Group::recordSync(CoreRun &core, RecordKind kind, Pipe pipe, Pipe other, int64_t id) {
  if (!launch.options.time)
    return;
  recordScalarWork(core);
  Record &record = core.records.records.emplace_back();
  record.kind = kind;
  record.pipe = pipe;
  record.other = other;
  record.id = uint8_t(id);
}

void Group::recordBlock(CoreRun &core) {
  if (!launch.options.time)
    return;
  recordScalarWork(core);
  Record &record = core.records.records.emplace_back();
  record.kind = RecordKind::BeginBlock;
  record.gm.address = uint64_t(core.block);
}

void Group::recordIssue(CoreRun &core, const Prepared &prepared) {
  recordScalarWork(core);
  const ResolvedOp &op = prepared.op;
  Record record;
  record.pipe = prepared.pipe;
  record.templateId = prepared.index;

  int gmOperand = -1;
  for (int k = 0; k < op.numOperands; ++k)
    if (prepared.operands[k].space == Space::GM)
      gmOperand = k;

  if (op.op == TileOp::Mmad || prepared.pipe == Pipe::S || gmOperand < 0) {
    record.kind = op.op == TileOp::Mmad      ? RecordKind::Mmad
                  : prepared.pipe == Pipe::S ? RecordKind::ScalarWork
                                             : RecordKind::Compute;
    if (op.op == TileOp::Mmad)
      countProducts(core.records, op);
    record.cost = scratch.costs->entryOf(op);
    core.records.records.push_back(record);
    return;
  }

  const PreparedOperand &operand = prepared.operands[gmOperand];
  if (operand.low == operand.high)
    return;
  record.kind = RecordKind::Transfer;
  record.write = operand.isWritten;
  record.atomic = isAtomic(op.op);
  record.bypass = op.op == TileOp::Load && (op.flags & kBypassL2);
  record.workspace = operand.tensor == kWorkspace;
  uint64_t address =
      launch.gm.at(operand.tensor).address + uint64_t(operand.base) * uint64_t(operand.unit);
  Folded folded = fold(op.operands[gmOperand], address);
  record.gm = folded.gm;
  std::array<int64_t, kMaxRank> at{};
  for (;;) {
    core.records.records.push_back(record);
    int d = 0;
    for (; d < folded.outer; ++d) {
      record.gm.address += uint64_t(folded.strides[d]);
      if (++at[d] < folded.sizes[d])
        break;
      record.gm.address -= uint64_t(folded.strides[d] * folded.sizes[d]);
      at[d] = 0;
    }
    if (d == folded.outer)
      return;
  }
}
