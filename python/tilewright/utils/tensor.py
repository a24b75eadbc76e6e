# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of tensors, and element types by name."""

from __future__ import annotations

from typing import Any

from ..arguments import plain_torch, torch_or_error


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
        left, right = tensor_a.detach().double(), tensor_b.detach().double()
        wrong = ~torch.isclose(left, right, rtol=rtol, atol=atol, equal_nan=equal_nan)
        count, total = int(wrong.sum()), wrong.numel()
        if count <= max_mismatched_ratio * total:
            return True
        difference = (left - right).abs()
        difference[~wrong] = -1
        worst = int(torch.nan_to_num(difference, nan=torch.inf).argmax())
        index = tuple(int(i) for i in torch.unravel_index(torch.tensor(worst), wrong.shape))
        raise AssertionError(
            f"{count} of {total} elements differ ({count / total:.2%}, allowed "
            f"{max_mismatched_ratio:.2%}); "
            f"worst at {index}: {base_name} {left[index].item():g}, {ref_name} "
            f"{right[index].item():g} "
            f"(rtol {rtol}, atol {atol})"
        )
