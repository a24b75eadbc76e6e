// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// npu-plan-memory: give every on-chip buffer and every exchange buffer its address.

#include "tilewright/npu/Rows.h"
#include "tilewright/passes/Chip.h"
#include "tilewright/passes/NpuLiveness.h"
#include "tilewright/passes/Passes.h"
#include "tilewright/passes/SplitReductions.h"
#include "tilewright/support/TypeNames.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

#include <climits>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#define DEBUG_TYPE "npu-plan-memory"

using namespace mlir;

namespace tilewright::passes {
#define GEN_PASS_DEF_NPUPLANMEMORY
#include "tilewright/passes/Passes.h.inc"

namespace {

constexpr int64_t kLine = 512; ///< alignment of L1, L0C and the workspace
constexpr int64_t kBlock = 32; ///< alignment of UB
constexpr int64_t kLittle = 1; ///< eighths of a turn's work
constexpr int64_t kBankPeriod =
    512; ///< two UB sources are free of conflicts 256 bytes apart, modulo this

/// One buffer to place.
struct Tile {
  npu::AllocOp alloc;
  int64_t bytes = 0; ///< all slots
  LiveRange live;
  int parity = -1; ///< wanted: base modulo 512 is 256 * parity; -1: any
  int64_t address = 0;
};

/// One memory of one core.
struct Memory {
  npu::Space space;
  StringRef name, longName;
  int64_t capacity = 0, alignment = kLine;
  int64_t reserved = 0; ///< bytes at the end that tiles leave free

  int64_t limit() const { return capacity - reserved; }
};

std::string kib(int64_t bytes) {
  if (bytes % 1024 == 0)
    return std::to_string(bytes / 1024) + " KiB";
  return std::to_string(bytes) + " bytes";
}

/// "128x256 float32, 128 KiB x 2 slots".
std::string sizeText(npu::AllocOp alloc) {
  auto type = cast<MemRefType>(alloc.getType());
  std::string text;
  for (int64_t extent : type.getShape())
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  text += (text.empty() ? "" : " ") + dtypeName(type.getElementType()) + ", " +
          kib(alloc.getSlotBytes());
  if (alloc.getPadRows())
    text += " with rows of whole 32-byte blocks";
  if (alloc.getSlots() > 1)
    text += " x " + std::to_string(alloc.getSlots()) + " slots";
  return text;
}

std::string lineText(Location loc) {
  auto file = loc->findInstanceOf<FileLineColLoc>();
  return file ? "line " + std::to_string(file.getLine()) : "line unknown";
}

/// Address of the first byte at or after `from` that suits the tile.
int64_t suitable(const Tile &tile, int64_t from, const Memory &memory, bool useBanks) {
  if (!useBanks || tile.parity < 0)
    return llvm::alignTo(from, memory.alignment);
  return llvm::alignTo(from, kBankPeriod, tile.parity * kBankPeriod / 2);
}

/// One after the other, nothing shared. Returns the end.
int64_t placeApart(MutableArrayRef<Tile> tiles, const Memory &memory, bool useBanks) {
  int64_t end = 0;
  for (Tile &tile : tiles) {
    tile.address = suitable(tile, end, memory, useBanks);
    end = tile.address + tile.bytes;
  }
  return end;
}

/// For each tile those that it lives together with.
std::vector<SmallVector<unsigned>> neighboursOf(ArrayRef<Tile> tiles) {
  SmallVector<unsigned> byStart(tiles.size());
  std::iota(byStart.begin(), byStart.end(), 0u);
  llvm::stable_sort(
      byStart, [&](unsigned a, unsigned b) { return tiles[a].live.first < tiles[b].live.first; });
  std::vector<SmallVector<unsigned>> neighbours(tiles.size());
  SmallVector<unsigned> alive;
  for (unsigned index : byStart) {
    llvm::erase_if(
        alive, [&](unsigned other) { return tiles[other].live.last < tiles[index].live.first; });
    for (unsigned other : alive) {
      neighbours[index].push_back(other);
      neighbours[other].push_back(index);
    }
    alive.push_back(index);
  }
  return neighbours;
}

/// Best fit in the given order: each tile into the smallest gap among those it lives together with.
/// Returns the highest end.
int64_t placeShared(MutableArrayRef<Tile> tiles, ArrayRef<unsigned> order,
                    ArrayRef<SmallVector<unsigned>> neighbours, const Memory &memory,
                    bool useBanks) {
  int64_t peak = 0;
  SmallVector<bool> isPlaced(tiles.size());
  for (unsigned index : order) {
    Tile &tile = tiles[index];
    SmallVector<std::pair<int64_t, int64_t>> taken;
    for (unsigned other : neighbours[index])
      if (isPlaced[other])
        taken.push_back({tiles[other].address, tiles[other].address + tiles[other].bytes});
    llvm::sort(taken);
    int64_t best = -1, bestGap = 0, end = 0;
    for (auto [from, to] : taken) {
      int64_t address = suitable(tile, end, memory, useBanks);
      if (address + tile.bytes <= from && (best < 0 || from - end < bestGap)) {
        best = address;
        bestGap = from - end;
      }
      end = std::max(end, to);
    }
    tile.address = best >= 0 ? best : suitable(tile, end, memory, useBanks);
    peak = std::max(peak, tile.address + tile.bytes);
    isPlaced[index] = true;
  }
  return peak;
}

/// Orders to try: by bytes times length, by bytes, by start, by length.
SmallVector<SmallVector<unsigned>> ordersOf(ArrayRef<Tile> tiles) {
  SmallVector<unsigned> plain(tiles.size());
  std::iota(plain.begin(), plain.end(), 0u);
  auto length = [&](unsigned i) { return int64_t(tiles[i].live.last - tiles[i].live.first + 1); };
  auto sorted = [&](auto key) {
    SmallVector<unsigned> order = plain;
    llvm::sort(order,
               [&](unsigned a, unsigned b) { return std::pair(key(a), a) < std::pair(key(b), b); });
    return order;
  };
  SmallVector<SmallVector<unsigned>> orders;
  orders.push_back(
      sorted([&](unsigned i) { return std::pair(-tiles[i].bytes * length(i), int64_t(0)); }));
  orders.push_back(sorted([&](unsigned i) { return std::pair(-tiles[i].bytes, -length(i)); }));
  orders.push_back(
      sorted([&](unsigned i) { return std::pair(int64_t(tiles[i].live.first), -tiles[i].bytes); }));
  orders.push_back(sorted([&](unsigned i) { return std::pair(-length(i), -tiles[i].bytes); }));
  return orders;
}

/// Movers and the vector unit take rows of UB at 32-byte blocks. Tiles whose rows begin elsewhere
/// get gaps where an instruction goes row by row; that one makes others of its tiles go row by row
/// too. Tiles that are only ever one run of elements stay packed.
void padRows(func::FuncOp function) {
  for (bool isDone = false; !isDone;) {
    isDone = true;
    function.walk([&](AccessInterface access) {
      if (!npu::takesRows(access))
        return;
      for (unsigned index = 0; index < access.getNumBoxes(); ++index) {
        Box box = access.getBox(index);
        if (!npu::hasUnalignedRows(box))
          continue;
        box.buffer.getDefiningOp<npu::AllocOp>().setPadRows(true);
        isDone = false;
      }
    });
  }
}

/// Bytes that are live at each position: the most of them, while ranges come and go.
class Peak {
public:
  explicit Peak(ArrayRef<Tile> tiles) {
    int last = 0;
    for (const Tile &tile : tiles)
      last = std::max(last, tile.live.last);
    leaves = int(llvm::PowerOf2Ceil(last + 1));
    nodes.resize(2 * leaves);
    for (const Tile &tile : tiles)
      add(tile, 1);
  }

  int64_t bytes() const { return nodes[1].most; }
  void add(const Tile &tile, int sign) { add(1, 0, leaves - 1, tile.live, sign * tile.bytes); }

private:
  struct Node {
    int64_t everywhere = 0, most = 0;
  };
  int leaves;
  std::vector<Node> nodes; ///< a tree of halves; the children of i are 2i and 2i + 1

  void add(int number, int from, int to, LiveRange range, int64_t bytes) {
    if (range.last < from || to < range.first)
      return;
    Node &node = nodes[number];
    if (range.first <= from && to <= range.last) {
      node.everywhere += bytes;
      node.most += bytes;
      return;
    }
    int middle = (from + to) / 2;
    add(2 * number, from, middle, range, bytes);
    add(2 * number + 1, middle + 1, to, range, bytes);
    node.most = node.everywhere + std::max(nodes[2 * number].most, nodes[2 * number + 1].most);
  }
};

/// Elements that the vector unit and the cube compute in a block of statements.
class Work {
public:
  explicit Work(Block &block) {
    for (Operation &op : block) {
      op.walk([&](AccessInterface access) {
        auto pipes = dyn_cast<npu::PipeInterface>(access.getOperation());
        if (!pipes || (pipes.getBoxPipe(0) != npu::Pipe::V && pipes.getBoxPipe(0) != npu::Pipe::M))
          return;
        int64_t elements = 0; // of the largest box: a reduction reads more than it writes
        for (unsigned box = 0; box < access.getNumBoxes(); ++box) {
          auto type = cast<MemRefType>(access.getBox(box).buffer.getType());
          elements = std::max(elements, type.hasStaticShape() ? type.getNumElements() : 0);
        }
        all += elements;
      });
      upTo[&op] = all;
    }
  }

  /// From `first` to `last`, in eighths of all.
  int64_t eighths(Operation *first, Operation *last) const {
    Operation *before = first->getPrevNode();
    int64_t held = upTo.lookup(last) - (before ? upTo.lookup(before) : 0);
    return all > 0 ? 8 * held / all : 8;
  }

private:
  int64_t all = 0;
  llvm::DenseMap<Operation *, int64_t> upTo; ///< the end of each statement
};

/// Gives the two sources of element-wise ops different parities: heaviest pairs first, an odd cycle
/// leaves its lightest pair in conflict.
void chooseParities(MutableArrayRef<Tile> tiles, func::FuncOp function) {
  DenseMap<Value, unsigned> indexOf;
  for (auto [index, tile] : llvm::enumerate(tiles))
    indexOf[tile.alloc.getResult()] = unsigned(index);
  llvm::MapVector<std::pair<unsigned, unsigned>, int64_t> weights;
  function.walk([&](npu::ElementwiseOp op) {
    if (op.getBuffers().size() < 3)
      return;
    auto a = indexOf.find(op.getBuffers()[op.getBuffers().size() - 2]),
         b = indexOf.find(op.getBuffers().back());
    if (a == indexOf.end() || b == indexOf.end() || a->second == b->second)
      return;
    int64_t weight = tiles[a->second].alloc.getSlotBytes();
    for (Operation *parent = op->getParentOp(); parent != function.getOperation();
         parent = parent->getParentOp())
      if (isa<scf::ForOp>(parent) && weight < (int64_t(1) << 40))
        weight *= 8;
    weights[std::minmax(a->second, b->second)] += weight;
  });
  auto pairs = weights.takeVector();
  llvm::sort(pairs, [](const auto &a, const auto &b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });

  // Union-find; `flip` is the parity relative to the parent.
  SmallVector<unsigned> parent(tiles.size());
  SmallVector<int> flip(tiles.size(), 0);
  std::iota(parent.begin(), parent.end(), 0u);
  auto find = [&](unsigned i) {
    int parity = 0;
    for (; parent[i] != i; i = parent[i])
      parity ^= flip[i];
    return std::pair(i, parity);
  };
  for (auto [pair, weight] : pairs) {
    auto [rootA, parityA] = find(pair.first);
    auto [rootB, parityB] = find(pair.second);
    if (rootA == rootB)
      continue;
    parent[rootB] = rootA;
    flip[rootB] = parityA ^ parityB ^ 1;
  }
  for (auto [pair, weight] : pairs)
    for (unsigned i : {pair.first, pair.second})
      tiles[i].parity = find(i).second;
}

struct NpuPlanMemoryPass : impl::NpuPlanMemoryBase<NpuPlanMemoryPass> {
  using NpuPlanMemoryBase::NpuPlanMemoryBase;

  void runOnOperation() override {
    std::optional<machine::Machine> loaded = chipFor(getOperation(), chip);
    if (!loaded)
      return signalPassFailure();
    const machine::Machine &machine = *loaded;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function->hasAttr(npu::kCoreAttr))
        continue;
      padRows(function);
      for (const Memory &memory :
           {Memory{npu::Space::UB, "UB", "unified buffer", machine.ubBytes, kBlock},
            Memory{npu::Space::L1, "L1", "L1 buffer", machine.l1Bytes, kLine},
            Memory{npu::Space::L0A, "L0A", "left operand memory", machine.l0aBytes, kLine},
            Memory{npu::Space::L0B, "L0B", "right operand memory", machine.l0bBytes, kLine},
            Memory{npu::Space::L0C, "L0C", "accumulator memory", machine.l0cBytes, kLine}})
        if (failed(plan(function, memory)))
          return signalPassFailure();
      splitReductions(function, machine.ubBytes - endOfUb(function));
    }
    if (failed(planWorkspaces()))
      signalPassFailure();
  }

private:
  std::map<Block *, Work> works;

  /// The first byte of UB behind all tiles.
  static int64_t endOfUb(func::FuncOp function) {
    int64_t end = 0;
    function.walk([&](npu::AllocOp alloc) {
      if (npu::spaceOf(alloc.getResult()) == npu::Space::UB && alloc.getAddress())
        end = std::max(end, int64_t(*alloc.getAddress()) +
                                alloc.getSlotBytes() * int64_t(alloc.getSlots()));
    });
    return llvm::alignTo(end, kBlock);
  }

  static SmallVector<Tile> tilesOf(func::FuncOp function, const Liveness &liveness,
                                   npu::Space space) {
    SmallVector<Tile> tiles;
    function.walk([&](npu::AllocOp alloc) {
      if (npu::spaceOf(alloc.getResult()) != space)
        return;
      if (alloc.getAddress()) // the author's
        return;
      LiveRange live = liveness.rangeOf(alloc);
      if (live.isEmpty()) { // never used: any place will do
        alloc.setAddress(0);
        return;
      }
      tiles.push_back({alloc, alloc.getSlotBytes() * int64_t(alloc.getSlots()), live});
    });
    return tiles;
  }

  /// The end of what the author placed; the tiles of the compiler come behind. Fails for an address
  /// that the memory does not have.
  static FailureOr<int64_t> endOfPlaced(func::FuncOp function, const Memory &memory) {
    int64_t end = 0;
    WalkResult fits = function.walk([&](npu::AllocOp alloc) {
      if (npu::spaceOf(alloc.getResult()) != memory.space || !alloc.getAddress())
        return WalkResult::advance();
      int64_t address = *alloc.getAddress(),
              last = address + alloc.getSlotBytes() * int64_t(alloc.getSlots());
      if (address < 0 || address % memory.alignment || last > memory.capacity) {
        alloc.emitError("E0701: '")
            << alloc.getName() << "' is placed at byte " << address << " and ends at " << last
            << " of " << memory.name << ", which has " << memory.capacity
            << " bytes; addresses are multiples of " << memory.alignment;
        return WalkResult::interrupt();
      }
      end = std::max(end, last);
      return WalkResult::advance();
    });
    if (fits.wasInterrupted())
      return failure();
    return static_cast<int64_t>(llvm::alignTo(end, kLine));
  }

  LogicalResult plan(func::FuncOp function, Memory memory) {
    works.clear();
    FailureOr<int64_t> first = endOfPlaced(function, memory);
    if (failed(first))
      return failure();
    memory.capacity -= *first;
    if (memory.space == npu::Space::UB)
      memory.reserved = roomForReductions(function);
    for (;;) {
      Liveness liveness(function);
      SmallVector<Tile> tiles = tilesOf(function, liveness, memory.space);
      if (tiles.empty())
        return success();
      for (Tile &tile : tiles)
        if (!cast<MemRefType>(tile.alloc.getType()).hasStaticShape())
          return tile.alloc.emitError("E0302: tile '")
                 << tile.alloc.getName() << "' has a size that is not known when the "
                 << "kernel is compiled; give it a constant shape";
      // While more is live at once than there is room for, no plan is worth a try.
      Peak peak(tiles);
      Drops drops = dropsOf(tiles, memory);
      bool isChanged = false;
      while (peak.bytes() > memory.capacity &&
             dropSlots(tiles, drops, peak, liveness, memory, peak.bytes()))
        isChanged = true;
      // A slot that is taken for next to no work gives way to what reductions take.
      while (!isChanged && peak.bytes() > memory.limit() && !drops.empty() &&
             std::get<0>(*drops.begin()) && std::get<1>(*drops.begin()) <= kLittle &&
             dropSlots(tiles, drops, peak, liveness, memory, peak.bytes() + memory.reserved))
        isChanged = true;
      if (isChanged)
        continue;
      int64_t needed = place(tiles, memory, function);
      if (needed <= memory.capacity) {
        for (Tile &tile : tiles)
          tile.alloc.setAddress(*first + tile.address);
        return success();
      }
      if (!dropSlots(tiles, drops, peak, liveness, memory, needed))
        return explain(function, tiles, memory, needed);
    }
  }

  /// Places all tiles, if it can be with room behind them for what reductions take. Returns the
  /// bytes that the plan takes, more than the capacity if none fits.
  int64_t place(MutableArrayRef<Tile> tiles, Memory memory, func::FuncOp function) {
    if (memory.space == npu::Space::UB)
      chooseParities(tiles, function);
    bool isShared = false;
    auto placed = [&](int64_t end) {
      if (isShared && end <= memory.capacity)
        function.emitRemark("[npu-plan-memory] applied: tiles of @")
            << function.getName()
            << " that are not needed at the same time share memory, so that they take " << kib(end)
            << " of " << kib(memory.capacity) << " " << memory.name;
      return end;
    };
    const int64_t limit = memory.limit();
    const int64_t roomy =
        memory.reserved > 0 ? placeWithin(tiles, memory, function, isShared) : limit + 1;
    const unsigned waits = waitsOfMovers(tiles, function);
    if (roomy <= limit && waits == 0)
      return placed(roomy);
    SmallVector<int64_t> addresses;
    for (const Tile &tile : tiles)
      addresses.push_back(tile.address);
    memory.reserved = 0;
    const int64_t end = placeWithin(tiles, memory, function, isShared);
    if (roomy > limit || (end <= memory.capacity && waitsOfMovers(tiles, function) < waits))
      return placed(end);
    for (auto [tile, address] : llvm::zip(tiles, addresses))
      tile.address = address;
    isShared = true;
    return placed(roomy);
  }

  int64_t placeWithin(MutableArrayRef<Tile> tiles, const Memory &memory, func::FuncOp function,
                      bool &isShared) {
    isShared = false;
    // No reuse means no order that reuse would enforce.
    for (bool useBanks : {true, false})
      if (int64_t end = placeApart(tiles, memory, useBanks); end <= memory.limit())
        return end;
    if (function->hasAttr(npu::kManualSyncAttr)) // whose flags would not know of shared memory
      return placeApart(tiles, memory, /*useBanks=*/false);
    isShared = true;
    int64_t least = placeBest(tiles, memory);
    if (least <= memory.limit())
      keepApart(tiles, memory, function, least);
    return least;
  }

  /// The best of several orders, with the wanted bank distances if they fit.
  static int64_t placeBest(MutableArrayRef<Tile> tiles, const Memory &memory) {
    std::vector<SmallVector<unsigned>> neighbours = neighboursOf(tiles);
    int64_t least = INT64_MAX;
    SmallVector<int64_t> addresses;
    for (bool useBanks : {true, false}) {
      for (ArrayRef<unsigned> order : ordersOf(tiles)) {
        int64_t peak = placeShared(tiles, order, neighbours, memory, useBanks);
        if (peak >= least)
          continue;
        least = peak;
        addresses.clear();
        for (const Tile &tile : tiles)
          addresses.push_back(tile.address);
      }
      if (least <= memory.limit())
        break;
    }
    for (auto [tile, address] : llvm::zip(tiles, addresses))
      tile.address = address;
    return least;
  }

  /// How a buffer is used.
  struct Use {
    bool isMoved = false; ///< a mover touches it
    unsigned depth = 0;   ///< of the innermost loop
  };

  static llvm::DenseMap<Value, Use> usesIn(func::FuncOp function) {
    llvm::DenseMap<Value, Use> uses;
    function.walk([&](AccessInterface access) {
      unsigned depth = 0;
      for (Operation *op = access->getParentOp(); op != function; op = op->getParentOp())
        depth += isa<LoopLikeOpInterface>(op);
      auto pipes = dyn_cast<npu::PipeInterface>(access.getOperation());
      for (unsigned i = 0; pipes && i < access.getNumBoxes(); ++i) {
        npu::Pipe pipe = pipes.getBoxPipe(i);
        Use &use = uses[access.getBox(i).buffer];
        use.isMoved |= pipe == npu::Pipe::MTE2 || pipe == npu::Pipe::MTE3;
        use.depth = std::max(use.depth, depth);
      }
    });
    return uses;
  }

  /// How often a mover waits in each turn of the innermost loops because its tile lies where
  /// another one does.
  static unsigned waitsOfMovers(MutableArrayRef<Tile> tiles, func::FuncOp function) {
    llvm::DenseMap<Value, Use> uses = usesIn(function);
    unsigned innermost = 0, waits = 0;
    for (Tile &tile : tiles)
      if (Use use = uses[tile.alloc.getResult()]; use.isMoved)
        innermost = std::max(innermost, use.depth);
    for (Tile &tile : tiles)
      for (Tile &other : tiles) {
        Use use = uses[tile.alloc.getResult()], second = uses[other.alloc.getResult()];
        bool isShared = other.alloc != tile.alloc && other.address < tile.address + tile.bytes &&
                        tile.address < other.address + other.bytes;
        waits += isShared && use.isMoved && std::min(use.depth, second.depth) >= innermost;
      }
    return waits;
  }

  /// Takes tiles out of the sharing again for as long as all fit: each one that shares nothing is
  /// one that no other has to wait for. First those that the movers touch, which would tie the
  /// movers to the vector unit, and of them those of inner loops; small ones before large ones.
  static void keepApart(MutableArrayRef<Tile> tiles, const Memory &memory, func::FuncOp function,
                        int64_t &peak) {
    llvm::DenseMap<Value, Use> uses = usesIn(function);
    SmallVector<unsigned> order(tiles.size());
    std::iota(order.begin(), order.end(), 0u);
    auto key = [&](unsigned i) {
      Use use = uses.lookup(tiles[i].alloc.getResult());
      return std::tuple(!use.isMoved, -int(use.depth), tiles[i].bytes, i);
    };
    llvm::sort(order, [&](unsigned a, unsigned b) { return key(a) < key(b); });
    // Bounds the time for functions with very many tiles.
    const size_t maxTries = std::min<size_t>(48, 8192 / tiles.size());
    for (unsigned index : ArrayRef<unsigned>(order).take_front(maxTries)) {
      SmallVector<Tile> trial(tiles.begin(), tiles.end());
      trial[index].live = {0, INT_MAX - 1};
      int64_t needed = placeBest(trial, memory);
      if (needed > memory.limit())
        continue;
      llvm::copy(trial, tiles.begin());
      peak = needed;
    }
  }

  /// Eighths of the elements that a turn computes while a slot of the tile is taken: what a single
  /// slot would keep the movers from running beside.
  int64_t heldEighths(npu::AllocOp alloc) {
    npu::AdvanceOp advance;
    for (Operation *user : alloc->getUsers())
      if (auto found = dyn_cast<npu::AdvanceOp>(user))
        advance = found;
    if (!advance)
      return 8;
    Block *block = advance->getBlock();
    Operation *last = advance;
    for (Operation *user : alloc->getUsers())
      if (Operation *op = block->findAncestorOpInBlock(*user); op && last->isBeforeInBlock(op))
        last = op;
    return works.try_emplace(block, *block).first->second.eighths(advance, last);
  }

  /// Slots that may be dropped, and what that costs: the cheapest one first, by number of its tile.
  using Drops = std::set<std::tuple<bool, int64_t, int64_t, unsigned>>;

  void addDrop(Drops &drops, Tile tile, unsigned number, const Memory &memory) {
    if (tile.alloc.getSlots() < 2)
      return;
    bool isSecond = tile.alloc.getSlots() == 2;
    int64_t eighths = isSecond ? heldEighths(tile.alloc) : 0;
    if (!keepSlots || memory.space != npu::Space::UB || eighths <= 4)
      drops.insert({isSecond, eighths, -tile.bytes, number});
  }
  Drops dropsOf(ArrayRef<Tile> tiles, const Memory &memory) {
    Drops drops;
    for (auto [number, tile] : llvm::enumerate(tiles))
      addDrop(drops, tile, number, memory);
    return drops;
  }

  /// The rung before an error: the largest tile with more than two slots keeps half of them. Once
  /// there is none, a tile with two keeps one: the second slot lets moves run beside the work on
  /// the tile, so the one that is taken the shortest goes first, and with `keep-slots` none in UB
  /// that is taken for more than half of a turn's work. False without such a tile.
  bool dropSlots(MutableArrayRef<Tile> tiles, Drops &drops, Peak &peak, const Liveness &liveness,
                 const Memory &memory, int64_t needed) {
    if (drops.empty())
      return false;
    unsigned number = std::get<3>(*drops.begin());
    drops.erase(drops.begin());
    Tile &tile = tiles[number];
    peak.add(tile, -1);
    npu::AllocOp alloc = tile.alloc;
    int64_t slots = int64_t(alloc.getSlots()),
            fewer = slots > 2 ? std::max<int64_t>(2, slots / 2) : 1;
    alloc.emitRemark("[npu-plan-memory] fallback: '")
        << alloc.getName() << "' keeps " << fewer << " of " << slots
        << " slots, so its moves overlap less: the tiles "
        << "need " << kib(needed) << " of " << kib(memory.capacity) << " " << memory.name;
    alloc.setSlots(fewer);
    tile.bytes = alloc.getSlotBytes() * fewer;
    if (fewer == 1)
      tile.live = liveness.withOneSlot(alloc);
    peak.add(tile, 1);
    if (fewer == 1)
      for (Operation *user : llvm::make_early_inc_range(alloc->getUsers()))
        if (isa<npu::AdvanceOp>(user))
          user->erase();
    addDrop(drops, tile, number, memory);
    return true;
  }

  /// The error when nothing fits: a table, and a note per tile.
  LogicalResult explain(func::FuncOp function, MutableArrayRef<Tile> tiles, const Memory &memory,
                        int64_t needed) {
    int64_t peak = Peak(tiles).bytes();
    llvm::sort(tiles, [](const Tile &a, const Tile &b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.live.first < b.live.first;
    });
    Tile &largest = tiles.front();
    InFlightDiagnostic error = largest.alloc.emitError("E0701: the tiles do not fit the ")
                               << memory.longName << ": @" << function.getName() << " needs "
                               << kib(needed) << " of " << kib(memory.capacity) << " "
                               << memory.name;
    for (Tile &tile : tiles)
      error << "\n  " << tile.alloc.getName() << "  " << lineText(tile.alloc.getLoc()) << "  "
            << sizeText(tile.alloc);
    // What the others leave at the worst point for the largest tile.
    int64_t room = (largest.bytes - (std::max(peak, needed) - memory.capacity)) / memory.alignment *
                   memory.alignment;
    if (room > 0)
      error << "\n  it would fit if '" << largest.alloc.getName() << "' took at most " << kib(room)
            << " instead of " << kib(largest.bytes);
    else
      error << "\n  it would fit if all tiles were about "
            << std::max<int64_t>(1, 100 * memory.capacity / needed)
            << " % of their size; make the block smaller";
    for (Tile &tile : tiles)
      error.attachNote(tile.alloc.getLoc())
          << "'" << tile.alloc.getName() << "': " << sizeText(tile.alloc);
    return error;
  }

  /// Exchange buffers: the functions of one launch agree by name; nothing is shared.
  LogicalResult planWorkspaces() {
    SymbolTable symbols(getOperation());
    llvm::StringSet<> done;
    SmallVector<SmallVector<func::FuncOp>> groups;
    getOperation().walk([&](npu::LaunchOp launch) {
      SmallVector<func::FuncOp> group;
      for (std::optional<StringRef> name : {launch.getAic(), launch.getAiv()})
        if (auto function = name ? symbols.lookup<func::FuncOp>(*name) : nullptr)
          if (done.insert(function.getName()).second)
            group.push_back(function);
      if (!group.empty())
        groups.push_back(group);
    });
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(npu::kCoreAttr) && done.insert(function.getName()).second)
        groups.push_back({function});
    for (ArrayRef<func::FuncOp> group : groups)
      if (failed(planWorkspace(group)))
        return failure();
    return success();
  }

  LogicalResult planWorkspace(ArrayRef<func::FuncOp> group) {
    llvm::MapVector<StringRef, SmallVector<npu::AllocOp>> buffers;
    for (func::FuncOp function : group)
      function.walk([&](npu::AllocOp alloc) {
        if (npu::spaceOf(alloc.getResult()) == npu::Space::Workspace)
          buffers[alloc.getName()].push_back(alloc);
      });
    int64_t end = 0;
    for (auto &[name, allocs] : buffers) // the author's places come first
      if (std::optional<int64_t> address = allocs.front().getAddress())
        end = std::max<int64_t>(end, *address + allocs.front().getSlotBytes() *
                                                    int64_t(allocs.front().getSlots()));
    for (auto &[name, allocs] : buffers) {
      bool isPlaced = allocs.front().getAddress().has_value();
      for (npu::AllocOp alloc : allocs) {
        if (!cast<MemRefType>(alloc.getType()).hasStaticShape())
          return alloc.emitError("E0799: exchange buffer '")
                 << name << "' must have a constant shape";
        if (alloc.getType() != allocs.front().getType() ||
            alloc.getSlots() != allocs.front().getSlots()) {
          InFlightDiagnostic error = alloc.emitError("E0799: exchange buffer '")
                                     << name << "' differs between the cores that share it";
          error.attachNote(allocs.front().getLoc()) << "the other side";
          return error;
        }
        if (!isPlaced)
          alloc.setAddress(end);
      }
      if (isPlaced)
        continue;
      end += allocs.front().getSlotBytes() * int64_t(allocs.front().getSlots());
    }
    // An odd number of lines per core group spreads the groups over the cache's sets.
    int64_t lines = llvm::divideCeil(end, kLine);
    int64_t bytes = lines == 0 ? 0 : (lines | 1) * kLine;
    for (func::FuncOp function : group)
      function->setAttr(npu::kWorkspaceAttr,
                        IntegerAttr::get(IntegerType::get(&getContext(), 64), bytes));
    return success();
  }
};

} // namespace
} // namespace tilewright::passes
