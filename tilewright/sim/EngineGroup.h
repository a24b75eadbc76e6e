// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/Checker.h"
#include "tilewright/sim/Clock.h"
#include "tilewright/sim/ControlSlice.h"
#include "tilewright/sim/Delay.h"
#include "tilewright/sim/EngineIssue.h"
#include "tilewright/sim/FlagTable.h"
#include "tilewright/sim/HappensBefore.h"
#include "tilewright/sim/Record.h"
#include "tilewright/sim/Vm.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::sim {

/// What all groups of one launch share; read only while they run.
struct Launch {
  const Program &program;
  const machine::Machine &chip;
  const RunOptions &options;
  const std::vector<int64_t> &scalars;
  GmSpace gm = {};
  int64_t coreCount = 0;  ///< runners
  bool isOrdered = false; ///< logical block order over all groups
  bool hasData = true;    ///< false: for the clock alone
  std::optional<ControlSlice> aicSlice = {},
                              aivSlice = {}; ///< without data: what must be read all the same
};

/// Why a core stopped running.
enum class CoreStatus : uint8_t {
  Ready,     ///< its slice is over
  Blocked,   ///< BlockWait without a signal
  AtBlock,   ///< before BeginBlock, in ordered launches
  AtAtomic,  ///< before an atomic, in ordered launches
  AtMeeting, ///< where all blocks meet
  Halted,
  Failed, ///< the group's error says why
};

/// One core of a group: its scalar machine, memories bound to its templates, open flags, records.
struct CoreRun {
  CoreKind kind = CoreKind::AIC;
  int index = 0; ///< 0: AIC, 1 and 2: AIVs
  const CoreProgram *program = nullptr;
  VmState vm;
  VmContext context;
  std::vector<Prepared> prepared;
  CoreRecords records;
  CoreStatus status = CoreStatus::Ready;
  int64_t block = -1;
  int64_t atomics = 0;     ///< issued in this block
  bool isAdmitted = false; ///< may pass the BeginBlock, atomic or meeting that it stands at
  bool isLeftOut = false;  ///< this block is not in the sample of timed ones
  int64_t scalarMark = 0;  ///< scalar instructions already told to the clock
  int64_t steps = 0;       ///< engine events, part of the watchdog's count
  uint64_t issued = 0;
  struct Flag {
    int32_t open = 0, location = -1;
  };
  FlagTable<Flag> flags;
  std::vector<std::pair<int64_t, std::string>> printed; ///< block, text
  const ControlSlice *slice = nullptr;                  ///< without data
  std::optional<KnownBytes> known;                      ///< of UB, where the slice reads tiles
};

/// Open cross-core signals of a group.
struct BlockCounter {
  int32_t open = 0, location = -1;
};

/// What one worker hands from group to group: templates bound to its memories, shadow memories,
/// clocks, the instructions seen so far.
struct GroupScratch {
  std::array<std::vector<Prepared>, kGroupCores> prepared;
  std::array<size_t, kGroupCores> numRecords{}; ///< of the group before, as a guess
  std::optional<Lent<CheckerMemory>> checker;   ///< when asked for
  std::optional<Lent<HappensBefore>> order;     ///< when something asks for it
  std::shared_ptr<RecordTable> table = std::make_shared<RecordTable>();
};

/// One AIC with its AIVs, or a single AIV: the unit that runs on one host thread. Cores take turns
/// where they wait for each other; nothing here looks at the host's time.
class Group {
public:
  Group(const Launch &launch, int64_t number, GroupMemory &memory, GroupScratch &scratch);

  /// Runs all cores until nothing can go on: done, waiting for admission (ordered launches),
  /// failed.
  void runUntilStuck();

  /// Lets pending instructions take effect.
  void drain();

  /// Ends the group: deadlocks, unconsumed flags. Gives the scratch back.
  void finish();

  bool failed() const { return !error.empty(); }

  /// Lets the cores of a kind go on from where all blocks meet.
  void passMeeting(CoreKind kind);

  int64_t number = 0;
  std::vector<CoreRun> cores;
  std::string error;
  int32_t errorLocation = -1;
  bool needsData = false; ///< the error is that a run without data cannot go on
  FindingList findings;
  std::unique_ptr<Checker> checker;

private:
  const Launch &launch;
  GroupScratch &scratch;
  BlockCounter toAiv[2][kBlockSignals], toAic[2][kBlockSignals];
  HappensBefore *order = nullptr; ///< when something asks for it
  std::unique_ptr<Delay> delay;

  CoreStatus runCore(CoreRun &core, int64_t maxEvents);
  bool runDelayed();
  std::optional<CoreStatus> handle(CoreRun &core, const Insn &insn);
  CoreStatus fail(CoreRun &core, FindingKind kind, int32_t location, const std::string &text,
                  const std::string &memory = {}, const std::string &edge = {});
  void report(CoreRun &core, FindingKind kind, int32_t location, int32_t other,
              const std::string &text, const std::string &edge);

  std::optional<CoreStatus> issue(CoreRun &core, const Insn &insn);
  void scalarAccess(CoreRun &core, Prepared &prepared);
  std::optional<CoreStatus> withoutData(CoreRun &core, Prepared &prepared);
  bool isKnown(const CoreRun &core, const Prepared &prepared, unsigned operand) const;
  std::optional<CoreStatus> setFlag(CoreRun &core, const Insn &insn, bool isDropped);
  std::optional<CoreStatus> waitFlag(CoreRun &core, const Insn &insn);
  std::optional<CoreStatus> blockSet(CoreRun &core, const Insn &insn, bool isDropped);
  std::optional<CoreStatus> blockWait(CoreRun &core, const Insn &insn);
  std::optional<CoreStatus> meet(CoreRun &core, const Insn &insn);
  bool canPassBlockWait(const CoreRun &core);
  bool isRunnable(const CoreRun &core);

  /// Calls `fn` with each counter that a BlockSet raises (isSet) or a BlockWait lowers.
  template <typename Fn>
  void forEachCounter(const CoreRun &core, bool isSet, int64_t id, Fn fn) {
    if (id >= kSiblings) // the AIVs are cores 1 and 2
      return fn(toAiv[isSet ? 2 - core.index : core.index - 1][id]);
    if (core.kind == CoreKind::AIV)
      return fn(isSet ? toAic[core.index - 1][id] : toAiv[core.index - 1][id]);
    for (int aiv = 0; aiv + 1 < int(cores.size()); ++aiv)
      fn(isSet ? toAiv[aiv][id] : toAic[aiv][id]);
  }
  void print(CoreRun &core, const Insn &insn);

  bool isMutated(const CoreRun &core, const Insn &insn) const;
  int64_t flagId(const CoreRun &core, const Insn &insn) const {
    return insn.a >= 0 ? core.vm.regs[insn.a] : insn.imm;
  }
  /// Number of a cross-core signal.
  int64_t signalId(const CoreRun &core, const Insn &insn) const {
    if (insn.p1 == Pipe::All)
      return kEndOfBlock;
    return flagId(core, insn) + (insn.isSibling ? kSiblings : 0);
  }
  bool isSignalId(const Insn &insn, int64_t id) const {
    if (insn.isSibling)
      id -= kSiblings;
    return insn.p1 == Pipe::All || (id >= 0 && id < launch.chip.blockFlagIds && id < kMaxFlagIds);
  }
  /// Whether the clock is to know of what `core` does.
  bool isRecording(const CoreRun &core) const { return launch.options.time && !core.isLeftOut; }
  void beginWave(CoreRun &core);
  void endWaves(CoreRun &core);
  bool isInterrupted(const Insn &insn);
  bool isCountedOnly(CoreRun &core, const Insn &insn);
  void recordScalarWork(CoreRun &core);
  void recordIssue(CoreRun &core, Prepared &prepared);
  void recordTransfer(CoreRun &core, Prepared &prepared);
  void recordSync(CoreRun &core, RecordKind kind, Pipe pipe, Pipe other, int64_t id);
  void recordBlock(CoreRun &core);
};

/// Text of a Print: the message, then the tile or the scalar where there is one.
std::string printText(const PrintSpec &spec, const Prepared *tile, const int64_t *value);

} // namespace tilewright::sim
