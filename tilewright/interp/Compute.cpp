// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/interp/Compute.h"

// The loops are compiled for x86-64-v3 (which `interpret` checks for): a fused multiply-add is one
// instruction there and a slow library call below.
#if defined(__x86_64__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#endif

namespace tilewright::interp {

namespace {

#define TILEWRIGHT_MAP1(function)                                                                  \
  {                                                                                                \
    for (int64_t i = 0; i < count; ++i)                                                            \
      out[i] = support::function(a[i]);                                                            \
    return true;                                                                                   \
  }
#define TILEWRIGHT_MAP2(expression)                                                                \
  {                                                                                                \
    for (int64_t i = 0; i < count; ++i) {                                                          \
      T x = a[i], y = b[i];                                                                        \
      out[i] = expression;                                                                         \
    }                                                                                              \
    return true;                                                                                   \
  }

template <class T>
bool unaryFloat(Fn fn, const T *a, T *out, int64_t count) {
  switch (fn) {
  case Fn::Neg:
    TILEWRIGHT_MAP1(neg)
  case Fn::Abs:
    TILEWRIGHT_MAP1(abs)
  case Fn::Exp:
    TILEWRIGHT_MAP1(exp)
  case Fn::Exp2:
    TILEWRIGHT_MAP1(exp2)
  case Fn::Log:
    TILEWRIGHT_MAP1(log)
  case Fn::Log2:
    TILEWRIGHT_MAP1(log2)
  case Fn::Log10:
    TILEWRIGHT_MAP1(log10)
  case Fn::Log1p:
    TILEWRIGHT_MAP1(log1p)
  case Fn::Sqrt:
    TILEWRIGHT_MAP1(sqrt)
  case Fn::Rsqrt:
    TILEWRIGHT_MAP1(rsqrt)
  case Fn::Rec:
    TILEWRIGHT_MAP1(rec)
  case Fn::Sin:
    TILEWRIGHT_MAP1(sin)
  case Fn::Cos:
    TILEWRIGHT_MAP1(cos)
  case Fn::Tan:
    TILEWRIGHT_MAP1(tan)
  case Fn::Tanh:
    TILEWRIGHT_MAP1(tanh)
  case Fn::Sigmoid:
    TILEWRIGHT_MAP1(sigmoid)
  case Fn::Erf:
    TILEWRIGHT_MAP1(erf)
  case Fn::Floor:
    TILEWRIGHT_MAP1(floor)
  case Fn::Ceil:
    TILEWRIGHT_MAP1(ceil)
  case Fn::Nearest:
    TILEWRIGHT_MAP1(round)
  case Fn::Trunc:
    TILEWRIGHT_MAP1(trunc)
  case Fn::Rint:
    TILEWRIGHT_MAP1(rint)
  case Fn::Relu:
    TILEWRIGHT_MAP1(relu)
  default:
    return false;
  }
}

template <class T>
bool unaryInteger(Fn fn, const T *a, T *out, int64_t count) {
  switch (fn) {
  case Fn::Neg:
    TILEWRIGHT_MAP1(negWrap)
  case Fn::Abs:
    TILEWRIGHT_MAP1(absWrap)
  case Fn::Relu:
    TILEWRIGHT_MAP1(relu)
  case Fn::Not:
    for (int64_t i = 0; i < count; ++i)
      out[i] = ~a[i];
    return true;
  case Fn::Floor:
  case Fn::Ceil:
  case Fn::Nearest:
  case Fn::Trunc:
  case Fn::Rint:
    for (int64_t i = 0; i < count; ++i)
      out[i] = a[i];
    return true;
  default:
    return false;
  }
}

template <class T>
bool binaryFloat(Fn fn, const T *a, const T *b, T *out, int64_t count) {
  switch (fn) {
  case Fn::Add:
    TILEWRIGHT_MAP2(x + y)
  case Fn::Sub:
    TILEWRIGHT_MAP2(x - y)
  case Fn::Mul:
    TILEWRIGHT_MAP2(x * y)
  case Fn::Div:
    TILEWRIGHT_MAP2(x / y)
  case Fn::Rem:
    TILEWRIGHT_MAP2(support::remainder(x, y))
  case Fn::FloorDiv:
    TILEWRIGHT_MAP2(support::floorDiv(x, y))
  case Fn::FloorMod:
    TILEWRIGHT_MAP2(support::floorMod(x, y))
  case Fn::Max:
    TILEWRIGHT_MAP2(support::maxOf(x, y))
  case Fn::Min:
    TILEWRIGHT_MAP2(support::minOf(x, y))
  case Fn::MaxNum:
    TILEWRIGHT_MAP2(support::maxNum(x, y))
  case Fn::MinNum:
    TILEWRIGHT_MAP2(support::minNum(x, y))
  case Fn::Pow:
    TILEWRIGHT_MAP2(support::pow(x, y))
  default:
    return false;
  }
}

template <class T>
bool binaryInteger(Fn fn, const T *a, const T *b, T *out, int64_t count) {
  switch (fn) {
  case Fn::Add:
    TILEWRIGHT_MAP2(support::addWrap(x, y))
  case Fn::Sub:
    TILEWRIGHT_MAP2(support::subWrap(x, y))
  case Fn::Mul:
    TILEWRIGHT_MAP2(support::mulWrap(x, y))
  case Fn::Div:
    TILEWRIGHT_MAP2(support::divTrunc(x, y))
  case Fn::Rem:
    TILEWRIGHT_MAP2(support::remTrunc(x, y))
  case Fn::FloorDiv:
    TILEWRIGHT_MAP2(support::floorDiv(x, y))
  case Fn::FloorMod:
    TILEWRIGHT_MAP2(support::floorMod(x, y))
  case Fn::Max:
  case Fn::MaxNum:
    TILEWRIGHT_MAP2(x > y ? x : y)
  case Fn::Min:
  case Fn::MinNum:
    TILEWRIGHT_MAP2(x < y ? x : y)
  case Fn::And:
    TILEWRIGHT_MAP2(T(x & y))
  case Fn::Or:
    TILEWRIGHT_MAP2(T(x | y))
  case Fn::Xor:
    TILEWRIGHT_MAP2(T(x ^ y))
  case Fn::Shl:
    TILEWRIGHT_MAP2(support::shiftLeft(x, y))
  case Fn::Shr:
    TILEWRIGHT_MAP2(support::shiftRight(x, y))
  case Fn::Pow:
    TILEWRIGHT_MAP2(support::powWrap(x, y))
  default:
    return false;
  }
}

float multiplyAdd(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
double multiplyAdd(double a, double b, double c) { return __builtin_fma(a, b, c); }
int32_t multiplyAdd(int32_t a, int32_t b, int32_t c) {
  return support::addWrap(support::mulWrap(a, b), c);
}

/// A strip of C of fixed size, kept in registers over all of k.
template <int kRows, int kColumns, class T>
void gemmStrip(T *acc, const T *a, const T *b, int64_t n, int64_t k) {
  T sum[kRows][kColumns];
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j)
      sum[i][j] = acc[i * n + j];
  for (int64_t l = 0; l < k; ++l)
    for (int i = 0; i < kRows; ++i)
      for (int j = 0; j < kColumns; ++j)
        sum[i][j] = multiplyAdd(a[i * k + l], b[l * n + j], sum[i][j]);
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j)
      acc[i * n + j] = sum[i][j];
}

} // namespace

template <class T>
bool computeUnary(Fn fn, const T *a, T *out, int64_t count) {
  if constexpr (std::is_floating_point_v<T>)
    return unaryFloat(fn, a, out, count);
  else
    return unaryInteger(fn, a, out, count);
}

template <class T>
bool computeBinary(Fn fn, const T *a, const T *b, T *out, int64_t count) {
  if constexpr (std::is_floating_point_v<T>)
    return binaryFloat(fn, a, b, out, count);
  else
    return binaryInteger(fn, a, b, out, count);
}

template <class T>
bool computeTest(Fn fn, const T *a, const T *b, uint8_t *out, int64_t count) {
  switch (fn) {
  case Fn::EQ:
    TILEWRIGHT_MAP2(x == y)
  case Fn::NE:
    TILEWRIGHT_MAP2(x != y)
  case Fn::LT:
    TILEWRIGHT_MAP2(x < y)
  case Fn::LE:
    TILEWRIGHT_MAP2(x <= y)
  case Fn::GT:
    TILEWRIGHT_MAP2(x > y)
  case Fn::GE:
    TILEWRIGHT_MAP2(x >= y)
  default:
    break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (fn) {
    case Fn::IsNan:
      TILEWRIGHT_MAP1(isNan)
    case Fn::IsInf:
      TILEWRIGHT_MAP1(isInf)
    case Fn::IsFinite:
      TILEWRIGHT_MAP1(isFinite)
    default:
      break;
    }
  }
  return false;
}
#undef TILEWRIGHT_MAP1
#undef TILEWRIGHT_MAP2

template <class T>
void computeGemm(T *acc, const T *a, const T *b, int64_t m, int64_t n, int64_t k) {
  constexpr int kRows = 4, kColumns = 16;
  for (int64_t j = 0; j < n;) {
    bool wide = j + kColumns <= n;
    for (int64_t i = 0; i < m;) {
      bool tall = i + kRows <= m;
      T *c = acc + i * n + j;
      const T *left = a + i * k, *right = b + j;
      if (wide && tall)
        gemmStrip<kRows, kColumns>(c, left, right, n, k);
      else if (wide)
        gemmStrip<1, kColumns>(c, left, right, n, k);
      else if (tall)
        gemmStrip<kRows, 1>(c, left, right, n, k);
      else
        gemmStrip<1, 1>(c, left, right, n, k);
      i += tall ? kRows : 1;
    }
    j += wide ? kColumns : 1;
  }
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                  \
  template bool computeUnary(Fn, const T *, T *, int64_t);                                         \
  template bool computeBinary(Fn, const T *, const T *, T *, int64_t);                             \
  template bool computeTest(Fn, const T *, const T *, uint8_t *, int64_t);
TILEWRIGHT_INSTANTIATE(float)
TILEWRIGHT_INSTANTIATE(double)
TILEWRIGHT_INSTANTIATE(int8_t)
TILEWRIGHT_INSTANTIATE(int16_t)
TILEWRIGHT_INSTANTIATE(int32_t)
TILEWRIGHT_INSTANTIATE(int64_t)
TILEWRIGHT_INSTANTIATE(uint8_t)
TILEWRIGHT_INSTANTIATE(uint16_t)
TILEWRIGHT_INSTANTIATE(uint32_t)
TILEWRIGHT_INSTANTIATE(uint64_t)
#undef TILEWRIGHT_INSTANTIATE
template void computeGemm(float *, const float *, const float *, int64_t, int64_t, int64_t);
template void computeGemm(double *, const double *, const double *, int64_t, int64_t, int64_t);
template void computeGemm(int32_t *, const int32_t *, const int32_t *, int64_t, int64_t, int64_t);

} // namespace tilewright::interp

#if defined(__x86_64__)
#pragma clang attribute pop
#endif

namespace tilewright::interp {

template <class T>
void reduceRows(support::ReduceKind kind, const T *in, T *out, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; ++row) {
    const T *elements = in + row * columns;
    out[row] = support::reduceLanes<T>(
        kind, columns, [&](int64_t i) { return support::reduceElement(kind, elements[i]); });
  }
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                  \
  template void reduceRows(support::ReduceKind, const T *, T *, int64_t, int64_t);
TILEWRIGHT_INSTANTIATE(float)
TILEWRIGHT_INSTANTIATE(double)
TILEWRIGHT_INSTANTIATE(int8_t)
TILEWRIGHT_INSTANTIATE(int16_t)
TILEWRIGHT_INSTANTIATE(int32_t)
TILEWRIGHT_INSTANTIATE(int64_t)
TILEWRIGHT_INSTANTIATE(uint8_t)
TILEWRIGHT_INSTANTIATE(uint16_t)
TILEWRIGHT_INSTANTIATE(uint32_t)
TILEWRIGHT_INSTANTIATE(uint64_t)
#undef TILEWRIGHT_INSTANTIATE

} // namespace tilewright::interp
