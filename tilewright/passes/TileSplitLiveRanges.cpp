// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/Exposure.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILESPLITLIVERANGES
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-split-live-ranges";

/// Gives uses of one tile that share no value a tile each.
class RangeSplitter {
public:
  explicit RangeSplitter(AllocOp alloc) : alloc(alloc) {
    forEachAccess(alloc, [&](AccessInterface op, unsigned) { accesses.insert(op); });
  }

  /// Splits and returns the new tiles.
  SmallVector<AllocOp> run();

private:
  AllocOp alloc;
  llvm::SetVector<Operation *> accesses;
};

SmallVector<AllocOp> RangeSplitter::run() {
  if (accesses.empty())
    return {};
  Block *block = accesses.front()->getBlock();
  auto holds = [&](Operation *op) { return ancestorIn(block, op) != nullptr; };
  while (!llvm::all_of(accesses, holds))
    block = block->getParentOp()->getBlock();
  llvm::MapVector<Operation *, SmallVector<Operation *>> accessesOf; // by statement of the block
  for (Operation *access : accesses)
    accessesOf[ancestorIn(block, access)].push_back(access);
  SmallVector<Operation *> items =
      llvm::map_to_vector(accessesOf, [](auto &entry) { return entry.first; });
  llvm::sort(items, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });

  // A statement starts a range when it reads nothing from before, and what follows in the range
  // cannot see past it either: it writes the whole tile for sure, or nothing that follows reads the
  // tile before the next start.
  SmallVector<Summary> facts = summarize(items, alloc);
  SmallVector<bool> starts(items.size());
  for (size_t index = items.size(); index-- > 0;)
    starts[index] = !facts[index].exposed &&
                    (facts[index].kills || index + 1 == items.size() || starts[index + 1]);
  if (!starts[0]) // the value may come from an earlier turn of a loop around the block
    return {};
  SmallVector<AllocOp> fresh;
  Value current = alloc;
  for (size_t index = 1; index < items.size(); ++index) {
    if (starts[index]) {
      OpBuilder builder(alloc);
      builder.setInsertionPointAfter(alloc);
      auto next = cast<AllocOp>(builder.clone(*alloc));
      next.setName((alloc.getName() + "." + Twine(fresh.size() + 2)).str());
      fresh.push_back(next);
      current = next;
    }
    if (current == alloc)
      continue;
    for (Operation *access : accessesOf[items[index]])
      access->replaceUsesOfWith(alloc, current);
  }
  if (!fresh.empty())
    remark(alloc, kPass, "applied") << "'" << alloc.getName() << "' is " << fresh.size() + 1
                                    << " tiles: its uses share no value";
  return fresh;
}

struct TileSplitLiveRangesPass : passes::impl::TileSplitLiveRangesBase<TileSplitLiveRangesPass> {
  void runOnOperation() override {
    SmallVector<AllocOp> work;
    getOperation().walk([&](LaunchOp launch) {
      if (isOrderedByHand(launch))
        return; // the author's flags speak of the tiles as they are
      launch.walk([&](AllocOp alloc) {
        if (scopeOf(alloc) == Scope::L1 || scopeOf(alloc) == Scope::UB)
          work.push_back(alloc);
      });
    });
    while (!work.empty()) {
      AllocOp alloc = work.pop_back_val();
      SmallVector<AllocOp> fresh = RangeSplitter(alloc).run();
      if (fresh.empty())
        continue;
      work.push_back(alloc); // its own uses lie deeper now
      llvm::append_range(work, fresh);
    }
  }
};

} // namespace
