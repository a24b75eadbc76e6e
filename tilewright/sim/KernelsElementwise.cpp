// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element-wise tile instructions; compiled once per instruction set level.
#include "tilewright/sim/KernelsRow.h"

namespace tilewright::sim::TILEWRIGHT_ISA {
namespace {

template <class T>
using UnaryRow = void (*)(T *out, const T *a, int64_t n);
template <class T>
using BinaryRow = void (*)(T *out, const T *a, const T *b, int64_t n);
template <class T>
using CompareRow = void (*)(uint8_t *out, const T *a, const T *b, int64_t n);

template <class T, auto Fn>
void mapUnary(T *out, const T *a, int64_t n) {
  TILEWRIGHT_VECTOR_LOOP
  for (int64_t i = 0; i < n; ++i)
    out[i] = T(Fn(a[i]));
}

/// Angles: the fast form everywhere, then the rare huge ones again.
template <auto Fast, auto Any>
void mapAngle(float *out, const float *a, int64_t n) {
  float in[kChunk];
  for (int64_t start = 0; start < n; start += kChunk) {
    int64_t count = n - start < kChunk ? n - start : kChunk;
    int huge = 0;
    TILEWRIGHT_VECTOR_LOOP
    for (int64_t i = 0; i < count; ++i) {
      in[i] = a[start + i];
      huge |= support::math_detail::isHugeAngle(in[i]) ? 1 : 0;
    }
    TILEWRIGHT_VECTOR_LOOP
    for (int64_t i = 0; i < count; ++i)
      out[start + i] = Fast(in[i]);
    if (huge)
      for (int64_t i = 0; i < count; ++i)
        if (support::math_detail::isHugeAngle(in[i]))
          out[start + i] = Any(in[i]);
  }
}

template <class T, auto Fn>
void mapBinary(T *out, const T *a, const T *b, int64_t n) {
  TILEWRIGHT_VECTOR_LOOP
  for (int64_t i = 0; i < n; ++i)
    out[i] = Fn(a[i], b[i]);
}
template <class T, auto Fn>
void mapBinaryBroadcastB(T *out, const T *a, const T *b, int64_t n) {
  const T scalar = *b;
  TILEWRIGHT_VECTOR_LOOP
  for (int64_t i = 0; i < n; ++i)
    out[i] = Fn(a[i], scalar);
}
template <class T, auto Fn>
void mapBinaryBroadcastA(T *out, const T *a, const T *b, int64_t n) {
  const T scalar = *a;
  TILEWRIGHT_VECTOR_LOOP
  for (int64_t i = 0; i < n; ++i)
    out[i] = Fn(scalar, b[i]);
}

template <class T, auto Fn>
void mapCompare(uint8_t *out, const T *a, const T *b, int64_t n) {
  TILEWRIGHT_VECTOR_LOOP
  for (int64_t i = 0; i < n; ++i)
    out[i] = Fn(a[i], b[i]) ? 1 : 0;
}

#define UNARY(name, expr)                                                                          \
  case UnaryFn::name:                                                                              \
    return &mapUnary<T, [](T x) { return expr; }>;
#define ANGLE(name, fn)                                                                            \
  case UnaryFn::name:                                                                              \
    if constexpr (kSame<T, float>)                                                                 \
      return &mapAngle<[](float x) { return support::fn##Fast(x); },                               \
                       [](float x) { return support::fn(x); }>;                                    \
    else                                                                                           \
      return &mapUnary<T, [](T x) { return support::fn(x); }>;

template <class T>
UnaryRow<T> floatUnary(UnaryFn fn) {
  switch (fn) {
    UNARY(Neg, -x)
    UNARY(Abs, support::abs(x))
    UNARY(Exp, support::exp(x))
    UNARY(Exp2, support::exp2(x))
    UNARY(Log, support::log(x))
    UNARY(Log2, support::log2(x))
    UNARY(Log10, support::log10(x))
    UNARY(Log1p, support::log1p(x))
    UNARY(Sqrt, support::sqrt(x))
    UNARY(Rsqrt, support::rsqrt(x))
    UNARY(Rec, support::rec(x))
    ANGLE(Sin, sin)
    ANGLE(Cos, cos)
    ANGLE(Tan, tan)
    UNARY(Tanh, support::tanh(x))
    UNARY(Sigmoid, support::sigmoid(x))
    UNARY(Erf, support::erf(x))
    UNARY(Floor, support::floor(x))
    UNARY(Ceil, support::ceil(x))
    UNARY(Round, support::round(x))
    UNARY(Trunc, support::trunc(x))
    UNARY(Rint, support::rint(x))
    UNARY(Not, x == T(0) ? T(1) : T(0))
    UNARY(Relu, support::relu(x))
    UNARY(IsNan, support::isNan(x) ? T(1) : T(0))
    UNARY(IsInf, support::isInf(x) ? T(1) : T(0))
    UNARY(IsFinite, support::isFinite(x) ? T(1) : T(0))
  }
  return nullptr;
}

/// Null for the functions that integers go through floats for.
template <class T>
UnaryRow<T> integerUnary(UnaryFn fn) {
  switch (fn) {
    UNARY(Neg, support::negWrap(x))
    UNARY(Abs, support::absWrap(x))
    UNARY(Not, ~x)
    UNARY(Relu, support::relu(x))
  case UnaryFn::Floor:
  case UnaryFn::Ceil:
  case UnaryFn::Round:
  case UnaryFn::Trunc:
    UNARY(Rint, x)
  case UnaryFn::IsNan:
    UNARY(IsInf, x ^ x)
    UNARY(IsFinite, (x ^ x) + 1)
  default:
    return nullptr;
  }
}
#undef UNARY
#undef ANGLE

/// The row functions of one binary operation. The broadcast forms may be null.
template <class T>
struct BinaryRows {
  BinaryRow<T> both = nullptr, broadcastA = nullptr, broadcastB = nullptr;
};

template <class T, auto Fn>
BinaryRows<T> binaryRows() {
  if constexpr (kSame<T, float>)
    return {&mapBinary<T, Fn>, &mapBinaryBroadcastA<T, Fn>, &mapBinaryBroadcastB<T, Fn>};
  else
    return {&mapBinary<T, Fn>, nullptr, nullptr};
}

#define BINARY(name, expr)                                                                         \
  case BinaryFn::name:                                                                             \
    return binaryRows<T, [](T a, T b) -> T { return expr; }>();

template <class T>
BinaryRows<T> floatBinary(BinaryFn fn) {
  switch (fn) {
    BINARY(Add, a + b)
    BINARY(Sub, a - b)
    BINARY(Mul, a * b)
    BINARY(Div, a / b)
    BINARY(Rem, support::remainder(a, b))
    BINARY(FloorDiv, support::floorDiv(a, b))
    BINARY(FloorMod, support::floorMod(a, b))
    BINARY(Max, support::maxOf(a, b))
    BINARY(Min, support::minOf(a, b))
    BINARY(MaxNum, support::maxNum(a, b))
    BINARY(MinNum, support::minNum(a, b))
    BINARY(Pow, support::pow(a, b))
    BINARY(And, a != T(0) && b != T(0) ? T(1) : T(0))
    BINARY(Or, a != T(0) || b != T(0) ? T(1) : T(0))
    BINARY(Xor, (a != T(0)) != (b != T(0)) ? T(1) : T(0))
  case BinaryFn::Shl:
  case BinaryFn::Shr:
    break;
  }
  return {};
}

template <class T>
BinaryRows<T> integerBinary(BinaryFn fn) {
  switch (fn) {
    BINARY(Add, support::addWrap(a, b))
    BINARY(Sub, support::subWrap(a, b))
    BINARY(Mul, support::mulWrap(a, b))
    BINARY(Div, support::divTrunc(a, b))
    BINARY(Rem, support::remTrunc(a, b))
    BINARY(FloorDiv, support::floorDiv(a, b))
    BINARY(FloorMod, support::floorMod(a, b))
  case BinaryFn::MaxNum:
    BINARY(Max, a > b ? a : b)
  case BinaryFn::MinNum:
    BINARY(Min, a < b ? a : b)
    BINARY(And, a & b)
    BINARY(Or, a | b)
    BINARY(Xor, a ^ b)
    BINARY(Shl, support::shiftLeft(a, b))
    BINARY(Shr, support::shiftRight(a, b))
    BINARY(Pow, support::powWrap(a, b))
  }
  return {};
}
#undef BINARY

#define COMPARE(name, expr)                                                                        \
  case CompareFn::name:                                                                            \
    return &mapCompare<T, [](T a, T b) { return expr; }>;

template <class T>
CompareRow<T> compareRow(CompareFn fn) {
  switch (fn) {
    COMPARE(EQ, a == b)
    COMPARE(NE, a != b)
    COMPARE(LT, a < b)
    COMPARE(LE, a <= b)
    COMPARE(GT, a > b)
    COMPARE(GE, a >= b)
  }
  return nullptr;
}
#undef COMPARE

TILEWRIGHT_INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/// True if several elements of the destination are the same memory: then elements go one by one.
bool destinationRepeats(const Job &job) {
  for (int d = 0; d < job.rank; ++d)
    if (job.operands[0].strides[d] == 0 && job.sizes[d] > 1)
      return true;
  return false;
}

template <class T>
void runUnary(const Job &job, UnaryRow<T> fn) {
  int last = job.rank - 1;
  int64_t n = job.sizes[last];
  Sink<T> dst(job.operands[0], job.operands[0].strides[last]);
  Source<T> a(job.operands[1], job.operands[1].strides[last]);
  int64_t step = a.isDirect() && dst.isDirect() ? n : kChunk;
  forEachRow<2>(job, [&](const int64_t *at) {
    alignas(64) T bufferA[kChunk], bufferOut[kChunk];
    for (int64_t i = 0; i < n; i += step) {
      int64_t count = smaller(n - i, step);
      int64_t atOut = at[0] + i * job.operands[0].strides[last];
      const T *rowA = a.row(at[1] + i * job.operands[1].strides[last], count, bufferA);
      fn(dst.begin(atOut, bufferOut), rowA, count);
      dst.end(atOut, count, bufferOut);
    }
  });
}

template <class T>
void runBinary(const Job &job, BinaryRows<T> rows) {
  int last = job.rank - 1;
  int64_t n = job.sizes[last];
  const int64_t strideOut = job.operands[0].strides[last];
  const int64_t strideA = job.operands[1].strides[last], strideB = job.operands[2].strides[last];
  Sink<T> dst(job.operands[0], strideOut);
  Source<T> a(job.operands[1], strideA), b(job.operands[2], strideB);
  bool repeats = destinationRepeats(job);
  BinaryRow<T> fn = rows.both;
  bool oneA = false, oneB = false;
  if (!repeats && b.isBroadcast() && rows.broadcastB) {
    fn = rows.broadcastB;
    oneB = true;
  } else if (!repeats && a.isBroadcast() && rows.broadcastA) {
    fn = rows.broadcastA;
    oneA = true;
  }
  bool direct = (a.isDirect() || oneA) && (b.isDirect() || oneB) && dst.isDirect();
  int64_t step = repeats ? 1 : (direct ? n : kChunk);
  forEachRow<3>(job, [&](const int64_t *at) {
    alignas(64) T bufferA[kChunk], bufferB[kChunk], bufferOut[kChunk];
    for (int64_t i = 0; i < n; i += step) {
      int64_t count = smaller(n - i, step);
      int64_t atOut = at[0] + i * strideOut;
      const T *rowA = a.row(at[1] + i * strideA, oneA ? 1 : count, bufferA);
      const T *rowB = b.row(at[2] + i * strideB, oneB ? 1 : count, bufferB);
      fn(dst.begin(atOut, bufferOut), rowA, rowB, count);
      dst.end(atOut, count, bufferOut);
    }
  });
}

template <class T>
void runCompare(const Job &job, CompareRow<T> fn) {
  int last = job.rank - 1;
  int64_t n = job.sizes[last];
  const int64_t strideOut = job.operands[0].strides[last];
  const int64_t strideA = job.operands[1].strides[last], strideB = job.operands[2].strides[last];
  uint8_t *out = reinterpret_cast<uint8_t *>(job.operands[0].data);
  Source<T> a(job.operands[1], strideA), b(job.operands[2], strideB);
  forEachRow<3>(job, [&](const int64_t *at) {
    alignas(64) T bufferA[kChunk], bufferB[kChunk];
    alignas(64) uint8_t bufferOut[kChunk];
    for (int64_t i = 0; i < n; i += kChunk) {
      int64_t count = smaller(n - i, kChunk);
      const T *rowA = a.row(at[1] + i * strideA, count, bufferA);
      const T *rowB = b.row(at[2] + i * strideB, count, bufferB);
      uint8_t *rowOut = out + at[0] + i * strideOut;
      if (strideOut == 1) {
        fn(rowOut, rowA, rowB, count);
        continue;
      }
      fn(bufferOut, rowA, rowB, count);
      for (int64_t j = 0; j < count; ++j)
        rowOut[j * strideOut] = bufferOut[j];
    }
  });
}

/// Float to a narrower float in a mode other than half to even.
template <class T>
void storeNarrowed(const Operand &dst, int64_t offset, int64_t stride, const T *in, int64_t n,
                   Rounding mode) {
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = offset + i * stride;
    double x = double(in[i]);
    if (dst.type == DType::F16)
      reinterpret_cast<uint16_t *>(dst.data)[at] = support::narrowToHalf(x, mode);
    else if (dst.type == DType::BF16)
      reinterpret_cast<uint16_t *>(dst.data)[at] = support::narrowToBfloat(x, mode);
    else
      reinterpret_cast<float *>(dst.data)[at] = support::narrowToFloat(x, mode);
  }
}

template <class T, Rounding Mode>
void roundRow(T *out, const T *a, int64_t n) {
  TILEWRIGHT_VECTOR_LOOP
  for (int64_t i = 0; i < n; ++i)
    out[i] = support::roundToIntegral(a[i], Mode);
}

/// 32-bit sums as 8-bit values, by the factor of a Fixpipe.
void scaleRow(int32_t *out, const int32_t *a, int64_t n, float factor) {
  TILEWRIGHT_VECTOR_LOOP
  for (int64_t i = 0; i < n; ++i)
    out[i] = support::quantised(a[i], factor);
}

template <class T>
UnaryRow<T> roundingRow(Rounding mode) {
  switch (mode) {
  case Rounding::Rint:
    return &roundRow<T, Rounding::Rint>;
  case Rounding::Floor:
    return &roundRow<T, Rounding::Floor>;
  case Rounding::Ceil:
    return &roundRow<T, Rounding::Ceil>;
  case Rounding::Round:
    return &roundRow<T, Rounding::Round>;
  default:
    return &roundRow<T, Rounding::Trunc>;
  }
}

/// Cast and Fixpipe: load, then relu, rounding or normalisation where asked for, then store.
template <class T>
void runCast(const Job &job) {
  constexpr bool isFloat = std::is_floating_point_v<T>;
  const Operand &to = job.operands[0];
  int last = job.rank - 1;
  int64_t n = job.sizes[last];
  const int64_t strideOut = to.strides[last], strideA = job.operands[1].strides[last];
  Sink<T> dst(to, strideOut);
  Source<T> a(job.operands[1], strideA);
  Class target = classOf(to.type);
  Rounding mode = Rounding(job.round);
  bool relu = job.op == TileOp::Fixpipe && (job.flags & kRelu);
  bool scales = job.op == TileOp::Fixpipe && (job.flags & kScale);
  bool toInteger = target != Class::F32 && target != Class::F64;
  bool narrows = isFloat && to.type != job.operands[1].type && target == Class::F32 &&
                 mode != Rounding::Rint && job.op == TileOp::Cast;
  UnaryRow<T> shape = nullptr;
  if constexpr (isFloat) {
    if (toInteger && to.type != DType::I1 && mode != Rounding::Trunc && mode != Rounding::Odd)
      shape = roundingRow<T>(mode);
  } else if (to.type == DType::I1) {
    shape = &mapUnary<T, [](T x) { return x != T(0) ? T(1) : T(0); }>;
  }
  forEachRow<2>(job, [&](const int64_t *at) {
    alignas(64) T buffer[kChunk];
    for (int64_t i = 0; i < n; i += kChunk) {
      int64_t count = smaller(n - i, kChunk);
      int64_t atOut = at[0] + i * strideOut;
      const T *row = a.row(at[1] + i * strideA, count, buffer);
      T *out = dst.begin(atOut, buffer);
      if (relu) {
        mapUnary<T, [](T x) { return support::relu(x); }>(out, row, count);
        row = out;
      }
      if constexpr (std::is_same_v<T, int32_t>)
        if (scales) {
          scaleRow(out, row, count, support::floatOfBits(uint32_t(job.scalars[0])));
          row = out;
        }
      if (shape) {
        shape(out, row, count);
        row = out;
      }
      if (narrows) {
        storeNarrowed(to, atOut, strideOut, row, count, mode);
        continue;
      }
      if (dst.isDirect() && row != out)
        mapUnary<T, [](T x) { return x; }>(out, row, count);
      dst.end(atOut, count, row);
    }
  });
}

/// An integer's class, or the float class wide enough to take it through a float function.
Class floatClassFor(Class c) {
  return c == Class::I32 || c == Class::F32 ? Class::F32 : Class::F64;
}

void unary(const Job &job) {
  UnaryFn fn = UnaryFn(job.fn);
  Class c = classOf(job.operands[1].type);
  withClass(c, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      if (UnaryRow<T> row = integerUnary<T>(fn)) {
        runUnary<T>(job, row);
        return;
      }
      if (floatClassFor(c) == Class::F32)
        runUnary<float>(job, floatUnary<float>(fn));
      else
        runUnary<double>(job, floatUnary<double>(fn));
    } else {
      runUnary<T>(job, floatUnary<T>(fn));
    }
  });
}

/// dst = fn(a, b) where any type may differ from the others.
void binary(const Job &job, BinaryFn fn) {
  Class c = widest(classOf(job.operands[1].type), classOf(job.operands[2].type));
  withClass(c, [&]<class T>(T) {
    BinaryRows<T> rows;
    if constexpr (std::is_integral_v<T>)
      rows = integerBinary<T>(fn);
    else
      rows = floatBinary<T>(fn);
    if (rows.both)
      runBinary<T>(job, rows);
  });
}

void compare(const Job &job) {
  Class c = widest(classOf(job.operands[1].type), classOf(job.operands[2].type));
  withClass(c, [&]<class T>(T) { runCompare<T>(job, compareRow<T>(CompareFn(job.fn))); });
}

/// Turns the scalar of BinaryScalar and CompareScalar into an operand that does not move.
/// `value` becomes its memory.
Job withScalarOperand(const Job &job, int64_t &value) {
  Job result = job;
  DType type = job.operands[1].type;
  value = job.scalars[0];
  Operand scalar;
  scalar.data = reinterpret_cast<std::byte *>(&value);
  scalar.type = isNarrowFloat(type) ? DType::F32 : type;
  result.operands[2] = scalar;
  if (job.flags & kScalarFirst) {
    result.operands[2] = result.operands[1];
    result.operands[1] = scalar;
  }
  return result;
}

/// Atomics read and write their destination.
void atomic(const Job &job, BinaryFn fn) {
  Job readWrite = job;
  readWrite.operands[2] = job.operands[1];
  readWrite.operands[1] = job.operands[0];
  binary(readWrite, fn);
}

} // namespace

void runElementwise(const Job &job) {
  int64_t value = 0;
  switch (job.op) {
  case TileOp::Unary:
    return unary(job);
  case TileOp::Binary:
    return binary(job, BinaryFn(job.fn));
  case TileOp::BinaryScalar:
    return binary(withScalarOperand(job, value), BinaryFn(job.fn));
  case TileOp::Compare:
    return compare(job);
  case TileOp::CompareScalar:
    return compare(withScalarOperand(job, value));
  case TileOp::AtomicAdd:
    return atomic(job, BinaryFn::Add);
  case TileOp::AtomicMax:
    return atomic(job, BinaryFn::MaxNum);
  case TileOp::AtomicMin:
    return atomic(job, BinaryFn::MinNum);
  case TileOp::Cast:
  case TileOp::Fixpipe:
    withClass(classOf(job.operands[1].type), [&]<class T>(T) { runCast<T>(job); });
    return;
  default:
    return;
  }
}

} // namespace tilewright::sim::TILEWRIGHT_ISA
