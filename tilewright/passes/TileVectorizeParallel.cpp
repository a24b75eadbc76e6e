// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-vectorize-parallel: rewrite tile.parallel into whole-tile ops.

#include "tilewright/passes/PassDetails.h"

#define DEBUG_TYPE "tile-vectorize-parallel"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEVECTORIZEPARALLEL
#include "tilewright/passes/Passes.h.inc"

namespace {

struct TileVectorizeParallelPass : impl::TileVectorizeParallelBase<TileVectorizeParallelPass> {
  void runOnOperation() override { getOperation(); }
};

} // namespace
} // namespace tilewright::passes
