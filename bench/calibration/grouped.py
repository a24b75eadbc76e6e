# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The grouped int8 product whose vector cores scale the sums and apply GELU."""

from __future__ import annotations

from dataclasses import dataclass

from npu_text import Box, Function, Index, Tensor, box, module, whole

#: Cube to vector: a tile is in the workspace. Vector to cube: it has been read.
READY, TAKEN = 5, 3
#: Columns of 32 bytes, in which the weights are stored.
C0 = 32


@dataclass(frozen=True)
class Grouped:
    """y[m, n] = gelu(x[m, k] . w[group, k, n] * scale[group, n] * token_scale[m]) in f16.

    Tiles of `base` go through a workspace of `depth` slots. A block is one tile row and `single_n`
    columns; blocks are dealt to the cores in turn over all groups. x and w come in loads of `steps`
    tiles along k; x stays in L1 for a block when one load is all of k.
    """

    m: int
    n: int
    k: int
    groups: int
    base: tuple[int, int, int]
    single_n: int
    cores: int
    depth: int
    #: Vector cores that share a tile, and rows that each takes at a time.
    vectors: int
    vector_rows: int
    steps: tuple[int, int] = (8, 4)

    def text(self) -> str:
        arguments = [
            Tensor("%X", (self.m, self.k), "i8"),
            Tensor("%W", (self.groups, self.n // C0, self.k, C0), "i8"),
            Tensor("%S", (self.groups, self.n), "f32"),
            Tensor("%T", (self.m,), "f32"),
            Tensor("%Y", (self.m, self.n), "f16"),
        ]
        return module([self.cube(arguments), self.vector(arguments)])

    @property
    def count(self) -> int:
        """Blocks of the launch."""
        return self.m // self.base[0] * (self.n // self.single_n)

    def place(self, f: Function, block: Index) -> tuple[Index, Index, Index]:
        """First row, group and first column of a block."""
        across = self.n // self.single_n
        row = f.at(f"d0 floordiv {across} * {self.base[0]}", block)
        group = f.at(f"d0 floordiv {self.m // self.groups}", row)
        return row, group, f.at(f"d0 mod {across} * {self.single_n}", block)

    def cube(self, arguments: list[Tensor]) -> Function:
        f = Function("aic", arguments)
        x, w = arguments[0], arguments[1]
        base_m, base_n, base_k = self.base
        depth_x, depth_w = base_k * self.steps[0], base_k * self.steps[1]
        stays = depth_x == self.k
        a1 = f.alloc("a1", "l1", (base_m, depth_x), "i8", 2)
        # The load sees the columns of the stored form, the product a matrix; both are one place.
        sizes = (base_n // C0, depth_w, C0)
        b1 = f.alloc("b1", "l1", sizes, "i8", 2)
        matrix = f.alloc("b1_matrix", "l1", (depth_w, base_n), "i8", 2, 2 * base_m * depth_x)
        acc = f.alloc("acc", "l0c", (base_m, base_n), "i32")
        out = f.alloc("out", "workspace", (base_m, base_n), "i32", self.depth)
        for flag in (0, 1, 2, 3):
            f.set_flag("MTE1", "MTE2", flag)
        f.set_flag("FIX", "M", 0)

        def load(flag: int, stage: Tensor, target: Box, source: Box) -> None:
            f.wait_flag("MTE1", "MTE2", flag, stage)
            f.load(target, source)
            f.set_flag("MTE2", "MTE1", flag, stage)
            f.wait_flag("MTE2", "MTE1", flag, stage)

        core = f.core_id()
        with f.when("slt", core, self.cores), f.loop(core, self.count, self.cores) as block:
            f.line(f"npu.begin_block {f.value(block)}")
            row, group, column = self.place(f, block)
            if stays:
                f.advance(a1)
                load(0, a1, whole(a1), box(x, (row, 0), (base_m, depth_x)))
            with f.loop(0, self.single_n, base_n) as inner:
                chunk = f.at(f"(d0 + d1) floordiv {C0}", column, inner)
                f.wait_flag("FIX", "M", 0)
                with f.loop(0, self.k, depth_w) as k:
                    if not stays:
                        f.advance(a1)
                        load(0, a1, whole(a1), box(x, (row, k), (base_m, depth_x)))
                    f.advance(b1)
                    f.advance(matrix)
                    load(2, b1, whole(b1), box(w, (group, chunk, k, 0), (1, *sizes)))
                    a_box = box(a1, (0, k if stays else 0), (base_m, depth_w))
                    f.mmad(whole(acc), a_box, whole(matrix), f.compare("eq", k, 0))
                    f.set_flag("MTE1", "MTE2", 2, b1)
                    if not stays:
                        f.set_flag("MTE1", "MTE2", 0, a1)
                f.set_flag("M", "FIX", 0, unit=True)
                f.wait_flag("M", "FIX", 0)
                f.advance(out)
                f.block_wait("FIX", TAKEN)
                f.fixpipe(whole(out), whole(acc))
                f.block_set("FIX", READY)
                f.set_flag("FIX", "M", 0, unit=True)
            if stays:
                f.set_flag("MTE1", "MTE2", 0, a1)
        for _ in range(self.depth):
            f.block_wait("FIX", TAKEN)
        f.wait_flag("FIX", "M", 0)
        for flag in (0, 1, 2, 3):
            f.wait_flag("MTE1", "MTE2", flag)
        return f

    def vector(self, arguments: list[Tensor]) -> Function:
        f = Function("aiv", arguments)
        scale, token_scale, y = arguments[2:]
        base_m, base_n, _ = self.base
        rows = self.vector_rows
        tile = (rows, base_n)
        out = f.alloc("out", "workspace", (base_m, base_n), "i32", self.depth)
        sums = f.alloc("sums", "ub", tile, "i32", 2)
        result = f.alloc("result", "ub", tile, "f16", 2)
        columns = f.alloc("columns", "ub", (base_n,), "f32", 2)
        tokens = f.alloc("tokens", "ub", (rows,), "f32", 2)
        p, q, r, s = (f.alloc(name, "ub", tile, "f32") for name in "pqrs")
        tiles = (out, sums, result, columns, tokens, p, q, r, s)
        for slot in (0, 1):
            f.set_flag("V", "MTE2", slot)
            f.set_flag("MTE3", "V", slot)
            f.set_flag("V", "MTE2", 2 + slot)
        # The first `depth` tiles find the workspace empty.
        for _ in range(self.depth):
            f.block_set("MTE2", TAKEN)
        core = f.core_id()
        sub = f.sub_core_id()
        with f.when("slt", core, self.cores), f.loop(core, self.count, self.cores) as block:
            row, group, column = self.place(f, block)
            with f.loop(0, self.single_n, base_n) as inner:
                at = f.at("d0 + d1", column, inner)
                f.advance(out)
                with f.when("slt", sub, self.vectors):
                    f.advance(columns)
                    f.wait_flag("V", "MTE2", 2, columns)
                    f.load(whole(columns), box(scale, (group, at), (1, base_n)))
                f.block_wait("MTE2", READY)
                with f.when("slt", sub, self.vectors):
                    f.set_flag("MTE2", "V", 2, columns)
                    f.wait_flag("MTE2", "V", 2, columns)
                    start = f.at(f"d0 * {rows}", sub)
                    with f.loop(start, base_m, rows * self.vectors) as part:
                        self.rows(f, part, row, at, tiles, token_scale, y)
                    f.set_flag("V", "MTE2", 2, columns)
                f.block_set("MTE2", TAKEN)
        for slot in (0, 1):
            f.wait_flag("V", "MTE2", slot)
            f.wait_flag("MTE3", "V", slot)
            f.wait_flag("V", "MTE2", 2 + slot)
        return f

    def rows(
        self,
        f: Function,
        part: Index,
        row: Index,
        column: Index,
        tiles: tuple[Tensor, ...],
        token_scale: Tensor,
        y: Tensor,
    ) -> None:
        """Some rows of a tile: scales, GELU as r / (1 + exp(-1.702 r)), f16."""
        out, sums, result, columns, tokens, p, q, r, s = tiles
        base_m, base_n, _ = self.base
        count = f.smaller(self.vector_rows, f.at(f"{base_m} - d0", part))
        here = f.at("d0 + d1", row, part)
        size = (count, base_n)

        def cut(tile: Tensor):
            return box(tile, (0, 0), size)

        both = [(0, 1), (0, 1)]
        for tile in (sums, tokens, result):
            f.advance(tile)
        f.wait_flag("V", "MTE2", 0, sums)
        f.load(cut(sums), box(out, (part, 0), size))
        f.load(box(tokens, (0,), (count,)), box(token_scale, (here,), (count,)))
        f.set_flag("MTE2", "V", 0, sums)
        f.wait_flag("MTE2", "V", 0, sums)
        f.elementwise("copy", [cut(q), box(tokens, (0,), (count,))], [(0, 1), (0,)])
        f.barrier("V")
        f.elementwise("cast", [cut(p), cut(sums)], both)
        f.barrier("V")
        f.set_flag("V", "MTE2", 0, sums)
        f.elementwise("mul", [cut(p), cut(p), whole(columns)], [(0, 1), (0, 1), (1,)])
        f.barrier("V")
        f.elementwise("mul", [cut(r), cut(p), cut(q)], [(0, 1)] * 3)
        for fn, target, sources in (
            ("mul", p, (r, "-1.702")),
            ("exp", p, (p,)),
            ("add", p, (p, "1.0")),
            ("div", s, (r, p)),
        ):
            f.barrier("V")
            if isinstance(sources[-1], str):
                f.scaled(fn, cut(target), cut(sources[0]), sources[1])
            else:
                parts = [cut(target), *map(cut, sources)]
                f.elementwise(fn, parts, [(0, 1)] * len(parts))
        f.wait_flag("MTE3", "V", 0, sums)
        f.barrier("V")
        f.elementwise("cast", [cut(result), cut(s)], both)
        f.set_flag("V", "MTE3", 0, sums)
        f.wait_flag("V", "MTE3", 0, sums)
        f.store(box(y, (here, column), size), cut(result))
        f.set_flag("MTE3", "V", 0, sums)
