# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The simulated "npu" and "cuda" devices of PyTorch.

Their tensors are CPU tensors with a tag. A torch function mode redirects device arguments to the
CPU, passes tags on from arguments to results, and makes `.device` tell the tag. Products of half
precision run in float32 and are rounded once: PyTorch's CPU kernels for them are slow or absent.
"""

from __future__ import annotations

import contextlib
import functools
import types
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ..arguments import DEVICE_TAG
from . import accelerator, halves, indexing

SIMULATED = ("npu", "cuda", "privateuseone")
Tensor = torch.Tensor
_installed = False
_preferred: str | None = None

_functional = torch.nn.functional
_PRODUCTS = {
    Tensor.matmul, Tensor.__matmul__, Tensor.__rmatmul__, Tensor.mm, Tensor.bmm, Tensor.mv,
    Tensor.dot, Tensor.addmm, Tensor.addmm_, Tensor.baddbmm, Tensor.inner, torch.matmul,
    torch.mm, torch.bmm, torch.mv, torch.dot, torch.addmm, torch.baddbmm, torch.inner,
    torch.einsum, torch.tensordot, torch.conv1d,
    torch.conv2d, torch.conv3d, _functional.linear, _functional.conv1d, _functional.conv2d,
    _functional.conv3d, _functional.scaled_dot_product_attention, _functional.batch_norm,
}  # fmt: skip
_GET_DEVICE = Tensor.device.__get__
_SET_DATA = Tensor.data.__set__
_IS_CUDA = Tensor.is_cuda.__get__
_IS_CPU = Tensor.is_cpu.__get__
_WRAPPER = type(_GET_DEVICE)
_COPIES = (Tensor.to, Tensor.cuda, Tensor.cpu)


def prefer(device: str) -> None:
    """Device of tensors that are made without one, for example inputs of the profiler."""
    global _preferred
    _preferred = device


def default_device() -> str | None:
    """Tag for new tensors; None before the devices are installed."""
    if not _installed:
        return None
    return _preferred or "cuda:0"


def tag_of(value: Any) -> str | None:
    return getattr(value, DEVICE_TAG, None)


def parse(device: Any) -> str | None:
    """The tag that a device argument asks for; None when it is not a simulated device."""
    if isinstance(device, bool) or device is None:
        return None
    if isinstance(device, int):
        return f"{(default_device() or 'cuda:0').split(':')[0]}:{device}"
    if isinstance(device, str):
        kind, _, index = device.partition(":")
    elif isinstance(device, torch.device):
        kind, index = device.type, "" if device.index is None else str(device.index)
    else:
        return None
    if kind not in SIMULATED:
        return None
    global _preferred
    kind = "npu" if kind == "privateuseone" else kind
    tag = f"{kind}:{index or 0}"
    if _preferred is None:
        _preferred = tag
    return tag


def _is_device(value: Any) -> bool:
    return isinstance(value, torch.device) or (
        isinstance(value, str) and value.partition(":")[0] in (*SIMULATED, "cpu", "meta")
    )


def _find_tag(values: Any) -> str | None:
    """The tag of the first tagged tensor in nested arguments."""
    for value in values:
        if isinstance(value, Tensor):
            found = getattr(value, DEVICE_TAG, None)
        elif isinstance(value, (list, tuple)):
            found = _find_tag(value)
        elif isinstance(value, dict):
            found = _find_tag(value.values())
        else:
            continue
        if found is not None:
            return found
    return None


def _mark(result: Any, tag: str | None, given: set[int]) -> Any:
    """Tags the tensors of a result that are not themselves arguments."""
    if isinstance(result, Tensor):
        if id(result) not in given:
            setattr(result, DEVICE_TAG, tag)
    elif isinstance(result, (list, tuple)):
        for part in result:
            _mark(part, tag, given)
    elif isinstance(result, dict):
        for part in result.values():
            _mark(part, tag, given)
    return result


def _identities(values: Any, found: set[int]) -> set[int]:
    for value in values:
        if isinstance(value, Tensor):
            found.add(id(value))
        elif isinstance(value, (list, tuple)):
            _identities(value, found)
    return found


_DIVISIONS = {Tensor.__truediv__, Tensor.true_divide, Tensor.div, Tensor.divide, torch.div,
              torch.true_divide, torch.divide}  # fmt: skip


#: New memory of a device holds zeros, so that every run is the same.
_EMPTY = {torch.empty, torch.empty_like, torch.empty_strided, Tensor.new_empty}


def _by_reciprocal(func: Any, args: Any, kwargs: Any, tag: str | None) -> Any:
    """A division of a CUDA tensor by a number: PyTorch multiplies by its reciprocal there."""
    if (
        len(args) == 2
        and not kwargs
        and (tag or "").startswith("cuda")
        and isinstance(args[0], Tensor)
        and args[0].is_floating_point()
        and isinstance(args[1], (int, float))
        and args[1] != 0
    ):
        wide = torch.promote_types(args[0].dtype, torch.float32)
        reciprocal = 1 / torch.tensor(args[1], dtype=wide)
        return (args[0].to(wide) * reciprocal).to(args[0].dtype)
    return func(*args, **kwargs)


def in_backward() -> bool:
    """Whether autograd is running: its own tensors carry no tag."""
    return torch._C._current_graph_task_id() != -1


class DeviceMode(TorchFunctionMode):
    """Active for the whole program."""

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if type(func) is _WRAPPER:  # an attribute of a tensor
            return self._attribute(func, args)
        if func in _COPIES:
            return self._copy(func, args, kwargs)
        if func is Tensor.get_device:
            return int((tag_of(args[0]) or "cpu:-1").split(":")[1])
        tag = None
        redirected = False
        if "device" in kwargs:
            tag = parse(kwargs["device"])
            redirected = kwargs["device"] is not None
            if tag is not None:
                kwargs = {k: v for k, v in kwargs.items() if k != "pin_memory"}
                kwargs["device"] = "cpu"
        if tag is None and not redirected:
            tag = _find_tag(args) or _find_tag(kwargs.values())
        if func in _PRODUCTS:
            result = halves.in_float32(func, args, kwargs)
        elif func is Tensor.__getitem__ and (tag or "").startswith("npu"):
            result = indexing.getitem(*args)
        elif func in _DIVISIONS:
            result = _by_reciprocal(func, args, kwargs, tag)
        else:
            result = func(*args, **kwargs)
        if tag is None and not redirected:
            return result
        if func in _EMPTY and tag is not None:
            result.zero_()
        return _mark(result, tag, _identities([*args, *kwargs.values()], set()))

    def _attribute(self, func: Any, args: tuple[Any, ...]) -> Any:
        if func == _GET_DEVICE:
            return self._device(args[0])
        if func == _IS_CUDA:
            return self._device(args[0]).type == "cuda"
        if func == _IS_CPU:
            return self._device(args[0]).type == "cpu"
        result = func(*args)
        if func == _SET_DATA:
            setattr(args[0], DEVICE_TAG, tag_of(args[1]))
        return (
            _mark(result, tag_of(args[0]), {id(args[0])}) if isinstance(result, Tensor) else result
        )

    def _device(self, tensor: Any) -> torch.device:
        tag = tag_of(tensor)
        if tag is None and in_backward():
            tag = default_device()
        return _GET_DEVICE(tensor) if tag is None else torch.device(tag)

    def _copy(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`.to`, `.cuda` and `.cpu`: a move between devices is a copy."""
        tensor, rest = args[0], list(args[1:])
        source = tag_of(tensor)
        if func is Tensor.cuda:
            given = rest[0] if rest else kwargs.get("device")
            return move(tensor, parse("cuda" if given is None else given))
        if func is Tensor.cpu:
            return move(tensor, None)
        target = source
        for position, value in enumerate(rest):
            if _is_device(value) or (
                isinstance(value, int) and not isinstance(value, bool) and position == 0
            ):
                target, rest[position] = parse(value), "cpu"
                break
            if isinstance(value, Tensor):
                target = tag_of(value)
                break
        if kwargs.get("device") is not None:
            target = parse(kwargs["device"])
            kwargs = {**kwargs, "device": "cpu"}
        elif isinstance(kwargs.get("other"), Tensor):
            target = tag_of(kwargs["other"])
        result = func(tensor, *rest, **kwargs)
        if result is tensor:
            return move(tensor, target)
        setattr(result, DEVICE_TAG, target)
        return result


def move(tensor: Any, tag: str | None) -> Any:
    """The tensor on another device: itself when it is there already, else a copy."""
    if tag_of(tensor) == tag:
        return tensor
    result = tensor.clone()
    setattr(result, DEVICE_TAG, tag)
    return result


def _npu(self: Any, device: Any = None, non_blocking: bool = False, **_: Any) -> Any:
    tag = parse("npu" if device is None else device)
    return move(self, tag)


def _module_npu(self: Any, device: Any = None) -> Any:
    return self._apply(lambda t: t.npu(device))


def _unchanged(model: Any = None, **_: Any) -> Any:
    """`torch.compile` of reference code: runs it as it is."""
    return (lambda function: function) if model is None else model


def _loading(real: Any) -> Any:
    """`torch.load` that can put tensors on a simulated device."""

    @functools.wraps(real)
    def load(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        tag = parse(map_location)
        if tag is None:
            return real(f, map_location, *args, **kwargs)
        return _mark(real(f, "cpu", *args, **kwargs), tag, set())

    return load


def install() -> None:
    """Adds the devices to PyTorch for the rest of the program."""
    global _installed
    if _installed:
        return
    _installed = True
    with contextlib.suppress(RuntimeError):
        torch.utils.rename_privateuse1_backend("npu")
    npu = accelerator.make_module(torch, "npu")
    if not hasattr(torch, "npu"):
        torch._register_device_module("npu", npu)
    accelerator.patch_cuda(torch)
    Tensor.npu = _npu
    Tensor.is_npu = property(lambda self: (tag_of(self) or "").startswith("npu"))
    torch.nn.Module.npu = _module_npu
    torch.compile = _unchanged
    torch.load = _loading(torch.load)
    torch.Generator = accelerator.make_generator(torch)
    mode = DeviceMode()
    mode.__enter__()
    _modes.append(mode)


_modes: list[types.ModuleType | DeviceMode] = []
