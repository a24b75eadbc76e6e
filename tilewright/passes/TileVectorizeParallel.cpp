// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-vectorize-parallel: rewrite tile.parallel into whole-tile ops.

#include "tilewright/passes/TileUtils.h"
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

/// A loop whose extents have no constant bound, or a big one between global tensors only, becomes a
/// loop over pieces; so does one over more lanes than `strip`, if that is not 0. Returns the piece.
/// Lanes keep their order: inner dimensions are split last.
tile::ParallelOp splitIntoPieces(tile::ParallelOp root, int64_t strip) {
  const int64_t atOnce = strip ? strip : 4096; // lanes
  const int64_t big = strip ? strip : 4 * atOnce;
  bool onlyGlobal = true;
  root.walk([&](AccessInterface access) {
    for (unsigned index = 0; index < access.getNumBoxes(); ++index)
      onlyGlobal &= tile::scopeOf(access.getBox(index).buffer) == tile::Scope::Global;
  });
  SmallVector<std::optional<int64_t>> bounds;
  int64_t lanes = 1;
  for (auto [dim, extent] : llvm::enumerate(root.getExtents())) {
    auto bound = upperBound(extent), byTiles = boundByTiles(root, dim);
    if (byTiles && (!bound || *byTiles < *bound))
      bound = byTiles;
    bounds.push_back(bound);
    lanes = std::min<int64_t>(lanes * std::clamp<int64_t>(bound.value_or(1), 1, big + 1), big + 1);
  }
  bool isBig = (onlyGlobal || strip) && lanes > big;
  // Lanes of a piece along each dimension; 0: all.
  SmallVector<int64_t> pieces(bounds.size(), 0);
  SmallVector<Value> ivs;
  int64_t budget = atOnce;
  for (unsigned dim = bounds.size(); dim-- > 0;) {
    int64_t bound = std::max<int64_t>(bounds[dim].value_or(0), 1);
    bool splits = !bounds[dim] || (isBig && bound > budget);
    if (splits) {
      pieces[dim] = budget;
      ivs.push_back(root.getBody().getArgument(dim));
    }
    budget = std::max<int64_t>(budget / (splits ? budget : bound), 1);
  }
  if (ivs.empty() || !isLaneLocal(root.getBody(), ivs))
    return root;
  OpBuilder builder(root);
  Location loc = root.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return builder.create<arith::ConstantIndexOp>(loc, value);
  };
  SmallVector<Value> extents(root.getExtents());
  SmallVector<std::pair<Value, Value>> shifts;
  for (auto [dim, piece] : llvm::enumerate(pieces)) {
    if (piece == 0)
      continue;
    auto loop = builder.create<scf::ForOp>(loc, constant(0), extents[dim], constant(piece));
    builder.setInsertionPointToStart(loop.getBody());
    Value first = loop.getInductionVar(), size = constant(piece);
    auto known = tile::constantOf(extents[dim]);
    if (piece != 1 && !(known && *known % piece == 0))
      size = builder.create<arith::MinSIOp>(
          loc, builder.create<arith::SubIOp>(loc, extents[dim], first), size);
    extents[dim] = size;
    shifts.emplace_back(root.getBody().getArgument(dim), first);
  }
  root->moveBefore(builder.getInsertionBlock()->getTerminator());
  root.getExtentsMutable().assign(extents);
  builder.setInsertionPointToStart(&root.getBody().front());
  for (auto [iv, first] : shifts) {
    auto shifted = builder.create<arith::AddIOp>(loc, iv, first);
    iv.replaceAllUsesExcept(shifted, shifted);
  }
  return root;
}

struct TileVectorizeParallelPass : impl::TileVectorizeParallelBase<TileVectorizeParallelPass> {
  using TileVectorizeParallelBase::TileVectorizeParallelBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    function.walk(remarkDeclared);
    if (!plain)
      parallelizeSerialLoops(function);
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
      root = splitIntoPieces(root, strip);
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

  /// Says where a tile is larger than its author wrote.
  static void remarkDeclared(tile::AllocOp alloc) {
    auto declared = alloc->getAttrOfType<DenseI64ArrayAttr>(tile::kDeclaredAttr);
    if (!declared)
      return;
    auto shape = cast<MemRefType>(alloc.getType()).getShape();
    remark(alloc, DEBUG_TYPE, "applied")
        << "'" << alloc.getName() << "' is declared with shape (" << declared.asArrayRef()
        << ") and loops index (" << shape << "): it has that many elements";
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
