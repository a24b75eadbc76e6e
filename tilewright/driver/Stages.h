// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/driver/Driver.h"
#include "tilewright/passes/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"

#include <string>
#include <vector>

namespace tilewright::driver {

/// File, line and column behind any location.
SourceLocation sourceLocationOf(mlir::Location location);

/// While alive, turns diagnostics of a context into `diagnostics`, and stage remarks ("[pass] kind:
/// text") into `remarks`.
class DiagnosticCollector {
public:
  DiagnosticCollector(mlir::MLIRContext &context, std::vector<Diagnostic> &diagnostics,
                      std::vector<Remark> &remarks);

  bool sawError() const { return error; }
  /// Forgets everything, before another attempt.
  void reset();
  /// Adds an error that has no place in the source.
  void fail(const std::string &message);

private:
  void collect(mlir::Diagnostic &diagnostic);

  std::vector<Diagnostic> &diagnostics;
  std::vector<Remark> &remarks;
  bool error = false;
  mlir::ScopedDiagnosticHandler handler;
};

/// Runs all stages on `module`; writes the IR after each into `dumpDir` when it is not empty.
/// Returns the name of the stage that failed, empty on success.
std::string runStages(mlir::ModuleOp module, const passes::PipelineOptions &options,
                      const std::string &dumpDir, DiagnosticCollector &collector);

/// Runs the stages up to and including the pass `stage`, quietly; fails for a stage that is not
/// there.
mlir::LogicalResult runStagesUntil(mlir::ModuleOp module, const passes::PipelineOptions &options,
                                   llvm::StringRef stage);

/// "tile", the pass names in order, "npu", "program".
std::vector<std::string> stageNames(const passes::PipelineOptions &options);

std::string printModule(mlir::ModuleOp module, bool locations = false);

} // namespace tilewright::driver
