// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

/// Text of MLIR that anyone may have written: MLIR's parser recurses at each bracket and keeps all
/// that it reads.
namespace tilewright {

/// Goes through text, knowing strings, comments and brackets.
class TextScanner {
public:
  explicit TextScanner(llvm::StringRef text) : text(text) {}

  /// Position of the first bracket within `most` others, or npos.
  size_t tooDeep(unsigned most) const;
  /// Position of the first value that a region defines though the operation around it uses it, or
  /// npos: MLIR's parser would hand a value to that operation which is gone by then.
  size_t definedWithin() const;
  /// The end of the attribute value that begins at `at`: the next comma or closing bracket of the
  /// dictionary.
  size_t endOfValue(size_t at) const;

private:
  llvm::StringRef text;

  bool opens(size_t at) const;
  bool closes(size_t at) const;
  size_t next(size_t at) const;
};

/// Line and column of a position in a text.
mlir::Location placeIn(llvm::StringRef text, size_t at, llvm::StringRef fileName,
                       mlir::MLIRContext &context);

/// False, after an error at a place of the text, if the parser cannot take it: it is too large or
/// too deeply nested, or a value is used around the region that defines it.
bool isBounded(llvm::StringRef text, llvm::StringRef fileName, mlir::MLIRContext &context);

/// Parses and verifies the main buffer. Null after a diagnostic, of isBounded too.
mlir::OwningOpRef<mlir::ModuleOp> parseBounded(const llvm::SourceMgr &sources,
                                               mlir::MLIRContext &context);

} // namespace tilewright
