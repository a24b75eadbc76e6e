// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What has no whole-tile form: loops over rows, blocks or single lanes.

#include "tilewright/passes/Vectorize.h"

using namespace mlir;

namespace tilewright::passes::vectorize {

void Vectorizer::fallback(Operation *op, const Twine &reason) {
  if (plain)
    return;
  op->emitRemark() << "[tile-vectorize-parallel] fallback: " << reason
                   << "; it runs as scalar loops";
}

void Vectorizer::forEachLane(Context &context, Dims dims, llvm::function_ref<void(Lane &)> emit) {
  if (context.mask)
    dims |= dimsOf(context.mask);
  OpBuilder::InsertionGuard guard(builder);
  Lane lane;
  for (unsigned dim = 0; dim < numDims(); ++dim) {
    Value lo = context.domain.lo[dim];
    auto size = tile::constantOf(context.domain.size[dim]);
    if (!(dims & (1u << dim)) || (size && *size == 1)) {
      lane.ivs.push_back(lo);
      continue;
    }
    Value end = math.add(lo, context.domain.size[dim]);
    auto loop = builder.create<scf::ForOp>(math.location, lo, end, math.constant(1));
    builder.setInsertionPointToStart(loop.getBody());
    lane.ivs.push_back(loop.getInductionVar());
  }
  if (context.mask) {
    Value active = laneValue(context.mask, lane, context);
    auto branch = builder.create<scf::IfOp>(math.location, active);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  emit(lane);
}

SmallVector<Value> Vectorizer::laneIndices(const View &view, const Lane &lane) {
  SmallVector<Value> indices;
  for (auto [dim, offset] : llvm::zip(view.map, view.offsets))
    indices.push_back(dim < 0 ? offset : math.add(offset, lane.ivs[dim]));
  return indices;
}

Value Vectorizer::loadLane(const View &view, Type type, const Lane &lane) {
  Value loaded = builder.create<tile::LoadOp>(math.location, tile::scalarTypeOf(view.elementType()),
                                              view.buffer, laneIndices(view, lane), FloatAttr());
  if (type.isIndex() && !loaded.getType().isIndex())
    loaded = builder.create<arith::IndexCastOp>(math.location, type, loaded);
  return loaded;
}

/// The scalar of `value` in one lane.
Value Vectorizer::laneValue(Value value, Lane &lane, Context &context) {
  if (isUniform(value))
    return scalarOf(value);
  if (auto dim = ivDims.find(value); dim != ivDims.end())
    return lane.ivs[dim->second];
  if (Value known = lane.values.lookup(value))
    return known;
  Value result;
  if (const View *known = findAny(value, context)) {
    result = loadLane(*known, value.getType(), lane);
  } else if (auto load = loads.find(value);
             load != loads.end() && load->second.kind == LoadInfo::Tile) {
    result = loadLane(load->second.view, value.getType(), lane);
  } else {
    Operation *op = value.getDefiningOp();
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, isa<MemRefType>(operand.getType()) ? scalars.lookupOrDefault(operand)
                                                              : laneValue(operand, lane, context));
    result = builder.clone(*op, mapping)->getResult(cast<OpResult>(value).getResultNumber());
  }
  lane.values[value] = result;
  return result;
}

void Vectorizer::evaluateByLane(Operation *op, const View &dst, Context &context) {
  Value value = op->getResult(0);
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    if (context.mask && !loads[value].masked) {
      Context everywhere(context);
      everywhere.mask = nullptr;
      return evaluateByLane(op, dst, everywhere);
    }
    if (!plain && (loadByBlocks(load, dst, context) || loadByRows(load, dst, context) ||
                   loadThroughIndexTile(load, dst, context)))
      return;
    fallback(op, loads[value].blocking);
  } else if (!plain) {
    // The rest of the expression stays whole.
    for (Value operand : op->getOperands())
      if (!isUniform(operand) && operand.getDefiningOp() && !loads.contains(operand) &&
          !affineOf(operand))
        materialize(operand, context);
  }
  forEachLane(context, dimsOf(value), [&](Lane &lane) {
    Value scalar = laneValue(value, lane, context);
    if (scalar.getType().isIndex())
      scalar = builder.create<arith::IndexCastOp>(math.location, builder.getI64Type(), scalar);
    builder.create<tile::StoreOp>(math.location, scalar, dst.buffer, laneIndices(dst, lane));
  });
}

/// True if each point of the box gives a value of its own: a coefficient is larger than all that
/// the smaller ones reach together.
bool Vectorizer::isInjective(const Affine &form) const {
  SmallVector<std::pair<int64_t, int64_t>> steps; // coefficient, last point
  for (auto [dim, coef] : llvm::enumerate(form.coefs))
    if (coef != 0)
      steps.emplace_back(std::abs(coef), std::max<int64_t>(bounds[dim] - 1, 0));
  llvm::sort(steps);
  int64_t reach = 0;
  for (auto [coef, last] : steps) {
    if (coef <= reach)
      return false;
    reach += coef * last;
  }
  return true;
}

/// Indices that name a box once some lane dimensions are fixed: which those are (`looped`), and per
/// index the dimension that the box follows. A sum like `4*i + j` follows its innermost dimension.
std::optional<Vectorizer::Rows> Vectorizer::rowsOf(ValueRange indices) {
  Rows rows;
  for (Value index : indices) {
    auto form = affineOf(index);
    int follows = -1;
    if (form)
      for (auto [dim, coef] : llvm::enumerate(form->coefs))
        if (coef == 1 && !(rows.whole & (1u << dim)))
          follows = dim;
    Dims all = form ? form->dims() : dimsOf(index);
    if (follows >= 0)
      rows.whole |= 1u << follows;
    Dims others = follows >= 0 ? all & ~(1u << follows) : all;
    rows.isMixed |= follows >= 0 && others != 0 && !isInjective(*form);
    rows.looped |= others;
    rows.follows.push_back(follows);
    rows.forms.push_back(std::move(form));
  }
  rows.whole &= ~rows.looped;
  if (rows.whole == 0)
    return std::nullopt;
  return rows;
}

/// The box of `buffer` in one turn of the loop over the fixed dimensions.
View Vectorizer::rowView(Value buffer, ValueRange indices, const Rows &rows, Lane &lane,
                         Context &context) {
  View view;
  view.buffer = scalars.lookupOrDefault(buffer);
  for (auto [index, form, follows] : llvm::zip(indices, rows.forms, rows.follows)) {
    bool isWhole = follows >= 0 && (rows.whole & (1u << follows));
    view.map.push_back(isWhole ? follows : -1);
    if (!isWhole) {
      view.offsets.push_back(math.toIndex(laneValue(index, lane, context)));
      continue;
    }
    Value offset = form->start;
    for (auto [dim, coef] : llvm::enumerate(form->coefs))
      if (coef != 0 && static_cast<int>(dim) != follows)
        offset = math.add(offset, math.mul(lane.ivs[dim], coef));
    view.offsets.push_back(offset);
  }
  return view;
}

/// `context` with the dimensions in `looped` fixed to the lane.
void Vectorizer::fixLane(Context &context, Dims looped, const Lane &lane) {
  context.mask = nullptr;
  for (unsigned dim = 0; dim < numDims(); ++dim)
    if (looped & (1u << dim)) {
      context.domain.lo[dim] = lane.ivs[dim];
      context.domain.size[dim] = math.constant(1);
    }
}

/// Loads as a loop of box copies: rows of a table chosen by an index, diagonals, strided rows.
bool Vectorizer::loadByRows(tile::LoadOp op, const View &dst, Context &context) {
  auto rows = rowsOf(op.getIndices());
  if (!rows || (dimsOf(op.getResult()) & ~(rows->whole | rows->looped)))
    return false;
  bool splits = context.mask && (dimsOf(context.mask) & ~rows->looped);
  if (splits && tile::isOnChip(tile::scopeOf(op.getBuffer())))
    return false;
  Context loop(context);
  if (splits)
    loop.mask = nullptr; // a global load cannot fail
  forEachLane(loop, rows->looped, [&](Lane &lane) {
    Context row(loop);
    View src = rowView(op.getBuffer(), op.getIndices(), *rows, lane, loop);
    fixLane(row, rows->looped, lane);
    emitCopy(dst, src, row, op.getPadAttr());
  });
  return true;
}

/// Stores as a loop of box copies, in the order of the lanes.
bool Vectorizer::storeByRows(tile::StoreOp op, Context &context) {
  auto rows = rowsOf(op.getIndices());
  if (!rows)
    return false;
  rows->looped |= context.active & ~rows->whole;
  if (context.mask)
    rows->looped |= dimsOf(context.mask);
  rows->whole &= ~rows->looped;
  // Lanes of different rows may meet where an index is a sum: rows must be the outer dimensions
  // then.
  if (rows->whole == 0 || (rows->isMixed && (rows->whole & -rows->whole) < rows->looped))
    return false;
  Value bufferRoot = rootOf(op.getBuffer());
  auto save = [&](Value value) {
    if (!isUniform(value) && readsRoot(value, bufferRoot, context))
      materialize(value, context);
  };
  for (Value index : op.getIndices())
    save(index);
  if (context.mask)
    save(context.mask);
  Value value = op.getValue();
  View source;
  if (isUniform(value)) {
    SmallVector<int64_t> dims;
    llvm::copy_if(rows->follows, std::back_inserter(dims),
                  [&](int dim) { return dim >= 0 && (rows->whole & (1u << dim)); });
    source = newTemporary(dims, cast<MemRefType>(op.getBuffer().getType()).getElementType());
    emitFill(source, scalarOf(value), context);
  } else if (auto load = loads.find(value); load != loads.end() &&
                                            load->second.kind == LoadInfo::Tile &&
                                            rootOf(load->second.view.buffer) != bufferRoot) {
    source = load->second.view;
  } else {
    source = materialize(value, context);
    if (rootOf(source.buffer) == bufferRoot) { // a tile that held the value
      View copy = newTemporary(source.map, source.elementType());
      emitCopy(copy, source, context);
      source = copy;
    }
  }
  forEachLane(context, rows->looped, [&](Lane &lane) {
    Context row(context);
    View dst = rowView(op.getBuffer(), op.getIndices(), *rows, lane, context);
    fixLane(row, rows->looped, lane);
    emitCopy(dst, source, row);
  });
  return true;
}

/// Loads with `i / c` or `i % c`: a loop over the multiples of c, one box per turn.
bool Vectorizer::loadByBlocks(tile::LoadOp op, const View &dst, Context &context) {
  if (context.mask)
    return false;
  // Ops of the indices, operands first.
  SetVector<Operation *> ops;
  std::function<void(Value)> collect = [&](Value value) {
    Operation *def = value.getDefiningOp();
    if (isUniform(value) || !def || ops.contains(def) || !isMemoryEffectFree(def))
      return;
    for (Value operand : def->getOperands())
      collect(operand);
    ops.insert(def);
  };
  for (Value index : op.getIndices())
    collect(index);
  int dim = -1;
  int64_t block = 0;
  SmallVector<Operation *> folded;
  for (Operation *def : ops) {
    if (!isa<arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
            def))
      continue;
    auto form = affineOf(def->getOperand(0));
    auto size = tile::constantOf(scalarOf(def->getOperand(1)));
    if (!form || !size || *size < 2)
      return false;
    int only = form->onlyDim();
    if (only < 0 || form->coefs[only] != 1 ||
        tile::constantOf(form->start) != std::optional<int64_t>(0) ||
        (dim >= 0 && (dim != only || block != *size)))
      return false;
    dim = only, block = *size;
    folded.push_back(def);
  }
  // A compact loop only: many tiny blocks are no gain over lanes.
  if (dim < 0 || block * 64 < bounds[dim])
    return false;
  DenseMap<Value, Affine> saved = affine;
  OpBuilder::InsertionGuard guard(builder);
  auto known = tile::constantOf(math.add(context.domain.lo[dim], context.domain.size[dim]));
  Value turns = math.constant((known.value_or(bounds[dim]) + block - 1) / block);
  auto loop = builder.create<scf::ForOp>(math.location, math.constant(0), turns, math.constant(1));
  builder.setInsertionPointToStart(loop.getBody());
  Value first = math.mul(loop.getInductionVar(), block);
  for (Operation *def : ops) {
    if (!llvm::is_contained(folded, def)) {
      computeAffine(def);
      continue;
    }
    Affine form;
    form.coefs.assign(numDims(), 0);
    if (isa<arith::RemSIOp, arith::RemUIOp>(def)) {
      form.start = math.sub(math.constant(0), first);
      form.coefs[dim] = 1;
    } else {
      form.start = loop.getInductionVar();
    }
    affine[def->getResult(0)] = form;
  }
  LoadInfo info =
      classify(scalars.lookupOrDefault(op.getBuffer()), op.getIndices(), /*isLoad=*/true);
  if (info.kind == LoadInfo::Scalar) {
    affine = std::move(saved);
    loop.erase();
    return false;
  }
  Context turn(context);
  Value &lo = turn.domain.lo[dim], &size = turn.domain.size[dim];
  Value hi = math.add(lo, size);
  if (tile::constantOf(lo) == std::optional<int64_t>(0) && tile::constantOf(hi))
    lo = first;
  else
    lo = math.min(math.max(first, lo), hi);
  bool exact = lo == first && *tile::constantOf(hi) % block == 0;
  Value end = math.add(first, math.constant(block));
  size = exact ? math.constant(block) : math.sub(math.max(math.min(end, hi), lo), lo);
  emitCopy(dst, info.view, turn, op.getPadAttr());
  affine = std::move(saved);
  return true;
}

/// table[..., index] of a tile, the index being any expression: tile.gather along the last
/// dimension.
bool Vectorizer::loadThroughIndexTile(tile::LoadOp op, const View &dst, Context &context) {
  auto type = cast<MemRefType>(op.getBuffer().getType());
  if (context.mask || !tile::isOnChip(tile::scopeOf(type)) || type.getRank() == 0)
    return false;
  Value last = op.getIndices().back();
  SmallVector<int64_t> order;
  View table;
  table.buffer = scalars.lookupOrDefault(op.getBuffer());
  for (Value index : op.getIndices().drop_back()) {
    auto form = affineOf(index);
    int dim = form ? form->onlyDim() : -1;
    if (dim < 0 || form->coefs[dim] != 1 || llvm::is_contained(order, dim))
      return false;
    order.push_back(dim);
    table.map.push_back(dim);
    table.offsets.push_back(form->start);
  }
  // The gathered dimension: the one that only the last index has.
  Dims rest = dimsOf(last);
  for (int64_t dim : order)
    rest &= ~(1u << dim);
  if (rest == 0 || (rest & (rest - 1)))
    return false;
  order.push_back(llvm::countr_zero(rest));
  if (ArrayRef<int64_t>(dst.map) != ArrayRef<int64_t>(order))
    return false;

  View index = newTemporary(order, builder.getI32Type());
  Value narrow = last;
  if (auto cast = last.getDefiningOp<arith::IndexCastOp>();
      cast && cast.getIn().getType().isInteger(32))
    narrow = cast.getIn();
  if (!narrow.getType().isInteger(32)) {
    OpBuilder body(op);
    if (last.getType().isIndex())
      narrow = body.create<arith::IndexCastOp>(op.getLoc(), body.getI32Type(), last);
    else
      return false;
    addDims(narrow, dimsOf(last));
    computeAffine(narrow.getDefiningOp());
  }
  evaluate(narrow, index, context);
  SmallVector<Value> buffers, offsets, sizes;
  boxOf(dst, context, buffers, offsets, sizes);
  boxOf(table, context, buffers, offsets, sizes);
  // boxOf skipped the table's last dimension: it is whole.
  offsets.push_back(math.constant(0));
  sizes.push_back(math.constant(type.getShape().back()));
  boxOf(index, context, buffers, offsets, sizes);
  builder.create<tile::GatherOp>(math.location, buffers, offsets, sizes);
  return true;
}

} // namespace tilewright::passes::vectorize
