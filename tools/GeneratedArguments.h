// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "tilewright/interp/Elements.h"
#include "tilewright/interp/Interpreter.h"
#include "tilewright/interp/Print.h"
#include "tilewright/tile/TileOps.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"

#include <map>
#include <string>
#include <vector>

/// What the tools that run a program have in common: options, generated arguments, printed results.
/// Equal options give equal arguments, so that the outputs of different tools can be compared.
namespace tilewright::tools {

using namespace mlir;

inline llvm::cl::opt<std::string> inputName(llvm::cl::Positional, llvm::cl::desc("<input .mlir>"),
                                            llvm::cl::init("-"));
inline llvm::cl::opt<std::string>
    functionName("function", llvm::cl::desc("Function to run; default: the only public one"));
inline llvm::cl::opt<uint64_t> seed("seed", llvm::cl::desc("Varies the generated inputs"),
                                    llvm::cl::init(0));
inline llvm::cl::list<std::string>
    symbolTexts("symbol", llvm::cl::desc("Value of a symbolic size, NAME=NUMBER"));
inline llvm::cl::list<std::string>
    setTexts("set", llvm::cl::desc("How argument INDEX is made: INDEX=VALUE for a scalar; "
                                   "INDEX=zero, one, iota or random for a tensor"));
inline llvm::cl::list<std::string> shapeTexts("shape",
                                              llvm::cl::desc("Shape of tensor INDEX, INDEX=4x8"));
inline llvm::cl::opt<bool> checksumsOnly("checksums", llvm::cl::desc("Print no elements"));

/// One generated argument.
struct Generated {
  interp::Kind kind = interp::Kind::F32;
  bool isTensor = false, isOutput = false;
  std::vector<int64_t> shape;
  std::vector<char> data, before;
  interp::Argument argument;
};

/// A reproducible number for element `index` of argument `argument`.
inline uint64_t randomBits(uint64_t argument, uint64_t index) {
  uint64_t x = (seed * 0x9e3779b97f4a7c15u) ^ (argument << 48) ^ (index + 1) * 0xbf58476d1ce4e5b9u;
  for (int round = 0; round < 2; ++round) {
    x ^= x >> 31;
    x *= 0x94d049bb133111ebu;
  }
  return x ^ x >> 29;
}

/// Small numbers that every float type holds exactly: multiples of 1/8 in [-2, 2]; integers of [-8,
/// 8], or [0, 16] if unsigned.
inline void generate(Generated &made, unsigned position, StringRef how) {
  int64_t count = 1;
  for (int64_t size : made.shape)
    count *= size;
  made.data.assign(std::max<int64_t>(1, count * interp::byteSize(made.kind)), 0);
  for (int64_t i = 0; i < count; ++i) {
    interp::Scalar value{};
    int64_t random = randomBits(position, i) % 33;
    if (interp::isFloat(made.kind))
      value.real = how == "zero"   ? 0
                   : how == "one"  ? 1
                   : how == "iota" ? double(i)
                                   : double(random - 16) / 8;
    else
      value.integer = how == "zero"                   ? 0
                      : how == "one"                  ? 1
                      : how == "iota"                 ? i
                      : interp::isUnsigned(made.kind) ? random / 2
                                                      : random / 2 - 8;
    if (made.kind == interp::Kind::I1 && how != "iota")
      value.integer = how == "zero" ? 0 : how == "one" ? 1 : random & 1;
    interp::storeElement(made.kind, made.data.data(), i, value);
  }
}

/// Splits KEY=VALUE options into a map; false on bad text.
inline bool splitOptions(const llvm::cl::list<std::string> &texts,
                         std::map<std::string, std::string> &values) {
  for (const std::string &text : texts) {
    auto [key, value] = StringRef(text).split('=');
    if (key.empty() || value.empty()) {
      llvm::errs() << "expected KEY=VALUE, found '" << text << "'\n";
      return false;
    }
    values[key.str()] = value.str();
  }
  return true;
}

inline bool parseShape(StringRef text, std::vector<int64_t> &shape) {
  SmallVector<StringRef> parts;
  text.split(parts, 'x');
  for (StringRef part : parts)
    if (part.getAsInteger(10, shape.emplace_back()) || shape.back() < 0)
      return false;
  return true;
}

/// Gives the dynamic sizes of a tensor argument their values: from `--shape`, or from `tile.shape`
/// and symbols.
inline bool shapeOf(func::FuncOp function, unsigned index,
                    const std::map<std::string, int64_t> &symbols,
                    const std::map<std::string, std::string> &shapes, std::vector<int64_t> &shape) {
  auto type = cast<MemRefType>(function.getArgument(index).getType());
  if (auto given = shapes.find(std::to_string(index)); given != shapes.end())
    return parseShape(given->second, shape);
  shape = type.getShape().vec();
  if (type.hasStaticShape())
    return true;
  auto map = function.getArgAttrOfType<AffineMapAttr>(index, tile::kShapeAttr);
  auto names = function->getAttrOfType<ArrayAttr>(tile::kSymbolsAttr);
  if (!map || !names || map.getValue().getNumResults() != shape.size())
    return false;
  SmallVector<Attribute> values;
  for (Attribute name : names) {
    auto found = symbols.find(cast<StringAttr>(name).getValue().str());
    if (found == symbols.end())
      return false;
    values.push_back(IntegerAttr::get(IndexType::get(function.getContext()), found->second));
  }
  SmallVector<Attribute> folded;
  if (values.size() != map.getValue().getNumInputs() ||
      failed(map.getValue().constantFold(values, folded)))
    return false;
  for (auto [size, value] : llvm::zip(shape, folded))
    size = cast<IntegerAttr>(value).getInt();
  return true;
}

/// The function that `--function` names, or the only host function; null if that is not clear.
inline func::FuncOp findFunction(ModuleOp module) {
  func::FuncOp found;
  for (auto function : module.getOps<func::FuncOp>()) {
    bool isHost = function.isPublic() && !function->hasAttr("npu.core");
    if (functionName.empty() ? !isHost : function.getName() != functionName)
      continue;
    if (found)
      return nullptr;
    found = function;
  }
  return found;
}

/// Values of `--symbol`; false after a message.
inline bool readSymbols(std::map<std::string, int64_t> &symbols) {
  std::map<std::string, std::string> texts;
  if (!splitOptions(symbolTexts, texts))
    return false;
  for (auto &[name, text] : texts)
    if (StringRef(text).getAsInteger(10, symbols[name])) {
      llvm::errs() << "symbol " << name << ": not a number: " << text << "\n";
      return false;
    }
  return true;
}

inline uint64_t checksum(ArrayRef<char> bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char byte : bytes)
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  return hash;
}

/// Elements of a shape.
inline int64_t elementCount(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

/// False after a message when a shape has a negative size, or more elements than can be addressed.
inline bool checkShape(unsigned index, ArrayRef<int64_t> shape) {
  constexpr int64_t most = int64_t(1) << 40;
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size < 0 || (size > 0 && count > most / size)) {
      llvm::errs() << "argument " << index << ": " << size << " is no possible size\n";
      return false;
    }
    count *= std::max<int64_t>(size, 1);
  }
  return true;
}

/// Makes all arguments, tensors without contents if not `hasData`; false after a message.
inline bool makeArguments(func::FuncOp function, const std::map<std::string, int64_t> &symbols,
                          std::vector<Generated> &arguments, bool hasData = true) {
  std::map<std::string, std::string> settings, shapes;
  if (!splitOptions(setTexts, settings) || !splitOptions(shapeTexts, shapes))
    return false;
  for (BlockArgument value : function.getArguments()) {
    unsigned index = value.getArgNumber();
    Generated &made = arguments.emplace_back();
    auto memref = dyn_cast<MemRefType>(value.getType());
    auto kind = interp::kindOf(memref ? memref.getElementType() : value.getType());
    if (!kind) {
      llvm::errs() << "argument " << index << ": no values of type " << value.getType() << "\n";
      return false;
    }
    made.kind = *kind;
    made.isTensor = static_cast<bool>(memref);
    std::string how = settings.count(std::to_string(index)) ? settings[std::to_string(index)] : "";
    if (!memref) {
      made.argument.integer = 1;
      made.argument.real = 1;
      if (!how.empty() &&
          (StringRef(how).getAsDouble(made.argument.real) ||
           (!interp::isFloat(*kind) && StringRef(how).getAsInteger(10, made.argument.integer)))) {
        llvm::errs() << "argument " << index << ": not a number: " << how << "\n";
        return false;
      }
      continue;
    }
    if (!shapeOf(function, index, symbols, shapes, made.shape)) {
      llvm::errs() << "argument " << index << ": give the sizes of " << memref
                   << " with --shape or --symbol\n";
      return false;
    }
    if (!checkShape(index, made.shape))
      return false;
    made.argument.shape = made.shape;
    if (!hasData)
      continue;
    made.isOutput = function.getArgAttr(index, tile::kOutputAttr) != nullptr;
    generate(made, index, how.empty() && made.isOutput ? "zero" : how);
    made.before = made.data;
    made.argument.data = made.data.data();
  }
  return true;
}

/// Prints what the function wrote.
inline void printOutputs(func::FuncOp function, std::vector<Generated> &arguments) {
  for (auto [index, made] : llvm::enumerate(arguments)) {
    if (!made.isTensor || (!made.isOutput && made.data == made.before))
      continue;
    llvm::outs() << "argument " << index;
    if (StringRef name = tile::nameOf(function.getArgument(index)); !name.empty())
      llvm::outs() << " (" << name << ")";
    llvm::outs() << ": " << interp::nameOf(made.kind) << " [";
    llvm::interleaveComma(made.shape, llvm::outs());
    llvm::outs() << "] checksum " << llvm::format_hex_no_prefix(checksum(made.data), 16) << "\n";
    if (!checksumsOnly)
      llvm::outs() << interp::tensorText(made.kind, made.data.data(), made.shape) << "\n";
  }
}

} // namespace tilewright::tools
