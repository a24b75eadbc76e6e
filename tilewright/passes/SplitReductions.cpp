// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions in pieces, where the plan leaves too little room for what they take beside their
// operands.

#include "tilewright/passes/SplitReductions.h"

#include "tilewright/npu/NpuOps.h"
#include "tilewright/npu/Rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <numeric>

using namespace mlir;
using namespace tilewright;

namespace {

/// A reduction along the last dimension of its source that has more than one element.
struct Rows {
  int64_t count = 1, bytes = 0; ///< rows, and what each of them takes beside the operands
  unsigned dim = 0;             ///< the outermost dimension with more than one row
  int64_t outer = 1;            ///< and how many it has

  /// None for a reduction of another kind, or of a size that is known at run time only.
  static std::optional<Rows> of(npu::ReduceOp op) {
    Box src = op.getBox(1);
    SmallVector<int64_t> sizes = staticSizes(src);
    if (op.getDims().size() != 1 || llvm::any_of(sizes, ShapedType::isDynamic))
      return std::nullopt;
    auto last = unsigned(op.getDims().front());
    if (llvm::any_of(ArrayRef(sizes).drop_front(last + 1), [](int64_t size) { return size != 1; }))
      return std::nullopt;
    Rows rows;
    for (unsigned dim = last; dim-- > 0;)
      if (sizes[dim] != 1) {
        rows.count *= sizes[dim];
        rows.dim = dim;
        rows.outer = sizes[dim];
      }
    Type element = cast<MemRefType>(src.buffer.getType()).getElementType();
    if (!element.isIntOrFloat() || element.isInteger(1))
      return std::nullopt;
    rows.bytes = npu::reductionRoom(op.getKind(), element, 1, sizes[last]) *
                 element.getIntOrFloatBitWidth() / 8;
    return rows;
  }
};

/// The fewest rows along `dim` of the destination after which the next begin at a 32-byte block.
int64_t alignedRows(const Box &box, unsigned dim) {
  auto type = cast<MemRefType>(box.buffer.getType());
  auto alloc = box.buffer.getDefiningOp<npu::AllocOp>();
  SmallVector<int64_t> shape = npu::pitchShape(type, alloc && alloc.getPadRows());
  int64_t bits = type.getElementType().getIntOrFloatBitWidth();
  for (int64_t extent : ArrayRef(shape).drop_front(dim + 1))
    bits *= extent;
  constexpr int64_t kBlockBits = 256;
  return kBlockBits / std::gcd(kBlockBits, bits);
}

Value shifted(OpBuilder &builder, Location loc, Value offset, int64_t by) {
  if (by == 0)
    return offset;
  if (std::optional<int64_t> known = constantOf(offset))
    return builder.create<arith::ConstantIndexOp>(loc, *known + by);
  return builder.create<arith::AddIOp>(loc, offset,
                                       builder.create<arith::ConstantIndexOp>(loc, by));
}

void split(npu::ReduceOp op, const Rows &rows, int64_t bytes) {
  auto follows = llvm::find(op.getDstMap(), int64_t(rows.dim));
  if (follows == op.getDstMap().end())
    return;
  auto to = unsigned(follows - op.getDstMap().begin());
  int64_t inner = rows.count / rows.outer, unit = alignedRows(op.getBox(0), to);
  int64_t step = bytes / (rows.bytes * inner) / unit * unit;
  if (step == 0 || step >= rows.outer)
    return;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  for (int64_t row = 0; row < rows.outer; row += step) {
    Value count = builder.create<arith::ConstantIndexOp>(loc, std::min(step, rows.outer - row));
    SmallVector<Value> offsets, sizes;
    for (auto [index, dim] : {std::pair(0u, to), std::pair(1u, rows.dim)}) {
      Box box = op.getBox(index);
      SmallVector<Value> at(box.offsets), extents(box.sizes);
      at[dim] = shifted(builder, loc, at[dim], row);
      extents[dim] = count;
      llvm::append_range(offsets, at);
      llvm::append_range(sizes, extents);
    }
    builder.create<npu::ReduceOp>(loc, op.getBuffers(), offsets, sizes, op.getKind(), op.getDims(),
                                  op.getDstMap(), op.getAccumulate());
  }
  op.erase();
}

} // namespace

int64_t passes::roomForReductions(func::FuncOp function) {
  int64_t most = 0;
  function.walk([&](npu::ReduceOp op) {
    if (std::optional<Rows> rows = Rows::of(op))
      most = std::max(most, rows->count * rows->bytes);
  });
  return most;
}

void passes::splitReductions(func::FuncOp function, int64_t bytes) {
  SmallVector<npu::ReduceOp> ops;
  function.walk([&](npu::ReduceOp op) { ops.push_back(op); });
  for (npu::ReduceOp op : ops)
    if (std::optional<Rows> rows = Rows::of(op); rows && rows->count * rows->bytes > bytes)
      split(op, *rows, bytes);
}
