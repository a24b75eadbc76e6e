// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-fit-blocks: give products tiles of such extents that all cores are busy to the end.

#include "tilewright/passes/BlockWidening.h"
#include "tilewright/passes/Chip.h"
#include "tilewright/passes/CubeCost.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEFITBLOCKS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-fit-blocks";
constexpr int64_t kLongestRow = 1024; ///< bytes along K, as tile-fuse-k makes them
constexpr double kWorthwhile = 0.97;  ///< of the time; less gain is not worth the change

/// What one block takes along each extent of the grid.
using Steps = SmallVector<int64_t>;

/// A launch of loads, products and stores, whose blocks may be larger or smaller.
class Fitter {
public:
  Fitter(LaunchOp launch, const machine::Machine &chip) : launch(launch), chip(chip) {}

  /// Finds the extents of the grid along which blocks can have another size. False for none.
  bool match();
  /// The extents with the least time, if that is worth it.
  std::optional<Steps> choose();
  void apply(const Steps &steps);

private:
  struct Extent {
    std::optional<BlockWidening> widening; ///< where blocks can have another size
    BlockWidening::Share share;            ///< with `widening`
    int64_t blocks = 0;
  };
  struct Cost {
    double load = 0, product = 0, store = 0; ///< cycles of one block
    double l1 = 0, l0c = 0;                  ///< bytes of the tiles, one slot each
  };

  SmallVector<double> sizesOf(Operation *op, unsigned box, const Steps &steps) const;
  double bytesWith(AllocOp alloc, const Steps &steps) const;
  double loadWith(CopyOp copy, const Steps &steps, double l1) const;
  void addCost(Block &block, double turns, const Steps &steps, Cost &cost) const;
  std::optional<Cost> memoryFor(const Steps &steps) const;
  std::optional<double> time(const Steps &steps) const;
  void search(Steps &steps, unsigned extent, double &least, Steps &best) const;

  mutable LaunchOp launch; // ops are handles
  const machine::Machine &chip;
  SmallVector<Extent> extents;
  double tensorBytes = 0; ///< of all that the launch loads, which comes from the HBM once at least
};

bool Fitter::match() {
  bool found = false;
  SmallPtrSet<Value, 4> loaded;
  launch.getBody().walk([&](CopyOp copy) {
    Value tensor = copy.getBox(1).buffer;
    auto type = cast<MemRefType>(tensor.getType());
    if (scopeOf(tensor) == Scope::Global && type.hasStaticShape() && loaded.insert(tensor).second)
      tensorBytes += static_cast<double>(bytesOf(tensor));
  });
  for (auto [index, value] : llvm::enumerate(launch.getGrid())) {
    std::optional<int64_t> blocks = constantOf(value);
    if (!blocks)
      return false;
    Extent &extent = extents.emplace_back();
    extent.blocks = *blocks;
    BlockWidening widening(launch, index);
    if (!widening.match())
      continue;
    std::optional<BlockWidening::Share> share = widening.share();
    if (!share)
      continue;
    extent.share = *share;
    extent.widening = std::move(widening);
    found = true;
  }
  return found;
}

/// Sizes of a box when blocks take as much as `steps` says.
SmallVector<double> Fitter::sizesOf(Operation *op, unsigned box, const Steps &steps) const {
  SmallVector<double> sizes;
  for (Value size : cast<AccessInterface>(op).getBox(box).sizes)
    sizes.push_back(static_cast<double>(constantOf(size).value_or(chip.fractalRows)));
  for (auto [extent, step] : llvm::zip(extents, steps))
    if (extent.widening)
      if (int64_t dim = extent.widening->dimOf(op, box); dim >= 0)
        sizes[dim] = static_cast<double>(step);
  return sizes;
}

double Fitter::bytesWith(AllocOp alloc, const Steps &steps) const {
  double bytes = static_cast<double>(bytesOf(alloc));
  for (auto [extent, step] : llvm::zip(extents, steps))
    if (extent.widening && extent.widening->grows(alloc.getResult()))
      bytes *= static_cast<double>(step) / static_cast<double>(extent.share.step);
  return bytes;
}

/// Cycles of a load. Rows along K get as long as two slots in L1 allow and is cheapest, as
/// tile-fuse-k will make them; `l1` is what all tiles of a turn take.
double Fitter::loadWith(CopyOp copy, const Steps &steps, double l1) const {
  Box src = copy.getBox(1);
  SmallVector<double> sizes = sizesOf(copy, 1, steps);
  int64_t width =
      std::max<int64_t>(cast<MemRefType>(src.buffer.getType()).getElementTypeBitWidth() / 8, 1);
  double elements = 1;
  for (double size : sizes)
    elements *= size;
  double bytes = elements * static_cast<double>(width);
  auto row = static_cast<int64_t>(sizes.back()) * width;
  if (!movesInLoop(src.offsets.back()))
    return bytes / static_cast<double>(row) * rowCycles(row, rowStep(src, row / width, chip), chip);
  auto room = static_cast<int64_t>(static_cast<double>(chip.l1Bytes) / (2 * std::max(l1, 1.0)));
  double perByte = 0;
  for (int64_t turns = 1; turns <= std::max<int64_t>(room, 1); ++turns) {
    int64_t length = row * turns;
    double each = rowCycles(length, rowStep(src, length / width, chip), chip);
    each /= static_cast<double>(length);
    perByte = turns == 1 ? each : std::min(perByte, each);
    if (length >= kLongestRow)
      break;
  }
  return bytes * perByte;
}

void Fitter::addCost(Block &block, double turns, const Steps &steps, Cost &cost) const {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      addCost(*loop.getBody(), turns * expectedTrips(loop), steps, cost);
    } else if (auto copy = dyn_cast<CopyOp>(op)) {
      if (scopeOf(copy.getBox(1).buffer) == Scope::Global) {
        cost.load += turns * (chip.mte2Start + loadWith(copy, steps, cost.l1));
      } else if (scopeOf(copy.getBox(0).buffer) == Scope::Global) {
        double bytes = cast<MemRefType>(copy.getBox(0).buffer.getType()).getElementTypeBitWidth();
        bytes /= 8;
        for (double size : sizesOf(copy, 0, steps))
          bytes *= size;
        cost.store += turns * (chip.fixStart + bytes / chip.fixGmRate);
      }
    } else if (auto gemm = dyn_cast<GemmOp>(op)) {
      unsigned bits = cast<MemRefType>(gemm.getBox(1).buffer.getType()).getElementTypeBitWidth();
      SmallVector<double> sum = sizesOf(gemm, 0, steps), a = sizesOf(gemm, 1, steps);
      double depth = a[a.size() - (gemm.getTransposeA() ? 2 : 1)];
      auto [cube, feed] = productCycles(sum[sum.size() - 2], sum.back(), depth, bits / 8, chip);
      cost.product += turns * std::max(cube, feed);
    }
  }
}

/// Bytes of the tiles; none where they do not fit.
std::optional<Fitter::Cost> Fitter::memoryFor(const Steps &steps) const {
  Cost cost;
  launch.walk([&](AllocOp alloc) {
    if (scopeOf(alloc) == Scope::L1)
      cost.l1 += bytesWith(alloc, steps);
    else if (scopeOf(alloc) == Scope::L0C)
      cost.l0c += bytesWith(alloc, steps);
  });
  if (2 * cost.l1 > static_cast<double>(chip.l1Bytes) ||
      cost.l0c > static_cast<double>(chip.l0cBytes))
    return std::nullopt;
  return cost;
}

/// Cycles of the launch; none where its tiles do not fit.
std::optional<double> Fitter::time(const Steps &steps) const {
  std::optional<Cost> tiles = memoryFor(steps);
  if (!tiles)
    return std::nullopt;
  Cost cost = *tiles;
  addCost(launch.getBody().front(), 1, steps, cost);
  double block = std::max(cost.load, cost.product), blocks = 1;
  // With one slot in L0C the next block's products wait for the store.
  bool overlaps = 2 * cost.l0c <= static_cast<double>(chip.l0cBytes);
  block = overlaps ? std::max(block, cost.store) : block + cost.store;
  for (auto [extent, step] : llvm::zip(extents, steps))
    blocks *= static_cast<double>(extent.widening ? llvm::divideCeil(extent.share.total, step)
                                                  : extent.blocks);
  return std::max(std::ceil(blocks / chip.aicCount) * block, tensorBytes / chip.hbmBytesPerCycle);
}

/// Tries all steps of the extents from number `extent` on.
void Fitter::search(Steps &steps, unsigned extent, double &least, Steps &best) const {
  if (extent == extents.size()) {
    std::optional<double> needed = time(steps);
    if (!needed || *needed >= least)
      return;
    least = *needed;
    best = steps;
    return;
  }
  if (!extents[extent].widening)
    return search(steps, extent + 1, least, best);
  int64_t before = steps[extent];
  int64_t total = llvm::alignTo(extents[extent].share.total, chip.fractalRows);
  // Of three extents that can move, the later ones go in wider steps: the search is their product.
  int64_t moving = llvm::count_if(extents, [](const Extent &e) { return e.widening.has_value(); });
  int64_t stride = chip.fractalRows * (moving > 2 && extent > 0 ? 4 : 1);
  for (int64_t step = stride; step < total + stride; step += stride) {
    steps[extent] = std::min(step, total);
    // Larger steps take more memory, whatever the extents behind this one are.
    Steps smallest(steps);
    for (unsigned later = extent + 1; later < extents.size(); ++later)
      if (extents[later].widening)
        smallest[later] = chip.fractalRows;
    if (!memoryFor(smallest))
      break;
    search(steps, extent + 1, least, best);
  }
  steps[extent] = before;
}

std::optional<Steps> Fitter::choose() {
  Steps steps;
  for (const Extent &extent : extents)
    steps.push_back(extent.widening ? extent.share.step : 1);
  std::optional<double> now = time(steps);
  double least = now ? *now * kWorthwhile : std::numeric_limits<double>::infinity();
  Steps best;
  search(steps, 0, least, best);
  if (best.empty())
    return std::nullopt;
  return best;
}

void Fitter::apply(const Steps &steps) {
  std::string before, after;
  int64_t blocks = 1;
  for (auto [extent, step] : llvm::zip(extents, steps)) {
    blocks *= extent.widening ? llvm::divideCeil(extent.share.total, step) : extent.blocks;
    if (!extent.widening)
      continue;
    before += (before.empty() ? "" : " x ") + std::to_string(extent.share.step);
    after += (after.empty() ? "" : " x ") + std::to_string(step);
    if (step != extent.share.step)
      extent.widening->resize(step);
  }
  remark(launch, kPass, "applied")
      << "a block takes " << after << " along the grid instead of " << before << ": " << blocks
      << " blocks for " << chip.aicCount << " cores";
}

struct TileFitBlocksPass : passes::impl::TileFitBlocksBase<TileFitBlocksPass> {
  using Base::Base;

  void runOnOperation() override {
    std::optional<machine::Machine> loaded = chipFor(getOperation(), chip);
    if (!loaded)
      return signalPassFailure();
    getOperation().walk([&](LaunchOp launch) {
      if (!BlockWidening::takes(launch))
        return;
      Fitter fitter(launch, *loaded);
      if (!fitter.match())
        return;
      if (std::optional<Steps> steps = fitter.choose())
        fitter.apply(*steps);
    });
  }
};

} // namespace
