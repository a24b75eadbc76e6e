// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tilewright/driver/HostProgram.h"

#include "tilewright/support/TypeNames.h"
#include "tilewright/tile/TileOps.h"

#include "mlir/IR/AffineExprVisitor.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::driver;

namespace {

/// Value of a size expression; none while a symbol is unknown.
std::optional<int64_t> evaluate(AffineExpr expr, ArrayRef<std::optional<int64_t>> values) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return values[symbol.getPosition()];
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  auto left = binary ? evaluate(binary.getLHS(), values) : std::nullopt;
  auto right = binary ? evaluate(binary.getRHS(), values) : std::nullopt;
  if (!left || !right)
    return std::nullopt;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return *left + *right;
  case AffineExprKind::Mul:
    return *left * *right;
  case AffineExprKind::FloorDiv:
    return *right > 0 ? std::optional<int64_t>(llvm::divideFloorSigned(*left, *right))
                      : std::nullopt;
  case AffineExprKind::CeilDiv:
    return *right > 0 ? std::optional<int64_t>(llvm::divideCeilSigned(*left, *right))
                      : std::nullopt;
  case AffineExprKind::Mod:
    return *right > 0 ? std::optional<int64_t>(llvm::mod(*left, *right)) : std::nullopt;
  default:
    return std::nullopt;
  }
}

/// `a * symbol + b` with constants a > 0 and b, once known symbols are put in.
struct Affine {
  int64_t factor = 0, constant = 0;
  int symbol = -1;
};
std::optional<Affine> solveForm(AffineExpr expr, ArrayRef<std::optional<int64_t>> values) {
  if (auto value = evaluate(expr, values))
    return Affine{0, *value, -1};
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return Affine{1, 0, static_cast<int>(symbol.getPosition())};
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || (expr.getKind() != AffineExprKind::Add && expr.getKind() != AffineExprKind::Mul))
    return std::nullopt;
  auto left = solveForm(binary.getLHS(), values), right = solveForm(binary.getRHS(), values);
  if (!left || !right || (left->symbol >= 0 && right->symbol >= 0))
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return Affine{left->factor + right->factor, left->constant + right->constant,
                  std::max(left->symbol, right->symbol)};
  const Affine &variable = left->symbol >= 0 ? *left : *right,
               &number = left->symbol >= 0 ? *right : *left;
  return Affine{variable.factor * number.constant, variable.constant * number.constant,
                variable.symbol};
}

std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text = "(";
  for (auto [index, extent] : llvm::enumerate(shape))
    text += (index ? ", " : "") + std::to_string(extent);
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::string shapeText(const Parameter &parameter) {
  std::string text = "(";
  for (auto [index, extent] : llvm::enumerate(parameter.shapeText))
    text += (index ? ", " : "") + extent;
  return text + (parameter.shape.size() == 1 ? ",)" : ")");
}

/// A size expression with the author's names in place of s0, s1, ...
std::string text(AffineExpr expr, ArrayRef<std::string> symbols) {
  std::string numbered, result;
  llvm::raw_string_ostream(numbered) << expr;
  for (StringRef rest = numbered; !rest.empty();) {
    unsigned number = 0;
    if (rest.consume_front("s") && !rest.consumeInteger(10, number)) {
      result += symbols[number];
      continue;
    }
    result += rest.front();
    rest = rest.drop_front();
  }
  return result;
}

} // namespace

HostProgram::HostProgram(func::FuncOp function) {
  if (auto names = function->getAttrOfType<ArrayAttr>(tile::kSymbolsAttr))
    for (Attribute name : names)
      symbolNames.push_back(cast<StringAttr>(name).getValue().str());
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    Parameter parameter;
    auto name = function.getArgAttrOfType<StringAttr>(index, tile::kNameAttr);
    parameter.name = name ? name.getValue().str() : "arg" + std::to_string(index);
    parameter.output = function.getArgAttr(index, tile::kOutputAttr) != nullptr;
    parameter.used = !function.getArgument(index).use_empty();
    if (auto element = function.getArgAttrOfType<StringAttr>(index, tile::kElementAttr))
      parameter.element = element.getValue().str();
    if (auto alias = function.getArgAttrOfType<IntegerAttr>(index, tile::kAliasAttr)) {
      parameter.output = true;
      parameter.alias = static_cast<int>(alias.getInt());
    }
    Type type = function.getArgument(index).getType();
    auto memref = dyn_cast<MemRefType>(type);
    parameter.dtype = dtypeName(memref ? memref.getElementType() : type);
    parameter.kind = memref ? ArgKind::Tensor : ArgKind::Scalar;
    if (!memref && function.getArgAttr(index, "tile.unsigned"))
      parameter.dtype = "u" + parameter.dtype;
    AffineMap shape;
    if (memref) {
      auto map = function.getArgAttrOfType<AffineMapAttr>(index, tile::kShapeAttr);
      SmallVector<AffineExpr> dims;
      for (auto [dim, extent] : llvm::enumerate(memref.getShape()))
        dims.push_back(map ? map.getValue().getResult(dim)
                           : getAffineConstantExpr(extent, function.getContext()));
      shape = AffineMap::get(0, symbolNames.size(), dims, function.getContext());
      parameter.shape.assign(memref.getShape().begin(), memref.getShape().end());
      for (auto [dim, extent] : llvm::enumerate(parameter.shape)) {
        extent = ShapedType::isDynamic(extent) ? -1 : extent;
        parameter.shapeText.push_back(text(dims[dim], symbolNames));
      }
    }
    shapes.push_back(shape);
    params.push_back(std::move(parameter));
  }
}

/// Learns the one unknown symbol of `dim` from an extent, where it divides. `inPairs`: extents of
/// the tensor's rows count bytes of two elements.
static void bindDim(AffineExpr dim, int64_t extent, std::vector<std::optional<int64_t>> &values,
                    bool inPairs) {
  if (auto half = dyn_cast<AffineBinaryOpExpr>(dim);
      inPairs && half && half.getKind() == AffineExprKind::FloorDiv &&
      half.getRHS() == getAffineConstantExpr(2, dim.getContext())) { // bytes of two elements
    dim = half.getLHS();
    extent *= 2;
  }
  auto form = solveForm(dim, values);
  if (!form || form->symbol < 0 || form->factor == 0)
    return;
  int64_t rest = extent - form->constant;
  if (rest % form->factor == 0 && rest / form->factor >= 0)
    values[form->symbol] = rest / form->factor;
}

std::string HostProgram::bind(const std::vector<Argument> &arguments, bool withOutputs,
                              std::map<std::string, int64_t> &bound) const {
  SmallVector<unsigned> expected;
  for (unsigned index = 0; index < params.size(); ++index)
    if (withOutputs || !params[index].output)
      expected.push_back(index);
  if (arguments.size() != expected.size())
    return "E0801: takes " + std::to_string(expected.size()) + " arguments, got " +
           std::to_string(arguments.size());

  std::vector<std::optional<int64_t>> values(symbolNames.size());
  // Scalars that carry a symbol's name give its value.
  for (auto [position, index] : llvm::enumerate(expected)) {
    const Parameter &parameter = params[index];
    const Argument &argument = arguments[position];
    if (parameter.kind != ArgKind::Tensor) {
      auto symbol = llvm::find(symbolNames, parameter.name);
      if (symbol != symbolNames.end())
        values[symbol - symbolNames.begin()] = argument.integer;
      continue;
    }
    if (argument.dtype != parameter.dtype)
      return "E0803: argument '" + parameter.name + "' has dtype " + argument.dtype +
             ", the kernel takes " + parameter.dtype + "; convert it, for example with .to(...)";
    if (argument.shape.size() != parameter.shape.size())
      return "E0804: argument '" + parameter.name + "' has " +
             std::to_string(argument.shape.size()) + " dimensions " + shapeText(argument.shape) +
             ", the kernel takes " + std::to_string(parameter.shape.size()) + ": " +
             shapeText(parameter);
  }
  // Dimensions that are a symbol first, then affine ones, until nothing changes.
  for (bool plain : {true, false})
    for (size_t round = 0; round <= symbolNames.size(); ++round)
      for (auto [position, index] : llvm::enumerate(expected)) {
        if (params[index].kind != ArgKind::Tensor)
          continue;
        for (auto [dim, expr] : llvm::enumerate(shapes[index].getResults()))
          if (!plain || isa<AffineSymbolExpr>(expr))
            bindDim(expr, arguments[position].shape[dim], values, !params[index].element.empty());
      }
  for (auto [position, index] : llvm::enumerate(expected)) {
    const Parameter &parameter = params[index];
    if (parameter.kind != ArgKind::Tensor)
      continue;
    for (auto [dim, expr] : llvm::enumerate(shapes[index].getResults())) {
      auto value = evaluate(expr, values);
      int64_t found = arguments[position].shape[dim];
      if (value == found)
        continue;
      std::string problem = "argument '" + parameter.name + "' has shape " +
                            shapeText(arguments[position].shape) + ", the kernel takes " +
                            shapeText(parameter) + ": dimension " + std::to_string(dim) +
                            " must be " + parameter.shapeText[dim];
      if (value && !isa<AffineConstantExpr>(expr))
        problem += " = " + std::to_string(*value);
      return problem + ", found " + std::to_string(found);
    }
  }
  for (auto [index, name] : llvm::enumerate(symbolNames)) {
    if (!values[index])
      return "E0804: size '" + name +
             "' follows from no argument; use it as a dimension of an input tensor";
    bound[name] = *values[index];
  }
  return "";
}

std::vector<std::vector<int64_t>>
HostProgram::outputShapes(const std::map<std::string, int64_t> &bound, std::string &error) const {
  std::vector<std::optional<int64_t>> values;
  for (const std::string &name : symbolNames)
    values.push_back(bound.count(name) ? std::optional<int64_t>(bound.at(name)) : std::nullopt);
  std::vector<std::vector<int64_t>> result;
  for (auto [parameter, shape] : llvm::zip(params, shapes)) {
    if (!parameter.output)
      continue;
    result.emplace_back();
    for (AffineExpr expr : shape.getResults()) {
      auto value = evaluate(expr, values);
      if (!value || *value < 0) {
        error = "E0808: shape of output '" + parameter.name +
                "' cannot be found: " + shapeText(parameter);
        return {};
      }
      result.back().push_back(*value);
    }
  }
  return result;
}
