// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/builder/BuilderImpl.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::builder {

namespace {

/// The number of values of `index` if it is a loop variable of `loop` with a constant extent.
std::optional<int64_t> lanesOf(mlir::Value index, tile::ParallelOp loop) {
  auto variable = dyn_cast<BlockArgument>(index);
  if (!variable || variable.getOwner() != &loop.getBody().front())
    return std::nullopt;
  return tile::constantOf(loop.getExtents()[variable.getArgNumber()]);
}

/// The loop whose lanes all run `op`; null where a condition may keep some from it.
tile::ParallelOp loopOfAllLanes(Operation *op) {
  return dyn_cast_or_null<tile::ParallelOp>(op->getParentOp());
}

} // namespace

/// A fragment of a GPU is spread over the registers of threads as the loops over it say, and
/// kernels count on a loop over more indices than were declared finding a register for each. Such a
/// fragment gets the extent of its largest unconditional loop; whole-tile operations keep the
/// declared box. Elements of other tiles must lie inside.
void growFragments(func::FuncOp function) {
  function.walk([](Operation *op) {
    mlir::Value buffer;
    OperandRange indices(nullptr, 0);
    if (auto load = dyn_cast<tile::LoadOp>(op))
      buffer = load.getBuffer(), indices = load.getIndices();
    else if (auto store = dyn_cast<tile::StoreOp>(op))
      buffer = store.getBuffer(), indices = store.getIndices();
    else
      return;
    auto alloc = buffer.getDefiningOp<tile::AllocOp>();
    tile::ParallelOp loop = loopOfAllLanes(op);
    if (!alloc || !loop || tile::scopeOf(buffer) != tile::Scope::Fragment)
      return;
    auto type = cast<MemRefType>(buffer.getType());
    SmallVector<int64_t> shape(type.getShape());
    for (auto [dim, index] : llvm::enumerate(indices))
      shape[dim] = std::max(shape[dim], lanesOf(index, loop).value_or(0));
    if (shape == SmallVector<int64_t>(type.getShape()))
      return;
    if (!alloc->hasAttr(tile::kDeclaredAttr))
      alloc->setAttr(tile::kDeclaredAttr,
                     DenseI64ArrayAttr::get(op->getContext(), type.getShape()));
    alloc.getResult().setType(MemRefType::Builder(type).setShape(shape));
  });
}

} // namespace tilewright::builder
