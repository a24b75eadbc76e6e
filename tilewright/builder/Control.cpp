// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches, loops and branches.
#include "tilewright/builder/BuilderImpl.h"
#include "tilewright/tile/CoreOps.h"

using namespace mlir;

namespace tilewright::builder {

void KernelBuilder::Impl::requireLaunch(const llvm::Twine &what) const {
  for (const Frame &frame : frames)
    if (frame.kind == FrameKind::Launch)
      return;
  fail("E0501: " + what + " outside `with T.Kernel(...)`; move it into the kernel's block");
}

bool KernelBuilder::Impl::isByCore() const {
  return llvm::any_of(frames, [](const Frame &frame) {
    return frame.kind == FrameKind::Launch && frame.op->hasAttr(tile::kByCoreAttr);
  });
}

bool KernelBuilder::Impl::insideParallel() const {
  return llvm::any_of(frames, [](const Frame &frame) { return frame.kind == FrameKind::Parallel; });
}

void KernelBuilder::Impl::noteBoxOp() {
  refuseInThreads("an operation on a tile");
  for (Frame &frame : frames)
    if (frame.kind == FrameKind::Parallel)
      frame.hasBoxOps = true;
}

void KernelBuilder::Impl::pushFrame(FrameKind kind, Operation *op, Block *body) {
  Frame frame;
  frame.kind = kind;
  frame.op = op;
  frames.push_back(frame);
  builder.setInsertionPoint(
      body, body->mightHaveTerminator() ? Block::iterator(body->getTerminator()) : body->end());
}

KernelBuilder::Impl::Frame KernelBuilder::Impl::popFrame(FrameKind kind, StringRef what) {
  if (frames.empty() || frames.back().kind != kind)
    fail("E0799: " + what + " does not match the block that is open here");
  Frame frame = frames.back();
  frames.pop_back();
  builder.setInsertionPointAfter(frame.op);
  return frame;
}

//===-- Launch
//-----------------------------------------------------------------------------------===//

std::vector<Value> KernelBuilder::beginLaunch(const std::vector<Value> &grid) {
  Impl &b = *impl;
  for (const Impl::Frame &frame : b.frames)
    if (frame.kind == Impl::FrameKind::Launch)
      fail("E0502: T.Kernel inside another T.Kernel; a kernel is one launch, place the second "
           "after the "
           "first");
  if (grid.empty() || grid.size() > 3)
    fail("E0503: T.Kernel takes 1 to 3 block extents, found " + llvm::Twine(grid.size()));
  SmallVector<mlir::Value> extents;
  for (auto [dim, extent] : llvm::enumerate(grid)) {
    auto constant = constantInteger(extent);
    if (constant && *constant < 0)
      fail("E0503: block extent " + llvm::Twine(dim) + " of T.Kernel is " + llvm::Twine(*constant) +
           "; it must be 0 or more");
    extents.push_back(b.toIndex(extent, "block extent " + llvm::Twine(dim) + " of T.Kernel"));
  }
  auto op = b.builder.create<tile::LaunchOp>(b.location, extents);
  Region &region = op.getBody();
  Block *body = region.empty() ? &region.emplaceBlock() : &region.front();
  for (size_t dim = 0; dim < grid.size(); ++dim)
    body->addArgument(b.builder.getIndexType(), b.location);
  tile::LaunchOp::ensureTerminator(region, b.builder, b.location);
  b.pushFrame(Impl::FrameKind::Launch, op, body);
  b.lastAlloc = nullptr;
  std::vector<Value> ids;
  for (size_t dim = 0; dim < grid.size(); ++dim)
    ids.push_back(
        b.wrap(body->getArgument(dim), DType::Int32, 0,
               grid[dim].high == kHigh ? kHigh : std::max<int64_t>(grid[dim].high - 1, 0)));
  return ids;
}

void KernelBuilder::beginCores() {
  beginLaunch({Value::number(int64_t(1))});
  Impl &b = *impl;
  b.frames.back().op->setAttr(tile::kByCoreAttr, b.builder.getUnitAttr());
}

void KernelBuilder::endLaunch() { impl->popFrame(Impl::FrameKind::Launch, "the end of T.Kernel"); }

//===-- Loops
//------------------------------------------------------------------------------------===//

/// More would be a mistake: each turn that loads run ahead keeps a copy of the tiles.
static constexpr int64_t kMostStages = 64;

/// Largest value of a loop variable below `stop`.
static int64_t lastBelow(const Value &stop) { return stop.high == kHigh ? kHigh : stop.high - 1; }

Value KernelBuilder::beginFor(const Value &start, const Value &stop, const Value &step,
                              int64_t stages) {
  Impl &b = *impl;
  auto constantStep = constantInteger(step);
  if (constantStep && *constantStep == 0)
    fail("E0505: a loop with step 0 would not end");
  bool backward = constantStep && *constantStep < 0;
  Value from = start, to = stop, by = step;
  if (backward) { // count upward and compute the variable
    from = Value::number(int64_t(0));
    by = Value::number(int64_t(1));
    Value span = b.binary("sub", start, stop), stride = Value::number(-*constantStep);
    to = b.binary("max", b.binary("ceildiv", span, stride), from);
  }
  mlir::Value low = b.toIndex(from, "the start of a loop"),
              high = b.toIndex(to, "the end of a loop"),
              width = b.toIndex(by, "the step of a loop");
  auto op = b.builder.create<scf::ForOp>(b.location, low, high, width);
  if (stages < 0 || stages > kMostStages)
    fail("E0124: num_stages is " + llvm::Twine(stages) + "; allowed are 0 to " +
         llvm::Twine(kMostStages) + ", the turns that loads may run ahead");
  if (stages > 0)
    op->setAttr(tile::kNumStagesAttr, b.builder.getI64IntegerAttr(stages));
  b.pushFrame(Impl::FrameKind::For, op, op.getBody());
  Value variable = b.wrap(op.getInductionVar(), DType::Int32, from.low,
                          from.low == kLow ? kHigh : lastBelow(to));
  if (!backward)
    return variable;
  return b.binary("add", start, b.binary("mul", variable, step));
}

void KernelBuilder::endFor() { impl->popFrame(Impl::FrameKind::For, "the end of a loop"); }

void KernelBuilder::Impl::refuseInThreads(StringRef what) const {
  for (const Frame &frame : frames)
    if (frame.isThreads)
      fail("E0509: " + what +
           " after T.thread_binding or T.get_thread_binding: what follows is code for one "
           "thread, which works on single elements; put work on tiles before it");
}

std::vector<Value> KernelBuilder::beginThreads(const std::vector<Value> &extents) {
  if (impl->insideParallel())
    fail("E0509: the number of a thread is asked for inside T.Parallel; use its loop variable");
  std::vector<Value> ids = beginParallel(extents);
  impl->frames.back().isThreads = true;
  return ids;
}

std::vector<Value> KernelBuilder::beginParallel(const std::vector<Value> &extents) {
  Impl &b = *impl;
  b.requireLaunch("T.Parallel stands");
  if (b.isByCore())
    fail("E0613: T.Parallel inside T.Cores, where each statement is one instruction of its author; "
         "use "
         "T.vadd and its relatives, or T.Kernel");
  b.refuseInThreads("T.Parallel");
  std::vector<Value> variables;
  if (b.insideParallel()) { // lanes run it as a loop
    for (const Value &extent : extents) {
      auto op = b.builder.create<scf::ForOp>(b.location, b.constantIndex(0),
                                             b.toIndex(extent, "an extent of T.Parallel"),
                                             b.constantIndex(1));
      b.builder.setInsertionPoint(op.getBody()->getTerminator());
      variables.push_back(b.wrap(op.getInductionVar(), DType::Int32, 0, lastBelow(extent)));
    }
    Operation *outer = b.builder.getInsertionBlock()->getParentOp();
    for (size_t level = 1; level < extents.size(); ++level)
      outer = outer->getParentOp();
    Impl::Frame frame;
    frame.kind = Impl::FrameKind::SerialParallel;
    frame.op = outer;
    frame.lanes = variables;
    frame.extents = extents;
    b.frames.push_back(frame);
    return variables;
  }
  SmallVector<mlir::Value> sizes;
  for (auto [dim, extent] : llvm::enumerate(extents)) {
    auto constant = constantInteger(extent);
    if (constant && *constant < 0)
      fail("E0506: extent " + llvm::Twine(dim) + " of T.Parallel is " + llvm::Twine(*constant) +
           "; it must be 0 or more");
    sizes.push_back(b.toIndex(extent, "extent " + llvm::Twine(dim) + " of T.Parallel"));
  }
  auto op = b.builder.create<tile::ParallelOp>(b.location, sizes);
  Region &region = op.getBody();
  Block *body = region.empty() ? &region.emplaceBlock() : &region.front();
  for (size_t dim = 0; dim < extents.size(); ++dim)
    body->addArgument(b.builder.getIndexType(), b.location);
  tile::ParallelOp::ensureTerminator(region, b.builder, b.location);
  b.pushFrame(Impl::FrameKind::Parallel, op, body);
  for (size_t dim = 0; dim < extents.size(); ++dim)
    variables.push_back(b.wrap(body->getArgument(dim), DType::Int32, 0, lastBelow(extents[dim])));
  b.frames.back().lanes = variables;
  b.frames.back().extents = extents;
  return variables;
}

/// Turns an element-wise region that holds tile operations into nested loops.
static void serialize(OpBuilder &builder, tile::ParallelOp op, mlir::Value zero, mlir::Value one) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  Block *body = &op.getBody().front();
  for (auto [dim, extent] : llvm::enumerate(op.getExtents())) {
    auto loop = builder.create<scf::ForOp>(op.getLoc(), zero, extent, one);
    body->getArgument(dim).replaceAllUsesWith(loop.getInductionVar());
    builder.setInsertionPoint(loop.getBody()->getTerminator());
  }
  Block *inner = builder.getInsertionBlock();
  body->getTerminator()->erase();
  inner->getOperations().splice(builder.getInsertionPoint(), body->getOperations());
  op->erase();
}

void KernelBuilder::endParallel() {
  Impl &b = *impl;
  if (!b.frames.empty() && b.frames.back().kind == Impl::FrameKind::SerialParallel) {
    b.popFrame(Impl::FrameKind::SerialParallel, "the end of T.Parallel");
    return;
  }
  mlir::Value zero = b.constantIndex(0), one = b.constantIndex(1);
  Impl::Frame frame = b.popFrame(Impl::FrameKind::Parallel, "the end of T.Parallel");
  if (frame.hasBoxOps)
    serialize(b.builder, cast<tile::ParallelOp>(frame.op), zero, one);
}

/// A variable inside T.Parallel exists once per lane: a tile over the extents of the loops around.
std::pair<std::vector<Value>, std::vector<int64_t>> KernelBuilder::parallelLanes() {
  std::vector<Value> lanes;
  std::vector<int64_t> extents;
  for (const Impl::Frame &frame : impl->frames)
    for (size_t dim = 0; dim < frame.lanes.size(); ++dim) {
      if (frame.extents[dim].high >= (int64_t(1) << 24))
        fail(
            "E0507: T.alloc_var inside T.Parallel whose extent " + llvm::Twine(dim) +
            " is known only at run time; allocate before the loop, or bound the extent with T.min");
      lanes.push_back(frame.lanes[dim]);
      extents.push_back(std::max<int64_t>(frame.extents[dim].high, 1));
    }
  return {lanes, extents};
}

Buffer KernelBuilder::allocLanes(const std::string &name, DType type,
                                 const std::vector<int64_t> &extents) {
  auto scope = extents.empty() ? tile::Scope::Local : tile::Scope::Fragment;
  return impl->alloc(name, type, extents, scope, /*user=*/true, /*perLane=*/true);
}

//===-- Branches
//---------------------------------------------------------------------------------===//

void KernelBuilder::beginIf(const Value &condition) {
  Impl &b = *impl;
  auto op =
      b.builder.create<scf::IfOp>(b.location, b.toCondition(condition), /*withElseRegion=*/false);
  b.pushFrame(Impl::FrameKind::If, op, op.thenBlock());
}

void KernelBuilder::beginElse() {
  Impl &b = *impl;
  Impl::Frame frame = b.popFrame(Impl::FrameKind::If, "`else`");
  auto op = cast<scf::IfOp>(frame.op);
  Block *block = &op.getElseRegion().emplaceBlock();
  b.builder.setInsertionPointToEnd(block);
  b.builder.create<scf::YieldOp>(b.location);
  b.pushFrame(Impl::FrameKind::Else, op, block);
}

void KernelBuilder::endIf() {
  Impl &b = *impl;
  if (!b.frames.empty() && b.frames.back().kind == Impl::FrameKind::Else)
    b.popFrame(Impl::FrameKind::Else, "the end of `else`");
  else
    b.popFrame(Impl::FrameKind::If, "the end of `if`");
}

void KernelBuilder::beginWhile() {
  Impl &b = *impl;
  b.requireLaunch("`while` stands");
  if (b.insideParallel())
    fail("E0508: `while` inside T.Parallel is not supported; use a loop with a fixed number of "
         "steps and "
         "an `if`");
  auto op = b.builder.create<scf::WhileOp>(b.location, TypeRange{}, ValueRange{});
  Block *before = &op.getBefore().emplaceBlock();
  op.getAfter().emplaceBlock();
  b.pushFrame(Impl::FrameKind::While, op, before);
}

void KernelBuilder::whileCondition(const Value &condition) {
  Impl &b = *impl;
  if (b.frames.empty() || b.frames.back().kind != Impl::FrameKind::While)
    fail("E0799: a `while` condition outside `while`");
  b.builder.create<scf::ConditionOp>(b.location, b.toCondition(condition), ValueRange{});
  auto op = cast<scf::WhileOp>(b.frames.back().op);
  b.frames.back().kind = Impl::FrameKind::WhileBody;
  b.builder.setInsertionPointToStart(&op.getAfter().front());
  b.builder.create<scf::YieldOp>(b.location);
  b.builder.setInsertionPointToStart(&op.getAfter().front());
}

void KernelBuilder::endWhile() { impl->popFrame(Impl::FrameKind::WhileBody, "the end of `while`"); }

} // namespace tilewright::builder
