// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/LoopNests.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

/// True for what each turn of `inner` can do again: scalars, and elements that `outer` leaves
/// alone.
bool isRepeatable(Operation &op, scf::ForOp outer) {
  if (isPure(&op))
    return true;
  auto load = dyn_cast<LoadOp>(op);
  if (!load)
    return false;
  WalkResult result = outer.getBody()->walk([&](AccessInterface access) {
    for (unsigned index = 0; index < access.getNumBoxes(); ++index)
      if (writes(access.getAccessKind(index)) && access.getBox(index).buffer == load.getBuffer())
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return !result.wasInterrupted();
}

} // namespace

scf::ForOp passes::flattenNest(scf::ForOp inner) {
  auto outer = dyn_cast<scf::ForOp>(inner->getParentOp());
  const int64_t trips = tripsOf(inner).value_or(0);
  if (!outer || trips == 0 || !constantOf(outer.getStep()) || inner.getNumResults() != 0 ||
      outer.getNumResults() != 0)
    return {};
  for (Operation &op : outer.getBody()->without_terminator())
    if (&op != inner && !(op.isBeforeInBlock(inner) && isRepeatable(op, outer)))
      return {};

  OpBuilder builder(outer);
  Location loc = inner.getLoc();
  auto index = [&](int64_t value) -> Value {
    return builder.create<arith::ConstantIndexOp>(loc, value);
  };
  auto sum = [&](Value a, Value b) -> Value { return builder.create<arith::AddIOp>(loc, a, b); };
  auto product = [&](Value a, Value b) -> Value {
    return builder.create<arith::MulIOp>(loc, a, b);
  };
  Value zero = index(0), one = index(1), turns = index(trips);
  Value distance = builder.create<arith::SubIOp>(loc, outer.getUpperBound(), outer.getLowerBound());
  Value rounds = builder.create<arith::DivSIOp>(
      loc, sum(distance, index(*constantOf(outer.getStep()) - 1)), outer.getStep());
  auto flat = builder.create<scf::ForOp>(loc, zero, product(rounds, turns), one);
  flat->setDiscardableAttrs(inner->getDiscardableAttrDictionary());

  builder.setInsertionPoint(flat.getBody()->getTerminator());
  Value counter = flat.getInductionVar();
  Value round = builder.create<arith::DivUIOp>(loc, counter, turns);
  Value turn = builder.create<arith::RemUIOp>(loc, counter, turns);
  IRMapping mapping;
  mapping.map(outer.getInductionVar(), sum(outer.getLowerBound(), product(round, outer.getStep())));
  for (Operation &op : outer.getBody()->without_terminator())
    if (&op != inner)
      builder.clone(op, mapping);
  Value first = mapping.lookupOrDefault(inner.getLowerBound());
  mapping.map(inner.getInductionVar(),
              sum(first, product(turn, mapping.lookupOrDefault(inner.getStep()))));
  for (Operation &op : inner.getBody()->without_terminator())
    builder.clone(op, mapping);
  outer.erase();
  return flat;
}
