// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/interp/Interpreter.h"

#include "tilewright/interp/Plan.h"
#include "tilewright/interp/Shadow.h"

using namespace mlir;

namespace tilewright::interp {

namespace {

/// What this CPU lacks to run the compute loops; null if nothing.
const char *missingCpuFeature() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return "AVX2 and FMA (x86-64-v3)";
#endif
  return nullptr;
}

/// Wraps the memory of a tensor argument as a buffer; the text of what does not fit, else empty.
std::string bindTensor(Buffer &buffer, MemRefType type, const Argument &argument) {
  std::optional<Kind> kind = kindOf(type.getElementType());
  if (!kind || !type.getLayout().isIdentity()) {
    std::string text;
    llvm::raw_string_ostream(text) << "the interpreter has no values of type " << type;
    return text;
  }
  bool fits = static_cast<int64_t>(argument.shape.size()) == type.getRank();
  for (int64_t dim = 0; fits && dim < type.getRank(); ++dim)
    fits = type.isDynamicDim(dim) || type.getDimSize(dim) == argument.shape[dim];
  if (!fits) {
    std::string text;
    llvm::raw_string_ostream(text)
        << "expected a tensor for " << type << ", got one of shape " << textOf(argument.shape);
    return text;
  }
  buffer.kind = *kind;
  buffer.scope = tile::scopeOf(type);
  if (!buffer.setShape(argument.shape))
    return "shape " + textOf(argument.shape) + " is not possible";
  if (!argument.data && buffer.count)
    return "the tensor has no data";
  buffer.data = static_cast<char *>(argument.data);
  return "";
}

Scalar bindScalar(Kind kind, const Argument &argument) {
  Scalar scalar;
  if (isFloat(kind))
    scalar.real = roundTo(kind, argument.real);
  else
    scalar.integer = wrapTo(kind, argument.integer);
  return scalar;
}

/// Pairs the nodes of a function and of its twin, which has the same ops.
void pair(const Body &body, const Body &twin, llvm::DenseMap<const Node *, const Node *> &twins) {
  for (auto [node, other] : llvm::zip(body.nodes, twin.nodes)) {
    twins[&node] = &other;
    for (auto [inner, innerOther] : llvm::zip(node.bodies, other.bodies))
      pair(inner, innerOther, twins);
  }
}

} // namespace

Outcome interpret(func::FuncOp function, const std::vector<Argument> &arguments,
                  const std::map<std::string, int64_t> &symbols, const Options &options) {
  auto refuse = [&](const Twine &message) {
    return Outcome{false, message.str(), function.getLoc(), ""};
  };
  if (const char *missing = missingCpuFeature())
    return refuse("the interpreter needs a CPU with " + Twine(missing));
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return refuse("function '" + function.getName() + "' has no body of one block");
  if (arguments.size() != function.getNumArguments())
    return refuse("function '" + function.getName() + "' takes " +
                  Twine(function.getNumArguments()) + " arguments, got " + Twine(arguments.size()));

  Planner planner;
  const FunctionPlan *plan = planner.plan(function);
  Machine machine(symbols, options, function.getLoc());
  Frame frame;
  frame.slots.resize(plan->numSlots);
  frame.buffers.resize(plan->numSlots);
  machine.frame = &frame;
  for (unsigned index = 0; index < arguments.size(); ++index) {
    BlockArgument value = function.getArgument(index);
    std::string problem;
    if (auto memref = dyn_cast<MemRefType>(value.getType())) {
      Buffer &buffer = machine.ownBuffer(plan->body.arguments[index]);
      buffer.name = tile::nameOf(value);
      problem = bindTensor(buffer, memref, arguments[index]);
      frame.slots[plan->body.arguments[index]].uniform.buffer = &buffer;
    } else if (std::optional<Kind> kind = kindOf(value.getType())) {
      frame.slots[plan->body.arguments[index]].set(bindScalar(*kind, arguments[index]));
    } else {
      llvm::raw_string_ostream(problem)
          << "the interpreter has no values of type " << value.getType();
    }
    if (!problem.empty())
      return refuse("argument " + Twine(index) + " of '" + function.getName() + "': " + problem);
  }
  if (options.compare <= 0) {
    machine.run(plan->body);
    return std::move(machine.outcome);
  }
  Comparison comparison;
  comparison.limit = options.compare;
  if (std::string problem = makeTwin(function, comparison.module); !problem.empty())
    return refuse("this kernel cannot be compared: " + problem);
  auto twin = comparison.module->lookupSymbol<func::FuncOp>(function.getName());
  const FunctionPlan *exact = comparison.planner.plan(twin);
  pair(plan->body, exact->body, comparison.twins);
  Shadow shadow(comparison, machine, plan->numSlots, function.getLoc());
  for (auto [slot, value] : llvm::zip(plan->body.arguments, function.getArguments()))
    if (isa<MemRefType>(value.getType()))
      shadow.bind(slot, machine.buffer(slot));
    else
      shadow.frame.slots[slot] = frame.slots[slot];
  machine.shadow = &shadow;
  machine.run(plan->body);
  machine.outcome.departures = std::move(comparison.departures);
  return std::move(machine.outcome);
}

} // namespace tilewright::interp
