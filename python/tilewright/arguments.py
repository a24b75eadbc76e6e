# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Call arguments: PyTorch tensors, NumPy arrays and numbers as addresses, shapes and types."""

from __future__ import annotations

import contextlib
import functools
import math
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .errors import ArgumentError, ArgumentTypeError, MissingTorchError, RunError

if TYPE_CHECKING:
    import numpy as np

#: Attribute of tensors that the device layer of compat/ places on a simulated device.
DEVICE_TAG = "_tilewright_device"
INTEGER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
INTEGER_BITS |= {f"u{n}": b for n, b in INTEGER_BITS.items()}
FLOATS = ("float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "float32", "float64")


#: Types of tensors that hold two elements of four bits in a byte.
PAIRS = ("int8", "uint8", "float4_e2m1fn_x2")
#: What the call gives for outputs with elements of four bits.
PAIR_OUTPUTS = {"int4": "int8", "uint4": "uint8", "float4_e2m1fn": "float4_e2m1fn_x2"}


def loaded_torch() -> Any:
    """PyTorch when the program has imported it, else None: it is never imported for the user."""
    return sys.modules.get("torch")


def torch_or_error(what: str) -> Any:
    try:
        import torch
    except ImportError:
        raise MissingTorchError(what) from None
    return torch


def plain_torch() -> contextlib.AbstractContextManager[Any]:
    """Inside, tensors behave as the CPU tensors they are, without the device layer."""
    torch = loaded_torch()
    return contextlib.nullcontext() if torch is None else torch._C.DisableTorchFunction()


@functools.cache
def torch_dtype_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


class TensorArgument:
    """One tensor of a call: its address, and what must be done when the kernel has run."""

    __slots__ = ("after", "dtype", "keep", "pointer", "shape")

    def __init__(self, pointer: int, shape: tuple[int, ...], dtype: str, keep: Any) -> None:
        self.pointer, self.shape, self.dtype, self.keep = pointer, shape, dtype, keep
        self.after: Callable[[], None] | None = None


def is_torch(value: Any) -> bool:
    torch = loaded_torch()
    return torch is not None and isinstance(value, torch.Tensor)


def is_array(value: Any) -> bool:
    """A NumPy array. Only a program that has imported NumPy can have one."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def is_tensor(value: Any) -> bool:
    return is_array(value) or is_torch(value)


def tensor_argument(name: str, position: int, value: Any) -> TensorArgument:
    """Address, shape and type of a tensor; one that is not contiguous is copied and copied back."""
    if is_torch(value):
        return _from_torch(name, position, value)
    if is_array(value):
        return _from_numpy(name, position, value)
    raise ArgumentTypeError(
        f"error[E0802]: argument {position} '{name}' is a {type(value).__name__}; the kernel "
        "expects a tensor (torch.Tensor or numpy.ndarray)"
    )


def absent_tensor(shape: tuple[int, ...], dtype: str) -> TensorArgument:
    """Zeros for None, where no statement of the kernel names the parameter."""
    import numpy

    from .dtypes import dtype as as_dtype

    memory = numpy.zeros(math.prod(shape) * max(as_dtype(dtype).bits // 8, 1), numpy.uint8)
    return TensorArgument(memory.ctypes.data, shape, dtype, memory)


def _from_torch(name: str, position: int, value: Any) -> TensorArgument:
    if value.device.type != "cpu":
        raise ArgumentError(
            f"error[E0805]: argument {position} '{name}' is on device {value.device}; kernels run "
            "on tensors in host memory or on the simulated device: run the script with `tilewright "
            "run`, or use .cpu()"
        )
    if value.layout is not loaded_torch().strided:
        raise ArgumentTypeError(
            f"error[E0810]: argument {position} '{name}' is a sparse tensor; pass a dense one"
        )
    data = value.detach() if value.requires_grad else value
    if data.is_conj() or data.is_neg():
        data = data.resolve_conj().resolve_neg()
    if data.is_contiguous():
        return TensorArgument(
            data.data_ptr(), tuple(data.shape), torch_dtype_name(data.dtype), data
        )
    copy = data.contiguous()
    made = TensorArgument(copy.data_ptr(), tuple(copy.shape), torch_dtype_name(copy.dtype), copy)
    if not any(s == 0 and n > 1 for s, n in zip(data.stride(), data.shape, strict=True)):
        made.after = lambda: data.copy_(copy)  # an expanded tensor has no elements of its own
    return made


def _from_numpy(name: str, position: int, value: np.ndarray) -> TensorArgument:
    dtype = value.dtype.name
    if not value.dtype.isnative:
        raise ArgumentTypeError(
            f"error[E0810]: argument {position} '{name}' has a foreign byte order; convert it first"
        )
    if value.flags.c_contiguous and value.flags.writeable:
        return TensorArgument(value.ctypes.data, value.shape, dtype, value)
    copy = value.copy(order="C")
    made = TensorArgument(copy.ctypes.data, copy.shape, dtype, copy)
    if value.flags.writeable:

        def back() -> None:
            value[...] = copy

        made.after = back
    else:

        def check() -> None:
            if copy.tobytes() != value.tobytes():
                raise RunError(
                    f"error[E0807]: the kernel writes to argument {position} '{name}', which is "
                    "read-only"
                )

        made.after = check
    return made


def merged_shape(shape: tuple[int, ...], declared: Sequence[int]) -> tuple[int, ...] | None:
    """`shape` as the declared one, when it is that but for dimensions of 1, or when leading
    dimensions next to each other are one there or the other way round; None when it is anything
    else. A declared size below 0 may be any.

    Rows, the last dimension, must agree, so that a tensor of another kind is not taken for a view;
    a parameter of one dimension and fixed size takes all elements in order.
    """
    if len(declared) == 1 and declared[0] == math.prod(shape) and 0 not in shape:
        return tuple(declared)
    sizes = [s for s in shape if s != 1]
    if len(sizes) == sum(d != 1 for d in declared):
        rest = iter(sizes)
        found = tuple(1 if d == 1 else next(rest) for d in declared)
        if all(d in (-1, f) for d, f in zip(declared, found, strict=True)):
            return found
    if min(len(shape), len(declared)) < 2 or declared[-1] not in (shape[-1], -1):
        return None
    if any(d < 0 for d in declared):
        known = math.prod(d for d in declared if d >= 0)
        total = math.prod(shape)
        if sum(d < 0 for d in declared) != 1 or known == 0 or total % known:
            return None
        declared = [total // known if d < 0 else d for d in declared]
    if math.prod(shape) != math.prod(declared) or 0 in shape:
        return None
    few, many = sorted((list(shape), list(declared)), key=len)
    at = 0
    for size in few:
        product = 1
        while at < len(many) and (product < size or many[at] == 1):
            product *= many[at]
            at += 1
        if product != size:
            return None
    return tuple(declared) if at == len(many) else None


def scalar_argument(name: str, position: int, value: Any, dtype: str) -> int | float | bool:
    """A number for a scalar parameter, checked against its type."""
    number = value
    if is_tensor(value):
        if value.ndim != 0 and tuple(value.shape) != (1,):
            raise ArgumentTypeError(
                f"error[E0806]: argument {position} '{name}' is a tensor of shape "
                f"{tuple(value.shape)}; the kernel expects a number of type {dtype}"
            )
        number = value.item()
    elif hasattr(value, "item"):
        number = value.item()
    if not isinstance(number, (bool, int, float)):
        raise ArgumentTypeError(
            f"error[E0806]: argument {position} '{name}' is {value!r}; the kernel expects a number "
            f"of type {dtype}"
        )
    if dtype in FLOATS:
        return float(number)
    if dtype == "bool":
        return bool(number)
    if isinstance(number, float):
        if not number.is_integer():
            raise ArgumentTypeError(
                f"error[E0806]: argument {position} '{name}' is {number}; the kernel expects an "
                f"integer ({dtype})"
            )
        number = int(number)
    bits = INTEGER_BITS[dtype]
    low, high = (0, 2**bits - 1) if dtype[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if not low <= number <= high:
        raise ArgumentError(
            f"error[E0806]: argument {position} '{name}' is {number}, out of range for {dtype} "
            f"({low} to {high})"
        )
    return int(number)


def check_devices(names: list[str], tensors: list[Any]) -> str | None:
    """The simulated device that the tensors are on; None outside `tilewright run`.

    Raises when tensors of a device and of the host meet, as the real runtime would. Tensors that
    autograd has saved for a backward pass have lost their tag and count as being on the device.
    """
    devices = [getattr(t, DEVICE_TAG, None) for t in tensors]
    found = next((d for d in devices if d is not None), None)
    if None not in devices or not tensors:
        return found
    layer = sys.modules.get("tilewright.compat.device")
    if layer is not None and layer.in_backward():
        return found or layer.default_device()
    if found is None:
        return None
    name = names[devices.index(None)]
    raise ArgumentError(
        f"error[E0805]: argument '{name}' is on the CPU while others are on {found}; move it with "
        f'.to("{found}")'
    )


def _torch_zeros(torch: Any, shape: list[int], dtype: Any) -> Any:
    """Zeros, also of types that torch can only view."""
    if "x2" in str(dtype):
        return torch.zeros(shape, dtype=torch.uint8).view(dtype)
    return torch.zeros(shape, dtype=dtype)


def make_output(shape: list[int], dtype: str, like_torch: bool, device: str | None) -> Any:
    """A zeroed tensor of the caller's framework."""
    holds_pairs = dtype in PAIR_OUTPUTS
    dtype = PAIR_OUTPUTS.get(dtype, dtype)
    if like_torch:
        torch = loaded_torch()
        made = _torch_zeros(torch, shape, getattr(torch, dtype, torch.uint8))
        if device is not None:
            setattr(made, DEVICE_TAG, device)
        return made
    import numpy as np

    dtype = "uint8" if holds_pairs else dtype
    if not hasattr(np, dtype):
        import ml_dtypes

        return np.zeros(shape, dtype=getattr(ml_dtypes, dtype))
    return np.zeros(shape, dtype=dtype)
