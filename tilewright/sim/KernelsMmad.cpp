// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix multiply and accumulate; compiled once per instruction set level.
//
// Every element of C is one chain of fused multiply-adds in k order, whatever the blocking: a
// register tile keeps the chain's end and C holds it, unrounded, between blocks of k.
#include "tilewright/sim/KernelsRow.h"

namespace tilewright::sim::TILEWRIGHT_ISA {
namespace {

using kernels::Matrix;
using kernels::MatrixJob;

/// Register tile: kRows x (kVectors * kWidth) elements of 4 bytes.
#if defined(__AVX512F__)
inline constexpr int kWidth = 16, kRows = 8, kVectors = 2;
#elif defined(__AVX2__)
inline constexpr int kWidth = 8, kRows = 6, kVectors = 2;
#else
inline constexpr int kWidth = 4, kRows = 8, kVectors = 3;
#endif
inline constexpr int kColumns = kVectors * kWidth;
/// Depth of a block of k: a panel of B then stays in the first-level cache.
inline constexpr int64_t kDepth = 128;
/// Row length of packed A; off a power of two, so that rows spread over the cache's sets.
inline constexpr int64_t kPackedRow = kDepth + 16;

template <class T>
using Vector = T __attribute__((ext_vector_type(kWidth)));

template <class T>
TILEWRIGHT_INLINE Vector<T> multiplyAdd(T a, Vector<T> b, Vector<T> c) {
  Vector<T> splat = a;
  if constexpr (kSame<T, float>)
    return __builtin_elementwise_fma(splat, b, c);
  else
    return splat * b + c;
}

template <class T>
TILEWRIGHT_INLINE Vector<T> loadVector(const T *from) {
  Vector<T> v;
  __builtin_memcpy(&v, from, sizeof(v));
  return v;
}
template <class T>
TILEWRIGHT_INLINE void storeVector(T *to, Vector<T> v) {
  __builtin_memcpy(to, &v, sizeof(v));
}

/// One register tile over `depth` steps of k. Packed A: element (i, p) at a[i * kPackedRow + p],
/// or, with ColumnsOfA, at a[p * kRows + i]. Packed B: row p at b[p * kColumns].
template <class T, bool ColumnsOfA>
void multiplyTile(const T *a, const T *b, T *c, int64_t rowOfC, int64_t depth, bool zero) {
  Vector<T> sums[kRows][kVectors];
#pragma unroll
  for (int i = 0; i < kRows; ++i)
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
      sums[i][v] = zero ? Vector<T>(T(0)) : loadVector(c + i * rowOfC + v * kWidth);
  for (int64_t p = 0; p < depth; ++p) {
    Vector<T> row[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
      row[v] = loadVector(b + p * kColumns + v * kWidth);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      T element = ColumnsOfA ? a[p * kRows + i] : a[i * kPackedRow + p];
#pragma unroll
      for (int v = 0; v < kVectors; ++v)
        sums[i][v] = multiplyAdd<T>(element, row[v], sums[i][v]);
    }
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i)
#pragma unroll
    for (int v = 0; v < kVectors; ++v)
      storeVector<T>(c + i * rowOfC + v * kWidth, sums[i][v]);
}

/// out[c][r] = in[r][c] for an 8 x 8 block.
template <class T>
TILEWRIGHT_INLINE void transpose8(const T *in, int64_t rowIn, T *out, int64_t rowOut) {
  using V = T __attribute__((ext_vector_type(8)));
  V r[8], s[8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
    __builtin_memcpy(&r[i], in + i * rowIn, sizeof(V));
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    s[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    s[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
#pragma unroll
  for (int i = 0; i < 8; i += 4)
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      r[i + j] = __builtin_shufflevector(s[i + j], s[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      r[i + j + 2] = __builtin_shufflevector(s[i + j], s[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    s[j] = __builtin_shufflevector(r[j], r[j + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    s[j + 4] = __builtin_shufflevector(r[j], r[j + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
    __builtin_memcpy(out + i * rowOut, &s[i], sizeof(V));
}

template <class T, class E>
TILEWRIGHT_INLINE const E *elementAt(const Matrix &m, int64_t row, int64_t column) {
  return reinterpret_cast<const E *>(m.data) + row * m.rowStride + column * m.columnStride;
}

/// Rows of A, k contiguous: kPackedRow elements per row, zero rows up to a multiple of kRows.
template <class T, class E>
void packRowsOfA(const Matrix &a, int64_t m, int64_t k0, int64_t depth, T *out) {
  for (int64_t i = 0; i < m; ++i) {
    T *row = out + i * kPackedRow;
    const E *in = elementAt<T, E>(a, i, k0);
    if (a.columnStride == 1) {
      TILEWRIGHT_VECTOR_LOOP
      for (int64_t p = 0; p < depth; ++p)
        row[p] = fromElement<T>(in[p]);
      continue;
    }
    for (int64_t p = 0; p < depth; ++p)
      row[p] = fromElement<T>(in[p * a.columnStride]);
  }
  for (int64_t i = m; i % kRows; ++i)
    for (int64_t p = 0; p < depth; ++p)
      out[i * kPackedRow + p] = T(0);
}

/// Columns of A, m contiguous (a transposed operand): blocks of kRows rows, each k after k.
template <class T, class E>
void packColumnsOfA(const Matrix &a, int64_t m, int64_t k0, int64_t depth, T *out) {
  for (int64_t i0 = 0; i0 < m; i0 += kRows, out += depth * kRows) {
    int64_t rows = m - i0 < kRows ? m - i0 : kRows;
    for (int64_t p = 0; p < depth; ++p) {
      const E *in = elementAt<T, E>(a, i0, k0 + p);
      T *row = out + p * kRows;
      if (rows == kRows) {
#pragma unroll
        for (int i = 0; i < kRows; ++i)
          row[i] = fromElement<T>(in[i]);
        continue;
      }
      for (int64_t i = 0; i < kRows; ++i)
        row[i] = i < rows ? fromElement<T>(in[i]) : T(0);
    }
  }
}

/// One panel of kColumns columns of B from column j0, zero columns beyond n.
template <class T, class E>
void packPanelOfB(const Matrix &b, int64_t n, int64_t j0, int64_t k0, int64_t depth, T *out) {
  int64_t columns = n - j0 < kColumns ? n - j0 : kColumns;
  if (b.columnStride == 1 && columns == kColumns) {
    for (int64_t p = 0; p < depth; ++p) {
      const E *in = elementAt<T, E>(b, k0 + p, j0);
      T *row = out + p * kColumns;
      TILEWRIGHT_VECTOR_LOOP
      for (int j = 0; j < kColumns; ++j)
        row[j] = fromElement<T>(in[j]);
    }
    return;
  }
  if (b.rowStride == 1) {
    // Transposed operand: widen eight columns, then turn them in blocks.
    constexpr int kGroup = kColumns % 8 == 0 ? 8 : 4;
    alignas(64) T wide[8 * kPackedRow];
    for (int64_t c0 = 0; c0 < kColumns; c0 += kGroup) {
      for (int64_t c = 0; c < kGroup; ++c) {
        T *row = wide + c * kPackedRow;
        if (c0 + c >= columns) {
          for (int64_t p = 0; p < depth; ++p)
            row[p] = T(0);
          continue;
        }
        const E *in = elementAt<T, E>(b, k0, j0 + c0 + c);
        TILEWRIGHT_VECTOR_LOOP
        for (int64_t p = 0; p < depth; ++p)
          row[p] = fromElement<T>(in[p]);
      }
      int64_t p = 0;
      if constexpr (kGroup == 8)
        for (; p + 8 <= depth; p += 8)
          transpose8(wide + p, kPackedRow, out + p * kColumns + c0, kColumns);
      for (; p < depth; ++p)
        for (int64_t c = 0; c < kGroup; ++c)
          out[p * kColumns + c0 + c] = wide[c * kPackedRow + p];
    }
    return;
  }
  for (int64_t p = 0; p < depth; ++p) {
    const E *in = elementAt<T, E>(b, k0 + p, j0);
    for (int64_t j = 0; j < kColumns; ++j)
      out[p * kColumns + j] = j < columns ? fromElement<T>(in[j * b.columnStride]) : T(0);
  }
}

template <class T>
struct Packing {
  void (*rowsOfA)(const Matrix &, int64_t, int64_t, int64_t, T *);
  void (*columnsOfA)(const Matrix &, int64_t, int64_t, int64_t, T *);
  void (*panelOfB)(const Matrix &, int64_t, int64_t, int64_t, int64_t, T *);
};
/// Calls f for the input types that register tiles take; false for any other.
template <class T, class F>
TILEWRIGHT_INLINE bool withInput(DType type, F f) {
  if constexpr (kSame<T, float>) {
    switch (type) {
    case DType::F8E4M3:
      return f(E4m3{}), true;
    case DType::F8E5M2:
      return f(E5m2{}), true;
    case DType::F16:
      return f(Half{}), true;
    case DType::BF16:
      return f(Bfloat{}), true;
    case DType::F32:
      return f(float{}), true;
    default:
      return false;
    }
  } else {
    switch (type) {
    case DType::I8:
      return f(int8_t{}), true;
    case DType::U8:
      return f(uint8_t{}), true;
    case DType::I16:
      return f(int16_t{}), true;
    case DType::I32:
      return f(int32_t{}), true;
    default:
      return false;
    }
  }
}

template <class T>
bool findPacking(const Matrix &a, const Matrix &b, Packing<T> &pack) {
  return withInput<T>(a.type,
                      [&]<class E>(E) {
                        pack.rowsOfA = &packRowsOfA<T, E>;
                        pack.columnsOfA = &packColumnsOfA<T, E>;
                      }) &&
         withInput<T>(b.type, [&]<class E>(E) { pack.panelOfB = &packPanelOfB<T, E>; });
}

TILEWRIGHT_INLINE int64_t roundUp(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

/// Multiplies into the rows of `c`, `rowOfC` elements apart.
template <class T>
void multiply(const MatrixJob &job, const Packing<T> &pack, T *c, int64_t rowOfC,
              std::byte *workspace) {
  bool columnsOfA = job.a.rowStride == 1 && job.a.columnStride != 1;
  T *packedA = reinterpret_cast<T *>(workspace);
  T *packedB = packedA + roundUp(job.m, kRows) * kPackedRow;
  alignas(64) T edge[kRows * kColumns];
  // Without any k one round still writes the zeros of `init`.
  for (int64_t k0 = 0; k0 == 0 || k0 < job.k; k0 += kDepth) {
    int64_t depth = job.k - k0 < kDepth ? job.k - k0 : kDepth;
    bool zero = job.init && k0 == 0;
    if (columnsOfA)
      pack.columnsOfA(job.a, job.m, k0, depth, packedA);
    else
      pack.rowsOfA(job.a, job.m, k0, depth, packedA);
    for (int64_t j = 0; j < job.n; j += kColumns) {
      pack.panelOfB(job.b, job.n, j, k0, depth, packedB);
      int64_t columns = job.n - j < kColumns ? job.n - j : kColumns;
      for (int64_t i = 0; i < job.m; i += kRows) {
        int64_t rows = job.m - i < kRows ? job.m - i : kRows;
        const T *a = columnsOfA ? packedA + i * depth : packedA + i * kPackedRow;
        auto *tile = columnsOfA ? &multiplyTile<T, true> : &multiplyTile<T, false>;
        T *at = c + i * rowOfC + j;
        if (rows == kRows && columns == kColumns) {
          tile(a, packedB, at, rowOfC, depth, zero);
          continue;
        }
        if (!zero)
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t s = 0; s < columns; ++s)
              edge[r * kColumns + s] = at[r * rowOfC + s];
        tile(a, packedB, edge, kColumns, depth, zero);
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t s = 0; s < columns; ++s)
            at[r * rowOfC + s] = edge[r * kColumns + s];
      }
    }
  }
}

/// Runs a job whose products are summed as T (uint32_t for integers, wrapping); C is kept as Memory
/// (the compute type of its elements) while it is copied. False for input types it doesn't know.
template <class T, class Memory>
bool runAs(const MatrixJob &job) {
  static_assert(sizeof(T) == sizeof(Memory));
  Packing<T> pack;
  if (!findPacking(job.a, job.b, pack))
    return false;
  bool direct = job.c.columnStride == 1 &&
                (kSame<T, float> ? job.c.type == DType::F32
                                 : job.c.type == DType::I32 || job.c.type == DType::U32);
  int64_t packed = (roundUp(job.m, kRows) * kPackedRow + kColumns * kDepth) * int64_t(sizeof(T));
  int64_t copy = direct ? 0 : job.m * job.n * int64_t(sizeof(T));
  std::byte *workspace = job.workspace(size_t(packed + copy));
  if (direct) {
    multiply<T>(job, pack, reinterpret_cast<T *>(job.c.data), job.c.rowStride, workspace);
    return true;
  }
  Memory *c = reinterpret_cast<Memory *>(workspace + packed);
  withElement(job.c.type, [&]<class E>(E) {
    int64_t bytes = job.c.rowStride * int64_t(sizeof(E));
    if (!job.init)
      for (int64_t i = 0; i < job.m; ++i)
        loadRow<Memory, E>(c + i * job.n, job.c.data + i * bytes, job.c.columnStride, job.n);
    multiply<T>(job, pack, reinterpret_cast<T *>(c), job.n, workspace);
    for (int64_t i = 0; i < job.m; ++i)
      storeRow<Memory, E>(job.c.data + i * bytes, c + i * job.n, job.c.columnStride, job.n);
  });
  return true;
}

/// The definition as it stands, for types that the cube doesn't have.
template <class T>
void runPlain(const MatrixJob &job) {
  int64_t bytes[3];
  void (*load[3])(T *, const std::byte *, int64_t, int64_t);
  const Matrix *matrices[3] = {&job.c, &job.a, &job.b};
  for (int o = 0; o < 3; ++o)
    withElement(matrices[o]->type, [&]<class E>(E) {
      bytes[o] = sizeof(E);
      load[o] = &loadRow<T, E>;
    });
  auto read = [&](int o, int64_t row, int64_t column) {
    T value;
    int64_t at = row * matrices[o]->rowStride + column * matrices[o]->columnStride;
    load[o](&value, matrices[o]->data + at * bytes[o], 1, 1);
    return value;
  };
  for (int64_t i = 0; i < job.m; ++i)
    for (int64_t j = 0; j < job.n; ++j) {
      T sum = job.init ? T(0) : read(0, i, j);
      for (int64_t p = 0; p < job.k; ++p) {
        if constexpr (std::is_floating_point_v<T>)
          sum = __builtin_fma(read(1, i, p), read(2, p, j), sum);
        else
          sum = support::addWrap(sum, support::mulWrap(read(1, i, p), read(2, p, j)));
      }
      withElement(job.c.type, [&]<class E>(E) {
        int64_t at = i * job.c.rowStride + j * job.c.columnStride;
        storeRow<T, E>(job.c.data + at * int64_t(sizeof(E)), &sum, 1, 1);
      });
    }
}

} // namespace

void runMmad(const MatrixJob &job) {
  Class c = widest(widest(classOf(job.a.type), classOf(job.b.type)), classOf(job.c.type));
  if (c == Class::I32 && runAs<uint32_t, int32_t>(job))
    return;
  if (c == Class::F32 && runAs<float, float>(job))
    return;
  if (c == Class::F32 || c == Class::F64)
    return runPlain<double>(job);
  runPlain<int64_t>(job);
}

} // namespace tilewright::sim::TILEWRIGHT_ISA
