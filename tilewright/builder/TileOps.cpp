// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions, element-wise operations of whole tiles, shape movers and debugging.
#include "tilewright/builder/BuilderImpl.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::builder {

static bool isOne(const Value &size) { return constantInteger(size) == std::optional<int64_t>(1); }

static std::string named(DType type) { return std::string(nameOf(type)); }

/// Largest static sizes a box can have.
static SmallVector<int64_t> capacity(const ResolvedBox &box) {
  SmallVector<int64_t> result;
  for (size_t dim = 0; dim < box.sizes.size(); ++dim) {
    auto size = constantInteger(box.sizes[dim]);
    int64_t bound = size ? *size : box.sizes[dim].high;
    if (box.buffer.shape[dim] >= 0)
      bound = std::min(bound, box.buffer.shape[dim]);
    result.push_back(std::max<int64_t>(bound, 1));
  }
  return result;
}

ResolvedBox KernelBuilder::Impl::converted(const ResolvedBox &box, DType type) {
  Buffer tile = alloc(nameOf(box.buffer) + "_" + named(type), type, capacity(box),
                      tile::Scope::Fragment, /*user=*/false);
  ResolvedBox result{tile, std::vector<Value>(box.sizes.size(), Value::number(int64_t(0))),
                     box.sizes};
  auto list = operands({result, box});
  verify(
      builder.create<tile::CopyOp>(location, list.buffers, list.offsets, list.sizes, FloatAttr()));
  return result;
}

//===-- Reductions
//-------------------------------------------------------------------------------===//

void KernelBuilder::reduce(const std::string &kindName, const Operand &src, const Operand &dst,
                           std::vector<int64_t> dims, const std::vector<Value> &size,
                           bool accumulate) {
  Impl &b = *impl;
  b.requireLaunch("a reduction stands");
  auto kind = symbolizeReduceKind(kindName);
  if (!kind)
    fail("E0421: unknown reduction '" + kindName + "'");
  std::string what = "T.reduce_" + kindName;
  if (src.kind == Operand::Kind::Corner && size.empty())
    fail("E0424: " + what + ": the source is a single element of " + b.describe(src.buffer) +
         "; give a tile, a slice, or size");
  ResolvedBox from = size.empty() ? b.resolve(src, what) : b.sized(src, size, what);
  b.checkInside(from, what);
  int64_t rank = static_cast<int64_t>(from.sizes.size());
  for (int64_t &dim : dims) {
    if (dim < -rank || dim >= rank)
      fail("E0422: " + what + ": dimension " + llvm::Twine(dim) + " of " + b.describe(src.buffer) +
           "; allowed are " + llvm::Twine(-rank) + " to " + llvm::Twine(rank - 1));
    dim = dim < 0 ? dim + rank : dim;
  }
  llvm::sort(dims);
  dims.erase(llvm::unique(dims), dims.end());
  std::vector<Value> keptAsOne, dropped;
  for (int64_t dim = 0; dim < rank; ++dim) {
    bool reduced = llvm::is_contained(dims, dim);
    keptAsOne.push_back(reduced ? Value::number(int64_t(1)) : from.sizes[dim]);
    if (!reduced)
      dropped.push_back(from.sizes[dim]);
  }
  bool sameRank = dst.buffer.shape.size() == keptAsOne.size();
  if (dst.kind == Operand::Kind::Whole && src.kind == Operand::Kind::Whole && size.empty()) {
    ResolvedBox target = b.whole(dst.buffer); // whole tiles must agree exactly
    SmallVector<int64_t> have, want;
    for (const Value &extent : target.sizes)
      if (auto constant = constantInteger(extent); constant && *constant != 1)
        have.push_back(*constant);
    for (const Value &extent : keptAsOne)
      if (auto constant = constantInteger(extent); constant && *constant != 1)
        want.push_back(*constant);
    if (have != want)
      fail("E0423: " + what + ": the destination " + b.describe(dst.buffer) + " must have sizes " +
           text(dropped) + " or " + text(keptAsOne) + " to hold " + b.describe(src.buffer) +
           " reduced along dimension " + llvm::Twine(dims.front()));
  }
  ResolvedBox to = b.fit(dst, sameRank ? keptAsOne : dropped, what);
  b.checkInside(to, what);
  for (const ResolvedBox *box : {&from, &to})
    if (b.scopeOf(box->buffer) == tile::Scope::Global)
      fail("E0406: " + what + ": " + b.describe(box->buffer) +
           " is in global memory; copy it into a tile first");
  b.noteBoxOp();
  auto operands = b.operands({to, from});
  b.verify(b.builder.create<tile::ReduceOp>(b.location, operands.buffers, operands.offsets,
                                            operands.sizes, *kind, dims, accumulate));
}

void KernelBuilder::scan(const std::string &kindName, const Operand &src, const Operand &dst,
                         int64_t dim, bool reverse) {
  Impl &b = *impl;
  b.requireLaunch("a scan stands");
  auto kind = symbolizeReduceKind(kindName);
  std::string what = kindName == "sum" ? "T.cumsum" : "T.cummax";
  int64_t rank = static_cast<int64_t>(src.buffer.shape.size());
  if (dim < -rank || dim >= rank)
    fail("E0422: " + what + ": dimension " + llvm::Twine(dim) + " of " + b.describe(src.buffer) +
         "; allowed are " + llvm::Twine(-rank) + " to " + llvm::Twine(rank - 1));
  auto [from, to] = b.match(src, dst, {}, what);
  b.noteBoxOp();
  auto operands = b.operands({to, from});
  b.verify(b.builder.create<tile::ScanOp>(b.location, operands.buffers, operands.offsets,
                                          operands.sizes, *kind, dim < 0 ? dim + rank : dim,
                                          reverse));
}

//===-- Element-wise
//-----------------------------------------------------------------------------===//

/// Domain dimension that each dimension of `sizes` follows, -1 for none; nothing when the shapes do
/// not fit.
static std::optional<SmallVector<int64_t>> mapOnto(ArrayRef<Value> sizes, ArrayRef<Value> domain) {
  auto matches = [](const Value &a, const Value &b) {
    auto x = constantInteger(a), y = constantInteger(b);
    return !x || !y || *x == *y;
  };
  auto align = [&](ArrayRef<size_t> mine,
                   ArrayRef<size_t> theirs) -> std::optional<SmallVector<int64_t>> {
    SmallVector<int64_t> map(sizes.size(), -1);
    if (mine.size() > theirs.size())
      return std::nullopt;
    for (size_t back = 1; back <= mine.size(); ++back) { // from the last dimension
      size_t from = mine[mine.size() - back], to = theirs[theirs.size() - back];
      if (isOne(sizes[from]) && !isOne(domain[to]))
        continue;
      if (!matches(sizes[from], domain[to]))
        return std::nullopt;
      map[from] = static_cast<int64_t>(to);
    }
    return map;
  };
  SmallVector<size_t> all(sizes.size()), squeezed, domainAll(domain.size()), domainSqueezed;
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    all[dim] = dim;
    if (!isOne(sizes[dim]))
      squeezed.push_back(dim);
  }
  for (size_t dim = 0; dim < domain.size(); ++dim) {
    domainAll[dim] = dim;
    if (!isOne(domain[dim]))
      domainSqueezed.push_back(dim);
  }
  if (auto map = align(all, domainAll))
    return map;
  // Leading dimensions of size 1 beyond the domain's rank hold nothing: a slot A[k, :, :].
  size_t extra = sizes.size() - std::min(sizes.size(), domain.size());
  if (extra && llvm::all_of(sizes.take_front(extra), isOne))
    if (auto map = align(ArrayRef(all).drop_front(extra), domainAll))
      return map;
  if (squeezed.size() == domainSqueezed.size())
    if (auto map = align(squeezed, domainSqueezed))
      return map;
  if (auto map = align(squeezed, domainAll))
    return map;
  return align(all, domainSqueezed);
}

/// As mapOnto, of a region that says itself which dimensions its own ones meet.
static std::optional<SmallVector<int64_t>> mapByPosition(const Operand &region, size_t rank) {
  SmallVector<int64_t> map(region.positions.begin(), region.positions.end());
  int64_t kept = *llvm::max_element(map);
  if (kept >= static_cast<int64_t>(rank))
    return std::nullopt;
  return map;
}

void KernelBuilder::Impl::emitElementwise(Fn fn, ArrayRef<ResolvedBox> boxes,
                                          const std::optional<Value> &scalar, bool scalarFirst,
                                          Round round, ArrayRef<SmallVector<int64_t>> maps,
                                          DType scalarType_) {
  bool plain = true; // every map is what the op assumes without maps
  size_t rank = boxes[0].sizes.size();
  for (size_t index = 0; index < boxes.size(); ++index) {
    plain &= boxes[index].sizes.size() == rank;
    for (size_t dim = 0; plain && dim < rank; ++dim) {
      bool broadcast = isOne(boxes[index].sizes[dim]) && !isOne(boxes[0].sizes[dim]);
      plain &= maps[index][dim] == (broadcast ? -1 : static_cast<int64_t>(dim));
    }
  }
  ArrayAttr mapAttr;
  if (!plain) {
    SmallVector<Attribute> list;
    for (const SmallVector<int64_t> &map : maps)
      list.push_back(builder.getDenseI64ArrayAttr(map));
    mapAttr = builder.getArrayAttr(list);
  }
  auto list = operands(boxes);
  mlir::Value operand = scalar ? convert(*scalar, scalarType_) : mlir::Value();
  verify(builder.create<tile::ElementwiseOp>(location, list.buffers, list.offsets, list.sizes,
                                             operand, fn, mapAttr, scalarFirst, round));
}

/// One function of one box of the same rank.
void KernelBuilder::Impl::emitUnary(Fn fn, const ResolvedBox &dst, const ResolvedBox &src) {
  SmallVector<int64_t> map = llvm::to_vector(llvm::seq<int64_t>(0, dst.sizes.size()));
  emitElementwise(fn, {dst, src}, std::nullopt, false, Round::Rint, {map, map}, dst.buffer.dtype);
}

/// A new tile with the bits of `box`.
ResolvedBox KernelBuilder::Impl::bitsOfBox(const ResolvedBox &box, DType type) {
  Buffer tile = alloc(nameOf(box.buffer) + "_bits", type, capacity(box), tile::Scope::Fragment,
                      /*user=*/false);
  ResolvedBox result{tile, std::vector<Value>(box.sizes.size(), Value::number(int64_t(0))),
                     box.sizes};
  emitUnary(Fn::Bitcast, result, box);
  return result;
}

/// dst = ~src on the bits of floats.
void KernelBuilder::Impl::invertBits(const ResolvedBox &src, const ResolvedBox &dst) {
  DType type = dst.buffer.dtype;
  DType bits = bitsOf(type) == 64 ? DType::Int64 : bitsOf(type) == 32 ? DType::Int32 : DType::Int16;
  ResolvedBox tile = bitsOfBox(src, bits);
  emitUnary(Fn::Not, tile, tile);
  emitUnary(Fn::Bitcast, dst, tile);
}

Buffer KernelBuilder::bitcastTile(const Operand &src, DType type) {
  Impl &b = *impl;
  b.requireLaunch("T.vbitcast stands");
  ResolvedBox box = b.resolve(src, "T.vbitcast");
  b.checkInside(box, "T.vbitcast");
  if (b.scopeOf(box.buffer) == tile::Scope::Global)
    fail("E0406: T.vbitcast: " + b.describe(box.buffer) +
         " is in global memory; copy it into a tile first");
  if (bitsOf(type) != bitsOf(box.buffer.dtype))
    fail("E0208: T.vbitcast: " + b.describe(box.buffer) + " has elements of " +
         llvm::Twine(bitsOf(box.buffer.dtype)) + " bits, " + named(type) + " has " +
         llvm::Twine(bitsOf(type)) + "; both need the same number");
  b.noteBoxOp();
  return b.bitsOfBox(box, type).buffer;
}

void KernelBuilder::elementwise(const std::string &function, const std::vector<Source> &given,
                                const Operand &dst, const std::vector<Value> &size,
                                const std::string &rounding) {
  Impl &b = *impl;
  std::string what = "T.v" + function;
  b.requireLaunch(what + " stands");
  auto fn = symbolizeFn(function);
  if (!fn)
    fail("E0799: unknown tile operation '" + what + "'");
  auto round = rounding.empty() ? std::optional<Round>(Round::Rint) : symbolizeRound(rounding);
  if (!round)
    fail("E0207: " + what + ": unknown rounding mode '" + rounding + "'");
  if (*fn == Fn::Cast)
    checkRounding(dst.buffer.dtype, rounding);

  // Single elements are scalars.
  struct Part {
    std::optional<ResolvedBox> box;
    Value scalar;
  };
  std::vector<Part> parts;
  size_t largest = 0, best = 0;
  for (const Source &source : given) {
    Part part;
    if (source.box && source.box->kind == Operand::Kind::Corner && size.empty())
      part.scalar = b.load(source.box->buffer, source.box->starts);
    else if (source.box)
      part.box = size.empty() ? b.resolve(*source.box, what) : b.sized(*source.box, size, what);
    else
      part.scalar = source.scalar;
    if (part.box) {
      b.checkInside(*part.box, what);
      if (b.scopeOf(part.box->buffer) == tile::Scope::Global)
        fail("E0406: " + what + ": " + b.describe(part.box->buffer) +
             " is in global memory; copy it into a tile first");
      if (part.box->sizes.size() > best) {
        best = part.box->sizes.size();
        largest = parts.size();
      }
    }
    parts.push_back(part);
  }
  ResolvedBox to;
  if (dst.kind == Operand::Kind::Corner && !size.empty())
    to = b.sized(dst, size, what);
  else if (dst.kind == Operand::Kind::Corner && !parts.empty() && parts[largest].box)
    to = b.fit(dst, parts[largest].box->sizes, what);
  else
    to = size.empty() ? b.resolve(dst, what) : b.sized(dst, size, what);
  b.checkInside(to, what);
  if (b.scopeOf(to.buffer) == tile::Scope::Global)
    fail("E0406: " + what + ": " + b.describe(to.buffer) +
         " is in global memory; use a tile and T.copy it out");

  // Element types: comparisons and the condition of select are bool, everything else takes the
  // destination's type.
  bool comparison = *fn >= Fn::EQ && *fn <= Fn::GE, conversion = *fn == Fn::Cast || *fn == Fn::Copy;
  DType type = to.buffer.dtype;
  if (comparison) {
    if (type != DType::Bool)
      fail("E0432: T.vcmp: the destination " + b.describe(to.buffer) + " must be a bool tile");
    bool first = true;
    for (const Part &part : parts)
      if (part.box) {
        type = first ? part.box->buffer.dtype : promote(type, part.box->buffer.dtype);
        first = false;
      }
  }
  if (*fn == Fn::Copy && parts[0].box && parts[0].box->buffer.dtype != type)
    fn = Fn::Cast;
  // A rounding mode between equal types of floats rounds to integral values.
  if (*fn == Fn::Cast && !rounding.empty() && isFloat(type) && parts[0].box &&
      parts[0].box->buffer.dtype == type) {
    fn = symbolizeFn(rounding);
    if (!fn)
      fail("E0207: " + what + ": round_mode '" + rounding + "' between tiles of " + named(type) +
           "; values of one type round to integers by rint, round, floor, ceil or trunc");
  }
  int64_t scalarAt = -1;
  b.noteBoxOp();
  for (size_t index = 0; index < parts.size(); ++index) {
    Part &part = parts[index];
    bool condition = *fn == Fn::Select && index == 0;
    DType wanted = condition ? DType::Bool : type;
    bool edge = (index == 0 && parts.size() == 2) || index + 1 == parts.size();
    if (!part.box && scalarAt < 0 && edge && !(parts.size() == 1)) {
      scalarAt = static_cast<int64_t>(index);
      continue;
    }
    if (!part.box) { // a second scalar: a one-element tile
      Buffer tile = b.alloc("scalar", wanted, SmallVector<int64_t>(to.sizes.size(), 1),
                            tile::Scope::Fragment, /*user=*/false);
      part.box = b.whole(tile);
      auto list = b.operands({*part.box});
      b.builder.create<tile::FillOp>(b.location, list.buffers, list.offsets, list.sizes,
                                     b.convert(part.scalar, wanted));
    }
    if (condition && part.box->buffer.dtype != DType::Bool)
      fail("E0432: T.vselect: the condition " + b.describe(part.box->buffer) +
           " must be a bool tile, as T.vcmp makes it");
    if (!conversion && *fn != Fn::Bitcast && part.box->buffer.dtype != wanted)
      part.box = b.converted(*part.box, wanted);
  }

  if (isFloat(type) && (*fn == Fn::Not || *fn == Fn::And || *fn == Fn::Or || *fn == Fn::Xor)) {
    if (*fn != Fn::Not || scalarAt >= 0)
      fail("E0433: " + what + ": " + b.describe(to.buffer) +
           " holds floats; bit operations need integer or bool tiles");
    if (parts[0].box->sizes.size() != to.sizes.size())
      fail("E0431: " + what + ": both tiles need the same rank");
    b.invertBits(*parts[0].box, to);
    return;
  }

  // Shapes.
  SmallVector<ResolvedBox> boxes = {to};
  SmallVector<SmallVector<int64_t>> maps(1);
  for (size_t dim = 0; dim < to.sizes.size(); ++dim)
    maps[0].push_back(static_cast<int64_t>(dim));
  for (size_t index = 0; index < parts.size(); ++index) {
    if (static_cast<int64_t>(index) == scalarAt)
      continue;
    ResolvedBox &box = *parts[index].box;
    auto map = given[index].box && !given[index].box->positions.empty()
                   ? mapByPosition(*given[index].box, to.sizes.size())
                   : mapOnto(box.sizes, to.sizes);
    if (!map)
      fail("E0431: " + what + ": operand " + llvm::Twine(index) + ", " + b.describe(box.buffer) +
           " with sizes " + text(box.sizes) + ", does not fit the destination " +
           b.describe(to.buffer) + " with sizes " + text(to.sizes) +
           "; sizes must be equal, or 1 where the operand is repeated");
    for (size_t dim = 0; dim < map->size();
         ++dim) // a run-time extent of the destination limits a whole tile
      if ((*map)[dim] >= 0 && !to.sizes[(*map)[dim]].isConstant())
        box.sizes[dim] = to.sizes[(*map)[dim]];
    boxes.push_back(box);
    maps.push_back(*map);
  }
  std::optional<Value> scalar;
  if (scalarAt >= 0)
    scalar = parts[scalarAt].scalar;
  b.emitElementwise(*fn, boxes, scalar, scalarAt == 0 && parts.size() > 1, *round, maps, type);
}

//===-- Shape movers
//-----------------------------------------------------------------------------===//

void KernelBuilder::iota(const Operand &dst, const Value &start, const std::vector<Value> &steps) {
  Impl &b = *impl;
  b.requireLaunch("T.arange stands");
  ResolvedBox box = b.resolve(dst, "T.arange");
  if (steps.size() != box.sizes.size())
    fail("E0445: T.arange: " + llvm::Twine(steps.size()) + " strides for " +
         b.describe(dst.buffer) + "; one per dimension is needed");
  b.checkInside(box, "T.arange");
  SmallVector<mlir::Value> list;
  for (const Value &step : steps)
    list.push_back(b.toIndex(step, "a stride of T.arange"));
  mlir::Value first = b.toIndex(start, "the offset of T.arange");
  b.noteBoxOp();
  auto operands = b.operands({box});
  b.verify(b.builder.create<tile::IotaOp>(b.location, operands.buffers, operands.offsets,
                                          operands.sizes, first, list));
}

void KernelBuilder::gather(const Operand &src, const Operand &dst, const Operand &indices) {
  Impl &b = *impl;
  b.requireLaunch("T.gather stands");
  SmallVector<ResolvedBox> boxes = {b.resolve(dst, "T.gather"), b.resolve(src, "T.gather"),
                                    b.resolve(indices, "T.gather")};
  for (const ResolvedBox &box : boxes) {
    b.checkInside(box, "T.gather");
    if (box.sizes.size() != boxes[0].sizes.size())
      fail("E0441: T.gather: " + b.describe(box.buffer) + " and " + b.describe(dst.buffer) +
           " must have the same number of dimensions");
  }
  if (text(boxes[0].sizes) != text(boxes[2].sizes))
    fail("E0441: T.gather: indices of sizes " + text(boxes[2].sizes) +
         " for a destination of sizes " + text(boxes[0].sizes) + "; they must be equal");
  if (isFloat(indices.buffer.dtype))
    fail("E0441: T.gather: the indices " + b.describe(indices.buffer) + " must be integers");
  b.noteBoxOp();
  auto operands = b.operands(boxes);
  b.verify(b.builder.create<tile::GatherOp>(b.location, operands.buffers, operands.offsets,
                                            operands.sizes));
}

void KernelBuilder::transpose(const Operand &src, const Operand &dst,
                              const std::vector<int64_t> &permutation) {
  Impl &b = *impl;
  b.requireLaunch("T.transpose stands");
  ResolvedBox from = b.resolve(src, "T.transpose"), to = b.resolve(dst, "T.transpose");
  size_t rank = from.sizes.size();
  SmallVector<int64_t> sorted(permutation.begin(), permutation.end());
  llvm::sort(sorted);
  bool valid = sorted.size() == rank && to.sizes.size() == rank;
  for (size_t dim = 0; valid && dim < rank; ++dim)
    valid = sorted[dim] == static_cast<int64_t>(dim);
  if (!valid)
    fail("E0442: T.transpose of " + b.describe(src.buffer) + " into " + b.describe(dst.buffer) +
         ": the permutation must name each of the source's dimensions once, and both need the same "
         "rank");
  SmallVector<SmallVector<int64_t>> maps(2);
  maps[1].resize(rank);
  for (size_t dim = 0; dim < rank; ++dim) {
    maps[0].push_back(static_cast<int64_t>(dim));
    maps[1][permutation[dim]] = static_cast<int64_t>(dim);
    auto have = constantInteger(to.sizes[dim]),
         want = constantInteger(from.sizes[permutation[dim]]);
    if (have && want && *have != *want)
      fail("E0442: T.transpose: dimension " + llvm::Twine(dim) + " of " + b.describe(dst.buffer) +
           " must have size " + llvm::Twine(*want) + ", that of dimension " +
           llvm::Twine(permutation[dim]) + " of " + b.describe(src.buffer));
  }
  b.noteBoxOp();
  b.emitElementwise(src.buffer.dtype == dst.buffer.dtype ? Fn::Copy : Fn::Cast, {to, from},
                    std::nullopt, false, Round::Rint, maps, dst.buffer.dtype);
}

/// Row-major position of `indices` in a box.
static Value flatten(KernelBuilder::Impl &b, const ResolvedBox &box, ArrayRef<Value> indices) {
  Value flat = Value::number(int64_t(0));
  for (size_t dim = 0; dim < indices.size(); ++dim)
    flat = b.binary("add", b.binary("mul", flat, box.sizes[dim]), indices[dim]);
  return flat;
}

void KernelBuilder::reshape(const Operand &src, const Operand &dst) {
  Impl &b = *impl;
  b.requireLaunch("T.reshape stands");
  ResolvedBox from = b.resolve(src, "T.reshape"), to = b.resolve(dst, "T.reshape");
  auto count = [&](const ResolvedBox &box) {
    int64_t product = 1;
    for (const Value &size : box.sizes) {
      auto constant = constantInteger(size);
      if (!constant)
        fail("E0443: T.reshape: " + b.describe(box.buffer) +
             " has a run-time extent; sizes known at compile time are needed");
      product *= *constant;
    }
    return product;
  };
  int64_t have = count(to), want = count(from);
  if (have != want)
    fail("E0443: T.reshape: " + b.describe(src.buffer) + " holds " + llvm::Twine(want) +
         " elements, " + b.describe(dst.buffer) + " holds " + llvm::Twine(have) +
         "; they must be equal");
  std::vector<Value> lanes = beginParallel(to.sizes);
  Value flat = flatten(b, to, lanes);
  std::vector<Value> source(from.sizes.size()), target;
  for (size_t dim = from.sizes.size(); dim-- > 0;) {
    source[dim] = b.binary("add", from.offsets[dim],
                           dim ? b.binary("floormod", flat, from.sizes[dim]) : flat);
    if (dim)
      flat = b.binary("floordiv", flat, from.sizes[dim]);
  }
  for (size_t dim = 0; dim < lanes.size(); ++dim)
    target.push_back(b.binary("add", to.offsets[dim], lanes[dim]));
  b.store(b.load(src.buffer, source), dst.buffer, target);
  endParallel();
}

void KernelBuilder::concat(const std::vector<Operand> &sources, const Operand &dst, int64_t dim) {
  Impl &b = *impl;
  ResolvedBox to = b.resolve(dst, "T.concat");
  int64_t rank = static_cast<int64_t>(to.sizes.size());
  if (dim < -rank || dim >= rank)
    fail("E0422: T.concat: dimension " + llvm::Twine(dim) + " of " + b.describe(dst.buffer) +
         "; allowed are " + llvm::Twine(-rank) + " to " + llvm::Twine(rank - 1));
  dim = dim < 0 ? dim + rank : dim;
  Value at = to.offsets[dim];
  for (const Operand &source : sources) {
    ResolvedBox from = b.resolve(source, "T.concat");
    if (static_cast<int64_t>(from.sizes.size()) != rank)
      fail("E0444: T.concat: " + b.describe(source.buffer) + " and " + b.describe(dst.buffer) +
           " must have the same number of dimensions");
    Operand part = dst;
    part.kind = Operand::Kind::Region;
    part.starts = to.offsets;
    part.starts[dim] = at;
    part.sizes = to.sizes;
    part.sizes[dim] = from.sizes[dim];
    part.scalars.assign(rank, false);
    copy(source, part, {});
    at = b.binary("add", at, from.sizes[dim]);
  }
}

void KernelBuilder::flip(const Operand &src, const Operand &dst, int64_t axis) {
  Impl &b = *impl;
  auto [from, to] = b.match(src, dst, {}, "T.flip");
  int64_t rank = static_cast<int64_t>(from.sizes.size());
  if (axis < -rank || axis >= rank || from.sizes.size() != to.sizes.size())
    fail("E0422: T.flip: axis " + llvm::Twine(axis) + " of " + b.describe(src.buffer) + " into " +
         b.describe(dst.buffer) +
         "; both need the same rank and the axis must be one of its dimensions");
  axis = axis < 0 ? axis + rank : axis;
  std::vector<Value> lanes = beginParallel(to.sizes), source, target;
  for (int64_t dim = 0; dim < rank; ++dim) {
    Value lane = lanes[dim];
    if (dim == axis)
      lane = b.binary("sub", b.binary("sub", from.sizes[dim], Value::number(int64_t(1))), lane);
    source.push_back(b.binary("add", from.offsets[dim], lane));
    target.push_back(b.binary("add", to.offsets[dim], lanes[dim]));
  }
  b.store(b.load(src.buffer, source), dst.buffer, target);
  endParallel();
}

Value KernelBuilder::quantifier(const std::string &kind, const Operand &src) {
  Impl &b = *impl;
  ResolvedBox box = b.resolve(src, "T.any_of or T.all_of");
  b.checkInside(box, "T.any_of or T.all_of");
  Buffer found = b.alloc("found", DType::Bool, {}, tile::Scope::Local, /*user=*/false);
  b.store(Value::number(kind == "and"), found, {});
  std::vector<Value> indices;
  for (size_t dim = 0; dim < box.sizes.size(); ++dim)
    indices.push_back(b.binary(
        "add", box.offsets[dim],
        beginFor(Value::number(int64_t(0)), box.sizes[dim], Value::number(int64_t(1)), 0)));
  Value here = b.compare("ne", b.load(src.buffer, indices), Value::number(int64_t(0)));
  b.store(b.binary(kind, b.load(found, {}), here), found, {});
  for (size_t dim = 0; dim < box.sizes.size(); ++dim)
    endFor();
  return b.load(found, {});
}

//===-- Debugging
//--------------------------------------------------------------------------------===//

static void createPrint(KernelBuilder::Impl &b, ArrayRef<ResolvedBox> boxes, mlir::Value scalar,
                        const std::string &message) {
  b.requireLaunch("T.print stands");
  b.noteBoxOp();
  auto operands = b.operands(boxes);
  b.builder.create<tile::PrintOp>(b.location, operands.buffers, operands.offsets, operands.sizes,
                                  scalar, b.builder.getStringAttr(message));
}

void KernelBuilder::printMessage(const std::string &message) {
  createPrint(*impl, {}, {}, message);
}
void KernelBuilder::printBox(const Operand &box, const std::string &message) {
  createPrint(*impl, {impl->resolve(box, "T.print")}, {}, message);
}
void KernelBuilder::printScalar(const Value &value, const std::string &message) {
  createPrint(*impl, {}, impl->convert(value, value.dtype), message);
}

void KernelBuilder::assertOp(const Value &condition, const std::string &message) {
  Impl &b = *impl;
  b.builder.create<tile::AssertOp>(b.location, b.toCondition(condition),
                                   b.builder.getStringAttr(message));
}

} // namespace tilewright::builder
