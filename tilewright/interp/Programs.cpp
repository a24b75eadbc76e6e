// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks whose author divides the work: the cube core and the vector cores run programs of their
// own, which take turns where one waits for another. One program runs at any time, and who goes
// next does not depend on the host, so results are the same each time.

#include "tilewright/interp/Machine.h"
#include "tilewright/interp/Shadow.h"
#include "tilewright/tile/CoreOps.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

using namespace mlir;

namespace tilewright::interp {

/// A launch by cores always has both beside a cube core; else one stands for both where nothing
/// tells them apart.
static bool hasTwoVectorCores(tile::LaunchOp launch) {
  if (!tile::isByCore(launch))
    return tile::usesSubCoreId(launch);
  return launch.getBody()
      .walk([](Operation *op) {
        return tile::coreOf(op) == Core::AIC ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

class Programs {
public:
  using Block = std::array<int64_t, 3>;
  Programs(Machine &parent, const Node &launch, ArrayRef<Block> blocks);

  /// Runs all programs to their ends, or until something failed.
  void run();

  void set(Machine &m, int64_t id);
  void wait(Machine &m, const Node &node, int64_t id);
  void meet(Machine &m, const Node &node, int64_t id, bool allBlocks);

  /// Memory of an exchange tile of the block that `m` works on.
  std::vector<char> &shared(Machine &m, uint32_t index) { return exchange[{of(m).group, index}]; }

private:
  struct Program {
    Program(const Machine &parent, size_t group, Core core, int64_t subCore)
        : machine(parent, core, subCore), group(group) {}

    Machine machine;
    size_t group; ///< the programs of a block, of those that run together
    Frame frame;
    std::unique_ptr<Shadow> shadow;
    bool isDone = false;
    const Node *waitsAt = nullptr;
    int64_t waitsFor = 0;
    enum class Wait { Signal, Siblings, AllBlocks } wait = Wait::Signal;
    /// How often it has come to each barrier.
    std::map<std::pair<Wait, int64_t>, int64_t> arrivals;
    /// Of a vector core: signals to it, and from it to the cube core, that nobody has taken.
    std::map<int64_t, int64_t> toVector, toCube;
  };

  using Wait = Program::Wait;

  Machine &parent;
  const Node &launch;
  std::map<std::pair<size_t, uint32_t>, std::vector<char>> exchange;
  std::deque<Program> programs;
  std::mutex mutex;
  std::condition_variable changed;
  Program *turn = nullptr;

  Program &of(const Machine &m) {
    return *llvm::find_if(programs, [&](Program &program) { return &program.machine == &m; });
  }
  template <class Fn>
  void forEachCounter(Program &self, bool isSet, Fn fn);
  bool canPass(Program &self);
  void block(Program &self, const Node &node, Wait wait, int64_t id);
  void giveTurn(Program &self);
  void reportDeadlock();
};

Programs::Programs(Machine &parent, const Node &launch, ArrayRef<Block> blocks)
    : parent(parent), launch(launch) {
  bool hasTwo = hasTwoVectorCores(cast<tile::LaunchOp>(launch.op));
  for (auto [group, block] : llvm::enumerate(blocks)) {
    parent.block = block; // which the machines below take over
    programs.emplace_back(parent, group, Core::AIC, 0);
    for (int64_t subCore = 0; subCore < (hasTwo ? 2 : 1); ++subCore)
      programs.emplace_back(parent, group, Core::AIV, subCore);
  }
  for (Program &program : programs) {
    program.frame.slots = parent.frame->slots;
    for (auto [dim, argument] : llvm::enumerate(launch.bodies[0].arguments))
      program.frame.slots[argument].setInteger(program.machine.block[dim]);
    program.frame.buffers.resize(parent.frame->buffers.size());
    program.machine.frame = &program.frame;
    program.machine.programs = this;
    if (!parent.shadow)
      continue;
    program.shadow = std::make_unique<Shadow>(parent.shadow->comparison, parent,
                                              parent.frame->slots.size(), launch.op->getLoc());
    program.shadow->share(*parent.shadow);
    program.machine.shadow = program.shadow.get();
  }
}

void Programs::run() {
  turn = &programs.front();
  std::mutex ending;
  std::condition_variable ended;
  size_t running = programs.size();
  std::vector<std::thread> threads;
  for (Program &program : programs)
    threads.emplace_back([&, this] {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return turn == &program; });
      if (!program.machine.failed())
        program.machine.run(launch.bodies[0]);
      program.isDone = true;
      giveTurn(program);
      lock.unlock();
      std::lock_guard guard(ending);
      --running;
      ended.notify_one();
    });
  {
    std::unique_lock lock(ending);
    while (!ended.wait_for(lock, std::chrono::milliseconds(50), [&] { return running == 0; }))
      parent.listen();
  }
  for (std::thread &thread : threads)
    thread.join();
}

/// Calls `fn` with each counter that a signal of this core raises, or that its wait lowers: the
/// cube core speaks to, and waits for, all vector cores.
template <class Fn>
void Programs::forEachCounter(Program &self, bool isSet, Fn fn) {
  bool isCube = self.machine.core == Core::AIC;
  for (Program &program : programs)
    if (program.machine.core == Core::AIV && program.group == self.group &&
        (isCube || &program == &self))
      fn(isCube == isSet ? program.toVector : program.toCube);
}

bool Programs::canPass(Program &self) {
  if (self.wait != Wait::Signal) {
    std::pair<Wait, int64_t> barrier(self.wait, self.waitsFor);
    return llvm::all_of(programs, [&](Program &other) {
      bool isConcerned = other.machine.core == self.machine.core &&
                         (self.wait == Wait::AllBlocks || other.group == self.group);
      return !isConcerned || other.arrivals[barrier] >= self.arrivals[barrier];
    });
  }
  bool isOpen = true;
  forEachCounter(self, /*isSet=*/false,
                 [&](auto &counters) { isOpen &= counters[self.waitsFor] > 0; });
  return isOpen;
}

/// Lets the next program go on that can. After a failure each one gets a last turn to return.
void Programs::giveTurn(Program &self) {
  size_t at = 0;
  while (&programs[at] != &self)
    ++at;
  turn = nullptr;
  for (int attempt = 0; attempt < 2 && !turn; ++attempt) {
    for (size_t step = 1; step <= programs.size() && !turn; ++step) {
      Program &next = programs[(at + step) % programs.size()];
      if (!next.isDone && (parent.failed() || !next.waitsAt || canPass(next)))
        turn = &next;
    }
    if (turn || llvm::all_of(programs, [](Program &program) { return program.isDone; }))
      break;
    reportDeadlock();
  }
  changed.notify_all();
}

void Programs::reportDeadlock() {
  std::string text;
  const Program *first = nullptr;
  for (const Program &program : programs) {
    if (program.isDone)
      continue;
    bool isCube = program.machine.core == Core::AIC;
    if (first && programs.size() > 3 && program.waitsFor == first->waitsFor)
      continue; // one of many blocks
    text += (first ? ", " : "") +
            (isCube ? "the cube core" : "vector core " + std::to_string(program.machine.subCore)) +
            (program.wait == Wait::Signal      ? " waits for signal "
             : program.wait == Wait::AllBlocks ? " waits in T.block_barrier "
                                               : " waits in T.subblock_barrier ") +
            std::to_string(program.waitsFor);
    first = first ? first : &program;
  }
  parent.fail(*first->waitsAt,
              "E0902: deadlock: " + text +
                  (first->wait == Wait::Signal ? ", which nobody sends"
                                               : ", to which not all others come"));
}

void Programs::set(Machine &m, int64_t id) {
  forEachCounter(of(m), /*isSet=*/true, [&](auto &counters) { ++counters[id]; });
}

/// Lets others run until `self` can go on.
void Programs::block(Program &self, const Node &node, Wait wait, int64_t id) {
  self.wait = wait;
  self.waitsFor = id;
  self.waitsAt = &node;
  if (!canPass(self)) {
    // This thread holds the lock whenever its program runs.
    std::unique_lock lock(mutex, std::adopt_lock);
    giveTurn(self);
    changed.wait(lock, [&] { return turn == &self; });
    lock.release();
  }
  if (!self.machine.failed())
    self.waitsAt = nullptr;
}

void Programs::wait(Machine &m, const Node &node, int64_t id) {
  Program &self = of(m);
  block(self, node, Wait::Signal, id);
  if (!m.failed())
    forEachCounter(self, /*isSet=*/false, [&](auto &counters) { --counters[id]; });
}

void Programs::meet(Machine &m, const Node &node, int64_t id, bool allBlocks) {
  Program &self = of(m);
  Wait wait = allBlocks ? Wait::AllBlocks : Wait::Siblings;
  ++self.arrivals[{wait, id}];
  block(self, node, wait, id);
}

char *sharedMemory(Machine &m, uint32_t index, int64_t bytes) {
  std::vector<char> &memory = m.programs->shared(m, index);
  memory.resize(bytes);
  return memory.data();
}

void runPrograms(Machine &parent, const Node &launch, ArrayRef<std::array<int64_t, 3>> blocks) {
  Programs(parent, launch, blocks).run();
}

namespace {

void runSubCoreId(Machine &m, const Node &node) { m.slot(node.results[0]).setInteger(m.subCore); }
void runCoreId(Machine &m, const Node &node) { m.slot(node.results[0]).setInteger(0); }
void runCoreCount(Machine &m, const Node &node) { m.slot(node.results[0]).setInteger(1); }
void runBeginBlock(Machine &m, const Node &node) { m.block = {m.integer(node.operands[0]), 0, 0}; }
void runBlockSet(Machine &m, const Node &node) { m.programs->set(m, m.integer(node.operands[0])); }
void runBlockWait(Machine &m, const Node &node) {
  m.programs->wait(m, node, m.integer(node.operands[0]));
}
void runCoreBarrier(Machine &m, const Node &node) {
  auto barrier = cast<tile::CoreBarrierOp>(node.op);
  m.programs->meet(m, node, barrier.getId(), barrier.getAllBlocks());
}

} // namespace

ArrayRef<HandlerEntry> programHandlers() {
  static const HandlerEntry kEntries[] = {
      {"tile.sub_core_id", runSubCoreId},    {"tile.core_id", runCoreId},
      {"tile.core_count", runCoreCount},     {"tile.begin_block", runBeginBlock},
      {"tile.block_set", runBlockSet},       {"tile.block_wait", runBlockWait},
      {"tile.core_barrier", runCoreBarrier},
  };
  return kEntries;
}

} // namespace tilewright::interp
