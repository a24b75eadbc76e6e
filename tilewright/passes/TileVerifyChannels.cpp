// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-verify-channels: what goes from one kind of core to the other goes through channels, whose
// two sides agree.

#include "tilewright/passes/Checkers.h"
#include "tilewright/passes/ConcreteRun.h"
#include "tilewright/passes/Orders.h"

#include "llvm/ADT/MapVector.h"

#include <array>

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEVERIFYCHANNELS
#include "tilewright/passes/Checkers.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

/// The kind of core that reaches a place; both for memory that all see.
Core ownerOf(Scope scope) {
  switch (scope) {
  case Scope::L1:
  case Scope::L0A:
  case Scope::L0B:
  case Scope::L0C:
    return Core::AIC;
  case Scope::UB:
    return Core::AIV;
  default:
    return Core::Both;
  }
}

std::optional<Core> labelOf(Operation *op) {
  auto core = op->getAttrOfType<CoreAttr>(kCoreAttr);
  return core ? std::optional(core.getValue()) : std::nullopt;
}

/// Where a channel stands in the one sequence of a run.
struct Channel {
  std::optional<Core> writer, reader;
  Operation *acquired = nullptr, *waited = nullptr; ///< between the ends of a side
  int64_t published = 0, taken = 0;
};

/// An end of a channel, as one of the two programs comes to it.
struct End {
  Operation *op;
  Value channel;
};

/// One block of a launch.
class Exchange {
public:
  explicit Exchange(ConcreteRun &numbers) : numbers(numbers) {}

  LogicalResult visit(Operation *op);
  /// After the block: nothing is left over, and the two programs come to their ends.
  LogicalResult finish();

private:
  LogicalResult visitEnd(Operation *op, Value buffer, Core core);
  LogicalResult visitAccess(AccessInterface access);
  LogicalResult checkGlobal(Operation *op, const RunBox &box, bool isWrite, Core core);
  bool advance(const End &end, llvm::DenseMap<Value, std::array<int64_t, 2>> &counts) const;

  ConcreteRun &numbers;
  llvm::MapVector<Value, Channel> channels;
  std::array<std::vector<End>, 2> programs; ///< ends of the cube core and of the vector cores
  struct Touch {
    Operation *op;
    RunBox box;
    bool isWrite;
    SmallVector<Value> within; ///< channels whose ends on its side stand around it
  };
  llvm::DenseMap<Value, std::array<std::vector<Touch>, 2>> touches; ///< of global tensors, by side
};

unsigned sideOf(Core core) { return core == Core::AIC ? 0 : 1; }

LogicalResult Exchange::visit(Operation *op) {
  if (isa<AcquireOp, PublishOp, WaitOp, ReleaseOp>(op))
    return visitEnd(op, op->getOperand(0), cast<CoreAttr>(op->getAttr("core")).getValue());
  auto access = dyn_cast<AccessInterface>(op);
  return access ? visitAccess(access) : success();
}

LogicalResult Exchange::visitEnd(Operation *op, Value buffer, Core core) {
  Channel &channel = channels[buffer];
  bool ofWriter = isa<AcquireOp, PublishOp>(op);
  std::optional<Core> &side = ofWriter ? channel.writer : channel.reader;
  const std::optional<Core> &other = ofWriter ? channel.reader : channel.writer;
  Operation *&opened = ofWriter ? channel.acquired : channel.waited;
  auto complain = [&](const Twine &text) {
    return op->emitError("E0799: channel '") << nameOf(buffer) << "' " << text;
  };
  if (core == Core::Both || (side && *side != core) || (other && *other == core))
    return complain("has an end on a core that is not of its side");
  side = core;
  bool opens = isa<AcquireOp, WaitOp>(op);
  if (opens && opened)
    return complain(ofWriter ? "is acquired again before it is published"
                             : "is awaited again before it is released");
  if (!opens && !opened)
    return complain(ofWriter ? "is published but was not acquired"
                             : "is released but was not awaited");
  if (isa<WaitOp>(op) && channel.taken++ == channel.published)
    return complain("is awaited before a version of it is published");
  channel.published += isa<PublishOp>(op);
  opened = opens ? op : nullptr;
  programs[sideOf(core)].push_back({op, buffer});
  return success();
}

/// Tiles are touched by the core that holds them, slots of channels between their ends, and tensors
/// that one kind of core writes by no other, but in the ends of a channel without data.
LogicalResult Exchange::visitAccess(AccessInterface access) {
  Operation *op = access.getOperation();
  std::optional<Core> core = labelOf(op);
  if (!core)
    return op->emitError("E0799: this statement has no kind of core that runs it");
  for (unsigned index = 0; index < access.getNumBoxes(); ++index) {
    Value buffer = access.getBox(index).buffer;
    Scope scope = scopeOf(buffer);
    Core owner = ownerOf(scope);
    if (owner != Core::Both && owner != *core)
      return op->emitError("E0799: '") << nameOf(buffer) << "' is in " << stringifyScope(scope)
                                       << " but this statement runs on " << stringifyCore(*core)
                                       << "; nothing brings it there";
    bool isWrite = writes(access.getAccessKind(index));
    if (scope == Scope::Workspace) {
      const Channel &channel = channels[buffer];
      if (isWrite ? !channel.acquired || *channel.writer != *core
                  : !channel.waited || *channel.reader != *core)
        return op->emitError("E0799: channel '")
               << nameOf(buffer) << "' is " << (isWrite ? "written" : "read")
               << " outside of its ends on " << stringifyCore(*core);
    }
    if (scope == Scope::Global && *core != Core::Both &&
        failed(checkGlobal(op, numbers.boxOf(access, index), isWrite, *core)))
      return failure();
  }
  return success();
}

LogicalResult Exchange::checkGlobal(Operation *op, const RunBox &box, bool isWrite, Core core) {
  auto &sides = touches[box.buffer];
  auto meet = [&](const RunBox &other) {
    if (box.isGuess || other.isGuess || box.isEmpty() || other.isEmpty())
      return false;
    for (auto [a, b, m, n] : llvm::zip(box.offsets, other.offsets, box.sizes, other.sizes))
      if (a + m <= b || b + n <= a)
        return false;
    return true;
  };
  SmallVector<Value> within;
  for (auto &[buffer, channel] : channels)
    if ((channel.acquired && channel.writer == core) || (channel.waited && channel.reader == core))
      within.push_back(buffer);
  auto isOrdered = [&](const Touch &touch) {
    return llvm::any_of(within, [&](Value channel) {
      return isOrder(channel) && llvm::is_contained(touch.within, channel);
    });
  };
  std::vector<Touch> &mine = sides[sideOf(core)];
  for (const Touch &touch : sides[1 - sideOf(core)])
    if ((isWrite || touch.isWrite) && meet(touch.box) && !isOrdered(touch)) {
      InFlightDiagnostic error = op->emitError("E0799: '")
                                 << nameOf(box.buffer)
                                 << "' goes from one kind of core to the other without a channel";
      error.attachNote(touch.op->getLoc()) << "the other core touches it here";
      return error;
    }
  bool isKnown = llvm::any_of(mine, [&](const Touch &touch) {
    return touch.op == op && touch.isWrite == isWrite && touch.box.offsets == box.offsets;
  });
  if (!isKnown && mine.size() < 64) // a few tell: what a turn does, others do
    mine.push_back({op, box, isWrite, within});
  return success();
}

/// Takes an end if it need not wait. `counts`: versions that are free and full.
bool Exchange::advance(const End &end,
                       llvm::DenseMap<Value, std::array<int64_t, 2>> &counts) const {
  auto [found, isNew] = counts.try_emplace(end.channel);
  auto &[free, full] = found->second;
  if (isNew)
    free = int64_t(end.channel.getDefiningOp<AllocOp>().getSlots());
  int64_t &awaited = isa<AcquireOp>(end.op) ? free : full;
  if (isa<AcquireOp, WaitOp>(end.op))
    return awaited > 0 && awaited-- > 0;
  ++(isa<PublishOp>(end.op) ? full : free);
  return true;
}

LogicalResult Exchange::finish() {
  for (auto &[buffer, channel] : channels) {
    if (channel.published == channel.taken && !channel.acquired && !channel.waited)
      continue;
    return buffer.getDefiningOp()->emitError("E0799: channel '")
           << nameOf(buffer) << "' has " << channel.published << " versions published and "
           << channel.taken << " awaited in a block";
  }
  // Neither side's order depends on the other's, so that any order in which they go on will do.
  llvm::DenseMap<Value, std::array<int64_t, 2>> counts;
  std::array<size_t, 2> at = {};
  for (bool moved = true; moved;) {
    moved = false;
    for (unsigned side : {0u, 1u})
      for (; at[side] < programs[side].size() && advance(programs[side][at[side]], counts);
           ++at[side])
        moved = true;
  }
  for (unsigned side : {0u, 1u})
    if (at[side] < programs[side].size()) {
      const End &end = programs[side][at[side]];
      return end.op->emitError("E0799: channel '")
             << nameOf(end.channel) << "' with " << end.channel.getDefiningOp<AllocOp>().getSlots()
             << " slots makes the two kinds of core wait for each other here";
    }
  return success();
}

struct TileVerifyChannelsPass : passes::impl::TileVerifyChannelsBase<TileVerifyChannelsPass> {
  void runOnOperation() override {
    getOperation().walk([&](LaunchOp launch) {
      if (isByHand(launch))
        return;
      LogicalResult result = forEachRun(launch, [](ConcreteRun &run, ArrayRef<int64_t> block) {
        Exchange exchange(run);
        if (failed(run.run(block, [&](Operation *op) { return exchange.visit(op); })))
          return failure();
        return run.isComplete() ? exchange.finish() : success();
      });
      if (failed(result))
        signalPassFailure();
    });
  }
};

} // namespace
