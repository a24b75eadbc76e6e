// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/hivm/Indices.h"
#include "tilewright/to_hivm/ToHivm.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"

#include <map>

namespace tilewright::to_hivm {

/// What the functions of a launch have in common.
struct Frame {
  npu::LaunchOp launch;
  Options options;
  mlir::func::FuncOp aic, aiv; ///< of npu; null where there is none
  std::vector<Parameter> parameters;
  /// Parameter that is dimension `second` of launch operand `first`.
  std::map<std::pair<unsigned, int>, unsigned> sizes;
  int64_t workspaceBytes = 0;

  bool isMixed() const { return aic && aiv; }
  bool hasFlags() const { return options.form != Form::Plain; }
  bool isPlanned() const { return options.form == Form::Planned; }
};

/// Translates one device function into one of HIVM.
class Emitter {
public:
  Emitter(const Frame &frame, Core core, mlir::func::FuncOp source, mlir::func::FuncOp target);

  mlir::LogicalResult run();

private:
  using Value = mlir::Value;
  using Type = mlir::Type;
  using LogicalResult = mlir::LogicalResult;
  using Operation = mlir::Operation;
  using Sizes = llvm::SmallVector<mlir::OpFoldResult, 4>;

  const Frame &frame;
  Core core;
  mlir::func::FuncOp source, target;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::IRMapping mapping;              ///< scalars
  llvm::DenseMap<Value, Value> buffers; ///< npu buffer -> memref, slots in front
  llvm::DenseMap<Value, Value> state;   ///< slot of a rotating buffer, value of a variable
  Value workspace;                      ///< i8 memref, and byte offset of this core's part in it
  Value workspaceOffset;
  /// Plain: buffers that are declared in front of an operation within a loop.
  llvm::DenseMap<Operation *, llvm::SmallVector<npu::AllocOp>> sunk;
  /// Planned: UB bytes behind the plan, for temporaries of one operation at a time.
  int64_t scratchStart = 0, scratch = 0, scratchEnd = 0;

  // Control.cpp: regions, scalars, and what changes in place as values.
  LogicalResult block(mlir::Block &body);
  LogicalResult op(Operation *op);
  LogicalResult scalar(Operation *op);
  LogicalResult forLoop(mlir::scf::ForOp op);
  LogicalResult whileLoop(mlir::scf::WhileOp op);
  LogicalResult branches(Operation *op);
  llvm::SmallVector<Value> changedIn(Operation *op);
  llvm::SmallVector<Value> mapped(mlir::ValueRange values);
  llvm::SmallVector<Value> current(llvm::ArrayRef<Value> changed);
  void setCurrent(llvm::ArrayRef<Value> changed, mlir::ValueRange values);
  LogicalResult scalarAccess(Operation *op);
  void advance(npu::AdvanceOp op);

  // Views.cpp: boxes as memrefs.
  Value constant(int64_t value);
  Value asValue(mlir::OpFoldResult value) { return hivm::asValue(builder, loc, value); }
  Value asI64(Value index);
  mlir::OpFoldResult fold(Value value);
  Sizes fold(mlir::ValueRange values);
  mlir::OpFoldResult times(mlir::OpFoldResult a, mlir::OpFoldResult b) {
    return hivm::times(builder, loc, a, b);
  }
  mlir::OpFoldResult plus(mlir::OpFoldResult a, mlir::OpFoldResult b) {
    return hivm::plus(builder, loc, a, b);
  }
  Sizes extentsOf(Value buffer);
  void sinkBuffers();
  LogicalResult alloc(npu::AllocOp op);
  Value memory(mlir::MemRefType type, llvm::ArrayRef<int64_t> extents, int64_t slots,
               std::optional<int64_t> address);
  Value baseOf(Value buffer);
  Value slotDim(Value buffer);
  enum class Rows { Whole, Any, Exact };
  mlir::FailureOr<Value> fractals(Operation *op, const Box &box, Rows which = Rows::Whole);
  Value shifted(Value base, llvm::ArrayRef<mlir::OpFoldResult> offsets,
                llvm::ArrayRef<mlir::OpFoldResult> sizes, bool joins);
  /// The box as a memref with the box dimensions `keep`, in rising order; -1 is a dimension of
  /// size 1. Dimensions that are left out have size 1.
  Value view(const Box &box, llvm::ArrayRef<int> keep);
  Value globalView(const Box &box, llvm::ArrayRef<int> keep);
  Value expanded(Value narrow, llvm::ArrayRef<int> keep);
  void pair(const Box &a, const Box &b, llvm::SmallVectorImpl<int> &keepA,
            llvm::SmallVectorImpl<int> &keepB, unsigned least = 1);

  // Moves.cpp: data movers, the cube, flags.
  LogicalResult move(Operation *op);
  LogicalResult load(npu::LoadOp op);
  LogicalResult store(Operation *op, llvm::StringRef atomic);
  LogicalResult fillL1(npu::FillL1Op op);
  LogicalResult mmad(npu::MmadOp op);
  mlir::FailureOr<Box> inL1(npu::MmadOp product, const Box &box);
  LogicalResult fixpipe(npu::FixpipeOp op);
  LogicalResult sync(Operation *op);
  LogicalResult endBlock(Operation *op);
  LogicalResult meet(npu::CoreBarrierOp op);
  LogicalResult blockSync(Operation *op, npu::Pipe pipe, int64_t id, Value plus, bool isSet);
  LogicalResult print(npu::PrintOp op);

  // Vector.cpp: the vector unit. A Vec is a view whose dimensions are those of the domain.
  struct Vec {
    Value value; ///< a memref, or a scalar
    bool isUnsigned = false;
    Type element() const {
      auto memref = mlir::dyn_cast<mlir::MemRefType>(value.getType());
      return memref ? memref.getElementType() : value.getType();
    }
    bool isScalar() const { return !mlir::isa<mlir::MemRefType>(value.getType()); }
  };
  Sizes domain;                               ///< sizes of the op's domain
  llvm::SmallVector<int64_t, 4> domainBounds; ///< and what they are at most
  bool wroteVector = false;                   ///< within the op at hand
  bool tookScratch = false;                   ///< the op at hand has temporaries of ours
  bool isSettled = false;                     ///< behind a barrier of all pipes
  bool padsRows = false;                      ///< whose rows begin at 32-byte blocks
  bool usesScratch = true; ///< hidden temporaries may be in use: no barrier since
  LogicalResult vector(Operation *op);
  LogicalResult elementwise(npu::ElementwiseOp op);
  LogicalResult apply(Operation *op, Fn fn, Vec dst, llvm::ArrayRef<Vec> sources, Round round);
  LogicalResult unary(Operation *op, Fn fn, Vec dst, Vec src);
  LogicalResult binary(Operation *op, Fn fn, Vec dst, Vec a, Vec b);
  LogicalResult compare(Operation *op, Fn fn, Vec dst, Vec a, Vec b);
  LogicalResult select(Operation *op, Vec dst, Vec condition, Vec a, Vec b);
  LogicalResult cast(Operation *op, Vec dst, Vec src, llvm::StringRef round);
  LogicalResult copy(Operation *op, Vec dst, Vec src);
  Vec bits(Vec src, Type element);
  LogicalResult wrap(Operation *op, Vec dst, Vec src);
  LogicalResult quotient(Operation *op, Fn fn, Vec dst, Vec a, Vec b);
  LogicalResult reduce(npu::ReduceOp op);
  LogicalResult scan(npu::ScanOp op);
  LogicalResult iota(npu::IotaOp op);
  LogicalResult gather(npu::GatherOp op);
  void fill(Vec dst, Value value);
  Vec temporary(Type element);
  Vec temporary(Type element, llvm::ArrayRef<mlir::OpFoldResult> sizes,
                llvm::ArrayRef<int64_t> bounds);
  Vec full(Vec vec);
  mlir::FailureOr<Vec> as(Operation *op, Vec vec, Type element);
  Vec number(Type element, double value);
  llvm::SmallVector<int64_t> broadcastAxes(llvm::ArrayRef<Vec> sources);
  /// One vector instruction; a barrier first if it follows another of the same op.
  void emitVector(llvm::StringRef name, llvm::ArrayRef<Vec> sources, Vec dst,
                  llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
                  llvm::ArrayRef<int32_t> segments = {});

  // ToHivm.cpp
  Operation *emit(llvm::StringRef name, mlir::ValueRange operands,
                  llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
                  llvm::ArrayRef<int32_t> segments = {}, mlir::TypeRange results = {});
  mlir::NamedAttribute named(llvm::StringRef name, mlir::Attribute value);
  mlir::NamedAttribute word(llvm::StringRef name, llvm::StringRef mnemonic, llvm::StringRef body);
  mlir::NamedAttribute array(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  LogicalResult refuse(Operation *op, const llvm::Twine &what);
  void checkRows(mlir::ValueRange operands, bool isRowWise);
  bool isRefused = false;
  bool hasUnalignedRows = false; ///< planned text cannot be; diagnosed
};

/// Planned text, on functions: first and last byte of UB that nothing uses.
inline constexpr llvm::StringLiteral kFreeAttr = "tilewright.free_ub";

/// Bits of a block of UB, at which rows begin that are taken one by one.
inline constexpr int64_t kBlockBits = 256;

/// The type of a buffer with bytes for bools where HIVM cannot have bits.
mlir::MemRefType storedType(mlir::Value buffer);
/// A type as HIVM has it: integers without sign.
mlir::Type signless(mlir::Type type);
/// The memref with HIVM's name of its space, without layout.
mlir::MemRefType hivmType(mlir::MemRefType type, llvm::ArrayRef<int64_t> shape);
/// HIVM's name of a pipe: PIPE_MTE2.
std::string pipeName(npu::Pipe pipe);

} // namespace tilewright::to_hivm
