// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/support/Boxes.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

#include "tilewright/tile/TileDialect.h.inc"
#include "tilewright/tile/TileEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tilewright/tile/TileAttrs.h.inc"

namespace tilewright::tile {
class LaunchOp;
} // namespace tilewright::tile

namespace tilewright::tile {

// The shared enumerations and box helpers under this dialect's name.
using tilewright::boxOf;
using tilewright::constantOf;
using tilewright::Core;
using tilewright::Fn;
using tilewright::Pipe;
using tilewright::ReduceKind;
using tilewright::Round;
using tilewright::staticSizes;
using tilewright::stringifyCore;
using tilewright::stringifyFn;
using tilewright::stringifyPipe;
using tilewright::stringifyReduceKind;
using tilewright::stringifyRound;
using tilewright::symbolizeFn;
using tilewright::symbolizeReduceKind;
using TileAccess = AccessInterface;

/// The scope of a buffer; memrefs without a memory space are global.
Scope scopeOf(mlir::Value buffer);
Scope scopeOf(mlir::MemRefType type);
mlir::MemRefType withScope(mlir::MemRefType type, Scope scope);

/// True for every place on the chip that holds tiles (not global, workspace or local).
bool isOnChip(Scope scope);

/// Type of a scalar that holds an element: integers become signless.
mlir::Type scalarTypeOf(mlir::Type elementType);

/// The kind of core that must run an op: the one it has been given, else the one that holds the
/// tiles it touches, where the author has placed them; `Both` when any may.
Core coreOf(mlir::Operation *op);

/// True for a launch in which the author divides the work between cores: it asks for the number of
/// the vector core, or makes cores wait for each other.
bool isDividedByHand(LaunchOp launch);
/// True for a launch that asks for the number of the vector core.
bool usesSubCoreId(LaunchOp launch);
/// True for a launch whose pipes the author orders by flags, or that leaves no order to the
/// compiler.
bool isOrderedByHand(LaunchOp launch);
/// Either: how its blocks are cut and put together is up to the author too.
bool isByHand(LaunchOp launch);

/// Name given by the author: of the alloc, or of the function argument.
llvm::StringRef nameOf(mlir::Value buffer);

// Discardable attributes with a meaning.

/// #tile.core on ops after tile-split-cores.
inline constexpr llvm::StringLiteral kCoreAttr = "tile.core";
/// i64 on scf.for made by T.Pipelined.
inline constexpr llvm::StringLiteral kNumStagesAttr = "tile.num_stages";
/// String, function arguments.
inline constexpr llvm::StringLiteral kNameAttr = "tile.name";
/// Affine map symbols -> dims, memref arguments.
inline constexpr llvm::StringLiteral kShapeAttr = "tile.shape";
/// Unit: allocated by the caller's runtime.
inline constexpr llvm::StringLiteral kOutputAttr = "tile.output";
/// String, memref arguments: the author's element type where two of them share a byte.
inline constexpr llvm::StringLiteral kElementAttr = "tile.element";
/// i64, memref arguments: the argument whose memory this one shares. The runtime passes it.
inline constexpr llvm::StringLiteral kAliasAttr = "tile.alias";
/// String array on the function.
inline constexpr llvm::StringLiteral kSymbolsAttr = "tile.symbols";
/// i64 on UB allocs cut over two vector cores.
inline constexpr llvm::StringLiteral kSplitDimAttr = "tile.split_dim";
/// i64: rows of the first vector core.
inline constexpr llvm::StringLiteral kSplitRowsAttr = "tile.split_rows";
/// i64 on launches without cube work: each block becomes that many, which do tile.split_rows rows
/// each.
inline constexpr llvm::StringLiteral kPartsAttr = "tile.parts";
/// #tile.core on ops that the author put on a kind of core.
inline constexpr llvm::StringLiteral kPlacedAttr = "tile.placed";
/// Unit on launches whose pipes only the author orders.
inline constexpr llvm::StringLiteral kManualSyncAttr = "tile.manual_sync";
/// i64 pair on launches: an extent of the grid, and 1 where later blocks along it do more, -1 where
/// they do less.
inline constexpr llvm::StringLiteral kHeavyFirstAttr = "tile.heavy_first";
/// Unit on allocs the author wrote.
inline constexpr llvm::StringLiteral kUserAttr = "tile.user";
/// i64 array on allocs: the shape the author wrote, where loops index more elements.
inline constexpr llvm::StringLiteral kDeclaredAttr = "tile.declared";

} // namespace tilewright::tile

#define GET_OP_CLASSES
#include "tilewright/tile/TileOps.h.inc"
