// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/BlockWidening.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

void setExtent(Value tile, int64_t dim, int64_t extent) {
  auto type = cast<MemRefType>(tile.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = extent;
  tile.setType(
      MemRefType::get(shape, type.getElementType(), type.getLayout(), type.getMemorySpace()));
}

/// `value` is `number` times constants, without anything added.
bool isMultiple(Value value, Value number) {
  auto product = value.getDefiningOp<arith::MulIOp>();
  if (!product)
    return value == number;
  return (constantOf(product.getLhs()) && isMultiple(product.getRhs(), number)) ||
         (constantOf(product.getRhs()) && isMultiple(product.getLhs(), number));
}

} // namespace

bool BlockWidening::takes(LaunchOp launch) {
  if (isByHand(launch) || !writesInOnePlace(launch))
    return false;
  bool hasProduct = false;
  WalkResult result = launch.getBody().walk([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return loop.getNumResults() == 0 ? WalkResult::advance() : WalkResult::interrupt();
    if (auto access = dyn_cast<AccessInterface>(op)) {
      if (!isa<CopyOp, GemmOp>(op))
        return WalkResult::interrupt();
      for (unsigned box = 0; box < access.getNumBoxes(); ++box)
        if (Scope scope = scopeOf(access.getBox(box).buffer);
            scope == Scope::UB || scope == Scope::L0A || scope == Scope::L0B)
          return WalkResult::interrupt();
      hasProduct |= isa<GemmOp>(op);
      return WalkResult::advance();
    }
    bool isKnown = isa<AllocOp>(op) || op->hasTrait<OpTrait::IsTerminator>() || isPure(op);
    return isKnown ? WalkResult::advance() : WalkResult::interrupt();
  });
  return hasProduct && !result.wasInterrupted();
}

/// True when both blocks have the same values.
bool BlockWidening::areFixed(ValueRange values) const {
  return passes::areFixed(values, number, launch.getBody());
}

int64_t BlockWidening::dimOf(Value tile) const {
  const auto *found = tiles.find(tile);
  return found == tiles.end() ? -1 : found->second;
}

/// Notes that the tile grows along `dim`, all of which the box covers.
bool BlockWidening::setDim(const Box &box, int64_t dim) {
  auto type = cast<MemRefType>(box.buffer.getType());
  if (dim < 0 || !box.buffer.getDefiningOp<AllocOp>() || constantOf(box.offsets[dim]) != 0 ||
      constantOf(box.sizes[dim]) != type.getDimSize(dim))
    return false;
  return tiles.try_emplace(box.buffer, dim).first->second == dim;
}

/// A copy from or to global memory: the second block's part of the tensor follows the first's.
bool BlockWidening::matchMove(CopyOp copy) {
  for (unsigned index : {0u, 1u}) {
    Box box = copy.getBox(index), other = copy.getBox(1 - index);
    for (unsigned dim = 0; dim < box.offsets.size(); ++dim) {
      std::optional<int64_t> move = factorIn(box.offsets[dim], number, launch.getBody());
      if (!move || !areFixed(box.sizes[dim]))
        return false;
      if (*move == 0)
        continue;
      auto map = matchDims(box, other);
      if (scopeOf(box.buffer) != Scope::Global || grows(copy) ||
          constantOf(box.sizes[dim]) != *move || failed(map) || !setDim(other, (*map)[dim]))
        return false;
      growths[copy] = {{index, dim}, {1 - index, static_cast<unsigned>((*map)[dim])}};
    }
  }
  return true;
}

/// What a copy does with tiles that grow is what it does with the tensor.
bool BlockWidening::matchTiles(CopyOp copy) {
  if (grows(copy))
    return true;
  return llvm::none_of(llvm::seq(0u, 2u),
                       [&](unsigned box) { return grows(copy.getBox(box).buffer); });
}

/// Rows of the sum grow with rows of A, columns with columns of B.
bool BlockWidening::matchGemm(GemmOp gemm) {
  Box sum = gemm.getBox(0), a = gemm.getBox(1), b = gemm.getBox(2);
  if ((gemm.getInit() && !areFixed(gemm.getInit())) || sum.offsets.size() != 2 ||
      a.offsets.size() != 2 || b.offsets.size() != 2)
    return false;
  for (const Box &box : {sum, a, b})
    if (!areFixed(box.offsets) || !areFixed(box.sizes) ||
        (grows(box.buffer) && !setDim(box, dimOf(box.buffer))))
      return false;
  unsigned rowsOfA = gemm.getTransposeA() ? 1 : 0, columnsOfB = gemm.getTransposeB() ? 0 : 1;
  int64_t ofSum = dimOf(sum.buffer), ofA = dimOf(a.buffer), ofB = dimOf(b.buffer);
  if (ofSum == 0 && ofA == rowsOfA && ofB < 0)
    growths[gemm] = {{0, 0}, {1, rowsOfA}};
  else if (ofSum == 1 && ofB == columnsOfB && ofA < 0)
    growths[gemm] = {{0, 1}, {2, columnsOfB}};
  else
    return ofSum < 0 && ofA < 0 && ofB < 0;
  return true;
}

bool BlockWidening::match() {
  SmallVector<CopyOp> copies;
  SmallVector<GemmOp> gemms;
  launch.getBody().walk([&](CopyOp copy) { copies.push_back(copy); });
  launch.getBody().walk([&](GemmOp gemm) { gemms.push_back(gemm); });
  return llvm::all_of(copies, [&](CopyOp copy) { return matchMove(copy); }) &&
         llvm::all_of(copies, [&](CopyOp copy) { return matchTiles(copy); }) &&
         llvm::all_of(gemms, [&](GemmOp gemm) { return matchGemm(gemm); }) && !growths.empty();
}

bool BlockWidening::growsRows(CopyOp copy) const {
  const auto *found = growths.find(copy);
  if (found == growths.end())
    return false;
  return llvm::any_of(found->second, [&](auto growth) {
    Box box = copy.getBox(growth.first);
    return scopeOf(box.buffer) == Scope::Global && growth.second + 1 == box.sizes.size();
  });
}

void BlockWidening::apply() {
  for (auto [tile, dim] : tiles)
    setExtent(tile, dim, 2 * cast<MemRefType>(tile.getType()).getDimSize(dim));
  for (auto &[op, boxes] : growths)
    for (auto [box, dim] : boxes)
      growSize(op, box, dim, 2);
  mergeBlocks(launch, extent, 2);
}

int64_t BlockWidening::dimOf(Operation *op, unsigned box) const {
  const auto *found = growths.find(op);
  if (found != growths.end())
    for (auto [index, dim] : found->second)
      if (index == box)
        return dim;
  return -1;
}

void BlockWidening::forEachMove(
    llvm::function_ref<void(CopyOp, unsigned box, unsigned dim)> visit) const {
  for (const auto &[op, boxes] : growths)
    if (auto copy = dyn_cast<CopyOp>(op))
      for (auto [box, dim] : boxes)
        if (scopeOf(copy.getBox(box).buffer) == Scope::Global)
          visit(copy, box, dim);
}

std::optional<BlockWidening::Share> BlockWidening::share() const {
  Share share;
  bool isOne = true;
  forEachMove([&](CopyOp copy, unsigned index, unsigned dim) {
    Box box = copy.getBox(index);
    int64_t step = *constantOf(box.sizes[dim]);
    int64_t total = cast<MemRefType>(box.buffer.getType()).getDimSize(dim);
    if (share.step == 0)
      share = {step, total};
    isOne &= step == share.step && total == share.total && isMultiple(box.offsets[dim], number);
  });
  auto blocks = constantOf(launch.getGrid()[extent]);
  isOne &= share.step > 0 && !ShapedType::isDynamic(share.total) &&
           blocks == llvm::divideCeil(share.total, share.step);
  launch.getBody().walk([&](scf::ForOp loop) {
    isOne &= areFixed({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
  });
  if (!isOne)
    return std::nullopt;
  return share;
}

void BlockWidening::resize(int64_t step) {
  Share before = *share();
  forEachMove([&](CopyOp copy, unsigned box, unsigned dim) {
    unsigned at = dim + (box == 1 ? copy.getBox(0).offsets.size() : 0);
    OpBuilder builder(copy);
    Value length = builder.create<arith::ConstantIndexOp>(copy.getLoc(), step);
    copy.getOffsetsMutable()[at].set(builder.create<arith::MulIOp>(copy.getLoc(), number, length));
  });
  for (auto [tile, dim] : tiles)
    setExtent(tile, dim, step);
  for (auto &[op, boxes] : growths)
    for (auto [box, dim] : boxes)
      setSize(op, box, dim, step);
  OpBuilder builder(launch);
  launch.getGridMutable()[extent].set(builder.create<arith::ConstantIndexOp>(
      launch.getLoc(), llvm::divideCeil(before.total, step)));
}
