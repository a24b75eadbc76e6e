// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar arithmetic: which op of arith or math a function of the language becomes.
#include "tilewright/builder/BuilderImpl.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::builder {

namespace {

enum class Kind {
  Add,
  Sub,
  Mul,
  Div,
  FloorDiv,
  FloorMod,
  TruncDiv,
  TruncMod,
  CeilDiv,
  Max,
  Min,
  MaxNum,
  MinNum,
  And,
  Or,
  Xor,
  Shl,
  Shr,
  Pow,
  Compare,
  Unknown
};

Kind kindOf(StringRef function) {
  return llvm::StringSwitch<Kind>(function)
      .Case("add", Kind::Add)
      .Case("sub", Kind::Sub)
      .Case("mul", Kind::Mul)
      .Case("div", Kind::Div)
      .Case("floordiv", Kind::FloorDiv)
      .Case("floormod", Kind::FloorMod)
      .Case("truncdiv", Kind::TruncDiv)
      .Case("truncmod", Kind::TruncMod)
      .Case("ceildiv", Kind::CeilDiv)
      .Case("max", Kind::Max)
      .Case("min", Kind::Min)
      .Case("maxnum", Kind::MaxNum)
      .Case("minnum", Kind::MinNum)
      .Case("and", Kind::And)
      .Case("or", Kind::Or)
      .Case("xor", Kind::Xor)
      .Case("shl", Kind::Shl)
      .Case("shr", Kind::Shr)
      .Case("pow", Kind::Pow)
      .Cases("eq", "ne", "lt", "le", "gt", "ge", Kind::Compare)
      .Default(Kind::Unknown);
}

using Range = std::pair<int64_t, int64_t>;

bool bounded(const Value &value) { return value.low != kLow && value.high != kHigh; }

/// Bounds of an integer result; unknown where a product or sum could leave 64 bits.
Range rangeOf(Kind kind, const Value &left, const Value &right) {
  Range unknown{kLow, kHigh};
  auto corners = [&](auto apply) -> Range {
    Range found{kHigh, kLow};
    for (int64_t a : {left.low, left.high})
      for (int64_t b : {right.low, right.high}) {
        int64_t value;
        if (apply(a, b, &value))
          return unknown;
        found = {std::min(found.first, value), std::max(found.second, value)};
      }
    return found;
  };
  switch (kind) {
  case Kind::Add:
  case Kind::Sub:
  case Kind::Mul:
    if (bounded(left) && bounded(right))
      return corners([&](int64_t a, int64_t b, int64_t *out) {
        return kind == Kind::Add   ? __builtin_add_overflow(a, b, out)
               : kind == Kind::Sub ? __builtin_sub_overflow(a, b, out)
                                   : __builtin_mul_overflow(a, b, out);
      });
    if (kind != Kind::Sub && left.low >= 0 && right.low >= 0)
      return {0, kHigh};
    return unknown;
  case Kind::FloorDiv:
  case Kind::TruncDiv:
    if (left.low >= 0 && right.low > 0)
      return {right.high == kHigh ? 0 : left.low / right.high,
              left.high == kHigh ? kHigh : left.high / right.low};
    return unknown;
  case Kind::FloorMod:
    if (right.low > 0 && right.high != kHigh)
      return {0, right.high - 1};
    return right.low > 0 ? Range{0, kHigh} : unknown;
  case Kind::Max:
  case Kind::MaxNum:
    return {std::max(left.low, right.low), std::max(left.high, right.high)};
  case Kind::Min:
  case Kind::MinNum:
    return {std::min(left.low, right.low), std::min(left.high, right.high)};
  default:
    return unknown;
  }
}

bool fits(int64_t value, DType type) {
  int bits = bitsOf(type);
  if (type == DType::Bool)
    return value == 0 || value == 1;
  if (bits == 64)
    return !isUnsigned(type) || value >= 0;
  return isUnsigned(type)
             ? value >= 0 && value < (int64_t(1) << bits)
             : value >= -(int64_t(1) << (bits - 1)) && value < (int64_t(1) << (bits - 1));
}

} // namespace

/// The type in which both operands meet; Python numbers adopt the other operand's type where they
/// fit.
DType KernelBuilder::Impl::commonType(const Value &left, const Value &right) {
  if (left.weak == right.weak)
    return promote(left.dtype, right.dtype);
  const Value &number = left.weak ? left : right, &other = left.weak ? right : left;
  if (isFloat(other.dtype))
    return other.dtype;
  if (isFloat(number.dtype))
    return DType::Float32;
  if (number.dtype == DType::Bool ||
      (other.dtype != DType::Bool && fits(number.integer, other.dtype)))
    return other.dtype;
  return promote(other.dtype, number.dtype);
}

Value KernelBuilder::Impl::binary(StringRef function, const Value &left, const Value &right) {
  Kind kind = kindOf(function);
  if (kind == Kind::Unknown)
    fail("E0799: unknown function '" + function + "'");
  if (kind == Kind::Compare)
    return compare(function, left, right);
  DType type = commonType(left, right);
  bool bits = kind == Kind::And || kind == Kind::Or || kind == Kind::Xor;
  if (bits && isFloat(type))
    fail("E0204: bitwise " + function + " of a " + llvm::StringRef(builder::nameOf(left.dtype)) +
         " and a " + llvm::StringRef(builder::nameOf(right.dtype)) +
         "; integers or conditions are needed: use T.And, T.Or or T.reinterpret");
  if (kind == Kind::Div && !isFloat(type)) // true division of integers
    type = bitsOf(type) == 64 && !left.weak && !right.weak ? DType::Float64 : DType::Float32;
  if (type == DType::Bool && !bits)
    type = DType::Int32;
  return isFloat(type) ? floatBinary(function, left, right, type)
                       : integerBinary(function, left, right, type);
}

Value KernelBuilder::Impl::integerBinary(StringRef function, const Value &left, const Value &right,
                                         DType type) {
  Kind kind = kindOf(function);
  if (right.isConstant() && right.integer == 0 &&
      (kind == Kind::FloorDiv || kind == Kind::FloorMod || kind == Kind::TruncDiv ||
       kind == Kind::TruncMod || kind == Kind::CeilDiv))
    fail("E0205: division by the constant 0");
  if (kind == Kind::CeilDiv) { // (a + b - 1) // b
    Value one = Value::number(int64_t(1));
    return binary("floordiv", binary("add", left, binary("sub", right, one)), right);
  }
  bool asIndex = type == DType::Int32 && (isIndex(left) || isIndex(right));
  mlir::Value a = convert(left, type, asIndex), b = convert(right, type, asIndex);
  Location loc = location;
  bool nonNegative = left.low >= 0 && right.low >= 0 && !isUnsigned(type);
  auto [low, high] = rangeOf(kind, left, right);
  mlir::Value result;
  switch (kind) {
  case Kind::Add:
    result = builder.createOrFold<arith::AddIOp>(loc, a, b);
    break;
  case Kind::Sub:
    result = builder.createOrFold<arith::SubIOp>(loc, a, b);
    break;
  case Kind::Mul:
    result = builder.createOrFold<arith::MulIOp>(loc, a, b);
    break;
  case Kind::FloorDiv:
  case Kind::TruncDiv:
    if (isUnsigned(type))
      result = builder.createOrFold<arith::DivUIOp>(loc, a, b);
    else if (nonNegative || kind == Kind::TruncDiv)
      result = builder.createOrFold<arith::DivSIOp>(loc, a, b);
    else
      result = builder.createOrFold<arith::FloorDivSIOp>(loc, a, b);
    break;
  case Kind::FloorMod:
  case Kind::TruncMod:
    if (left.low >= 0 && left.high < right.low) { // already smaller
      result = a;
      low = left.low;
      high = left.high;
    } else if (isUnsigned(type)) {
      result = builder.createOrFold<arith::RemUIOp>(loc, a, b);
    } else if (nonNegative || kind == Kind::TruncMod) {
      result = builder.createOrFold<arith::RemSIOp>(loc, a, b);
    } else {
      mlir::Value quotient = builder.createOrFold<arith::FloorDivSIOp>(loc, a, b);
      if (!right.isConstant() && quotient.getDefiningOp())
        faulting.insert(quotient.getDefiningOp());
      result = builder.createOrFold<arith::SubIOp>(
          loc, a, builder.createOrFold<arith::MulIOp>(loc, quotient, b));
    }
    break;
  case Kind::Max:
  case Kind::MaxNum:
    result = isUnsigned(type) ? builder.createOrFold<arith::MaxUIOp>(loc, a, b)
                              : builder.createOrFold<arith::MaxSIOp>(loc, a, b);
    break;
  case Kind::Min:
  case Kind::MinNum:
    result = isUnsigned(type) ? builder.createOrFold<arith::MinUIOp>(loc, a, b)
                              : builder.createOrFold<arith::MinSIOp>(loc, a, b);
    break;
  case Kind::And:
    result = builder.createOrFold<arith::AndIOp>(loc, a, b);
    break;
  case Kind::Or:
    result = builder.createOrFold<arith::OrIOp>(loc, a, b);
    break;
  case Kind::Xor:
    result = builder.createOrFold<arith::XOrIOp>(loc, a, b);
    break;
  case Kind::Shl:
    result = builder.createOrFold<arith::ShLIOp>(loc, a, b);
    break;
  case Kind::Shr:
    result = isUnsigned(type) ? builder.createOrFold<arith::ShRUIOp>(loc, a, b)
                              : builder.createOrFold<arith::ShRSIOp>(loc, a, b);
    break;
  case Kind::Pow:
    result = builder.createOrFold<math::IPowIOp>(loc, convert(left, type), convert(right, type));
    break;
  default:
    fail("E0204: function '" + function + "' is not defined on integers");
  }
  Operation *op = result.getDefiningOp();
  if (!right.isConstant() && isa_and_nonnull<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
                                             arith::RemSIOp, arith::RemUIOp>(op))
    faulting.insert(op);
  return wrap(result, type, low, high);
}

/// A constant NaN. The folder of maxnumf and minnumf lets it win, where the operation lets the
/// number.
static bool isNaN(mlir::Value value) {
  FloatAttr constant;
  return matchPattern(value, m_Constant(&constant)) && constant.getValue().isNaN();
}

Value KernelBuilder::Impl::floatBinary(StringRef function, const Value &left, const Value &right,
                                       DType type) {
  Kind kind = kindOf(function);
  Location loc = location;
  if (kind == Kind::Pow && right.isConstant()) {
    double power = isFloat(right.dtype) ? right.real : static_cast<double>(right.integer);
    if (power == 1.0)
      return cast(left, type);
    if (power == 2.0)
      return floatBinary("mul", left, left, type);
    if (power == 0.5)
      return unary("sqrt", cast(left, type));
  }
  mlir::Value a = toCompute(left, type), b = toCompute(right, type), result;
  switch (kind) {
  case Kind::Add:
    result = builder.createOrFold<arith::AddFOp>(loc, a, b);
    break;
  case Kind::Sub:
    result = builder.createOrFold<arith::SubFOp>(loc, a, b);
    break;
  case Kind::Mul:
    result = builder.createOrFold<arith::MulFOp>(loc, a, b);
    break;
  case Kind::Div:
    result = builder.createOrFold<arith::DivFOp>(loc, a, b);
    break;
  case Kind::FloorDiv:
    result =
        builder.createOrFold<math::FloorOp>(loc, builder.createOrFold<arith::DivFOp>(loc, a, b));
    break;
  case Kind::TruncDiv:
    result =
        builder.createOrFold<math::TruncOp>(loc, builder.createOrFold<arith::DivFOp>(loc, a, b));
    break;
  case Kind::TruncMod:
    result = builder.createOrFold<arith::RemFOp>(loc, a, b);
    break;
  case Kind::FloorMod: {
    mlir::Value quotient =
        builder.createOrFold<math::FloorOp>(loc, builder.createOrFold<arith::DivFOp>(loc, a, b));
    result = builder.createOrFold<arith::SubFOp>(
        loc, a, builder.createOrFold<arith::MulFOp>(loc, quotient, b));
    break;
  }
  case Kind::Max:
    result = builder.createOrFold<arith::MaximumFOp>(loc, a, b);
    break;
  case Kind::Min:
    result = builder.createOrFold<arith::MinimumFOp>(loc, a, b);
    break;
  case Kind::MaxNum:
    result = isNaN(a) ? b : isNaN(b) ? a : builder.createOrFold<arith::MaxNumFOp>(loc, a, b);
    break;
  case Kind::MinNum:
    result = isNaN(a) ? b : isNaN(b) ? a : builder.createOrFold<arith::MinNumFOp>(loc, a, b);
    break;
  case Kind::Pow:
    result = builder.createOrFold<math::PowFOp>(loc, a, b);
    break;
  case Kind::CeilDiv:
    result =
        builder.createOrFold<math::CeilOp>(loc, builder.createOrFold<arith::DivFOp>(loc, a, b));
    break;
  default:
    fail("E0204: function '" + function + "' is not defined on " +
         llvm::StringRef(builder::nameOf(type)) +
         "; convert to an integer type first, for example T.cast(x, \"int32\")");
  }
  return wrap(result, type);
}

Value KernelBuilder::Impl::compare(StringRef function, const Value &left, const Value &right) {
  DType type = commonType(left, right);
  Location loc = location;
  if (isFloat(type)) {
    auto predicate = llvm::StringSwitch<arith::CmpFPredicate>(function)
                         .Case("eq", arith::CmpFPredicate::OEQ)
                         .Case("ne", arith::CmpFPredicate::UNE)
                         .Case("lt", arith::CmpFPredicate::OLT)
                         .Case("le", arith::CmpFPredicate::OLE)
                         .Case("gt", arith::CmpFPredicate::OGT)
                         .Default(arith::CmpFPredicate::OGE);
    return wrap(builder.createOrFold<arith::CmpFOp>(loc, predicate, toCompute(left, type),
                                                    toCompute(right, type)),
                DType::Bool, 0, 1);
  }
  bool isSigned = !isUnsigned(type) && type != DType::Bool;
  auto predicate = llvm::StringSwitch<arith::CmpIPredicate>(function)
                       .Case("eq", arith::CmpIPredicate::eq)
                       .Case("ne", arith::CmpIPredicate::ne)
                       .Case("lt", isSigned ? arith::CmpIPredicate::slt : arith::CmpIPredicate::ult)
                       .Case("le", isSigned ? arith::CmpIPredicate::sle : arith::CmpIPredicate::ule)
                       .Case("gt", isSigned ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::ugt)
                       .Default(isSigned ? arith::CmpIPredicate::sge : arith::CmpIPredicate::uge);
  bool asIndex = type == DType::Int32 && (isIndex(left) || isIndex(right));
  return wrap(builder.createOrFold<arith::CmpIOp>(loc, predicate, convert(left, type, asIndex),
                                                  convert(right, type, asIndex)),
              DType::Bool, 0, 1);
}

/// One-operand ops of `math` by name; null for names handled otherwise.
static mlir::Value mathOp(OpBuilder &builder, Location loc, StringRef function, mlir::Value x) {
  return llvm::StringSwitch<llvm::function_ref<mlir::Value()>>(function)
      .Case("abs", [&]() -> mlir::Value { return builder.createOrFold<math::AbsFOp>(loc, x); })
      .Case("exp", [&]() -> mlir::Value { return builder.createOrFold<math::ExpOp>(loc, x); })
      .Case("exp2", [&]() -> mlir::Value { return builder.createOrFold<math::Exp2Op>(loc, x); })
      .Case("log", [&]() -> mlir::Value { return builder.createOrFold<math::LogOp>(loc, x); })
      .Case("log2", [&]() -> mlir::Value { return builder.createOrFold<math::Log2Op>(loc, x); })
      .Case("log10", [&]() -> mlir::Value { return builder.createOrFold<math::Log10Op>(loc, x); })
      .Case("log1p", [&]() -> mlir::Value { return builder.createOrFold<math::Log1pOp>(loc, x); })
      .Case("sqrt", [&]() -> mlir::Value { return builder.createOrFold<math::SqrtOp>(loc, x); })
      .Case("rsqrt", [&]() -> mlir::Value { return builder.createOrFold<math::RsqrtOp>(loc, x); })
      .Case("sin", [&]() -> mlir::Value { return builder.createOrFold<math::SinOp>(loc, x); })
      .Case("cos", [&]() -> mlir::Value { return builder.createOrFold<math::CosOp>(loc, x); })
      .Case("tan", [&]() -> mlir::Value { return builder.createOrFold<math::TanOp>(loc, x); })
      .Case("tanh", [&]() -> mlir::Value { return builder.createOrFold<math::TanhOp>(loc, x); })
      .Case("erf", [&]() -> mlir::Value { return builder.createOrFold<math::ErfOp>(loc, x); })
      .Case("floor", [&]() -> mlir::Value { return builder.createOrFold<math::FloorOp>(loc, x); })
      .Case("ceil", [&]() -> mlir::Value { return builder.createOrFold<math::CeilOp>(loc, x); })
      .Case("round", [&]() -> mlir::Value { return builder.createOrFold<math::RoundOp>(loc, x); })
      .Case("rint",
            [&]() -> mlir::Value { return builder.createOrFold<math::RoundEvenOp>(loc, x); })
      .Case("trunc", [&]() -> mlir::Value { return builder.createOrFold<math::TruncOp>(loc, x); })
      .Case("neg", [&]() -> mlir::Value { return builder.createOrFold<arith::NegFOp>(loc, x); })
      .Default([]() -> mlir::Value { return {}; })();
}

Value KernelBuilder::Impl::unary(StringRef function, const Value &operand) {
  Location loc = location;
  DType type = operand.dtype;
  if (function == "not") {
    if (isFloat(type))
      fail("E0204: `~` or T.Not of a " + llvm::StringRef(builder::nameOf(type)) +
           "; an integer or a condition is needed");
    Value ones =
        type == DType::Bool ? Value::typed(int64_t(1), type) : Value::typed(int64_t(-1), type);
    if (type == DType::Bool || !isIndex(operand))
      return wrap(
          builder.createOrFold<arith::XOrIOp>(loc, convert(operand, type), convert(ones, type)),
          type);
    return binary("sub", Value::number(int64_t(-1)), operand);
  }
  if (!isFloat(type)) {
    if (function == "neg")
      return binary("sub", Value::number(int64_t(0)), operand);
    if (function == "abs") {
      if (isUnsigned(type) || type == DType::Bool || operand.low >= 0)
        return operand;
      return isIndex(operand)
                 ? binary("max", operand, binary("sub", Value::number(int64_t(0)), operand))
                 : wrap(builder.createOrFold<math::AbsIOp>(loc, convert(operand, type)), type);
    }
    if (function == "floor" || function == "ceil" || function == "round" || function == "rint" ||
        function == "trunc")
      return operand;
    if (function == "isnan" || function == "isinf" || function == "isfinite")
      return Value::typed(int64_t(function == "isfinite"), DType::Bool);
    return unary(function, cast(operand, bitsOf(type) == 64 ? DType::Float64 : DType::Float32));
  }
  mlir::Value x = toCompute(operand, type);
  Type computed = x.getType();
  auto number = [&](double value) { return constant(builder.getFloatAttr(computed, value)); };
  if (mlir::Value result = mathOp(builder, loc, function, x))
    return wrap(result, type);
  if (function == "isnan")
    return wrap(builder.createOrFold<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, x, x),
                DType::Bool, 0, 1);
  if (function == "isinf" || function == "isfinite") {
    mlir::Value size = builder.createOrFold<math::AbsFOp>(loc, x);
    auto predicate = function == "isinf" ? arith::CmpFPredicate::OEQ : arith::CmpFPredicate::OLT;
    return wrap(builder.createOrFold<arith::CmpFOp>(
                    loc, predicate, size, number(std::numeric_limits<double>::infinity())),
                DType::Bool, 0, 1);
  }
  if (function == "rec")
    return wrap(builder.createOrFold<arith::DivFOp>(loc, number(1.0), x), type);
  if (function == "relu")
    return wrap(builder.createOrFold<arith::MaximumFOp>(loc, x, number(0.0)), type);
  if (function == "exp10")
    return binary("pow", Value::typed(10.0, type), operand);
  if (function == "sigmoid") { // several ops: in f32, rounded once
    Value wide = cast(operand, type == DType::Float64 ? type : DType::Float32);
    Value sum = binary("add", Value::number(1.0), unary("exp", unary("neg", wide)));
    return cast(binary("div", Value::number(1.0), sum), type);
  }
  fail("E0799: unknown function '" + function + "'");
}

//===-- Selection
//--------------------------------------------------------------------------------===//

Value KernelBuilder::Impl::select(const Value &condition, const Value &then,
                                  const Value &otherwise) {
  if (condition.isConstant())
    return (isFloat(condition.dtype) ? condition.real != 0 : condition.integer != 0) ? then
                                                                                     : otherwise;
  DType type = commonType(then, otherwise);
  bool asIndex = type == DType::Int32 && (isIndex(then) || isIndex(otherwise));
  auto pick = [&](const Value &value) {
    return isStorage(type) ? toCompute(value, type) : convert(value, type, asIndex);
  };
  mlir::Value cond = toCondition(condition), a = pick(then), b = pick(otherwise);
  int64_t low = std::min(then.low, otherwise.low), high = std::max(then.high, otherwise.high);
  if (isFloat(type))
    low = kLow, high = kHigh;
  return wrap(builder.createOrFold<arith::SelectOp>(location, cond, a, b), type, low, high);
}

namespace {

/// The operations of one block that a value needs and that depend on a faulting one.
struct FaultySlice {
  Block *block;
  const llvm::DenseSet<Operation *> &faulting;
  llvm::DenseMap<Operation *, bool> seen;
  llvm::SetVector<Operation *> ops; ///< in dependency order

  FaultySlice(Block *block, const llvm::DenseSet<Operation *> &faulting)
      : block(block), faulting(faulting) {}

  /// True when `value` depends on a faulting op of the block.
  bool visit(mlir::Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != block)
      return false;
    if (auto found = seen.find(op); found != seen.end())
      return found->second;
    if (op->getNumRegions() != 0 && !faulting.contains(op))
      return seen[op] = false;
    bool depends = faulting.contains(op);
    for (mlir::Value operand : op->getOperands())
      depends |= visit(operand);
    if (depends)
      ops.insert(op);
    return seen[op] = depends;
  }
};

/// Whether something between the first of `ops` and the end of the block writes memory.
bool writtenSince(llvm::ArrayRef<Operation *> ops, Block *block) {
  Operation *first = ops.front();
  for (Operation *op : ops)
    if (op->isBeforeInBlock(first))
      first = op;
  for (Operation *op = first; op; op = op->getNextNode())
    if (!isMemoryEffectFree(op) && !isa<tile::LoadOp>(op) && !llvm::is_contained(ops, op))
      return true;
  return false;
}

} // namespace

Value KernelBuilder::ifThenElse(const Value &condition, const Value &then, const Value &otherwise) {
  Impl &b = *impl;
  if (condition.isConstant())
    return b.select(condition, then, otherwise);
  Block *block = b.builder.getInsertionBlock();
  FaultySlice slices[2] = {FaultySlice(block, b.faulting), FaultySlice(block, b.faulting)};
  const Value *sides[2] = {&then, &otherwise};
  bool needed = false;
  for (int side = 0; side < 2; ++side)
    if (sides[side]->handle && slices[side].visit(b.raw(*sides[side])))
      needed |= !writtenSince(slices[side].ops.getArrayRef(), block);
  if (!needed)
    return b.select(condition, then, otherwise);

  DType type = b.commonType(then, otherwise);
  bool asIndex = type == DType::Int32 && (b.isIndex(then) || b.isIndex(otherwise));
  Type result = asIndex ? Type(b.builder.getIndexType()) : b.computeType(type);
  mlir::Value cond = b.toCondition(condition);
  auto op =
      b.builder.create<scf::IfOp>(b.location, TypeRange{result}, cond, /*withElseRegion=*/true);
  for (int side = 0; side < 2; ++side) {
    OpBuilder::InsertionGuard guard(b.builder);
    b.builder.setInsertionPointToStart(side == 0 ? op.thenBlock() : op.elseBlock());
    IRMapping mapping;
    for (Operation *original :
         slices[side].ops) // the original is dropped at the end when nothing else needs it
      b.builder.clone(*original, mapping);
    Value value = *sides[side];
    if (value.handle)
      value.handle = mapping.lookupOrDefault(b.raw(value)).getAsOpaquePointer();
    b.builder.create<scf::YieldOp>(b.location, asIndex ? b.convert(value, type, true)
                                                       : b.toCompute(value, type));
  }
  b.faulting.insert(
      op); // it holds reads that must stay guarded when it is itself a side of a choice
  return b.wrap(op.getResult(0), type, isFloat(type) ? kLow : std::min(then.low, otherwise.low),
                isFloat(type) ? kHigh : std::max(then.high, otherwise.high));
}

//===-- Interface
//--------------------------------------------------------------------------------===//

Value KernelBuilder::binary(const std::string &function, const Value &left, const Value &right) {
  return impl->binary(function, left, right);
}
Value KernelBuilder::unary(const std::string &function, const Value &operand) {
  return impl->unary(function, operand);
}
Value KernelBuilder::cast(const Value &value, DType type, const std::string &rounding) {
  return impl->cast(value, type, rounding);
}
Value KernelBuilder::select(const Value &condition, const Value &then, const Value &otherwise) {
  return impl->select(condition, then, otherwise);
}

Value KernelBuilder::bitcast(const Value &value, DType type) {
  if (bitsOf(value.dtype) != bitsOf(type))
    fail("E0208: T.reinterpret from " + llvm::StringRef(builder::nameOf(value.dtype)) + " to " +
         llvm::StringRef(builder::nameOf(type)) + ": both types need the same number of bits");
  mlir::Value from = impl->convert(value, value.dtype);
  return impl->wrap(
      impl->builder.createOrFold<arith::BitcastOp>(impl->location, impl->scalarType(type), from),
      type);
}

Value KernelBuilder::fma(const Value &a, const Value &b, const Value &c) {
  DType type = impl->commonType(a, b);
  Value probe;
  probe.dtype = type;
  type = impl->commonType(probe, c);
  if (!isFloat(type))
    return impl->binary("add", impl->binary("mul", a, b), c);
  return impl->wrap(
      impl->builder.createOrFold<math::FmaOp>(impl->location, impl->toCompute(a, type),
                                              impl->toCompute(b, type), impl->toCompute(c, type)),
      type);
}

Value KernelBuilder::Impl::size(const SizeTokens &tokens) {
  std::vector<Value> stack;
  for (const std::string &token : tokens) {
    StringRef operation = llvm::StringSwitch<StringRef>(token)
                              .Case("+", "add")
                              .Case("-", "sub")
                              .Case("*", "mul")
                              .Case("//", "floordiv")
                              .Case("%", "floormod")
                              .Cases("min", "max", "ceildiv", token)
                              .Default("");
    if (!operation.empty()) {
      Value right = stack.back();
      stack.pop_back();
      stack.back() = binary(operation, stack.back(), right);
      continue;
    }
    int64_t number;
    if (!StringRef(token).getAsInteger(10, number)) {
      stack.push_back(Value::number(number));
      continue;
    }
    auto found = symbolValues.find(token);
    if (found == symbolValues.end()) {
      OpBuilder::InsertionGuard guard(builder);
      if (lastPrologue)
        builder.setInsertionPointAfter(lastPrologue);
      else
        builder.setInsertionPointToStart(&this->function.getBody().front());
      auto op = builder.create<tile::SymbolOp>(location, builder.getIndexType(),
                                               builder.getStringAttr(token));
      lastPrologue = op;
      if (!llvm::is_contained(symbols, token))
        symbols.push_back(token);
      found = symbolValues.emplace(token, wrap(op.getResult(), DType::Int32, 0, kHigh)).first;
    }
    stack.push_back(found->second);
  }
  return stack.back();
}

Value KernelBuilder::size(const SizeTokens &tokens) { return impl->size(tokens); }

} // namespace tilewright::builder
