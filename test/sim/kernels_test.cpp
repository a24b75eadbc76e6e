// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels against the definitions, on every instruction set level that this CPU has.
#include "kernels_reference.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace tilewright::sim;
using namespace tilewright::sim::testing;

namespace {

const DType kAllTypes[] = {DType::I1,   DType::I8,  DType::U8,  DType::I16, DType::U16,
                           DType::I32,  DType::U32, DType::I64, DType::U64, DType::F16,
                           DType::BF16, DType::F32, DType::F64};

constexpr int kUnaryFns = int(UnaryFn::IsFinite) + 1;
constexpr int kBinaryFns = int(BinaryFn::Pow) + 1;

bool isPredicate(UnaryFn fn) { return fn >= UnaryFn::IsNan; }
bool integersHave(UnaryFn fn) {
  return fn == UnaryFn::Neg || fn == UnaryFn::Abs || fn >= UnaryFn::Floor;
}
bool floatsHave(BinaryFn fn) { return fn != BinaryFn::Shl && fn != BinaryFn::Shr; }

/// Draws cases of one kind and compares, on every level.
class Kernels : public ::testing::Test {
protected:
  void TearDown() override { useKernelLevel(kernelLevels().front()); }

  /// Fills the operands' memory, runs the case by definition and on each level.
  void check(const Case &c) {
    Arena start = gen.arena();
    for (const Place &place : c.operands)
      gen.fill(place, start);
    Arena wanted = start;
    reference(c, wanted);
    forgetNans(c, wanted);
    for (const std::string &level : kernelLevels()) {
      ASSERT_TRUE(useKernelLevel(level));
      Arena got = start;
      execute(c.resolve(got));
      forgetNans(c, got);
      if (std::memcmp(got.data(), wanted.data(), got.size()) == 0)
        continue;
      size_t at = 0;
      while (got[at] == wanted[at])
        ++at;
      FAIL() << "level " << level << ", first difference at byte " << at << "\n" << describe(c);
    }
  }

  /// dst and sources over one random box.
  Case draw(TileOp op, uint16_t fn, DType dst, const std::vector<DType> &sources) {
    gen.reset();
    Case c;
    c.op = op;
    c.fn = fn;
    std::vector<int64_t> sizes = gen.box(4, 3000);
    c.operands.push_back(gen.place(dst, sizes, false));
    for (DType type : sources) {
      Place place = gen.place(type, sizes, true);
      gen.maybeOverlap(c.operands[0], place);
      c.operands.push_back(place);
    }
    return c;
  }

  Generator gen{20240611};
};

TEST_F(Kernels, Unary) {
  for (DType type : kAllTypes)
    for (int fn = 0; fn < kUnaryFns; ++fn) {
      if (!isFloatType(type) && !integersHave(UnaryFn(fn)))
        continue;
      for (int i = 0; i < 8; ++i)
        check(
            draw(TileOp::Unary, uint16_t(fn), isPredicate(UnaryFn(fn)) ? DType::I1 : type, {type}));
    }
}

TEST_F(Kernels, UnaryOfIntegersThroughFloats) {
  // 9 -> sqrt 3 exactly; 2 -> 1 (truncated); -1 -> NaN -> 0.
  int32_t in[3] = {9, 2, -1}, out[3] = {7, 7, 7};
  ResolvedOp op;
  op.op = TileOp::Unary;
  op.fn = uint16_t(UnaryFn::Sqrt);
  op.numOperands = 2;
  for (int o = 0; o < 2; ++o) {
    op.operands[o].data = reinterpret_cast<std::byte *>(o ? in : out);
    op.operands[o].type = DType::I32;
    op.operands[o].rank = 1;
    op.operands[o].sizes[0] = 3;
    op.operands[o].strides[0] = 1;
  }
  execute(op);
  EXPECT_EQ(out[0], 3);
  EXPECT_EQ(out[1], 1);
  EXPECT_EQ(out[2], 0);
}

TEST_F(Kernels, Binary) {
  for (DType type : kAllTypes)
    for (int fn = 0; fn < kBinaryFns; ++fn) {
      if (isFloatType(type) && !floatsHave(BinaryFn(fn)))
        continue;
      for (int i = 0; i < 8; ++i)
        check(draw(TileOp::Binary, uint16_t(fn), type, {type, type}));
    }
}

TEST_F(Kernels, BinaryScalar) {
  for (DType type : kAllTypes)
    for (int fn = 0; fn < kBinaryFns; ++fn) {
      if (isFloatType(type) && !floatsHave(BinaryFn(fn)))
        continue;
      for (int i = 0; i < 6; ++i) {
        Case c = draw(TileOp::BinaryScalar, uint16_t(fn), type, {type});
        c.flags = i % 2 ? kScalarFirst : 0;
        c.scalars = {gen.scalar(type)};
        check(c);
      }
    }
}

TEST_F(Kernels, Compare) {
  for (DType type : kAllTypes)
    for (int fn = 0; fn <= int(CompareFn::GE); ++fn)
      for (int i = 0; i < 8; ++i) {
        check(draw(TileOp::Compare, uint16_t(fn), DType::I1, {type, type}));
        Case c = draw(TileOp::CompareScalar, uint16_t(fn), DType::I1, {type});
        c.flags = i % 2 ? kScalarFirst : 0;
        c.scalars = {gen.scalar(type)};
        check(c);
      }
}

TEST_F(Kernels, Cast) {
  for (DType from : kAllTypes)
    for (DType to : kAllTypes)
      for (int mode = 0; mode <= int(RoundMode::Odd); ++mode)
        for (int i = 0; i < 2; ++i) {
          Case c = draw(TileOp::Cast, 0, to, {from});
          c.round = RoundMode(mode);
          check(c);
        }
}

TEST_F(Kernels, Fixpipe) {
  for (DType to : {DType::F16, DType::BF16, DType::F32})
    for (int i = 0; i < 40; ++i) {
      Case c = draw(TileOp::Fixpipe, 0, to, {DType::F32});
      c.flags = i % 2 ? kRelu : 0;
      check(c);
    }
  check(draw(TileOp::Fixpipe, 0, DType::I32, {DType::I32}));
}

TEST_F(Kernels, Moves) {
  for (DType type : kAllTypes)
    for (int i = 0; i < 60; ++i) {
      check(draw(i % 3 ? (i % 3 == 1 ? TileOp::Load : TileOp::Store) : TileOp::Copy, 0, type,
                 {type}));
      check(draw(TileOp::Select, 0, type, {DType::I1, type, type}));
    }
}

TEST_F(Kernels, FillAndIota) {
  for (DType type : kAllTypes)
    for (int i = 0; i < 20; ++i) {
      Case fill = draw(i % 2 ? TileOp::Fill : TileOp::FillL1, 0, type, {});
      fill.scalars = {gen.scalar(type)};
      check(fill);
      Case iota = draw(TileOp::Iota, 0, type, {});
      iota.scalars = {gen.between(-300, 300)};
      for (size_t d = 0; d < iota.operands[0].sizes.size(); ++d)
        iota.scalars.push_back(gen.between(-7, 7));
      check(iota);
    }
}

TEST_F(Kernels, Gather) {
  for (DType type : kAllTypes)
    for (int i = 0; i < 20; ++i) {
      Case c = draw(TileOp::Gather, 0, type, {type, DType::I32});
      Place table = gen.place(type, {gen.between(1, 40)}, false);
      gen.maybeOverlap(c.operands[0], table);
      table.strides.resize(1);
      if (table.strides.empty() || table.strides[0] == 0)
        table.strides = {1};
      c.operands[1] = table;
      // Room for a table that was moved.
      gen.place(type, {table.sizes[0] * std::max<int64_t>(1, table.strides[0])}, false);
      check(c);
    }
}

TEST_F(Kernels, Atomics) {
  for (TileOp op : {TileOp::AtomicAdd, TileOp::AtomicMax, TileOp::AtomicMin})
    for (DType type : kAllTypes)
      for (int i = 0; i < 10; ++i) {
        gen.reset();
        Case c;
        c.op = op;
        std::vector<int64_t> sizes = gen.box(3, 2000);
        // Elements of the destination may be the same memory: each adds in turn.
        c.operands = {gen.place(type, sizes, i % 2), gen.place(type, sizes, true)};
        check(c);
      }
}

TEST_F(Kernels, Reduce) {
  for (DType type : kAllTypes)
    for (int fn = 0; fn <= int(ReduceFn::Xor); ++fn)
      for (int i = 0; i < 12; ++i) {
        gen.reset();
        Case c;
        c.op = TileOp::Reduce;
        c.fn = uint16_t(fn);
        c.flags = i % 2 ? kAccumulate : 0;
        std::vector<int64_t> sizes = gen.box(4, 4000), kept = sizes;
        for (int64_t &size : kept)
          if (gen.chance(50))
            size = 1;
        Place dst = gen.place(i % 5 == 4 && isFloatType(type) ? DType::F32 : type, kept, false);
        for (size_t d = 0; d < sizes.size(); ++d)
          if (kept[d] != sizes[d])
            dst.strides[d] = 0;
        Place src = gen.place(type, sizes, true);
        gen.maybeOverlap(dst, src);
        c.operands = {dst, src};
        check(c);
      }
}

TEST_F(Kernels, ReduceOfNothingIsTheIdentity) {
  float out[2] = {5, 6};
  ResolvedOp op;
  op.op = TileOp::Reduce;
  op.fn = uint16_t(ReduceFn::Prod);
  op.numOperands = 2;
  for (int o = 0; o < 2; ++o) {
    op.operands[o].data = reinterpret_cast<std::byte *>(out);
    op.operands[o].rank = 2;
  }
  op.operands[0].sizes = {2, 1};
  op.operands[0].strides = {1, 0};
  op.operands[1].sizes = {2, 0};
  op.operands[1].strides = {0, 1};
  execute(op);
  EXPECT_EQ(out[0], 1.0f);
  EXPECT_EQ(out[1], 1.0f);
}

TEST_F(Kernels, Scan) {
  for (DType type : kAllTypes)
    for (int fn = 0; fn <= int(ReduceFn::Xor); ++fn)
      for (int i = 0; i < 8; ++i) {
        Case c = draw(TileOp::Scan, uint16_t(fn), type, {type});
        int rank = int(c.operands[0].sizes.size());
        if (rank == 0)
          continue;
        c.fn |= uint16_t(gen.between(0, rank - 1) << 8);
        c.flags = i % 2 ? kReverse : 0;
        check(c);
      }
}

TEST_F(Kernels, EmptyBoxesDoNothing) {
  float memory[4] = {1, 2, 3, 4};
  ResolvedOp op;
  op.op = TileOp::Fill;
  op.numOperands = 1;
  op.numScalars = 1;
  op.operands[0].data = reinterpret_cast<std::byte *>(memory);
  op.operands[0].rank = 2;
  op.operands[0].sizes = {2, 0};
  op.operands[0].strides = {2, 1};
  execute(op);
  EXPECT_EQ(memory[0], 1.0f);
}

} // namespace
