// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data movers, the cube, flags.

#include "tilewright/to_hivm/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::to_hivm;

std::string to_hivm::pipeName(npu::Pipe pipe) {
  if (pipe == npu::Pipe::All)
    return "PIPE_ALL";
  return ("PIPE_" + npu::stringifyPipe(pipe)).str();
}

constexpr int64_t kReserved = 14; ///< flags between cores from here on are those of all cores

static Type elementOf(Value buffer) { return cast<MemRefType>(buffer.getType()).getElementType(); }

/// The last two dimensions of a box.
static SmallVector<int> matrixDims(const Box &box) {
  auto rank = int(cast<MemRefType>(box.buffer.getType()).getRank());
  return {rank > 1 ? rank - 2 : -1, rank - 1};
}

/// The box as a matrix: everything in front of its last two dimensions has size 1.
static bool isMatrix(const Box &box) {
  SmallVector<int64_t> sizes = staticSizes(box);
  return !sizes.empty() &&
         llvm::all_of(ArrayRef(sizes).drop_back(std::min<size_t>(2, sizes.size())),
                      [](int64_t size) { return size == 1; });
}

LogicalResult Emitter::move(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](npu::LoadOp op) { return load(op); })
      .Case([&](npu::StoreOp op) { return store(op, ""); })
      .Case([&](npu::AtomicOp op) {
        switch (op.getKind()) {
        case ReduceKind::Sum:
          return store(op, "add");
        case ReduceKind::Max:
          return store(op, "max");
        case ReduceKind::Min:
          return store(op, "min");
        default:
          return refuse(op, "an atomic that is neither a sum nor a maximum nor a minimum");
        }
      })
      .Case([&](npu::FillL1Op op) { return fillL1(op); })
      .Case([&](npu::LoadL0Op op) {
        bool isMade = !frame.hasFlags(); // by the product that reads it, see inL1
        return isMade ? success() : refuse(op, "'" + op->getName().getStringRef() + "'");
      })
      .Case([&](npu::MmadOp op) { return mmad(op); })
      .Case([&](npu::FixpipeOp op) { return fixpipe(op); });
}

LogicalResult Emitter::load(npu::LoadOp op) {
  Box dst = op.getBox(0), src = op.getBox(1);
  SmallVector<int> keepDst, keepSrc;
  pair(dst, src, keepDst, keepSrc);
  if (npu::spaceOf(dst.buffer) == npu::Space::UB) {
    SmallVector<Value> views = {view(src, keepSrc), view(dst, keepDst)};
    checkRows(views, /*isRowWise=*/false);
    emit("load", views, {}, {1, 1, 0, 0, 0, 0});
    return success();
  }
  if (!isMatrix(dst))
    return refuse(op, "a load into L1 of more than a matrix");
  // Rows and columns of the tile, with what faces them.
  SmallVector<int> rows = matrixDims(dst), from;
  for (int dim : rows) {
    auto at = llvm::find(keepDst, dim);
    from.push_back(dim >= 0 && at != keepDst.end() ? keepSrc[at - keepDst.begin()] : -1);
  }
  FailureOr<Value> tile = fractals(op, dst, Rows::Any);
  if (failed(tile))
    return failure();
  emit("nd2nz", {view(src, from), *tile}, named("dst_continuous", builder.getUnitAttr()),
       {1, 1, 0, 0});
  return success();
}

/// (dst GM, src UB).
LogicalResult Emitter::store(Operation *op, StringRef atomic) {
  auto access = cast<AccessInterface>(op);
  Box dst = access.getBox(0), src = access.getBox(1);
  if (npu::spaceOf(src.buffer) == npu::Space::L1)
    return refuse(op, "a store from L1");
  SmallVector<int> keepDst, keepSrc;
  pair(dst, src, keepDst, keepSrc);
  SmallVector<NamedAttribute> attributes;
  if (!atomic.empty())
    attributes.push_back(word("atomic_kind", "atomic_kind", atomic));
  SmallVector<Value> views = {view(src, keepSrc), view(dst, keepDst)};
  checkRows(views, /*isRowWise=*/false);
  emit("store", views, attributes);
  return success();
}

LogicalResult Emitter::fillL1(npu::FillL1Op op) {
  FailureOr<Value> tile = fractals(op, op.getBox(0), Rows::Exact);
  if (succeeded(tile))
    emit("vbrc", {mapping.lookup(op.getValue()), *tile});
  return tile;
}

static bool isSame(ValueRange first, ValueRange second) {
  return llvm::equal(first, second, [](Value a, Value b) {
    std::optional<int64_t> known = constantOf(a);
    return a == b || (known && known == constantOf(b));
  });
}

/// What an operand of a product in L0 was loaded from: products load L0 by themselves. Fails where
/// L1 may hold something else by now.
FailureOr<Box> Emitter::inL1(npu::MmadOp product, const Box &box) {
  if (npu::spaceOf(box.buffer) == npu::Space::L1)
    return box;
  llvm::SmallPtrSet<Value, 4> changed;
  for (Operation *op = product->getPrevNode(); op; op = op->getPrevNode()) {
    auto load = dyn_cast<npu::LoadL0Op>(op);
    if (load && load.getBox(0).buffer == box.buffer) {
      Box place = load.getBox(0), source = load.getBox(1);
      if (!isSame(place.offsets, box.offsets) || !isSame(place.sizes, box.sizes) ||
          changed.contains(source.buffer))
        break;
      return source;
    }
    op->walk([&](Operation *inner) {
      if (auto advance = dyn_cast<npu::AdvanceOp>(inner))
        changed.insert(advance.getBuffer());
      auto access = dyn_cast<AccessInterface>(inner);
      for (unsigned index = 0; access && index < access.getNumBoxes(); ++index)
        if (writes(access.getAccessKind(index)))
          changed.insert(access.getBox(index).buffer);
    });
  }
  return refuse(product, "a product of tiles in L0 that were not loaded just before");
}

LogicalResult Emitter::mmad(npu::MmadOp op) {
  for (unsigned box : {0u, 1u, 2u})
    if (!isMatrix(op.getBox(box)))
      return refuse(op, "a product of more than matrices");
  Box c = op.getBox(0);
  FailureOr<Box> givenA = inL1(op, op.getBox(1)), givenB = inL1(op, op.getBox(2));
  if (failed(givenA) || failed(givenB))
    return failure();
  Box a = *givenA, b = *givenB;
  SmallVector<int> dimsC = matrixDims(c), dimsA = matrixDims(a);
  auto size = [&](const Box &box, int dim) {
    return dim < 0 ? constant(1) : asValue(fold(box.sizes[dim]));
  };
  SmallVector<NamedAttribute> attributes;
  if (op.getTransposeA())
    attributes.push_back(named("a_transpose", builder.getUnitAttr()));
  if (op.getTransposeB())
    attributes.push_back(named("b_transpose", builder.getUnitAttr()));
  FailureOr<Value> left = fractals(op, a), right = fractals(op, b), sum = fractals(op, c);
  if (failed(left) || failed(right) || failed(sum))
    return failure();
  emit("mmadL1",
       {*left, *right, mapping.lookup(op.getInit()), size(c, dimsC[0]),
        size(a, dimsA[op.getTransposeA() ? 0 : 1]), size(c, dimsC[1]), *sum},
       attributes, {1, 1, 1, 1, 1, 1, 1, 0, 0, 0});
  return success();
}

/// (dst GM or L1, src L0C).
LogicalResult Emitter::fixpipe(npu::FixpipeOp op) {
  Box dst = op.getBox(0), src = op.getBox(1);
  if (!isMatrix(src))
    return refuse(op, "moving more than a matrix out of L0C");
  bool isGlobal = npu::spaceOf(dst.buffer) != npu::Space::L1;
  SmallVector<int> keepDst, keepSrc, rows = matrixDims(src), to;
  pair(dst, src, keepDst, keepSrc);
  for (int dim : rows) {
    auto at = llvm::find(keepSrc, dim);
    to.push_back(dim >= 0 && at != keepSrc.end() ? keepDst[at - keepSrc.begin()] : -1);
  }
  SmallVector<NamedAttribute> attributes = {
      word("dma_mode", "dma_mode", isGlobal ? "nz2nd" : "normal")};
  Type from = elementOf(src.buffer), result = elementOf(dst.buffer);
  if (from != result) {
    StringRef quantised = from.isF32() && result.isF16()              ? "F322F16"
                          : from.isF32() && result.isBF16()           ? "F322BF16"
                          : from.isInteger(32) && result.isInteger(8) ? "S322I8"
                                                                      : "";
    if (quantised.empty())
      return refuse(op, "an accumulator whose elements become another type than f16, bf16 or i8");
    attributes.push_back(word("pre_quant", "fixpipe_pre_quant_mode", quantised));
  }
  if (std::optional<APFloat> scale = op.getScale(); scale && !scale->isExactlyValue(1.0))
    return refuse(op, "a scale of what leaves L0C");
  if (op.getRelu())
    attributes.push_back(word("pre_relu", "fixpipe_pre_relu_mode", "NORMAL_RELU"));
  FailureOr<Value> tile = fractals(op, src);
  FailureOr<Value> place = isGlobal ? FailureOr<Value>(view(dst, to)) : fractals(op, dst);
  if (failed(tile) || failed(place))
    return failure();
  emit("fixpipe", {*tile, *place}, attributes, {1, 1, 0, 0});
  return success();
}

/// Flags and barriers. Those between the pipes of a core stay out where another compiler makes
/// them.
LogicalResult Emitter::sync(Operation *op) {
  if (auto set = dyn_cast<npu::BlockSetOp>(op))
    return blockSync(op, set.getPipe(), int64_t(set.getId()), set.getPlus(), /*isSet=*/true);
  if (auto wait = dyn_cast<npu::BlockWaitOp>(op))
    return blockSync(op, wait.getPipe(), int64_t(wait.getId()), wait.getPlus(), /*isSet=*/false);
  if (isa<npu::EndBlockOp>(op))
    return endBlock(op);
  if (auto barrier = dyn_cast<npu::CoreBarrierOp>(op))
    return meet(barrier);
  if (!frame.hasFlags())
    return success();
  if (auto barrier = dyn_cast<npu::BarrierOp>(op)) {
    if (barrier.getPipe() == npu::Pipe::V || barrier.getPipe() == npu::Pipe::All)
      usesScratch = false;
    emit("pipe_barrier", {}, word("pipe", "pipe", pipeName(barrier.getPipe())));
    return success();
  }
  auto flag = [&](auto op, StringRef name) {
    SmallVector<NamedAttribute> attributes = {word("set_pipe", "pipe", pipeName(op.getSource())),
                                              word("wait_pipe", "pipe", pipeName(op.getTarget()))};
    auto id = int64_t(op.getId());
    Value slot = op.getRotate();
    if (slot)
      slot = slot.getType().isIndex() ? mapping.lookup(slot) : state.lookup(slot);
    if (!slot) {
      attributes.push_back(word("static_event_id", "event", "EVENT_ID" + std::to_string(id)));
      emit(name, {}, attributes);
      return;
    }
    emit(name, asI64(asValue(plus(slot, builder.getIndexAttr(id)))), attributes);
  };
  if (auto set = dyn_cast<npu::SetFlagOp>(op))
    flag(set, "set_flag");
  else
    flag(cast<npu::WaitFlagOp>(op), "wait_flag");
  return success();
}

/// The largest value of a sum of constants, counters of loops and remainders; none for others.
static std::optional<int64_t> largest(Value index) {
  if (std::optional<int64_t> known = getConstantIntValue(index))
    return known;
  if (auto loop = scf::getForInductionVarOwner(index)) {
    std::optional<int64_t> end = getConstantIntValue(loop.getUpperBound());
    return end ? std::optional(*end - 1) : std::nullopt;
  }
  if (auto sum = index.getDefiningOp<arith::AddIOp>()) {
    std::optional<int64_t> a = largest(sum.getLhs()), b = largest(sum.getRhs());
    return a && b ? std::optional(*a + *b) : std::nullopt;
  }
  if (auto rest = index.getDefiningOp<arith::RemUIOp>())
    if (std::optional<int64_t> by = getConstantIntValue(rest.getRhs()))
      return *by - 1;
  return std::nullopt;
}

/// The AIC hears of both AIVs, each of which has done all, before it lets them go on.
LogicalResult Emitter::endBlock(Operation *op) {
  emit("pipe_barrier", {}, word("pipe", "pipe", pipeName(npu::Pipe::All)));
  usesScratch = false;
  if (!frame.isMixed())
    return success();
  constexpr int64_t kFromCube = kReserved - 2, kFromVector = kReserved - 1;
  bool isFree = true;
  for (func::FuncOp function : {frame.aic, frame.aiv})
    function.walk([&](Operation *inner) {
      if (auto barrier = dyn_cast<npu::CoreBarrierOp>(inner))
        isFree &= int64_t(barrier.getId()) < kFromCube;
      if (auto set = dyn_cast<npu::BlockSetOp>(inner))
        isFree &= int64_t(set.getId()) +
                      (set.getPlus() ? largest(set.getPlus()).value_or(kReserved) : 0) <
                  kFromCube;
    });
  if (!isFree)
    return refuse(op, "the end of a block whose flags between cores are too many, or known at run "
                      "time only");
  auto flag = [&](bool isSet) {
    bool fromCube = (core == Core::AIC) == isSet;
    SmallVector<NamedAttribute> attributes = {
        word("tcore_type", "tcore_type", core == Core::AIC ? "CUBE" : "VECTOR"),
        word("tpipe", "pipe", pipeName(fromCube ? npu::Pipe::FIX : npu::Pipe::MTE3)),
        word("pipe", "pipe", pipeName(npu::Pipe::S)),
        named("static_flag_id", builder.getI64IntegerAttr(fromCube ? kFromCube : kFromVector))};
    if (isSet)
      emit("sync_block_set", {}, attributes, {0, 0});
    else
      emit("sync_block_wait", {}, attributes);
  };
  bool isVector = core == Core::AIV;
  flag(/*isSet=*/isVector);
  flag(/*isSet=*/!isVector);
  return success();
}

/// A flag between the cores of a group names both pipes: that of the other end is looked up there.
LogicalResult Emitter::blockSync(Operation *op, npu::Pipe pipe, int64_t id, Value plus,
                                 bool isSet) {
  func::FuncOp partner = core == Core::AIC ? frame.aiv : frame.aic;
  std::optional<npu::Pipe> other;
  bool isClear = true;
  auto consider = [&](npu::Pipe found, int64_t foundId, Value foundPlus) {
    if (foundId != id && !plus && !foundPlus) // a number known at run time may be any
      return;
    isClear &= !other || *other == found;
    other = found;
  };
  if (partner)
    partner.walk([&](Operation *inner) {
      if (auto set = dyn_cast<npu::BlockSetOp>(inner); set && !isSet)
        consider(set.getPipe(), int64_t(set.getId()), set.getPlus());
      if (auto wait = dyn_cast<npu::BlockWaitOp>(inner); wait && isSet)
        consider(wait.getPipe(), int64_t(wait.getId()), wait.getPlus());
    });
  if (!other)
    return refuse(op, "a flag between cores without another end");
  if (!isClear)
    return refuse(op, "a flag between cores whose other end is on several pipes");
  if (id >= kReserved)
    return refuse(op, "more than " + Twine(kReserved) + " flags between cores");
  SmallVector<NamedAttribute> attributes = {
      word("tcore_type", "tcore_type", core == Core::AIC ? "CUBE" : "VECTOR"),
      word("tpipe", "pipe", pipeName(isSet ? pipe : *other)),
      word("pipe", "pipe", pipeName(isSet ? *other : pipe))};
  SmallVector<Value> number;
  if (plus)
    number.push_back(asI64(asValue(this->plus(mapping.lookup(plus), builder.getIndexAttr(id)))));
  else
    attributes.push_back(named("static_flag_id", builder.getI64IntegerAttr(id)));
  if (isSet)
    emit("sync_block_set", number, attributes, {int32_t(number.size()), 0});
  else
    emit("sync_block_wait", number, attributes);
  return success();
}

/// Cores of one kind meet: a flag that is set once all of them have set it.
LogicalResult Emitter::meet(npu::CoreBarrierOp op) {
  auto id = int64_t(op.getId());
  if (id >= kReserved)
    return refuse(op, "more than " + Twine(kReserved) + " flags between cores");
  SmallVector<NamedAttribute> attributes = {
      word("tcore_type", "tcore_type", core == Core::AIC ? "CUBE" : "VECTOR"),
      word("tpipe", "pipe", pipeName(op.getPipe())), word("pipe", "pipe", pipeName(op.getPipe())),
      named("static_flag_id", builder.getI64IntegerAttr(id))};
  SmallVector<NamedAttribute> setAttributes(attributes);
  setAttributes.push_back(
      word("tsync_instr_mode", "sync_block_instr_mode",
           op.getAllBlocks() ? "INTER_BLOCK_SYNCHRONIZATION" : "INTER_SUBBLOCK_SYNCHRONIZATION"));
  emit("sync_block_set", {}, setAttributes, {0, 0});
  emit("sync_block_wait", {}, attributes);
  return success();
}

LogicalResult Emitter::print(npu::PrintOp op) {
  Value what;
  if (op.getNumBoxes() > 0) {
    SmallVector<int> keep =
        llvm::to_vector(llvm::seq<int>(0, int(staticSizes(op.getBox(0)).size())));
    what = view(op.getBox(0), keep);
  } else if (op.getScalar()) {
    what = mapping.lookup(op.getScalar());
  } else {
    return refuse(op, "a print without a value");
  }
  if (what.getType().isIndex())
    what = asI64(what);
  emit("debug", what,
       {named("debugtype", builder.getStringAttr("print")),
        named("hex", builder.getBoolAttr(false)), named("prefix", op.getMessageAttr()),
        word("tcoretype", "tcore_type", core == Core::AIC ? "CUBE" : "VECTOR")});
  return success();
}
