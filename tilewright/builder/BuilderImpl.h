// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/builder/KernelBuilder.h"
#include "tilewright/builder/ModuleHandle.h"
#include "tilewright/tile/TileOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <map>

/// The MLIR side of KernelBuilder, shared by its .cpp files.
namespace tilewright::builder {

[[noreturn]] void fail(const llvm::Twine &message);

/// Gives fragments the extents that loops over them have.
void growFragments(mlir::func::FuncOp function);

inline constexpr int64_t kLow = std::numeric_limits<int64_t>::min(),
                         kHigh = std::numeric_limits<int64_t>::max();

/// An integer as a sum of products: constant + sum of factor * atom.
struct LinearForm {
  int64_t constant = 0;
  llvm::SmallVector<std::pair<void *, int64_t>, 4> terms; ///< sorted by atom, no zero factors
};

/// A box with all offsets and sizes known as values.
struct ResolvedBox {
  Buffer buffer;
  std::vector<Value> offsets, sizes;
};

struct KernelBuilder::Impl {
  enum class FrameKind { Launch, For, Parallel, SerialParallel, If, Else, While, WhileBody };
  struct Frame {
    FrameKind kind;
    mlir::Operation *op;
    bool isThreads = false;            ///< parallel: the author's threads, without tile operations
    bool hasBoxOps = false;            ///< parallel: holds a tile operation, so it becomes a loop
    std::vector<Value> lanes, extents; ///< parallel: loop variables and their number of values
  };

  /// Notes the kind of core that T.Scope names on the ops inside.
  struct PlacingListener : mlir::OpBuilder::Listener {
    std::vector<Core> scopes; ///< those open, outermost first
    void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint) override;
  };

  const uint64_t id; ///< told apart from other builders
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OpBuilder builder;
  mlir::func::FuncOp function;
  mlir::Location location;
  mlir::Operation *lastPrologue = nullptr; ///< constants and symbols stand first in the function
  mlir::Operation *lastAlloc = nullptr;    ///< allocs stand first in the launch
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
  llvm::DenseMap<mlir::Value, std::pair<int64_t, int64_t>> ranges;
  std::vector<std::string> symbols;
  std::map<std::string, Value> symbolValues;
  std::map<void *, std::vector<SizeTokens>> tensorShapes;
  llvm::DenseMap<mlir::Value, double> pads;
  std::vector<Frame> frames;
  PlacingListener placing;
  llvm::DenseSet<mlir::Operation *>
      faulting; ///< reads and divisions that must not run when not wanted
  bool finished = false;

  explicit Impl(const std::string &name);

  // Types.
  mlir::Type scalarType(DType type);
  mlir::Type elementType(DType type);

  // Values.
  /// The MLIR value behind a run-time value or buffer; refuses those of other kernels.
  mlir::Value raw(const Value &value) const;
  mlir::Value raw(const Buffer &buffer) const;
  mlir::Value constant(mlir::TypedAttr attribute);
  mlir::Value constantIndex(int64_t value);
  /// Refuses values of a branch or loop that has ended.
  mlir::Value use(mlir::Value value);
  /// `value` as the MLIR type of `to`; index-typed when `asIndex`.
  mlir::Value convert(const Value &value, DType to, bool asIndex = false,
                      llvm::StringRef rounding = "");
  mlir::Value toIndex(const Value &value, const llvm::Twine &what);
  mlir::Value toCondition(const Value &value);
  /// The type in which floats of this type are computed: bf16 in f32.
  mlir::Type computeType(DType type);
  mlir::Value toCompute(const Value &value, DType type);
  /// A value of the builder; constants are recognised.
  Value wrap(mlir::Value value, DType type, int64_t low = kLow, int64_t high = kHigh);
  Value known(void *atom);
  DType commonType(const Value &left, const Value &right);
  bool isIndex(const Value &value) const;
  Value integerBinary(llvm::StringRef function, const Value &left, const Value &right, DType type);
  Value floatBinary(llvm::StringRef function, const Value &left, const Value &right, DType type);
  Value binary(llvm::StringRef function, const Value &left, const Value &right);
  Value compare(llvm::StringRef function, const Value &left, const Value &right);
  Value unary(llvm::StringRef function, const Value &operand);
  Value cast(const Value &value, DType type, llvm::StringRef rounding = "");
  Value select(const Value &condition, const Value &then, const Value &otherwise);
  LinearForm linear(const Value &value);
  /// stop - start, simplified.
  Value difference(const Value &stop, const Value &start);
  Value size(const SizeTokens &tokens);

  // Buffers.
  std::string nameOf(const Buffer &buffer) const;
  std::string describe(const Buffer &buffer) const; ///< "A_shared (128, 32) float16"
  tile::Scope scopeOf(const Buffer &buffer) const;
  Value extent(const Buffer &buffer, size_t dim);
  Buffer alloc(llvm::StringRef name, DType type, llvm::ArrayRef<int64_t> shape, tile::Scope scope,
               bool user, bool perLane = false);
  Value load(const Buffer &buffer, const std::vector<Value> &indices);
  void store(const Value &value, const Buffer &buffer, const std::vector<Value> &indices);

  // Structure.
  void requireLaunch(const llvm::Twine &what) const;
  void pushFrame(FrameKind kind, mlir::Operation *op, mlir::Block *body);
  Frame popFrame(FrameKind kind, llvm::StringRef what);
  bool insideParallel() const;
  bool isByCore() const; ///< inside a launch that is the program of a core
  void refuseInThreads(llvm::StringRef what) const;
  void noteBoxOp(); ///< a tile operation inside T.Parallel turns it into a loop

  // The author's own order.
  std::optional<Core> coreOfSync(llvm::ArrayRef<Pipe> pipes, const llvm::Twine &what);
  mlir::Operation *place(mlir::Operation *op, Core core);
  mlir::Value eventId(const Value &id, const llvm::Twine &what);

  // Boxes.
  ResolvedBox whole(const Buffer &buffer);
  ResolvedBox resolve(const Operand &operand, const llvm::Twine &what);
  ResolvedBox fit(const Operand &operand, llvm::ArrayRef<Value> sizes, const llvm::Twine &what,
                  bool shrink = true);
  std::pair<ResolvedBox, ResolvedBox> match(const Operand &src, const Operand &dst,
                                            llvm::ArrayRef<Value> size, llvm::StringRef what);
  ResolvedBox sized(const Operand &operand, llvm::ArrayRef<Value> size, llvm::StringRef what);
  void checkInside(const ResolvedBox &box, llvm::StringRef what);
  /// Operands of a box op: buffers, offsets, sizes.
  struct BoxOperands {
    llvm::SmallVector<mlir::Value> buffers, offsets, sizes;
  };
  BoxOperands operands(llvm::ArrayRef<ResolvedBox> boxes);
  /// Runs the op's own verifier now, so that the error has the author's line.
  void verify(mlir::Operation *op);
  /// A tile that holds `box` converted to `type`.
  ResolvedBox converted(const ResolvedBox &box, DType type);
  void fillInPieces(KernelBuilder &self, ResolvedBox box, const Value &value);
  void emitUnary(Fn fn, const ResolvedBox &dst, const ResolvedBox &src);
  ResolvedBox bitsOfBox(const ResolvedBox &box, DType type);
  void invertBits(const ResolvedBox &src, const ResolvedBox &dst);
  void emitElementwise(Fn fn, llvm::ArrayRef<ResolvedBox> boxes, const std::optional<Value> &scalar,
                       bool scalarFirst, Round round,
                       llvm::ArrayRef<llvm::SmallVector<int64_t>> maps, DType scalarType);
};

/// Refuses a rounding that conversions to a type do not have.
void checkRounding(DType to, llvm::StringRef rounding);
std::string text(const Value &value);
std::string text(llvm::ArrayRef<Value> sizes);
std::optional<int64_t> constantInteger(const Value &value);

} // namespace tilewright::builder
