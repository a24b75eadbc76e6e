// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/KernelsIsa.h"
#include "tilewright/support/Convert.h"

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
// Vectors wider than the machine's only pass through inlined functions.
#pragma clang diagnostic ignored "-Wpsabi"
/// The loop's iterations are independent; operands may be the same array.
#define TILEWRIGHT_VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety) interleave(enable)")
#else
#define TILEWRIGHT_VECTOR_LOOP _Pragma("GCC ivdep")
#endif

/// Rows of elements in a compute type. A kernel works on chunks of at most kChunk elements; a row
/// that already lies contiguously in the compute type is used in place, any other goes through a
/// buffer.
///
/// Compute types: float for f32 and narrower floats; double; int32_t for integers up to 32 bits but
/// u32; int64_t; uint64_t.
namespace tilewright::sim::TILEWRIGHT_ISA {

using kernels::Job;
using kernels::Operand;
using support::Rounding;

inline constexpr int64_t kChunk = 512;

/// Element types as memory holds them.
struct Bool {
  uint8_t bits;
};
template <unsigned Mantissa>
struct Quarter {
  uint8_t bits;
};
using E4m3 = Quarter<3>;
using E5m2 = Quarter<2>;
struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};

template <class A, class B>
inline constexpr bool kSame = false;
template <class A>
inline constexpr bool kSame<A, A> = true;

/// Memory element to compute type.
template <class T, class E>
TILEWRIGHT_INLINE T fromElement(E e) {
  if constexpr (kSame<E, Bool>)
    return e.bits ? T(1) : T(0);
  else if constexpr (kSame<E, Bfloat>)
    return fromElement<T>(support::bfloatToFloat(e.bits));
  else if constexpr (kSame<E, E4m3>)
    return fromElement<T>(support::quarterToFloat<3>(e.bits));
  else if constexpr (kSame<E, E5m2>)
    return fromElement<T>(support::quarterToFloat<2>(e.bits));
  else if constexpr (kSame<E, Half>)
#ifdef __FLT16_MAX__
    return fromElement<T>(float(__builtin_bit_cast(_Float16, e.bits)));
#else
    return fromElement<T>(support::halfToFloat(e.bits));
#endif
  else if constexpr (std::is_floating_point_v<E> && std::is_integral_v<T>)
    return support::toInteger<T>(e);
  else
    return T(e);
}

template <unsigned Mantissa, class T>
TILEWRIGHT_INLINE uint8_t toQuarter(T x) {
  if constexpr (kSame<T, float>)
    return support::floatToQuarter<Mantissa>(x);
  else
    return support::doubleToQuarter<Mantissa>(double(x));
}

/// Compute type to memory element, by the rules of support/Convert.h; integers to Bool keep bit 0.
template <class E, class T>
TILEWRIGHT_INLINE E toElement(T x) {
  if constexpr (kSame<E, Bool>) {
    if constexpr (std::is_floating_point_v<T>)
      return Bool{uint8_t(x != T(0) ? 1 : 0)};
    else
      return Bool{uint8_t(x & 1)};
  } else if constexpr (kSame<E, E4m3>) {
    return E4m3{toQuarter<3>(x)};
  } else if constexpr (kSame<E, E5m2>) {
    return E5m2{toQuarter<2>(x)};
  } else if constexpr (kSame<E, Half>) {
    if constexpr (kSame<T, float>)
#ifdef __FLT16_MAX__
      return Half{__builtin_bit_cast(uint16_t, _Float16(x))};
#else
      return Half{support::floatToHalf(x)};
#endif
    else
      return Half{support::doubleToHalf(double(x))};
  } else if constexpr (kSame<E, Bfloat>) {
    if constexpr (kSame<T, float>)
      return Bfloat{support::floatToBfloat(x)};
    else
      return Bfloat{support::doubleToBfloat(double(x))};
  } else if constexpr (std::is_floating_point_v<T> && std::is_integral_v<E>) {
    return support::toInteger<E>(x);
  } else {
    return E(x);
  }
}

/// Calls f with a value of the element type that `type` names.
template <class F>
TILEWRIGHT_INLINE auto withElement(DType type, F f) {
  switch (type) {
  case DType::I1:
    return f(Bool{});
  case DType::I8:
    return f(int8_t{});
  case DType::U8:
    return f(uint8_t{});
  case DType::I16:
    return f(int16_t{});
  case DType::U16:
    return f(uint16_t{});
  case DType::I32:
    return f(int32_t{});
  case DType::U32:
    return f(uint32_t{});
  case DType::I64:
    return f(int64_t{});
  case DType::U64:
    return f(uint64_t{});
  case DType::F8E4M3:
    return f(E4m3{});
  case DType::F8E5M2:
    return f(E5m2{});
  case DType::F16:
    return f(Half{});
  case DType::BF16:
    return f(Bfloat{});
  case DType::F64:
    return f(double{});
  case DType::F32:
    break;
  }
  return f(float{});
}

enum class Class : uint8_t { I32, I64, U64, F32, F64 };

TILEWRIGHT_INLINE Class classOf(DType type) {
  switch (type) {
  case DType::F64:
    return Class::F64;
  case DType::F8E4M3:
  case DType::F8E5M2:
  case DType::F16:
  case DType::BF16:
  case DType::F32:
    return Class::F32;
  case DType::U64:
    return Class::U64;
  case DType::I64:
  case DType::U32:
    return Class::I64;
  default:
    return Class::I32;
  }
}
TILEWRIGHT_INLINE Class widest(Class a, Class b) { return a < b ? b : a; }

template <class F>
TILEWRIGHT_INLINE auto withClass(Class c, F f) {
  switch (c) {
  case Class::I32:
    return f(int32_t{});
  case Class::I64:
    return f(int64_t{});
  case Class::U64:
    return f(uint64_t{});
  case Class::F64:
    return f(double{});
  case Class::F32:
    break;
  }
  return f(float{});
}

template <class T, class E>
void loadRow(T *out, const std::byte *data, int64_t stride, int64_t n) {
  const E *in = reinterpret_cast<const E *>(data);
  if (stride == 1) {
    TILEWRIGHT_VECTOR_LOOP
    for (int64_t i = 0; i < n; ++i)
      out[i] = fromElement<T>(in[i]);
    return;
  }
  if (stride == 0) {
    T value = fromElement<T>(in[0]);
    for (int64_t i = 0; i < n; ++i)
      out[i] = value;
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    out[i] = fromElement<T>(in[i * stride]);
}

template <class T, class E>
void storeRow(std::byte *data, const T *in, int64_t stride, int64_t n) {
  E *out = reinterpret_cast<E *>(data);
  if (stride == 1) {
    TILEWRIGHT_VECTOR_LOOP
    for (int64_t i = 0; i < n; ++i)
      out[i] = toElement<E>(in[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i)
    out[i * stride] = toElement<E>(in[i]);
}

/// Reads rows of one operand as T.
template <class T>
class Source {
public:
  Source(const Operand &operand, int64_t innerStride)
      : data(operand.data), stride(innerStride), bytes(elementBytes(operand.type)) {
    withElement(operand.type, [&]<class E>(E) {
      load = &loadRow<T, E>;
      direct = kSame<T, E> && stride == 1;
    });
  }

  /// n elements from element `offset` on; in `buffer` unless they can be used in place.
  TILEWRIGHT_INLINE const T *row(int64_t offset, int64_t n, T *buffer) const {
    const std::byte *at = data + offset * bytes;
    if (direct)
      return reinterpret_cast<const T *>(at);
    load(buffer, at, stride, n);
    return buffer;
  }

  bool isDirect() const { return direct; }
  bool isBroadcast() const { return stride == 0; }

  static int64_t elementBytes(DType type) {
    return withElement(type, []<class E>(E) { return int64_t(sizeof(E)); });
  }

private:
  const std::byte *data;
  int64_t stride, bytes;
  void (*load)(T *, const std::byte *, int64_t, int64_t) = nullptr;
  bool direct = false;
};

/// Writes rows of one operand from T.
template <class T>
class Sink {
public:
  Sink(const Operand &operand, int64_t innerStride)
      : data(operand.data), stride(innerStride), bytes(Source<T>::elementBytes(operand.type)) {
    withElement(operand.type, [&]<class E>(E) {
      store = &storeRow<T, E>;
      direct = kSame<T, E> && stride == 1;
    });
  }

  /// Where to compute n elements from element `offset` on: in place, or in `buffer`.
  TILEWRIGHT_INLINE T *begin(int64_t offset, T *buffer) const {
    return direct ? reinterpret_cast<T *>(data + offset * bytes) : buffer;
  }
  /// Brings what was computed in `buffer` to memory.
  TILEWRIGHT_INLINE void end(int64_t offset, int64_t n, const T *buffer) const {
    if (!direct)
      store(data + offset * bytes, buffer, stride, n);
  }

  bool isDirect() const { return direct; }

private:
  std::byte *data;
  int64_t stride, bytes;
  void (*store)(std::byte *, const T *, int64_t, int64_t) = nullptr;
  bool direct = false;
};

/// Calls f(offsets) for every row (all dims but the last), in order. offsets[o] is operand o's
/// first element.
template <int N, class F>
TILEWRIGHT_INLINE void forEachRow(const Job &job, F f) {
  int64_t index[kMaxRank] = {};
  int64_t offsets[N] = {};
  int outer = job.rank - 1;
  while (true) {
    f(offsets);
    int d = outer - 1;
    for (; d >= 0; --d) {
      for (int o = 0; o < N; ++o)
        offsets[o] += job.operands[o].strides[d];
      if (++index[d] < job.sizes[d])
        break;
      index[d] = 0;
      for (int o = 0; o < N; ++o)
        offsets[o] -= job.operands[o].strides[d] * job.sizes[d];
    }
    if (d < 0)
      return;
  }
}

} // namespace tilewright::sim::TILEWRIGHT_ISA
