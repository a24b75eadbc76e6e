// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// The only way Python makes IR. Types, promotion, shapes and extents are checked here, statement
/// by statement, so that an error can be raised while the author's line is known. No MLIR in this
/// header.
namespace tilewright::builder {

struct ModuleHandle; ///< context and module, see builder/ModuleHandle.h

/// The IR of a module, as text.
std::string textOf(const ModuleHandle &handle);

/// A mistake in the author's kernel: what was found, what is allowed, what to do.
class BuildError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Element types in order of promotion within their kind.
enum class DType : uint8_t {
  Bool,
  Int8,
  Int16,
  Int32,
  Int64,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Float8E4M3FN,
  Float8E5M2,
  Float16,
  BFloat16,
  Float32,
  Float64
};

std::string_view nameOf(DType type);
DType parseDType(std::string_view name); ///< throws BuildError for an unknown name
bool isFloat(DType type);
bool isUnsigned(DType type);
bool isStorage(DType type); ///< a float that is computed in f32: bf16 and the 8-bit floats
int bitsOf(DType type);

/// The type in which two operands meet: float beats int, wider beats narrower, bf16 with f16 gives
/// f32.
DType promote(DType left, DType right);

/// A scalar: a run-time value, or a constant that is made where it is used. `low` and `high` bound
/// integers.
struct Value {
  void *handle = nullptr; ///< run-time values; null for constants
  uint64_t owner = 0;     ///< the builder that made a run-time value
  DType dtype = DType::Int32;
  bool weak = false; ///< a Python number, which adopts the other operand's type
  int64_t integer = 0;
  double real = 0;
  int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();

  bool isConstant() const { return !handle; }

  /// Python numbers.
  static Value number(bool value);
  static Value number(int64_t value);
  static Value number(double value);
  /// A typed constant; the number must already be representable.
  static Value typed(double value, DType type);
  static Value typed(int64_t value, DType type);
};

/// A tensor parameter, a tile, or (rank 0) a scalar variable.
struct Buffer {
  void *handle = nullptr;
  uint64_t owner = 0; ///< the builder that made it
  DType dtype = DType::Float32;
  std::vector<int64_t> shape; ///< -1 where a dimension is known only at the call
};

/// A buffer, corner or region handed to a tile operation.
struct Operand {
  enum class Kind { Whole, Corner, Region };
  Buffer buffer;
  Kind kind = Kind::Whole;
  std::vector<Value> starts;
  std::vector<Value> sizes;  ///< regions: one per dimension
  std::vector<bool> scalars; ///< regions: dimensions given by a single index
  /// Regions with new dimensions of size 1, as in A[:, None]: the position of each dimension of the
  /// buffer among all of them, -1 for a single index. Empty without any.
  std::vector<int64_t> positions;
};

/// A source of an element-wise operation.
struct Source {
  std::optional<Operand> box;
  Value scalar;
};

/// A size in postfix form: numbers, symbol names and + - * // % min max ceildiv.
using SizeTokens = std::vector<std::string>;

/// Builds one host function with its launches. Every method throws BuildError; after an error the
/// builder is useless.
class KernelBuilder {
public:
  explicit KernelBuilder(const std::string &name);
  ~KernelBuilder();

  /// Place of what is built next.
  void setLocation(const std::string &file, int line, int column);

  // Parameters. All tensors are row-major. `element` is the author's type where memory holds
  // something else: elements of four bits are pairs in bytes.
  Buffer addTensor(const std::string &name, DType type, const std::vector<SizeTokens> &shape,
                   bool output, const std::string &element = "");
  /// Another shape or element type of a tensor's memory. Within one launch only one of the two may
  /// be used where either is written.
  Buffer addAlias(const std::string &name, DType type, const std::vector<SizeTokens> &shape,
                  const Buffer &tensor);
  Value addScalar(const std::string &name, DType type);
  Value size(const SizeTokens &tokens);

  // Structure. begin and end pair up.
  /// A launch whose body is the program of a core.
  void beginCores();
  std::vector<Value> beginLaunch(const std::vector<Value> &grid);
  void endLaunch();
  Value beginFor(const Value &start, const Value &stop, const Value &step, int64_t stages);
  void endFor();
  std::vector<Value> beginParallel(const std::vector<Value> &extents);
  void endParallel();
  /// Threads of a block as its author counts them: T.Parallel over code for one of them.
  std::vector<Value> beginThreads(const std::vector<Value> &extents);
  void beginIf(const Value &condition);
  void beginElse();
  void endIf();
  void beginWhile();
  void whileCondition(const Value &condition);
  void endWhile();

  // Scalars. Functions are named as in `#tile.fn`, with floordiv, floormod, truncdiv, truncmod,
  // ceildiv beside.
  Value binary(const std::string &function, const Value &left, const Value &right);
  Value unary(const std::string &function, const Value &operand);
  Value cast(const Value &value, DType type, const std::string &rounding);
  Value bitcast(const Value &value, DType type);
  Value fma(const Value &a, const Value &b, const Value &c);
  /// Both sides are computed.
  Value select(const Value &condition, const Value &then, const Value &otherwise);
  /// What could fault in a side that is not taken is not executed.
  Value ifThenElse(const Value &condition, const Value &then, const Value &otherwise);

  // Buffers and elements.
  /// `slots` copies that take turns, the first at byte `address` of its memory (-1: anywhere).
  Buffer alloc(const std::string &name, DType type, const std::vector<int64_t> &shape,
               const std::string &scope, int64_t slots = 1, int64_t address = -1);
  /// Goes on to the next slot of a tile.
  void nextSlot(const Buffer &tile);
  /// The memory of a tile as elements of another type.
  Buffer viewTile(const Buffer &tile, DType type, const std::vector<int64_t> &shape);
  /// Loop variables and extents of the T.Parallel around this place; empty outside.
  std::pair<std::vector<Value>, std::vector<int64_t>> parallelLanes();
  /// A scalar variable, or with extents one for each lane.
  Buffer allocLanes(const std::string &name, DType type, const std::vector<int64_t> &extents);
  void rename(const Buffer &buffer, const std::string &name);
  std::string nameOf(const Buffer &buffer) const;
  /// Checks an index list against the rank; negative constants count from the end.
  std::vector<Value> elementIndices(const Buffer &buffer, const std::vector<Value> &indices);
  Value load(const Buffer &buffer, const std::vector<Value> &indices);
  void store(const Value &value, const Buffer &buffer, const std::vector<Value> &indices);
  Operand region(const Buffer &buffer, const std::vector<Value> &starts,
                 const std::vector<std::optional<Value>> &stops, const std::vector<bool> &scalars);
  /// Value of out-of-bounds reads of a tensor.
  void setPad(const Buffer &buffer, const Value &value);

  // Boxes. `size` is the list of sizes of the Ascend dialect, empty when not given.
  void copy(const Operand &src, const Operand &dst, const std::vector<Value> &size,
            bool relu = false, std::optional<double> scale = std::nullopt);
  /// The way out of T.alloc_L0C in the accumulator's own order: column j of 16 elements (32 of one
  /// byte, 8 with `split`) goes to [j, :, :] of a tensor of rank 3.
  void storeFractals(const Operand &src, const Operand &dst, const std::vector<Value> &size,
                     bool relu, std::optional<double> scale, bool split);
  void fill(const Operand &dst, const Value &value);
  void gemm(const Operand &a, const Operand &b, const Operand &c, bool transposeA, bool transposeB,
            const std::optional<Value> &init, const std::vector<Value> &size);
  void reduce(const std::string &kind, const Operand &src, const Operand &dst,
              std::vector<int64_t> dims, const std::vector<Value> &size, bool accumulate);
  void scan(const std::string &kind, const Operand &src, const Operand &dst, int64_t dim,
            bool reverse);
  void elementwise(const std::string &function, const std::vector<Source> &sources,
                   const Operand &dst, const std::vector<Value> &size, const std::string &rounding);
  /// A new tile that holds the bits of a box as elements of another type of the same width.
  Buffer bitcastTile(const Operand &src, DType type);
  /// A tile of the patches of an image (N, H, W, C). `window`: kernel, stride, dilation, padding.
  void im2col(const Buffer &image, const Buffer &tile, const Value &rowStep,
              const Value &columnStep, const std::vector<int64_t> &window);
  void iota(const Operand &dst, const Value &start, const std::vector<Value> &steps);
  void gather(const Operand &src, const Operand &dst, const Operand &indices);
  void transpose(const Operand &src, const Operand &dst, const std::vector<int64_t> &permutation);
  void reshape(const Operand &src, const Operand &dst);
  void concat(const std::vector<Operand> &sources, const Operand &dst, int64_t dim);
  void flip(const Operand &src, const Operand &dst, int64_t axis);
  void atomicBox(const std::string &kind, const Operand &dst, const Operand &src,
                 const std::vector<Value> &size);
  void atomicScalar(const std::string &kind, const Operand &dst, const Value &value,
                    const std::vector<Value> &size);
  /// Combines a value into one element; what was there before.
  Value atomicFetch(const std::string &kind, const Operand &dst, const Value &value);
  /// Whether any ("or") or all ("and") elements differ from 0.
  Value quantifier(const std::string &kind, const Operand &src);

  // What an Expert author decides. `beginScope` takes "Cube" or "Vector", pipes are "PIPE_V" and
  // the like.
  void beginScope(const std::string &name);
  void endScope();
  Value subCoreId();
  /// Sets event `id` from pipe `source` to pipe `target`, or waits for it.
  /// With `rotate` the event is `id` plus the current slot of that tile.
  void setFlag(const std::string &source, const std::string &target, const Value &id, bool isWait,
               const std::optional<Buffer> &rotate = std::nullopt);
  // In a launch by cores: this core's number, the number of cores, and the start of a block.
  Value coreId();
  Value coreCount();
  void beginBlock(const Value &id);
  void barrier(const std::string &pipe);
  /// Counts semaphore `id` of the other kind of core up, or waits for the own one.
  void blockSync(const std::string &pipe, const Value &id, bool isWait);
  /// The vector cores of a block, or the cores of one kind of all blocks, wait for each other.
  void coreBarrier(const std::string &pipe, const Value &id, bool allBlocks);

  /// The statements of an operator that is a file of IR (`text`, named `file` in errors).
  void inlineTemplate(const std::string &text, const std::string &file,
                      const std::vector<Operand> &operands);

  // Debugging.
  void breakpoint();
  void printMessage(const std::string &message);
  void printBox(const Operand &box, const std::string &message);
  void printScalar(const Value &value, const std::string &message);
  void assertOp(const Value &condition, const std::string &message);

  /// Verifies the function and gives its module; the builder is used up.
  std::unique_ptr<ModuleHandle> finish();

  struct Impl; ///< the MLIR side, see BuilderImpl.h

private:
  std::unique_ptr<Impl> impl;
};

} // namespace tilewright::builder
