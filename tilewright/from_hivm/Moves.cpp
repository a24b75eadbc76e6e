// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Movers, the cube, flags.

#include "tilewright/from_hivm/Reader.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::from_hivm;

Reader::Boxes Reader::boxesOf(ArrayRef<Operand> operands) {
  Boxes boxes;
  for (const Operand &operand : operands) {
    boxes.buffers.push_back(operand.buffer);
    for (OpFoldResult offset : operand.offsets)
      boxes.offsets.push_back(asValue(offset));
    for (OpFoldResult size : operand.sizes)
      boxes.sizes.push_back(asValue(size));
  }
  return boxes;
}

/// Global memory to UB, or as fractals to L1.
LogicalResult Reader::load(Operation *op, Value src, Value dst) {
  FailureOr<const View *> from = viewOf(op, src), to = viewOf(op, dst);
  if (failed(from) || failed(to))
    return failure();
  npu::Space source = memories[(*from)->memory].space;
  if (source != npu::Space::GM && source != npu::Space::Workspace)
    return refuse(op, "a load from on-chip memory");
  Operand given = operand(**from), place;
  if (!(*to)->isFractal) {
    place = operand(**to);
  } else {
    size_t rank = (*from)->sizes.size();
    if (rank < 1 || rank > 2)
      return refuse(op, "a load into L1 of more than a matrix");
    place = fractals(**to, rank == 2 ? (*from)->sizes[0] : OpFoldResult(builder.getIndexAttr(1)),
                     (*from)->sizes.back());
  }
  Boxes boxes = boxesOf({place, given});
  builder.create<npu::LoadOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes, UnitAttr());
  return success();
}

LogicalResult Reader::store(Operation *op, Value src, Value dst, StringRef atomic) {
  FailureOr<const View *> from = viewOf(op, src), to = viewOf(op, dst);
  if (failed(from) || failed(to))
    return failure();
  if ((*from)->isFractal)
    return refuse(op, "a store from L1 or L0C");
  Boxes boxes = boxesOf({operand(**to), operand(**from)});
  if (atomic.empty() || atomic == "none") {
    builder.create<npu::StoreOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes);
    return success();
  }
  std::optional<ReduceKind> kind = llvm::StringSwitch<std::optional<ReduceKind>>(atomic)
                                       .Case("add", ReduceKind::Sum)
                                       .Case("max", ReduceKind::Max)
                                       .Case("min", ReduceKind::Min)
                                       .Default(std::nullopt);
  if (!kind)
    return refuse(op, "an atomic '" + atomic + "'");
  builder.create<npu::AtomicOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes, *kind);
  return success();
}

/// a, b, whether C starts at 0, m, k, n, c. `sync`: numbers of events that the product waits for
/// and sets around its reads of a and b, -1 for none; they become flags.
LogicalResult Reader::mmad(Operation *op, ValueRange operands, bool transposeA, bool transposeB,
                           ValueRange sync) {
  FailureOr<const View *> a = viewOf(op, operands[0]), b = viewOf(op, operands[1]),
                          c = viewOf(op, operands[6]);
  if (failed(a) || failed(b) || failed(c))
    return failure();
  if (!(*a)->isFractal || !(*b)->isFractal || !(*c)->isFractal)
    return refuse(op, "a product of anything but fractals");
  auto size = [&](unsigned at) {
    Value value = scalar(operands[at]);
    if (!value.getType().isIndex())
      value = builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), value);
    return getAsOpFoldResult(value);
  };
  OpFoldResult m = size(3), k = size(4), n = size(5);
  auto event = [&](unsigned at, bool isSet) {
    if (at >= sync.size() || getConstantIntValue(sync[at]).value_or(0) < 0)
      return;
    Value id = scalar(sync[at]);
    auto known = getConstantIntValue(id);
    Value plus =
        known ? Value()
              : builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), id).getResult();
    if (isSet)
      emitFlag(isSet, npu::Pipe::MTE1, npu::Pipe::MTE2, known.value_or(0), plus);
    else
      emitFlag(isSet, npu::Pipe::MTE2, npu::Pipe::MTE1, known.value_or(0), plus);
  };
  event(0, /*isSet=*/false);
  event(1, /*isSet=*/false);
  Boxes boxes =
      boxesOf({fractals(**c, m, n), transposeA ? fractals(**a, k, m) : fractals(**a, m, k),
               transposeB ? fractals(**b, n, k) : fractals(**b, k, n)});
  builder.create<npu::MmadOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes, scalar(operands[2]),
                              unitIf(transposeA), unitIf(transposeB));
  event(2, /*isSet=*/true);
  event(3, /*isSet=*/true);
  return success();
}

LogicalResult Reader::fixpipe(Operation *op, Value src, Value dst, bool relu) {
  FailureOr<const View *> from = viewOf(op, src), to = viewOf(op, dst);
  if (failed(from) || failed(to))
    return failure();
  if (!(*from)->isFractal)
    return refuse(op, "a fixpipe from anything but L0C");
  Operand given, place;
  if ((*to)->isFractal) { // whole fractals
    auto count = [&](const View &view, unsigned fromEnd, int64_t width) {
      return times(view.extents[view.extents.size() - fromEnd], builder.getIndexAttr(width));
    };
    OpFoldResult rows = count(**from, 3, 16), columns = count(**from, 4, 16);
    given = fractals(**from, rows, columns);
    place = fractals(**to, rows, columns);
  } else {
    size_t rank = (*to)->sizes.size();
    if (rank < 1 || rank > 2)
      return refuse(op, "moving more than a matrix out of L0C");
    place = operand(**to);
    given = fractals(**from, rank == 2 ? (*to)->sizes[0] : OpFoldResult(builder.getIndexAttr(1)),
                     (*to)->sizes.back());
  }
  Boxes boxes = boxesOf({place, given});
  bool saturates = (*from)->element.isInteger(32) && (*to)->element.isInteger(8);
  builder.create<npu::FixpipeOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes, unitIf(relu),
                                 saturates ? builder.getF32FloatAttr(1) : FloatAttr());
  return success();
}

LogicalResult Reader::fillL1(Operation *op, Value value, Value dst) {
  FailureOr<const View *> to = viewOf(op, dst);
  if (failed(to))
    return failure();
  int64_t width = 32 / int64_t(llvm::divideCeil((*to)->element.getIntOrFloatBitWidth(), 8));
  const Sizes &extents = (*to)->extents;
  if (extents.size() < 4)
    return refuse(op, "a fill of anything but fractals");
  Boxes boxes =
      boxesOf(fractals(**to, times(extents[extents.size() - 3], extents[extents.size() - 2]),
                       times(extents[extents.size() - 4], builder.getIndexAttr(width))));
  builder.create<npu::FillL1Op>(loc, boxes.buffers, boxes.offsets, boxes.sizes, scalar(value));
  return success();
}

LogicalResult Reader::flag(Operation *op, bool isSet) {
  std::optional<npu::Pipe> from = pipeOf(wordOf(op, "set_pipe")),
                           to = pipeOf(wordOf(op, "wait_pipe"));
  if (!from || !to)
    return refuse(op, "a flag between pipes that are not known");
  int64_t id = 0;
  Value plus;
  if (StringRef event = wordOf(op, "static_event_id"); event.consume_front("EVENT_ID")) {
    if (event.getAsInteger(10, id))
      return refuse(op, "a flag whose number is not known");
  } else if (op->getNumOperands() == 1) {
    plus = scalar(op->getOperand(0));
    if (auto known = getConstantIntValue(plus)) {
      id = *known;
      plus = {};
    } else if (auto cast = plus.getDefiningOp<arith::IndexCastOp>();
               cast && cast.getIn().getType().isIndex()) {
      plus = cast.getIn();
    } else {
      plus = builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), plus);
    }
  } else {
    return refuse(op, "a flag without a number");
  }
  emitFlag(isSet, *from, *to, id, plus);
  return success();
}

/// A flag between pipes of this core, number `id` plus `plus`.
void Reader::emitFlag(bool isSet, npu::Pipe from, npu::Pipe to, int64_t id, Value plus) {
  MLIRContext *context = builder.getContext();
  auto source = npu::PipeAttr::get(context, from), target = npu::PipeAttr::get(context, to);
  auto number = builder.getI64IntegerAttr(id);
  if (isSet)
    builder.create<npu::SetFlagOp>(loc, source, target, number, plus, UnitAttr());
  else
    builder.create<npu::WaitFlagOp>(loc, source, target, number, plus);
}

/// Flags between cores: `tpipe` is the pipe that sets, `pipe` the one that waits.
LogicalResult Reader::blockFlag(Operation *op, bool isSet) {
  std::optional<npu::Pipe> pipe = pipeOf(wordOf(op, isSet ? "tpipe" : "pipe"));
  if (!pipe)
    return refuse(op, "a flag of a pipe that is not known");
  int64_t id = 0;
  Value plus;
  if (auto number = dyn_cast_or_null<IntegerAttr>(attributeOf(op, "static_flag_id"))) {
    id = number.getInt();
  } else if (op->getNumOperands() > 0 && mapping.contains(op->getOperand(0))) {
    plus =
        builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), scalar(op->getOperand(0)));
  } else {
    return refuse(op, "a flag without a number");
  }
  auto number = builder.getI64IntegerAttr(id);
  auto which = npu::PipeAttr::get(builder.getContext(), *pipe);
  if (StringRef mode = wordOf(op, "tsync_instr_mode"); isSet && mode.starts_with("INTER_")) {
    if (plus)
      return refuse(op, "a meeting of cores whose flag is known at run time only");
    builder.create<npu::CoreBarrierOp>(loc, which, number, unitIf(mode.starts_with("INTER_BLOCK")));
    meetings.insert(id);
    return success();
  }
  if (!isSet && meetings.erase(id)) // its wait is part of the meeting
    return success();
  if (isSet)
    builder.create<npu::BlockSetOp>(loc, which, number, plus);
  else
    builder.create<npu::BlockWaitOp>(loc, which, number, plus);
  return success();
}
