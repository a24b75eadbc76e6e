// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILEWRIGHT_NPU_OPS
#define TILEWRIGHT_NPU_OPS

include "tilewright/npu/NpuDialect.td"
include "tilewright/npu/NpuInterfaces.td"
include "tilewright/support/AccessInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

class Npu_Op<string mnemonic, list<Trait> traits = []> : Op<Npu_Dialect, mnemonic, traits>;

//===--- Structure ---------------------------------------------------------------------------------------------------===//

def Npu_LaunchOp : Npu_Op<"launch", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "start the AIC and/or AIV function on all cores and wait for them";
  let description = [{
    Both functions take the operands. Runners are AICs (each with its two AIVs) when there is an AIC function, else AIVs.
    A launch is a full barrier.
  }];
  let arguments = (ins Variadic<AnyType>:$operands, OptionalAttr<FlatSymbolRefAttr>:$aic, OptionalAttr<FlatSymbolRefAttr>:$aiv);
  let assemblyFormat = "(`aic` $aic^)? (`aiv` $aiv^)? `(` $operands `)` attr-dict (`:` type($operands)^)?";
}

def Npu_CoreIdOp : Npu_Op<"core_id", [Pure]> {
  let summary = "number of this runner: of the AIC (shared by its AIVs), or of the AIV in a launch without AIC";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}
def Npu_CoreCountOp : Npu_Op<"core_count", [Pure]> {
  let summary = "number of runners of this launch";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}
def Npu_SubCoreIdOp : Npu_Op<"sub_core_id", [Pure]> {
  let summary = "0 or 1 on the AIVs of a launch with AIC, else 0";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}
def Npu_BeginBlockOp : Npu_Op<"begin_block", [MemoryEffects<[MemWrite]>]> {
  let summary = "logical block `id` starts; orders atomics and names blocks in reports";
  let arguments = (ins Index:$id);
  let assemblyFormat = "$id attr-dict";
}

def Npu_AllocOp : Npu_Op<"alloc", [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a buffer for the whole function";
  let description = [{
    With `slots` above 1 the buffer is that many copies, used in rotation: every access means the current copy and
    `npu.advance` moves to the next. `address` (bytes, slot 0; slots follow each other) is set by npu-plan-memory, and so is
    `pad_rows`: rows of a tile in UB begin at 32-byte blocks. Without it they follow each other.
    Space `reg` with rank 0 is a scalar variable.
  }];
  let arguments = (ins StrAttr:$name, DefaultValuedAttr<I64Attr, "1">:$slots, OptionalAttr<I64Attr>:$address, UnitAttr:$pad_rows);
  let results = (outs Res<AnyMemRef, "", [MemAlloc]>:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
  let extraClassDeclaration = [{
    /// Bytes of one slot, rounded up for the space (fractals in L1 and L0C, 32-byte blocks in UB).
    int64_t getSlotBytes();
  }];
}

def Npu_AdvanceOp : Npu_Op<"advance", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "go to the next slot of a rotating buffer";
  let arguments = (ins AnyMemRef:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}

def Npu_EndBlockOp : Npu_Op<"end_block", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the cores of a group wait until all of them have done everything so far: the end of a block with orders of its own";
  let assemblyFormat = "attr-dict";
}

//===--- Boxes -------------------------------------------------------------------------------------------------------===//

/// An op over boxes on one pipe; operands as in the tile dialect, destination first.
class Npu_BoxOp<string mnemonic, string pipe, string kind, list<Trait> traits = []>
    : Npu_Op<mnemonic, !listconcat([AttrSizedOperandSegments, AccessInterface, Npu_PipeInterface,
                                    MemoryEffects<[MemRead, MemWrite]>], traits)> {
  code boxMethods = [{
    unsigned getNumBoxes() { return getBuffers().size(); }
    ::tilewright::Box getBox(unsigned index) { return boxOf(getBuffers(), getOffsets(), getSizes(), index); }
  }] # "::tilewright::AccessKind getAccessKind(unsigned index) { return " # kind # "; }\n"
     # "::tilewright::npu::Pipe getBoxPipe(unsigned index) { return " # pipe # "; }\n";
  let extraClassDeclaration = boxMethods;
  let hasVerifier = 1;
}
defvar WriteFirst = "index == 0 ? ::tilewright::AccessKind::Write : ::tilewright::AccessKind::Read";

def Npu_LoadOp : Npu_BoxOp<"load", "Pipe::MTE2", WriteFirst> {
  let summary = "(dst UB or L1, src GM): copy a box; into L1 in NZ layout";
  let description = [{
    With `bypass_l2` the data are not kept in the L2: for what is read once, so that it evicts nothing.
  }];
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, UnitAttr:$bypass_l2);
  let assemblyFormat = "custom<Boxes>($buffers, type($buffers), $offsets, $sizes) attr-dict";
}
def Npu_FillL1Op : Npu_BoxOp<"fill_l1", "Pipe::MTE2", "::tilewright::AccessKind::Write"> {
  let summary = "(dst L1): write one value everywhere in a box";
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, AnyType:$value);
  let assemblyFormat = "$value `:` type($value) `,` custom<Boxes>($buffers, type($buffers), $offsets, $sizes) attr-dict";
}
def Npu_LoadL0Op : Npu_BoxOp<"load_l0", "Pipe::MTE1", WriteFirst> {
  let summary = "(dst L0A or L0B, src L1): copy a box";
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes);
  let assemblyFormat = "custom<Boxes>($buffers, type($buffers), $offsets, $sizes) attr-dict";
}
def Npu_MmadOp : Npu_BoxOp<"mmad", "index == 0 || !isMacro() ? Pipe::M : Pipe::MTE1",
                           "index == 0 ? ::tilewright::AccessKind::Update : ::tilewright::AccessKind::Read"> {
  let summary = "(C in L0C, A in L1 or L0A, B in L1 or L0B): C = (init ? 0 : C) + op(A) . op(B)";
  let description = [{
    On operands in L1 a macro: loads A and B through L0A and L0B on MTE1 with its own double buffering and reserved event ids,
    multiplies on M. On operands in L0A and L0B the product alone, all of it on M.
  }];
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, I1:$init,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b);
  let assemblyFormat = "custom<Boxes>($buffers, type($buffers), $offsets, $sizes) `init` $init attr-dict";
  let extraClassDeclaration = boxMethods # [{
    /// True when the op loads its operands from L1 itself.
    bool isMacro() { return spaceOf(getBuffers()[1]) == Space::L1; }
  }];
}
def Npu_FixpipeOp : Npu_BoxOp<"fixpipe", "Pipe::FIX", WriteFirst> {
  let summary = "(dst GM or L1, src L0C): copy a box out of the accumulator, narrowing floats to nearest even";
  let description = [{
    `relu` takes the maximum with 0 first. `scale` makes i8 of i32: the value as f32 times `scale`, rounded to nearest even,
    saturated.
  }];
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, UnitAttr:$relu,
                       OptionalAttr<F32Attr>:$scale);
  let assemblyFormat = "custom<Boxes>($buffers, type($buffers), $offsets, $sizes) attr-dict";
}
def Npu_StoreOp : Npu_BoxOp<"store", "Pipe::MTE3", WriteFirst> {
  let summary = "(dst GM, src UB or L1): copy a box";
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes);
  let assemblyFormat = "custom<Boxes>($buffers, type($buffers), $offsets, $sizes) attr-dict";
}
def Npu_AtomicOp : Npu_BoxOp<"atomic", "Pipe::MTE3",
                             "index == 0 ? ::tilewright::AccessKind::Update : ::tilewright::AccessKind::Read"> {
  let summary = "(dst GM, src UB): combine a box into global memory; sum, max or min";
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, Npu_ReduceAttr:$kind);
  let assemblyFormat = "$kind custom<Boxes>($buffers, type($buffers), $offsets, $sizes) attr-dict";
}

def Npu_FillOp : Npu_BoxOp<"fill", "Pipe::V", "::tilewright::AccessKind::Write"> {
  let summary = "(dst UB): write one value everywhere in a box";
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, AnyType:$value);
  let assemblyFormat = "$value `:` type($value) `,` custom<Boxes>($buffers, type($buffers), $offsets, $sizes) attr-dict";
}
def Npu_ElementwiseOp : Npu_BoxOp<"elementwise", "Pipe::V", WriteFirst> {
  let summary = "(dst, operands... in UB): apply one function over the domain of the destination box";
  let description = [{ `maps` as in `tile.elementwise`; always present. }];
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, Optional<AnyType>:$scalar,
                       Npu_FnAttr:$fn, ArrayAttr:$maps, UnitAttr:$scalar_first,
                       DefaultValuedAttr<Npu_RoundAttr, "Round::Rint">:$round);
  let assemblyFormat = [{ $fn custom<Boxes>($buffers, type($buffers), $offsets, $sizes) (`scalar` $scalar^ `:` type($scalar))? attr-dict }];
  let extraClassDeclaration = boxMethods # [{
    ::llvm::ArrayRef<int64_t> getMap(unsigned index) {
      return ::mlir::cast<::mlir::DenseI64ArrayAttr>(getMaps()[index]).asArrayRef();
    }
  }];
}
def Npu_ReduceOp : Npu_BoxOp<"reduce", "Pipe::V",
    "index == 0 ? (getAccumulate() ? ::tilewright::AccessKind::Update : ::tilewright::AccessKind::Write) : ::tilewright::AccessKind::Read"> {
  let summary = "(dst, src in UB): combine along `dims` of the source box";
  let description = [{ `dst_map[d]` names the source dimension that dimension d of the destination follows, or -1. }];
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, Npu_ReduceAttr:$kind,
                       DenseI64ArrayAttr:$dims, DenseI64ArrayAttr:$dst_map, UnitAttr:$accumulate);
  let assemblyFormat = "$kind custom<Boxes>($buffers, type($buffers), $offsets, $sizes) `dims` `=` $dims attr-dict";
}
def Npu_ScanOp : Npu_BoxOp<"scan", "Pipe::V", WriteFirst> {
  let summary = "(dst, src in UB): inclusive scan along one dimension";
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, Npu_ReduceAttr:$kind,
                       I64Attr:$dim, UnitAttr:$reverse);
  let assemblyFormat = "$kind custom<Boxes>($buffers, type($buffers), $offsets, $sizes) `dim` `=` $dim attr-dict";
}
def Npu_IotaOp : Npu_BoxOp<"iota", "Pipe::V", "::tilewright::AccessKind::Write"> {
  let summary = "(dst UB): start + sum of steps[d] * index[d]";
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, Index:$start,
                       Variadic<Index>:$steps);
  let assemblyFormat = "custom<Boxes>($buffers, type($buffers), $offsets, $sizes) `from` $start `by` `(` $steps `)` attr-dict";
}
def Npu_GatherOp : Npu_BoxOp<"gather", "Pipe::V", WriteFirst> {
  let summary = "(dst, table, index in UB): dst[i..., j] = table[i..., index[i..., j]]";
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes);
  let assemblyFormat = "custom<Boxes>($buffers, type($buffers), $offsets, $sizes) attr-dict";
}
def Npu_PrintOp : Npu_BoxOp<"print", "Pipe::S", "::tilewright::AccessKind::Read"> {
  let summary = "print a box or a scalar";
  let arguments = (ins Variadic<AnyMemRef>:$buffers, Variadic<Index>:$offsets, Variadic<Index>:$sizes, Optional<AnyType>:$scalar,
                       StrAttr:$message);
  let assemblyFormat = [{ $message custom<Boxes>($buffers, type($buffers), $offsets, $sizes) (`scalar` $scalar^ `:` type($scalar))? attr-dict }];
}

//===--- Scalar unit -------------------------------------------------------------------------------------------------===//

def Npu_ScalarLoadOp : Npu_Op<"scalar_load", [AccessInterface, Npu_PipeInterface]> {
  let summary = "the scalar unit reads one element of GM or UB, or a scalar variable";
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$buffer, Variadic<Index>:$indices);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$buffer `[` $indices `]` attr-dict `:` type($buffer) `->` type($result)";
  let extraClassDeclaration = [{
    unsigned getNumBoxes() { return 1; }
    ::tilewright::Box getBox(unsigned) { return {getBuffer(), getIndices(), {}}; }
    ::tilewright::AccessKind getAccessKind(unsigned) { return ::tilewright::AccessKind::Read; }
    ::tilewright::npu::Pipe getBoxPipe(unsigned) { return Pipe::S; }
  }];
}
def Npu_ScalarStoreOp : Npu_Op<"scalar_store", [AccessInterface, Npu_PipeInterface]> {
  let summary = "the scalar unit writes one element of GM or UB, or a scalar variable";
  let arguments = (ins AnyType:$value, Arg<AnyMemRef, "", [MemWrite]>:$buffer, Variadic<Index>:$indices);
  let assemblyFormat = "$value `,` $buffer `[` $indices `]` attr-dict `:` type($value) `,` type($buffer)";
  let extraClassDeclaration = [{
    unsigned getNumBoxes() { return 1; }
    ::tilewright::Box getBox(unsigned) { return {getBuffer(), getIndices(), {}}; }
    ::tilewright::AccessKind getAccessKind(unsigned) { return ::tilewright::AccessKind::Write; }
    ::tilewright::npu::Pipe getBoxPipe(unsigned) { return Pipe::S; }
  }];
}
def Npu_ScalarAtomicOp : Npu_Op<"scalar_atomic",
                                [AccessInterface, Npu_PipeInterface, AllTypesMatch<["value", "previous"]>]> {
  let summary = "the scalar unit combines a value into one element of GM and gives what was there; sum, max or min";
  let arguments = (ins AnyType:$value, Arg<AnyMemRef, "", [MemRead, MemWrite]>:$buffer, Variadic<Index>:$indices,
                       Npu_ReduceAttr:$kind);
  let results = (outs AnyType:$previous);
  let assemblyFormat = "$kind $value `,` $buffer `[` $indices `]` attr-dict `:` type($buffer) `->` type($previous)";
  let extraClassDeclaration = [{
    unsigned getNumBoxes() { return 1; }
    ::tilewright::Box getBox(unsigned) { return {getBuffer(), getIndices(), {}}; }
    ::tilewright::AccessKind getAccessKind(unsigned) { return ::tilewright::AccessKind::Update; }
    ::tilewright::npu::Pipe getBoxPipe(unsigned) { return Pipe::S; }
  }];
}
def Npu_AssertOp : Npu_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "stop with a message when the condition is false";
  let arguments = (ins I1:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict";
}

//===--- Synchronisation ---------------------------------------------------------------------------------------------===//

class Npu_FlagOp<string mnemonic, string text> : Npu_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = text;
  let description = [{
    Event `id` from pipe `source` to pipe `target`. With `rotate` the id is `id` plus the current slot of that buffer, so that
    every slot has an event of its own, or plus that number.
  }];
  let arguments = (ins Npu_PipeAttr:$source, Npu_PipeAttr:$target, I64Attr:$id,
                       Optional<AnyTypeOf<[AnyMemRef, Index]>>:$rotate);
  let assemblyFormat = "$source `to` $target `id` $id (`rotate` $rotate^ `:` type($rotate))? attr-dict";
}
def Npu_SetFlagOp : Npu_FlagOp<"set_flag", "`target` may go on once everything on `source` so far is done"> {
  let description = [{
    Event `id` from pipe `source` to pipe `target`. With `rotate` the id is `id` plus the current slot of that buffer, so that
    every slot has an event of its own, or plus that number.

    With `unit`, between M and FIX: the hardware's unit flag. The two pipes follow each other by blocks of 512 bytes: the
    next instruction of `target` may start when the last one of `source` has started, and ends after it. Everything but
    time is as without.
  }];
  let arguments = (ins Npu_PipeAttr:$source, Npu_PipeAttr:$target, I64Attr:$id,
                       Optional<AnyTypeOf<[AnyMemRef, Index]>>:$rotate, UnitAttr:$unit);
  let hasVerifier = 1;
}
def Npu_WaitFlagOp : Npu_FlagOp<"wait_flag", "`target` waits for the event and clears it">;

def Npu_BarrierOp : Npu_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "later instructions of the pipe wait until earlier ones are done; `All` joins every pipe of the core";
  let arguments = (ins Npu_PipeAttr:$pipe);
  let assemblyFormat = "$pipe attr-dict";
}

class Npu_BlockSyncOp<string mnemonic, string text> : Npu_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = text;
  let description = [{ With `plus` the semaphore is `id` plus that number. }];
  let arguments = (ins Npu_PipeAttr:$pipe, I64Attr:$id, Optional<Index>:$plus);
  let assemblyFormat = "$pipe `id` $id (`plus` $plus^)? attr-dict";
  let builders = [OpBuilder<(ins "::tilewright::npu::PipeAttr":$pipe, "::mlir::IntegerAttr":$id), [{ build($_builder, $_state, pipe, id, ::mlir::Value()); }]>];
}
def Npu_BlockSetOp : Npu_BlockSyncOp<"block_set", "after everything on `pipe`, count up the other cores' semaphore `id`">;
def Npu_BlockWaitOp : Npu_BlockSyncOp<"block_wait", "`pipe` waits for semaphore `id` (the AIC for both AIVs) and counts it down">;

def Npu_CoreBarrierOp : Npu_Op<"core_barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "later work on `pipe` starts when earlier work on it is done, on this core and its like";
  let description = [{
    Those that meet are the two AIVs of a group, or with `all_blocks` every core of this kind that has a block. All meet with
    the same `id`.
  }];
  let arguments = (ins Npu_PipeAttr:$pipe, I64Attr:$id, UnitAttr:$all_blocks);
  let assemblyFormat = "$pipe `id` $id (`all_blocks` $all_blocks^)? attr-dict";
}

#endif
