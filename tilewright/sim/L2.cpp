// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/L2.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>

namespace tilewright::sim {
namespace {

/// Mixes an address so that its high bits are good for choosing.
uint64_t mix(uint64_t value) {
  value ^= value >> 29;
  value *= 0x9E3779B97F4A7C15u;
  value ^= value >> 32;
  return value * 0xD6E8FEB86659FD93u;
}

/// The place of the line to follow in its group: multiples of the golden ratio, which spreads
/// evenly over groups at any regular distance.
uint64_t picked(uint64_t group, unsigned sampleShift) {
  return sampleShift ? (group * 0x9E3779B97F4A7C15u) >> (64 - sampleShift) : 0;
}

/// Places in an entry. Lines have 28 bits: 128 GiB of lines of 512 bytes.
constexpr unsigned kTagShift = 36, kFetchShift = 16;
constexpr uint64_t kMaxFetch = (1u << (kTagShift - kFetchShift)) - 1;

/// Of sectors of a line. Counting bits is slow on a general CPU.
constexpr auto kBitCount = [] {
  std::array<uint8_t, 256> counts{};
  for (unsigned bits = 1; bits < counts.size(); ++bits)
    counts[bits] = uint8_t(counts[bits / 2] + bits % 2);
  return counts;
}();

/// How much is kept of transfers that may come again: some 30 MiB.
constexpr size_t kMostMade = 1 << 17, kMostTouches = 1 << 20;
/// How much of that waits for the next launch.
constexpr size_t kMostPlacesKept = 1 << 12;

/// Empty entries of the last cache, kept because fresh pages are slow: a launch touches few sets.
class EntryStore {
public:
  static std::vector<uint64_t> take(size_t count) {
    std::lock_guard lock(mutex());
    if (kept().size() == count)
      return std::move(kept());
    return std::vector<uint64_t>(count, 0);
  }
  static void giveBack(std::vector<uint64_t> entries) {
    std::lock_guard lock(mutex());
    kept() = std::move(entries);
  }

private:
  static std::mutex &mutex() {
    static auto *instance = new std::mutex;
    return *instance;
  }
  static std::vector<uint64_t> &kept() {
    static auto *instance = new std::vector<uint64_t>;
    return *instance;
  }
};

} // namespace

L2Cache::L2Cache(const machine::Machine &chip, unsigned sampleShift, uint64_t end)
    : price(chip), lineShift(price.lineShift), sectorShift(price.sectorShift),
      sectorsPerLine(1u << (lineShift - sectorShift)), sampleShift(sampleShift),
      ways(static_cast<unsigned>(chip.l2Ways)) {
  madeBefore->clear();
  const double bytes = static_cast<double>(chip.l2Bytes) * chip.l2EffectiveFraction;
  if (end > 0 && static_cast<double>(end) <= bytes * 3 / 4) {
    kept.resize((end >> lineShift) + 1);
    return;
  }
  const double lines = bytes / chip.l2LineBytes / static_cast<double>(1u << sampleShift);
  sets = std::max<uint64_t>(1, static_cast<uint64_t>(lines / ways));
  entries = EntryStore::take(sets * ways);
}

L2Cache::~L2Cache() {
  if (entries.empty())
    return;
  for (uint32_t set : touchedSets)
    std::fill_n(entries.begin() + std::ptrdiff_t(set * uint64_t(ways)), ways, 0);
  EntryStore::giveBack(std::move(entries));
}

/// Forgets everything; a small table keeps its memory.
void L2Cache::MadeTable::clear() {
  if (places.size() > kMostPlacesKept)
    *this = {};
  std::fill(places.begin(), places.end(), 0);
  made.clear();
}

uint32_t &L2Cache::MadeTable::placeOf(uint64_t key) {
  size_t at = mix(key) >> 32 & (places.size() - 1);
  while (places[at] && made[places[at] - 1].key != key)
    at = (at + 1) & (places.size() - 1);
  return places[at];
}

L2Cache::Made *L2Cache::MadeTable::find(uint64_t key) {
  if (places.empty())
    return nullptr;
  const uint32_t place = placeOf(key);
  return place ? &made[place - 1] : nullptr;
}

L2Cache::Made &L2Cache::MadeTable::add(uint64_t key) {
  if (made.size() * 2 >= places.size()) {
    places.assign(std::max<size_t>(1024, places.size() * 2), 0);
    made.reserve(places.size() / 2);
    for (size_t i = 0; i < made.size(); ++i)
      placeOf(made[i].key) = uint32_t(i + 1);
  }
  made.push_back({.key = key});
  placeOf(key) = uint32_t(made.size());
  return made.back();
}

L2Access L2Cache::access(const GmTraffic &traffic, bool write, bool bypass, double now,
                         uint32_t shape) {
  mayWait = now < lastFetch;
  lastMade = nullptr;
  const Use use = write ? Use::Write : bypass ? Use::Bypass : Use::Read;
  // A key has 16 bits for the shape and 48 for the address.
  const uint64_t key = uint64_t(shape) << 48 | (traffic.address & ((uint64_t(1) << 48) - 1));
  const bool isNamed = shape < (1u << 16) && (kept.empty() || !bypass);
  if (isNamed)
    if (const Made *made = madeBefore->find(key))
      return again(*made, use);
  const size_t first = touches.size();
  L2Access result = walk(traffic, use);
  const uint64_t sharedSectors = result.sampledSectors; // negative: see touchRows
  touchLines(first, touches.size(), use, result);
  if (!isNamed || !isMetAgain(key) || madeBefore->size() >= kMostMade || first >= kMostTouches) {
    touches.resize(first);
    return result;
  }
  lastMade = &madeBefore->add(key);
  lastMade->access = result;
  lastMade->access.missedSectors = 0;
  if (kept.empty()) {
    lastMade->access.sampledSectors = sharedSectors;
    lastMade->access.pendingUntil = lastMade->access.evictedDirtyBytes = 0;
  }
  lastMade->firstTouch = uint32_t(first);
  lastMade->lastTouch = uint32_t(touches.size());
  return result;
}

/// Whether a transfer was met before. Most launches that stream their data make none twice, and
/// what is known of one is much more than the bit that says it came; a few are taken for others.
bool L2Cache::isMetAgain(uint64_t key) {
  const uint64_t hash = mix(key) >> 40 & (kMetBits - 1), bit = uint64_t(1) << (hash % 64);
  uint64_t &word = met[hash / 64];
  const bool isSet = word & bit;
  word |= bit;
  return isSet;
}

/// What a transfer meets that was made before: with `kept` all of it is there.
L2Access L2Cache::again(const Made &made, Use use) {
  L2Access result = made.access;
  if (!mayWait)
    result.pendingUntil = 0;
  touchLines(made.firstTouch, made.lastTouch, use, result);
  return result;
}

/// Goes through the rows of a transfer; without `kept` it only gathers what is touched.
L2Access L2Cache::walk(const GmTraffic &traffic, Use use) {
  L2Access result;
  const uint64_t line = uint64_t(1) << lineShift;
  uint64_t rows = traffic.rows, rowBytes = traffic.rowBytes;
  result.bytes = rows * rowBytes * traffic.planes;
  if (result.bytes == 0)
    return result;
  // Rows that follow each other are one run, which costs as much as one row per line.
  const bool contiguous = rows == 1 || traffic.stride == rowBytes;
  if (contiguous) {
    rowBytes *= rows;
    rows = 1;
  }
  const uint64_t costRows = contiguous ? (rowBytes + line - 1) / line : rows;
  result.rows = costRows * traffic.planes;
  result.runs = rows * traffic.planes;
  const uint64_t pitches =
      (rows > 1 ? traffic.stride : 0) | (traffic.planes > 1 ? traffic.planeStride : 0);
  const bool alike = (pitches & (line - 1)) == 0; // all rows start at one place of their lines
  for (uint32_t plane = 0; plane < traffic.planes; ++plane) {
    const uint64_t address = traffic.address + plane * traffic.planeStride;
    if (alike)
      touchRows(address, rows, rowBytes, traffic.stride, use, result);
    else
      for (uint64_t row = 0; row < rows; ++row)
        touchRows(address + row * traffic.stride, 1, rowBytes, 0, use, result);
  }
  return result;
}

/// Rows that start at the same place of their lines, with all that is the same for each done once.
void L2Cache::touchRows(uint64_t address, uint64_t rows, uint64_t rowBytes, uint64_t stride,
                        Use use, L2Access &result) {
  const uint64_t sector = uint64_t(1) << sectorShift;
  const uint64_t end = address + rowBytes - 1;
  const uint64_t firstSector = address >> sectorShift, lastSector = end >> sectorShift;
  const uint64_t count = (end >> lineShift) - (address >> lineShift) + 1;
  result.chargedBytes += static_cast<double>(rows) * price.chargedBytes(address, rowBytes);
  // A sector that the row enters in its middle counts with the row before it.
  const bool entersSector = address & (sector - 1) && lastSector > firstSector;
  const unsigned all = (1u << sectorsPerLine) - 1, inLine = sectorsPerLine - 1;
  const unsigned head = all << (firstSector & inLine) & all;
  const unsigned tail = all >> (inLine - (lastSector & inLine));
  if (!kept.empty()) {
    result.sampledSectors += rows * (lastSector - firstSector + (entersSector ? 0 : 1));
    const LineRows lines{address >> lineShift, count, rows, stride >> lineShift, head, tail, all};
    switch (use) {
    case Use::Read:
      return mayWait ? touchKept<Use::Read, true>(lines, result)
                     : touchKept<Use::Read, false>(lines, result);
    case Use::Bypass:
      return mayWait ? touchKept<Use::Bypass, true>(lines, result)
                     : touchKept<Use::Bypass, false>(lines, result);
    case Use::Write:
      return touchKept<Use::Write, false>(lines, result);
    }
  }
  uint64_t first = address >> lineShift;
  for (uint64_t row = 0; row < rows; ++row, first += stride >> lineShift) {
    const uint64_t last = first + count - 1;
    for (uint64_t group = first >> sampleShift; group <= last >> sampleShift; ++group) {
      const uint64_t at = (group << sampleShift) | picked(group, sampleShift);
      if (at - first >= count)
        continue;
      if (at == first && entersSector)
        --result.sampledSectors;
      touches.push_back({at, setOf(at), (at == first ? head : all) & (at == last ? tail : all)});
    }
  }
}

/// The table is far bigger than the host's caches: the places of some lines are fetched together.
void L2Cache::touchLines(size_t first, size_t last, Use use, L2Access &result) {
  constexpr size_t kTogether = 32;
  while (first < last) {
    const size_t end = std::min(last, first + kTogether);
    for (size_t i = first; i < end; ++i)
      __builtin_prefetch(&entries[touches[i].set * uint64_t(ways)], 1);
    for (; first < end; ++first)
      touchLine(touches[first], use, result);
  }
}

/// Rows in a cache that evicts nothing, so that nobody asks which sectors are dirty. A program with
/// short rows comes here for each of them.
template <L2Cache::Use use, bool waits>
void L2Cache::touchKept(const LineRows &lines, L2Access &result) {
  const auto fetch = static_cast<uint32_t>(fetches.size());
  uint32_t *const states = kept.data();
  uint64_t missed = 0;
  double until = result.pendingUntil;
  uint32_t waitedFor = fetch; // this very access it does not wait for; neighbours came together
  const auto touch = [&](uint64_t line, uint32_t sectors) {
    const uint32_t state = states[line];
    if (use == Use::Read && state == 0) { // most lines are met once
      missed += kBitCount[sectors];
      states[line] = fetch << 8 | sectors;
      return;
    }
    if (waits && state >> 8 != waitedFor && state >> 8 != fetch) {
      waitedFor = state >> 8;
      until = std::max(until, fetches[waitedFor]);
    }
    const uint32_t lacking = sectors & ~state;
    if (!lacking)
      return;
    if (use == Use::Write) {
      states[line] = state | sectors;
      return;
    }
    missed += kBitCount[lacking];
    if (use == Use::Read)
      states[line] = fetch << 8 | (state & 0xFF) | sectors;
  };
  uint64_t first = lines.first;
  if (lines.count == 1) {
    const uint32_t sectors = lines.head & lines.tail;
    const uint64_t pitch = lines.pitch;
    for (uint64_t left = lines.rows; left > 0; --left, first += pitch)
      touch(first, sectors);
  } else {
    for (uint64_t row = 0; row < lines.rows; ++row, first += lines.pitch) {
      const uint64_t last = first + lines.count - 1;
      touch(first, lines.head);
      for (uint64_t line = first + 1; line < last; ++line)
        touch(line, lines.all);
      touch(last, lines.tail);
    }
  }
  result.pendingUntil = until;
  result.missedSectors += missed;
}

/// The high half of the hash times the number of sets picks one without a division.
uint32_t L2Cache::setOf(uint64_t line) const {
  return static_cast<uint32_t>(((mix(line ^ 0x5851F42Du) >> 32) * sets) >> 32);
}

void L2Cache::touchLine(const Touch &touch, Use use, L2Access &result) {
  const unsigned sectors = touch.sectors;
  result.sampledSectors += std::popcount(sectors);
  uint64_t *entry = &entries[touch.set * uint64_t(ways)];
  const uint64_t tag = touch.line + 1; // 0 is a free place
  unsigned way = 0;
  while (way < ways && entry[way] && entry[way] >> kTagShift != tag)
    ++way;
  const uint64_t found = way < ways ? entry[way] : 0;
  const unsigned valid = static_cast<unsigned>(found >> 8) & 0xFF;
  const unsigned missed = use == Use::Write ? 0 : std::popcount(sectors & ~valid);
  uint64_t fetch = found >> kFetchShift & kMaxFetch;
  // What this very access misses has no number yet, and it does not wait for itself.
  if (mayWait && use != Use::Write && fetch < fetches.size())
    result.pendingUntil = std::max(result.pendingUntil, fetches[fetch]);
  result.missedSectors += missed;
  if (use == Use::Bypass)
    return;
  if (missed)
    fetch = fetches.size();
  if (!entry[0])
    touchedSets.push_back(touch.set);
  if (way == ways) {
    way = ways - 1;
    const unsigned dirty = std::popcount(entry[way] & 0xFF);
    result.evictedDirtyBytes += static_cast<double>(uint64_t(dirty) << (sectorShift + sampleShift));
  }
  std::copy_backward(entry, entry + way, entry + way + 1);
  unsigned dirty = static_cast<unsigned>(found) & 0xFF;
  if (use == Use::Write)
    dirty |= sectors;
  entry[0] = tag << kTagShift | fetch << kFetchShift | uint64_t(valid | sectors) << 8 | dirty;
}

void L2Cache::fetched(double time) {
  if (lastMade && !kept.empty())
    lastMade->access.pendingUntil = time;
  lastFetch = std::max(lastFetch, time);
  fetches.push_back(time);
  if (fetches.size() <= kMaxFetch)
    return;
  // The numbers are used up; nobody waits any more for what was fetched so long ago.
  fetches.resize(1);
  for (uint32_t &state : kept)
    state &= 0xFF;
  for (uint32_t set : touchedSets)
    for (unsigned way = 0; way < ways; ++way)
      entries[set * uint64_t(ways) + way] &= ~(kMaxFetch << kFetchShift);
}

} // namespace tilewright::sim
