// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-halve-sums: sums of which L0C holds one become two halves, so that the cube works on one
// while the other leaves.

#include "tilewright/passes/Chip.h"
#include "tilewright/passes/CubeCost.h"
#include "tilewright/passes/TileUtils.h"

#include "llvm/ADT/TypeSwitch.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEHALVESUMS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-halve-sums";
constexpr double kWorthwhile = 0.97;   ///< of the time; less gain is not worth a second product
constexpr int64_t kUnknownExtent = 16; ///< of a box with run-time sizes

double sizeOf(Value size) { return static_cast<double>(constantOf(size).value_or(kUnknownExtent)); }

/// An accumulator whose whole is copied out at one place, and the rows (or columns) of its first
/// half.
class Sum {
public:
  Sum(AllocOp alloc, bool columns, const machine::Machine &chip)
      : alloc(alloc), type(cast<MemRefType>(alloc.getType())), dim(columns), chip(chip) {}

  bool match();
  /// Cycles of the cube core for each time that the sum leaves: now, and with halves.
  std::pair<double, double> times();
  void halve();

private:
  double turnsOf(Operation *op) const;
  /// The operand that has the rows or columns of the sum, and its dimension of them.
  unsigned operand() const { return 1 + dim; }
  unsigned dimOf(GemmOp gemm) const {
    bool transposed = dim ? gemm.getTransposeB() : gemm.getTransposeA();
    return dim == unsigned(transposed) ? 0 : 1;
  }

  AllocOp alloc;
  MemRefType type;
  unsigned dim; ///< 0: rows, 1: columns
  const machine::Machine &chip;
  int64_t extent = 0, first = 0; ///< all rows or columns, and those of the first half
  SmallVector<GemmOp> gemms;
  CopyOp out;
  unsigned outDim = 0; ///< dimension of the target that they follow
};

bool Sum::match() {
  if (scopeOf(alloc) != Scope::L0C || type.getRank() != 2)
    return false;
  int64_t bytes = bytesOf(alloc);
  extent = type.getDimSize(dim);
  if (2 * bytes <= chip.l0cBytes || bytes > chip.l0cBytes)
    return false;
  bool fits = true;
  forEachAccess(alloc, [&](AccessInterface op, unsigned box) {
    auto gemm = dyn_cast<GemmOp>(op.getOperation());
    auto copy = dyn_cast<CopyOp>(op.getOperation());
    fits &= coversBuffer(op.getBox(box));
    if (gemm && box == 0)
      gemms.push_back(gemm);
    else if (copy && box == 1 && !out)
      out = copy;
    else
      fits = false;
  });
  if (!fits || !out || gemms.empty())
    return false;
  int64_t fractal = chip.fractalRows; // the second half begins with one, in the operand too
  for (GemmOp gemm : gemms) {
    Box box = gemm.getBox(operand());
    int64_t width = cast<MemRefType>(box.buffer.getType()).getElementTypeBitWidth() / 8;
    if (dimOf(gemm) == 1 && width > 0)
      fractal = std::max<int64_t>(fractal, chip.fractalBytes / width);
    fits &= box.offsets.size() == 2 && constantOf(box.sizes[dimOf(gemm)]) == extent &&
            gemm->getBlock() == out->getBlock();
  }
  first = llvm::divideCeil(extent / 2, fractal) * fractal;
  auto map = matchDims(out.getBox(1), out.getBox(0));
  if (!fits || first <= 0 || first >= extent || failed(map) || (*map)[dim] < 0)
    return false;
  outDim = (*map)[dim];
  return constantOf(out.getBox(0).sizes[outDim]) == extent;
}

/// How often `op` runs for each time that the sum is copied out.
double Sum::turnsOf(Operation *op) const {
  double turns = 1;
  for (Operation *at = op->getParentOp(); at && at != out->getParentOp(); at = at->getParentOp())
    if (auto loop = dyn_cast<scf::ForOp>(at))
      turns *= expectedTrips(loop);
  return turns;
}

std::pair<double, double> Sum::times() {
  double product = 0, halves = 0, last = 0, others = 0, feed = 0, feedOfHalves = 0, load = 0;
  out->getBlock()->walk([&](Operation *op) {
    if (auto gemm = dyn_cast<GemmOp>(op)) {
      Box sum = gemm.getBox(0), a = gemm.getBox(1);
      int64_t bytes = cast<MemRefType>(a.buffer.getType()).getElementTypeBitWidth() / 8;
      double m = sizeOf(sum.sizes[sum.sizes.size() - 2]), n = sizeOf(sum.sizes.back());
      double k = sizeOf(a.sizes[a.sizes.size() - (gemm.getTransposeA() ? 2 : 1)]);
      double turns = turnsOf(gemm);
      ProductCycles whole = productCycles(m, n, k, bytes, chip);
      feed += turns * whole.feed;
      if (sum.buffer != alloc) {
        others += turns * whole.cube;
        feedOfHalves += turns * whole.feed;
        return;
      }
      product += turns * whole.cube;
      for (int64_t part : {first, extent - first}) {
        double size = static_cast<double>(part);
        ProductCycles half = productCycles(dim ? m : size, dim ? size : n, k, bytes, chip);
        halves += turns * half.cube;
        feedOfHalves += turns * half.feed;
        last = half.cube;
      }
    } else if (auto copy = dyn_cast<CopyOp>(op)) {
      Box src = copy.getBox(1);
      if (scopeOf(copy.getBox(0).buffer) != Scope::L1 || scopeOf(src.buffer) != Scope::Global)
        return;
      double count = 1;
      for (Value size : src.sizes.drop_back())
        count *= sizeOf(size);
      auto row = static_cast<int64_t>(sizeOf(src.sizes.back()));
      int64_t width = cast<MemRefType>(src.buffer.getType()).getElementTypeBitWidth() / 8;
      load += turnsOf(copy) * count * rowCycles(row * width, rowStep(src, row, chip), chip);
    }
  });
  double leave = chip.fixStart + static_cast<double>(bytesOf(alloc)) / chip.fixGmRate;
  double now = std::max({product + others + std::max(0.0, leave - others), feed, load});
  double then =
      std::max({halves + others + std::max(0.0, leave / 2 - last - others), feedOfHalves, load});
  return {now, then};
}

void Sum::halve() {
  StringRef name = alloc.getName();
  SmallVector<Value> parts;
  const std::pair<int64_t, int64_t> ranges[] = {{0, first}, {first, extent - first}};
  for (auto [number, range] : llvm::enumerate(ranges)) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = range.second;
    parts.push_back(createAlloc(alloc, alloc.getLoc(), name + "." + Twine(number + 1), shape,
                                type.getElementType(), Scope::L0C));
  }
  // `op` on each part: its boxes, that of the sum replaced, and as much of another taken.
  auto rewrite = [&](AccessInterface op, unsigned sumBox, unsigned otherBox, unsigned otherDim) {
    for (auto [part, range] : llvm::zip(parts, ranges)) {
      OpBuilder builder(op);
      Location loc = op.getLoc();
      auto index = [&](int64_t value) -> Value {
        return builder.create<arith::ConstantIndexOp>(loc, value);
      };
      SmallVector<Value> buffers, offsets, sizes;
      for (unsigned number = 0; number < op.getNumBoxes(); ++number) {
        Box box = op.getBox(number);
        SmallVector<Value> from(box.offsets), extents(box.sizes);
        if (number == sumBox)
          extents[dim] = index(range.second);
        if (number == otherBox) {
          from[otherDim] =
              builder.createOrFold<arith::AddIOp>(loc, from[otherDim], index(range.first));
          extents[otherDim] = index(range.second);
        }
        buffers.push_back(number == sumBox ? part : box.buffer);
        llvm::append_range(offsets, from);
        llvm::append_range(sizes, extents);
      }
      Operation *clone = builder.clone(*op);
      llvm::TypeSwitch<Operation *>(clone).Case<GemmOp, CopyOp>([&](auto statement) {
        statement.getBuffersMutable().assign(buffers);
        statement.getOffsetsMutable().assign(offsets);
        statement.getSizesMutable().assign(sizes);
      });
    }
    op->erase();
  };
  remark(alloc, kPass, "applied")
      << "'" << name << "' is summed in halves of " << first << " and " << extent - first
      << (dim ? " columns" : " rows")
      << ": the cube works on one while the other leaves L0C, which holds one sum";
  for (GemmOp gemm : gemms)
    rewrite(gemm, 0, operand(), dimOf(gemm));
  rewrite(out, 1, 0, outDim);
  alloc.erase();
}

struct TileHalveSumsPass : passes::impl::TileHalveSumsBase<TileHalveSumsPass> {
  using Base::Base;

  void runOnOperation() override {
    std::optional<machine::Machine> loaded = chipFor(getOperation(), chip);
    if (!loaded)
      return signalPassFailure();
    getOperation().walk([&](LaunchOp launch) {
      if (isByHand(launch))
        return;
      IRRewriter rewriter(&getContext());
      SmallVector<scf::ForOp> loops;
      launch.walk([&](scf::ForOp loop) { loops.push_back(loop); });
      for (scf::ForOp loop : loops)
        if (tripsOf(loop) == 1)
          (void)loop.promoteIfSingleIteration(rewriter);
      for (AllocOp alloc : llvm::to_vector(launch.getOps<AllocOp>()))
        halve(alloc, *loaded);
    });
  }

private:
  /// By rows or by columns, whichever is faster, if it is worth it.
  static void halve(AllocOp alloc, const machine::Machine &chip) {
    std::optional<bool> best;
    double least = 0;
    for (bool columns : {false, true}) {
      Sum sum(alloc, columns, chip);
      if (!sum.match())
        continue;
      auto [now, then] = sum.times();
      if (then < kWorthwhile * (best ? least : now)) {
        best = columns;
        least = then;
      }
    }
    if (!best)
      return;
    Sum sum(alloc, *best, chip);
    sum.match();
    sum.halve();
  }
};

} // namespace
