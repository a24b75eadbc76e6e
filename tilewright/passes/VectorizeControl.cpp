// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches and loops inside a tile.parallel, and the loop as a whole.

#include "tilewright/passes/Vectorize.h"

using namespace mlir;

namespace tilewright::passes::vectorize {

//===-- Branches ------------------------------------------------------------------------------===//

LogicalResult Vectorizer::processNested(tile::ParallelOp op, Context &context) {
  for (Value extent : op.getExtents())
    if (!isUniform(extent))
      return op.emitError(
          "E0706: the extent of a nested loop depends on the lanes of the outer one");
  saveLoadsWrittenIn(op, context);
  Context inner(context);
  enter(op, inner);
  return processBlock(op.getBody().front(), inner);
}

LogicalResult Vectorizer::processUniformIf(scf::IfOp op, Context &context) {
  SmallVector<Type> types;
  SmallVector<std::optional<View>> tiles;
  for (Value result : op.getResults()) {
    tiles.emplace_back();
    if (isUniform(result)) {
      types.push_back(result.getType());
      continue;
    }
    tiles.back() = tileFor(result);
  }
  bool hasElse = !op.getElseRegion().empty();
  auto branch = builder.create<scf::IfOp>(op.getLoc(), types, scalarOf(op.getCondition()), hasElse);
  for (bool side : {true, false}) {
    if (!side && !hasElse)
      continue;
    OpBuilder::InsertionGuard guard(builder);
    Block *block = side ? branch.thenBlock() : branch.elseBlock();
    builder.setInsertionPointToStart(block);
    Context inner(context);
    Block &from = side ? op.getThenRegion().front() : op.getElseRegion().front();
    if (failed(processBlock(from, inner)))
      return failure();
    SmallVector<Value> uniform;
    for (auto [yielded, result, tile] :
         llvm::zip(from.getTerminator()->getOperands(), op.getResults(), tiles)) {
      if (tile)
        evaluate(yielded, *tile, inner);
      else
        uniform.push_back(scalarOf(yielded));
    }
    if (types.empty())
      continue;
    builder.create<scf::YieldOp>(op.getLoc(), uniform);
  }
  unsigned next = 0;
  for (auto [result, tile] : llvm::zip(op.getResults(), tiles)) {
    if (tile)
      context.memo[{result, false}] = *tile;
    else
      scalars.map(result, branch.getResult(next++));
  }
  return success();
}

/// Puts the mask of a branch in memory.
void Vectorizer::takeMask(Context &inner, Context &outer) {
  Value mask = inner.mask;
  if (!mask || mask == outer.mask)
    return;
  if (Value opposite = negated.lookup(mask))
    mask = opposite; // stores swap their operands instead
  // Where the box is the same, what the mask is made of stays known outside.
  if (inner.domain.lo == outer.domain.lo && inner.domain.size == outer.domain.size) {
    materialize(mask, outer);
    return;
  }
  Value own = std::exchange(inner.mask, outer.mask);
  materialize(mask, inner);
  inner.mask = own;
}

/// Writes a result of a branch or loop where `mask` says so; lanes that are off anyway may get
/// anything.
void Vectorizer::mergeResult(Value value, const View &dst, Context &context, Value mask) {
  if (dependsOnMask(value, context))
    materialize(value, context);
  Context merge(context);
  merge.mask = mask;
  storeLanes(value, dst, merge);
}

LogicalResult Vectorizer::processIf(scf::IfOp op, Context &context) {
  Value condition = op.getCondition();
  if (isUniform(condition)) {
    saveLoadsWrittenIn(op, context);
    return processUniformIf(op, context);
  }

  bool hasElse = !op.getElseRegion().empty() &&
                 (op.getNumResults() != 0 || !llvm::hasSingleElement(op.getElseRegion().front()));
  // `own` masks say which lanes of those here take the branch; a result needs no more.
  Context onTrue(context), onFalse(context);
  Value ownTrue, ownFalse;
  for (bool side : {true, false}) {
    if (!side && !hasElse)
      continue;
    Context &inner = side ? onTrue : onFalse;
    Value &own = side ? ownTrue : ownFalse;
    inner.narrowed = true;
    inner.mask = nullptr;
    restrict(inner, condition, /*negated=*/!side, op);
    own = inner.mask;
    inner.mask = context.mask;
    // Masks are taken before a branch can change what they read.
    if (own && op.getNumResults()) {
      inner.mask = own;
      takeMask(inner, context);
    }
    inner.mask = conjunction(context.mask, own, op);
    takeMask(inner, context);
  }
  saveLoadsWrittenIn(op, context);
  SmallVector<View> tiles;
  for (Value result : op.getResults())
    tiles.push_back(tileFor(result));
  // Where the branches write nothing, the else values can be written everywhere first.
  bool writesNothing = !op->walk([](Operation *inner) {
                            bool pure = isa<tile::LoadOp, scf::IfOp, scf::YieldOp>(inner) ||
                                        isMemoryEffectFree(inner);
                            return pure ? WalkResult::advance() : WalkResult::interrupt();
                          }).wasInterrupted();
  bool elseFirst = hasElse && writesNothing;
  for (bool side : {!elseFirst, elseFirst}) {
    if (!side && !hasElse)
      continue;
    Context &inner = side ? onTrue : onFalse;
    Block &from = side ? op.getThenRegion().front() : op.getElseRegion().front();
    if (failed(processBlock(from, inner)))
      return failure();
    for (auto [yielded, tile] : llvm::zip(from.getTerminator()->getOperands(), tiles)) {
      Value own = side ? ownTrue : ownFalse;
      mergeResult(yielded, tile, inner, !side && elseFirst ? Value() : own);
    }
  }
  for (auto [result, tile] : llvm::zip(op.getResults(), tiles))
    context.memo[{result, false}] = tile;
  return success();
}

LogicalResult Vectorizer::processFor(scf::ForOp op, Context &context) {
  if (!isUniform(op.getLowerBound()) || !isUniform(op.getStep()))
    return op.emitError(
        "E0706: the loop starts at a bound that depends on the point of T.Parallel; "
        "start at a common one");
  saveLoadsWrittenIn(op, context);
  // A bound per lane: run to the largest, under the mask `iv < bound`.
  Value upper = scalarOf(op.getUpperBound());
  bool ragged = !isUniform(op.getUpperBound());
  if (ragged) {
    fallback(op, "the bound of an inner loop depends on the lanes");
    Type i64 = builder.getI64Type();
    auto local = tile::ScopeAttr::get(builder.getContext(), tile::Scope::Local);
    View limit;
    limit.buffer = builder.create<tile::AllocOp>(
        op.getLoc(), MemRefType::get({}, i64, MemRefLayoutAttrInterface(), local), "bound");
    Value low = elementScalar(math.toIndex(scalarOf(op.getLowerBound())));
    builder.create<tile::StoreOp>(op.getLoc(), low, limit.buffer, ValueRange());
    if (op.getUpperBound().getDefiningOp())
      materialize(op.getUpperBound(), context);
    forEachLane(context, dimsOf(op.getUpperBound()), [&](Lane &lane) {
      Value bound = elementScalar(math.toIndex(laneValue(op.getUpperBound(), lane, context)));
      Value old =
          builder.create<tile::LoadOp>(op.getLoc(), i64, limit.buffer, ValueRange(), FloatAttr());
      Value more = builder.create<arith::MaxSIOp>(op.getLoc(), old, bound);
      builder.create<tile::StoreOp>(op.getLoc(), more, limit.buffer, ValueRange());
    });
    upper = builder.create<tile::LoadOp>(op.getLoc(), i64, limit.buffer, ValueRange(), FloatAttr());
    upper = builder.create<arith::IndexCastOp>(op.getLoc(), builder.getIndexType(), upper);
    if (!op.getUpperBound().getType().isIndex())
      upper = builder.create<arith::IndexCastOp>(op.getLoc(), op.getUpperBound().getType(), upper);
  }
  SmallVector<Value> inits;
  SmallVector<std::optional<View>> tiles;
  for (auto [result, initial] : llvm::zip(op.getResults(), op.getInits())) {
    tiles.emplace_back();
    if (isUniform(result)) {
      inits.push_back(scalarOf(initial));
      continue;
    }
    tiles.back() = tileFor(result);
    evaluate(initial, *tiles.back(), context);
  }
  auto loop = builder.create<scf::ForOp>(op.getLoc(), scalarOf(op.getLowerBound()), upper,
                                         scalarOf(op.getStep()), inits);
  loop->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  scalars.map(op.getInductionVar(), loop.getInductionVar());
  Context inner(context);
  unsigned next = 0;
  for (auto [argument, tile] : llvm::zip(op.getRegionIterArgs(), tiles)) {
    if (tile)
      inner.memo[{argument, false}] = *tile;
    else
      scalars.map(argument, loop.getRegionIterArg(next++));
  }
  Value active; // lanes whose bound is not reached
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    if (ragged) {
      OpBuilder body(&op.getBody()->front());
      active = body.create<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::slt,
                                          op.getInductionVar(), op.getUpperBound());
      addDims(active, dimsOf(op.getUpperBound()));
      Value mask = active;
      if (inner.mask) {
        mask = body.create<arith::AndIOp>(op.getLoc(), inner.mask, active);
        addDims(mask, dimsOf(inner.mask) | dimsOf(active));
      }
      inner.mask = context.mask;
      materialize(active, inner);
      inner.mask = mask;
      takeMask(inner, context);
    }
    if (failed(processBlock(*op.getBody(), inner)))
      return failure();
    // All yielded values are computed before any argument changes.
    SmallVector<Value> uniform;
    SmallVector<std::pair<Value, View>> varying;
    for (auto [yielded, tile] : llvm::zip(op.getYieldedValues(), tiles)) {
      if (tile)
        varying.emplace_back(yielded, *tile);
      else
        uniform.push_back(scalarOf(yielded));
    }
    if (varying.size() > 1)
      for (auto &[yielded, tile] : varying)
        if (!isUniform(yielded)) {
          View fresh = newTemporary(tile.map, tile.elementType());
          evaluate(yielded, fresh, inner);
          inner.memo[{yielded, false}] = fresh;
        }
    for (auto &[yielded, tile] : varying)
      mergeResult(yielded, tile, inner, active);
    if (!inits.empty())
      builder.create<scf::YieldOp>(op.getLoc(), uniform);
  }
  next = 0;
  for (auto [result, tile] : llvm::zip(op.getResults(), tiles)) {
    if (tile)
      context.memo[{result, false}] = *tile;
    else
      scalars.map(result, loop.getResult(next++));
  }
  return success();
}

//===-- The whole loop ------------------------------------------------------------------------===//

LogicalResult Vectorizer::run() {
  math.location = root.getLoc();
  builder.setInsertionPoint(root);
  Context context;
  if (failed(addDimensions(root, context)))
    return failure();
  enter(root, context);
  // Nested loops add dimensions whose box is set when they are met.
  LogicalResult result = success();
  root.getBody().walk<WalkOrder::PreOrder>([&](tile::ParallelOp inner) {
    if (succeeded(result))
      result = addDimensions(inner, context);
  });
  if (failed(result))
    return failure();
  computeDims();
  simplifyBranches(root, [&](Value value) { return !isUniform(value); });
  computeDims();
  for (auto [variable, dims] : variableDims) {
    if ((dims & ~context.active) == 0)
      continue;
    StringRef name = tile::nameOf(variable);
    return root.emitError("E0706: scalar variable '")
           << name << "' gets a value per point of a nested loop; use a tile";
  }
  startVariables(context);
  if (failed(processBlock(root.getBody().front(), context)))
    return failure();
  math.location = root.getLoc();
  finishVariables(context);
  return success();
}

} // namespace tilewright::passes::vectorize
