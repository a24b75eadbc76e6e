// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-widen-products: products of 8-bit floats on cubes that have none.

#include "tilewright/passes/Chip.h"
#include "tilewright/passes/TileUtils.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEWIDENPRODUCTS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-widen-products";

/// Where the operand can be converted: before the product, outside of the loops that do not change
/// it.
Operation *placeFor(GemmOp gemm, const Box &box) {
  Operation *place = gemm;
  while (auto loop = dyn_cast<scf::ForOp>(place->getParentOp())) {
    bool changes = false;
    forEachAccess(box.buffer, [&](AccessInterface access, unsigned index) {
      changes |= writes(access.getAccessKind(index)) && loop->isAncestor(access);
    });
    auto isOutside = [&](Value value) { return loop.isDefinedOutsideOfLoop(value); };
    if (changes || !llvm::all_of(box.offsets, isOutside) || !llvm::all_of(box.sizes, isOutside))
      break;
    place = loop;
  }
  return place;
}

/// A tile with the elements of box `index` of a product as f16, which holds every 8-bit float.
Value widened(GemmOp gemm, unsigned index) {
  Box box = gemm.getBox(index);
  Location loc = gemm.getLoc();
  auto type = cast<MemRefType>(box.buffer.getType());
  OpBuilder builder(placeFor(gemm, box));
  AllocOp tile = createAlloc(gemm, loc, nameOf(box.buffer) + ".f16", type.getShape(),
                             builder.getF16Type(), Scope::Shared);
  BoxOperands operands;
  operands.add(builder, loc, box, tile);
  operands.add(builder, loc, box);
  builder.create<CopyOp>(loc, operands.buffers, operands.offsets, operands.sizes, FloatAttr(),
                         /*relu=*/false);
  return tile;
}

struct TileWidenProducts : passes::impl::TileWidenProductsBase<TileWidenProducts> {
  using TileWidenProductsBase::TileWidenProductsBase;

  void runOnOperation() override {
    auto machine = chipFor(getOperation(), chip);
    if (!machine)
      return signalPassFailure();
    if (machine->macsF8 > 0)
      return;
    SmallVector<GemmOp> gemms;
    getOperation().walk([&](GemmOp gemm) {
      Type element = cast<MemRefType>(gemm.getBuffers()[1].getType()).getElementType();
      if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8)
        gemms.push_back(gemm);
    });
    for (GemmOp gemm : gemms) {
      for (unsigned index : {1u, 2u})
        gemm.getBuffersMutable()[index].set(widened(gemm, index));
      remark(gemm, kPass, "widened") << "the cube of " << chip
                                     << " has no products of 8-bit floats: the vector unit "
                                        "converts both operands to float16";
    }
  }
};

} // namespace
