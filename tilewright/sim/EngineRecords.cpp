// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/EngineGroup.h"

#include <algorithm>

using namespace tilewright::sim;

namespace {

/// Scalar work below this many cycles waits for more before it becomes a record of its own.
constexpr int64_t kScalarGrain = 8;

/// The GM side of an instruction: contiguous dimensions fold into the row, the next two become rows
/// and planes; whatever is left repeats the whole.
PreparedTraffic fold(const Prepared &prepared, RecordTable &table) {
  const ResolvedOp &op = prepared.op;
  const ResolvedView &view = op.operands[prepared.gmOperand];
  const PreparedOperand &operand = prepared.operands[prepared.gmOperand];
  int64_t bytes = byteSize(view.type);
  struct Dim {
    int64_t size, stride;
  };
  std::array<Dim, kMaxRank> dims;
  int count = 0;
  PreparedTraffic result;
  for (int d = view.rank - 1; d >= 0; --d) {
    if (view.sizes[d] == 1 || view.strides[d] == 0)
      continue;
    int64_t stride = view.strides[d] * bytes;
    if (stride < 0) {
      result.offset += stride * (view.sizes[d] - 1);
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
  TransferShape shape;
  shape.gm.rowBytes = uint32_t(row);
  shape.gm.rows = uint32_t(rows);
  shape.gm.stride = uint64_t(rows > 1 ? rowStride : row);
  shape.gm.planes = uint32_t(planes);
  shape.gm.planeStride = uint64_t(planeStride);
  shape.write = operand.isWritten;
  shape.atomic = isAtomic(op.op);
  shape.bypass = op.op == TileOp::Load && (op.flags & kBypassL2);
  shape.workspace = operand.tensor == kWorkspace;
  result.shape = table.shapeOf(shape);
  for (; next < count; ++next) {
    result.sizes[result.outer] = dims[next].size;
    result.strides[result.outer++] = dims[next].stride;
  }
  return result;
}

/// Entry of an instruction's cost in the table.
uint32_t costOf(Prepared &prepared, RecordTable &table) {
  const ResolvedOp &op = prepared.op;
  for (unsigned k = 0; k < op.numOperands; ++k)
    if (prepared.operands[k].isShapeDynamic)
      return table.costOf(op);
  // The cube's cost does not depend on addresses.
  const unsigned count = op.op == TileOp::Mmad ? 0 : op.numOperands;
  return prepared.costs.at(op, count, [&] { return table.costOf(op); });
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
  int64_t cycles = core.vm.executed - core.scalarMark;
  if (cycles < kScalarGrain || !isRecording(core))
    return;
  core.scalarMark = core.vm.executed;
  Record record;
  record.kind = RecordKind::ScalarWork;
  record.setCycles(float(cycles));
  core.records.add(record);
}

void Group::recordSync(CoreRun &core, RecordKind kind, Pipe pipe, Pipe other, int64_t id) {
  if (!isRecording(core))
    return;
  recordScalarWork(core);
  Record record;
  record.kind = kind;
  record.pipe = pipe;
  record.other = other;
  record.id = uint8_t(id);
  core.records.add(record);
}

void Group::recordBlock(CoreRun &core) {
  if (!isRecording(core))
    return;
  recordScalarWork(core);
  Record record;
  record.kind = RecordKind::BeginBlock;
  record.address = uint64_t(core.block);
  core.records.add(record);
}

void Group::recordIssue(CoreRun &core, Prepared &prepared) {
  recordScalarWork(core);
  const ResolvedOp &op = prepared.op;
  if (op.op != TileOp::Mmad && prepared.pipe != Pipe::S && prepared.gmOperand >= 0)
    return recordTransfer(core, prepared);
  if (op.op == TileOp::Mmad)
    countProducts(core.records, op);
  Record record;
  record.kind = prepared.isMacro           ? RecordKind::Mmad
                : prepared.pipe == Pipe::S ? RecordKind::ScalarWork
                                           : RecordKind::Compute;
  record.pipe = prepared.pipe;
  record.templateId = prepared.index;
  record.hasCost = true;
  record.entry = costOf(prepared, *scratch.table);
  core.records.add(record);
  core.records.works = true;
}

void Group::recordTransfer(CoreRun &core, Prepared &prepared) {
  const PreparedOperand &operand = prepared.operands[prepared.gmOperand];
  if (operand.low == operand.high)
    return;
  if (!prepared.traffic || operand.isShapeDynamic)
    prepared.traffic = fold(prepared, *scratch.table);
  const PreparedTraffic &traffic = *prepared.traffic;
  uint64_t address = launch.gm.at(operand.tensor).address +
                     uint64_t(operand.base) * uint64_t(operand.unit) + uint64_t(traffic.offset);
  std::array<int64_t, kMaxRank> at{};
  for (;;) {
    core.records.transfer(prepared.pipe, prepared.index, address, traffic.shape);
    int d = 0;
    for (; d < traffic.outer; ++d) {
      address += uint64_t(traffic.strides[d]);
      if (++at[d] < traffic.sizes[d])
        break;
      address -= uint64_t(traffic.strides[d] * traffic.sizes[d]);
      at[d] = 0;
    }
    if (d == traffic.outer)
      return;
  }
}
