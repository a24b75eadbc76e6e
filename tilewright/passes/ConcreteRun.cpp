// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/passes/ConcreteRun.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes;

namespace {

constexpr int64_t kMaxSteps = 10000; ///< statements of one run
constexpr size_t kMaxPieces = 64;    ///< of one buffer
constexpr int64_t kMaxTurns = 3;     ///< of a loop whose condition hangs on data
constexpr int64_t kGuesses = 4;      ///< scalars out of data are less than this

uint64_t hashOf(StringRef text) {
  uint64_t hash = 0;
  for (char letter : text)
    hash = mixed(hash, uint8_t(letter));
  return hash;
}

int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }

} // namespace

uint64_t passes::mixed(uint64_t seed, uint64_t value) {
  uint64_t x = (seed ^ value) + 0x9E3779B97F4A7C15ull + (seed << 6);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

bool RunBox::isEmpty() const {
  return llvm::any_of(sizes, [](int64_t size) { return size <= 0; });
}

int64_t RunBox::volume() const {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= std::max<int64_t>(size, 0);
  return product;
}

//===--- Pieces ------------------------------------------------------------------------------===//

void Pieces::subtract(Piece piece, const RunBox &box, std::vector<Piece> &rest) {
  for (size_t dim = 0; dim < piece.offsets.size(); ++dim) {
    int64_t first = piece.offsets[dim], end = first + piece.sizes[dim];
    int64_t from = std::max(first, box.offsets[dim]);
    int64_t to = std::min(end, box.offsets[dim] + box.sizes[dim]);
    if (from >= to) {
      rest.push_back(std::move(piece));
      return;
    }
  }
  for (size_t dim = 0; dim < piece.offsets.size(); ++dim) {
    int64_t first = piece.offsets[dim], end = first + piece.sizes[dim];
    int64_t from = std::max(first, box.offsets[dim]);
    int64_t to = std::min(end, box.offsets[dim] + box.sizes[dim]);
    auto part = [&](int64_t low, int64_t high) {
      if (low >= high)
        return;
      Piece copy = piece;
      copy.offsets[dim] = low;
      copy.sizes[dim] = high - low;
      rest.push_back(std::move(copy));
    };
    part(first, from);
    part(to, end);
    piece.offsets[dim] = from;
    piece.sizes[dim] = to - from;
  }
}

void Pieces::write(const RunBox &box, uint64_t content) {
  if (box.isEmpty())
    return;
  uint64_t place = 0;
  for (auto [offset, size] : llvm::zip(box.offsets, box.sizes))
    place = mixed(mixed(place, offset), size);
  total += mixed(place, content);
  if (isBlurred)
    return;
  std::vector<Piece> rest;
  for (Piece &piece : pieces)
    subtract(std::move(piece), box, rest);
  rest.push_back({box.offsets, box.sizes, content});
  pieces = std::move(rest);
  if (pieces.size() <= kMaxPieces)
    return;
  isBlurred = true;
  pieces.clear();
}

bool Pieces::covers(const RunBox &box) const {
  if (isBlurred || box.isEmpty())
    return true;
  std::vector<Piece> open = {{box.offsets, box.sizes, 0}};
  for (const Piece &piece : pieces) {
    std::vector<Piece> rest;
    for (Piece &each : open)
      subtract(std::move(each), {{}, piece.offsets, piece.sizes}, rest);
    open = std::move(rest);
  }
  return open.empty();
}

uint64_t Pieces::contentOf(const RunBox &box, uint64_t otherwise) const {
  if (isBlurred)
    return total;
  uint64_t sum = 0; // of numbers that tell the place, so that the order of pieces does not matter
  for (const Piece &piece : pieces) {
    uint64_t part = piece.content;
    bool isInside = !box.isEmpty();
    for (size_t dim = 0; dim < piece.offsets.size(); ++dim) {
      int64_t from = std::max(piece.offsets[dim], box.offsets[dim]);
      int64_t to =
          std::min(piece.offsets[dim] + piece.sizes[dim], box.offsets[dim] + box.sizes[dim]);
      isInside &= from < to;
      part = mixed(mixed(part, from - box.offsets[dim]), to - from);
    }
    if (isInside)
      sum += part;
  }
  return covers(box) ? sum : mixed(sum, otherwise + 1);
}

bool Versions::follow(Operation *op) {
  if (auto advance = dyn_cast<tile::AdvanceOp>(op))
    tiles[advance.getBuffer()].clear();
  else if (auto acquire = dyn_cast<tile::AcquireOp>(op))
    channels[acquire.getChannel()].emplace_back();
  else if (auto release = dyn_cast<tile::ReleaseOp>(op)) {
    if (auto &queue = channels[release.getChannel()]; !queue.empty())
      queue.pop_front();
  } else
    return false;
  return true;
}

//===--- ConcreteRun -------------------------------------------------------------------------===//

LogicalResult ConcreteRun::run(ArrayRef<int64_t> block, Visit visit) {
  steps = kMaxSteps;
  hasGuessed = false;
  for (auto [argument, id] : llvm::zip(launch.getBody().getArguments(), block))
    numbers[argument] = {id};
  return runBlock(launch.getBody().front(), visit);
}

LogicalResult ConcreteRun::runBlock(Block &block, Visit visit) {
  for (Operation &op : block) {
    if (steps <= 0 || --steps <= 0)
      return success();
    LogicalResult result =
        llvm::TypeSwitch<Operation *, LogicalResult>(&op)
            .Case<scf::ForOp>([&](scf::ForOp loop) { return runFor(loop, visit); })
            .Case<scf::WhileOp>([&](scf::WhileOp loop) { return runWhile(loop, visit); })
            .Case<scf::IfOp>([&](scf::IfOp branch) { return runIf(branch, visit); })
            .Default([&](Operation *other) {
              if (failed(visit(other)))
                return failure();
              if (auto store = dyn_cast<tile::StoreOp>(other);
                  store && tile::scopeOf(store.getBuffer()) == tile::Scope::Local)
                variables[store.getBuffer()] = numberOf(store.getValue());
              for (OpResult result : other->getResults())
                if (!isa<MemRefType>(result.getType()))
                  numbers[result] = evaluate(other, result.getResultNumber());
              return success();
            });
    if (failed(result))
      return failure();
  }
  return success();
}

/// A number on which it hangs what runs.
RunNumber ConcreteRun::decides(RunNumber number) {
  hasGuessed |= number.isGuess;
  return number;
}

LogicalResult ConcreteRun::runFor(scf::ForOp loop, Visit visit) {
  RunNumber lower = decides(numberOf(loop.getLowerBound()));
  RunNumber upper = decides(numberOf(loop.getUpperBound()));
  int64_t step = decides(numberOf(loop.getStep())).value;
  SmallVector<RunNumber> carried = numbersOf(loop.getInitArgs());
  for (int64_t at = lower.value; step > 0 && at < upper.value && steps > 0; at += step) {
    numbers[loop.getInductionVar()] = {at, lower.isGuess};
    bind(loop.getRegionIterArgs(), carried);
    if (failed(runBlock(*loop.getBody(), visit)))
      return failure();
    carried = numbersOf(loop.getBody()->getTerminator()->getOperands());
  }
  bind(loop.getResults(), carried);
  return success();
}

LogicalResult ConcreteRun::runWhile(scf::WhileOp loop, Visit visit) {
  SmallVector<RunNumber> carried = numbersOf(loop.getInits());
  for (int64_t turn = 0; steps > 0; ++turn) {
    bind(loop.getBeforeArguments(), carried);
    if (failed(runBlock(*loop.getBeforeBody(), visit)))
      return failure();
    scf::ConditionOp condition = loop.getConditionOp();
    carried = numbersOf(condition.getArgs());
    RunNumber goesOn = decides(numberOf(condition.getCondition()));
    if (goesOn.value == 0 || (goesOn.isGuess && turn == kMaxTurns))
      break;
    bind(loop.getAfterArguments(), carried);
    if (failed(runBlock(*loop.getAfterBody(), visit)))
      return failure();
    carried = numbersOf(loop.getYieldOp().getResults());
  }
  bind(loop.getResults(), carried);
  return success();
}

LogicalResult ConcreteRun::runIf(scf::IfOp branch, Visit visit) {
  Region &region = decides(numberOf(branch.getCondition())).value != 0 ? branch.getThenRegion()
                                                                       : branch.getElseRegion();
  if (region.empty())
    return success();
  if (failed(runBlock(region.front(), visit)))
    return failure();
  bind(branch.getResults(), numbersOf(region.front().getTerminator()->getOperands()));
  return success();
}

void ConcreteRun::bind(ValueRange to, ArrayRef<RunNumber> from) {
  for (auto [value, number] : llvm::zip(to, from))
    numbers[value] = number;
}

SmallVector<RunNumber> ConcreteRun::numbersOf(ValueRange values) {
  return llvm::map_to_vector(values, [&](Value value) { return numberOf(value); });
}

RunNumber ConcreteRun::numberOf(Value value) {
  if (auto found = numbers.find(value); found != numbers.end())
    return found->second;
  RunNumber number;
  if (auto result = dyn_cast<OpResult>(value))
    number = evaluate(result.getOwner(), result.getResultNumber());
  else if (isa<func::FuncOp>(value.getParentBlock()->getParentOp()))
    number.value = 1 + int64_t(mixed(choice, cast<BlockArgument>(value).getArgNumber()) % 96);
  return numbers[value] = number;
}

RunBox ConcreteRun::boxOf(AccessInterface access, unsigned index) {
  Box box = access.getBox(index);
  auto type = cast<MemRefType>(box.buffer.getType());
  RunBox found{box.buffer, {}, {}};
  auto take = [&](Value value) {
    RunNumber number = numberOf(value);
    found.isGuess |= number.isGuess;
    return number.value;
  };
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    found.offsets.push_back(box.offsets.empty() ? 0 : take(box.offsets[dim]));
    found.sizes.push_back(!box.sizes.empty()     ? take(box.sizes[dim])
                          : !box.offsets.empty() ? 1
                                                 : type.getDimSize(dim));
  }
  hasGuessed |= found.isGuess;
  return found;
}

bool ConcreteRun::reads(AccessInterface access, unsigned index) {
  if (auto gemm = dyn_cast<tile::GemmOp>(access.getOperation()); gemm && index == 0)
    return !gemm.getInit() || decides(numberOf(gemm.getInit())).value == 0;
  return tilewright::reads(access.getAccessKind(index));
}

/// The numbers of scalar operations. What has none gets one that its operands decide.
RunNumber ConcreteRun::evaluate(Operation *op, unsigned result) {
  Type type = op->getResult(result).getType();
  if (std::optional<int64_t> constant = constantOf(op->getResult(result)))
    return {*constant};
  if (auto symbol = dyn_cast<tile::SymbolOp>(op)) {
    static constexpr int64_t kSizes[2][4] = {{129, 200, 64, 37}, {33, 1, 96, 7}};
    return {kSizes[choice % 2][hashOf(symbol.getName()) % 4]};
  }
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    if (tile::scopeOf(load.getBuffer()) == tile::Scope::Local)
      return variables.lookup(load.getBuffer());
    uint64_t place = 0;
    for (Value index : load.getIndices())
      place = mixed(place, numberOf(index).value);
    return {int64_t(place % kGuesses), true};
  }
  auto operand = [&](unsigned index) { return numberOf(op->getOperand(index)); };
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    RunNumber condition = operand(0), chosen = operand(condition.value != 0 ? 1 : 2);
    return {chosen.value, chosen.isGuess || condition.isGuess};
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp,
          arith::TruncIOp>(op))
    return operand(0);
  if (op->getNumOperands() == 2 && op->getOperand(0).getType().isIntOrIndex() &&
      op->getOperand(1).getType().isIntOrIndex()) {
    RunNumber left = operand(0), right = operand(1);
    bool isGuess = left.isGuess || right.isGuess;
    int64_t a = left.value, b = right.value;
    if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
      using enum arith::CmpIPredicate;
      switch (compare.getPredicate()) {
      case eq:
        return {a == b, isGuess};
      case ne:
        return {a != b, isGuess};
      case slt:
      case ult:
        return {a < b, isGuess};
      case sle:
      case ule:
        return {a <= b, isGuess};
      case sgt:
      case ugt:
        return {a > b, isGuess};
      case sge:
      case uge:
        return {a >= b, isGuess};
      }
    }
    if (isa<arith::AddIOp>(op))
      return {wrapped(uint64_t(a) + uint64_t(b)), isGuess};
    if (isa<arith::SubIOp>(op))
      return {wrapped(uint64_t(a) - uint64_t(b)), isGuess};
    if (isa<arith::MulIOp>(op))
      return {wrapped(uint64_t(a) * uint64_t(b)), isGuess};
    if (isa<arith::MinSIOp, arith::MinUIOp>(op))
      return {std::min(a, b), isGuess};
    if (isa<arith::MaxSIOp, arith::MaxUIOp>(op))
      return {std::max(a, b), isGuess};
    if (isa<arith::AndIOp>(op))
      return {a & b, isGuess};
    if (isa<arith::OrIOp>(op))
      return {a | b, isGuess};
    if (isa<arith::XOrIOp>(op))
      return {a ^ b, isGuess};
    if (isa<arith::ShLIOp>(op) && b >= 0 && b < 63)
      return {wrapped(uint64_t(a) << b), isGuess};
    if (isa<arith::ShRSIOp, arith::ShRUIOp>(op) && b >= 0 && b < 64)
      return {a >> b, isGuess};
    if (b > 0 && isa<arith::FloorDivSIOp>(op))
      return {llvm::divideFloorSigned(a, b), isGuess};
    if (b > 0 && isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
      return {llvm::divideCeilSigned(a, b), isGuess};
    if (b > 0 && isa<arith::DivSIOp, arith::DivUIOp>(op))
      return {a / b, isGuess};
    if (b > 0 && isa<arith::RemSIOp, arith::RemUIOp>(op))
      return {a % b, isGuess};
  }
  uint64_t number = hashOf(op->getName().getStringRef());
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    if (auto value = dyn_cast<FloatAttr>(constant.getValue()))
      return {wrapped(value.getValue().bitcastToAPInt().getZExtValue())};
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    if (!isa<MemRefType>(op->getOperand(index).getType()))
      number = mixed(number, operand(index).value);
  if (type.isInteger(1))
    number %= 2;
  else if (type.isIntOrIndex())
    number %= kGuesses;
  return {wrapped(number), true};
}

LogicalResult passes::forEachRun(
    tile::LaunchOp launch,
    llvm::function_ref<LogicalResult(ConcreteRun &, ArrayRef<int64_t> block)> visit) {
  auto function = launch->getParentOfType<func::FuncOp>();
  bool isOpen =
      !function.getOps<tile::SymbolOp>().empty() ||
      llvm::any_of(function.getArgumentTypes(), [](Type type) { return type.isIntOrIndex(); });
  for (unsigned choice = 0; choice < (isOpen ? 2 : 1); ++choice) {
    SmallVector<SmallVector<int64_t>> blocks(3);
    bool isEmpty = false;
    ConcreteRun sizes(launch, choice);
    for (Value extent : launch.getGrid()) {
      int64_t count = sizes.numberOf(extent).value;
      isEmpty |= count <= 0;
      blocks[0].push_back(0);
      blocks[1].push_back(count - 1);
      blocks[2].push_back(count / 2);
    }
    if (isEmpty)
      continue;
    for (size_t number = 0; number < blocks.size(); ++number) {
      if (llvm::is_contained(ArrayRef(blocks).take_front(number), blocks[number]))
        continue;
      ConcreteRun run(launch, choice);
      if (failed(visit(run, blocks[number])))
        return failure();
    }
  }
  return success();
}
