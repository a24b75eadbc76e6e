// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/support/Math.h"

#include <cstdint>
#include <limits>
#include <type_traits>

/// Reductions in one canonical order, so that every executor rounds alike.
///
/// A box of rank r reduces over some of its dims. "The last dim" is dim r-1 by position, whatever
/// the extents are; a pass that drops dims of extent 1 keeps a trailing one behind a reduced dim.
///  - Reducing the last dim: 64 lanes, each starting at the identity; lane l takes the elements
///    l, 64 + l, 128 + l, ... in that order. Then neighbours join, (0,1), (2,3), ...: 64 lanes to
///    32, to 16, ... to 1.
///  - Reducing any other dim: start at the identity and take the index 0, 1, 2, ... in order.
///  - Several dims: the last dim first, then outward, each over the results of the one inside it.
///  - Accumulating: combine(old destination, total) once, at the end.
/// f16 and bf16 are widened to f32 on the way in, and the end result is rounded once. Integers work
/// in int32_t (int64_t if source or destination is u32 or i64, uint64_t for u64) and wrap; the
/// result wraps into the destination type. A running scan starts with its first element and
/// combines the others in order (from the end if reversed). And, Or and Xor on floats see an
/// element as 1 if it is not zero, else 0.
namespace tilewright::support {

enum class ReduceKind : uint8_t { Sum, Max, Min, AbsSum, AbsMax, Prod, And, Or, Xor };

inline constexpr int64_t kReduceLanes = 64;

/// The value that a reduction starts from. T: float, double or an integer.
template <class T>
TILEWRIGHT_INLINE T reduceIdentity(ReduceKind kind) {
  constexpr bool isFloat = std::is_floating_point_v<T>;
  switch (kind) {
  case ReduceKind::Max:
    if constexpr (isFloat)
      return -T(__builtin_inff());
    else
      return std::is_signed_v<T> ? T(UnsignedOf<T>(1) << (sizeof(T) * 8 - 1)) : T(0);
  case ReduceKind::Min:
    if constexpr (isFloat)
      return T(__builtin_inff());
    else
      return std::is_signed_v<T> ? T(UnsignedOf<T>(~UnsignedOf<T>(0)) >> 1) : T(~T(0));
  case ReduceKind::Prod:
    return T(1);
  case ReduceKind::And:
    if constexpr (isFloat)
      return T(1);
    else
      return T(~T(0));
  case ReduceKind::Sum:
  case ReduceKind::AbsSum:
  case ReduceKind::AbsMax:
  case ReduceKind::Or:
  case ReduceKind::Xor:
    break;
  }
  return T(0);
}

/// What an element contributes before it is combined.
template <class T>
TILEWRIGHT_INLINE T reduceElement(ReduceKind kind, T x) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (kind) {
    case ReduceKind::AbsSum:
    case ReduceKind::AbsMax:
      return abs(x);
    case ReduceKind::And:
    case ReduceKind::Or:
    case ReduceKind::Xor:
      return x != T(0) ? T(1) : T(0);
    default:
      return x;
    }
  } else {
    bool magnitude = kind == ReduceKind::AbsSum || kind == ReduceKind::AbsMax;
    return magnitude ? absWrap(x) : x;
  }
}

/// Joins two partial results; `a` is the earlier one. A NaN loses against a number in Max, Min and
/// AbsMax (so a row of NaNs alone gives the identity).
template <class T>
TILEWRIGHT_INLINE T reduceCombine(ReduceKind kind, T a, T b) {
  constexpr bool isFloat = std::is_floating_point_v<T>;
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::AbsSum:
    if constexpr (isFloat)
      return a + b;
    else
      return addWrap(a, b);
  case ReduceKind::Max:
  case ReduceKind::AbsMax:
    return maxNum(a, b);
  case ReduceKind::Min:
    return minNum(a, b);
  case ReduceKind::Prod:
    if constexpr (isFloat)
      return a * b;
    else
      return mulWrap(a, b);
  case ReduceKind::And:
    if constexpr (isFloat)
      return a * b;
    else
      return T(a & b);
  case ReduceKind::Or:
    if constexpr (isFloat)
      return a > b ? a : b;
    else
      return T(a | b);
  case ReduceKind::Xor:
    break;
  }
  if constexpr (isFloat)
    return a != b ? T(1) : T(0);
  else
    return T(a ^ b);
}

/// Reduces n elements of the last dim. `get(i)` gives element i, as reduceElement made it.
template <class T, class Get>
TILEWRIGHT_INLINE T reduceLanes(ReduceKind kind, int64_t n, Get get) {
  T lanes[kReduceLanes];
  for (T &lane : lanes)
    lane = reduceIdentity<T>(kind);
  for (int64_t i = 0; i < n; ++i)
    lanes[i % kReduceLanes] = reduceCombine(kind, lanes[i % kReduceLanes], T(get(i)));
  for (int64_t width = kReduceLanes / 2; width >= 1; width /= 2)
    for (int64_t l = 0; l < width; ++l)
      lanes[l] = reduceCombine(kind, lanes[2 * l], lanes[2 * l + 1]);
  return lanes[0];
}

/// Reduces n partial results of another dim, in index order.
template <class T, class Get>
TILEWRIGHT_INLINE T reduceInOrder(ReduceKind kind, int64_t n, Get get) {
  T total = reduceIdentity<T>(kind);
  for (int64_t i = 0; i < n; ++i)
    total = reduceCombine(kind, total, T(get(i)));
  return total;
}

namespace reduce_detail {

template <class T, class Get>
T reduceFrom(ReduceKind kind, int rank, const int64_t *sizes, const bool *reduced, int64_t *index,
             int dim, Get &get) {
  while (dim < rank && !reduced[dim])
    ++dim;
  if (dim == rank)
    return reduceElement(kind, T(get(static_cast<const int64_t *>(index))));
  auto at = [&](int64_t i) {
    index[dim] = i;
    return reduceFrom<T>(kind, rank, sizes, reduced, index, dim + 1, get);
  };
  return dim == rank - 1 ? reduceLanes<T>(kind, sizes[dim], at)
                         : reduceInOrder<T>(kind, sizes[dim], at);
}

} // namespace reduce_detail

/// One result of a reduction over a whole box, in the canonical order. `index` holds the position
/// in the dims that stay (and is used as scratch in the others); `get(index)` reads an element as
/// T.
template <class T, class Get>
T reduceBox(ReduceKind kind, int rank, const int64_t *sizes, const bool *reduced, int64_t *index,
            Get get) {
  return reduce_detail::reduceFrom<T>(kind, rank, sizes, reduced, index, 0, get);
}

} // namespace tilewright::support
