// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element-wise functions: HIVM's own where it has one for the element type, else made of others.

#include "tilewright/to_hivm/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/StringSwitch.h"

#include <numbers>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::to_hivm;

namespace {

bool isBetween(Fn fn, Fn first, Fn last) { return int(fn) >= int(first) && int(fn) <= int(last); }

StringRef opName(Fn fn) {
  switch (fn) {
  case Fn::Abs:
    return "vabs";
  case Fn::Exp:
    return "vexp";
  case Fn::Log:
    return "vln";
  case Fn::Sqrt:
    return "vsqrt";
  case Fn::Rsqrt:
    return "vrsqrt";
  case Fn::Rec:
    return "vrec";
  case Fn::Relu:
    return "vrelu";
  case Fn::Not:
    return "vnot";
  case Fn::Add:
    return "vadd";
  case Fn::Sub:
    return "vsub";
  case Fn::Mul:
    return "vmul";
  case Fn::Div:
    return "vdiv";
  case Fn::Max:
  case Fn::MaxNum:
    return "vmax";
  case Fn::Min:
  case Fn::MinNum:
    return "vmin";
  case Fn::And:
    return "vand";
  case Fn::Or:
    return "vor";
  case Fn::Xor:
    return "vxor";
  case Fn::Shl:
    return "vshl";
  case Fn::Shr:
    return "vshr";
  default:
    return "";
  }
}

bool isNarrowFloat(Type type) { return type.isF16() || type.isBF16(); }

/// The element type in which HIVM computes `fn` on elements of `type`; null where it cannot.
Type computedIn(Fn fn, Type type) {
  MLIRContext *context = type.getContext();
  Type f32 = Float32Type::get(context);
  if (fn == Fn::And || fn == Fn::Or || fn == Fn::Xor || fn == Fn::Not)
    return isa<IntegerType>(type) ? type : Type();
  if (isa<FloatType>(type))
    return type.isBF16() ? f32 : type;
  unsigned width = type.getIntOrFloatBitWidth();
  switch (fn) {
  case Fn::Add:
  case Fn::Sub:
  case Fn::Mul:
  case Fn::Max:
  case Fn::MaxNum:
  case Fn::Min:
  case Fn::MinNum:
  case Fn::Abs:
    return width < 16 ? Type(IntegerType::get(context, 16)) : type;
  case Fn::Shl:
  case Fn::Shr:
    return width < 16 ? Type() : type;
  case Fn::Relu:
    return width <= 32 ? Type(IntegerType::get(context, 32)) : Type();
  default:
    return Type();
  }
}

} // namespace

/// dst = fn(sources), all over the domain.
LogicalResult Emitter::apply(Operation *op, Fn fn, Vec dst, ArrayRef<Vec> sources, Round round) {
  bool isSame = sources[0].element() == dst.element();
  if (isSame && (fn == Fn::Copy || fn == Fn::Cast))
    return copy(op, dst, sources[0]);
  if (fn == Fn::Copy) // bools, as bits and as bytes
    return cast(op, dst, sources[0], "rint");
  if (fn == Fn::Cast)
    return cast(op, dst, sources[0], stringifyRound(round));
  if (fn == Fn::Bitcast)
    return copy(op, dst, bits(sources[0], dst.element()));
  if (fn == Fn::Select)
    return select(op, dst, sources[0], sources[1], sources[2]);
  if (isBetween(fn, Fn::EQ, Fn::GE))
    return compare(op, fn, dst, sources[0], sources[1]);
  if (isBetween(fn, Fn::Add, Fn::Pow))
    return binary(op, fn, dst, sources[0], sources[1]);
  return unary(op, fn, dst, sources[0]);
}

/// The op copies a tile that a load writes. Where the other compiler plans, it would make one load
/// of the two, whatever flags are between them, were the copy not an `or` of the tile with itself.
static bool copiesLoaded(Operation *op) {
  auto copy = dyn_cast_or_null<npu::ElementwiseOp>(op);
  return copy && copy.getNumBoxes() == 2 &&
         !cast<MemRefType>(copy.getBox(1).buffer.getType()).getElementType().isInteger(1) &&
         llvm::any_of(copy.getBox(1).buffer.getUsers(), llvm::IsaPred<npu::LoadOp>);
}

/// The same memory with elements of another type, which are equally wide.
Emitter::Vec Emitter::bits(Vec src, Type element) {
  auto type = cast<MemRefType>(src.value.getType());
  auto other = MemRefType::get(type.getShape(), element, type.getLayout(), type.getMemorySpace());
  return {emit("bitcast", src.value, {}, {}, TypeRange(other))->getResult(0), src.isUnsigned};
}

LogicalResult Emitter::copy(Operation *op, Vec dst, Vec src) {
  if (src.isScalar()) {
    FailureOr<Vec> same = as(op, src, dst.element());
    if (failed(same))
      return failure();
    fill(dst, same->value);
    return success();
  }
  SmallVector<int64_t> axes = broadcastAxes(src);
  if (axes.empty() && frame.options.form == Form::Flags && copiesLoaded(op)) {
    unsigned width = src.element().getIntOrFloatBitWidth();
    auto plain = [&](Vec vec) {
      return isa<FloatType>(vec.element()) ? bits(vec, builder.getIntegerType(width)) : vec;
    };
    Vec same = plain(src);
    emitVector("vor", {same, same}, plain(dst), {}, {2, 1, 0});
  } else if (axes.empty())
    emitVector("copy", src, dst);
  else
    emitVector("vbrc", src, dst, array("broadcast_dims", axes));
  return success();
}

/// Conversions that HIVM lacks go through a type that holds every value, or every value whose
/// result is finite.
LogicalResult Emitter::cast(Operation *op, Vec dst, Vec src, StringRef round) {
  Type from = src.element(), to = dst.element();
  if (src.isScalar() || from == to)
    return copy(op, dst, src);
  auto isWide = [](Vec vec) {
    return vec.isUnsigned && isa<IntegerType>(vec.element()) &&
           vec.element().getIntOrFloatBitWidth() > 8;
  };
  bool narrows = isa<IntegerType>(from) && isa<IntegerType>(to) &&
                 to.getIntOrFloatBitWidth() < from.getIntOrFloatBitWidth();
  if ((isWide(src) && !narrows && !to.isInteger(1)) || (isWide(dst) && isa<FloatType>(from)))
    return refuse(op, "conversions of unsigned integers of more than 8 bits");
  if (to.isInteger(1)) // not zero
    return compare(op, Fn::NE, dst, src, number(from, 0));
  Type i32 = builder.getI32Type(), f16 = builder.getF16Type(), f32 = builder.getF32Type();
  auto width = [](Type type) { return type.getIntOrFloatBitWidth(); };
  bool isWiden = false;
  Type through;
  if (isa<IntegerType>(from) && isa<IntegerType>(to)) {
    if (width(from) < width(to)) {
      isWiden = true;
      if (src.isUnsigned && width(from) == 8)
        through = f16;
      else if (width(to) == 64 && width(from) < 32)
        through = i32;
    } else {
      return wrap(op, dst, src);
    }
  } else if (isa<IntegerType>(from)) {
    if (width(from) == 8)
      through = to.isF16() ? Type() : to.isF32() ? f16 : f32;
    else if (width(from) != 1 && isNarrowFloat(to) && !(width(from) == 16 && to.isF16()))
      through = f32;
  } else if (isa<IntegerType>(to)) {
    if (from.isBF16() ? width(to) != 32 : from.isF16() && width(to) == 64)
      through = f32;
  } else if (isNarrowFloat(from) && isNarrowFloat(to)) {
    through = f32;
  }
  if (through) {
    FailureOr<Vec> middle = as(op, src, through);
    if (failed(middle))
      return failure();
    return cast(op, dst, *middle, round);
  }
  if (from.isF32() && to.isInteger(8)) { // which the other compiler makes two of, without a barrier
    Vec half = temporary(f16);
    emitVector("vcast", broadcastAxes(src).empty() ? src : full(src), half,
               word("round_mode", "round_mode", round), {1, 1, 0});
    return cast(op, dst, half, round);
  }
  bool rounds = isa<FloatType>(from) && (isa<IntegerType>(to) || width(to) < width(from));
  SmallVector<NamedAttribute> attributes = {
      word("round_mode", "round_mode", rounds && !isWiden ? round : "rint")};
  if ((src.isUnsigned && from.isInteger(8)) || (dst.isUnsigned && to.isInteger(8)))
    attributes.push_back(word("cast", "cast", "cast_unsigned"));
  Vec whole = broadcastAxes(src).empty() || !broadcastAxes(dst).empty() ? src : full(src);
  emitVector("vcast", whole, dst, attributes, {1, 1, 0});
  return success();
}

/// To a narrower integer: shifts keep the low bits with their sign, after which every step is
/// exact.
LogicalResult Emitter::wrap(Operation *op, Vec dst, Vec src) {
  unsigned from = src.element().getIntOrFloatBitWidth(), to = dst.element().getIntOrFloatBitWidth();
  Vec low = temporary(src.element()), kept = temporary(src.element());
  Vec by = number(src.element(), from - to);
  if (failed(binary(op, Fn::Shl, low, full(src), by)) || failed(binary(op, Fn::Shr, kept, low, by)))
    return failure();
  while (kept.element().getIntOrFloatBitWidth() > std::max(to, 16u)) {
    unsigned half = kept.element().getIntOrFloatBitWidth() / 2;
    Vec next = half == to ? dst : temporary(builder.getIntegerType(half));
    emitVector("vcast", kept, next, word("round_mode", "round_mode", "rint"), {1, 1, 0});
    kept = next;
  }
  if (to > 8)
    return success();
  Vec half = temporary(builder.getF16Type());
  emitVector("vcast", kept, half, word("round_mode", "round_mode", "rint"), {1, 1, 0});
  emitVector("vcast", half, dst, word("round_mode", "round_mode", "rint"), {1, 1, 0});
  return success();
}

LogicalResult Emitter::unary(Operation *op, Fn fn, Vec dst, Vec src) {
  Type element = dst.element();
  Vec source = src.isScalar() ? full(src) : src;
  if (StringRef name = opName(fn); !name.empty()) {
    Type type = computedIn(fn, element);
    if (!type)
      return refuse(op, stringifyFn(fn) + " of this element type");
    FailureOr<Vec> in = as(op, source, type);
    if (failed(in))
      return failure();
    Vec out = type == element ? dst : temporary(type);
    SmallVector<NamedAttribute> attributes;
    if (SmallVector<int64_t> axes = broadcastAxes(*in); !axes.empty())
      attributes.push_back(array("broadcast", axes));
    emitVector(name, *in, out, attributes, {1, 1, 0});
    return type == element ? success() : cast(op, dst, out, "rint");
  }
  if (fn == Fn::Neg)
    return binary(op, Fn::Mul, dst, source, number(element, -1));
  if (!isa<FloatType>(source.element()))
    return refuse(op, stringifyFn(fn) + " of this element type");

  // The rest is computed in f32 from what there is.
  FailureOr<Vec> given = as(op, source, builder.getF32Type());
  if (failed(given))
    return failure();
  Vec x = full(*given);
  Type f32 = builder.getF32Type();
  auto num = [&](double value) { return number(f32, value); };
  auto two = [&](Fn fn, Vec a, Vec b) {
    Vec result = temporary(f32);
    (void)binary(op, fn, result, a, b);
    return result;
  };
  auto one = [&](Fn fn, Vec a) {
    Vec result = temporary(f32);
    (void)unary(op, fn, result, a);
    return result;
  };
  auto rounded = [&](Vec a, StringRef mode) {
    Vec result = temporary(f32);
    emitVector("vcast", a, result, word("round_mode", "round_mode", mode), {1, 1, 0});
    return result;
  };
  /// sin(x): x - k*pi, an odd polynomial, the sign of (-1)^k.
  auto sine = [&](Vec x) {
    Vec k = rounded(two(Fn::Mul, x, num(1 / std::numbers::pi)), "rint");
    Vec r = x;
    for (double part : {3.140625, 9.67502593994140625e-4, 1.509957990978376e-7})
      r = two(Fn::Sub, r, two(Fn::Mul, k, num(part)));
    Vec square = two(Fn::Mul, r, r), sum = two(Fn::Mul, square, num(1.0 / 362880));
    for (double factor : {-1.0 / 5040, 1.0 / 120, -1.0 / 6})
      sum = two(Fn::Mul, two(Fn::Add, sum, num(factor)), square);
    Vec value = two(Fn::Mul, two(Fn::Add, sum, num(1)), r);
    Vec half = rounded(two(Fn::Mul, k, num(0.5)), "floor");
    Vec odd = two(Fn::Sub, k, two(Fn::Mul, half, num(2)));
    return two(Fn::Mul, value, two(Fn::Add, two(Fn::Mul, odd, num(-2)), num(1)));
  };
  auto cosine = [&](Vec x) { return sine(two(Fn::Add, x, num(std::numbers::pi / 2))); };
  auto done = [&](Vec result) { return cast(op, dst, result, "rint"); };
  // With two steps, both may use the destination's memory.
  bool hasTwoSteps = fn == Fn::Exp2 || fn == Fn::Log2 || fn == Fn::Log10;
  bool isPlace = dst.element() == f32 && broadcastAxes(dst).empty();
  Vec place = isPlace || !hasTwoSteps ? dst : temporary(f32);
  auto scaled = [&](double factor) {
    (void)binary(op, Fn::Mul, place, x, num(factor));
    return place;
  };
  auto lastly = [&](LogicalResult made) {
    return failed(made) || place.value == dst.value ? made : done(place);
  };
  auto whole = [&](StringRef mode) {
    if (!isPlace)
      return done(rounded(x, mode));
    emitVector("vcast", x, dst, word("round_mode", "round_mode", mode), {1, 1, 0});
    return success();
  };
  switch (fn) {
  case Fn::Exp2:
    return lastly(unary(op, Fn::Exp, place, scaled(std::numbers::ln2)));
  case Fn::Log2:
    (void)unary(op, Fn::Log, place, x);
    return lastly(binary(op, Fn::Mul, place, place, num(std::numbers::log2e)));
  case Fn::Log10:
    (void)unary(op, Fn::Log, place, x);
    return lastly(binary(op, Fn::Mul, place, place, num(std::numbers::log10e)));
  case Fn::Log1p:
    return done(one(Fn::Log, two(Fn::Add, x, num(1))));
  case Fn::Sigmoid: {
    Vec e = one(Fn::Exp, two(Fn::Mul, x, num(-1)));
    return done(two(Fn::Div, num(1), two(Fn::Add, e, num(1))));
  }
  case Fn::Tanh: { // 1 - 2 / (exp(2x) + 1), exact at both ends
    Vec e = one(Fn::Exp, two(Fn::Mul, x, num(2)));
    Vec q = two(Fn::Div, num(-2), two(Fn::Add, e, num(1)));
    return done(two(Fn::Add, q, num(1)));
  }
  case Fn::Sin:
    return done(sine(x));
  case Fn::Cos:
    return done(cosine(x));
  case Fn::Tan:
    return done(two(Fn::Div, sine(x), cosine(x)));
  case Fn::Floor:
    return whole("floor");
  case Fn::Ceil:
    return whole("ceil");
  case Fn::Nearest:
    return whole("round");
  case Fn::Trunc:
    return whole("trunc");
  case Fn::Rint:
    return whole("rint");
  case Fn::IsNan:
    return compare(op, Fn::NE, dst, x, x);
  default:
    return refuse(op, stringifyFn(fn));
  }
}

LogicalResult Emitter::binary(Operation *op, Fn fn, Vec dst, Vec a, Vec b) {
  Type element = dst.element();
  StringRef name = opName(fn);
  if ((fn == Fn::Div || fn == Fn::FloorDiv) && isa<FloatType>(element)) {
    name = "vdiv";
  } else if (isa<IntegerType>(element) && !a.isUnsigned &&
             (fn == Fn::Div || isBetween(fn, Fn::Rem, Fn::FloorMod))) {
    return quotient(op, fn, dst, a, b);
  }
  Type type = name.empty() ? Type() : computedIn(fn == Fn::FloorDiv ? Fn::Div : fn, element);
  bool isUnordered =
      !a.isUnsigned || isBetween(fn, Fn::Add, Fn::Mul) || isBetween(fn, Fn::And, Fn::Shl);
  if (!type || (!isUnordered && element.getIntOrFloatBitWidth() > 8))
    return refuse(op, stringifyFn(fn) + " of this element type");

  // A scalar comes second, but for differences and quotients, which know it first too.
  bool commutes =
      fn != Fn::Sub && fn != Fn::Div && fn != Fn::FloorDiv && fn != Fn::Shl && fn != Fn::Shr;
  if (a.isScalar() && b.isScalar())
    a = full(a);
  if (a.isScalar() && commutes)
    std::swap(a, b);
  if (a.isScalar() && (fn == Fn::Shl || fn == Fn::Shr))
    a = full(a);
  bool takesScalar = !isBetween(fn, Fn::And, Fn::Xor);
  FailureOr<Vec> left = as(op, a, type), right = as(op, takesScalar ? b : full(b), type);
  if (failed(left) || failed(right))
    return failure();
  Vec out = type == element && fn != Fn::FloorDiv ? dst : temporary(type);
  SmallVector<NamedAttribute> attributes;
  if (SmallVector<int64_t> axes = broadcastAxes({*left, *right}); !axes.empty())
    attributes.push_back(array("broadcast", axes));
  emitVector(name, {*left, *right}, out, attributes, {2, 1, 0});
  if (fn == Fn::FloorDiv) {
    Vec whole = type == element ? dst : temporary(type);
    emitVector("vcast", out, whole, word("round_mode", "round_mode", "floor"), {1, 1, 0});
    out = whole;
  }
  return type == element ? success() : cast(op, dst, out, "rint");
}

/// Integer quotients and remainders, in i64, the only integer type that HIVM divides.
LogicalResult Emitter::quotient(Operation *op, Fn fn, Vec dst, Vec a, Vec b) {
  Type i64 = builder.getI64Type();
  FailureOr<Vec> left = as(op, a, i64), right = as(op, b, i64);
  if (failed(left) || failed(right))
    return failure();
  Vec x = full(*left), y = full(*right);
  auto two = [&](Fn fn, Vec a, Vec b) {
    Vec result = temporary(i64);
    (void)binary(op, fn, result, a, b);
    return result;
  };
  Vec q = temporary(i64);
  emitVector("vdiv", {x, y}, q, {}, {2, 1, 0});
  if (fn == Fn::Div)
    return cast(op, dst, q, "rint");
  Vec r = two(Fn::Sub, x, two(Fn::Mul, q, y));
  if (fn == Fn::Rem)
    return cast(op, dst, r, "rint");
  // Where a remainder is left and its sign is not the divisor's: one less, and once more the
  // divisor.
  Vec size = temporary(i64);
  if (failed(unary(op, Fn::Abs, size, r)))
    return failure();
  Vec isLeft = two(Fn::Min, size, number(i64, 1));
  Vec differs = two(Fn::Shr, two(Fn::Xor, r, y), number(i64, 63));
  Vec less = two(Fn::Mul, isLeft, differs);
  if (fn == Fn::FloorDiv)
    return cast(op, dst, two(Fn::Add, q, less), "rint");
  return cast(op, dst, two(Fn::Sub, r, two(Fn::Mul, less, y)), "rint");
}

LogicalResult Emitter::compare(Operation *op, Fn fn, Vec dst, Vec a, Vec b) {
  bool hasOrder = fn != Fn::EQ && fn != Fn::NE;
  if (hasOrder && (a.isUnsigned || b.isUnsigned) && a.element().getIntOrFloatBitWidth() > 8)
    return refuse(op, "an order of unsigned integers of more than 8 bits");
  if (a.isScalar() && b.isScalar())
    a = full(a);
  if (a.isScalar()) { // the other way round
    static const std::pair<Fn, Fn> mirrored[] = {
        {Fn::LT, Fn::GT}, {Fn::LE, Fn::GE}, {Fn::GT, Fn::LT}, {Fn::GE, Fn::LE}};
    for (auto [from, to] : mirrored)
      if (fn == from) {
        fn = to;
        break;
      }
    std::swap(a, b);
  }
  Type element = a.element();
  Type type = element;
  if (element.isBF16())
    type = builder.getF32Type();
  else if (isa<IntegerType>(element) && element.getIntOrFloatBitWidth() < 16)
    type = builder.getF16Type(); // exact
  FailureOr<Vec> left = as(op, a, type), right = as(op, b, type);
  if (failed(left) || failed(right))
    return failure();
  Vec flags = dst.element().isInteger(1) ? dst : temporary(builder.getI1Type());
  emitVector("vcmp", {full(*left), right->isScalar() ? *right : full(*right)}, flags,
             word("compare_mode", "compare_mode", stringifyFn(fn)), {2, 1});
  return dst.element().isInteger(1) ? success() : cast(op, dst, flags, "rint");
}

LogicalResult Emitter::select(Operation *op, Vec dst, Vec condition, Vec a, Vec b) {
  Vec flags = condition;
  if (condition.isScalar())
    return refuse(op, "a choice by a scalar");
  if (!condition.element().isInteger(1)) {
    flags = temporary(builder.getI1Type());
    if (failed(compare(op, Fn::NE, flags, condition, number(condition.element(), 0))))
      return failure();
  }
  FailureOr<Vec> left = as(op, a, dst.element()), right = as(op, b, dst.element());
  if (failed(left) || failed(right))
    return failure();
  auto choice = [&](Vec vec) { return vec.isScalar() ? vec : full(vec); };
  emitVector("vsel", {full(flags), choice(*left), choice(*right)}, dst, {}, {3, 1, 0});
  return success();
}
