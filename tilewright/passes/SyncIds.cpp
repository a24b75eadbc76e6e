// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Event ids of the flags, and what to give up when there are not enough.

#include "tilewright/passes/SyncSolver.h"
#include "tilewright/passes/TileUtils.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <map>
#include <optional>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::npu;
using namespace tilewright::passes::sync;

namespace {

/// A loop of fewer turns is not worth a barrier before it.
constexpr double kLeastTurns = 4;

/// Which flag to touch first: the one that runs least often.
bool isColder(const AccessTable &table, const Flag &first, const Flag &second) {
  auto key = [&](const Flag &flag) {
    return std::make_tuple(table.blocks()[flag.block].depth, -int(flag.numIds), flag.block, flag.to,
                           flag.isCarried, flag.from, flag.rotate);
  };
  return key(first) < key(second);
}

/// Of which an event is outstanding all the time, or that has an id for each slot.
bool hasOwnIds(const Flag &flag) { return flag.isCarried || flag.numIds > 1; }

std::string pairName(Pipe source, Pipe target) {
  return (stringifyPipe(source) + " to " + stringifyPipe(target)).str();
}

} // namespace

/// The part of a long block that a flag is in; none for one from turn to turn of such a block.
Solver::Part Solver::partOf(const Flag &flag) const {
  Part from = partOf(flag.block, flag.from);
  return from == partOf(flag.block, flag.to - 1) ? from : Part();
}

/// Gives each flag an id. What is short of ids comes back: the first pair of pipes, and all pairs
/// of the parts of a long block, which are so many that one in vain for a pair does not count.
std::vector<Solver::Shortage> Solver::assignIds() {
  using Pipes = std::pair<Pipe, Pipe>;
  std::map<Pipes, std::vector<Flag *>> groups;
  for (Flag &flag : flags)
    groups[{flag.source, flag.target}].push_back(&flag);
  std::vector<Shortage> found;
  std::set<std::pair<Pipes, Part>> known;
  for (auto &[pipes, group] : groups) {
    if (assignIds(group))
      continue;
    for (const Flag *flag : group) {
      Part part = partOf(*flag);
      if (flag->id + flag->numIds > maxIds &&
          known.insert({part == Part() ? Pipes() : pipes, part}).second)
        found.push_back({pipes.first, pipes.second, part});
    }
  }
  return found;
}

bool Solver::assignIds(ArrayRef<Flag *> group) const {
  unsigned total = 0;
  for (Flag *flag : group) {
    flag->id = total;
    total += flag->numIds;
  }
  if (total <= maxIds)
    return true;
  // Rows of ids and those with an event outstanding all the time first, then the others where they
  // fit.
  std::vector<std::vector<const Flag *>> users;
  auto isFree = [&](unsigned id, const Flag &flag) {
    return llvm::all_of(users[id], [&](const Flag *other) {
      return flag.isOfLoop && other->isOfLoop && areApart(other->block, flag.block);
    });
  };
  for (Flag *flag : group) {
    if (!hasOwnIds(*flag))
      continue;
    unsigned last = 0; // the id that is the first of a row of free ones up to here
    for (unsigned id = 0; id < users.size() && id - last < flag->numIds; ++id)
      if (!isFree(id, *flag))
        last = id + 1;
    flag->id = last;
    users.resize(std::max<size_t>(users.size(), last + flag->numIds));
    for (unsigned slot = 0; slot < flag->numIds; ++slot)
      users[last + slot].push_back(flag);
  }
  for (Flag *flag : group) {
    if (hasOwnIds(*flag))
      continue;
    auto fits = llvm::find_if(users, [&](const std::vector<const Flag *> &others) {
      return !hasOwnIds(*others.front()) && mayShareId(others, *flag);
    });
    flag->id = fits - users.begin();
    if (fits == users.end())
      users.push_back({flag});
    else
      fits->push_back(flag);
  }
  return users.size() <= maxIds;
}

/// True when none of the users of an id is set before the others were awaited. Those of one block
/// take turns, so that only neighbours count, and the last one with the first.
bool Solver::mayShareId(ArrayRef<const Flag *> users, const Flag &flag) const {
  const Flag *before = nullptr, *after = nullptr, *first = nullptr, *last = nullptr;
  auto isEarlier = [](const Flag *a, const Flag *b) { return a->from < b->from; };
  for (const Flag *user : users) {
    if (user->block != flag.block) {
      if (!mayShareId(*user, flag))
        return false;
      continue;
    }
    if (!first || isEarlier(user, first))
      first = user;
    if (!last || isEarlier(last, user))
      last = user;
    if (user->from <= flag.from ? !before || isEarlier(before, user) : false)
      before = user;
    if (user->from > flag.from ? !after || isEarlier(user, after) : false)
      after = user;
  }
  for (const Flag *user : {before, after, first, last})
    if (user && !mayShareId(*user, flag))
      return false;
  return true;
}

/// True when each of the two is awaited before the other is set again.
bool Solver::mayShareId(const Flag &first, const Flag &second) const {
  // A barrier lies between two parts of a long block, and between one of them and the next turn's
  // other unless these are the last and the first.
  if (Part a = partOf(first), b = partOf(second); a.block >= 0 && a.block == b.block && a != b)
    if (std::min(a.part, b.part) > 0 || std::max(a.part, b.part) < int(cuts.at(a.block).size()))
      return true;
  struct End {
    unsigned block;
    int set, wait;
  };
  auto endOf = [](const Flag &flag) {
    return End{flag.block, placeOfSet(flag.from), placeOfWait(flag.to)};
  };
  End a = endOf(first), b = endOf(second);
  auto climb = [&](End &end) {
    const BlockInfo &info = table.blocks()[end.block];
    end = {unsigned(info.parent), placeOfOp(info.opInParent), placeOfOp(info.opInParent)};
  };
  while (a.block != b.block) {
    if (a.block > b.block)
      climb(a);
    else
      climb(b);
  }
  bool isFirstEarlier = a.wait <= b.set, isSecondEarlier = b.wait <= a.set;
  if (!isFirstEarlier && !isSecondEarlier)
    return false;
  auto goesBefore = [&](const End &one, const End &other, int turns) {
    Path path{one.block,
              first.target,
              one.wait,
              first.source,
              other.set,
              /*startsAtOp=*/false,
              /*isOfEvents=*/true};
    int found = distance(path, turns);
    return found >= 0;
  };
  bool isInLoop = table.blocks()[a.block].isInLoop;
  if (isFirstEarlier && isSecondEarlier) // two regions of one op
    return !isa<LoopLikeOpInterface>(table.opAt(a.block, a.set / placeOfOp(1))) &&
           (!isInLoop || (goesBefore(a, b, 1) && goesBefore(b, a, 1)));
  const End &earlier = isFirstEarlier ? a : b, &later = isFirstEarlier ? b : a;
  return goesBefore(earlier, later, 0) && (!isInLoop || goesBefore(later, earlier, 1));
}

/// True for the bodies of two loops that never run at one time.
bool Solver::areApart(unsigned first, unsigned second) const {
  auto isAround = [&](unsigned outer, int inner) {
    while (inner >= 0 && unsigned(inner) != outer)
      inner = table.blocks()[inner].parent;
    return inner >= 0;
  };
  return !isAround(first, second) && !isAround(second, first);
}

/// Lets loops that follow each other use the same ids for what shares none within a loop, with a
/// barrier for all pipes before each of them. False when there is no further loop.
bool Solver::separate(ArrayRef<Flag *> group) {
  std::set<unsigned> loops;
  for (const Flag *flag : group) {
    const BlockInfo &info = table.blocks()[flag->block];
    auto loop = dyn_cast<scf::ForOp>(info.block->getParentOp());
    if (hasOwnIds(*flag) && loop && info.parent >= 0 && expectedTrips(loop) >= kLeastTurns &&
        !separateLoops.count(flag->block))
      loops.insert(flag->block);
  }
  std::set<unsigned> inner;
  llvm::copy_if(loops, std::inserter(inner, inner.end()), [&](unsigned block) {
    return llvm::all_of(loops, [&](unsigned other) {
      return other <= block || areApart(block, other); // blocks inside have higher numbers
    });
  });
  if (inner.size() + separateLoops.size() < 2 || inner.empty())
    return false;
  for (unsigned block : inner) {
    const BlockInfo &info = table.blocks()[block];
    separateLoops.insert(block);
    forcedBarriers.insert({unsigned(info.parent), info.opInParent, Pipe::All});
    fallbacks.push_back({info.block->getParentOp(),
                         "barrier for all pipes before this loop: it uses event ids of other "
                         "loops, more than there are"});
  }
  return true;
}

/// One flag for two neighbours: set after the later source, awaited before the earlier target.
bool Solver::mergeFlags(ArrayRef<Flag *> group) {
  std::optional<Order> best;
  std::pair<unsigned, int> bestCost;
  for (auto [number, first] : llvm::enumerate(group))
    for (Flag *second : group.drop_front(number + 1)) {
      if (first->block != second->block || first->isCarried != second->isCarried)
        continue;
      Order merged = *first;
      merged.from = std::max(first->from, second->from);
      merged.to = std::min(first->to, second->to);
      if (!merged.isCarried && merged.from >= merged.to)
        continue;
      if (first->rotate != second->rotate)
        merged.rotate = -1;
      std::pair<unsigned, int> cost{table.blocks()[first->block].depth,
                                    std::abs(first->from - second->from) +
                                        std::abs(first->to - second->to)};
      if (!best || cost < bestCost) {
        best = merged;
        bestCost = cost;
      }
    }
  if (!best)
    return false;
  // A merge is tried once: protection may have made flags of its own that come back.
  auto isSame = [&](const Order &order) {
    return order.block == best->block && order.isCarried == best->isCarried &&
           order.from == best->from && order.to == best->to && order.source == best->source &&
           order.target == best->target && order.rotate == best->rotate;
  };
  if (llvm::any_of(mergedOrders, isSame))
    return false;
  mergedOrders.push_back(*best);
  fallbacks.push_back({table.opAt(best->block, best->to),
                       "one event for two orders from " + pairName(best->source, best->target) +
                           ": more than the event ids there are; the first op waits for both"});
  return true;
}

/// The flag before whose wait a barrier for all pipes helps most; null where each has one. Of
/// `group`, which is sorted by isColder. Events from turn to turn share no id, and a barrier before
/// the first wait stands for those of all later ones. Those within a turn share ids where something
/// divides them.
Flag *Solver::flagToDrain(ArrayRef<Flag *> group) const {
  unsigned ownIds = 0;
  for (const Flag *flag : group)
    ownIds += hasOwnIds(*flag) ? flag->numIds : 0;
  const bool areTooMany = ownIds > maxIds / 2;
  for (auto first = group.begin(); first != group.end();) {
    auto last = std::find_if(first, group.end(),
                             [&](Flag *flag) { return flag->block != (*first)->block; });
    SmallVector<Flag *> candidates;
    llvm::copy_if(llvm::make_range(first, last), std::back_inserter(candidates),
                  [&](Flag *flag) { return hasOwnIds(*flag) == areTooMany; });
    first = last;
    if (Flag *flag = areTooMany ? firstUndrained(candidates) : middleOfMost(candidates))
      return flag;
  }
  return firstUndrained(group);
}

Flag *Solver::firstUndrained(ArrayRef<Flag *> flags) const {
  auto found = llvm::find_if(
      flags, [&](Flag *flag) { return !forcedBarriers.count({flag->block, flag->to, Pipe::All}); });
  return found == flags.end() ? nullptr : *found;
}

/// One in the middle of the most flags, of one block in the order of their waits, that no barrier
/// for all pipes divides yet.
Flag *Solver::middleOfMost(ArrayRef<Flag *> flags) const {
  SmallVector<Flag *> best, undivided;
  int before = -1;
  for (Flag *flag : flags) {
    bool isDivided = false;
    for (auto at = forcedBarriers.lower_bound({flag->block, before + 1, Pipe::S});
         at != forcedBarriers.end() && at->block == flag->block && at->to <= flag->to; ++at)
      isDivided |= at->pipe == Pipe::All;
    if (isDivided)
      undivided.clear();
    before = flag->to;
    if (firstUndrained(flag))
      undivided.push_back(flag);
    if (undivided.size() > best.size())
      best = undivided;
  }
  return best.empty() ? nullptr : best[best.size() / 2];
}

/// Gives up the cheapest thing that frees ids of this pair. False when there is nothing left.
bool Solver::relieve(const Shortage &shortage) {
  auto [source, target, part] = shortage;
  std::vector<Flag *> group;
  for (Flag &flag : flags)
    if (flag.source == source && flag.target == target && (part == Part() || partOf(flag) == part))
      group.push_back(&flag);
  if (mergeFlags(group) || separate(group))
    return true;
  llvm::sort(group, [&](Flag *a, Flag *b) { return isColder(table, *a, *b); });
  for (Flag *flag : group)
    if (flag->rotate >= 0 && plainBuffers.insert(flag->rotate).second) {
      Value buffer = table.buffers()[flag->rotate].value;
      fallbacks.push_back({table.opAt(flag->block, flag->to),
                           "one event for all slots of '" + nameOf(buffer).str() +
                               "': more than the event ids from " + pairName(source, target) +
                               " there are; its slots no longer overlap"});
      llvm::erase_if(mergedOrders,
                     [&](const Order &order) { return order.rotate == flag->rotate; });
      collect();
      return true;
    }
  Flag *flag = flagToDrain(group);
  if (!flag)
    return false;
  forcedBarriers.insert({flag->block, flag->to, Pipe::All});
  fallbacks.push_back({table.opAt(flag->block, flag->to),
                       "barrier for all pipes: more than the event ids from " +
                           pairName(source, target) + " there are; every pipe drains here"});
  return true;
}
