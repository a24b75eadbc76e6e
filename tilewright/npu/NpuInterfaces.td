// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILEWRIGHT_NPU_INTERFACES
#define TILEWRIGHT_NPU_INTERFACES

include "mlir/IR/OpBase.td"

/// Where an op runs. Together with the access interface this is all that planning, synchronisation and checking look at.
def Npu_PipeInterface : OpInterface<"PipeInterface"> {
  let cppNamespace = "::tilewright::npu";
  let methods = [
    InterfaceMethod<"The pipe that touches box `index`.", "::tilewright::npu::Pipe", "getBoxPipe", (ins "unsigned":$index)>
  ];
}

#endif
