// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structure and control flow: launches, calls, scf. Under tile.parallel a condition or bound may
// differ by lane; then the body runs under the mask of the lanes that take it.

#include "tilewright/interp/Machine.h"
#include "tilewright/tile/CoreOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace tilewright::interp {

namespace {

//===-- scf ----------------------------------------------------------------------------------===//

/// A mask without the lanes whose `condition` is not `wanted`; empty if no lane is left.
std::vector<uint8_t> narrowed(const LaneGroup &group, const Slot &condition, bool wanted) {
  std::vector<uint8_t> mask = group.mask;
  bool any = false;
  for (int64_t l = 0; l < group.count; ++l) {
    mask[l] &= bool(condition.lanes[l].integer) == wanted;
    any |= mask[l];
  }
  return any ? mask : std::vector<uint8_t>();
}

bool hasBufferResult(const Node &node) {
  return llvm::any_of(node.op->getResultTypes(), [](Type type) { return isa<MemRefType>(type); });
}

void runIf(Machine &m, const Node &node) {
  const Slot &condition = m.slot(node.operands[0]);
  if (!condition.varying) {
    const Body &body = node.bodies[condition.uniform.integer ? 0 : 1];
    if (m.run(body))
      m.assignAll(node.results, body.yields, /*activeOnly=*/false);
    return;
  }
  if (hasBufferResult(node))
    return m.fail(node, "a buffer cannot be chosen per point of a tile.parallel");
  LaneGroup &group = *m.lanes;
  for (uint32_t result : node.results)
    m.slot(result).makeVarying(group.count);
  std::vector<uint8_t> saved = group.mask;
  std::vector<uint8_t> masks[2] = {narrowed(group, condition, true),
                                   narrowed(group, condition, false)};
  for (int branch = 0; branch < 2 && !m.failed(); ++branch) {
    if (masks[branch].empty())
      continue;
    group.setMask(masks[branch]);
    const Body &body = node.bodies[branch];
    if (!m.run(body))
      continue;
    for (auto [result, yielded] : llvm::zip(node.results, body.yields)) {
      Slot &target = m.slot(result);
      const Slot &source = m.slot(yielded);
      for (int64_t l = 0; l < group.count; ++l)
        if (group.mask[l])
          target.lanes[l] = source.at(l);
    }
  }
  group.setMask(std::move(saved));
}

/// A loop whose bounds differ by lane: each iteration runs the lanes that have one left.
void runLaneFor(Machine &m, const Node &node) {
  LaneGroup &group = *m.lanes;
  const Body &body = node.bodies[0];
  ArrayRef<uint32_t> carried = ArrayRef(body.arguments).drop_front();
  const Slot lower = m.slot(node.operands[0]), upper = m.slot(node.operands[1]),
             step = m.slot(node.operands[2]);
  std::vector<uint8_t> saved = group.mask, mask = saved;
  std::vector<Scalar> counter(group.count);
  for (int64_t l = 0; l < group.count; ++l) {
    counter[l] = lower.at(l);
    if (mask[l] && step.at(l).integer <= 0)
      return m.fail(node,
                    "the step of a loop must be positive, found " + Twine(step.at(l).integer));
  }
  while (!m.failed()) {
    bool any = false;
    for (int64_t l = 0; l < group.count; ++l) {
      mask[l] &= counter[l].integer < upper.at(l).integer;
      any |= mask[l];
    }
    if (!any)
      break;
    group.setMask(mask);
    m.slot(body.arguments[0]).makeVarying(group.count) = counter;
    if (!m.charge(node, group.active) || !m.run(body))
      break;
    m.assignAll(carried, body.yields, /*activeOnly=*/true);
    for (int64_t l = 0; l < group.count; ++l)
      if (mask[l] &&
          __builtin_add_overflow(counter[l].integer, step.at(l).integer, &counter[l].integer))
        mask[l] = 0;
  }
  group.setMask(std::move(saved));
}

void runFor(Machine &m, const Node &node) {
  const Body &body = node.bodies[0];
  ArrayRef<uint32_t> carried = ArrayRef(body.arguments).drop_front();
  m.assignAll(carried, ArrayRef(node.operands).drop_front(3), /*activeOnly=*/false);
  bool varying = llvm::any_of(ArrayRef(node.operands).take_front(3),
                              [&](uint32_t operand) { return m.slot(operand).varying; });
  if (varying) {
    runLaneFor(m, node);
  } else {
    int64_t upper = m.integer(node.operands[1]), step = m.integer(node.operands[2]);
    if (step <= 0)
      return m.fail(node, "the step of a loop must be positive, found " + Twine(step));
    for (int64_t i = m.integer(node.operands[0]); i < upper;) {
      m.slot(body.arguments[0]).setInteger(i);
      if (!m.charge(node, 1) || !m.run(body))
        return;
      m.assignAll(carried, body.yields, /*activeOnly=*/false);
      if (__builtin_add_overflow(i, step, &i))
        break;
    }
  }
  if (!m.failed())
    m.assignAll(node.results, carried, /*activeOnly=*/false);
}

void runWhile(Machine &m, const Node &node) {
  const Body &before = node.bodies[0], &after = node.bodies[1];
  m.assignAll(before.arguments, node.operands, /*activeOnly=*/false);
  std::vector<uint8_t> saved;
  if (m.lanes) {
    saved = m.lanes->mask;
    if (hasBufferResult(node))
      return m.fail(node, "a buffer cannot be chosen per point of a tile.parallel");
    for (uint32_t result : node.results)
      m.slot(result).makeVarying(m.lanes->count);
  }
  while (m.charge(node, 1) && m.run(before)) {
    // `yields` of the first region: the condition, then what goes on.
    const Slot &condition = m.slot(before.yields[0]);
    ArrayRef<uint32_t> forwarded = ArrayRef(before.yields).drop_front();
    if (!condition.varying && !condition.uniform.integer) {
      m.assignAll(node.results, forwarded, /*activeOnly=*/true);
      break;
    }
    if (condition.varying) {
      std::vector<uint8_t> done = narrowed(*m.lanes, condition, false),
                           going = narrowed(*m.lanes, condition, true);
      if (!done.empty()) {
        m.lanes->setMask(std::move(done));
        m.assignAll(node.results, forwarded, /*activeOnly=*/true);
      }
      if (going.empty())
        break;
      m.lanes->setMask(std::move(going));
    }
    m.assignAll(after.arguments, forwarded, /*activeOnly=*/false);
    if (!m.run(after))
      break;
    m.assignAll(before.arguments, after.yields, /*activeOnly=*/false);
  }
  if (m.lanes)
    m.lanes->setMask(std::move(saved));
}

//===-- Launches and calls -------------------------------------------------------------------===//

/// Each block has threads for its cores.
constexpr int64_t kMostTogether = 128;

void runLaunch(Machine &m, const Node &node) {
  if (m.inLaunch)
    return m.fail(node, "a launch inside a launch");
  std::array<int64_t, 3> grid{1, 1, 1};
  for (size_t dim = 0; dim < node.operands.size(); ++dim) {
    grid[dim] = m.integer(node.operands[dim]);
    if (grid[dim] < 0)
      return m.fail(node, "E0503: grid extent " + Twine(dim) + " is negative: " + Twine(grid[dim]));
    if (grid[dim] == 0)
      return m.fail(node, kEmptyGrid);
  }
  const Body &body = node.bodies[0];
  m.inLaunch = true;
  std::vector<std::array<int64_t, 3>> together; // where all blocks meet
  bool meets = tile::meets(cast<tile::LaunchOp>(node.op), /*allBlocks=*/true);
  if (meets && grid[0] * grid[1] * grid[2] > kMostTogether)
    return m.fail(node, "T.block_barrier waits for all blocks at once, and this launch has " +
                            Twine(grid[0] * grid[1] * grid[2]) + "; the interpreter runs up to " +
                            Twine(kMostTogether) + " at once");
  for (int64_t z = 0; z < grid[2] && !m.failed(); ++z)
    for (int64_t y = 0; y < grid[1] && !m.failed(); ++y)
      for (int64_t x = 0; x < grid[0] && !m.failed(); ++x) {
        m.block = {x, y, z};
        for (size_t dim = 0; dim < body.arguments.size(); ++dim)
          m.slot(body.arguments[dim]).setInteger(m.block[dim]);
        if (meets)
          together.push_back(m.block);
        else if (node.number)
          runPrograms(m, node, m.block), m.charge(node, 1);
        else
          m.run(body);
      }
  if (meets && !m.failed())
    runPrograms(m, node, together);
  m.inLaunch = false;
}

void runCall(Machine &m, const Node &node) {
  constexpr int kMaxDepth = 100;
  if (m.lanes)
    return m.fail(node, "a call inside tile.parallel");
  if (!node.callee || node.callee->body.arguments.size() != node.operands.size() ||
      cast<func::FuncOp>(node.callee->op).isExternal())
    return m.fail(node, "call of an unknown function");
  if (m.depth >= kMaxDepth)
    return m.fail(node, "calls nest deeper than " + Twine(kMaxDepth));
  const FunctionPlan &plan = *node.callee;
  Frame frame, *caller = m.frame;
  frame.slots.resize(plan.numSlots);
  frame.buffers.resize(plan.numSlots);
  for (size_t i = 0; i < node.operands.size(); ++i)
    frame.slots[plan.body.arguments[i]] = caller->slots[node.operands[i]];
  m.frame = &frame;
  ++m.depth;
  bool ok = m.run(plan.body);
  --m.depth;
  m.frame = caller;
  if (!ok)
    return;
  if (hasBufferResult(node))
    return m.fail(node, "a function cannot return a buffer");
  for (size_t i = 0; i < node.results.size(); ++i)
    caller->slots[node.results[i]] = frame.slots[plan.body.yields[i]];
}

void runSymbol(Machine &m, const Node &node) {
  StringRef name = cast<tile::SymbolOp>(node.op).getName();
  auto found = m.symbols.find(name.str());
  if (found == m.symbols.end())
    return m.fail(node, "size '" + name + "' has no value");
  m.slot(node.results[0]).setInteger(found->second);
}

void runAssert(Machine &m, const Node &node) {
  const Slot &condition = m.slot(node.operands[0]);
  bool holds = !condition.varying ? condition.uniform.integer != 0 : true;
  if (condition.varying)
    for (int64_t l = 0; l < m.lanes->count; ++l)
      holds &= !m.lanes->mask[l] || condition.lanes[l].integer;
  if (!holds)
    m.fail(node, "E0903: assertion failed: " + cast<tile::AssertOp>(node.op).getMessage());
}

void runNothing(Machine &, const Node &) {}

void runBreakpoint(Machine &m, const Node &node) { m.stopAt(node); }

/// A version of a rotating tile is whatever was written last, but where the author counts slots.
void runAdvance(Machine &m, const Node &node) { m.buffer(node.operands[0]).advance(); }

//===-- Channels -----------------------------------------------------------------------------===//

/// A channel is a queue of versions: the writer may be turns ahead of the reader. Between the ends
/// of one side the tile means that side's version.
void runAcquire(Machine &m, const Node &node) {
  Buffer &buffer = m.buffer(node.operands[0]);
  buffer.versions.emplace_back(buffer.count * byteSize(buffer.kind));
  buffer.data = buffer.versions.back().data();
}

void runWait(Machine &m, const Node &node) {
  Buffer &buffer = m.buffer(node.operands[0]);
  if (buffer.versions.empty())
    return m.fail(node, "nothing was published in " + describe(buffer));
  buffer.data = buffer.versions.front().data();
}

void runRelease(Machine &m, const Node &node) {
  Buffer &buffer = m.buffer(node.operands[0]);
  if (buffer.versions.empty())
    return m.fail(node, "nothing was awaited in " + describe(buffer));
  buffer.versions.pop_front();
  buffer.data = buffer.storage.get();
}

} // namespace

ArrayRef<HandlerEntry> controlHandlers() {
  static const HandlerEntry kEntries[] = {
      {"scf.if", runIf},
      {"scf.for", runFor},
      {"scf.while", runWhile},
      {"func.call", runCall},
      {"tile.launch", runLaunch},
      {"tile.symbol", runSymbol},
      {"tile.assert", runAssert},
      {"tile.advance", runAdvance},
      {"tile.breakpoint", runBreakpoint},
      {"tile.set_flag", runNothing},
      {"tile.set_slot_flag", runNothing},
      {"tile.wait_slot_flag", runNothing},
      {"tile.wait_flag", runNothing},
      {"tile.barrier", runNothing},
      {"tile.acquire", runAcquire},
      {"tile.publish", runNothing},
      {"tile.wait", runWait},
      {"tile.release", runRelease},
      {"memref.dealloc", runNothing},
  };
  return kEntries;
}

} // namespace tilewright::interp
