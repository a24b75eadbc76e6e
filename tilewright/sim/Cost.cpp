// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long one tile instruction keeps its pipe busy. The rates come from the chip file; the
// formulas are those of the public cost tables (machine/chips/README.md):
//  - a vector instruction works through repeats of 256 bytes, at most 255 of them, and pays a fixed
//    head and tail (vec_fixed): measured for 64 repeats of an addition: 64 + 24 cycles;
//  - MTE1 moves bytes / rate plus a start per LoadData;
//  - the cube does one 16 x 16 x 32-byte step per cycle plus an overhead per instruction.
// Functions that the vector unit lacks cost what a usual sequence of its instructions costs; those
// sequences are estimates.
#include "tilewright/sim/Clock.h"
#include "tilewright/sim/Kernels.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

namespace tilewright::sim {
namespace {

using machine::Machine;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool isInteger(DType type) { return !isFloat(type); }

bool isWide(DType type) { return type == DType::I64 || type == DType::U64 || type == DType::F64; }

int64_t elementCount(const ResolvedView &view) {
  int64_t count = 1;
  for (unsigned dim = 0; dim < view.rank; ++dim)
    count *= view.sizes[dim];
  return count;
}

/// The iteration box of an instruction with dimensions folded where all operands are contiguous.
/// Dimension 0 is the innermost. Strides count bytes.
struct Box {
  struct Dim {
    int64_t size = 1;
    std::array<int64_t, 4> strides{};
  };
  std::array<Dim, kMaxRank> dims;
  unsigned rank = 1, operands = 0;
  std::array<int64_t, 4> bytes{}; ///< per element
  int64_t elements = 1;
};

/// Folds the box `shape` as the given operands walk it. Packed masks (I1) do not take part.
Box fold(const ResolvedView &shape, std::initializer_list<const ResolvedView *> operands) {
  Box box;
  box.elements = elementCount(shape);
  std::array<const ResolvedView *, 4> views{};
  for (const ResolvedView *view : operands)
    if (view->type != DType::I1 || operands.size() == 1) {
      box.bytes[box.operands] = byteSize(view->type);
      views[box.operands++] = view;
    }
  bool first = true;
  for (int dim = shape.rank - 1; dim >= 0; --dim) {
    if (shape.sizes[dim] == 1)
      continue;
    Box::Dim next;
    next.size = shape.sizes[dim];
    for (unsigned i = 0; i < box.operands; ++i)
      next.strides[i] = views[i]->strides[dim] * box.bytes[i];
    if (!first) {
      Box::Dim &inner = box.dims[box.rank - 1];
      bool same = true;
      for (unsigned i = 0; i < box.operands; ++i)
        same &= next.strides[i] == inner.strides[i] * inner.size;
      if (same) {
        inner.size *= next.size;
        continue;
      }
      ++box.rank;
    }
    box.dims[box.rank - 1] = next;
    first = false;
  }
  if (first)
    for (unsigned i = 0; i < box.operands; ++i)
      box.dims[0].strides[i] = box.bytes[i];
  return box;
}

/// Cycles of one elementwise pass.
struct Pass {
  double cycles = 0;
  bool addressable = true; ///< false: single elements must be picked
};

/// Factor on the repeats of an instruction whose repeats take eight blocks of 32 bytes, `pitch`
/// bytes apart, from UB: blocks that share one of the 16 bank groups (address bits 8..5) follow
/// each other. Measured for eight in one group: eight cycles instead of one.
double blockFactor(int64_t pitch, int64_t blocks, const Machine &chip) {
  if (pitch == 0) // one block, read once
    return 1;
  std::array<int, 16> groups{};
  int most = 1;
  for (int64_t block = 0; block < std::min<int64_t>(blocks, 8); ++block)
    most = std::max(most, ++groups[static_cast<size_t>(block * pitch / 32 & 15)]);
  return 1 + (most - 1) * (chip.bankConflictBlocks - 1) / 7;
}

/// One pass over `box` whose widest element has `width` bytes. The inner run goes in 256-byte
/// repeats. With outer dimensions there are these ways, and the cheapest counts: an instruction per
/// row; an instruction per 256-byte column of rows, one row per repeat; or, for rows of a few whole
/// 32-byte blocks, eight rows per repeat and an instruction per block column, whose repeats go on
/// along the rows or, when these are no more than eight, along the next dimension. All but the
/// first need pitches of whole blocks, at most 255 of them.
Pass passOver(const Box &box, int64_t width, double cyclesPerRepeat, const Machine &chip) {
  const Box::Dim &inner = box.dims[0];
  Pass result;
  for (unsigned i = 0; i < box.operands; ++i)
    result.addressable &= inner.strides[i] == box.bytes[i] || inner.strides[i] == 0;
  const int64_t repeatBytes = chip.vecRepeatBytes, most = chip.vecMaxRepeats;
  const int64_t rowBytes = inner.size * width, rowRepeats = ceilDiv(rowBytes, repeatBytes);
  int64_t rows = 1;
  for (unsigned dim = 1; dim < box.rank; ++dim)
    rows *= box.dims[dim].size;
  auto price = [&](int64_t repeats, int64_t instructions, double factor = 1) {
    return static_cast<double>(repeats) * cyclesPerRepeat * factor +
           static_cast<double>(instructions) * chip.vecFixed;
  };
  result.cycles = price(rows * rowRepeats, rows * ceilDiv(rowRepeats, most));
  if (box.rank == 1 || !result.addressable)
    return result;

  auto pitched = [&](unsigned dim) {
    for (unsigned i = 0; i < box.operands; ++i)
      if (std::abs(box.dims[dim].strides[i]) > 255 * 32)
        return false;
    return true;
  };
  const Box::Dim &outer = box.dims[1];
  for (unsigned dim = 1; dim < box.rank; ++dim)
    for (unsigned i = 0; i < box.operands; ++i)
      result.addressable &= box.dims[dim].strides[i] % 32 == 0 || inner.strides[i] == 0;
  if (!pitched(1) || !result.addressable)
    return result;
  const int64_t rest = rows / outer.size;
  auto consider = [&](double cycles) { result.cycles = std::min(result.cycles, cycles); };
  consider(price(rows * rowRepeats, rest * rowRepeats * ceilDiv(outer.size, most)));
  if (rowBytes % 32 != 0 || rowBytes >= repeatBytes)
    return result;
  const int64_t blocks = rowBytes / 32, together = repeatBytes / 32;
  double factor = 1;
  for (unsigned i = 0; i < box.operands; ++i)
    factor = std::max(factor, blockFactor(outer.strides[i], outer.size, chip));
  const int64_t repeats = ceilDiv(outer.size, together);
  consider(price(rest * blocks * repeats, rest * blocks * ceilDiv(repeats, most), factor));
  if (box.rank > 2 && repeats == 1 && pitched(2)) {
    const int64_t next = box.dims[2].size;
    consider(price(rest * blocks, rest / next * blocks * ceilDiv(next, most), factor));
  }
  return result;
}

/// 256-byte accesses touch 8 of the 16 bank groups (address bits 8..5). How many of them two share.
int sharedGroups(uint64_t a, uint64_t b) {
  const int distance = static_cast<int>(((a >> 5) - (b >> 5)) & 15);
  return std::max(0, 8 - std::min(distance, 16 - distance));
}

/// Factor on the repeats of an instruction from UB bank conflicts. Two sources may not meet in a
/// bank group; a write, which lands one repeat later, may not meet a read in the same bank (64 KiB
/// region). Measured on additions of 64 repeats: 154 and 139 cycles against 88.
double bankFactor(const ResolvedView &dst, std::initializer_list<const ResolvedView *> sources,
                  const Machine &chip) {
  std::array<uint64_t, 2> reads{};
  unsigned count = 0;
  for (const ResolvedView *view : sources) {
    // A source of one repeated block or element is read once.
    const bool dense = view->rank > 0 && view->strides[view->rank - 1] == 1;
    if (dense && view->type != DType::I1 && view->address != UINT64_MAX && count < reads.size())
      reads[count++] = view->address;
  }
  double factor = 1;
  if (count == 2) {
    const int shared = sharedGroups(reads[0], reads[1]);
    if (shared)
      factor = shared == 8 ? chip.bankConflictReadRead : chip.bankConflictHalf;
  }
  if (factor > 1 || dst.address == UINT64_MAX || dst.type == DType::I1)
    return factor;
  for (unsigned i = 0; i < count; ++i)
    if ((reads[i] >> 16) == (dst.address >> 16) &&
        sharedGroups(dst.address - chip.vecRepeatBytes, reads[i]))
      factor = chip.bankConflictReadWrite;
  return factor;
}

/// A row of the chip's vector table and how often a sequence uses it.
struct Step {
  const char *row;
  int count;
};
struct Steps {
  Steps(std::initializer_list<Step> steps) {
    for (const Step &step : steps)
      at[count++] = step;
  }
  const Step *begin() const { return at.data(); }
  const Step *end() const { return at.data() + count; }

  std::array<Step, 8> at{};
  unsigned count = 0;
};

/// Costs of vector instructions over one folded box.
class VectorCost {
public:
  VectorCost(const Machine &chip, const ResolvedView &shape,
             std::initializer_list<const ResolvedView *> operands)
      : chip(chip), box(fold(shape, operands)) {}

  /// One pass with the table row `row` on elements of `width` bytes.
  double pass(const char *row, int64_t width, double factor = 1) const {
    const double cycles = chip.vecCycles(row, static_cast<unsigned>(width)) * factor;
    const Pass pass = passOver(box, width, cycles, chip);
    return pass.addressable ? pass.cycles : picked(width);
  }

  /// A sequence of dependent passes, a barrier between each two.
  double sequence(const Steps &steps, int64_t width, double factor = 1) const {
    double cycles = 0;
    int passCount = 0;
    for (const Step &step : steps) {
      cycles += step.count * pass(step.row, width, factor);
      passCount += step.count;
    }
    return cycles + std::max(0, passCount - 1) * chip.vecBarrierTail;
  }

  /// Elements that no stride of the vector unit reaches: gathered one by one.
  double picked(int64_t width) const {
    const double repeats = static_cast<double>(ceilDiv(box.elements * width, chip.vecRepeatBytes));
    return repeats * chip.vecCycles("gather", static_cast<unsigned>(width)) + chip.vecFixed;
  }

  /// Spreads one element per row over its 32-byte block (brcb: 8 elements per repeat), for sources
  /// that repeat one element along the inner dimension but change from row to row.
  double broadcast(unsigned operand) const {
    if (box.dims[0].strides[operand] != 0 || box.dims[0].size == 1)
      return 0;
    int64_t rows = 1;
    for (unsigned dim = 1; dim < box.rank; ++dim)
      if (box.dims[dim].strides[operand] != 0)
        rows *= box.dims[dim].size;
    if (rows == 1)
      return 0;
    const int64_t repeats = ceilDiv(rows, 8);
    return static_cast<double>(repeats) * chip.vecCycles("brcb", 4) +
           static_cast<double>(ceilDiv(repeats, chip.vecMaxRepeats)) * chip.vecFixed +
           chip.vecBarrierTail;
  }

  const Machine &chip;
  Box box;
};

/// Width at which arithmetic on `type` runs, and the casts into and out of it: 8-bit integers go
/// through f16, bf16 through f32.
struct Working {
  int64_t width;
  bool casts;
};
Working working(DType type) {
  switch (type) {
  case DType::I8:
  case DType::U8:
  case DType::F8E4M3:
  case DType::F8E5M2:
    return {2, true};
  case DType::BF16:
    return {4, true};
  case DType::F16:
  case DType::I16:
  case DType::U16:
    return {2, false};
  default:
    return {4, false};
  }
}

/// The scalar unit does it: per element two loads, a store and an operation (34 cycles measured).
double scalarLoop(int64_t elements, const Machine &chip) {
  return static_cast<double>(elements) * (3 * chip.scalarElement + 1);
}

/// Whole sequence for one element-wise function of one operand. A reciprocal is a division (the
/// unit's own is too coarse); sin, cos, tan, tanh and erf are range reduction and polynomials.
Steps unarySteps(UnaryFn fn, DType type) {
  switch (fn) {
  case UnaryFn::Neg:
    return {{"mul", 1}};
  case UnaryFn::Abs:
    return {{"abs", 1}};
  case UnaryFn::Exp:
    return {{"exp", 1}};
  case UnaryFn::Exp2:
    return {{"mul", 1}, {"exp", 1}};
  case UnaryFn::Log:
    return {{"log", 1}};
  case UnaryFn::Log2:
  case UnaryFn::Log10:
    return {{"log", 1}, {"mul", 1}};
  case UnaryFn::Log1p:
    return {{"add", 1}, {"log", 1}};
  case UnaryFn::Sqrt:
    return {{"sqrt", 1}};
  case UnaryFn::Rsqrt:
    return {{"sqrt", 1}, {"div", 1}};
  case UnaryFn::Rec:
    return {{"div", 1}};
  case UnaryFn::Sin:
  case UnaryFn::Cos:
    return {{"cast", 2}, {"mul", 9}, {"add", 9}};
  case UnaryFn::Tan:
    return {{"cast", 2}, {"mul", 14}, {"add", 14}, {"div", 1}};
  case UnaryFn::Tanh:
    return {{"mul", 1}, {"exp", 1}, {"add", 2}, {"div", 1}};
  case UnaryFn::Sigmoid:
    return {{"mul", 1}, {"exp", 1}, {"add", 1}, {"div", 1}};
  case UnaryFn::Erf:
    return {{"min", 1}, {"max", 1}, {"mul", 13}, {"add", 11}, {"div", 1}};
  case UnaryFn::Floor:
  case UnaryFn::Ceil:
  case UnaryFn::Round:
  case UnaryFn::Trunc:
  case UnaryFn::Rint:
    if (isInteger(type))
      return {{"copy", 1}};
    return {{"cast", type == DType::F32 ? 1 : 2}};
  case UnaryFn::Not:
    return {{"not", 1}};
  case UnaryFn::Relu:
    return {{"relu", 1}};
  case UnaryFn::IsNan:
    return {{"compare", 1}};
  case UnaryFn::IsInf:
  case UnaryFn::IsFinite:
    return {{"abs", 1}, {"compare", 1}};
  }
  return {{"default", 1}};
}

Steps binarySteps(BinaryFn fn, DType type) {
  const bool integer = isInteger(type);
  switch (fn) {
  case BinaryFn::Add:
    return {{"add", 1}};
  case BinaryFn::Sub:
    return {{"sub", 1}};
  case BinaryFn::Mul:
    return {{"mul", 1}};
  case BinaryFn::Max:
  case BinaryFn::MaxNum:
    return {{"max", 1}};
  case BinaryFn::Min:
  case BinaryFn::MinNum:
    return {{"min", 1}};
  case BinaryFn::Div:
    if (integer) // through f32, with a correction
      return {{"cast", 3}, {"div", 1}, {"mul", 1}, {"sub", 1}, {"compare", 1}, {"select", 1}};
    return {{"div", 1}};
  case BinaryFn::FloorDiv:
    if (integer)
      return {{"cast", 3}, {"div", 1}, {"mul", 1}, {"sub", 1}, {"compare", 2}, {"select", 2}};
    return {{"div", 1}, {"cast", 1}};
  case BinaryFn::Rem:
  case BinaryFn::FloorMod:
    if (integer)
      return {{"cast", 3}, {"div", 1}, {"mul", 2}, {"sub", 2}, {"compare", 1}, {"select", 1}};
    return {{"div", 1}, {"cast", 1}, {"mul", 1}, {"sub", 1}};
  case BinaryFn::And:
    return {{"and", 1}};
  case BinaryFn::Or:
    return {{"or", 1}};
  case BinaryFn::Xor: // (a | b) & ~(a & b)
    return {{"or", 1}, {"and", 2}, {"not", 1}};
  case BinaryFn::Shl:
  case BinaryFn::Shr:
    return {{"shift", 1}};
  case BinaryFn::Pow:
    return {{"abs", 1}, {"log", 1}, {"mul", 1}, {"exp", 1}, {"compare", 1}, {"select", 1}};
  }
  return {{"default", 1}};
}

/// Casts needed from one type to another: 8-bit integers meet the rest through f16, and f16 and
/// bf16 meet through f32.
int castCount(DType from, DType to) {
  auto isByte = [](DType type) { return type == DType::I8 || type == DType::U8; };
  auto isHalf = [](DType type) { return type == DType::F16 || type == DType::BF16; };
  if (isByte(from) || isByte(to))
    return (isByte(from) ? to : from) == DType::F16 ? 1 : 2;
  if (isHalf(from) && isHalf(to))
    return 2;
  return 1;
}

/// Element-wise arithmetic: a sequence of passes, casts of types that the unit lacks, the spreading
/// of per-row operands, bank conflicts.
double arithmetic(const Machine &chip, const ResolvedView &dst,
                  std::initializer_list<const ResolvedView *> sources, DType type,
                  const Steps &steps) {
  if (isWide(type))
    return scalarLoop(elementCount(dst), chip);
  std::array<const ResolvedView *, 3> view{};
  unsigned count = 0;
  for (const ResolvedView *source : sources)
    view[count++] = source;
  const ResolvedView *last = count > 1 ? view[1] : view[0];
  const VectorCost cost(chip, dst, {&dst, view[0], last});
  if (type == DType::I1) // packed masks
    return cost.sequence(steps, 1) / 8 + chip.vecFixed;
  const Working work = working(type);
  double cycles = cost.sequence(steps, work.width, bankFactor(dst, sources, chip));
  for (unsigned i = 0; i < count; ++i)
    cycles += cost.broadcast(cost.box.operands > i + 1 ? i + 1 : 0);
  if (work.casts)
    cycles += (count + (dst.type == DType::I1 ? 0 : 1)) *
              (cost.pass("cast", work.width) + chip.vecBarrierTail);
  return cycles;
}

/// A move inside UB. The unit transposes 16 x 16 blocks; a stride that it cannot follow makes it
/// pick single elements.
double copyCycles(const Machine &chip, const ResolvedView &dst, const ResolvedView &src) {
  const int64_t width = byteSize(dst.type);
  const VectorCost cost(chip, dst, {&dst, &src});
  const Box::Dim &inner = cost.box.dims[0];
  const bool transposes = cost.box.rank > 1 && inner.strides[0] == width &&
                          inner.strides[1] > width && cost.box.dims[1].strides[1] == width;
  if (transposes && width <= 4) {
    const double repeats =
        static_cast<double>(ceilDiv(cost.box.elements * width, chip.vecRepeatBytes));
    const double strips = static_cast<double>(ceilDiv(inner.size, 16));
    return repeats * chip.vecCycles("transpose", static_cast<unsigned>(width)) +
           strips * chip.vecFixed;
  }
  return cost.pass("copy", width) + cost.broadcast(1);
}

double castCycles(const Machine &chip, const ResolvedView &dst, const ResolvedView &src) {
  if (dst.type == src.type)
    return copyCycles(chip, dst, src);
  const VectorCost cost(chip, dst, {&dst, &src});
  if (src.type == DType::I1) // choose between one and zero
    return cost.pass("select", std::min<int64_t>(byteSize(dst.type), 4));
  if (dst.type == DType::I1)
    return cost.pass("compare", std::min<int64_t>(byteSize(src.type), 4));
  const int64_t width = std::max(byteSize(dst.type), byteSize(src.type));
  if (width == 8)
    return cost.pass("cast64", 4) * 2;
  const int casts = castCount(src.type, dst.type);
  return casts * cost.pass("cast", width == 1 ? 2 : width) + (casts - 1) * chip.vecBarrierTail +
         cost.broadcast(1);
}

/// A reduction: dimensions of the destination with stride 0 are combined.
/// Outer dimensions are added up row by row in a tree. Along the inner one, a row is first folded
/// to one repeat of 256 bytes by element-wise passes. Then sums of many rows in f32 take two
/// block reductions, 64 lanes to 8 to 1, each a tree of neighbours as support/Reduce.h wants;
/// others one whole-repeat reduction per row (7 cycles each), or go on folding down to one element
/// where there is no such instruction.
double reduceCycles(const Machine &chip, const ResolvedOp &op) {
  const ResolvedView &dst = op.operands[0], &src = op.operands[1];
  if (isWide(src.type))
    return scalarLoop(elementCount(src), chip);
  const Working work = working(src.type);
  const int64_t width = work.width, repeatBytes = chip.vecRepeatBytes;
  int64_t outerReduced = 1, kept = 1, inner = 1;
  bool innermost = true;
  for (int dim = src.rank - 1; dim >= 0; --dim) {
    const bool reduced = dst.strides[dim] == 0;
    innermost &= reduced || src.sizes[dim] == 1;
    (innermost ? inner : reduced ? outerReduced : kept) *= src.sizes[dim];
  }
  const auto fn = static_cast<ReduceFn>(op.fn);
  const char *row = fn == ReduceFn::Max || fn == ReduceFn::AbsMax ? "max"
                    : fn == ReduceFn::Min                         ? "min"
                                                                  : "add";
  const double cyc = chip.vecCycles(row, static_cast<unsigned>(width));
  double cycles = 0;
  // `instructions` dependent passes that work through `repeats` repeats in all.
  auto charge = [&](double cyclesPerRepeat, double repeats, double instructions) {
    instructions = std::max(instructions, std::ceil(repeats / chip.vecMaxRepeats));
    cycles += repeats * cyclesPerRepeat + instructions * (chip.vecFixed + chip.vecBarrierTail);
  };
  if (work.casts)
    charge(1, static_cast<double>(ceilDiv(elementCount(src) * width, repeatBytes)), 1);
  if (fn == ReduceFn::AbsSum || fn == ReduceFn::AbsMax)
    charge(1, static_cast<double>(ceilDiv(elementCount(src) * width, repeatBytes)), 1);
  if (outerReduced > 1)
    charge(cyc,
           static_cast<double>((outerReduced - 1) * ceilDiv(kept * inner * width, repeatBytes)),
           std::ceil(std::log2(static_cast<double>(outerReduced))));
  if (inner > 1) {
    const int64_t rowRepeats = ceilDiv(inner * width, repeatBytes);
    if (rowRepeats > 1)
      charge(cyc, static_cast<double>(kept * (rowRepeats - 1)),
             std::ceil(std::log2(static_cast<double>(rowRepeats))));
    const bool whole = fn == ReduceFn::Sum || fn == ReduceFn::Max || fn == ReduceFn::Min ||
                       fn == ReduceFn::AbsSum || fn == ReduceFn::AbsMax;
    const double steps =
        std::ceil(std::log2(static_cast<double>(std::min<int64_t>(inner, repeatBytes / width))));
    const bool isWideSum = (fn == ReduceFn::Sum || fn == ReduceFn::AbsSum) &&
                           (src.type == DType::F32 || src.type == DType::BF16);
    const int64_t blocks = kept * (repeatBytes / chip.ubAlign);
    const double last = static_cast<double>(ceilDiv(blocks * width, repeatBytes));
    const double block = chip.vecCycles("reduce_block", static_cast<unsigned>(width));
    const double rows = chip.vecCycles("reduce", static_cast<unsigned>(width));
    const double start = chip.vecFixed + chip.vecBarrierTail;
    if (isWideSum && inner * width % repeatBytes == 0 &&
        block * (static_cast<double>(kept) + last) + start < rows * static_cast<double>(kept))
      charge(block, static_cast<double>(kept) + last, 2);
    else if (whole)
      charge(rows, static_cast<double>(kept), 1);
    else
      charge(cyc, static_cast<double>(kept) * steps, steps);
  }
  if (op.flags & kAccumulate)
    charge(cyc, static_cast<double>(ceilDiv(kept * width, repeatBytes)), 1);
  if (work.casts)
    charge(1, static_cast<double>(ceilDiv(kept * width, repeatBytes)), 1);
  return std::max(0.0, cycles - chip.vecBarrierTail);
}

/// An inclusive scan: along an outer dimension a pass per row, along the inner one a pass for each
/// doubling of the distance.
double scanCycles(const Machine &chip, const ResolvedOp &op) {
  const ResolvedView &dst = op.operands[0], &src = op.operands[1];
  if (isWide(src.type))
    return scalarLoop(elementCount(src), chip);
  const VectorCost cost(chip, dst, {&dst, &src});
  const double pass = cost.pass("add", working(src.type).width) + chip.vecBarrierTail;
  const unsigned dim = static_cast<unsigned>(op.fn) >> 8;
  const int64_t size = dim < src.rank ? src.sizes[dim] : 1;
  if (dim + 1 >= src.rank)
    return pass * std::max(1.0, std::ceil(std::log2(static_cast<double>(size))));
  // Each row's pass is a part of the whole.
  return pass + static_cast<double>(size - 1) * (chip.vecFixed + chip.vecBarrierTail);
}

double iotaCycles(const Machine &chip, const ResolvedView &dst) {
  const VectorCost cost(chip, dst, {&dst});
  const int64_t width = std::min<int64_t>(4, std::max<int64_t>(2, byteSize(dst.type)));
  double cycles = cost.pass("iota", width);
  if (dst.rank > 1) // rows: the first one plus an offset
    cycles += cost.pass("add", width) + chip.vecBarrierTail;
  if (!isInteger(dst.type))
    cycles += cost.pass("cast", width) + chip.vecBarrierTail;
  return isWide(dst.type) ? 2 * cycles : cycles;
}

} // namespace

MmadCost mmadCost(int64_t m, int64_t n, int64_t k, DType type, const Machine &chip) {
  MmadCost cost;
  if (m <= 0 || n <= 0 || k <= 0)
    return cost;
  const int64_t bytes = byteSize(type), unit = std::max<int64_t>(1, chip.fractalBytes / bytes);
  const double macs = chip.macs(bytes);
  const int64_t rows = chip.fractalRows;
  const int64_t mTiles = ceilDiv(m, rows), nTiles = ceilDiv(n, rows), kTiles = ceilDiv(k, unit);
  // One 16 x 16 x 32-byte step: 1 cycle for f16 and int8, 2 for f32 on this generation.
  const double step = static_cast<double>(rows * rows * unit) / macs;

  // The K step: the most that fits in half of L0A and half of L0B.
  const int64_t aTile = mTiles * rows * chip.fractalBytes,
                bTile = nTiles * rows * chip.fractalBytes;
  const int64_t halfA = chip.l0aBytes / 2, halfB = chip.l0bBytes / 2;
  const int64_t split =
      std::max<int64_t>(1, std::max(ceilDiv(aTile, halfA), ceilDiv(bTile, halfB)));
  const int64_t fit = std::max<int64_t>(1, std::min(halfA / aTile, halfB / bTile));
  const int64_t steps = ceilDiv(kTiles, fit);
  const int64_t chunks = steps * split;
  cost.chunks = static_cast<int>(std::min<int64_t>(chunks, UINT16_MAX));

  const double starts = 2.0 * chip.mte1LoadsPerOperand * chip.mte1Latency;
  auto load = [&](int64_t tiles) {
    return static_cast<double>(aTile * tiles) / chip.mte1RateL0a +
           static_cast<double>(bTile * tiles) / chip.mte1RateL0b;
  };
  cost.mte1 = load(kTiles) + static_cast<double>(chunks) * starts;
  cost.cube = static_cast<double>(mTiles * nTiles * kTiles) * step +
              static_cast<double>(chunks) * chip.mmadOverhead;
  cost.startup = load(std::min(fit, kTiles)) / static_cast<double>(split) + starts;
  return cost;
}

double computeCycles(const ResolvedOp &op, const Machine &chip) {
  const ResolvedView &dst = op.operands[0], &a = op.operands[1], &b = op.operands[2];
  if (elementCount(op.op == TileOp::Reduce ? a : dst) == 0)
    return 0;
  const int64_t dstBytes = elementCount(dst) * byteSize(dst.type);
  switch (op.op) {
  case TileOp::Load:
  case TileOp::Store:
  case TileOp::AtomicAdd:
  case TileOp::AtomicMax:
  case TileOp::AtomicMin:
    return 0; // GM traffic has its own record
  case TileOp::LoadL0:
    return chip.mte1LoadsPerOperand * chip.mte1Latency +
           static_cast<double>(dstBytes) /
               (op.fn == kIntoL0B ? chip.mte1RateL0b : chip.mte1RateL0a);
  case TileOp::FillL1:
    return chip.mte2Start + static_cast<double>(dstBytes) / chip.mte1RateL0a;
  case TileOp::Mmad: {
    const int64_t k = a.sizes[op.flags & kTransposeA ? 0 : 1];
    return mmadCost(dst.sizes[0], dst.sizes[1], k, a.type, chip).cube;
  }
  case TileOp::Fixpipe: // to L1; to GM it is a transfer
    return chip.fixStart + static_cast<double>(dstBytes) / chip.fixL1Rate;
  case TileOp::Fill: {
    const VectorCost cost(chip, dst, {&dst});
    const int64_t width = byteSize(dst.type);
    return width == 8 ? 2 * cost.pass("fill", width)
                      : cost.pass("fill", std::max<int64_t>(width, 2));
  }
  case TileOp::Copy:
    return copyCycles(chip, dst, a);
  case TileOp::Cast:
    return castCycles(chip, dst, a);
  case TileOp::Unary:
    return arithmetic(chip, dst, {&a}, a.type, unarySteps(static_cast<UnaryFn>(op.fn), a.type));
  case TileOp::Binary:
    return arithmetic(chip, dst, {&a, &b}, a.type,
                      binarySteps(static_cast<BinaryFn>(op.fn), a.type));
  case TileOp::BinaryScalar: {
    const auto fn = static_cast<BinaryFn>(op.fn);
    Steps steps = binarySteps(fn, a.type);
    // Only the commutative forms take a scalar; the others need it as a tile, or negated.
    const bool first = op.flags & kScalarFirst;
    if (first && fn == BinaryFn::Sub)
      steps = {{"mul", 1}, {"add", 1}};
    else if (fn == BinaryFn::Div && !first && !isInteger(a.type))
      steps = {{"div", 1}};
    return arithmetic(chip, dst, {&a}, a.type, steps);
  }
  case TileOp::Compare:
  case TileOp::CompareScalar: {
    const auto fn = static_cast<CompareFn>(op.fn);
    Steps steps{{"compare", 1}};
    // Integers compare for equality only, the rest goes through f32.
    if (a.type == DType::I32 && fn != CompareFn::EQ && fn != CompareFn::NE)
      steps = {{"cast", op.op == TileOp::Compare ? 2 : 1}, {"compare", 1}};
    if (op.op == TileOp::Compare)
      return arithmetic(chip, dst, {&a, &b}, a.type, steps);
    return arithmetic(chip, dst, {&a}, a.type, steps);
  }
  case TileOp::SelectScalar:
    return arithmetic(chip, dst, {&b}, dst.type, {{"select", 1}});
  case TileOp::Select: {
    const ResolvedView &other = op.operands[3];
    return arithmetic(chip, dst, {&b, &other}, dst.type, {{"select", 1}});
  }
  case TileOp::Reduce:
    return reduceCycles(chip, op);
  case TileOp::Iota:
    return iotaCycles(chip, dst);
  case TileOp::Scan:
    return scanCycles(chip, op);
  case TileOp::Gather: {
    const VectorCost cost(chip, dst, {&dst});
    return cost.picked(std::clamp<int64_t>(byteSize(dst.type), 2, 4)) *
           (byteSize(dst.type) == 8 ? 2 : 1);
  }
  case TileOp::ScalarStore:
  case TileOp::ScalarLoad:
    return chip.scalarElement;
  }
  return 0;
}

} // namespace tilewright::sim
