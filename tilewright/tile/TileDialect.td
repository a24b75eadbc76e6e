// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILEWRIGHT_TILE_DIALECT
#define TILEWRIGHT_TILE_DIALECT

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "tilewright/support/Enums.td"
include "tilewright/tile/TileEnums.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tilewright::tile";
  let summary = "What the author of a kernel means: tiles, copies, products, element-wise work";
  let description = [{
    The `tile` dialect holds a TileLang kernel with one sequential meaning. Tiles are memrefs whose memory space is a
    `#tile.scope`. Ops name *boxes* of buffers by offset and size operands; a box may reach outside a **global** buffer:
    there, reads give zero (or the op's pad value) and writes are dropped. On-chip boxes must be in bounds.
    Scalars and control flow are upstream `arith`, `math`, `scf` and `func`. Unwritten tile elements read 0.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

class Tile_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<Tile_Dialect, info, mnemonic> {
  let cppNamespace = "::tilewright::tile";
  let assemblyFormat = "`<` $value `>`";
}

/// Memory space of tile buffers. `global` is GM seen by all blocks; `shared` and `fragment` are on-chip tiles whose
/// place the compiler chooses; `local` is a scalar variable (rank 0); `l1` .. `ub` are places chosen by an Expert
/// author or by the compiler; `workspace` is per-block GM scratch through which cube and vector cores exchange tiles.
def Tile_ScopeAttr : Tile_EnumAttr<Tile_ScopeEnum, "scope">;

def Tile_PipeAttr : Tile_EnumAttr<Shared_PipeEnum, "pipe">;

def Tile_CoreAttr : Tile_EnumAttr<Shared_CoreEnum, "core">;

def Tile_ReduceAttr : Tile_EnumAttr<Shared_ReduceEnum, "reduce">;

def Tile_RoundAttr : Tile_EnumAttr<Shared_RoundEnum, "round_mode">;

def Tile_FnAttr : Tile_EnumAttr<Shared_FnEnum, "fn">;

#endif
