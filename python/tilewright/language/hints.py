# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that only advise a GPU compiler: accepted, without effect."""

from __future__ import annotations

from typing import Any

from .buffer import operand
from .builder import current
from .expr import to_value


def _ignore(*_: Any, **__: Any) -> None:
    """A hint; it has no effect."""


#: Hints that are statements.
NAMES = (
    "use_swizzle",
    "annotate_layout",
    "annotate_padding",
    "annotate_l2_hit_ratio",
    "annotate_min_blocks_per_sm",
    "annotate_restrict_buffers",
    "annotate_compile_flags",
    "annotate_pass_configs",
    "annotate_consumer_reg_alloc",
    "annotate_producer_reg_dealloc",
    "disable_warp_group_reg_alloc",
    "set_max_nreg",
    "inc_max_nreg",
    "dec_max_nreg",
    "no_set_max_nreg",
    "pdl_sync",
    "pdl_trigger",
    "assume",
    "sync_threads",
    "fence_proxy_async",
    "reads",
    "writes",
)


def hint(name: str) -> Any:
    """The function behind a hint's name."""
    return _ignore


class GemmWarpPolicy:
    """How warps share a product on a GPU; ignored."""

    Square = 0
    FullRow = 1
    FullCol = 2

    @staticmethod
    def from_warp_partition(*_: Any) -> int:
        return 0


class Layout:
    """A GPU memory layout; can be made and passed to T.annotate_layout, has no effect."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.arguments = arguments

    def __call__(self, *_: Any) -> None:
        return None

    def repeat(self, *_: Any, **__: Any) -> Layout:
        return self

    def replicate(self, *_: Any, **__: Any) -> Layout:
        return self

    def inverse(self) -> Layout:
        return self


class Fragment(Layout):
    """A GPU register layout; has no effect."""


class attr:
    """`with T.attr(...)`: unknown keys are hints."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.arguments = arguments

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def annotate_safe_value(values: dict[Any, Any]) -> None:
    """Gives the value of out-of-bounds reads of tensors: `T.annotate_safe_value({A: 1.0})`."""
    for buffer, value in values.items():
        current().core.set_pad(operand(buffer).buffer, to_value(value))
