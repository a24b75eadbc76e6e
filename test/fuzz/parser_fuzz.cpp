// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A libFuzzer target for the readers of text: TILEWRIGHT_FUZZ_TILE and TILEWRIGHT_FUZZ_NPU mean the
// dialects' parsers and verifiers, otherwise the reader of HIVM. Text that is refused has to
// be so at a place. test/fuzz/parser_fuzz.py makes the seeds and runs it.

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/MLIRContext.h"
#include "tilewright/from_hivm/FromHivm.h"
#include "tilewright/machine/Machine.h"
#include "tilewright/npu/NpuOps.h"
#include "tilewright/support/BoundedText.h"
#include "tilewright/tile/TileOps.h"
#include "llvm/ADT/StringExtras.h"

#include <cctype>
#include <cstdlib>
#include <memory>
#include <random>

using namespace mlir;
using namespace tilewright;

namespace {

constexpr unsigned kRunsOfContext = 256; ///< what a context has seen stays in its memory

std::unique_ptr<MLIRContext> makeContext() {
  auto context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
  context->loadDialect<func::FuncDialect, arith::ArithDialect, scf::SCFDialect, math::MathDialect,
                       memref::MemRefDialect, index::IndexDialect, affine::AffineDialect>();
#ifdef TILEWRIGHT_FUZZ_TILE
  context->loadDialect<tile::TileDialect>();
#else
  context->loadDialect<tile::TileDialect, npu::NpuDialect>();
#endif
  return context;
}

OwningOpRef<ModuleOp> read(StringRef text, MLIRContext &context) {
#if defined(TILEWRIGHT_FUZZ_TILE) || defined(TILEWRIGHT_FUZZ_NPU)
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "fuzz.mlir"),
                             llvm::SMLoc());
  return parseBounded(sources, context);
#else
  static const machine::LoadResult chip = machine::loadChip("910b3");
  return from_hivm::readText(text, "fuzz.mlir", chip.machine, context);
#endif
}

/// Words of text: names, numbers, strings and single signs.
SmallVector<StringRef> wordsOf(StringRef text) {
  auto isName = [](char c) { return std::isalnum(uint8_t(c)) || c == '_' || c == '.' || c == '$'; };
  SmallVector<StringRef> words;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (isName(text[at]))
      while (end < text.size() && isName(text[end]))
        ++end;
    words.push_back(text.slice(at, end));
    at = end;
  }
  return words;
}

} // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/// Mostly changes of words and lines, which get further than those of bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  auto pick = [&](size_t count) { return size_t(random()) % std::max<size_t>(count, 1); };
  if (size == 0 || pick(6) == 0)
    return LLVMFuzzerMutate(data, size, most);
  static const char *const kHostile[] = {"-1",
                                         "0",
                                         "9223372036854775807",
                                         "18446744073709551616",
                                         "1000000007",
                                         "?",
                                         "i64",
                                         "i1",
                                         "f16",
                                         "index",
                                         "memref<?xi8>",
                                         "0x",
                                         "-",
                                         "%0",
                                         "<",
                                         ">",
                                         "(",
                                         ")",
                                         "{",
                                         "}",
                                         "[",
                                         "]",
                                         "\"",
                                         "array<i64>",
                                         "dense<0>",
                                         "1e999",
                                         "unit",
                                         "i0"};
  StringRef text(reinterpret_cast<const char *>(data), size);
  bool isLine = pick(4) == 0;
  SmallVector<StringRef> parts;
  if (isLine)
    text.split(parts, '\n');
  else
    parts = wordsOf(text);
  for (size_t changes = 1 + pick(3); changes-- && !parts.empty();) {
    size_t at = pick(parts.size());
    StringRef other = parts[pick(parts.size())];
    switch (pick(isLine ? 4 : 6)) {
    case 0:
      parts.erase(parts.begin() + at);
      break;
    case 1:
      parts.insert(parts.begin() + at, other);
      break;
    case 2:
      parts[at] = other;
      break;
    case 3:
      if (pick(4) == 0)
        parts.truncate(at);
      else
        std::swap(parts[at], parts[pick(parts.size())]);
      break;
    default:
      parts[at] = kHostile[pick(std::size(kHostile))];
    }
  }
  std::string result = llvm::join(parts, isLine ? "\n" : "");
  result.resize(std::min(result.size(), most));
  std::copy(result.begin(), result.end(), data);
  return result.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static std::unique_ptr<MLIRContext> context;
  static unsigned runs = 0;
  if (runs++ % kRunsOfContext == 0)
    context = makeContext();
  bool hasPlace = false;
  ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
    hasPlace |= diagnostic.getSeverity() == DiagnosticSeverity::Error &&
                diagnostic.getLocation()->findInstanceOf<FileLineColLoc>() != nullptr;
    return success();
  });
  StringRef text(reinterpret_cast<const char *>(data), size);
  OwningOpRef<ModuleOp> module = read(text, *context);
  // A text may give places of its own.
  if (!module && !hasPlace && !text.contains("loc"))
    std::abort();
  return 0;
}
