// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/HappensBefore.h"

#include <cstdint>
#include <vector>

namespace tilewright::sim {

/// Last accesses of a piece of on-chip memory: one writer, one reader per pipe that can read the
/// space. An epoch is tick * 8 + pipe + 1; 0 means never.
struct Cell {
  uint32_t write = 0;
  uint32_t read[3] = {0, 0, 0};

  bool operator==(const Cell &) const = default;
};

inline uint32_t epochOf(Pipe pipe, uint32_t tick) { return (tick << 3) | uint32_t(pipe); }
inline Pipe epochPipe(uint32_t epoch) { return Pipe(epoch & 7); }
inline uint32_t epochTick(uint32_t epoch) { return epoch >> 3; }

/// What a check of some bytes found wrong; epochs of the other side, 0 for none.
struct CellConflict {
  uint32_t readAfterWrite = 0, writeAfterWrite = 0, writeAfterRead = 0;
  bool isUninitialised = false;
  int64_t uninitialisedAt = 0;

  bool any() const {
    return (readAfterWrite | writeAfterWrite | writeAfterRead) != 0 || isUninitialised;
  }
};

/// Shadow of one on-chip memory in cells of 32 bytes. Neighbours with the same past form a piece:
/// tiles are whole buffers, so that an access mostly meets one. An access that covers part of a
/// piece cuts it, a write makes one piece of what it covers.
class OnChipShadow {
public:
  /// Forgets everything.
  void reset(int64_t bytes);

  /// Checks and notes one access to [low, high) by an instruction on `pipe` whose clock, from this
  /// core's first lane on, is `clock`.
  void access(int64_t low, int64_t high, Pipe pipe, uint32_t tick, const uint32_t *clock,
              bool isWrite, CellConflict &conflict);

private:
  static constexpr int64_t kCell = 32;
  enum class Written : uint8_t { Nothing, Partly, All };
  struct Piece {
    uint32_t first = 0, last = 0; ///< cells [first, last)
    Cell cell;
    Written written = Written::Nothing; ///< Partly: one cell, whose bytes `bytes` tells
  };
  std::vector<uint32_t> pieceAt; ///< by cell; 0 is the piece that no access has reached yet
  uint32_t used = 0;             ///< cells from here on were not accessed since the reset
  std::vector<Piece> pieces;
  std::vector<uint32_t> unused; ///< pieces that are part of others now
  std::vector<uint32_t> bytes;  ///< by cell, a bit for each byte that was written

  uint32_t pieceFrom(uint32_t first, uint32_t last);
  void cut(uint32_t index, uint32_t cell);
  void unite(uint32_t first, uint32_t last);
  void initialised(Piece &piece, int64_t low, int64_t high, bool isWrite, CellConflict &conflict);
};

} // namespace tilewright::sim
