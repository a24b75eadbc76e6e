// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Location.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

/// The meaning of the tile dialect, executed as written; readability over speed.
namespace tilewright::interp {

/// Why a launch without blocks stops a kernel, as it does on GPUs.
inline constexpr llvm::StringLiteral kEmptyGrid =
    "E0503: the grid of T.Kernel has an extent of 0, so no block would run; when there is nothing "
    "to do, "
    "return before the call";

/// An argument of the interpreted function: a tensor or a scalar.
struct Argument {
  void *data = nullptr;       ///< tensors: row-major, contiguous
  std::vector<int64_t> shape; ///< tensors
  int64_t integer = 0;        ///< scalars of integer or index type
  double real = 0;            ///< scalars of float type
};

/// The first statement at which the kernel leaves what exact arithmetic gives.
struct Departure {
  std::string kind;    ///< departs, nan, inf or unwritten
  std::string message; ///< tile, element, both values, ulp, operands
  std::string tile;
  mlir::Location location;
  int64_t block = 0;
};

/// A tensor, tile or scalar variable where a kernel stands.
struct Visible {
  std::string name, dtype;
  std::vector<int64_t> shape;
  const char *data = nullptr; ///< row-major
  int64_t bytes = 0;
};

/// Where a kernel stands, and all that it can see there.
struct Stop {
  mlir::Location location;
  std::vector<int64_t> block;
  std::vector<Visible> visible;
};

struct Outcome {
  bool ok = true;
  std::string error; ///< out-of-bounds access, failed assert, step limit, unknown op
  mlir::Location location;
  std::string printed;
  std::vector<Departure> departures = {}; ///< with Options::compare: the first of each kind
};

struct Options {
  int64_t maxSteps = 50'000'000'000; ///< element operations before giving up
  /// Computes everything in double precision beside, and notes the first element that differs by
  /// more than so many units in the last place of its type at its tile's largest value. 0: no.
  double compare = 0;
  /// Called at tile.breakpoint; false ends the run.
  std::function<bool(const Stop &)> atBreakpoint = {};
  /// Asked now and then by the thread that called; true ends the run.
  std::function<bool()> isInterrupted = {};
};

/// Runs `function` on `arguments`; `symbols` binds tile.symbol names. Never aborts: faults are in
/// the outcome.
Outcome interpret(mlir::func::FuncOp function, const std::vector<Argument> &arguments,
                  const std::map<std::string, int64_t> &symbols, const Options &options = {});

} // namespace tilewright::interp
