// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kind of core runs what, and which decisions about that are the author's.

#include "tilewright/tile/CoreOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::tile;

namespace {

/// The kind of core that holds a tile. Without a place of its own it is where products want it.
std::optional<Core> holderOf(Value buffer) {
  switch (scopeOf(buffer)) {
  case Scope::L1:
  case Scope::L0A:
  case Scope::L0B:
  case Scope::L0C:
    return Core::AIC;
  case Scope::UB:
    return Core::AIV;
  case Scope::Shared:
  case Scope::Fragment:
    return llvm::any_of(buffer.getUsers(), [](Operation *user) { return isa<GemmOp>(user); })
               ? Core::AIC
               : Core::AIV;
  case Scope::Global:
  case Scope::Local:
  case Scope::Workspace:
    return std::nullopt;
  }
  return std::nullopt;
}

template <typename... Ops>
bool holds(LaunchOp launch) {
  return launch.getBody()
      .walk([](Operation *op) {
        return isa<Ops...>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace

Core tile::coreOf(Operation *op) {
  for (StringRef name : {kCoreAttr, kPlacedAttr})
    if (auto core = op->getAttrOfType<CoreAttr>(name))
      return core.getValue();
  if (isa<ParallelOp>(op))
    return Core::AIV;
  auto access = dyn_cast<AccessInterface>(op);
  if (!access)
    return Core::Both;
  bool isWrite = false;
  std::optional<Core> core;
  for (unsigned box = 0; box < access.getNumBoxes(); ++box) {
    Value buffer = access.getBox(box).buffer;
    if (!core)
      core = holderOf(buffer);
    isWrite |= scopeOf(buffer) == Scope::Global && writes(access.getAccessKind(box));
  }
  return core.value_or(isWrite ? Core::AIV : Core::Both);
}

bool tile::usesSubCoreId(LaunchOp launch) { return holds<SubCoreIdOp>(launch); }

bool tile::isDividedByHand(LaunchOp launch) {
  return isByCore(launch) || holds<SubCoreIdOp, BlockSetOp, BlockWaitOp, CoreBarrierOp>(launch);
}

bool tile::meets(LaunchOp launch, bool allBlocks) {
  return launch.getBody()
      .walk([&](CoreBarrierOp barrier) {
        return barrier.getAllBlocks() == allBlocks ? WalkResult::interrupt()
                                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

bool tile::isOrderedByHand(LaunchOp launch) {
  return launch->hasAttr(kManualSyncAttr) || holds<SetFlagOp, WaitFlagOp>(launch);
}

bool tile::isByHand(LaunchOp launch) { return isDividedByHand(launch) || isOrderedByHand(launch); }
