// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules, functions, regions and scalars.

#include "tilewright/from_hivm/Reader.h"

#include "tilewright/hivm/HivmDialect.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::from_hivm;

Attribute from_hivm::attributeOf(Operation *op, StringRef name) {
  if (auto properties = dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute()))
    if (Attribute found = properties.get(name))
      return found;
  return op->getDiscardableAttr(name);
}

StringRef from_hivm::wordOf(Operation *op, StringRef name) {
  auto word = dyn_cast_or_null<hivm::WordAttr>(attributeOf(op, name));
  return word ? word.getBody() : "";
}

std::optional<npu::Pipe> from_hivm::pipeOf(StringRef word) {
  if (!word.consume_front("PIPE_"))
    return std::nullopt;
  return word == "ALL" ? npu::Pipe::All : npu::symbolizePipe(word);
}

LogicalResult Reader::refuse(Operation *op, const Twine &what) { return op->emitError() << what; }

/// A scalar of the text as ours; where it is none, an error, and a number to go on with.
Value Reader::scalar(Value value) {
  if (Value found = mapping.lookupOrNull(value))
    return found;
  isRefused = true;
  emitError(loc) << "an operand is no scalar that this reader knows";
  return constant(0);
}

LogicalResult Reader::run() {
  builder.setInsertionPointToStart(&target.front());
  unsigned next = 0;
  for (BlockArgument argument : source.getArguments()) {
    if (roles[argument.getArgNumber()] == Role::Workspace)
      workspace = argument;
    if (roles[argument.getArgNumber()] != Role::Parameter)
      continue;
    BlockArgument ours = target.getArgument(next++);
    if (!isa<MemRefType>(argument.getType())) {
      mapping.map(argument, ours);
      continue;
    }
    View view;
    view.memory = unsigned(memories.size());
    view.element = cast<MemRefType>(argument.getType()).getElementType();
    view.base = view.offset = builder.getIndexAttr(0);
    if (cast<MemRefType>(argument.getType()).getRank() != 1)
      return source.emitError("tensors are pointers: memrefs of one dimension");
    view.sizes.push_back(builder.create<memref::DimOp>(loc, ours, 0).getResult());
    view.strides.push_back(builder.getIndexAttr(1));
    memories.emplace_back().argument = ours;
    views[argument] = view;
  }
  // The grid of a launch by cores: as many in the first dimension, one in the others.
  bool isFirst = true;
  for (BlockArgument argument : source.getArguments()) {
    if (roles[argument.getArgNumber()] != Role::Grid || argument.use_empty())
      continue;
    Value size = isFirst ? builder.create<npu::CoreCountOp>(loc, builder.getIndexType()).getResult()
                         : constant(1);
    mapping.map(argument, builder.create<arith::IndexCastOp>(loc, argument.getType(), size));
    isFirst = false;
  }
  if (failed(placeBools()) || failed(block(source.front())) || isRefused)
    return failure();
  if (!meetings.empty())
    return source.emitError("cores set flag ")
           << *meetings.begin() << " to meet, and none waits for it";
  builder.create<func::ReturnOp>(source.getLoc());
  if (workspaceBytes > 0)
    target->setAttr(npu::kWorkspaceAttr, builder.getI64IntegerAttr(workspaceBytes));
  return success();
}

LogicalResult Reader::block(Block &body) {
  for (Operation &inner : body) {
    loc = inner.getLoc();
    if (failed(op(&inner)))
      return failure();
  }
  return success();
}

LogicalResult Reader::op(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (isa<func::ReturnOp>(op) || name == "annotation.mark" || name == "hivm.hir.set_ffts_base_addr")
    return success();
  if (name.consume_front("llvm."))
    return llvmOp(op, name);
  // The base of the flags between cores is an operand of these alone.
  bool takesBase = name.starts_with("hivm.hir.sync_block");
  for (Value operand : op->getOperands())
    if (!isa<MemRefType>(operand.getType()) && !mapping.contains(operand) && !takesBase &&
        !messages.contains(operand))
      return refuse(op, "an operand is no scalar that this reader knows");
  if (auto called = dyn_cast<func::CallOp>(op))
    return call(called);
  if (name.consume_front("hivm.hir."))
    return hivmOp(op, name);
  FailureOr<bool> isDone = memrefOp(op);
  if (failed(isDone) || *isDone)
    return isDone;
  StringRef dialect = op->getName().getDialectNamespace();
  if (!op->isRegistered() || !llvm::is_contained({"arith", "math", "scf", "affine"}, dialect))
    return refuse(op, "operation '" + op->getName().getStringRef() + "' is not known");
  if (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<MemRefType>))
    return refuse(op, "'" + op->getName().getStringRef() + "' of memrefs");
  return regions(op);
}

/// Copies scalar code and control flow, translating what is in its regions.
LogicalResult Reader::regions(Operation *op) {
  OperationState state(op->getLoc(), op->getName());
  for (Value operand : op->getOperands())
    state.operands.push_back(mapping.lookup(operand));
  state.addTypes(op->getResultTypes());
  state.attributes = NamedAttrList(llvm::to_vector(op->getDiscardableAttrs()));
  state.propertiesAttr = op->getPropertiesAsAttribute();
  for (unsigned i = 0; i < op->getNumRegions(); ++i)
    state.addRegion();
  Operation *copy = builder.create(state);
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), copy->getRegions())) {
    if (from.empty())
      continue;
    if (!from.hasOneBlock())
      return refuse(op, "control flow is structured: one block in each region");
    for (Type type : from.front().getArgumentTypes())
      if (isa<MemRefType>(type))
        return refuse(op, "a memref that a loop carries");
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Location> places(from.getNumArguments(), op->getLoc());
    Block *body = builder.createBlock(&to, to.end(), from.front().getArgumentTypes(), places);
    mapping.map(from.getArguments(), body->getArguments());
    if (failed(block(from.front())))
      return failure();
  }
  mapping.map(op->getResults(), copy->getResults());
  return success();
}

/// Which core or block: an index in npu, 64 bits in HIVM.
LogicalResult Reader::position(Operation *op, Value index) {
  mapping.map(op->getResult(0),
              builder.create<arith::IndexCastOp>(loc, op->getResult(0).getType(), index));
  return success();
}

LogicalResult Reader::hivmOp(Operation *op, StringRef name) {
  if (name == "set_mask_norm")
    return success();
  if (name == "get_block_idx")
    return position(op, builder.create<npu::CoreIdOp>(loc, builder.getIndexType()));
  if (name == "get_block_num")
    return position(op, builder.create<npu::CoreCountOp>(loc, builder.getIndexType()));
  if (name == "get_sub_block_idx")
    return position(op, builder.create<npu::SubCoreIdOp>(loc, builder.getIndexType()));
  if (name == "pointer_cast")
    return pointerCast(op);
  if (name == "bitcast")
    return bitcast(op);
  if (name == "set_flag" || name == "wait_flag")
    return flag(op, name == "set_flag");
  if (name == "sync_block_set" || name == "sync_block_wait")
    return blockFlag(op, name == "sync_block_set");
  if (name == "debug")
    return debug(op);
  if (name == "pipe_barrier") {
    std::optional<npu::Pipe> pipe = pipeOf(wordOf(op, "pipe"));
    if (!pipe)
      return refuse(op, "a barrier of a pipe that is not known");
    builder.create<npu::BarrierOp>(loc, npu::PipeAttr::get(builder.getContext(), *pipe));
    return success();
  }
  auto operands = op->getOperands();
  auto wants = [&](unsigned count) { return op->getNumOperands() >= count; };
  if (name == "load" && wants(2))
    return load(op, operands[0], operands[1]);
  if (name == "nd2nz" && wants(2))
    return load(op, operands[0], operands[1]);
  if (name == "store" && wants(2))
    return store(op, operands[0], operands[1], wordOf(op, "atomic_kind"));
  if (name == "fixpipe" && wants(2))
    return fixpipe(op, operands[0], operands[1], wordOf(op, "pre_relu") == "NORMAL_RELU");
  if (name == "mmadL1" && wants(7) && segmentOf(op, 9).empty())
    return mmad(op, operands.take_front(7), bool(attributeOf(op, "a_transpose")),
                bool(attributeOf(op, "b_transpose")), segmentOf(op, 7));
  bool isKnown = true;
  LogicalResult done = vectorOp(op, name, isKnown);
  if (!isKnown)
    return refuse(op, "operation 'hivm.hir." + name + "' is not known, or not with these operands");
  return done;
}

namespace {

/// The device functions of one kernel.
struct Kernel {
  func::FuncOp aic, aiv;
};

bool isDevice(func::FuncOp function) {
  auto kind = dyn_cast_or_null<OpaqueAttr>(function->getAttr("hacc.function_kind"));
  return !function.isExternal() && kind && kind.getAttrData().contains("DEVICE");
}

Core coreOf(func::FuncOp function) {
  StringRef word = wordOf(function, "hivm.func_core_type");
  if (word.empty())
    if (auto mode = function->getAttrOfType<StringAttr>("mix_mode"))
      word = mode.getValue();
  return word.equals_insensitive("aic")   ? Core::AIC
         : word.equals_insensitive("mix") ? Core::Both
                                          : Core::AIV;
}

/// Behind the parameters stand the sizes of the grid and, before its compiler takes them away, the
/// block's place in it.
SmallVector<Role> rolesOf(func::FuncOp function) {
  SmallVector<Role> roles;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto type = dyn_cast_or_null<OpaqueAttr>(function.getArgAttr(i, "hacc.arg_type"));
    StringRef word = type ? type.getAttrData() : "";
    roles.push_back(word.contains("ffts_base_address") ? Role::FlagBase
                    : word.contains("sync_block_lock") ? Role::Lock
                    : word.contains("workspace")       ? Role::Workspace
                                                       : Role::Parameter);
  }
  size_t count = function->hasAttr("func_dyn_memref_args") ? 3 : 6;
  for (size_t i = roles.size(); i-- > 0 && count > 0; --count) {
    if (!function.getArgument(unsigned(i)).getType().isInteger(32))
      break;
    roles[i] = Role::Grid;
  }
  return roles;
}

/// A type of a parameter in npu.
Type parameterType(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref ? npu::withSpace(MemRefType::get(memref.getShape(), memref.getElementType()),
                                 npu::Space::GM)
                : type;
}

LogicalResult readKernel(ModuleOp result, StringRef name, const Kernel &kernel,
                         const machine::Machine &chip) {
  MLIRContext *context = result.getContext();
  OpBuilder builder = OpBuilder::atBlockEnd(result.getBody());
  SmallVector<Type> types;
  int64_t workspaceBytes = 0;
  SmallVector<func::FuncOp> made;
  for (func::FuncOp source : {kernel.aic, kernel.aiv}) {
    if (!source)
      continue;
    if (!source.getBody().hasOneBlock())
      return source.emitError("device code has structured control flow only");
    SmallVector<Role> roles = rolesOf(source);
    SmallVector<Type> own;
    for (auto [role, type] : llvm::zip_equal(roles, source.getArgumentTypes()))
      if (role == Role::Parameter)
        own.push_back(parameterType(type));
    if (!made.empty() && own != types)
      return source.emitError("both functions of a mixed kernel take the same parameters");
    types = own;
    Core core = coreOf(source);
    auto target = builder.create<func::FuncOp>(source.getLoc(),
                                               (name + (core == Core::AIC ? "_aic" : "_aiv")).str(),
                                               builder.getFunctionType(types, {}));
    target.setPrivate();
    target.addEntryBlock();
    target->setAttr(npu::kCoreAttr, npu::CoreAttr::get(context, core));
    for (unsigned i = 0; i < types.size(); ++i)
      target.setArgAttr(i, npu::kNameAttr, builder.getStringAttr("arg" + Twine(i)));
    Reader reader(source, target, roles, chip);
    if (failed(reader.run()))
      return failure();
    if (workspaceBytes && reader.workspaceBytes && workspaceBytes != reader.workspaceBytes)
      return source.emitError("both functions of a mixed kernel have as much workspace");
    workspaceBytes = std::max(workspaceBytes, reader.workspaceBytes);
    made.push_back(target);
  }
  auto host =
      builder.create<func::FuncOp>(made.front().getLoc(), name, builder.getFunctionType(types, {}));
  for (unsigned i = 0; i < types.size(); ++i)
    host.setArgAttr(i, npu::kNameAttr, builder.getStringAttr("arg" + Twine(i)));
  builder.setInsertionPointToStart(host.addEntryBlock());
  FlatSymbolRefAttr aic, aiv;
  if (kernel.aic)
    aic = FlatSymbolRefAttr::get(context, made.front().getName());
  if (kernel.aiv)
    aiv = FlatSymbolRefAttr::get(context, made.back().getName());
  builder.create<npu::LaunchOp>(host.getLoc(), host.getArguments(), aic, aiv);
  builder.create<func::ReturnOp>(host.getLoc());
  return success();
}

} // namespace

OwningOpRef<ModuleOp> from_hivm::readModule(ModuleOp module, const machine::Machine &chip) {
  // Sums and products, so that places can be taken apart.
  module.walk([](affine::AffineApplyOp op) {
    OpBuilder builder(op);
    auto values = affine::expandAffineMap(builder, op.getLoc(), op.getAffineMap(),
                                          llvm::to_vector(op.getOperands()));
    if (!values)
      return;
    op.getResult().replaceAllUsesWith(values->front());
    op.erase();
  });
  llvm::MapVector<StringRef, Kernel> kernels;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!isDevice(function))
      continue;
    StringRef name = function.getName();
    Core core = coreOf(function);
    if (core == Core::Both) {
      function.emitError("@") << name << " is for both kinds of core; text is read after the "
                              << "compiler has split it";
      return nullptr;
    }
    if (!name.consume_back("_mix_aic"))
      name.consume_back("_mix_aiv");
    func::FuncOp &slot = core == Core::AIC ? kernels[name].aic : kernels[name].aiv;
    if (slot) {
      function.emitError("@") << name << " has two functions for one kind of core";
      return nullptr;
    }
    slot = function;
  }
  if (kernels.empty()) {
    module.emitError("the text has no function with a body and hacc.function_kind = DEVICE");
    return nullptr;
  }
  OwningOpRef<ModuleOp> result = ModuleOp::create(module.getLoc());
  for (auto &[name, kernel] : kernels)
    if (failed(readKernel(*result, name, kernel, chip)))
      return nullptr;
  if (failed(verify(*result)))
    return nullptr;
  return result;
}
