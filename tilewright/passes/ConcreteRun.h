// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/passes/PassDetails.h"

#include "llvm/ADT/DenseMap.h"

#include <deque>

/// What the checkers of the tile stages share: a launch run on numbers, without data.
namespace tilewright::passes {

/// A number of a run; `isGuess` where it comes out of data, of which a run has none.
struct RunNumber {
  int64_t value = 0;
  bool isGuess = false;
};

/// A box with numbers for its offsets and sizes. An element has size 1 in each dimension.
struct RunBox {
  mlir::Value buffer;
  llvm::SmallVector<int64_t, 4> offsets, sizes;
  bool isGuess = false;

  bool isEmpty() const;
  int64_t volume() const;
};

/// Mixes numbers into one that tells their order.
uint64_t mixed(uint64_t seed, uint64_t value);

/// What the elements of a buffer hold: boxes that do not meet, each with a number for what was
/// written there. Beyond a limit of pieces all elements count as written, by one number.
class Pieces {
public:
  void clear() { *this = Pieces(); }
  void write(const RunBox &box, uint64_t content);
  bool covers(const RunBox &box) const;
  /// A number for what the box holds; `otherwise` stands for elements that were not written.
  uint64_t contentOf(const RunBox &box, uint64_t otherwise = 0) const;
  /// A number for all writes so far, in whatever order.
  uint64_t writesSoFar() const { return total; }

private:
  struct Piece {
    llvm::SmallVector<int64_t, 4> offsets, sizes;
    uint64_t content;
  };
  /// Adds what is left of `piece` outside of `box`.
  static void subtract(Piece piece, const RunBox &box, std::vector<Piece> &rest);

  std::vector<Piece> pieces;
  uint64_t total = 0;
  bool isBlurred = false; ///< too many pieces
};

/// What the current versions hold: of each tile one, which `tile.advance` begins anew, of each
/// channel those that were acquired and not yet released, oldest first.
struct Versions {
  llvm::DenseMap<mlir::Value, Pieces> tiles; ///< and tensors
  llvm::DenseMap<mlir::Value, std::deque<Pieces>> channels;

  /// Begins and ends versions. False for a statement that does neither.
  bool follow(mlir::Operation *op);
};

/// One block of a launch, run on numbers: grid, symbolic sizes and scalar arguments get values that
/// `choice` picks, and scalars out of tensors and tiles get small ones. Follows loops and branches
/// as they would go with these, up to a number of statements.
class ConcreteRun {
public:
  using Visit = llvm::function_ref<mlir::LogicalResult(mlir::Operation *)>;

  ConcreteRun(tile::LaunchOp launch, unsigned choice) : launch(launch), choice(choice) {}

  /// Calls `visit` for each statement without a body, in order. Fails when `visit` does.
  mlir::LogicalResult run(llvm::ArrayRef<int64_t> block, Visit visit);

  /// True after a run to the end of the block in which no branch and no box hung on data.
  bool isExact() const { return steps > 0 && !hasGuessed; }
  bool isComplete() const { return steps > 0; }

  /// Of the statement that is visited.
  RunNumber numberOf(mlir::Value value);
  RunBox boxOf(AccessInterface access, unsigned index);
  /// True for a box that the statement reads with these numbers: an accumulator only where it goes
  /// on with its sum.
  bool reads(AccessInterface access, unsigned index);

private:
  mlir::LogicalResult runBlock(mlir::Block &block, Visit visit);
  mlir::LogicalResult runFor(mlir::scf::ForOp loop, Visit visit);
  mlir::LogicalResult runWhile(mlir::scf::WhileOp loop, Visit visit);
  mlir::LogicalResult runIf(mlir::scf::IfOp branch, Visit visit);
  void bind(mlir::ValueRange to, llvm::ArrayRef<RunNumber> from);
  llvm::SmallVector<RunNumber> numbersOf(mlir::ValueRange values);
  RunNumber evaluate(mlir::Operation *op, unsigned result);
  RunNumber decides(RunNumber number);

  tile::LaunchOp launch;
  unsigned choice;
  int64_t steps = 0;
  bool hasGuessed = false;
  llvm::DenseMap<mlir::Value, RunNumber> numbers, variables;
};

/// Runs some blocks of a launch: its first, its last and one between, with one set of sizes, or two
/// where sizes are open. Fails with the first that does. `visit` gets the run and its number.
mlir::LogicalResult forEachRun(
    tile::LaunchOp launch,
    llvm::function_ref<mlir::LogicalResult(ConcreteRun &, llvm::ArrayRef<int64_t> block)> visit);

} // namespace tilewright::passes
