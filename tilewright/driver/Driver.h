// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/Report.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::builder {
struct ModuleHandle; ///< context and module, see builder/ModuleHandle.h
} // namespace tilewright::builder

/// The one way from a built module to results. No MLIR in this header.
namespace tilewright::driver {

using SourceLocation = sim::Place;
using RunReport = sim::Report;

enum class Severity { Error, Warning, Remark, Note };

/// An error, warning or note at a place of the user's source.
struct Diagnostic {
  Severity severity = Severity::Error;
  std::string message;
  SourceLocation location;
  std::vector<Diagnostic> notes;
};

/// What an automatic stage decided and why.
struct Remark {
  std::string stage; ///< pass name: "tile-split-cores"
  std::string kind;  ///< applied, missed, fallback, assumption
  std::string message;
  SourceLocation location;
};

struct CompileOptions {
  std::string chip = "910b3";
  int optLevel = 2;                 ///< 0: the plain form of every stage
  bool strict = false;              ///< no rounding-changing pass but the partial product
  bool verifyEach = false;          ///< run the checkers after every pass
  std::string dumpDir;              ///< write the IR of every stage here when not empty
  bool interpretOnly = false;       ///< check and keep the tile IR only: for the interpreter
  bool manualSync = false;          ///< the author orders the pipes; no stage adds to that
  std::vector<std::string> disable; ///< stages to switch off: "pipeline", "split-rows", ...
  std::string cacheFolder;          ///< of compiled kernels on disk; empty: none is used
  uint64_t cacheBytes = 0;          ///< what its entries may take together
};

/// What the cache on disk did for a kernel.
enum class CacheUse {
  Off,
  Hit,
  Stored,
  Unusable ///< see Kernel::cacheProblem
};

enum class ArgKind { Tensor, Scalar };

/// A parameter of a kernel as the runtime needs it.
struct Parameter {
  std::string name;
  ArgKind kind = ArgKind::Tensor;
  std::string dtype;                  ///< "float16", "int32", ...
  std::vector<int64_t> shape;         ///< -1 where a dimension is symbolic
  std::vector<std::string> shapeText; ///< "M", "128", "M + 1": for messages
  bool output = false;                ///< given by the runtime: allocated, or an alias
  std::string element;                ///< the author's type where two elements share a byte
  bool used = true;                   ///< tensors: some statement names it
  int alias = -1;                     ///< the parameter whose memory this one shares
};

/// One argument at a call. Tensors: contiguous row-major host memory.
struct Argument {
  void *data = nullptr;
  std::vector<int64_t> shape;
  std::string dtype;
  int64_t integer = 0; ///< scalars of integer type
  double real = 0;     ///< scalars of float type
};

enum class Engine { Simulator, Interpreter };

/// Whether a timed run moves and computes data. Without it tensors stay as they are and need no
/// memory, unless control depends on their contents.
enum class Data {
  Always,
  WhenNeeded, ///< only where times depend on values that the kernel computes
  Never,      ///< such a kernel is refused: RunReport::needsData
};

/// What a kernel can see where it stands: tensors, tiles and scalar variables.
struct Visible {
  std::string name, dtype;
  std::vector<int64_t> shape;
  const char *data = nullptr; ///< row-major, as long as the kernel stands
  int64_t bytes = 0;
};
struct Stop {
  SourceLocation location;
  std::vector<int64_t> block;
  std::vector<Visible> visible;
};

struct RunOptions {
  Engine engine = Engine::Simulator;
  std::string stage; ///< interpreter: name of the pass after which the IR is taken; empty: as built
  bool time = false, check = false;
  bool limits = false;      ///< with `time`: lower bounds of each launch's time
  bool store = false;       ///< with `time`: keep in the report what Kernel::retime needs
  bool sensitivity = false; ///< with `time`: how far it hangs on the chip's uncertain constants
  Data data = Data::Always; ///< simulator; with `check`, `delaySeed` or a mutant always
  int32_t sampleWaves =
      0;            ///< without data: blocks of a core that are timed, for an estimate; 0: all
  std::string chip; ///< simulator: run on this one instead, if the memory plan fits it
  std::optional<uint64_t> delaySeed;
  std::string traceFile;
  /// Interpreter: how many ulp a tile may be away from exact arithmetic (interp/Shadow.h); 0: it is
  /// not compared. Departures are findings of the report.
  double compare = 0;
  /// Interpreter: called at T.breakpoint; false ends the run.
  std::function<bool(const Stop &)> atBreakpoint = {};
  /// Simulator: asked now and then by each thread that runs blocks; true ends the run with an
  /// error.
  std::function<bool()> isInterrupted = {};
  int numThreads = 0;
  int64_t maxInstructions = 0; ///< watchdog: scalar instructions of a core, interpreted element
                               ///< operations; 0: the default
  /// Testing: break synchronisation instruction `mutant` (see Kernel::syncPoints); -1 none.
  int mutant = -1;
  bool holdProducer = false;
};

/// A synchronisation instruction of the compiled program.
struct SyncPoint {
  std::string text; ///< "AIV launch 0: set_flag MTE2->V id 3"
  SourceLocation location;
};

/// Where a tile lives in the compiled program.
struct BufferPlace {
  std::string name, core, space;  ///< "A_shared", "AIC", "L1"
  int64_t address = 0, bytes = 0; ///< bytes of one slot
  int slots = 1;
  SourceLocation location;
};

/// A tile instruction of the compiled program and the core that issues it.
struct Statement {
  std::string core, text; ///< "AIC", "load A_shared <- A"
  SourceLocation location;
};

struct CompileResult;

/// A parameter of the device functions of a launch in HIVM, see to_hivm/ToHivm.h.
struct HivmParameter {
  std::string kind; ///< "tensor", "scalar", or "size" of dimension `dim` of a tensor
  std::string name, type;
  int parameter = -1; ///< of the kernel; negative for a symbolic size
  std::string symbol;
  int dim = -1;
};

/// A launch as text of the published dialect HIVM.
struct HivmLaunch {
  std::string name, core, text;
  int64_t workspaceBytes = 0; ///< of each core group
  std::vector<HivmParameter> parameters;
};

struct HivmResult {
  std::vector<HivmLaunch> launches;
  std::vector<Diagnostic> diagnostics; ///< errors: there are no launches then
};

/// A compiled kernel: a host program with its launches. Immutable and safe to run from several
/// threads.
class Kernel {
public:
  struct Impl;
  explicit Kernel(std::unique_ptr<Impl> impl);
  ~Kernel();

  const std::string &name() const;
  const std::vector<Parameter> &parameters() const;
  const std::vector<Remark> &remarks() const;
  CacheUse cacheUse() const;
  const std::string &cacheProblem() const; ///< why nothing could be kept on disk, or empty

  /// Binds symbols from the given arguments (outputs have no data yet) and gives every output's
  /// shape, in parameter order. Checks count, dtype, rank, static and bound dimensions; `error`
  /// says what is wrong.
  std::vector<std::vector<int64_t>> outputShapes(const std::vector<Argument> &inputs,
                                                 std::string &error) const;

  /// Why the compiled program cannot run on another chip: an unknown one, or one whose memories the
  /// plan does not fit. Empty when it can.
  std::string chipProblem(const std::string &nameOrPath) const;

  /// Runs with all parameters given, outputs too. Blocking; errors are in the report.
  RunReport run(const std::vector<Argument> &arguments, const RunOptions &options) const;

  /// Times a stored run again without running the kernel: on `chip` (the one that it ran on if
  /// empty) with other values of that chip's constants. A chip on which the run would not have been
  /// the same, and unknown names, are errors of the report.
  RunReport retime(const RunReport &stored, const std::string &chip,
                   const std::map<std::string, double> &constants) const;

  /// Compiles the module as built once more with the stages of `disable` switched off too.
  CompileResult recompile(const std::vector<std::string> &disable) const;

  /// HIVM's name of the chip; empty for one that HIVM text is not made for, and without launches.
  std::string hivmTarget() const;
  /// The launches as text of HIVM; `form` is "flags", "planned" or "plain" (to_hivm/ToHivm.h).
  HivmResult hivm(const std::string &form) const;

  /// The program as Python source of `T.Cores` that compiles to it again (to_expert/ToExpert.h), in
  /// `text`; errors are in the diagnostics.
  std::vector<Diagnostic> expert(std::string &text) const;

  /// IR text after a stage: "tile" (as built), a pass name, "npu" (final), "program" (simulator
  /// code). Empty for an unknown stage; `stages()` lists them in order.
  std::string text(const std::string &stage) const;
  std::vector<std::string> stages() const;
  std::vector<SyncPoint> syncPoints() const;
  std::vector<BufferPlace> buffers() const;
  std::vector<Statement> statements() const;

private:
  std::unique_ptr<Impl> impl;
};

struct CompileResult {
  std::shared_ptr<const Kernel> kernel; ///< null on error
  std::vector<Diagnostic> diagnostics;
};

/// Compiles the function in `module` (taken over). Never aborts on user input.
CompileResult compile(std::unique_ptr<builder::ModuleHandle> module, const CompileOptions &options);

/// Names that CompileOptions::disable knows.
const std::vector<std::string> &switchNames();

/// Core counts, clock (MHz) and memory sizes (bytes) of a chip, by key; `error` says why there are
/// none.
std::map<std::string, double> chipInfo(const std::string &nameOrPath, std::string &error);

/// The program of planned text, of npu or of HIVM (from_hivm/FromHivm.h), as a kernel that has no
/// stages: to be run, timed and checked. Its tensors are one-dimensional where the text has
/// pointers. Errors have their places in the text.
CompileResult loadText(const std::string &text, const std::string &fileName,
                       const std::string &chip);

/// Planned HIVM text between two parts of the published compiler: see to_hivm/ToHivm.h.
std::string placeTemporaries(const std::string &text, std::string &problem);

/// Project version and LLVM version.
std::string versionText();

/// Identifies this build of the compiler, code and libraries; empty when that cannot be known.
std::string buildId();

} // namespace tilewright::driver
