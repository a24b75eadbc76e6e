// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/Program.h"

#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace tilewright::to_sim {

/// Writes the scalar code of one core program. Pure instructions are value-numbered and placed in
/// the outermost scope that knows their operands, so address arithmetic leaves the loops by itself.
/// A scope is the code of one region: the function, a loop body, a branch. A register belongs to
/// the scope in which its value is fixed.
class CodeBuilder {
public:
  CodeBuilder();

  using Ref = sim::Ref;
  using Label = int32_t;

  static Ref imm(int64_t value) { return {-1, value}; }
  static bool isImm(Ref ref) { return ref.reg < 0; }
  static bool isImm(Ref ref, int64_t value) { return ref.reg < 0 && ref.imm == value; }

  /// A register that belongs to the current scope.
  int32_t newReg();
  /// The register that holds `ref`; constants are loaded once, at the start of the program.
  int32_t regOf(Ref ref);
  int depthOf(Ref ref) const { return ref.reg < 0 ? 0 : depths[ref.reg]; }

  /// Regions. Between `beginScope` and `endScope`, code that belongs further out goes in front of
  /// the place where the scope's construct began.
  void beginScope();
  /// Ends the scope and begins a sibling of it: the other branch, with the same place in front.
  void nextScope();
  void endScope();

  Label newLabel() { return numLabels++; }
  void place(Label label);
  void jump(Label target);
  void jumpIf(int32_t condition, Label target);
  void jumpIfNot(int32_t condition, Label target);

  /// Appends an instruction here, as it is.
  void emit(sim::Insn insn);
  /// A pure instruction without traps; the same one in reach is reused. Returns its result.
  Ref pure(sim::Opcode op, sim::DType type, Ref a, Ref b = {}, Ref c = {}, int64_t immediate = 0);
  /// An instruction that reads registers which change, or may trap: stays here. New result
  /// register.
  Ref here(sim::Opcode op, sim::DType type, Ref a, Ref b = {}, Ref c = {}, int64_t immediate = 0);
  void move(int32_t to, Ref from);
  /// `to[i] = from[i]` for all i at once.
  void parallelMove(const std::vector<int32_t> &to, const std::vector<Ref> &from);

  // Index arithmetic with constants folded.
  Ref add(Ref a, Ref b);
  Ref mul(Ref a, Ref b);

  void setLocation(int32_t index) { location = index; }

  /// Labels resolved, constants in front. The builder is spent afterwards.
  std::vector<sim::Insn> finish();
  int32_t numRegs() const { return int32_t(depths.size()); }

private:
  struct Chunk;
  struct Item {
    sim::Insn insn;
    Label label = -1;             ///< not negative: a label and no instruction
    std::unique_ptr<Chunk> child; ///< code that was placed here from further in
  };
  struct Chunk {
    std::vector<Item> items;
  };
  using Key = std::tuple<int, int, int32_t, int64_t, int32_t, int64_t, int32_t, int64_t, int64_t>;
  struct Scope {
    std::map<Key, Ref> values;
    Chunk *front = nullptr; ///< of the construct that is open in this scope
  };

  Chunk code;
  std::vector<Scope> scopes;
  std::vector<int> depths; ///< scope number of each register
  std::map<int64_t, int32_t> constants;
  Label numLabels = 0;
  int32_t location = -1;

  int depth() const { return int(scopes.size()) - 1; }
  sim::Insn make(sim::Opcode op, sim::DType type, Ref a, Ref b, Ref c, int64_t immediate);
  static void flatten(const Chunk &chunk, std::vector<sim::Insn> &out,
                      std::vector<int64_t> &places);
};

} // namespace tilewright::to_sim
