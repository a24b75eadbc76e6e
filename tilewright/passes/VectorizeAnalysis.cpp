// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the values of a tile.parallel are: along which dimensions they vary, affine forms, boxes
// behind conditions.

#include "tilewright/passes/Vectorize.h"

#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tilewright::passes::vectorize {

int Affine::onlyDim() const {
  int only = -1;
  for (auto [dim, coef] : llvm::enumerate(coefs)) {
    if (coef == 0)
      continue;
    if (only >= 0)
      return -1;
    only = dim;
  }
  return only;
}

Dims Affine::dims() const {
  Dims result = 0;
  for (auto [dim, coef] : llvm::enumerate(coefs))
    if (coef != 0)
      result |= 1u << dim;
  return result;
}

Type View::elementType() const { return cast<MemRefType>(buffer.getType()).getElementType(); }

Dims View::dims() const {
  Dims result = 0;
  for (int64_t dim : map)
    if (dim >= 0)
      result |= 1u << dim;
  return result;
}

//===-- Dimensions ----------------------------------------------------------------------------===//

LogicalResult Vectorizer::addDimensions(tile::ParallelOp op, Context &context) {
  Value zero = math.constant(0);
  for (auto [dim, extent, iv] : llvm::enumerate(op.getExtents(), op.getBody().getArguments())) {
    auto bound = upperBound(extent);
    if (auto byTiles = boundByTiles(op, dim); byTiles && (!bound || *byTiles < *bound))
      bound = byTiles;
    if (!bound)
      return op.emitError("E0706: extent of dimension ")
             << dim << " has no bound that is known at compile time, and statements "
             << "of the loop depend on each other; write the extent as a minimum with a constant";
    unsigned index = numDims();
    if (index >= 31)
      return op.emitOpError("E0706: T.Parallel has more than 31 dimensions");
    bounds.push_back(std::max<int64_t>(*bound, 0));
    ivDims[iv] = index;
    laneDims[iv] = 1u << index;
    context.domain.lo.push_back(zero);
    context.domain.size.push_back(zero);
    context.domain.bound.push_back(bounds.back());
  }
  return success();
}

/// Puts the dimensions of `op` in force.
void Vectorizer::enter(tile::ParallelOp op, Context &context) {
  for (auto [extent, iv] : llvm::zip(op.getExtents(), op.getBody().getArguments())) {
    auto dim = ivDims.find(iv);
    if (dim == ivDims.end())
      continue;
    Value size = scalarOf(extent);
    auto known = tile::constantOf(size);
    context.domain.size[dim->second] =
        known ? math.constant(std::max<int64_t>(*known, 0)) : math.max(size, math.constant(0));
    context.active |= 1u << dim->second;
  }
}

bool Vectorizer::addDims(Value value, Dims more) {
  if (more == 0)
    return false;
  Dims &dims = laneDims[value];
  bool changed = (dims | more) != dims;
  dims |= more;
  return changed;
}

void Vectorizer::computeDims() {
  while (propagateDims(root.getBody().front(), 0))
    continue;
}

/// One round; `maskDims` are those of the conditions around the block. True if anything changed.
bool Vectorizer::propagateDims(Block &block, Dims maskDims) {
  bool changed = false;
  auto isVariable = [](Value buffer) { return tile::scopeOf(buffer) == tile::Scope::Local; };
  for (Operation &op : block) {
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      Dims condition = dimsOf(branch.getCondition());
      for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
        if (region->empty())
          continue;
        changed |= propagateDims(region->front(), maskDims | condition);
        for (auto [result, yielded] :
             llvm::zip(branch.getResults(), region->front().getTerminator()->getOperands()))
          changed |= addDims(result, condition | dimsOf(yielded));
      }
      continue;
    }
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      Dims lower = dimsOf(loop.getLowerBound()) | dimsOf(loop.getStep());
      Dims condition = lower | dimsOf(loop.getUpperBound());
      changed |= addDims(loop.getInductionVar(), lower);
      changed |= propagateDims(*loop.getBody(), maskDims | condition);
      for (auto [result, argument, initial, yielded] :
           llvm::zip(loop.getResults(), loop.getRegionIterArgs(), loop.getInits(),
                     loop.getYieldedValues())) {
        Dims all = condition | dimsOf(initial) | dimsOf(yielded);
        changed |= addDims(argument, all);
        changed |= addDims(result, all);
      }
      continue;
    }
    if (auto inner = dyn_cast<tile::ParallelOp>(op)) {
      changed |= propagateDims(inner.getBody().front(), maskDims);
      continue;
    }
    if (auto store = dyn_cast<tile::StoreOp>(op); store && isVariable(store.getBuffer())) {
      Dims &dims = variableDims[store.getBuffer()];
      Dims all = dims | maskDims | dimsOf(store.getValue());
      changed |= all != dims;
      dims = all;
      continue;
    }
    Dims all = 0;
    if (auto load = dyn_cast<tile::LoadOp>(op); load && isVariable(load.getBuffer()))
      all = variableDims.lookup(load.getBuffer());
    if (isa<tile::AtomicOp>(op)) // each lane finds what the one before left
      for (Operation *around = &op; around != root; around = around->getParentOp())
        if (auto loop = dyn_cast<tile::ParallelOp>(around->getParentOp()))
          for (Value point : loop.getBody().getArguments())
            all |= dimsOf(point);
    for (Value operand : op.getOperands())
      all |= dimsOf(operand);
    for (Value result : op.getResults())
      changed |= addDims(result, all);
  }
  return changed;
}

//===-- Affine forms --------------------------------------------------------------------------===//

/// start + sum of coefficients times ivs of an integer op, if it has that form. Emits the start
/// where we stand.
void Vectorizer::computeAffine(Operation *op) {
  if (op->getNumResults() != 1 || !isa<IndexType, IntegerType>(op->getResult(0).getType()) ||
      op->getResult(0).getType().isInteger(1))
    return;
  auto combine = [&](Affine a, const Affine &b, int64_t sign) {
    a.start = sign > 0 ? math.add(a.start, b.start) : math.sub(a.start, b.start);
    for (auto [mine, other] : llvm::zip(a.coefs, b.coefs))
      mine += sign * other;
    return a;
  };
  auto scale = [&](Affine a, int64_t factor) {
    a.start = math.mul(a.start, factor);
    for (int64_t &coef : a.coefs)
      coef *= factor;
    return a;
  };
  // Operands are looked at only once the op is known to keep the form.
  std::optional<Affine> result;
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    auto a = affineOf(op->getOperand(0)), b = affineOf(op->getOperand(1));
    if (a && b)
      result = combine(*a, *b, isa<arith::AddIOp>(op) ? 1 : -1);
  } else if (isa<arith::MulIOp>(op)) {
    for (unsigned side : {0u, 1u})
      if (auto factor = tile::constantOf(scalarOf(op->getOperand(side))); factor && !result)
        if (auto a = affineOf(op->getOperand(1 - side)))
          result = scale(*a, *factor);
  } else if (isa<arith::ShLIOp>(op)) {
    auto amount = tile::constantOf(scalarOf(op->getOperand(1)));
    if (amount && *amount >= 0 && *amount < 32)
      if (auto a = affineOf(op->getOperand(0)))
        result = scale(*a, int64_t(1) << *amount);
  } else if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op) &&
             !op->getOperand(0).getType().isInteger(1)) {
    result = affineOf(op->getOperand(0));
  }
  if (result && (!mayWrap(op->getResult(0).getType()) || rangeOf(op->getResult(0))))
    affine[op->getResult(0)] = std::move(*result);
}

std::optional<Affine> Vectorizer::affineOf(Value value) {
  if (!isa<IndexType, IntegerType>(value.getType()))
    return std::nullopt;
  Affine result;
  result.coefs.assign(numDims(), 0);
  if (auto dim = ivDims.find(value); dim != ivDims.end()) {
    result.start = math.constant(0);
    result.coefs[dim->second] = 1;
    return result;
  }
  if (isUniform(value)) {
    result.start = math.toIndex(scalarOf(value));
    return result;
  }
  auto known = affine.find(value);
  if (known == affine.end())
    return std::nullopt;
  result = known->second;
  result.coefs.resize(numDims(), 0);
  return result;
}

bool vectorize::mayWrap(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer && integer.getWidth() > 1 && integer.getWidth() < 32;
}

std::optional<std::pair<int64_t, int64_t>> Vectorizer::rangeOf(Value value) const {
  auto range = rangeBeforeWrap(value);
  if (!range || !mayWrap(value.getType()))
    return range;
  const int64_t end = int64_t(1) << (value.getType().getIntOrFloatBitWidth() - 1);
  return range->first >= -end && range->second < end ? range : std::nullopt;
}

std::optional<std::pair<int64_t, int64_t>> Vectorizer::rangeBeforeWrap(Value value) const {
  using Range = std::pair<int64_t, int64_t>;
  if (auto constant = tile::constantOf(scalars.lookupOrDefault(value)))
    return Range(*constant, *constant);
  if (auto dim = ivDims.find(value); dim != ivDims.end())
    return Range(0, std::max<int64_t>(bounds[dim->second] - 1, 0));
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return rangeOf(op->getOperand(0));
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::RemSIOp, arith::RemUIOp,
           arith::DivSIOp, arith::FloorDivSIOp>(op))
    return std::nullopt;
  auto b = rangeOf(op->getOperand(1));
  if (!b)
    return std::nullopt;
  auto a = rangeOf(op->getOperand(0));
  constexpr int64_t kLimit = int64_t(1) << 31;
  if (!a || std::max({std::abs(a->first), std::abs(a->second), std::abs(b->first),
                      std::abs(b->second)}) > kLimit)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return Range(a->first + b->first, a->second + b->second);
  if (isa<arith::SubIOp>(op))
    return Range(a->first - b->second, a->second - b->first);
  if (isa<arith::MulIOp>(op)) {
    auto ends = {a->first * b->first, a->first * b->second, a->second * b->first,
                 a->second * b->second};
    return Range(std::min(ends), std::max(ends));
  }
  if (a->first < 0 || b->first <= 0)
    return std::nullopt;
  if (isa<arith::RemSIOp, arith::RemUIOp>(op))
    return Range(0, std::min(a->second, b->second - 1));
  return Range(a->first / b->second, a->second / b->first);
}

bool Vectorizer::staysInBounds(Value buffer, ValueRange indices) const {
  for (auto [index, extent] : llvm::zip(indices, cast<MemRefType>(buffer.getType()).getShape())) {
    auto range = rangeOf(index);
    if (!range || ShapedType::isDynamic(extent) || range->first < 0 || range->second >= extent)
      return false;
  }
  return true;
}

//===-- Accesses ------------------------------------------------------------------------------===//

Value Vectorizer::rootOf(Value buffer) const {
  buffer = scalars.lookupOrDefault(buffer);
  if (auto variable = variables.find(buffer); variable != variables.end())
    return variable->second.buffer;
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

/// Text of an index for remarks: "2*i0 + 3", "(i0 / 4)".
std::string Vectorizer::describeIndex(Value index) {
  if (auto known = affineOf(index)) {
    std::string text;
    for (auto [dim, coef] : llvm::enumerate(known->coefs))
      if (coef != 0)
        text += (text.empty() ? "" : " + ") +
                (coef == 1 ? std::string() : std::to_string(coef) + "*") + "i" +
                std::to_string(dim);
    auto start = tile::constantOf(known->start);
    if (!start)
      text += text.empty() ? "x" : " + x";
    else if (*start != 0 || text.empty())
      text += (text.empty() ? "" : " + ") + std::to_string(*start);
    return text;
  }
  Operation *op = index.getDefiningOp();
  if (!op)
    return "a value";
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    StringRef name = tile::nameOf(load.getBuffer());
    std::string text = (name.empty() ? "tile" : name.str()) + "[";
    for (auto [k, inner] : llvm::enumerate(load.getIndices()))
      text += (k ? ", " : "") + describeIndex(inner);
    return text + "]";
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return describeIndex(op->getOperand(0));
  if (op->getNumOperands() != 2)
    return op->getName().stripDialect().str();
  StringRef sign = isa<arith::AddIOp>(op)                                         ? "+"
                   : isa<arith::SubIOp>(op)                                       ? "-"
                   : isa<arith::MulIOp>(op)                                       ? "*"
                   : isa<arith::DivSIOp, arith::FloorDivSIOp, arith::DivUIOp>(op) ? "/"
                   : isa<arith::RemSIOp, arith::RemUIOp>(op)                      ? "%"
                                                             : op->getName().stripDialect();
  return "(" + describeIndex(op->getOperand(0)) + " " + sign.str() + " " +
         describeIndex(op->getOperand(1)) + ")";
}

/// The box behind the indices: each dimension of the buffer follows at most one lane dimension,
/// with coefficient 1, and none twice. Otherwise says which index is in the way.
LoadInfo Vectorizer::classify(Value buffer, ValueRange indices, bool isLoad) {
  LoadInfo info;
  info.view.buffer = buffer;
  if (plain)
    return info;
  Dims seen = 0;
  for (auto [k, index] : llvm::enumerate(indices)) {
    auto form = affineOf(index);
    int dim = form ? form->onlyDim() : -1;
    std::string name =
        tile::nameOf(buffer).empty() ? "a tile" : "'" + tile::nameOf(buffer).str() + "'";
    auto refuse = [&](StringRef why) {
      info.blocking = ("index `" + describeIndex(index) + "` of dimension " + Twine(k) + " of " +
                       name + " " + why)
                          .str();
      return info;
    };
    if (!form)
      return refuse("is not affine in the loop variables");
    if (dim < 0 && form->dims() != 0)
      return refuse("mixes loop variables");
    if (dim >= 0 && form->coefs[dim] != 1)
      return refuse("has a stride");
    if (dim >= 0 && (seen & (1u << dim)))
      return refuse("uses a loop variable that another dimension uses");
    if (dim >= 0)
      seen |= 1u << dim;
    info.view.map.push_back(dim);
    info.view.offsets.push_back(form->start);
  }
  info.kind = tile::isOnChip(tile::scopeOf(buffer)) ? LoadInfo::Tile : LoadInfo::Global;
  return info;
}

//===-- Conditions ----------------------------------------------------------------------------===//

Value Vectorizer::negate(Value condition, Operation *before, bool afresh) {
  if (Value known = negations.lookup(condition))
    return known;
  OpBuilder body(before);
  Value result;
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (compare && (afresh || (affineOf(compare.getLhs()) && affineOf(compare.getRhs())))) {
    auto predicate = arith::invertPredicate(compare.getPredicate());
    result = body.create<arith::CmpIOp>(condition.getLoc(), predicate, compare.getLhs(),
                                        compare.getRhs());
  } else {
    Value one = body.create<arith::ConstantIntOp>(condition.getLoc(), 1, 1);
    scalars.map(one, launch.trueConstant());
    result = body.create<arith::XOrIOp>(condition.getLoc(), condition, one);
    negations[condition] = result;
    negated[result] = condition;
  }
  addDims(result, dimsOf(condition));
  return result;
}

Value Vectorizer::conjunction(Value a, Value b, Operation *before) {
  if (!a || !b)
    return a ? a : b;
  Value result = OpBuilder(before).create<arith::AndIOp>(b.getLoc(), a, b);
  addDims(result, dimsOf(a) | dimsOf(b));
  return result;
}

void Vectorizer::restrict(Context &context, Value condition, bool negated, Operation *branch) {
  Operation *op = condition.getDefiningOp();
  if (isUniform(condition)) {
    // All lanes or none.
    unsigned dim = llvm::countr_zero(context.active);
    Value &size = context.domain.size[dim];
    Value none = math.constant(0);
    size = builder.create<arith::SelectOp>(math.location, scalarOf(condition),
                                           negated ? none : size, negated ? size : none);
    return;
  }
  if (op) {
    if (isa<arith::AndIOp>(op) ? !negated : isa<arith::OrIOp>(op) && negated) {
      restrict(context, op->getOperand(0), negated, branch);
      return restrict(context, op->getOperand(1), negated, branch);
    }
    if (isa<arith::XOrIOp>(op))
      if (auto one = tile::constantOf(scalarOf(op->getOperand(1))); one && *one != 0)
        return restrict(context, op->getOperand(0), !negated, branch);
    if (auto compare = dyn_cast<arith::CmpIOp>(op);
        compare && restrictBox(context, compare, negated, branch))
      return;
  }
  context.mask = conjunction(
      context.mask, negated ? negate(condition, branch, /*afresh=*/false) : condition, branch);
}

/// True if the ops under `branch` do as well with a lane mask as with a smaller box: tiles only,
/// all in bounds.
bool Vectorizer::prefersMask(Operation *branch) {
  auto result = branch->walk([&](Operation *op) {
    Value buffer;
    ValueRange indices;
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      buffer = load.getBuffer(), indices = load.getIndices();
      if (tile::scopeOf(buffer) == tile::Scope::Global ||
          tile::scopeOf(buffer) == tile::Scope::Local)
        return WalkResult::advance();
    } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
      buffer = store.getBuffer(), indices = store.getIndices();
      if (tile::scopeOf(buffer) == tile::Scope::Local)
        return WalkResult::advance();
    } else {
      return isa<AccessInterface>(op) ? WalkResult::interrupt() : WalkResult::advance();
    }
    bool fine = tile::isOnChip(tile::scopeOf(buffer)) && staysInBounds(buffer, indices);
    return fine ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

/// Bounds of one dimension as a smaller box. A box that begins in the middle of rows is no better
/// than a mask.
bool Vectorizer::restrictBox(Context &context, arith::CmpIOp condition, bool negated,
                             Operation *branch) {
  if (plain)
    return false;
  auto a = affineOf(condition.getLhs()), b = affineOf(condition.getRhs());
  if (!a || !b || condition.getLhs().getType().isInteger(1))
    return false;
  for (auto [mine, other] : llvm::zip(a->coefs, b->coefs))
    mine -= other;
  int dim = a->onlyDim();
  if (dim < 0 || std::abs(a->coefs[dim]) != 1)
    return false;
  auto predicate = condition.getPredicate();
  if (negated)
    predicate = arith::invertPredicate(predicate);
  bool falling = a->coefs[dim] < 0;
  // iv + s (or s - iv) against 0; `at` is the iv where it is 0.
  Value at = falling ? math.sub(a->start, b->start) : math.sub(b->start, a->start);
  using P = arith::CmpIPredicate;
  Value first, end; // first <= iv < end
  switch (predicate) {
  case P::eq:
    first = at, end = math.add(at, math.constant(1));
    break;
  case P::slt:
    (falling ? first : end) = falling ? math.add(at, math.constant(1)) : at;
    break;
  case P::sle:
    (falling ? first : end) = falling ? at : math.add(at, math.constant(1));
    break;
  case P::sgt:
    (falling ? end : first) = falling ? at : math.add(at, math.constant(1));
    break;
  case P::sge:
    (falling ? end : first) = falling ? math.add(at, math.constant(1)) : at;
    break;
  default:
    return false;
  }
  if (first && dim == static_cast<int>(numDims()) - 1 && prefersMask(branch)) {
    auto known = tile::constantOf(first);
    if (!known || *known % 32 != 0)
      return false;
  }
  Value &lo = context.domain.lo[dim], &size = context.domain.size[dim];
  Value hi = math.add(lo, size), newLo = lo, newHi = hi;
  if (first)
    newLo = math.min(math.max(first, lo), hi);
  if (end)
    newHi = math.min(hi, end);
  size = math.max(math.sub(newHi, newLo), math.constant(0));
  lo = newLo;
  return true;
}

} // namespace tilewright::passes::vectorize
