// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

/// The simulator's input: one launch as one AIC and/or one AIV program.
///
/// A core program is a small register code for scalars and control flow, which *issues* tile
/// instructions described by templates. Registers hold 64 bits: integers sign- or zero-extended,
/// floats as the bits of their own width in the low end (those narrower than f32 are kept as f32).
/// Nothing here depends on MLIR; `to_sim` writes these structures, `Engine.h` runs them.
namespace tilewright::sim {

enum class DType : uint8_t {
  I1,
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
  F8E4M3,
  F8E5M2,
  F16,
  BF16,
  F32,
  F64
};

/// Bytes per element; I1 takes one byte.
unsigned byteSize(DType type);
/// The types from the 8-bit floats on are floats; those below f32 are computed and kept as f32.
constexpr bool isFloat(DType type) { return type >= DType::F8E4M3; }
constexpr bool isNarrowFloat(DType type) { return isFloat(type) && type < DType::F32; }

enum class Space : uint8_t { GM, L1, L0A, L0B, L0C, UB };
enum class Pipe : uint8_t { S, V, M, MTE1, MTE2, MTE3, FIX, All };
inline constexpr unsigned kNumPipes = 7;
enum class CoreKind : uint8_t { AIC, AIV };

/// A scalar operand: a register, or an immediate when `reg` is negative.
struct Ref {
  int32_t reg = -1;
  int64_t imm = 0;
};

inline constexpr unsigned kMaxRank = 6;

/// A strided box of elements. Sizes and strides count elements, outermost first; stride 0
/// broadcasts. On-chip: `base` is the byte address of the first element in `space`. GM: `tensor` is
/// the launch argument's index (or the workspace, see `kWorkspace`) and `base` the element offset
/// of the first element.
struct View {
  Space space = Space::UB;
  DType type = DType::F32;
  int32_t tensor = -1;
  Ref base;
  int32_t buffer = -1; ///< index into Program::buffers; the box stays in one slot of it
  uint8_t rank = 0;
  std::array<Ref, kMaxRank> sizes;
  std::array<Ref, kMaxRank> strides;
};

/// `View::tensor` value that names the launch's GM workspace (already offset to this block's part
/// by the program; a plain byte array whose element type is the view's).
inline constexpr int32_t kWorkspace = -2;

/// Tile instructions. Operand order: destination first, then sources.
enum class TileOp : uint8_t {
  // MTE2
  Load,   ///< {dst UB or L1, src GM}: box copy, equal dtypes. UB: row major. L1: ND to NZ.
  FillL1, ///< {dst L1}, scalars {value bits}: constant fill of an L1 box (pad with zeros).
  // MTE1 + M
  Mmad, ///< {C L0C (m,n), A L1, B L1}, or A in L0A and B in L0B, which is on M alone; scalars
        ///< {init}: C = (init ? 0 : C) + A.B, k-ordered fma
        ///< in f32 (int32 for 8-bit). A is (m,k), or (k,m) with flag transposeA; B is (k,n), or
        ///< (n,k) with flag transposeB. Reads of A, B in L1 happen on MTE1, of C on M.
  // FIX
  Fixpipe, ///< {dst GM or L1, src L0C}: box copy with float narrowing (half-even); flags
           ///< relu, and scale for i32 to i8.
  // MTE3
  Store,     ///< {dst GM, src UB or L1}: box copy, equal dtypes.
  AtomicAdd, ///< {dst GM, src UB}: dst += src, element order.
  AtomicMax, ///< {dst GM, src UB}
  AtomicMin, ///< {dst GM, src UB}
  // V (all operands UB; sizes are dst's, sources may have stride 0)
  Fill,          ///< {dst}, scalars {value bits in dst's type; f16/bf16 as f32}
  Copy,          ///< {dst, src}: same dtype; any strides (also broadcasts and transposes)
  Cast,          ///< {dst, src}; `round` names the mode
  Unary,         ///< {dst, a}; `fn` is a UnaryFn
  Binary,        ///< {dst, a, b}; `fn` is a BinaryFn
  BinaryScalar,  ///< {dst, a}, scalars {b bits in a's type; f16/bf16 as f32}; `flags` kScalarFirst:
                 ///< b op a
  Compare,       ///< {dst I1, a, b}; `fn` is a CompareFn
  CompareScalar, ///< {dst I1, a}, scalars {b}
  Select,        ///< {dst, cond I1, a, b}
  SelectScalar,  ///< {dst, cond I1, a}, scalars {b}: the scalar where cond is false
  Reduce, ///< {dst, src}: `fn` is a ReduceFn; the reduced dims have dst stride 0; sizes are src's.
          ///< Flag kAccumulate: combine with dst's old value. Canonical order: support/Reduce.h.
  Iota, ///< {dst}, scalars {start, step per dim...}: dst[i..] = start + sum(i_d * step_d), as int64
        ///< then converted to dst's type
  Scan, ///< {dst, src}: inclusive scan along dim `fn>>8` with ReduceFn `fn&255`; flag kReverse
  Gather, ///< {dst, src (1-D table view), index I32}: dst[i..] = src[index[i..]], UB
  // S
  ScalarStore, ///< {dst UB or GM (rank 0)}, scalars {value bits; f16/bf16 as f32}
  ScalarLoad,  ///< {src UB or GM (rank 0)} -> register `resultReg`; blocks the scalar unit. With
               ///< flag kAtomic the one and then the other are an atomic of the scalar unit.
  // MTE1
  LoadL0, ///< {dst L0A or L0B, src L1}: box copy, equal dtypes; `fn` is kIntoL0B for L0B
};

enum class UnaryFn : uint8_t {
  Neg,
  Abs,
  Exp,
  Exp2,
  Log,
  Log2,
  Log10,
  Log1p,
  Sqrt,
  Rsqrt,
  Rec,
  Sin,
  Cos,
  Tan,
  Tanh,
  Sigmoid,
  Erf,
  Floor,
  Ceil,
  Round,
  Trunc,
  Rint,
  Not,
  Relu,
  IsNan,
  IsInf,
  IsFinite
};
/// DivS/RemS truncate; FloorDiv/FloorMod floor (exact for all integer widths); by 0 all give 0.
/// Max/Min propagate NaN; MaxNum/MinNum return the other operand.
enum class BinaryFn : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Rem,
  FloorDiv,
  FloorMod,
  Max,
  Min,
  MaxNum,
  MinNum,
  And,
  Or,
  Xor,
  Shl,
  Shr,
  Pow
};
enum class CompareFn : uint8_t { EQ, NE, LT, LE, GT, GE };
enum class ReduceFn : uint8_t { Sum, Max, Min, AbsSum, AbsMax, Prod, And, Or, Xor };
enum class RoundMode : uint8_t { Rint, Floor, Ceil, Round, Trunc, Odd };

inline constexpr uint8_t kTransposeA = 1, kTransposeB = 2; ///< Mmad
inline constexpr uint16_t kIntoL0B = 1;                    ///< LoadL0
inline constexpr uint8_t kRelu = 1, kScale = 2;            ///< Fixpipe; kScale: by scalar 0 (f32)
inline constexpr uint8_t kAtomic = 1;                   ///< ScalarLoad, ScalarStore: halves of one
inline constexpr uint8_t kBypassL2 = 1;                 ///< Load: leaves no line in the L2
inline constexpr uint8_t kScalarFirst = 1;              ///< BinaryScalar, CompareScalar
inline constexpr uint8_t kAccumulate = 1, kReverse = 2; ///< Reduce, Scan

/// A box in terms of its buffer's dimensions, for the checker: one that leaves an inner dimension
/// goes on in the next row, where bytes alone look right.
struct BoxCheck {
  struct Dim {
    Ref offset, size, extent;
  };
  std::string memory;    ///< "tensor A", "buffer x (UB)"
  std::vector<Dim> dims; ///< all of them
};

/// One tile instruction as issued; everything that varies at run time is in `Ref`s.
struct Template {
  TileOp op = TileOp::Copy;
  uint16_t fn = 0; ///< UnaryFn, BinaryFn, CompareFn or ReduceFn
  uint8_t flags = 0;
  RoundMode round = RoundMode::Rint;
  std::vector<View> operands;
  std::vector<Ref> scalars;
  std::vector<BoxCheck> boxes; ///< those that are not sure to fit
  int32_t resultReg = -1;      ///< ScalarLoad
  int32_t location = -1;       ///< index into Program::locations
  std::string label;           ///< what the author would call it, for traces: "copy A_shared <- A"
};

/// Scalar opcodes. `dst`, `a`, `b`, `c` are registers unless said; `imm` as noted.
enum class Opcode : uint8_t {
  Const, ///< dst = imm
  Move,  ///< dst = a
  // integers: operands are kept extended to 64 bits; `type` gives width and signedness of the
  // result, which is wrapped and extended again. Index values use I64.
  Add,
  Sub,
  Mul,
  DivS,
  RemS,
  DivU,
  RemU,
  FloorDiv,
  FloorMod,
  CeilDiv,
  And,
  Or,
  Xor,
  Shl,
  ShrS,
  ShrU,
  MinS,
  MaxS,
  MinU,
  MaxU,
  CmpEQ,
  CmpNE,
  CmpLT,
  CmpLE,
  CmpGT,
  CmpGE, ///< signed; dst = 0 or 1
  CmpULT,
  CmpULE,
  CmpUGT,
  CmpUGE,
  Select, ///< dst = a ? b : c
  // floats: `type` is F32 or F64, or F16/BF16 (kept as f32 bits, result rounded to the type)
  FAdd,
  FSub,
  FMul,
  FDiv,
  FMax,
  FMin,
  FMaxNum,
  FMinNum,
  FNeg,
  FCmpEQ,
  FCmpNE,
  FCmpLT,
  FCmpLE,
  FCmpGT,
  FCmpGE,  ///< ordered except NE
  FUnary,  ///< dst = UnaryFn(imm) of a
  FBinary, ///< dst = BinaryFn(imm) of a, b
  Convert, ///< dst = a converted from DType(imm) to `type` (float to int: truncate, saturate, NaN
           ///< 0)
  Bitcast, ///< dst = the bits of a, a DType(imm), as a value of `type`, which is as wide
  // control flow
  Jump,   ///< to code index imm
  JumpIf, ///< if a != 0 to imm
  JumpIfNot,
  Halt,
  // where am I
  CoreId,     ///< index of this runner: AIC number in mixed/cube launches, AIV number in vector
              ///< launches
  CoreCount,  ///< runners of this launch
  SubCoreId,  ///< 0 or 1 on the AIVs of a mixed launch, else 0
  ScalarArg,  ///< dst = launch scalar number imm (float args: bits; f16/bf16 as f32)
  BeginBlock, ///< a = logical block id now starting (orders atomics, names blocks in reports)
  // issue
  Issue,   ///< template number imm
  SetFlag, ///< pipes (p0 -> p1), id in Ref(a or imm)
  WaitFlag,
  Barrier,   ///< p0, or Pipe::All
  BlockSet,  ///< cross-core: after pipe p0 of this core, signal id; AIC signals both AIVs. With
             ///< p1 = All, here and in BlockWait, a part of the end of a block
  BlockWait, ///< pipe p0 of this core waits for id; AIC waits for both AIVs
  Meet,   ///< all cores of this kind that have a block: p0 waits for what each has on p0; id in imm
  Print,  ///< Program::prints[imm], value in a
  Assert, ///< if a == 0 stop with Program::messages[imm]
};

struct Insn {
  Opcode op = Opcode::Halt;
  DType type = DType::I64;
  Pipe p0 = Pipe::S, p1 = Pipe::S;
  bool isUnit = false;    ///< SetFlag between M and FIX: by blocks of 512 bytes, for the clock
  bool isSibling = false; ///< BlockSet, BlockWait: between the two AIVs of a group
  int32_t dst = -1, a = -1, b = -1, c = -1;
  int64_t imm = 0;
  int32_t location = -1;
};

struct CoreProgram {
  std::vector<Insn> code; ///< empty: this kind of core takes no part
  std::vector<Template> templates;
  int32_t numRegs = 0;
};

struct Location {
  std::string file;
  int line = 0, column = 0;
};

/// A named on-chip buffer, for reports (races, memory map).
struct BufferInfo {
  std::string name;
  CoreKind core = CoreKind::AIV;
  Space space = Space::UB;
  int64_t address = 0, bytes = 0; ///< bytes of one slot
  int32_t slots = 1;
  int32_t location = -1;
};

struct PrintSpec {
  std::string message;
  DType type = DType::I64;
  int32_t templateId = -1; ///< >= 0: print the tile that this template's first operand names
};

struct TensorParam {
  std::string name;
  DType type = DType::F32;
  bool written = false; ///< some block may write it
};

/// One launch.
struct Program {
  std::string name;
  CoreProgram aic, aiv;
  std::vector<TensorParam> tensors;
  int32_t numScalars = 0;
  int64_t workspaceBytesPerCore = 0;
  bool usesAtomics = false; ///< run blocks in logical order on one thread
  std::vector<Location> locations;
  std::vector<std::string> messages;
  std::vector<PrintSpec> prints;
  std::vector<BufferInfo> buffers;

  bool isMixed() const { return !aic.code.empty() && !aiv.code.empty(); }
};

/// Text form of a program, for dumps and tests.
std::string toText(const Program &program);

} // namespace tilewright::sim
