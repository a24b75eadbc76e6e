// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/machine/Machine.h"

#include "mlir/IR/Operation.h"

namespace tilewright::passes {

/// The chip that a pass option names; an error at `op` when there is none, or its file is wrong.
inline std::optional<machine::Machine> chipFor(mlir::Operation *op, const std::string &name) {
  machine::LoadResult loaded = machine::loadChip(name);
  if (loaded.error.empty())
    return std::move(loaded.machine);
  op->emitError() << loaded.error;
  return std::nullopt;
}

} // namespace tilewright::passes
