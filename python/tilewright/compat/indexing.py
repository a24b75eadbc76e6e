# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices past the end of tensors on the simulated NPU.

Reference code written there uses the size itself as a mark for "nothing" and masks what it read:
the NPU does not check indices. PyTorch on a CPU does.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch

_INTEGERS = (torch.int32, torch.int64)


def _clamped(tensor: torch.Tensor, index: Any) -> Any:
    """The index with integer tensors limited to their dimension; None for another kind of index."""
    parts = index if isinstance(index, tuple) else (index,)
    found = []
    for dim, part in enumerate(parts):
        if isinstance(part, torch.Tensor):
            if part.dtype not in _INTEGERS or tensor.shape[dim] == 0:
                return None
            part = part.clamp(-tensor.shape[dim], tensor.shape[dim] - 1)
        elif not isinstance(part, (int, slice)):
            return None
        found.append(part)
    return tuple(found)


def getitem(tensor: torch.Tensor, index: Any) -> Any:
    """`tensor[index]`, where indices past the end read the last element, with a warning."""
    try:
        return torch.Tensor.__getitem__(tensor, index)
    except IndexError as error:
        limited = _clamped(tensor, index)
        if limited is None:
            raise
        warnings.warn(
            f"{error}: an NPU does not check this and reads what lies there; here the last element "
            "is read",
            stacklevel=3,
        )
        return torch.Tensor.__getitem__(tensor, limited)
