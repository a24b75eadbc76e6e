// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/to_sim/CodeBuilder.h"

#include <algorithm>

using namespace tilewright::sim;
using namespace tilewright::to_sim;

namespace {

bool hasOperand(Ref ref) { return ref.reg >= 0; }

bool isJump(Opcode op) {
  return op == Opcode::Jump || op == Opcode::JumpIf || op == Opcode::JumpIfNot;
}

/// How many of the operands a, b, c an opcode of the pure kind takes.
int numOperands(Opcode op) {
  switch (op) {
  case Opcode::Const:
  case Opcode::CoreId:
  case Opcode::CoreCount:
  case Opcode::SubCoreId:
  case Opcode::ScalarArg:
    return 0;
  case Opcode::Move:
  case Opcode::FNeg:
  case Opcode::FUnary:
  case Opcode::Convert:
  case Opcode::Bitcast:
    return 1;
  case Opcode::Select:
    return 3;
  default:
    return 2;
  }
}

} // namespace

CodeBuilder::CodeBuilder() { scopes.emplace_back(); }

int32_t CodeBuilder::newReg() {
  depths.push_back(depth());
  return int32_t(depths.size()) - 1;
}

int32_t CodeBuilder::regOf(Ref ref) {
  if (ref.reg >= 0)
    return ref.reg;
  auto [it, isNew] = constants.try_emplace(ref.imm, 0);
  if (isNew) {
    it->second = int32_t(depths.size());
    depths.push_back(0);
  }
  return it->second;
}

void CodeBuilder::beginScope() {
  auto chunk = std::make_unique<Chunk>();
  scopes.back().front = chunk.get();
  Item item;
  item.child = std::move(chunk);
  code.items.push_back(std::move(item));
  scopes.emplace_back();
}

void CodeBuilder::nextScope() {
  scopes.pop_back();
  scopes.emplace_back();
}

void CodeBuilder::endScope() {
  scopes.pop_back();
  scopes.back().front = nullptr;
}

void CodeBuilder::place(Label label) {
  Item item;
  item.label = label;
  code.items.push_back(std::move(item));
}

void CodeBuilder::emit(Insn insn) {
  insn.location = location;
  Item item;
  item.insn = insn;
  code.items.push_back(std::move(item));
}

void CodeBuilder::jump(Label target) {
  Insn insn;
  insn.op = Opcode::Jump;
  insn.imm = target;
  emit(insn);
}

void CodeBuilder::jumpIf(int32_t condition, Label target) {
  Insn insn;
  insn.op = Opcode::JumpIf;
  insn.a = condition;
  insn.imm = target;
  emit(insn);
}

void CodeBuilder::jumpIfNot(int32_t condition, Label target) {
  Insn insn;
  insn.op = Opcode::JumpIfNot;
  insn.a = condition;
  insn.imm = target;
  emit(insn);
}

Insn CodeBuilder::make(Opcode op, DType type, Ref a, Ref b, Ref c, int64_t immediate) {
  Insn insn;
  insn.op = op;
  insn.type = type;
  int count = numOperands(op);
  if (count > 0)
    insn.a = regOf(a);
  if (count > 1)
    insn.b = regOf(b);
  if (count > 2)
    insn.c = regOf(c);
  insn.imm = immediate;
  insn.location = location;
  return insn;
}

Ref CodeBuilder::pure(Opcode op, DType type, Ref a, Ref b, Ref c, int64_t immediate) {
  int at = std::max({depthOf(a), depthOf(b), depthOf(c)});
  Key key{int(op), int(type), a.reg, a.imm, b.reg, b.imm, c.reg, c.imm, immediate};
  Scope &scope = scopes[at];
  if (auto it = scope.values.find(key); it != scope.values.end())
    return it->second;

  Item item;
  item.insn = make(op, type, a, b, c, immediate);
  int32_t result = int32_t(depths.size());
  depths.push_back(at);
  item.insn.dst = result;
  Chunk &target = at == depth() ? code : *scope.front;
  target.items.push_back(std::move(item));
  scope.values[key] = {result, 0};
  return {result, 0};
}

Ref CodeBuilder::here(Opcode op, DType type, Ref a, Ref b, Ref c, int64_t immediate) {
  Insn insn = make(op, type, a, b, c, immediate);
  insn.dst = newReg();
  emit(insn);
  return {insn.dst, 0};
}

void CodeBuilder::move(int32_t to, Ref from) {
  if (from.reg == to)
    return;
  Insn insn;
  insn.dst = to;
  if (hasOperand(from)) {
    insn.op = Opcode::Move;
    insn.a = from.reg;
  } else {
    insn.op = Opcode::Const;
    insn.imm = from.imm;
  }
  emit(insn);
}

void CodeBuilder::parallelMove(const std::vector<int32_t> &to, const std::vector<Ref> &from) {
  std::vector<Ref> sources = from;
  // A source that an earlier move of the list overwrites is saved first.
  for (size_t i = 0; i < sources.size(); ++i)
    if (sources[i].reg >= 0 &&
        std::find(to.begin(), to.begin() + long(i), sources[i].reg) != to.begin() + long(i))
      sources[i] = here(Opcode::Move, DType::I64, sources[i]);
  for (size_t i = 0; i < sources.size(); ++i)
    move(to[i], sources[i]);
}

Ref CodeBuilder::add(Ref a, Ref b) {
  if (isImm(a) && isImm(b))
    return imm(int64_t(uint64_t(a.imm) + uint64_t(b.imm)));
  if (isImm(a, 0))
    return b;
  if (isImm(b, 0))
    return a;
  return pure(Opcode::Add, DType::I64, a, b);
}

Ref CodeBuilder::mul(Ref a, Ref b) {
  if (isImm(a) && isImm(b))
    return imm(int64_t(uint64_t(a.imm) * uint64_t(b.imm)));
  if (isImm(a, 0) || isImm(b, 0))
    return imm(0);
  if (isImm(a, 1))
    return b;
  if (isImm(b, 1))
    return a;
  return pure(Opcode::Mul, DType::I64, a, b);
}

void CodeBuilder::flatten(const Chunk &chunk, std::vector<Insn> &out,
                          std::vector<int64_t> &places) {
  for (const Item &item : chunk.items) {
    if (item.child)
      flatten(*item.child, out, places);
    else if (item.label >= 0)
      places[size_t(item.label)] = int64_t(out.size());
    else
      out.push_back(item.insn);
  }
}

std::vector<Insn> CodeBuilder::finish() {
  std::vector<Insn> out;
  for (auto [value, reg] : constants) {
    Insn insn;
    insn.op = Opcode::Const;
    insn.dst = reg;
    insn.imm = value;
    out.push_back(insn);
  }
  std::vector<int64_t> places(size_t(numLabels), 0);
  flatten(code, out, places);
  for (Insn &insn : out)
    if (isJump(insn.op))
      insn.imm = places[size_t(insn.imm)];
  return out;
}
