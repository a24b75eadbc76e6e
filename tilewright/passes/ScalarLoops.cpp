// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/ScalarLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilewright;

namespace {

Type elementOf(const Box &box) { return cast<MemRefType>(box.buffer.getType()).getElementType(); }

bool isBetween(Fn fn, Fn first, Fn last) { return int(fn) >= int(first) && int(fn) <= int(last); }

bool isQuotient(Fn fn) { return fn == Fn::Div || isBetween(fn, Fn::Rem, Fn::FloorMod); }

/// Loops over the dimensions of a box, and the elements of boxes at their turn.
class Loops {
public:
  Loops(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value index(int64_t value) { return builder.create<arith::ConstantIndexOp>(loc, value); }

  /// Opens a loop and gives its turn; what follows is made in its body.
  Value open(Value size) {
    auto loop = builder.create<scf::ForOp>(loc, index(0), size, index(1));
    builder.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  }

  /// Where the turn stands in a box whose dimension i follows `turns[i]`; null: its only element.
  SmallVector<Value> place(const Box &box, ArrayRef<Value> turns) {
    SmallVector<Value> place(box.offsets);
    for (auto [at, turn] : llvm::zip_equal(place, turns))
      if (turn && constantOf(at).value_or(1) == 0)
        at = turn;
      else if (turn)
        at = builder.create<arith::AddIOp>(loc, at, turn);
    return place;
  }
  Value load(const Box &box, ArrayRef<Value> turns) {
    return builder.create<npu::ScalarLoadOp>(loc, elementOf(box), box.buffer, place(box, turns));
  }
  void store(Value value, const Box &box, ArrayRef<Value> turns) {
    builder.create<npu::ScalarStoreOp>(loc, value, box.buffer, place(box, turns));
  }

  /// fn(a, b), or of a alone; null where it is not known.
  Value compute(Fn fn, Value a, Value b, Type result) {
    auto make = [&]<typename Op>() -> Value { return builder.create<Op>(loc, a, b); };
    auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
      return builder.create<arith::CmpIOp>(loc, predicate, a, b);
    };
    auto zero = [&] {
      return builder.create<arith::ConstantOp>(loc, builder.getIntegerAttr(a.getType(), 0))
          .getResult();
    };
    switch (fn) {
    case Fn::Cast:
      return builder.create<arith::TruncIOp>(loc, result, a);
    case Fn::Neg:
      return builder.create<arith::SubIOp>(loc, zero(), a);
    case Fn::Abs:
      return builder.create<arith::MaxSIOp>(loc, a, builder.create<arith::SubIOp>(loc, zero(), a));
    case Fn::Add:
      return make.template operator()<arith::AddIOp>();
    case Fn::Sub:
      return make.template operator()<arith::SubIOp>();
    case Fn::Mul:
      return make.template operator()<arith::MulIOp>();
    case Fn::Max:
    case Fn::MaxNum:
      return make.template operator()<arith::MaxSIOp>();
    case Fn::Min:
    case Fn::MinNum:
      return make.template operator()<arith::MinSIOp>();
    case Fn::Shl:
      return make.template operator()<arith::ShLIOp>();
    case Fn::Shr:
      return make.template operator()<arith::ShRSIOp>();
    case Fn::Div:
      return make.template operator()<arith::DivSIOp>();
    case Fn::Rem:
      return make.template operator()<arith::RemSIOp>();
    case Fn::FloorDiv:
    case Fn::FloorMod: {
      // Where a remainder is left and its sign is not the divisor's: one less, once more the
      // divisor.
      Value rest = make.template operator()<arith::RemSIOp>();
      Value differs =
          compare(arith::CmpIPredicate::slt, builder.create<arith::XOrIOp>(loc, rest, b), zero());
      Value isLeft = compare(arith::CmpIPredicate::ne, rest, zero());
      Value isOff = builder.create<arith::AndIOp>(loc, differs, isLeft);
      if (fn == Fn::FloorMod)
        return builder.create<arith::AddIOp>(
            loc, rest, builder.create<arith::SelectOp>(loc, isOff, b, zero()));
      Value less = builder.create<arith::ExtSIOp>(loc, a.getType(), isOff);
      Value quotient = make.template operator()<arith::DivSIOp>();
      return builder.create<arith::AddIOp>(loc, quotient, less);
    }
    case Fn::EQ:
      return compare(arith::CmpIPredicate::eq, a, b);
    case Fn::NE:
      return compare(arith::CmpIPredicate::ne, a, b);
    case Fn::LT:
      return compare(arith::CmpIPredicate::slt, a, b);
    case Fn::LE:
      return compare(arith::CmpIPredicate::sle, a, b);
    case Fn::GT:
      return compare(arith::CmpIPredicate::sgt, a, b);
    case Fn::GE:
      return compare(arith::CmpIPredicate::sge, a, b);
    default:
      return {};
    }
  }

private:
  OpBuilder &builder;
  Location loc;
};

bool isSigned(const Box &box) { return elementOf(box).isSignlessInteger(); }

/// The vector unit has no instruction for an op on integers that do not stand for bools.
bool isScalar(npu::ElementwiseOp op) {
  Fn fn = op.getFn();
  unsigned count = op.getNumBoxes();
  if (count < 2 || !isSigned(op.getBox(0)) || !isSigned(op.getBox(1)))
    return false;
  unsigned from = elementOf(op.getBox(1)).getIntOrFloatBitWidth();
  unsigned to = elementOf(op.getBox(0)).getIntOrFloatBitWidth();
  if (fn == Fn::Cast)
    return from == 64 && to > 1 && to < 64;
  bool isKnown = isBetween(fn, Fn::EQ, Fn::GE) || isQuotient(fn) ||
                 llvm::is_contained({Fn::Neg, Fn::Abs, Fn::Add, Fn::Sub, Fn::Mul, Fn::Max, Fn::Min,
                                     Fn::MaxNum, Fn::MinNum, Fn::Shl, Fn::Shr},
                                    fn);
  if (!isKnown || from == 1 || (count == 3 && elementOf(op.getBox(2)) != elementOf(op.getBox(1))))
    return false;
  if (op.getScalar() && op.getScalar().getType() != elementOf(op.getBox(1)))
    return false;
  return from == 64 ? fn != Fn::EQ : isQuotient(fn);
}

} // namespace

bool passes::makeScalarLoop(OpBuilder &builder, npu::ElementwiseOp op) {
  if (!isScalar(op))
    return false;
  OpBuilder::InsertionGuard guard(builder);
  Loops loops(builder, op.getLoc());
  Box dst = op.getBox(0);
  llvm::SmallDenseMap<int64_t, Value> turns; // by dimension of the domain
  for (auto [at, dim] : llvm::enumerate(op.getMap(0)))
    if (dim >= 0 && constantOf(dst.sizes[at]).value_or(0) != 1)
      turns[dim] = loops.open(dst.sizes[at]);
  auto turnsOf = [&](unsigned which) {
    SmallVector<Value> own;
    for (auto [size, dim] : llvm::zip_equal(op.getBox(which).sizes, op.getMap(which)))
      own.push_back(constantOf(size).value_or(0) == 1 ? Value() : turns.lookup(dim));
    return own;
  };
  SmallVector<Value> values;
  for (unsigned which = 1; which < op.getNumBoxes(); ++which)
    values.push_back(loops.load(op.getBox(which), turnsOf(which)));
  if (op.getScalar())
    values.insert(op.getScalarFirst() ? values.begin() : values.end(), op.getScalar());
  values.resize(2);
  loops.store(loops.compute(op.getFn(), values[0], values[1], elementOf(dst)), dst, turnsOf(0));
  return true;
}

bool passes::makeScalarLoop(OpBuilder &builder, npu::ScanOp op) {
  Box dst = op.getBox(0), src = op.getBox(1);
  Type element = elementOf(dst);
  bool isProduct = op.getKind() == ReduceKind::Prod;
  bool isRow = int64_t(op.getDim()) + 1 == int64_t(dst.sizes.size());
  bool isKnown = element.isF32() || element.isSignlessInteger(32) || element.isSignlessInteger(64);
  if (!isRow || !isKnown || elementOf(src) != element ||
      (op.getKind() != ReduceKind::Sum && !isProduct))
    return false;
  OpBuilder::InsertionGuard guard(builder);
  Location loc = op.getLoc();
  Loops loops(builder, loc);
  SmallVector<Value> turns;
  for (Value size : ArrayRef<Value>(SmallVector<Value>(dst.sizes)).drop_back())
    turns.push_back(constantOf(size).value_or(0) == 1 ? Value() : loops.open(size));
  Value size = dst.sizes.back();
  auto combine = [&](Value a, Value b) -> Value {
    if (isa<FloatType>(element))
      return isProduct ? builder.create<arith::MulFOp>(loc, a, b).getResult()
                       : builder.create<arith::AddFOp>(loc, a, b).getResult();
    return isProduct ? builder.create<arith::MulIOp>(loc, a, b).getResult()
                     : builder.create<arith::AddIOp>(loc, a, b).getResult();
  };
  Value one = loops.index(1), last = builder.create<arith::SubIOp>(loc, size, one);
  Value first = op.getReverse() ? last : loops.index(0);
  turns.push_back(first);
  loops.store(loops.load(src, turns), dst, turns);
  Value turn = loops.open(last);
  Value next = builder.create<arith::AddIOp>(loc, turn, one), before = turn;
  if (op.getReverse()) {
    before = builder.create<arith::SubIOp>(loc, last, turn);
    next = builder.create<arith::SubIOp>(loc, before, one);
  }
  turns.back() = before;
  Value sum = loops.load(dst, turns);
  turns.back() = next;
  Value value = loops.load(src, turns);
  loops.store(combine(value, sum), dst, turns);
  return true;
}
