// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/SyncAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::npu;
using namespace tilewright::passes::sync;

namespace {

/// How far expressions are followed.
constexpr unsigned kMaxDepth = 12;

/// An upper bound of a size, where the expression shows one.
std::optional<int64_t> upperBound(Value value, unsigned depth = 0) {
  if (std::optional<int64_t> constant = constantOf(value))
    return constant;
  if (depth > kMaxDepth)
    return std::nullopt;
  auto both = [&](Value left, Value right, bool either) -> std::optional<int64_t> {
    std::optional<int64_t> a = upperBound(left, depth + 1), b = upperBound(right, depth + 1);
    if (a && b)
      return either ? std::min(*a, *b) : std::max(*a, *b);
    return either ? (a ? a : b) : std::nullopt;
  };
  if (auto min = value.getDefiningOp<arith::MinSIOp>())
    return both(min.getLhs(), min.getRhs(), true);
  if (auto max = value.getDefiningOp<arith::MaxSIOp>())
    return both(max.getLhs(), max.getRhs(), false);
  if (auto select = value.getDefiningOp<arith::SelectOp>())
    return both(select.getTrueValue(), select.getFalseValue(), false);
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    return upperBound(cast.getIn(), depth + 1);
  return std::nullopt;
}

} // namespace

bool passes::sync::isBlockLoop(Operation *op) {
  return isa<scf::ForOp>(op) && llvm::any_of(op->getRegion(0).front(), [](Operation &inner) {
           return isa<BeginBlockOp>(inner);
         });
}

FailureOr<AccessTable> AccessTable::build(func::FuncOp function) {
  AccessTable table;
  if (!function.getBody().hasOneBlock())
    return function.emitError("E0799: synchronisation needs structured control flow");
  if (failed(table.addBlock(function.getBody().front(), -1, -1)) ||
      failed(table.addBuffers(function)) || failed(table.addAccesses(function)))
    return failure();
  return table;
}

LogicalResult AccessTable::addBlock(Block &block, int parent, int opInParent) {
  unsigned self = allBlocks.size();
  blockIds[&block] = self;
  BlockInfo info{&block, parent, opInParent};
  if (parent >= 0) {
    const BlockInfo &outer = allBlocks[parent];
    Operation *op = block.getParentOp();
    info.isLoopBody = isa<LoopLikeOpInterface>(op);
    info.isInLoop = outer.isInLoop || info.isLoopBody;
    info.isInInnerLoop = outer.isInInnerLoop || (info.isLoopBody && !isBlockLoop(op));
    info.depth = outer.depth + info.isLoopBody;
  }
  allBlocks.push_back(info);
  for (auto [index, op] : llvm::enumerate(block)) {
    indices[&op] = index;
    allBlocks[self].ops.push_back(&op);
    if (isa<func::FuncOp>(op))
      continue;
    for (Region &region : op.getRegions()) {
      if (region.empty())
        continue;
      if (!region.hasOneBlock())
        return op.emitError("E0799: synchronisation needs structured control flow");
      if (failed(addBlock(region.front(), self, index)))
        return failure();
    }
  }
  return success();
}

LogicalResult AccessTable::addBuffers(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (auto type = dyn_cast<MemRefType>(argument.getType()))
      allBuffers.push_back({argument, Space::GM});
  WalkResult result = function.walk([&](npu::AllocOp alloc) {
    Space space = spaceOf(alloc.getResult());
    if (space == Space::Reg)
      return WalkResult::advance();
    if (!alloc.getAddress()) {
      alloc.emitError("E0799: '") << alloc.getName()
                                  << "' has no address: run npu-plan-memory before";
      return WalkResult::interrupt();
    }
    Buffer buffer{alloc.getResult(), space};
    buffer.slots = alloc.getSlots();
    buffer.begin = *alloc.getAddress();
    buffer.end = buffer.begin + alloc.getSlotBytes() * buffer.slots;
    for (Operation *user : alloc.getResult().getUsers())
      if (auto advance = dyn_cast<AdvanceOp>(user))
        buffer.advances.push_back(advance);
    allBuffers.push_back(std::move(buffer));
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult AccessTable::addAccesses(func::FuncOp function) {
  llvm::DenseMap<Value, unsigned> known;
  for (auto [index, buffer] : llvm::enumerate(allBuffers))
    known[buffer.value] = index;
  WalkResult result = function.walk<WalkOrder::PreOrder>([&](AccessInterface op) {
    auto pipes = dyn_cast<PipeInterface>(op.getOperation());
    for (unsigned index = 0; pipes && index < op.getNumBoxes(); ++index) {
      Box box = op.getBox(index);
      if (spaceOf(box.buffer) == Space::Reg)
        continue;
      auto found = known.find(box.buffer);
      if (found == known.end()) {
        op.emitError("E0799: synchronisation needs boxes of allocs and arguments, box ")
            << index << " is of neither";
        return WalkResult::interrupt();
      }
      allAccesses.push_back({op, pipes.getBoxPipe(index), op.getAccessKind(index), box,
                             found->second, unsigned(allAccesses.size())});
      extents.push_back(extentsOf(box));
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

Meeting AccessTable::meet(Operation *first, Operation *second) const {
  // Climb from the deeper block until both are in one block.
  unsigned a = blockOf(first), b = blockOf(second);
  int i = indexOf(first), j = indexOf(second);
  auto climb = [&](unsigned &block, int &index) {
    index = allBlocks[block].opInParent;
    block = allBlocks[block].parent;
  };
  // A block's number is larger than its parent's.
  while (a != b) {
    if (a > b)
      climb(a, i);
    else
      climb(b, j);
  }
  return {a, i, j, i == j && first != second};
}

bool AccessTable::mayAlias(unsigned first, unsigned second) const {
  if (first == second)
    return true;
  const Buffer &a = allBuffers[first], &b = allBuffers[second];
  return a.space == b.space && a.space != Space::GM && a.begin < b.end && b.begin < a.end;
}

std::vector<SmallVector<unsigned>> AccessTable::aliases() const {
  SmallVector<unsigned> byBegin = llvm::to_vector(llvm::seq<unsigned>(0, allBuffers.size()));
  llvm::sort(byBegin, [&](unsigned a, unsigned b) {
    return std::make_tuple(allBuffers[a].space, allBuffers[a].begin, a) <
           std::make_tuple(allBuffers[b].space, allBuffers[b].begin, b);
  });
  std::vector<SmallVector<unsigned>> result(allBuffers.size());
  for (auto [place, one] : llvm::enumerate(byBegin)) {
    result[one].push_back(one);
    for (unsigned other : llvm::drop_begin(byBegin, place + 1)) {
      const Buffer &next = allBuffers[other];
      if (next.space != allBuffers[one].space ||
          (next.space != Space::GM && next.begin >= allBuffers[one].end))
        break;
      if (!mayAlias(one, other))
        continue;
      result[one].push_back(other);
      result[other].push_back(one);
    }
  }
  return result;
}

AccessTable::Linear AccessTable::sum(const Linear &left, const Linear &right, int64_t factor) {
  Linear result = left;
  result.constant += factor * right.constant;
  for (auto [value, coefficient] : right.terms) {
    auto found =
        llvm::find_if(result.terms, [&, v = value](auto &term) { return term.first == v; });
    if (found == result.terms.end())
      result.terms.push_back({value, factor * coefficient});
    else if ((found->second += factor * coefficient) == 0)
      result.terms.erase(found);
  }
  return result;
}

AccessTable::Linear AccessTable::linearOf(Value value, unsigned depth) {
  if (std::optional<int64_t> constant = constantOf(value))
    return {*constant, {}};
  if (depth < kMaxDepth) {
    if (auto add = value.getDefiningOp<arith::AddIOp>())
      return sum(linearOf(add.getLhs(), depth + 1), linearOf(add.getRhs(), depth + 1), 1);
    if (auto sub = value.getDefiningOp<arith::SubIOp>())
      return sum(linearOf(sub.getLhs(), depth + 1), linearOf(sub.getRhs(), depth + 1), -1);
    if (auto mul = value.getDefiningOp<arith::MulIOp>()) {
      if (std::optional<int64_t> factor = constantOf(mul.getRhs()))
        return sum({}, linearOf(mul.getLhs(), depth + 1), *factor);
      if (std::optional<int64_t> factor = constantOf(mul.getLhs()))
        return sum({}, linearOf(mul.getRhs(), depth + 1), *factor);
    }
    if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
      return linearOf(cast.getIn(), depth + 1);
  }
  return {0, {{value, 1}}};
}

SmallVector<AccessTable::Extent, 2> AccessTable::extentsOf(const Box &box) {
  SmallVector<Extent, 2> result;
  for (auto [dim, offset] : llvm::enumerate(box.offsets)) {
    std::optional<int64_t> size = 1;
    if (!box.sizes.empty())
      size = upperBound(box.sizes[dim]);
    result.push_back({linearOf(offset), size});
  }
  // UB is moved in blocks of 32 bytes: a border inside a block keeps nothing apart.
  auto type = cast<MemRefType>(box.buffer.getType());
  if (spaceOf(type) != Space::UB || result.empty())
    return result;
  Type element = type.getElementType();
  int64_t stride = element.isIntOrFloat() ? std::max(8u, element.getIntOrFloatBitWidth()) / 8 : 1;
  for (int64_t dim = type.getRank() - 1; dim >= 0; stride *= type.getDimSize(dim--)) {
    Extent &extent = result[dim];
    bool whole = extent.size && stride * *extent.size % 32 == 0 &&
                 stride * extent.offset.constant % 32 == 0 &&
                 llvm::all_of(extent.offset.terms,
                              [&](auto &term) { return stride * term.second % 32 == 0; });
    if (!whole)
      extent.size = std::nullopt;
  }
  return result;
}

bool AccessTable::isDisjoint(const Extent &first, const Extent &second) {
  Linear distance = sum(second.offset, first.offset, -1);
  if (!distance.terms.empty())
    return false;
  return (first.size && distance.constant >= *first.size) ||
         (second.size && -distance.constant >= *second.size);
}

/// Different turns of `loop`: what it does not change must be equal, its counter moves the boxes
/// apart.
bool AccessTable::isDisjointAcross(LoopLikeOpInterface loop, const Extent &first,
                                   const Extent &second) {
  Linear distance = sum(second.offset, first.offset, -1);
  if (!distance.terms.empty())
    return false;
  int64_t perTurn = 0;
  for (auto [value, coefficient] : first.offset.terms) {
    if (loop.isDefinedOutsideOfLoop(value))
      continue;
    auto counted = dyn_cast<scf::ForOp>(loop.getOperation());
    std::optional<int64_t> step = counted ? constantOf(counted.getStep()) : std::nullopt;
    if (!step || value != counted.getInductionVar())
      return false;
    perTurn = std::abs(coefficient * *step);
  }
  if (perTurn == 0)
    return isDisjoint(first, second);
  return first.size && second.size && distance.constant + perTurn >= *first.size &&
         perTurn - distance.constant >= *second.size;
}

Overlap AccessTable::overlap(const Access &first, const Access &second,
                             const Meeting &meeting) const {
  const BlockInfo &block = allBlocks[meeting.block];
  const Buffer &buffer = allBuffers[first.buffer];
  // Logical blocks of one launch are not ordered: only loops inside one matter for arguments.
  bool isGlobal = buffer.space == Space::GM;
  Overlap result{!meeting.isOtherRegion && first.op != second.op,
                 isGlobal ? block.isInInnerLoop : block.isInLoop};
  if (first.buffer != second.buffer)
    return result;
  ArrayRef<Extent> a = extents[first.number], b = extents[second.number];
  size_t rank = std::min(a.size(), b.size());
  if (result.sameTurn)
    for (size_t dim = 0; dim < rank; ++dim)
      if (isDisjoint(a[dim], b[dim]))
        result.sameTurn = false;
  if (!result.laterTurn)
    return result;
  result.laterTurn = false;
  for (int at = meeting.block; at >= 0; at = allBlocks[at].parent) {
    if (isGlobal ? !allBlocks[at].isInInnerLoop : !allBlocks[at].isInLoop)
      break;
    auto loop = dyn_cast<LoopLikeOpInterface>(allBlocks[at].block->getParentOp());
    if (!loop)
      continue;
    bool isApart = false;
    for (size_t dim = 0; dim < rank && !isApart; ++dim)
      isApart = isDisjointAcross(loop, a[dim], b[dim]);
    result.laterTurn |= !isApart;
  }
  return result;
}
