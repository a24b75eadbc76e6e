// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILEWRIGHT_SUPPORT_ACCESS_INTERFACE
#define TILEWRIGHT_SUPPORT_ACCESS_INTERFACE

include "mlir/IR/OpBase.td"

/// The one access interface of both dialects: which boxes an op touches, and how. All analyses, checkers and the
/// interpreter's checks use only this.
def AccessInterface : OpInterface<"AccessInterface"> {
  let cppNamespace = "::tilewright";
  let description = [{
    Implemented by every op that touches buffers. Every op reads all its source boxes before it writes any.
  }];
  let methods = [
    InterfaceMethod<"Number of boxes.", "unsigned", "getNumBoxes", (ins)>,
    InterfaceMethod<"Box number `index`.", "::tilewright::Box", "getBox", (ins "unsigned":$index)>,
    InterfaceMethod<"What the op does to box `index`.", "::tilewright::AccessKind", "getAccessKind", (ins "unsigned":$index)>
  ];
}

#endif
