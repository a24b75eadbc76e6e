// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/machine/Machine.h"
#include "tilewright/sim/Program.h"
#include "tilewright/sim/Record.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::sim {

/// A tensor argument: host memory that plays GM. `elements` bounds every access.
struct TensorArg {
  void *data = nullptr; ///< may be null in a run without data
  int64_t elements = 0;
  bool isComputed = false; ///< without data: an earlier launch was to write it
};

/// Breaks one SetFlag, WaitFlag, Barrier, BlockSet or BlockWait of a program, at all its
/// occurrences. Drop: the instruction does nothing. A dropped set keeps its place in the queue of
/// signals, so that its wait passes without waiting for anything and the run does not just hang; a
/// dropped wait leaves its signal open. Delete: the instruction is not there at all, so that a wait
/// may wait for ever. HoldProducer: the ordering goes but signals stay paired, and what the
/// instruction ordered takes effect as late as the remaining edges allow, everything else as early.
struct Mutation {
  enum class Kind : uint8_t { Drop, Delete, HoldProducer };
  Kind kind = Kind::Drop;
  CoreKind core = CoreKind::AIC;
  int32_t codeIndex = 0;
};

struct RunOptions {
  bool time = false; ///< run the clock
  /// Times without data: tensors keep what they hold, nothing is printed. What control depends on
  /// is read from the inputs all the same; where the program computes it, the run ends with
  /// `needsData`. Not together with `check`, `delaySeed` or `mutation`, which win.
  bool timeOnly = false;
  /// With `timeOnly`: only the first blocks of each core are timed, so many; the time of the others
  /// follows from their events. 0: all are.
  int32_t sampleWaves = 0;
  bool check = false;  ///< happens-before checker, uninitialised reads, bounds
  bool limits = false; ///< with `time`: lower bounds of the time too
  bool trace = false;  ///< keep the clock's events for a trace file
  bool store = false;  ///< with `time`: keep what `retime` needs
  /// With `time`: constants of the chip that are uncertain, for RunResult::sensitivity; none: it is
  /// not found out.
  std::vector<machine::Parameter> uncertain;
  bool isSensitivityWhole = false; ///< of all records, not of a sample: some sixty times the clock
  std::optional<uint64_t> delaySeed; ///< let instructions take effect out of program order
  std::optional<Mutation> mutation;  ///< testing the checker: break one synchronisation instruction
  int numThreads = 0;                ///< 0: affinity or TILEWRIGHT_NUM_THREADS
  int64_t maxInstructions = 1'000'000'000; ///< watchdog over scalar instructions of one core
  /// Asked now and then by each thread that runs blocks; true ends the run with an error.
  std::function<bool()> isInterrupted;
};

enum class FindingKind : uint8_t {
  ReadAfterWrite,
  WriteAfterRead,
  WriteAfterWrite,
  DoubleSet,
  FlagReuse,
  Uninitialised,
  OutOfBounds,
  UnconsumedFlag,
  Deadlock,
  CounterOverflow,
  AssertFailed,
  Watchdog
};

/// One diagnosed fault; locations index Program::locations.
struct Finding {
  FindingKind kind;
  std::string message; ///< names both sides, buffers and the missing edge
  int32_t location = -1, otherLocation = -1;
  int64_t block = -1;
  int64_t count = 1;       ///< equal findings folded into this one
  std::string memory = {}; ///< the buffers or the tensor, empty where none is concerned
  std::string edge = {};   ///< what would put it right: the missing flag, barrier or signal
};

/// Times of one launch in cycles and microseconds; launch overhead is kept apart.
struct PipeUse {
  double busyCycles = 0; ///< mean over the cores that ran
};

struct Timing {
  /// Of the scalar unit's busy cycles, those that hand out instructions of other pipes.
  double aicIssueCycles = 0, aivIssueCycles = 0;
  double cycles = 0;                 ///< slowest core
  double microseconds = 0;           ///< the same
  double launchMicroseconds = 0;     ///< task profile (cold)
  double launchWarmMicroseconds = 0; ///< operator-benchmark profile
  int32_t aicCount = 0, aivCount = 0;
  PipeUse aic[kNumPipes], aiv[kNumPipes];
  uint64_t gmReadBytes = 0, gmWriteBytes = 0, hbmBytes = 0;
  uint64_t workspaceReadBytes = 0, workspaceWriteBytes = 0; ///< exchange between AIC and AIV
  uint64_t events = 0;                                      ///< records that the clock went through
  /// Blocks of the core that has most, and of these the timed ones where a sample was timed, else
  /// 0. Then everything else here is an estimate for all blocks.
  int32_t allWaves = 0, timedWaves = 0;
};

/// Two lower bounds of a launch's time. The roofline knows the work alone: the cube at its peak
/// rate on all cores, each byte of GM moved once at the memory's nominal rate. The other one knows
/// the program as well: the pipe that is busiest on the mean core, which no order of the same
/// instructions beats.
struct Limits {
  double flops = 0; ///< of the cube: two per multiply-add of each tile
  /// Of GM without the workspace, each byte once; what the launch reads back is not read.
  uint64_t readBytes = 0, writtenBytes = 0;
  double cubeMicroseconds = 0, memoryMicroseconds = 0; ///< the roofline is the larger one
  std::string pipe;                                    ///< "AIC MTE2", "HBM": what binds
  double pipeMicroseconds = 0;
};

/// How far a time hangs on constants that are not known well: each of them alone at either end of
/// its range.
struct Sensitivity {
  struct Effect {
    std::string key;
    double low = 0, high = 0;     ///< the range
    double atLow = 0, atHigh = 0; ///< the time with either, microseconds

    /// The farthest that it gets from `microseconds`.
    double reach(double microseconds) const {
      return std::max(std::abs(atLow - microseconds), std::abs(atHigh - microseconds));
    }
  };
  double least = 0, most = 0;  ///< of all those times, microseconds
  double share = 1;            ///< of the records that were timed again, and stand for all
  std::vector<Effect> effects; ///< those that change the time, the strongest first
};

/// One interval of the trace.
struct TraceEvent {
  int32_t core = 0; ///< index into RunResult::cores
  Pipe pipe = Pipe::S;
  float start = 0, end = 0; ///< cycles
  int32_t templateId = -1;
  uint64_t bytes = 0; ///< GM bytes of a transfer
};

struct TraceCore {
  CoreKind kind = CoreKind::AIC;
  int32_t group = 0, sub = 0;
};

struct RunResult {
  bool ok = true; ///< false: stopped early; `error` says why
  std::string error;
  int32_t errorLocation = -1; ///< index into Program::locations
  bool needsData = false;     ///< the error is that times depend on data that a run would compute
  std::vector<Finding> findings;
  Timing timing;                                     ///< valid when asked for
  std::vector<Timing> alternatives;                  ///< in the order of RunOptions::alternatives
  std::optional<Limits> limits;                      ///< when asked for
  std::optional<Sensitivity> sensitivity;            ///< when asked for
  std::shared_ptr<const struct StoredLaunch> stored; ///< when asked for
  std::vector<TraceCore> cores;
  std::vector<TraceEvent> trace;
  std::string printed;              ///< output of Print, in logical block order
  uint64_t issued = 0;              ///< tile instructions executed
  bool hasBlocks = false;           ///< a core began a block
  std::vector<uint64_t> lineCycles; ///< busy cycles per location (summed over cores), when timed
};

/// Runs one launch. `scalars` are 64-bit values as Program::ScalarArg describes them.
/// Never throws and never aborts on a faulty program: every fault is a finding or an error.
RunResult run(const Program &program, const std::vector<TensorArg> &tensors,
              const std::vector<int64_t> &scalars, const machine::Machine &chip,
              const RunOptions &options);

} // namespace tilewright::sim
