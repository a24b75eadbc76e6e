// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which box an operand of a tile operation names, and how two boxes are matched.
#include "tilewright/builder/BuilderImpl.h"

using namespace mlir;

namespace tilewright::builder {

//===-- Regions
//----------------------------------------------------------------------------------===//

Operand KernelBuilder::region(const Buffer &buffer, const std::vector<Value> &starts,
                              const std::vector<std::optional<Value>> &stops,
                              const std::vector<bool> &scalars) {
  Impl &b = *impl;
  if (starts.size() != buffer.shape.size())
    fail("E0305: " + b.describe(buffer) + " has " + llvm::Twine(buffer.shape.size()) +
         " dimensions, found " + llvm::Twine(starts.size()) + " indices");
  Operand operand;
  operand.buffer = buffer;
  operand.kind = Operand::Kind::Region;
  operand.scalars = scalars;
  bool global = b.scopeOf(buffer) == tile::Scope::Global;
  for (size_t dim = 0; dim < starts.size(); ++dim) {
    auto fromEnd = [&](Value value) {
      auto constant = constantInteger(value);
      if (!constant)
        return value;
      Value number = Value::number(*constant);
      return *constant < 0 ? b.binary("add", b.extent(buffer, dim), number) : number;
    };
    Value start = fromEnd(starts[dim]);
    Value stop = stops[dim] ? fromEnd(*stops[dim]) : scalars[dim] ? start : b.extent(buffer, dim);
    Value size = scalars[dim] ? Value::number(int64_t(1)) : b.difference(stop, start);
    auto constant = constantInteger(size);
    if (constant && *constant < 0)
      fail("E0307: slice of dimension " + llvm::Twine(dim) + " of " + b.describe(buffer) +
           " ends " + llvm::Twine(-*constant) +
           " before it starts; write start:stop with start <= stop");
    if (constant && !global && *constant > buffer.shape[dim])
      fail("E0308: slice of dimension " + llvm::Twine(dim) + " of " + b.describe(buffer) + " has " +
           llvm::Twine(*constant) + " elements, the tile has " + llvm::Twine(buffer.shape[dim]));
    operand.starts.push_back(start);
    operand.sizes.push_back(size);
  }
  return operand;
}

ResolvedBox KernelBuilder::Impl::whole(const Buffer &buffer) {
  ResolvedBox box{buffer, {}, {}};
  for (size_t dim = 0; dim < buffer.shape.size(); ++dim) {
    box.offsets.push_back(Value::number(int64_t(0)));
    box.sizes.push_back(extent(buffer, dim));
  }
  return box;
}

/// A whole buffer or region; corners are single elements.
ResolvedBox KernelBuilder::Impl::resolve(const Operand &operand, const llvm::Twine &what) {
  if (operand.kind == Operand::Kind::Whole)
    return whole(operand.buffer);
  ResolvedBox box{operand.buffer, operand.starts, operand.sizes};
  if (operand.kind == Operand::Kind::Corner)
    box.sizes.assign(box.offsets.size(), Value::number(int64_t(1)));
  return box;
}

//===-- Matching
//---------------------------------------------------------------------------------===//

static bool isOne(const Value &size) { return constantInteger(size) == std::optional<int64_t>(1); }

/// Positions of the dimensions whose size is not the constant 1.
static SmallVector<size_t> kept(ArrayRef<Value> sizes) {
  SmallVector<size_t> result;
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    if (!isOne(sizes[dim]))
      result.push_back(dim);
  return result;
}

static std::string squeezedText(ArrayRef<Value> sizes) {
  std::vector<Value> result;
  for (size_t dim : kept(sizes))
    result.push_back(sizes[dim]);
  return text(result);
}

/// Sizes that leave the last dimensions of a whole tile, as 16 does in a column of 16 x 1, are laid
/// on its dimensions that are not 1.
static void spreadOver(const Buffer &tile, std::vector<Value> &sizes) {
  auto fits = [&](size_t dim, const Value &size) {
    auto constant = constantInteger(size);
    return !constant || tile.shape[dim] < 0 || *constant <= tile.shape[dim];
  };
  bool inside = true;
  std::vector<size_t> wide;
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    inside &= fits(dim, sizes[dim]);
    if (tile.shape[dim] != 1)
      wide.push_back(dim);
  }
  std::vector<Value> squeezed;
  for (size_t dim : kept(sizes))
    squeezed.push_back(sizes[dim]);
  if (inside || squeezed.size() > wide.size())
    return;
  std::vector<Value> spread(sizes.size(), Value::number(int64_t(1)));
  for (size_t back = 1; back <= squeezed.size(); ++back) {
    size_t dim = wide[wide.size() - back];
    if (!fits(dim, squeezed[squeezed.size() - back]))
      return;
    spread[dim] = squeezed[squeezed.size() - back];
  }
  sizes = spread;
}

/// The box that starts at a corner (or at 0) and has `sizes` on its last dimensions.
static ResolvedBox trailing(KernelBuilder::Impl &b, const Operand &operand, ArrayRef<Value> sizes,
                            const llvm::Twine &what) {
  ResolvedBox box{operand.buffer, operand.starts, {}};
  size_t rank = operand.buffer.shape.size();
  if (box.offsets.empty())
    box.offsets.assign(rank, Value::number(int64_t(0)));
  std::vector<Value> wanted(sizes.begin(), sizes.end());
  while (wanted.size() > rank && isOne(wanted.front()))
    wanted.erase(wanted.begin());
  if (wanted.size() > rank) { // drop inner ones too: (64, 1, 128) onto a matrix
    std::vector<Value> squeezed;
    for (size_t dim : kept(sizes))
      squeezed.push_back(sizes[dim]);
    wanted = squeezed;
  }
  if (wanted.size() > rank)
    fail("E0405: " + what + ": a box of sizes " + text(sizes) + " does not fit into " +
         b.describe(operand.buffer) + ", which has " + llvm::Twine(rank) + " dimensions");
  box.sizes.assign(rank, Value::number(int64_t(1)));
  std::copy(wanted.begin(), wanted.end(), box.sizes.end() - wanted.size());
  if (operand.kind == Operand::Kind::Whole)
    spreadOver(operand.buffer, box.sizes);
  return box;
}

void KernelBuilder::Impl::checkInside(const ResolvedBox &box, StringRef what) {
  if (scopeOf(box.buffer) == tile::Scope::Global)
    return;
  for (size_t dim = 0; dim < box.sizes.size(); ++dim) {
    auto size = constantInteger(box.sizes[dim]), offset = constantInteger(box.offsets[dim]);
    int64_t extent = box.buffer.shape[dim];
    if (size && (*size > extent || (offset && (*offset < 0 || *offset + *size > extent))))
      fail("E0308: " + what + ": the box of " + describe(box.buffer) + " starts at " +
           text(box.offsets[dim]) + " in dimension " + llvm::Twine(dim) + " and has " +
           llvm::Twine(*size) + " elements, but the tile ends at " + llvm::Twine(extent) +
           "; use a larger tile or a shorter slice");
  }
}

ResolvedBox KernelBuilder::Impl::sized(const Operand &operand, ArrayRef<Value> size,
                                       StringRef what) {
  return trailing(*this, operand, size, what);
}

/// Gives `operand` the extents `sizes`, which another operand decided. A region keeps its own and
/// must agree.
ResolvedBox KernelBuilder::Impl::fit(const Operand &operand, ArrayRef<Value> sizes,
                                     const llvm::Twine &what, bool shrink) {
  ResolvedBox box;
  if (operand.kind == Operand::Kind::Corner) {
    box = trailing(*this, operand, sizes, what);
  } else {
    box = resolve(operand, what);
    bool equalRank =
        shrink && operand.kind == Operand::Kind::Whole && box.sizes.size() == sizes.size();
    for (size_t dim = 0; equalRank && dim < sizes.size(); ++dim) {
      auto extent = constantInteger(box.sizes[dim]), wanted = constantInteger(sizes[dim]);
      equalRank = !extent || !wanted || *wanted <= *extent;
    }
    if (equalRank) // the box of these extents that starts at 0
      box.sizes.assign(sizes.begin(), sizes.end());
  }
  SmallVector<size_t> mine = kept(box.sizes), theirs = kept(sizes);
  bool agree = mine.size() == theirs.size();
  for (size_t position = 0; agree && position < mine.size(); ++position) {
    Value &here = box.sizes[mine[position]];
    const Value &there = sizes[theirs[position]];
    auto a = constantInteger(here), c = constantInteger(there);
    if (a && c)
      agree = *a == *c;
    else if (operand.kind ==
             Operand::Kind::Whole) // a run-time size decides how much of the buffer takes part
      here = a && scopeOf(operand.buffer) == tile::Scope::Global ? here : there;
  }
  if (!agree)
    fail("E0401: " + what + ": sizes " + squeezedText(box.sizes) + " of " +
         describe(operand.buffer) + " differ from " + squeezedText(sizes) +
         " on the other side; they must be equal once dimensions of size 1 are dropped. Slice both "
         "sides alike, or give the corner "
         "of one side, as in A[i, j]");
  return box;
}

/// The extent rules of T.copy and of box-wise atomics.
std::pair<ResolvedBox, ResolvedBox> KernelBuilder::Impl::match(const Operand &src,
                                                               const Operand &dst,
                                                               ArrayRef<Value> size,
                                                               StringRef what) {
  using K = Operand::Kind;
  ResolvedBox from, to;
  if (!size.empty()) {
    for (const Operand *operand : {&src, &dst})
      if (operand->kind == K::Region)
        fail("E0402: " + what + ": both size=" + text(size) + " and a slice of " +
             nameOf(operand->buffer) +
             " say how much is moved; give a corner such as A[i, j] with size, or slices without "
             "it");
    from = sized(src, size, what);
    to = sized(dst, size, what);
  } else if (src.kind == K::Corner && dst.kind == K::Corner) {
    from = resolve(src, what);
    to = resolve(dst, what);
  } else if (src.kind == K::Region || (src.kind == K::Whole && dst.kind != K::Region)) {
    from = resolve(src, what);
    if (src.kind == K::Whole &&
        dst.kind == K::Whole) { // of a run-time and a fixed extent the fixed one counts
      ResolvedBox other = whole(dst.buffer);
      if (llvm::any_of(from.sizes, [](const Value &extent) { return !extent.isConstant(); }) &&
          llvm::all_of(other.sizes, [](const Value &extent) { return extent.isConstant(); })) {
        to = other;
        from = fit(src, to.sizes, what);
        if (from.sizes.size() == to.sizes.size())
          from.sizes = to.sizes;
        checkInside(from, what);
        return {from, to};
      }
    }
    to = fit(dst, from.sizes, what, /*shrink=*/src.kind == K::Region);
  } else {
    to = resolve(dst, what);
    from = fit(src, to.sizes, what);
  }
  checkInside(from, what);
  checkInside(to, what);
  return {from, to};
}

//===-- Operands
//---------------------------------------------------------------------------------===//

KernelBuilder::Impl::BoxOperands KernelBuilder::Impl::operands(ArrayRef<ResolvedBox> boxes) {
  BoxOperands result;
  for (const ResolvedBox &box : boxes) {
    result.buffers.push_back(use(raw(box.buffer)));
    for (auto [dim, offset] : llvm::enumerate(box.offsets))
      result.offsets.push_back(
          toIndex(offset, "offset " + llvm::Twine(dim) + " of " + nameOf(box.buffer)));
    for (auto [dim, size] : llvm::enumerate(box.sizes))
      result.sizes.push_back(
          toIndex(size, "size " + llvm::Twine(dim) + " of " + nameOf(box.buffer)));
  }
  return result;
}

//===-- Copy and fill
//----------------------------------------------------------------------------===//

void KernelBuilder::copy(const Operand &src, const Operand &dst, const std::vector<Value> &size,
                         bool relu, std::optional<double> scale) {
  Impl &b = *impl;
  b.requireLaunch("T.copy stands");
  if (relu &&
      (b.scopeOf(src.buffer) != tile::Scope::L0C || b.scopeOf(dst.buffer) != tile::Scope::Global))
    fail("E0403: relu on the way is a part of the move from T.alloc_L0C to global memory; the "
         "source is " +
         b.describe(src.buffer) + ", the destination " + b.describe(dst.buffer));
  if (src.kind == Operand::Kind::Corner && dst.kind == Operand::Kind::Corner && size.empty() &&
      !relu) {
    b.store(b.load(src.buffer, src.starts), dst.buffer, dst.starts);
    return;
  }
  auto [from, to] = b.match(src, dst, size, "T.copy");
  b.noteBoxOp();
  auto operands = b.operands({to, from});
  // On the author's way out of an accumulator narrow integers saturate, as the hardware does.
  bool narrows = b.scopeOf(src.buffer) == tile::Scope::L0C && src.buffer.dtype == DType::Int32 &&
                 dst.buffer.dtype == DType::Int8;
  if (scale && !narrows)
    fail("E0607: a scale is for int32 of T.alloc_L0C that leaves as int8; the source is " +
         b.describe(src.buffer) + ", the destination " + b.describe(dst.buffer));
  FloatAttr pad, factor;
  if (narrows)
    factor = b.builder.getF32FloatAttr(static_cast<float>(scale.value_or(1.0)));
  if (auto found = b.pads.find(operands.buffers[1]); found != b.pads.end())
    pad = b.builder.getF64FloatAttr(found->second);
  b.verify(b.builder.create<tile::CopyOp>(b.location, operands.buffers, operands.offsets,
                                          operands.sizes, pad, relu, factor));
}

/// Fills a box of a tensor that nothing bounds: a tile of one piece of a row is stored again and
/// again.
void KernelBuilder::Impl::fillInPieces(KernelBuilder &self, ResolvedBox box, const Value &value) {
  constexpr int64_t kPiece = 1024;
  size_t last = box.sizes.size() - 1;
  Value zero = Value::number(int64_t(0)), one = Value::number(int64_t(1)),
        piece = Value::number(kPiece);
  Operand tile;
  tile.buffer = alloc(nameOf(box.buffer) + "_value", box.buffer.dtype, {kPiece},
                      tile::Scope::Fragment, /*user=*/false);
  self.fill(tile, value);
  std::vector<Value> starts = box.offsets, sizes(box.sizes.size(), one);
  for (size_t dim = 0; dim <= last; ++dim) {
    Value at = self.beginFor(zero, box.sizes[dim], dim == last ? piece : one, 0);
    starts[dim] = binary("add", box.offsets[dim], at);
    if (dim == last)
      sizes[dim] = binary("min", binary("sub", box.sizes[dim], at), piece);
  }
  Operand target;
  target.buffer = box.buffer;
  target.kind = Operand::Kind::Region;
  target.starts = starts;
  target.sizes = sizes;
  target.scalars.assign(sizes.size(), false);
  Operand part = tile;
  part.kind = Operand::Kind::Region;
  part.starts = {zero};
  part.sizes = {sizes[last]};
  part.scalars = {false};
  self.copy(part, target, {});
  for (size_t dim = 0; dim <= last; ++dim)
    self.endFor();
}

void KernelBuilder::fill(const Operand &dst, const Value &value) {
  Impl &b = *impl;
  b.requireLaunch("T.fill stands");
  if (dst.kind == Operand::Kind::Corner) {
    b.store(value, dst.buffer, dst.starts);
    return;
  }
  ResolvedBox box = b.resolve(dst, "T.fill");
  b.checkInside(box, "T.fill");
  for (size_t dim = 0; dim < box.sizes.size(); ++dim)
    if (box.buffer.shape[dim] < 0 && !constantInteger(box.sizes[dim]))
      return b.fillInPieces(*this, box, value);
  b.noteBoxOp();
  auto operands = b.operands({box});
  b.verify(b.builder.create<tile::FillOp>(b.location, operands.buffers, operands.offsets,
                                          operands.sizes, b.convert(value, dst.buffer.dtype)));
}

//===-- Gemm
//-------------------------------------------------------------------------------------===//

namespace {

/// A gemm operand without its leading dimensions of size 1.
struct Matrix {
  ResolvedBox box;
  Value rows, columns;
};

Matrix matrixOf(KernelBuilder::Impl &b, const ResolvedBox &box, const char *which) {
  size_t rank = box.sizes.size(), skip = 0;
  while (rank - skip > 2 && isOne(box.sizes[skip]))
    ++skip;
  if (rank - skip != 2)
    fail("E0415: T.gemm: " + llvm::Twine(which) + " is a box of sizes " + text(box.sizes) + " of " +
         b.describe(box.buffer) +
         "; a matrix is needed: two dimensions, or more whose leading ones have size 1");
  return {box, box.sizes[skip], box.sizes[skip + 1]};
}

std::string shapeText(const Value &rows, const Value &columns) {
  return text(rows) + " x " + text(columns);
}

} // namespace

void KernelBuilder::gemm(const Operand &aOperand, const Operand &bOperand, const Operand &cOperand,
                         bool transposeA, bool transposeB, const std::optional<Value> &init,
                         const std::vector<Value> &size) {
  Impl &b = *impl;
  b.requireLaunch("T.gemm stands");
  const Operand *given[3] = {&aOperand, &bOperand, &cOperand};
  const char *names[3] = {"A", "B", "C"};
  ResolvedBox boxes[3];
  if (!size.empty()) {
    if (size.size() != 3)
      fail("E0416: T.gemm: size=" + text(size) + " must be [m, k, n]");
    std::vector<Value> wanted[3] = {{size[0], size[1]}, {size[1], size[2]}, {size[0], size[2]}};
    if (transposeA)
      std::swap(wanted[0][0], wanted[0][1]);
    if (transposeB)
      std::swap(wanted[1][0], wanted[1][1]);
    for (int index = 0; index < 3; ++index)
      boxes[index] = b.sized(*given[index], wanted[index], "T.gemm");
  } else {
    for (int index = 0; index < 3; ++index) {
      if (given[index]->kind == Operand::Kind::Corner)
        fail("E0415: T.gemm: " + llvm::Twine(names[index]) + " is a single element of " +
             b.describe(given[index]->buffer) + "; give a tile, a slice, or size=[m, k, n]");
      boxes[index] = b.resolve(*given[index], "T.gemm");
    }
  }
  Matrix m[3];
  for (int index = 0; index < 3; ++index) {
    b.checkInside(boxes[index], "T.gemm");
    m[index] = matrixOf(b, boxes[index], names[index]);
    if (b.scopeOf(boxes[index].buffer) == tile::Scope::Global)
      fail("E0406: T.gemm: " + llvm::Twine(names[index]) + " is the tensor " +
           b.describe(boxes[index].buffer) + " in global memory; copy it into a tile first");
  }
  if (transposeA)
    std::swap(m[0].rows, m[0].columns);
  if (transposeB)
    std::swap(m[1].rows, m[1].columns);
  auto differ = [](const Value &x, const Value &y) {
    auto p = constantInteger(x), q = constantInteger(y);
    return p && q && *p != *q;
  };
  std::string transposed = transposeA && transposeB ? " (both transposed)"
                           : transposeA             ? " (A transposed)"
                           : transposeB             ? " (B transposed)"
                                                    : "";
  if (differ(m[0].columns, m[1].rows))
    fail("E0411: T.gemm: K mismatch: A is " + shapeText(m[0].rows, m[0].columns) + " (" +
         b.nameOf(boxes[0].buffer) + "), B is " + shapeText(m[1].rows, m[1].columns) + " (" +
         b.nameOf(boxes[1].buffer) + ")" + transposed + "; A's columns (" + text(m[0].columns) +
         ") must equal B's rows (" + text(m[1].rows) +
         "): check the tile shapes and transpose_A, transpose_B");
  if (differ(m[0].rows, m[2].rows) || differ(m[1].columns, m[2].columns))
    fail("E0412: T.gemm: C is " + shapeText(m[2].rows, m[2].columns) + " (" +
         b.nameOf(boxes[2].buffer) + "), but A . B is " + shapeText(m[0].rows, m[1].columns) +
         transposed + "; give C that shape");
  DType a = boxes[0].buffer.dtype, c = boxes[2].buffer.dtype;
  auto named = [](DType type) { return std::string(builder::nameOf(type)); };
  if (a != boxes[1].buffer.dtype)
    fail("E0413: T.gemm: A is " + named(a) + " and B is " + named(boxes[1].buffer.dtype) +
         "; both need one element type: convert one with T.copy");
  bool integer = a == DType::Int8 || a == DType::UInt8;
  bool quarter = a == DType::Float8E4M3FN || a == DType::Float8E5M2;
  bool narrow = quarter || a == DType::Float16 || a == DType::BFloat16 || a == DType::Float32;
  if (!integer && !narrow)
    fail("E0413: T.gemm: operands of type " + named(a) +
         "; allowed are float8_e4m3fn, float8_e5m2, float16, bfloat16, float32 and int8");
  if (integer ? c != DType::Int32 : c != DType::Float32 && (c != a || quarter))
    fail("E0414: T.gemm: a product of " + named(a) + " accumulates in " +
         (integer                          ? "int32"
          : a == DType::Float32 || quarter ? "float32"
                                           : "float32 or " + named(a)) +
         ", found " + named(c) + " (" + b.nameOf(boxes[2].buffer) + ")");
  b.noteBoxOp();
  auto operands = b.operands({boxes[2], boxes[0], boxes[1]});
  mlir::Value initial = init ? b.toCondition(*init) : mlir::Value();
  auto unit = [&](bool set) { return set ? b.builder.getUnitAttr() : UnitAttr(); };
  b.verify(b.builder.create<tile::GemmOp>(b.location, operands.buffers, operands.offsets,
                                          operands.sizes, initial, unit(transposeA),
                                          unit(transposeB)));
}

//===-- Atomics -------------------------------------------------------------------------------===//

static ReduceKind kindOf(const std::string &kind) {
  auto found = symbolizeReduceKind(kind);
  if (!found)
    fail("E0799: unknown combination '" + kind + "'");
  return *found;
}

static std::string atomicName(const std::string &kind) {
  return kind == "sum" ? "atomic_add" : "atomic_" + kind;
}

void KernelBuilder::atomicBox(const std::string &kind, const Operand &dst, const Operand &src,
                              const std::vector<Value> &size) {
  Impl &b = *impl;
  b.requireLaunch("an atomic stands");
  auto [from, to] = b.match(src, dst, size, "an atomic");
  b.noteBoxOp();
  if (from.buffer.dtype != to.buffer.dtype)
    from = b.converted(from, to.buffer.dtype);
  auto operands = b.operands({to, from});
  b.verify(b.builder.create<tile::AtomicOp>(b.location, mlir::Type(), operands.buffers,
                                            operands.offsets, operands.sizes, mlir::Value(),
                                            kindOf(kind)));
}

void KernelBuilder::atomicScalar(const std::string &kind, const Operand &dst, const Value &value,
                                 const std::vector<Value> &size) {
  Impl &b = *impl;
  b.requireLaunch("an atomic stands");
  ResolvedBox box = size.empty() ? b.resolve(dst, "an atomic") : b.sized(dst, size, "an atomic");
  b.checkInside(box, "an atomic");
  if (!llvm::all_of(box.sizes, isOne))
    b.noteBoxOp();
  auto operands = b.operands({box});
  b.verify(b.builder.create<tile::AtomicOp>(b.location, mlir::Type(), operands.buffers,
                                            operands.offsets, operands.sizes,
                                            b.convert(value, dst.buffer.dtype), kindOf(kind)));
}

Value KernelBuilder::atomicFetch(const std::string &kind, const Operand &dst, const Value &value) {
  Impl &b = *impl;
  b.requireLaunch("an atomic stands");
  ResolvedBox box = b.resolve(dst, "an atomic");
  b.checkInside(box, "an atomic");
  if (!llvm::all_of(box.sizes, isOne))
    fail("E0319: an atomic with return_prev=True gives one value, and " + b.describe(dst.buffer) +
         " is named here with several elements; name one, T." + atomicName(kind) +
         "(x[i, j], value, return_prev=True), in T.Parallel for many");
  auto operands = b.operands({box});
  mlir::Value scalar = b.convert(value, dst.buffer.dtype);
  auto op =
      b.builder.create<tile::AtomicOp>(b.location, scalar.getType(), operands.buffers,
                                       operands.offsets, operands.sizes, scalar, kindOf(kind));
  b.verify(op);
  return b.wrap(op.getPrevious(), dst.buffer.dtype);
}

} // namespace tilewright::builder
