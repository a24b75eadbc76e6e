// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/EngineIssue.h"

#include "tilewright/sim/Names.h"

#include <algorithm>

using namespace tilewright::sim;

namespace {

/// Operand whose sizes rule operand `index`: element-wise instructions walk the destination's box
/// (reductions the source's) over all their operands.
unsigned sizeOwner(TileOp op, unsigned index) {
  switch (op) {
  case TileOp::Copy:
  case TileOp::Cast:
  case TileOp::Unary:
  case TileOp::Binary:
  case TileOp::BinaryScalar:
  case TileOp::Compare:
  case TileOp::CompareScalar:
  case TileOp::Select:
  case TileOp::SelectScalar:
  case TileOp::Scan:
    return 0;
  case TileOp::Reduce:
    return 1;
  case TileOp::Gather:
    return index == 2 ? 0 : index;
  default:
    return index;
  }
}

bool isBoxCopy(TileOp op) {
  return op == TileOp::Load || op == TileOp::LoadL0 || op == TileOp::Fixpipe ||
         op == TileOp::Store || isAtomic(op);
}

/// True when bytes [low, high) leave the slot of the operand's buffer in which they begin.
bool leavesBuffer(const PreparedOperand &operand, int64_t low, int64_t high) {
  if (!operand.slotBytes)
    return false;
  int64_t from = (operand.period ? low % operand.period : low) - operand.start;
  if (operand.slots == 1 || (from >= 0 && from + (high - low) <= operand.slotBytes))
    return from < 0 || from + (high - low) > operand.slotBytes;
  int64_t slot = from / operand.slotBytes;
  return from < 0 || slot >= operand.slots || from + (high - low) > (slot + 1) * operand.slotBytes;
}

/// Finds how far the box of operand `index` reaches from its first element.
void measure(Prepared &prepared, unsigned index) {
  PreparedOperand &operand = prepared.operands[index];
  ResolvedView &view = prepared.op.operands[index];
  if (operand.isShapeDynamic)
    operand.runs.reset();
  prepared.readyOp.reset();
  operand.isEmpty = false;
  __int128 low = 0, high = 0;
  for (unsigned d = 0; d < view.rank; ++d) {
    if (view.sizes[d] <= 0) {
      view.sizes[d] = 0;
      operand.isEmpty = true;
      return;
    }
    __int128 reach = __int128(view.sizes[d] - 1) * view.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  int64_t bytes = byteSize(view.type);
  operand.below = -low * bytes;
  operand.above = (high + 1) * bytes;
}

/// Finds the bytes of operand `index`, which has been measured, and checks them against its memory.
bool place(Prepared &prepared, unsigned index) {
  PreparedOperand &operand = prepared.operands[index];
  ResolvedView &view = prepared.op.operands[index];
  if (operand.isEmpty) {
    operand.low = operand.high = 0;
    view.data = operand.origin;
    return true;
  }
  __int128 first = __int128(operand.base) * operand.unit;
  __int128 low = first - operand.below, high = first + operand.above;
  if (low < 0 || high > operand.limit || leavesBuffer(operand, int64_t(low), int64_t(high))) {
    auto clamp = [](__int128 v) { return int64_t(std::clamp<__int128>(v, INT64_MIN, INT64_MAX)); };
    operand.low = clamp(low);
    operand.high = clamp(high);
    return false;
  }
  operand.low = int64_t(low);
  operand.high = int64_t(high);
  view.data = operand.origin ? operand.origin + int64_t(first) : nullptr;
  if (operand.block)
    view.address = uint64_t(first);
  if (operand.block && operand.isWritten)
    operand.block->touch(operand.high);
  return true;
}

Fault boundsFault(const Prepared &prepared, unsigned index, const Program &program) {
  const PreparedOperand &operand = prepared.operands[index];
  const ResolvedView &view = prepared.op.operands[index];
  std::string text =
      prepared.source->label.empty() ? nameOf(prepared.op.op) : prepared.source->label;
  text += std::string(" (") + locationText(program, prepared.source->location) + ") " +
          (operand.isWritten ? "writes" : "reads");
  int64_t bytes = byteSize(view.type);
  auto range = [&](const char *what, int64_t low, int64_t high, int64_t limit) {
    text += std::string(" ") + what + " " + std::to_string(low) + " to " + std::to_string(high) +
            " of " + std::to_string(limit);
  };
  int32_t buffer = prepared.source->operands[index].buffer;
  bool isInMemory = operand.low >= 0 && operand.high <= operand.limit;
  if (buffer >= 0 && isInMemory) {
    const BufferInfo &info = program.buffers[size_t(buffer)];
    int64_t from = (operand.period ? operand.low % operand.period : operand.low) - info.address;
    int64_t slot = std::clamp<int64_t>(from / info.bytes, 0, operand.slots - 1);
    from -= slot * info.bytes;
    range("bytes", from, from + operand.high - operand.low, info.bytes);
    std::string memory = "buffer " + info.name + " (" + nameOf(operand.space) + ")";
    return {text + (info.slots > 1 ? " of a slot of " : " of ") + memory, memory};
  }
  if (operand.space != Space::GM) {
    range("bytes", operand.low, operand.high, operand.limit);
    return {text + " of " + nameOf(operand.space), nameOf(operand.space)};
  }
  range("elements", operand.low / bytes, operand.high / bytes, operand.limit / bytes);
  if (operand.tensor == kWorkspace)
    return {text + " of the workspace", "the workspace"};
  const std::string &name = program.tensors[operand.tensor].name;
  return {text + " of " + name, "tensor " + name};
}

/// Sizes of the operands that must fit each other; empty when they do.
std::string shapeError(const Prepared &prepared) {
  const ResolvedOp &op = prepared.op;
  for (unsigned k = 0; k < op.numOperands; ++k)
    if (prepared.operands[k].isEmpty)
      return {};
  if (isBoxCopy(op.op)) {
    for (unsigned d = 0; d < op.operands[0].rank; ++d)
      if (op.operands[0].sizes[d] != op.operands[1].sizes[d])
        return "source and destination boxes differ in size: " +
               std::to_string(op.operands[1].sizes[d]) + " against " +
               std::to_string(op.operands[0].sizes[d]) + " in dimension " + std::to_string(d);
    return {};
  }
  if (op.op != TileOp::Mmad)
    return {};
  bool ta = op.flags & kTransposeA, tb = op.flags & kTransposeB;
  const auto &c = op.operands[0].sizes, &a = op.operands[1].sizes, &b = op.operands[2].sizes;
  int64_t m = ta ? a[1] : a[0], ka = ta ? a[0] : a[1], kb = tb ? b[1] : b[0], n = tb ? b[0] : b[1];
  if (m != c[0] || n != c[1] || ka != kb)
    return "mmad shapes do not fit: C " + std::to_string(c[0]) + "x" + std::to_string(c[1]) +
           ", A " + std::to_string(m) + "x" + std::to_string(ka) + ", B " + std::to_string(kb) +
           "x" + std::to_string(n);
  return {};
}

} // namespace

Pipe tilewright::sim::pipeOf(TileOp op) {
  switch (op) {
  case TileOp::Load:
  case TileOp::FillL1:
    return Pipe::MTE2;
  case TileOp::LoadL0:
    return Pipe::MTE1;
  case TileOp::Mmad:
    return Pipe::M;
  case TileOp::Fixpipe:
    return Pipe::FIX;
  case TileOp::Store:
  case TileOp::AtomicAdd:
  case TileOp::AtomicMax:
  case TileOp::AtomicMin:
    return Pipe::MTE3;
  case TileOp::ScalarStore:
  case TileOp::ScalarLoad:
    return Pipe::S;
  default:
    return Pipe::V;
  }
}

std::vector<Prepared> tilewright::sim::prepareTemplates(const Program &program,
                                                        const CoreProgram &core, CoreMemory &memory,
                                                        const GmSpace &gm) {
  std::vector<Prepared> result(core.templates.size());
  for (size_t i = 0; i < result.size(); ++i) {
    const Template &tmpl = core.templates[i];
    Prepared &prepared = result[i];
    prepared.source = &tmpl;
    prepared.index = int32_t(i);
    prepared.pipe = pipeOf(tmpl.op);
    prepared.op.op = tmpl.op;
    prepared.op.fn = tmpl.fn;
    prepared.op.flags = tmpl.flags;
    prepared.op.round = tmpl.round;
    prepared.op.numOperands = uint8_t(tmpl.operands.size());
    prepared.op.numScalars = uint8_t(tmpl.scalars.size());
    auto bind = [&](const Ref &ref, int64_t &field) {
      field = ref.imm;
      if (ref.reg >= 0)
        prepared.patches.push_back({&field, ref.reg});
      return ref.reg >= 0;
    };
    for (size_t k = 0; k < tmpl.scalars.size(); ++k)
      bind(tmpl.scalars[k], prepared.op.scalars[k]);
    for (unsigned k = 0; k < tmpl.operands.size(); ++k) {
      const View &view = tmpl.operands[k];
      const View &sizes = tmpl.operands[sizeOwner(tmpl.op, k)];
      PreparedOperand &operand = prepared.operands[k];
      ResolvedView &resolved = prepared.op.operands[k];
      resolved.type = view.type;
      resolved.rank = view.rank;
      operand.space = view.space;
      operand.tensor = view.tensor;
      bool isLoad = tmpl.op == TileOp::ScalarLoad;
      operand.isWritten = k == 0 && !isLoad;
      prepared.isMacro = tmpl.op == TileOp::Mmad && tmpl.operands[1].space == Space::L1;
      operand.isRead = k != 0 || isLoad || isAtomic(tmpl.op) || tmpl.op == TileOp::Mmad ||
                       (tmpl.op == TileOp::Reduce && (tmpl.flags & kAccumulate));
      if (view.space == Space::GM) {
        prepared.gmOperand = int(k);
        const GmTensor &tensor = gm.at(view.tensor);
        operand.origin = tensor.data;
        operand.limit = tensor.bytes;
        operand.unit = byteSize(view.type);
      } else {
        operand.block = &memory[view.space];
        operand.origin = operand.block->data();
        operand.limit = operand.block->size();
        operand.unit = 1;
      }
      if (view.buffer >= 0) {
        const BufferInfo &info = program.buffers[size_t(view.buffer)];
        operand.start = info.address;
        operand.slotBytes = info.bytes;
        operand.slots = std::max(info.slots, 1);
        operand.period = view.tensor == kWorkspace ? program.workspaceBytesPerCore : 0;
      }
      operand.isDynamic |= bind(view.base, operand.base);
      for (unsigned d = 0; d < view.rank; ++d) {
        operand.isShapeDynamic |= bind(sizes.sizes[d], resolved.sizes[d]);
        operand.isShapeDynamic |= bind(view.strides[d], resolved.strides[d]);
      }
      operand.isDynamic |= operand.isShapeDynamic;
    }
  }
  return result;
}

bool tilewright::sim::resolve(Prepared &prepared, const int64_t *regs, const Program &program,
                              Fault &fault) {
  for (const Prepared::Patch &patch : prepared.patches)
    *patch.field = regs[patch.reg];
  bool isFirst = !prepared.ready;
  for (unsigned k = 0; k < prepared.op.numOperands; ++k) {
    PreparedOperand &operand = prepared.operands[k];
    if (!operand.isDynamic && !isFirst)
      continue;
    if (operand.isShapeDynamic || isFirst)
      measure(prepared, k);
    if (place(prepared, k))
      continue;
    fault = boundsFault(prepared, k, program);
    return false;
  }
  prepared.ready = true;
  if (isBoxCopy(prepared.op.op) || prepared.op.op == TileOp::Mmad) {
    std::string text = shapeError(prepared);
    if (!text.empty()) {
      fault = {std::string(nameOf(prepared.op.op)) + " (" +
                   locationText(program, prepared.source->location) + "): " + text,
               {}};
      return false;
    }
  }
  return true;
}

void tilewright::sim::perform(Prepared &prepared) {
  // The steps of an Iota may come from registers.
  if (prepared.op.op == TileOp::Mmad || prepared.op.op == TileOp::Iota)
    return perform(prepared.op);
  if (!prepared.readyOp)
    prepared.readyOp.emplace(prepared.op);
  prepared.readyOp->run(prepared.op);
}

bool tilewright::sim::gatherOutOfBounds(const ResolvedOp &op) {
  const ResolvedView &index = op.operands[2];
  int64_t limit = op.operands[1].sizes[0];
  std::array<int64_t, kMaxRank> at{};
  for (unsigned d = 0; d < index.rank; ++d)
    if (index.sizes[d] == 0)
      return false;
  for (;;) {
    int64_t offset = 0;
    for (unsigned d = 0; d < index.rank; ++d)
      offset += at[d] * index.strides[d];
    int32_t value = reinterpret_cast<const int32_t *>(index.data)[offset];
    if (value < 0 || value >= limit)
      return true;
    int d = index.rank - 1;
    for (; d >= 0 && ++at[d] == index.sizes[d]; --d)
      at[d] = 0;
    if (d < 0)
      return false;
  }
}
