// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels as text of HIVM, and text as kernels.

#include "tilewright/driver/KernelImpl.h"
#include "tilewright/from_hivm/FromHivm.h"
#include "tilewright/support/BoundedText.h"
#include "tilewright/tile/TileOps.h"
#include "tilewright/to_hivm/ToHivm.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::driver;

std::string Kernel::hivmTarget() const {
  return impl->options.interpretOnly ? "" : to_hivm::targetOf(impl->chip.name).value_or("");
}

HivmResult Kernel::hivm(const std::string &form) const {
  HivmResult result;
  auto fail = [&](const std::string &message) {
    result.diagnostics.push_back({Severity::Error, message, {}, {}});
    return result;
  };
  std::optional<to_hivm::Form> wanted = to_hivm::parseForm(form);
  if (!wanted)
    return fail("E0909: there is no form '" + form + "'; there are flags, planned and plain");
  if (impl->options.interpretOnly)
    return fail("E0815: kernel " + impl->name + " was compiled for the interpreter alone");
  std::string target = hivmTarget();
  if (target.empty())
    return fail(
        "E0909: HIVM text is made for the 910B chips and the A3; this kernel is compiled for " +
        impl->chip.name);
  std::lock_guard<std::mutex> lock(impl->shared->mutex);
  // A kernel from the cache has its IR as text without places: made again, errors have theirs.
  if (!impl->final)
    impl->final = impl->moduleAfter(passes::stagesFor(impl->pipeline).back().name);
  std::vector<Remark> remarks;
  DiagnosticCollector collector(*impl->shared->context, result.diagnostics, remarks);
  SmallVector<npu::LaunchOp> launches;
  hostFunction(*impl->final).walk([&](npu::LaunchOp launch) { launches.push_back(launch); });
  for (auto [index, launch] : llvm::enumerate(launches)) {
    std::string name = impl->name + (launches.size() > 1 ? "_" + std::to_string(index) : "");
    auto text = to_hivm::exportLaunch(launch, name, {*wanted, target, impl->chip.ubBytes});
    if (failed(text))
      continue;
    HivmLaunch entry{text->name, text->core, text->text, text->workspaceBytes, {}};
    for (const to_hivm::Parameter &parameter : text->parameters) {
      const LaunchOperand &operand = impl->operands[index][parameter.operand];
      entry.parameters.push_back({parameter.kind, parameter.name, parameter.type, operand.parameter,
                                  operand.symbol, parameter.dim});
    }
    result.launches.push_back(std::move(entry));
  }
  if (collector.sawError())
    result.launches.clear();
  return result;
}

std::string driver::placeTemporaries(const std::string &text, std::string &problem) {
  return to_hivm::placeTemporaries(text, problem);
}

/// Names for the run-time sizes of the tensors of a host function that has none.
static void nameSizes(func::FuncOp function) {
  MLIRContext *context = function.getContext();
  if (function->hasAttr(tile::kSymbolsAttr))
    return;
  SmallVector<Attribute> names;
  SmallVector<SmallVector<AffineExpr>> shapes;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    SmallVector<AffineExpr> &dims = shapes.emplace_back();
    auto memref = dyn_cast<MemRefType>(type);
    for (int64_t dim = 0; memref && dim < memref.getRank(); ++dim) {
      if (!memref.isDynamicDim(unsigned(dim))) {
        dims.push_back(getAffineConstantExpr(memref.getDimSize(unsigned(dim)), context));
        continue;
      }
      dims.push_back(getAffineSymbolExpr(unsigned(names.size()), context));
      names.push_back(StringAttr::get(context, "size" + Twine(names.size())));
    }
  }
  for (auto [index, dims] : llvm::enumerate(shapes))
    if (isa<MemRefType>(function.getArgument(unsigned(index)).getType()))
      function.setArgAttr(
          unsigned(index), tile::kShapeAttr,
          AffineMapAttr::get(AffineMap::get(0, unsigned(names.size()), dims, context)));
  function->setAttr(tile::kSymbolsAttr, ArrayAttr::get(context, names));
}

CompileResult driver::loadText(const std::string &text, const std::string &fileName,
                               const std::string &chipName) {
  CompileResult result;
  auto impl = std::make_unique<Kernel::Impl>();
  machine::LoadResult chip = machine::loadChip(chipName);
  if (!chip.error.empty()) {
    result.diagnostics.push_back({Severity::Error, chip.error, {}, {}});
    return result;
  }
  impl->countsBlocks = false;
  impl->options.chip = chipName;
  impl->chip = chip.machine;
  impl->uncertain = machine::uncertainOf(chip);
  impl->shared = std::make_shared<Shared>();
  impl->shared->context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  std::shared_ptr<Shared> shared = impl->shared; // the collector below needs the context
  MLIRContext &context = *shared->context;
  context.printOpOnDiagnostic(false);
  context.loadDialect<tile::TileDialect, npu::NpuDialect, func::FuncDialect, arith::ArithDialect,
                      scf::SCFDialect, math::MathDialect, memref::MemRefDialect,
                      index::IndexDialect, affine::AffineDialect>();
  DiagnosticCollector collector(context, result.diagnostics, impl->remarks);
  if (from_hivm::isHivm(text)) {
    impl->final = from_hivm::readText(text, fileName, impl->chip, context);
    // Scalars as a compiler behind the text leaves them: nothing twice, nothing in each turn.
    PassManager passes(&context);
    passes.addPass(createLoopInvariantCodeMotionPass());
    passes.addPass(createCSEPass());
    if (impl->final && failed(passes.run(*impl->final)))
      return result;
  } else {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, fileName), llvm::SMLoc());
    impl->final = parseBounded(sources, context);
  }
  if (!impl->final)
    return result;
  func::FuncOp function = hostFunction(*impl->final);
  size_t count = 0;
  impl->final->walk([&](npu::LaunchOp) { ++count; });
  if (!function || count == 0) {
    result.diagnostics.push_back(
        {Severity::Error, "the text has no function that launches a program of npu", {}, {}});
    return result;
  }
  nameSizes(function);
  impl->name = function.getName().str();
  impl->host = std::make_unique<HostProgram>(function);
  if (!impl->translate())
    return result;
  auto kernel = std::make_shared<const Kernel>(std::move(impl));
  if (std::string problem = kernel->chipProblem(chipName); !problem.empty())
    result.diagnostics.push_back({Severity::Error, problem, {}, {}});
  else
    result.kernel = kernel;
  return result;
}
