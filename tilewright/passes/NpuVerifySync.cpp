// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a device function on made-up numbers of turns and choices of branches, and checks every pair
// of accesses against the order that pipes, flags and barriers give.

#include "tilewright/npu/NpuOps.h"
#include "tilewright/passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <array>
#include <deque>
#include <map>
#include <set>

namespace tilewright::passes {
#define GEN_PASS_DEF_NPUVERIFYSYNC
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::npu;

namespace {

constexpr unsigned kNumPipes = 7;
constexpr uint64_t kMaxEvents = 6000;
constexpr unsigned kMaxErrors = 10;

/// Per pipe, how many of its instructions are known to be complete.
using Clock = std::array<unsigned, kNumPipes>;

void join(Clock &into, const Clock &from) {
  for (unsigned pipe = 0; pipe < kNumPipes; ++pipe)
    into[pipe] = std::max(into[pipe], from[pipe]);
}

/// A scalar of one trace: constant + sum of factor * unknown, and an upper bound if one is known.
struct Number {
  int64_t constant = 0;
  std::map<unsigned, int64_t> unknowns = {};
  std::optional<int64_t> upper = {};

  std::optional<int64_t> value() const {
    return unknowns.empty() ? std::optional(constant) : std::nullopt;
  }
  std::optional<int64_t> bound() const {
    return unknowns.empty() ? std::optional(constant) : upper;
  }
};

Number combine(const Number &left, const Number &right, int64_t factor) {
  Number result{left.constant + factor * right.constant, left.unknowns};
  for (auto [unknown, count] : right.unknowns)
    if ((result.unknowns[unknown] += factor * count) == 0)
      result.unknowns.erase(unknown);
  return result;
}

/// Numbers of turns and branches of one trace. A pattern of -1 takes as many turns as the budget
/// allows.
struct Scenario {
  unsigned pattern;

  static constexpr unsigned kCount = 8;

  unsigned hash(unsigned a, unsigned b) const {
    uint64_t x = (uint64_t(pattern) << 40) ^ (uint64_t(a) << 20) ^ b;
    x = (x ^ (x >> 31)) * 0x9E3779B97F4A7C15ull;
    return unsigned((x ^ (x >> 29)) * 0xBF58476D1CE4E5B9ull >> 40);
  }
  unsigned turns(unsigned loop, unsigned run, unsigned depth, unsigned most) const {
    switch (pattern) {
    case 0:
    case 1:
      return most;
    case 2:
      return 1;
    case 3:
      return depth == 0 ? most : run % 2 * 2;
    default:
      return hash(loop, run) % (std::min(most, 4u) + 1);
    }
  }
  bool takesThen(unsigned branch, unsigned run) const {
    switch (pattern) {
    case 0:
      return run % 2 == 0;
    case 1:
      return run % 3 == 1;
    case 2:
      return true;
    case 3:
      return false;
    default:
      return hash(branch, run) & 1;
    }
  }
};

/// An access that happened.
struct Event {
  Operation *op;
  Pipe pipe;
  unsigned tick;
  AccessKind kind;
  Value buffer;
  int64_t slot, block;
  int64_t begin, end;                 ///< bytes of the slot, for a planned buffer
  std::vector<Number> offsets, sizes; ///< empty offsets: all of it
};

class Trace {
public:
  Trace(func::FuncOp function, Scenario scenario, unsigned maxIds,
        std::set<std::pair<Operation *, Operation *>> &reported)
      : function(function), scenario(scenario), maxIds(maxIds), reported(reported) {}

  void run() {
    chooseTurns();
    for (BlockArgument argument : function.getArguments())
      if (!isa<MemRefType>(argument.getType()))
        numbers[argument] = unknown();
    runBlock(function.getBody().front(), 0);
    for (auto &[key, flag] : flags)
      if (!flag.tokens.empty())
        report(flag.tokens.front().op, flag.tokens.front().op, "is never awaited");
  }

private:
  struct Lane {
    Clock clock{};
    unsigned now = 0;
  };
  struct Token {
    Clock clock;
    Operation *op;
  };
  struct FlagState {
    std::deque<Token> tokens;
    Operation *lastWait = nullptr;
    Pipe lastPipe = Pipe::S;
    unsigned lastTick = 0;
  };
  using FlagKey = std::tuple<Pipe, Pipe, int64_t>;

  func::FuncOp function;
  Scenario scenario;
  unsigned maxIds;
  std::set<std::pair<Operation *, Operation *>> &reported;
  llvm::DenseMap<Value, Number> numbers;
  llvm::DenseMap<Value, int64_t> slots;
  llvm::DenseMap<Operation *, unsigned> ids, runs;
  std::vector<unsigned> mostTurns; ///< per depth
  std::array<Lane, kNumPipes> lanes;
  std::map<FlagKey, FlagState> flags;
  /// Per space and pipe, by tick.
  std::map<int, std::array<std::vector<Event>, kNumPipes>> history;
  unsigned numUnknowns = 0;
  int64_t block = 0;

  Number unknown(std::optional<int64_t> upper = {}) { return {0, {{numUnknowns++, 1}}, upper}; }

  void report(Operation *op, Operation *other, const Twine &text, StringRef note = "") {
    if (reported.size() >= kMaxErrors || !reported.insert({op, other}).second)
      return;
    InFlightDiagnostic error = op->emitOpError("E0799: " + text);
    if (!note.empty())
      error.attachNote(other->getLoc()) << note;
  }

  //===--- Turns and scalars
  //-----------------------------------------------------------------------===//

  uint64_t countEvents(Block &block, unsigned depth) const {
    uint64_t count = 0;
    for (Operation &op : block) {
      bool isLoop = isa<LoopLikeOpInterface>(op);
      uint64_t inner = 0;
      for (Region &region : op.getRegions())
        for (Block &nested : region)
          inner += countEvents(nested, depth + isLoop);
      count += 1 + inner * (isLoop ? mostTurns[std::min<size_t>(depth, mostTurns.size() - 1)] : 1);
    }
    return count;
  }

  /// As many turns as show every slot twice, fewer in nests that would take too long.
  void chooseTurns() {
    int64_t maxSlots = 1;
    unsigned depth = 0;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      ids[op] = ids.size();
      if (auto alloc = dyn_cast<AllocOp>(op))
        maxSlots = std::max<int64_t>(maxSlots, alloc.getSlots());
      unsigned loops = 0;
      for (Operation *outer = op; outer != function; outer = outer->getParentOp())
        loops += isa<LoopLikeOpInterface>(outer);
      depth = std::max(depth, loops);
    });
    mostTurns.assign(depth + 1, 2 * maxSlots + 2);
    for (unsigned floor : {unsigned(maxSlots + 1), 3u, 2u})
      for (unsigned level = depth + 1; level-- > 0;)
        if (countEvents(function.getBody().front(), 0) > kMaxEvents)
          mostTurns[level] = std::min(mostTurns[level], floor);
  }

  Number numberOf(Value value) {
    auto [found, isNew] = numbers.try_emplace(value);
    if (isNew)
      found->second = unknown();
    return found->second;
  }

  void evaluate(Operation &op) {
    if (op.getNumResults() == 0 || !op.getResult(0).getType().isIntOrIndex())
      return;
    Value result = op.getResult(0);
    if (std::optional<int64_t> constant = constantOf(result)) {
      numbers[result] = {*constant};
      return;
    }
    Number value = unknown();
    auto operand = [&](unsigned index) { return numberOf(op.getOperand(index)); };
    auto smaller = [](std::optional<int64_t> a, std::optional<int64_t> b) {
      return a && b ? std::min(a, b) : a ? a : b;
    };
    auto larger = [](std::optional<int64_t> a, std::optional<int64_t> b) {
      return a && b ? std::max(a, b) : std::optional<int64_t>();
    };
    if (isa<arith::AddIOp>(op))
      value = combine(operand(0), operand(1), 1);
    else if (isa<arith::SubIOp>(op))
      value = combine(operand(0), operand(1), -1);
    else if (isa<arith::IndexCastOp>(op))
      value = operand(0);
    else if (isa<arith::MulIOp>(op) && operand(1).value())
      value = combine({}, operand(0), *operand(1).value());
    else if (isa<arith::MulIOp>(op) && operand(0).value())
      value = combine({}, operand(1), *operand(0).value());
    else if (isa<arith::MinSIOp>(op))
      value = unknown(smaller(operand(0).bound(), operand(1).bound()));
    else if (isa<arith::MaxSIOp>(op))
      value = unknown(larger(operand(0).bound(), operand(1).bound()));
    else if (isa<arith::SelectOp>(op))
      value = unknown(larger(operand(1).bound(), operand(2).bound()));
    else if (isa<SubCoreIdOp, CoreIdOp, CoreCountOp>(op)) {
      // The same everywhere in one function.
      unsigned name = 1u << 30 | (isa<SubCoreIdOp>(op) ? 0 : isa<CoreIdOp>(op) ? 1 : 2);
      value = {0, {{name, 1}}};
    }
    numbers[result] = value;
  }

  void bind(ValueRange to, ArrayRef<Number> from) {
    for (auto [value, number] : llvm::zip(to, from))
      numbers[value] = number;
  }

  SmallVector<Number> numbersOf(ValueRange values) {
    SmallVector<Number> result;
    for (Value value : values)
      result.push_back(numberOf(value));
    return result;
  }

  //===--- Control flow
  //------------------------------------------------------------------------------===//

  void runBlock(Block &block, unsigned depth) {
    for (Operation &op : block)
      llvm::TypeSwitch<Operation *>(&op)
          .Case<scf::ForOp>([&](scf::ForOp loop) { runFor(loop, depth); })
          .Case<scf::WhileOp>([&](scf::WhileOp loop) { runWhile(loop, depth); })
          .Case<scf::IfOp>([&](scf::IfOp branch) { runIf(branch, depth); })
          .Case<SetFlagOp>([&](SetFlagOp set) { setFlag(set); })
          .Case<WaitFlagOp>([&](WaitFlagOp wait) { waitFlag(wait); })
          .Case<BarrierOp>([&](BarrierOp barrier) { runBarrier(barrier); })
          .Case<AdvanceOp>([&](AdvanceOp advance) {
            int64_t &slot = slotOf(advance.getBuffer());
            slot = (slot + 1) % advance.getBuffer().getDefiningOp<AllocOp>().getSlots();
          })
          .Case<BeginBlockOp>([&](BeginBlockOp) { ++this->block; })
          .Default([&](Operation *other) {
            if (isa<AccessInterface>(other) && isa<PipeInterface>(other))
              runAccess(other);
            for (Region &region : other->getRegions())
              for (Block &nested : region)
                runBlock(nested, depth);
            evaluate(*other);
          });
  }

  unsigned turnsOf(Operation *loop, unsigned depth, std::optional<int64_t> known) {
    unsigned most = mostTurns[std::min<size_t>(depth, mostTurns.size() - 1)];
    unsigned run = runs[loop]++;
    if (known)
      return std::clamp<int64_t>(*known, 0, most);
    return scenario.turns(ids[loop], run, depth, most);
  }

  void runFor(scf::ForOp loop, unsigned depth) {
    Number lower = numberOf(loop.getLowerBound());
    std::optional<int64_t> first = lower.value(), last = numberOf(loop.getUpperBound()).value(),
                           step = numberOf(loop.getStep()).value(), known;
    if (first && last && step)
      known = *step > 0 ? llvm::divideCeil(std::max<int64_t>(*last - *first, 0), *step) : 0;
    SmallVector<Number> carried = numbersOf(loop.getInitArgs());
    unsigned turns = turnsOf(loop, depth, known);
    for (unsigned turn = 0; turn < turns; ++turn) {
      numbers[loop.getInductionVar()] = step ? combine(lower, {*step}, turn) : unknown();
      bind(loop.getRegionIterArgs(), carried);
      runBlock(*loop.getBody(), depth + 1);
      carried = numbersOf(loop.getBody()->getTerminator()->getOperands());
    }
    bind(loop.getResults(), carried);
  }

  void runWhile(scf::WhileOp loop, unsigned depth) {
    SmallVector<Number> carried = numbersOf(loop.getInits());
    unsigned turns = turnsOf(loop, depth, std::nullopt);
    for (unsigned turn = 0;; ++turn) {
      bind(loop.getBeforeArguments(), carried);
      runBlock(*loop.getBeforeBody(), depth + 1);
      carried = numbersOf(loop.getConditionOp().getArgs());
      if (turn == turns)
        break;
      bind(loop.getAfterArguments(), carried);
      runBlock(*loop.getAfterBody(), depth + 1);
      carried = numbersOf(loop.getYieldOp().getResults());
    }
    bind(loop.getResults(), carried);
  }

  void runIf(scf::IfOp branch, unsigned depth) {
    bool isThen = scenario.takesThen(ids[branch], runs[branch]++);
    Region &region = isThen ? branch.getThenRegion() : branch.getElseRegion();
    if (region.empty())
      return;
    runBlock(region.front(), depth);
    bind(branch.getResults(), numbersOf(region.front().getTerminator()->getOperands()));
  }

  //===--- Order
  //-------------------------------------------------------------------------------------===//

  Lane &lane(Pipe pipe) { return lanes[unsigned(pipe)]; }

  /// The pipe gets an instruction: it is after all that the scalar unit did so far.
  unsigned issue(Pipe pipe) {
    if (pipe != Pipe::S)
      join(lane(pipe).clock, lane(Pipe::S).clock);
    return ++lane(pipe).now;
  }

  /// Later instructions of the pipe come after this one, but for V.
  void complete(Pipe pipe, unsigned tick) {
    if (pipe != Pipe::V)
      lane(pipe).clock[unsigned(pipe)] = tick;
  }

  Clock drained(Pipe pipe) {
    join(lane(pipe).clock, lane(Pipe::S).clock);
    Clock clock = lane(pipe).clock;
    clock[unsigned(pipe)] = lane(pipe).now;
    return clock;
  }

  void runBarrier(BarrierOp barrier) {
    Pipe pipe = barrier.getPipe();
    if (pipe != Pipe::All) {
      lane(pipe).clock = drained(pipe);
      return;
    }
    Clock all{};
    for (unsigned each = 0; each < kNumPipes; ++each)
      join(all, drained(Pipe(each)));
    for (Lane &each : lanes)
      each.clock = all;
  }

  int64_t &slotOf(Value buffer) {
    auto alloc = buffer.getDefiningOp<AllocOp>();
    return slots.try_emplace(buffer, alloc ? int64_t(alloc.getSlots()) - 1 : 0).first->second;
  }

  template <typename OpTy>
  FlagKey keyOf(OpTy op) {
    int64_t id = op.getId() + (op.getRotate() ? slotOf(op.getRotate()) : 0);
    if (id >= int64_t(maxIds))
      report(op, op, "has event id " + Twine(id) + " of " + Twine(maxIds));
    return {op.getSource(), op.getTarget(), id};
  }

  void setFlag(SetFlagOp set) {
    FlagState &flag = flags[keyOf(set)];
    Clock clock = drained(set.getSource());
    if (!flag.tokens.empty())
      report(set, flag.tokens.back().op, "sets an event that is still set", "set here");
    else if (flag.lastWait && clock[unsigned(flag.lastPipe)] < flag.lastTick)
      report(set, flag.lastWait, "may set an event again before it was awaited", "awaited here");
    flag.tokens.push_back({clock, set});
  }

  void waitFlag(WaitFlagOp wait) {
    FlagState &flag = flags[keyOf(wait)];
    if (flag.tokens.empty()) {
      report(wait, wait, "waits for an event that nothing has set");
      return;
    }
    Pipe pipe = wait.getTarget();
    join(lane(pipe).clock, flag.tokens.front().clock);
    flag.tokens.pop_front();
    flag.lastWait = wait;
    flag.lastPipe = pipe;
    flag.lastTick = issue(pipe);
    complete(pipe, flag.lastTick);
  }

  //===--- Accesses
  //----------------------------------------------------------------------------------===//

  void runAccess(Operation *op) {
    auto access = cast<AccessInterface>(op);
    auto pipes = cast<PipeInterface>(op);
    // Boxes on another pipe than the first are read before: the operands of a product.
    Pipe last = pipes.getBoxPipe(0);
    std::set<Pipe> others;
    for (unsigned index = 1; index < access.getNumBoxes(); ++index)
      if (pipes.getBoxPipe(index) != last)
        others.insert(pipes.getBoxPipe(index));
    std::vector<std::pair<Pipe, unsigned>> before;
    for (Pipe pipe : others) {
      before.push_back({pipe, runBoxes(op, pipe, {})});
    }
    runBoxes(op, last, before);
  }

  unsigned runBoxes(Operation *op, Pipe pipe, ArrayRef<std::pair<Pipe, unsigned>> before) {
    auto access = cast<AccessInterface>(op);
    for (auto [other, tick] : before) {
      join(lane(pipe).clock, lane(other).clock);
      lane(pipe).clock[unsigned(other)] = std::max(lane(pipe).clock[unsigned(other)], tick);
    }
    unsigned tick = issue(pipe);
    std::vector<Event> events;
    for (unsigned index = 0; index < access.getNumBoxes(); ++index) {
      Box box = access.getBox(index);
      if (cast<PipeInterface>(op).getBoxPipe(index) != pipe || spaceOf(box.buffer) == Space::Reg)
        continue;
      auto [begin, end] = bytesOf(box.buffer);
      Event event{op,         pipe,
                  tick,       access.getAccessKind(index),
                  box.buffer, slotOf(box.buffer),
                  block,      begin,
                  end,        {},
                  {}};
      for (Value offset : box.offsets)
        event.offsets.push_back(numberOf(offset));
      for (Value size : box.sizes)
        event.sizes.push_back(numberOf(size));
      if (box.sizes.empty())
        event.sizes.assign(box.offsets.size(), Number{1});
      events.push_back(std::move(event));
    }
    for (const Event &event : events)
      compare(event);
    for (Event &event : events)
      history[int(spaceOf(event.buffer))][unsigned(pipe)].push_back(std::move(event));
    complete(pipe, tick);
    return tick;
  }

  /// Complains of what came before and may not be done. Ticks of a pipe grow, and all up to the one
  /// that the clock knows are done: only those behind it are looked at.
  void compare(const Event &event) {
    for (unsigned other = 0; other < kNumPipes; ++other) {
      const std::vector<Event> &before = history[int(spaceOf(event.buffer))][other];
      const unsigned done = lane(event.pipe).clock[other];
      for (auto old = before.rbegin(); old != before.rend() && old->tick > done; ++old)
        if (mustBeOrdered(*old, event))
          complain(event, *old);
    }
  }

  /// The bytes of the slot that a planned buffer is at now; none of an argument.
  std::pair<int64_t, int64_t> bytesOf(Value buffer) {
    auto alloc = buffer.getDefiningOp<AllocOp>();
    if (!alloc)
      return {0, 0};
    int64_t bytes = alloc.getSlotBytes();
    int64_t begin = alloc.getAddress().value_or(0) + slotOf(buffer) * bytes;
    return {begin, begin + bytes};
  }

  void complain(const Event &event, const Event &old) {
    report(event.op, old.op,
           "may touch '" + nameOf(event.buffer) + "' on " + stringifyPipe(event.pipe) +
               " before '" + old.op->getName().getStringRef() + "' on " + stringifyPipe(old.pipe) +
               " is done with '" + nameOf(old.buffer) + "'",
           "the earlier access");
  }

  static bool isArgument(const Event &event) { return event.begin == event.end; }

  static bool mustBeOrdered(const Event &old, const Event &event) {
    if (!writes(old.kind) && !writes(event.kind))
      return false;
    if (old.pipe == Pipe::V && event.pipe == Pipe::V && !writes(old.kind))
      return false;
    if (isArgument(old) || isArgument(event))
      return old.buffer == event.buffer && old.block == event.block && mayMeet(old, event);
    if (old.buffer == event.buffer)
      return old.slot == event.slot && mayMeet(old, event);
    return event.begin < old.end && old.begin < event.end;
  }

  /// Two boxes of one buffer: false when some dimension keeps them apart.
  static bool mayMeet(const Event &old, const Event &event) {
    for (size_t dim = 0; dim < std::min(old.offsets.size(), event.offsets.size()); ++dim) {
      std::optional<int64_t> distance = combine(event.offsets[dim], old.offsets[dim], -1).value();
      std::optional<int64_t> oldSize = old.sizes[dim].bound(), size = event.sizes[dim].bound();
      if (distance && ((oldSize && *distance >= *oldSize) || (size && -*distance >= *size)))
        return false;
    }
    return true;
  }
};

struct VerifySync : passes::impl::NpuVerifySyncBase<VerifySync> {
  using NpuVerifySyncBase::NpuVerifySyncBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function->hasAttr(kCoreAttr) || function.isExternal())
      return;
    if (function->hasAttr(kManualSyncAttr))
      return; // an author's conditions and events depend on each other: the simulator checks them
    std::set<std::pair<Operation *, Operation *>> reported;
    for (unsigned pattern = 0; pattern < Scenario::kCount; ++pattern)
      Trace(function, {pattern}, maxIds, reported).run();
    if (!reported.empty())
      signalPassFailure();
  }
};

} // namespace
