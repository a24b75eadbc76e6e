// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/from_hivm/FromHivm.h"
#include "tilewright/hivm/Indices.h"
#include "tilewright/npu/NpuOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <optional>
#include <set>

namespace tilewright::from_hivm {

/// Translates a parsed module, see FromHivm.h.
mlir::OwningOpRef<mlir::ModuleOp> readModule(mlir::ModuleOp module, const machine::Machine &chip);

/// What an argument of a device function is.
enum class Role { Parameter, FlagBase, Lock, Workspace, Grid };

/// Translates one device function of HIVM into one of npu.
class Reader {
public:
  Reader(mlir::func::FuncOp source, mlir::func::FuncOp target, llvm::ArrayRef<Role> roles,
         const machine::Machine &chip)
      : source(source), target(target), roles(roles), chip(chip), builder(source.getContext()),
        loc(source.getLoc()) {}

  mlir::LogicalResult run();

  /// Bytes of global scratch of each core group; 0 without.
  int64_t workspaceBytes = 0;

private:
  using Value = mlir::Value;
  using Type = mlir::Type;
  using Operation = mlir::Operation;
  using LogicalResult = mlir::LogicalResult;
  using Sizes = llvm::SmallVector<mlir::OpFoldResult, 4>;

  /// Memory that views look at: an argument, or an alloc at a place; in another element type it is
  /// another alloc at the same place.
  struct Memory {
    npu::Space space = npu::Space::GM;
    Value argument;                       ///< GM
    std::optional<int64_t> address;       ///< on chip; none: the whole memory
    llvm::SmallVector<int64_t> shape;     ///< of the alloc
    std::map<const void *, Value> allocs; ///< by element type
    std::string name;
  };
  /// A memref of HIVM. Offsets and strides are in elements; in L1 and L0C, where the last four
  /// dimensions are columns and rows of fractals, `box` has an offset for each dimension of the
  /// memory and `extents` what the view covers of it.
  struct View {
    unsigned memory = 0;
    Type element;
    mlir::OpFoldResult base, offset; ///< of the pointer, and of the view from there
    Sizes sizes, strides;
    bool isFractal = false, isReshaped = false; ///< fractals under another shape: as a whole only
    Sizes box, extents;
    mlir::OpFoldResult row; ///< of fractals: where the view begins within them; null at their start
  };
  /// An operand of npu: a buffer with the offsets and sizes of a box of it.
  struct Operand {
    Value buffer;
    Sizes offsets, sizes;
  };

  mlir::func::FuncOp source, target;
  llvm::ArrayRef<Role> roles;
  const machine::Machine &chip;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::IRMapping mapping; ///< scalars
  llvm::DenseMap<Value, View> views;
  std::vector<Memory> memories;
  Value workspace; ///< argument of the text
  /// Bytes of UB that a tile of bools takes and where it lies, by its pointer_cast.
  llvm::DenseMap<Operation *, std::pair<llvm::SmallVector<int64_t>, int64_t>> bools;

  // Reader.cpp: regions and scalars.
  LogicalResult block(mlir::Block &body);
  LogicalResult op(Operation *op);
  LogicalResult regions(Operation *op);
  LogicalResult hivmOp(Operation *op, llvm::StringRef name);
  LogicalResult position(Operation *op, Value index);

  // Views.cpp
  Value constant(int64_t value);
  Value asValue(mlir::OpFoldResult value) { return hivm::asValue(builder, loc, value); }
  mlir::OpFoldResult times(mlir::OpFoldResult a, mlir::OpFoldResult b) {
    return hivm::times(builder, loc, a, b);
  }
  mlir::OpFoldResult plus(mlir::OpFoldResult a, mlir::OpFoldResult b) {
    return hivm::plus(builder, loc, a, b);
  }
  mlir::OpFoldResult divided(mlir::OpFoldResult value, int64_t by, unsigned depth = 0);
  Sizes mapped(llvm::ArrayRef<mlir::OpFoldResult> values);
  LogicalResult placeBools();
  mlir::FailureOr<bool> memrefOp(Operation *op);
  LogicalResult pointerCast(Operation *op);
  LogicalResult bitcast(Operation *op);
  LogicalResult select(mlir::arith::SelectOp op);
  LogicalResult byteView(mlir::memref::ViewOp op);
  LogicalResult subview(mlir::memref::SubViewOp op);
  LogicalResult fractalRows(mlir::memref::ReinterpretCastOp op);
  bool spread(mlir::OpFoldResult at, int64_t factor, llvm::ArrayRef<int64_t> distances,
              Sizes &place, unsigned depth = 0);
  LogicalResult scalarAccess(Operation *op);
  mlir::FailureOr<const View *> viewOf(Operation *op, Value memref);
  Value buffer(const View &view, Type element);
  /// The view as a box; `element` where signs differ from the text's.
  Operand operand(const View &view, Type element = {});
  Operand fractals(const View &view, mlir::OpFoldResult rows, mlir::OpFoldResult columns);

  // Moves.cpp
  LogicalResult load(Operation *op, Value src, Value dst);
  LogicalResult store(Operation *op, Value src, Value dst, llvm::StringRef atomic);
  LogicalResult mmad(Operation *op, mlir::ValueRange operands, bool transposeA, bool transposeB,
                     mlir::ValueRange sync);
  LogicalResult fixpipe(Operation *op, Value src, Value dst, bool relu);
  LogicalResult fillL1(Operation *op, Value value, Value dst);
  LogicalResult flag(Operation *op, bool isSet);
  LogicalResult blockFlag(Operation *op, bool isSet);
  void emitFlag(bool isSet, npu::Pipe from, npu::Pipe to, int64_t id, Value plus);
  /// Operands as npu operations take them: buffers, then all offsets, then all sizes.
  struct Boxes {
    llvm::SmallVector<Value> buffers, offsets, sizes;
  };
  Boxes boxesOf(llvm::ArrayRef<Operand> operands);
  mlir::UnitAttr unitIf(bool holds) { return holds ? builder.getUnitAttr() : mlir::UnitAttr(); }

  // Vector.cpp
  /// dst = fn(sources) over the sizes of `dst`; a source that is one element along a dimension
  /// repeats it. One source may be a scalar. `turns`: the last two dimensions change places.
  LogicalResult elementwise(Operation *op, Fn fn, Value dst, mlir::ValueRange sources,
                            Round round = Round::Rint, bool isUnsigned = false, bool turns = false);
  LogicalResult reduce(Operation *op, ReduceKind kind, Value dst, Value src,
                       llvm::ArrayRef<int64_t> dims);
  LogicalResult scan(Operation *op, ReduceKind kind, Value dst, Value src, int64_t dim,
                     bool isReverse);
  LogicalResult iota(Operation *op, Value dst, mlir::ValueRange startAndSteps);
  LogicalResult gather(Operation *op, Value table, Value index, Value dst);

  // Messages.cpp
  std::set<int64_t> meetings; ///< of cores of one kind, by flag, whose wait is to come
  llvm::DenseMap<Value, mlir::StringAttr> messages; ///< by the pointer to their text
  LogicalResult llvmOp(Operation *op, llvm::StringRef name);
  LogicalResult debug(Operation *op);
  LogicalResult messageCall(mlir::func::CallOp op, bool isAssert);
  LogicalResult print(Operation *op, mlir::StringAttr text, Value value);
  LogicalResult assertion(Operation *op, mlir::StringAttr text, Value value);

  // Operations.cpp: HIVM's operations on memrefs. Calls.cpp: calls of its library.
  LogicalResult vectorOp(Operation *op, llvm::StringRef name, bool &isKnown);
  LogicalResult call(mlir::func::CallOp op);
  LogicalResult vectorCall(Operation *op, llvm::StringRef name, mlir::ValueRange operands,
                           bool &isKnown);
  LogicalResult refuse(Operation *op, const llvm::Twine &what);
  Value scalar(Value value);
  bool isRefused = false;
};

/// An attribute of an operation of HIVM, whether it stands among its properties or behind.
mlir::Attribute attributeOf(mlir::Operation *op, llvm::StringRef name);
/// The body of an attribute like `#hivm.pipe<PIPE_V>`; empty if it is none.
llvm::StringRef wordOf(mlir::Operation *op, llvm::StringRef name);
/// Operands of segment `which` of an operation whose operands come in such.
mlir::ValueRange segmentOf(mlir::Operation *op, unsigned which);
/// The function that a name of HIVM stands for: "vadd", "vcmp" with a mode is apart.
std::optional<Fn> functionOf(llvm::StringRef name);
std::optional<Fn> comparisonOf(llvm::StringRef mode);
std::optional<ReduceKind> reductionOf(llvm::StringRef name);
std::optional<Round> roundOf(int64_t number);
std::optional<npu::Pipe> pipeOf(llvm::StringRef word);

} // namespace tilewright::from_hivm
