// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalars and boxes as expressions. A scalar that one statement uses, with nothing issued between,
// stands in it; others have names, so that each is computed where it was.
#include "tilewright/to_expert/Emitter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::to_expert {

static std::optional<int64_t> constantOf(Value value) {
  APInt found;
  if (matchPattern(value, m_ConstantInt(&found)))
    return found.getSExtValue();
  return std::nullopt;
}

/// True where Python's rounding of a quotient cannot differ from the machine's.
static bool isNonNegative(Value value) {
  if (auto constant = constantOf(value))
    return *constant >= 0;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar() && isNonNegative(loop.getLowerBound());
  }
  Operation *op = value.getDefiningOp();
  if (isa<npu::CoreIdOp, npu::CoreCountOp, npu::SubCoreIdOp, memref::DimOp>(op))
    return true;
  if (isa<arith::AddIOp, arith::MulIOp, arith::DivUIOp, arith::RemUIOp, arith::MinSIOp,
          arith::DivSIOp, arith::FloorDivSIOp>(op))
    return llvm::all_of(op->getOperands(), isNonNegative);
  if (isa<arith::MaxSIOp>(op))
    return llvm::any_of(op->getOperands(), isNonNegative);
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return isNonNegative(select.getTrueValue()) && isNonNegative(select.getFalseValue());
  return false;
}

std::string Emitter::text(Value value, int binding) {
  TypedAttr number;
  if (matchPattern(value, m_Constant(&number)))
    return numberText(number);
  const Expression &found = values[value];
  return found.binding > binding ? "(" + found.text + ")" : found.text;
}

static StringRef predicateText(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return "==";
  case P::ne:
    return "!=";
  case P::slt:
  case P::ult:
    return "<";
  case P::sle:
  case P::ule:
    return "<=";
  case P::sgt:
  case P::ugt:
    return ">";
  case P::sge:
  case P::uge:
    return ">=";
  }
  return "==";
}

static std::optional<StringRef> predicateText(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OEQ:
    return "==";
  case P::UNE:
    return "!=";
  case P::OLT:
    return "<";
  case P::OLE:
    return "<=";
  case P::OGT:
    return ">";
  case P::OGE:
    return ">=";
  default:
    return std::nullopt;
  }
}

std::optional<Expression> Emitter::expressionOf(Operation &op) {
  auto binary = [&](StringRef sign, int binding, bool isLoose = true) {
    return Expression{text(op.getOperand(0), binding == 3 ? 2 : binding) + " " + sign.str() + " " +
                          text(op.getOperand(1), isLoose && binding == 3 ? 2 : binding - 1),
                      binding};
  };
  auto call = [&](StringRef name) {
    std::string result = name.str() + "(";
    for (auto [index, operand] : llvm::enumerate(op.getOperands()))
      result += (index ? ", " : "") + text(operand);
    return Expression{result + ")", 0};
  };
  auto quotient = [&](StringRef sign, StringRef name) {
    return isNonNegative(op.getOperand(0)) && isNonNegative(op.getOperand(1)) ? binary(sign, 1)
                                                                              : call(name);
  };
  auto cast = [&] {
    Type to = op.getResult(0).getType();
    return Expression{"T.cast(" + text(op.getOperand(0)) + ", " + quoted(dtypeName(to)) + ")", 0};
  };
  using Result = std::optional<Expression>;
  return llvm::TypeSwitch<Operation *, Result>(&op)
      .Case<arith::AddIOp, arith::AddFOp>([&](auto) -> Result {
        // A sum with a negative constant is a difference.
        if (auto constant = constantOf(op.getOperand(1)); constant && *constant < 0)
          return Expression{text(op.getOperand(0), 2) + " - " + std::to_string(-*constant), 2};
        return Expression{text(op.getOperand(0), 2) + " + " + text(op.getOperand(1), 1), 2};
      })
      .Case<arith::SubIOp, arith::SubFOp>([&](auto) -> Result { return binary("-", 2); })
      .Case<arith::MulIOp, arith::MulFOp>([&](auto) -> Result { return binary("*", 1); })
      .Case<arith::DivFOp>([&](auto) -> Result { return binary("/", 1); })
      .Case<arith::FloorDivSIOp>([&](auto) -> Result { return binary("//", 1); })
      .Case<arith::DivSIOp, arith::DivUIOp>(
          [&](auto) -> Result { return quotient("//", "T.truncdiv"); })
      .Case<arith::RemSIOp, arith::RemUIOp>(
          [&](auto) -> Result { return quotient("%", "T.truncmod"); })
      .Case<arith::CeilDivSIOp>([&](auto) -> Result { return call("T.ceildiv"); })
      .Case<arith::MinSIOp, arith::MinUIOp, arith::MinimumFOp>(
          [&](auto) -> Result { return call("T.min"); })
      .Case<arith::MaxSIOp, arith::MaxUIOp, arith::MaximumFOp>(
          [&](auto) -> Result { return call("T.max"); })
      .Case<arith::AndIOp>([&](auto) -> Result { return binary("&", 3, false); })
      .Case<arith::OrIOp>([&](auto) -> Result { return binary("|", 3, false); })
      .Case<arith::XOrIOp>([&](auto) -> Result {
        if (matchPattern(op.getOperand(1), m_One()) && op.getOperand(0).getType().isInteger(1))
          return Expression{"T.Not(" + text(op.getOperand(0)) + ")", 0};
        return binary("^", 3, false);
      })
      .Case<arith::ShLIOp>([&](auto) -> Result { return binary("<<", 3, false); })
      .Case<arith::ShRSIOp, arith::ShRUIOp>([&](auto) -> Result { return binary(">>", 3, false); })
      .Case([&](arith::CmpIOp compare) -> Result {
        return binary(predicateText(compare.getPredicate()), 3);
      })
      .Case([&](arith::CmpFOp compare) -> Result {
        auto sign = predicateText(compare.getPredicate());
        return sign ? Result(binary(*sign, 3)) : std::nullopt;
      })
      .Case<arith::SelectOp>([&](auto) -> Result { return call("T.Select"); })
      .Case<arith::NegFOp>(
          [&](auto) -> Result { return Expression{"-" + text(op.getOperand(0), 0), 1}; })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp>(
          [&](auto) -> Result { return Expression{text(op.getOperand(0), 3), 3}; })
      .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::ExtFOp, arith::TruncFOp,
            arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp>(
          [&](auto) -> Result { return cast(); })
      .Case<math::ExpOp>([&](auto) -> Result { return call("T.exp"); })
      .Case<math::Exp2Op>([&](auto) -> Result { return call("T.exp2"); })
      .Case<math::LogOp>([&](auto) -> Result { return call("T.log"); })
      .Case<math::Log2Op>([&](auto) -> Result { return call("T.log2"); })
      .Case<math::SqrtOp>([&](auto) -> Result { return call("T.sqrt"); })
      .Case<math::RsqrtOp>([&](auto) -> Result { return call("T.rsqrt"); })
      .Case<math::AbsFOp, math::AbsIOp>([&](auto) -> Result { return call("T.abs"); })
      .Case<math::FloorOp>([&](auto) -> Result { return call("T.floor"); })
      .Case<math::CeilOp>([&](auto) -> Result { return call("T.ceil"); })
      .Case<npu::CoreIdOp>([&](auto) -> Result { return Expression{"T.core_id()", 0}; })
      .Case<npu::CoreCountOp>([&](auto) -> Result { return Expression{"T.core_count()", 0}; })
      .Case<npu::SubCoreIdOp>([&](auto) -> Result { return Expression{"half", 0}; })
      .Case([&](memref::DimOp dim) -> Result {
        return Expression{bufferName(dim.getSource()) + ".shape[" + text(dim.getIndex()) + "]", 0};
      })
      .Case([&](npu::ScalarLoadOp load) -> Result {
        std::string indices;
        for (Value index : load.getIndices())
          indices += (indices.empty() ? "" : ", ") + text(index);
        return Expression{
            bufferName(load.getBuffer()) + "[" + (indices.empty() ? "0" : indices) + "]", 0};
      })
      .Case([&](npu::ScalarAtomicOp atomic) -> Result {
        std::string indices;
        for (Value index : atomic.getIndices())
          indices += (indices.empty() ? "" : ", ") + text(index);
        StringRef kind =
            atomic.getKind() == ReduceKind::Sum ? "add" : stringifyReduceKind(atomic.getKind());
        return Expression{"T.atomic_" + kind.str() + "(" + bufferName(atomic.getBuffer()) + "[" +
                              (indices.empty() ? "0" : indices) + "], " + text(atomic.getValue()) +
                              ", return_prev=True)",
                          0};
      })
      .Default([](Operation *) -> Result { return std::nullopt; });
}

/// True for a value that may stand where it is used: once, in this block, before anything else is
/// issued. The start of a slice is written twice, so it has a name.
bool Emitter::canInline(Operation &op) {
  if (inlinesAll || isa<npu::SubCoreIdOp>(op))
    return true;
  Value result = op.getResult(0);
  if (!result.hasOneUse() || isa<npu::ScalarLoadOp, npu::ScalarAtomicOp>(op))
    return false;
  Operation *user = *result.user_begin();
  if (user->getBlock() != op.getBlock())
    return false;
  for (Operation *next = op.getNextNode(); next != user; next = next->getNextNode())
    if (!isPure(next))
      return false;
  if (auto access = dyn_cast<AccessInterface>(user))
    for (unsigned index = 0; index < access.getNumBoxes(); ++index) {
      Box box = access.getBox(index);
      for (auto [offset, size] : llvm::zip(box.offsets, box.sizes))
        if (offset == result && constantOf(size) != std::optional<int64_t>(1))
          return false;
    }
  return true;
}

/// A word for what a value is used as.
static StringRef roleOf(Value value) {
  if (value.getType().isInteger(1))
    return "is";
  for (Operation *user : value.getUsers())
    if (auto access = dyn_cast<AccessInterface>(user))
      for (unsigned index = 0; index < access.getNumBoxes(); ++index) {
        Box box = access.getBox(index);
        if (llvm::is_contained(box.sizes, value))
          return "rows";
        if (llvm::is_contained(box.offsets, value))
          return "at";
      }
  return "v";
}

LogicalResult Emitter::scalar(Operation &op) {
  if (isa<arith::ConstantOp>(op))
    return success();
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    if (branch.getNumResults() != 1 || branch.getElseRegion().empty())
      return op.emitError(
          "--emit expert: a branch that gives several values has no form in Python");
    if (failed(inlineAll(*branch.thenBlock())) || failed(inlineAll(*branch.elseBlock())))
      return failure();
    std::string name = names.fresh("v", true);
    write(name + " = T.if_then_else(" + text(branch.getCondition()) + ", " +
              text(branch.thenYield().getOperand(0)) + ", " +
              text(branch.elseYield().getOperand(0)) + ")",
          op);
    values[branch.getResult(0)] = {name, 0};
    return success();
  }
  std::optional<Expression> found = op.getNumResults() == 1 ? expressionOf(op) : std::nullopt;
  if (!found)
    return op.emitError("--emit expert: Python has no word for ") << op.getName().getStringRef();
  Value result = op.getResult(0);
  // Loop bounds of T.blocks name the core by themselves.
  bool isForBlocks =
      isa<npu::CoreIdOp, npu::CoreCountOp>(op) &&
      llvm::all_of(result.getUsers(), [](Operation *user) { return isa<scf::ForOp>(user); });
  if ((result.use_empty() && !isa<npu::ScalarAtomicOp>(op)) || isForBlocks || canInline(op)) {
    values[result] = *found;
    return success();
  }
  std::string name = names.fresh(roleOf(result), true);
  write(name + " = " + found->text, op);
  values[result] = {name, 0};
  return success();
}

LogicalResult Emitter::inlineAll(Block &block) {
  bool outer = inlinesAll;
  inlinesAll = true;
  LogicalResult result = success();
  for (Operation &op : block.without_terminator()) {
    if (!isPure(&op) && !isa<npu::ScalarLoadOp>(op))
      result = op.emitError("--emit expert: a statement inside a condition has no form in Python");
    else
      result = scalar(op);
    if (failed(result))
      break;
  }
  inlinesAll = outer;
  return result;
}

std::string Emitter::bufferName(Value buffer) { return values[buffer].text; }

std::string Emitter::slice(Value offset, Value size, int64_t extent) {
  auto start = constantOf(offset), length = constantOf(size);
  if (start == std::optional<int64_t>(0))
    return length == std::optional<int64_t>(extent) ? ":" : ":" + text(size);
  if (start && length)
    return std::to_string(*start) + ":" + std::to_string(*start + *length);
  if (length && *length == extent && extent == 1)
    return text(offset) + " : " + text(offset, 2) + " + 1";
  return text(offset) + " : " + text(offset, 2) + " + " + text(size, 1);
}

/// A box with its dimensions at `positions` among `rank`, -1 for one given by a single index.
std::string Emitter::boxAt(const Box &box, ArrayRef<int64_t> positions, int64_t rank) {
  auto type = cast<MemRefType>(box.buffer.getType());
  SmallVector<std::string> parts;
  int64_t next = 0;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (positions[dim] < 0) {
      parts.push_back(text(box.offsets[dim]));
      continue;
    }
    for (; next < positions[dim]; ++next)
      parts.push_back("None");
    parts.push_back(slice(box.offsets[dim], box.sizes[dim], type.getDimSize(dim)));
    ++next;
  }
  for (; next < rank; ++next)
    parts.push_back("None");
  return bufferName(box.buffer) + "[" + llvm::join(parts, ", ") + "]";
}

std::string Emitter::box(AccessInterface op, unsigned index) {
  Box box = op.getBox(index);
  auto type = cast<MemRefType>(box.buffer.getType());
  SmallVector<int64_t> positions;
  bool isWhole = true, isPoint = true;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    isWhole &= constantOf(box.offsets[dim]) == std::optional<int64_t>(0) &&
               constantOf(box.sizes[dim]) == std::optional<int64_t>(type.getDimSize(dim));
    isPoint &= constantOf(box.sizes[dim]) == std::optional<int64_t>(1);
  }
  if (isWhole)
    return bufferName(box.buffer);
  int64_t next = 0;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    bool isIndex = !isPoint && constantOf(box.sizes[dim]) == std::optional<int64_t>(1) &&
                   type.getDimSize(dim) != 1;
    positions.push_back(isIndex ? -1 : next++);
  }
  return boxAt(box, positions, next);
}

} // namespace tilewright::to_expert
