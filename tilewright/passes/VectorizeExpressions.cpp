// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of a tile.parallel as whole-tile ops.

#include "tilewright/passes/Vectorize.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::passes::vectorize {

namespace {

bool isComparison(Fn fn) {
  return static_cast<unsigned>(fn) >= static_cast<unsigned>(Fn::EQ) && fn <= Fn::GE;
}

bool isUnsignedElement(Type element) { return element.isUnsignedInteger(); }

/// The element type of a temporary that holds scalars of `type`.
Type elementFor(Type type, bool isUnsigned) {
  if (type.isIndex())
    type = IntegerType::get(type.getContext(), 64);
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer || integer.getWidth() == 1 || !isUnsigned)
    return type;
  return IntegerType::get(type.getContext(), integer.getWidth(), IntegerType::Unsigned);
}

/// True for lanes of which there are none, as behind a condition that none of a short loop meets.
/// Their box may begin anywhere.
bool isEmpty(const View &lanes, const Context &context) {
  return llvm::any_of(lanes.map, [&](int64_t dim) {
    return dim >= 0 && tile::constantOf(context.domain.size[dim]) == std::optional<int64_t>(0);
  });
}

SmallVector<int64_t, 4> listOf(Dims dims) {
  SmallVector<int64_t, 4> result;
  for (int64_t dim = 0; dims >> dim; ++dim)
    if (dims & (1u << dim))
      result.push_back(dim);
  return result;
}

} // namespace

//===-- Emitting box ops ----------------------------------------------------------------------===//

void Vectorizer::boxOf(const View &view, const Context &context, SmallVectorImpl<Value> &buffers,
                       SmallVectorImpl<Value> &offsets, SmallVectorImpl<Value> &sizes) {
  buffers.push_back(view.buffer);
  for (auto [dim, offset] : llvm::zip(view.map, view.offsets)) {
    offsets.push_back(dim < 0 ? offset : math.add(offset, context.domain.lo[dim]));
    sizes.push_back(dim < 0 ? math.constant(1) : context.domain.size[dim]);
  }
}

bool Vectorizer::isSame(const View &a, const View &b) const {
  if (a.buffer != b.buffer || a.map != b.map)
    return false;
  return llvm::all_of(llvm::zip(a.offsets, b.offsets), [](auto pair) {
    auto [x, y] = pair;
    auto cx = tile::constantOf(x), cy = tile::constantOf(y);
    return x == y || (cx && cy && *cx == *cy);
  });
}

bool Vectorizer::mayOverlap(const View &a, const View &b, const Context &context) const {
  if (rootOf(a.buffer) != rootOf(b.buffer))
    return false;
  if (a.buffer != b.buffer)
    return true;
  for (unsigned k = 0; k < a.map.size(); ++k) {
    auto x = tile::constantOf(a.offsets[k]), y = tile::constantOf(b.offsets[k]);
    if (!x || !y)
      continue;
    int64_t xSize = a.map[k] < 0 ? 1 : context.domain.bound[a.map[k]];
    int64_t ySize = b.map[k] < 0 ? 1 : context.domain.bound[b.map[k]];
    if (*x + xSize <= *y || *y + ySize <= *x)
      return false;
  }
  return true;
}

void Vectorizer::emitElementwise(Fn fn, const View &dst, ArrayRef<View> sources, Value scalar,
                                 bool scalarFirst, Round round, Context &context) {
  if (isEmpty(dst, context))
    return;
  bool clash = llvm::any_of(sources, [&](const View &source) {
    return !isSame(source, dst) && mayOverlap(source, dst, context);
  });
  if (clash) {
    View temporary = newTemporary(listOf(dst.dims()), dst.elementType());
    emitElementwise(fn, temporary, sources, scalar, scalarFirst, round, context);
    return emitCopy(dst, temporary, context);
  }
  // Lane dimensions that the destination follows, renumbered in order.
  SmallVector<int64_t, 4> dims = listOf(dst.dims());
  auto mapOf = [&](const View &view) {
    SmallVector<int64_t> map;
    for (int64_t dim : view.map) {
      auto *found = llvm::find(dims, dim);
      map.push_back(found == dims.end() ? -1 : found - dims.begin());
    }
    return map;
  };
  SmallVector<Value> buffers, offsets, sizes;
  SmallVector<Attribute> maps;
  bool plain = true;
  auto add = [&](const View &view) {
    boxOf(view, context, buffers, offsets, sizes);
    SmallVector<int64_t> map = mapOf(view);
    plain &= map.size() == dims.size() && llvm::equal(map, llvm::seq<int64_t>(0, dims.size()));
    maps.push_back(builder.getDenseI64ArrayAttr(map));
  };
  add(dst);
  for (const View &source : sources)
    add(source);
  ArrayAttr mapsAttr = plain ? ArrayAttr() : builder.getArrayAttr(maps);
  builder.create<tile::ElementwiseOp>(math.location, buffers, offsets, sizes, scalar, fn, mapsAttr,
                                      scalarFirst, round);
}

/// True if both views list the lane dimensions in one order, so that tile.copy matches their
/// points.
bool Vectorizer::sameOrder(const View &a, const View &b, const Context &context) const {
  auto order = [&](const View &view) {
    SmallVector<int64_t> dims;
    for (int64_t dim : view.map)
      if (dim >= 0 && tile::constantOf(context.domain.size[dim]) != std::optional<int64_t>(1))
        dims.push_back(dim);
    return dims;
  };
  return order(a) == order(b);
}

/// Moves lanes. `src` may lack dimensions of `dst` (it is broadcast) and have others of size 1.
void Vectorizer::emitCopy(const View &dst, const View &src, Context &context, FloatAttr pad) {
  if (isEmpty(dst, context))
    return;
  auto isMemory = [](const View &view) { return !tile::isOnChip(view.scope()); };
  if (!isMemory(dst) && !isMemory(src)) {
    if (isSame(dst, src))
      return;
    bool same = tile::scalarTypeOf(dst.elementType()) == tile::scalarTypeOf(src.elementType()) &&
                isUnsignedElement(dst.elementType()) == isUnsignedElement(src.elementType());
    return emitElementwise(same ? Fn::Copy : Fn::Cast, dst, src, {}, false, Round::Rint, context);
  }
  if ((isMemory(dst) && isMemory(src)) || !sameOrder(dst, src, context)) {
    const View &memory = isMemory(src) ? src : dst;
    SmallVector<int64_t> order;
    llvm::copy_if(memory.map, std::back_inserter(order), [](int64_t dim) { return dim >= 0; });
    View temporary = newTemporary(order, memory.elementType());
    emitCopy(temporary, src, context, pad);
    return emitCopy(dst, temporary, context);
  }
  SmallVector<Value> buffers, offsets, sizes;
  boxOf(dst, context, buffers, offsets, sizes);
  boxOf(src, context, buffers, offsets, sizes);
  builder.create<tile::CopyOp>(math.location, buffers, offsets, sizes, pad);
}

void Vectorizer::emitFill(const View &dst, Value scalar, Context &context) {
  if (isEmpty(dst, context))
    return;
  SmallVector<Value> buffers, offsets, sizes;
  boxOf(dst, context, buffers, offsets, sizes);
  builder.create<tile::FillOp>(math.location, buffers, offsets, sizes, scalar);
}

View Vectorizer::newTemporary(ArrayRef<int64_t> dims, Type element, bool reusable) {
  SmallVector<int64_t> shape;
  for (int64_t dim : dims)
    shape.push_back(bounds[dim]);
  View view;
  view.map.assign(dims.begin(), dims.end());
  view.offsets.assign(dims.size(), math.constant(0));
  if (reusable)
    for (Value &known : freeTemporaries) {
      auto type = cast<MemRefType>(known.getType());
      if (type.getShape() != ArrayRef<int64_t>(shape) || type.getElementType() != element)
        continue;
      view.buffer = known;
      freeTemporaries.erase(&known);
      return view;
    }
  view.buffer = launch.temporary(math.location, shape, element);
  if (reusable)
    reusableTemporaries.insert(view.buffer);
  return view;
}

void Vectorizer::release(const Operand &operand) {
  if (operand.owned && reusableTemporaries.contains(operand.view.buffer))
    freeTemporaries.push_back(operand.view.buffer);
}

Value Vectorizer::elementScalar(Value scalar) {
  if (!scalar.getType().isIndex())
    return scalar;
  if (auto known = tile::constantOf(scalar))
    return builder.create<arith::ConstantIntOp>(math.location, *known, 64);
  return builder.create<arith::IndexCastOp>(math.location, builder.getI64Type(), scalar);
}

//===-- Values in memory ----------------------------------------------------------------------===//

const View *Vectorizer::find(Value value, bool isUnsigned, Context &context) const {
  for (Context *c = &context; c; c = c->parent)
    if (auto known = c->memo.find({value, isUnsigned}); known != c->memo.end())
      return &known->second;
  return nullptr;
}

const View *Vectorizer::findAny(Value value, Context &context) const {
  const View *known = find(value, false, context);
  return known ? known : find(value, true, context);
}

bool Vectorizer::naturallyUnsigned(Value value, Context &context) const {
  if (!isa<IntegerType>(value.getType()) || isUniform(value))
    return false;
  if (find(value, false, context))
    return false;
  if (find(value, true, context))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return isUnsignedElement(cast<MemRefType>(load.getBuffer().getType()).getElementType());
  auto info = functionOf(op);
  if (!info || info->result != Sign::Any)
    return info && info->result == Sign::Unsigned;
  if (info->fn == Fn::Cast || isComparison(info->fn))
    return false;
  for (Value operand : op->getOperands())
    if (!isUniform(operand) && operand.getType() == value.getType())
      return naturallyUnsigned(operand, context);
  return false;
}

bool Vectorizer::readsRoot(Value value, Value root, Context &context) const {
  SmallVector<Value> work = {value};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (isUniform(next) || !seen.insert(next).second)
      continue;
    if (const View *known = findAny(next, context)) {
      if (rootOf(known->buffer) == root)
        return true;
      continue;
    }
    Operation *op = next.getDefiningOp();
    if (!op)
      continue;
    if (auto load = dyn_cast<tile::LoadOp>(op); load && rootOf(load.getBuffer()) == root)
      return true;
    llvm::append_range(work, op->getOperands());
  }
  return false;
}

bool Vectorizer::dependsOnMask(Value value, Context &context) const {
  SmallVector<Value> work = {value};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op || isUniform(next) || !seen.insert(next).second || findAny(next, context))
      continue;
    if (auto load = loads.find(next); load != loads.end()) {
      if (load->second.kind == LoadInfo::Scalar)
        return true;
      continue;
    }
    llvm::append_range(work, op->getOperands());
  }
  return false;
}

/// The lanes of `value` in memory, computed now unless they are there already.
View Vectorizer::materialize(Value value, Context &context, Sign sign) {
  bool isUnsigned =
      sign == Sign::Unsigned || (sign == Sign::Any && naturallyUnsigned(value, context));
  if (isa<FloatType>(value.getType()) || value.getType().isInteger(1))
    isUnsigned = false;
  if (const View *known = find(value, isUnsigned, context))
    return *known;
  SmallVector<int64_t> order(listOf(dimsOf(value)));
  bool isGlobal = false;
  if (auto load = loads.find(value); load != loads.end() && load->second.kind == LoadInfo::Global) {
    order.clear();
    llvm::copy_if(load->second.view.map, std::back_inserter(order),
                  [](int64_t dim) { return dim >= 0; });
    isGlobal = true;
  }
  View view = newTemporary(order, elementFor(value.getType(), isUnsigned), !isGlobal);
  evaluate(value, view, context);
  context.memo[{value, isUnsigned}] = view;
  return view;
}

/// `value` as an operand of an op. With `scratch` a computed value may be left there.
Vectorizer::Operand Vectorizer::operand(Value value, Sign sign, Context &context,
                                        const View *scratch) {
  Operand result;
  if (isUniform(value)) {
    result.scalar = elementScalar(scalarOf(value));
    return result;
  }
  bool isInteger = isa<IntegerType, IndexType>(value.getType()) && !value.getType().isInteger(1);
  bool isUnsigned = isInteger && (sign == Sign::Unsigned ||
                                  (sign == Sign::Any && naturallyUnsigned(value, context)));
  if (const View *known = find(value, isUnsigned, context)) {
    result.view = *known;
    return result;
  }
  auto load = loads.find(value);
  if (load != loads.end() && load->second.kind == LoadInfo::Tile) {
    result.view = load->second.view;
    if (!isInteger || isUnsignedElement(result.view.elementType()) == isUnsigned)
      return result;
  }
  if (scratch && load == loads.end()) {
    evaluate(value, *scratch, context);
    result.view = *scratch;
    return result;
  }
  result.view = materialize(value, context, isUnsigned ? Sign::Unsigned : Sign::Signed);
  if (value.hasOneUse() && reusableTemporaries.contains(result.view.buffer)) {
    result.owned = true;
    context.memo.erase({value, isUnsigned});
  }
  return result;
}

//===-- Evaluation ----------------------------------------------------------------------------===//

/// Writes the lanes of `value` to `dst`, a tile. Dimensions of `value` that `dst` lacks have
/// size 1.
void Vectorizer::evaluate(Value value, const View &dst, Context &context) {
  if (isEmpty(dst, context))
    return;
  if (isUniform(value))
    return emitFill(dst, elementScalar(scalarOf(value)), context);
  bool isUnsigned = isUnsignedElement(dst.elementType());
  const View *known = find(value, isUnsigned, context);
  if (!known)
    known = findAny(value, context);
  if (known) {
    View source = *known;
    return emitCopy(dst, source, context);
  }
  bool fits = dst.dims() == dimsOf(value);
  if (auto load = loads.find(value); load != loads.end()) {
    auto op = value.getDefiningOp<tile::LoadOp>();
    FloatAttr pad = op.getPadAttr();
    LoadInfo info = load->second;
    if (info.kind == LoadInfo::Global)
      fits = dst.dims() == info.view.dims();
    if (info.kind == LoadInfo::Tile ||
        (info.kind == LoadInfo::Global && fits && sameOrder(dst, info.view, context)))
      return emitCopy(dst, info.view, context, info.kind == LoadInfo::Global ? pad : FloatAttr());
    if (info.kind == LoadInfo::Scalar && fits && !readsRoot(value, rootOf(dst.buffer), context))
      return evaluateByLane(op, dst, context);
    return emitCopy(dst, materialize(value, context, isUnsigned ? Sign::Unsigned : Sign::Signed),
                    context);
  }
  if (auto form = plain ? std::nullopt : affineOf(value)) {
    SmallVector<Value> buffers, offsets, sizes, steps;
    boxOf(dst, context, buffers, offsets, sizes);
    Value start = form->start;
    for (auto [dim, coef] : llvm::enumerate(form->coefs))
      start = math.add(start, math.mul(context.domain.lo[dim], coef));
    for (int64_t dim : dst.map)
      steps.push_back(math.constant(dim < 0 ? 0 : form->coefs[dim]));
    builder.create<tile::IotaOp>(math.location, buffers, offsets, sizes, start, steps);
    return;
  }
  if (!fits)
    return emitCopy(dst, materialize(value, context, isUnsigned ? Sign::Unsigned : Sign::Signed),
                    context);
  evaluateOp(value.getDefiningOp(), dst, context);
}

void Vectorizer::evaluateOp(Operation *op, const View &dst, Context &context) {
  if (plain) {
    if (!readsRoot(op->getResult(0), rootOf(dst.buffer), context))
      return evaluateByLane(op, dst, context);
    return emitCopy(dst, materialize(op->getResult(0), context), context);
  }
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return evaluateSelect(select, dst, context);
  if (auto compare = dyn_cast<arith::CmpIOp>(op);
      compare && evaluateAffineCompare(compare, dst, context))
    return;
  auto info = functionOf(op);
  if (!info) {
    if (!readsRoot(op->getResult(0), rootOf(dst.buffer), context)) {
      fallback(op, "'" + op->getName().getStringRef() + "' has no element-wise form");
      return evaluateByLane(op, dst, context);
    }
    return emitCopy(dst, materialize(op->getResult(0), context), context);
  }
  Value value = op->getResult(0);
  bool isInteger = isa<IntegerType, IndexType>(value.getType()) && !value.getType().isInteger(1);
  bool dstUnsigned = isUnsignedElement(dst.elementType());
  Sign dstSign = dstUnsigned ? Sign::Unsigned : Sign::Signed;
  if (isInteger && info->result != Sign::Any && info->result != dstSign)
    return emitCopy(dst, materialize(value, context, info->result), context);

  Sign sign = info->operands;
  bool sameTypes = info->fn != Fn::Cast && !isComparison(info->fn);
  if (sign == Sign::Any && sameTypes)
    sign = dstSign;
  if (sign == Sign::Any)
    for (Value input : op->getOperands())
      if (!isUniform(input) && sign == Sign::Any)
        sign = naturallyUnsigned(input, context) ? Sign::Unsigned : Sign::Signed;

  // One computed operand may use the destination, if nothing that is evaluated beside it reads it.
  Value dstRoot = rootOf(dst.buffer);
  int scratchFor = -1;
  for (auto [index, input] : llvm::enumerate(op->getOperands())) {
    if (isUniform(input) || !input.hasOneUse() || dimsOf(input) != dst.dims() ||
        findAny(input, context) || loads.contains(input) ||
        elementFor(input.getType(), dstUnsigned) != elementFor(value.getType(), dstUnsigned))
      continue;
    bool othersRead = false;
    for (auto [other, second] : llvm::enumerate(op->getOperands()))
      othersRead |= other != index && readsRoot(second, dstRoot, context);
    if (!othersRead) {
      scratchFor = index;
      break;
    }
  }
  SmallVector<Operand> operands(op->getNumOperands());
  for (auto [index, input] : llvm::enumerate(op->getOperands()))
    if (static_cast<int>(index) != scratchFor)
      operands[index] = operand(input, sign, context);
  if (scratchFor >= 0)
    operands[scratchFor] = operand(op->getOperand(scratchFor), sign, context, &dst);

  SmallVector<View> views;
  Value scalar;
  bool scalarFirst = false;
  for (auto [index, each] : llvm::enumerate(operands)) {
    if (each.scalar) {
      scalar = each.scalar;
      scalarFirst = index == 0;
    } else {
      views.push_back(each.view);
    }
  }
  emitElementwise(info->fn, dst, views, scalar, scalarFirst, info->round, context);
  for (const Operand &each : operands)
    release(each);
}

//===-- Conditions and selects ----------------------------------------------------------------===//

/// A comparison of two affine values: a tile of their difference made once per launch, compared
/// with one scalar.
bool Vectorizer::evaluateAffineCompare(arith::CmpIOp op, const View &dst, Context &context) {
  auto a = affineOf(op.getLhs()), b = affineOf(op.getRhs());
  arith::CmpIPredicate predicate = op.getPredicate();
  FnInfo info = *functionOf(op);
  if (!a || !b || info.operands == Sign::Unsigned)
    return false;
  for (auto [mine, other] : llvm::zip(a->coefs, b->coefs))
    mine -= other;
  // sum(coefs * iv) against `limit`
  auto first = llvm::find_if(a->coefs, [](int64_t coef) { return coef != 0; });
  if (first == a->coefs.end()) {
    Value same = builder.create<arith::CmpIOp>(math.location, predicate, a->start, b->start);
    emitFill(dst, same, context);
    return true;
  }
  Value limit = math.sub(b->start, a->start);
  Fn fn = info.fn;
  if (*first < 0) {
    for (int64_t &coef : a->coefs)
      coef = -coef;
    limit = math.sub(a->start, b->start);
    fn = fn == Fn::LT   ? Fn::GT
         : fn == Fn::GT ? Fn::LT
         : fn == Fn::LE ? Fn::GE
         : fn == Fn::GE ? Fn::LE
                        : fn;
  }
  int64_t least = 0, most = 0;
  SmallVector<int64_t> dims(listOf(a->dims())), shape, coefs;
  for (int64_t dim : dims) {
    int64_t reach = a->coefs[dim] * std::max<int64_t>(bounds[dim] - 1, 0);
    (reach < 0 ? least : most) += reach;
    shape.push_back(bounds[dim]);
    coefs.push_back(a->coefs[dim]);
  }
  int64_t magnitude = std::max(-least, most) + 1;
  Type element = magnitude <= 2048          ? Type(builder.getF16Type())
                 : magnitude <= (1 << 24)   ? Type(builder.getF32Type())
                 : magnitude <= (1LL << 30) ? Type(builder.getI32Type())
                                            : Type(builder.getI64Type());
  View iota;
  iota.buffer = launch.iota(math.location, shape, coefs, element);
  iota.map.assign(dims.begin(), dims.end());
  iota.offsets.assign(dims.size(), math.constant(0));
  limit = math.min(math.max(limit, math.constant(least - 1)), math.constant(most + 1));
  Value scalar;
  if (auto known = tile::constantOf(limit)) {
    Attribute attribute = isa<FloatType>(element)
                              ? Attribute(builder.getFloatAttr(element, double(*known)))
                              : Attribute(builder.getIntegerAttr(element, *known));
    scalar = builder.create<arith::ConstantOp>(math.location, cast<TypedAttr>(attribute));
  } else if (isa<FloatType>(element)) {
    Value integer = builder.create<arith::IndexCastOp>(math.location, builder.getI32Type(), limit);
    scalar = builder.create<arith::SIToFPOp>(math.location, element, integer);
  } else {
    scalar = builder.create<arith::IndexCastOp>(math.location, element, limit);
  }
  emitElementwise(fn, dst, iota, scalar, false, Round::Rint, context);
  return true;
}

/// select(i < n, a, b) without a mask: one side everywhere, then the other on a smaller box.
bool Vectorizer::evaluateClipped(arith::SelectOp op, const View &dst, Context &context) {
  auto compare = op.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return false;
  Value dstRoot = rootOf(dst.buffer);
  for (bool negated : {false, true}) {
    Value inside = negated ? op.getFalseValue() : op.getTrueValue();
    Value outside = negated ? op.getTrueValue() : op.getFalseValue();
    if (readsRoot(inside, dstRoot, context))
      continue;
    Context smaller(context);
    if (!restrictBox(smaller, compare, negated, op))
      continue;
    // A condition that always holds, as of an edge that no block meets, leaves the box as it is.
    bool isAll = smaller.domain.lo == context.domain.lo &&
                 llvm::all_of_zip(smaller.domain.size, context.domain.size, [](Value a, Value b) {
                   return a == b || (constantOf(a) && constantOf(a) == constantOf(b));
                 });
    if (!isAll)
      evaluate(outside, dst, context);
    evaluate(inside, dst, smaller);
    return true;
  }
  return false;
}

void Vectorizer::evaluateSelect(arith::SelectOp op, const View &dst, Context &context) {
  Value condition = op.getCondition(), onTrue = op.getTrueValue(), onFalse = op.getFalseValue();
  if (isUniform(condition)) {
    auto branch =
        builder.create<scf::IfOp>(math.location, scalarOf(condition), /*withElseRegion=*/true);
    for (bool side : {true, false}) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(side ? branch.thenBlock() : branch.elseBlock());
      Context inner(context);
      evaluate(side ? onTrue : onFalse, dst, inner);
    }
    return;
  }
  if (evaluateClipped(op, dst, context))
    return;
  Sign sign = isUnsignedElement(dst.elementType()) ? Sign::Unsigned : Sign::Signed;
  Value dstRoot = rootOf(dst.buffer);
  if (isUniform(onTrue) && !isUniform(onFalse)) {
    condition = negate(condition, op, /*afresh=*/true);
    std::swap(onTrue, onFalse);
  }
  Operand mask = operand(condition, Sign::Any, context);
  auto mayUseDst = [&](Value value, Value other) {
    return !isUniform(value) && value.hasOneUse() && dimsOf(value) == dst.dims() &&
           !readsRoot(other, dstRoot, context) && rootOf(mask.view.buffer) != dstRoot &&
           !findAny(value, context) && !loads.contains(value);
  };
  if (isUniform(onTrue)) {
    View filled = dst;
    if (mayOverlap(mask.view, dst, context))
      filled = newTemporary(listOf(dst.dims()), dst.elementType());
    emitFill(filled, elementScalar(scalarOf(onTrue)), context);
    Value scalar = elementScalar(scalarOf(onFalse));
    emitElementwise(Fn::Select, dst, {mask.view, filled}, scalar, false, Round::Rint, context);
  } else {
    bool trueInDst = mayUseDst(onTrue, onFalse);
    bool falseInDst = !trueInDst && mayUseDst(onFalse, onTrue);
    Operand a = operand(onTrue, sign, context, trueInDst ? &dst : nullptr);
    Operand b = operand(onFalse, sign, context, falseInDst ? &dst : nullptr);
    SmallVector<View> views = {mask.view, a.view};
    if (!b.scalar)
      views.push_back(b.view);
    emitElementwise(Fn::Select, dst, views, b.scalar, false, Round::Rint, context);
    release(a);
    release(b);
  }
  release(mask);
}

} // namespace tilewright::passes::vectorize
