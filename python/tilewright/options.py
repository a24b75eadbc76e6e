# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of TileLang's compile calls: which mean something here, which are hints for GPUs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .env import CompileSettings

#: Prefixes of the keys that TileLang defines; those that are not listed below are hints for GPUs.
KNOWN_PREFIXES = ("tl.", "tir.", "npuir.", "cuda.", "tirx.", "s_tir.", "relax.", "disable_", "tvm.")


class Key(str):
    """The name of a pass option; `.value` is the text as well."""

    __slots__ = ()

    @property
    def value(self) -> str:
        return str(self)


class _Keys(type):
    """Gives every TL_*, TIR_*, NPUIR_*, CUDA_* name: unknown ones are hints for other targets."""

    def __getattr__(cls, name: str) -> Key:
        prefix, _, rest = name.partition("_")
        if not rest or not name.isupper():
            raise AttributeError(f"PassConfigKey has no attribute {name!r}")
        return Key(f"{prefix.lower()}.{rest.lower()}")


class PassConfigKey(metaclass=_Keys):
    """Names of pass options, for example PassConfigKey.TL_ENABLE_FAST_MATH."""


def check_pass_configs(configs: Mapping[Any, Any] | None) -> None:
    """Warns about keys that no TileLang defines: they are most likely misspelt."""
    for key in configs or {}:
        text = str(getattr(key, "value", key))
        if not text.startswith(KNOWN_PREFIXES):
            warnings.warn(f"pass option {text!r} is not known and has no effect", stacklevel=4)


#: Pass options with a meaning here, and the stages that a value switches off.
AUTO_SLOTS = "npuir.enable_auto_multi_buffer"
MANUAL_SYNC = "npuir.disable_hivm_auto_inject_sync"


def with_pass_configs(
    settings: CompileSettings, configs: Mapping[Any, Any] | None
) -> CompileSettings:
    """The settings of one kernel: its pass options may leave slots or order to the author."""
    given = {str(getattr(k, "value", k)): v for k, v in (configs or {}).items()}
    disable = settings.disable
    if not given.get(AUTO_SLOTS, True):
        disable = (*disable, "pipeline")
    manual = bool(given.get(MANUAL_SYNC, False))
    return replace(settings, disable=disable, manual_sync=manual)


def output_positions(out_idx: Any, count: int) -> tuple[int, ...]:
    """`out_idx` as positions from the front; raises ValueError for one out of range."""
    if out_idx is None:
        return ()
    indices = list(out_idx) if isinstance(out_idx, (list, tuple)) else [out_idx]
    found = []
    for index in indices:
        if not hasattr(index, "__index__"):
            raise ValueError(f"out_idx holds {index!r}; positions of parameters are integers")
        position = index.__index__()
        if not -count <= position < count:
            raise ValueError(
                f"out_idx {position} is out of range: the kernel has {count} parameters "
                f"(allowed are {-count} to {count - 1})"
            )
        found.append(position % count)
    if len(set(found)) != len(found):
        raise ValueError(f"out_idx {list(indices)} names a parameter twice")
    return tuple(found)
