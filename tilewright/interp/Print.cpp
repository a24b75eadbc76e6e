// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/interp/Print.h"

#include "tilewright/support/TensorText.h"

namespace tilewright::interp {

std::string tensorText(Kind kind, const char *data, llvm::ArrayRef<int64_t> sizes) {
  support::TensorElements elements;
  elements.sizes = sizes.vec();
  if (kind != Kind::F32 && kind != Kind::I64 && kind != Kind::I1)
    elements.dtype = nameOf(kind);
  if (isFloat(kind))
    elements.real = [=](int64_t index) { return loadElement(kind, data, index).real; };
  else
    elements.text = [=](int64_t index) { return scalarText(kind, loadElement(kind, data, index)); };
  return support::tensorText(elements);
}

std::string scalarText(Kind kind, Scalar value) {
  if (kind == Kind::I1)
    return value.integer ? "True" : "False";
  if (isUnsigned(kind))
    return std::to_string(unsignedOf(kind, value.integer));
  return isFloat(kind) ? support::floatText(value.real) : std::to_string(value.integer);
}

} // namespace tilewright::interp
