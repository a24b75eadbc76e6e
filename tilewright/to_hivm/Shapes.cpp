// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions, scans, counting, lookup.

#include "tilewright/to_hivm/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::to_hivm;

static Type elementOf(const Box &box) {
  return signless(cast<MemRefType>(box.buffer.getType()).getElementType());
}

/// Along the dimensions of the source that are not 1; the destination keeps them, with size 1 where
/// they are reduced.
LogicalResult Emitter::reduce(npu::ReduceOp op) {
  Box dst = op.getBox(0), src = op.getBox(1);
  SmallVector<int64_t> sizes = staticSizes(src), axes;
  auto shape = llvm::cast<MemRefType>(src.buffer.getType()).getShape();
  SmallVector<int> from, to;
  domain.clear();
  domainBounds.clear();
  Sizes left;
  SmallVector<int64_t> leftBounds;
  int last = int(sizes.size()) - 1;
  for (int dim = 0; dim <= last; ++dim) {
    // The order of sums is another one along the last dimension, whatever its size is.
    bool isBehind = dim == last && !from.empty() && llvm::is_contained(op.getDims(), from.back());
    if (sizes[dim] == 1 && !isBehind)
      continue;
    from.push_back(dim);
    to.push_back(-1);
    domain.push_back(fold(src.sizes[dim]));
    domainBounds.push_back(ShapedType::isDynamic(sizes[dim]) ? shape[dim] : sizes[dim]);
    left.push_back(domain.back());
    leftBounds.push_back(domainBounds.back());
    if (sizes[dim] != 1 && llvm::is_contained(op.getDims(), int64_t(dim))) {
      axes.push_back(int64_t(from.size()) - 1);
      left.back() = builder.getIndexAttr(1);
      leftBounds.back() = 1;
      continue;
    }
    for (auto [at, follows] : llvm::enumerate(op.getDstMap()))
      if (follows == dim)
        to.back() = int(at);
  }
  if (from.empty()) {
    from.assign(1, -1);
    to.assign(1, -1);
    domain.assign(1, builder.getIndexAttr(1));
    left = domain;
    domainBounds.assign(1, 1);
    leftBounds.assign(1, 1);
  }
  Vec result{view(dst, to)}, source{view(src, from)};
  ReduceKind kind = op.getKind();
  auto given = llvm::cast<MemRefType>(src.buffer.getType()).getElementType();
  source.isUnsigned = given.isUnsignedInteger();
  bool hasOrder = kind == ReduceKind::Max || kind == ReduceKind::Min || kind == ReduceKind::AbsMax;
  if (hasOrder && source.isUnsigned && given.getIntOrFloatBitWidth() > 8)
    return refuse(op, "an order of unsigned integers of more than 8 bits");
  bool isAbs = kind == ReduceKind::AbsSum || kind == ReduceKind::AbsMax;
  bool sums = kind == ReduceKind::Sum || kind == ReduceKind::AbsSum || kind == ReduceKind::Prod;
  Type element = result.element(), type = source.element();
  if (type.isBF16() || (type.isF16() && sums)) // sums of narrow floats are kept in f32
    type = builder.getF32Type();
  if (isa<IntegerType>(type) && type.getIntOrFloatBitWidth() < 16 && !type.isInteger(1))
    type = builder.getI32Type();
  FailureOr<Vec> in = as(op, source, type);
  if (failed(in))
    return failure();
  if (isAbs) {
    Vec positive = temporary(type);
    if (failed(unary(op, Fn::Abs, positive, *in)))
      return failure();
    in = positive;
  }
  bool isDirect = type == element && !op.getAccumulate();
  Vec out = isDirect ? result : temporary(type, left, leftBounds);
  Fn combine = Fn::Add;
  StringRef name = "sum";
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::AbsSum:
    break;
  case ReduceKind::Max:
  case ReduceKind::AbsMax:
    name = "max";
    combine = Fn::Max;
    break;
  case ReduceKind::Min:
    name = "min";
    combine = Fn::Min;
    break;
  case ReduceKind::Prod:
    name = "prod";
    combine = Fn::Mul;
    break;
  case ReduceKind::And:
    name = type.isInteger(1) ? "all" : "andi";
    combine = Fn::And;
    break;
  case ReduceKind::Or:
    name = type.isInteger(1) ? "any" : "ori";
    combine = Fn::Or;
    break;
  case ReduceKind::Xor:
    name = "xori";
    combine = Fn::Xor;
    break;
  }
  if (axes.empty()) {
    if (failed(copy(op, out, *in)))
      return failure();
  } else {
    SmallVector<NamedAttribute> attributes = {word("arith", "reduce_op", name),
                                              array("reduce_dims", axes)};
    emitVector("vreduce", *in, out, attributes, {1, 1, 0, 0});
  }
  if (isDirect)
    return success();
  domain = left;
  domainBounds.assign(leftBounds.begin(), leftBounds.end());
  if (!op.getAccumulate())
    return cast(op, result, out, "rint");
  FailureOr<Vec> before = as(op, result, type);
  if (failed(before))
    return failure();
  if (type == element)
    return binary(op, combine, result, result, out);
  Vec sum = temporary(type);
  if (failed(binary(op, combine, sum, *before, out)))
    return failure();
  return cast(op, result, sum, "rint");
}

LogicalResult Emitter::scan(npu::ScanOp op) {
  Box dst = op.getBox(0), src = op.getBox(1);
  if (op.getKind() != ReduceKind::Sum && op.getKind() != ReduceKind::Prod)
    return refuse(op, "a scan that neither adds nor multiplies");
  SmallVector<int64_t> sizes = staticSizes(src);
  auto shape = llvm::cast<MemRefType>(src.buffer.getType()).getShape();
  SmallVector<int> keep;
  int64_t axis = 0;
  domain.clear();
  domainBounds.clear();
  for (int dim = 0; dim < int(sizes.size()); ++dim) {
    if (sizes[dim] == 1 && dim != int(op.getDim()))
      continue;
    if (dim == int(op.getDim()))
      axis = int64_t(keep.size());
    keep.push_back(dim);
    domain.push_back(fold(src.sizes[dim]));
    domainBounds.push_back(ShapedType::isDynamic(sizes[dim]) ? shape[dim] : sizes[dim]);
  }
  Type element = elementOf(dst), type = elementOf(src);
  if (isa<FloatType>(type))
    type = builder.getF32Type();
  FailureOr<Vec> in = as(op, Vec{view(src, keep)}, type);
  if (failed(in))
    return failure();
  Vec result{view(dst, keep)}, out = type == element ? result : temporary(type);
  emitVector(op.getKind() == ReduceKind::Sum ? "vcumsum" : "vcumprod", *in, out,
             {array("cum_dims", axis), named("reverse", builder.getBoolAttr(op.getReverse()))});
  return type == element ? success() : cast(op, result, out, "rint");
}

/// The largest number of an index as far as it is known: its start and steps are 32 bits there.
static int64_t reachOf(npu::IotaOp op, ArrayRef<int64_t> sizes) {
  int64_t reach = std::abs(getConstantIntValue(op.getStart()).value_or(0));
  for (auto [step, size] : llvm::zip(op.getSteps(), sizes))
    if (auto known = getConstantIntValue(step); known && !ShapedType::isDynamic(size))
      reach += std::abs(*known) * (size - 1);
  return reach;
}

LogicalResult Emitter::iota(npu::IotaOp op) {
  Box dst = op.getBox(0);
  SmallVector<int64_t> sizes = staticSizes(dst);
  auto shape = llvm::cast<MemRefType>(dst.buffer.getType()).getShape();
  if (elementOf(dst).isInteger(64) && reachOf(op, sizes) > std::numeric_limits<int32_t>::max())
    return refuse(op, "an index beyond 32 bits");
  SmallVector<int> keep;
  SmallVector<Value> operands;
  domain.clear();
  domainBounds.clear();
  for (int dim = 0; dim < int(sizes.size()); ++dim) {
    if (sizes[dim] == 1 && !(keep.empty() && dim + 1 == int(sizes.size())))
      continue;
    keep.push_back(dim);
    domain.push_back(fold(dst.sizes[dim]));
    domainBounds.push_back(ShapedType::isDynamic(sizes[dim]) ? shape[dim] : sizes[dim]);
  }
  Vec result{view(dst, keep)};
  Type element = elementOf(dst), i32 = builder.getI32Type();
  Vec out = element == i32 ? result : temporary(i32);
  operands = {out.value, mapping.lookup(op.getStart())};
  for (int dim : keep)
    operands.push_back(mapping.lookup(op.getSteps()[dim]));
  emit("varange", operands, {}, {1, 1, int32_t(keep.size())});
  wroteVector = true;
  return element == i32 ? success() : cast(op, result, out, "rint");
}

LogicalResult Emitter::gather(npu::GatherOp op) {
  Box dst = op.getBox(0), table = op.getBox(1), index = op.getBox(2);
  SmallVector<int> keep;
  SmallVector<int64_t> sizes[3] = {staticSizes(dst), staticSizes(table), staticSizes(index)};
  for (int dim = 0; dim < int(sizes[0].size()); ++dim)
    if (sizes[0][dim] != 1 || sizes[1][dim] != 1 || sizes[2][dim] != 1)
      keep.push_back(dim);
  if (keep.empty())
    keep.push_back(-1);
  if (!elementOf(index).isInteger(32))
    return refuse(op, "a lookup by anything but 32-bit indices");
  emitVector("vgather", {{view(table, keep)}, {view(index, keep)}}, {view(dst, keep)});
  return success();
}
