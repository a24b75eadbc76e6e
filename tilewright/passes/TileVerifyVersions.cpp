// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-verify-versions: what a block leaves in the tensors comes from the same statements on the
// same values as before the stages that let turns overlap.

#include "tilewright/passes/Checkers.h"
#include "tilewright/passes/ConcreteRun.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEVERIFYVERSIONS
#include "tilewright/passes/Checkers.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kFlowAttr = "tile.flow"; ///< a number for each run, 0 of those that tell
                                                 ///< nothing
constexpr uint64_t kDead = 0x5EAD;               ///< content of a version before it is written

/// The values of one block as numbers that tell where each came from: a statement's result is a
/// number of what it does and of the boxes it reads.
class Flow {
public:
  explicit Flow(ConcreteRun &numbers) : numbers(numbers) {}

  LogicalResult visit(Operation *op) {
    if (versions.follow(op))
      return success();
    if (auto access = dyn_cast<AccessInterface>(op))
      visitAccess(access);
    return success();
  }

  /// Of all tensors, whatever the order in which different parts of them were written.
  int64_t digest() {
    uint64_t sum = atomics;
    for (auto &[tensor, pieces] : versions.tiles)
      if (auto argument = dyn_cast<BlockArgument>(tensor))
        sum += mixed(argument.getArgNumber(), pieces.writesSoFar());
    return int64_t(sum | 1); // 0 stands for none
  }

private:
  Pieces &piecesOf(Value buffer, bool isWrite) {
    if (scopeOf(buffer) != Scope::Workspace)
      return versions.tiles[buffer];
    auto &queue = versions.channels[buffer];
    if (queue.empty())
      queue.emplace_back();
    return isWrite ? queue.back() : queue.front();
  }

  /// What stands for the content of a tensor before the block, or of a tile that nothing has
  /// written.
  static uint64_t before(Value buffer) {
    auto argument = dyn_cast<BlockArgument>(buffer);
    return argument ? argument.getArgNumber() + 1 : kDead;
  }

  static uint64_t meaningOf(Operation *op) {
    uint64_t name = 0;
    for (char letter : op->getName().getStringRef())
      name = mixed(name, uint8_t(letter));
    if (auto elementwise = dyn_cast<ElementwiseOp>(op))
      name = mixed(name, uint64_t(elementwise.getFn()) * 8 + uint64_t(elementwise.getRound()));
    if (auto reduce = dyn_cast<ReduceOp>(op))
      name = mixed(name, uint64_t(reduce.getKind()));
    return name;
  }

  /// A tile that is copied whole within a memory is the same value under another name.
  bool moves(AccessInterface access) {
    auto elementwise = dyn_cast<ElementwiseOp>(access.getOperation());
    if (!elementwise || elementwise.getFn() != Fn::Copy || access.getNumBoxes() != 2)
      return false;
    auto isWhole = [&](unsigned index) {
      RunBox box = numbers.boxOf(access, index);
      return llvm::all_of(box.offsets, [](int64_t offset) { return offset == 0; }) &&
             llvm::equal(box.sizes, cast<MemRefType>(box.buffer.getType()).getShape());
    };
    return access.getBox(0).buffer.getType() == access.getBox(1).buffer.getType() && isWhole(0) &&
           isWhole(1);
  }

  void visitAccess(AccessInterface access) {
    if (moves(access)) {
      Pieces copy = versions.tiles[access.getBox(1).buffer];
      versions.tiles[access.getBox(0).buffer] = std::move(copy);
      return;
    }
    uint64_t value = meaningOf(access);
    SmallVector<RunBox> boxes;
    for (unsigned index = 0; index < access.getNumBoxes(); ++index) {
      boxes.push_back(numbers.boxOf(access, index));
      const RunBox &box = boxes.back();
      if (!numbers.reads(access, index))
        continue;
      uint64_t content = piecesOf(box.buffer, false).contentOf(box, before(box.buffer));
      for (auto [offset, size] : llvm::zip(box.offsets, box.sizes))
        content = mixed(isa<BlockArgument>(box.buffer) ? mixed(content, offset) : content, size);
      value = mixed(value, content);
    }
    for (Value operand : access->getOperands())
      if (!isa<MemRefType, IndexType>(operand.getType()))
        value = mixed(value, numbers.numberOf(operand).value);
    if (isa<AtomicOp>(access.getOperation())) {
      for (int64_t offset : boxes.front().offsets)
        value = mixed(value, offset);
      atomics += value;
      return;
    }
    for (auto [index, box] : llvm::enumerate(boxes))
      if (writes(access.getAccessKind(index)))
        piecesOf(box.buffer, true).write(box, mixed(value, index));
  }

  ConcreteRun &numbers;
  Versions versions;
  uint64_t atomics = 0;
};

struct TileVerifyVersionsPass : passes::impl::TileVerifyVersionsBase<TileVerifyVersionsPass> {
  using TileVerifyVersionsBase::TileVerifyVersionsBase;

  void runOnOperation() override {
    getOperation().walk([&](LaunchOp launch) {
      if (isByHand(launch))
        return;
      auto known = launch->getAttrOfType<DenseI64ArrayAttr>(kFlowAttr);
      SmallVector<int64_t> digests;
      LogicalResult result = forEachRun(launch, [&](ConcreteRun &run, ArrayRef<int64_t> block) {
        Flow flow(run);
        if (failed(run.run(block, [&](Operation *op) { return flow.visit(op); })))
          return failure();
        int64_t digest = run.isExact() ? flow.digest() : 0;
        if (!record && known && digests.size() < known.asArrayRef().size()) {
          int64_t before = known[digests.size()];
          if (before && digest && before != digest)
            return failure();
        }
        digests.push_back(digest);
        return success();
      });
      if (failed(result)) {
        launch.emitError("E0799: a statement gets a value of another turn than before the turns "
                         "of its loop overlapped");
        return signalPassFailure();
      }
      if (record)
        launch->setAttr(kFlowAttr, DenseI64ArrayAttr::get(launch.getContext(), digests));
    });
  }
};

} // namespace
