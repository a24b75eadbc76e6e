// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/Pipelines.h"

#include "tilewright/passes/Checkers.h"
#include "tilewright/passes/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;

/// Plain forms: exponents and masks as written; scalar loops; copies as written; blocks as written,
/// of cube work (twice), of vector work and of both; tiles of one number as tiles; K steps as
/// written; turns as written; all rows at once; one vector core; sums in one piece; products of
/// whole tiles; one slot a tile; no late stages; tiles filled in each turn; barriers everywhere.
const std::vector<std::string> &passes::switchNames() {
  static const std::vector<std::string> names = {
      "exponents",  "masks", "vectorize", "copies", "join",       "fit",        "batch",
      "widen",      "fills", "fuse-k",    "order",  "fuse-turns", "slice-rows", "split-rows",
      "halve-sums", "trim",  "pipeline",  "skew",   "hoist",      "sync"};
  return names;
}

std::vector<Stage> passes::stagesFor(const PipelineOptions &options) {
  std::vector<Stage> stages;
  bool decides = true;
  auto onFunctions = [&](StringRef name, std::function<std::unique_ptr<Pass>()> create) {
    stages.push_back(
        {name.str(),
         [create](OpPassManager &manager) { manager.nest<func::FuncOp>().addPass(create()); },
         decides});
  };
  auto onModule = [&](StringRef name, std::function<std::unique_ptr<Pass>()> create) {
    stages.push_back(
        {name.str(), [create](OpPassManager &manager) { manager.addPass(create()); }, decides});
  };

  // Checkers that share no code with the stages, after those whose work they look at.
  auto verifyContents = [&] {
    if (options.verify)
      onFunctions("tile-verify-contents", [] { return createTileVerifyContents(); });
  };
  auto verifyChannels = [&] {
    if (options.verify)
      onFunctions("tile-verify-channels", [] { return createTileVerifyChannels(); });
  };
  auto verifyWork = [&](bool record = false) {
    if (options.verify)
      onFunctions("tile-verify-work",
                  [record] { return createTileVerifyWork(TileVerifyWorkOptions{record}); });
  };
  auto verifyVersions = [&](bool record = false) {
    if (options.verify)
      onFunctions("tile-verify-versions",
                  [record] { return createTileVerifyVersions(TileVerifyVersionsOptions{record}); });
  };

  onFunctions("tile-separate-views", [] { return createTileSeparateViews(); });
  if (options.has("exponents") && !options.strict)
    onFunctions("tile-fold-exponents", [] { return createTileFoldExponents(); });
  if (!options.strict)
    onFunctions("tile-expand-functions", [] { return createTileExpandFunctions(); });
  onFunctions("tile-vectorize-parallel",
              [plain = !options.has("vectorize"), strip = options.strip] {
                return createTileVectorizeParallel(TileVectorizeParallelOptions{plain, strip});
              });
  onFunctions("tile-forward-scalars", [] { return createTileForwardScalars(); });
  if (options.has("fills"))
    onFunctions("tile-fold-fills", [strict = options.strict] {
      return createTileFoldFills(TileFoldFillsOptions{strict});
    });
  onFunctions("tile-widen-products", [chip = options.chip] {
    return createTileWidenProducts(TileWidenProductsOptions{chip});
  });
  if (options.has("copies"))
    onFunctions("tile-forward-copies", [] { return createTileForwardCopies(); });
  onFunctions("tile-place-accumulators", [chip = options.chip, strict = options.strict] {
    return createTilePlaceAccumulators(TilePlaceAccumulatorsOptions{chip, strict});
  });
  if (options.has("masks") && !options.strict)
    onFunctions("tile-fold-masks", [] { return createTileFoldMasks(); });
  onFunctions("tile-place-buffers", [] { return createTilePlaceBuffers(); });
  if (options.verify)
    onFunctions("tile-verify-places", [] { return createTileVerifyPlaces(); });
  if (options.has("pipeline"))
    onFunctions("tile-split-live-ranges", [] { return createTileSplitLiveRanges(); });
  if (options.has("join"))
    onFunctions("tile-join-blocks", [chip = options.chip] {
      return createTileJoinBlocks(TileJoinBlocksOptions{chip});
    });
  if (options.has("fit"))
    onFunctions("tile-fit-blocks",
                [chip = options.chip] { return createTileFitBlocks(TileFitBlocksOptions{chip}); });
  if (options.has("batch"))
    onFunctions("tile-batch-blocks", [chip = options.chip] {
      return createTileBatchBlocks(TileBatchBlocksOptions{chip});
    });
  if (options.has("widen"))
    onFunctions("tile-widen-blocks", [chip = options.chip] {
      return createTileWidenBlocks(TileWidenBlocksOptions{chip});
    });
  if (options.has("fuse-k"))
    onFunctions("tile-fuse-k",
                [chip = options.chip] { return createTileFuseK(TileFuseKOptions{chip, 0, 1}); });
  if (options.has("order"))
    onFunctions("tile-order-blocks", [] { return createTileOrderBlocks(); });
  onFunctions("tile-materialize-zero", [] { return createTileMaterializeZero(); });
  verifyContents();
  onFunctions("tile-split-cores", [] { return createTileSplitCores(); });
  verifyChannels();
  if (options.has("fuse-turns") && !options.strict)
    onFunctions("tile-fuse-turns", [chip = options.chip] {
      return createTileFuseTurns(TileFuseTurnsOptions{chip, 0});
    });
  verifyWork(/*record=*/true);
  if (options.has("slice-rows"))
    onFunctions("tile-slice-rows", [chip = options.chip] {
      return createTileSliceRows(TileSliceRowsOptions{chip, 0});
    });
  if (options.has("split-rows"))
    onFunctions("tile-split-rows", [chip = options.chip, parts = options.parts] {
      return createTileSplitRows(TileSplitRowsOptions{chip, parts});
    });
  if (options.has("pipeline") && options.has("halve-sums"))
    onFunctions("tile-halve-sums",
                [chip = options.chip] { return createTileHalveSums(TileHalveSumsOptions{chip}); });
  verifyContents();
  verifyWork();
  verifyVersions(/*record=*/true);
  if (options.has("pipeline"))
    onFunctions("tile-pipeline-buffers", [] { return createTilePipelineBuffers(); });
  if (options.has("pipeline") && options.has("skew"))
    onFunctions("tile-skew-stages", [] { return createTileSkewStages(); });
  verifyContents();
  verifyVersions();
  verifyChannels();

  decides = false;
  onModule("convert-tile-to-npu", [] { return createConvertTileToNpu(); });
  onModule("canonicalize", [] { return createCanonicalizerPass(); });
  onModule("loop-invariant-code-motion", [] { return createLoopInvariantCodeMotionPass(); });
  onModule("cse", [] { return createCSEPass(); });
  if (options.has("trim")) {
    decides = true;
    onFunctions("npu-trim-products", [] { return createNpuTrimProducts(); });
    decides = false;
  }
  if (options.legal)
    onFunctions("npu-legalize",
                [chip = options.chip] { return createNpuLegalize(NpuLegalizeOptions{chip}); });
  if (options.has("hoist"))
    onModule("npu-hoist-invariants", [chip = options.chip] {
      return createNpuHoistInvariants(NpuHoistInvariantsOptions{chip});
    });
  onModule("npu-plan-memory", [chip = options.chip, keepSlots = options.keepSlots] {
    return createNpuPlanMemory(NpuPlanMemoryOptions{chip, keepSlots});
  });
  NpuInsertSyncOptions sync;
  sync.mode = options.has("sync") ? "minimal" : "barrier-all";
  onFunctions("npu-insert-sync", [sync] { return createNpuInsertSync(sync); });
  if (options.verify) {
    onModule("npu-verify-plan",
             [chip = options.chip] { return createNpuVerifyPlan(NpuVerifyPlanOptions{chip}); });
    onFunctions("npu-verify-sync", [] { return createNpuVerifySync(); });
  }
  return stages;
}

namespace {

struct PathOptions : PassPipelineOptions<PathOptions> {
  ListOption<std::string> disable{*this, "disable", llvm::cl::desc("stages to leave out or plain")};
};

} // namespace

void passes::registerPipelines() {
  PassPipelineRegistration<PathOptions>(
      "tilewright-pipeline", "the whole path, from tile as built to npu",
      [](OpPassManager &manager, const PathOptions &given) {
        PipelineOptions options;
        options.disable.assign(given.disable.begin(), given.disable.end());
        for (const Stage &stage : stagesFor(options))
          stage.add(manager);
      });
}
