// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs with random synchronisation: whatever the checker calls clean must give the same
// result however its instructions are delayed.
#include "ProgramBuilder.h"

#include <gtest/gtest.h>

#include <random>

using namespace tilewright::sim;
using namespace tilewright::sim::test;

namespace {

class RandomProgram {
public:
  static constexpr int64_t kWords = 1024; ///< of the output, per core

  explicit RandomProgram(unsigned seed) : random(seed) {
    program.tensors = {{"X", DType::F32, false}, {"Y", DType::F32, true}};
    program.workspaceBytesPerCore = 4096;
    density = pick(4);
    fences = pick(2) ? 0 : 6 + pick(4);
    bool isMixed = pick(2);
    int length = 4 + pick(14);
    if (isMixed)
      emitCube(length);
    emitVector(length, isMixed);
  }

  Program program;
  std::vector<float> y;

  RunResult run(const RunOptions &options) {
    std::vector<float> x(kWords);
    for (int64_t i = 0; i < kWords; ++i)
      x[size_t(i)] = float(i % 17) - 8;
    y.assign(size_t(kWords * 2), 0.f);
    auto chip = smallChip(1);
    return tilewright::sim::run(program, {{x.data(), kWords}, {y.data(), kWords * 2}}, {}, chip,
                                options);
  }

private:
  std::mt19937 random;
  int density, fences; ///< syncs per step; tenths of the steps that start with a full barrier

  int pick(int n) { return int(random() % unsigned(n)); }

  /// A few overlapping tiles of 64 words.
  View tile() {
    static const int64_t bases[] = {0, 256, 128, 1024, 1280, 2048};
    return ub(DType::F32, imm(bases[pick(6)]), {imm(4), imm(16)});
  }
  View gmTile(int32_t tensor, int32_t base = -1) {
    Ref at = base >= 0 ? reg(base) : imm(64 * pick(8));
    return gm(tensor, DType::F32, at, {imm(4), imm(16)});
  }
  View l1() { return box(Space::L1, DType::F32, imm(1024 * pick(3)), {imm(16), imm(16)}); }
  View acc() { return box(Space::L0C, DType::F32, imm(1024 * pick(2)), {imm(16), imm(16)}); }

  /// Some synchronisation between any two pipes of `pipes`, seldom or often.
  void maybeSync(CoreBuilder &b, std::vector<Pipe> pipes) {
    for (int i = 0; i < density; ++i) {
      if (pick(2))
        continue;
      Pipe from = pipes[size_t(pick(int(pipes.size())))],
           to = pipes[size_t(pick(int(pipes.size())))];
      if (from != to)
        b.sync(from, to, pick(2));
      else
        b.barrier(pick(3) ? from : Pipe::All);
    }
    if (pick(10) < fences)
      b.barrier(Pipe::All);
  }

  void emitVector(int length, bool isMixed) {
    CoreBuilder b(program, program.aiv);
    std::vector<Pipe> pipes = {Pipe::S, Pipe::V, Pipe::MTE2, Pipe::MTE3};
    int32_t lane = b.binary(Opcode::Add, b.read(Opcode::CoreId), b.read(Opcode::SubCoreId));
    int32_t own = b.binary(Opcode::Mul, lane, b.constant(kWords));
    for (int64_t base : {0, 1024, 2048})
      b.issue(TileOp::Fill, {ub(DType::F32, imm(base), {imm(256)})}, {imm(0x3f800000)});
    b.barrier(Pipe::All);
    for (int i = 0; i < length; ++i) {
      maybeSync(b, pipes);
      int32_t at = b.binary(Opcode::Add, own, b.constant(64 * pick(8)));
      switch (pick(isMixed ? 10 : 8)) {
      case 0:
        b.issue(TileOp::Load, {tile(), gmTile(0)});
        break;
      case 1:
        b.issue(TileOp::Load, {tile(), gmTile(1, at)});
        break;
      case 2:
      case 3:
        b.issue(TileOp::Store, {gmTile(1, at), tile()});
        break;
      case 4:
        b.issue(TileOp::Binary, {tile(), tile(), tile()}, {}, int(BinaryFn::Add));
        break;
      case 5:
        b.issue(TileOp::BinaryScalar, {tile(), tile()}, {imm(0x3f000000)}, int(BinaryFn::Mul));
        break;
      case 6: {
        View element = ub(DType::F32, imm(64 * pick(40)), {});
        if (pick(2)) {
          b.issue(TileOp::ScalarStore, {element}, {imm(0x40000000)});
          break;
        }
        Template load;
        load.op = TileOp::ScalarLoad;
        load.operands = {element};
        load.resultReg = b.newReg();
        b.issue(load);
        b.issue(TileOp::ScalarStore, {ub(DType::F32, imm(64 * pick(40)), {})},
                {reg(load.resultReg)});
        break;
      }
      case 7: {
        View in = tile(), sum = ub(DType::F32, imm(1024), {imm(4), imm(16)}, {imm(1), imm(0)});
        b.issue(TileOp::Reduce, {sum, in}, {}, int(ReduceFn::Sum), pick(2) ? kAccumulate : 0);
        break;
      }
      case 8:
        b.blockWait(pick(2) ? Pipe::MTE2 : Pipe::V, 0);
        b.issue(TileOp::Load, {tile(), gmTile(kWorkspace)});
        if (pick(2))
          b.barrier(Pipe::All);
        b.blockSet(pick(2) ? Pipe::MTE2 : Pipe::MTE3, 1);
        break;
      default:
        maybeSync(b, pipes);
        break;
      }
    }
    b.barrier(Pipe::All);
    b.issue(TileOp::Store,
            {gm(1, DType::F32, reg(own), {imm(640)}), ub(DType::F32, imm(0), {imm(640)})});
    b.halt();
  }

  void emitCube(int length) {
    CoreBuilder b(program, program.aic);
    std::vector<Pipe> pipes = {Pipe::M, Pipe::MTE1, Pipe::MTE2, Pipe::FIX};
    for (int64_t i = 0; i < 3; ++i)
      b.issue(TileOp::Load, {box(Space::L1, DType::F32, imm(1024 * i), {imm(16), imm(16)}),
                             gm(0, DType::F32, imm(64 * i), {imm(16), imm(16)})});
    b.barrier(Pipe::All);
    for (int64_t i = 0; i < 2; ++i)
      b.issue(TileOp::Mmad,
              {box(Space::L0C, DType::F32, imm(1024 * i), {imm(16), imm(16)}), l1(), l1()},
              {imm(1)});
    b.barrier(Pipe::All);
    View exchange = gm(kWorkspace, DType::F32, imm(0), {imm(16), imm(16)});
    b.issue(TileOp::Fixpipe, {gm(kWorkspace, DType::F32, imm(0), {imm(16), imm(16)}), acc()});
    b.issue(TileOp::Fixpipe, {gm(kWorkspace, DType::F32, imm(256), {imm(16), imm(16)}), acc()});
    b.blockSet(Pipe::FIX, 0);
    for (int i = 0; i < length; ++i) {
      maybeSync(b, pipes);
      switch (pick(5)) {
      case 0:
        b.issue(TileOp::Load, {l1(), gm(0, DType::F32, imm(64 * pick(8)), {imm(16), imm(16)})});
        break;
      case 1:
      case 2:
        b.issue(TileOp::Mmad, {acc(), l1(), l1()}, {imm(pick(3) == 0)});
        break;
      case 3:
        b.issue(TileOp::Fixpipe, {l1(), acc()});
        break;
      default:
        b.blockWait(pick(2) ? Pipe::FIX : Pipe::MTE2, 1);
        b.issue(TileOp::Fixpipe, {exchange, acc()});
        b.blockSet(pick(3) ? Pipe::FIX : Pipe::M, 0);
        break;
      }
    }
    b.halt();
  }
};

TEST(RandomSync, WhatTheCheckerCallsCleanIsDelaySafe) {
  int clean = 0, racy = 0, shown = 0;
  const char *count = std::getenv("TILEWRIGHT_RANDOM_PROGRAMS");
  unsigned programs = count ? unsigned(std::atoi(count)) : 400;
  for (unsigned seed = 0; seed < programs; ++seed) {
    RandomProgram kernel(seed);
    RunOptions options;
    options.check = true;
    options.numThreads = 1;
    RunResult result = kernel.run(options);
    bool isRacy = countOf(result, FindingKind::ReadAfterWrite) +
                      countOf(result, FindingKind::WriteAfterRead) +
                      countOf(result, FindingKind::WriteAfterWrite) >
                  0;
    if (countOf(result, FindingKind::OutOfBounds))
      FAIL() << result.error;
    if (!result.ok) // signals that never come
      continue;
    (isRacy ? racy : clean)++;
    std::vector<float> expected = kernel.y;
    bool isShown = false;
    for (uint64_t delay = 0; delay < 6; ++delay) {
      options.check = false;
      options.delaySeed = delay;
      RunResult late = kernel.run(options);
      ASSERT_TRUE(late.ok) << late.error;
      bool isSame = memcmp(expected.data(), kernel.y.data(), expected.size() * sizeof(float)) == 0;
      isShown = isShown || !isSame;
      if (!isRacy) {
        ASSERT_TRUE(isSame) << "program " << seed << " delay " << delay << "\n"
                            << toText(kernel.program) << allText(result);
      }
    }
    shown += isRacy && isShown;
  }
  std::printf("%d clean, %d racy of which %d went wrong\n", clean, racy, shown);
  EXPECT_GT(clean, int(programs / 15));
  EXPECT_GT(shown * 2, racy);
}

} // namespace
