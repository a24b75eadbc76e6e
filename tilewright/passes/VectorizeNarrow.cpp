// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before a tile.parallel is vectorised: choices and comparisons of loop variables, which have 64
// bits, are made in 32 bits where that gives the same result. The vector unit has 64-bit elements
// only as pairs of instructions for single elements.

#include "tilewright/passes/Ranges.h"
#include "tilewright/passes/Vectorize.h"

#include "llvm/ADT/SetVector.h"

#include <limits>

using namespace mlir;

namespace tilewright::passes::vectorize {
namespace {

constexpr unsigned kBits = 32;

bool isWide(Type type) { return type.isIndex() || type.isInteger(64); }

/// The value before it was extended from 32 bits or fewer, as a signed number; null otherwise.
Value extendedFrom(Value value) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(op))
    return {};
  Value input = op->getOperand(0);
  auto type = dyn_cast<IntegerType>(input.getType());
  return type && type.getWidth() > 1 && type.getWidth() <= kBits ? input : Value();
}

/// A wide value in fewer bits.
Value narrowed(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType().isIndex())
    return builder.createOrFold<arith::IndexCastOp>(loc, type, value);
  return builder.createOrFold<arith::TruncIOp>(loc, type, value);
}

/// A wide value as a 32-bit one of the same number; null where it may not fit.
Value fitted(OpBuilder &builder, Location loc, Value value) {
  Type type = builder.getIntegerType(kBits);
  if (Value input = extendedFrom(value))
    return input.getType() == type ? input : builder.create<arith::ExtSIOp>(loc, type, input);
  std::optional<Bounds> range = rangeOf(value);
  using Limits = std::numeric_limits<int32_t>;
  if (!range || range->low < Limits::min() || range->high > Limits::max())
    return {};
  return narrowed(builder, loc, value, type);
}

bool isCast(Operation *op) { return isa_and_nonnull<arith::IndexCastOp, arith::TruncIOp>(op); }

/// The low bits of a choice are a choice of low bits. New casts go to `work`.
void narrowChoice(Operation *cast, llvm::SetVector<Operation *> &work) {
  auto select = cast->getOperand(0).getDefiningOp<arith::SelectOp>();
  Type type = cast->getResult(0).getType();
  if (!select || !select->hasOneUse() || !isWide(select.getType()) || !type.isInteger() ||
      type.getIntOrFloatBitWidth() > kBits || !select.getCondition().getType().isInteger(1))
    return;
  OpBuilder builder(cast);
  Location loc = cast->getLoc();
  Value a = narrowed(builder, loc, select.getTrueValue(), type);
  Value b = narrowed(builder, loc, select.getFalseValue(), type);
  Value choice = builder.create<arith::SelectOp>(loc, select.getCondition(), a, b);
  cast->getResult(0).replaceAllUsesWith(choice);
  cast->erase();
  select->erase();
  for (Value side : {a, b})
    if (isCast(side.getDefiningOp()))
      work.insert(side.getDefiningOp());
}

/// A comparison with an element of 32 bits or fewer. Comparisons of loop variables alone stay: they
/// cut the box and cost nothing.
void narrowComparison(arith::CmpIOp op) {
  using P = arith::CmpIPredicate;
  static constexpr P kUnsigned[] = {P::ult, P::ule, P::ugt, P::uge};
  Value a = op.getLhs(), b = op.getRhs();
  if (!isWide(a.getType()) || llvm::is_contained(kUnsigned, op.getPredicate()) ||
      (!extendedFrom(a) && !extendedFrom(b)))
    return;
  OpBuilder builder(op);
  Value left = fitted(builder, op.getLoc(), a), right = fitted(builder, op.getLoc(), b);
  if (!left || !right)
    return;
  op.replaceAllUsesWith(
      builder.create<arith::CmpIOp>(op.getLoc(), op.getPredicate(), left, right).getResult());
  op.erase();
}

} // namespace

void narrowIndices(tile::ParallelOp root) {
  llvm::SetVector<Operation *> casts;
  SmallVector<arith::CmpIOp> comparisons;
  root.walk([&](Operation *op) {
    if (isCast(op))
      casts.insert(op);
    else if (auto compare = dyn_cast<arith::CmpIOp>(op))
      comparisons.push_back(compare);
  });
  while (!casts.empty())
    narrowChoice(casts.pop_back_val(), casts);
  for (arith::CmpIOp compare : comparisons)
    narrowComparison(compare);
}

} // namespace tilewright::passes::vectorize
