// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/GmShadow.h"

#include <bit>
#include <tuple>

using namespace tilewright::sim;

void GmShadow::reset(size_t numRegions) {
  for (std::vector<std::unique_ptr<Page>> &pages : regions) {
    for (std::unique_ptr<Page> &page : pages)
      if (page)
        spare.push_back(std::move(page));
    pages.clear();
  }
  regions.resize(numRegions);
  pieces.clear();
  pieces.emplace_back();
  unused.clear();
  for (std::vector<Clock> &clocks : meetings)
    clocks.clear();
  knowledge.assign(1, {});
}

/// A page that knows nothing.
std::unique_ptr<GmShadow::Page> GmShadow::newPage() {
  if (spare.empty())
    return std::make_unique<Page>();
  std::unique_ptr<Page> page = std::move(spare.back());
  spare.pop_back();
  *page = {};
  return page;
}

/// Whether the parts of a remembered box are still what it is made of. Versions are given once: a
/// box of another shadow is never valid.
bool GmShadow::isValid(const GmBoxes::Box &box) const {
  return std::ranges::all_of(box.parts, [&](const GmBoxes::Part &part) {
    return part.piece < pieces.size() && pieces[part.piece].version == part.version;
  });
}

/// The box with its parts: each is all that the box touches of its piece.
GmBoxes::Box &GmShadow::find(GmBoxes &memory, size_t region, int64_t low, const Runs &runs) {
  uint64_t hash = (uint64_t(low) * 64 + region) * 0x9E3779B97F4A7C15u + runs.hash();
  GmBoxes::Box &box = memory.boxes[hash >> 32 & (GmBoxes::kBoxes - 1)];
  if (box.region == region && box.low == low && box.runs == runs && !box.parts.empty() &&
      isValid(box))
    return box;
  listRanges(memory, low, runs);
  group(memory, region);
  cut(memory, region);
  box.region = region;
  box.low = low;
  box.runs = runs;
  box.parts.clear();
  for (const GmBoxes::Group &group : memory.groups)
    for (uint32_t i = group.first; i < group.last; ++i)
      box.parts.push_back({group.piece, memory.ranges[i].low, memory.ranges[i].high,
                           isWhole(memory, group), pieces[group.piece].version});
  return box;
}

/// Lists the bytes of each cell that a box touches, in the order of cells. Several ranges of one
/// cell are next to each other.
void GmShadow::listRanges(GmBoxes &memory, int64_t low, const Runs &runs) {
  std::vector<GmBoxes::Range> &ranges = memory.ranges;
  ranges.clear();
  bool isSorted = true;
  auto add = [&](int64_t cell, int64_t count, int64_t from, int64_t to) {
    if (!ranges.empty()) {
      const GmBoxes::Range &last = ranges.back();
      isSorted = isSorted && (last.cell + last.count <= cell ||
                              (last.cell == cell && last.count == 1 && count == 1));
    }
    GmBoxes::Range &range = ranges.emplace_back();
    range.cell = uint32_t(cell);
    range.count = uint32_t(count);
    range.low = uint16_t(from);
    range.high = uint16_t(to);
  };
  runs.forEach(low, [&](int64_t from, int64_t to) {
    int64_t cell = from / kCell;
    from -= cell * kCell;
    to -= cell * kCell;
    if (from > 0 || to < kCell) {
      add(cell++, 1, from, std::min(to, kCell));
      to -= kCell;
    }
    if (to >= kCell)
      add(cell, to / kCell, 0, kCell);
    if (to > 0 && to % kCell)
      add(cell + to / kCell, 1, 0, to % kCell);
  });
  if (isSorted)
    return;
  for (size_t i = 0, end = ranges.size(); i < end; ++i)
    for (; ranges[i].count > 1; --ranges[i].count)
      ranges.push_back({ranges[i].cell + ranges[i].count - 1, 1, 0, uint16_t(kCell)});
  std::ranges::sort(ranges, {}, [](const GmBoxes::Range &range) {
    return std::tuple(range.cell, range.low, range.high);
  });
}

/// Groups the cells of a box that are in the same piece and of which it touches the same bytes.
void GmShadow::group(GmBoxes &memory, size_t region) {
  const std::vector<GmBoxes::Range> &ranges = memory.ranges;
  std::vector<GmBoxes::Group> &groups = memory.groups;
  std::vector<uint32_t> &buckets = memory.buckets;
  size_t cells = 0;
  for (const GmBoxes::Range &range : ranges)
    cells += range.count;
  buckets.assign(std::bit_ceil(cells * 2), 0);
  groups.clear();
  memory.stretches.clear();
  uint32_t first = 0, end = 0; // the ranges of the cells that are looked at
  uint32_t recent = 0;         // the group of the cells before
  auto isIt = [&](const GmBoxes::Group &group, uint32_t piece) {
    if (group.piece != piece || group.last - group.first != end - first)
      return false;
    for (uint32_t i = 0; i < end - first; ++i)
      if (ranges[first + i].low != ranges[group.first + i].low ||
          ranges[first + i].high != ranges[group.first + i].high)
        return false;
    return true;
  };
  auto groupOf = [&](uint32_t piece) {
    uint64_t key = uint64_t(piece) << 32 | uint64_t(ranges[first].low) << 16 | ranges[first].high;
    size_t at = size_t(key * 0x9E3779B97F4A7C15u >> 32) & (buckets.size() - 1);
    while (buckets[at] && !isIt(groups[buckets[at] - 1], piece))
      at = (at + 1) & (buckets.size() - 1);
    if (!buckets[at]) {
      groups.push_back({piece, first, end, 0});
      buckets[at] = uint32_t(groups.size());
    }
    return buckets[at] - 1;
  };
  const Page *page = nullptr;
  uint32_t number = UINT32_MAX; // of the page
  for (; first < ranges.size(); first = end) {
    const GmBoxes::Range &range = ranges[first];
    for (end = first + 1; end < ranges.size() && ranges[end].cell == range.cell; ++end)
      ;
    for (uint32_t cell = range.cell, last = cell + range.count; cell < last;) {
      if (cell / kPageCells != number) {
        number = cell / kPageCells;
        page = pageOf(region, number);
      }
      uint32_t at = cell % kPageCells, stop = std::min(at + last - cell, kPageCells), next = stop;
      uint32_t piece = page ? page->pieceAt[at] : 0;
      if (page)
        for (next = at + 1; next < stop && page->pieceAt[next] == piece;)
          ++next;
      // Neighbours are mostly alike.
      if (recent >= groups.size() || !isIt(groups[recent], piece))
        recent = groupOf(piece);
      GmBoxes::Stretch &stretch = memory.stretches.emplace_back();
      stretch.cell = cell;
      stretch.count = next - at;
      stretch.group = recent;
      groups[recent].cells += stretch.count;
      cell += stretch.count;
    }
  }
}

/// Gives each group that is not a whole piece a piece of its own.
void GmShadow::cut(GmBoxes &memory, size_t region) {
  bool isCut = false;
  for (GmBoxes::Group &group : memory.groups) {
    if (group.piece && pieces[group.piece].cells == group.cells)
      continue;
    uint32_t before = group.piece;
    group.piece = make(memory);
    pieces[group.piece].cells = group.cells;
    isCut = true;
    if (!before)
      continue;
    pieces[group.piece].entries = pieces[before].entries;
    pieces[before].cells -= group.cells;
    pieces[before].version = ++memory.versions;
  }
  if (!isCut)
    return;
  assign(memory, region);
}

/// Puts the cells of each group into its piece.
void GmShadow::assign(const GmBoxes &memory, size_t region) {
  std::vector<std::unique_ptr<Page>> &pages = regions[region];
  Page *page = nullptr;
  uint32_t number = UINT32_MAX; // of the page
  for (const auto &[cell, count, group] : memory.stretches) {
    if (cell / kPageCells != number) {
      number = cell / kPageCells;
      if (number >= pages.size())
        pages.resize(number + 1);
      if (!pages[number])
        pages[number] = newPage();
      page = pages[number].get();
    }
    uint32_t piece = memory.groups[group].piece;
    for (uint32_t at = cell % kPageCells, end = at + count; at < end; ++at) {
      page->pieceAt[at] = piece;
      page->met[at] = true;
    }
  }
}

/// A piece without cells or entries.
uint32_t GmShadow::make(GmBoxes &memory) {
  uint32_t index = uint32_t(pieces.size());
  if (unused.empty()) {
    pieces.emplace_back();
  } else {
    index = unused.back();
    unused.pop_back();
  }
  pieces[index].version = ++memory.versions;
  return index;
}

/// Whether a box touches the cells of a group once and as a whole.
bool GmShadow::isWhole(const GmBoxes &memory, const GmBoxes::Group &group) {
  const GmBoxes::Range &range = memory.ranges[group.first];
  return group.last - group.first == 1 && range.low == 0 && range.high == kCell;
}

/// Makes the pieces that a written box covers whole one: they are alike.
void GmShadow::unite(GmBoxes &memory, GmBoxes::Box &box) {
  uint32_t one = 0;
  for (const GmBoxes::Part &part : box.parts) {
    if (!part.isWhole)
      continue;
    Piece &piece = pieces[part.piece];
    if (!one) {
      one = part.piece;
      piece.version = ++memory.versions;
      continue;
    }
    pieces[one].cells += piece.cells;
    piece = {};
    unused.push_back(part.piece);
  }
  listRanges(memory, box.low, box.runs);
  group(memory, box.region);
  for (GmBoxes::Group &group : memory.groups)
    if (isWhole(memory, group))
      group.piece = one;
  assign(memory, box.region);
  box.parts.clear();
}
