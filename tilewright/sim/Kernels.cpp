// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Kernels.h"

#include "tilewright/sim/KernelsIsa.h"

#include <algorithm>
#include <atomic>
#include <memory>

namespace tilewright::sim {

using kernels::Job;
using kernels::MatrixJob;
using kernels::Operand;

namespace {

//===-- Instruction set levels ----------------------------------------------------------------===//

/// The entry points of one level.
struct Level {
  const char *name;
  void (*elementwise)(const Job &);
  void (*move)(const Job &);
  void (*reduce)(const Job &);
  void (*mmad)(const MatrixJob &);
};

#if defined(__x86_64__)

bool cpuHasV3() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
}
bool cpuHasV4() {
  return cpuHasV3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

constexpr Level kLevels[] = {
    {"v4", &v4::runElementwise, &v4::runMove, &v4::runReduce, &v4::runMmad},
    {"v3", &v3::runElementwise, &v3::runMove, &v3::runReduce, &v3::runMmad},
};

bool supported(const Level &level) { return &level == &kLevels[0] ? cpuHasV4() : cpuHasV3(); }

#else

constexpr Level kLevels[] = {
    {"neon", &neon::runElementwise, &neon::runMove, &neon::runReduce, &neon::runMmad},
};

bool supported(const Level &) { return true; }

#endif

/// The best level this CPU has; the last one if it has none (see unsupportedCpuReason).
const Level *bestLevel() {
  for (const Level &level : kLevels)
    if (supported(level))
      return &level;
  return std::end(kLevels) - 1;
}

std::atomic<const Level *> &currentLevel() {
  static std::atomic<const Level *> level{bestLevel()};
  return level;
}

//===-- Memory of the calling thread ----------------------------------------------------------===//

/// A block that grows and is kept, aligned to a cache line.
class Scratch {
public:
  std::byte *get(size_t bytes) {
    if (bytes > size) {
      size = std::max(bytes, 2 * size);
      block = std::make_unique_for_overwrite<std::byte[]>(size + kAlign);
    }
    auto address = reinterpret_cast<uintptr_t>(block.get());
    return block.get() + (kAlign - address % kAlign) % kAlign;
  }

private:
  static constexpr size_t kAlign = 64;
  std::unique_ptr<std::byte[]> block;
  size_t size = 0;
};

std::byte *matrixWorkspace(size_t bytes) {
  thread_local Scratch scratch;
  return scratch.get(bytes);
}

std::byte *sourceCopy(int operand, size_t bytes) {
  thread_local Scratch scratch[4];
  return scratch[operand].get(bytes);
}

int64_t elementBytes(DType type) {
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
    break;
  }
  return 8;
}

//===-- Normal form ---------------------------------------------------------------------------===//

/// The operand whose sizes are the box.
int boxOperand(TileOp op) { return op == TileOp::Reduce || op == TileOp::Scan ? 1 : 0; }

Operand toOperand(const ResolvedView &view, int rank) {
  Operand result;
  result.data = view.data;
  result.type = view.type;
  // A source of a lower rank repeats along the outer dims.
  int missing = rank - view.rank;
  for (int d = std::max(missing, 0); d < rank; ++d)
    result.strides[d] = view.strides[d - missing];
  return result;
}

/// False if there is nothing to do.
bool makeJob(const ResolvedOp &op, Job &job) {
  job.op = op.op;
  job.fn = op.fn;
  job.flags = op.flags;
  job.round = op.round;
  job.scalars[0] = op.numScalars > 0 ? op.scalars[0] : 0;
  job.numOperands = op.numOperands;
  const ResolvedView &box = op.operands[boxOperand(op.op)];
  job.rank = box.rank;
  for (int d = 0; d < job.rank; ++d)
    job.sizes[d] = box.sizes[d];
  for (int o = 0; o < job.numOperands; ++o)
    job.operands[o] = toOperand(op.operands[o], job.rank);

  switch (op.op) {
  case TileOp::Reduce:
    for (int d = 0; d < job.rank; ++d)
      job.reduced[d] = job.operands[0].strides[d] == 0;
    job.lastReduced = job.rank > 0 && job.reduced[job.rank - 1];
    break;
  case TileOp::Scan:
    job.fn = op.fn & 255;
    job.scanDim = op.fn >> 8;
    if (job.scanDim >= job.rank)
      return false;
    break;
  case TileOp::Iota: {
    // The steps become strides of an operand that is not memory.
    Operand &steps = job.operands[1];
    steps = Operand();
    for (int d = 0; d < job.rank && d + 1 < int(op.numScalars); ++d)
      steps.strides[d] = op.scalars[d + 1];
    job.numOperands = 2;
    break;
  }
  case TileOp::Gather:
    if (op.operands[1].rank > 0) {
      const ResolvedView &table = op.operands[1];
      job.tableSize = table.sizes[table.rank - 1];
      job.tableStride = table.strides[table.rank - 1];
      std::fill(std::begin(job.operands[1].strides), std::end(job.operands[1].strides), 0);
    }
    break;
  default:
    break;
  }
  for (int d = 0; d < job.rank; ++d)
    if (job.sizes[d] <= 0 && !job.reduced[d])
      return false;
  return true;
}

void swapDims(Job &job, int a, int b) {
  std::swap(job.sizes[a], job.sizes[b]);
  for (Operand &operand : job.operands)
    std::swap(operand.strides[a], operand.strides[b]);
}

void removeDim(Job &job, int dim) {
  for (int d = dim; d + 1 < job.rank; ++d) {
    job.sizes[d] = job.sizes[d + 1];
    job.reduced[d] = job.reduced[d + 1];
    for (Operand &operand : job.operands)
      operand.strides[d] = operand.strides[d + 1];
  }
  --job.rank;
}

/// Dim d and the one inside it are one run of elements in every operand.
bool mergeable(const Job &job, int d) {
  for (int o = 0; o < job.numOperands; ++o) {
    const int64_t *strides = job.operands[o].strides;
    if (strides[d] != strides[d + 1] * job.sizes[d + 1])
      return false;
  }
  return !job.reduced[d] && !job.reduced[d + 1];
}

bool isAtomic(TileOp op) {
  return op == TileOp::AtomicAdd || op == TileOp::AtomicMax || op == TileOp::AtomicMin;
}

/// Brings a box to as few and as long dims as the operation's order allows.
void normalise(Job &job) {
  bool reduce = job.op == TileOp::Reduce;
  if (job.op != TileOp::Scan) {
    for (int d = job.rank - 1; d >= 0; --d)
      if (job.sizes[d] == 1 && !job.reduced[d] && !(reduce && d == job.rank - 1))
        removeDim(job, d);
    // Any order will do for most: walk the destination forwards.
    if (!reduce && !isAtomic(job.op))
      for (int d = 1; d < job.rank; ++d)
        for (int e = d; e > 0; --e) {
          int64_t outer = std::abs(job.operands[0].strides[e - 1]);
          int64_t inner = std::abs(job.operands[0].strides[e]);
          if (outer >= inner)
            break;
          swapDims(job, e - 1, e);
        }
    for (int d = job.rank - 2; d >= 0; --d)
      if (mergeable(job, d)) {
        job.sizes[d + 1] *= job.sizes[d];
        removeDim(job, d);
      }
  }
  if (job.rank == 0) {
    job.rank = 1;
    job.sizes[0] = 1;
    job.reduced[0] = false;
    for (Operand &operand : job.operands)
      operand.strides[0] = 0;
  }
  // The stride of a single element is free; 1 is the fast one. (Gather's table has none.)
  int last = job.rank - 1;
  if (job.sizes[last] == 1 && !job.reduced[last])
    for (int o = 0; o < job.numOperands; ++o)
      if (!(job.op == TileOp::Gather && o == 1))
        job.operands[o].strides[last] = 1;
}

//===-- Overlap -------------------------------------------------------------------------------===//

struct Range {
  uintptr_t begin, end;
};

Range rangeOf(const Job &job, int o) {
  const Operand &operand = job.operands[o];
  int64_t bytes = elementBytes(operand.type);
  uintptr_t begin = reinterpret_cast<uintptr_t>(operand.data), end = begin + bytes;
  if (job.op == TileOp::Gather && o == 1) {
    int64_t span = (job.tableSize - 1) * job.tableStride * bytes;
    return span < 0 ? Range{begin + span, end} : Range{begin, end + std::max<int64_t>(span, 0)};
  }
  for (int d = 0; d < job.rank; ++d) {
    int64_t span = (job.sizes[d] - 1) * operand.strides[d] * bytes;
    (span < 0 ? begin : end) += span;
  }
  return {begin, end};
}

/// True if every element of the source is read just where the same element of the destination goes.
bool isInPlace(const Job &job, int o) {
  const Operand &dst = job.operands[0], &src = job.operands[o];
  if (job.op == TileOp::Reduce || (job.op == TileOp::Gather && o == 1) || dst.data != src.data ||
      elementBytes(dst.type) != elementBytes(src.type))
    return false;
  for (int d = 0; d < job.rank; ++d)
    if (job.sizes[d] > 1 && (dst.strides[d] != src.strides[d] || dst.strides[d] == 0))
      return false;
  return true;
}

/// Boxes with the same strides, one of whose dims keeps them apart: two column ranges of one tile.
bool areDisjoint(const Job &job, int o) {
  const Operand &dst = job.operands[0], &src = job.operands[o];
  int64_t bytes = elementBytes(dst.type);
  if (bytes != elementBytes(src.type) || job.op == TileOp::Reduce || job.op == TileOp::Gather)
    return false;
  for (int d = 0; d < job.rank; ++d)
    if (dst.strides[d] != src.strides[d] || dst.strides[d] <= 0)
      return false;
  int64_t distance = src.data - dst.data;
  if (distance % bytes != 0)
    return false;
  distance = std::abs(distance / bytes);
  // Dims are sorted by stride. Take out whole outer steps; what is left must clear the inner box
  // and not reach the next step's. Steps that don't divide each other are beyond this test.
  for (int d = 1; d < job.rank; ++d)
    if (dst.strides[d - 1] % dst.strides[d] != 0)
      return false;
  for (int d = 0; d < job.rank; ++d) {
    int64_t inner = 1;
    for (int e = d; e < job.rank; ++e)
      inner += (job.sizes[e] - 1) * dst.strides[e];
    int64_t period = d == 0 ? INT64_MAX : dst.strides[d - 1];
    if (inner > period)
      return false;
    if (distance >= inner && period - distance >= inner)
      return true;
    distance %= dst.strides[d];
  }
  return false;
}

/// Copies what operand o names to memory of its own.
void detachSource(const Level &level, Job &job, int o) {
  Operand &source = job.operands[o];
  int64_t bytes = elementBytes(source.type);
  Job copy;
  copy.op = TileOp::Copy;
  copy.numOperands = 2;
  copy.operands[1] = source;
  copy.operands[0].type = source.type;
  bool table = job.op == TileOp::Gather && o == 1;
  copy.rank = table ? 1 : job.rank;
  int64_t count = 1;
  for (int d = copy.rank - 1; d >= 0; --d) {
    if (table)
      copy.operands[1].strides[d] = job.tableStride;
    bool repeats = copy.operands[1].strides[d] == 0;
    copy.sizes[d] = repeats ? 1 : (table ? job.tableSize : job.sizes[d]);
    copy.operands[0].strides[d] = repeats ? 0 : count;
    count *= copy.sizes[d];
  }
  std::byte *memory = sourceCopy(o, size_t(count * bytes));
  copy.operands[0].data = memory;
  Operand detached = copy.operands[0];
  if (count > 0) {
    if (!table)
      normalise(copy);
    level.move(copy);
  }
  if (table) {
    job.tableStride = detached.strides[0];
    source.data = memory;
    return;
  }
  source = detached;
}

/// True when the destination may overwrite parts of source `o` before they are read.
bool mustDetach(const Job &job, int o) {
  Range dst = rangeOf(job, 0), src = rangeOf(job, o);
  return src.begin < dst.end && dst.begin < src.end && !isInPlace(job, o) && !areDisjoint(job, o);
}

void dispatch(const Level &level, const Job &job) {
  switch (job.op) {
  case TileOp::Unary:
  case TileOp::Binary:
  case TileOp::BinaryScalar:
  case TileOp::Compare:
  case TileOp::CompareScalar:
  case TileOp::Cast:
  case TileOp::Fixpipe:
  case TileOp::AtomicAdd:
  case TileOp::AtomicMax:
  case TileOp::AtomicMin:
    return level.elementwise(job);
  case TileOp::Fill:
  case TileOp::FillL1:
  case TileOp::Load:
  case TileOp::LoadL0:
  case TileOp::Store:
  case TileOp::Copy:
  case TileOp::Select:
  case TileOp::SelectScalar:
  case TileOp::Iota:
  case TileOp::Gather:
    return level.move(job);
  case TileOp::Reduce:
  case TileOp::Scan:
    return level.reduce(job);
  case TileOp::Mmad:
  case TileOp::ScalarStore:
  case TileOp::ScalarLoad:
    return;
  }
}

/// Runs a job in normal form.
void perform(const Level &level, const Job &job) {
  for (int o = job.op == TileOp::Iota ? job.numOperands : 1; o < job.numOperands; ++o) {
    if (!mustDetach(job, o))
      continue;
    Job apart = job;
    for (; o < job.numOperands; ++o)
      if (mustDetach(job, o))
        detachSource(level, apart, o);
    return dispatch(level, apart);
  }
  dispatch(level, job);
}

/// A matrix operand: the last two dims of a view; a missing row dim counts as one row.
kernels::Matrix toMatrix(const ResolvedView &view, bool transpose, int64_t &rows,
                         int64_t &columns) {
  kernels::Matrix result;
  result.data = view.data;
  result.type = view.type;
  int rank = view.rank;
  rows = rank >= 2 ? view.sizes[rank - 2] : 1;
  columns = rank >= 1 ? view.sizes[rank - 1] : 1;
  result.rowStride = rank >= 2 ? view.strides[rank - 2] : 0;
  result.columnStride = rank >= 1 ? view.strides[rank - 1] : 0;
  if (transpose) {
    std::swap(rows, columns);
    std::swap(result.rowStride, result.columnStride);
  }
  return result;
}

} // namespace

void execute(const ResolvedOp &op) {
  if (op.op == TileOp::Mmad)
    return mmad(op.operands[0], op.operands[1], op.operands[2], op.flags & kTransposeA,
                op.flags & kTransposeB, op.numScalars > 0 && op.scalars[0] != 0);
  ReadyOp(op).run(op);
}

ReadyOp::ReadyOp(const ResolvedOp &op) : numOperands(op.numOperands) {
  isNothing = op.numOperands == 0 || !makeJob(op, job);
  if (isNothing)
    return;
  // Moves between equal types move bits; between others they convert.
  bool moves = op.op == TileOp::Copy || op.op == TileOp::Load || op.op == TileOp::LoadL0 ||
               op.op == TileOp::Store;
  if (moves && job.operands[0].type != job.operands[1].type) {
    job.op = TileOp::Cast;
    bool fromFloat = isFloat(job.operands[1].type), toFloat = isFloat(job.operands[0].type);
    job.round = fromFloat && !toFloat ? RoundMode::Trunc : RoundMode::Rint;
  }
  normalise(job);
}

void ReadyOp::run(const ResolvedOp &op) {
  if (isNothing)
    return;
  for (int o = 0; o < numOperands; ++o)
    job.operands[o].data = op.operands[o].data;
  job.scalars[0] = op.numScalars > 0 ? op.scalars[0] : 0;
  perform(*currentLevel().load(std::memory_order_relaxed), job);
}

void mmad(const ResolvedView &c, const ResolvedView &a, const ResolvedView &b, bool transposeA,
          bool transposeB, bool init) {
  MatrixJob job;
  int64_t depthOfB = 0, rowsOfA = 0, columnsOfB = 0;
  job.c = toMatrix(c, false, job.m, job.n);
  job.a = toMatrix(a, transposeA, rowsOfA, job.k);
  job.b = toMatrix(b, transposeB, depthOfB, columnsOfB);
  job.m = std::min(job.m, rowsOfA);
  job.n = std::min(job.n, columnsOfB);
  job.k = std::min(job.k, depthOfB);
  job.init = init;
  job.workspace = &matrixWorkspace;
  if (job.m <= 0 || job.n <= 0 || (job.k <= 0 && !init))
    return;
  currentLevel().load(std::memory_order_relaxed)->mmad(job);
}

const char *unsupportedCpuReason() {
#if defined(__x86_64__)
  if (!cpuHasV3())
    return "this CPU lacks AVX2, FMA, F16C or BMI (x86-64-v3)";
#endif
  return nullptr;
}

std::vector<std::string> kernelLevels() {
  std::vector<std::string> names;
  for (const Level &level : kLevels)
    if (supported(level))
      names.emplace_back(level.name);
  return names;
}

bool useKernelLevel(const std::string &name) {
  for (const Level &level : kLevels)
    if (name == level.name && supported(level)) {
      currentLevel().store(&level, std::memory_order_relaxed);
      return true;
    }
  return false;
}

} // namespace tilewright::sim
