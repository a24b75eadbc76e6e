// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MixedKernel.h"
#include "tilewright/sim/Names.h"
#include "tilewright/sim/Report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tilewright::sim;
using namespace tilewright::sim::test;
using Json = nlohmann::json;

namespace {

Report reportOf(Bug bug) {
  MixedKernel kernel(bug);
  RunOptions options;
  options.check = options.time = true;
  Report report;
  report.kernel = "mixed";
  report.chip = "910b3";
  addLaunch(report, kernel.program, kernel.run(options), true);
  return report;
}

TEST(Report, OfACleanRun) {
  Json root = Json::parse(toJson(reportOf(Bug::None)));
  EXPECT_EQ(root["schema"], "tilewright.simulation");
  EXPECT_EQ(root["version"], kReportVersion);
  EXPECT_EQ(root["ok"], true);
  EXPECT_TRUE(root["error"].is_null() && root["findings"].empty());
  const Json &launch = root["launches"].at(0);
  EXPECT_GT(launch["cycles"].get<double>(), 0);
  EXPECT_GT(launch["utilisation"]["AIC"]["M"].get<double>(), 0);
  EXPECT_GT(launch["utilisation"]["AIV"]["V"].get<double>(), 0);
  EXPECT_GT(launch["traffic"]["exchange_bytes"].get<int64_t>(), 0);
  EXPECT_EQ(launch["lines"].at(0)["location"]["file"], "kernel.py");
}

TEST(Report, OfARacyRun) {
  Json root = Json::parse(toJson(reportOf(Bug::NoSyncBeforeMmad)));
  const Json &finding = root["findings"].at(0);
  EXPECT_EQ(finding["kind"], "read-after-write");
  EXPECT_EQ(finding["tool"], "racecheck");
  EXPECT_EQ(finding["memory"].get<std::string>().rfind("buffer ", 0), 0u);
  EXPECT_EQ(finding["edge"].get<std::string>().rfind("set_flag/wait_flag MTE2->MTE1", 0), 0u);
  EXPECT_NE(finding["location"]["line"], finding["other_location"]["line"]);
}

TEST(Report, OfARunThatStopped) {
  Json root = Json::parse(toJson(reportOf(Bug::NoBackEdgeSet)));
  EXPECT_EQ(root["ok"], false);
  EXPECT_EQ(root["error"].get<std::string>().rfind("E0902: deadlock", 0), 0u);
  EXPECT_EQ(root["error_location"], root["findings"].at(0)["location"]);
  EXPECT_TRUE(root["launches"].empty());
}

TEST(Report, EveryKindHasATool) {
  for (int kind = 0; kind <= int(FindingKind::Watchdog); ++kind) {
    EXPECT_STRNE(toolOf(FindingKind(kind)), "unknown");
    EXPECT_STRNE(nameOf(FindingKind(kind)), "?");
  }
}

TEST(Sarif, FoldsEqualFindings) {
  FindingReport one{.kind = "deadlock", .tool = "synccheck", .message = "a", .count = 2};
  FindingReport two = one;
  two.message = "b";
  Json run = Json::parse(toSarif({one, two, one}, "1.2"))["runs"].at(0);
  EXPECT_EQ(run["tool"]["driver"]["version"], "1.2");
  ASSERT_EQ(run["results"].size(), 2u);
  EXPECT_EQ(run["results"][0]["occurrenceCount"], 4);
  EXPECT_FALSE(run["results"][0].contains("locations"));
  EXPECT_FALSE(run["results"][0].contains("properties"));
}

TEST(Sarif, TextThatIsNoUnicode) {
  FindingReport odd{.kind = "deadlock", .message = "\xff\xfe", .location = {"a b\xc3\xa9", 3, 0}};
  Json run = Json::parse(toSarif({odd}, "1"))["runs"].at(0);
  const Json &place = run["results"][0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "a%20b%C3%A9");
  EXPECT_FALSE(place["region"].contains("startColumn"));
}

} // namespace
