// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-batch-blocks: let one block do the rows of several.

#include "tilewright/passes/Chip.h"
#include "tilewright/passes/CubeCost.h"
#include "tilewright/passes/RowGrowth.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <functional>
#include <limits>

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEBATCHBLOCKS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-batch-blocks";
constexpr int64_t kMaxRows = 64;     ///< a block does the work of that many at most
constexpr unsigned kMaxRounds = 2;   ///< rows and columns
constexpr double kWorthwhile = 0.95; ///< of the time; less gain is not worth the memory

/// What a launch of vector work costs when its blocks do more rows.
class Cost {
public:
  /// `grows`: tiles that get larger with the rows. `along`: the dimension of its tensor that a copy
  /// has more rows of. `endsWithTensors`: see blocksWhenMerged.
  Cost(LaunchOp launch, unsigned extent, bool endsWithTensors, const machine::Machine &chip,
       llvm::function_ref<bool(Value)> grows,
       llvm::function_ref<std::optional<unsigned>(CopyOp)> along)
      : launch(launch), extent(extent), endsWithTensors(endsWithTensors), chip(chip), grows(grows),
        along(along) {}

  /// Estimated cycles of the launch with `rows` times the rows a block; none where tiles do not fit
  /// twice or blocks cannot be merged.
  std::optional<double> time(int64_t rows);
  /// The number of blocks in one that is worth most, and the time with it.
  std::pair<int64_t, double> best();

private:
  void addCost(Block &block, double turns, int64_t rows);
  void addMove(CopyOp copy, double turns, int64_t rows);

  LaunchOp launch;
  unsigned extent;
  bool endsWithTensors;
  const machine::Machine &chip;
  llvm::function_ref<bool(Value)> grows;
  llvm::function_ref<std::optional<unsigned>(CopyOp)> along;
  double vector = 0, load = 0, store = 0; ///< cycles of a block on each pipe
};

/// A copy from or to a tensor pays for its rows: long ones touch fewer lines of the L2 twice.
void Cost::addMove(CopyOp copy, double turns, int64_t rows) {
  const bool isLoad = scopeOf(copy.getBox(1).buffer) == Scope::Global;
  const Box tensor = copy.getBox(isLoad ? 1 : 0);
  int64_t row = 1, count = 1;
  for (auto [dim, size] : llvm::enumerate(tensor.sizes)) {
    int64_t extent = constantOf(size).value_or(1) * (along(copy) == dim ? rows : 1);
    (dim + 1 == tensor.sizes.size() ? row : count) *= extent;
  }
  const int64_t width =
      llvm::divideCeil(cast<MemRefType>(tensor.buffer.getType()).getElementTypeBitWidth(), 8);
  const double charged =
      static_cast<double>(count) * chargedBytes(row * width, rowStep(tensor, row, chip), chip);
  if (isLoad)
    load += turns * (chip.mte2Start + charged / chip.mte2RateAiv +
                     static_cast<double>(count) * chip.mte2RowAiv);
  else
    store += turns * (chip.mte3Start + charged / chip.mte3RateAiv);
}

/// Each instruction has a fixed cost, whatever it works on.
void Cost::addCost(Block &block, double turns, int64_t rows) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      addCost(*loop.getBody(), turns * expectedTrips(loop), rows);
    auto access = dyn_cast<AccessInterface>(op);
    if (!access)
      continue;
    double bytes = 0;
    for (unsigned index = 0; index < access.getNumBoxes(); ++index)
      if (Value buffer = access.getBox(index).buffer; scopeOf(buffer) == Scope::UB)
        bytes = std::max(bytes, static_cast<double>(bytesOf(buffer) * (grows(buffer) ? rows : 1)));
    auto copy = dyn_cast<CopyOp>(op);
    if (copy && llvm::any_of(llvm::seq(0u, 2u), [&](unsigned index) {
          return scopeOf(copy.getBox(index).buffer) == Scope::Global;
        }))
      addMove(copy, turns, rows);
    else
      vector += turns * (chip.vecFixed + chip.vecBarrierTail + bytes / chip.vecRepeatBytes);
  }
}

std::optional<double> Cost::time(int64_t rows) {
  std::optional<int64_t> blocks = blocksWhenMerged(launch, extent, rows, endsWithTensors);
  if (!blocks)
    return std::nullopt;
  int64_t bytes = 0;
  for (AllocOp alloc : launch.getOps<AllocOp>()) {
    bool isMoved = false; // a second slot lets the next block's load or store overlap
    forEachAccess(alloc, [&](AccessInterface op, unsigned box) {
      isMoved |= isa<CopyOp>(op) && scopeOf(op.getBox(1 - box).buffer) == Scope::Global;
    });
    if (scopeOf(alloc) == Scope::UB)
      bytes += bytesOf(alloc) * (isMoved ? 2 : 1) * (grows(alloc) ? rows : 1);
  }
  if (rows > 1 && bytes > int64_t(chip.ubBytes))
    return std::nullopt;
  vector = load = store = 0;
  addCost(launch.getBody().front(), 1, rows);
  // Two slots of a tile: a load begins when the turn before the last is done with its slot. A
  // core's first turn waits for all of its own work.
  const double turns = mostTrips(launch.getBody());
  const double whole = load + turns * chip.mte2LatencyMiss + vector + store;
  const double steady = std::max({vector, load, store, whole / 2});
  return static_cast<double>(llvm::divideCeil(*blocks, int64_t(chip.aivCount))) * steady +
         (whole - steady) / turns;
}

std::pair<int64_t, double> Cost::best() {
  std::pair<int64_t, double> best{1, time(1).value_or(0)};
  for (int64_t rows = 2; best.second > 0 && rows <= kMaxRows; rows *= 2)
    if (auto found = time(rows); found && *found < kWorthwhile * best.second)
      best = {rows, *found};
  return best;
}

/// A launch of vector work whose blocks along one extent of the grid take one row each.
///
/// Every tile that differs between neighbours gets a dimension more, in front, for the rows.
class Batcher {
public:
  Batcher(LaunchOp launch, unsigned extent)
      : launch(launch), extent(extent), number(launch.getBody().getArgument(extent)) {}

  /// Checks every op of the launch. What does not fit is left alone without a word: most launches
  /// take more than a row, or share what they write.
  bool match();
  bool grows(Value tile) const { return tiles.contains(tile); }
  /// The dimension of its tensor along which a copy gets larger.
  std::optional<unsigned> dimOf(CopyOp copy) const {
    const auto *found = moving.find(copy);
    return found == moving.end() ? std::nullopt : std::optional(found->second);
  }
  /// Whether blocks beyond the extent would move nothing.
  bool endsWithTensors();
  void apply(int64_t rows);

private:
  bool areFixed(ValueRange values) { return passes::areFixed(values, number, launch.getBody()); }
  bool isFixed(Value value) { return !value || areFixed(value); }
  bool matchOp(Operation *op);
  bool matchCopy(CopyOp copy);
  bool matchBoxes(AccessInterface op);
  void growBoxes(AccessInterface op, int64_t rows);

  LaunchOp launch;
  unsigned extent;
  Value number;                                  ///< of the block
  llvm::SetVector<Value> tiles;                  ///< that differ between neighbours
  llvm::MapVector<Operation *, unsigned> moving; ///< copy -> dimension of the tensor
};

/// Between a tensor and a tile: the block's number is the row. The rows come first, so that they
/// match the new dimension.
bool Batcher::matchCopy(CopyOp copy) {
  Box dst = copy.getBox(0), src = copy.getBox(1);
  bool isLoad = scopeOf(src.buffer) == Scope::Global,
       isStore = scopeOf(dst.buffer) == Scope::Global;
  if (!isLoad && !isStore)
    return tiles.contains(dst.buffer) == tiles.contains(src.buffer);
  Box tensor = isLoad ? src : dst;
  Value tile = isLoad ? dst.buffer : src.buffer;
  if (!tile.getDefiningOp<AllocOp>() || !areFixed(tensor.sizes))
    return false;
  for (unsigned dim = 0; dim < tensor.offsets.size(); ++dim) {
    std::optional<int64_t> factor = factorIn(tensor.offsets[dim], number, launch.getBody());
    if (factor == 0)
      continue;
    bool isFirst = llvm::all_of(tensor.sizes.take_front(dim),
                                [](Value size) { return constantOf(size) == 1; });
    if (factor != 1 || constantOf(tensor.sizes[dim]) != 1 || !isFirst || moving.count(copy))
      return false;
    moving[copy] = dim;
  }
  // What neighbours write is theirs alone; what they read into a tile of their own differs.
  return moving.count(copy) == tiles.contains(tile) && (isLoad || moving.count(copy));
}

/// Boxes of tiles have one place in all blocks.
bool Batcher::matchBoxes(AccessInterface op) {
  for (unsigned index = 0; index < op.getNumBoxes(); ++index) {
    Box box = op.getBox(index);
    if (scopeOf(box.buffer) == Scope::Global)
      continue;
    if (scopeOf(box.buffer) != Scope::UB || !areFixed(box.offsets) || !areFixed(box.sizes))
      return false;
  }
  return true;
}

bool Batcher::matchOp(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return loop.getNumResults() == 0 && areFixed(loop->getOperands());
  auto access = dyn_cast<AccessInterface>(op);
  if (!access)
    return isa<AllocOp>(op) || op->hasTrait<OpTrait::IsTerminator>() || isPure(op);
  if (!matchBoxes(access))
    return false;
  if (auto copy = dyn_cast<CopyOp>(op))
    return matchCopy(copy);
  if (auto fill = dyn_cast<FillOp>(op))
    return isFixed(fill.getValue());
  if (auto elementwise = dyn_cast<ElementwiseOp>(op))
    return isFixed(elementwise.getScalar());
  if (isa<ReduceOp, ScanOp>(op))
    return tiles.contains(access.getBox(0).buffer) == tiles.contains(access.getBox(1).buffer);
  if (auto iota = dyn_cast<IotaOp>(op))
    return isFixed(iota.getStart()) && areFixed(iota.getSteps());
  return false;
}

bool Batcher::match() {
  tiles = tilesThatDiffer(launch, number, llvm::DenseMap<Value, int64_t>());
  WalkResult result = launch.getBody().walk(
      [&](Operation *op) { return matchOp(op) ? WalkResult::advance() : WalkResult::interrupt(); });
  return !result.wasInterrupted() && !moving.empty();
}

bool Batcher::endsWithTensors() {
  return llvm::all_of(moving, [&](const auto &entry) {
    auto copy = cast<CopyOp>(entry.first);
    unsigned tensor = scopeOf(copy.getBox(0).buffer) == Scope::Global ? 0 : 1;
    return endsWithTensor(launch, extent, copy.getBox(tensor), entry.second);
  });
}

/// Boxes of grown tiles cover all rows.
void Batcher::growBoxes(AccessInterface op, int64_t rows) {
  OpBuilder builder(op);
  Value zero = builder.create<arith::ConstantIndexOp>(op.getLoc(), 0);
  Value all = builder.create<arith::ConstantIndexOp>(op.getLoc(), rows);
  SmallVector<Value> offsets, sizes;
  for (unsigned index = 0; index < op.getNumBoxes(); ++index) {
    Box box = op.getBox(index);
    if (tiles.contains(box.buffer)) {
      offsets.push_back(zero);
      sizes.push_back(all);
    }
    llvm::append_range(offsets, box.offsets);
    llvm::append_range(sizes, box.sizes);
    if (scopeOf(box.buffer) == Scope::Global && moving.count(op))
      sizes[sizes.size() - box.sizes.size() + moving.lookup(op)] = all;
  }
  setBoxes(op, offsets, sizes);
}

void Batcher::apply(int64_t rows) {
  OpBuilder builder(launch);
  launch.getBody().walk([&](AccessInterface op) {
    auto grows = [&](unsigned index) { return tiles.contains(op.getBox(index).buffer); };
    bool isBatched = grows(0) || moving.count(op);
    if (auto elementwise = dyn_cast<ElementwiseOp>(op.getOperation()); elementwise && isBatched) {
      SmallVector<Attribute> maps;
      for (unsigned index = 0; index < op.getNumBoxes(); ++index) {
        SmallVector<int64_t> map;
        if (grows(index))
          map.push_back(0);
        for (int64_t dim : elementwise.getMap(index))
          map.push_back(dim < 0 ? dim : dim + 1);
        maps.push_back(builder.getDenseI64ArrayAttr(map));
      }
      elementwise.setMapsAttr(builder.getArrayAttr(maps));
    } else if (auto reduce = dyn_cast<ReduceOp>(op.getOperation()); reduce && isBatched) {
      reduce.setDims(llvm::map_to_vector(reduce.getDims(), [](int64_t dim) { return dim + 1; }));
    } else if (auto scan = dyn_cast<ScanOp>(op.getOperation()); scan && isBatched) {
      scan.setDim(scan.getDim() + 1);
    } else if (auto iota = dyn_cast<IotaOp>(op.getOperation()); iota && isBatched) {
      builder.setInsertionPoint(iota);
      SmallVector<Value> steps{builder.create<arith::ConstantIndexOp>(iota.getLoc(), 0)};
      llvm::append_range(steps, iota.getSteps());
      iota.getStepsMutable().assign(steps);
    }
    if (isBatched)
      growBoxes(op, rows);
  });
  for (Value tile : tiles) {
    auto type = cast<MemRefType>(tile.getType());
    SmallVector<int64_t> shape{rows};
    llvm::append_range(shape, type.getShape());
    tile.setType(MemRefType::get(shape, type.getElementType(), AffineMap(), type.getMemorySpace()));
  }
  mergeBlocks(launch, extent, rows);
}

struct TileBatchBlocksPass : passes::impl::TileBatchBlocksBase<TileBatchBlocksPass> {
  using Base::Base;

  void runOnOperation() override {
    std::optional<machine::Machine> loaded = chipFor(getOperation(), chip);
    if (!loaded)
      return signalPassFailure();
    getOperation().walk([&](LaunchOp launch) {
      if (isByHand(launch) || !writesInOnePlace(launch))
        return;
      for (unsigned round = 0; round < kMaxRounds; ++round)
        if (!merge(launch, *loaded))
          return;
    });
  }

private:
  /// How many neighbours are best in one block; `growth` gives it their rows.
  template <typename Growth>
  static std::pair<int64_t, double> bestCount(LaunchOp launch, unsigned extent,
                                              const machine::Machine &chip, Growth &growth) {
    return Cost(
               launch, extent, growth.endsWithTensors(), chip,
               [&](Value tile) { return growth.grows(tile); },
               [&](CopyOp copy) { return growth.dimOf(copy); })
        .best();
  }

  /// Merges blocks along the extent of the grid that gains most. False when none gains enough.
  static bool merge(LaunchOp launch, const machine::Machine &chip) {
    const bool hasProducts =
        launch.walk([](GemmOp) { return WalkResult::interrupt(); }).wasInterrupted();
    std::function<void()> apply;
    double least = std::numeric_limits<double>::infinity();
    for (unsigned extent = 0; extent < launch.getGrid().size(); ++extent) {
      auto offer = [&](auto growth, StringRef what) {
        if (!growth.match())
          return false;
        auto [count, time] = bestCount(launch, extent, chip, growth);
        if (count > 1 && time < least) {
          least = time;
          apply = [=, count = count]() mutable {
            remark(launch, kPass, "applied")
                << "one block does the rows of " << count << what << ": each instruction does more";
            growth.apply(count);
          };
        }
        return true;
      };
      // Blocks of one row, or of a few.
      if (!offer(Batcher(launch, extent), "") && !hasProducts)
        offer(RowGrowth(launch, extent), " neighbours");
    }
    if (!apply)
      return false;
    apply();
    return true;
  }
};

} // namespace
