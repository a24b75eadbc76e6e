// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/interp/Interpreter.h"

#include "tilewright/tile/TileOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <chrono>

using namespace mlir;
using namespace tilewright;
using interp::Argument;

namespace {

/// A parsed module and what to run in it.
class InterpreterTest : public testing::Test {
protected:
  InterpreterTest() {
    context.loadDialect<affine::AffineDialect, arith::ArithDialect, func::FuncDialect,
                        math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                        tile::TileDialect>();
  }

  func::FuncOp parse(const std::string &text) {
    module = parseSourceString<ModuleOp>(text, &context);
    return module ? *module->getOps<func::FuncOp>().begin() : nullptr;
  }

  interp::Outcome run(const std::string &text, const std::vector<Argument> &arguments,
                      const std::map<std::string, int64_t> &symbols = {},
                      const interp::Options &options = {}) {
    func::FuncOp function = parse(text);
    if (!function)
      return {false, "the text does not parse", UnknownLoc::get(&context), ""};
    return interp::interpret(function, arguments, symbols, options);
  }

  template <class T>
  static Argument tensor(std::vector<T> &data, std::vector<int64_t> shape) {
    Argument argument;
    argument.data = data.data();
    argument.shape = std::move(shape);
    return argument;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

const char *kScale = R"(
  func.func @scale(%A: memref<?x3xf32>, %factor: f32, %shift: i32) {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %m = memref.dim %A, %c0 : memref<?x3xf32>
    %s = arith.sitofp %shift : i32 to f32
    tile.elementwise <mul>(%A[%c0, %c0] [%m, %c3] : memref<?x3xf32>, %A[%c0, %c0] [%m, %c3] : memref<?x3xf32>) scalar %factor : f32
    tile.elementwise <add>(%A[%c0, %c0] [%m, %c3] : memref<?x3xf32>, %A[%c0, %c0] [%m, %c3] : memref<?x3xf32>) scalar %s : f32
    return
  })";

TEST_F(InterpreterTest, WorksOnTheCallersMemory) {
  std::vector<float> a{0, 1, 2, 3, 4, 5};
  Argument factor, shift;
  factor.real = 2;
  shift.integer = -1;
  interp::Outcome outcome = run(kScale, {tensor(a, {2, 3}), factor, shift});
  EXPECT_TRUE(outcome.ok) << outcome.error;
  EXPECT_EQ(a, (std::vector<float>{-1, 1, 3, 5, 7, 9}));
}

TEST_F(InterpreterTest, ScalarsTakeTheirArgumentsType) {
  std::vector<float> a{1, 1, 1};
  Argument factor, shift;
  factor.real = 0.1; // becomes the nearest f32
  shift.integer = int64_t(1) << 32 | 5;
  interp::Outcome outcome = run(kScale, {tensor(a, {1, 3}), factor, shift});
  EXPECT_TRUE(outcome.ok) << outcome.error;
  EXPECT_EQ(a[0], 0.1f + 5.0f);
}

TEST_F(InterpreterTest, EmptyTensorNeedsNoData) {
  Argument empty, scalar;
  empty.shape = {0, 3};
  interp::Outcome outcome = run(kScale, {empty, scalar, scalar});
  EXPECT_TRUE(outcome.ok) << outcome.error;
}

TEST_F(InterpreterTest, RefusesArgumentsThatDoNotFit) {
  std::vector<float> a(6);
  Argument scalar, lost;
  lost.shape = {2, 3};
  auto errorOf = [&](const std::vector<Argument> &arguments) {
    interp::Outcome outcome = run(kScale, arguments);
    EXPECT_FALSE(outcome.ok);
    return outcome.error;
  };
  EXPECT_EQ(errorOf({}), "function 'scale' takes 3 arguments, got 0");
  EXPECT_EQ(
      errorOf({tensor(a, {3, 2}), scalar, scalar}),
      "argument 0 of 'scale': expected a tensor for memref<?x3xf32>, got one of shape (3, 2)");
  EXPECT_EQ(errorOf({tensor(a, {6}), scalar, scalar}),
            "argument 0 of 'scale': expected a tensor for memref<?x3xf32>, got one of shape (6)");
  EXPECT_EQ(errorOf({tensor(a, {-1, 3}), scalar, scalar}),
            "argument 0 of 'scale': shape (-1, 3) is not possible");
  EXPECT_EQ(errorOf({lost, scalar, scalar}), "argument 0 of 'scale': the tensor has no data");
}

TEST_F(InterpreterTest, RefusesTypesItDoesNotRun) {
  std::vector<char> a(4);
  EXPECT_EQ(run("func.func @f(%A: memref<4xf8E4M3FNUZ>) { return }", {tensor(a, {4})}).error,
            "argument 0 of 'f': the interpreter has no values of type memref<4xf8E4M3FNUZ>");
  EXPECT_EQ(run("func.func @f(%A: memref<4xi8, strided<[2]>>) { return }", {tensor(a, {4})}).error,
            "argument 0 of 'f': the interpreter has no values of type memref<4xi8, strided<[2]>>");
  EXPECT_EQ(run("func.func @f(%x: vector<4xf32>) { return }", {Argument()}).error,
            "argument 0 of 'f': the interpreter has no values of type vector<4xf32>");
}

TEST_F(InterpreterTest, RefusesAFunctionWithoutBody) {
  EXPECT_EQ(run("func.func private @f()", {}).error, "function 'f' has no body of one block");
}

TEST_F(InterpreterTest, BindsSymbols) {
  const char *text = R"(func.func @f() {
    %m = tile.symbol "M"
    tile.print "M" () scalar %m : index
    return
  })";
  EXPECT_EQ(run(text, {}, {{"M", 7}}).printed, "M: 7\n");
  EXPECT_EQ(run(text, {}, {{"N", 7}}).error, "size 'M' has no value");
}

TEST_F(InterpreterTest, AFaultNamesItsPlace) {
  interp::Outcome outcome = run(R"(
    func.func @f() {
      %false = arith.constant false
      tile.print "first" ()
      tile.assert %false, "no" loc("kernel.py":12:5)
      tile.print "second" ()
      return
    })",
                                {});
  EXPECT_FALSE(outcome.ok);
  EXPECT_EQ(outcome.printed, "first\n");
  auto location = dyn_cast<FileLineColLoc>(outcome.location);
  ASSERT_TRUE(location);
  EXPECT_EQ(location.getFilename(), "kernel.py");
  EXPECT_EQ(location.getLine(), 12u);
}

TEST_F(InterpreterTest, RunsAreIndependent) {
  const char *text = R"(func.func @f(%A: memref<1xi32>) {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    %T = tile.alloc "T" : memref<1xi32, #tile.scope<ub>>
    %t = tile.load %T[%c0] : memref<1xi32, #tile.scope<ub>> -> i32
    %u = arith.addi %t, %one : i32
    tile.store %u, %T[%c0] : i32, memref<1xi32, #tile.scope<ub>>
    tile.store %u, %A[%c0] : i32, memref<1xi32>
    return
  })";
  func::FuncOp function = parse(text);
  ASSERT_TRUE(function);
  for (int i = 0; i < 2; ++i) {
    std::vector<int32_t> a{0};
    EXPECT_TRUE(interp::interpret(function, {tensor(a, {1})}, {}).ok);
    EXPECT_EQ(a[0], 1);
  }
}

TEST_F(InterpreterTest, StepsAreCountedInsideBoxesToo) {
  std::vector<float> a(64 * 64);
  interp::Options options;
  options.maxSteps = 100'000; // the product alone has 262144
  interp::Outcome outcome = run(R"(
    func.func @f(%A: memref<64x64xf32>) {
      %c0 = arith.constant 0 : index
      %n = arith.constant 64 : index
      tile.gemm(%A[%c0, %c0] [%n, %n] : memref<64x64xf32>, %A[%c0, %c0] [%n, %n] : memref<64x64xf32>, %A[%c0, %c0] [%n, %n] : memref<64x64xf32>)
      return
    })",
                                {tensor(a, {64, 64})}, {}, options);
  EXPECT_EQ(outcome.error, "E0904: gave up after 100000 element operations; does the kernel end?");
}

/// A loose guard against a slow path taking over: both finish in a fraction of this on any machine.
TEST_F(InterpreterTest, IsNotSlow) {
  std::vector<int64_t> a{0};
  auto start = std::chrono::steady_clock::now();
  interp::Outcome outcome = run(R"(
    func.func @f(%A: memref<1xindex>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 1000000 : index
      %s = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %c0) -> index {
        %x = arith.muli %i, %i : index
        %y = arith.xori %x, %acc : index
        scf.yield %y : index
      }
      memref.store %s, %A[%c0] : memref<1xindex>
      return
    })",
                                {tensor(a, {1})});
  EXPECT_TRUE(outcome.ok) << outcome.error;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

} // namespace
