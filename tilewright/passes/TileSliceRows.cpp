// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-slice-rows: vector work of mixed kernels on some rows after the others, so that its tiles
// fit.

#include "tilewright/passes/Chip.h"
#include "tilewright/passes/Orders.h"
#include "tilewright/passes/RowLattice.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILESLICEROWS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-slice-rows";
constexpr int64_t kSlots = 2; ///< of tiles that move, so that moves and work overlap
/// Elements of the largest tile of a slice: shorter instructions pay for their start.
constexpr int64_t kLeastElements = 8192;

/// Cuts one class of dimensions of a launch into slices.
///
/// Vector statements that follow each other without handing anything over are a run, and become a
/// loop over slices. A tile of one run only shrinks to a slice; one that lives longer gets a
/// dimension in front, with a slice in each place.
class Slicer {
public:
  Slicer(LaunchOp launch, RowLattice &lattice, unsigned root)
      : launch(launch), lattice(lattice), root(root) {
    collectRuns(launch.getBody().front());
    for (auto [number, run] : llvm::enumerate(runs))
      for (Operation *op : run.ops)
        op->walk([&](AccessInterface access) {
          for (unsigned box = 0; box < access.getNumBoxes(); ++box)
            if (Value tile = access.getBox(box).buffer; isSliced(tile))
              runsOf[tile].insert(number);
        });
  }

  int64_t rows() const { return lattice.extentOf(root); }
  unsigned countRuns() const { return runs.size(); }
  int64_t bytesWith(int64_t slices, int64_t slots);
  int64_t largestSlice(int64_t slices);
  void apply(int64_t slices);

private:
  struct Run {
    SmallVector<Operation *> ops, before, after; ///< the work; waits in front; releases behind
  };

  bool isSliced(Value tile) { return scopeOf(tile) == Scope::UB && lattice.dimIn(tile, root) >= 0; }
  bool isLocal(Value tile) const {
    auto found = runsOf.find(tile);
    return found == runsOf.end() || found->second.size() < 2;
  }
  bool touchesSliced(Operation *op);
  bool isVectorLoop(Operation *op);
  static bool hasVectorWork(Operation *op);
  void collectRuns(Block &block);
  SmallVector<Operation *> defer(Run &run, Operation *end);
  void wrap(Run &run);
  void rewrite(AccessInterface op, Value first, Value slice);
  void retype();

  LaunchOp launch;
  RowLattice &lattice;
  unsigned root;
  int64_t slices = 1;
  std::vector<Run> runs;
  llvm::DenseMap<Value, llvm::SmallDenseSet<unsigned>> runsOf;
  llvm::DenseMap<Value, unsigned> dims; ///< of tiles that are sliced
};

bool Slicer::touchesSliced(Operation *op) {
  WalkResult result = op->walk([&](AccessInterface access) {
    for (unsigned box = 0; box < access.getNumBoxes(); ++box)
      if (isSliced(access.getBox(box).buffer))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// A loop of vector statements that hand nothing over.
bool Slicer::isVectorLoop(Operation *op) {
  if (!isa<scf::ForOp>(op))
    return false;
  WalkResult result = op->walk([&](Operation *inner) {
    bool isWork = isa<AccessInterface>(inner) && isOn(inner, Core::AIV);
    bool isHarmless = isa<scf::ForOp, scf::YieldOp>(inner) || isPure(inner);
    return isWork || isHarmless ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted() && touchesSliced(op);
}

bool Slicer::hasVectorWork(Operation *op) {
  WalkResult result = op->walk([](Operation *inner) {
    return isOn(inner, Core::AIV) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

void Slicer::collectRuns(Block &block) {
  Run run;
  auto close = [&] {
    if (!run.ops.empty())
      runs.push_back(run);
    run = Run();
  };
  for (Operation *next = &block.front(); next;) {
    Operation &op = *next;
    next = op.getNextNode();
    if (isVectorLoop(&op) ||
        (isa<AccessInterface>(op) && isOn(&op, Core::AIV) && touchesSliced(&op))) {
      run.ops.push_back(&op);
      continue;
    }
    if (op.getNumRegions() != 0) {
      if (!hasVectorWork(&op))
        continue;
      close();
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          collectRuns(inner);
      continue;
    }
    if (!isOn(&op, Core::AIV))
      continue; // index arithmetic, and the cube's work: that has no order with the run's
    if (isa<WaitOp, AcquireOp, ReleaseOp, PublishOp>(op) && isOrder(op.getOperand(0)))
      close(); // what it orders are accesses to tensors, which stay on their side of it
    else if (isa<WaitOp, AcquireOp>(op) && !run.ops.empty())
      run.before.push_back(&op);
    else if (isa<ReleaseOp>(op) && !run.ops.empty())
      run.after.push_back(&op);
    else if (isa<PublishOp>(op) && !run.ops.empty()) {
      SmallVector<Operation *> deferred = defer(run, &op);
      close(); // what is published is whole
      run.ops = std::move(deferred);
    } else if (!isa<WaitOp, AcquireOp>(op)) {
      close();
    }
  }
  close();
}

/// Takes out of a run what only work behind `end` needs: statements that write nothing but tiles
/// which are written there too. They begin the next run, so that they can be late with it.
SmallVector<Operation *> Slicer::defer(Run &run, Operation *end) {
  llvm::DenseSet<Value> later, read, written;
  auto visit = [](Operation *op, llvm::function_ref<void(Value, AccessKind)> use) {
    op->walk([&](AccessInterface access) {
      for (unsigned box = 0; box < access.getNumBoxes(); ++box)
        use(access.getBox(box).buffer, access.getAccessKind(box));
    });
  };
  for (Operation *op = end->getNextNode(); op; op = op->getNextNode())
    if (isOn(op, Core::AIV))
      visit(op, [&](Value buffer, AccessKind kind) {
        if (scopeOf(buffer) == Scope::UB && tilewright::writes(kind))
          later.insert(buffer);
      });
  llvm::DenseSet<Value> released; // channels that this run gives back: their reads stay before that
  for (Operation *op : run.after)
    released.insert(op->getOperand(0));
  SmallVector<Operation *> kept, deferred;
  for (Operation *op : llvm::reverse(run.ops)) {
    bool isFree = true;
    visit(op, [&](Value buffer, AccessKind kind) {
      bool isWritten = tilewright::writes(kind);
      isFree &= !isWritten || (later.contains(buffer) && !read.contains(buffer));
      isFree &= !written.contains(buffer) && !released.contains(buffer);
    });
    (isFree ? deferred : kept).push_back(op);
    if (isFree)
      continue;
    visit(op, [&](Value buffer, AccessKind kind) {
      (tilewright::writes(kind) ? written : read).insert(buffer);
      if (tilewright::reads(kind))
        read.insert(buffer);
    });
  }
  run.ops.assign(kept.rbegin(), kept.rend());
  for (Operation *op : deferred)
    op->moveAfter(end);
  return SmallVector<Operation *>(deferred.rbegin(), deferred.rend());
}

/// Bytes of UB that one vector core needs. A tile is alive from its first access to its last; all
/// through a statement of the block that moves it in slots, or reads it before it writes it.
int64_t Slicer::bytesWith(int64_t count, int64_t slots) {
  llvm::DenseMap<Operation *, int64_t> places;
  int64_t place = 0;
  launch.walk<WalkOrder::PreOrder>([&](Operation *op) { places[op] = place++; });
  llvm::MapVector<int64_t, int64_t> changes; // of the bytes that are alive
  Block &body = launch.getBody().front();
  for (AllocOp alloc : launch.getOps<AllocOp>()) {
    if (scopeOf(alloc) != Scope::UB)
      continue;
    bool moves = false;
    llvm::SmallSetVector<Operation *, 4> statements;
    AccessInterface first;
    int64_t from = place, to = 0;
    forEachAccess(alloc, [&](AccessInterface op, unsigned) {
      moves |= isa<CopyOp>(op);
      statements.insert(ancestorIn(&body, op));
      if (places[op] < from) {
        from = places[op];
        first = op;
      }
      to = std::max(to, places[op]);
    });
    if (statements.empty())
      continue;
    int64_t bytes = bytesOf(alloc) * (moves ? slots : 1);
    if (lattice.dimIn(alloc, root) >= 0)
      bytes = llvm::divideCeil(bytes, kVectorCores * (isLocal(alloc) ? count : 1));
    bool isWritten = first.getBox(0).buffer == alloc && !reads(first.getAccessKind(0)) &&
                     coversBuffer(first.getBox(0)) &&
                     llvm::all_of(llvm::seq(1u, first.getNumBoxes()),
                                  [&](unsigned box) { return first.getBox(box).buffer != alloc; });
    if (statements.size() > 1) {
      from = 0, to = place;
    } else if (moves || !isWritten || isa<scf::IfOp>(first->getParentOp())) {
      Operation *statement = statements.front();
      from = places[statement];
      to = statement->getNextNode() ? places[statement->getNextNode()] - 1 : place;
    }
    changes[from] += bytes;
    changes[to + 1] -= bytes;
  }
  SmallVector<std::pair<int64_t, int64_t>> order(changes.begin(), changes.end());
  llvm::sort(order);
  int64_t alive = 0, most = 0;
  for (auto [at, change] : order)
    most = std::max(most, alive += change);
  return most;
}

int64_t Slicer::largestSlice(int64_t count) {
  int64_t elements = 0;
  launch.walk([&](AllocOp alloc) {
    if (scopeOf(alloc) == Scope::UB && lattice.dimIn(alloc, root) >= 0)
      elements = std::max(elements, cast<MemRefType>(alloc.getType()).getNumElements());
  });
  return elements / kVectorCores / count;
}

/// Last: a box is read by the rank of its buffer.
void Slicer::retype() {
  for (auto [tile, dim] : dims) {
    auto type = cast<MemRefType>(tile.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] /= slices;
    if (!isLocal(tile))
      shape.insert(shape.begin(), slices);
    Value(tile).setType(
        MemRefType::get(shape, type.getElementType(), AffineMap(), type.getMemorySpace()));
  }
}

/// `op` on the rows from `first` on, which are slice number `slice`.
void Slicer::rewrite(AccessInterface op, Value first, Value slice) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  unsigned count = op.getNumBoxes();
  Value one = builder.create<arith::ConstantIndexOp>(loc, 1);
  auto size = [&](int64_t rows) -> Value {
    return builder.create<arith::ConstantIndexOp>(loc, rows);
  };
  // What the op says of its boxes, before they change.
  SmallVector<SmallVector<int64_t>> maps;
  if (auto step = dyn_cast<ElementwiseOp>(op.getOperation()))
    for (unsigned box = 0; box < count; ++box)
      maps.push_back(step.getMap(box));
  std::optional<std::pair<unsigned, unsigned>> partner; // rows of the other side of a copy
  if (isa<CopyOp, AtomicOp>(op.getOperation()))
    for (unsigned box = 0; box < count; ++box)
      if (auto found = dims.find(op.getBox(box).buffer); found != dims.end() && count == 2)
        if (auto map = matchDims(op.getBox(box), op.getBox(1 - box)); succeeded(map))
          if (int64_t dim = (*map)[found->second];
              dim >= 0 && !dims.contains(op.getBox(1 - box).buffer))
            partner = {1 - box, unsigned(dim)};
  SmallVector<Value> offsets, sizes;
  SmallVector<bool> isState;
  for (unsigned box = 0; box < count; ++box) {
    Box place = op.getBox(box);
    SmallVector<Value> from(place.offsets), extents(place.sizes);
    auto found = dims.find(place.buffer);
    isState.push_back(found != dims.end() && !isLocal(place.buffer));
    if (found != dims.end())
      extents[found->second] = size(rows() / slices);
    if (isState.back()) {
      from.insert(from.begin(), slice);
      extents.insert(extents.begin(), one);
    }
    if (partner && partner->first == box) {
      Value &offset = from[partner->second];
      offset = builder.create<arith::AddIOp>(loc, offset, first);
      extents[partner->second] = size(rows() / slices);
    }
    llvm::append_range(offsets, from);
    llvm::append_range(sizes, extents);
  }
  auto moved = [&](int64_t dim, unsigned box) { return isState[box] ? dim + 1 : dim; };
  TypeSwitch<Operation *>(op.getOperation())
      .Case([&](ElementwiseOp step) {
        SmallVector<Attribute> entries;
        for (auto [box, map] : llvm::enumerate(maps)) {
          if (isState[0])
            for (int64_t &dim : map)
              dim += dim >= 0;
          if (isState[box])
            map.insert(map.begin(), isState[0] ? 0 : -1);
          entries.push_back(builder.getDenseI64ArrayAttr(map));
        }
        step.setMapsAttr(builder.getArrayAttr(entries));
      })
      .Case([&](ReduceOp step) {
        SmallVector<int64_t> along;
        for (int64_t dim : step.getDims())
          along.push_back(moved(dim, 1));
        step.setDims(along);
      })
      .Case([&](ScanOp step) { step.setDim(moved(step.getDim(), 1)); })
      .Case([&](IotaOp step) {
        SmallVector<Value> steps(step.getSteps());
        unsigned dim = dims.lookup(op.getBox(0).buffer);
        Value skipped = builder.create<arith::MulIOp>(loc, first, steps[dim]);
        step.getStartMutable().assign(
            builder.create<arith::AddIOp>(loc, step.getStart(), skipped).getResult());
        if (isState[0])
          steps.insert(steps.begin(), builder.create<arith::ConstantIndexOp>(loc, 0));
        step.getStepsMutable().assign(steps);
      });
  setBoxes(op, offsets, sizes);
}

void Slicer::wrap(Run &run) {
  Operation *last = run.ops.back();
  OpBuilder builder(last);
  Location loc = last->getLoc();
  for (Operation *op : run.before)
    op->moveBefore(last);
  Value zero = builder.create<arith::ConstantIndexOp>(loc, 0);
  Value one = builder.create<arith::ConstantIndexOp>(loc, 1);
  Value end = builder.create<arith::ConstantIndexOp>(loc, slices);
  auto loop = builder.create<scf::ForOp>(loc, zero, end, one);
  for (Operation *op : llvm::reverse(run.after))
    op->moveAfter(loop);
  OpBuilder inside(loop.getBody(), loop.getBody()->begin());
  Value length = inside.create<arith::ConstantIndexOp>(loc, rows() / slices);
  Value first = inside.create<arith::MulIOp>(loc, loop.getInductionVar(), length);
  for (Operation *op : run.ops) {
    op->moveBefore(loop.getBody()->getTerminator());
    SmallVector<AccessInterface> accesses;
    op->walk([&](AccessInterface access) { accesses.push_back(access); });
    for (AccessInterface access : accesses)
      if (llvm::any_of(llvm::seq(access.getNumBoxes()),
                       [&](unsigned box) { return dims.contains(access.getBox(box).buffer); }))
        rewrite(access, first, loop.getInductionVar());
  }
}

void Slicer::apply(int64_t count) {
  slices = count;
  for (AllocOp alloc : launch.getOps<AllocOp>())
    if (isSliced(alloc))
      dims[alloc] = lattice.dimIn(alloc, root);
  for (Run &run : runs)
    wrap(run);
  retype();
}

struct TileSliceRowsPass : passes::impl::TileSliceRowsBase<TileSliceRowsPass> {
  using Base::Base;

  void runOnOperation() override {
    std::optional<machine::Machine> loaded = chipFor(getOperation(), chip);
    if (!loaded)
      return signalPassFailure();
    getOperation().walk([&](LaunchOp launch) { slice(launch, *loaded); });
  }

private:
  void slice(LaunchOp launch, const machine::Machine &machine) {
    bool cube = false, vector = false;
    launch.walk([&](Operation *op) {
      cube |= isOn(op, Core::AIC);
      vector |= isOn(op, Core::AIV);
    });
    if (!cube || !vector || isByHand(launch))
      return;
    RowLattice lattice(launch);
    SmallVector<unsigned> roots = lattice.choose();
    if (roots.empty())
      return;
    Slicer slicer(launch, lattice, roots.front());
    int64_t count = slices > 0 ? int64_t(slices) : choose(slicer, machine);
    if (count <= 1 || slicer.rows() % count != 0)
      return;
    remark(launch, kPass, "applied")
        << "vector work is done in " << count << " slices of " << slicer.rows() / count << " of "
        << slicer.rows() << " rows, so that its tiles fit UB in two slots";
    slicer.apply(count);
  }

  /// As few slices as let the tiles fit in two slots, if they are not too short; else, if they must
  /// be cut to fit at all, as few as let them fit in one: some then have room for a second.
  int64_t choose(Slicer &slicer, const machine::Machine &machine) {
    if (slicer.bytesWith(1, kSlots) <= machine.ubBytes)
      return 1;
    auto canHalve = [&](int64_t count) { return slicer.rows() % (count * kVectorCores) == 0; };
    for (int64_t count = 2; canHalve(count); count *= 2)
      if (slicer.bytesWith(count, kSlots) <= machine.ubBytes &&
          slicer.largestSlice(count) >= kLeastElements)
        return count;
    for (int64_t count = 1; canHalve(count); count *= 2)
      if (slicer.bytesWith(count, 1) <= machine.ubBytes)
        return count;
    return 1;
  }
};

} // namespace
