// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/TileUtils.h"

#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;

void BoxOperands::addWhole(OpBuilder &builder, Location loc, Value buffer) {
  buffers.push_back(buffer);
  for (int64_t extent : cast<MemRefType>(buffer.getType()).getShape()) {
    offsets.push_back(builder.create<arith::ConstantIndexOp>(loc, 0));
    sizes.push_back(builder.create<arith::ConstantIndexOp>(loc, extent));
  }
}

void BoxOperands::add(OpBuilder &builder, Location loc, const Box &box, Value buffer) {
  if (box.isWhole())
    return addWhole(builder, loc, buffer ? buffer : box.buffer);
  buffers.push_back(buffer ? buffer : box.buffer);
  llvm::append_range(offsets, box.offsets);
  llvm::append_range(sizes, box.sizes);
}

InFlightDiagnostic passes::remark(Operation *op, StringRef pass, StringRef kind) {
  return op->emitRemark() << "[" << pass << "] " << kind << ": ";
}

tile::AllocOp passes::createAlloc(Operation *near, Location loc, const Twine &name,
                                  ArrayRef<int64_t> shape, Type element, tile::Scope scope) {
  auto launch = near->getParentOfType<tile::LaunchOp>();
  OpBuilder builder(near->getContext());
  builder.setInsertionPointToStart(&launch.getBody().front());
  auto type =
      MemRefType::get(shape, element, AffineMap(), tile::ScopeAttr::get(near->getContext(), scope));
  // Both functions of a launch know a workspace tile by its name, so names must differ: the first
  // of name, name.2, name.3 and so on that is free.
  std::string unique = name.str();
  llvm::SmallSet<unsigned, 8> taken;
  for (auto other : launch.getOps<tile::AllocOp>()) {
    StringRef rest = other.getName();
    unsigned number = 1;
    if (rest.consume_front(unique) &&
        (rest.empty() || (rest.consume_front(".") && !rest.getAsInteger(10, number))))
      taken.insert(number);
  }
  unsigned number = 1;
  while (taken.contains(number))
    ++number;
  if (number > 1)
    unique += "." + std::to_string(number);
  return builder.create<tile::AllocOp>(loc, type, builder.getStringAttr(unique),
                                       builder.getI64IntegerAttr(1));
}

bool passes::isUnplaced(Value buffer) {
  tile::Scope scope = tile::scopeOf(buffer);
  return scope == tile::Scope::Shared || scope == tile::Scope::Fragment;
}

bool passes::coversBuffer(const Box &box) {
  if (box.isWhole())
    return true;
  auto type = cast<MemRefType>(box.buffer.getType());
  if (box.sizes.empty())
    return type.getRank() == 0;
  for (auto [dim, extent] : llvm::enumerate(type.getShape()))
    if (ShapedType::isDynamic(extent) || constantOf(box.offsets[dim]) != 0 ||
        constantOf(box.sizes[dim]) != extent)
      return false;
  return true;
}

Operation *passes::ancestorIn(Block *block, Operation *op) {
  return block->findAncestorOpInBlock(*op);
}

void passes::forEachAccess(Value buffer,
                           llvm::function_ref<void(AccessInterface, unsigned)> visit) {
  llvm::SmallPtrSet<Operation *, 8> seen;
  for (Operation *user : llvm::make_early_inc_range(buffer.getUsers())) {
    auto access = dyn_cast<AccessInterface>(user);
    if (!access || !seen.insert(user).second)
      continue;
    for (unsigned index = 0; index < access.getNumBoxes(); ++index)
      if (access.getBox(index).buffer == buffer)
        visit(access, index);
  }
}

int64_t passes::bytesOf(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return llvm::divideCeil(type.getNumElements() * type.getElementTypeBitWidth(), 8);
}

std::optional<int64_t> passes::tripsOf(scf::ForOp loop) {
  auto lower = constantOf(loop.getLowerBound()), upper = constantOf(loop.getUpperBound()),
       step = constantOf(loop.getStep());
  if (!lower || !upper || !step || *step < 1)
    return std::nullopt;
  return *upper > *lower ? llvm::divideCeil(*upper - *lower, *step) : 0;
}

double passes::expectedTrips(scf::ForOp loop) {
  constexpr int64_t kUnknownTrips = 16;
  return static_cast<double>(tripsOf(loop).value_or(kUnknownTrips));
}

bool passes::movesInLoop(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<scf::ForOp>(argument.getOwner()->getParentOp());
  return llvm::any_of(value.getDefiningOp()->getOperands(), movesInLoop);
}

std::optional<int64_t> passes::factorIn(Value value, Value variable, Region &region,
                                        const llvm::DenseMap<Value, int64_t> &known) {
  if (value == variable)
    return 1;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  if (!op || !region.isAncestor(value.getParentRegion()))
    return 0;
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return std::nullopt;
  SmallVector<int64_t> parts;
  for (Value operand : op->getOperands()) {
    std::optional<int64_t> part = factorIn(operand, variable, region, known);
    if (!part)
      return std::nullopt;
    parts.push_back(*part);
  }
  if (llvm::all_of(parts, [](int64_t part) { return part == 0; }))
    return isPure(op) ? std::optional<int64_t>(0) : std::nullopt;
  if (isa<arith::AddIOp>(op))
    return parts[0] + parts[1];
  if (isa<arith::SubIOp>(op))
    return parts[0] - parts[1];
  if (!isa<arith::MulIOp>(op))
    return std::nullopt;
  for (unsigned side : {0u, 1u})
    if (std::optional<int64_t> constant = constantOf(op->getOperand(side)))
      return *constant * parts[1 - side];
  return std::nullopt;
}

double passes::mostTrips(Region &region) {
  double most = 1;
  region.walk([&](scf::ForOp loop) { most = std::max(most, double(expectedTrips(loop))); });
  return most;
}

bool passes::areFixed(ValueRange values, Value variable, Region &region) {
  return llvm::all_of(values, [&](Value value) { return factorIn(value, variable, region) == 0; });
}

void passes::mergeBlocks(tile::LaunchOp launch, unsigned extent, int64_t count) {
  OpBuilder builder(launch);
  Location loc = launch.getLoc();
  int64_t blocks = llvm::divideCeil(*constantOf(launch.getGrid()[extent]), count);
  launch.getGridMutable()[extent].set(builder.create<arith::ConstantIndexOp>(loc, blocks));
  builder.setInsertionPointToStart(&launch.getBody().front());
  Value number = launch.getBody().getArgument(extent);
  auto first = builder.create<arith::MulIOp>(loc, number,
                                             builder.create<arith::ConstantIndexOp>(loc, count));
  number.replaceAllUsesExcept(first, first);
}

bool passes::writesInOnePlace(tile::LaunchOp launch) {
  llvm::DenseMap<Value, SmallVector<Box>> boxes;
  llvm::DenseSet<Value> written;
  launch.getBody().walk([&](AccessInterface op) {
    for (unsigned index = 0; index < op.getNumBoxes(); ++index) {
      Box box = op.getBox(index);
      if (tile::scopeOf(box.buffer) != tile::Scope::Global)
        continue;
      boxes[box.buffer].push_back(box);
      if (writes(op.getAccessKind(index)))
        written.insert(box.buffer);
    }
  });
  auto areEqual = [](Value a, Value b) {
    return a == b || (constantOf(a) && constantOf(a) == constantOf(b));
  };
  return llvm::all_of(written, [&](Value tensor) {
    const Box &first = boxes[tensor].front();
    return llvm::all_of(boxes[tensor], [&](const Box &box) {
      return llvm::all_of_zip(box.offsets, first.offsets, areEqual) &&
             llvm::all_of_zip(box.sizes, first.sizes, areEqual);
    });
  });
}

void passes::growSize(Operation *op, unsigned box, unsigned dim, int64_t factor) {
  Box place = cast<AccessInterface>(op).getBox(box);
  setSize(op, box, dim, *constantOf(place.sizes[dim]) * factor);
}

void passes::setSize(Operation *op, unsigned box, unsigned dim, int64_t size) {
  unsigned at = dim;
  for (unsigned before = 0; before < box; ++before)
    at += cast<AccessInterface>(op).getBox(before).sizes.size();
  MutableOperandRange sizes = isa<tile::CopyOp>(op) ? cast<tile::CopyOp>(op).getSizesMutable()
                                                    : cast<tile::GemmOp>(op).getSizesMutable();
  OpBuilder builder(op);
  sizes[at].set(builder.create<arith::ConstantIndexOp>(op->getLoc(), size));
}

bool passes::isOn(Operation *op, Core core) {
  auto given = op->getAttrOfType<tile::CoreAttr>(tile::kCoreAttr);
  return given && given.getValue() == core;
}

void passes::setBoxes(Operation *op, ValueRange offsets, ValueRange sizes) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<tile::CopyOp, tile::AtomicOp, tile::FillOp, tile::ElementwiseOp, tile::ReduceOp,
            tile::ScanOp, tile::IotaOp, tile::GemmOp>([&](auto statement) {
        statement.getOffsetsMutable().assign(offsets);
        statement.getSizesMutable().assign(sizes);
      });
}

void passes::cloneOperands(Operation *op, Block *body, OpBuilder &builder, IRMapping &mapping) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (!def || def->getBlock() != body || mapping.contains(operand))
        continue;
      cloneOperands(def, body, builder, mapping);
      builder.clone(*def, mapping);
    }
  });
}

bool passes::runsAtLeastOnce(scf::ForOp loop) {
  auto lower = constantOf(loop.getLowerBound()), upper = constantOf(loop.getUpperBound());
  return lower && upper && *lower < *upper;
}

SqueezedBox passes::squeeze(const Box &box) {
  SqueezedBox result;
  for (auto [dim, size] : llvm::enumerate(staticSizes(box))) {
    if (size == 1)
      continue;
    result.dims.push_back(dim);
    result.sizes.push_back(size);
  }
  return result;
}

FailureOr<SmallVector<int64_t>> passes::matchDims(const Box &box, const Box &other) {
  SqueezedBox mine = squeeze(box), theirs = squeeze(other);
  if (mine.dims.size() != theirs.dims.size())
    return failure();
  SmallVector<int64_t> map(staticSizes(box).size(), -1);
  for (auto [dim, to] : llvm::zip(mine.dims, theirs.dims))
    map[dim] = to;
  return map;
}

void passes::createTileMove(OpBuilder &builder, Location loc, const Box &dst, const Box &src) {
  auto srcMap = matchDims(src, dst);
  int64_t rank = staticSizes(dst).size();
  Type dstElement = cast<MemRefType>(dst.buffer.getType()).getElementType();
  Type srcElement = cast<MemRefType>(src.buffer.getType()).getElementType();
  SmallVector<int64_t> identity = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  BoxOperands boxes;
  boxes.add(builder, loc, dst);
  boxes.add(builder, loc, src);
  bool toInteger = isa<FloatType>(srcElement) && isa<IntegerType>(dstElement);
  builder.create<tile::ElementwiseOp>(
      loc, boxes.buffers, boxes.offsets, boxes.sizes, Value(),
      tile::FnAttr::get(builder.getContext(), dstElement == srcElement ? Fn::Copy : Fn::Cast),
      builder.getArrayAttr(
          {builder.getDenseI64ArrayAttr(identity), builder.getDenseI64ArrayAttr(*srcMap)}),
      UnitAttr(),
      tile::RoundAttr::get(builder.getContext(), toInteger ? Round::Trunc : Round::Rint));
}
