// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Program.h"

#include "tilewright/sim/Names.h"

#include <iterator>

using namespace tilewright::sim;

namespace {

/// Entry `index` of a table of spellings, "?" for a value that the enumeration lacks.
template <typename Enum, size_t N>
const char *spell(const char *const (&table)[N], Enum index) {
  size_t i = static_cast<size_t>(index);
  return i < N ? table[i] : "?";
}

std::string refText(const Ref &ref) {
  return ref.reg < 0 ? std::to_string(ref.imm) : "r" + std::to_string(ref.reg);
}

std::string viewText(const Program &program, const View &view) {
  std::string text = nameOf(view.space);
  if (view.space == Space::GM) {
    if (view.tensor == kWorkspace)
      text = "workspace";
    else if (view.tensor >= 0 && view.tensor < int32_t(program.tensors.size()))
      text = program.tensors[view.tensor].name;
    else
      text = "gm?";
  }
  text += "[" + refText(view.base) + "] ";
  for (unsigned i = 0; i < view.rank && i < kMaxRank; ++i)
    text += refText(view.sizes[i]) + "x";
  text += nameOf(view.type);
  bool first = true;
  for (unsigned i = 0; i < view.rank && i < kMaxRank; ++i) {
    text += first ? " strides " : ",";
    text += refText(view.strides[i]);
    first = false;
  }
  return text;
}

const char *functionText(const Template &tmpl) {
  switch (tmpl.op) {
  case TileOp::Unary:
    return nameOf(static_cast<UnaryFn>(tmpl.fn));
  case TileOp::Binary:
  case TileOp::BinaryScalar:
    return nameOf(static_cast<BinaryFn>(tmpl.fn));
  case TileOp::Compare:
  case TileOp::CompareScalar:
    return nameOf(static_cast<CompareFn>(tmpl.fn));
  case TileOp::Reduce:
    return nameOf(static_cast<ReduceFn>(tmpl.fn));
  default:
    return nullptr;
  }
}

std::string insnText(const Program &program, const Insn &insn) {
  auto reg = [](int32_t r) { return "r" + std::to_string(r); };
  auto id = [&] { return insn.a >= 0 ? reg(insn.a) : std::to_string(insn.imm); };
  std::string text = nameOf(insn.op);
  switch (insn.op) {
  case Opcode::Jump:
    return text + " @" + std::to_string(insn.imm);
  case Opcode::JumpIf:
  case Opcode::JumpIfNot:
    return text + " " + reg(insn.a) + " @" + std::to_string(insn.imm);
  case Opcode::Halt:
    return text;
  case Opcode::BeginBlock:
    return text + " " + reg(insn.a) + (insn.imm > 1 ? " of " + std::to_string(insn.imm) : "");
  case Opcode::Issue:
    return text + " #" + std::to_string(insn.imm);
  case Opcode::SetFlag:
  case Opcode::WaitFlag:
    return text + " " + nameOf(insn.p0) + "->" + nameOf(insn.p1) + " id " + id();
  case Opcode::Barrier:
    return text + " " + nameOf(insn.p0);
  case Opcode::Meet:
    return text + " " + nameOf(insn.p0) + " id " + id();
  case Opcode::BlockSet:
  case Opcode::BlockWait:
    if (insn.isSibling)
      text += " sibling";
    return text + (insn.p1 == Pipe::All ? " end of block"
                                        : std::string(" ") + nameOf(insn.p0) + " id " + id());
  case Opcode::Print:
  case Opcode::Assert: {
    std::string quoted;
    if (insn.op == Opcode::Print && size_t(insn.imm) < program.prints.size())
      quoted = program.prints[insn.imm].message;
    if (insn.op == Opcode::Assert && size_t(insn.imm) < program.messages.size())
      quoted = program.messages[insn.imm];
    return text + (insn.a >= 0 ? " " + reg(insn.a) : "") + " \"" + quoted + "\"";
  }
  default:
    break;
  }
  std::string operands;
  for (int32_t r : {insn.a, insn.b, insn.c})
    if (r >= 0)
      operands += (operands.empty() ? " " : ", ") + reg(r);
  text = reg(insn.dst) + " = " + text;
  switch (insn.op) {
  case Opcode::Const:
  case Opcode::ScalarArg:
    return text + " " + std::to_string(insn.imm);
  case Opcode::FUnary:
    return text + " " + nameOf(static_cast<UnaryFn>(insn.imm)) + operands + " : " +
           nameOf(insn.type);
  case Opcode::FBinary:
    return text + " " + nameOf(static_cast<BinaryFn>(insn.imm)) + operands + " : " +
           nameOf(insn.type);
  case Opcode::Convert:
  case Opcode::Bitcast:
    return text + operands + " : " + nameOf(static_cast<DType>(insn.imm)) + " -> " +
           nameOf(insn.type);
  default:
    return text + operands +
           (insn.type == DType::I64 ? "" : std::string(" : ") + nameOf(insn.type));
  }
}

void coreText(const Program &program, const CoreProgram &core, CoreKind kind, std::string &out) {
  if (core.code.empty())
    return;
  out += std::string(nameOf(kind)) + " program, " + std::to_string(core.numRegs) + " registers\n";
  auto place = [&](int32_t location) {
    return location < 0 ? std::string() : "  ; " + locationText(program, location);
  };
  for (size_t i = 0; i < core.templates.size(); ++i) {
    const Template &tmpl = core.templates[i];
    out += "  #" + std::to_string(i) + " " + nameOf(tmpl.op);
    if (const char *fn = functionText(tmpl))
      out += std::string(" ") + fn;
    if (tmpl.flags)
      out += " flags " + std::to_string(tmpl.flags);
    for (size_t k = 0; k < tmpl.operands.size(); ++k)
      out += (k ? ", {" : " {") + viewText(program, tmpl.operands[k]) + "}";
    for (size_t k = 0; k < tmpl.scalars.size(); ++k)
      out += (k ? ", " : " scalars ") + refText(tmpl.scalars[k]);
    if (tmpl.resultReg >= 0)
      out += " -> r" + std::to_string(tmpl.resultReg);
    if (!tmpl.label.empty())
      out += "  \"" + tmpl.label + "\"";
    out += place(tmpl.location) + "\n";
  }
  for (size_t i = 0; i < core.code.size(); ++i)
    out += "  " + std::to_string(i) + ": " + insnText(program, core.code[i]) +
           place(core.code[i].location) + "\n";
}

} // namespace

unsigned tilewright::sim::byteSize(DType type) {
  switch (type) {
  case DType::I1:
  case DType::I8:
  case DType::U8:
  case DType::F8E4M3:
  case DType::F8E5M2:
    return 1;
  case DType::I16:
  case DType::U16:
  case DType::F16:
  case DType::BF16:
    return 2;
  case DType::I32:
  case DType::U32:
  case DType::F32:
    return 4;
  case DType::I64:
  case DType::U64:
  case DType::F64:
    return 8;
  }
  return 1;
}

const char *tilewright::sim::nameOf(DType type) {
  static const char *const table[] = {"i1",  "i8",     "u8",     "i16", "u16",  "i32", "u32", "i64",
                                      "u64", "f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64"};
  return spell(table, type);
}

const char *tilewright::sim::nameOf(Space space) {
  static const char *const table[] = {"GM", "L1", "L0A", "L0B", "L0C", "UB"};
  return spell(table, space);
}

const char *tilewright::sim::nameOf(Pipe pipe) {
  static const char *const table[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "ALL"};
  return spell(table, pipe);
}

const char *tilewright::sim::nameOf(CoreKind kind) { return kind == CoreKind::AIC ? "AIC" : "AIV"; }

const char *tilewright::sim::nameOf(TileOp op) {
  static const char *const table[] = {
      "load",           "fill_l1",    "mmad",          "fixpipe",       "store",
      "atomic_add",     "atomic_max", "atomic_min",    "fill",          "copy",
      "cast",           "unary",      "binary",        "binary_scalar", "compare",
      "compare_scalar", "select",     "select_scalar", "reduce",        "iota",
      "scan",           "gather",     "scalar_store",  "scalar_load",   "load_l0"};
  static_assert(std::size(table) == size_t(TileOp::LoadL0) + 1);
  return spell(table, op);
}

const char *tilewright::sim::nameOf(Opcode op) {
  static const char *const table[] = {
      "const",     "move",      "add",       "sub",        "mul",        "divs",      "rems",
      "divu",      "remu",      "floordiv",  "floormod",   "ceildiv",    "and",       "or",
      "xor",       "shl",       "shrs",      "shru",       "mins",       "maxs",      "minu",
      "maxu",      "cmpeq",     "cmpne",     "cmplt",      "cmple",      "cmpgt",     "cmpge",
      "cmpult",    "cmpule",    "cmpugt",    "cmpuge",     "select",     "fadd",      "fsub",
      "fmul",      "fdiv",      "fmax",      "fmin",       "fmaxnum",    "fminnum",   "fneg",
      "fcmpeq",    "fcmpne",    "fcmplt",    "fcmple",     "fcmpgt",     "fcmpge",    "funary",
      "fbinary",   "convert",   "bitcast",   "jump",       "jumpif",     "jumpifnot", "halt",
      "coreid",    "corecount", "subcoreid", "scalararg",  "beginblock", "issue",     "set_flag",
      "wait_flag", "barrier",   "block_set", "block_wait", "meet",       "print",     "assert"};
  static_assert(std::size(table) == size_t(Opcode::Assert) + 1);
  return spell(table, op);
}

const char *tilewright::sim::nameOf(UnaryFn fn) {
  static const char *const table[] = {
      "neg",   "abs",   "exp",   "exp2", "log", "log2", "log10",   "log1p", "sqrt",
      "rsqrt", "rec",   "sin",   "cos",  "tan", "tanh", "sigmoid", "erf",   "floor",
      "ceil",  "round", "trunc", "rint", "not", "relu", "isnan",   "isinf", "isfinite"};
  static_assert(std::size(table) == size_t(UnaryFn::IsFinite) + 1);
  return spell(table, fn);
}

const char *tilewright::sim::nameOf(BinaryFn fn) {
  static const char *const table[] = {"add",      "sub", "mul", "div",    "rem",    "floordiv",
                                      "floormod", "max", "min", "maxnum", "minnum", "and",
                                      "or",       "xor", "shl", "shr",    "pow"};
  static_assert(std::size(table) == size_t(BinaryFn::Pow) + 1);
  return spell(table, fn);
}

const char *tilewright::sim::nameOf(CompareFn fn) {
  static const char *const table[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  return spell(table, fn);
}

const char *tilewright::sim::nameOf(ReduceFn fn) {
  static const char *const table[] = {"sum",  "max", "min", "abssum", "absmax",
                                      "prod", "and", "or",  "xor"};
  return spell(table, fn);
}

const char *tilewright::sim::nameOf(FindingKind kind) {
  static const char *const table[] = {"read-after-write", "write-after-read", "write-after-write",
                                      "double-set",       "flag-reuse",       "uninitialised-read",
                                      "out-of-bounds",    "unconsumed-flag",  "deadlock",
                                      "counter-overflow", "assert-failed",    "watchdog"};
  static_assert(std::size(table) == size_t(FindingKind::Watchdog) + 1);
  return spell(table, kind);
}

const char *tilewright::sim::codeOf(FindingKind kind) {
  static const char *const table[] = {"E0921", "E0922", "E0923", "E0924", "E0925", "E0926",
                                      "E0901", "E0927", "E0902", "E0928", "E0903", "E0904"};
  static_assert(std::size(table) == size_t(FindingKind::Watchdog) + 1);
  return spell(table, kind);
}

int64_t tilewright::sim::coresPerBlock(const Program &program) {
  for (const Insn &insn : program.aiv.code)
    if (insn.op == Opcode::BeginBlock)
      return std::max<int64_t>(insn.imm, 1);
  return 1;
}

std::string tilewright::sim::locationText(const Program &program, int32_t location) {
  if (location < 0 || location >= int32_t(program.locations.size()))
    return "line unknown";
  const Location &loc = program.locations[location];
  size_t slash = loc.file.find_last_of('/');
  std::string file = slash == std::string::npos ? loc.file : loc.file.substr(slash + 1);
  return file + ":" + std::to_string(loc.line);
}

std::string tilewright::sim::toText(const Program &program) {
  std::string out = "program " + program.name + "\n";
  for (const TensorParam &tensor : program.tensors)
    out += "  tensor " + tensor.name + " " + nameOf(tensor.type) +
           (tensor.written ? " written\n" : "\n");
  if (program.numScalars)
    out += "  scalars " + std::to_string(program.numScalars) + "\n";
  if (program.workspaceBytesPerCore)
    out += "  workspace " + std::to_string(program.workspaceBytesPerCore) + " bytes per core\n";
  if (program.usesAtomics)
    out += "  blocks in order\n";
  for (const BufferInfo &buffer : program.buffers)
    out += "  buffer " + buffer.name + " " + nameOf(buffer.core) + " " + nameOf(buffer.space) +
           " @" + std::to_string(buffer.address) + " " + std::to_string(buffer.slots) + "x" +
           std::to_string(buffer.bytes) + "\n";
  coreText(program, program.aic, CoreKind::AIC, out);
  coreText(program, program.aiv, CoreKind::AIV, out);
  return out;
}
