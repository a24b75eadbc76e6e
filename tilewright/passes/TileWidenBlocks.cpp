// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-widen-blocks: let one block of cube and vector work do the rows of several, so that what
// they share is loaded once.

#include "tilewright/passes/Chip.h"
#include "tilewright/passes/CubeCost.h"
#include "tilewright/passes/RowGrowth.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEWIDENBLOCKS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-widen-blocks";
constexpr int64_t kMost[] = {128, 256}; ///< rows and columns of a sum; more gain little
/// A block takes over so many at a time: powers of two first, since whole tiles are cut best.
constexpr int64_t kCounts[] = {2, 4, 8, 3, 5, 6, 7};
constexpr unsigned kMaxRounds = 4;
constexpr double kWorthwhile = 0.95; ///< of the time; less gain is not worth the memory

double sizeOf(Value size) { return static_cast<double>(constantOf(size).value_or(1)); }

int64_t elementBytes(Value buffer) {
  return llvm::divideCeil(cast<MemRefType>(buffer.getType()).getElementTypeBitWidth(), 8);
}

/// What a launch of cube and vector work costs when its blocks do more rows.
class Cost {
public:
  Cost(LaunchOp launch, unsigned extent, const RowGrowth &growth, const machine::Machine &chip)
      : launch(launch), extent(extent), growth(growth), endsWithTensors(growth.endsWithTensors()),
        chip(chip) {}

  /// Estimated cycles of the launch when a block does the work of `count`; none where the tiles do
  /// not fit or blocks cannot be merged.
  std::optional<double> time(int64_t count);

private:
  bool fits(int64_t count);
  void add(Block &block, double turns, int64_t count);
  void addCopy(CopyOp copy, double turns, int64_t count);

  LaunchOp launch;
  unsigned extent;
  const RowGrowth &growth;
  bool endsWithTensors;
  const machine::Machine &chip;
  double load = 0, cube = 0, leave = 0, vector = 0; ///< cycles of a block on each pipe
};

/// One slot of each tile: later stages cut the vector work into slices where two do not fit.
bool Cost::fits(int64_t count) {
  int64_t l1 = 0, l0c = 0, ub = 0;
  for (AllocOp alloc : launch.getOps<AllocOp>()) {
    int64_t bytes = bytesOf(alloc) * (growth.grows(alloc) ? count : 1);
    Scope scope = scopeOf(alloc.getResult());
    (scope == Scope::L1 ? l1 : scope == Scope::L0C ? l0c : ub) += bytes;
  }
  bool isNarrow = true;
  launch.walk([&](GemmOp gemm) {
    Value sum = gemm.getBox(0).buffer;
    isNarrow &= !growth.grows(sum) || growth.rowsOf(sum) * count <= kMost[growth.dimOf(sum) != 0];
  });
  return isNarrow && 2 * l1 <= chip.l1Bytes && l0c <= chip.l0cBytes &&
         ub <= kVectorCores * chip.ubBytes;
}

void Cost::addCopy(CopyOp copy, double turns, int64_t count) {
  Box dst = copy.getBox(0), src = copy.getBox(1);
  double times = turns * (growth.grows(copy) ? static_cast<double>(count) : 1);
  if (scopeOf(src.buffer) == Scope::Global && scopeOf(dst.buffer) == Scope::L1) {
    auto row = static_cast<int64_t>(sizeOf(src.sizes.back()));
    double rows = 1;
    for (Value size : src.sizes.drop_back())
      rows *= sizeOf(size);
    load += turns * chip.mte2Start +
            times * rows * rowCycles(row * elementBytes(src.buffer), rowStep(src, row, chip), chip);
  } else if (scopeOf(src.buffer) == Scope::L0C) {
    double bytes = static_cast<double>(bytesOf(src.buffer));
    leave += turns * (chip.fixStart + (growth.grows(src.buffer) ? static_cast<double>(count) : 1) *
                                          bytes / chip.fixGmRate);
  }
}

void Cost::add(Block &block, double turns, int64_t count) {
  for (Operation &op : block) {
    for (Region &region : op.getRegions())
      for (Block &inner : region) {
        auto loop = dyn_cast<scf::ForOp>(op);
        add(inner, turns * (loop ? expectedTrips(loop) : 1), count);
      }
    auto access = dyn_cast<AccessInterface>(op);
    if (!access)
      continue;
    if (auto copy = dyn_cast<CopyOp>(op))
      addCopy(copy, turns, count);
    if (auto gemm = dyn_cast<GemmOp>(op)) {
      Box sum = gemm.getBox(0), a = gemm.getBox(1);
      double m = sizeOf(sum.sizes[sum.sizes.size() - 2]), n = sizeOf(sum.sizes.back());
      double k = sizeOf(a.sizes[a.sizes.size() - (gemm.getTransposeA() ? 2 : 1)]);
      if (growth.grows(sum.buffer))
        (growth.rowsOf(sum.buffer) == static_cast<int64_t>(m) ? m : n) *=
            static_cast<double>(count);
      ProductCycles product = productCycles(m, n, k, elementBytes(a.buffer), chip);
      cube += turns * std::max(product.cube, product.feed);
      continue;
    }
    double bytes = 0;
    for (unsigned index = 0; index < access.getNumBoxes(); ++index)
      if (Value buffer = access.getBox(index).buffer; scopeOf(buffer) == Scope::UB)
        bytes = std::max(bytes,
                         static_cast<double>(bytesOf(buffer) * (growth.grows(buffer) ? count : 1)));
    if (bytes > 0)
      vector += turns *
                (chip.vecFixed + chip.vecBarrierTail + bytes / kVectorCores / chip.vecRepeatBytes);
  }
}

std::optional<double> Cost::time(int64_t count) {
  std::optional<int64_t> blocks = blocksWhenMerged(launch, extent, count, endsWithTensors);
  if (!blocks)
    return std::nullopt;
  if (count > 1 && !fits(count))
    return std::nullopt;
  load = cube = leave = vector = 0;
  add(launch.getBody().front(), 1, count);
  // A core's first turn waits for all of its own work.
  const double steady = std::max({load, cube, leave, vector});
  return static_cast<double>(llvm::divideCeil(*blocks, int64_t(chip.aicCount))) * steady +
         (load + cube + leave + vector - steady) / mostTrips(launch.getBody());
}

/// Cube and vector work in one block.
bool isMixed(LaunchOp launch) {
  bool hasProduct = false, hasOther = false;
  launch.walk([&](Operation *op) {
    hasProduct |= isa<GemmOp>(op);
    hasOther |= isa<ElementwiseOp, ReduceOp>(op);
  });
  return hasProduct && hasOther;
}

struct TileWidenBlocksPass : passes::impl::TileWidenBlocksBase<TileWidenBlocksPass> {
  using Base::Base;

  void runOnOperation() override {
    std::optional<machine::Machine> loaded = chipFor(getOperation(), chip);
    if (!loaded)
      return signalPassFailure();
    getOperation().walk([&](LaunchOp launch) {
      if (isByHand(launch) || !isMixed(launch) || !writesInOnePlace(launch))
        return;
      for (unsigned round = 0; round < kMaxRounds; ++round)
        if (!widen(launch, *loaded))
          return;
    });
  }

private:
  /// Along the extent that gains most. False when none gains enough.
  static bool widen(LaunchOp launch, const machine::Machine &chip) {
    unsigned bestExtent = 0;
    int64_t best = 1;
    std::optional<double> least;
    for (unsigned extent = 0; extent < launch.getGrid().size(); ++extent) {
      RowGrowth growth(launch, extent);
      if (!growth.match())
        continue;
      Cost cost(launch, extent, growth, chip);
      if (!least)
        least = cost.time(1);
      if (!least)
        continue;
      for (int64_t count : kCounts)
        if (auto found = cost.time(count); found && *found < kWorthwhile * *least)
          bestExtent = extent, best = count, least = found;
    }
    if (best == 1)
      return false;
    RowGrowth growth(launch, bestExtent);
    if (!growth.match())
      return false;
    remark(launch, kPass, "applied")
        << "one block does the work of " << best << " neighbours: what they share is loaded once";
    growth.apply(best);
    return true;
  }
};

} // namespace
