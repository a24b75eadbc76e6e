// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Delay.h"

#include <algorithm>
#include <cstring>

using namespace tilewright::sim;

namespace {

/// Keys order the choice among allowed instructions; their top bits make classes.
constexpr uint64_t kLazy = uint64_t(1) << 62;
constexpr uint64_t kLazier = uint64_t(2) << 62;
constexpr uint64_t kKeyMask = kLazy - 1;

/// Windows of pending instructions per group; holding a producer needs a much longer one.
constexpr size_t kWindows[] = {24, 96, 400};
constexpr size_t kHoldingWindow = size_t(1) << 15;

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

} // namespace

/// One instruction, or one step of it, that has not taken effect yet.
struct Delay::Pending {
  ResolvedOp op;
  std::array<int64_t, 4> low{}, bytes{}; ///< of each operand, from its data pointer
  Clock after;
  uint32_t tick = 0;
  bool hasRead = false;
  Pending *cube = nullptr; ///< on MTE1: the M part that works on what is read here
  uint64_t readKey = 0, writeKey = 0;
  std::vector<std::byte> snapshot, result;
};

/// Pending instructions of one pipe, oldest first.
struct Delay::Lane {
  std::deque<std::unique_ptr<Pending>> queue;
  size_t reads = 0; ///< V: that many from the front have read
  bool isVector = false;
  uint64_t readClass = 0, writeClass = 0;
};

Delay::Delay(uint64_t seed, int64_t group, const std::vector<CoreKind> &kinds,
             const HeldLanes *held)
    : lanes(kLanes), state(mix(mix(seed) + uint64_t(group))), isHolding(held != nullptr) {
  // Which lanes are lazy depends on the seed alone: all groups then show the same missing edge.
  uint64_t character = mix(seed * 2 + 1);
  auto coin = [&] {
    character = mix(character);
    return (character & 1) != 0;
  };
  for (int lane = 0; lane < kLanes; ++lane) {
    Lane &self = lanes[lane];
    Pipe pipe = pipeOfLane(lane);
    self.isVector = pipe == Pipe::V;
    if (!held) {
      self.readClass = coin() ? kLazy : 0;
      self.writeClass = coin() ? kLazy : 0;
      continue;
    }
    bool isHeld = kinds[size_t(coreOf(lane))] == held->core &&
                  (held->pipe == Pipe::All || held->pipe == pipe);
    self.readClass = isHeld ? kLazy : 0;
    self.writeClass = isHeld ? kLazier : 0;
  }
  for (uint32_t &weight : coreWeight) {
    weight = coin() ? 1 : 8;
    if (held)
      weight = 1;
  }
  character = mix(character);
  window = held ? kHoldingWindow : kWindows[character % std::size(kWindows)];
}

Delay::~Delay() = default;

uint64_t Delay::random() {
  state += 0x9e3779b97f4a7c15u;
  return mix(state);
}

int Delay::pickCore(unsigned runnable) {
  uint32_t total = 0;
  for (int i = 0; i < kGroupCores; ++i)
    if (runnable & (1u << i))
      total += coreWeight[size_t(i)];
  uint64_t at = random() % total;
  for (int i = 0; i < kGroupCores; ++i) {
    if (!(runnable & (1u << i)))
      continue;
    if (at < coreWeight[size_t(i)])
      return i;
    at -= coreWeight[size_t(i)];
  }
  return 0;
}

int64_t Delay::pickSlice() {
  uint64_t value = random();
  return value % 8 == 0 ? 256 : int64_t(1 + (value >> 8) % 16);
}

std::unique_ptr<Delay::Pending> Delay::take(const Prepared &prepared, uint32_t tick,
                                            const Clock &clock) {
  std::unique_ptr<Pending> pending;
  if (spare.empty()) {
    pending = std::make_unique<Pending>();
  } else {
    pending = std::move(spare.back());
    spare.pop_back();
  }
  pending->op = prepared.op;
  for (unsigned k = 0; k < prepared.op.numOperands; ++k) {
    const PreparedOperand &operand = prepared.operands[k];
    pending->bytes[k] = operand.high - operand.low;
    pending->low[k] = (operand.origin + operand.low) - prepared.op.operands[k].data;
    if (pending->bytes[k] == 0)
      pending->low[k] = 0;
  }
  pending->after = clock;
  pending->tick = tick;
  pending->hasRead = false;
  pending->cube = nullptr;
  pending->result.clear();
  ++count;
  return pending;
}

void Delay::add(const Prepared &prepared, int lane, uint32_t tick, const Clock &clock) {
  Lane &self = lanes[lane];
  std::unique_ptr<Pending> pending = take(prepared, tick, clock);
  // A few instructions fall out of their lane's character.
  auto key = [&](uint64_t kind) {
    uint64_t value = random();
    if (!isHolding && value % 16 == 0)
      kind ^= kLazy;
    return kind | ((value >> 4) & kKeyMask);
  };
  pending->readKey = key(self.readClass);
  pending->writeKey = key(self.isVector ? self.writeClass : self.readClass);
  pending->hasRead = !self.isVector;
  self.queue.push_back(std::move(pending));
  settle();
}

void Delay::addMmad(const Prepared &prepared, int readLane, uint32_t readTick,
                    const Clock &readClock, int lane, uint32_t tick, const Clock &clock) {
  std::unique_ptr<Pending> cube = take(prepared, tick, clock);
  std::unique_ptr<Pending> read = take(prepared, readTick, readClock);
  read->cube = cube.get();
  read->writeKey = lanes[readLane].readClass | (random() & kKeyMask);
  cube->writeKey = lanes[lane].readClass | (random() & kKeyMask);
  read->hasRead = cube->hasRead = true;
  lanes[readLane].queue.push_back(std::move(read));
  lanes[lane].queue.push_back(std::move(cube));
  settle();
}

/// True when everything in `clock` has taken effect.
bool Delay::isAllowed(const Clock &clock) const {
  for (size_t i = 0; i < lanes.size(); ++i)
    if (!lanes[i].queue.empty() && lanes[i].queue.front()->tick <= clock[i])
      return false;
  return true;
}

/// Lets one allowed instruction, or one step of it, take effect: the one with the smallest key, of
/// the eager ones only or of those at or before `upTo` if asked. False when there is none.
bool Delay::step(bool eagerOnly, const Clock *upTo) {
  Lane *bestLane = nullptr;
  size_t bestIndex = 0;
  bool bestIsRead = false;
  uint64_t bestKey = eagerOnly ? kLazy : ~uint64_t(0);
  auto offer = [&](Lane &lane, size_t index, bool isRead) {
    uint64_t key = isRead ? lane.queue[index]->readKey : lane.queue[index]->writeKey;
    if (key >= bestKey)
      return;
    bestKey = key;
    bestLane = &lane;
    bestIndex = index;
    bestIsRead = isRead;
  };
  for (size_t i = 0; i < lanes.size(); ++i) {
    Lane &lane = lanes[i];
    if (lane.queue.empty())
      continue;
    uint32_t limit = upTo ? (*upTo)[i] : ~uint32_t(0);
    if (!lane.isVector) {
      if (lane.queue.front()->tick <= limit && isAllowed(lane.queue.front()->after))
        offer(lane, 0, false);
      continue;
    }
    for (size_t k = 0; k < lane.reads && lane.queue[k]->tick <= limit; ++k)
      offer(lane, k, false);
    if (lane.reads < lane.queue.size()) {
      Pending &next = *lane.queue[lane.reads];
      if (next.tick <= limit && isAllowed(next.after))
        offer(lane, lane.reads, true);
    }
  }
  if (!bestLane)
    return false;
  if (bestIsRead)
    runRead(*bestLane, bestIndex);
  else
    runWrite(*bestLane, bestIndex);
  return true;
}

/// First step of a V instruction: copies what it reads.
void Delay::runRead(Lane &lane, size_t index) {
  Pending &pending = *lane.queue[index];
  int64_t total = 0;
  for (unsigned k = 1; k < pending.op.numOperands; ++k)
    total += (pending.bytes[k] + 63) / 64 * 64;
  pending.snapshot.resize(size_t(total));
  int64_t at = 0;
  for (unsigned k = 1; k < pending.op.numOperands; ++k) {
    ResolvedView &view = pending.op.operands[k];
    if (pending.bytes[k] == 0)
      continue;
    std::memcpy(pending.snapshot.data() + at, view.data + pending.low[k], size_t(pending.bytes[k]));
    view.data = pending.snapshot.data() + at - pending.low[k];
    at += (pending.bytes[k] + 63) / 64 * 64;
  }
  pending.result.clear();
  if (pending.op.op == TileOp::Reduce && (pending.op.flags & kAccumulate) && pending.bytes[0] > 0) {
    const ResolvedView &view = pending.op.operands[0];
    pending.result.assign(view.data + pending.low[0],
                          view.data + pending.low[0] + pending.bytes[0]);
  }
  pending.hasRead = true;
  ++lane.reads;
}

/// The effect itself, or for the MTE1 part of a Mmad the reading of A and B.
void Delay::runWrite(Lane &lane, size_t index) {
  std::unique_ptr<Pending> pending = std::move(lane.queue[index]);
  lane.queue.erase(lane.queue.begin() + std::ptrdiff_t(index));
  if (lane.isVector)
    --lane.reads;
  --count;
  if (Pending *cube = pending->cube) {
    int64_t padded = (pending->bytes[1] + 63) / 64 * 64;
    cube->snapshot.resize(size_t(padded + pending->bytes[2]));
    for (unsigned k = 1; k <= 2; ++k) {
      if (pending->bytes[k] == 0)
        continue;
      std::byte *copy = cube->snapshot.data() + (k == 2 ? padded : 0);
      std::memcpy(copy, pending->op.operands[k].data + pending->low[k], size_t(pending->bytes[k]));
      cube->op.operands[k].data = copy - pending->low[k];
    }
  } else if (pending->op.op == TileOp::Gather && gatherOutOfBounds(pending->op)) {
    faultText = "gather: an index is outside its table";
  } else if (!pending->result.empty()) {
    // An accumulating reduction works on the old value it has read, then stores it.
    ResolvedOp store;
    store.op = TileOp::Copy;
    store.numOperands = 2;
    store.operands[0] = pending->op.operands[0];
    pending->op.operands[0].data = pending->result.data() - pending->low[0];
    store.operands[1] = pending->op.operands[0];
    perform(pending->op);
    for (ResolvedView *view : {&store.operands[0], &store.operands[1]})
      for (unsigned d = 0; d < view->rank; ++d)
        if (view->strides[d] == 0 && view->sizes[d] > 1)
          view->sizes[d] = 1;
    perform(store);
  } else {
    perform(pending->op);
  }
  spare.push_back(std::move(pending));
}

/// Eager instructions take effect as soon as they may; a full window pushes out lazy ones.
void Delay::settle() {
  while (step(true, nullptr))
    ;
  while (count > window && step(false, nullptr))
    while (step(true, nullptr))
      ;
}

void Delay::force(const Clock &clock) {
  while (!isAllowed(clock) && step(false, &clock))
    ;
}

void Delay::drain() {
  while (step(false, nullptr))
    ;
}
