// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/interp/Elements.h"

#include "mlir/IR/BuiltinTypes.h"

#include <cstring>

using namespace mlir;

namespace tilewright::interp {

std::optional<Kind> kindOf(Type type) {
  if (type.isIndex())
    return Kind::I64;
  if (type.isFloat8E4M3FN())
    return Kind::F8E4M3;
  if (type.isFloat8E5M2())
    return Kind::F8E5M2;
  if (type.isF16())
    return Kind::F16;
  if (type.isBF16())
    return Kind::BF16;
  if (type.isF32())
    return Kind::F32;
  if (type.isF64())
    return Kind::F64;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return Kind::I1;
  case 8:
    return isUnsigned ? Kind::U8 : Kind::I8;
  case 16:
    return isUnsigned ? Kind::U16 : Kind::I16;
  case 32:
    return isUnsigned ? Kind::U32 : Kind::I32;
  case 64:
    return isUnsigned ? Kind::U64 : Kind::I64;
  default:
    return std::nullopt;
  }
}

unsigned byteSize(Kind kind) {
  return dispatch(kind, [](auto tag) { return unsigned(sizeof(typename decltype(tag)::Type)); });
}

const char *nameOf(Kind kind) {
  constexpr const char *kNames[] = {"bool",     "int8",          "int16",       "int32",
                                    "int64",    "uint8",         "uint16",      "uint32",
                                    "uint64",   "float8_e4m3fn", "float8_e5m2", "float16",
                                    "bfloat16", "float32",       "float64"};
  return kNames[static_cast<unsigned>(kind)];
}

Scalar loadElement(Kind kind, const char *data, int64_t index) {
  return dispatch(kind, [&](auto tag) {
    using S = typename decltype(tag)::Type;
    return toScalar(reinterpret_cast<const S *>(data)[index]);
  });
}

void storeElement(Kind kind, char *data, int64_t index, Scalar value) {
  dispatch(kind, [&](auto tag) {
    using S = typename decltype(tag)::Type;
    reinterpret_cast<S *>(data)[index] = fromScalar<S>(value);
  });
}

void convertArray(Kind fromKind, const char *from, Kind toKind, char *to, int64_t count,
                  support::Rounding mode) {
  if (fromKind == toKind) {
    if (from != to)
      std::memcpy(to, from, count * byteSize(toKind));
    return;
  }
  dispatch(fromKind, [&](auto fromTag) {
    using From = typename decltype(fromTag)::Type;
    dispatch(toKind, [&](auto toTag) {
      using To = typename decltype(toTag)::Type;
      auto *source = reinterpret_cast<const From *>(from);
      auto *target = reinterpret_cast<To *>(to);
      // The common modes apart, so that their loops are free of decisions.
      if (mode == support::Rounding::Rint)
        for (int64_t i = 0; i < count; ++i)
          target[i] = convertTo<To>(widen(source[i]), support::Rounding::Rint);
      else if (mode == support::Rounding::Trunc)
        for (int64_t i = 0; i < count; ++i)
          target[i] = convertTo<To>(widen(source[i]), support::Rounding::Trunc);
      else
        for (int64_t i = 0; i < count; ++i)
          target[i] = convertTo<To>(widen(source[i]), mode);
    });
  });
}

} // namespace tilewright::interp
