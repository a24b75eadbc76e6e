// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/EngineGroup.h"

using namespace tilewright::sim;

/// Counts the blocks of a core, and the events of those that a sample has and leaves out.
void Group::beginWave(CoreRun &core) {
  WaveSample &waves = core.records.waves;
  const int32_t number = ++waves.all, wanted = launch.options.sampleWaves;
  if (!wanted || launch.hasData)
    return;
  waves.warming = wanted / 2;
  if (number == waves.warming + 1)
    waves.warmingEvents = uint64_t(core.steps);
  if (number != wanted + 1)
    return;
  recordScalarWork(core);
  core.isLeftOut = true;
  waves.timed = wanted;
  waves.timedEvents = uint64_t(core.steps);
}

void Group::endWaves(CoreRun &core) {
  WaveSample &waves = core.records.waves;
  if (core.isLeftOut) {
    waves.leftOutEvents = uint64_t(core.steps) - waves.timedEvents;
    return;
  }
  waves.timed = waves.all;
  waves.timedEvents = uint64_t(core.steps);
}

/// Of a block that the sample leaves out only what control depends on is carried out; events are
/// neither set nor waited for, and signals are sent for those who still wait in a timed block.
bool Group::isCountedOnly(CoreRun &core, const Insn &insn) {
  switch (insn.op) {
  case Opcode::Issue:
    return core.prepared[insn.imm].pipe != Pipe::S && !core.slice->readsTiles();
  case Opcode::Meet:
    return false; // all blocks of such a launch are timed
  case Opcode::BlockSet:
    if (const int64_t id = signalId(core, insn); isSignalId(insn, id) && cores.size() > 1)
      forEachCounter(core, true, id, [](BlockCounter &counter) { ++counter.open; });
    return true;
  case Opcode::SetFlag:
  case Opcode::WaitFlag:
  case Opcode::Barrier:
  case Opcode::BlockWait:
    return true;
  default:
    return false;
  }
}
