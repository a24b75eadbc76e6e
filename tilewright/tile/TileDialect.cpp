// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/tile/CoreOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "tilewright/tile/TileDialect.cpp.inc"
#include "tilewright/tile/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "tilewright/tile/TileAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "tilewright/tile/CoreOps.cpp.inc"

namespace tilewright::tile {

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tilewright/tile/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tilewright/tile/TileOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tilewright/tile/CoreOps.cpp.inc"
      >();
}

Scope scopeOf(MemRefType type) {
  auto scope = dyn_cast_or_null<ScopeAttr>(type.getMemorySpace());
  return scope ? scope.getValue() : Scope::Global;
}

Scope scopeOf(Value buffer) { return scopeOf(cast<MemRefType>(buffer.getType())); }

MemRefType withScope(MemRefType type, Scope scope) {
  return MemRefType::get(type.getShape(), type.getElementType(), type.getLayout(),
                         ScopeAttr::get(type.getContext(), scope));
}

bool isOnChip(Scope scope) {
  return scope != Scope::Global && scope != Scope::Workspace && scope != Scope::Local;
}

Type scalarTypeOf(Type elementType) {
  auto integer = dyn_cast<IntegerType>(elementType);
  return integer ? IntegerType::get(integer.getContext(), integer.getWidth()) : elementType;
}

StringRef nameOf(Value buffer) {
  if (auto alloc = buffer.getDefiningOp<AllocOp>())
    return alloc.getName();
  if (auto view = buffer.getDefiningOp<ViewOp>())
    return view.getName();
  if (auto argument = dyn_cast<BlockArgument>(buffer))
    if (auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()))
      if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr))
        return name.getValue();
  return "";
}

} // namespace tilewright::tile
