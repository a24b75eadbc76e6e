// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-expand-functions: functions that the vector unit lacks, as expressions of those that it has.

#include "tilewright/passes/TileUtils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numbers>

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEEXPANDFUNCTIONS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;

namespace {

/// Expressions in f32 at one place.
class Expressions {
public:
  Expressions(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value number(double value) {
    return builder.create<arith::ConstantOp>(loc, builder.getF32FloatAttr(float(value)));
  }
  Value add(Value a, Value b) { return builder.create<arith::AddFOp>(loc, a, b); }
  Value sub(Value a, Value b) { return builder.create<arith::SubFOp>(loc, a, b); }
  Value mul(Value a, Value b) { return builder.create<arith::MulFOp>(loc, a, b); }
  Value div(Value a, Value b) { return builder.create<arith::DivFOp>(loc, a, b); }
  Value add(Value a, double b) { return add(a, number(b)); }
  Value mul(Value a, double b) { return mul(a, number(b)); }
  Value exp(Value a) { return builder.create<math::ExpOp>(loc, a); }
  Value log(Value a) { return builder.create<math::LogOp>(loc, a); }

  /// x - k * pi with k integral, an odd polynomial of that, and the sign of (-1)^k.
  Value sin(Value x) {
    Value k = builder.create<math::RoundEvenOp>(loc, mul(x, 1 / std::numbers::pi));
    Value rest = x;
    for (double part : {3.140625, 9.67502593994140625e-4, 1.509957990978376e-7})
      rest = sub(rest, mul(k, part));
    Value square = mul(rest, rest), sum = mul(square, 1.0 / 362880);
    for (double factor : {-1.0 / 5040, 1.0 / 120, -1.0 / 6})
      sum = mul(add(sum, factor), square);
    Value half = builder.create<math::FloorOp>(loc, mul(k, 0.5));
    Value isOdd = sub(k, mul(half, 2));
    return mul(mul(add(sum, 1), rest), add(mul(isOdd, -2), 1));
  }
  Value cos(Value x) { return sin(add(x, std::numbers::pi / 2)); }

  /// `op` of `x`; null for one that the unit has.
  Value expand(Operation *op, Value x) {
    return llvm::TypeSwitch<Operation *, Value>(op)
        .Case([&](math::Exp2Op) { return exp(mul(x, std::numbers::ln2)); })
        .Case([&](math::Log2Op) { return mul(log(x), std::numbers::log2e); })
        .Case([&](math::Log10Op) { return mul(log(x), std::numbers::log10e); })
        .Case([&](math::Log1pOp) { return log(add(x, 1)); })
        .Case([&](math::TanhOp) { // 1 - 2 / (exp(2x) + 1), exact at both ends
          return add(div(number(-2), add(exp(mul(x, 2)), 1)), 1);
        })
        .Case([&](math::SinOp) { return sin(x); })
        .Case([&](math::CosOp) { return cos(x); })
        .Case([&](math::TanOp) { return div(sin(x), cos(x)); })
        .Default(Value());
  }

private:
  OpBuilder &builder;
  Location loc;
};

struct TileExpandFunctions : passes::impl::TileExpandFunctionsBase<TileExpandFunctions> {
  void runOnOperation() override {
    SmallVector<Operation *> functions;
    getOperation().walk([&](tile::ParallelOp parallel) {
      parallel.walk([&](Operation *op) {
        if (isa<math::Exp2Op, math::Log2Op, math::Log10Op, math::Log1pOp, math::TanhOp, math::SinOp,
                math::CosOp, math::TanOp>(op))
          functions.push_back(op);
      });
    });
    for (Operation *op : functions) {
      Type type = op->getResult(0).getType(), f32 = Float32Type::get(&getContext());
      if (type.getIntOrFloatBitWidth() > 32)
        continue;
      OpBuilder builder(op);
      Value x = op->getOperand(0);
      if (type != f32)
        x = builder.create<arith::ExtFOp>(op->getLoc(), f32, x);
      Value result = Expressions(builder, op->getLoc()).expand(op, x);
      if (type != f32)
        result = builder.create<arith::TruncFOp>(op->getLoc(), type, result);
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    }
  }
};

} // namespace
