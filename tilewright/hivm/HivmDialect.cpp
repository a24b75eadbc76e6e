// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/hivm/HivmDialect.h"

#include "mlir/IR/AttributeSupport.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::hivm;

MLIR_DEFINE_EXPLICIT_TYPE_ID(tilewright::hivm::HivmDialect)
MLIR_DEFINE_EXPLICIT_TYPE_ID(tilewright::hivm::WordAttr)

struct hivm::detail::WordAttrStorage : AttributeStorage {
  using KeyTy = std::pair<StringRef, StringRef>;
  explicit WordAttrStorage(KeyTy key) : key(key) {}
  bool operator==(const KeyTy &other) const { return key == other; }
  static WordAttrStorage *construct(AttributeStorageAllocator &allocator, const KeyTy &key) {
    return new (allocator.allocate<WordAttrStorage>())
        WordAttrStorage({allocator.copyInto(key.first), allocator.copyInto(key.second)});
  }
  KeyTy key;
};

WordAttr WordAttr::get(MLIRContext *context, StringRef mnemonic, StringRef body) {
  return Base::get(context, std::pair(mnemonic, body));
}
StringRef WordAttr::getMnemonic() const { return getImpl()->key.first; }
StringRef WordAttr::getBody() const { return getImpl()->key.second; }

HivmDialect::HivmDialect(MLIRContext *context)
    : Dialect(getDialectNamespace(), context, TypeID::get<HivmDialect>()) {
  addAttributes<WordAttr>();
  allowUnknownOperations();
  allowUnknownTypes();
}

/// The text behind `#hivm.` as it stands: its mnemonic, and what the outer angle brackets hold. The
/// caller goes on behind it.
Attribute HivmDialect::parseAttribute(DialectAsmParser &parser, Type type) const {
  auto [mnemonic, rest] = parser.getFullSymbolSpec().split('<');
  StringRef body = rest;
  body.consume_back(">");
  return WordAttr::get(parser.getContext(), mnemonic, body);
}

void HivmDialect::printAttribute(Attribute attribute, DialectAsmPrinter &printer) const {
  auto word = cast<WordAttr>(attribute);
  printer << word.getMnemonic();
  if (!word.getBody().empty())
    printer << '<' << word.getBody() << '>';
}
