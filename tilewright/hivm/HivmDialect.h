// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"

/// As much of the published dialect HIVM as its generic text needs: its operations stay opaque, its
/// attributes are a mnemonic with a body, as in `#hivm.pipe<PIPE_V>`.
namespace tilewright::hivm {

namespace detail {
struct WordAttrStorage;
} // namespace detail

/// `#hivm.<mnemonic><<body>>`. Also the memory space of a memref, which no opaque attribute of an
/// unregistered dialect may be.
class WordAttr
    : public mlir::Attribute::AttrBase<WordAttr, mlir::Attribute, detail::WordAttrStorage> {
public:
  using Base::Base;
  static constexpr llvm::StringLiteral name = "hivm.word";
  static constexpr llvm::StringLiteral dialectName = "hivm";

  static WordAttr get(mlir::MLIRContext *context, llvm::StringRef mnemonic, llvm::StringRef body);
  llvm::StringRef getMnemonic() const;
  llvm::StringRef getBody() const;
};

class HivmDialect : public mlir::Dialect {
public:
  explicit HivmDialect(mlir::MLIRContext *context);
  static constexpr llvm::StringLiteral getDialectNamespace() { return "hivm"; }

  mlir::Attribute parseAttribute(mlir::DialectAsmParser &parser, mlir::Type type) const override;
  void printAttribute(mlir::Attribute attribute, mlir::DialectAsmPrinter &printer) const override;
};

} // namespace tilewright::hivm

MLIR_DECLARE_EXPLICIT_TYPE_ID(tilewright::hivm::HivmDialect)
MLIR_DECLARE_EXPLICIT_TYPE_ID(tilewright::hivm::WordAttr)
