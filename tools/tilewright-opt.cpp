// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-opt with the dialects and passes of tilewright.

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "tilewright/passes/Checkers.h"
#include "tilewright/passes/Passes.h"
#include "tilewright/passes/Pipelines.h"
#include "tilewright/tile/TileOps.h"
#if __has_include("tilewright/npu/NpuOps.h")
#include "tilewright/npu/NpuOps.h"
#endif

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::affine::AffineDialect, mlir::arith::ArithDialect,
                  mlir::cf::ControlFlowDialect, mlir::func::FuncDialect, mlir::LLVM::LLVMDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect>();
  registry.insert<tilewright::tile::TileDialect>();
#if __has_include("tilewright/npu/NpuOps.h")
  registry.insert<tilewright::npu::NpuDialect>();
#endif
  tilewright::passes::registerAllPasses();
  tilewright::passes::registerCheckerPasses();
  tilewright::passes::registerPipelines();
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "tilewright optimizer driver\n", registry));
}
