// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Memory.h"

#include <cstdlib>
#include <cstring>
#include <new>

using namespace tilewright::sim;

namespace {

constexpr size_t kAlignment = 512;

} // namespace

PoisonedBlock::PoisonedBlock(int64_t size) : bytes(size), dirtyEnd(size) {
  if (size <= 0) {
    bytes = dirtyEnd = 0;
    return;
  }
  size_t rounded = (size_t(size) + kAlignment - 1) / kAlignment * kAlignment;
  void *raw = std::aligned_alloc(kAlignment, rounded);
  if (!raw)
    throw std::bad_alloc();
  memory.reset(static_cast<std::byte *>(raw));
}

void PoisonedBlock::Free::operator()(std::byte *p) const { std::free(p); }

void PoisonedBlock::poison() {
  if (dirtyEnd > 0)
    std::memset(memory.get(), kPoison, size_t(dirtyEnd));
  dirtyEnd = 0;
}

int64_t tilewright::sim::spaceBytes(const machine::Machine &chip, CoreKind kind, Space space) {
  if (kind == CoreKind::AIV)
    return space == Space::UB ? chip.ubBytes : 0;
  switch (space) {
  case Space::L1:
    return chip.l1Bytes;
  case Space::L0A:
    return chip.l0aBytes;
  case Space::L0B:
    return chip.l0bBytes;
  case Space::L0C:
    return chip.l0cBytes;
  default:
    return 0;
  }
}

GroupMemoryHandle::GroupMemoryHandle(const machine::Machine &chip, bool needsAic, int numAivs) {
  // Chips differ in sizes.
  auto fit = [&](int core, CoreKind kind, Space space) {
    PoisonedBlock &block = memory->cores[core][space];
    if (block.size() != spaceBytes(chip, kind, space))
      block = PoisonedBlock(spaceBytes(chip, kind, space));
  };
  if (needsAic)
    for (Space space : {Space::L1, Space::L0A, Space::L0B, Space::L0C})
      fit(0, CoreKind::AIC, space);
  for (int i = 1; i <= numAivs; ++i)
    fit(i, CoreKind::AIV, Space::UB);
}

void GroupMemoryHandle::poison() {
  for (CoreMemory &core : memory->cores)
    for (PoisonedBlock &block : core.spaces)
      block.poison();
}
