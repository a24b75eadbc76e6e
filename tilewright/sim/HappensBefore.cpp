// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/HappensBefore.h"

#include <algorithm>

using namespace tilewright::sim;

void HappensBefore::reset(int newNumAivs, int newMaxOutstanding) {
  numAivs = newNumAivs;
  maxOutstanding = newMaxOutstanding;
  hasPartners = numAivs > 1;
  hasMeetings = false;
  signals.resize(hasPartners ? size_t(4) * kBlockSignals : 0);
  lanes = {};
  scalarVersion = {};
  for (const auto &[core, from, to, id] : setBefore)
    flags[core].at(from, to, id).reset();
  setBefore.clear();
  for (Signal &signal : signals) {
    signal.queue.reset();
    signal.sets = 0;
    signal.waits.clear();
  }
}

/// What `lane` knows grows by `from`. Of a core that has no partners, cores know themselves alone.
void HappensBefore::learn(int lane, const Clock &from, const Meetings &meetings) {
  Clock &clock = lanes[lane].clock;
  if (hasMeetings)
    join<std::tuple_size_v<Meetings>>(lanes[lane].meetings.data(), meetings.data());
  if (hasPartners)
    return join<kLanes>(clock.data(), from.data());
  const int first = laneOf(coreOf(lane), Pipe::S);
  join<kCoreLanes>(clock.data() + first, from.data() + first);
}

void HappensBefore::joinScalar(int lane) {
  int core = coreOf(lane);
  Lane &self = lanes[lane];
  if (self.seenScalar == scalarVersion[core])
    return;
  self.seenScalar = scalarVersion[core];
  if (pipeOfLane(lane) == Pipe::S)
    return;
  const int scalar = laneOf(core, Pipe::S);
  learn(lane, lanes[scalar].clock, lanes[scalar].meetings);
  self.clock[scalar] = lanes[scalar].now;
}

/// Gives the next instruction of `lane` its tick. What came before it on a pipe that completes in
/// order is over; that is noted here and not when it ends, since signals, which copy the clock,
/// come between.
uint32_t HappensBefore::next(int lane) {
  Lane &self = lanes[lane];
  if (pipeOfLane(lane) != Pipe::V)
    self.clock[lane] = self.now;
  return ++self.now;
}

uint32_t HappensBefore::begin(int lane) {
  joinScalar(lane);
  return next(lane);
}

uint32_t HappensBefore::beginAfter(int lane, int other, uint32_t otherTick) {
  joinScalar(lane);
  learn(lane, lanes[other].clock, lanes[other].meetings);
  lanes[lane].clock[other] = otherTick;
  return next(lane);
}

void HappensBefore::end(int lane) {
  if (pipeOfLane(lane) == Pipe::S)
    ++scalarVersion[coreOf(lane)];
}

/// What a signal sent by `lane` now carries: everything on it so far.
void HappensBefore::released(int lane, Clock &clock) const {
  clock = lanes[lane].clock;
  clock[lane] = lanes[lane].now;
}

void HappensBefore::send(std::vector<Token> &tokens, int lane, int32_t location,
                         bool isGhost) const {
  Token &token = tokens.emplace_back(); // at its place: a copy would wait for the parts' stores
  const Clock &clock = lanes[lane].clock;
  if (hasPartners)
    token.clock = clock;
  else
    std::copy_n(&clock[laneOf(coreOf(lane), Pipe::S)], kCoreLanes,
                &token.clock[laneOf(coreOf(lane), Pipe::S)]);
  token.lane = lane;
  token.now = lanes[lane].now;
  token.location = location;
  if (hasMeetings)
    token.meetings = lanes[lane].meetings;
  token.isGhost = isGhost;
}

void HappensBefore::acquire(int lane, const Token &token) {
  learn(lane, token.clock, token.meetings);
  uint32_t &known = lanes[lane].clock[token.lane];
  known = std::max(known, token.now);
  end(lane);
}

/// Gives a wait its own place on the lane, so that later signals can tell whether it is over.
uint32_t HappensBefore::tickWait(int lane) {
  uint32_t tick = begin(lane);
  end(lane);
  return tick;
}

HappensBefore::SetResult HappensBefore::setFlag(int core, Pipe from, Pipe to, int id,
                                                int32_t location, bool isGhost) {
  Flag &state = flags[size_t(core)].at(from, to, id);
  int lane = laneOf(core, from);
  joinScalar(lane);
  if (state.isNew) {
    state.isNew = false;
    setBefore.push_back({size_t(core), from, to, id});
  }
  SetResult result;
  if (!isGhost) {
    if (state.head < state.tokens.size() && !state.tokens.back().isGhost) {
      result.isDouble = true;
      result.otherLocation = state.tokens.back().location;
    } else if (state.last.lane >= 0 &&
               !isOrdered(lanes[lane].clock, state.last.lane, state.last.tick)) {
      result.isReuse = true;
      result.otherLocation = state.last.location;
    }
  }
  send(state.tokens, lane, location, isGhost);
  return result;
}

void HappensBefore::waitFlag(int core, Pipe from, Pipe to, int id, int32_t location, bool isGhost) {
  Flag &state = flags[size_t(core)].at(from, to, id);
  if (state.head == state.tokens.size())
    return;
  int lane = laneOf(core, to);
  joinScalar(lane);
  const Token &token = state.tokens[state.head++];
  isGhost |= token.isGhost;
  if (!isGhost)
    acquire(lane, token);
  if (state.head == state.tokens.size()) {
    state.tokens.clear();
    state.head = 0;
  }
  if (!isGhost)
    state.last = {lane, tickWait(lane), location};
}

void HappensBefore::barrier(int core, Pipe pipe) {
  if (pipe != Pipe::All) {
    int lane = laneOf(core, pipe);
    joinScalar(lane);
    lanes[lane].clock[lane] = lanes[lane].now;
    return;
  }
  Clock all{}, each;
  Meetings meetings{};
  for (unsigned p = 0; p < kNumPipes; ++p) {
    released(laneOf(core, Pipe(p)), each);
    join<kLanes>(all.data(), each.data());
    join<std::tuple_size_v<Meetings>>(meetings.data(),
                                      lanes[laneOf(core, Pipe(p))].meetings.data());
  }
  ++scalarVersion[core];
  for (unsigned p = 0; p < kNumPipes; ++p) {
    Lane &lane = lanes[laneOf(core, Pipe(p))];
    lane.clock = all;
    lane.meetings = meetings;
    lane.seenScalar = scalarVersion[core];
  }
}

bool HappensBefore::push(Signal &signal, int lane, int32_t location, bool isGhost) {
  send(signal.queue.tokens, lane, location, isGhost);
  if (isGhost)
    return false;
  uint64_t mustBeOver = ++signal.sets;
  if (mustBeOver <= uint64_t(maxOutstanding))
    return false;
  mustBeOver -= uint64_t(maxOutstanding) + 1;
  if (mustBeOver >= signal.waits.size())
    return true;
  const Wait &wait = signal.waits[mustBeOver];
  return !isOrdered(lanes[lane].clock, wait.lane, wait.tick);
}

void HappensBefore::pop(Signal &signal, int lane, int32_t location, bool isGhost) {
  Flag &queue = signal.queue;
  if (queue.head == queue.tokens.size())
    return;
  const Token &token = queue.tokens[queue.head++];
  isGhost |= token.isGhost;
  if (!isGhost)
    acquire(lane, token);
  if (queue.head == queue.tokens.size()) {
    queue.tokens.clear();
    queue.head = 0;
  }
  if (!isGhost)
    signal.waits.push_back({lane, tickWait(lane), location});
}

Clock HappensBefore::arrived(int core, Pipe pipe) {
  int lane = laneOf(core, pipe);
  joinScalar(lane);
  Clock clock;
  released(lane, clock);
  return clock;
}

void HappensBefore::meet(int core, Pipe pipe, CoreKind kind, const Clock &known) {
  int lane = laneOf(core, pipe);
  hasMeetings = true;
  uint16_t &count = lanes[lane].meetings[size_t(meetingOf(kind, pipe))];
  count += count < UINT16_MAX; // what comes later counts as known no better
  learn(lane, known, lanes[lane].meetings);
  end(lane);
}

bool HappensBefore::blockSet(int core, Pipe pipe, int id, int32_t location, bool isGhost) {
  int lane = laneOf(core, pipe);
  joinScalar(lane);
  if (id >= kSiblings) // the AIVs are cores 1 and 2
    return push(signals[size_t(2 - core) * kBlockSignals + size_t(id)], lane, location, isGhost);
  if (core != 0)
    return push(signals[size_t(1 + core) * kBlockSignals + size_t(id)], lane, location, isGhost);
  bool overflow = false;
  for (int aiv = 0; aiv < numAivs; ++aiv)
    overflow |= push(signals[size_t(aiv) * kBlockSignals + size_t(id)], lane, location, isGhost);
  return overflow;
}

void HappensBefore::blockWait(int core, Pipe pipe, int id, int32_t location, bool isGhost) {
  int lane = laneOf(core, pipe);
  joinScalar(lane);
  if (core != 0) {
    pop(signals[size_t(core - 1) * kBlockSignals + size_t(id)], lane, location, isGhost);
    return;
  }
  for (int aiv = 0; aiv < numAivs; ++aiv)
    pop(signals[size_t(2 + aiv) * kBlockSignals + size_t(id)], lane, location, isGhost);
}
