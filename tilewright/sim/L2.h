// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/machine/Transfers.h"
#include "tilewright/sim/Lent.h"
#include "tilewright/sim/Record.h"

#include <array>
#include <cstdint>
#include <vector>

namespace tilewright::sim {

/// What one transfer met in the L2. Sector counts of the sampled lines only, the rest exact.
struct L2Access {
  uint64_t bytes = 0;           ///< as asked for
  uint64_t rows = 0;            ///< as the cost rules count them: a contiguous run has one per line
  uint64_t runs = 0;            ///< pieces that are contiguous in GM
  double chargedBytes = 0;      ///< with the price of rows that are short or not aligned to lines
  uint64_t sampledSectors = 0;  ///< sectors touched in sampled lines
  uint64_t missedSectors = 0;   ///< reads: of these, not present
  double pendingUntil = 0;      ///< when lines that another transfer is still fetching are there
  double evictedDirtyBytes = 0; ///< written back to make room, scaled up to all lines
};

/// The L2: sectored lines, write-back, least recently used, writes allocate without a fetch.
/// Only one line in `1 << sampleShift` is followed: in each aligned group of that many lines the
/// one that a hash of the group's address picks, so results depend on addresses alone.
/// When all addresses are below `end`, and that is at most three quarters of the capacity, hardly
/// anything is ever evicted: then every line is followed, and stays. 0: the addresses
/// are not known.
class L2Cache {
public:
  L2Cache(const machine::Machine &chip, unsigned sampleShift, uint64_t end = 0);
  ~L2Cache();
  L2Cache(const L2Cache &) = delete;
  L2Cache &operator=(const L2Cache &) = delete;

  /// With `bypass` a read takes what is there and leaves nothing. What was fetched before `now` is
  /// there. `shape` names all of the transfer but its address, so that one which comes again need
  /// not be walked through again.
  L2Access access(const GmTraffic &traffic, bool write, bool bypass = false, double now = 0,
                  uint32_t shape = kNoShape);
  static constexpr uint32_t kNoShape = UINT32_MAX;

  /// The lines that the last access missed are there at `time`; who reads them before, waits.
  void fetched(double time);

private:
  enum class Use { Read, Write, Bypass };
  /// A line that is followed, and which of its sectors a transfer touches.
  struct Touch {
    uint64_t line;
    uint32_t set;
    uint32_t sectors;
  };
  /// Rows of `count` lines each, `pitch` lines apart, with the sectors that they touch of their
  /// first line, of their last one and of those between.
  struct LineRows {
    uint64_t first, count, rows, pitch;
    unsigned head, tail, all;
  };
  /// A transfer that was made. Without `kept`, `touches` says what it touches.
  struct Made {
    uint64_t key = 0;
    L2Access access =
        {}; ///< when it comes again: with `kept` all of it, else what is always the same
    uint32_t firstTouch = 0, lastTouch = 0;
  };
  /// A hash table by key, at most half full.
  class MadeTable {
  public:
    Made *find(uint64_t key);
    Made &add(uint64_t key);
    size_t size() const { return made.size(); }
    void clear();

  private:
    uint32_t &placeOf(uint64_t key);
    std::vector<Made> made;
    std::vector<uint32_t> places; ///< in `made`, plus one; 0 is free
  };

  bool isMetAgain(uint64_t key);
  L2Access walk(const GmTraffic &traffic, Use use);
  L2Access again(const Made &made, Use use);
  void touchRows(uint64_t address, uint64_t rows, uint64_t rowBytes, uint64_t stride, Use use,
                 L2Access &result);
  template <Use use, bool waits>
  void touchKept(const LineRows &lines, L2Access &result);
  void touchLines(size_t first, size_t last, Use use, L2Access &result);
  uint32_t setOf(uint64_t line) const;
  void touchLine(const Touch &touch, Use use, L2Access &result);

  machine::RowPrice price;
  unsigned lineShift, sectorShift, sectorsPerLine, sampleShift;
  unsigned ways;
  uint64_t sets = 0;
  /// Per line: fetch << 8 | sectors that are there; `fetch` as below. Empty when lines may be
  /// evicted.
  std::vector<uint32_t> kept;
  /// Per set its lines, most recent first: line << 36 | fetch << 16 | valid sectors << 8 | dirty
  /// sectors; 0 is free. `fetch` counts in `fetches`, 0: the line is there.
  std::vector<uint64_t> entries;
  std::vector<double> fetches = {0}; ///< when the lines of each access with misses are there
  double lastFetch = 0;              ///< the latest of `fetches`
  bool mayWait = false;              ///< in this access
  std::vector<uint32_t> touchedSets; ///< those that are not empty

  static constexpr uint64_t kMetBits = 1 << 13;
  std::array<uint64_t, kMetBits / 64> met{}; ///< a bit for each transfer, by a hash of its key
  Lent<MadeTable> madeBefore;
  Made *lastMade = nullptr;   ///< the new one of this access
  std::vector<Touch> touches; ///< of those in `madeBefore`, then of this access
};

} // namespace tilewright::sim
