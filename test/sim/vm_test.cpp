// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Vm.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

using namespace tilewright::sim;

namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min(),
                  kMax = std::numeric_limits<int64_t>::max();

/// Runs one instruction dst = op(a, b, c).
int64_t eval(Opcode op, int64_t a, int64_t b = 0, DType type = DType::I64, int64_t imm = 0,
             int64_t c = 0) {
  Insn code[] = {{.op = op, .type = type, .dst = 3, .a = 0, .b = 1, .c = 2, .imm = imm},
                 {.op = Opcode::Halt}};
  VmState state;
  state.regs = {a, b, c, 0};
  VmContext context;
  context.code = code;
  EXPECT_EQ(runVm(state, context, 100), VmStop::Event);
  EXPECT_EQ(state.pc, 1);
  return state.regs[3];
}

int64_t f32(float value) { return std::bit_cast<uint32_t>(value); }
float asF32(int64_t bits) { return std::bit_cast<float>(uint32_t(bits)); }
int64_t f64(double value) { return std::bit_cast<int64_t>(value); }

TEST(Vm, FloorDivisionOnExtremes) {
  EXPECT_EQ(eval(Opcode::FloorDiv, -7, 2), -4);
  EXPECT_EQ(eval(Opcode::FloorDiv, 7, -2), -4);
  EXPECT_EQ(eval(Opcode::FloorDiv, -8, 2), -4);
  EXPECT_EQ(eval(Opcode::FloorDiv, kMin, 1), kMin);
  EXPECT_EQ(eval(Opcode::FloorDiv, kMin, -1), kMin); // wraps, as 64-bit arithmetic does
  EXPECT_EQ(eval(Opcode::FloorDiv, kMin, kMax), -2);
  EXPECT_EQ(eval(Opcode::FloorDiv, kMax, kMin), -1);
  EXPECT_EQ(eval(Opcode::FloorDiv, kMin, 3), -3074457345618258603);
  EXPECT_EQ(eval(Opcode::FloorMod, kMin, kMax), kMax - 1);
  EXPECT_EQ(eval(Opcode::FloorMod, kMin, -1), 0);
  EXPECT_EQ(eval(Opcode::FloorMod, -7, 3), 2);
  EXPECT_EQ(eval(Opcode::FloorMod, 7, -3), -2);
  EXPECT_EQ(eval(Opcode::CeilDiv, 7, 2), 4);
  EXPECT_EQ(eval(Opcode::CeilDiv, -7, 2), -3);
  EXPECT_EQ(eval(Opcode::CeilDiv, kMin, kMax), -1);
  EXPECT_EQ(eval(Opcode::DivS, kMin, -1), kMin);
  EXPECT_EQ(eval(Opcode::RemS, kMin, -1), 0);
  EXPECT_EQ(eval(Opcode::RemS, -7, 3), -1);
}

TEST(Vm, UnsignedAndNarrowIntegers) {
  EXPECT_EQ(eval(Opcode::DivU, -1, 2), kMax);
  EXPECT_EQ(eval(Opcode::DivU, -1, 2, DType::I32), 0x7fffffff);
  EXPECT_EQ(eval(Opcode::RemU, -1, 10, DType::U64), 5);
  EXPECT_EQ(eval(Opcode::FloorDiv, -1, 2, DType::U64), kMax);
  EXPECT_EQ(eval(Opcode::Add, 0x7fffffff, 1, DType::I32), -2147483648LL);
  EXPECT_EQ(eval(Opcode::Add, 0xffffffff, 1, DType::U32), 0);
  EXPECT_EQ(eval(Opcode::Sub, 0, 1, DType::U8), 255);
  EXPECT_EQ(eval(Opcode::Mul, 200, 200, DType::I16), 40000 - 65536);
  EXPECT_EQ(eval(Opcode::Mul, kMin, -1), kMin);
  EXPECT_EQ(eval(Opcode::ShrU, -1, 28, DType::I32), 15);
  EXPECT_EQ(eval(Opcode::ShrS, -16, 2, DType::I32), -4);
  EXPECT_EQ(eval(Opcode::Shl, 1, 31, DType::I32), -2147483648LL);
  EXPECT_EQ(eval(Opcode::Shl, 1, 64), 0);
  EXPECT_EQ(eval(Opcode::ShrU, 1, 64), 0);
  EXPECT_EQ(eval(Opcode::ShrS, -1, 200), -1);
  EXPECT_EQ(eval(Opcode::Xor, 1, 1, DType::I1), 0);
  EXPECT_EQ(eval(Opcode::MaxU, -1, 1), -1);
  EXPECT_EQ(eval(Opcode::MinS, -1, 1), -1);
  EXPECT_EQ(eval(Opcode::CmpULT, 1, -1), 1);
  EXPECT_EQ(eval(Opcode::CmpLT, 1, -1), 0);
  EXPECT_EQ(eval(Opcode::Select, 0, 5, DType::I64, 0, 9), 9);
}

TEST(Vm, Floats) {
  EXPECT_EQ(asF32(eval(Opcode::FAdd, f32(1.5f), f32(2.25f), DType::F32)), 3.75f);
  EXPECT_EQ(eval(Opcode::FDiv, f64(1), f64(3), DType::F64), f64(1.0 / 3));
  // f16 and bf16 results are rounded to their type.
  EXPECT_EQ(asF32(eval(Opcode::FAdd, f32(2048), f32(1), DType::F16)), 2048.f);
  EXPECT_EQ(asF32(eval(Opcode::FAdd, f32(256), f32(1), DType::BF16)), 256.f);
  EXPECT_TRUE(std::isinf(asF32(eval(Opcode::FMul, f32(60000), f32(2), DType::F16))));
  EXPECT_EQ(eval(Opcode::FCmpLT, f32(NAN), f32(1), DType::F32), 0);
  EXPECT_EQ(eval(Opcode::FCmpNE, f32(NAN), f32(NAN), DType::F32), 1);
  EXPECT_TRUE(std::isnan(asF32(eval(Opcode::FMax, f32(NAN), f32(1), DType::F32))));
  EXPECT_EQ(asF32(eval(Opcode::FMaxNum, f32(NAN), f32(1), DType::F32)), 1.f);
  EXPECT_EQ(asF32(eval(Opcode::FUnary, f32(4), 0, DType::F32, int64_t(UnaryFn::Sqrt))), 2.f);
  EXPECT_EQ(eval(Opcode::FUnary, f32(NAN), 0, DType::F32, int64_t(UnaryFn::IsNan)), 1);
  EXPECT_EQ(eval(Opcode::FUnary, f32(INFINITY), 0, DType::F32, int64_t(UnaryFn::IsFinite)), 0);
  EXPECT_EQ(asF32(eval(Opcode::FBinary, f32(2), f32(10), DType::F32, int64_t(BinaryFn::Pow))),
            1024.f);
}

TEST(Vm, Conversions) {
  auto toInt = [](float value, DType to) { return convertScalar(f32(value), DType::F32, to); };
  EXPECT_EQ(toInt(-2.9f, DType::I32), -2);
  EXPECT_EQ(toInt(3e9f, DType::I32), 2147483647);
  EXPECT_EQ(toInt(-3e9f, DType::I32), -2147483648LL);
  EXPECT_EQ(toInt(NAN, DType::I32), 0);
  EXPECT_EQ(toInt(INFINITY, DType::I64), kMax);
  EXPECT_EQ(toInt(-INFINITY, DType::I64), kMin);
  EXPECT_EQ(toInt(-5.f, DType::U8), 0);
  EXPECT_EQ(toInt(300.f, DType::U8), 255);
  EXPECT_EQ(toInt(1e20f, DType::U64), -1);
  EXPECT_EQ(toInt(0.5f, DType::I1), 1);
  EXPECT_EQ(convertScalar(300, DType::I64, DType::I8), 44);
  EXPECT_EQ(convertScalar(-1, DType::I8, DType::U32), 0xffffffff);
  EXPECT_EQ(convertScalar(2, DType::I64, DType::I1), 1);
  EXPECT_EQ(convertScalar(-1, DType::U64, DType::F64), f64(18446744073709551616.0));
  EXPECT_EQ(asF32(convertScalar(2049, DType::I64, DType::F16)), 2048.f);
  EXPECT_EQ(asF32(convertScalar(16777217, DType::I64, DType::F32)), 16777216.f);
  EXPECT_EQ(asF32(convertScalar(f64(1 + 0x1p-11 + 0x1p-40), DType::F64, DType::F16)), 1 + 0x1p-10f);
  EXPECT_EQ(convertScalar(f32(0.1f), DType::F32, DType::F64), f64(double(0.1f)));
}

TEST(Vm, MemoryForms) {
  uint64_t memory = 0;
  storeScalar(&memory, DType::F16, f32(1.5f));
  EXPECT_EQ(memory, 0x3e00u);
  EXPECT_EQ(asF32(loadScalar(&memory, DType::F16)), 1.5f);
  storeScalar(&memory, DType::I8, -3);
  EXPECT_EQ(loadScalar(&memory, DType::I8), -3);
  EXPECT_EQ(loadScalar(&memory, DType::U8), 253);
}

TEST(Vm, StopsAndGoesOn) {
  Insn code[] = {{.op = Opcode::Const, .dst = 0, .imm = 5},
                 {.op = Opcode::Issue},
                 {.op = Opcode::CoreId, .dst = 1},
                 {.op = Opcode::ScalarArg, .dst = 2, .imm = 1},
                 {.op = Opcode::Assert, .a = 0},
                 {.op = Opcode::Const, .dst = 0, .imm = 0},
                 {.op = Opcode::Assert, .a = 0}};
  int64_t args[] = {7, 8};
  VmState state;
  state.regs.resize(3);
  VmContext context;
  context.code = code;
  context.scalarArgs = args;
  context.coreId = 42;
  EXPECT_EQ(runVm(state, context, 100), VmStop::Event);
  EXPECT_EQ(state.pc, 1);
  ++state.pc;
  EXPECT_EQ(runVm(state, context, 100), VmStop::Event);
  EXPECT_EQ(state.pc, 6);
  EXPECT_EQ(state.regs[1], 42);
  EXPECT_EQ(state.regs[2], 8);
  EXPECT_EQ(state.executed, 5);

  state.pc = 0;
  state.executed = 0;
  EXPECT_EQ(runVm(state, context, 1), VmStop::Watchdog);
}

TEST(Vm, DivisionByZeroGivesZero) {
  for (Opcode op : {Opcode::DivS, Opcode::RemS, Opcode::DivU, Opcode::RemU, Opcode::FloorDiv,
                    Opcode::FloorMod, Opcode::CeilDiv}) {
    EXPECT_EQ(eval(op, 7, 0), 0);
    EXPECT_EQ(eval(op, kMin, 0, DType::U64), 0);
  }
}

} // namespace
