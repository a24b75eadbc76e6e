// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/Program.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace tilewright::sim {

/// What the engine tells the clock: one entry per thing that takes time or orders time, in program
/// order of one core. The engine produces them, `Clock.h` turns them into cycles.
enum class RecordKind : uint8_t {
  Compute, ///< `pipe` busy for `cycles` (V's fixed cost is part of it)
  Mmad, ///< one Mmad macro, on MTE1 and M: `cycles` on M, `mte1Cycles` on MTE1, in `chunks` K steps
        ///< that go through two halves of L0A/L0B; both pipes' flags and barriers see it
  Transfer, ///< GM traffic on `pipe`; details in `gm`
  SetFlag,
  WaitFlag,
  Barrier,
  BlockSet,
  BlockWait,
  ScalarWork, ///< `cycles` of scalar issue time (control flow between instructions)
  ScalarSync, ///< the scalar unit waits until everything on `pipe` is done (scalar reads)
  BeginBlock, ///< logical block `gm.address` starts
};

/// One GM transfer: `rows` runs of `rowBytes` bytes, `stride` bytes apart in GM, and all that
/// `planes` times, `planeStride` bytes apart. Dimensions that are contiguous in GM are folded into
/// the row, or stride == rowBytes.
struct GmTraffic {
  uint64_t address = 0; ///< launch-wide unique (tensor bases are 512 B aligned and disjoint)
  uint32_t rows = 0;
  uint32_t rowBytes = 0;
  uint64_t stride = 0;
  uint32_t planes = 1;
  uint64_t planeStride = 0;
};

struct Record {
  RecordKind kind = RecordKind::Compute;
  Pipe pipe = Pipe::S;    ///< the executing pipe; source pipe of a flag
  Pipe other = Pipe::S;   ///< destination pipe of a flag
  uint8_t id = 0;         ///< flag id
  bool write = false;     ///< Transfer: writes GM
  bool atomic = false;    ///< Transfer: an atomic write
  bool bypass = false;    ///< Transfer: a read that leaves no line in the L2
  bool workspace = false; ///< Transfer: GM side is the workspace (counted apart)
  bool unit = false;      ///< SetFlag: the target may start with the source's last instruction
  uint16_t chunks = 1;    ///< Mmad: K steps
  float cycles = 0;
  float mte1Cycles = 0;    ///< Mmad: MTE1 cycles of all chunks
  int32_t templateId = -1; ///< of the core program, for traces; -1 none
  int32_t cost = -1;       ///< entry of the cost table that the cycles come from; -1 none
  GmTraffic gm;
};

/// All records of one physical core, in program order.
struct CoreRecords {
  CoreKind kind = CoreKind::AIC;
  int32_t group = 0; ///< AIC number (mixed, cube) or AIV number (vector)
  int32_t sub = 0;   ///< AIV of a mixed group: 0 or 1
  std::vector<Record> records;
  double macs8 = 0, macs16 = 0, macs32 = 0;     ///< multiply-adds of Mmads, by bits of an operand
  std::shared_ptr<const class CostTable> costs; ///< what Record::cost counts in
};

} // namespace tilewright::sim
