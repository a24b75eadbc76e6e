// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILEWRIGHT_NPU_DIALECT
#define TILEWRIGHT_NPU_DIALECT

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "tilewright/support/Enums.td"
include "tilewright/npu/NpuEnums.td"

def Npu_Dialect : Dialect {
  let name = "npu";
  let cppNamespace = "::tilewright::npu";
  let summary = "What the hardware does: one program per kind of core, pipes, on-chip buffers, flags";
  let description = [{
    A launch is up to two functions, one for the cube core (AIC) and one for the vector cores (AIV), marked with the
    attribute `npu.core`. Each loops over its share of the grid. Buffers live in a `#npu.space`; boxes of them are offset and
    size operands and always in bounds. Every op runs on a pipe; different pipes run side by side and are ordered only by
    flags and barriers. Unwritten memory is undefined.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Npu_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<Npu_Dialect, info, mnemonic> {
  let cppNamespace = "::tilewright::npu";
  let assemblyFormat = "`<` $value `>`";
}

/// Memory space. `gm` is global memory; `workspace` is GM scratch owned by one core group; `reg` holds scalar variables.
def Npu_SpaceAttr : Npu_EnumAttr<Npu_SpaceEnum, "space">;
def Npu_PipeAttr : Npu_EnumAttr<Shared_PipeEnum, "pipe">;
def Npu_CoreAttr : Npu_EnumAttr<Shared_CoreEnum, "core">;
def Npu_ReduceAttr : Npu_EnumAttr<Shared_ReduceEnum, "reduce">;
def Npu_RoundAttr : Npu_EnumAttr<Shared_RoundEnum, "round_mode">;
def Npu_FnAttr : Npu_EnumAttr<Shared_FnEnum, "fn">;

#endif
