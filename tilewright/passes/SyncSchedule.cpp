// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/SyncSchedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::npu;
using namespace tilewright::passes::sync;

namespace {

/// An op whose boxes are all on V.
bool isVectorOp(Operation &op) {
  auto access = dyn_cast<AccessInterface>(op);
  auto pipes = dyn_cast<PipeInterface>(op);
  return access && pipes && llvm::all_of(llvm::seq(0u, access.getNumBoxes()), [&](unsigned box) {
           return pipes.getBoxPipe(box) == Pipe::V;
         });
}

} // namespace

VectorSchedule::VectorSchedule(const AccessTable &table, const Solver &solver) : table(table) {
  // Nothing moves over these places: before op `to` or behind op `from`.
  std::set<std::pair<unsigned, int>> isCut;
  for (const Flag &flag : solver.flags) {
    isCut.insert({flag.block, flag.from + 1});
    isCut.insert({flag.block, flag.to});
  }
  for (const Barrier &barrier : solver.barriers)
    if (barrier.pipe != Pipe::V)
      isCut.insert({barrier.block, barrier.to});
  for (const Access &access : table.accesses())
    accessesOf[access.op].push_back(&access);
  for (auto [number, info] : llvm::enumerate(table.blocks())) {
    std::vector<Operation *> run;
    for (auto [index, op] : llvm::enumerate(*info.block)) {
      bool isScalar = op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
                      !op.hasTrait<OpTrait::IsTerminator>();
      bool isMember = isScalar || isVectorOp(op);
      if (!isMember || isCut.count({unsigned(number), int(index)})) {
        addRun(run);
        run.clear();
      }
      if (isMember)
        run.push_back(&op);
    }
  }
}

/// Puts each op on the first level after the ops whose results it needs. A level has no barrier in
/// it: a write may follow a read of the same bytes there, as the unit reads before it writes.
void VectorSchedule::addRun(ArrayRef<Operation *> ops) {
  llvm::SmallSetVector<Operation *, 8> vectorOps;
  for (Operation *op : ops)
    if (isVectorOp(*op))
      vectorOps.insert(op);
  if (vectorOps.size() < 3)
    return;

  auto conflict = [&](const Access &first, const Access &second) {
    return (writes(first.kind) || writes(second.kind)) &&
           table.mayAlias(first.buffer, second.buffer) &&
           table.overlap(first, second, table.meet(first.op, second.op)).sameTurn;
  };
  std::vector<std::pair<unsigned, Operation *>> levels;
  for (Operation *op : vectorOps) {
    unsigned level = 0;
    for (auto [earlierLevel, earlier] : levels)
      for (const Access *first : accessesOf[earlier])
        for (const Access *second : accessesOf[op])
          if (conflict(*first, *second))
            level = std::max(level, earlierLevel + writes(first->kind));
    levels.push_back({level, op});
  }
  if (llvm::is_sorted(levels, llvm::less_first()))
    return;
  llvm::sort(levels, [&](const auto &a, const auto &b) {
    return std::make_pair(a.first, table.indexOf(a.second)) <
           std::make_pair(b.first, table.indexOf(b.second));
  });
  Run run{ops, {}, ops.back()->getNextNode()};
  for (Operation *op : ops)
    if (!vectorOps.contains(op))
      run.after.push_back(op);
  for (auto [level, op] : levels)
    run.after.push_back(op);
  runs.push_back(std::move(run));
}

void VectorSchedule::place(ArrayRef<Operation *> ops, Operation *end) {
  for (Operation *op : ops)
    op->moveBefore(end);
}

void VectorSchedule::apply() const {
  for (const Run &run : runs)
    place(run.after, run.end);
}

void VectorSchedule::undo() const {
  for (const Run &run : runs)
    place(run.before, run.end);
}
