// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers and boxes as views: addresses, row pitches, slots.

#include "tilewright/to_sim/Translator.h"

#include "tilewright/npu/Rows.h"
#include "tilewright/sim/Names.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::to_sim;
using sim::Opcode;

namespace {

std::optional<sim::Space> spaceFor(npu::Space space) {
  switch (space) {
  case npu::Space::GM:
  case npu::Space::Workspace:
    return sim::Space::GM;
  case npu::Space::L1:
    return sim::Space::L1;
  case npu::Space::L0A:
    return sim::Space::L0A;
  case npu::Space::L0B:
    return sim::Space::L0B;
  case npu::Space::L0C:
    return sim::Space::L0C;
  case npu::Space::UB:
    return sim::Space::UB;
  case npu::Space::Reg:
    return std::nullopt;
  }
  return std::nullopt;
}

} // namespace

sim::View Operand::over(ArrayRef<int> order) const {
  sim::View result = view;
  result.rank = uint8_t(order.size());
  for (auto [at, d] : llvm::enumerate(order)) {
    result.sizes[at] = d < 0 ? CodeBuilder::imm(1) : dims[d].size;
    result.strides[at] = d < 0 ? CodeBuilder::imm(0) : dims[d].stride;
  }
  return result;
}

sim::View Operand::whole() const {
  SmallVector<int> order;
  for (unsigned d = 0; d < dims.size(); ++d)
    order.push_back(int(d));
  return over(order);
}

sim::Ref Translator::get(Value value) {
  auto it = values.find(value);
  if (it != values.end())
    return it->second;
  std::optional<int64_t> constant = constantOf(value);
  return CodeBuilder::imm(constant.value_or(0));
}

/// Size `dim` of a buffer: a constant, or a launch scalar for run-time sizes of arguments.
sim::Ref Translator::extent(Value buffer, int dim) {
  int64_t size = cast<MemRefType>(buffer.getType()).getDimSize(unsigned(dim));
  if (!ShapedType::isDynamic(size))
    return CodeBuilder::imm(size);
  unsigned operand = cast<BlockArgument>(buffer).getArgNumber();
  return code.pure(Opcode::ScalarArg, DType::I64, {}, {}, {}, tables.scalar(operand, dim));
}

/// Numbers as constants or registers.
SmallVector<sim::Ref> Translator::mixed(ArrayRef<OpFoldResult> numbers) {
  return llvm::map_to_vector(numbers, [&](OpFoldResult number) {
    auto known = getConstantIntValue(number);
    return known ? CodeBuilder::imm(*known) : get(llvm::cast<Value>(number));
  });
}

SmallVector<sim::Ref> Translator::strides(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  int rank = int(type.getRank());
  auto alloc = buffer.getDefiningOp<npu::AllocOp>();
  SmallVector<int64_t> shape = npu::pitchShape(type, alloc && alloc.getPadRows());
  SmallVector<Ref> result(rank, CodeBuilder::imm(1));
  for (int d = rank - 2; d >= 0; --d) {
    Ref inner = ShapedType::isDynamic(shape[d + 1]) ? extent(buffer, d + 1)
                                                    : CodeBuilder::imm(shape[d + 1]);
    result[d] = code.mul(result[d + 1], inner);
  }
  return result;
}

FailureOr<Operand> Translator::operand(Operation *op, const Box &box) {
  Value buffer = box.buffer;
  auto type = cast<MemRefType>(buffer.getType());
  std::optional<DType> dtype = dtypeOf(type.getElementType());
  std::optional<sim::Space> space = spaceFor(npu::spaceOf(type));
  if (!dtype || !space)
    return op->emitError("the simulator has no buffers like ") << type;
  // Elements of a buffer in another shape: what planned HIVM text names.
  auto cast = buffer.getDefiningOp<memref::ReinterpretCastOp>();
  if (cast)
    buffer = cast.getSource();
  else if (!type.getLayout().isIdentity())
    return op->emitError("the simulator wants row-major buffers, found ") << type;

  Operand result;
  result.view.space = *space;
  result.view.type = *dtype;
  Ref base = CodeBuilder::imm(0);
  int64_t unit = *space == sim::Space::GM ? 1 : sim::byteSize(*dtype);
  if (auto argument = dyn_cast<BlockArgument>(buffer)) {
    if (argument.getOwner() != &function.getBody().front())
      return op->emitError("a buffer must be an argument of the function or an npu.alloc");
    result.view.tensor = tables.tensor(argument.getArgNumber());
  } else {
    auto alloc = buffer.getDefiningOp<npu::AllocOp>();
    if (!alloc)
      return op->emitError("a buffer must be an argument of the function or an npu.alloc");
    if (*space == sim::Space::GM)
      result.view.tensor = sim::kWorkspace;
    result.view.buffer = buffers.lookup(buffer);
    base = addressOf(alloc, *space == sim::Space::GM ? sim::byteSize(*dtype) : 1);
  }

  SmallVector<Ref> steps = cast ? mixed(cast.getMixedStrides()) : strides(buffer);
  SmallVector<Ref> lengths = cast ? mixed(cast.getMixedSizes()) : SmallVector<Ref>();
  SmallVector<Ref> terms;
  if (cast)
    terms.push_back(code.mul(mixed(cast.getMixedOffsets()).front(), CodeBuilder::imm(unit)));
  for (int d = 0; d < int(type.getRank()); ++d) {
    Operand::Dim dim;
    dim.stride = steps[d];
    if (!box.isWhole())
      terms.push_back(code.mul(get(box.offsets[d]), code.mul(steps[d], CodeBuilder::imm(unit))));
    if (box.isWhole())
      dim.size = cast ? lengths[d] : extent(buffer, d);
    else
      dim.size = box.sizes.empty() ? CodeBuilder::imm(1) : get(box.sizes[d]);
    dim.extent = CodeBuilder::isImm(dim.size) ? dim.size.imm : ShapedType::kDynamic;
    result.dims.push_back(dim);
  }
  if (!box.isWhole() && !cast)
    checkBox(box, result);
  // Outer values first, so that their partial sums leave the loops.
  llvm::sort(terms, [&](Ref a, Ref b) {
    return std::tuple(code.depthOf(a), a.reg, a.imm) < std::tuple(code.depthOf(b), b.reg, b.imm);
  });

  auto rotation = rotations.find(buffer);
  if (rotation == rotations.end()) {
    for (Ref term : terms)
      base = code.add(base, term);
    result.view.base = base;
    return result;
  }
  Ref offset = CodeBuilder::imm(0);
  for (Ref term : terms)
    offset = code.add(offset, term);
  Ref address{rotation->second.address, 0};
  result.view.base =
      CodeBuilder::isImm(offset, 0) ? address : code.here(Opcode::Add, DType::I64, address, offset);
  return result;
}

/// Notes a box that may leave its buffer in an inner dimension. The outermost one needs no check:
/// past its end is past the end of the buffer.
void Translator::checkBox(const Box &box, const Operand &operand) {
  sim::BoxCheck check;
  bool isSafe = true;
  for (int d = 0; d < int(operand.dims.size()); ++d) {
    Ref offset = get(box.offsets[d]), size = operand.dims[d].size;
    Ref limit = d > 0 ? extent(box.buffer, d) : CodeBuilder::imm(INT64_MAX);
    bool isKnown =
        CodeBuilder::isImm(offset) && CodeBuilder::isImm(size) && CodeBuilder::isImm(limit);
    isSafe = isSafe && (d == 0 || (isKnown && offset.imm >= 0 && size.imm >= 0 &&
                                   offset.imm <= limit.imm - size.imm));
    check.dims.push_back({offset, size, limit});
  }
  if (isSafe)
    return;
  check.memory = operand.view.buffer < 0 ? "tensor " + bufferName(box.buffer)
                                         : "buffer " + bufferName(box.buffer) + " (" +
                                               sim::nameOf(operand.view.space) + ")";
  boxes.push_back(std::move(check));
}

/// Address of slot 0 in units of `unit` bytes. Each core group has its own part of the workspace.
sim::Ref Translator::addressOf(npu::AllocOp alloc, int64_t unit) {
  Ref address = CodeBuilder::imm(int64_t(alloc.getAddress().value_or(0)) / unit);
  if (npu::spaceOf(alloc.getResult()) != npu::Space::Workspace)
    return address;
  Ref part = CodeBuilder::imm(tables.out.program.workspaceBytesPerCore / unit);
  return code.add(code.mul(code.pure(Opcode::CoreId, DType::I64, {}), part), address);
}

LogicalResult Translator::alloc(npu::AllocOp op) {
  auto type = cast<MemRefType>(op.getType());
  npu::Space space = npu::spaceOf(type);
  std::optional<DType> dtype = dtypeOf(type.getElementType());
  if (!dtype)
    return op.emitError("the simulator has no buffers like ") << type;
  if (space == npu::Space::Reg) {
    if (!type.hasStaticShape() || type.getNumElements() != 1)
      return op.emitError("a scalar variable has one element, found ") << type;
    int32_t reg = code.newReg();
    code.move(reg, CodeBuilder::imm(0));
    variables[op.getResult()] = reg;
    return success();
  }
  if (!op.getAddress())
    return op.emitError("buffer ") << op.getName() << " has no address; run npu-plan-memory first";
  int64_t end = int64_t(*op.getAddress()) + op.getSlotBytes() * int64_t(op.getSlots());
  if (space == npu::Space::Workspace && end > tables.out.program.workspaceBytesPerCore)
    return op.emitError("exchange buffer ")
           << op.getName()
           << " ends beyond the workspace of the functions; run npu-plan-memory first";
  sim::BufferInfo info;
  info.name = op.getName().str();
  info.core = kind;
  info.space = *spaceFor(space);
  info.address = int64_t(*op.getAddress());
  info.bytes = op.getSlotBytes();
  info.slots = int32_t(op.getSlots());
  info.location = tables.location(op.getLoc());
  buffers[op.getResult()] = int32_t(tables.out.program.buffers.size());
  tables.out.program.buffers.push_back(info);
  if (info.slots <= 1)
    return success();

  int64_t unit = info.space == sim::Space::GM ? sim::byteSize(*dtype) : 1;
  Rotation rotation{code.newReg(), code.newReg(), addressOf(op, unit), info.bytes / unit,
                    info.slots};
  code.move(rotation.slot, CodeBuilder::imm(rotation.slots - 1));
  code.move(rotation.address,
            code.add(rotation.first, CodeBuilder::imm((rotation.slots - 1) * rotation.step)));
  rotations[op.getResult()] = rotation;
  return success();
}

/// Moves the registers of a rotating buffer to the next slot.
void Translator::advance(const Rotation &rotation) {
  Ref slot{rotation.slot, 0}, address{rotation.address, 0};
  auto emit = [&](Opcode op, int32_t dst, Ref a, Ref b, Ref c = {}) {
    sim::Insn insn;
    insn.op = op;
    insn.dst = dst;
    insn.a = code.regOf(a);
    insn.b = code.regOf(b);
    if (op == Opcode::Select)
      insn.c = code.regOf(c);
    code.emit(insn);
  };
  if (rotation.slots == 2) {
    emit(Opcode::Xor, rotation.slot, slot, CodeBuilder::imm(1));
    // The sum of both addresses, less the current one.
    Ref sum = code.add(code.add(rotation.first, rotation.first), CodeBuilder::imm(rotation.step));
    emit(Opcode::Sub, rotation.address, sum, address);
    return;
  }
  emit(Opcode::Add, rotation.slot, slot, CodeBuilder::imm(1));
  emit(Opcode::Add, rotation.address, address, CodeBuilder::imm(rotation.step));
  Ref wraps = code.here(Opcode::CmpEQ, DType::I64, slot, CodeBuilder::imm(rotation.slots));
  emit(Opcode::Select, rotation.slot, wraps, CodeBuilder::imm(0), slot);
  emit(Opcode::Select, rotation.address, wraps, rotation.first, address);
}

/// `id` plus the current slot of `rotating`, or plus that number; without, just `id`.
sim::Ref Translator::slotPlus(Value rotating, int64_t id) {
  if (rotating && rotating.getType().isIndex())
    return code.add(get(rotating), CodeBuilder::imm(id));
  auto it = rotating ? rotations.find(rotating) : rotations.end();
  if (it == rotations.end())
    return CodeBuilder::imm(id);
  Ref slot{it->second.slot, 0};
  return id == 0 ? slot : code.here(Opcode::Add, DType::I64, slot, CodeBuilder::imm(id));
}

/// Views over the dimensions that two boxes of a copy have in common once those of size 1 are
/// dropped. Run-time sizes are matched in order; where that is not clear, from the last dimension.
void Translator::pairBoxes(const Operand &a, const Operand &b, sim::View &viewA, sim::View &viewB) {
  auto compatible = [&] {
    if (a.dims.size() != b.dims.size())
      return false;
    for (auto [x, y] : llvm::zip(a.dims, b.dims))
      if (x.extent != y.extent && !ShapedType::isDynamic(x.extent) &&
          !ShapedType::isDynamic(y.extent))
        return false;
    return true;
  };
  SmallVector<int> orderA, orderB;
  auto keep = [](const Operand &operand, SmallVector<int> &order) {
    for (auto [d, dim] : llvm::enumerate(operand.dims))
      if (dim.extent != 1)
        order.push_back(int(d));
  };
  keep(a, orderA);
  keep(b, orderB);
  if (orderA.size() != orderB.size() && compatible()) {
    orderA.clear();
    orderB.clear();
    for (auto [d, pair] : llvm::enumerate(llvm::zip(a.dims, b.dims))) {
      if (std::get<0>(pair).extent == 1 || std::get<1>(pair).extent == 1)
        continue;
      orderA.push_back(int(d));
      orderB.push_back(int(d));
    }
  }
  // A run-time size that is 1 faces a dropped dimension: align at the end, fill up in front.
  while (orderA.size() < orderB.size())
    orderA.insert(orderA.begin(), -1);
  while (orderB.size() < orderA.size())
    orderB.insert(orderB.begin(), -1);
  if (orderA.empty()) {
    orderA.push_back(-1);
    orderB.push_back(-1);
  }
  viewA = a.over(orderA);
  viewB = b.over(orderB);
}
