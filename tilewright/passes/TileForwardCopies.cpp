// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-forward-copies: read what a tile was copied from.

#include "tilewright/passes/TileUtils.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEFORWARDCOPIES
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-forward-copies";

/// A tile whose place the compiler chooses.
bool isTile(Value buffer) {
  auto alloc = buffer.getDefiningOp<AllocOp>();
  if (!alloc)
    return false;
  bool isFree = isUnplaced(buffer) || (scopeOf(buffer) == Scope::UB && !alloc->hasAttr(kUserAttr));
  return isFree && llvm::all_of(buffer.getUsers(), [](Operation *user) {
           return isa<AccessInterface>(user) && !isa<ParallelOp>(user->getParentOp());
         });
}

/// True for `dst = src`, element by element, with whatever conversion.
bool isPlainCopy(Operation *op) {
  if (auto copy = dyn_cast<CopyOp>(op))
    return !copy.getRelu();
  auto elementwise = dyn_cast<ElementwiseOp>(op);
  if (!elementwise || elementwise.getFn() != Fn::Copy || elementwise.getNumBoxes() != 2)
    return false;
  return !elementwise.getMaps() || elementwise.getMap(0) == elementwise.getMap(1);
}

/// A copy of one whole tile to another that nothing else writes.
class Forwarding {
public:
  /// Checks everything that `run` relies on.
  static std::optional<Forwarding> match(Operation *op);
  void run();

private:
  Operation *op = nullptr;
  Value dst, src;

  bool isSeenHere();
  bool isStable();
  bool canRead(Operation *reader, bool isConverted);
};

/// The readers of the copy come after it, each time it has run.
bool Forwarding::isSeenHere() {
  bool fine = true;
  forEachAccess(dst, [&](AccessInterface access, unsigned box) {
    if (access == op)
      return;
    Operation *inBlock = ancestorIn(op->getBlock(), access);
    fine &=
        access.getAccessKind(box) == AccessKind::Read && inBlock && op->isBeforeInBlock(inBlock);
  });
  return fine;
}

/// The source still holds the same when the last of them reads.
bool Forwarding::isStable() {
  Operation *last = op;
  forEachAccess(dst, [&](AccessInterface access, unsigned) {
    Operation *inBlock = ancestorIn(op->getBlock(), access);
    if (last->isBeforeInBlock(inBlock))
      last = inBlock;
  });
  bool fine = true;
  forEachAccess(src, [&](AccessInterface access, unsigned box) {
    Operation *inBlock = ancestorIn(op->getBlock(), access);
    if (!writes(access.getAccessKind(box)) || !inBlock || inBlock == op)
      return;
    fine &= inBlock->isBeforeInBlock(op) || last->isBeforeInBlock(inBlock);
  });
  return fine;
}

/// The reader takes the source as well; a print names what the author wrote. A conversion on the
/// way is only made by a copy, which then makes it itself: to the same type, so with the same
/// rounding.
bool Forwarding::canRead(Operation *reader, bool isConverted) {
  if (isa<PrintOp>(reader))
    return false;
  if (!isConverted)
    return true;
  // In a loop it would be made again each turn.
  if (reader->getBlock() != op->getBlock())
    return false;
  auto copy = dyn_cast<CopyOp>(reader);
  if (!copy || copy.getBox(1).buffer != dst || copy.getBox(0).buffer == src)
    return false;
  auto typeOf = [](Value buffer) { return cast<MemRefType>(buffer.getType()).getElementType(); };
  return typeOf(copy.getBox(0).buffer) == typeOf(dst) &&
         scopeOf(copy.getBox(0).buffer) == Scope::Global;
}

std::optional<Forwarding> Forwarding::match(Operation *op) {
  auto access = dyn_cast<AccessInterface>(op);
  if (!access || !isPlainCopy(op))
    return std::nullopt;
  Forwarding found;
  found.op = op;
  Box to = access.getBox(0), from = access.getBox(1);
  found.dst = to.buffer;
  found.src = from.buffer;
  if (to.buffer == from.buffer || !isTile(to.buffer) || !isTile(from.buffer) || !coversBuffer(to) ||
      !coversBuffer(from))
    return std::nullopt;
  auto dstType = cast<MemRefType>(to.buffer.getType());
  auto srcType = cast<MemRefType>(from.buffer.getType());
  if (dstType.getShape() != srcType.getShape() || found.dst.hasOneUse())
    return std::nullopt;
  bool isConverted = dstType.getElementType() != srcType.getElementType();
  for (Operation *user : found.dst.getUsers())
    if (user != op && !found.canRead(user, isConverted))
      return std::nullopt;
  if (!found.isSeenHere() || !found.isStable())
    return std::nullopt;
  return found;
}

void Forwarding::run() {
  remark(op, kPass, "applied") << "'" << nameOf(dst) << "' is a copy of '" << nameOf(src)
                               << "', which is read in its place";
  op->erase();
  auto alloc = dst.getDefiningOp<AllocOp>();
  dst.replaceAllUsesWith(src);
  alloc.erase();
}

struct TileForwardCopiesPass : passes::impl::TileForwardCopiesBase<TileForwardCopiesPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](LaunchOp launch) {
      if (!isByHand(launch))
        launch.walk([&](Operation *op) {
          if (isPlainCopy(op))
            ops.push_back(op);
        });
    });
    for (Operation *op : ops)
      if (std::optional<Forwarding> found = Forwarding::match(op))
        found->run();
  }
};

} // namespace
