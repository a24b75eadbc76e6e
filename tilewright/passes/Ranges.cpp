// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/Ranges.h"

#include "tilewright/passes/PassDetails.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <algorithm>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;

namespace {

/// Bounds beyond this are dropped, so that sums and products cannot overflow.
constexpr int64_t kLimit = int64_t(1) << 31;

/// Stands for "no upper bound": beyond every tensor's extent.
constexpr int64_t kFar = int64_t(1) << 40;

std::optional<Bounds> checked(__int128 low, __int128 high) {
  if (low < -__int128(kLimit) * kLimit / 4 || high > __int128(kLimit) * kLimit / 4)
    return std::nullopt;
  return Bounds{static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

std::optional<Bounds> rangeOfArgument(BlockArgument argument, unsigned depth);

std::optional<Bounds> rangeBeforeWrap(Value value, unsigned depth);

/// Bounds of a value; none where a narrow integer may wrap around.
std::optional<Bounds> rangeOf(Value value, unsigned depth) {
  auto range = rangeBeforeWrap(value, depth);
  auto type = dyn_cast<IntegerType>(value.getType());
  if (!range || !type || type.getWidth() >= 64)
    return range;
  int64_t limit = int64_t(1) << (type.getWidth() - 1);
  return range->low >= -limit && range->high < limit ? range : std::nullopt;
}

std::optional<Bounds> rangeBeforeWrap(Value value, unsigned depth) {
  if (auto constant = constantOf(value))
    return Bounds{*constant, *constant};
  if (depth == 0)
    return std::nullopt;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return rangeOfArgument(argument, depth - 1);
  Operation *op = value.getDefiningOp();
  auto operand = [&](unsigned index) { return rangeOf(op->getOperand(index), depth - 1); };
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return operand(0);
  if (isa<arith::ExtUIOp>(op)) {
    auto width = op->getOperand(0).getType().getIntOrFloatBitWidth();
    auto range = operand(0);
    return range && range->low >= 0 ? range : Bounds{0, (int64_t(1) << width) - 1};
  }
  if (isa<memref::DimOp, tile::SymbolOp>(op))
    return Bounds{0, kFar};
  if (isa<tile::SubCoreIdOp>(op))
    return Bounds{0, 1};
  if (isa<arith::SelectOp>(op)) {
    auto yes = operand(1), no = operand(2);
    if (!yes || !no)
      return std::nullopt;
    return Bounds{std::min(yes->low, no->low), std::max(yes->high, no->high)};
  }
  if (op->getNumOperands() != 2 || op->getNumResults() != 1)
    return std::nullopt;
  auto a = operand(0), b = operand(1);
  if (isa<arith::AndIOp>(op) && ((a && a->low >= 0) || (b && b->low >= 0)))
    return Bounds{0,
                  std::min(a && a->low >= 0 ? a->high : kFar, b && b->low >= 0 ? b->high : kFar)};
  if (!a || !b)
    return std::nullopt;
  if (isa<arith::ShRSIOp>(op) && b->low == b->high && b->low >= 0 && b->low < 32)
    return Bounds{a->low >> b->low, a->high >> b->low};
  if (isa<arith::MinSIOp>(op))
    return Bounds{std::min(a->low, b->low), std::min(a->high, b->high)};
  if (isa<arith::MaxSIOp>(op))
    return Bounds{std::max(a->low, b->low), std::max(a->high, b->high)};
  if (isa<arith::AddIOp>(op))
    return checked(__int128(a->low) + b->low, __int128(a->high) + b->high);
  if (isa<arith::SubIOp>(op))
    return checked(__int128(a->low) - b->high, __int128(a->high) - b->low);
  if (isa<arith::MulIOp>(op)) {
    __int128 corners[] = {__int128(a->low) * b->low, __int128(a->low) * b->high,
                          __int128(a->high) * b->low, __int128(a->high) * b->high};
    return checked(*std::min_element(corners, corners + 4),
                   *std::max_element(corners, corners + 4));
  }
  bool positive = a->low >= 0 && b->low > 0;
  if (positive && isa<arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp>(op))
    return Bounds{a->low / b->high, a->high / b->low};
  if (positive && isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
    return Bounds{(a->low + b->high - 1) / b->high, (a->high + b->low - 1) / b->low};
  if (positive && isa<arith::RemSIOp, arith::RemUIOp>(op))
    return Bounds{0, std::min(a->high, b->high - 1)};
  return std::nullopt;
}

std::optional<Bounds> rangeOfArgument(BlockArgument argument, unsigned depth) {
  Operation *parent = argument.getOwner()->getParentOp();
  auto below = [](std::optional<Bounds> end, int64_t low) {
    return Bounds{low, end ? std::max(low, end->high - 1) : kFar};
  };
  if (auto loop = dyn_cast<scf::ForOp>(parent); loop && argument == loop.getInductionVar()) {
    auto low = rangeOf(loop.getLowerBound(), depth);
    if (!low)
      return std::nullopt;
    Bounds bounds = below(rangeOf(loop.getUpperBound(), depth), low->low);
    // The last turn of a loop with a wide step begins before the end.
    std::optional<int64_t> step = constantOf(loop.getStep());
    if (step && *step > 1 && low->low == low->high && bounds.high < kFar)
      bounds.high = low->low + (bounds.high - low->low) / *step * *step;
    return bounds;
  }
  if (auto launch = dyn_cast<tile::LaunchOp>(parent))
    return below(rangeOf(launch.getGrid()[argument.getArgNumber()], depth), 0);
  if (auto parallel = dyn_cast<tile::ParallelOp>(parent))
    return below(rangeOf(parallel.getExtents()[argument.getArgNumber()], depth), 0);
  return std::nullopt;
}

} // namespace

std::optional<Bounds> passes::rangeOf(Value value) { return ::rangeOf(value, 24); }
