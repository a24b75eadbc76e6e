// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the launches of a host function of an .mlir file on the simulator, on the arguments that
// tilewright-run generates, and prints what they wrote, their times and what the checker found:
//   tilewright-sim a.mlir --check --time

#include "GeneratedArguments.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "tilewright/machine/Machine.h"
#include "tilewright/npu/NpuOps.h"
#include "tilewright/sim/Clock.h"
#include "tilewright/sim/Engine.h"
#include "tilewright/to_sim/ToSim.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::tools;

namespace {

llvm::cl::opt<std::string> chipName("chip", llvm::cl::desc("Chip name or file"),
                                    llvm::cl::init("910b3"));
llvm::cl::opt<bool> wantTime("time", llvm::cl::desc("Print predicted times"));
llvm::cl::opt<bool> wantCheck("check", llvm::cl::desc("Look for races and uninitialised reads"));
llvm::cl::opt<int64_t> delaySeed("delay",
                                 llvm::cl::desc("Let effects happen out of order, by seed"),
                                 llvm::cl::init(-1));
llvm::cl::opt<std::string> traceFile("trace", llvm::cl::desc("Write a trace here (one launch)"));
llvm::cl::opt<bool> printProgram("print-program", llvm::cl::desc("Print the code and do not run"));
llvm::cl::opt<int> numThreads("sim-threads", llvm::cl::desc("Host threads"), llvm::cl::init(0));

/// Values of the host function's scalars: arguments, symbols, sizes, and what folds from them.
class HostValues {
public:
  HostValues(const std::vector<Generated> &arguments, const std::map<std::string, int64_t> &symbols)
      : arguments(arguments), symbols(symbols) {}

  /// The constant, or null if the tool cannot tell.
  Attribute evaluate(Value value) {
    Type type = value.getType();
    auto integer = [&](int64_t number) { return IntegerAttr::get(type, number); };
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      const Generated &made = arguments[argument.getArgNumber()];
      if (isa<FloatType>(type))
        return FloatAttr::get(type, made.argument.real);
      return integer(made.argument.integer);
    }
    Operation *op = value.getDefiningOp();
    if (auto size = dyn_cast<memref::DimOp>(op)) {
      auto argument = dyn_cast<BlockArgument>(size.getSource());
      auto index = dyn_cast_or_null<IntegerAttr>(evaluate(size.getIndex()));
      if (!argument || !index)
        return {};
      const std::vector<int64_t> &shape = arguments[argument.getArgNumber()].shape;
      return uint64_t(index.getInt()) < shape.size() ? integer(shape[size_t(index.getInt())])
                                                     : nullptr;
    }
    if (auto symbol = dyn_cast<tile::SymbolOp>(op)) {
      auto it = symbols.find(symbol.getName().str());
      return it == symbols.end() ? nullptr : integer(it->second);
    }
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands())
      if (!operands.emplace_back(evaluate(operand)))
        return {};
    SmallVector<OpFoldResult> results;
    if (failed(op->fold(operands, results)) || results.size() != op->getNumResults())
      return {};
    OpFoldResult result = results[cast<OpResult>(value).getResultNumber()];
    if (auto attribute = dyn_cast<Attribute>(result))
      return attribute;
    return evaluate(cast<Value>(result));
  }

private:
  const std::vector<Generated> &arguments;
  const std::map<std::string, int64_t> &symbols;
};

/// The scalar as the simulator takes it.
int64_t registerBits(Attribute attribute) {
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return integer.getType().isInteger(1) ? int64_t(integer.getValue().getZExtValue())
                                          : integer.getValue().getSExtValue();
  auto real = cast<FloatAttr>(attribute);
  if (real.getType().isF64())
    return llvm::bit_cast<int64_t>(real.getValueAsDouble());
  return int64_t(llvm::bit_cast<uint32_t>(float(real.getValueAsDouble())));
}

std::string placeText(const sim::Program &program, int32_t location) {
  if (location < 0 || location >= int32_t(program.locations.size()))
    return "line unknown";
  return "line " + std::to_string(program.locations[size_t(location)].line);
}

void printTiming(const sim::Timing &timing) {
  llvm::outs() << llvm::format("time %.2f us, %.0f cycles, launch %.2f us, %d AIC %d AIV\n",
                               timing.microseconds, timing.cycles, timing.launchMicroseconds,
                               timing.aicCount, timing.aivCount);
  static constexpr const char *pipes[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"};
  auto line = [&](const char *core, const sim::PipeUse *use) {
    llvm::outs() << "  " << core << " busy:";
    for (unsigned p = 0; p < sim::kNumPipes; ++p)
      if (use[p].busyCycles > 0)
        llvm::outs() << llvm::format(" %s %.0f %%", pipes[p],
                                     100 * use[p].busyCycles / timing.cycles);
    llvm::outs() << "\n";
  };
  if (timing.aicCount)
    line("AIC", timing.aic);
  if (timing.aivCount)
    line("AIV", timing.aiv);
  llvm::outs() << "  GM read " << timing.gmReadBytes << ", write " << timing.gmWriteBytes
               << ", HBM " << timing.hbmBytes << ", exchange "
               << timing.workspaceReadBytes + timing.workspaceWriteBytes << " bytes\n";
}

/// Runs one launch; the exit code.
int runLaunch(npu::LaunchOp launch, std::vector<Generated> &generated, HostValues &values,
              const machine::Machine &chip) {
  FailureOr<to_sim::LaunchProgram> translated = to_sim::translateLaunch(launch);
  if (failed(translated))
    return 1;
  const sim::Program &program = translated->program;
  if (printProgram) {
    llvm::outs() << sim::toText(program);
    return 0;
  }
  std::vector<sim::TensorArg> tensors;
  for (unsigned operand : translated->tensors) {
    auto argument = dyn_cast<BlockArgument>(launch.getOperand(operand));
    if (!argument) {
      launch.emitError("this tool passes only arguments of the host function as tensors");
      return 1;
    }
    Generated &made = generated[argument.getArgNumber()];
    int64_t count = 1;
    for (int64_t extent : made.shape)
      count *= extent;
    tensors.push_back({made.data.data(), count});
  }
  std::vector<int64_t> scalars;
  for (const to_sim::ScalarSource &source : translated->scalars) {
    Value operand = launch.getOperand(source.operand);
    if (source.dim >= 0) {
      scalars.push_back(
          generated[cast<BlockArgument>(operand).getArgNumber()].shape[size_t(source.dim)]);
      continue;
    }
    Attribute value = values.evaluate(operand);
    if (!value) {
      launch.emitError("this tool cannot tell operand ") << source.operand;
      return 1;
    }
    scalars.push_back(registerBits(value));
  }

  sim::RunOptions options;
  options.time = wantTime || !traceFile.empty();
  options.trace = !traceFile.empty();
  options.check = wantCheck;
  options.numThreads = numThreads;
  if (delaySeed >= 0)
    options.delaySeed = uint64_t(delaySeed);
  sim::RunResult result = sim::run(program, tensors, scalars, chip, options);
  llvm::outs() << result.printed;
  if (wantTime)
    printTiming(result.timing);
  if (options.trace)
    if (std::string error = sim::writeTrace(program, result, chip, traceFile); !error.empty())
      llvm::errs() << error << "\n";
  for (const sim::Finding &finding : result.findings)
    llvm::outs() << "finding: " << finding.message << " (" << placeText(program, finding.location)
                 << ", " << placeText(program, finding.otherLocation) << ", " << finding.count
                 << " times)\n";
  llvm::outs().flush();
  if (!result.ok) {
    launch.emitError(result.error);
    return 1;
  }
  return result.findings.empty() ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "tilewright simulator\n");
  DialectRegistry registry;
  registry.insert<affine::AffineDialect, arith::ArithDialect, func::FuncDialect,
                  index::IndexDialect, math::MathDialect, memref::MemRefDialect, npu::NpuDialect,
                  scf::SCFDialect, tile::TileDialect>();
  MLIRContext context(registry);
  machine::LoadResult chip = machine::loadChip(chipName);
  if (!chip.error.empty()) {
    llvm::errs() << chip.error << "\n";
    return 2;
  }
  std::string problem;
  auto file = openInputFile(inputName, &problem);
  if (!file) {
    llvm::errs() << problem << "\n";
    return 2;
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return 2;
  func::FuncOp function = findFunction(*module);
  if (!function) {
    llvm::errs() << "name one function with --function\n";
    return 2;
  }
  std::map<std::string, int64_t> symbols;
  std::vector<Generated> generated;
  if (!readSymbols(symbols) || !makeArguments(function, symbols, generated))
    return 2;

  HostValues values(generated, symbols);
  int code = 0;
  for (Operation &op : function.getBody().front()) {
    auto launch = dyn_cast<npu::LaunchOp>(op);
    if (launch)
      code = std::max(code, runLaunch(launch, generated, values, chip.machine));
    else if (op.getNumRegions() > 0) {
      op.emitError("this tool runs launches in a row, without control flow around them");
      return 2;
    }
  }
  if (!printProgram)
    printOutputs(function, generated);
  return code;
}
