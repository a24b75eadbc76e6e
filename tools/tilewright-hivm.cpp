// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the launches of a planned npu module as text of the published dialect HIVM, or reads such
// text into npu:
//   tilewright-hivm a.mlir --form=plain
//   tilewright-hivm --read text.mlir

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "tilewright/from_hivm/FromHivm.h"
#include "tilewright/machine/Machine.h"
#include "tilewright/support/BoundedText.h"
#include "tilewright/tile/TileOps.h"
#include "tilewright/to_hivm/ToHivm.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace tilewright;

namespace {

llvm::cl::opt<std::string> inputFile(llvm::cl::Positional, llvm::cl::desc("file"),
                                     llvm::cl::init("-"));
llvm::cl::opt<std::string> target("target", llvm::cl::desc("Name of the chip in the text"),
                                  llvm::cl::init("Ascend910B3"));
llvm::cl::opt<int64_t> ubBytes("ub-bytes", llvm::cl::desc("Bytes of UB, with --form=planned"),
                               llvm::cl::init(192 * 1024));
llvm::cl::opt<to_hivm::Form>
    form("form", llvm::cl::desc("How much of the schedule the text holds"),
         llvm::cl::init(to_hivm::Form::Flags),
         llvm::cl::values(clEnumValN(to_hivm::Form::Flags, "flags", "no addresses, our flags"),
                          clEnumValN(to_hivm::Form::Planned, "planned", "addresses and flags"),
                          clEnumValN(to_hivm::Form::Plain, "plain", "neither")));

llvm::cl::opt<bool> place("place-temporaries",
                          llvm::cl::desc("Planned text between the passes of the other compiler"));

llvm::cl::opt<bool> readBack("read", llvm::cl::desc("Planned generic text to npu"));
llvm::cl::opt<std::string> chipName("chip", llvm::cl::desc("Chip of the text, with --read"),
                                    llvm::cl::init("910b3"));

/// Prints the npu module of a text.
int readText(llvm::MemoryBuffer &text, MLIRContext &context) {
  machine::LoadResult chip = machine::loadChip(chipName);
  if (!chip.error.empty()) {
    llvm::errs() << chip.error << "\n";
    return 1;
  }
  llvm::SourceMgr none;
  SourceMgrDiagnosticHandler handler(none, &context);
  OwningOpRef<ModuleOp> module =
      from_hivm::readText(text.getBuffer(), text.getBufferIdentifier(), chip.machine, context);
  if (module)
    llvm::outs() << *module << "\n";
  return module ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "npu module to HIVM text\n");
  std::string problem;
  auto buffer = openInputFile(inputFile, &problem);
  if (!buffer) {
    llvm::errs() << problem << "\n";
    return 1;
  }
  if (place) {
    llvm::outs() << to_hivm::placeTemporaries(buffer->getBuffer(), problem);
    if (!problem.empty())
      llvm::errs() << problem << "\n";
    return problem.empty() ? 0 : 1;
  }
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  context.loadDialect<tile::TileDialect, npu::NpuDialect, func::FuncDialect, arith::ArithDialect,
                      scf::SCFDialect, math::MathDialect, memref::MemRefDialect,
                      index::IndexDialect, affine::AffineDialect>();
  if (readBack)
    return readText(*buffer, context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  auto module = parseBounded(sources, context);
  if (!module)
    return 1;
  bool isDone = true;
  SmallVector<npu::LaunchOp> launches;
  module->walk([&](npu::LaunchOp launch) { launches.push_back(launch); });
  for (auto [number, launch] : llvm::enumerate(launches)) {
    std::string name = launch->getParentOfType<func::FuncOp>().getName().str();
    if (launches.size() > 1)
      name += "_" + std::to_string(number);
    auto text = to_hivm::exportLaunch(launch, name, {form, target, ubBytes});
    if (failed(text))
      isDone = false;
    else
      llvm::outs() << (number ? "// -----\n" : "") << text->text;
  }
  return isDone ? 0 : 1;
}
