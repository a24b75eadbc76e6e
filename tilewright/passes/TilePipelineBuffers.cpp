// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/Orders.h"
#include "tilewright/passes/TileUtils.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEPIPELINEBUFFERS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-pipeline-buffers";

/// Innermost block that holds all accesses to `buffer`, directly or nested.
Block *commonBlock(ArrayRef<Operation *> accesses) {
  Block *block = accesses.front()->getBlock();
  while (!llvm::all_of(accesses, [&](Operation *op) { return ancestorIn(block, op) != nullptr; }))
    block = block->getParentOp()->getBlock();
  return block;
}

/// Loads from or stores to global memory or a channel: what rotation lets run ahead.
bool isMover(Operation *op) {
  auto copy = dyn_cast<CopyOp>(op);
  if (!copy)
    return isa<AtomicOp>(op);
  return llvm::any_of(llvm::seq(0u, 2u), [&](unsigned box) {
    Scope scope = scopeOf(copy.getBox(box).buffer);
    return scope == Scope::Global || scope == Scope::Workspace;
  });
}

/// Slots of a channel: as many as let the writer run ahead while the reader is busy elsewhere,
/// within 1 MiB of workspace.
int64_t channelSlots(AllocOp channel) {
  int64_t bytes = std::max<int64_t>(1, bytesOf(channel));
  return std::clamp<int64_t>((int64_t(1) << 20) / bytes, 2, 8);
}

/// Number of slots that the author asked for around `block`, 2 otherwise.
int64_t wantedSlots(Block *block) {
  for (Operation *op = block->getParentOp(); op && !isa<LaunchOp>(op); op = op->getParentOp())
    if (auto stages = op->getAttrOfType<IntegerAttr>(kNumStagesAttr))
      return std::clamp<int64_t>(stages.getInt(), 2, 4);
  return 2;
}

struct TilePipelineBuffersPass : passes::impl::TilePipelineBuffersBase<TilePipelineBuffersPass> {
  void runOnOperation() override {
    advances.clear();
    getOperation().walk([&](LaunchOp launch) {
      if (isOrderedByHand(launch))
        return; // the author's flags know of one slot
      launch.walk([&](AllocOp alloc) {
        Scope scope = scopeOf(alloc);
        if (scope == Scope::Workspace && !isOrder(alloc))
          alloc.setSlots(channelSlots(alloc));
        if (scope == Scope::L1 || scope == Scope::UB || scope == Scope::L0C)
          rotate(alloc, scope);
      });
    });
    for (Advance &advance : advances) {
      OpBuilder builder(advance.before);
      auto op = builder.create<AdvanceOp>(advance.before->getLoc(), advance.alloc);
      if (advance.core)
        op->setAttr(kCoreAttr, advance.core);
    }
  }

private:
  struct Advance {
    AllocOp alloc;
    Operation *before;
    Attribute core;
  };
  std::vector<Advance>
      advances; ///< to be made when all are known: an insertion renumbers the block

  /// Rotates the tile through slots when each version is written whole before anything else happens
  /// to it.
  void rotate(AllocOp alloc, Scope scope) {
    SmallVector<Operation *> accesses;
    bool moves = scope == Scope::L0C;
    forEachAccess(alloc, [&](AccessInterface op, unsigned) {
      accesses.push_back(op);
      moves |= isMover(op);
    });
    if (accesses.empty() || !moves)
      return;
    Block *block = commonBlock(accesses);
    Operation *first = nullptr;
    for (Operation *op : accesses) {
      Operation *at = ancestorIn(block, op);
      if (!first || at->isBeforeInBlock(first))
        first = at;
    }
    // An accumulator starts with a product that ignores the old content, or with a loop whose first
    // product does, and ends where it is read. Other tiles: the first statement writes it all.
    if (scope == Scope::L0C) {
      auto gemm = dyn_cast<GemmOp>(first);
      if (gemm && constantOf(gemm.getInit()).value_or(0) == 0)
        return;
      if (llvm::all_of(accesses, [](Operation *op) { return isa<GemmOp>(op); }))
        return;
    } else {
      auto access = dyn_cast<AccessInterface>(first);
      bool kills = access && access.getBox(0).buffer == alloc &&
                   access.getAccessKind(0) == AccessKind::Write && coversBuffer(access.getBox(0));
      for (unsigned box = 1; kills && box < access.getNumBoxes(); ++box)
        kills = access.getBox(box).buffer != alloc;
      if (!kills) {
        if (isMover(first))
          remark(alloc, kPass, "missed")
              << "'" << alloc.getName()
              << "' has one slot: line of its first use does not write all of it";
        return;
      }
    }
    if (isa<scf::IfOp>(block->getParentOp()))
      return;
    int64_t slots = scope == Scope::L0C ? 2 : wantedSlots(block);
    alloc.setSlots(slots);
    advances.push_back({alloc, first, accesses.front()->getAttr(kCoreAttr)});
    remark(alloc, kPass, "applied")
        << "'" << alloc.getName() << "' rotates through " << slots << " slots";
  }
};

} // namespace
