// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops over boxes. Each reads its source boxes into dense arrays, computes there, and writes the
// destination box: so sources are read before anything is written, whatever overlaps.

#include "tilewright/interp/Compute.h"
#include "tilewright/interp/Machine.h"
#include "tilewright/interp/Print.h"

#include <algorithm>
#include <cstring>

using namespace mlir;

namespace tilewright::interp {

namespace {

//===-- Boxes --------------------------------------------------------------------------------===//

/// A box with its run-time numbers.
struct BoxView {
  Buffer *buffer = nullptr;
  char *data = nullptr; ///< element 0 of the buffer, of the running lane's variable
  SmallVector<int64_t, 4> offsets, sizes;
  int64_t count = 1;

  Kind kind() const { return buffer->kind; }
};

/// All boxes of an op, and the slots of its other operands.
struct BoxOperands {
  SmallVector<BoxView, 3> boxes;
  ArrayRef<uint32_t> rest;
};

/// Finds buffers and numbers of the boxes and checks them: sizes are not negative, and boxes that
/// are not guarded lie inside their buffer. The operands are the buffers, all offsets, all sizes,
/// the rest.
bool resolve(Machine &m, const Node &node, BoxOperands &operands) {
  constexpr int64_t kMaxElements = int64_t(1) << 30, kFar = int64_t(1) << 60;
  size_t numBuffers = cast<AccessInterface>(node.op).getNumBoxes(), ranks = 0;
  for (size_t i = 0; i < numBuffers; ++i) {
    BoxView &box = operands.boxes.emplace_back();
    box.buffer = &m.buffer(node.operands[i]);
    box.data = box.buffer->data + (box.buffer->lanes ? m.lane * byteSize(box.kind()) : 0);
    ranks += box.buffer->shape.size();
  }
  const uint32_t *offset = node.operands.data() + numBuffers, *size = offset + ranks;
  operands.rest = ArrayRef(node.operands).drop_front(numBuffers + 2 * ranks);
  for (BoxView &box : operands.boxes) {
    for (size_t dim = 0; dim < box.buffer->shape.size(); ++dim) {
      box.offsets.push_back(std::clamp(m.integer(*offset++), -kFar, kFar));
      box.sizes.push_back(m.integer(*size++));
      if (box.sizes.back() < 0) {
        m.fail(node, "E0901: a box of " + describe(*box.buffer) + " has size " +
                         Twine(box.sizes.back()) + " in dimension " + Twine(dim));
        return false;
      }
      if (__builtin_mul_overflow(box.count, box.sizes.back(), &box.count) ||
          box.count > kMaxElements || !m.canHold(box.count * int64_t(sizeof(double)))) {
        m.fail(node,
               "E0901: a box of " + describe(*box.buffer) + " is too large: " + textOf(box.sizes));
        return false;
      }
    }
    if (box.buffer->isGuarded() || box.count == 0)
      continue;
    for (size_t dim = 0; dim < box.sizes.size(); ++dim)
      if (box.offsets[dim] < 0 || box.offsets[dim] > box.buffer->shape[dim] - box.sizes[dim]) {
        m.fail(node, "E0901: the box at " + textOf(box.offsets) + " of size " + textOf(box.sizes) +
                         " reaches outside " + describe(*box.buffer));
        return false;
      }
  }
  return true;
}

/// Calls `row(dense, data, count, clippedBefore)` for each row of the box: `dense` is the number of
/// its first element in the box, `data` the element number in the buffer (of the first one inside),
/// `count` how many are inside; `count` 0 for rows that lie outside.
template <class Row>
void forEachRow(const BoxView &box, Row row) {
  if (box.count == 0)
    return;
  size_t rank = box.sizes.size();
  if (rank == 0)
    return row(0, 0, 1, 0);
  const Buffer &buffer = *box.buffer;
  int64_t length = box.sizes[rank - 1], last = box.offsets[rank - 1];
  int64_t low = std::clamp<int64_t>(-last, 0, length);
  int64_t high = std::clamp<int64_t>(buffer.shape[rank - 1] - last, low, length);
  SmallVector<int64_t, 4> index(rank, 0);
  for (int64_t dense = 0; dense < box.count; dense += length) {
    int64_t data = last + low;
    bool inside = true;
    for (size_t dim = 0; dim + 1 < rank; ++dim) {
      int64_t at = box.offsets[dim] + index[dim];
      inside &= at >= 0 && at < buffer.shape[dim];
      data += at * buffer.strides[dim];
    }
    row(dense, inside ? data : 0, inside ? high - low : 0, low);
    for (size_t dim = rank - 1; dim-- > 0 && ++index[dim] == box.sizes[dim];)
      index[dim] = 0;
  }
}

/// Repeats the first element of `data` over `count` elements.
void splat(char *data, unsigned bytes, int64_t count) {
  for (int64_t filled = 1; filled < count; filled *= 2)
    std::memcpy(data + filled * bytes, data, std::min(filled, count - filled) * bytes);
}

/// The elements of a box, dense and row-major, in scratch memory `index`. Points outside are 0 or
/// `pad`.
char *readBox(Machine &m, unsigned index, const BoxView &box,
              std::optional<double> pad = std::nullopt) {
  unsigned bytes = byteSize(box.kind());
  char *dense = m.scratch(index, box.count * bytes);
  char padding[8] = {};
  if (pad) {
    Kind kind = Kind::F64;
    convertArray(kind, reinterpret_cast<const char *>(&*pad), box.kind(), padding, 1,
                 copyRounding(kind, box.kind()));
  }
  forEachRow(box, [&](int64_t first, int64_t data, int64_t count, int64_t before) {
    int64_t length = box.sizes.empty() ? 1 : box.sizes.back();
    char *row = dense + first * bytes;
    if (count < length) {
      std::memcpy(row, padding, bytes);
      splat(row, bytes, length);
    }
    std::memcpy(row + before * bytes, box.data + data * bytes, count * bytes);
  });
  return dense;
}

/// Writes dense elements of the buffer's kind; points outside are dropped.
void writeBox(const BoxView &box, const char *dense) {
  unsigned bytes = byteSize(box.kind());
  forEachRow(box, [&](int64_t first, int64_t data, int64_t count, int64_t before) {
    std::memcpy(box.data + data * bytes, dense + (first + before) * bytes, count * bytes);
  });
}

/// Dense elements converted to `kind`, in scratch memory `index`, or as they are.
char *converted(Machine &m, unsigned index, Kind from, char *dense, Kind to, int64_t count,
                support::Rounding mode) {
  if (from == to)
    return dense;
  char *result = m.scratch(index, count * byteSize(to));
  convertArray(from, dense, to, result, count, mode);
  return result;
}
char *converted(Machine &m, unsigned index, Kind from, char *dense, Kind to, int64_t count) {
  return converted(m, index, from, dense, to, count, copyRounding(from, to));
}

/// The kind that arithmetic on elements of `kind` uses.
Kind computeKind(Kind kind) { return isFloat(kind) && kind < Kind::F32 ? Kind::F32 : kind; }

/// The kind in which elements of two kinds meet: both floats or both integers; the wider.
std::optional<Kind> commonKind(Kind a, Kind b) {
  if (isFloat(a) != isFloat(b))
    return std::nullopt;
  a = computeKind(a), b = computeKind(b);
  return byteSize(a) >= byteSize(b) ? a : b;
}

/// Calls `body(Tag<T>())` with the type that arithmetic on `kind` uses; i1 is a uint8_t of 0 or 1.
template <class Body>
decltype(auto) dispatchCompute(Kind kind, Body &&body) {
  return dispatch(kind, [&](auto tag) {
    return body(Tag<typename ComputeOf<typename decltype(tag)::Type>::Type>());
  });
}
Kind storedAs(Kind kind) { return kind == Kind::I1 ? Kind::U8 : kind; }

support::ReduceKind supportKind(ReduceKind kind) { return static_cast<support::ReduceKind>(kind); }
static_assert(static_cast<int>(ReduceKind::Xor) == static_cast<int>(support::ReduceKind::Xor));
support::Rounding supportRounding(Round round) { return static_cast<support::Rounding>(round); }
static_assert(static_cast<int>(Round::Odd) == static_cast<int>(support::Rounding::Odd));

Kind kindOfOperand(const Node &node, size_t operand) {
  return *kindOf(node.op->getOperand(operand).getType());
}

//===-- Copy, fill, iota, gather -------------------------------------------------------------===//

void runCopy(Machine &m, const Node &node, const BoxOperands &operands) {
  const BoxView &to = operands.boxes[0], &from = operands.boxes[1];
  if (to.count != from.count)
    return m.fail(node, "a copy of a box of size " + textOf(from.sizes) + " to one of size " +
                            textOf(to.sizes));
  std::optional<double> pad;
  if (auto attribute = cast<tile::CopyOp>(node.op).getPad())
    pad = attribute->convertToDouble();
  if (!m.charge(node, to.count))
    return;
  char *dense = readBox(m, 0, from, pad);
  Kind kind = from.kind();
  if (cast<tile::CopyOp>(node.op).getRelu()) {
    Kind wide = computeKind(kind);
    dense = converted(m, 1, kind, dense, wide, from.count);
    kind = wide;
    dispatchCompute(kind, [&](auto tag) {
      auto *values = reinterpret_cast<typename decltype(tag)::Type *>(dense);
      std::transform(values, values + from.count, values, [](auto x) { return support::relu(x); });
    });
  }
  if (auto scale = cast<tile::CopyOp>(node.op).getScale()) {
    float factor = scale->convertToFloat();
    auto *values = reinterpret_cast<int32_t *>(dense);
    std::transform(values, values + from.count, values,
                   [&](int32_t x) { return support::quantised(x, factor); });
  }
  writeBox(to, converted(m, 2, kind, dense, to.kind(), to.count));
}

void runFill(Machine &m, const Node &node, const BoxOperands &operands) {
  const BoxView &to = operands.boxes[0];
  if (!m.charge(node, to.count))
    return;
  char *dense = m.scratch(0, to.count * byteSize(to.kind()));
  storeElement(to.kind(), dense, 0, m.get(operands.rest[0]));
  splat(dense, byteSize(to.kind()), to.count);
  writeBox(to, dense);
}

void runIota(Machine &m, const Node &node, const BoxOperands &operands) {
  const BoxView &to = operands.boxes[0];
  if (!m.charge(node, to.count))
    return;
  auto *dense = reinterpret_cast<int64_t *>(m.scratch(0, to.count * 8));
  int64_t start = m.integer(operands.rest[0]);
  for (int64_t point = 0; point < to.count; ++point) {
    int64_t value = start;
    for (size_t dim = to.sizes.size(), rest = point; dim-- > 0; rest /= to.sizes[dim])
      value = support::addWrap(value, support::mulWrap(m.integer(operands.rest[1 + dim]),
                                                       int64_t(rest % to.sizes[dim])));
    dense[point] = value;
  }
  writeBox(to, converted(m, 1, Kind::I64, reinterpret_cast<char *>(dense), to.kind(), to.count));
}

void runGather(Machine &m, const Node &node, const BoxOperands &operands) {
  const BoxView &to = operands.boxes[0], &from = operands.boxes[1], &index = operands.boxes[2];
  int64_t columns = to.sizes.empty() ? 1 : to.sizes.back(),
          sources = from.sizes.empty() ? 1 : from.sizes.back();
  int64_t rows = columns ? to.count / columns : 0;
  if (index.count != to.count || (to.count && from.count != rows * sources))
    return m.fail(node, "gather: sizes " + textOf(to.sizes) + " of the destination, " +
                            textOf(from.sizes) + " of the source and " + textOf(index.sizes) +
                            " of the indices do not agree");
  if (isFloat(index.kind()))
    return m.fail(node, "gather: indices of type " + Twine(nameOf(index.kind())));
  if (!m.charge(node, to.count))
    return;
  unsigned bytes = byteSize(from.kind());
  char *table = readBox(m, 0, from);
  auto *indices = reinterpret_cast<int64_t *>(
      converted(m, 2, index.kind(), readBox(m, 1, index), Kind::I64, index.count));
  char *dense = m.scratch(3, to.count * bytes);
  for (int64_t point = 0; point < to.count; ++point) {
    int64_t at = indices[point];
    if (at >= 0 && at < sources) {
      std::memcpy(dense + point * bytes, table + (point / columns * sources + at) * bytes, bytes);
    } else if (from.buffer->isGuarded()) {
      std::memset(dense + point * bytes, 0, bytes);
    } else {
      return m.fail(node, "E0901: gather: index " + Twine(at) + " is outside a source row of " +
                              Twine(sources) + " elements");
    }
  }
  writeBox(to, converted(m, 4, from.kind(), dense, to.kind(), to.count));
}

//===-- Gemm ---------------------------------------------------------------------------------===//

/// Rows and columns of a matrix box: its last two sizes.
std::pair<int64_t, int64_t> matrixOf(const BoxView &box) {
  size_t rank = box.sizes.size();
  return rank < 2 ? std::make_pair<int64_t, int64_t>(0, 0)
                  : std::make_pair(box.sizes[rank - 2], box.sizes[rank - 1]);
}

/// The operand as a row-major `rows` x `columns` matrix of T, in scratch memory `index` or the
/// next.
template <class T>
T *readMatrix(Machine &m, unsigned index, const BoxView &box, Kind kind, bool transpose) {
  char *dense = converted(m, index + 1, box.kind(), readBox(m, index, box), kind, box.count);
  if (!transpose)
    return reinterpret_cast<T *>(dense);
  auto [columns, rows] = matrixOf(box);
  unsigned other = box.kind() == kind ? index + 1 : index;
  T *result = reinterpret_cast<T *>(m.scratch(other, box.count * sizeof(T)));
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t row = 0; row < rows; ++row)
      result[row * columns + column] = reinterpret_cast<T *>(dense)[column * rows + row];
  return result;
}

template <class T>
void gemm(Machine &m, const BoxOperands &operands, tile::GemmOp op, Kind kind, bool init,
          int64_t k) {
  const BoxView &c = operands.boxes[0];
  T *a = readMatrix<T>(m, 0, operands.boxes[1], kind, op.getTransposeA());
  T *b = readMatrix<T>(m, 2, operands.boxes[2], kind, op.getTransposeB());
  T *acc;
  if (init) {
    acc = reinterpret_cast<T *>(m.scratch(4, c.count * sizeof(T)));
    std::fill_n(acc, c.count, T(0));
  } else {
    acc = reinterpret_cast<T *>(converted(m, 5, c.kind(), readBox(m, 4, c), kind, c.count));
  }
  auto [rows, columns] = matrixOf(c);
  computeGemm(acc, a, b, rows, columns, k);
  unsigned target = reinterpret_cast<char *>(acc) == m.scratch(4, 0) ? 5 : 4;
  writeBox(c, converted(m, target, kind, reinterpret_cast<char *>(acc), c.kind(), c.count));
}

void runGemm(Machine &m, const Node &node, const BoxOperands &operands) {
  auto op = cast<tile::GemmOp>(node.op);
  auto a = matrixOf(operands.boxes[1]), b = matrixOf(operands.boxes[2]),
       c = matrixOf(operands.boxes[0]);
  if (op.getTransposeA())
    std::swap(a.first, a.second);
  if (op.getTransposeB())
    std::swap(b.first, b.second);
  if (a.first != c.first || b.second != c.second || a.second != b.first ||
      operands.boxes[0].count != c.first * c.second)
    return m.fail(node, "gemm: C is " + textOf({c.first, c.second}) + ", A is " +
                            textOf({a.first, a.second}) + ", B is " + textOf({b.first, b.second}));
  bool init = !operands.rest.empty() && m.integer(operands.rest[0]) != 0;
  if (!m.charge(node, c.first * c.second * (a.second + 1)))
    return;
  Kind kind = operands.boxes[0].kind();
  if (kind == Kind::F64)
    return gemm<double>(m, operands, op, kind, init, a.second);
  if (isFloat(kind))
    return gemm<float>(m, operands, op, Kind::F32, init, a.second);
  gemm<int32_t>(m, operands, op, Kind::I32, init, a.second);
}

//===-- Reductions ---------------------------------------------------------------------------===//

/// Reduces dense elements of T over the dimensions in `reduced`; results in row-major order.
template <class T>
void reduceDense(support::ReduceKind kind, const T *in, T *out, ArrayRef<int64_t> sizes,
                 ArrayRef<bool> reduced, int64_t results) {
  int rank = sizes.size();
  SmallVector<int64_t, 4> strides(rank, 1), index(rank, 0);
  for (int dim = rank - 1; dim-- > 0;)
    strides[dim] = strides[dim + 1] * sizes[dim + 1];
  bool rowsOnly = rank > 0 && reduced.back() && llvm::count(reduced, true) == 1;
  if (rowsOnly)
    return reduceRows(kind, in, out, results, sizes.back());
  for (int64_t result = 0; result < results; ++result) {
    int64_t rest = result;
    for (int dim = rank; dim-- > 0;)
      if (!reduced[dim]) {
        index[dim] = rest % sizes[dim];
        rest /= sizes[dim];
      }
    out[result] = support::reduceBox<T>(kind, rank, sizes.data(), reduced.data(), index.data(),
                                        [&](const int64_t *at) {
                                          int64_t offset = 0;
                                          for (int dim = 0; dim < rank; ++dim)
                                            offset += at[dim] * strides[dim];
                                          return in[offset];
                                        });
  }
}

void runReduce(Machine &m, const Node &node, const BoxOperands &operands) {
  auto op = cast<tile::ReduceOp>(node.op);
  const BoxView &to = operands.boxes[0], &from = operands.boxes[1];
  SmallVector<bool, 4> reduced(from.sizes.size(), false);
  for (int64_t dim : op.getDims())
    reduced[dim] = true;
  int64_t kept = 1;
  for (size_t dim = 0; dim < reduced.size(); ++dim)
    kept *= reduced[dim] ? 1 : from.sizes[dim];
  std::optional<Kind> kind = commonKind(from.kind(), to.kind());
  if (kept != to.count)
    return m.fail(node, "reduce: " + Twine(kept) + " results for a destination of size " +
                            textOf(to.sizes));
  if (!kind)
    return m.fail(node,
                  "reduce: " + Twine(nameOf(from.kind())) + " elements into " + nameOf(to.kind()));
  if (!m.charge(node, from.count + to.count))
    return;
  Kind work = storedAs(*kind);
  char *in = converted(m, 1, from.kind(), readBox(m, 0, from), work, from.count);
  char *out = m.scratch(2, to.count * byteSize(work));
  char *old =
      op.getAccumulate() ? converted(m, 4, to.kind(), readBox(m, 3, to), work, to.count) : nullptr;
  support::ReduceKind how = supportKind(op.getKind());
  dispatchCompute(work, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    auto *result = reinterpret_cast<T *>(out);
    reduceDense(how, reinterpret_cast<const T *>(in), result, from.sizes, reduced, to.count);
    for (int64_t i = 0; old && i < to.count; ++i)
      result[i] = support::reduceCombine(how, reinterpret_cast<const T *>(old)[i], result[i]);
  });
  writeBox(to, converted(m, 5, work, out, to.kind(), to.count));
}

void runScan(Machine &m, const Node &node, const BoxOperands &operands) {
  auto op = cast<tile::ScanOp>(node.op);
  const BoxView &to = operands.boxes[0], &from = operands.boxes[1];
  std::optional<Kind> kind = commonKind(from.kind(), to.kind());
  if (to.count != from.count || !kind)
    return m.fail(node, "scan: a source of size " + textOf(from.sizes) + " and type " +
                            nameOf(from.kind()) + ", a destination of size " + textOf(to.sizes) +
                            " and type " + nameOf(to.kind()));
  if (!m.charge(node, to.count))
    return;
  int64_t length = from.sizes[op.getDim()], stride = 1;
  for (size_t dim = op.getDim() + 1; dim < from.sizes.size(); ++dim)
    stride *= from.sizes[dim];
  Kind work = storedAs(*kind);
  char *dense = converted(m, 1, from.kind(), readBox(m, 0, from), work, from.count);
  support::ReduceKind how = supportKind(op.getKind());
  bool reverse = op.getReverse();
  dispatchCompute(work, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    auto *elements = reinterpret_cast<T *>(dense);
    for (int64_t line = 0; length && line < from.count / length; ++line) {
      T *start = elements + line / stride * stride * length + line % stride;
      T total{};
      for (int64_t i = 0; i < length; ++i) {
        T &element = start[(reverse ? length - 1 - i : i) * stride];
        T value = support::reduceElement(how, element);
        total = i ? support::reduceCombine(how, total, value) : value;
        element = total;
      }
    }
  });
  writeBox(to, converted(m, 2, work, dense, to.kind(), to.count));
}

/// Sets the result of an op for the lane that runs it.
void setResult(Machine &m, const Node &node, Scalar value) {
  Slot &slot = m.slot(node.results[0]);
  if (m.lanes)
    slot.makeVarying(m.lanes->count)[m.lane] = value;
  else
    slot.set(value);
}

void runAtomic(Machine &m, const Node &node, const BoxOperands &operands) {
  const BoxView &to = operands.boxes[0];
  bool fromBox = operands.boxes.size() > 1;
  Kind fromKind =
      fromBox ? operands.boxes[1].kind() : kindOfOperand(node, node.operands.size() - 1);
  if (fromBox && operands.boxes[1].count != to.count)
    return m.fail(node, "atomic: a source of size " + textOf(operands.boxes[1].sizes) +
                            " for a destination of size " + textOf(to.sizes));
  if (!m.charge(node, to.count))
    return;
  char *source;
  if (fromBox) {
    source = readBox(m, 0, operands.boxes[1]);
  } else {
    source = m.scratch(0, to.count * byteSize(fromKind));
    storeElement(fromKind, source, 0, m.get(operands.rest[0]));
    splat(source, byteSize(fromKind), to.count);
  }
  Kind work = storedAs(computeKind(to.kind()));
  source = converted(m, 1, fromKind, source, work, to.count);
  char *before = readBox(m, 2, to);
  if (!node.results.empty())
    setResult(m, node, loadElement(to.kind(), before, 0));
  char *old = converted(m, 3, to.kind(), before, work, to.count);
  support::ReduceKind how = supportKind(cast<tile::AtomicOp>(node.op).getKind());
  dispatchCompute(work, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    auto *result = reinterpret_cast<T *>(old);
    for (int64_t i = 0; i < to.count; ++i)
      result[i] = support::reduceCombine(
          how, result[i], support::reduceElement(how, reinterpret_cast<const T *>(source)[i]));
  });
  writeBox(to, converted(m, 4, work, old, to.kind(), to.count));
}

//===-- Element by element --------------------------------------------------------------------===//

/// An operand over the points of the destination box: dense elements and a step per dimension.
struct Operand {
  Kind kind;
  char *dense;
  SmallVector<int64_t, 4> strides;
};

/// Scratch memories of an element-wise op: up to three operands as read, spread and converted.
enum Memory : unsigned { kRead = 0, kSpread = 3, kConverted = 6, kResult = 9, kWritten = 10 };

/// Strides of a box operand along the dimensions of the destination, 0 where it broadcasts.
bool followMap(const BoxView &to, ArrayRef<int64_t> toMap, const BoxView &box,
               ArrayRef<int64_t> map, bool explicitMap, SmallVectorImpl<int64_t> &strides) {
  strides.assign(to.sizes.size(), 0);
  int64_t stride = 1;
  for (size_t dim = box.sizes.size(); dim-- > 0; stride *= box.sizes[dim]) {
    const int64_t *target = map[dim] < 0 ? toMap.end() : llvm::find(toMap, map[dim]);
    bool broadcasts = target == toMap.end();
    int64_t extent = broadcasts ? 1 : to.sizes[target - toMap.begin()];
    if (box.sizes[dim] == extent && !broadcasts)
      strides[target - toMap.begin()] += stride;
    else if (box.sizes[dim] != extent && (explicitMap || box.sizes[dim] != 1))
      return false;
  }
  return true;
}

/// The operand's elements spread over the points of the destination, in scratch memory `index`
/// unless they lie so already.
char *spreadOperand(Machine &m, unsigned index, const Operand &operand, ArrayRef<int64_t> sizes,
                    int64_t count) {
  bool dense = true;
  int64_t expected = 1;
  for (size_t dim = sizes.size(); dim-- > 0; expected *= sizes[dim])
    dense &= sizes[dim] == 1 || operand.strides[dim] == expected;
  if (dense)
    return operand.dense;
  return dispatch(operand.kind, [&](auto tag) {
    using S = typename decltype(tag)::Type;
    auto *from = reinterpret_cast<const S *>(operand.dense);
    auto *to = reinterpret_cast<S *>(m.scratch(index, count * sizeof(S)));
    size_t rank = sizes.size();
    int64_t length = rank ? sizes[rank - 1] : 1, step = rank ? operand.strides[rank - 1] : 0;
    SmallVector<int64_t, 4> at(rank, 0);
    for (int64_t point = 0; point < count; point += length) {
      int64_t base = 0;
      for (size_t dim = 0; dim + 1 < rank; ++dim)
        base += at[dim] * operand.strides[dim];
      for (int64_t i = 0; i < length; ++i)
        to[point + i] = from[base + i * step];
      for (size_t dim = rank ? rank - 1 : 0; dim-- > 0 && ++at[dim] == sizes[dim];)
        at[dim] = 0;
    }
    return reinterpret_cast<char *>(to);
  });
}

/// Computes fn over dense operands of one kind; the kind of the result goes to `resultKind`. Null
/// if fn has no meaning for that kind.
char *computeElementwise(Machine &m, Fn fn, Kind kind, ArrayRef<char *> operands, int64_t count,
                         Kind &resultKind) {
  return dispatchCompute(kind, [&](auto tag) -> char * {
    using T = typename decltype(tag)::Type;
    auto *a = reinterpret_cast<const T *>(operands[0]);
    auto *b = reinterpret_cast<const T *>(operands.back());
    char *out = m.scratch(kResult, count * sizeof(T));
    auto *result = reinterpret_cast<T *>(out);
    if (isTest(fn)) {
      resultKind = Kind::I1;
      return computeTest(fn, a, b, reinterpret_cast<uint8_t *>(out), count) ? out : nullptr;
    }
    resultKind = storedAs(kind);
    if (fn == Fn::Not && kind == Kind::I1) {
      for (int64_t i = 0; i < count; ++i)
        result[i] = a[i] == T(0);
      return out;
    }
    bool known = operands.size() == 1 ? computeUnary(fn, a, result, count)
                                      : computeBinary(fn, a, b, result, count);
    return known ? out : nullptr;
  });
}

char *computeSelect(Machine &m, Kind kind, ArrayRef<char *> operands, int64_t count) {
  auto *condition = reinterpret_cast<const uint8_t *>(operands[0]);
  return dispatch(kind, [&](auto tag) {
    using S = typename decltype(tag)::Type;
    auto *a = reinterpret_cast<const S *>(operands[1]);
    auto *b = reinterpret_cast<const S *>(operands[2]);
    auto *out = reinterpret_cast<S *>(m.scratch(kResult, count * sizeof(S)));
    for (int64_t i = 0; i < count; ++i)
      out[i] = condition[i] ? a[i] : b[i];
    return reinterpret_cast<char *>(out);
  });
}

/// Reads the operands in the order of the function, the scalar among them; false after a failure.
bool readOperands(Machine &m, const Node &node, const BoxOperands &operands, char *scalar,
                  SmallVectorImpl<Operand> &sources) {
  auto op = cast<tile::ElementwiseOp>(node.op);
  const BoxView &to = operands.boxes[0];
  SmallVector<int64_t> toMap = op.getMap(0);
  for (size_t i = 1; i < operands.boxes.size(); ++i) {
    const BoxView &box = operands.boxes[i];
    Operand source{box.kind(), nullptr, {}};
    if (!followMap(to, toMap, box, op.getMap(i), op.getMaps().has_value(), source.strides)) {
      m.fail(node, stringifyFn(op.getFn()) + ": an operand of size " + textOf(box.sizes) +
                       " for a destination of size " + textOf(to.sizes));
      return false;
    }
    source.dense = readBox(m, kRead + sources.size(), box);
    sources.push_back(std::move(source));
  }
  if (!op.getScalar())
    return true;
  Operand source{kindOfOperand(node, node.operands.size() - 1), scalar,
                 SmallVector<int64_t, 4>(to.sizes.size(), 0)};
  storeElement(source.kind, scalar, 0, m.get(operands.rest[0]));
  sources.insert(op.getScalarFirst() ? sources.begin() : sources.end(), std::move(source));
  return true;
}

/// The kind to work in: that of the values (for select: of its branches). An integer scalar is
/// signless and takes the kind of the boxes. None if floats and integers meet.
std::optional<Kind> workKind(ArrayRef<Operand> values, const char *scalar) {
  std::optional<Kind> kind;
  for (const Operand &value : values)
    if (value.dense != scalar || isFloat(value.kind) || values.size() == 1) {
      kind = commonKind(kind.value_or(value.kind), value.kind);
      if (!kind)
        return std::nullopt;
    }
  bool mixed =
      llvm::any_of(values, [&](const Operand &v) { return isFloat(v.kind) != isFloat(*kind); });
  return mixed ? std::nullopt : kind;
}

void runElementwise(Machine &m, const Node &node, const BoxOperands &operands) {
  auto op = cast<tile::ElementwiseOp>(node.op);
  const BoxView &to = operands.boxes[0];
  Fn fn = op.getFn();
  char scalar[8];
  SmallVector<Operand, 3> sources;
  if (!m.charge(node, to.count) || !readOperands(m, node, operands, scalar, sources) ||
      to.count == 0)
    return;

  if (fn == Fn::Bitcast) // elements of the same width
    return writeBox(to, spreadOperand(m, kSpread, sources[0], to.sizes, to.count));
  size_t firstValue = fn == Fn::Select ? 1 : 0;
  if (firstValue && sources[0].kind != Kind::I1)
    return m.fail(node, "select: a condition of type " + Twine(nameOf(sources[0].kind)));
  std::optional<Kind> work = workKind(ArrayRef(sources).drop_front(firstValue), scalar);
  if (!work)
    return m.fail(node, stringifyFn(fn) + ": operands of float and integer type");
  SmallVector<char *, 3> dense;
  for (size_t i = 0; i < sources.size(); ++i) {
    char *spread = spreadOperand(m, kSpread + i, sources[i], to.sizes, to.count);
    Kind wanted = i < firstValue ? Kind::I1 : *work;
    dense.push_back(converted(m, kConverted + i, sources[i].kind, spread, wanted, to.count));
  }

  Kind resultKind = *work;
  char *result = dense[0];
  if (fn == Fn::Select)
    result = computeSelect(m, *work, dense, to.count);
  else if (fn != Fn::Copy && fn != Fn::Cast)
    result = computeElementwise(m, fn, *work, dense, to.count, resultKind);
  if (!result)
    return m.fail(node, stringifyFn(fn) + " has no meaning for " + nameOf(*work) + " elements");
  support::Rounding mode =
      fn == Fn::Cast ? supportRounding(op.getRound()) : copyRounding(resultKind, to.kind());
  writeBox(to, converted(m, kWritten, resultKind, result, to.kind(), to.count, mode));
}

//===-- Print --------------------------------------------------------------------------------===//

void runPrint(Machine &m, const Node &node, const BoxOperands &operands) {
  StringRef message = cast<tile::PrintOp>(node.op).getMessage();
  std::string &out = m.outcome.printed;
  bool isPlain = operands.boxes.empty() && operands.rest.empty();
  out += message.str();
  if (!message.empty() && !isPlain)
    out += ": ";
  if (!operands.boxes.empty()) {
    const BoxView &box = operands.boxes[0];
    if (!m.charge(node, box.count))
      return;
    out += tensorText(box.kind(), readBox(m, 0, box), box.sizes);
  } else if (!operands.rest.empty()) {
    out += scalarText(kindOfOperand(node, node.operands.size() - 1), m.get(operands.rest[0]));
  }
  out += '\n';
}

/// Runs a box op once, or inside tile.parallel once per lane that takes part, in order.
template <void (*Run)(Machine &, const Node &, const BoxOperands &)>
void boxOp(Machine &m, const Node &node) {
  auto runOnce = [&] {
    BoxOperands operands;
    if (resolve(m, node, operands))
      Run(m, node, operands);
  };
  if (!m.lanes)
    return runOnce();
  for (int64_t lane = 0; lane < m.lanes->count && !m.failed(); ++lane) {
    m.lane = lane;
    if (m.lanes->mask[lane])
      runOnce();
  }
  m.lane = 0;
}

} // namespace

ArrayRef<HandlerEntry> boxHandlers() {
  static const HandlerEntry kEntries[] = {
      {"tile.copy", boxOp<runCopy>},     {"tile.fill", boxOp<runFill>},
      {"tile.gemm", boxOp<runGemm>},     {"tile.reduce", boxOp<runReduce>},
      {"tile.scan", boxOp<runScan>},     {"tile.elementwise", boxOp<runElementwise>},
      {"tile.iota", boxOp<runIota>},     {"tile.gather", boxOp<runGather>},
      {"tile.atomic", boxOp<runAtomic>}, {"tile.print", boxOp<runPrint>},
  };
  return kEntries;
}

} // namespace tilewright::interp
