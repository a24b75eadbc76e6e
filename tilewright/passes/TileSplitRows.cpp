// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/Chip.h"
#include "tilewright/passes/SharedGlobals.h"
#include "tilewright/passes/TileUtils.h"

#include "llvm/ADT/EquivalenceClasses.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILESPLITROWS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-split-rows";

/// Dimensions of vector tiles that must be cut together, and those that cannot be cut.
///
/// A node is one dimension of one UB tile. Ops tie the dimensions that follow the same dimension of
/// their domain; an op that mixes elements along a dimension, or names a part of it, pins that
/// dimension.
class RowLattice {
public:
  explicit RowLattice(LaunchOp launch) {
    launch.walk([&](AllocOp alloc) {
      auto type = cast<MemRefType>(alloc.getType());
      if (scopeOf(alloc) != Scope::UB)
        return;
      first[alloc] = extents.size();
      for (int64_t extent : type.getShape()) {
        parent.push_back(parent.size());
        extents.push_back(extent);
        pinned.push_back(extent < 2);
        weight.push_back(0);
      }
    });
    launch.walk([&](AccessInterface op) { visit(op); });
  }

  /// Classes to cut, those with most work first, or outer dimensions first; no tile has dimensions
  /// of two of them.
  SmallVector<unsigned> choose(bool outerFirst = false) {
    llvm::MapVector<unsigned, int64_t> total;
    llvm::DenseMap<unsigned, bool> fixed;
    for (unsigned node = 0; node < parent.size(); ++node) {
      unsigned root = find(node);
      total[root] += weight[node];
      fixed[root] = fixed[root] || pinned[node] || extents[node] != extents[root];
    }
    for (auto [alloc, node] : first) // one tile cannot be cut along two dimensions
      for (unsigned a = 0, rank = rankOf(alloc); a < rank; ++a)
        for (unsigned b = a + 1; b < rank; ++b)
          if (find(node + a) == find(node + b))
            fixed[find(node + a)] = true;
    SmallVector<unsigned> order, chosen;
    for (auto [root, work] : total)
      if (!fixed[root] && work > 0)
        order.push_back(root);
    llvm::DenseMap<unsigned, unsigned> innermost;
    for (auto [alloc, node] : first)
      for (unsigned dim = 0; dim < rankOf(alloc); ++dim)
        innermost[find(node + dim)] = std::max(innermost[find(node + dim)], dim);
    auto rank = [&](unsigned root) {
      return std::tuple(outerFirst ? innermost[root] : 0, -total[root], root);
    };
    llvm::sort(order, [&](unsigned a, unsigned b) { return rank(a) < rank(b); });
    llvm::DenseSet<Value> cut;
    for (unsigned root : order) {
      SmallVector<Value> members;
      for (auto [alloc, node] : first)
        if (dimIn(alloc, root) >= 0)
          members.push_back(alloc);
      if (llvm::any_of(members, [&](Value member) { return cut.contains(member); }))
        continue;
      cut.insert(members.begin(), members.end());
      chosen.push_back(root);
    }
    return chosen;
  }

  /// Dimension of `alloc` in class `root`, -1 for none.
  int64_t dimIn(Value alloc, unsigned root) {
    for (unsigned dim = 0; dim < rankOf(alloc); ++dim)
      if (find(first[alloc] + dim) == root)
        return dim;
    return -1;
  }
  int64_t extentOf(unsigned root) const { return extents[root]; }

private:
  static unsigned rankOf(Value alloc) { return cast<MemRefType>(alloc.getType()).getRank(); }
  unsigned find(unsigned node) {
    while (parent[node] != node)
      node = parent[node] = parent[parent[node]];
    return node;
  }
  void tie(unsigned a, unsigned b) {
    a = find(a), b = find(b);
    parent[std::max(a, b)] = std::min(a, b);
  }
  bool isTile(Value buffer) const { return first.count(buffer) != 0; }
  void pin(Value buffer, unsigned dim) { pinned[first[buffer] + dim] = true; }
  void pinAll(AccessInterface op) {
    for (unsigned box = 0; box < op.getNumBoxes(); ++box)
      if (Value buffer = op.getBox(box).buffer; isTile(buffer))
        for (unsigned dim = 0; dim < rankOf(buffer); ++dim)
          pin(buffer, dim);
  }
  void pinParts(const Box &box);
  void visit(AccessInterface op);

  llvm::MapVector<Value, unsigned> first; ///< node of dimension 0
  SmallVector<unsigned> parent;
  SmallVector<int64_t> extents, weight;
  SmallVector<bool> pinned;
};

/// Pins every dimension of which the box names a part only.
void RowLattice::pinParts(const Box &box) {
  if (!isTile(box.buffer) || box.isWhole())
    return;
  auto type = cast<MemRefType>(box.buffer.getType());
  for (unsigned dim = 0; dim < rankOf(box.buffer); ++dim)
    if (constantOf(box.offsets[dim]) != 0 || constantOf(box.sizes[dim]) != type.getDimSize(dim))
      pin(box.buffer, dim);
}

void RowLattice::visit(AccessInterface op) {
  if (isa<tile::LoadOp, tile::StoreOp, PrintOp, GatherOp>(op.getOperation()))
    return pinAll(op);
  int64_t volume = 1;
  for (unsigned box = 0; box < op.getNumBoxes(); ++box) {
    pinParts(op.getBox(box));
    int64_t elements = 1;
    for (int64_t size : staticSizes(op.getBox(box)))
      elements *= ShapedType::isDynamic(size) ? 1 : size;
    volume = std::max(volume, elements);
  }
  auto addWork = [&](Value buffer, unsigned dim) { weight[first[buffer] + dim] += volume; };

  if (auto elementwise = dyn_cast<ElementwiseOp>(op.getOperation())) {
    SmallVector<std::optional<unsigned>> node(elementwise.getDomainRank());
    for (unsigned box = 0; box < op.getNumBoxes(); ++box)
      for (auto [dim, to] : llvm::enumerate(elementwise.getMap(box))) {
        Value buffer = op.getBox(box).buffer;
        unsigned mine = first[buffer] + dim;
        if (to < 0)
          pinned[mine] = true;
        else if (node[to])
          tie(*node[to], mine);
        else
          node[to] = mine, addWork(buffer, dim);
      }
    return;
  }
  if (auto reduce = dyn_cast<ReduceOp>(op.getOperation())) {
    Box dst = op.getBox(0), src = op.getBox(1);
    SmallVector<int64_t> srcKept, dstKept, srcSizes = staticSizes(src), dstSizes = staticSizes(dst);
    for (auto [dim, size] : llvm::enumerate(srcSizes)) {
      if (llvm::is_contained(reduce.getDims(), static_cast<int64_t>(dim)))
        pin(src.buffer, dim);
      else if (size != 1)
        srcKept.push_back(dim);
    }
    for (auto [dim, size] : llvm::enumerate(dstSizes))
      if (size != 1)
        dstKept.push_back(dim);
    if (srcKept.size() != dstKept.size())
      return pinAll(op);
    for (auto [from, to] : llvm::zip(srcKept, dstKept)) {
      tie(first[src.buffer] + from, first[dst.buffer] + to);
      addWork(src.buffer, from);
    }
    return;
  }
  if (auto scan = dyn_cast<ScanOp>(op.getOperation())) {
    Box dst = op.getBox(0), src = op.getBox(1);
    if (rankOf(dst.buffer) != rankOf(src.buffer))
      return pinAll(op);
    pin(src.buffer, scan.getDim());
    for (unsigned dim = 0; dim < rankOf(dst.buffer); ++dim)
      tie(first[dst.buffer] + dim, first[src.buffer] + dim);
    return;
  }
  // Fill, iota, moves to and from global memory: any dimension, if its partner is known.
  for (unsigned box = 0; box < op.getNumBoxes(); ++box) {
    Value buffer = op.getBox(box).buffer;
    if (!isTile(buffer))
      continue;
    if (op.getNumBoxes() == 2 && failed(matchDims(op.getBox(box), op.getBox(1 - box))))
      return pinAll(op);
    for (unsigned dim = 0; dim < rankOf(buffer); ++dim)
      addWork(buffer, dim);
  }
}

/// Elements of a tile below which a part is not worth a block of its own.
constexpr int64_t kLeastElements = 2048;

struct TileSplitRowsPass : passes::impl::TileSplitRowsBase<TileSplitRowsPass> {
  using Base::Base;

  void runOnOperation() override {
    std::optional<machine::Machine> loaded = chipFor(getOperation(), chip);
    if (!loaded)
      return signalPassFailure();
    bool isCut = false; // one launch is enough: others may fit as they are
    std::optional<std::pair<LaunchOp, std::string>> refused;
    getOperation().walk([&](LaunchOp launch) {
      bool cube = false, vector = false;
      launch.walk([&](Operation *op) {
        if (auto core = op->getAttrOfType<CoreAttr>(kCoreAttr)) {
          cube |= core.getValue() == Core::AIC;
          vector |= core.getValue() == Core::AIV;
        }
      });
      if (!vector || usesSubCoreId(launch) || isOrderedByHand(launch))
        return; // what is not cut, or cut by the author
      RowLattice lattice(launch);
      if (!cube) {
        std::string why = cutBlocks(launch, lattice, *loaded);
        isCut |= why.empty();
        if (!why.empty() && !refused)
          refused = {launch, why};
        return;
      }
      SmallVector<unsigned> roots = lattice.choose();
      if (roots.empty())
        remark(launch, kPass, "missed")
            << "no dimension can be cut over the two vector cores: both do all the vector work";
      for (unsigned root : roots) {
        int64_t extent = lattice.extentOf(root), half = llvm::divideCeil(extent, 2);
        unsigned count = cutTiles(launch, lattice, root, half);
        remark(launch, kPass, "applied")
            << "vector work is cut over two cores: " << half << " and " << extent - half << " of "
            << extent << " rows, " << count << " tiles";
      }
    });
    if (parts <= 1 || isCut || !refused)
      return;
    refused->first.emitError("blocks cannot be cut by rows: ") << refused->second;
    signalPassFailure();
  }

private:
  /// Marks the tiles of a class; returns how many there are.
  unsigned cutTiles(LaunchOp launch, RowLattice &lattice, unsigned root, int64_t rows) {
    unsigned count = 0;
    launch.walk([&](AllocOp alloc) {
      int64_t dim = scopeOf(alloc) == Scope::UB ? lattice.dimIn(alloc, root) : -1;
      if (dim < 0)
        return;
      Builder builder(&getContext());
      alloc->setAttr(kSplitDimAttr, builder.getI64IntegerAttr(dim));
      alloc->setAttr(kSplitRowsAttr, builder.getI64IntegerAttr(rows));
      ++count;
    });
    return count;
  }

  /// Parts of a block when the grid leaves cores idle: as many as there are cores for a block,
  /// while a part has enough to do.
  int64_t partsForCores(LaunchOp launch, RowLattice &lattice, unsigned root,
                        const machine::Machine &machine) {
    int64_t blocks = 1, elements = 0;
    for (Value extent : launch.getGrid()) {
      if (!constantOf(extent))
        return 1;
      blocks *= *constantOf(extent);
    }
    launch.walk([&](AllocOp alloc) {
      if (scopeOf(alloc) == Scope::UB && lattice.dimIn(alloc, root) >= 0)
        elements = std::max(elements, cast<MemRefType>(alloc.getType()).getNumElements());
    });
    return std::min({machine.aivCount / std::max<int64_t>(1, blocks), elements / kLeastElements,
                     lattice.extentOf(root)});
  }

  /// Makes several blocks of each block of a launch without cube work. The reason why it cannot.
  std::string cutBlocks(LaunchOp launch, RowLattice &lattice, const machine::Machine &machine) {
    SmallVector<unsigned> roots = lattice.choose(/*outerFirst=*/true);
    if (roots.empty())
      return "no dimension of the tiles can be cut";
    // Its order with that of other blocks would be another.
    WalkResult ordered = launch.walk([](Operation *op) {
      return isa<AtomicOp, PrintOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (ordered.wasInterrupted())
      return "atomics and prints keep the order of blocks";
    unsigned root = roots.front();
    int64_t extent = lattice.extentOf(root);
    int64_t count = parts > 0 ? std::min<int64_t>(parts, extent)
                              : partsForCores(launch, lattice, root, machine);
    if (count <= 1)
      return "";
    int64_t rows = llvm::divideCeil(extent, count);
    cutTiles(launch, lattice, root, rows);
    if (Value shared = tensorSharedByVectorCores(launch)) {
      launch.walk([](AllocOp alloc) {
        alloc->removeAttr(kSplitDimAttr);
        alloc->removeAttr(kSplitRowsAttr);
      });
      return ("rows of '" + nameOf(shared) + "' that one part writes could be touched by another")
          .str();
    }
    count = llvm::divideCeil(extent, rows);
    launch->setAttr(kPartsAttr, Builder(&getContext()).getI64IntegerAttr(count));
    remark(launch, kPass, "applied")
        << "each block is cut into " << count << " of " << rows << " of " << extent << " rows";
    return "";
  }
};

} // namespace
