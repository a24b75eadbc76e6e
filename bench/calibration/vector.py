# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies out of global memory, the sum of two matrices, additions with bank conflicts."""

from __future__ import annotations

from dataclasses import dataclass

from npu_text import Function, Index, Tensor, box, module, whole


@dataclass(frozen=True)
class Copy:
    """Every core reads its rows of an f16 matrix into one buffer on chip, tile by tile."""

    rows: int
    columns: int
    tile: tuple[int, int]
    cores: int
    to_l1: bool = False
    #: The columns are cut into so many slices, each read `times` times in a row.
    slices: int = 1
    times: int = 1
    #: All cores read all rows, past the L2: in the same order, or each from a block of its own on.
    shared: str = ""

    def text(self) -> str:
        matrix = Tensor("%X", (self.rows, self.columns), "f16")
        f = Function("aic" if self.to_l1 else "aiv", [matrix])
        target = f.alloc("tile", "l1" if self.to_l1 else "ub", self.tile, "f16")
        core = f.core_id()
        single = self.rows // self.cores
        width = self.columns // self.slices
        with f.when("slt", core, self.cores):
            f.line(f"npu.begin_block {f.value(core)}")
            if self.shared:
                with f.loop(0, self.cores) as turn:
                    offset = "d1" if self.shared == "staggered" else "0"
                    first = f.at(f"(d0 + {offset}) mod {self.cores} * {single}", turn, core)
                    self.block(f, matrix, target, first, 0, self.columns)
            else:
                first = f.at(f"d0 * {single}", core)
                with f.loop(0, self.columns, width) as left, f.loop(0, self.times):
                    self.block(f, matrix, target, first, left, width)
        return module([f])

    def block(
        self, f: Function, matrix: Tensor, target: Tensor, first: Index, left: Index, width: int
    ) -> None:
        tile_rows, tile_columns = self.tile
        last = f.at(f"d0 + {self.rows // self.cores}", first)
        end = f.at(f"d0 + {width}", left)
        with f.loop(first, last, tile_rows) as row, f.loop(left, end, tile_columns) as column:
            size = f.smaller(tile_columns, f.at("d0 - d1", end, column))
            f.load(
                box(target, (0, 0), (tile_rows, size)),
                box(matrix, (row, column), (tile_rows, size)),
                bypass_l2=bool(self.shared),
            )


@dataclass(frozen=True)
class Add:
    """Z = X + Y of f16 matrices; each core takes whole rows, `length` elements at a time."""

    rows: int
    columns: int
    cores: int
    length: int
    buffers: int = 1
    bypass_l2: bool = False
    #: Byte addresses of the buffers of x, y and z where they matter.
    addresses: tuple[int, int, int] | None = None

    def text(self) -> str:
        total = self.rows * self.columns
        x, y, z = (Tensor(name, (total,), "f16") for name in ("%X", "%Y", "%Z"))
        f = Function("aiv", [x, y, z])
        places = self.addresses or (None, None, None)
        tiles = [
            f.alloc(name, "ub", (self.length,), "f16", self.buffers, place)
            for name, place in zip(("x", "y", "z"), places, strict=True)
        ]
        rotate = tiles[0] if self.buffers > 1 else None
        for slot in range(self.buffers):
            f.set_flag("V", "MTE2", slot)
            f.set_flag("MTE3", "V", slot)
        core = f.core_id()
        with f.when("slt", core, self.cores):
            f.line(f"npu.begin_block {f.value(core)}")
            base, rest = divmod(self.rows, self.cores)
            before = f.smaller(core, rest)
            next_core = f.at("d0 + 1", core)
            first = f.at(f"(d0 * {base} + d1) * {self.columns}", core, before)
            after = f.smaller(next_core, rest)
            last = f.at(f"(d0 * {base} + d1) * {self.columns}", next_core, after)
            with f.loop(first, last, self.length) as at:
                size = f.smaller(self.length, f.at("d0 - d1", last, at))
                if rotate:
                    for tile in tiles:
                        f.advance(tile)
                f.wait_flag("V", "MTE2", 0, rotate)
                for tile, source in zip(tiles, (x, y), strict=False):
                    f.load(box(tile, (0,), (size,)), box(source, (at,), (size,)), self.bypass_l2)
                f.set_flag("MTE2", "V", 0, rotate)
                f.wait_flag("MTE2", "V", 0, rotate)
                f.wait_flag("MTE3", "V", 0, rotate)
                order = (tiles[2], tiles[0], tiles[1])
                f.elementwise("add", [box(t, (0,), (size,)) for t in order], [(0,)] * 3)
                f.set_flag("V", "MTE2", 0, rotate)
                f.set_flag("V", "MTE3", 0, rotate)
                f.wait_flag("V", "MTE3", 0, rotate)
                f.store(box(z, (at,), (size,)), box(tiles[2], (0,), (size,)))
                f.set_flag("MTE3", "V", 0, rotate)
        for slot in range(self.buffers):
            f.wait_flag("V", "MTE2", slot)
            f.wait_flag("MTE3", "V", slot)
        return module([f])


@dataclass(frozen=True)
class BankAdd:
    """`count` additions of f32 tiles at fixed addresses of UB, back to back on one core."""

    count: int
    elements: int
    #: Byte addresses of z = x + y.
    x: int
    y: int
    z: int
    #: Every repeat reads one block of 32 bytes of x eight times over.
    repeated_block: bool = False

    def text(self) -> str:
        f = Function("aiv", [Tensor("%X", (self.elements,), "f32")])
        rows, lane, blocks = self.elements // 64, 8, 8
        shape = (rows, blocks, lane)
        y = f.alloc("y", "ub", shape, "f32", address=self.y)
        z = f.alloc("z", "ub", shape, "f32", address=self.z)
        x = f.alloc("x", "ub", shape, "f32", address=self.x)
        x_box, x_map = whole(x), (0, 1, 2)
        if self.repeated_block:
            x_box, x_map = box(x, (0, 0, 0), (rows, 1, lane)), (0, -1, 2)
        core = f.core_id()
        with f.when("eq", core, 0):
            f.line(f"npu.begin_block {f.value(core)}")
            with f.loop(0, self.count):
                f.elementwise("add", [whole(z), x_box, whole(y)], [(0, 1, 2), x_map, (0, 1, 2)])
        return module([f])


@dataclass(frozen=True)
class Scatter:
    """Rows of an f16 matrix to columns of 16 elements in UB, which leave as columns.

    Tiles of `tile` elements; `pitch` is the distance of two columns in UB in blocks of 32 bytes.
    """

    rows: int
    columns: int
    tile: tuple[int, int]
    grid: tuple[int, int]
    pitch: int

    def text(self) -> str:
        height, width = self.tile
        across = width // 16
        source = Tensor("%X", (self.rows, self.columns // 16, 16), "f16")
        target = Tensor("%Z", (self.columns // 16, self.rows, 16), "f16")
        f = Function("aiv", [source, target])
        rows = f.alloc("rows", "ub", (height, across, 16), "f16", 2)
        columns = f.alloc("columns", "ub", (across, self.pitch, 16), "f16", 2)
        for slot in range(2):
            f.set_flag("V", "MTE2", slot)
            f.set_flag("MTE3", "V", slot)
        down, side = self.grid
        tiles, rest = divmod(-(-self.rows // height), down)
        core = f.core_id()
        with f.when("slt", core, down * side):
            f.line(f"npu.begin_block {f.value(core)}")
            strip = f.at(f"d0 floordiv {side}", core)
            next_strip = f.at("d0 + 1", strip)
            first = f.at(f"(d0 * {tiles} + d1) * {height}", strip, f.smaller(strip, rest))
            last = f.at(f"(d0 * {tiles} + d1) * {height}", next_strip, f.smaller(next_strip, rest))
            last = f.smaller(last, self.rows)
            left = f.at(f"d0 mod {side} * {self.columns // side}", core)
            right = f.at(f"d0 + {self.columns // side}", left)
            with f.loop(first, last, height) as row, f.loop(left, right, width) as column:
                size = f.smaller(height, f.at("d0 - d1", last, row))
                f.advance(rows)
                f.advance(columns)
                f.wait_flag("V", "MTE2", 0, rows)
                block = f.at("d0 floordiv 16", column)
                sizes = (size, across, 16)
                f.load(box(rows, (0, 0, 0), sizes), box(source, (row, block, 0), sizes))
                f.set_flag("MTE2", "V", 0, rows)
                f.wait_flag("MTE2", "V", 0, rows)
                f.wait_flag("MTE3", "V", 0, rows)
                f.elementwise(
                    "copy",
                    [
                        box(columns, (0, 0, 0), (across, size, 16)),
                        box(rows, (0, 0, 0), (size, across, 16)),
                    ],
                    [(1, 0, 2), (0, 1, 2)],
                )
                f.set_flag("V", "MTE2", 0, rows)
                f.set_flag("V", "MTE3", 0, rows)
                f.wait_flag("V", "MTE3", 0, rows)
                f.store(
                    box(target, (block, row, 0), (across, size, 16)),
                    box(columns, (0, 0, 0), (across, size, 16)),
                )
                f.set_flag("MTE3", "V", 0, rows)
        for slot in range(2):
            f.wait_flag("V", "MTE2", slot)
            f.wait_flag("MTE3", "V", slot)
        return module([f])
