// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exact side of a kernel that is compared: which statements it runs, and what it takes over.
#include "tilewright/interp/Shadow.h"

#include "mlir/Transforms/RegionUtils.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace tilewright::interp {

namespace {

Type exactType(Type type) {
  if (auto memref = dyn_cast<MemRefType>(type))
    return MemRefType(
        MemRefType::Builder(memref).setElementType(exactType(memref.getElementType())));
  return isa<FloatType>(type) ? Type(Float64Type::get(type.getContext())) : type;
}

/// True where bits of floats are read as something else: the result is the kernel's.
bool isOfBits(Operation *op) {
  auto elementwise = dyn_cast<tile::ElementwiseOp>(op);
  return isa<arith::BitcastOp>(op) || (elementwise && elementwise.getFn() == Fn::Bitcast);
}

/// True for a value that control flow gives: its own machine has none.
bool isOfControl(Value value) {
  Operation *op = value.getDefiningOp();
  return !op || (op->getNumRegions() && !isa<tile::ParallelOp>(op));
}

} // namespace

std::string makeTwin(func::FuncOp function, OwningOpRef<ModuleOp> &module) {
  std::string problem;
  function.walk([&](Operation *op) {
    if (auto view = dyn_cast<tile::ViewOp>(op))
      if (cast<MemRefType>(view.getBase().getType()).getElementType() !=
          view.getType().getElementType())
        problem = "'" + view.getName().str() +
                  "' reads the bits of a tile as another type, which "
                  "exact values do not have";
    if (auto launch = dyn_cast<tile::LaunchOp>(op); launch && op->hasAttr("tile.by_core"))
      problem = "it is the program of a core (T.Cores); compare the kernel that it was made from";
    if (isa<func::CallOp>(op))
      problem = "it calls a function";
  });
  if (!problem.empty())
    return problem;
  module = function->getParentOfType<ModuleOp>().clone();
  module->walk([](Operation *op) {
    for (OpResult result : op->getResults())
      result.setType(exactType(result.getType()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setType(exactType(argument.getType()));
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      if (auto real = dyn_cast<FloatAttr>(constant.getValue()))
        constant.setValueAttr(
            FloatAttr::get(Float64Type::get(op->getContext()), real.getValueAsDouble()));
    if (auto inner = dyn_cast<func::FuncOp>(op)) {
      SmallVector<Type> inputs = llvm::map_to_vector(inner.getArgumentTypes(), exactType);
      inner.setFunctionType(FunctionType::get(op->getContext(), inputs, inner.getResultTypes()));
    }
  });
  return "";
}

Shadow::Shadow(Comparison &comparison, const Machine &kernel, uint32_t numSlots, Location location)
    : comparison(comparison), exact(kernel.symbols, Options(), location) {
  frame.slots.resize(numSlots);
  frame.buffers.resize(numSlots);
  exact.frame = &frame;
}

void Shadow::bind(uint32_t slot, const Buffer &argument) {
  Buffer &buffer = exact.ownBuffer(slot);
  buffer.kind = isFloat(argument.kind) ? Kind::F64 : argument.kind;
  buffer.scope = argument.scope;
  buffer.name = argument.name;
  buffer.setShape(argument.shape);
  if (!buffer.allocate()) {
    isLost = true;
    return;
  }
  convertArray(argument.kind, argument.data, buffer.kind, buffer.data, buffer.count,
               support::Rounding::Rint);
  frame.slots[slot].uniform.buffer = &buffer;
}

void Shadow::share(Shadow &parent) {
  frame.slots = parent.frame.slots;
  isLost = parent.isLost;
}

/// Integers are the kernel's, and so are floats that its control flow hands on.
void Shadow::takeSlot(Machine &kernel, uint32_t slot, Value value) {
  if (isa<MemRefType>(value.getType())) {
    Buffer &from = kernel.buffer(slot);
    if (!isFloat(from.kind))
      std::memcpy(exact.buffer(slot).data, from.data, from.count * byteSize(from.kind));
    return;
  }
  if (!isa<FloatType>(value.getType()) || isOfControl(value))
    frame.slots[slot] = kernel.slot(slot);
}

void Shadow::takeOver(Machine &kernel, const Node &node, const Node &twin) {
  for (auto [slot, value] : llvm::zip(node.operands, node.op->getOperands()))
    takeSlot(kernel, slot, value);
  if (node.captured.empty())
    return;
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(node.op->getRegions(), used);
  for (auto [slot, value] : llvm::zip(node.captured, used))
    takeSlot(kernel, slot, value);
}

void Shadow::run(Machine &kernel, const Node &node) {
  const Node *twin = comparison.twins.lookup(&node);
  if (isLost || !twin)
    return node.run(kernel, node);
  takeOver(kernel, node, *twin);
  bool takesBits = isOfBits(node.op);
  exact.inLaunch = kernel.inLaunch;
  exact.block = kernel.block;
  if (!takesBits)
    twin->run(exact, *twin);
  isLost = exact.failed();
  node.run(kernel, node);
  if (kernel.failed() || isLost)
    return;
  if (takesBits) {
    for (auto [slot, value] : llvm::zip(node.results, node.op->getResults()))
      frame.slots[slot] = kernel.slot(slot);
    if (node.results.empty()) {
      Buffer &from = kernel.buffer(node.operands[0]), &to = exact.buffer(node.operands[0]);
      convertArray(from.kind, from.data, to.kind, to.data, to.count, support::Rounding::Rint);
    }
    return;
  }
  if (isa<tile::AllocOp>(node.op)) { // what nothing writes is no number
    Buffer &buffer = exact.buffer(node.results[0]);
    if (buffer.kind == Kind::F64)
      std::fill_n(reinterpret_cast<double *>(buffer.data), buffer.count, std::nan(""));
    return;
  }
  compare(kernel, node, *twin);
}

void runShadowed(Machine &m, const Node &node) {
  if (m.lanes || (!node.bodies.empty() && !isa<tile::ParallelOp>(node.op)))
    return node.run(m, node);
  m.shadow->run(m, node);
}

} // namespace tilewright::interp
