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

/// Checks and notes one access to bytes with the same past.
inline void touch(Cell &cell, Pipe pipe, uint32_t tick, const uint32_t *clock, bool isWrite,
                  CellConflict &conflict) {
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

} // namespace

void OnChipShadow::reset(int64_t size) {
  uint32_t count = uint32_t((size + kCell - 1) / kCell);
  std::fill_n(pieceAt.begin(), used, 0);
  used = 0;
  pieceAt.resize(count);
  pieces.assign(1, {});
  pieces.front().last = count;
  unused.clear();
  bytes.resize(count);
}

/// The piece that starts at cell `first` and ends no later than `last`.
uint32_t OnChipShadow::pieceFrom(uint32_t first, uint32_t last) {
  if (pieces[pieceAt[first]].first < first)
    cut(pieceAt[first], first);
  uint32_t index = pieceAt[first];
  if (pieces[index].last > last)
    cut(index, last);
  return pieceAt[first];
}

/// Cuts a piece in two before `cell`. The shorter part gets a new number, but the rest that no
/// access has reached stays piece 0.
void OnChipShadow::cut(uint32_t index, uint32_t cell) {
  uint32_t other = uint32_t(pieces.size());
  if (unused.empty()) {
    pieces.emplace_back();
  } else {
    other = unused.back();
    unused.pop_back();
  }
  Piece &piece = pieces[index], &part = pieces[other];
  part = piece;
  if (index == 0 || cell - piece.first < piece.last - cell)
    part.last = piece.first = cell;
  else
    part.first = piece.last = cell;
  std::fill(pieceAt.begin() + part.first, pieceAt.begin() + part.last, other);
}

/// Makes pieces that are alike one.
void OnChipShadow::unite(uint32_t first, uint32_t last) {
  uint32_t index = pieceAt[first], end = pieces[index].last;
  if (end == last)
    return;
  for (uint32_t cell = end; cell < last; cell = pieces[pieceAt[cell]].last)
    unused.push_back(pieceAt[cell]);
  std::fill(pieceAt.begin() + end, pieceAt.begin() + last, index);
  pieces[index].last = last;
}

/// Keeps the byte-exact record of what was ever written for a piece of an access to [low, high): it
/// lies within the access or is a single cell.
void OnChipShadow::initialised(Piece &piece, int64_t low, int64_t high, bool isWrite,
                               CellConflict &conflict) {
  if (piece.written == Written::All)
    return;
  int64_t begin = int64_t(piece.first) * kCell, end = int64_t(piece.last) * kCell;
  bool isWhole = low <= begin && end <= high;
  if (isWhole && isWrite) {
    piece.written = Written::All;
    return;
  }
  if (isWhole && piece.written == Written::Nothing) {
    conflict.isUninitialised = true;
    conflict.uninitialisedAt = begin;
    piece.written = Written::All; // told once
    return;
  }
  int64_t from = std::max(low, begin) - begin, to = std::min(high, end) - begin;
  uint32_t mask = uint32_t(((uint64_t(1) << (to - from)) - 1) << from);
  uint32_t &bits = bytes[piece.first];
  if (piece.written == Written::Nothing)
    bits = 0;
  if (!isWrite && (mask & ~bits)) {
    conflict.isUninitialised = true;
    conflict.uninitialisedAt = begin;
  }
  bits |= mask;
  piece.written = bits == ~uint32_t(0) ? Written::All : Written::Partly;
}

void OnChipShadow::access(int64_t low, int64_t high, Pipe pipe, uint32_t tick,
                          const uint32_t *clock, bool isWrite, CellConflict &conflict) {
  if (low >= high || size_t((high - 1) / kCell) >= pieceAt.size())
    return;
  uint32_t first = uint32_t(low / kCell), last = uint32_t((high + kCell - 1) / kCell);
  used = std::max(used, last);
  Piece &met = pieces[pieceAt[first]];
  if (met.first == first && met.last == last && met.written == Written::All)
    return touch(met.cell, pipe, tick, clock, isWrite, conflict);
  // A cell that is covered in part stands alone.
  uint32_t wholeFirst = uint32_t((low + kCell - 1) / kCell), wholeLast = uint32_t(high / kCell);
  for (uint32_t cell = first; cell < last;) {
    bool isWhole = cell >= wholeFirst && cell < wholeLast;
    Piece &piece = pieces[pieceFrom(cell, isWhole ? wholeLast : cell + 1)];
    touch(piece.cell, pipe, tick, clock, isWrite, conflict);
    initialised(piece, low, high, isWrite, conflict);
    cell = piece.last;
  }
  if (isWrite && wholeFirst < wholeLast)
    unite(wholeFirst, wholeLast);
}
