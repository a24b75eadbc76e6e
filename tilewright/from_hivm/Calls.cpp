// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of HIVM's library: the name has the operation, the rank and the element type.

#include "tilewright/from_hivm/Reader.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::from_hivm;

/// True if the text is the name of an element type, as C has it.
static bool isType(StringRef text) {
  return llvm::StringSwitch<bool>(text)
      .Cases("half", "float", "bfloat16_t", "bool", true)
      .Cases("int8_t", "int16_t", "int32_t", "int64_t", true)
      .Cases("uint8_t", "uint16_t", "uint32_t", "uint64_t", true)
      .Default(false);
}

/// What stands in front of the rank and the type: "vadds_vs_1d_float" is "vadds_vs". Empty for a
/// name of another form, which may mean more than it seems to.
static StringRef stemOf(StringRef name) {
  for (StringRef rank : {"_1d_", "_2d_", "_3d_", "_4d_", "_5d_"})
    if (size_t at = name.find(rank); at != StringRef::npos) {
      StringRef type = name.substr(at + rank.size());
      type.consume_front("bool_"); // the condition of a choice
      return isType(type) ? name.take_front(at) : "";
    }
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
  StringRef stem = stemOf(name);
  if (stem == "load_gm_to_ubuf" && operands.size() >= 3) {
    if (!isZero(2))
      return refuse(op, "a load that pads");
    return load(op, operands[0], operands[1]);
  }
  if (StringRef type = name; type.consume_front("nd2nz_") && isType(type) && operands.size() == 2)
    return load(op, operands[0], operands[1]);
  if (stem == "store_ubuf_to_gm" && operands.size() == 3) {
    constexpr StringLiteral kAtomics[] = {"none", "add", "max", "min"};
    int64_t atomic = getConstantIntValue(operands[2]).value_or(-1);
    if (atomic < 0 || atomic > 3)
      return refuse(op, "a store with an atomic that is not known");
    return store(op, operands[0], operands[1], kAtomics[atomic]);
  }
  if (StringRef types = name;
      (types.consume_front("fixpipe_nz2nd_") || types.consume_front("fixpipe_normal_")) &&
      operands.size() >= 4) {
    bool isPlain =
        llvm::any_of(ArrayRef<StringRef>{"float_to_float", "float_to_half", "float_to_bfloat16_t",
                                         "int32_t_to_int32_t", "int32_t_to_int8_t"},
                     [&](StringRef pair) { return types.starts_with(pair); });
    int64_t relu = getConstantIntValue(operands[3]).value_or(-1);
    if (!isPlain || relu < 0 || relu > 1)
      return refuse(op, "a fixpipe that scales, or with a function that is not relu");
    return fixpipe(op, operands[0], operands[1], relu == 1);
  }
  if (name.starts_with("mma_tile_") && operands.size() >= 14) {
    StringRef types = name.drop_front(StringRef("mma_tile_").size());
    bool transposeB = types.consume_back("_tb"), transposeA = types.consume_back("_ta");
    auto [from, to] = types.split("_to_");
    if (!isType(from) || !isType(to))
      return refuseCall();
    return mmad(op, operands.take_front(7), transposeA, transposeB, operands.slice(7, 7));
  }
  if (stem == "set_l1" && operands.size() == 2)
    return fillL1(op, operands[0], operands[1]);
  StringRef message = name;
  message.consume_front("_mlir_ciface_");
  if (operands.empty() && (message == "init_debug" || message == "finish_debug"))
    return success(); // what messages are collected in
  if (message.starts_with("print_") || message.starts_with("assert_"))
    return messageCall(op, message.starts_with("assert_"));
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
  StringRef stem = stemOf(name);
  if ((stem == "copy_ubuf_to_ubuf" || stem == "broadcast" || stem.starts_with("broadcast_")) &&
      take(2))
    return elementwise(op, Fn::Copy, operands[1], operands.take_front(1));
  if (stem == "arange" && take(2) && isMemref(operands[0]) &&
      take(2 + unsigned(cast<MemRefType>(operands[0].getType()).getRank())))
    return iota(op, operands[0],
                operands.slice(1, 1 + unsigned(cast<MemRefType>(operands[0].getType()).getRank())));
  if (name.starts_with("transpose_2d_with_last_axis_") && take(2))
    return elementwise(op, Fn::Copy, operands[1], operands.take_front(1), Round::Rint, false,
                       /*turns=*/true);
  if (stem == "gather" && take(3))
    return gather(op, operands[0], operands[1], operands[2]);
  if (StringRef axes = name;
      (axes.consume_front("cumsum_") || axes.consume_front("cumprod_")) && operands.size() == 2) {
    StringRef type;
    std::tie(axes, type) = axes.split('_'); // r: along it
    bool isReverse = type.consume_front("reverse_");
    isKnown =
        axes.count('r') == 1 && axes.find_first_not_of("ar") == StringRef::npos && isType(type);
    return isKnown ? scan(op, name.starts_with("cumsum") ? ReduceKind::Sum : ReduceKind::Prod,
                          operands[1], operands[0], int64_t(axes.find('r')), isReverse)
                   : failure();
  }
  if (name.starts_with("vcast_") && name.ends_with("_with_mode") && take(3) &&
      isMemref(operands[0]) && isMemref(operands[1])) {
    std::optional<Round> round = roundOf(getConstantIntValue(operands[2]).value_or(-1));
    if (isKnown = round.has_value(); !isKnown)
      return failure();
    bool isUnsigned = name.contains("uint8_t");
    return elementwise(op, Fn::Cast, operands[1], operands.take_front(1), *round, isUnsigned);
  }
  if (name == "vcast_bool_to_half_1d_with_temp" && take(3))
    return elementwise(op, Fn::Cast, operands[1], operands.take_front(1));
  StringRef reduction = name;
  reduction.consume_front("enablevc_");
  if (reduction.consume_front("reduce_") && take(2) && isMemref(operands[0])) {
    auto [word, rest] = reduction.split('_');
    StringRef axes = rest.split('_').first; // r: reduced, a: kept
    std::optional<ReduceKind> kind = reductionOf(word);
    SmallVector<int64_t> dims;
    for (auto [dim, letter] : llvm::enumerate(axes))
      if (letter == 'r')
        dims.push_back(int64_t(dim));
    isKnown = kind && !dims.empty() && isType(rest.split('_').second) &&
              axes.find_first_not_of("ar") == StringRef::npos &&
              int64_t(axes.size()) == cast<MemRefType>(operands[0].getType()).getRank();
    return isKnown ? reduce(op, *kind, operands[1], operands[0], dims) : failure();
  }
  // vadds_vs: the second operand is a scalar, vdiv_sv: the first, vsel_vv: neither. Behind the
  // sources stand the destination and maybe a temporary.
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
