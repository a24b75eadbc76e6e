// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/CheckerShadow.h"
#include "tilewright/sim/GmShadow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <tuple>
#include <vector>

using namespace tilewright::sim;

namespace {

constexpr int64_t kCells = 4 * GmShadow::kPageCells;
constexpr int64_t kBytes = kCells * GmShadow::kCell;

using Ranges = std::vector<std::tuple<uint32_t, uint16_t, uint16_t>>;

/// One access as the checker notes it: a write drops what it covers.
void note(CellEntries &entries, uint32_t tick, uint16_t low, uint16_t high, bool isWrite) {
  for (size_t i = 0; i < entries.size();)
    if (isWrite && low <= entries[i].low && high >= entries[i].high) {
      entries[i] = entries.back();
      entries.pop_back();
    } else {
      ++i;
    }
  entries.push_back({low, high, 0, isWrite, false, {}, tick, 0, 0});
}

/// What a cell knows. An access whose runs overlap may have noted them in any order.
Ranges rangesOf(CellEntries *entries) {
  Ranges all, ranges;
  if (entries)
    for (const GmEntry &entry : *entries)
      all.push_back({entry.tick, entry.low, entry.high});
  std::ranges::sort(all);
  for (auto [tick, low, high] : all) {
    if (!ranges.empty() && std::get<0>(ranges.back()) == tick && low <= std::get<2>(ranges.back()))
      std::get<2>(ranges.back()) = std::max(std::get<2>(ranges.back()), high);
    else
      ranges.push_back({tick, low, high});
  }
  return ranges;
}

struct Box {
  int64_t low;
  Runs runs;
};

/// A box of bytes of up to three dimensions: rows that are whole cells or not, at strides that are,
/// that leave gaps, or by which rows overlap or come out of order.
Box randomBox(std::mt19937 &random) {
  auto pick = [&](int64_t least, int64_t most) {
    return least + int64_t(random() % uint64_t(most - least + 1));
  };
  for (;;) {
    ResolvedView view;
    view.type = DType::I8;
    view.rank = 3;
    const int64_t unit = std::array{1, 32, 256, 512}[random() % 4];
    int64_t row = pick(1, 8) * unit, rows = pick(1, 40), planes = pick(1, 3);
    int64_t stride = pick(random() % 4 ? row : 1, 3 * row);
    stride = random() % 2 ? (stride + unit - 1) / unit * unit : stride;
    int64_t planeStride = pick(1, 2 * rows * stride);
    view.sizes = {planes, rows, row};
    view.strides = {planeStride, stride, 1};
    int64_t reach = (planes - 1) * planeStride + (rows - 1) * stride + row;
    if (reach > kBytes)
      continue;
    return {random() % 2 ? pick(0, (kBytes - reach) / unit) * unit : pick(0, kBytes - reach),
            Runs(view)};
  }
}

/// Pieces are a way to share what many cells have in common: each cell must know what it would know
/// if it was alone. Boxes come again, as a program's do.
TEST(GmShadow, PiecesHoldWhatCellsWould) {
  std::mt19937 random(3);
  GmBoxes memory;
  for (int round = 0; round < 30; ++round) {
    std::vector<Box> boxes;
    for (int i = 0; i < 1 + 3 * (round % 5); ++i)
      boxes.push_back(randomBox(random));
    GmShadow shadow;
    shadow.reset(2);
    std::vector<CellEntries> cells(kCells);
    for (uint32_t tick = 1; tick < 80; ++tick) {
      const Box &box = boxes[random() % boxes.size()];
      bool isWrite = random() % 2;
      box.runs.forEach(box.low, [&](int64_t low, int64_t high) {
        for (int64_t at = low; at < high;) {
          int64_t cell = at / GmShadow::kCell, end = std::min((cell + 1) * GmShadow::kCell, high);
          note(cells[size_t(cell)], tick, uint16_t(at - cell * GmShadow::kCell),
               uint16_t(end - cell * GmShadow::kCell), isWrite);
          at = end;
        }
      });
      shadow.access(memory, 1, box.low, box.runs, isWrite,
                    [&](CellEntries &entries, uint16_t low, uint16_t high) {
                      note(entries, tick, low, high, isWrite);
                    });
      for (size_t cell = 0; cell < cells.size(); ++cell)
        ASSERT_EQ(rangesOf(shadow.entriesOf(1, cell)), rangesOf(&cells[cell]))
            << "round " << round << " cell " << cell << " tick " << tick;
    }
    EXPECT_EQ(shadow.numPages(0), 0u);
  }
}

/// Tiles that are written by columns and read by rows are a few pieces, however often they come.
TEST(GmShadow, BoxesThatComeAgainAreAFewPieces) {
  GmBoxes memory;
  GmShadow shadow;
  shadow.reset(1);
  auto box = [](int64_t rows, int64_t columns) {
    ResolvedView view;
    view.type = DType::F32;
    view.rank = 2;
    view.sizes = {rows, columns};
    view.strides = {256, 1};
    return Runs(view);
  };
  size_t calls = 0;
  for (uint32_t turn = 0; turn < 3; ++turn) {
    calls = 0;
    for (int64_t chunk = 0; chunk < 4; ++chunk)
      shadow.access(memory, 0, chunk * 64 * 4, box(64, 64), true,
                    [&](CellEntries &, uint16_t, uint16_t) { ++calls; });
    for (int64_t half = 0; half < 2; ++half)
      shadow.access(memory, 0, half * 32 * 1024, box(32, 256), false,
                    [&](CellEntries &, uint16_t, uint16_t) { ++calls; });
  }
  // Two halves of the rows in each of four chunks; in each half the two cells of a row.
  EXPECT_EQ(calls, 4u * 2 + 2u * 2);
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
