// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Runs.h"

#include <cstdlib>

using namespace tilewright::sim;

Runs::Runs(const ResolvedView &view) {
  int64_t bytes = byteSize(view.type);
  run = bytes;
  for (unsigned d = 0; d < view.rank; ++d) {
    if (view.sizes[d] == 1 || view.strides[d] == 0)
      continue;
    int64_t stride = std::abs(view.strides[d]) * bytes;
    int place = depth++;
    for (; place > 0 && strides[size_t(place - 1)] > stride; --place) {
      strides[size_t(place)] = strides[size_t(place - 1)];
      sizes[size_t(place)] = sizes[size_t(place - 1)];
    }
    strides[size_t(place)] = stride;
    sizes[size_t(place)] = view.sizes[d];
  }
  int next = 0;
  while (next < depth && strides[size_t(next)] <= run) {
    run = strides[size_t(next)] * (sizes[size_t(next)] - 1) + run;
    ++next;
  }
  for (int d = next; d < depth; ++d) {
    strides[size_t(d - next)] = strides[size_t(d)];
    sizes[size_t(d - next)] = sizes[size_t(d)];
  }
  depth -= next;
}
