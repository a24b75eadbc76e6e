// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/npu/NpuOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <vector>

/// What synchronisation knows about a device function: which op touches which bytes, on which pipe,
/// and where in the tree of loops and branches it stands.
namespace tilewright::passes::sync {

/// True for the loop over the logical blocks of a core.
bool isBlockLoop(mlir::Operation *op);

/// A memory an op can name: an alloc or a pointer argument.
struct Buffer {
  mlir::Value value;
  npu::Space space;
  int64_t begin = 0, end = 0; ///< bytes of all slots; unused for arguments
  int64_t slots = 1;
  llvm::SmallVector<npu::AdvanceOp> advances = {};

  bool isArgument() const { return mlir::isa<mlir::BlockArgument>(value); }
};

/// One box that an op touches.
struct Access {
  mlir::Operation *op;
  npu::Pipe pipe;
  AccessKind kind;
  Box box;
  unsigned buffer;
  unsigned number; ///< place in the table
};

/// A block of the function with its place in the nest of loops.
struct BlockInfo {
  mlir::Block *block;
  int parent = -1;                         ///< the block that holds the op around this one
  int opInParent = -1;                     ///< index of that op
  bool isLoopBody = false;                 ///< a region of a loop
  bool isInLoop = false;                   ///< runs more than once, maybe
  bool isInInnerLoop = false;              ///< more than once in one logical block, maybe
  unsigned depth = 0;                      ///< number of loops around
  std::vector<mlir::Operation *> ops = {}; ///< by index, as they stood when the table was built
};

/// Where two accesses part: the innermost block with an op around each.
struct Meeting {
  unsigned block;
  int first, second; ///< indices of those ops in the block; equal for two regions of one op
  bool isOtherRegion = false; ///< in different regions of one op
};

/// When two accesses may touch the same bytes.
struct Overlap {
  bool sameTurn = false;  ///< in one run of the block where they meet
  bool laterTurn = false; ///< in different runs of it

  explicit operator bool() const { return sameTurn || laterTurn; }
};

/// The access table of one device function.
class AccessTable {
public:
  /// Emits an error and fails when a buffer has no address, is of unknown origin, or control flow
  /// is not structured.
  static mlir::FailureOr<AccessTable> build(mlir::func::FuncOp function);

  llvm::ArrayRef<Access> accesses() const { return allAccesses; }
  llvm::ArrayRef<Buffer> buffers() const { return allBuffers; }
  llvm::ArrayRef<BlockInfo> blocks() const { return allBlocks; }

  /// Index of an op in its block.
  int indexOf(mlir::Operation *op) const { return indices.lookup(op); }
  unsigned blockOf(mlir::Operation *op) const { return blockIds.lookup(op->getBlock()); }
  /// The op with an index; the first one for what is before it.
  mlir::Operation *opAt(unsigned block, int index) const {
    return allBlocks[block].ops[std::max(index, 0)];
  }

  /// Where two ops meet; the first comes before or is the same as the second in the text.
  Meeting meet(mlir::Operation *first, mlir::Operation *second) const;

  /// True when slots of the two buffers may share bytes.
  bool mayAlias(unsigned first, unsigned second) const;

  /// Per buffer, all that it may alias, itself among them.
  std::vector<llvm::SmallVector<unsigned>> aliases() const;

  /// When the two accesses may touch the same bytes, slots of rotating buffers left aside.
  Overlap overlap(const Access &first, const Access &second, const Meeting &meeting) const;

private:
  /// constant + sum of coefficient * value, sorted by value.
  struct Linear {
    int64_t constant = 0;
    llvm::SmallVector<std::pair<mlir::Value, int64_t>, 2> terms;
  };
  struct Extent {
    Linear offset;
    std::optional<int64_t> size; ///< upper bound
  };

  llvm::SmallVector<Access> allAccesses;
  llvm::SmallVector<Buffer> allBuffers;
  llvm::SmallVector<BlockInfo> allBlocks;
  llvm::DenseMap<mlir::Operation *, int> indices;
  llvm::DenseMap<mlir::Block *, unsigned> blockIds;
  std::vector<llvm::SmallVector<Extent, 2>> extents; ///< per access and dimension

  mlir::LogicalResult addBlock(mlir::Block &block, int parent, int opInParent);
  mlir::LogicalResult addBuffers(mlir::func::FuncOp function);
  mlir::LogicalResult addAccesses(mlir::func::FuncOp function);
  static Linear linearOf(mlir::Value value, unsigned depth = 0);
  static Linear sum(const Linear &left, const Linear &right, int64_t factor);
  static llvm::SmallVector<Extent, 2> extentsOf(const Box &box);
  static bool isDisjoint(const Extent &first, const Extent &second);
  static bool isDisjointAcross(mlir::LoopLikeOpInterface loop, const Extent &first,
                               const Extent &second);
};

} // namespace tilewright::passes::sync
