// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>
#include <vector>

namespace tilewright::machine {

/// A chip file as built into the library; the definition is generated from chips/*.json.
struct ChipText {
  std::string_view name, json;
};
const std::vector<ChipText> &builtinChips();

} // namespace tilewright::machine
