// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/EngineIssue.h"
#include "tilewright/sim/Names.h"

using namespace tilewright::sim;
using tilewright::machine::Machine;

namespace {

struct OperandRule {
  unsigned operands, scalars;
};

OperandRule ruleOf(TileOp op, const Template &tmpl) {
  switch (op) {
  case TileOp::Load:
  case TileOp::LoadL0:
  case TileOp::Store:
  case TileOp::AtomicAdd:
  case TileOp::AtomicMax:
  case TileOp::AtomicMin:
  case TileOp::Copy:
  case TileOp::Cast:
  case TileOp::Unary:
  case TileOp::Reduce:
  case TileOp::Scan:
    return {2, 0};
  case TileOp::Fixpipe:
    return {2, tmpl.flags & kScale ? 1u : 0u};
  case TileOp::FillL1:
  case TileOp::Fill:
  case TileOp::ScalarStore:
    return {1, 1};
  case TileOp::Mmad:
    return {3, 1};
  case TileOp::Binary:
  case TileOp::Compare:
  case TileOp::Gather:
    return {3, 0};
  case TileOp::BinaryScalar:
  case TileOp::CompareScalar:
    return {2, 1};
  case TileOp::Select:
    return {4, 0};
  case TileOp::SelectScalar:
    return {3, 1};
  case TileOp::Iota:
    return {1, tmpl.operands.empty() ? 1u : 1u + tmpl.operands[0].rank};
  case TileOp::ScalarLoad:
    return {1, 0};
  }
  return {0, 0};
}

/// Where operand `index` of an op may live.
bool spaceAllowed(TileOp op, unsigned index, Space space) {
  switch (op) {
  case TileOp::Load:
    return index == 0 ? space == Space::UB || space == Space::L1 : space == Space::GM;
  case TileOp::FillL1:
    return space == Space::L1;
  case TileOp::LoadL0:
    return index == 0 ? space == Space::L0A || space == Space::L0B : space == Space::L1;
  case TileOp::Mmad:
    return index == 0   ? space == Space::L0C
           : index == 1 ? space == Space::L1 || space == Space::L0A
                        : space == Space::L1 || space == Space::L0B;
  case TileOp::Fixpipe:
    return index == 0 ? space == Space::GM || space == Space::L1 : space == Space::L0C;
  case TileOp::Store:
    return index == 0 ? space == Space::GM : space == Space::UB || space == Space::L1;
  case TileOp::AtomicAdd:
  case TileOp::AtomicMax:
  case TileOp::AtomicMin:
    return space == (index == 0 ? Space::GM : Space::UB);
  case TileOp::ScalarStore:
  case TileOp::ScalarLoad:
    return space == Space::UB || space == Space::GM;
  default:
    return space == Space::UB;
  }
}

/// Checks one core program; `where` prefixes every message.
class Validator {
public:
  Validator(const Program &program, const CoreProgram &core, CoreKind kind, const Machine &chip)
      : program(program), core(core), kind(kind), chip(chip) {}

  std::string run() {
    if (core.code.empty())
      return {};
    for (size_t i = 0; i < core.templates.size(); ++i)
      if (std::string text = checkTemplate(core.templates[i]); !text.empty())
        return std::string(nameOf(kind)) + " template " + std::to_string(i) + " (" +
               nameOf(core.templates[i].op) + ", " +
               locationText(program, core.templates[i].location) + "): " + text;
    for (size_t i = 0; i < core.code.size(); ++i)
      if (std::string text = checkInsn(core.code[i]); !text.empty())
        return std::string(nameOf(kind)) + " instruction " + std::to_string(i) + " (" +
               nameOf(core.code[i].op) + "): " + text;
    Opcode last = core.code.back().op;
    if (last != Opcode::Halt && last != Opcode::Jump)
      return std::string(nameOf(kind)) + " program runs past its end";
    return {};
  }

private:
  const Program &program;
  const CoreProgram &core;
  CoreKind kind;
  const Machine &chip;

  bool isReg(int32_t reg) const { return reg >= 0 && reg < core.numRegs; }
  bool isRef(const Ref &ref) const { return ref.reg < core.numRegs; }

  std::string checkView(const View &view) const {
    if (view.rank > kMaxRank)
      return "rank " + std::to_string(view.rank) + " is above " + std::to_string(kMaxRank);
    if (view.type > DType::F64)
      return "unknown element type";
    if (view.space == Space::GM) {
      if (view.tensor != kWorkspace &&
          (view.tensor < 0 || view.tensor >= int32_t(program.tensors.size())))
        return "no tensor " + std::to_string(view.tensor);
    } else if (spaceBytes(chip, kind, view.space) == 0) {
      return std::string("an ") + nameOf(kind) + " has no " + nameOf(view.space);
    }
    if (view.buffer >= int32_t(program.buffers.size()) ||
        (view.buffer >= 0 && program.buffers[size_t(view.buffer)].bytes <= 0))
      return "no buffer " + std::to_string(view.buffer);
    bool known = isRef(view.base);
    for (unsigned d = 0; d < view.rank; ++d)
      known = known && isRef(view.sizes[d]) && isRef(view.strides[d]);
    return known ? std::string() : "no such register";
  }

  std::string checkTemplate(const Template &tmpl) const {
    OperandRule rule = ruleOf(tmpl.op, tmpl);
    if (rule.operands == 0)
      return "unknown operation";
    if (tmpl.operands.size() != rule.operands || tmpl.scalars.size() < rule.scalars ||
        tmpl.scalars.size() > 8)
      return "takes " + std::to_string(rule.operands) + " operands and " +
             std::to_string(rule.scalars) + " scalars, has " +
             std::to_string(tmpl.operands.size()) + " and " + std::to_string(tmpl.scalars.size());
    for (size_t k = 0; k < tmpl.operands.size(); ++k) {
      const View &view = tmpl.operands[k];
      if (!spaceAllowed(tmpl.op, unsigned(k), view.space))
        return "operand " + std::to_string(k) + " cannot be in " + nameOf(view.space);
      if (std::string text = checkView(view); !text.empty())
        return "operand " + std::to_string(k) + ": " + text;
      bool isTable = tmpl.op == TileOp::Gather && k == 1;
      if (isTable ? view.rank != 1 : view.rank != tmpl.operands[0].rank)
        return "operand " + std::to_string(k) + " has rank " + std::to_string(view.rank);
    }
    for (const Ref &ref : tmpl.scalars)
      if (!isRef(ref))
        return "no such register";
    for (const BoxCheck &box : tmpl.boxes)
      for (const BoxCheck::Dim &dim : box.dims)
        if (!isRef(dim.offset) || !isRef(dim.size) || !isRef(dim.extent))
          return "no such register";
    switch (tmpl.op) {
    case TileOp::Mmad:
      if (tmpl.operands[0].rank != 2)
        return "works on matrices";
      if ((tmpl.operands[1].space == Space::L1) != (tmpl.operands[2].space == Space::L1))
        return "has one operand in L1 and one in L0";
      break;
    case TileOp::ScalarLoad:
      if (!isReg(tmpl.resultReg))
        return "has no result register";
      [[fallthrough]];
    case TileOp::ScalarStore:
      if (tmpl.operands[0].rank != 0)
        return "works on rank 0";
      break;
    case TileOp::Gather:
      if (tmpl.operands[2].type != DType::I32)
        return "indices must be i32";
      break;
    case TileOp::Load:
    case TileOp::LoadL0:
    case TileOp::Store:
    case TileOp::Copy:
      if (tmpl.operands[0].type != tmpl.operands[1].type)
        return "copies between different element types";
      break;
    default:
      break;
    }
    return {};
  }

  std::string checkInsn(const Insn &insn) const {
    auto has = [](int64_t index, size_t size) { return index >= 0 && size_t(index) < size; };
    auto needs = [&](bool dst, int sources) -> std::string {
      if (dst && !isReg(insn.dst))
        return "no destination register";
      const int32_t sourceRegs[] = {insn.a, insn.b, insn.c};
      for (int i = 0; i < sources; ++i)
        if (!isReg(sourceRegs[i]))
          return "no source register";
      return {};
    };
    if (insn.type > DType::F64)
      return "unknown type";
    if (insn.p0 > Pipe::All || insn.p1 > Pipe::All)
      return "unknown pipe";
    switch (insn.op) {
    case Opcode::Const:
    case Opcode::CoreId:
    case Opcode::CoreCount:
    case Opcode::SubCoreId:
      return needs(true, 0);
    case Opcode::ScalarArg:
      return has(insn.imm, size_t(program.numScalars)) ? needs(true, 0) : "no such scalar";
    case Opcode::Move:
    case Opcode::FNeg:
      return needs(true, 1);
    case Opcode::FUnary:
      return insn.imm >= 0 && insn.imm <= int64_t(UnaryFn::IsFinite) ? needs(true, 1)
                                                                     : "unknown function";
    case Opcode::Convert:
    case Opcode::Bitcast:
      return insn.imm >= 0 && insn.imm <= int64_t(DType::F64) ? needs(true, 1) : "unknown type";
    case Opcode::FBinary:
      return insn.imm >= 0 && insn.imm <= int64_t(BinaryFn::Pow) ? needs(true, 2)
                                                                 : "unknown function";
    case Opcode::Select:
      return needs(true, 3);
    case Opcode::Jump:
      return has(insn.imm, core.code.size()) ? "" : "jumps out of the program";
    case Opcode::JumpIf:
    case Opcode::JumpIfNot:
      return has(insn.imm, core.code.size()) ? needs(false, 1) : "jumps out of the program";
    case Opcode::Halt:
      return {};
    case Opcode::BeginBlock:
      return needs(false, 1);
    case Opcode::Issue:
      return has(insn.imm, core.templates.size()) ? "" : "no such template";
    case Opcode::SetFlag:
    case Opcode::WaitFlag:
      if (insn.p0 == Pipe::All || insn.p1 == Pipe::All || insn.p0 == insn.p1)
        return "needs two different pipes";
      return insn.a < core.numRegs ? "" : "no such register";
    case Opcode::Barrier:
      return {};
    case Opcode::BlockSet:
    case Opcode::BlockWait:
    case Opcode::Meet:
      if (insn.p0 == Pipe::All)
        return "needs one pipe";
      return insn.a < core.numRegs ? "" : "no such register";
    case Opcode::Print:
      if (!has(insn.imm, program.prints.size()))
        return "no such text";
      if (int32_t tile = program.prints[insn.imm].templateId; tile >= 0)
        return has(tile, core.templates.size()) ? "" : "no such template";
      return insn.a < core.numRegs ? "" : "no such register";
    case Opcode::Assert:
      return has(insn.imm, program.messages.size()) ? needs(false, 1) : "no such message";
    default:
      return insn.op > Opcode::Assert ? "unknown instruction" : needs(true, 2);
    }
  }
};

} // namespace

std::string tilewright::sim::validate(const Program &program, const Machine &chip) {
  if (program.aic.code.empty() && program.aiv.code.empty())
    return "the program has no code";
  for (const Insn &insn : program.aic.code)
    if (insn.isSibling)
      return "a signal between vector cores in the program of a cube core";
  if (std::string text = Validator(program, program.aic, CoreKind::AIC, chip).run(); !text.empty())
    return text;
  return Validator(program, program.aiv, CoreKind::AIV, chip).run();
}
