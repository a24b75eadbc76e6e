// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-vectorize-parallel: rewrite tile.parallel into whole-tile ops.

#include "tilewright/passes/Vectorize.h"

#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

#define DEBUG_TYPE "tile-vectorize-parallel"

using namespace mlir;

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEVECTORIZEPARALLEL
#include "tilewright/passes/Passes.h.inc"

namespace {

using namespace vectorize;

/// A loop whose extents have no constant bound becomes a loop over pieces that have one. Returns
/// the piece.
tile::ParallelOp splitUnbounded(tile::ParallelOp root) {
  constexpr int64_t kPiece = 4096; // lanes
  SmallVector<unsigned> unbounded;
  SmallVector<Value> ivs;
  int64_t others = 1;
  for (auto [dim, extent] : llvm::enumerate(root.getExtents())) {
    auto bound = upperBound(extent);
    if (!bound)
      bound = boundByTiles(root, dim);
    if (bound) {
      others *= std::max<int64_t>(*bound, 1);
      continue;
    }
    unbounded.push_back(dim);
    ivs.push_back(root.getBody().getArgument(dim));
  }
  if (unbounded.empty() || !isLaneLocal(root.getBody(), ivs))
    return root;
  OpBuilder builder(root);
  Location loc = root.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return builder.create<arith::ConstantIndexOp>(loc, value);
  };
  SmallVector<Value> extents(root.getExtents());
  SmallVector<Value> firsts;
  for (unsigned dim : unbounded) {
    int64_t piece = dim == unbounded.back() ? std::max<int64_t>(kPiece / others, 1) : 1;
    auto loop = builder.create<scf::ForOp>(loc, constant(0), extents[dim], constant(piece));
    builder.setInsertionPointToStart(loop.getBody());
    Value first = loop.getInductionVar(), size = constant(1);
    if (piece != 1)
      size = builder.create<arith::MinSIOp>(
          loc, builder.create<arith::SubIOp>(loc, extents[dim], first), constant(piece));
    extents[dim] = size;
    firsts.push_back(first);
  }
  root->moveBefore(builder.getInsertionBlock()->getTerminator());
  root.getExtentsMutable().assign(extents);
  builder.setInsertionPointToStart(&root.getBody().front());
  for (auto [iv, first] : llvm::zip(ivs, firsts)) {
    auto shifted = builder.create<arith::AddIOp>(loc, iv, first);
    iv.replaceAllUsesExcept(shifted, shifted);
  }
  return root;
}

struct TileVectorizeParallelPass : impl::TileVectorizeParallelBase<TileVectorizeParallelPass> {
  using TileVectorizeParallelBase::TileVectorizeParallelBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SmallVector<tile::ParallelOp> roots;
    function.walk<WalkOrder::PreOrder>([&](tile::ParallelOp op) {
      roots.push_back(op);
      return WalkResult::skip();
    });
    if (roots.empty())
      return;
    IRRewriter rewriter(&getContext());
    std::vector<std::unique_ptr<LaunchState>> launches;
    for (tile::ParallelOp root : roots) {
      simplifyBody(root);
      parallelizeLoops(root);
      DominanceInfo dominance(root);
      eliminateCommonSubExpressions(rewriter, dominance, root);
      root = splitUnbounded(root);
      auto launch = root->getParentOfType<tile::LaunchOp>();
      Block *top = launch ? &launch.getBody().front() : &function.getBody().front();
      if (launches.empty() || launches.back()->top != top)
        launches.push_back(std::make_unique<LaunchState>(top));
      if (failed(Vectorizer(root, *launches.back(), plain).run()))
        return signalPassFailure();
      root.erase();
    }
    eraseUnused(function);
  }

  /// Index arithmetic that turned out not to be needed.
  void eraseUnused(func::FuncOp function) {
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : llvm::reverse(ops))
      if (op->use_empty() && op->getNumRegions() == 0 && op->getNumResults() != 0 &&
          isMemoryEffectFree(op))
        op->erase();
  }
};

} // namespace
} // namespace tilewright::passes
