// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/interp/Plan.h"
#include "tilewright/tile/CoreOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace tilewright::interp {

namespace {

void refuseOp(Machine &machine, const Node &node) {
  machine.fail(node, "the interpreter does not run '" + node.op->getName().getStringRef() + "'");
}

void refuseType(Machine &machine, const Node &node) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto refused = [](Type type) {
    auto memref = dyn_cast<MemRefType>(type);
    return !kindOf(memref ? memref.getElementType() : type) ||
           (memref && !memref.getLayout().isIdentity());
  };
  for (Type type : llvm::concat<Type>(llvm::to_vector(node.op->getOperandTypes()),
                                      llvm::to_vector(node.op->getResultTypes())))
    if (refused(type)) {
      stream << type;
      break;
    }
  machine.fail(node, "the interpreter has no values of type " + text);
}

void refuseRegion(Machine &machine, const Node &node) {
  machine.fail(node, "the interpreter runs regions of one block, this one has branches");
}

bool isRunnable(Type type) {
  if (auto memref = dyn_cast<MemRefType>(type))
    return memref.getLayout().isIdentity() && kindOf(memref.getElementType());
  return kindOf(type).has_value();
}

/// The kind of a scalar or of a buffer's elements.
Kind kindOfValue(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return kindOf(memref ? memref.getElementType() : type).value_or(Kind::I64);
}

} // namespace

class Planner::FunctionPlanner {
public:
  FunctionPlanner(Planner &planner, FunctionPlan &plan) : planner(planner), plan(plan) {}

  /// Numbers the values of a region and decodes its ops. The region has one block.
  Body planRegion(Region &region) {
    Body body;
    Block &block = region.front();
    for (BlockArgument argument : block.getArguments())
      body.arguments.push_back(number(argument));
    for (Operation &op : block) {
      if (!op.hasTrait<OpTrait::IsTerminator>()) {
        body.nodes.push_back(planOp(op));
        continue;
      }
      for (Value operand : op.getOperands())
        body.yields.push_back(numbers.lookup(operand));
    }
    return body;
  }

private:
  uint32_t number(Value value) {
    numbers[value] = plan.numSlots;
    return plan.numSlots++;
  }

  Node planOp(Operation &op) {
    Node node;
    node.op = &op;
    node.run = findHandler(op.getName().getStringRef());
    for (Value operand : op.getOperands())
      node.operands.push_back(numbers.lookup(operand));
    for (Value result : op.getResults())
      node.results.push_back(number(result));
    if (op.getNumOperands())
      node.operandKind = node.kind = kindOfValue(op.getOperand(0).getType());
    if (op.getNumResults())
      node.kind = kindOfValue(op.getResult(0).getType());
    if (!node.run)
      node.run = refuseOp;
    else if (!llvm::all_of(op.getOperandTypes(), isRunnable) ||
             !llvm::all_of(op.getResultTypes(), isRunnable))
      node.run = refuseType;
    decode(op, node);
    if (isDivided)
      node.core = tile::coreOf(&op);
    if (auto launch = dyn_cast<tile::LaunchOp>(op))
      node.number = isDivided = tile::isDividedByHand(launch);

    node.firstSlot = plan.numSlots;
    for (Region &region : op.getRegions()) {
      if (region.empty())
        node.bodies.emplace_back();
      else if (region.hasOneBlock())
        node.bodies.push_back(planRegion(region));
      else
        node.run = refuseRegion;
    }
    node.endSlot = plan.numSlots;
    if (isa<tile::LaunchOp>(op))
      isDivided = false;
    return node;
  }

  /// Takes out of attributes what would be slow to look up at each execution.
  void decode(Operation &op, Node &node) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
        node.constant.integer = node.kind == Kind::I1
                                    ? integer.getValue().getZExtValue()
                                    : integer.getValue().sextOrTrunc(64).getSExtValue();
      else if (auto real = dyn_cast<FloatAttr>(constant.getValue()))
        node.constant.real = real.getValueAsDouble();
    } else if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
      node.number = static_cast<int64_t>(compare.getPredicate());
    } else if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
      node.number = static_cast<int64_t>(compare.getPredicate());
    } else if (auto alloc = dyn_cast<tile::AllocOp>(op)) {
      if (auto launch = op.getParentOfType<tile::LaunchOp>(); launch && tile::isByCore(launch))
        node.number = alloc.getSlots();
    } else if (isa<tile::ParallelOp>(op)) {
      SetVector<Value> used;
      getUsedValuesDefinedAbove(op.getRegions(), used);
      for (Value value : used) {
        node.captured.push_back(numbers.lookup(value));
        if (isa<MemRefType>(value.getType()) && tile::scopeOf(value) == tile::Scope::Local)
          node.variables.push_back(numbers.lookup(value));
      }
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(&op, call.getCalleeAttr());
      node.callee = callee ? planner.plan(callee) : nullptr;
    }
  }

  Planner &planner;
  FunctionPlan &plan;
  bool isDivided = false; ///< what is planned stands in a launch that is divided by hand
  DenseMap<Value, uint32_t> numbers;
};

const FunctionPlan *Planner::plan(func::FuncOp function) {
  std::unique_ptr<FunctionPlan> &entry = plans[function];
  if (entry)
    return entry.get();
  entry = std::make_unique<FunctionPlan>();
  FunctionPlan *plan = entry.get();
  plan->op = function;
  if (!function.isExternal() && function.getBody().hasOneBlock())
    plan->body = FunctionPlanner(*this, *plan).planRegion(function.getBody());
  return plan;
}

} // namespace tilewright::interp
