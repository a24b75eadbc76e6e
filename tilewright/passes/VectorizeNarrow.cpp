// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before a tile.parallel is vectorised: choices and comparisons of loop variables, which have 64
// bits, are made in 32 bits where that gives the same result, and integers of which only low bits
// are kept in 16. The vector unit has 64-bit elements only as pairs of instructions for single
// elements.

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
  if (Value input = extendedFrom(value); input && input.getType() == type)
    return input;
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

/// Integers of 32 bits of which only the low ones are kept, in 16 bits: of those a vector
/// instruction works on twice as many.
class Halves {
public:
  explicit Halves(arith::TruncIOp cast) : builder(cast), cast(cast) {}

  /// Rewrites what leads to the cast if all of it can have 16 bits.
  void run() {
    Type type = cast.getType();
    if (!cast.getIn().getType().isInteger(32) || type.getIntOrFloatBitWidth() > 16 ||
        type.isInteger(1) || !isLow(cast.getIn()))
      return;
    Value low = made(cast.getIn());
    if (type != low.getType())
      low = builder.create<arith::TruncIOp>(cast.getLoc(), type, low);
    cast.replaceAllUsesWith(low);
    cast.erase();
  }

private:
  static bool isBitwise(Operation *op) {
    return isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::AndIOp, arith::OrIOp,
                           arith::XOrIOp>(op);
  }
  static bool isExtension(Operation *op) {
    return isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(op) &&
           !op->getOperand(0).getType().isInteger(1) &&
           op->getOperand(0).getType().getIntOrFloatBitWidth() <= 16;
  }
  /// The number of bits that a shift moves by, if that is less than 16.
  static std::optional<int64_t> shiftOf(Operation *op) {
    auto by = tile::constantOf(op->getOperand(1));
    return by && *by >= 0 && *by < 16 ? by : std::nullopt;
  }

  /// True if the low 16 bits of `value` follow from 16 bits of what it is computed from.
  bool isLow(Value value) {
    Operation *op = value.getDefiningOp();
    if (tile::constantOf(value) || isExtension(op))
      return true;
    if (isBitwise(op))
      return isLow(op->getOperand(0)) && isLow(op->getOperand(1));
    if (isa_and_nonnull<arith::ShLIOp>(op))
      return shiftOf(op) && isLow(op->getOperand(0));
    // To the right go bits from above: a number that has no more than 16.
    if (!isa_and_nonnull<arith::ShRSIOp, arith::ShRUIOp>(op) || !shiftOf(op))
      return false;
    auto range = rangeOf(op->getOperand(0));
    using Limits = std::numeric_limits<int16_t>;
    int64_t least = isa<arith::ShRSIOp>(op) ? Limits::min() : 0;
    return range && range->low >= least && range->high <= Limits::max() && isLow(op->getOperand(0));
  }

  Value made(Value value) {
    if (Value low = known.lookup(value))
      return low;
    Type type = builder.getIntegerType(16);
    Location loc = value.getLoc();
    Operation *op = value.getDefiningOp();
    OpBuilder::InsertionGuard guard(builder);
    if (auto constant = tile::constantOf(value)) {
      builder.setInsertionPointAfterValue(value);
      return known[value] =
                 builder.create<arith::ConstantIntOp>(loc, static_cast<int16_t>(*constant), 16);
    }
    builder.setInsertionPoint(op);
    if (isExtension(op)) {
      Value input = op->getOperand(0);
      if (input.getType() != type)
        input = isa<arith::ExtSIOp>(op)
                    ? builder.create<arith::ExtSIOp>(loc, type, input).getResult()
                    : builder.create<arith::ExtUIOp>(loc, type, input).getResult();
      return known[value] = input;
    }
    IRMapping operands;
    for (Value operand : op->getOperands())
      operands.map(operand, made(operand));
    Operation *half = builder.clone(*op, operands);
    half->getResult(0).setType(type);
    return known[value] = half->getResult(0);
  }

  OpBuilder builder;
  arith::TruncIOp cast;
  llvm::DenseMap<Value, Value> known;
};

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
  SmallVector<arith::TruncIOp> truncations;
  root.walk([&](arith::TruncIOp op) { truncations.push_back(op); });
  for (arith::TruncIOp op : truncations)
    Halves(op).run();
}

} // namespace tilewright::passes::vectorize
