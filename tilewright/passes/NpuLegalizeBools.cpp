// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// npu-legalize: tiles of bools of which an op takes parts, as numbers.

#include "tilewright/passes/NpuLegalize.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::passes::legal;

/// The elements of the box follow each other as one run.
bool Legalizer::isRun(const Operand &operand) {
  auto shape = cast<MemRefType>(operand.buffer.getType()).getShape();
  bool isWhole = true; // all dimensions further in
  for (auto [size, extent] : llvm::reverse(llvm::zip_equal(operand.sizes, shape))) {
    std::optional<int64_t> known = constantOf(size);
    if (!isWhole && known != 1)
      return false;
    isWhole &= known == extent;
  }
  return true;
}

/// The boxes of a buffer in an op, by number.
SmallVector<unsigned> Legalizer::boxesOf(npu::ElementwiseOp op, Value buffer) {
  SmallVector<unsigned> found;
  for (unsigned index = 0; index < op.getNumBoxes(); ++index)
    if (op.getBox(index).buffer == buffer)
      found.push_back(index);
  return found;
}

/// A tile of bools of which an op takes rows with gaps between them. As bits, each row would
/// begin at a block of 256, and compared or chosen one by one.
bool Legalizer::hasFlagsInParts(npu::AllocOp alloc) {
  Value buffer = alloc.getResult();
  auto type = cast<MemRefType>(buffer.getType());
  bool isBits = type.getElementType().isInteger(1) && npu::spaceOf(buffer) == npu::Space::UB;
  if (!isBits || alloc.getSlots() > 1 || !llvm::all_of(buffer.getUsers(), [](Operation *user) {
        return isa<npu::ElementwiseOp, npu::FillOp>(user);
      }))
    return false;
  return llvm::any_of(buffer.getUsers(), [&](Operation *user) {
    auto op = dyn_cast<npu::ElementwiseOp>(user);
    return op && llvm::any_of(boxesOf(op, buffer), [&](unsigned index) {
             return !isRun(operandOf(op.getBox(index), op.getMap(index)));
           });
  });
}

/// Zeros and ones in f16 in place of bools: what writes some converts them, what reads some
/// compares.
void Legalizer::keepAsNumbers(npu::AllocOp alloc) {
  Value buffer = alloc.getResult();
  auto type = cast<MemRefType>(buffer.getType());
  builder.setInsertionPoint(alloc);
  loc = alloc.getLoc();
  auto numbers = builder.create<npu::AllocOp>(
      loc, MemRefType::get(type.getShape(), f16(), AffineMap(), type.getMemorySpace()),
      alloc.getNameAttr(), alloc.getSlotsAttr(), IntegerAttr(), UnitAttr());
  llvm::SetVector<Operation *> users(buffer.user_begin(), buffer.user_end());
  for (Operation *user : users) {
    builder.setInsertionPoint(user);
    loc = user->getLoc();
    if (auto fillOp = dyn_cast<npu::FillOp>(user)) {
      Operand all = operandOf(fillOp.getBox(0), {});
      all.buffer = numbers.getResult();
      fill(all, builder.create<arith::UIToFPOp>(loc, f16(), fillOp.getValue()));
    } else {
      readAndWriteNumbers(cast<npu::ElementwiseOp>(user), buffer, numbers.getResult());
    }
    user->erase();
  }
  alloc.erase();
}

void Legalizer::readAndWriteNumbers(npu::ElementwiseOp op, Value flags, Value numbers) {
  SmallVector<Operand> operands;
  Operand written;
  for (unsigned index = 0; index < op.getNumBoxes(); ++index) {
    Operand operand = operandOf(op.getBox(index), op.getMap(index));
    if (operand.buffer == flags) {
      Operand bits = temporary(builder.getI1Type(), operand);
      operand.buffer = numbers;
      if (index == 0) {
        written = operand;
      } else {
        Operand run = operand;
        if (!isRun(operand)) {
          run = temporary(f16(), operand);
          create(Fn::Copy, run, operand);
        }
        create(Fn::NE, bits, run, number(f16(), 0));
      }
      operand = bits;
    }
    operands.push_back(operand);
  }
  create(op.getFn(), operands.front(), ArrayRef(operands).drop_front(), op.getScalar(),
         op.getScalarFirst(), op.getRound());
  if (!written.buffer)
    return;
  Operand run = isRun(written) ? written : temporary(f16(), written);
  create(Fn::Cast, run, operands.front());
  if (!isRun(written))
    create(Fn::Copy, written, run);
}
