# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of tensors, and element types by name."""

from __future__ import annotations

from typing import Any

from ..arguments import plain_torch, torch_or_error

#: Elements that a comparison looks at together.
_PIECE = 1 << 20


def map_torch_type(name: Any) -> Any:
    """The torch dtype of an element type."""
    from ..dtypes import dtype

    torch = torch_or_error("a torch dtype")
    return getattr(torch, str(dtype(name)))


def __getattr__(name: str) -> Any:
    if name == "TensorSupplyType":
        from ..profiler import TensorSupplyType

        return TensorSupplyType
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get_tensor_supply(supply_type: Any = None) -> Any:
    """A function that makes an input tensor for a kernel parameter."""
    from ..profiler import TensorSupplyType, make_tensor

    supply = supply_type or TensorSupplyType.Auto
    return lambda parameter: make_tensor(parameter.shape, str(parameter.dtype), supply)


def torch_assert_close(
    tensor_a: Any,
    tensor_b: Any,
    rtol: float = 1e-2,
    atol: float = 1e-3,
    max_mismatched_ratio: float = 0.001,
    verbose: bool = False,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    base_name: str = "actual",
    ref_name: str = "expected",
) -> bool:
    """Like torch.testing.assert_close, but a given share of elements may be off."""
    torch = torch_or_error("torch_assert_close")
    with plain_torch():
        if check_dtype and tensor_a.dtype != tensor_b.dtype:
            raise AssertionError(
                f"element types differ: {base_name} {tensor_a.dtype}, {ref_name} {tensor_b.dtype}"
            )
        if tensor_a.shape != tensor_b.shape:
            raise AssertionError(
                f"shapes differ: {base_name} {tuple(tensor_a.shape)}, {ref_name} "
                f"{tuple(tensor_b.shape)}"
            )
        left, right = tensor_a.detach().reshape(-1), tensor_b.detach().reshape(-1)
        count, worst = _mismatches(torch, left, right, rtol=rtol, atol=atol, equal_nan=equal_nan)
        total = left.numel()
        if count <= max_mismatched_ratio * total:
            return True
        index = tuple(int(i) for i in torch.unravel_index(torch.tensor(worst), tensor_a.shape))
        raise AssertionError(
            f"{count} of {total} elements differ ({count / total:.2%}, allowed "
            f"{max_mismatched_ratio:.2%}); "
            f"worst at {index}: {base_name} {left[worst].item():g}, {ref_name} "
            f"{right[worst].item():g} "
            f"(rtol {rtol}, atol {atol})"
        )


def _mismatches(torch: Any, left: Any, right: Any, **tolerance: Any) -> tuple[int, int]:
    """How many elements of two flat tensors are not close, and where the difference is largest.

    Compares in float64, piece by piece: a tensor made for a GPU would take 8 bytes an element
    several times over.
    """
    count, worst, largest = 0, 0, -1.0
    for first in range(0, left.numel(), _PIECE):
        a, b = left[first : first + _PIECE].double(), right[first : first + _PIECE].double()
        wrong = ~torch.isclose(a, b, **tolerance)
        if not (here := int(wrong.sum())):
            continue
        count += here
        difference = torch.nan_to_num((a - b).abs(), nan=torch.inf, posinf=torch.inf)
        place = int(difference.masked_fill_(~wrong, -1).argmax())
        if (value := difference[place].item()) > largest:
            worst, largest = first + place, value
    return count, worst
