// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILEWRIGHT_NPU_ENUMS
#define TILEWRIGHT_NPU_ENUMS

include "mlir/IR/EnumAttr.td"

class Npu_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tilewright::npu";
  let genSpecializedAttr = 0;
}

def Npu_SpaceEnum : Npu_Enum<"Space", "a memory of the NPU", [
  I32EnumAttrCase<"GM", 0, "gm">, I32EnumAttrCase<"Workspace", 1, "workspace">, I32EnumAttrCase<"L1", 2, "l1">,
  I32EnumAttrCase<"L0A", 3, "l0a">, I32EnumAttrCase<"L0B", 4, "l0b">, I32EnumAttrCase<"L0C", 5, "l0c">,
  I32EnumAttrCase<"UB", 6, "ub">, I32EnumAttrCase<"Reg", 7, "reg">]>;

#endif
