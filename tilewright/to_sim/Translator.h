// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/to_sim/CodeBuilder.h"
#include "tilewright/to_sim/ToSim.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/DenseMap.h"

#include <map>

namespace tilewright::to_sim {

/// What the two core programs of a launch share: tables of the program under construction.
class Tables {
public:
  Tables(LaunchProgram &out, npu::LaunchOp launch);

  LaunchProgram &out;
  const bool isMixed; ///< both kinds of core take part

  /// Index in Program::locations of the first file location in `loc`, -1 without one.
  int32_t location(mlir::Location loc);
  /// ScalarArg number of the value of scalar operand `operand`, or of size `dim` of a tensor
  /// operand.
  int64_t scalar(unsigned operand, int dim = -1);
  /// Program tensor of launch operand `operand`, -1 for scalars.
  int32_t tensor(unsigned operand) const { return tensorOf[operand]; }

private:
  std::map<std::tuple<std::string, int, int>, int32_t> locations;
  std::map<std::pair<unsigned, int>, int64_t> scalars;
  std::vector<int32_t> tensorOf;
};

/// A box with its place in memory, one entry per dimension.
struct Operand {
  struct Dim {
    sim::Ref size, stride;
    int64_t extent = 0; ///< the size if constant, else kDynamic
  };
  sim::View view; ///< rank, sizes and strides are still empty
  llvm::SmallVector<Dim, 4> dims;

  /// The view over dims `order`; -1 stands for a dimension of size 1.
  sim::View over(llvm::ArrayRef<int> order) const;
  sim::View whole() const;
};

/// Translates one device function.
class Translator {
public:
  Translator(Tables &tables, sim::CoreProgram &core, sim::CoreKind kind,
             mlir::func::FuncOp function)
      : tables(tables), core(core), kind(kind), function(function) {}

  mlir::LogicalResult run();

private:
  using Ref = sim::Ref;
  using Opcode = sim::Opcode;
  using DType = sim::DType;

  Tables &tables;
  sim::CoreProgram &core;
  sim::CoreKind kind;
  mlir::func::FuncOp function;
  CodeBuilder code;
  llvm::DenseMap<mlir::Value, Ref> values;

  /// A rotating buffer: registers of the current slot number and of its address (bytes on chip,
  /// elements in the workspace). They change, so pure code must not read them.
  struct Rotation {
    int32_t slot, address;
    Ref first; ///< address of slot 0
    int64_t step, slots;
  };
  llvm::DenseMap<mlir::Value, Rotation> rotations;
  llvm::DenseMap<mlir::Value, int32_t> variables; ///< `reg` buffers
  llvm::DenseMap<mlir::Value, int32_t> buffers;   ///< index into Program::buffers
  std::vector<sim::BoxCheck> boxes;               ///< of the op being translated

  // Control.cpp
  mlir::LogicalResult block(mlir::Block &body);
  mlir::LogicalResult op(mlir::Operation *op);
  mlir::LogicalResult forLoop(mlir::scf::ForOp op);
  mlir::LogicalResult whileLoop(mlir::scf::WhileOp op);
  mlir::LogicalResult branch(mlir::scf::IfOp op);
  mlir::LogicalResult indexSwitch(mlir::scf::IndexSwitchOp op);
  std::vector<Ref> refs(mlir::ValueRange range);

  // Scalars.cpp
  /// True if `op` is scalar code; `result` tells whether it could be translated.
  bool scalar(mlir::Operation *op, mlir::LogicalResult &result);
  bool integerOp(mlir::Operation *op);
  bool floatOp(mlir::Operation *op);
  bool castOp(mlir::Operation *op);
  bool mathOp(mlir::Operation *op);
  bool indexOp(mlir::Operation *op);
  mlir::LogicalResult dim(mlir::Operation *op, mlir::Value buffer, mlir::Value index);
  Ref affine(mlir::AffineExpr expr, llvm::ArrayRef<Ref> dims, llvm::ArrayRef<Ref> symbols);
  Ref integer(Opcode op, DType type, Ref a, Ref b);
  Ref zeroExtended(Ref value, DType from);
  void set(mlir::Value result, Ref ref) { values[result] = ref; }

  // Boxes.cpp
  Ref get(mlir::Value value);
  Ref extent(mlir::Value buffer, int dim);
  llvm::SmallVector<Ref> mixed(llvm::ArrayRef<mlir::OpFoldResult> numbers);
  llvm::SmallVector<Ref> strides(mlir::Value buffer);
  mlir::FailureOr<Operand> operand(mlir::Operation *op, const Box &box);
  void checkBox(const Box &box, const Operand &operand);
  Ref addressOf(npu::AllocOp alloc, int64_t unit);
  mlir::LogicalResult alloc(npu::AllocOp op);
  void advance(const Rotation &rotation);
  Ref slotPlus(mlir::Value rotating, int64_t id);
  void endBlock();
  void coreBarrier(npu::CoreBarrierOp op);
  void pairBoxes(const Operand &a, const Operand &b, sim::View &viewA, sim::View &viewB);

  // TileOps.cpp
  /// True if `op` is an npu box op, flag or scalar access.
  bool tile(mlir::Operation *op, mlir::LogicalResult &result);
  mlir::LogicalResult copy(mlir::Operation *op, sim::TileOp kind, llvm::StringRef verb,
                           uint8_t flags = 0, uint16_t fn = 0, llvm::ArrayRef<Ref> scalars = {});
  mlir::LogicalResult mmad(npu::MmadOp op);
  mlir::LogicalResult fill(mlir::Operation *op, sim::TileOp kind, mlir::Value value);
  mlir::LogicalResult elementwise(npu::ElementwiseOp op);
  mlir::LogicalResult reduce(npu::ReduceOp op);
  mlir::LogicalResult scan(npu::ScanOp op);
  mlir::LogicalResult iota(npu::IotaOp op);
  mlir::LogicalResult gather(npu::GatherOp op);
  mlir::LogicalResult print(npu::PrintOp op);
  mlir::LogicalResult scalarLoad(npu::ScalarLoadOp op);
  mlir::LogicalResult scalarStore(npu::ScalarStoreOp op);
  mlir::LogicalResult scalarAtomic(npu::ScalarAtomicOp op);
  int32_t addTemplate(mlir::Operation *op, sim::Template &&tmpl);
  void issue(mlir::Operation *op, sim::Template &&tmpl);
  Ref scalarAs(mlir::Value value, DType type);
  std::string bufferName(mlir::Value buffer);
};

} // namespace tilewright::to_sim
