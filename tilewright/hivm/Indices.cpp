// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/hivm/Indices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tilewright;

Value hivm::asValue(OpBuilder &builder, Location loc, OpFoldResult value) {
  if (auto known = getConstantIntValue(value))
    return builder.create<arith::ConstantIndexOp>(loc, *known);
  return cast<Value>(value);
}

OpFoldResult hivm::times(OpBuilder &builder, Location loc, OpFoldResult a, OpFoldResult b) {
  auto x = getConstantIntValue(a), y = getConstantIntValue(b);
  if (x && y)
    return builder.getIndexAttr(*x * *y);
  if ((x && *x == 0) || (y && *y == 1))
    return a;
  if ((y && *y == 0) || (x && *x == 1))
    return b;
  return builder.create<arith::MulIOp>(loc, asValue(builder, loc, a), asValue(builder, loc, b))
      .getResult();
}

OpFoldResult hivm::plus(OpBuilder &builder, Location loc, OpFoldResult a, OpFoldResult b) {
  auto x = getConstantIntValue(a), y = getConstantIntValue(b);
  if (x && y)
    return builder.getIndexAttr(*x + *y);
  if (y && *y == 0)
    return a;
  if (x && *x == 0)
    return b;
  return builder.create<arith::AddIOp>(loc, asValue(builder, loc, a), asValue(builder, loc, b))
      .getResult();
}
