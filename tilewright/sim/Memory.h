// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/machine/Machine.h"
#include "tilewright/sim/Lent.h"
#include "tilewright/sim/Program.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tilewright::sim {

/// What unwritten memory holds: NaN in f16, bf16 and f32, a large number in integers.
inline constexpr unsigned char kPoison = 0x7E;

inline constexpr unsigned kNumSpaces = 6;

/// One aligned block of host memory that remembers which part may hold something else than poison.
class PoisonedBlock {
public:
  PoisonedBlock() = default;
  explicit PoisonedBlock(int64_t bytes);

  std::byte *data() const { return memory.get(); }
  int64_t size() const { return bytes; }
  int64_t dirty() const { return dirtyEnd; }

  /// Notes that bytes up to `end` may be written from now on.
  void touch(int64_t end) { dirtyEnd = end > dirtyEnd ? end : dirtyEnd; }

  /// Poisons what may have been written since the last call.
  void poison();

private:
  struct Free {
    void operator()(std::byte *p) const;
  };
  std::unique_ptr<std::byte, Free> memory;
  int64_t bytes = 0, dirtyEnd = 0;
};

/// The on-chip memories of one core; empty blocks for those that it lacks.
struct CoreMemory {
  std::array<PoisonedBlock, kNumSpaces> spaces;

  PoisonedBlock &operator[](Space space) { return spaces[static_cast<size_t>(space)]; }
};

/// Bytes of an on-chip space; 0 where a core of that kind has none.
int64_t spaceBytes(const machine::Machine &chip, CoreKind kind, Space space);

/// The memories of one AIC and its two AIVs, made on first use.
struct GroupMemory {
  std::array<CoreMemory, 3> cores;
};

/// A set of memories as big as the chip's.
class GroupMemoryHandle {
public:
  GroupMemoryHandle(const machine::Machine &chip, bool needsAic, int numAivs);

  GroupMemory &operator*() const { return *memory; }

  /// Makes all memories poison again, for the next group on this worker.
  void poison();

private:
  Lent<GroupMemory> memory;
};

} // namespace tilewright::sim
