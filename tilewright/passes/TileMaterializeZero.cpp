// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/TileUtils.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEMATERIALIZEZERO
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-materialize-zero";

/// What a stretch of program does to one tile.
struct Summary {
  bool exposed = false; ///< reads elements that it has not written before
  bool kills = false;   ///< writes all elements, whatever happens
};

Summary summarize(Block &block, Value tile);

Summary summarize(Operation &op, Value tile) {
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    Summary yes = summarize(*branch.thenBlock(), tile);
    Summary no = branch.elseBlock() ? summarize(*branch.elseBlock(), tile) : Summary();
    return {yes.exposed || no.exposed, yes.kills && no.kills};
  }
  Summary result;
  if (op.getNumRegions() != 0) {
    bool surely = isa<scf::ForOp>(op) && runsAtLeastOnce(cast<scf::ForOp>(op));
    for (Region &region : op.getRegions())
      for (Block &block : region) {
        Summary inner = summarize(block, tile);
        result.exposed |= inner.exposed;
        result.kills |= inner.kills && surely;
      }
    return result;
  }
  auto access = dyn_cast<AccessInterface>(op);
  if (!access)
    return result;
  for (unsigned box = 0; box < access.getNumBoxes(); ++box) {
    if (access.getBox(box).buffer != tile)
      continue;
    result.exposed |= reads(access.getAccessKind(box));
    result.kills |=
        access.getAccessKind(box) == AccessKind::Write && coversBuffer(access.getBox(box));
  }
  return result;
}

Summary summarize(Block &block, Value tile) {
  Summary result;
  for (Operation &op : block) {
    Summary next = summarize(op, tile);
    result.exposed |= next.exposed && !result.kills;
    result.kills |= next.kills;
  }
  return result;
}

struct TileMaterializeZeroPass : passes::impl::TileMaterializeZeroBase<TileMaterializeZeroPass> {
  void runOnOperation() override {
    getOperation().walk([&](LaunchOp launch) {
      Block &body = launch.getBody().front();
      SmallVector<AllocOp> allocs;
      launch.walk([&](AllocOp alloc) { allocs.push_back(alloc); });
      for (AllocOp alloc : allocs) {
        Scope scope = scopeOf(alloc);
        if (scope == Scope::L0C || scope == Scope::Workspace || !summarize(body, alloc).exposed)
          continue;
        OpBuilder builder(alloc);
        builder.setInsertionPointAfter(alloc);
        while (isa<AllocOp>(*builder.getInsertionPoint()))
          builder.setInsertionPointAfter(&*builder.getInsertionPoint());
        Location loc = alloc.getLoc();
        Type element = scalarTypeOf(cast<MemRefType>(alloc.getType()).getElementType());
        Value zero = builder.create<arith::ConstantOp>(loc, element, builder.getZeroAttr(element));
        if (scope == Scope::Local) {
          builder.create<tile::StoreOp>(loc, zero, alloc, ValueRange());
          continue;
        }
        BoxOperands boxes;
        boxes.addWhole(builder, loc, alloc);
        builder.create<FillOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes, zero);
        remark(alloc, kPass, "applied")
            << "'" << alloc.getName()
            << "' may be read before it is written: it is cleared for each block";
      }
    });
  }
};

} // namespace
