// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tile instructions that move elements without computing; compiled once per instruction set level.
#include "tilewright/sim/KernelsRow.h"

namespace tilewright::sim::TILEWRIGHT_ISA {
namespace {

/// Calls f with an unsigned integer of the element's size.
template <class F>
TILEWRIGHT_INLINE void withBits(DType type, F f) {
  switch (Source<float>::elementBytes(type)) {
  case 1:
    return f(uint8_t{});
  case 2:
    return f(uint16_t{});
  case 4:
    return f(uint32_t{});
  default:
    return f(uint64_t{});
  }
}

template <class E>
TILEWRIGHT_INLINE void fillRow(E *out, int64_t stride, int64_t n, E value) {
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i)
      out[i] = value;
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    out[i * stride] = value;
}

template <class E>
TILEWRIGHT_INLINE void copyRow(E *out, int64_t strideOut, const E *in, int64_t strideIn,
                               int64_t n) {
  if (strideIn == 0)
    return fillRow(out, strideOut, n, *in);
  if (strideOut == 1 && strideIn == 1) {
    __builtin_memcpy(out, in, size_t(n) * sizeof(E));
    return;
  }
  if (strideOut == 1) {
    for (int64_t i = 0; i < n; ++i)
      out[i] = in[i * strideIn];
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    out[i * strideOut] = in[i * strideIn];
}

/// A box of two dims whose inner dims run across each other, in blocks that stay in the cache.
template <class E>
void transposeBox(E *out, int64_t rowOut, const E *in, int64_t rowIn, int64_t columnIn,
                  int64_t rows, int64_t columns) {
  constexpr int64_t kBlock = 32;
  for (int64_t r0 = 0; r0 < rows; r0 += kBlock) {
    int64_t r1 = rows - r0 < kBlock ? rows : r0 + kBlock;
    for (int64_t c0 = 0; c0 < columns; c0 += kBlock) {
      int64_t c1 = columns - c0 < kBlock ? columns : c0 + kBlock;
      for (int64_t r = r0; r < r1; ++r)
        for (int64_t c = c0; c < c1; ++c)
          out[r * rowOut + c] = in[r * rowIn + c * columnIn];
    }
  }
}

template <class E>
void copyBox(const Job &job) {
  int last = job.rank - 1;
  E *out = reinterpret_cast<E *>(job.operands[0].data);
  const E *in = reinterpret_cast<const E *>(job.operands[1].data);
  const int64_t *to = job.operands[0].strides, *from = job.operands[1].strides;
  if (last >= 1 && to[last] == 1 && from[last] > 1 && from[last - 1] == 1) {
    Job outer = job;
    outer.sizes[last - 1] = 1;
    forEachRow<2>(outer, [&](const int64_t *at) {
      transposeBox<E>(out + at[0], to[last - 1], in + at[1], 1, from[last], job.sizes[last - 1],
                      job.sizes[last]);
    });
    return;
  }
  forEachRow<2>(job, [&](const int64_t *at) {
    copyRow(out + at[0], to[last], in + at[1], from[last], job.sizes[last]);
  });
}

/// The scalar of Fill as an element of `type`.
uint64_t fillBits(DType type, int64_t scalar) {
  switch (type) {
  case DType::F16:
    return support::floatToHalf(support::floatOfBits(uint32_t(scalar)));
  case DType::BF16:
    return support::floatToBfloat(support::floatOfBits(uint32_t(scalar)));
  case DType::F8E4M3:
    return support::floatToQuarter<3>(support::floatOfBits(uint32_t(scalar)));
  case DType::F8E5M2:
    return support::floatToQuarter<2>(support::floatOfBits(uint32_t(scalar)));
  case DType::I1:
    return scalar & 1;
  default:
    return uint64_t(scalar);
  }
}

template <class E>
void fillBox(const Job &job) {
  int last = job.rank - 1;
  E *out = reinterpret_cast<E *>(job.operands[0].data);
  E value = E(fillBits(job.operands[0].type, job.scalars[0]));
  forEachRow<1>(job, [&](const int64_t *at) {
    fillRow(out + at[0], job.operands[0].strides[last], job.sizes[last], value);
  });
}

/// Reads raw elements of one row: in place, or gathered into `buffer`.
template <class E>
TILEWRIGHT_INLINE const E *rawRow(const Operand &operand, int64_t offset, int64_t stride, int64_t n,
                                  E *buffer) {
  const E *in = reinterpret_cast<const E *>(operand.data) + offset;
  if (stride == 1)
    return in;
  copyRow(buffer, 1, in, stride, n);
  return buffer;
}

template <class E>
void selectBox(const Job &job) {
  int last = job.rank - 1;
  int64_t n = job.sizes[last];
  E *dst = reinterpret_cast<E *>(job.operands[0].data);
  int64_t strides[4];
  for (int o = 0; o < 4; ++o)
    strides[o] = job.operands[o].strides[last];
  forEachRow<4>(job, [&](const int64_t *at) {
    uint8_t bufferC[kChunk];
    E bufferA[kChunk], bufferB[kChunk], bufferOut[kChunk];
    for (int64_t i = 0; i < n; i += kChunk) {
      int64_t count = n - i < kChunk ? n - i : kChunk;
      const uint8_t *c =
          rawRow(job.operands[1], at[1] + i * strides[1], strides[1], count, bufferC);
      const E *a = rawRow(job.operands[2], at[2] + i * strides[2], strides[2], count, bufferA);
      const E *b = rawRow(job.operands[3], at[3] + i * strides[3], strides[3], count, bufferB);
      E *out = dst + at[0] + i * strides[0];
      E *row = strides[0] == 1 ? out : bufferOut;
      TILEWRIGHT_VECTOR_LOOP
      for (int64_t j = 0; j < count; ++j) {
        E x = a[j], y = b[j];
        row[j] = c[j] ? x : y;
      }
      if (row != out)
        copyRow(out, strides[0], row, 1, count);
    }
  });
}

/// Operand 1 of the job is not memory: its strides are the steps of Iota.
void iotaBox(const Job &job) {
  int last = job.rank - 1;
  int64_t n = job.sizes[last];
  int64_t stride = job.operands[0].strides[last];
  uint64_t step = uint64_t(job.operands[1].strides[last]);
  Sink<int64_t> dst(job.operands[0], stride);
  forEachRow<2>(job, [&](const int64_t *at) {
    int64_t buffer[kChunk];
    for (int64_t i = 0; i < n; i += kChunk) {
      int64_t count = n - i < kChunk ? n - i : kChunk;
      int64_t *row = dst.begin(at[0] + i * stride, buffer);
      uint64_t base = uint64_t(job.scalars[0]) + uint64_t(at[1]);
      for (int64_t j = 0; j < count; ++j)
        row[j] = int64_t(base + uint64_t(i + j) * step);
      dst.end(at[0] + i * stride, count, buffer);
    }
  });
}

/// An index outside the table reads 0.
template <class E>
void gatherBox(const Job &job) {
  int last = job.rank - 1;
  int64_t n = job.sizes[last];
  E *dst = reinterpret_cast<E *>(job.operands[0].data);
  const E *table = reinterpret_cast<const E *>(job.operands[1].data);
  int64_t tableStride = job.tableStride;
  int64_t strideOut = job.operands[0].strides[last], strideIndex = job.operands[2].strides[last];
  Source<int64_t> index(job.operands[2], strideIndex);
  forEachRow<3>(job, [&](const int64_t *at) {
    int64_t buffer[kChunk];
    for (int64_t i = 0; i < n; i += kChunk) {
      int64_t count = n - i < kChunk ? n - i : kChunk;
      const int64_t *row = index.row(at[2] + i * strideIndex, count, buffer);
      E *out = dst + at[0] + i * strideOut;
      for (int64_t j = 0; j < count; ++j) {
        bool inside = uint64_t(row[j]) < uint64_t(job.tableSize);
        out[j * strideOut] = inside ? table[row[j] * tableStride] : E(0);
      }
    }
  });
}

} // namespace

void runMove(const Job &job) {
  DType type = job.operands[0].type;
  switch (job.op) {
  case TileOp::Fill:
  case TileOp::FillL1:
    return withBits(type, [&]<class E>(E) { fillBox<E>(job); });
  case TileOp::Copy:
  case TileOp::Load:
  case TileOp::LoadL0:
  case TileOp::Store:
    return withBits(type, [&]<class E>(E) { copyBox<E>(job); });
  case TileOp::Select:
    return withBits(type, [&]<class E>(E) { selectBox<E>(job); });
  case TileOp::SelectScalar:
    return withBits(type, [&]<class E>(E) {
      E value = E(fillBits(type, job.scalars[0]));
      Job whole = job;
      whole.operands[3] = whole.operands[0];
      whole.operands[3].data = reinterpret_cast<std::byte *>(&value);
      for (int64_t &stride : whole.operands[3].strides)
        stride = 0;
      selectBox<E>(whole);
    });
  case TileOp::Iota:
    return iotaBox(job);
  case TileOp::Gather:
    return withBits(type, [&]<class E>(E) { gatherBox<E>(job); });
  default:
    return;
  }
}

} // namespace tilewright::sim::TILEWRIGHT_ISA
