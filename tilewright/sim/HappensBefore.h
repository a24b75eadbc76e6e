// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/FlagTable.h"

#include <array>
#include <cstdint>
#include <vector>

namespace tilewright::sim {

inline constexpr int kGroupCores = 3;
/// One for each pipe and a spare one: what there is of a core is a power of two.
inline constexpr int kCoreLanes = 8;
inline constexpr int kLanes = kGroupCores * kCoreLanes;

/// One component per lane: the newest instruction of that lane known to have taken effect.
using Clock = std::array<uint32_t, kLanes>;

/// A queue of one core: (core of the group, pipe).
inline int laneOf(int core, Pipe pipe) { return core * kCoreLanes + int(pipe); }

/// How many meetings of all blocks are known to be over: of each kind of core, on each pipe. A lane
/// that knows of one need not know of earlier ones on other pipes.
using Meetings = std::array<uint16_t, size_t(2) * kCoreLanes>;
inline int meetingOf(CoreKind kind, Pipe pipe) { return laneOf(int(kind), pipe); }
inline int coreOf(int lane) { return int(unsigned(lane) / kCoreLanes); }
inline Pipe pipeOfLane(int lane) { return Pipe(unsigned(lane) % kCoreLanes); }

/// The order between the instructions of one group that pipes, flags, barriers and cross-core
/// signals enforce, as vector clocks. The checker and the delayed execution share it. Rules:
///  - an instruction is after everything the scalar unit did before it was issued;
///  - M, MTE1, MTE2, MTE3, FIX and S complete in order. V only issues in order: an instruction on V
///    is after earlier ones on V when a barrier or a path of flags says so (its reads do come
///    before the writes of later ones, which the users of this class take into account);
///  - set p->q: what q does after the wait is after all that was on p before the set;
///  - barrier(p): later on p after earlier on p; barrier(All): everything on the core;
///  - cross-core signals count; the AIC signals, and waits for, both AIVs;
///  - where all blocks meet on p: later on p is after earlier on p, of all cores that meet.
class HappensBefore {
public:
  /// Forgets everything; the queues keep their memory. Needed before the first instruction.
  void reset(int numAivs, int maxOutstanding);

  /// Starts an instruction on `lane`, at that place in its queue, and returns its tick. Until
  /// `end`, clock(lane) is what it comes after.
  uint32_t begin(int lane);
  void end(int lane);

  /// Starts an instruction on `lane` that is also after tick `otherTick` of `other` and all that
  /// came before that (the cube's part of a Mmad after its MTE1 part).
  uint32_t beginAfter(int lane, int other, uint32_t otherTick);

  const Clock &clock(int lane) const { return lanes[lane].clock; }
  uint32_t now(int lane) const { return lanes[lane].now; }
  const Meetings &meetings(int lane) const { return lanes[lane].meetings; }

  struct SetResult {
    bool isDouble = false; ///< the flag was still set
    bool isReuse = false;  ///< the last wait may not have happened yet
    int32_t otherLocation = -1;
  };
  /// A ghost keeps its place in the queue of signals but orders nothing.
  SetResult setFlag(int core, Pipe from, Pipe to, int id, int32_t location, bool isGhost = false);
  /// Takes the oldest signal. A ghost takes it without waiting for what it stands for.
  void waitFlag(int core, Pipe from, Pipe to, int id, int32_t location, bool isGhost = false);
  void barrier(int core, Pipe pipe);

  /// True when more signals than the hardware counts may be outstanding.
  bool blockSet(int core, Pipe pipe, int id, int32_t location, bool isGhost = false);
  void blockWait(int core, Pipe pipe, int id, int32_t location, bool isGhost = false);

  /// What others know of `core` once it has come to a meeting on `pipe`.
  Clock arrived(int core, Pipe pipe);
  /// A meeting is over for `core`; `known` is what it learns of its own group.
  void meet(int core, Pipe pipe, CoreKind kind, const Clock &known);

  static bool isOrdered(const Clock &clock, int lane, uint32_t tick) { return clock[lane] >= tick; }

private:
  struct Lane {
    Clock clock{};
    uint32_t now = 0;
    uint32_t seenScalar = 0; ///< version of the scalar unit's clock already joined
    Meetings meetings{};
  };
  /// What is known once the signal is taken: `clock`, and of `lane` all up to `now`. That is apart
  /// since the clock is read whole, which waits long for a part that was just written.
  struct Token {
    Token() {} // send() fills in what is read: this comes with every flag

    Clock clock;
    int lane;
    uint32_t now;
    int32_t location;
    bool isGhost;
    Meetings meetings;
  };
  struct Wait {
    int lane = -1;
    uint32_t tick = 0;
    int32_t location = -1;
  };
  struct Flag {
    std::vector<Token> tokens;
    size_t head = 0;
    Wait last;
    bool isNew = true;

    void reset() {
      tokens.clear();
      head = 0;
      last = {};
      isNew = true;
    }
  };
  struct Signal {
    Flag queue;
    uint64_t sets = 0;
    std::vector<Wait> waits;
  };

  std::array<Lane, kLanes> lanes;
  std::array<uint32_t, kGroupCores> scalarVersion{};
  std::array<FlagTable<Flag>, kGroupCores> flags;
  struct FlagName {
    size_t core;
    Pipe from, to;
    int id;
  };
  std::vector<FlagName> setBefore; ///< of those that are not as new
  std::vector<Signal> signals;     ///< [to AIV 0, to AIV 1, to AIC from 0, from 1][id]
  int numAivs = 0, maxOutstanding = 0;
  bool hasPartners = false; ///< cores of this group signal each other
  bool hasMeetings = false; ///< there was one

  void learn(int lane, const Clock &from, const Meetings &meetings);
  void joinScalar(int lane);
  uint32_t next(int lane);
  void released(int lane, Clock &clock) const;
  void send(std::vector<Token> &tokens, int lane, int32_t location, bool isGhost) const;
  void acquire(int lane, const Token &token);
  uint32_t tickWait(int lane);
  bool push(Signal &signal, int lane, int32_t location, bool isGhost);
  void pop(Signal &signal, int lane, int32_t location, bool isGhost);
};

/// The later of both for each of `count` lanes, a number that the compiler knows.
template <unsigned count, class Number>
void join(Number *into, const Number *from) {
  for (unsigned i = 0; i < count; ++i)
    into[i] = into[i] > from[i] ? into[i] : from[i];
}

} // namespace tilewright::sim
