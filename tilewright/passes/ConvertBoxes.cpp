// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/ConvertBoxes.h"

#include "tilewright/passes/Ranges.h"
#include "tilewright/tile/CoreOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;

npu::Space passes::spaceOf(tile::Scope scope) {
  switch (scope) {
  case tile::Scope::L1:
    return npu::Space::L1;
  case tile::Scope::L0A:
    return npu::Space::L0A;
  case tile::Scope::L0B:
    return npu::Space::L0B;
  case tile::Scope::L0C:
    return npu::Space::L0C;
  case tile::Scope::UB:
  case tile::Scope::Shared:
  case tile::Scope::Fragment:
    return npu::Space::UB;
  case tile::Scope::Workspace:
    return npu::Space::Workspace;
  case tile::Scope::Local:
    return npu::Space::Reg;
  case tile::Scope::Global:
    return npu::Space::GM;
  }
  return npu::Space::GM;
}

void BoxLowering::Operands::add(const Place &place) {
  buffers.push_back(place.buffer);
  llvm::append_range(offsets, place.offsets);
  llvm::append_range(sizes, place.sizes);
}

Value BoxLowering::index(int64_t value) {
  return builder.create<arith::ConstantIndexOp>(function.getLoc(), value);
}

BoxLowering::Place BoxLowering::placeOf(const Box &box) {
  Place place{mapped(box.buffer), {}, {}};
  if (box.isWhole()) {
    for (int64_t extent : cast<MemRefType>(box.buffer.getType()).getShape()) {
      place.offsets.push_back(zero);
      place.sizes.push_back(index(extent));
    }
    return place;
  }
  for (auto [offset, size] : llvm::zip(box.offsets, box.sizes)) {
    place.offsets.push_back(mapped(offset));
    place.sizes.push_back(mapped(size));
  }
  return place;
}

std::optional<int64_t> BoxLowering::splitDim(Value buffer) {
  auto alloc = parts > 1 ? buffer.getDefiningOp<tile::AllocOp>() : nullptr;
  auto dim = alloc ? alloc->getAttrOfType<IntegerAttr>(tile::kSplitDimAttr) : nullptr;
  return dim ? std::optional<int64_t>(dim.getInt()) : std::nullopt;
}

static int64_t splitRows(Value buffer) {
  return buffer.getDefiningOp()->getAttrOfType<IntegerAttr>(tile::kSplitRowsAttr).getInt();
}

bool BoxLowering::isSplit(AccessInterface op) {
  for (unsigned box = 0; box < op.getNumBoxes(); ++box)
    if (splitDim(op.getBox(box).buffer))
      return true;
  return false;
}

/// Rows of `extent` that this runner does: `rows` each as long as there are some.
Value BoxLowering::myRows(int64_t extent, int64_t rows) {
  Location loc = function.getLoc();
  if (extent == parts * rows)
    return index(rows);
  if (parts == 2) {
    Value first = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, subCore, zero);
    return builder.create<arith::SelectOp>(loc, first, index(rows), index(extent - rows));
  }
  Value left = builder.create<arith::SubIOp>(loc, index(extent), myFirstRow(rows));
  return builder.create<arith::MinSIOp>(loc, left, index(rows)); // no part is without rows
}

Value BoxLowering::myFirstRow(int64_t half) {
  return builder.create<arith::MulIOp>(function.getLoc(), subCore, index(half));
}

/// A split tile holds this core's rows only: its box on that dimension is all of them.
void BoxLowering::cutRows(Value buffer, Place &place) {
  if (auto dim = splitDim(buffer))
    place.sizes[*dim] =
        myRows(cast<MemRefType>(buffer.getType()).getDimSize(*dim), splitRows(buffer));
}

/// The other side of a move of a split tile: its box shrinks to this core's rows.
void BoxLowering::cutPartner(Value tileBuffer, const Box &tileBox, const Box &partnerBox,
                             Place &partner) {
  auto dim = splitDim(tileBuffer);
  if (!dim)
    return;
  int64_t other = (*matchDims(tileBox, partnerBox))[*dim];
  int64_t half = splitRows(tileBuffer);
  partner.offsets[other] =
      builder.create<arith::AddIOp>(function.getLoc(), partner.offsets[other], myFirstRow(half));
  partner.sizes[other] = myRows(cast<MemRefType>(tileBuffer.getType()).getDimSize(*dim), half);
}

Value BoxLowering::extentOf(Value buffer, unsigned dim) {
  auto type = cast<MemRefType>(buffer.getType());
  if (!type.isDynamicDim(dim))
    return index(type.getDimSize(dim));
  return builder.create<memref::DimOp>(function.getLoc(), mapped(buffer), index(dim));
}

/// Clips a global box to its tensor and the tile's box with it.
BoxLowering::Clipped BoxLowering::clip(const Box &global, Place &globalPlace, const Box &tileBox,
                                       Place &tilePlace) {
  if (isByCore)
    return {};
  Location loc = function.getLoc();
  auto type = cast<MemRefType>(global.buffer.getType());
  SmallVector<int64_t> toTile = *matchDims(global, tileBox);
  Clipped clipped;
  auto either = [&](Value &flag, Value also) {
    flag = flag ? builder.create<arith::OrIOp>(loc, flag, also).getResult() : also;
  };
  for (unsigned dim = 0; dim < type.getRank(); ++dim) {
    auto offset = rangeOf(global.offsets[dim]), size = rangeOf(global.sizes[dim]);
    bool lowSafe = offset && offset->low >= 0;
    bool highSafe = offset && size && !type.isDynamicDim(dim) &&
                    offset->high + size->high <= type.getDimSize(dim);
    if (lowSafe && highSafe)
      continue;
    Value begin = globalPlace.offsets[dim],
          end = builder.create<arith::AddIOp>(loc, begin, globalPlace.sizes[dim]);
    Value low = lowSafe ? begin : builder.create<arith::MaxSIOp>(loc, begin, zero).getResult();
    Value high =
        highSafe
            ? end
            : builder.create<arith::MinSIOp>(loc, end, extentOf(global.buffer, dim)).getResult();
    Value length =
        builder.create<arith::MaxSIOp>(loc, builder.create<arith::SubIOp>(loc, high, low), zero);
    either(clipped.cut, builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, length,
                                                      globalPlace.sizes[dim]));
    // Where nothing is left the offset must still be a place inside.
    Value none = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, length, zero);
    globalPlace.offsets[dim] = builder.create<arith::SelectOp>(loc, none, zero, low);
    int64_t partner = toTile[dim];
    if (partner < 0) {
      // Ops pair dimensions by the sizes that are not 1, so a 1 stays what it is.
      either(clipped.gone, none);
      continue;
    }
    globalPlace.sizes[dim] = length;
    if (!lowSafe) {
      Value shift = builder.create<arith::SubIOp>(loc, low, begin);
      Value safe = builder.create<arith::SelectOp>(loc, none, zero, shift);
      tilePlace.offsets[partner] =
          builder.create<arith::AddIOp>(loc, tilePlace.offsets[partner], safe);
    }
    tilePlace.sizes[partner] = length;
  }
  // With a dimension of size 1 outside, nothing is left of any other.
  for (auto [dim, partner] : llvm::enumerate(toTile)) {
    if (!clipped.gone || partner < 0)
      continue;
    Value size = builder.create<arith::SelectOp>(loc, clipped.gone, zero, globalPlace.sizes[dim]);
    globalPlace.sizes[dim] = tilePlace.sizes[partner] = size;
    clipped.gone = nullptr;
  }
  return clipped;
}

/// Runs `body` unless the box is gone.
void BoxLowering::unlessGone(Location loc, const Clipped &clipped,
                             llvm::function_ref<void()> body) {
  if (!clipped.gone)
    return body();
  auto branch = builder.create<scf::IfOp>(loc, clipped.gone, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.elseYield());
  body();
}

void BoxLowering::fillPlace(Location loc, const Place &place, Value value) {
  Operands operands;
  operands.add(place);
  if (npu::spaceOf(place.buffer) == npu::Space::L1)
    builder.create<npu::FillL1Op>(loc, operands.buffers, operands.offsets, operands.sizes, value);
  else
    builder.create<npu::FillOp>(loc, operands.buffers, operands.offsets, operands.sizes, value);
}

scf::IfOp BoxLowering::onFirstCore(Location loc) {
  Value first = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, subCore, zero);
  return builder.create<scf::IfOp>(loc, first, /*withElseRegion=*/false);
}

void BoxLowering::once(Location loc, bool split, llvm::function_ref<void()> body) {
  if (parts == 1 || core != Core::AIV || split || inFirst)
    return body();
  scf::IfOp branch = onFirstCore(loc);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenYield());
  body();
}

LogicalResult BoxLowering::lowerCopy(tile::CopyOp copy) {
  Location loc = copy.getLoc();
  Box dst = copy.getBox(0), src = copy.getBox(1);
  tile::Scope dstScope = tile::scopeOf(dst.buffer), srcScope = tile::scopeOf(src.buffer);
  if (failed(matchDims(dst, src)))
    return copy.emitError(kOpenDims);
  Place to = placeOf(dst), from = placeOf(src);
  bool split = isSplit(cast<AccessInterface>(copy.getOperation()));
  cutRows(dst.buffer, to);
  cutRows(src.buffer, from);
  cutPartner(dst.buffer, dst, src, from);
  cutPartner(src.buffer, src, dst, to);

  if (dstScope == tile::Scope::L0A || dstScope == tile::Scope::L0B) {
    if (srcScope != tile::Scope::L1)
      return copy.emitError("E0609: '")
             << tile::nameOf(dst.buffer) << "' is loaded from " << stringifyScope(srcScope)
             << "; L0A and L0B are loaded from L1: go through a T.alloc_L1 tile";
    Operands operands;
    operands.add(to);
    operands.add(from);
    builder.create<npu::LoadL0Op>(loc, operands.buffers, operands.offsets, operands.sizes);
    return success();
  }
  if (srcScope == tile::Scope::Global || srcScope == tile::Scope::Workspace) {
    Place whole = to;
    Clipped clipped = srcScope == tile::Scope::Global ? clip(src, from, dst, to) : Clipped();
    if (clipped.cut) {
      Type element = tile::scalarTypeOf(cast<MemRefType>(dst.buffer.getType()).getElementType());
      auto branch = builder.create<scf::IfOp>(loc, clipped.cut, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(branch.thenYield());
      double pad = copy.getPad() ? copy.getPad()->convertToDouble() : 0.0;
      TypedAttr value = isa<FloatType>(element)
                            ? TypedAttr(builder.getFloatAttr(element, pad))
                            : TypedAttr(builder.getIntegerAttr(element, static_cast<int64_t>(pad)));
      fillPlace(loc, whole, builder.create<arith::ConstantOp>(loc, value));
    }
    Operands operands;
    operands.add(to);
    operands.add(from);
    unlessGone(loc, clipped, [&] {
      builder.create<npu::LoadOp>(loc, operands.buffers, operands.offsets, operands.sizes);
    });
    return success();
  }
  Clipped clipped;
  if (dstScope == tile::Scope::Global)
    clipped = clip(dst, to, src, from);
  Operands operands;
  operands.add(to);
  operands.add(from);
  if (srcScope == tile::Scope::L0C) {
    unlessGone(loc, clipped, [&] {
      builder.create<npu::FixpipeOp>(loc, operands.buffers, operands.offsets, operands.sizes,
                                     copy.getReluAttr(), copy.getScaleAttr());
    });
    return success();
  }
  if (srcScope != tile::Scope::UB && srcScope != tile::Scope::L1)
    return copy.emitError("E0705: this copy cannot store from ") << stringifyScope(srcScope);
  once(loc, split, [&] {
    unlessGone(loc, clipped, [&] {
      builder.create<npu::StoreOp>(loc, operands.buffers, operands.offsets, operands.sizes);
    });
  });
  return success();
}

/// What was in an element before; 0 where it lies outside, and on the core that does not do it.
void BoxLowering::lowerFetch(tile::AtomicOp atomic) {
  Location loc = atomic.getLoc();
  Box dst = atomic.getBox(0);
  Type type = atomic.getPrevious().getType();
  SmallVector<Value> indices;
  for (Value offset : dst.offsets)
    indices.push_back(mapped(offset));
  if (dst.isWhole())
    indices.assign(cast<MemRefType>(dst.buffer.getType()).getRank(), zero);
  Value guard = dst.isWhole() ? Value() : inBounds(dst.buffer, dst.offsets);
  if (parts > 1 && core == Core::AIV && !inFirst) {
    Value first = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, subCore, zero);
    guard = guard ? builder.create<arith::AndIOp>(loc, guard, first).getResult() : first;
  }
  mapping.map(atomic.getPrevious(), orElse(loc, type, guard, 0, [&]() -> Value {
                return builder.create<npu::ScalarAtomicOp>(loc, type, mapped(atomic.getScalar()),
                                                           mapped(dst.buffer), indices,
                                                           atomic.getKind());
              }));
}

LogicalResult BoxLowering::lowerAtomic(tile::AtomicOp atomic) {
  if (atomic.getPrevious())
    return lowerFetch(atomic), success();
  Box dst = atomic.getBox(0), src = atomic.getBox(1);
  if (failed(matchDims(dst, src)))
    return atomic.emitError(kOpenDims);
  Place to = placeOf(dst), from = placeOf(src);
  bool split = isSplit(cast<AccessInterface>(atomic.getOperation()));
  cutRows(src.buffer, from);
  cutPartner(src.buffer, src, dst, to);
  Clipped clipped = clip(dst, to, src, from);
  Operands operands;
  operands.add(to);
  operands.add(from);
  once(atomic.getLoc(), split, [&] {
    unlessGone(atomic.getLoc(), clipped, [&] {
      builder.create<npu::AtomicOp>(
          atomic.getLoc(), operands.buffers, operands.offsets, operands.sizes,
          npu::ReduceKindAttr::get(builder.getContext(), atomic.getKind()));
    });
  });
  return success();
}

LogicalResult BoxLowering::lowerFill(tile::FillOp fill) {
  tile::Scope scope = tile::scopeOf(fill.getBox(0).buffer);
  if (scope == tile::Scope::L0A || scope == tile::Scope::L0B || scope == tile::Scope::L0C)
    return fill.emitError("E0711: '")
           << tile::nameOf(fill.getBox(0).buffer) << "' is in " << stringifyScope(scope)
           << ", which no instruction fills with a value; fill the operand in "
              "L1, or start the sum with clear_accum (initC)";
  Place place = placeOf(fill.getBox(0));
  cutRows(fill.getBox(0).buffer, place);
  fillPlace(fill.getLoc(), place, mapped(fill.getValue()));
  return success();
}

LogicalResult BoxLowering::lowerGemm(tile::GemmOp gemm) {
  tile::Scope a = tile::scopeOf(gemm.getBox(1).buffer), b = tile::scopeOf(gemm.getBox(2).buffer);
  bool isMacro = a == tile::Scope::L1 && b == tile::Scope::L1;
  if (!isMacro && (a != tile::Scope::L0A || b != tile::Scope::L0B))
    return gemm.emitError("E0609: the operands of a product are in ")
           << stringifyScope(a) << " and " << stringifyScope(b)
           << "; allowed are both in L1, or A in L0A and B in L0B";
  auto isInL0 = [](tile::AllocOp alloc) {
    return tile::scopeOf(alloc) == tile::Scope::L0A || tile::scopeOf(alloc) == tile::Scope::L0B;
  };
  if (isMacro)
    for (auto alloc : gemm->getParentOfType<tile::LaunchOp>().getOps<tile::AllocOp>())
      if (isInL0(alloc)) {
        InFlightDiagnostic error = gemm.emitError("E0609: a product of tiles in L1 takes all of "
                                                  "L0A and L0B for its parts; in a kernel with "
                                                  "tiles there, load the operands there too");
        error.attachNote(alloc.getLoc()) << "'" << alloc.getName() << "' is there";
        return error;
      }
  Operands operands;
  for (unsigned box = 0; box < 3; ++box)
    operands.add(placeOf(gemm.getBox(box)));
  // An author's own accumulator without a flag goes on with what it holds.
  Value init = gemm.getInit()
                   ? mapped(gemm.getInit())
                   : builder.create<arith::ConstantOp>(gemm.getLoc(), builder.getBoolAttr(false))
                         .getResult();
  builder.create<npu::MmadOp>(gemm.getLoc(), operands.buffers, operands.offsets, operands.sizes,
                              init, gemm.getTransposeAAttr(), gemm.getTransposeBAttr());
  return success();
}

void BoxLowering::lowerElementwise(tile::ElementwiseOp op) {
  Operands operands;
  SmallVector<Attribute> maps;
  for (unsigned box = 0; box < op.getNumBoxes(); ++box) {
    Place place = placeOf(op.getBox(box));
    cutRows(op.getBox(box).buffer, place);
    operands.add(place);
    maps.push_back(builder.getDenseI64ArrayAttr(op.getMap(box)));
  }
  builder.create<npu::ElementwiseOp>(
      op.getLoc(), operands.buffers, operands.offsets, operands.sizes,
      op.getScalar() ? mapped(op.getScalar()) : Value(),
      npu::FnAttr::get(builder.getContext(), op.getFn()), builder.getArrayAttr(maps),
      op.getScalarFirstAttr(), npu::RoundAttr::get(builder.getContext(), op.getRound()));
}

LogicalResult BoxLowering::lowerReduce(tile::ReduceOp reduce) {
  Box dst = reduce.getBox(0), src = reduce.getBox(1);
  SmallVector<int64_t> srcSizes = staticSizes(src), dstSizes = staticSizes(dst), kept,
                       map(dstSizes.size(), -1);
  for (auto [dim, size] : llvm::enumerate(srcSizes))
    if (size != 1 && !llvm::is_contained(reduce.getDims(), static_cast<int64_t>(dim)))
      kept.push_back(dim);
  size_t next = 0;
  for (auto [dim, size] : llvm::enumerate(dstSizes))
    if (size != 1 && next < kept.size())
      map[dim] = kept[next++];
  if (next != kept.size())
    return reduce.emitError("E0712: cannot pair the kept dimensions of source and destination");
  Operands operands;
  for (unsigned box : {0u, 1u}) {
    Place place = placeOf(reduce.getBox(box));
    cutRows(reduce.getBox(box).buffer, place);
    operands.add(place);
  }
  builder.create<npu::ReduceOp>(reduce.getLoc(), operands.buffers, operands.offsets, operands.sizes,
                                npu::ReduceKindAttr::get(builder.getContext(), reduce.getKind()),
                                reduce.getDimsAttr(), builder.getDenseI64ArrayAttr(map),
                                reduce.getAccumulateAttr());
  return success();
}

void BoxLowering::lowerIota(tile::IotaOp iota) {
  Location loc = iota.getLoc();
  Place place = placeOf(iota.getBox(0));
  Value buffer = iota.getBox(0).buffer, start = mapped(iota.getStart());
  SmallVector<Value> steps =
      llvm::map_to_vector(iota.getSteps(), [&](Value step) { return mapped(step); });
  cutRows(buffer, place);
  if (auto dim = splitDim(buffer)) {
    Value skipped = builder.create<arith::MulIOp>(loc, myFirstRow(splitRows(buffer)), steps[*dim]);
    start = builder.create<arith::AddIOp>(loc, start, skipped);
  }
  builder.create<npu::IotaOp>(loc, ValueRange{place.buffer}, place.offsets, place.sizes, start,
                              steps);
}

/// Ops whose boxes go over as they are: scan, gather, print.
LogicalResult BoxLowering::lowerSameBoxes(Operation *op) {
  auto access = cast<AccessInterface>(op);
  Operands operands;
  for (unsigned box = 0; box < access.getNumBoxes(); ++box) {
    Place place = placeOf(access.getBox(box));
    cutRows(access.getBox(box).buffer, place);
    operands.add(place);
  }
  Location loc = op->getLoc();
  if (auto scan = dyn_cast<tile::ScanOp>(op)) {
    builder.create<npu::ScanOp>(loc, operands.buffers, operands.offsets, operands.sizes,
                                npu::ReduceKindAttr::get(builder.getContext(), scan.getKind()),
                                scan.getDimAttr(), scan.getReverseAttr());
    return success();
  }
  if (isa<tile::GatherOp>(op)) {
    builder.create<npu::GatherOp>(loc, operands.buffers, operands.offsets, operands.sizes);
    return success();
  }
  auto print = cast<tile::PrintOp>(op);
  once(loc, false, [&] {
    builder.create<npu::PrintOp>(loc, operands.buffers, operands.offsets, operands.sizes,
                                 print.getScalar() ? mapped(print.getScalar()) : Value(),
                                 print.getMessageAttr());
  });
  return success();
}

/// All indices inside a global tensor; null when proved.
Value BoxLowering::inBounds(Value buffer, ValueRange tileIndices) {
  if (isByCore)
    return {};
  Location loc = function.getLoc();
  auto type = cast<MemRefType>(buffer.getType());
  Value inside;
  auto require = [&](arith::CmpIPredicate predicate, Value left, Value right) {
    Value holds = builder.create<arith::CmpIOp>(loc, predicate, left, right);
    inside = inside ? builder.create<arith::AndIOp>(loc, inside, holds).getResult() : holds;
  };
  for (auto [dim, index] : llvm::enumerate(tileIndices)) {
    auto range = rangeOf(index);
    if (!range || range->low < 0)
      require(arith::CmpIPredicate::sge, mapped(index), zero);
    if (!range || type.isDynamicDim(dim) || range->high >= type.getDimSize(dim))
      require(arith::CmpIPredicate::slt, mapped(index), extentOf(buffer, dim));
  }
  return inside;
}

void BoxLowering::lowerLoad(tile::LoadOp load) {
  Location loc = load.getLoc();
  SmallVector<Value> indices =
      llvm::map_to_vector(load.getIndices(), [&](Value index) { return mapped(index); });
  Type type = load.getResult().getType();
  tile::Scope scope = tile::scopeOf(load.getBuffer());
  bool global = scope == tile::Scope::Global;
  Value guard = global ? inBounds(load.getBuffer(), load.getIndices()) : Value();
  // The second core's tiles hold nothing; what it reads steers nothing that it does.
  if (onlyFirst && !inFirst && !global && scope != tile::Scope::Local)
    guard = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, subCore, zero);
  double pad = load.getPad() ? load.getPad()->convertToDouble() : 0.0;
  mapping.map(load.getResult(), orElse(loc, type, guard, pad, [&]() -> Value {
                return builder.create<npu::ScalarLoadOp>(loc, type, mapped(load.getBuffer()),
                                                         indices);
              }));
}

/// What `emit` makes where the condition holds or there is none, else `pad`.
Value BoxLowering::orElse(Location loc, Type type, Value condition, double pad,
                          llvm::function_ref<Value()> emit) {
  if (!condition)
    return emit();
  auto branch = builder.create<scf::IfOp>(loc, type, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard restore(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  builder.create<scf::YieldOp>(loc, emit());
  builder.setInsertionPointToStart(branch.elseBlock());
  TypedAttr attr = isa<FloatType>(type)
                       ? TypedAttr(builder.getFloatAttr(type, pad))
                       : TypedAttr(builder.getIntegerAttr(type, static_cast<int64_t>(pad)));
  Value padding = builder.create<arith::ConstantOp>(loc, attr);
  builder.create<scf::YieldOp>(loc, padding);
  return branch.getResult(0);
}

void BoxLowering::lowerStore(tile::StoreOp store) {
  Location loc = store.getLoc();
  SmallVector<Value> indices =
      llvm::map_to_vector(store.getIndices(), [&](Value index) { return mapped(index); });
  tile::Scope scope = tile::scopeOf(store.getBuffer());
  auto emit = [&] {
    builder.create<npu::ScalarStoreOp>(loc, mapped(store.getValue()), mapped(store.getBuffer()),
                                       indices);
  };
  if (scope != tile::Scope::Global)
    return emit();
  once(loc, false, [&] {
    Value guard = inBounds(store.getBuffer(), store.getIndices());
    if (!guard)
      return emit();
    auto branch = builder.create<scf::IfOp>(loc, guard, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard restore(builder);
    builder.setInsertionPoint(branch.thenYield());
    emit();
  });
}

/// The four ends of a channel become counting semaphores on the pipes that touch the slot.
void BoxLowering::lowerChannelEnd(Operation *op) {
  Location loc = op->getLoc();
  Value buffer = op->getOperand(0);
  const Channel &channel = channels[buffer.getDefiningOp<tile::AllocOp>()];
  auto pipe = [&](npu::Pipe pipe) { return npu::PipeAttr::get(builder.getContext(), pipe); };
  IntegerAttr full = builder.getI64IntegerAttr(channel.fullId),
              free = builder.getI64IntegerAttr(channel.fullId + 1);
  bool rotates = channel.slots > 1;
  if (isa<tile::AcquireOp>(op)) {
    if (rotates)
      builder.create<npu::AdvanceOp>(loc, mapped(buffer));
    builder.create<npu::BlockWaitOp>(loc, pipe(channel.writerPipe()), free);
  } else if (isa<tile::PublishOp>(op)) {
    builder.create<npu::BlockSetOp>(loc, pipe(channel.writerPipe()), full);
  } else if (isa<tile::WaitOp>(op)) {
    if (rotates)
      builder.create<npu::AdvanceOp>(loc, mapped(buffer));
    builder.create<npu::BlockWaitOp>(loc, pipe(npu::Pipe::MTE2), full);
  } else {
    builder.create<npu::BlockSetOp>(loc, pipe(npu::Pipe::MTE2), free);
  }
}

/// On one pipe where the author orders pipes. Else it is one of the core: all that was issued is
/// done before, and nothing is issued until the others are there.
void BoxLowering::lowerBarrier(tile::CoreBarrierOp barrier) {
  Location loc = barrier.getLoc();
  auto pipe = [&](Pipe pipe) { return npu::PipeAttr::get(builder.getContext(), pipe); };
  Pipe on = barrier.getPipe();
  if (!function->hasAttr(npu::kManualSyncAttr)) {
    on = Pipe::S;
    builder.create<npu::BarrierOp>(loc, pipe(Pipe::All))
        ->setAttr(tile::kUserAttr, builder.getUnitAttr());
  }
  builder.create<npu::CoreBarrierOp>(loc, pipe(on), barrier.getIdAttr(),
                                     barrier.getAllBlocksAttr());
}

/// The author's orders, event by event.
void BoxLowering::lowerSync(Operation *op) {
  Location loc = op->getLoc();
  auto pipe = [&](Pipe pipe) { return npu::PipeAttr::get(builder.getContext(), pipe); };
  // A constant goes into the op.
  IntegerAttr number = builder.getI64IntegerAttr(0);
  Value rest;
  if (auto first = op->getAttrOfType<IntegerAttr>("id")) { // of the slots of a tile
    number = first;
    rest = mapped(op->getOperand(0));
  } else if (op->getNumOperands() == 1) {
    if (std::optional<int64_t> constant = constantOf(op->getOperand(0)))
      number = builder.getI64IntegerAttr(*constant);
    else
      rest = mapped(op->getOperand(0));
  }
  TypeSwitch<Operation *>(op)
      .Case<tile::SetFlagOp, tile::SetSlotFlagOp>([&](auto set) {
        builder.create<npu::SetFlagOp>(loc, pipe(set.getSource()), pipe(set.getTarget()), number,
                                       rest, UnitAttr());
      })
      .Case<tile::WaitFlagOp, tile::WaitSlotFlagOp>([&](auto wait) {
        builder.create<npu::WaitFlagOp>(loc, pipe(wait.getSource()), pipe(wait.getTarget()), number,
                                        rest);
      })
      .Case([&](tile::BarrierOp barrier) {
        // One of the author's leaves the rest of the order to the compiler.
        auto created = builder.create<npu::BarrierOp>(loc, pipe(barrier.getPipe()));
        created->setAttr(tile::kUserAttr, builder.getUnitAttr());
      })
      .Case([&](tile::BlockSetOp set) {
        builder.create<npu::BlockSetOp>(loc, pipe(set.getPipe()), number, rest);
      })
      .Case([&](tile::BlockWaitOp wait) {
        builder.create<npu::BlockWaitOp>(loc, pipe(wait.getPipe()), number, rest);
      });
}

/// The vector and scalar units work in UB; an author may have put a tile where only the cube does.
static LogicalResult checkPlaces(Operation *op) {
  if (!isa<tile::ElementwiseOp, tile::ReduceOp, tile::ScanOp, tile::IotaOp, tile::GatherOp,
           tile::AtomicOp, tile::LoadOp, tile::StoreOp>(op))
    return success();
  auto access = cast<AccessInterface>(op);
  for (unsigned index = 0; index < access.getNumBoxes(); ++index) {
    Value buffer = access.getBox(index).buffer;
    tile::Scope scope = tile::scopeOf(buffer);
    bool isCubes = scope == tile::Scope::L1 || scope == tile::Scope::L0A ||
                   scope == tile::Scope::L0B || scope == tile::Scope::L0C;
    if (isCubes)
      return op->emitError("E0615: '")
             << tile::nameOf(buffer) << "' is in " << stringifyScope(scope).upper()
             << ", where only the cube core works, and this statement needs it in UB; allocate it "
                "with T.alloc_ub, or move what is in it to such a tile through a global tensor";
  }
  return success();
}

LogicalResult BoxLowering::lower(Operation *op) {
  if (failed(checkPlaces(op)))
    return failure();
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<tile::CopyOp>([&](auto copy) { return lowerCopy(copy); })
      .Case<tile::AtomicOp>([&](auto atomic) { return lowerAtomic(atomic); })
      .Case<tile::FillOp>([&](auto fill) { return lowerFill(fill); })
      .Case<tile::GemmOp>([&](auto gemm) { return lowerGemm(gemm); })
      .Case<tile::ElementwiseOp>(
          [&](auto elementwise) { return lowerElementwise(elementwise), success(); })
      .Case<tile::ReduceOp>([&](auto reduce) { return lowerReduce(reduce); })
      .Case<tile::IotaOp>([&](auto iota) { return lowerIota(iota), success(); })
      .Case<tile::ScanOp, tile::GatherOp, tile::PrintOp>(
          [&](auto same) { return lowerSameBoxes(same); })
      .Case<tile::LoadOp>([&](auto load) { return lowerLoad(load), success(); })
      .Case<tile::StoreOp>([&](auto store) { return lowerStore(store), success(); })
      .Case<tile::AdvanceOp>([&](tile::AdvanceOp advance) {
        builder.create<npu::AdvanceOp>(advance.getLoc(), mapped(advance.getBuffer()));
        return success();
      })
      .Case<tile::AcquireOp, tile::PublishOp, tile::WaitOp, tile::ReleaseOp>(
          [&](auto end) { return lowerChannelEnd(end), success(); })
      .Case<tile::AssertOp>([&](tile::AssertOp assertion) {
        builder.create<npu::AssertOp>(assertion.getLoc(), mapped(assertion.getCondition()),
                                      assertion.getMessageAttr());
        return success();
      })
      .Case<tile::SymbolOp>([&](auto) { return success(); })
      .Case([&](tile::CoreIdOp id) {
        Location loc = id.getLoc();
        mapping.map(id.getResult(),
                    builder.create<npu::CoreIdOp>(loc, builder.getIndexType()).getResult());
        return success();
      })
      .Case([&](tile::CoreCountOp count) {
        Location loc = count.getLoc();
        mapping.map(count.getResult(),
                    builder.create<npu::CoreCountOp>(loc, builder.getIndexType()).getResult());
        return success();
      })
      .Case([&](tile::BeginBlockOp begin) {
        builder.create<npu::BeginBlockOp>(begin.getLoc(), mapped(begin.getId()));
        return success();
      })
      .Case<tile::SubCoreIdOp>([&](tile::SubCoreIdOp id) {
        mapping.map(id.getResult(), subCore ? subCore : zero);
        return success();
      })
      .Case<tile::SetFlagOp, tile::WaitFlagOp, tile::BarrierOp, tile::BlockSetOp, tile::BlockWaitOp,
            tile::SetSlotFlagOp, tile::WaitSlotFlagOp>(
          [&](auto sync) { return lowerSync(sync), success(); })
      .Case([&](tile::CoreBarrierOp barrier) { return lowerBarrier(barrier), success(); })
      .Default(
          [&](Operation *other) { return other->emitOpError("E0799: has no form on the NPU"); });
}
