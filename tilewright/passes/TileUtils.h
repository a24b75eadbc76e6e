// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/passes/PassDetails.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"

/// Small things that several tile passes need.
namespace tilewright::passes {

/// Operands of a box op under construction, destination first.
struct BoxOperands {
  llvm::SmallVector<mlir::Value> buffers, offsets, sizes;

  /// The whole of a statically shaped buffer.
  void addWhole(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffer);
  /// A box as another op has it; `buffer` replaces its buffer when given.
  void add(mlir::OpBuilder &builder, mlir::Location loc, const Box &box, mlir::Value buffer = {});
};

/// Channels that get semaphores of their own: ids 0 to 13, 14 and 15 are for all cores at once.
inline constexpr size_t kMaxChannels = 7;

/// Remark of an automatic stage, as users see it with --remarks and in `tilewright explain`.
mlir::InFlightDiagnostic remark(mlir::Operation *op, llvm::StringRef pass, llvm::StringRef kind);

/// An alloc at the top of the launch body that holds `near`, under a name of its own.
tile::AllocOp createAlloc(mlir::Operation *near, mlir::Location loc, const llvm::Twine &name,
                          llvm::ArrayRef<int64_t> shape, mlir::Type element, tile::Scope scope);

/// True for a tile of the author's whose memory the compiler has yet to choose.
bool isUnplaced(mlir::Value buffer);

/// True when the box covers its whole (static) buffer.
bool coversBuffer(const Box &box);

/// The ancestor of `op` (or itself) that lies directly in `block`; null when there is none.
mlir::Operation *ancestorIn(mlir::Block *block, mlir::Operation *op);

/// Calls `visit(op, box index)` for every access to `buffer`.
void forEachAccess(mlir::Value buffer, llvm::function_ref<void(AccessInterface, unsigned)> visit);

/// Bytes of a statically shaped buffer.
int64_t bytesOf(mlir::Value buffer);

/// Turns of a loop with constant bounds and a positive step.
std::optional<int64_t> tripsOf(mlir::scf::ForOp loop);

/// The same for estimates: a guess where the bounds are run-time values.
double expectedTrips(mlir::scf::ForOp loop);

/// The most turns that a loop of the block is expected to take; 1 without a loop.
double mostTrips(mlir::Region &region);

/// True for what changes from turn to turn of a loop.
bool movesInLoop(mlir::Value value);

/// How much `value`, made in `region` or outside, grows when `variable` grows by one: its factor in
/// an affine expression. None when it depends on the variable in another way. `known`: the factors
/// of values for which the caller knows them.
std::optional<int64_t> factorIn(
    mlir::Value value, mlir::Value variable, mlir::Region &region,
    const llvm::DenseMap<mlir::Value, int64_t> &known = llvm::DenseMap<mlir::Value, int64_t>());

/// True when none of the values, made in `region` or outside, depends on `variable`.
bool areFixed(mlir::ValueRange values, mlir::Value variable, mlir::Region &region);

/// Divides an extent of the grid by `count`, which it is a multiple of: the number of the block
/// along it becomes that of the first of `count` blocks of before.
void mergeBlocks(tile::LaunchOp launch, unsigned extent, int64_t count);

/// True when each tensor that the launch writes is accessed at one place only, as its variables
/// say. Then what one block writes no access of another can touch but the same one.
bool writesInOnePlace(tile::LaunchOp launch);

/// Sets the size of dimension `dim` of box `box` of a copy or product.
void setSize(mlir::Operation *op, unsigned box, unsigned dim, int64_t size);

/// Multiplies the constant size of dimension `dim` of box `box` of a copy or product.
void growSize(mlir::Operation *op, unsigned box, unsigned dim, int64_t factor);

/// True for work that tile-split-cores gave to that kind of core.
bool isOn(mlir::Operation *op, Core core);

/// Vector cores that share the work of a block with cube work.
inline constexpr int64_t kVectorCores = 2;

/// Gives a statement on tiles other boxes of the same buffers.
void setBoxes(mlir::Operation *op, mlir::ValueRange offsets, mlir::ValueRange sizes);

/// Clones what `op`, with everything inside it, uses of `body` and `mapping` does not know yet.
void cloneOperands(mlir::Operation *op, mlir::Block *body, mlir::OpBuilder &builder,
                   mlir::IRMapping &mapping);

/// True for a loop that runs at least once for sure.
bool runsAtLeastOnce(mlir::scf::ForOp loop);

/// Sizes and, for each, the box dimension it comes from, without static 1s.
struct SqueezedBox {
  llvm::SmallVector<int64_t> dims;  ///< box dimensions kept
  llvm::SmallVector<int64_t> sizes; ///< kDynamic where unknown
};
SqueezedBox squeeze(const Box &box);

/// Pairs the dimensions of two boxes of one copy: entry d is the dimension of `other` that
/// dimension d of `box` follows, -1 where the box has size 1 there. Fails when run-time sizes leave
/// it open.
mlir::FailureOr<llvm::SmallVector<int64_t>> matchDims(const Box &box, const Box &other);

/// What to say when that fails.
inline constexpr llvm::StringLiteral kOpenDims =
    "E0712: cannot tell which run-time dimensions belong together; give both sides the same rank";

/// Creates `dst = fn(src)` with maps that pair the boxes' dimensions, of which matchDims can tell,
/// as a copy does.
void createTileMove(mlir::OpBuilder &builder, mlir::Location loc, const Box &dst, const Box &src);

} // namespace tilewright::passes
