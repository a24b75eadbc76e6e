// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text as the parser can take it: bounded, without attributes of dialects that are not there.

#include "tilewright/from_hivm/Reader.h"

#include "tilewright/hivm/HivmDialect.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::from_hivm;

namespace {

constexpr size_t kMaxBytes = size_t(64) << 20;
constexpr unsigned kMaxDepth = 256; ///< brackets within each other: the parser recurses

/// Goes through text, knowing strings, comments and brackets.
class Scanner {
public:
  explicit Scanner(StringRef text) : text(text) {}

  /// Position of the first bracket that is nested too deeply, or npos.
  size_t tooDeep() const {
    unsigned depth = 0;
    for (size_t at = 0; at < text.size(); at = next(at)) {
      char c = text[at];
      if (isOpen(at) && ++depth > kMaxDepth)
        return at;
      if (depth > 0 && (c == ')' || c == ']' || c == '}' || isClosingAngle(at)))
        --depth;
    }
    return StringRef::npos;
  }

  /// The end of the attribute value that begins at `at`: the next comma or closing bracket of the
  /// dictionary.
  size_t endOfValue(size_t at) const {
    unsigned depth = 0;
    for (; at < text.size(); at = next(at)) {
      char c = text[at];
      bool closes = c == ')' || c == ']' || c == '}' || isClosingAngle(at);
      if (depth == 0 && (c == ',' || closes))
        return at;
      if (isOpen(at))
        ++depth;
      else if (closes)
        --depth;
    }
    return text.size();
  }

private:
  StringRef text;

  bool isOpen(size_t at) const {
    char c = text[at];
    return c == '(' || c == '[' || c == '{' || c == '<';
  }
  bool isClosingAngle(size_t at) const {
    return text[at] == '>' && (at == 0 || text[at - 1] != '-');
  }
  /// The position behind the character, string or comment at `at`.
  size_t next(size_t at) const {
    if (text[at] == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at)
        if (text[at] == '\\')
          ++at;
      return at + 1;
    }
    if (text.substr(at).starts_with("//"))
      return std::min(text.find('\n', at), text.size() - 1) + 1;
    return at + 1;
  }
};

/// Attributes of the module whose dialects upstream knows, but not with these contents.
std::string withoutForeignAttributes(StringRef text) {
  std::string result = text.str();
  for (StringRef name : {"dlti.target_system_spec", "dlti.dl_spec"}) {
    size_t at = result.find((name + " = ").str());
    if (at == std::string::npos)
      continue;
    size_t end = Scanner(result).endOfValue(at);
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
  auto place = [&](size_t at) {
    StringRef before = text.take_front(at);
    size_t line = before.rfind('\n');
    size_t column = line == StringRef::npos ? at : at - line - 1;
    return FileLineColLoc::get(&context, fileName, unsigned(before.count('\n')) + 1,
                               unsigned(column) + 1);
  };
  if (text.size() > kMaxBytes) {
    emitError(place(0)) << "the text has " << text.size() << " bytes, at most " << kMaxBytes
                        << " are read";
    return nullptr;
  }
  if (size_t at = Scanner(text).tooDeep(); at != StringRef::npos) {
    emitError(place(at)) << "more than " << kMaxDepth << " brackets within each other";
    return nullptr;
  }
  if (size_t at = text.find("hivm.hir.pipe_barrier["); at != StringRef::npos) {
    emitError(place(at)) << "this is the pretty form of HIVM text; print it with bishengir-opt "
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
