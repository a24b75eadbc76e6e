// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text as the parser can take it: bounded, without attributes of dialects that are not there.

#include "tilewright/from_hivm/Reader.h"

#include "tilewright/hivm/HivmDialect.h"
#include "tilewright/support/BoundedText.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::from_hivm;

namespace {

/// Attributes of the module whose dialects upstream knows, but not with these contents.
std::string withoutForeignAttributes(StringRef text) {
  std::string result = text.str();
  for (StringRef name : {"dlti.target_system_spec", "dlti.dl_spec"}) {
    size_t at = result.find((name + " = ").str());
    if (at == std::string::npos)
      continue;
    size_t end = TextScanner(result).endOfValue(at);
    if (end < result.size() && result[end] == ',')
      ++end;
    else if (size_t comma = result.find_last_not_of(" \n", at - 1);
             at > 0 && comma != std::string::npos && result[comma] == ',')
      at = comma;
    // As many characters stay: places in diagnostics are those of the file.
    for (size_t i = at; i < end; ++i)
      if (result[i] != '\n')
        result[i] = ' ';
  }
  return result;
}

} // namespace

bool from_hivm::isHivm(StringRef text) { return text.contains("hivm."); }

OwningOpRef<ModuleOp> from_hivm::readText(StringRef text, StringRef fileName,
                                          const machine::Machine &chip, MLIRContext &context) {
  if (!isBounded(text, fileName, context))
    return nullptr;
  if (size_t at = text.find("hivm.hir.pipe_barrier["); at != StringRef::npos) {
    emitError(placeIn(text, at, fileName, context))
        << "this is the pretty form of HIVM text; print it with bishengir-opt "
           "--mlir-print-op-generic";
    return nullptr;
  }
  context.loadDialect<hivm::HivmDialect, npu::NpuDialect, func::FuncDialect, arith::ArithDialect,
                      scf::SCFDialect, math::MathDialect, memref::MemRefDialect,
                      affine::AffineDialect>();
  bool wasAllowed = context.allowsUnregisteredDialects();
  context.allowUnregisteredDialects();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(withoutForeignAttributes(text), fileName),
      llvm::SMLoc());
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  OwningOpRef<ModuleOp> result = module ? readModule(*module, chip) : nullptr;
  context.allowUnregisteredDialects(wasAllowed);
  return result;
}
