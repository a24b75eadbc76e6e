// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-skew-stages: let cube and vector cores work on different turns of a loop.

#include "tilewright/passes/LoopNests.h"
#include "tilewright/passes/Orders.h"
#include "tilewright/passes/Semaphores.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILESKEWSTAGES
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-skew-stages";
constexpr int kLate = 2;                   ///< turns of other work while an answer is on its way
constexpr int kFewTurns = 4;               ///< for each that a stage is late
constexpr int kMaxLevel = 6;               ///< turns that a stage may be late
constexpr int64_t kMaxVersionBytes = 8192; ///< largest tile that is kept for a late stage

/// One statement of the loop's body, with everything inside it.
struct Item {
  Operation *op = nullptr;
  int level = 0; ///< how many turns late it runs
  /// Buffer -> whether it is read and written.
  llvm::MapVector<Value, std::pair<bool, bool>> buffers;
  llvm::SmallDenseSet<Value> writesTo, readsFrom; ///< channels, by side
  SmallVector<unsigned> scalars;                  ///< items whose results it uses

  bool reads(Value buffer) const {
    auto found = buffers.find(buffer);
    return found != buffers.end() && found->second.first;
  }
  bool writes(Value buffer) const {
    auto found = buffers.find(buffer);
    return found != buffers.end() && found->second.second;
  }
};

/// Finds out which statements of a loop can run turns late, and rewrites the loop.
///
/// A statement is late by `kLate` turns for each time that what it needs went from a vector core to
/// the cube core within its turn: it waits for an answer, and statements of later turns that do not
/// can run meanwhile. All that must keep its order has one level; a small tile that late statements
/// only read is kept for them in copies, and what several stages need of global memory is loaded by
/// each.
class Skewer {
public:
  explicit Skewer(scf::ForOp loop) : loop(loop) {}

  bool collect();
  bool assignLevels();
  void tighten();
  int depth() const { return maxLevel; }
  scf::ForOp getLoop() const { return loop; }
  std::vector<SmallVector<Value>> shareable();
  void rewrite();

private:
  bool addItem(Operation &op);
  bool isRepeatable(Operation *op) const;
  void addScalars(Item &item, Operation *op);
  bool raise(Item &item, int level);
  bool relaxChannel(Value channel);
  bool relaxBuffer(Value buffer);
  bool relaxScalars();
  bool relax();
  bool makeLater(Value channel);
  bool comesAfterWriters(Value buffer, const Item &reader) const;
  bool canKeep(Value buffer, const Item &reader) const;
  bool canReload(Value buffer, const Item &reader) const;
  int writerLevel(Value buffer) const;
  std::pair<int, int> levelsOf(Value channel) const;
  SmallVector<unsigned> orderOf(Value channel) const;
  void growChannel(Value channel);
  void emitStage(OpBuilder &builder, int level, Value counter);
  void fillUnwritten(Value buffer, AllocOp alloc);
  void emitVersions(OpBuilder &builder, Value counter);
  void reload(Value buffer, OpBuilder &builder, IRMapping &mapping);
  scf::IfOp guard(OpBuilder &builder, Value counter, int late);
  Value turns(OpBuilder &builder, Value value, int count);

  mutable scf::ForOp loop;
  std::vector<Item> items;
  llvm::DenseMap<Operation *, unsigned> numbers;
  llvm::SetVector<Value> channels, buffers;
  llvm::DenseSet<Value> written;
  int maxLevel = 0;
  /// Buffer -> the copies for readers one, two ... turns after its writers.
  llvm::MapVector<Value, SmallVector<AllocOp>> versions;
};

/// True for what can run in any stage that needs its result.
bool Skewer::isRepeatable(Operation *op) const {
  if (isPure(op))
    return true;
  auto load = dyn_cast<LoadOp>(op);
  return load && !written.contains(load.getBuffer());
}

bool Skewer::addItem(Operation &op) {
  Item item;
  item.op = &op;
  WalkResult result = op.walk([&](Operation *inner) {
    // What a tensor hands over has one place, so that nothing may run ahead.
    if (isa<AcquireOp, PublishOp, WaitOp, ReleaseOp>(inner) && isOrder(inner->getOperand(0)))
      return WalkResult::interrupt();
    if (isa<AcquireOp, PublishOp>(inner)) {
      item.writesTo.insert(inner->getOperand(0));
    } else if (isa<WaitOp, ReleaseOp>(inner)) {
      item.readsFrom.insert(inner->getOperand(0));
    } else if (auto advance = dyn_cast<AdvanceOp>(inner)) {
      item.buffers[advance.getBuffer()].second = true;
    } else if (auto access = dyn_cast<AccessInterface>(inner)) {
      for (unsigned index = 0; index < access.getNumBoxes(); ++index) {
        Value buffer = access.getBox(index).buffer;
        AccessKind kind = access.getAccessKind(index);
        if (scopeOf(buffer) == Scope::Workspace) {
          (tilewright::writes(kind) ? item.writesTo : item.readsFrom).insert(buffer);
          continue;
        }
        auto &[isRead, isWritten] = item.buffers[buffer];
        isRead |= tilewright::reads(kind);
        isWritten |= tilewright::writes(kind);
      }
    } else if (!isa<AssertOp, scf::IfOp, scf::ForOp, scf::WhileOp>(inner) &&
               !inner->hasTrait<OpTrait::IsTerminator>() && !isPure(inner)) {
      return WalkResult::interrupt();
    }
    // Lines of different stages would come out in another order.
    return isa<PrintOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return false;
  for (Value channel : item.writesTo)
    channels.insert(channel);
  for (Value channel : item.readsFrom)
    channels.insert(channel);
  for (auto &[buffer, uses] : item.buffers) {
    buffers.insert(buffer);
    if (uses.second)
      written.insert(buffer);
  }
  numbers[&op] = items.size();
  items.push_back(std::move(item));
  return true;
}

/// Notes the items whose results `op` needs, directly or through what is repeated in each stage.
void Skewer::addScalars(Item &item, Operation *op) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (!def || def->getBlock() != loop.getBody())
        continue;
      auto found = numbers.find(def);
      if (found == numbers.end())
        addScalars(item, def);
      else if (!llvm::is_contained(item.scalars, found->second))
        item.scalars.push_back(found->second);
    }
  });
}

bool Skewer::collect() {
  auto lower = constantOf(loop.getLowerBound()), upper = constantOf(loop.getUpperBound());
  auto step = constantOf(loop.getStep());
  if (!step || loop.getNumResults() != 0 || (lower && upper && *upper - *lower <= *step))
    return false;
  // What is written decides which loads can be repeated, so look at that first.
  loop.getBody()->walk([&](AccessInterface access) {
    for (unsigned index = 0; index < access.getNumBoxes(); ++index)
      if (tilewright::writes(access.getAccessKind(index)))
        written.insert(access.getBox(index).buffer);
  });
  for (Operation &op : loop.getBody()->without_terminator())
    if (!isRepeatable(&op) && !addItem(op))
      return false;
  for (Item &item : items)
    addScalars(item, item.op);
  return true;
}

bool Skewer::raise(Item &item, int level) {
  if (item.level >= level)
    return false;
  item.level = level;
  return true;
}

/// The ends of one side stay together, and the reader is not earlier than the writer.
bool Skewer::relaxChannel(Value channel) {
  int writer = -1, reader = 0;
  bool fromVector = false, changed = false;
  for (Item &item : items) {
    if (item.writesTo.contains(channel))
      writer = std::max(writer, item.level);
    if (item.readsFrom.contains(channel))
      reader = std::max(reader, item.level);
    item.op->walk([&](AcquireOp acquire) {
      if (acquire.getChannel() == channel)
        fromVector = acquire.getCore() == Core::AIV;
    });
  }
  bool isInside = llvm::any_of(items, [&](const Item &item) {
    return item.writesTo.contains(channel) && item.readsFrom.contains(channel);
  });
  if (writer >= 0)
    reader =
        isInside ? std::max(reader, writer) : std::max(reader, writer + (fromVector ? kLate : 0));
  for (Item &item : items) {
    if (item.writesTo.contains(channel))
      changed |= raise(item, isInside ? reader : writer);
    if (item.readsFrom.contains(channel))
      changed |= raise(item, reader);
  }
  return changed;
}

/// True for a statement that only reads what its turn wrote before.
bool Skewer::comesAfterWriters(Value buffer, const Item &reader) const {
  return !reader.writes(buffer) && llvm::all_of(items, [&](const Item &other) {
    return !other.writes(buffer) || numbers.lookup(other.op) < numbers.lookup(reader.op);
  });
}

/// True when a copy of the buffer can stand in for it in a reader that runs later than the writers.
bool Skewer::canKeep(Value buffer, const Item &reader) const {
  return buffer.getDefiningOp<AllocOp>() && scopeOf(buffer) == Scope::UB &&
         bytesOf(buffer) <= kMaxVersionBytes && comesAfterWriters(buffer, reader);
}

/// True when a later reader can load the tile again: each turn fills it from global memory that
/// nothing in the loop writes, from a place that a later turn still knows.
bool Skewer::canReload(Value buffer, const Item &reader) const {
  if (scopeOf(buffer) != Scope::L1 || !comesAfterWriters(buffer, reader))
    return false;
  return llvm::all_of(items, [&](const Item &other) {
    if (!other.writes(buffer) || isa<AdvanceOp>(other.op))
      return true;
    auto copy = dyn_cast<CopyOp>(other.op);
    return copy && other.scalars.empty() && coversBuffer(copy.getBox(0)) &&
           !written.contains(copy.getBox(1).buffer) &&
           scopeOf(copy.getBox(1).buffer) == Scope::Global;
  });
}

/// How late the writers of a buffer are, -1 when the loop has none.
int Skewer::writerLevel(Value buffer) const {
  int level = -1;
  for (const Item &item : items)
    if (item.writes(buffer))
      level = std::max(level, item.level);
  return level;
}

bool Skewer::relaxBuffer(Value buffer) {
  int writers = writerLevel(buffer);
  if (writers < 0)
    return false;
  bool isShared = llvm::any_of(
      items, [&](const Item &item) { return item.reads(buffer) && item.level == writers; });
  for (const Item &item : items) {
    bool isFree = canKeep(buffer, item) || (isShared && canReload(buffer, item));
    if (item.reads(buffer) && item.level > writers && !isFree)
      writers = item.level;
  }
  bool changed = false;
  for (Item &item : items)
    if (item.buffers.contains(buffer))
      changed |= raise(item, writers);
  return changed;
}

/// A scalar is there in the stage that makes it, only.
bool Skewer::relaxScalars() {
  bool changed = false;
  for (Item &item : items)
    for (unsigned number : item.scalars) {
      changed |= raise(item, items[number].level);
      changed |= raise(items[number], item.level);
    }
  return changed;
}

/// Raises levels until all rules hold. False when a stage would be too late.
bool Skewer::relax() {
  bool changed = true;
  while (changed) {
    changed = relaxScalars();
    for (Value channel : channels)
      changed |= relaxChannel(channel);
    for (Value buffer : buffers)
      changed |= relaxBuffer(buffer);
    if (llvm::any_of(items, [](const Item &item) { return item.level > kMaxLevel; }))
      return false;
  }
  return true;
}

/// The least levels. False when nothing is gained.
bool Skewer::assignLevels() {
  if (!relax())
    return false;
  int least = kMaxLevel;
  for (const Item &item : items)
    least = std::min(least, item.level);
  for (Item &item : items) {
    item.level -= least;
    maxLevel = std::max(maxLevel, item.level);
  }
  return maxLevel > 0;
}

/// Lets what a vector core hands over be made later where nobody waits for it, so that fewer
/// versions are under way and more channels go at one pace.
void Skewer::tighten() {
  while (llvm::any_of(channels, [&](Value channel) { return makeLater(channel); }))
    ;
}

/// True when the writers of the channel are later now, and nothing but what they need is.
bool Skewer::makeLater(Value channel) {
  auto [writer, reader] = levelsOf(channel);
  if (reader - writer <= kLate)
    return false;
  SmallVector<int> before = llvm::map_to_vector(items, [](const Item &item) { return item.level; });
  auto waits = [&] {
    int turns = 0;
    for (Value each : channels)
      turns += levelsOf(each).second - levelsOf(each).first;
    return turns;
  };
  int least = waits();
  for (Item &item : items)
    if (item.writesTo.contains(channel))
      item.level = reader - kLate;
  if (relax() && waits() < least &&
      llvm::all_of(items, [&](const Item &item) { return item.level <= maxLevel; }))
    return true;
  for (auto [item, level] : llvm::zip(items, before))
    item.level = level;
  return false;
}

/// value + count * step.
Value Skewer::turns(OpBuilder &builder, Value value, int count) {
  if (count == 0)
    return value;
  Location loc = loop.getLoc();
  Value distance = builder.create<arith::ConstantIndexOp>(loc, count * *constantOf(loop.getStep()));
  return builder.create<arith::AddIOp>(loc, value, distance);
}

/// A branch for the turns of the new loop that are `late` turns behind one of the old loop.
scf::IfOp Skewer::guard(OpBuilder &builder, Value counter, int late) {
  Location loc = loop.getLoc();
  Value condition;
  auto require = [&](arith::CmpIPredicate predicate, Value bound) {
    Value holds = builder.create<arith::CmpIOp>(loc, predicate, counter, bound);
    condition = condition ? builder.create<arith::AndIOp>(loc, condition, holds) : holds;
  };
  if (late > 0)
    require(arith::CmpIPredicate::sge, turns(builder, loop.getLowerBound(), late));
  if (late < maxLevel) // the new loop ends there
    require(arith::CmpIPredicate::slt, turns(builder, loop.getUpperBound(), late));
  return builder.create<scf::IfOp>(loc, condition, /*withElseRegion=*/false);
}

void Skewer::emitStage(OpBuilder &builder, int level, Value counter) {
  scf::IfOp branch = guard(builder, counter, level);
  OpBuilder inside = branch.getThenBodyBuilder();
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), turns(inside, counter, -level));
  for (auto &[buffer, copies] : versions) // a stage past the last copy does not read the buffer
    if (int late = level - writerLevel(buffer); late > 0 && late <= int(copies.size()))
      mapping.map(buffer, copies[late - 1].getResult());
  for (Item &item : items) {
    if (item.level != level)
      continue;
    for (auto &[buffer, uses] : item.buffers)
      if (scopeOf(buffer) == Scope::L1 && level > writerLevel(buffer) && !mapping.contains(buffer))
        reload(buffer, inside, mapping);
    cloneOperands(item.op, loop.getBody(), inside, mapping);
    inside.clone(*item.op, mapping);
  }
}

/// Loads a tile of an earlier stage again, into a tile of this stage's own.
void Skewer::reload(Value buffer, OpBuilder &builder, IRMapping &mapping) {
  if (writerLevel(buffer) < 0)
    return;
  auto alloc = buffer.getDefiningOp<AllocOp>();
  auto type = cast<MemRefType>(buffer.getType());
  AllocOp own = createAlloc(alloc, alloc.getLoc(), alloc.getName() + ".again", type.getShape(),
                            type.getElementType(), Scope::L1);
  own.setSlots(alloc.getSlots());
  mapping.map(buffer, own.getResult());
  for (Item &item : items) {
    if (!item.writes(buffer))
      continue;
    cloneOperands(item.op, loop.getBody(), builder, mapping);
    builder.clone(*item.op, mapping);
  }
}

/// A tile of which turns write parts alone is kept whole: the rest of it must be something.
void Skewer::fillUnwritten(Value buffer, AllocOp alloc) {
  bool isWritten = llvm::any_of(items, [&](const Item &item) {
    auto access = dyn_cast<AccessInterface>(item.op);
    return access && llvm::any_of(llvm::seq(access.getNumBoxes()), [&](unsigned box) {
             return access.getBox(box).buffer == buffer && writes(access.getAccessKind(box)) &&
                    coversBuffer(access.getBox(box));
           });
  });
  if (isWritten)
    return;
  OpBuilder builder(alloc->getContext());
  builder.setInsertionPointAfter(alloc);
  Type element = cast<MemRefType>(alloc.getType()).getElementType();
  Value zero = builder.create<arith::ConstantOp>(alloc.getLoc(),
                                                 cast<TypedAttr>(builder.getZeroAttr(element)));
  BoxOperands boxes;
  boxes.addWhole(builder, alloc.getLoc(), buffer);
  auto fill =
      builder.create<FillOp>(alloc.getLoc(), boxes.buffers, boxes.offsets, boxes.sizes, zero);
  fill->setAttr(kCoreAttr, CoreAttr::get(builder.getContext(), Core::AIV));
}

/// Keeps what late stages will read before the first stage overwrites it, oldest copy first.
void Skewer::emitVersions(OpBuilder &builder, Value counter) {
  for (Value buffer : buffers) {
    int writers = writerLevel(buffer), last = 0;
    for (const Item &item : items)
      if (item.reads(buffer))
        last = std::max(last, item.level);
    if (writers < 0 || last <= writers || scopeOf(buffer) != Scope::UB)
      continue;
    auto alloc = buffer.getDefiningOp<AllocOp>();
    auto type = cast<MemRefType>(alloc.getType());
    fillUnwritten(buffer, alloc);
    SmallVector<AllocOp> &copies = versions[buffer];
    for (int late = 1; late <= last - writers; ++late) {
      AllocOp copy = createAlloc(alloc, alloc.getLoc(), alloc.getName() + ".late", type.getShape(),
                                 type.getElementType(), Scope::UB);
      for (StringLiteral name : {kSplitDimAttr, kSplitRowsAttr})
        if (Attribute attribute = alloc->getAttr(name))
          copy->setAttr(name, attribute);
      copies.push_back(copy);
    }
    for (int late = last - writers; late > 0; --late) {
      OpBuilder inside = guard(builder, counter, writers + late).getThenBodyBuilder();
      Value from = late == 1 ? buffer : copies[late - 2].getResult();
      createTileMove(inside, alloc.getLoc(), Box{copies[late - 1], {}, {}}, Box{from, {}, {}});
      for (Operation &op : *inside.getBlock())
        if (isa<ElementwiseOp>(op))
          op.setAttr(kCoreAttr, CoreAttr::get(op.getContext(), Core::AIV));
    }
  }
}

/// How late the two sides of a channel are.
std::pair<int, int> Skewer::levelsOf(Value channel) const {
  int writer = 0, reader = 0;
  for (const Item &item : items) {
    if (item.writesTo.contains(channel))
      writer = std::max(writer, item.level);
    if (item.readsFrom.contains(channel))
      reader = std::max(reader, item.level);
  }
  return {writer, reader};
}

/// Where the four ends of a channel stand in the turn, in the order acquire, publish, wait,
/// release; nothing when they are not four statements that each turn comes to.
SmallVector<unsigned> Skewer::orderOf(Value channel) const {
  SmallVector<unsigned> order(4);
  unsigned count = 0;
  for (Operation *user : channel.getUsers()) {
    if (!isa<AcquireOp, PublishOp, WaitOp, ReleaseOp>(user))
      continue;
    auto found = numbers.find(user);
    if (found == numbers.end())
      return {};
    unsigned end = isa<AcquireOp>(user) ? 0 : isa<PublishOp>(user) ? 1 : isa<WaitOp>(user) ? 2 : 3;
    order[end] = found->second;
    ++count;
  }
  return count == 4 ? order : SmallVector<unsigned>();
}

/// Groups of two or more channels that can share semaphores: the sides of all are late by the same
/// number of turns, and each of the four ends comes in one order, so that the n-th hand-over of the
/// writer is the n-th of the reader.
std::vector<SmallVector<Value>> Skewer::shareable() {
  struct Candidate {
    Value channel;
    Core writer;
    std::pair<int, int> levels;
    SmallVector<unsigned> order;
  };
  std::vector<Candidate> candidates;
  for (Value channel : channels) {
    SmallVector<unsigned> order = orderOf(channel);
    if (!order.empty())
      candidates.push_back({channel, cast<AcquireOp>(items[order[0]].op).getCore(),
                            levelsOf(channel), std::move(order)});
  }
  llvm::sort(candidates, [](const Candidate &a, const Candidate &b) { return a.order < b.order; });
  auto follows = [](const Candidate &last, const Candidate &next) {
    return last.writer == next.writer && last.levels == next.levels &&
           llvm::all_of(llvm::zip(last.order, next.order),
                        [](auto pair) { return std::get<0>(pair) < std::get<1>(pair); });
  };
  std::vector<SmallVector<Candidate *>> groups;
  for (Candidate &candidate : candidates) {
    // Each channel has at least a version more than turns pass between its sides.
    int64_t most = kMaxCount / (candidate.levels.second - candidate.levels.first + 1);
    auto group = llvm::find_if(groups, [&](const auto &group) {
      return follows(*group.back(), candidate) && int64_t(group.size()) < most;
    });
    if (group == groups.end())
      groups.push_back({&candidate});
    else
      group->push_back(&candidate);
  }
  std::vector<SmallVector<Value>> found;
  for (const auto &group : groups)
    if (group.size() > 1)
      found.push_back(llvm::map_to_vector(group, [](Candidate *c) { return c->channel; }));
  return found;
}

/// A slot for each version that its writer makes before the reader comes to it.
void Skewer::growChannel(Value channel) {
  auto [writer, reader] = levelsOf(channel);
  auto alloc = channel.getDefiningOp<AllocOp>();
  alloc.setSlots(std::max<int64_t>(alloc.getSlots(), reader - writer + 1));
}

void Skewer::rewrite() {
  for (Value channel : channels)
    growChannel(channel);
  OpBuilder builder(loop);
  auto fresh =
      builder.create<scf::ForOp>(loop.getLoc(), loop.getLowerBound(),
                                 turns(builder, loop.getUpperBound(), maxLevel), loop.getStep());
  fresh->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  builder.setInsertionPoint(fresh.getBody()->getTerminator());
  Value counter = fresh.getInductionVar();
  emitVersions(builder, counter);
  for (int level = 0; level <= maxLevel; ++level)
    if (llvm::any_of(items, [&](const Item &item) { return item.level == level; }))
      emitStage(builder, level, counter);
  remark(fresh, kPass, "applied") << "what waits for the other core runs " << maxLevel
                                  << (maxLevel > 1 ? " turns" : " turn")
                                  << " late, so that both kinds of core work at once";
  loop.erase();
}

struct TileSkewStagesPass : passes::impl::TileSkewStagesBase<TileSkewStagesPass> {
  void runOnOperation() override {
    getOperation().walk([](LaunchOp launch) { skew(launch); });
  }

private:
  /// The loop and the one around it as one, where its turns are few, so that late stages would have
  /// nothing to overlap with most of the time. Null where not.
  static scf::ForOp flattened(scf::ForOp loop, int depth) {
    auto lower = constantOf(loop.getLowerBound()), upper = constantOf(loop.getUpperBound());
    auto step = constantOf(loop.getStep());
    if (!lower || !upper || !step || (*upper - *lower) / *step > kFewTurns * depth)
      return {};
    return flattenNest(loop);
  }

  /// Stages that are late by different numbers of turns hand versions over in different orders, so
  /// each channel needs semaphores of its own; or a share of those of others that keep its order.
  static void skew(LaunchOp launch) {
    SmallVector<scf::ForOp> loops;
    launch.walk([&](scf::ForOp loop) {
      if (llvm::any_of(*loop.getBody(), [](Operation &op) { return isa<WaitOp>(op); }))
        loops.push_back(loop);
    });
    size_t pairs = llvm::count_if(launch.getOps<AllocOp>(),
                                  [](AllocOp alloc) { return scopeOf(alloc) == Scope::Workspace; });
    bool isShared = pairs > kMaxChannels;
    std::vector<SmallVector<Value>> groups;
    std::vector<Skewer> skewers;
    for (scf::ForOp loop : loops) {
      Skewer skewer(loop);
      if (!skewer.collect() || !skewer.assignLevels())
        continue;
      if (scf::ForOp flat = flattened(loop, skewer.depth())) {
        skewer = Skewer(flat);
        if (!skewer.collect() || !skewer.assignLevels())
          continue;
      }
      if (isShared) {
        skewer.tighten();
        llvm::append_range(groups, skewer.shareable());
      }
      skewers.push_back(std::move(skewer));
    }
    for (const SmallVector<Value> &group : groups)
      pairs -= group.size() - 1;
    if (pairs > kMaxChannels && !skewers.empty()) {
      remark(skewers.front().getLoop(), kPass, "missed")
          << "all stages run in the same turn: " << pairs << " tiles, of which " << kMaxChannels
          << " can, go from one kind of core to the other in orders of their own";
      return;
    }
    for (auto [number, group] : llvm::enumerate(groups))
      for (Value channel : group)
        channel.getDefiningOp()->setAttr(kSemaphoreAttr,
                                         OpBuilder(launch).getI64IntegerAttr(number));
    for (Skewer &skewer : skewers)
      skewer.rewrite();
  }
};

} // namespace
