// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/Exposure.h"

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

struct TileMaterializeZeroPass : passes::impl::TileMaterializeZeroBase<TileMaterializeZeroPass> {
  void runOnOperation() override {
    getOperation().walk([&](LaunchOp launch) {
      if (isOrderedByHand(launch))
        return; // no flag of the author would wait for the fill; --check finds what reads nothing
      Block &body = launch.getBody().front();
      SmallVector<AllocOp> allocs;
      launch.walk([&](AllocOp alloc) { allocs.push_back(alloc); });
      for (AllocOp alloc : allocs) {
        Scope scope = scopeOf(alloc);
        if (scope == Scope::L0A || scope == Scope::L0B || scope == Scope::L0C ||
            scope == Scope::Workspace || !summarize(body, alloc).exposed)
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
