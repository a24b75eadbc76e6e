// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// compile() and Kernel: records of driver/Driver.h as dictionaries and tuples.
#include "tilewright/driver/Driver.h"
#include "tilewright/builder/KernelBuilder.h"
#include "tilewright/builder/ModuleHandle.h"
#include "tilewright/sim/Kernels.h"
#include "tilewright/support/WriteFile.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <thread>

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewright::binding {

namespace {

/// The module of a finished kernel, until it is compiled.
struct Module {
  std::unique_ptr<builder::ModuleHandle> handle;
};

/// Takes the module out of its Python object.
std::unique_ptr<builder::ModuleHandle> takeModule(nb::handle object) {
  auto &module = nb::cast<Module &>(object);
  if (!module.handle)
    throw builder::BuildError("this module was compiled already; build the kernel again");
  return std::move(module.handle);
}

using driver::Kernel;

nb::tuple location(const driver::SourceLocation &where) {
  return nb::make_tuple(where.file, where.line, where.column);
}

const char *severity(driver::Severity value) {
  switch (value) {
  case driver::Severity::Error:
    return "error";
  case driver::Severity::Warning:
    return "warning";
  case driver::Severity::Remark:
    return "remark";
  case driver::Severity::Note:
    return "note";
  }
  return "error";
}

nb::dict diagnostic(const driver::Diagnostic &value) {
  nb::dict result;
  result["severity"] = severity(value.severity);
  result["message"] = value.message;
  result["location"] = location(value.location);
  nb::list notes;
  for (const driver::Diagnostic &note : value.notes)
    notes.append(diagnostic(note));
  result["notes"] = notes;
  return result;
}

const char *cacheUse(driver::CacheUse value) {
  switch (value) {
  case driver::CacheUse::Off:
    return "off";
  case driver::CacheUse::Hit:
    return "hit";
  case driver::CacheUse::Stored:
    return "stored";
  case driver::CacheUse::Unusable:
    return "unusable";
  }
  return "off";
}

nb::dict parameter(const driver::Parameter &value) {
  nb::dict result;
  result["name"] = value.name;
  result["kind"] = value.kind == driver::ArgKind::Tensor ? "tensor" : "scalar";
  result["dtype"] = value.dtype;
  result["shape"] = value.shape;
  result["shape_text"] = value.shapeText;
  result["output"] = value.output;
  result["alias"] = value.alias;
  result["element"] = value.element;
  result["used"] = value.used;
  return result;
}

nb::dict limits(const sim::Limits &value) {
  nb::dict result;
  result["flops"] = value.flops;
  result["read_bytes"] = value.readBytes;
  result["written_bytes"] = value.writtenBytes;
  result["cube_us"] = value.cubeMicroseconds;
  result["memory_us"] = value.memoryMicroseconds;
  result["pipe"] = value.pipe;
  result["pipe_us"] = value.pipeMicroseconds;
  return result;
}

nb::dict sensitivity(const sim::Sensitivity &value) {
  nb::dict result;
  result["least_us"] = value.least;
  result["most_us"] = value.most;
  result["most"] = value.effects.empty() ? "" : value.effects.front().key;
  return result;
}

nb::dict timing(const sim::LaunchReport &value) {
  nb::dict result;
  result["name"] = value.name;
  result["cycles"] = value.cycles;
  result["microseconds"] = value.microseconds;
  result["launch_microseconds"] = value.launchMicroseconds;
  result["launch_warm_microseconds"] = value.launchWarmMicroseconds;
  result["aic_count"] = value.aicCount;
  result["aiv_count"] = value.aivCount;
  result["aic_busy"] = value.aicBusy;
  result["aiv_busy"] = value.aivBusy;
  result["gm_read_bytes"] = value.gmReadBytes;
  result["gm_write_bytes"] = value.gmWriteBytes;
  result["hbm_bytes"] = value.hbmBytes;
  result["exchange_bytes"] = value.exchangeBytes;
  result["events"] = value.events;
  result["core_blocks"] = value.allWaves; // of the core that has most
  if (value.timedWaves)
    result["waves"] = nb::make_tuple(value.timedWaves, value.allWaves);
  nb::list lines;
  for (const auto &[where, cycles] : value.lineCycles)
    lines.append(nb::make_tuple(location(where), cycles));
  result["line_cycles"] = lines;
  if (value.limits)
    result["limits"] = limits(*value.limits);
  if (value.sensitivity)
    result["sensitivity"] = sensitivity(*value.sensitivity);
  return result;
}

nb::dict report(const driver::RunReport &value) {
  nb::dict result;
  result["ok"] = value.ok;
  result["error"] = value.error;
  result["error_location"] = location(value.errorLocation);
  result["needs_data"] = value.needsData;
  nb::list findings;
  for (const sim::FindingReport &finding : value.findings) {
    nb::dict entry;
    entry["kind"] = finding.kind;
    entry["code"] = finding.code;
    entry["tool"] = finding.tool;
    entry["message"] = finding.message;
    entry["memory"] = finding.memory;
    entry["edge"] = finding.edge;
    entry["location"] = location(finding.location);
    entry["other_location"] = location(finding.otherLocation);
    entry["block"] = finding.block;
    entry["count"] = finding.count;
    findings.append(entry);
  }
  result["findings"] = findings;
  nb::list launches;
  for (const sim::LaunchReport &launch : value.launches)
    launches.append(timing(launch));
  result["launches"] = launches;
  result["printed"] = value.printed;
  result["instructions"] = value.instructions;
  return result;
}

/// (pointer, shape, dtype) tuples are tensors; everything else is a scalar.
std::vector<driver::Argument> arguments(const nb::sequence &list) {
  std::vector<driver::Argument> result;
  for (nb::handle item : list) {
    driver::Argument argument;
    if (nb::isinstance<nb::tuple>(item)) {
      auto tuple = nb::cast<nb::tuple>(item);
      if (tuple.size() != 3)
        throw nb::type_error("a tensor argument is a tuple (pointer, shape, dtype)");
      argument.data = reinterpret_cast<void *>(nb::cast<uintptr_t>(tuple[0]));
      argument.shape = nb::cast<std::vector<int64_t>>(tuple[1]);
      argument.dtype = nb::cast<std::string>(tuple[2]);
    } else if (PyBool_Check(item.ptr())) {
      argument.integer = item.ptr() == Py_True;
      argument.real = static_cast<double>(argument.integer);
      argument.dtype = "bool";
    } else if (PyFloat_Check(item.ptr())) {
      argument.real = nb::cast<double>(item);
      argument.integer = static_cast<int64_t>(argument.real);
      argument.dtype = "float";
    } else {
      argument.integer = PyLong_Check(item.ptr())
                             ? static_cast<int64_t>(PyLong_AsUnsignedLongLongMask(item.ptr()))
                             : nb::cast<int64_t>(item);
      argument.real = nb::cast<double>(nb::float_(item));
      argument.dtype = "int";
    }
    result.push_back(std::move(argument));
  }
  return result;
}

nb::tuple compiled(const driver::CompileResult &result) {
  nb::list diagnostics;
  for (const driver::Diagnostic &entry : result.diagnostics)
    diagnostics.append(diagnostic(entry));
  nb::object kernel =
      result.kernel ? nb::cast(std::const_pointer_cast<Kernel>(result.kernel)) : nb::none();
  return nb::make_tuple(kernel, diagnostics);
}

nb::tuple compile(nb::handle module, const std::string &chip, int optLevel, bool strict,
                  bool verifyEach, const std::string &dumpDir, std::vector<std::string> disable,
                  bool interpretOnly, bool manualSync, const std::string &cacheFolder,
                  uint64_t cacheBytes) {
  driver::CompileOptions options;
  options.chip = chip;
  options.optLevel = optLevel;
  options.strict = strict;
  options.verifyEach = verifyEach;
  options.dumpDir = dumpDir;
  options.disable = std::move(disable);
  options.interpretOnly = interpretOnly;
  options.manualSync = manualSync;
  options.cacheFolder = cacheFolder;
  options.cacheBytes = cacheBytes;
  auto handle = takeModule(module);
  driver::CompileResult result;
  {
    nb::gil_scoped_release release;
    result = driver::compile(std::move(handle), options);
  }
  return compiled(result);
}

nb::tuple recompile(const Kernel &kernel, const std::vector<std::string> &disable) {
  driver::CompileResult result;
  {
    nb::gil_scoped_release release;
    result = kernel.recompile(disable);
  }
  return compiled(result);
}

nb::tuple loadText(const std::string &text, const std::string &fileName, const std::string &chip) {
  driver::CompileResult result;
  {
    nb::gil_scoped_release release;
    result = driver::loadText(text, fileName, chip);
  }
  return compiled(result);
}

nb::tuple hivm(const Kernel &kernel, const std::string &form) {
  driver::HivmResult result;
  {
    nb::gil_scoped_release release;
    result = kernel.hivm(form);
  }
  nb::list launches, diagnostics;
  for (const driver::HivmLaunch &launch : result.launches) {
    nb::list parameters;
    for (const driver::HivmParameter &parameter : launch.parameters) {
      nb::dict entry;
      entry["kind"] = parameter.kind;
      entry["name"] = parameter.name;
      entry["type"] = parameter.type;
      entry["parameter"] = parameter.parameter;
      entry["symbol"] = parameter.symbol;
      entry["dim"] = parameter.dim;
      parameters.append(entry);
    }
    nb::dict entry;
    entry["name"] = launch.name;
    entry["core"] = launch.core;
    entry["text"] = launch.text;
    entry["workspace_bytes"] = launch.workspaceBytes;
    entry["parameters"] = parameters;
    launches.append(entry);
  }
  for (const driver::Diagnostic &entry : result.diagnostics)
    diagnostics.append(diagnostic(entry));
  return nb::make_tuple(launches, diagnostics);
}

nb::object expert(const Kernel &kernel) {
  std::string text;
  std::vector<driver::Diagnostic> found;
  {
    nb::gil_scoped_release release;
    found = kernel.expert(text);
  }
  nb::list diagnostics;
  for (const driver::Diagnostic &entry : found)
    diagnostics.append(diagnostic(entry));
  return nb::make_tuple(text, diagnostics);
}

driver::Data dataOption(const std::string &text) {
  if (text == "always")
    return driver::Data::Always;
  if (text == "when-needed")
    return driver::Data::WhenNeeded;
  if (text == "never")
    return driver::Data::Never;
  throw nb::value_error("data must be 'always', 'when-needed' or 'never'");
}

/// A run that can be timed again.
struct StoredRun {
  std::shared_ptr<const driver::RunReport> report;
};

nb::dict run(const Kernel &kernel, const nb::sequence &list, const std::string &engine,
             const std::string &stage, bool time, bool check, std::optional<uint64_t> delaySeed,
             const std::string &traceFile, int numThreads, int mutant, bool holdProducer,
             int64_t maxInstructions, const std::string &data, const std::string &chip, bool json,
             bool limits, bool sensitivity, bool store, int32_t sampleWaves, double compare,
             const nb::object &atBreakpoint) {
  if (engine != "simulator" && engine != "interpreter")
    throw nb::value_error("engine must be 'simulator' or 'interpreter'");
  driver::RunOptions options;
  options.engine = engine == "simulator" ? driver::Engine::Simulator : driver::Engine::Interpreter;
  options.stage = stage;
  options.time = time;
  options.check = check;
  options.limits = limits;
  options.sensitivity = sensitivity;
  options.store = store;
  options.delaySeed = delaySeed;
  options.traceFile = traceFile;
  options.numThreads = numThreads;
  options.maxInstructions = maxInstructions;
  options.data = dataOption(data);
  options.sampleWaves = sampleWaves;
  options.compare = compare;
  options.chip = chip;
  options.mutant = mutant;
  options.holdProducer = holdProducer;
  std::optional<nb::python_error> raised; // by what looks at a breakpoint
  if (!atBreakpoint.is_none())
    options.atBreakpoint = [&](const driver::Stop &stop) {
      nb::gil_scoped_acquire acquire;
      try {
        nb::list visible;
        for (const driver::Visible &seen : stop.visible)
          visible.append(nb::make_tuple(seen.name, seen.dtype, seen.shape,
                                        nb::bytes(seen.data, static_cast<size_t>(seen.bytes))));
        atBreakpoint(location(stop.location), stop.block, visible);
      } catch (nb::python_error &error) {
        raised.emplace(std::move(error));
      }
      return !raised;
    };
  // Only the thread that called can hear a signal.
  std::atomic<bool> isStopped = false;
  options.isInterrupted = [&isStopped, caller = std::this_thread::get_id()] {
    if (isStopped || std::this_thread::get_id() != caller)
      return isStopped.load();
    nb::gil_scoped_acquire acquire;
    isStopped = PyErr_CheckSignals() != 0;
    return isStopped.load();
  };
  auto given = arguments(list);
  driver::RunReport result;
  {
    nb::gil_scoped_release release;
    result = kernel.run(given, options);
  }
  if (raised)
    throw std::move(*raised);
  if (isStopped)
    throw nb::python_error();
  nb::dict found = report(result);
  if (json)
    found["json"] = sim::toJson(result);
  if (store)
    found["stored"] = StoredRun{std::make_shared<const driver::RunReport>(std::move(result))};
  return found;
}

/// As run(), with the JSON.
nb::dict retime(const Kernel &kernel, const StoredRun &stored, const std::string &chip,
                const std::map<std::string, double> &constants) {
  driver::RunReport result = kernel.retime(*stored.report, chip, constants);
  nb::dict found = report(result);
  found["json"] = sim::toJson(result);
  return found;
}

/// The inverse of report() for one finding.
sim::FindingReport findingOf(const nb::dict &entry) {
  auto text = [&](const char *key) { return nb::cast<std::string>(entry[key]); };
  auto place = [&](const char *key) {
    auto [file, line, column] = nb::cast<std::tuple<std::string, int, int>>(entry[key]);
    return sim::Place{file, line, column};
  };
  return {.kind = text("kind"),
          .tool = text("tool"),
          .message = text("message"),
          .memory = text("memory"),
          .edge = text("edge"),
          .location = place("location"),
          .otherLocation = place("other_location"),
          .block = nb::cast<int64_t>(entry["block"]),
          .count = nb::cast<int64_t>(entry["count"])};
}

/// Writes the findings as SARIF; what went wrong, empty when nothing did.
std::string writeSarif(const std::vector<nb::dict> &entries, const std::string &version,
                       const std::string &path) {
  std::vector<sim::FindingReport> findings;
  for (const nb::dict &entry : entries)
    findings.push_back(findingOf(entry));
  return support::writeWhole(path, sim::toSarif(findings, version));
}

} // namespace

nb::object finish(builder::KernelBuilder &builder) { return nb::cast(Module{builder.finish()}); }

void defineDriver(nb::module_ &m) {
  nb::class_<Module>(m, "Module", "A finished kernel, ready to be compiled once.")
      .def("__str__", [](const Module &module) {
        return module.handle ? builder::textOf(*module.handle) : "<a module that was compiled>";
      });
  nb::class_<StoredRun>(m, "StoredRun", "What a run did, to be timed again by its kernel.");
  nb::class_<Kernel>(m, "Kernel", "A compiled kernel; may be run from several threads.")
      .def_prop_ro("name", &Kernel::name)
      .def_prop_ro("cache_use", [](const Kernel &kernel) { return cacheUse(kernel.cacheUse()); })
      .def_prop_ro("cache_problem", &Kernel::cacheProblem)
      .def_prop_ro("parameters",
                   [](const Kernel &kernel) {
                     nb::list list;
                     for (const driver::Parameter &value : kernel.parameters())
                       list.append(parameter(value));
                     return list;
                   })
      .def_prop_ro("remarks",
                   [](const Kernel &kernel) {
                     nb::list list;
                     for (const driver::Remark &remark : kernel.remarks()) {
                       nb::dict entry;
                       entry["stage"] = remark.stage;
                       entry["kind"] = remark.kind;
                       entry["message"] = remark.message;
                       entry["location"] = location(remark.location);
                       list.append(entry);
                     }
                     return list;
                   })
      .def(
          "output_shapes",
          [](const Kernel &kernel, const nb::sequence &list) {
            std::string error;
            auto shapes = kernel.outputShapes(arguments(list), error);
            return nb::make_tuple(shapes, error);
          },
          "Shapes of all outputs, and what is wrong with the arguments (empty when nothing is).")
      .def("chip_problem", &Kernel::chipProblem, "chip"_a,
           "Why the compiled program cannot run on another chip; empty when it can.")
      .def("run", &run, "arguments"_a, "engine"_a = "simulator", "stage"_a = "", "time"_a = false,
           "check"_a = false, "delay_seed"_a.none() = nb::none(), "trace_file"_a = "",
           "num_threads"_a = 0, "mutant"_a = -1, "hold_producer"_a = false,
           "max_instructions"_a = 0, "data"_a = "always", "chip"_a = "", "json"_a = false,
           "limits"_a = false, "sensitivity"_a = false, "store"_a = false, "sample_waves"_a = 0,
           "compare"_a = 0.0, "at_breakpoint"_a.none() = nb::none())
      .def("retime", &retime, "stored"_a, "chip"_a = "", "constants"_a = nb::dict(),
           "Times of a stored run on another chip or with other constants.")
      .def("recompile", &recompile, "disable"_a,
           "The kernel with more stages switched off: as `compile` returns it.")
      .def("hivm", &hivm, "form"_a,
           "(launches, diagnostics): the launches as text of the dialect HIVM.")
      .def("expert", &expert, "(source, diagnostics): the program as Python of T.Cores.")
      .def_prop_ro("hivm_target", &Kernel::hivmTarget)
      .def("text", &Kernel::text)
      .def("stages", &Kernel::stages)
      .def("sync_points",
           [](const Kernel &kernel) {
             nb::list list;
             for (const driver::SyncPoint &point : kernel.syncPoints())
               list.append(nb::make_tuple(point.text, location(point.location)));
             return list;
           })
      .def("buffers",
           [](const Kernel &kernel) {
             nb::list list;
             for (const driver::BufferPlace &place : kernel.buffers()) {
               nb::dict entry;
               entry["name"] = place.name;
               entry["core"] = place.core;
               entry["space"] = place.space;
               entry["address"] = place.address;
               entry["bytes"] = place.bytes;
               entry["slots"] = place.slots;
               entry["location"] = location(place.location);
               list.append(entry);
             }
             return list;
           })
      .def("statements", [](const Kernel &kernel) {
        nb::list list;
        for (const driver::Statement &statement : kernel.statements())
          list.append(nb::make_tuple(statement.core, statement.text, location(statement.location)));
        return list;
      });
  m.def("compile", &compile, "module"_a, "chip"_a = "910b3", "opt_level"_a = 2, "strict"_a = false,
        "verify_each"_a = false, "dump_dir"_a = "", "disable"_a = std::vector<std::string>(),
        "interpret_only"_a = false, "manual_sync"_a = false, "cache_folder"_a = "",
        "cache_bytes"_a = 0, "Compiles a finished module: (Kernel or None, diagnostics).");
  m.def(
      "chip_info",
      [](const std::string &nameOrPath) {
        std::string error;
        auto info = driver::chipInfo(nameOrPath, error);
        if (!error.empty())
          throw nb::value_error(error.c_str());
        return info;
      },
      "chip"_a, "Core counts, clock and memory sizes of a chip; ValueError for an unknown one.");
  m.def(
      "place_temporaries",
      [](const std::string &text) {
        std::string problem;
        std::string result = driver::placeTemporaries(text, problem);
        return nb::make_tuple(result, problem);
      },
      "text"_a,
      "Planned HIVM text in generic form, whose hidden temporaries get memory: (text, problem).");
  m.def("load_text", &loadText, "text"_a, "file_name"_a, "chip"_a,
        "The program of planned npu or HIVM text: (kernel or None, diagnostics).");
  m.def("switch_names", &driver::switchNames, "What `disable` of `compile` knows.");
  m.def("version", &driver::versionText);
  m.def("write_sarif", &writeSarif, "findings"_a, "version"_a, "path"_a,
        "Writes findings of reports as SARIF 2.1.0; what went wrong, empty when nothing did.");
  m.def("kernel_levels", &sim::kernelLevels,
        "Instruction set levels of the simulator's kernels that this CPU has, best first.");
  m.def(
      "use_kernel_level",
      [](const std::string &name) {
        if (sim::useKernelLevel(name))
          return;
        std::string known;
        for (const std::string &level : sim::kernelLevels())
          known += (known.empty() ? "" : ", ") + level;
        throw nb::value_error(("no level named '" + name + "': this CPU has " + known).c_str());
      },
      "name"_a, "Runs kernels on that level from now on. Results do not depend on it.");
  m.def("build_id", &driver::buildId, "Identifies this build of the compiler; may be empty.");
}

} // namespace tilewright::binding
