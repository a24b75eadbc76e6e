// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timing without data: what must be read for real, and when the clock alone cannot tell.
#include "tilewright/sim/ControlSlice.h"

#include "tilewright/sim/EngineGroup.h"
#include "tilewright/sim/Names.h"

#include <algorithm>

using namespace tilewright::sim;

namespace {

using Registers = std::vector<bool>;

void mark(Registers &set, int32_t reg) {
  if (reg >= 0)
    set[size_t(reg)] = true;
}

bool has(const Registers &set, int32_t reg) { return reg >= 0 && set[size_t(reg)]; }

/// Registers that an instruction of control itself looks at.
void markControl(const CoreProgram &core, Registers &control) {
  for (const Insn &insn : core.code)
    switch (insn.op) {
    case Opcode::JumpIf:
    case Opcode::JumpIfNot:
    case Opcode::BeginBlock:
    case Opcode::SetFlag:
    case Opcode::WaitFlag:
    case Opcode::BlockSet:
    case Opcode::BlockWait:
    case Opcode::Assert:
      mark(control, insn.a);
      break;
    default:
      break;
    }
  for (const Template &tmpl : core.templates)
    for (const View &view : tmpl.operands) {
      mark(control, view.base.reg);
      for (unsigned d = 0; d < view.rank; ++d) {
        mark(control, view.sizes[d].reg);
        mark(control, view.strides[d].reg);
      }
    }
}

/// Calls step() until it changes nothing; it returns whether it did.
template <typename Step>
void repeat(Step step) {
  while (step())
    ;
}

} // namespace

ControlSlice::ControlSlice(const CoreProgram &core)
    : steering(core.templates.size()), known(core.templates.size()) {
  Registers control(size_t(std::max(core.numRegs, 1))), loaded = control;
  markControl(core, control);
  repeat([&] { // what control comes from
    bool isChanged = false;
    for (const Insn &insn : core.code) {
      if (insn.dst < 0 || !control[size_t(insn.dst)])
        continue;
      for (int32_t source : {insn.a, insn.b, insn.c}) {
        isChanged = isChanged || (source >= 0 && !control[size_t(source)]);
        mark(control, source);
      }
    }
    return isChanged;
  });
  for (const Template &tmpl : core.templates)
    if (tmpl.op == TileOp::ScalarLoad)
      mark(loaded, tmpl.resultReg);
  repeat([&] { // what comes from a read
    bool isChanged = false;
    for (const Insn &insn : core.code)
      if (insn.dst >= 0 && !loaded[size_t(insn.dst)] &&
          (has(loaded, insn.a) || has(loaded, insn.b) || has(loaded, insn.c)))
        isChanged = loaded[size_t(insn.dst)] = true;
    return isChanged;
  });
  for (size_t i = 0; i < core.templates.size(); ++i) {
    const Template &tmpl = core.templates[i];
    steering[i] = tmpl.op == TileOp::ScalarLoad && has(control, tmpl.resultReg);
    known[i] = tmpl.op == TileOp::ScalarStore && !has(loaded, tmpl.scalars[0].reg);
    hasTileReads = hasTileReads || (steering[i] && tmpl.operands[0].space != Space::GM);
  }
}

void KnownBytes::set(int64_t low, int64_t high, bool isKnown) {
  std::fill(bits.begin() + low, bits.begin() + high, isKnown);
}

bool KnownBytes::all(int64_t low, int64_t high) const {
  return std::find(bits.begin() + low, bits.begin() + high, false) == bits.begin() + high;
}

/// True when the source of a move holds what it would hold with data: an input of the kernel, or
/// bytes that were moved from one.
bool Group::isKnown(const CoreRun &core, const Prepared &prepared, unsigned operand) const {
  const PreparedOperand &source = prepared.operands[operand];
  if (source.space == Space::GM)
    return source.tensor != kWorkspace && source.origin &&
           !launch.program.tensors[size_t(source.tensor)].written &&
           !launch.gm.tensors[size_t(source.tensor)].isComputed;
  bool isKnown = true;
  if (source.isEmpty)
    return isKnown;
  Runs(prepared.op.operands[operand]).forEach(source.low, [&](int64_t low, int64_t high) {
    isKnown = isKnown && core.known->all(low, high);
  });
  return isKnown;
}

/// Carries out what an instruction does for control and nothing else. A value that control depends
/// on and that this run does not compute ends it.
std::optional<CoreStatus> Group::withoutData(CoreRun &core, Prepared &prepared) {
  const TileOp op = prepared.op.op;
  const PreparedOperand &first = prepared.operands[0];
  if (op == TileOp::ScalarLoad) {
    int64_t &result = core.vm.regs[size_t(prepared.source->resultReg)];
    result = 0;
    if (!core.slice->isSteering(prepared.index))
      return std::nullopt;
    if (!isKnown(core, prepared, 0)) {
      core.status = CoreStatus::Failed;
      needsData = true;
      bool isBare = false; // an input whose contents may be what is missing
      for (size_t i = 0; i < launch.gm.tensors.size(); ++i)
        isBare = isBare || (!launch.program.tensors[i].written && !launch.gm.tensors[i].data);
      error = "E0905: control flow or an address depends on '" + prepared.source->label + "' (" +
              locationText(launch.program, prepared.source->location) + "): " +
              (isBare ? "times need the contents of the arguments; pass them"
                      : "the kernel computes this value, so times need a run with data");
      errorLocation = prepared.source->location;
      return CoreStatus::Failed;
    }
    const ResolvedView &view = prepared.op.operands[0];
    result = loadScalar(view.data, view.type);
    return std::nullopt;
  }
  if (!core.known || first.space != Space::UB || first.isEmpty)
    return std::nullopt;
  bool isMove = op == TileOp::Load || op == TileOp::Copy;
  bool isDone = isMove && isKnown(core, prepared, 1);
  if (isDone)
    perform(prepared);
  if (op == TileOp::ScalarStore && core.slice->storesKnown(prepared.index)) {
    storeScalar(prepared.op.operands[0].data, prepared.op.operands[0].type, prepared.op.scalars[0]);
    isDone = true;
  }
  Runs(prepared.op.operands[0]).forEach(first.low, [&](int64_t low, int64_t high) {
    core.known->set(low, high, isDone);
  });
  return std::nullopt;
}
