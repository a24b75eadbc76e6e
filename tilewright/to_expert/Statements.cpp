// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control flow, instructions and orders as statements.
#include "tilewright/to_expert/Emitter.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::to_expert {

static std::string pipeName(Pipe pipe) {
  return pipe == Pipe::All ? "PIPE_ALL" : ("PIPE_" + stringifyPipe(pipe)).str();
}

static bool isConstant(Value value, int64_t wanted) {
  APInt found;
  return matchPattern(value, m_ConstantInt(&found)) && found.getSExtValue() == wanted;
}

void Emitter::write(const Twine &text, Operation &op, ArrayRef<Pipe> pipes, bool isFlag) {
  // Work on tiles is what the author wrote; the rest follows from it.
  bool isWork = isa<AccessInterface, npu::AllocOp>(&op) && !isFlag;
  std::string source;
  if (auto place = op.getLoc()->findInstanceOf<FileLineColLoc>(); place && isWork)
    source = place.getFilename().str() + ":" + std::to_string(place.getLine());
  lines.push_back({indent, text.str(), source, SmallVector<Pipe, 2>(pipes), isFlag});
}

LogicalResult Emitter::launch(npu::LaunchOp op, ArrayRef<std::string> operands) {
  SymbolTable symbols(op->getParentOfType<ModuleOp>());
  func::FuncOp aic, aiv;
  if (auto name = op.getAic())
    aic = symbols.lookup<func::FuncOp>(*name);
  if (auto name = op.getAiv())
    aiv = symbols.lookup<func::FuncOp>(*name);
  indent = 1;
  write("with T.Cores() as half:", *op);
  indent = 2;
  exchanges.clear();
  for (func::FuncOp function : {aic, aiv})
    if (function)
      allocations(function);
  for (func::FuncOp function : {aic, aiv}) {
    if (!function)
      continue;
    indent = 2;
    write(function == aic ? "with T.Scope(\"Cube\"):" : "with T.Scope(\"Vector\"):", *op);
    indent = 3;
    for (auto [argument, name] : llvm::zip(function.getArguments(), operands))
      values[argument] = {name, 0};
    size_t before = lines.size();
    if (failed(body(function.getBody().front())))
      return failure();
    if (lines.size() == before)
      write("pass", *op);
  }
  return success();
}

/// The tiles of a function. Those in global memory are tiles of both functions, by name.
void Emitter::allocations(func::FuncOp function) {
  function.walk([&](npu::AllocOp alloc) {
    npu::Space space = npu::spaceOf(alloc.getResult());
    std::string key = alloc.getName().str();
    if (space == npu::Space::Workspace)
      if (auto found = exchanges.find(key); found != exchanges.end()) {
        values[alloc.getResult()] = {found->second, 0};
        return;
      }
    std::string name = names.fresh(alloc.getName());
    values[alloc.getResult()] = {name, 0};
    if (space == npu::Space::Workspace)
      exchanges[key] = name;
    auto type = cast<MemRefType>(alloc.getType());
    std::string dtype = quoted(dtypeName(type.getElementType()));
    if (space == npu::Space::Reg) {
      write(name + " = T.alloc_var(" + dtype + ")", *alloc);
      return;
    }
    StringRef place = space == npu::Space::Workspace ? "workspace"
                      : space == npu::Space::L1      ? "L1"
                      : space == npu::Space::L0A     ? "L0A"
                      : space == npu::Space::L0B     ? "L0B"
                      : space == npu::Space::L0C     ? "L0C"
                                                     : "ub";
    std::string text = name + " = T.alloc_" + place.str() + "((";
    for (int64_t extent : type.getShape())
      text += std::to_string(extent) + ", ";
    if (type.getRank() > 1)
      text.resize(text.size() - 2);
    else if (type.getRank() == 1)
      text.pop_back();
    text += "), " + dtype;
    if (alloc.getSlots() > 1)
      text += ", slots=" + std::to_string(alloc.getSlots());
    if (auto address = alloc.getAddress())
      text += ", address=" + std::to_string(*address);
    write(text + ")", *alloc);
  });
}

LogicalResult Emitter::body(Block &block) {
  for (Operation &op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>() && failed(statement(op)))
      return failure();
  return success();
}

LogicalResult Emitter::loop(scf::ForOp loop) {
  if (loop.getNumResults())
    return loop.emitError("--emit expert: a loop that carries values has no form in Python");
  Block &inner = *loop.getBody();
  auto begin = inner.empty() ? nullptr : dyn_cast<npu::BeginBlockOp>(inner.front());
  bool isBlocks = begin && begin.getId() == loop.getInductionVar() &&
                  loop.getLowerBound().getDefiningOp<npu::CoreIdOp>() &&
                  loop.getStep().getDefiningOp<npu::CoreCountOp>();
  std::string variable = names.fresh(isBlocks ? "block" : "i");
  values[loop.getInductionVar()] = {variable, 0};
  std::string range;
  if (isBlocks)
    range = "T.blocks(" + text(loop.getUpperBound()) + ")";
  else if (isConstant(loop.getStep(), 1) && isConstant(loop.getLowerBound(), 0))
    range = "T.serial(" + text(loop.getUpperBound()) + ")";
  else
    range = "T.serial(" + text(loop.getLowerBound()) + ", " + text(loop.getUpperBound()) +
            (isConstant(loop.getStep(), 1) ? "" : ", " + text(loop.getStep())) + ")";
  write("for " + variable + " in " + range + ":", *loop);
  ++indent;
  size_t before = lines.size();
  for (Operation &op : inner.without_terminator())
    if (!(isBlocks && &op == begin) && failed(statement(op)))
      return failure();
  if (lines.size() == before)
    write("pass", *loop);
  --indent;
  return success();
}

LogicalResult Emitter::branch(scf::IfOp branch) {
  if (branch.getNumResults())
    return scalar(*branch);
  auto part = [&](Block *block) {
    ++indent;
    size_t before = lines.size();
    LogicalResult result = body(*block);
    if (lines.size() == before)
      write("pass", *branch);
    --indent;
    return result;
  };
  write("if " + text(branch.getCondition()) + ":", *branch);
  if (failed(part(branch.thenBlock())))
    return failure();
  Block *other = branch.elseBlock();
  if (!other || other->without_terminator().empty())
    return success();
  write("else:", *branch);
  return part(other);
}

LogicalResult Emitter::whileLoop(scf::WhileOp loop) {
  if (loop.getNumOperands() || loop.getNumResults())
    return loop.emitError("--emit expert: a loop that carries values has no form in Python");
  if (failed(inlineAll(*loop.getBeforeBody())))
    return failure();
  write("while " + text(loop.getConditionOp().getCondition()) + ":", *loop);
  ++indent;
  size_t before = lines.size();
  if (failed(body(*loop.getAfterBody())))
    return failure();
  if (lines.size() == before)
    write("pass", *loop);
  --indent;
  return success();
}

LogicalResult Emitter::sync(Operation &op) {
  auto flag = [&](StringRef name, Pipe own, Pipe other, int64_t id, Value rotate) {
    std::string text = "T." + name.str() + "(\"" + pipeName(other) + "\", ";
    if (rotate && isa<MemRefType>(rotate.getType()))
      text += std::to_string(id) + ", rotate=" + bufferName(rotate);
    else if (rotate)
      text += this->text(rotate) + (id ? " + " + std::to_string(id) : "");
    else
      text += std::to_string(id);
    write(text + ")", op, own, /*isFlag=*/true);
    return success();
  };
  auto signal = [&](StringRef name, Pipe own, int64_t id, Value plus) {
    std::string number = std::to_string(id);
    if (plus)
      number = text(plus) + (id ? " + " + number : "");
    write("T." + name + "(" + number + ")", op, own, /*isFlag=*/true);
    return success();
  };
  if (auto set = dyn_cast<npu::SetFlagOp>(op))
    return flag("set_flag", set.getSource(), set.getTarget(), set.getId(), set.getRotate());
  if (auto wait = dyn_cast<npu::WaitFlagOp>(op))
    return flag("wait_flag", wait.getTarget(), wait.getSource(), wait.getId(), wait.getRotate());
  if (auto set = dyn_cast<npu::BlockSetOp>(op))
    return signal("sync_block_set", set.getPipe(), set.getId(), set.getPlus());
  if (auto barrier = dyn_cast<npu::CoreBarrierOp>(op))
    return signal(barrier.getAllBlocks() ? "block_barrier" : "subblock_barrier", barrier.getPipe(),
                  barrier.getId(), Value());
  auto wait = cast<npu::BlockWaitOp>(op);
  return signal("sync_block_wait", wait.getPipe(), wait.getId(), wait.getPlus());
}

LogicalResult Emitter::elementwise(npu::ElementwiseOp op) {
  auto access = cast<AccessInterface>(op.getOperation());
  // Dimensions of the destination are those of the domain, in its order.
  ArrayRef<int64_t> own = op.getMap(0);
  auto placeOf = [&](int64_t domain) -> int64_t {
    auto found = llvm::find(own, domain);
    return domain < 0 || found == own.end() ? -1 : found - own.begin();
  };
  SmallVector<std::string> operands;
  SmallVector<int64_t> permutation;
  bool isTransposed = false;
  for (unsigned index = 1; index < access.getNumBoxes(); ++index) {
    Box box = access.getBox(index);
    SmallVector<int64_t> positions;
    for (int64_t domain : op.getMap(index))
      positions.push_back(placeOf(domain));
    int64_t last = -1;
    bool isIdentity = positions.size() == own.size(), isInOrder = true;
    for (auto [dim, position] : llvm::enumerate(positions)) {
      bool isOne = isConstant(box.sizes[dim], 1);
      isIdentity &= position == static_cast<int64_t>(dim) || (isOne && position < 0);
      isInOrder &= position < 0 || position > last;
      last = std::max(last, position);
    }
    if (isIdentity) {
      operands.push_back(this->box(access, index));
    } else if (isInOrder && last >= 0) {
      operands.push_back(boxAt(box, positions, own.size()));
    } else if (last < 0) { // one element for all
      SmallVector<int64_t> plain = llvm::to_vector(llvm::seq<int64_t>(0, positions.size()));
      operands.push_back(boxAt(box, plain, plain.size()));
    } else {
      isTransposed = true;
      permutation = positions;
      operands.push_back(this->box(access, index));
    }
  }
  std::string to = box(access, 0);
  if (isTransposed) {
    if (op.getFn() != Fn::Copy || llvm::is_contained(permutation, -1) ||
        permutation.size() != own.size())
      return op.emitError("--emit expert: operands in another order of dimensions have a form only "
                          "in T.vtranspose");
    SmallVector<std::string> order(permutation.size());
    for (auto [dim, position] : llvm::enumerate(permutation))
      order[position] = std::to_string(dim);
    write("T.vtranspose(" + operands[0] + ", " + to + ", [" + llvm::join(order, ", ") + "])", *op,
          Pipe::V);
    return success();
  }
  if (op.getScalar())
    operands.insert(op.getScalarFirst() ? operands.begin() : operands.end(), text(op.getScalar()));
  StringRef name = stringifyFn(op.getFn());
  std::string list = llvm::join(operands, ", ");
  static const std::map<StringRef, StringRef> kOwn = {{"log", "vln"}};
  static const llvm::StringSet<> kNamed = {
      "add",  "sub",     "mul",      "div", "max",  "min",  "and",  "or",    "xor", "shl",
      "shr",  "pow",     "floordiv", "exp", "exp2", "log2", "sqrt", "rsqrt", "abs", "rec",
      "relu", "sigmoid", "floor",    "not", "cos",  "sin",  "erf",  "tanh"};
  std::string statement;
  if (op.getFn() == Fn::Cast)
    statement =
        "T.vcast(" + list + ", " + to +
        (op.getRound() == Round::Rint ? ""
                                      : ", round_mode=" + quoted(stringifyRound(op.getRound()))) +
        ")";
  else if (op.getFn() >= Fn::EQ && op.getFn() <= Fn::GE)
    statement = "T.vcmp(" + list + ", " + to + ", " + quoted(name) + ")";
  else if (op.getFn() == Fn::Select)
    statement = "T.vselect(" + list + ", " + to + ")";
  else if (auto found = kOwn.find(name); found != kOwn.end())
    statement = "T." + found->second.str() + "(" + list + ", " + to + ")";
  else if (kNamed.contains(name))
    statement = "T.v" + name.str() + "(" + list + ", " + to + ")";
  else
    statement = "T.vop(" + quoted(name) + ", " + list + ", " + to + ")";
  write(statement, *op, Pipe::V);
  return success();
}

LogicalResult Emitter::boxStatement(Operation &op) {
  auto access = cast<AccessInterface>(op);
  auto is = [&](unsigned index, npu::Space space) {
    return npu::spaceOf(access.getBox(index).buffer) == space;
  };
  SmallVector<Pipe, 2> pipes;
  if (auto pipe = dyn_cast<npu::PipeInterface>(op))
    for (unsigned index = 0; index < access.getNumBoxes(); ++index)
      if (Pipe found = pipe.getBoxPipe(index); !llvm::is_contained(pipes, found))
        pipes.push_back(found);
  auto move = [&](StringRef name, StringRef more = "") {
    write(name + "(" + box(access, 1) + ", " + box(access, 0) + more + ")", op, pipes);
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](npu::LoadOp) {
        bool isNz = is(0, npu::Space::L1) && is(1, npu::Space::GM);
        return move(isNz ? "T.load_nd2nz" : "T.copy");
      })
      .Case<npu::LoadL0Op>([&](auto) { return move("T.copy"); })
      .Case([&](npu::FixpipeOp fixpipe) {
        if (!is(0, npu::Space::GM))
          return move("T.copy");
        std::string more = ", enable_nz2nd=True";
        if (fixpipe.getRelu())
          more += ", pre_relu_mode=\"relu\"";
        if (auto scale = fixpipe.getScaleAttr(); scale && scale.getValueAsDouble() != 1)
          more += ", scale=" + numberText(scale);
        return move("T.store_fixpipe", more);
      })
      .Case([&](npu::StoreOp) {
        return move(is(1, npu::Space::L1) && is(0, npu::Space::GM) ? "T.store_nz2nd" : "T.copy");
      })
      .Case([&](npu::AtomicOp atomic) {
        StringRef kind =
            atomic.getKind() == ReduceKind::Sum ? "add" : stringifyReduceKind(atomic.getKind());
        write("T.atomic_" + kind + "(" + box(access, 0) + ", " + box(access, 1) + ")", op, pipes);
        return success();
      })
      .Case<npu::FillOp, npu::FillL1Op>([&](auto fill) {
        write("T.fill(" + box(access, 0) + ", " + text(fill.getValue()) + ")", op, pipes);
        return success();
      })
      .Case([&](npu::MmadOp mmad) {
        std::string more;
        if (!isConstant(mmad.getInit(), 0))
          more += ", initC=" + text(mmad.getInit());
        if (mmad.getTransposeA())
          more += ", a_transpose=True";
        if (mmad.getTransposeB())
          more += ", b_transpose=True";
        write("T.gemm(" + box(access, 1) + ", " + box(access, 2) + ", " + box(access, 0) + more +
                  ")",
              op, pipes);
        return success();
      })
      .Case([&](npu::ElementwiseOp elementwise) { return this->elementwise(elementwise); })
      .Case([&](npu::ReduceOp reduce) {
        StringRef kind = stringifyReduceKind(reduce.getKind());
        SmallVector<std::string> dims;
        for (int64_t dim : reduce.getDims())
          dims.push_back(std::to_string(dim));
        std::string along = dims.size() == 1 ? dims[0] : "[" + llvm::join(dims, ", ") + "]";
        bool isNamed = llvm::is_contained({"sum", "max", "min", "abssum", "absmax"}, kind);
        std::string more = reduce.getAccumulate() ? ", clear=False" : "";
        if (isNamed)
          return move("T.reduce_" + kind.str(), ", dim=" + along + more);
        return move("T.reduce",
                    ", " + along + ", reduce_mode=" +
                        quoted(kind == "and" || kind == "or" || kind == "xor" ? "bit" + kind.str()
                                                                              : kind.str()) +
                        more);
      })
      .Case([&](npu::ScanOp scan) {
        std::string more = ", dim=" + std::to_string(scan.getDim());
        if (scan.getReverse())
          more += ", reverse=True";
        return move(scan.getKind() == ReduceKind::Sum ? "T.cumsum" : "T.cummax", more);
      })
      .Case([&](npu::IotaOp iota) {
        SmallVector<std::string> steps;
        for (Value step : iota.getSteps())
          steps.push_back(text(step));
        write("T.varange(" + box(access, 0) + ", [" + llvm::join(steps, ", ") + "], " +
                  text(iota.getStart()) + ")",
              op, pipes);
        return success();
      })
      .Case([&](npu::GatherOp) {
        write("T.vgather(" + box(access, 1) + ", " + box(access, 0) + ", " + box(access, 2) + ")",
              op, pipes);
        return success();
      })
      .Case([&](npu::PrintOp print) {
        std::string what;
        if (access.getNumBoxes())
          what = box(access, 0) + ", ";
        else if (print.getScalar())
          what = text(print.getScalar()) + ", ";
        write("T.print(" + what + quoted(print.getMessage()) + ")", op, pipes);
        return success();
      })
      .Default([](Operation *other) -> LogicalResult {
        return other->emitError("--emit expert: Python has no word for ")
               << other->getName().getStringRef();
      });
}

LogicalResult Emitter::statement(Operation &op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<npu::AllocOp>([](auto) { return success(); })
      .Case([&](scf::ForOp loop) { return this->loop(loop); })
      .Case([&](scf::IfOp branch) { return this->branch(branch); })
      .Case([&](scf::WhileOp loop) { return whileLoop(loop); })
      .Case<npu::SetFlagOp, npu::WaitFlagOp, npu::BlockSetOp, npu::BlockWaitOp, npu::CoreBarrierOp>(
          [&](auto) { return sync(op); })
      .Case([&](npu::BarrierOp barrier) {
        write("T.pipe_barrier(\"" + pipeName(barrier.getPipe()) + "\")", op, barrier.getPipe());
        return success();
      })
      .Case([&](npu::BeginBlockOp begin) {
        write("T.begin_block(" + text(begin.getId()) + ")", op);
        return success();
      })
      .Case([&](npu::AdvanceOp advance) {
        write("T.next_slot(" + bufferName(advance.getBuffer()) + ")", op);
        return success();
      })
      .Case([&](npu::AssertOp assertion) {
        write("T.device_assert(" + text(assertion.getCondition()) + ", " +
                  quoted(assertion.getMessage()) + ")",
              op);
        return success();
      })
      .Case([&](npu::ScalarStoreOp store) {
        std::string indices;
        for (Value index : store.getIndices())
          indices += (indices.empty() ? "" : ", ") + text(index);
        write(bufferName(store.getBuffer()) + "[" + (indices.empty() ? "0" : indices) +
                  "] = " + text(store.getValue()),
              op);
        return success();
      })
      .Default([&](Operation *) -> LogicalResult {
        if (isa<AccessInterface>(op) && op.getNumResults() == 0)
          return boxStatement(op);
        return scalar(op);
      });
}

} // namespace tilewright::to_expert
