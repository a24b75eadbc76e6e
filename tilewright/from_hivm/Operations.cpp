// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector operations of HIVM, and the names that they share with its library.

#include "tilewright/from_hivm/Reader.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::from_hivm;

std::optional<Fn> from_hivm::functionOf(StringRef name) {
  return llvm::StringSwitch<std::optional<Fn>>(name)
      .Case("vabs", Fn::Abs)
      .Case("vexp", Fn::Exp)
      .Case("vln", Fn::Log)
      .Case("vsqrt", Fn::Sqrt)
      .Case("vrsqrt", Fn::Rsqrt)
      .Case("vrec", Fn::Rec)
      .Case("vrelu", Fn::Relu)
      .Case("vnot", Fn::Not)
      .Case("vadd", Fn::Add)
      .Case("vsub", Fn::Sub)
      .Case("vmul", Fn::Mul)
      .Case("vdiv", Fn::Div)
      .Case("vmax", Fn::MaxNum) // of a NaN and a number, as T.max has it
      .Case("vmin", Fn::MinNum)
      .Case("vand", Fn::And)
      .Case("vor", Fn::Or)
      .Case("vxor", Fn::Xor)
      .Case("vshl", Fn::Shl)
      .Case("vshr", Fn::Shr)
      .Default(std::nullopt);
}

std::optional<Fn> from_hivm::comparisonOf(StringRef mode) {
  std::optional<Fn> fn = symbolizeFn(mode);
  return fn && int(*fn) >= int(Fn::EQ) && int(*fn) <= int(Fn::GE) ? fn : std::nullopt;
}

std::optional<ReduceKind> from_hivm::reductionOf(StringRef name) {
  return llvm::StringSwitch<std::optional<ReduceKind>>(name)
      .Case("sum", ReduceKind::Sum)
      .Case("max", ReduceKind::Max)
      .Case("min", ReduceKind::Min)
      .Case("prod", ReduceKind::Prod)
      .Cases("any", "ori", ReduceKind::Or)
      .Cases("all", "andi", ReduceKind::And)
      .Case("xori", ReduceKind::Xor)
      .Default(std::nullopt);
}

/// In the order of HIVM's round_mode.
std::optional<Round> from_hivm::roundOf(int64_t number) {
  constexpr Round kRounds[] = {Round::Rint, Round::Nearest, Round::Floor,
                               Round::Ceil, Round::Trunc,   Round::Odd};
  return number >= 0 && number < 6 ? std::optional(kRounds[number]) : std::nullopt;
}

ValueRange from_hivm::segmentOf(Operation *op, unsigned which) {
  auto sizes = dyn_cast_or_null<DenseI32ArrayAttr>(attributeOf(op, "operandSegmentSizes"));
  unsigned from = 0;
  for (unsigned i = 0; sizes && i < which && i < unsigned(sizes.size()); ++i)
    from += unsigned(std::max(0, sizes[i]));
  unsigned count =
      !sizes || which >= unsigned(sizes.size()) ? 0 : unsigned(std::max(0, sizes[which]));
  if (from + count > op->getNumOperands())
    return {};
  return op->getOperands().slice(from, count);
}

static SmallVector<int64_t> dimsOf(Operation *op, StringRef name) {
  auto dims = dyn_cast_or_null<DenseI64ArrayAttr>(attributeOf(op, name));
  return dims ? SmallVector<int64_t>(dims.asArrayRef()) : SmallVector<int64_t>();
}

LogicalResult Reader::vectorOp(Operation *op, StringRef name, bool &isKnown) {
  ValueRange operands = op->getOperands();
  // Without segments: sources, then the destination.
  ValueRange sources = segmentOf(op, 0), results = segmentOf(op, 1);
  if (!attributeOf(op, "operandSegmentSizes") && !operands.empty()) {
    sources = operands.drop_back();
    results = operands.take_back();
  }
  if (isKnown = results.size() >= 1 && !sources.empty(); !isKnown)
    return failure();
  Value dst = results.front();
  if (name == "varange") // the destination is the first segment
    return iota(op, operands.front(), operands.drop_front());
  if (std::optional<Fn> fn = functionOf(name))
    return elementwise(op, *fn, dst, sources);
  if (name == "copy" || name == "vbrc")
    return elementwise(op, Fn::Copy, dst, sources);
  if (name == "vcmp")
    if (std::optional<Fn> fn = comparisonOf(wordOf(op, "compare_mode")))
      return elementwise(op, *fn, dst, sources);
  if (name == "vsel" && sources.size() == 3)
    return elementwise(op, Fn::Select, dst, sources);
  if (name == "vcast") {
    std::optional<Round> round = symbolizeRound(wordOf(op, "round_mode"));
    return elementwise(op, Fn::Cast, dst, sources, round.value_or(Round::Rint),
                       wordOf(op, "cast") == "cast_unsigned");
  }
  if (name == "vtranspose" && dimsOf(op, "permutation").size() == 2)
    return elementwise(op, Fn::Copy, dst, sources, Round::Rint, false, /*turns=*/true);
  if (name == "vreduce")
    if (std::optional<ReduceKind> kind = reductionOf(wordOf(op, "arith")))
      return reduce(op, *kind, dst, sources.front(), dimsOf(op, "reduce_dims"));
  if (name == "vcumsum" || name == "vcumprod") {
    SmallVector<int64_t> dims = dimsOf(op, "cum_dims");
    auto reverse = dyn_cast_or_null<BoolAttr>(attributeOf(op, "reverse"));
    if (dims.size() == 1)
      return scan(op, name == "vcumsum" ? ReduceKind::Sum : ReduceKind::Prod, dst, sources.front(),
                  dims.front(), reverse && reverse.getValue());
  }
  if (name == "vgather" && sources.size() == 2)
    return gather(op, sources[0], sources[1], dst);
  isKnown = false;
  return failure();
}
