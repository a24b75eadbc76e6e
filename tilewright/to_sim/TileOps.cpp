// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile instructions, flags and scalar accesses.

#include "tilewright/npu/Blocks.h"
#include "tilewright/to_sim/Translator.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::to_sim;
using sim::Opcode;
using sim::Template;
using sim::TileOp;

namespace {

sim::Pipe pipeFor(npu::Pipe pipe) { return static_cast<sim::Pipe>(pipe); }
static_assert(int(npu::Pipe::S) == int(sim::Pipe::S) && int(npu::Pipe::M) == int(sim::Pipe::M) &&
              int(npu::Pipe::MTE3) == int(sim::Pipe::MTE3) &&
              int(npu::Pipe::All) == int(sim::Pipe::All));

// The enumerations of both sides run in parallel; only the base differs.
static_assert(int(Fn::IsFinite) - int(Fn::Neg) == int(sim::UnaryFn::IsFinite) &&
              int(Fn::Erf) - int(Fn::Neg) == int(sim::UnaryFn::Erf) &&
              int(Fn::Rint) - int(Fn::Neg) == int(sim::UnaryFn::Rint));
static_assert(int(Fn::Pow) - int(Fn::Add) == int(sim::BinaryFn::Pow) &&
              int(Fn::MinNum) - int(Fn::Add) == int(sim::BinaryFn::MinNum));
static_assert(int(Fn::GE) - int(Fn::EQ) == int(sim::CompareFn::GE));
static_assert(int(ReduceKind::Xor) == int(sim::ReduceFn::Xor) &&
              int(ReduceKind::Prod) == int(sim::ReduceFn::Prod));
static_assert(int(Round::Odd) == int(sim::RoundMode::Odd) &&
              int(Round::Trunc) == int(sim::RoundMode::Trunc));

bool isBetween(Fn fn, Fn first, Fn last) { return int(fn) >= int(first) && int(fn) <= int(last); }

/// True if the value is known to be true.
bool isTrue(Value value) { return constantOf(value).value_or(0) != 0; }

} // namespace

std::string Translator::bufferName(Value buffer) {
  StringRef name = npu::nameOf(buffer);
  if (!name.empty())
    return name.str();
  if (auto argument = dyn_cast<BlockArgument>(buffer))
    return "arg" + std::to_string(argument.getArgNumber());
  return "?";
}

int32_t Translator::addTemplate(Operation *op, Template &&tmpl) {
  tmpl.location = tables.location(op->getLoc());
  tmpl.boxes = std::exchange(boxes, {});
  core.templates.push_back(std::move(tmpl));
  return int32_t(core.templates.size()) - 1;
}

void Translator::issue(Operation *op, Template &&tmpl) {
  sim::Insn insn;
  insn.op = Opcode::Issue;
  insn.imm = addTemplate(op, std::move(tmpl));
  code.emit(insn);
}

/// The scalar as an operand of instructions on elements of `type`.
sim::Ref Translator::scalarAs(Value value, DType type) {
  DType from = *dtypeOf(value.getType());
  Ref ref = get(value);
  if (from == type)
    return ref;
  bool floats = sim::isFloat(from) && sim::isFloat(type);
  if (floats && from != DType::F64 && type == DType::F32)
    return ref; // narrow floats are kept as f32
  return code.pure(Opcode::Convert, type, ref, {}, {}, int64_t(from));
}

LogicalResult Translator::copy(Operation *op, TileOp kind, StringRef verb, uint8_t flags,
                               uint16_t fn, ArrayRef<Ref> scalars) {
  auto access = cast<AccessInterface>(op);
  FailureOr<Operand> dst = operand(op, access.getBox(0)), src = operand(op, access.getBox(1));
  if (failed(dst) || failed(src))
    return failure();
  Template tmpl;
  tmpl.op = kind;
  tmpl.flags = flags;
  tmpl.fn = fn;
  tmpl.scalars.assign(scalars.begin(), scalars.end());
  tmpl.operands.resize(2);
  pairBoxes(*dst, *src, tmpl.operands[0], tmpl.operands[1]);
  tmpl.label = verb.str() + " " + bufferName(access.getBox(0).buffer) + " <- " +
               bufferName(access.getBox(1).buffer);
  issue(op, std::move(tmpl));
  return success();
}

LogicalResult Translator::mmad(npu::MmadOp op) {
  Template tmpl;
  tmpl.op = TileOp::Mmad;
  tmpl.flags =
      (op.getTransposeA() ? sim::kTransposeA : 0) | (op.getTransposeB() ? sim::kTransposeB : 0);
  for (unsigned i = 0; i < 3; ++i) {
    FailureOr<Operand> box = operand(op, op.getBox(i));
    if (failed(box))
      return failure();
    int rank = int(box->dims.size());
    if (rank < 2)
      return op.emitError("the boxes must be matrices; box ") << i << " has rank " << rank;
    for (int d = 0; d < rank - 2; ++d)
      if (box->dims[d].extent != 1 && !ShapedType::isDynamic(box->dims[d].extent))
        return op.emitError("the boxes must be matrices; box ")
               << i << " has " << box->dims[d].extent << " of them";
    tmpl.operands.push_back(box->over({rank - 2, rank - 1}));
  }
  tmpl.scalars.push_back(get(op.getInit()));
  std::string c = bufferName(op.getBuffers()[0]), a = bufferName(op.getBuffers()[1]),
              b = bufferName(op.getBuffers()[2]);
  tmpl.label = "mmad " + c + (isTrue(op.getInit()) ? " = " : " += ") + a + " . " + b;
  issue(op, std::move(tmpl));
  return success();
}

LogicalResult Translator::fill(Operation *op, TileOp kind, Value value) {
  Box box = cast<AccessInterface>(op).getBox(0);
  FailureOr<Operand> dst = operand(op, box);
  if (failed(dst))
    return failure();
  if (!dtypeOf(value.getType()))
    return op->emitError("the simulator has no scalars of type ") << value.getType();
  Template tmpl;
  tmpl.op = kind;
  tmpl.operands.push_back(dst->dims.empty() ? dst->over({-1}) : dst->whole());
  tmpl.scalars.push_back(scalarAs(value, dst->view.type));
  tmpl.label = "fill " + bufferName(box.buffer);
  issue(op, std::move(tmpl));
  return success();
}

/// All views run over the domain that the destination's map names; an operand's stride is 0 along
/// domain dimensions that it lacks.
LogicalResult Translator::elementwise(npu::ElementwiseOp op) {
  Fn fn = op.getFn();
  unsigned numBoxes = op.getNumBoxes();
  unsigned numSources = numBoxes - 1 + (op.getScalar() ? 1 : 0);
  SmallVector<Operand, 4> boxes;
  for (unsigned i = 0; i < numBoxes; ++i) {
    FailureOr<Operand> box = operand(op, op.getBox(i));
    if (failed(box))
      return failure();
    if (op.getMap(i).size() != box->dims.size())
      return op.emitError("map ") << i << " has " << op.getMap(i).size() << " entries for "
                                  << box->dims.size() << " dimensions";
    boxes.push_back(*box);
  }

  // Domain dimensions in order, each with the destination dimension that gives its size.
  std::map<int64_t, int> domain;
  for (auto [d, at] : llvm::enumerate(op.getMap(0)))
    if (at >= 0)
      domain[at] = int(d);
  Template tmpl;
  for (unsigned i = 0; i < numBoxes; ++i) {
    sim::View view = boxes[i].view;
    for (auto [at, dstDim] : domain) {
      const Operand::Dim &target = boxes[0].dims[dstDim];
      if (target.extent == 1)
        continue;
      if (view.rank == sim::kMaxRank)
        return op.emitError("the domain has more than ") << sim::kMaxRank << " dimensions";
      Ref stride = CodeBuilder::imm(0);
      for (auto [d, follows] : llvm::enumerate(op.getMap(i)))
        if (follows == at && (i == 0 || boxes[i].dims[d].extent != 1))
          stride = code.add(stride, boxes[i].dims[d].stride);
      view.sizes[view.rank] = target.size;
      view.strides[view.rank++] = stride;
    }
    if (view.rank == 0) {
      view.rank = 1;
      view.sizes[0] = CodeBuilder::imm(1);
      view.strides[0] = CodeBuilder::imm(0);
    }
    tmpl.operands.push_back(view);
  }

  auto wants = [&](unsigned count) -> LogicalResult {
    if (numSources == count)
      return success();
    return op.emitError() << stringifyFn(fn) << " takes " << count << " operands, found "
                          << numSources;
  };
  tmpl.round = static_cast<sim::RoundMode>(op.getRound());
  bool hasScalar = op.getScalar() != nullptr;
  if (hasScalar && !dtypeOf(op.getScalar().getType()))
    return op.emitError("the simulator has no scalars of type ") << op.getScalar().getType();
  if (fn == Fn::Bitcast) {
    if (failed(wants(1)) || hasScalar ||
        sim::byteSize(tmpl.operands[0].type) != sim::byteSize(tmpl.operands[1].type))
      return op.emitError("bitcast needs two tiles whose elements are equally wide");
    tmpl.op = TileOp::Copy;
    constexpr DType kBits[] = {DType::U8, DType::U16, DType::U32, DType::U64};
    for (sim::View &view : tmpl.operands)
      view.type = kBits[llvm::Log2_32(sim::byteSize(view.type))];
  } else if (fn == Fn::Copy || fn == Fn::Cast) {
    if (failed(wants(1)))
      return failure();
    if (hasScalar) {
      tmpl.op = TileOp::Fill;
      tmpl.scalars.push_back(scalarAs(op.getScalar(), tmpl.operands[0].type));
    } else {
      tmpl.op = fn == Fn::Copy && tmpl.operands[0].type == tmpl.operands[1].type ? TileOp::Copy
                                                                                 : TileOp::Cast;
    }
  } else if (isBetween(fn, Fn::Neg, Fn::IsFinite)) {
    if (failed(wants(1)))
      return failure();
    if (hasScalar)
      return op.emitError() << stringifyFn(fn) << " of a scalar is the scalar unit's work";
    tmpl.op = TileOp::Unary;
    tmpl.fn = uint8_t(int(fn) - int(Fn::Neg));
  } else if (fn == Fn::Select) {
    if (failed(wants(3)))
      return failure();
    if (hasScalar && op.getScalarFirst())
      return op.emitError("select wants its condition as a tile");
    tmpl.op = hasScalar ? TileOp::SelectScalar : TileOp::Select;
    if (hasScalar)
      tmpl.scalars.push_back(scalarAs(op.getScalar(), tmpl.operands[0].type));
  } else {
    if (failed(wants(2)))
      return failure();
    bool isCompare = isBetween(fn, Fn::EQ, Fn::GE);
    tmpl.fn = uint8_t(int(fn) - int(isCompare ? Fn::EQ : Fn::Add));
    tmpl.op = isCompare ? (hasScalar ? TileOp::CompareScalar : TileOp::Compare)
                        : (hasScalar ? TileOp::BinaryScalar : TileOp::Binary);
    if (hasScalar) {
      tmpl.scalars.push_back(scalarAs(op.getScalar(), tmpl.operands[1].type));
      tmpl.flags = op.getScalarFirst() ? sim::kScalarFirst : 0;
    }
  }
  tmpl.label = stringifyFn(fn).str() + " " + bufferName(op.getBuffers()[0]) + " <-";
  for (Value buffer : op.getBuffers().drop_front())
    tmpl.label += (tmpl.label.back() == '-' ? " " : ", ") + bufferName(buffer);
  if (hasScalar)
    tmpl.label += numBoxes > 1 ? ", scalar" : " scalar";
  issue(op, std::move(tmpl));
  return success();
}

/// Views over the dimensions of the source; those reduced have destination stride 0. No dimension
/// is dropped: the canonical order depends on their number.
LogicalResult Translator::reduce(npu::ReduceOp op) {
  FailureOr<Operand> dst = operand(op, op.getBox(0)), src = operand(op, op.getBox(1));
  if (failed(dst) || failed(src))
    return failure();
  if (src->dims.size() > sim::kMaxRank)
    return op.emitError("the source has more than ") << sim::kMaxRank << " dimensions";
  if (op.getDstMap().size() != dst->dims.size())
    return op.emitError("dst_map has ")
           << op.getDstMap().size() << " entries for " << dst->dims.size() << " dimensions";
  Template tmpl;
  tmpl.op = TileOp::Reduce;
  tmpl.fn = uint8_t(op.getKind());
  tmpl.flags = op.getAccumulate() ? sim::kAccumulate : 0;
  sim::View source = src->whole(), target = source;
  target.space = dst->view.space;
  target.type = dst->view.type;
  target.tensor = dst->view.tensor;
  target.base = dst->view.base;
  target.buffer = dst->view.buffer;
  for (unsigned s = 0; s < src->dims.size(); ++s) {
    target.strides[s] = CodeBuilder::imm(0);
    if (llvm::is_contained(op.getDims(), int64_t(s)))
      continue;
    for (auto [d, follows] : llvm::enumerate(op.getDstMap()))
      if (follows == int64_t(s))
        target.strides[s] = dst->dims[d].stride;
  }
  tmpl.operands = {target, source};
  tmpl.label = "reduce " + stringifyReduceKind(op.getKind()).str() + " " +
               bufferName(op.getBuffers()[0]) + " <- " + bufferName(op.getBuffers()[1]);
  issue(op, std::move(tmpl));
  return success();
}

LogicalResult Translator::scan(npu::ScanOp op) {
  FailureOr<Operand> dst = operand(op, op.getBox(0)), src = operand(op, op.getBox(1));
  if (failed(dst) || failed(src))
    return failure();
  if (src->dims.size() != dst->dims.size() || src->dims.size() > sim::kMaxRank)
    return op.emitError("source and destination must have the same rank, at most ")
           << sim::kMaxRank;
  Template tmpl;
  tmpl.op = TileOp::Scan;
  tmpl.fn = decltype(tmpl.fn)(int64_t(op.getDim()) << 8 | int64_t(op.getKind()));
  tmpl.flags = op.getReverse() ? sim::kReverse : 0;
  tmpl.operands = {dst->whole(), src->whole()};
  tmpl.label = "scan " + stringifyReduceKind(op.getKind()).str() + " " +
               bufferName(op.getBuffers()[0]) + " <- " + bufferName(op.getBuffers()[1]);
  issue(op, std::move(tmpl));
  return success();
}

LogicalResult Translator::iota(npu::IotaOp op) {
  FailureOr<Operand> dst = operand(op, op.getBox(0));
  if (failed(dst))
    return failure();
  if (op.getSteps().size() != dst->dims.size() || dst->dims.size() > sim::kMaxRank)
    return op.emitError("needs one step per dimension, at most ") << sim::kMaxRank;
  Template tmpl;
  tmpl.op = TileOp::Iota;
  tmpl.operands.push_back(dst->dims.empty() ? dst->over({-1}) : dst->whole());
  tmpl.scalars.push_back(get(op.getStart()));
  for (Value step : op.getSteps())
    tmpl.scalars.push_back(get(step));
  if (dst->dims.empty())
    tmpl.scalars.push_back(CodeBuilder::imm(0));
  tmpl.label = "iota " + bufferName(op.getBuffers()[0]);
  issue(op, std::move(tmpl));
  return success();
}

/// The instruction looks up one row; leading dimensions of the table become scalar loops.
LogicalResult Translator::gather(npu::GatherOp op) {
  FailureOr<Operand> dst = operand(op, op.getBox(0)), table = operand(op, op.getBox(1)),
                     index = operand(op, op.getBox(2));
  if (failed(dst) || failed(table) || failed(index))
    return failure();
  unsigned rank = unsigned(dst->dims.size());
  if (rank == 0 || table->dims.size() != rank || index->dims.size() != rank)
    return op.emitError("destination, table and index must have the same rank of at least 1");

  int last = int(rank) - 1;
  Template tmpl;
  tmpl.op = TileOp::Gather;
  tmpl.operands = {dst->over({last}), table->over({last}), index->over({last})};
  tmpl.label = "gather " + bufferName(op.getBuffers()[0]) + " <- " +
               bufferName(op.getBuffers()[1]) + "[" + bufferName(op.getBuffers()[2]) + "]";

  SmallVector<CodeBuilder::Label> heads, ends;
  SmallVector<Ref> counters;
  SmallVector<unsigned> loops;
  for (unsigned d = 0; d + 1 < rank; ++d) {
    if (dst->dims[d].extent == 1)
      continue;
    loops.push_back(d);
    code.beginScope();
    Ref counter{code.newReg(), 0};
    code.move(counter.reg, CodeBuilder::imm(0));
    counters.push_back(counter);
    heads.push_back(code.newLabel());
    ends.push_back(code.newLabel());
    code.place(heads.back());
    Ref inside = code.here(Opcode::CmpLT, DType::I64, counter, dst->dims[d].size);
    code.jumpIfNot(inside.reg, ends.back());
  }
  // The bases may be registers that change: these sums stay here.
  for (auto [view, box] :
       llvm::zip(tmpl.operands, std::array<const Operand *, 3>{&*dst, &*table, &*index}))
    for (auto [d, counter] : llvm::zip(loops, counters)) {
      Ref step = code.mul(
          counter, code.mul(box->dims[d].stride, CodeBuilder::imm(sim::byteSize(view.type))));
      view.base = code.here(Opcode::Add, DType::I64, view.base, step);
    }
  // Rows that share a 32-byte block are written one after the other.
  bool sharesBlocks = llvm::any_of(loops, [&](unsigned d) {
    Ref stride = dst->dims[d].stride;
    return !CodeBuilder::isImm(stride) || stride.imm * sim::byteSize(dst->view.type) % 32 != 0;
  });
  issue(op, std::move(tmpl));
  if (sharesBlocks) {
    sim::Insn barrier;
    barrier.op = Opcode::Barrier;
    barrier.p0 = sim::Pipe::V;
    code.emit(barrier);
  }
  for (unsigned i = unsigned(loops.size()); i-- > 0;) {
    sim::Insn next;
    next.op = Opcode::Add;
    next.dst = next.a = counters[i].reg;
    next.b = code.regOf(CodeBuilder::imm(1));
    code.emit(next);
    code.jump(heads[i]);
    code.place(ends[i]);
    code.endScope();
  }
  return success();
}

/// A printed tile is named by a template that is never issued; its operation only has to allow a
/// first operand in that memory.
LogicalResult Translator::print(npu::PrintOp op) {
  sim::PrintSpec spec;
  spec.message = op.getMessage().str();
  sim::Insn insn;
  insn.op = Opcode::Print;
  insn.imm = int64_t(tables.out.program.prints.size());
  if (op.getNumBoxes() == 0) {
    if (op.getScalar()) {
      std::optional<DType> type = dtypeOf(op.getScalar().getType());
      if (!type)
        return op.emitError("the simulator has no scalars of type ") << op.getScalar().getType();
      spec.type = *type;
      insn.a = code.regOf(get(op.getScalar()));
    }
    tables.out.program.prints.push_back(spec);
    code.emit(insn);
    return success();
  }

  FailureOr<Operand> box = operand(op, op.getBox(0));
  if (failed(box))
    return failure();
  Template tmpl;
  tmpl.label = "print " + bufferName(op.getBuffers()[0]);
  sim::View view = box->dims.empty() ? box->over({-1}) : box->whole();
  tmpl.operands.push_back(view);
  spec.type = view.type;
  auto empty = [&](sim::Space space) {
    sim::View other = view;
    other.space = space;
    other.tensor = -1;
    other.base = CodeBuilder::imm(0);
    for (unsigned d = 0; d < other.rank; ++d)
      other.strides[d] = CodeBuilder::imm(0);
    return other;
  };
  switch (view.space) {
  case sim::Space::UB:
    tmpl.op = TileOp::Fill;
    tmpl.scalars.push_back(CodeBuilder::imm(0));
    break;
  case sim::Space::L1:
    tmpl.op = TileOp::FillL1;
    tmpl.scalars.push_back(CodeBuilder::imm(0));
    break;
  case sim::Space::GM:
    if (kind == sim::CoreKind::AIC) {
      tmpl.op = TileOp::Fixpipe;
      tmpl.operands.push_back(empty(sim::Space::L0C));
    } else {
      tmpl.op = TileOp::Store;
      tmpl.operands.push_back(empty(sim::Space::UB));
    }
    break;
  default: {
    if (view.rank != 2)
      return op.emitError("prints of accumulators need rank 2");
    tmpl.op = TileOp::Mmad;
    sim::View a = empty(sim::Space::L1), b = a;
    a.sizes[1] = b.sizes[0] = CodeBuilder::imm(0);
    tmpl.operands.push_back(a);
    tmpl.operands.push_back(b);
    tmpl.scalars.push_back(CodeBuilder::imm(0));
    break;
  }
  }
  spec.templateId = addTemplate(op, std::move(tmpl));
  tables.out.program.prints.push_back(spec);
  code.emit(insn);
  return success();
}

LogicalResult Translator::scalarLoad(npu::ScalarLoadOp op) {
  if (auto it = variables.find(op.getBuffer()); it != variables.end()) {
    set(op.getResult(), code.here(Opcode::Move, DType::I64, {it->second, 0}));
    return success();
  }
  FailureOr<Operand> box = operand(op, op.getBox(0));
  std::optional<DType> type = dtypeOf(op.getResult().getType());
  if (failed(box))
    return failure();
  if (!type)
    return op.emitError("the simulator has no scalars of type ") << op.getResult().getType();
  Template tmpl;
  tmpl.op = TileOp::ScalarLoad;
  tmpl.operands.push_back(box->view);
  tmpl.resultReg = code.newReg();
  tmpl.label = "read " + bufferName(op.getBuffer());
  Ref loaded{tmpl.resultReg, 0};
  DType memory = box->view.type;
  issue(op, std::move(tmpl));
  // Unsigned elements as signless values.
  set(op.getResult(), memory == *type
                          ? loaded
                          : code.pure(Opcode::Convert, *type, loaded, {}, {}, int64_t(memory)));
  return success();
}

LogicalResult Translator::scalarStore(npu::ScalarStoreOp op) {
  if (!dtypeOf(op.getValue().getType()))
    return op.emitError("the simulator has no scalars of type ") << op.getValue().getType();
  if (auto it = variables.find(op.getBuffer()); it != variables.end()) {
    code.move(it->second, get(op.getValue()));
    return success();
  }
  FailureOr<Operand> box = operand(op, op.getBox(0));
  if (failed(box))
    return failure();
  Template tmpl;
  tmpl.op = TileOp::ScalarStore;
  tmpl.operands.push_back(box->view);
  tmpl.scalars.push_back(scalarAs(op.getValue(), box->view.type));
  tmpl.label = "write " + bufferName(op.getBuffer());
  issue(op, std::move(tmpl));
  return success();
}

/// A read, the sum, and a write, between which no other core gets its turn.
LogicalResult Translator::scalarAtomic(npu::ScalarAtomicOp op) {
  FailureOr<Operand> box = operand(op, op.getBox(0));
  std::optional<DType> type = dtypeOf(op.getPrevious().getType());
  if (failed(box))
    return failure();
  if (!type)
    return op.emitError("the simulator has no scalars of type ") << op.getPrevious().getType();
  DType memory = box->view.type;
  auto opcode = [&](Opcode real, Opcode sign, Opcode plain) {
    bool isUnsigned =
        cast<MemRefType>(op.getBuffer().getType()).getElementType().isUnsignedInteger();
    return sim::isFloat(memory) ? real : isUnsigned ? plain : sign;
  };
  Opcode combine;
  switch (op.getKind()) {
  case ReduceKind::Sum:
    combine = opcode(Opcode::FAdd, Opcode::Add, Opcode::Add);
    break;
  case ReduceKind::Max:
    combine = opcode(Opcode::FMaxNum, Opcode::MaxS, Opcode::MaxU);
    break;
  case ReduceKind::Min:
    combine = opcode(Opcode::FMinNum, Opcode::MinS, Opcode::MinU);
    break;
  default:
    return op.emitError("atomics add, or take the maximum or minimum");
  }
  tables.out.program.usesAtomics = true;
  Template read, write;
  read.op = TileOp::ScalarLoad;
  write.op = TileOp::ScalarStore;
  read.flags = write.flags = sim::kAtomic;
  read.operands.push_back(box->view);
  write.operands.push_back(box->view);
  read.label = write.label = "atomic " + bufferName(op.getBuffer());
  Ref loaded{read.resultReg = code.newReg(), 0};
  issue(op, std::move(read));
  write.scalars.push_back(code.pure(combine, memory, loaded, scalarAs(op.getValue(), memory)));
  issue(op, std::move(write));
  set(op.getPrevious(), memory == *type
                            ? loaded
                            : code.pure(Opcode::Convert, *type, loaded, {}, {}, int64_t(memory)));
  return success();
}

/// The AIC hears of both AIVs before it lets them go on.
void Translator::endBlock() {
  sim::Insn insn;
  insn.op = Opcode::Barrier;
  insn.p0 = sim::Pipe::All;
  code.emit(insn);
  if (!tables.isMixed)
    return;
  insn.p0 = sim::Pipe::S;
  insn.p1 = sim::Pipe::All;
  bool isCube = kind == sim::CoreKind::AIC;
  for (Opcode opcode : {isCube ? Opcode::BlockWait : Opcode::BlockSet,
                        isCube ? Opcode::BlockSet : Opcode::BlockWait}) {
    insn.op = opcode;
    code.emit(insn);
  }
}

/// The two AIVs of a group signal each other.
void Translator::coreBarrier(npu::CoreBarrierOp op) {
  sim::Insn insn;
  insn.p0 = pipeFor(op.getPipe());
  insn.imm = int64_t(op.getId());
  insn.isSibling = !op.getAllBlocks();
  if (op.getAllBlocks()) {
    insn.op = Opcode::Meet;
    code.emit(insn);
    return;
  }
  for (Opcode opcode : {Opcode::BlockSet, Opcode::BlockWait}) {
    insn.op = opcode;
    code.emit(insn);
  }
}

bool Translator::tile(Operation *op, LogicalResult &result) {
  auto emit = [&](sim::Insn insn) {
    code.emit(insn);
    return success();
  };
  auto flag = [&](auto flagOp, Opcode opcode) {
    sim::Insn insn;
    insn.op = opcode;
    insn.p0 = pipeFor(flagOp.getSource());
    insn.p1 = pipeFor(flagOp.getTarget());
    Ref id = slotPlus(flagOp.getRotate(), int64_t(flagOp.getId()));
    insn.a = id.reg;
    insn.imm = id.imm;
    if constexpr (std::is_same_v<decltype(flagOp), npu::SetFlagOp>)
      insn.isUnit = flagOp.getUnit();
    return emit(insn);
  };
  auto blockSync = [&](auto syncOp, Opcode opcode) {
    sim::Insn insn;
    insn.op = opcode;
    insn.p0 = pipeFor(syncOp.getPipe());
    Ref id = slotPlus(syncOp.getPlus(), int64_t(syncOp.getId()));
    insn.a = id.reg;
    insn.imm = id.imm;
    return emit(insn);
  };
  auto where = [&](Opcode opcode, Value value) {
    set(value, code.pure(opcode, DType::I64, {}));
    return success();
  };
  result = llvm::TypeSwitch<Operation *, LogicalResult>(op)
               .Case([&](npu::AllocOp op) { return alloc(op); })
               .Case([&](npu::AdvanceOp op) {
                 auto it = rotations.find(op.getBuffer());
                 if (it != rotations.end())
                   advance(it->second);
                 return success();
               })
               .Case([&](npu::CoreIdOp op) { return where(Opcode::CoreId, op); })
               .Case([&](npu::CoreCountOp op) { return where(Opcode::CoreCount, op); })
               .Case([&](npu::SubCoreIdOp op) { return where(Opcode::SubCoreId, op); })
               .Case([&](npu::BeginBlockOp op) {
                 sim::Insn insn;
                 insn.op = Opcode::BeginBlock;
                 insn.a = code.regOf(get(op.getId()));
                 if (auto cores = op->getAttrOfType<IntegerAttr>(npu::kCoresPerBlockAttr))
                   insn.imm = cores.getInt();
                 return emit(insn);
               })
               .Case([&](npu::LoadOp op) {
                 return copy(op, TileOp::Load, "load", op.getBypassL2() ? sim::kBypassL2 : 0);
               })
               .Case([&](npu::StoreOp op) { return copy(op, TileOp::Store, "store"); })
               .Case([&](npu::FixpipeOp op) {
                 uint8_t flags = op.getRelu() ? sim::kRelu : 0;
                 if (!op.getScaleAttr())
                   return copy(op, TileOp::Fixpipe, "fixpipe", flags);
                 int64_t factor = op.getScale()->bitcastToAPInt().getZExtValue();
                 return copy(op, TileOp::Fixpipe, "fixpipe", flags | sim::kScale, /*fn=*/0,
                             CodeBuilder::imm(factor));
               })
               .Case([&](npu::AtomicOp op) -> LogicalResult {
                 tables.out.program.usesAtomics = true;
                 switch (op.getKind()) {
                 case ReduceKind::Sum:
                   return copy(op, TileOp::AtomicAdd, "atomic add");
                 case ReduceKind::Max:
                   return copy(op, TileOp::AtomicMax, "atomic max");
                 case ReduceKind::Min:
                   return copy(op, TileOp::AtomicMin, "atomic min");
                 default:
                   return op.emitError("atomics add, or take the maximum or minimum");
                 }
               })
               .Case([&](npu::FillL1Op op) { return fill(op, TileOp::FillL1, op.getValue()); })
               .Case([&](npu::FillOp op) { return fill(op, TileOp::Fill, op.getValue()); })
               .Case([&](npu::LoadL0Op op) {
                 bool isB = npu::spaceOf(op.getBuffers()[0]) == npu::Space::L0B;
                 return copy(op, TileOp::LoadL0, "load", 0, isB ? sim::kIntoL0B : 0);
               })
               .Case([&](npu::MmadOp op) { return mmad(op); })
               .Case([&](npu::ElementwiseOp op) { return elementwise(op); })
               .Case([&](npu::ReduceOp op) { return reduce(op); })
               .Case([&](npu::ScanOp op) { return scan(op); })
               .Case([&](npu::IotaOp op) { return iota(op); })
               .Case([&](npu::GatherOp op) { return gather(op); })
               .Case([&](npu::PrintOp op) { return print(op); })
               .Case([&](npu::ScalarLoadOp op) { return scalarLoad(op); })
               .Case([&](npu::ScalarStoreOp op) { return scalarStore(op); })
               .Case([&](npu::ScalarAtomicOp op) { return scalarAtomic(op); })
               .Case([&](npu::AssertOp op) {
                 sim::Insn insn;
                 insn.op = Opcode::Assert;
                 insn.a = code.regOf(get(op.getCondition()));
                 insn.imm = int64_t(tables.out.program.messages.size());
                 tables.out.program.messages.push_back(op.getMessage().str());
                 return emit(insn);
               })
               .Case([&](npu::SetFlagOp op) { return flag(op, Opcode::SetFlag); })
               .Case([&](npu::WaitFlagOp op) { return flag(op, Opcode::WaitFlag); })
               .Case([&](npu::BarrierOp op) {
                 sim::Insn insn;
                 insn.op = Opcode::Barrier;
                 insn.p0 = pipeFor(op.getPipe());
                 return emit(insn);
               })
               .Case([&](npu::EndBlockOp) { return endBlock(), success(); })
               .Case([&](npu::BlockSetOp op) { return blockSync(op, Opcode::BlockSet); })
               .Case([&](npu::BlockWaitOp op) { return blockSync(op, Opcode::BlockWait); })
               .Case([&](npu::CoreBarrierOp op) { return coreBarrier(op), success(); })
               .Default([&](Operation *op) {
                 return op->emitError("the simulator cannot run this operation");
               });
  return true;
}
