// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/Engine.h"

#include <vector>

namespace tilewright::sim {

/// Limits of a launch that ran as `records` in `timing`.
Limits limitsOf(const std::vector<CoreRecords> &records, const Timing &timing,
                const machine::Machine &chip);

} // namespace tilewright::sim
