// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/TileUtils.h"

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

class Splitter {
public:
  explicit Splitter(LaunchOp launch) : launch(launch), context(launch.getContext()) {}

  LogicalResult run() {
    SmallVector<CopyOp> handovers;
    launch.walk([&](AccessInterface op) {
      Sides sides = sidesOf(op);
      usesCube |= sides.cube;
      usesVector |= sides.vector;
      if (sides.cube && sides.vector)
        if (auto copy = dyn_cast<CopyOp>(op.getOperation()))
          handovers.push_back(copy);
    });
    for (CopyOp copy : handovers)
      insertChannel(copy);
    launch.walk([&](Operation *op) { label(op); });
    return failure(failed(checkScalars()) || failed(checkGlobals()));
  }

private:
  void setCore(Operation *op, Core core) { op->setAttr(kCoreAttr, CoreAttr::get(context, core)); }
  void insertChannel(CopyOp copy);
  void label(Operation *op);
  LogicalResult checkScalars();
  LogicalResult checkGlobals();

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

/// Ops on on-chip tiles run where the tiles are; what only touches global memory runs with the
/// vector work.
void Splitter::label(Operation *op) {
  if (isa<AcquireOp, PublishOp, WaitOp, ReleaseOp>(op))
    return setCore(op, cast<CoreAttr>(op->getAttr("core")).getValue());
  Core scalarSide = usesVector || !usesCube ? Core::AIV : Core::AIC;
  if (isa<AssertOp>(op))
    return setCore(op, scalarSide);
  auto access = dyn_cast<AccessInterface>(op);
  if (!access)
    return;
  Sides sides = sidesOf(access);
  if (sides.cube)
    return setCore(op, Core::AIC);
  if (sides.vector)
    return setCore(op, Core::AIV);
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return setCore(op, Core::Both);
  if (auto store = dyn_cast<tile::StoreOp>(op); store && scopeOf(store.getBuffer()) == Scope::Local)
    return setCore(op, Core::Both);
  setCore(op, scalarSide);
}

/// What the vector unit computes must not steer the cube's program: there is no way for such a
/// scalar to get there.
LogicalResult Splitter::checkScalars() {
  if (!usesCube)
    return success();
  llvm::DenseMap<Value, Operation *> tainted; // value -> the load it comes from
  bool changed = true;
  auto taint = [&](Value value, Operation *origin) {
    changed |= tainted.try_emplace(value, origin).second;
  };
  while (changed) {
    changed = false;
    launch.walk([&](Operation *op) {
      if (auto load = dyn_cast<tile::LoadOp>(op)) {
        if (scopeOf(load.getBuffer()) == Scope::UB)
          taint(load.getResult(), op);
        else if (Operation *origin = tainted.lookup(load.getBuffer()))
          taint(load.getResult(), origin);
      }
      for (Value operand : op->getOperands()) {
        Operation *origin = tainted.lookup(operand);
        if (!origin)
          continue;
        for (Value result : op->getResults())
          taint(result, origin);
        if (auto store = dyn_cast<tile::StoreOp>(op);
            store && scopeOf(store.getBuffer()) == Scope::Local)
          taint(store.getBuffer(), origin);
        for (Region &region : op->getRegions())
          for (Value argument : region.getArguments())
            taint(argument, origin);
      }
    });
  }
  WalkResult result = launch.walk([&](Operation *op) {
    auto core = op->getAttrOfType<CoreAttr>(kCoreAttr);
    if (!core || core.getValue() != Core::AIC)
      return WalkResult::advance();
    for (Operation *at = op; at != launch; at = at->getParentOp())
      for (Value operand : at->getOperands())
        if (Operation *origin = tainted.lookup(operand)) {
          InFlightDiagnostic error = op->emitError(
              "runs on the cube core but depends on a scalar read from a vector tile; "
              "read such a value from a global tensor instead");
          error.attachNote(origin->getLoc()) << "the scalar is read here";
          return WalkResult::interrupt();
        }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// A tensor written by one kind of core and touched by the other has no order between the two.
LogicalResult Splitter::checkGlobals() {
  struct Users {
    Operation *first[2] = {nullptr, nullptr}, *writer[2] = {nullptr, nullptr};
  };
  llvm::MapVector<Value, Users> users;
  launch.walk([&](AccessInterface op) {
    auto core = op->getAttrOfType<CoreAttr>(kCoreAttr);
    for (unsigned box = 0; box < op.getNumBoxes(); ++box) {
      Value buffer = op.getBox(box).buffer;
      if (scopeOf(buffer) != Scope::Global || core.getValue() == Core::Both)
        continue;
      unsigned side = core.getValue() == Core::AIC ? 0 : 1;
      if (!users[buffer].first[side])
        users[buffer].first[side] = op;
      if (writes(op.getAccessKind(box)))
        users[buffer].writer[side] = op;
    }
  });
  for (auto &[buffer, user] : users)
    for (unsigned side : {0u, 1u})
      if (user.writer[side] && user.first[1 - side]) {
        InFlightDiagnostic error = user.first[1 - side]->emitError("'")
                                   << nameOf(buffer) << "' is touched by the "
                                   << (side ? "cube" : "vector")
                                   << " core here and written by the other core; write the result "
                                      "to another tensor or split "
                                      "the kernel in two launches";
        error.attachNote(user.writer[side]->getLoc()) << "written here";
        return error;
      }
  return success();
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
