// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/passes/TileUtils.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tilewright::passes {

/// Blocks of a launch of which one does the work of `count` neighbours along `extent`; none with a
/// run-time grid. Where `count` does not divide the extent, the last block would do more than there
/// is: none then, unless `endsWithTensors`.
std::optional<int64_t> blocksWhenMerged(tile::LaunchOp launch, unsigned extent, int64_t count,
                                        bool endsWithTensors);

/// Whether the part of a tensor that a block moves, found along `dim` by its number in `extent`, is
/// the tensor's last one in the last block: a block with a number beyond would move nothing.
bool endsWithTensor(tile::LaunchOp launch, unsigned extent, const Box &tensor, unsigned dim);

/// Scalars that each block reads the same, whatever its number: of tensors that the launch does not
/// write, and of variables that hold such numbers only. The factor of each is 0.
llvm::DenseMap<mlir::Value, int64_t> readsThatAgree(tile::LaunchOp launch, mlir::Value number);

/// Tiles that blocks with other numbers fill differently, and what is made of them; `agreeing`: as
/// from readsThatAgree.
llvm::SetVector<mlir::Value> tilesThatDiffer(tile::LaunchOp launch, mlir::Value number,
                                             const llvm::DenseMap<mlir::Value, int64_t> &agreeing);

/// Gives the blocks of a launch more rows: neighbours along one extent of the grid do the same with
/// parts of tensors that follow each other, so that one block with larger tiles does the work of
/// several. Rows may be any dimension of a tile, the same one for all that it is used with.
class RowGrowth {
public:
  RowGrowth(tile::LaunchOp launch, unsigned extent)
      : launch(launch), extent(extent), number(launch.getBody().getArgument(extent)) {}

  /// Finds the rows of each tile. False where neighbours share rows, or what they do depends on
  /// which block it is.
  bool match();
  bool grows(mlir::Value tile) const { return tiles.contains(tile); }
  /// True for a copy from or to a tensor that gets larger.
  bool grows(tile::CopyOp copy) const { return moving.contains(copy); }
  /// The dimension of the tensor along which it does.
  std::optional<unsigned> dimOf(tile::CopyOp copy) const {
    const auto *found = moving.find(copy);
    return found == moving.end() ? std::nullopt : std::optional(found->second.second);
  }
  /// The dimension of a tile that grows, and its extent.
  unsigned dimOf(mlir::Value tile) const { return rows.lookup(tile); }
  int64_t rowsOf(mlir::Value tile) const;
  /// Whether blocks beyond the extent would move nothing.
  bool endsWithTensors() const;
  /// Lets a block do the work of `count` neighbours. The extent of the grid is a multiple of it, or
  /// the tensors end with the grid.
  void apply(int64_t count);

private:
  /// A dimension of a box of an op.
  using Place = std::pair<unsigned, unsigned>;

  bool areFixed(mlir::ValueRange values) const {
    return llvm::all_of(values, [&](mlir::Value value) { return factorOf(value) == 0; });
  }
  std::optional<int64_t> factorOf(mlir::Value value) const {
    return factorIn(value, number, launch.getBody(), agreeing);
  }
  mlir::Value headOf(const Box &box, unsigned dim) const;
  mlir::Value longer(mlir::Value head, int64_t count);
  bool matchMoves();
  bool propagate(AccessInterface op, bool &changed);
  bool matchOp(mlir::Operation *op);
  /// The places that follow the given one; none where the op mixes what lies there.
  std::optional<llvm::SmallVector<Place>> linked(AccessInterface op, Place place) const;
  bool takesAll(const Box &box, unsigned dim) const;

  mutable tile::LaunchOp launch;
  unsigned extent;
  mlir::Value number;                                   ///< of the block
  llvm::DenseMap<mlir::Value, int64_t> agreeing;        ///< as from readsThatAgree
  llvm::SetVector<mlir::Value> tiles;                   ///< that differ between neighbours
  llvm::DenseMap<mlir::Value, unsigned> rows;           ///< their dimension that grows
  llvm::MapVector<mlir::Operation *, Place> moving;     ///< copy -> dimension of its tensor
  llvm::DenseMap<mlir::Value, mlir::Value> longerHeads; ///< size of a head -> of a larger tile
};

} // namespace tilewright::passes
