// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/npu/NpuOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

/// When the buffers of a device function hold something that is still needed.
namespace tilewright::passes {

/// True if box `outer` is known to contain box `inner` of the same buffer.
bool covers(const Box &outer, const Box &inner);

/// Closed range of structured positions.
struct LiveRange {
  int first = 0, last = -1;

  bool isEmpty() const { return last < first; }
  bool meets(const LiveRange &other) const { return first <= other.last && other.first <= last; }
};

/// Live ranges of all npu.alloc of one device function. Positions number the ops in text order; ops
/// with regions have one number where they open and one where they close. A buffer lives from its
/// first to its last access, and all through each loop in which it is live from one turn to the
/// next, into the loop or out of it. Rotating buffers cover the outermost loop that moves them.
class Liveness {
public:
  explicit Liveness(mlir::func::FuncOp function);

  /// Empty for a buffer without accesses.
  LiveRange rangeOf(npu::AllocOp alloc) const { return ranges.lookup(alloc.getOperation()); }

private:
  struct Span {
    int open = 0, close = 0;
  };
  mlir::func::FuncOp function;
  llvm::DenseMap<mlir::Operation *, Span> spans;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *>> accesses;
  llvm::DenseMap<mlir::Operation *, LiveRange> ranges;

  void number(mlir::Block &block, int &next);
  LiveRange compute(npu::AllocOp alloc);
};

} // namespace tilewright::passes
