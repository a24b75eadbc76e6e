// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/Engine.h"

#include <string>
#include <vector>

namespace tilewright::sim {

/// What a launch did, kept to be timed again without running it.
struct StoredLaunch {
  std::vector<CoreRecords> cores;
  machine::Machine chip; ///< that it ran on
};

/// Times a stored launch of `program` on `chip`: another one on which the program would do the
/// same, or one with other constants. Fills `result.timing` and what belongs to it. Returns why
/// that chip will not do, empty on success.
std::string retime(const Program &program, const StoredLaunch &stored, const machine::Machine &chip,
                   RunResult &result);

} // namespace tilewright::sim
