// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/Orders.h"
#include "tilewright/passes/TileUtils.h"
#include "tilewright/tile/CoreOps.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILESPLITCORES
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-split-cores";

bool isCubePlace(Value buffer) {
  Scope scope = scopeOf(buffer);
  return scope == Scope::L1 || scope == Scope::L0A || scope == Scope::L0B || scope == Scope::L0C;
}

/// Which kinds of core hold the buffers that `op` touches.
struct Sides {
  bool cube = false, vector = false;
};
Sides sidesOf(AccessInterface op) {
  Sides sides;
  for (unsigned box = 0; box < op.getNumBoxes(); ++box) {
    Value buffer = op.getBox(box).buffer;
    sides.cube |= isCubePlace(buffer);
    sides.vector |= scopeOf(buffer) == Scope::UB;
  }
  return sides;
}

/// Scalars that only the vector core knows: read from its tiles or from a tensor that it writes,
/// and all that follows from them.
class ScalarFlow {
public:
  explicit ScalarFlow(LaunchOp launch) : launch(launch) {
    launch.walk([&](AccessInterface op) {
      auto core = op->getAttrOfType<CoreAttr>(kCoreAttr);
      for (unsigned box = 0; box < op.getNumBoxes(); ++box)
        if (Value buffer = op.getBox(box).buffer; scopeOf(buffer) == Scope::Global &&
                                                  core.getValue() == Core::AIV &&
                                                  writes(op.getAccessKind(box)))
          vectorWritten.insert(buffer);
    });
    do {
      changed = false;
      launch.walk([&](Operation *op) { visit(op); });
    } while (changed);
  }

  /// The load that a value comes from, null when every core can compute it.
  Operation *originOf(Value value) const { return values.lookup(value); }

  /// The load that decides whether the body of `op`, or of something around it, runs.
  Operation *steering(Operation *op) const {
    for (; op != launch; op = op->getParentOp())
      if (Operation *origin = steered.lookup(op))
        return origin;
    return nullptr;
  }

private:
  void visit(Operation *op);
  void add(Value value, Operation *origin) { changed |= values.try_emplace(value, origin).second; }
  void steer(Operation *op, Value by) {
    Operation *origin = values.lookup(by);
    if (!origin)
      return;
    changed |= steered.try_emplace(op, origin).second;
    for (Value result : op->getResults())
      add(result, origin);
    for (Region &region : op->getRegions())
      for (Value argument : region.getArguments())
        add(argument, origin);
  }

  LaunchOp launch;
  llvm::DenseMap<Value, Operation *> values;
  llvm::DenseMap<Operation *, Operation *> steered;
  llvm::DenseSet<Value> vectorWritten;
  bool changed = false;
};

class Splitter {
public:
  explicit Splitter(LaunchOp launch) : launch(launch), context(launch.getContext()) {}

  LogicalResult run() {
    SmallVector<CopyOp> handovers;
    WalkResult result = launch.walk([&](AccessInterface op) {
      Sides sides = sidesOf(op);
      auto placed = op->getAttrOfType<CoreAttr>(kPlacedAttr);
      usesCube |= sides.cube || (placed && placed.getValue() == Core::AIC);
      usesVector |= sides.vector || (placed && placed.getValue() == Core::AIV);
      if (!sides.cube || !sides.vector)
        return WalkResult::advance();
      auto copy = dyn_cast<CopyOp>(op.getOperation());
      if (!copy) {
        op->emitError("E0703: this statement touches tiles of the cube core and of the vector "
                      "core; copy one of them");
        return WalkResult::interrupt();
      }
      handovers.push_back(copy);
      return WalkResult::advance();
    });
    if (result.wasInterrupted() || failed(checkDivision(handovers)))
      return failure();
    for (CopyOp copy : handovers)
      insertChannel(copy);
    result = launch.walk([&](Operation *op) {
      return failed(label(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
    // The author's signals order what he divides.
    if (!isDividedByHand(launch) && failed(orderGlobals(launch)))
      return failure();
    return checkScalars();
  }

private:
  void setCore(Operation *op, Core core) { op->setAttr(kCoreAttr, CoreAttr::get(context, core)); }
  void insertChannel(CopyOp copy);
  LogicalResult label(Operation *op);
  LogicalResult checkDivision(ArrayRef<CopyOp> handovers);
  LogicalResult checkScalars();

  LaunchOp launch;
  MLIRContext *context;
  bool usesCube = false, usesVector = false;
};

/// A copy between the cores goes through a workspace tile with a hand-over protocol.
void Splitter::insertChannel(CopyOp copy) {
  Box dst = copy.getBox(0), src = copy.getBox(1);
  Core writer = isCubePlace(src.buffer) ? Core::AIC : Core::AIV;
  Core reader = writer == Core::AIC ? Core::AIV : Core::AIC;
  auto dstType = cast<MemRefType>(dst.buffer.getType());
  SmallVector<int64_t> shape = staticSizes(dst);
  for (auto [dim, size] : llvm::enumerate(shape))
    size = ShapedType::isDynamic(size) ? dstType.getDimSize(dim) : size;
  OpBuilder builder(copy);
  Location loc = copy.getLoc();
  AllocOp channel = createAlloc(copy, loc, nameOf(dst.buffer) + ".exchange", shape,
                                dstType.getElementType(), Scope::Workspace);
  SmallVector<Value> zeros(shape.size(), builder.create<arith::ConstantIndexOp>(loc, 0));
  Box slot{channel, zeros, dst.isWhole() ? ValueRange() : dst.sizes};
  auto core = [&](Core core) { return CoreAttr::get(context, core); };
  auto move = [&](const Box &to, const Box &from) {
    BoxOperands boxes;
    boxes.add(builder, loc, to);
    boxes.add(builder, loc, from);
    builder.create<CopyOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes, FloatAttr());
  };
  builder.create<AcquireOp>(loc, channel, core(writer));
  move(slot, src);
  builder.create<PublishOp>(loc, channel, core(writer));
  builder.create<WaitOp>(loc, channel, core(reader));
  move(dst, slot);
  builder.create<ReleaseOp>(loc, channel, core(reader));
  int64_t bytes = dstType.getElementTypeBitWidth() / 8;
  for (int64_t extent : shape)
    bytes *= extent;
  remark(copy, kPass, "applied") << "'" << nameOf(src.buffer) << "' goes from "
                                 << stringifyCore(writer) << " to " << stringifyCore(reader)
                                 << " through global memory, " << bytes << " bytes each time";
  copy.erase();
}

/// Where the author divides the work, no channel may come between his signals; and signals need two
/// sides.
LogicalResult Splitter::checkDivision(ArrayRef<CopyOp> handovers) {
  if (!isDividedByHand(launch))
    return success();
  if (!handovers.empty()) {
    CopyOp copy = handovers.front();
    return copy->emitError("E0610: '")
           << nameOf(copy.getBox(1).buffer)
           << "' would go from one kind of core to the other here, "
           << "in a kernel that divides its work by hand; store it in a global tensor, and load it "
              "there after T.sync_block_set and T.sync_block_wait";
  }
  WalkResult result = launch.walk([&](Operation *op) {
    if (!isa<BlockSetOp, BlockWaitOp>(op) || (usesCube && usesVector))
      return WalkResult::advance();
    op->emitError(
        "E0611: signals go between the cube core and the vector cores, and this kernel has no "
        "work for the ")
        << (usesCube ? "vector cores" : "cube core") << "; use T.set_flag and T.wait_flag";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Ops on on-chip tiles run where the tiles are; what only touches global memory runs where the
/// author said, else with the vector work.
LogicalResult Splitter::label(Operation *op) {
  auto placed = op->getAttrOfType<CoreAttr>(kPlacedAttr);
  auto run = [&](Core core) {
    setCore(op, placed ? placed.getValue() : core);
    return success();
  };
  if (isa<SetFlagOp, WaitFlagOp, tile::BarrierOp, BlockSetOp, BlockWaitOp, CoreBarrierOp>(op))
    return run(Core::Both);
  if (isa<AcquireOp, PublishOp, WaitOp, ReleaseOp>(op))
    return run(cast<CoreAttr>(op->getAttr("core")).getValue());
  Core scalarSide = usesVector || !usesCube ? Core::AIV : Core::AIC;
  if (isa<AssertOp>(op))
    return run(scalarSide);
  auto access = dyn_cast<AccessInterface>(op);
  if (!access)
    return success();
  Sides sides = sidesOf(access);
  if (sides.cube || sides.vector) {
    Core core = sides.cube ? Core::AIC : Core::AIV;
    if (placed && placed.getValue() != core)
      return op->emitError("E0612: this statement stands in T.Scope(\"")
             << (sides.cube ? "Vector" : "Cube") << "\") but needs the "
             << (sides.cube ? "cube" : "vector") << " core, which holds its tiles";
    return run(core);
  }
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return run(Core::Both);
  if (auto store = dyn_cast<tile::StoreOp>(op); store && scopeOf(store.getBuffer()) == Scope::Local)
    return run(Core::Both);
  return run(scalarSide);
}

/// Follows one op: what it computes from followed values, and what it steers, is followed too.
void ScalarFlow::visit(Operation *op) {
  auto pass = [&](ValueRange from, ValueRange to) {
    for (auto [source, target] : llvm::zip(from, to))
      if (Operation *origin = values.lookup(source))
        add(target, origin);
  };
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    Value buffer = load.getBuffer();
    if (scopeOf(buffer) == Scope::UB || vectorWritten.contains(buffer))
      add(load.getResult(), op);
    return pass({buffer}, load->getResults());
  }
  if (auto atomic = dyn_cast<AtomicOp>(op); atomic && atomic.getPrevious())
    return add(atomic.getPrevious(), op);
  if (auto store = dyn_cast<tile::StoreOp>(op)) {
    if (scopeOf(store.getBuffer()) != Scope::Local)
      return;
    pass({store.getValue()}, {store.getBuffer()});
    if (Operation *origin = steering(op->getParentOp()))
      add(store.getBuffer(), origin);
    return;
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
      steer(loop, bound);
    pass(loop.getInits(), loop.getRegionIterArgs());
    return pass(loop.getInits(), loop.getResults());
  }
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return steer(branch, branch.getCondition());
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return pass(loop.getInits(), loop.getBeforeArguments());
  if (auto condition = dyn_cast<scf::ConditionOp>(op)) {
    auto loop = cast<scf::WhileOp>(op->getParentOp());
    steer(loop, condition.getCondition());
    pass(condition.getArgs(), loop.getAfterArguments());
    return pass(condition.getArgs(), loop.getResults());
  }
  if (auto yield = dyn_cast<scf::YieldOp>(op)) {
    Operation *parent = op->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      pass(yield.getOperands(), loop.getRegionIterArgs());
    if (auto loop = dyn_cast<scf::WhileOp>(parent))
      return pass(yield.getOperands(), loop.getBeforeArguments());
    return pass(yield.getOperands(), parent->getResults());
  }
  for (Value operand : op->getOperands())
    if (Operation *origin = values.lookup(operand))
      for (Value result : op->getResults())
        add(result, origin);
}

/// What the vector unit computes must not steer the cube's program: there is no way for such a
/// scalar to get there.
LogicalResult Splitter::checkScalars() {
  if (!usesCube)
    return success();
  ScalarFlow flow(launch);
  WalkResult result = launch.walk([&](Operation *op) {
    auto core = op->getAttrOfType<CoreAttr>(kCoreAttr);
    if (!core || core.getValue() != Core::AIC)
      return WalkResult::advance();
    Operation *origin = flow.steering(op->getParentOp());
    for (Value operand : op->getOperands())
      origin = origin ? origin : flow.originOf(operand);
    if (!origin)
      return WalkResult::advance();
    InFlightDiagnostic error =
        op->emitError("E0704: this statement runs on the cube core but depends on a scalar that "
                      "the vector core computes; "
                      "read such a value from a global tensor that this kernel does not write");
    error.attachNote(origin->getLoc()) << "the scalar is read here";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

struct TileSplitCoresPass : passes::impl::TileSplitCoresBase<TileSplitCoresPass> {
  void runOnOperation() override {
    getOperation().walk([&](LaunchOp launch) {
      if (failed(Splitter(launch).run()))
        signalPassFailure();
    });
  }
};

} // namespace
