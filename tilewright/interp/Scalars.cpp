// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// arith, math and affine: ops without memory. Each is a function of one to three scalars, applied
// once, or to every lane inside tile.parallel.

#include "tilewright/interp/Machine.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;

namespace tilewright::interp {

namespace {

//===-- One to three operands -----------------------------------------------------------------===//

template <class F>
void map1(Machine &m, const Node &node, F f) {
  const Slot &a = m.slot(node.operands[0]);
  Slot &result = m.slot(node.results[0]);
  if (!a.varying)
    return result.set(f(a.uniform));
  std::vector<Scalar> &lanes = result.makeVarying(a.lanes.size());
  for (size_t l = 0; l < lanes.size(); ++l)
    lanes[l] = f(a.lanes[l]);
}

template <class F>
void map2(Machine &m, const Node &node, F f) {
  const Slot &a = m.slot(node.operands[0]), &b = m.slot(node.operands[1]);
  Slot &result = m.slot(node.results[0]);
  if (!a.varying && !b.varying)
    return result.set(f(a.uniform, b.uniform));
  std::vector<Scalar> &lanes = result.makeVarying(m.lanes->count);
  size_t count = lanes.size();
  if (a.varying && b.varying)
    for (size_t l = 0; l < count; ++l)
      lanes[l] = f(a.lanes[l], b.lanes[l]);
  else if (a.varying)
    for (size_t l = 0; l < count; ++l)
      lanes[l] = f(a.lanes[l], b.uniform);
  else
    for (size_t l = 0; l < count; ++l)
      lanes[l] = f(a.uniform, b.lanes[l]);
}

template <class F>
void map3(Machine &m, const Node &node, F f) {
  const Slot &a = m.slot(node.operands[0]), &b = m.slot(node.operands[1]),
             &c = m.slot(node.operands[2]);
  Slot &result = m.slot(node.results[0]);
  if (!a.varying && !b.varying && !c.varying)
    return result.set(f(a.uniform, b.uniform, c.uniform));
  std::vector<Scalar> &lanes = result.makeVarying(m.lanes->count);
  for (size_t l = 0; l < lanes.size(); ++l)
    lanes[l] = f(a.at(l), b.at(l), c.at(l));
}

Scalar ofInteger(int64_t x) {
  Scalar scalar;
  scalar.integer = x;
  return scalar;
}
Scalar ofReal(double x) {
  Scalar scalar;
  scalar.real = x;
  return scalar;
}

//===-- Integers ------------------------------------------------------------------------------===//

/// F: (Kind, int64_t, int64_t) -> int64_t, on operands as scalars are kept; the result wraps.
template <auto F>
void integer2(Machine &m, const Node &node) {
  Kind kind = node.kind;
  map2(m, node, [kind](Scalar a, Scalar b) {
    return ofInteger(wrapTo(kind, F(kind, a.integer, b.integer)));
  });
}
template <auto F>
void integer1(Machine &m, const Node &node) {
  Kind kind = node.kind;
  map1(m, node, [kind](Scalar a) { return ofInteger(wrapTo(kind, F(kind, a.integer))); });
}

int64_t addI(Kind, int64_t a, int64_t b) { return support::addWrap(a, b); }
int64_t subI(Kind, int64_t a, int64_t b) { return support::subWrap(a, b); }
int64_t mulI(Kind, int64_t a, int64_t b) { return support::mulWrap(a, b); }
int64_t andI(Kind, int64_t a, int64_t b) { return a & b; }
int64_t orI(Kind, int64_t a, int64_t b) { return a | b; }
int64_t xorI(Kind, int64_t a, int64_t b) { return a ^ b; }
int64_t divSI(Kind k, int64_t a, int64_t b) {
  return support::divTrunc(signedOf(k, a), signedOf(k, b));
}
int64_t remSI(Kind k, int64_t a, int64_t b) {
  return support::remTrunc(signedOf(k, a), signedOf(k, b));
}
int64_t floorDivSI(Kind k, int64_t a, int64_t b) {
  return support::floorDiv(signedOf(k, a), signedOf(k, b));
}
int64_t ceilDivSI(Kind k, int64_t a, int64_t b) {
  a = signedOf(k, a), b = signedOf(k, b);
  int64_t quotient = support::divTrunc(a, b), rest = support::remTrunc(a, b);
  return rest != 0 && (rest < 0) == (b < 0) ? quotient + 1 : quotient;
}
int64_t divUI(Kind k, int64_t a, int64_t b) {
  return support::divTrunc(unsignedOf(k, a), unsignedOf(k, b));
}
int64_t remUI(Kind k, int64_t a, int64_t b) {
  return support::remTrunc(unsignedOf(k, a), unsignedOf(k, b));
}
int64_t ceilDivUI(Kind k, int64_t a, int64_t b) { return divUI(k, a, b) + (remUI(k, a, b) != 0); }
int64_t shiftLeftI(Kind, int64_t a, int64_t b) { return support::shiftLeft(a, b); }
int64_t shiftRightSI(Kind k, int64_t a, int64_t b) {
  return support::shiftRight(signedOf(k, a), b);
}
int64_t shiftRightUI(Kind k, int64_t a, int64_t b) {
  return support::shiftRight(unsignedOf(k, a), unsignedOf(k, b));
}
int64_t maxSI(Kind k, int64_t a, int64_t b) { return std::max(signedOf(k, a), signedOf(k, b)); }
int64_t minSI(Kind k, int64_t a, int64_t b) { return std::min(signedOf(k, a), signedOf(k, b)); }
int64_t maxUI(Kind k, int64_t a, int64_t b) { return std::max(unsignedOf(k, a), unsignedOf(k, b)); }
int64_t minUI(Kind k, int64_t a, int64_t b) { return std::min(unsignedOf(k, a), unsignedOf(k, b)); }
int64_t powI(Kind k, int64_t a, int64_t b) {
  return support::powWrap(signedOf(k, a), signedOf(k, b));
}
int64_t absI(Kind k, int64_t a) { return support::absWrap(signedOf(k, a)); }
int64_t leadingZeros(Kind k, int64_t a) {
  int width = k == Kind::I1 ? 1 : byteSize(k) * 8;
  uint64_t bits = unsignedOf(k, a);
  return bits ? __builtin_clzll(bits) - (64 - width) : width;
}
int64_t trailingZeros(Kind k, int64_t a) {
  int width = k == Kind::I1 ? 1 : byteSize(k) * 8;
  uint64_t bits = unsignedOf(k, a);
  return bits ? __builtin_ctzll(bits) : width;
}
int64_t populationCount(Kind k, int64_t a) { return __builtin_popcountll(unsignedOf(k, a)); }

bool compareI(arith::CmpIPredicate predicate, Kind k, int64_t a, int64_t b) {
  int64_t sa = signedOf(k, a), sb = signedOf(k, b);
  uint64_t ua = unsignedOf(k, a), ub = unsignedOf(k, b);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return sa < sb;
  case arith::CmpIPredicate::sle:
    return sa <= sb;
  case arith::CmpIPredicate::sgt:
    return sa > sb;
  case arith::CmpIPredicate::sge:
    return sa >= sb;
  case arith::CmpIPredicate::ult:
    return ua < ub;
  case arith::CmpIPredicate::ule:
    return ua <= ub;
  case arith::CmpIPredicate::ugt:
    return ua > ub;
  case arith::CmpIPredicate::uge:
    return ua >= ub;
  }
  return false;
}

void runCmpI(Machine &m, const Node &node) {
  auto predicate = static_cast<arith::CmpIPredicate>(node.number);
  Kind kind = node.operandKind;
  map2(m, node, [=](Scalar a, Scalar b) {
    return ofInteger(compareI(predicate, kind, a.integer, b.integer));
  });
}

//===-- Floats --------------------------------------------------------------------------------===//

/// F is a functor with operator() for float and double; f16 and bf16 are computed in f32 and
/// rounded.
template <class F>
void float1(Machine &m, const Node &node) {
  Kind kind = node.kind;
  if (kind == Kind::F64)
    return map1(m, node, [](Scalar a) { return ofReal(F()(a.real)); });
  if (kind == Kind::F32)
    return map1(m, node, [](Scalar a) { return ofReal(F()(float(a.real))); });
  map1(m, node, [kind](Scalar a) { return ofReal(roundTo(kind, F()(float(a.real)))); });
}
template <class F>
void float2(Machine &m, const Node &node) {
  Kind kind = node.kind;
  if (kind == Kind::F64)
    return map2(m, node, [](Scalar a, Scalar b) { return ofReal(F()(a.real, b.real)); });
  if (kind == Kind::F32)
    return map2(m, node,
                [](Scalar a, Scalar b) { return ofReal(F()(float(a.real), float(b.real))); });
  map2(m, node, [kind](Scalar a, Scalar b) {
    return ofReal(roundTo(kind, F()(float(a.real), float(b.real))));
  });
}

#define TILEWRIGHT_FLOAT1(Name, expression)                                                        \
  struct Name {                                                                                    \
    template <class T>                                                                             \
    T operator()(T x) const {                                                                      \
      return expression;                                                                           \
    }                                                                                              \
  };
#define TILEWRIGHT_FLOAT2(Name, expression)                                                        \
  struct Name {                                                                                    \
    template <class T>                                                                             \
    T operator()(T a, T b) const {                                                                 \
      return expression;                                                                           \
    }                                                                                              \
  };
TILEWRIGHT_FLOAT1(NegF, -x)
TILEWRIGHT_FLOAT1(AbsF, support::abs(x))
TILEWRIGHT_FLOAT1(CeilF, support::ceil(x))
TILEWRIGHT_FLOAT1(FloorF, support::floor(x))
TILEWRIGHT_FLOAT1(TruncF, support::trunc(x))
TILEWRIGHT_FLOAT1(RoundF, support::round(x))
TILEWRIGHT_FLOAT1(RoundEvenF, support::rint(x))
TILEWRIGHT_FLOAT1(ExpF, support::exp(x))
TILEWRIGHT_FLOAT1(Exp2F, support::exp2(x))
TILEWRIGHT_FLOAT1(LogF, support::log(x))
TILEWRIGHT_FLOAT1(Log2F, support::log2(x))
TILEWRIGHT_FLOAT1(Log10F, support::log10(x))
TILEWRIGHT_FLOAT1(Log1pF, support::log1p(x))
TILEWRIGHT_FLOAT1(SqrtF, support::sqrt(x))
TILEWRIGHT_FLOAT1(RsqrtF, support::rsqrt(x))
TILEWRIGHT_FLOAT1(SinF, support::sin(x))
TILEWRIGHT_FLOAT1(CosF, support::cos(x))
TILEWRIGHT_FLOAT1(TanF, support::tan(x))
TILEWRIGHT_FLOAT1(TanhF, support::tanh(x))
TILEWRIGHT_FLOAT1(ErfF, support::erf(x))
TILEWRIGHT_FLOAT2(AddF, a + b)
TILEWRIGHT_FLOAT2(SubF, a - b)
TILEWRIGHT_FLOAT2(MulF, a *b)
TILEWRIGHT_FLOAT2(DivF, a / b)
TILEWRIGHT_FLOAT2(RemF, support::remainder(a, b))
TILEWRIGHT_FLOAT2(MaximumF, support::maxOf(a, b))
TILEWRIGHT_FLOAT2(MinimumF, support::minOf(a, b))
TILEWRIGHT_FLOAT2(MaxNumF, support::maxNum(a, b))
TILEWRIGHT_FLOAT2(MinNumF, support::minNum(a, b))
TILEWRIGHT_FLOAT2(PowF, support::pow(a, b))
TILEWRIGHT_FLOAT2(CopySignF, std::copysign(a, b))
#undef TILEWRIGHT_FLOAT1
#undef TILEWRIGHT_FLOAT2

void runFma(Machine &m, const Node &node) {
  Kind kind = node.kind;
  if (kind == Kind::F64)
    return map3(m, node, [](Scalar a, Scalar b, Scalar c) {
      return ofReal(std::fma(a.real, b.real, c.real));
    });
  map3(m, node, [kind](Scalar a, Scalar b, Scalar c) {
    return ofReal(roundTo(kind, std::fma(float(a.real), float(b.real), float(c.real))));
  });
}

/// A float to an integer power: as powf with the exponent converted.
void runFPowI(Machine &m, const Node &node) {
  Kind kind = node.kind;
  map2(m, node, [kind](Scalar a, Scalar b) {
    if (kind == Kind::F64)
      return ofReal(support::pow(a.real, double(b.integer)));
    return ofReal(roundTo(kind, support::pow(float(a.real), float(b.integer))));
  });
}

bool compareF(arith::CmpFPredicate predicate, double a, double b) {
  bool unordered = a != a || b != b;
  switch (predicate) {
  case arith::CmpFPredicate::AlwaysFalse:
    return false;
  case arith::CmpFPredicate::OEQ:
    return a == b;
  case arith::CmpFPredicate::OGT:
    return a > b;
  case arith::CmpFPredicate::OGE:
    return a >= b;
  case arith::CmpFPredicate::OLT:
    return a < b;
  case arith::CmpFPredicate::OLE:
    return a <= b;
  case arith::CmpFPredicate::ONE:
    return !unordered && a != b;
  case arith::CmpFPredicate::ORD:
    return !unordered;
  case arith::CmpFPredicate::UEQ:
    return unordered || a == b;
  case arith::CmpFPredicate::UGT:
    return unordered || a > b;
  case arith::CmpFPredicate::UGE:
    return unordered || a >= b;
  case arith::CmpFPredicate::ULT:
    return unordered || a < b;
  case arith::CmpFPredicate::ULE:
    return unordered || a <= b;
  case arith::CmpFPredicate::UNE:
    return a != b;
  case arith::CmpFPredicate::UNO:
    return unordered;
  case arith::CmpFPredicate::AlwaysTrue:
    break;
  }
  return true;
}

void runCmpF(Machine &m, const Node &node) {
  auto predicate = static_cast<arith::CmpFPredicate>(node.number);
  map2(m, node, [=](Scalar a, Scalar b) { return ofInteger(compareF(predicate, a.real, b.real)); });
}

//===-- Conversions ---------------------------------------------------------------------------===//

/// trunci, extsi, index_cast: the value wraps to the result's width.
int64_t extendSigned(Kind from, int64_t x) { return signedOf(from, x); }
int64_t extendUnsigned(Kind from, int64_t x) { return unsignedOf(from, x); }

template <auto Extend>
void runIntegerCast(Machine &m, const Node &node) {
  Kind from = node.operandKind, to = node.kind;
  map1(m, node, [=](Scalar a) { return ofInteger(wrapTo(to, Extend(from, a.integer))); });
}

void runFloatCast(Machine &m, const Node &node) {
  Kind kind = node.kind;
  map1(m, node, [kind](Scalar a) { return ofReal(roundTo(kind, a.real)); });
}

void runSignedToFloat(Machine &m, const Node &node) {
  Kind from = node.operandKind, kind = node.kind;
  map1(m, node, [=](Scalar a) {
    int64_t x = signedOf(from, a.integer);
    return ofReal(kind == Kind::F32 ? float(x) : roundTo(kind, double(x)));
  });
}
void runUnsignedToFloat(Machine &m, const Node &node) {
  Kind from = node.operandKind, kind = node.kind;
  map1(m, node, [=](Scalar a) {
    uint64_t x = unsignedOf(from, a.integer);
    return ofReal(kind == Kind::F32 ? float(x) : roundTo(kind, double(x)));
  });
}

void runFloatToSigned(Machine &m, const Node &node) {
  Kind kind = node.kind;
  map1(m, node, [kind](Scalar a) {
    return ofInteger(dispatch(kind, [&](auto tag) -> int64_t {
      using S = typename decltype(tag)::Type;
      if constexpr (std::is_integral_v<S>)
        return support::toInteger<S>(a.real);
      else
        return a.real != 0;
    }));
  });
}
void runFloatToUnsigned(Machine &m, const Node &node) {
  Kind kind = node.kind;
  map1(m, node, [kind](Scalar a) {
    return ofInteger(dispatch(kind, [&](auto tag) -> int64_t {
      using S = typename decltype(tag)::Type;
      if constexpr (std::is_integral_v<S>)
        return wrapTo(kind, support::toInteger<std::make_unsigned_t<S>>(a.real));
      else
        return a.real != 0;
    }));
  });
}

void runBitcast(Machine &m, const Node &node) {
  Kind from = node.operandKind, to = node.kind;
  map1(m, node, [=](Scalar a) {
    char bytes[8] = {};
    storeElement(from, bytes, 0, a);
    return loadElement(to, bytes, 0);
  });
}

//===-- The rest ------------------------------------------------------------------------------===//

void runConstant(Machine &m, const Node &node) { m.slot(node.results[0]).set(node.constant); }

void runSelect(Machine &m, const Node &node) {
  const Slot &condition = m.slot(node.operands[0]);
  if (!condition.varying)
    return m.assign(node.results[0], node.operands[condition.uniform.integer ? 1 : 2]);
  if (isa<MemRefType>(node.op->getResult(0).getType()))
    return m.fail(node, "a buffer cannot be chosen per point of a tile.parallel");
  map3(m, node, [](Scalar c, Scalar a, Scalar b) { return c.integer ? a : b; });
}

/// The value of an affine expression; division by zero gives 0, as elsewhere.
int64_t evaluate(AffineExpr expression, ArrayRef<int64_t> operands, unsigned numDims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expression))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expression))
    return operands[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression))
    return operands[numDims + symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expression);
  int64_t a = evaluate(binary.getLHS(), operands, numDims),
          b = evaluate(binary.getRHS(), operands, numDims);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return support::addWrap(a, b);
  case AffineExprKind::Mul:
    return support::mulWrap(a, b);
  case AffineExprKind::Mod:
    return support::floorMod(a, b);
  case AffineExprKind::FloorDiv:
    return support::floorDiv(a, b);
  default:
    return ceilDivSI(Kind::I64, a, b);
  }
}

/// Evaluates all results of the op's map and joins them with `join`.
template <class Join>
void runAffine(Machine &m, const Node &node, AffineMap map, Join join) {
  auto valueAt = [&](int64_t lane) {
    SmallVector<int64_t, 8> operands;
    for (uint32_t operand : node.operands)
      operands.push_back(m.slot(operand).at(lane).integer);
    int64_t result = evaluate(map.getResult(0), operands, map.getNumDims());
    for (AffineExpr expression : map.getResults().drop_front())
      result = join(result, evaluate(expression, operands, map.getNumDims()));
    return ofInteger(result);
  };
  Slot &result = m.slot(node.results[0]);
  bool varying =
      llvm::any_of(node.operands, [&](uint32_t operand) { return m.slot(operand).varying; });
  if (!varying)
    return result.set(valueAt(0));
  std::vector<Scalar> &lanes = result.makeVarying(m.lanes->count);
  for (size_t l = 0; l < lanes.size(); ++l)
    lanes[l] = valueAt(l);
}

void runAffineApply(Machine &m, const Node &node) {
  runAffine(m, node, cast<affine::AffineApplyOp>(node.op).getAffineMap(),
            [](int64_t a, int64_t) { return a; });
}
void runAffineMin(Machine &m, const Node &node) {
  runAffine(m, node, cast<affine::AffineMinOp>(node.op).getAffineMap(),
            [](int64_t a, int64_t b) { return std::min(a, b); });
}
void runAffineMax(Machine &m, const Node &node) {
  runAffine(m, node, cast<affine::AffineMaxOp>(node.op).getAffineMap(),
            [](int64_t a, int64_t b) { return std::max(a, b); });
}

} // namespace

ArrayRef<HandlerEntry> scalarHandlers() {
  static const HandlerEntry kEntries[] = {
      {"arith.constant", runConstant},
      {"arith.addi", integer2<addI>},
      {"arith.subi", integer2<subI>},
      {"arith.muli", integer2<mulI>},
      {"arith.divsi", integer2<divSI>},
      {"arith.divui", integer2<divUI>},
      {"arith.remsi", integer2<remSI>},
      {"arith.remui", integer2<remUI>},
      {"arith.floordivsi", integer2<floorDivSI>},
      {"arith.ceildivsi", integer2<ceilDivSI>},
      {"arith.ceildivui", integer2<ceilDivUI>},
      {"arith.andi", integer2<andI>},
      {"arith.ori", integer2<orI>},
      {"arith.xori", integer2<xorI>},
      {"arith.shli", integer2<shiftLeftI>},
      {"arith.shrsi", integer2<shiftRightSI>},
      {"arith.shrui", integer2<shiftRightUI>},
      {"arith.maxsi", integer2<maxSI>},
      {"arith.minsi", integer2<minSI>},
      {"arith.maxui", integer2<maxUI>},
      {"arith.minui", integer2<minUI>},
      {"arith.cmpi", runCmpI},
      {"arith.addf", float2<AddF>},
      {"arith.subf", float2<SubF>},
      {"arith.mulf", float2<MulF>},
      {"arith.divf", float2<DivF>},
      {"arith.remf", float2<RemF>},
      {"arith.negf", float1<NegF>},
      {"arith.maximumf", float2<MaximumF>},
      {"arith.minimumf", float2<MinimumF>},
      {"arith.maxnumf", float2<MaxNumF>},
      {"arith.minnumf", float2<MinNumF>},
      {"arith.cmpf", runCmpF},
      {"arith.select", runSelect},
      {"arith.extsi", runIntegerCast<extendSigned>},
      {"arith.trunci", runIntegerCast<extendSigned>},
      {"arith.extui", runIntegerCast<extendUnsigned>},
      {"arith.index_cast", runIntegerCast<extendSigned>},
      {"arith.index_castui", runIntegerCast<extendUnsigned>},
      {"arith.extf", runFloatCast},
      {"arith.truncf", runFloatCast},
      {"arith.sitofp", runSignedToFloat},
      {"arith.uitofp", runUnsignedToFloat},
      {"arith.fptosi", runFloatToSigned},
      {"arith.fptoui", runFloatToUnsigned},
      {"arith.bitcast", runBitcast},
      {"math.absf", float1<AbsF>},
      {"math.absi", integer1<absI>},
      {"math.ceil", float1<CeilF>},
      {"math.floor", float1<FloorF>},
      {"math.trunc", float1<TruncF>},
      {"math.round", float1<RoundF>},
      {"math.roundeven", float1<RoundEvenF>},
      {"math.exp", float1<ExpF>},
      {"math.exp2", float1<Exp2F>},
      {"math.log", float1<LogF>},
      {"math.log2", float1<Log2F>},
      {"math.log10", float1<Log10F>},
      {"math.log1p", float1<Log1pF>},
      {"math.sqrt", float1<SqrtF>},
      {"math.rsqrt", float1<RsqrtF>},
      {"math.sin", float1<SinF>},
      {"math.cos", float1<CosF>},
      {"math.tan", float1<TanF>},
      {"math.tanh", float1<TanhF>},
      {"math.erf", float1<ErfF>},
      {"math.powf", float2<PowF>},
      {"math.ipowi", integer2<powI>},
      {"math.fpowi", runFPowI},
      {"math.copysign", float2<CopySignF>},
      {"math.fma", runFma},
      {"math.ctlz", integer1<leadingZeros>},
      {"math.cttz", integer1<trailingZeros>},
      {"math.ctpop", integer1<populationCount>},
      {"affine.apply", runAffineApply},
      {"affine.min", runAffineMin},
      {"affine.max", runAffineMax},
  };
  return kEntries;
}

} // namespace tilewright::interp
