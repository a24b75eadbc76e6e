// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of the vector unit over boxes: operands brought to one domain, temporaries, types.

#include "tilewright/to_hivm/Emitter.h"

#include "tilewright/hivm/HivmDialect.h"
#include "tilewright/npu/Rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

#include <set>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::to_hivm;

LogicalResult Emitter::vector(Operation *op) {
  wroteVector = tookScratch = false;
  padsRows = npu::takesRows(op);
  scratch = scratchStart;
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](npu::FillOp op) {
        SmallVector<int> keep;
        for (auto [dim, size] : llvm::enumerate(staticSizes(op.getBox(0))))
          if (size != 1)
            keep.push_back(int(dim));
        if (keep.empty())
          keep.push_back(-1);
        Vec tile{view(op.getBox(0), keep)};
        FailureOr<Vec> value = as(op, Vec{mapping.lookup(op.getValue())}, tile.element());
        if (succeeded(value))
          fill(tile, value->value);
        return LogicalResult(value);
      })
      .Case([&](npu::ElementwiseOp op) { return elementwise(op); })
      .Case([&](npu::ReduceOp op) { return reduce(op); })
      .Case([&](npu::ScanOp op) { return scan(op); })
      .Case([&](npu::IotaOp op) { return iota(op); })
      .Case([&](npu::GatherOp op) { return gather(op); })
      .Default([&](Operation *op) { return refuse(op, "'" + op->getName().getStringRef() + "'"); });
}

/// Instructions that the other compiler may give hidden temporaries, which instructions that are
/// independent otherwise share.
static bool mayUseScratch(StringRef name, ArrayRef<NamedAttribute> attributes) {
  bool broadcasts = llvm::any_of(attributes, [](NamedAttribute attribute) {
    return attribute.getName().getValue().starts_with("broadcast");
  });
  return broadcasts || llvm::is_contained({"vreduce", "vsel", "vcmp", "vcast", "vcumsum",
                                           "vcumprod", "vtranspose", "vgather", "vdiv"},
                                          name);
}

/// Instructions that the other compiler makes loops of the scalar unit from: arithmetic of 64-bit
/// integers, comparisons of integers that are not for equality, and scans along rows.
static bool runsOnScalarUnit(StringRef name, ArrayRef<Value> operands,
                             ArrayRef<NamedAttribute> attributes) {
  if (llvm::is_contained({"vabs", "vadd", "vsub", "vmul", "vdiv", "vmax", "vmin", "vshl", "vshr"},
                         name))
    return llvm::any_of(operands, [](Value operand) {
      auto memref = dyn_cast<MemRefType>(operand.getType());
      return memref && memref.getElementType().isInteger(64);
    });
  for (NamedAttribute attribute : attributes)
    if (attribute.getName() == "compare_mode")
      return !cast<MemRefType>(operands.front().getType()).getElementType().isF16() &&
             !cast<MemRefType>(operands.front().getType()).getElementType().isF32() &&
             cast<hivm::WordAttr>(attribute.getValue()).getBody() != "eq";
  for (NamedAttribute attribute : attributes)
    if (attribute.getName() == "cum_dims")
      return cast<DenseI64ArrayAttr>(attribute.getValue())[0] + 1 ==
             cast<MemRefType>(operands.back().getType()).getRank();
  return false;
}

void Emitter::emitVector(StringRef name, ArrayRef<Vec> sources, Vec dst,
                         ArrayRef<NamedAttribute> attributes, ArrayRef<int32_t> segments) {
  SmallVector<Value> operands =
      llvm::map_to_vector(sources, [](const Vec &vec) { return vec.value; });
  operands.push_back(dst.value);
  // Behind a plan, hidden temporaries get their places and barriers later, see Temporaries.cpp.
  bool needsScratch = tookScratch || (!frame.isPlanned() && mayUseScratch(name, attributes));
  bool isScalar = frame.hasFlags() && runsOnScalarUnit(name, operands, attributes);
  auto barrier = [&](StringRef pipe) { emit("pipe_barrier", {}, word("pipe", "pipe", pipe)); };
  if (isScalar) {
    if (!isSettled)
      barrier("PIPE_ALL");
  } else if (frame.hasFlags() && (wroteVector || (needsScratch && usesScratch))) {
    barrier("PIPE_V");
    usesScratch = false;
  }
  wroteVector = true;
  // Unplanned, a temporary may take the place of any tile that only the vector unit uses.
  usesScratch |= needsScratch || !frame.isPlanned();
  bool isRowWise = llvm::is_contained({"vreduce", "vcumsum", "vcumprod", "vtranspose"}, name);
  for (NamedAttribute attribute : attributes)
    isRowWise |= attribute.getName().getValue().starts_with("broadcast");
  checkRows(operands, isRowWise);
  emit(name, operands, attributes, segments);
  if (!isScalar)
    return;
  barrier("PIPE_ALL");
  isSettled = true;
  wroteVector = usesScratch = false;
}

void Emitter::fill(Vec dst, Value value) { emitVector("vbrc", {{value}}, dst); }

/// A temporary over the domain, or over `sizes`, whose memory is for at most `bounds` elements.
Emitter::Vec Emitter::temporary(Type element) { return temporary(element, domain, domainBounds); }

Emitter::Vec Emitter::temporary(Type element, ArrayRef<OpFoldResult> sizes,
                                ArrayRef<int64_t> bounds) {
  auto space = npu::SpaceAttr::get(builder.getContext(), npu::Space::UB);
  auto type = MemRefType::get(bounds, element, AffineMap(), space);
  SmallVector<int64_t> extents(bounds);
  if (padsRows && frame.hasFlags())
    extents = npu::paddedRows(bounds, kBlockBits / element.getIntOrFloatBitWidth());
  std::optional<int64_t> address;
  if (frame.isPlanned()) {
    address = scratch;
    scratch += npu::slotBytes(type, padsRows);
    scratchEnd = std::max(scratchEnd, scratch);
    tookScratch = true;
  }
  Value whole = memory(type, extents, 1, address);
  SmallVector<int64_t> shape = llvm::map_to_vector(sizes, [](OpFoldResult size) {
    return getConstantIntValue(size).value_or(ShapedType::kDynamic);
  });
  if (shape == ArrayRef<int64_t>(extents))
    return {whole};
  SmallVector<OpFoldResult> zeros(sizes.size(), builder.getIndexAttr(0)),
      ones(sizes.size(), builder.getIndexAttr(1));
  return {
      builder.create<memref::SubViewOp>(loc, whole, zeros, SmallVector<OpFoldResult>(sizes), ones)};
}

/// Axes along which a source has one element and the domain more.
SmallVector<int64_t> Emitter::broadcastAxes(ArrayRef<Vec> sources) {
  std::set<int64_t> axes;
  for (const Vec &source : sources)
    if (!source.isScalar())
      for (auto [axis, extent] :
           llvm::enumerate(cast<MemRefType>(source.value.getType()).getShape()))
        if (extent == 1 && !isConstantIntValue(domain[axis], 1))
          axes.insert(int64_t(axis));
  return {axes.begin(), axes.end()};
}

/// The operand over the whole domain.
Emitter::Vec Emitter::full(Vec vec) {
  if (!vec.isScalar() && broadcastAxes(vec).empty())
    return vec;
  Vec result = temporary(vec.element());
  result.isUnsigned = vec.isUnsigned;
  (void)copy(nullptr, result, vec);
  return result;
}

/// A constant of an element type.
Emitter::Vec Emitter::number(Type element, double value) {
  TypedAttr attribute = isa<FloatType>(element)
                            ? TypedAttr(builder.getFloatAttr(element, value))
                            : TypedAttr(builder.getIntegerAttr(element, int64_t(value)));
  return {builder.create<arith::ConstantOp>(loc, attribute)};
}

/// The operand with elements of another type, exactly where that can be.
FailureOr<Emitter::Vec> Emitter::as(Operation *op, Vec vec, Type element) {
  Type from = vec.element();
  if (from == element)
    return vec;
  if (vec.isScalar()) {
    auto source = dyn_cast<FloatType>(from), target = dyn_cast<FloatType>(element);
    Value value = vec.value;
    if (source && target) {
      if (source.getWidth() < target.getWidth())
        return Vec{builder.create<arith::ExtFOp>(loc, element, value)};
      if (source.getWidth() > target.getWidth())
        return Vec{builder.create<arith::TruncFOp>(loc, element, value)};
      Value wide = builder.create<arith::ExtFOp>(loc, builder.getF32Type(), value);
      return Vec{builder.create<arith::TruncFOp>(loc, element, wide)};
    }
    if (source)
      return Vec{builder.create<arith::FPToSIOp>(loc, element, value)};
    if (from.isIndex() || element.isIndex()) {
      if (!target)
        return Vec{builder.create<arith::IndexCastOp>(loc, element, value)};
      value = asI64(value);
      from = value.getType();
    }
    if (target)
      return Vec{builder.create<arith::SIToFPOp>(loc, element, value)};
    unsigned a = from.getIntOrFloatBitWidth(), b = element.getIntOrFloatBitWidth();
    if (a > b)
      return Vec{builder.create<arith::TruncIOp>(loc, element, value)};
    if (vec.isUnsigned || a == 1)
      return Vec{builder.create<arith::ExtUIOp>(loc, element, value)};
    return Vec{builder.create<arith::ExtSIOp>(loc, element, value)};
  }
  Vec result = temporary(element);
  // A column or row stays one: the operation broadcasts it.
  if (auto shape = cast<MemRefType>(vec.value.getType()).getShape(); !broadcastAxes(vec).empty()) {
    Sizes sizes(domain);
    SmallVector<int64_t> bounds(domainBounds.begin(), domainBounds.end());
    for (auto [axis, extent] : llvm::enumerate(shape))
      if (extent == 1) {
        sizes[axis] = builder.getIndexAttr(1);
        bounds[axis] = 1;
      }
    result = temporary(element, sizes, bounds);
  }
  if (failed(cast(op, result, vec, "rint")))
    return failure();
  return result;
}

static Type elementTypeOf(const Box &box) {
  return llvm::cast<MemRefType>(box.buffer.getType()).getElementType();
}

/// Operands and destination as views over the domain: the dimensions that the destination's map
/// names, in the destination's order, without those of size 1.
LogicalResult Emitter::elementwise(npu::ElementwiseOp op) {
  Box dst = op.getBox(0);
  SmallVector<int64_t> sizes = staticSizes(dst);
  auto shape = llvm::cast<MemRefType>(dst.buffer.getType()).getShape();
  SmallVector<int64_t> axes;
  domain.clear();
  domainBounds.clear();
  for (auto [dim, at] : llvm::enumerate(op.getMap(0)))
    if (at >= 0 && sizes[dim] != 1) {
      axes.push_back(at);
      domain.push_back(fold(dst.sizes[dim]));
      domainBounds.push_back(ShapedType::isDynamic(sizes[dim]) ? shape[dim] : sizes[dim]);
    }
  if (axes.empty()) {
    axes.push_back(-1);
    domain.push_back(builder.getIndexAttr(1));
    domainBounds.push_back(1);
  }
  SmallVector<Vec> vecs;
  for (unsigned index = 0; index < op.getNumBoxes(); ++index) {
    SmallVector<int> keep;
    for (int64_t axis : axes) {
      keep.push_back(-1);
      for (auto [dim, at] : llvm::enumerate(op.getMap(index)))
        if (axis >= 0 && at == axis)
          keep.back() = int(dim);
    }
    Box box = op.getBox(index);
    bool isUnsigned =
        llvm::cast<MemRefType>(box.buffer.getType()).getElementType().isUnsignedInteger();
    SmallVector<int> real;
    llvm::copy_if(keep, std::back_inserter(real), [](int dim) { return dim >= 0; });
    if (llvm::is_sorted(real)) {
      vecs.push_back({view(box, keep), isUnsigned});
      continue;
    }
    if (index == 0 || real.size() != 2 || keep.size() != 2)
      return refuse(op, "permuting dimensions but two");
    // Two dimensions change places, directly if that is all.
    if (op.getFn() == Fn::Copy && op.getNumBoxes() == 2 && broadcastAxes(vecs.front()).empty()) {
      emitVector("vtranspose", {{view(box, {real[1], real[0]})}}, vecs.front(),
                 array("permutation", {1, 0}));
      return success();
    }
    Vec turned = temporary(llvm::cast<MemRefType>(box.buffer.getType()).getElementType());
    turned.isUnsigned = isUnsigned;
    emitVector("vtranspose", {{view(box, {real[1], real[0]})}}, turned,
               array("permutation", {1, 0}));
    vecs.push_back(turned);
  }
  SmallVector<Vec> sources(ArrayRef(vecs).drop_front());
  if (op.getScalar()) {
    Vec scalar{mapping.lookup(op.getScalar())};
    if (!sources.empty() && op.getFn() != Fn::Select) {
      FailureOr<Vec> same = as(op, scalar, sources.front().element());
      if (failed(same))
        return failure();
      scalar = *same;
    }
    sources.insert(op.getScalarFirst() ? sources.begin() : sources.end(), scalar);
  }
  // Bytes stand for bools: what is not 0 becomes 1, the complement of 1 is 0.
  bool isBool = elementTypeOf(dst).isInteger(1) && !vecs.front().element().isInteger(1);
  if (op.getFn() == Fn::Cast && isBool && op.getNumBoxes() > 1 &&
      !elementTypeOf(op.getBox(1)).isInteger(1))
    return compare(op, Fn::NE, vecs.front(), sources.front(), number(sources.front().element(), 0));
  if (op.getFn() == Fn::Not && (isBool || elementTypeOf(op.getBox(1)).isInteger(1)))
    if (isBool || !sources.front().element().isInteger(1))
      return compare(op, Fn::EQ, vecs.front(), sources.front(),
                     number(sources.front().element(), 0));
  return apply(op, op.getFn(), vecs.front(), sources, op.getRound());
}
