// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/Engine.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// What the simulator found out about a kernel, in terms of its source: no program is needed to
/// read a report. The one form behind the driver, the binding and the tools.
namespace tilewright::sim {

/// A place in the user's source; line 0 is unknown.
struct Place {
  std::string file;
  int line = 0, column = 0;
};

/// A fault of the kernel.
struct FindingReport {
  std::string kind = {}; ///< read-after-write, deadlock, ...
  std::string code = {}; ///< of the kind: E0921
  std::string tool = {}; ///< racecheck, memcheck, initcheck, synccheck, assert or watchdog
  std::string message = {};
  std::string memory = {}; ///< the buffers or the tensor, empty where none is concerned
  std::string edge = {};   ///< what would put it right: the missing flag, barrier or signal
  Place location = {}, otherLocation = {};
  int64_t block = -1, count = 1;
};

/// Predicted times of one launch.
struct LaunchReport {
  std::string name;
  double cycles = 0, microseconds = 0, launchMicroseconds = 0, launchWarmMicroseconds = 0;
  int aicCount = 0, aivCount = 0;
  std::map<std::string, double> aicBusy,
      aivBusy; ///< of cores that ran: pipe name -> mean busy share of the core time
  uint64_t gmReadBytes = 0, gmWriteBytes = 0, hbmBytes = 0, exchangeBytes = 0;
  int32_t allWaves = 0, timedWaves = 0;   ///< as in Timing
  uint64_t events = 0;                    ///< that the clock went through
  std::vector<LaunchReport> alternatives; ///< times with other constants, where asked for
  std::vector<std::pair<Place, uint64_t>> lineCycles; ///< busy cycles over all cores
  std::optional<Limits> limits; ///< when asked for and all blocks are timed; not part of the JSON
  std::optional<Sensitivity> sensitivity;            ///< when asked for
  std::shared_ptr<const struct StoredLaunch> stored; ///< when asked for; not part of the JSON
};

/// One run of a kernel: all of its launches.
struct Report {
  bool ok = true;
  std::string error; ///< empty when ok
  Place errorLocation;
  std::string kernel, chip;
  double clockMHz = 0;
  bool isTimingOnly = false; ///< no data was moved or computed
  bool needsData = false;    ///< the error is that a run without data cannot give times
  std::vector<FindingReport> findings;
  std::vector<LaunchReport> launches;
  std::string printed;
  uint64_t instructions = 0;
};

/// The times of a launch.
LaunchReport launchReport(const Program &program, const RunResult &result);

/// Adds one launch: its findings, and its times if it was timed.
void addLaunch(Report &report, const Program &program, const RunResult &result, bool isTimed);

/// Why a run that was to time `waves` waves of blocks gave no estimate: nothing was left out. Empty
/// where some launch has one.
std::string sampleProblem(const Report &report, int32_t waves);

/// The place of a location index; unknown outside the program's list.
Place placeOf(const Program &program, int32_t location);

/// The tool of compute-sanitizer that finds this kind of fault.
const char *toolOf(FindingKind kind);

/// Version of the JSON form. It grows when a field goes away or changes its meaning.
inline constexpr int kReportVersion = 1;

/// The report as JSON; docs/simulation-result.md describes the fields.
std::string toJson(const Report &report);

/// Findings as SARIF 2.1.0, equal ones as one result. `version` is the tool's own.
std::string toSarif(const std::vector<FindingReport> &findings, const std::string &version);

} // namespace tilewright::sim
