// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names, types and numbers as Python writes them.
#include "tilewright/to_expert/Emitter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstdlib>

using namespace mlir;

namespace tilewright::to_expert {

std::string Names::fresh(StringRef wanted, bool numbered) {
  static const llvm::StringSet<> reserved = {
      "T",        "and",    "as",       "assert",   "async", "await",  "break", "class",
      "continue", "def",    "del",      "elif",     "else",  "except", "False", "finally",
      "float",    "for",    "from",     "global",   "if",    "import", "in",    "is",
      "kernel",   "lambda", "None",     "nonlocal", "not",   "or",     "pass",  "raise",
      "range",    "return", "tilelang", "True",     "try",   "while",  "with",  "yield"};
  std::string base;
  for (char c : wanted)
    base += llvm::isAlnum(c) ? c : '_';
  if (base.empty() || llvm::isDigit(base.front()))
    base.insert(base.begin(), 't');
  std::string name =
      numbered || reserved.contains(base) ? base + std::to_string(next[base]++) : base;
  while (!taken.insert(name).second)
    name = base + (numbered ? "" : "_") + std::to_string(next[base]++);
  return name;
}

std::string quoted(StringRef text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result + "\"";
}

static std::string realText(double value) {
  if (std::isnan(value))
    return "float(\"nan\")";
  if (std::isinf(value))
    return value < 0 ? "float(\"-inf\")" : "float(\"inf\")";
  std::string text;
  for (int digits = 1; digits <= 17; ++digits) {
    text.clear();
    llvm::raw_string_ostream(text) << llvm::format("%.*g", digits, value);
    if (std::strtod(text.c_str(), nullptr) == value)
      break;
  }
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string numberText(TypedAttr value) {
  if (auto real = dyn_cast<FloatAttr>(value)) {
    APFloat wide = real.getValue();
    bool losesInfo = false;
    wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    return realText(wide.convertToDouble());
  }
  auto integer = cast<IntegerAttr>(value);
  if (integer.getType().isInteger(1))
    return integer.getValue().isZero() ? "False" : "True";
  return std::to_string(integer.getValue().getSExtValue());
}

} // namespace tilewright::to_expert
