// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILEWRIGHT_CHECKERS
#define TILEWRIGHT_CHECKERS

include "mlir/Pass/PassBase.td"

// Checkers of the tile stages: they look at what a stage left, and share no code with it.

def TileVerifyPlaces : Pass<"tile-verify-places", "::mlir::func::FuncOp"> {
  let summary = "check the memories that tile-place-buffers chose";
  let description = [{
    Needs: tile-place-buffers.
    Guarantees: each tile is in a memory that all statements on it reach. Copies between the cores are as free as before the split.
    Whether tiles fit is for npu-verify-plan: later stages cut them.
    Leaves alone: everything.

    Example: test/passes/tile-verify-places.mlir.
  }];
}

def TileVerifyChannels : Pass<"tile-verify-channels", "::mlir::func::FuncOp"> {
  let summary = "check what goes from one kind of core to the other";
  let description = [{
    Needs: tile-split-cores.
    Guarantees: in some blocks, run on numbers without data: each statement runs on the core that holds its tiles; slots of channels
    are touched between the ends of their side; each version that is published is awaited, in order; tensors that one kind of
    core writes the other does not touch there; and the two programs, each with its own order of ends and with as many slots as
    there are, come to their ends. Launches that the author divides are not looked at.
    Leaves alone: everything.

    Example: test/passes/tile-verify-channels.mlir.
  }];
}

def TileVerifyContents : Pass<"tile-verify-contents", "::mlir::func::FuncOp"> {
  let summary = "check that what is read of a tile has been written";
  let description = [{
    Needs: tile-materialize-zero.
    Guarantees: in some blocks, run on numbers without data: each element of a tile or of a channel's slot that a statement reads has
    been written in the same version, which `tile.advance` and `tile.acquire` begin. So boxes that a stage has cut still cover
    what is read, and a rotating tile is filled before it is used. Boxes that hang on data are not looked at.
    Leaves alone: everything.

    Example: test/passes/tile-verify-contents.mlir.
  }];
}

def TileVerifyWork : Pass<"tile-verify-work", "::mlir::func::FuncOp"> {
  let summary = "check that statements were cut into parts that together are as much";
  let description = [{
    Needs: tile-materialize-zero.
    Guarantees: in some blocks, run on numbers without data, the counts of multiplications, of elements stored in tensors, and of
    elements combined with them by atomics are those that `record` noted on the launch. With tile-verify-contents: no part of a sum
    or of a result is left out, and none is done twice. Blocks that hang on data, or run long, are not looked at.
    Leaves alone: everything but the note.

    Example: test/passes/tile-verify-work.mlir.
  }];
  let options = [Option<"record", "record", "bool", "false", "note the counts instead of comparing them">];
}

def TileVerifyVersions : Pass<"tile-verify-versions", "::mlir::func::FuncOp"> {
  let summary = "check that turns which overlap hand on the same values";
  let description = [{
    Needs: tile-split-cores.
    Guarantees: in some blocks, run on numbers without data: what is stored comes from the same statements on the same boxes of the
    same versions as when `record` made its note. So a slot is not overwritten while the reader of an earlier turn needs it, and a
    late stage works on its own turn. Blocks that hang on data, or run long, are not looked at.
    Leaves alone: everything but the note.

    Example: test/passes/tile-verify-versions.mlir.
  }];
  let options = [Option<"record", "record", "bool", "false", "note the values instead of comparing them">];
}

#endif
