// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints and asserts: an operation of HIVM, or calls that take their text through a pointer.

#include "tilewright/from_hivm/Reader.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::from_hivm;

/// Constants and addresses of texts, which the last stage has in the dialect of LLVM.
LogicalResult Reader::llvmOp(Operation *op, StringRef name) {
  if (op->getNumResults() != 1)
    return refuse(op, "operation 'llvm." + name + "' is not known");
  Value result = op->getResult(0);
  if (name == "mlir.constant" && result.getType().isSignlessInteger()) {
    auto value = dyn_cast_or_null<IntegerAttr>(attributeOf(op, "value"));
    if (value && value.getType() == result.getType()) {
      mapping.map(result, builder.create<arith::ConstantOp>(loc, value));
      return success();
    }
  }
  if (name == "mlir.addressof")
    if (auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(attributeOf(op, "global_name")))
      for (Operation &global : *source->getParentOfType<ModuleOp>().getBody())
        if (attributeOf(&global, SymbolTable::getSymbolAttrName()) == symbol.getAttr())
          if (auto text = dyn_cast_or_null<StringAttr>(attributeOf(&global, "value"))) {
            messages[result] = text;
            return success();
          }
  if (name == "getelementptr" && op->getNumOperands() == 1 &&
      messages.contains(op->getOperand(0))) {
    messages[result] = messages.lookup(op->getOperand(0));
    return success();
  }
  return refuse(op, "operation 'llvm." + name + "' is not known, or not with these operands");
}

LogicalResult Reader::debug(Operation *op) {
  auto type = dyn_cast_or_null<StringAttr>(attributeOf(op, "debugtype"));
  auto text = dyn_cast_or_null<StringAttr>(attributeOf(op, "prefix"));
  if (!type || !text || op->getNumOperands() != 1)
    return refuse(op, "a message without a text or a value");
  return type.getValue() == "assert" ? assertion(op, text, op->getOperand(0))
                                     : print(op, text, op->getOperand(0));
}

/// A call with the text, its length, the value and, in a print, whether it is hexadecimal.
LogicalResult Reader::messageCall(func::CallOp op, bool isAssert) {
  StringAttr text = op.getNumOperands() >= 3 ? messages.lookup(op.getOperand(0)) : StringAttr();
  if (!text)
    return refuse(op, "a message without a text or a value");
  return isAssert ? assertion(op, text, op.getOperand(2)) : print(op, text, op.getOperand(2));
}

LogicalResult Reader::print(Operation *op, StringAttr text, Value value) {
  auto plain = StringAttr::get(builder.getContext(), text.getValue());
  if (!isa<MemRefType>(value.getType())) {
    builder.create<npu::PrintOp>(loc, ValueRange(), ValueRange(), ValueRange(), scalar(value),
                                 plain);
    return success();
  }
  FailureOr<const View *> view = viewOf(op, value);
  if (failed(view))
    return failure();
  Boxes boxes = boxesOf(operand(**view));
  builder.create<npu::PrintOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes, Value(), plain);
  return success();
}

LogicalResult Reader::assertion(Operation *op, StringAttr text, Value value) {
  if (!value.getType().isSignlessInteger())
    return refuse(op, "an assertion of anything but an integer");
  Value condition = scalar(value);
  if (!condition.getType().isInteger(1)) {
    Value zero =
        builder.create<arith::ConstantOp>(loc, builder.getIntegerAttr(condition.getType(), 0));
    condition = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, condition, zero);
  }
  builder.create<npu::AssertOp>(loc, condition,
                                StringAttr::get(builder.getContext(), text.getValue()));
  return success();
}
