// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/EngineIssue.h"
#include "tilewright/sim/Program.h"

#include <vector>

namespace tilewright::sim {

/// The part of a core's program that decides what the core does: which scalar reads feed branches,
/// addresses, sizes and events. Registers are taken as a whole, over the whole program.
class ControlSlice {
public:
  explicit ControlSlice(const CoreProgram &core);

  /// True for a ScalarLoad whose value control depends on.
  bool isSteering(int32_t templateIndex) const { return steering[size_t(templateIndex)]; }

  /// True for a ScalarStore whose value comes from no ScalarLoad.
  bool storesKnown(int32_t templateIndex) const { return known[size_t(templateIndex)]; }

  /// True when some steering read is in UB: what moves there must be moved.
  bool readsTiles() const { return hasTileReads; }

private:
  std::vector<bool> steering, known; ///< per template
  bool hasTileReads = false;
};

/// Which bytes of a memory hold what a run with data would hold there.
class KnownBytes {
public:
  explicit KnownBytes(int64_t bytes) : bits(size_t(bytes)) {}

  void set(int64_t low, int64_t high, bool isKnown);
  bool all(int64_t low, int64_t high) const;

private:
  std::vector<bool> bits;
};

} // namespace tilewright::sim
