// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interprets a function of an .mlir file on generated arguments and prints what it wrote, so that a
// program can be compared before and after a pass:
//   tilewright-run a.mlir > before; tilewright-opt -pass a.mlir | tilewright-run > after; diff
//   before after

#include "GeneratedArguments.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "tilewright/support/BoundedText.h"
#include "tilewright/tile/TileOps.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::tools;

namespace {

llvm::cl::opt<int64_t> maxSteps("max-steps", llvm::cl::desc("Element operations before giving up"),
                                llvm::cl::init(interp::Options().maxSteps));

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "tilewright reference interpreter\n");
  DialectRegistry registry;
  registry
      .insert<affine::AffineDialect, arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
              math::MathDialect, memref::MemRefDialect, scf::SCFDialect, tile::TileDialect>();
  MLIRContext context(registry);
  std::string problem;
  auto file = openInputFile(inputName, &problem);
  if (!file) {
    llvm::errs() << problem << "\n";
    return 2;
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module = parseBounded(sources, context);
  if (!module)
    return 2;
  func::FuncOp function = findFunction(*module);
  if (!function) {
    llvm::errs() << "name one function with --function\n";
    return 2;
  }

  std::map<std::string, int64_t> symbols;
  if (!readSymbols(symbols))
    return 2;
  std::vector<Generated> generated;
  if (!makeArguments(function, symbols, generated))
    return 2;
  std::vector<interp::Argument> arguments;
  for (Generated &made : generated)
    arguments.push_back(made.argument);

  interp::Options options;
  options.maxSteps = maxSteps;
  interp::Outcome outcome = interp::interpret(function, arguments, symbols, options);
  llvm::outs() << outcome.printed;
  if (!outcome.ok) {
    llvm::outs().flush();
    emitError(outcome.location, outcome.error);
    return 1;
  }
  printOutputs(function, generated);
  return 0;
}
