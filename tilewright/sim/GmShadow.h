// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/HappensBefore.h"
#include "tilewright/sim/Runs.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <vector>

namespace tilewright::sim {

/// Accesses to a stretch of GM.
struct GmEntry {
  uint16_t low, high; ///< bytes within the cell
  uint8_t lane;
  bool isWrite, isAtomic;
  uint32_t known; ///< what GmShadow::known has about meetings of all blocks
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

/// What boxes of GM were made of when they were last accessed. May serve one shadow after another.
class GmBoxes {
  friend class GmShadow;

  /// Bytes [low, high) of each cell of a piece.
  struct Part {
    uint32_t piece;
    uint16_t low, high;
    bool isWhole;     ///< all of each cell, and no other part is in these
    uint64_t version; ///< of the piece
  };
  struct Box {
    size_t region = 0;
    int64_t low = 0;
    Runs runs;
    std::vector<Part> parts;
  };
  static constexpr size_t kBoxes = 512;

  std::vector<Box> boxes = std::vector<Box>(kBoxes);
  uint64_t versions = 0; ///< given to pieces so far, of any shadow

  // Of the box that is being looked up.
  struct Range {
    uint32_t cell, count; ///< several cells where they are touched as a whole
    uint16_t low, high;
  };
  struct Group {
    uint32_t piece;
    uint32_t first, last; ///< the ranges of one of its cells
    uint32_t cells;
  };
  struct Stretch {
    uint32_t cell, count, group;
  };
  std::vector<Range> ranges;
  std::vector<Group> groups;
  std::vector<Stretch> stretches; ///< its cells, each in one page
  std::vector<uint32_t> buckets;  ///< hashed groups plus one
};

/// Shadow of the GM that some block writes: 512-byte cells in pages made on first touch. Cells with
/// the same past form a piece, wherever they are, and share its entries. An access cuts pieces into
/// what it touches and what it does not; programs repeat their boxes, so that soon nothing is cut
/// any more and a box is a few pieces, which are remembered for it.
class GmShadow {
public:
  static constexpr int64_t kCell = 512;
  static constexpr uint32_t kPageCells = 128;

  /// Forgets everything, and keeps its memory. Regions are numbered from 0; an empty one costs
  /// nothing.
  void reset(size_t numRegions);
  size_t numRegions() const { return regions.size(); }

  /// What is known about a cell; null for nothing.
  CellEntries *entriesOf(size_t region, size_t cell) {
    const Page *page = pageOf(region, cell / kPageCells);
    uint32_t piece = page ? page->pieceAt[cell % kPageCells] : 0;
    return piece ? &pieces[piece].entries : nullptr;
  }

  /// Where all blocks met: what the others know of this group since, by meetingOf().
  std::array<std::vector<Clock>, std::tuple_size_v<Meetings>> meetings;

  /// A number for what an access knows of meetings.
  uint32_t numberOf(const Meetings &now) {
    if (knowledge.back() != now)
      knowledge.push_back(now);
    return uint32_t(knowledge.size() - 1);
  }
  const Meetings &knownTo(const GmEntry &entry) const { return knowledge[entry.known]; }

  using CellSet = std::bitset<kPageCells>;

  /// The cells of a page about which something is known; null for none.
  const CellSet *known(size_t region, size_t number) const {
    const Page *page = pageOf(region, number);
    return page ? &page->met : nullptr;
  }
  /// Pages of a region up to the last one that was touched.
  size_t numPages(size_t region) const {
    return region < regions.size() ? regions[region].size() : 0;
  }

  /// Calls fn(entries, low, high) for the pieces that make up the box at byte `low`, with the bytes
  /// that are meant in each of their cells. A write leaves one entry on what it covers.
  template <typename Fn>
  void access(GmBoxes &memory, size_t region, int64_t low, const Runs &runs, bool isWrite, Fn fn) {
    GmBoxes::Box &box = find(memory, region, low, runs);
    for (const GmBoxes::Part &part : box.parts)
      fn(pieces[part.piece].entries, part.low, part.high);
    if (isWrite && box.parts.size() > kManyParts)
      unite(memory, box);
  }

private:
  std::vector<Meetings> knowledge = {{}}; ///< by GmEntry::known
  /// A written box of more parts than this becomes one piece where it covers whole cells.
  static constexpr size_t kManyParts = 16;

  struct Piece {
    CellEntries entries;
    uint32_t cells = 0;
    uint64_t version = 0; ///< another one whenever its cells are others
  };
  struct Page {
    std::array<uint32_t, kPageCells> pieceAt{}; ///< 0 for none
    CellSet met;
  };

  std::vector<std::vector<std::unique_ptr<Page>>> regions;
  std::vector<std::unique_ptr<Page>> spare; ///< of launches before
  std::vector<Piece> pieces;                ///< the first is not used
  std::vector<uint32_t> unused;

  const Page *pageOf(size_t region, size_t page) const {
    return page < numPages(region) ? regions[region][page].get() : nullptr;
  }
  std::unique_ptr<Page> newPage();
  bool isValid(const GmBoxes::Box &box) const;
  GmBoxes::Box &find(GmBoxes &memory, size_t region, int64_t low, const Runs &runs);
  static void listRanges(GmBoxes &memory, int64_t low, const Runs &runs);
  void group(GmBoxes &memory, size_t region);
  void cut(GmBoxes &memory, size_t region);
  uint32_t make(GmBoxes &memory);
  void assign(const GmBoxes &memory, size_t region);
  static bool isWhole(const GmBoxes &memory, const GmBoxes::Group &group);
  void unite(GmBoxes &memory, GmBoxes::Box &box);
};

} // namespace tilewright::sim
