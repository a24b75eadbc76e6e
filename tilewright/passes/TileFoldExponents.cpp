// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-fold-exponents: powers of two and scaled exponents in the form that the vector unit has.

#include "tilewright/passes/TileUtils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/RegionUtils.h"

#include <numbers>

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEFOLDEXPONENTS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;

namespace {

/// `value` = `base` * `factor`.
struct Scaled {
  Value base;
  double factor;
};

/// The product of something with a constant that is neither zero nor infinite.
std::optional<Scaled> scaledBy(Value value) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product)
    return std::nullopt;
  for (unsigned side : {0u, 1u}) {
    FloatAttr factor;
    if (!matchPattern(product->getOperand(side), m_Constant(&factor)))
      continue;
    double number = factor.getValueAsDouble();
    if (number != 0 && std::isfinite(number))
      return Scaled{product->getOperand(1 - side), number};
  }
  return std::nullopt;
}

/// An exponent as a product with a constant: `x * c`, or `(x - y) * c` for `x * c - y * c`. The
/// difference first is a multiplication less and rounds once less; infinities give what they gave.
std::optional<Scaled> exponentOf(OpBuilder &builder, Value value) {
  if (std::optional<Scaled> whole = scaledBy(value))
    return whole;
  auto difference = value.getDefiningOp<arith::SubFOp>();
  if (!difference)
    return std::nullopt;
  std::optional<Scaled> left = scaledBy(difference.getLhs()), right = scaledBy(difference.getRhs());
  if (!left || !right || left->factor != right->factor)
    return std::nullopt;
  Value base = builder.create<arith::SubFOp>(difference.getLoc(), left->base, right->base);
  return Scaled{base, left->factor};
}

/// Replaces an exponential whose exponent is scaled; true if it did.
bool fold(Operation *op) {
  if (!op->getResult(0).getType().isF32())
    return false;
  OpBuilder builder(op);
  Value exponent = op->getOperand(0);
  std::optional<Scaled> scaled = exponentOf(builder, exponent);
  bool isPowerOfTwo = isa<math::Exp2Op>(op);
  // The natural form gains only where a subtraction moves in front of the product.
  if (!scaled || (!isPowerOfTwo && !exponent.getDefiningOp<arith::SubFOp>()))
    return false;
  Location loc = exponent.getLoc();
  double factor = scaled->factor * (isPowerOfTwo ? std::numbers::ln2 : 1.0);
  Value constant = builder.create<arith::ConstantOp>(loc, builder.getF32FloatAttr(float(factor)));
  Value product = builder.create<arith::MulFOp>(loc, scaled->base, constant);
  op->getResult(0).replaceAllUsesWith(builder.create<math::ExpOp>(op->getLoc(), product));
  return true;
}

struct TileFoldExponents : passes::impl::TileFoldExponentsBase<TileFoldExponents> {
  void runOnOperation() override {
    SmallVector<Operation *> exponentials;
    getOperation().walk([&](tile::ParallelOp parallel) {
      parallel.walk([&](Operation *op) {
        if (isa<math::ExpOp, math::Exp2Op>(op))
          exponentials.push_back(op);
      });
    });
    bool changed = false;
    for (Operation *op : exponentials)
      changed |= fold(op);
    IRRewriter rewriter(&getContext());
    if (changed)
      (void)runRegionDCE(rewriter, getOperation()->getRegions());
  }
};

} // namespace
