// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control flow and scalars. HIVM has no registers that change: the slots of rotating buffers and
// the scalar variables become values that loops and branches carry.

#include "tilewright/to_hivm/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::to_hivm;

SmallVector<Value> Emitter::mapped(ValueRange values) {
  return llvm::map_to_vector(values, [&](Value value) { return mapping.lookup(value); });
}

SmallVector<Value> Emitter::current(ArrayRef<Value> changed) {
  return llvm::map_to_vector(changed, [&](Value buffer) { return state.lookup(buffer); });
}

void Emitter::setCurrent(ArrayRef<Value> changed, ValueRange values) {
  for (auto [buffer, value] : llvm::zip_equal(changed, values))
    state[buffer] = value;
}

/// Rotating buffers and variables that `op` changes, of those that exist outside.
SmallVector<Value> Emitter::changedIn(Operation *op) {
  llvm::SetVector<Value> changed;
  op->walk([&](Operation *inner) {
    Value buffer;
    if (auto advance = dyn_cast<npu::AdvanceOp>(inner))
      buffer = advance.getBuffer();
    else if (auto store = dyn_cast<npu::ScalarStoreOp>(inner))
      buffer = store.getBuffer();
    if (buffer && state.contains(buffer))
      changed.insert(buffer);
  });
  return changed.takeVector();
}

LogicalResult Emitter::block(Block &body) {
  usesScratch = true;
  isSettled = false;
  for (Operation &inner : body) {
    loc = inner.getLoc();
    for (npu::AllocOp buffer : sunk.lookup(&inner))
      if (failed(alloc(buffer)))
        return failure();
    if (failed(op(&inner)))
      return failure();
  }
  usesScratch = true;
  isSettled = false;
  return success();
}

LogicalResult Emitter::op(Operation *op) {
  loc = op->getLoc();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return forLoop(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return whileLoop(loop);
  if (isa<scf::IfOp, scf::IndexSwitchOp>(op))
    return branches(op);
  if (isa<scf::YieldOp, scf::ConditionOp, func::ReturnOp, npu::BeginBlockOp>(op))
    return success();
  if (op->getDialect()->getNamespace() != "npu")
    return scalar(op);
  if (auto alloc = dyn_cast<npu::AllocOp>(op)) {
    bool isSunk =
        llvm::any_of(sunk, [&](auto &entry) { return llvm::is_contained(entry.second, alloc); });
    return isSunk ? success() : this->alloc(alloc);
  }
  if (auto step = dyn_cast<npu::AdvanceOp>(op)) {
    advance(step);
    return success();
  }
  if (isa<npu::SetFlagOp, npu::WaitFlagOp, npu::BarrierOp, npu::BlockSetOp, npu::BlockWaitOp,
          npu::EndBlockOp, npu::CoreBarrierOp>(op))
    return sync(op);
  if (isa<npu::ScalarLoadOp, npu::ScalarStoreOp>(op))
    return scalarAccess(op);
  if (isa<npu::ScalarAtomicOp>(op))
    return refuse(op, "an atomic that gives what was there before (return_prev)");
  if (isa<npu::LoadOp, npu::StoreOp, npu::AtomicOp, npu::FillL1Op, npu::LoadL0Op, npu::MmadOp,
          npu::FixpipeOp>(op))
    return move(op);
  if (auto print = dyn_cast<npu::PrintOp>(op))
    return this->print(print);
  auto where = [&](StringRef name) {
    Value id = emit(name, {}, {}, {}, builder.getI64Type())->getResult(0);
    mapping.map(op->getResult(0),
                builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), id));
    return success();
  };
  if (isa<npu::CoreIdOp>(op))
    return where("get_block_idx");
  if (isa<npu::CoreCountOp>(op))
    return where("get_block_num");
  if (isa<npu::SubCoreIdOp>(op)) {
    if (frame.isMixed())
      return where("get_sub_block_idx");
    mapping.map(op->getResult(0), constant(0));
    return success();
  }
  if (auto check = dyn_cast<npu::AssertOp>(op)) {
    Value holds = builder.create<arith::ExtUIOp>(loc, builder.getI32Type(),
                                                 mapping.lookup(check.getCondition()));
    emit("debug", holds,
         {named("debugtype", builder.getStringAttr("assert")),
          named("hex", builder.getBoolAttr(false)), named("prefix", check.getMessageAttr()),
          word("tcoretype", "tcore_type", core == Core::AIC ? "CUBE" : "VECTOR")});
    return success();
  }
  return vector(op);
}

/// Scalar code goes over as it is.
LogicalResult Emitter::scalar(Operation *op) {
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    auto index = dim.getConstantIndex();
    auto argument = dyn_cast<BlockArgument>(dim.getSource());
    if (!index || !argument)
      return refuse(op, "a run-time size of anything but an argument");
    mapping.map(dim.getResult(), asValue(extentsOf(argument)[*index]));
    return success();
  }
  if (op->getNumRegions() != 0)
    return refuse(op, "this control flow");
  Operation *copy = builder.clone(*op, mapping);
  copy->setDiscardableAttrs(ArrayRef<NamedAttribute>());
  return success();
}

LogicalResult Emitter::forLoop(scf::ForOp op) {
  SmallVector<Value> changed = changedIn(op), inits = mapped(op.getInitArgs());
  llvm::append_range(inits, current(changed));
  auto loop = builder.create<scf::ForOp>(loc, mapping.lookup(op.getLowerBound()),
                                         mapping.lookup(op.getUpperBound()),
                                         mapping.lookup(op.getStep()), inits);
  mapping.map(op.getInductionVar(), loop.getInductionVar());
  unsigned own = op.getNumRegionIterArgs();
  mapping.map(op.getRegionIterArgs(), loop.getRegionIterArgs().take_front(own));
  setCurrent(changed, loop.getRegionIterArgs().drop_front(own));
  {
    OpBuilder::InsertionGuard guard(builder);
    if (inits.empty())
      builder.setInsertionPoint(loop.getBody()->getTerminator());
    else
      builder.setInsertionPointToEnd(loop.getBody());
    if (failed(block(*op.getBody())))
      return failure();
    if (!inits.empty()) {
      SmallVector<Value> next = mapped(op.getBody()->getTerminator()->getOperands());
      llvm::append_range(next, current(changed));
      builder.create<scf::YieldOp>(op.getLoc(), next);
    }
  }
  mapping.map(op.getResults(), loop.getResults().take_front(own));
  setCurrent(changed, loop.getResults().drop_front(own));
  return success();
}

/// The values that change go through both regions, behind the loop's own.
LogicalResult Emitter::whileLoop(scf::WhileOp op) {
  SmallVector<Value> changed = changedIn(op), inits = mapped(op.getInits());
  llvm::append_range(inits, current(changed));
  SmallVector<Type> results(op.getResultTypes());
  for (Value value : current(changed))
    results.push_back(value.getType());
  auto loop = builder.create<scf::WhileOp>(loc, results, inits);
  auto enter = [&](Region &from, Region &to, TypeRange types) {
    Block *body =
        builder.createBlock(&to, to.end(), types, SmallVector<Location>(types.size(), op.getLoc()));
    unsigned own = from.getNumArguments();
    mapping.map(from.getArguments(), body->getArguments().take_front(own));
    setCurrent(changed, body->getArguments().drop_front(own));
    return block(from.front());
  };
  OpBuilder::InsertionGuard guard(builder);
  if (failed(enter(op.getBefore(), loop.getBefore(), ValueRange(inits).getTypes())))
    return failure();
  scf::ConditionOp condition = op.getConditionOp();
  SmallVector<Value> passed = mapped(condition.getArgs());
  llvm::append_range(passed, current(changed));
  builder.create<scf::ConditionOp>(op.getLoc(), mapping.lookup(condition.getCondition()), passed);
  if (failed(enter(op.getAfter(), loop.getAfter(), results)))
    return failure();
  SmallVector<Value> next = mapped(op.getYieldOp().getOperands());
  llvm::append_range(next, current(changed));
  builder.create<scf::YieldOp>(op.getLoc(), next);
  mapping.map(op.getResults(), loop.getResults().take_front(op.getNumResults()));
  setCurrent(changed, loop.getResults().drop_front(op.getNumResults()));
  return success();
}

/// scf.if and scf.index_switch: every region yields what any of them changes.
LogicalResult Emitter::branches(Operation *op) {
  SmallVector<Value> changed = changedIn(op), before = current(changed);
  SmallVector<Type> results(op->getResultTypes());
  llvm::append_range(results, ValueRange(before).getTypes());
  Operation *copy;
  if (auto choice = dyn_cast<scf::IfOp>(op)) {
    copy = builder.create<scf::IfOp>(loc, results, mapping.lookup(choice.getCondition()),
                                     /*addThenBlock=*/false, /*addElseBlock=*/false);
  } else {
    auto chosen = cast<scf::IndexSwitchOp>(op);
    copy = builder.create<scf::IndexSwitchOp>(loc, results, mapping.lookup(chosen.getArg()),
                                              chosen.getCases(), chosen.getNumCases());
  }
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), copy->getRegions())) {
    if (from.empty() && changed.empty())
      continue;
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&to);
    setCurrent(changed, before);
    SmallVector<Value> yielded;
    if (!from.empty()) {
      if (failed(block(from.front())))
        return failure();
      yielded = mapped(from.front().getTerminator()->getOperands());
    }
    llvm::append_range(yielded, current(changed));
    builder.create<scf::YieldOp>(op->getLoc(), yielded);
  }
  mapping.map(op->getResults(), copy->getResults().take_front(op->getNumResults()));
  setCurrent(changed, copy->getResults().drop_front(op->getNumResults()));
  return success();
}

/// (slot + 1) mod slots.
void Emitter::advance(npu::AdvanceOp op) {
  auto it = state.find(op.getBuffer());
  if (it == state.end())
    return;
  auto slots = int64_t(op.getBuffer().getDefiningOp<npu::AllocOp>().getSlots());
  Value next = builder.create<arith::AddIOp>(loc, it->second, constant(1));
  it->second = builder.create<arith::RemUIOp>(loc, next, constant(slots));
}

LogicalResult Emitter::scalarAccess(Operation *op) {
  auto load = dyn_cast<npu::ScalarLoadOp>(op);
  auto store = dyn_cast<npu::ScalarStoreOp>(op);
  Value buffer = load ? load.getBuffer() : store.getBuffer();
  if (npu::spaceOf(buffer) == npu::Space::Reg) {
    if (load)
      mapping.map(load.getResult(), state.lookup(buffer));
    else
      state[buffer] = mapping.lookup(store.getValue());
    return success();
  }
  bool isBool = cast<MemRefType>(buffer.getType()).getElementType().isInteger(1);
  ValueRange given = load ? load.getIndices() : store.getIndices();
  Value base = baseOf(buffer);
  SmallVector<Value> indices;
  if (isa<BlockArgument>(buffer) || npu::spaceOf(buffer) == npu::Space::Workspace) {
    OpFoldResult linear = builder.getIndexAttr(0), stride = builder.getIndexAttr(1);
    Sizes extents = extentsOf(buffer);
    for (unsigned dim = unsigned(extents.size()); dim-- > 0;) {
      linear = plus(linear, times(fold(given[dim]), stride));
      stride = times(stride, extents[dim]);
    }
    indices.push_back(asValue(linear));
  } else {
    if (Value slot = slotDim(buffer))
      indices.push_back(slot);
    llvm::append_range(indices, mapped(given));
  }
  Type i8 = builder.getI8Type();
  if (load) {
    Value element = builder.create<memref::LoadOp>(loc, base, indices);
    if (isBool) // in a byte, see storedType
      element = builder.create<arith::CmpIOp>(
          loc, arith::CmpIPredicate::ne, element,
          builder.create<arith::ConstantOp>(loc, builder.getIntegerAttr(i8, 0)));
    mapping.map(load.getResult(), element);
    return success();
  }
  Value element = mapping.lookup(store.getValue());
  if (isBool)
    element = builder.create<arith::ExtUIOp>(loc, i8, element);
  builder.create<memref::StoreOp>(loc, element, base, indices);
  return success();
}
