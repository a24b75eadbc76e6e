// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/CheckerShadow.h"

#include <algorithm>

using namespace tilewright::sim;

namespace {

/// Place of a reading pipe in a cell. No two pipes that read the same space share one: UB is read
/// by S, V and MTE3, L1 by MTE1, L0C by FIX and M.
unsigned readSlot(Pipe pipe) {
  switch (pipe) {
  case Pipe::V:
  case Pipe::M:
    return 1;
  case Pipe::MTE3:
    return 2;
  default:
    return 0;
  }
}

bool isOrdered(uint32_t epoch, const uint32_t *clock) {
  return clock[size_t(epochPipe(epoch))] >= epochTick(epoch);
}

} // namespace

void OnChipShadow::reset(int64_t bytes, int64_t coarseBytes) {
  size_t count = size_t((bytes + coarseBytes - 1) / coarseBytes);
  size_t fines = count * size_t(coarseBytes / kFine);
  regions.assign(1, {});
  freeRegions.clear();
  if (coarse != coarseBytes || cells.size() != count) {
    coarse = coarseBytes;
    cells.assign(count, {});
    isSplit.assign(count, 0);
    isFull.assign(count, 0);
    fine.assign(fines, {});
    written.assign(fines, 0);
    regionAt.assign(fines, 0);
    used = 0;
    return;
  }
  count = size_t((used + coarse - 1) / coarse);
  fines = count * size_t(coarse / kFine);
  std::fill_n(cells.begin(), count, Cell());
  std::fill_n(isSplit.begin(), count, 0);
  std::fill_n(isFull.begin(), count, 0);
  std::fill_n(written.begin(), fines, 0);
  std::fill_n(regionAt.begin(), fines, 0);
  used = 0;
}

inline void OnChipShadow::touch(Cell &cell, Pipe pipe, uint32_t tick, const uint32_t *clock,
                                bool isWrite, CellConflict &conflict) {
  if (!isWrite) {
    if (cell.write && !isOrdered(cell.write, clock))
      conflict.readAfterWrite = cell.write;
    cell.read[readSlot(pipe)] = epochOf(pipe, tick);
    return;
  }
  // Short rows of one access may share a cell: an instruction does not race with itself.
  if (cell.write && cell.write != epochOf(pipe, tick) && !isOrdered(cell.write, clock))
    conflict.writeAfterWrite = cell.write;
  // Reads of the same pipe come first by themselves, on V too.
  for (uint32_t read : cell.read)
    if (read && epochPipe(read) != pipe && !isOrdered(read, clock))
      conflict.writeAfterRead = read;
  cell = {epochOf(pipe, tick), {0, 0, 0}};
}

void OnChipShadow::split(size_t index) {
  if (isSplit[index])
    return;
  isSplit[index] = 1;
  size_t per = size_t(coarse / kFine);
  std::fill_n(fine.begin() + std::ptrdiff_t(index * per), per, cells[index]);
}

/// Turns the regions that [low, high) meets into cells.
void OnChipShadow::dissolve(int64_t low, int64_t high) {
  int64_t last = (high + kFine - 1) / kFine;
  for (int64_t f = low / kFine; f < last; ++f) {
    uint16_t index = regionAt[size_t(f)];
    if (!index)
      continue;
    const Region region = regions[index];
    freeRegions.push_back(index);
    std::fill_n(regionAt.begin() + region.low / kFine, (region.high - region.low) / kFine, 0);
    for (int64_t c = region.low / coarse; c * coarse < region.high; ++c) {
      int64_t from = std::max(region.low, c * coarse), to = std::min(region.high, (c + 1) * coarse);
      if (to - from == coarse) {
        isSplit[size_t(c)] = 0;
        cells[size_t(c)] = region.cell;
        continue;
      }
      split(size_t(c));
      std::fill_n(fine.begin() + from / kFine, (to - from) / kFine, region.cell);
    }
    f = region.high / kFine - 1;
  }
}

/// Makes [low, high), just written as a whole, a region. Its cells are worthless from then on.
void OnChipShadow::unite(int64_t low, int64_t high, const Cell &cell) {
  if (low % kFine != 0 || high % kFine != 0 || high - low < 2 * coarse)
    return;
  uint16_t index;
  if (!freeRegions.empty()) {
    index = freeRegions.back();
    freeRegions.pop_back();
  } else if (regions.size() < UINT16_MAX) {
    index = uint16_t(regions.size());
    regions.emplace_back();
  } else {
    return;
  }
  regions[index] = {low, high, cell};
  std::fill_n(regionAt.begin() + low / kFine, (high - low) / kFine, index);
}

/// Byte-exact record of what was ever written; full coarse cells need no look.
void OnChipShadow::initialised(int64_t low, int64_t high, bool isWrite, CellConflict &conflict) {
  int64_t per = coarse / kFine;
  for (int64_t c = low / coarse; c * coarse < high; ++c) {
    if (isFull[size_t(c)])
      continue;
    int64_t from = std::max(low, c * coarse), to = std::min(high, (c + 1) * coarse);
    if (isWrite && to - from == coarse) {
      isFull[size_t(c)] = 1;
      continue;
    }
    bool isAll = true;
    for (int64_t f = from / kFine; f * kFine < to; ++f) {
      int64_t a = std::max(from - f * kFine, int64_t(0)), b = std::min(to - f * kFine, kFine);
      uint32_t mask = uint32_t(((uint64_t(1) << (b - a)) - 1) << a);
      uint32_t &bits = written[size_t(f)];
      if (isWrite) {
        bits |= mask;
      } else if (mask & ~bits) {
        conflict.isUninitialised = true;
        conflict.uninitialisedAt = f * kFine;
        bits |= mask; // told once
      }
    }
    for (int64_t f = c * per; f < (c + 1) * per && isAll; ++f)
      isAll = written[size_t(f)] == ~uint32_t(0);
    isFull[size_t(c)] = isAll;
  }
}

void OnChipShadow::access(int64_t low, int64_t high, Pipe pipe, uint32_t tick,
                          const uint32_t *clock, bool isWrite, CellConflict &conflict) {
  if (low >= high || size_t((high - 1) / coarse) >= cells.size())
    return;
  if (uint16_t index = regionAt[size_t(low / kFine)]) {
    Region &region = regions[index];
    if (region.low == low && region.high == high)
      return touch(region.cell, pipe, tick, clock, isWrite, conflict);
  }
  used = std::max(used, high);
  dissolve(low, high);
  initialised(low, high, isWrite, conflict);
  Cell before, after;
  bool hasBefore = false;
  for (int64_t c = low / coarse; c * coarse < high; ++c) {
    size_t index = size_t(c);
    bool isWhole = low <= c * coarse && high >= (c + 1) * coarse;
    if (isWhole && !isSplit[index]) {
      Cell &cell = cells[index];
      if (hasBefore && cell == before) { // a tile's cells mostly look alike
        cell = after;
        continue;
      }
      before = cell;
      touch(cell, pipe, tick, clock, isWrite, conflict);
      after = cell;
      hasBefore = true;
      continue;
    }
    split(index);
    int64_t from = std::max(low, c * coarse) / kFine;
    int64_t to = (std::min(high, (c + 1) * coarse) + kFine - 1) / kFine;
    for (int64_t f = from; f < to; ++f)
      touch(fine[size_t(f)], pipe, tick, clock, isWrite, conflict);
    if (isWhole && isWrite) { // one writer again
      isSplit[index] = 0;
      cells[index] = {epochOf(pipe, tick), {0, 0, 0}};
    }
  }
  if (isWrite)
    unite(low, high, {epochOf(pipe, tick), {0, 0, 0}});
}

/// The piece that starts at `cell` and ends no later than `last`.
uint8_t GmShadow::Page::pieceFrom(int64_t cell, int64_t last) {
  uint8_t index = pieceAt[size_t(cell)];
  if (!index) {
    int64_t end = cell + 1;
    while (end < last && !pieceAt[size_t(end)])
      ++end;
    return make(cell, end);
  }
  if (pieces[index - 1u].first < cell) {
    cut(index, cell);
    index = pieceAt[size_t(cell)];
  }
  if (pieces[index - 1u].last > last)
    cut(index, last);
  return index;
}

uint8_t GmShadow::Page::make(int64_t first, int64_t last) {
  uint8_t index;
  if (unused.empty()) {
    pieces.emplace_back();
    index = uint8_t(pieces.size());
  } else {
    index = unused.back();
    unused.pop_back();
  }
  Piece &piece = pieces[index - 1u];
  piece.first = uint8_t(first);
  piece.last = uint8_t(last);
  std::fill(pieceAt.begin() + first, pieceAt.begin() + last, index);
  return index;
}

/// Cuts a piece in two before `cell`.
void GmShadow::Page::cut(uint8_t index, int64_t cell) {
  uint8_t other = make(cell, pieces[index - 1u].last);
  Piece &piece = pieces[index - 1u];
  piece.last = uint8_t(cell);
  pieces[other - 1u].entries = piece.entries;
}

void GmShadow::Page::unite(int64_t first, int64_t last) {
  uint8_t index = pieceAt[size_t(first)];
  if (pieces[index - 1u].last == last)
    return;
  for (int64_t cell = pieces[index - 1u].last; cell < last;) {
    uint8_t other = pieceAt[size_t(cell)];
    cell = pieces[other - 1u].last;
    pieces[other - 1u].entries = {};
    unused.push_back(other);
  }
  std::fill(pieceAt.begin() + pieces[index - 1u].last, pieceAt.begin() + last, index);
  pieces[index - 1u].last = uint8_t(last);
}
