// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/support/TypeNames.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

std::string tilewright::dtypeName(Type type) {
  if (type.isFloat8E4M3FN())
    return "float8_e4m3fn";
  if (type.isFloat8E5M2())
    return "float8_e5m2";
  if (type.isBF16())
    return "bfloat16";
  if (auto real = dyn_cast<FloatType>(type))
    return "float" + std::to_string(real.getWidth());
  if (type.isIndex())
    return "int64";
  if (type.isInteger(1))
    return "bool";
  if (auto integer = dyn_cast<IntegerType>(type))
    return (integer.isUnsigned() ? "uint" : "int") + std::to_string(integer.getWidth());
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}
