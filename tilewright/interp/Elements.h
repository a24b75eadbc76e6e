// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/support/Convert.h"

#include "mlir/IR/Types.h"

#include <cstdint>
#include <optional>
#include <type_traits>

/// Element types as the interpreter stores and computes them.
namespace tilewright::interp {

/// Kinds of elements and scalars. Signless integers and `index` are the signed kinds.
enum class Kind : uint8_t {
  I1,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  F8E4M3,
  F8E5M2,
  F16,
  BF16,
  F32,
  F64
};

/// The kind of an integer, index or float type; none for a type the interpreter does not run.
std::optional<Kind> kindOf(mlir::Type type);

unsigned byteSize(Kind kind);
/// NumPy's name of the type: "float16", "int32", "bool".
const char *nameOf(Kind kind);

inline bool isFloat(Kind kind) { return kind >= Kind::F8E4M3; }
inline bool isUnsigned(Kind kind) { return kind >= Kind::U8 && kind <= Kind::U64; }

/// Storage of the kinds that C++ has no type for. `Compute` is what arithmetic on them uses.
struct Bool {
  using Compute = uint8_t;
  uint8_t value;
  TILEWRIGHT_INLINE uint8_t widen() const { return value; }
};
template <unsigned Mantissa>
struct Quarter {
  using Compute = float;
  uint8_t bits;
  TILEWRIGHT_INLINE float widen() const { return support::quarterToFloat<Mantissa>(bits); }
};
using E4m3 = Quarter<3>;
using E5m2 = Quarter<2>;
struct Half {
  using Compute = float;
  uint16_t bits;
  TILEWRIGHT_INLINE float widen() const { return support::halfToFloat(bits); }
};
struct Bfloat {
  using Compute = float;
  uint16_t bits;
  TILEWRIGHT_INLINE float widen() const { return support::bfloatToFloat(bits); }
};

template <class S>
inline constexpr bool isWrapped =
    std::is_same_v<S, Bool> || std::is_same_v<S, Half> || std::is_same_v<S, Bfloat> ||
    std::is_same_v<S, E4m3> || std::is_same_v<S, E5m2>;

template <class S>
struct ComputeOf {
  using Type = S;
};
template <class S>
  requires isWrapped<S>
struct ComputeOf<S> {
  using Type = typename S::Compute;
};

/// An element as the type that arithmetic uses.
template <class S>
TILEWRIGHT_INLINE typename ComputeOf<S>::Type widen(S element) {
  if constexpr (isWrapped<S>)
    return element.widen();
  else
    return element;
}

/// Converts a number to an element, by the rules of support/Convert.h.
template <class S, class From>
TILEWRIGHT_INLINE S convertTo(From x, support::Rounding mode) {
  constexpr bool fromFloat = std::is_floating_point_v<From>;
  bool nearest = mode == support::Rounding::Rint;
  if constexpr (std::is_same_v<S, Bool>) {
    return {uint8_t(x != From(0))};
  } else if constexpr (std::is_same_v<S, Half>) {
    if constexpr (std::is_same_v<From, float>)
      return {nearest ? support::floatToHalf(x) : support::narrowToHalf(double(x), mode)};
    else
      return {nearest ? support::doubleToHalf(double(x)) : support::narrowToHalf(double(x), mode)};
  } else if constexpr (std::is_same_v<S, Bfloat>) {
    if constexpr (std::is_same_v<From, float>)
      return {nearest ? support::floatToBfloat(x) : support::narrowToBfloat(double(x), mode)};
    else
      return {nearest ? support::doubleToBfloat(double(x))
                      : support::narrowToBfloat(double(x), mode)};
  } else if constexpr (std::is_same_v<S, E4m3>) {
    return {support::doubleToQuarter<3>(double(x))};
  } else if constexpr (std::is_same_v<S, E5m2>) {
    return {support::doubleToQuarter<2>(double(x))};
  } else if constexpr (std::is_same_v<S, float> && std::is_same_v<From, double>) {
    return nearest ? float(x) : support::narrowToFloat(x, mode);
  } else if constexpr (std::is_integral_v<S> && fromFloat) {
    return support::toInteger<S>(x, mode);
  } else {
    return S(x);
  }
}

template <class S>
struct Tag {
  using Type = S;
};

/// Calls `body(Tag<Storage>())` with the storage type of `kind`.
template <class Body>
decltype(auto) dispatch(Kind kind, Body &&body) {
  switch (kind) {
  case Kind::I1:
    return body(Tag<Bool>());
  case Kind::I8:
    return body(Tag<int8_t>());
  case Kind::I16:
    return body(Tag<int16_t>());
  case Kind::I32:
    return body(Tag<int32_t>());
  case Kind::I64:
    return body(Tag<int64_t>());
  case Kind::U8:
    return body(Tag<uint8_t>());
  case Kind::U16:
    return body(Tag<uint16_t>());
  case Kind::U32:
    return body(Tag<uint32_t>());
  case Kind::U64:
    return body(Tag<uint64_t>());
  case Kind::F8E4M3:
    return body(Tag<E4m3>());
  case Kind::F8E5M2:
    return body(Tag<E5m2>());
  case Kind::F16:
    return body(Tag<Half>());
  case Kind::BF16:
    return body(Tag<Bfloat>());
  case Kind::F32:
    return body(Tag<float>());
  case Kind::F64:
    break;
  }
  return body(Tag<double>());
}

struct Buffer;

/// A scalar SSA value. Integers are sign-extended to 64 bits from their width (i1: 0 or 1); floats
/// of every kind are held as the double of the same value; memrefs point to their buffer.
union Scalar {
  int64_t integer;
  double real;
  Buffer *buffer;
};

/// Wraps an integer to the width of `kind` and extends it the way scalars are kept.
TILEWRIGHT_INLINE int64_t wrapTo(Kind kind, int64_t x) {
  switch (kind) {
  case Kind::I1:
    return x & 1;
  case Kind::I8:
  case Kind::U8:
    return int8_t(x);
  case Kind::I16:
  case Kind::U16:
    return int16_t(x);
  case Kind::I32:
  case Kind::U32:
    return int32_t(x);
  default:
    return x;
  }
}
/// The unsigned number in a scalar of `kind`.
TILEWRIGHT_INLINE uint64_t unsignedOf(Kind kind, int64_t x) {
  switch (kind) {
  case Kind::I8:
  case Kind::U8:
    return uint8_t(x);
  case Kind::I16:
  case Kind::U16:
    return uint16_t(x);
  case Kind::I32:
  case Kind::U32:
    return uint32_t(x);
  default:
    return uint64_t(x);
  }
}
/// The signed number in a scalar of `kind`: a set i1 is -1.
TILEWRIGHT_INLINE int64_t signedOf(Kind kind, int64_t x) { return kind == Kind::I1 ? -x : x; }

/// Element `index` of an array of `kind`, as a scalar, and back.
template <class S>
TILEWRIGHT_INLINE Scalar toScalar(S element) {
  Scalar scalar;
  if constexpr (std::is_floating_point_v<typename ComputeOf<S>::Type>)
    scalar.real = widen(element);
  else if constexpr (std::is_same_v<S, Bool>)
    scalar.integer = element.value;
  else
    scalar.integer = std::make_signed_t<S>(element);
  return scalar;
}
template <class S>
TILEWRIGHT_INLINE S fromScalar(Scalar scalar) {
  if constexpr (std::is_floating_point_v<typename ComputeOf<S>::Type>)
    return convertTo<S>(scalar.real, support::Rounding::Rint);
  else if constexpr (std::is_same_v<S, Bool>)
    return {uint8_t(scalar.integer & 1)};
  else
    return S(scalar.integer);
}
Scalar loadElement(Kind kind, const char *data, int64_t index);
void storeElement(Kind kind, char *data, int64_t index, Scalar value);

/// Rounds a float scalar to the values of `kind`.
TILEWRIGHT_INLINE double roundTo(Kind kind, double x) {
  switch (kind) {
  case Kind::F8E4M3:
    return support::quarterToFloat<3>(support::doubleToQuarter<3>(x));
  case Kind::F8E5M2:
    return support::quarterToFloat<2>(support::doubleToQuarter<2>(x));
  case Kind::F16:
    return support::halfToFloat(support::doubleToHalf(x));
  case Kind::BF16:
    return support::bfloatToFloat(support::doubleToBfloat(x));
  case Kind::F32:
    return float(x);
  default:
    return x;
  }
}

/// Converts `count` elements from one array to another; the two may only be equal or disjoint, and
/// equal only if the sizes of the elements are.
void convertArray(Kind fromKind, const char *from, Kind toKind, char *to, int64_t count,
                  support::Rounding mode);

/// How a plain copy or store rounds: floats half to even, float to integer toward zero.
inline support::Rounding copyRounding(Kind from, Kind to) {
  return isFloat(from) && !isFloat(to) ? support::Rounding::Trunc : support::Rounding::Rint;
}

} // namespace tilewright::interp
