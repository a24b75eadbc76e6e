// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/support/TypeNames.h"
#include "tilewright/to_expert/ToExpert.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <optional>

namespace tilewright::to_expert {

/// The text of an expression and how tightly its outermost operator binds: 0 for names, numbers and
/// calls, 1 for products, 2 for sums, 3 for the rest.
struct Expression {
  std::string text;
  int binding = 0;
};

/// One line of the body of a kernel.
struct Line {
  unsigned indent = 0;
  std::string text;
  std::string source;               ///< "file:line", where it comes from
  llvm::SmallVector<Pipe, 2> pipes; ///< on which it runs
  bool isFlag = false;              ///< stands inside `T.rs` of its pipe
};

/// Names of Python, each given once.
class Names {
public:
  /// `wanted` as an identifier that nothing else has; `numbered` always ends in a number.
  std::string fresh(llvm::StringRef wanted, bool numbered = false);

private:
  llvm::StringSet<> taken;
  std::map<std::string, unsigned> next;
};

std::string quoted(llvm::StringRef text);
/// A number as Python reads it back, bit for bit.
std::string numberText(mlir::TypedAttr value);

/// Writes the functions of one launch.
class Emitter {
public:
  Emitter(Names &names, std::vector<Line> &lines) : names(names), lines(lines) {}

  mlir::LogicalResult launch(npu::LaunchOp op, llvm::ArrayRef<std::string> operands);

private:
  // Statements.cpp
  mlir::LogicalResult function(mlir::func::FuncOp function, llvm::ArrayRef<std::string> operands);
  void allocations(mlir::func::FuncOp function);
  mlir::LogicalResult body(mlir::Block &block);
  mlir::LogicalResult statement(mlir::Operation &op);
  mlir::LogicalResult loop(mlir::scf::ForOp loop);
  mlir::LogicalResult branch(mlir::scf::IfOp branch);
  mlir::LogicalResult whileLoop(mlir::scf::WhileOp loop);
  mlir::LogicalResult boxStatement(mlir::Operation &op);
  mlir::LogicalResult elementwise(npu::ElementwiseOp op);
  mlir::LogicalResult sync(mlir::Operation &op);
  void write(const llvm::Twine &text, mlir::Operation &op, llvm::ArrayRef<Pipe> pipes = {},
             bool isFlag = false);

  // Expressions.cpp
  /// Names or inlines the value of a scalar op; fails for one that Python has no word for.
  mlir::LogicalResult scalar(mlir::Operation &op);
  std::optional<Expression> expressionOf(mlir::Operation &op);
  bool canInline(mlir::Operation &op);
  /// The values of a region without effects, as expressions in place.
  mlir::LogicalResult inlineAll(mlir::Block &block);
  std::string text(mlir::Value value, int binding = 3);
  std::string slice(mlir::Value offset, mlir::Value size, int64_t extent);
  /// Box `index` of an op. With `positions` each dimension goes to that place among `rank`.
  std::string box(AccessInterface op, unsigned index);
  std::string boxAt(const Box &box, llvm::ArrayRef<int64_t> positions, int64_t rank);
  std::string bufferName(mlir::Value buffer);

  Names &names;
  std::vector<Line> &lines;
  unsigned indent = 2;
  bool inlinesAll = false;
  llvm::DenseMap<mlir::Value, Expression> values;
  std::map<std::string, std::string> exchanges; ///< tiles that both functions name
};

} // namespace tilewright::to_expert
