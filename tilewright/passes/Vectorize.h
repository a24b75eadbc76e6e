// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vectoriser of one tile.parallel, shared by the Vectorize*.cpp files.
//
// A value of the body is a vector of lanes. Nothing is emitted for it when its op is met: it stays
// a name, and a consumer (a store, a data mask, a scalar loop) asks for it. Loads stay views of
// their buffer as long as nobody overwrites it.
#pragma once

#include "tilewright/passes/PassDetails.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

#include <memory>
#include <optional>

namespace tilewright::passes::vectorize {

/// Whether numbers of the type have fewer bits than those of loop variables, so that what is made
/// of these may wrap around.
bool mayWrap(mlir::Type type);

/// Set of dimensions of the lane box, one bit each.
using Dims = unsigned;

/// start + sum of coefs[d] * iv[d], in index arithmetic.
struct Affine {
  mlir::Value start;
  llvm::SmallVector<int64_t, 4> coefs;

  /// The only dimension with a coefficient that is not 0, or -1.
  int onlyDim() const;
  Dims dims() const;
};

/// Lanes in a buffer: per dimension of the buffer the lane dimension that it follows (-1: none) and
/// an offset.
struct View {
  mlir::Value buffer;
  llvm::SmallVector<int64_t, 4> map;
  llvm::SmallVector<mlir::Value, 4> offsets;

  mlir::Type elementType() const;
  tile::Scope scope() const { return tile::scopeOf(buffer); }
  Dims dims() const;
};

/// The lanes in force: per dimension [lo, lo + size), below the constant `bound`.
struct Domain {
  llvm::SmallVector<mlir::Value, 4> lo, size;
  llvm::SmallVector<int64_t, 4> bound;
};

/// Where ops are emitted: lanes, lane mask (a value of the body, null: all), values that are in
/// memory already.
struct Context {
  Context *parent = nullptr;
  Domain domain;
  Dims active = 0;       ///< dimensions of the loops around
  bool narrowed = false; ///< inside a branch that some lanes, perhaps all, do not take
  mlir::Value mask;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, View>
      memo; ///< key: value, as unsigned integers?

  Context() = default;
  explicit Context(Context &outer)
      : parent(&outer), domain(outer.domain), active(outer.active), narrowed(outer.narrowed),
        mask(outer.mask) {}
};

/// The form of a load.
struct LoadInfo {
  enum Class { Tile, Global, Scalar } kind = Scalar;
  View view;            ///< Tile, Global
  std::string blocking; ///< Scalar: why
  bool masked = false;  ///< must not run in lanes outside the mask
};

/// Integers as seen by an op.
enum class Sign { Any, Signed, Unsigned };

/// The element-wise function of an op.
struct FnInfo {
  Fn fn;
  Sign operands = Sign::Any;
  Sign result = Sign::Any;
  Round round = Round::Rint;
};

/// The function that computes the (only) result of `op` from its operands in order; nothing if
/// there is none.
std::optional<FnInfo> functionOf(mlir::Operation *op);

/// Rewrites ops of the body that have no element-wise function into ones that have; forwards stores
/// to scalar variables.
void simplifyBody(tile::ParallelOp op);

/// Makes choices and comparisons of wide integers in 32 bits where that gives the same result.
void narrowIndices(tile::ParallelOp op);

/// Loops whose turns have nothing to do with each other become loops over lanes.
void parallelizeLoops(tile::ParallelOp op);

/// The same for loops of a launch that its author wrote element by element.
void parallelizeSerialLoops(mlir::func::FuncOp function);

/// True if what is written inside `region` is read by the same lane only, as far as the lanes along
/// `ivs` go.
bool isLaneLocal(mlir::Region &region, llvm::ArrayRef<mlir::Value> ivs);

/// Rewrites branches without effects into selects and boolean selects into logic.
void simplifyBranches(tile::ParallelOp op, llvm::function_ref<bool(mlir::Value)> varies);

/// A constant that `value` (an index) never exceeds.
std::optional<int64_t> upperBound(mlir::Value value);

/// Smallest constant bound of extent `dim` that follows from the tiles that it indexes.
std::optional<int64_t> boundByTiles(tile::ParallelOp op, unsigned dim);

/// Constants and index arithmetic, folded as they are made.
class IndexMath {
public:
  IndexMath(mlir::OpBuilder &builder, mlir::Block *top)
      : location(mlir::UnknownLoc::get(builder.getContext())), builder(builder), top(top) {}

  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t factor);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  /// An integer scalar as an index.
  mlir::Value toIndex(mlir::Value scalar);

  mlir::Location location;

private:
  mlir::OpBuilder &builder;
  mlir::Block *top;
  llvm::DenseMap<int64_t, mlir::Value> constants;
};

/// What is shared by all parallels of one launch.
struct LaunchState {
  mlir::Block *top;
  mlir::OpBuilder builder;
  IndexMath math;
  /// Tiles of sum(coefs * iv) made once at the top: (element type, shape and coefs) -> tile.
  std::vector<std::pair<std::pair<mlir::Type, llvm::SmallVector<int64_t, 8>>, mlir::Value>> iotas;

  /// Constants stand before this op, temporaries and iotas in order after it.
  mlir::Operation *lastOfPrologue;

  mlir::Value trueConstant();

  explicit LaunchState(mlir::Block *top)
      : top(top), builder(mlir::OpBuilder::atBlockBegin(top)), math(builder, top),
        lastOfPrologue(math.constant(0).getDefiningOp()) {}
  /// A temporary at the top of the launch.
  mlir::Value temporary(mlir::Location location, llvm::ArrayRef<int64_t> shape, mlir::Type element);
  /// A tile of sum(coefs[d] * index[d]), made once.
  mlir::Value iota(mlir::Location location, llvm::ArrayRef<int64_t> shape,
                   llvm::ArrayRef<int64_t> coefs, mlir::Type element);
};

class Vectorizer {
public:
  /// `plain`: lane by lane, whatever the form.
  Vectorizer(tile::ParallelOp root, LaunchState &launch, bool plain)
      : root(root), launch(launch), builder(launch.builder), math(launch.math), plain(plain) {}

  /// Emits the whole-tile form before `root`; the caller erases `root`.
  mlir::LogicalResult run();

private:
  //===-- What values are (VectorizeAnalysis.cpp) -----------------------------------------===//
  mlir::LogicalResult addDimensions(tile::ParallelOp op, Context &context);
  void enter(tile::ParallelOp op, Context &context);
  void computeDims();
  bool propagateDims(mlir::Block &block, Dims maskDims);
  bool addDims(mlir::Value value, Dims more);
  Dims dimsOf(mlir::Value value) const { return laneDims.lookup(value); }
  bool isUniform(mlir::Value value) const { return dimsOf(value) == 0; }
  mlir::Value scalarOf(mlir::Value uniform) { return scalars.lookupOrDefault(uniform); }
  void computeAffine(mlir::Operation *op);
  std::optional<Affine> affineOf(mlir::Value value);
  LoadInfo classify(mlir::Value buffer, mlir::ValueRange indices, bool isLoad);
  /// Smallest and largest value over all lanes of the root's box, if constants bound them; none
  /// where a narrow integer may wrap around.
  std::optional<std::pair<int64_t, int64_t>> rangeOf(mlir::Value value) const;
  std::optional<std::pair<int64_t, int64_t>> rangeBeforeWrap(mlir::Value value) const;
  bool staysInBounds(mlir::Value buffer, mlir::ValueRange indices) const;
  mlir::Value rootOf(mlir::Value buffer) const;
  std::string describeIndex(mlir::Value index);

  /// Narrows `context` by `condition`: bounds of single dimensions become a smaller box, the rest a
  /// mask.
  void restrict(Context &context, mlir::Value condition, bool negated, mlir::Operation *branch);
  bool restrictBox(Context &context, mlir::arith::CmpIOp condition, bool negated,
                   mlir::Operation *branch);
  bool prefersMask(mlir::Operation *branch);
  /// True if lanes outside the mask must not be evaluated: some load could fail there.
  bool dependsOnMask(mlir::Value value, Context &context) const;
  /// The opposite of `condition`; `afresh`: what it is computed from can still be read.
  mlir::Value negate(mlir::Value condition, mlir::Operation *before, bool afresh);
  mlir::Value conjunction(mlir::Value a, mlir::Value b, mlir::Operation *before);

  //===-- Statements (VectorizeStatements.cpp) --------------------------------------------===//
  mlir::LogicalResult processBlock(mlir::Block &block, Context &context);
  mlir::LogicalResult process(mlir::Operation *op, Context &context);
  void processLoad(tile::LoadOp op, Context &context);
  void processStore(tile::StoreOp op, Context &context);
  void processAtomic(tile::AtomicOp op, Context &context);
  void processFetch(tile::AtomicOp op, Context &context);
  void processOther(mlir::Operation *op, Context &context);
  void startVariables(Context &context);
  void finishVariables(Context &context);
  View newVariable(mlir::Value variable);
  llvm::SetVector<mlir::Value> outerVariables();
  View tileFor(mlir::Value value);

  /// Writes `value` to the lanes of `dst` under the context's mask.
  void storeLanes(mlir::Value value, const View &dst, Context &context);
  void storeGlobal(mlir::Value value, const View &dst, Context &context);
  void storeScalarLoop(tile::StoreOp op, Context &context, llvm::StringRef reason);
  void lastLane(Context &context, Dims dims, llvm::function_ref<void(Context &)> emit);
  /// Saves pending loads of `root` that ops after `at` still need.
  void saveLoads(mlir::Value root, mlir::Operation *at, Context &context, bool inclusive = false,
                 mlir::Value stored = nullptr);
  void saveLoadsWrittenIn(mlir::Operation *op, Context &context);
  bool isNeededAfter(mlir::Value value, mlir::Operation *at, Context &context, bool inclusive,
                     mlir::Value stored = nullptr);

  //===-- Branches and loops (VectorizeControl.cpp) ---------------------------------------===//
  mlir::LogicalResult processIf(mlir::scf::IfOp op, Context &context);
  mlir::LogicalResult processUniformIf(mlir::scf::IfOp op, Context &context);
  mlir::LogicalResult processFor(mlir::scf::ForOp op, Context &context);
  mlir::LogicalResult processNested(tile::ParallelOp op, Context &context);
  void takeMask(Context &inner, Context &outer);
  void mergeResult(mlir::Value value, const View &dst, Context &context, mlir::Value mask);

  //===-- Expressions (VectorizeExpressions.cpp) ------------------------------------------===//
  struct Operand {
    mlir::Value scalar;
    View view;
    bool owned = false; ///< a temporary that nobody else will read
  };
  void evaluate(mlir::Value value, const View &dst, Context &context);
  void evaluateOp(mlir::Operation *op, const View &dst, Context &context);
  void evaluateSelect(mlir::arith::SelectOp op, const View &dst, Context &context);
  bool evaluateAffineCompare(mlir::arith::CmpIOp op, const View &dst, Context &context);
  bool evaluateClipped(mlir::arith::SelectOp op, const View &dst, Context &context);
  Operand operand(mlir::Value value, Sign sign, Context &context, const View *scratch = nullptr);
  View materialize(mlir::Value value, Context &context, Sign sign = Sign::Any);
  View scratchOrTemporary(mlir::Value value, mlir::Type element, const View *scratch);
  const View *find(mlir::Value value, bool isUnsigned, Context &context) const;
  const View *findAny(mlir::Value value, Context &context) const;
  bool naturallyUnsigned(mlir::Value value, Context &context) const;
  /// True if evaluating `value` still reads `root`.
  bool readsRoot(mlir::Value value, mlir::Value root, Context &context) const;
  View newTemporary(llvm::ArrayRef<int64_t> dims, mlir::Type element, bool reusable = false);
  void release(const Operand &operand);
  mlir::Value elementScalar(mlir::Value scalar);
  bool sameOrder(const View &a, const View &b, const Context &context) const;

  void emitElementwise(Fn fn, const View &dst, llvm::ArrayRef<View> sources, mlir::Value scalar,
                       bool scalarFirst, Round round, Context &context);
  void emitCopy(const View &dst, const View &src, Context &context, mlir::FloatAttr pad = nullptr);
  void emitFill(const View &dst, mlir::Value scalar, Context &context);
  void boxOf(const View &view, const Context &context, llvm::SmallVectorImpl<mlir::Value> &buffers,
             llvm::SmallVectorImpl<mlir::Value> &offsets,
             llvm::SmallVectorImpl<mlir::Value> &sizes);
  bool mayOverlap(const View &a, const View &b, const Context &context) const;
  bool isSame(const View &a, const View &b) const;

  //===-- Lane by lane (VectorizeLanes.cpp) -----------------------------------------------===//
  struct Lane {
    llvm::SmallVector<mlir::Value, 4> ivs;
    llvm::DenseMap<mlir::Value, mlir::Value> values;
  };
  /// A nest of loops over `dims` of the context's box, lanes outside the mask left out.
  void forEachLane(Context &context, Dims dims, llvm::function_ref<void(Lane &)> emit);
  mlir::Value laneValue(mlir::Value value, Lane &lane, Context &context);
  llvm::SmallVector<mlir::Value> laneIndices(const View &view, const Lane &lane);
  mlir::Value loadLane(const View &view, mlir::Type type, const Lane &lane);
  void evaluateByLane(mlir::Operation *op, const View &dst, Context &context);
  bool loadThroughIndexTile(tile::LoadOp op, const View &dst, Context &context);
  struct Rows {
    Dims looped = 0, whole = 0;
    bool isMixed = false; ///< an index may have one value in several lanes
    llvm::SmallVector<int> follows;
    llvm::SmallVector<std::optional<Affine>> forms;
  };
  std::optional<Rows> rowsOf(mlir::ValueRange indices);
  bool isInjective(const Affine &form) const;
  View rowView(mlir::Value buffer, mlir::ValueRange indices, const Rows &rows, Lane &lane,
               Context &context);
  void fixLane(Context &context, Dims looped, const Lane &lane);
  bool loadByRows(tile::LoadOp op, const View &dst, Context &context);
  bool storeByRows(tile::StoreOp op, Context &context);
  bool loadByBlocks(tile::LoadOp op, const View &dst, Context &context);
  void fallback(mlir::Operation *op, const llvm::Twine &reason);

  unsigned numDims() const { return bounds.size(); }

  tile::ParallelOp root;
  LaunchState &launch;
  mlir::OpBuilder &builder;
  IndexMath &math;

  bool plain;

  llvm::SmallVector<int64_t, 4> bounds; ///< constants above the extents, nested dimensions last
  llvm::DenseMap<mlir::Value, unsigned> ivDims;
  llvm::DenseMap<mlir::Value, Dims> laneDims;
  llvm::DenseMap<mlir::Value, Dims> variableDims; ///< scalar variables with a value per lane
  llvm::DenseMap<mlir::Value, View> variables;
  mlir::IRMapping scalars; ///< uniform values of the body -> emitted scalars
  llvm::DenseMap<mlir::Value, Affine> affine;
  llvm::DenseMap<mlir::Value, LoadInfo> loads;
  llvm::SmallVector<mlir::Value> pending; ///< loads that are still views
  llvm::SmallVector<mlir::Value>
      kept; ///< computed values that later ops read from the tile they were stored to
  llvm::DenseMap<mlir::Value, mlir::Value>
      negations; ///< condition -> its opposite, computed from the condition
  llvm::DenseMap<mlir::Value, mlir::Value> negated; ///< the other way round
  llvm::SmallVector<mlir::Value> freeTemporaries;
  llvm::DenseSet<mlir::Value> reusableTemporaries;
};

} // namespace tilewright::passes::vectorize
