// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace tilewright::passes {

struct PipelineOptions {
  std::string chip = "910b3";
  int optLevel = 2;                 ///< 0: the plain form of every stage
  bool verify = false;              ///< run the independent checkers too
  bool strict = false;              ///< no change of rounding but the partial product
  std::vector<std::string> disable; ///< stages to leave out or plain, of switchNames()
  bool forceSplitRows = false;      ///< cut vector work over two cores at level 0 too; only
                                    ///< whole-tile operations can be cut

  /// Blocks of kernels without cube work are cut into this many, row by row. 0: as many as there
  /// are idle cores.
  int64_t parts = 0;
  int64_t strip = 0;      ///< lanes that element-wise statements work on at a time; 0: all
  bool keepSlots = false; ///< fail rather than take the second slot from a tile in UB
  bool lateStages = true; ///< false: what tile-skew-stages keeps for late stages does not fit
  bool fusedTurns = true; ///< false: the tiles of tile-fuse-turns do not fit
  bool legal = true;      ///< false: the tiles of npu-legalize do not fit

  bool has(llvm::StringRef stage) const {
    bool wanted =
        optLevel > 0 || (forceSplitRows && (stage == "split-rows" || stage == "vectorize"));
    wanted &= lateStages || stage != "skew";
    wanted &= fusedTurns || stage != "fuse-turns";
    return wanted && std::find(disable.begin(), disable.end(), stage) == disable.end();
  }
};

/// One step of the path of a kernel.
struct Stage {
  std::string name; ///< the pass's flag
  std::function<void(mlir::OpPassManager &)> add;
  bool decides = false; ///< does what the author of a launch by cores has done himself
};

/// What PipelineOptions::disable knows.
const std::vector<std::string> &switchNames();

/// The only ordered list of passes: from tile as built to npu, planned and synchronised, which is
/// what is simulated and exported. Everything keeps the interpreter's result bit for bit but
/// tile-fold-exponents, tile-expand-functions, tile-fold-fills (the sign of a zero),
/// tile-place-accumulators, tile-fold-masks and tile-fuse-turns.
std::vector<Stage> stagesFor(const PipelineOptions &options);

/// Registers the whole path as `--tilewright-pipeline`, with `disable=` a list of switchNames().
void registerPipelines();

} // namespace tilewright::passes
