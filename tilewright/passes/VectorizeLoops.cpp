// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Serial loops whose turns have nothing to do with each other are loops over lanes.

#include "tilewright/passes/TileUtils.h"
#include "tilewright/passes/Vectorize.h"

#include "mlir/Interfaces/ViewLikeInterface.h"

#define DEBUG_TYPE "tile-vectorize-parallel"

using namespace mlir;

namespace tilewright::passes::vectorize {

namespace {

/// True if `index` is `iv`, or `iv` plus something from outside the region.
bool isDirect(Value index, Value iv, Region &region) {
  auto isOuter = [&](Value value) {
    return !region.isAncestor(value.getParentRegion()) || tile::constantOf(value).has_value();
  };
  while (index != iv) {
    Operation *op = index.getDefiningOp();
    if (!op || isOuter(index))
      return false;
    if (isa<arith::IndexCastOp, arith::ExtSIOp>(op) && !mayWrap(op->getResult(0).getType()))
      index = op->getOperand(0);
    else if (!isa<arith::AddIOp>(op))
      return false;
    else if (isOuter(op->getOperand(1)))
      index = op->getOperand(0);
    else if (isOuter(op->getOperand(0)))
      index = op->getOperand(1);
    else
      return false;
  }
  return true;
}

/// Equal values, or equal ways to compute them without effects.
bool isSameIndex(Value a, Value b) {
  if (a == b)
    return true;
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  return x && y && isMemoryEffectFree(x) && x->getNumRegions() == 0 &&
         OperationEquivalence::isEquivalentTo(
             x, y, [](Value p, Value q) { return success(isSameIndex(p, q)); }, nullptr,
             OperationEquivalence::IgnoreLocations);
}

} // namespace

bool isLaneLocal(Region &region, ArrayRef<Value> ivs) {
  DenseMap<Value, SmallVector<Value>> written;
  bool local = true;
  auto check = [&](Value buffer, ValueRange indices, bool isWrite) {
    local &= !buffer.getDefiningOp<ViewLikeOpInterface>(); // may be another name of the same memory
    auto known = written.find(buffer);
    if (known != written.end()) {
      local &= llvm::all_of(llvm::zip(known->second, indices), [](auto pair) {
        return isSameIndex(std::get<0>(pair), std::get<1>(pair));
      });
      return;
    }
    if (!isWrite)
      return;
    for (Value iv : ivs)
      local &= llvm::any_of(indices, [&](Value index) { return isDirect(index, iv, region); });
    written[buffer] = SmallVector<Value>(indices);
  };
  for (bool writing : {true, false})
    region.walk([&](Operation *op) {
      if (auto store = dyn_cast<tile::StoreOp>(op); store && writing)
        check(store.getBuffer(), store.getIndices(), true);
      else if (auto load = dyn_cast<tile::LoadOp>(op); load && !writing)
        check(load.getBuffer(), load.getIndices(), false);
      else if (isa<AccessInterface, tile::PrintOp, tile::AssertOp>(op) &&
               !isa<tile::StoreOp, tile::LoadOp>(op))
        local = false;
    });
  return local;
}

/// The extent of `loop` as a loop over lanes, made before it; null where it cannot be one: turns
/// depend on each other, or the bounds on values of `root`.
static Value extentAsLanes(OpBuilder &builder, scf::ForOp loop, Operation *root) {
  auto isOuter = [&](Value value) {
    return !root->isAncestor(value.getParentRegion()->getParentOp());
  };
  auto lower = tile::constantOf(loop.getLowerBound()), step = tile::constantOf(loop.getStep());
  Value upper = loop.getUpperBound();
  auto bound = upperBound(upper);
  if (loop.getNumResults() != 0 || !upper.getType().isIndex() || !step || *step != 1 || !lower ||
      *lower < 0 || !bound || *bound <= *lower || !(isOuter(upper) || tile::constantOf(upper)) ||
      !isLaneLocal(loop.getRegion(), loop.getInductionVar()))
    return {};
  if (*lower == 0)
    return upper;
  return builder.createOrFold<arith::SubIOp>(loop.getLoc(), upper, loop.getLowerBound());
}

/// `loop` as a loop over `extent` lanes.
static void makeParallel(OpBuilder &builder, scf::ForOp loop, Value extent) {
  Location loc = loop.getLoc();
  auto inner = builder.create<tile::ParallelOp>(loc, extent);
  Block *body = &inner.getBody().emplaceBlock();
  Value iv = body->addArgument(builder.getIndexType(), loc);
  loop.getBody()->getTerminator()->erase();
  body->getOperations().splice(body->end(), loop.getBody()->getOperations());
  builder.setInsertionPointToStart(body);
  if (tile::constantOf(loop.getLowerBound()) != std::optional<int64_t>(0))
    iv = builder.create<arith::AddIOp>(loc, iv, loop.getLowerBound());
  loop.getInductionVar().replaceAllUsesWith(iv);
  tile::ParallelOp::ensureTerminator(inner.getBody(), builder, loc);
  loop.erase();
}

void parallelizeLoops(tile::ParallelOp root) {
  SmallVector<scf::ForOp> loops;
  root.walk([&](scf::ForOp op) { loops.push_back(op); });
  for (scf::ForOp loop : loops) {
    OpBuilder builder(loop);
    if (Value extent = extentAsLanes(builder, loop, root))
      makeParallel(builder, loop, extent);
  }
}

/// True for a nest that works element by element on tiles and tensors, on enough of them for
/// vector instructions to pay.
static bool isElementwiseNest(scf::ForOp loop) {
  constexpr int64_t kLeast = 32; // elements
  int64_t turns = 1;
  bool fits = true, stores = false;
  loop->walk([&](Operation *op) {
    if (auto inner = dyn_cast<scf::ForOp>(op)) {
      auto lower = tile::constantOf(inner.getLowerBound());
      auto bound = upperBound(inner.getUpperBound());
      fits &= inner.getNumResults() == 0 && lower && bound;
      turns *= fits ? std::clamp<int64_t>(*bound - *lower, 1, kLeast) : 1;
    } else if (isa<tile::StoreOp>(op)) {
      stores = true;
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      fits &= branch.getNumResults() == 0;
    } else {
      fits &= isa<tile::LoadOp>(op) || op->hasTrait<OpTrait::IsTerminator>() ||
              (isMemoryEffectFree(op) && op->getNumRegions() == 0);
    }
    return fits ? WalkResult::advance() : WalkResult::interrupt();
  });
  return fits && stores && turns >= kLeast;
}

void parallelizeSerialLoops(func::FuncOp function) {
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto launch = dyn_cast<tile::LaunchOp>(op);
    if (isa<tile::ParallelOp>(op) || (launch && tile::isByHand(launch)))
      return WalkResult::skip();
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop || !loop->getParentOfType<tile::LaunchOp>() || !isElementwiseNest(loop))
      return WalkResult::advance();
    OpBuilder builder(loop);
    Value extent = extentAsLanes(builder, loop, loop);
    if (!extent)
      return WalkResult::advance(); // perhaps a loop inside
    remark(loop, DEBUG_TYPE, "applied")
        << "the loop's turns are independent: it runs as T.Parallel does";
    makeParallel(builder, loop, extent);
    return WalkResult::skip();
  });
}

} // namespace tilewright::passes::vectorize
