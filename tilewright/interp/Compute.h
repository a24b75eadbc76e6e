// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/support/Boxes.h"
#include "tilewright/support/Reduce.h"

#include <cstdint>

/// The loops over plain arrays in which box ops spend their time. T: float, double, or an integer
/// type.
namespace tilewright::interp {

/// out[i] = fn(a[i]); false if fn has no meaning for T.
template <class T>
bool computeUnary(Fn fn, const T *a, T *out, int64_t count);
/// out[i] = fn(a[i], b[i]); false if fn has no meaning for T.
template <class T>
bool computeBinary(Fn fn, const T *a, const T *b, T *out, int64_t count);
/// Comparisons, and isnan and its kin (which leave b alone): out[i] is 0 or 1.
template <class T>
bool computeTest(Fn fn, const T *a, const T *b, uint8_t *out, int64_t count);

/// acc[i][j] = fma(a[i][k], b[k][j], acc[i][j]) for k in order; row-major matrices. T: float,
/// double or int32_t, which wraps.
template <class T>
void computeGemm(T *acc, const T *a, const T *b, int64_t m, int64_t n, int64_t k);

/// out[i] = the reduction of row i, `columns` adjacent elements.
template <class T>
void reduceRows(support::ReduceKind kind, const T *in, T *out, int64_t rows, int64_t columns);

/// True for functions whose result is a truth value.
inline bool isTest(Fn fn) {
  return (fn >= Fn::EQ && fn <= Fn::GE) || (fn >= Fn::IsNan && fn <= Fn::IsFinite);
}

} // namespace tilewright::interp
