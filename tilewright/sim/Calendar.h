// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tilewright::sim {

/// Bandwidth that many users share, as a calendar: time is cut into windows with a byte budget
/// each, and a transfer takes what is left from its start on, at most its own rate. Requests may
/// come a little out of time order; the outcome depends on nothing but the order of the calls. Full
/// windows are skipped over compressed links, so a call costs amortised constant time.
class Calendar {
public:
  static constexpr double kWindow = 256; ///< cycles

  explicit Calendar(double bytesPerCycle) : budget(bytesPerCycle * kWindow) {}

  /// Books `bytes` from `start` on at no more than `rate` bytes per cycle; returns the end.
  double take(double start, double bytes, double rate) {
    if (bytes <= 0)
      return start;
    size_t window = static_cast<size_t>(start / kWindow);
    while (true) {
      window = firstOpen(window);
      const double begin = std::max(start, static_cast<double>(window) * kWindow);
      const double end = static_cast<double>(window + 1) * kWindow;
      const double most = std::min(left[window], rate * (end - begin));
      if (most >= bytes) {
        book(window, bytes);
        return begin + bytes / rate;
      }
      book(window, most);
      bytes -= most;
      ++window;
    }
  }

  /// Bytes booked in one window, for tests.
  double booked(size_t window) const { return window < left.size() ? budget - left[window] : 0; }
  size_t windows() const { return left.size(); }
  double windowBudget() const { return budget; }

private:
  void book(size_t window, double bytes) {
    left[window] -= bytes;
    // The last bytes of a budget are not worth a visit.
    if (left[window] < budget * 1e-6)
      next[window] = static_cast<uint32_t>(window + 1);
  }

  /// The first window at or after `window` that has budget left.
  size_t firstOpen(size_t window) {
    if (window >= left.size())
      grow(window);
    size_t root = window;
    while (next[root] != root) {
      root = next[root];
      if (root >= left.size())
        grow(root);
    }
    while (next[window] != root && window != root) {
      const size_t after = next[window];
      next[window] = static_cast<uint32_t>(root);
      window = after;
    }
    return root;
  }

  void grow(size_t window) {
    const size_t old = left.size(), now = std::max(window + 1, old + old / 2 + 64);
    left.resize(now, budget);
    next.resize(now);
    for (size_t i = old; i < now; ++i)
      next[i] = static_cast<uint32_t>(i);
  }

  double budget;
  std::vector<double> left;
  std::vector<uint32_t> next; ///< itself, or a later window to look at instead
};

} // namespace tilewright::sim
