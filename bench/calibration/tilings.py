# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels whose times are published with their tilings, by name.

Shapes, tilings and the order of the work are facts from the sources that rows.csv names; the
programs are written here. Chips: `a2` is the 910B1 of the asc-devkit samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from gemm import Gemm
from grouped import Grouped
from vector import Add, BankAdd, Copy, Scatter


class Program(Protocol):
    """Anything that writes a module of the npu dialect."""

    def text(self) -> str: ...


@dataclass(frozen=True)
class Kernel:
    """A program on a chip.

    A product on one core takes minutes of the chip's time and repeats itself tile column by tile
    column. Such a kernel is run over the first and over the second number of columns of
    `extrapolated`; the difference, per column, stands for the rest.
    """

    chip: str
    program: Program
    extrapolated: tuple[int, int] | None = None
    #: Constants that do not apply: the source times a loop inside of a kernel, without its start.
    constants: tuple[str, ...] = ()

    def texts(self) -> list[str]:
        if not self.extrapolated:
            return [self.program.text()]
        return [self.program.text(columns) for columns in self.extrapolated]

    def combine(self, values: list[float]) -> float:
        """One figure (cycles or busy cycles) from those of `texts`."""
        if not self.extrapolated:
            return values[0]
        first, second = self.extrapolated
        slope = (values[1] - values[0]) / (second - first)
        return values[0] + slope * (self.program.n - first)


def _ladder(
    family: str, chip: str, norm: Gemm, grid: Gemm, deep: Gemm, narrow: tuple[int, int]
) -> dict[str, Kernel]:
    """The samples' steps: one core, uneven and even shares, deeper tiles in L1, two parts that fit
    the L2, unit flags. `narrow` is the share of a core in step 2."""
    halves = replace(deep, single=(1024, deep.single[1]), parts=2)
    programs = {
        "1": norm,
        "2": replace(grid, single=narrow),
        "3": grid,
        "4": replace(deep, steps=(2, 4)),
        "5": deep,
        "6": halves,
        "7": halves,
        "8": replace(halves, unit_flag=True),
        "basic": replace(deep, unit_flag=True),
        "basic_halves": replace(halves, unit_flag=True),
    }
    kernels = {f"{family}_{case}": Kernel(chip, program) for case, program in programs.items()}
    kernels[f"{family}_1"] = replace(kernels[f"{family}_1"], extrapolated=(512, 1024))
    small = replace(norm, base=(64, 64, 64))
    kernels[f"{family}_0"] = Kernel(chip, small, extrapolated=(64, 128))
    return kernels


def _a2_gemm() -> dict[str, Kernel]:
    """8192^3 on 24 cores of a 910B1: the asc-devkit matmul samples."""
    side = 8192
    norm = Gemm(side, side, side, (128, 256, 64), (side, side), 1, buffers=1)
    grid = replace(norm, single=(2048, 1536), cores=24)
    deep = replace(grid, steps=(8, 4), buffers=2)
    return _ladder("gemm_a2", "910b1", norm, grid, deep, narrow=(4096, 683))


def _950_gemm() -> dict[str, Kernel]:
    """The same on 32 cores of a 950PR."""
    side = 8192
    norm = Gemm(side, side, side, (256, 256, 64), (side, side), 1, buffers=1)
    grid = replace(norm, single=(2048, 1024), cores=32)
    deep = replace(grid, steps=(4, 4), buffers=2)
    return _ladder("gemm_950", "950pr", norm, grid, deep, narrow=(4096, 512))


def _pto_gemm() -> dict[str, Kernel]:
    """Square products on one die of an A3: a 4 x 6 grid, f32 out, tiles along the rows."""
    kernels = {}
    for side in (1536, 3072, 4608, 6144, 7680, 9216):
        gemm = Gemm(
            side,
            side,
            side,
            (128, 256, 64),
            (side // 4, side // 6),
            24,
            steps=(4, 4),
            out="f32",
            down_first=False,
        )
        kernels[f"gemm_a3_{side}"] = Kernel("a3", gemm)
    # The product of the fused all-reduce: 43 x 6 tiles in runs.
    runs = Gemm(
        5504, 1536, 6144, (128, 256, 64), (0, 0), 24, steps=(4, 4), down_first=False, chunked=True
    )
    kernels["gemm_a3_runs"] = Kernel("a3", runs)
    kernels["gemm_950_runs"] = Kernel("950pr", runs)
    # Predictions of interest on other chips: tiles dealt out in groups of six columns.
    for chip in ("910b2", "910b3", "a3"):
        cores = 20 if chip == "910b3" else 24
        for side in (4096, 8192):
            dealt = Gemm(
                side,
                side,
                side,
                (128, 256, 64),
                (0, 0),
                cores,
                steps=(4, 4),
                transposed_b=False,
                dealt=6,
            )
            kernels[f"gemm_{chip}_{side}_dealt"] = Kernel(chip, dealt)
    return kernels


def _copies() -> dict[str, Kernel]:
    """The asc-devkit copy sample."""
    side = 12288
    kernels = {}
    for name, chip, vectors, cubes, shared_rows in (
        ("a2", "910b1", 48, 24, 6144),
        ("950", "950pr", 64, 32, 8192),
    ):
        ub = {
            "1x64": Copy(side, side, (1, 64), vectors),
            "64x64": Copy(side, side, (64, 64), vectors),
            "64x1024": Copy(side, side, (64, 1024), vectors),
            "unaligned": Copy(side, side - 1, (64, 1024), vectors),
            "whole_x4": Copy(side, side, (64, 1024), vectors, times=4),
            "slices_x4": Copy(side, side, (64, 1024), vectors, slices=4, times=4),
            "same": Copy(shared_rows, 512, (128, 64), vectors, shared="same"),
            "staggered": Copy(shared_rows, 512, (128, 64), vectors, shared="staggered"),
        }
        l1 = {
            "64x64": Copy(side, side, (64, 64), cubes, to_l1=True),
            "64x256": Copy(side, side, (64, 256), cubes, to_l1=True),
            "unaligned": Copy(side, side - 1, (64, 256), cubes, to_l1=True),
            "whole_x4": Copy(side, side, (64, 1024), cubes, to_l1=True, times=4),
            "slices_x4": Copy(side, side, (64, 1024), cubes, to_l1=True, slices=4, times=4),
            "same": Copy(shared_rows, 512, (256, 64), cubes, to_l1=True, shared="same"),
            "staggered": Copy(shared_rows, 512, (256, 64), cubes, to_l1=True, shared="staggered"),
        }
        for place, programs in (("ub", ub), ("l1", l1)):
            for case, program in programs.items():
                kernels[f"copy_{place}_{name}_{case}"] = Kernel(chip, program)
    return kernels


def _adds() -> dict[str, Kernel]:
    """The asc-devkit add sample: X + Y of 8192 x 8192 f16."""
    kernels = {}
    for name, chip, cores, large, apart in (
        ("a2", "910b1", 48, 16384, 16256),
        ("950", "950pr", 64, 21760, 21632),
    ):
        one = Add(8192, 8192, 1, 4096)
        many = replace(one, cores=cores)
        double = replace(many, length=large, buffers=2)
        programs = {
            "1": one,
            "2": many,
            "3": replace(many, length=large),
            "4": double,
            "5": replace(double, bypass_l2=True),
            "6": replace(double, length=apart, bypass_l2=True),
        }
        for case, program in programs.items():
            kernels[f"add_{name}_{case}"] = Kernel(chip, program)
    return kernels


def _banks() -> dict[str, Kernel]:
    """1000 additions of 4096 f32 on one core, and rows written as columns on 48."""
    places = {
        "1": (0x0, 0x10100, 0x20000),
        "2": (0x0, 0x4000, 0x10000),
        "3": (0x0, 0x10000, 0x14100),
        "4": (0x0, 0x10100, 0x4000),
        "5": (0x0, 0x10100, 0x4020),
        "6": (0x0, 0x10100, 0x10100),
        "8": (0x0, 0x10100, 0x10100),
    }
    kernels = {}
    for case, (x, y, z) in places.items():
        program = BankAdd(1000, 4096, x, y, z, repeated_block=case == "8")
        kernels[f"banks_{case}"] = Kernel("910b1", program, constants=("prologue=0",))
    for pitch in (144, 145):
        program = Scatter(8192, 8192, (144, 128), (6, 8), pitch)
        kernels[f"scatter_a2_{pitch}"] = Kernel("910b1", program)
    return kernels


def _grouped() -> dict[str, Kernel]:
    """The asc-devkit grouped product with dequantisation and GELU."""
    kernels = {}
    for name, chip, rows, cores in (("a2", "910b1", 128, 24), ("950", "950pr", 256, 32)):
        steps = (1024 // rows, 4)
        for case, depth, vectors in (("1_1", 1, 1), ("1_2", 1, 2), ("1_2_deep", 4, 2)):
            base = (rows, 256, 128)
            program = Grouped(
                8192, 8192, 1024, 8, base, 1024, cores, depth, vectors, vector_rows=24, steps=steps
            )
            kernels[f"grouped_{name}_{case}"] = Kernel(chip, program)
    return kernels


KERNELS: dict[str, Kernel] = {
    **_a2_gemm(),
    **_950_gemm(),
    **_pto_gemm(),
    **_copies(),
    **_adds(),
    **_banks(),
    **_grouped(),
}
