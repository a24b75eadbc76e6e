// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-batch-blocks: let one block do the rows of several.

#include "tilewright/passes/Chip.h"
#include "tilewright/passes/RowGrowth.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

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
constexpr double kWorthwhile = 0.95; ///< of the time; less gain is not worth the memory

/// What a launch of vector work costs when its blocks do more rows.
class Cost {
public:
  /// `grows`: tiles that get larger with the rows.
  Cost(LaunchOp launch, unsigned extent, const machine::Machine &chip,
       llvm::function_ref<bool(Value)> grows)
      : launch(launch), extent(extent), chip(chip), grows(grows) {}

  /// Estimated cycles of the launch with `rows` times the rows a block; none where tiles do not fit
  /// twice or blocks are left over.
  std::optional<double> time(int64_t rows);
  /// The number of blocks in one that is worth most.
  int64_t best();

private:
  void addCost(Block &block, double turns, int64_t rows);

  LaunchOp launch;
  unsigned extent;
  const machine::Machine &chip;
  llvm::function_ref<bool(Value)> grows;
  double vector = 0, load = 0, store = 0; ///< cycles of a block on each pipe
};

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
    if (copy && scopeOf(copy.getBox(1).buffer) == Scope::Global)
      load += turns * (chip.mte2Start + bytes / chip.mte2RateAiv);
    else if (copy && scopeOf(copy.getBox(0).buffer) == Scope::Global)
      store += turns * (chip.mte3Start + bytes / chip.mte3RateAiv);
    else
      vector += turns * (chip.vecFixed + chip.vecBarrierTail + bytes / chip.vecRepeatBytes);
  }
}

std::optional<double> Cost::time(int64_t rows) {
  std::optional<int64_t> blocks = blocksWhenMerged(launch, extent, rows);
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
  return static_cast<double>(llvm::divideCeil(*blocks, int64_t(chip.aivCount))) *
         std::max({vector, load, store});
}

int64_t Cost::best() {
  int64_t best = 1;
  std::optional<double> least = time(1);
  for (int64_t rows = 2; least && rows <= kMaxRows; rows *= 2)
    if (auto found = time(rows); found && *found < kWorthwhile * *least)
      best = rows, least = found;
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
  remark(launch, kPass, "applied")
      << "one block does the rows of " << rows << ": each instruction does more";
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
      for (unsigned extent = 0; extent < launch.getGrid().size(); ++extent)
        if (batch(launch, extent, *loaded) || grow(launch, extent, *loaded))
          return;
    });
  }

private:
  /// Blocks of one row.
  static bool batch(LaunchOp launch, unsigned extent, const machine::Machine &chip) {
    Batcher batcher(launch, extent);
    if (!batcher.match())
      return false;
    int64_t best =
        Cost(launch, extent, chip, [&](Value tile) { return batcher.grows(tile); }).best();
    if (best > 1)
      batcher.apply(best);
    return best > 1;
  }

  /// Blocks of a few rows.
  static bool grow(LaunchOp launch, unsigned extent, const machine::Machine &chip) {
    RowGrowth growth(launch, extent);
    if (launch.walk([](GemmOp) { return WalkResult::interrupt(); }).wasInterrupted() ||
        !growth.match())
      return false;
    int64_t best =
        Cost(launch, extent, chip, [&](Value tile) { return growth.grows(tile); }).best();
    if (best <= 1)
      return false;
    remark(launch, kPass, "applied")
        << "one block does the rows of " << best << " neighbours: each instruction does more";
    growth.apply(best);
    return true;
  }
};

} // namespace
