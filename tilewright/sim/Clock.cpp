// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Clock.h"

#include "tilewright/sim/Calendar.h"
#include "tilewright/sim/ClockSample.h"
#include "tilewright/sim/FlagTable.h"
#include "tilewright/sim/Kernels.h"
#include "tilewright/sim/L2.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <queue>
#include <span>
#include <utility>

namespace tilewright::sim {
namespace {

constexpr unsigned kAll = static_cast<unsigned>(Pipe::All);
constexpr unsigned kSibling = 1;             ///< an AIV knows its AIC as peer 0
constexpr unsigned kFlagIds = kBlockSignals; ///< per pair of cores; larger ids share places

unsigned index(Pipe pipe) { return static_cast<unsigned>(pipe); }

/// One pipe of one core. `free`: when the next instruction may start; `done`: when all that were
/// issued have taken effect, which for loads is later because of their latency.
struct PipeState {
  double free = 0, done = 0;
  double lastStart = 0; ///< of the last instruction
  double notBefore = 0; ///< the next instruction ends then or later
  double busy = 0, busyUntil = 0;
  std::span<double> starts; ///< ring of the last start times, as long as the queue is deep
  unsigned at = 0;
};

/// Times of one flag's sets that no wait has consumed yet. Legal programs hold at most one.
struct Flag {
  double time = 0;
  double end = 0; ///< unit flags: when the instructions before it end
  uint32_t pending = 0;
};

/// Sets of one cross-core flag that arrived and were not waited for, oldest first.
struct Signals {
  std::vector<double> times;
  size_t head = 0;

  bool empty() const { return head == times.size(); }
  void pop() {
    if (++head == times.size()) {
      times.clear();
      head = 0;
    }
  }
};

/// What the chip makes of one entry of a table's costs.
struct Price {
  double cycles = 0;     ///< of a Mmad on M
  double mte1Cycles = 0; ///< Mmad: of all steps
  unsigned chunks = 1;   ///< Mmad: K steps
};

/// The chip's view of a table of records.
struct Prices {
  std::vector<Price> costs;
  std::vector<uint32_t> shapes; ///< launch-wide numbers
};

/// The scalar unit of one core.
struct Scalar {
  double time = 0;
  double worked = 0; ///< cycles of its own instructions
  double issued = 0; ///< instructions that it handed out
};

/// One core on its way through its records.
struct Core {
  const CoreRecords *input = nullptr;
  const Prices *prices = nullptr;
  const CoreProgram *program = nullptr;
  int32_t number = 0;       ///< index into the launch's cores
  int32_t blocks = 0;       ///< begun
  double hbmBytes = 0;      ///< of its reads
  Progress warm;            ///< when the blocks that warm the L2 have taken effect
  size_t next = 0, end = 0; ///< the record to do next, one past the last one
  Scalar scalar;
  std::array<PipeState, kNumPipes> pipes;
  FlagTable<Flag> flags;
  std::vector<Signals> incoming;  ///< per peer and id
  std::array<double, 2> l0Free{}; ///< when the cube is done with each half of L0A/L0B
  unsigned l0Half = 0;
  double rowsInFlight = 0;     ///< when the rows of all reads so far can have come
  double readMissShare = 1;    ///< of the last read that met a sampled line
  int32_t peers[2] = {-1, -1}; ///< AIC: its AIVs; AIV: its AIC in [0]
  bool parked = false;
  std::optional<double> arrived; ///< at a meeting of all blocks that is not over yet
};

/// Key of the heap: start of a core's next GM transfer, ties by core number.
class Turn {
public:
  Turn(double start, int32_t core) : start(std::bit_cast<uint64_t>(start)), core(core) {}

  /// Without a branch: a heap's comparisons cannot be foreseen.
  bool operator>(const Turn &other) const {
    return (start > other.start) | ((start == other.start) & (core > other.core));
  }

private:
  uint64_t start; ///< times are not negative, so their bits have the same order

public:
  int32_t core;
};

class LaunchClock {
public:
  LaunchClock(const Program &program, const std::vector<CoreRecords> &cores,
              const machine::Machine &chip, const ClockOptions &options, RunResult &result)
      : program(program), chip(chip), options(options), result(result), hbm(chip.hbmBytesPerCycle),
        l2Port(chip.l2BytesPerCycle), aicPort(chip.aicL2BytesPerCycle),
        cache(chip, sampleShift(cores), lastAddress(cores)) {
    setUp(cores);
  }

  void run() {
    for (Core &core : cores)
      ready.push_back(core.number);
    while (true) {
      while (!ready.empty()) {
        const int32_t number = ready.front();
        ready.pop_front();
        advance(cores[number]);
      }
      if (turns.empty() && passMeeting())
        continue;
      if (turns.empty())
        break;
      const int32_t number = turns.top().core;
      turns.pop();
      transfer(cores[number]);
      advance(cores[number]);
    }
    const bool isSample = std::any_of(cores.begin(), cores.end(), [](const Core &core) {
      return core.input->waves.leftOutEvents > 0;
    });
    if (options.share >= 1 && !isSample)
      reportDeadlock();
    finish();
    if (options.share < 1 || !isSample)
      return;
    std::vector<SampledCore> sample;
    for (const Core &core : cores)
      sample.push_back({core.input->kind, core.input->waves, core.warm, progressOf(core)});
    extrapolate(sample, chip, result);
  }

private:
  /// Small launches follow every line, large ones one in sixteen: within 0.2 % and four times
  /// faster.
  static unsigned sampleShift(const std::vector<CoreRecords> &cores) {
    uint64_t lines = 0;
    for (const CoreRecords &core : cores)
      lines += core.gmLines;
    return lines > (1u << 17) ? 4 : 0;
  }

  static uint64_t lastAddress(const std::vector<CoreRecords> &cores) {
    uint64_t end = 0;
    for (const CoreRecords &core : cores)
      end = std::max(end, core.gmEnd);
    return end;
  }

  /// The costs of a table's entries on this chip. Host threads have a table each, with much the
  /// same entries.
  const Prices *pricesOf(const RecordTable *table) {
    auto [found, isNew] = priceLists.try_emplace(table);
    Prices &prices = found->second;
    if (!isNew || !table)
      return &prices;
    for (const ResolvedOp &op : table->costs()) {
      Price &price = prices.costs.emplace_back();
      if (op.op != TileOp::Mmad) {
        price.cycles = computeCycles(op, chip);
        continue;
      }
      const MmadCost cost =
          mmadCost(op.operands[0].sizes[0], op.operands[0].sizes[1],
                   op.operands[1].sizes[op.flags & kTransposeA ? 0 : 1], op.operands[1].type, chip);
      price = {cost.cube, cost.mte1, static_cast<unsigned>(std::max(1, cost.chunks))};
    }
    for (const TransferShape &shape : table->shapes())
      prices.shapes.push_back(shapeNumbers.shapeOf(shape));
    return &prices;
  }

  void setUp(const std::vector<CoreRecords> &input) {
    cores.resize(input.size());
    const auto depth = static_cast<size_t>(std::max(1, chip.queueDepth));
    starts.resize(input.size() * kNumPipes * depth);
    std::map<int32_t, int32_t> aicOfGroup;
    for (size_t i = 0; i < input.size(); ++i)
      if (input[i].kind == CoreKind::AIC)
        aicOfGroup[input[i].group] = static_cast<int32_t>(i);
    for (size_t i = 0; i < input.size(); ++i) {
      Core &core = cores[i];
      core.input = &input[i];
      core.end = static_cast<size_t>(std::ceil(options.share * double(input[i].records.size())));
      core.prices = pricesOf(input[i].table.get());
      core.program = input[i].kind == CoreKind::AIC ? &program.aic : &program.aiv;
      core.number = static_cast<int32_t>(i);
      core.scalar.time = chip.prologue;
      for (unsigned pipe = 0; pipe < kNumPipes; ++pipe)
        core.pipes[pipe].starts = std::span(starts).subspan((i * kNumPipes + pipe) * depth, depth);
      auto aic = aicOfGroup.find(input[i].group);
      if (input[i].kind == CoreKind::AIV && aic != aicOfGroup.end()) {
        core.peers[0] = aic->second;
        cores[aic->second].peers[input[i].sub & 1] = core.number;
        core.incoming.resize(2 * kFlagIds);
        cores[aic->second].incoming.resize(2 * kFlagIds);
      }
      result.cores.push_back({input[i].kind, input[i].group, input[i].sub});
    }
    result.lineCycles.assign(program.locations.size(), 0);
    lineCycles.assign(program.locations.size(), 0.0);
  }

  /// Does records of one core up to its next GM transfer that is not its turn yet, a wait for
  /// another core, or the end. Nearly every record moves the scalar unit's time, from which the
  /// next one starts: it stays in a register over those that concern this core alone.
  void advance(Core &core) {
    const Record *const records = core.input->records.data();
    while (true) {
      Scalar scalar = core.scalar;
      size_t next = core.next;
      while (next < core.end && local(core, scalar, records[next]))
        ++next;
      core.scalar = scalar;
      core.next = next;
      if (next == core.end || !together(core, records[next]))
        return;
    }
  }

  /// What concerns this core alone. False: something else, or a wait for what never comes.
  [[gnu::always_inline]] bool local(Core &core, Scalar &scalar, const Record &record) {
    switch (record.kind) {
    case RecordKind::Compute:
      compute(core, scalar, record);
      return true;
    case RecordKind::Mmad:
      mmad(core, scalar, record);
      return true;
    case RecordKind::SetFlag:
      setFlag(core, scalar, record);
      return true;
    case RecordKind::WaitFlag:
      return waitFlag(core, scalar, record);
    case RecordKind::Barrier:
      barrier(core, scalar, record.pipe);
      return true;
    case RecordKind::ScalarWork:
      scalarWork(scalar, cyclesOf(core, record));
      return true;
    case RecordKind::ScalarSync:
      issue(scalar);
      scalar.time = std::max(scalar.time, completion(core, scalar, record.pipe));
      return true;
    default:
      return false;
    }
  }

  /// A record that other cores have to do with. False: the core stops before it.
  bool together(Core &core, const Record &record) {
    switch (record.kind) {
    case RecordKind::Transfer: {
      const Turn turn{issueTime(core, record.pipe), core.number};
      if (!ready.empty() || (!turns.empty() && turn > turns.top())) {
        turns.push(turn);
        return false;
      }
      transfer(core);
      return true;
    }
    case RecordKind::BlockWait:
      if (blockWait(core, record))
        break;
      core.parked = true;
      return false;
    case RecordKind::Meet:
      issue(core.scalar);
      core.arrived =
          std::max(core.scalar.time, completion(core, core.scalar, record.pipe)) + chip.blockFlag;
      return false;
    case RecordKind::BlockSet:
      blockSet(core, record);
      break;
    case RecordKind::BeginBlock:
      if (core.blocks++ == core.input->waves.warming)
        core.warm = progressOf(core);
      break;
    default: // a flag that nobody sets
      core.parked = true;
      return false;
    }
    ++core.next;
    return true;
  }

  static double cyclesOf(const Core &core, const Record &record) {
    return record.hasCost ? core.prices->costs[record.entry].cycles : record.cycles();
  }

  static const TransferShape &shapeOf(const Core &core, const Record &record) {
    return core.input->table->shapes()[record.entry];
  }

  static void scalarWork(Scalar &scalar, double cycles) {
    scalar.time += cycles;
    scalar.worked += cycles;
  }

  /// The scalar unit hands out one instruction.
  void issue(Scalar &scalar, double instructions = 1) const {
    scalar.time += chip.scalarIssue * instructions;
    scalar.issued += instructions;
  }

  /// A full queue holds the scalar unit until its oldest instruction has started.
  static void waitForPlace(Scalar &scalar, const PipeState &pipe) {
    scalar.time = std::max(scalar.time, pipe.starts[pipe.at]);
  }

  static void enqueued(PipeState &pipe, double start) {
    pipe.starts[pipe.at] = start;
    if (++pipe.at == pipe.starts.size())
      pipe.at = 0;
  }

  /// When a transfer on `pipe` would start; changes nothing.
  double issueTime(const Core &core, Pipe name) const {
    const PipeState &pipe = core.pipes[index(name)];
    return std::max({core.scalar.time + chip.scalarIssue, pipe.starts[pipe.at], pipe.free});
  }

  /// The pipe works on `record` from `start` to `end` and the result is there at `complete`: the
  /// profiler's busy time is the union of [start, complete], source line and trace get [start,
  /// end], which never overlap.
  void account(Core &core, Pipe name, double start, double end, double complete,
               const Record &record) {
    PipeState &pipe = core.pipes[index(name)];
    pipe.busy += std::max(0.0, complete - std::max(start, pipe.busyUntil));
    pipe.busyUntil = std::max(pipe.busyUntil, complete);
    if (record.templateId >= 0 &&
        static_cast<size_t>(record.templateId) < core.program->templates.size()) {
      const int32_t location = core.program->templates[record.templateId].location;
      if (location >= 0 && static_cast<size_t>(location) < lineCycles.size())
        lineCycles[location] += end - start;
    }
    if (options.trace)
      result.trace.push_back(
          {core.number, name, static_cast<float>(start), static_cast<float>(end), record.templateId,
           record.kind == RecordKind::Transfer ? shapeOf(core, record).gm.bytes() : 0});
  }

  /// An instruction of `pipe` from `start` to `end`: its end, which a unit flag may delay.
  static double ended(PipeState &pipe, double start, double end) {
    pipe.lastStart = start;
    return std::max(end, std::exchange(pipe.notBefore, 0));
  }

  void compute(Core &core, Scalar &scalar, const Record &record) {
    issue(scalar);
    const double cycles = cyclesOf(core, record);
    if (record.pipe == Pipe::S || record.pipe == Pipe::All)
      return scalarWork(scalar, cycles);
    PipeState &pipe = core.pipes[index(record.pipe)];
    waitForPlace(scalar, pipe);
    const double start = std::max(scalar.time, pipe.free);
    pipe.free = ended(pipe, start, start + cycles);
    pipe.done = std::max(pipe.done, pipe.free);
    enqueued(pipe, start);
    account(core, record.pipe, start, pipe.free, pipe.free, record);
  }

  /// The Mmad macro: per K step MTE1 fills one half of L0A/L0B once the cube has left it, and the
  /// cube follows. Its own flags cost what flags cost.
  void mmad(Core &core, Scalar &scalar, const Record &record) {
    const Price &price = core.prices->costs[record.entry];
    const unsigned chunks = price.chunks;
    // Per step the loads of both operands, the product, and four flag instructions.
    issue(scalar, chunks * (2.0 * chip.mte1LoadsPerOperand + 5));
    PipeState &mte1 = core.pipes[index(Pipe::MTE1)], &cube = core.pipes[index(Pipe::M)];
    waitForPlace(scalar, mte1);
    waitForPlace(scalar, cube);
    // The last part of a load's latency keeps those waiting that use it, not MTE1.
    const double tail = 2.0 * chip.mte1LoadsPerOperand * (chip.mte1Latency - chip.mte1Start);
    const double load = price.mte1Cycles / chunks - tail, product = price.cycles / chunks;
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
      double &half = core.l0Free[core.l0Half];
      core.l0Half ^= 1;
      const double start = std::max({scalar.time, mte1.free, half});
      mte1.free = start + load;
      const double first = std::max({scalar.time, cube.free, mte1.free + tail + chip.flagWait});
      cube.free = ended(cube, first, first + product);
      half = cube.free + chip.flagWait;
      if (chunk == 0) {
        enqueued(mte1, start);
        enqueued(cube, first);
      }
      account(core, Pipe::MTE1, start, mte1.free, mte1.free + tail, record);
      account(core, Pipe::M, first, cube.free, cube.free, record);
    }
    mte1.done = std::max(mte1.done, mte1.free);
    cube.done = std::max(cube.done, cube.free);
  }

  /// When everything issued to `pipe` so far has taken effect.
  static double completion(const Core &core, const Scalar &scalar, Pipe name) {
    if (name == Pipe::S)
      return scalar.time;
    if (name != Pipe::All)
      return std::max(core.pipes[index(name)].done, core.pipes[index(name)].free);
    double last = scalar.time;
    for (const PipeState &pipe : core.pipes)
      last = std::max({last, pipe.done, pipe.free});
    return last;
  }

  Progress progressOf(const Core &core) const {
    return {completion(core, core.scalar, Pipe::All), core.hbmBytes};
  }

  static Flag &flagOf(Core &core, const Record &record) {
    const auto from = Pipe(std::min(index(record.pipe), kNumPipes - 1));
    const auto to = Pipe(std::min(index(record.other), kNumPipes - 1));
    return core.flags.at(from, to, record.id % kMaxFlagIds);
  }

  void setFlag(Core &core, Scalar &scalar, const Record &record) const {
    issue(scalar);
    if (record.pipe != Pipe::S && record.pipe != Pipe::All) {
      PipeState &pipe = core.pipes[index(record.pipe)];
      waitForPlace(scalar, pipe);
      enqueued(pipe, std::max(scalar.time, pipe.free));
    }
    Flag &flag = flagOf(core, record);
    flag.end = completion(core, scalar, record.pipe);
    flag.time = std::max(scalar.time, flag.end) + chip.flagWait;
    if (record.isUnit)
      flag.time = std::max(scalar.time, core.pipes[index(record.pipe)].lastStart) + chip.flagWait;
    else
      flag.end = 0;
    ++flag.pending;
  }

  /// The wait sits in the queue of the pipe that it holds back; the scalar unit goes on.
  bool waitFlag(Core &core, Scalar &scalar, const Record &record) const {
    Flag &flag = flagOf(core, record);
    if (flag.pending == 0)
      return false;
    --flag.pending;
    issue(scalar);
    holdBack(core, scalar, record.other, flag.time);
    if (flag.end > 0 && record.other < Pipe::All)
      core.pipes[index(record.other)].notBefore = flag.end;
    return true;
  }

  /// Later instructions of `name` start at `time` or after.
  static void holdBack(Core &core, Scalar &scalar, Pipe name, double time) {
    if (name == Pipe::S || name == Pipe::All) {
      scalar.time = std::max(scalar.time, time);
      return;
    }
    PipeState &pipe = core.pipes[index(name)];
    waitForPlace(scalar, pipe);
    pipe.free = std::max(pipe.free, time);
    enqueued(pipe, std::max(scalar.time, pipe.free));
  }

  void barrier(Core &core, Scalar &scalar, Pipe name) const {
    issue(scalar);
    if (name == Pipe::S)
      return;
    if (name == Pipe::All) {
      scalar.time = completion(core, scalar, Pipe::All);
      for (PipeState &pipe : core.pipes)
        pipe.free = pipe.done = scalar.time;
      return;
    }
    PipeState &pipe = core.pipes[index(name)];
    waitForPlace(scalar, pipe);
    pipe.free = std::max(pipe.free, pipe.done) + (name == Pipe::V ? chip.vecBarrierTail : 0);
    enqueued(pipe, std::max(scalar.time, pipe.free));
  }

  /// Where `core` finds the sets of flag `id` by its peer number `peer`.
  static Signals &signals(Core &core, unsigned peer, unsigned id) {
    return core.incoming[peer * kFlagIds + id % kFlagIds];
  }

  /// Nothing else can go on, so all cores of a kind that come to a meeting are there.
  bool passMeeting() {
    for (CoreKind kind : {CoreKind::AIC, CoreKind::AIV}) {
      double time = 0;
      for (const Core &core : cores)
        if (core.input->kind == kind && core.arrived)
          time = std::max(time, *core.arrived);
      if (time == 0)
        continue;
      for (Core &core : cores) {
        if (core.input->kind != kind || !core.arrived)
          continue;
        core.arrived.reset();
        holdBack(core, core.scalar, core.input->records[core.next++].pipe, time);
        ready.push_back(core.number);
      }
      return true;
    }
    return false;
  }

  /// The other vector core of a group.
  int32_t siblingOf(const Core &core) const {
    return core.peers[0] < 0 ? -1 : cores[core.peers[0]].peers[1 - (core.input->sub & 1)];
  }

  void blockSet(Core &core, const Record &record) {
    issue(core.scalar);
    const double time =
        std::max(core.scalar.time, completion(core, core.scalar, record.pipe)) + chip.blockFlag;
    auto send = [&](int32_t peer, unsigned self) {
      signals(cores[peer], self, record.id).times.push_back(time);
      if (cores[peer].parked) {
        cores[peer].parked = false;
        ready.push_back(peer);
      }
    };
    if (record.other == Pipe::All) {
      if (const int32_t sibling = siblingOf(core); sibling >= 0)
        send(sibling, kSibling);
      return;
    }
    // An AIC knows its AIVs by their sub number, an AIV knows its AIC as number 0.
    const unsigned self = core.input->kind == CoreKind::AIV ? core.input->sub & 1 : 0;
    for (int32_t peer : core.peers) {
      if (peer >= 0)
        send(peer, self);
    }
  }

  /// A cube core waits for both of its vector cores. False: not yet.
  bool blockWait(Core &core, const Record &record) {
    if (record.other == Pipe::All) {
      Signals &pending = signals(core, kSibling, record.id);
      if (pending.empty())
        return false;
      const double time = pending.times[pending.head];
      pending.pop();
      issue(core.scalar);
      holdBack(core, core.scalar, record.pipe, time);
      return true;
    }
    double time = 0;
    bool any = false;
    for (unsigned peer : {0u, 1u}) {
      if (core.peers[peer] < 0)
        continue;
      const Signals &pending = signals(core, peer, record.id);
      if (pending.empty())
        return false;
      time = std::max(time, pending.times[pending.head]);
      any = true;
    }
    if (!any)
      return false;
    for (unsigned peer : {0u, 1u})
      if (core.peers[peer] >= 0)
        signals(core, peer, record.id).pop();
    issue(core.scalar);
    holdBack(core, core.scalar, record.pipe, time);
    return true;
  }

  /// One GM transfer. Its data phase ends when its own pipe, the L2 and the HBM have all moved the
  /// bytes; a load's data arrive a latency later, while the next load already runs.
  void transfer(Core &core) {
    const Record &record = core.input->records[core.next++];
    issue(core.scalar);
    PipeState &pipe = core.pipes[index(record.pipe)];
    waitForPlace(core.scalar, pipe);
    const double start = std::max(core.scalar.time, pipe.free);
    enqueued(pipe, start);

    const TransferShape &shape = shapeOf(core, record);
    GmTraffic traffic = shape.gm;
    traffic.address = record.address;
    const L2Access access =
        cache.access(traffic, shape.write, shape.bypass, start, core.prices->shapes[record.entry]);
    const bool cube = core.input->kind == CoreKind::AIC;
    double begin, rate, perRow = 0, latency = 0;
    double hbmBytes = 0;
    hbmTotal += access.evictedDirtyBytes;
    if (shape.write) {
      const bool fix = record.pipe == Pipe::FIX;
      begin = start + (fix ? chip.fixStart : chip.mte3Start);
      rate = fix ? chip.fixGmRate : chip.mte3RateAiv;
      if (fix && shape.gm.rows > 1 && shape.gm.stride && shape.gm.stride % 32768 == 0)
        rate *= chip.writePow2StrideFactor;
      if (shape.atomic)
        rate *= chip.atomicWriteFactor;
    } else {
      begin = start + chip.mte2Start;
      rate = cube ? chip.mte2RateAic : chip.mte2RateAiv;
      perRow = cube ? chip.mte2RowAic : chip.mte2RowAiv;
      if (access.sampledSectors)
        core.readMissShare =
            std::min(1.0, static_cast<double>(access.missedSectors) / access.sampledSectors);
      const double overhead = cube ? chip.hbmRowOverheadAic : chip.hbmRowOverheadAiv;
      hbmTotal += core.readMissShare * static_cast<double>(access.bytes);
      hbmBytes +=
          core.readMissShare * (access.chargedBytes + static_cast<double>(access.runs) * overhead);
      core.hbmBytes += hbmBytes;
      latency =
          chip.mte2LatencyHit + core.readMissShare * (chip.mte2LatencyMiss - chip.mte2LatencyHit);
    }
    double end = begin + access.chargedBytes / rate + static_cast<double>(access.rows) * perRow;
    end = std::max(end, l2Port.take(begin, access.chargedBytes, rate));
    if (cube && !shape.write)
      end = std::max(end, aicPort.take(begin, access.chargedBytes, rate));
    end = std::max(end, hbm.take(begin, hbmBytes, chip.singleCoreHbmBytesPerCycle));
    // Lines that go back to the HBM take their time from everybody, not from this core's share.
    end = std::max(end, hbm.take(begin, access.evictedDirtyBytes * chip.hbmEvictFactor,
                                 chip.hbmBytesPerCycle));
    end = std::max(end, access.pendingUntil);
    if (cube && !shape.write) {
      // A core has room for so many rows on their way; what that takes includes the latency.
      core.rowsInFlight = std::max(core.rowsInFlight, begin) +
                          static_cast<double>(access.rows) * chip.mte2RowInFlightAic;
      end = std::max(end, core.rowsInFlight - latency);
    }
    if (access.missedSectors && !shape.bypass)
      cache.fetched(end);
    end = ended(pipe, start, end);
    pipe.free = end;
    pipe.done = std::max(pipe.done, end + latency);
    account(core, record.pipe, start, end, end + latency, record);

    Timing &timing = result.timing;
    (shape.write ? timing.gmWriteBytes : timing.gmReadBytes) += access.bytes;
    if (shape.workspace)
      (shape.write ? timing.workspaceWriteBytes : timing.workspaceReadBytes) += access.bytes;
  }

  void reportDeadlock() {
    Finding finding{FindingKind::Deadlock, {}};
    finding.count = 0;
    for (const Core &core : cores) {
      if (core.next >= core.input->records.size())
        continue;
      if (finding.count++ >= 4)
        continue;
      const Record &record = core.input->records[core.next];
      finding.message += finding.message.empty() ? "cores wait for each other: " : "; ";
      finding.message += coreName(result.cores[core.number]) + " waits for ";
      finding.message += record.kind == RecordKind::BlockWait ? "cross-core flag " : "flag ";
      finding.message += std::to_string(record.id);
      finding.message += record.kind == RecordKind::BlockWait ? " of its partner" : "";
    }
    if (finding.count == 0)
      return;
    if (finding.count > 4)
      finding.message += "; and " + std::to_string(finding.count - 4) + " more";
    finding.count = 1;
    result.findings.push_back(std::move(finding));
  }

  static std::string coreName(const TraceCore &core) {
    std::string name = core.kind == CoreKind::AIC ? "AIC " : "AIV ";
    return name + std::to_string(core.group) + (core.sub ? ".1" : "");
  }

  void finish() {
    Timing &timing = result.timing;
    for (const Core &core : cores) {
      timing.cycles = std::max(timing.cycles, completion(core, core.scalar, Pipe::All));
      timing.events += core.end;
      timing.allWaves = std::max(timing.allWaves, core.input->waves.all);
      if (!core.input->works)
        continue;
      const bool cube = core.input->kind == CoreKind::AIC;
      ++(cube ? timing.aicCount : timing.aivCount);
      PipeUse *use = cube ? timing.aic : timing.aiv;
      for (unsigned pipe = 0; pipe < kNumPipes; ++pipe)
        use[pipe].busyCycles += core.pipes[pipe].busy;
      const double issuing = core.scalar.issued * chip.scalarIssue;
      use[index(Pipe::S)].busyCycles += core.scalar.worked + issuing;
      (cube ? timing.aicIssueCycles : timing.aivIssueCycles) += issuing;
    }
    for (unsigned pipe = 0; pipe < kNumPipes; ++pipe) {
      timing.aic[pipe].busyCycles /= std::max(1, timing.aicCount);
      timing.aiv[pipe].busyCycles /= std::max(1, timing.aivCount);
    }
    timing.aicIssueCycles /= std::max(1, timing.aicCount);
    timing.aivIssueCycles /= std::max(1, timing.aivCount);
    timing.microseconds = timing.cycles / chip.clockMHz;
    const int count = timing.aicCount + timing.aivCount;
    timing.launchMicroseconds = chip.launchA + chip.launchB * count;
    timing.launchWarmMicroseconds = chip.launchAWarm + chip.launchBWarm * count;
    timing.hbmBytes = static_cast<uint64_t>(hbmTotal);
    for (size_t i = 0; i < lineCycles.size(); ++i)
      result.lineCycles[i] = static_cast<uint64_t>(lineCycles[i]);
  }

  const Program &program;
  const machine::Machine &chip;
  const ClockOptions &options;
  RunResult &result;
  std::vector<Core> cores;
  std::vector<double> starts; ///< the rings of all pipes
  std::map<const RecordTable *, Prices> priceLists;
  RecordTable shapeNumbers;
  Calendar hbm, l2Port, aicPort; ///< aicPort: reads of all cube cores
  L2Cache cache;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
  std::deque<int32_t> ready; ///< cores that can go on before anybody's next transfer
  std::vector<double> lineCycles;
  double hbmTotal = 0;
};

} // namespace

void timeLaunch(const Program &program, const std::vector<CoreRecords> &cores,
                const machine::Machine &chip, const ClockOptions &options, RunResult &result) {
  static_assert(kAll == kNumPipes, "Pipe::All follows the pipes");
  result.timing = Timing();
  result.cores.clear();
  result.trace.clear();
  LaunchClock(program, cores, chip, options, result).run();
}

} // namespace tilewright::sim
