// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of a tile.parallel in order: loads, stores, atomics, branches, loops.

#include "tilewright/passes/Vectorize.h"

using namespace mlir;

namespace tilewright::passes::vectorize {

//===-- Loads that wait -----------------------------------------------------------------------===//

/// True if an op with an effect that comes after `at` (or, with `inclusive`, inside it) still asks
/// for `value`.
bool Vectorizer::isNeededAfter(Value value, Operation *at, Context &context, bool inclusive,
                               Value stored) {
  SmallVector<Value> work = {value};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second || next == stored || (next != value && findAny(next, context)))
      continue;
    for (Operation *user : next.getUsers()) {
      if (isMemoryEffectFree(user) && user->getNumRegions() == 0 &&
          !user->hasTrait<OpTrait::IsTerminator>()) {
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

void Vectorizer::saveLoads(Value bufferRoot, Operation *at, Context &context, bool inclusive,
                           Value stored) {
  for (Value value : llvm::make_early_inc_range(kept)) {
    const View *known = findAny(value, context);
    if (!known || rootOf(known->buffer) != bufferRoot ||
        !isNeededAfter(value, at, context, inclusive, stored))
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

//===-- Scalar variables with a value per lane ------------------------------------------------===//

/// The tile of a variable.
View Vectorizer::newVariable(Value variable) {
  SmallVector<int64_t> dims;
  for (unsigned dim = 0; dim < numDims(); ++dim)
    if (variableDims.lookup(variable) & (1u << dim))
      dims.push_back(dim);
  Type element = cast<MemRefType>(variable.getType()).getElementType();
  return variables[variable] =
             newTemporary(dims, element.isIndex() ? builder.getI64Type() : element);
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
    Value initial =
        builder.create<tile::LoadOp>(math.location, type, variable, ValueRange(), FloatAttr());
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
    bool readsItself =
        llvm::any_of(variable.getUsers(), [&](Operation *user) { return isa<tile::LoadOp>(user); });
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
      Value some = builder.create<arith::CmpIOp>(math.location, arith::CmpIPredicate::sgt, size,
                                                 math.constant(0));
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

//===-- Ops -----------------------------------------------------------------------------------===//

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
      Value zero = builder.create<arith::ConstantOp>(op->getLoc(),
                                                     cast<TypedAttr>(builder.getZeroAttr(scalar)));
      emitFill(view, zero, context);
    } else {
      scalars.map(alloc.getResult(), builder.clone(*op)->getResult(0));
    }
    return success();
  }
  if (op->getNumRegions() != 0)
    return op->emitOpError("E0706: cannot stand inside T.Parallel");
  if (!isMemoryEffectFree(op)) {
    processOther(op, context);
    return success();
  }
  if (llvm::all_of(op->getResults(), [&](Value result) { return isUniform(result); })) {
    builder.clone(*op, scalars);
    return success();
  }
  if (op->getNumResults() != 1)
    return op->emitOpError("E0706: with several results cannot stand inside T.Parallel");
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
    for (auto [index, extent] :
         llvm::zip(op.getIndices(), cast<MemRefType>(buffer.getType()).getShape())) {
      Value scalar = scalarOf(index);
      if (maybeNobody)
        scalar = math.min(math.max(scalar, math.constant(0)), math.constant(extent - 1));
      indices.push_back(scalar);
    }
    Value loaded = builder.create<tile::LoadOp>(op.getLoc(), result.getType(), buffer, indices,
                                                op.getPadAttr());
    scalars.map(result, loaded);
    return;
  }
  LoadInfo info = classify(buffer, op.getIndices(), /*isLoad=*/true);
  if (info.kind == LoadInfo::Tile && context.mask && !staysInBounds(buffer, op.getIndices())) {
    info.kind = LoadInfo::Scalar;
    info.blocking = "a masked load of '" + tile::nameOf(buffer).str() +
                    "' may be out of bounds in masked lanes";
  }
  info.masked = context.mask != nullptr;
  loads[result] = std::move(info);
  pending.push_back(result);
}

//===-- Stores --------------------------------------------------------------------------------===//

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
  bool keeps = target.kind == LoadInfo::Tile && !context.mask && !isUniform(value) &&
               !value.hasOneUse() && value.getDefiningOp() && !loads.contains(value) &&
               !affineOf(value) && !findAny(value, context) &&
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
      return storeScalarLoop(op, context,
                             "a store outside the chip under a condition that is no box");
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
    opposite = negate(context.mask, def ? def->getNextNode() : &root.getBody().front().front(),
                      /*afresh=*/false);
  }
  bool swaps = opposite && (isUniform(value) ||
                            (!findAny(context.mask, context) && findAny(opposite, context)));
  if (isUniform(value)) {
    Value own = std::exchange(context.mask, nullptr); // the opposite is for all lanes
    View mask = materialize(opposite, context);
    context.mask = own;
    emitElementwise(Fn::Select, dst, {mask, dst}, elementScalar(scalarOf(value)), false,
                    Round::Rint, context);
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
    if (Operation *cast = value.getDefiningOp();
        cast && isa<arith::TruncFOp, arith::ExtFOp>(cast)) {
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
  if (!plain && storeByRows(op, context))
    return;
  fallback(op, reason);
  Value buffer = scalars.lookupOrDefault(op.getBuffer());
  Value bufferRoot = rootOf(buffer);
  // Values first, whole; sources that the loop would overwrite are saved.
  auto save = [&](Value value) {
    if (!isUniform(value) && readsRoot(value, bufferRoot, context))
      materialize(value, context);
  };
  Value value = op.getValue();
  if (!plain && !isUniform(value) && !loads.contains(value) && !affineOf(value))
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

//===-- Atomics and other ops -----------------------------------------------------------------===//

/// One atomic over a box for the dimensions that the destination follows, in a loop over the
/// others: the lanes that meet in one element keep their order.
void Vectorizer::processAtomic(tile::AtomicOp op, Context &context) {
  if (op.getPrevious())
    return processFetch(op, context);
  Box target = op.getBox(0);
  Value buffer = scalars.lookupOrDefault(target.buffer);
  saveLoads(rootOf(buffer), op, context);
  LoadInfo info = classify(buffer, target.offsets, /*isLoad=*/false);
  Dims all = context.active;
  std::optional<LoadInfo> source;
  if (!op.getScalar())
    source = classify(scalars.lookupOrDefault(op.getBox(1).buffer), op.getBox(1).offsets,
                      /*isLoad=*/true);
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
    builder.create<tile::AtomicOp>(op.getLoc(), Type(), buffers, offsets, sizes,
                                   uniform ? scalarOf(op.getScalar()) : Value(), op.getKind());
  });
}

/// Atomics lane by lane, each of which keeps what was there before it.
void Vectorizer::processFetch(tile::AtomicOp op, Context &context) {
  Box target = op.getBox(0);
  saveLoads(rootOf(scalars.lookupOrDefault(target.buffer)), op, context, /*inclusive=*/true);
  fallback(op, "an atomic that gives what was there before runs once per lane");
  Value previous = op.getPrevious();
  SmallVector<int64_t> dims;
  for (unsigned dim = 0; dim < numDims(); ++dim)
    if (dimsOf(previous) & (1u << dim))
      dims.push_back(dim);
  View lanes = newTemporary(dims, cast<MemRefType>(target.buffer.getType()).getElementType());
  forEachLane(context, dimsOf(previous), [&](Lane &lane) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, isa<MemRefType>(operand.getType()) ? scalars.lookupOrDefault(operand)
                                                              : laneValue(operand, lane, context));
    Value before = builder.clone(*op, mapping)->getResult(0);
    builder.create<tile::StoreOp>(op.getLoc(), before, lanes.buffer, laneIndices(lanes, lane));
  });
  context.memo[{previous, lanes.elementType().isUnsignedInteger()}] = lanes;
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
    if (!isUniform(operand) && !loads.contains(operand) && !affineOf(operand) &&
        operand.getDefiningOp())
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

} // namespace tilewright::passes::vectorize
