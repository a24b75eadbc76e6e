// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Sensitivity.h"

#include "tilewright/sim/Clock.h"

#include <algorithm>
#include <cmath>

using namespace tilewright::sim;
using tilewright::machine::Machine;
using tilewright::machine::Parameter;

namespace {

/// Changes below this share of the time are none.
constexpr double kLeastChange = 1e-4;

} // namespace

Sensitivity tilewright::sim::sensitivityOf(const Program &program,
                                           const std::vector<CoreRecords> &cores,
                                           const Machine &chip,
                                           const std::vector<Parameter> &uncertain,
                                           double microseconds, size_t mostRecords) {
  size_t numRecords = 0;
  for (const CoreRecords &core : cores)
    numRecords += core.records.size();
  Sensitivity result;
  result.least = result.most = microseconds;
  if (numRecords > mostRecords)
    result.share = double(mostRecords) / double(numRecords);

  auto timed = [&](const Machine &machine) {
    RunResult run;
    timeLaunch(program, cores, machine, {.share = result.share}, run);
    return run.timing.microseconds;
  };
  const double plain = result.share < 1 ? timed(chip) : microseconds;
  if (plain <= 0)
    return result;
  for (const Parameter &parameter : uncertain) {
    auto at = [&](double value) {
      Machine changed = chip;
      machine::setParameter(changed, parameter.key, value);
      return microseconds * timed(changed) / plain;
    };
    Sensitivity::Effect effect{parameter.key, parameter.low, parameter.high, at(parameter.low),
                               at(parameter.high)};
    result.least = std::min({result.least, effect.atLow, effect.atHigh});
    result.most = std::max({result.most, effect.atLow, effect.atHigh});
    if (effect.reach(microseconds) > kLeastChange * microseconds)
      result.effects.push_back(effect);
  }
  std::sort(result.effects.begin(), result.effects.end(),
            [&](const Sensitivity::Effect &a, const Sensitivity::Effect &b) {
              const double first = a.reach(microseconds), second = b.reach(microseconds);
              return first != second ? first > second : a.key < b.key;
            });
  return result;
}
