// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/Engine.h"
#include "tilewright/sim/Kernels.h"
#include "tilewright/sim/Memory.h"
#include "tilewright/sim/Runs.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright::sim {

/// GM as one launch sees it.
struct GmTensor {
  std::byte *data = nullptr;
  int64_t bytes = 0;
  uint64_t address = 0;    ///< launch-wide, for the clock
  bool isComputed = false; ///< by an earlier launch, whose data was left out
  int32_t region = 0;      ///< tensors that share host memory share a region
  int64_t offset = 0;      ///< bytes from the region's start
};

struct GmSpace {
  std::vector<GmTensor> tensors;
  std::vector<int64_t> regionBytes;
  GmTensor workspace;

  const GmTensor &at(int32_t tensor) const {
    return tensor == kWorkspace ? workspace : tensors[tensor];
  }
};

/// What an operand of a prepared instruction touches.
struct PreparedOperand {
  Space space = Space::UB;
  int32_t tensor = -1;
  bool isWritten = false, isRead = false;
  bool isDynamic = false;                      ///< some part comes from a register
  bool isShapeDynamic = false;                 ///< a size or a stride does
  bool isEmpty = false;                        ///< the box has no elements
  std::byte *origin = nullptr;                 ///< byte 0 of the space or tensor
  int64_t limit = 0;                           ///< bytes of it
  int64_t unit = 1;                            ///< bytes per step of `base`
  int64_t base = 0;                            ///< as the view says
  int64_t start = 0, slotBytes = 0, slots = 1; ///< of the buffer; no bytes: not known
  int64_t period = 0; ///< bytes after which the buffer comes again: the next group's workspace
  int64_t low = 0, high = 0;      ///< bytes [low, high) hold the box; equal when it is empty
  __int128 below = 0, above = 0;  ///< bytes of the box before and from its first element on
  PoisonedBlock *block = nullptr; ///< on-chip only
  std::optional<Runs> runs;       ///< of a box that is not empty; made when the checker asks
};

/// The GM side of an instruction, for its records: one transfer, repeated along what is left.
struct PreparedTraffic {
  uint32_t shape = 0; ///< in the table of the core's records
  int64_t offset = 0; ///< bytes from the box's first element to the lowest one
  int outer = 0;      ///< dimensions that no transfer has, innermost first
  std::array<int64_t, kMaxRank> sizes{}, strides{};
};

/// The last costs of an instruction whose shapes are always the same, in the table of the core's
/// records: in a loop its operands come by the same few slots again and again.
class PreparedCosts {
public:
  static constexpr unsigned kKept = 2;

  /// The entry for the first `count` operands at where `op` has them; what `make` gives when they
  /// were elsewhere the last times.
  template <typename Make>
  uint32_t at(const ResolvedOp &op, unsigned count, Make make) {
    for (const Known &known : last)
      if (known.isUsed && isAt(known, op, count))
        return known.entry;
    Known &oldest = last[turn++ % kKept];
    oldest.isUsed = true;
    for (unsigned k = 0; k < count; ++k)
      oldest.places[k] = op.operands[k].address;
    return oldest.entry = make();
  }

private:
  struct Known {
    std::array<uint64_t, 4> places{}; ///< addresses of the operands
    uint32_t entry = 0;
    bool isUsed = false;
  };

  static bool isAt(const Known &known, const ResolvedOp &op, unsigned count) {
    for (unsigned k = 0; k < count; ++k)
      if (known.places[k] != op.operands[k].address)
        return false;
    return true;
  }

  std::array<Known, kKept> last;
  unsigned turn = 0;
};

/// A template bound to the memories of one core. Constant parts are worked out once; issuing only
/// copies the registers that the instruction names and redoes the bounds of operands that moved.
struct Prepared {
  struct Patch {
    int64_t *field;
    int32_t reg;
  };
  ResolvedOp op;
  std::array<PreparedOperand, 4> operands;
  std::vector<Patch> patches;
  const Template *source = nullptr;
  int32_t index = 0;
  bool isMacro = false;           ///< an Mmad that reads A and B on MTE1
  Pipe pipe = Pipe::V;            ///< executing pipe; M for Mmad
  bool ready = false;             ///< bounds of the constant operands have been found
  std::optional<ReadyOp> readyOp; ///< for the shapes of now; made when it is carried out
  int gmOperand = -1;             ///< the operand in GM; -1 none
  /// What its records say, once it is known and as long as it cannot change.
  std::optional<PreparedTraffic> traffic;
  PreparedCosts costs;
};

/// Pipe that carries out an op (M for Mmad, whose reads of A and B happen on MTE1).
Pipe pipeOf(TileOp op);

inline bool isAtomic(TileOp op) {
  return op == TileOp::AtomicAdd || op == TileOp::AtomicMax || op == TileOp::AtomicMin;
}
inline bool isScalarAtomic(TileOp op, uint8_t flags) {
  return (op == TileOp::ScalarLoad || op == TileOp::ScalarStore) && (flags & kAtomic);
}

/// Binds all templates of a core. The result holds pointers into itself: it may be moved as a
/// whole, its elements may not.
std::vector<Prepared> prepareTemplates(const Program &program, const CoreProgram &core,
                                       CoreMemory &memory, const GmSpace &gm);

/// Why an instruction cannot be carried out, and the memory concerned if it is one.
struct Fault {
  std::string text, memory;
};

/// Evaluates the registers of one instruction and checks its boxes. False when something is wrong:
/// `fault` then says what.
bool resolve(Prepared &prepared, const int64_t *regs, const Program &program, Fault &fault);

/// Carries out a resolved instruction (all but the scalar unit's own).
void perform(Prepared &prepared);
inline void perform(const ResolvedOp &op) {
  if (op.op == TileOp::Mmad)
    mmad(op.operands[0], op.operands[1], op.operands[2], op.flags & kTransposeA,
         op.flags & kTransposeB, op.scalars[0] != 0);
  else
    execute(op);
}

/// True when some index of a Gather lies outside its table.
bool gatherOutOfBounds(const ResolvedOp &op);

/// Everything that can be told from the program alone: operand counts, registers, jump targets,
/// spaces. Empty when the engine may run it.
std::string validate(const Program &program, const machine::Machine &chip);

} // namespace tilewright::sim
