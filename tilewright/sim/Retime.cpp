// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Retime.h"

#include "tilewright/sim/Clock.h"

using namespace tilewright::sim;
using tilewright::machine::Machine;

namespace {

/// What a program sees of its chip: it does the same where all this is equal. Memories may also be
/// larger.
struct Seen {
  const char *what;
  int64_t (*of)(const Machine &);
  bool mayGrow;
};

constexpr Seen kSeen[] = {
    {"cube cores", [](const Machine &chip) { return int64_t(chip.aicCount); }, false},
    {"vector cores", [](const Machine &chip) { return int64_t(chip.aivCount); }, false},
    {"bytes of UB", [](const Machine &chip) { return chip.ubBytes; }, true},
    {"bytes of L1", [](const Machine &chip) { return chip.l1Bytes; }, true},
    {"bytes of L0C", [](const Machine &chip) { return chip.l0cBytes; }, true},
    {"event ids", [](const Machine &chip) { return int64_t(chip.flagIdsPerPipePair); }, true},
    {"ids between cores", [](const Machine &chip) { return int64_t(chip.blockFlagIds); }, true},
};

} // namespace

std::string tilewright::sim::retime(const Program &program, const StoredLaunch &stored,
                                    const Machine &chip, RunResult &result) {
  for (const Seen &seen : kSeen) {
    const int64_t there = seen.of(stored.chip), here = seen.of(chip);
    if (here != there && !(seen.mayGrow && here > there))
      return "the stored run is of " + stored.chip.name + " with " + std::to_string(there) + " " +
             seen.what + " and cannot be timed for " + chip.name + ", which has " +
             std::to_string(here) + "; run the kernel there";
  }
  timeLaunch(program, stored.cores, chip, {}, result);
  return {};
}
