// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/NpuLiveness.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"

#include <climits>

using namespace mlir;

namespace tilewright::passes {

bool areSame(Value a, Value b, int depth) {
  if (a == b)
    return true;
  std::optional<int64_t> x = constantOf(a), y = constantOf(b);
  if (x || y)
    return x && y && *x == *y;
  Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
  if (depth == 0 || !left || !right || left->getName() != right->getName() ||
      left->getNumResults() != 1 || left->getNumRegions() || !isPure(left) ||
      left->getNumOperands() != right->getNumOperands() ||
      left->getAttrDictionary() != right->getAttrDictionary())
    return false;
  for (auto [p, q] : llvm::zip(left->getOperands(), right->getOperands()))
    if (!areSame(p, q, depth - 1))
      return false;
  return true;
}

namespace {

/// True if one dimension of box `outer` is known to contain that of `inner`.
bool coversDim(const Box &outer, const Box &inner, unsigned d) {
  int64_t whole = cast<MemRefType>(outer.buffer.getType()).getDimSize(d);
  std::optional<int64_t> from = constantOf(outer.offsets[d]);
  std::optional<int64_t> size =
      outer.sizes.empty() ? std::optional<int64_t>(1) : constantOf(outer.sizes[d]);
  if (from == 0 && size && *size == whole && !ShapedType::isDynamic(whole))
    return true;
  if (inner.isWhole())
    return false;

  std::optional<int64_t> innerFrom = constantOf(inner.offsets[d]);
  std::optional<int64_t> innerSize =
      inner.sizes.empty() ? std::optional<int64_t>(1) : constantOf(inner.sizes[d]);
  if (from && size && innerFrom && innerSize)
    return *from <= *innerFrom && *innerFrom + *innerSize <= *from + *size;
  if (!areSame(outer.offsets[d], inner.offsets[d]))
    return false;
  if (size && innerSize)
    return *innerSize <= *size;
  return !outer.sizes.empty() && !inner.sizes.empty() && areSame(outer.sizes[d], inner.sizes[d]);
}

/// Values that are known constants where `condition`, an or of inequalities, is false.
bool equalitiesUnless(Value condition, SmallVectorImpl<std::pair<Value, int64_t>> &equalities) {
  if (auto either = condition.getDefiningOp<arith::OrIOp>())
    return equalitiesUnless(either.getLhs(), equalities) &&
           equalitiesUnless(either.getRhs(), equalities);
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::ne)
    return false;
  Value value = compare.getLhs();
  std::optional<int64_t> constant = constantOf(compare.getRhs());
  if (!constant) {
    value = compare.getRhs();
    constant = constantOf(compare.getLhs());
  }
  if (constant)
    equalities.push_back({value, *constant});
  return constant.has_value();
}

/// True if `outer`, with the values known to be those constants, contains the constant box `inner`.
bool coversUnder(const Box &outer, const Box &inner,
                 ArrayRef<std::pair<Value, int64_t>> equalities) {
  if (outer.buffer != inner.buffer || outer.sizes.size() != inner.sizes.size() ||
      inner.sizes.empty())
    return false;
  auto valueOf = [&](Value value) {
    for (auto [known, constant] : equalities)
      if (areSame(known, value))
        return std::optional<int64_t>(constant);
    return constantOf(value);
  };
  for (unsigned d = 0; d < outer.sizes.size(); ++d) {
    std::optional<int64_t> from = valueOf(outer.offsets[d]), size = valueOf(outer.sizes[d]);
    std::optional<int64_t> innerFrom = valueOf(inner.offsets[d]),
                           innerSize = valueOf(inner.sizes[d]);
    if (!from || !size || !innerFrom || !innerSize || *innerFrom < *from ||
        *innerFrom + *innerSize > *from + *size)
      return false;
  }
  return true;
}

/// True if `value` holds exactly in the first turn of the closest loop around `op` that counts it.
bool isFirstTurn(Value value, Operation *op) {
  auto compare = value.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq)
    return false;
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>())
    for (bool swap : {false, true}) {
      Value counter = swap ? compare.getRhs() : compare.getLhs();
      Value start = swap ? compare.getLhs() : compare.getRhs();
      if (counter == loop.getInductionVar() && areSame(start, loop.getLowerBound()))
        return true;
    }
  return false;
}

/// The loop whose first turn `mmad` starts from zero in, if any.
scf::ForOp loopOfFirstTurn(npu::MmadOp mmad) {
  auto compare = mmad.getInit().getDefiningOp<arith::CmpIOp>();
  if (!compare || !isFirstTurn(mmad.getInit(), mmad))
    return nullptr;
  for (auto loop = mmad->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>())
    if (compare.getLhs() == loop.getInductionVar() || compare.getRhs() == loop.getInductionVar())
      return loop;
  return nullptr;
}

/// Looks for exposed reads of one buffer: reads of what was not written before in the scanned code.
class ExposureScan {
public:
  /// `accesses` are all of the buffer, in the order of the program.
  ExposureScan(Value buffer, Operation *loop, ArrayRef<Operation *> accesses)
      : buffer(buffer), loop(loop) {
    for (Operation *access : accesses) {
      if (!loop->isProperAncestor(access))
        continue;
      for (Operation *op = access; op != loop; op = op->getParentOp()) {
        SmallVector<Operation *> &ops = holders[op->getBlock()];
        if (!ops.empty() && ops.back() == op)
          break;
        ops.push_back(op);
      }
    }
  }

  bool run() {
    for (Region &region : loop->getRegions())
      for (Block &block : region)
        scan(block);
    return exposed;
  }

private:
  Value buffer;
  Operation *loop;
  llvm::DenseMap<Block *, SmallVector<Operation *>> holders; ///< of accesses: all that is scanned
  WrittenBoxes written;
  bool exposed = false;

  void scan(Block &block) {
    auto found = holders.find(&block);
    if (found == holders.end())
      return;
    for (Operation *op : found->second) {
      if (exposed)
        return;
      if (auto access = dyn_cast<AccessInterface>(op))
        visit(access);
      else if (auto conditional = dyn_cast<scf::IfOp>(op))
        visit(conditional);
      else if (op->getNumRegions() > 0)
        visitRegions(op);
    }
  }

  void visit(AccessInterface access) {
    for (unsigned i = 0; i < access.getNumBoxes() && !exposed; ++i) {
      Box box = access.getBox(i);
      if (box.buffer == buffer && reads(access.getAccessKind(i)) && !startsFromZero(access, i))
        exposed = !written.covers(box);
    }
    for (unsigned i = 0; i < access.getNumBoxes(); ++i) {
      Box box = access.getBox(i);
      if (box.buffer == buffer && writes(access.getAccessKind(i)))
        written.add(box);
    }
  }

  /// A matrix product that ignores what the accumulator held before the scanned turn: always, or in
  /// the first turn of a loop inside.
  bool startsFromZero(AccessInterface access, unsigned box) const {
    auto mmad = dyn_cast<npu::MmadOp>(access.getOperation());
    if (!mmad || box != 0)
      return false;
    if (constantOf(mmad.getInit()).value_or(0) != 0)
      return true;
    scf::ForOp first = loopOfFirstTurn(mmad);
    return first && loop->isProperAncestor(first);
  }

  void visit(scf::IfOp op) {
    WrittenBoxes before = written;
    scan(*op.thenBlock());
    WrittenBoxes afterThen = std::move(written);
    written = std::move(before);
    if (op.elseBlock())
      scan(*op.elseBlock());
    written = WrittenBoxes::join(afterThen, written, op.elseBlock() ? Value() : op.getCondition());
  }

  /// A loop inside: what it writes counts if it surely runs, or where an accumulator that it starts
  /// would hold nothing of use otherwise.
  void visitRegions(Operation *op) {
    WrittenBoxes before = written;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        scan(block);
    auto inner = dyn_cast<scf::ForOp>(op);
    if (!inner) {
      written = std::move(before);
      return;
    }
    std::optional<int64_t> lower = constantOf(inner.getLowerBound()),
                           upper = constantOf(inner.getUpperBound());
    bool runs = (lower && upper && *lower < *upper) || startsAccumulator(inner);
    if (!runs) {
      written = std::move(before);
      return;
    }
    // Boxes named by values of the loop mean something else after it.
    written.forgetInside(inner);
  }

  bool startsAccumulator(scf::ForOp inner) const {
    return llvm::any_of(buffer.getUsers(), [&](Operation *user) {
      auto mmad = dyn_cast<npu::MmadOp>(user);
      return mmad && mmad.getBuffers()[0] == buffer && loopOfFirstTurn(mmad) == inner;
    });
  }
};

} // namespace

bool covers(const Box &outer, const Box &inner) {
  if (outer.buffer != inner.buffer)
    return false;
  if (outer.isWhole())
    return true;
  for (unsigned d = 0; d < outer.offsets.size(); ++d)
    if (!coversDim(outer, inner, d))
      return false;
  return true;
}

void WrittenBoxes::add(const Box &box) {
  if (!covers(box))
    boxes.push_back(box);
  for (const Conditional &conditional : conditionals)
    if (!covers(conditional.box) && coversUnder(box, conditional.box, conditional.otherwise))
      boxes.push_back(conditional.box);
}

bool WrittenBoxes::covers(const Box &box) const {
  return llvm::any_of(boxes, [&](const Box &written) { return passes::covers(written, box); });
}

WrittenBoxes WrittenBoxes::join(const WrittenBoxes &then, const WrittenBoxes &otherwise,
                                Value condition) {
  WrittenBoxes both;
  auto keep = [&](const WrittenBoxes &from, const WrittenBoxes &in) {
    for (const Box &box : from.boxes)
      if (in.covers(box) && !both.covers(box))
        both.boxes.push_back(box);
  };
  keep(then, otherwise);
  keep(otherwise, then);
  both.conditionals = otherwise.conditionals;
  SmallVector<std::pair<Value, int64_t>> equalities;
  if (condition && equalitiesUnless(condition, equalities))
    for (const Box &box : then.boxes)
      if (!otherwise.covers(box) && !llvm::any_of(both.conditionals, [&](const Conditional &known) {
            return known.otherwise == equalities && passes::covers(known.box, box);
          }))
        both.conditionals.push_back({box, equalities});
  return both;
}

void WrittenBoxes::forgetInside(Operation *op) {
  auto isInside = [&](Value value) {
    return op->isAncestor(value.getParentRegion()->getParentOp());
  };
  auto isNamedInside = [&](const Box &box) {
    return llvm::any_of(box.offsets, isInside) || llvm::any_of(box.sizes, isInside);
  };
  llvm::erase_if(boxes, isNamedInside);
  llvm::erase_if(conditionals, [&](const Conditional &conditional) {
    return isNamedInside(conditional.box) ||
           llvm::any_of(conditional.otherwise,
                        [&](auto &equality) { return isInside(equality.first); });
  });
}

Liveness::Liveness(func::FuncOp function) : function(function) {
  int next = 0;
  for (Block &block : function.getBody())
    number(block, next);
  function.walk([&](npu::AllocOp alloc) { ranges[alloc] = compute(alloc, alloc.getSlots() > 1); });
}

void Liveness::number(Block &block, int &next) {
  for (Operation &op : block) {
    Span &span = spans[&op];
    span.open = next++;
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        number(inner, next);
    spans[&op].close = op.getNumRegions() ? next++ : spans[&op].open;
    auto note = [&](Value buffer) {
      if (buffer.getDefiningOp<npu::AllocOp>())
        accesses[buffer].push_back(&op);
    };
    if (auto access = dyn_cast<AccessInterface>(op))
      for (unsigned i = 0; i < access.getNumBoxes(); ++i)
        note(access.getBox(i).buffer);
    else if (auto advance = dyn_cast<npu::AdvanceOp>(op))
      note(advance.getBuffer());
  }
}

LiveRange Liveness::compute(npu::AllocOp alloc, bool isRotating) const {
  SmallVector<Operation *> ops = accesses.lookup(alloc.getResult());
  if (!isRotating)
    llvm::erase_if(ops, [](Operation *op) { return isa<npu::AdvanceOp>(op); });
  if (ops.empty())
    return {};
  LiveRange range{INT_MAX, INT_MIN};
  llvm::SetVector<Operation *> loops;
  auto include = [&](Operation *op) {
    Span span = spans.lookup(op);
    range.first = std::min(range.first, span.open);
    range.last = std::max(range.last, span.close);
  };
  for (Operation *op : ops) {
    include(op);
    for (Operation *parent = op->getParentOp(); parent != function.getOperation();
         parent = parent->getParentOp())
      if (isa<LoopLikeOpInterface>(parent))
        loops.insert(parent);
  }
  for (Operation *loop : loops) {
    auto isInside = [&](Operation *op) { return loop->isProperAncestor(op); };
    if (isRotating || !llvm::all_of(ops, isInside) ||
        ExposureScan(alloc.getResult(), loop, ops).run())
      include(loop);
  }
  return range;
}

} // namespace tilewright::passes
