// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Report.h"

#include "tilewright/sim/Names.h"

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace tilewright::sim;
using Json = nlohmann::ordered_json;

namespace {

/// Null for an unknown place.
Json placeJson(const Place &place) {
  if (!place.line)
    return nullptr;
  return {{"file", place.file}, {"line", place.line}, {"column", place.column}};
}

Json findingJson(const FindingReport &finding) {
  return {{"kind", finding.kind},
          {"code", finding.code},
          {"tool", finding.tool},
          {"message", finding.message},
          {"memory", finding.memory},
          {"edge", finding.edge},
          {"location", placeJson(finding.location)},
          {"other_location", placeJson(finding.otherLocation)},
          {"block", finding.block},
          {"count", finding.count}};
}

Json sensitivityJson(const Sensitivity &sensitivity) {
  Json effects = Json::array();
  for (const Sensitivity::Effect &effect : sensitivity.effects)
    effects.push_back({{"constant", effect.key},
                       {"range", {effect.low, effect.high}},
                       {"core_us", {effect.atLow, effect.atHigh}}});
  return {{"least_us", sensitivity.least},
          {"most_us", sensitivity.most},
          {"share", sensitivity.share},
          {"effects", std::move(effects)}};
}

Json launchJson(const LaunchReport &launch) {
  Json pipes = Json::object();
  if (launch.aicCount)
    pipes["AIC"] = launch.aicBusy;
  if (launch.aivCount)
    pipes["AIV"] = launch.aivBusy;
  Json lines = Json::array();
  for (const auto &[place, cycles] : launch.lineCycles)
    lines.push_back({{"location", placeJson(place)}, {"cycles", cycles}});
  Json result = {{"name", launch.name},
                 {"cycles", launch.cycles},
                 {"core_us", launch.microseconds},
                 {"launch_us", launch.launchMicroseconds},
                 {"launch_warm_us", launch.launchWarmMicroseconds},
                 {"cores", {{"AIC", launch.aicCount}, {"AIV", launch.aivCount}}},
                 {"utilisation", std::move(pipes)},
                 {"traffic",
                  {{"gm_read_bytes", launch.gmReadBytes},
                   {"gm_write_bytes", launch.gmWriteBytes},
                   {"hbm_bytes", launch.hbmBytes},
                   {"exchange_bytes", launch.exchangeBytes}}},
                 {"lines", std::move(lines)}};
  if (launch.timedWaves)
    result["waves"] = {{"timed", launch.timedWaves}, {"all", launch.allWaves}};
  if (launch.sensitivity)
    result["sensitivity"] = sensitivityJson(*launch.sensitivity);
  for (const LaunchReport &other : launch.alternatives)
    result["alternatives"].push_back(launchJson(other));
  return result;
}

} // namespace

Place tilewright::sim::placeOf(const Program &program, int32_t location) {
  if (location < 0 || location >= int32_t(program.locations.size()))
    return {};
  const Location &found = program.locations[size_t(location)];
  return {found.file, found.line, found.column};
}

const char *tilewright::sim::toolOf(FindingKind kind) {
  switch (kind) {
  case FindingKind::ReadAfterWrite:
  case FindingKind::WriteAfterRead:
  case FindingKind::WriteAfterWrite:
    return "racecheck";
  case FindingKind::Uninitialised:
    return "initcheck";
  case FindingKind::OutOfBounds:
    return "memcheck";
  case FindingKind::DoubleSet:
  case FindingKind::FlagReuse:
  case FindingKind::UnconsumedFlag:
  case FindingKind::Deadlock:
  case FindingKind::CounterOverflow:
    return "synccheck";
  case FindingKind::AssertFailed:
    return "assert";
  case FindingKind::Watchdog:
    return "watchdog";
  }
  return "unknown";
}

LaunchReport tilewright::sim::launchReport(const Program &program, const RunResult &result) {
  const Timing &timing = result.timing;
  LaunchReport launch;
  launch.name = program.name;
  launch.cycles = timing.cycles;
  launch.microseconds = timing.microseconds;
  launch.launchMicroseconds = timing.launchMicroseconds;
  launch.launchWarmMicroseconds = timing.launchWarmMicroseconds;
  launch.aicCount = timing.aicCount;
  launch.aivCount = timing.aivCount;
  double total = std::max(timing.cycles, 1.0);
  for (unsigned pipe = 0; pipe < kNumPipes; ++pipe) {
    if (launch.aicCount)
      launch.aicBusy[nameOf(Pipe(pipe))] = timing.aic[pipe].busyCycles / total;
    if (launch.aivCount)
      launch.aivBusy[nameOf(Pipe(pipe))] = timing.aiv[pipe].busyCycles / total;
  }
  // What the scalar unit computes, apart from what it hands out.
  auto splitIssue = [&](std::map<std::string, double> &busy, double cycles) {
    busy["issue"] = cycles / total;
    busy[nameOf(Pipe::S)] -= cycles / total;
  };
  if (launch.aicCount)
    splitIssue(launch.aicBusy, timing.aicIssueCycles);
  if (launch.aivCount)
    splitIssue(launch.aivBusy, timing.aivIssueCycles);
  launch.gmReadBytes = timing.gmReadBytes;
  launch.gmWriteBytes = timing.gmWriteBytes;
  launch.hbmBytes = timing.hbmBytes;
  launch.exchangeBytes = timing.workspaceReadBytes + timing.workspaceWriteBytes;
  launch.limits = result.limits;
  launch.sensitivity = result.sensitivity;
  launch.stored = result.stored;
  launch.allWaves = timing.allWaves;
  launch.timedWaves = timing.timedWaves;
  launch.events = timing.events;
  for (size_t index = 0; index < result.lineCycles.size(); ++index)
    if (result.lineCycles[index] != 0)
      launch.lineCycles.emplace_back(placeOf(program, int32_t(index)), result.lineCycles[index]);
  return launch;
}

void tilewright::sim::addLaunch(Report &report, const Program &program, const RunResult &result,
                                bool isTimed) {
  const int64_t cores = coresPerBlock(program);
  for (const Finding &finding : result.findings)
    report.findings.push_back(
        {nameOf(finding.kind), codeOf(finding.kind), toolOf(finding.kind), finding.message,
         finding.memory, finding.edge, placeOf(program, finding.location),
         placeOf(program, finding.otherLocation),
         finding.block < 0 ? finding.block : finding.block / cores, finding.count});
  report.printed += result.printed;
  report.instructions += result.issued;
  if (!result.ok) {
    report.ok = false;
    report.error = result.error;
    report.needsData = result.needsData;
    report.errorLocation = placeOf(program, result.errorLocation);
    return;
  }
  if (isTimed)
    report.launches.push_back(launchReport(program, result));
}

std::string tilewright::sim::sampleProblem(const Report &report, int32_t waves) {
  int32_t most = 0;
  for (const LaunchReport &launch : report.launches) {
    if (launch.timedWaves)
      return {};
    most = std::max(most, launch.allWaves);
  }
  return "a sample of " + std::to_string(waves) +
         " waves leaves nothing out: no core has more than " + std::to_string(most) +
         (most == 1 ? " block" : " blocks") + "; time the whole run";
}

std::string tilewright::sim::toJson(const Report &report) {
  Json findings = Json::array(), launches = Json::array();
  for (const FindingReport &finding : report.findings)
    findings.push_back(findingJson(finding));
  for (const LaunchReport &launch : report.launches)
    launches.push_back(launchJson(launch));
  Json root = {{"schema", "tilewright.simulation"},
               {"version", kReportVersion},
               {"kernel", report.kernel},
               {"chip", report.chip},
               {"clock_mhz", report.clockMHz},
               {"timing_only", report.isTimingOnly},
               {"ok", report.ok},
               {"error", report.ok ? Json(nullptr) : Json(report.error)},
               {"error_location", placeJson(report.errorLocation)},
               {"instructions", report.instructions},
               {"launches", std::move(launches)},
               {"findings", std::move(findings)}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}
