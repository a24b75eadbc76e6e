// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// npu-trim-products: do not multiply rows and columns that lie outside of their tensors.

#include "tilewright/passes/NpuLiveness.h"
#include "tilewright/passes/PassDetails.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_NPUTRIMPRODUCTS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;

namespace {

using Accesses = SmallVector<std::pair<Operation *, unsigned>>; ///< ops, and which of their boxes

/// The box begins at 0 in that dimension.
bool startsAtZero(const Box &box, unsigned dim) {
  return !box.isWhole() && constantOf(box.offsets[dim]) == 0;
}

/// The box takes all of its buffer in that dimension.
bool takesAll(const Box &box, unsigned dim) {
  return startsAtZero(box, dim) &&
         constantOf(box.sizes[dim]) == cast<MemRefType>(box.buffer.getType()).getDimSize(dim);
}

/// One product, and the operand that has the rows or columns in question.
struct Factor {
  npu::MmadOp mmad;
  unsigned operand = 1, dim = 0; ///< box of the mmad, and its dimension
  Value count;                   ///< of the rows or columns that are loaded
};

/// The innermost block that holds all accesses.
Block *commonBlock(const Accesses &list) {
  Block *common = list.front().first->getBlock();
  for (auto [op, box] : list)
    while (!common->findAncestorOpInBlock(*op))
      common = common->getParentOp()->getBlock();
  return common;
}

/// The count is made outside of all loops between the accesses of a sum and the block that holds
/// them all: it is one number from the first product to the copy out.
bool isFixedIn(Value count, const Accesses &list) {
  Block *common = commonBlock(list);
  Operation *maker = count.getParentBlock()->getParentOp();
  for (auto [op, box] : list)
    for (Operation *at = op->getParentOp(); at && at != common->getParentOp();
         at = at->getParentOp())
      if (isa<LoopLikeOpInterface>(at) && at->isAncestor(maker))
        return false;
  return true;
}

/// What `value` is in the first turns of all loops inside of `common`; none if it depends on more.
std::optional<int64_t> atFirstTurn(Value value, Block &common) {
  if (std::optional<int64_t> constant = constantOf(value))
    return constant;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    bool isInside = loop && argument == loop.getInductionVar() &&
                    common.getParentOp()->isProperAncestor(loop) &&
                    common.findAncestorOpInBlock(*loop);
    return isInside ? constantOf(loop.getLowerBound()) : std::nullopt;
  }
  Operation *op = value.getDefiningOp();
  if (op->getNumOperands() != 2)
    return std::nullopt;
  std::optional<int64_t> a = atFirstTurn(op->getOperand(0), common);
  std::optional<int64_t> b = atFirstTurn(op->getOperand(1), common);
  if (!a || !b)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return *a + *b;
  if (isa<arith::MulIOp>(op))
    return *a * *b;
  if (isa<arith::AndIOp>(op))
    return *a & *b;
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (compare && compare.getPredicate() == arith::CmpIPredicate::eq)
    return *a == *b;
  return std::nullopt;
}

class Trimmer {
public:
  explicit Trimmer(func::FuncOp function) : dominance(function) {
    function.walk([&](AccessInterface op) {
      for (unsigned box = 0; box < op.getNumBoxes(); ++box)
        accesses[op.getBox(box).buffer].push_back({op, box});
    });
  }

  void run() {
    for (const auto &[buffer, list] : accesses)
      if (auto alloc = buffer.getDefiningOp<npu::AllocOp>())
        for (unsigned columns : {0u, 1u})
          for (const Factor &factor : match(list, columns))
            trim(factor, columns);
    for (auto &[tile, factors] : trimmed)
      relaxFill(tile, factors);
  }

private:
  SmallVector<Factor> match(const Accesses &list, unsigned columns) const;
  npu::LoadOp loadOf(Value tile) const;
  void trim(const Factor &factor, unsigned columns);
  void relaxFill(Value tile, ArrayRef<Factor> factors);

  mutable DominanceInfo dominance;
  llvm::MapVector<Value, Accesses> accesses;
  llvm::MapVector<Value, SmallVector<Factor>> trimmed; ///< by the tile of their operand
};

/// The only load of a tile that is written by nothing else but fills.
npu::LoadOp Trimmer::loadOf(Value tile) const {
  npu::LoadOp load;
  for (auto [op, box] : accesses.find(tile)->second) {
    if (!writes(cast<AccessInterface>(op).getAccessKind(box)) || isa<npu::FillL1Op>(op))
      continue;
    if (load || !isa<npu::LoadOp>(op))
      return {};
    load = cast<npu::LoadOp>(op);
  }
  return load;
}

/// The products into an accumulator of which only as many rows (or columns) are copied out as all
/// of them have loaded; none where that is not known, or all are.
SmallVector<Factor> Trimmer::match(const Accesses &list, unsigned columns) const {
  SmallVector<Factor> factors;
  for (auto [op, index] : list) {
    auto mmad = dyn_cast<npu::MmadOp>(op);
    if (!mmad || index != 0)
      continue;
    unsigned operand = 1 + columns;
    bool transposed = columns ? mmad.getTransposeB() : mmad.getTransposeA();
    Box sum = mmad.getBox(0), box = mmad.getBox(operand);
    if (sum.isWhole() || box.isWhole() || sum.offsets.size() != 2 || box.offsets.size() != 2)
      return {};
    unsigned dim = columns != unsigned(transposed) ? 1 : 0;
    npu::LoadOp load = loadOf(box.buffer);
    if (!load || !takesAll(sum, columns) || !takesAll(box, dim))
      return {};
    Box dst = load.getBox(0);
    if (!startsAtZero(dst, dim) || constantOf(dst.sizes[dim]) ||
        !dominance.properlyDominates(dst.sizes[dim], mmad) || areSame(dst.sizes[0], dst.sizes[1]))
      return {};
    // A sum that goes on may have more rows than its first product has cleared.
    bool isCleared = constantOf(mmad.getInit()).value_or(0) != 0 ||
                     (isFixedIn(dst.sizes[dim], list) &&
                      (atFirstTurn(mmad.getInit(), *commonBlock(list)).value_or(0) != 0 ||
                       (!factors.empty() && constantOf(mmad.getInit()))));
    if (!isCleared)
      return {};
    factors.push_back({mmad, operand, dim, dst.sizes[dim]});
  }
  for (auto [op, index] : list) {
    if (isa<npu::MmadOp>(op) && index == 0)
      continue;
    Box box = cast<AccessInterface>(op).getBox(index);
    bool isSame = isa<npu::FixpipeOp>(op) && box.offsets.size() == 2 && startsAtZero(box, columns);
    for (const Factor &factor : factors)
      isSame = isSame && areSame(box.sizes[columns], factor.count);
    if (!isSame)
      return {};
  }
  return factors;
}

void Trimmer::trim(const Factor &factor, unsigned columns) {
  npu::MmadOp mmad = factor.mmad;
  trimmed[mmad.getBox(factor.operand).buffer].push_back(factor);
  auto set = [&](unsigned box, unsigned dim) {
    mmad.getSizesMutable()[2 * box + dim].set(factor.count);
  };
  set(0, columns);
  set(factor.operand, factor.dim);
}

/// A tile of which no product reads more than was loaded, in one dimension, has to be cleared
/// before for the other one only.
void Trimmer::relaxFill(Value tile, ArrayRef<Factor> factors) {
  unsigned readers = 0;
  npu::FillL1Op fill;
  if (llvm::any_of(factors, [&](const Factor &factor) { return factor.dim != factors[0].dim; }))
    return;
  for (auto [op, box] : accesses.find(tile)->second) {
    readers += reads(cast<AccessInterface>(op).getAccessKind(box));
    if (auto found = dyn_cast<npu::FillL1Op>(op)) {
      if (fill)
        return;
      fill = found;
    }
  }
  auto branch = fill ? dyn_cast<scf::IfOp>(fill->getParentOp()) : scf::IfOp();
  if (!branch || readers != factors.size() || branch.elseBlock() ||
      !llvm::hasNItems(branch.thenBlock()->without_terminator(), 1))
    return;
  Value count = factors.front().count;
  auto isOurs = [&](Value condition) {
    auto compare = condition.getDefiningOp<arith::CmpIOp>();
    return compare && compare.getPredicate() == arith::CmpIPredicate::ne &&
           (areSame(compare.getLhs(), count) || areSame(compare.getRhs(), count));
  };
  Value condition = branch.getCondition();
  auto either = condition.getDefiningOp<arith::OrIOp>();
  if (isOurs(condition))
    return branch.erase();
  if (!either || (!isOurs(either.getLhs()) && !isOurs(either.getRhs())))
    return;
  branch.getConditionMutable().set(isOurs(either.getLhs()) ? either.getRhs() : either.getLhs());
  if (either.use_empty())
    either.erase();
}

struct NpuTrimProductsPass : passes::impl::NpuTrimProductsBase<NpuTrimProductsPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function->hasAttr(npu::kManualSyncAttr))
      return;
    Trimmer(function).run();
  }
};

} // namespace
