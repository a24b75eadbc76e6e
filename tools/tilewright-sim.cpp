// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the launches of a host function of an .mlir file on the simulator, on the arguments that
// tilewright-run generates, and prints what they wrote, their times and what the checker found:
//   tilewright-sim a.mlir --check --time
//   tilewright-sim a.mlir --timing-only --json --chip 910b1

#include "GeneratedArguments.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "tilewright/machine/Machine.h"
#include "tilewright/npu/NpuOps.h"
#include "tilewright/sim/Clock.h"
#include "tilewright/sim/Engine.h"
#include "tilewright/sim/Names.h"
#include "tilewright/sim/Report.h"
#include "tilewright/sim/Retime.h"
#include "tilewright/support/BoundedText.h"
#include "tilewright/support/WriteFile.h"
#include "tilewright/to_sim/ToSim.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

#include <set>

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
llvm::cl::opt<bool> wantJson("json", llvm::cl::desc("Print the report as JSON and nothing else"));
llvm::cl::opt<bool> timingOnly("timing-only", llvm::cl::desc("Times without data"));
llvm::cl::opt<int>
    sampleWaves("sample-waves",
                llvm::cl::desc("With --timing-only: time so many blocks of each core only, and "
                               "estimate the others"),
                llvm::cl::init(0));
llvm::cl::opt<std::string> sarifFile("sarif", llvm::cl::desc("Write findings as SARIF here"));
llvm::cl::opt<int64_t>
    maxInstructions("max-instructions",
                    llvm::cl::desc("Scalar instructions before a core is endless"),
                    llvm::cl::init(0));
llvm::cl::list<std::string>
    constantTexts("constant", llvm::cl::desc("Another value of a constant of the chip, KEY=VALUE"));
llvm::cl::list<std::string>
    alternativeTexts("alternative", llvm::cl::desc("Time the same run once more with these "
                                                   "constants, KEY=VALUE,... (--json)"));
llvm::cl::opt<bool>
    wantSensitivity("sensitivity",
                    llvm::cl::desc("Print times, and what each uncertain constant at either end of "
                                   "its range does to them, over all of the run"));
llvm::cl::opt<bool> printProgram("print-program", llvm::cl::desc("Print the code and do not run"));
llvm::cl::opt<int> numThreads("sim-threads", llvm::cl::desc("Host threads"), llvm::cl::init(0));

constexpr sim::Pipe kPipes[] = {sim::Pipe::S,    sim::Pipe::V,    sim::Pipe::M,  sim::Pipe::MTE1,
                                sim::Pipe::MTE2, sim::Pipe::MTE3, sim::Pipe::FIX};

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

std::string placeText(const sim::Place &place) {
  return place.line ? "line " + std::to_string(place.line) : "line unknown";
}

/// With --time or --sensitivity: constants of the chip that are not well known.
std::vector<machine::Parameter> uncertain;

/// What the ends of the ranges do to the time, with --sensitivity for the five strongest constants.
void printSensitivity(const sim::LaunchReport &launch) {
  const sim::Sensitivity &found = *launch.sensitivity;
  llvm::outs() << llvm::format("  core %.2f to %.2f us over the uncertain constants", found.least,
                               found.most);
  if (!found.effects.empty())
    llvm::outs() << "; most: " << found.effects.front().key;
  llvm::outs() << "\n";
  if (!wantSensitivity)
    return;
  auto change = [&](double time) { return 100 * (time / launch.microseconds - 1); };
  for (const sim::Sensitivity::Effect &effect : ArrayRef(found.effects).take_front(5))
    llvm::outs() << llvm::format("    %s %g to %g: %+.1f %%, %+.1f %%\n", effect.key.c_str(),
                                 effect.low, effect.high, change(effect.atLow),
                                 change(effect.atHigh));
}

void printTiming(const sim::LaunchReport &launch) {
  llvm::outs() << llvm::format("time %.2f us, %.0f cycles, launch %.2f us, %d AIC %d AIV",
                               launch.microseconds, launch.cycles, launch.launchMicroseconds,
                               launch.aicCount, launch.aivCount);
  if (launch.timedWaves)
    llvm::outs() << ", estimated from " << launch.timedWaves << " of " << launch.allWaves
                 << " waves";
  llvm::outs() << "\n";
  auto line = [&](const char *core, const std::map<std::string, double> &busy) {
    llvm::outs() << "  " << core << " busy:";
    for (sim::Pipe pipe : kPipes)
      if (double share = busy.at(sim::nameOf(pipe)); share > 0)
        llvm::outs() << llvm::format(" %s %.0f %%", sim::nameOf(pipe), 100 * share);
    llvm::outs() << "\n";
  };
  if (launch.aicCount)
    line("AIC", launch.aicBusy);
  if (launch.aivCount)
    line("AIV", launch.aivBusy);
  llvm::outs() << "  GM read " << launch.gmReadBytes << ", write " << launch.gmWriteBytes
               << ", HBM " << launch.hbmBytes << ", exchange " << launch.exchangeBytes
               << " bytes\n";
}

/// The report as text.
void printReport(const sim::Report &report) {
  llvm::outs() << report.printed;
  if (wantTime || wantSensitivity)
    for (const sim::LaunchReport &launch : report.launches) {
      printTiming(launch);
      printSensitivity(launch);
    }
  for (const sim::FindingReport &finding : report.findings)
    llvm::outs() << "finding: " << finding.tool << ": " << finding.kind << ": " << finding.message
                 << " (" << placeText(finding.location) << ", " << placeText(finding.otherLocation)
                 << ", " << finding.count << " times)\n";
}

/// Changes constants as texts like KEY=VALUE say; false after a message.
bool setConstants(ArrayRef<StringRef> texts, machine::Machine &chip) {
  for (StringRef text : texts) {
    auto [key, value] = text.split('=');
    double number = 0;
    if (value.getAsDouble(number)) {
      llvm::errs() << "expected KEY=NUMBER, found '" << text << "'\n";
      return false;
    }
    if (std::string problem = machine::setParameter(chip, key.str(), number); !problem.empty()) {
      llvm::errs() << problem << "\n";
      return false;
    }
  }
  std::string problem = machine::inconsistency(chip);
  if (!problem.empty())
    llvm::errs() << problem << "\n";
  return problem.empty();
}

/// The chips of --alternative; false after a message.
bool makeAlternatives(const machine::Machine &chip, std::vector<machine::Machine> &alternatives) {
  for (StringRef text : alternativeTexts) {
    SmallVector<StringRef> parts;
    text.split(parts, ',', -1, /*KeepEmpty=*/false);
    if (!setConstants(parts, alternatives.emplace_back(chip)))
      return false;
  }
  return true;
}

/// Runs one launch and adds what it found to the report; false after a message.
bool runLaunch(npu::LaunchOp launch, std::vector<Generated> &generated, HostValues &values,
               const machine::Machine &chip, std::set<unsigned> &computed, sim::Report &report) {
  std::vector<machine::Machine> alternatives;
  if (!makeAlternatives(chip, alternatives))
    return false;
  FailureOr<to_sim::LaunchProgram> translated = to_sim::translateLaunch(launch);
  if (failed(translated))
    return false;
  const sim::Program &program = translated->program;
  if (printProgram) {
    llvm::outs() << sim::toText(program);
    return true;
  }
  std::vector<sim::TensorArg> tensors;
  for (unsigned operand : translated->tensors) {
    auto argument = dyn_cast<BlockArgument>(launch.getOperand(operand));
    if (!argument) {
      launch.emitError("this tool passes only arguments of the host function as tensors");
      return false;
    }
    unsigned number = argument.getArgNumber();
    Generated &made = generated[number];
    tensors.push_back({made.argument.data, elementCount(made.shape), computed.count(number) > 0});
  }
  for (auto [tensor, operand] : llvm::zip(program.tensors, translated->tensors))
    if (tensor.written)
      computed.insert(cast<BlockArgument>(launch.getOperand(operand)).getArgNumber());
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
      return false;
    }
    scalars.push_back(registerBits(value));
  }

  sim::RunOptions options;
  options.time = wantTime || wantSensitivity || wantJson || timingOnly || !traceFile.empty();
  options.timeOnly = timingOnly;
  options.sampleWaves = sampleWaves;
  options.store = !alternatives.empty();
  options.uncertain = uncertain;
  options.isSensitivityWhole = wantSensitivity;
  options.trace = !traceFile.empty();
  options.check = wantCheck;
  options.numThreads = numThreads;
  if (maxInstructions > 0)
    options.maxInstructions = maxInstructions;
  if (delaySeed >= 0)
    options.delaySeed = uint64_t(delaySeed);
  sim::RunResult result = sim::run(program, tensors, scalars, chip, options);
  sim::addLaunch(report, program, result, options.time);
  for (const machine::Machine &other : alternatives) {
    sim::RunResult again;
    if (!result.stored)
      break;
    if (std::string problem = sim::retime(program, *result.stored, other, again);
        !problem.empty()) {
      launch.emitError(problem);
      return false;
    }
    report.launches.back().alternatives.push_back(sim::launchReport(program, again));
  }
  if (!result.ok) {
    launch.emitError(result.error);
    return false;
  }
  if (!options.trace)
    return true;
  std::string error = sim::writeTrace(program, result, chip, traceFile);
  if (!error.empty())
    llvm::errs() << error << "\n";
  return error.empty();
}

/// Runs the launches of the host function one after the other; false after a message.
bool runFunction(func::FuncOp function, const machine::Machine &chip, sim::Report &report) {
  std::map<std::string, int64_t> symbols;
  std::vector<Generated> generated;
  if (!readSymbols(symbols) || !makeArguments(function, symbols, generated, !timingOnly))
    return false;
  HostValues values(generated, symbols);
  std::set<unsigned> computed; // arguments that earlier launches write
  for (Operation &op : function.getBody().front()) {
    if (auto launch = dyn_cast<npu::LaunchOp>(op)) {
      if (!runLaunch(launch, generated, values, chip, computed, report))
        return false;
    } else if (op.getNumRegions() > 0) {
      op.emitError("this tool runs launches in a row, without control flow around them");
      return false;
    }
  }
  if (std::string problem =
          sampleWaves && !printProgram ? sim::sampleProblem(report, sampleWaves) : std::string();
      !problem.empty()) {
    llvm::errs() << problem << "\n";
    return false;
  }
  if (printProgram || wantJson)
    return true;
  printReport(report);
  if (!timingOnly)
    printOutputs(function, generated);
  return true;
}

/// Exit codes; docs/cli.md tells users.
enum ExitCode { kDone = 0, kFailed = 1, kFound = 2 };

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
    return kFailed;
  }
  if (!setConstants(SmallVector<StringRef>(constantTexts.begin(), constantTexts.end()),
                    chip.machine))
    return kFailed;
  if (wantTime || wantSensitivity)
    uncertain = machine::uncertainOf(chip);
  std::string problem;
  auto file = openInputFile(inputName, &problem);
  if (!file) {
    llvm::errs() << problem << "\n";
    return kFailed;
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  OwningOpRef<ModuleOp> module = parseBounded(sources, context);
  if (!module)
    return kFailed;
  func::FuncOp function = findFunction(*module);
  if (!function) {
    llvm::errs() << "name one function with --function\n";
    return kFailed;
  }
  sim::Report report;
  report.kernel = function.getName().str();
  report.chip = chip.machine.name;
  report.clockMHz = chip.machine.clockMHz;
  report.isTimingOnly = timingOnly;
  bool isDone = runFunction(function, chip.machine, report);
  if (!isDone && !wantJson)
    printReport(report);
  if (wantJson && !printProgram && (isDone || !report.ok))
    llvm::outs() << sim::toJson(report);
  if (!sarifFile.empty()) {
    std::string error =
        support::writeWhole(sarifFile, sim::toSarif(report.findings, TILEWRIGHT_VERSION));
    if (!error.empty()) {
      llvm::errs() << error << "\n";
      isDone = false;
    }
  }
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    llvm::errs() << "standard output cannot be written: " << llvm::outs().error().message() << "\n";
    llvm::outs().clear_error();
    isDone = false;
  }
  if (!isDone)
    return kFailed;
  return report.findings.empty() ? kDone : kFound;
}
