// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ProgramBuilder.h"

namespace tilewright::sim::test {

/// Faults that can be built into MixedKernel.
enum class Bug {
  None,
  NoWaitBeforeMmad, ///< set MTE2->MTE1 stays, its wait is missing
  NoSyncBeforeMmad, ///< neither
  OneIdForTwoSlots, ///< MTE2->MTE1 uses id 0 for both L1 slots
  NoBackEdgeSet,    ///< MTE1->MTE2 set missing in the loop
  NoBackEdge,       ///< set and wait missing
  ShortLoad,        ///< the B tile is loaded without its last rows
  TilePastL1,
  NoWaitBeforeFixpipe,
  NoEpilogue,
  NoWaitForCube,       ///< AIV reads the workspace without block_wait
  SignalFromWrongPipe, ///< block_set on M instead of FIX
  NoVectorBarrier,
  NoCredit, ///< the cube never waits until the workspace is free
};

/// C = (A.B + 1) * 2 per block of 32 rows: the cube accumulates over three K steps with two L1
/// slots, hands the product to its vector cores through the workspace, each of which finishes 16
/// rows.
struct MixedKernel {
  static constexpr int64_t kM = 32, kN = 32, kK = 32, kSteps = 3, kBlocks = 5;

  Program program;
  int mmadLine = 0, loadLine = 0, fixpipeLine = 0, workspaceLoadLine = 0, addLine = 0, mulLine = 0;

  explicit MixedKernel(Bug bug = Bug::None) {
    program.name = "mixed";
    program.tensors = {{"A", DType::F32, false}, {"B", DType::F32, false}, {"C", DType::F32, true}};
    program.workspaceBytesPerCore = kM * kN * 4;
    buildCube(bug);
    buildVector(bug);
    program.buffers = {{"A_l1", CoreKind::AIC, Space::L1, 0, kM * kK * 4, 2, -1},
                       {"B_l1", CoreKind::AIC, Space::L1, 65536, kK * kN * 4, 2, -1},
                       {"acc", CoreKind::AIC, Space::L0C, 0, kM * kN * 4, 1, -1},
                       {"in_ub", CoreKind::AIV, Space::UB, 0, kM / 2 * kN * 4, 1, -1},
                       {"out_ub", CoreKind::AIV, Space::UB, 16384, kM / 2 * kN * 4, 1, -1}};
  }

  std::vector<float> a, b, c;
  RunResult run(const RunOptions &options) {
    a.resize(kBlocks * kM * kK * kSteps);
    b.resize(kK * kSteps * kN);
    c.assign(kBlocks * kM * kN, -1.f);
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = float(int(i * 7 % 11) - 5);
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = float(int(i * 5 % 13) - 6);
    return sim::run(program,
                    {{a.data(), int64_t(a.size())},
                     {b.data(), int64_t(b.size())},
                     {c.data(), int64_t(c.size())}},
                    {}, smallChip(), options);
  }
  bool isRight() const {
    for (int64_t i = 0; i < kBlocks * kM; ++i)
      for (int64_t j = 0; j < kN; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < kK * kSteps; ++k)
          sum += a[size_t(i * kK * kSteps + k)] * b[size_t(k * kN + j)];
        if (c[size_t(i * kN + j)] != (sum + 1) * 2)
          return false;
      }
    return true;
  }

private:
  View l1(int64_t base, int64_t rows, int64_t cols) {
    return box(Space::L1, DType::F32, imm(base), {imm(rows), imm(cols)});
  }

  void buildCube(Bug bug) {
    CoreBuilder b(program, program.aic);
    int32_t rowA = b.constant(kM * kK * kSteps);
    int32_t workspace = b.binary(Opcode::Mul, b.read(Opcode::CoreId), b.constant(kM * kN));
    View acc = box(Space::L0C, DType::F32, imm(0), {imm(kM), imm(kN)});
    b.set(Pipe::MTE1, Pipe::MTE2, 0);
    b.set(Pipe::MTE1, Pipe::MTE2, 1);
    b.set(Pipe::FIX, Pipe::M, 0);
    b.blocks(kBlocks, [&](int32_t block) {
      int32_t base = b.binary(Opcode::Mul, block, rowA);
      b.wait(Pipe::FIX, Pipe::M, 0);
      for (int64_t s = 0; s < kSteps; ++s) {
        int64_t slot = s % 2;
        int32_t at = b.binary(Opcode::Add, base, b.constant(s * kK));
        View x = l1(slot * kM * kK * 4, kM, kK), y = l1(65536 + slot * kK * kN * 4, kK, kN);
        if (bug == Bug::TilePastL1 && s == 2)
          y.base = imm(512 * 1024 - 64);
        if (bug != Bug::NoBackEdge)
          b.wait(Pipe::MTE1, Pipe::MTE2, slot);
        b.issue(TileOp::Load,
                {x, gm(0, DType::F32, reg(at), {imm(kM), imm(kK)}, {imm(kK * kSteps), imm(1)})});
        int64_t rows = bug == Bug::ShortLoad && s < 2 ? kK - 4 : kK;
        View part = y;
        part.sizes[0] = imm(rows);
        loadLine =
            b.issue(TileOp::Load, {part, gm(1, DType::F32, imm(s * kK * kN), {imm(rows), imm(kN)})},
                    {}, 0, 0, "copy B_l1 <- B");
        int64_t id = bug == Bug::OneIdForTwoSlots ? 0 : slot;
        if (bug != Bug::NoSyncBeforeMmad)
          b.set(Pipe::MTE2, Pipe::MTE1, id);
        if (bug != Bug::NoSyncBeforeMmad && bug != Bug::NoWaitBeforeMmad)
          b.wait(Pipe::MTE2, Pipe::MTE1, id);
        mmadLine = b.issue(TileOp::Mmad, {acc, x, y}, {imm(s == 0)}, 0, 0, "gemm");
        if (bug != Bug::NoBackEdge && bug != Bug::NoBackEdgeSet)
          b.set(Pipe::MTE1, Pipe::MTE2, slot);
      }
      b.set(Pipe::M, Pipe::FIX, 0);
      if (bug != Bug::NoWaitBeforeFixpipe)
        b.wait(Pipe::M, Pipe::FIX, 0);
      if (bug != Bug::NoCredit)
        b.blockWait(Pipe::FIX, 1);
      View out = gm(kWorkspace, DType::F32, reg(workspace), {imm(kM), imm(kN)});
      fixpipeLine = b.issue(TileOp::Fixpipe, {out, acc});
      b.blockSet(bug == Bug::SignalFromWrongPipe ? Pipe::M : Pipe::FIX, 0);
      b.set(Pipe::FIX, Pipe::M, 0);
    });
    if (bug != Bug::NoEpilogue) {
      b.wait(Pipe::FIX, Pipe::M, 0);
      b.wait(Pipe::MTE1, Pipe::MTE2, 0);
      b.wait(Pipe::MTE1, Pipe::MTE2, 1);
      b.blockWait(Pipe::FIX, 1);
    }
    b.halt();
  }

  void buildVector(Bug bug) {
    CoreBuilder b(program, program.aiv);
    constexpr int64_t rows = kM / 2;
    int32_t sub = b.binary(Opcode::Mul, b.read(Opcode::SubCoreId), b.constant(rows * kN));
    int32_t blockSize = b.constant(kM * kN);
    int32_t workspace =
        b.binary(Opcode::Add, b.binary(Opcode::Mul, b.read(Opcode::CoreId), blockSize), sub);
    View in = ub(DType::F32, imm(0), {imm(rows), imm(kN)});
    View out = ub(DType::F32, imm(16384), {imm(rows), imm(kN)});
    b.blockSet(Pipe::MTE2, 1);
    b.set(Pipe::V, Pipe::MTE2, 0);
    b.set(Pipe::MTE3, Pipe::V, 0);
    b.blocks(kBlocks, [&](int32_t block) {
      int32_t at = b.binary(Opcode::Add, b.binary(Opcode::Mul, block, blockSize), sub);
      b.wait(Pipe::V, Pipe::MTE2, 0);
      if (bug != Bug::NoWaitForCube)
        b.blockWait(Pipe::MTE2, 0);
      workspaceLoadLine = b.issue(
          TileOp::Load, {in, gm(kWorkspace, DType::F32, reg(workspace), {imm(rows), imm(kN)})});
      b.blockSet(Pipe::MTE2, 1);
      b.sync(Pipe::MTE2, Pipe::V, 0);
      b.wait(Pipe::MTE3, Pipe::V, 0);
      addLine = b.issue(TileOp::BinaryScalar, {out, in}, {imm(0x3f800000)}, int(BinaryFn::Add));
      if (bug != Bug::NoVectorBarrier)
        b.barrier(Pipe::V);
      mulLine = b.issue(TileOp::BinaryScalar, {out, out}, {imm(0x40000000)}, int(BinaryFn::Mul));
      b.set(Pipe::V, Pipe::MTE2, 0);
      b.sync(Pipe::V, Pipe::MTE3, 0);
      b.issue(TileOp::Store, {gm(2, DType::F32, reg(at), {imm(rows), imm(kN)}), out});
      b.set(Pipe::MTE3, Pipe::V, 0);
    });
    b.wait(Pipe::V, Pipe::MTE2, 0);
    b.wait(Pipe::MTE3, Pipe::V, 0);
    b.halt();
  }
};

} // namespace tilewright::sim::test
