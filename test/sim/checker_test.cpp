// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MixedKernel.h"

#include <gtest/gtest.h>

using namespace tilewright::sim;
using namespace tilewright::sim::test;

namespace {

RunResult check(Bug bug) {
  MixedKernel kernel(bug);
  RunOptions options;
  options.check = true;
  return kernel.run(options);
}

bool hasText(const RunResult &result, const std::string &text) {
  return allText(result).find(text) != std::string::npos;
}

std::string line(int number) { return "kernel.py:" + std::to_string(number); }

TEST(Checker, CleanKernelIsSilentAndRight) {
  MixedKernel kernel;
  RunOptions options;
  options.check = options.time = true;
  RunResult result = kernel.run(options);
  EXPECT_TRUE(result.ok) << result.error;
  EXPECT_TRUE(kernel.isRight());
  EXPECT_TRUE(result.findings.empty()) << allText(result);
  EXPECT_GT(result.timing.workspaceReadBytes, 0u);
}

TEST(Checker, MissingWaitBeforeMmad) {
  RunResult result = check(Bug::NoWaitBeforeMmad);
  EXPECT_GT(countOf(result, FindingKind::ReadAfterWrite), 0);
  EXPECT_GT(countOf(result, FindingKind::DoubleSet), 0);
  EXPECT_GT(countOf(result, FindingKind::UnconsumedFlag), 0);
  MixedKernel kernel;
  result = check(Bug::NoSyncBeforeMmad);
  EXPECT_GT(countOf(result, FindingKind::ReadAfterWrite), 0);
  EXPECT_TRUE(hasText(result, "needs set_flag/wait_flag MTE2->MTE1 between line"))
      << allText(result);
  EXPECT_TRUE(hasText(result, "buffer B_l1 (L1)")) << allText(result);
  EXPECT_TRUE(hasText(result, "'copy B_l1 <- B' (kernel.py:")) << allText(result);
}

TEST(Checker, OneIdForTwoBuffers) {
  RunResult result = check(Bug::OneIdForTwoSlots);
  EXPECT_GT(countOf(result, FindingKind::FlagReuse), 0) << allText(result);
  EXPECT_EQ(countOf(result, FindingKind::DoubleSet), 0) << allText(result);
}

TEST(Checker, BackEdge) {
  RunResult result = check(Bug::NoBackEdgeSet);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(countOf(result, FindingKind::Deadlock), 1) << allText(result);
  EXPECT_TRUE(hasText(result, "AIC waits in wait_flag MTE1->MTE2 id"));
  result = check(Bug::NoBackEdge);
  EXPECT_GT(countOf(result, FindingKind::WriteAfterRead), 0) << allText(result);
}

TEST(Checker, MmadPastTheLoadedPart) {
  RunResult result = check(Bug::ShortLoad);
  EXPECT_GT(countOf(result, FindingKind::Uninitialised), 0) << allText(result);
  EXPECT_TRUE(hasText(result, "'gemm'"));
  EXPECT_TRUE(hasText(result, "buffer B_l1 (L1) where nothing was written")) << allText(result);
}

TEST(Checker, TilePastTheEndOfL1) {
  RunResult result = check(Bug::TilePastL1);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(countOf(result, FindingKind::OutOfBounds), 1);
}

TEST(Checker, MissingWaitBeforeFixpipe) {
  MixedKernel kernel(Bug::NoWaitBeforeFixpipe);
  RunResult result = check(Bug::NoWaitBeforeFixpipe);
  EXPECT_GT(countOf(result, FindingKind::ReadAfterWrite), 0) << allText(result);
  EXPECT_GT(countOf(result, FindingKind::UnconsumedFlag), 0) << allText(result);
  EXPECT_TRUE(hasText(result, "buffer acc (L0C)"));
  EXPECT_TRUE(hasText(result, line(kernel.fixpipeLine)));
}

TEST(Checker, EpilogueWaitsDropped) {
  RunResult result = check(Bug::NoEpilogue);
  EXPECT_TRUE(result.ok);
  EXPECT_GE(countOf(result, FindingKind::UnconsumedFlag), 4) << allText(result);
  EXPECT_EQ(size_t(countOf(result, FindingKind::UnconsumedFlag)), result.findings.size());
}

TEST(Checker, WorkspaceWithoutWait) {
  MixedKernel kernel(Bug::NoWaitForCube);
  RunResult result = check(Bug::NoWaitForCube);
  EXPECT_GT(countOf(result, FindingKind::ReadAfterWrite) +
                countOf(result, FindingKind::WriteAfterRead) +
                countOf(result, FindingKind::Uninitialised),
            0)
      << allText(result);
  EXPECT_TRUE(hasText(result, line(kernel.workspaceLoadLine)));
  result = check(Bug::SignalFromWrongPipe);
  EXPECT_GT(countOf(result, FindingKind::ReadAfterWrite), 0) << allText(result);
  EXPECT_TRUE(hasText(result, "needs block_set on AIC FIX after line")) << allText(result);
  result = check(Bug::NoCredit);
  EXPECT_GT(countOf(result, FindingKind::ReadAfterWrite) +
                countOf(result, FindingKind::WriteAfterRead),
            0)
      << allText(result);
  EXPECT_TRUE(hasText(result, "or the other way round"));
}

TEST(Checker, VectorBarrier) {
  MixedKernel kernel(Bug::NoVectorBarrier);
  RunResult result = check(Bug::NoVectorBarrier);
  EXPECT_GT(countOf(result, FindingKind::ReadAfterWrite), 0);
  EXPECT_TRUE(hasText(result, "needs pipe_barrier V between line " +
                                  std::to_string(kernel.addLine) + " and line " +
                                  std::to_string(kernel.mulLine)))
      << allText(result);
  // Found once per AIV, folded over blocks.
  EXPECT_GT(result.findings.front().count, 1);
}

/// One AIV program; `make` emits it.
RunResult checkVector(const std::function<void(CoreBuilder &)> &make, int64_t elements = 4096) {
  Program program;
  program.tensors = {{"X", DType::F32, true}};
  program.workspaceBytesPerCore = 1024;
  CoreBuilder b(program, program.aiv);
  make(b);
  b.halt();
  std::vector<float> data(size_t(elements), 1.f);
  RunOptions options;
  options.check = true;
  options.numThreads = 1;
  return run(program, {{data.data(), elements}}, {}, smallChip(), options);
}

TEST(Checker, WriteAfterReadOnVectorIsSafe) {
  RunResult result = checkVector([](CoreBuilder &b) {
    View x = ub(DType::F32, imm(0), {imm(64)}), y = ub(DType::F32, imm(1024), {imm(64)});
    b.issue(TileOp::Fill, {x}, {imm(0)});
    b.barrier(Pipe::V);
    b.issue(TileOp::Copy, {y, x});
    b.issue(TileOp::Fill, {x}, {imm(0)});
  });
  EXPECT_TRUE(result.findings.empty()) << allText(result);
  result = checkVector([](CoreBuilder &b) {
    View x = ub(DType::F32, imm(0), {imm(64)});
    b.issue(TileOp::Fill, {x}, {imm(0)});
    b.issue(TileOp::Fill, {x}, {imm(0)});
  });
  EXPECT_EQ(countOf(result, FindingKind::WriteAfterWrite), 1) << allText(result);
}

TEST(Checker, FlagPathOrdersVectorToo) {
  RunResult result = checkVector([](CoreBuilder &b) {
    View x = ub(DType::F32, imm(0), {imm(64)});
    b.issue(TileOp::Fill, {x}, {imm(0)});
    b.sync(Pipe::V, Pipe::MTE3);
    b.sync(Pipe::MTE3, Pipe::V);
    b.issue(TileOp::Unary, {x, x}, {}, int(UnaryFn::Neg));
  });
  EXPECT_TRUE(result.findings.empty()) << allText(result);
}

TEST(Checker, PartsOfOneBufferAreTheirOwn) {
  // Rows of one tile written by V and by MTE2, then read as a whole.
  RunResult result = checkVector([](CoreBuilder &b) {
    View top = ub(DType::F32, imm(0), {imm(3), imm(16)}),
         bottom = ub(DType::F32, imm(192), {imm(5), imm(16)});
    b.issue(TileOp::Fill, {top}, {imm(0)});
    b.issue(TileOp::Load, {bottom, gm(0, DType::F32, imm(0), {imm(5), imm(16)})});
    b.sync(Pipe::MTE2, Pipe::V);
    b.barrier(Pipe::V);
    b.issue(
        TileOp::Unary,
        {ub(DType::F32, imm(1024), {imm(8), imm(16)}), ub(DType::F32, imm(0), {imm(8), imm(16)})},
        {}, int(UnaryFn::Neg));
  });
  EXPECT_TRUE(result.findings.empty()) << allText(result);
}

TEST(Checker, UninitialisedBytesAreExact) {
  RunResult result = checkVector([](CoreBuilder &b) {
    b.issue(TileOp::Fill, {ub(DType::F32, imm(0), {imm(3)})}, {imm(0)});
    b.barrier(Pipe::V);
    b.issue(TileOp::Copy, {ub(DType::F32, imm(1024), {imm(4)}), ub(DType::F32, imm(0), {imm(4)})});
  });
  EXPECT_EQ(countOf(result, FindingKind::Uninitialised), 1) << allText(result);
  result = checkVector([](CoreBuilder &b) {
    View x = ub(DType::F32, imm(0), {imm(64)});
    b.issue(TileOp::Load, {x, gm(kWorkspace, DType::F32, imm(0), {imm(64)})});
  });
  EXPECT_EQ(countOf(result, FindingKind::Uninitialised), 1) << allText(result);
  EXPECT_TRUE(hasText(result, "the workspace where nothing was written"));
}

TEST(Checker, ScalarUnitNeedsFlagsFromVector) {
  auto kernel = [](bool isSynced) {
    return checkVector([=](CoreBuilder &b) {
      View x = ub(DType::F32, imm(0), {imm(64)});
      b.issue(TileOp::Fill, {x}, {imm(0)});
      if (isSynced)
        b.sync(Pipe::V, Pipe::S);
      Template load;
      load.op = TileOp::ScalarLoad;
      load.operands = {ub(DType::F32, imm(0), {})};
      load.resultReg = b.newReg();
      b.issue(load);
      // The other way dispatch order is enough.
      b.issue(TileOp::ScalarStore, {ub(DType::F32, imm(512), {})}, {imm(0)});
      b.issue(TileOp::Copy,
              {ub(DType::F32, imm(1024), {imm(1)}), ub(DType::F32, imm(512), {imm(1)})});
    });
  };
  EXPECT_TRUE(kernel(true).findings.empty()) << allText(kernel(true));
  EXPECT_EQ(countOf(kernel(false), FindingKind::ReadAfterWrite), 1) << allText(kernel(false));
}

TEST(Checker, BarrierAllJoinsTheCore) {
  RunResult result = checkVector([](CoreBuilder &b) {
    View x = ub(DType::F32, imm(0), {imm(64)});
    b.issue(TileOp::Load, {x, gm(0, DType::F32, imm(0), {imm(64)})});
    b.barrier(Pipe::All);
    b.issue(TileOp::Unary, {x, x}, {}, int(UnaryFn::Neg));
    b.barrier(Pipe::All);
    b.issue(TileOp::ScalarStore, {ub(DType::F32, imm(0), {})}, {imm(0)});
  });
  EXPECT_TRUE(result.findings.empty()) << allText(result);
}

TEST(Checker, BlocksMustNotShareOutput) {
  auto kernel = [](int64_t stride) {
    return checkVector([=](CoreBuilder &b) {
      View x = ub(DType::F32, imm(0), {imm(20)});
      b.issue(TileOp::Fill, {x}, {imm(0)});
      b.sync(Pipe::V, Pipe::MTE3);
      int32_t step = b.constant(stride);
      b.blocks(9, [&](int32_t block) {
        int32_t base = b.binary(Opcode::Mul, block, step);
        b.issue(TileOp::Store, {gm(0, DType::F32, reg(base), {imm(20)}), x});
      });
    });
  };
  EXPECT_TRUE(kernel(20).findings.empty()) << allText(kernel(20));
  RunResult result = kernel(19); // neighbours in different groups
  EXPECT_EQ(countOf(result, FindingKind::WriteAfterWrite), 1) << allText(result);
  EXPECT_TRUE(hasText(result, "between different blocks"));
  result = kernel(0); // also on one core
  EXPECT_GT(countOf(result, FindingKind::WriteAfterWrite), 0);
}

TEST(Checker, GmRoundTripNeedsAnEdge) {
  auto kernel = [](bool isSynced) {
    return checkVector([=](CoreBuilder &b) {
      View x = ub(DType::F32, imm(0), {imm(64)}), y = ub(DType::F32, imm(1024), {imm(64)});
      int32_t core = b.binary(Opcode::Mul, b.read(Opcode::CoreId), b.constant(64));
      View out = gm(0, DType::F32, reg(core), {imm(64)});
      b.issue(TileOp::Fill, {x}, {imm(0)});
      b.sync(Pipe::V, Pipe::MTE3);
      b.issue(TileOp::Store, {out, x});
      if (isSynced)
        b.sync(Pipe::MTE3, Pipe::MTE2);
      b.issue(TileOp::Load, {y, out});
    });
  };
  EXPECT_TRUE(kernel(true).findings.empty()) << allText(kernel(true));
  EXPECT_EQ(countOf(kernel(false), FindingKind::ReadAfterWrite), 1);
}

TEST(Checker, CounterOverflow) {
  Program program;
  CoreBuilder cube(program, program.aic);
  cube.loop(16, [&](int32_t) { cube.blockSet(Pipe::FIX, 2); });
  cube.halt();
  CoreBuilder vector(program, program.aiv);
  vector.loop(16, [&](int32_t) { vector.blockWait(Pipe::MTE2, 2); });
  vector.halt();
  RunOptions options;
  options.check = true;
  RunResult result = run(program, {}, {}, smallChip(), options);
  EXPECT_TRUE(result.ok) << result.error;
  EXPECT_EQ(countOf(result, FindingKind::CounterOverflow), 1) << allText(result);
}

TEST(Checker, CrossCoreDeadlockNamesBothSides) {
  Program program;
  CoreBuilder cube(program, program.aic);
  cube.blockWait(Pipe::FIX, 1);
  cube.blockSet(Pipe::FIX, 0);
  cube.halt();
  CoreBuilder vector(program, program.aiv);
  vector.blockWait(Pipe::MTE2, 0);
  vector.blockSet(Pipe::MTE2, 1);
  vector.halt();
  RunResult result = run(program, {}, {}, smallChip(), {});
  EXPECT_FALSE(result.ok);
  ASSERT_EQ(countOf(result, FindingKind::Deadlock), 1);
  EXPECT_TRUE(hasText(
      result,
      "AIC waits in block_wait id 1 on FIX (kernel.py:1); AIV 0 waits in block_wait id 0 on "
      "MTE2 (kernel.py:4)"))
      << allText(result);
}

} // namespace
