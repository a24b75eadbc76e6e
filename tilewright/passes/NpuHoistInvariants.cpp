// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// npu-hoist-invariants: fill tiles that are the same in each turn of a loop once, before it.

#include "tilewright/passes/Chip.h"
#include "tilewright/passes/NpuLiveness.h"
#include "tilewright/passes/SyncAccess.h"
#include "tilewright/passes/TileUtils.h"

#include "llvm/ADT/DenseSet.h"

#include <map>

namespace tilewright::passes {
#define GEN_PASS_DEF_NPUHOISTINVARIANTS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;

namespace {

constexpr StringLiteral kName = "npu-hoist-invariants";

/// Each try looks at all live ranges again, so that a function has room for so many.
constexpr int kMostTries = 64;

/// What planning loses to alignment, in parts of a memory.
constexpr int64_t kSlack = 32;

/// One array may be given for both tensors: their element types and shapes agree.
bool mayBeOne(MemRefType a, MemRefType b) {
  return a.getElementType() == b.getElementType() && a.getRank() == b.getRank() &&
         llvm::all_of_zip(a.getShape(), b.getShape(), [](int64_t x, int64_t y) {
           return x == y || ShapedType::isDynamic(x) || ShapedType::isDynamic(y);
         });
}

/// Numbers of the tensors that some device function of a launch writes, or may write by another
/// name.
llvm::DenseSet<unsigned> writtenTensors(ArrayRef<func::FuncOp> devices) {
  llvm::DenseSet<unsigned> written;
  auto typeOf = [](BlockArgument tensor) { return dyn_cast<MemRefType>(tensor.getType()); };
  for (func::FuncOp device : devices)
    device.walk([&](AccessInterface access) {
      for (unsigned i = 0; i < access.getNumBoxes(); ++i) {
        auto tensor = dyn_cast<BlockArgument>(access.getBox(i).buffer);
        if (!tensor || !writes(access.getAccessKind(i)))
          continue;
        for (BlockArgument other : device.getArguments())
          if (auto type = typeOf(other); type && mayBeOne(type, typeOf(tensor)))
            written.insert(other.getArgNumber());
      }
    });
  return written;
}

/// One device function.
class Hoister {
public:
  Hoister(func::FuncOp function, const machine::Machine &chip,
          const llvm::DenseSet<unsigned> &written, int64_t cores)
      : function(function), chip(chip), written(written), cores(cores) {}

  void run() {
    // Inner loops come first: what has left one may leave the next.
    function.walk([&](scf::ForOp loop) {
      if (mayRepeat(loop))
        for (Operation &op : llvm::make_early_inc_range(*loop.getBody()))
          if (tries < kMostTries && isInvariant(op, loop))
            tryToMove(op, loop);
    });
  }

private:
  mutable func::FuncOp function;
  const machine::Machine &chip;
  const llvm::DenseSet<unsigned> &written;
  int64_t cores;
  int tries = 0;

  /// True unless it is known that the loop runs once at most.
  bool mayRepeat(scf::ForOp loop) const {
    if (!sync::isBlockLoop(loop))
      return tripsOf(loop).value_or(2) > 1;
    std::optional<int64_t> blocks = constantOf(loop.getUpperBound());
    return !blocks || *blocks > cores;
  }

  /// Where the loop may not run at all, a box that other values name may lie anywhere.
  static bool isSafeBefore(Operation &op, scf::ForOp loop) {
    if (runsAtLeastOnce(loop))
      return true;
    auto access = cast<AccessInterface>(op);
    for (unsigned i = 0; i < access.getNumBoxes(); ++i) {
      Box box = access.getBox(i);
      for (Value value :
           llvm::concat<Value>(SmallVector<Value>(box.offsets), SmallVector<Value>(box.sizes)))
        if (!constantOf(value))
          return false;
    }
    return true;
  }

  /// The tile is filled by `op` alone, all else reads it later in the same turn.
  static bool isFilledHere(Value tile, Operation &op, scf::ForOp loop) {
    return llvm::all_of(tile.getUsers(), [&](Operation *user) {
      Operation *inBody = loop.getBody()->findAncestorOpInBlock(*user);
      if (user == &op)
        return true;
      if (!inBody)
        return false;
      if (isa<npu::AdvanceOp>(user))
        return inBody->isBeforeInBlock(&op);
      auto access = dyn_cast<AccessInterface>(user);
      if (!access || !op.isBeforeInBlock(inBody))
        return false;
      for (unsigned i = 0; i < access.getNumBoxes(); ++i)
        if (access.getBox(i).buffer == tile && writes(access.getAccessKind(i)))
          return false;
      return true;
    });
  }

  /// What is read from the buffer is the same in each turn.
  bool isFixed(Value buffer, scf::ForOp loop) const {
    if (auto tensor = dyn_cast<BlockArgument>(buffer))
      return tensor.getOwner() == &function.getBody().front() &&
             !written.contains(tensor.getArgNumber());
    auto alloc = buffer.getDefiningOp<npu::AllocOp>();
    // A tile in the workspace is written by the other kind of core.
    if (!alloc || alloc.getSlots() > 1 || npu::spaceOf(buffer) == npu::Space::Workspace)
      return false;
    return llvm::none_of(buffer.getUsers(), [&](Operation *user) {
      if (!loop->isProperAncestor(user))
        return false;
      auto access = dyn_cast<AccessInterface>(user);
      if (!access)
        return true;
      for (unsigned i = 0; i < access.getNumBoxes(); ++i)
        if (access.getBox(i).buffer == buffer && writes(access.getAccessKind(i)))
          return true;
      return false;
    });
  }

  /// The tile that `op` fills; null where it does something else as well.
  static npu::AllocOp filledBy(Operation &op) {
    auto access = dyn_cast<AccessInterface>(op);
    if (!access || op.getNumRegions() || op.getNumResults() || isa<npu::ScalarStoreOp>(op))
      return {};
    npu::AllocOp filled;
    for (unsigned i = 0; i < access.getNumBoxes(); ++i) {
      if (access.getAccessKind(i) == AccessKind::Read)
        continue;
      auto alloc = access.getBox(i).buffer.getDefiningOp<npu::AllocOp>();
      if (filled || !alloc || access.getAccessKind(i) != AccessKind::Write)
        return {};
      filled = alloc;
    }
    return filled;
  }

  bool isInvariant(Operation &op, scf::ForOp loop) const {
    npu::AllocOp filled = filledBy(op);
    if (!filled)
      return false;
    npu::Space space = npu::spaceOf(filled.getType());
    if ((space != npu::Space::UB && space != npu::Space::L1) ||
        !llvm::all_of(op.getOperands(),
                      [&](Value value) { return loop.isDefinedOutsideOfLoop(value); }) ||
        !isFilledHere(filled, op, loop) || !isSafeBefore(op, loop))
      return false;
    auto access = cast<AccessInterface>(op);
    for (unsigned i = 0; i < access.getNumBoxes(); ++i)
      if (Value buffer = access.getBox(i).buffer; buffer != filled && !isFixed(buffer, loop))
        return false;
    return true;
  }

  /// Most bytes of a memory that are in use at one time.
  int64_t peakOf(npu::Space space) const {
    const Liveness liveness(function);
    std::map<int, int64_t> changes;
    function.walk([&](npu::AllocOp alloc) {
      LiveRange range = liveness.rangeOf(alloc);
      if (range.isEmpty() || npu::spaceOf(alloc.getType()) != space)
        return;
      const int64_t bytes = alloc.getSlotBytes() * int64_t(alloc.getSlots());
      changes[range.first] += bytes;
      changes[range.last + 1] -= bytes;
    });
    int64_t now = 0, peak = 0;
    for (auto [place, change] : changes)
      peak = std::max(peak, now += change);
    return peak;
  }

  /// Moves the op where the tiles of its memory fit as well as before: a slot that is lost costs
  /// more than a load that is repeated.
  void tryToMove(Operation &op, scf::ForOp loop) {
    ++tries;
    npu::AllocOp filled = filledBy(op);
    const npu::Space space = npu::spaceOf(filled.getType());
    const int64_t capacity = space == npu::Space::UB ? chip.ubBytes : chip.l1Bytes;
    const int64_t before = peakOf(space);
    const uint64_t slots = filled.getSlots();
    Operation *next = op.getNextNode();
    op.moveBefore(loop);
    filled.setSlots(1);
    if (peakOf(space) > std::max(before, capacity - capacity / kSlack)) {
      op.moveBefore(next);
      filled.setSlots(slots);
      return;
    }
    for (Operation *user : llvm::make_early_inc_range(filled->getUsers()))
      if (isa<npu::AdvanceOp>(user))
        user->erase();
    remark(&op, kName, "applied") << "'" << filled.getName()
                                  << "' is the same in each turn: filled once, before the "
                                  << (sync::isBlockLoop(loop) ? "blocks of a core" : "loop");
  }
};

struct NpuHoistInvariantsPass : passes::impl::NpuHoistInvariantsBase<NpuHoistInvariantsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto machine = chipFor(module, chip);
    if (!machine)
      return signalPassFailure();
    module.walk([&](npu::LaunchOp launch) {
      SmallVector<func::FuncOp> devices;
      for (auto name : {launch.getAicAttr(), launch.getAivAttr()})
        if (name)
          if (auto device = module.lookupSymbol<func::FuncOp>(name))
            devices.push_back(device);
      const llvm::DenseSet<unsigned> written = writtenTensors(devices);
      const int64_t cores = launch.getAic() ? machine->aicCount : machine->aivCount;
      for (func::FuncOp device : devices)
        if (!device->hasAttr(npu::kManualSyncAttr))
          Hoister(device, *machine, written, cores).run();
    });
  }
};

} // namespace
