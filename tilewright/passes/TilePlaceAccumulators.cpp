// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/Chip.h"
#include "tilewright/passes/TileUtils.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

namespace tilewright::passes {
#define GEN_PASS_DEF_TILEPLACEACCUMULATORS
#include "tilewright/passes/Passes.h.inc"
} // namespace tilewright::passes

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;
using namespace tilewright::tile;

namespace {

constexpr StringLiteral kPass = "tile-place-accumulators";

bool isZeroFill(Operation *op) {
  auto fill = dyn_cast_or_null<FillOp>(op);
  if (!fill || !coversBuffer(fill.getBox(0)))
    return false;
  return matchPattern(fill.getValue(), m_AnyZeroFloat()) || matchPattern(fill.getValue(), m_Zero());
}

/// The product surely ignores the old content.
bool clears(GemmOp gemm) { return constantOf(gemm.getInit()).value_or(0) != 0; }

/// The op writes the whole of `tile` and reads none of it.
bool kills(Operation *op, Value tile) {
  auto access = dyn_cast_or_null<AccessInterface>(op);
  bool covered = false;
  for (unsigned box = 0; access && box < access.getNumBoxes(); ++box) {
    if (access.getBox(box).buffer != tile)
      continue;
    if (reads(access.getAccessKind(box)))
      return false;
    covered |= coversBuffer(access.getBox(box));
  }
  return covered;
}

/// True when `flag` is `iv == lower bound` of `loop`.
bool isFirstTurn(Value flag, scf::ForOp loop) {
  auto compare = flag ? flag.getDefiningOp<arith::CmpIOp>() : nullptr;
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq)
    return false;
  auto strip = [](Value value) {
    while (Operation *cast = value.getDefiningOp()) {
      if (!isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(cast))
        break;
      value = cast->getOperand(0);
    }
    return value;
  };
  Value lhs = strip(compare.getLhs()), rhs = strip(compare.getRhs());
  if (rhs == loop.getInductionVar())
    std::swap(lhs, rhs);
  if (lhs != loop.getInductionVar())
    return false;
  auto lower = constantOf(loop.getLowerBound());
  return rhs == loop.getLowerBound() || (lower && constantOf(rhs) == lower);
}

/// What is known at compile time about an accumulator: does it hold a sum?
enum class Held { No, Yes, Unknown };

/// A product and the loops in whose first turns it starts the sum; none of them: it never does.
struct Flag {
  GemmOp gemm;
  std::optional<SmallVector<scf::ForOp>> starts;
};

/// Rewrites the products into one tile. Statements of a block are cut into *runs*: neighbours that
/// only multiply into the whole tile or clear it. A run sums up in an L0C accumulator, so that at
/// any point
///     tile == (what its own memory holds) + (accumulator, where a product has been made since the
///     last clear).
class Accumulator {
public:
  /// With `carried`, a sum may stay in L0C over the turns of a loop that makes other products too.
  Accumulator(Value tile, bool strict, bool carried = true)
      : tile(tile), type(cast<MemRefType>(tile.getType())), strict(strict), carried(carried) {
    forEachAccess(tile, [&](AccessInterface op, unsigned index) { accesses[op].push_back(index); });
    sumType = isa<FloatType>(type.getElementType()) ? Type(Float32Type::get(tile.getContext()))
                                                    : type.getElementType();
  }

  void rewrite(Block *block);
  void dropDeadClears();
  bool isCarriedOver(scf::ForOp loop) const { return touches(loop) && isPureCube(loop); }

private:
  using Run = ArrayRef<Operation *>;

  bool touches(Operation *op) const {
    return llvm::any_of(accesses, [&](auto &entry) { return op->isAncestor(entry.first); });
  }
  bool isPureCube(Operation *op) const;
  SmallVector<GemmOp> gemmsIn(Run run) const;
  bool startsFromZero(Block *block, Run run) const;
  bool isZeroAt(Block *block, Operation *at) const;
  bool isRead(Operation *op) const {
    auto access = cast<AccessInterface>(op);
    return llvm::any_of(accesses.lookup(op),
                        [&](unsigned box) { return reads(access.getAccessKind(box)); });
  }

  bool isDeadAfter(Operation *op) const;
  void noteNewAccesses();
  void rewriteRun(Block *block, Run run);
  void rewriteAlone(GemmOp gemm);
  void addSum(OpBuilder &builder, Location loc, const Box &part, ArrayRef<int64_t> partMap,
              const Box &sum, ArrayRef<int64_t> sumMap);
  bool plainFlags(Operation *op, SmallVector<scf::ForOp> &loops, Held &held,
                  SmallVectorImpl<Flag> &flags) const;
  void redirect(GemmOp gemm, Value acc, Value init);
  void applyFlags(ArrayRef<Flag> flags, Value acc);
  Value trackSums(Run run, ArrayRef<GemmOp> gemms, Value acc);
  void multiplyZeros(OpBuilder &builder, Location loc, AllocOp acc, Type element);

  Value tile;
  MemRefType type;
  bool strict;  ///< round after every product, as the tile says
  bool carried; ///< may stay in L0C while other products are made
  Type sumType; ///< of the accumulator: f32 or i32
  llvm::MapVector<Operation *, SmallVector<unsigned>> accesses;
  SmallPtrSet<Operation *, 8>
      erased; ///< readers that rewriteRun has replaced: later statements of a block
};

Value boolConstant(OpBuilder &builder, Location loc, bool value) {
  return builder.create<arith::ConstantOp>(loc, builder.getBoolAttr(value));
}

/// `op` makes a product into another tile than `tile`.
bool makesOtherProducts(Operation *op, Value tile) {
  return op
      ->walk([&](GemmOp gemm) {
        return gemm.getBox(0).buffer == tile ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// Does nothing to the tile but multiply into all of it, or clear it.
bool Accumulator::isPureCube(Operation *op) const {
  if (!carried && isa<scf::ForOp>(op) && makesOtherProducts(op, tile))
    return false;
  return llvm::all_of(accesses, [&](auto &entry) {
    if (!op->isAncestor(entry.first) || isZeroFill(entry.first))
      return true;
    auto gemm = dyn_cast<GemmOp>(entry.first);
    return gemm && entry.second == SmallVector<unsigned>{0} && coversBuffer(gemm.getBox(0));
  });
}

SmallVector<GemmOp> Accumulator::gemmsIn(Run run) const {
  SmallVector<GemmOp> gemms;
  for (auto &[access, boxes] : accesses)
    if (auto gemm = dyn_cast<GemmOp>(access); gemm && boxes.front() == 0)
      if (llvm::any_of(run, [&](Operation *op) { return op->isAncestor(gemm); }))
        gemms.push_back(gemm);
  return gemms;
}

/// The tile's own memory counts for nothing in the sum of this run: it is zero, or the first
/// product clears.
bool Accumulator::startsFromZero(Block *block, Run run) const {
  if (isZeroFill(run.front()))
    return true;
  if (auto gemm = dyn_cast<GemmOp>(run.front()); gemm && clears(gemm))
    return true;
  if (auto loop = dyn_cast<scf::ForOp>(run.front()))
    for (GemmOp gemm : gemmsIn(run.front()))
      if (gemm->getParentOp() == loop && (clears(gemm) || isFirstTurn(gemm.getInit(), loop)))
        return true;
  return isZeroAt(block, run.front());
}

/// The tile's own memory is zero whenever control reaches `at`: cleared on every way there, or not
/// touched before by this block of the grid.
bool Accumulator::isZeroAt(Block *block, Operation *at) const {
  auto lastTouch = [&](Operation *op) {
    while (op && !touches(op))
      op = op->getPrevNode();
    return op;
  };
  if (Operation *before = lastTouch(at->getPrevNode()))
    return isZeroFill(before);
  Operation *parent = block->getParentOp();
  if (isa<LaunchOp>(parent))
    return true;
  if (isa<scf::ForOp>(parent)) {
    if (!isZeroFill(lastTouch(&block->back()))) // of the turn before
      return false;
  } else if (!isa<scf::IfOp>(parent)) {
    return false;
  }
  return isZeroAt(parent->getBlock(), parent);
}

void Accumulator::redirect(GemmOp gemm, Value acc, Value init) {
  OpBuilder builder(gemm);
  BoxOperands boxes;
  boxes.addWhole(builder, gemm.getLoc(), acc);
  boxes.add(builder, gemm.getLoc(), gemm.getBox(1));
  boxes.add(builder, gemm.getLoc(), gemm.getBox(2));
  builder.create<GemmOp>(gemm.getLoc(), boxes.buffers, boxes.offsets, boxes.sizes, init,
                         gemm.getTransposeAAttr(), gemm.getTransposeBAttr());
  accesses.erase(gemm);
  gemm.erase();
  noteNewAccesses();
}

/// Follows the sum through one statement of a run: clears, products, and loops over products. Fails
/// where only a run-time bit can tell whether there is a sum yet.
bool Accumulator::plainFlags(Operation *op, SmallVector<scf::ForOp> &loops, Held &held,
                             SmallVectorImpl<Flag> &flags) const {
  if (!touches(op))
    return true;
  if (isZeroFill(op)) {
    held = Held::No;
    return loops.empty();
  }
  if (held == Held::Unknown)
    return false;
  if (auto gemm = dyn_cast<GemmOp>(op)) {
    flags.push_back({gemm, std::nullopt});
    if (held == Held::No)
      flags.back().starts = loops;
    held = Held::Yes;
    return true;
  }
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop)
    return false;
  bool heldBefore = held == Held::Yes;
  loops.push_back(loop);
  for (Operation &inner : *loop.getBody())
    if (!plainFlags(&inner, loops, held, flags))
      return false;
  loops.pop_back();
  if (held != Held::Yes)
    return false;
  if (!heldBefore && !runsAtLeastOnce(loop))
    held = Held::Unknown;
  return true;
}

/// Gives each product its flag: the one that starts the sum, or the author's own.
void Accumulator::applyFlags(ArrayRef<Flag> flags, Value acc) {
  for (const Flag &flag : flags) {
    GemmOp gemm = flag.gemm;
    OpBuilder builder(gemm);
    Location loc = gemm.getLoc();
    Value init;
    bool same = false; // the author's flag says what ours does
    for (scf::ForOp loop : flag.starts.value_or(SmallVector<scf::ForOp>())) {
      Value first = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                                  loop.getInductionVar(), loop.getLowerBound());
      init = init ? builder.create<arith::AndIOp>(loc, init, first).getResult() : first;
      same = flag.starts->size() == 1 && isFirstTurn(gemm.getInit(), loop);
    }
    if (!init)
      init = boolConstant(builder, loc, flag.starts.has_value());
    if (gemm.getInit() && !same)
      init = builder.createOrFold<arith::OrIOp>(loc, init, gemm.getInit());
    redirect(gemm, acc, init);
  }
}

/// Clears an accumulator: a product of zeros, the only way to write there without other operands.
void Accumulator::multiplyZeros(OpBuilder &builder, Location loc, AllocOp acc, Type element) {
  ArrayRef<int64_t> matrix = type.getShape().take_back(2);
  int64_t depth = 256 / element.getIntOrFloatBitWidth();
  Value zero = builder.create<arith::ConstantOp>(loc, scalarTypeOf(element),
                                                 builder.getZeroAttr(scalarTypeOf(element)));
  BoxOperands product;
  product.addWhole(builder, loc, acc);
  const int64_t shapes[][2] = {{matrix[0], depth}, {depth, matrix[1]}};
  for (const auto &shape : shapes) {
    Value zeros = createAlloc(acc, loc, nameOf(tile) + ".zeros", shape, element, Scope::L1);
    BoxOperands box;
    box.addWhole(builder, loc, zeros);
    builder.create<FillOp>(loc, box.buffers, box.offsets, box.sizes, zero);
    product.addWhole(builder, loc, zeros);
  }
  builder.create<GemmOp>(loc, product.buffers, product.offsets, product.sizes,
                         boolConstant(builder, loc, true), UnitAttr(), UnitAttr());
}

/// A run-time bit tells whether the accumulator holds a sum; gives every product its flag and
/// returns the bit's variable.
Value Accumulator::trackSums(Run run, ArrayRef<GemmOp> gemms, Value acc) {
  Location loc = run.front()->getLoc();
  AllocOp holds = createAlloc(run.front(), loc, nameOf(tile) + ".holds", {},
                              IntegerType::get(tile.getContext(), 1), Scope::Local);
  auto set = [&](OpBuilder &builder, Location loc, bool value) {
    builder.create<tile::StoreOp>(loc, boolConstant(builder, loc, value), holds, ValueRange());
  };
  OpBuilder start(run.front());
  set(start, loc, false);
  for (auto &[access, boxes] : accesses) {
    if (!isZeroFill(access) ||
        !llvm::any_of(run, [&](Operation *op) { return op->isProperAncestor(access); }))
      continue;
    OpBuilder builder(access);
    set(builder, access->getLoc(), false);
  }
  for (GemmOp gemm : gemms) {
    OpBuilder builder(gemm);
    Value held = builder.create<tile::LoadOp>(gemm.getLoc(), builder.getI1Type(), holds,
                                              ValueRange(), FloatAttr());
    Value init = builder.create<arith::XOrIOp>(gemm.getLoc(), held,
                                               boolConstant(builder, gemm.getLoc(), true));
    if (gemm.getInit())
      init = builder.create<arith::OrIOp>(gemm.getLoc(), init, gemm.getInit());
    builder.setInsertionPointAfter(gemm);
    set(builder, gemm.getLoc(), true);
    redirect(gemm, acc, init);
  }
  return holds;
}

/// What takes sums out to the tile touches it as well: later statements do not find it cleared.
void Accumulator::noteNewAccesses() {
  llvm::MapVector<Operation *, SmallVector<unsigned>> fresh;
  forEachAccess(tile, [&](AccessInterface op, unsigned box) {
    if (!accesses.contains(op))
      fresh[op].push_back(box);
  });
  for (auto &[op, boxes] : fresh)
    accesses[op] = boxes;
}

void Accumulator::rewriteRun(Block *block, Run run) {
  SmallVector<GemmOp> gemms = gemmsIn(run);
  bool fromZero = startsFromZero(block, run);
  // Without a product, the tile keeps what it has.
  bool zeroBefore = isZeroFill(run.front()) || isZeroAt(block, run.front());
  // A product that may clear, on top of other contents: each product by itself. So too where a sum
  // over the run would round at other places than the author's products do.
  bool mayClear = llvm::any_of(
      gemms, [](GemmOp gemm) { return gemm.getInit() && constantOf(gemm.getInit()) != 0; });
  bool movesRounding = !fromZero || sumType != type.getElementType();
  if ((mayClear && !fromZero) || (strict && movesRounding)) {
    for (GemmOp each : gemms)
      rewriteAlone(each);
    return;
  }

  Location loc = gemms.front().getLoc();
  AllocOp acc =
      createAlloc(run.front(), loc, nameOf(tile) + ".acc", type.getShape(), sumType, Scope::L0C);
  SmallVector<Operation *> clears = llvm::to_vector(llvm::make_filter_range(run, isZeroFill));
  // The run's statements may be replaced; `next` keeps its place.
  Operation *next = run.back()->getNextNode();
  SmallPtrSet<Operation *, 4> runOps(run.begin(), run.end());

  Type operandType = cast<MemRefType>(gemms.front().getBox(1).buffer.getType()).getElementType();
  SmallVector<Flag> flags;
  SmallVector<scf::ForOp> loops;
  Held held = Held::No;
  bool plain = llvm::all_of(run, [&](Operation *op) { return plainFlags(op, loops, held, flags); });
  Value holds;
  if (plain)
    applyFlags(flags, acc);
  else
    holds = trackSums(run, gemms, acc);
  bool surelyHolds = plain && held == Held::Yes;
  OpBuilder builder(next);
  // Made where it is needed: is there a sum?
  auto hasSum = [&]() -> Value {
    if (holds)
      return builder.create<tile::LoadOp>(loc, builder.getI1Type(), holds, ValueRange(),
                                          FloatAttr());
    auto loop = cast<scf::ForOp>(run.back());
    return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, loop.getLowerBound(),
                                         loop.getUpperBound());
  };

  // Who looks at the tile afterwards? Nobody beyond the next statement that overwrites it.
  Operation *end = next;
  while (end && !kills(end, tile))
    end = end->getNextNode();
  bool once = end || isa<LaunchOp>(block->getParentOp());
  SmallVector<Operation *> readers;
  bool direct = fromZero && (surelyHolds || zeroBefore);
  for (auto &[access, boxes] : accesses) {
    Operation *place = ancestorIn(block, access);
    bool later = place && !place->isBeforeInBlock(next) && !(end && !place->isBeforeInBlock(end));
    if ((place && runOps.contains(place)) || !isRead(access) || (!later && once))
      continue;
    readers.push_back(access);
    auto copy = dyn_cast<CopyOp>(access);
    direct &= later && copy && place == access && copy.getBox(0).buffer != tile;
  }
  // Later statements that write the tile would be missed by readers that look into L0C.
  if (direct)
    for (auto &[access, boxes] : accesses) {
      Operation *place = ancestorIn(block, access);
      if (place && !place->isBeforeInBlock(next) && !(end && !place->isBeforeInBlock(end)) &&
          !llvm::is_contained(readers, access))
        direct = false;
    }

  if (direct && !surelyHolds) {
    Value none = builder.create<arith::XOrIOp>(loc, hasSum(), boolConstant(builder, loc, true));
    auto branch = builder.create<scf::IfOp>(loc, none, /*withElseRegion=*/false);
    OpBuilder inside(branch.thenYield());
    multiplyZeros(inside, loc, acc, operandType);
    surelyHolds = true;
  }
  if (direct) {
    for (Operation *reader : readers) {
      auto copy = cast<CopyOp>(reader);
      OpBuilder at(copy);
      BoxOperands boxes;
      boxes.add(at, copy.getLoc(), copy.getBox(0));
      boxes.add(at, copy.getLoc(), copy.getBox(1), acc);
      at.create<CopyOp>(copy.getLoc(), boxes.buffers, boxes.offsets, boxes.sizes, FloatAttr());
      accesses.erase(reader);
      erased.insert(reader);
      copy.erase();
    }
  } else if (!readers.empty()) {
    if (!surelyHolds) {
      auto branch = builder.create<scf::IfOp>(loc, hasSum(), /*withElseRegion=*/false);
      builder.setInsertionPoint(branch.thenYield());
    }
    BoxOperands out;
    Value target =
        fromZero ? tile
                 : createAlloc(acc, loc, nameOf(tile) + ".sum", type.getShape(), sumType, Scope::UB)
                       .getResult();
    out.addWhole(builder, loc, target);
    out.addWhole(builder, loc, acc);
    builder.create<CopyOp>(loc, out.buffers, out.offsets, out.sizes, FloatAttr());
    if (!fromZero) {
      SmallVector<int64_t> map = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
      addSum(builder, loc, Box{tile, {}, {}}, map, Box{target, {}, {}}, map);
    }
  }
  // The tile's own memory is overwritten by the read-out: clears that lead the run have no reader
  // left.
  if (surelyHolds && fromZero)
    for (Operation *clear : clears) {
      accesses.erase(clear);
      clear->erase();
    }
  noteNewAccesses();
  remark(acc, kPass, "applied")
      << "'" << nameOf(tile) << "' is summed in L0C"
      << (direct     ? " and leaves through the fixpipe"
          : fromZero ? " and read out once"
                     : " for these products; the vector unit adds the sum to the tile");
}

/// part += sum on the vector unit. A narrow tile is widened for it, so that the new value is
/// rounded once.
void Accumulator::addSum(OpBuilder &builder, Location loc, const Box &part,
                         ArrayRef<int64_t> partMap, const Box &sum, ArrayRef<int64_t> sumMap) {
  auto apply = [&](Fn fn, ArrayRef<std::pair<Box, ArrayRef<int64_t>>> operands) {
    BoxOperands boxes;
    SmallVector<Attribute> maps;
    for (const auto &[box, map] : operands) {
      boxes.add(builder, loc, box);
      maps.push_back(builder.getDenseI64ArrayAttr(map));
    }
    builder.create<ElementwiseOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes, Value(),
                                  FnAttr::get(builder.getContext(), fn), builder.getArrayAttr(maps),
                                  UnitAttr(), RoundAttr::get(builder.getContext(), Round::Rint));
  };
  if (sumType == type.getElementType())
    return apply(Fn::Add, {{part, partMap}, {part, partMap}, {sum, sumMap}});
  auto sumShape = cast<MemRefType>(sum.buffer.getType()).getShape();
  Box wide{createAlloc(sum.buffer.getDefiningOp(), loc, nameOf(tile) + ".wide", sumShape, sumType,
                       Scope::UB),
           sum.offsets, sum.sizes};
  apply(Fn::Cast, {{wide, sumMap}, {part, partMap}});
  apply(Fn::Add, {{sum, sumMap}, {wide, sumMap}, {sum, sumMap}});
  apply(Fn::Cast, {{part, partMap}, {sum, sumMap}});
}

/// C[box] (+)= A.B by itself: a fresh accumulator of the box's size, combined by the vector unit.
void Accumulator::rewriteAlone(GemmOp gemm) {
  Box c = gemm.getBox(0);
  SmallVector<int64_t> shape = staticSizes(c);
  for (auto [dim, size] : llvm::enumerate(shape))
    size = ShapedType::isDynamic(size) ? type.getDimSize(dim) : size;
  std::optional<int64_t> init =
      gemm.getInit() ? constantOf(gemm.getInit()) : std::optional<int64_t>(0);
  OpBuilder builder(gemm);
  Location loc = gemm.getLoc();
  ArrayRef<int64_t> matrix = ArrayRef(shape).take_back(2);
  Value acc = createAlloc(gemm, loc, nameOf(tile) + ".acc", matrix, sumType, Scope::L0C);
  Value sum = createAlloc(gemm, loc, nameOf(tile) + ".sum", matrix, sumType, Scope::UB);
  SmallVector<Value> zeros(2, builder.create<arith::ConstantIndexOp>(loc, 0));
  Box accPart{acc, zeros, c.sizes.take_back(2)}, sumPart{sum, zeros, c.sizes.take_back(2)};
  BoxOperands product, out;
  product.add(builder, loc, accPart);
  product.add(builder, loc, gemm.getBox(1));
  product.add(builder, loc, gemm.getBox(2));
  builder.create<GemmOp>(loc, product.buffers, product.offsets, product.sizes,
                         boolConstant(builder, loc, true), gemm.getTransposeAAttr(),
                         gemm.getTransposeBAttr());
  out.add(builder, loc, sumPart);
  out.add(builder, loc, accPart);
  builder.create<CopyOp>(loc, out.buffers, out.offsets, out.sizes, FloatAttr());

  SmallVector<int64_t> map(shape.size(), -1);
  map[map.size() - 2] = 0, map[map.size() - 1] = 1;
  auto combine = [&](bool add) {
    if (add)
      return addSum(builder, loc, c, map, sumPart, {0, 1});
    BoxOperands boxes;
    boxes.add(builder, loc, c);
    boxes.add(builder, loc, sumPart);
    Fn fn = sumType == type.getElementType() ? Fn::Copy : Fn::Cast;
    ArrayAttr maps = builder.getArrayAttr(
        {builder.getDenseI64ArrayAttr(map), builder.getDenseI64ArrayAttr({0, 1})});
    builder.create<ElementwiseOp>(loc, boxes.buffers, boxes.offsets, boxes.sizes, Value(),
                                  FnAttr::get(builder.getContext(), fn), maps, UnitAttr(),
                                  RoundAttr::get(builder.getContext(), Round::Rint));
  };
  if (init) {
    combine(*init == 0);
  } else {
    auto branch = builder.create<scf::IfOp>(loc, gemm.getInit(), /*withElseRegion=*/true);
    builder.setInsertionPoint(branch.thenYield());
    combine(false);
    builder.setInsertionPoint(branch.elseYield());
    combine(true);
  }
  remark(gemm, kPass, "applied") << "the vector unit adds this product to '" << nameOf(tile) << "'";
  accesses.erase(gemm);
  gemm.erase();
  noteNewAccesses();
}

/// Rewrites inner blocks with mixed statements first, then this block's runs.
void Accumulator::rewrite(Block *block) {
  SmallVector<Operation *> touching;
  for (Operation &op : *block)
    if (touches(&op))
      touching.push_back(&op);
  SmallVector<bool> pure =
      llvm::map_to_vector(touching, [&](Operation *op) { return isPureCube(op); });

  for (size_t begin = 0; begin < touching.size();) {
    Operation *op = touching[begin];
    if (erased.contains(op)) {
      ++begin;
      continue;
    }
    if (!pure[begin]) {
      ++begin;
      if (auto gemm = dyn_cast<GemmOp>(op); gemm && accesses.lookup(op).front() == 0) {
        rewriteAlone(gemm);
        continue;
      }
      for (Region &region : op->getRegions())
        for (Block &inner : region)
          rewrite(&inner);
      continue;
    }
    size_t end = begin + 1;
    while (
        end < touching.size() && pure[end] &&
        !(isZeroFill(touching[end]) && !gemmsIn(Run(touching).slice(begin, end - begin)).empty()))
      ++end;
    Run run = Run(touching).slice(begin, end - begin);
    begin = end;
    if (!gemmsIn(run).empty())
      rewriteRun(block, run);
  }
}

/// After `op`, nothing reads the tile before it is overwritten.
bool Accumulator::isDeadAfter(Operation *op) const {
  auto nextTouch = [&](Operation *next) {
    while (next && !touches(next))
      next = next->getNextNode();
    return next;
  };
  if (Operation *next = nextTouch(op->getNextNode())) {
    auto loop = dyn_cast<scf::ForOp>(next);
    if (!loop)
      return kills(next, tile);
    return kills(nextTouch(&loop.getBody()->front()), tile) &&
           (runsAtLeastOnce(loop) || isDeadAfter(loop));
  }
  Operation *parent = op->getParentOp();
  if (isa<LaunchOp>(parent))
    return true;
  if (isa<scf::ForOp>(parent)) {
    if (!kills(nextTouch(&op->getBlock()->front()), tile)) // in the turn after
      return false;
  } else if (!isa<scf::IfOp>(parent)) {
    return false;
  }
  return isDeadAfter(parent);
}

/// Erases clears that only the rewritten products would have seen.
void Accumulator::dropDeadClears() {
  SmallVector<Operation *> dead;
  for (auto &[access, boxes] : accesses)
    if (isZeroFill(access) && isDeadAfter(access))
      dead.push_back(access);
  for (Operation *clear : dead)
    clear->erase();
}

/// What a sum of the whole tile takes in L0C: words of four bytes in square fractals.
int64_t bytesInL0C(Value tile, const machine::Machine &chip) {
  ArrayRef<int64_t> shape = cast<MemRefType>(tile.getType()).getShape();
  int64_t elements = 1;
  for (auto [dim, size] : llvm::enumerate(shape))
    elements *= dim + 2 < shape.size() ? size : llvm::alignTo(size, chip.fractalRows);
  return elements * 4;
}

/// The tiles whose sums must leave L0C in each turn of a loop, since it cannot hold them beside the
/// other products of a turn. The largest go first. A tile too large by itself is no reason.
SmallVector<Value> sumsBeyond(const machine::Machine &chip, ArrayRef<Value> tiles,
                              ArrayRef<GemmOp> products) {
  SmallVector<Value> carried(tiles), left;
  auto heldAt = [&](GemmOp gemm) {
    return llvm::to_vector(llvm::make_filter_range(carried, [&](Value tile) {
      if (tile == gemm.getBox(0).buffer)
        return false;
      Accumulator sum(tile, /*strict=*/false);
      for (auto loop = gemm->getParentOfType<scf::ForOp>(); loop;
           loop = loop->getParentOfType<scf::ForOp>())
        if (sum.isCarriedOver(loop))
          return true;
      return false;
    }));
  };
  auto isLarger = [&](Value a, Value b) { return bytesInL0C(a, chip) < bytesInL0C(b, chip); };
  for (bool changed = true; changed;) {
    changed = false;
    for (GemmOp gemm : products) {
      SmallVector<Value> held = heldAt(gemm);
      int64_t needed = bytesInL0C(gemm.getBox(0).buffer, chip);
      if (held.empty() || needed > chip.l0cBytes)
        continue;
      for (Value tile : held)
        needed += bytesInL0C(tile, chip);
      if (needed <= chip.l0cBytes)
        continue;
      left.push_back(*llvm::max_element(held, isLarger));
      llvm::erase(carried, left.back());
      changed = true;
    }
  }
  return left;
}

struct TilePlaceAccumulatorsPass
    : passes::impl::TilePlaceAccumulatorsBase<TilePlaceAccumulatorsPass> {
  using TilePlaceAccumulatorsBase::TilePlaceAccumulatorsBase;

  void runOnOperation() override {
    std::optional<machine::Machine> machine = chipFor(getOperation(), chip);
    if (!machine)
      return signalPassFailure();
    SmallVector<Value> tiles;
    SmallVector<GemmOp> products;
    WalkResult result = getOperation().walk([&](GemmOp gemm) {
      Value tile = gemm.getBox(0).buffer;
      if (!gemm->getParentOfType<LaunchOp>()) {
        gemm.emitOpError("E0799: stands outside a kernel");
        return WalkResult::interrupt();
      }
      if (scopeOf(tile) == Scope::Global) {
        gemm.emitError("E0708: a product cannot accumulate into the global tensor '")
            << nameOf(tile) << "'; use an on-chip tile";
        return WalkResult::interrupt();
      }
      if (scopeOf(tile) == Scope::L0C)
        return WalkResult::advance();
      products.push_back(gemm);
      if (!llvm::is_contained(tiles, tile))
        tiles.push_back(tile);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    SmallVector<Value> left = sumsBeyond(*machine, tiles, products);
    for (Value tile : tiles) {
      bool carried = !llvm::is_contained(left, tile);
      if (!carried)
        remark(tile.getDefiningOp(), kPass, "applied")
            << "'" << nameOf(tile) << "' leaves L0C in each turn: its " << machine->l0cBytes / 1024
            << " KiB do not hold it beside the other sums";
      Accumulator(tile, strict, carried).rewrite(tile.getParentBlock());
      Accumulator(tile, strict).dropDeadClears();
    }
  }
};

} // namespace
