# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of half precision on a CPU: computed in float32, rounded once, large ones by pieces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch

Tensor = torch.Tensor
HALF = (torch.float16, torch.bfloat16)
#: Elements of operands that are converted at a time.
PIECE = 1 << 26
_BATCHED = {
    Tensor.matmul, Tensor.__matmul__, Tensor.bmm, torch.matmul, torch.bmm,
}  # fmt: skip


class Axes(NamedTuple):
    """Where a product falls into independent ones: an axis of each operand, None for what all
    pieces need whole, and one of the result."""

    operands: tuple[int | None, ...]
    result: int


def in_float32(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Runs a product; one with operands of half precision in float32, the result rounded once.

    Operands of different types give the first one's, as on the device.
    """
    types = [t.dtype for t in _tensors([*args, *kwargs.values()])]
    if not any(t in HALF for t in types) or "out" in kwargs or func is Tensor.addmm_:
        return func(*args, **kwargs)
    result_type = next(t for t in types if t.is_floating_point)
    axes = None if kwargs else _independent(func, args)
    if axes is not None:
        return _by_pieces(func, args, axes, result_type)
    return _rounded(func(*_convert(args), **_convert(kwargs)), result_type)


def _rounded(result: Any, dtype: torch.dtype) -> Any:
    return result.to(dtype) if result.dtype is torch.float32 else result


def _tensors(values: Iterable[Any]) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _tensors(value)
    return found


def _convert(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.to(torch.float32) if value.dtype in HALF else value
    if isinstance(value, dict):
        return {key: _convert(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_convert(part) for part in value)
    return value


def _independent(func: Any, args: tuple[Any, ...]) -> Axes | None:
    """The axes of a product that is worth cutting; none for small ones and those of autograd."""
    operands = _tensors(args)
    if sum(t.numel() for t in operands if t.dtype in HALF) <= PIECE:
        return None
    if torch.is_grad_enabled() and any(t.requires_grad for t in operands):
        return None
    if func is torch.einsum and isinstance(args[0], str) and len(operands) == len(args) - 1:
        return _of_einsum(args[0], operands)
    if func in _BATCHED and len(operands) == len(args) == 2:
        left, right = operands
        if left.dim() >= 3 and right.dim() == 2:
            return Axes((0, None), 0)
        if left.dim() >= 3 and left.dim() == right.dim() and len(left) == len(right):
            return Axes((0, 0), 0)
    return None


def _of_einsum(equation: str, operands: list[Tensor]) -> Axes | None:
    """The longest index that all operands and the result have once."""
    inputs, arrow, result = equation.replace(" ", "").partition("->")
    parts = inputs.split(",")
    if not arrow or "." in equation or len(parts) != len(operands):
        return None
    shared = [c for c in result if all(part.count(c) == 1 for part in parts)]
    if not shared:
        return None
    label = max(shared, key=lambda c: operands[0].shape[parts[0].index(c)])
    return Axes(tuple(part.index(label) for part in parts), result.index(label))


def _by_pieces(func: Any, args: tuple[Any, ...], axes: Axes, dtype: torch.dtype) -> Any:
    """Runs a product slice by slice, so that one slice at a time is held in float32."""
    operands = [arg for arg in args if isinstance(arg, Tensor)]
    cut = [(t, axis) for t, axis in zip(operands, axes.operands, strict=True) if axis is not None]
    length = cut[0][0].shape[cut[0][1]]
    pieces = -(-sum(t.numel() for t, _ in cut) // PIECE)
    step = max(1, -(-length // pieces))
    whole = {
        id(t): _convert(t) for t, axis in zip(operands, axes.operands, strict=True) if axis is None
    }
    result = None
    for start in range(0, length, step):
        count = min(step, length - start)
        parts = [
            whole[id(t)] if axis is None else _convert(t.narrow(axis, start, count))
            for t, axis in zip(operands, axes.operands, strict=True)
        ]
        part = func(*(arg for arg in args if not isinstance(arg, Tensor)), *parts)
        if result is None:
            shape = [*part.shape]
            shape[axes.result] = length
            result = part.new_empty(shape, dtype=dtype)
        result.narrow(axes.result, start, count).copy_(part)
    return result
