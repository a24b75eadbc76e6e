// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "mlir/IR/Value.h"
#include "mlir/IR/ValueRange.h"

namespace tilewright {

/// What an op does to a box.
enum class AccessKind { Read, Write, Update };

inline bool reads(AccessKind kind) { return kind != AccessKind::Write; }
inline bool writes(AccessKind kind) { return kind != AccessKind::Read; }

/// A box of a buffer: per dimension an offset and a size. Empty `offsets` and `sizes` mean the
/// whole buffer; empty `sizes` with offsets mean one element.
struct Box {
  mlir::Value buffer;
  mlir::ValueRange offsets;
  mlir::ValueRange sizes;

  bool isWhole() const { return offsets.empty() && sizes.empty(); }
};

} // namespace tilewright
