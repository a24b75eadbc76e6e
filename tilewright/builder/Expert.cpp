// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an Expert author decides: cores, order of pipes, order of cores.
#include "tilewright/builder/BuilderImpl.h"
#include "tilewright/tile/CoreOps.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tilewright::builder {

namespace {

constexpr const char *kPipes =
    "PIPE_S, PIPE_V, PIPE_M (also PIPE_C), PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_FIX, PIPE_ALL";

const char *textOf(Core core) { return core == Core::AIC ? "Cube" : "Vector"; }

std::string textOf(Pipe pipe) {
  return pipe == Pipe::All ? "PIPE_ALL" : ("PIPE_" + stringifyPipe(pipe)).str();
}

Pipe parsePipe(const std::string &name) {
  auto pipe = llvm::StringSwitch<std::optional<Pipe>>(name)
                  .Case("PIPE_S", Pipe::S)
                  .Case("PIPE_V", Pipe::V)
                  .Cases("PIPE_M", "PIPE_C", Pipe::M)
                  .Case("PIPE_MTE1", Pipe::MTE1)
                  .Case("PIPE_MTE2", Pipe::MTE2)
                  .Case("PIPE_MTE3", Pipe::MTE3)
                  .Case("PIPE_FIX", Pipe::FIX)
                  .Case("PIPE_ALL", Pipe::All)
                  .Default(std::nullopt);
  if (pipe)
    return *pipe;
  bool isElsewhere = llvm::StringSwitch<bool>(name)
                         .Cases("PIPE_MTE4", "PIPE_MTE5", "PIPE_V2", true)
                         .Cases("VIRTUAL_PIPE_MTE2_L1A", "VIRTUAL_PIPE_MTE2_L1B", true)
                         .Default(false);
  fail("E0601: " +
       llvm::Twine(isElsewhere ? "the cores of the simulated chips have no pipe '"
                               : "unknown pipe '") +
       name + "'; allowed are " + kPipes);
}

/// The kind of core that has this pipe; null where both have one.
std::optional<Core> coreOf(Pipe pipe) {
  switch (pipe) {
  case Pipe::M:
  case Pipe::MTE1:
  case Pipe::FIX:
    return Core::AIC;
  case Pipe::V:
    return Core::AIV;
  case Pipe::S:
  case Pipe::MTE2:
  case Pipe::MTE3:
  case Pipe::All:
    return std::nullopt;
  }
  return std::nullopt;
}

} // namespace

void KernelBuilder::Impl::PlacingListener::notifyOperationInserted(Operation *op,
                                                                   OpBuilder::InsertPoint) {
  if (scopes.empty() || isa<tile::AllocOp>(op))
    return;
  // A launch by cores has a program for each kind, so that all of it has its place, loops too.
  bool isByCore = false;
  if (isa_and_nonnull<tile::TileDialect>(op->getDialect()) || op->getNumRegions() > 0)
    if (auto launch = op->getParentOfType<tile::LaunchOp>())
      isByCore = tile::isByCore(launch);
  if (isa<tile::LoadOp>(op) && !isByCore)
    return;
  bool isPlaced =
      isByCore || isa<AccessInterface, tile::ParallelOp, tile::PrintOp, tile::AssertOp>(op);
  if (auto store = dyn_cast<tile::StoreOp>(op); store && !isByCore)
    isPlaced = tile::scopeOf(store.getBuffer()) != tile::Scope::Local;
  if (isPlaced)
    op->setAttr(tile::kPlacedAttr, tile::CoreAttr::get(op->getContext(), scopes.back()));
}

void KernelBuilder::beginScope(const std::string &name) {
  Impl &b = *impl;
  b.requireLaunch("T.Scope stands");
  if (name != "Cube" && name != "Vector")
    fail("E0602: T.Scope(\"" + name + "\"): allowed are \"Cube\" and \"Vector\"");
  Core core = name == "Cube" ? Core::AIC : Core::AIV;
  if (!b.placing.scopes.empty() && b.placing.scopes.back() != core)
    fail("E0602: T.Scope(\"" + name + "\") inside T.Scope(\"" + textOf(b.placing.scopes.back()) +
         "\"): a statement runs on one kind of core; close the other scope first");
  if (b.insideParallel())
    fail("E0602: T.Scope inside T.Parallel; put the loop into the scope");
  b.placing.scopes.push_back(core);
}

void KernelBuilder::endScope() {
  if (impl->placing.scopes.empty())
    fail("E0799: the end of T.Scope does not match the block that is open here");
  impl->placing.scopes.pop_back();
}

Value KernelBuilder::subCoreId() {
  Impl &b = *impl;
  b.requireLaunch("the number of the vector core is known only");
  return b.wrap(b.builder.create<tile::SubCoreIdOp>(b.location, b.builder.getIndexType()),
                DType::Int32, 0, 1);
}

/// The kind of core that runs a synchronisation statement: the scope around it, else what its pipes
/// say. Nothing where both do not tell.
std::optional<Core> KernelBuilder::Impl::coreOfSync(llvm::ArrayRef<Pipe> pipes,
                                                    const llvm::Twine &what) {
  std::optional<Core> core;
  if (!placing.scopes.empty())
    core = placing.scopes.back();
  for (Pipe pipe : pipes) {
    std::optional<Core> wanted = coreOf(pipe);
    if (wanted && core && *wanted != *core)
      fail("E0602: " + what + ": " + textOf(pipe) + " is a pipe of the " +
           (*wanted == Core::AIC ? "cube" : "vector") + " core, " +
           (placing.scopes.empty()
                ? "the other pipe is not"
                : std::string("but this is T.Scope(\"") + textOf(*core) + "\")"));
    if (wanted)
      core = wanted;
  }
  return core;
}

mlir::Operation *KernelBuilder::Impl::place(mlir::Operation *op, Core core) {
  op->setAttr(tile::kPlacedAttr, tile::CoreAttr::get(context.get(), core));
  return op;
}

mlir::Value KernelBuilder::Impl::eventId(const Value &id, const llvm::Twine &what) {
  requireLaunch(what + " stands");
  if (insideParallel())
    fail("E0608: " + what +
         " inside T.Parallel, which is one step of one pipe; put it before or behind");
  auto constant = constantInteger(id);
  if (constant && *constant < 0)
    fail("E0604: " + what + ": event " + llvm::Twine(*constant) + "; events are numbered from 0");
  return toIndex(id, "the event of " + what);
}

Value KernelBuilder::coreId() {
  Impl &b = *impl;
  if (!b.isByCore())
    fail("E0613: T.core_id stands inside `with T.Cores()`; a block of T.Kernel has its block ids");
  return b.wrap(b.builder.create<tile::CoreIdOp>(b.location, b.builder.getIndexType()),
                DType::Int32, 0);
}

Value KernelBuilder::coreCount() {
  Impl &b = *impl;
  if (!b.isByCore())
    fail("E0613: T.core_count stands inside `with T.Cores()`; blocks of T.Kernel run on any core");
  return b.wrap(b.builder.create<tile::CoreCountOp>(b.location, b.builder.getIndexType()),
                DType::Int32, 1);
}

void KernelBuilder::breakpoint() {
  Impl &b = *impl;
  b.requireLaunch("T.breakpoint stands");
  if (b.insideParallel())
    fail(
        "E0614: T.breakpoint inside T.Parallel, whose lanes run together; put it before or behind");
  b.builder.create<tile::BreakpointOp>(b.location);
}

void KernelBuilder::beginBlock(const Value &id) {
  Impl &b = *impl;
  if (!b.isByCore())
    fail("E0613: T.begin_block stands inside `with T.Cores()`; T.Kernel has blocks of its own");
  b.builder.create<tile::BeginBlockOp>(b.location, b.toIndex(id, "the block of T.begin_block"));
}

void KernelBuilder::setFlag(const std::string &source, const std::string &target, const Value &id,
                            bool isWait, const std::optional<Buffer> &rotate) {
  Impl &b = *impl;
  std::string what = isWait ? "T.wait_flag" : "T.set_flag";
  Pipe from = parsePipe(source), to = parsePipe(target);
  if (from == Pipe::All || to == Pipe::All || from == to)
    fail("E0603: " + what + " orders two different pipes, found " + textOf(from) + " and " +
         textOf(to) + "; use T.pipe_barrier for one pipe or all");
  std::optional<Core> core = b.coreOfSync({from, to}, what);
  if (!core && (from == Pipe::MTE3 || to == Pipe::MTE3))
    core = Core::AIV;
  if (!core)
    fail("E0602: " + what + ": both kinds of core have " + textOf(from) + " and " + textOf(to) +
         "; put it inside T.Scope(\"Cube\") or T.Scope(\"Vector\")");
  if (rotate) {
    mlir::Value tile = b.raw(*rotate);
    auto number = constantInteger(id);
    if (!tile.getDefiningOp<tile::AllocOp>() || !b.isByCore() || !number)
      fail(what + " with rotate takes a number and a tile of T.Cores, whose current slot it adds");
    Operation *op =
        isWait ? b.builder.create<tile::WaitSlotFlagOp>(b.location, from, to, *number, tile)
               : b.builder.create<tile::SetSlotFlagOp>(b.location, from, to, *number, tile)
                     .getOperation();
    b.place(op, *core);
    return;
  }
  mlir::Value event = b.eventId(id, what);
  Operation *op =
      isWait ? b.builder.create<tile::WaitFlagOp>(b.location, from, to, event)
             : b.builder.create<tile::SetFlagOp>(b.location, from, to, event).getOperation();
  b.verify(b.place(op, *core));
}

void KernelBuilder::barrier(const std::string &pipe) {
  Impl &b = *impl;
  b.requireLaunch("T.pipe_barrier stands");
  Pipe name = parsePipe(pipe);
  Core core = b.coreOfSync({name}, "T.pipe_barrier").value_or(Core::Both);
  b.place(b.builder.create<tile::BarrierOp>(b.location, name), core);
}

void KernelBuilder::coreBarrier(const std::string &pipe, const Value &id, bool allBlocks) {
  Impl &b = *impl;
  std::string what = allBlocks ? "T.block_barrier" : "T.subblock_barrier";
  Pipe name = parsePipe(pipe);
  if (name == Pipe::All)
    fail("E0603: " + what + " belongs to one pipe, found PIPE_ALL; name the pipe with T.rs");
  b.eventId(id, what);
  auto number = constantInteger(id);
  if (!number)
    fail("E0604: the number of " + what +
         " is known only at run time; all cores meet at one "
         "number: write it out");
  std::optional<Core> core = b.coreOfSync({name}, what);
  if (!allBlocks && core == Core::AIC)
    fail("E0602: T.subblock_barrier: the two vector cores of a block meet, and " +
         std::string(b.placing.scopes.empty() ? textOf(name) + " is a pipe of the cube core"
                                              : "this is T.Scope(\"Cube\")"));
  if (!core && (!allBlocks || name == Pipe::MTE3))
    core = Core::AIV;
  if (!core)
    fail("E0602: " + what + ": both kinds of core have " + textOf(name) +
         "; put it inside T.Scope(\"Cube\") or T.Scope(\"Vector\")");
  auto barrier = b.builder.create<tile::CoreBarrierOp>(b.location, name, *number, allBlocks);
  b.place(barrier, *core);
}

void KernelBuilder::blockSync(const std::string &pipe, const Value &id, bool isWait) {
  Impl &b = *impl;
  std::string what = isWait ? "T.sync_block_wait" : "T.sync_block_set";
  Pipe name = parsePipe(pipe);
  if (name == Pipe::All)
    fail("E0603: " + what + " belongs to one pipe, found PIPE_ALL; name the pipe with T.rs");
  std::optional<Core> core = b.coreOfSync({name}, what);
  if (!core && name == Pipe::MTE3)
    core = Core::AIV;
  if (!core)
    fail("E0602: " + what + ": both kinds of core have " + textOf(name) +
         "; put it inside T.Scope(\"Cube\") or T.Scope(\"Vector\")");
  mlir::Value event = b.eventId(id, what);
  Operation *op = isWait
                      ? b.builder.create<tile::BlockWaitOp>(b.location, name, event)
                      : b.builder.create<tile::BlockSetOp>(b.location, name, event).getOperation();
  b.place(op, *core);
}

void KernelBuilder::storeFractals(const Operand &src, const Operand &dst,
                                  const std::vector<Value> &size, bool relu,
                                  std::optional<double> scale, bool split) {
  Impl &b = *impl;
  constexpr const char *kWhat = "T.store_fixpipe";
  b.requireLaunch("T.store_fixpipe stands");
  if (split && dst.buffer.dtype != DType::Float32)
    fail("E0607: channel_split halves the fractals of float32, found " + b.describe(dst.buffer));
  ResolvedBox from = size.empty() ? b.resolve(src, kWhat) : b.sized(src, size, kWhat);
  int64_t width = split ? 8 : dst.buffer.dtype == DType::Int8 ? 32 : 16;
  if (b.scopeOf(src.buffer) != tile::Scope::L0C || from.sizes.size() < 2)
    fail("E0607: the accumulator's own order is that of a matrix in T.alloc_L0C; the source is " +
         b.describe(src.buffer));
  if (b.scopeOf(dst.buffer) != tile::Scope::Global || dst.buffer.shape.size() != 3 ||
      dst.buffer.shape.back() != width || dst.kind == Operand::Kind::Region)
    fail("E0607: without enable_nz2nd T.store_fixpipe writes the accumulator's own order, columns "
         "of " +
         llvm::Twine(width) + " elements, to a tensor of shape (columns, rows, " +
         llvm::Twine(width) + ") or a corner of one; the destination is " + b.describe(dst.buffer));
  size_t rows = from.sizes.size() - 2, last = from.sizes.size() - 1;
  Value zero = Value::number(int64_t(0)), one = Value::number(int64_t(1)),
        step = Value::number(width);
  Value total = from.sizes[last];
  auto constant = constantInteger(total);
  Value at = beginFor(zero, binary("ceildiv", total, step), one, 0);
  Value column = binary("mul", at, step);
  Value count =
      constant && *constant % width == 0 ? step : binary("min", binary("sub", total, column), step);
  Operand part = src, place = dst;
  part.kind = place.kind = Operand::Kind::Region;
  part.starts = from.offsets;
  part.starts[last] = binary("add", from.offsets[last], column);
  part.sizes = from.sizes;
  part.sizes[last] = count;
  part.scalars.assign(part.sizes.size(), false);
  if (dst.kind == Operand::Kind::Whole)
    place.starts.assign(3, zero);
  place.starts[0] = binary("add", place.starts[0], at);
  place.sizes = {one, from.sizes[rows], count};
  place.scalars = {true, false, false};
  copy(part, place, {}, relu, scale);
  endFor();
}

} // namespace tilewright::builder
