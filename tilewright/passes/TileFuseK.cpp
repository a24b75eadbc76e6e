// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-fuse-k: let one turn of a reduction loop do the work of several.

#include "tilewright/passes/Chip.h"
#include "tilewright/passes/CubeCost.h"
#include "tilewright/passes/TileUtils.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEFUSEK
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-fuse-k";
constexpr int64_t kUnknownTrips = 64; ///< turns of a loop whose bounds are run-time values
constexpr int64_t kSlots = 2;         ///< what double buffering needs
constexpr int64_t kMaxFactor = 16;    ///< a turn never does the work of more
constexpr int64_t kMaxDepth = 4;      ///< a tile never lasts for more turns
constexpr int64_t kFractalBits = 256; ///< in a row of a fractal
constexpr double kWorthwhile = 0.99;  ///< of the time; less gain is not worth the memory

/// One dimension of one box that grows with the number of turns in one.
struct Growth {
  Operation *op;
  unsigned box, dim;
};

/// How much one turn does.
struct Widths {
  int64_t factor = 1; ///< turns of the old loop
  int64_t depth = 1;  ///< turns of the new loop for which a tile with rows along K lasts
};

/// A loop that does nothing but load slices of tiles along K and multiply them.
class KLoop {
public:
  explicit KLoop(scf::ForOp loop) : loop(loop) {}

  /// Checks the whole shape of the loop. What does not fit is left alone without a word: most loops
  /// are none of this kind.
  bool match();
  bool allows(Widths widths);
  Widths choose(const machine::Machine &chip);
  void fuse(Widths widths);

private:
  std::optional<int64_t> coefficient(Value value) {
    return factorIn(value, loop.getInductionVar(), loop.getRegion(), within);
  }
  void findGroups();
  std::optional<unsigned> movingDim(const Box &box);
  bool matchGemm(GemmOp gemm);
  bool matchCopy(CopyOp copy);
  bool matchOperand(GemmOp gemm, unsigned box, unsigned dim);
  bool startsAtFirstTurn(Value init);
  bool hasLongRows(CopyOp copy);
  double cycles(Widths widths, const machine::Machine &chip);
  int64_t memory(Widths widths);
  void deepen(scf::ForOp wide, const IRMapping &mapping, Widths widths);

  scf::ForOp loop;
  int64_t step = 0;
  SmallVector<CopyOp> copies;
  SmallVector<GemmOp> gemms;
  llvm::MapVector<Value, unsigned> tiles; ///< tile that a copy fills -> its K dimension
  SmallVector<Growth> growths;
  int64_t group = 0; ///< turns may be one within so many from a multiple of that on; 0: anywhere
  llvm::DenseMap<Value, int64_t> within; ///< factors of values that are affine within a group
};

/// The one dimension along which the box of a turn follows that of the turn before without a gap.
std::optional<unsigned> KLoop::movingDim(const Box &box) {
  std::optional<unsigned> moving;
  for (unsigned dim = 0; dim < box.offsets.size(); ++dim) {
    std::optional<int64_t> move = coefficient(box.offsets[dim]);
    if (!move || coefficient(box.sizes[dim]) != 0)
      return std::nullopt;
    if (*move == 0)
      continue;
    if (moving || constantOf(box.sizes[dim]) != *move * step)
      return std::nullopt;
    moving = dim;
  }
  return moving;
}

/// The tile of a copy is written whole, once a turn, and lives in this loop only.
bool KLoop::matchCopy(CopyOp copy) {
  Box dst = copy.getBox(0), src = copy.getBox(1);
  auto alloc = dst.buffer.getDefiningOp<AllocOp>();
  if (!alloc || scopeOf(dst.buffer) != Scope::L1 || scopeOf(src.buffer) != Scope::Global ||
      !coversBuffer(dst) || tiles.count(dst.buffer))
    return false;
  auto moving = movingDim(src);
  auto map = matchDims(src, dst);
  if (!moving || failed(map) || (*map)[*moving] < 0)
    return false;
  bool isLocal = true;
  forEachAccess(alloc, [&](AccessInterface op, unsigned box) {
    isLocal &= op->getBlock() == loop.getBody() && (op == copy || (isa<GemmOp>(op) && box > 0));
  });
  if (!isLocal)
    return false;
  unsigned dim = (*map)[*moving];
  tiles[dst.buffer] = dim;
  growths.push_back({copy, 0, dim});
  growths.push_back({copy, 1, *moving});
  copies.push_back(copy);
  return true;
}

/// An operand of a product is a tile of the loop, or moves along K within a tile from outside.
bool KLoop::matchOperand(GemmOp gemm, unsigned box, unsigned dim) {
  Box operand = gemm.getBox(box);
  auto found = tiles.find(operand.buffer);
  if (found != tiles.end() ? found->second != dim || !coversBuffer(operand)
                           : movingDim(operand) != dim)
    return false;
  growths.push_back({gemm, box, dim});
  return true;
}

/// True for the condition "this is the first turn".
bool KLoop::startsAtFirstTurn(Value init) {
  auto compare = init.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq ||
      compare.getLhs() != loop.getInductionVar())
    return false;
  auto first = constantOf(loop.getLowerBound());
  return compare.getRhs() == loop.getLowerBound() ||
         (first && constantOf(compare.getRhs()) == first);
}

bool KLoop::matchGemm(GemmOp gemm) {
  if (Value init = gemm.getInit(); init && constantOf(init) != 0 && !startsAtFirstTurn(init))
    return false;
  Box sum = gemm.getBox(0);
  if (sum.offsets.size() != 2 || gemm.getBox(1).offsets.size() != 2 ||
      gemm.getBox(2).offsets.size() != 2)
    return false;
  for (auto [offset, size] : llvm::zip(sum.offsets, sum.sizes))
    if (coefficient(offset) != 0 || coefficient(size) != 0)
      return false;
  if (!matchOperand(gemm, 1, gemm.getTransposeA() ? 0 : 1) ||
      !matchOperand(gemm, 2, gemm.getTransposeB() ? 1 : 0))
    return false;
  gemms.push_back(gemm);
  return true;
}

/// Quotients and remainders of the place along K: as when a convolution's K runs through the
/// channels of one tap after the other. They are affine from one multiple of the divisor to the
/// next.
void KLoop::findGroups() {
  if (constantOf(loop.getLowerBound()) != 0)
    return;
  for (Operation &op : *loop.getBody()) {
    if (!isa<arith::DivSIOp, arith::FloorDivSIOp, arith::RemSIOp>(op))
      continue;
    std::optional<int64_t> divisor = constantOf(op.getOperand(1)), factor;
    if (op.getOperand(0) == loop.getInductionVar())
      factor = 1;
    else if (auto place = op.getOperand(0).getDefiningOp<arith::MulIOp>();
             place && place.getLhs() == loop.getInductionVar())
      factor = constantOf(place.getRhs());
    if (!factor || !divisor || *factor < 1 || *divisor % (*factor * step) != 0)
      continue;
    within[op.getResult(0)] = isa<arith::RemSIOp>(op) ? *factor : 0;
    group = std::gcd(group, *divisor / (*factor * step));
  }
}

bool KLoop::match() {
  std::optional<int64_t> constant = constantOf(loop.getStep());
  if (!constant || *constant < 1 || loop.getNumResults() != 0)
    return false;
  step = *constant;
  findGroups();
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto copy = dyn_cast<CopyOp>(op); copy ? !matchCopy(copy) : false)
      return false;
    if (!isa<CopyOp, GemmOp>(op) && !isPure(&op))
      return false;
  }
  // Sums of two products each turn would be added in another order.
  llvm::DenseSet<Value> sums;
  for (GemmOp gemm : loop.getBody()->getOps<GemmOp>()) {
    if (!matchGemm(gemm) || !sums.insert(gemm.getBox(0).buffer).second)
      return false;
    // Every tile is loaded before it is read, in the same turn.
    for (CopyOp copy : copies)
      if (!copy->isBeforeInBlock(gemm) &&
          llvm::is_contained(gemm->getOperands(), copy.getBox(0).buffer))
        return false;
  }
  return !gemms.empty() && !copies.empty();
}

/// True where a wider slice has longer rows in global memory, not more of them.
bool KLoop::hasLongRows(CopyOp copy) {
  Box src = copy.getBox(1);
  return movingDim(src) == src.offsets.size() - 1;
}

/// Whether a group of turns holds whole wide ones, and whether the products of a tile that lasts
/// for several each begin at a fractal, which is 32 bytes wide: the cube cannot begin within one.
bool KLoop::allows(Widths widths) {
  if (group % (widths.factor * widths.depth) != 0)
    return false;
  return widths.depth == 1 || llvm::all_of(copies, [&](CopyOp copy) {
           Value tile = copy.getBox(0).buffer;
           auto type = cast<MemRefType>(tile.getType());
           int64_t columns = type.getDimSize(tiles.lookup(tile)) * widths.factor;
           return !hasLongRows(copy) || columns * type.getElementTypeBitWidth() % kFractalBits == 0;
         });
}

/// Time of the blocks of one core: what the first turn waits for, then whatever takes longest a
/// turn. Turns that are left over run one by one.
double KLoop::cycles(Widths widths, const machine::Machine &chip) {
  auto turn = [&](int64_t turns, int64_t depth) {
    double load = 0, product = 0;
    for (CopyOp copy : copies) {
      Box src = copy.getBox(1);
      auto type = cast<MemRefType>(src.buffer.getType());
      double width = type.getElementTypeBitWidth() / 8.0;
      double bytes = static_cast<double>(bytesOf(copy.getBox(0).buffer) * turns), times = 1;
      double row = constantOf(src.sizes.back()).value_or(1) * width;
      if (hasLongRows(copy)) {
        row *= turns * depth;
        times = 1.0 / depth;
      }
      auto length = static_cast<int64_t>(row);
      int64_t start = rowStep(src, static_cast<int64_t>(row / width), chip);
      load += chip.mte2Start * times + bytes / row * rowCycles(length, start, chip);
    }
    for (GemmOp gemm : gemms) {
      Box sum = gemm.getBox(0), a = gemm.getBox(1);
      auto type = cast<MemRefType>(a.buffer.getType());
      unsigned bits = type.getElementTypeBitWidth();
      double macs = chip.macs(bits / 8);
      double volume = turns;
      for (Value size : sum.sizes)
        volume *= constantOf(size).value_or(1);
      volume *= constantOf(a.sizes[gemm.getTransposeA() ? 0 : 1]).value_or(1);
      product += volume / macs + chip.mmadOverhead;
    }
    return std::pair(load, std::max(load, product));
  };
  int64_t all = tripsOf(loop).value_or(kUnknownTrips);
  auto [firstLoad, each] = turn(widths.factor, widths.depth);
  double block = all / widths.factor * each + all % widths.factor * turn(1, 1).second;
  double blocks = 1;
  auto launch = loop->getParentOfType<LaunchOp>();
  for (Value extent : launch.getGrid())
    blocks *= constantOf(extent).value_or(1);
  return firstLoad + chip.mte2LatencyMiss + std::ceil(blocks / chip.aicCount) * block;
}

/// Bytes of L1 once the tiles of a turn are as wide as that.
int64_t KLoop::memory(Widths widths) {
  int64_t own = 0, wide = 0, others = 0;
  for (CopyOp copy : copies) {
    int64_t bytes = bytesOf(copy.getBox(0).buffer);
    own += bytes;
    wide += bytes * widths.factor * (hasLongRows(copy) ? widths.depth : 1);
  }
  for (AllocOp alloc : loop->getParentOfType<LaunchOp>().getOps<AllocOp>())
    if (scopeOf(alloc) == Scope::L1 && !tiles.count(alloc))
      others += bytesOf(alloc);
  auto all = tripsOf(loop);
  bool hasRest = !all || *all % widths.factor != 0;
  return kSlots * (wide + (hasRest ? own : 0) + others);
}

/// The least time that memory allows, without more depth or width than it takes.
Widths KLoop::choose(const machine::Machine &chip) {
  Widths best;
  double least = cycles(best, chip);
  std::optional<int64_t> all = tripsOf(loop);
  for (int64_t factor = 1; factor <= std::min(all.value_or(kUnknownTrips), kMaxFactor); ++factor)
    for (int64_t depth = 1; depth <= kMaxDepth; depth *= 2) {
      Widths widths{factor, depth};
      bool isOpen = depth > 1 && (!all || *all % (factor * depth) != 0);
      if (isOpen || !allows(widths) || memory(widths) > chip.l1Bytes ||
          cycles(widths, chip) >= kWorthwhile * least)
        continue;
      best = widths;
      least = cycles(widths, chip);
    }
  return best;
}

/// The wide loop comes first; the old one stays behind for the turns that are left over.
void KLoop::fuse(Widths widths) {
  int64_t factor = widths.factor;
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  auto index = [&](int64_t value) -> Value {
    return builder.create<arith::ConstantIndexOp>(loc, value);
  };
  Value lower = loop.getLowerBound(), wideStep = index(step * factor), end;
  std::optional<int64_t> all = tripsOf(loop);
  if (all) {
    end = index(*constantOf(lower) + *all / factor * factor * step);
  } else {
    Value length = builder.create<arith::SubIOp>(loc, loop.getUpperBound(), lower);
    length = builder.create<arith::MaxSIOp>(loc, length, index(0));
    Value turns = builder.create<arith::CeilDivSIOp>(loc, length, index(step));
    Value wide = builder.create<arith::DivSIOp>(loc, turns, index(factor));
    wide = builder.create<arith::MulIOp>(loc, wide, wideStep);
    end = builder.create<arith::AddIOp>(loc, lower, wide);
  }

  IRMapping mapping;
  for (auto [tile, dim] : tiles) {
    auto alloc = tile.getDefiningOp<AllocOp>();
    auto type = cast<MemRefType>(alloc.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] *= factor;
    AllocOp wide = createAlloc(alloc, alloc.getLoc(), alloc.getName() + ".wide", shape,
                               type.getElementType(), Scope::L1);
    wide->setDiscardableAttrs(alloc->getDiscardableAttrDictionary());
    mapping.map(tile, wide.getResult());
  }
  if (factor > 1)
    remark(loop, kPass, "applied")
        << "one turn does the work of " << factor << ": longer rows and fewer, larger loads";
  auto wide = cast<scf::ForOp>(builder.clone(*loop, mapping));
  wide.setStep(wideStep);
  wide.setUpperBound(end);
  for (const Growth &growth : growths)
    growSize(mapping.lookup(growth.op), growth.box, growth.dim, factor);
  if (widths.depth > 1)
    deepen(wide, mapping, widths);
  if (!all || *all % factor != 0) {
    loop.setLowerBound(end);
    return;
  }
  loop.erase();
  for (auto [tile, dim] : tiles) {
    auto alloc = tile.getDefiningOp<AllocOp>();
    mapping.lookup(tile).getDefiningOp<AllocOp>().setName(alloc.getName());
    alloc.erase();
  }
}

/// Loads tiles with rows along K for several turns of the wide loop, in a loop around it.
void KLoop::deepen(scf::ForOp wide, const IRMapping &mapping, Widths widths) {
  OpBuilder builder(wide);
  Location loc = wide.getLoc();
  llvm::DenseSet<Operation *> deep;
  std::string names;
  for (CopyOp copy : copies) {
    if (!hasLongRows(copy))
      continue;
    deep.insert(mapping.lookup(copy));
    Value tile = mapping.lookup(copy.getBox(0).buffer);
    auto type = cast<MemRefType>(tile.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[tiles[copy.getBox(0).buffer]] *= widths.depth;
    tile.setType(type.clone(shape));
    names += (names.empty() ? "'" : ", '") + nameOf(copy.getBox(0).buffer).str() + "'";
  }
  remark(wide, kPass, "applied") << names << " is loaded for " << widths.depth
                                 << " turns at once: longer rows still";

  Value outerStep =
      builder.create<arith::ConstantIndexOp>(loc, step * widths.factor * widths.depth);
  auto outer =
      builder.create<scf::ForOp>(loc, wide.getLowerBound(), wide.getUpperBound(), outerStep);
  outer->setDiscardableAttrs(wide->getDiscardableAttrDictionary());
  builder.setInsertionPointToStart(outer.getBody());
  IRMapping toOuter, toInner;
  toOuter.map(wide.getInductionVar(), outer.getInductionVar());
  for (Operation &op : wide.getBody()->without_terminator())
    if (isPure(&op) || deep.contains(&op))
      builder.clone(op, toOuter);
  Value zero = builder.create<arith::ConstantIndexOp>(loc, 0);
  auto inner = builder.create<scf::ForOp>(loc, zero, outerStep, wide.getStep());
  inner->setDiscardableAttrs(wide->getDiscardableAttrDictionary());
  builder.setInsertionPointToStart(inner.getBody());
  Value done = inner.getInductionVar();
  toInner.map(wide.getInductionVar(),
              builder.create<arith::AddIOp>(loc, outer.getInductionVar(), done).getResult());
  for (Operation &op : wide.getBody()->without_terminator())
    if (!deep.contains(&op))
      builder.clone(op, toInner);

  builder.setInsertionPointToStart(inner.getBody());
  for (const Growth &growth : growths) {
    Operation *op = mapping.lookup(growth.op);
    Value tile = cast<AccessInterface>(growth.op).getBox(growth.box).buffer;
    if (deep.contains(op)) {
      growSize(toOuter.lookup(op), growth.box, growth.dim, widths.depth);
    } else if (auto gemm = dyn_cast<GemmOp>(growth.op);
               gemm && llvm::any_of(copies, [&](CopyOp copy) {
                 return copy.getBox(0).buffer == tile && hasLongRows(copy);
               })) {
      int64_t perTurn = *constantOf(gemm.getBox(growth.box).sizes[growth.dim]) / step;
      Value offset = builder.create<arith::MulIOp>(
          loc, done, builder.create<arith::ConstantIndexOp>(loc, perTurn));
      cast<GemmOp>(toInner.lookup(op)).getOffsetsMutable()[2 * growth.box + growth.dim].set(offset);
    }
  }
  wide.erase();
}

struct TileFuseKPass : passes::impl::TileFuseKBase<TileFuseKPass> {
  using Base::Base;

  void runOnOperation() override {
    std::optional<machine::Machine> loaded = chipFor(getOperation(), chip);
    if (!loaded)
      return signalPassFailure();
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      KLoop candidate(loop);
      if (isByHand(loop->getParentOfType<LaunchOp>()) || !candidate.match())
        continue;
      Widths widths = factor > 0 ? Widths{factor, depth} : candidate.choose(*loaded);
      if ((widths.factor > 1 || widths.depth > 1) && candidate.allows(widths))
        candidate.fuse(widths);
    }
  }
};

} // namespace
