// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "tilewright/sim/Engine.h"
#include "tilewright/sim/Program.h"

#include <string>

/// Spellings of the program's enumerations and places, for dumps and diagnostics.
namespace tilewright::sim {

const char *nameOf(DType type);
const char *nameOf(Space space);
const char *nameOf(Pipe pipe);
const char *nameOf(CoreKind kind);
const char *nameOf(TileOp op);
const char *nameOf(Opcode op);
const char *nameOf(UnaryFn fn);
const char *nameOf(BinaryFn fn);
const char *nameOf(CompareFn fn);
const char *nameOf(ReduceFn fn);
const char *nameOf(FindingKind kind);
/// The code of a kind in the catalogue of errors: "E0902".
const char *codeOf(FindingKind kind);

/// "matmul.py:12", or "line unknown" where the program has no location.
std::string locationText(const Program &program, int32_t location);

/// How many vector cores share a block of a launch without cube work; each has a number of its own
/// in BeginBlock.
int64_t coresPerBlock(const Program &program);

} // namespace tilewright::sim
