// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/driver/Driver.h"

#include "tilewright/builder/ModuleHandle.h"
#include "tilewright/driver/DiskCache.h"
#include "tilewright/driver/KernelImpl.h"
#include "tilewright/interp/Interpreter.h"
#include "tilewright/sim/Clock.h"
#include "tilewright/sim/Engine.h"
#include "tilewright/sim/Memory.h"
#include "tilewright/sim/Names.h"
#include "tilewright/sim/Retime.h"
#include "tilewright/support/Half.h"
#include "tilewright/tile/TileOps.h"
#include "tilewright/to_sim/ToSim.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Config/llvm-config.h"

#include <bit>
#include <mutex>
#include <set>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::driver;

func::FuncOp driver::hostFunction(ModuleOp module) {
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    if (!function->hasAttr(npu::kCoreAttr))
      return function;
  return nullptr;
}

namespace {

passes::PipelineOptions pipelineOptions(const CompileOptions &options) {
  passes::PipelineOptions result;
  result.chip = options.chip;
  result.optLevel = options.optLevel;
  result.verify = options.verifyEach;
  result.strict = options.strict;
  result.disable = options.disable;
  return result;
}

bool isSync(const sim::Insn &insn) {
  sim::Opcode op = insn.op;
  if ((op == sim::Opcode::BlockSet || op == sim::Opcode::BlockWait) && insn.p1 == sim::Pipe::All)
    return false; // the end of a block
  return op == sim::Opcode::SetFlag || op == sim::Opcode::WaitFlag || op == sim::Opcode::Barrier ||
         op == sim::Opcode::BlockSet || op == sim::Opcode::BlockWait || op == sim::Opcode::Meet;
}

/// Calls visit(launch, core, code index, instruction) for every synchronisation instruction, in a
/// fixed order.
template <typename Visit>
void forEachSync(const std::vector<to_sim::LaunchProgram> &launches, Visit visit) {
  for (size_t launch = 0; launch < launches.size(); ++launch)
    for (sim::CoreKind core : {sim::CoreKind::AIC, sim::CoreKind::AIV}) {
      const sim::Program &program = launches[launch].program;
      const auto &code = (core == sim::CoreKind::AIC ? program.aic : program.aiv).code;
      for (size_t index = 0; index < code.size(); ++index)
        if (isSync(code[index]))
          visit(launch, core, index, code[index]);
    }
}

/// How to break a synchronisation instruction. A signal before the first block stands for work that
/// never was: without it the first wait waits for ever, while the order that it makes is empty.
sim::Mutation::Kind mutationOf(const sim::Program &program, sim::CoreKind core, size_t code,
                               const sim::Insn &insn, bool hold) {
  if (hold)
    return sim::Mutation::Kind::HoldProducer;
  const auto &all = (core == sim::CoreKind::AIC ? program.aic : program.aiv).code;
  bool isFirst = std::none_of(all.begin(), all.begin() + code,
                              [](auto &other) { return other.op == sim::Opcode::BeginBlock; });
  bool isSet = insn.op == sim::Opcode::SetFlag || insn.op == sim::Opcode::BlockSet;
  return isFirst && isSet ? sim::Mutation::Kind::Delete : sim::Mutation::Kind::Drop;
}

/// Loads a chip; says why it is none, or why a memory plan made for another one does not fit it.
std::string planProblem(const std::vector<to_sim::LaunchProgram> &launches,
                        const std::string &nameOrPath, machine::LoadResult &loaded) {
  loaded = machine::loadChip(nameOrPath);
  if (!loaded.error.empty())
    return loaded.error;
  const machine::Machine &chip = loaded.machine;
  for (const to_sim::LaunchProgram &launch : launches)
    for (const sim::BufferInfo &buffer : launch.program.buffers) {
      if (buffer.space == sim::Space::GM)
        continue;
      int64_t end = buffer.address + buffer.bytes * std::max(buffer.slots, 1);
      int64_t bytes = sim::spaceBytes(chip, buffer.core, buffer.space);
      if (end > bytes)
        return "E0913: this kernel's memory plan does not fit " + chip.name + ": '" + buffer.name +
               "' ends at byte " + std::to_string(end) + " of " + sim::nameOf(buffer.space) +
               ", which has " + std::to_string(bytes) + "; compile it for " + chip.name;
    }
  return "";
}

} // namespace

/// Forms of the pipeline in which the tiles may fit, the best first. The last one is what the error
/// is about when none does.
static std::vector<passes::PipelineOptions> waysToFit(ModuleOp module,
                                                      const passes::PipelineOptions &options) {
  bool hasProducts = false, hasOthers = false; // launches with cube work, and without
  module.walk([&](tile::LaunchOp launch) {
    bool found = launch.walk([](tile::GemmOp) { return WalkResult::interrupt(); }).wasInterrupted();
    (found ? hasProducts : hasOthers) = true;
  });
  std::vector<passes::PipelineOptions> ways;
  auto add = [&](bool keepSlots, int64_t parts) -> passes::PipelineOptions & {
    passes::PipelineOptions way = options;
    way.keepSlots = keepSlots;
    way.parts = parts;
    way.forceSplitRows = parts > 1;
    ways.push_back(way);
    return ways.back();
  };
  constexpr int64_t kParts[] = {2, 4, 8, 16};
  bool canCut = hasOthers && !llvm::is_contained(options.disable, "split-rows");
  if (canCut && options.has("pipeline")) {
    add(/*keepSlots=*/true, 0);
    for (int64_t parts : kParts)
      add(/*keepSlots=*/true, parts);
  }
  add(/*keepSlots=*/false, 0);
  if (canCut)
    for (int64_t parts : kParts)
      add(/*keepSlots=*/false, parts);
  if (hasProducts && options.has("fuse-turns"))
    add(/*keepSlots=*/false, 0).fusedTurns = false;
  // Values between the statements of a row that cannot be cut.
  constexpr int64_t kStrips[] = {4096, 1024};
  if (hasOthers)
    for (int64_t strip : kStrips)
      add(/*keepSlots=*/false, 0).strip = strip;
  bool canSkew = hasProducts && options.has("pipeline") && options.has("skew");
  auto addPlain = [&]() -> passes::PipelineOptions & {
    passes::PipelineOptions &way = add(/*keepSlots=*/false, 0);
    way.lateStages = !canSkew;
    way.fusedTurns = false;
    return way;
  };
  if (canCut || canSkew)
    addPlain();
  // Half the rows on each vector core is the last thing that may make the tiles fit.
  if (hasProducts && !options.has("split-rows"))
    addPlain().forceSplitRows = true;
  // Instructions that the unit lacks need no tiles for their parts.
  add(/*keepSlots=*/false, 0).legal = false;
  return ways;
}

/// Runs the stages and translates the launches; false after an error, which is in the diagnostics.
bool Kernel::Impl::build(DiagnosticCollector &collector) {
  std::string failedStage;
  std::vector<passes::PipelineOptions> ladder = waysToFit(*built, pipeline);
  for (size_t rung = 0; rung < ladder.size(); ++rung) {
    collector.reset();
    if (rung > 0)
      final = built->clone();
    pipeline = ladder[rung];
    failedStage = runStages(*final, pipeline, options.dumpDir, collector);
    if (failedStage != "npu-plan-memory" && failedStage != "tile-split-rows")
      break;
  }
  forceSplitRows = pipeline.forceSplitRows;
  parts = pipeline.parts;
  strip = pipeline.strip;
  lateStages = pipeline.lateStages;
  fusedTurns = pipeline.fusedTurns;
  legal = pipeline.legal;
  return failedStage.empty() && translate();
}

/// Refuses constant ids of events and of signals between cores that the chip does not have. Those
/// that are computed are checked where they are used.
static bool checkIds(ModuleOp module, const machine::Machine &chip) {
  bool fine = true;
  auto check = [&](Operation *op, int64_t id, Value plus, int64_t count, StringRef what) {
    auto more = plus ? tile::constantOf(plus) : std::optional<int64_t>(0);
    if (plus && isa<MemRefType>(plus.getType()))
      more = std::nullopt;
    if (!more || (id + *more >= 0 && id + *more < count))
      return;
    op->emitError("E0710: the ") << what << " has number " << id + *more << ", but " << chip.name
                                 << " has 0 to " << count - 1 << "; choose one of these";
    fine = false;
  };
  module.walk([&](Operation *op) {
    constexpr StringLiteral event = "event between two pipes", signal = "signal between cores";
    llvm::TypeSwitch<Operation *>(op)
        .Case<npu::SetFlagOp, npu::WaitFlagOp>([&](auto flag) {
          check(op, flag.getId(), flag.getRotate(), chip.flagIdsPerPipePair, event);
        })
        .Case([&](npu::CoreBarrierOp barrier) {
          check(op, barrier.getId(), Value(), chip.blockFlagIds, signal);
        })
        .Case<npu::BlockSetOp, npu::BlockWaitOp>([&](auto sync) {
          if (sync.getPipe() != Pipe::All)
            check(op, sync.getId(), sync.getPlus(), chip.blockFlagIds, signal);
        });
  });
  return fine;
}

bool Kernel::Impl::translate() {
  if (!checkIds(*final, chip))
    return false;
  bool translated = true;
  hostFunction(*final).walk([&](npu::LaunchOp launch) {
    auto program = to_sim::translateLaunch(launch);
    if (failed(program)) {
      translated = false;
      return;
    }
    launches.push_back(std::move(*program));
    operands.emplace_back();
    for (Value operand : launch.getOperands()) {
      LaunchOperand entry;
      if (auto argument = dyn_cast<BlockArgument>(operand))
        entry.parameter = argument.getArgNumber();
      else if (auto symbol = operand.getDefiningOp<tile::SymbolOp>())
        entry.symbol = symbol.getName().str();
      operands.back().push_back(entry);
    }
  });
  return translated;
}

/// build(), or what an earlier one of the same left in the cache. "The same" is everything that
/// build() reads: the module with its locations, the options, the chip, and this compiler.
bool Kernel::Impl::buildOrLoad(const std::string &chipText, DiagnosticCollector &collector,
                               std::vector<Diagnostic> &diagnostics) {
  std::string compiler = buildId();
  if (compiler.empty()) {
    cacheUse = CacheUse::Unusable;
    cacheProblem = "this build of tilewright has no build id, by which entries would be known";
    return build(collector);
  }
  std::string stages = llvm::join(options.disable, ",");
  std::string levels = {static_cast<char>('0' + options.optLevel), options.strict ? 's' : '-'};
  std::string key = DiskCache::keyOf(
      {versionText(), compiler, chipText, levels, stages, printModule(*built, /*locations=*/true)});
  DiskCache cache(options.cacheFolder, options.cacheBytes);
  if (auto bytes = cache.load(key)) {
    Compiled kept;
    std::vector<Diagnostic> said;
    if (unpack(*bytes, kept, said)) {
      static_cast<Compiled &>(*this) = std::move(kept);
      pipeline.forceSplitRows = forceSplitRows;
      pipeline.parts = parts;
      pipeline.strip = strip;
      pipeline.lateStages = lateStages;
      pipeline.fusedTurns = fusedTurns;
      pipeline.legal = legal;
      diagnostics = std::move(said);
      final = nullptr;
      cacheUse = CacheUse::Hit;
      return true;
    }
  }
  if (!build(collector))
    return false;
  npuText = printModule(*final);
  // A chip file that changed meanwhile was read by some stages before and by others after.
  if (machine::loadChip(options.chip).text == chipText)
    cacheProblem = cache.store(key, pack(*this, diagnostics));
  cacheUse = cacheProblem.empty() ? CacheUse::Stored : CacheUse::Unusable;
  return true;
}

/// compile() in a context that the caller has locked or has to itself.
static CompileResult compileModule(std::shared_ptr<Shared> shared, OwningOpRef<ModuleOp> module,
                                   const CompileOptions &options) {
  CompileResult result;
  for (const std::string &name : options.disable)
    if (!llvm::is_contained(switchNames(), name)) {
      result.diagnostics.push_back({Severity::Error,
                                    "E0815: there is no stage '" + name +
                                        "' to switch off; there are " +
                                        llvm::join(switchNames(), ", "),
                                    {},
                                    {}});
      return result;
    }
  auto impl = std::make_unique<Kernel::Impl>();
  impl->options = options;
  impl->pipeline = pipelineOptions(options);
  machine::LoadResult chip = machine::loadChip(options.chip);
  if (!chip.error.empty()) {
    result.diagnostics.push_back({Severity::Error, chip.error, {}, {}});
    return result;
  }
  impl->chip = chip.machine;
  impl->uncertain = machine::uncertainOf(chip);
  impl->built = module->clone();
  impl->final = std::move(module);
  impl->shared = std::move(shared);

  DiagnosticCollector collector(*impl->shared->context, result.diagnostics, impl->remarks);
  func::FuncOp function = hostFunction(*impl->built);
  if (!function || failed(verify(*impl->built)))
    return result;
  impl->name = function.getName().str();
  impl->host = std::make_unique<HostProgram>(function);

  // Whoever wants to see the stages at work gets them.
  bool isCached = !options.cacheFolder.empty() && options.dumpDir.empty() && !options.verifyEach;
  bool isBuilt = options.interpretOnly ||
                 (isCached ? impl->buildOrLoad(chip.text, collector, result.diagnostics)
                           : impl->build(collector));
  if (!isBuilt)
    return result;
  result.kernel = std::make_shared<const Kernel>(std::move(impl));
  return result;
}

CompileResult driver::compile(std::unique_ptr<builder::ModuleHandle> handle,
                              const CompileOptions &options) {
  auto shared = std::make_shared<Shared>();
  shared->context = std::move(handle->context);
  shared->context->disableMultithreading();
  shared->context->printOpOnDiagnostic(false);
  if (options.manualSync)
    handle->module->walk([](tile::LaunchOp launch) {
      launch->setAttr(tile::kManualSyncAttr, UnitAttr::get(launch.getContext()));
    });
  return compileModule(shared, std::move(handle->module), options);
}

CompileResult Kernel::recompile(const std::vector<std::string> &disable) const {
  if (!impl->built)
    return {nullptr, {{Severity::Error, "a kernel that was read as text has no stages", {}, {}}}};
  CompileOptions options = impl->options;
  options.disable.insert(options.disable.end(), disable.begin(), disable.end());
  options.dumpDir.clear();
  std::lock_guard<std::mutex> lock(impl->shared->mutex);
  return compileModule(impl->shared, impl->built->clone(), options);
}

Kernel::Kernel(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Kernel::~Kernel() = default;

const std::string &Kernel::name() const { return impl->name; }
const std::vector<Parameter> &Kernel::parameters() const { return impl->host->parameters(); }
const std::vector<Remark> &Kernel::remarks() const { return impl->remarks; }
CacheUse Kernel::cacheUse() const { return impl->cacheUse; }
const std::string &Kernel::cacheProblem() const { return impl->cacheProblem; }

std::vector<std::vector<int64_t>> Kernel::outputShapes(const std::vector<Argument> &inputs,
                                                       std::string &error) const {
  std::map<std::string, int64_t> symbols;
  error = impl->host->bind(inputs, /*withOutputs=*/false, symbols);
  return error.empty() ? impl->host->outputShapes(symbols, error)
                       : std::vector<std::vector<int64_t>>();
}

RunReport Kernel::run(const std::vector<Argument> &arguments, const RunOptions &options) const {
  std::map<std::string, int64_t> symbols;
  RunReport report;
  report.error = impl->host->bind(arguments, /*withOutputs=*/true, symbols);
  if (!report.error.empty()) {
    report.ok = false;
    return report;
  }
  return options.engine == Engine::Interpreter ? impl->interpret(arguments, symbols, options)
                                               : impl->simulate(arguments, symbols, options);
}

RunReport Kernel::retime(const RunReport &stored, const std::string &chip,
                         const std::map<std::string, double> &constants) const {
  RunReport report;
  report.kernel = stored.kernel;
  report.isTimingOnly = stored.isTimingOnly;
  report.instructions = stored.instructions;
  auto fail = [&](std::string text) {
    report.ok = false;
    report.error = std::move(text);
    return report;
  };
  if (stored.launches.size() != impl->launches.size())
    return fail("the run is of another kernel");
  std::optional<machine::Machine> where;
  if (!chip.empty()) {
    machine::LoadResult loaded = machine::loadChip(chip);
    if (!loaded.error.empty())
      return fail(loaded.error);
    where = std::move(loaded.machine);
  }
  for (size_t index = 0; index < impl->launches.size(); ++index) {
    const auto &launch = stored.launches[index].stored;
    if (!launch)
      return fail("nothing was stored of the run");
    machine::Machine machine = where ? *where : launch->chip;
    for (const auto &[key, value] : constants)
      if (std::string problem = machine::setParameter(machine, key, value); !problem.empty())
        return fail(problem);
    if (std::string problem = machine::inconsistency(machine); !problem.empty())
      return fail(problem);
    report.chip = machine.name;
    report.clockMHz = machine.clockMHz;
    sim::RunResult result;
    if (std::string problem = sim::retime(impl->launches[index].program, *launch, machine, result);
        !problem.empty())
      return fail(problem);
    sim::addLaunch(report, impl->launches[index].program, result, true);
  }
  return report;
}

std::string Kernel::chipProblem(const std::string &nameOrPath) const {
  machine::LoadResult chip;
  return planProblem(impl->launches, nameOrPath, chip);
}

OwningOpRef<ModuleOp> Kernel::Impl::moduleAfter(StringRef stage) const {
  if (!built) // read as text
    return nullptr;
  OwningOpRef<ModuleOp> module = built->clone();
  if (stage.empty() || stage == "tile")
    return module;
  if (failed(runStagesUntil(*module, pipeline, stage)))
    return nullptr;
  return module;
}

RunReport Kernel::Impl::interpret(const std::vector<Argument> &arguments,
                                  const std::map<std::string, int64_t> &symbols,
                                  const RunOptions &run) const {
  RunReport report;
  std::lock_guard<std::mutex> lock(shared->mutex);
  OwningOpRef<ModuleOp> module = moduleAfter(run.stage);
  if (!module) {
    report.ok = false;
    report.error = "E0815: there is no stage '" + run.stage + "' that the interpreter can run";
    return report;
  }
  std::vector<interp::Argument> values;
  for (const Argument &argument : arguments)
    values.push_back({argument.data, argument.shape, argument.integer, argument.real});
  interp::Options limits;
  if (run.maxInstructions > 0)
    limits.maxSteps = run.maxInstructions;
  limits.compare = run.compare;
  limits.isInterrupted = run.isInterrupted;
  if (run.atBreakpoint)
    limits.atBreakpoint = [&](const interp::Stop &at) {
      Stop stop{sourceLocationOf(at.location), at.block, {}};
      for (const interp::Visible &seen : at.visible)
        stop.visible.push_back({seen.name, seen.dtype, seen.shape, seen.data, seen.bytes});
      return run.atBreakpoint(stop);
    };
  interp::Outcome outcome = interp::interpret(hostFunction(*module), values, symbols, limits);
  report.ok = outcome.ok;
  report.error = outcome.error;
  if (!outcome.ok)
    report.errorLocation = sourceLocationOf(outcome.location);
  report.printed = outcome.printed;
  for (const interp::Departure &found : outcome.departures) {
    sim::FindingReport finding;
    finding.kind = found.kind;
    finding.tool = "compare";
    finding.message = found.message;
    finding.memory = found.tile;
    finding.location = sourceLocationOf(found.location);
    finding.block = found.block;
    report.findings.push_back(finding);
  }
  return report;
}

/// Scalars travel as 64-bit values: integers extended, floats as bits, f16 and bf16 as f32.
int64_t Kernel::Impl::scalarBits(size_t launch, const to_sim::ScalarSource &source,
                                 const std::vector<Argument> &arguments,
                                 const std::map<std::string, int64_t> &symbols) const {
  const LaunchOperand &operand = operands[launch][source.operand];
  if (operand.parameter < 0)
    return symbols.at(operand.symbol);
  const Argument &argument = arguments[operand.parameter];
  if (source.dim >= 0)
    return argument.shape[source.dim];
  StringRef dtype = host->parameters()[operand.parameter].dtype;
  if (dtype == "float64")
    return std::bit_cast<int64_t>(argument.real);
  if (dtype == "float16")
    return std::bit_cast<uint32_t>(support::roundToHalf(static_cast<float>(argument.real)));
  if (dtype == "bfloat16")
    return std::bit_cast<uint32_t>(support::roundToBfloat(static_cast<float>(argument.real)));
  if (dtype == "float32")
    return std::bit_cast<uint32_t>(static_cast<float>(argument.real));
  return argument.integer;
}

RunReport Kernel::Impl::simulate(const std::vector<Argument> &arguments,
                                 const std::map<std::string, int64_t> &symbols,
                                 const RunOptions &run) const {
  RunReport refused;
  machine::LoadResult other;
  if (options.interpretOnly)
    refused.error = "E0815: kernel " + name + " was compiled for the interpreter alone";
  if (refused.error.empty() && !run.chip.empty()) {
    refused.error = planProblem(launches, run.chip, other);
  }
  refused.ok = refused.error.empty();
  if (!refused.ok)
    return refused;
  const machine::Machine &where = run.chip.empty() ? chip : other.machine;
  std::vector<machine::Parameter> unsure;
  if (run.sensitivity)
    unsure = run.chip.empty() ? uncertain : machine::uncertainOf(other);
  bool isTimed = run.time || !run.traceFile.empty();
  bool tryWithout =
      run.data != Data::Always && isTimed && !run.check && !run.delaySeed && run.mutant < 0;
  if (!tryWithout)
    return runLaunches(arguments, symbols, run, where, unsure, true);
  RunReport report = runLaunches(arguments, symbols, run, where, unsure, false);
  return report.needsData && run.data == Data::WhenNeeded
             ? runLaunches(arguments, symbols, run, where, unsure, true)
             : report;
}

RunReport Kernel::Impl::runLaunches(const std::vector<Argument> &arguments,
                                    const std::map<std::string, int64_t> &symbols,
                                    const RunOptions &run, const machine::Machine &where,
                                    const std::vector<machine::Parameter> &uncertain,
                                    bool hasData) const {
  RunReport report;
  report.kernel = name;
  report.chip = where.name;
  report.clockMHz = where.clockMHz;
  report.isTimingOnly = !hasData;
  std::set<int> computed; // parameters that earlier launches write
  int mutant = run.mutant;
  for (size_t index = 0; index < launches.size(); ++index) {
    const to_sim::LaunchProgram &launch = launches[index];
    std::vector<sim::TensorArg> tensors;
    for (unsigned operand : launch.tensors) {
      int parameter = operands[index][operand].parameter;
      const Argument &argument = arguments[parameter];
      int64_t elements = 1;
      for (int64_t extent : argument.shape)
        elements *= extent;
      tensors.push_back({argument.data, elements, computed.count(parameter) > 0});
    }
    for (size_t tensor = 0; tensor < tensors.size(); ++tensor)
      if (launch.program.tensors[tensor].written)
        computed.insert(operands[index][launch.tensors[tensor]].parameter);
    std::vector<int64_t> scalars;
    for (const to_sim::ScalarSource &source : launch.scalars)
      scalars.push_back(scalarBits(index, source, arguments, symbols));
    sim::RunOptions options;
    options.time = run.time || !run.traceFile.empty();
    options.timeOnly = !hasData;
    options.sampleWaves = run.sampleWaves;
    options.limits = run.limits;
    options.uncertain = uncertain;
    options.store = run.store;
    options.check = run.check;
    options.trace = !run.traceFile.empty();
    options.delaySeed = run.delaySeed;
    options.numThreads = run.numThreads;
    options.isInterrupted = run.isInterrupted;
    if (run.maxInstructions > 0)
      options.maxInstructions = run.maxInstructions;
    if (run.mutant >= 0)
      forEachSync(launches, [&](size_t at, sim::CoreKind core, size_t code, const sim::Insn &insn) {
        if (mutant-- == 0 && at == index)
          options.mutation =
              sim::Mutation{mutationOf(launch.program, core, code, insn, run.holdProducer), core,
                            static_cast<int32_t>(code)};
      });
    mutant = run.mutant;
    sim::RunResult result = sim::run(launch.program, tensors, scalars, where, options);
    sim::addLaunch(report, launch.program, result, options.time);
    if (report.ok && countsBlocks && !result.hasBlocks) {
      report.ok = false;
      report.error = interp::kEmptyGrid;
    }
    if (!report.ok)
      return report;
    if (options.trace) {
      std::string path = run.traceFile;
      if (launches.size() > 1) {
        size_t dot = path.rfind('.');
        path.insert(dot == std::string::npos ? path.size() : dot, "." + std::to_string(index));
      }
      report.error = sim::writeTrace(launch.program, result, where, path);
      report.ok = report.error.empty();
      if (!report.ok)
        return report;
    }
  }
  if (run.sampleWaves)
    report.error = sim::sampleProblem(report, run.sampleWaves);
  report.ok = report.error.empty();
  return report;
}

std::vector<std::string> Kernel::stages() const { return stageNames(impl->pipeline); }

std::string Kernel::text(const std::string &stage) const {
  std::lock_guard<std::mutex> lock(impl->shared->mutex);
  if (stage == "program") {
    std::string result;
    for (const to_sim::LaunchProgram &launch : impl->launches)
      result += sim::toText(launch.program);
    return result;
  }
  if (stage == "npu" || stage.empty())
    return impl->final ? printModule(*impl->final) : impl->npuText;
  OwningOpRef<ModuleOp> module = impl->moduleAfter(stage);
  return module ? printModule(*module) : "";
}

std::vector<SyncPoint> Kernel::syncPoints() const {
  std::vector<SyncPoint> points;
  forEachSync(
      impl->launches, [&](size_t launch, sim::CoreKind core, size_t, const sim::Insn &insn) {
        std::string text = (core == sim::CoreKind::AIC ? "AIC" : "AIV") + std::string(" launch ") +
                           std::to_string(launch) + ": ";
        std::string p0 = sim::nameOf(insn.p0), p1 = sim::nameOf(insn.p1);
        std::string id =
            " id " + (insn.a >= 0 ? "r" + std::to_string(insn.a) : std::to_string(insn.imm));
        if (insn.op == sim::Opcode::SetFlag)
          text += "set_flag " + p0 + "->" + p1 + id;
        else if (insn.op == sim::Opcode::WaitFlag)
          text += "wait_flag " + p0 + "->" + p1 + id;
        else if (insn.op == sim::Opcode::Barrier)
          text += "barrier " + p0;
        else if (insn.op == sim::Opcode::Meet)
          text += "block_barrier " + p0 + id;
        else
          text += std::string(insn.isSibling ? "sibling " : "") +
                  (insn.op == sim::Opcode::BlockSet ? "block_set " : "block_wait ") + p0 + id;
        points.push_back({text, sim::placeOf(impl->launches[launch].program, insn.location)});
      });
  return points;
}

const std::vector<std::string> &driver::switchNames() { return passes::switchNames(); }

std::map<std::string, double> driver::chipInfo(const std::string &nameOrPath, std::string &error) {
  machine::LoadResult loaded = machine::loadChip(nameOrPath);
  error = loaded.error;
  if (!error.empty())
    return {};
  const machine::Machine &chip = loaded.machine;
  return {{"clock_mhz", chip.clockMHz},
          {"aic_count", chip.aicCount},
          {"aiv_count", chip.aivCount},
          {"ub_bytes", static_cast<double>(chip.ubBytes)},
          {"l1_bytes", static_cast<double>(chip.l1Bytes)},
          {"l0c_bytes", static_cast<double>(chip.l0cBytes)},
          {"l2_bytes", static_cast<double>(chip.l2Bytes)}};
}

std::vector<BufferPlace> Kernel::buffers() const {
  constexpr const char *spaces[] = {"GM", "L1", "L0A", "L0B", "L0C", "UB"};
  std::vector<BufferPlace> places;
  for (const to_sim::LaunchProgram &launch : impl->launches)
    for (const sim::BufferInfo &buffer : launch.program.buffers)
      places.push_back({buffer.name, buffer.core == sim::CoreKind::AIC ? "AIC" : "AIV",
                        spaces[static_cast<int>(buffer.space)], buffer.address, buffer.bytes,
                        buffer.slots, sim::placeOf(launch.program, buffer.location)});
  return places;
}

std::vector<Statement> Kernel::statements() const {
  std::vector<Statement> statements;
  for (const to_sim::LaunchProgram &launch : impl->launches)
    for (sim::CoreKind core : {sim::CoreKind::AIC, sim::CoreKind::AIV}) {
      const sim::CoreProgram &program =
          core == sim::CoreKind::AIC ? launch.program.aic : launch.program.aiv;
      for (const sim::Insn &insn : program.code)
        if (insn.op == sim::Opcode::Issue) {
          const sim::Template &tile = program.templates[insn.imm];
          statements.push_back({core == sim::CoreKind::AIC ? "AIC" : "AIV", tile.label,
                                sim::placeOf(launch.program, tile.location)});
        }
    }
  return statements;
}

std::string driver::versionText() {
  return "tilewright " TILEWRIGHT_VERSION " (LLVM " LLVM_VERSION_STRING ")";
}
