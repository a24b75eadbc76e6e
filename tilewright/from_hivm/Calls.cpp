// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of HIVM's library: the name has the operation, the rank and the element type.

#include "tilewright/from_hivm/Reader.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::from_hivm;

/// What stands in front of the rank: "vadds_vs_1d_float" is "vadds_vs". Empty without a rank.
static StringRef stemOf(StringRef name) {
  for (const char *rank : {"_1d_", "_2d_", "_3d_", "_4d_", "_5d_"})
    if (size_t at = name.find(rank); at != StringRef::npos)
      return name.take_front(at);
  return "";
}

LogicalResult Reader::call(func::CallOp op) {
  StringRef name = op.getCallee();
  ValueRange operands = op.getOperands();
  auto refuseCall = [&] {
    return refuse(op, "library function '" + name + "' is not known, or not with these operands");
  };
  auto isZero = [&](unsigned at) {
    return at < operands.size() && getConstantIntValue(operands[at]).value_or(1) == 0;
  };
  if (name.starts_with("load_gm_to_ubuf_") && operands.size() >= 3) {
    if (!isZero(2))
      return refuse(op, "a load that pads");
    return load(op, operands[0], operands[1]);
  }
  if (name.starts_with("nd2nz_") && operands.size() >= 2)
    return load(op, operands[0], operands[1]);
  if (name.starts_with("store_ubuf_to_gm_") && operands.size() >= 3) {
    constexpr StringLiteral kAtomics[] = {"none", "add", "max", "min"};
    int64_t atomic = getConstantIntValue(operands[2]).value_or(-1);
    if (atomic < 0 || atomic > 3)
      return refuse(op, "a store with an atomic that is not known");
    return store(op, operands[0], operands[1], kAtomics[atomic]);
  }
  if (name.starts_with("fixpipe_nz2nd_") && operands.size() >= 2)
    return fixpipe(op, operands[0], operands[1], operands.size() > 3 && !isZero(3) && false);
  if (name.starts_with("mma_tile_") && operands.size() >= 14) {
    bool transposeA = name.ends_with("_ta") || name.contains("_ta_"),
         transposeB = name.ends_with("_tb") || name.contains("_tb_");
    return mmad(op, operands.take_front(7), transposeA, transposeB, operands.slice(7, 7));
  }
  if (name.starts_with("set_l1_") && operands.size() == 2)
    return fillL1(op, operands[0], operands[1]);
  bool isKnown = true;
  LogicalResult done = vectorCall(op, name, operands, isKnown);
  return isKnown ? done : refuseCall();
}

LogicalResult Reader::vectorCall(Operation *op, StringRef name, ValueRange operands,
                                 bool &isKnown) {
  auto isMemref = [](Value value) { return isa<MemRefType>(value.getType()); };
  auto take = [&](size_t count) { return operands.size() >= count; };
  if (name.starts_with("broadcast_scalar_") && take(2))
    return elementwise(op, Fn::Copy, operands[1], operands.take_front(1));
  if ((name.starts_with("copy_ubuf_to_ubuf_") || name.starts_with("broadcast_")) && take(2))
    return elementwise(op, Fn::Copy, operands[1], operands.take_front(1));
  if (name.starts_with("arange_") && take(2))
    return iota(op, operands[0],
                operands.slice(1, 1 + unsigned(cast<MemRefType>(operands[0].getType()).getRank())));
  if (name.starts_with("vcast_") && name.ends_with("_with_mode") && take(3)) {
    std::optional<Round> round = roundOf(getConstantIntValue(operands[2]).value_or(-1));
    if (isKnown = round.has_value(); !isKnown)
      return failure();
    bool isUnsigned = name.contains("uint8_t");
    Type type = cast<MemRefType>(operands[0].getType()).getElementType();
    bool isSame = type == cast<MemRefType>(operands[1].getType()).getElementType();
    constexpr Fn kRounds[] = {Fn::Rint, Fn::Floor, Fn::Ceil, Fn::Nearest, Fn::Trunc, Fn::Rint};
    return elementwise(op, isSame ? kRounds[int(*round)] : Fn::Cast, operands[1],
                       operands.take_front(1), *round, isUnsigned);
  }
  StringRef reduction = name;
  reduction.consume_front("enablevc_");
  if (reduction.consume_front("reduce_") && take(2)) {
    auto [word, rest] = reduction.split('_');
    StringRef axes = rest.split('_').first; // r: reduced, a: kept
    std::optional<ReduceKind> kind = reductionOf(word);
    SmallVector<int64_t> dims;
    for (auto [dim, letter] : llvm::enumerate(axes))
      if (letter == 'r')
        dims.push_back(int64_t(dim));
    isKnown = kind && !dims.empty() && axes.find_first_not_of("ar") == StringRef::npos &&
              int64_t(axes.size()) == cast<MemRefType>(operands[0].getType()).getRank();
    return isKnown ? reduce(op, *kind, operands[1], operands[0], dims) : failure();
  }
  // vadds_vs: the second operand is a scalar, vdiv_sv: the first, vsel_vv: neither. Behind the
  // sources stand the destination and maybe a temporary.
  StringRef stem = stemOf(name);
  for (StringRef kinds : {"_vs", "_sv", "_vv"})
    stem.consume_back(kinds);
  if (stem.consume_front("vsel") && take(4))
    return elementwise(op, Fn::Select, operands[3], operands.take_front(3));
  StringRef mode = stem;
  if ((mode.consume_front("vcmps_") || mode.consume_front("vcmp_")) && take(3))
    if (std::optional<Fn> fn = comparisonOf(mode))
      return elementwise(op, *fn, operands[2], operands.take_front(2));
  std::optional<Fn> fn = functionOf(stem);
  if (!fn && stem.consume_back("s"))
    fn = functionOf(stem);
  size_t count = fn && int(*fn) < int(Fn::Add) ? 1 : 2;
  isKnown = fn && take(count + 1) && isMemref(operands[count]);
  return isKnown ? elementwise(op, *fn, operands[count], operands.take_front(count)) : failure();
}
