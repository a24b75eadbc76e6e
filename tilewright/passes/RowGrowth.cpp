// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/RowGrowth.h"

#include "tilewright/passes/Ranges.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

int64_t RowGrowth::rowsOf(Value tile) const {
  return cast<MemRefType>(tile.getType()).getDimSize(rows.lookup(tile));
}

std::optional<int64_t> passes::blocksWhenMerged(LaunchOp launch, unsigned extent, int64_t count,
                                                bool endsWithTensors) {
  int64_t blocks = 1;
  for (auto [index, size] : llvm::enumerate(launch.getGrid())) {
    std::optional<int64_t> constant = constantOf(size);
    if (!constant || (index == extent && *constant % count != 0 && !endsWithTensors))
      return std::nullopt;
    blocks *= index == extent ? llvm::divideCeil(*constant, count) : *constant;
  }
  return blocks;
}

bool passes::endsWithTensor(LaunchOp launch, unsigned extent, const Box &tensor, unsigned dim) {
  std::optional<int64_t> blocks = constantOf(launch.getGrid()[extent]);
  std::optional<int64_t> move =
      factorIn(tensor.offsets[dim], launch.getBody().getArgument(extent), launch.getBody());
  std::optional<Bounds> offsets = rangeOf(tensor.offsets[dim]);
  int64_t size = cast<MemRefType>(tensor.buffer.getType()).getDimSize(dim);
  return blocks && move && *move > 0 && offsets && offsets->low >= 0 &&
         !ShapedType::isDynamic(size) && size <= *move * *blocks;
}

llvm::DenseMap<Value, int64_t> passes::readsThatAgree(LaunchOp launch, Value number) {
  llvm::DenseSet<Value> written;
  llvm::DenseMap<Value, SmallVector<StoreOp>> stores; // of variables
  SmallVector<LoadOp> loads;
  launch.getBody().walk([&](AccessInterface op) {
    if (auto load = dyn_cast<LoadOp>(op.getOperation()))
      loads.push_back(load);
    if (auto store = dyn_cast<StoreOp>(op.getOperation()))
      stores[store.getBuffer()].push_back(store);
    for (unsigned box = 0; box < op.getNumBoxes(); ++box)
      if (writes(op.getAccessKind(box)))
        written.insert(op.getBox(box).buffer);
  });
  llvm::DenseMap<Value, int64_t> agreeing;
  auto isFixed = [&](ValueRange values) {
    return llvm::all_of(values, [&](Value value) {
      return factorIn(value, number, launch.getBody(), agreeing) == 0;
    });
  };
  // Stored by all blocks alike: the value, and whether it is stored.
  auto isAgreed = [&](StoreOp store) {
    for (Operation *op = store->getParentOp(); op != launch; op = op->getParentOp())
      if (!isa<scf::ForOp, scf::IfOp>(op) || !isFixed(op->getOperands()))
        return false;
    return isFixed(store.getValue());
  };
  auto isSame = [&](LoadOp load) {
    Value buffer = load.getBuffer();
    if (scopeOf(buffer) == Scope::Local)
      return llvm::all_of(stores[buffer], isAgreed);
    return scopeOf(buffer) == Scope::Global && !written.contains(buffer) &&
           isFixed(load.getIndices());
  };
  for (LoadOp load : loads)
    agreeing[load] = 0;
  while (true) {
    LoadOp *other =
        llvm::find_if(loads, [&](LoadOp load) { return agreeing.contains(load) && !isSame(load); });
    if (other == loads.end())
      return agreeing;
    agreeing.erase(*other);
  }
}

llvm::SetVector<Value> passes::tilesThatDiffer(LaunchOp launch, Value number,
                                               const llvm::DenseMap<Value, int64_t> &agreeing) {
  llvm::SetVector<Value> tiles;
  for (size_t known = ~size_t(0); known != tiles.size();) {
    known = tiles.size();
    launch.getBody().walk([&](AccessInterface op) {
      bool differs = !llvm::all_of(op->getOperands(), [&](Value value) {
        return isa<MemRefType>(value.getType())
                   ? !tiles.contains(value)
                   : factorIn(value, number, launch.getBody(), agreeing) == 0;
      });
      for (unsigned box = 0; differs && box < op.getNumBoxes(); ++box)
        if (Value target = op.getBox(box).buffer;
            writes(op.getAccessKind(box)) && target.getDefiningOp<AllocOp>())
          tiles.insert(target);
    });
  }
  return tiles;
}

bool RowGrowth::endsWithTensors() const {
  return llvm::all_of(moving, [&](const auto &entry) {
    auto [box, dim] = entry.second;
    return endsWithTensor(launch, extent, cast<AccessInterface>(entry.first).getBox(box), dim);
  });
}

bool RowGrowth::takesAll(const Box &box, unsigned dim) const {
  return !box.isWhole() && constantOf(box.offsets[dim]) == 0 &&
         constantOf(box.sizes[dim]) == cast<MemRefType>(box.buffer.getType()).getDimSize(dim);
}

/// The size of a box along `dim` where that is the part of the tile's rows in front of an end that
/// lies elsewhere for each block: max(min(rows, end - number * rows), 0). Null otherwise.
Value RowGrowth::headOf(const Box &box, unsigned dim) const {
  if (box.isWhole() || constantOf(box.offsets[dim]) != 0)
    return {};
  int64_t rows = cast<MemRefType>(box.buffer.getType()).getDimSize(dim);
  auto above = box.sizes[dim].getDefiningOp<arith::MaxSIOp>();
  auto below = above ? above.getLhs().getDefiningOp<arith::MinSIOp>() : arith::MinSIOp();
  if (!below || constantOf(above.getRhs()) != 0 || constantOf(below.getLhs()) != rows ||
      factorOf(below.getRhs()) != -rows)
    return {};
  return box.sizes[dim];
}

/// The size of such a part of a tile with `count` times the rows: the parts of its blocks follow
/// each other without a gap, since only the last one that is not empty may be shorter.
Value RowGrowth::longer(Value head, int64_t count) {
  if (Value known = longerHeads.lookup(head))
    return known;
  auto above = head.getDefiningOp<arith::MaxSIOp>();
  auto below = above.getLhs().getDefiningOp<arith::MinSIOp>();
  OpBuilder builder(above);
  Location loc = above.getLoc();
  Value rows = builder.create<arith::ConstantIndexOp>(loc, *constantOf(below.getLhs()) * count);
  Value least = builder.create<arith::MinSIOp>(loc, rows, below.getRhs());
  return longerHeads[head] = builder.create<arith::MaxSIOp>(loc, least, above.getRhs());
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
        std::optional<int64_t> move = factorOf(tensor.offsets[dim]);
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
    if (!places || (!takesAll(op.getBox(box), dim) && !headOf(op.getBox(box), dim)))
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
  if (auto load = dyn_cast<LoadOp>(op))
    return agreeing.contains(load);
  if (auto store = dyn_cast<StoreOp>(op))
    return scopeOf(store.getBuffer()) == Scope::Local && !tiles.contains(store.getBuffer());
  if (!isa<CopyOp, FillOp, ElementwiseOp, ReduceOp, IotaOp, GemmOp>(op))
    return false;
  unsigned grown = 0;
  for (unsigned index = 0; index < access.getNumBoxes(); ++index) {
    Box box = access.getBox(index);
    bool isTensor = scopeOf(box.buffer) == Scope::Global;
    for (unsigned dim = 0; dim < box.sizes.size(); ++dim)
      if (!areFixed(box.sizes[dim]) && (isTensor || !rows.contains(box.buffer) ||
                                        rows.lookup(box.buffer) != dim || !headOf(box, dim)))
        return false;
    if (!isTensor && !areFixed(box.offsets))
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
    auto move = factorOf(iota.getStart());
    return step && move && *move == *step * rowsOf(target);
  }
  return true;
}

bool RowGrowth::match() {
  agreeing = readsThatAgree(launch, number);
  tiles = tilesThatDiffer(launch, number, agreeing);
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
        auto size = constantOf(extents[*dim]);
        extents[*dim] =
            size ? builder.create<arith::ConstantIndexOp>(op.getLoc(), *size * count).getResult()
                 : longer(extents[*dim], count);
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
