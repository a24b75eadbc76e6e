# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bugs for planted.py: each one an edit of a pass that its name switches on.

An edit replaces text that stands once in its file; `PLANTED` in the new text is the test whether
the bug is on.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    name: str
    what: str
    file: str  #: in tilewright/passes
    old: str
    new: str
    fuzzer: str = "tiles"  #: a family of kernel_fuzz.py, or "plan": whose kernels reach this code


BUGS = [
    Bug(
        "dropped-wait",
        "waits of carried events are left out",
        "NpuInsertSync.cpp",
        "add(flag.block, placeOfWait(flag.to), flag.to, [&, flag] { createWait(flag); });",
        "if (!PLANTED || !flag.isCarried)\n"
        "add(flag.block, placeOfWait(flag.to), flag.to, [&, flag] { createWait(flag); });",
    ),
    Bug(
        "no-back-edge",
        "no order from a turn to the next one",
        "SyncSolver.cpp",
        "if (overlap.laterTurn && (!isOnV || isSameOp || writes(second.kind)))",
        "if (!PLANTED && overlap.laterTurn && (!isOnV || isSameOp || writes(second.kind)))",
    ),
    Bug(
        "no-write-after-read",
        "a write does not wait for reads before it",
        "SyncSolver.cpp",
        "if (!isSameOp && (!isOnV || writes(first.kind)))",
        "if (!isSameOp && (!isOnV || writes(first.kind)) && (!PLANTED || writes(first.kind)))",
    ),
    Bug(
        "no-vector-barrier",
        "no barrier between instructions of V",
        "SyncSolver.cpp",
        "    if (!isImplied(order))\n      addBarrier(",
        "    if (!PLANTED && !isImplied(order))\n      addBarrier(",
    ),
    Bug(
        "one-event-for-all-slots",
        "the slots of a tile share an event",
        "SyncSolver.cpp",
        "if (needed >= 0 && needed <= 1)\n    return true;",
        "if (PLANTED || (needed >= 0 && needed <= 1))\n    return true;",
    ),
    Bug(
        "slot-a-turn-late",
        "a slot is thought to come round a turn later than it does",
        "SyncSolver.cpp",
        "return isRegular ? info.slots : 0;",
        "return isRegular ? info.slots + (PLANTED ? 1 : 0) : 0;",
    ),
    Bug(
        "set-before-its-work",
        "an event is set one statement early",
        "NpuInsertSync.cpp",
        "add(flag.block, placeOfSet(flag.from), flag.from + 1,",
        "add(flag.block, placeOfSet(flag.from - (PLANTED ? 1 : 0)), flag.from + (PLANTED ? 0 : 1),",
    ),
    Bug(
        "carried-value-shares",
        "a tile that carries a value round a loop shares memory inside it",
        "NpuLiveness.cpp",
        "ExposureScan(alloc.getResult(), loop, ops).run())",
        "(!PLANTED && ExposureScan(alloc.getResult(), loop, ops).run()))",
        fuzzer="plan",
    ),
    Bug(
        "no-first-product",
        "the first product adds to what the accumulator held",
        "TilePlaceAccumulators.cpp",
        "init = boolConstant(builder, loc, flag.starts.has_value());",
        "init = boolConstant(builder, loc, !PLANTED && flag.starts.has_value());",
    ),
    Bug(
        "sum-of-one-turn",
        "every product of a loop starts the sum",
        "TilePlaceAccumulators.cpp",
        "Value first = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,",
        "Value first = builder.create<arith::CmpIOp>(loc, PLANTED ? arith::CmpIPredicate::sge"
        " : arith::CmpIPredicate::eq,",
    ),
    Bug(
        "clear-dropped-in-a-loop",
        "a clear is dead although the next turn reads the tile",
        "TilePlaceAccumulators.cpp",
        "if (!kills(nextTouch(&op->getBlock()->front()), tile)) // in the turn after",
        "if (!PLANTED && !kills(nextTouch(&op->getBlock()->front()), tile))",
        fuzzer="parts",
    ),
    Bug(
        "sum-bit-stays-set",
        "a clear inside a run leaves the bit that says there is a sum",
        "TilePlaceAccumulators.cpp",
        "    OpBuilder builder(access);\n    set(builder, access->getLoc(), false);",
        "    OpBuilder builder(access);\n    if (!PLANTED)\n"
        "    set(builder, access->getLoc(), false);",
        fuzzer="parts",
    ),
    Bug(
        "wrong-rounding",
        "casts of the vector unit cut off",
        "ConvertBoxes.cpp",
        "op.getScalarFirstAttr(), npu::RoundAttr::get(builder.getContext(), op.getRound()));",
        "op.getScalarFirstAttr(), npu::RoundAttr::get(builder.getContext(),"
        " PLANTED ? decltype(op.getRound())::Trunc : op.getRound()));",
    ),
    Bug(
        "rows-of-the-second-core",
        "the second vector core does as many rows as the first, where there are fewer",
        "ConvertBoxes.cpp",
        "return builder.create<arith::SelectOp>(loc, first, index(rows), index(extent - rows));",
        "return builder.create<arith::SelectOp>(loc, first, index(rows),"
        " index(PLANTED ? rows : extent - rows));",
    ),
    Bug(
        "both-cores-store",
        "both vector cores store a tile that is not cut",
        "ConvertBoxes.cpp",
        "if (parts == 1 || core != Core::AIV || split || inFirst)",
        "if (PLANTED || parts == 1 || core != Core::AIV || split || inFirst)",
    ),
    Bug(
        "tail-off-by-one",
        "a box may end one past its tensor",
        "ConvertBoxes.cpp",
        "offset->high + size->high <= type.getDimSize(dim);",
        "offset->high + size->high <= type.getDimSize(dim) + (PLANTED ? 1 : 0);",
    ),
    Bug(
        "tail-of-run-time-length",
        "a box that is clipped at run time keeps one element too many",
        "ConvertBoxes.cpp",
        "builder.create<arith::MinSIOp>(loc, end, extentOf(global.buffer, dim)).getResult();",
        "builder.create<arith::MinSIOp>(loc, end, PLANTED"
        " ? builder.create<arith::AddIOp>(loc, extentOf(global.buffer, dim), index(1)).getResult()"
        " : extentOf(global.buffer, dim)).getResult();",
    ),
    Bug(
        "no-padding",
        "what a clipped load leaves of its tile is not cleared",
        "ConvertBoxes.cpp",
        "    if (clipped.cut) {",
        "    if (clipped.cut && !PLANTED) {",
    ),
    Bug(
        "sides-of-a-slot",
        "the reader of a channel frees its slot before it has read",
        "TileSplitCores.cpp",
        "  move(dst, slot);\n  builder.create<ReleaseOp>(loc, channel, core(reader));",
        "  if (PLANTED)\n    builder.create<ReleaseOp>(loc, channel, core(reader));\n"
        "  move(dst, slot);\n  if (!PLANTED)\n"
        "    builder.create<ReleaseOp>(loc, channel, core(reader));",
    ),
    Bug(
        "publish-before-move",
        "a channel's slot is handed over before it is written",
        "TileSplitCores.cpp",
        "  move(slot, src);\n  builder.create<PublishOp>(loc, channel, core(writer));",
        "  if (PLANTED)\n    builder.create<PublishOp>(loc, channel, core(writer));\n"
        "  move(slot, src);\n  if (!PLANTED)\n"
        "    builder.create<PublishOp>(loc, channel, core(writer));",
    ),
    Bug(
        "credit-too-many",
        "the writer of a channel gets a slot more than there are",
        "ConvertTileToNpu.cpp",
        "credit < channel.credits.value_or(channel.slots); ++credit) {",
        "credit < channel.credits.value_or(channel.slots) + (PLANTED ? 1 : 0); ++credit) {",
    ),
    Bug(
        "late-stage-in-the-wrong-turn",
        "a stage that runs turns late works on the turn of now",
        "TileSkewStages.cpp",
        "mapping.map(loop.getInductionVar(), turns(inside, counter, -level));",
        "mapping.map(loop.getInductionVar(), turns(inside, counter, PLANTED ? 0 : -level));",
    ),
    Bug(
        "late-stage-from-the-first-turn",
        "a stage that runs turns late runs before its first turn",
        "TileSkewStages.cpp",
        "turns(builder, loop.getLowerBound(), late));",
        "turns(builder, loop.getLowerBound(), PLANTED ? 0 : late));",
    ),
    Bug(
        "late-stage-ends-early",
        "a stage that runs turns late misses its last ones",
        "TileSkewStages.cpp",
        "require(arith::CmpIPredicate::slt, turns(builder, loop.getUpperBound(), late));",
        "require(arith::CmpIPredicate::slt, turns(builder, loop.getUpperBound(),"
        " PLANTED ? 0 : late));",
        fuzzer="attention",
    ),
    Bug(
        "no-zero",
        "a tile that is read before it is written is not cleared",
        "TileMaterializeZero.cpp",
        "scope == Scope::Workspace || !summarize(body, alloc).exposed)",
        "scope == Scope::Workspace || PLANTED || !summarize(body, alloc).exposed)",
    ),
    Bug(
        "left-over-turns-fused",
        "turns of an online softmax that are left over run as a whole fused turn",
        "TileFuseTurns.cpp",
        "bool hasRest = !trips || *trips % turns != 0;",
        "bool hasRest = !PLANTED && (!trips || *trips % turns != 0);",
        fuzzer="attention",
    ),
    Bug(
        "next-slot-too-late",
        "a tile goes to its next slot after its first use",
        "TilePipelineBuffers.cpp",
        "      OpBuilder builder(advance.before);\n",
        "      OpBuilder builder(advance.before);\n      if (PLANTED)\n"
        "        builder.setInsertionPointAfter(advance.before);\n",
    ),
    Bug(
        "range-split-at-a-read",
        "uses of a tile that share a value get tiles of their own",
        "TileSplitLiveRanges.cpp",
        "starts[index] = !facts[index].exposed &&",
        "starts[index] = (PLANTED || !facts[index].exposed) &&",
    ),
    Bug(
        "mask-ignored",
        "a masked assignment writes all lanes",
        "VectorizeStatements.cpp",
        "  if (!context.mask)\n",
        "  if (!context.mask || PLANTED)\n",
    ),
    Bug(
        "overlap-ignored",
        "an instruction overwrites a part of its own source",
        "VectorizeExpressions.cpp",
        "  if (clash) {",
        "  if (clash && !PLANTED) {",
        fuzzer="parts",
    ),
    Bug(
        "remainder-not-shifted",
        "an index modulo a number goes on where it should start again",
        "VectorizeLanes.cpp",
        "form.start = math.sub(math.constant(0), first);",
        "form.start = PLANTED ? math.constant(0) : math.sub(math.constant(0), first);",
        fuzzer="parts",
    ),
]
