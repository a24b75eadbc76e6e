// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace tilewright::support {

/// A float scalar as Python would show it, with six significant digits.
inline std::string floatText(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char text[64];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

/// What T.print needs to know of a tile. `index` counts elements in row-major order.
struct TensorElements {
  std::vector<int64_t> sizes;
  std::string dtype; ///< empty for the types that PyTorch does not name: float32, int64, bool
  std::function<double(int64_t index)> real;      ///< elements of float type
  std::function<std::string(int64_t index)> text; ///< elements of other types
};

/// Elements as PyTorch would show them: `tensor([[1., 2.], [3., 4.]])`, with the type after the
/// elements, four digits, and the middle of long dimensions left out from 1000 elements on. Works
/// in two rounds: first over the shown elements to choose a common format, then as text.
class TensorPrinter {
public:
  explicit TensorPrinter(const TensorElements &elements) : elements(elements) {
    int64_t count = 1;
    for (int64_t size : elements.sizes)
      count *= size;
    summarize = count > kSummarizeFrom;
    forShown(0, 0, [&](int64_t index) { see(index); });
    forShown(0, 0, [&](int64_t index) { width = std::max(width, element(index).size()); });
  }

  std::string print() const {
    std::string text = "tensor(" + nested(0, 0, /*indent=*/7);
    return text + (elements.dtype.empty() ? ")" : ", dtype=" + elements.dtype + ")");
  }

private:
  static constexpr int64_t kSummarizeFrom = 1000; ///< elements
  static constexpr int64_t kEdgeItems = 3;        ///< shown at each end of a summarised dimension

  /// Numbers of the shown items of a dimension; -1 stands for those left out.
  std::vector<int64_t> shown(size_t dim) const {
    std::vector<int64_t> items;
    bool cut = summarize && elements.sizes[dim] > 2 * kEdgeItems;
    for (int64_t i = 0; i < elements.sizes[dim]; ++i) {
      if (cut && i == kEdgeItems) {
        items.push_back(-1);
        i = elements.sizes[dim] - kEdgeItems;
      }
      items.push_back(i);
    }
    return items;
  }

  template <class Visit>
  void forShown(size_t dim, int64_t index, Visit visit) const {
    if (dim == elements.sizes.size())
      return visit(index);
    for (int64_t item : shown(dim))
      if (item >= 0)
        forShown(dim + 1, index * elements.sizes[dim] + item, visit);
  }

  /// Takes note of a float element: whole numbers print as `2.`, a wide range in scientific form.
  void see(int64_t index) {
    if (!elements.real)
      return;
    double x = std::fabs(elements.real(index));
    if (!std::isfinite(x) || x == 0)
      return;
    allWhole &= x == std::floor(x);
    largest = std::max(largest, x);
    smallest = std::min(smallest, x);
  }

  std::string element(int64_t index) const {
    if (!elements.real)
      return elements.text(index);
    double value = elements.real(index);
    if (!std::isfinite(value))
      return floatText(value);
    bool scientific =
        largest > 0 && (largest / smallest > 1000 || largest > 1e8 || smallest < 1e-4);
    if (allWhole)
      scientific = largest > 1e8;
    char text[400]; // "%.4f" of the largest double
    std::snprintf(text, sizeof text, scientific ? "%.4e" : allWhole ? "%.0f." : "%.4f", value);
    return text;
  }

  std::string nested(size_t dim, int64_t index, size_t indent) const {
    size_t rank = elements.sizes.size();
    if (dim == rank) {
      std::string text = element(index);
      return (rank == 0 ? "" : std::string(width - text.size(), ' ')) + text;
    }
    bool last = dim + 1 == rank;
    std::string text = "[";
    std::string separator =
        last ? ", " : "," + std::string(rank - dim - 1, '\n') + std::string(indent + 1, ' ');
    bool first = true;
    for (int64_t item : shown(dim)) {
      text += first ? "" : separator;
      text += item < 0 ? "..." : nested(dim + 1, index * elements.sizes[dim] + item, indent + 1);
      first = false;
    }
    return text + "]";
  }

  const TensorElements &elements;
  bool summarize = false, allWhole = true;
  double largest = 0, smallest = HUGE_VAL;
  size_t width = 0;
};

inline std::string tensorText(const TensorElements &elements) {
  return TensorPrinter(elements).print();
}

} // namespace tilewright::support
