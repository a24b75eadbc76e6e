// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-join-blocks: let one block do the work of two that read the same operand.

#include "tilewright/passes/BlockWidening.h"
#include "tilewright/passes/Chip.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEJOINBLOCKS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-join-blocks";
constexpr unsigned kMaxRounds = 4;   ///< a block does the work of 2^4 at most
constexpr double kWorthwhile = 0.97; ///< of the time; less gain is not worth the memory
constexpr double kRowBytes = 512;    ///< what tile-fuse-k makes of rows along K

/// Cycles to load the tile of a copy, or `times` as much in rows that are `longer` times as long.
/// Rows along K grow with tile-fuse-k, others are as written.
double loadCycles(CopyOp copy, double times, double longer, const machine::Machine &chip) {
  Box src = copy.getBox(1);
  double bytes = times * static_cast<double>(bytesOf(copy.getBox(0).buffer)), row = kRowBytes;
  if (!movesInLoop(src.offsets.back()))
    row = longer * static_cast<double>(constantOf(src.sizes.back()).value_or(1)) *
          cast<MemRefType>(src.buffer.getType()).getElementTypeBitWidth() / 8;
  return bytes / chip.mte2RateAic + bytes / row * chip.mte2RowAic;
}

/// What the blocks of a launch cost a core, as the chip's constants say.
struct Cost {
  double load = 0, product = 0, store = 0; ///< cycles of one block
  double l1 = 0, l0c = 0;                  ///< bytes of the tiles, one slot each
};

/// A launch of cube work alone: loads, products and stores in loops.
class Joiner {
public:
  Joiner(LaunchOp launch, const machine::Machine &chip) : launch(launch), chip(chip) {}

  /// The time of the launch when pairs along `dim` are joined; with no dim, as it is. None where
  /// pairs cannot be joined.
  std::optional<double> time(std::optional<unsigned> dim);
  void join(unsigned dim);

private:
  bool findVarying(unsigned dim);
  bool varies(Operation *op) const {
    return llvm::any_of(op->getOperands(), [&](Value v) { return varying.contains(v); }) ||
           llvm::any_of(op->getResults(), [&](Value v) { return varying.contains(v); });
  }
  void addCost(Block &block, double turns, bool joined, Cost &cost);
  void jam(unsigned dim);
  void emit(Block &from, OpBuilder &builder);

  LaunchOp launch;
  const machine::Machine &chip;
  llvm::StringSet<> names;               ///< of tiles
  llvm::DenseSet<Value> varying;         ///< scalars and tiles that differ between the two blocks
  std::optional<BlockWidening> widening; ///< where larger tiles do the work of two
  IRMapping maps[2];
};

/// Marks what depends on the number of the block along `dim`. False where the two blocks would run
/// other loops, or would write to the same place.
bool Joiner::findVarying(unsigned dim) {
  widening.emplace(launch, dim);
  if (!widening->match())
    widening.reset();
  varying.clear();
  varying.insert(launch.getBody().getArgument(dim));
  bool isPossible = true;
  for (size_t known = 0; known != varying.size();) {
    known = varying.size();
    launch.getBody().walk([&](Operation *op) {
      bool isVarying =
          llvm::any_of(op->getOperands(), [&](Value v) { return varying.contains(v); });
      if (isa<scf::ForOp>(op)) {
        isPossible &= !isVarying;
      } else if (auto access = dyn_cast<AccessInterface>(op)) {
        Value target = access.getBox(0).buffer;
        if (isVarying && target.getDefiningOp<AllocOp>())
          varying.insert(target);
      } else if (isVarying) {
        varying.insert(op->getResults().begin(), op->getResults().end());
      }
    });
  }
  launch.getBody().walk([&](CopyOp copy) {
    Box dst = copy.getBox(0);
    if (scopeOf(dst.buffer) != Scope::Global)
      return;
    // What one of them writes the other does not.
    isPossible &= llvm::any_of(llvm::zip(dst.offsets, dst.sizes), [&](auto pair) {
      auto [offset, size] = pair;
      auto move = factorIn(offset, launch.getBody().getArgument(dim), launch.getBody());
      auto extent = constantOf(size);
      return move && extent && std::abs(*move) >= *extent;
    });
  });
  return isPossible;
}

void Joiner::addCost(Block &block, double turns, bool joined, Cost &cost) {
  for (Operation &op : block) {
    double times = turns * (joined && varies(&op) ? 2 : 1);
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      double trips = expectedTrips(loop);
      addCost(*loop.getBody(), turns * trips, joined, cost);
    } else if (auto copy = dyn_cast<CopyOp>(op)) {
      Value dst = copy.getBox(0).buffer, src = copy.getBox(1).buffer;
      if (scopeOf(src) == Scope::Global)
        cost.load +=
            turns * loadCycles(copy, times / turns,
                               joined && widening && widening->growsRows(copy) ? 2 : 1, chip);
      else if (scopeOf(dst) == Scope::Global)
        cost.store += times * static_cast<double>(bytesOf(src)) / chip.fixGmRate;
    } else if (auto gemm = dyn_cast<GemmOp>(op)) {
      Box sum = gemm.getBox(0), a = gemm.getBox(1);
      unsigned bits = cast<MemRefType>(a.buffer.getType()).getElementTypeBitWidth();
      double macs = chip.macs(bits / 8);
      double volume = 1;
      for (Value size : {sum.sizes[sum.sizes.size() - 2], sum.sizes.back(),
                         a.sizes[a.sizes.size() - (gemm.getTransposeA() ? 2 : 1)]})
        volume *= static_cast<double>(constantOf(size).value_or(chip.fractalRows));
      cost.product += times * volume / macs + (widening ? turns : times) * chip.mmadOverhead;
    } else if (auto alloc = dyn_cast<AllocOp>(op)) {
      double copies = joined && varying.contains(alloc) ? 2 : 1;
      if (scopeOf(alloc) == Scope::L1)
        cost.l1 += copies * static_cast<double>(bytesOf(alloc));
      else if (scopeOf(alloc) == Scope::L0C)
        cost.l0c += copies * static_cast<double>(bytesOf(alloc));
    }
  }
}

std::optional<double> Joiner::time(std::optional<unsigned> dim) {
  double blocks = 1;
  for (auto [index, extent] : llvm::enumerate(launch.getGrid())) {
    std::optional<int64_t> constant = constantOf(extent);
    if (!constant || (dim == index && *constant % 2 != 0))
      return std::nullopt;
    blocks *= static_cast<double>(dim == index ? *constant / 2 : *constant);
  }
  if (dim && !findVarying(*dim))
    return std::nullopt;
  Cost cost;
  addCost(launch.getBody().front(), 1, dim.has_value(), cost);
  if (dim && (2 * cost.l1 > static_cast<double>(chip.l1Bytes) ||
              cost.l0c > static_cast<double>(chip.l0cBytes)))
    return std::nullopt;
  // With one slot in L0C the next block's products wait for the store.
  bool overlaps = 2 * cost.l0c <= static_cast<double>(chip.l0cBytes);
  double block = std::max(cost.load, cost.product);
  block = overlaps ? std::max(block, cost.store) : block + cost.store;
  return std::ceil(blocks / chip.aicCount) * block;
}

/// Emits every statement for both blocks in turn, once where they agree.
void Joiner::emit(Block &from, OpBuilder &builder) {
  for (Operation &op : llvm::make_early_inc_range(from)) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      auto fresh = builder.create<scf::ForOp>(
          loop.getLoc(), maps[0].lookupOrDefault(loop.getLowerBound()),
          maps[0].lookupOrDefault(loop.getUpperBound()), maps[0].lookupOrDefault(loop.getStep()));
      fresh->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
      for (IRMapping &map : maps)
        map.map(loop.getInductionVar(), fresh.getInductionVar());
      OpBuilder inside = OpBuilder::atBlockTerminator(fresh.getBody());
      emit(*loop.getBody(), inside);
      continue;
    }
    if (!varies(&op)) {
      Operation *copy = builder.clone(op, maps[0]);
      maps[1].map(op.getResults(), copy->getResults());
      continue;
    }
    for (IRMapping &map : maps)
      builder.clone(op, map);
    if (auto alloc = dyn_cast<AllocOp>(op)) {
      auto second = maps[1].lookup(alloc.getResult()).getDefiningOp<AllocOp>();
      std::string name;
      for (unsigned number = 2; name.empty() || names.contains(name); ++number)
        name = (alloc.getName() + "." + Twine(number)).str();
      names.insert(name);
      second.setName(name);
    }
  }
}

void Joiner::join(unsigned dim) {
  findVarying(dim);
  std::string shared;
  launch.getBody().walk([&](CopyOp copy) {
    Value tile = copy.getBox(0).buffer;
    if (scopeOf(tile) == Scope::L1 && !varying.contains(tile))
      shared += (shared.empty() ? "'" : ", '") + nameOf(tile).str() + "'";
  });
  remark(launch, kPass, "applied")
      << "one block does the work of two" << (widening ? " in larger tiles" : "") << ": " << shared
      << " is loaded once for both";
  if (widening)
    widening->apply();
  else
    jam(dim);
}

void Joiner::jam(unsigned dim) {
  launch.getBody().walk([&](AllocOp alloc) { names.insert(alloc.getName()); });
  OpBuilder builder(launch);
  int64_t extent = *constantOf(launch.getGrid()[dim]);
  launch.getGridMutable()[dim].set(
      builder.create<arith::ConstantIndexOp>(launch.getLoc(), extent / 2));

  Block &body = launch.getBody().front();
  auto *old = new Block;
  old->getOperations().splice(old->end(), body.getOperations(), body.begin(),
                              std::prev(body.end()));
  builder.setInsertionPointToStart(&body);
  Location loc = launch.getLoc();
  BlockArgument number = body.getArgument(dim);
  Value first =
      builder.create<arith::MulIOp>(loc, number, builder.create<arith::ConstantIndexOp>(loc, 2));
  Value second =
      builder.create<arith::AddIOp>(loc, first, builder.create<arith::ConstantIndexOp>(loc, 1));
  maps[0].map(Value(number), first);
  maps[1].map(Value(number), second);
  emit(*old, builder);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*old)))
    op.erase();
  delete old;
}

struct TileJoinBlocksPass : passes::impl::TileJoinBlocksBase<TileJoinBlocksPass> {
  using Base::Base;

  void runOnOperation() override {
    std::optional<machine::Machine> loaded = chipFor(getOperation(), chip);
    if (!loaded)
      return signalPassFailure();
    getOperation().walk([&](LaunchOp launch) {
      for (unsigned round = 0; round < kMaxRounds; ++round)
        if (!joinOnce(launch, *loaded))
          return;
    });
  }

private:
  bool joinOnce(LaunchOp launch, const machine::Machine &machine) {
    if (!BlockWidening::takes(launch))
      return false;
    std::optional<double> least = Joiner(launch, machine).time(std::nullopt);
    std::optional<unsigned> best;
    for (unsigned dim = 0; least && dim < launch.getGrid().size(); ++dim) {
      std::optional<double> time = Joiner(launch, machine).time(dim);
      if (!time || *time >= kWorthwhile * *least)
        continue;
      best = dim;
      least = *time / kWorthwhile; // a later dimension has to be better, not as good
    }
    if (best)
      Joiner(launch, machine).join(*best);
    return best.has_value();
  }
};

} // namespace
