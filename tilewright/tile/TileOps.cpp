// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/tile/TileOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tilewright::tile;
using namespace tilewright;

#define GET_OP_CLASSES
#include "tilewright/tile/TileOps.cpp.inc"

namespace {

//===-- Checks shared by the ops
//----------------------------------------------------------------===//

/// Checks that offsets and sizes cover the ranks of all buffers, and that constant on-chip boxes
/// are in bounds.
LogicalResult verifyBoxes(Operation *op, OperandRange buffers, OperandRange offsets,
                          OperandRange sizes) {
  int64_t rank = 0;
  for (Value buffer : buffers)
    rank += cast<MemRefType>(buffer.getType()).getRank();
  if (static_cast<int64_t>(offsets.size()) != rank || static_cast<int64_t>(sizes.size()) != rank)
    return op->emitOpError("needs one offset and one size per dimension: the buffers have ")
           << rank << " dimensions, found " << offsets.size() << " offsets and " << sizes.size()
           << " sizes";
  for (unsigned index = 0; index < buffers.size(); ++index) {
    Box box = boxOf(buffers, offsets, sizes, index);
    auto type = cast<MemRefType>(box.buffer.getType());
    for (auto [dim, extent] : llvm::enumerate(type.getShape())) {
      auto offset = constantOf(box.offsets[dim]), size = constantOf(box.sizes[dim]);
      if (size && *size < 0)
        return op->emitOpError("box of ")
               << (nameOf(box.buffer).empty() ? "a buffer" : nameOf(box.buffer))
               << " has negative size " << *size << " in dimension " << dim;
      if (scopeOf(type) == Scope::Global || !size || ShapedType::isDynamic(extent))
        continue;
      if (*size > extent || (offset && (*offset < 0 || *offset + *size > extent)))
        return op->emitOpError("box reaches outside ")
               << (nameOf(box.buffer).empty() ? "a tile" : nameOf(box.buffer)) << ": dimension "
               << dim << " has extent " << extent << ", the box starts at " << offset.value_or(0)
               << " with size " << *size;
    }
  }
  return success();
}

/// Sizes without the dimensions of size 1.
SmallVector<int64_t> squeezed(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> result;
  llvm::copy_if(sizes, std::back_inserter(result), [](int64_t size) { return size != 1; });
  return result;
}

/// Equal after dropping 1s, run-time sizes matching anything.
bool sameShape(ArrayRef<int64_t> left, ArrayRef<int64_t> right) {
  SmallVector<int64_t> a = squeezed(left), b = squeezed(right);
  bool dynamic =
      llvm::is_contained(a, ShapedType::kDynamic) || llvm::is_contained(b, ShapedType::kDynamic);
  if (a.size() != b.size())
    return dynamic; // a run-time size may be 1
  return llvm::all_of(llvm::zip(a, b), [](auto pair) {
    auto [x, y] = pair;
    return x == y || ShapedType::isDynamic(x) || ShapedType::isDynamic(y);
  });
}

std::string text(ArrayRef<int64_t> sizes) {
  std::string result = "(";
  for (auto [index, size] : llvm::enumerate(sizes))
    result += (index ? ", " : "") +
              (ShapedType::isDynamic(size) ? std::string("?") : std::to_string(size));
  return result + ")";
}

Type elementOf(Value buffer) { return cast<MemRefType>(buffer.getType()).getElementType(); }

template <typename OpTy>
LogicalResult verifyBoxCount(OpTy op, unsigned least, unsigned most) {
  unsigned count = op.getBuffers().size();
  if (count < least || count > most)
    return op.emitOpError("takes ") << least << " to " << most << " boxes, found " << count;
  return verifyBoxes(op, op.getBuffers(), op.getOffsets(), op.getSizes());
}

/// Rows and columns of a gemm operand: its box without leading 1s.
FailureOr<std::pair<int64_t, int64_t>> matrixSizes(Operation *op, const Box &box, StringRef which) {
  SmallVector<int64_t> sizes = staticSizes(box);
  while (sizes.size() > 2 && sizes.front() == 1)
    sizes.erase(sizes.begin());
  if (sizes.size() == 2)
    return std::make_pair(sizes[0], sizes[1]);
  op->emitOpError("operand ") << which << " must be a matrix, found a box of sizes " << text(sizes);
  return failure();
}

bool differ(int64_t a, int64_t b) {
  return !ShapedType::isDynamic(a) && !ShapedType::isDynamic(b) && a != b;
}

} // namespace

//===-- Launch and parallel
//---------------------------------------------------------------------===//

/// `(%i, %j) in (%m, %n) attr-dict { ... }`, shared by launch and parallel.
static void printIndexed(OpAsmPrinter &printer, Operation *op, OperandRange extents, Region &body) {
  printer << " (";
  llvm::interleaveComma(body.getArguments(), printer,
                        [&](BlockArgument argument) { printer << argument; });
  printer << ") in (" << extents << ")";
  printer.printOptionalAttrDictWithKeyword(op->getAttrs());
  printer << ' ';
  printer.printRegion(body, /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
}

static ParseResult parseIndexed(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> ids;
  SmallVector<OpAsmParser::UnresolvedOperand> extents;
  Type index = parser.getBuilder().getIndexType();
  if (parser.parseArgumentList(ids, AsmParser::Delimiter::Paren) || parser.parseKeyword("in") ||
      parser.parseOperandList(extents, AsmParser::Delimiter::Paren) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.resolveOperands(extents, index, result.operands))
    return failure();
  for (OpAsmParser::Argument &id : ids)
    id.type = index;
  Region *body = result.addRegion();
  return parser.parseRegion(*body, ids);
}

static LogicalResult verifyIndexed(Operation *op, OperandRange extents, Region &body) {
  if (body.getNumArguments() == extents.size() &&
      llvm::all_of(body.getArgumentTypes(), [](Type type) { return type.isIndex(); }))
    return success();
  return op->emitOpError("needs one index argument per extent: ")
         << extents.size() << " extents, " << body.getNumArguments() << " arguments";
}

void LaunchOp::print(OpAsmPrinter &printer) { printIndexed(printer, *this, getGrid(), getBody()); }
ParseResult LaunchOp::parse(OpAsmParser &parser, OperationState &result) {
  if (parseIndexed(parser, result))
    return failure();
  ensureTerminator(*result.regions.front(), parser.getBuilder(), result.location);
  return success();
}
LogicalResult LaunchOp::verify() {
  if (getGrid().empty() || getGrid().size() > 3)
    return emitOpError("takes 1 to 3 grid extents, found ") << getGrid().size();
  return verifyIndexed(*this, getGrid(), getBody());
}

void ParallelOp::print(OpAsmPrinter &printer) {
  printIndexed(printer, *this, getExtents(), getBody());
}
ParseResult ParallelOp::parse(OpAsmParser &parser, OperationState &result) {
  if (parseIndexed(parser, result))
    return failure();
  ensureTerminator(*result.regions.front(), parser.getBuilder(), result.location);
  return success();
}
LogicalResult ParallelOp::verify() { return verifyIndexed(*this, getExtents(), getBody()); }

//===-- Alloc, load, store
//----------------------------------------------------------------------===//

void AllocOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }

void ViewOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName()); }

LogicalResult ViewOp::verify() {
  if (getBase().getDefiningOp<ViewOp>())
    return emitOpError("views a view; name the memory itself");
  auto base = cast<MemRefType>(getBase().getType()), view = cast<MemRefType>(getType());
  if (!base.hasStaticShape() || !view.hasStaticShape() || scopeOf(base) != scopeOf(view) ||
      scopeOf(base) == Scope::Global)
    return emitOpError("takes a tile of static shape and keeps its place");
  auto bits = [](MemRefType type) {
    return type.getNumElements() * std::max(type.getElementTypeBitWidth(), 8u);
  };
  if (bits(base) != bits(view))
    return emitOpError("needs as many bits as the tile has: ")
           << bits(base) << ", found " << bits(view);
  return success();
}

LogicalResult AllocOp::verify() {
  auto type = cast<MemRefType>(getType());
  if (scopeOf(type) == Scope::Global)
    return emitOpError("cannot allocate global memory");
  if (!type.hasStaticShape())
    return emitOpError("on-chip tile '")
           << getName() << "' needs a shape that is known at compile time, found " << type;
  if (scopeOf(type) == Scope::Local && type.getRank() != 0)
    return emitOpError("local scope holds scalar variables (rank 0), found ") << type;
  if (getSlots() < 1)
    return emitOpError("needs at least one slot");
  return success();
}

unsigned LoadOp::getNumBoxes() { return 1; }
Box LoadOp::getBox(unsigned) { return {getBuffer(), getIndices(), {}}; }
AccessKind LoadOp::getAccessKind(unsigned) { return AccessKind::Read; }

unsigned StoreOp::getNumBoxes() { return 1; }
Box StoreOp::getBox(unsigned) { return {getBuffer(), getIndices(), {}}; }
AccessKind StoreOp::getAccessKind(unsigned) { return AccessKind::Write; }

static LogicalResult verifyElement(Operation *op, Value buffer, ValueRange indices, Type scalar) {
  auto type = cast<MemRefType>(buffer.getType());
  if (static_cast<int64_t>(indices.size()) != type.getRank())
    return op->emitOpError("needs ") << type.getRank() << " indices, found " << indices.size();
  if (scalarTypeOf(type.getElementType()) != scalar)
    return op->emitOpError("element is ") << type.getElementType() << ", the scalar is " << scalar;
  return success();
}

LogicalResult LoadOp::verify() {
  return verifyElement(*this, getBuffer(), getIndices(), getResult().getType());
}
LogicalResult StoreOp::verify() {
  return verifyElement(*this, getBuffer(), getIndices(), getValue().getType());
}

//===-- Box ops
//---------------------------------------------------------------------------------===//

static AccessKind writeFirst(unsigned index) {
  return index == 0 ? AccessKind::Write : AccessKind::Read;
}

AccessKind CopyOp::getAccessKind(unsigned index) { return writeFirst(index); }
AccessKind FillOp::getAccessKind(unsigned) { return AccessKind::Write; }
AccessKind ScanOp::getAccessKind(unsigned index) { return writeFirst(index); }
AccessKind ElementwiseOp::getAccessKind(unsigned index) { return writeFirst(index); }
AccessKind IotaOp::getAccessKind(unsigned) { return AccessKind::Write; }
AccessKind GatherOp::getAccessKind(unsigned index) { return writeFirst(index); }
AccessKind PrintOp::getAccessKind(unsigned) { return AccessKind::Read; }

AccessKind GemmOp::getAccessKind(unsigned index) {
  if (index != 0)
    return AccessKind::Read;
  return constantOf(getInit()) == std::optional<int64_t>(-1) ||
                 constantOf(getInit()) == std::optional<int64_t>(1)
             ? AccessKind::Write
             : AccessKind::Update;
}
AccessKind ReduceOp::getAccessKind(unsigned index) {
  return index ? AccessKind::Read : getAccumulate() ? AccessKind::Update : AccessKind::Write;
}
AccessKind AtomicOp::getAccessKind(unsigned index) {
  return index ? AccessKind::Read : AccessKind::Update;
}

LogicalResult CopyOp::verify() {
  if (failed(verifyBoxCount(*this, 2, 2)))
    return failure();
  SmallVector<int64_t> dst = staticSizes(getBox(0)), src = staticSizes(getBox(1));
  if (!sameShape(dst, src))
    return emitOpError("copies a box of sizes ")
           << text(src) << " to one of sizes " << text(dst)
           << "; they must be equal once dimensions of size 1 are dropped";
  if (getScale() &&
      !(elementOf(getBuffers()[1]).isInteger(32) && elementOf(getBuffers()[0]).isInteger(8)))
    return emitOpError("scales i32 to i8, found ")
           << elementOf(getBuffers()[1]) << " to " << elementOf(getBuffers()[0]);
  return success();
}

LogicalResult FillOp::verify() {
  if (failed(verifyBoxCount(*this, 1, 1)))
    return failure();
  if (scalarTypeOf(elementOf(getBuffers()[0])) != getValue().getType())
    return emitOpError("fills elements of type ")
           << elementOf(getBuffers()[0]) << " with a " << getValue().getType();
  return success();
}

LogicalResult GemmOp::verify() {
  if (failed(verifyBoxCount(*this, 3, 3)))
    return failure();
  auto c = matrixSizes(*this, getBox(0), "C"), a = matrixSizes(*this, getBox(1), "A"),
       b = matrixSizes(*this, getBox(2), "B");
  if (failed(c) || failed(a) || failed(b))
    return failure();
  if (getTransposeA())
    std::swap(a->first, a->second);
  if (getTransposeB())
    std::swap(b->first, b->second);
  if (differ(a->second, b->first))
    return emitOpError("K mismatch: A is ")
           << a->first << " x " << a->second << ", B is " << b->first << " x " << b->second
           << (getTransposeA() || getTransposeB() ? " (after transposition)" : "");
  if (differ(c->first, a->first) || differ(c->second, b->second))
    return emitOpError("C is ") << c->first << " x " << c->second << " but A.B is " << a->first
                                << " x " << b->second;
  Type aType = elementOf(getBuffers()[1]), bType = elementOf(getBuffers()[2]),
       cType = elementOf(getBuffers()[0]);
  if (aType != bType)
    return emitOpError("A and B must have one element type, found ") << aType << " and " << bType;
  bool integer = isa<IntegerType>(aType);
  if (integer != isa<IntegerType>(cType) || (integer && cType.getIntOrFloatBitWidth() != 32))
    return emitOpError("a product of ")
           << aType << " accumulates in " << (integer ? "i32" : "a float type") << ", found "
           << cType;
  return success();
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyBoxCount(*this, 2, 2)))
    return failure();
  SmallVector<int64_t> kept, src = staticSizes(getBox(1)), dst = staticSizes(getBox(0));
  for (int64_t dim : getDims())
    if (dim < 0 || dim >= static_cast<int64_t>(src.size()))
      return emitOpError("dimension ")
             << dim << " is out of range for a source of rank " << src.size();
  for (auto [dim, size] : llvm::enumerate(src))
    if (!llvm::is_contained(getDims(), static_cast<int64_t>(dim)))
      kept.push_back(size);
  if (!sameShape(kept, dst))
    return emitOpError("keeps sizes ")
           << text(kept) << " of the source, the destination is " << text(dst);
  return success();
}

LogicalResult ScanOp::verify() {
  if (failed(verifyBoxCount(*this, 2, 2)))
    return failure();
  SmallVector<int64_t> dst = staticSizes(getBox(0)), src = staticSizes(getBox(1));
  auto dim = static_cast<int64_t>(getDim());
  if (dim < 0 || dim >= static_cast<int64_t>(src.size()))
    return emitOpError("dimension ")
           << dim << " is out of range for a source of rank " << src.size();
  if (!sameShape(dst, src))
    return emitOpError("source sizes ")
           << text(src) << " differ from destination sizes " << text(dst);
  return success();
}

SmallVector<int64_t> ElementwiseOp::getMap(unsigned index) {
  if (auto maps = getMaps())
    return llvm::to_vector(cast<DenseI64ArrayAttr>((*maps)[index]).asArrayRef());
  SmallVector<int64_t> map, sizes = staticSizes(getBox(index)), domain = staticSizes(getBox(0));
  for (auto [dim, size] : llvm::enumerate(sizes))
    map.push_back(size == 1 && domain[dim] != 1 ? -1 : static_cast<int64_t>(dim));
  return map;
}

unsigned ElementwiseOp::getDomainRank() {
  unsigned rank = 0;
  for (int64_t dim : getMap(0))
    rank += dim >= 0;
  return rank;
}

/// Number of operands of an element-wise function.
static unsigned arity(Fn fn) {
  if (fn == Fn::Select)
    return 3;
  return static_cast<unsigned>(fn) >= 50 ? 2 : 1;
}

/// Both tiles of a bitcast have elements of one width.
static LogicalResult verifyBitcast(ElementwiseOp op) {
  auto bytes = [&](unsigned box) {
    Type type = cast<MemRefType>(op.getBuffers()[box].getType()).getElementType();
    return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
  };
  if (op.getBuffers().size() == 2 && bytes(0) == bytes(1))
    return success();
  return op.emitOpError("bitcast needs two tiles whose elements are equally wide");
}

LogicalResult ElementwiseOp::verify() {
  if (getFn() == Fn::Bitcast && failed(verifyBitcast(*this)))
    return failure();
  unsigned operands = arity(getFn());
  if (getBuffers().size() - 1 + (getScalar() ? 1 : 0) != operands)
    return emitOpError() << stringifyFn(getFn()) << " takes " << operands << " operands, found "
                         << getBuffers().size() - 1 + (getScalar() ? 1 : 0);
  if (failed(verifyBoxes(*this, getBuffers(), getOffsets(), getSizes())))
    return failure();
  if (auto maps = getMaps()) {
    if (maps->size() != getBuffers().size())
      return emitOpError("needs one map per box, found ")
             << maps->size() << " for " << getBuffers().size();
    for (auto [index, attr] : llvm::enumerate(*maps)) {
      auto map = dyn_cast<DenseI64ArrayAttr>(attr);
      if (!map || static_cast<int64_t>(map.size()) !=
                      cast<MemRefType>(getBuffers()[index].getType()).getRank())
        return emitOpError("map of box ") << index << " must have one entry per dimension";
    }
  } else {
    size_t rank = getBox(0).sizes.size();
    for (unsigned index = 1; index < getNumBoxes(); ++index)
      if (getBox(index).sizes.size() != rank)
        return emitOpError("boxes of different rank need maps");
  }
  unsigned rank = getDomainRank();
  SmallVector<int64_t> domain(rank, -1), sizes = staticSizes(getBox(0));
  for (auto [dim, to] : llvm::enumerate(getMap(0))) {
    if (to < 0)
      continue;
    if (to >= static_cast<int64_t>(rank) || domain[to] != -1)
      return emitOpError("the destination's map must use every domain dimension once");
    domain[to] = sizes[dim];
  }
  for (unsigned index = 1; index < getNumBoxes(); ++index) {
    SmallVector<int64_t> operand = staticSizes(getBox(index));
    for (auto [dim, to] : llvm::enumerate(getMap(index))) {
      if (to >= static_cast<int64_t>(rank))
        return emitOpError("map of box ")
               << index << " names domain dimension " << to << " of " << rank;
      if (differ(operand[dim], to < 0 ? 1 : domain[to]))
        return emitOpError("box ") << index << " has size " << operand[dim] << " in dimension "
                                   << dim << ", the domain needs " << (to < 0 ? 1 : domain[to]);
    }
  }
  return success();
}

LogicalResult IotaOp::verify() {
  if (failed(verifyBoxCount(*this, 1, 1)))
    return failure();
  if (static_cast<int64_t>(getSteps().size()) !=
      cast<MemRefType>(getBuffers()[0].getType()).getRank())
    return emitOpError("needs one step per dimension, found ") << getSteps().size();
  return success();
}
LogicalResult GatherOp::verify() { return verifyBoxCount(*this, 3, 3); }
LogicalResult AtomicOp::verify() {
  if (getBuffers().size() + (getScalar() ? 1 : 0) != 2)
    return emitOpError("takes a destination and one source (box or scalar)");
  if (getPrevious()) {
    bool isElement = llvm::all_of(staticSizes(getBox(0)), [](int64_t size) { return size == 1; });
    if (!getScalar() || !isElement || getPrevious().getType() != getScalar().getType())
      return emitOpError("gives what was there for one element and a scalar of its type");
  }
  return verifyBoxes(*this, getBuffers(), getOffsets(), getSizes());
}
LogicalResult PrintOp::verify() { return verifyBoxCount(*this, 0, 1); }

static LogicalResult verifyPipes(Operation *op, Pipe source, Pipe target) {
  if (source != Pipe::All && target != Pipe::All && source != target)
    return success();
  return op->emitOpError("needs two different pipes, found ")
         << stringifyPipe(source) << " and " << stringifyPipe(target);
}
LogicalResult SetFlagOp::verify() { return verifyPipes(*this, getSource(), getTarget()); }
LogicalResult WaitFlagOp::verify() { return verifyPipes(*this, getSource(), getTarget()); }
