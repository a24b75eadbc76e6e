// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions and scans in the order of support/Reduce.h; compiled once per instruction set level.
#include "tilewright/sim/KernelsRow.h"
#include "tilewright/support/Reduce.h"

#include <utility>

namespace tilewright::sim::TILEWRIGHT_ISA {
namespace {

using support::kReduceLanes;
using support::ReduceKind;

static_assert(int(ReduceFn::Sum) == int(ReduceKind::Sum) &&
              int(ReduceFn::Max) == int(ReduceKind::Max) &&
              int(ReduceFn::Min) == int(ReduceKind::Min) &&
              int(ReduceFn::AbsSum) == int(ReduceKind::AbsSum) &&
              int(ReduceFn::AbsMax) == int(ReduceKind::AbsMax) &&
              int(ReduceFn::Prod) == int(ReduceKind::Prod) &&
              int(ReduceFn::And) == int(ReduceKind::And) &&
              int(ReduceFn::Or) == int(ReduceKind::Or) &&
              int(ReduceFn::Xor) == int(ReduceKind::Xor));

/// The row functions of one reduction.
template <class T>
struct ReduceRows {
  void (*lanes)(T *lanes, const T *in, int64_t n); ///< n elements into the 64 lanes, from lane 0 on
  T (*join)(T *lanes);                             ///< 64 lanes to one
  T (*whole)(const T *in, int64_t n);              ///< a contiguous row at once; may be null
  void (*elements)(T *out, const T *in, int64_t n); ///< reduceElement
  void (*combine)(T *total, const T *in, int64_t n);
  void (*scan)(T *row, const T *in, int64_t n, int64_t step, bool start, T *total);
  T identity;
};

template <class T, ReduceKind Kind>
TILEWRIGHT_INLINE T element(T x) {
  return support::reduceElement<T>(Kind, x);
}

template <class T, ReduceKind Kind>
void addToLanes(T *lanes, const T *in, int64_t n) {
  int64_t i = 0;
  if (n >= kReduceLanes) {
    T part[kReduceLanes];
    for (int64_t l = 0; l < kReduceLanes; ++l)
      part[l] = lanes[l];
    for (; i + kReduceLanes <= n; i += kReduceLanes) {
      TILEWRIGHT_VECTOR_LOOP
      for (int64_t l = 0; l < kReduceLanes; ++l)
        part[l] = support::reduceCombine<T>(Kind, part[l], element<T, Kind>(in[i + l]));
    }
    for (int64_t l = 0; l < kReduceLanes; ++l)
      lanes[l] = part[l];
  }
  TILEWRIGHT_VECTOR_LOOP
  for (int64_t l = 0; l < n - i; ++l)
    lanes[l] = support::reduceCombine<T>(Kind, lanes[l], element<T, Kind>(in[i + l]));
}

template <class T, ReduceKind Kind, int64_t Width>
TILEWRIGHT_INLINE void joinPairs(T *lanes) {
  T half[Width];
  for (int64_t l = 0; l < Width; ++l)
    half[l] = support::reduceCombine<T>(Kind, lanes[2 * l], lanes[2 * l + 1]);
  for (int64_t l = 0; l < Width; ++l)
    lanes[l] = half[l];
}

template <class T, ReduceKind Kind>
T joinLanes(T *lanes) {
  static_assert(kReduceLanes == 64);
  joinPairs<T, Kind, 32>(lanes);
  joinPairs<T, Kind, 16>(lanes);
  joinPairs<T, Kind, 8>(lanes);
  joinPairs<T, Kind, 4>(lanes);
  joinPairs<T, Kind, 2>(lanes);
  return support::reduceCombine<T>(Kind, lanes[0], lanes[1]);
}

/// The 64 lanes as one vector value, for the float reductions of which softmax and its like are
/// made.
template <class T, int Width>
using Lanes = T __attribute__((ext_vector_type(Width)));

/// reduceCombine for lanes: they start at the identity and never hold a NaN, so `a` needs no test.
template <ReduceKind Kind, class V>
TILEWRIGHT_INLINE V combineLanes(V a, V b) {
  if constexpr (Kind == ReduceKind::Sum || Kind == ReduceKind::AbsSum)
    return a + b;
  else if constexpr (Kind == ReduceKind::Min)
    return b < a ? b : a;
  else
    return b > a ? b : a;
}

template <class T, ReduceKind Kind, int Width, int... I>
TILEWRIGHT_INLINE T joinVector(Lanes<T, Width> v, std::integer_sequence<int, I...>) {
  auto joined = combineLanes<Kind>(__builtin_shufflevector(v, v, 2 * I...),
                                   __builtin_shufflevector(v, v, 2 * I + 1 ...));
  constexpr int kHalf = Width / 2;
  if constexpr (kHalf == 2)
    return support::reduceCombine<T>(Kind, joined[0], joined[1]);
  else
    return joinVector<T, Kind, kHalf>(joined, std::make_integer_sequence<int, kHalf / 2>());
}

/// A whole contiguous row. A partial last chunk is filled up with the identity, which changes no
/// lane.
template <class T, ReduceKind Kind>
T wholeRow(const T *in, int64_t n) {
  using V = Lanes<T, int(kReduceLanes)>;
  V lanes = support::reduceIdentity<T>(Kind);
  auto add = [&](const T *from) __attribute__((always_inline)) {
    V v;
    __builtin_memcpy(&v, from, sizeof(V));
    if constexpr (Kind == ReduceKind::AbsSum || Kind == ReduceKind::AbsMax)
      v = __builtin_elementwise_abs(v);
    lanes = combineLanes<Kind>(lanes, v);
  };
  int64_t i = 0;
  for (; i + kReduceLanes <= n; i += kReduceLanes)
    add(in + i);
  if (i < n) {
    alignas(64) T rest[kReduceLanes];
    for (int64_t l = 0; l < kReduceLanes; ++l)
      rest[l] = i + l < n ? in[i + l] : support::reduceIdentity<T>(Kind);
    add(rest);
  }
  return joinVector<T, Kind, int(kReduceLanes)>(lanes, std::make_integer_sequence<int, 32>());
}

template <class T, ReduceKind Kind>
void takeElements(T *out, const T *in, int64_t n) {
  TILEWRIGHT_VECTOR_LOOP
  for (int64_t i = 0; i < n; ++i)
    out[i] = element<T, Kind>(in[i]);
}

template <class T, ReduceKind Kind>
void combineRow(T *total, const T *in, int64_t n) {
  TILEWRIGHT_VECTOR_LOOP
  for (int64_t i = 0; i < n; ++i)
    total[i] = support::reduceCombine<T>(Kind, total[i], in[i]);
}

/// Running results along a row (forwards or backwards) that go on from *total, or start afresh.
template <class T, ReduceKind Kind>
void scanRow(T *row, const T *in, int64_t n, int64_t step, bool start, T *total) {
  T running = *total;
  int64_t i = step > 0 ? 0 : n - 1;
  for (int64_t left = n; left > 0; --left, i += step) {
    T x = element<T, Kind>(in[i]);
    running = start ? x : support::reduceCombine<T>(Kind, running, x);
    start = false;
    row[i] = running;
  }
  *total = running;
}

template <class T, ReduceKind Kind>
ReduceRows<T> rowsOf() {
  T (*whole)(const T *, int64_t) = nullptr;
  if constexpr (std::is_floating_point_v<T> && Kind != ReduceKind::Prod && Kind < ReduceKind::And)
    whole = &wholeRow<T, Kind>;
  return {&addToLanes<T, Kind>,
          &joinLanes<T, Kind>,
          whole,
          &takeElements<T, Kind>,
          &combineRow<T, Kind>,
          &scanRow<T, Kind>,
          support::reduceIdentity<T>(Kind)};
}

template <class T>
ReduceRows<T> reduceRows(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Max:
    return rowsOf<T, ReduceKind::Max>();
  case ReduceKind::Min:
    return rowsOf<T, ReduceKind::Min>();
  case ReduceKind::AbsSum:
    return rowsOf<T, ReduceKind::AbsSum>();
  case ReduceKind::AbsMax:
    return rowsOf<T, ReduceKind::AbsMax>();
  case ReduceKind::Prod:
    return rowsOf<T, ReduceKind::Prod>();
  case ReduceKind::And:
    return rowsOf<T, ReduceKind::And>();
  case ReduceKind::Or:
    return rowsOf<T, ReduceKind::Or>();
  case ReduceKind::Xor:
    return rowsOf<T, ReduceKind::Xor>();
  case ReduceKind::Sum:
    break;
  }
  return rowsOf<T, ReduceKind::Sum>();
}

/// One Reduce. Results are made `width` at a time: a chunk of the last dim if that stays, one
/// otherwise. Reduced dims but the last are walked in order, one level of totals each.
template <class T>
class Reducer {
public:
  Reducer(const Job &job)
      : job(job), rows(reduceRows<T>(ReduceKind(job.fn))), last(job.rank - 1),
        from(job.operands[1].strides), to(job.operands[0].strides),
        source(job.operands[1], from[last]), sink(job.operands[0], to[last]),
        old(job.operands[0], to[last]) {}

  void run() {
    // Walk the dims that stay; the reduced ones are taken by total().
    Job outer = job;
    for (int d = 0; d < job.rank; ++d)
      if (job.reduced[d])
        outer.sizes[d] = 1;
    int64_t n = job.lastReduced ? 1 : job.sizes[last];
    forEachRow<2>(outer, [&](const int64_t *at) {
      for (int64_t i = 0; i < n; i += kChunk) {
        int64_t width = n - i < kChunk ? n - i : kChunk;
        result(at[0] + i * to[last], at[1] + i * from[last], width);
      }
    });
  }

private:
  void result(int64_t atOut, int64_t atIn, int64_t width) {
    alignas(64) T totals[kChunk];
    total(0, atIn, width, totals);
    if (job.flags & kAccumulate) {
      alignas(64) T buffer[kChunk], combined[kChunk];
      const T *before = old.row(atOut, width, buffer);
      for (int64_t i = 0; i < width; ++i)
        combined[i] = before[i];
      rows.combine(combined, totals, width);
      write(atOut, combined, width);
      return;
    }
    write(atOut, totals, width);
  }

  void write(int64_t atOut, const T *values, int64_t width) {
    alignas(64) T buffer[kChunk];
    T *out = sink.begin(atOut, buffer);
    for (int64_t i = 0; i < width; ++i)
      out[i] = values[i];
    sink.end(atOut, width, buffer);
  }

  /// Totals over the reduced dims from `dim` on.
  void total(int dim, int64_t atIn, int64_t width, T *totals) {
    while (dim < last && !job.reduced[dim])
      ++dim;
    if (dim == last) {
      if (job.lastReduced)
        totals[0] = lastDim(atIn);
      else
        rows.elements(totals, source.row(atIn, width, totals), width);
      return;
    }
    for (int64_t i = 0; i < width; ++i)
      totals[i] = rows.identity;
    alignas(64) T inner[kChunk];
    for (int64_t i = 0; i < job.sizes[dim]; ++i) {
      total(dim + 1, atIn + i * from[dim], width, inner);
      rows.combine(totals, inner, width);
    }
  }

  T lastDim(int64_t atIn) {
    alignas(64) T lanes[kReduceLanes], buffer[kChunk];
    static_assert(kChunk % kReduceLanes == 0);
    int64_t n = job.sizes[last];
    if (rows.whole && (source.isDirect() || n <= kChunk))
      return rows.whole(source.row(atIn, n, buffer), n);
    for (T &lane : lanes)
      lane = rows.identity;
    int64_t step = source.isDirect() ? n : kChunk;
    for (int64_t i = 0; i < n; i += step) {
      int64_t count = n - i < step ? n - i : step;
      rows.lanes(lanes, source.row(atIn + i * from[last], count, buffer), count);
    }
    return rows.join(lanes);
  }

  const Job &job;
  ReduceRows<T> rows;
  int last;
  const int64_t *from, *to;
  Source<T> source;
  Sink<T> sink;
  Source<T> old;
};

/// Scan along a dim other than the last: whole rows at a time.
template <class T>
void scanOuter(const Job &job, const ReduceRows<T> &rows) {
  int last = job.rank - 1, dim = job.scanDim;
  bool reverse = (job.flags & kReverse) != 0;
  const int64_t *to = job.operands[0].strides, *from = job.operands[1].strides;
  Source<T> source(job.operands[1], from[last]);
  Sink<T> sink(job.operands[0], to[last]);
  Job outer = job;
  outer.sizes[dim] = 1;
  int64_t n = job.sizes[last], length = job.sizes[dim];
  forEachRow<2>(outer, [&](const int64_t *at) {
    alignas(64) T totals[kChunk], buffer[kChunk], bufferOut[kChunk];
    for (int64_t i = 0; i < n; i += kChunk) {
      int64_t count = n - i < kChunk ? n - i : kChunk;
      for (int64_t step = 0; step < length; ++step) {
        int64_t k = reverse ? length - 1 - step : step;
        rows.elements(buffer, source.row(at[1] + i * from[last] + k * from[dim], count, buffer),
                      count);
        if (step == 0)
          __builtin_memcpy(totals, buffer, size_t(count) * sizeof(T));
        else
          rows.combine(totals, buffer, count);
        int64_t atOut = at[0] + i * to[last] + k * to[dim];
        T *out = sink.begin(atOut, bufferOut);
        for (int64_t j = 0; j < count; ++j)
          out[j] = totals[j];
        sink.end(atOut, count, bufferOut);
      }
    }
  });
}

/// Scan along the last dim, chunk after chunk.
template <class T>
void scanLast(const Job &job, const ReduceRows<T> &rows) {
  int last = job.rank - 1;
  bool reverse = (job.flags & kReverse) != 0;
  int64_t to = job.operands[0].strides[last], from = job.operands[1].strides[last];
  Source<T> source(job.operands[1], from);
  Sink<T> sink(job.operands[0], to);
  int64_t n = job.sizes[last], chunks = (n + kChunk - 1) / kChunk;
  forEachRow<2>(job, [&](const int64_t *at) {
    alignas(64) T buffer[kChunk], bufferOut[kChunk];
    T total = rows.identity;
    for (int64_t c = 0; c < chunks; ++c) {
      int64_t i = (reverse ? chunks - 1 - c : c) * kChunk;
      int64_t count = n - i < kChunk ? n - i : kChunk;
      T *out = sink.begin(at[0] + i * to, bufferOut);
      rows.scan(out, source.row(at[1] + i * from, count, buffer), count, reverse ? -1 : 1, c == 0,
                &total);
      sink.end(at[0] + i * to, count, bufferOut);
    }
  });
}

} // namespace

void runReduce(const Job &job) {
  Class c = widest(classOf(job.operands[0].type), classOf(job.operands[1].type));
  // And, Or and Xor on floats see truth values in support/Reduce.h; everything else is direct.
  withClass(c, [&]<class T>(T) {
    if (job.op == TileOp::Reduce) {
      Reducer<T>(job).run();
      return;
    }
    ReduceRows<T> rows = reduceRows<T>(ReduceKind(job.fn));
    if (job.scanDim == job.rank - 1)
      scanLast<T>(job, rows);
    else
      scanOuter<T>(job, rows);
  });
}

} // namespace tilewright::sim::TILEWRIGHT_ISA
