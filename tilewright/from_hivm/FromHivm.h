// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/machine/Machine.h"

#include "mlir/IR/BuiltinOps.h"

/// From text of the published dialect HIVM to npu.
namespace tilewright::from_hivm {

/// True if the text names operations of HIVM.
bool isHivm(llvm::StringRef text);

/// Reads planned text in the generic form: HIVM's operations on memrefs, or the calls of its
/// library that its compiler makes of them, as `bishengir-opt --mlir-print-op-generic` prints both.
/// The result is a module with a public function for each kernel, whose one launch starts the
/// kernel's device functions; its parameters are theirs, without those that the runtime adds.
///
/// Buffers are at the addresses of the text. Bools, which HIVM packs, are bytes in the simulator:
/// a tile of bools that would reach into another one lies behind all others. What an operand covers
/// of a buffer stands as `memref.reinterpret_cast`. A buffer at a place that is known at run time
/// is a part of a whole memory of `chip`.
///
/// Null after a diagnostic at a place of the text: text that cannot be parsed, is too large or too
/// deeply nested, and operations or library calls that are not known.
mlir::OwningOpRef<mlir::ModuleOp> readText(llvm::StringRef text, llvm::StringRef fileName,
                                           const machine::Machine &chip,
                                           mlir::MLIRContext &context);

} // namespace tilewright::from_hivm
