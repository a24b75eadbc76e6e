// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/Program.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

namespace tilewright::sim {

/// What the engine tells the clock: one entry per thing that takes time or orders time, in program
/// order of one core. The engine produces them, `Clock.h` turns them into cycles.
enum class RecordKind : uint8_t {
  Compute, ///< `pipe` busy for the cycles of `entry` (V's fixed cost is part of it)
  Mmad, ///< one Mmad macro, on MTE1 and M, in K steps that go through two halves of L0A/L0B; both
        ///< pipes' flags and barriers see it
  Transfer, ///< GM traffic on `pipe`, of the shape `entry`, at `address`
  SetFlag,
  WaitFlag,
  Barrier,
  BlockSet,
  BlockWait,
  ScalarWork, ///< scalar issue time: of control flow between instructions, or of `entry`
  ScalarSync, ///< the scalar unit waits until everything on `pipe` is done (scalar reads)
  BeginBlock, ///< logical block `address` starts
  Meet,       ///< all cores of this kind that come here wait for each other on `pipe`
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

  uint64_t bytes() const { return uint64_t(planes) * rows * rowBytes; }
};

/// All of a transfer but its place: kernels repeat a few shapes many times.
struct TransferShape {
  GmTraffic gm = {};      ///< its address is 0
  bool write = false;     ///< writes GM
  bool atomic = false;    ///< an atomic write
  bool bypass = false;    ///< a read that leaves no line in the L2
  bool workspace = false; ///< GM side is the workspace (counted apart)
};

/// 16 bytes, since a launch has millions. What several records share is in the `RecordTable` of
/// their core; cycles are in neither, so that one set of records serves all chips.
struct Record {
  uint64_t address : 48 = 0; ///< Transfer: of its first byte in GM; BeginBlock: the block
  RecordKind kind : 4 = RecordKind::Compute;
  uint8_t id : 4 = 0;       ///< flag id
  Pipe pipe : 3 = Pipe::S;  ///< the executing pipe; source pipe of a flag
  Pipe other : 3 = Pipe::S; ///< destination pipe of a flag; All: a signal to the other AIV
  bool isUnit : 1 = false;  ///< SetFlag: the target may start with the source's last instruction
  bool hasCost : 1 = false; ///< `entry` counts in the table's costs, else it is cycles
  uint32_t entry = 0;       ///< Transfer: counts in the table's shapes
  int32_t templateId = -1;  ///< of the core program, for traces; -1 none

  /// Of ScalarWork and Compute without a cost.
  float cycles() const { return std::bit_cast<float>(entry); }
  void setCycles(float cycles) { entry = std::bit_cast<uint32_t>(cycles); }
};
static_assert(sizeof(Record) == 16);

/// The different instructions and transfers of a launch: a kernel issues a few hundred of them many
/// times. Instructions are the same here when they agree in everything that the cost depends on.
class RecordTable {
public:
  RecordTable();
  ~RecordTable();

  /// Index of the cost that `op` has.
  uint32_t costOf(const struct ResolvedOp &op);
  uint32_t shapeOf(const TransferShape &shape);
  const std::vector<struct ResolvedOp> &costs() const { return ops; }
  const std::vector<TransferShape> &shapes() const { return transfers; }

private:
  struct Index;
  std::unique_ptr<Index> index;
  std::vector<struct ResolvedOp> ops;
  std::vector<TransferShape> transfers;
};

/// Blocks of a core. Where a sample is timed, the first ones left records, and of the others the
/// engine's events were counted.
struct WaveSample {
  int32_t all = 0, timed = 0, warming = 0; ///< of the timed ones the first half warms the L2
  uint64_t timedEvents = 0, warmingEvents = 0, leftOutEvents = 0;
};

/// All records of one physical core, in program order.
struct CoreRecords {
  CoreKind kind = CoreKind::AIC;
  int32_t group = 0; ///< AIC number (mixed, cube) or AIV number (vector)
  int32_t sub = 0;   ///< AIV of a mixed group: 0 or 1
  std::vector<Record> records;
  std::shared_ptr<RecordTable> table;       ///< what Record::entry counts in
  double macs8 = 0, macs16 = 0, macs32 = 0; ///< multiply-adds of Mmads, by bits of an operand
  uint64_t gmLines = 0;                     ///< lines of 512 bytes and rows of all transfers
  uint64_t gmEnd = 0;                       ///< one past the last byte of GM that one touches
  bool works = false;                       ///< it has more to do than flags
  WaveSample waves;

  /// Adds a record. By value, so that it is made in registers: a copy of what was just stored in
  /// halves waits for the host's store buffer.
  void add(Record record) { records.emplace_back() = record; }

  /// Adds the transfer of a shape of the table.
  void transfer(Pipe pipe, int32_t templateId, uint64_t address, uint32_t shape) {
    Record record;
    record.kind = RecordKind::Transfer;
    record.pipe = pipe;
    record.templateId = templateId;
    record.address = address;
    record.entry = shape;
    add(record);
    works = true;
    const GmTraffic &gm = table->shapes()[shape].gm;
    gmLines += gm.planes * (gm.rows + uint64_t(gm.rows) * gm.rowBytes / 512);
    if (gm.rows > 0)
      gmEnd = std::max(gmEnd, address + (gm.planes - uint64_t(1)) * gm.planeStride +
                                  (gm.rows - uint64_t(1)) * gm.stride + gm.rowBytes);
  }
};

} // namespace tilewright::sim
