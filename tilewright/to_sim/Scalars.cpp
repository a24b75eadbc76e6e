// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar code: arith, math, index, affine. Registers keep signless integers sign-extended, i1 as 0
// or 1.

#include "tilewright/to_sim/Translator.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::to_sim;
using sim::BinaryFn;
using sim::Opcode;
using sim::UnaryFn;

namespace {

unsigned bitsOf(sim::DType type) { return type == sim::DType::I1 ? 1 : 8 * sim::byteSize(type); }

/// Register bits of a float constant: floats narrower than f32 are kept as f32.
int64_t floatBits(const APFloat &value, sim::DType type) {
  APFloat wide = value;
  bool losesInfo = false;
  if (type == sim::DType::F64) {
    wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    return llvm::bit_cast<int64_t>(wide.convertToDouble());
  }
  wide.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &losesInfo);
  return int64_t(llvm::bit_cast<uint32_t>(wide.convertToFloat()));
}

std::optional<int64_t> constantBits(Attribute attribute) {
  if (auto integer = dyn_cast<IntegerAttr>(attribute)) {
    APInt value = integer.getValue();
    return value.getBitWidth() == 1 ? int64_t(value.getZExtValue()) : value.getSExtValue();
  }
  if (auto real = dyn_cast<FloatAttr>(attribute))
    if (std::optional<sim::DType> type = dtypeOf(real.getType()))
      return floatBits(real.getValue(), *type);
  return std::nullopt;
}

/// Opcodes of integer operations that cannot trap, and of those that can.
std::optional<Opcode> integerOpcode(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Opcode>>(op)
      .Case<arith::AddIOp, index::AddOp>([](auto) { return Opcode::Add; })
      .Case<arith::SubIOp, index::SubOp>([](auto) { return Opcode::Sub; })
      .Case<arith::MulIOp, index::MulOp>([](auto) { return Opcode::Mul; })
      .Case<arith::DivSIOp, index::DivSOp>([](auto) { return Opcode::DivS; })
      .Case<arith::DivUIOp, index::DivUOp>([](auto) { return Opcode::DivU; })
      .Case<arith::RemSIOp, index::RemSOp>([](auto) { return Opcode::RemS; })
      .Case<arith::RemUIOp, index::RemUOp>([](auto) { return Opcode::RemU; })
      .Case<arith::FloorDivSIOp, index::FloorDivSOp>([](auto) { return Opcode::FloorDiv; })
      .Case<arith::CeilDivSIOp, index::CeilDivSOp>([](auto) { return Opcode::CeilDiv; })
      .Case<arith::AndIOp, index::AndOp>([](auto) { return Opcode::And; })
      .Case<arith::OrIOp, index::OrOp>([](auto) { return Opcode::Or; })
      .Case<arith::XOrIOp, index::XOrOp>([](auto) { return Opcode::Xor; })
      .Case<arith::ShLIOp, index::ShlOp>([](auto) { return Opcode::Shl; })
      .Case<arith::ShRSIOp, index::ShrSOp>([](auto) { return Opcode::ShrS; })
      .Case<arith::ShRUIOp, index::ShrUOp>([](auto) { return Opcode::ShrU; })
      .Case<arith::MinSIOp, index::MinSOp>([](auto) { return Opcode::MinS; })
      .Case<arith::MaxSIOp, index::MaxSOp>([](auto) { return Opcode::MaxS; })
      .Case<arith::MinUIOp, index::MinUOp>([](auto) { return Opcode::MinU; })
      .Case<arith::MaxUIOp, index::MaxUOp>([](auto) { return Opcode::MaxU; })
      .Default([](Operation *) { return std::nullopt; });
}

Opcode compareOpcode(arith::CmpIPredicate predicate) {
  static constexpr Opcode table[] = {Opcode::CmpEQ,  Opcode::CmpNE, Opcode::CmpLT,  Opcode::CmpLE,
                                     Opcode::CmpGT,  Opcode::CmpGE, Opcode::CmpULT, Opcode::CmpULE,
                                     Opcode::CmpUGT, Opcode::CmpUGE};
  return table[size_t(predicate)];
}

Opcode compareOpcode(index::IndexCmpPredicate predicate) {
  switch (predicate) {
  case index::IndexCmpPredicate::EQ:
    return Opcode::CmpEQ;
  case index::IndexCmpPredicate::NE:
    return Opcode::CmpNE;
  case index::IndexCmpPredicate::SLT:
    return Opcode::CmpLT;
  case index::IndexCmpPredicate::SLE:
    return Opcode::CmpLE;
  case index::IndexCmpPredicate::SGT:
    return Opcode::CmpGT;
  case index::IndexCmpPredicate::SGE:
    return Opcode::CmpGE;
  case index::IndexCmpPredicate::ULT:
    return Opcode::CmpULT;
  case index::IndexCmpPredicate::ULE:
    return Opcode::CmpULE;
  case index::IndexCmpPredicate::UGT:
    return Opcode::CmpUGT;
  case index::IndexCmpPredicate::UGE:
    return Opcode::CmpUGE;
  }
  return Opcode::CmpEQ;
}

bool canTrap(Opcode op) { return op >= Opcode::DivS && op <= Opcode::CeilDiv; }

/// What folding needs: both operands are register values of a 64-bit type.
std::optional<int64_t> foldIndex(Opcode op, int64_t a, int64_t b) {
  switch (op) {
  case Opcode::Add:
    return int64_t(uint64_t(a) + uint64_t(b));
  case Opcode::Sub:
    return int64_t(uint64_t(a) - uint64_t(b));
  case Opcode::Mul:
    return int64_t(uint64_t(a) * uint64_t(b));
  case Opcode::MinS:
    return std::min(a, b);
  case Opcode::MaxS:
    return std::max(a, b);
  default:
    return std::nullopt;
  }
}

} // namespace

std::optional<sim::DType> to_sim::dtypeOf(Type type) {
  using sim::DType;
  if (type.isIndex())
    return DType::I64;
  if (type.isFloat8E4M3FN())
    return DType::F8E4M3;
  if (type.isFloat8E5M2())
    return DType::F8E5M2;
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::BF16;
  if (type.isF32())
    return DType::F32;
  if (type.isF64())
    return DType::F64;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return DType::I1;
  case 8:
    return isUnsigned ? DType::U8 : DType::I8;
  case 16:
    return isUnsigned ? DType::U16 : DType::I16;
  case 32:
    return isUnsigned ? DType::U32 : DType::I32;
  case 64:
    return isUnsigned ? DType::U64 : DType::I64;
  default:
    return std::nullopt;
  }
}

/// An integer operation; a division by something that may be 0 stays where it is.
sim::Ref Translator::integer(Opcode op, DType type, Ref a, Ref b) {
  if (type == DType::I64 && CodeBuilder::isImm(a) && CodeBuilder::isImm(b))
    if (std::optional<int64_t> folded = foldIndex(op, a.imm, b.imm))
      return CodeBuilder::imm(*folded);
  if (type == DType::I64 && op == Opcode::Add)
    return code.add(a, b);
  if (type == DType::I64 && op == Opcode::Mul)
    return code.mul(a, b);
  if (CodeBuilder::isImm(b, 0) && op == Opcode::Sub)
    return a;
  if (CodeBuilder::isImm(b, 1) &&
      (op == Opcode::DivS || op == Opcode::FloorDiv || op == Opcode::CeilDiv))
    return a;
  bool stays = canTrap(op) && (!CodeBuilder::isImm(b) || b.imm == 0);
  return stays ? code.here(op, type, a, b) : code.pure(op, type, a, b);
}

/// The unsigned value of a register as a 64-bit one.
sim::Ref Translator::zeroExtended(Ref value, DType from) {
  if (bitsOf(from) == 64 || from == DType::I1)
    return value;
  return code.pure(Opcode::And, DType::I64, value,
                   CodeBuilder::imm((int64_t(1) << bitsOf(from)) - 1));
}

bool Translator::integerOp(Operation *op) {
  if (std::optional<Opcode> opcode = integerOpcode(op)) {
    std::optional<DType> type = dtypeOf(op->getResult(0).getType());
    if (!type)
      return false;
    Ref result = get(op->getOperand(0));
    for (Value operand : op->getOperands().drop_front()) // some index operations take more than two
      result = integer(*opcode, *type, result, get(operand));
    set(op->getResult(0), result);
    return true;
  }
  Ref a = op->getNumOperands() > 0 ? get(op->getOperand(0)) : Ref{};
  Ref b = op->getNumOperands() > 1 ? get(op->getOperand(1)) : Ref{};
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    if (!dtypeOf(compare.getLhs().getType()))
      return false;
    // i1 counts as signed in arith: true is -1, so the order of 0 and 1 turns around.
    arith::CmpIPredicate predicate = compare.getPredicate();
    bool isSigned =
        predicate >= arith::CmpIPredicate::slt && predicate <= arith::CmpIPredicate::sge;
    if (isSigned && compare.getLhs().getType().isInteger(1))
      std::swap(a, b);
    set(compare, code.pure(compareOpcode(predicate), DType::I64, a, b));
    return true;
  }
  if (auto compare = dyn_cast<index::CmpOp>(op)) {
    set(compare, code.pure(compareOpcode(compare.getPred()), DType::I64, a, b));
    return true;
  }
  if (isa<arith::CeilDivUIOp, index::CeilDivUOp>(op)) {
    DType type = *dtypeOf(op->getResult(0).getType());
    Ref rest = integer(Opcode::RemU, type, a, b);
    Ref more = code.pure(Opcode::CmpNE, DType::I64, rest, CodeBuilder::imm(0));
    set(op->getResult(0), code.pure(Opcode::Add, type, integer(Opcode::DivU, type, a, b), more));
    return true;
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (!select.getCondition().getType().isInteger(1))
      return false;
    if (CodeBuilder::isImm(a))
      set(select, a.imm ? b : get(select.getFalseValue()));
    else
      set(select, code.pure(Opcode::Select, DType::I64, a, b, get(select.getFalseValue())));
    return true;
  }
  return false;
}

bool Translator::floatOp(Operation *op) {
  std::optional<DType> type =
      op->getNumOperands() ? dtypeOf(op->getOperand(0).getType()) : std::nullopt;
  if (!type || !isFloat(*type))
    return false;
  Ref a = get(op->getOperand(0));
  Ref b = op->getNumOperands() > 1 ? get(op->getOperand(1)) : Ref{};
  auto put = [&](Ref ref) { return set(op->getResult(0), ref), true; };
  std::optional<Opcode> opcode = llvm::TypeSwitch<Operation *, std::optional<Opcode>>(op)
                                     .Case<arith::AddFOp>([](auto) { return Opcode::FAdd; })
                                     .Case<arith::SubFOp>([](auto) { return Opcode::FSub; })
                                     .Case<arith::MulFOp>([](auto) { return Opcode::FMul; })
                                     .Case<arith::DivFOp>([](auto) { return Opcode::FDiv; })
                                     .Case<arith::MaximumFOp>([](auto) { return Opcode::FMax; })
                                     .Case<arith::MinimumFOp>([](auto) { return Opcode::FMin; })
                                     .Case<arith::MaxNumFOp>([](auto) { return Opcode::FMaxNum; })
                                     .Case<arith::MinNumFOp>([](auto) { return Opcode::FMinNum; })
                                     .Case<arith::NegFOp>([](auto) { return Opcode::FNeg; })
                                     .Default([](Operation *) { return std::nullopt; });
  if (opcode)
    return put(code.pure(*opcode, *type, a, b));
  if (isa<arith::RemFOp>(op))
    return put(code.pure(Opcode::FBinary, *type, a, b, {}, int64_t(BinaryFn::Rem)));
  auto compare = dyn_cast<arith::CmpFOp>(op);
  if (!compare)
    return false;

  auto test = [&](Opcode opcode, Ref x, Ref y) { return code.pure(opcode, *type, x, y); };
  auto invert = [&](Ref x) { return code.pure(Opcode::Xor, DType::I1, x, CodeBuilder::imm(1)); };
  auto either = [&](Ref x, Ref y) { return code.pure(Opcode::Or, DType::I1, x, y); };
  auto isOrdered = [&] {
    return code.pure(Opcode::And, DType::I1, test(Opcode::FCmpEQ, a, a),
                     test(Opcode::FCmpEQ, b, b));
  };
  auto differsOrdered = [&] {
    return either(test(Opcode::FCmpLT, a, b), test(Opcode::FCmpGT, a, b));
  };
  using P = arith::CmpFPredicate;
  switch (compare.getPredicate()) {
  case P::AlwaysFalse:
    return put(CodeBuilder::imm(0));
  case P::AlwaysTrue:
    return put(CodeBuilder::imm(1));
  case P::OEQ:
    return put(test(Opcode::FCmpEQ, a, b));
  case P::OGT:
    return put(test(Opcode::FCmpGT, a, b));
  case P::OGE:
    return put(test(Opcode::FCmpGE, a, b));
  case P::OLT:
    return put(test(Opcode::FCmpLT, a, b));
  case P::OLE:
    return put(test(Opcode::FCmpLE, a, b));
  case P::ONE:
    return put(differsOrdered());
  case P::ORD:
    return put(isOrdered());
  case P::UEQ:
    return put(invert(differsOrdered()));
  case P::UGT:
    return put(invert(test(Opcode::FCmpLE, a, b)));
  case P::UGE:
    return put(invert(test(Opcode::FCmpLT, a, b)));
  case P::ULT:
    return put(invert(test(Opcode::FCmpGE, a, b)));
  case P::ULE:
    return put(invert(test(Opcode::FCmpGT, a, b)));
  case P::UNE:
    return put(test(Opcode::FCmpNE, a, b));
  case P::UNO:
    return put(invert(isOrdered()));
  }
  return false;
}

bool Translator::castOp(Operation *op) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return false;
  std::optional<DType> from = dtypeOf(op->getOperand(0).getType());
  std::optional<DType> to = dtypeOf(op->getResult(0).getType());
  if (!from || !to)
    return false;
  Ref a = get(op->getOperand(0));
  auto put = [&](Ref ref) { return set(op->getResult(0), ref), true; };
  auto convert = [&](Ref value, DType source, DType target) {
    return code.pure(Opcode::Convert, target, value, {}, {}, int64_t(source));
  };
  // The integer value of an i1 that is signed: 0 or -1.
  auto signedValue = [&](Ref value) {
    return *from == DType::I1 ? code.pure(Opcode::Sub, DType::I64, CodeBuilder::imm(0), value)
                              : value;
  };
  if (isa<arith::ExtSIOp>(op))
    return put(signedValue(a));
  if (isa<arith::ExtUIOp>(op))
    return put(zeroExtended(a, *from));
  if (isa<arith::IndexCastUIOp, index::CastUOp>(op) && bitsOf(*to) > bitsOf(*from))
    return put(zeroExtended(a, *from));
  if (isa<arith::TruncIOp, arith::IndexCastOp, arith::IndexCastUIOp, index::CastSOp,
          index::CastUOp>(op)) {
    if (CodeBuilder::isImm(a) && bitsOf(*to) >= 32 && a.imm == int32_t(a.imm))
      return put(a);
    if (*to == DType::I1)
      return put(code.pure(Opcode::And, DType::I1, a, CodeBuilder::imm(1)));
    if (bitsOf(*to) >= bitsOf(*from))
      return put(signedValue(a));
    return put(convert(a, *from, *to));
  }
  if (isa<arith::SIToFPOp>(op))
    return put(convert(signedValue(a), DType::I64, *to));
  if (isa<arith::UIToFPOp>(op))
    return put(convert(zeroExtended(a, *from), DType::U64, *to));
  if (isa<arith::FPToSIOp, arith::ExtFOp, arith::TruncFOp>(op))
    return put(convert(a, *from, *to));
  if (isa<arith::FPToUIOp>(op)) {
    static const std::map<DType, DType> unsignedOf = {{DType::I8, DType::U8},
                                                      {DType::I16, DType::U16},
                                                      {DType::I32, DType::U32},
                                                      {DType::I64, DType::U64}};
    auto it = unsignedOf.find(*to);
    if (it == unsignedOf.end())
      return put(convert(a, *from, *to));
    return put(convert(convert(a, *from, it->second), it->second, *to));
  }
  if (isa<arith::BitcastOp>(op)) {
    if (bitsOf(*from) < 32 && (isFloat(*from) || isFloat(*to))) // registers keep them as f32
      return put(code.pure(Opcode::Bitcast, *to, a, {}, {}, int64_t(*from)));
    if (isFloat(*to) && !isFloat(*from))
      return put(zeroExtended(a, *from));
    return put(convert(a, DType::I64, isFloat(*from) && *to == DType::I32 ? DType::I32 : *to));
  }
  return false;
}

bool Translator::mathOp(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumOperands() == 0)
    return false;
  std::optional<DType> type = dtypeOf(op->getResult(0).getType());
  if (!type)
    return false;
  Ref a = get(op->getOperand(0));
  if (isa<math::PowFOp>(op)) {
    set(op->getResult(0),
        code.pure(Opcode::FBinary, *type, a, get(op->getOperand(1)), {}, int64_t(BinaryFn::Pow)));
    return true;
  }
  std::optional<UnaryFn> fn =
      llvm::TypeSwitch<Operation *, std::optional<UnaryFn>>(op)
          .Case<math::AbsFOp, math::AbsIOp>([](auto) { return UnaryFn::Abs; })
          .Case<math::ExpOp>([](auto) { return UnaryFn::Exp; })
          .Case<math::Exp2Op>([](auto) { return UnaryFn::Exp2; })
          .Case<math::LogOp>([](auto) { return UnaryFn::Log; })
          .Case<math::Log2Op>([](auto) { return UnaryFn::Log2; })
          .Case<math::Log10Op>([](auto) { return UnaryFn::Log10; })
          .Case<math::Log1pOp>([](auto) { return UnaryFn::Log1p; })
          .Case<math::SqrtOp>([](auto) { return UnaryFn::Sqrt; })
          .Case<math::RsqrtOp>([](auto) { return UnaryFn::Rsqrt; })
          .Case<math::SinOp>([](auto) { return UnaryFn::Sin; })
          .Case<math::CosOp>([](auto) { return UnaryFn::Cos; })
          .Case<math::TanOp>([](auto) { return UnaryFn::Tan; })
          .Case<math::TanhOp>([](auto) { return UnaryFn::Tanh; })
          .Case<math::ErfOp>([](auto) { return UnaryFn::Erf; })
          .Case<math::FloorOp>([](auto) { return UnaryFn::Floor; })
          .Case<math::CeilOp>([](auto) { return UnaryFn::Ceil; })
          .Case<math::RoundOp>([](auto) { return UnaryFn::Round; })
          .Case<math::RoundEvenOp>([](auto) { return UnaryFn::Rint; })
          .Case<math::TruncOp>([](auto) { return UnaryFn::Trunc; })
          .Default([](Operation *) { return std::nullopt; });
  if (!fn)
    return false;
  set(op->getResult(0), code.pure(Opcode::FUnary, *type, a, {}, {}, int64_t(*fn)));
  return true;
}

/// An affine expression as code; constants fold.
sim::Ref Translator::affine(AffineExpr expr, ArrayRef<Ref> dims, ArrayRef<Ref> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return CodeBuilder::imm(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Ref a = affine(binary.getLHS(), dims, symbols), b = affine(binary.getRHS(), dims, symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return code.add(a, b);
  case AffineExprKind::Mul:
    return code.mul(a, b);
  case AffineExprKind::FloorDiv:
    return integer(Opcode::FloorDiv, DType::I64, a, b);
  case AffineExprKind::CeilDiv:
    return integer(Opcode::CeilDiv, DType::I64, a, b);
  default:
    return integer(Opcode::FloorMod, DType::I64, a, b);
  }
}

/// Affine maps.
bool Translator::indexOp(Operation *op) {
  AffineMap map;
  std::optional<Opcode> join;
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
    map = apply.getAffineMap();
  } else if (auto least = dyn_cast<affine::AffineMinOp>(op)) {
    map = least.getAffineMap();
    join = Opcode::MinS;
  } else if (auto most = dyn_cast<affine::AffineMaxOp>(op)) {
    map = most.getAffineMap();
    join = Opcode::MaxS;
  } else {
    return false;
  }
  std::vector<Ref> operands = refs(op->getOperands());
  ArrayRef<Ref> all(operands);
  ArrayRef<Ref> dims = all.take_front(map.getNumDims()), symbols = all.drop_front(map.getNumDims());
  Ref result = affine(map.getResult(0), dims, symbols);
  for (AffineExpr expr : map.getResults().drop_front())
    result = integer(*join, DType::I64, result, affine(expr, dims, symbols));
  set(op->getResult(0), result);
  return true;
}

LogicalResult Translator::dim(Operation *op, Value buffer, Value index) {
  std::optional<int64_t> at = constantOf(index);
  if (!at || *at < 0 || *at >= cast<MemRefType>(buffer.getType()).getRank())
    return op->emitError("the dimension asked for must be a constant below the rank");
  auto argument = dyn_cast<BlockArgument>(buffer);
  bool isDynamic = cast<MemRefType>(buffer.getType()).isDynamicDim(unsigned(*at));
  if (isDynamic && (!argument || argument.getOwner() != &function.getBody().front()))
    return op->emitError("only arguments have run-time sizes");
  set(op->getResult(0), extent(buffer, int(*at)));
  return success();
}

bool Translator::scalar(Operation *op, LogicalResult &result) {
  result = success();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    std::optional<int64_t> bits = constantBits(constant.getValue());
    if (bits)
      set(constant, CodeBuilder::imm(*bits));
    else
      result = op->emitError("the simulator has no constants of type ") << constant.getType();
    return true;
  }
  if (auto constant = dyn_cast<index::ConstantOp>(op)) {
    set(constant, CodeBuilder::imm(constant.getValue().getSExtValue()));
    return true;
  }
  if (auto constant = dyn_cast<index::BoolConstantOp>(op)) {
    set(constant, CodeBuilder::imm(constant.getValue()));
    return true;
  }
  if (auto size = dyn_cast<memref::DimOp>(op)) {
    result = dim(op, size.getSource(), size.getIndex());
    return true;
  }
  StringRef dialect = op->getDialect() ? op->getDialect()->getNamespace() : "";
  if (dialect == "arith" || dialect == "index") {
    if (!integerOp(op) && !castOp(op) && !floatOp(op))
      result = op->emitError("the simulator's scalar unit lacks this operation");
    return true;
  }
  if (dialect == "math" || dialect == "affine") {
    if (!mathOp(op) && !indexOp(op))
      result = op->emitError("the simulator's scalar unit lacks this operation");
    return true;
  }
  return false;
}
