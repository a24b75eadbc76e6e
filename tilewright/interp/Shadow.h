// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/interp/Plan.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <set>

/// Exact arithmetic beside a kernel: the same function with every float type made f64 is run
/// statement by statement with it. Integers and branches are the kernel's own.
namespace tilewright::interp {

/// What the shadows of the programs of a run have in common.
struct Comparison {
  double limit = 0; ///< in ulp of the type at the largest value of what is written
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< the exact twin
  Planner planner;
  /// The node of the twin that stands for one of the kernel.
  llvm::DenseMap<const Node *, const Node *> twins;
  std::vector<Departure> departures;
  /// Where something that nothing had written was read first.
  std::optional<mlir::Location> unwrittenAt;
  std::string unwritten;

  bool has(llvm::StringRef kind) const;
};

/// The exact side of one machine.
class Shadow {
public:
  /// A machine whose buffers are those of the arguments so far.
  Shadow(Comparison &comparison, const Machine &kernel, uint32_t numSlots, mlir::Location location);

  /// Runs a statement on both sides and compares what it has written.
  void run(Machine &kernel, const Node &node);
  /// A tensor argument as f64.
  void bind(uint32_t slot, const Buffer &argument);
  /// Starts with the tensors of another shadow: a program of a core.
  void share(Shadow &parent);

  Comparison &comparison;
  Machine exact;
  Frame frame;

private:
  void takeOver(Machine &kernel, const Node &node, const Node &twin);
  void takeSlot(Machine &kernel, uint32_t slot, mlir::Value value);
  void compare(Machine &kernel, const Node &node, const Node &twin);
  void compareBox(Machine &kernel, const Node &node, const Node &at, uint32_t slot,
                  llvm::ArrayRef<int64_t> offsets, llvm::ArrayRef<int64_t> sizes);
  void report(Machine &kernel, const Node &node, const Node &at, llvm::StringRef kind,
              uint32_t slot, int64_t element, double ulps);
  /// Values that element `index` (of the box written) was made from, on both sides.
  std::string operandsText(Machine &kernel, const Node &node, const Node &at,
                           llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> offsets);
  bool readsTaint(Machine &kernel, const Node &node, std::string &names);

  /// The relative rounding that the values of a tile have been through: of the coarsest type.
  double grainOf(uint32_t slot);
  void noteGrain(Machine &kernel, const Node &node);

  llvm::DenseMap<const Buffer *, double> grains;
  llvm::DenseMap<mlir::Value, uint32_t> slotOf; ///< of buffers that single elements were read from
  bool isLost = false;                          ///< the exact side could not follow
};

/// The twin of a function's module: every float is f64. Text of what has no twin, else empty.
std::string makeTwin(mlir::func::FuncOp function, mlir::OwningOpRef<mlir::ModuleOp> &module);

/// Rounding of one operation that a float kind has, relative to the result.
double roundingOf(Kind kind);

/// Distance of neighbours of a float kind at `x`.
double ulpOf(Kind kind, double x);

} // namespace tilewright::interp
