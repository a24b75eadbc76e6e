// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILEWRIGHT_TILE_ENUMS
#define TILEWRIGHT_TILE_ENUMS

include "mlir/IR/EnumAttr.td"

def Tile_ScopeEnum : I32EnumAttr<"Scope", "where a buffer lives", [
  I32EnumAttrCase<"Global", 0, "global">,
  I32EnumAttrCase<"Shared", 1, "shared">,
  I32EnumAttrCase<"Fragment", 2, "fragment">,
  I32EnumAttrCase<"Local", 3, "local">,
  I32EnumAttrCase<"L1", 4, "l1">,
  I32EnumAttrCase<"L0A", 5, "l0a">,
  I32EnumAttrCase<"L0B", 6, "l0b">,
  I32EnumAttrCase<"L0C", 7, "l0c">,
  I32EnumAttrCase<"UB", 8, "ub">,
  I32EnumAttrCase<"Workspace", 9, "workspace">]> {
  let cppNamespace = "::tilewright::tile";
  let genSpecializedAttr = 0;
}

#endif
