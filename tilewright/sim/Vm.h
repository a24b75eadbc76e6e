// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/Program.h"

#include <cstdint>
#include <vector>

namespace tilewright::sim {

/// What stopped the scalar machine: an instruction that the engine carries out (the program counter
/// still points at it), or a fault.
enum class VmStop : uint8_t { Event, Watchdog };

/// Constant surroundings of one scalar machine.
struct VmContext {
  const Insn *code = nullptr;
  const int64_t *scalarArgs = nullptr;
  int64_t coreId = 0, coreCount = 1, subCoreId = 0;
};

/// The scalar unit of one core; may be left at any event and taken up again.
struct VmState {
  std::vector<int64_t> regs;
  int32_t pc = 0;
  int64_t executed = 0; ///< scalar instructions so far
};

/// Runs until the next instruction from BeginBlock on in the list of opcodes (Assert only when it
/// fails), Halt, a fault, or `limit` executed instructions. The program must have been validated.
VmStop runVm(VmState &state, const VmContext &context, int64_t limit);

/// One element-wise float function on scalars kept as Program.h says; shares the tile kernels, so a
/// scalar and a one-element tile agree bit for bit.
int64_t evalUnary(UnaryFn fn, DType type, int64_t a);
int64_t evalBinary(BinaryFn fn, DType type, int64_t a, int64_t b);

/// Register value of `from` as a register value of `to`: floats to integers truncate, saturate, NaN
/// gives 0; integers wrap.
int64_t convertScalar(int64_t value, DType from, DType to);

/// Moves a register value into memory as `type` and back.
void storeScalar(void *memory, DType type, int64_t value);
int64_t loadScalar(const void *memory, DType type);

} // namespace tilewright::sim
