// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/npu/NpuOps.h"
#include "tilewright/sim/Program.h"

#include <vector>

/// From planned npu functions to the simulator's programs.
namespace tilewright::to_sim {

/// Where a launch scalar comes from: the value of operand `operand` of the launch, or, with `dim`
/// not negative, size `dim` of the tensor that this operand is.
struct ScalarSource {
  unsigned operand = 0;
  int dim = -1;
};

/// One launch, ready for sim::run. `tensors[i]` is the launch operand that is tensor i of the
/// program, `scalars[i]` tells what ScalarArg i is. Scalars travel as 64-bit values: integers
/// sign-extended, floats as their bits, f16 and bf16 widened to f32 first.
struct LaunchProgram {
  sim::Program program;
  std::vector<unsigned> tensors;
  std::vector<ScalarSource> scalars;
};

/// Translates the device functions of `launch`. They must have been through npu-plan-memory: every
/// on-chip buffer has an address. Faults are diagnosed at the op.
mlir::FailureOr<LaunchProgram> translateLaunch(npu::LaunchOp launch);

/// Element type of a memref or scalar for the simulator; none for types that it lacks.
std::optional<sim::DType> dtypeOf(mlir::Type type);

} // namespace tilewright::to_sim
