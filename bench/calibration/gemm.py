# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products of one tiling each, on cube cores alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from npu_text import Function, Index, Tensor, box, module

#: First flag ids of the L1 stages of A and of B; the second slot has the next id.
A_FLAG, B_FLAG = 0, 2


@dataclass(frozen=True)
class Gemm:
    """C[m, n] = A[m, k] . B, f16 in and f32 sums.

    Every core has `single` rows and columns of C and walks over them in `base` tiles of L0. `steps`
    tiles along k make one load of A and of B; each has `buffers` such stages in L1.
    """

    m: int
    n: int
    k: int
    base: tuple[int, int, int]
    single: tuple[int, int]
    cores: int
    steps: tuple[int, int] = (1, 1)
    buffers: int = 2
    out: str = "f16"
    #: B is stored [n, k], else [k, n].
    transposed_b: bool = True
    #: Tiles of a core go down the columns of C first, else along the rows.
    down_first: bool = True
    #: Parts of the rows of C that all cores work on one after the other.
    parts: int = 1
    #: Fixpipe and product take turns by 512-byte blocks instead of by tiles.
    unit_flag: bool = False
    #: Tiles are dealt to the cores in turn, in groups of so many tile columns; 0: each core has a
    #: block of C.
    dealt: int = 0
    #: Each core has a run of tiles along the rows, every other row backwards, and finishes one
    #: before it starts the next.
    chunked: bool = False

    def text(self, columns: int | None = None) -> str:
        """The kernel; with `columns` it stops after so many columns of C."""
        return _Writer(self, columns or self.n).write()


class _Writer:
    def __init__(self, gemm: Gemm, columns: int) -> None:
        self.gemm = gemm
        self.columns = columns
        b_shape = (gemm.n, gemm.k) if gemm.transposed_b else (gemm.k, gemm.n)
        self.a = Tensor("%A", (gemm.m, gemm.k), "f16")
        self.b = Tensor("%B", b_shape, "f16")
        self.c = Tensor("%C", (gemm.m, gemm.n), gemm.out)
        self.f = Function("aic", [self.a, self.b, self.c])

    def write(self) -> str:
        gemm, f = self.gemm, self.f
        base_m, base_n, base_k = gemm.base
        depth_a, depth_b = base_k * gemm.steps[0], base_k * gemm.steps[1]
        b_tile = (base_n, depth_b) if gemm.transposed_b else (depth_b, base_n)
        self.a1 = f.alloc("a1", "l1", (base_m, depth_a), "f16", gemm.buffers)
        self.b1 = f.alloc("b1", "l1", b_tile, "f16", gemm.buffers)
        self.acc = f.alloc("acc", "l0c", (base_m, base_n), "f32")
        for flag in (A_FLAG, B_FLAG):
            for slot in range(gemm.buffers):
                f.set_flag("MTE1", "MTE2", flag + slot)
        f.set_flag("FIX", "M", 0)
        core = f.core_id()
        with f.when("slt", core, gemm.cores):
            f.line(f"npu.begin_block {f.value(core)}")
            if gemm.dealt:
                self.deal(core)
            elif gemm.chunked:
                self.chunk(core)
            else:
                for part in range(gemm.parts):
                    self.block(core, part)
        f.wait_flag("FIX", "M", 0)
        for flag in (A_FLAG, B_FLAG):
            for slot in range(gemm.buffers):
                f.wait_flag("MTE1", "MTE2", flag + slot)
        return module([f])

    def block(self, core: Index, part: int) -> None:
        """One contiguous block of C, cores numbered down the columns of the grid."""
        gemm, f = self.gemm, self.f
        base_m, base_n, _ = gemm.base
        rows, columns = gemm.single
        part_rows = gemm.m // gemm.parts
        grid = -(-part_rows // rows)
        first_row = f.at(f"d0 mod {grid} * {rows} + {part * part_rows}", core)
        first_column = f.at(f"d0 floordiv {grid} * {columns}", core)
        last_row = f.smaller(f.at(f"d0 + {rows}", first_row), (part + 1) * part_rows)
        last_column = f.smaller(f.at(f"d0 + {columns}", first_column), self.columns)
        over_rows, over_columns = (first_row, last_row, base_m), (first_column, last_column, base_n)
        outer, inner = (over_columns, over_rows) if gemm.down_first else (over_rows, over_columns)
        with f.loop(*outer) as i, f.loop(*inner) as j:
            row, column = (j, i) if gemm.down_first else (i, j)
            self.tile(row, column, last_row, last_column)

    def deal(self, core: Index) -> None:
        """Tiles in turn, row by row within groups of `dealt` tile columns."""
        gemm, f = self.gemm, self.f
        base_m, base_n, _ = gemm.base
        down, across = -(-gemm.m // base_m), -(-gemm.n // base_n)
        whole = across // gemm.dealt * gemm.dealt  #: tile columns in full groups
        for first, width in ((0, gemm.dealt), (whole, across - whole)):
            begin, count = down * first, down * (whole if first == 0 else width)
            if not width or not count:
                continue
            lead = f.at(f"({gemm.cores} + d0 - {begin % gemm.cores}) mod {gemm.cores}", core)
            with f.loop(lead, count, gemm.cores) as turn:
                group = f"d0 floordiv {down * width} * {width}"
                row = f.at(f"(d0 mod {down * width}) floordiv {width} * {base_m}", turn)
                column = f.at(f"({group} + d0 mod {width} + {first}) * {base_n}", turn)
                self.tile(row, column, gemm.m, gemm.n)

    def chunk(self, core: Index) -> None:
        """A run of tiles, rows back and forth."""
        gemm, f = self.gemm, self.f
        base_m, base_n, _ = gemm.base
        across = -(-gemm.n // base_n)
        count = -(-gemm.m // base_m) * across
        share = -(-count // gemm.cores)
        first = f.at(f"d0 * {share}", core)
        last = f.smaller(f.at(f"d0 + {share}", first), count)
        with f.loop(first, last) as turn:
            row = f.at(f"d0 floordiv {across} * {base_m}", turn)
            place = f.at(f"d0 mod {across}", turn)
            is_odd = f.at(f"d0 floordiv {across} mod 2", turn)
            back = f.times(is_odd, f.at(f"{across - 1} - 2 * d0", place))
            column = f.at(f"(d0 + d1) * {base_n}", place, back)
            self.tile(row, column, gemm.m, gemm.n)
            f.barrier("All")

    def tile(self, row: Index, column: Index, last_row: Index, last_column: Index) -> None:
        """One tile of C over all of k; the last ones of a block may be smaller."""
        gemm, f = self.gemm, self.f
        base_m, base_n, base_k = gemm.base
        m = f.smaller(base_m, f.at("d0 - d1", last_row, row))
        n = f.smaller(base_n, f.at("d0 - d1", last_column, column))
        depth_a, depth_b = base_k * gemm.steps[0], base_k * gemm.steps[1]
        deep, shallow = max(depth_a, depth_b), min(depth_a, depth_b)
        f.wait_flag("FIX", "M", 0)
        with f.loop(0, gemm.k, deep) as k:
            if depth_a == deep:
                self.load_a(row, k, m)
            if depth_b == deep:
                self.load_b(column, k, n)
            if deep == shallow:
                self.product(m, n, k, 0, 0, shallow)
                self.free(A_FLAG, self.a1)
                self.free(B_FLAG, self.b1)
            else:
                with f.loop(0, deep, shallow) as inner:
                    at = f.at("d0 + d1", k, inner)
                    if depth_a == shallow:
                        self.load_a(row, at, m)
                        self.product(m, n, at, 0, inner, shallow)
                        self.free(A_FLAG, self.a1)
                    else:
                        self.load_b(column, at, n)
                        self.product(m, n, at, inner, 0, shallow)
                        self.free(B_FLAG, self.b1)
                self.free(*((A_FLAG, self.a1) if depth_a == deep else (B_FLAG, self.b1)))
        f.set_flag("M", "FIX", 0, unit=gemm.unit_flag)
        f.wait_flag("M", "FIX", 0)
        f.fixpipe(box(self.c, (row, column), (m, n)), box(self.acc, (0, 0), (m, n)))
        f.set_flag("FIX", "M", 0, unit=gemm.unit_flag)

    @contextmanager
    def filled(self, flag: int, stage: Tensor) -> Iterator[None]:
        """Around the load of a stage: not before the last product has read it."""
        f, rotate = self.f, stage if stage.slots > 1 else None
        if rotate:
            f.advance(stage)
        f.wait_flag("MTE1", "MTE2", flag, rotate)
        yield
        f.set_flag("MTE2", "MTE1", flag, rotate)
        f.wait_flag("MTE2", "MTE1", flag, rotate)

    def free(self, flag: int, stage: Tensor) -> None:
        self.f.set_flag("MTE1", "MTE2", flag, stage if stage.slots > 1 else None)

    def load_a(self, row: Index, k: Index, m: Index) -> None:
        depth = self.gemm.base[2] * self.gemm.steps[0]
        with self.filled(A_FLAG, self.a1):
            self.f.load(box(self.a1, (0, 0), (m, depth)), box(self.a, (row, k), (m, depth)))

    def load_b(self, column: Index, k: Index, n: Index) -> None:
        depth = self.gemm.base[2] * self.gemm.steps[1]
        if self.gemm.transposed_b:
            source, sizes = (column, k), (n, depth)
        else:
            source, sizes = (k, column), (depth, n)
        with self.filled(B_FLAG, self.b1):
            self.f.load(box(self.b1, (0, 0), sizes), box(self.b, source, sizes))

    def product(self, m: Index, n: Index, k: Index, a_at: Index, b_at: Index, depth: int) -> None:
        """Adds the product of `depth` along k, from the given places of both stages."""
        f = self.f
        first = f.compare("eq", k, 0)
        if self.gemm.transposed_b:
            b = box(self.b1, (0, b_at), (n, depth))
        else:
            b = box(self.b1, (b_at, 0), (depth, n))
        a = box(self.a1, (0, a_at), (m, depth))
        f.mmad(box(self.acc, (0, 0), (m, n)), a, b, first, self.gemm.transposed_b)
