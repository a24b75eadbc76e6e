// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Engine.h"

#include "tilewright/sim/Clock.h"
#include "tilewright/sim/EngineGroup.h"
#include "tilewright/sim/Limits.h"
#include "tilewright/sim/Retime.h"
#include "tilewright/sim/Sensitivity.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <sched.h>
#include <thread>
#include <tuple>

using namespace tilewright::sim;
using tilewright::machine::Machine;

namespace {

/// Threads of a run: the option, else TILEWRIGHT_NUM_THREADS, else the CPUs this process may use.
int threadCount(int wanted) {
  if (wanted > 0)
    return wanted;
  if (const char *text = std::getenv("TILEWRIGHT_NUM_THREADS"))
    if (int value = std::atoi(text); value > 0)
      return std::min(value, 1024);
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

/// Gives every tensor a launch-wide address: 512-byte aligned, in argument order. Tensors that
/// share host memory share addresses.
void layOutGm(GmSpace &gm) {
  std::vector<size_t> order(gm.tensors.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(gm.tensors[a].data, a) < std::pair(gm.tensors[b].data, b);
  });
  // Host ranges that overlap form one region; regions are numbered by their first argument, so that
  // addresses do not depend on where the host put things.
  struct Region {
    uintptr_t low, high;
    size_t first;
    uint64_t address = 0;
  };
  std::vector<Region> regions;
  std::vector<size_t> regionOf(order.size());
  for (size_t i : order) {
    GmTensor &tensor = gm.tensors[i];
    uintptr_t low = uintptr_t(tensor.data), high = low + uintptr_t(tensor.bytes);
    bool isApart = regions.empty() || low >= regions.back().high || tensor.bytes == 0;
    if (isApart || !regions.back().low) // tensors without data share nothing
      regions.push_back({low, high, i});
    regionOf[i] = regions.size() - 1;
    Region &region = regions.back();
    region.high = std::max(region.high, high);
    region.first = std::min(region.first, i);
  }
  std::vector<Region *> byArgument;
  for (Region &region : regions)
    byArgument.push_back(&region);
  std::sort(byArgument.begin(), byArgument.end(),
            [](const Region *a, const Region *b) { return a->first < b->first; });
  uint64_t next = 512;
  for (Region *region : byArgument) {
    region->address = next;
    next += (uint64_t(region->high - region->low) + 511) / 512 * 512;
  }
  for (size_t i = 0; i < gm.tensors.size(); ++i) {
    const Region &region = regions[regionOf[i]];
    gm.tensors[i].region = int32_t(regionOf[i]);
    gm.tensors[i].offset = int64_t(uintptr_t(gm.tensors[i].data) - region.low);
    gm.tensors[i].address = region.address + uint64_t(gm.tensors[i].offset);
  }
  for (const Region &region : regions)
    gm.regionBytes.push_back(int64_t(region.high - region.low));
  gm.workspace.address = next;
}

/// What one group leaves behind.
struct GroupResult {
  std::vector<CoreRecords> records;
  std::vector<TraceCore> cores;
  std::vector<Finding> findings;
  std::string error;
  int32_t errorLocation = -1;
  bool needsData = false;
  struct Printed {
    int64_t block;
    std::string text;
  };
  std::vector<Printed> printed;
  uint64_t issued = 0;
  bool hasBlocks = false;
  std::optional<Lent<GmShadow>> gm; ///< where there is a checker
};

void collect(Group &group, GroupResult &result) {
  result.cores.reserve(group.cores.size());
  result.records.reserve(group.cores.size());
  for (CoreRun &core : group.cores) {
    result.cores.push_back({core.kind, core.records.group, core.records.sub});
    result.records.push_back(std::move(core.records));
    for (auto &[block, text] : core.printed)
      result.printed.push_back({block, std::move(text)});
    result.issued += core.issued;
    result.hasBlocks |= core.block >= 0;
  }
  result.error = std::move(group.error);
  result.errorLocation = group.errorLocation;
  result.needsData = group.needsData;
  result.findings = group.findings.take();
  if (group.checker)
    result.gm.emplace(group.checker->takeGmShadow());
}

/// Poisons a group's part of the workspace: its values are as undefined as on-chip memory.
void poisonWorkspace(const Launch &launch, int64_t number) {
  int64_t part = launch.program.workspaceBytesPerCore;
  if (part > 0 && launch.hasData)
    std::memset(launch.gm.workspace.data + number * part, kPoison, size_t(part));
}

/// Groups share nothing but GM they do not both write: one worker thread takes the next one.
void runParallel(const Launch &launch, std::vector<GroupResult> &results, int numThreads) {
  bool hasAic = !launch.program.aic.code.empty();
  int numAivs = launch.program.aiv.code.empty() ? 0 : (hasAic ? 2 : 1);
  std::atomic<size_t> next{0};
  // The first failing group decides: those before it still run to their end.
  std::atomic<size_t> firstFailed{results.size()};
  auto work = [&] {
    size_t number = 0;
    try {
      GroupMemoryHandle memory(launch.chip, hasAic, numAivs);
      GroupScratch scratch;
      while ((number = next.fetch_add(1)) < results.size()) {
        if (number > firstFailed.load())
          continue;
        if (launch.hasData)
          memory.poison();
        poisonWorkspace(launch, int64_t(number));
        Group group(launch, int64_t(number), *memory, scratch);
        group.runUntilStuck();
        group.finish();
        collect(group, results[number]);
        if (results[number].error.empty())
          continue;
        size_t failed = firstFailed.load();
        while (number < failed && !firstFailed.compare_exchange_weak(failed, number))
          ;
      }
    } catch (const std::bad_alloc &) {
      if (number < results.size())
        results[number].error = "out of memory";
      firstFailed = 0;
    }
  };
  size_t helpers = std::min(size_t(std::max(numThreads, 1)), results.size()) - 1;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < helpers; ++i) {
    try {
      threads.emplace_back(work);
    } catch (const std::system_error &) {
      break; // the threads that could be made do the work
    }
  }
  work();
  for (std::thread &thread : threads)
    thread.join();
}

/// Lets the cores of a kind go on together once all that have a block stand at the same meeting.
/// False: nobody can.
bool passMeeting(const Launch &launch, std::vector<std::unique_ptr<Group>> &groups,
                 FindingList &findings) {
  for (CoreKind kind : {CoreKind::AIC, CoreKind::AIV}) {
    std::optional<int64_t> id;
    bool isComplete = true;
    for (auto &group : groups)
      for (CoreRun &core : group->cores) {
        if (core.kind != kind || (core.status == CoreStatus::Halted && core.block < 0))
          continue;
        bool isHere = core.status == CoreStatus::AtMeeting;
        int64_t found = isHere ? core.program->code[core.vm.pc].imm : 0;
        isComplete = isComplete && isHere && found == id.value_or(found);
        id = found;
      }
    if (!id || !isComplete)
      continue;
    std::vector<GmShadow *> shadows;
    for (auto &group : groups)
      if (group->checker)
        shadows.push_back(&group->checker->gmShadow());
    checkAcrossGroups(launch.program, launch.gm, shadows, findings);
    for (auto &group : groups)
      group->passMeeting(kind);
    return true;
  }
  return false;
}

/// Logical block order: a core stops before each block and each atomic, and the one with the
/// smallest (block, atomic, group, core) goes on. Where all blocks meet, all of them go on
/// together.
void runOrdered(const Launch &launch, std::vector<GroupResult> &results, FindingList &findings) {
  bool hasAic = !launch.program.aic.code.empty();
  int numAivs = launch.program.aiv.code.empty() ? 0 : (hasAic ? 2 : 1);
  std::vector<GroupMemoryHandle> memories;
  std::vector<std::unique_ptr<Group>> groups;
  std::vector<std::unique_ptr<GroupScratch>> scratch;
  for (size_t i = 0; i < results.size(); ++i) {
    memories.emplace_back(launch.chip, hasAic, numAivs);
    if (launch.hasData)
      memories.back().poison();
    poisonWorkspace(launch, int64_t(i));
    scratch.push_back(std::make_unique<GroupScratch>());
    groups.push_back(std::make_unique<Group>(launch, int64_t(i), *memories.back(), *scratch[i]));
  }
  bool isFailed = false;
  auto go = [&](Group &group) {
    group.runUntilStuck();
    if (launch.isOrdered)
      group.drain(); // what another block reads next must be there
    isFailed = isFailed || group.failed();
  };
  for (auto &group : groups)
    if (!isFailed)
      go(*group);
  while (!isFailed) {
    using Key = std::tuple<int64_t, int64_t, size_t, int>;
    Key best;
    Group *chosen = nullptr;
    CoreRun *core = nullptr;
    for (size_t i = 0; i < groups.size(); ++i) {
      for (CoreRun &candidate : groups[i]->cores) {
        Key key;
        if (candidate.status == CoreStatus::AtBlock) {
          const Insn &insn = candidate.program->code[candidate.vm.pc];
          key = {candidate.vm.regs[insn.a], 0, i, candidate.index};
        } else if (candidate.status == CoreStatus::AtAtomic) {
          key = {candidate.block, candidate.atomics + 1, i, candidate.index};
        } else {
          continue;
        }
        if (chosen && best <= key)
          continue;
        best = key;
        chosen = groups[i].get();
        core = &candidate;
      }
    }
    if (chosen) {
      core->isAdmitted = true;
      go(*chosen);
      continue;
    }
    if (!passMeeting(launch, groups, findings))
      break;
    for (auto &group : groups)
      if (!isFailed)
        go(*group);
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    if (!isFailed || groups[i]->failed())
      groups[i]->finish();
    collect(*groups[i], results[i]);
  }
}

std::string checkArguments(const Program &program, const std::vector<TensorArg> &tensors,
                           const std::vector<int64_t> &scalars, const Machine &chip, bool hasData,
                           int32_t sampleWaves) {
  if (const char *reason = unsupportedCpuReason())
    return std::string("this CPU cannot run the simulator: ") + reason;
  if (tensors.size() != program.tensors.size())
    return "the program takes " + std::to_string(program.tensors.size()) + " tensors, got " +
           std::to_string(tensors.size());
  if (scalars.size() != size_t(program.numScalars))
    return "the program takes " + std::to_string(program.numScalars) + " scalars, got " +
           std::to_string(scalars.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].elements < 0 || (hasData && tensors[i].elements > 0 && !tensors[i].data))
      return "tensor " + program.tensors[i].name + " has no data";
  if (chip.aicCount <= 0 || chip.aivCount <= 0)
    return "the chip has no cores";
  if (sampleWaves < 0 || sampleWaves == 1)
    return "a sample has two waves of blocks at least, since the first one finds an empty L2; "
           "got " +
           std::to_string(sampleWaves);
  if (sampleWaves && hasData)
    return "only a run without data times a sample of its blocks";
  if (chip.aivCount < 2 * chip.aicCount && program.isMixed())
    return "the chip has fewer than two vector cores per cube core";
  return validate(program, chip);
}

bool hasMeetings(const CoreProgram &core) {
  return std::any_of(core.code.begin(), core.code.end(),
                     [](const Insn &insn) { return insn.op == Opcode::Meet; });
}

bool hasAtomics(const CoreProgram &core) {
  return std::any_of(core.templates.begin(), core.templates.end(), [](const Template &tmpl) {
    return isAtomic(tmpl.op) || isScalarAtomic(tmpl.op, tmpl.flags);
  });
}

/// False when the clock's answer is all that is wanted.
bool wantsData(const RunOptions &options) {
  return !options.time || !options.timeOnly || options.check || options.delaySeed ||
         options.mutation;
}

/// Puts the groups' results together in group order, printed text in block order.
void merge(std::vector<GroupResult> &groups, RunResult &result, FindingList &findings,
           std::vector<CoreRecords> &records) {
  std::map<int64_t, std::string> printed; // by block
  for (GroupResult &group : groups) {
    result.issued += group.issued;
    result.hasBlocks |= group.hasBlocks;
    for (Finding &finding : group.findings)
      findings.add(finding);
    if (result.ok && !group.error.empty()) {
      result.ok = false;
      result.error = group.error;
      result.errorLocation = group.errorLocation;
      result.needsData = group.needsData;
    }
    for (const GroupResult::Printed &one : group.printed)
      printed[one.block] += one.text;
    std::move(group.records.begin(), group.records.end(), std::back_inserter(records));
    result.cores.insert(result.cores.end(), group.cores.begin(), group.cores.end());
  }
  for (const auto &[block, text] : printed)
    result.printed += text;
}

/// The GM workspace of the last launch, kept because fresh pages are slow.
class WorkspaceStore {
public:
  static PoisonedBlock take(int64_t bytes) {
    std::lock_guard lock(mutex());
    if (kept().size() >= bytes)
      return std::move(kept());
    return PoisonedBlock(bytes);
  }
  static void giveBack(PoisonedBlock block) {
    std::lock_guard lock(mutex());
    if (block.size() > kept().size() || !kept().data())
      kept() = std::move(block);
  }

private:
  static std::mutex &mutex() {
    static auto *instance = new std::mutex;
    return *instance;
  }
  static PoisonedBlock &kept() {
    static auto *instance = new PoisonedBlock;
    return *instance;
  }
};

} // namespace

RunResult tilewright::sim::run(const Program &program, const std::vector<TensorArg> &tensors,
                               const std::vector<int64_t> &scalars, const Machine &chip,
                               const RunOptions &options) {
  RunResult result;
  result.error =
      checkArguments(program, tensors, scalars, chip, wantsData(options), options.sampleWaves);
  if (!result.error.empty()) {
    result.ok = false;
    return result;
  }
  try {
    Launch launch{program, chip, options, scalars};
    launch.hasData = wantsData(options);
    if (!launch.hasData) {
      launch.aicSlice.emplace(program.aic);
      launch.aivSlice.emplace(program.aiv);
    }
    bool isVector = program.aic.code.empty();
    launch.coreCount = isVector ? chip.aivCount : chip.aicCount;
    launch.isOrdered = program.usesAtomics || hasAtomics(program.aic) || hasAtomics(program.aiv);
    for (size_t i = 0; i < tensors.size(); ++i)
      launch.gm.tensors.push_back({static_cast<std::byte *>(tensors[i].data),
                                   tensors[i].elements * int64_t(byteSize(program.tensors[i].type)),
                                   0, tensors[i].isComputed});
    layOutGm(launch.gm);
    int64_t workspaceBytes = std::max<int64_t>(program.workspaceBytesPerCore, 0) * launch.coreCount;
    PoisonedBlock workspace;
    if (workspaceBytes > 0) {
      workspace = WorkspaceStore::take(workspaceBytes);
      launch.gm.workspace.data = workspace.data();
      launch.gm.workspace.bytes = workspaceBytes;
    }

    std::vector<GroupResult> groups(static_cast<size_t>(launch.coreCount));
    FindingList findings;
    if (launch.isOrdered || hasMeetings(program.aic) || hasMeetings(program.aiv))
      runOrdered(launch, groups, findings);
    else
      runParallel(launch, groups, threadCount(options.numThreads));
    if (workspaceBytes > 0)
      WorkspaceStore::giveBack(std::move(workspace));

    std::vector<CoreRecords> records;
    merge(groups, result, findings, records);
    if (options.check && result.ok) {
      std::vector<GmShadow *> shadows;
      for (GroupResult &group : groups)
        if (group.gm)
          shadows.push_back(&**group.gm);
      checkAcrossGroups(program, launch.gm, shadows, findings);
    }
    result.findings = findings.take();
    if (!options.time || !result.ok)
      return result;
    result.cores.clear(); // the clock lists them itself
    timeLaunch(program, records, chip, {.trace = options.trace}, result);
    if (options.limits && !result.timing.timedWaves)
      result.limits = limitsOf(records, result.timing, chip);
    if (!options.uncertain.empty())
      result.sensitivity =
          sensitivityOf(program, records, chip, options.uncertain, result.timing.microseconds,
                        options.isSensitivityWhole ? SIZE_MAX : kSampledRecords);
    if (options.store)
      result.stored = std::make_shared<const StoredLaunch>(std::move(records), chip);
  } catch (const std::bad_alloc &) {
    result.ok = false;
    result.error = "out of memory";
  }
  return result;
}
