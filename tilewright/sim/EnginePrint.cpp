// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/EngineGroup.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

using namespace tilewright::sim;

namespace {

/// Above this many elements only the edges of each dimension are shown.
constexpr int64_t kFullPrint = 1000;
constexpr int64_t kEdge = 3;

std::string scalarText(DType type, int64_t value) {
  char buffer[64];
  switch (type) {
  case DType::I1:
    return value ? "True" : "False";
  case DType::U64:
    std::snprintf(buffer, sizeof(buffer), "%llu", static_cast<unsigned long long>(value));
    return buffer;
  case DType::F64:
    std::snprintf(buffer, sizeof(buffer), "%.6g", std::bit_cast<double>(value));
    return buffer;
  case DType::F16:
  case DType::BF16:
  case DType::F32:
    std::snprintf(buffer, sizeof(buffer), "%.6g", double(std::bit_cast<float>(uint32_t(value))));
    return buffer;
  default:
    return std::to_string(value);
  }
}

/// Writes a tile as nested brackets, right-aligned columns, long dimensions shortened.
class TilePrinter {
public:
  explicit TilePrinter(const ResolvedView &view) : view(view) {
    int64_t elements = 1;
    for (unsigned d = 0; d < view.rank; ++d)
      elements *= view.sizes[d];
    isShort = elements > kFullPrint;
  }

  std::string run() {
    measure(0, view.data);
    write(0, view.data);
    return out;
  }

private:
  const ResolvedView &view;
  std::string out;
  size_t width = 0;
  bool isShort = false;

  std::string element(const std::byte *data) const {
    return scalarText(view.type, loadScalar(data, view.type));
  }
  bool isHidden(unsigned d, int64_t i) const {
    return isShort && view.sizes[d] > 2 * kEdge && i >= kEdge && i < view.sizes[d] - kEdge;
  }
  const std::byte *step(unsigned d, const std::byte *data, int64_t i) const {
    return data + i * view.strides[d] * int64_t(byteSize(view.type));
  }

  void measure(unsigned d, const std::byte *data) {
    if (d == view.rank) {
      width = std::max(width, element(data).size());
      return;
    }
    for (int64_t i = 0; i < view.sizes[d]; ++i) {
      if (isHidden(d, i))
        i = view.sizes[d] - kEdge;
      measure(d + 1, step(d, data, i));
    }
  }

  void write(unsigned d, const std::byte *data) {
    if (d == view.rank) {
      std::string text = element(data);
      out += std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
      return;
    }
    out += '[';
    bool isLast = d + 1 == view.rank;
    for (int64_t i = 0; i < view.sizes[d]; ++i) {
      if (i > 0)
        out += isLast ? std::string(", ") : ",\n" + std::string(d + 1, ' ');
      if (isHidden(d, i)) {
        out += isLast ? std::string("..., ") : "...,\n" + std::string(d + 1, ' ');
        i = view.sizes[d] - kEdge;
      }
      write(d + 1, step(d, data, i));
    }
    out += ']';
  }
};

} // namespace

std::string tilewright::sim::printText(const PrintSpec &spec, const Prepared *tile,
                                       const int64_t *value) {
  std::string text = spec.message;
  if (tile) {
    std::string body = TilePrinter(tile->op.operands[0]).run();
    bool isBlock = body.find('\n') != std::string::npos;
    if (!text.empty())
      text += isBlock ? ":\n" : ": ";
    text += body;
  } else if (value) {
    text += (text.empty() ? "" : ": ") + scalarText(spec.type, *value);
  }
  return text + "\n";
}
