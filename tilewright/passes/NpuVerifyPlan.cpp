// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// npu-verify-plan: check a memory plan without looking at live ranges: follow what every buffer
// holds.

#include "tilewright/passes/Chip.h"
#include "tilewright/passes/NpuLiveness.h"
#include "tilewright/passes/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

#define DEBUG_TYPE "npu-verify-plan"

using namespace mlir;

namespace tilewright::passes {
#define GEN_PASS_DEF_NPUVERIFYPLAN
#include "tilewright/passes/Passes.h.inc"

namespace {

/// Runs the ops of one function on abstract contents. A write to one buffer destroys every buffer
/// that overlaps it; a read must find its box written since then. Loops run twice, so that what one
/// turn destroys meets the reads of the next.
class Contents {
public:
  explicit Contents(func::FuncOp function) : function(function) {
    function.walk([&](npu::AllocOp alloc) {
      if (npu::spaceOf(alloc.getResult()) != npu::Space::Reg && alloc.getAddress())
        buffers.push_back(alloc);
    });
  }

  LogicalResult run() { return visit(function.getBody().front()); }

private:
  /// What became of a buffer: `destroyer` wrote over it, boxes in `rewritten` are good again.
  struct State {
    Operation *destroyer = nullptr;
    WrittenBoxes rewritten;
  };
  using States = llvm::MapVector<Value, State>;

  func::FuncOp function;
  SmallVector<npu::AllocOp> buffers;
  States states;

  static bool overlap(npu::AllocOp a, npu::AllocOp b) {
    auto range = [](npu::AllocOp alloc) {
      int64_t from = int64_t(*alloc.getAddress());
      return std::pair(from, from + alloc.getSlotBytes() * int64_t(alloc.getSlots()));
    };
    auto [fromA, toA] = range(a);
    auto [fromB, toB] = range(b);
    return npu::spaceOf(a.getResult()) == npu::spaceOf(b.getResult()) && fromA < toB && fromB < toA;
  }

  static States join(const States &a, const States &b, Value conditionWithoutElse = {}) {
    States both = a;
    for (auto &[buffer, state] : b) {
      State &mine = both[buffer];
      if (!mine.destroyer)
        mine = state;
      else if (state.destroyer)
        mine.rewritten = WrittenBoxes::join(mine.rewritten, state.rewritten, conditionWithoutElse);
    }
    return both;
  }

  LogicalResult visit(Block &block) {
    for (Operation &op : block) {
      LogicalResult result = success();
      if (auto access = dyn_cast<AccessInterface>(op))
        result = visit(access);
      else if (auto conditional = dyn_cast<scf::IfOp>(op))
        result = visit(conditional);
      else if (op.getNumRegions() > 0)
        result = visitLoop(&op);
      if (failed(result))
        return failure();
    }
    return success();
  }

  LogicalResult visit(AccessInterface access) {
    Operation *op = access.getOperation();
    for (unsigned i = 0; i < access.getNumBoxes(); ++i) {
      Box box = access.getBox(i);
      auto found = states.find(box.buffer);
      if (found == states.end() || !found->second.destroyer || !reads(access.getAccessKind(i)))
        continue;
      auto mmad = dyn_cast<npu::MmadOp>(op);
      if (mmad && i == 0 && constantOf(mmad.getInit()) != 0)
        continue; // starts from zero, or may do so in this turn
      if (found->second.rewritten.covers(box))
        continue;
      InFlightDiagnostic error = op->emitError("E0799: reads '")
                                 << npu::nameOf(box.buffer)
                                 << "', which was overwritten while it was still needed";
      error.attachNote(found->second.destroyer->getLoc()) << "overwritten here";
      return error;
    }
    for (unsigned i = 0; i < access.getNumBoxes(); ++i) {
      Box box = access.getBox(i);
      auto alloc = box.buffer.getDefiningOp<npu::AllocOp>();
      if (!alloc || !writes(access.getAccessKind(i)) || !alloc.getAddress())
        continue;
      for (npu::AllocOp other : buffers)
        if (other != alloc && overlap(alloc, other))
          states[other.getResult()] = {op, {}};
      if (State &state = states[box.buffer]; state.destroyer)
        state.rewritten.add(box);
    }
    return success();
  }

  LogicalResult visit(scf::IfOp op) {
    States before = states;
    if (failed(visit(*op.thenBlock())))
      return failure();
    States afterThen = std::move(states);
    states = std::move(before);
    if (op.elseBlock() && failed(visit(*op.elseBlock())))
      return failure();
    states = join(afterThen, states, op.elseBlock() ? Value() : op.getCondition());
    return success();
  }

  LogicalResult visitLoop(Operation *op) {
    States before = states;
    for (int turn = 0; turn < 2; ++turn) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          if (failed(visit(block)))
            return failure();
      forgetInside(op);
    }
    auto loop = dyn_cast<scf::ForOp>(op);
    std::optional<int64_t> lower = loop ? constantOf(loop.getLowerBound()) : std::nullopt;
    std::optional<int64_t> upper = loop ? constantOf(loop.getUpperBound()) : std::nullopt;
    if (lower && upper && *lower < *upper)
      return success();
    // An accumulator that a loop without turns never started holds nothing that could be lost.
    States after = std::move(states);
    states = join(before, after);
    for (auto &[buffer, state] : after)
      if (npu::spaceOf(buffer) == npu::Space::L0C)
        states[buffer] = state;
    return success();
  }

  /// Boxes named by values of a loop mean something else in the next turn.
  void forgetInside(Operation *op) {
    for (auto &[buffer, state] : states)
      state.rewritten.forgetInside(op);
  }
};

struct NpuVerifyPlanPass : impl::NpuVerifyPlanBase<NpuVerifyPlanPass> {
  using NpuVerifyPlanBase::NpuVerifyPlanBase;

  void runOnOperation() override {
    std::optional<machine::Machine> loaded = chipFor(getOperation(), chip);
    if (!loaded)
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function->hasAttr(npu::kCoreAttr))
        continue;
      if (failed(checkAddresses(function, *loaded)) || failed(Contents(function).run()))
        return signalPassFailure();
    }
  }

private:
  static LogicalResult checkAddresses(func::FuncOp function, const machine::Machine &machine) {
    LogicalResult result = success();
    auto workspace = function->getAttrOfType<IntegerAttr>(npu::kWorkspaceAttr);
    function.walk([&](npu::AllocOp alloc) {
      npu::Space space = npu::spaceOf(alloc.getResult());
      if (space == npu::Space::Reg || failed(result))
        return;
      if (!alloc.getAddress()) {
        result = alloc.emitError("E0799: '") << alloc.getName() << "' has no address";
        return;
      }
      int64_t from = int64_t(*alloc.getAddress());
      int64_t to = from + alloc.getSlotBytes() * int64_t(alloc.getSlots());
      int64_t alignment = space == npu::Space::UB ? 32 : 512;
      int64_t capacity = space == npu::Space::UB                       ? machine.ubBytes
                         : space == npu::Space::L1                     ? machine.l1Bytes
                         : space == npu::Space::L0A                    ? machine.l0aBytes
                         : space == npu::Space::L0B                    ? machine.l0bBytes
                         : space == npu::Space::L0C                    ? machine.l0cBytes
                         : space == npu::Space::Workspace && workspace ? workspace.getInt()
                                                                       : 0;
      if (from < 0 || from % alignment != 0)
        result = alloc.emitError("E0799: '")
                 << alloc.getName() << "' begins at " << from << ", no multiple of " << alignment;
      else if (to > capacity)
        result = alloc.emitError("E0799: '")
                 << alloc.getName() << "' ends at " << to << ", beyond the " << capacity
                 << " bytes of " << npu::stringifySpace(space);
    });
    return result;
  }
};

} // namespace
} // namespace tilewright::passes
