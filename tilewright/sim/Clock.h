// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/machine/Machine.h"
#include "tilewright/sim/Engine.h"
#include "tilewright/sim/Record.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright::sim {

/// L2 contents carry over between launches that share a cache object.
class L2Cache;

struct ClockOptions {
  bool trace = false; ///< keep the events for a trace file
  double share = 1; ///< of the records of each core, from the first on; with less than all, a core
                    ///< that waits for what is left out is at its end
};

/// Times the records of one launch: in-order pipes per core in one pass, GM transfers and
/// cross-core signals in global time order, bandwidth as windowed calendars. Deterministic. Fills
/// `result.timing`, `trace` when asked, and a Deadlock finding when cores wait for each other.
void timeLaunch(const Program &program, const std::vector<CoreRecords> &cores,
                const machine::Machine &chip, const ClockOptions &options, RunResult &result);

/// Cycles that the core-local part of an instruction keeps its pipe busy; used when records are
/// made.
double computeCycles(const struct ResolvedOp &op, const machine::Machine &chip);

/// MTE1 and M cycles of one Mmad macro (m, n, k, element bytes), with its L0 double buffering:
/// `mte1` and `cube` are busy cycles, `startup` the MTE1 cycles before the cube can begin.
struct MmadCost {
  double mte1 = 0, cube = 0, startup = 0;
  int chunks = 1; ///< K steps, for Record::chunks
};
MmadCost mmadCost(int64_t m, int64_t n, int64_t k, DType type, const machine::Machine &chip);

/// Writes Chrome/Perfetto JSON. Returns an error text, empty on success.
std::string writeTrace(const Program &program, const RunResult &result,
                       const machine::Machine &chip, const std::string &path);

} // namespace tilewright::sim
