// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-forward-scalars: scalars that both kinds of core can get at.

#include "tilewright/passes/TileUtils.h"

#include "mlir/IR/Dominance.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEFORWARDSCALARS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-forward-scalars";
constexpr int64_t kMostVariables = 16; ///< elements of a tile that become variables

/// The element at constant indices within `type`; none for other indices.
std::optional<int64_t> elementAt(ValueRange indices, MemRefType type) {
  int64_t flat = 0;
  for (auto [index, extent] : llvm::zip(indices, type.getShape())) {
    std::optional<int64_t> constant = constantOf(index);
    if (!constant || *constant < 0 || *constant >= extent)
      return std::nullopt;
    flat = flat * extent + *constant;
  }
  return flat;
}

/// A small tile of which only single elements at constant places are read and written, by one
/// program, is a handful of variables.
void makeVariables(AllocOp alloc) {
  auto type = cast<MemRefType>(alloc.getType());
  if (!isUnplaced(alloc) || type.getNumElements() > kMostVariables || alloc->use_empty())
    return;
  for (Operation *user : alloc->getUsers()) {
    auto load = dyn_cast<tile::LoadOp>(user);
    auto store = dyn_cast<tile::StoreOp>(user);
    if (!load && !store)
      return;
    ValueRange indices = load ? load.getIndices() : store.getIndices();
    if (!elementAt(indices, type) || user->getParentOfType<ParallelOp>())
      return;
  }
  OpBuilder builder(alloc);
  auto element = MemRefType::get({}, type.getElementType(), AffineMap(),
                                 ScopeAttr::get(alloc.getContext(), Scope::Local));
  SmallVector<Value> variables;
  for (int64_t at = 0; at < type.getNumElements(); ++at) {
    std::string name = alloc.getName().str();
    if (type.getNumElements() > 1)
      name += "." + std::to_string(at);
    variables.push_back(builder.create<AllocOp>(
        alloc.getLoc(), element, builder.getStringAttr(name), builder.getI64IntegerAttr(1)));
  }
  for (Operation *user : llvm::make_early_inc_range(alloc->getUsers())) {
    builder.setInsertionPoint(user);
    if (auto load = dyn_cast<tile::LoadOp>(user)) {
      Value variable = variables[*elementAt(load.getIndices(), type)];
      load.replaceAllUsesWith(builder
                                  .create<tile::LoadOp>(load.getLoc(), load.getType(), variable,
                                                        ValueRange(), FloatAttr())
                                  .getResult());
    } else {
      auto store = cast<tile::StoreOp>(user);
      builder.create<tile::StoreOp>(store.getLoc(), store.getValue(),
                                    variables[*elementAt(store.getIndices(), type)], ValueRange());
    }
    user->erase();
  }
  alloc.erase();
}

/// Reads of tiles that hold a copy of a tensor which the launch does not write.
class Forwarder {
public:
  explicit Forwarder(LaunchOp launch) : launch(launch), dominance(launch) {
    launch.walk([&](AccessInterface op) {
      for (unsigned box = 0; box < op.getNumBoxes(); ++box)
        if (writes(op.getAccessKind(box)))
          writers[op.getBox(box).buffer].push_back(op);
    });
  }

  void run() {
    SmallVector<tile::LoadOp> loads;
    launch.walk([&](tile::LoadOp load) {
      auto alloc = load.getBuffer().getDefiningOp<AllocOp>();
      if (alloc && isUnplaced(alloc) && !load->getParentOfType<ParallelOp>())
        loads.push_back(load);
    });
    for (tile::LoadOp load : loads)
      forward(load);
  }

private:
  void forward(tile::LoadOp load) {
    ArrayRef<Operation *> found = writers[load.getBuffer()];
    auto copy = found.size() == 1 ? dyn_cast<CopyOp>(found.front()) : CopyOp();
    if (!copy || copy->getParentOfType<ParallelOp>() || !dominance.properlyDominates(copy, load))
      return;
    Box dst = copy.getBox(0), src = copy.getBox(1);
    auto type = cast<MemRefType>(src.buffer.getType());
    if (scopeOf(src.buffer) != Scope::Global || writers.count(src.buffer) || !coversBuffer(dst) ||
        type.getElementType() != cast<MemRefType>(dst.buffer.getType()).getElementType())
      return;
    FailureOr<SmallVector<int64_t>> map = matchDims(src, dst);
    if (failed(map))
      return;
    OpBuilder builder(load);
    SmallVector<Value> indices;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      Value index = src.offsets.empty()
                        ? builder.create<arith::ConstantIndexOp>(load.getLoc(), 0).getResult()
                        : src.offsets[dim];
      if (int64_t from = (*map)[dim]; from >= 0)
        index = builder.createOrFold<arith::AddIOp>(load.getLoc(), index, load.getIndices()[from]);
      indices.push_back(index);
    }
    remark(load, kPass, "applied")
        << "an element of '" << nameOf(load.getBuffer()) << "' is read from '" << nameOf(src.buffer)
        << "' itself, where both kinds of core can";
    auto direct = builder.create<tile::LoadOp>(load.getLoc(), load.getType(), src.buffer, indices,
                                               copy.getPadAttr());
    load.replaceAllUsesWith(direct.getResult());
    load.erase();
  }

  LaunchOp launch;
  DominanceInfo dominance;
  llvm::DenseMap<Value, SmallVector<Operation *>> writers;
};

struct TileForwardScalars : passes::impl::TileForwardScalarsBase<TileForwardScalars> {
  void runOnOperation() override {
    getOperation().walk([&](LaunchOp launch) {
      bool usesCube = launch.walk([](GemmOp) { return WalkResult::interrupt(); }).wasInterrupted();
      if (!usesCube || isByHand(launch))
        return;
      for (AllocOp alloc : llvm::to_vector(launch.getOps<AllocOp>()))
        makeVariables(alloc);
      Forwarder(launch).run();
    });
  }
};

} // namespace
