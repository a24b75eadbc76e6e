// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/passes/SyncAccess.h"

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

/// Which flags and barriers a device function needs. Nothing here changes the function.
namespace tilewright::passes::sync {

// Places in a block as numbers: op i at 8i; between ops come sets, then barriers, then waits.
inline constexpr int placeOfOp(int index) { return index * 8; }
inline constexpr int placeOfSet(int from) { return from * 8 + 2; }
inline constexpr int placeOfBarrier(int to) { return to * 8 - 4; }
inline constexpr int placeOfWait(int to) { return to * 8 - 2; }

/// An order between two places of one block, on two pipes. Not carried: in each run of the block,
/// what stands at `to` or later waits for what stands at `from` or earlier. Carried: what stands at
/// `to` or later waits for what stood at `from` or earlier in the run before (of the same slot,
/// with `rotate`).
struct Order {
  unsigned block;
  bool isCarried;
  int from, to; ///< indices of ops: signalled after `from`, awaited before `to`
  npu::Pipe source, target;
  int rotate = -1; ///< buffer whose slots carry this order one by one

  /// Another pair of places that will do: in the branch that is all of `from`, up to its end.
  struct Places {
    unsigned block;
    int from, to;
    bool operator==(const Places &) const = default;
  };
  std::optional<Places> other = {};

  /// The same order between the other places.
  Order elsewhere() const {
    return {other->block, false,  other->from, other->to,
            source,       target, -1,          Places{block, from, to}};
  }
};

/// A flag that enforces an order.
struct Flag : Order {
  bool isInBranch = false;
  unsigned numIds = 1; ///< one for each slot of `rotate`
  unsigned id = 0;
  /// No event is outstanding outside of its loop, so that other loops can use its ids: those for
  /// the first turn are set right before the loop, not at the start of the function, and those of
  /// the last turn are awaited right behind it.
  bool isOfLoop = false;
};

/// A barrier before an op.
struct Barrier {
  unsigned block;
  int to;
  npu::Pipe pipe;

  bool operator<(const Barrier &other) const {
    return std::tie(block, to, pipe) < std::tie(other.block, other.to, other.pipe);
  }
};

/// Finds a small set of flags and barriers that orders every two conflicting accesses.
class Solver {
public:
  Solver(const AccessTable &table, unsigned maxIds) : table(table), maxIds(maxIds) {}

  void solve();

  std::vector<Flag> flags;
  std::set<Barrier> barriers;
  /// What was given up to stay within the ids, with its cost.
  struct Fallback {
    mlir::Operation *op;
    std::string text;
  };
  std::vector<Fallback> fallbacks;

private:
  /// A step that paths may take: from `source` at a place before `set` to `target` at place `wait`.
  struct Link {
    npu::Pipe source, target;
    int set, wait, weight;
    int rotate;
    int flag;
    bool isAroundLoop = false; ///< of accesses in a loop; a set in it may come earlier
  };
  /// Where a path starts and ends: places on pipes of one block. A start that is an op on V has
  /// only been issued: V does not complete in order.
  struct Path {
    unsigned block;
    npu::Pipe source;
    int start;
    npu::Pipe target;
    int end;
    bool startsAtOp = true;
    bool isOfEvents = false; ///< between sets and waits, not accesses
  };

  const AccessTable &table;
  unsigned maxIds;
  using Key = std::tuple<unsigned, int, unsigned, int>; ///< block, to, pipes and kind, slots
  llvm::DenseMap<Key, unsigned> numbers;                ///< of orders that only differ in `from`
  std::vector<Order> required;
  std::set<Barrier> forcedBarriers;
  llvm::DenseMap<unsigned, llvm::SmallVector<unsigned>> rotating; ///< buffers by their block
  std::map<unsigned, std::map<npu::Pipe, int>> firstUses;         ///< ops, per block
  std::map<unsigned, std::vector<int>> cuts; ///< of long blocks: the ops behind their barriers
  std::set<int> plainBuffers;                ///< rotating buffers whose slots are not told apart
  std::set<std::pair<npu::Pipe, npu::Pipe>> outside; ///< orders that stand in no branch
  std::vector<Order> mergedOrders;
  std::set<unsigned> separateLoops; ///< blocks whose flags are of their loops
  /// Per block, by `set`: flags, barriers and the inside of mmads.
  std::vector<std::vector<Link>> links;

  int skippedFlag = -1; ///< a flag whose links paths may not take

  /// Which accesses behind one can need an order with it, by number: up to `end`, from `lastBegin`
  /// to `lastEnd`, and from there on.
  struct Partners {
    unsigned end, lastBegin, lastEnd;
  };

  /// What is between two barriers of a long block; -1: not in a long block.
  struct Part {
    int block = -1, part = -1;
    auto operator<=>(const Part &) const = default;
  };
  /// Two pipes that have too few event ids, in the function or in one part of a long block.
  struct Shortage {
    npu::Pipe source, target;
    Part part;
  };

  bool cutLongBlocks(size_t length);
  Part partOf(unsigned block, int index) const;
  std::vector<Partners> partnersOf() const;
  void collect();
  void collectPair(const Access &first, const Access &second);
  void collectBranches(const Access &first, const Access &second, const Meeting &meeting);
  std::optional<Order::Places> placesInBranch(const Access &access, const Meeting &meeting) const;
  void require(const Order &order);
  bool isOneVersion(const Meeting &meeting, unsigned buffer) const;
  int periodOf(int buffer, unsigned block) const;

  void chooseFlags();
  bool forbidBranches();
  void chooseBarriers();
  bool chooseIds(Flag &flag) const;
  void protect();
  void addLink(unsigned block, const Link &link);
  void addLinks(const Flag &flag, int number);
  void removeLinks(const Flag &flag, int number);
  void addLinkAround(const Flag &flag, int number);
  int firstUse(unsigned block, npu::Pipe pipe);
  void addBarrier(const Barrier &barrier);
  void resetLinks();
  bool isImplied(const Order &order) const;
  int distance(const Path &path, int limit, int slotsOf = -1) const;
  int distanceThroughBranches(Path path, int limit, int slotsOf = -1) const;

  std::vector<Shortage> assignIds();
  Part partOf(const Flag &flag) const;
  bool assignIds(llvm::ArrayRef<Flag *> group) const;
  bool mayShareId(const Flag &first, const Flag &second) const;
  bool mayShareId(llvm::ArrayRef<const Flag *> users, const Flag &flag) const;
  bool relieve(const Shortage &shortage);
  bool mergeFlags(llvm::ArrayRef<Flag *> group);
  bool separate(llvm::ArrayRef<Flag *> group);
  bool areApart(unsigned first, unsigned second) const;
  Flag *flagToDrain(llvm::ArrayRef<Flag *> group) const;
  Flag *firstUndrained(llvm::ArrayRef<Flag *> flags) const;
  Flag *middleOfMost(llvm::ArrayRef<Flag *> flags) const;
};

} // namespace tilewright::passes::sync
