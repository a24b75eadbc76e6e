// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ProgramBuilder.h"
#include "tilewright/sim/Retime.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace tilewright::sim;
using namespace tilewright::sim::test;

namespace {

constexpr int64_t kTile = 256;

/// c = a + b over `blocks` tiles, one buffer per operand, all flags in place.
Program addProgram(int64_t blocks) {
  Program program;
  program.name = "add";
  program.tensors = {{"A", DType::F32, false}, {"B", DType::F32, false}, {"C", DType::F32, true}};
  CoreBuilder b(program, program.aiv);
  int32_t tile = b.constant(kTile);
  View x = ub(DType::F32, imm(0), {imm(kTile)}), y = ub(DType::F32, imm(4096), {imm(kTile)});
  b.set(Pipe::MTE3, Pipe::MTE2);
  b.blocks(blocks, [&](int32_t block) {
    int32_t base = b.binary(Opcode::Mul, block, tile);
    b.wait(Pipe::MTE3, Pipe::MTE2);
    b.issue(TileOp::Load, {x, gm(0, DType::F32, reg(base), {imm(kTile)})});
    b.issue(TileOp::Load, {y, gm(1, DType::F32, reg(base), {imm(kTile)})});
    b.sync(Pipe::MTE2, Pipe::V);
    b.issue(TileOp::Binary, {x, x, y}, {}, int(BinaryFn::Add));
    b.sync(Pipe::V, Pipe::MTE3);
    b.issue(TileOp::Store, {gm(2, DType::F32, reg(base), {imm(kTile)}), x});
    b.set(Pipe::MTE3, Pipe::MTE2);
  });
  b.wait(Pipe::MTE3, Pipe::MTE2);
  b.halt();
  return program;
}

struct AddData {
  std::vector<float> a, b, c;

  explicit AddData(int64_t n) : a(size_t(n)), b(size_t(n)), c(size_t(n), -1.f) {
    std::iota(a.begin(), a.end(), 0.f);
    std::iota(b.begin(), b.end(), 1000.f);
  }
  std::vector<TensorArg> args() {
    return {{a.data(), int64_t(a.size())},
            {b.data(), int64_t(b.size())},
            {c.data(), int64_t(c.size())}};
  }
  bool isRight() const {
    for (size_t i = 0; i < a.size(); ++i)
      if (c[i] != a[i] + b[i])
        return false;
    return true;
  }
};

TEST(Engine, VectorAddOverBlocks) {
  AddData data(kTile * 11);
  Program program = addProgram(11);
  for (int threads : {1, 3}) {
    std::fill(data.c.begin(), data.c.end(), -1.f);
    RunOptions options;
    options.numThreads = threads;
    RunResult result = run(program, data.args(), {}, smallChip(), options);
    EXPECT_TRUE(result.ok) << result.error;
    EXPECT_TRUE(data.isRight());
    EXPECT_EQ(result.issued, 44u);
    EXPECT_EQ(result.cores.size(), 4u);
  }
}

TEST(Engine, TimesAndTraces) {
  AddData data(kTile * 11);
  RunOptions options;
  options.time = options.trace = options.check = true;
  RunResult result = run(addProgram(11), data.args(), {}, smallChip(), options);
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_TRUE(result.findings.empty()) << allText(result);
  EXPECT_GT(result.timing.cycles, 500);
  EXPECT_EQ(result.timing.aivCount, 4);
  EXPECT_EQ(result.timing.gmReadBytes, uint64_t(2 * 11 * kTile * 4));
  EXPECT_EQ(result.timing.gmWriteBytes, uint64_t(11 * kTile * 4));
  EXPECT_EQ(result.cores.size(), 4u);
  EXPECT_FALSE(result.trace.empty());
}

/// Stored records timed with other constants: as if the program had run on that chip.
TEST(Engine, StoredLaunchesAreTimedAgain) {
  AddData data(kTile * 11);
  RunOptions options;
  options.time = options.store = true;
  const Program program = addProgram(11);
  const RunResult result = run(program, data.args(), {}, smallChip(), options);
  ASSERT_TRUE(result.ok && result.stored) << result.error;
  tilewright::machine::Machine slow = smallChip(), stores = smallChip();
  slow.vecFixed = 5000;
  stores.mte3RateAiv = 1;
  options.store = false;
  for (const auto &chip : {smallChip(), slow, stores}) {
    RunResult again;
    EXPECT_EQ(retime(program, *result.stored, chip, again), "");
    const RunResult other = run(program, data.args(), {}, chip, options);
    EXPECT_FALSE(other.stored);
    EXPECT_EQ(again.timing.cycles, other.timing.cycles);
    EXPECT_EQ(again.lineCycles, other.lineCycles);
  }
}

TEST(Engine, StoredLaunchesOfAnotherChip) {
  AddData data(kTile * 11);
  RunOptions options;
  options.time = options.store = true;
  const RunResult result = run(addProgram(11), data.args(), {}, smallChip(), options);
  RunResult again;
  tilewright::machine::Machine other = smallChip();
  other.ubBytes *= 2;
  EXPECT_EQ(retime(addProgram(11), *result.stored, other, again), "") << "more room is no harm";
  other = smallChip(8);
  other.name = "wide";
  const std::string problem = retime(addProgram(11), *result.stored, other, again);
  EXPECT_NE(problem.find("cube cores and cannot be timed for wide, which has 8; run the kernel"),
            std::string::npos)
      << problem;
}

TEST(Engine, OutOfBoundsIsAnErrorNotACrash) {
  AddData data(kTile * 11 - 1);
  RunResult result = run(addProgram(11), data.args(), {}, smallChip(), {});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(countOf(result, FindingKind::OutOfBounds), 1);
  EXPECT_NE(result.error.find("elements 2560 to 2816 of 2815 of A"), std::string::npos)
      << result.error;
  EXPECT_NE(result.error.find("kernel.py:"), std::string::npos);
}

TEST(Engine, OnChipBounds) {
  Program program;
  CoreBuilder b(program, program.aiv);
  b.issue(TileOp::Fill, {ub(DType::F32, imm(192 * 1024 - 32), {imm(16)})}, {imm(0)});
  b.halt();
  RunResult result = run(program, {}, {}, smallChip(), {});
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.error.find("of UB"), std::string::npos) << result.error;
}

TEST(Engine, HugeSizesDoNotOverflow) {
  Program program;
  CoreBuilder b(program, program.aiv);
  int32_t huge = b.constant(int64_t(1) << 62);
  b.issue(TileOp::Fill,
          {ub(DType::F32, imm(0), {reg(huge), reg(huge)}, {imm(int64_t(1) << 61), imm(8)})},
          {imm(0)});
  b.halt();
  EXPECT_FALSE(run(program, {}, {}, smallChip(), {}).ok);
}

TEST(Engine, EmptyBoxesDoNothing) {
  std::vector<float> data(4, 1.f);
  Program program;
  program.tensors = {{"A", DType::F32, true}};
  CoreBuilder b(program, program.aiv);
  int32_t none = b.constant(-3);
  b.issue(TileOp::Store,
          {gm(0, DType::F32, imm(1000), {reg(none)}), ub(DType::F32, imm(0), {reg(none)})});
  b.halt();
  RunOptions options;
  options.check = options.time = true;
  RunResult result = run(program, {{data.data(), 4}}, {}, smallChip(), options);
  EXPECT_TRUE(result.ok) << result.error;
  EXPECT_TRUE(result.findings.empty()) << allText(result);
}

TEST(Engine, WatchdogStopsEndlessLoops) {
  Program program;
  CoreBuilder b(program, program.aiv);
  b.emit({.op = Opcode::Jump, .imm = 0});
  RunOptions options;
  options.maxInstructions = 100000;
  RunResult result = run(program, {}, {}, smallChip(), options);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(countOf(result, FindingKind::Watchdog), 1);

  Program issuing;
  CoreBuilder c(issuing, issuing.aiv);
  c.issue(TileOp::Fill, {ub(DType::F32, imm(0), {imm(8)})}, {imm(0)});
  c.emit({.op = Opcode::Jump, .imm = 0});
  result = run(issuing, {}, {}, smallChip(), options);
  EXPECT_EQ(countOf(result, FindingKind::Watchdog), 1);
}

TEST(Engine, AssertFails) {
  Program program;
  program.messages = {"rows fit"};
  CoreBuilder b(program, program.aiv);
  int32_t zero = b.constant(0);
  b.emit({.op = Opcode::Assert, .a = zero, .imm = 0});
  b.halt();
  RunResult result = run(program, {}, {}, smallChip(), {});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error, "E0903: assertion failed: rows fit (kernel.py:2)");
}

TEST(Engine, PrintsInBlockOrder) {
  Program program;
  program.prints = {{"block", DType::I64, -1}, {"tile", DType::F32, 0}};
  CoreBuilder b(program, program.aiv);
  b.blocks(6, [&](int32_t block) { b.emit({.op = Opcode::Print, .a = block, .imm = 0}); });
  b.issue(TileOp::Fill, {ub(DType::F32, imm(0), {imm(2), imm(2)})}, {imm(0x3f800000)});
  b.halt();
  RunResult result = run(program, {}, {}, smallChip(), {});
  EXPECT_EQ(result.printed, "block: 0\nblock: 1\nblock: 2\nblock: 3\nblock: 4\nblock: 5\n");

  Program tile;
  tile.prints = {{"tile", DType::F32, 0}};
  CoreBuilder c(tile, tile.aiv);
  int32_t core = c.read(Opcode::CoreId);
  int32_t skip = c.emit({.op = Opcode::JumpIf, .a = core});
  c.issue(TileOp::Fill, {ub(DType::F32, imm(0), {imm(2), imm(2)})}, {imm(0x3fc00000)});
  c.emit({.op = Opcode::Print, .imm = 0});
  tile.aiv.code[skip].imm = int64_t(tile.aiv.code.size());
  c.halt();
  result = run(tile, {}, {}, smallChip(), {});
  EXPECT_EQ(result.printed, "tile: tensor([[1.5000, 1.5000],\n        [1.5000, 1.5000]])\n");
}

TEST(Engine, MemoryIsPoisoned) {
  std::vector<uint32_t> data(8 * 4, 0);
  Program program;
  program.tensors = {{"A", DType::U32, true}};
  CoreBuilder b(program, program.aiv);
  int32_t base = b.binary(Opcode::Mul, b.read(Opcode::CoreId), b.constant(8));
  View tile = ub(DType::U32, imm(0), {imm(8)});
  b.issue(TileOp::Store, {gm(0, DType::U32, reg(base), {imm(8)}), tile});
  b.issue(TileOp::Fill, {tile}, {imm(7)});
  b.halt();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(run(program, {{data.data(), int64_t(data.size())}}, {}, smallChip(), {}).ok);
    for (uint32_t value : data)
      EXPECT_EQ(value, 0x7E7E7E7Eu);
  }
}

TEST(Engine, AtomicsFollowLogicalBlocks) {
  // Each block adds 2^(24 - block) or 1 to one float: the rounded sum depends on the order.
  constexpr int64_t blocks = 9;
  Program program;
  program.tensors = {{"Y", DType::F32, true}, {"X", DType::F32, false}};
  program.usesAtomics = true;
  CoreBuilder b(program, program.aiv);
  View tile = ub(DType::F32, imm(0), {imm(1)});
  b.blocks(blocks, [&](int32_t block) {
    b.issue(TileOp::Load, {tile, gm(1, DType::F32, reg(block), {imm(1)})});
    b.sync(Pipe::MTE2, Pipe::MTE3);
    b.issue(TileOp::AtomicAdd, {gm(0, DType::F32, imm(0), {imm(1)}), tile});
    b.sync(Pipe::MTE3, Pipe::MTE2);
  });
  b.halt();
  std::vector<float> x = {1.f, 16777216.f, 1.f, -16777216.f, 0.5f, 1e8f, 3.f, -1e8f, 0.25f};
  float expected = 0;
  for (float value : x)
    expected += value;
  for (std::optional<uint64_t> seed : {std::optional<uint64_t>(), std::optional<uint64_t>(3)}) {
    float y = 0;
    RunOptions options;
    options.delaySeed = seed;
    options.check = true;
    RunResult result = run(program, {{&y, 1}, {x.data(), blocks}}, {}, smallChip(), options);
    ASSERT_TRUE(result.ok) << result.error;
    EXPECT_TRUE(result.findings.empty()) << allText(result);
    EXPECT_EQ(y, expected);
  }
}

TEST(Engine, BadProgramsAreRefused) {
  auto refused = [](const std::function<void(Program &, CoreBuilder &)> &make) {
    Program program;
    program.tensors = {{"A", DType::F32, true}};
    CoreBuilder b(program, program.aiv);
    make(program, b);
    b.halt();
    float value = 0;
    RunResult result = run(program, {{&value, 1}}, {}, smallChip(), {});
    EXPECT_FALSE(result.ok);
    return result.error;
  };
  refused([](Program &, CoreBuilder &b) { b.emit({.op = Opcode::Move, .dst = 5, .a = 0}); });
  refused([](Program &, CoreBuilder &b) { b.emit({.op = Opcode::Jump, .imm = 100}); });
  refused([](Program &, CoreBuilder &b) { b.emit({.op = Opcode::Issue, .imm = 3}); });
  refused([](Program &, CoreBuilder &b) { b.read(Opcode::ScalarArg, 0); });
  std::string text = refused([](Program &, CoreBuilder &b) {
    b.issue(TileOp::Fill, {box(Space::L1, DType::F32, imm(0), {imm(8)})}, {imm(0)});
  });
  EXPECT_NE(text.find("cannot be in L1"), std::string::npos) << text;
  refused([](Program &, CoreBuilder &b) {
    b.issue(TileOp::Load, {ub(DType::F32, imm(0), {imm(8)}), gm(4, DType::F32, imm(0), {imm(8)})});
  });
  refused([](Program &, CoreBuilder &b) { b.set(Pipe::V, Pipe::V); });
  refused([](Program &, CoreBuilder &b) { b.sync(Pipe::V, Pipe::MTE3, 8); });

  Program noHalt;
  CoreBuilder b(noHalt, noHalt.aiv);
  b.constant(1);
  EXPECT_FALSE(run(noHalt, {}, {}, smallChip(), {}).ok);
  EXPECT_FALSE(run(Program(), {}, {}, smallChip(), {}).ok);
}

TEST(Engine, TextFormNamesEverything) {
  std::string text = toText(addProgram(3));
  EXPECT_NE(text.find("tensor C f32 written"), std::string::npos);
  EXPECT_NE(text.find("binary add"), std::string::npos);
  EXPECT_NE(text.find("set_flag MTE2->V id 0"), std::string::npos) << text;
  EXPECT_NE(text.find("AIV program"), std::string::npos);
}

} // namespace
