// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILEWRIGHT_PASSES
#define TILEWRIGHT_PASSES

include "mlir/Pass/PassBase.td"

def TileVectorizeParallel : Pass<"tile-vectorize-parallel", "::mlir::func::FuncOp"> {
  let summary = "rewrite tile.parallel into whole-tile ops";
  let description = [{
    Needs: a function in the tile dialect.
    Guarantees: no `tile.parallel` is left; the interpreter's result is the same, bit for bit. What has no whole-tile form
    becomes a nest of scalar loops, with a remark that begins with `[tile-vectorize-parallel] fallback:` and names what
    stood in the way.
    Leaves alone: everything outside `tile.parallel`, but for temporaries at the top of launch bodies.

    Example: test/passes/tile-vectorize-parallel.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif
