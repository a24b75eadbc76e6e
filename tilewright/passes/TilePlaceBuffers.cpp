// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/TileUtils.h"

#include "llvm/ADT/TypeSwitch.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEPLACEBUFFERS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-place-buffers";

Type elementOf(Value buffer) { return cast<MemRefType>(buffer.getType()).getElementType(); }
bool isGlobal(Value buffer) { return scopeOf(buffer) == Scope::Global; }
bool isCubeScope(Scope scope) {
  return scope == Scope::L1 || scope == Scope::L0A || scope == Scope::L0B || scope == Scope::L0C;
}

/// The op fills or loads the tile in a way that works in L1 as well as in UB.
bool isFlexibleWrite(AccessInterface op, unsigned box) {
  if (isa<FillOp>(op.getOperation()))
    return true;
  auto copy = dyn_cast<CopyOp>(op.getOperation());
  return copy && box == 0 && isGlobal(copy.getBox(1).buffer) &&
         elementOf(copy.getBox(0).buffer) == elementOf(copy.getBox(1).buffer);
}

/// What the fixpipe converts on the way out of an accumulator.
bool canFixpipe(CopyOp copy) {
  Type from = elementOf(copy.getBox(1).buffer), to = elementOf(copy.getBox(0).buffer);
  return from == to || (from.isF32() && (to.isF16() || to.isBF16())) || copy.getScale();
}

/// The op fills the whole tile out of an accumulator, which the cube can do into L1.
bool isAccumulatorWrite(AccessInterface op, unsigned box) {
  auto copy = dyn_cast<CopyOp>(op.getOperation());
  return copy && box == 0 && scopeOf(copy.getBox(1).buffer) == Scope::L0C &&
         coversBuffer(copy.getBox(0)) && canFixpipe(copy);
}

/// Changes the place of a buffer everywhere.
void setScope(AllocOp alloc, Scope scope) {
  alloc.getResult().setType(withScope(cast<MemRefType>(alloc.getType()), scope));
}

/// Lets box `index` of `op` name `buffer` instead.
void replaceBuffer(Operation *op, unsigned index, Value buffer) { op->setOperand(index, buffer); }

/// A UB tile with the static bounds of a box, and the box of it that has the same run-time sizes.
FailureOr<std::pair<Value, SmallVector<Value>>> temporaryFor(Operation *op, const Box &box,
                                                             Type element, const Twine &name) {
  SmallVector<int64_t> shape;
  auto type = cast<MemRefType>(box.buffer.getType());
  for (auto [dim, size] : llvm::enumerate(staticSizes(box))) {
    int64_t bound = ShapedType::isDynamic(size) ? type.getDimSize(dim) : size;
    if (ShapedType::isDynamic(bound))
      return op->emitError("E0702: this statement needs a tile for a box of run-time size without "
                           "a bound: dimension ")
             << dim << " of '" << nameOf(box.buffer)
             << "'; copy through a tile of fixed shape instead";
    shape.push_back(bound);
  }
  return std::make_pair(Value(createAlloc(op, op->getLoc(), name, shape, element, Scope::UB)),
                        SmallVector<Value>(box.sizes));
}

/// Which ops need a scalar that is read from a tile, which only the vector core can.
class TileScalars {
public:
  /// A box of the op, or whether it runs at all, depends on such a scalar.
  bool decide(Operation *op) {
    if (llvm::any_of(op->getOperands(), [&](Value operand) { return isOne(operand); }))
      return true;
    for (op = op->getParentOp(); !isa<LaunchOp>(op); op = op->getParentOp())
      if (isa<scf::IfOp, scf::ForOp>(op) &&
          llvm::any_of(op->getOperands(), [&](Value operand) { return isOne(operand); }))
        return true;
    return false;
  }

private:
  bool isOne(Value value) {
    auto [entry, isNew] = known.try_emplace(value, false); // false while it is looked at
    if (!isNew)
      return entry->second;
    bool found = false;
    Operation *op = value.getDefiningOp();
    if (auto load = dyn_cast_or_null<tile::LoadOp>(op)) {
      found = isOnChip(scopeOf(load.getBuffer()));
      if (scopeOf(load.getBuffer()) == Scope::Local)
        for (Operation *user : load.getBuffer().getUsers())
          if (auto store = dyn_cast<tile::StoreOp>(user))
            found |= isOne(store.getValue());
    } else if (op && !isa<AllocOp>(op)) {
      found = llvm::any_of(op->getOperands(), [&](Value operand) { return isOne(operand); });
    } else if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
        found = llvm::any_of(loop->getOperands(), [&](Value operand) { return isOne(operand); });
    }
    return known[value] = found;
  }

  llvm::DenseMap<Value, bool> known;
};

class Placer {
public:
  explicit Placer(LaunchOp launch) : launch(launch) {}

  LogicalResult run() {
    SmallVector<AllocOp> allocs = llvm::to_vector(launch.getOps<AllocOp>());
    launch.walk([&](AllocOp alloc) {
      if (!llvm::is_contained(allocs, alloc))
        allocs.push_back(alloc);
    });
    for (AllocOp alloc : allocs)
      if (isUnplaced(alloc) || scopeOf(alloc) == Scope::UB)
        place(alloc);
    SmallVector<Operation *> ops;
    launch.walk([&](Operation *op) {
      if (isa<CopyOp, FillOp, AtomicOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      LogicalResult result = TypeSwitch<Operation *, LogicalResult>(op)
                                 .Case<CopyOp>([&](CopyOp copy) { return legalize(copy); })
                                 .Case<FillOp>([&](FillOp fill) { return legalize(fill); })
                                 .Case<AtomicOp>([&](AtomicOp atomic) { return legalize(atomic); });
      if (failed(result))
        return failure();
    }
    return success();
  }

private:
  void place(AllocOp alloc);
  void stage(AllocOp alloc, ArrayRef<GemmOp> gemms, ArrayRef<Operation *> writers);
  CopyOp loadBefore(Operation *place, ArrayRef<Operation *> writers);
  LogicalResult legalize(CopyOp copy);
  LogicalResult legalize(FillOp fill);
  LogicalResult legalize(AtomicOp atomic);

  LaunchOp launch;
  TileScalars scalars;
};

/// L1 for what only the cube reads, UB for what only the vector unit touches; a tile that both read
/// is loaded twice, one that the vector unit writes for the cube is handed over. So is one whose
/// loads depend on scalars in tiles, which the cube's program does not know.
void Placer::place(AllocOp alloc) {
  SmallVector<GemmOp> gemms;
  SmallVector<Operation *> writers, flexible;
  bool vectorReads = false, cubeWrites = false, vectorWrites = scopeOf(alloc) == Scope::UB;
  forEachAccess(alloc, [&](AccessInterface op, unsigned box) {
    if (isa<GemmOp>(op.getOperation()))
      return;
    if (!writes(op.getAccessKind(box))) {
      vectorReads = true;
      return;
    }
    writers.push_back(op);
    if (isFlexibleWrite(op, box) && !scalars.decide(op))
      flexible.push_back(op);
    else if (isAccumulatorWrite(op, box))
      cubeWrites = true;
    else
      vectorWrites = true;
  });
  launch.walk([&](GemmOp gemm) { // in program order
    if (llvm::is_contained(gemm.getBuffers(), alloc.getResult()))
      gemms.push_back(gemm);
  });
  if (gemms.empty())
    return setScope(alloc, Scope::UB);
  if (!vectorReads && !vectorWrites) {
    setScope(alloc, Scope::L1);
    remark(alloc, kPass, "applied")
        << "'" << alloc.getName() << "' lives in L1: only the cube reads it";
    return;
  }
  setScope(alloc, Scope::UB);
  if (vectorWrites || cubeWrites)
    return stage(alloc, gemms, writers);

  auto type = cast<MemRefType>(alloc.getType());
  AllocOp copy = createAlloc(alloc, alloc.getLoc(), alloc.getName() + ".l1", type.getShape(),
                             type.getElementType(), Scope::L1);
  for (Operation *writer : flexible) {
    OpBuilder builder(writer);
    replaceBuffer(builder.clone(*writer), 0, copy);
  }
  for (GemmOp gemm : gemms)
    for (unsigned index : {1u, 2u})
      if (gemm.getBox(index).buffer == alloc)
        replaceBuffer(gemm, index, copy);
  remark(alloc, kPass, "applied")
      << "'" << alloc.getName()
      << "' is loaded twice, to L1 and to UB: cube and vector unit read it";
}

/// The load that wrote all that a tile holds at `place`, if the cube can do the same there: the
/// last writer before it in its block, from a tensor that nothing in the launch writes.
CopyOp Placer::loadBefore(Operation *place, ArrayRef<Operation *> writers) {
  Operation *last = nullptr;
  for (Operation *writer : writers) {
    Operation *at = ancestorIn(place->getBlock(), writer);
    if (at && at->isBeforeInBlock(place) && (!last || last->isBeforeInBlock(at)))
      last = at;
  }
  auto load = dyn_cast_or_null<CopyOp>(last);
  if (!load || !llvm::is_contained(writers, last) || !isFlexibleWrite(load, 0) ||
      !coversBuffer(load.getBox(0)) || load.getPad() || scalars.decide(load))
    return {};
  bool isWritten = false;
  launch.walk([&](AccessInterface access) {
    for (unsigned index = 0; index < access.getNumBoxes(); ++index)
      isWritten |= access.getBox(index).buffer == load.getBox(1).buffer &&
                   tilewright::writes(access.getAccessKind(index));
  });
  return isWritten ? CopyOp() : load;
}

/// Hands a vector tile over to L1 before the products that read it: in the innermost block that
/// holds a writer too. The cube loads by itself what is there as a load has left it.
void Placer::stage(AllocOp alloc, ArrayRef<GemmOp> gemms, ArrayRef<Operation *> writers) {
  auto type = cast<MemRefType>(alloc.getType());
  AllocOp staged = createAlloc(alloc, alloc.getLoc(), alloc.getName() + ".l1", type.getShape(),
                               type.getElementType(), Scope::L1);
  SmallVector<Operation *> stagings;
  bool isLoaded = false;
  for (GemmOp gemm : gemms) {
    // Deepest block around the product that also holds a writer.
    Block *block = gemm->getBlock();
    while (block != &launch.getBody().front() && llvm::none_of(writers, [&](Operation *writer) {
             return ancestorIn(block, writer) != nullptr;
           }))
      block = block->getParentOp()->getBlock();
    Operation *place = ancestorIn(block, gemm);
    auto fresh = [&](Operation *staging) {
      if (staging->getBlock() != block || !staging->isBeforeInBlock(place))
        return false;
      return llvm::none_of(writers, [&](Operation *writer) {
        Operation *at = ancestorIn(block, writer);
        return at && staging->isBeforeInBlock(at) && at->isBeforeInBlock(place);
      });
    };
    if (llvm::none_of(stagings, fresh)) {
      OpBuilder builder(place);
      BoxOperands boxes;
      if (CopyOp load = loadBefore(place, writers)) {
        stagings.push_back(builder.clone(*load));
        replaceBuffer(stagings.back(), 0, staged);
        isLoaded = true;
      } else {
        boxes.addWhole(builder, gemm.getLoc(), staged);
        boxes.addWhole(builder, gemm.getLoc(), alloc);
        stagings.push_back(builder.create<CopyOp>(gemm.getLoc(), boxes.buffers, boxes.offsets,
                                                  boxes.sizes, FloatAttr()));
      }
    }
    for (unsigned index : {1u, 2u})
      if (gemm.getBox(index).buffer == alloc)
        replaceBuffer(gemm, index, staged);
  }
  remark(alloc, kPass, "applied")
      << "'" << alloc.getName()
      << "' is written by the vector unit and handed to the cube through L1"
      << (isLoaded ? "; what is still as loaded, the cube loads by itself" : "");
}

/// Movers keep the element type (but for the fixpipe's narrowing); conversions become vector ops on
/// a temporary.
LogicalResult Placer::legalize(CopyOp copy) {
  Box dst = copy.getBox(0), src = copy.getBox(1);
  Scope dstScope = scopeOf(dst.buffer), srcScope = scopeOf(src.buffer);
  Type dstType = elementOf(dst.buffer), srcType = elementOf(src.buffer);
  OpBuilder builder(copy);
  Location loc = copy.getLoc();
  auto move = [&](const Box &to, const Box &from, FloatAttr pad) {
    BoxOperands boxes;
    boxes.add(builder, loc, to);
    boxes.add(builder, loc, from);
    builder.create<CopyOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes, pad);
  };
  auto zeros = [&](size_t rank) {
    return SmallVector<Value>(rank, builder.create<arith::ConstantIndexOp>(loc, 0));
  };

  if (failed(matchDims(dst, src)))
    return copy.emitError(kOpenDims);
  if (dstScope == Scope::UB && srcScope == Scope::UB) {
    createTileMove(builder, loc, dst, src);
    copy.erase();
    return success();
  }
  bool fixpipe = srcScope == Scope::L0C && canFixpipe(copy);
  bool global = isGlobal(dst.buffer) || isGlobal(src.buffer);
  if (fixpipe || (srcType == dstType && !(isGlobal(dst.buffer) && isGlobal(src.buffer)) &&
                  srcScope != Scope::L0C))
    return success();
  if (copy.getRelu())
    return copy.emitError("E0705: relu on the way out of '")
           << nameOf(src.buffer) << "' goes with a move of " << srcType
           << " to it or to a narrower "
           << "type that the fixpipe knows, not to " << dstType;
  if (isCubeScope(dstScope))
    return copy.emitError("E0705: this copy loads ")
           << srcType << " into the " << dstType << " operand '" << nameOf(dst.buffer)
           << "' of a product; give both the same type, or convert in a tile of T.alloc_ub first";
  if (!global && srcScope != Scope::L0C)
    return copy.emitError("E0705: no instruction can move a tile from ")
           << stringifyScope(srcScope) << " to " << stringifyScope(dstScope);

  // Through a tile of the source's type: load (or read out), convert, store.
  const Box &shapeOf = isGlobal(dst.buffer) && !isGlobal(src.buffer) ? src : dst;
  Value raw = src.buffer, converted = dst.buffer;
  Box rawBox = src, convertedBox = dst;
  SmallVector<Value> rawZeros, convertedZeros, sizes;
  if (srcScope != Scope::UB) {
    auto temporary = temporaryFor(copy, shapeOf, srcType, nameOf(dst.buffer) + ".raw");
    if (failed(temporary))
      return failure();
    raw = temporary->first, sizes = temporary->second, rawZeros = zeros(sizes.size());
    rawBox = {raw, rawZeros, sizes};
    move(rawBox, src, copy.getPadAttr());
  }
  if (dstScope != Scope::UB) {
    if (srcType == dstType) {
      move(dst, rawBox, FloatAttr());
      copy.erase();
      return success();
    }
    auto temporary = temporaryFor(copy, rawBox, dstType, nameOf(dst.buffer) + ".cast");
    if (failed(temporary))
      return failure();
    converted = temporary->first, convertedZeros = zeros(temporary->second.size());
    sizes = temporary->second;
    convertedBox = {converted, convertedZeros, sizes};
  }
  createTileMove(builder, loc, convertedBox, rawBox);
  if (dstScope != Scope::UB)
    move(dst, convertedBox, FloatAttr());
  copy.erase();
  return success();
}

/// Global memory is filled from a tile.
LogicalResult Placer::legalize(FillOp fill) {
  Box box = fill.getBox(0);
  if (!isGlobal(box.buffer))
    return success();
  auto temporary = temporaryFor(fill, box, elementOf(box.buffer), nameOf(box.buffer) + ".fill");
  if (failed(temporary))
    return failure();
  OpBuilder builder(fill);
  SmallVector<Value> zeros(box.sizes.size(),
                           builder.create<arith::ConstantIndexOp>(fill.getLoc(), 0));
  Box tileBox{temporary->first, zeros, temporary->second};
  BoxOperands filled, moved;
  filled.addWhole(builder, fill.getLoc(), temporary->first);
  builder.create<FillOp>(fill.getLoc(), filled.buffers, filled.offsets, filled.sizes,
                         fill.getValue());
  moved.add(builder, fill.getLoc(), box);
  moved.add(builder, fill.getLoc(), tileBox);
  builder.create<CopyOp>(fill.getLoc(), moved.buffers, moved.offsets, moved.sizes, FloatAttr());
  fill.erase();
  return success();
}

/// Atomics take a tile of the destination's type; on a tile of one block they are plain arithmetic.
LogicalResult Placer::legalize(AtomicOp atomic) {
  Box dst = atomic.getBox(0);
  OpBuilder builder(atomic);
  Location loc = atomic.getLoc();
  Fn fn = atomic.getKind() == ReduceKind::Sum   ? Fn::Add
          : atomic.getKind() == ReduceKind::Max ? Fn::MaxNum
                                                : Fn::MinNum;
  if (Value previous = atomic.getPrevious()) {
    if (isGlobal(dst.buffer))
      return success();
    SmallVector<Value> indices(dst.offsets);
    if (dst.isWhole())
      indices.assign(cast<MemRefType>(dst.buffer.getType()).getRank(),
                     builder.create<arith::ConstantIndexOp>(loc, 0));
    previous.replaceAllUsesWith(
        builder.create<tile::LoadOp>(loc, previous.getType(), dst.buffer, indices, FloatAttr()));
  }
  if (!isGlobal(dst.buffer)) {
    if (atomic.getScalar()) {
      BoxOperands boxes;
      boxes.add(builder, loc, dst);
      boxes.add(builder, loc, dst);
      SmallVector<int64_t> identity =
          llvm::to_vector(llvm::seq<int64_t>(0, staticSizes(dst).size()));
      Attribute map = builder.getDenseI64ArrayAttr(identity);
      builder.create<ElementwiseOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes,
                                    atomic.getScalar(), FnAttr::get(builder.getContext(), fn),
                                    builder.getArrayAttr({map, map}), UnitAttr(),
                                    RoundAttr::get(builder.getContext(), Round::Rint));
      atomic.erase();
      return success();
    }
    auto map = matchDims(atomic.getBox(1), dst);
    if (failed(map))
      return atomic.emitError(kOpenDims);
    BoxOperands boxes;
    boxes.add(builder, loc, dst);
    boxes.add(builder, loc, dst);
    boxes.add(builder, loc, atomic.getBox(1));
    SmallVector<int64_t> identity = llvm::to_vector(llvm::seq<int64_t>(0, staticSizes(dst).size()));
    Attribute dstMap = builder.getDenseI64ArrayAttr(identity);
    builder.create<ElementwiseOp>(
        loc, boxes.buffers, boxes.offsets, boxes.sizes, Value(),
        FnAttr::get(builder.getContext(), fn),
        builder.getArrayAttr({dstMap, dstMap, builder.getDenseI64ArrayAttr(*map)}), UnitAttr(),
        RoundAttr::get(builder.getContext(), Round::Rint));
    atomic.erase();
    return success();
  }
  Type element = elementOf(dst.buffer);
  if (atomic.getScalar()) {
    auto temporary = temporaryFor(atomic, dst, element, nameOf(dst.buffer) + ".atomic");
    if (failed(temporary))
      return failure();
    BoxOperands filled, combined;
    filled.addWhole(builder, loc, temporary->first);
    builder.create<FillOp>(loc, filled.buffers, filled.offsets, filled.sizes, atomic.getScalar());
    SmallVector<Value> zeros(temporary->second.size(),
                             builder.create<arith::ConstantIndexOp>(loc, 0));
    combined.add(builder, loc, dst);
    combined.add(builder, loc, Box{temporary->first, zeros, temporary->second});
    builder.create<AtomicOp>(loc, Type(), combined.buffers, combined.offsets, combined.sizes,
                             Value(), atomic.getKindAttr());
    atomic.erase();
    return success();
  }
  Box src = atomic.getBox(1);
  if (elementOf(src.buffer) == element && !isGlobal(src.buffer))
    return success();
  auto temporary = temporaryFor(atomic, src, element, nameOf(dst.buffer) + ".atomic");
  if (failed(temporary))
    return failure();
  SmallVector<Value> zeros(temporary->second.size(),
                           builder.create<arith::ConstantIndexOp>(loc, 0));
  Box tileBox{temporary->first, zeros, temporary->second};
  BoxOperands moved, combined;
  moved.add(builder, loc, tileBox);
  moved.add(builder, loc, src);
  auto move = builder.create<CopyOp>(loc, moved.buffers, moved.offsets, moved.sizes, FloatAttr());
  combined.add(builder, loc, dst);
  combined.add(builder, loc, tileBox);
  builder.create<AtomicOp>(loc, Type(), combined.buffers, combined.offsets, combined.sizes, Value(),
                           atomic.getKindAttr());
  atomic.erase();
  return legalize(move);
}

struct TilePlaceBuffersPass : passes::impl::TilePlaceBuffersBase<TilePlaceBuffersPass> {
  void runOnOperation() override {
    getOperation().walk([&](LaunchOp launch) {
      if (failed(Placer(launch).run()))
        signalPassFailure();
    });
  }
};

} // namespace
