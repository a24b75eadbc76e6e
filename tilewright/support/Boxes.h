// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/support/Access.h"

#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include <optional>

#include "tilewright/support/Enums.h.inc"

#include "tilewright/support/AccessInterface.h.inc"

/// What ops over boxes share, in both dialects.
namespace tilewright {

/// Slices box `index` out of operands that are concatenated by rank.
Box boxOf(mlir::OperandRange buffers, mlir::OperandRange offsets, mlir::OperandRange sizes,
          unsigned index);

/// The constant behind an index or integer value.
std::optional<int64_t> constantOf(mlir::Value value);

/// Sizes of a box; kDynamic where they are run-time values, the whole shape for a whole buffer.
llvm::SmallVector<int64_t> staticSizes(const Box &box);

/// The `custom<Boxes>` directive: `(%a[%i] [%m] : type, ...)`.
void printBoxes(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::OperandRange buffers,
                mlir::TypeRange types, mlir::OperandRange offsets, mlir::OperandRange sizes);
mlir::ParseResult parseBoxes(mlir::OpAsmParser &parser,
                             llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &buffers,
                             llvm::SmallVectorImpl<mlir::Type> &types,
                             llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &offsets,
                             llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &sizes);

} // namespace tilewright
