// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILEWRIGHT_SUPPORT_ENUMS
#define TILEWRIGHT_SUPPORT_ENUMS

include "mlir/IR/EnumAttr.td"

/// Enumerations that the tile and npu dialects share.
class Shared_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tilewright";
  let genSpecializedAttr = 0;
}

def Shared_CoreEnum : Shared_Enum<"Core", "the kind of core that runs an op", [
  I32EnumAttrCase<"AIC", 0, "aic">, I32EnumAttrCase<"AIV", 1, "aiv">, I32EnumAttrCase<"Both", 2, "both">]>;

def Shared_PipeEnum : Shared_Enum<"Pipe", "an in-order instruction queue of a core", [
  I32EnumAttrCase<"S", 0>, I32EnumAttrCase<"V", 1>, I32EnumAttrCase<"M", 2>, I32EnumAttrCase<"MTE1", 3>,
  I32EnumAttrCase<"MTE2", 4>, I32EnumAttrCase<"MTE3", 5>, I32EnumAttrCase<"FIX", 6>, I32EnumAttrCase<"All", 7>]>;

def Shared_ReduceEnum : Shared_Enum<"ReduceKind", "how elements are combined", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">,
  I32EnumAttrCase<"AbsSum", 3, "abssum">, I32EnumAttrCase<"AbsMax", 4, "absmax">, I32EnumAttrCase<"Prod", 5, "prod">,
  I32EnumAttrCase<"And", 6, "and">, I32EnumAttrCase<"Or", 7, "or">, I32EnumAttrCase<"Xor", 8, "xor">]>;

def Shared_RoundEnum : Shared_Enum<"Round", "rounding of a conversion", [
  I32EnumAttrCase<"Rint", 0, "rint">, I32EnumAttrCase<"Floor", 1, "floor">, I32EnumAttrCase<"Ceil", 2, "ceil">,
  I32EnumAttrCase<"Nearest", 3, "round">, I32EnumAttrCase<"Trunc", 4, "trunc">, I32EnumAttrCase<"Odd", 5, "odd">]>;

/// Functions of `tile.elementwise`. Integer signedness comes from the element type; max/min propagate NaN,
/// maxnum/minnum return the other operand. `bitcast` keeps the bits: both element types are equally wide.
def Shared_FnEnum : Shared_Enum<"Fn", "element-wise function", [
  I32EnumAttrCase<"Copy", 0, "copy">, I32EnumAttrCase<"Cast", 1, "cast">,
  I32EnumAttrCase<"Bitcast", 2, "bitcast">,
  I32EnumAttrCase<"Neg", 10, "neg">, I32EnumAttrCase<"Abs", 11, "abs">, I32EnumAttrCase<"Exp", 12, "exp">,
  I32EnumAttrCase<"Exp2", 13, "exp2">, I32EnumAttrCase<"Log", 14, "log">, I32EnumAttrCase<"Log2", 15, "log2">,
  I32EnumAttrCase<"Log10", 16, "log10">, I32EnumAttrCase<"Log1p", 17, "log1p">, I32EnumAttrCase<"Sqrt", 18, "sqrt">,
  I32EnumAttrCase<"Rsqrt", 19, "rsqrt">, I32EnumAttrCase<"Rec", 20, "rec">, I32EnumAttrCase<"Sin", 21, "sin">,
  I32EnumAttrCase<"Cos", 22, "cos">, I32EnumAttrCase<"Tan", 23, "tan">, I32EnumAttrCase<"Tanh", 24, "tanh">,
  I32EnumAttrCase<"Sigmoid", 25, "sigmoid">, I32EnumAttrCase<"Erf", 26, "erf">, I32EnumAttrCase<"Floor", 27, "floor">,
  I32EnumAttrCase<"Ceil", 28, "ceil">, I32EnumAttrCase<"Nearest", 29, "round">, I32EnumAttrCase<"Trunc", 30, "trunc">,
  I32EnumAttrCase<"Rint", 31, "rint">, I32EnumAttrCase<"Not", 32, "not">, I32EnumAttrCase<"Relu", 33, "relu">,
  I32EnumAttrCase<"IsNan", 34, "isnan">, I32EnumAttrCase<"IsInf", 35, "isinf">, I32EnumAttrCase<"IsFinite", 36, "isfinite">,
  I32EnumAttrCase<"Add", 50, "add">, I32EnumAttrCase<"Sub", 51, "sub">, I32EnumAttrCase<"Mul", 52, "mul">,
  I32EnumAttrCase<"Div", 53, "div">, I32EnumAttrCase<"Rem", 54, "rem">, I32EnumAttrCase<"FloorDiv", 55, "floordiv">,
  I32EnumAttrCase<"FloorMod", 56, "floormod">, I32EnumAttrCase<"Max", 57, "max">, I32EnumAttrCase<"Min", 58, "min">,
  I32EnumAttrCase<"MaxNum", 59, "maxnum">, I32EnumAttrCase<"MinNum", 60, "minnum">, I32EnumAttrCase<"And", 61, "and">,
  I32EnumAttrCase<"Or", 62, "or">, I32EnumAttrCase<"Xor", 63, "xor">, I32EnumAttrCase<"Shl", 64, "shl">,
  I32EnumAttrCase<"Shr", 65, "shr">, I32EnumAttrCase<"Pow", 66, "pow">,
  I32EnumAttrCase<"EQ", 80, "eq">, I32EnumAttrCase<"NE", 81, "ne">, I32EnumAttrCase<"LT", 82, "lt">,
  I32EnumAttrCase<"LE", 83, "le">, I32EnumAttrCase<"GT", 84, "gt">, I32EnumAttrCase<"GE", 85, "ge">,
  I32EnumAttrCase<"Select", 90, "select">]>;

#endif
