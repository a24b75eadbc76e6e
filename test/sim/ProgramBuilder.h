// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/machine/Machine.h"
#include "tilewright/sim/Engine.h"

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

/// Writes small simulator programs by hand. Every emitted instruction gets its own line number, so
/// that tests can name the lines a finding should speak of.
namespace tilewright::sim::test {

inline Ref imm(int64_t value) { return {-1, value}; }
inline Ref reg(int32_t r) { return {r, 0}; }

/// A dense or strided box; no strides: row major.
inline View box(Space space, DType type, Ref base, std::vector<Ref> sizes,
                std::vector<Ref> strides = {}) {
  View view;
  view.space = space;
  view.type = type;
  view.base = base;
  view.rank = uint8_t(sizes.size());
  int64_t dense = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    view.sizes[i] = sizes[i];
    view.strides[i] = strides.empty() ? imm(dense) : strides[i];
    dense *= sizes[i].imm;
  }
  return view;
}

inline View gm(int32_t tensor, DType type, Ref base, std::vector<Ref> sizes,
               std::vector<Ref> strides = {}) {
  View view = box(Space::GM, type, base, std::move(sizes), std::move(strides));
  view.tensor = tensor;
  return view;
}

inline View ub(DType type, Ref base, std::vector<Ref> sizes, std::vector<Ref> strides = {}) {
  return box(Space::UB, type, base, std::move(sizes), std::move(strides));
}

class CoreBuilder {
public:
  CoreBuilder(Program &program, CoreProgram &core) : program(program), core(core) {}

  int32_t newReg() { return core.numRegs++; }

  /// Adds an instruction on a new line and returns its place in the code.
  int32_t emit(Insn insn) {
    insn.location = newLine();
    core.code.push_back(insn);
    return int32_t(core.code.size()) - 1;
  }

  int32_t constant(int64_t value) {
    int32_t dst = newReg();
    emit({.op = Opcode::Const, .dst = dst, .imm = value});
    return dst;
  }
  int32_t binary(Opcode op, int32_t a, int32_t b, DType type = DType::I64) {
    int32_t dst = newReg();
    emit({.op = op, .type = type, .dst = dst, .a = a, .b = b});
    return dst;
  }
  int32_t read(Opcode op, int64_t imm = 0) {
    int32_t dst = newReg();
    emit({.op = op, .dst = dst, .imm = imm});
    return dst;
  }

  /// for (i = first; i < last; i += step)
  void loop(int32_t first, int32_t last, int32_t step, const std::function<void(int32_t)> &body) {
    int32_t i = newReg();
    emit({.op = Opcode::Move, .dst = i, .a = first});
    int32_t head = int32_t(core.code.size());
    int32_t cond = binary(Opcode::CmpLT, i, last);
    int32_t exit = emit({.op = Opcode::JumpIfNot, .a = cond});
    body(i);
    emit({.op = Opcode::Add, .dst = i, .a = i, .b = step});
    emit({.op = Opcode::Jump, .imm = head});
    core.code[exit].imm = int64_t(core.code.size());
  }
  void loop(int64_t count, const std::function<void(int32_t)> &body) {
    loop(constant(0), constant(count), constant(1), body);
  }
  /// Runs the body for this core's share of `blocks` logical blocks.
  void blocks(int64_t count, const std::function<void(int32_t)> &body) {
    loop(read(Opcode::CoreId), constant(count), read(Opcode::CoreCount), [&](int32_t block) {
      emit({.op = Opcode::BeginBlock, .a = block});
      body(block);
    });
  }

  /// Issues a tile instruction; returns its line.
  int issue(Template tmpl) {
    int32_t at = emit({.op = Opcode::Issue, .imm = int64_t(core.templates.size())});
    tmpl.location = core.code[at].location;
    core.templates.push_back(std::move(tmpl));
    return program.locations[tmpl.location].line;
  }
  int issue(TileOp op, std::vector<View> operands, std::vector<Ref> scalars = {}, int fn = 0,
            int flags = 0, std::string label = {}) {
    Template tmpl;
    tmpl.op = op;
    tmpl.fn = decltype(tmpl.fn)(fn);
    tmpl.flags = uint8_t(flags);
    tmpl.operands = std::move(operands);
    tmpl.scalars = std::move(scalars);
    tmpl.label = std::move(label);
    return issue(std::move(tmpl));
  }

  int32_t set(Pipe from, Pipe to, int64_t id = 0) {
    return emit({.op = Opcode::SetFlag, .p0 = from, .p1 = to, .imm = id});
  }
  int32_t wait(Pipe from, Pipe to, int64_t id = 0) {
    return emit({.op = Opcode::WaitFlag, .p0 = from, .p1 = to, .imm = id});
  }
  void sync(Pipe from, Pipe to, int64_t id = 0) {
    set(from, to, id);
    wait(from, to, id);
  }
  int32_t barrier(Pipe pipe) { return emit({.op = Opcode::Barrier, .p0 = pipe}); }
  int32_t blockSet(Pipe pipe, int64_t id) {
    return emit({.op = Opcode::BlockSet, .p0 = pipe, .imm = id});
  }
  int32_t blockWait(Pipe pipe, int64_t id) {
    return emit({.op = Opcode::BlockWait, .p0 = pipe, .imm = id});
  }
  void halt() { emit({.op = Opcode::Halt}); }

  int lastLine() const { return int(program.locations.size()); }

private:
  Program &program;
  CoreProgram &core;

  int32_t newLine() {
    program.locations.push_back({"kernel.py", int(program.locations.size()) + 1, 1});
    return int32_t(program.locations.size()) - 1;
  }
};

/// 910B3 with a few cores, so that tests stay small.
inline machine::Machine smallChip(int aicCount = 2) {
  machine::Machine chip = machine::loadChip("910b3").machine;
  chip.aicCount = aicCount;
  chip.aivCount = 2 * aicCount;
  return chip;
}

inline int countOf(const RunResult &result, FindingKind kind) {
  int count = 0;
  for (const Finding &finding : result.findings)
    count += finding.kind == kind;
  return count;
}

inline std::string allText(const RunResult &result) {
  std::string text = result.error;
  for (const Finding &finding : result.findings)
    text += "\n" + finding.message;
  return text;
}

} // namespace tilewright::sim::test
