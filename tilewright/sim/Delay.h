// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/EngineIssue.h"
#include "tilewright/sim/HappensBefore.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::sim {

/// What a dropped synchronisation instruction used to hold up, for Mutation::HoldProducer.
struct HeldLanes {
  CoreKind core = CoreKind::AIC;
  Pipe pipe = Pipe::All; ///< All: every pipe of that core
};

/// Lets the tile instructions of one group take effect in a random order within what HappensBefore
/// allows. Instructions wait in one queue per lane; a seed makes some lanes eager (effect as soon
/// as allowed) and some lazy (effect when something needs it or the window is full), so that a
/// missing edge between two lanes shows in a good part of the seeds.
///
/// A V instruction takes effect in two steps: it reads its sources, in issue order, and writes some
/// time later. A Mmad reads A and B on MTE1 and updates C on M.
class Delay {
public:
  Delay(uint64_t seed, int64_t group, const std::vector<CoreKind> &kinds, const HeldLanes *held);
  ~Delay();

  /// Takes over a resolved instruction. `clock` is what it comes after.
  void add(const Prepared &prepared, int lane, uint32_t tick, const Clock &clock);
  void addMmad(const Prepared &prepared, int readLane, uint32_t readTick, const Clock &readClock,
               int lane, uint32_t tick, const Clock &clock);

  /// Completes everything at or before `clock`.
  void force(const Clock &clock);
  void drain();

  /// Which of the cores in `runnable` (bit mask, not empty) goes on, and for how many events.
  int pickCore(unsigned runnable);
  int64_t pickSlice();

  /// What went wrong while an instruction took effect; empty when nothing did.
  const std::string &fault() const { return faultText; }

private:
  struct Pending;
  struct Lane;

  std::vector<Lane> lanes;
  std::vector<std::unique_ptr<Pending>> spare;
  size_t count = 0, window = 0;
  uint64_t state;
  std::array<uint32_t, kGroupCores> coreWeight{};
  bool isHolding = false;
  std::string faultText;

  uint64_t random();
  std::unique_ptr<Pending> take(const Prepared &prepared, uint32_t tick, const Clock &clock);
  void settle();
  bool isAllowed(const Clock &clock) const;
  bool step(bool eagerOnly, const Clock *upTo);
  void runRead(Lane &lane, size_t index);
  void runWrite(Lane &lane, size_t index);
};

} // namespace tilewright::sim
