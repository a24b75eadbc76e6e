// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/machine/Machine.h"
#include "tilewright/sim/Engine.h"
#include "tilewright/sim/Record.h"

#include <vector>

namespace tilewright::sim {

/// How far a core has come.
struct Progress {
  double cycles = 0;
  double hbmBytes = 0; ///< that its reads took from the HBM, with the price of short rows
};

/// One core of a run of which a sample was timed.
struct SampledCore {
  CoreKind kind = CoreKind::AIC;
  WaveSample waves;
  Progress warm, atEnd; ///< after the blocks that warm the L2, and after all timed ones
};

/// Turns the times of the sample into an estimate for all blocks. An event that was left out takes
/// as long, and as much from the HBM, as events of the timed blocks do on the mean core of its
/// kind; blocks that find an empty L2 do not count in that mean. What is written and finds no place
/// in the L2 goes back to the HBM, which the sample has not seen yet; the HBM takes its time for
/// all.
void extrapolate(const std::vector<SampledCore> &cores, const machine::Machine &chip,
                 RunResult &result);

} // namespace tilewright::sim
