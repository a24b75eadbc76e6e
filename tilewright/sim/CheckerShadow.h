// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/HappensBefore.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
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

/// Accesses to a stretch of GM.
struct GmEntry {
  uint16_t low, high; ///< bytes within the cell
  uint8_t lane;
  bool isWrite, isAtomic;
  uint32_t tick;
  int32_t block;
  int32_t location;
};

/// The accesses to one piece, in no order. Most pieces see a write and at most a read: two have
/// room in the object itself.
class CellEntries {
public:
  size_t size() const { return more.empty() ? count : more.size(); }
  bool empty() const { return size() == 0; }
  GmEntry *begin() { return more.empty() ? few.data() : more.data(); }
  GmEntry *end() { return begin() + size(); }
  GmEntry &operator[](size_t index) { return begin()[index]; }
  GmEntry &back() { return end()[-1]; }

  void push_back(const GmEntry &entry) {
    if (more.empty() && count < few.size()) {
      few[count++] = entry;
      return;
    }
    if (more.empty()) {
      more.assign(few.begin(), few.end());
      count = 0;
    }
    more.push_back(entry);
  }

  void pop_back() {
    if (more.empty())
      --count;
    else
      more.pop_back();
  }

private:
  std::array<GmEntry, 2> few;
  uint32_t count = 0;
  std::vector<GmEntry> more; ///< all of them once there are too many
};

/// Shadow of the GM that some block writes: 512-byte cells in pages made on first touch. Cells that
/// were only ever accessed as a whole and together, as tiles are, form a piece and share its
/// entries; of others each is a piece with a short list of byte ranges.
class GmShadow {
public:
  static constexpr int64_t kCell = 512;
  static constexpr int64_t kPageCells = 128;

  struct Piece {
    uint8_t first, last; ///< cells [first, last) of the page
    CellEntries entries; ///< when there are several cells, of [0, kCell) of each
  };
  class Page {
  public:
    /// What is known about a cell; null for nothing.
    CellEntries *entriesOf(int64_t cell) {
      uint8_t index = pieceAt[size_t(cell)];
      return index ? &pieces[index - 1u].entries : nullptr;
    }

    /// The cells about which something is known.
    const std::bitset<size_t(kPageCells)> &known() const { return met; }

    /// Calls fn(entries) for pieces that make up cells [first, last) exactly; they are made and cut
    /// as needed.
    template <typename Fn>
    void forEachPiece(int64_t first, int64_t last, Fn fn) {
      for (int64_t cell = first; cell < last;) {
        Piece &piece = pieces[pieceFrom(cell, last) - 1u];
        fn(piece.entries);
        cell = piece.last;
      }
    }

    /// Makes pieces with equal entries one.
    void unite(int64_t first, int64_t last);

  private:
    std::array<uint8_t, size_t(kPageCells)> pieceAt{}; ///< index plus one, 0 for none
    std::bitset<size_t(kPageCells)> met;
    std::vector<Piece> pieces;
    std::vector<uint8_t> unused; ///< indices plus one

    uint8_t pieceFrom(int64_t cell, int64_t last);
    uint8_t make(int64_t first, int64_t last);
    void cut(uint8_t index, int64_t cell);
  };
  struct Tensor {
    bool isTracked = false;
    std::vector<std::unique_ptr<Page>> pages;
  };

  /// One table per region of GM; the last is the workspace.
  std::vector<Tensor> tensors;

  /// Calls fn(entries, low, high) for the pieces that hold bytes [low, high) of a tensor, with the
  /// bytes that are meant in each of their cells. A write leaves one entry on what it covers.
  template <typename Fn>
  static void access(Tensor &tensor, int64_t low, int64_t high, bool isWrite, Fn fn) {
    while (low < high) {
      int64_t cell = low / kCell, inCell = low % kCell, pageCell = cell % kPageCells;
      std::unique_ptr<Page> &page = tensor.pages[size_t(cell / kPageCells)];
      if (!page)
        page = std::make_unique<Page>();
      int64_t whole = std::min((high - low) / kCell, kPageCells - pageCell);
      if (inCell != 0 || whole == 0) {
        int64_t bytes = std::min(high - low, kCell - inCell);
        page->forEachPiece(pageCell, pageCell + 1, [&](CellEntries &entries) {
          fn(entries, uint16_t(inCell), uint16_t(inCell + bytes));
        });
        low += bytes;
        continue;
      }
      page->forEachPiece(pageCell, pageCell + whole,
                         [&](CellEntries &entries) { fn(entries, uint16_t(0), uint16_t(kCell)); });
      if (isWrite)
        page->unite(pageCell, pageCell + whole);
      low += whole * kCell;
    }
  }
};

} // namespace tilewright::sim
