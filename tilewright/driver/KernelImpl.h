// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/driver/Compiled.h"
#include "tilewright/driver/HostProgram.h"
#include "tilewright/driver/Stages.h"
#include "tilewright/machine/Machine.h"
#include "tilewright/passes/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <mutex>

/// What a Kernel is made of: for the files that make and run them.
namespace tilewright::driver {

/// A context, which kernels made of one module have in common. It is not made for several threads,
/// and looking at a type may ask it: whoever touches a module holds the mutex.
struct Shared {
  std::unique_ptr<mlir::MLIRContext> context;
  std::mutex mutex;
};

/// Everything about a compiled kernel. The modules are only read after compile().
struct Kernel::Impl : Compiled {
  std::shared_ptr<Shared> shared; ///< outlives the modules
  mutable mlir::OwningOpRef<mlir::ModuleOp> built,
      final; ///< `npuText` stands for the final one after a hit
  CompileOptions options;
  passes::PipelineOptions pipeline;
  machine::Machine chip;
  std::vector<machine::Parameter> uncertain; ///< of the chip's constants
  std::string name;
  std::unique_ptr<HostProgram> host;
  CacheUse cacheUse = CacheUse::Off;
  std::string cacheProblem;
  bool countsBlocks = true; ///< its programs say where blocks begin; text of others need not

  /// build(), without the stages: the launches of `final` as the simulator's programs.
  bool translate();
  bool build(DiagnosticCollector &collector);
  bool buildOrLoad(const std::string &chipText, DiagnosticCollector &collector,
                   std::vector<Diagnostic> &diagnostics);

  RunReport interpret(const std::vector<Argument> &arguments,
                      const std::map<std::string, int64_t> &symbols, const RunOptions &run) const;
  RunReport simulate(const std::vector<Argument> &arguments,
                     const std::map<std::string, int64_t> &symbols, const RunOptions &run) const;
  RunReport runLaunches(const std::vector<Argument> &arguments,
                        const std::map<std::string, int64_t> &symbols, const RunOptions &run,
                        const machine::Machine &where,
                        const std::vector<machine::Parameter> &uncertain, bool hasData) const;
  int64_t scalarBits(size_t launch, const to_sim::ScalarSource &source,
                     const std::vector<Argument> &arguments,
                     const std::map<std::string, int64_t> &symbols) const;
  mlir::OwningOpRef<mlir::ModuleOp> moduleAfter(llvm::StringRef stage) const;
};

/// The function that runs on the host: the first one that is no device function.
mlir::func::FuncOp hostFunction(mlir::ModuleOp module);

} // namespace tilewright::driver
