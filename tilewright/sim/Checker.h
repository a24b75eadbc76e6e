// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/CheckerShadow.h"
#include "tilewright/sim/EngineIssue.h"
#include "tilewright/sim/GmShadow.h"
#include "tilewright/sim/HappensBefore.h"
#include "tilewright/sim/Lent.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace tilewright::sim {

/// Collects findings; equal ones are folded with a count.
class FindingList {
public:
  /// Returns the finding's index, or -1 when there are too many.
  int add(Finding finding);

  /// Counts finding `at` once more.
  void bump(int at) {
    if (at >= 0)
      ++list[size_t(at)].count;
  }
  std::vector<Finding> take() { return std::move(list); }
  bool empty() const { return list.empty(); }

private:
  std::vector<Finding> list;
  std::map<std::tuple<FindingKind, int32_t, int32_t, std::string>, size_t> index;
};

/// Memory that the worker keeps for its next group.
struct CheckerMemory {
  std::array<std::array<OnChipShadow, kNumSpaces>, kGroupCores> shadows;
  std::array<std::vector<const Template *>, kLanes> log; ///< template of each tick
  GmBoxes boxes;
};

/// Finds the accesses of one group that nothing orders, and reads of memory that nothing wrote.
/// Works in program order on the clocks of HappensBefore, so its verdict does not depend on timing.
class Checker {
public:
  Checker(const Program &program, const machine::Machine &chip, const HappensBefore &order,
          const std::vector<CoreKind> &kinds, const GmSpace &gm, CheckerMemory &memory,
          FindingList &findings);

  /// An instruction begins on `lane`.
  void begin(int lane, uint32_t tick, const Template *source) {
    std::vector<const Template *> &names = memory.log[size_t(lane)];
    if (names.size() <= tick)
      names.resize(std::max(size_t(tick) + 1, 2 * names.size()));
    names[tick] = source;
  }

  /// One operand of an instruction that has begun on `lane`. Reads go before writes.
  void access(int lane, uint32_t tick, Prepared &prepared, unsigned operand, bool isWrite,
              int64_t block);

  /// What an instruction does wrong by itself.
  void alone(int core, const Prepared &prepared, const int64_t *regs, int64_t block) {
    if (!prepared.source->boxes.empty())
      boxes(prepared, regs, block);
    if (prepared.pipe == Pipe::V)
      overlap(core, prepared, block);
  }

  /// The group has come to where all blocks meet, with `clock` behind it.
  void meet(CoreKind kind, Pipe pipe, const Clock &clock) {
    gm->meetings[size_t(meetingOf(kind, pipe))].push_back(clock);
  }

  GmShadow &gmShadow() { return *gm; }
  /// What is known about GM, for checks between groups; the checker is then at its end.
  Lent<GmShadow> takeGmShadow() { return std::move(gm); }

private:
  const Program &program;
  const HappensBefore &order;
  FindingList &findings;
  std::vector<CoreKind> kinds;
  const GmSpace &space;
  CheckerMemory &memory;
  Lent<GmShadow> gm;           ///< one region per region of GM; the last is the workspace
  std::vector<bool> isTracked; ///< regions that some block writes
  /// Pairs already reported, with their finding: building the text is slow.
  std::map<std::tuple<FindingKind, const Template *, const Template *, int, int>, int> known;

  void boxes(const Prepared &prepared, const int64_t *regs, int64_t block);
  void overlap(int core, const Prepared &prepared, int64_t block);
  void onChip(int lane, uint32_t tick, const Prepared &prepared, unsigned operand, bool isWrite,
              int64_t block);
  void inGm(int lane, uint32_t tick, const Prepared &prepared, unsigned operand, bool isWrite,
            int64_t block);
  void race(FindingKind kind, int otherLane, uint32_t otherTick, int lane, const Prepared &prepared,
            const std::string &place, int64_t block);
  void uninitialised(const Prepared &prepared, const std::string &place, int64_t block);
  const Template *at(int lane, uint32_t tick) const;
  std::string bufferText(int core, Space space, int64_t low, int64_t high) const;
};

/// Conflicts between blocks that ran in different groups, found after the launch from what each
/// group wrote and read of the tensors that someone writes.
void checkAcrossGroups(const Program &program, const GmSpace &space,
                       const std::vector<GmShadow *> &groups, FindingList &findings);

} // namespace tilewright::sim
