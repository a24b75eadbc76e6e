// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/npu/NpuOps.h"

#include "mlir/IR/Builders.h"

/// Box ops as loops of the scalar unit, for what the vector unit cannot do at all.
namespace tilewright::passes {

/// Arithmetic, order and narrowing of 64-bit integers, and quotients of all integers, in front of
/// `op`, an element at a time. False, with nothing made, where the vector unit has an instruction
/// or a scalar form is not known.
bool makeScalarLoop(mlir::OpBuilder &builder, npu::ElementwiseOp op);
/// Likewise a scan along rows, whose elements each wait for the one before.
bool makeScalarLoop(mlir::OpBuilder &builder, npu::ScanOp op);

} // namespace tilewright::passes
