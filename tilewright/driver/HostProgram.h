// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/driver/Driver.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineMap.h"

#include <map>
#include <string>
#include <vector>

namespace tilewright::driver {

/// The host side of a kernel: its parameters, and how symbolic sizes follow from the shapes of the
/// arguments.
class HostProgram {
public:
  /// Reads the argument attributes of the tile-level host function.
  explicit HostProgram(mlir::func::FuncOp function);

  const std::vector<Parameter> &parameters() const { return params; }
  const std::vector<std::string> &symbols() const { return symbolNames; }

  /// Checks `arguments` (without outputs when `withOutputs` is false) and binds every symbol.
  /// Returns an error text that names the parameter, what was found and what is allowed; empty on
  /// success.
  std::string bind(const std::vector<Argument> &arguments, bool withOutputs,
                   std::map<std::string, int64_t> &bound) const;

  /// Shapes of the outputs in parameter order, or an error.
  std::vector<std::vector<int64_t>> outputShapes(const std::map<std::string, int64_t> &bound,
                                                 std::string &error) const;

private:
  std::vector<Parameter> params;
  std::vector<mlir::AffineMap> shapes; ///< per parameter; null for scalars
  std::vector<std::string> symbolNames;
};

} // namespace tilewright::driver
