// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-fold-masks: a product onto a mask of zero and minus infinity is a choice.

#include "tilewright/passes/TileUtils.h"

#include "mlir/IR/Matchers.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEFOLDMASKS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-fold-masks";

bool isZero(Value value) { return value && matchPattern(value, m_AnyZeroFloat()); }
bool isMinusInfinity(Value value) { return value && matchPattern(value, m_NegInfFloat()); }

/// The op goes over the whole of box `box`, which is element by element that of the destination.
bool isWhole(ElementwiseOp op, unsigned box) {
  auto shapeOf = [&](unsigned number) {
    return cast<MemRefType>(op.getBox(number).buffer.getType()).getShape();
  };
  for (auto [dim, to] : llvm::enumerate(op.getMap(box)))
    if (to != static_cast<int64_t>(dim))
      return false;
  return coversBuffer(op.getBox(box)) && shapeOf(box) == shapeOf(0);
}

bool touches(Operation *op, Value tile) {
  return op
      ->walk([&](AccessInterface access) {
        for (unsigned box = 0; box < access.getNumBoxes(); ++box)
          if (access.getBox(box).buffer == tile)
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// The op before `op` in its block that touches the tile.
Operation *lastTouch(Operation *op, Value tile) {
  for (op = op->getPrevNode(); op && !touches(op, tile);)
    op = op->getPrevNode();
  return op;
}

/// `score = mask ? a : b; score += sum`, where a and b are 0 and minus infinity; or, with `spread`,
/// `score = row of a mask; score += sum`.
struct MaskedSum {
  ElementwiseOp add, select, spread;
  FillOp fill;            ///< of the arm that is no scalar
  CopyOp load;            ///< of the sum
  Value score, mask, sum; ///< tiles
  bool isKeptWhereTrue = false;
};

std::optional<MaskedSum> match(ElementwiseOp add) {
  if (add.getFn() != Fn::Add || add.getNumBoxes() != 3 || add.getScalar() ||
      !llvm::all_of(llvm::seq(3u), [&](unsigned box) { return isWhole(add, box); }))
    return std::nullopt;
  MaskedSum found;
  found.add = add;
  found.score = add.getBox(0).buffer;
  bool isFirst = add.getBox(1).buffer == found.score;
  found.sum = add.getBox(isFirst ? 2 : 1).buffer;
  if ((!isFirst && add.getBox(2).buffer != found.score) || found.sum == found.score ||
      !cast<MemRefType>(found.score.getType()).getElementType().isF32())
    return std::nullopt;

  // The sum is read here only, and comes from one copy that may write into the score as well.
  unsigned accesses = 0;
  forEachAccess(found.sum, [&](AccessInterface, unsigned) { ++accesses; });
  found.load = dyn_cast_or_null<CopyOp>(lastTouch(add, found.sum));
  if (accesses != 2 || !found.load || found.load.getBox(0).buffer != found.sum ||
      !coversBuffer(found.load.getBox(0)) ||
      cast<MemRefType>(found.sum.getType()).getElementType() !=
          cast<MemRefType>(found.score.getType()).getElementType())
    return std::nullopt;

  auto made = dyn_cast_or_null<ElementwiseOp>(lastTouch(add, found.score));
  if (made && made.getFn() == Fn::Copy && made.getNumBoxes() == 2 &&
      made.getBox(0).buffer == found.score && isWhole(made, 0) && coversBuffer(made.getBox(1)) &&
      !found.load.getRelu() && made->isBeforeInBlock(found.load) &&
      made.getBox(1).buffer != found.sum &&
      cast<MemRefType>(made.getBox(1).buffer.getType()).getElementType().isF32() &&
      lastTouch(add, made.getBox(1).buffer) == made.getOperation()) {
    found.spread = made;
    return found;
  }
  found.select = made;
  if (!found.select || found.select.getFn() != Fn::Select || found.select.getNumBoxes() != 3 ||
      found.select.getScalarFirst() || !isWhole(found.select, 0) || !isWhole(found.select, 2) ||
      !coversBuffer(found.select.getBox(1)) || found.select.getBox(0).buffer != found.score ||
      found.select.getBox(2).buffer != found.score)
    return std::nullopt;
  found.mask = found.select.getBox(1).buffer;
  found.fill = dyn_cast_or_null<FillOp>(lastTouch(found.select, found.score));
  if (!found.fill || !coversBuffer(found.fill.getBox(0)) ||
      !found.fill->isBeforeInBlock(found.load) || found.load.getRelu() ||
      lastTouch(add, found.mask) != found.select.getOperation())
    return std::nullopt;
  Value yes = found.fill.getValue(), no = found.select.getScalar();
  found.isKeptWhereTrue = isZero(yes);
  bool isMask = (isZero(yes) && isMinusInfinity(no)) || (isMinusInfinity(yes) && isZero(no));
  return isMask ? std::optional(found) : std::nullopt;
}

/// Adds the row itself, in place of a tile of its copies: the same sums.
void foldSpread(MaskedSum found) {
  OpBuilder builder(found.add);
  Location loc = found.add.getLoc();
  BoxOperands boxes;
  boxes.addWhole(builder, loc, found.score);
  boxes.addWhole(builder, loc, found.score);
  boxes.add(builder, loc, found.spread.getBox(1));
  SmallVector<Attribute> maps;
  for (unsigned box : {0u, 0u, 1u})
    maps.push_back(builder.getDenseI64ArrayAttr(found.spread.getMap(box)));
  builder.create<ElementwiseOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes, Value(),
                                FnAttr::get(builder.getContext(), Fn::Add),
                                builder.getArrayAttr(maps), UnitAttr(),
                                RoundAttr::get(builder.getContext(), Round::Rint));
  remark(found.spread, kPass, "applied")
      << "'" << nameOf(found.spread.getBox(1).buffer) << "' is added row by row, "
      << "in place of a tile of its copies";
  found.load.getBuffersMutable()[0].set(found.score);
  found.add.erase();
  found.spread.erase();
}

/// True when nothing else reads the mask: it can be turned round in place.
bool isOwn(MaskedSum found) {
  bool isOwn = true;
  forEachAccess(found.mask, [&](AccessInterface op, unsigned box) {
    isOwn &= op.getOperation() == found.select.getOperation() || !reads(op.getAccessKind(box));
  });
  Operation *made = lastTouch(found.select, found.mask);
  auto access = dyn_cast_or_null<AccessInterface>(made);
  return isOwn && access && access.getBox(0).buffer == found.mask &&
         access.getAccessKind(0) == AccessKind::Write && coversBuffer(access.getBox(0));
}

void fold(MaskedSum found) {
  ElementwiseOp select = found.select;
  Location loc = select.getLoc();
  OpBuilder builder(found.add);
  Value infinity = found.isKeptWhereTrue ? select.getScalar() : found.fill.getValue();
  Value mask = found.mask;
  if (!found.isKeptWhereTrue) {
    // A scalar is chosen where the mask is false.
    if (!isOwn(found)) {
      auto type = cast<MemRefType>(mask.getType());
      mask = createAlloc(found.add, loc, nameOf(mask) + ".not", type.getShape(),
                         type.getElementType(), Scope::UB);
    }
    BoxOperands boxes;
    boxes.addWhole(builder, loc, mask);
    boxes.addWhole(builder, loc, found.mask);
    builder.create<ElementwiseOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes, Value(),
                                  FnAttr::get(builder.getContext(), Fn::Not), ArrayAttr(),
                                  UnitAttr(), RoundAttr::get(builder.getContext(), Round::Rint));
  }
  auto chosen = cast<ElementwiseOp>(builder.clone(*select));
  chosen.getBuffersMutable()[1].set(mask);
  chosen.getScalarMutable().assign(infinity);
  remark(select, kPass, "applied")
      << "the mask chooses between the product and minus infinity, in place of a sum with '"
      << nameOf(found.score) << "'";
  found.load.getBuffersMutable()[0].set(found.score);
  for (Operation *op : {found.add.getOperation(), select.getOperation(), found.fill.getOperation()})
    op->erase();
}

struct TileFoldMasksPass : passes::impl::TileFoldMasksBase<TileFoldMasksPass> {
  void runOnOperation() override {
    SmallVector<ElementwiseOp> sums;
    getOperation().walk([&](ElementwiseOp op) { sums.push_back(op); });
    for (ElementwiseOp op : sums)
      if (op.getFn() == Fn::Add)
        if (std::optional<MaskedSum> found = match(op))
          found->spread ? foldSpread(*found) : fold(*found);
  }
};

} // namespace
