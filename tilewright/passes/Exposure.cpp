// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/Exposure.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;

namespace {

/// Ops that use a tile or hold one that does, in the order of their block. Kernels have many tiles,
/// each of which few statements touch.
class Holders {
public:
  explicit Holders(Value tile) {
    for (Operation *user : tile.getUsers())
      for (Operation *op = user; op && op->getBlock(); op = op->getParentOp())
        if (!known.insert(op).second)
          break;
        else
          inBlock[op->getBlock()].push_back(op);
    for (auto &[block, ops] : inBlock)
      llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  }

  ArrayRef<Operation *> of(Block &block) const {
    auto found = inBlock.find(&block);
    return found == inBlock.end() ? ArrayRef<Operation *>() : found->second;
  }

private:
  llvm::SmallPtrSet<Operation *, 16> known;
  llvm::DenseMap<Block *, SmallVector<Operation *>> inBlock;
};

/// True for boxes of one buffer at the same place with the same sizes.
bool isSameBox(const Box &a, const Box &b) {
  auto areSame = [](ValueRange left, ValueRange right) {
    return left.size() == right.size() && llvm::all_of_zip(left, right, [](Value x, Value y) {
             return x == y || (constantOf(x) && constantOf(x) == constantOf(y));
           });
  };
  return a.buffer == b.buffer && areSame(a.offsets, b.offsets) && areSame(a.sizes, b.sizes);
}

/// `written`: boxes that were written before, in this block or around it.
Summary summarize(Block &block, Value tile, const Holders &holders, SmallVector<Box> written);

Summary summarize(Operation &op, Value tile, const Holders &holders, ArrayRef<Box> written) {
  auto inner = [&](Block &block) {
    return summarize(block, tile, holders, SmallVector<Box>(written));
  };
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    Summary yes = inner(*branch.thenBlock());
    Summary no = branch.elseBlock() ? inner(*branch.elseBlock()) : Summary();
    return {yes.exposed || no.exposed, yes.kills && no.kills};
  }
  Summary result;
  if (op.getNumRegions() != 0) {
    bool surely = isa<scf::ForOp>(op) && runsAtLeastOnce(cast<scf::ForOp>(op));
    for (Region &region : op.getRegions())
      for (Block &block : region) {
        Summary found = inner(block);
        result.exposed |= found.exposed;
        result.kills |= found.kills && surely;
      }
    return result;
  }
  auto access = dyn_cast<AccessInterface>(op);
  if (!access)
    return result;
  for (unsigned box = 0; box < access.getNumBoxes(); ++box) {
    if (access.getBox(box).buffer != tile)
      continue;
    result.exposed |= reads(access.getAccessKind(box)) && llvm::none_of(written, [&](const Box &b) {
                        return isSameBox(b, access.getBox(box));
                      });
    result.kills |=
        access.getAccessKind(box) == AccessKind::Write && coversBuffer(access.getBox(box));
  }
  return result;
}

Summary summarize(Block &block, Value tile, const Holders &holders, SmallVector<Box> written) {
  Summary result;
  for (Operation *op : holders.of(block)) {
    Summary next = summarize(*op, tile, holders, written);
    result.exposed |= next.exposed && !result.kills;
    result.kills |= next.kills;
    if (auto access = dyn_cast<AccessInterface>(op); access && !result.kills)
      for (unsigned box = 0; box < access.getNumBoxes(); ++box)
        if (access.getBox(box).buffer == tile && access.getAccessKind(box) == AccessKind::Write)
          written.push_back(access.getBox(box));
  }
  return result;
}

} // namespace

Summary passes::summarize(Block &block, Value tile) {
  return ::summarize(block, tile, Holders(tile), {});
}

SmallVector<Summary> passes::summarize(ArrayRef<Operation *> ops, Value tile) {
  Holders holders(tile);
  return llvm::map_to_vector(ops,
                             [&](Operation *op) { return ::summarize(*op, tile, holders, {}); });
}
