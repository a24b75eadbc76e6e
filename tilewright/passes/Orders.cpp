// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/Orders.h"
#include "tilewright/passes/Ranges.h"
#include "tilewright/passes/TileUtils.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

/// One access to a tensor.
struct Touch {
  Operation *op;
  bool writes;
  bool moves;                               ///< by a pipe that the ends of a channel order
  SmallVector<std::optional<Bounds>> reach; ///< first and last element of each dimension
};
using Sides = std::array<std::vector<Touch>, 2>; ///< cube, vector

/// First and last element of a box in each dimension, where they are known.
SmallVector<std::optional<Bounds>> reachOf(const Box &box) {
  SmallVector<std::optional<Bounds>> reach;
  for (auto [dim, offset] : llvm::enumerate(box.offsets)) {
    std::optional<Bounds> start = rangeOf(offset);
    std::optional<Bounds> size = box.sizes.empty() ? Bounds{1, 1} : rangeOf(box.sizes[dim]);
    reach.push_back(start && size ? std::optional(Bounds{start->low, start->high + size->high - 1})
                                  : std::nullopt);
  }
  return reach;
}

bool areApart(const Touch &a, const Touch &b) {
  return llvm::any_of(llvm::zip(a.reach, b.reach), [](auto both) {
    auto [one, other] = both;
    return one && other && (one->high < other->low || other->high < one->low);
  });
}

/// Copies go by MTE3 or the fixpipe to global memory and by MTE2 from there, as channels do.
bool isMove(AccessInterface op, unsigned box) {
  auto copy = dyn_cast<CopyOp>(op.getOperation());
  if (!copy)
    return false;
  Scope other = scopeOf(copy.getBox(1 - box).buffer);
  return box == 1 || other == Scope::UB || other == Scope::L0C;
}

/// The innermost block that holds all ops.
Block *commonBlock(ArrayRef<Operation *> ops) {
  Block *block = ops.front()->getBlock();
  while (!llvm::all_of(ops, [&](Operation *op) { return ancestorIn(block, op) != nullptr; }))
    block = block->getParentOp()->getBlock();
  return block;
}

void insertOrder(LaunchOp launch, Value buffer, Core writer, std::array<Operation *, 4> at) {
  MLIRContext *context = launch.getContext();
  Location loc = at[0]->getLoc();
  OpBuilder builder(launch.getContext());
  AllocOp order = createAlloc(at[0], loc, nameOf(buffer) + ".order", {8}, builder.getF32Type(),
                              Scope::Workspace);
  auto name = [&](Core core) { return CoreAttr::get(context, core); };
  auto end = [&](auto made) { made->setAttr(kCoreAttr, made.getCoreAttr()); };
  Core reader = writer == Core::AIC ? Core::AIV : Core::AIC;
  builder.setInsertionPoint(at[0]);
  end(builder.create<AcquireOp>(at[0]->getLoc(), order, name(writer)));
  builder.setInsertionPointAfter(at[1]);
  end(builder.create<PublishOp>(at[1]->getLoc(), order, name(writer)));
  builder.setInsertionPoint(at[2]);
  end(builder.create<WaitOp>(at[2]->getLoc(), order, name(reader)));
  builder.setInsertionPointAfter(at[3]);
  end(builder.create<ReleaseOp>(at[3]->getLoc(), order, name(reader)));
  remark(at[2], "tile-split-cores", "applied")
      << "'" << nameOf(buffer) << "' goes from " << stringifyCore(writer) << " to "
      << stringifyCore(reader) << " in global memory; reads wait for the writes";
}

/// Orders what two sides do to a tensor; false where it has no form for it.
bool order(LaunchOp launch, Value buffer, unsigned writer, const Sides &sides) {
  SmallVector<Operation *> writes, reads, all;
  for (unsigned side : {0u, 1u})
    for (const Touch &touch : sides[side]) {
      bool meets = llvm::any_of(sides[1 - side], [&](const Touch &other) {
        return (touch.writes || other.writes) && !areApart(touch, other);
      });
      if (!meets)
        continue;
      if (!touch.moves || touch.writes != (side == writer))
        return false;
      (touch.writes ? writes : reads).push_back(touch.op);
      all.push_back(touch.op);
    }
  size_t channels = llvm::count_if(
      launch.getOps<AllocOp>(), [](AllocOp alloc) { return scopeOf(alloc) == Scope::Workspace; });
  if (channels >= kMaxChannels) // a shared semaphore counts right for nested ends of one only
    return false;
  Block *block = commonBlock(all);
  auto edges = [&](ArrayRef<Operation *> ops) {
    Operation *first = ancestorIn(block, ops.front()), *last = first;
    for (Operation *op : ops) {
      Operation *here = ancestorIn(block, op);
      first = here->isBeforeInBlock(first) ? here : first;
      last = last->isBeforeInBlock(here) ? here : last;
    }
    return std::pair(first, last);
  };
  auto [firstWrite, lastWrite] = edges(writes);
  auto [firstRead, lastRead] = edges(reads);
  if (!lastWrite->isBeforeInBlock(firstRead))
    return false;
  insertOrder(launch, buffer, writer == 0 ? Core::AIC : Core::AIV,
              {firstWrite, lastWrite, firstRead, lastRead});
  return true;
}

} // namespace

bool passes::isOrder(Value channel) {
  return llvm::all_of(channel.getUsers(), [](Operation *user) {
    return isa<AcquireOp, PublishOp, WaitOp, ReleaseOp>(user);
  });
}

LogicalResult passes::orderGlobals(LaunchOp launch) {
  llvm::MapVector<Value, Sides> touches;
  launch.walk([&](AccessInterface op) {
    auto core = op->getAttrOfType<CoreAttr>(kCoreAttr);
    for (unsigned box = 0; box < op.getNumBoxes(); ++box) {
      Value buffer = op.getBox(box).buffer;
      if (scopeOf(buffer) == Scope::Global && core.getValue() != Core::Both)
        touches[buffer][core.getValue() == Core::AIC ? 0 : 1].push_back(
            {op, writes(op.getAccessKind(box)), isMove(op, box), reachOf(op.getBox(box))});
    }
  });
  for (auto &[buffer, sides] : touches)
    for (unsigned side : {0u, 1u}) {
      const Touch *writer = nullptr, *user = nullptr;
      for (const Touch &one : sides[side])
        for (const Touch &other : sides[1 - side])
          if (!writer && one.writes && !areApart(one, other))
            writer = &one, user = &other;
      if (!writer || order(launch, buffer, side, sides))
        continue;
      InFlightDiagnostic error =
          user->op->emitError("E0703: '")
          << nameOf(buffer) << "' is touched by the " << (side ? "cube" : "vector")
          << " core here and written by the other core; write the result to another tensor or "
             "split the kernel in two launches";
      error.attachNote(writer->op->getLoc()) << "written here";
      return error;
    }
  return success();
}
