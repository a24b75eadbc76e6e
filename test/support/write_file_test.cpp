// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/support/WriteFile.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

using namespace tilewright::support;
namespace fs = std::filesystem;

namespace {

class WriteFile : public testing::Test {
protected:
  fs::path folder = fs::path(testing::TempDir()) / ("write_file" + std::to_string(getpid()));
  std::string path = folder / "file";

  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  std::string contents() const {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  long count() const { return std::distance(fs::directory_iterator(folder), {}); }
};

TEST_F(WriteFile, AppearsWhenItIsComplete) {
  EXPECT_EQ(writeWhole(path, "old"), "");
  {
    WholeFile file(path);
    file.write("new");
    EXPECT_EQ(contents(), "old");
    EXPECT_EQ(file.commit(), "");
  }
  EXPECT_EQ(contents(), "new");
  EXPECT_EQ(count(), 1);
}

TEST_F(WriteFile, LeavesNothingBehindWithoutCommit) {
  WholeFile(path).write("half");
  EXPECT_EQ(count(), 0);
}

TEST_F(WriteFile, SaysWhatIsWrong) {
  EXPECT_EQ(writeWhole("/dev/full", std::string(1 << 16, 'x')),
            "/dev/full cannot be written: No space left on device");
  EXPECT_EQ(writeWhole(path + "/none", "x"),
            path + "/none cannot be written: No such file or directory");
  EXPECT_EQ(writeWhole(folder, "x"), folder.string() + " cannot be written: Is a directory");
}

TEST_F(WriteFile, FollowsLinks) {
  fs::create_symlink(folder / "real", path);
  writeWhole(folder / "real", "old");
  EXPECT_EQ(writeWhole(path, "new"), "");
  EXPECT_TRUE(fs::is_symlink(path));
  EXPECT_EQ(contents(), "new");
}

} // namespace
