// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RecordBuilder.h"

#include "tilewright/sim/Kernels.h"

#include <gtest/gtest.h>

#include <initializer_list>

using namespace tilewright;
using namespace tilewright::sim;
using namespace tilewright::sim::test;

namespace {

/// A dense row-major tile.
ResolvedView tile(DType type, std::initializer_list<int64_t> sizes, uint64_t address = UINT64_MAX) {
  ResolvedView view;
  view.type = type;
  view.address = address;
  for (int64_t size : sizes)
    view.sizes[view.rank++] = size;
  int64_t stride = 1;
  for (int dim = view.rank - 1; dim >= 0; --dim) {
    view.strides[dim] = stride;
    stride *= view.sizes[dim];
  }
  return view;
}

ResolvedView strided(ResolvedView view, std::initializer_list<int64_t> strides) {
  unsigned dim = 0;
  for (int64_t stride : strides)
    view.strides[dim++] = stride;
  return view;
}

template <typename Fn>
ResolvedOp op(TileOp code, Fn fn, std::initializer_list<ResolvedView> operands, uint8_t flags = 0) {
  ResolvedOp result;
  result.op = code;
  result.fn = static_cast<uint16_t>(fn);
  result.flags = flags;
  for (const ResolvedView &view : operands)
    result.operands[result.numOperands++] = view;
  return result;
}

class Cost : public testing::Test {
protected:
  const machine::Machine machine = chip("910b3");
  const double fixed = machine.vecFixed;

  double cycles(const ResolvedOp &resolved) const { return computeCycles(resolved, machine); }
  double add(const ResolvedView &dst, const ResolvedView &a, const ResolvedView &b) const {
    return cycles(op(TileOp::Binary, BinaryFn::Add, {dst, a, b}));
  }
};

TEST_F(Cost, MmadLadder) {
  MmadCost one = mmadCost(128, 256, 64, DType::F16, machine);
  EXPECT_DOUBLE_EQ(one.cube, 522);
  const double load = 320 + 2 * machine.mte1LoadsPerOperand * machine.mte1Latency; // 64 + 256
  EXPECT_DOUBLE_EQ(one.mte1, load);
  EXPECT_NEAR(one.mte1, 429, 5) << "measured";
  EXPECT_DOUBLE_EQ(one.startup, load);
  EXPECT_EQ(one.chunks, 1);
  MmadCost deep = mmadCost(128, 256, 256, DType::BF16, machine);
  EXPECT_DOUBLE_EQ(deep.cube, 4 * 522);
  EXPECT_DOUBLE_EQ(deep.mte1, 4 * load);
  EXPECT_EQ(deep.chunks, 4);
  EXPECT_DOUBLE_EQ(mmadCost(128, 256, 128, DType::I8, machine).cube, 522);
  EXPECT_DOUBLE_EQ(mmadCost(128, 256, 32, DType::F32, machine).cube, 16 * 8 * 4 * 2 + 10);
  EXPECT_DOUBLE_EQ(mmadCost(1, 16, 16, DType::F16, machine).cube, 11) << "one row costs sixteen";
  // 2048 rows of A do not fit half of L0A at the least K step: two halves, twice B.
  EXPECT_EQ(mmadCost(2048, 16, 16, DType::F16, machine).chunks, 2);
  EXPECT_EQ(mmadCost(0, 16, 16, DType::F16, machine).cube, 0);
}

TEST_F(Cost, AddLadder) {
  ResolvedView a = tile(DType::F32, {4096}, 0), b = tile(DType::F32, {4096}, 0x10100);
  ResolvedView c = tile(DType::F32, {4096}, 0x20000);
  EXPECT_DOUBLE_EQ(add(c, a, b), 64 + fixed);
  EXPECT_NEAR(add(c, a, b), 88, 3); // measured
  // Both sources in the same bank groups.
  ResolvedView same = tile(DType::F32, {4096}, 0x10000);
  EXPECT_DOUBLE_EQ(add(c, a, same), 128 + fixed);
  EXPECT_NEAR(add(c, a, same), 154, 5);
  // The late write meets the second source in its 64 KiB bank.
  ResolvedView meets = tile(DType::F32, {4096}, 0x18000);
  EXPECT_DOUBLE_EQ(add(meets, a, b), 64 * machine.bankConflictReadWrite + fixed);
  EXPECT_NEAR(add(meets, a, b), 139, 3);
  // One source: the write is in step with it.
  EXPECT_DOUBLE_EQ(cycles(op(TileOp::BinaryScalar, BinaryFn::Add, {a, a})), 64 + fixed);
  EXPECT_DOUBLE_EQ(
      add(tile(DType::F32, {4096}), tile(DType::F32, {4096}), tile(DType::F32, {4096})),
      64 + fixed);
}

TEST_F(Cost, RepeatsAndInstructions) {
  auto exp = [&](const ResolvedView &view) {
    return cycles(op(TileOp::Unary, UnaryFn::Exp, {view, view}));
  };
  EXPECT_DOUBLE_EQ(exp(tile(DType::F16, {4096})), 4 * 32 + fixed);
  EXPECT_DOUBLE_EQ(exp(tile(DType::F32, {4096})), 2 * 64 + fixed);
  EXPECT_DOUBLE_EQ(exp(tile(DType::F32, {1})), 2 + fixed);
  EXPECT_DOUBLE_EQ(exp(tile(DType::F32, {64, 256})), 2 * 256 + 2 * fixed) << "255 repeats at most";
  EXPECT_DOUBLE_EQ(exp(tile(DType::F32, {0})), 0);
  // Rows of 1 KiB in a wider tile: four columns of 64 rows beat 64 instructions.
  EXPECT_DOUBLE_EQ(exp(strided(tile(DType::F32, {64, 256}), {512, 1})), 2 * 256 + 4 * fixed);
  // Rows of one block: eight per repeat.
  EXPECT_DOUBLE_EQ(exp(strided(tile(DType::F32, {64, 8}), {16, 1})), 2 * 8 + fixed);
  // Rows of 100 bytes: one per repeat.
  EXPECT_DOUBLE_EQ(exp(strided(tile(DType::F32, {64, 25}), {32, 1})), 2 * 64 + fixed);
}

TEST_F(Cost, Broadcasts) {
  ResolvedView wide = tile(DType::F32, {64, 64}), column = strided(wide, {1, 0});
  // Eight per-row values per repeat are spread, then a repeat per row.
  EXPECT_DOUBLE_EQ(add(wide, wide, column), 64 + fixed + 8 + fixed + machine.vecBarrierTail);
  ResolvedView row = strided(wide, {0, 1});
  EXPECT_DOUBLE_EQ(add(wide, wide, row), 64 + fixed);
  ResolvedView scalar = strided(wide, {0, 0});
  EXPECT_DOUBLE_EQ(add(wide, wide, scalar), 64 + fixed);
}

/// Rows of one block become columns of blocks, a repeat per row, as in the published sample.
TEST_F(Cost, BlocksInOneBankGroup) {
  const int64_t rows = 144, across = 8;
  auto scatter = [&](int64_t pitch) {
    ResolvedView from = tile(DType::F16, {rows, across, 16});
    ResolvedView to = strided(from, {16, pitch * 16, 1});
    return cycles(op(TileOp::Copy, UnaryFn::Neg, {to, from}));
  };
  EXPECT_DOUBLE_EQ(scatter(145), 144 + fixed);
  EXPECT_DOUBLE_EQ(scatter(144), 144 * machine.bankConflictBlocks + fixed);
  EXPECT_DOUBLE_EQ(scatter(146), 144 + fixed) << "every other group";
  EXPECT_DOUBLE_EQ(scatter(148), 144 * (1 + (machine.bankConflictBlocks - 1) / 7) + fixed)
      << "four groups, two blocks each";
  // Measured vector time of 76 tiles per core: 47.8 and 7.13 us at 1.85 GHz.
  EXPECT_NEAR(76 * scatter(144) / 1850, 47.8, 1.5);
  EXPECT_NEAR(76 * scatter(145) / 1850, 7.13, 0.5);
  // One block that a repeat reads eight times is read once.
  ResolvedView wide = tile(DType::F32, {64, 8, 8}), block = strided(wide, {8, 0, 1});
  EXPECT_DOUBLE_EQ(add(wide, block, wide), 64 + fixed);
}

TEST_F(Cost, Reductions) {
  auto sum = [&](int64_t rows, int64_t columns, DType type) {
    ResolvedView src = tile(type, {rows, columns});
    return cycles(op(TileOp::Reduce, ReduceFn::Sum, {strided(src, {1, 0}), src}));
  };
  // 64 lanes to 8 to 1 by blocks; a single row by one reduction of a whole repeat.
  EXPECT_DOUBLE_EQ(sum(64, 64, DType::F32), 64 + 8 + 2 * fixed + machine.vecBarrierTail);
  EXPECT_DOUBLE_EQ(sum(1, 64, DType::F32), 7 + fixed);
  // 256 floats: three repeats are added up first, in two steps.
  EXPECT_DOUBLE_EQ(sum(1, 256, DType::F32), 3 + 2 * (fixed + machine.vecBarrierTail) + 7 + fixed);
  EXPECT_DOUBLE_EQ(sum(64, 128, DType::F16), 7 * 64 + fixed);
  ResolvedView src = tile(DType::F32, {64, 64});
  EXPECT_DOUBLE_EQ(cycles(op(TileOp::Reduce, ReduceFn::Max, {strided(src, {0, 1}), src})),
                   63 + 6 * (fixed + machine.vecBarrierTail) - machine.vecBarrierTail);
  EXPECT_GT(cycles(op(TileOp::Reduce, ReduceFn::Prod, {strided(src, {1, 0}), src})),
            sum(64, 64, DType::F32));
}

TEST_F(Cost, TypesThatTheUnitLacks) {
  ResolvedView f32 = tile(DType::F32, {4096}), bf16 = tile(DType::BF16, {4096});
  ResolvedView i64 = tile(DType::I64, {4096}), f16 = tile(DType::F16, {4096});
  EXPECT_DOUBLE_EQ(add(bf16, bf16, bf16), 4 * (64 + fixed) + 3 * machine.vecBarrierTail);
  EXPECT_DOUBLE_EQ(add(i64, i64, i64), 4096 * (3 * machine.scalarElement + 1));
  auto cast = [&](const ResolvedView &to, const ResolvedView &from) {
    return cycles(op(TileOp::Cast, 0, {to, from}));
  };
  EXPECT_DOUBLE_EQ(cast(f32, f16), 64 + fixed);
  EXPECT_DOUBLE_EQ(cast(bf16, f16), 2 * (32 + fixed) + machine.vecBarrierTail);
  EXPECT_DOUBLE_EQ(cast(tile(DType::I8, {4096}), f16), 32 + fixed);
}

TEST_F(Cost, OtherInstructions) {
  ResolvedView f32 = tile(DType::F32, {64, 64}), mask = tile(DType::I1, {64, 64});
  EXPECT_DOUBLE_EQ(cycles(op(TileOp::Compare, CompareFn::LT, {mask, f32, f32})), 64 + fixed);
  EXPECT_DOUBLE_EQ(cycles(op(TileOp::Select, 0, {f32, mask, f32, f32})), 64 + fixed);
  EXPECT_DOUBLE_EQ(cycles(op(TileOp::Fill, 0, {f32})), 64 + fixed);
  EXPECT_DOUBLE_EQ(cycles(op(TileOp::Copy, 0, {f32, f32})), 64 + fixed);
  EXPECT_DOUBLE_EQ(cycles(op(TileOp::Copy, 0, {f32, strided(f32, {1, 64})})), 64 + 4 * fixed)
      << "transpose";
  EXPECT_DOUBLE_EQ(
      cycles(op(TileOp::Gather, 0, {f32, tile(DType::F32, {512}), tile(DType::I32, {64, 64})})),
      4096 / 5.0 + fixed);
  EXPECT_DOUBLE_EQ(cycles(op(TileOp::Unary, UnaryFn::Sigmoid, {f32, f32})),
                   64 + 128 + 64 + 128 + 4 * fixed + 3 * machine.vecBarrierTail);
  EXPECT_DOUBLE_EQ(
      cycles(op(TileOp::Fixpipe, 0, {tile(DType::F16, {128, 256}), tile(DType::F32, {128, 256})})),
      machine.fixStart + 65536 / 128.0);
  EXPECT_DOUBLE_EQ(cycles(op(TileOp::ScalarLoad, 0, {tile(DType::F32, {})})),
                   machine.scalarElement);
  EXPECT_DOUBLE_EQ(cycles(op(TileOp::Load, 0, {f32, f32})), 0);
  EXPECT_GT(cycles(op(TileOp::Iota, 0, {tile(DType::I32, {64, 64})})), 64 + fixed);
  EXPECT_GT(cycles(op(TileOp::Scan, 1 << 8, {f32, f32})), 6 * 64);
}

} // namespace
