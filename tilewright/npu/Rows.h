// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/npu/NpuOps.h"

/// Rows of UB: what an instruction takes in one run, and what it takes row by row.
namespace tilewright::npu {

/// Extents that set the pitches of a buffer: rows and columns of the cube core's memories are whole
/// fractals; with `padRows`, rows of UB are whole 32-byte blocks. A row is the last dimension of
/// more than one element; without a dimension in front that has as many, there is nothing to pad.
llvm::SmallVector<int64_t> pitchShape(mlir::MemRefType type, bool padRows);

/// The same for another unit than 32 bytes: the elements of a block.
llvm::SmallVector<int64_t> paddedRows(llvm::ArrayRef<int64_t> shape, int64_t blockElements);

/// True if the op takes rows of UB one after the other, each of which has to begin at a 32-byte
/// block: a reduction, a scan, a broadcast or a transposition, or a box with gaps between its rows
/// (of any memory: movers go row by row through both). Else all is one run of elements.
bool takesRows(mlir::Operation *op);

/// True if the box has several rows that follow each other at no multiple of 32 bytes (bools: of
/// 256 elements, which are bits on the device).
bool hasUnalignedRows(const Box &box);

/// Elements of memory beside its operands that a reduction of rows takes, after what the published
/// compiler was seen to give it. Sums, maxima and minima of floats fold each row to a repeat of the
/// vector unit in the first step, others take as much as all rows.
int64_t reductionRoom(ReduceKind kind, mlir::Type element, int64_t rows, int64_t columns);

} // namespace tilewright::npu
