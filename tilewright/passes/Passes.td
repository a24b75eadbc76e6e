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

def TilePlaceAccumulators : Pass<"tile-place-accumulators", "::mlir::func::FuncOp"> {
  let summary = "give every matrix product an accumulator in L0C with its init flag";
  let description = [{
    Needs: no `tile.parallel`.
    Guarantees: every `tile.gemm` writes the whole of an `l0c` tile in f32 or i32 and carries `init`; that tile is touched by
    gemms and by copies out of it only. Sums that start from zero stay in L0C for as long as nothing else touches the tile;
    products onto vector results go to a fresh accumulator and the vector unit adds them.
    Rounding-changing: keeps f16 accumulators in f32, adds a whole run of products at once.

    Example: test/passes/tile-place-accumulators.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TilePlaceBuffers : Pass<"tile-place-buffers", "::mlir::func::FuncOp"> {
  let summary = "choose L1 or UB for every tile and make each copy one that a mover can do";
  let description = [{
    Needs: tile-place-accumulators.
    Guarantees: no `shared` or `fragment` scope is left. Tiles that only the cube reads live in L1; tiles that the vector unit
    touches live in UB; a tile read by both is loaded twice, a tile written by the vector unit and read by the cube gets an
    L1 twin and a copy to it. Copies keep the element type, but for the narrowing that the fixpipe does; conversions and moves
    inside UB are element-wise ops.

    Example: test/passes/tile-place-buffers.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileMaterializeZero : Pass<"tile-materialize-zero", "::mlir::func::FuncOp"> {
  let summary = "clear tiles whose elements may be read before they are written";
  let description = [{
    Needs: tile-place-buffers.
    Guarantees: no read of a tile sees an element that the block has not written, so that memory may start undefined.

    Example: test/passes/tile-materialize-zero.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileSplitCores : Pass<"tile-split-cores", "::mlir::func::FuncOp"> {
  let summary = "give every op a kind of core and hand tiles over between them";
  let description = [{
    Needs: tile-place-buffers.
    Guarantees: every op that touches memory carries `tile.core`; a copy between a cube place and UB is two copies through a
    `workspace` tile between acquire, publish, wait and release. Refused: a scalar out of a vector tile that steers the cube,
    and a tensor written by one kind of core and touched by the other.

    Example: test/passes/tile-split-cores.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileSplitRows : Pass<"tile-split-rows", "::mlir::func::FuncOp"> {
  let summary = "cut the vector work of a mixed kernel over the two vector cores";
  let description = [{
    Needs: tile-split-cores.
    Guarantees: UB tiles along one class of tied dimensions carry `tile.split_dim` and `tile.split_rows` (rows of the first
    core). Everything else is done by both cores, and stored by the first.

    Example: test/passes/tile-split-rows.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect"];
}

def TilePipelineBuffers : Pass<"tile-pipeline-buffers", "::mlir::func::FuncOp"> {
  let summary = "rotate tiles through slots so that moves run ahead of their use";
  let description = [{
    Needs: tile-split-cores.
    Guarantees: a tile with more than one slot has one `tile.advance` before the first write of each version, in the block
    that holds all its accesses; that write covers the tile.

    Example: test/passes/tile-pipeline-buffers.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect"];
}

def ConvertTileToNpu : Pass<"convert-tile-to-npu", "::mlir::ModuleOp"> {
  let summary = "one function per kind of core, with clipped boxes, channels as semaphores and a loop over the grid";
  let description = [{
    Needs: tile-split-cores; tile-split-rows and tile-pipeline-buffers are optional.
    Guarantees: each `tile.launch` is an `npu.launch` of an AIC and/or an AIV function; every box is in bounds; elements that
    a clipped load does not reach hold the pad value. No synchronisation inside a core yet.

    Example: test/passes/convert-tile-to-npu.mlir.
  }];
  let dependentDialects = ["::tilewright::npu::NpuDialect", "::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect", "::mlir::func::FuncDialect"];
}

#endif
