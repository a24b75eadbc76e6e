// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-fold-fills: a tile that holds one number is that number.

#include "tilewright/passes/TileUtils.h"

#include "mlir/IR/Matchers.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEFOLDFILLS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-fold-fills";

/// Whole tiles that hold one number, at some place of the program.
using Known = llvm::DenseMap<Value, Value>;

/// A tile of the author's that has one name.
bool isTile(Value buffer) {
  return buffer.getDefiningOp<AllocOp>() && isUnplaced(buffer) &&
         llvm::none_of(buffer.getUsers(), [](Operation *user) {
           return llvm::any_of(user->getResultTypes(), llvm::IsaPred<MemRefType>);
         });
}

/// Operands that may change places.
bool isCommutative(Fn fn) {
  return fn == Fn::Add || fn == Fn::Mul || fn == Fn::Max || fn == Fn::Min;
}

bool isNumber(Value value, double number) {
  APFloat asFloat(0.0);
  APInt asInteger;
  if (matchPattern(value, m_ConstantFloat(&asFloat)))
    return asFloat.convertToDouble() == number;
  return matchPattern(value, m_ConstantInt(&asInteger)) && asInteger.getSExtValue() == number;
}

/// x + 0 and the like. A sum may lose the sign of a zero.
bool isIdentity(Fn fn, Value scalar, bool strict) {
  switch (fn) {
  case Fn::Add:
    return !strict && isNumber(scalar, 0);
  case Fn::Sub:
    return !strict && isNumber(scalar, 0);
  case Fn::Mul:
  case Fn::Div:
    return isNumber(scalar, 1);
  default:
    return false;
  }
}

Type elementOf(const Box &box) { return cast<MemRefType>(box.buffer.getType()).getElementType(); }

class Folder {
public:
  explicit Folder(bool strict) : strict(strict) {}

  void run(Block &block, Known known);

private:
  void visit(Operation *op, Known &known);
  void fold(ElementwiseOp op, const Known &known);

  bool strict;
};

/// Forgets what `op` writes, with everything inside of it.
void forgetWritten(Operation *op, Known &known) {
  op->walk([&](Operation *inner) {
    auto access = dyn_cast<AccessInterface>(inner);
    if (!access) {
      for (Value operand : inner->getOperands()) // whatever it does with the tile
        known.erase(operand);
      return;
    }
    for (unsigned box = 0; box < access.getNumBoxes(); ++box)
      if (writes(access.getAccessKind(box)))
        known.erase(access.getBox(box).buffer);
  });
}

void Folder::run(Block &block, Known known) {
  for (Operation &op : llvm::make_early_inc_range(block))
    visit(&op, known);
}

void Folder::visit(Operation *op, Known &known) {
  if (op->getNumRegions() > 0) {
    forgetWritten(op, known); // also before a loop: by earlier turns
    for (Region &region : op->getRegions())
      for (Block &block : region)
        run(block, known);
    return;
  }
  if (auto fill = dyn_cast<FillOp>(op)) {
    Box box = fill.getBox(0);
    if (!isTile(box.buffer))
      return;
    if (coversBuffer(box) && fill.getValue().getType() == elementOf(box))
      known[box.buffer] = fill.getValue();
    else
      known.erase(box.buffer);
    return;
  }
  auto step = dyn_cast<ElementwiseOp>(op);
  if (!step)
    return forgetWritten(op, known);
  Value written = step.getBox(0).buffer;
  fold(step, known);
  known.erase(written);
}

/// An operand that is one number becomes the scalar of an operation that has none.
void Folder::fold(ElementwiseOp op, const Known &known) {
  Fn fn = op.getFn();
  bool isArithmetic = isCommutative(fn) || fn == Fn::Sub || fn == Fn::Div;
  if (!isArithmetic || op.getScalar() || op.getNumBoxes() != 3)
    return;
  for (unsigned number : {2u, 1u}) {
    Box box = op.getBox(number), other = op.getBox(3 - number);
    Value scalar = known.lookup(box.buffer);
    if (!scalar || (number == 1 && !isCommutative(fn)) || elementOf(box) != elementOf(other))
      continue;
    bool isPlain = elementOf(other) == elementOf(op.getBox(0)) && isIdentity(fn, scalar, strict);
    OpBuilder builder(op);
    BoxOperands boxes;
    boxes.add(builder, op.getLoc(), op.getBox(0));
    boxes.add(builder, op.getLoc(), other);
    SmallVector<Attribute> maps = {builder.getDenseI64ArrayAttr(op.getMap(0)),
                                   builder.getDenseI64ArrayAttr(op.getMap(3 - number))};
    remark(op, kPass, "applied") << "'" << nameOf(box.buffer) << "' holds one number here, which "
                                 << (isPlain ? "changes nothing" : "is an operand by itself");
    builder.create<ElementwiseOp>(op.getLoc(), boxes.buffers, boxes.offsets, boxes.sizes,
                                  isPlain ? Value() : scalar,
                                  FnAttr::get(op.getContext(), isPlain ? Fn::Copy : fn),
                                  builder.getArrayAttr(maps), UnitAttr(), op.getRoundAttr());
    op.erase();
    return;
  }
}

/// Fills of tiles that nobody reads any more.
void dropFills(LaunchOp launch) {
  for (AllocOp alloc : llvm::to_vector(launch.getOps<AllocOp>())) {
    if (alloc->use_empty() || !isTile(alloc) ||
        !llvm::all_of(alloc->getUsers(), llvm::IsaPred<FillOp>))
      continue;
    for (Operation *user : llvm::make_early_inc_range(alloc->getUsers()))
      user->erase();
    alloc.erase();
  }
}

struct TileFoldFills : passes::impl::TileFoldFillsBase<TileFoldFills> {
  using Base::Base;

  void runOnOperation() override {
    getOperation().walk([&](LaunchOp launch) {
      if (isByHand(launch))
        return;
      Folder(strict).run(launch.getBody().front(), Known());
      dropFills(launch);
    });
  }
};

} // namespace
