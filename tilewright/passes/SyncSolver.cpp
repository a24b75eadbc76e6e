// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/SyncSolver.h"
#include "tilewright/passes/TileUtils.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <climits>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::npu;
using namespace tilewright::passes::sync;

namespace {

/// Before everything in a run of the block.
constexpr int kBlockStart = -1000;
constexpr int kNever = INT_MAX;
constexpr unsigned kNumPipes = 7;
/// An op on V that has been issued but need not be complete.
constexpr unsigned kIssuedOnV = kNumPipes;
/// A link inside a product leads from behind it to before it.
constexpr int kLongestStepBack = 2;
/// Statements between two barriers of a block that is much longer, and where event ids run out.
constexpr size_t kLongBlock = 200, kLongBlockShortOfIds = 60;
/// More slots than this do not help any order.
constexpr int kMaxDistance = 8;

} // namespace

/// A barrier for all pipes after each `length` statements of a block that is at least twice as
/// long, which no loop would be. What lies beyond it is in order, so that the time to find the rest
/// grows with the block and no faster. False when nothing is cut.
bool Solver::cutLongBlocks(size_t length) {
  bool isCut = false;
  for (auto [number, info] : llvm::enumerate(table.blocks())) {
    std::vector<int> statements;
    for (Operation &op : *info.block)
      if (isa<PipeInterface>(op) || op.getNumRegions() > 0)
        statements.push_back(table.indexOf(&op));
    if (statements.size() < 2 * length || cuts.count(number))
      continue;
    for (size_t at = length; at + length / 2 < statements.size(); at += length) {
      cuts[number].push_back(statements[at]);
      forcedBarriers.insert({unsigned(number), statements[at], Pipe::All});
    }
    isCut = true;
    fallbacks.push_back({info.block->getParentOp(),
                         "a barrier for all pipes after each " + std::to_string(length) +
                             " statements: this block has " + std::to_string(statements.size())});
  }
  return isCut;
}

void Solver::solve() {
  for (auto [number, buffer] : llvm::enumerate(table.buffers()))
    if (buffer.slots > 1 && buffer.advances.size() == 1)
      rotating[table.blockOf(buffer.advances.front())].push_back(number);
  cutLongBlocks(kLongBlock);
  collect();
  // Each round that runs out of ids, or of turns that hold a flag back, gives up something; there
  // are finitely many such things. The parts of a long block have nothing to do with each other, so
  // that each of them gives up its own in one round.
  while (true) {
    flags.clear();
    barriers = forcedBarriers;
    chooseFlags();
    protect();
    if (forbidBranches())
      continue;
    chooseBarriers();
    std::vector<Shortage> shortages = assignIds();
    if (shortages.empty())
      return;
    if (cutLongBlocks(kLongBlockShortOfIds)) {
      collect();
      continue;
    }
    bool isRelieved = false;
    for (const Shortage &shortage : shortages)
      isRelieved |= relieve(shortage);
    if (!isRelieved)
      return;
  }
}

//===--- What must be ordered
//----------------------------------------------------------------------===//

/// The part of a long block in which a place is; none where there is no such block around it.
Solver::Part Solver::partOf(unsigned block, int index) const {
  while (!cuts.count(block) && table.blocks()[block].parent >= 0) {
    index = table.blocks()[block].opInParent;
    block = table.blocks()[block].parent;
  }
  auto found = cuts.find(block);
  if (found == cuts.end())
    return {};
  return {int(block), int(llvm::upper_bound(found->second, index) - found->second.begin())};
}

/// Between two barriers for all pipes of a long block, an access only meets others there, those
/// behind the last barrier if it stands before the first, and what is outside of the block.
std::vector<Solver::Partners> Solver::partnersOf() const {
  ArrayRef<Access> accesses = table.accesses();
  const unsigned count = accesses.size();
  std::vector<Partners> partners(count, {count, count, count});
  std::vector<Part> places(count);
  for (auto [number, access] : llvm::enumerate(accesses))
    places[number] = partOf(table.blockOf(access.op), table.indexOf(access.op));
  for (unsigned begin = 0; begin < count;) {
    unsigned end = begin;
    while (end < count && places[end].block == places[begin].block)
      ++end;
    if (places[begin].block >= 0) {
      const int lastPart = int(cuts.at(places[begin].block).size());
      unsigned lastBegin = end;
      while (lastBegin > begin && places[lastBegin - 1].part == lastPart)
        --lastBegin;
      for (unsigned number = end, partEnd = end; number-- > begin;) {
        if (number + 1 < end && places[number].part != places[number + 1].part)
          partEnd = number + 1;
        partners[number] = {partEnd, places[number].part == 0 ? lastBegin : end, end};
      }
    }
    begin = end;
  }
  return partners;
}

/// Finds what is required; anew when the slots of a buffer are no longer told apart.
void Solver::collect() {
  required.clear();
  numbers.clear();
  ArrayRef<Access> accesses = table.accesses();
  std::vector<SmallVector<unsigned>> ofBuffer(table.buffers().size()); // numbers of accesses
  for (auto [number, access] : llvm::enumerate(accesses))
    ofBuffer[access.buffer].push_back(number);
  std::vector<SmallVector<unsigned>> aliases = table.aliases();
  std::vector<Partners> partners = partnersOf();
  SmallVector<unsigned> later;
  for (auto [number, first] : llvm::enumerate(accesses)) {
    later.clear();
    const Partners &mine = partners[number];
    for (unsigned buffer : aliases[first.buffer]) {
      ArrayRef<unsigned> numbers = ofBuffer[buffer];
      auto add = [&](unsigned from, unsigned to) {
        if (from < to)
          later.append(llvm::lower_bound(numbers, from), llvm::lower_bound(numbers, to));
      };
      add(number, mine.end);
      add(std::max(mine.end, mine.lastBegin), mine.lastEnd);
      add(std::max<unsigned>(number, mine.lastEnd), accesses.size());
    }
    llvm::sort(later);
    for (unsigned other : later)
      if (const Access &second = accesses[other];
          (writes(first.kind) || writes(second.kind)) &&
          (first.pipe != second.pipe || first.pipe == Pipe::V))
        collectPair(first, second);
  }
}

/// True when both accesses of one run of the block mean the same slot of a rotating buffer.
bool Solver::isOneVersion(const Meeting &meeting, unsigned buffer) const {
  const Buffer &info = table.buffers()[buffer];
  if (info.slots == 1 || info.advances.empty() || plainBuffers.count(buffer))
    return false;
  Block *block = table.blocks()[meeting.block].block;
  return llvm::none_of(info.advances, [&](AdvanceOp advance) {
    Operation *op = block->findAncestorOpInBlock(*advance.getOperation());
    return op && table.indexOf(op) >= meeting.first && table.indexOf(op) <= meeting.second;
  });
}

/// Runs of the block after which a slot of the buffer comes round again, if that is a constant;
/// else 0.
int Solver::periodOf(int buffer, unsigned block) const {
  const Buffer &info = table.buffers()[buffer];
  bool isRegular = info.slots > 1 && info.advances.size() == 1 && !plainBuffers.count(buffer) &&
                   table.blockOf(info.advances.front()) == block;
  return isRegular ? info.slots : 0;
}

void Solver::collectPair(const Access &first, const Access &second) {
  Meeting meeting = table.meet(first.op, second.op);
  if (meeting.isOtherRegion)
    return collectBranches(first, second, meeting);
  Overlap overlap = table.overlap(first, second, meeting);
  if (!overlap)
    return;
  int rotate = -1;
  if (first.buffer == second.buffer && isOneVersion(meeting, first.buffer))
    rotate = first.buffer;
  bool isSameOp = first.op == second.op;
  // On V a write may not overtake, a read may be overwritten later.
  bool isOnV = first.pipe == Pipe::V && second.pipe == Pipe::V;
  if (!isSameOp && (!isOnV || writes(first.kind)))
    require({meeting.block, false, meeting.first, meeting.second, first.pipe, second.pipe, rotate,
             placesInBranch(first, meeting)});
  if (overlap.laterTurn && (!isOnV || isSameOp || writes(second.kind)))
    require({meeting.block, true, meeting.second, meeting.first, second.pipe, first.pipe, rotate});
}

/// Where the access is all that a branch does in the block where it meets others, and reads
/// nothing: the padding of a tile that is loaded in part. Most turns do not take the branch, and
/// need not wait for it. What comes behind can wait at the branch's end instead.
std::optional<Order::Places> Solver::placesInBranch(const Access &access,
                                                    const Meeting &meeting) const {
  Operation *parent = access.op->getParentOp();
  Block *block = access.op->getBlock();
  bool isAll = isa<scf::IfOp>(parent) && cast<AccessInterface>(access.op).getNumBoxes() == 1 &&
               access.kind == AccessKind::Write &&
               parent->getBlock() == table.blocks()[meeting.block].block &&
               llvm::all_of(*block, [&](Operation &op) {
                 return &op == access.op || isPure(&op) || op.hasTrait<OpTrait::IsTerminator>();
               });
  if (!isAll)
    return std::nullopt;
  return Order::Places{table.blockOf(access.op), table.indexOf(access.op),
                       table.indexOf(block->getTerminator())};
}

/// Accesses in two regions of one op. Branches never run in one turn: one direction is ordered
/// before the op, the other after it, which keeps each event from being set twice. The halves of a
/// while loop take turns an unequal number of times, so flags cannot be balanced between them.
void Solver::collectBranches(const Access &first, const Access &second, const Meeting &meeting) {
  Operation *op = table.opAt(meeting.block, meeting.first);
  if (isa<LoopLikeOpInterface>(op)) {
    for (auto [number, info] : llvm::enumerate(table.blocks()))
      if (info.block->getParentOp() == op)
        forcedBarriers.insert({unsigned(number), 0, Pipe::All});
    return;
  }
  if (!table.overlap(first, second, meeting).laterTurn)
    return;
  int at = meeting.first;
  Pipe low = std::min(first.pipe, second.pipe), high = std::max(first.pipe, second.pipe);
  // The scalar unit needs no order towards other pipes, so its own comes first.
  if (low == Pipe::S)
    return require({meeting.block, false, at - 1, at, high, low});
  require({meeting.block, false, at - 1, at, low, high});
  if (low != high)
    require({meeting.block, false, at, at + 1, high, low});
}

void Solver::require(const Order &order) {
  if (order.source == Pipe::S)
    return; // ops are issued after what the scalar unit did before
  unsigned kind =
      (unsigned(order.source) * kNumPipes + unsigned(order.target)) * 2 + order.isCarried;
  Key key{order.block, order.to, kind, order.isCarried ? order.rotate : -1};
  auto [found, isNew] = numbers.try_emplace(key, required.size());
  if (isNew) {
    required.push_back(order);
    return;
  }
  Order &known = required[found->second];
  if (known.other != order.other)
    known.other = std::nullopt;
  known.from = std::max(known.from, order.from);
  if (known.rotate < 0)
    known.rotate = order.rotate;
}

//===--- What is ordered already
//-------------------------------------------------------------------===//

void Solver::resetLinks() {
  links.assign(table.blocks().size(), {});
  for (auto [number, info] : llvm::enumerate(table.blocks()))
    for (Operation &op : *info.block)
      if (auto mmad = dyn_cast<MmadOp>(op); mmad && mmad.isMacro()) {
        int place = placeOfOp(table.indexOf(&op));
        addLink(number, {Pipe::MTE1, Pipe::M, place + 1, place + 1 - kLongestStepBack, 0, -1, -1});
      }
  for (const Barrier &barrier : forcedBarriers)
    addBarrier(barrier);
}

void Solver::addLink(unsigned block, const Link &link) {
  std::vector<Link> &inBlock = links[block];
  auto after = std::upper_bound(inBlock.begin(), inBlock.end(), link.set,
                                [](int place, const Link &at) { return place < at.set; });
  inBlock.insert(after, link);
}

/// Takes out what addLinks() put in for a flag.
void Solver::removeLinks(const Flag &flag, int number) {
  auto remove = [&](unsigned block, int set) {
    std::vector<Link> &inBlock = links[block];
    auto first = std::lower_bound(inBlock.begin(), inBlock.end(), set,
                                  [](const Link &at, int place) { return at.set < place; });
    while (first != inBlock.end() && first->set == set)
      first = first->flag == number ? inBlock.erase(first) : first + 1;
  };
  remove(flag.block, placeOfSet(flag.from));
  if (const BlockInfo &info = table.blocks()[flag.block]; info.parent >= 0)
    remove(info.parent, placeOfWait(info.opInParent));
}

void Solver::addLinks(const Flag &flag, int number) {
  int weight = 0;
  if (flag.isCarried)
    weight = flag.rotate < 0 ? 1 : periodOf(flag.rotate, flag.block);
  addLink(flag.block, {flag.source, flag.target, placeOfSet(flag.from), placeOfWait(flag.to),
                       weight, flag.isCarried ? flag.rotate : -1, number});
  if (!flag.isCarried)
    addLinkAround(flag, number);
}

/// The first op of the block in which the pipe touches something; of the scalar unit, in which any
/// does.
int Solver::firstUse(unsigned block, Pipe pipe) {
  auto [found, isNew] = firstUses.try_emplace(block);
  std::map<Pipe, int> &uses = found->second;
  for (const Access &access : isNew ? table.accesses() : ArrayRef<Access>())
    if (Operation *op = table.blocks()[block].block->findAncestorOpInBlock(*access.op))
      for (Pipe each : {access.pipe, Pipe::S}) {
        int index = table.indexOf(op);
        auto [use, isFirst] = uses.try_emplace(each, index);
        use->second = std::min(use->second, index);
      }
  auto use = uses.find(pipe);
  return use == uses.end() ? kNever : use->second;
}

/// A flag in a loop that runs for sure, awaited before anything in the loop on its pipe, also
/// orders what its source did before the loop. All pipes are after what the scalar unit awaits.
void Solver::addLinkAround(const Flag &flag, int number) {
  const BlockInfo &info = table.blocks()[flag.block];
  auto loop = dyn_cast<scf::ForOp>(info.block->getParentOp());
  if (!loop || info.parent < 0 || !runsAtLeastOnce(loop))
    return;
  int place = placeOfWait(info.opInParent);
  if (firstUse(flag.block, flag.target) >= flag.to)
    addLink(info.parent,
            {flag.source, flag.target, place, place, 0, -1, number, /*isAroundLoop=*/true});
}

void Solver::addBarrier(const Barrier &barrier) {
  barriers.insert(barrier);
  int place = placeOfBarrier(barrier.to);
  addLink(barrier.block, {barrier.pipe, barrier.pipe, place, place, 0, -1, -1});
}

/// Fewest turns of the block on a path of pipe order, flags and barriers, -1 when it takes more
/// than `limit`. With `slotsOf` the turns are those that use one slot of that buffer.
///
/// Reaching an earlier place on a pipe is never worse, so that per pipe and number of turns one
/// place is enough. All steps lie directly in the block: they happen whenever both ends do.
int Solver::distance(const Path &path, int limit, int slotsOf) const {
  using Places = std::array<int, kNumPipes + 1>;
  SmallVector<Places, 4> reached(limit + 1);
  for (Places &places : reached)
    places.fill(kNever);
  unsigned start = path.startsAtOp && path.source == Pipe::V ? kIssuedOnV : unsigned(path.source);
  reached[0][start] = path.start;

  auto lower = [](int &place, int to) { return to < place ? (place = to, true) : false; };
  auto isReached = [](const Places &places, Pipe pipe, int before) {
    if (pipe == Pipe::All)
      return llvm::any_of(places, [&](int place) { return place < before; });
    return places[unsigned(pipe)] < before || (pipe == Pipe::V && places[kIssuedOnV] < before);
  };
  auto areAllReached = [](const Places &places) {
    return std::all_of(places.begin(), places.begin() + kNumPipes,
                       [](int place) { return place != kNever; });
  };
  for (int turn = 0; turn <= limit; ++turn) {
    Places &now = reached[turn];
    if (now[unsigned(path.target)] < path.end)
      return turn;
    bool isChanged = true;
    while (isChanged) {
      isChanged = false;
      if (now[unsigned(Pipe::S)] != kNever)
        for (unsigned pipe = 1; pipe < kNumPipes; ++pipe)
          isChanged |= lower(now[pipe], now[unsigned(Pipe::S)]);
      // Links are in the order of `set`. Only those behind some reached place can be taken, and in
      // the last turn none from beyond the end leads back before it.
      const std::vector<Link> &inBlock = links[path.block];
      const int first = *std::min_element(now.begin(), now.end());
      auto link = std::upper_bound(inBlock.begin(), inBlock.end(), first,
                                   [](int place, const Link &at) { return place < at.set; });
      for (; link != inBlock.end(); ++link) {
        if (turn == limit && link->set > path.end + kLongestStepBack)
          break;
        if (turn < limit && first >= path.end && areAllReached(now))
          break; // the next turn begins with all pipes at its start: nothing is better
        if ((link->flag >= 0 && link->flag == skippedFlag) ||
            (link->isAroundLoop && path.isOfEvents))
          continue;
        int weight = link->weight;
        if (link->rotate >= 0 && weight == 0) {
          if (link->rotate != slotsOf)
            continue;
          weight = 1;
        }
        if (turn + weight > limit || !isReached(now, link->source, link->set))
          continue;
        Places &then = reached[turn + weight];
        bool isLower = false;
        if (link->target == Pipe::All)
          for (unsigned pipe = 0; pipe < kNumPipes; ++pipe)
            isLower |= lower(then[pipe], link->wait);
        else
          isLower = lower(then[unsigned(link->target)], link->wait);
        if (!isLower || weight > 0)
          continue;
        if (now[unsigned(path.target)] < path.end)
          return turn;
        isChanged = true;
      }
    }
    if (now[unsigned(path.target)] < path.end)
      return turn;
    if (turn < limit)
      for (unsigned pipe = 0; pipe <= kNumPipes; ++pipe)
        if (now[pipe] != kNever)
          lower(reached[turn + 1][pipe], kBlockStart);
  }
  return -1;
}

/// As `distance`, also along paths that leave the branch the block is for the blocks around it.
int Solver::distanceThroughBranches(Path path, int limit, int slotsOf) const {
  int best = distance(path, limit, slotsOf);
  while (best < 0 && limit > 0 && !table.blocks()[path.block].isLoopBody &&
         table.blocks()[path.block].parent >= 0) {
    const BlockInfo &info = table.blocks()[path.block];
    path.block = info.parent;
    path.start = path.end = placeOfOp(info.opInParent);
    best = distance(path, limit);
  }
  return best;
}

bool Solver::isImplied(const Order &order) const {
  Path path{order.block, order.source, placeOfOp(order.from), order.target, placeOfOp(order.to)};
  if (!order.isCarried)
    return distance(path, 0) >= 0;
  if (order.rotate < 0)
    return distanceThroughBranches(path, 1) >= 0;
  int period = periodOf(order.rotate, order.block);
  return distanceThroughBranches(path, period ? period : 1, period ? -1 : order.rotate) >= 0;
}

//===--- Flags and barriers
//------------------------------------------------------------------------===//

void Solver::chooseFlags() {
  resetLinks();
  std::vector<Order> orders;
  for (const Order &order : required)
    if (order.source != order.target)
      orders.push_back(order);
  // Tight orders first: they imply the wide ones.
  auto slots = [&](const Order &order) {
    return order.isCarried && order.rotate >= 0 ? table.buffers()[order.rotate].slots : 1;
  };
  auto rank = [&](const Order &order) {
    return std::make_tuple(order.isCarried, slots(order), order.to - order.from, order.block,
                           order.to, order.source, order.target, order.rotate);
  };
  llvm::sort(orders, [&](const Order &a, const Order &b) { return rank(a) < rank(b); });
  orders.insert(orders.begin(), mergedOrders.begin(), mergedOrders.end());
  std::vector<Flag> chosen;
  for (const Order &order : orders) {
    if (isImplied(order))
      continue;
    bool isInside = order.other && !outside.count({order.source, order.target});
    Flag flag{isInside ? order.elsewhere() : order, isInside};
    addLinks(flag, chosen.size());
    chosen.push_back(flag);
  }
  // Later ones may make earlier ones redundant.
  std::vector<bool> isKept(chosen.size(), true);
  for (int number = int(chosen.size()) - 1; number >= 0; --number) {
    skippedFlag = number;
    const Flag &flag = chosen[number];
    const Order order = flag.isInBranch ? flag.elsewhere() : Order(flag);
    if (!isImplied(order))
      continue;
    isKept[number] = false;
    removeLinks(flag, number);
  }
  skippedFlag = -1;
  for (auto [number, flag] : llvm::enumerate(chosen))
    if (isKept[number])
      flags.push_back(flag);
}

/// Finds out how many events an order within one turn has in flight, and the buffer whose slots
/// name them. False when the source may run ahead without end.
bool Solver::chooseIds(Flag &flag) const {
  int candidate = flag.rotate;
  flag.rotate = -1;
  flag.numIds = 1;
  if (!table.blocks()[flag.block].isInLoop)
    return true;
  Path back{flag.block,  flag.target,           placeOfWait(flag.to),
            flag.source, placeOfSet(flag.from), /*startsAtOp=*/false};
  int needed = distanceThroughBranches(back, kMaxDistance);
  if (needed >= 0 && needed <= 1)
    return true;
  Meeting between{flag.block, flag.from + 1, flag.to - 1};
  for (unsigned number : rotating.lookup(flag.block)) {
    int period = periodOf(number, flag.block);
    if (needed < 0 || period < needed || !isOneVersion(between, number))
      continue;
    // Fewest ids; of equal ones the buffer that the order is about.
    if (flag.rotate >= 0 &&
        (period > int(flag.numIds) || (period == int(flag.numIds) && int(number) != candidate)))
      continue;
    flag.rotate = number;
    flag.numIds = period;
  }
  if (flag.rotate >= 0)
    return true;
  if (candidate >= 0 && !plainBuffers.count(candidate) && isOneVersion(between, candidate) &&
      distanceThroughBranches(back, 1, candidate) >= 0) {
    flag.rotate = candidate;
    flag.numIds = table.buffers()[candidate].slots;
    return true;
  }
  return false;
}

/// Keeps every event from being set again before it was awaited: where nothing holds the source
/// back, the target has to.
void Solver::protect() {
  for (size_t number = 0; number < flags.size(); ++number) {
    Flag flag = flags[number];
    if (flag.isCarried) {
      flags[number].numIds = flag.rotate < 0 ? 1 : table.buffers()[flag.rotate].slots;
      continue;
    }
    bool isSafe = chooseIds(flag);
    if (!isSafe && flag.isInBranch) {
      // Nothing in the branch can hold the source back.
      flag = Flag{flag.elsewhere()};
      flag.other = std::nullopt;
      addLinks(flag, flags.size());
      isSafe = chooseIds(flag);
    }
    flags[number] = flag;
    if (isSafe)
      continue;
    Flag back{Order{flag.block, true, flag.to, flag.from, flag.target, flag.source}};
    addLinks(back, flags.size());
    flags.push_back(back);
  }
  for (Flag &flag : flags)
    flag.isOfLoop = separateLoops.count(flag.block);
}

/// An event from one turn to the next is safe while its wait comes before the next set in each
/// turn. A flag inside a branch is missing in turns that do not take it. Where that breaks such a
/// chain, its order has to stand behind the branch; true if there is one.
bool Solver::forbidBranches() {
  size_t known = outside.size();
  for (const Flag &flag : flags) {
    if (!flag.isCarried || flag.to > flag.from)
      continue;
    Path turn{flag.block,  flag.target,           placeOfWait(flag.to),
              flag.source, placeOfSet(flag.from), /*startsAtOp=*/false};
    if (distance(turn, 0) >= 0)
      continue;
    for (const Flag &inside : flags)
      if (inside.isInBranch)
        outside.insert({inside.source, inside.target});
  }
  return outside.size() > known;
}

void Solver::chooseBarriers() {
  std::vector<Order> orders;
  for (const Order &order : required)
    if (order.source == order.target)
      orders.push_back(order);
  // A barrier right before the first op that needs one serves as many orders as any.
  auto rank = [](const Order &order) {
    return std::make_tuple(order.isCarried, order.block, order.to, order.from, order.rotate);
  };
  llvm::sort(orders, [&](const Order &a, const Order &b) { return rank(a) < rank(b); });
  for (const Order &order : orders)
    if (!isImplied(order))
      addBarrier({order.block, order.to, order.source});
}
