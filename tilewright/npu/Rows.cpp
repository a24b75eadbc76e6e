// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/npu/Rows.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::npu;

namespace {

/// Bits of a block of UB. Bools are bits on the device.
constexpr int64_t kBlockBits = 256;

int64_t byteWidth(Type element) {
  return element.isIndex() ? 8 : int64_t(llvm::divideCeil(element.getIntOrFloatBitWidth(), 8));
}

/// A dimension of a box that has more than one element; kDynamic where that is not known.
struct Extent {
  int64_t size, stride;
};

/// The dimensions of a box in elements, innermost first, without those of size 1.
SmallVector<Extent> extentsOf(const Box &box) {
  auto type = cast<MemRefType>(box.buffer.getType());
  auto alloc = box.buffer.getDefiningOp<npu::AllocOp>();
  SmallVector<int64_t> shape = pitchShape(type, alloc && alloc.getPadRows());
  SmallVector<int64_t> sizes = staticSizes(box);
  if (sizes.empty()) // a single element
    return {};
  SmallVector<Extent> extents;
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (sizes[dim] != 1)
      extents.push_back({sizes[dim], stride});
    bool isKnown = !ShapedType::isDynamic(stride) && !ShapedType::isDynamic(shape[dim]);
    stride = isKnown ? stride * shape[dim] : ShapedType::kDynamic;
  }
  return extents;
}

bool isPadded(const Box &box) {
  auto alloc = box.buffer.getDefiningOp<npu::AllocOp>();
  return alloc && alloc.getPadRows();
}

/// The rows of the box do not follow each other as one run.
bool hasGaps(const Box &box) {
  SmallVector<Extent> extents = extentsOf(box);
  if (isPadded(box) && extents.size() > 1)
    return true;
  int64_t next = 1;
  for (auto [size, stride] : extents) {
    if (stride != next || ShapedType::isDynamic(stride))
      return true;
    next = ShapedType::isDynamic(size) ? ShapedType::kDynamic : size * stride;
  }
  return false;
}

/// An operand has one element along a dimension of the domain, or the dimensions in another order.
bool isShapedAnew(npu::ElementwiseOp op) {
  SmallVector<int64_t> sizes = staticSizes(op.getBox(0));
  SmallVector<int64_t> domain;
  for (auto [dim, at] : llvm::enumerate(op.getMap(0)))
    if (at >= 0 && sizes[dim] != 1)
      domain.push_back(at);
  for (unsigned index = 0; index < op.getNumBoxes(); ++index) {
    SmallVector<int64_t> found, extents = staticSizes(op.getBox(index));
    for (auto [dim, at] : llvm::enumerate(op.getMap(index)))
      if (at >= 0 && extents[dim] != 1 && llvm::is_contained(domain, at))
        found.push_back(at);
    if (found != domain)
      return true;
  }
  return false;
}

} // namespace

SmallVector<int64_t> npu::paddedRows(ArrayRef<int64_t> shape, int64_t blockElements) {
  SmallVector<int64_t> padded(shape);
  auto isLong = [](int64_t extent) { return extent != 1; };
  if (llvm::count_if(shape, isLong) < 2)
    return padded;
  size_t row = shape.size() - 1;
  while (!isLong(shape[row]))
    --row;
  padded[row] = int64_t(llvm::alignTo(shape[row], blockElements));
  return padded;
}

SmallVector<int64_t> npu::pitchShape(MemRefType type, bool padRows) {
  SmallVector<int64_t> shape(type.getShape());
  Space space = spaceOf(type);
  int64_t bytes = byteWidth(type.getElementType());
  if (padRows)
    return paddedRows(shape, kBlockBits / 8 / bytes);
  if (shape.size() < 2 || !isFractal(space))
    return shape;
  shape.back() = int64_t(llvm::alignTo(shape.back(), space == Space::L0C ? 16 : 32 / bytes));
  shape[shape.size() - 2] = int64_t(llvm::alignTo(shape[shape.size() - 2], 16));
  return shape;
}

bool npu::takesRows(Operation *op) {
  auto access = dyn_cast<AccessInterface>(op);
  if (!access)
    return false;
  if (isa<npu::ReduceOp, npu::ScanOp, npu::GatherOp>(op))
    return true;
  if (auto elementwise = dyn_cast<npu::ElementwiseOp>(op); elementwise && isShapedAnew(elementwise))
    return true;
  for (unsigned index = 0; index < access.getNumBoxes(); ++index)
    if (hasGaps(access.getBox(index)))
      return true;
  return false;
}

bool npu::hasUnalignedRows(const Box &box) {
  if (spaceOf(box.buffer) != Space::UB || isPadded(box))
    return false;
  int64_t bits = cast<MemRefType>(box.buffer.getType()).getElementTypeBitWidth();
  return llvm::any_of(
      ArrayRef(extentsOf(box)).drop_front(std::min<size_t>(1, extentsOf(box).size())),
      [&](Extent extent) { return extent.stride * bits % kBlockBits != 0; });
}

int64_t npu::reductionRoom(ReduceKind kind, Type element, int64_t rows, int64_t columns) {
  bool folds = (element.isF32() || element.isF16()) &&
               (kind == ReduceKind::Sum || kind == ReduceKind::Max || kind == ReduceKind::Min);
  if (!folds)
    return rows * columns;
  constexpr int64_t kRepeatBits = 2048;
  int64_t repeat = kRepeatBits / element.getIntOrFloatBitWidth();
  return columns <= repeat ? 0 : rows * std::max(repeat, int64_t(llvm::divideCeil(columns, 2)));
}
