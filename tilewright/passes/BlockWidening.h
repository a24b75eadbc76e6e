// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/passes/TileUtils.h"

#include "llvm/ADT/MapVector.h"

namespace tilewright::passes {

/// Gives the blocks of a launch tiles of another length in one dimension: the same loads, products
/// and stores, only larger or smaller, in fewer or more blocks.
class BlockWidening {
public:
  /// True for launches of copies, products and loops without results, at least one product among
  /// them, that leave every place to the compiler.
  static bool takes(tile::LaunchOp launch);

  /// Neighbours along extent `extent` of the grid.
  BlockWidening(tile::LaunchOp launch, unsigned extent)
      : launch(launch), extent(extent), number(launch.getBody().getArgument(extent)) {}

  /// Finds the dimension of each tile that grows. False where the work of two blocks is not that of
  /// one with larger tiles, so that the launch has to stay or be joined statement by statement.
  bool match();
  /// True for a copy or product that gets larger, and for a tile.
  bool grows(mlir::Operation *op) const { return growths.contains(op); }
  bool grows(mlir::Value tile) const { return tiles.contains(tile); }
  /// True for a copy whose rows in global memory get longer.
  bool growsRows(tile::CopyOp copy) const;
  /// The dimension of box `box` of a copy or product that gets larger; -1 for none.
  int64_t dimOf(mlir::Operation *op, unsigned box) const;
  /// Lets a block do the work of two neighbours: halves the extent of the grid. Only after a
  /// successful match.
  void apply();

  /// What one block takes of that dimension, of how much; none where tensors or loops differ in it.
  struct Share {
    int64_t step = 0, total = 0;
  };
  std::optional<Share> share() const;
  /// Gives each block `step` of the dimension instead. Only where share() is known.
  void resize(int64_t step);

private:
  bool matchMove(tile::CopyOp copy);
  bool matchTiles(tile::CopyOp copy);
  bool matchGemm(tile::GemmOp gemm);
  bool areFixed(mlir::ValueRange values) const;
  bool setDim(const Box &box, int64_t dim);
  int64_t dimOf(mlir::Value tile) const;

  /// Calls `visit(op, box index, dimension)` for each box of a global tensor that moves.
  void forEachMove(llvm::function_ref<void(tile::CopyOp, unsigned box, unsigned dim)> visit) const;

  mutable tile::LaunchOp launch;
  unsigned extent;
  mlir::Value number;                          ///< of the block
  llvm::MapVector<mlir::Value, int64_t> tiles; ///< tile -> its dimension that grows
  /// Op -> boxes and their dimensions that grow.
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<std::pair<unsigned, unsigned>>> growths;
};

} // namespace tilewright::passes
