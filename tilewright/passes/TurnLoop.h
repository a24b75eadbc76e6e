// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/machine/Machine.h"
#include "tilewright/passes/OnlineSoftmax.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace tilewright::passes {

/// What a dimension of a tile stands for.
enum class Axis { None, Rows, Columns, Other };

/// A loop whose body is: scores by the cube, a step of an online softmax by the vector cores, a
/// product of the weights by the cube, and its sum by the vector cores.
class TurnLoop {
public:
  TurnLoop(mlir::scf::ForOp loop, const machine::Machine &machine) : loop(loop), machine(machine) {}

  /// Why turns cannot be fused; empty when they can.
  std::string match();
  int64_t turnsToFuse() const;
  void fuse(int64_t turns);
  int64_t columns() const { return extent; }

private:
  std::string collect();
  std::string matchChannels();
  std::string matchScores();
  std::string matchProducts();
  std::string labelAxes();
  std::string checkTurn();
  bool label(mlir::Value buffer, unsigned dim, Axis axis);
  Axis axisOf(mlir::Value buffer, unsigned dim) const { return axes.lookup({buffer, dim}); }
  bool labelOp(mlir::Operation *op);
  bool tie(std::pair<mlir::Value, unsigned> a, std::pair<mlir::Value, unsigned> b);
  bool tieCopy(tile::CopyOp copy);
  bool isFixed(mlir::Value value) const;
  bool isLocal(mlir::Value buffer) const;
  std::optional<unsigned> loadedAlong(tile::CopyOp load, unsigned tileDim) const;
  int64_t chunkOfScores() const;
  int64_t meanTrips() const;
  int64_t slicesFor(int64_t turns) const;
  double vectorCycles(int64_t turns) const;

  void cloneLocals(int64_t turns);
  mlir::Operation *cloneOp(mlir::Operation *op, mlir::OpBuilder &builder, mlir::IRMapping &mapping);
  void emitScores(mlir::OpBuilder &builder, int64_t turns);
  void emitProducts(mlir::OpBuilder &builder, int64_t turns);
  void emitVector(mlir::Operation *op, mlir::OpBuilder &builder, int64_t turns);
  mlir::scf::ForOp chunkLoop(mlir::OpBuilder &builder, int64_t count);
  void setBox(mlir::Operation *op, unsigned box, unsigned dim, mlir::Value offset,
              std::optional<int64_t> size);

  mutable mlir::scf::ForOp loop;
  const machine::Machine &machine;
  llvm::SmallVector<mlir::Operation *> ops;        ///< with effects, in order
  llvm::SmallVector<mlir::Operation *> scoreOps;   ///< loads and products of the scores
  llvm::SmallVector<mlir::Operation *> productOps; ///< loads and products of the weights
  mutable tile::CopyOp scoresOut, scoresIn, weightsOut, weightsIn;
  llvm::SmallVector<tile::CopyOp> productsOut, productsIn;
  mlir::Value scores, weights; ///< the channels
  int64_t extent = 0;          ///< columns of a turn
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, Axis> axes;
  llvm::MapVector<mlir::Value, unsigned> wide; ///< tiles and channels with columns
  llvm::DenseSet<mlir::Operation *> inChunks;  ///< vector work that knows which turn it is in
  llvm::SetVector<mlir::Value> written;        ///< in the loop
  /// What else runs along the columns: (op, box) -> dimension.
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, unsigned> chunkDims;
  mlir::IRMapping outer; ///< from the old body to the fused turn
  mlir::Value counter;   ///< first of the old turns that a fused turn does
};

} // namespace tilewright::passes
