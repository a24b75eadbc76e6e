// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-fuse-turns: several turns of an online softmax as one, over more columns.

#include "tilewright/passes/Chip.h"
#include "tilewright/passes/OnlineSoftmax.h"

#include "mlir/IR/IRMapping.h"

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
constexpr int64_t kColumns = 512;     ///< of a fused turn: more gains little and takes memory
constexpr int64_t kUnknownTrips = 64; ///< of a loop with run-time bounds
constexpr int64_t kLateTurns = 4;     ///< turns of a loop in which only one kind of core works
constexpr int64_t kVectorCores = 2;   ///< of a block
constexpr double kWorthwhile = 0.97;  ///< share of the time that is left, at most
constexpr int64_t kLeastChunk = 64;   ///< columns of a product

/// What a dimension of a tile stands for.
enum class Axis { None, Rows, Columns, Other };

bool isOn(Operation *op, Core core) {
  auto attribute = op->getAttrOfType<CoreAttr>(kCoreAttr);
  return attribute && attribute.getValue() == core;
}

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

/// A loop whose body is: scores by the cube, a step of an online softmax by the vector cores, a
/// product of the weights by the cube, and its sum by the vector cores.
class TurnLoop {
public:
  TurnLoop(scf::ForOp loop, const machine::Machine &machine) : loop(loop), machine(machine) {}

  /// Why turns cannot be fused; empty when they can.
  std::string match();
  int64_t turnsToFuse() const;
  void fuse(int64_t turns);
  int64_t columns() const { return extent; }

private:
  std::string collect();
  std::string matchChannels();
  std::string matchScores();
  std::string matchProducts();
  std::string labelAxes();
  std::string checkTurn();
  bool label(Value buffer, unsigned dim, Axis axis);
  Axis axisOf(Value buffer, unsigned dim) const { return axes.lookup({buffer, dim}); }
  bool labelOp(Operation *op);
  bool tie(std::pair<Value, unsigned> a, std::pair<Value, unsigned> b);
  bool tieCopy(CopyOp copy);
  bool isFixed(Value value) const;
  bool isLocal(Value buffer) const;
  std::optional<unsigned> loadedAlong(CopyOp load, unsigned tileDim) const;
  int64_t chunkOfScores() const;
  int64_t slicesFor(int64_t turns) const;
  double vectorCycles(int64_t turns) const;

  void cloneLocals(int64_t turns);
  void cloneDeps(Operation *op, OpBuilder &builder, IRMapping &mapping);
  Operation *cloneOp(Operation *op, OpBuilder &builder, IRMapping &mapping);
  void emitScores(OpBuilder &builder, int64_t turns);
  void emitProducts(OpBuilder &builder, int64_t turns);
  void emitVector(Operation *op, OpBuilder &builder, int64_t turns);
  scf::ForOp chunkLoop(OpBuilder &builder, int64_t count);
  void setBox(Operation *op, unsigned box, unsigned dim, Value offset, std::optional<int64_t> size);

  mutable scf::ForOp loop;
  const machine::Machine &machine;
  SmallVector<Operation *> ops;        ///< with effects, in order
  SmallVector<Operation *> scoreOps;   ///< loads and products of the scores
  SmallVector<Operation *> productOps; ///< loads and products of the weights
  mutable CopyOp scoresOut, scoresIn, weightsOut, weightsIn;
  SmallVector<CopyOp> productsOut, productsIn;
  Value scores, weights; ///< the channels
  int64_t extent = 0;    ///< columns of a turn
  llvm::DenseMap<std::pair<Value, unsigned>, Axis> axes;
  llvm::MapVector<Value, unsigned> wide; ///< tiles and channels with columns
  llvm::DenseSet<Operation *> inChunks;  ///< vector work that knows which turn it is in
  llvm::SetVector<Value> written;        ///< in the loop
  /// What else runs along the columns: (op, box) -> dimension.
  llvm::DenseMap<std::pair<Operation *, unsigned>, unsigned> chunkDims;
  IRMapping outer; ///< from the old body to the fused turn
  Value counter;   ///< first of the old turns that a fused turn does
};

bool TurnLoop::isFixed(Value value) const {
  return passes::areFixed(value, loop.getInductionVar(), loop.getRegion());
}

/// True when nothing outside the loop uses the buffer.
bool TurnLoop::isLocal(Value buffer) const {
  return buffer.getDefiningOp<AllocOp>() && llvm::all_of(buffer.getUsers(), [&](Operation *user) {
           return loop->isProperAncestor(user);
         });
}

std::string TurnLoop::collect() {
  if (loop.getNumResults() != 0 || constantOf(loop.getStep()) != 1)
    return "the loop does not count turns one by one";
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isPure(&op))
      continue;
    if (!isa<AccessInterface, AcquireOp, PublishOp, WaitOp, ReleaseOp>(op) ||
        isa<tile::LoadOp, tile::StoreOp, AtomicOp, PrintOp, GatherOp, ScanOp>(op))
      return "a turn holds a statement that is neither a copy, a product, element-wise nor a "
             "reduction";
    ops.push_back(&op);
    if (auto access = dyn_cast<AccessInterface>(op))
      for (unsigned box = 0; box < access.getNumBoxes(); ++box)
        if (tilewright::writes(access.getAccessKind(box)))
          written.insert(access.getBox(box).buffer);
  }
  return "";
}

/// Finds the copies into and out of channels.
std::string TurnLoop::matchChannels() {
  for (Operation *op : ops) {
    auto copy = dyn_cast<CopyOp>(op);
    if (!copy)
      continue;
    Value to = copy.getBox(0).buffer, from = copy.getBox(1).buffer;
    bool leaves = scopeOf(to) == Scope::Workspace, arrives = scopeOf(from) == Scope::Workspace;
    if (isOn(op, Core::AIV) && leaves) {
      if (weightsOut)
        return "the vector cores hand the cube more than one tile a turn";
      weightsOut = copy;
      weights = to;
    } else if (isOn(op, Core::AIC) && arrives) {
      if (weightsIn)
        return "the cube takes more than one tile a turn from the vector cores";
      weightsIn = copy;
    } else if (isOn(op, Core::AIC) && leaves && !weightsIn) {
      if (scoresOut)
        return "the cube hands the vector cores more than one tile of scores a turn";
      scoresOut = copy;
      scores = to;
    } else if (isOn(op, Core::AIC) && leaves) {
      productsOut.push_back(copy);
    } else if (isOn(op, Core::AIV) && arrives) {
      if (from == scores && !scoresIn)
        scoresIn = copy;
      else if (weightsOut)
        productsIn.push_back(copy);
      else
        return "a tile arrives before the weights leave";
    }
  }
  if (!scoresOut || !scoresIn || !weightsOut || !weightsIn || productsOut.empty() ||
      productsIn.size() != productsOut.size() || weightsIn.getBox(1).buffer != weights)
    return "a turn is not scores, weights and a product of them";
  return "";
}

/// The dimension of the tensor that a load's tile dimension runs along, when it advances by the
/// columns of a turn and nothing else of the load does.
std::optional<unsigned> TurnLoop::loadedAlong(CopyOp load, unsigned tileDim) const {
  Box tile = load.getBox(0), tensor = load.getBox(1);
  auto map = matchDims(tile, tensor);
  if (failed(map) || (*map)[tileDim] < 0 || !coversBuffer(tile) ||
      scopeOf(tensor.buffer) != Scope::Global || written.contains(tensor.buffer))
    return std::nullopt;
  unsigned along = (*map)[tileDim];
  for (unsigned dim = 0; dim < tensor.offsets.size(); ++dim) {
    std::optional<int64_t> move =
        factorIn(tensor.offsets[dim], loop.getInductionVar(), loop.getRegion());
    if (!move || *move != (dim == along ? extent : 0) || !isFixed(tensor.sizes[dim]))
      return std::nullopt;
  }
  return constantOf(tensor.sizes[along]) == extent ? std::optional(along) : std::nullopt;
}

/// The products of the scores, and which way the turn's columns run.
std::string TurnLoop::matchScores() {
  Box sum = scoresOut.getBox(1);
  llvm::DenseMap<Value, unsigned> tiles; // of the turn, and the dimension that is its columns
  std::optional<unsigned> sumDim;
  bool isFirst = true;
  for (Operation *op : ops) {
    auto gemm = dyn_cast<GemmOp>(op);
    if (!gemm || gemm.getBox(0).buffer != sum.buffer)
      continue;
    Box into = gemm.getBox(0), a = gemm.getBox(1), b = gemm.getBox(2);
    bool starts = constantOf(gemm.getInit()).value_or(0) != 0;
    bool isTurnA = written.contains(a.buffer), isTurnB = written.contains(b.buffer);
    if (into.offsets.size() != 2 || a.offsets.size() != 2 || b.offsets.size() != 2 ||
        starts != isFirst || isTurnA == isTurnB || !coversBuffer(into))
      return "the scores are no product of one tile of the turn with what all turns share";
    isFirst = false;
    unsigned dim = isTurnA ? 0 : 1;
    unsigned tileDim = isTurnA ? (gemm.getTransposeA() ? 1 : 0) : (gemm.getTransposeB() ? 0 : 1);
    Box tile = isTurnA ? a : b;
    if ((sumDim && *sumDim != dim) || !coversBuffer(tile))
      return "the columns of a turn run along different dimensions of the scores";
    sumDim = dim;
    tiles[tile.buffer] = tileDim;
    chunkDims[{op, 0}] = dim;
    chunkDims[{op, isTurnA ? 1u : 2u}] = tileDim;
    scoreOps.push_back(op);
  }
  if (!sumDim || !coversBuffer(sum))
    return "the scores are not a product's whole sum";
  extent = cast<MemRefType>(sum.buffer.getType()).getDimSize(*sumDim);
  auto map = matchDims(sum, scoresOut.getBox(0));
  if (failed(map) || (*map)[*sumDim] < 0 || !coversBuffer(scoresOut.getBox(0)))
    return "the scores do not leave whole";
  chunkDims[{scoresOut, 1}] = *sumDim;
  chunkDims[{scoresOut, 0}] = (*map)[*sumDim];
  label(scores, (*map)[*sumDim], Axis::Columns);
  if ((*map)[1 - *sumDim] >= 0)
    label(scores, (*map)[1 - *sumDim], Axis::Rows);
  for (Operation *op : ops) {
    auto load = dyn_cast<CopyOp>(op);
    if (!load || !tiles.contains(load.getBox(0).buffer))
      continue;
    std::optional<unsigned> along = loadedAlong(load, tiles[load.getBox(0).buffer]);
    if (!along || !isOn(op, Core::AIC))
      return "the tile that the scores are made of does not move by a turn's columns";
    chunkDims[{op, 0}] = tiles[load.getBox(0).buffer];
    chunkDims[{op, 1}] = *along;
    scoreOps.push_back(op);
  }
  llvm::sort(scoreOps, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return "";
}

/// The products that sum over the turn's columns.
std::string TurnLoop::matchProducts() {
  Box channel = weightsIn.getBox(1), tile = weightsIn.getBox(0);
  llvm::DenseMap<Value, unsigned> tiles;
  llvm::DenseSet<Value> sums;
  for (Operation *op : ops) {
    auto gemm = dyn_cast<GemmOp>(op);
    if (!gemm || llvm::is_contained(scoreOps, op))
      continue;
    Box into = gemm.getBox(0), a = gemm.getBox(1), b = gemm.getBox(2);
    bool isLeft = a.buffer == tile.buffer;
    if (isLeft == (b.buffer == tile.buffer) || a.offsets.size() != 2 || b.offsets.size() != 2 ||
        constantOf(gemm.getInit()).value_or(0) == 0 || !coversBuffer(into) || !coversBuffer(a) ||
        !coversBuffer(b) || !sums.insert(into.buffer).second)
      return "a product is not one of the weights with a tile of the turn";
    unsigned depthA = gemm.getTransposeA() ? 0 : 1, depthB = gemm.getTransposeB() ? 1 : 0;
    Value other = isLeft ? b.buffer : a.buffer;
    tiles[other] = isLeft ? depthB : depthA;
    if (cast<MemRefType>(other.getType()).getDimSize(tiles[other]) != extent)
      return "a product sums over something else than the columns";
    unsigned mine = isLeft ? depthA : depthB;
    if (chunkDims.try_emplace({weightsIn, 0}, mine).first->second != mine)
      return "the weights are used both ways";
    productOps.push_back(op);
    for (CopyOp out : productsOut) {
      if (out.getBox(1).buffer != into.buffer)
        continue;
      auto map = matchDims(out.getBox(1), out.getBox(0));
      if (failed(map) || !coversBuffer(out.getBox(0)) || !coversBuffer(out.getBox(1)))
        return "a product does not leave whole";
      for (unsigned dim : {0u, 1u})
        if ((*map)[dim] >= 0)
          label(out.getBox(0).buffer, (*map)[dim], (dim == 0) == isLeft ? Axis::Rows : Axis::Other);
    }
  }
  if (sums.size() != productsOut.size())
    return "a product does not leave";
  auto map = matchDims(tile, channel);
  unsigned depth = chunkDims[{weightsIn, 0}];
  if (failed(map) || (*map)[depth] < 0 || !coversBuffer(channel) || !coversBuffer(tile))
    return "the weights do not arrive whole";
  chunkDims[{weightsIn, 1}] = (*map)[depth];
  label(weights, (*map)[depth], Axis::Columns);
  if ((*map)[1 - depth] >= 0)
    label(weights, (*map)[1 - depth], Axis::Rows);
  for (Operation *op : ops) {
    auto load = dyn_cast<CopyOp>(op);
    if (!load || !tiles.contains(load.getBox(0).buffer))
      continue;
    std::optional<unsigned> along = loadedAlong(load, tiles[load.getBox(0).buffer]);
    if (!along || !isOn(op, Core::AIC) || llvm::is_contained(scoreOps, op))
      return "a tile that the weights are multiplied with does not move by a turn's columns";
    chunkDims[{op, 1}] = *along;
    productOps.push_back(op);
  }
  productOps.push_back(weightsIn);
  llvm::sort(productOps, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : ops)
    if (isOn(op, Core::AIC) && isa<AccessInterface>(op) && op != scoresOut &&
        !llvm::is_contained(scoreOps, op) && !llvm::is_contained(productOps, op) &&
        !llvm::is_contained(productsOut, op))
      return "the cube does something else in a turn";
  return "";
}

/// False when the dimension is known to stand for something else.
bool TurnLoop::label(Value buffer, unsigned dim, Axis axis) {
  if (axis == Axis::None)
    return true;
  return axes.try_emplace({buffer, dim}, axis).first->second == axis;
}

bool TurnLoop::tie(std::pair<Value, unsigned> a, std::pair<Value, unsigned> b) {
  return label(a.first, a.second, axes.lookup(b)) && label(b.first, b.second, axes.lookup(a));
}

bool TurnLoop::tieCopy(CopyOp copy) {
  Box to = copy.getBox(0), from = copy.getBox(1);
  auto map = matchDims(to, from);
  if (failed(map))
    return false;
  for (auto [dim, other] : llvm::enumerate(*map))
    if (other >= 0 && !tie({to.buffer, dim}, {from.buffer, other}))
      return false;
  return true;
}

/// Hands labels on between the operands of a vector statement. False for a contradiction.
bool TurnLoop::labelOp(Operation *op) {
  if (auto copy = dyn_cast<CopyOp>(op))
    return scopeOf(copy.getBox(1).buffer) == Scope::Global || tieCopy(copy);
  auto access = cast<AccessInterface>(op);
  if (auto step = dyn_cast<ElementwiseOp>(op)) {
    for (unsigned domain = 0; domain < step.getDomainRank(); ++domain) {
      Axis axis = Axis::None;
      for (bool isKnown : {false, true})
        for (unsigned box = 0; box < step.getNumBoxes(); ++box)
          for (auto [dim, to] : llvm::enumerate(step.getMap(box))) {
            if (to != int64_t(domain))
              continue;
            Value buffer = access.getBox(box).buffer;
            if (isKnown && !label(buffer, dim, axis))
              return false;
            if (axis == Axis::None)
              axis = axisOf(buffer, dim);
          }
    }
    return true;
  }
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce)
    return true;
  Box to = access.getBox(0), from = access.getBox(1);
  SmallVector<unsigned> kept, result;
  for (auto [dim, size] : llvm::enumerate(staticSizes(from)))
    if (size != 1 && !llvm::is_contained(reduce.getDims(), int64_t(dim)))
      kept.push_back(dim);
  for (auto [dim, size] : llvm::enumerate(staticSizes(to)))
    if (size != 1)
      result.push_back(dim);
  if (kept.size() != result.size())
    return false;
  return llvm::all_of(llvm::zip(result, kept), [&](auto pair) {
    return tie({to.buffer, std::get<0>(pair)}, {from.buffer, std::get<1>(pair)});
  });
}

/// Which dimensions of vector tiles are rows, which are columns of the turn.
std::string TurnLoop::labelAxes() {
  size_t known = 0;
  do {
    known = axes.size();
    for (Operation *op : ops)
      if (isOn(op, Core::AIV) && isa<AccessInterface>(op) && !labelOp(op))
        return "rows and columns are mixed";
  } while (axes.size() != known);
  for (auto &[place, axis] : axes) {
    if (axis != Axis::Columns)
      continue;
    auto [buffer, dim] = place;
    if (!wide.try_emplace(buffer, dim).second)
      return "a tile has the columns in two dimensions";
    if (cast<MemRefType>(buffer.getType()).getDimSize(dim) != extent)
      return "a tile holds a part of the columns";
  }
  return "";
}

/// Every vector statement works on whole tiles; those with columns belong to the turn; and the turn
/// is a step of an online softmax.
std::string TurnLoop::checkTurn() {
  llvm::SetVector<Value> carried;
  llvm::DenseSet<Value> defined;
  for (Operation *op : ops) {
    auto access = dyn_cast<AccessInterface>(op);
    if (!access || !isOn(op, Core::AIV))
      continue;
    bool isWide = false, knowsTurn = false, sharesColumns = false, isPart = false;
    for (Value operand : op->getOperands())
      knowsTurn |= !isFixed(operand);
    for (unsigned box = 0; box < access.getNumBoxes(); ++box) {
      Box place = access.getBox(box);
      bool isGlobal = scopeOf(place.buffer) == Scope::Global;
      isPart |= !isGlobal && !coversBuffer(place);
      if (isGlobal && (box == 0 || written.contains(place.buffer)))
        return "a turn writes global memory";
      if (wide.contains(place.buffer)) {
        isWide = true;
        chunkDims[{op, box}] = wide.lookup(place.buffer);
        sharesColumns |= !written.contains(place.buffer);
      }
    }
    if (isWide && (knowsTurn || sharesColumns)) {
      if (isa<ReduceOp>(op) || !wide.contains(access.getBox(0).buffer))
        return "a reduction depends on which turn it is";
      if (auto load = dyn_cast<CopyOp>(op); load &&
                                            scopeOf(load.getBox(1).buffer) == Scope::Global &&
                                            !loadedAlong(load, wide.lookup(load.getBox(0).buffer)))
        return "a load does not move by a turn's columns";
      inChunks.insert(op);
    } else if (knowsTurn) {
      return "a statement on rows depends on which turn it is";
    } else if (isPart) {
      return "a statement works on a part of a tile";
    }
    for (unsigned box = access.getNumBoxes(); box-- > 0;) {
      Value buffer = access.getBox(box).buffer;
      AccessKind kind = access.getAccessKind(box);
      if (scopeOf(buffer) != Scope::UB || !written.contains(buffer))
        continue;
      if (tilewright::reads(kind) && !defined.contains(buffer))
        carried.insert(buffer);
      if (tilewright::writes(kind))
        defined.insert(buffer);
    }
  }
  for (Value buffer : written) {
    if (!isLocal(buffer) && !carried.contains(buffer))
      return "a tile of the turn is used after the loop";
    if (carried.contains(buffer) && wide.contains(buffer))
      return "columns are carried from turn to turn";
  }
  for (Value tile : carried) {
    unsigned rows = 0;
    for (unsigned dim = 0; dim < unsigned(cast<MemRefType>(tile.getType()).getRank()); ++dim)
      rows += axisOf(tile, dim) == Axis::Rows;
    if (rows != 1)
      return "what is carried has no rows of its own";
  }
  OnlineSoftmax softmax(wide, carried.getArrayRef());
  for (Operation *op : ops) {
    if (!isOn(op, Core::AIV) || !isa<AccessInterface>(op))
      continue;
    auto copy = dyn_cast<CopyOp>(op);
    if (copy && copy == scoresIn)
      softmax.scoresArrive(copy.getBox(0).buffer);
    else if (copy && copy == weightsOut)
      softmax.weightsLeave(copy.getBox(1).buffer);
    else if (copy && llvm::is_contained(productsIn, copy))
      softmax.productArrives(copy.getBox(0).buffer);
    else if (copy && wide.contains(copy.getBox(0).buffer))
      softmax.scoresArrive(copy.getBox(0).buffer); // a bias or mask from global memory
    else
      softmax.visit(op);
  }
  return softmax.problem();
}

std::string TurnLoop::match() {
  for (auto step : {&TurnLoop::collect, &TurnLoop::matchChannels, &TurnLoop::matchScores,
                    &TurnLoop::matchProducts, &TurnLoop::labelAxes, &TurnLoop::checkTurn})
    if (std::string why = (this->*step)(); !why.empty())
      return why;
  return "";
}

/// Slices of rows that the vector cores would take for their tiles to fit; turns as they are fit.
int64_t TurnLoop::slicesFor(int64_t turns) const {
  if (turns == 1)
    return 1;
  int64_t withColumns = 0, others = 0;
  for (AllocOp alloc : loop->getParentOfType<LaunchOp>().getOps<AllocOp>()) {
    bool isElsewhere = llvm::none_of(alloc->getUsers(),
                                     [&](Operation *user) { return loop->isProperAncestor(user); });
    if (scopeOf(alloc) != Scope::UB || isElsewhere)
      continue;
    bool moves = llvm::any_of(alloc->getUsers(), [](Operation *user) { return isa<CopyOp>(user); });
    int64_t bytes = bytesOf(alloc) / kVectorCores * (moves ? 2 : 1);
    bool grows = wide.contains(alloc) && written.contains(alloc);
    (grows ? withColumns : others) += bytes;
  }
  int64_t slices = 1;
  while (slices < 64 && others + withColumns * turns / slices > machine.ubBytes)
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
    bool hasColumns = false;
    for (unsigned box = 0; box < access.getNumBoxes(); ++box) {
      Value buffer = access.getBox(box).buffer;
      elements = std::max(elements, cast<MemRefType>(buffer.getType()).getNumElements());
      hasColumns |= wide.contains(buffer);
    }
    double repeats = double(elements) * 4 / kVectorCores / machine.vecRepeatBytes;
    double starts = slices * (inChunks.contains(op) ? double(turns) : 1);
    cycles += starts * start + repeats * (hasColumns ? double(turns) : 1);
    if (isa<ReduceOp>(op))
      cycles += double(elements / extent / kVectorCores) * machine.vecCycles("reduce", 4);
  }
  return cycles / double(turns);
}

/// Turns that are worth fusing. Against what they save stands that the first and the last turns of
/// a loop have one kind of core idle, and that these grow.
int64_t TurnLoop::turnsToFuse() const {
  int64_t trips = tripsOf(loop).value_or(kUnknownTrips), best = 1;
  auto cost = [&](int64_t turns) {
    return double(trips + kLateTurns * (turns - 1)) * vectorCycles(turns);
  };
  for (int64_t turns = 2; turns * extent <= kColumns && turns <= trips; turns *= 2)
    if (cost(turns) < kWorthwhile * cost(best))
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

/// Clones what `op` uses of the old body.
void TurnLoop::cloneDeps(Operation *op, OpBuilder &builder, IRMapping &mapping) {
  for (Value operand : op->getOperands()) {
    Operation *def = operand.getDefiningOp();
    if (!def || def->getBlock() != loop.getBody() || mapping.contains(operand))
      continue;
    cloneDeps(def, builder, mapping);
    builder.clone(*def, mapping);
  }
}

Operation *TurnLoop::cloneOp(Operation *op, OpBuilder &builder, IRMapping &mapping) {
  cloneDeps(op, builder, mapping);
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
