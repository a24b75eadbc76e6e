// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/Program.h"

#include <cstddef>
#include <cstdint>

/// What Kernels.cpp hands to the files that are compiled once per instruction set level. Plain
/// structures only: those files must not define inline functions that the linker could share
/// between levels.
namespace tilewright::sim::kernels {

/// An operand whose box is the job's: element strides, 0 broadcasts.
struct Operand {
  std::byte *data = nullptr;
  DType type = DType::F32;
  int64_t strides[kMaxRank] = {};
};

/// A tile instruction in a normal form: no empty box; dims of extent 1 dropped and dims that are
/// contiguous in all operands merged where the operation allows it; a rank of at least 1; no source
/// overlaps the destination unless element by element.
struct Job {
  TileOp op = TileOp::Copy;
  uint16_t fn = 0;
  uint8_t flags = 0;
  RoundMode round = RoundMode::Rint;
  int rank = 0;
  int numOperands = 0;
  int64_t sizes[kMaxRank] = {};
  Operand operands[4];
  int64_t scalars[8] = {};
  bool reduced[kMaxRank] = {}; ///< Reduce: these dims are reduced
  bool lastReduced = false; ///< Reduce: the box's last dim is (by position, see support/Reduce.h)
  int scanDim = 0;          ///< Scan
  int64_t tableSize = 0, tableStride = 0; ///< Gather: the table, operand 1 (which has no box)
};

/// A matrix of Mmad: element (i, j) is at data[i * rowStride + j * columnStride].
struct Matrix {
  std::byte *data = nullptr;
  DType type = DType::F32;
  int64_t rowStride = 0, columnStride = 0;
};

/// C (m x n) = (init ? 0 : C) + A (m x k) . B (k x n). `workspace(bytes)` gives memory of the
/// calling thread, aligned to 64 bytes.
struct MatrixJob {
  int64_t m = 0, n = 0, k = 0;
  Matrix c, a, b;
  bool init = false;
  std::byte *(*workspace)(size_t bytes) = nullptr;
};

/// The entry points of one level.
#define TILEWRIGHT_DECLARE_KERNELS(level)                                                          \
  namespace level {                                                                                \
  void                                                                                             \
  runElementwise(const kernels::Job &job); /* Unary, Binary*, Compare*, Cast, Fixpipe, atomics */  \
  void runMove(const kernels::Job &job);   /* Fill, Copy, Select, Iota, Gather */                  \
  void runReduce(const kernels::Job &job); /* Reduce, Scan */                                      \
  void runMmad(const kernels::MatrixJob &job);                                                     \
  }

} // namespace tilewright::sim::kernels

namespace tilewright::sim {
#ifdef TILEWRIGHT_ISA
TILEWRIGHT_DECLARE_KERNELS(TILEWRIGHT_ISA)
#elif defined(__x86_64__)
TILEWRIGHT_DECLARE_KERNELS(v3)
TILEWRIGHT_DECLARE_KERNELS(v4)
#else
TILEWRIGHT_DECLARE_KERNELS(neon)
#endif
} // namespace tilewright::sim
