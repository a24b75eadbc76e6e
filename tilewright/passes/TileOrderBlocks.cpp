// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-order-blocks: give every core as much to do as the others.

#include "tilewright/passes/TileUtils.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEORDERBLOCKS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-order-blocks";

/// The sign of what `value` gains when `variable` grows: 1, 0 or -1; none when it may do both, or
/// nothing is known.
std::optional<int> growthIn(Value value, Value variable, Region &region) {
  if (value == variable)
    return 1;
  Operation *op = value.getDefiningOp();
  if (!op || !region.isAncestor(op->getParentRegion()))
    return 0;
  SmallVector<int> parts;
  for (Value operand : op->getOperands()) {
    std::optional<int> part = growthIn(operand, variable, region);
    if (!part)
      return std::nullopt;
    parts.push_back(*part);
  }
  if (llvm::all_of(parts, [](int part) { return part == 0; }))
    return 0;
  auto together = [](int a, int b) -> std::optional<int> {
    if (a * b < 0)
      return std::nullopt;
    return a ? a : b;
  };
  if (isa<arith::AddIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>(op))
    return together(parts[0], parts[1]);
  if (isa<arith::SubIOp>(op))
    return together(parts[0], -parts[1]);
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return parts[0];
  if (isa<arith::MulIOp>(op))
    for (unsigned side : {0u, 1u})
      if (std::optional<int64_t> factor = constantOf(op->getOperand(side)))
        return *factor < 0 ? -parts[1 - side] : *factor > 0 ? parts[1 - side] : 0;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
          arith::CeilDivUIOp>(op))
    if (std::optional<int64_t> divisor = constantOf(op->getOperand(1)); divisor && *divisor > 0)
      return parts[0];
  return std::nullopt;
}

/// Whether later blocks along the extent do more (1), less (-1) or as much (0); none when some
/// loops get longer and others shorter.
std::optional<int> workAlong(LaunchOp launch, unsigned extent) {
  Value number = launch.getBody().getArgument(extent);
  std::optional<int> sign = 0;
  auto note = [&](Value bound, int direction) {
    std::optional<int> part = growthIn(bound, number, launch.getBody());
    if (!sign || !part || *sign * *part * direction < 0)
      sign = std::nullopt;
    else if (*part)
      sign = *part * direction;
  };
  launch.getBody().walk([&](scf::ForOp loop) {
    note(loop.getUpperBound(), 1);
    note(loop.getLowerBound(), -1);
  });
  return sign;
}

/// Blocks that add to one place would do so in another order, and round elsewhere.
bool hasAtomics(LaunchOp launch) {
  return launch.walk([](AtomicOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

struct TileOrderBlocksPass : passes::impl::TileOrderBlocksBase<TileOrderBlocksPass> {
  void runOnOperation() override {
    getOperation().walk([&](LaunchOp launch) {
      if (isByHand(launch) || hasAtomics(launch))
        return;
      for (unsigned extent = 0; extent < launch.getGrid().size(); ++extent) {
        std::optional<int> sign = workAlong(launch, extent);
        if (!sign || *sign == 0)
          continue;
        launch->setAttr(kHeavyFirstAttr,
                        Builder(&getContext()).getDenseI64ArrayAttr({int64_t(extent), *sign}));
        remark(launch, kPass, "applied")
            << "blocks with more turns are dealt out first, so that all cores get as much to do";
        return;
      }
    });
  }
};

} // namespace
