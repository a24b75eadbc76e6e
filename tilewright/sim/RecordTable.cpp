// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/sim/Record.h"

#include "tilewright/sim/Kernels.h"

#include <unordered_map>
#include <utility>

using namespace tilewright::sim;

namespace {

/// A key of 128 bits from the numbers that it is given.
class Key {
public:
  void add(uint64_t value) {
    high = (high ^ value) * 0x9E3779B97F4A7C15u;
    low = (low + value) * 0xD6E8FEB86659FD93u;
    high ^= high >> 32;
    low ^= low >> 29;
  }
  bool operator==(const Key &) const = default;
  size_t hash() const { return high; }

private:
  uint64_t high = 0x243F6A8885A308D3u, low = 0x13198A2E03707344u;
};

/// Finds entries by their key, most of the time in a small table without chains.
class Entries {
public:
  /// The entry of `key`, and whether it is a new one, which is then number `next`.
  std::pair<uint32_t, bool> find(const Key &key, size_t next) {
    Recent &found = recent[key.hash() >> 20 & (recent.size() - 1)];
    if (found.isUsed && found.key == key)
      return {found.entry, false};
    auto [at, isNew] = all.try_emplace(key, uint32_t(next));
    found = {key, at->second, true};
    return {at->second, isNew};
  }

private:
  struct Hash {
    size_t operator()(const Key &key) const { return key.hash(); }
  };
  struct Recent {
    Key key;
    uint32_t entry = 0;
    bool isUsed = false;
  };
  std::vector<Recent> recent = std::vector<Recent>(256);
  std::unordered_map<Key, uint32_t, Hash> all;
};

} // namespace

struct RecordTable::Index {
  Entries costs, shapes;
};

RecordTable::RecordTable() : index(std::make_unique<Index>()) {}
RecordTable::~RecordTable() = default;

uint32_t RecordTable::costOf(const ResolvedOp &op) {
  Key key;
  key.add(uint64_t(op.op) | uint64_t(op.fn) << 8 | uint64_t(op.flags) << 24 |
          uint64_t(op.numOperands) << 32);
  for (unsigned i = 0; i < op.numOperands; ++i) {
    const ResolvedView &view = op.operands[i];
    // Of the address of vector operands: bank group and 64 KiB region.
    const uint64_t place = op.op == TileOp::Mmad || view.address == UINT64_MAX
                               ? 0xFFFF
                               : (view.address >> 5) & 0x3FFFFFF;
    key.add(uint64_t(view.type) | uint64_t(view.rank) << 8 | place << 16);
    for (unsigned dim = 0; dim < view.rank; ++dim)
      key.add(uint64_t(view.sizes[dim]) << 32 ^ uint64_t(view.strides[dim]));
  }
  auto [entry, isNew] = index->costs.find(key, ops.size());
  if (isNew)
    ops.push_back(op);
  return entry;
}

uint32_t RecordTable::shapeOf(const TransferShape &shape) {
  Key key;
  key.add(uint64_t(shape.gm.rows) << 32 | shape.gm.rowBytes);
  key.add(shape.gm.stride);
  key.add(uint64_t(shape.gm.planes) << 32 | unsigned(shape.write) | unsigned(shape.atomic) << 1 |
          unsigned(shape.bypass) << 2 | unsigned(shape.workspace) << 3);
  key.add(shape.gm.planeStride);
  auto [entry, isNew] = index->shapes.find(key, transfers.size());
  if (isNew)
    transfers.push_back(shape);
  return entry;
}
