// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Micro benchmark of the simulator's kernels: time and rate of tile multiplies and of the row
// operations of a softmax, per instruction set level.
#include "tilewright/sim/Kernels.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>

using namespace tilewright::sim;

namespace {

int64_t bytesOf(DType type) {
  return type == DType::F32 || type == DType::I32 ? 4 : (type == DType::I8 ? 1 : 2);
}

/// A dense tile that owns its memory.
struct Tile {
  std::vector<std::byte> memory;
  ResolvedView view;

  Tile(DType type, int64_t rows, int64_t columns)
      : memory(size_t(rows * columns * bytesOf(type)) + 64) {
    std::mt19937 random(7);
    std::byte *data = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
    for (int64_t i = 0; i < rows * columns; ++i) {
      float value = std::normal_distribution<float>()(random);
      uint32_t bits;
      std::memcpy(&bits, &value, 4);
      if (type == DType::BF16)
        bits >>= 16;
      if (type == DType::F16) {
        _Float16 half = _Float16(value);
        std::memcpy(&bits, &half, 2);
      }
      std::memcpy(data + i * bytesOf(type), &bits, size_t(bytesOf(type)));
    }
    view.data = data;
    view.type = type;
    view.rank = 2;
    view.sizes = {rows, columns};
    view.strides = {columns, 1};
  }
};

/// Best time of a call in microseconds.
double measure(const std::function<void()> &f) {
  using Clock = std::chrono::steady_clock;
  double best = 1e30;
  f();
  auto end = Clock::now() + std::chrono::milliseconds(60);
  while (Clock::now() < end) {
    auto start = Clock::now();
    for (int i = 0; i < 4; ++i)
      f();
    best =
        std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - start).count() / 4);
  }
  return best;
}

const char *nameOf(DType type) {
  switch (type) {
  case DType::F16:
    return "f16";
  case DType::BF16:
    return "bf16";
  case DType::I8:
    return "i8";
  default:
    return "f32";
  }
}

void benchMmad(DType type, int64_t m, int64_t n, int64_t k, bool transposeA, bool transposeB) {
  Tile c(type == DType::I8 ? DType::I32 : DType::F32, m, n);
  Tile a(type, transposeA ? k : m, transposeA ? m : k),
      b(type, transposeB ? n : k, transposeB ? k : n);
  double us = measure([&] { mmad(c.view, a.view, b.view, transposeA, transposeB, false); });
  std::printf("  mmad %-4s %4d x %4d x %4d %s%s %9.2f us %8.1f GFLOP/s\n", nameOf(type), int(m),
              int(n), int(k), transposeA ? "T" : "N", transposeB ? "T" : "N", us,
              2e-3 * double(m * n * k) / us);
}

ResolvedOp makeOp(TileOp op, uint16_t fn, std::initializer_list<ResolvedView> operands) {
  ResolvedOp result;
  result.op = op;
  result.fn = fn;
  for (const ResolvedView &view : operands)
    result.operands[result.numOperands++] = view;
  return result;
}

/// One vector value per row, spread over the columns.
ResolvedView spread(const ResolvedView &column, int64_t columns) {
  ResolvedView result = column;
  result.sizes[1] = columns;
  result.strides = {1, 0};
  return result;
}

void benchRows(DType type, int64_t rows, int64_t columns) {
  Tile x(type, rows, columns), y(type, rows, columns), column(type, rows, 1);
  Tile wide(DType::F32, rows, columns);
  ResolvedView perRow = spread(column.view, columns);
  ResolvedOp scalar = makeOp(TileOp::BinaryScalar, uint16_t(BinaryFn::Mul), {y.view, x.view});
  scalar.numScalars = 1;
  scalar.scalars[0] = 0x3f000000;
  const std::pair<const char *, ResolvedOp> ops[] = {
      {"row max", makeOp(TileOp::Reduce, uint16_t(ReduceFn::Max), {perRow, x.view})},
      {"x - max", makeOp(TileOp::Binary, uint16_t(BinaryFn::Sub), {y.view, x.view, perRow})},
      {"exp", makeOp(TileOp::Unary, uint16_t(UnaryFn::Exp), {y.view, x.view})},
      {"exp in place", makeOp(TileOp::Unary, uint16_t(UnaryFn::Exp), {wide.view, wide.view})},
      {"row sum", makeOp(TileOp::Reduce, uint16_t(ReduceFn::Sum), {perRow, x.view})},
      {"x / sum", makeOp(TileOp::Binary, uint16_t(BinaryFn::Div), {y.view, x.view, perRow})},
      {"x * scalar", scalar},
      {"x + y", makeOp(TileOp::Binary, uint16_t(BinaryFn::Add), {y.view, x.view, y.view})},
      {"to f32", makeOp(TileOp::Cast, 0, {wide.view, x.view})},
      {"from f32", makeOp(TileOp::Cast, 0, {y.view, wide.view})},
      {"copy", makeOp(TileOp::Copy, 0, {y.view, x.view})},
      {"tanh", makeOp(TileOp::Unary, uint16_t(UnaryFn::Tanh), {y.view, x.view})},
      {"sin", makeOp(TileOp::Unary, uint16_t(UnaryFn::Sin), {y.view, x.view})},
  };
  for (const auto &[name, op] : ops) {
    double us = measure([&op = op] { execute(op); });
    std::printf("  %-4s %4d x %4d %-14s %9.2f us %8.2f elements/ns\n", nameOf(type), int(rows),
                int(columns), name, us, 1e-3 * double(rows * columns) / us);
  }
}

} // namespace

int main() {
  for (const std::string &level : kernelLevels()) {
    useKernelLevel(level);
    std::printf("level %s\n", level.c_str());
    for (DType type : {DType::F16, DType::BF16, DType::F32, DType::I8}) {
      benchMmad(type, 64, 64, 64, false, false);
      benchMmad(type, 128, 128, 64, false, false);
      benchMmad(type, 128, 256, 64, false, false);
    }
    benchMmad(DType::F16, 128, 256, 256, false, false);
    benchMmad(DType::F16, 128, 256, 64, false, true);
    benchMmad(DType::F16, 128, 256, 64, true, false);
    benchMmad(DType::F16, 16, 16, 16, false, false);
    benchRows(DType::F32, 64, 256);
    benchRows(DType::F16, 64, 256);
    benchRows(DType::F32, 64, 64);
  }
  return 0;
}
