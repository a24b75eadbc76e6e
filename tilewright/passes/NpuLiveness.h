// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/npu/NpuOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

/// When the buffers of a device function hold something that is still needed.
namespace tilewright::passes {

/// True if both are known to be the same number: one value, equal constants, or equal pure
/// operations down to `depth`.
bool areSame(mlir::Value a, mlir::Value b, int depth = 6);

/// True if box `outer` is known to contain box `inner` of the same buffer.
bool covers(const Box &outer, const Box &inner);

/// Boxes of one buffer that are known to be written at some point of the program.
class WrittenBoxes {
public:
  void add(const Box &box);
  bool covers(const Box &box) const;

  /// What was written in both of two branches. Without an `else`, pass what was written before as
  /// `otherwise` and the condition: in `if (rows != 64) fill; load rows` the two together write all
  /// of what the fill does.
  static WrittenBoxes join(const WrittenBoxes &then, const WrittenBoxes &otherwise,
                           mlir::Value conditionWithoutElse = {});

  /// Forgets boxes that are named by values defined inside `op`.
  void forgetInside(mlir::Operation *op);

private:
  /// A box written unless the values are these numbers.
  struct Conditional {
    Box box;
    llvm::SmallVector<std::pair<mlir::Value, int64_t>> otherwise;
  };
  llvm::SmallVector<Box> boxes;
  llvm::SmallVector<Conditional> conditionals;
};

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

  /// What the range of a rotating buffer would be with one slot.
  LiveRange withOneSlot(npu::AllocOp alloc) const { return compute(alloc, /*isRotating=*/false); }

private:
  struct Span {
    int open = 0, close = 0;
  };
  mutable mlir::func::FuncOp function;
  llvm::DenseMap<mlir::Operation *, Span> spans;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *>> accesses;
  llvm::DenseMap<mlir::Operation *, LiveRange> ranges;

  void number(mlir::Block &block, int &next);
  LiveRange compute(npu::AllocOp alloc, bool isRotating) const;
};

} // namespace tilewright::passes
