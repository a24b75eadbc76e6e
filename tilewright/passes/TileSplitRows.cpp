// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/Chip.h"
#include "tilewright/passes/RowLattice.h"
#include "tilewright/passes/SharedGlobals.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILESPLITROWS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-split-rows";

/// Elements of a tile below which a part is not worth a block of its own.
constexpr int64_t kLeastElements = 2048;

struct TileSplitRowsPass : passes::impl::TileSplitRowsBase<TileSplitRowsPass> {
  using Base::Base;

  void runOnOperation() override {
    std::optional<machine::Machine> loaded = chipFor(getOperation(), chip);
    if (!loaded)
      return signalPassFailure();
    bool isCut = false; // one launch is enough: others may fit as they are
    std::optional<std::pair<LaunchOp, std::string>> refused;
    getOperation().walk([&](LaunchOp launch) {
      bool cube = false, vector = false;
      launch.walk([&](Operation *op) {
        cube |= isOn(op, Core::AIC);
        vector |= isOn(op, Core::AIV);
      });
      if (!vector || usesSubCoreId(launch) || isOrderedByHand(launch))
        return; // what is not cut, or cut by the author
      RowLattice lattice(launch);
      if (!cube) {
        std::string why = cutBlocks(launch, lattice, *loaded);
        isCut |= why.empty();
        if (!why.empty() && !refused)
          refused = {launch, why};
        return;
      }
      SmallVector<unsigned> roots = lattice.choose();
      if (roots.empty())
        remark(launch, kPass, "missed")
            << "no dimension can be cut over the two vector cores: both do all the vector work";
      for (unsigned root : roots) {
        int64_t extent = lattice.extentOf(root), half = llvm::divideCeil(extent, 2);
        unsigned count = cutTiles(launch, lattice, root, half);
        remark(launch, kPass, "applied")
            << "vector work is cut over two cores: " << half << " and " << extent - half << " of "
            << extent << " rows, " << count << " tiles";
      }
    });
    if (parts <= 1 || isCut || !refused)
      return;
    refused->first.emitError("E0707: blocks cannot be cut by rows: ") << refused->second;
    signalPassFailure();
  }

private:
  /// Marks the tiles of a class; returns how many there are.
  unsigned cutTiles(LaunchOp launch, RowLattice &lattice, unsigned root, int64_t rows) {
    unsigned count = 0;
    launch.walk([&](AllocOp alloc) {
      int64_t dim = scopeOf(alloc) == Scope::UB ? lattice.dimIn(alloc, root) : -1;
      if (dim < 0)
        return;
      Builder builder(&getContext());
      alloc->setAttr(kSplitDimAttr, builder.getI64IntegerAttr(dim));
      alloc->setAttr(kSplitRowsAttr, builder.getI64IntegerAttr(rows));
      ++count;
    });
    return count;
  }

  /// Parts of a block when the grid leaves cores idle: as many as there are cores for a block,
  /// while a part has enough to do.
  int64_t partsForCores(LaunchOp launch, RowLattice &lattice, unsigned root,
                        const machine::Machine &machine) {
    int64_t blocks = 1, elements = 0;
    for (Value extent : launch.getGrid()) {
      if (!constantOf(extent))
        return 1;
      blocks *= *constantOf(extent);
    }
    launch.walk([&](AllocOp alloc) {
      if (scopeOf(alloc) == Scope::UB && lattice.dimIn(alloc, root) >= 0)
        elements = std::max(elements, cast<MemRefType>(alloc.getType()).getNumElements());
    });
    return std::min({machine.aivCount / std::max<int64_t>(1, blocks), elements / kLeastElements,
                     lattice.extentOf(root)});
  }

  /// Makes several blocks of each block of a launch without cube work. The reason why it cannot.
  std::string cutBlocks(LaunchOp launch, RowLattice &lattice, const machine::Machine &machine) {
    SmallVector<unsigned> roots = lattice.choose(/*outerFirst=*/true);
    if (roots.empty())
      return "no dimension of the tiles can be cut";
    // Its order with that of other blocks would be another.
    WalkResult ordered = launch.walk([](Operation *op) {
      return isa<AtomicOp, PrintOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (ordered.wasInterrupted())
      return "atomics and prints keep the order of blocks";
    unsigned root = roots.front();
    int64_t extent = lattice.extentOf(root);
    int64_t count = parts > 0 ? std::min<int64_t>(parts, extent)
                              : partsForCores(launch, lattice, root, machine);
    if (count <= 1)
      return "";
    int64_t rows = llvm::divideCeil(extent, count);
    cutTiles(launch, lattice, root, rows);
    if (Value shared = tensorSharedByVectorCores(launch)) {
      launch.walk([](AllocOp alloc) {
        alloc->removeAttr(kSplitDimAttr);
        alloc->removeAttr(kSplitRowsAttr);
      });
      return ("rows of '" + nameOf(shared) + "' that one part writes could be touched by another")
          .str();
    }
    count = llvm::divideCeil(extent, rows);
    launch->setAttr(kPartsAttr, Builder(&getContext()).getI64IntegerAttr(count));
    remark(launch, kPass, "applied")
        << "each block is cut into " << count << " of " << rows << " of " << extent << " rows";
    return "";
  }
};

} // namespace
