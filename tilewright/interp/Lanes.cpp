// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.parallel, allocation, and access to single elements, for one scalar or for all lanes.

#include "tilewright/interp/Machine.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tilewright::interp {

namespace {

//===-- tile.parallel ------------------------------------------------------------------------===//

/// Values of this many lanes keep their memory for the next execution.
constexpr int64_t kLanesKept = int64_t(1) << 16;
constexpr int64_t kMaxLanes = int64_t(1) << 24;

/// Lane-private copies of scalar variables of outside, for the time of a tile.parallel: a variable
/// assigned in the body is one per point, and keeps what its last point left.
class PrivateVariables {
public:
  PrivateVariables(Machine &machine, const Node &node, LaneGroup &group)
      : machine(machine), node(node) {
    for (uint32_t index : node.variables) {
      Buffer &shared = machine.buffer(index);
      auto copy = std::make_unique<Buffer>();
      copy->kind = shared.kind;
      copy->scope = shared.scope;
      copy->name = shared.name;
      copy->lanes = &group;
      if (!copy->allocate(group.count)) {
        machine.fail(node, "no memory for the variables of " + Twine(group.count) + " points");
        return;
      }
      for (int64_t l = 0; l < group.count; ++l)
        storeElement(copy->kind, copy->data, l,
                     loadElement(shared.kind, shared.data, laneOf(shared, group, l)));
      shareds.push_back(&shared);
      machine.slot(index).uniform.buffer = copy.get();
      copies.push_back(std::move(copy));
    }
  }

  ~PrivateVariables() {
    for (size_t i = 0; i < copies.size(); ++i) {
      Buffer &shared = *shareds[i];
      LaneGroup &group = *copies[i]->lanes;
      machine.slot(node.variables[i]).uniform.buffer = &shared;
      for (int64_t l = shared.lanes ? 0 : group.count - 1; l < group.count; ++l)
        storeElement(shared.kind, shared.data, laneOf(shared, group, l),
                     loadElement(copies[i]->kind, copies[i]->data, l));
    }
  }

private:
  static int64_t laneOf(const Buffer &shared, const LaneGroup &group, int64_t lane) {
    return shared.lanes ? group.outerLane[lane] : 0;
  }

  Machine &machine;
  const Node &node;
  SmallVector<Buffer *> shareds;
  SmallVector<std::unique_ptr<Buffer>> copies;
};

/// Fills the slots of the index arguments with the points of a box, after `firstLane` lanes.
void fillPoints(Machine &m, const Body &body, ArrayRef<int64_t> extents, int64_t firstLane,
                int64_t count) {
  int64_t repeat = count;
  for (size_t dim = 0; dim < extents.size(); ++dim) {
    std::vector<Scalar> &lanes = m.slot(body.arguments[dim]).lanes;
    repeat /= extents[dim];
    for (int64_t l = 0; l < count; ++l)
      lanes[firstLane + l].integer = l / repeat % extents[dim];
  }
}

/// Extents of the box at one lane of the group around it, and their product; -1 if it is too large.
int64_t extentsAt(Machine &m, const Node &node, int64_t lane, SmallVectorImpl<int64_t> &extents) {
  extents.clear();
  int64_t count = 1;
  for (uint32_t operand : node.operands) {
    extents.push_back(std::max<int64_t>(0, m.slot(operand).at(lane).integer));
    if (__builtin_mul_overflow(count, extents.back(), &count) || count > kMaxLanes)
      count = kMaxLanes + 1;
  }
  return llvm::is_contained(extents, 0) ? 0 : count > kMaxLanes ? -1 : count;
}

/// Repeats the lanes of a value of outside for the lanes of the inner group.
std::vector<Scalar> spread(const std::vector<Scalar> &lanes, const LaneGroup &inner) {
  std::vector<Scalar> result(inner.count);
  for (int64_t l = 0; l < inner.count; ++l)
    result[l] = lanes[inner.outerLane[l]];
  return result;
}

void runParallel(Machine &m, const Node &node) {
  const Body &body = node.bodies[0];
  LaneGroup group;
  group.outer = m.lanes;
  SmallVector<int64_t, 4> extents;
  for (int64_t outer = 0, outers = m.lanes ? m.lanes->count : 1; outer < outers; ++outer) {
    if (m.lanes && !m.lanes->mask[outer])
      continue;
    int64_t count = extentsAt(m, node, outer, extents);
    if (count < 0 || group.count + count > kMaxLanes)
      return m.fail(node, "more than " + Twine(kMaxLanes) + " points: " + textOf(extents));
    if (count == 0)
      continue;
    for (uint32_t argument : body.arguments)
      m.slot(argument).makeVarying(group.count + count);
    fillPoints(m, body, extents, group.count, count);
    if (m.lanes)
      group.outerLane.resize(group.count + count, outer);
    group.count += count;
  }
  if (group.count == 0)
    return;
  group.setMask(std::vector<uint8_t>(group.count, 1));

  // Values that differ by lane outside are repeated for the lanes inside.
  SmallVector<std::pair<uint32_t, std::vector<Scalar>>> hidden;
  for (uint32_t index : node.captured) {
    Slot &slot = m.slot(index);
    if (!slot.varying)
      continue;
    std::vector<Scalar> inner = spread(slot.lanes, group);
    hidden.emplace_back(index, std::exchange(slot.lanes, std::move(inner)));
  }
  {
    PrivateVariables variables(m, node, group);
    m.lanes = &group;
    if (!m.failed())
      m.run(body);
    m.lanes = group.outer;
  }
  for (auto &[index, lanes] : hidden)
    m.slot(index).lanes = std::move(lanes);
  if (group.count > kLanesKept)
    for (uint32_t index = node.firstSlot; index < node.endSlot; ++index)
      std::vector<Scalar>().swap(m.slot(index).lanes);
}

//===-- Allocation ---------------------------------------------------------------------------===//

void allocate(Machine &m, const Node &node, StringRef name) {
  auto type = cast<MemRefType>(node.op->getResult(0).getType());
  Buffer &buffer = m.ownBuffer(node.results[0]);
  buffer.kind = node.kind;
  buffer.scope = tile::scopeOf(type);
  buffer.name = name;
  bool isPrivate = m.lanes && buffer.scope == tile::Scope::Local;
  if (m.lanes && !isPrivate)
    return m.fail(node, "a tile is allocated inside tile.parallel");
  SmallVector<int64_t, 4> shape(type.getShape());
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    size_t given = llvm::count_if(ArrayRef(type.getShape()).take_front(dim), ShapedType::isDynamic);
    if (ShapedType::isDynamic(extent))
      extent = m.integer(node.operands[given]);
  }
  buffer.lanes = isPrivate ? m.lanes : nullptr;
  int64_t slots = std::max<int64_t>(node.number, 1);
  if (!buffer.setShape(shape) || !buffer.allocate(isPrivate ? m.lanes->count : slots))
    return m.fail(node, "no memory for " + describe(buffer));
  bool isShared = m.programs && buffer.scope == tile::Scope::Workspace;
  int64_t bytes = slots * buffer.count * byteSize(buffer.kind);
  buffer.rotate(isShared ? sharedMemory(m, node.results[0], bytes) : buffer.data, slots);
  Scalar scalar;
  scalar.buffer = &buffer;
  m.slot(node.results[0]).set(scalar);
}

void runTileAlloc(Machine &m, const Node &node) {
  allocate(m, node, cast<tile::AllocOp>(node.op).getName());
}
/// Another name for the memory of a tile.
void runView(Machine &m, const Node &node) {
  auto view = cast<tile::ViewOp>(node.op);
  Buffer &base = m.buffer(node.operands[0]), &buffer = m.ownBuffer(node.results[0]);
  buffer.kind = kindOf(view.getType().getElementType()).value_or(Kind::I64);
  buffer.scope = base.scope;
  buffer.name = view.getName();
  buffer.setShape(view.getType().getShape());
  buffer.data = base.data;
  Scalar scalar;
  scalar.buffer = &buffer;
  m.slot(node.results[0]).set(scalar);
}

void runMemrefAlloc(Machine &m, const Node &node) { allocate(m, node, ""); }

void runDim(Machine &m, const Node &node) {
  Buffer &buffer = m.buffer(node.operands[0]);
  int64_t dim = m.integer(node.operands[1]);
  if (dim < 0 || dim >= static_cast<int64_t>(buffer.shape.size()))
    return m.fail(node, "dimension " + Twine(dim) + " of " + describe(buffer));
  m.slot(node.results[0]).setInteger(buffer.shape[dim]);
}

void runMemrefCast(Machine &m, const Node &node) {
  auto type = cast<MemRefType>(node.op->getResult(0).getType());
  Buffer &buffer = m.buffer(node.operands[0]);
  for (auto [dim, extent] : llvm::enumerate(type.getShape()))
    if (!ShapedType::isDynamic(extent) && extent != buffer.shape[dim])
      return m.fail(node, "a cast of " + describe(buffer) + " to shape " + textOf(type.getShape()));
  m.assign(node.results[0], node.operands[0]);
}

//===-- Elements -----------------------------------------------------------------------------===//

constexpr int64_t kOutside = -1;

bool varies(Machine &m, const Buffer &buffer, ArrayRef<uint32_t> indices) {
  return buffer.lanes ||
         llvm::any_of(indices, [&](uint32_t index) { return m.slot(index).varying; });
}

/// Offset of the element that one lane names, or kOutside.
int64_t offsetAt(Machine &m, const Buffer &buffer, ArrayRef<uint32_t> indices, int64_t lane) {
  int64_t offset = buffer.lanes ? lane : 0;
  for (size_t dim = 0; dim < indices.size(); ++dim) {
    int64_t index = m.slot(indices[dim]).at(lane).integer;
    if (index < 0 || index >= buffer.shape[dim])
      return kOutside;
    offset += index * buffer.strides[dim];
  }
  return offset;
}

void failOutside(Machine &m, const Node &node, const Buffer &buffer, ArrayRef<uint32_t> indices,
                 int64_t lane) {
  SmallVector<int64_t, 4> index;
  for (uint32_t slot : indices)
    index.push_back(m.slot(slot).at(lane).integer);
  m.fail(node, "E0901: index " + textOf(index) + " is outside " + describe(buffer));
}

/// Offsets for all lanes. A lane that is off, or outside a guarded buffer, has kOutside; a lane
/// outside another buffer fails.
bool laneOffsets(Machine &m, const Node &node, const Buffer &buffer, ArrayRef<uint32_t> indices,
                 std::vector<int64_t> &offsets) {
  const LaneGroup &group = *m.lanes;
  offsets.assign(group.count, 0);
  if (buffer.lanes)
    for (int64_t l = 0; l < group.count; ++l)
      offsets[l] = l;
  for (size_t dim = 0; dim < indices.size(); ++dim) {
    const Slot &slot = m.slot(indices[dim]);
    int64_t extent = buffer.shape[dim], stride = buffer.strides[dim];
    for (int64_t l = 0; l < group.count; ++l) {
      int64_t index = slot.at(l).integer;
      bool inside = index >= 0 && index < extent && offsets[l] >= 0;
      offsets[l] = inside ? offsets[l] + index * stride : kOutside;
    }
  }
  for (int64_t l = 0; l < group.count; ++l) {
    if (!group.mask[l])
      offsets[l] = kOutside;
    else if (offsets[l] < 0 && !buffer.isGuarded()) {
      failOutside(m, node, buffer, indices, l);
      return false;
    }
  }
  return true;
}

Scalar padOf(const Node &node, Kind kind) {
  Scalar pad{};
  if (auto load = dyn_cast<tile::LoadOp>(node.op)) {
    double value = load.getPad() ? load.getPad()->convertToDouble() : 0;
    if (isFloat(kind))
      pad.real = roundTo(kind, value);
    else
      pad.integer = wrapTo(kind, support::toInteger<int64_t>(value));
  }
  return pad;
}

void runLoad(Machine &m, const Node &node) {
  const Buffer &buffer = m.buffer(node.operands[0]);
  ArrayRef<uint32_t> indices = ArrayRef(node.operands).drop_front();
  if (!varies(m, buffer, indices)) {
    int64_t offset = offsetAt(m, buffer, indices, m.lane);
    if (offset != kOutside)
      return m.slot(node.results[0]).set(loadElement(buffer.kind, buffer.data, offset));
    if (!buffer.isGuarded())
      return failOutside(m, node, buffer, indices, m.lane);
    return m.slot(node.results[0]).set(padOf(node, buffer.kind));
  }
  std::vector<int64_t> offsets;
  if (!laneOffsets(m, node, buffer, indices, offsets))
    return;
  Scalar pad = padOf(node, buffer.kind);
  std::vector<Scalar> &lanes = m.slot(node.results[0]).makeVarying(m.lanes->count);
  dispatch(buffer.kind, [&](auto tag) {
    auto *data = reinterpret_cast<const typename decltype(tag)::Type *>(buffer.data);
    for (size_t l = 0; l < lanes.size(); ++l)
      lanes[l] = offsets[l] < 0 ? pad : toScalar(data[offsets[l]]);
  });
}

void runStore(Machine &m, const Node &node) {
  const Slot &value = m.slot(node.operands[0]);
  const Buffer &buffer = m.buffer(node.operands[1]);
  ArrayRef<uint32_t> indices = ArrayRef(node.operands).drop_front(2);
  if (!varies(m, buffer, indices)) {
    int64_t lane = m.lanes ? m.lanes->lastActive() : 0;
    int64_t offset = offsetAt(m, buffer, indices, lane);
    if (offset != kOutside)
      storeElement(buffer.kind, buffer.data, offset, value.at(lane));
    else if (!buffer.isGuarded())
      failOutside(m, node, buffer, indices, lane);
    return;
  }
  std::vector<int64_t> offsets;
  if (!laneOffsets(m, node, buffer, indices, offsets))
    return;
  dispatch(buffer.kind, [&](auto tag) {
    using S = typename decltype(tag)::Type;
    auto *data = reinterpret_cast<S *>(buffer.data);
    for (size_t l = 0; l < offsets.size(); ++l)
      if (offsets[l] >= 0)
        data[offsets[l]] = fromScalar<S>(value.at(l));
  });
}

} // namespace

ArrayRef<HandlerEntry> laneHandlers() {
  static const HandlerEntry kEntries[] = {
      {"tile.parallel", runParallel},
      {"tile.alloc", runTileAlloc},
      {"tile.view", runView},
      {"tile.load", runLoad},
      {"tile.store", runStore},
      {"memref.load", runLoad},
      {"memref.store", runStore},
      {"memref.alloc", runMemrefAlloc},
      {"memref.alloca", runMemrefAlloc},
      {"memref.dim", runDim},
      {"memref.cast", runMemrefCast},
  };
  return kEntries;
}

} // namespace tilewright::interp
