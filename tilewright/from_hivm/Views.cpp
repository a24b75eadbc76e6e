// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memrefs: which memory, from where, how far apart.

#include "tilewright/from_hivm/Reader.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::from_hivm;

Value Reader::constant(int64_t value) { return builder.create<arith::ConstantIndexOp>(loc, value); }

constexpr unsigned kMaxDepth = 8;       ///< sums within sums that are taken apart
constexpr int64_t kMaxFactor = 1 << 20; ///< of a product that is taken apart

/// A number of bytes as one of elements: through sums and products where that is exact.
OpFoldResult Reader::divided(OpFoldResult value, int64_t by, unsigned depth) {
  if (by == 1)
    return value;
  if (auto known = getConstantIntValue(value))
    return builder.getIndexAttr(*known / by);
  auto number = cast<Value>(value);
  if (auto product = number.getDefiningOp<arith::MulIOp>()) {
    auto factor = getConstantIntValue(product.getRhs());
    if (factor && *factor % by == 0)
      return times(product.getLhs(), builder.getIndexAttr(*factor / by));
  }
  if (auto sum = number.getDefiningOp<arith::AddIOp>(); sum && depth < kMaxDepth)
    return plus(divided(getAsOpFoldResult(sum.getLhs()), by, depth + 1),
                divided(getAsOpFoldResult(sum.getRhs()), by, depth + 1));
  return builder.create<arith::DivUIOp>(loc, number, constant(by)).getResult();
}

/// Operands of the text as ours.
Reader::Sizes Reader::mapped(ArrayRef<OpFoldResult> values) {
  Sizes result;
  for (OpFoldResult value : values) {
    if (auto known = getConstantIntValue(value))
      result.push_back(builder.getIndexAttr(*known));
    else
      result.push_back(scalar(cast<Value>(value)));
  }
  return result;
}

static std::optional<npu::Space> spaceOf(Operation *op, MemRefType type) {
  StringRef word;
  if (Attribute space = type.getMemorySpace()) {
    std::string text;
    llvm::raw_string_ostream(text) << space;
    word = StringRef(text).take_until([](char c) { return c == '>'; });
    word = word.substr(word.find('<') + 1);
    return llvm::StringSwitch<std::optional<npu::Space>>(word)
        .Case("gm", npu::Space::GM)
        .Case("ub", npu::Space::UB)
        .Case("cbuf", npu::Space::L1)
        .Case("cc", npu::Space::L0C)
        .Default(std::nullopt);
  }
  return std::nullopt;
}

static int64_t bytesOf(Type element) {
  return int64_t(llvm::divideCeil(element.getIntOrFloatBitWidth(), 8));
}

/// Strides of a memref whose elements follow each other.
static SmallVector<int64_t> packed(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

/// Finds room for tiles of bools, which take a byte for each bit: as many columns as are used, at
/// the place of the text if that is free for all of them, else behind everything.
LogicalResult Reader::placeBools() {
  struct Range {
    int64_t from, to;
    Operation *op;
  };
  SmallVector<Range> taken;
  SmallVector<Operation *> tiles;
  source.walk([&](Operation *op) {
    if (op->getName().getStringRef() != "hivm.hir.pointer_cast" || op->getNumResults() != 1 ||
        op->getNumOperands() != 1)
      return;
    auto type = dyn_cast<MemRefType>(op->getResult(0).getType());
    auto address = getConstantIntValue(op->getOperand(0));
    if (!type || !type.hasStaticShape() || type.getRank() == 0 || !address ||
        spaceOf(op, type) != npu::Space::UB)
      return;
    if (!type.getElementType().isInteger(1)) {
      taken.push_back(
          {*address, *address + type.getNumElements() * bytesOf(type.getElementType()), op});
      return;
    }
    SmallVector<int64_t> shape(type.getShape());
    int64_t columns = 0;
    for (Operation *user : op->getResult(0).getUsers()) {
      auto part = dyn_cast<memref::SubViewOp>(user);
      int64_t size = part ? part.getStaticSizes().back() : shape.back();
      columns = std::max(columns, ShapedType::isDynamic(size) ? shape.back() : size);
    }
    if (shape.size() > 1)
      shape.back() = int64_t(llvm::alignTo(columns, 32));
    bools[op] = {shape, *address};
    tiles.push_back(op);
  });
  int64_t end = 0;
  for (const Range &range : taken)
    end = std::max(end, range.to);
  for (Operation *op : tiles) {
    auto &[shape, address] = bools[op];
    int64_t bytes = 1;
    for (int64_t extent : shape)
      bytes *= extent;
    bool isFree = llvm::none_of(taken, [&, at = address](const Range &range) {
      return at < range.to && range.from < at + bytes;
    });
    if (!isFree) {
      address = int64_t(llvm::alignTo(end, 32));
      if (address + bytes > chip.ubBytes)
        return refuse(op, "a tile of bools, a byte each in the simulator, takes " + Twine(bytes) +
                              " bytes of UB that are not left");
    }
    taken.push_back({address, address + bytes, op});
    end = std::max(end, address + bytes);
  }
  return success();
}

LogicalResult Reader::pointerCast(Operation *op) {
  auto type = op->getNumResults() == 1 ? dyn_cast<MemRefType>(op->getResult(0).getType()) : nullptr;
  if (!type || op->getNumOperands() != 1 || !type.hasStaticShape() ||
      !type.getLayout().isIdentity())
    return refuse(op, "a pointer_cast has one address and a constant shape");
  std::optional<npu::Space> space = spaceOf(op, type);
  if (!space || *space == npu::Space::GM)
    return refuse(op, "a pointer_cast to this memory");
  View view;
  view.memory = unsigned(memories.size());
  view.element = type.getElementType();
  view.base = view.offset = builder.getIndexAttr(0);
  view.isFractal = npu::isFractal(*space);
  SmallVector<int64_t> shape(type.getShape());
  std::optional<int64_t> address = getConstantIntValue(op->getOperand(0));
  if (auto placed = bools.find(op); placed != bools.end()) {
    shape = placed->second.first;
    address = placed->second.second;
  }
  Memory memory;
  memory.space = *space;
  memory.address = address;
  memory.shape = shape;
  memory.name = ("b" + Twine(memories.size())).str();
  int64_t bytes = bytesOf(view.element);
  if (view.isFractal) {
    size_t rank = shape.size();
    if (rank < 4)
      return refuse(op, "L1 and L0C hold fractals: memrefs of four dimensions or more");
    if (shape[rank - 2] != 16 || shape[rank - 1] != (*space == npu::Space::L0C ? 16 : 32 / bytes))
      return refuse(op, "fractals have 16 rows of 32 bytes, in L0C of 16 elements");
    for (size_t dim = 0; dim < rank; ++dim) {
      view.box.push_back(builder.getIndexAttr(0));
      view.extents.push_back(builder.getIndexAttr(shape[dim]));
    }
    memory.shape.assign(shape.begin(), shape.end() - 4);
    memory.shape.push_back(shape[rank - 3] * 16);
    memory.shape.push_back(shape[rank - 4] * shape[rank - 1]);
  }
  if (!address) { // any place of the memory
    Value where = scalar(op->getOperand(0));
    if (!where.getType().isIndex())
      where = builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), where);
    view.base = divided(getAsOpFoldResult(where), bytes);
  }
  for (auto [size, stride] : llvm::zip_equal(shape, packed(shape))) {
    view.sizes.push_back(builder.getIndexAttr(size));
    view.strides.push_back(builder.getIndexAttr(stride));
  }
  if (bools.contains(op)) // the shape of the text, at our distance
    for (auto [at, size] : llvm::enumerate(type.getShape()))
      view.sizes[at] = builder.getIndexAttr(size);
  memories.push_back(memory);
  views[op->getResult(0)] = view;
  return success();
}

/// One of two tiles, chosen at run time: a place of the whole memory.
LogicalResult Reader::select(arith::SelectOp op) {
  FailureOr<const View *> first = viewOf(op, op.getTrueValue()),
                          second = viewOf(op, op.getFalseValue());
  if (failed(first) || failed(second))
    return failure();
  Memory memory = memories[(*first)->memory];
  const Memory &other = memories[(*second)->memory];
  auto isWhole = [](const View &view) {
    return isConstantIntValue(view.offset, 0) &&
           llvm::all_of(view.box, [](OpFoldResult at) { return isConstantIntValue(at, 0); });
  };
  if (memory.argument || other.argument || memory.space != other.space ||
      memory.space == npu::Space::Workspace || memory.shape != other.shape || !isWhole(**first) ||
      !isWhole(**second))
    return refuse(op, "a choice of memrefs that are not two whole tiles of one shape");
  int64_t bytes = bytesOf((*first)->element);
  auto place = [&](const View &view) {
    const Memory &memory = memories[view.memory];
    return memory.address ? OpFoldResult(builder.getIndexAttr(*memory.address / bytes)) : view.base;
  };
  View view = **first;
  view.base = builder
                  .create<arith::SelectOp>(loc, scalar(op.getCondition()), asValue(place(**first)),
                                           asValue(place(**second)))
                  .getResult();
  view.memory = unsigned(memories.size());
  memory.address = std::nullopt;
  memory.allocs.clear();
  memories.push_back(memory);
  views[op.getResult()] = view;
  return success();
}

/// The same memory with elements of another type, which are equally wide.
LogicalResult Reader::bitcast(Operation *op) {
  auto type = op->getNumResults() == 1 ? dyn_cast<MemRefType>(op->getResult(0).getType()) : nullptr;
  if (!type || op->getNumOperands() != 1)
    return refuse(op, "a bitcast is of one memref");
  FailureOr<const View *> source = viewOf(op, op->getOperand(0));
  if (failed(source))
    return failure();
  View view = **source;
  if (view.isFractal || memories[view.memory].argument ||
      bytesOf(view.element) != bytesOf(type.getElementType()))
    return refuse(op, "a bitcast of UB to elements of the same width, found " +
                          Twine(bytesOf(view.element)) + " and " +
                          Twine(bytesOf(type.getElementType())) + " bytes");
  view.element = type.getElementType();
  views[op->getResult(0)] = view;
  return success();
}

static Value withoutCasts(Value value) {
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  return value;
}

static bool isCore(Value value) {
  Operation *op = withoutCasts(value).getDefiningOp();
  return op && op->getName().getStringRef() == "hivm.hir.get_block_idx";
}

/// The value is computed from the core's number, as far as loops do not carry it.
static bool hangsOnCore(Value value) {
  llvm::SmallSetVector<Value, 32> seen;
  seen.insert(value);
  for (unsigned at = 0; at < seen.size(); ++at) {
    constexpr unsigned kMost = 256;
    if (isCore(seen[at]) || seen.size() > kMost)
      return true;
    if (Operation *op = seen[at].getDefiningOp(); op && op->getNumRegions() == 0)
      seen.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

/// Takes a sum apart: `factor` gets that of the part that is the core's number times something,
/// `others` the rest. False when more of it hangs on the core's number.
static bool withoutCore(Value value, std::optional<int64_t> &factor, SmallVectorImpl<Value> &others,
                        unsigned depth = 0) {
  if (auto sum = withoutCasts(value).getDefiningOp<arith::AddIOp>(); sum && depth < kMaxDepth)
    return withoutCore(sum.getLhs(), factor, others, depth + 1) &&
           withoutCore(sum.getRhs(), factor, others, depth + 1);
  if (auto product = withoutCasts(value).getDefiningOp<arith::MulIOp>();
      product && isCore(product.getLhs()) && !factor) {
    factor = getConstantIntValue(product.getRhs());
    return factor.has_value();
  }
  others.push_back(value);
  return !hangsOnCore(value);
}

/// Bytes of global scratch as elements: `memref.view` of the workspace.
LogicalResult Reader::byteView(memref::ViewOp op) {
  if (op.getSource() != workspace)
    return refuse(op, "a view of bytes that are not the workspace");
  SmallVector<Value> others;
  std::optional<int64_t> bytes;
  if (!withoutCore(op.getByteShift(), bytes, others) || !bytes || *bytes <= 0)
    return refuse(op, "a place of the workspace that is not the core's number times a size, plus "
                      "something");
  if (workspaceBytes && workspaceBytes != *bytes)
    return refuse(op, "parts of the workspace of different sizes, " + Twine(workspaceBytes) +
                          " and " + Twine(*bytes) + " bytes");
  workspaceBytes = *bytes;
  OpFoldResult rest = builder.getIndexAttr(0);
  for (Value other : others)
    rest = plus(rest, mapped(getAsOpFoldResult(other)).front());
  View view;
  MemRefType type = op.getType();
  view.element = type.getElementType();
  view.memory = unsigned(memories.size());
  view.base = divided(rest, bytesOf(view.element));
  view.offset = builder.getIndexAttr(0);
  if (!type.hasStaticShape())
    return refuse(op, "a view of bytes of a run-time shape");
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), packed(type.getShape()))) {
    view.sizes.push_back(builder.getIndexAttr(size));
    view.strides.push_back(builder.getIndexAttr(stride));
  }
  Memory memory;
  memory.space = npu::Space::Workspace;
  memory.shape = {*bytes};
  memory.name = "workspace";
  memories.push_back(memory);
  views[op.getResult()] = view;
  return success();
}

FailureOr<const Reader::View *> Reader::viewOf(Operation *op, Value memref) {
  auto found = views.find(memref);
  if (found == views.end())
    return refuse(op, "an operand is no memref whose memory is known");
  return &found->second;
}

LogicalResult Reader::subview(memref::SubViewOp op) {
  FailureOr<const View *> source = viewOf(op, op.getSource());
  if (failed(source))
    return failure();
  View view = **source;
  Sizes offsets = mapped(op.getMixedOffsets()), sizes = mapped(op.getMixedSizes()),
        steps = mapped(op.getMixedStrides());
  llvm::SmallBitVector dropped = op.getDroppedDims();
  view.sizes.clear();
  view.strides.clear();
  if (view.isReshaped)
    return refuse(op, "a part of fractals in another shape");
  if (view.isFractal) {
    size_t shift = view.box.size() - offsets.size(); // dimensions that are gone already
    for (auto [at, offset] : llvm::enumerate(offsets)) {
      if (!isConstantIntValue(steps[at], 1))
        return refuse(op, "a part of fractals with gaps");
      view.box[shift + at] = plus(view.box[shift + at], offset);
      view.extents[shift + at] = sizes[at];
    }
    size_t rank = view.box.size();
    if (!isConstantIntValue(view.box[rank - 1], 0) || !isConstantIntValue(view.box[rank - 2], 0))
      return refuse(op, "a part that begins within a fractal");
  }
  for (auto [at, offset] : llvm::enumerate(offsets)) {
    view.offset = plus(view.offset, times(offset, (*source)->strides[at]));
    if (dropped.test(unsigned(at)))
      continue;
    view.sizes.push_back(sizes[at]);
    view.strides.push_back(times((*source)->strides[at], steps[at]));
  }
  views[op.getResult()] = view;
  return success();
}

/// Adds the terms of a sum of products, times `factor`, to the coordinates whose distances divide
/// them, the first one that does; false where none does.
bool Reader::spread(OpFoldResult at, int64_t factor, ArrayRef<int64_t> distances, Sizes &place,
                    unsigned depth) {
  if (auto known = getConstantIntValue(at)) {
    int64_t rest = 0;
    if (llvm::MulOverflow(*known, factor, rest) || rest < 0)
      return false;
    for (auto [coordinate, distance] : llvm::zip_equal(place, distances)) {
      coordinate = plus(coordinate, builder.getIndexAttr(rest / distance));
      rest %= distance;
    }
    return rest == 0;
  }
  auto value = cast<Value>(at);
  auto sum = value.getDefiningOp<arith::AddIOp>();
  if (sum && depth < kMaxDepth)
    return spread(getAsOpFoldResult(sum.getLhs()), factor, distances, place, depth + 1) &&
           spread(getAsOpFoldResult(sum.getRhs()), factor, distances, place, depth + 1);
  auto product = value.getDefiningOp<arith::MulIOp>();
  auto known = product ? getConstantIntValue(product.getRhs()) : std::nullopt;
  bool isSmall = known && *known > 0 && *known < kMaxFactor && factor < kMaxFactor;
  if (isSmall && depth < kMaxDepth)
    return spread(getAsOpFoldResult(product.getLhs()), factor * *known, distances, place,
                  depth + 1);
  for (auto [coordinate, distance] : llvm::zip_equal(place, distances))
    if (factor % distance == 0) {
      coordinate =
          plus(coordinate, times(mapped(at).front(), builder.getIndexAttr(factor / distance)));
      return true;
    }
  return false;
}

/// Fractals from any row on: all rows of a column of fractals are equally far apart.
LogicalResult Reader::fractalRows(memref::ReinterpretCastOp op) {
  View view = **viewOf(op, op.getSource());
  const Memory &memory = memories[view.memory];
  SmallVector<int64_t> whole(memory.shape.begin(), memory.shape.end() - 2);
  int64_t height = *(memory.shape.end() - 2), width = 32 / bytesOf(view.element);
  SmallVector<int64_t> fractal = {memory.shape.back() / width, height, width};
  whole.append(fractal);
  SmallVector<int64_t> distances = packed(whole);
  distances.pop_back();
  Sizes sizes = mapped(op.getMixedSizes()), place(distances.size(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides = op.getMixedStrides();
  bool isKnown = true;
  int64_t expected[] = {height * width, 16 * width, width, 1};
  for (auto [dim, stride] : llvm::enumerate(expected))
    isKnown &= strides.size() == 4 &&
               (isConstantIntValue(sizes[dim], 1) || isConstantIntValue(strides[dim], stride));
  if (memory.space != npu::Space::L1 || !isKnown || view.isReshaped)
    return refuse(op, "fractals in another shape");
  if (OpFoldResult at = op.getMixedOffsets().front(); !spread(at, 1, distances, place)) {
    Value rest = asValue(mapped(at).front()); // not a sum of such products
    for (auto [coordinate, distance] : llvm::zip_equal(place, distances)) {
      coordinate = builder.create<arith::DivUIOp>(loc, rest, constant(distance)).getResult();
      rest = builder.create<arith::RemUIOp>(loc, rest, constant(distance));
    }
  }
  view.row = place.pop_back_val();
  size_t rank = view.box.size();
  view.box.assign(rank, builder.getIndexAttr(0));
  llvm::copy(place, view.box.begin());
  llvm::copy(sizes, view.extents.end() - 4);
  view.sizes = sizes;
  view.strides = mapped(op.getMixedStrides());
  views[op.getResult()] = view;
  return success();
}

/// Memref operations; false for others.
FailureOr<bool> Reader::memrefOp(Operation *op) {
  auto done = [](LogicalResult result) -> FailureOr<bool> {
    return failed(result) ? FailureOr<bool>(failure()) : FailureOr<bool>(true);
  };
  if (auto view = dyn_cast<memref::ViewOp>(op))
    return done(byteView(view));
  if (auto choice = dyn_cast<arith::SelectOp>(op); choice && isa<MemRefType>(choice.getType()))
    return done(select(choice));
  if (auto part = dyn_cast<memref::SubViewOp>(op))
    return done(subview(part));
  if (isa<memref::LoadOp, memref::StoreOp>(op))
    return done(scalarAccess(op));
  if (isa<memref::AllocOp>(op))
    return done(refuse(op, "a buffer without an address; text is read after its compiler has "
                           "planned memory"));
  if (!isa<memref::CastOp, memref::MemorySpaceCastOp, memref::ReinterpretCastOp,
           memref::ExpandShapeOp, memref::CollapseShapeOp, memref::DimOp,
           memref::ExtractStridedMetadataOp>(op))
    return false;
  FailureOr<const View *> source = viewOf(op, op->getOperand(0));
  if (failed(source))
    return failure();
  View view = **source;
  if (auto size = dyn_cast<memref::DimOp>(op)) {
    auto dim = size.getConstantIndex();
    if (!dim || isa<BlockArgument>(size.getSource()))
      return done(refuse(op, "a run-time size of a tensor"));
    mapping.map(size.getResult(), asValue(view.sizes[size_t(*dim)]));
    return true;
  }
  if (auto parts = dyn_cast<memref::ExtractStridedMetadataOp>(op)) {
    if (view.isFractal)
      return done(refuse(op, "fractals in another shape"));
    mapping.map(parts.getOffset(), asValue(view.offset));
    for (auto [result, size] : llvm::zip_equal(parts.getSizes(), view.sizes))
      mapping.map(result, asValue(size));
    for (auto [result, stride] : llvm::zip_equal(parts.getStrides(), view.strides))
      mapping.map(result, asValue(stride));
    view.offset = builder.getIndexAttr(0);
    view.sizes.clear();
    view.strides.clear();
  } else if (auto cast = dyn_cast<memref::ReinterpretCastOp>(op)) {
    if (view.isFractal)
      return done(fractalRows(cast));
    view.offset = mapped(cast.getMixedOffsets()).front();
    view.sizes = mapped(cast.getMixedSizes());
    view.strides = mapped(cast.getMixedStrides());
  } else if (auto expand = dyn_cast<memref::ExpandShapeOp>(op); expand && !view.isFractal) {
    Sizes sizes = mapped(
              getMixedValues(expand.getStaticOutputShape(), expand.getOutputShape(), builder)),
          strides(sizes.size());
    for (auto [from, group] : llvm::enumerate(expand.getReassociationIndices())) {
      OpFoldResult stride = view.strides[from];
      for (int64_t to : llvm::reverse(group)) {
        strides[to] = stride;
        stride = times(stride, sizes[to]);
      }
    }
    view.sizes = sizes;
    view.strides = strides;
  } else if (auto collapse = dyn_cast<memref::CollapseShapeOp>(op); collapse && !view.isFractal) {
    Sizes sizes, strides;
    for (const ReassociationIndices &group : collapse.getReassociationIndices()) {
      OpFoldResult size = builder.getIndexAttr(1), stride = builder.getIndexAttr(1);
      bool isSet = false;
      for (int64_t from : llvm::reverse(group)) {
        if (!isSet && !isConstantIntValue(view.sizes[from], 1)) {
          stride = view.strides[from];
          isSet = true;
        }
        size = times(view.sizes[from], size);
      }
      sizes.push_back(size);
      strides.push_back(isSet || group.empty() ? stride : view.strides[group.back()]);
    }
    view.sizes = sizes;
    view.strides = strides;
  } else if (view.isFractal && isa<memref::ExpandShapeOp, memref::CollapseShapeOp>(op)) {
    view.isReshaped = true;
  }
  views[op->getResult(0)] = view;
  return true;
}

/// The buffer of npu that a view looks at, with elements of a type.
Value Reader::buffer(const View &view, Type element) {
  Memory &memory = memories[view.memory];
  if (memory.argument)
    return memory.argument;
  Value &alloc = memory.allocs[element.getAsOpaquePointer()];
  if (alloc)
    return alloc;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&target.front());
  SmallVector<int64_t> shape = memory.shape;
  int64_t bytes = bytesOf(element);
  if (memory.space == npu::Space::Workspace) {
    shape = {memory.shape[0] / bytes};
  } else if (!memory.address && npu::isFractal(memory.space)) { // a column of fractals
    int64_t width = memory.space == npu::Space::L0C ? 16 : 32 / bytes;
    int64_t all = memory.space == npu::Space::L0C ? chip.l0cBytes : chip.l1Bytes;
    shape = {all / (width * bytes), width};
  } else if (!memory.address) {
    shape = {chip.ubBytes / bytes};
  }
  auto type = npu::withSpace(MemRefType::get(shape, element), memory.space);
  alloc = builder.create<npu::AllocOp>(
      loc, type, builder.getStringAttr(memory.name), builder.getI64IntegerAttr(1),
      builder.getI64IntegerAttr(memory.address.value_or(0)), UnitAttr());
  return alloc;
}

Reader::Operand Reader::operand(const View &view, Type element) {
  Value whole = buffer(view, element ? element : view.element);
  auto type = cast<MemRefType>(whole.getType());
  OpFoldResult offset = plus(view.base, view.offset);
  Operand result;
  for (OpFoldResult size : view.sizes) {
    result.offsets.push_back(builder.getIndexAttr(0));
    result.sizes.push_back(size);
  }
  auto known = [](OpFoldResult value) {
    return getConstantIntValue(value).value_or(ShapedType::kDynamic);
  };
  SmallVector<int64_t> shape = llvm::map_to_vector(view.sizes, known),
                       strides = llvm::map_to_vector(view.strides, known);
  bool isWhole = isConstantIntValue(offset, 0) && ArrayRef<int64_t>(shape) == type.getShape() &&
                 strides == packed(shape);
  result.buffer = whole;
  if (isWhole)
    return result;
  auto layout = StridedLayoutAttr::get(builder.getContext(), known(offset), strides);
  auto cast = MemRefType::get(shape, type.getElementType(), layout, type.getMemorySpace());
  result.buffer =
      builder.create<memref::ReinterpretCastOp>(loc, cast, whole, offset, view.sizes, view.strides);
  return result;
}

/// Rows and columns at the place of a view of fractals.
Reader::Operand Reader::fractals(const View &view, OpFoldResult rows, OpFoldResult columns) {
  Operand result;
  result.buffer = buffer(view, view.element);
  size_t rank = view.box.size();
  auto type = cast<MemRefType>(result.buffer.getType());
  int64_t width = npu::spaceOf(type) == npu::Space::L0C ? 16 : 32 / bytesOf(view.element);
  for (size_t dim = 0; dim + 4 < rank; ++dim) {
    result.offsets.push_back(view.box[dim]);
    result.sizes.push_back(builder.getIndexAttr(1));
  }
  OpFoldResult row = times(view.box[rank - 3], builder.getIndexAttr(16));
  result.offsets.push_back(view.row ? plus(row, view.row) : row);
  result.offsets.push_back(times(view.box[rank - 4], builder.getIndexAttr(width)));
  result.sizes.push_back(rows);
  result.sizes.push_back(columns);
  const Memory &memory = memories[view.memory];
  if (memory.address)
    return result;
  // Somewhere in the whole memory: rows at the distance that the tile gives them.
  OpFoldResult offset = view.base;
  SmallVector<int64_t> distance = packed(memory.shape);
  for (auto [at, stride] : llvm::zip_equal(result.offsets, distance))
    offset = plus(offset, times(at, builder.getIndexAttr(stride)));
  Sizes sizes = {rows, columns},
        strides = {builder.getIndexAttr(memory.shape.back()), builder.getIndexAttr(1)};
  auto known = [](OpFoldResult value) {
    return getConstantIntValue(value).value_or(ShapedType::kDynamic);
  };
  auto layout = StridedLayoutAttr::get(builder.getContext(), known(offset),
                                       {memory.shape.back(), int64_t(1)});
  auto cast =
      MemRefType::get({known(rows), known(columns)}, view.element, layout, type.getMemorySpace());
  result.buffer =
      builder.create<memref::ReinterpretCastOp>(loc, cast, result.buffer, offset, sizes, strides);
  result.offsets.assign(2, builder.getIndexAttr(0));
  result.sizes = sizes;
  return result;
}

/// One element that the scalar unit reads or writes.
LogicalResult Reader::scalarAccess(Operation *op) {
  auto load = dyn_cast<memref::LoadOp>(op);
  auto store = dyn_cast<memref::StoreOp>(op);
  FailureOr<const View *> found = viewOf(op, load ? load.getMemRef() : store.getMemRef());
  if (failed(found))
    return failure();
  const View &view = **found;
  if (view.isFractal)
    return refuse(op, "an element of L1 or L0C");
  OpFoldResult at = plus(view.base, view.offset);
  for (auto [index, stride] :
       llvm::zip_equal(load ? load.getIndices() : store.getIndices(), view.strides))
    at = plus(at, times(getAsOpFoldResult(scalar(index)), stride));
  Value whole = buffer(view, view.element);
  auto type = cast<MemRefType>(whole.getType());
  Value flat = whole;
  if (type.getRank() != 1) {
    int64_t elements = type.getNumElements();
    auto line =
        MemRefType::get({elements}, type.getElementType(), AffineMap(), type.getMemorySpace());
    flat = builder.create<memref::ReinterpretCastOp>(
        loc, line, whole, OpFoldResult(builder.getIndexAttr(0)),
        ArrayRef<OpFoldResult>{builder.getIndexAttr(elements)},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
  }
  if (load)
    mapping.map(load.getResult(),
                builder.create<npu::ScalarLoadOp>(loc, load.getType(), flat, asValue(at)));
  else
    builder.create<npu::ScalarStoreOp>(loc, scalar(store.getValueToStore()), flat, asValue(at));
  return success();
}
