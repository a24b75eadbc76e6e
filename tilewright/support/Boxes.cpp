// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/support/Boxes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

#include "tilewright/support/AccessInterface.cpp.inc"
#include "tilewright/support/Enums.cpp.inc"

namespace tilewright {

Box boxOf(OperandRange buffers, OperandRange offsets, OperandRange sizes, unsigned index) {
  unsigned first = 0;
  for (unsigned i = 0; i < index; ++i)
    first += cast<MemRefType>(buffers[i].getType()).getRank();
  unsigned rank = cast<MemRefType>(buffers[index].getType()).getRank();
  return {buffers[index], offsets.slice(first, rank), sizes.slice(first, rank)};
}

std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (!value || !matchPattern(value, m_ConstantInt(&constant)))
    return std::nullopt;
  return constant.getSExtValue();
}

SmallVector<int64_t> staticSizes(const Box &box) {
  if (box.isWhole())
    return llvm::to_vector(cast<MemRefType>(box.buffer.getType()).getShape());
  SmallVector<int64_t> sizes;
  for (Value size : box.sizes)
    sizes.push_back(constantOf(size).value_or(ShapedType::kDynamic));
  return sizes;
}

/// Prints `(%a[%i] [%m] : type, ...)`.
void printBoxes(OpAsmPrinter &printer, Operation *, OperandRange buffers, TypeRange types,
                OperandRange offsets, OperandRange sizes) {
  printer << '(';
  for (auto [index, buffer] : llvm::enumerate(buffers)) {
    Box box = boxOf(buffers, offsets, sizes, index);
    printer << (index ? ", " : "") << buffer << '[' << box.offsets << "] [" << box.sizes
            << "] : " << types[index];
  }
  printer << ')';
}

ParseResult parseBoxes(OpAsmParser &parser,
                       SmallVectorImpl<OpAsmParser::UnresolvedOperand> &buffers,
                       SmallVectorImpl<Type> &types,
                       SmallVectorImpl<OpAsmParser::UnresolvedOperand> &offsets,
                       SmallVectorImpl<OpAsmParser::UnresolvedOperand> &sizes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&]() -> ParseResult {
    return failure(parser.parseOperand(buffers.emplace_back()) ||
                   parser.parseOperandList(offsets, AsmParser::Delimiter::Square) ||
                   parser.parseOperandList(sizes, AsmParser::Delimiter::Square) ||
                   parser.parseColonType(types.emplace_back()));
  });
}

} // namespace tilewright
