// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/passes/TileUtils.h"

#include "llvm/ADT/MapVector.h"

#include <string>
#include <variant>

namespace tilewright::passes {

/// Proves that the vector work of a turn is a step of an online softmax: with scores S of the turn,
/// m' = max(m, max_j a S_j), alpha = exp(c (m - m')), P_j = exp(c (a S_j - m')), and every sum that
/// is carried from turn to turn becomes X alpha + sum_j P_j x_j, where the sum over j is a
/// reduction or a product. Then two turns are one over both sets of columns, in real arithmetic.
///
/// The proof evaluates the statements in order over a small set of symbolic values. What it does
/// not know makes a value opaque, and a carried tile that ends opaque refuses the loop.
class OnlineSoftmax {
public:
  /// `wide` maps tiles to the dimension that the columns of the turn run along; `carried` are tiles
  /// whose content one turn hands to the next.
  OnlineSoftmax(const llvm::MapVector<mlir::Value, unsigned> &wide,
                llvm::ArrayRef<mlir::Value> carried)
      : wide(wide), carried(carried) {
    for (mlir::Value tile : carried)
      values[tile] = Linear{tile, 1, 0};
  }

  void scoresArrive(mlir::Value tile) { values[tile] = fresh(); }
  /// The weights leave for the product that comes back as `productArrives`.
  void weightsLeave(mlir::Value tile);
  void productArrives(mlir::Value tile);
  void visit(mlir::Operation *op);

  /// Why the turn is no such step; empty when it is.
  std::string problem();

private:
  struct Opaque {};
  /// Does not depend on scores of this turn or on what is carried.
  struct Fixed {
    std::optional<double> number;
  };
  /// before * m + after * m' of the maximum carried in `tile`; or any carried tile as it was.
  struct Linear {
    mlir::Value tile;
    double before, after;
  };
  /// factor * S + after * m', for scores number `scores`.
  struct Scores {
    unsigned scores;
    double factor, after;
  };
  struct RowMax {
    unsigned scores;
    double factor;
  };
  struct Alpha {
    double rate;
  };
  struct Weights {
    unsigned scores;
    double rate;
  };
  /// Sum of weights, or of weights times something.
  struct Sum {
    unsigned scores;
    double rate;
  };
  struct Scaled {
    mlir::Value tile;
    double rate;
  };
  struct Done {
    mlir::Value tile;
    unsigned scores;
    double rate;
  };
  using Symbol =
      std::variant<Opaque, Fixed, Linear, Scores, RowMax, Alpha, Weights, Sum, Scaled, Done>;
  /// The maximum over all turns: where it lives, and what it is a maximum of.
  struct Top {
    mlir::Value tile;
    unsigned scores;
    double factor;
  };

  /// True for what does not depend on anything that is carried.
  static bool isFree(const Symbol &value);
  Symbol fresh() { return Scores{++count, 1, 0}; }
  Symbol valueOf(mlir::Value tile) const;
  Symbol merged(mlir::Value tile, const Symbol &part);
  Symbol maxOf(const Symbol &a, const Symbol &b);
  Symbol binary(Fn fn, const Symbol &a, const Symbol &b);
  Symbol exponential(const Symbol &exponent) const;
  Symbol elementwise(tile::ElementwiseOp op);
  Symbol reduce(tile::ReduceOp op);
  bool isTop(const Linear &value) const { return top && top->tile == value.tile; }

  const llvm::MapVector<mlir::Value, unsigned> &wide;
  llvm::ArrayRef<mlir::Value> carried;
  llvm::DenseMap<mlir::Value, Symbol> values;
  std::optional<Top> top;
  std::optional<Weights> left; ///< what went to the product
  unsigned count = 0;
};

} // namespace tilewright::passes
