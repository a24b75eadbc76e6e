// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/passes/TileUtils.h"

#include "llvm/ADT/MapVector.h"

namespace tilewright::passes {

/// Dimensions of vector tiles that must be cut together, and those that cannot be cut.
///
/// A node is one dimension of one UB tile. Ops tie the dimensions that follow the same dimension of
/// their domain; an op that mixes elements along a dimension, or names a part of it, pins that
/// dimension.
class RowLattice {
public:
  explicit RowLattice(tile::LaunchOp launch);

  /// Classes to cut, those with most work first, or outer dimensions first; no tile has dimensions
  /// of two of them.
  llvm::SmallVector<unsigned> choose(bool outerFirst = false);

  /// Dimension of `alloc` in class `root`, -1 for none.
  int64_t dimIn(mlir::Value alloc, unsigned root);
  int64_t extentOf(unsigned root) const { return extents[root]; }

private:
  static unsigned rankOf(mlir::Value alloc) {
    return mlir::cast<mlir::MemRefType>(alloc.getType()).getRank();
  }
  unsigned find(unsigned node) {
    while (parent[node] != node)
      node = parent[node] = parent[parent[node]];
    return node;
  }
  void tie(unsigned a, unsigned b) {
    a = find(a), b = find(b);
    parent[std::max(a, b)] = std::min(a, b);
  }
  bool isTile(mlir::Value buffer) const { return first.count(buffer) != 0; }
  void pin(mlir::Value buffer, unsigned dim) { pinned[first[buffer] + dim] = true; }
  void pinAll(AccessInterface op);
  void pinParts(const Box &box);
  void visit(AccessInterface op);

  llvm::MapVector<mlir::Value, unsigned> first; ///< node of dimension 0
  llvm::SmallVector<unsigned> parent;
  llvm::SmallVector<int64_t> extents, weight;
  llvm::SmallVector<bool> pinned;
};

} // namespace tilewright::passes
