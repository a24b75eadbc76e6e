// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/Program.h"
#include "tilewright/support/Archive.h"

/// Programs as bytes: see support/Archive.h. A member added to a struct must be added here too, or
/// this does not compile.
namespace tilewright::sim {

template <class Archive, class T>
  requires support::Described<T, Ref>
void describe(Archive &archive, T &value) {
  auto &[reg, imm] = value;
  archive(reg, imm);
}

template <class Archive, class T>
  requires support::Described<T, View>
void describe(Archive &archive, T &value) {
  auto &[space, type, tensor, base, buffer, rank, sizes, strides] = value;
  archive(space, type, tensor, base, buffer, rank, sizes, strides);
}

template <class Archive, class T>
  requires support::Described<T, BoxCheck::Dim>
void describe(Archive &archive, T &value) {
  auto &[offset, size, extent] = value;
  archive(offset, size, extent);
}

template <class Archive, class T>
  requires support::Described<T, BoxCheck>
void describe(Archive &archive, T &value) {
  auto &[memory, dims] = value;
  archive(memory, dims);
}

template <class Archive, class T>
  requires support::Described<T, Template>
void describe(Archive &archive, T &value) {
  auto &[op, fn, flags, round, operands, scalars, boxes, resultReg, location, label] = value;
  archive(op, fn, flags, round, operands, scalars, boxes, resultReg, location, label);
}

template <class Archive, class T>
  requires support::Described<T, Insn>
void describe(Archive &archive, T &value) {
  auto &[op, type, p0, p1, isUnit, isSibling, dst, a, b, c, imm, location] = value;
  archive(op, type, p0, p1, isUnit, isSibling, dst, a, b, c, imm, location);
}

template <class Archive, class T>
  requires support::Described<T, CoreProgram>
void describe(Archive &archive, T &value) {
  auto &[code, templates, numRegs] = value;
  archive(code, templates, numRegs);
}

template <class Archive, class T>
  requires support::Described<T, Location>
void describe(Archive &archive, T &value) {
  auto &[file, line, column] = value;
  archive(file, line, column);
}

template <class Archive, class T>
  requires support::Described<T, BufferInfo>
void describe(Archive &archive, T &value) {
  auto &[name, core, space, address, bytes, slots, location] = value;
  archive(name, core, space, address, bytes, slots, location);
}

template <class Archive, class T>
  requires support::Described<T, PrintSpec>
void describe(Archive &archive, T &value) {
  auto &[message, type, templateId] = value;
  archive(message, type, templateId);
}

template <class Archive, class T>
  requires support::Described<T, TensorParam>
void describe(Archive &archive, T &value) {
  auto &[name, type, written] = value;
  archive(name, type, written);
}

template <class Archive, class T>
  requires support::Described<T, Program>
void describe(Archive &archive, T &value) {
  auto &[name, aic, aiv, tensors, numScalars, workspaceBytesPerCore, usesAtomics, locations,
         messages, prints, buffers] = value;
  archive(name, aic, aiv, tensors, numScalars, workspaceBytesPerCore, usesAtomics, locations,
          messages, prints, buffers);
}

} // namespace tilewright::sim
