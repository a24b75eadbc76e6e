// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// The NPU as data: one JSON file per chip under chips/. No MLIR here.
namespace tilewright::machine {

/// One chip. Byte counts are bytes, times are core cycles unless said; see chips/README.md for
/// where each number comes from.
struct Machine {
  std::string name; ///< "910b3"
  std::string description;
  double clockMHz = 0;
  int aicCount = 0, aivCount = 0;

  // on-chip memories
  int64_t ubBytes = 0, l1Bytes = 0, l0aBytes = 0, l0bBytes = 0, l0cBytes = 0;
  int ubAlign = 32, l1Align = 32, l0cAlign = 512;
  int fractalRows = 16, fractalBytes = 32;
  int flagIdsPerPipePair = 8, blockFlagIds = 16, blockFlagMaxOutstanding = 15;

  // GM, L2
  int64_t l2Bytes = 0;
  double l2EffectiveFraction = 0, l2BytesPerCycle = 0, aicL2BytesPerCycle = 0;
  int l2LineBytes = 512, l2SectorBytes = 128, l2Ways = 16;
  double hbmBytesPerCycle = 0, hbmPeakBytesPerCycle = 0, hbmEvictFactor = 0, hbmRowOverheadAic = 0,
         hbmRowOverheadAiv = 0;
  double unalignedLineFactor = 0, singleCoreHbmBytesPerCycle = 0;

  // pipes
  double prologue = 0, scalarIssue = 0;
  int queueDepth = 16;
  double mte2Start = 0, mte2LatencyHit = 0, mte2LatencyMiss = 0;
  double mte2RateAic = 0, mte2RowAic = 0, mte2RowInFlightAic = 0, mte2RateAiv = 0, mte2RowAiv = 0;
  double mte3Start = 0, mte3RateAiv = 0, fixStart = 0, fixGmRate = 0, fixL1Rate = 0;
  double writePow2StrideFactor = 1, atomicWriteFactor = 1;
  double mte1RateL0a = 0, mte1RateL0b = 0, mte1Start = 0, mte1Latency = 0;
  int mte1LoadsPerOperand = 1;
  double mmadOverhead = 0;
  double macsF16 = 0, macsF32 = 0, macsI8 = 0; ///< MACs per cycle
  double macsF8 = 0;                           ///< 0: the cube has no products of 8-bit floats
  /// MACs per cycle of products of elements of `bytes` bytes.
  double macs(int64_t bytes) const { return bytes == 1 ? macsI8 : bytes == 2 ? macsF16 : macsF32; }
  double flagWait = 0, blockFlag = 0, vecFixed = 0, vecBarrierTail = 0;
  double bankConflictReadRead = 1, bankConflictReadWrite = 1, bankConflictHalf = 1;
  double bankConflictBlocks = 1; ///< eight blocks of one repeat in one bank group
  int vecRepeatBytes = 256, vecMaxRepeats = 255;
  /// Cycles per 256-byte repeat, by operation name ("add", "exp", "reduce", "cast" ...) then
  /// element bytes (2 or 4); "default" where an op has no row.
  std::map<std::string, std::array<double, 2>> vecCyclesPerRepeat;
  /// Row `op` of the table, or "default", for elements of `bytes` bytes.
  double vecCycles(const std::string &op, unsigned bytes) const;
  double scalarElement = 0; ///< one UB/GM scalar access by the scalar unit

  // launch, microseconds
  double launchA = 0, launchB = 0, launchAWarm = 0, launchBWarm = 0;
};

/// How well one constant of a chip file is known, for sensitivity reports.
struct Parameter {
  std::string key, unit, provenance, source;
  double value = 0, low = 0, high = 0;
};

/// Result of looking up a chip: `error` is empty on success.
struct LoadResult {
  Machine machine;
  std::vector<Parameter> parameters; ///< every scalar constant, in file order
  std::string text;                  ///< the file, which says all about the chip
  std::string error;
};

/// The constants of a chip that its core times hang on and that were not read off a figure.
std::vector<Parameter> uncertainOf(const LoadResult &chip);

/// Loads a chip by name ("910b3", case-blind, "Ascend910B3" works too) from the built-in files, or,
/// when `nameOrPath` ends in .json, from that file. Unknown keys, missing keys and wrong types are
/// errors that name the file and key.
LoadResult loadChip(const std::string &nameOrPath);

/// Sets one constant of a loaded machine by its key in the chip file. Why not, empty on success: it
/// has none of that name, or the value makes no sense.
std::string setParameter(Machine &machine, const std::string &key, double value);

/// Which constants do not go together; empty when all do. To be asked after a change.
std::string inconsistency(const Machine &machine);

/// Built-in chip names.
std::vector<std::string> chipNames();

} // namespace tilewright::machine
