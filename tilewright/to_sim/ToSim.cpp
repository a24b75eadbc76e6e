// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches: tensors, scalars, locations, and the two core programs.

#include "tilewright/to_sim/Translator.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::to_sim;

Tables::Tables(LaunchProgram &out, npu::LaunchOp launch)
    : out(out), isMixed(launch.getAic() && launch.getAiv()) {
  for (auto [index, operand] : llvm::enumerate(launch.getOperands())) {
    tensorOf.push_back(-1);
    if (!isa<MemRefType>(operand.getType()))
      continue;
    tensorOf.back() = int32_t(out.tensors.size());
    out.tensors.push_back(unsigned(index));
  }
}

int32_t Tables::location(Location loc) {
  auto file = loc->findInstanceOf<FileLineColLoc>();
  if (!file)
    return -1;
  sim::Location place{file.getFilename().str(), int(file.getLine()), int(file.getColumn())};
  auto [it, isNew] = locations.try_emplace({place.file, place.line, place.column}, 0);
  if (isNew) {
    it->second = int32_t(out.program.locations.size());
    out.program.locations.push_back(std::move(place));
  }
  return it->second;
}

int64_t Tables::scalar(unsigned operand, int dim) {
  auto [it, isNew] = scalars.try_emplace({operand, dim}, int64_t(out.scalars.size()));
  if (isNew) {
    out.scalars.push_back({operand, dim});
    out.program.numScalars = int32_t(out.scalars.size());
  }
  return it->second;
}

namespace {

/// The device function that a launch names, checked against the launch's operands.
FailureOr<func::FuncOp> deviceFunction(npu::LaunchOp launch, FlatSymbolRefAttr symbol) {
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(launch, symbol);
  if (!function || function.isExternal())
    return launch.emitError("names ") << symbol << ", which is no function with a body";
  // Memory spaces may differ: the host speaks of the same memory in its own dialect.
  auto fits = [](Type given, Type wanted) {
    auto a = dyn_cast<MemRefType>(given), b = dyn_cast<MemRefType>(wanted);
    return a && b ? a.getShape() == b.getShape() && a.getElementType() == b.getElementType()
                  : given == wanted;
  };
  if (!llvm::all_of_zip(launch.getOperandTypes(), function.getArgumentTypes(), fits) ||
      launch.getNumOperands() != function.getNumArguments())
    return launch.emitError("the operands do not fit the arguments of ") << symbol;
  if (!function.getBody().hasOneBlock())
    return function.emitError("device code has structured control flow only");
  return function;
}

/// True if an op writes the buffer, by its name or that of a part.
bool isWritten(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [&](Operation *user) {
    if (auto part = dyn_cast<memref::ReinterpretCastOp>(user))
      return isWritten(part.getResult());
    auto access = dyn_cast<AccessInterface>(user);
    for (unsigned i = 0; access && i < access.getNumBoxes(); ++i)
      if (access.getBox(i).buffer == buffer && writes(access.getAccessKind(i)))
        return true;
    return false;
  });
}

/// Fills in which tensors the functions write, and names.
LogicalResult describeTensors(LaunchProgram &out, ArrayRef<func::FuncOp> functions) {
  for (unsigned operand : out.tensors) {
    sim::TensorParam tensor;
    for (func::FuncOp function : functions) {
      BlockArgument argument = function.getArgument(operand);
      auto type = cast<MemRefType>(argument.getType());
      std::optional<sim::DType> dtype = dtypeOf(type.getElementType());
      if (!dtype)
        return function.emitError("the simulator has no tensors like ") << type;
      tensor.type = *dtype;
      if (tensor.name.empty())
        tensor.name = npu::nameOf(argument).str();
      tensor.written |= isWritten(argument);
    }
    if (tensor.name.empty())
      tensor.name = "arg" + std::to_string(operand);
    out.program.tensors.push_back(std::move(tensor));
  }
  return success();
}

} // namespace

FailureOr<LaunchProgram> to_sim::translateLaunch(npu::LaunchOp launch) {
  LaunchProgram out;
  SmallVector<func::FuncOp> functions;
  SmallVector<sim::CoreKind> kinds;
  auto add = [&](FlatSymbolRefAttr symbol, sim::CoreKind kind) -> LogicalResult {
    if (!symbol)
      return success();
    FailureOr<func::FuncOp> function = deviceFunction(launch, symbol);
    if (failed(function))
      return failure();
    functions.push_back(*function);
    kinds.push_back(kind);
    return success();
  };
  if (failed(add(launch.getAicAttr(), sim::CoreKind::AIC)) ||
      failed(add(launch.getAivAttr(), sim::CoreKind::AIV)))
    return failure();
  if (functions.empty())
    return launch.emitError("starts no function");

  auto host = launch->getParentOfType<func::FuncOp>();
  out.program.name = host ? host.getName().str() : functions.front().getName().str();
  Tables tables(out, launch);
  if (failed(describeTensors(out, functions)))
    return failure();
  for (func::FuncOp function : functions)
    if (auto bytes = function->getAttrOfType<IntegerAttr>(npu::kWorkspaceAttr))
      out.program.workspaceBytesPerCore =
          std::max(out.program.workspaceBytesPerCore, bytes.getInt());
  for (auto [function, kind] : llvm::zip(functions, kinds)) {
    sim::CoreProgram &core = kind == sim::CoreKind::AIC ? out.program.aic : out.program.aiv;
    if (failed(Translator(tables, core, kind, function).run()))
      return failure();
  }
  return out;
}
