// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before a tile.parallel is vectorised: ops without an element-wise function are rewritten into
// ones that have one.

#include "tilewright/passes/Ranges.h"
#include "tilewright/passes/Vectorize.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::passes::vectorize {

//===-- Functions of ops ----------------------------------------------------------------------===//

namespace {

std::optional<Fn> functionOfPredicate(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::OEQ:
    return Fn::EQ;
  case arith::CmpFPredicate::UNE:
    return Fn::NE;
  case arith::CmpFPredicate::OLT:
    return Fn::LT;
  case arith::CmpFPredicate::OLE:
    return Fn::LE;
  case arith::CmpFPredicate::OGT:
    return Fn::GT;
  case arith::CmpFPredicate::OGE:
    return Fn::GE;
  default:
    return std::nullopt;
  }
}

FnInfo functionOfPredicate(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return {Fn::EQ};
  case arith::CmpIPredicate::ne:
    return {Fn::NE};
  case arith::CmpIPredicate::slt:
    return {Fn::LT, Sign::Signed};
  case arith::CmpIPredicate::sle:
    return {Fn::LE, Sign::Signed};
  case arith::CmpIPredicate::sgt:
    return {Fn::GT, Sign::Signed};
  case arith::CmpIPredicate::sge:
    return {Fn::GE, Sign::Signed};
  case arith::CmpIPredicate::ult:
    return {Fn::LT, Sign::Unsigned};
  case arith::CmpIPredicate::ule:
    return {Fn::LE, Sign::Unsigned};
  case arith::CmpIPredicate::ugt:
    return {Fn::GT, Sign::Unsigned};
  case arith::CmpIPredicate::uge:
    return {Fn::GE, Sign::Unsigned};
  }
  return {Fn::EQ};
}

/// Ops whose name alone decides.
std::optional<FnInfo> functionOfName(StringRef name) {
  constexpr Sign S = Sign::Signed, U = Sign::Unsigned, A = Sign::Any;
  static const llvm::StringMap<FnInfo> table = {
      {"arith.addf", {Fn::Add}},
      {"arith.subf", {Fn::Sub}},
      {"arith.mulf", {Fn::Mul}},
      {"arith.divf", {Fn::Div}},
      {"arith.remf", {Fn::Rem}},
      {"arith.negf", {Fn::Neg}},
      {"arith.maximumf", {Fn::Max}},
      {"arith.minimumf", {Fn::Min}},
      {"arith.maxnumf", {Fn::MaxNum}},
      {"arith.minnumf", {Fn::MinNum}},
      {"arith.addi", {Fn::Add}},
      {"arith.subi", {Fn::Sub}},
      {"arith.muli", {Fn::Mul}},
      {"arith.divsi", {Fn::Div, S, S}},
      {"arith.divui", {Fn::Div, U, U}},
      {"arith.remsi", {Fn::Rem, S, S}},
      {"arith.remui", {Fn::Rem, U, U}},
      {"arith.floordivsi", {Fn::FloorDiv, S, S}},
      {"arith.andi", {Fn::And}},
      {"arith.ori", {Fn::Or}},
      {"arith.xori", {Fn::Xor}},
      {"arith.shli", {Fn::Shl}},
      {"arith.shrsi", {Fn::Shr, S, S}},
      {"arith.shrui", {Fn::Shr, U, U}},
      {"arith.maxsi", {Fn::Max, S, S}},
      {"arith.minsi", {Fn::Min, S, S}},
      {"arith.maxui", {Fn::Max, U, U}},
      {"arith.minui", {Fn::Min, U, U}},
      {"arith.extf", {Fn::Cast}},
      {"arith.truncf", {Fn::Cast}},
      {"arith.sitofp", {Fn::Cast, S, A}},
      {"arith.uitofp", {Fn::Cast, U, A}},
      {"arith.fptosi", {Fn::Cast, A, S, Round::Trunc}},
      {"arith.fptoui", {Fn::Cast, A, U, Round::Trunc}},
      {"arith.extsi", {Fn::Cast, S, A}},
      {"arith.extui", {Fn::Cast, U, A}},
      {"arith.trunci", {Fn::Cast}},
      {"arith.index_cast", {Fn::Cast, S, A}},
      {"arith.index_castui", {Fn::Cast, U, A}},
      {"math.absf", {Fn::Abs}},
      {"math.absi", {Fn::Abs, S, S}},
      {"math.exp", {Fn::Exp}},
      {"math.exp2", {Fn::Exp2}},
      {"math.log", {Fn::Log}},
      {"math.log2", {Fn::Log2}},
      {"math.log10", {Fn::Log10}},
      {"math.log1p", {Fn::Log1p}},
      {"math.sqrt", {Fn::Sqrt}},
      {"math.rsqrt", {Fn::Rsqrt}},
      {"math.sin", {Fn::Sin}},
      {"math.cos", {Fn::Cos}},
      {"math.tan", {Fn::Tan}},
      {"math.tanh", {Fn::Tanh}},
      {"math.erf", {Fn::Erf}},
      {"math.floor", {Fn::Floor}},
      {"math.ceil", {Fn::Ceil}},
      {"math.round", {Fn::Nearest}},
      {"math.roundeven", {Fn::Rint}},
      {"math.trunc", {Fn::Trunc}},
      {"math.powf", {Fn::Pow}},
      {"math.ipowi", {Fn::Pow, S, S}},
  };
  auto found = table.find(name);
  return found == table.end() ? std::nullopt : std::optional<FnInfo>(found->second);
}

} // namespace

std::optional<FnInfo> functionOf(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions())
    return std::nullopt;
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    auto fn = functionOfPredicate(compare.getPredicate());
    return fn ? std::optional<FnInfo>(FnInfo{*fn}) : std::nullopt;
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return functionOfPredicate(compare.getPredicate());
  if (isa<arith::SelectOp>(op))
    return FnInfo{Fn::Select};
  return functionOfName(op->getName().getStringRef());
}

//===-- Rewriting the body --------------------------------------------------------------------===//

namespace {

/// Float comparisons that have no function, by those that have.
Value expandCompare(OpBuilder &builder, arith::CmpFOp op) {
  Location loc = op.getLoc();
  Value a = op.getLhs(), b = op.getRhs();
  using P = arith::CmpFPredicate;
  auto compare = [&](P predicate, Value x, Value y) -> Value {
    return builder.create<arith::CmpFOp>(loc, predicate, x, y);
  };
  auto constant = [&](bool value) -> Value {
    return builder.create<arith::ConstantIntOp>(loc, value, 1);
  };
  auto inverse = [&](Value value) -> Value {
    return builder.create<arith::XOrIOp>(loc, value, constant(true));
  };
  switch (op.getPredicate()) {
  case P::ONE:
    return builder.create<arith::OrIOp>(loc, compare(P::OLT, a, b), compare(P::OGT, a, b));
  case P::UEQ:
    return inverse(builder.create<arith::OrIOp>(loc, compare(P::OLT, a, b), compare(P::OGT, a, b)));
  case P::ULT:
    return inverse(compare(P::OGE, a, b));
  case P::ULE:
    return inverse(compare(P::OGT, a, b));
  case P::UGT:
    return inverse(compare(P::OLE, a, b));
  case P::UGE:
    return inverse(compare(P::OLT, a, b));
  case P::ORD:
    if (a == b)
      return compare(P::OEQ, a, a);
    return builder.create<arith::AndIOp>(loc, compare(P::OEQ, a, a), compare(P::OEQ, b, b));
  case P::UNO:
    if (a == b)
      return compare(P::UNE, a, a);
    return builder.create<arith::OrIOp>(loc, compare(P::UNE, a, a), compare(P::UNE, b, b));
  case P::AlwaysFalse:
    return constant(false);
  case P::AlwaysTrue:
    return constant(true);
  default:
    return nullptr;
  }
}

/// `op` in terms of ops with a function; null where it has one, or none is known.
Value expand(OpBuilder &builder, Operation *op) {
  Location loc = op->getLoc();
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return expandCompare(builder, compare);
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    bool equal = compare.getPredicate() == arith::CmpIPredicate::eq;
    if (!compare.getLhs().getType().isInteger(1) ||
        (!equal && compare.getPredicate() != arith::CmpIPredicate::ne))
      return nullptr;
    Value differ = builder.create<arith::XOrIOp>(loc, compare.getLhs(), compare.getRhs());
    if (!equal)
      return differ;
    return builder.create<arith::XOrIOp>(loc, differ,
                                         builder.create<arith::ConstantIntOp>(loc, 1, 1));
  }
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return nullptr;
  Value input = op->getOperand(0);
  Type type = op->getResult(0).getType();
  if (isa<arith::ExtSIOp, arith::SIToFPOp>(op) && input.getType().isInteger(1)) {
    Value minusOne, zero;
    if (isa<FloatType>(type)) {
      minusOne = builder.create<arith::ConstantOp>(loc, FloatAttr::get(type, -1.0));
      zero = builder.create<arith::ConstantOp>(loc, FloatAttr::get(type, 0.0));
    } else {
      minusOne = builder.create<arith::ConstantOp>(loc, IntegerAttr::get(type, -1));
      zero = builder.create<arith::ConstantOp>(loc, IntegerAttr::get(type, 0));
    }
    return builder.create<arith::SelectOp>(loc, input, minusOne, zero);
  }
  if (isa<arith::TruncIOp>(op) && type.isInteger(1)) {
    Value one = builder.create<arith::ConstantOp>(loc, IntegerAttr::get(input.getType(), 1));
    Value zero = builder.create<arith::ConstantOp>(loc, IntegerAttr::get(input.getType(), 0));
    Value bit = builder.create<arith::AndIOp>(loc, input, one);
    return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, bit, zero);
  }
  return nullptr;
}

bool isLocal(Value buffer) { return tile::scopeOf(buffer) == tile::Scope::Local; }

/// Buffers of scalar variables stored somewhere inside `op`.
void collectVariableStores(Operation *op, DenseSet<Value> &variables) {
  op->walk([&](tile::StoreOp store) {
    if (isLocal(store.getBuffer()))
      variables.insert(store.getBuffer());
  });
}

/// Loads of scalar variables see the last store of the same block; stores that nobody can see go.
void forwardVariables(Block &block, tile::ParallelOp root) {
  DenseMap<Value, Value> known;
  DenseMap<Value, tile::StoreOp> unread;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto load = dyn_cast<tile::LoadOp>(op); load && isLocal(load.getBuffer())) {
      if (Value value = known.lookup(load.getBuffer())) {
        load.replaceAllUsesWith(value);
        load.erase();
      } else {
        unread.erase(load.getBuffer());
        known[load.getBuffer()] = load.getResult();
      }
      continue;
    }
    if (auto store = dyn_cast<tile::StoreOp>(op); store && isLocal(store.getBuffer())) {
      if (tile::StoreOp previous = unread.lookup(store.getBuffer()))
        previous.erase();
      known[store.getBuffer()] = store.getValue();
      unread[store.getBuffer()] = store;
      continue;
    }
    if (op.getNumRegions() == 0)
      continue;
    DenseSet<Value> stored;
    collectVariableStores(&op, stored);
    for (Value variable : stored)
      known.erase(variable);
    unread.clear();
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        forwardVariables(inner, root);
  }
}

/// Removes variables that are written but never read anywhere.
void dropUnreadVariables(tile::ParallelOp root) {
  SmallVector<tile::AllocOp> allocs;
  root.walk([&](tile::StoreOp store) {
    auto alloc = store.getBuffer().getDefiningOp<tile::AllocOp>();
    if (alloc && isLocal(alloc) && !llvm::is_contained(allocs, alloc))
      allocs.push_back(alloc);
  });
  for (tile::AllocOp alloc : allocs) {
    bool written = llvm::all_of(alloc->getUsers(), [&](Operation *user) {
      auto store = dyn_cast<tile::StoreOp>(user);
      return store && store.getBuffer() == alloc.getResult() && root->isProperAncestor(user);
    });
    if (!written)
      continue;
    for (Operation *user : llvm::make_early_inc_range(alloc->getUsers()))
      user->erase();
  }
}

bool isPureRegion(Region &region) {
  for (Block &block : region)
    for (Operation &op : block)
      if (!isa<scf::YieldOp>(op) && (op.getNumRegions() != 0 || !isMemoryEffectFree(&op)))
        return false;
  return true;
}

/// What the ranges of both sides say of a comparison.
std::optional<bool> decided(arith::CmpIOp op) {
  std::optional<Bounds> a = rangeOf(op.getLhs()), b = rangeOf(op.getRhs());
  if (!a || !b)
    return std::nullopt;
  auto whether = [](bool always, bool never) {
    return always || never ? std::optional<bool>(always) : std::nullopt;
  };
  using P = arith::CmpIPredicate;
  bool apart = a->high < b->low || b->high < a->low;
  bool same = a->low == a->high && b->low == b->high && a->low == b->low;
  switch (op.getPredicate()) {
  case P::eq:
    return whether(same, apart);
  case P::ne:
    return whether(apart, same);
  case P::slt:
    return whether(a->high < b->low, a->low >= b->high);
  case P::sle:
    return whether(a->high <= b->low, a->low > b->high);
  case P::sgt:
    return whether(a->low > b->high, a->high <= b->low);
  case P::sge:
    return whether(a->low >= b->high, a->high < b->low);
  default:
    return std::nullopt;
  }
}

/// A branch that is always taken, or never, whose boxes need not even exist.
void takeBranch(scf::IfOp op, bool isTrue) {
  Region &taken = isTrue ? op.getThenRegion() : op.getElseRegion();
  if (!taken.empty()) {
    Block &block = taken.front();
    op.replaceAllUsesWith(block.getTerminator()->getOperands());
    op->getBlock()->getOperations().splice(op->getIterator(), block.getOperations(), block.begin(),
                                           std::prev(block.end()));
  }
  op.erase();
}

/// A choice between two equal constants.
bool hasOneChoice(Operation *op) {
  auto select = dyn_cast<arith::SelectOp>(op);
  std::optional<int64_t> chosen = select ? tile::constantOf(select.getTrueValue()) : std::nullopt;
  return chosen && chosen == tile::constantOf(select.getFalseValue());
}

/// Conditions that always hold, or never: of edges that no block meets.
void foldDecided(tile::ParallelOp root) {
  SmallVector<Operation *> work;
  root.walk([&](Operation *op) {
    if (isa<arith::CmpIOp, arith::SelectOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
      work.push_back(op);
  });
  for (Operation *op : work) {
    OpBuilder builder(op);
    SmallVector<Value> folded;
    if (op->hasTrait<OpTrait::IsCommutative>() && tile::constantOf(op->getOperand(0)))
      op->setOperands({op->getOperand(1), op->getOperand(0)}); // folds look for one on the right
    if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
      if (std::optional<bool> known = decided(compare))
        folded.push_back(builder.create<arith::ConstantIntOp>(op->getLoc(), *known, 1));
    } else if (hasOneChoice(op)) {
      folded.push_back(op->getOperand(1));
    } else if (failed(builder.tryFold(op, folded))) {
      continue;
    }
    if (folded.empty())
      continue;
    op->getResult(0).replaceAllUsesWith(folded.front());
    op->erase();
  }
  SmallVector<scf::IfOp> branches;
  root.walk([&](scf::IfOp op) { branches.push_back(op); }); // inner ones first
  for (scf::IfOp op : branches)
    if (std::optional<int64_t> condition = tile::constantOf(op.getCondition()))
      takeBranch(op, *condition != 0);
}

} // namespace

void simplifyBody(tile::ParallelOp root) {
  SmallVector<Operation *> work;
  root.walk([&](Operation *op) { work.push_back(op); });
  for (Operation *op : work) {
    OpBuilder builder(op);
    if (Value value = expand(builder, op)) {
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
    }
  }
  narrowIndices(root);
  forwardVariables(root.getBody().front(), root);
  dropUnreadVariables(root);
  foldDecided(root);
}

void simplifyBranches(tile::ParallelOp root, llvm::function_ref<bool(Value)> varies) {
  SmallVector<scf::IfOp> branches;
  root.walk([&](scf::IfOp op) { branches.push_back(op); }); // inner ones first
  for (scf::IfOp op : branches) {
    if (!varies(op.getCondition()) || !isPureRegion(op.getThenRegion()) ||
        !isPureRegion(op.getElseRegion()))
      continue;
    OpBuilder builder(op);
    if (op.getNumResults()) {
      SmallVector<Value> onTrue(op.thenYield().getOperands()),
          onFalse(op.elseYield().getOperands());
      for (Region *region : {&op.getThenRegion(), &op.getElseRegion()}) {
        Block &block = region->front();
        op->getBlock()->getOperations().splice(op->getIterator(), block.getOperations(),
                                               block.begin(), std::prev(block.end()));
      }
      for (auto [result, a, b] : llvm::zip(op.getResults(), onTrue, onFalse))
        result.replaceAllUsesWith(
            builder.create<arith::SelectOp>(op.getLoc(), op.getCondition(), a, b));
    }
    op.erase();
  }
  SmallVector<arith::SelectOp> selects;
  root.walk([&](arith::SelectOp op) { selects.push_back(op); });
  for (arith::SelectOp op : selects) {
    if (!op.getType().isInteger(1) || !op.getCondition().getType().isInteger(1))
      continue;
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Value c = op.getCondition();
    Value isTrue = builder.create<arith::AndIOp>(loc, c, op.getTrueValue());
    Value inverse =
        builder.create<arith::XOrIOp>(loc, c, builder.create<arith::ConstantIntOp>(loc, 1, 1));
    auto onTrue = tile::constantOf(op.getTrueValue()),
         onFalse = tile::constantOf(op.getFalseValue());
    Value isFalse = builder.create<arith::AndIOp>(loc, inverse, op.getFalseValue());
    Value result;
    if (onFalse && *onFalse == 0)
      result = isTrue;
    else if (onTrue && *onTrue != 0)
      result = builder.create<arith::OrIOp>(loc, c, op.getFalseValue());
    else
      result = builder.create<arith::OrIOp>(loc, isTrue, isFalse);
    op.replaceAllUsesWith(result);
    op.erase();
  }
}

//===-- Bounds --------------------------------------------------------------------------------===//

std::optional<int64_t> upperBound(Value value) {
  if (auto constant = tile::constantOf(value))
    return constant;
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  auto both = [&](auto combine) -> std::optional<int64_t> {
    auto a = upperBound(op->getOperand(0)), b = upperBound(op->getOperand(1));
    return a && b ? std::optional<int64_t>(combine(*a, *b)) : std::nullopt;
  };
  return TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case<arith::MinSIOp>([&](Operation *) -> std::optional<int64_t> {
        auto a = upperBound(op->getOperand(0)), b = upperBound(op->getOperand(1));
        return a && b ? std::optional<int64_t>(std::min(*a, *b)) : a ? a : b;
      })
      .Case<arith::MaxSIOp>(
          [&](Operation *) { return both([](int64_t a, int64_t b) { return std::max(a, b); }); })
      .Case<arith::AddIOp>(
          [&](Operation *) { return both([](int64_t a, int64_t b) { return a + b; }); })
      .Case<arith::SubIOp>([&](Operation *) -> std::optional<int64_t> {
        auto a = upperBound(op->getOperand(0)), b = tile::constantOf(op->getOperand(1));
        return a && b ? std::optional<int64_t>(*a - *b) : std::nullopt;
      })
      .Case<arith::SelectOp>([&](arith::SelectOp select) -> std::optional<int64_t> {
        auto a = upperBound(select.getTrueValue()), b = upperBound(select.getFalseValue());
        return a && b ? std::optional<int64_t>(std::max(*a, *b)) : std::nullopt;
      })
      .Case<arith::RemSIOp, arith::RemUIOp>([&](Operation *) -> std::optional<int64_t> {
        auto b = tile::constantOf(op->getOperand(1));
        return b && *b > 0 ? std::optional<int64_t>(*b - 1) : std::nullopt;
      })
      .Case<arith::IndexCastOp, arith::ExtSIOp>([&](Operation *) {
        return mayWrap(op->getResult(0).getType()) ? std::nullopt : upperBound(op->getOperand(0));
      })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<int64_t> boundByTiles(tile::ParallelOp op, unsigned dim) {
  std::optional<int64_t> bound;
  Value iv = op.getBody().getArgument(dim);
  auto use = [&](Value buffer, ValueRange indices) {
    if (!tile::isOnChip(tile::scopeOf(buffer)))
      return;
    for (auto [index, extent] : llvm::zip(indices, cast<MemRefType>(buffer.getType()).getShape())) {
      Value base = index;
      while (auto add = base.getDefiningOp<arith::AddIOp>())
        base = add.getLhs() == iv || add.getRhs() == iv ? iv : add.getLhs();
      while (auto cast = base.getDefiningOp<arith::IndexCastOp>())
        base = cast.getIn();
      // Every lane runs this op, so index iv + x with x >= 0 stays below the tile's extent.
      if (base == iv && index == iv)
        bound = bound ? std::min(*bound, extent) : extent;
    }
  };
  for (Operation &inner : op.getBody().front()) {
    if (auto load = dyn_cast<tile::LoadOp>(inner))
      use(load.getBuffer(), load.getIndices());
    if (auto store = dyn_cast<tile::StoreOp>(inner))
      use(store.getBuffer(), store.getIndices());
  }
  return bound;
}

//===-- Index arithmetic and temporaries ------------------------------------------------------===//

Value IndexMath::constant(int64_t value) {
  Value &known = constants[value];
  if (!known) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(top);
    known = builder.create<arith::ConstantIndexOp>(location, value);
  }
  return known;
}

Value IndexMath::add(Value a, Value b) {
  auto x = tile::constantOf(a), y = tile::constantOf(b);
  if (x && y)
    return constant(*x + *y);
  if (x && *x == 0)
    return b;
  if (y && *y == 0)
    return a;
  // (z + c1) + c2, (z - y) + y
  if (auto inner = a.getDefiningOp<arith::AddIOp>(); inner && y)
    if (auto c = tile::constantOf(inner.getRhs()))
      return add(inner.getLhs(), constant(*c + *y));
  if (auto inner = a.getDefiningOp<arith::SubIOp>(); inner && inner.getRhs() == b)
    return inner.getLhs();
  if (x)
    std::swap(a, b);
  return builder.create<arith::AddIOp>(location, a, b);
}

Value IndexMath::sub(Value a, Value b) {
  auto y = tile::constantOf(b);
  if (a == b)
    return constant(0);
  if (y)
    return add(a, constant(-*y));
  if (auto inner = a.getDefiningOp<arith::AddIOp>()) {
    if (inner.getLhs() == b)
      return inner.getRhs();
    if (inner.getRhs() == b)
      return inner.getLhs();
  }
  return builder.create<arith::SubIOp>(location, a, b);
}

Value IndexMath::mul(Value a, int64_t factor) {
  if (auto x = tile::constantOf(a))
    return constant(*x * factor);
  if (factor == 1)
    return a;
  if (factor == 0)
    return constant(0);
  return builder.create<arith::MulIOp>(location, a, constant(factor));
}

/// The one of two that is never the larger, as far as their ranges tell; null when they do not.
static Value smaller(Value a, Value b) {
  std::optional<Bounds> ofA = rangeOf(a), ofB = rangeOf(b);
  if (!ofA || !ofB)
    return {};
  return ofA->high <= ofB->low ? a : ofB->high <= ofA->low ? b : Value();
}

Value IndexMath::min(Value a, Value b) {
  auto x = tile::constantOf(a), y = tile::constantOf(b);
  if (a == b)
    return a;
  if (x && y)
    return constant(std::min(*x, *y));
  if (auto known = smaller(a, b))
    return known;
  return builder.create<arith::MinSIOp>(location, a, b);
}

Value IndexMath::max(Value a, Value b) {
  auto x = tile::constantOf(a), y = tile::constantOf(b);
  if (a == b)
    return a;
  if (x && y)
    return constant(std::max(*x, *y));
  if (auto known = smaller(a, b))
    return known == a ? b : a;
  return builder.create<arith::MaxSIOp>(location, a, b);
}

Value IndexMath::toIndex(Value scalar) {
  if (scalar.getType().isIndex())
    return scalar;
  if (auto known = tile::constantOf(scalar))
    return constant(*known);
  return builder.create<arith::IndexCastOp>(location, builder.getIndexType(), scalar);
}

Value LaunchState::temporary(Location location, ArrayRef<int64_t> shape, Type element) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(lastOfPrologue);
  auto scope = tile::ScopeAttr::get(builder.getContext(), tile::Scope::UB);
  auto type = MemRefType::get(shape, element, MemRefLayoutAttrInterface(), scope);
  auto alloc = builder.create<tile::AllocOp>(location, type, "tmp");
  lastOfPrologue = alloc;
  return alloc;
}

Value LaunchState::trueConstant() {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(top);
  return builder.create<arith::ConstantIntOp>(math.location, 1, 1);
}

Value LaunchState::iota(Location location, ArrayRef<int64_t> shape, ArrayRef<int64_t> coefs,
                        Type element) {
  std::pair<Type, SmallVector<int64_t, 8>> key(element, SmallVector<int64_t, 8>(shape));
  key.second.append(coefs.begin(), coefs.end());
  for (auto &[known, tile] : iotas)
    if (known == key)
      return tile;
  Value tile = temporary(location, shape, element);
  SmallVector<Value> offsets(shape.size(), math.constant(0)), sizes, steps;
  for (auto [extent, coef] : llvm::zip(shape, coefs)) {
    sizes.push_back(math.constant(extent));
    steps.push_back(math.constant(coef));
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(lastOfPrologue);
  lastOfPrologue =
      builder.create<tile::IotaOp>(location, tile, offsets, sizes, math.constant(0), steps);
  iotas.emplace_back(key, tile);
  return tile;
}

} // namespace tilewright::passes::vectorize
