// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// npu-legalize: what the vector unit lacks for an element type, made of what it has.

#include "tilewright/npu/NpuOps.h"
#include "tilewright/npu/Rows.h"
#include "tilewright/passes/Chip.h"
#include "tilewright/passes/Passes.h"
#include "tilewright/passes/ScalarLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_NPULEGALIZE
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;

namespace {

bool isBetween(Fn fn, Fn first, Fn last) { return int(fn) >= int(first) && int(fn) <= int(last); }

bool isWide(Type type) { return type.isIndex() || type.getIntOrFloatBitWidth() > 32; }

/// An operand of a box op. `map`: the dimension of the domain that each of its dimensions follows.
struct Operand {
  Value buffer;
  SmallVector<Value> offsets, sizes;
  SmallVector<int64_t> map;

  bool isSame(const Operand &other) const {
    return buffer == other.buffer && offsets == other.offsets && sizes == other.sizes &&
           map == other.map;
  }
  Type element() const { return cast<MemRefType>(buffer.getType()).getElementType(); }
};

/// Replaces the ops of one function. Every step of a replacement is one that the unit has; results
/// are bit for bit those of the op that was there.
class Legalizer {
public:
  Legalizer(func::FuncOp function, const machine::Machine &chip)
      : function(function), builder(function.getContext()), chip(chip) {}

  void run() {
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

private:
  func::FuncOp function;
  OpBuilder builder;
  const machine::Machine &chip;
  Location loc = builder.getUnknownLoc();

  /// No tile has room for what stands between on the way to no element.
  static bool writesNothing(AccessInterface access) {
    return llvm::any_of(access.getBox(0).sizes,
                        [](Value size) { return constantOf(size) == std::optional<int64_t>(0); });
  }

  Type f16() { return builder.getF16Type(); }
  Type f32() { return builder.getF32Type(); }

  static Operand operandOf(const Box &box, ArrayRef<int64_t> map) {
    return {box.buffer, SmallVector<Value>(box.offsets), SmallVector<Value>(box.sizes),
            SmallVector<int64_t>(map)};
  }

  /// A tile of its own for the elements of a box.
  Operand temporary(Type element, const Operand &like) {
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

  void create(Fn fn, const Operand &dst, ArrayRef<Operand> sources, Value scalar = {},
              bool scalarFirst = false, Round round = Round::Rint) {
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

  void fill(const Operand &dst, Value value) {
    builder.create<npu::FillOp>(loc, dst.buffer, dst.offsets, dst.sizes, value);
  }
  Value number(Type element, double value) {
    TypedAttr attribute = isa<FloatType>(element)
                              ? TypedAttr(builder.getFloatAttr(element, value))
                              : TypedAttr(builder.getIntegerAttr(element, int64_t(value)));
    return builder.create<arith::ConstantOp>(loc, attribute);
  }

  /// True if the operand has one element along a dimension in which the domain has more.
  static bool isBroadcast(const Operand &src, const Operand &dst) {
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
  Operand full(const Operand &src, const Operand &dst) {
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

  /// The elements of the box follow each other as one run.
  static bool isRun(const Operand &operand) {
    auto shape = cast<MemRefType>(operand.buffer.getType()).getShape();
    bool isWhole = true; // all dimensions further in
    for (auto [size, extent] : llvm::reverse(llvm::zip_equal(operand.sizes, shape))) {
      std::optional<int64_t> known = constantOf(size);
      if (!isWhole && known != 1)
        return false;
      isWhole &= known == extent;
    }
    return true;
  }

  /// The boxes of a buffer in an op, by number.
  static SmallVector<unsigned> boxesOf(npu::ElementwiseOp op, Value buffer) {
    SmallVector<unsigned> found;
    for (unsigned index = 0; index < op.getNumBoxes(); ++index)
      if (op.getBox(index).buffer == buffer)
        found.push_back(index);
    return found;
  }

  /// A tile of bools of which an op takes rows with gaps between them. As bits, each row would
  /// begin at a block of 256, and compared or chosen one by one.
  bool hasFlagsInParts(npu::AllocOp alloc) {
    Value buffer = alloc.getResult();
    auto type = cast<MemRefType>(buffer.getType());
    bool isBits = type.getElementType().isInteger(1) && npu::spaceOf(buffer) == npu::Space::UB;
    if (!isBits || alloc.getSlots() > 1 || !llvm::all_of(buffer.getUsers(), [](Operation *user) {
          return isa<npu::ElementwiseOp, npu::FillOp>(user);
        }))
      return false;
    return llvm::any_of(buffer.getUsers(), [&](Operation *user) {
      auto op = dyn_cast<npu::ElementwiseOp>(user);
      return op && llvm::any_of(boxesOf(op, buffer), [&](unsigned index) {
               return !isRun(operandOf(op.getBox(index), op.getMap(index)));
             });
    });
  }

  /// Zeros and ones in f16 in place of bools: what writes some converts them, what reads some
  /// compares.
  void keepAsNumbers(npu::AllocOp alloc) {
    Value buffer = alloc.getResult();
    auto type = cast<MemRefType>(buffer.getType());
    builder.setInsertionPoint(alloc);
    loc = alloc.getLoc();
    auto numbers = builder.create<npu::AllocOp>(
        loc, MemRefType::get(type.getShape(), f16(), AffineMap(), type.getMemorySpace()),
        alloc.getNameAttr(), alloc.getSlotsAttr(), IntegerAttr(), UnitAttr());
    llvm::SetVector<Operation *> users(buffer.user_begin(), buffer.user_end());
    for (Operation *user : users) {
      builder.setInsertionPoint(user);
      loc = user->getLoc();
      if (auto fillOp = dyn_cast<npu::FillOp>(user)) {
        Operand all = operandOf(fillOp.getBox(0), {});
        all.buffer = numbers.getResult();
        fill(all, builder.create<arith::UIToFPOp>(loc, f16(), fillOp.getValue()));
      } else {
        readAndWriteNumbers(cast<npu::ElementwiseOp>(user), buffer, numbers.getResult());
      }
      user->erase();
    }
    alloc.erase();
  }

  void readAndWriteNumbers(npu::ElementwiseOp op, Value flags, Value numbers) {
    SmallVector<Operand> operands;
    Operand written;
    for (unsigned index = 0; index < op.getNumBoxes(); ++index) {
      Operand operand = operandOf(op.getBox(index), op.getMap(index));
      if (operand.buffer == flags) {
        Operand bits = temporary(builder.getI1Type(), operand);
        operand.buffer = numbers;
        if (index == 0) {
          written = operand;
        } else {
          Operand run = operand;
          if (!isRun(operand)) {
            run = temporary(f16(), operand);
            create(Fn::Copy, run, operand);
          }
          create(Fn::NE, bits, run, number(f16(), 0));
        }
        operand = bits;
      }
      operands.push_back(operand);
    }
    create(op.getFn(), operands.front(), ArrayRef(operands).drop_front(), op.getScalar(),
           op.getScalarFirst(), op.getRound());
    if (!written.buffer)
      return;
    Operand run = isRun(written) ? written : temporary(f16(), written);
    create(Fn::Cast, run, operands.front());
    if (!isRun(written))
      create(Fn::Copy, written, run);
  }

  /// The type between two that the unit does not convert in one step; null where it does, or where
  /// no way gives the same bits.
  Type between(Type from, Type to, bool &wraps) {
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
  bool convert(const Operand &dst, const Operand &src, Round round) {
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

  void convertOrCreate(const Operand &dst, const Operand &src, Round round) {
    if (!convert(dst, src, round))
      create(Fn::Cast, dst, src, {}, false, round);
  }

  /// To a narrower integer: shifts keep the low bits with their sign, a mask does without, after
  /// which every step is exact.
  void wrap(const Operand &dst, const Operand &src) {
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
  void narrow(const Operand &dst, const Operand &src) {
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
  Operand widened(const Operand &src, Type element) {
    if (src.element() == element)
      return src;
    Operand result = temporary(element, src);
    convertOrCreate(result, src, Round::Rint);
    return result;
  }
  Value widened(Value scalar, Type element, bool isUnsigned) {
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
  Type computedIn(Fn fn, Type type) {
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
        {Fn::Neg, Fn::Abs, Fn::Add, Fn::Sub, Fn::Mul, Fn::Max, Fn::Min, Fn::MaxNum, Fn::MinNum},
        fn);
    return isKnown ? builder.getIntegerType(16) : Type();
  }

  /// Bits of a tile with a scalar, which the unit only has for tiles.
  bool bitwise(Fn fn, const Operand &dst, const Operand &src, Value scalar) {
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
  bool compare(Fn fn, const Operand &dst, ArrayRef<Operand> sources, Value scalar, bool isFirst) {
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
    bool isSame = llvm::all_of(llvm::zip_equal(whole, sources), [](auto pair) {
      return std::get<0>(pair).isSame(std::get<1>(pair));
    });
    if (isSame)
      return false;
    create(fn, dst, whole, scalar);
    return true;
  }

  /// HIVM has bools as bits on the vector unit alone.
  static bool holdsBytes(Value buffer) {
    return llvm::any_of(
        buffer.getUsers(),
        llvm::IsaPred<npu::LoadOp, npu::StoreOp, npu::ScalarLoadOp, npu::ScalarStoreOp>);
  }

  SmallVector<Operand> fullSources(ArrayRef<Operand> sources, const Operand &dst) {
    return llvm::map_to_vector(sources, [&](const Operand &source) { return full(source, dst); });
  }

  static Fn mirrored(Fn fn) {
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

  bool elementwise(npu::ElementwiseOp op) {
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

  /// Narrow floats in f32, rounded once; rows as columns, or on the scalar unit.
  bool scan(npu::ScanOp op) {
    Box to = op.getBox(0), from = op.getBox(1);
    SmallVector<int64_t> map = llvm::to_vector(llvm::seq<int64_t>(0, to.sizes.size()));
    Operand dst = operandOf(to, map), src = operandOf(from, map);
    bool isNarrow = dst.element().isF16() || dst.element().isBF16();
    if (src.element() != dst.element())
      return false;
    if (!isNarrow)
      return scanAsColumns(op, dst, src) || passes::makeScalarLoop(builder, op);
    Operand in = widened(src, f32()), out = temporary(f32(), dst);
    if (!scanAsColumns(op, out, in)) {
      npu::ScanOp wide = createScan(op, out, in, op.getDim());
      if (passes::makeScalarLoop(builder, wide))
        wide.erase();
    }
    convertOrCreate(dst, out, Round::Rint);
    return true;
  }

  npu::ScanOp createScan(npu::ScanOp like, const Operand &dst, const Operand &src, unsigned dim) {
    SmallVector<Value> offsets(dst.offsets), sizes(dst.sizes);
    llvm::append_range(offsets, src.offsets);
    llvm::append_range(sizes, src.sizes);
    return builder.create<npu::ScanOp>(loc, ValueRange{dst.buffer, src.buffer}, offsets, sizes,
                                       like.getKind(), dim, like.getReverse());
  }

  /// A scan along rows of 32-bit elements as one along columns, in place between two
  /// transpositions; false where that is slower than the scalar unit's loop or may not fit.
  bool scanAsColumns(npu::ScanOp op, const Operand &dst, const Operand &src) {
    Type element = dst.element();
    SmallVector<int64_t> shape;
    SmallVector<int64_t> map(dst.sizes.size(), -1); // dimensions of one element follow none
    for (auto [dim, size] : llvm::enumerate(dst.sizes)) {
      std::optional<int64_t> known = constantOf(size);
      if (!known)
        return false;
      if (*known == 1)
        continue;
      map[dim] = 1 - int64_t(shape.size());
      shape.push_back(*known);
    }
    bool isRow = op.getDim() + 1 == dst.sizes.size() && map.back() == 0;
    if (!isRow || shape.size() != 2 || !(element.isF32() || element.isSignlessInteger(32)) ||
        (op.getKind() != ReduceKind::Sum && op.getKind() != ReduceKind::Prod))
      return false;
    int64_t rows = shape[0], columns = shape[1];
    auto space = npu::SpaceAttr::get(builder.getContext(), npu::Space::UB);
    auto type = MemRefType::get({columns, rows}, element, AffineMap(), space);
    int64_t bytes = npu::slotBytes(type, /*padRows=*/true);
    if (!isFaster(rows, columns, bytes) || bytesInUb() + bytes > chip.ubBytes)
      return false;
    Value zero = builder.create<arith::ConstantIndexOp>(loc, 0);
    auto alloc = OpBuilder::atBlockBegin(&function.front())
                     .create<npu::AllocOp>(
                         loc, type, builder.getStringAttr(npu::nameOf(dst.buffer) + ".turned"),
                         builder.getI64IntegerAttr(1), IntegerAttr(), UnitAttr());
    Operand turned{alloc.getResult(), {zero, zero}, {dst.sizes.back(), Value()}, {0, 1}};
    for (auto [dim, size] : llvm::zip_equal(map, dst.sizes))
      if (dim == 1)
        turned.sizes[1] = size;
    Operand from = src, to = dst;
    from.map = map;
    create(Fn::Copy, turned, from);
    createScan(op, turned, turned, 0);
    turned.map = {1, 0};
    for (int64_t &dim : map)
      dim = dim < 0 ? -1 : 1 - dim;
    to.map = map;
    create(Fn::Copy, to, turned);
    return true;
  }

  /// Two transpositions and a pass for each element of a row, against three accesses of the scalar
  /// unit and an operation for each element.
  bool isFaster(int64_t rows, int64_t columns, int64_t bytes) const {
    double repeats = double(llvm::divideCeil(bytes, int64_t(chip.vecRepeatBytes)));
    double strips = double(llvm::divideCeil(columns, 16) + llvm::divideCeil(rows, 16));
    double turns = 2 * repeats * chip.vecCycles("transpose", 4) + strips * chip.vecFixed;
    double passes = repeats * chip.vecCycles("add", 4) +
                    double(columns) * (chip.vecFixed + chip.vecBarrierTail);
    return turns + passes < double(rows * columns) * (3 * chip.scalarElement + 1);
  }

  /// Bytes of all tiles in UB, as if none shared its place.
  int64_t bytesInUb() {
    int64_t bytes = 0;
    function.walk([&](npu::AllocOp alloc) {
      if (npu::spaceOf(alloc.getResult()) == npu::Space::UB)
        bytes += int64_t(alloc.getSlots()) * npu::slotBytes(alloc.getType(), /*padRows=*/true);
    });
    return bytes;
  }

  /// Numbers of 32 bits, converted.
  bool count(npu::IotaOp op) {
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

  /// Sizes of elements first, then their sum or maximum, in the type in which it is kept; then, if
  /// the destination goes on, that with what it held.
  bool reduce(npu::ReduceOp op) {
    Box to = op.getBox(0), from = op.getBox(1);
    ReduceKind kind = op.getKind();
    auto rank = int64_t(staticSizes(from).size());
    Operand src = operandOf(from, llvm::to_vector(llvm::seq<int64_t>(0, rank)));
    Operand dst = operandOf(to, llvm::to_vector(llvm::seq<int64_t>(0, to.sizes.size())));
    Type type = src.element(), element = dst.element();
    if (isWide(type) || isWide(element) || type.isUnsignedInteger() || type.isInteger(1) ||
        element != type)
      return false;
    bool isAbs = kind == ReduceKind::AbsSum || kind == ReduceKind::AbsMax;
    bool sums = kind == ReduceKind::Sum || kind == ReduceKind::AbsSum || kind == ReduceKind::Prod;
    Type wide = type.isBF16() || (type.isF16() && sums) ? f32() : type;
    if (isa<IntegerType>(type) && type.getIntOrFloatBitWidth() < 16)
      wide = builder.getI32Type();
    SmallVector<int64_t> sizes = staticSizes(from);
    SmallVector<int64_t> dims; // from the last one outward, as their order is
    for (int64_t dim : llvm::reverse(llvm::seq<int64_t>(0, rank)))
      if (sizes[dim] != 1 && llvm::is_contained(op.getDims(), dim))
        dims.push_back(dim);
    if (!isAbs && wide == type && !op.getAccumulate() && dims.size() == 1)
      return false;
    Operand in = widened(src, wide);
    if (isAbs) {
      Operand positive = temporary(wide, src);
      create(Fn::Abs, positive, in);
      in = positive;
      kind = kind == ReduceKind::AbsSum ? ReduceKind::Sum : ReduceKind::Max;
    }
    bool isDirect = wide == element && !op.getAccumulate();
    Operand out = isDirect ? dst : temporary(wide, dst);
    while (dims.size() > 1) {
      Operand rest = in;
      rest.sizes[dims.front()] = builder.create<arith::ConstantIndexOp>(loc, 1);
      rest = temporary(wide, rest);
      SmallVector<int64_t> map(rest.map);
      map[dims.front()] = -1;
      reduceInto(kind, rest, in, dims.front(), map);
      in = rest;
      dims.erase(dims.begin());
    }
    if (dims.empty())
      copyOver(op, out, in);
    else
      reduceInto(kind, out, in, op.getDims(), op.getDstMap());
    if (isDirect)
      return true;
    if (!op.getAccumulate()) {
      convertOrCreate(dst, out, Round::Rint);
      return true;
    }
    Operand sum = wide == element ? dst : out;
    create(combinationOf(kind), sum, {widened(dst, wide), out});
    if (wide != element)
      convertOrCreate(dst, sum, Round::Rint);
    return true;
  }

  void reduceInto(ReduceKind kind, const Operand &dst, const Operand &src, ArrayRef<int64_t> dims,
                  ArrayRef<int64_t> map) {
    SmallVector<Value> offsets(dst.offsets), sizes(dst.sizes);
    llvm::append_range(offsets, src.offsets);
    llvm::append_range(sizes, src.sizes);
    builder.create<npu::ReduceOp>(loc, ValueRange{dst.buffer, src.buffer}, offsets, sizes, kind,
                                  dims, map, /*accumulate=*/false);
  }

  /// A reduction of nothing but single elements.
  void copyOver(npu::ReduceOp op, const Operand &out, Operand in) {
    in.map.assign(in.sizes.size(), -1);
    for (auto [dim, follows] : llvm::enumerate(op.getDstMap()))
      if (follows >= 0)
        in.map[follows] = int64_t(dim);
    create(Fn::Copy, out, in);
  }

  static Fn combinationOf(ReduceKind kind) {
    switch (kind) {
    case ReduceKind::Max:
    case ReduceKind::AbsMax:
      return Fn::MaxNum;
    case ReduceKind::Min:
      return Fn::MinNum;
    case ReduceKind::Prod:
      return Fn::Mul;
    case ReduceKind::And:
      return Fn::And;
    case ReduceKind::Or:
      return Fn::Or;
    case ReduceKind::Xor:
      return Fn::Xor;
    case ReduceKind::Sum:
    case ReduceKind::AbsSum:
      break;
    }
    return Fn::Add;
  }
};

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
