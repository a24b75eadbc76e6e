// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both sides of a kernel that is compared, element by element, and what is said about them.
#include "tilewright/interp/Shadow.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace mlir;

namespace tilewright::interp {

namespace {

std::string numberText(double value) {
  if (std::isnan(value))
    return "nan";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.6g", value);
  return text;
}

std::string indexText(ArrayRef<int64_t> index) {
  std::string text = "[";
  for (auto [dim, at] : llvm::enumerate(index))
    text += (dim ? ", " : "") + std::to_string(at);
  return index.empty() ? "" : text + "]";
}

/// A value of the kernel, and the exact one where it differs.
std::string bothText(StringRef name, ArrayRef<int64_t> index, double value, double exact) {
  std::string text = name.str() + indexText(index) + " = " + numberText(value);
  bool isSame = value == exact || (std::isnan(value) && std::isnan(exact));
  if (isSame)
    return text;
  return text + (std::isnan(exact) ? " (never written)" : " (exactly " + numberText(exact) + ")");
}

/// Largest finite number of a kind.
double largestOf(Kind kind) {
  switch (kind) {
  case Kind::F8E4M3:
    return 448;
  case Kind::F8E5M2:
    return 57344;
  case Kind::F16:
    return 65504;
  case Kind::BF16:
    return 0x1.FEp127;
  case Kind::F32:
    return std::numeric_limits<float>::max();
  default:
    return std::numeric_limits<double>::max();
  }
}

/// The reads that a value is made from, in program order, of values that still stand in slots.
void readsOf(Value value, llvm::SetVector<Operation *> &reads, int depth = 0) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > 64)
    return;
  if (isa<tile::LoadOp>(op)) {
    reads.insert(op);
    return;
  }
  if (op->getNumRegions() == 0)
    for (Value operand : op->getOperands())
      readsOf(operand, reads, depth + 1);
}

/// Finds the node of an op in a body, and in those inside.
const Node *findNode(const Body &body, Operation *op) {
  for (const Node &node : body.nodes) {
    if (node.op == op)
      return &node;
    for (const Body &inner : node.bodies)
      if (const Node *found = findNode(inner, op))
        return found;
  }
  return nullptr;
}

double elementAt(const Buffer &buffer, int64_t index) {
  return loadElement(buffer.kind, buffer.data, index).real;
}

/// Element number of an index; -1 outside.
int64_t linear(const Buffer &buffer, ArrayRef<int64_t> index) {
  int64_t at = 0;
  for (auto [dim, i] : llvm::enumerate(index)) {
    if (i < 0 || i >= buffer.shape[dim])
      return -1;
    at += i * buffer.strides[dim];
  }
  return at;
}

SmallVector<int64_t, 4> indexOf(const Buffer &buffer, int64_t element) {
  SmallVector<int64_t, 4> index;
  for (int64_t stride : buffer.strides) {
    index.push_back(element / stride);
    element %= stride;
  }
  return index;
}

} // namespace

static std::pair<int, int> formOf(Kind kind) {
  int digits = 53, least = -1022;
  switch (kind) {
  case Kind::F8E4M3:
    digits = 4, least = -6;
    break;
  case Kind::F8E5M2:
    digits = 3, least = -14;
    break;
  case Kind::F16:
    digits = 11, least = -14;
    break;
  case Kind::BF16:
    digits = 8, least = -126;
    break;
  case Kind::F32:
    digits = 24, least = -126;
    break;
  default:
    break;
  }
  return {digits, least};
}

double roundingOf(Kind kind) { return std::ldexp(1.0, 1 - formOf(kind).first); }

double ulpOf(Kind kind, double x) {
  auto [digits, least] = formOf(kind);
  int exponent = x == 0 || !std::isfinite(x) ? least : std::ilogb(x);
  return std::ldexp(1.0, std::max(exponent, least) - digits + 1);
}

bool Comparison::has(StringRef kind) const {
  return llvm::any_of(departures, [&](const Departure &found) { return found.kind == kind; });
}

/// Names of the tiles that a statement reads in which the exact side has unwritten elements.
bool Shadow::readsTaint(Machine &kernel, const Node &node, std::string &names) {
  llvm::SetVector<uint32_t> slots;
  for (auto [slot, value] : llvm::zip(node.operands, node.op->getOperands()))
    if (isa<MemRefType>(value.getType()))
      slots.insert(slot);
  for (uint32_t slot : node.captured)
    slots.insert(slot);
  for (uint32_t slot : slots) {
    Slot &held = frame.slots[slot];
    bool isBuffer = llvm::any_of(
        frame.buffers, [&](auto &own) { return own && own.get() == held.uniform.buffer; });
    if (!isBuffer || held.uniform.buffer->kind != Kind::F64 ||
        held.uniform.buffer->scope == tile::Scope::Global)
      continue;
    const Buffer &buffer = *held.uniform.buffer, &own = kernel.buffer(slot);
    for (int64_t i = 0; i < buffer.count; ++i)
      if (std::isnan(elementAt(buffer, i)) && !std::isnan(elementAt(own, i))) {
        names += (names.empty() ? "'" : ", '") + buffer.name.str() + "'";
        break;
      }
  }
  return !names.empty();
}

double Shadow::grainOf(uint32_t slot) {
  auto found = grains.find(frame.slots[slot].uniform.buffer);
  return found == grains.end() ? 0 : found->second;
}

/// Tiles that a statement writes have been through the roundings of those that it reads, and
/// through that of their own type. Tensors given by the caller are exact.
void Shadow::noteGrain(Machine &kernel, const Node &node) {
  double coarsest = 0;
  SmallVector<uint32_t> written;
  auto visit = [&](uint32_t slot, bool isRead, bool isWritten) {
    if (!isFloat(kernel.buffer(slot).kind))
      return;
    if (isRead)
      coarsest = std::max(coarsest, grainOf(slot));
    if (isWritten)
      written.push_back(slot);
  };
  std::function<void(const Node &)> collect = [&](const Node &inner) {
    if (auto store = dyn_cast<tile::StoreOp>(inner.op)) {
      visit(inner.operands[1], false, true);
      llvm::SetVector<Operation *> reads; // of a scalar statement: those before it
      readsOf(store.getValue(), reads);
      for (Operation *read : reads)
        if (auto at = slotOf.find(cast<tile::LoadOp>(read).getBuffer()); at != slotOf.end())
          visit(at->second, true, false);
    } else if (isa<tile::LoadOp>(inner.op)) {
      slotOf[inner.op->getOperand(0)] = inner.operands[0];
      visit(inner.operands[0], true, false);
    } else if (auto access = dyn_cast<AccessInterface>(inner.op)) {
      for (unsigned i = 0; i < access.getNumBoxes(); ++i)
        visit(inner.operands[i], reads(access.getAccessKind(i)), writes(access.getAccessKind(i)));
    }
    for (const Body &body : inner.bodies)
      for (const Node &deeper : body.nodes)
        collect(deeper);
  };
  collect(node);
  for (uint32_t slot : written) {
    double &grain = grains[frame.slots[slot].uniform.buffer];
    grain = std::max({grain, coarsest, roundingOf(kernel.buffer(slot).kind)});
  }
}

void Shadow::compare(Machine &kernel, const Node &node, const Node &twin) {
  noteGrain(kernel, node);
  if (auto store = dyn_cast<tile::StoreOp>(node.op)) {
    SmallVector<int64_t, 4> index;
    for (uint32_t slot : ArrayRef(node.operands).drop_front(2))
      index.push_back(kernel.integer(slot));
    SmallVector<int64_t, 4> ones(index.size(), 1);
    return compareBox(kernel, node, node, node.operands[1], index, ones);
  }
  if (isa<tile::ParallelOp>(node.op)) {
    llvm::SetVector<uint32_t> seen;
    std::function<void(const Body &)> visit = [&](const Body &body) {
      for (const Node &inner : body.nodes) {
        bool isStore = isa<tile::StoreOp>(inner.op);
        if (isStore || isa<tile::AtomicOp>(inner.op)) {
          uint32_t slot = inner.operands[isStore ? 1 : 0];
          Operation *alloc = inner.op->getOperand(isStore ? 1 : 0).getDefiningOp();
          bool isInside = alloc && node.op->isProperAncestor(alloc);
          const Buffer &buffer = *frame.slots[slot].uniform.buffer;
          if (!isInside && buffer.scope != tile::Scope::Local && seen.insert(slot)) {
            SmallVector<int64_t, 4> zeros(buffer.shape.size(), 0);
            compareBox(kernel, node, inner, slot, zeros, buffer.shape);
          }
        }
        for (const Body &deeper : inner.bodies)
          visit(deeper);
      }
    };
    return visit(node.bodies[0]);
  }
  auto access = dyn_cast<AccessInterface>(node.op);
  if (!access || isa<tile::LoadOp>(node.op))
    return;
  size_t number = access.getNumBoxes(), ranks = 0, before = 0;
  for (size_t i = 0; i < number; ++i)
    ranks += cast<MemRefType>(node.op->getOperand(i).getType()).getRank();
  for (size_t i = 0; i < number; ++i) {
    size_t rank = cast<MemRefType>(node.op->getOperand(i).getType()).getRank();
    SmallVector<int64_t, 4> offsets, sizes;
    for (size_t dim = 0; dim < rank; ++dim) {
      offsets.push_back(kernel.integer(node.operands[number + before + dim]));
      sizes.push_back(kernel.integer(node.operands[number + ranks + before + dim]));
    }
    before += rank;
    if (writes(access.getAccessKind(i)))
      compareBox(kernel, node, node, node.operands[i], offsets, sizes);
  }
}

/// Compares what a statement has written. `at` is the store itself inside T.Parallel.
void Shadow::compareBox(Machine &kernel, const Node &node, const Node &at, uint32_t slot,
                        ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes) {
  const Buffer &own = kernel.buffer(slot), &other = exact.buffer(slot);
  if (!isFloat(own.kind))
    return;
  SmallVector<int64_t> elements;
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  elements.reserve(count);
  SmallVector<int64_t, 4> index(offsets.begin(), offsets.end());
  for (int64_t point = 0; point < count; ++point) {
    if (int64_t element = linear(own, index); element >= 0)
      elements.push_back(element);
    for (size_t dim = sizes.size(); dim-- > 0;) {
      if (++index[dim] < offsets[dim] + sizes[dim])
        break;
      index[dim] = offsets[dim];
    }
  }
  double scale = 0, worst = 0;
  int64_t farthest = -1;
  auto *exactly = reinterpret_cast<const double *>(other.data);
  for (int64_t element : elements)
    if (std::isfinite(exactly[element]))
      scale = std::max(scale, std::abs(exactly[element]));
  // What was rounded to fewer digits on its way is judged by those.
  double ulp = ulpOf(own.kind, scale) * std::max(1.0, grainOf(slot) / roundingOf(own.kind));
  for (int64_t element : elements) {
    double value = elementAt(own, element), wanted = exactly[element];
    if (std::isnan(value)) {
      report(kernel, node, at, "nan", slot, element, 0);
    } else if (std::isnan(wanted)) {
      if (!comparison.unwrittenAt && readsTaint(kernel, node, comparison.unwritten))
        comparison.unwrittenAt = at.op->getLoc();
      if (own.scope == tile::Scope::Global)
        report(kernel, node, at, "unwritten", slot, element, 0);
    } else if (std::isinf(value) || std::isinf(wanted)) {
      if (value != wanted)
        report(kernel, node, at, "inf", slot, element, 0);
    } else if (double ulps = std::abs(value - wanted) / ulp; ulps > worst) {
      worst = ulps;
      farthest = element;
    }
  }
  if (worst > comparison.limit)
    report(kernel, node, at, "departs", slot, farthest, worst);
}

std::string Shadow::operandsText(Machine &kernel, const Node &node, const Node &at,
                                 ArrayRef<int64_t> index, ArrayRef<int64_t> offsets) {
  SmallVector<std::string> parts;
  auto add = [&](StringRef name, ArrayRef<int64_t> place, double value, double exactly) {
    std::string text = bothText(name, place, value, exactly);
    if (!llvm::is_contained(parts, text))
      parts.push_back(text);
  };
  if (auto store = dyn_cast<tile::StoreOp>(at.op)) {
    // The lane that wrote the element last.
    int64_t lanes = 1, lane = 0;
    for (uint32_t slot : ArrayRef(at.operands).drop_front(2))
      if (kernel.slot(slot).varying)
        lanes = std::max<int64_t>(lanes, kernel.slot(slot).lanes.size());
    for (int64_t l = 0; l < lanes; ++l) {
      bool isHere = true;
      for (auto [dim, slot] : llvm::enumerate(ArrayRef(at.operands).drop_front(2)))
        isHere &= kernel.slot(slot).at(l).integer == index[dim];
      lane = isHere ? l : lane;
    }
    llvm::SetVector<Operation *> reads;
    readsOf(store.getValue(), reads);
    for (Operation *read : reads) {
      const Node *found = node.bodies.empty() ? nullptr : findNode(node.bodies[0], read);
      auto load = cast<tile::LoadOp>(read);
      if (!found || !isa<FloatType>(load.getType()))
        continue;
      const Slot &value = kernel.slot(found->results[0]), &exactly = frame.slots[found->results[0]];
      auto has = [&](const Slot &slot) {
        return !slot.varying || lane < static_cast<int64_t>(slot.lanes.size());
      };
      SmallVector<int64_t, 4> place;
      for (uint32_t slot : ArrayRef(found->operands).drop_front(1))
        place.push_back(has(kernel.slot(slot)) ? kernel.slot(slot).at(lane).integer : -1);
      if (has(value) && has(exactly))
        add(tile::nameOf(load.getBuffer()), place, value.at(lane).real, exactly.at(lane).real);
    }
    return llvm::join(parts, ", ");
  }
  auto access = dyn_cast<AccessInterface>(node.op);
  auto elementwise = dyn_cast<tile::ElementwiseOp>(node.op);
  for (unsigned i = elementwise ? 1 : 0; access && i < access.getNumBoxes(); ++i) {
    if (!reads(access.getAccessKind(i)))
      continue;
    const Buffer &own = kernel.buffer(node.operands[i]), &other = exact.buffer(node.operands[i]);
    if (!isFloat(own.kind))
      continue;
    if (elementwise) {
      size_t number = access.getNumBoxes(), skip = 0;
      for (unsigned before = 0; before < i; ++before)
        skip += kernel.buffer(node.operands[before]).shape.size();
      SmallVector<int64_t> domain(elementwise.getDomainRank(), 0), to = elementwise.getMap(0);
      for (auto [dim, d] : llvm::enumerate(to))
        if (d >= 0)
          domain[d] = index[dim] - offsets[dim];
      SmallVector<int64_t, 4> place;
      for (auto [dim, d] : llvm::enumerate(elementwise.getMap(i)))
        place.push_back(kernel.integer(node.operands[number + skip + dim]) +
                        (d >= 0 ? domain[d] : 0));
      if (int64_t element = linear(own, place); element >= 0)
        add(own.name, place, elementAt(own, element), elementAt(other, element));
      continue;
    }
    double low = INFINITY, high = -INFINITY;
    for (int64_t element = 0; element < own.count; ++element) {
      low = std::fmin(low, elementAt(own, element));
      high = std::fmax(high, elementAt(own, element));
    }
    parts.push_back(own.name.str() + " with values from " + numberText(low) + " to " +
                    numberText(high));
  }
  return llvm::join(parts, ", ");
}

void Shadow::report(Machine &kernel, const Node &node, const Node &at, StringRef kind,
                    uint32_t slot, int64_t element, double ulps) {
  if (comparison.has(kind))
    return;
  const Buffer &own = kernel.buffer(slot);
  double value = elementAt(own, element), wanted = elementAt(exact.buffer(slot), element);
  SmallVector<int64_t, 4> index = indexOf(own, element), offsets(index.size(), 0);
  if (auto access = dyn_cast<AccessInterface>(node.op); access && !isa<tile::StoreOp>(node.op))
    for (auto [dim, offset] : llvm::enumerate(offsets))
      offset = kernel.integer(node.operands[access.getNumBoxes() + dim]);
  std::string name = own.name.empty() ? "a value" : "'" + own.name.str() + "'";
  std::string text =
      name + indexText(index) + " (" + nameOf(own.kind) + ") is " + numberText(value);
  if (kind == "departs")
    text += ", exactly " + numberText(wanted) + ": " + numberText(ulps) +
            " ulp at the tile's largest value, " +
            numberText(std::abs(value - wanted) / ulpOf(own.kind, wanted)) + " at its own";
  else if (kind == "inf" && std::isfinite(wanted))
    text += ", exactly " + numberText(wanted) + "; the largest " + nameOf(own.kind) + " is " +
            numberText(largestOf(own.kind));
  else if (kind == "inf")
    text += ", exactly " + numberText(wanted);
  if (kind == "unwritten")
    text += ", made from elements of " +
            (comparison.unwritten.empty() ? std::string("a tile") : comparison.unwritten) +
            " that nothing has written; they read 0 here";
  else if (std::string operands = operandsText(kernel, node, at, index, offsets); !operands.empty())
    text += "; from " + operands;
  Location place =
      kind == "unwritten" && comparison.unwrittenAt ? *comparison.unwrittenAt : at.op->getLoc();
  comparison.departures.push_back({kind.str(), text, own.name.str(), place, kernel.block[0]});
}

} // namespace tilewright::interp
