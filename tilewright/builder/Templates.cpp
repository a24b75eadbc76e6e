// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that are given as a file of IR: a function of the tile dialect with sizes and element
// types left open.
#include "tilewright/builder/BuilderImpl.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;

namespace tilewright::builder {

namespace {

/// The first lines of a template: what its parameters look like.
struct Header {
  struct Parameter {
    std::string name, type;
    std::vector<std::string> shape; ///< letters and numbers
  };
  std::vector<Parameter> parameters;
  std::map<std::string, std::vector<std::string>> types; ///< letter -> element types it may be
  std::string core;                                      ///< "Cube", "Vector" or empty
};

std::string trimmed(StringRef text) { return text.trim().str(); }

/// `// parameters: x T(M, N), y T(M)`, `// types: T = float16 float32`, `// core: Vector`.
Header readHeader(StringRef text, const std::string &file) {
  Header header;
  for (StringRef rest = text; !rest.empty();) {
    auto [line, more] = rest.split('\n');
    rest = more;
    if (!line.consume_front("//"))
      continue;
    auto [key, value] = line.split(':');
    if (key.trim() == "core")
      header.core = trimmed(value);
    if (key.trim() == "types") {
      auto [letter, names] = value.split('=');
      SmallVector<StringRef> list;
      names.split(list, ' ', -1, /*KeepEmpty=*/false);
      for (StringRef name : list)
        header.types[trimmed(letter)].push_back(trimmed(name));
    }
    if (key.trim() != "parameters")
      continue;
    for (StringRef left = value.trim(); !left.empty();) {
      auto [head, tail] = left.split('(');
      auto [sizes, after] = tail.split(')');
      auto [name, type] = head.trim().split(' ');
      Header::Parameter parameter{trimmed(name), trimmed(type), {}};
      SmallVector<StringRef> list;
      sizes.split(list, ',', -1, /*KeepEmpty=*/false);
      for (StringRef size : list)
        parameter.shape.push_back(trimmed(size));
      if (parameter.name.empty() || parameter.type.empty())
        fail("E0462: the template " + file +
             ": a parameter is a name, an element type and sizes, as in `x T(M, N)`; found `" +
             left + "`");
      header.parameters.push_back(parameter);
      left = after.ltrim(", ");
    }
  }
  if (header.parameters.empty())
    fail("E0462: the template " + file +
         " does not say what its parameters are; begin it with a line such as "
         "`// parameters: x T(M, N), y T(M, N)`");
  return header;
}

/// What stands for each letter, given the tiles of a use. Refuses tiles that do not fit.
std::map<std::string, std::string> bindLetters(KernelBuilder::Impl &b, const Header &header,
                                               const std::vector<Operand> &operands,
                                               const std::string &file) {
  if (operands.size() != header.parameters.size())
    fail("E0462: the operator of " + file + " takes " + llvm::Twine(header.parameters.size()) +
         " tiles, found " + llvm::Twine(operands.size()));
  std::map<std::string, std::string> bound;
  for (auto [parameter, operand] : llvm::zip(header.parameters, operands)) {
    std::string what = "the operator of " + file + ": '" + parameter.name + "' is ";
    const Buffer &tile = operand.buffer;
    if (operand.kind != Operand::Kind::Whole || b.scopeOf(tile) == tile::Scope::Global)
      fail(what + b.describe(tile) + "; it takes whole tiles on the chip: copy the part into one");
    if (tile.shape.size() != parameter.shape.size())
      fail(what + b.describe(tile) + "; allowed are " + llvm::Twine(parameter.shape.size()) +
           " dimensions");
    auto put = [&](const std::string &letter, const std::string &value) {
      auto [entry, isNew] = bound.try_emplace(letter, value);
      if (!isNew && entry->second != value)
        fail(what + b.describe(tile) + ", where " + letter + " is " + entry->second +
             " by another tile");
    };
    for (auto [size, letter] : llvm::zip(tile.shape, parameter.shape)) {
      if (!llvm::isDigit(letter.front()))
        put(letter, std::to_string(size));
      else if (letter != std::to_string(size))
        fail(what + b.describe(tile) + "; allowed is a size of " + letter);
    }
    std::string type(nameOf(tile.dtype));
    auto allowed = header.types.find(parameter.type);
    if (allowed == header.types.end()) {
      if (parameter.type != type)
        fail(what + b.describe(tile) + "; allowed is " + parameter.type);
      continue;
    }
    if (!llvm::is_contained(allowed->second, type))
      fail(what + b.describe(tile) + "; allowed are " + llvm::join(allowed->second, ", "));
    std::string spelled;
    llvm::raw_string_ostream(spelled) << b.elementType(tile.dtype);
    put(parameter.type, spelled);
  }
  return bound;
}

/// `{M}` becomes what stands for M.
std::string filled(StringRef text, const std::map<std::string, std::string> &letters) {
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    size_t end = text[at] == '{' ? text.find('}', at) : StringRef::npos;
    auto found =
        end == StringRef::npos ? letters.end() : letters.find(text.slice(at + 1, end).str());
    if (found == letters.end()) {
      result += text[at];
      continue;
    }
    result += found->second;
    at = end;
  }
  return result;
}

} // namespace

void KernelBuilder::inlineTemplate(const std::string &text, const std::string &file,
                                   const std::vector<Operand> &operands) {
  Impl &b = *impl;
  b.requireLaunch("the operator of " + file + " stands");
  if (b.insideParallel())
    fail("E0462: the operator of " + file + " inside T.Parallel; it works on whole tiles");
  Header header = readHeader(text, file);
  std::map<std::string, std::string> letters = bindLetters(b, header, operands, file);

  std::string problem;
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler handler(b.context.get(), [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error && problem.empty()) {
        problem = diagnostic.str();
        if (auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
          problem = "line " + std::to_string(place.getLine()) + ": " + problem;
      }
      return success();
    });
    module =
        parseSourceString<ModuleOp>(filled(text, letters), ParserConfig(b.context.get()), file);
  }
  if (!module)
    fail("E0462: the template " + file + " is no IR of tiles: " + problem);
  auto functions = llvm::to_vector(module->getOps<func::FuncOp>());
  if (functions.size() != 1 || !functions[0].getBody().hasOneBlock() ||
      functions[0].getNumArguments() != operands.size())
    fail("E0462: the template " + file +
         " is one func.func of one block with the parameters of its header");
  Block &body = functions[0].getBody().front();
  IRMapping mapping;
  for (auto [argument, operand] : llvm::zip(body.getArguments(), operands)) {
    mlir::Value tile = b.raw(operand.buffer);
    auto declared = dyn_cast<MemRefType>(argument.getType());
    auto given = cast<MemRefType>(tile.getType());
    if (!declared || declared.getShape() != given.getShape() ||
        declared.getElementType() != given.getElementType())
      fail("E0462: the template " + file + ": parameter " + llvm::Twine(argument.getArgNumber()) +
           " of the function is not the memref of its header; write its sizes and type as {M} and "
           "{T}");
    mapping.map(argument, tile);
  }
  b.noteBoxOp();
  if (!header.core.empty())
    beginScope(header.core);
  for (Operation &op : body.without_terminator()) {
    if (auto alloc = dyn_cast<tile::AllocOp>(op)) { // tiles stand first in the launch
      OpBuilder::InsertionGuard guard(b.builder);
      b.builder.setInsertionPointAfter(b.lastAlloc);
      b.lastAlloc = b.builder.clone(op, mapping);
      b.lastAlloc->setLoc(b.location);
      continue;
    }
    Operation *copy = b.builder.clone(op, mapping);
    copy->walk([&](Operation *inner) { inner->setLoc(b.location); });
    b.verify(copy);
  }
  if (!header.core.empty())
    endScope();
}

} // namespace tilewright::builder
