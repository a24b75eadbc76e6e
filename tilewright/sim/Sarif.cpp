// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Names.h"
#include "tilewright/sim/Report.h"

#include <nlohmann/json.hpp>

#include <map>
#include <string_view>
#include <tuple>

using namespace tilewright::sim;
using Json = nlohmann::ordered_json;

namespace {

struct Rule {
  FindingKind kind;
  const char *text;
};

constexpr Rule kRules[] = {
    {FindingKind::ReadAfterWrite, "A read that nothing orders after the write of the same bytes."},
    {FindingKind::WriteAfterRead, "A write that nothing orders after the read of the same bytes."},
    {FindingKind::WriteAfterWrite, "Two writes of the same bytes that nothing orders."},
    {FindingKind::DoubleSet, "An event is set while it is still set."},
    {FindingKind::FlagReuse, "An event is set before its last wait is sure to be over."},
    {FindingKind::Uninitialised, "A read of on-chip memory or workspace that nothing has written."},
    {FindingKind::OutOfBounds, "An access outside of its tensor, memory or table of events."},
    {FindingKind::UnconsumedFlag, "An event or signal that is still set at the end."},
    {FindingKind::Deadlock, "A wait for something that never comes."},
    {FindingKind::CounterOverflow, "More signals between cores than the hardware counts."},
    {FindingKind::AssertFailed, "An assertion of the kernel does not hold."},
    {FindingKind::Watchdog, "A core runs without an end."},
};

/// A path as a URI: absolute ones with their scheme, everything unusual in hexadecimal.
std::string uriOf(const std::string &path) {
  constexpr std::string_view plain = "/-._~";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (unsigned char c : path) {
    bool isPlain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                   plain.find(char(c)) != plain.npos;
    constexpr char digits[] = "0123456789ABCDEF";
    if (isPlain)
      uri += char(c);
    else
      uri += {'%', digits[c >> 4], digits[c & 15]};
  }
  return uri;
}

Json physical(const Place &place) {
  Json region = {{"startLine", place.line}};
  if (place.column > 0)
    region["startColumn"] = place.column;
  return {{"artifactLocation", {{"uri", uriOf(place.file)}}}, {"region", std::move(region)}};
}

Json resultOf(const FindingReport &finding, size_t rule) {
  Json result = {{"ruleId", finding.kind},
                 {"ruleIndex", rule},
                 {"level", "error"},
                 {"message", {{"text", finding.message}}},
                 {"occurrenceCount", finding.count}};
  if (finding.location.line)
    result["locations"] = Json::array({{{"physicalLocation", physical(finding.location)}}});
  if (finding.otherLocation.line)
    result["relatedLocations"] =
        Json::array({{{"id", 1},
                      {"message", {{"text", "the other side"}}},
                      {"physicalLocation", physical(finding.otherLocation)}}});
  Json properties = Json::object();
  if (!finding.memory.empty())
    properties["memory"] = finding.memory;
  if (!finding.edge.empty())
    properties["edge"] = finding.edge;
  if (!properties.empty())
    result["properties"] = std::move(properties);
  return result;
}

/// Equal findings of several runs as one, in the order in which they came.
std::vector<FindingReport> folded(const std::vector<FindingReport> &findings) {
  std::vector<FindingReport> result;
  std::map<std::tuple<std::string, std::string, std::string, int, std::string, int>, size_t> places;
  for (const FindingReport &finding : findings) {
    std::tuple key(finding.kind, finding.message, finding.location.file, finding.location.line,
                   finding.otherLocation.file, finding.otherLocation.line);
    auto [it, isNew] = places.try_emplace(std::move(key), result.size());
    if (isNew)
      result.push_back(finding);
    else
      result[it->second].count += finding.count;
  }
  return result;
}

} // namespace

std::string tilewright::sim::toSarif(const std::vector<FindingReport> &findings,
                                     const std::string &version) {
  Json rules = Json::array(), results = Json::array();
  for (const Rule &rule : kRules)
    rules.push_back({{"id", nameOf(rule.kind)},
                     {"shortDescription", {{"text", rule.text}}},
                     {"properties", {{"tags", Json::array({toolOf(rule.kind)})}}}});
  for (const FindingReport &finding : folded(findings))
    for (size_t rule = 0; rule < std::size(kRules); ++rule)
      if (finding.kind == nameOf(kRules[rule].kind))
        results.push_back(resultOf(finding, rule));
  Json run = {
      {"tool",
       {{"driver", {{"name", "tilewright"}, {"version", version}, {"rules", std::move(rules)}}}}},
      {"columnKind", "utf16CodeUnits"},
      {"results", std::move(results)}};
  Json root = {{"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                           "sarif-schema-2.1.0.json"},
               {"version", "2.1.0"},
               {"runs", Json::array({std::move(run)})}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}
