// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The module around the code: device functions with the parameters that a launch passes.

#include "tilewright/hivm/HivmDialect.h"
#include "tilewright/to_hivm/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::to_hivm;

Emitter::Emitter(const Frame &frame, Core core, func::FuncOp source, func::FuncOp target)
    : frame(frame), core(core), source(source), target(target), builder(source.getContext()),
      loc(source.getLoc()) {}

NamedAttribute Emitter::named(StringRef name, Attribute value) {
  return builder.getNamedAttr(name, value);
}
NamedAttribute Emitter::word(StringRef name, StringRef mnemonic, StringRef body) {
  return named(name, hivm::WordAttr::get(builder.getContext(), mnemonic, body));
}
NamedAttribute Emitter::array(StringRef name, ArrayRef<int64_t> values) {
  return named(name, builder.getDenseI64ArrayAttr(values));
}

/// Appends an operation `hivm.hir.<name>`.
Operation *Emitter::emit(StringRef name, ValueRange operands, ArrayRef<NamedAttribute> attributes,
                         ArrayRef<int32_t> segments, TypeRange results) {
  isSettled = false;
  OperationState op(loc, ("hivm.hir." + name).str());
  op.addOperands(operands);
  op.addTypes(results);
  NamedAttrList all(attributes);
  if (!segments.empty())
    all.append("operandSegmentSizes", builder.getDenseI32ArrayAttr(segments));
  if (!all.empty())
    op.propertiesAttr = all.getDictionary(builder.getContext());
  return builder.create(op);
}

LogicalResult Emitter::refuse(Operation *op, const Twine &what) {
  isRefused = true;
  return op->emitError("HIVM has no operation for ") << what;
}

/// Rows of UB that an instruction takes one by one begin at 32-byte blocks. Where the other
/// compiler plans, it pads them; a plan has them as they are. `isRowWise`: it does so even if all
/// follow each other without gaps.
void Emitter::checkRows(ValueRange operands, bool isRowWise) {
  if (!frame.isPlanned())
    return;
  std::optional<int64_t> found;
  for (Value operand : operands) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    SmallVector<int64_t> strides;
    int64_t offset = 0, next = 1;
    if (!type || failed(getStridesAndOffset(type, strides, offset)))
      continue;
    bool isLast = true; // of the dimensions whose size is not 1
    for (unsigned dim = unsigned(type.getRank()); dim-- > 0;) {
      int64_t size = type.getDimSize(dim), stride = strides[dim];
      if (size == 1)
        continue;
      bool hasGaps = stride != next;
      isRowWise |= hasGaps;
      auto global = cast<MemRefType>(target.getArgument(2).getType());
      bool isOnChip = type.getMemorySpace() != global.getMemorySpace();
      if (!isLast && isOnChip && stride * type.getElementTypeBitWidth() % kBlockBits != 0)
        found = stride * type.getElementTypeBitWidth() / 8;
      next = ShapedType::isDynamic(size) || ShapedType::isDynamic(stride) ? -1 : stride * size;
      isLast = false;
    }
  }
  if (!isRowWise || !found || hasUnalignedRows)
    return;
  hasUnalignedRows = true;
  emitError(loc) << "planned text needs rows of UB that begin at 32-byte blocks, these follow each "
                    "other after "
                 << *found << " bytes; make the last dimension of the tile a multiple of 32 bytes";
}

LogicalResult Emitter::run() {
  builder.setInsertionPointToStart(&target.front());
  emit("set_ffts_base_addr", target.getArgument(0));
  for (BlockArgument argument : source.getArguments()) {
    if (isa<MemRefType>(argument.getType()))
      continue;
    Value given = target.getArgument(3 + argument.getArgNumber());
    if (argument.getType().isIndex())
      given = builder.create<arith::IndexCastOp>(loc, argument.getType(), given);
    mapping.map(argument, given);
  }
  workspace = target.getArgument(2);
  if (frame.workspaceBytes > 0) {
    Value group = emit("get_block_idx", {}, {}, {}, builder.getI64Type())->getResult(0);
    Value index = builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), group);
    workspaceOffset =
        builder.create<arith::MulIOp>(loc, index, constant(frame.workspaceBytes)).getResult();
  }
  if (!frame.hasFlags())
    sinkBuffers();
  if (frame.isPlanned())
    source.walk([&](npu::AllocOp alloc) {
      if (npu::spaceOf(alloc.getResult()) == npu::Space::UB && alloc.getAddress())
        scratchStart = std::max(scratchStart, int64_t(*alloc.getAddress()) +
                                                  int64_t(alloc.getSlots()) * alloc.getSlotBytes());
    });
  scratchEnd = scratchStart = llvm::alignTo(scratchStart, 32);
  if (failed(block(source.front())))
    return failure();
  builder.setInsertionPointToEnd(&target.front());
  if (frame.hasFlags()) // where the other compiler makes flags, it ends with one too
    emit("pipe_barrier", {}, word("pipe", "pipe", pipeName(npu::Pipe::All)));
  builder.create<func::ReturnOp>(source.getLoc());
  if (isRefused || hasUnalignedRows)
    return failure();
  if (frame.isPlanned() && core == Core::AIV) {
    if (scratchEnd > frame.options.ubBytes)
      return source.emitError("temporaries of HIVM text need ")
             << scratchEnd - scratchStart << " bytes of UB behind the plan, which leaves "
             << frame.options.ubBytes - scratchStart;
    target->setAttr(kFreeAttr, builder.getDenseI64ArrayAttr({scratchEnd, frame.options.ubBytes}));
  }
  return success();
}

namespace {

/// Parameters of a launch: its operands in order, then the run-time sizes of its tensors.
void describe(Frame &frame) {
  func::FuncOp any = frame.aic ? frame.aic : frame.aiv;
  auto spell = [](Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  };
  for (BlockArgument argument : any.getArguments()) {
    auto memref = dyn_cast<MemRefType>(argument.getType());
    Type type = memref ? storedType(argument).getElementType() : argument.getType();
    frame.parameters.push_back({memref ? "tensor" : "scalar", npu::nameOf(argument).str(),
                                spell(type), argument.getArgNumber(), -1});
  }
  for (BlockArgument argument : any.getArguments())
    if (auto memref = dyn_cast<MemRefType>(argument.getType()))
      for (int dim = 0; dim < memref.getRank(); ++dim)
        if (memref.isDynamicDim(unsigned(dim))) {
          frame.sizes[{argument.getArgNumber(), dim}] = unsigned(frame.parameters.size());
          frame.parameters.push_back(
              {"size", npu::nameOf(argument).str(), "i64", argument.getArgNumber(), dim});
        }
}

/// An empty device function: base of the cross-core flags, lock, workspace, the parameters, and the
/// sizes and indices of a grid that the launch does not use.
func::FuncOp declare(OpBuilder &builder, const Frame &frame, func::FuncOp source, Core core,
                     StringRef name) {
  MLIRContext *context = builder.getContext();
  auto gm = hivm::WordAttr::get(context, "address_space", "gm");
  auto pointer = [&](Type element, Attribute space) -> Type {
    return MemRefType::get(ShapedType::kDynamic, element, AffineMap(), space);
  };
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  SmallVector<Type> inputs = {i64, pointer(builder.getI8Type(), gm),
                              pointer(builder.getI8Type(), gm)};
  for (const Parameter &parameter : frame.parameters) {
    if (parameter.kind == "size") {
      inputs.push_back(i64);
      continue;
    }
    BlockArgument argument = source.getArgument(parameter.operand);
    Type type = argument.getType();
    if (isa<MemRefType>(type))
      inputs.push_back(pointer(signless(storedType(argument).getElementType()), gm));
    else
      inputs.push_back(type.isIndex() ? i64 : signless(type));
  }
  inputs.append(6, i32);
  auto function =
      builder.create<func::FuncOp>(source.getLoc(), name, builder.getFunctionType(inputs, {}));
  function.addEntryBlock();
  auto opaque = [&](StringRef mnemonic, StringRef body) {
    return OpaqueAttr::get(StringAttr::get(context, "hacc"), (mnemonic + "<" + body + ">").str(),
                           NoneType::get(context));
  };
  StringRef kinds[] = {"ffts_base_address", "sync_block_lock", "workspace"};
  for (auto [index, kind] : llvm::enumerate(kinds))
    function.setArgAttr(unsigned(index), "hacc.arg_type", opaque("arg_type", kind));
  function->setAttr("SyncBlockLockArgIdx", builder.getI64IntegerAttr(0));
  function->setAttr("WorkspaceArgIdx", builder.getI64IntegerAttr(1));
  function->setAttr("hacc.entry", builder.getUnitAttr());
  function->setAttr("hacc.function_kind", opaque("function_kind", "DEVICE"));
  function->setAttr("hivm.func_core_type", hivm::WordAttr::get(context, "func_core_type",
                                                               core == Core::AIC ? "AIC" : "AIV"));
  if (frame.isMixed())
    function->setAttr("hivm.part_of_mix", builder.getUnitAttr());
  function->setAttr("mix_mode", builder.getStringAttr(frame.isMixed()     ? "mix"
                                                      : core == Core::AIC ? "aic"
                                                                          : "aiv"));
  return function;
}

} // namespace

std::optional<std::string> to_hivm::targetOf(StringRef chip) {
  return llvm::StringSwitch<std::optional<std::string>>(chip)
      .Case("910b1", "Ascend910B1")
      .Case("910b2", "Ascend910B2")
      .Case("910b3", "Ascend910B3")
      .Case("910b4", "Ascend910B4")
      .Case("a3", "Ascend910_9392")
      .Default(std::nullopt);
}

std::optional<Form> to_hivm::parseForm(StringRef name) {
  return llvm::StringSwitch<std::optional<Form>>(name)
      .Case("flags", Form::Flags)
      .Case("planned", Form::Planned)
      .Case("plain", Form::Plain)
      .Default(std::nullopt);
}

FailureOr<LaunchText> to_hivm::exportLaunch(npu::LaunchOp launch, StringRef name,
                                            const Options &options) {
  MLIRContext *context = launch.getContext();
  context->getOrLoadDialect<hivm::HivmDialect>();
  Frame frame{launch, options, {}, {}, {}, {}, 0};
  auto lookup = [&](FlatSymbolRefAttr symbol) -> func::FuncOp {
    return symbol ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(launch, symbol) : nullptr;
  };
  frame.aic = lookup(launch.getAicAttr());
  frame.aiv = lookup(launch.getAivAttr());
  if (!frame.aic && !frame.aiv)
    return launch.emitError("names no function with a body");
  describe(frame);

  LaunchText result;
  result.name = name.str();
  result.core = frame.isMixed() ? "mix" : frame.aic ? "aic" : "aiv";
  bool wasAllowed = context->allowsUnregisteredDialects();
  context->allowUnregisteredDialects();
  OwningOpRef<ModuleOp> module = ModuleOp::create(launch.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  (*module)->setAttr("hacc.target",
                     OpaqueAttr::get(StringAttr::get(context, "hacc"),
                                     "target<\"" + options.target + "\">", NoneType::get(context)));
  (*module)->setAttr("hivm.module_core_type", hivm::WordAttr::get(context, "module_core_type",
                                                                  StringRef(result.core).upper()));
  (*module)->setAttr("memref.memref_as_ptr", builder.getUnitAttr());
  LogicalResult done = success();
  for (Core core : {Core::AIC, Core::AIV}) {
    func::FuncOp source = core == Core::AIC ? frame.aic : frame.aiv;
    if (!source || failed(done))
      continue;
    if (auto bytes = source->getAttrOfType<IntegerAttr>(npu::kWorkspaceAttr))
      frame.workspaceBytes = bytes.getInt();
    std::string symbol =
        frame.isMixed() ? (name + (core == Core::AIC ? "_mix_aic" : "_mix_aiv")).str() : name.str();
    func::FuncOp target = declare(builder, frame, source, core, symbol);
    done = Emitter(frame, core, source, target).run();
  }
  if (succeeded(done))
    done = verify(*module);
  if (succeeded(done)) {
    llvm::raw_string_ostream stream(result.text);
    module->print(stream, OpPrintingFlags().assumeVerified());
    stream << "\n";
  }
  context->allowUnregisteredDialects(wasAllowed);
  if (failed(done))
    return failure();
  result.workspaceBytes = frame.workspaceBytes;
  result.parameters = std::move(frame.parameters);
  return result;
}
