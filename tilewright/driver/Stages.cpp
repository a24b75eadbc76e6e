// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/driver/Stages.h"

#include "tilewright/tile/CoreOps.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::driver;

SourceLocation driver::sourceLocationOf(Location location) {
  SourceLocation result;
  location->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    result = {file.getFilename().str(), static_cast<int>(file.getLine()),
              static_cast<int>(file.getColumn())};
    return WalkResult::interrupt();
  });
  return result;
}

DiagnosticCollector::DiagnosticCollector(MLIRContext &context, std::vector<Diagnostic> &diagnostics,
                                         std::vector<Remark> &remarks)
    : diagnostics(diagnostics), remarks(remarks),
      handler(&context, [this](mlir::Diagnostic &diagnostic) {
        collect(diagnostic);
        return success();
      }) {}

void DiagnosticCollector::reset() {
  diagnostics.clear();
  remarks.clear();
  error = false;
}

void DiagnosticCollector::fail(const std::string &message) {
  diagnostics.push_back({Severity::Error, message, {}, {}});
  error = true;
}

void DiagnosticCollector::collect(mlir::Diagnostic &diagnostic) {
  std::string message = diagnostic.str();
  SourceLocation location = sourceLocationOf(diagnostic.getLocation());
  if (diagnostic.getSeverity() == DiagnosticSeverity::Remark) {
    StringRef text = message;
    Remark remark{"", "note", message, location};
    if (text.consume_front("[")) {
      auto [stage, rest] = text.split("] ");
      auto [kind, body] = rest.split(": ");
      remark.stage = stage.str();
      remark.kind = kind.str();
      remark.message = body.str();
    }
    remarks.push_back(remark);
    return;
  }
  Diagnostic entry;
  entry.severity =
      diagnostic.getSeverity() == DiagnosticSeverity::Warning ? Severity::Warning : Severity::Error;
  error |= entry.severity == Severity::Error;
  entry.message = message;
  entry.location = location;
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    entry.notes.push_back({Severity::Note, note.str(), sourceLocationOf(note.getLocation()), {}});
  diagnostics.push_back(std::move(entry));
}

std::string driver::printModule(ModuleOp module, bool locations) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, OpPrintingFlags().enableDebugInfo(locations));
  return text;
}

namespace {

/// Writes the module as DIR/NN-stage.mlir; an error text when that fails.
std::string dump(ModuleOp module, StringRef directory, unsigned number, StringRef stage) {
  SmallString<128> path(directory);
  llvm::sys::path::append(
      path, llvm::formatv("{0}{1}-{2}.mlir", number < 10 ? "0" : "", number, stage).str());
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code);
  if (code)
    return "E0914: cannot write " + path.str().str() + ": " + code.message();
  stream << printModule(module);
  return "";
}

/// True if a launch is the program of a core, about which no stage decides anything.
bool isByCore(ModuleOp module) {
  return module
      ->walk([](Operation *op) {
        return op->hasAttr(tile::kByCoreAttr) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Only the interpreter of a kernel as built stops at them.
void dropBreakpoints(ModuleOp module) {
  module->walk([](tile::BreakpointOp op) { op->erase(); });
}

LogicalResult runStage(ModuleOp module, const passes::Stage &stage) {
  if (stage.decides && isByCore(module))
    return success();
  PassManager manager(module.getContext());
  stage.add(manager);
  return manager.run(module);
}

} // namespace

std::string driver::runStages(ModuleOp module, const passes::PipelineOptions &options,
                              const std::string &dumpDir, DiagnosticCollector &collector) {
  if (!dumpDir.empty())
    if (std::error_code code = llvm::sys::fs::create_directories(dumpDir)) {
      collector.fail("E0914: cannot create the directory " + dumpDir + ": " + code.message());
      return "tile";
    }
  unsigned number = 0;
  auto write = [&](StringRef stage) {
    std::string problem = dumpDir.empty() ? "" : dump(module, dumpDir, number++, stage);
    if (!problem.empty())
      collector.fail(problem);
    return problem.empty();
  };
  if (!write("tile"))
    return "tile";
  dropBreakpoints(module);
  for (const passes::Stage &stage : passes::stagesFor(options)) {
    if (failed(runStage(module, stage))) {
      if (!collector.sawError())
        collector.fail("E0799: the stage " + stage.name +
                       " failed without saying why; this is a bug in tilewright, please report it "
                       "with the IR (--dump-ir)");
      return stage.name;
    }
    if (!write(stage.name))
      return stage.name;
  }
  return "";
}

std::vector<std::string> driver::stageNames(const passes::PipelineOptions &options) {
  std::vector<std::string> names = {"tile"};
  for (const passes::Stage &stage : passes::stagesFor(options))
    names.push_back(stage.name);
  names.push_back("npu");
  names.push_back("program");
  return names;
}

LogicalResult driver::runStagesUntil(ModuleOp module, const passes::PipelineOptions &options,
                                     StringRef wanted) {
  dropBreakpoints(module);
  ScopedDiagnosticHandler quiet(module.getContext(), [](mlir::Diagnostic &) { return success(); });
  for (const passes::Stage &stage : passes::stagesFor(options)) {
    if (failed(runStage(module, stage)))
      return failure();
    if (stage.name == wanted)
      return success();
  }
  return failure();
}
