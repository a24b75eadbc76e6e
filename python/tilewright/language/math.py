# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar mathematics, for single values and inside T.Parallel."""

from __future__ import annotations

import builtins
import math as _math
from collections.abc import Callable
from typing import Any

from ..dtypes import DType, check_supported, limits
from ..dtypes import dtype as as_dtype
from .buffer import Buffer, Region
from .expr import (
    Expr,
    Named,
    as_expr,
    binary,
    cast_value,
    compare,
    is_number,
    logical_and,
    logical_not,
    logical_or,
    select,
    to_value,
    typed_constant,
    unary,
)
from .symbols import binary as symbolic_binary


def _refuse_tiles(name: str, *values: Any) -> None:
    if any(isinstance(v, (Buffer, Region)) for v in values):
        raise TypeError(
            f"error[E0202]: T.{name} works on scalars, found a whole buffer; use T.v{name} for "
            f"tiles, or T.{name} on elements inside T.Parallel"
        )


def _function(
    name: str, function: str, text: str, host: Callable[[float], float] | None = None
) -> Callable[[Any], Any]:
    def apply(x: Any, *_: Any) -> Any:
        _refuse_tiles(name, x)
        if host is not None and is_number(x):
            return host(x)
        return unary(function, x)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = text
    return apply


exp = _function("exp", "exp", "e ** x.", _math.exp)
exp2 = _function("exp2", "exp2", "2 ** x.", lambda x: 2.0**x)
log = _function("log", "log", "Natural logarithm.", _math.log)
log2 = _function("log2", "log2", "Logarithm to base 2.", _math.log2)
log10 = _function("log10", "log10", "Logarithm to base 10.", _math.log10)
log1p = _function("log1p", "log1p", "ln(1 + x).", _math.log1p)
sqrt = _function("sqrt", "sqrt", "Square root.", _math.sqrt)
rsqrt = _function("rsqrt", "rsqrt", "1 / sqrt(x).", lambda x: 1.0 / _math.sqrt(x))
sin = _function("sin", "sin", "Sine.", _math.sin)
cos = _function("cos", "cos", "Cosine.", _math.cos)
tan = _function("tan", "tan", "Tangent.", _math.tan)
tanh = _function("tanh", "tanh", "Hyperbolic tangent.", _math.tanh)
sigmoid = _function(
    "sigmoid", "sigmoid", "1 / (1 + exp(-x)).", lambda x: 1.0 / (1.0 + _math.exp(-x))
)
erf = _function("erf", "erf", "Error function.", _math.erf)
floor = _function("floor", "floor", "Greatest integer not above x.", _math.floor)
ceil = _function("ceil", "ceil", "Least integer not below x.", _math.ceil)
round = _function("round", "round", "Nearest integer, halves away from zero.")
nearbyint = _function("nearbyint", "rint", "Nearest integer, halves to even.")
trunc = _function("trunc", "trunc", "Integer part.", _math.trunc)
abs = _function("abs", "abs", "Absolute value.", builtins.abs)
isnan = _function("isnan", "isnan", "True for NaN.", _math.isnan)
isinf = _function("isinf", "isinf", "True for infinities.", _math.isinf)
isfinite = _function("isfinite", "isfinite", "False for infinities and NaN.", _math.isfinite)
bitwise_not = _function("bitwise_not", "not", "All bits inverted.")
exp10 = _function("exp10", "exp10", "10 ** x.", lambda x: 10.0**x)


def _extreme(name: str, host: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any, *_: Any) -> Any:
        _refuse_tiles(name, a, b)
        if is_number(a) and is_number(b):
            return host(a, b)
        if not isinstance(a, Expr) and not isinstance(b, Expr):
            return symbolic_binary(name, a, b)
        return binary(name + "num", a, b)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"The {name}imum of two values; of a number and NaN the number."
    return apply


min = _extreme("min", builtins.min)
max = _extreme("max", builtins.max)


def clamp(x: Any, min_val: Any, max_val: Any) -> Any:
    """x limited to a range."""
    return min(max(x, min_val), max_val)


def pow(x: Any, y: Any) -> Any:
    """x ** y."""
    if is_number(x) and is_number(y):
        return x**y
    return binary("pow", x, y)


def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once."""
    from .builder import current

    return Expr(current().core.fma(to_value(a), to_value(b), to_value(c)))


def floordiv(a: Any, b: Any) -> Any:
    """Quotient rounded down."""
    return a // b


def floormod(a: Any, b: Any) -> Any:
    """Remainder with the sign of the divisor."""
    return a % b


def truncdiv(a: Any, b: Any) -> Any:
    """Quotient rounded toward zero."""
    if is_number(a) and is_number(b):
        return int(a / b)
    return binary("truncdiv", a, b)


def truncmod(a: Any, b: Any) -> Any:
    """Remainder with the sign of the dividend."""
    if is_number(a) and is_number(b):
        return int(_math.fmod(a, b))
    return binary("truncmod", a, b)


def fmod(a: Any, b: Any) -> Any:
    """Floating-point remainder with the sign of the dividend."""
    return binary("truncmod", a, b)


def align_up(a: Any, b: Any) -> Any:
    """The least multiple of b that is not below a."""
    from .loops import ceildiv

    return ceildiv(a, b) * b


def _operator(name: str, apply: Callable[[Any, Any], Any], text: str) -> Callable[[Any, Any], Any]:
    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = text
    return apply


bitwise_and = _operator("bitwise_and", lambda a, b: a & b, "a & b.")
bitwise_or = _operator("bitwise_or", lambda a, b: a | b, "a | b.")
bitwise_xor = _operator("bitwise_xor", lambda a, b: a ^ b, "a ^ b.")
shift_left = _operator("shift_left", lambda a, b: a << b, "a << b.")
shift_right = _operator("shift_right", lambda a, b: a >> b, "a >> b.")


def And(*values: Any) -> Any:
    """Logical and of two or more conditions."""
    found = values[0]
    for value in values[1:]:
        found = logical_and(found, value)
    return found


def Or(*values: Any) -> Any:
    """Logical or of two or more conditions."""
    found = values[0]
    for value in values[1:]:
        found = logical_or(found, value)
    return found


def Not(value: Any) -> Any:
    """Logical not."""
    return logical_not(value)


def cast(value: Any, dtype: Any, *_: Any) -> Any:
    """Converts a scalar: float to int truncates and saturates, integers wrap."""
    _refuse_tiles("cast", value)
    if isinstance(value, (str, DType)) and not isinstance(dtype, (str, DType)):
        value, dtype = dtype, value
    return cast_value(value, as_dtype(dtype))


def Cast(dtype: Any, value: Any) -> Any:
    """Converts a scalar; the type comes first."""
    _refuse_tiles("Cast", value)
    return cast_value(value, as_dtype(dtype))


def reinterpret(a: Any, b: Any) -> Any:
    """The bits of a scalar as another type of the same width; type and value in either order."""
    from .builder import current

    value, to = (b, a) if isinstance(a, str) else (a, b)
    return Expr(current().core.bitcast(to_value(value), check_supported(as_dtype(to))))


def infinity(dtype: Any = "float32") -> Any:
    """Infinity of a floating-point type."""
    to = check_supported(as_dtype(dtype))
    if not to.is_float or to == "float8_e4m3fn":
        raise TypeError(f"error[E0210]: {to} has no infinity; use T.max_value({to!r})")
    return typed_constant(_math.inf, to)


def max_value(dtype: Any) -> Any:
    """Greatest finite value of a type."""
    to = check_supported(as_dtype(dtype))
    return typed_constant(limits(to)[1], to)


def min_value(dtype: Any) -> Any:
    """Least finite value of a type."""
    to = check_supported(as_dtype(dtype))
    return typed_constant(limits(to)[0], to)


def Select(cond: Any, a: Any, b: Any) -> Any:
    """A value chosen at run time; both sides are computed."""
    return select(cond, a, b)


def likely(cond: Any) -> Any:
    """The condition itself."""
    return cond


def let(value: Any, kind: Any = None) -> Any:
    """`let(value)`: the value, computed here; `let(value, type)`: converted; `let(name, value)`."""
    if isinstance(value, Named):
        value.give(kind)
        return value
    found = as_expr(value)
    return found if kind is None else cast_value(found, as_dtype(kind))


def meta_var(value: Any) -> Any:
    """Marks a value as known while the kernel is built; gives it back."""
    return value


def evaluate(value: Any = None) -> None:
    """Computes a value for its effects."""


def copysign(x: Any, y: Any) -> Any:
    """|x| with the sign of y."""
    if is_number(x) and is_number(y):
        return _math.copysign(x, y)
    size = unary("abs", as_expr(x))
    return select(compare("lt", y, 0), -size, size)


def _ieee(name: str, function: str, text: str) -> Callable[..., Any]:
    def apply(a: Any, b: Any, rounding_mode: str = "rn") -> Any:
        _nearest(name, rounding_mode)
        return binary(function, a, b)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = text
    return apply


def _nearest(name: str, rounding_mode: str) -> None:
    if rounding_mode != "rn":
        raise NotImplementedError(
            f"error[E0207]: T.{name} rounds to nearest only; found rounding mode {rounding_mode!r}"
        )


ieee_add = _ieee("ieee_add", "add", "a + b, rounded to nearest.")
ieee_sub = _ieee("ieee_sub", "sub", "a - b, rounded to nearest.")
ieee_mul = _ieee("ieee_mul", "mul", "a * b, rounded to nearest.")
ieee_fdiv = _ieee("ieee_fdiv", "div", "a / b, rounded to nearest.")


def ieee_fmaf(a: Any, b: Any, c: Any, rounding_mode: str = "rn") -> Any:
    """a * b + c, rounded once."""
    _nearest("ieee_fmaf", rounding_mode)
    return fma(a, b, c)


def ieee_frcp(x: Any, rounding_mode: str = "rn") -> Any:
    """1 / x, rounded to nearest."""
    _nearest("ieee_frcp", rounding_mode)
    return unary("rec", x)


def fast_rcp(x: Any) -> Any:
    """1 / x."""
    return unary("rec", x)


def add2(a: Any, b: Any) -> Any:
    """a + b; the packed form of two lanes."""
    return a + b


def mul2(a: Any, b: Any) -> Any:
    """a * b; the packed form of two lanes."""
    return a * b


def max2(a: Any, b: Any) -> Any:
    """Maximum; the packed form of two lanes."""
    return max(a, b)


def min2(a: Any, b: Any) -> Any:
    """Minimum; the packed form of two lanes."""
    return min(a, b)


def fma2(a: Any, b: Any, c: Any) -> Any:
    """a * b + c; the packed form of two lanes."""
    return fma(a, b, c)


def abs2(x: Any) -> Any:
    """Absolute value; the packed form of two lanes."""
    return unary("abs", x)
