// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/support/Boxes.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tilewright/npu/NpuDialect.h.inc"
#include "tilewright/npu/NpuEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tilewright/npu/NpuAttrs.h.inc"

namespace tilewright::npu {

using tilewright::Pipe;
using tilewright::stringifyPipe;
using tilewright::symbolizePipe;

} // namespace tilewright::npu

namespace tilewright::npu {

/// The memory of a buffer; memrefs without a memory space are GM.
Space spaceOf(mlir::MemRefType type);
Space spaceOf(mlir::Value buffer);
mlir::MemRefType withSpace(mlir::MemRefType type, Space space);

/// True for the cube core's memories, which hold matrices as fractals.
bool isFractal(Space space);

/// Bytes that one copy of a buffer of this type takes in its space: the cube core's in 16 x 32-byte
/// fractals (C0 = 32 bytes, f32 accumulators 16 x 16), UB rows one after the other or, with
/// `padRows`, at 32-byte blocks, the total in 32-byte blocks; workspace slots in 512-byte lines.
int64_t slotBytes(mlir::MemRefType type, bool padRows = false);

/// Name given by the author: of the alloc, or of the function argument.
llvm::StringRef nameOf(mlir::Value buffer);

/// Discardable attributes with a meaning.
inline constexpr llvm::StringLiteral kCoreAttr = "npu.core"; ///< #npu.core on functions
inline constexpr llvm::StringLiteral kWorkspaceAttr =
    "npu.workspace"; ///< i64 on functions: bytes per core group
inline constexpr llvm::StringLiteral kNameAttr = "npu.name"; ///< string, function arguments
inline constexpr llvm::StringLiteral kManualSyncAttr =
    "npu.manual_sync"; ///< unit on functions whose pipes only the author orders

} // namespace tilewright::npu

#include "tilewright/npu/NpuInterfaces.h.inc"

#define GET_OP_CLASSES
#include "tilewright/npu/NpuOps.h.inc"
