// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/SyncSchedule.h"
#include "tilewright/passes/SyncSolver.h"
#include "tilewright/passes/TileUtils.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_NPUINSERTSYNC
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::npu;
using namespace tilewright::passes;
using namespace tilewright::passes::sync;

namespace {

constexpr StringLiteral kPass = "npu-insert-sync";

/// Writes what the solver found into the function.
class Writer {
public:
  Writer(func::FuncOp function, const AccessTable &table, const Solver &solver)
      : function(function), table(table), solver(solver), builder(function.getContext()) {}

  void write() {
    // Positions name ops that are there now, so look all of them up before the first insertion.
    for (const Flag &flag : solver.flags) {
      add(flag.block, placeOfSet(flag.from), flag.from + 1, [&, flag] { createSet(flag); });
      add(flag.block, placeOfWait(flag.to), flag.to, [&, flag] { createWait(flag); });
    }
    for (const Barrier &barrier : solver.barriers)
      add(barrier.block, placeOfBarrier(barrier.to), barrier.to,
          [&, barrier] { builder.create<BarrierOp>(loc, barrier.pipe); });
    llvm::sort(items, [](const Item &a, const Item &b) {
      return std::tie(a.place, a.number) < std::tie(b.place, b.number);
    });
    Operation *first = firstOp();
    Operation *last = function.getBody().front().getTerminator();
    for (const Item &item : items)
      at(item.before, item.create);
    for (const Flag &flag : solver.flags) {
      if (!flag.isCarried)
        continue;
      Operation *loop = table.blocks()[flag.block].block->getParentOp();
      for (unsigned slot = 0; slot < flag.numIds; ++slot) {
        at(flag.isOfLoop ? loop : first, [&] {
          builder.create<SetFlagOp>(loc, flag.source, flag.target, flag.id + slot, Value());
        });
        at(flag.isOfLoop ? loop->getNextNode() : last, [&] {
          builder.create<WaitFlagOp>(loc, flag.source, flag.target, flag.id + slot, Value());
        });
      }
    }
  }

private:
  struct Item {
    int place;
    size_t number;
    Operation *before;
    std::function<void()> create;
  };

  func::FuncOp function;
  const AccessTable &table;
  const Solver &solver;
  OpBuilder builder;
  Location loc = builder.getUnknownLoc();
  std::vector<Item> items;

  void add(unsigned block, int place, int before, std::function<void()> create) {
    items.push_back({place, items.size(), table.opAt(block, before), std::move(create)});
  }

  void at(Operation *before, llvm::function_ref<void()> create) {
    builder.setInsertionPoint(before);
    loc = before->getLoc();
    create();
  }

  Value bufferOf(const Flag &flag) {
    return flag.rotate < 0 ? Value() : table.buffers()[flag.rotate].value;
  }
  void createSet(const Flag &flag) {
    builder.create<SetFlagOp>(loc, flag.source, flag.target, flag.id, bufferOf(flag));
  }
  void createWait(const Flag &flag) {
    builder.create<WaitFlagOp>(loc, flag.source, flag.target, flag.id, bufferOf(flag));
  }

  /// The op behind the allocs at the top.
  Operation *firstOp() {
    Operation *first = &function.getBody().front().front();
    for (Operation &op : function.getBody().front())
      if (isa<npu::AllocOp>(op))
        first = op.getNextNode();
    return first;
  }
};

/// The plain form: nothing overlaps.
void insertAllBarriers(func::FuncOp function) {
  function.walk([](Operation *op) {
    auto access = dyn_cast<AccessInterface>(op);
    if (!access || !isa<PipeInterface>(op) || access.getNumBoxes() == 0 ||
        spaceOf(access.getBox(0).buffer) == Space::Reg)
      return;
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    builder.create<BarrierOp>(op->getLoc(), Pipe::All);
  });
}

bool isSync(Operation &op) { return isa<SetFlagOp, WaitFlagOp, BarrierOp>(op); }

/// Says how many flags and barriers the function has, and each loop per turn.
void report(func::FuncOp function) {
  auto count = [](Block &block) {
    std::pair<unsigned, unsigned> result;
    for (Operation &op : block) {
      result.first += isa<SetFlagOp>(op);
      result.second += isa<BarrierOp>(op);
    }
    return result;
  };
  unsigned flags = 0, barriers = 0;
  function.walk([&](Operation *op) {
    flags += isa<SetFlagOp>(op);
    barriers += isa<BarrierOp>(op);
  });
  remark(function, kPass, "applied")
      << flags << " flags and " << barriers << " barriers in @" << function.getName();
  function.walk<WalkOrder::PreOrder>([&](LoopLikeOpInterface loop) {
    auto [flags, barriers] = count(loop.getLoopRegions().back()->front());
    if (flags || barriers)
      remark(loop, kPass, "applied") << flags << " flags and " << barriers << " barriers a turn";
  });
}

/// What the barriers on V cost, loops counted as many turns.
uint64_t barrierCost(const AccessTable &table, const Solver &solver) {
  uint64_t cost = 0;
  for (const Barrier &barrier : solver.barriers)
    if (barrier.pipe == Pipe::V)
      cost += uint64_t(1) << (4 * std::min(table.blocks()[barrier.block].depth, 8u));
  return cost;
}

struct InsertSync : passes::impl::NpuInsertSyncBase<InsertSync> {
  using NpuInsertSyncBase::NpuInsertSyncBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function->hasAttr(kCoreAttr) || function.isExternal())
      return;
    if (mode != "minimal" && mode != "barrier-all") {
      function.emitError("E0799: npu-insert-sync has modes minimal and barrier-all, not '")
          << mode << "'";
      return signalPassFailure();
    }
    if (maxIds < 1 || maxIds > 16) {
      function.emitError("E0799: npu-insert-sync needs 1 to 16 event ids per pair of pipes, not ")
          << maxIds;
      return signalPassFailure();
    }
    if (function->hasAttr(kManualSyncAttr)) {
      remark(function, kPass, "missed")
          << "@" << function.getName() << " is left as it is: its author orders the pipes";
      return;
    }
    Operation *manual = nullptr;
    function.walk([&](Operation *op) {
      if (isSync(*op) && !op->hasAttr(tile::kUserAttr) && !manual)
        manual = op;
    });
    if (manual) {
      remark(manual, kPass, "missed")
          << "@" << function.getName() << " is left as it is: it has flags or barriers already";
      return;
    }
    if (mode == "barrier-all")
      return insertAllBarriers(function);

    if (failed(insertMinimal(function)))
      signalPassFailure();
  }

private:
  LogicalResult insertMinimal(func::FuncOp function) {
    FailureOr<AccessTable> table = AccessTable::build(function);
    if (failed(table))
      return failure();
    Solver solver(*table, maxIds);
    solver.solve();
    VectorSchedule schedule(*table, solver);
    if (schedule.isChange()) {
      schedule.apply();
      FailureOr<AccessTable> newTable = AccessTable::build(function);
      if (failed(newTable))
        return failure();
      Solver newSolver(*newTable, maxIds);
      newSolver.solve();
      if (newSolver.flags.size() <= solver.flags.size() &&
          barrierCost(*newTable, newSolver) < barrierCost(*table, solver)) {
        finish(function, *newTable, newSolver);
        return success();
      }
      schedule.undo();
    }
    finish(function, *table, solver);
    return success();
  }

  void finish(func::FuncOp function, const AccessTable &table, const Solver &solver) {
    for (const Solver::Fallback &fallback : solver.fallbacks)
      remark(fallback.op, kPass, "fallback") << fallback.text;
    Writer(function, table, solver).write();
    report(function);
  }
};

} // namespace
