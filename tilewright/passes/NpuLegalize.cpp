// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// npu-legalize: what the vector unit lacks for an element type, made of what it has.

#include "tilewright/passes/NpuLegalize.h"

#include "tilewright/passes/Chip.h"
#include "tilewright/passes/Passes.h"
#include "tilewright/passes/ScalarLoops.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_NPULEGALIZE
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes::legal;

static bool isBetween(Fn fn, Fn first, Fn last) {
  return int(fn) >= int(first) && int(fn) <= int(last);
}

void Legalizer::run() {
  SmallVector<npu::AllocOp> flags;
  function.walk([&](npu::AllocOp alloc) {
    if (hasFlagsInParts(alloc))
      flags.push_back(alloc);
  });
  llvm::for_each(flags, [&](npu::AllocOp alloc) { keepAsNumbers(alloc); });
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (isa<npu::ElementwiseOp, npu::ReduceOp, npu::IotaOp, npu::ScanOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    builder.setInsertionPoint(op);
    loc = op->getLoc();
    bool done = false;
    if (writesNothing(cast<AccessInterface>(op)))
      done = true;
    else if (auto elementwise = dyn_cast<npu::ElementwiseOp>(op))
      done = passes::makeScalarLoop(builder, elementwise) || this->elementwise(elementwise);
    else if (auto scan = dyn_cast<npu::ScanOp>(op))
      done = this->scan(scan);
    else if (auto iota = dyn_cast<npu::IotaOp>(op))
      done = count(iota);
    else
      done = reduce(cast<npu::ReduceOp>(op));
    if (done)
      op->erase();
  }
}

/// No tile has room for what stands between on the way to no element.
bool Legalizer::writesNothing(AccessInterface access) {
  return llvm::any_of(access.getBox(0).sizes,
                      [](Value size) { return constantOf(size) == std::optional<int64_t>(0); });
}

Operand Legalizer::operandOf(const Box &box, ArrayRef<int64_t> map) {
  return {box.buffer, SmallVector<Value>(box.offsets), SmallVector<Value>(box.sizes),
          SmallVector<int64_t>(map)};
}

/// A tile of its own for the elements of a box.
Operand Legalizer::temporary(Type element, const Operand &like) {
  SmallVector<int64_t> shape(cast<MemRefType>(like.buffer.getType()).getShape());
  for (auto [extent, size] : llvm::zip_equal(shape, like.sizes))
    extent = constantOf(size).value_or(extent);
  auto space = npu::SpaceAttr::get(builder.getContext(), npu::Space::UB);
  OpBuilder top = OpBuilder::atBlockBegin(&function.front());
  auto alloc = top.create<npu::AllocOp>(loc, MemRefType::get(shape, element, AffineMap(), space),
                                        builder.getStringAttr(npu::nameOf(like.buffer) + ".part"),
                                        builder.getI64IntegerAttr(1), IntegerAttr(), UnitAttr());
  Value zero = builder.create<arith::ConstantIndexOp>(loc, 0);
  return {alloc.getResult(), SmallVector<Value>(like.sizes.size(), zero), like.sizes, like.map};
}

void Legalizer::create(Fn fn, const Operand &dst, ArrayRef<Operand> sources, Value scalar,
                       bool scalarFirst, Round round) {
  SmallVector<Value> buffers, offsets, sizes;
  SmallVector<Attribute> maps;
  auto add = [&](const Operand &operand) {
    buffers.push_back(operand.buffer);
    llvm::append_range(offsets, operand.offsets);
    llvm::append_range(sizes, operand.sizes);
    maps.push_back(builder.getDenseI64ArrayAttr(operand.map));
  };
  add(dst);
  llvm::for_each(sources, add);
  MLIRContext *context = builder.getContext();
  builder.create<npu::ElementwiseOp>(loc, buffers, offsets, sizes, scalar,
                                     npu::FnAttr::get(context, fn), builder.getArrayAttr(maps),
                                     scalarFirst ? builder.getUnitAttr() : UnitAttr(),
                                     npu::RoundAttr::get(context, round));
}

void Legalizer::fill(const Operand &dst, Value value) {
  builder.create<npu::FillOp>(loc, dst.buffer, dst.offsets, dst.sizes, value);
}

Value Legalizer::number(Type element, double value) {
  TypedAttr attribute = isa<FloatType>(element)
                            ? TypedAttr(builder.getFloatAttr(element, value))
                            : TypedAttr(builder.getIntegerAttr(element, int64_t(value)));
  return builder.create<arith::ConstantOp>(loc, attribute);
}

/// True if the operand has one element along a dimension in which the domain has more.
bool Legalizer::isBroadcast(const Operand &src, const Operand &dst) {
  return !llvm::all_of(llvm::enumerate(dst.map), [&](auto entry) {
    auto [at, dim] = entry;
    if (dim < 0 || constantOf(dst.sizes[at]).value_or(0) == 1)
      return true;
    auto found = llvm::find(src.map, dim);
    return found != src.map.end() &&
           constantOf(src.sizes[found - src.map.begin()]).value_or(0) != 1;
  });
}

/// The operand over the whole domain of `dst`. Bools, which are bits, are repeated as numbers.
Operand Legalizer::full(const Operand &src, const Operand &dst) {
  if (!isBroadcast(src, dst))
    return src;
  Operand result = temporary(src.element(), dst);
  if (!src.element().isInteger(1)) {
    create(Fn::Copy, result, src);
    return result;
  }
  Operand column = temporary(f16(), src), numbers = temporary(f16(), dst);
  create(Fn::Cast, column, src);
  create(Fn::Copy, numbers, column);
  create(Fn::NE, result, numbers, number(f16(), 0));
  return result;
}

/// The type between two that the unit does not convert in one step; null where it does, or where
/// no way gives the same bits.
Type Legalizer::between(Type from, Type to, bool &wraps) {
  unsigned a = from.getIntOrFloatBitWidth(), b = to.getIntOrFloatBitWidth();
  bool isNarrow = from.isF16() || from.isBF16(), toNarrow = to.isF16() || to.isBF16();
  if (isWide(from) || isWide(to) || to.isInteger(1) || from == to)
    return {};
  if (from.isInteger(1))
    return to.isF32() ? f16() : Type();
  if (isa<IntegerType>(from) && isa<IntegerType>(to)) {
    wraps = b < a && !from.isUnsignedInteger() && (b == 8 || !to.isUnsignedInteger());
    return from.isUnsignedInteger(8) && b > a ? f16() : Type();
  }
  if (isa<IntegerType>(from)) {
    if (a == 8)
      return to.isF32() ? f16() : to.isBF16() ? f32() : Type();
    return toNarrow && !(a == 16 && to.isF16()) && !from.isUnsignedInteger() ? f32() : Type();
  }
  if (isa<IntegerType>(to))
    return from.isBF16() && b == 16 ? f32() : Type();
  return isNarrow && toNarrow ? f32() : Type();
}

/// dst = src, converted; false if one instruction does that.
bool Legalizer::convert(const Operand &dst, const Operand &src, Round round) {
  bool wraps = false;
  if (Type middle = between(src.element(), dst.element(), wraps)) {
    Operand step = temporary(middle, src);
    convertOrCreate(step, src, Round::Rint);
    convertOrCreate(dst, step, round);
    return true;
  }
  if (wraps)
    wrap(dst, src);
  return wraps;
}

void Legalizer::convertOrCreate(const Operand &dst, const Operand &src, Round round) {
  if (!convert(dst, src, round))
    create(Fn::Cast, dst, src, {}, false, round);
}

/// To a narrower integer: shifts keep the low bits with their sign, a mask does without, after
/// which every step is exact.
void Legalizer::wrap(const Operand &dst, const Operand &src) {
  unsigned from = src.element().getIntOrFloatBitWidth();
  unsigned to = dst.element().getIntOrFloatBitWidth();
  Operand low = temporary(src.element(), src);
  if (dst.element().isUnsignedInteger()) {
    fill(low, number(src.element(), 255));
    create(Fn::And, low, {src, low});
  } else {
    Value by = number(src.element(), from - to);
    create(Fn::Shl, low, src, by);
    create(Fn::Shr, low, low, by);
  }
  narrow(dst, low);
}

/// To a narrower integer that holds all values: a float does on the way, of which no step wraps.
void Legalizer::narrow(const Operand &dst, const Operand &src) {
  Operand low = src;
  auto through = [&](Type element) {
    Operand step = temporary(element, src);
    create(Fn::Cast, step, low);
    low = step;
  };
  if (src.element().getIntOrFloatBitWidth() == 32)
    through(f32());
  if (dst.element().getIntOrFloatBitWidth() == 8)
    through(f16());
  create(Fn::Cast, dst, low);
}

/// The operand with elements of a type that holds all its values.
Operand Legalizer::widened(const Operand &src, Type element) {
  if (src.element() == element)
    return src;
  Operand result = temporary(element, src);
  convertOrCreate(result, src, Round::Rint);
  return result;
}

Value Legalizer::widened(Value scalar, Type element, bool isUnsigned) {
  if (!scalar || scalar.getType() == element)
    return scalar;
  if (isa<FloatType>(scalar.getType()))
    return builder.create<arith::ExtFOp>(loc, element, scalar);
  if (isa<FloatType>(element))
    return isUnsigned ? builder.create<arith::UIToFPOp>(loc, element, scalar).getResult()
                      : builder.create<arith::SIToFPOp>(loc, element, scalar).getResult();
  return isUnsigned ? builder.create<arith::ExtUIOp>(loc, element, scalar).getResult()
                    : builder.create<arith::ExtSIOp>(loc, element, scalar).getResult();
}

/// The type in which the unit computes `fn` on elements of `type`; null where that is the type
/// itself, or nothing gives the same bits.
Type Legalizer::computedIn(Fn fn, Type type) {
  bool rounds = isBetween(fn, Fn::Floor, Fn::Rint);
  if (type.isBF16() || (type.isF16() && rounds))
    return isBetween(fn, Fn::Copy, Fn::Bitcast) || fn == Fn::Select ? Type() : f32();
  if (isBetween(fn, Fn::EQ, Fn::GE) && isa<IntegerType>(type) && !isWide(type)) {
    unsigned width = type.getIntOrFloatBitWidth();
    return width == 8 ? f16() : type.isSignlessInteger(16) ? f32() : Type(); // exact
  }
  if (!type.isInteger(8))
    return {};
  bool isKnown = llvm::is_contained(
      {Fn::Neg, Fn::Abs, Fn::Add, Fn::Sub, Fn::Mul, Fn::Max, Fn::Min, Fn::MaxNum, Fn::MinNum}, fn);
  return isKnown ? builder.getIntegerType(16) : Type();
}

/// Bits of a tile with a scalar, which the unit only has for tiles.
bool Legalizer::bitwise(Fn fn, const Operand &dst, const Operand &src, Value scalar) {
  if (isWide(src.element()))
    return false;
  if (fn == Fn::Xor && src.element().isInteger(1) && constantOf(scalar).value_or(0) != 0) {
    create(Fn::Not, dst, src);
    return true;
  }
  Operand tile = temporary(src.element(), dst);
  fill(tile, scalar);
  create(fn, dst, {src, tile});
  return true;
}

/// Of 32-bit integers the unit compares for equality alone: a <= b is min(a, b) == a.
bool Legalizer::compare(Fn fn, const Operand &dst, ArrayRef<Operand> sources, Value scalar,
                        bool isFirst) {
  Type type = sources.front().element();
  if (isFirst)
    fn = mirrored(fn);
  Operand left = sources.front();
  if (type.isSignlessInteger(32) && fn != Fn::EQ) {
    bool isNegated = fn == Fn::NE || fn == Fn::LT || fn == Fn::GT;
    Operand flags = holdsBytes(dst.buffer) ? temporary(dst.element(), dst) : dst;
    Operand extreme = left;
    if (fn != Fn::NE) {
      extreme = temporary(type, dst);
      create(fn == Fn::LE || fn == Fn::GT ? Fn::Min : Fn::Max, extreme, sources, scalar);
      create(Fn::EQ, flags, {extreme, full(left, dst)});
    } else {
      create(Fn::EQ, flags, fullSources(sources, dst), scalar);
    }
    if (isNegated)
      create(Fn::Not, flags, flags);
    if (flags.buffer != dst.buffer)
      create(Fn::Copy, dst, flags);
    return true;
  }
  SmallVector<Operand> whole = fullSources(sources, dst);
  bool isSame = llvm::all_of(llvm::zip_equal(whole, sources),
                             [](auto pair) { return std::get<0>(pair).isSame(std::get<1>(pair)); });
  if (isSame)
    return false;
  create(fn, dst, whole, scalar);
  return true;
}

/// HIVM has bools as bits on the vector unit alone.
bool Legalizer::holdsBytes(Value buffer) {
  return llvm::any_of(
      buffer.getUsers(),
      llvm::IsaPred<npu::LoadOp, npu::StoreOp, npu::ScalarLoadOp, npu::ScalarStoreOp>);
}

SmallVector<Operand> Legalizer::fullSources(ArrayRef<Operand> sources, const Operand &dst) {
  return llvm::map_to_vector(sources, [&](const Operand &source) { return full(source, dst); });
}

Fn Legalizer::mirrored(Fn fn) {
  switch (fn) {
  case Fn::LT:
    return Fn::GT;
  case Fn::LE:
    return Fn::GE;
  case Fn::GT:
    return Fn::LT;
  case Fn::GE:
    return Fn::LE;
  default:
    return fn;
  }
}

bool Legalizer::elementwise(npu::ElementwiseOp op) {
  Fn fn = op.getFn();
  Operand dst = operandOf(op.getBox(0), op.getMap(0));
  SmallVector<Operand> sources;
  for (unsigned index = 1; index < op.getNumBoxes(); ++index)
    sources.push_back(operandOf(op.getBox(index), op.getMap(index)));
  Value scalar = op.getScalar();
  if (scalar && isa<IntegerType>(scalar.getType()) && !scalar.getType().isSignlessInteger())
    return false;
  if (fn == Fn::Cast)
    return !sources.empty() && convert(dst, sources.front(), op.getRound());
  if (sources.empty())
    return false;
  Type type = sources.front().element();
  if (fn == Fn::IsNan) { // unlike itself
    Operand number = widened(sources.front(), type.isBF16() ? f32() : type);
    create(Fn::NE, dst, {number, number});
    return true;
  }
  if (isBetween(fn, Fn::And, Fn::Xor) && scalar && sources.size() == 1)
    return bitwise(fn, dst, sources.front(), scalar);
  if (fn == Fn::Select) {
    SmallVector<Operand> whole = fullSources(sources, dst);
    if (llvm::none_of(sources, [&](const Operand &source) { return isBroadcast(source, dst); }))
      return false;
    create(fn, dst, whole, scalar, op.getScalarFirst());
    return true;
  }
  Type wide = computedIn(fn, type);
  if (!wide && isBetween(fn, Fn::EQ, Fn::GE) && !isWide(type) && !type.isUnsignedInteger())
    return compare(fn, dst, sources, scalar, op.getScalarFirst());
  bool isNeg = fn == Fn::Neg && !isWide(type);
  if (!wide && !isNeg)
    return false;
  if (!wide)
    wide = type;
  bool isSquare = sources.size() == 2 && sources[0].isSame(sources[1]);
  sources.front() = widened(sources.front(), wide);
  for (Operand &source : MutableArrayRef(sources).drop_front())
    source = isSquare ? sources.front() : widened(source, wide);
  scalar = widened(scalar, wide, type.isUnsignedInteger());
  if (isNeg) {
    fn = Fn::Mul;
    scalar = number(wide, -1);
  }
  bool isDirect = dst.element() == wide || isBetween(fn, Fn::EQ, Fn::GE);
  Operand result = isDirect ? dst : temporary(wide, dst);
  if (!isBetween(fn, Fn::EQ, Fn::GE) || !compare(fn, dst, sources, scalar, op.getScalarFirst()))
    create(fn, result, sources, scalar, op.getScalarFirst(), op.getRound());
  bool isKept = isBetween(fn, Fn::Max, Fn::MinNum); // one of the operands
  if (!isDirect && isKept && isa<IntegerType>(wide))
    narrow(dst, result);
  else if (!isDirect)
    convertOrCreate(dst, result, Round::Rint);
  return true;
}

/// Numbers of 32 bits, converted.
bool Legalizer::count(npu::IotaOp op) {
  Box box = op.getBox(0);
  auto rank = int64_t(box.sizes.size());
  Operand dst = operandOf(box, llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  Type element = dst.element();
  if (isWide(element) || element.isInteger(32) || element.isUnsignedInteger())
    return false;
  Operand numbers = temporary(builder.getI32Type(), dst);
  builder.create<npu::IotaOp>(loc, numbers.buffer, numbers.offsets, numbers.sizes, op.getStart(),
                              op.getSteps());
  convertOrCreate(dst, numbers, Round::Rint);
  return true;
}

namespace {

struct NpuLegalize : passes::impl::NpuLegalizeBase<NpuLegalize> {
  using NpuLegalizeBase::NpuLegalizeBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    NpuLegalizeBase::getDependentDialects(registry);
    registry.insert<scf::SCFDialect>();
  }

  /// Where the author orders the pipes, there is no place for more instructions.
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function->hasAttr(npu::kCoreAttr) || function->hasAttr(npu::kManualSyncAttr))
      return;
    WalkResult isOrdered = function.walk([](Operation *op) {
      return isa<npu::SetFlagOp, npu::WaitFlagOp, npu::BarrierOp>(op) ? WalkResult::interrupt()
                                                                      : WalkResult::advance();
    });
    if (isOrdered.wasInterrupted())
      return;
    std::optional<machine::Machine> loaded = passes::chipFor(function, chip);
    if (!loaded)
      return signalPassFailure();
    Legalizer(function, *loaded).run();
  }
};

} // namespace
