// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/TileUtils.h"

#include "llvm/ADT/MapVector.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILESEPARATEVIEWS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-separate-views";

/// True for a store that, over all lanes of its loop, writes every element: each index is a loop
/// variable of its own, and the only condition is one that every index inside the tile meets.
bool coversInLoop(StoreOp store) {
  auto type = cast<MemRefType>(store.getBuffer().getType());
  auto branch = dyn_cast<scf::IfOp>(store->getParentOp());
  auto loop = dyn_cast_or_null<ParallelOp>(branch ? branch->getParentOp() : store->getParentOp());
  if (!loop)
    return false;
  llvm::SmallDenseMap<Value, int64_t> needed; // loop variable -> indices that must be written
  for (auto [index, extent] : llvm::zip_equal(store.getIndices(), type.getShape())) {
    auto variable = dyn_cast<BlockArgument>(index);
    if (!variable || variable.getOwner() != &loop.getBody().front() ||
        !needed.try_emplace(variable, extent).second)
      return false;
    auto lanes = constantOf(loop.getExtents()[variable.getArgNumber()]);
    if (!lanes || *lanes < extent)
      return false;
  }
  if (!branch)
    return true;
  if (store->getBlock() != branch.thenBlock())
    return false;
  auto compare = branch.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare || (compare.getPredicate() != arith::CmpIPredicate::slt &&
                   compare.getPredicate() != arith::CmpIPredicate::ult))
    return false;
  Value left = compare.getLhs();
  while (auto cast = left.getDefiningOp<arith::IndexCastOp>())
    left = cast.getIn();
  auto bound = constantOf(compare.getRhs());
  auto found = needed.find(left);
  return found != needed.end() && bound && *bound >= found->second;
}

/// The names of one memory. A name is *stale* where another one was written since all of it was
/// written by its own.
class Group {
public:
  Group(Value base, ArrayRef<ViewOp> views) : names({base}) {
    for (ViewOp view : views)
      names.push_back(view);
    stale.assign(names.size(), false);
  }

  /// Follows the program; fails at a read of a stale name.
  LogicalResult check(Block &block) { return visit(block); }

private:
  using State = SmallVector<bool, 2>;

  LogicalResult visit(Block &block) {
    for (Operation &op : block)
      if (failed(visit(op)))
        return failure();
    return success();
  }

  LogicalResult visit(Operation &op) {
    auto branch = dyn_cast<scf::IfOp>(op);
    if (branch && op.getParentOfType<ParallelOp>()) { // lanes, each on one way
      for (Region &region : op.getRegions())
        if (!region.empty() && failed(visit(region.front())))
          return failure();
      return success();
    }
    if (branch) {
      State before = stale;
      if (failed(visit(*branch.thenBlock())))
        return failure();
      State then = stale;
      stale = before;
      if (branch.elseBlock() && failed(visit(*branch.elseBlock())))
        return failure();
      join(then);
      return success();
    }
    if (isa<LaunchOp, ParallelOp>(op))
      return visit(op.getRegion(0).front());
    if (op.getNumRegions() != 0) { // loops: until nothing changes
      auto loop = dyn_cast<scf::ForOp>(op);
      while (true) {
        State entry = stale;
        for (Region &region : op.getRegions())
          if (failed(visit(region.front())))
            return failure();
        State after = stale;
        join(entry);
        if (stale == entry) {
          if (loop && runsAtLeastOnce(loop))
            stale = after;
          return success();
        }
      }
    }
    auto access = dyn_cast<AccessInterface>(op);
    return access ? visit(access) : success();
  }

  LogicalResult visit(AccessInterface access) {
    for (unsigned box = 0; box < access.getNumBoxes(); ++box) {
      int name = nameOf(access.getBox(box).buffer);
      if (name < 0 || !reads(access.getAccessKind(box)) || !stale[name])
        continue;
      return access->emitError("E0709: '")
             << tile::nameOf(names[name])
             << "' is read after its memory was written under another name with another element "
                "type; bits of a tile stay within one type: copy with T.copy to convert, or use "
                "T.vbitcast for the bits";
    }
    for (unsigned box = 0; box < access.getNumBoxes(); ++box) {
      int name = nameOf(access.getBox(box).buffer);
      if (name < 0 || !writes(access.getAccessKind(box)))
        continue;
      auto store = dyn_cast<StoreOp>(access.getOperation());
      bool covers = access.getAccessKind(box) == AccessKind::Write &&
                    (store ? coversInLoop(store) : coversBuffer(access.getBox(box)));
      for (int other = 0; other < static_cast<int>(names.size()); ++other)
        stale[other] = other != name || (stale[other] && !covers);
    }
    return success();
  }

  void join(const State &other) {
    for (size_t name = 0; name < names.size(); ++name)
      stale[name] = stale[name] || other[name];
  }

  int nameOf(Value buffer) const {
    auto found = llvm::find(names, buffer);
    return found == names.end() ? -1 : static_cast<int>(found - names.begin());
  }

  SmallVector<Value, 2> names;
  State stale; ///< of each name
};

struct TileSeparateViewsPass : passes::impl::TileSeparateViewsBase<TileSeparateViewsPass> {
  void runOnOperation() override {
    WalkResult done = getOperation().walk([&](LaunchOp launch) {
      llvm::MapVector<Value, SmallVector<ViewOp>> groups;
      launch.walk([&](ViewOp view) { groups[view.getBase()].push_back(view); });
      for (auto &[base, views] : groups) {
        if (failed(Group(base, views).check(launch.getBody().front())))
          return WalkResult::interrupt();
        for (ViewOp view : views)
          separate(view);
      }
      return WalkResult::advance();
    });
    if (done.wasInterrupted())
      signalPassFailure();
  }

  /// Gives a view memory of its own.
  static void separate(ViewOp view) {
    OpBuilder builder(view);
    auto alloc =
        builder.create<AllocOp>(view.getLoc(), view.getType(), view.getName(), /*slots=*/1);
    alloc->setAttr(kUserAttr, builder.getUnitAttr());
    remark(alloc, kPass, "applied")
        << "'" << view.getName() << "' and '" << tile::nameOf(view.getBase())
        << "' share memory as elements of two types; nothing passes from one to the other, so each "
           "has its own";
    view.replaceAllUsesWith(alloc.getResult());
    view.erase();
  }
};

} // namespace
