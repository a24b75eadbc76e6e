// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which loops are an online softmax around products, and what runs along the columns of a turn.

#include "tilewright/passes/TurnLoop.h"
#include "tilewright/passes/Orders.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

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
    if (isa<AcquireOp, PublishOp, WaitOp, ReleaseOp>(op) && isOrder(op.getOperand(0)))
      return "a turn hands a tensor in global memory from one kind of core to the other";
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
    // What counts a turn's columns, or is loaded for one turn, is done for each turn of before.
    auto load = dyn_cast<CopyOp>(op);
    if (load && scopeOf(load.getBox(1).buffer) != Scope::Global)
      load = {};
    if (isWide && (knowsTurn || sharesColumns || load || isa<IotaOp>(op))) {
      if (isa<ReduceOp>(op) || !wide.contains(access.getBox(0).buffer))
        return "a reduction depends on which turn it is";
      if (load && knowsTurn && !loadedAlong(load, wide.lookup(load.getBox(0).buffer)))
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
