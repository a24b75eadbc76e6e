// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/EngineGroup.h"
#include "tilewright/support/TensorText.h"

#include <bit>

using namespace tilewright;
using namespace tilewright::sim;

namespace {

/// Scalars of narrow float types are f32 values here.
double realOf(DType type, int64_t value) {
  return type == DType::F64 ? std::bit_cast<double>(value)
                            : double(std::bit_cast<float>(uint32_t(value)));
}

std::string scalarText(DType type, int64_t value) {
  if (type == DType::I1)
    return value ? "True" : "False";
  if (type == DType::U64)
    return std::to_string(uint64_t(value));
  return isFloat(type) ? support::floatText(realOf(type, value)) : std::to_string(value);
}

/// The type as Python names it, empty for those that PyTorch leaves out.
std::string dtypeText(DType type) {
  switch (type) {
  case DType::I8:
    return "int8";
  case DType::I16:
    return "int16";
  case DType::I32:
    return "int32";
  case DType::U8:
    return "uint8";
  case DType::U16:
    return "uint16";
  case DType::U32:
    return "uint32";
  case DType::U64:
    return "uint64";
  case DType::F8E4M3:
    return "float8_e4m3fn";
  case DType::F8E5M2:
    return "float8_e5m2";
  case DType::F16:
    return "float16";
  case DType::BF16:
    return "bfloat16";
  case DType::F64:
    return "float64";
  case DType::I1:
  case DType::I64:
  case DType::F32:
    return "";
  }
  return "";
}

std::string tileText(const ResolvedView &view) {
  auto load = [&](int64_t index) {
    int64_t offset = 0;
    for (unsigned d = view.rank; d-- > 0; index /= view.sizes[d])
      offset += index % view.sizes[d] * view.strides[d];
    return loadScalar(view.data + offset * int64_t(byteSize(view.type)), view.type);
  };
  support::TensorElements elements;
  elements.sizes.assign(view.sizes.begin(), view.sizes.begin() + view.rank);
  elements.dtype = dtypeText(view.type);
  if (isFloat(view.type))
    elements.real = [&](int64_t index) { return realOf(view.type, load(index)); };
  else
    elements.text = [&](int64_t index) { return scalarText(view.type, load(index)); };
  return support::tensorText(elements);
}

} // namespace

std::string tilewright::sim::printText(const PrintSpec &spec, const Prepared *tile,
                                       const int64_t *value) {
  std::string text = spec.message;
  if (!text.empty() && (tile || value))
    text += ": ";
  if (tile)
    text += tileText(tile->op.operands[0]);
  else if (value)
    text += scalarText(spec.type, *value);
  return text + "\n";
}
