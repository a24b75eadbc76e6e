// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/interp/Print.h"

#include "llvm/ADT/SmallVector.h"

#include <cmath>
#include <cstdio>

using namespace llvm;

namespace tilewright::interp {

namespace {

constexpr int64_t kSummarizeFrom = 1000; ///< elements
constexpr int64_t kEdgeItems = 3;        ///< shown at each end of a summarised dimension

/// Prints a tensor in two rounds: first over the shown elements to choose a common format, then as
/// text.
class TensorPrinter {
public:
  TensorPrinter(Kind kind, const char *data, ArrayRef<int64_t> sizes)
      : kind(kind), data(data), sizes(sizes) {
    int64_t count = 1;
    for (int64_t size : sizes)
      count *= size;
    summarize = count > kSummarizeFrom;
    forShown(0, 0, [&](int64_t index) { see(index); });
    forShown(0, 0, [&](int64_t index) { width = std::max(width, element(index).size()); });
  }

  std::string print() {
    std::string text = "tensor(" + nested(0, 0, /*indent=*/7);
    bool isDefault = kind == Kind::F32 || kind == Kind::I64 || kind == Kind::I1;
    return text + (isDefault ? ")" : std::string(", dtype=") + nameOf(kind) + ")");
  }

private:
  /// Numbers of the shown items of a dimension; -1 stands for those left out.
  SmallVector<int64_t> shown(size_t dim) const {
    SmallVector<int64_t> items;
    bool cut = summarize && sizes[dim] > 2 * kEdgeItems;
    for (int64_t i = 0; i < sizes[dim]; ++i) {
      if (cut && i == kEdgeItems) {
        items.push_back(-1);
        i = sizes[dim] - kEdgeItems;
      }
      items.push_back(i);
    }
    return items;
  }

  template <class Visit>
  void forShown(size_t dim, int64_t index, Visit visit) const {
    if (dim == sizes.size())
      return visit(index);
    for (int64_t item : shown(dim))
      if (item >= 0)
        forShown(dim + 1, index * sizes[dim] + item, visit);
  }

  /// Takes note of a float element: whole numbers print as `2.`, a wide range in scientific form.
  void see(int64_t index) {
    if (!isFloat(kind))
      return;
    double x = std::fabs(loadElement(kind, data, index).real);
    if (!std::isfinite(x) || x == 0)
      return;
    allWhole &= x == std::floor(x);
    largest = std::max(largest, x);
    smallest = std::min(smallest, x);
  }

  std::string element(int64_t index) const {
    Scalar value = loadElement(kind, data, index);
    if (!isFloat(kind))
      return scalarText(kind, value);
    if (!std::isfinite(value.real))
      return scalarText(kind, value);
    bool scientific =
        largest > 0 && (largest / smallest > 1000 || largest > 1e8 || smallest < 1e-4);
    if (allWhole)
      scientific = largest > 1e8;
    char text[64];
    std::snprintf(text, sizeof text, scientific ? "%.4e" : allWhole ? "%.0f." : "%.4f", value.real);
    return text;
  }

  std::string nested(size_t dim, int64_t index, size_t indent) const {
    if (dim == sizes.size()) {
      std::string text = element(index);
      return (sizes.empty() ? "" : std::string(width - text.size(), ' ')) + text;
    }
    bool last = dim + 1 == sizes.size();
    std::string text = "[", separator = last ? ", "
                                             : "," + std::string(sizes.size() - dim - 1, '\n') +
                                                   std::string(indent + 1, ' ');
    bool first = true;
    for (int64_t item : shown(dim)) {
      text += first ? "" : separator;
      text += item < 0 ? "..." : nested(dim + 1, index * sizes[dim] + item, indent + 1);
      first = false;
    }
    return text + "]";
  }

  Kind kind;
  const char *data;
  ArrayRef<int64_t> sizes;
  bool summarize = false, allWhole = true;
  double largest = 0, smallest = HUGE_VAL;
  size_t width = 0;
};

} // namespace

std::string tensorText(Kind kind, const char *data, ArrayRef<int64_t> sizes) {
  return TensorPrinter(kind, data, sizes).print();
}

std::string scalarText(Kind kind, Scalar value) {
  if (kind == Kind::I1)
    return value.integer ? "True" : "False";
  if (isUnsigned(kind))
    return std::to_string(unsignedOf(kind, value.integer));
  if (!isFloat(kind))
    return std::to_string(value.integer);
  if (std::isnan(value.real))
    return "nan";
  if (std::isinf(value.real))
    return value.real < 0 ? "-inf" : "inf";
  char text[64];
  std::snprintf(text, sizeof text, "%.6g", value.real);
  return text;
}

} // namespace tilewright::interp
