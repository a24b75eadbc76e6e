// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Checker.h"

#include "tilewright/sim/Names.h"

#include <algorithm>
#include <limits>

using namespace tilewright::sim;
using tilewright::machine::Machine;

namespace {

/// Distinct findings that one launch reports at most; a program with more has a few causes.
constexpr size_t kMaxFindings = 200;

std::string lineText(const Program &program, int32_t location) {
  if (location < 0 || location >= int32_t(program.locations.size()))
    return "an unknown line";
  return "line " + std::to_string(program.locations[location].line);
}

std::string whatText(const Program &program, const Template &tmpl) {
  std::string name = tmpl.label.empty() ? nameOf(tmpl.op) : tmpl.label;
  return "'" + name + "' (" + locationText(program, tmpl.location) + ")";
}

/// The tensors of a region of GM; several when arguments share memory.
std::string regionText(const Program &program, const GmSpace &space, size_t region) {
  if (region == space.regionBytes.size())
    return "the workspace";
  std::string names;
  for (size_t i = 0; i < program.tensors.size(); ++i)
    if (size_t(space.tensors[i].region) == region)
      names += (names.empty() ? "tensor " : "/") + program.tensors[i].name;
  return names;
}

/// Two blocks, or two cores that share one, that touch the same bytes of GM; `first` is the write
/// where only one writes.
Finding betweenBlocks(const Program &program, FindingKind kind, int32_t first, int32_t second,
                      const std::string &place, int64_t block, int64_t otherBlock) {
  const int64_t cores = coresPerBlock(program);
  const bool isOne = block / cores == otherBlock / cores;
  std::string edge = isOne ? "T.subblock_barrier, an atomic, or parts that do not overlap"
                           : "an atomic, or parts that do not overlap";
  return {.kind = kind,
          .message = "race on " + place + " between " +
                     (isOne ? "the vector cores of one block (" : "different blocks (") +
                     locationText(program, first) + " and " + locationText(program, second) +
                     (isOne ? "): they have no order; needs " : "): blocks have no order; needs ") +
                     edge,
          .location = second,
          .otherLocation = first,
          .block = block,
          .memory = place,
          .edge = std::move(edge)};
}

} // namespace

int FindingList::add(Finding finding) {
  auto key = std::tuple(finding.kind, finding.location, finding.otherLocation, finding.message);
  auto [it, isNew] = index.try_emplace(std::move(key), list.size());
  if (!isNew) {
    list[it->second].count += finding.count;
    return int(it->second);
  }
  if (list.size() >= kMaxFindings) {
    index.erase(it);
    return -1;
  }
  list.push_back(std::move(finding));
  return int(list.size()) - 1;
}

Checker::Checker(const Program &program, const Machine &chip, const HappensBefore &order,
                 const std::vector<CoreKind> &kinds, const GmSpace &gmSpace, CheckerMemory &memory,
                 FindingList &findings)
    : program(program), order(order), findings(findings), kinds(kinds), space(gmSpace),
      memory(memory) {
  size_t numCores = program.isMixed() ? kGroupCores : 2;
  for (size_t core = 0; core < numCores; ++core) {
    bool isUsed = !(kinds[core] == CoreKind::AIC ? program.aic : program.aiv).code.empty();
    for (Space space : {Space::L1, Space::L0A, Space::L0B, Space::L0C, Space::UB})
      if (int64_t bytes = isUsed ? spaceBytes(chip, kinds[core], space) : 0)
        memory.shadows[core][size_t(space)].reset(bytes);
  }
  for (std::vector<const Template *> &names : memory.log)
    names.clear();
  gm->reset(gmSpace.regionBytes.size() + 1);
  isTracked.resize(gm->numRegions());
  for (size_t i = 0; i < program.tensors.size(); ++i)
    if (program.tensors[i].written)
      isTracked[size_t(gmSpace.tensors[i].region)] = true;
  isTracked.back() = true;
}

void Checker::access(int lane, uint32_t tick, Prepared &prepared, unsigned operand, bool isWrite,
                     int64_t block) {
  PreparedOperand &target = prepared.operands[operand];
  if (target.isEmpty)
    return;
  if (!target.runs)
    target.runs.emplace(prepared.op.operands[operand]);
  if (target.space == Space::GM)
    inGm(lane, tick, prepared, operand, isWrite, block);
  else
    onChip(lane, tick, prepared, operand, isWrite, block);
}

/// Boxes that leave an inner dimension of their buffer and go on in its next row.
void Checker::boxes(const Prepared &prepared, const int64_t *regs, int64_t block) {
  const Template &self = *prepared.source;
  auto value = [&](const Ref &ref) { return ref.reg >= 0 ? regs[ref.reg] : ref.imm; };
  for (const BoxCheck &box : self.boxes) {
    bool isEmpty = std::any_of(box.dims.begin(), box.dims.end(),
                               [&](const BoxCheck::Dim &dim) { return value(dim.size) <= 0; });
    for (size_t d = 1; d < box.dims.size() && !isEmpty; ++d) {
      int64_t from = value(box.dims[d].offset), to = from + value(box.dims[d].size);
      int64_t extent = value(box.dims[d].extent);
      if (from >= 0 && to <= extent)
        continue;
      auto key = std::tuple(FindingKind::OutOfBounds, &self, &self, int(&box - &self.boxes[0]), -1);
      auto [it, isNew] = known.try_emplace(key, 0);
      if (isNew)
        it->second = findings.add({.kind = FindingKind::OutOfBounds,
                                   .message = whatText(program, self) + " goes from " +
                                              std::to_string(from) + " to " + std::to_string(to) +
                                              " in dimension " + std::to_string(d) + " of " +
                                              box.memory + ", which has " + std::to_string(extent) +
                                              ", and so into the next row",
                                   .location = self.location,
                                   .block = block,
                                   .memory = box.memory});
      else
        findings.bump(it->second);
    }
  }
}

/// A vector instruction goes through its elements in order, a repeat at a time: it may overwrite a
/// source element by element, or narrow it at its place, but not shift it or widen it in place.
static bool worksInPlace(const ResolvedView &into, const ResolvedView &from) {
  const int64_t size = byteSize(into.type), sourceSize = byteSize(from.type);
  int64_t outer = std::numeric_limits<int64_t>::max();
  for (unsigned d = 0; d < into.rank; ++d) {
    if (into.sizes[d] == 1)
      continue;
    const int64_t stride = into.strides[d];
    // Narrowed, later elements lie where earlier ones have been read.
    if (stride != from.strides[d] || (size < sourceSize && stride > outer))
      return false;
    outer = stride;
  }
  return size <= sourceSize;
}

void Checker::overlap(int core, const Prepared &prepared, int64_t block) {
  const PreparedOperand &target = prepared.operands[0];
  for (unsigned k = 1; k < prepared.op.numOperands; ++k) {
    const PreparedOperand &source = prepared.operands[k];
    if (target.isEmpty || source.isEmpty || source.low >= target.high || target.low >= source.high)
      continue;
    const ResolvedView &into = prepared.op.operands[0], &from = prepared.op.operands[k];
    if (target.low == source.low && worksInPlace(into, from))
      continue;
    std::vector<bool> written(size_t(target.high - target.low));
    Runs(into).forEach(target.low, [&](int64_t low, int64_t high) {
      std::fill(written.begin() + (low - target.low), written.begin() + (high - target.low), true);
    });
    bool isRead = false;
    Runs(from).forEach(source.low, [&](int64_t low, int64_t high) {
      low = std::max(low, target.low);
      high = std::min(high, target.high);
      isRead = isRead || (low < high && std::find(written.begin() + (low - target.low),
                                                  written.begin() + (high - target.low),
                                                  true) != written.begin() + (high - target.low));
    });
    if (!isRead)
      continue;
    const Template &self = *prepared.source;
    std::string place = bufferText(core, target.space, target.low, target.high);
    std::string edge = "a tile of its own for the result, or exactly the source's box";
    findings.add({.kind = FindingKind::WriteAfterRead,
                  .message = "race on " + place + ": " + whatText(program, self) +
                             " overwrites a part of its own source; needs " + edge,
                  .location = self.location,
                  .otherLocation = self.location,
                  .block = block,
                  .memory = place,
                  .edge = edge});
  }
}

const Template *Checker::at(int lane, uint32_t tick) const {
  const auto &names = memory.log[size_t(lane)];
  return tick < names.size() ? names[tick] : nullptr;
}

void Checker::onChip(int lane, uint32_t tick, const Prepared &prepared, unsigned operand,
                     bool isWrite, int64_t block) {
  const PreparedOperand &target = prepared.operands[operand];
  int core = coreOf(lane);
  OnChipShadow &shadow = memory.shadows[size_t(core)][size_t(target.space)];
  const uint32_t *clock = order.clock(lane).data() + laneOf(core, Pipe::S);
  CellConflict conflict;
  target.runs->forEach(target.low, [&](int64_t low, int64_t high) {
    shadow.access(low, high, pipeOfLane(lane), tick, clock, isWrite, conflict);
  });
  if (!conflict.any())
    return;
  std::string place = bufferText(core, target.space, target.low, target.high);
  auto tell = [&](FindingKind kind, uint32_t epoch) {
    if (epoch)
      race(kind, laneOf(core, epochPipe(epoch)), epochTick(epoch), lane, prepared, place, block);
  };
  tell(FindingKind::ReadAfterWrite, conflict.readAfterWrite);
  tell(FindingKind::WriteAfterWrite, conflict.writeAfterWrite);
  tell(FindingKind::WriteAfterRead, conflict.writeAfterRead);
  if (conflict.isUninitialised)
    uninitialised(
        prepared,
        bufferText(core, target.space, conflict.uninitialisedAt, conflict.uninitialisedAt + 1),
        block);
}

void Checker::inGm(int lane, uint32_t tick, const Prepared &prepared, unsigned operand,
                   bool isWrite, int64_t block) {
  const PreparedOperand &target = prepared.operands[operand];
  bool isWorkspace = target.tensor == kWorkspace;
  size_t region =
      isWorkspace ? space.regionBytes.size() : size_t(space.tensors[size_t(target.tensor)].region);
  int64_t offset = isWorkspace ? 0 : space.tensors[size_t(target.tensor)].offset;
  bool atomic = isAtomic(prepared.op.op) || isScalarAtomic(prepared.op.op, prepared.op.flags);
  if (!isTracked[region] || (atomic && !isWrite))
    return;
  const Clock &clock = order.clock(lane);
  const uint32_t known = gm->numberOf(order.meetings(lane));
  auto place = [&] { return regionText(program, space, region); };

  auto inCell = [&](CellEntries &entries, uint16_t low, uint16_t high) {
    bool isCovered = !isWorkspace || isWrite;
    for (size_t i = 0; i < entries.size();) {
      GmEntry &entry = entries[i];
      if (entry.high <= low || entry.low >= high) {
        ++i;
        continue;
      }
      isCovered = isCovered || (entry.isWrite && entry.low <= low && entry.high >= high);
      bool isConflict = (isWrite || entry.isWrite) && !(atomic && entry.isAtomic) &&
                        !(entry.lane == lane && entry.tick == tick);
      if (isConflict) {
        FindingKind kind = !isWrite        ? FindingKind::ReadAfterWrite
                           : entry.isWrite ? FindingKind::WriteAfterWrite
                                           : FindingKind::WriteAfterRead;
        if (!isWorkspace && entry.block != block && entry.block >= 0 && block >= 0)
          findings.add(betweenBlocks(program, kind, entry.location, prepared.source->location,
                                     place(), block, entry.block));
        else if (entry.lane != lane && !HappensBefore::isOrdered(clock, entry.lane, entry.tick))
          race(kind, entry.lane, entry.tick, lane, prepared, place(), block);
      }
      bool isSwallowed =
          low <= entry.low && high >= entry.high &&
          (isWrite || (!entry.isWrite && entry.lane == lane && entry.block == block));
      if (isSwallowed) {
        entries[i] = entries.back();
        entries.pop_back();
        continue;
      }
      ++i;
    }
    if (!isCovered) {
      // Writes in no order: go on from the end of one that reaches the first byte not yet met.
      unsigned reached = low;
      for (size_t i = 0; i < entries.size() && reached < high; ++i)
        if (entries[i].isWrite && entries[i].low <= reached && entries[i].high > reached) {
          reached = entries[i].high;
          i = size_t(-1);
        }
      isCovered = reached >= high;
      if (!isCovered)
        uninitialised(prepared, place(), block);
    }
    if (!entries.empty()) {
      GmEntry &last = entries.back();
      if (last.lane == lane && last.tick == tick && last.isWrite == isWrite && last.high == low) {
        last.high = high;
        return;
      }
    }
    entries.push_back({low, high, uint8_t(lane), isWrite, atomic, known, tick, int32_t(block),
                       prepared.source->location});
  };
  gm->access(memory.boxes, region, target.low + offset, *target.runs, isWrite, inCell);
}

void Checker::race(FindingKind kind, int otherLane, uint32_t otherTick, int lane,
                   const Prepared &prepared, const std::string &place, int64_t block) {
  const Template *other = at(otherLane, otherTick);
  const Template &self = *prepared.source;
  auto [it, isNew] = known.try_emplace(std::tuple(kind, other, &self, otherLane, lane), 0);
  if (!isNew) {
    findings.bump(it->second);
    return;
  }
  int32_t otherLocation = other ? other->location : -1;
  auto core = [&](int which) {
    std::string text = nameOf(kinds[size_t(coreOf(which))]);
    if (kinds[size_t(coreOf(which))] == CoreKind::AIV && !program.aic.code.empty())
      text += " " + std::to_string(coreOf(which) - 1);
    return text;
  };
  const char *pipe = nameOf(pipeOfLane(lane)), *otherPipe = nameOf(pipeOfLane(otherLane));
  std::string edge;
  if (coreOf(lane) != coreOf(otherLane))
    edge = "block_set on " + core(otherLane) + " " + otherPipe + " after " +
           lineText(program, otherLocation) + " and block_wait on " + core(lane) + " " + pipe +
           " before " + lineText(program, self.location) + ", or the other way round";
  else if (lane == otherLane)
    edge = std::string("pipe_barrier ") + pipe + " between " + lineText(program, otherLocation) +
           " and " + lineText(program, self.location);
  else
    edge = std::string("set_flag/wait_flag ") + otherPipe + "->" + pipe + " between " +
           lineText(program, otherLocation) + " and " + lineText(program, self.location);
  std::string message =
      "race on " + place + ": " + whatText(program, self) + " on " + core(lane) + " " + pipe + " " +
      (kind == FindingKind::ReadAfterWrite ? "reads" : "writes") + " what " +
      (other ? whatText(program, *other) : "an earlier instruction") + " on " + core(otherLane) +
      " " + otherPipe + " may still " + (kind == FindingKind::WriteAfterRead ? "read" : "write") +
      "; needs " + edge;
  it->second = findings.add({.kind = kind,
                             .message = std::move(message),
                             .location = self.location,
                             .otherLocation = otherLocation,
                             .block = block,
                             .memory = place,
                             .edge = std::move(edge)});
}

void Checker::uninitialised(const Prepared &prepared, const std::string &place, int64_t block) {
  const Template &self = *prepared.source;
  findings.add(
      {.kind = FindingKind::Uninitialised,
       .message = whatText(program, self) + " reads " + place + " where nothing was written",
       .location = self.location,
       .block = block,
       .memory = place,
       .edge = "a write of these bytes before the read"});
}

/// The author's name of the bytes; all names where buffers share them.
std::string Checker::bufferText(int core, Space space, int64_t low, int64_t high) const {
  std::string names;
  int found = 0;
  for (const BufferInfo &buffer : program.buffers) {
    int64_t end = buffer.address + buffer.bytes * std::max(buffer.slots, 1);
    if (buffer.core != kinds[size_t(core)] || buffer.space != space || end <= low ||
        buffer.address >= high || found == 3)
      continue;
    names += (found++ ? "/" : "") + buffer.name;
  }
  if (names.empty())
    return std::string(nameOf(space)) + " bytes " + std::to_string(low) + ".." +
           std::to_string(high);
  return "buffer " + names + " (" + nameOf(space) + ")";
}

/// True where the access of group `first` is over before one of another group that knows of the
/// meetings `known`: one of them came after it.
static bool isOver(const GmShadow &first, const GmEntry &entry, const Meetings &known) {
  for (size_t kind = 0; kind < known.size(); ++kind) {
    size_t count = std::min(size_t(known[kind]), first.meetings[kind].size());
    if (count && HappensBefore::isOrdered(first.meetings[kind][count - 1], entry.lane, entry.tick))
      return true;
  }
  return false;
}

void tilewright::sim::checkAcrossGroups(const Program &program, const GmSpace &space,
                                        const std::vector<GmShadow *> &groups,
                                        FindingList &findings) {
  std::vector<std::pair<CellEntries *, const GmShadow *>> met; // of the groups that met the cell
  auto inCell = [&](size_t region, size_t cell, const std::string &place) {
    met.clear();
    for (GmShadow *shadow : groups)
      if (CellEntries *entries = shadow->entriesOf(region, cell))
        met.push_back({entries, shadow});
    for (size_t g = 0; met.size() > 1 && g < met.size(); ++g) {
      for (const GmEntry &write : *met[g].first) {
        if (!write.isWrite)
          continue;
        for (size_t h = 0; h < met.size(); ++h) {
          if (h == g)
            continue;
          for (const GmEntry &other : *met[h].first) {
            bool isOnce = !other.isWrite || g < h; // a pair of writes meets twice
            if (!isOnce || other.high <= write.low || write.high <= other.low ||
                (write.isAtomic && other.isAtomic) ||
                isOver(*met[g].second, write, met[h].second->knownTo(other)) ||
                isOver(*met[h].second, other, met[g].second->knownTo(write)))
              continue;
            FindingKind kind =
                other.isWrite ? FindingKind::WriteAfterWrite : FindingKind::ReadAfterWrite;
            findings.add(betweenBlocks(program, kind, write.location, other.location, place,
                                       other.block, write.block));
          }
        }
      }
    }
  };
  for (size_t t = 0; t <= space.regionBytes.size(); ++t) {
    size_t numPages = 0;
    for (GmShadow *shadow : groups)
      numPages = std::max(numPages, shadow->numPages(t));
    std::string place = regionText(program, space, t);
    for (size_t p = 0; p < numPages; ++p) {
      GmShadow::CellSet once, again; // cells that some, several groups met
      for (GmShadow *shadow : groups)
        if (const GmShadow::CellSet *known = shadow->known(t, p)) {
          again |= once & *known;
          once |= *known;
        }
      for (size_t cell = 0; again.any() && cell < GmShadow::kPageCells; ++cell)
        if (again[cell])
          inCell(t, p * GmShadow::kPageCells + cell, place);
    }
  }
}
