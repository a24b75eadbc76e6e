// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace tilewright::driver {

/// A folder of entries that any number of processes use at once.
///
/// An entry is one file, written aside and renamed into place, so that a reader sees all of it or
/// nothing; whoever is killed leaves a file that nobody reads. It repeats its key and carries a
/// checksum: what does not fit is a miss and is written anew. No locks: two processes that make the
/// same entry write the same bytes. Files of other programs are left alone.
class DiskCache {
public:
  /// `limit`: bytes that the entries may take together; the least recently used go first.
  DiskCache(std::string folder, uint64_t limit) : folder(std::move(folder)), limit(limit) {}

  /// Name of the entry for what `parts`, in order, say.
  static std::string keyOf(std::initializer_list<std::string_view> parts);

  /// The entry's content, marked as used now; none when there is no sound entry.
  std::optional<std::string> load(const std::string &key) const;

  /// Adds an entry. Returns why that was not possible, empty on success.
  std::string store(const std::string &key, std::string_view content) const;

private:
  std::string pathOf(const std::string &key) const;
  std::string prepare() const;
  std::string write(const std::string &key, std::string_view head, std::string_view content,
                    std::error_code &code) const;
  void evict() const;

  std::string folder;
  uint64_t limit;
};

} // namespace tilewright::driver
