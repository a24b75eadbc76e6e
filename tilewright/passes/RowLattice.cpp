// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/RowLattice.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

RowLattice::RowLattice(LaunchOp launch) {
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

SmallVector<unsigned> RowLattice::choose(bool outerFirst) {
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

int64_t RowLattice::dimIn(Value alloc, unsigned root) {
  for (unsigned dim = 0; dim < rankOf(alloc); ++dim)
    if (find(first[alloc] + dim) == root)
      return dim;
  return -1;
}

void RowLattice::pinAll(AccessInterface op) {
  for (unsigned box = 0; box < op.getNumBoxes(); ++box)
    if (Value buffer = op.getBox(box).buffer; isTile(buffer))
      for (unsigned dim = 0; dim < rankOf(buffer); ++dim)
        pin(buffer, dim);
}

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
  auto atomic = dyn_cast<AtomicOp>(op.getOperation());
  if (isa<tile::LoadOp, tile::StoreOp, PrintOp, GatherOp>(op.getOperation()) ||
      (atomic && atomic.getPrevious()))
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
