// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/Engine.h"

#include <cstddef>
#include <vector>

namespace tilewright::sim {

/// Records of one launch that `sensitivityOf` times again with each end of each range: 60 times
/// that many take less than 0.2 s.
inline constexpr size_t kSampledRecords = 30000;

/// What the ends of the ranges of `uncertain` do to the time of a launch that took `microseconds`.
/// With more records than `mostRecords` the first ones of each core stand for all: the same share
/// of the records of each core is timed with and without the change, and the ratio is applied to
/// the whole time.
Sensitivity sensitivityOf(const Program &program, const std::vector<CoreRecords> &cores,
                          const machine::Machine &chip,
                          const std::vector<machine::Parameter> &uncertain, double microseconds,
                          size_t mostRecords);

} // namespace tilewright::sim
