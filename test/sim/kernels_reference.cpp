// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels_reference.h"

#include "tilewright/support/Convert.h"
#include "tilewright/support/Reduce.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <sstream>

using namespace tilewright;
using namespace tilewright::sim;
using namespace tilewright::sim::testing;

namespace {

enum class Class { I32, I64, U64, F32, F64 };

Class classOf(DType type) {
  switch (type) {
  case DType::F64:
    return Class::F64;
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

template <class F>
void withClass(Class c, F f) {
  switch (c) {
  case Class::I32:
    return f(int32_t{});
  case Class::I64:
    return f(int64_t{});
  case Class::U64:
    return f(uint64_t{});
  case Class::F32:
    return f(float{});
  case Class::F64:
    return f(double{});
  }
}

template <class E>
E peek(const std::byte *at) {
  E value;
  std::memcpy(&value, at, sizeof(E));
  return value;
}
template <class E>
void poke(std::byte *at, E value) {
  std::memcpy(at, &value, sizeof(E));
}

template <class T>
T read(const std::byte *at, DType type) {
  auto fromFloat = [](auto x) -> T {
    if constexpr (std::is_integral_v<T>)
      return support::toInteger<T>(x);
    else
      return T(x);
  };
  switch (type) {
  case DType::I1:
    return peek<uint8_t>(at) ? T(1) : T(0);
  case DType::I8:
    return T(peek<int8_t>(at));
  case DType::U8:
    return T(peek<uint8_t>(at));
  case DType::I16:
    return T(peek<int16_t>(at));
  case DType::U16:
    return T(peek<uint16_t>(at));
  case DType::I32:
    return T(peek<int32_t>(at));
  case DType::U32:
    return T(peek<uint32_t>(at));
  case DType::I64:
    return T(peek<int64_t>(at));
  case DType::U64:
    return T(peek<uint64_t>(at));
  case DType::F16:
    return fromFloat(support::halfToFloat(peek<uint16_t>(at)));
  case DType::BF16:
    return fromFloat(support::bfloatToFloat(peek<uint16_t>(at)));
  case DType::F32:
    return fromFloat(peek<float>(at));
  case DType::F64:
    return fromFloat(peek<double>(at));
  }
  return T(0);
}

template <class Int, class T>
Int asInteger(T x, support::Rounding mode) {
  if constexpr (std::is_floating_point_v<T>)
    return support::toInteger<Int>(x, mode);
  else
    return Int(x);
}

template <class T>
void write(std::byte *at, DType type, T x, support::Rounding mode = support::Rounding::Trunc) {
  switch (type) {
  case DType::I1:
    if constexpr (std::is_floating_point_v<T>)
      return poke<uint8_t>(at, x != T(0));
    else
      return poke<uint8_t>(at, uint8_t(x & 1));
  case DType::I8:
    return poke(at, asInteger<int8_t>(x, mode));
  case DType::U8:
    return poke(at, asInteger<uint8_t>(x, mode));
  case DType::I16:
    return poke(at, asInteger<int16_t>(x, mode));
  case DType::U16:
    return poke(at, asInteger<uint16_t>(x, mode));
  case DType::I32:
    return poke(at, asInteger<int32_t>(x, mode));
  case DType::U32:
    return poke(at, asInteger<uint32_t>(x, mode));
  case DType::I64:
    return poke(at, asInteger<int64_t>(x, mode));
  case DType::U64:
    return poke(at, asInteger<uint64_t>(x, mode));
  case DType::F16:
    return poke(at, support::doubleToHalf(double(x)));
  case DType::BF16:
    return poke(at, support::doubleToBfloat(double(x)));
  case DType::F32:
    return poke(at, float(x));
  case DType::F64:
    return poke(at, double(x));
  }
}

template <class T>
T applyUnary(UnaryFn fn, T x) {
  using namespace support;
  if constexpr (std::is_integral_v<T>) {
    switch (fn) {
    case UnaryFn::Neg:
      return negWrap(x);
    case UnaryFn::Abs:
      return absWrap(x);
    case UnaryFn::Not:
      return ~x;
    case UnaryFn::Relu:
      return x > 0 ? x : 0;
    case UnaryFn::IsNan:
    case UnaryFn::IsInf:
      return 0;
    case UnaryFn::IsFinite:
      return 1;
    default:
      return x;
    }
  } else {
    switch (fn) {
    case UnaryFn::Neg:
      return -x;
    case UnaryFn::Abs:
      return support::abs(x);
    case UnaryFn::Exp:
      return support::exp(x);
    case UnaryFn::Exp2:
      return support::exp2(x);
    case UnaryFn::Log:
      return support::log(x);
    case UnaryFn::Log2:
      return support::log2(x);
    case UnaryFn::Log10:
      return support::log10(x);
    case UnaryFn::Log1p:
      return support::log1p(x);
    case UnaryFn::Sqrt:
      return support::sqrt(x);
    case UnaryFn::Rsqrt:
      return support::rsqrt(x);
    case UnaryFn::Rec:
      return support::rec(x);
    case UnaryFn::Sin:
      return support::sin(x);
    case UnaryFn::Cos:
      return support::cos(x);
    case UnaryFn::Tan:
      return support::tan(x);
    case UnaryFn::Tanh:
      return support::tanh(x);
    case UnaryFn::Sigmoid:
      return support::sigmoid(x);
    case UnaryFn::Erf:
      return support::erf(x);
    case UnaryFn::Floor:
      return support::floor(x);
    case UnaryFn::Ceil:
      return support::ceil(x);
    case UnaryFn::Round:
      return support::round(x);
    case UnaryFn::Trunc:
      return support::trunc(x);
    case UnaryFn::Rint:
      return support::rint(x);
    case UnaryFn::Not:
      return x == T(0);
    case UnaryFn::Relu:
      return relu(x);
    case UnaryFn::IsNan:
      return isNan(x);
    case UnaryFn::IsInf:
      return isInf(x);
    case UnaryFn::IsFinite:
      return isFinite(x);
    }
    return x;
  }
}

template <class T>
T applyBinary(BinaryFn fn, T a, T b) {
  using namespace support;
  constexpr bool isFloat = std::is_floating_point_v<T>;
  switch (fn) {
  case BinaryFn::FloorDiv:
    return floorDiv(a, b);
  case BinaryFn::FloorMod:
    return floorMod(a, b);
  case BinaryFn::Max:
    return maxOf(a, b);
  case BinaryFn::Min:
    return minOf(a, b);
  case BinaryFn::MaxNum:
    return maxNum(a, b);
  case BinaryFn::MinNum:
    return minNum(a, b);
  default:
    break;
  }
  if constexpr (isFloat) {
    switch (fn) {
    case BinaryFn::Add:
      return a + b;
    case BinaryFn::Sub:
      return a - b;
    case BinaryFn::Mul:
      return a * b;
    case BinaryFn::Div:
      return a / b;
    case BinaryFn::Rem:
      return support::remainder(a, b);
    case BinaryFn::Pow:
      return support::pow(a, b);
    case BinaryFn::And:
      return a != 0 && b != 0;
    case BinaryFn::Or:
      return a != 0 || b != 0;
    default:
      return (a != 0) != (b != 0);
    }
  } else {
    switch (fn) {
    case BinaryFn::Add:
      return addWrap(a, b);
    case BinaryFn::Sub:
      return subWrap(a, b);
    case BinaryFn::Mul:
      return mulWrap(a, b);
    case BinaryFn::Div:
      return divTrunc(a, b);
    case BinaryFn::Rem:
      return remTrunc(a, b);
    case BinaryFn::Pow:
      return powWrap(a, b);
    case BinaryFn::And:
      return a & b;
    case BinaryFn::Or:
      return a | b;
    case BinaryFn::Xor:
      return a ^ b;
    case BinaryFn::Shl:
      return shiftLeft(a, b);
    default:
      return shiftRight(a, b);
    }
  }
}

template <class T>
bool applyCompare(CompareFn fn, T a, T b) {
  switch (fn) {
  case CompareFn::EQ:
    return a == b;
  case CompareFn::NE:
    return a != b;
  case CompareFn::LT:
    return a < b;
  case CompareFn::LE:
    return a <= b;
  case CompareFn::GT:
    return a > b;
  case CompareFn::GE:
    return a >= b;
  }
  return false;
}

using Index = std::vector<int64_t>;

int64_t address(const Place &place, const Index &index) {
  int64_t at = 0;
  for (size_t d = 0; d < place.strides.size(); ++d)
    at += index[d] * place.strides[d];
  return place.offset + at * bytesOf(place.type);
}

void forEachIndex(const std::vector<int64_t> &sizes, const std::function<void(const Index &)> &f) {
  for (int64_t size : sizes)
    if (size <= 0)
      return;
  Index index(sizes.size(), 0);
  while (true) {
    f(index);
    int d = int(sizes.size()) - 1;
    for (; d >= 0; --d) {
      if (++index[d] < sizes[d])
        break;
      index[d] = 0;
    }
    if (d < 0)
      return;
  }
}

/// A case being carried out.
struct Run {
  const Case &c;
  Arena before;
  Arena &after;

  const Place &operand(int o) const { return c.operands[o]; }
  template <class T>
  T get(int o, const Index &index) const {
    return read<T>(before.data() + address(operand(o), index), operand(o).type);
  }
  std::byte *out(const Index &index) const { return after.data() + address(operand(0), index); }
  template <class T>
  void put(const Index &index, T value, support::Rounding mode = support::Rounding::Trunc) const {
    write<T>(out(index), operand(0).type, value, mode);
  }
  DType type(int o) const { return operand(o).type; }

  template <class T>
  T scalar() const {
    DType t = type(1);
    if (t == DType::F16 || t == DType::BF16)
      t = DType::F32;
    return read<T>(reinterpret_cast<const std::byte *>(&c.scalars[0]), t);
  }

  void unary() const {
    withClass(classOf(type(1)), [&]<class T>(T) {
      forEachIndex(operand(0).sizes,
                   [&](const Index &i) { put(i, applyUnary<T>(UnaryFn(c.fn), get<T>(1, i))); });
    });
  }

  void binary(bool atomic) const {
    BinaryFn fn = BinaryFn(c.fn);
    if (atomic)
      fn = c.op == TileOp::AtomicAdd
               ? BinaryFn::Add
               : (c.op == TileOp::AtomicMax ? BinaryFn::MaxNum : BinaryFn::MinNum);
    withClass(classOf(type(1)), [&]<class T>(T) {
      forEachIndex(operand(0).sizes, [&](const Index &i) {
        if (atomic)
          return put(i, applyBinary<T>(fn, read<T>(out(i), type(0)), get<T>(1, i)));
        if (c.op == TileOp::Binary)
          return put(i, applyBinary<T>(fn, get<T>(1, i), get<T>(2, i)));
        T a = get<T>(1, i), b = scalar<T>();
        put(i, c.flags & kScalarFirst ? applyBinary<T>(fn, b, a) : applyBinary<T>(fn, a, b));
      });
    });
  }

  void compare() const {
    withClass(classOf(type(1)), [&]<class T>(T) {
      forEachIndex(operand(0).sizes, [&](const Index &i) {
        T a = get<T>(1, i), b = c.op == TileOp::Compare ? get<T>(2, i) : scalar<T>();
        if (c.op == TileOp::CompareScalar && (c.flags & kScalarFirst))
          std::swap(a, b);
        put<int32_t>(i, applyCompare<T>(CompareFn(c.fn), a, b));
      });
    });
  }

  void cast() const {
    auto mode = support::Rounding(c.round);
    withClass(classOf(type(1)), [&]<class T>(T) {
      forEachIndex(operand(0).sizes, [&](const Index &i) {
        T x = get<T>(1, i);
        if (c.op == TileOp::Fixpipe && (c.flags & kRelu))
          x = support::relu(x);
        if (type(0) == DType::I1)
          return put<int32_t>(i, x != T(0));
        if constexpr (std::is_floating_point_v<T>) {
          if (c.op == TileOp::Cast && type(0) == DType::F16 && type(1) != DType::F16)
            return poke(out(i), support::narrowToHalf(x, mode));
          if (c.op == TileOp::Cast && type(0) == DType::BF16 && type(1) != DType::BF16)
            return poke(out(i), support::narrowToBfloat(x, mode));
          if (c.op == TileOp::Cast && type(0) == DType::F32 && type(1) == DType::F64)
            return poke(out(i), support::narrowToFloat(x, mode));
        }
        put(i, x, mode);
      });
    });
  }

  void move() const {
    int64_t bytes = bytesOf(type(0));
    forEachIndex(operand(0).sizes, [&](const Index &i) {
      int from = 1;
      if (c.op == TileOp::Select)
        from = get<int32_t>(1, i) ? 2 : 3;
      std::memcpy(out(i), before.data() + address(operand(from), i), size_t(bytes));
    });
  }

  void fill() const {
    int64_t s = c.scalars[0];
    forEachIndex(operand(0).sizes, [&](const Index &i) {
      if (type(0) == DType::F16 || type(0) == DType::BF16)
        put(i, support::floatOfBits(uint32_t(s)));
      else if (type(0) == DType::I1)
        put(i, int32_t(s & 1));
      else
        std::memcpy(out(i), &s, size_t(bytesOf(type(0))));
    });
  }

  void iota() const {
    forEachIndex(operand(0).sizes, [&](const Index &i) {
      int64_t value = c.scalars[0];
      for (size_t d = 0; d < i.size(); ++d)
        value += i[d] * c.scalars[d + 1];
      put(i, value);
    });
  }

  void gather() const {
    int64_t bytes = bytesOf(type(0));
    const Place &table = operand(1);
    forEachIndex(operand(0).sizes, [&](const Index &i) {
      int64_t at = get<int64_t>(2, i);
      if (at < 0 || at >= table.sizes[0])
        std::memset(out(i), 0, size_t(bytes));
      else
        std::memcpy(out(i), before.data() + address(table, {at}), size_t(bytes));
    });
  }

  void reduce() const {
    const Place &dst = operand(0), &src = operand(1);
    int rank = int(src.sizes.size());
    bool reduced[kMaxRank] = {};
    std::vector<int64_t> kept = src.sizes;
    for (int d = 0; d < rank; ++d)
      if ((reduced[d] = dst.strides[d] == 0))
        kept[d] = 1;
    auto kind = support::ReduceKind(c.fn);
    withClass(std::max(classOf(type(0)), classOf(type(1))), [&]<class T>(T) {
      forEachIndex(kept, [&](const Index &i) {
        Index at = i;
        T total = support::reduceBox<T>(kind, rank, src.sizes.data(), reduced, at.data(),
                                        [&](const int64_t *) { return get<T>(1, at); });
        if (c.flags & kAccumulate)
          total = support::reduceCombine<T>(kind, get<T>(0, i), total);
        put(i, total);
      });
    });
  }

  void scan() const {
    int dim = c.fn >> 8;
    auto kind = support::ReduceKind(c.fn & 255);
    std::vector<int64_t> others = operand(1).sizes;
    int64_t n = others[dim];
    others[dim] = std::min<int64_t>(n, 1);
    withClass(std::max(classOf(type(0)), classOf(type(1))), [&]<class T>(T) {
      forEachIndex(others, [&](const Index &i) {
        T running{};
        Index at = i;
        for (int64_t k = 0; k < n; ++k) {
          at[dim] = c.flags & kReverse ? n - 1 - k : k;
          T x = support::reduceElement<T>(kind, get<T>(1, at));
          running = k ? support::reduceCombine<T>(kind, running, x) : x;
          put(at, running);
        }
      });
    });
  }
};

} // namespace

int64_t testing::bytesOf(DType type) {
  switch (type) {
  case DType::I1:
  case DType::I8:
  case DType::U8:
    return 1;
  case DType::I16:
  case DType::U16:
  case DType::F16:
  case DType::BF16:
    return 2;
  case DType::I32:
  case DType::U32:
  case DType::F32:
    return 4;
  default:
    return 8;
  }
}

bool testing::isFloatType(DType type) { return type >= DType::F16; }

ResolvedOp Case::resolve(Arena &arena) const {
  ResolvedOp result;
  result.op = op;
  result.fn = fn;
  result.flags = flags;
  result.round = round;
  result.numOperands = uint8_t(operands.size());
  result.numScalars = uint8_t(scalars.size());
  for (size_t o = 0; o < operands.size(); ++o) {
    ResolvedView &view = result.operands[o];
    view.data = arena.data() + operands[o].offset;
    view.type = operands[o].type;
    view.rank = uint8_t(operands[o].sizes.size());
    std::copy(operands[o].sizes.begin(), operands[o].sizes.end(), view.sizes.begin());
    std::copy(operands[o].strides.begin(), operands[o].strides.end(), view.strides.begin());
  }
  std::copy(scalars.begin(), scalars.end(), result.scalars.begin());
  return result;
}

void testing::reference(const Case &c, Arena &arena) {
  Run run{c, arena, arena};
  switch (c.op) {
  case TileOp::Unary:
    return run.unary();
  case TileOp::Binary:
  case TileOp::BinaryScalar:
    return run.binary(false);
  case TileOp::AtomicAdd:
  case TileOp::AtomicMax:
  case TileOp::AtomicMin:
    return run.binary(true);
  case TileOp::Compare:
  case TileOp::CompareScalar:
    return run.compare();
  case TileOp::Cast:
  case TileOp::Fixpipe:
    return run.cast();
  case TileOp::Fill:
  case TileOp::FillL1:
    return run.fill();
  case TileOp::Iota:
    return run.iota();
  case TileOp::Gather:
    return run.gather();
  case TileOp::Reduce:
    return run.reduce();
  case TileOp::Scan:
    return run.scan();
  default:
    return run.move();
  }
}

void testing::forgetNans(const Case &c, Arena &arena) {
  const Place &dst = c.operands[0];
  if (!isFloatType(dst.type))
    return;
  const std::vector<int64_t> &sizes =
      c.op == TileOp::Reduce || c.op == TileOp::Scan ? c.operands[1].sizes : dst.sizes;
  forEachIndex(sizes, [&](const Index &i) {
    std::byte *at = arena.data() + address(dst, i);
    double value = read<double>(at, dst.type);
    if (value != value)
      write(at, dst.type, std::numeric_limits<double>::quiet_NaN());
  });
}

std::string testing::describe(const Case &c) {
  std::ostringstream out;
  out << "op " << int(c.op) << " fn " << c.fn << " flags " << int(c.flags) << " round "
      << int(c.round);
  for (const Place &p : c.operands) {
    out << "\n  type " << int(p.type) << " at " << p.offset << " [";
    for (size_t d = 0; d < p.sizes.size(); ++d)
      out << ' ' << p.sizes[d] << ':' << p.strides[d];
    out << " ]";
  }
  return out.str();
}

std::vector<int64_t> Generator::box(int maxRank, int64_t maxElements) {
  int rank = int(between(0, maxRank));
  std::vector<int64_t> sizes(rank);
  int64_t elements = 1;
  for (int d = 0; d < rank; ++d) {
    int64_t size = chance(20) ? 1 : between(1, d + 1 == rank && chance(40) ? 1300 : 9);
    sizes[d] = std::max<int64_t>(1, std::min(size, maxElements / elements));
    elements *= sizes[d];
  }
  return sizes;
}

Place Generator::place(DType type, const std::vector<int64_t> &sizes, bool repeat) {
  Place result;
  result.type = type;
  result.sizes = sizes;
  result.strides.assign(sizes.size(), 0);
  std::vector<int> order(sizes.size());
  for (size_t d = 0; d < order.size(); ++d)
    order[d] = int(d);
  if (chance(25))
    std::shuffle(order.begin(), order.end(), random);
  int64_t stride = chance(15) ? between(2, 3) : 1;
  for (int k = int(order.size()) - 1; k >= 0; --k) {
    int d = order[k];
    if (repeat && chance(25))
      continue;
    result.strides[d] = stride;
    stride *= sizes[d];
    if (chance(40))
      stride += between(0, 5);
  }
  int64_t bytes = bytesOf(type);
  used = (used + 63) / 64 * 64 + bytes * between(0, 3);
  result.offset = used;
  used += stride * bytes;
  return result;
}

void Generator::maybeOverlap(const Place &dst, Place &src) {
  int64_t choice = between(0, 99);
  if (choice < 20 && bytesOf(src.type) == bytesOf(dst.type)) {
    src.offset = dst.offset;
    src.strides = dst.strides;
  } else if (choice < 35) {
    src.offset =
        dst.offset / bytesOf(src.type) * bytesOf(src.type) + bytesOf(src.type) * between(0, 9);
    if (chance(50) && bytesOf(src.type) == bytesOf(dst.type))
      src.strides = dst.strides;
  } else {
    return;
  }
  int64_t end = src.offset;
  for (size_t d = 0; d < src.sizes.size(); ++d)
    end += std::max<int64_t>(0, src.sizes[d] - 1) * src.strides[d] * bytesOf(src.type);
  used = std::max(used, end + bytesOf(src.type));
}

double Generator::value() {
  switch (tame ? 6 + 2 * between(0, 3) : between(0, 19)) {
  case 0:
    return 0.0;
  case 1:
    return -0.0;
  case 2:
    return std::numeric_limits<double>::infinity();
  case 3:
    return -std::numeric_limits<double>::infinity();
  case 4:
    return std::numeric_limits<double>::quiet_NaN();
  case 5:
    return std::ldexp(double(between(-1000, 1000)), int(between(-140, 120)));
  case 6:
  case 7:
    return double(between(-9, 9));
  case 8:
    return double(between(-40, 40)) / 2;
  case 9:
    return double(between(-70000, 70000));
  default:
    return std::normal_distribution<double>(0, 4)(random);
  }
}

int64_t Generator::scalar(DType type) {
  int64_t bits = 0;
  if (isFloatType(type)) {
    auto *at = reinterpret_cast<std::byte *>(&bits);
    if (type == DType::F16)
      write(at, DType::F32, support::halfToFloat(support::doubleToHalf(value())));
    else if (type == DType::BF16)
      write(at, DType::F32, support::bfloatToFloat(support::doubleToBfloat(value())));
    else
      write(at, type, value());
    return bits;
  }
  int64_t x = chance(60) ? between(-9, 9) : int64_t((uint64_t(random()) << 32) | random());
  withClass(classOf(type), [&]<class T>(T) {
    int64_t memory = 0;
    auto *at = reinterpret_cast<std::byte *>(&memory);
    write(at, type, T(x));
    bits = int64_t(read<T>(at, type));
  });
  return bits;
}

void Generator::fill(const Place &place, Arena &arena) {
  // Many tiles hold ordinary numbers alone: one NaN or infinity would hide a row's sum.
  tame = chance(tamePercent);
  forEachIndex(place.sizes, [&](const Index &i) {
    std::byte *at = arena.data() + address(place, i);
    if (isFloatType(place.type)) {
      write(at, place.type, value());
      return;
    }
    int64_t x = scalar(place.type);
    if (place.type == DType::I1)
      x &= 1;
    std::memcpy(at, &x, size_t(bytesOf(place.type)));
  });
  tame = false;
}

Arena Generator::arena() {
  Arena result(size_t(used + 64));
  for (std::byte &b : result)
    b = std::byte(random() & 0x3f);
  return result;
}
