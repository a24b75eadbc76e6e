// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/driver/DiskCache.h"

#include "tilewright/driver/Compiled.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::driver;

namespace {

/// A folder that is gone afterwards.
class DiskCacheTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tilewright-cache", folder));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string inside(llvm::StringRef name) const {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    return path.str().str();
  }

  llvm::SmallString<128> folder;
};

TEST_F(DiskCacheTest, KeysTellPartsApart) {
  EXPECT_EQ(DiskCache::keyOf({"a", "b"}), DiskCache::keyOf({"a", "b"}));
  EXPECT_NE(DiskCache::keyOf({"ab", "c"}), DiskCache::keyOf({"a", "bc"}));
  EXPECT_NE(DiskCache::keyOf({"1:a"}), DiskCache::keyOf({"", "a"}));
  EXPECT_NE(DiskCache::keyOf({"a", ""}), DiskCache::keyOf({"a"}));
  EXPECT_EQ(DiskCache::keyOf({""}).size(), 64u);
}

TEST_F(DiskCacheTest, KeepsBytes) {
  DiskCache cache(inside("made/by/store"), 1000);
  std::string key = DiskCache::keyOf({"k"}), content("a\0\nb", 4);
  EXPECT_FALSE(cache.load(key));
  EXPECT_EQ(cache.store(key, content), "");
  EXPECT_EQ(cache.load(key), content);
  EXPECT_EQ(cache.store(key, ""), "");
  EXPECT_EQ(cache.load(key), "");
  EXPECT_FALSE(cache.load(DiskCache::keyOf({"other"})));
}

TEST_F(DiskCacheTest, LeavesOutWhatIsLargerThanTheLimit) {
  DiskCache cache(folder.str().str(), 1000);
  std::string key = DiskCache::keyOf({"k"});
  EXPECT_EQ(cache.store(key, std::string(1000, 'x')), "");
  EXPECT_FALSE(cache.load(key));
}

TEST_F(DiskCacheTest, SaysWhyItCannotWrite) {
  DiskCache cache("/dev/null/folder", 1000);
  EXPECT_NE(cache.store(DiskCache::keyOf({"k"}), "x").find("/dev/null/folder cannot be made"),
            std::string::npos);
}

TEST(BuildId, IsKnown) { EXPECT_GE(buildId().size(), 16u); }

TEST(Compiled, TravelsWhole) {
  Compiled compiled;
  compiled.forceSplitRows = true;
  compiled.parts = 4;
  compiled.lateStages = false;
  compiled.npuText = "module {}";
  compiled.launches.emplace_back();
  sim::Program &program = compiled.launches.back().program;
  program.name = "kernel";
  sim::Insn &insn = program.aiv.code.emplace_back();
  insn.op = sim::Opcode::Const;
  insn.imm = -5;
  sim::Template tile;
  tile.op = sim::TileOp::Binary;
  tile.operands.emplace_back().sizes[5] = {7, -8};
  tile.label = "add";
  program.aiv.templates = {tile};
  program.buffers = {{"a", sim::CoreKind::AIC, sim::Space::L1, 32, 64, 2, 0}};
  program.locations = {{"file.py", 3, 4}};
  compiled.operands = {{{1, ""}, {-1, "M"}}};
  compiled.remarks = {{"stage", "applied", "why", {"file.py", 1, 2}}};
  std::vector<Diagnostic> said = {
      {Severity::Warning, "careful", {"file.py", 1, 2}, {{Severity::Note, "here", {}, {}}}}};

  std::string bytes = pack(compiled, said);
  Compiled found;
  std::vector<Diagnostic> heard;
  ASSERT_TRUE(unpack(bytes, found, heard));
  EXPECT_EQ(pack(found, heard), bytes);
  EXPECT_EQ(found.parts, 4);
  EXPECT_FALSE(found.lateStages);
  EXPECT_EQ(found.launches[0].program.aiv.code[0].imm, -5);
  EXPECT_EQ(found.launches[0].program.aiv.templates[0].operands[0].sizes[5].imm, -8);
  EXPECT_EQ(found.operands[0][1].symbol, "M");
  EXPECT_EQ(heard[0].notes[0].message, "here");

  for (size_t size = 0; size < bytes.size(); ++size) {
    Compiled part;
    EXPECT_FALSE(unpack(std::string_view(bytes).substr(0, size), part, heard)) << size;
  }
  EXPECT_FALSE(unpack(bytes + "x", found, heard));
  // Absurd sizes neither crash nor take memory.
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string bad = bytes;
    bad[at] = static_cast<char>(0xff);
    Compiled part;
    (void)unpack(bad, part, heard);
  }
}

} // namespace
