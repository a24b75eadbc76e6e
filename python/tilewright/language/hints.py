# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that only advise a GPU compiler: accepted, without effect."""

from __future__ import annotations

import itertools
import math
from typing import Any

from .buffer import operand
from .builder import current
from .expr import to_value

#: Elements of a layout that are looked at one by one.
MOST_CHECKED = 1 << 16


def _ignore(*_: Any, **__: Any) -> None:
    """A hint; it has no effect."""


#: Hints that are statements.
NAMES = (
    "use_swizzle",
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

    def clash(self) -> tuple[Any, Any, Any] | None:
        """Two indices with one place, and that place; None when the map is known to have none."""
        if len(self.arguments) < 2 or not callable(self.arguments[1]):
            return None
        shape, forward = self.arguments[:2]
        sizes = [shape] if isinstance(shape, int) else list(shape)
        if not all(isinstance(s, int) for s in sizes) or math.prod(sizes) > MOST_CHECKED:
            return None
        places: dict[Any, Any] = {}
        for index in itertools.product(*map(range, sizes)):
            try:
                found = forward(*index)
            except Exception:  # a map of run-time values
                return None
            place = tuple(found) if isinstance(found, (tuple, list)) else (found,)
            if places.setdefault(place, index) != index:
                return places[place], index, place
        return None

    def repeat(self, *_: Any, **__: Any) -> Layout:
        return self

    def replicate(self, *_: Any, **__: Any) -> Layout:
        return self

    def inverse(self) -> Layout:
        return self


class Fragment(Layout):
    """A GPU register layout; has no effect."""


def annotate_layout(layout_map: dict[Any, Any]) -> None:
    """A hint; but a layout that puts two elements of a tile in one place is refused."""
    for buffer, layout in layout_map.items():
        clash = layout.clash() if isinstance(layout, Layout) else None
        if clash is not None:
            one, two, place = clash
            raise ValueError(
                f"error[E0315]: T.annotate_layout: the layout of shared buffer `{buffer.name}` "
                f"must be injective; {one} and {two} both map to physical coordinates {place}"
            )


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
