// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/machine/Machine.h"

#include "tilewright/machine/ChipData.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <set>
#include <string>

using namespace tilewright::machine;

namespace {

/// A chip file on disk that is removed again.
class TempFile {
public:
  explicit TempFile(const std::string &text) : path(testing::TempDir() + "tilewright_chip.json") {
    std::ofstream(path, std::ios::binary) << text;
  }
  ~TempFile() { std::remove(path.c_str()); }
  const std::string path;
};

std::string builtinText(const std::string &name) {
  for (const ChipText &chip : builtinChips())
    if (chip.name == name)
      return std::string(chip.json);
  return {};
}

/// The 910b3 file with `from` replaced once.
std::string edited(const std::string &from, const std::string &to) {
  std::string text = builtinText("910b3");
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

void expectError(const std::string &text, const std::string &part) {
  TempFile file(text);
  LoadResult result = loadChip(file.path);
  EXPECT_NE(result.error.find(part), std::string::npos) << result.error;
  EXPECT_NE(result.error.find(file.path), std::string::npos) << result.error;
}

TEST(Machine, BuiltinChipsLoad) {
  std::set<std::string> names;
  for (const std::string &name : chipNames()) {
    LoadResult result = loadChip(name);
    EXPECT_EQ(result.error, "") << name;
    EXPECT_EQ(result.machine.name, name);
    for (const Parameter &parameter : result.parameters) {
      EXPECT_LE(parameter.low, parameter.value) << name << ' ' << parameter.key;
      EXPECT_GE(parameter.high, parameter.value) << name << ' ' << parameter.key;
      EXPECT_FALSE(parameter.source.empty());
    }
    names.insert(name);
  }
  EXPECT_EQ(names, (std::set<std::string>{"910b1", "910b2", "910b3", "910b4", "950pr", "a3"}));
}

TEST(Machine, Facts) {
  Machine b3 = loadChip("910b3").machine;
  EXPECT_EQ(b3.aicCount, 20);
  EXPECT_EQ(b3.aivCount, 40);
  EXPECT_EQ(b3.ubBytes, 192 * 1024);
  EXPECT_EQ(b3.l1Bytes, 512 * 1024);
  EXPECT_EQ(b3.l0cBytes, 128 * 1024);
  EXPECT_EQ(b3.macsF16, 4096);
  EXPECT_NEAR(b3.hbmBytesPerCycle, 1498e9 / 1.8e9, 0.01);
  EXPECT_EQ(b3.vecCycles("add", 2), 1);
  EXPECT_EQ(b3.vecCycles("exp", 2), 4);
  EXPECT_EQ(b3.vecCycles("exp", 4), 2);
  EXPECT_EQ(b3.vecCycles("no such row", 4), 1);
  EXPECT_EQ(loadChip("910b4").machine.l2Bytes, 96 * 1024 * 1024);
  EXPECT_EQ(loadChip("a3").machine.aicCount, 24);
  EXPECT_EQ(loadChip("950pr").machine.aivCount, 64);
}

TEST(Machine, Names) {
  EXPECT_EQ(loadChip("Ascend910B3").machine.name, "910b3");
  EXPECT_EQ(loadChip("910B1").machine.name, "910b1");
  LoadResult unknown = loadChip("911");
  EXPECT_EQ(unknown.error,
            "E0906: unknown chip '911'; known are 910b1, 910b2, 910b3, 910b4, a3, 950pr, or "
            "give the path of a chip file that ends in .json");
}

TEST(Machine, UserFile) {
  TempFile file(edited("\"name\": \"910b3\"", "\"name\": \"mine\""));
  LoadResult result = loadChip(file.path);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.machine.name, "mine");
}

TEST(Machine, BadFiles) {
  LoadResult absent = loadChip("/no/such/chip.json");
  EXPECT_EQ(absent.error,
            "E0906: chip file /no/such/chip.json cannot be read: No such file or directory");
  EXPECT_NE(loadChip(testing::TempDir() + "/.json").error.find("cannot be read"),
            std::string::npos);
  expectError("{ \"name\": ", "not JSON");
  expectError("", "not JSON");
  expectError("[1]", "must hold one object");
  expectError(edited("\"ub_bytes\"", "\"ub_size\""), "unknown key 'ub_size'");
  expectError("{\"name\": \"x\", \"description\": \"y\"}", "'vec_cycles_per_repeat' is missing");
  expectError(edited("{\"value\": 196608", "{\"value\": \"big\""),
              "key 'ub_bytes' must have a whole number");
  expectError(edited("{\"value\": 196608", "{\"value\": 1.5"),
              "key 'ub_bytes' must have a whole number");
  expectError(edited("{\"value\": 196608", "{\"value\": -4"), "outside of what makes sense");
  expectError(edited("{\"value\": 196608", "{\"val\": 196608"), "key 'ub_bytes' lacks 'value'");
  expectError(edited("\"range\": [2, 40]", "\"range\": [2, 4e9]"), "has the range");
  expectError(edited("\"add\": [1, 1]", "\"add\": [1]"), "for 'add'");
  expectError(edited("\"default\"", "\"other\""), "lacks the row 'default'");
  expectError(edited("{\"value\": 40", "{\"value\": 41"), "twice aic_count");
  expectError(edited("\"name\": \"910b3\"", "\"name\": 3"), "key 'name' must be a text");
}

TEST(Machine, MissingKeyIsNamed) {
  std::string text = builtinText("910b3");
  size_t from = text.find("  \"flag_wait\"");
  size_t to = text.find("  \"block_flag\":");
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos);
  expectError(text.erase(from, to - from), "key 'flag_wait' is missing");
}

TEST(Machine, SetParameter) {
  Machine machine = loadChip("910b3").machine;
  EXPECT_EQ(setParameter(machine, "flag_wait", 40), "");
  EXPECT_EQ(machine.flagWait, 40);
  EXPECT_EQ(setParameter(machine, "queue_depth", 8), "");
  EXPECT_EQ(machine.queueDepth, 8);
  EXPECT_EQ(setParameter(machine, "flag_weight", 40), "910b3 has no constant 'flag_weight'");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (double value : {0.0, -1.0, 1e300, nan}) {
    std::string problem = setParameter(machine, "mte2_rate_aic", value);
    EXPECT_NE(problem.find("outside of what makes sense (0.1 to 1e+06)"), std::string::npos);
  }
  EXPECT_EQ(setParameter(machine, "queue_depth", 2.5),
            "E0906: constant 'queue_depth' must be a whole number, not 2.5");
  EXPECT_EQ(machine.queueDepth, 8);

  EXPECT_EQ(inconsistency(machine), "");
  EXPECT_EQ(setParameter(machine, "l2_sector_bytes", 96), "");
  EXPECT_EQ(inconsistency(machine),
            "E0906: l2_line_bytes must be 1 to 8 sectors of l2_sector_bytes");
  EXPECT_EQ(setParameter(machine, "l2_line_bytes", 384), "");
  EXPECT_EQ(inconsistency(machine),
            "E0906: l2_line_bytes and l2_sector_bytes must be powers of two");
}

} // namespace
