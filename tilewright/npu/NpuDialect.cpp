// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/npu/NpuOps.h"
#include "tilewright/npu/Rows.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

#include "tilewright/npu/NpuDialect.cpp.inc"
#include "tilewright/npu/NpuEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "tilewright/npu/NpuAttrs.cpp.inc"
#include "tilewright/npu/NpuInterfaces.cpp.inc"

namespace tilewright::npu {

void NpuDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tilewright/npu/NpuAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tilewright/npu/NpuOps.cpp.inc"
      >();
}

Space spaceOf(MemRefType type) {
  auto space = dyn_cast_or_null<SpaceAttr>(type.getMemorySpace());
  return space ? space.getValue() : Space::GM;
}

Space spaceOf(Value buffer) { return spaceOf(cast<MemRefType>(buffer.getType())); }

MemRefType withSpace(MemRefType type, Space space) {
  return MemRefType::get(type.getShape(), type.getElementType(), type.getLayout(),
                         SpaceAttr::get(type.getContext(), space));
}

bool isFractal(Space space) {
  return space == Space::L1 || space == Space::L0A || space == Space::L0B || space == Space::L0C;
}

int64_t slotBytes(MemRefType type, bool padRows) {
  Type element = type.getElementType();
  int64_t bytes = element.isIndex() ? 8 : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  SmallVector<int64_t> shape = pitchShape(type, padRows);
  Space space = spaceOf(type);
  if (isFractal(space) && shape.size() == 1) // a vector is one fractal row block
    shape.back() = 16 * int64_t(llvm::alignTo(shape.back(), space == Space::L0C ? 16 : 32 / bytes));
  int64_t total = bytes;
  for (int64_t extent : shape)
    total *= extent;
  return llvm::alignTo(total, space == Space::Workspace || isFractal(space) ? 512 : 32);
}

StringRef nameOf(Value buffer) {
  if (auto alloc = buffer.getDefiningOp<AllocOp>())
    return alloc.getName();
  if (auto part = buffer.getDefiningOp<memref::ReinterpretCastOp>())
    return nameOf(part.getSource());
  if (auto argument = dyn_cast<BlockArgument>(buffer))
    if (auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()))
      if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr))
        return name.getValue();
  return "";
}

} // namespace tilewright::npu
