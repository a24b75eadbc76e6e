// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILEWRIGHT_TILE_OPS
#define TILEWRIGHT_TILE_OPS

include "tilewright/tile/TileDialect.td"
include "tilewright/support/AccessInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/IR/OpAsmInterface.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

//===--- Structure ---------------------------------------------------------------------------------------------------===//

def Tile_SymbolOp : Tile_Op<"symbol", [Pure]> {
  let summary = "a size known at the call: bound from the shapes of the arguments";
  let description = [{ `tile.symbol "M"` is the value of the symbolic size `M`; see the `tile.shape` argument attribute. }];
  let arguments = (ins StrAttr:$name);
  let results = (outs Index:$result);
  let assemblyFormat = "$name attr-dict";
}

def Tile_LaunchOp : Tile_Op<"launch", [SingleBlockImplicitTerminator<"EndOp">, RecursiveMemoryEffects]> {
  let summary = "one kernel: the body runs once per block of the grid";
  let description = [{
    Grid extents may be run-time values. Region arguments are the block ids (`index`), first extent fastest in the
    linear order `id = (z * gy + y) * gx + x`. Blocks are independent but for atomics. A launch is a full barrier.
    ```mlir
    tile.launch (%bx, %by) in (%gx, %gy) { ... }
    ```
  }];
  let arguments = (ins Variadic<Index>:$grid);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tile_EndOp : Tile_Op<"end", [Pure, Terminator, ParentOneOf<["LaunchOp", "ParallelOp"]>]> {
  let summary = "implicit terminator of launch and parallel bodies";
  let assemblyFormat = "attr-dict";
}

def Tile_AllocOp : Tile_Op<"alloc", [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a tile or scalar variable of one block";
  let description = [{
    Static shape; scope any but `global`. Elements read 0 until written. `slots` (set by tile-pipeline-buffers) is the
    number of copies that successive versions rotate through, `tile.advance` starts a version.
    The effect is declared so that tiles which only a checker sees are not removed.
  }];
  let arguments = (ins StrAttr:$name, DefaultValuedAttr<I64Attr, "1">:$slots);
  let results = (outs Res<AnyMemRef, "", [MemAlloc]>:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_ViewOp : Tile_Op<"view", [Pure, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "the memory of a tile as elements of another type";
  let description = [{
    Both names stand for the same bytes, row-major and of the same number. tile-separate-views gives each its own memory where
    no bits pass from one to the other, and refuses the kernel where they do.
  }];
  let arguments = (ins StrAttr:$name, AnyMemRef:$base);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$name $base attr-dict `:` type($base) `to` type($result)";
  let hasVerifier = 1;
}

def Tile_ParallelOp : Tile_Op<"parallel", [SingleBlockImplicitTerminator<"EndOp">, RecursiveMemoryEffects]> {
  let summary = "an element-wise region over an index box";
  let description = [{
    The body runs **op by op**: each op for all points of the box before the next op. A value inside the body is a
    vector of lanes, one per point; `scf.if` and `scf.for` inside run under the lane mask. Stores of several lanes to one
    element: the last lane in row-major order wins; `tile.atomic` combines them all.
    A scalar variable (`local` scope) is one per lane inside; after the op it holds what its last lane left. Other box ops
    inside run lane by lane.
    ```mlir
    tile.parallel (%i, %j) in (%m, %n) { ... }
    ```
  }];
  let arguments = (ins Variadic<Index>:$extents);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

//===--- Element access ----------------------------------------------------------------------------------------------===//

def Tile_LoadOp : Tile_Op<"load", [DeclareOpInterfaceMethods<AccessInterface>]> {
  let summary = "read one element; outside a global buffer it is `pad` or 0";
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$buffer, Variadic<Index>:$indices, OptionalAttr<F64Attr>:$pad);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$buffer `[` $indices `]` attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [DeclareOpInterfaceMethods<AccessInterface>]> {
  let summary = "write one element; outside a global buffer it is dropped";
  let arguments = (ins AnyType:$value, Arg<AnyMemRef, "", [MemWrite]>:$buffer, Variadic<Index>:$indices);
  let assemblyFormat = "$value `,` $buffer `[` $indices `]` attr-dict `:` type($value) `,` type($buffer)";
  let hasVerifier = 1;
}

//===--- Boxes -------------------------------------------------------------------------------------------------------===//

/// An op over boxes. Box k is `buffers[k]` with its slice of `offsets` and `sizes`, concatenated in buffer order by rank.
/// Text: `(%a[%i, %j] [%m, %n] : memref<...>, ...)`, destination first.
class Tile_BoxOp<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat([AttrSizedOperandSegments, AccessInterface, MemoryEffects<[MemRead, MemWrite]>],
                                    traits)> {
  let hasVerifier = 1;
  code boxMethods = [{
    unsigned getNumBoxes() { return getBuffers().size(); }
    ::tilewright::Box getBox(unsigned index) { return boxOf(getBuffers(), getOffsets(), getSizes(), index); }
    ::tilewright::AccessKind getAccessKind(unsigned index);
  }];
  let extraClassDeclaration = boxMethods;
}

def Tile_CopyOp : Tile_BoxOp<"copy"> {
  let summary = "(dst, src): copy a box, converting element types";
  let description = [{
    The boxes have equal sizes once dimensions of size 1 are dropped, and are matched in row-major order. Source points
    outside a global buffer read `pad` (default 0); destination points outside are dropped. Floats narrow to nearest even;
    float to int truncates and saturates, NaN gives 0, int to a narrower int wraps. What the way out of an accumulator can do
    besides: `relu` takes the maximum with 0 first; `scale` makes i8 of i32: the value as f32 times `scale`, rounded to nearest
    even, saturated.
  }];
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, OptionalAttr<F64Attr>:$pad,
                       UnitAttr:$relu, OptionalAttr<F32Attr>:$scale);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$buffers, "::mlir::ValueRange":$offsets, "::mlir::ValueRange":$sizes,
                                 "::mlir::FloatAttr":$pad, CArg<"bool", "false">:$relu),
                            [{ build($_builder, $_state, buffers, offsets, sizes, pad, relu, ::mlir::FloatAttr()); }]>];
  let assemblyFormat = "custom<Boxes>($buffers, type($buffers), $offsets, $sizes) attr-dict";
}

def Tile_FillOp : Tile_BoxOp<"fill"> {
  let summary = "(dst): write one value everywhere in a box";
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, AnyType:$value);
  let assemblyFormat = "$value `:` type($value) `,` custom<Boxes>($buffers, type($buffers), $offsets, $sizes) attr-dict";
}

def Tile_GemmOp : Tile_BoxOp<"gemm"> {
  let summary = "(C, A, B): C = (init ? 0 : C) + op(A) . op(B)";
  let description = [{
    Boxes are matrices once leading dimensions of size 1 are dropped. `acc = f32(C); for k in order: acc = fma(a, b, acc)`,
    rounded once to C's type; 8-bit integers accumulate exactly in i32. `init` may be a run-time value.
  }];
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, Optional<I1>:$init,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b);
  let assemblyFormat = [{ custom<Boxes>($buffers, type($buffers), $offsets, $sizes) (`init` $init^)? attr-dict }];
}

def Tile_ReduceOp : Tile_BoxOp<"reduce"> {
  let summary = "(dst, src): combine along `dims` of the source box";
  let description = [{
    Kept points of the source, in row-major order, match the points of the destination in row-major order.
    `accumulate`: combine with the old destination. Order: the last dimension in 64 lanes, each summed in index order, then a
    tree of neighbours; other dimensions in index order; several dimensions: last first. f16 and bf16 accumulate in f32.
    max and min return the operand that is not NaN.
  }];
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, Tile_ReduceAttr:$kind,
                       DenseI64ArrayAttr:$dims, UnitAttr:$accumulate);
  let assemblyFormat = "$kind custom<Boxes>($buffers, type($buffers), $offsets, $sizes) `dims` `=` $dims attr-dict";
}

def Tile_ScanOp : Tile_BoxOp<"scan"> {
  let summary = "(dst, src): inclusive scan along one dimension, f32 accumulation for narrow floats";
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, Tile_ReduceAttr:$kind,
                       I64Attr:$dim, UnitAttr:$reverse);
  let assemblyFormat = "$kind custom<Boxes>($buffers, type($buffers), $offsets, $sizes) `dim` `=` $dim attr-dict";
}

def Tile_ElementwiseOp : Tile_BoxOp<"elementwise"> {
  let summary = "(dst, operands...): apply one function over the domain of the destination box";
  let description = [{
    `maps[k][d]` names the domain dimension that dimension d of box k follows, or -1 where the box has size 1; the domain is
    given by the destination's map, which uses every domain dimension once. Without `maps` all boxes have the same rank and
    dimensions of size 1 broadcast. At most one operand is a scalar, last or (with `scalar_first`) first.
    f16 and bf16 results are computed in f32 and rounded once; comparisons give i1.
  }];
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, Optional<AnyType>:$scalar,
                       Tile_FnAttr:$fn, OptionalAttr<ArrayAttr>:$maps, UnitAttr:$scalar_first,
                       DefaultValuedAttr<Tile_RoundAttr, "Round::Rint">:$round);
  let assemblyFormat = [{ $fn custom<Boxes>($buffers, type($buffers), $offsets, $sizes) (`scalar` $scalar^ `:` type($scalar))? attr-dict }];
  let extraClassDeclaration = boxMethods # [{
    /// Domain dimension of each dimension of box `index`, -1 for none.
    ::llvm::SmallVector<int64_t> getMap(unsigned index);
    unsigned getDomainRank();
  }];
}

def Tile_IotaOp : Tile_BoxOp<"iota"> {
  let summary = "(dst): start + sum of steps[d] * index[d], converted from a 64-bit integer";
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, Index:$start,
                       Variadic<Index>:$steps);
  let assemblyFormat = "custom<Boxes>($buffers, type($buffers), $offsets, $sizes) `from` $start `by` `(` $steps `)` attr-dict";
}

def Tile_GatherOp : Tile_BoxOp<"gather"> {
  let summary = "(dst, src, index): dst[i..., j] = src[i..., index[i..., j]] along the last dimension";
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes);
  let assemblyFormat = "custom<Boxes>($buffers, type($buffers), $offsets, $sizes) attr-dict";
}

def Tile_AtomicOp : Tile_BoxOp<"atomic"> {
  let summary = "(dst, src?): combine a box (or one scalar) into dst, element by element, atomically across blocks";
  let description = [{
    Applied in (logical block, program point, element) order. Inside `tile.parallel`: boxes of size 1. With one element and a
    scalar it may give what was there, 0 outside a global buffer.
  }];
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, Optional<AnyType>:$scalar,
                       Tile_ReduceAttr:$kind);
  let results = (outs Optional<AnyType>:$previous);
  let assemblyFormat = [{
    $kind custom<Boxes>($buffers, type($buffers), $offsets, $sizes) (`scalar` $scalar^ `:` type($scalar))? attr-dict
    (`->` type($previous)^)?
  }];
}

//===--- Slots and exchange ------------------------------------------------------------------------------------------===//

def Tile_AdvanceOp : Tile_Op<"advance", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts a new version of a rotating tile; the old content is dead";
  let arguments = (ins AnyMemRef:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}

class Tile_ChannelEnd<string mnemonic, string text> : Tile_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = text;
  let description = [{
    A channel is a `workspace` tile through which one kind of core hands tiles to the other: the writer acquires a free slot,
    writes, publishes; the reader waits, reads, releases. In the sequential meaning it is a queue of versions: `acquire` adds
    one of zeros, `wait` makes the oldest one current, `release` drops it.
  }];
  let arguments = (ins AnyMemRef:$channel, Tile_CoreAttr:$core);
  let assemblyFormat = "$channel `on` $core attr-dict `:` type($channel)";
}
def Tile_AcquireOp : Tile_ChannelEnd<"acquire", "the writer waits for a free slot and starts a version">;
def Tile_PublishOp : Tile_ChannelEnd<"publish", "the writer hands the version over">;
def Tile_WaitOp : Tile_ChannelEnd<"wait", "the reader waits for the next version">;
def Tile_ReleaseOp : Tile_ChannelEnd<"release", "the reader frees the slot">;

//===--- The author's own order ---------------------------------------------------------------------------------------===//

def Tile_SubCoreIdOp : Tile_Op<"sub_core_id", [Pure]> {
  let summary = "0 or 1: which of the two vector cores of a block runs this program";
  let description = [{
    A launch that asks for it divides its vector work by hand: both vector cores run all of it, each with its own tiles.
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

/// Orders pipes or cores as the author says. Without effect in the sequential meaning of one program.
class Tile_SyncOp<string mnemonic, string text> : Tile_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = text;
}

class Tile_FlagOp<string mnemonic, string text> : Tile_SyncOp<mnemonic, text> {
  let arguments = (ins Tile_PipeAttr:$source, Tile_PipeAttr:$target, Index:$id);
  let assemblyFormat = "$source `to` $target `id` $id attr-dict";
  let hasVerifier = 1;
}
def Tile_SetFlagOp : Tile_FlagOp<"set_flag", "event `id`: everything on `source` so far is done">;
def Tile_WaitFlagOp : Tile_FlagOp<"wait_flag", "`target` waits for event `id` of `source` and clears it">;

def Tile_BarrierOp : Tile_SyncOp<"barrier", "later work of the pipe starts when all earlier work is done; `All`: of the core"> {
  let arguments = (ins Tile_PipeAttr:$pipe);
  let assemblyFormat = "$pipe attr-dict";
}

class Tile_BlockSyncOp<string mnemonic, string text> : Tile_SyncOp<mnemonic, text> {
  let description = [{
    Counting semaphores between the cube core of a block and its vector cores. The programs of a launch with these ops are
    not one sequence: each kind of core runs the statements of its own, and goes on at a `block_wait` once the other side
    has set that semaphore.
  }];
  let arguments = (ins Tile_PipeAttr:$pipe, Index:$id);
  let assemblyFormat = "$pipe `id` $id attr-dict";
}
def Tile_BlockSetOp : Tile_BlockSyncOp<"block_set", "after everything on `pipe`, count up semaphore `id` of the other side">;
def Tile_BlockWaitOp : Tile_BlockSyncOp<"block_wait", "`pipe` waits for semaphore `id`, the cube core for both vector cores">;

//===--- Debugging ---------------------------------------------------------------------------------------------------===//

def Tile_PrintOp : Tile_BoxOp<"print"> {
  let summary = "print a box or a scalar once per block";
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, Optional<AnyType>:$scalar,
                       StrAttr:$message);
  let assemblyFormat = [{ $message custom<Boxes>($buffers, type($buffers), $offsets, $sizes) (`scalar` $scalar^ `:` type($scalar))? attr-dict }];
}

def Tile_AssertOp : Tile_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "stop with a message when the condition is false";
  let arguments = (ins I1:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict";
}

#endif
