// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/OnlineSoftmax.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

/// Equal but for the rounding of constants to f32.
bool areNear(double a, double b) { return std::abs(a - b) <= 1e-6 * std::max(std::abs(a), 1e-30); }

} // namespace

bool OnlineSoftmax::isFree(const Symbol &value) {
  auto *scores = std::get_if<Scores>(&value);
  return std::get_if<Fixed>(&value) || (scores && scores->after == 0);
}

/// Tiles that nothing in the turn wrote are the same in every turn.
OnlineSoftmax::Symbol OnlineSoftmax::valueOf(Value tile) const {
  auto found = values.find(tile);
  return found == values.end() ? Symbol(Fixed{}) : found->second;
}

void OnlineSoftmax::weightsLeave(Value tile) {
  Symbol value = valueOf(tile);
  left = std::nullopt;
  if (auto *weights = std::get_if<Weights>(&value))
    left = *weights;
}

void OnlineSoftmax::productArrives(Value tile) {
  values[tile] = left ? Symbol(Sum{left->scores, left->rate}) : Symbol(Opaque{});
}

/// The carried maximum meets that of the turn; a maximum that has met it stays as it is.
OnlineSoftmax::Symbol OnlineSoftmax::maxOf(const Symbol &a, const Symbol &b) {
  auto *before = std::get_if<Linear>(&a);
  if (!before)
    return std::get_if<Linear>(&b) ? maxOf(b, a) : Symbol(Opaque{});
  if (auto *row = std::get_if<RowMax>(&b)) {
    if (top || before->before != 1 || before->after != 0 || row->factor <= 0)
      return Opaque{};
    top = Top{before->tile, row->scores, row->factor};
    return Linear{before->tile, 0, 1};
  }
  auto *other = std::get_if<Linear>(&b);
  if (!other || other->tile != before->tile || !isTop(*before) ||
      before->before + before->after != 1 || other->before + other->after != 1)
    return Opaque{};
  return Linear{before->tile, 0, 1};
}

OnlineSoftmax::Symbol OnlineSoftmax::binary(Fn fn, const Symbol &a, const Symbol &b) {
  if (fn == Fn::Max || fn == Fn::MaxNum)
    return maxOf(a, b);
  auto *fixed = std::get_if<Fixed>(&b);
  if (fn == Fn::Mul && std::get_if<Fixed>(&a) && !fixed)
    return binary(fn, b, a);
  if (fn == Fn::Mul && fixed && fixed->number) {
    if (auto *linear = std::get_if<Linear>(&a))
      return Linear{linear->tile, linear->before * *fixed->number, linear->after * *fixed->number};
    if (auto *scores = std::get_if<Scores>(&a))
      return Scores{scores->scores, scores->factor * *fixed->number,
                    scores->after * *fixed->number};
  }
  if (fn == Fn::Mul) {
    const Symbol &x = std::get_if<Alpha>(&a) ? b : a;
    auto *alpha = std::get_if<Alpha>(&x == &a ? &b : &a);
    auto *old = std::get_if<Linear>(&x);
    if (alpha && old && old->before == 1 && old->after == 0 && !isTop(*old))
      return Scaled{old->tile, alpha->rate};
  }
  if (fn == Fn::Sub || fn == Fn::Add) {
    double sign = fn == Fn::Sub ? -1 : 1;
    auto *left = std::get_if<Linear>(&a), *right = std::get_if<Linear>(&b);
    if (left && right && left->tile == right->tile)
      return Linear{left->tile, left->before + sign * right->before,
                    left->after + sign * right->after};
    auto *scores = std::get_if<Scores>(&a);
    if (scores && right && isTop(*right) && right->before == 0 && scores->scores == top->scores)
      return Scores{scores->scores, scores->factor, scores->after + sign * right->after};
  }
  if (fn == Fn::Add) {
    const Symbol &x = std::get_if<Sum>(&a) ? b : a;
    auto *sum = std::get_if<Sum>(&x == &a ? &b : &a);
    auto *scaled = std::get_if<Scaled>(&x);
    if (sum && scaled && areNear(sum->rate, scaled->rate))
      return Done{scaled->tile, sum->scores, sum->rate};
  }
  if (!isFree(a) || !isFree(b))
    return Opaque{};
  return std::get_if<Fixed>(&a) && fixed ? Symbol(Fixed{}) : fresh();
}

OnlineSoftmax::Symbol OnlineSoftmax::exponential(const Symbol &exponent) const {
  if (auto *linear = std::get_if<Linear>(&exponent))
    if (isTop(*linear) && linear->before > 0 && areNear(linear->before, -linear->after))
      return Alpha{linear->before};
  auto *scores = std::get_if<Scores>(&exponent);
  if (scores && top && scores->scores == top->scores && scores->after < 0 &&
      areNear(scores->factor, -scores->after * top->factor))
    return Weights{scores->scores, -scores->after};
  return Opaque{};
}

OnlineSoftmax::Symbol OnlineSoftmax::elementwise(ElementwiseOp op) {
  SmallVector<Symbol> operands;
  for (unsigned box = 1; box < op.getNumBoxes(); ++box)
    operands.push_back(valueOf(op.getBox(box).buffer));
  if (Value scalar = op.getScalar()) {
    Fixed fixed;
    if (FloatAttr number; matchPattern(scalar, m_Constant(&number)))
      fixed.number = number.getValueAsDouble();
    operands.insert(op.getScalarFirst() ? operands.begin() : operands.end(), fixed);
  }
  switch (op.getFn()) {
  case Fn::Copy:
    return operands.front();
  case Fn::Cast: // between floats: a rounding
    if (isa<FloatType>(cast<MemRefType>(op.getBox(0).buffer.getType()).getElementType()))
      return operands.front();
    break;
  case Fn::Exp: {
    Symbol value = exponential(operands.front());
    if (!std::get_if<Opaque>(&value))
      return value;
    break;
  }
  case Fn::Exp2: {
    Symbol value = exponential(binary(Fn::Mul, operands.front(), Fixed{std::numbers::ln2}));
    if (!std::get_if<Opaque>(&value))
      return value;
    break;
  }
  case Fn::Add:
  case Fn::Sub:
  case Fn::Mul:
  case Fn::Max:
  case Fn::MaxNum:
    return binary(op.getFn(), operands[0], operands[1]);
  default:
    break;
  }
  // Any function of scores alone is another kind of scores.
  bool areFixed = true;
  for (const Symbol &value : operands) {
    if (!isFree(value))
      return Opaque{};
    areFixed &= std::get_if<Fixed>(&value) != nullptr;
  }
  return areFixed ? Symbol(Fixed{}) : fresh();
}

OnlineSoftmax::Symbol OnlineSoftmax::reduce(ReduceOp op) {
  Value from = op.getBox(1).buffer, to = op.getBox(0).buffer;
  Symbol value = valueOf(from), before = valueOf(to);
  if (!wide.contains(from))
    return std::get_if<Fixed>(&value) && std::get_if<Fixed>(&before) ? Symbol(Fixed{})
                                                                     : Symbol(Opaque{});
  if (!llvm::is_contained(op.getDims(), int64_t(wide.lookup(from))))
    return Opaque{};
  auto *scores = std::get_if<Scores>(&value);
  auto *weights = std::get_if<Weights>(&value);
  if (op.getKind() == ReduceKind::Max && scores && scores->after == 0) {
    Symbol row = RowMax{scores->scores, scores->factor};
    auto *start = std::get_if<Fixed>(&before);
    bool isEmpty = start && start->number && std::isinf(*start->number) && *start->number < 0;
    return op.getAccumulate() && !isEmpty ? maxOf(before, row) : row;
  }
  if (op.getKind() == ReduceKind::Sum && weights) {
    Symbol sum = Sum{weights->scores, weights->rate};
    auto *start = std::get_if<Fixed>(&before);
    bool isZero = start && start->number && *start->number == 0;
    return op.getAccumulate() && !isZero ? binary(Fn::Add, before, sum) : sum;
  }
  return Opaque{};
}

/// A part of a tile is written: what was known of all of it holds no more.
OnlineSoftmax::Symbol OnlineSoftmax::merged(Value tile, const Symbol &part) {
  Symbol before = valueOf(tile);
  return isFree(before) && isFree(part) ? fresh() : Symbol(Opaque{});
}

void OnlineSoftmax::visit(Operation *op) {
  auto set = [&](const Box &box, const Symbol &value) {
    Symbol written = coversBuffer(box) ? value : merged(box.buffer, value);
    values[box.buffer] = written;
  };
  if (auto fill = dyn_cast<FillOp>(op)) {
    Fixed fixed;
    if (FloatAttr number; matchPattern(fill.getValue(), m_Constant(&number)))
      fixed.number = number.getValueAsDouble();
    set(fill.getBox(0), fixed);
    return;
  }
  if (auto step = dyn_cast<ElementwiseOp>(op)) {
    set(step.getBox(0), elementwise(step));
    return;
  }
  if (auto step = dyn_cast<ReduceOp>(op)) {
    set(step.getBox(0), reduce(step));
    return;
  }
  auto access = cast<AccessInterface>(op);
  for (unsigned box = 0; box < access.getNumBoxes(); ++box) {
    Value buffer = access.getBox(box).buffer;
    if (writes(access.getAccessKind(box)))
      values[buffer] = wide.contains(buffer) && isa<IotaOp>(op) ? fresh() : Symbol(Opaque{});
  }
}

std::string OnlineSoftmax::problem() {
  if (!top)
    return "no maximum over the columns is carried";
  if (!left || left->scores != top->scores)
    return "the weights are no exponentials of the scores and their maximum";
  for (Value tile : carried) {
    Symbol value = valueOf(tile);
    if (auto *linear = std::get_if<Linear>(&value)) {
      bool isSame = linear->before == 1 && linear->after == 0;
      bool isNewTop = isTop(*linear) && linear->before == 0 && linear->after == 1;
      if (linear->tile == tile && (isTop(*linear) ? isNewTop : isSame))
        continue;
    }
    auto *done = std::get_if<Done>(&value);
    if (done && done->tile == tile && done->scores == top->scores &&
        areNear(done->rate, left->rate))
      continue;
    return ("'" + nameOf(tile) + "' is carried in another way than a sum of weighted terms").str();
  }
  return "";
}
