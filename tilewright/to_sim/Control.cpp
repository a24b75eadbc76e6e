// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structured control flow as jumps.

#include "tilewright/to_sim/Translator.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::to_sim;
using sim::Opcode;

std::vector<sim::Ref> Translator::refs(ValueRange range) {
  std::vector<Ref> result;
  for (Value value : range)
    result.push_back(get(value));
  return result;
}

LogicalResult Translator::run() {
  for (BlockArgument argument : function.getArguments()) {
    if (isa<MemRefType>(argument.getType()))
      continue;
    if (!dtypeOf(argument.getType()))
      return function.emitError("the simulator has no scalars of type ") << argument.getType();
    if (argument.use_empty())
      continue;
    values[argument] = code.pure(Opcode::ScalarArg, DType::I64, {}, {}, {},
                                 tables.scalar(argument.getArgNumber()));
  }
  if (failed(block(function.getBody().front())))
    return failure();
  sim::Insn halt;
  halt.op = Opcode::Halt;
  code.emit(halt);
  core.code = code.finish();
  core.numRegs = code.numRegs();
  return success();
}

LogicalResult Translator::block(Block &body) {
  for (Operation &inner : body)
    if (failed(op(&inner)))
      return failure();
  return success();
}

LogicalResult Translator::op(Operation *op) {
  code.setLocation(tables.location(op->getLoc()));
  boxes.clear();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return forLoop(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return whileLoop(loop);
  if (auto conditional = dyn_cast<scf::IfOp>(op))
    return branch(conditional);
  if (auto chosen = dyn_cast<scf::IndexSwitchOp>(op))
    return indexSwitch(chosen);
  if (isa<scf::YieldOp, scf::ConditionOp, func::ReturnOp, memref::ReinterpretCastOp>(op))
    return success(); // their parents, or the boxes on them, read them
  LogicalResult result = success();
  if (scalar(op, result) || tile(op, result))
    return result;
  return op->emitError("the simulator cannot run this operation");
}

/// Tests at the bottom; the first test is dropped where it is known to hold.
LogicalResult Translator::forLoop(scf::ForOp op) {
  std::optional<DType> type = dtypeOf(op.getInductionVar().getType());
  if (!type)
    return op.emitError("the simulator cannot count in ") << op.getInductionVar().getType();
  Ref lower = get(op.getLowerBound()), upper = get(op.getUpperBound()), step = get(op.getStep());
  std::vector<Ref> inits = refs(op.getInitArgs());
  std::vector<int32_t> results;
  for (Value result : op.getResults()) {
    results.push_back(code.newReg());
    values[result] = {results.back(), 0};
  }
  if (CodeBuilder::isImm(lower) && CodeBuilder::isImm(upper) && lower.imm >= upper.imm) {
    for (auto [result, init] : llvm::zip(results, inits))
      code.move(result, init);
    return success();
  }

  code.beginScope();
  Ref counter{code.newReg(), 0};
  values[op.getInductionVar()] = counter;
  code.move(counter.reg, lower);
  std::vector<int32_t> carried;
  for (auto [argument, init] : llvm::zip(op.getRegionIterArgs(), inits)) {
    carried.push_back(code.newReg());
    values[argument] = {carried.back(), 0};
    code.move(carried.back(), init);
  }
  CodeBuilder::Label body = code.newLabel(), end = code.newLabel();
  int32_t test = code.newReg();
  auto emitTest = [&] {
    sim::Insn insn;
    insn.op = Opcode::CmpLT;
    insn.dst = test;
    insn.a = counter.reg;
    insn.b = code.regOf(upper);
    code.emit(insn);
  };
  if (!CodeBuilder::isImm(lower) || !CodeBuilder::isImm(upper)) {
    emitTest();
    code.jumpIfNot(test, end);
  }
  code.place(body);
  if (failed(block(*op.getBody())))
    return failure();
  code.setLocation(tables.location(op.getLoc()));
  code.parallelMove(carried, refs(op.getBody()->getTerminator()->getOperands()));
  sim::Insn next;
  next.op = Opcode::Add;
  next.type = *type;
  next.dst = next.a = counter.reg;
  next.b = code.regOf(step);
  code.emit(next);
  emitTest();
  code.jumpIf(test, body);
  code.place(end);
  code.endScope();
  for (auto [result, reg] : llvm::zip(results, carried))
    code.move(result, {reg, 0});
  return success();
}

LogicalResult Translator::whileLoop(scf::WhileOp op) {
  std::vector<Ref> inits = refs(op.getInits());
  std::vector<int32_t> results;
  for (Value result : op.getResults()) {
    results.push_back(code.newReg());
    values[result] = {results.back(), 0};
  }
  code.beginScope();
  std::vector<int32_t> carried;
  for (auto [argument, init] : llvm::zip(op.getBeforeArguments(), inits)) {
    carried.push_back(code.newReg());
    values[argument] = {carried.back(), 0};
    code.move(carried.back(), init);
  }
  CodeBuilder::Label head = code.newLabel(), end = code.newLabel();
  code.place(head);
  if (failed(block(*op.getBeforeBody())))
    return failure();
  scf::ConditionOp condition = op.getConditionOp();
  std::vector<Ref> passed = refs(condition.getArgs());
  // The results are what the last test passed on.
  code.parallelMove(results, passed);
  code.jumpIfNot(code.regOf(get(condition.getCondition())), end);
  code.beginScope();
  for (auto [argument, ref] : llvm::zip(op.getAfterArguments(), passed))
    values[argument] = ref;
  if (failed(block(*op.getAfterBody())))
    return failure();
  code.endScope();
  code.parallelMove(carried, refs(op.getYieldOp().getOperands()));
  code.jump(head);
  code.place(end);
  code.endScope();
  return success();
}

LogicalResult Translator::branch(scf::IfOp op) {
  std::vector<int32_t> results;
  for (Value result : op.getResults()) {
    results.push_back(code.newReg());
    values[result] = {results.back(), 0};
  }
  Ref condition = get(op.getCondition());
  bool hasElse = op.elseBlock() != nullptr;
  CodeBuilder::Label otherwise = code.newLabel(), end = code.newLabel();
  code.beginScope();
  code.jumpIfNot(code.regOf(condition), otherwise);
  if (failed(block(*op.thenBlock())))
    return failure();
  code.parallelMove(results, refs(op.thenYield().getOperands()));
  if (hasElse)
    code.jump(end);
  code.place(otherwise);
  if (hasElse) {
    code.nextScope();
    if (failed(block(*op.elseBlock())))
      return failure();
    code.parallelMove(results, refs(op.elseYield().getOperands()));
  }
  code.place(end);
  code.endScope();
  return success();
}

LogicalResult Translator::indexSwitch(scf::IndexSwitchOp op) {
  std::vector<int32_t> results;
  for (Value result : op.getResults()) {
    results.push_back(code.newReg());
    values[result] = {results.back(), 0};
  }
  Ref selector = get(op.getArg());
  CodeBuilder::Label end = code.newLabel();
  code.beginScope();
  for (auto [value, region] : llvm::zip(op.getCases(), op.getCaseRegions())) {
    CodeBuilder::Label next = code.newLabel();
    Ref matches = code.pure(Opcode::CmpEQ, DType::I64, selector, CodeBuilder::imm(value));
    code.jumpIfNot(matches.reg, next);
    if (failed(block(region.front())))
      return failure();
    code.parallelMove(results, refs(region.front().getTerminator()->getOperands()));
    code.jump(end);
    code.place(next);
    code.nextScope();
  }
  if (failed(block(op.getDefaultBlock())))
    return failure();
  code.parallelMove(results, refs(op.getDefaultBlock().getTerminator()->getOperands()));
  code.place(end);
  code.endScope();
  return success();
}
