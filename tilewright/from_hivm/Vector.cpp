// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vector unit: what operations and library calls have in common.

#include "tilewright/from_hivm/Reader.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::from_hivm;

LogicalResult Reader::elementwise(Operation *op, Fn fn, Value dst, ValueRange sources, Round round,
                                  bool isUnsigned, bool turns) {
  FailureOr<const View *> to = viewOf(op, dst);
  if (failed(to))
    return failure();
  auto isMemref = [](Value value) { return isa<MemRefType>(value.getType()); };
  if (fn == Fn::Cast && sources.size() == 1 && isMemref(sources[0]) &&
      cast<MemRefType>(sources[0].getType()).getElementType() == (*to)->element) {
    constexpr Fn kRounds[] = {Fn::Rint, Fn::Floor, Fn::Ceil, Fn::Nearest, Fn::Trunc, Fn::Rint};
    fn = kRounds[int(round)]; // within one type
  }
  if (sources.size() == 1 && !isMemref(sources[0])) {
    if ((*to)->isFractal)
      return fillL1(op, sources[0], dst);
    Boxes boxes = boxesOf(operand(**to));
    builder.create<npu::FillOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes, scalar(sources[0]));
    return success();
  }
  auto typed = [&](const View &view) {
    Type type = view.element;
    bool isNarrow = isUnsigned && type.isInteger(8);
    return operand(view,
                   isNarrow ? IntegerType::get(type.getContext(), 8, IntegerType::Unsigned) : type);
  };
  SmallVector<Operand> operands = {typed(**to)};
  SmallVector<Value> scalars;
  for (Value source : sources) {
    if (!isMemref(source)) {
      scalars.push_back(scalar(source));
      continue;
    }
    FailureOr<const View *> from = viewOf(op, source);
    if (failed(from))
      return failure();
    if ((*from)->sizes.size() != (*to)->sizes.size() || (*from)->isFractal || (*to)->isFractal)
      return refuse(op, "operands of " + Twine((*from)->sizes.size()) + " and " +
                            Twine((*to)->sizes.size()) + " dimensions, or in L1");
    operands.push_back(typed(**from));
  }
  if (scalars.size() > 1)
    return refuse(op, "two scalars");
  SmallVector<Attribute> maps;
  for (size_t index = 0; index < operands.size(); ++index) {
    SmallVector<int64_t> map = llvm::to_vector(llvm::seq<int64_t>(0, (*to)->sizes.size()));
    if (turns && index > 0)
      std::swap(map[map.size() - 2], map[map.size() - 1]);
    maps.push_back(builder.getDenseI64ArrayAttr(map));
  }
  bool isFirst = !scalars.empty() && sources.size() > 1 && !isMemref(sources.front());
  Boxes boxes = boxesOf(operands);
  MLIRContext *context = builder.getContext();
  builder.create<npu::ElementwiseOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes,
                                     scalars.empty() ? Value() : scalars.front(),
                                     npu::FnAttr::get(context, fn), builder.getArrayAttr(maps),
                                     unitIf(isFirst), npu::RoundAttr::get(context, round));
  return success();
}

/// The destination has as many dimensions as the source, of size 1 where it is reduced, or lacks
/// those.
LogicalResult Reader::reduce(Operation *op, ReduceKind kind, Value dst, Value src,
                             ArrayRef<int64_t> dims) {
  FailureOr<const View *> to = viewOf(op, dst), from = viewOf(op, src);
  if (failed(to) || failed(from))
    return failure();
  auto rank = int64_t((*from)->sizes.size());
  bool isKept = (*to)->sizes.size() == (*from)->sizes.size();
  SmallVector<int64_t> follows;
  for (int64_t dim = 0; dim < rank; ++dim) {
    bool isReduced = llvm::is_contained(dims, dim);
    if (isKept || !isReduced)
      follows.push_back(isReduced ? -1 : dim);
  }
  while (follows.size() < (*to)->sizes.size()) // all of it into one element
    follows.push_back(-1);
  if (follows.size() != (*to)->sizes.size())
    return refuse(op, "a reduction of " + Twine(rank) + " dimensions into " +
                          Twine((*to)->sizes.size()));
  Boxes boxes = boxesOf({operand(**to), operand(**from)});
  builder.create<npu::ReduceOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes, kind, dims, follows,
                                /*accumulate=*/false);
  return success();
}

LogicalResult Reader::scan(Operation *op, ReduceKind kind, Value dst, Value src, int64_t dim,
                           bool isReverse) {
  FailureOr<const View *> to = viewOf(op, dst), from = viewOf(op, src);
  if (failed(to) || failed(from))
    return failure();
  Boxes boxes = boxesOf({operand(**to), operand(**from)});
  builder.create<npu::ScanOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes, kind, dim, isReverse);
  return success();
}

LogicalResult Reader::iota(Operation *op, Value dst, ValueRange startAndSteps) {
  FailureOr<const View *> to = viewOf(op, dst);
  if (failed(to))
    return failure();
  if (startAndSteps.size() != (*to)->sizes.size() + 1)
    return refuse(op, "a count with another number of steps than dimensions");
  Boxes boxes = boxesOf(operand(**to));
  SmallVector<Value> numbers =
      llvm::map_to_vector(startAndSteps, [&](Value value) { return scalar(value); });
  builder.create<npu::IotaOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes, numbers.front(),
                              ArrayRef(numbers).drop_front());
  return success();
}

LogicalResult Reader::gather(Operation *op, Value table, Value index, Value dst) {
  FailureOr<const View *> from = viewOf(op, table), at = viewOf(op, index), to = viewOf(op, dst);
  if (failed(from) || failed(at) || failed(to))
    return failure();
  Boxes boxes = boxesOf({operand(**to), operand(**from), operand(**at)});
  builder.create<npu::GatherOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes);
  return success();
}
