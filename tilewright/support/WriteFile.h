// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tilewright::support {

/// A file that appears under its name only when it is complete: it is written beside it and renamed
/// by commit(). Devices and pipes are written in place. Without commit() nothing stays behind.
class WholeFile {
public:
  explicit WholeFile(std::string path) : path(std::move(path)) {
    std::error_code ignored;
    isInPlace = std::filesystem::exists(this->path, ignored) &&
                !std::filesystem::is_regular_file(this->path, ignored);
    if (std::filesystem::is_symlink(this->path, ignored) && !isInPlace)
      target = std::filesystem::canonical(this->path, ignored).string();
    if (target.empty())
      target = this->path;
    name = isInPlace ? target : target + ".part" + std::to_string(getpid());
    errno = 0;
    file = std::fopen(name.c_str(), "wb");
    note(!file);
  }
  WholeFile(const WholeFile &) = delete;
  WholeFile &operator=(const WholeFile &) = delete;
  ~WholeFile() {
    if (file)
      std::fclose(file);
    if (!isInPlace && !isCommitted)
      std::remove(name.c_str());
  }

  /// To print to; null when the file could not be made.
  std::FILE *stream() const { return file; }

  void write(std::string_view text) {
    if (file)
      note(std::fwrite(text.data(), 1, text.size(), file) != text.size());
  }

  /// Puts the file in its place. What went wrong so far, empty when nothing did.
  std::string commit() {
    if (file) {
      note(std::ferror(file));
      note(std::fclose(std::exchange(file, nullptr)) != 0);
    }
    if (!error && !isInPlace)
      note(std::rename(name.c_str(), target.c_str()) != 0);
    isCommitted = !error;
    return error ? path + " cannot be written: " + std::strerror(error) : std::string();
  }

private:
  std::string path, target, name;
  std::FILE *file = nullptr;
  bool isInPlace = false, isCommitted = false;
  int error = 0; ///< the first one

  void note(bool isWrong) {
    if (isWrong && !error)
      error = errno ? errno : EIO;
  }
};

/// Writes a text as a whole; what went wrong, empty when nothing did.
inline std::string writeWhole(const std::string &path, std::string_view text) {
  WholeFile file(path);
  file.write(text);
  return file.commit();
}

} // namespace tilewright::support
