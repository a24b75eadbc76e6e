// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/interp/Elements.h"
#include "tilewright/interp/Interpreter.h"
#include "tilewright/tile/TileOps.h"

#include "llvm/ADT/SmallVector.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

/// The running interpreter: values, buffers, lanes. What an op does stands in its handler; a
/// function is turned into nodes that name their handler once (Plan.h), and a node's values live in
/// numbered slots.
namespace tilewright::interp {

class Machine;
struct Node;
struct FunctionPlan;

/// The lanes of a running tile.parallel, one per point of its box, in row-major order.
struct LaneGroup {
  int64_t count = 0;
  int64_t active = 0;         ///< number of set entries of `mask`
  std::vector<uint8_t> mask;  ///< 1: the lane takes part in what runs now
  LaneGroup *outer = nullptr; ///< of the tile.parallel around this one
  std::vector<uint32_t> outerLane;

  void setMask(std::vector<uint8_t> newMask);
  int64_t lastActive() const;
};

struct FreeDeleter {
  void operator()(void *memory) const { std::free(memory); }
};

/// Memory of a tensor, a tile or a scalar variable, row-major.
struct Buffer {
  Kind kind = Kind::F32;
  tile::Scope scope = tile::Scope::Global;
  llvm::SmallVector<int64_t, 4> shape, strides;
  int64_t count = 1; ///< elements
  char *data = nullptr;
  std::unique_ptr<char, FreeDeleter> storage; ///< empty for arguments
  int64_t capacity = 0;
  /// In a launch by cores: copies that take turns, and the one that `data` is.
  int64_t slots = 1, current = 0;
  char *base = nullptr; ///< of slot 0
  llvm::StringRef name;
  /// Of a channel: what has been acquired and not yet released, oldest first.
  std::deque<std::vector<char>> versions;
  /// Set for a scalar variable inside tile.parallel: each lane has its own, at data[lane].
  LaneGroup *lanes = nullptr;

  /// Outside a global tensor reads are 0 and writes are dropped; elsewhere they are errors.
  bool isGuarded() const { return scope == tile::Scope::Global; }
  /// Gives the buffer a shape; false if it is too large.
  bool setShape(llvm::ArrayRef<int64_t> newShape);
  /// Gives it zeroed memory of its own for `copies` times its elements; false if there is none.
  bool allocate(int64_t copies = 1);
  /// Makes `memory` that many slots; the last is the current one, so that the next is 0.
  void rotate(char *memory, int64_t count);
  void advance();
};

/// The value of an SSA value: one scalar, or (inside tile.parallel) one per lane.
struct Slot {
  Scalar uniform{};
  bool varying = false;
  std::vector<Scalar> lanes;

  Scalar at(int64_t lane) const { return varying ? lanes[lane] : uniform; }
  void set(Scalar scalar) {
    uniform = scalar;
    varying = false;
  }
  void setInteger(int64_t integer) {
    uniform.integer = integer;
    varying = false;
  }
  std::vector<Scalar> &makeVarying(int64_t count) {
    varying = true;
    lanes.resize(count);
    return lanes;
  }
};

/// A region: its arguments, its ops, and the slots that its terminator hands on.
struct Body {
  llvm::SmallVector<uint32_t, 2> arguments;
  std::vector<Node> nodes;
  llvm::SmallVector<uint32_t, 2> yields;
};

using Handler = void (*)(Machine &, const Node &);

/// One op, decoded.
struct Node {
  Handler run = nullptr;
  mlir::Operation *op = nullptr;
  llvm::SmallVector<uint32_t, 4> operands, results;
  std::vector<Body> bodies;
  Kind kind = Kind::I64;        ///< of the first result, else of the first operand
  Kind operandKind = Kind::I64; ///< of the first operand
  int64_t number = 0;           ///< a predicate or another enumerator
  Scalar constant{};
  /// tile.parallel: values from outside that the body uses, and scalar variables among them.
  llvm::SmallVector<uint32_t, 4> captured, variables;
  uint32_t firstSlot = 0, endSlot = 0; ///< slots defined inside the regions
  const FunctionPlan *callee = nullptr;
  Core core = Core::Both; ///< in a launch divided by hand: who runs it
};

struct FunctionPlan {
  mlir::Operation *op = nullptr;
  Body body;
  uint32_t numSlots = 0;
};

/// The values of one activation of a function. Each alloc reuses the memory of its last execution.
struct Frame {
  std::vector<Slot> slots;
  std::vector<std::unique_ptr<Buffer>> buffers; ///< by slot of the result
};

class Programs;
class Shadow;

class Machine {
public:
  Machine(const std::map<std::string, int64_t> &symbols, const Options &options,
          mlir::Location location);

  /// A machine for the program of one core, which shares outcome and step limit with its parent.
  Machine(const Machine &parent, Core core, int64_t subCore);

  /// Runs the nodes of a region; false once something failed.
  bool run(const Body &body);

  /// Stops the run with an error at the op of `node`.
  void fail(const Node &node, const llvm::Twine &message);
  bool failed() const { return !outcome.ok; }
  /// Lets the author look at what is there; ends the run if he wants that.
  void stopAt(const Node &node);
  /// Counts element operations; false (and a failure) past the limit.
  bool charge(const Node &node, int64_t operations);
  /// Asks whether the run is to end, in the thread that called the interpreter.
  void listen();

  Slot &slot(uint32_t index) { return frame->slots[index]; }
  /// The value of a slot for the lane that runs now.
  Scalar get(uint32_t index) const { return frame->slots[index].at(lane); }
  int64_t integer(uint32_t index) const { return get(index).integer; }
  Buffer &buffer(uint32_t index) { return *frame->slots[index].uniform.buffer; }
  /// The buffer that an alloc with this result owns.
  Buffer &ownBuffer(uint32_t index);

  /// Copies a value, all lanes or one scalar.
  void assign(uint32_t to, uint32_t from);
  /// Copies the active lanes of a value.
  void assignActive(uint32_t to, uint32_t from);
  /// Copies several values as if at once.
  void assignAll(llvm::ArrayRef<uint32_t> to, llvm::ArrayRef<uint32_t> from, bool activeOnly);

  /// Memory `index` for dense elements, at least `bytes` long; contents are lost at the next op.
  /// Never null after `canHold` of as many bytes.
  char *scratch(unsigned index, int64_t bytes);
  /// True if scratch memories can grow to `bytes`.
  bool canHold(int64_t bytes) const;

private:
  struct Shared {
    Outcome outcome;
    int64_t steps = 0, maxSteps;
    int64_t pause; ///< when to look up: at the limit, or to listen
    std::function<bool(const Stop &)> atBreakpoint;
    std::function<bool()> isInterrupted;
    std::atomic<bool> isStopped = false;
  };
  std::shared_ptr<Shared> shared;

public:
  Outcome &outcome;
  const std::map<std::string, int64_t> &symbols;
  Frame *frame = nullptr;
  LaneGroup *lanes = nullptr; ///< null outside tile.parallel
  int64_t lane = 0;           ///< for ops that run lane by lane
  bool inLaunch = false;
  std::array<int64_t, 3> block{};
  int depth = 0;            ///< of calls
  std::optional<Core> core; ///< runs the program of this kind of core only
  int64_t subCore = 0;      ///< number of the vector core
  Programs *programs = nullptr;
  Shadow *shadow = nullptr; ///< computes the same beside, exactly

private:
  struct Scratch {
    std::unique_ptr<char, FreeDeleter> memory;
    int64_t capacity = 0;
  };
  std::array<Scratch, 11> scratchMemory;
};

/// Handlers by op name; null for an op that the interpreter does not run.
Handler findHandler(llvm::StringRef opName);

/// What each file adds to the table.
struct HandlerEntry {
  const char *name;
  Handler handler;
};
llvm::ArrayRef<HandlerEntry> scalarHandlers();
llvm::ArrayRef<HandlerEntry> controlHandlers();
llvm::ArrayRef<HandlerEntry> laneHandlers();
llvm::ArrayRef<HandlerEntry> boxHandlers();
llvm::ArrayRef<HandlerEntry> programHandlers();

/// Runs blocks of a launch that is divided by hand together: a program for each core, which take
/// turns where one waits for another.
void runPrograms(Machine &parent, const Node &launch,
                 llvm::ArrayRef<std::array<int64_t, 3>> blocks);

/// Runs a node of a machine with a shadow, and in the shadow.
void runShadowed(Machine &m, const Node &node);

/// Zeroed memory that the programs of a block have in common, by the slot of its alloc.
char *sharedMemory(Machine &m, uint32_t index, int64_t bytes);

/// "(3, 4)".
std::string textOf(llvm::ArrayRef<int64_t> numbers);
/// "tile 'A_shared'", "tensor 'A'", "a buffer".
std::string describe(const Buffer &buffer);

} // namespace tilewright::interp
