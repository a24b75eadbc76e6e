// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/machine/Machine.h"
#include "tilewright/npu/NpuOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

/// What npu-legalize does, by kind of instruction.
namespace tilewright::passes::legal {

using mlir::ArrayRef;
using mlir::OpBuilder;
using mlir::Operation;
using mlir::SmallVector;
using mlir::Type;
using mlir::Value;

inline bool isWide(Type type) { return type.isIndex() || type.getIntOrFloatBitWidth() > 32; }

/// An operand of a box op. `map`: the dimension of the domain that each of its dimensions follows.
struct Operand {
  Value buffer;
  SmallVector<Value> offsets, sizes;
  SmallVector<int64_t> map;

  bool isSame(const Operand &other) const {
    return buffer == other.buffer && offsets == other.offsets && sizes == other.sizes &&
           map == other.map;
  }
  Type element() const { return mlir::cast<mlir::MemRefType>(buffer.getType()).getElementType(); }
};

/// Replaces the ops of one function. Every step of a replacement is one that the unit has; results
/// are bit for bit those of the op that was there.
class Legalizer {
public:
  Legalizer(mlir::func::FuncOp function, const machine::Machine &chip)
      : function(function), builder(function.getContext()), chip(chip) {}

  void run();

private:
  mlir::func::FuncOp function;
  OpBuilder builder;
  const machine::Machine &chip;
  mlir::Location loc = builder.getUnknownLoc();

  static bool writesNothing(AccessInterface access);
  Type f16() { return builder.getF16Type(); }
  Type f32() { return builder.getF32Type(); }
  static Operand operandOf(const Box &box, ArrayRef<int64_t> map);
  Operand temporary(Type element, const Operand &like);
  void create(Fn fn, const Operand &dst, ArrayRef<Operand> sources, Value scalar = {},
              bool scalarFirst = false, Round round = Round::Rint);
  void fill(const Operand &dst, Value value);
  Value number(Type element, double value);
  static bool isBroadcast(const Operand &src, const Operand &dst);
  Operand full(const Operand &src, const Operand &dst);
  Type between(Type from, Type to, bool &wraps);
  bool convert(const Operand &dst, const Operand &src, Round round);
  void convertOrCreate(const Operand &dst, const Operand &src, Round round);
  void wrap(const Operand &dst, const Operand &src);
  void narrow(const Operand &dst, const Operand &src);
  Operand widened(const Operand &src, Type element);
  Value widened(Value scalar, Type element, bool isUnsigned);
  Type computedIn(Fn fn, Type type);
  bool bitwise(Fn fn, const Operand &dst, const Operand &src, Value scalar);
  bool compare(Fn fn, const Operand &dst, ArrayRef<Operand> sources, Value scalar, bool isFirst);
  static bool holdsBytes(Value buffer);
  SmallVector<Operand> fullSources(ArrayRef<Operand> sources, const Operand &dst);
  static Fn mirrored(Fn fn);
  bool elementwise(npu::ElementwiseOp op);
  bool count(npu::IotaOp op);

  // NpuLegalizeBools.cpp: tiles of bools of which an op takes parts.
  static bool isRun(const Operand &operand);
  static SmallVector<unsigned> boxesOf(npu::ElementwiseOp op, Value buffer);
  bool hasFlagsInParts(npu::AllocOp alloc);
  void keepAsNumbers(npu::AllocOp alloc);
  void readAndWriteNumbers(npu::ElementwiseOp op, Value flags, Value numbers);

  // NpuLegalizeScans.cpp: along rows and in narrow floats.
  bool scan(npu::ScanOp op);
  npu::ScanOp createScan(npu::ScanOp like, const Operand &dst, const Operand &src, unsigned dim);
  bool scanAsColumns(npu::ScanOp op, const Operand &dst, const Operand &src);
  bool isFaster(int64_t rows, int64_t columns, int64_t bytes) const;
  int64_t bytesInUb();

  // NpuLegalizeReductions.cpp: sums and the like.
  bool reduce(npu::ReduceOp op);
  void reduceInto(ReduceKind kind, const Operand &dst, const Operand &src, ArrayRef<int64_t> dims,
                  ArrayRef<int64_t> map);
  void copyOver(npu::ReduceOp op, const Operand &out, Operand in);
  static Fn combinationOf(ReduceKind kind);
};

} // namespace tilewright::passes::legal
