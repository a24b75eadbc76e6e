// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory for the temporaries that the published compiler adds to planned text.

#include "tilewright/hivm/HivmDialect.h"
#include "tilewright/to_hivm/Emitter.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::to_hivm;

namespace {

/// Gives `value` and all views of it the space of `type`.
void setSpace(Value value, Attribute space) {
  auto type = cast<MemRefType>(value.getType());
  value.setType(MemRefType::get(type.getShape(), type.getElementType(), type.getLayout(), space));
  for (Operation *user : value.getUsers())
    if (isa<ViewLikeOpInterface>(user))
      setSpace(user->getResult(0), space);
}

/// The operation that a temporary is for: the only one that uses it, maybe through views.
Operation *userOf(Value value) {
  for (Operation *user : value.getUsers())
    return isa<ViewLikeOpInterface>(user) ? userOf(user->getResult(0)) : user;
  return nullptr;
}

bool isBarrier(Operation *op) { return op->getName().getStringRef() == "hivm.hir.pipe_barrier"; }

/// Between `user` and whatever ran before it with temporaries, one of `others`, is a barrier.
bool isApart(Operation *user, const llvm::DenseSet<Operation *> &others) {
  for (Operation *op = user->getPrevNode(); op; op = op->getPrevNode()) {
    if (isBarrier(op))
      return true;
    if (others.contains(op) || op->getNumRegions() > 0)
      return false;
  }
  return isa<func::FuncOp>(user->getParentOp()); // else the turn before
}

/// Elements that a temporary needs: that of a reduction is made as large as all of the buffer that
/// its source is a part of, and has room enough with the part's.
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
  return std::min(count, source.getDimSize(0) * strides[0]);
}

/// Replaces the allocations of a function by places behind its plan; an error text if they do not
/// fit. Those of one instruction follow each other; an instruction starts anew, behind a barrier if
/// another had temporaries before.
std::string place(func::FuncOp function) {
  auto free = function->getAttrOfType<DenseI64ArrayAttr>(kFreeAttr);
  if (!free)
    return "";
  auto space = hivm::WordAttr::get(function.getContext(), "address_space", "ub");
  SmallVector<memref::AllocOp> allocs;
  function.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
  llvm::DenseSet<Operation *> users;
  for (memref::AllocOp alloc : allocs)
    users.insert(userOf(alloc));
  llvm::DenseMap<Operation *, int64_t> ends;
  for (memref::AllocOp alloc : allocs) {
    auto type = alloc.getType();
    Operation *user = userOf(alloc);
    if (!user) {
      alloc.erase();
      continue;
    }
    if (!type.hasStaticShape())
      return "a temporary of " + user->getName().getStringRef().str() + " has a run-time size";
    if (int64_t count = elementsOf(alloc, user); count < type.getNumElements())
      type = MemRefType::get(count, type.getElementType());
    auto [entry, isFirst] = ends.try_emplace(user, free[0]);
    int64_t address = entry->second;
    int64_t bytes = llvm::divideCeil(type.getNumElements() * type.getElementTypeBitWidth(), 8);
    entry->second += llvm::alignTo(bytes, 32);
    if (entry->second > free[1])
      return "a temporary of " + user->getName().getStringRef().str() + " takes " +
             std::to_string(bytes) + " bytes of UB, the plan leaves " +
             std::to_string(free[1] - address);
    OpBuilder builder(alloc);
    if (isFirst && !isApart(user, users)) {
      builder.setInsertionPoint(user);
      OperationState barrier(alloc.getLoc(), "hivm.hir.pipe_barrier");
      auto pipe = hivm::WordAttr::get(function.getContext(), "pipe", "PIPE_V");
      barrier.propertiesAttr = builder.getDictionaryAttr(builder.getNamedAttr("pipe", pipe));
      builder.create(barrier);
    }
    builder.setInsertionPoint(alloc);
    OperationState cast(alloc.getLoc(), "hivm.hir.pointer_cast");
    cast.addOperands(builder.create<arith::ConstantIntOp>(alloc.getLoc(), address, 64).getResult());
    cast.addTypes(type);
    cast.propertiesAttr = builder.getDictionaryAttr(
        builder.getNamedAttr("operandSegmentSizes", builder.getDenseI32ArrayAttr({1, 0})));
    Value memory = builder.create(cast)->getResult(0);
    alloc.getResult().replaceAllUsesWith(memory);
    alloc.erase();
    setSpace(memory, space);
  }
  return "";
}

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
  for (func::FuncOp function : module->getOps<func::FuncOp>())
    if (problem = place(function); !problem.empty())
      return "";
  std::string result;
  llvm::raw_string_ostream stream(result);
  module->print(stream, OpPrintingFlags().printGenericOpForm());
  return result + "\n";
}
