// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers as memrefs, boxes as views of them.

#include "tilewright/to_hivm/Emitter.h"

#include "tilewright/hivm/HivmDialect.h"
#include "tilewright/npu/Rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::to_hivm;

Type to_hivm::signless(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer ? IntegerType::get(type.getContext(), integer.getWidth()) : type;
}

static StringRef spaceName(npu::Space space) {
  switch (space) {
  case npu::Space::L1:
    return "cbuf";
  case npu::Space::L0A:
    return "ca";
  case npu::Space::L0B:
    return "cb";
  case npu::Space::L0C:
    return "cc";
  case npu::Space::UB:
    return "ub";
  default:
    return "gm";
  }
}

MemRefType to_hivm::hivmType(MemRefType type, ArrayRef<int64_t> shape) {
  auto space =
      hivm::WordAttr::get(type.getContext(), "address_space", spaceName(npu::spaceOf(type)));
  return MemRefType::get(shape, signless(type.getElementType()), AffineMap(), space);
}

Value Emitter::constant(int64_t value) {
  return builder.create<arith::ConstantIndexOp>(loc, value);
}

Value Emitter::asI64(Value index) {
  return builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), index);
}

OpFoldResult Emitter::fold(Value value) {
  if (auto known = constantOf(value))
    return builder.getIndexAttr(*known);
  return mapping.lookup(value);
}

Emitter::Sizes Emitter::fold(ValueRange values) {
  Sizes result;
  for (Value value : values)
    result.push_back(fold(value));
  return result;
}

/// Sizes of a whole buffer; run-time ones of an argument are parameters of the function.
Emitter::Sizes Emitter::extentsOf(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  Sizes extents;
  for (auto [dim, extent] : llvm::enumerate(type.getShape())) {
    if (!ShapedType::isDynamic(extent)) {
      extents.push_back(builder.getIndexAttr(extent));
      continue;
    }
    unsigned operand = cast<BlockArgument>(buffer).getArgNumber();
    unsigned parameter = frame.sizes.at({operand, int(dim)});
    Value size = target.getArgument(3 + parameter);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&target.front());
    extents.push_back(
        builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), size).getResult());
  }
  return extents;
}

static SmallVector<int64_t> fractalShape(MemRefType type);

/// On-chip memory of a type and, in UB, these extents, as many as `slots` in a row.
Value Emitter::memory(MemRefType type, ArrayRef<int64_t> extents, int64_t slots,
                      std::optional<int64_t> address) {
  npu::Space space = npu::spaceOf(type);
  bool isFractal = space == npu::Space::L1 || space == npu::Space::L0C;
  SmallVector<int64_t> shape = isFractal ? fractalShape(type) : SmallVector<int64_t>(extents);
  if (slots > 1)
    shape.insert(shape.begin(), slots);
  MemRefType result = hivmType(type, shape);
  if (!address)
    return builder.create<memref::AllocOp>(loc, result);
  Value where = builder.create<arith::ConstantIntOp>(loc, *address, 64);
  return emit("pointer_cast", where, {}, {1, 0}, TypeRange(result))->getResult(0);
}

/// The innermost block that holds all uses of a buffer but those that go to its next slot.
static Block *commonBlock(npu::AllocOp alloc) {
  Block *block = nullptr;
  for (Operation *user : alloc->getUsers()) {
    if (isa<npu::AdvanceOp>(user))
      continue;
    if (!block)
      block = user->getBlock();
    while (!block->findAncestorOpInBlock(*user))
      block = block->getParentOp()->getBlock();
  }
  return block;
}

/// Nothing of what was in the buffer before is left behind `op`.
static bool overwrites(Operation *op, Value buffer) {
  auto access = dyn_cast<AccessInterface>(op);
  if (!access)
    return false;
  bool isWritten = false;
  for (unsigned index = 0; index < access.getNumBoxes(); ++index) {
    Box box = access.getBox(index);
    if (box.buffer != buffer)
      continue;
    bool isWhole =
        ArrayRef<int64_t>(staticSizes(box)) == cast<MemRefType>(buffer.getType()).getShape();
    auto mmad = dyn_cast<npu::MmadOp>(op);
    bool clears = mmad && constantOf(mmad.getInit()).value_or(0) != 0;
    if (!isWhole || (reads(access.getAccessKind(index)) && !(clears && index == 0)))
      return false;
    isWritten = true;
  }
  return isWritten;
}

/// Where another compiler plans, buffers that no turn of a loop leaves to the next are declared in
/// its body: that is where it looks for what may share memory, and for what may have slots.
void Emitter::sinkBuffers() {
  source.walk([&](npu::AllocOp alloc) {
    npu::Space space = npu::spaceOf(alloc.getResult());
    Block *block = commonBlock(alloc);
    if (!block || block == alloc->getBlock() || space == npu::Space::Reg ||
        space == npu::Space::Workspace)
      return;
    Operation *first = nullptr, *advance = nullptr;
    for (Operation *user : alloc->getUsers()) {
      if (isa<npu::AdvanceOp>(user)) {
        advance = advance ? alloc.getOperation() : user; // two: the slots are not a loop's
        continue;
      }
      Operation *at = block->findAncestorOpInBlock(*user);
      first = !first || at->isBeforeInBlock(first) ? at : first;
    }
    if (alloc.getSlots() > 1) {
      if (advance && advance->getBlock() == block && advance->isBeforeInBlock(first))
        sunk[advance].push_back(alloc);
    } else if (overwrites(first, alloc.getResult())) {
      sunk[first].push_back(alloc);
    }
  });
}

/// Bools are bytes in global memory, for the scalar unit and for the movers; HIVM's vector unit has
/// them as bits. Tiles that more than the vector unit touches hold bytes.
MemRefType to_hivm::storedType(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (!type.getElementType().isInteger(1) || npu::spaceOf(type) == npu::Space::Reg)
    return type;
  bool hasBits =
      npu::spaceOf(type) == npu::Space::UB && llvm::none_of(buffer.getUsers(), [](Operation *user) {
        return isa<npu::ScalarLoadOp, npu::ScalarStoreOp, npu::LoadOp, npu::StoreOp>(user);
      });
  if (hasBits)
    return type;
  return MemRefType::get(type.getShape(), IntegerType::get(type.getContext(), 8), AffineMap(),
                         type.getMemorySpace());
}

/// The extents of a tile in UB with rows at 32-byte blocks, of which bits have 256 elements.
static SmallVector<int64_t> paddedShape(MemRefType type) {
  return npu::paddedRows(type.getShape(), kBlockBits / type.getElementTypeBitWidth());
}

/// Slots are padded, so that they are no dimension of one memref.
static bool hasGaps(npu::AllocOp op) {
  MemRefType type = storedType(op.getResult());
  int64_t elements = 1;
  for (int64_t extent : op.getPadRows() ? paddedShape(type) : SmallVector<int64_t>(type.getShape()))
    elements *= extent;
  int64_t bits = elements * type.getElementTypeBitWidth();
  return op.getSlots() > 1 && npu::spaceOf(type) == npu::Space::UB && bits != 8 * op.getSlotBytes();
}

LogicalResult Emitter::alloc(npu::AllocOp op) {
  Value buffer = op.getResult();
  MemRefType type = storedType(buffer);
  if (npu::spaceOf(type) == npu::Space::Reg) {
    state[buffer] = builder.create<arith::ConstantOp>(
        loc, builder.getZeroAttr(signless(type.getElementType())));
    return success();
  }
  if (npu::spaceOf(type) == npu::Space::L0A || npu::spaceOf(type) == npu::Space::L0B)
    return success(); // products load it by themselves
  bool isSunk = builder.getInsertionBlock() != &target.front();
  if (isSunk && op.getSlots() > 1) { // the other compiler makes the slots
    Value memref = buffers[buffer] = memory(type, type.getShape(), 1, std::nullopt);
    OperationState mark(loc, "annotation.mark");
    mark.addOperands(memref);
    mark.addAttribute("hivm.multi_buffer", builder.getI32IntegerAttr(int32_t(op.getSlots())));
    builder.create(mark);
    return success();
  }
  if (op.getSlots() > 1)
    state[buffer] = constant(int64_t(op.getSlots()) - 1); // the first use advances
  if (npu::spaceOf(type) == npu::Space::Workspace)
    return success();
  std::optional<int64_t> address;
  if (frame.isPlanned())
    address = op.getAddress();
  if (hasGaps(op) && frame.isPlanned())
    return success();
  SmallVector<int64_t> extents(type.getShape()); // where the other compiler plans, it pads
  if (op.getPadRows() && frame.hasFlags())
    extents = paddedShape(type);
  buffers[buffer] = memory(type, extents, int64_t(op.getSlots()), address);
  return success();
}

/// The slot that is the first dimension of a buffer's memref; null without such a dimension.
Value Emitter::slotDim(Value buffer) {
  return buffers.contains(buffer) ? state.lookup(buffer) : Value();
}

/// The memref behind a buffer: slots in front; one-dimensional for global memory.
Value Emitter::baseOf(Value buffer) {
  if (auto argument = dyn_cast<BlockArgument>(buffer))
    return target.getArgument(3 + argument.getArgNumber());
  if (Value memref = buffers.lookup(buffer))
    return memref;
  auto alloc = buffer.getDefiningOp<npu::AllocOp>();
  MemRefType type = storedType(buffer);
  if (npu::spaceOf(buffer) != npu::Space::Workspace) {
    SmallVector<int64_t> extents(type.getShape());
    if (alloc.getPadRows())
      extents = paddedShape(type);
    OpFoldResult step = builder.getIndexAttr(alloc.getSlotBytes());
    Value where = asI64(asValue(
        plus(builder.getIndexAttr(*alloc.getAddress()), times(state.lookup(buffer), step))));
    return emit("pointer_cast", where, {}, {1, 0}, TypeRange(hivmType(type, extents)))
        ->getResult(0);
  }
  OpFoldResult shift = plus(workspaceOffset, builder.getIndexAttr(*alloc.getAddress()));
  if (Value slot = state.lookup(buffer))
    shift = plus(shift, times(slot, builder.getIndexAttr(alloc.getSlotBytes())));
  return builder.create<memref::ViewOp>(loc, hivmType(type, type.getNumElements()), workspace,
                                        asValue(shift), ValueRange());
}

/// Inserts the dimensions of size 1 that `keep` asks for.
Value Emitter::expanded(Value narrow, ArrayRef<int> keep) {
  if (!llvm::is_contained(keep, -1))
    return narrow;
  auto type = cast<MemRefType>(narrow.getType());
  SmallVector<ReassociationIndices> groups(type.getRank());
  SmallVector<int64_t> shape;
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(builder, loc, narrow), output;
  int64_t seen = -1; // dimensions of `narrow` so far
  for (auto [at, dim] : llvm::enumerate(keep)) {
    if (dim >= 0)
      ++seen;
    groups[std::max<int64_t>(seen, 0)].push_back(at);
    shape.push_back(dim >= 0 ? type.getDimSize(seen) : 1);
    output.push_back(dim >= 0 ? sizes[seen] : OpFoldResult(builder.getIndexAttr(1)));
  }
  auto result = memref::ExpandShapeOp::computeExpandedType(type, shape, groups);
  return builder.create<memref::ExpandShapeOp>(loc, *result, narrow, groups, output);
}

/// Known to be a multiple of `factor`, whatever the run-time values are.
static bool isMultiple(Value value, int64_t factor) {
  if (auto known = constantOf(value))
    return *known % factor == 0;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast_or_null<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && value == loop.getInductionVar() && isMultiple(loop.getLowerBound(), factor) &&
           isMultiple(loop.getStep(), factor);
  }
  Operation *op = value.getDefiningOp();
  auto of = [&](unsigned operand) { return isMultiple(op->getOperand(operand), factor); };
  if (isa<arith::MulIOp>(op))
    return of(0) || of(1);
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp, arith::RemUIOp,
          arith::RemSIOp>(op))
    return of(0) && of(1);
  return isa<arith::SelectOp>(op) && of(1) && of(2);
}

/// Rows and columns of the fractals of a buffer in L1 or L0C.
static std::pair<int64_t, int64_t> fractalOf(MemRefType type) {
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  return {16, npu::spaceOf(type) == npu::Space::L0C ? 16 : 32 / bytes};
}

/// The shape of a buffer in L1 or L0C as the cube has it: columns of fractals, each from top to
/// bottom; dimensions in front of the matrix stay.
static SmallVector<int64_t> fractalShape(MemRefType type) {
  auto [rows, columns] = fractalOf(type);
  SmallVector<int64_t> shape(type.getShape().drop_back(std::min<size_t>(2, type.getRank())));
  int64_t height = type.getRank() > 1 ? type.getShape().take_back(2)[0] : 1;
  shape.push_back(llvm::divideCeil(type.getShape().back(), columns));
  shape.push_back(llvm::divideCeil(height, rows));
  shape.append({rows, columns});
  return shape;
}

/// The fractals of a box of L1 or L0C, as a memref of four dimensions. With `Rows::Any` it may
/// begin within one, as all rows of a column of fractals follow each other at one distance; with
/// `Rows::Exact` it has no more rows than the box, all in the third dimension.
FailureOr<Value> Emitter::fractals(Operation *op, const Box &box, Rows which) {
  auto type = cast<MemRefType>(box.buffer.getType());
  auto [rows, columns] = fractalOf(type);
  Value base = baseOf(box.buffer);
  auto baseType = cast<MemRefType>(base.getType());
  SmallVector<OpFoldResult> offsets, sizes;
  if (Value slot = slotDim(box.buffer)) {
    offsets.push_back(slot);
    sizes.push_back(builder.getIndexAttr(1));
  }
  size_t rank = box.sizes.size(), lead = rank - std::min<size_t>(2, rank);
  Sizes boxOffsets = fold(box.offsets), boxSizes = fold(box.sizes);
  for (size_t dim = 0; dim < lead; ++dim) {
    offsets.push_back(boxOffsets[dim]);
    sizes.push_back(builder.getIndexAttr(1));
  }
  auto divided = [&](OpFoldResult value, int64_t by) -> OpFoldResult {
    if (auto known = getConstantIntValue(value))
      return builder.getIndexAttr(llvm::divideCeil(*known, by));
    Value up = builder.create<arith::AddIOp>(loc, asValue(value), constant(by - 1));
    return builder.create<arith::DivUIOp>(loc, up, constant(by)).getResult();
  };
  bool begins = rank < 2 || isMultiple(box.offsets[rank - 2], rows); // at a fractal's first row
  bool ends = which != Rows::Exact || rank < 2 || isMultiple(box.sizes[rank - 2], rows) ||
              constantOf(box.sizes[rank - 2]) == type.getDimSize(unsigned(rank - 2));
  if (!isMultiple(box.offsets[rank - 1], columns) || (!begins && which == Rows::Whole))
    return refuse(op, "a box that may begin within a fractal of " + Twine(rows) + " x " +
                          Twine(columns) + " elements");
  offsets.push_back(divided(boxOffsets[rank - 1], columns));
  sizes.push_back(divided(boxSizes[rank - 1], columns));
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1),
               height = builder.getIndexAttr(rows), width = builder.getIndexAttr(columns);
  if (!begins || !ends) {
    bool isExact = which == Rows::Exact;
    offsets.append({zero, boxOffsets[rank - 2], zero});
    sizes.push_back(isExact ? one : divided(boxSizes[rank - 2], rows));
    sizes.append({isExact ? boxSizes[rank - 2] : height, width});
    return shifted(base, offsets, ArrayRef(sizes).take_back(4), isExact);
  }
  offsets.push_back(rank > 1 ? divided(boxOffsets[rank - 2], rows) : zero);
  sizes.push_back(rank > 1 ? divided(boxSizes[rank - 2], rows) : one);
  offsets.append({zero, zero});
  sizes.append({height, width});
  bool isWhole = offsets.size() == 4;
  for (auto [offset, size, extent] : llvm::zip(offsets, sizes, baseType.getShape()))
    isWhole &= isConstantIntValue(offset, 0) && isConstantIntValue(size, extent);
  if (isWhole)
    return base;
  SmallVector<OpFoldResult> strides(sizes.size(), builder.getIndexAttr(1));
  SmallVector<int64_t> shape = llvm::map_to_vector(ArrayRef(sizes).take_back(4), [](auto size) {
    return getConstantIntValue(size).value_or(ShapedType::kDynamic);
  });
  auto result = cast<MemRefType>(
      memref::SubViewOp::inferRankReducedResultType(shape, baseType, offsets, sizes, strides));
  return builder.create<memref::SubViewOp>(loc, result, base, offsets, sizes, strides).getResult();
}

/// Four dimensions at a place of a buffer that need not lie within its last ones.
Value Emitter::shifted(Value base, ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
                       bool joins) {
  auto type = cast<MemRefType>(base.getType());
  OpFoldResult at = builder.getIndexAttr(0);
  SmallVector<OpFoldResult> strides;
  int64_t stride = 1;
  for (unsigned dim = unsigned(type.getRank()); dim-- > 0; stride *= type.getDimSize(dim)) {
    at = plus(times(offsets[dim], builder.getIndexAttr(stride)), at);
    strides.insert(strides.begin(), builder.getIndexAttr(stride));
  }
  strides.erase(strides.begin(), strides.end() - 4);
  for (unsigned dim : {1u, 0u}) // dimensions of one that the other compiler joins with the next
    if (joins && isConstantIntValue(sizes[dim], 1))
      strides[dim] = times(sizes[dim + 1], strides[dim + 1]);
  auto known = [](OpFoldResult value) {
    return getConstantIntValue(value).value_or(ShapedType::kDynamic);
  };
  auto layout =
      StridedLayoutAttr::get(builder.getContext(), known(at), llvm::map_to_vector(strides, known));
  auto result = MemRefType::get(llvm::map_to_vector(sizes, known), type.getElementType(), layout,
                                type.getMemorySpace());
  return builder.create<memref::ReinterpretCastOp>(loc, result, base, at,
                                                   SmallVector<OpFoldResult>(sizes), strides);
}

Value Emitter::view(const Box &box, ArrayRef<int> keep) {
  npu::Space space = npu::spaceOf(box.buffer);
  if (space == npu::Space::GM || space == npu::Space::Workspace)
    return globalView(box, keep);
  Value base = baseOf(box.buffer);
  auto type = cast<MemRefType>(base.getType());
  SmallVector<int> kept(keep);
  SmallVector<int> real;
  llvm::copy_if(kept, std::back_inserter(real), [](int dim) { return dim >= 0; });
  auto rank = int(cast<MemRefType>(box.buffer.getType()).getRank());
  if (real.empty() && rank > 0) { // a view has a dimension at least
    real.push_back(rank - 1);
    kept.back() = rank - 1;
  }
  Sizes offsets = fold(box.offsets), sizes = fold(box.sizes);
  SmallVector<int64_t> shape;
  for (int dim : real)
    shape.push_back(getConstantIntValue(sizes[dim]).value_or(ShapedType::kDynamic));
  if (Value slot = slotDim(box.buffer)) {
    offsets.insert(offsets.begin(), slot);
    sizes.insert(sizes.begin(), builder.getIndexAttr(1));
  }
  bool isWhole = int64_t(real.size()) == type.getRank();
  for (auto [offset, size, extent] : llvm::zip(offsets, sizes, type.getShape()))
    isWhole &= isConstantIntValue(offset, 0) && isConstantIntValue(size, extent);
  if (!isWhole) {
    SmallVector<OpFoldResult> strides(sizes.size(), builder.getIndexAttr(1));
    auto result = cast<MemRefType>(
        memref::SubViewOp::inferRankReducedResultType(shape, type, offsets, sizes, strides));
    base = builder.create<memref::SubViewOp>(loc, result, base, offsets, sizes, strides);
  }
  return expanded(base, kept);
}

Value Emitter::globalView(const Box &box, ArrayRef<int> keep) {
  Value base = baseOf(box.buffer);
  Sizes extents = extentsOf(box.buffer), boxSizes = fold(box.sizes), boxOffsets = fold(box.offsets);
  OpFoldResult stride = builder.getIndexAttr(1), offset = builder.getIndexAttr(0);
  Sizes boxStrides(extents.size());
  for (unsigned dim = unsigned(extents.size()); dim-- > 0;) {
    boxStrides[dim] = stride;
    offset = plus(offset, times(boxOffsets[dim], stride));
    if (dim > 0)
      stride = times(stride, extents[dim]);
  }
  SmallVector<OpFoldResult> sizes(keep.size()), strides(keep.size());
  OpFoldResult next = builder.getIndexAttr(1); // where a dimension of size 1 would go on
  for (unsigned at = unsigned(keep.size()); at-- > 0;) {
    int dim = keep[at];
    sizes[at] = dim >= 0 ? boxSizes[dim] : OpFoldResult(builder.getIndexAttr(1));
    strides[at] = dim >= 0 ? boxStrides[dim] : next;
    next = times(sizes[at], strides[at]);
  }
  auto known = [](OpFoldResult value) {
    return getConstantIntValue(value).value_or(ShapedType::kDynamic);
  };
  auto baseType = cast<MemRefType>(base.getType());
  auto layout = StridedLayoutAttr::get(builder.getContext(), known(offset),
                                       llvm::map_to_vector(strides, known));
  auto type = MemRefType::get(llvm::map_to_vector(sizes, known), baseType.getElementType(), layout,
                              baseType.getMemorySpace());
  return builder.create<memref::ReinterpretCastOp>(loc, type, base, offset, sizes, strides);
}

/// Pairs the dimensions of two boxes as a copy does, by the sizes that are not 1. At least `least`
/// dimensions, with 1s in front.
void Emitter::pair(const Box &a, const Box &b, SmallVectorImpl<int> &keepA,
                   SmallVectorImpl<int> &keepB, unsigned least) {
  SmallVector<int64_t> sizesA = staticSizes(a), sizesB = staticSizes(b);
  auto keep = [](ArrayRef<int64_t> sizes, SmallVectorImpl<int> &order) {
    for (auto [dim, size] : llvm::enumerate(sizes))
      if (size != 1)
        order.push_back(int(dim));
  };
  keep(sizesA, keepA);
  keep(sizesB, keepB);
  if (keepA.size() != keepB.size() && sizesA.size() == sizesB.size()) {
    // A run-time size that is 1 faces a dropped dimension.
    keepA.clear();
    keepB.clear();
    for (auto [dim, one, other] : llvm::enumerate(sizesA, sizesB)) {
      if (one == 1 && other == 1)
        continue;
      keepA.push_back(int(dim));
      keepB.push_back(int(dim));
    }
  }
  while (keepA.size() < std::max<size_t>(keepB.size(), least))
    keepA.insert(keepA.begin(), -1);
  while (keepB.size() < keepA.size())
    keepB.insert(keepB.begin(), -1);
}
