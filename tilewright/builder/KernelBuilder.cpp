// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function being built: parameters, buffers, elements, and the final check.
#include "tilewright/builder/BuilderImpl.h"
#include "tilewright/tile/CoreOps.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>

using namespace mlir;

namespace tilewright::builder {

static uint64_t nextId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

KernelBuilder::Impl::Impl(const std::string &name)
    : id(nextId()), context(std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED)),
      builder(context.get()), location(UnknownLoc::get(context.get())) {
  context->loadDialect<tile::TileDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                       func::FuncDialect, memref::MemRefDialect>();
  module = ModuleOp::create(location);
  builder.setListener(&placing);
  builder.setInsertionPointToStart(module->getBody());
  function = builder.create<func::FuncOp>(location, name, builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
}

KernelBuilder::KernelBuilder(const std::string &name) : impl(std::make_unique<Impl>(name)) {}
KernelBuilder::~KernelBuilder() = default;

void KernelBuilder::setLocation(const std::string &file, int line, int column) {
  impl->location =
      FileLineColLoc::get(impl->context.get(), file, static_cast<unsigned>(std::max(line, 0)),
                          static_cast<unsigned>(std::max(column, 0)));
}

//===-- Parameters
//-------------------------------------------------------------------------------===//

/// The affine form of a symbolic dimension; fails on what shapes cannot hold.
static AffineExpr affineOf(MLIRContext *context, const SizeTokens &tokens,
                           std::vector<std::string> &symbols, StringRef tensor) {
  std::vector<AffineExpr> stack;
  for (const std::string &token : tokens) {
    int64_t number;
    if (!StringRef(token).getAsInteger(10, number)) {
      stack.push_back(getAffineConstantExpr(number, context));
      continue;
    }
    bool isOperator = llvm::StringSwitch<bool>(token)
                          .Cases("+", "-", "*", "//", "%", true)
                          .Cases("min", "max", "ceildiv", true)
                          .Default(false);
    if (!isOperator) {
      size_t position = llvm::find(symbols, token) - symbols.begin();
      if (position == symbols.size())
        symbols.push_back(token);
      stack.push_back(getAffineSymbolExpr(position, context));
      continue;
    }
    AffineExpr right = stack.back();
    stack.pop_back();
    AffineExpr left = stack.back();
    if (token == "+")
      left = left + right;
    else if (token == "-")
      left = left - right;
    else if (token == "*")
      left = left * right;
    else if (token == "//")
      left = left.floorDiv(right);
    else if (token == "%")
      left = left % right;
    else if (token == "ceildiv")
      left = left.ceilDiv(right);
    else
      fail("E0301: the shape of tensor " + tensor + " uses " + token +
           " of symbolic sizes; allowed in shapes are +, -, *, //, % and T.ceildiv");
    stack.back() = left;
  }
  return stack.back();
}

Buffer KernelBuilder::addTensor(const std::string &name, DType type,
                                const std::vector<SizeTokens> &shape, bool output,
                                const std::string &element) {
  Impl &b = *impl;
  if (shape.empty() || shape.size() > 8)
    fail("E0301: tensor " + name + " has " + llvm::Twine(shape.size()) +
         " dimensions; allowed are 1 to 8");
  SmallVector<int64_t> sizes;
  SmallVector<AffineExpr> dims;
  bool dynamic = false;
  for (const SizeTokens &tokens : shape) {
    AffineExpr expr = affineOf(b.context.get(), tokens, b.symbols, name);
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    if (constant && constant.getValue() < 0)
      fail("E0301: dimension " + llvm::Twine(dims.size()) + " of tensor " + name + " is " +
           llvm::Twine(constant.getValue()) + "; sizes are 0 or more");
    sizes.push_back(constant ? constant.getValue() : ShapedType::kDynamic);
    dims.push_back(expr);
    dynamic |= !constant;
  }
  auto memref = MemRefType::get(sizes, b.elementType(type), MemRefLayoutAttrInterface(),
                                tile::ScopeAttr::get(b.context.get(), tile::Scope::Global));
  SmallVector<NamedAttribute> attributes = {
      b.builder.getNamedAttr(tile::kNameAttr, b.builder.getStringAttr(name))};
  if (dynamic) // the number of symbols is put right at the end
    attributes.push_back(b.builder.getNamedAttr(
        tile::kShapeAttr,
        AffineMapAttr::get(AffineMap::get(0, b.symbols.size(), dims, b.context.get()))));
  if (!element.empty())
    attributes.push_back(
        b.builder.getNamedAttr(tile::kElementAttr, b.builder.getStringAttr(element)));
  if (output)
    attributes.push_back(b.builder.getNamedAttr(tile::kOutputAttr, b.builder.getUnitAttr()));
  unsigned index = b.function.getNumArguments();
  b.function.insertArgument(index, memref, b.builder.getDictionaryAttr(attributes), b.location);
  Buffer buffer;
  buffer.owner = b.id;
  buffer.handle = b.function.getArgument(index).getAsOpaquePointer();
  buffer.dtype = type;
  for (int64_t size : sizes)
    buffer.shape.push_back(ShapedType::isDynamic(size) ? -1 : size);
  b.tensorShapes[buffer.handle] = shape;
  return buffer;
}

Buffer KernelBuilder::addAlias(const std::string &name, DType type,
                               const std::vector<SizeTokens> &shape, const Buffer &tensor) {
  Impl &b = *impl;
  if (b.scopeOf(tensor) != tile::Scope::Global)
    fail("E0310: a view of " + b.describe(tensor) +
         ": only tensors in global memory have views like this");
  auto argument = cast<BlockArgument>(b.raw(tensor));
  unsigned base = argument.getArgNumber();
  if (auto alias = b.function.getArgAttrOfType<IntegerAttr>(base, tile::kAliasAttr))
    base = static_cast<unsigned>(alias.getInt());
  Buffer view = addTensor(name, type, shape, /*output=*/false);
  unsigned index = b.function.getNumArguments() - 1;
  b.function.setArgAttr(index, tile::kAliasAttr, b.builder.getI64IntegerAttr(base));
  return view;
}

Value KernelBuilder::addScalar(const std::string &name, DType type) {
  Impl &b = *impl;
  unsigned index = b.function.getNumArguments();
  auto attributes = b.builder.getDictionaryAttr(
      {b.builder.getNamedAttr(tile::kNameAttr, b.builder.getStringAttr(name))});
  b.function.insertArgument(index, b.scalarType(type), attributes, b.location);
  if (isUnsigned(type)) // scalars are signless: the type's name is kept beside
    b.function.setArgAttr(index, "tile.unsigned", b.builder.getUnitAttr());
  return b.wrap(b.function.getArgument(index), type);
}

//===-- Buffers
//----------------------------------------------------------------------------------===//

std::string KernelBuilder::Impl::nameOf(const Buffer &buffer) const {
  StringRef name = tile::nameOf(raw(buffer));
  return name.empty() ? "a buffer" : name.str();
}

std::string KernelBuilder::Impl::describe(const Buffer &buffer) const {
  std::string result = nameOf(buffer) + " (";
  auto shape = tensorShapes.find(buffer.handle);
  for (size_t dim = 0; dim < buffer.shape.size(); ++dim) {
    result += dim ? ", " : "";
    if (buffer.shape[dim] >= 0)
      result += std::to_string(buffer.shape[dim]);
    else
      result += shape != tensorShapes.end() && shape->second[dim].size() == 1
                    ? shape->second[dim][0]
                    : "?";
  }
  return result + ") " + std::string(builder::nameOf(buffer.dtype));
}

tile::Scope KernelBuilder::Impl::scopeOf(const Buffer &buffer) const {
  return tile::scopeOf(raw(buffer));
}

Value KernelBuilder::Impl::extent(const Buffer &buffer, size_t dim) {
  if (buffer.shape[dim] >= 0)
    return Value::number(buffer.shape[dim]);
  return size(tensorShapes.at(buffer.handle)[dim]);
}

Buffer KernelBuilder::Impl::alloc(StringRef name, DType type, ArrayRef<int64_t> shape,
                                  tile::Scope scope, bool user, bool perLane) {
  requireLaunch("a tile is allocated");
  Operation *launch = nullptr;
  for (const Frame &frame : frames)
    if (frame.kind == FrameKind::Launch)
      launch = frame.op;
  if (insideParallel() && user && !perLane)
    fail("E0317: T." + name + " inside T.Parallel; allocate before the loop");
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size <= 0)
      fail("E0303: T." + name + ": dimension " + llvm::Twine(dim) + " of the tile is " +
           llvm::Twine(size) + "; sizes of tiles are 1 or more");
  OpBuilder::InsertionGuard guard(builder);
  if (lastAlloc)
    builder.setInsertionPointAfter(lastAlloc);
  else
    builder.setInsertionPointToStart(&launch->getRegion(0).front());
  auto memref = MemRefType::get(shape, elementType(type), MemRefLayoutAttrInterface(),
                                tile::ScopeAttr::get(context.get(), scope));
  auto op = builder.create<tile::AllocOp>(location, memref, name, /*slots=*/1);
  if (user)
    op->setAttr(tile::kUserAttr, builder.getUnitAttr());
  lastAlloc = op;
  Buffer buffer;
  buffer.owner = id;
  buffer.handle = op.getResult().getAsOpaquePointer();
  buffer.dtype = type;
  buffer.shape.assign(shape.begin(), shape.end());
  return buffer;
}

Buffer KernelBuilder::alloc(const std::string &name, DType type, const std::vector<int64_t> &shape,
                            const std::string &scope, int64_t slots, int64_t address) {
  auto found = tile::symbolizeScope(scope);
  if (!found || *found == tile::Scope::Global)
    fail("E0304: T." + name + ": unknown place '" + scope + "'");
  Impl &b = *impl;
  bool isPlanned = slots != 1 || address >= 0 || *found == tile::Scope::Workspace;
  if (isPlanned && !b.isByCore())
    fail("E0613: T." + name +
         " with slots or an address, and T.alloc_workspace, stand inside T.Cores; in "
         "T.Kernel the compiler plans memory");
  if (slots < 1)
    fail("E0124: T." + name + ": " + llvm::Twine(slots) + " slots; a tile has 1 or more");
  Buffer buffer = b.alloc(name, type, shape, *found, /*user=*/true);
  auto alloc = b.raw(buffer).getDefiningOp<tile::AllocOp>();
  alloc.setSlots(slots);
  if (address >= 0)
    alloc->setAttr(tile::kAddressAttr, b.builder.getI64IntegerAttr(address));
  return buffer;
}

void KernelBuilder::nextSlot(const Buffer &tile) {
  Impl &b = *impl;
  mlir::Value buffer = b.raw(tile);
  auto alloc = buffer.getDefiningOp<tile::AllocOp>();
  if (!alloc || alloc.getSlots() < 2)
    fail("E0124: T.next_slot: " + b.describe(tile) +
         " has one slot; give T.alloc_* slots=2 or more");
  b.builder.create<tile::AdvanceOp>(b.location, buffer);
}

Buffer KernelBuilder::viewTile(const Buffer &tile, DType type, const std::vector<int64_t> &shape) {
  Impl &b = *impl;
  b.requireLaunch("T.view of a tile stands");
  mlir::Value base = b.raw(tile);
  if (auto view = base.getDefiningOp<tile::ViewOp>()) // a view of a view is one of its memory
    base = view.getBase();
  auto memref = MemRefType::Builder(cast<MemRefType>(base.getType()))
                    .setShape(shape)
                    .setElementType(b.elementType(type));
  OpBuilder::InsertionGuard guard(b.builder);
  b.builder.setInsertionPointAfter(b.lastAlloc);
  auto op = b.builder.create<tile::ViewOp>(b.location, MemRefType(memref), "view", base);
  b.lastAlloc = op;
  Buffer view = tile;
  view.handle = op.getResult().getAsOpaquePointer();
  view.dtype = type;
  view.shape = shape;
  return view;
}

void KernelBuilder::rename(const Buffer &buffer, const std::string &name) {
  mlir::Value value = impl->raw(buffer);
  if (auto op = value.getDefiningOp<tile::AllocOp>())
    op.setName(name);
  else if (auto view = value.getDefiningOp<tile::ViewOp>())
    view.setName(name);
  else if (auto argument = dyn_cast<BlockArgument>(value);
           argument && (impl->function.getArgAttr(argument.getArgNumber(), tile::kOutputAttr) ||
                        impl->function.getArgAttr(argument.getArgNumber(), tile::kAliasAttr)))
    impl->function.setArgAttr(argument.getArgNumber(), tile::kNameAttr,
                              impl->builder.getStringAttr(name));
}

std::string KernelBuilder::nameOf(const Buffer &buffer) const { return impl->nameOf(buffer); }

void KernelBuilder::setPad(const Buffer &buffer, const Value &value) {
  if (!value.isConstant())
    fail("E0315: T.annotate_safe_value of " + impl->nameOf(buffer) +
         ": the value must be a number");
  impl->pads[impl->raw(buffer)] =
      isFloat(value.dtype) ? value.real : static_cast<double>(value.integer);
}

//===-- Elements
//---------------------------------------------------------------------------------===//

std::vector<Value> KernelBuilder::elementIndices(const Buffer &buffer,
                                                 const std::vector<Value> &indices) {
  Impl &b = *impl;
  if (indices.size() != buffer.shape.size())
    fail("E0305: " + b.describe(buffer) + " has " + llvm::Twine(buffer.shape.size()) +
         " dimensions, found " + llvm::Twine(indices.size()) + " indices");
  std::vector<Value> result = indices;
  for (size_t dim = 0; dim < result.size(); ++dim) {
    if (isFloat(result[dim].dtype) && !constantInteger(result[dim]))
      b.toIndex(result[dim], "index " + llvm::Twine(dim) + " of " + b.nameOf(buffer)); // raises
    auto constant = constantInteger(result[dim]);
    if (!constant)
      continue;
    result[dim] = Value::number(*constant);
    if (*constant < 0)
      result[dim] = b.binary("add", b.extent(buffer, dim), result[dim]);
  }
  return result;
}

/// Whether each index is known to lie inside; constants outside a tile are an error.
static bool provablyInside(KernelBuilder::Impl &b, const Buffer &buffer,
                           const std::vector<Value> &indices) {
  bool inside = true;
  for (size_t dim = 0; dim < indices.size(); ++dim) {
    int64_t extent = buffer.shape[dim];
    auto constant = constantInteger(indices[dim]);
    if (constant && extent >= 0 && (*constant < 0 || *constant >= extent))
      fail("E0306: index " + llvm::Twine(*constant) + " is outside dimension " + llvm::Twine(dim) +
           " of " + b.describe(buffer) + "; allowed are 0 to " + llvm::Twine(extent - 1));
    inside &= extent >= 0 && indices[dim].low >= 0 && indices[dim].high < extent;
  }
  return inside;
}

Value KernelBuilder::Impl::load(const Buffer &buffer, const std::vector<Value> &indices) {
  auto memref = use(raw(buffer));
  bool global = scopeOf(buffer) == tile::Scope::Global;
  bool inside = global || provablyInside(*this, buffer, indices);
  if (global)
    requireLaunch("an element of tensor " + nameOf(buffer) + " is read");
  SmallVector<mlir::Value> positions;
  for (auto [dim, index] : llvm::enumerate(indices))
    positions.push_back(toIndex(index, "index " + llvm::Twine(dim) + " of " + nameOf(buffer)));
  FloatAttr pad;
  if (auto found = pads.find(memref); found != pads.end())
    pad = builder.getF64FloatAttr(found->second);
  auto op =
      builder.create<tile::LoadOp>(location, scalarType(buffer.dtype), memref, positions, pad);
  if (!inside)
    faulting.insert(op);
  return wrap(op.getResult(), buffer.dtype);
}

void KernelBuilder::Impl::store(const Value &value, const Buffer &buffer,
                                const std::vector<Value> &indices) {
  auto memref = use(raw(buffer));
  requireLaunch("an element of " + nameOf(buffer) + " is written");
  if (scopeOf(buffer) != tile::Scope::Global)
    provablyInside(*this, buffer, indices);
  SmallVector<mlir::Value> positions;
  for (auto [dim, index] : llvm::enumerate(indices))
    positions.push_back(toIndex(index, "index " + llvm::Twine(dim) + " of " + nameOf(buffer)));
  builder.create<tile::StoreOp>(location, convert(value, buffer.dtype), memref, positions);
}

Value KernelBuilder::load(const Buffer &buffer, const std::vector<Value> &indices) {
  return impl->load(buffer, indices);
}
void KernelBuilder::store(const Value &value, const Buffer &buffer,
                          const std::vector<Value> &indices) {
  impl->store(value, buffer, indices);
}

//===-- End
//--------------------------------------------------------------------------------------===//

void KernelBuilder::Impl::verify(Operation *op) {
  std::string message;
  ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && message.empty())
      message = diagnostic.str();
    return success();
  });
  if (succeeded(mlir::verify(op, /*verifyRecursively=*/true)))
    return;
  StringRef text = message;
  text.consume_front("'" + op->getName().getStringRef().str() + "' op ");
  fail("E0700: " + (text.empty() ? "the kernel could not be built" : text));
}

/// Two names of one memory have no order between them, so within a launch one of them does all when
/// something is written.
static void checkAliases(func::FuncOp function) {
  auto baseOf = [&](mlir::Value buffer) -> std::optional<unsigned> {
    auto argument = dyn_cast<BlockArgument>(buffer);
    if (!argument || argument.getOwner() != &function.getBody().front())
      return std::nullopt;
    auto alias = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), tile::kAliasAttr);
    return alias ? static_cast<unsigned>(alias.getInt()) : argument.getArgNumber();
  };
  function.walk([&](tile::LaunchOp launch) {
    struct Uses {
      llvm::SetVector<mlir::Value> names;
      bool written = false;
    };
    llvm::DenseMap<unsigned, Uses> uses;
    launch.walk([&](AccessInterface op) {
      for (unsigned box = 0; box < op.getNumBoxes(); ++box)
        if (auto base = baseOf(op.getBox(box).buffer)) {
          uses[*base].names.insert(op.getBox(box).buffer);
          uses[*base].written |= writes(op.getAccessKind(box));
        }
    });
    for (auto &[base, found] : uses)
      if (found.written && found.names.size() > 1)
        fail("E0126: '" + tile::nameOf(found.names[0]) + "' and '" + tile::nameOf(found.names[1]) +
             "' are views of one tensor, and this launch writes it; use one of them throughout");
  });
}

/// Drops what has no effect and no use: slice ends that were folded, originals of what went into a
/// branch.
static void eraseUnused(func::FuncOp function) {
  function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

std::string textOf(const ModuleHandle &handle) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  handle.module.get().print(stream);
  return text;
}

std::unique_ptr<ModuleHandle> KernelBuilder::finish() {
  Impl &b = *impl;
  if (b.finished)
    fail("E0799: the kernel was finished already");
  if (!b.frames.empty())
    fail("E0799: the kernel ends inside an open block: a `with`, `for`, `if` or `while` was not "
         "closed");
  b.finished = true;
  b.builder.create<func::ReturnOp>(b.location);
  eraseUnused(b.function);
  growFragments(b.function);
  checkAliases(b.function);
  SmallVector<Attribute> names;
  for (const std::string &symbol : b.symbols)
    names.push_back(b.builder.getStringAttr(symbol));
  if (!names.empty())
    b.function->setAttr(tile::kSymbolsAttr, b.builder.getArrayAttr(names));
  for (unsigned index = 0; index < b.function.getNumArguments(); ++index)
    if (auto map = b.function.getArgAttrOfType<AffineMapAttr>(index, tile::kShapeAttr))
      b.function.setArgAttr(index, tile::kShapeAttr,
                            AffineMapAttr::get(AffineMap::get(
                                0, names.size(), map.getValue().getResults(), b.context.get())));
  b.verify(*b.module);
  auto handle = std::make_unique<ModuleHandle>();
  handle->context = std::move(b.context);
  handle->module = std::move(b.module);
  return handle;
}

} // namespace tilewright::builder
