// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/npu/NpuOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::npu;

#define GET_OP_CLASSES
#include "tilewright/npu/NpuOps.cpp.inc"

namespace {

/// Each box must live in one of the spaces listed for it.
LogicalResult verifySpaces(Operation *op, OperandRange buffers, OperandRange offsets,
                           OperandRange sizes, ArrayRef<SmallVector<Space>> allowed) {
  int64_t rank = 0;
  for (Value buffer : buffers)
    rank += cast<MemRefType>(buffer.getType()).getRank();
  if (static_cast<int64_t>(offsets.size()) != rank || static_cast<int64_t>(sizes.size()) != rank)
    return op->emitOpError("needs one offset and one size per dimension: the buffers have ")
           << rank << " dimensions, found " << offsets.size() << " offsets and " << sizes.size()
           << " sizes";
  for (auto [index, buffer] : llvm::enumerate(buffers)) {
    ArrayRef<Space> spaces = allowed[std::min<size_t>(index, allowed.size() - 1)];
    if (llvm::is_contained(spaces, spaceOf(buffer)))
      continue;
    InFlightDiagnostic error = op->emitOpError("box ")
                               << index << " is in " << stringifySpace(spaceOf(buffer))
                               << ", allowed: ";
    llvm::interleaveComma(spaces, error, [&](Space space) { error << stringifySpace(space); });
    return error;
  }
  return success();
}

template <typename OpTy>
LogicalResult verifySpaces(OpTy op, ArrayRef<SmallVector<Space>> allowed) {
  return verifySpaces(op, op.getBuffers(), op.getOffsets(), op.getSizes(), allowed);
}

} // namespace

void npu::AllocOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getName());
}
int64_t npu::AllocOp::getSlotBytes() {
  return slotBytes(cast<MemRefType>(getType()), getPadRows());
}

LogicalResult LoadOp::verify() {
  return verifySpaces(*this, {{Space::UB, Space::L1}, {Space::GM, Space::Workspace}});
}
LogicalResult FillL1Op::verify() { return verifySpaces(*this, {{Space::L1}}); }
LogicalResult LoadL0Op::verify() {
  return verifySpaces(*this, {{Space::L0A, Space::L0B}, {Space::L1}});
}
LogicalResult MmadOp::verify() {
  if (isMacro())
    return verifySpaces(*this, {{Space::L0C}, {Space::L1}, {Space::L1}});
  return verifySpaces(*this, {{Space::L0C}, {Space::L1, Space::L0A}, {Space::L0B}});
}
LogicalResult FixpipeOp::verify() {
  return verifySpaces(*this, {{Space::GM, Space::Workspace, Space::L1}, {Space::L0C}});
}
LogicalResult npu::StoreOp::verify() {
  return verifySpaces(*this, {{Space::GM, Space::Workspace}, {Space::UB, Space::L1}});
}
LogicalResult AtomicOp::verify() { return verifySpaces(*this, {{Space::GM}, {Space::UB}}); }
LogicalResult FillOp::verify() { return verifySpaces(*this, {{Space::UB}}); }
LogicalResult ElementwiseOp::verify() {
  if (getMaps().size() != getBuffers().size())
    return emitOpError("needs one map per box");
  return verifySpaces(*this, {{Space::UB}});
}
LogicalResult ReduceOp::verify() { return verifySpaces(*this, {{Space::UB}}); }
LogicalResult ScanOp::verify() { return verifySpaces(*this, {{Space::UB}}); }
LogicalResult IotaOp::verify() { return verifySpaces(*this, {{Space::UB}}); }
LogicalResult GatherOp::verify() { return verifySpaces(*this, {{Space::UB}}); }
LogicalResult PrintOp::verify() {
  return verifySpaces(*this, {{Space::UB, Space::GM, Space::L1, Space::L0C, Space::Workspace}});
}

LogicalResult SetFlagOp::verify() {
  bool isPair = (getSource() == Pipe::M && getTarget() == Pipe::FIX) ||
                (getSource() == Pipe::FIX && getTarget() == Pipe::M);
  if (getUnit() && !isPair)
    return emitOpError("unit orders M and FIX only, found ")
           << stringifyPipe(getSource()) << " to " << stringifyPipe(getTarget());
  return success();
}
