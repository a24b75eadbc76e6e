// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/driver/Driver.h"
#include "tilewright/sim/ProgramArchive.h"
#include "tilewright/to_sim/ToSim.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::driver {

/// What an operand of a launch is: a parameter by number, or the size of this name.
struct LaunchOperand {
  int parameter = -1;
  std::string symbol;
};

/// What compiling adds to a module as built, all of it plain data: what a run needs, and what was
/// said on the way.
struct Compiled {
  bool forceSplitRows = false; ///< see passes::PipelineOptions
  int64_t parts = 0;           ///< likewise
  int64_t strip = 0;           ///< likewise
  bool lateStages = true;      ///< likewise
  bool fusedTurns = true;      ///< likewise
  bool legal = true;           ///< likewise
  std::string npuText;         ///< the final module; empty while the module itself is at hand
  std::vector<to_sim::LaunchProgram> launches;
  std::vector<std::vector<LaunchOperand>> operands; ///< per launch
  std::vector<Remark> remarks;
};

/// As bytes, together with the warnings.
std::string pack(const Compiled &compiled, const std::vector<Diagnostic> &diagnostics);

/// The other way; none for bytes that pack() did not make.
bool unpack(std::string_view bytes, Compiled &compiled, std::vector<Diagnostic> &diagnostics);

} // namespace tilewright::driver
