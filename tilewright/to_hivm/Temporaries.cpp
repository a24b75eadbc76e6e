// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory for the temporaries that the published compiler adds to planned text.

#include "tilewright/hivm/HivmDialect.h"
#include "tilewright/npu/Rows.h"
#include "tilewright/to_hivm/Emitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::to_hivm;

namespace {

template <typename T>
T propertyOf(Operation *op, StringRef name) {
  auto properties = dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
  return properties ? properties.getAs<T>(name) : T();
}

/// Gives `value` and all views of it the space of `type`.
void setSpace(Value value, Attribute space) {
  auto type = cast<MemRefType>(value.getType());
  value.setType(MemRefType::get(type.getShape(), type.getElementType(), type.getLayout(), space));
  for (Operation *user : value.getUsers())
    if (isa<ViewLikeOpInterface>(user))
      setSpace(user->getResult(0), space);
}

/// The operations that use a temporary, maybe through views, in their order.
SmallVector<Operation *> usersOf(Value value) {
  SmallVector<Operation *> users;
  SmallVector<Value> values = {value};
  while (!values.empty())
    for (Operation *user : values.pop_back_val().getUsers()) {
      if (isa<ViewLikeOpInterface>(user))
        values.push_back(user->getResult(0));
      else if (!llvm::is_contained(users, user))
        users.push_back(user);
    }
  llvm::sort(users, [](Operation *a, Operation *b) {
    return a->getBlock() == b->getBlock() && a->isBeforeInBlock(b);
  });
  return users;
}

/// The vector unit has done all that stands in front.
bool isBarrier(Operation *op) {
  if (op->getName().getStringRef() != "hivm.hir.pipe_barrier")
    return false;
  auto pipe = propertyOf<hivm::WordAttr>(op, "pipe");
  return pipe && (pipe.getBody() == "PIPE_V" || pipe.getBody() == "PIPE_ALL");
}

/// Elements that a temporary needs: that of a reduction is made for all of the buffer that its
/// source is a part of, and has room enough with the part's.
int64_t elementsOf(memref::AllocOp alloc, Operation *user) {
  int64_t count = alloc.getType().getNumElements();
  if (user->getName().getStringRef() != "hivm.hir.vreduce" || alloc.getType().getRank() != 1)
    return count;
  auto source = cast<MemRefType>(user->getOperand(0).getType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (!source.hasStaticShape() || source.getRank() == 0 ||
      failed(getStridesAndOffset(source, strides, offset)) || ShapedType::isDynamic(strides[0]))
    return count;
  count = std::min(count, source.getDimSize(0) * strides[0]);
  auto dims = propertyOf<DenseI64ArrayAttr>(user, "reduce_dims");
  auto word = propertyOf<hivm::WordAttr>(user, "arith");
  std::optional<ReduceKind> kind = word ? symbolizeReduceKind(word.getBody()) : std::nullopt;
  if (!kind || !dims || dims.asArrayRef() != ArrayRef<int64_t>(source.getRank() - 1))
    return count;
  int64_t columns = source.getShape().back(), rows = source.getNumElements() / columns;
  int64_t room = npu::reductionRoom(*kind, source.getElementType(), rows, columns);
  constexpr int64_t kLeast = 128; // of the types that fold, no less than a repeat
  return std::min(count, std::max(room, kLeast));
}

/// Replaces the allocations of a function by places behind its plan. An instruction's temporaries
/// lie behind those of the one before, from the start again where the room ends; a barrier of the
/// vector unit stands in front of an instruction whose place may be in use still.
class Placer {
public:
  Placer(func::FuncOp function, int64_t start, int64_t end)
      : function(function), start(start), end(end), next(start) {}

  /// An error text if an instruction's temporaries do not fit.
  std::string run() {
    SmallVector<memref::AllocOp> allocs;
    function.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
    for (memref::AllocOp alloc : allocs) {
      SmallVector<Operation *> users = usersOf(alloc);
      if (users.empty()) {
        alloc.erase();
        continue;
      }
      temporaries[users.front()].push_back(alloc);
      for (Operation *later : ArrayRef(users).drop_front())
        givers[later].push_back(users.front());
    }
    block(function.front());
    return problem;
  }

private:
  using Range = std::pair<int64_t, int64_t>;

  func::FuncOp function;
  int64_t start, end, next;
  llvm::DenseMap<Operation *, SmallVector<memref::AllocOp>> temporaries;
  llvm::DenseMap<Operation *, SmallVector<Operation *>> givers; ///< whose temporaries it reads
  llvm::DenseMap<Operation *, Range> places;
  SmallVector<Range> busy; ///< used since the last barrier, on any way here
  std::string problem;

  void block(Block &body) {
    for (Operation &op : body) {
      if (isBarrier(&op))
        busy.clear();
      else if (temporaries.contains(&op) || givers.contains(&op))
        take(&op);
      else if (op.getNumRegions() > 0)
        regions(&op);
    }
  }

  /// A loop's body may come behind itself: it is visited twice.
  void regions(Operation *op) {
    for (int visit = 0; visit < (isa<LoopLikeOpInterface>(op) ? 2 : 1); ++visit) {
      SmallVector<Range> before = busy, after = busy;
      for (Region &region : op->getRegions()) {
        busy = before;
        if (!region.empty())
          block(region.front());
        after.append(busy);
      }
      llvm::sort(after);
      after.erase(std::unique(after.begin(), after.end()), after.end());
      busy = after;
    }
  }

  void take(Operation *user) {
    if (temporaries.contains(user) && !places.contains(user))
      place(user);
    SmallVector<Range> ranges;
    for (Operation *giver : givers.lookup(user))
      ranges.push_back(places.lookup(giver));
    if (temporaries.contains(user))
      ranges.push_back(places.lookup(user));
    bool isTaken = llvm::any_of(busy, [&](Range other) {
      return llvm::any_of(ranges, [&](Range range) {
        return other.first < range.second && range.first < other.second;
      });
    });
    if (isTaken) {
      OpBuilder builder(user);
      OperationState barrier(user->getLoc(), "hivm.hir.pipe_barrier");
      auto pipe = hivm::WordAttr::get(function.getContext(), "pipe", "PIPE_V");
      barrier.propertiesAttr = builder.getDictionaryAttr(builder.getNamedAttr("pipe", pipe));
      builder.create(barrier);
      busy.clear();
    }
    busy.append(ranges);
  }

  void place(Operation *user) {
    SmallVector<MemRefType> types;
    SmallVector<int64_t> offsets;
    int64_t bytes = 0;
    for (memref::AllocOp alloc : temporaries[user]) {
      MemRefType type = alloc.getType();
      if (!type.hasStaticShape() && problem.empty())
        problem = "a temporary of " + user->getName().getStringRef().str() + " has a run-time size";
      if (!problem.empty())
        return;
      if (int64_t count = elementsOf(alloc, user); count < type.getNumElements())
        type = MemRefType::get(count, type.getElementType());
      types.push_back(type);
      offsets.push_back(bytes);
      bytes += llvm::alignTo(
          llvm::divideCeil(type.getNumElements() * type.getElementTypeBitWidth(), 8), 32);
    }
    if (bytes > end - start) {
      problem = "temporaries of " + user->getName().getStringRef().str() + " take " +
                std::to_string(bytes) + " bytes of UB, the plan leaves " +
                std::to_string(end - start);
      return;
    }
    int64_t address = next + bytes > end ? start : next;
    next = address + bytes;
    places[user] = {address, next};
    for (auto [alloc, type, offset] : llvm::zip_equal(temporaries[user], types, offsets))
      replace(alloc, type, address + offset);
  }

  void replace(memref::AllocOp alloc, MemRefType type, int64_t address) {
    OpBuilder builder(alloc);
    OperationState cast(alloc.getLoc(), "hivm.hir.pointer_cast");
    cast.addOperands(builder.create<arith::ConstantIntOp>(alloc.getLoc(), address, 64).getResult());
    cast.addTypes(type);
    cast.propertiesAttr = builder.getDictionaryAttr(
        builder.getNamedAttr("operandSegmentSizes", builder.getDenseI32ArrayAttr({1, 0})));
    Value memory = builder.create(cast)->getResult(0);
    alloc.getResult().replaceAllUsesWith(memory);
    alloc.erase();
    setSpace(memory, hivm::WordAttr::get(function.getContext(), "address_space", "ub"));
  }
};

} // namespace

std::string to_hivm::placeTemporaries(StringRef text, std::string &problem) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<hivm::HivmDialect, func::FuncDialect, arith::ArithDialect, scf::SCFDialect,
                      math::MathDialect, memref::MemRefDialect, affine::AffineDialect>();
  context.allowUnregisteredDialects();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    problem += (problem.empty() ? "" : "; ") + diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return "";
  for (func::FuncOp function : module->getOps<func::FuncOp>()) {
    auto free = function->getAttrOfType<DenseI64ArrayAttr>(kFreeAttr);
    if (free && free.size() == 2)
      problem = Placer(function, free[0], free[1]).run();
    if (!problem.empty())
      return "";
  }
  std::string result;
  llvm::raw_string_ostream stream(result);
  module->print(stream, OpPrintingFlags().printGenericOpForm());
  return result + "\n";
}
