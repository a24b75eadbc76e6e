// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILEWRIGHT_CORE_OPS
#define TILEWRIGHT_CORE_OPS

include "tilewright/tile/TileDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===--- Launches by cores -------------------------------------------------------------------------------------------===//

/// What stands only in a launch with `tile.by_core`: its body is the program of a core, which takes its blocks in a loop of
/// its own. Everything in it is the author's, and no stage decides anything.
class Core_Op<string mnemonic, list<Trait> traits> : Op<Tile_Dialect, mnemonic, traits>;

def Tile_CoreIdOp : Core_Op<"core_id", [Pure]> {
  let summary = "number of this core; the sequential meaning has one core, 0";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}
def Tile_CoreCountOp : Core_Op<"core_count", [Pure]> {
  let summary = "number of cores of the launch";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}
def Tile_BeginBlockOp : Core_Op<"begin_block", [MemoryEffects<[MemWrite]>]> {
  let summary = "block `id` starts: orders atomics and names blocks in reports";
  let arguments = (ins Index:$id);
  let assemblyFormat = "$id attr-dict";
}

class Core_SlotFlagOp<string mnemonic, string text> : Core_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = text;
  let description = [{ The event is `id` plus the current slot of a tile: one for each slot. }];
  let arguments = (ins Tile_PipeAttr:$source, Tile_PipeAttr:$target, I64Attr:$id, AnyMemRef:$tile);
  let assemblyFormat = "$source `to` $target `id` $id `rotate` $tile attr-dict `:` type($tile)";
}
def Tile_SetSlotFlagOp : Core_SlotFlagOp<"set_slot_flag", "the event of a slot: everything on `source` so far is done">;
def Tile_WaitSlotFlagOp : Core_SlotFlagOp<"wait_slot_flag", "`target` waits for the event of a slot and clears it">;

/// Anywhere in a launch.
def Tile_CoreBarrierOp : Core_Op<"core_barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "later work on `pipe` starts when earlier work on it is done, on all cores that meet here";
  let description = [{
    The two vector cores of a block meet, or with `all_blocks` the cores of one kind of all blocks, which then all run at
    once. The programs that meet do so equally often, with the same `id`.
  }];
  let arguments = (ins Tile_PipeAttr:$pipe, I64Attr:$id, UnitAttr:$all_blocks);
  let assemblyFormat = "$pipe `id` $id (`all_blocks` $all_blocks^)? attr-dict";
}

def Tile_BreakpointOp : Core_Op<"breakpoint", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the interpreter lets the author look at all tiles; what runs on a chip goes on";
  let assemblyFormat = "attr-dict";
}

#endif
