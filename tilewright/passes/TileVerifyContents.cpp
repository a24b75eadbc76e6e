// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-verify-contents: each element of a tile that is read has been written before, in its
// version.

#include "tilewright/passes/Checkers.h"
#include "tilewright/passes/ConcreteRun.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEVERIFYCONTENTS
#include "tilewright/passes/Checkers.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

/// What has been written in the course of one block.
class Contents {
public:
  explicit Contents(ConcreteRun &numbers) : numbers(numbers) {}

  LogicalResult visit(Operation *op) {
    if (versions.follow(op))
      return success();
    if (auto access = dyn_cast<AccessInterface>(op))
      return visitAccess(access);
    return success();
  }

private:
  /// The pieces of a tile; null for memory that is not looked at.
  Pieces *piecesOf(Value buffer, bool isWrite) {
    Scope scope = scopeOf(buffer);
    if (scope == Scope::Workspace) {
      auto &queue = versions.channels[buffer];
      return queue.empty() ? nullptr : isWrite ? &queue.back() : &queue.front();
    }
    return isOnChip(scope) ? &versions.tiles[buffer] : nullptr;
  }

  LogicalResult visitAccess(AccessInterface access) {
    SmallVector<RunBox> boxes;
    for (unsigned index = 0; index < access.getNumBoxes(); ++index) {
      boxes.push_back(numbers.boxOf(access, index));
      const RunBox &box = boxes.back();
      Pieces *pieces = piecesOf(box.buffer, /*isWrite=*/false);
      if (!pieces || box.isGuess || !numbers.reads(access, index) || pieces->covers(box))
        continue;
      InFlightDiagnostic error = access->emitError("E0799: reads elements of '")
                                 << nameOf(box.buffer)
                                 << "' that nothing has written since its version began: [";
      for (auto [dim, offset] : llvm::enumerate(box.offsets))
        error << (dim ? ", " : "") << offset << ":" << offset + box.sizes[dim];
      return error << "]";
    }
    for (auto [index, box] : llvm::enumerate(boxes))
      if (Pieces *pieces = piecesOf(box.buffer, /*isWrite=*/true);
          pieces && writes(access.getAccessKind(index)))
        pieces->write(box, 0);
    return success();
  }

  ConcreteRun &numbers;
  Versions versions;
};

struct TileVerifyContentsPass : passes::impl::TileVerifyContentsBase<TileVerifyContentsPass> {
  void runOnOperation() override {
    getOperation().walk([&](LaunchOp launch) {
      if (isByHand(launch))
        return;
      LogicalResult result = forEachRun(launch, [](ConcreteRun &run, ArrayRef<int64_t> block) {
        Contents contents(run);
        return run.run(block, [&](Operation *op) { return contents.visit(op); });
      });
      if (failed(result))
        signalPassFailure();
    });
  }
};

} // namespace
