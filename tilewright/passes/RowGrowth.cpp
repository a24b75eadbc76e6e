// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/RowGrowth.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

int64_t RowGrowth::rowsOf(Value tile) const {
  return cast<MemRefType>(tile.getType()).getDimSize(rows.lookup(tile));
}

std::optional<int64_t> passes::blocksWhenMerged(LaunchOp launch, unsigned extent, int64_t count) {
  int64_t blocks = 1;
  for (auto [index, size] : llvm::enumerate(launch.getGrid())) {
    std::optional<int64_t> constant = constantOf(size);
    if (!constant || (index == extent && *constant % count != 0))
      return std::nullopt;
    blocks *= index == extent ? *constant / count : *constant;
  }
  return blocks;
}

llvm::SetVector<Value> passes::tilesThatDiffer(LaunchOp launch, Value number) {
  llvm::SetVector<Value> tiles;
  for (size_t known = ~size_t(0); known != tiles.size();) {
    known = tiles.size();
    launch.getBody().walk([&](AccessInterface op) {
      bool differs = !llvm::all_of(op->getOperands(), [&](Value value) {
        return isa<MemRefType>(value.getType()) ? !tiles.contains(value)
                                                : areFixed(value, number, launch.getBody());
      });
      for (unsigned box = 0; differs && box < op.getNumBoxes(); ++box)
        if (Value target = op.getBox(box).buffer;
            writes(op.getAccessKind(box)) && target.getDefiningOp<AllocOp>())
          tiles.insert(target);
    });
  }
  return tiles;
}

bool RowGrowth::takesAll(const Box &box, unsigned dim) const {
  return !box.isWhole() && constantOf(box.offsets[dim]) == 0 &&
         constantOf(box.sizes[dim]) == cast<MemRefType>(box.buffer.getType()).getDimSize(dim);
}

/// Copies whose part of a tensor follows that of the block before without a gap.
bool RowGrowth::matchMoves() {
  bool fine = true;
  launch.getBody().walk([&](CopyOp copy) {
    for (unsigned index : {0u, 1u}) {
      Box tensor = copy.getBox(index), tile = copy.getBox(1 - index);
      if (scopeOf(tensor.buffer) != Scope::Global)
        continue;
      for (unsigned dim = 0; dim < tensor.offsets.size(); ++dim) {
        std::optional<int64_t> move = factorIn(tensor.offsets[dim], number, launch.getBody());
        if (move == 0)
          continue;
        auto map = matchDims(tensor, tile);
        fine &= move && constantOf(tensor.sizes[dim]) == *move && !moving.contains(copy) &&
                scopeOf(tile.buffer) != Scope::Global && succeeded(map) && (*map)[dim] >= 0;
        if (!fine)
          return;
        moving[copy] = {index, dim};
        auto own = static_cast<unsigned>((*map)[dim]);
        fine &= rows.try_emplace(tile.buffer, own).first->second == own;
      }
    }
  });
  return fine && !moving.empty();
}

std::optional<SmallVector<RowGrowth::Place>> RowGrowth::linked(AccessInterface op,
                                                               Place place) const {
  auto [box, dim] = place;
  SmallVector<Place> found{place};
  auto add = [&](unsigned other, int64_t otherDim) {
    if (otherDim < 0)
      return false;
    found.emplace_back(other, static_cast<unsigned>(otherDim));
    return true;
  };
  if (isa<FillOp, IotaOp>(op))
    return found;
  if (isa<CopyOp>(op)) {
    auto map = matchDims(op.getBox(box), op.getBox(1 - box));
    if (failed(map) || !add(1 - box, (*map)[dim]))
      return std::nullopt;
    return found;
  }
  if (auto elementwise = dyn_cast<ElementwiseOp>(op.getOperation())) {
    int64_t domain = elementwise.getMap(box)[dim];
    for (unsigned other = 0; other < op.getNumBoxes() && domain >= 0; ++other)
      for (auto [otherDim, of] : llvm::enumerate(elementwise.getMap(other)))
        if (other != box && of == domain)
          add(other, static_cast<int64_t>(otherDim));
    return domain < 0 ? std::nullopt : std::optional(found);
  }
  if (auto reduce = dyn_cast<ReduceOp>(op.getOperation())) {
    SmallVector<int64_t> kept; // dimensions of the source in the order of the destination's
    size_t rank = reduce.getBox(1).offsets.size(), target = reduce.getBox(0).offsets.size();
    for (int64_t at = 0; at < static_cast<int64_t>(rank); ++at)
      if (!llvm::is_contained(reduce.getDims(), at) || target == rank)
        kept.push_back(llvm::is_contained(reduce.getDims(), at) ? -1 : at);
    if (kept.size() != target)
      return std::nullopt;
    if (box == 0)
      return add(1, kept[dim]) ? std::optional(found) : std::nullopt;
    auto at = llvm::find(kept, static_cast<int64_t>(dim));
    if (at == kept.end() || !add(0, at - kept.begin()))
      return std::nullopt;
    return found;
  }
  if (auto gemm = dyn_cast<GemmOp>(op.getOperation())) {
    if (llvm::any_of(llvm::seq(0u, 3u),
                     [&](unsigned at) { return op.getBox(at).offsets.size() != 2; }))
      return std::nullopt;
    unsigned rowsOfA = gemm.getTransposeA() ? 1 : 0, columnsOfB = gemm.getTransposeB() ? 0 : 1;
    if (box == 0)
      return add(dim == 0 ? 1 : 2, dim == 0 ? rowsOfA : columnsOfB) ? std::optional(found)
                                                                    : std::nullopt;
    if (dim != (box == 1 ? rowsOfA : columnsOfB))
      return std::nullopt; // the sum runs over it
    return add(0, box == 1 ? 0 : 1) ? std::optional(found) : std::nullopt;
  }
  return std::nullopt;
}

/// Hands the rows of one tile of the op to its others. False where they do not agree.
bool RowGrowth::propagate(AccessInterface op, bool &changed) {
  for (unsigned box = 0; box < op.getNumBoxes(); ++box) {
    Value buffer = op.getBox(box).buffer;
    auto known = rows.find(buffer);
    if (known == rows.end())
      continue;
    unsigned dim = known->second;
    auto places = linked(op, {box, dim});
    if (!places || !takesAll(op.getBox(box), dim))
      return false;
    for (auto [other, otherDim] : *places) {
      Value tile = op.getBox(other).buffer;
      if (scopeOf(tile) == Scope::Global) {
        auto *move = moving.find(op);
        if (move == moving.end() || move->second != Place(other, otherDim))
          return false;
        continue;
      }
      auto [at, isNew] = rows.try_emplace(tile, otherDim);
      changed |= isNew;
      if (at->second != otherDim)
        return false;
    }
  }
  return true;
}

/// All that an op does is the same for each block, apart from the rows.
bool RowGrowth::matchOp(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return loop.getNumResults() == 0 && areFixed({loop.getLowerBound(), loop.getUpperBound()});
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return branch.getNumResults() == 0 && areFixed(branch.getCondition());
  auto access = dyn_cast<AccessInterface>(op);
  if (!access)
    return isa<AllocOp>(op) || op->hasTrait<OpTrait::IsTerminator>() || isPure(op);
  if (!isa<CopyOp, FillOp, ElementwiseOp, ReduceOp, IotaOp, GemmOp>(op))
    return false;
  unsigned grown = 0;
  for (unsigned index = 0; index < access.getNumBoxes(); ++index) {
    Box box = access.getBox(index);
    bool isTensor = scopeOf(box.buffer) == Scope::Global;
    if (!areFixed(box.sizes) || (!isTensor && !areFixed(box.offsets)))
      return false;
    // What differs has rows; what has rows differs, or it would have to be repeated.
    if (!isTensor && tiles.contains(box.buffer) != rows.contains(box.buffer))
      return false;
    grown += !isTensor && rows.contains(box.buffer);
  }
  Value target = access.getBox(0).buffer;
  if (scopeOf(target) == Scope::Global && !moving.contains(op))
    return false; // both would write it
  if (!isa<CopyOp>(op) && grown && !rows.contains(target))
    return false;
  if (auto fill = dyn_cast<FillOp>(op))
    return areFixed(fill.getValue());
  if (auto elementwise = dyn_cast<ElementwiseOp>(op)) {
    if (!grown)
      return true;
    return !elementwise.getScalar() || areFixed(elementwise.getScalar());
  }
  if (auto gemm = dyn_cast<GemmOp>(op))
    return !gemm.getInit() || areFixed(gemm.getInit());
  if (auto iota = dyn_cast<IotaOp>(op)) {
    if (!areFixed(iota.getSteps()))
      return false;
    if (!grown)
      return areFixed(iota.getStart());
    unsigned dim = rows.lookup(target);
    auto step = constantOf(iota.getSteps()[dim]);
    auto move = factorIn(iota.getStart(), number, launch.getBody());
    return step && move && *move == *step * rowsOf(target);
  }
  return true;
}

bool RowGrowth::match() {
  tiles = tilesThatDiffer(launch, number);
  if (!matchMoves())
    return false;
  for (bool changed = true; changed;) {
    changed = false;
    WalkResult result = launch.getBody().walk([&](AccessInterface op) {
      return propagate(op, changed) ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return false;
  }
  WalkResult result = launch.getBody().walk(
      [&](Operation *op) { return matchOp(op) ? WalkResult::advance() : WalkResult::interrupt(); });
  return !result.wasInterrupted();
}

void RowGrowth::apply(int64_t count) {
  launch.getBody().walk([&](AccessInterface op) {
    OpBuilder builder(op);
    SmallVector<Value> offsets, sizes;
    bool isLarger = false;
    for (unsigned index = 0; index < op.getNumBoxes(); ++index) {
      Box box = op.getBox(index);
      SmallVector<Value> extents(box.sizes);
      std::optional<unsigned> dim;
      if (auto known = rows.find(box.buffer); known != rows.end())
        dim = known->second;
      else if (auto *found = moving.find(op); found != moving.end() && found->second.first == index)
        dim = found->second.second;
      if (dim) {
        extents[*dim] =
            builder.create<arith::ConstantIndexOp>(op.getLoc(), *constantOf(extents[*dim]) * count);
        isLarger = true;
      }
      llvm::append_range(offsets, box.offsets);
      llvm::append_range(sizes, extents);
    }
    if (isLarger)
      setBoxes(op, offsets, sizes);
  });
  for (Value tile : tiles) {
    auto type = cast<MemRefType>(tile.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[rows.lookup(tile)] *= count;
    tile.setType(
        MemRefType::get(shape, type.getElementType(), type.getLayout(), type.getMemorySpace()));
  }
  mergeBlocks(launch, extent, count);
}
