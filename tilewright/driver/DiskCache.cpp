// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/driver/DiskCache.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <vector>

using namespace tilewright;
using namespace tilewright::driver;
namespace fs = llvm::sys::fs;

namespace {

constexpr llvm::StringLiteral kMagic = "tilewright kernel 1\n";
constexpr llvm::StringLiteral kSuffix = ".twk", kAside = ".twk-new";
/// Files aside that are older than this belong to a process that is gone.
constexpr std::chrono::hours kAbandoned(1);
/// Times that an entry is written before somebody else's clearing counts as a problem.
constexpr int kAttempts = 4;

std::string digest(llvm::StringRef bytes) {
  llvm::BLAKE3 hasher;
  hasher.update(bytes);
  auto result = hasher.final();
  return std::string(reinterpret_cast<const char *>(result.data()), result.size());
}

/// "magic, key, checksum": what stands before the content of an entry.
std::string header(const std::string &key, llvm::StringRef content) {
  return (kMagic + key + "\n" + digest(content)).str();
}

struct Entry {
  std::string path;
  uint64_t size = 0;
  llvm::sys::TimePoint<> used;
};

/// How much this process has written to a folder since it last looked at the sum of all.
struct Written {
  std::mutex mutex;
  std::map<std::string, uint64_t> bytes;
};

Written &written() {
  static Written instance;
  return instance;
}

std::string because(const llvm::Twine &what, std::error_code code) {
  return (what + ": " + code.message()).str();
}

} // namespace

std::string DiskCache::keyOf(std::initializer_list<std::string_view> parts) {
  llvm::BLAKE3 hasher;
  for (std::string_view part : parts) {
    hasher.update(llvm::StringRef(std::to_string(part.size()) + ":"));
    hasher.update(llvm::StringRef(part));
  }
  auto result = hasher.final();
  return llvm::toHex(llvm::ArrayRef<uint8_t>(result), /*LowerCase=*/true);
}

std::string DiskCache::pathOf(const std::string &key) const {
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, key + kSuffix);
  return path.str().str();
}

std::optional<std::string> DiskCache::load(const std::string &key) const {
  auto file = fs::openNativeFileForRead(pathOf(key));
  if (!file) {
    llvm::consumeError(file.takeError());
    return std::nullopt;
  }
  auto buffer = llvm::MemoryBuffer::getOpenFile(*file, key, /*FileSize=*/-1,
                                                /*RequiresNullTerminator=*/false,
                                                /*IsVolatile=*/true);
  std::optional<std::string> content;
  if (buffer) {
    llvm::StringRef bytes = (*buffer)->getBuffer();
    std::string expected = header(key, "");
    llvm::StringRef body = bytes.substr(expected.size());
    if (bytes.starts_with(header(key, body)))
      content = body.str();
  }
  // A folder that may only be read keeps its times.
  if (content)
    (void)fs::setLastAccessAndModificationTime(*file, std::chrono::system_clock::now());
  fs::closeFile(*file);
  return content;
}

/// Makes the folder; an error text when entries cannot be written there.
std::string DiskCache::prepare() const {
  if (std::error_code code =
          fs::create_directories(folder, /*IgnoreExisting=*/true, fs::perms::owner_all))
    return because("the folder " + folder + " cannot be made", code);
  return "";
}

/// Writes an entry aside and renames it; an error text, with its code, when that fails.
std::string DiskCache::write(const std::string &key, std::string_view head,
                             std::string_view content, std::error_code &code) const {
  std::string problem = prepare();
  if (!problem.empty())
    return problem;
  int file = -1;
  llvm::SmallString<256> aside;
  std::string model = pathOf(key);
  model.resize(model.size() - kSuffix.size());
  code = fs::createUniqueFile(model + "-%%%%%%%%" + kAside, file, aside);
  if (code)
    return because("the folder " + folder + " cannot be written", code);
  llvm::raw_fd_ostream stream(file, /*shouldClose=*/true);
  stream << llvm::StringRef(head) << llvm::StringRef(content);
  stream.close();
  code = stream.error();
  stream.clear_error();
  if (!code)
    code = fs::rename(aside, pathOf(key));
  if (!code)
    return "";
  fs::remove(aside);
  return because("an entry of " + folder + " cannot be written", code);
}

std::string DiskCache::store(const std::string &key, std::string_view content) const {
  std::string head = header(key, content);
  uint64_t size = head.size() + content.size();
  if (size > limit)
    return "";
  // Somebody who empties the cache takes the folder and unfinished files too: then once more.
  std::string problem;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::error_code code;
    problem = write(key, head, content, code);
    if (problem.empty() || code != std::errc::no_such_file_or_directory)
      break;
  }
  if (!problem.empty())
    return problem;

  bool isDue = false;
  {
    std::lock_guard<std::mutex> lock(written().mutex);
    auto [sum, isFirst] = written().bytes.try_emplace(folder, 0);
    sum->second += size;
    isDue = isFirst || sum->second > limit / 16;
    if (isDue)
      sum->second = 0;
  }
  if (isDue)
    evict();
  return "";
}

/// Removes the least recently used entries until the rest takes nine tenths of the limit, and what
/// killed processes have left. Somebody else may be doing the same.
void DiskCache::evict() const {
  std::vector<Entry> entries;
  uint64_t sum = 0;
  std::error_code code;
  auto now = std::chrono::system_clock::now();
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    llvm::StringRef path = at->path();
    bool isEntry = path.ends_with(kSuffix);
    auto status = isEntry || path.ends_with(kAside)
                      ? at->status()
                      : llvm::ErrorOr<fs::basic_file_status>(std::error_code());
    if (!status || status->type() != fs::file_type::regular_file)
      continue;
    if (!isEntry) {
      if (now - status->getLastModificationTime() > kAbandoned)
        fs::remove(path);
      continue;
    }
    entries.push_back({path.str(), status->getSize(), status->getLastModificationTime()});
    sum += status->getSize();
  }
  if (sum <= limit)
    return;
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.used < b.used; });
  for (const Entry &entry : entries) {
    if (sum <= limit / 10 * 9)
      break;
    fs::remove(entry.path);
    sum -= entry.size;
  }
}
