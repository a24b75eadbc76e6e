// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile-verify-places: each tile is in a memory that all its uses reach.

#include "tilewright/passes/Checkers.h"
#include "tilewright/passes/TileUtils.h"

#include "llvm/ADT/TypeSwitch.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEVERIFYPLACES
#include "tilewright/passes/Checkers.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

using Scopes = std::initializer_list<Scope>;

/// Where a copy out of a memory can go; through a workspace where no pipe leads there.
Scopes targetsOf(Scope source) {
  static constexpr Scopes kFromGlobal = {Scope::L1, Scope::UB};
  static constexpr Scopes kFromL1 = {Scope::L0A, Scope::L0B, Scope::Global, Scope::Workspace,
                                     Scope::UB};
  static constexpr Scopes kFromSum = {Scope::L1, Scope::Global, Scope::Workspace, Scope::UB};
  static constexpr Scopes kFromUB = {Scope::UB, Scope::L1, Scope::Global, Scope::Workspace};
  switch (source) {
  case Scope::Global:
  case Scope::Workspace:
    return kFromGlobal;
  case Scope::L1:
    return kFromL1;
  case Scope::L0C:
    return kFromSum;
  case Scope::UB:
    return kFromUB;
  default:
    return {};
  }
}

/// Where box `index` of a statement may be.
Scopes placesOf(AccessInterface access, unsigned index) {
  static constexpr Scopes kVector = {Scope::UB};
  static constexpr Scopes kFilled = {Scope::UB, Scope::L1};
  static constexpr Scopes kElement = {Scope::UB, Scope::Local, Scope::Global};
  static constexpr Scopes kGlobal = {Scope::Global};
  static constexpr Scopes kFactors[] = {
      {Scope::L0C}, {Scope::L1, Scope::L0A}, {Scope::L1, Scope::L0B}};
  static constexpr Scopes kSources = {Scope::Global, Scope::Workspace, Scope::L1, Scope::L0C,
                                      Scope::UB};
  return llvm::TypeSwitch<Operation *, Scopes>(access.getOperation())
      .Case<GemmOp>([&](GemmOp) { return kFactors[index]; })
      .Case<CopyOp>(
          [&](CopyOp copy) { return index ? kSources : targetsOf(scopeOf(copy.getBox(1).buffer)); })
      .Case<FillOp>([&](FillOp) { return kFilled; })
      .Case<LoadOp, StoreOp>([&](auto) { return kElement; })
      .Case<AtomicOp>([&](AtomicOp) { return index ? kVector : kGlobal; })
      .Default([&](Operation *) { return kVector; });
}

LogicalResult checkUses(AccessInterface access) {
  if (isa<PrintOp>(access.getOperation()))
    return success(); // shows any memory
  for (unsigned index = 0; index < access.getNumBoxes(); ++index) {
    Value buffer = access.getBox(index).buffer;
    Scopes allowed = placesOf(access, index);
    if (llvm::is_contained(allowed, scopeOf(buffer)))
      continue;
    InFlightDiagnostic error = access->emitError("E0799: '")
                               << nameOf(buffer) << "' is in " << stringifyScope(scopeOf(buffer))
                               << ", which box " << index << " of '" << access->getName()
                               << "' cannot be; it can be in ";
    for (auto [number, scope] : llvm::enumerate(allowed))
      error << (number ? ", " : "") << stringifyScope(scope);
    return error;
  }
  return success();
}

LogicalResult checkScope(AllocOp alloc) {
  Scope scope = scopeOf(alloc);
  if (scope != Scope::Shared && scope != Scope::Fragment)
    return success();
  return alloc.emitError("E0799: '")
         << alloc.getName() << "' has not been given a memory, it is still "
         << stringifyScope(scope);
}

struct TileVerifyPlacesPass : passes::impl::TileVerifyPlacesBase<TileVerifyPlacesPass> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](Operation *op) {
      LogicalResult holds = success();
      if (auto alloc = dyn_cast<AllocOp>(op))
        holds = checkScope(alloc);
      else if (auto access = dyn_cast<AccessInterface>(op))
        holds = checkUses(access);
      return failed(holds) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
