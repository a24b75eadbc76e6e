// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Vm.h"

#include "tilewright/sim/Kernels.h"
#include "tilewright/support/Convert.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

using namespace tilewright::sim;
using namespace tilewright::support;

namespace {

/// Unused high bits of each integer type in a register, and whether they are zero or sign.
struct Width {
  uint8_t shift;
  bool isUnsigned;
};
constexpr std::array<Width, 15> kWidths = {{{63, true},
                                            {56, false},
                                            {56, true},
                                            {48, false},
                                            {48, true},
                                            {32, false},
                                            {32, true},
                                            {0, false},
                                            {0, true},
                                            {0, false},
                                            {0, false},
                                            {0, false},
                                            {0, false},
                                            {0, false},
                                            {0, false}}};

/// Cuts to the type's width and extends again by its signedness.
inline int64_t wrap(DType type, uint64_t value) {
  Width w = kWidths[static_cast<size_t>(type)];
  uint64_t top = value << w.shift;
  return w.isUnsigned ? int64_t(top >> w.shift) : int64_t(top) >> w.shift;
}

/// The value's bits within the type's width, zero-extended.
inline uint64_t zext(DType type, int64_t value) {
  uint8_t shift = kWidths[static_cast<size_t>(type)].shift;
  return (uint64_t(value) << shift) >> shift;
}

inline unsigned bitsOf(DType type) { return 64 - kWidths[static_cast<size_t>(type)].shift; }

inline int64_t divTrunc(int64_t a, int64_t b) { return b == -1 ? int64_t(0 - uint64_t(a)) : a / b; }
inline int64_t remTrunc(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }

inline int64_t divFloor(int64_t a, int64_t b) {
  int64_t q = divTrunc(a, b), r = remTrunc(a, b);
  return q - (r != 0 && ((r < 0) != (b < 0)));
}

inline int64_t modFloor(int64_t a, int64_t b) {
  int64_t r = remTrunc(a, b);
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}

inline int64_t divCeil(int64_t a, int64_t b) {
  int64_t q = divTrunc(a, b), r = remTrunc(a, b);
  return q + (r != 0 && ((r < 0) == (b < 0)));
}

inline float asF32(int64_t bits) { return std::bit_cast<float>(uint32_t(bits)); }
inline double asF64(int64_t bits) { return std::bit_cast<double>(bits); }
inline int64_t fromF32(float value) { return int64_t(std::bit_cast<uint32_t>(value)); }
inline int64_t fromF64(double value) { return std::bit_cast<int64_t>(value); }

/// Rounds an f32 result to the float type that the register stands for.
inline float roundTo(DType type, float value) {
  if (type == DType::F8E4M3)
    return quarterToFloat<3>(floatToQuarter<3>(value));
  if (type == DType::F8E5M2)
    return quarterToFloat<2>(floatToQuarter<2>(value));
  if (type == DType::F16)
    return halfToFloat(floatToHalf(value));
  if (type == DType::BF16)
    return bfloatToFloat(floatToBfloat(value));
  return value;
}

template <typename Fn>
inline int64_t floatOp(DType type, int64_t a, int64_t b, Fn fn) {
  if (type == DType::F64)
    return fromF64(fn(asF64(a), asF64(b)));
  return fromF32(roundTo(type, fn(asF32(a), asF32(b))));
}

template <typename Fn>
inline int64_t floatCompare(DType type, int64_t a, int64_t b, Fn fn) {
  return type == DType::F64 ? fn(asF64(a), asF64(b)) : fn(asF32(a), asF32(b));
}

ResolvedView scalarView(void *data, DType type) {
  ResolvedView view;
  view.data = static_cast<std::byte *>(data);
  view.type = type;
  view.rank = 1;
  view.sizes[0] = view.strides[0] = 1;
  return view;
}

/// Float value to a saturated 64-bit integer of the given type.
int64_t floatToInt(double value, DType to) {
  if (value != value)
    return 0;
  unsigned bits = bitsOf(to);
  if (to == DType::I1)
    return value != 0;
  if (kWidths[static_cast<size_t>(to)].isUnsigned) {
    if (value <= 0)
      return 0;
    if (value >= std::ldexp(1.0, int(bits)))
      return wrap(to, ~uint64_t(0));
    return wrap(to, uint64_t(value));
  }
  double limit = std::ldexp(1.0, int(bits) - 1);
  if (value >= limit)
    return int64_t((uint64_t(1) << (bits - 1)) - 1);
  if (value < -limit)
    return wrap(to, uint64_t(1) << (bits - 1));
  return int64_t(value);
}

} // namespace

int64_t tilewright::sim::evalUnary(UnaryFn fn, DType type, int64_t a) {
  switch (fn) {
  case UnaryFn::IsNan:
  case UnaryFn::IsInf:
  case UnaryFn::IsFinite: {
    double value = type == DType::F64 ? asF64(a) : double(asF32(a));
    if (fn == UnaryFn::IsNan)
      return value != value;
    bool finite = value - value == 0;
    return fn == UnaryFn::IsFinite ? finite : !finite && value == value;
  }
  default:
    break;
  }
  uint64_t in = 0, out = 0;
  storeScalar(&in, type, a);
  ResolvedOp op;
  op.op = TileOp::Unary;
  op.fn = static_cast<uint8_t>(fn);
  op.numOperands = 2;
  op.operands[0] = scalarView(&out, type);
  op.operands[1] = scalarView(&in, type);
  execute(op);
  return loadScalar(&out, type);
}

int64_t tilewright::sim::evalBinary(BinaryFn fn, DType type, int64_t a, int64_t b) {
  uint64_t left = 0, right = 0, out = 0;
  storeScalar(&left, type, a);
  storeScalar(&right, type, b);
  ResolvedOp op;
  op.op = TileOp::Binary;
  op.fn = static_cast<uint8_t>(fn);
  op.numOperands = 3;
  op.operands[0] = scalarView(&out, type);
  op.operands[1] = scalarView(&left, type);
  op.operands[2] = scalarView(&right, type);
  execute(op);
  return loadScalar(&out, type);
}

int64_t tilewright::sim::convertScalar(int64_t value, DType from, DType to) {
  if (!isFloat(from) && !isFloat(to))
    return to == DType::I1 ? value != 0 : wrap(to, uint64_t(value));
  if (from == DType::F32 && isFloat(to) && to != DType::F64)
    return fromF32(roundTo(to, asF32(value)));

  double wide;
  if (from == DType::U64)
    wide = double(uint64_t(value));
  else if (!isFloat(from))
    wide = double(value);
  else
    wide = from == DType::F64 ? asF64(value) : double(asF32(value));
  switch (to) {
  case DType::F64:
    return fromF64(wide);
  case DType::F32:
    if (isFloat(from))
      return fromF32(float(wide));
    return fromF32(from == DType::U64 ? float(uint64_t(value)) : float(value));
  case DType::F8E4M3:
    return fromF32(quarterToFloat<3>(doubleToQuarter<3>(wide)));
  case DType::F8E5M2:
    return fromF32(quarterToFloat<2>(doubleToQuarter<2>(wide)));
  case DType::F16:
    return fromF32(halfToFloat(doubleToHalf(wide)));
  case DType::BF16:
    return fromF32(bfloatToFloat(doubleToBfloat(wide)));
  default:
    return floatToInt(wide, to);
  }
}

void tilewright::sim::storeScalar(void *memory, DType type, int64_t value) {
  uint16_t half;
  uint8_t quarter;
  switch (type) {
  case DType::F8E4M3:
  case DType::F8E5M2:
    quarter =
        type == DType::F8E4M3 ? floatToQuarter<3>(asF32(value)) : floatToQuarter<2>(asF32(value));
    std::memcpy(memory, &quarter, 1);
    return;
  case DType::F16:
    half = floatToHalf(asF32(value));
    std::memcpy(memory, &half, 2);
    return;
  case DType::BF16:
    half = floatToBfloat(asF32(value));
    std::memcpy(memory, &half, 2);
    return;
  default:
    std::memcpy(memory, &value, byteSize(type)); // little endian hosts only
  }
}

int64_t tilewright::sim::loadScalar(const void *memory, DType type) {
  uint64_t bits = 0;
  std::memcpy(&bits, memory, byteSize(type));
  switch (type) {
  case DType::F8E4M3:
    return fromF32(quarterToFloat<3>(uint8_t(bits)));
  case DType::F8E5M2:
    return fromF32(quarterToFloat<2>(uint8_t(bits)));
  case DType::F16:
    return fromF32(halfToFloat(uint16_t(bits)));
  case DType::BF16:
    return fromF32(bfloatToFloat(uint16_t(bits)));
  case DType::F32:
  case DType::F64:
    return int64_t(bits);
  case DType::I1:
    return bits != 0;
  default:
    return wrap(type, bits);
  }
}

VmStop tilewright::sim::runVm(VmState &state, const VmContext &context, int64_t limit) {
  int64_t *const regs = state.regs.data();
  const Insn *const code = context.code;
  int32_t pc = state.pc;
  int64_t left = limit - state.executed;
  VmStop stop = VmStop::Event;

  for (;; --left) {
    const Insn &insn = code[pc];
    if (left <= 0) {
      stop = VmStop::Watchdog;
      break;
    }
    // Operands may be absent (-1); they are read inside the cases only.
    auto a = [&]() -> int64_t { return regs[insn.a]; };
    auto b = [&]() -> int64_t { return regs[insn.b]; };
    auto put = [&](int64_t value) { regs[insn.dst] = value; };
    auto putWrapped = [&](uint64_t value) { regs[insn.dst] = wrap(insn.type, value); };
    auto ua = [&] { return zext(insn.type, regs[insn.a]); };
    auto ub = [&] { return zext(insn.type, regs[insn.b]); };

    switch (insn.op) {
    case Opcode::Const:
      put(insn.imm);
      break;
    case Opcode::Move:
      put(a());
      break;
    case Opcode::Add:
      putWrapped(uint64_t(a()) + uint64_t(b()));
      break;
    case Opcode::Sub:
      putWrapped(uint64_t(a()) - uint64_t(b()));
      break;
    case Opcode::Mul:
      putWrapped(uint64_t(a()) * uint64_t(b()));
      break;
    case Opcode::DivS:
    case Opcode::RemS:
    case Opcode::DivU:
    case Opcode::RemU:
    case Opcode::FloorDiv:
    case Opcode::FloorMod:
    case Opcode::CeilDiv: {
      int64_t divisor = b();
      bool isUnsigned = insn.type == DType::U64; // narrower unsigned values fit a signed register
      if (divisor == 0) // as the elements of a tile; what a mask discards is computed as well
        put(0);
      else if (insn.op == Opcode::DivU || (isUnsigned && insn.op == Opcode::FloorDiv))
        putWrapped(ua() / ub());
      else if (insn.op == Opcode::RemU || (isUnsigned && insn.op == Opcode::FloorMod))
        putWrapped(ua() % ub());
      else if (isUnsigned && insn.op == Opcode::CeilDiv)
        putWrapped(ua() / ub() + (ua() % ub() != 0));
      else if (insn.op == Opcode::DivS)
        putWrapped(uint64_t(divTrunc(a(), divisor)));
      else if (insn.op == Opcode::RemS)
        putWrapped(uint64_t(remTrunc(a(), divisor)));
      else if (insn.op == Opcode::FloorDiv)
        putWrapped(uint64_t(divFloor(a(), divisor)));
      else if (insn.op == Opcode::FloorMod)
        putWrapped(uint64_t(modFloor(a(), divisor)));
      else
        putWrapped(uint64_t(divCeil(a(), divisor)));
      break;
    }
    case Opcode::And:
      putWrapped(uint64_t(a() & b()));
      break;
    case Opcode::Or:
      putWrapped(uint64_t(a() | b()));
      break;
    case Opcode::Xor:
      putWrapped(uint64_t(a() ^ b()));
      break;
    case Opcode::Shl:
      putWrapped(ub() < bitsOf(insn.type) ? uint64_t(a()) << ub() : 0);
      break;
    case Opcode::ShrS:
      putWrapped(uint64_t(a() >> (ub() < 63 ? ub() : 63)));
      break;
    case Opcode::ShrU:
      putWrapped(ub() < bitsOf(insn.type) ? ua() >> ub() : 0);
      break;
    case Opcode::MinS:
      put(a() < b() ? a() : b());
      break;
    case Opcode::MaxS:
      put(a() > b() ? a() : b());
      break;
    case Opcode::MinU:
      put(uint64_t(a()) < uint64_t(b()) ? a() : b());
      break;
    case Opcode::MaxU:
      put(uint64_t(a()) > uint64_t(b()) ? a() : b());
      break;
    case Opcode::CmpEQ:
      put(a() == b());
      break;
    case Opcode::CmpNE:
      put(a() != b());
      break;
    case Opcode::CmpLT:
      put(a() < b());
      break;
    case Opcode::CmpLE:
      put(a() <= b());
      break;
    case Opcode::CmpGT:
      put(a() > b());
      break;
    case Opcode::CmpGE:
      put(a() >= b());
      break;
    case Opcode::CmpULT:
      put(uint64_t(a()) < uint64_t(b()));
      break;
    case Opcode::CmpULE:
      put(uint64_t(a()) <= uint64_t(b()));
      break;
    case Opcode::CmpUGT:
      put(uint64_t(a()) > uint64_t(b()));
      break;
    case Opcode::CmpUGE:
      put(uint64_t(a()) >= uint64_t(b()));
      break;
    case Opcode::Select:
      put(a() ? b() : regs[insn.c]);
      break;
    case Opcode::FAdd:
      put(floatOp(insn.type, a(), b(), [](auto x, auto y) { return x + y; }));
      break;
    case Opcode::FSub:
      put(floatOp(insn.type, a(), b(), [](auto x, auto y) { return x - y; }));
      break;
    case Opcode::FMul:
      put(floatOp(insn.type, a(), b(), [](auto x, auto y) { return x * y; }));
      break;
    case Opcode::FDiv:
      put(floatOp(insn.type, a(), b(), [](auto x, auto y) { return x / y; }));
      break;
    case Opcode::FMax:
      put(evalBinary(BinaryFn::Max, insn.type, a(), b()));
      break;
    case Opcode::FMin:
      put(evalBinary(BinaryFn::Min, insn.type, a(), b()));
      break;
    case Opcode::FMaxNum:
      put(evalBinary(BinaryFn::MaxNum, insn.type, a(), b()));
      break;
    case Opcode::FMinNum:
      put(evalBinary(BinaryFn::MinNum, insn.type, a(), b()));
      break;
    case Opcode::FNeg:
      put(insn.type == DType::F64 ? fromF64(-asF64(a())) : fromF32(-asF32(a())));
      break;
    case Opcode::FCmpEQ:
      put(floatCompare(insn.type, a(), b(), [](auto x, auto y) { return x == y; }));
      break;
    case Opcode::FCmpNE:
      put(floatCompare(insn.type, a(), b(), [](auto x, auto y) { return x != y; }));
      break;
    case Opcode::FCmpLT:
      put(floatCompare(insn.type, a(), b(), [](auto x, auto y) { return x < y; }));
      break;
    case Opcode::FCmpLE:
      put(floatCompare(insn.type, a(), b(), [](auto x, auto y) { return x <= y; }));
      break;
    case Opcode::FCmpGT:
      put(floatCompare(insn.type, a(), b(), [](auto x, auto y) { return x > y; }));
      break;
    case Opcode::FCmpGE:
      put(floatCompare(insn.type, a(), b(), [](auto x, auto y) { return x >= y; }));
      break;
    case Opcode::FUnary:
      put(evalUnary(static_cast<UnaryFn>(insn.imm), insn.type, a()));
      break;
    case Opcode::FBinary:
      put(evalBinary(static_cast<BinaryFn>(insn.imm), insn.type, a(), b()));
      break;
    case Opcode::Convert:
      put(convertScalar(a(), static_cast<DType>(insn.imm), insn.type));
      break;
    case Opcode::Bitcast: {
      uint64_t memory = 0;
      storeScalar(&memory, static_cast<DType>(insn.imm), a());
      put(loadScalar(&memory, insn.type));
      break;
    }
    case Opcode::Jump:
      pc = int32_t(insn.imm);
      continue;
    case Opcode::JumpIf:
      if (a()) {
        pc = int32_t(insn.imm);
        continue;
      }
      break;
    case Opcode::JumpIfNot:
      if (!a()) {
        pc = int32_t(insn.imm);
        continue;
      }
      break;
    case Opcode::CoreId:
      put(context.coreId);
      break;
    case Opcode::CoreCount:
      put(context.coreCount);
      break;
    case Opcode::SubCoreId:
      put(context.subCoreId);
      break;
    case Opcode::ScalarArg:
      put(context.scalarArgs[insn.imm]);
      break;
    case Opcode::Assert:
      if (a())
        break;
      goto leave;
    default: // Halt and everything that the engine carries out
      goto leave;
    }
    ++pc;
  }
leave:
  state.pc = pc;
  state.executed = limit - left;
  return stop;
}
