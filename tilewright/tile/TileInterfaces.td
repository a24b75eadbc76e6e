// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILEWRIGHT_TILE_INTERFACES
#define TILEWRIGHT_TILE_INTERFACES

include "mlir/IR/OpBase.td"

/// The one access interface: which boxes an op touches, and how. All analyses, checkers and the interpreter's checks use
/// only this.
def Tile_AccessInterface : OpInterface<"TileAccess"> {
  let cppNamespace = "::tilewright::tile";
  let description = [{
    Implemented by every op that touches buffers. Every tile op reads all its source boxes before it writes any.
  }];
  let methods = [
    InterfaceMethod<"Number of boxes.", "unsigned", "getNumBoxes", (ins)>,
    InterfaceMethod<"Box number `index`.", "::tilewright::Box", "getBox", (ins "unsigned":$index)>,
    InterfaceMethod<"What the op does to box `index`.", "::tilewright::AccessKind", "getAccessKind", (ins "unsigned":$index)>
  ];
}

#endif
