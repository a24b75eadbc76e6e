// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/npu/Blocks.h"
#include "tilewright/passes/ConvertBoxes.h"
#include "tilewright/passes/Semaphores.h"
#include "tilewright/passes/SharedGlobals.h"
#include "tilewright/tile/CoreOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_CONVERTTILETONPU
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;

namespace {

/// One function for one kind of core out of a launch: the ops of that core, and the scalars and
/// control flow they need.
class CoreProgram {
public:
  CoreProgram(tile::LaunchOp launch, Core core, bool mixed, bool onlyFirst, func::FuncOp function,
              IRMapping mapping)
      : launch(launch), function(function), builder(function.getContext()),
        hostScalars(function.getContext()),
        lowering{builder, mapping, core, mixed, 1, function, {}, {}} {
    lowering.onlyFirst = onlyFirst && core == Core::AIV;
  }

  LogicalResult build() {
    Block *entry = &function.getBody().front();
    builder.setInsertionPointToStart(entry);
    Location loc = launch.getLoc();
    lowering.zero = builder.create<arith::ConstantIndexOp>(loc, 0);
    auto first = builder.create<npu::CoreIdOp>(loc, builder.getIndexType());
    hostScalars.setInsertionPoint(first);
    bool isCut = tile::isByCore(launch) || tile::usesSubCoreId(launch); // by hand
    if (lowering.mixed && lowering.core == Core::AIV) {
      lowering.parts = isCut ? 1 : 2;
      lowering.subCore = builder.create<npu::SubCoreIdOp>(loc, builder.getIndexType());
    }
    if (auto parts = launch->getAttrOfType<IntegerAttr>(tile::kPartsAttr))
      lowering.parts = parts.getInt();
    createBuffers();
    if (tile::isByCore(launch))
      return buildByCore();

    // This runner's share of the grid, in linear order, first extent fastest.
    SmallVector<Value> grid =
        llvm::map_to_vector(launch.getGrid(), [&](Value extent) { return materialize(extent); });
    Value total = grid.front();
    for (Value extent : ArrayRef(grid).drop_front())
      total = builder.create<arith::MulIOp>(loc, total, extent);
    Value parts;
    if (int64_t runs = isCut ? 2 : lowering.parts; !lowering.mixed && runs > 1) {
      parts = builder.create<arith::ConstantIndexOp>(loc, runs);
      total = builder.create<arith::MulIOp>(loc, total, parts);
    }
    primeChannels(/*prime=*/true);
    limitBlocks(total);
    Value step = builder.create<npu::CoreCountOp>(loc, builder.getIndexType());
    auto blocks = builder.create<scf::ForOp>(loc, first, total, step);
    builder.setInsertionPointToStart(blocks.getBody());
    Value id = blocks.getInductionVar();
    if (parts) {
      builder.create<npu::BeginBlockOp>(loc, id)->setAttr(
          npu::kCoresPerBlockAttr, builder.getI64IntegerAttr(*constantOf(parts)));
      lowering.subCore = builder.create<arith::RemUIOp>(loc, id, parts);
      id = builder.create<arith::DivUIOp>(loc, id, parts);
    } else {
      id = heavyFirst(id, total, step, grid);
      builder.create<npu::BeginBlockOp>(loc, id);
    }
    for (auto [index, argument] : llvm::enumerate(launch.getBody().getArguments())) {
      bool last = index + 1 == grid.size();
      lowering.mapping.map(
          argument, last ? id : builder.create<arith::RemUIOp>(loc, id, grid[index]).getResult());
      if (!last)
        id = builder.create<arith::DivUIOp>(loc, id, grid[index]);
    }
    if (failed(convert(launch.getBody().front())))
      return failure();
    // The author's orders are those of one block; the next one starts when all of it is done.
    if (tile::isByHand(launch))
      builder.create<npu::EndBlockOp>(loc);
    builder.setInsertionPointAfter(blocks);
    primeChannels(/*prime=*/false);
    builder.create<func::ReturnOp>(loc);
    return success();
  }

private:
  /// The body is all of the program.
  LogicalResult buildByCore() {
    Location loc = launch.getLoc();
    function->setAttr(tile::kByCoreAttr, builder.getUnitAttr());
    lowering.isByCore = true;
    for (BlockArgument argument : launch.getBody().getArguments())
      lowering.mapping.map(argument, lowering.zero);
    if (failed(convert(launch.getBody().front())))
      return failure();
    builder.create<func::ReturnOp>(loc);
    return success();
  }

  void limitBlocks(Value total);
  Value heavyFirst(Value turn, Value total, Value cores, ArrayRef<Value> grid);
  void createBuffers();
  void assignSemaphores();
  void primeChannels(bool prime);
  Value materialize(Value value);
  LogicalResult convert(Block &block);
  LogicalResult convert(Operation &op);
  LogicalResult convertOnFirstCore(Block &block);

  tile::LaunchOp launch;
  func::FuncOp function;
  OpBuilder builder,
      hostScalars; ///< hostScalars: at the top of the function, before everything that uses them
  BoxLowering lowering;
};

/// Where all blocks meet, each needs a core of its own.
void CoreProgram::limitBlocks(Value total) {
  if (!tile::meets(launch, /*allBlocks=*/true))
    return;
  Location loc = launch.getLoc();
  Value cores = builder.create<npu::CoreCountOp>(loc, builder.getIndexType());
  Value fits = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ule, total, cores);
  builder.create<npu::AssertOp>(
      loc, fits,
      "T.block_barrier waits for all blocks at once, and this launch has more blocks than the chip "
      "has cores for them; launch fewer, each with a loop over its share of the work");
}

/// Number of the block whose turn it is: linear, or those with most work first. Rounds of all cores
/// alternate in direction, and the last one, in which some cores have no block, is forward: its
/// first cores had the lightest blocks of the round before.
Value CoreProgram::heavyFirst(Value turn, Value total, Value cores, ArrayRef<Value> grid) {
  auto order = launch->getAttrOfType<DenseI64ArrayAttr>(tile::kHeavyFirstAttr);
  if (!order)
    return turn;
  Location loc = launch.getLoc();
  auto index = [&](int64_t value) -> Value {
    return builder.create<arith::ConstantIndexOp>(loc, value);
  };
  auto add = [&](Value a, Value b) -> Value { return builder.create<arith::AddIOp>(loc, a, b); };
  auto sub = [&](Value a, Value b) -> Value { return builder.create<arith::SubIOp>(loc, a, b); };
  auto mul = [&](Value a, Value b) -> Value { return builder.create<arith::MulIOp>(loc, a, b); };
  auto div = [&](Value a, Value b) -> Value { return builder.create<arith::DivUIOp>(loc, a, b); };
  auto rem = [&](Value a, Value b) -> Value { return builder.create<arith::RemUIOp>(loc, a, b); };

  Value round = div(turn, cores), one = index(1);
  Value isForward = builder.create<arith::CmpIOp>(
      loc, arith::CmpIPredicate::eq, rem(add(round, div(total, cores)), index(2)), index(0));
  Value first = mul(round, cores);
  Value mirrored = sub(add(first, sub(cores, one)), sub(turn, first));
  Value place = builder.create<arith::SelectOp>(loc, isForward, turn, mirrored);

  auto heavy = static_cast<unsigned>(order[0]);
  Value others = div(total, grid[heavy]);
  Value number = div(place, others), rest = rem(place, others);
  if (order[1] > 0)
    number = sub(sub(grid[heavy], one), number);
  Value block = index(0), stride = one;
  for (auto [dim, extent] : llvm::enumerate(grid)) {
    block = add(block, mul(dim == heavy ? number : rem(rest, extent), stride));
    if (dim != heavy)
      rest = div(rest, extent);
    stride = mul(stride, extent);
  }
  return block;
}

/// On-chip buffers, channels and scalar variables that this core touches, for the whole function.
void CoreProgram::createBuffers() {
  launch.walk([&](tile::AllocOp alloc) {
    tile::Scope scope = tile::scopeOf(alloc);
    bool local = scope == tile::Scope::Local, channel = scope == tile::Scope::Workspace;
    bool cube = scope == tile::Scope::L1 || scope == tile::Scope::L0C ||
                scope == tile::Scope::L0A || scope == tile::Scope::L0B;
    if (!local && !channel && cube != (lowering.core == Core::AIC))
      return;
    auto type = cast<MemRefType>(alloc.getType());
    SmallVector<int64_t> shape(type.getShape());
    if (auto dim = alloc->getAttrOfType<IntegerAttr>(tile::kSplitDimAttr);
        dim && lowering.parts > 1)
      shape[dim.getInt()] = alloc->getAttrOfType<IntegerAttr>(tile::kSplitRowsAttr).getInt();
    auto npuType = MemRefType::get(shape, type.getElementType(), AffineMap(),
                                   npu::SpaceAttr::get(builder.getContext(), spaceOf(scope)));
    auto buffer = builder.create<npu::AllocOp>(
        alloc.getLoc(), npuType, alloc.getNameAttr(), alloc.getSlotsAttr(),
        alloc->getAttrOfType<IntegerAttr>(tile::kAddressAttr), UnitAttr());
    lowering.mapping.map(alloc.getResult(), buffer.getResult());
    if (!channel || tile::isByCore(launch))
      return;
    Channel entry;
    entry.slots = alloc.getSlots();
    for (Operation *user : alloc->getUsers()) {
      if (auto acquire = dyn_cast<tile::AcquireOp>(user))
        entry.writer = acquire.getCore();
    }
    lowering.channels[alloc] = entry;
  });
  assignSemaphores();
}

/// A pair of semaphores for each channel, or for those of one number, whose versions are handed
/// over in turn: as many may be open as the fewest slots of any let each have. If that is too many,
/// all of one direction share a pair. Versions are handed over in program order, so counts still
/// match; the fewest slots of any bound them all.
void CoreProgram::assignSemaphores() {
  llvm::MapVector<int64_t, SmallVector<Channel *>> groups;
  for (auto &[alloc, channel] : lowering.channels) {
    auto number = alloc->getAttrOfType<IntegerAttr>(kSemaphoreAttr);
    groups[number ? number.getInt() : -1 - int64_t(groups.size())].push_back(&channel);
  }
  bool fits = groups.size() <= kMaxChannels;
  if (!fits) {
    groups.clear();
    for (auto &[alloc, channel] : lowering.channels)
      groups[channel.writer == Core::AIC ? 0 : 1].push_back(&channel);
  }
  int64_t fullId = 0;
  for (auto &[number, group] : groups) {
    int64_t slots = std::numeric_limits<int64_t>::max();
    for (Channel *channel : group)
      slots = std::min(slots, channel->slots);
    if (fits && group.size() > 1)
      slots = std::min<int64_t>(slots, kMaxCount / group.size()) * group.size();
    for (Channel *channel : group) {
      channel->fullId = fullId;
      channel->credits = channel == group.front() ? slots : 0; // the first primes the pair
    }
    fullId += 2;
  }
}

/// The reader grants one credit per slot before it starts, the writer takes them back at the end.
void CoreProgram::primeChannels(bool prime) {
  for (auto &[alloc, channel] : lowering.channels) {
    bool reader = channel.writer != lowering.core;
    if (reader != prime)
      continue;
    for (int64_t credit = 0; credit < channel.credits; ++credit) {
      auto pipe =
          npu::PipeAttr::get(builder.getContext(), prime ? npu::Pipe::MTE2 : channel.writerPipe());
      IntegerAttr id = builder.getI64IntegerAttr(channel.fullId + 1);
      if (prime)
        builder.create<npu::BlockSetOp>(alloc.getLoc(), pipe, id);
      else
        builder.create<npu::BlockWaitOp>(alloc.getLoc(), pipe, id);
    }
  }
}

/// A host scalar that the launch uses: an operand of the function, or recomputed here from such
/// operands.
Value CoreProgram::materialize(Value value) {
  if (Value mapped = lowering.mapping.lookupOrNull(value))
    return mapped;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    materialize(operand);
  hostScalars.clone(*op, lowering.mapping);
  return lowering.mapping.lookup(value);
}

namespace {

/// An op that both vector cores run when the first does all the work: orders, channel ends, scalar
/// variables, which may steer channel ends, what holds such an op, and scalars.
bool isForBothCores(Operation &op) {
  if (op.getNumResults() != 0 || op.hasTrait<OpTrait::IsTerminator>())
    return true;
  WalkResult found = op.walk([](Operation *inner) {
    auto store = dyn_cast<tile::StoreOp>(inner);
    bool isScalar = store && tile::scopeOf(store.getBuffer()) == tile::Scope::Local;
    return isScalar || isa<tile::AcquireOp, tile::PublishOp, tile::WaitOp, tile::ReleaseOp,
                           tile::SetFlagOp, tile::WaitFlagOp, tile::BarrierOp, tile::BlockSetOp,
                           tile::BlockWaitOp, tile::CoreBarrierOp>(inner)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return found.wasInterrupted();
}

} // namespace

/// Statements that only the first vector core runs stand in branches of their own.
LogicalResult CoreProgram::convertOnFirstCore(Block &block) {
  scf::IfOp branch;
  for (Operation &op : block) {
    auto core = op.getAttrOfType<tile::CoreAttr>(tile::kCoreAttr);
    if (core && core.getValue() != Core::Both && core.getValue() != lowering.core)
      continue;
    OpBuilder::InsertionGuard guard(builder);
    if (!isForBothCores(op)) {
      if (!branch)
        branch = lowering.onFirstCore(op.getLoc());
      builder.setInsertionPoint(branch.thenYield());
      lowering.inFirst = true;
      LogicalResult done = convert(op);
      lowering.inFirst = false;
      if (failed(done))
        return failure();
      continue;
    }
    if (branch && isPure(&op) && op.getNumResults() != 0 && op.getNumRegions() == 0)
      builder.setInsertionPoint(branch);
    else
      branch = nullptr;
    if (failed(convert(op)))
      return failure();
  }
  return success();
}

LogicalResult CoreProgram::convert(Block &block) {
  if (lowering.onlyFirst && !lowering.inFirst)
    return convertOnFirstCore(block);
  for (Operation &op : block)
    if (failed(convert(op)))
      return failure();
  return success();
}

LogicalResult CoreProgram::convert(Operation &op) {
  if (isa<tile::EndOp, tile::AllocOp>(op))
    return success();
  if (auto core = op.getAttrOfType<tile::CoreAttr>(tile::kCoreAttr))
    if (core.getValue() != Core::Both && core.getValue() != lowering.core)
      return success();
  if (op.getDialect()->getNamespace() == tile::TileDialect::getDialectNamespace()) {
    for (Value operand : op.getOperands())
      if (!isa<MemRefType>(operand.getType()) && !lowering.mapping.contains(operand)) {
        Region *region = operand.getParentRegion();
        if (region->isProperAncestor(&launch.getBody()) || region == launch->getParentRegion())
          materialize(operand);
        else
          return success(); // steered by the other core's scalars, checked by tile-split-cores
      }
    return lowering.lower(&op);
  }

  // Scalars and control flow: both kinds of core keep what they use; dead parts go with
  // canonicalisation.
  SmallVector<unsigned> missing;
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    if (lowering.mapping.contains(operand))
      continue;
    if (operand.getParentRegion()->isAncestor(launch->getParentRegion())) {
      materialize(operand);
      continue;
    }
    // Only the other core has this scalar. What a region passes on keeps its form, with a value
    // that nothing here uses.
    bool steers = isa<scf::ForOp>(op) ? index < 3 : !isa<scf::WhileOp>(op);
    if (steers && !op.hasTrait<OpTrait::IsTerminator>())
      return success();
    missing.push_back(index);
  }
  bool isLeaf = op.getNumRegions() == 0;
  Operation *copy = isLeaf ? op.clone(lowering.mapping) : op.cloneWithoutRegions(lowering.mapping);
  copy->removeAttr(tile::kCoreAttr);
  for (unsigned index : missing) {
    TypedAttr nothing = builder.getZeroAttr(op.getOperand(index).getType());
    copy->setOperand(index, builder.create<arith::ConstantOp>(op.getLoc(), nothing));
  }
  builder.insert(copy);
  if (isLeaf) {
    lowering.mapping.map(op.getResults(), copy->getResults());
    return success();
  }
  for (auto [from, to] : llvm::zip(op.getRegions(), copy->getRegions())) {
    for (Block &block : from) {
      Block *target = new Block;
      to.push_back(target);
      for (BlockArgument argument : block.getArguments())
        lowering.mapping.map(argument, target->addArgument(argument.getType(), argument.getLoc()));
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(target);
      if (failed(convert(block)))
        return failure();
    }
  }
  return success();
}

struct ConvertTileToNpuPass : passes::impl::ConvertTileToNpuBase<ConvertTileToNpuPass> {
  void runOnOperation() override {
    SmallVector<tile::LaunchOp> launches;
    getOperation().walk([&](tile::LaunchOp launch) { launches.push_back(launch); });
    for (auto [index, launch] : llvm::enumerate(launches))
      if (failed(convert(launch, launches.size() > 1 ? "_" + std::to_string(index) : "")))
        return signalPassFailure();
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      useNpuSpaces(function);
  }

private:
  /// True if the author orders the pipes of this kind of core: by flags of his own, or by the wish
  /// that nobody else does.
  static bool isOrderedByHand(tile::LaunchOp launch, Core core) {
    if (launch->hasAttr(tile::kManualSyncAttr) || tile::isByCore(launch))
      return true;
    return launch
        .walk([&](Operation *op) {
          auto on = op->getAttrOfType<tile::CoreAttr>(tile::kCoreAttr);
          return isa<tile::SetFlagOp, tile::WaitFlagOp>(op) && on && on.getValue() == core
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// What tile-split-cores does elsewhere: each op goes to the core that its author named, or that
  /// holds its tiles.
  static void takePlaces(tile::LaunchOp launch) {
    launch.getBody().walk([](Operation *op) {
      if (!isa<tile::TileDialect>(op->getDialect())) {
        if (Attribute place = op->removeAttr(tile::kPlacedAttr)) // a loop or a branch
          op->setAttr(tile::kCoreAttr, place);
        return;
      }
      if (Core core = tile::coreOf(op); core != Core::Both)
        op->setAttr(tile::kCoreAttr, tile::CoreAttr::get(op->getContext(), core));
    });
  }

  /// Global memrefs of host functions take the npu dialect's space.
  void useNpuSpaces(func::FuncOp function) {
    SmallVector<Type> inputs;
    auto convert = [](Type type) -> Type {
      auto memref = dyn_cast<MemRefType>(type);
      return memref && isa_and_nonnull<tile::ScopeAttr>(memref.getMemorySpace())
                 ? npu::withSpace(memref, npu::Space::GM)
                 : type;
    };
    for (BlockArgument argument : function.getArguments()) {
      argument.setType(convert(argument.getType()));
      inputs.push_back(argument.getType());
    }
    function.setType(FunctionType::get(function.getContext(), inputs, function.getResultTypes()));
  }

  LogicalResult convert(tile::LaunchOp launch, const Twine &suffix) {
    auto host = launch->getParentOfType<func::FuncOp>();
    bool cube = false, vector = false;
    if (tile::isByCore(launch))
      takePlaces(launch);
    launch.walk([&](Operation *op) {
      if (auto core = op->getAttrOfType<tile::CoreAttr>(tile::kCoreAttr)) {
        cube |= core.getValue() == Core::AIC;
        vector |= core.getValue() == Core::AIV;
      }
    });
    // Vector cores are a pair beside a cube core, which then has nothing to do.
    cube |= vector && tile::meets(launch, /*allBlocks=*/false);
    Value shared = cube && vector && !tile::usesSubCoreId(launch) && !tile::isByCore(launch)
                       ? tensorSharedByVectorCores(launch)
                       : Value();
    if (shared) {
      remark(launch, "convert-tile-to-npu", "fallback")
          << "one of the two vector cores does all the vector work: rows of '"
          << tile::nameOf(shared) << "' that one writes could be touched by the other";
      launch.walk([](tile::AllocOp alloc) {
        alloc->removeAttr(tile::kSplitDimAttr);
        alloc->removeAttr(tile::kSplitRowsAttr);
      });
    }
    SmallVector<Value> operands(host.getArguments());
    host.walk([&](tile::SymbolOp symbol) {
      if (symbol->getBlock() == &host.getBody().front())
        operands.push_back(symbol);
    });
    OpBuilder builder(launch);
    FlatSymbolRefAttr names[2];
    for (Core core : {Core::AIC, Core::AIV}) {
      if (core == Core::AIC ? !cube : !vector)
        continue;
      std::string name = (host.getName() + suffix + "_" + stringifyCore(core)).str();
      SmallVector<Type> types;
      for (Value operand : operands) {
        auto memref = dyn_cast<MemRefType>(operand.getType());
        types.push_back(memref ? Type(npu::withSpace(memref, npu::Space::GM)) : operand.getType());
      }
      OpBuilder module = OpBuilder::atBlockEnd(getOperation().getBody());
      auto function =
          module.create<func::FuncOp>(launch.getLoc(), name, module.getFunctionType(types, {}));
      function.setPrivate();
      function->setAttr(npu::kCoreAttr, npu::CoreAttr::get(&getContext(), core));
      if (isOrderedByHand(launch, core))
        function->setAttr(npu::kManualSyncAttr, module.getUnitAttr());
      Block *entry = function.addEntryBlock();
      IRMapping mapping;
      for (auto [index, operand] : llvm::enumerate(operands)) {
        mapping.map(operand, entry->getArgument(index));
        if (isa<MemRefType>(operand.getType()))
          function.setArgAttr(index, npu::kNameAttr, module.getStringAttr(tile::nameOf(operand)));
      }
      CoreProgram program(launch, core, cube && vector, shared != nullptr, function, mapping);
      if (failed(program.build()))
        return failure();
      names[core == Core::AIC ? 0 : 1] = FlatSymbolRefAttr::get(&getContext(), name);
    }
    if (names[0] || names[1])
      builder.create<npu::LaunchOp>(launch.getLoc(), operands, names[0], names[1]);
    launch.erase();
    return success();
  }
};

} // namespace
