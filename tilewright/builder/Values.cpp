// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types, promotion, constants and conversions of scalars.
#include "tilewright/builder/BuilderImpl.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/APFloat.h"

#include <cmath>

using namespace mlir;

namespace tilewright::builder {

void fail(const llvm::Twine &message) { throw BuildError(message.str()); }

//===-- Types
//------------------------------------------------------------------------------------===//

static constexpr std::string_view kNames[] = {
    "bool",   "int8",          "int16",       "int32",   "int64",    "uint8",   "uint16", "uint32",
    "uint64", "float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "float32", "float64"};

std::string_view nameOf(DType type) { return kNames[static_cast<size_t>(type)]; }

DType parseDType(std::string_view name) {
  for (size_t index = 0; index < std::size(kNames); ++index)
    if (kNames[index] == name)
      return static_cast<DType>(index);
  throw BuildError("E0201: element type " + std::string(name) +
                   " is not supported; allowed are bool, int8 to int64, uint8 to uint64, "
                   "float8_e4m3fn, float8_e5m2, float16, bfloat16, float32 and float64");
}

bool isFloat(DType type) { return type >= DType::Float8E4M3FN; }
bool isUnsigned(DType type) { return type >= DType::UInt8 && type <= DType::UInt64; }

bool isStorage(DType type) {
  return type >= DType::Float8E4M3FN && type <= DType::BFloat16 && type != DType::Float16;
}

int bitsOf(DType type) {
  static constexpr int kBits[] = {1, 8, 16, 32, 64, 8, 16, 32, 64, 8, 8, 16, 16, 32, 64};
  return kBits[static_cast<size_t>(type)];
}

static DType signedType(int bits) {
  return bits <= 8    ? DType::Int8
         : bits <= 16 ? DType::Int16
         : bits <= 32 ? DType::Int32
                      : DType::Int64;
}

DType promote(DType left, DType right) {
  if (left == right)
    return left;
  if (isFloat(left) != isFloat(right))
    return isFloat(left) ? left : right;
  if (isFloat(left)) {
    if (bitsOf(left) == bitsOf(right)) // bf16 with f16, or both 8-bit floats
      return DType::Float32;
    return bitsOf(left) > bitsOf(right) ? left : right;
  }
  if (left == DType::Bool || right == DType::Bool)
    return left == DType::Bool ? right : left;
  if (isUnsigned(left) == isUnsigned(right))
    return bitsOf(left) > bitsOf(right) ? left : right;
  return signedType(std::max(bitsOf(left), bitsOf(right)));
}

Type KernelBuilder::Impl::scalarType(DType type) {
  switch (type) {
  case DType::Float8E4M3FN:
    return builder.getFloat8E4M3FNType();
  case DType::Float8E5M2:
    return builder.getFloat8E5M2Type();
  case DType::Float16:
    return builder.getF16Type();
  case DType::BFloat16:
    return builder.getBF16Type();
  case DType::Float32:
    return builder.getF32Type();
  case DType::Float64:
    return builder.getF64Type();
  default:
    return builder.getIntegerType(bitsOf(type));
  }
}

Type KernelBuilder::Impl::elementType(DType type) {
  return isUnsigned(type) ? builder.getIntegerType(bitsOf(type), /*isSigned=*/false)
                          : scalarType(type);
}

Type KernelBuilder::Impl::computeType(DType type) {
  return isStorage(type) ? builder.getF32Type() : scalarType(type);
}

//===-- Constants
//--------------------------------------------------------------------------------===//

Value Value::number(bool value) {
  Value result;
  result.dtype = DType::Bool;
  result.weak = true;
  result.integer = result.low = result.high = value;
  result.real = value;
  return result;
}

Value Value::number(int64_t value) {
  Value result;
  result.dtype = value == static_cast<int32_t>(value) ? DType::Int32 : DType::Int64;
  result.weak = true;
  result.integer = result.low = result.high = value;
  result.real = static_cast<double>(value);
  return result;
}

Value Value::number(double value) {
  Value result;
  result.dtype = DType::Float32;
  result.weak = true;
  result.real = value;
  return result;
}

Value Value::typed(double value, DType type) {
  if (!isFloat(type))
    return typed(static_cast<int64_t>(value), type);
  Value result = number(value);
  result.dtype = type;
  result.weak = false;
  return result;
}

Value Value::typed(int64_t value, DType type) {
  if (isFloat(type))
    return typed(static_cast<double>(value), type);
  Value result = number(value);
  result.dtype = type;
  result.weak = false;
  return result;
}

std::optional<int64_t> constantInteger(const Value &value) {
  if (!value.isConstant())
    return std::nullopt;
  if (!isFloat(value.dtype))
    return value.integer;
  if (value.real == std::floor(value.real) && std::abs(value.real) < 9.0e15)
    return static_cast<int64_t>(value.real);
  return std::nullopt;
}

std::string text(const Value &value) {
  if (auto integer = constantInteger(value))
    return std::to_string(*integer);
  return value.isConstant() ? std::to_string(value.real) : "?";
}

std::string text(ArrayRef<Value> sizes) {
  std::string result = "(";
  for (size_t index = 0; index < sizes.size(); ++index)
    result += (index ? ", " : "") + text(sizes[index]);
  return result + ")";
}

/// Constants stand once, first in the function; the location is that of the first use.
mlir::Value KernelBuilder::Impl::constant(TypedAttr attribute) {
  mlir::Value &value = constants[attribute];
  if (value)
    return value;
  OpBuilder::InsertionGuard guard(builder);
  if (lastPrologue)
    builder.setInsertionPointAfter(lastPrologue);
  else
    builder.setInsertionPointToStart(&function.getBody().front());
  auto op = builder.create<arith::ConstantOp>(location, attribute);
  lastPrologue = op;
  return value = op.getResult();
}

mlir::Value KernelBuilder::Impl::constantIndex(int64_t value) {
  return constant(builder.getIndexAttr(value));
}

static TypedAttr attributeOf(OpBuilder &builder, Type type, const Value &value) {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    double real = isFloat(value.dtype) ? value.real : static_cast<double>(value.integer);
    bool isInfinity = std::isinf(real) && value.dtype == DType::Float8E5M2; // the author's own
    if (floatType.getWidth() == 8 && !isInfinity) {                         // saturates
      double top = llvm::APFloat::getLargest(floatType.getFloatSemantics()).convertToDouble();
      real = std::isnan(real) ? real : std::clamp(real, -top, top);
    }
    llvm::APFloat number(real);
    bool lossy;
    number.convert(floatType.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &lossy);
    return builder.getFloatAttr(floatType, number);
  }
  int64_t integer = value.integer;
  if (isFloat(value.dtype))
    integer = std::isnan(value.real)  ? 0
              : value.real >= 9.2e18  ? std::numeric_limits<int64_t>::max()
              : value.real <= -9.2e18 ? std::numeric_limits<int64_t>::min()
                                      : static_cast<int64_t>(value.real);
  if (type.isInteger(1))
    return builder.getBoolAttr(isFloat(value.dtype) ? value.real != 0 : value.integer != 0);
  return cast<TypedAttr>(
      type.isIndex() ? Attribute(builder.getIndexAttr(integer))
                     : Attribute(builder.getIntegerAttr(
                           type, llvm::APInt(type.getIntOrFloatBitWidth(), integer, true))));
}

//===-- Run-time values
//--------------------------------------------------------------------------===//

/// Handles of another builder point into another context.
static mlir::Value checked(void *handle, uint64_t owner, uint64_t id, bool finished) {
  if (finished)
    fail("E0799: the kernel was finished already; nothing can be added to it");
  if (owner != id)
    fail("E0118: a value or buffer of another kernel is used here; create tiles inside the kernel "
         "that "
         "uses "
         "them and pass tensors as parameters");
  return mlir::Value::getFromOpaquePointer(handle);
}

mlir::Value KernelBuilder::Impl::raw(const Value &value) const {
  return checked(value.handle, value.owner, id, finished);
}
mlir::Value KernelBuilder::Impl::raw(const Buffer &buffer) const {
  return checked(buffer.handle, buffer.owner, id, finished);
}

bool KernelBuilder::Impl::isIndex(const Value &value) const {
  return value.handle && raw(value).getType().isIndex();
}

mlir::Value KernelBuilder::Impl::use(mlir::Value value) {
  mlir::Region *home = value.getParentRegion();
  for (mlir::Region *region = builder.getInsertionBlock()->getParent(); region;
       region = region->getParentRegion())
    if (region == home)
      return value;
  fail("E0118: a value computed inside an `if`, a loop or another kernel is used after its end, "
       "where it "
       "does not exist; keep it "
       "in a variable made by T.alloc_var before the branch, or compute it again");
}

/// Makes a builder value; constants are recognised so that they stay constants.
Value KernelBuilder::Impl::wrap(mlir::Value value, DType type, int64_t low, int64_t high) {
  Attribute attribute;
  if (matchPattern(value, m_Constant(&attribute))) {
    Value result;
    if (auto integer = dyn_cast<IntegerAttr>(attribute)) {
      bool zeroExtend = type == DType::Bool || isUnsigned(type);
      result = Value::typed(zeroExtend && integer.getType().isInteger()
                                ? static_cast<int64_t>(integer.getValue().getZExtValue())
                                : integer.getValue().getSExtValue(),
                            type);
    } else if (auto real = dyn_cast<FloatAttr>(attribute)) {
      result = Value::typed(real.getValueAsDouble(), type);
    }
    Operation *op = value.getDefiningOp();
    if (op->use_empty() && constants.lookup(attribute) != value)
      op->erase();
    return result;
  }
  Value result;
  result.handle = value.getAsOpaquePointer();
  result.owner = id;
  result.dtype = type;
  result.low = low;
  result.high = high;
  if (low != kLow || high != kHigh)
    ranges[value] = {low, high};
  return result;
}

Value KernelBuilder::Impl::known(void *atom) {
  mlir::Value value = mlir::Value::getFromOpaquePointer(atom);
  auto range = ranges.find(value);
  return range == ranges.end()
             ? wrap(value, DType::Int32)
             : wrap(value, DType::Int32, range->second.first, range->second.second);
}

static mlir::Value roundToIntegral(OpBuilder &builder, Location loc, mlir::Value value,
                                   StringRef rounding) {
  if (rounding == "rint")
    return builder.createOrFold<math::RoundEvenOp>(loc, value);
  if (rounding == "round")
    return builder.createOrFold<math::RoundOp>(loc, value);
  if (rounding == "floor")
    return builder.createOrFold<math::FloorOp>(loc, value);
  if (rounding == "ceil")
    return builder.createOrFold<math::CeilOp>(loc, value);
  if (rounding == "trunc")
    return builder.createOrFold<math::TruncOp>(loc, value);
  fail("E0207: rounding mode '" + rounding +
       "' is not supported for scalars; allowed are rint, round, floor, ceil and trunc");
}

mlir::Value KernelBuilder::Impl::convert(const Value &value, DType to, bool asIndex,
                                         StringRef rounding) {
  Type target = asIndex ? builder.getIndexType() : scalarType(to);
  if (value.isConstant()) {
    Value number = value;
    if (isFloat(value.dtype) && !isFloat(to) && !rounding.empty() && rounding != "trunc")
      number.real = rounding == "floor"  ? std::floor(value.real)
                    : rounding == "ceil" ? std::ceil(value.real)
                    : rounding == "rint" ? std::nearbyint(value.real)
                                         : std::round(value.real);
    if (isFloat(number.dtype) && !isFloat(to) && to != DType::Bool) { // saturate
      double top =
          isUnsigned(to) ? std::ldexp(1.0, bitsOf(to)) - 1 : std::ldexp(1.0, bitsOf(to) - 1) - 1;
      double bottom = isUnsigned(to) ? 0 : -std::ldexp(1.0, bitsOf(to) - 1);
      number.real =
          std::isnan(number.real) ? 0 : std::min(std::max(std::trunc(number.real), bottom), top);
    }
    return constant(attributeOf(builder, target, number));
  }
  mlir::Value from = use(raw(value));
  Type type = from.getType();
  Location loc = location;
  if (isFloat(value.dtype) && !rounding.empty())
    from = roundToIntegral(builder, loc, from, rounding);
  if (type == target && (to == DType::Bool) == (value.dtype == DType::Bool))
    return from;
  bool fromFloat = isa<FloatType>(type);
  if (auto floatTarget = dyn_cast<FloatType>(target)) {
    if (!fromFloat) {
      if (type.isIndex())
        from = builder.createOrFold<arith::IndexCastOp>(loc, builder.getI32Type(), from);
      if (isUnsigned(value.dtype) || value.dtype == DType::Bool)
        return builder.createOrFold<arith::UIToFPOp>(loc, target, from);
      return builder.createOrFold<arith::SIToFPOp>(loc, target, from);
    }
    unsigned width = cast<FloatType>(type).getWidth();
    if (width < floatTarget.getWidth())
      return builder.createOrFold<arith::ExtFOp>(loc, target, from);
    if (width > floatTarget.getWidth())
      return builder.createOrFold<arith::TruncFOp>(loc, target, from);
    mlir::Value wide =
        builder.createOrFold<arith::ExtFOp>(loc, builder.getF32Type(), from); // bf16 and f16
    return builder.createOrFold<arith::TruncFOp>(loc, target, wide);
  }
  if (to == DType::Bool) {
    if (type.isInteger(1))
      return from;
    if (fromFloat)
      return builder.createOrFold<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, from,
                                                 constant(builder.getFloatAttr(type, 0.0)));
    return builder.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::ne, from, constant(cast<TypedAttr>(builder.getZeroAttr(type))));
  }
  if (fromFloat) {
    Type integer = asIndex ? builder.getI64Type() : target;
    from = isUnsigned(to) ? builder.createOrFold<arith::FPToUIOp>(loc, integer, from)
                          : builder.createOrFold<arith::FPToSIOp>(loc, integer, from);
    return asIndex ? builder.createOrFold<arith::IndexCastOp>(loc, target, from) : from;
  }
  bool zeroExtend = isUnsigned(value.dtype) || value.dtype == DType::Bool;
  if (type.isIndex() || target.isIndex()) {
    if (zeroExtend && target.isIndex())
      return builder.createOrFold<arith::IndexCastUIOp>(loc, target, from);
    return builder.createOrFold<arith::IndexCastOp>(loc, target, from);
  }
  unsigned width = type.getIntOrFloatBitWidth(), wanted = target.getIntOrFloatBitWidth();
  if (width > wanted)
    return builder.createOrFold<arith::TruncIOp>(loc, target, from);
  if (width == wanted)
    return from;
  return zeroExtend ? builder.createOrFold<arith::ExtUIOp>(loc, target, from)
                    : builder.createOrFold<arith::ExtSIOp>(loc, target, from);
}

mlir::Value KernelBuilder::Impl::toIndex(const Value &value, const llvm::Twine &what) {
  if (isFloat(value.dtype) && !constantInteger(value))
    fail("E0203: " + what + " is a " + llvm::StringRef(builder::nameOf(value.dtype)) +
         (value.isConstant() ? " (" + text(value) + ")" : std::string()) +
         "; an integer is needed: use `//` for division, or T.cast(..., \"int32\")");
  return convert(value, DType::Int64, /*asIndex=*/true);
}

mlir::Value KernelBuilder::Impl::toCondition(const Value &value) {
  return convert(value, DType::Bool);
}

mlir::Value KernelBuilder::Impl::toCompute(const Value &value, DType type) {
  if (!isStorage(type))
    return convert(value, type);
  if (value.isConstant()) // constants are rounded to the type first, as any operand is
    return convert(wrap(convert(value, type), type), DType::Float32);
  return convert(value, DType::Float32);
}

void checkRounding(DType to, StringRef rounding) {
  if (isFloat(to) && bitsOf(to) == 8 && !rounding.empty() && rounding != "rint")
    fail("E0207: a conversion to " + StringRef(nameOf(to)) + " rounds half to even (rint), found " +
         rounding);
}

Value KernelBuilder::Impl::cast(const Value &value, DType type, StringRef rounding) {
  int64_t low = kLow, high = kHigh;
  if (!isFloat(value.dtype) && !isFloat(type) && bitsOf(type) >= 32 && value.low != kLow &&
      value.high != kHigh) {
    low = value.low;
    high = value.high;
  }
  if (value.dtype == type && !value.weak && rounding.empty())
    return value;
  // A loop variable or size stays an index value as long as it is an int32.
  if (type == DType::Int32 && isIndex(value))
    return value;
  checkRounding(type, rounding);
  if (isStorage(type) && !rounding.empty()) {
    Value rounded = cast(value, DType::Float32, rounding);
    return cast(rounded, type);
  }
  return wrap(convert(value, type, false, rounding), type, low, high);
}

//===-- Linear forms
//-----------------------------------------------------------------------------===//

static void addTerm(LinearForm &form, void *atom, int64_t factor) {
  auto place = llvm::lower_bound(form.terms, atom,
                                 [](const auto &term, void *key) { return term.first < key; });
  if (place != form.terms.end() && place->first == atom) {
    place->second += factor;
    if (place->second == 0)
      form.terms.erase(place);
    return;
  }
  form.terms.insert(place, {atom, factor});
}

static void addScaled(LinearForm &form, const LinearForm &other, int64_t factor) {
  form.constant += factor * other.constant;
  for (auto [atom, by] : other.terms)
    addTerm(form, atom, factor * by);
}

/// True if `op`, or an op inside it, may write elements of `buffer`.
static bool mayWrite(Operation *op, mlir::Value buffer) {
  return op
      ->walk([&](AccessInterface access) {
        for (unsigned index = 0; index < access.getNumBoxes(); ++index)
          if (writes(access.getAccessKind(index)) && access.getBox(index).buffer == buffer)
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// The earliest load of the block that reads what `load` reads: the same element, not written in
/// between.
static tile::LoadOp firstOfSame(tile::LoadOp load) {
  mlir::Value buffer = load.getBuffer();
  auto isView = [](Operation *op) { return isa_and_nonnull<tile::ViewOp>(op); };
  if (isView(buffer.getDefiningOp()) || llvm::any_of(buffer.getUsers(), isView))
    return load; // written under other names
  auto isSame = [](mlir::Value a, mlir::Value b) {
    auto known = constantOf(a);
    return a == b || (known && known == constantOf(b));
  };
  tile::LoadOp first = load;
  for (Operation *op = load->getPrevNode(); op; op = op->getPrevNode()) {
    if (auto other = dyn_cast<tile::LoadOp>(op);
        other && other.getBuffer() == buffer &&
        llvm::all_of_zip(other.getIndices(), load.getIndices(), isSame))
      first = other;
    else if (mayWrite(op, buffer))
      break;
  }
  return first;
}

/// The value that stands for `value` in linear forms: two reads of one variable are one number.
static mlir::Value atomOf(mlir::Value value) {
  Operation *op = value.getDefiningOp();
  if (auto load = dyn_cast_or_null<tile::LoadOp>(op))
    return firstOfSame(load);
  if (!isa_and_nonnull<arith::IndexCastOp>(op))
    return value;
  mlir::Value atom = atomOf(op->getOperand(0));
  for (Operation *user : atom.getUsers())
    if (isa<arith::IndexCastOp>(user) && user->getResult(0).getType() == value.getType() &&
        user->getBlock() == op->getBlock() && user->isBeforeInBlock(op))
      return user->getResult(0);
  return value;
}

static LinearForm linearOf(mlir::Value value, int depth) {
  LinearForm form;
  if (auto constant = constantOf(value)) {
    form.constant = *constant;
    return form;
  }
  Operation *op = depth ? value.getDefiningOp() : nullptr;
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
    form = linearOf(op->getOperand(0), depth - 1);
    addScaled(form, linearOf(op->getOperand(1), depth - 1), isa<arith::AddIOp>(op) ? 1 : -1);
    return form;
  }
  if (isa_and_nonnull<arith::MulIOp>(op)) {
    LinearForm left = linearOf(op->getOperand(0), depth - 1),
               right = linearOf(op->getOperand(1), depth - 1);
    if (left.terms.empty())
      std::swap(left, right);
    if (right.terms.empty()) {
      if (right.constant != 0)
        addScaled(form, left, right.constant);
      return form;
    }
  }
  addTerm(form, atomOf(value).getAsOpaquePointer(), 1);
  return form;
}

LinearForm KernelBuilder::Impl::linear(const Value &value) {
  if (auto integer = constantInteger(value)) {
    LinearForm form;
    form.constant = *integer;
    return form;
  }
  return linearOf(raw(value), 32);
}

Value KernelBuilder::Impl::difference(const Value &stop, const Value &start) {
  LinearForm form = linear(stop);
  addScaled(form, linear(start), -1);
  if (form.terms.empty())
    return Value::number(form.constant);
  if (form.terms.size() == 1 && form.constant == 0 && form.terms[0].second == 1)
    return known(form.terms[0].first);
  return binary("sub", stop, start);
}

} // namespace tilewright::builder
