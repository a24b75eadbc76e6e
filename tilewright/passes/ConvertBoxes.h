// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/npu/NpuOps.h"
#include "tilewright/passes/TileUtils.h"
#include "tilewright/tile/CoreOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace tilewright::passes {

/// The npu space of a placed tile.
npu::Space spaceOf(tile::Scope scope);

/// A workspace tile and the semaphores that guard it: `fullId`, and `fullId + 1` for free slots.
struct Channel {
  int64_t fullId = 0, slots = 1;
  int64_t credits = 0; ///< hand-overs that this channel lets be open at once
  Core writer = Core::AIC;

  /// The pipe that fills it.
  npu::Pipe writerPipe() const { return writer == Core::AIC ? npu::Pipe::FIX : npu::Pipe::MTE3; }
};

/// Lowers tile ops of one kind of core: boxes are clipped to global tensors and cut to this core's
/// rows.
struct BoxLowering {
  mlir::OpBuilder &builder;
  mlir::IRMapping mapping; ///< tile-level value -> value in the function
  Core core;
  bool mixed;        ///< the launch has both kinds of core
  int64_t parts = 1; ///< how many runners share the rows of a block's cut tiles
  mlir::func::FuncOp function;
  mlir::Value zero;    ///< index 0
  mlir::Value subCore; ///< number of this runner among them
  llvm::MapVector<tile::AllocOp, Channel> channels = {};
  bool onlyFirst = false; ///< the first vector core does all the vector work
  bool isByCore = false;  ///< the author has cut the boxes
  bool inFirst = false;   ///< what is being built runs on the first vector core only

  mlir::LogicalResult lower(mlir::Operation *op);
  /// A branch that the first vector core takes.
  mlir::scf::IfOp onFirstCore(mlir::Location loc);

private:
  /// A box in the function, with the part of its tile partner that a clipped global box covers.
  struct Place {
    mlir::Value buffer;
    llvm::SmallVector<mlir::Value> offsets, sizes;
  };
  struct Operands {
    llvm::SmallVector<mlir::Value> buffers, offsets, sizes;
    void add(const Place &place);
  };

  mlir::Value index(int64_t value);
  mlir::Value mapped(mlir::Value value) { return mapping.lookup(value); }
  Place placeOf(const Box &box);
  std::optional<int64_t> splitDim(mlir::Value buffer);
  bool isSplit(AccessInterface op);
  mlir::Value myRows(int64_t extent, int64_t half);
  mlir::Value myFirstRow(int64_t half);
  void cutRows(mlir::Value buffer, Place &place);
  void cutPartner(mlir::Value tileBuffer, const Box &tileBox, const Box &partnerBox,
                  Place &partner);
  /// What is left of a box inside its tensor. `cut`: something was cut off, null when it is proved
  /// to lie inside. `gone`: nothing is left, set when the sizes cannot say so.
  struct Clipped {
    mlir::Value cut, gone;
  };
  Clipped clip(const Box &global, Place &globalPlace, const Box &tileBox, Place &tilePlace);
  void unlessGone(mlir::Location loc, const Clipped &clipped, llvm::function_ref<void()> body);
  mlir::Value extentOf(mlir::Value buffer, unsigned dim);

  mlir::LogicalResult lowerCopy(tile::CopyOp copy);
  mlir::LogicalResult lowerAtomic(tile::AtomicOp atomic);
  void lowerFetch(tile::AtomicOp atomic);
  mlir::Value orElse(mlir::Location loc, mlir::Type type, mlir::Value condition, double pad,
                     llvm::function_ref<mlir::Value()> emit);
  mlir::LogicalResult lowerFill(tile::FillOp fill);
  mlir::LogicalResult lowerGemm(tile::GemmOp gemm);
  void lowerElementwise(tile::ElementwiseOp op);
  mlir::LogicalResult lowerReduce(tile::ReduceOp reduce);
  void lowerIota(tile::IotaOp iota);
  mlir::LogicalResult lowerSameBoxes(mlir::Operation *op);
  void lowerLoad(tile::LoadOp load);
  void lowerStore(tile::StoreOp store);
  void lowerChannelEnd(mlir::Operation *op);
  void lowerSync(mlir::Operation *op);
  void lowerBarrier(tile::CoreBarrierOp barrier);
  mlir::Value inBounds(mlir::Value buffer, mlir::ValueRange tileIndices);
  void fillPlace(mlir::Location loc, const Place &place, mlir::Value value);
  /// Runs `body` on one vector core only, when the work is done by both.
  void once(mlir::Location loc, bool split, llvm::function_ref<void()> body);
};

} // namespace tilewright::passes
