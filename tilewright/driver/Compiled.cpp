// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/driver/Compiled.h"

using tilewright::support::Described;

namespace tilewright::sim {

template <class Archive, class T>
  requires Described<T, Place>
void describe(Archive &archive, T &value) {
  auto &[file, line, column] = value;
  archive(file, line, column);
}

} // namespace tilewright::sim

namespace tilewright::to_sim {

template <class Archive, class T>
  requires Described<T, ScalarSource>
void describe(Archive &archive, T &value) {
  auto &[operand, dim] = value;
  archive(operand, dim);
}

template <class Archive, class T>
  requires Described<T, LaunchProgram>
void describe(Archive &archive, T &value) {
  auto &[program, tensors, scalars] = value;
  archive(program, tensors, scalars);
}

} // namespace tilewright::to_sim

namespace tilewright::driver {

template <class Archive, class T>
  requires Described<T, Diagnostic>
void describe(Archive &archive, T &value) {
  auto &[severity, message, location, notes] = value;
  archive(severity, message, location, notes);
}

template <class Archive, class T>
  requires Described<T, Remark>
void describe(Archive &archive, T &value) {
  auto &[stage, kind, message, location] = value;
  archive(stage, kind, message, location);
}

template <class Archive, class T>
  requires Described<T, LaunchOperand>
void describe(Archive &archive, T &value) {
  auto &[parameter, symbol] = value;
  archive(parameter, symbol);
}

template <class Archive, class T>
  requires Described<T, Compiled>
void describe(Archive &archive, T &value) {
  auto &[forceSplitRows, parts, strip, lateStages, fusedTurns, legal, npuText, launches, operands,
         remarks] = value;
  archive(forceSplitRows, parts, strip, lateStages, fusedTurns, legal, npuText, launches, operands,
          remarks);
}

std::string pack(const Compiled &compiled, const std::vector<Diagnostic> &diagnostics) {
  support::ArchiveWriter writer;
  writer(compiled, diagnostics);
  return writer.take();
}

bool unpack(std::string_view bytes, Compiled &compiled, std::vector<Diagnostic> &diagnostics) {
  support::ArchiveReader reader(bytes);
  reader(compiled, diagnostics);
  return reader.done();
}

} // namespace tilewright::driver
