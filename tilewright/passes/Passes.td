// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILEWRIGHT_PASSES
#define TILEWRIGHT_PASSES

include "mlir/Pass/PassBase.td"

def TileSeparateViews : Pass<"tile-separate-views", "::mlir::func::FuncOp"> {
  let summary = "tiles that are seen as elements of two types get a memory for each";
  let description = [{
    Needs: a function in the tile dialect as built.
    Guarantees: no `tile.view` is left; the interpreter's result is the same, bit for bit. GPU kernels view a tile that is no
    longer needed as elements of another type to save shared memory. Each name becomes a tile of its own when every read of
    one stands behind a write of all of it that no write through another name follows; where bits would pass from one type to
    the other, the kernel is refused at the read.
    Leaves alone: everything else.

    Example: test/passes/tile-separate-views.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect"];
}

def TileFoldExponents : Pass<"tile-fold-exponents", "::mlir::func::FuncOp"> {
  let summary = "write scaled exponents in the form that the vector unit has";
  let description = [{
    Needs: a function in the tile dialect with `tile.parallel`.
    Guarantees: in the bodies of `tile.parallel`, `exp2(x * c)` is `exp(x * c')` with `c' = c * ln 2`, since the vector unit
    has no power of two and multiplies for one, and `x * c - y * c` in an exponent is `(x - y) * c`: one multiplication of a
    whole tile less. Only f32.
    Rounding-changing: the exponent is rounded once less, and the constant's product with ln 2 once. Left out with `strict`.
    Leaves alone: exponents that are no product with a constant.

    Example: test/passes/tile-fold-exponents.mlir.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def TileExpandFunctions : Pass<"tile-expand-functions", "::mlir::func::FuncOp"> {
  let summary = "write functions that the vector unit lacks as expressions of those that it has";
  let description = [{
    Needs: a function in the tile dialect with `tile.parallel`.
    Guarantees: in the bodies of `tile.parallel` are no `exp2`, `log2`, `log10`, `log1p`, `tanh`, `sin`, `cos` and `tan`;
    they are expressions of `exp`, `log`, arithmetic and roundings, in f32.
    Rounding-changing: absolute errors are those of f32 near 1. Left out with `strict`.
    Leaves alone: f64, and functions outside `tile.parallel`.

    Example: test/passes/tile-expand-functions.mlir.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def TileVectorizeParallel : Pass<"tile-vectorize-parallel", "::mlir::func::FuncOp"> {
  let summary = "rewrite tile.parallel into whole-tile ops";
  let description = [{
    Needs: a function in the tile dialect.
    Guarantees: no `tile.parallel` is left; the interpreter's result is the same, bit for bit. What has no whole-tile form
    becomes a nest of scalar loops, with a remark that begins with `[tile-vectorize-parallel] fallback:` and names what
    stood in the way. Serial loops over elements whose turns are independent are treated alike: each element is written, and
    read where it is written, by one turn.
    Leaves alone: everything else outside `tile.parallel`, but for temporaries at the top of launch bodies; launches that
    their author divides or orders.

    Example: test/passes/tile-vectorize-parallel.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
  let options = [
    Option<"plain", "plain", "bool", "false", "scalar loops for everything">,
    Option<"strip", "strip", "int64_t", "0", "loops over more lanes whose lanes are independent go in pieces of so many, with temporaries of that size; 0: none">
  ];
}

def TileForwardScalars : Pass<"tile-forward-scalars", "::mlir::func::FuncOp"> {
  let summary = "scalars that both kinds of core can get at";
  let description = [{
    Needs: no `tile.parallel`.
    Guarantees: the same results. In launches with products, small tiles of which only elements at constant places are used
    become scalar variables, which every core keeps; and an element of a tile that holds a copy of a tensor is read from the
    tensor itself. Launches that their author divides or orders are left alone.

    Example: test/passes/tile-forward-scalars.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileFoldFills : Pass<"tile-fold-fills", "::mlir::func::FuncOp"> {
  let summary = "take numbers for tiles that hold one number";
  let description = [{
    Needs: no `tile.parallel`.
    Guarantees: the same results. Where a tile was filled with one number and not written since, sums, products and extrema of
    two tiles take the number as their scalar operand; what then changes nothing (x + 0, x * 1) is a copy. Fills that nobody
    reads any more are gone, with their tiles.
    Rounding-changing: a sum of minus zero and zero is minus zero. Not with `strict`.
    Leaves alone: launches that their author divides or orders; tiles with views.

    Example: test/passes/tile-fold-fills.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect"];
  let options = [Option<"strict", "strict", "bool", "false", "keep the sign of zeros">];
}

def TileWidenProducts : Pass<"tile-widen-products", "::mlir::func::FuncOp"> {
  let summary = "products of 8-bit floats on cubes that have none";
  let description = [{
    Needs: no `tile.parallel`.
    Guarantees: the same results, bit for bit; where the chip's cube cannot multiply 8-bit floats, operands of products are
    converted to f16, which holds all of them, each into a tile of its own, before the loops that leave the operand alone.

    Example: test/passes/tile-widen-products.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect"];
  let options = [Option<"chip", "chip", "std::string", "\"910b1\"", "which chip's cube">];
}

def TileForwardCopies : Pass<"tile-forward-copies", "::mlir::func::FuncOp"> {
  let summary = "read what a tile was copied from";
  let description = [{
    Needs: no `tile.parallel`; no accumulators placed.
    Guarantees: the same results. A tile that only holds a copy of another one, which does not change before the last read,
    is not made: sums stored by way of a shared tile go from the cube to global memory. Where the copy converts, its readers
    must be copies to global memory of that type.
    Leaves alone: tiles that are printed, tiles in memories that the author chose, launches that the author divides or orders.

    Example: test/passes/tile-forward-copies.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect"];
}

def TilePlaceAccumulators : Pass<"tile-place-accumulators", "::mlir::func::FuncOp"> {
  let summary = "give every matrix product an accumulator in L0C with its init flag";
  let description = [{
    Needs: no `tile.parallel`.
    Guarantees: every `tile.gemm` writes the whole of an `l0c` tile in f32 or i32 and carries `init`; that tile is touched by
    gemms and by copies out of it only. Sums that start from zero stay in L0C for as long as nothing else touches the tile;
    products onto vector results go to a fresh accumulator and the vector unit adds them. Where L0C cannot hold the sums of a
    loop beside the other products of a turn, the largest leave it each turn and are added by the vector unit too.
    Rounding-changing: keeps f16 accumulators in f32, adds a whole run of products at once. With `strict` only what the
    hardware makes unavoidable is left: a product onto other contents is made apart and added by the vector unit, one by one,
    and each rounds to the tile's type.

    Example: test/passes/tile-place-accumulators.mlir, test/passes/tile-place-accumulators-strict.mlir.
  }];
  let options = [Option<"chip", "chip", "std::string", "\"910b3\"", "a name, or a chip file">,
                 Option<"strict", "strict", "bool", "false", "round every product to the accumulator's type">];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileFoldMasks : Pass<"tile-fold-masks", "::mlir::func::FuncOp"> {
  let summary = "let a mask of zero and minus infinity choose, in place of adding to it";
  let description = [{
    Needs: tile-place-accumulators.
    Guarantees: where a tile is set to 0 or minus infinity by a mask and a product is added to it, the product is chosen where
    the mask says 0: one instruction for three, and one tile for two. A row that is copied into a whole tile, to which something is added, is added
    itself, with the same sums.
    Rounding-changing: a product of minus zero keeps its sign; one that is infinite or no number is not seen where it is
    masked. Off with `strict`.
    Leaves alone: other constants, tiles that are looked at in between, types other than f32.

    Example: test/passes/tile-fold-masks.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TilePlaceBuffers : Pass<"tile-place-buffers", "::mlir::func::FuncOp"> {
  let summary = "choose L1 or UB for every tile and make each copy one that a mover can do";
  let description = [{
    Needs: tile-place-accumulators.
    Guarantees: no `shared` or `fragment` scope is left. Tiles that only the cube reads live in L1; tiles that the vector unit
    touches live in UB; a tile read by both is loaded twice, a tile written by the vector unit and read by the cube gets an
    L1 twin and a copy to it, or the load once more where the tile is still as loaded. Copies keep the element type, but for the narrowing that the fixpipe does; conversions and moves
    inside UB are element-wise ops.

    Example: test/passes/tile-place-buffers.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileSplitLiveRanges : Pass<"tile-split-live-ranges", "::mlir::func::FuncOp"> {
  let summary = "give uses of one tile that share no value a tile each";
  let description = [{
    Needs: tile-place-buffers.
    Guarantees: the same results; a tile that two loops use one after the other, each writing it before reading it, becomes
    two, so that each can rotate through slots in its own loop. npu-plan-memory lets them share memory again.

    Example: test/passes/tile-split-live-ranges.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect"];
}

def TileJoinBlocks : Pass<"tile-join-blocks", "::mlir::func::FuncOp"> {
  let summary = "let one block do the work of two that read the same operand";
  let description = [{
    Needs: tile-place-buffers.
    Guarantees: the same results. In launches of loads, products and stores alone, two blocks that are neighbours along one
    extent of the grid become one that runs their statements in turn and loads once what both read; again, as long as the
    chip's costs say that this is faster and L1 holds two slots of every tile, L0C one.
    Leaves alone: launches with vector work, run-time grids, odd extents, loops whose bounds differ between blocks.

    Example: test/passes/tile-join-blocks.mlir.
  }];
  let options = [Option<"chip", "chip", "std::string", "\"910b3\"", "chip whose memory sizes and costs hold">];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileFitBlocks : Pass<"tile-fit-blocks", "::mlir::func::FuncOp"> {
  let summary = "give products tiles of such extents that all cores are busy to the end";
  let description = [{
    Needs: tile-place-buffers.
    Guarantees: the same results. In launches of loads, products and stores alone, where the blocks along an extent of the
    grid take one share each of a dimension of the tensors, tiles get another length there and the grid another number of
    blocks: the one with the least time by the chip's costs, which counts rounds of all cores, rows that are not aligned, and
    whether L0C has a second slot.
    Leaves alone: launches with vector work, run-time grids and tensors, what tile-join-blocks has joined statement by
    statement, and what would gain less than 3 %.

    Example: test/passes/tile-fit-blocks.mlir.
  }];
  let options = [Option<"chip", "chip", "std::string", "\"910b3\"", "chip whose memory sizes and costs hold">];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileBatchBlocks : Pass<"tile-batch-blocks", "::mlir::func::FuncOp"> {
  let summary = "let one block do the rows of several";
  let description = [{
    Needs: tile-place-buffers.
    Guarantees: the same results. Where each block of a launch of vector work takes one row of its tensors, one does 2 to 64 of
    them: tiles that differ between neighbours get a dimension more, in front, what they have in common is loaded once. Where a
    block takes a few rows, that dimension of its tiles grows. How many rows: as the chip's fixed costs of an instruction and of a
    load, and what it charges for short rows, against fewer blocks for its cores say, if tiles fit UB twice. The extent of the grid that gains most comes first, another
    may follow. A number that does not divide the extent is taken where the tensors end with the grid.
    Leaves alone: run-time grids, atomics, element accesses, loops and scalars that differ between
    blocks.

    Example: test/passes/tile-batch-blocks.mlir.
  }];
  let options = [Option<"chip", "chip", "std::string", "\"910b3\"", "chip whose memory sizes and costs hold">];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileWidenBlocks : Pass<"tile-widen-blocks", "::mlir::func::FuncOp"> {
  let summary = "let one block of cube and vector work do the rows of several";
  let description = [{
    Needs: placed buffers, a static grid.
    Guarantees: the same results. Where neighbours along an extent of the grid do the same with rows that follow each other,
    for as many turns, one block with larger tiles does the work of 2 to 8: keys and values of an attention are loaded once
    for 128 queries and not for 64, blocks of products with an epilogue take 128 x 256 elements and not 32 x 32. The time of
    the slowest pipe decides, by the chip's constants, as far as the tiles fit. A number that does not divide the extent is taken
    where the tensors end with the grid.
    Leaves alone: loops whose bounds depend on the block (causal attention), sums of more than 128 rows or 256 columns, atomics,
    launches that the author divides or orders.

    Example: test/passes/tile-widen-blocks.mlir.
  }];
  let options = [Option<"chip", "chip", "std::string", "\"910b3\"", "chip whose constants decide">];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileFuseK : Pass<"tile-fuse-k", "::mlir::func::FuncOp"> {
  let summary = "let one turn of a reduction loop do the work of several";
  let description = [{
    Needs: tile-place-buffers.
    Guarantees: the same results; in a loop that only loads slices along K and multiplies them, one turn loads slices that are
    2, 4, 8 or 16 times as wide where the chip's costs of a transfer say that this is faster and L1 holds two of them. Turns
    that are left over run as before, in a second loop. A tile whose rows run along K is loaded for 2 or 4 turns at once, in a
    loop around the first, where its rows are still short enough for that to pay.
    Leaves alone: loops with anything else in them, and sums of several products.

    Example: test/passes/tile-fuse-k.mlir.
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"910b3\"", "chip whose memory sizes and costs hold">,
    Option<"factor", "factor", "int64_t", "0", "turns in one; 0: as the costs say">,
    Option<"depth", "depth", "int64_t", "1", "with a factor: turns for which a tile with rows along K is loaded">
  ];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileOrderBlocks : Pass<"tile-order-blocks", "::mlir::func::FuncOp"> {
  let summary = "give every core as much to do as the others";
  let description = [{
    Needs: nothing; after the stages that change the grid.
    Guarantees: the same results. Where the bounds of loops show that blocks do more the further along an extent they are, or
    less, the launch gets `tile.heavy_first`: the blocks with most turns are dealt out first, and every other round goes to the
    cores in reverse.
    Leaves alone: launches whose loops have the same turns in all blocks, or bounds that depend on data, and those with atomics,
    whose order is that of the blocks.

    Example: test/passes/tile-order-blocks.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect"];
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
    `workspace` tile between acquire, publish, wait and release. A tensor that copies of one
    kind of core write and copies of the other read behind them, in one block, gets a channel without data around the writes and
    the reads. Refused: other tensors that one kind of core writes and the other touches, and a scalar out of a vector tile that
    steers the cube.

    Example: test/passes/tile-split-cores.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileFuseTurns : Pass<"tile-fuse-turns", "::mlir::func::FuncOp"> {
  let summary = "do several turns of an online softmax as one, over more columns";
  let description = [{
    Needs: tile-split-cores.
    Guarantees: a loop whose turns are scores, a step of an online softmax and a product of the weights (proved by symbolic
    evaluation, see OnlineSoftmax.h) does up to 256 columns a turn: scores arrive chunk by chunk in one version of a wider
    channel, the maximum is taken and the carried sums are rescaled once, and the products of all columns are summed in L0C.
    Turns that do not fill one follow in the loop as it was. Remarks say what kept turns apart.
    Rounding-changing: sums are taken in another order, against a maximum over more columns. Left out with `strict`.
    Leaves alone: other loops.

    Example: test/passes/tile-fuse-turns.mlir.
  }];
  let options = [Option<"chip", "chip", "std::string", "\"910b3\"", "name of a chip file">,
                 Option<"turns", "turns", "int64_t", "0", "turns to fuse; 0 lets the pass decide">];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileSliceRows : Pass<"tile-slice-rows", "::mlir::func::FuncOp"> {
  let summary = "do the vector work of a mixed kernel in slices of rows, so that its tiles fit";
  let description = [{
    Needs: tile-split-cores.
    Guarantees: vector statements that follow each other become a loop over slices of their rows where their tiles would not
    fit UB in two slots, or not at all. Tiles used in one such loop hold a slice; others get a dimension in front, a slice in
    each place. Waits and acquires come before the loop, releases behind it.
    Leaves alone: launches without cube work (tile-split-rows cuts their blocks), kernels whose rows are mixed.

    Example: test/passes/tile-slice-rows.mlir.
  }];
  let options = [Option<"chip", "chip", "std::string", "\"910b3\"", "name of a chip file">,
                 Option<"slices", "slices", "int64_t", "0", "number of slices; 0 lets the pass decide">];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileSplitRows : Pass<"tile-split-rows", "::mlir::func::FuncOp"> {
  let summary = "cut vector work by rows: over the two cores of a mixed kernel, into more blocks otherwise";
  let description = [{
    Needs: tile-split-cores.
    Guarantees: UB tiles along classes of tied dimensions carry `tile.split_dim` and `tile.split_rows` (rows of the first
    core). Everything else is done by both cores, and stored by the first.
    In a launch without cube work each block becomes `tile.parts` blocks in the same way: `parts` of them, or, with parts=0, as
    many as keep all vector cores busy when the grid alone does not. parts > 1 is an error where nothing can be cut.

    Example: test/passes/tile-split-rows.mlir.
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"910b3\"", "chip whose number of cores holds">,
    Option<"parts", "parts", "int64_t", "0", "blocks to make of one without cube work; 0: as the grid needs">
  ];
  let dependentDialects = ["::tilewright::tile::TileDialect"];
}

def TileHalveSums : Pass<"tile-halve-sums", "::mlir::func::FuncOp"> {
  let summary = "sum by halves what leaves L0C while the cube has to wait";
  let description = [{
    Needs: tile-split-cores.
    Guarantees: the same results. An accumulator of which L0C holds one, and that one copy takes out whole, becomes two of
    half its rows or columns, with two products for one and two copies: the cube works on one half while the other leaves. Only where
    the chip's costs say that this saves more than the second operand costs that is brought to L0 twice.
    Loops of one turn become their body.
    Leaves alone: accumulators that fit twice, or are read in parts or at several places; the author's own.

    Example: test/passes/tile-halve-sums.mlir.
  }];
  let options = [Option<"chip", "chip", "std::string", "\"910b3\"", "chip whose memory sizes and costs hold">];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect"];
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

def TileSkewStages : Pass<"tile-skew-stages", "::mlir::func::FuncOp"> {
  let summary = "let cube and vector cores work on different turns of a loop";
  let description = [{
    Needs: tile-split-cores; after tile-pipeline-buffers, whose channels have two slots at least.
    Guarantees: the same results. A statement that, within its turn, waits for the cube core to answer a vector core, and
    whatever must keep its order with it, runs two turns late, and so on for each further round trip; the loop gets as many
    turns more, and each stage a branch that leaves out the turns it does not have. A tile of up to 8 KiB that only late
    statements read is kept for them in copies; an L1 tile that several stages read is loaded by each. A loop of few turns
    within one that only computes scalars for it becomes one loop with it first. Where there are more channels than semaphores,
    those whose sides are late by the same turns and whose ends come in one order get one tile.semaphore; if that is not
    enough, no stage is late.
    Leaves alone: loops in which everything hangs together, and loops that carry scalars.

    Example: test/passes/tile-skew-stages.mlir.
  }];
  let dependentDialects = ["::tilewright::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
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

def NpuTrimProducts : Pass<"npu-trim-products", "::mlir::func::FuncOp"> {
  let summary = "do not multiply rows and columns that lie outside of their tensors";
  let description = [{
    Needs: device functions in the npu dialect, no addresses yet; loop-invariant code moved out.
    Guarantees: the same results. Where the tile of an operand is loaded in part, at the edge of a tensor, and just as many
    rows (or columns) of the sum are copied out, the product is as large as that, and the tile is not cleared for it. A
    product has fewer fractals then, and the operations that are counted are those of the tensors.
    Leaves alone: the inner dimension, which stays padded with zeros; functions that are synchronised by hand.

    Example: test/passes/npu-trim-products.mlir.
  }];
  let dependentDialects = ["::tilewright::npu::NpuDialect"];
}

def NpuLegalize : Pass<"npu-legalize", "::mlir::func::FuncOp"> {
  let summary = "what the vector unit lacks for an element type, of what it has";
  let description = [{
    Needs: a device function in the npu dialect without addresses, flags or barriers (else it is left alone).
    Guarantees: arithmetic on bf16 and 8-bit integers, conversions that take more than a step, sums of f16, reductions of
    magnitudes and reductions that go on with what the destination holds, orders of integers, bits of a tile with a scalar and
    operands that a comparison or a choice repeats are instructions that HIVM has, with tiles of their own between them.
    A scan along rows is one along columns between two transpositions, where that is faster on the chip and fits into UB.
    64-bit integers, quotients of integers and other scans along rows are loops of the scalar unit. Results are the same bits.
    Leaves alone: unsigned integers of more than 8 bits, functions of f32 that the unit has no instruction for.

    Example: test/passes/npu-legalize.mlir.
  }];
  let dependentDialects = ["::tilewright::npu::NpuDialect", "::mlir::arith::ArithDialect"];
  let options = [Option<"chip", "chip", "std::string", "\"910b3\"", "chip whose tables and memory sizes hold">];
}

def NpuHoistInvariants : Pass<"npu-hoist-invariants", "::mlir::ModuleOp"> {
  let summary = "fill tiles that are the same in each turn of a loop once, before it";
  let description = [{
    Needs: device functions in the npu dialect, no addresses yet; loop-invariant scalars moved out.
    Guarantees: the same results. A tile that one op fills from tensors that nobody writes, from constants or from such
    tiles, the same in each turn, is filled before the loop: weights of a norm are loaded once a core and not once a
    block. It has one slot then, and stays for the whole loop; so this is done as far as the tiles of its memory need no
    more room than they did, or fit with all their slots.
    Leaves alone: loops that run once; functions that are synchronised by hand.

    Example: test/passes/npu-hoist-invariants.mlir.
  }];
  let options = [Option<"chip", "chip", "std::string", "\"910b3\"", "chip whose memory sizes hold">];
  let dependentDialects = ["::tilewright::npu::NpuDialect"];
}

def NpuPlanMemory : Pass<"npu-plan-memory", "::mlir::ModuleOp"> {
  let summary = "give every buffer its address";
  let description = [{
    Needs: device functions in the npu dialect.
    Guarantees: every npu.alloc but scalar variables has an address; buffers that are needed at the same time do not overlap;
    all slots of a rotating buffer are resident. Buffers of one name in space `workspace` have one address in both functions
    of a launch, and `npu.workspace` on the functions says how many bytes a core group has. If all fits without sharing,
    nothing is shared. If sharing does not suffice, rotating buffers lose slots, with a remark; then it is an error that lists
    all buffers. Behind the tiles of UB stays room for what reductions of rows take beside their operands, if slots that are
    taken for next to no work, and sharing that no mover waits for, make it; else reductions become several, of a few rows each.
    Leaves alone: everything but `address`, and `slots`, npu.advance and npu.reduce in those cases.

    Example: test/passes/npu-plan-memory.mlir.
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"910b3\"", "chip whose memory sizes hold">,
    Option<"keepSlots", "keep-slots", "bool", "false", "an error in place of a UB tile with one slot">
  ];
  let dependentDialects = ["::tilewright::npu::NpuDialect"];
}

def NpuVerifyPlan : Pass<"npu-verify-plan", "::mlir::ModuleOp"> {
  let summary = "check the addresses that npu-plan-memory gave";
  let description = [{
    Needs: npu-plan-memory, or a plan from elsewhere.
    Guarantees: addresses are aligned and within the memory; no read can see what a write to another buffer left behind.
    The check follows the contents of buffers and does not look at the planner's live ranges.
    Leaves alone: everything.

    Example: test/passes/npu-verify-plan.mlir.
  }];
  let options = [Option<"chip", "chip", "std::string", "\"910b3\"", "chip whose memory sizes hold">];
}

def NpuInsertSync : Pass<"npu-insert-sync", "::mlir::func::FuncOp"> {
  let summary = "order conflicting accesses of a device function with flags and barriers";
  let description = [{
    Needs: npu-plan-memory; a function with `npu.core`, and no flag or barrier in it (else it is left alone).
    Guarantees: on one core, any two accesses to common bytes of which one writes are ordered, for all trip counts; every
    event set is awaited once, none is set twice, at most `ids` per pair of pipes. Slots of a rotating buffer are ordered one
    by one, so that loads run ahead; their events are set once at the top of the function and awaited at its end. Accesses to
    arguments by different logical blocks stay unordered, and so does what different cores do.
    `mode=barrier-all` puts a barrier for all pipes after every op.
    Leaves alone: the ops that are there, cross-core signals among them; but independent vector ops change places where that
    saves barriers.

    Example: test/passes/npu-insert-sync.mlir.
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"minimal\"", "minimal or barrier-all">,
    Option<"maxIds", "ids", "unsigned", "8", "event ids per pair of pipes">
  ];
  let dependentDialects = ["::tilewright::npu::NpuDialect"];
}

def NpuVerifySync : Pass<"npu-verify-sync", "::mlir::func::FuncOp"> {
  let summary = "check flags and barriers of a device function on unrolled traces";
  let description = [{
    Needs: npu-plan-memory; flags and barriers from anywhere.
    Guarantees: on traces with several numbers of turns and choices of branches, all conflicting accesses of one core are
    ordered; no event is set twice, awaited before it is set or left set. Shares no code with npu-insert-sync.
    Leaves alone: everything.

    Example: test/passes/npu-verify-sync.mlir.
  }];
  let options = [Option<"maxIds", "ids", "unsigned", "8", "event ids per pair of pipes">];
}

#endif
