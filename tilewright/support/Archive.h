// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Values as bytes, for files that the same build of the program reads again: host byte order, no
/// names, no versions. A struct takes part through one function for both directions, found by its
/// namespace:
///
///   template <class Archive, class T>
///     requires support::Described<T, Point>
///   void describe(Archive &archive, T &value) {
///     auto &[x, y] = value; // does not compile when a member is missing
///     archive(x, y);
///   }
namespace tilewright::support {

template <class T, class Struct>
concept Described = std::is_same_v<std::remove_const_t<T>, Struct>;

template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class ArchiveWriter {
public:
  template <class... T>
  void operator()(const T &...values) {
    (put(values), ...);
  }

  std::string take() { return std::move(bytes); }

private:
  void raw(const void *data, size_t size) { bytes.append(static_cast<const char *>(data), size); }

  template <Number T>
  void put(const T &value) {
    raw(&value, sizeof(value));
  }
  void put(const std::string &text) {
    put(uint64_t(text.size()));
    bytes += text;
  }
  template <class T>
  void put(const std::vector<T> &values) {
    put(uint64_t(values.size()));
    for (const T &value : values)
      put(value);
  }
  template <class T, size_t N>
  void put(const std::array<T, N> &values) {
    for (const T &value : values)
      put(value);
  }
  template <class T>
    requires std::is_class_v<T>
  void put(const T &value) {
    describe(*this, value);
  }

  std::string bytes;
};

/// Reads what an ArchiveWriter wrote. Bytes that end too early or name absurd sizes leave default
/// values and make `done()` false; nothing is read or allocated beyond what is there.
class ArchiveReader {
public:
  explicit ArchiveReader(std::string_view bytes) : rest(bytes) {}

  template <class... T>
  void operator()(T &...values) {
    (get(values), ...);
  }

  /// Everything was there, and nothing is left.
  bool done() const { return !failed && rest.empty(); }

private:
  bool take(void *data, size_t size) {
    failed |= size > rest.size();
    if (failed)
      return false;
    std::memcpy(data, rest.data(), size);
    rest.remove_prefix(size);
    return true;
  }

  /// A count of things that take at least a byte each.
  size_t count() {
    uint64_t size = 0;
    get(size);
    failed |= size > rest.size();
    return failed ? 0 : size;
  }

  template <Number T>
  void get(T &value) {
    take(&value, sizeof(value));
  }
  void get(bool &value) {
    uint8_t byte = 0;
    get(byte);
    failed |= byte > 1;
    value = byte == 1;
  }
  void get(std::string &text) {
    text.resize(count());
    take(text.data(), text.size());
  }
  template <class T>
  void get(std::vector<T> &values) {
    values.resize(count());
    for (T &value : values)
      get(value);
  }
  template <class T, size_t N>
  void get(std::array<T, N> &values) {
    for (T &value : values)
      get(value);
  }
  template <class T>
    requires std::is_class_v<T>
  void get(T &value) {
    describe(*this, value);
  }

  std::string_view rest;
  bool failed = false;
};

} // namespace tilewright::support
