// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-fuse-turns: several turns of an online softmax as one, over more columns.

#include "tilewright/passes/Chip.h"
#include "tilewright/passes/Ranges.h"
#include "tilewright/passes/TurnLoop.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEFUSETURNS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-fuse-turns";
constexpr int64_t kColumns = 256;     ///< of a fused turn: more gains little and takes memory
constexpr int64_t kUnknownTrips = 64; ///< of a loop of which nothing is known
/// Turns that a loop loses at its ends: stages run two turns apart, and tiles are on their way.
constexpr int64_t kLateTurns = 5;
constexpr int64_t kLeastChunk = 64; ///< columns of a product

/// Operand numbers of the offset and size of a dimension of a box. Box ops hold buffers, then all
/// offsets, then all sizes.
struct BoxPlace {
  unsigned offset, size;
};
BoxPlace placeOf(AccessInterface op, unsigned box, unsigned dim) {
  unsigned at = dim, ranks = 0, count = op.getNumBoxes();
  for (unsigned index = 0; index < count; ++index) {
    unsigned rank = op.getBox(index).offsets.size();
    at += index < box ? rank : 0;
    ranks += rank;
  }
  return {count + at, count + ranks + at};
}

} // namespace

/// Slices of rows that the vector cores would take for their tiles to fit; turns as they are fit.
int64_t TurnLoop::slicesFor(int64_t turns) const {
  if (turns == 1)
    return 1;
  int64_t withColumns = 0, sliced = 0, others = 0;
  for (AllocOp alloc : loop->getParentOfType<LaunchOp>().getOps<AllocOp>()) {
    bool isElsewhere = llvm::none_of(alloc->getUsers(),
                                     [&](Operation *user) { return loop->isProperAncestor(user); });
    if (scopeOf(alloc) != Scope::UB || isElsewhere)
      continue;
    bool moves = llvm::any_of(alloc->getUsers(), [](Operation *user) { return isa<CopyOp>(user); });
    int64_t bytes = bytesOf(alloc) / kVectorCores * (moves ? 2 : 1);
    bool grows = wide.contains(alloc) && written.contains(alloc);
    (grows ? withColumns : isLocal(alloc) ? sliced : others) += bytes;
  }
  // Late stages and the loop for the turns that are left over have small tiles of their own.
  int64_t slices = 1, room = machine.ubBytes - machine.ubBytes / 8;
  while (slices < 64 && others + (withColumns * turns + sliced) / slices > room)
    slices *= 2;
  return slices;
}

/// Cycles that the vector unit takes for the columns of one turn of before, when `turns` are fused:
/// an instruction's start is paid by each slice, a row's reduction and the work on tiles without
/// columns by each fused turn.
double TurnLoop::vectorCycles(int64_t turns) const {
  double cycles = 0, slices = double(slicesFor(turns));
  double start = machine.vecFixed + machine.vecBarrierTail;
  for (Operation *op : ops) {
    auto access = dyn_cast<AccessInterface>(op);
    if (!access || !isOn(op, Core::AIV) || isa<CopyOp>(op))
      continue;
    int64_t elements = 1;
    bool hasColumns = false, hasRows = false; // tiles with columns, and without
    for (unsigned box = 0; box < access.getNumBoxes(); ++box) {
      Value buffer = access.getBox(box).buffer;
      hasRows |= !wide.contains(buffer);
      elements = std::max(elements, cast<MemRefType>(buffer.getType()).getNumElements());
      hasColumns |= wide.contains(buffer);
    }
    double repeats = double(elements) * 4 / kVectorCores / machine.vecRepeatBytes;
    double starts = slices * (inChunks.contains(op) ? double(turns) : 1);
    if (hasColumns && hasRows && isa<ElementwiseOp>(op)) // an instruction for each repeat of a row
      starts *= std::max(1.0, double(turns * extent) * 4 / machine.vecRepeatBytes);
    cycles += starts * start + repeats * (hasColumns ? double(turns) : 1);
    if (isa<ReduceOp>(op))
      cycles += double(elements / extent / kVectorCores) * machine.vecCycles("reduce", 4);
  }
  return cycles / double(turns);
}

/// Turns of the loop; with run-time bounds the mean of what they may be.
int64_t TurnLoop::meanTrips() const {
  if (std::optional<int64_t> trips = tripsOf(loop))
    return *trips;
  std::optional<Bounds> upper = rangeOf(loop.getUpperBound()),
                        lower = rangeOf(loop.getLowerBound());
  if (!upper || !lower)
    return kUnknownTrips;
  return std::max<int64_t>(1, (upper->low + upper->high - lower->low - lower->high) / 2);
}

/// Turns that are worth fusing. Against what they save stands that the first and the last turns of
/// a loop have one kind of core idle, and that these grow.
int64_t TurnLoop::turnsToFuse() const {
  int64_t trips = meanTrips(), best = 1;
  auto cost = [&](int64_t turns) {
    return double(trips + kLateTurns * (turns - 1)) * vectorCycles(turns);
  };
  for (int64_t turns = 2; turns * extent <= kColumns && turns <= trips; turns *= 2)
    if (cost(turns) < cost(best))
      best = turns;
  return best;
}

/// Columns of one product of scores: two sums and that of the weights have to fit L0C.
int64_t TurnLoop::chunkOfScores() const {
  int64_t bytes = bytesOf(scoresOut.getBox(1).buffer), others = 0;
  for (CopyOp out : productsOut)
    others += bytesOf(out.getBox(1).buffer);
  int64_t columns = extent;
  while (columns % 2 == 0 && columns / 2 >= kLeastChunk &&
         2 * bytes * columns / extent + others > machine.l0cBytes)
    columns /= 2;
  return columns;
}

/// Tiles of the fused turn: those with columns hold them all.
void TurnLoop::cloneLocals(int64_t turns) {
  int64_t chunk = chunkOfScores();
  llvm::DenseMap<Value, std::pair<unsigned, int64_t>> sizes;
  for (auto [buffer, dim] : wide)
    sizes[buffer] = {dim, extent * turns};
  for (Operation *op : scoreOps)
    for (unsigned box = 0; box < cast<AccessInterface>(op).getNumBoxes(); ++box)
      if (auto found = chunkDims.find({op, box}); found != chunkDims.end())
        if (Value buffer = cast<AccessInterface>(op).getBox(box).buffer; isLocal(buffer))
          sizes[buffer] = {found->second, chunk};
  for (Value buffer : written) {
    auto alloc = buffer.getDefiningOp<AllocOp>();
    if (!alloc || !isLocal(buffer))
      continue;
    auto type = cast<MemRefType>(buffer.getType());
    SmallVector<int64_t> shape(type.getShape());
    if (auto found = sizes.find(buffer); found != sizes.end())
      shape[found->second.first] = found->second.second;
    AllocOp own = createAlloc(loop, alloc.getLoc(), alloc.getName(), shape, type.getElementType(),
                              scopeOf(buffer));
    own->setDiscardableAttrs(alloc->getDiscardableAttrDictionary());
    own.setSlots(alloc.getSlots());
    outer.map(buffer, own.getResult());
  }
}

/// Moves a box by `offset` along a dimension, when given, and sets its size there, when given.
void TurnLoop::setBox(Operation *op, unsigned box, unsigned dim, Value offset,
                      std::optional<int64_t> size) {
  BoxPlace place = placeOf(cast<AccessInterface>(op), box, dim);
  OpBuilder builder(op);
  if (offset) {
    Value before = op->getOperand(place.offset);
    bool isZero = constantOf(before) == 0;
    op->setOperand(
        place.offset,
        isZero ? offset : builder.create<arith::AddIOp>(op->getLoc(), before, offset).getResult());
  }
  if (size)
    op->setOperand(place.size, builder.create<arith::ConstantIndexOp>(op->getLoc(), *size));
}

Operation *TurnLoop::cloneOp(Operation *op, OpBuilder &builder, IRMapping &mapping) {
  cloneOperands(op, loop.getBody(), builder, mapping);
  return builder.clone(*op, mapping);
}

scf::ForOp TurnLoop::chunkLoop(OpBuilder &builder, int64_t count) {
  Location loc = loop.getLoc();
  Value zero = builder.create<arith::ConstantIndexOp>(loc, 0);
  Value one = builder.create<arith::ConstantIndexOp>(loc, 1);
  Value end = builder.create<arith::ConstantIndexOp>(loc, count);
  auto chunks = builder.create<scf::ForOp>(loc, zero, end, one);
  if (Attribute stages = loop->getAttr(kNumStagesAttr))
    chunks->setAttr(kNumStagesAttr, stages);
  return chunks;
}

/// The scores of all columns, chunk by chunk, into one version of their channel.
void TurnLoop::emitScores(OpBuilder &builder, int64_t turns) {
  int64_t chunk = chunkOfScores();
  scf::ForOp chunks = chunkLoop(builder, turns * extent / chunk);
  OpBuilder inside(chunks.getBody()->getTerminator());
  IRMapping mapping = outer;
  Location loc = loop.getLoc();
  Value skipped = inside.create<arith::MulIOp>(loc, chunks.getInductionVar(),
                                               inside.create<arith::ConstantIndexOp>(loc, chunk));
  SmallVector<Operation *> all(scoreOps);
  all.push_back(scoresOut);
  for (Operation *op : all) {
    Operation *own = cloneOp(op, inside, mapping);
    for (unsigned box = 0; box < cast<AccessInterface>(op).getNumBoxes(); ++box) {
      auto found = chunkDims.find({op, box});
      if (found == chunkDims.end())
        continue;
      Value buffer = cast<AccessInterface>(op).getBox(box).buffer;
      bool moves = scopeOf(buffer) == Scope::Global || scopeOf(buffer) == Scope::Workspace;
      setBox(own, box, found->second, moves ? skipped : Value(), chunk);
    }
  }
}

/// The products, summed over all columns, turn by turn of before.
void TurnLoop::emitProducts(OpBuilder &builder, int64_t turns) {
  scf::ForOp chunks = chunkLoop(builder, turns);
  OpBuilder inside(chunks.getBody()->getTerminator());
  IRMapping mapping = outer;
  Location loc = loop.getLoc();
  Value skipped = inside.create<arith::MulIOp>(loc, chunks.getInductionVar(),
                                               inside.create<arith::ConstantIndexOp>(loc, extent));
  Value isFirst = inside.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                               chunks.getInductionVar(), chunks.getLowerBound());
  for (Operation *op : productOps) {
    Operation *own = cloneOp(op, inside, mapping);
    if (auto gemm = dyn_cast<GemmOp>(own))
      gemm.getInitMutable().assign(isFirst);
    else
      setBox(own, 1, chunkDims.lookup({op, 1}), skipped, extent);
  }
}

/// One vector statement on all columns; by turns of before when it knows which turn it is in.
void TurnLoop::emitVector(Operation *op, OpBuilder &builder, int64_t turns) {
  auto access = cast<AccessInterface>(op);
  if (!inChunks.contains(op)) {
    Operation *own = cloneOp(op, builder, outer);
    for (unsigned box = 0; box < access.getNumBoxes(); ++box)
      if (auto found = chunkDims.find({op, box}); found != chunkDims.end())
        setBox(own, box, found->second, Value(), extent * turns);
    return;
  }
  scf::ForOp chunks = chunkLoop(builder, turns);
  OpBuilder inside(chunks.getBody()->getTerminator());
  Location loc = loop.getLoc();
  Value skipped = inside.create<arith::MulIOp>(loc, chunks.getInductionVar(),
                                               inside.create<arith::ConstantIndexOp>(loc, extent));
  IRMapping mapping;
  for (Value buffer : written)
    mapping.map(buffer, outer.lookupOrDefault(buffer));
  mapping.map(loop.getInductionVar(),
              inside.create<arith::AddIOp>(loc, counter, chunks.getInductionVar()).getResult());
  Operation *own = cloneOp(op, inside, mapping);
  for (unsigned box = 0; box < access.getNumBoxes(); ++box)
    if (auto found = chunkDims.find({op, box});
        found != chunkDims.end() && written.contains(access.getBox(box).buffer))
      setBox(own, box, found->second, skipped, std::nullopt);
}

void TurnLoop::fuse(int64_t turns) {
  Location loc = loop.getLoc();
  cloneLocals(turns);
  OpBuilder builder(loop);
  Value step = builder.create<arith::ConstantIndexOp>(loc, turns);
  Value end = loop.getUpperBound();
  std::optional<int64_t> trips = tripsOf(loop);
  bool hasRest = !trips || *trips % turns != 0;
  if (hasRest) {
    Value count = builder.create<arith::SubIOp>(loc, loop.getUpperBound(), loop.getLowerBound());
    Value zero = builder.create<arith::ConstantIndexOp>(loc, 0);
    count = builder.create<arith::MaxSIOp>(loc, count, zero);
    Value rest = builder.create<arith::RemUIOp>(loc, count, step);
    Value whole = builder.create<arith::SubIOp>(loc, count, rest);
    end = builder.create<arith::AddIOp>(loc, loop.getLowerBound(), whole);
  }
  auto fused = builder.create<scf::ForOp>(loc, loop.getLowerBound(), end, step);
  fused->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  counter = fused.getInductionVar();
  outer.map(loop.getInductionVar(), counter);
  builder.setInsertionPoint(fused.getBody()->getTerminator());
  bool scoresDone = false, productsDone = false;
  for (Operation *op : ops) {
    if (llvm::is_contained(scoreOps, op) || op == scoresOut)
      continue; // with the channel
    if (llvm::is_contained(productOps, op)) {
      if (op == weightsIn && !productsDone)
        emitProducts(builder, turns);
      productsDone |= op == weightsIn;
      continue;
    }
    if (auto access = dyn_cast<AccessInterface>(op); access && isOn(op, Core::AIV)) {
      emitVector(op, builder, turns);
      continue;
    }
    cloneOp(op, builder, outer);
    if (auto acquire = dyn_cast<AcquireOp>(op); acquire && acquire.getChannel() == scores) {
      emitScores(builder, turns);
      scoresDone = true;
    }
  }
  assert(scoresDone && productsDone && "the loop was matched");
  if (hasRest) {
    loop.getLowerBoundMutable().assign(end);
    return;
  }
  SmallVector<Value> locals;
  for (Value buffer : written)
    if (isLocal(buffer) && buffer.getDefiningOp())
      locals.push_back(buffer);
  loop.erase();
  for (Value buffer : locals)
    buffer.getDefiningOp()->erase();
}

namespace {

struct TileFuseTurnsPass : passes::impl::TileFuseTurnsBase<TileFuseTurnsPass> {
  using Base::Base;

  void runOnOperation() override {
    std::optional<machine::Machine> loaded = chipFor(getOperation(), chip);
    if (!loaded)
      return signalPassFailure();
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      auto handsBack = [](Operation &op) {
        auto wait = dyn_cast<WaitOp>(op);
        return wait && wait.getCore() == Core::AIC;
      };
      if (!isByHand(loop->getParentOfType<LaunchOp>()) && llvm::any_of(*loop.getBody(), handsBack))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      TurnLoop turn(loop, *loaded);
      if (std::string why = turn.match(); !why.empty()) {
        remark(loop, kPass, "missed") << "turns stay apart: " << why;
        continue;
      }
      int64_t count = turns > 0 ? int64_t(turns) : turn.turnsToFuse();
      if (count < 2)
        continue;
      remark(loop, kPass, "applied")
          << count << " turns of the online softmax are one, over " << count * turn.columns()
          << " columns: one maximum, one rescaling and one product's sum for all of them";
      turn.fuse(count);
    }
  }
};

} // namespace
