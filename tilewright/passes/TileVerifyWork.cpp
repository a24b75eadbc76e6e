// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-verify-work: a block multiplies and stores as much as before the stages that cut statements.

#include "tilewright/passes/Checkers.h"
#include "tilewright/passes/ConcreteRun.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <array>
#include <cmath>

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEVERIFYWORK
#include "tilewright/passes/Checkers.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

/// Per run three numbers, -1 of a run that tells nothing.
constexpr StringLiteral kWorkAttr = "tile.work";
constexpr std::array<StringLiteral, 3> kKinds = {"multiplications", "elements stored",
                                                 "elements combined"};

struct Work {
  std::array<int64_t, 3> counts = {};

  void add(ConcreteRun &run, Operation *op) {
    auto access = dyn_cast<AccessInterface>(op);
    if (!access || access.getNumBoxes() == 0)
      return;
    RunBox first = run.boxOf(access, 0);
    if (isa<GemmOp>(op)) {
      // (m k) (k n) = (m n) k k
      double result = double(std::max<int64_t>(first.volume(), 1));
      double operands = double(run.boxOf(access, 1).volume()) * run.boxOf(access, 2).volume();
      counts[0] += std::llround(result * std::sqrt(operands / result));
    } else if (scopeOf(first.buffer) == Scope::Global && writes(access.getAccessKind(0))) {
      counts[isa<AtomicOp>(op) ? 2 : 1] += first.volume();
    }
  }
};

struct TileVerifyWorkPass : passes::impl::TileVerifyWorkBase<TileVerifyWorkPass> {
  using TileVerifyWorkBase::TileVerifyWorkBase;

  void runOnOperation() override {
    getOperation().walk([&](LaunchOp launch) {
      if (!isByHand(launch) && failed(check(launch)))
        signalPassFailure();
    });
  }

private:
  LogicalResult check(LaunchOp launch) {
    auto known = launch->getAttrOfType<DenseI64ArrayAttr>(kWorkAttr);
    SmallVector<int64_t> all;
    LogicalResult result = forEachRun(launch, [&](ConcreteRun &run, ArrayRef<int64_t> block) {
      Work work;
      if (failed(run.run(block, [&](Operation *op) {
            work.add(run, op);
            return success();
          })))
        return failure();
      for (auto [kind, count] : llvm::enumerate(work.counts)) {
        if (!run.isExact())
          count = -1;
        size_t place = all.size();
        all.push_back(count);
        if (record || !known || place >= known.asArrayRef().size())
          continue;
        int64_t before = known[place];
        if (before < 0 || count < 0 || before == count)
          continue;
        InFlightDiagnostic error = launch.emitError("E0799: block (");
        llvm::interleaveComma(block, error);
        return LogicalResult(error << ") does " << count << ' ' << kKinds[kind]
                                   << ", before its statements were cut it did " << before);
      }
      return success();
    });
    if (succeeded(result) && record)
      launch->setAttr(kWorkAttr, DenseI64ArrayAttr::get(launch.getContext(), all));
    return result;
  }
};

} // namespace
