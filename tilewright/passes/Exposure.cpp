// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/Exposure.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;

Summary passes::summarize(Operation &op, Value tile) {
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    Summary yes = summarize(*branch.thenBlock(), tile);
    Summary no = branch.elseBlock() ? summarize(*branch.elseBlock(), tile) : Summary();
    return {yes.exposed || no.exposed, yes.kills && no.kills};
  }
  Summary result;
  if (op.getNumRegions() != 0) {
    bool surely = isa<scf::ForOp>(op) && runsAtLeastOnce(cast<scf::ForOp>(op));
    for (Region &region : op.getRegions())
      for (Block &block : region) {
        Summary inner = summarize(block, tile);
        result.exposed |= inner.exposed;
        result.kills |= inner.kills && surely;
      }
    return result;
  }
  auto access = dyn_cast<AccessInterface>(op);
  if (!access)
    return result;
  for (unsigned box = 0; box < access.getNumBoxes(); ++box) {
    if (access.getBox(box).buffer != tile)
      continue;
    result.exposed |= reads(access.getAccessKind(box));
    result.kills |=
        access.getAccessKind(box) == AccessKind::Write && coversBuffer(access.getBox(box));
  }
  return result;
}

Summary passes::summarize(Block &block, Value tile) {
  Summary result;
  for (Operation &op : block) {
    Summary next = summarize(op, tile);
    result.exposed |= next.exposed && !result.kills;
    result.kills |= next.kills;
  }
  return result;
}
