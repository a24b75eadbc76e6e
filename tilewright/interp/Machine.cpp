// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/interp/Machine.h"

#include "llvm/ADT/StringMap.h"

#include <cstring>

using namespace mlir;

namespace tilewright::interp {

void LaneGroup::setMask(std::vector<uint8_t> newMask) {
  mask = std::move(newMask);
  active = 0;
  for (uint8_t bit : mask)
    active += bit;
}

int64_t LaneGroup::lastActive() const {
  int64_t last = count - 1;
  while (last > 0 && !mask[last])
    --last;
  return last;
}

bool Buffer::setShape(ArrayRef<int64_t> newShape) {
  constexpr int64_t kMaxElements = int64_t(1) << 40;
  shape.assign(newShape.begin(), newShape.end());
  strides.assign(shape.size(), 1);
  count = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = count;
    if (shape[dim] < 0 || __builtin_mul_overflow(count, shape[dim], &count) || count > kMaxElements)
      return false;
  }
  return true;
}

bool Buffer::allocate(int64_t copies) {
  int64_t bytes = std::max<int64_t>(1, count * copies * byteSize(kind));
  versions.clear();
  data = storage.get();
  if (bytes <= capacity) {
    std::memset(storage.get(), 0, bytes);
    return true;
  }
  storage.reset(static_cast<char *>(std::calloc(bytes, 1)));
  capacity = storage ? bytes : 0;
  data = storage.get();
  return storage != nullptr;
}

void Buffer::rotate(char *memory, int64_t count) {
  base = memory;
  slots = count;
  current = count - 1;
  data = base + current * this->count * byteSize(kind);
}

void Buffer::advance() {
  if (slots == 1)
    return;
  current = (current + 1) % slots;
  data = base + current * count * byteSize(kind);
}

/// Element operations between two looks at whether the run is to end.
static constexpr int64_t kSteps = int64_t(1) << 20;

Machine::Machine(const std::map<std::string, int64_t> &symbols, const Options &options,
                 Location location)
    : shared(new Shared{.outcome = {true, "", location, ""},
                        .maxSteps = options.maxSteps,
                        .pause = std::min(options.maxSteps, kSteps),
                        .atBreakpoint = options.atBreakpoint,
                        .isInterrupted = options.isInterrupted}),
      outcome(shared->outcome), symbols(symbols) {}

Machine::Machine(const Machine &parent, Core core, int64_t subCore)
    : shared(parent.shared), outcome(shared->outcome), symbols(parent.symbols), inLaunch(true),
      block(parent.block), depth(parent.depth), core(core), subCore(subCore) {}

bool Machine::run(const Body &body) {
  for (const Node &node : body.nodes) {
    if (core && node.core != Core::Both && node.core != *core)
      continue;
    shared->steps += lanes ? lanes->active : 1;
    if (shared->steps > shared->pause && !charge(node, 0))
      return false;
    if (shadow)
      runShadowed(*this, node);
    else
      node.run(*this, node);
    if (failed())
      return false;
  }
  return true;
}

void Machine::fail(const Node &node, const Twine &message) {
  if (failed())
    return;
  outcome.ok = false;
  outcome.error = message.str();
  if (inLaunch)
    outcome.error += " (in block " + textOf(block) + ")";
  outcome.location = node.op->getLoc();
}

void Machine::stopAt(const Node &node) {
  if (!shared->atBreakpoint)
    return;
  Stop stop{node.op->getLoc(), {block.begin(), block.end()}, {}};
  llvm::StringMap<unsigned> seen;
  for (const Slot &slot : frame->slots) {
    // Buffers stand in the slots of their allocs and of the arguments.
    const Buffer *buffer = slot.varying ? nullptr : slot.uniform.buffer;
    bool isBuffer =
        llvm::any_of(frame->buffers, [&](auto &own) { return own && own.get() == buffer; });
    if (!isBuffer || buffer->name.empty() || !buffer->data)
      continue;
    std::string name = buffer->name.str();
    if (unsigned number = seen[name]++)
      name += "_" + std::to_string(number);
    stop.visible.push_back({name,
                            nameOf(buffer->kind),
                            {buffer->shape.begin(), buffer->shape.end()},
                            buffer->data,
                            buffer->count * byteSize(buffer->kind)});
  }
  if (!shared->atBreakpoint(stop))
    fail(node, "stopped at a breakpoint");
}

bool Machine::charge(const Node &node, int64_t operations) {
  shared->steps += operations;
  if (shared->steps <= shared->pause)
    return true;
  if (!programs) { // whose caller does
    listen();
    shared->pause = std::min(shared->maxSteps, shared->steps + kSteps);
  }
  if (shared->isStopped)
    return fail(node, "interrupted"), false;
  if (shared->steps <= shared->maxSteps)
    return true;
  fail(node, "E0904: gave up after " + Twine(shared->maxSteps) +
                 " element operations; does the kernel end?");
  return false;
}

void Machine::listen() {
  if (shared->isInterrupted && shared->isInterrupted())
    shared->isStopped = true;
}

Buffer &Machine::ownBuffer(uint32_t index) {
  std::unique_ptr<Buffer> &buffer = frame->buffers[index];
  if (!buffer)
    buffer = std::make_unique<Buffer>();
  return *buffer;
}

void Machine::assign(uint32_t to, uint32_t from) {
  const Slot &source = slot(from);
  Slot &target = slot(to);
  target.varying = source.varying;
  if (source.varying)
    target.lanes = source.lanes;
  else
    target.uniform = source.uniform;
}

void Machine::assignActive(uint32_t to, uint32_t from) {
  if (!lanes || lanes->active == lanes->count)
    return assign(to, from);
  const Slot &source = slot(from);
  Slot &target = slot(to);
  if (!target.varying)
    target.lanes.assign(lanes->count, target.uniform);
  target.varying = true;
  for (int64_t l = 0; l < lanes->count; ++l)
    if (lanes->mask[l])
      target.lanes[l] = source.at(l);
}

void Machine::assignAll(ArrayRef<uint32_t> to, ArrayRef<uint32_t> from, bool activeOnly) {
  auto assignOne = [&](uint32_t target, uint32_t source) {
    activeOnly ? assignActive(target, source) : assign(target, source);
  };
  if (to.size() == 1)
    return assignOne(to[0], from[0]);
  bool overlap =
      llvm::any_of(from, [&](uint32_t source) { return llvm::is_contained(to, source); });
  if (!overlap) {
    for (auto [target, source] : llvm::zip(to, from))
      assignOne(target, source);
    return;
  }
  // A swap: copy the sources first, into slots at the end of the frame.
  size_t first = frame->slots.size();
  frame->slots.resize(first + from.size());
  for (size_t i = 0; i < from.size(); ++i)
    assign(first + i, from[i]);
  for (size_t i = 0; i < to.size(); ++i)
    assignOne(to[i], first + i);
  frame->slots.resize(first);
}

char *Machine::scratch(unsigned index, int64_t bytes) {
  constexpr int64_t kLeast = 256;
  Scratch &scratch = scratchMemory[index];
  if (scratch.capacity < bytes || !scratch.memory) {
    scratch.capacity = std::max(bytes, kLeast);
    scratch.memory.reset();
    scratch.memory.reset(static_cast<char *>(std::malloc(scratch.capacity)));
  }
  return scratch.memory.get();
}

bool Machine::canHold(int64_t bytes) const {
  constexpr int64_t kAlwaysThere = int64_t(1) << 24;
  if (bytes <= kAlwaysThere)
    return true;
  // Operands, their converted forms and the result live at once.
  std::unique_ptr<char, FreeDeleter> probe(static_cast<char *>(std::malloc(bytes * 8)));
  return probe != nullptr;
}

Handler findHandler(StringRef opName) {
  static const llvm::StringMap<Handler> table = [] {
    llvm::StringMap<Handler> handlers;
    for (ArrayRef<HandlerEntry> entries :
         {scalarHandlers(), controlHandlers(), laneHandlers(), boxHandlers(), programHandlers()})
      for (const HandlerEntry &entry : entries)
        handlers[entry.name] = entry.handler;
    return handlers;
  }();
  return table.lookup(opName);
}

std::string textOf(ArrayRef<int64_t> numbers) {
  std::string text = "(";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + ")";
}

std::string describe(const Buffer &buffer) {
  std::string kind = buffer.scope == tile::Scope::Global  ? "tensor"
                     : buffer.scope == tile::Scope::Local ? "variable"
                                                          : "tile";
  if (buffer.name.empty())
    return "a " + kind + " of shape " + textOf(buffer.shape);
  return kind + " '" + buffer.name.str() + "' of shape " + textOf(buffer.shape);
}

} // namespace tilewright::interp
