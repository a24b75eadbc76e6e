// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of a tile.parallel in order: loads, stores, atomics, branches, loops.

#include "tilewright/passes/Vectorize.h"

using namespace mlir;

namespace tilewright::passes::vectorize {

//===-- Loads that wait -------------------------------------------------------------------------===//

/// True if an op with an effect that comes after `at` (or, with `inclusive`, inside it) still asks for `value`.
bool Vectorizer::isNeededAfter(Value value, Operation *at, Context &context, bool inclusive, Value stored) {
  SmallVector<Value> work = {value};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second || next == stored || (next != value && findAny(next, context)))
      continue;
    for (Operation *user : next.getUsers()) {
      if (isMemoryEffectFree(user) && user->getNumRegions() == 0 && !user->hasTrait<OpTrait::IsTerminator>()) {
        llvm::append_range(work, user->getResults());
        continue;
      }
      // A load is pure too, as far as its indices go.
      if (auto load = dyn_cast<tile::LoadOp>(user)) {
        work.push_back(load.getResult());
        continue;
      }
      if (user == at && isa<scf::IfOp, scf::ForOp>(user))
        continue; // conditions and bounds are taken first
      Operation *here = at->getBlock()->findAncestorOpInBlock(*user);
      if (!here || at->isBeforeInBlock(here) || (inclusive && here == at))
        return true;
    }
  }
  return false;
}

void Vectorizer::saveLoads(Value bufferRoot, Operation *at, Context &context, bool inclusive, Value stored) {
  for (Value value : llvm::make_early_inc_range(kept)) {
    const View *known = findAny(value, context);
    if (!known || rootOf(known->buffer) != bufferRoot || !isNeededAfter(value, at, context, inclusive, stored))
      continue;
    View source = *known;
    bool isUnsigned = source.elementType().isUnsignedInteger();
    SmallVector<int64_t> dims;
    llvm::copy_if(source.map, std::back_inserter(dims), [](int64_t dim) { return dim >= 0; });
    View copy = newTemporary(dims, source.elementType());
    emitCopy(copy, source, context);
    context.memo[{value, isUnsigned}] = copy;
  }
  for (Value load : llvm::make_early_inc_range(pending)) {
    Operation *op = load.getDefiningOp();
    Value buffer = cast<tile::LoadOp>(op).getBuffer();
    bool reads = rootOf(buffer) == bufferRoot;
    // A load through an index tile also waits for its index.
    if (!reads && loads[load].kind == LoadInfo::Scalar)
      reads = readsRoot(load, bufferRoot, context);
    if (!reads || findAny(load, context) || !isNeededAfter(load, at, context, inclusive, stored))
      continue;
    materialize(load, context);
  }
}

/// Before a branch or loop: saves what it overwrites and what it or later ops read.
void Vectorizer::saveLoadsWrittenIn(Operation *op, Context &context) {
  SetVector<Value> written;
  op->walk([&](Operation *inner) {
    auto access = dyn_cast<AccessInterface>(inner);
    if (!access)
      return;
    for (unsigned index = 0; index < access.getNumBoxes(); ++index)
      if (writes(access.getAccessKind(index)))
        written.insert(rootOf(access.getBox(index).buffer));
  });
  for (Value buffer : written)
    saveLoads(buffer, op, context, /*inclusive=*/true);
}

//===-- Scalar variables with a value per lane --------------------------------------------------===//

/// The tile of a variable.
View Vectorizer::newVariable(Value variable) {
  SmallVector<int64_t> dims;
  for (unsigned dim = 0; dim < numDims(); ++dim)
    if (variableDims.lookup(variable) & (1u << dim))
      dims.push_back(dim);
  Type element = cast<MemRefType>(variable.getType()).getElementType();
  return variables[variable] = newTemporary(dims, element.isIndex() ? builder.getI64Type() : element);
}

/// A temporary for the lanes of a result.
View Vectorizer::tileFor(Value value) {
  SmallVector<int64_t> dims;
  for (unsigned dim = 0; dim < numDims(); ++dim)
    if (dimsOf(value) & (1u << dim))
      dims.push_back(dim);
  return newTemporary(dims, value.getType().isIndex() ? builder.getI64Type() : value.getType());
}

/// Variables from outside that get a value per lane, in program order.
SetVector<Value> Vectorizer::outerVariables() {
  SetVector<Value> found;
  root.walk([&](tile::StoreOp store) {
    Value buffer = store.getBuffer();
    Operation *def = buffer.getDefiningOp();
    if (variableDims.lookup(buffer) && !(def && root->isProperAncestor(def)))
      found.insert(buffer);
  });
  return found;
}

void Vectorizer::startVariables(Context &context) {
  for (Value variable : outerVariables()) {
    View view = newVariable(variable);
    // Stored by all lanes before anything else: the old value is not needed.
    Operation *first = nullptr;
    for (Operation *user : variable.getUsers()) {
      Operation *here = root.getBody().front().findAncestorOpInBlock(*user);
      if (here && (!first || here->isBeforeInBlock(first)))
        first = here;
    }
    if (isa<tile::StoreOp>(first))
      continue;
    Type type = tile::scalarTypeOf(cast<MemRefType>(variable.getType()).getElementType());
    Value initial = builder.create<tile::LoadOp>(math.location, type, variable, ValueRange(), FloatAttr());
    emitFill(view, elementScalar(initial), context);
  }
}

/// After the loop a variable from outside holds the value of the last lane.
void Vectorizer::finishVariables(Context &context) {
  for (Value variable : outerVariables()) {
    bool isRead = llvm::any_of(variable.getUsers(), [&](Operation *user) {
      return !root->isProperAncestor(user) && !isa<tile::StoreOp>(user);
    });
    // In a loop around, this loop itself may read it the next time.
    bool readsItself = llvm::any_of(variable.getUsers(), [&](Operation *user) { return isa<tile::LoadOp>(user); });
    if (!isRead && !readsItself)
      continue;
    View view = variables[variable];
    lastLane(context, view.dims(), [&](Context &last) {
      Lane lane;
      llvm::append_range(lane.ivs, last.domain.lo);
      Type type = tile::scalarTypeOf(cast<MemRefType>(variable.getType()).getElementType());
      Value value = loadLane(view, type, lane);
      builder.create<tile::StoreOp>(math.location, value, variable, ValueRange());
    });
  }
}

/// Runs `emit` with the dimensions in `dims` narrowed to their last point, unless there is none.
void Vectorizer::lastLane(Context &context, Dims dims, llvm::function_ref<void(Context &)> emit) {
  Context last(context);
  Value any;
  for (unsigned dim = 0; dim < numDims(); ++dim) {
    if (!(context.active & (1u << dim)))
      continue;
    Value &lo = last.domain.lo[dim], &size = last.domain.size[dim];
    auto known = tile::constantOf(size);
    if (!known) {
      Value some =
          builder.create<arith::CmpIOp>(math.location, arith::CmpIPredicate::sgt, size, math.constant(0));
      any = any ? builder.create<arith::AndIOp>(math.location, any, some).getResult() : some;
    } else if (*known <= 0) {
      return;
    }
    if (dims & (1u << dim)) {
      lo = math.sub(math.add(lo, size), math.constant(1));
      size = math.constant(1);
    }
  }
  OpBuilder::InsertionGuard guard(builder);
  if (any) {
    auto branch = builder.create<scf::IfOp>(math.location, any);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  emit(last);
}

//===-- Ops -------------------------------------------------------------------------------------===//

LogicalResult Vectorizer::processBlock(Block &block, Context &context) {
  // Conditions may be rewritten on the way; new ops stand before the op that needs them.
  size_t numPending = pending.size(), numKept = kept.size();
  for (Operation &op : llvm::make_early_inc_range(block)) {
    math.location = op.getLoc();
    if (failed(process(&op, context)))
      return failure();
  }
  kept.resize(numKept);
  pending.resize(numPending); // nobody outside reads them, but for what the block yields
  return success();
}

LogicalResult Vectorizer::process(Operation *op, Context &context) {
  if (op->hasTrait<OpTrait::IsTerminator>())
    return success();
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return processLoad(load, context), success();
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return processStore(store, context), success();
  if (auto atomic = dyn_cast<tile::AtomicOp>(op))
    return processAtomic(atomic, context), success();
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return processIf(branch, context);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return processFor(loop, context);
  if (auto inner = dyn_cast<tile::ParallelOp>(op))
    return processNested(inner, context);
  if (auto alloc = dyn_cast<tile::AllocOp>(op)) {
    if (variableDims.lookup(alloc)) {
      View view = newVariable(alloc);
      Type scalar = tile::scalarTypeOf(view.elementType());
      Value zero = builder.create<arith::ConstantOp>(op->getLoc(), cast<TypedAttr>(builder.getZeroAttr(scalar)));
      emitFill(view, zero, context);
    } else {
      scalars.map(alloc.getResult(), builder.clone(*op)->getResult(0));
    }
    return success();
  }
  if (op->getNumRegions() != 0)
    return op->emitOpError("cannot stand inside tile.parallel");
  if (!isMemoryEffectFree(op)) {
    processOther(op, context);
    return success();
  }
  if (llvm::all_of(op->getResults(), [&](Value result) { return isUniform(result); })) {
    builder.clone(*op, scalars);
    return success();
  }
  if (op->getNumResults() != 1)
    return op->emitOpError("with several results cannot stand inside tile.parallel");
  computeAffine(op);
  return success();
}

void Vectorizer::processLoad(tile::LoadOp op, Context &context) {
  Value result = op.getResult();
  if (auto variable = variables.find(op.getBuffer()); variable != variables.end()) {
    loads[result] = {LoadInfo::Tile, variable->second, ""};
    pending.push_back(result);
    return;
  }
  Value buffer = scalars.lookupOrDefault(op.getBuffer());
  bool onChip = tile::isOnChip(tile::scopeOf(buffer));
  bool maybeNobody = context.narrowed && onChip && !staysInBounds(buffer, op.getIndices());
  if (llvm::all_of(op.getIndices(), [&](Value index) { return isUniform(index); })) {
    // Where perhaps no lane is active the index may be anything: keep it in the tile.
    SmallVector<Value> indices;
    for (auto [index, extent] : llvm::zip(op.getIndices(), cast<MemRefType>(buffer.getType()).getShape())) {
      Value scalar = scalarOf(index);
      if (maybeNobody)
        scalar = math.min(math.max(scalar, math.constant(0)), math.constant(extent - 1));
      indices.push_back(scalar);
    }
    Value loaded =
        builder.create<tile::LoadOp>(op.getLoc(), result.getType(), buffer, indices, op.getPadAttr());
    scalars.map(result, loaded);
    return;
  }
  LoadInfo info = classify(buffer, op.getIndices(), /*isLoad=*/true);
  if (info.kind == LoadInfo::Tile && context.mask && !staysInBounds(buffer, op.getIndices())) {
    info.kind = LoadInfo::Scalar;
    info.blocking = "a masked load of '" + tile::nameOf(buffer).str() + "' may be out of bounds in masked lanes";
  }
  info.masked = context.mask != nullptr;
  loads[result] = std::move(info);
  pending.push_back(result);
}

//===-- Stores ----------------------------------------------------------------------------------===//

void Vectorizer::processStore(tile::StoreOp op, Context &context) {
  Value value = op.getValue();
  if (auto variable = variables.find(op.getBuffer()); variable != variables.end()) {
    View dst = variable->second;
    saveLoads(dst.buffer, op, context);
    return storeLanes(value, dst, context);
  }
  Value buffer = scalars.lookupOrDefault(op.getBuffer());
  LoadInfo target = classify(buffer, op.getIndices(), /*isLoad=*/false);
  // A computed value with more uses is read from the tile afterwards.
  bool keeps = target.kind == LoadInfo::Tile && !context.mask && !isUniform(value) && !value.hasOneUse() &&
               value.getDefiningOp() && !loads.contains(value) && !affineOf(value) && !findAny(value, context) &&
               target.view.dims() == dimsOf(value) && (context.active & ~target.view.dims()) == 0;
  saveLoads(rootOf(buffer), op, context, /*inclusive=*/false, keeps ? value : Value());
  if (target.kind == LoadInfo::Scalar)
    return storeScalarLoop(op, context, target.blocking);
  const View &dst = target.view;
  Dims all = context.active;
  Dims missing = all & ~dst.dims();
  if (context.mask) {
    bool onChip = tile::isOnChip(dst.scope());
    if (!onChip)
      return storeScalarLoop(op, context, "a store outside the chip under a condition that is no box");
    if (dimsOf(context.mask) & missing)
      return storeScalarLoop(op, context, "lanes under a condition store to one element");
    if (!staysInBounds(buffer, op.getIndices()))
      return storeScalarLoop(op, context, "a masked store may be out of bounds in masked lanes");
  }
  auto emit = [&](Context &lanes) {
    if (dst.dims() == 0) {
      Lane lane;
      llvm::append_range(lane.ivs, lanes.domain.lo);
      Value scalar = laneValue(value, lane, lanes);
      builder.create<tile::StoreOp>(op.getLoc(), scalar, buffer, dst.offsets);
      return;
    }
    storeLanes(value, dst, lanes);
  };
  if (missing == 0) {
    emit(context);
    if (keeps) {
      context.memo[{value, dst.elementType().isUnsignedInteger()}] = dst;
      kept.push_back(value);
    }
    return;
  }
  // Several lanes store to one element: the last one wins.
  lastLane(context, missing, emit);
}

void Vectorizer::storeLanes(Value value, const View &dst, Context &context) {
  if (!tile::isOnChip(dst.scope()))
    return storeGlobal(value, dst, context);
  if (!context.mask)
    return evaluate(value, dst, context);
  // dst := mask ? value : dst, or the other way round where the opposite of the mask is at hand.
  Sign sign = dst.elementType().isUnsignedInteger() ? Sign::Unsigned : Sign::Signed;
  Value opposite = negated.lookup(context.mask);
  if (!opposite && isUniform(value)) {
    Operation *def = context.mask.getDefiningOp();
    opposite = negate(context.mask, def ? def->getNextNode() : &root.getBody().front().front(), /*afresh=*/false);
  }
  bool swaps = opposite && (isUniform(value) || (!findAny(context.mask, context) && findAny(opposite, context)));
  if (isUniform(value)) {
    View mask = materialize(opposite, context);
    emitElementwise(Fn::Select, dst, {mask, dst}, elementScalar(scalarOf(value)), false, Round::Rint, context);
    return;
  }
  Operand lanes = operand(value, sign, context);
  View mask = materialize(swaps ? opposite : context.mask, context);
  if (swaps)
    emitElementwise(Fn::Select, dst, {mask, dst, lanes.view}, {}, false, Round::Rint, context);
  else
    emitElementwise(Fn::Select, dst, {mask, lanes.view, dst}, {}, false, Round::Rint, context);
  release(lanes);
}

/// Stores a box to global memory: through a temporary unless the lanes stand in a tile already.
void Vectorizer::storeGlobal(Value value, const View &dst, Context &context) {
  auto tileBehind = [&](Value source) -> std::optional<View> {
    if (const View *known = findAny(source, context))
      return *known;
    auto load = loads.find(source);
    if (load != loads.end() && load->second.kind == LoadInfo::Tile)
      return load->second.view;
    return std::nullopt;
  };
  auto fits = [&](const std::optional<View> &view) {
    return view && view->dims() == dst.dims() && sameOrder(*view, dst, context);
  };
  std::optional<View> source = tileBehind(value);
  // The copy converts floats as the cast would.
  if (!source)
    if (Operation *cast = value.getDefiningOp(); cast && isa<arith::TruncFOp, arith::ExtFOp>(cast)) {
      source = tileBehind(cast->getOperand(0));
      if (!fits(source))
        source.reset();
    }
  if (!fits(source)) {
    SmallVector<int64_t> order;
    llvm::copy_if(dst.map, std::back_inserter(order), [](int64_t dim) { return dim >= 0; });
    source = newTemporary(order, dst.elementType());
    evaluate(value, *source, context);
  }
  emitCopy(dst, *source, context);
}

void Vectorizer::storeScalarLoop(tile::StoreOp op, Context &context, StringRef reason) {
  fallback(op, reason);
  Value buffer = scalars.lookupOrDefault(op.getBuffer());
  Value bufferRoot = rootOf(buffer);
  // Values first, whole; sources that the loop would overwrite are saved.
  auto save = [&](Value value) {
    if (!isUniform(value) && readsRoot(value, bufferRoot, context))
      materialize(value, context);
  };
  Value value = op.getValue();
  if (!isUniform(value) && !loads.contains(value) && !affineOf(value))
    materialize(value, context);
  if (auto load = loads.find(value); load != loads.end() && load->second.kind == LoadInfo::Global)
    materialize(value, context);
  save(value);
  for (Value index : op.getIndices())
    save(index);
  if (context.mask)
    save(context.mask);
  forEachLane(context, context.active, [&](Lane &lane) {
    Value scalar = laneValue(value, lane, context);
    SmallVector<Value> indices;
    for (Value index : op.getIndices())
      indices.push_back(laneValue(index, lane, context));
    builder.create<tile::StoreOp>(op.getLoc(), scalar, buffer, indices);
  });
}

//===-- Atomics and other ops -------------------------------------------------------------------===//

/// One atomic over a box for the dimensions that the destination follows, in a loop over the others: the lanes that meet
/// in one element keep their order.
void Vectorizer::processAtomic(tile::AtomicOp op, Context &context) {
  Box target = op.getBox(0);
  Value buffer = scalars.lookupOrDefault(target.buffer);
  saveLoads(rootOf(buffer), op, context);
  LoadInfo info = classify(buffer, target.offsets, /*isLoad=*/false);
  Dims all = context.active;
  std::optional<LoadInfo> source;
  if (!op.getScalar())
    source = classify(scalars.lookupOrDefault(op.getBox(1).buffer), op.getBox(1).offsets, /*isLoad=*/true);
  Dims looped = all & ~info.view.dims();
  bool whole = info.kind != LoadInfo::Scalar && info.view.dims() != 0 && !context.mask &&
               (!source || source->kind != LoadInfo::Scalar);
  if (!whole)
    return processOther(op, context);
  // The lanes of the value as a tile, in the order of the destination.
  View lanes;
  bool uniform = op.getScalar() && isUniform(op.getScalar());
  if (source)
    lanes = source->view;
  else if (!uniform)
    lanes = materialize(op.getScalar(), context);
  if (lanes.buffer) {
    SmallVector<int64_t> order, mine;
    for (unsigned dim = 0; dim < numDims(); ++dim)
      if (looped & lanes.dims() & (1u << dim))
        order.push_back(dim);
    llvm::copy_if(info.view.map, std::back_inserter(order), [](int64_t dim) { return dim >= 0; });
    llvm::copy_if(lanes.map, std::back_inserter(mine), [](int64_t dim) { return dim >= 0; });
    if (order != mine) {
      View wide = newTemporary(order, lanes.elementType());
      emitCopy(wide, lanes, context);
      lanes = wide;
    }
  }
  forEachLane(context, looped, [&](Lane &lane) {
    Context row(context);
    for (unsigned dim = 0; dim < numDims(); ++dim)
      if (looped & (1u << dim)) {
        row.domain.lo[dim] = lane.ivs[dim];
        row.domain.size[dim] = math.constant(1);
      }
    SmallVector<Value> buffers, offsets, sizes;
    boxOf(info.view, row, buffers, offsets, sizes);
    if (lanes.buffer)
      boxOf(lanes, row, buffers, offsets, sizes);
    builder.create<tile::AtomicOp>(op.getLoc(), buffers, offsets, sizes, uniform ? scalarOf(op.getScalar()) : Value(),
                                   op.getKind());
  });
}

/// Any other op with an effect: once for all lanes if that is the same, else lane by lane.
void Vectorizer::processOther(Operation *op, Context &context) {
  SmallVector<Value> written;
  if (auto access = dyn_cast<AccessInterface>(op))
    for (unsigned index = 0; index < access.getNumBoxes(); ++index)
      if (writes(access.getAccessKind(index)))
        written.push_back(rootOf(scalars.lookupOrDefault(access.getBox(index).buffer)));
  for (Value buffer : written)
    saveLoads(buffer, op, context, /*inclusive=*/true);
  bool uniform = llvm::all_of(op->getOperands(), [&](Value operand) { return isUniform(operand); });
  if (uniform && !context.mask && isa<tile::CopyOp, tile::FillOp>(op)) {
    lastLane(context, 0, [&](Context &) { builder.clone(*op, scalars); });
    return;
  }
  fallback(op, "'" + op->getName().getStringRef() + "' runs once per lane");
  for (Value operand : op->getOperands())
    if (!isUniform(operand) && !loads.contains(operand) && !affineOf(operand) && operand.getDefiningOp())
      materialize(operand, context);
  Dims all = context.active;
  forEachLane(context, all, [&](Lane &lane) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, isa<MemRefType>(operand.getType()) ? scalars.lookupOrDefault(operand)
                                                              : laneValue(operand, lane, context));
    builder.clone(*op, mapping);
  });
}

//===-- Control flow ----------------------------------------------------------------------------===//

LogicalResult Vectorizer::processNested(tile::ParallelOp op, Context &context) {
  for (Value extent : op.getExtents())
    if (!isUniform(extent))
      return op.emitOpError("extent of a nested loop depends on the lanes of the outer one");
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
    for (auto [yielded, result, tile] : llvm::zip(from.getTerminator()->getOperands(), op.getResults(), tiles)) {
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

/// Writes a result of a branch or loop where `mask` says so; lanes that are off anyway may get anything.
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
                            bool pure = isa<tile::LoadOp, scf::IfOp, scf::YieldOp>(inner) || isMemoryEffectFree(inner);
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
    return op.emitOpError("starts at a bound that depends on the lanes of tile.parallel; start at a common one");
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
      Value old = builder.create<tile::LoadOp>(op.getLoc(), i64, limit.buffer, ValueRange(), FloatAttr());
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
  auto loop = builder.create<scf::ForOp>(op.getLoc(), scalarOf(op.getLowerBound()), upper, scalarOf(op.getStep()), inits);
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
      active = body.create<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::slt, op.getInductionVar(),
                                                op.getUpperBound());
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

//===-- The whole loop --------------------------------------------------------------------------===//

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
  startVariables(context);
  if (failed(processBlock(root.getBody().front(), context)))
    return failure();
  math.location = root.getLoc();
  finishVariables(context);
  return success();
}

} // namespace tilewright::passes::vectorize
