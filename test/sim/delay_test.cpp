// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MixedKernel.h"

#include <gtest/gtest.h>

using namespace tilewright::sim;
using namespace tilewright::sim::test;

namespace {

constexpr uint64_t kSeeds = 20;

/// Seeds under which the kernel's result is wrong.
int wrongSeeds(Bug bug) {
  int wrong = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    MixedKernel kernel(bug);
    RunOptions options;
    options.delaySeed = seed;
    RunResult result = kernel.run(options);
    EXPECT_TRUE(result.ok) << result.error;
    wrong += !kernel.isRight();
  }
  return wrong;
}

TEST(Delay, CleanKernelGivesTheSameResult) { EXPECT_EQ(wrongSeeds(Bug::None), 0); }

TEST(Delay, RacyKernelsGoWrong) {
  EXPECT_GT(wrongSeeds(Bug::NoSyncBeforeMmad), 0);
  EXPECT_GT(wrongSeeds(Bug::NoBackEdge), 0);
  EXPECT_GT(wrongSeeds(Bug::NoWaitBeforeFixpipe), 0);
  EXPECT_GT(wrongSeeds(Bug::NoVectorBarrier), 0);
  EXPECT_GT(wrongSeeds(Bug::SignalFromWrongPipe), 0);
  EXPECT_GT(wrongSeeds(Bug::NoCredit), 0);
  EXPECT_GT(wrongSeeds(Bug::NoWaitForCube), 0);
}

TEST(Delay, OneSeedIsOneResult) {
  for (uint64_t seed : {1, 2, 3}) {
    std::vector<float> first;
    for (int threads : {1, 2}) {
      MixedKernel kernel(Bug::NoSyncBeforeMmad);
      RunOptions options;
      options.delaySeed = seed;
      options.numThreads = threads;
      kernel.run(options);
      if (first.empty())
        first = kernel.c;
      EXPECT_EQ(0, memcmp(first.data(), kernel.c.data(), first.size() * sizeof(float)));
    }
  }
}

bool isSync(Opcode op) {
  return op == Opcode::SetFlag || op == Opcode::WaitFlag || op == Opcode::Barrier ||
         op == Opcode::BlockSet || op == Opcode::BlockWait;
}

TEST(Delay, EveryMutantIsReportedOrHarmless) {
  MixedKernel clean;
  int mutants = 0, racy = 0, shown = 0;
  for (CoreKind kind : {CoreKind::AIC, CoreKind::AIV}) {
    const CoreProgram &core = kind == CoreKind::AIC ? clean.program.aic : clean.program.aiv;
    for (size_t i = 0; i < core.code.size(); ++i) {
      if (!isSync(core.code[i].op))
        continue;
      ++mutants;
      RunOptions options;
      options.check = true;
      options.mutation = Mutation{Mutation::Kind::Drop, kind, int32_t(i)};
      MixedKernel kernel;
      RunResult result = kernel.run(options);
      std::string where = std::string(kind == CoreKind::AIC ? "AIC " : "AIV ") + std::to_string(i);
      if (result.findings.empty()) {
        options.mutation->kind = Mutation::Kind::HoldProducer;
        options.check = false;
        MixedKernel held;
        RunResult late = held.run(options);
        EXPECT_TRUE(late.ok && held.isRight()) << where;
        continue;
      }
      bool isRace = countOf(result, FindingKind::ReadAfterWrite) ||
                    countOf(result, FindingKind::WriteAfterRead) ||
                    countOf(result, FindingKind::WriteAfterWrite) ||
                    countOf(result, FindingKind::Uninitialised);
      if (!isRace)
        continue;
      ++racy;
      bool isShown = !result.ok;
      for (uint64_t seed = 0; seed < kSeeds && !isShown; ++seed) {
        MixedKernel delayed;
        RunOptions delays;
        delays.delaySeed = seed;
        delays.mutation = Mutation{Mutation::Kind::Drop, kind, int32_t(i)};
        RunResult late = delayed.run(delays);
        isShown = !late.ok || !delayed.isRight();
      }
      shown += isShown;
      if (!isShown)
        std::printf("racy but never wrong: %s, %s\n", where.c_str(), allText(result).c_str());
    }
  }
  EXPECT_GT(mutants, 40);
  EXPECT_GT(racy, 20);
  EXPECT_GE(shown * 10, racy * 8) << shown << " of " << racy;
}

TEST(Delay, HoldingAProducerShowsItsEdge) {
  MixedKernel clean;
  // The barrier between the two vector instructions is needed; held back, the result changes.
  for (size_t i = 0; i < clean.program.aiv.code.size(); ++i) {
    if (clean.program.aiv.code[i].op != Opcode::Barrier)
      continue;
    MixedKernel kernel;
    RunOptions options;
    options.mutation = Mutation{Mutation::Kind::HoldProducer, CoreKind::AIV, int32_t(i)};
    kernel.run(options);
    EXPECT_FALSE(kernel.isRight());
  }
}

TEST(Delay, AccumulatingReductionsReadBeforeTheyWrite) {
  Program program;
  program.tensors = {{"X", DType::F32, false}, {"Y", DType::F32, true}};
  CoreBuilder b(program, program.aiv);
  int32_t core = b.read(Opcode::CoreId);
  View x = ub(DType::F32, imm(0), {imm(8), imm(16)});
  View sum = ub(DType::F32, imm(4096), {imm(8), imm(16)}, {imm(1), imm(0)});
  View flat = ub(DType::F32, imm(4096), {imm(8)});
  b.issue(TileOp::Load, {x, gm(0, DType::F32, imm(0), {imm(8), imm(16)})});
  b.issue(TileOp::Fill, {flat}, {imm(0)});
  b.sync(Pipe::MTE2, Pipe::V);
  b.barrier(Pipe::V);
  b.issue(TileOp::Reduce, {sum, x}, {}, int(ReduceFn::Sum), kAccumulate);
  b.barrier(Pipe::V);
  b.issue(TileOp::Reduce, {sum, x}, {}, int(ReduceFn::Sum), kAccumulate);
  b.sync(Pipe::V, Pipe::MTE3);
  int32_t base = b.binary(Opcode::Mul, core, b.constant(8));
  b.issue(TileOp::Store, {gm(1, DType::F32, reg(base), {imm(8)}), flat});
  b.halt();
  std::vector<float> data(8 * 16, 1.f), out(8 * 4, 0.f);
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    RunOptions options;
    options.delaySeed = seed;
    options.check = true;
    RunResult result =
        run(program, {{data.data(), 128}, {out.data(), 32}}, {}, smallChip(), options);
    EXPECT_TRUE(result.ok && result.findings.empty()) << allText(result);
    for (float value : out)
      EXPECT_EQ(value, 32.f);
  }
}

} // namespace
