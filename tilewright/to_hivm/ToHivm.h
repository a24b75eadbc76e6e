// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/npu/NpuOps.h"

#include <optional>
#include <string>
#include <vector>

/// From planned and synchronised npu functions to the text of the published dialect HIVM, A2 and
/// A3.
namespace tilewright::to_hivm {

/// How much of the schedule the text holds.
enum class Form {
  Flags,   ///< buffers without addresses, this compiler's flags and slots
  Planned, ///< addresses, slots and flags: the simulated program itself
  Plain    ///< neither addresses nor flags within a core: the other compiler plans
};

struct Options {
  Form form = Form::Flags;
  std::string target = "Ascend910B3"; ///< as in `hacc.target`
  int64_t ubBytes = 192 * 1024;       ///< planned: what temporaries may fill behind the plan
};

/// A parameter of the device functions behind those that every kernel has.
struct Parameter {
  std::string kind;     ///< "tensor", "scalar", or "size" of a tensor with run-time extents
  std::string name;     ///< the author's, if any
  std::string type;     ///< of the element, as MLIR spells it
  unsigned operand = 0; ///< operand of the launch
  int dim = -1;         ///< of a size: the dimension
};

/// One launch as text.
struct LaunchText {
  std::string name;           ///< of the kernel; a mixed one is @name_mix_aic and @name_mix_aiv
  std::string core;           ///< "aic", "aiv" or "mix"
  std::string text;           ///< the module
  int64_t workspaceBytes = 0; ///< global scratch of each core (of each AIC of a mixed kernel)
  std::vector<Parameter> parameters;
};

/// What HIVM calls a chip of ours; none for one that this translation does not know.
std::optional<std::string> targetOf(llvm::StringRef chip);

/// "flags", "planned" or "plain".
std::optional<Form> parseForm(llvm::StringRef name);

/// Translates the device functions of `launch`, which have been through npu-plan-memory and
/// npu-insert-sync. What HIVM has no operation for is made from what it has, or diagnosed at the
/// op.
mlir::FailureOr<LaunchText> exportLaunch(npu::LaunchOp launch, llvm::StringRef name,
                                         const Options &options);

/// Planned text in generic form, after the other compiler's passes have given its instructions
/// hidden temporaries: gives these memory behind the plan. Each lives for one instruction, so they
/// share it. An error text in `problem` when there is not enough.
std::string placeTemporaries(llvm::StringRef text, std::string &problem);

} // namespace tilewright::to_hivm
