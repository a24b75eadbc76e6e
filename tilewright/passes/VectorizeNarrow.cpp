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

/// Integers of which only the low `bits` are kept, made of that many: 32 of 64, since the vector
/// unit has hardly an instruction for 64, or 16 of 32, since one instruction works on twice as
/// many.
class LowBits {
public:
  LowBits(Operation *cast, unsigned bits) : builder(cast), cast(cast), bits(bits) {}

  /// Rewrites what leads to the cast if all of it can have so few bits.
  void run() {
    Value input = cast->getOperand(0);
    Type type = cast->getResult(0).getType();
    bool isWider = bits == 32 ? isWide(input.getType()) : input.getType().isInteger(32);
    if (!isWider || !type.isInteger() || type.isInteger(1) || type.getIntOrFloatBitWidth() > bits ||
        isLeaf(input) || !isLow(input))
      return;
    Value low = made(input);
    if (type != low.getType())
      low = builder.create<arith::TruncIOp>(cast->getLoc(), type, low);
    cast->getResult(0).replaceAllUsesWith(low);
    cast->erase();
  }

private:
  static bool isBitwise(Operation *op) {
    return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::AndIOp, arith::OrIOp,
               arith::XOrIOp>(op);
  }
  /// Whose result depends on all bits of the operands. There are divisions of 32 bits, none of 16.
  bool isExact(Operation *op) const {
    return isa<arith::ShRSIOp>(op) ||
           (bits == 32 && isa<arith::DivSIOp, arith::FloorDivSIOp, arith::RemSIOp>(op));
  }
  bool isExtension(Value value) const {
    Operation *op = value.getDefiningOp();
    if (!isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp, arith::IndexCastOp>(op))
      return false;
    auto type = dyn_cast<IntegerType>(op->getOperand(0).getType());
    return type && type.getWidth() > 1 && type.getWidth() <= bits;
  }
  bool isLeaf(Value value) {
    return tile::constantOf(value) || isExtension(value) ||
           (bits == 32 && fits(value) && isAffine(value));
  }
  /// Sums and multiples of loop variables and numbers from outside have forms of their own.
  bool isAffine(Value value) {
    if (auto found = affine.find(value); found != affine.end())
      return found->second;
    Operation *op = value.getDefiningOp();
    bool isSum = isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::ShLIOp>(op);
    bool isOther = op && !isSum && (isBitwise(op) || isExact(op));
    return affine[value] =
               !isOther && (!isSum || llvm::all_of(op->getOperands(), [&](Value operand) {
                 return isAffine(operand);
               }));
  }
  bool fits(Value value) const {
    auto range = rangeOf(value);
    int64_t limit = int64_t(1) << (bits - 1);
    return range && range->low >= -limit && range->high < limit;
  }
  /// True if the low bits of `value` follow from as many of what it is computed from. What others
  /// need in full length stays one computation.
  bool isLow(Value value) {
    if (auto found = lows.find(value); found != lows.end())
      return found->second;
    return lows[value] = isLeaf(value) || (isForOne(value) && follows(value.getDefiningOp()));
  }
  static bool isForOne(Value value) {
    return llvm::all_of(value.getUsers(),
                        [&](Operation *user) { return user == *value.user_begin(); });
  }
  bool follows(Operation *op) {
    if (!op || op->getNumResults() != 1 ||
        !llvm::all_of(op->getOperands(), [&](Value operand) { return isLow(operand); }))
      return false;
    if (isBitwise(op))
      return true;
    auto by = op->getNumOperands() == 2 ? tile::constantOf(op->getOperand(1)) : std::nullopt;
    if (isa<arith::ShLIOp, arith::ShRSIOp>(op) && !(by && *by >= 0 && *by < int64_t(bits)))
      return false;
    return isa<arith::ShLIOp>(op) ||
           (isExact(op) && fits(op->getOperand(0)) && fits(op->getOperand(1)));
  }

  Value made(Value value) {
    if (Value low = known.lookup(value))
      return low;
    Type type = builder.getIntegerType(bits);
    Location loc = value.getLoc();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(value);
    if (auto constant = tile::constantOf(value)) {
      APInt low = APInt(64, static_cast<uint64_t>(*constant)).trunc(bits);
      return known[value] = builder.create<arith::ConstantOp>(loc, IntegerAttr::get(type, low));
    }
    if (isExtension(value)) {
      Operation *op = value.getDefiningOp();
      Value input = op->getOperand(0);
      if (input.getType() != type)
        input = isa<arith::ExtUIOp>(op)
                    ? builder.create<arith::ExtUIOp>(loc, type, input).getResult()
                    : builder.create<arith::ExtSIOp>(loc, type, input).getResult();
      return known[value] = input;
    }
    if (isLeaf(value))
      return known[value] = narrowed(builder, loc, value, type);
    Operation *op = value.getDefiningOp();
    IRMapping operands;
    for (Value operand : op->getOperands())
      operands.map(operand, made(operand));
    Operation *low = builder.clone(*op, operands);
    low->getResult(0).setType(type);
    return known[value] = low->getResult(0);
  }

  OpBuilder builder;
  Operation *cast;
  unsigned bits;
  llvm::DenseMap<Value, bool> lows, affine;
  llvm::DenseMap<Value, Value> known;
};

/// Casts inside `root` to integers of at most `bits` bits.
SmallVector<Operation *> castsIn(tile::ParallelOp root, unsigned bits) {
  SmallVector<Operation *> found;
  root.walk([&](Operation *op) {
    if (isCast(op) && op->getResult(0).getType().isInteger() &&
        op->getResult(0).getType().getIntOrFloatBitWidth() <= bits)
      found.push_back(op);
  });
  return found;
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
  for (unsigned bits : {32u, 16u})
    for (Operation *cast : castsIn(root, bits))
      LowBits(cast, bits).run();
}

} // namespace tilewright::passes::vectorize
