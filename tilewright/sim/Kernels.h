// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/KernelsIsa.h"
#include "tilewright/sim/Program.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::sim {

/// A view with every scalar evaluated and its memory found. Strides count elements.
struct ResolvedView {
  std::byte *data = nullptr; ///< first element
  /// On-chip byte address of the first element, for bank conflicts; the maximum: unknown.
  uint64_t address = UINT64_MAX;
  DType type = DType::F32;
  uint8_t rank = 0;
  std::array<int64_t, kMaxRank> sizes{};
  std::array<int64_t, kMaxRank> strides{};
};

/// A tile instruction ready to take effect.
struct ResolvedOp {
  TileOp op = TileOp::Copy;
  uint16_t fn = 0; ///< Scan: the dimension in the high byte
  uint8_t flags = 0;
  RoundMode round = RoundMode::Rint;
  uint8_t numOperands = 0, numScalars = 0;
  std::array<ResolvedView, 4> operands{};
  std::array<int64_t, 8> scalars{};
};

/// Performs the effect of `op` on memory. Operands are in bounds and aligned to their elements;
/// overlap of source and destination is handled as if sources were read first. Zero-sized boxes do
/// nothing (but a Reduce over nothing gives its identity). Results are bit-identical on every ISA
/// level and equal to the reference interpreter's (both use support/Math.h, Reduce.h).
void execute(const ResolvedOp &op);

/// `execute` for an instruction that is issued many times: what depends on shapes, types and steps
/// of an Iota is worked out once, addresses and other scalars may change from run to run.
class ReadyOp {
public:
  /// Not for Mmad.
  explicit ReadyOp(const ResolvedOp &op);

  /// `op` differs from the constructor's in addresses and scalars at most.
  void run(const ResolvedOp &op);

private:
  kernels::Job job;
  int numOperands = 0; ///< in memory
  bool isNothing = false;
};

/// C[m,n] (+)= A.B as Mmad describes it, on plain strided views.
void mmad(const ResolvedView &c, const ResolvedView &a, const ResolvedView &b, bool transposeA,
          bool transposeB, bool init);

/// Null when this CPU can run the kernels, else what it lacks.
const char *unsupportedCpuReason();

/// The instruction set levels that this CPU can run, best first. The first one is in use until
/// another is asked for, as tests do that compare them; false if it can't be.
std::vector<std::string> kernelLevels();
bool useKernelLevel(const std::string &name);

} // namespace tilewright::sim
