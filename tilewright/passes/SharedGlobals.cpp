// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/SharedGlobals.h"

#include "tilewright/passes/Ranges.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <numeric>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;

namespace {

/// How vector cores reach a tensor in one op: `dim` is cut between them, -1 when it is not.
struct Use {
  int64_t dim = -1;
  Value offset; ///< of the box on `dim`; null: 0
  int64_t extent = 0;
  bool reads = false, writes = false, atomic = false;
};

/// Both are computed from the same values in the same way.
bool isSameExpression(Value a, Value b) {
  if (a == b)
    return true;
  if (!a || !b)
    return constantOf(a ? a : b) == 0;
  Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
  if (!left || !right)
    return false;
  if (left->getName() != right->getName() || left->getNumRegions() != 0 || !isPure(left) ||
      left->getAttrDictionary() != right->getAttrDictionary() ||
      left->getNumOperands() != right->getNumOperands() ||
      cast<OpResult>(a).getResultNumber() != cast<OpResult>(b).getResultNumber())
    return false;
  return llvm::all_of(llvm::zip(left->getOperands(), right->getOperands()), [](auto pair) {
    return isSameExpression(std::get<0>(pair), std::get<1>(pair));
  });
}

/// The value does not change while a block runs.
bool isFixed(Value value, tile::LaunchOp launch) {
  if (!value || !launch.getBody().isAncestor(value.getParentRegion()))
    return true;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner() == &launch.getBody().front();
  Operation *op = value.getDefiningOp();
  return op->getNumRegions() == 0 && isPure(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isFixed(operand, launch); });
}

/// The value is one that does not change while a block runs plus a multiple of `extent`: boxes of
/// that extent at two such places are the same or apart.
bool movesBy(Value value, int64_t extent, tile::LaunchOp launch) {
  if (extent == 1 || isFixed(value, launch))
    return true;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && value == loop.getInductionVar() &&
           constantOf(loop.getStep()).value_or(1) % extent == 0 &&
           movesBy(loop.getLowerBound(), extent, launch);
  }
  Operation *op = value.getDefiningOp();
  if (isa<arith::AddIOp, arith::SubIOp, arith::IndexCastOp>(op))
    return llvm::all_of(op->getOperands(),
                        [&](Value operand) { return movesBy(operand, extent, launch); });
  if (isa<arith::MulIOp>(op))
    for (unsigned side : {0u, 1u})
      if (auto factor = constantOf(op->getOperand(side)))
        return movesBy(op->getOperand(1 - side), extent / std::gcd(extent, *factor), launch);
  return false;
}

/// The value is a multiple of `extent`.
bool isMultiple(Value value, int64_t extent) {
  if (extent == 1)
    return true;
  if (auto constant = constantOf(value))
    return *constant % extent == 0;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && value == loop.getInductionVar() && isMultiple(loop.getStep(), extent) &&
           isMultiple(loop.getLowerBound(), extent);
  }
  Operation *op = value.getDefiningOp();
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return llvm::all_of(op->getOperands(),
                        [&](Value operand) { return isMultiple(operand, extent); });
  if (isa<arith::MulIOp>(op))
    for (unsigned side : {0u, 1u})
      if (auto factor = constantOf(op->getOperand(side)))
        return isMultiple(op->getOperand(1 - side), extent / std::gcd(extent, *factor));
  return false;
}

/// The terms of a sum that are no multiples of `extent`.
void collectTerms(Value value, int64_t extent, SmallVectorImpl<Value> &terms) {
  if (!value || isMultiple(value, extent))
    return;
  if (auto sum = value.getDefiningOp<arith::AddIOp>()) {
    collectTerms(sum.getLhs(), extent, terms);
    collectTerms(sum.getRhs(), extent, terms);
    return;
  }
  terms.push_back(value);
}

/// Two boxes of `extent` at these places are the same or apart: the places differ by a multiple of
/// it, as long as one block runs.
bool areAligned(Value a, Value b, int64_t extent, tile::LaunchOp launch) {
  SmallVector<Value> left, right;
  collectTerms(a, extent, left);
  collectTerms(b, extent, right);
  return left.size() == right.size() && llvm::all_of_zip(left, right, [&](Value x, Value y) {
           return isSameExpression(x, y) && isFixed(x, launch);
         });
}

bool isDisjoint(const Use &a, const Use &b) {
  auto left = a.offset ? rangeOf(a.offset) : Bounds{0, 0};
  auto right = b.offset ? rangeOf(b.offset) : Bounds{0, 0};
  return left && right &&
         (left->high + a.extent <= right->low || right->high + b.extent <= left->low);
}

Use useOf(AccessInterface op, unsigned index) {
  Use use;
  use.reads = reads(op.getAccessKind(index));
  use.writes = writes(op.getAccessKind(index));
  auto atomic = dyn_cast<tile::AtomicOp>(op.getOperation());
  use.atomic = atomic && !atomic.getPrevious(); // which one core alone must ask for
  if (op.getNumBoxes() != 2 || isa<tile::LoadOp, tile::StoreOp>(op.getOperation()))
    return use;
  Box global = op.getBox(index), tileBox = op.getBox(1 - index);
  auto alloc = tileBox.buffer.getDefiningOp<tile::AllocOp>();
  auto dim = alloc ? alloc->getAttrOfType<IntegerAttr>(tile::kSplitDimAttr) : nullptr;
  auto dims = matchDims(tileBox, global);
  if (!dim || failed(dims) || (*dims)[dim.getInt()] < 0)
    return use;
  use.dim = (*dims)[dim.getInt()];
  use.extent = cast<MemRefType>(alloc.getType()).getDimSize(dim.getInt());
  if (!global.isWhole())
    use.offset = global.offsets[use.dim];
  return use;
}

/// No element that one core touches in `a` is touched by the other in `b`, one of them a write.
bool isPrivate(const Use &a, const Use &b, bool isOnlyWritten, tile::LaunchOp launch) {
  if (!a.writes && !b.writes)
    return true;
  if ((a.atomic && b.atomic) || (a.dim < 0 && b.dim < 0 && isOnlyWritten))
    return true; // of uncut tiles the first core stores alone
  if (a.dim < 0 || a.dim != b.dim)
    return false;
  if (a.extent == b.extent &&
      ((isSameExpression(a.offset, b.offset) && movesBy(a.offset, a.extent, launch)) ||
       areAligned(a.offset, b.offset, a.extent, launch)))
    return true;
  return isOnlyWritten && isDisjoint(a, b);
}

} // namespace

Value passes::tensorSharedByVectorCores(tile::LaunchOp launch) {
  llvm::MapVector<Value, SmallVector<Use>> uses;
  launch.walk([&](AccessInterface op) {
    auto core = op->getAttrOfType<tile::CoreAttr>(tile::kCoreAttr);
    if (!core || core.getValue() == Core::AIC)
      return;
    for (unsigned box = 0; box < op.getNumBoxes(); ++box)
      if (tile::scopeOf(op.getBox(box).buffer) == tile::Scope::Global)
        uses[op.getBox(box).buffer].push_back(useOf(op, box));
  });
  for (auto &[tensor, list] : uses) {
    bool isOnlyWritten =
        llvm::none_of(list, [](const Use &use) { return use.reads && !use.atomic; });
    for (size_t i = 0; i < list.size(); ++i)
      for (size_t j = i; j < list.size(); ++j)
        if (!isPrivate(list[i], list[j], isOnlyWritten, launch))
          return tensor;
  }
  return {};
}
