// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/EngineGroup.h"

#include "tilewright/sim/Names.h"

#include <limits>
#include <set>

using namespace tilewright::sim;

namespace {

std::string coreName(const CoreRun &core) {
  std::string text = nameOf(core.kind);
  if (core.kind == CoreKind::AIV)
    text += " " + std::to_string(core.index - 1);
  return text;
}

/// A product that ignores what its accumulator holds.
bool startsFromZero(const ResolvedOp &op) { return op.op == TileOp::Mmad && op.scalars[0] != 0; }

/// The worker's clocks, as new.
HappensBefore *orderOf(GroupScratch &scratch, int numAivs, int maxOutstanding) {
  if (!scratch.order)
    scratch.order.emplace();
  HappensBefore &order = **scratch.order;
  order.reset(numAivs, maxOutstanding);
  return &order;
}

CheckerMemory &checkerMemoryOf(GroupScratch &scratch) {
  if (!scratch.checker)
    scratch.checker.emplace();
  return **scratch.checker;
}

/// The lanes whose work a dropped instruction no longer waits for.
HeldLanes heldLanes(const Program &program, const Mutation &mutation) {
  const CoreProgram &core = mutation.core == CoreKind::AIC ? program.aic : program.aiv;
  HeldLanes held{mutation.core, Pipe::All};
  if (size_t(mutation.codeIndex) >= core.code.size())
    return held;
  const Insn &insn = core.code[mutation.codeIndex];
  if (insn.op != Opcode::BlockWait) {
    held.pipe = insn.p0;
    return held;
  }
  // The producer is on the other kind of core: where it signals this id.
  held.core = mutation.core == CoreKind::AIC ? CoreKind::AIV : CoreKind::AIC;
  const CoreProgram &other = held.core == CoreKind::AIC ? program.aic : program.aiv;
  bool isFirst = true;
  for (const Insn &candidate : other.code) {
    if (candidate.op != Opcode::BlockSet || candidate.a != insn.a || candidate.imm != insn.imm)
      continue;
    if (!isFirst && held.pipe != candidate.p0)
      held.pipe = Pipe::All;
    else
      held.pipe = candidate.p0;
    isFirst = false;
  }
  return held;
}

} // namespace

Group::Group(const Launch &launch, int64_t number, GroupMemory &memory, GroupScratch &scratch)
    : number(number), launch(launch), scratch(scratch) {
  const Program &program = launch.program;
  bool hasAic = !program.aic.code.empty();
  int numAivs = program.aiv.code.empty() ? 0 : (hasAic ? 2 : 1);
  std::vector<CoreKind> kinds = {CoreKind::AIC, CoreKind::AIV, CoreKind::AIV};
  cores.reserve(kinds.size());
  for (int index = hasAic ? 0 : 1; index <= numAivs; ++index) {
    CoreRun &core = cores.emplace_back();
    core.index = index;
    core.kind = kinds[index];
    core.program = core.kind == CoreKind::AIC ? &program.aic : &program.aiv;
    core.vm.regs.assign(size_t(std::max(core.program->numRegs, 1)), 0);
    core.context.code = core.program->code.data();
    core.context.scalarArgs = launch.scalars.data();
    core.context.coreId = number;
    core.context.coreCount = launch.coreCount;
    core.context.subCoreId = hasAic && index > 0 ? index - 1 : 0;
    core.records.records.reserve(scratch.numRecords[size_t(index)]);
    core.records.kind = core.kind;
    core.records.table = scratch.table;
    core.records.group = int32_t(number);
    core.records.sub = int32_t(core.context.subCoreId);
    std::vector<Prepared> &prepared = scratch.prepared[size_t(index)];
    if (prepared.empty())
      prepared = prepareTemplates(program, *core.program, memory.cores[size_t(index)], launch.gm);
    core.prepared = std::move(prepared);
    for (Prepared &prepared : core.prepared)
      prepared.ready = false;
    const auto &slice = core.kind == CoreKind::AIC ? launch.aicSlice : launch.aivSlice;
    core.slice = slice ? &*slice : nullptr;
    if (slice && slice->readsTiles())
      core.known.emplace(spaceBytes(launch.chip, core.kind, Space::UB));
  }

  const RunOptions &options = launch.options;
  bool isHolding = options.mutation && options.mutation->kind == Mutation::Kind::HoldProducer;
  bool isDelayed = options.delaySeed.has_value() || isHolding;
  if (options.check || isDelayed)
    order = orderOf(scratch, numAivs, launch.chip.blockFlagMaxOutstanding);
  if (options.check)
    checker = std::make_unique<Checker>(program, launch.chip, *order, kinds, launch.gm,
                                        checkerMemoryOf(scratch), findings);
  if (isDelayed) {
    HeldLanes held;
    if (isHolding)
      held = heldLanes(program, *options.mutation);
    delay = std::make_unique<Delay>(options.delaySeed.value_or(0), number, kinds,
                                    isHolding ? &held : nullptr);
  }
}

/// Stops the group with a finding.
CoreStatus Group::fail(CoreRun &core, FindingKind kind, int32_t location, const std::string &text,
                       const std::string &memory, const std::string &edge) {
  error = std::string(codeOf(kind)) + ": " + text;
  errorLocation = location;
  findings.add({.kind = kind,
                .message = text,
                .location = location,
                .block = core.block,
                .memory = memory,
                .edge = edge});
  return CoreStatus::Failed;
}

/// A finding of the checker; the run goes on.
void Group::report(CoreRun &core, FindingKind kind, int32_t location, int32_t other,
                   const std::string &text, const std::string &edge) {
  if (launch.options.check)
    findings.add({.kind = kind,
                  .message = text,
                  .location = location,
                  .otherLocation = other,
                  .block = core.block,
                  .edge = edge});
}

bool Group::isMutated(const CoreRun &core, const Insn &insn) const {
  const std::optional<Mutation> &mutation = launch.options.mutation;
  return mutation && mutation->core == core.kind &&
         &insn - core.program->code.data() == mutation->codeIndex;
}

bool Group::isRunnable(const CoreRun &core) {
  return core.status == CoreStatus::Ready || core.isAdmitted ||
         (core.status == CoreStatus::Blocked && canPassBlockWait(core));
}

void Group::runUntilStuck() {
  if (delay) {
    while (!failed() && runDelayed())
      ;
    return;
  }
  bool isGoing = true;
  while (isGoing) {
    isGoing = false;
    for (CoreRun &core : cores) {
      if (!isRunnable(core))
        continue;
      core.status = runCore(core, std::numeric_limits<int64_t>::max());
      if (core.status == CoreStatus::Failed)
        return;
      isGoing = true;
    }
  }
}

/// One slice of one core, both chosen at random. False when none can go on.
bool Group::runDelayed() {
  unsigned runnable = 0;
  for (size_t i = 0; i < cores.size(); ++i)
    if (isRunnable(cores[i]))
      runnable |= 1u << i;
  if (!runnable)
    return false;
  CoreRun &core = cores[size_t(delay->pickCore(runnable))];
  core.status = runCore(core, delay->pickSlice());
  if (!delay->fault().empty() && !failed())
    core.status = fail(core, FindingKind::OutOfBounds, -1, delay->fault());
  return true;
}

void Group::drain() {
  if (!delay || failed())
    return;
  delay->drain();
  if (!delay->fault().empty())
    fail(cores.front(), FindingKind::OutOfBounds, -1, delay->fault());
}

/// Whether somebody wants the run to end; it does with an error then, and no finding.
bool Group::isInterrupted(const Insn &insn) {
  if (!launch.options.isInterrupted || !launch.options.isInterrupted())
    return false;
  error = "interrupted";
  errorLocation = insn.location;
  return true;
}

CoreStatus Group::runCore(CoreRun &core, int64_t maxEvents) {
  constexpr int64_t kPollMask = (1 << 14) - 1; // events between two questions: some milliseconds
  int64_t limit = launch.options.maxInstructions;
  for (int64_t event = 0; event < maxEvents; ++event) {
    VmStop stop = runVm(core.vm, core.context, limit - core.steps);
    const Insn &insn = core.program->code[core.vm.pc];
    if ((++core.steps & kPollMask) == 0 && isInterrupted(insn))
      return CoreStatus::Failed;
    if (stop == VmStop::Watchdog)
      return fail(core, FindingKind::Watchdog, insn.location,
                  coreName(core) + " ran " + std::to_string(limit) +
                      " scalar instructions without an end (" +
                      locationText(launch.program, insn.location) + ")");
    if (std::optional<CoreStatus> status = handle(core, insn))
      return *status;
    ++core.vm.pc;
    if (insn.op == Opcode::BlockSet)
      break; // who waits for it goes first: a race then shows in the order that was meant
  }
  return CoreStatus::Ready;
}

/// Carries out the event at the program counter. Empty: go on with the next instruction; else the
/// core stays where it is.
std::optional<CoreStatus> Group::handle(CoreRun &core, const Insn &insn) {
  const Program &program = launch.program;
  if (isMutated(core, insn) && launch.options.mutation->kind == Mutation::Kind::Delete)
    return std::nullopt;
  if (core.isLeftOut && isCountedOnly(core, insn))
    return std::nullopt;
  switch (insn.op) {
  case Opcode::Issue:
    return issue(core, insn);
  case Opcode::SetFlag:
    return setFlag(core, insn, isMutated(core, insn));
  case Opcode::WaitFlag:
    return waitFlag(core, insn);
  case Opcode::Barrier:
    if (isMutated(core, insn))
      return std::nullopt;
    recordSync(core, RecordKind::Barrier, insn.p0, insn.p0, 0);
    if (order)
      order->barrier(core.index, insn.p0);
    return std::nullopt;
  case Opcode::BlockSet:
    return blockSet(core, insn, isMutated(core, insn));
  case Opcode::BlockWait:
    return blockWait(core, insn);
  case Opcode::Meet:
    return meet(core, insn);
  case Opcode::BeginBlock: {
    int64_t block = core.vm.regs[insn.a];
    if (launch.isOrdered && !core.isAdmitted)
      return CoreStatus::AtBlock;
    core.isAdmitted = false;
    core.block = block;
    core.atomics = 0;
    beginWave(core);
    recordBlock(core);
    return std::nullopt;
  }
  case Opcode::Print:
    print(core, insn);
    return failed() ? std::optional(CoreStatus::Failed) : std::nullopt;
  case Opcode::Assert:
    return fail(core, FindingKind::AssertFailed, insn.location,
                "assertion failed: " + program.messages[insn.imm] + " (" +
                    locationText(program, insn.location) + ")");
  case Opcode::Halt:
    recordScalarWork(core);
    return CoreStatus::Halted;
  default:
    return fail(core, FindingKind::AssertFailed, insn.location,
                std::string("unexpected instruction ") + nameOf(insn.op));
  }
}

std::optional<CoreStatus> Group::issue(CoreRun &core, const Insn &insn) {
  Prepared &prepared = core.prepared[insn.imm];
  TileOp op = prepared.op.op;
  bool startsAtomic =
      isAtomic(op) || (op == TileOp::ScalarLoad && isScalarAtomic(op, prepared.op.flags));
  if (launch.isOrdered && startsAtomic) {
    if (!core.isAdmitted)
      return CoreStatus::AtAtomic;
    core.isAdmitted = false;
    ++core.atomics;
  }
  Fault fault;
  if (!resolve(prepared, core.vm.regs.data(), launch.program, fault))
    return fail(core, FindingKind::OutOfBounds, prepared.source->location, fault.text,
                fault.memory);
  ++core.issued;
  if (isRecording(core))
    recordIssue(core, prepared);

  if (checker)
    checker->alone(core.index, prepared, core.vm.regs.data(), core.block);
  if (order) {
    int lane = laneOf(core.index, prepared.pipe);
    if (prepared.isMacro) {
      int reads = laneOf(core.index, Pipe::MTE1);
      uint32_t readTick = order->begin(reads);
      if (checker) {
        checker->begin(reads, readTick, prepared.source);
        checker->access(reads, readTick, prepared, 1, false, core.block);
        checker->access(reads, readTick, prepared, 2, false, core.block);
      }
      Clock readClock = order->clock(reads);
      order->end(reads);
      uint32_t tick = order->beginAfter(lane, reads, readTick);
      if (checker) {
        checker->begin(lane, tick, prepared.source);
        if (!startsFromZero(prepared.op))
          checker->access(lane, tick, prepared, 0, false, core.block);
        checker->access(lane, tick, prepared, 0, true, core.block);
      }
      if (delay)
        delay->addMmad(prepared, reads, readTick, readClock, lane, tick, order->clock(lane));
      order->end(lane);
    } else {
      uint32_t tick = order->begin(lane);
      if (checker) {
        checker->begin(lane, tick, prepared.source);
        for (unsigned k = prepared.op.numOperands; k-- > 0;)
          if (prepared.operands[k].isRead && !(k == 0 && startsFromZero(prepared.op)))
            checker->access(lane, tick, prepared, k, false, core.block);
        if (prepared.operands[0].isWritten)
          checker->access(lane, tick, prepared, 0, true, core.block);
      }
      if (delay && prepared.pipe == Pipe::S)
        delay->force(order->clock(lane));
      else if (delay)
        delay->add(prepared, lane, tick, order->clock(lane));
      order->end(lane);
    }
  }

  if (!launch.hasData)
    return withoutData(core, prepared);
  if (prepared.pipe == Pipe::S) {
    scalarAccess(core, prepared);
    return std::nullopt;
  }
  if (delay)
    return std::nullopt;
  if (op == TileOp::Gather && gatherOutOfBounds(prepared.op))
    return fail(core, FindingKind::OutOfBounds, prepared.source->location,
                "gather (" + locationText(launch.program, prepared.source->location) +
                    "): an index is outside its table");
  perform(prepared);
  return std::nullopt;
}

void Group::scalarAccess(CoreRun &core, Prepared &prepared) {
  const ResolvedView &view = prepared.op.operands[0];
  if (prepared.op.op == TileOp::ScalarStore)
    storeScalar(view.data, view.type, prepared.op.scalars[0]);
  else
    core.vm.regs[prepared.source->resultReg] = loadScalar(view.data, view.type);
}

std::optional<CoreStatus> Group::setFlag(CoreRun &core, const Insn &insn, bool isDropped) {
  int64_t id = flagId(core, insn);
  if (id < 0 || id >= launch.chip.flagIdsPerPipePair || id >= kMaxFlagIds)
    return fail(core, FindingKind::OutOfBounds, insn.location,
                "event id " + std::to_string(id) + " is outside 0.." +
                    std::to_string(launch.chip.flagIdsPerPipePair - 1) + " (" +
                    locationText(launch.program, insn.location) + ")");
  recordSync(core, RecordKind::SetFlag, insn.p0, insn.p1, id);
  if (launch.options.time)
    core.records.records.back().isUnit = insn.isUnit;
  CoreRun::Flag &flag = core.flags.at(insn.p0, insn.p1, id);
  ++flag.open;
  flag.location = insn.location;
  if (!order)
    return std::nullopt;
  HappensBefore::SetResult result =
      order->setFlag(core.index, insn.p0, insn.p1, int(id), insn.location, isDropped);
  if (!result.isDouble && !result.isReuse)
    return std::nullopt;
  std::string pair =
      std::string(nameOf(insn.p0)) + "->" + nameOf(insn.p1) + " id " + std::to_string(id);
  std::string here = locationText(launch.program, insn.location);
  std::string there = locationText(launch.program, result.otherLocation);
  if (result.isDouble) {
    std::string edge = "a wait_flag between them";
    report(core, FindingKind::DoubleSet, insn.location, result.otherLocation,
           "set_flag " + pair + " at " + here + " while it is still set from " + there +
               "; needs " + edge,
           edge);
  } else {
    std::string edge = std::string("set_flag ") + nameOf(insn.p1) + "->" + nameOf(insn.p0) +
                       " after the wait, or another id";
    report(core, FindingKind::FlagReuse, insn.location, result.otherLocation,
           "set_flag " + pair + " at " + here + " may come before the wait_flag at " + there +
               " took the last one; needs " + edge,
           edge);
  }
  return std::nullopt;
}

std::optional<CoreStatus> Group::waitFlag(CoreRun &core, const Insn &insn) {
  bool isDropped = isMutated(core, insn);
  bool isHeld = isDropped && launch.options.mutation->kind == Mutation::Kind::HoldProducer;
  if (isDropped && !isHeld)
    return std::nullopt;
  int64_t id = flagId(core, insn);
  auto pair = [&] {
    return std::string(nameOf(insn.p0)) + "->" + nameOf(insn.p1) + " id " + std::to_string(id) +
           " (" + locationText(launch.program, insn.location) + ")";
  };
  if (id < 0 || id >= launch.chip.flagIdsPerPipePair || id >= kMaxFlagIds)
    return fail(core, FindingKind::OutOfBounds, insn.location,
                "wait_flag " + pair() + ": the event id is outside 0.." +
                    std::to_string(launch.chip.flagIdsPerPipePair - 1));
  CoreRun::Flag &flag = core.flags.at(insn.p0, insn.p1, id);
  if (flag.open == 0)
    return fail(core, FindingKind::Deadlock, insn.location,
                "deadlock: " + coreName(core) + " waits in wait_flag " + pair() +
                    " for a set_flag that never comes before it",
                {}, "a set_flag before the wait");
  recordSync(core, RecordKind::WaitFlag, insn.p0, insn.p1, id);
  --flag.open;
  if (order)
    order->waitFlag(core.index, insn.p0, insn.p1, int(id), insn.location, isHeld);
  return std::nullopt;
}

std::optional<CoreStatus> Group::blockSet(CoreRun &core, const Insn &insn, bool isDropped) {
  int64_t id = signalId(core, insn);
  if (!isSignalId(insn, id))
    return fail(core, FindingKind::OutOfBounds, insn.location,
                "cross-core id " + std::to_string(id) + " is outside 0.." +
                    std::to_string(launch.chip.blockFlagIds - 1) + " (" +
                    locationText(launch.program, insn.location) + ")");
  if (cores.size() < (insn.isSibling ? 3 : 2))
    return fail(core, FindingKind::Deadlock, insn.location,
                "block_set (" + locationText(launch.program, insn.location) +
                    ") in a launch with one core a group");
  recordSync(core, RecordKind::BlockSet, insn.p0, insn.isSibling ? Pipe::All : insn.p0,
             insn.isSibling ? id - kSiblings : id);
  forEachCounter(core, true, id, [&](BlockCounter &counter) {
    ++counter.open;
    counter.location = insn.location;
  });
  if (order && order->blockSet(core.index, insn.p0, int(id), insn.location, isDropped)) {
    std::string edge = "a block_wait for a signal from the other side";
    report(core, FindingKind::CounterOverflow, insn.location, -1,
           "block_set id " + std::to_string(id) + " at " +
               locationText(launch.program, insn.location) + ": more than " +
               std::to_string(launch.chip.blockFlagMaxOutstanding) +
               " signals may be outstanding; needs " + edge,
           edge);
  }
  return std::nullopt;
}

bool Group::canPassBlockWait(const CoreRun &core) {
  const Insn &insn = core.program->code[core.vm.pc];
  int64_t id = signalId(core, insn);
  bool isOpen = cores.size() > 1;
  forEachCounter(core, false, id,
                 [&](BlockCounter &counter) { isOpen = isOpen && counter.open > 0; });
  return isOpen;
}

std::optional<CoreStatus> Group::blockWait(CoreRun &core, const Insn &insn) {
  bool isDropped = isMutated(core, insn);
  bool isHeld = isDropped && launch.options.mutation->kind == Mutation::Kind::HoldProducer;
  if (isDropped && !isHeld)
    return std::nullopt;
  int64_t id = signalId(core, insn);
  if (!isSignalId(insn, id))
    return fail(core, FindingKind::OutOfBounds, insn.location,
                "cross-core id " + std::to_string(id) + " is outside 0.." +
                    std::to_string(launch.chip.blockFlagIds - 1) + " (" +
                    locationText(launch.program, insn.location) + ")");
  if (!canPassBlockWait(core))
    return CoreStatus::Blocked;
  recordSync(core, RecordKind::BlockWait, insn.p0, insn.isSibling ? Pipe::All : insn.p0,
             insn.isSibling ? id - kSiblings : id);
  forEachCounter(core, false, id, [](BlockCounter &counter) { --counter.open; });
  if (order)
    order->blockWait(core.index, insn.p0, int(id), insn.location, isHeld);
  return std::nullopt;
}

/// All blocks are wanted here: the engine lets them go on together.
std::optional<CoreStatus> Group::meet(CoreRun &core, const Insn &insn) {
  if (!core.isAdmitted)
    return CoreStatus::AtMeeting;
  core.isAdmitted = false;
  recordSync(core, RecordKind::Meet, insn.p0, insn.p0, 0);
  return std::nullopt;
}

void Group::passMeeting(CoreKind kind) {
  Clock known{};
  auto forEach = [&](auto fn) {
    for (CoreRun &core : cores)
      if (core.kind == kind && core.status == CoreStatus::AtMeeting)
        fn(core, core.program->code[core.vm.pc].p0);
  };
  if (order)
    forEach([&](CoreRun &core, Pipe pipe) {
      join<kLanes>(known.data(), order->arrived(core.index, pipe).data());
    });
  if (delay)
    delay->force(known);
  if (checker) {
    std::set<Pipe> pipes;
    forEach([&](CoreRun &, Pipe pipe) { pipes.insert(pipe); });
    for (Pipe pipe : pipes)
      checker->meet(kind, pipe, known);
  }
  forEach([&](CoreRun &core, Pipe pipe) {
    if (order)
      order->meet(core.index, pipe, kind, known);
    core.isAdmitted = true;
  });
}

void Group::print(CoreRun &core, const Insn &insn) {
  if (!launch.hasData)
    return;
  const PrintSpec &spec = launch.program.prints[insn.imm];
  drain();
  Prepared *tile = nullptr;
  if (spec.templateId >= 0) {
    tile = &core.prepared[spec.templateId];
    Fault fault;
    if (!resolve(*tile, core.vm.regs.data(), launch.program, fault)) {
      fail(core, FindingKind::OutOfBounds, insn.location, "print: " + fault.text, fault.memory);
      return;
    }
  }
  const int64_t *value = insn.a >= 0 ? &core.vm.regs[insn.a] : nullptr;
  core.printed.emplace_back(core.block, printText(spec, tile, value));
}

void Group::finish() {
  drain();
  bool isDone = true;
  if (!failed()) {
    std::string waits;
    CoreRun *first = nullptr;
    int32_t location = -1;
    for (CoreRun &core : cores) {
      if (core.status == CoreStatus::Halted)
        continue;
      isDone = false;
      const Insn &insn = core.program->code[core.vm.pc];
      waits += (waits.empty() ? "" : "; ") + coreName(core);
      if (insn.p1 == Pipe::All) {
        waits += " waits at the end of the block";
        continue;
      }
      const char *what = insn.op == Opcode::Meet ? "block_barrier"
                         : insn.isSibling        ? "subblock_barrier"
                                                 : "block_wait";
      waits += std::string(" waits in ") + what + " id " + std::to_string(flagId(core, insn)) +
               " on " + nameOf(insn.p0) + " (" + locationText(launch.program, insn.location) + ")";
      if (first)
        continue;
      first = &core;
      location = insn.location;
    }
    if (first)
      first->status = fail(*first, FindingKind::Deadlock, location,
                           "deadlock: " + waits + " for signals that never come", {},
                           "a block_set on the other side for each wait");
  }
  if (!failed() && isDone && launch.options.check) {
    for (CoreRun &core : cores) {
      core.flags.forEach([&](Pipe from, Pipe to, int64_t id, const CoreRun::Flag &flag) {
        if (flag.open > 0)
          report(core, FindingKind::UnconsumedFlag, flag.location, -1,
                 std::string("set_flag ") + nameOf(from) + "->" + nameOf(to) + " id " +
                     std::to_string(id) + " at " + locationText(launch.program, flag.location) +
                     " is never waited for",
                 "a wait_flag before the end");
      });
      for (int64_t id = 0; id < kMaxFlagIds && cores.size() > 1; ++id)
        forEachCounter(core, false, id, [&](BlockCounter &counter) {
          if (counter.open > 0)
            report(core, FindingKind::UnconsumedFlag, counter.location, -1,
                   "block_set id " + std::to_string(id) + " at " +
                       locationText(launch.program, counter.location) + " is never waited for by " +
                       coreName(core),
                   "a block_wait before the end");
        });
    }
  }
  for (CoreRun &core : cores) {
    scratch.prepared[size_t(core.index)] = std::move(core.prepared);
    scratch.numRecords[size_t(core.index)] = core.records.records.size();
    endWaves(core);
  }
}
