// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/CheckerShadow.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <vector>

using namespace tilewright::sim;

namespace {

constexpr int64_t kBytes = 4 * GmShadow::kPageCells * GmShadow::kCell;

using Ranges = std::multiset<std::tuple<uint32_t, uint16_t, uint16_t>>;

/// One access as the checker notes it: a write drops what it covers.
void note(CellEntries &entries, uint32_t tick, uint16_t low, uint16_t high, bool isWrite) {
  for (size_t i = 0; i < entries.size();)
    if (isWrite && low <= entries[i].low && high >= entries[i].high) {
      entries[i] = entries.back();
      entries.pop_back();
    } else {
      ++i;
    }
  entries.push_back({low, high, 0, isWrite, false, tick, 0, 0});
}

Ranges rangesOf(CellEntries *entries) {
  Ranges ranges;
  if (entries)
    for (const GmEntry &entry : *entries)
      ranges.insert({entry.tick, entry.low, entry.high});
  return ranges;
}

/// Pieces are a way to share what many cells have in common: each cell must know what it would know
/// if it was alone.
TEST(GmShadow, PiecesHoldWhatCellsWould) {
  std::mt19937 random(3);
  GmShadow::Tensor tensor;
  tensor.pages.resize(4);
  std::vector<CellEntries> cells(size_t(kBytes / GmShadow::kCell));
  // Half of the accesses start or end between cells, and sizes are short or long.
  auto pick = [&](int64_t limit) {
    int64_t bytes = int64_t(random() % uint64_t(limit));
    return random() % 2 ? bytes / GmShadow::kCell * GmShadow::kCell : bytes;
  };
  for (uint32_t tick = 1; tick < 400; ++tick) {
    int64_t low = pick(kBytes), high = low + 1 + pick(random() % 2 ? 4096 : kBytes / 2);
    high = std::min(high, kBytes);
    bool isWrite = random() % 2;
    for (int64_t at = low; at < high;) {
      int64_t cell = at / GmShadow::kCell, end = std::min((cell + 1) * GmShadow::kCell, high);
      note(cells[size_t(cell)], tick, uint16_t(at - cell * GmShadow::kCell),
           uint16_t(end - cell * GmShadow::kCell), isWrite);
      at = end;
    }
    GmShadow::access(tensor, low, high, isWrite,
                     [&](CellEntries &entries, uint16_t from, uint16_t to) {
                       note(entries, tick, from, to, isWrite);
                     });
    for (size_t cell = 0; cell < cells.size(); ++cell) {
      GmShadow::Page *page = tensor.pages[cell / size_t(GmShadow::kPageCells)].get();
      CellEntries *entries = page ? page->entriesOf(int64_t(cell) % GmShadow::kPageCells) : nullptr;
      ASSERT_EQ(rangesOf(entries), rangesOf(&cells[cell])) << "cell " << cell << " tick " << tick;
    }
  }
}

/// The same past, cell by cell.
struct PlainShadow {
  static constexpr int64_t kCell = 32;
  std::vector<Cell> cells;
  std::vector<bool> written;

  explicit PlainShadow(int64_t bytes) : cells(size_t(bytes / kCell)), written(size_t(bytes)) {}

  CellConflict access(int64_t low, int64_t high, Pipe pipe, uint32_t tick, const uint32_t *clock,
                      bool isWrite) {
    CellConflict conflict;
    auto isOrdered = [&](uint32_t epoch) {
      return clock[size_t(epochPipe(epoch))] >= epochTick(epoch);
    };
    for (int64_t c = low / kCell; c * kCell < high; ++c) {
      Cell &cell = cells[size_t(c)];
      if (cell.write && !isOrdered(cell.write))
        (isWrite ? conflict.writeAfterWrite : conflict.readAfterWrite) = cell.write;
      for (uint32_t read : cell.read)
        if (isWrite && read && epochPipe(read) != pipe && !isOrdered(read))
          conflict.writeAfterRead = read;
      if (isWrite)
        cell = {epochOf(pipe, tick), {0, 0, 0}};
      else
        cell.read[pipe == Pipe::S ? 0 : pipe == Pipe::V ? 1 : 2] = epochOf(pipe, tick);
    }
    for (int64_t b = low; b < high; ++b) {
      conflict.isUninitialised = conflict.isUninitialised || (!isWrite && !written[size_t(b)]);
      written[size_t(b)] = true; // told once
    }
    return conflict;
  }
};

TEST(OnChipShadow, PiecesHoldWhatCellsWould) {
  constexpr int64_t kSize = 8192;
  std::mt19937 random(11);
  OnChipShadow shadow;
  size_t conflicts = 0;
  for (int round = 0; round < 20; ++round) {
    shadow.reset(kSize); // also forgets the round before
    PlainShadow plain(kSize);
    std::vector<uint32_t> clock(kNumPipes);
    const int64_t unit = round % 2 ? 32 : 4;
    for (uint32_t tick = 1; tick < 300; ++tick) {
      int64_t low = int64_t(random() % (kSize / unit)) * unit;
      int64_t most = random() % 2 ? 128 : kSize;
      int64_t high = std::min(low + int64_t(1 + random() % uint64_t(most / unit)) * unit, kSize);
      Pipe pipe = std::array{Pipe::S, Pipe::V, Pipe::MTE3}[random() % 3];
      bool isWrite = random() % 2;
      for (uint32_t &known : clock)
        known = std::max(known, uint32_t(random() % tick));
      CellConflict found;
      shadow.access(low, high, pipe, tick, clock.data(), isWrite, found);
      CellConflict expected = plain.access(low, high, pipe, tick, clock.data(), isWrite);
      ASSERT_EQ(found.readAfterWrite, expected.readAfterWrite) << round << " " << tick;
      ASSERT_EQ(found.writeAfterWrite, expected.writeAfterWrite) << round << " " << tick;
      ASSERT_EQ(found.writeAfterRead, expected.writeAfterRead) << round << " " << tick;
      ASSERT_EQ(found.isUninitialised, expected.isUninitialised) << round << " " << tick;
      conflicts += found.any();
    }
  }
  EXPECT_GT(conflicts, 100u);
}

} // namespace
