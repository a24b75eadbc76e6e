// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// npu-legalize: scans along rows, and of narrow floats.

#include "tilewright/npu/Rows.h"
#include "tilewright/passes/NpuLegalize.h"
#include "tilewright/passes/ScalarLoops.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes::legal;

/// Narrow floats in f32, rounded once; rows as columns, or on the scalar unit.
bool Legalizer::scan(npu::ScanOp op) {
  Box to = op.getBox(0), from = op.getBox(1);
  SmallVector<int64_t> map = llvm::to_vector(llvm::seq<int64_t>(0, to.sizes.size()));
  Operand dst = operandOf(to, map), src = operandOf(from, map);
  bool isNarrow = dst.element().isF16() || dst.element().isBF16();
  if (src.element() != dst.element())
    return false;
  if (!isNarrow)
    return scanAsColumns(op, dst, src) || passes::makeScalarLoop(builder, op);
  Operand in = widened(src, f32()), out = temporary(f32(), dst);
  if (!scanAsColumns(op, out, in)) {
    npu::ScanOp wide = createScan(op, out, in, op.getDim());
    if (passes::makeScalarLoop(builder, wide))
      wide.erase();
  }
  convertOrCreate(dst, out, Round::Rint);
  return true;
}

npu::ScanOp Legalizer::createScan(npu::ScanOp like, const Operand &dst, const Operand &src,
                                  unsigned dim) {
  SmallVector<Value> offsets(dst.offsets), sizes(dst.sizes);
  llvm::append_range(offsets, src.offsets);
  llvm::append_range(sizes, src.sizes);
  return builder.create<npu::ScanOp>(loc, ValueRange{dst.buffer, src.buffer}, offsets, sizes,
                                     like.getKind(), dim, like.getReverse());
}

/// A scan along rows of 32-bit elements as one along columns, in place between two
/// transpositions; false where that is slower than the scalar unit's loop or may not fit.
bool Legalizer::scanAsColumns(npu::ScanOp op, const Operand &dst, const Operand &src) {
  Type element = dst.element();
  SmallVector<int64_t> shape;
  SmallVector<int64_t> map(dst.sizes.size(), -1); // dimensions of one element follow none
  for (auto [dim, size] : llvm::enumerate(dst.sizes)) {
    std::optional<int64_t> known = constantOf(size);
    if (!known)
      return false;
    if (*known == 1)
      continue;
    map[dim] = 1 - int64_t(shape.size());
    shape.push_back(*known);
  }
  bool isRow = op.getDim() + 1 == dst.sizes.size() && map.back() == 0;
  if (!isRow || shape.size() != 2 || !(element.isF32() || element.isSignlessInteger(32)) ||
      (op.getKind() != ReduceKind::Sum && op.getKind() != ReduceKind::Prod))
    return false;
  int64_t rows = shape[0], columns = shape[1];
  auto space = npu::SpaceAttr::get(builder.getContext(), npu::Space::UB);
  auto type = MemRefType::get({columns, rows}, element, AffineMap(), space);
  int64_t bytes = npu::slotBytes(type, /*padRows=*/true);
  if (!isFaster(rows, columns, bytes) || bytesInUb() + bytes > chip.ubBytes)
    return false;
  Value zero = builder.create<arith::ConstantIndexOp>(loc, 0);
  auto alloc = OpBuilder::atBlockBegin(&function.front())
                   .create<npu::AllocOp>(loc, type,
                                         builder.getStringAttr(npu::nameOf(dst.buffer) + ".turned"),
                                         builder.getI64IntegerAttr(1), IntegerAttr(), UnitAttr());
  Operand turned{alloc.getResult(), {zero, zero}, {dst.sizes.back(), Value()}, {0, 1}};
  for (auto [dim, size] : llvm::zip_equal(map, dst.sizes))
    if (dim == 1)
      turned.sizes[1] = size;
  Operand from = src, to = dst;
  from.map = map;
  create(Fn::Copy, turned, from);
  createScan(op, turned, turned, 0);
  turned.map = {1, 0};
  for (int64_t &dim : map)
    dim = dim < 0 ? -1 : 1 - dim;
  to.map = map;
  create(Fn::Copy, to, turned);
  return true;
}

/// Two transpositions and a pass for each element of a row, against three accesses of the scalar
/// unit and an operation for each element.
bool Legalizer::isFaster(int64_t rows, int64_t columns, int64_t bytes) const {
  double repeats = double(llvm::divideCeil(bytes, int64_t(chip.vecRepeatBytes)));
  double strips = double(llvm::divideCeil(columns, 16) + llvm::divideCeil(rows, 16));
  double turns = 2 * repeats * chip.vecCycles("transpose", 4) + strips * chip.vecFixed;
  double passes =
      repeats * chip.vecCycles("add", 4) + double(columns) * (chip.vecFixed + chip.vecBarrierTail);
  return turns + passes < double(rows * columns) * (3 * chip.scalarElement + 1);
}

/// Bytes of all tiles in UB, as if none shared its place.
int64_t Legalizer::bytesInUb() {
  int64_t bytes = 0;
  function.walk([&](npu::AllocOp alloc) {
    if (npu::spaceOf(alloc.getResult()) == npu::Space::UB)
      bytes += int64_t(alloc.getSlots()) * npu::slotBytes(alloc.getType(), /*padRows=*/true);
  });
  return bytes;
}
