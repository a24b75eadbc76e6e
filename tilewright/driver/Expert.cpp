// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels as Python source of their authors.

#include "tilewright/driver/KernelImpl.h"
#include "tilewright/tile/TileOps.h"
#include "tilewright/to_expert/ToExpert.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::driver;

namespace {

/// A size expression in Python.
std::string sizeText(AffineExpr expr, ArrayRef<std::string> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return std::to_string(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::string left = sizeText(binary.getLHS(), symbols), right = sizeText(binary.getRHS(), symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return "(" + left + " + " + right + ")";
  case AffineExprKind::Mul:
    return left + " * " + right;
  case AffineExprKind::Mod:
    return left + " % " + right;
  case AffineExprKind::CeilDiv:
    return "T.ceildiv(" + left + ", " + right + ")";
  default:
    return "(" + left + " // " + right + ")";
  }
}

} // namespace

std::vector<driver::Diagnostic> Kernel::expert(std::string &text) const {
  std::vector<driver::Diagnostic> diagnostics;
  auto fail = [&](const std::string &message) {
    diagnostics.push_back({Severity::Error, message, {}, {}});
    return diagnostics;
  };
  if (impl->options.interpretOnly || !impl->built)
    return fail("kernel " + impl->name +
                " has no program made from a kernel's source, which Python could say");
  std::lock_guard<std::mutex> lock(impl->shared->mutex);
  // The final module of a kernel from the cache has no places.
  OwningOpRef<ModuleOp> module = impl->moduleAfter("npu-insert-sync");
  std::vector<Remark> remarks;
  DiagnosticCollector collector(*impl->shared->context, diagnostics, remarks);
  func::FuncOp built = hostFunction(*impl->built);
  std::vector<to_expert::Parameter> parameters;
  for (auto [index, parameter] : llvm::enumerate(impl->host->parameters())) {
    to_expert::Parameter entry{parameter.name, "T." + parameter.dtype, parameter.alias};
    if (!parameter.element.empty())
      return fail("kernel " + impl->name + ": '" + parameter.name +
                  "' has elements of four bits, "
                  "which are bytes in the program; there is no source for both");
    if (parameter.kind == ArgKind::Tensor) {
      auto shape = built.getArgAttrOfType<AffineMapAttr>(index, tile::kShapeAttr);
      std::string sizes;
      for (auto [dim, extent] : llvm::enumerate(parameter.shape))
        sizes += (shape ? sizeText(shape.getValue().getResult(dim), impl->host->symbols())
                        : std::to_string(extent)) +
                 ", ";
      sizes.resize(sizes.size() - (parameter.shape.size() > 1 ? 2 : 1));
      entry.annotation = "T.Tensor((" + sizes + "), \"" + parameter.dtype + "\")";
    }
    parameters.push_back(entry);
  }
  auto source = to_expert::exportKernel(hostFunction(*module), parameters, impl->host->symbols());
  if (succeeded(source))
    text = *source;
  return diagnostics;
}
