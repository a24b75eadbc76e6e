// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// npu-legalize: reductions, a dimension at a time, in the type in which they are kept.

#include "tilewright/passes/NpuLegalize.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes::legal;

/// Sizes of elements first, then their sum or maximum, in the type in which it is kept; then, if
/// the destination goes on, that with what it held.
bool Legalizer::reduce(npu::ReduceOp op) {
  Box to = op.getBox(0), from = op.getBox(1);
  ReduceKind kind = op.getKind();
  auto rank = int64_t(staticSizes(from).size());
  Operand src = operandOf(from, llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  Operand dst = operandOf(to, llvm::to_vector(llvm::seq<int64_t>(0, to.sizes.size())));
  Type type = src.element(), element = dst.element();
  if (isWide(type) || isWide(element) || type.isUnsignedInteger() || type.isInteger(1) ||
      element != type)
    return false;
  bool isAbs = kind == ReduceKind::AbsSum || kind == ReduceKind::AbsMax;
  bool sums = kind == ReduceKind::Sum || kind == ReduceKind::AbsSum || kind == ReduceKind::Prod;
  Type wide = type.isBF16() || (type.isF16() && sums) ? f32() : type;
  if (isa<IntegerType>(type) && type.getIntOrFloatBitWidth() < 16)
    wide = builder.getI32Type();
  SmallVector<int64_t> sizes = staticSizes(from);
  SmallVector<int64_t> dims; // from the last one outward, as their order is
  for (int64_t dim : llvm::reverse(llvm::seq<int64_t>(0, rank)))
    if (sizes[dim] != 1 && llvm::is_contained(op.getDims(), dim))
      dims.push_back(dim);
  if (!isAbs && wide == type && !op.getAccumulate() && dims.size() == 1)
    return false;
  Operand in = widened(src, wide);
  if (isAbs) {
    Operand positive = temporary(wide, src);
    create(Fn::Abs, positive, in);
    in = positive;
    kind = kind == ReduceKind::AbsSum ? ReduceKind::Sum : ReduceKind::Max;
  }
  bool isDirect = wide == element && !op.getAccumulate();
  Operand out = isDirect ? dst : temporary(wide, dst);
  while (dims.size() > 1) {
    Operand rest = in;
    rest.sizes[dims.front()] = builder.create<arith::ConstantIndexOp>(loc, 1);
    rest = temporary(wide, rest);
    SmallVector<int64_t> map(rest.map);
    map[dims.front()] = -1;
    reduceInto(kind, rest, in, dims.front(), map);
    in = rest;
    dims.erase(dims.begin());
  }
  if (dims.empty())
    copyOver(op, out, in);
  else
    reduceInto(kind, out, in, op.getDims(), op.getDstMap());
  if (isDirect)
    return true;
  if (!op.getAccumulate()) {
    convertOrCreate(dst, out, Round::Rint);
    return true;
  }
  Operand sum = wide == element ? dst : out;
  create(combinationOf(kind), sum, {widened(dst, wide), out});
  if (wide != element)
    convertOrCreate(dst, sum, Round::Rint);
  return true;
}

void Legalizer::reduceInto(ReduceKind kind, const Operand &dst, const Operand &src,
                           ArrayRef<int64_t> dims, ArrayRef<int64_t> map) {
  SmallVector<Value> offsets(dst.offsets), sizes(dst.sizes);
  llvm::append_range(offsets, src.offsets);
  llvm::append_range(sizes, src.sizes);
  builder.create<npu::ReduceOp>(loc, ValueRange{dst.buffer, src.buffer}, offsets, sizes, kind, dims,
                                map, /*accumulate=*/false);
}

/// A reduction of nothing but single elements.
void Legalizer::copyOver(npu::ReduceOp op, const Operand &out, Operand in) {
  in.map.assign(in.sizes.size(), -1);
  for (auto [dim, follows] : llvm::enumerate(op.getDstMap()))
    if (follows >= 0)
      in.map[follows] = int64_t(dim);
  create(Fn::Copy, out, in);
}

Fn Legalizer::combinationOf(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Max:
  case ReduceKind::AbsMax:
    return Fn::MaxNum;
  case ReduceKind::Min:
    return Fn::MinNum;
  case ReduceKind::Prod:
    return Fn::Mul;
  case ReduceKind::And:
    return Fn::And;
  case ReduceKind::Or:
    return Fn::Or;
  case ReduceKind::Xor:
    return Fn::Xor;
  case ReduceKind::Sum:
  case ReduceKind::AbsSum:
    break;
  }
  return Fn::Add;
}
