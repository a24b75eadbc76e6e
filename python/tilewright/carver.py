# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilelang.carver`: tile sizes to try, from the memories of the simulated chip.

A template names a computation; `recommend_hints` gives tilings that fit the chip, the one that
moves the least first. Tuning compares them by modelled time, so the order only decides what is
tried when `topk` is small.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .dtypes import dtype as as_dtype
from .errors import NotAvailableError
from .utils.npu_utils import NPUUtils, chip_info

__path__: list[str] = []

#: Copies of a streamed tile that are on the chip at once.
SLOTS = 2


class NoRasterization:
    """The order of blocks is the compiler's choice."""


class Arch:
    """The chip that tilings are made for; the name is another compiler's and has no effect."""

    def __init__(self, *_: Any, **__: Any) -> None:
        info = chip_info()
        self.core_count = int(info["aic_count"])
        self.ub_bytes = int(info["ub_bytes"])
        self.l1_bytes = int(info["l1_bytes"])
        self.l0c_bytes = int(info["l0c_bytes"])


CUDA = CDNA = CPU = Ascend = Arch


class driver:
    """Facts about the device under names of GPUs."""

    @staticmethod
    def get_num_sms(*_: Any) -> int:
        """Cores that run blocks at the same time."""
        return NPUUtils().get_aicube_core_num()


@dataclass(frozen=True)
class Hint:
    """One tiling: sizes of a block, and steps of the dimensions that are summed over."""

    block: list[int]
    rstep: list[int] = field(default_factory=list)
    pipeline_stage: int = SLOTS
    rasterization_plan: Any = NoRasterization

    @property
    def warp(self) -> list[int]:
        """Blocks are not divided any further."""
        return self.block


def _powers(least: int, most: int) -> list[int]:
    """Powers of two from `least` to the first that is at least `most`."""
    found = [least]
    while found[-1] < most:
        found.append(2 * found[-1])
    return found


class Template:
    """What the templates share. Subclasses give `(cost, hint)` pairs of tilings that fit."""

    arch: Arch | None = None

    def with_arch(self, arch: Any) -> Template:
        """Sets the chip; every architecture is the simulated one."""
        self.arch = arch if isinstance(arch, Arch) else Arch()
        return self

    def equivalent_function(self) -> Template:
        return self

    def recommend_hints(self, topk: int = 10) -> list[Hint]:
        """At most `topk` tilings that fit the chip's memories, the most promising first."""
        if self.arch is None:
            self.arch = Arch()
        found = sorted(self._candidates(self.arch), key=lambda pair: pair[0])
        return [hint for _, hint in found[:topk]]

    def _candidates(self, arch: Arch) -> Iterator[tuple[float, Hint]]:
        raise NotImplementedError


@dataclass
class MatmulTemplate(Template):
    """C[M, N] = A[M, K] . B[K, N]; `block` is [rows, columns], `rstep` [depth]."""

    M: int
    N: int
    K: int
    trans_A: bool = False
    trans_B: bool = True
    in_dtype: Any = "float16"
    out_dtype: Any = "float16"
    accum_dtype: Any = "float32"
    with_bias: bool = False

    def _candidates(self, arch: Arch) -> Iterator[tuple[float, Hint]]:
        element, total = as_dtype(self.in_dtype).bytes, as_dtype(self.accum_dtype).bytes
        for m, n, k in itertools.product(
            _powers(16, min(self.M, 256)),
            _powers(16, min(self.N, 256)),
            _powers(32, min(self.K, 256)),
        ):
            if m * n * total > arch.l0c_bytes or SLOTS * (m + n) * k * element > arch.l1_bytes:
                continue
            blocks = math.ceil(self.M / m) * math.ceil(self.N / n)
            rounds = math.ceil(blocks / arch.core_count)
            yield rounds * (m + n + math.ceil(self.K / k)) * self.K, Hint([m, n], [k])


@dataclass
class GEMVTemplate(Template):
    """y[N] = A[N, K] . x[K]; `block` is [rows], `rstep` [depth]."""

    N: int
    K: int
    trans_B: bool = True
    in_dtype: Any = "float16"
    out_dtype: Any = "float16"
    accum_dtype: Any = "float32"
    with_bias: bool = False

    def _candidates(self, arch: Arch) -> Iterator[tuple[float, Hint]]:
        element = as_dtype(self.in_dtype).bytes
        for n, k in itertools.product(
            _powers(16, min(self.N, 256)), _powers(64, min(self.K, 1024))
        ):
            if SLOTS * (n + 1) * k * element <= arch.ub_bytes // 2:
                rounds = math.ceil(math.ceil(self.N / n) / arch.core_count)
                yield rounds * (n + 32) * math.ceil(self.K / k), Hint([n], [k])


@dataclass
class ElementwiseTemplate(Template):
    """A tensor computed element by element; `block` has one size for each dimension."""

    shape: Sequence[int]
    dtype: Any = "float16"

    def _candidates(self, arch: Arch) -> Iterator[tuple[float, Hint]]:
        element = max(as_dtype(self.dtype).bytes, 4)  # narrow types are computed in 4 bytes
        for block in itertools.product(*(_powers(1, min(size, 1024)) for size in self.shape)):
            bytes_ = math.prod(block) * element
            if bytes_ > arch.ub_bytes // 8:  # operands and a result, twice
                continue
            blocks = math.prod(math.ceil(s / b) for s, b in zip(self.shape, block, strict=True))
            rounds = math.ceil(blocks / (2 * arch.core_count))
            yield rounds * (bytes_ + 4096 + 32 * (bytes_ / (block[-1] * element))), Hint([*block])


@dataclass
class GeneralReductionTemplate(Template):
    """A tensor reduced along the dimensions that `structure` marks with "R", kept along "S"."""

    structure: str
    shape: Sequence[int]
    dtype: Any = "float16"

    def _candidates(self, arch: Arch) -> Iterator[tuple[float, Hint]]:
        if len(self.structure) != len(self.shape) or set(self.structure) - {"S", "R"}:
            raise ValueError(
                f"error[E0816]: structure {self.structure!r} needs one letter S or R for each of "
                f"the {len(self.shape)} dimensions"
            )
        element = max(as_dtype(self.dtype).bytes, 4)
        for sizes in itertools.product(*(_powers(1, min(size, 1024)) for size in self.shape)):
            bytes_ = math.prod(sizes) * element
            if bytes_ > arch.ub_bytes // 6:
                continue
            kept = [b for b, letter in zip(sizes, self.structure, strict=True) if letter == "S"]
            steps = [b for b, letter in zip(sizes, self.structure, strict=True) if letter == "R"]
            turns = math.prod(math.ceil(s / b) for s, b in zip(self.shape, sizes, strict=True))
            yield math.ceil(turns / arch.core_count) * (bytes_ + 4096), Hint(kept, steps)


@dataclass
class FlashAttentionTemplate(Template):
    """Attention of `seq_length` queries over `seq_kv_length` keys; `block` is [queries, keys]."""

    batch_size: int = 1
    num_heads: int = 1
    head_dim: int = 128
    seq_length: int = 1024
    seq_kv_length: int = 1024
    is_causal: bool = False
    in_dtype: Any = "float16"
    out_dtype: Any = "float16"
    accum_dtype: Any = "float32"

    def _candidates(self, arch: Arch) -> Iterator[tuple[float, Hint]]:
        width, total = self.head_dim, as_dtype(self.accum_dtype).bytes
        for m, n in itertools.product(
            _powers(16, min(self.seq_length, 256)), _powers(16, min(self.seq_kv_length, 512))
        ):
            scores, sums = m * n * total, m * width * total
            if scores + sums > arch.l0c_bytes or 2 * scores + 2 * sums > 2 * arch.ub_bytes:
                continue
            turns = math.ceil(self.seq_length / m) * math.ceil(self.seq_kv_length / n)
            yield turns * (scores + sums + 16384), Hint([m, n], [width])


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotAvailableError(
        f"error[E0122]: tilelang.carver.{name} is not available; give the configurations to "
        "@tilelang.autotune(configs=[...]), which compares them by modelled time"
    )
