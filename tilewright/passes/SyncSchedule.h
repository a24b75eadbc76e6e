// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/passes/SyncSolver.h"

namespace tilewright::passes::sync {

/// Reorders vector ops so that independent ones share the barriers between dependent ones. Only ops
/// between which no flag is set or awaited change places, so that the flags of `solver` stay where
/// they are and no pipe waits longer.
class VectorSchedule {
public:
  VectorSchedule(const AccessTable &table, const Solver &solver);

  /// False when the order is good as it is.
  bool isChange() const { return !runs.empty(); }
  void apply() const;
  void undo() const;

private:
  /// Neighbours in a block, up to `end`.
  struct Run {
    std::vector<mlir::Operation *> before, after;
    mlir::Operation *end;
  };

  const AccessTable &table;
  std::vector<Run> runs;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<const Access *>> accessesOf;

  void addRun(llvm::ArrayRef<mlir::Operation *> ops);
  static void place(llvm::ArrayRef<mlir::Operation *> ops, mlir::Operation *end);
};

} // namespace tilewright::passes::sync
