// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/support/BoundedText.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tilewright;

constexpr size_t kMaxBytes = size_t(64) << 20;
constexpr unsigned kMaxDepth = 256;

bool TextScanner::opens(size_t at) const {
  char c = text[at];
  return c == '(' || c == '[' || c == '{' || c == '<';
}

/// The angle of an arrow closes nothing.
bool TextScanner::closes(size_t at) const {
  char c = text[at];
  return c == ')' || c == ']' || c == '}' || (c == '>' && (at == 0 || text[at - 1] != '-'));
}

/// The position behind the character, string or comment at `at`.
size_t TextScanner::next(size_t at) const {
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

size_t TextScanner::tooDeep(unsigned most) const {
  unsigned depth = 0;
  for (size_t at = 0; at < text.size(); at = next(at)) {
    if (opens(at) && ++depth > most)
      return at;
    if (depth > 0 && closes(at))
      --depth;
  }
  return StringRef::npos;
}

size_t TextScanner::definedWithin() const {
  // Names that the statement at hand uses, for each region around it. A statement is a line, or
  // more of them within brackets.
  SmallVector<llvm::SmallDenseSet<StringRef, 4>> statements(1);
  SmallVector<unsigned> brackets(1, 0);
  bool isStart = true; // of a statement: names up to its `=` are results
  for (size_t at = 0; at < text.size(); at = next(at)) {
    char c = text[at];
    if (c == '{') {
      statements.emplace_back();
      brackets.push_back(0);
      isStart = true;
    } else if (c == '}' && statements.size() > 1) {
      statements.pop_back();
      brackets.pop_back();
    } else if (c == '(') {
      ++brackets.back();
    } else if (c == ')' && brackets.back() > 0) {
      --brackets.back();
    } else if (c == '\n' && brackets.back() == 0) {
      statements.back().clear();
      isStart = true;
    } else if (c == '%') {
      StringRef name = text.substr(at).take_while(
          [](char c) { return llvm::isAlnum(c) || llvm::StringRef("%_.$-").contains(c); });
      bool isUsed = llvm::any_of(statements, [&](auto &names) { return names.contains(name); });
      if (isStart && isUsed)
        return at;
      if (!isStart)
        statements.back().insert(name);
      at += name.size() - 1;
    } else if (!llvm::isSpace(c) && c != ',' && c != ':' && !llvm::isDigit(c)) {
      isStart = false;
    }
  }
  return StringRef::npos;
}

size_t TextScanner::endOfValue(size_t at) const {
  unsigned depth = 0;
  for (; at < text.size(); at = next(at)) {
    if (depth == 0 && (text[at] == ',' || closes(at)))
      return at;
    if (opens(at))
      ++depth;
    else if (closes(at))
      --depth;
  }
  return text.size();
}

Location tilewright::placeIn(StringRef text, size_t at, StringRef fileName, MLIRContext &context) {
  StringRef before = text.take_front(at);
  size_t line = before.rfind('\n');
  size_t column = line == StringRef::npos ? at : at - line - 1;
  return FileLineColLoc::get(&context, fileName, unsigned(before.count('\n')) + 1,
                             unsigned(column) + 1);
}

bool tilewright::isBounded(StringRef text, StringRef fileName, MLIRContext &context) {
  if (text.size() > kMaxBytes) {
    emitError(placeIn(text, 0, fileName, context))
        << "the text has " << text.size() << " bytes, at most " << kMaxBytes << " are read";
    return false;
  }
  size_t at = TextScanner(text).tooDeep(kMaxDepth);
  if (at != StringRef::npos)
    emitError(placeIn(text, at, fileName, context))
        << "more than " << kMaxDepth << " brackets within each other";
  if (at != StringRef::npos)
    return false;
  at = TextScanner(text).definedWithin();
  if (at != StringRef::npos)
    emitError(placeIn(text, at, fileName, context))
        << "a value that the operation around this region uses";
  return at == StringRef::npos;
}

OwningOpRef<ModuleOp> tilewright::parseBounded(const llvm::SourceMgr &sources,
                                               MLIRContext &context) {
  const llvm::MemoryBuffer *text = sources.getMemoryBuffer(sources.getMainFileID());
  if (!isBounded(text->getBuffer(), text->getBufferIdentifier(), context))
    return nullptr;
  return parseSourceFile<ModuleOp>(sources, &context);
}
