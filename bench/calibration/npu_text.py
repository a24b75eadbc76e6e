# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes functions of the npu dialect as text.

A `Function` is the program of one kind of core; `module` puts a launch around one or two of them.
Index values are numbers or names of SSA values, and `at` builds one from an affine expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

Index = int | str
BYTES = {"i8": 1, "f16": 2, "f32": 4, "i32": 4}
#: Rows and columns of a buffer in these spaces are whole fractals.
FRACTAL_SPACES = ("l1", "l0c")


@dataclass(frozen=True)
class Tensor:
    """A buffer: a launch argument in global memory or an allocation on chip."""

    name: str  #: SSA name, with the %
    shape: tuple[int, ...]
    dtype: str
    space: str = "gm"
    slots: int = 1

    @property
    def type(self) -> str:
        sizes = "x".join(map(str, self.shape))
        return f"memref<{sizes}x{self.dtype}, #npu.space<{self.space}>>"

    @property
    def host_type(self) -> str:
        return f"memref<{'x'.join(map(str, self.shape))}x{self.dtype}>"


@dataclass(frozen=True)
class Box:
    """A part of a tensor: offsets and sizes count elements."""

    tensor: Tensor
    offsets: tuple[Index, ...]
    sizes: tuple[Index, ...]


def box(tensor: Tensor, offsets: Sequence[Index], sizes: Sequence[Index]) -> Box:
    return Box(tensor, tuple(offsets), tuple(sizes))


def whole(tensor: Tensor) -> Box:
    return Box(tensor, (0,) * len(tensor.shape), tensor.shape)


class Function:
    """The program of the AIC or of the AIVs."""

    def __init__(self, core: str, arguments: Sequence[Tensor]) -> None:
        self.core = core
        self.arguments = list(arguments)
        self.lines: list[str] = []
        self.constants: dict[int, str] = {}
        self.depth = 1
        self.count = 0
        self.used: dict[str, int] = {}  #: bytes taken per space

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def value(self, index: Index) -> str:
        """SSA name of an index."""
        if isinstance(index, str):
            return index
        return self.constants.setdefault(index, f"%c{index}")

    def at(self, expression: str, *inputs: Index) -> Index:
        """An affine expression over d0, d1 ... as an index."""
        result = self.fresh()
        dims = ", ".join(f"d{i}" for i in range(len(inputs)))
        names = ", ".join(self.value(i) for i in inputs)
        self.line(f"{result} = affine.apply affine_map<({dims}) -> ({expression})>({names})")
        return result

    def smaller(self, a: Index, b: Index) -> Index:
        result = self.fresh()
        self.line(f"{result} = arith.minsi {self.value(a)}, {self.value(b)} : index")
        return result

    def times(self, a: Index, b: Index) -> Index:
        result = self.fresh()
        self.line(f"{result} = arith.muli {self.value(a)}, {self.value(b)} : index")
        return result

    def core_id(self) -> Index:
        result = self.fresh()
        self.line(f"{result} = npu.core_id")
        return result

    def sub_core_id(self) -> Index:
        result = self.fresh()
        self.line(f"{result} = npu.sub_core_id")
        return result

    @contextmanager
    def loop(self, start: Index, end: Index, step: Index = 1) -> Iterator[str]:
        name = self.fresh()
        self.line(
            f"scf.for {name} = {self.value(start)} to {self.value(end)} step {self.value(step)} {{"
        )
        self.depth += 1
        yield name
        self.depth -= 1
        self.line("}")

    @contextmanager
    def when(self, predicate: str, a: Index, b: Index) -> Iterator[None]:
        """The body runs if `a predicate b` holds (eq, ne, slt, sge ...)."""
        condition = self.compare(predicate, a, b)
        self.line(f"scf.if {condition} {{")
        self.depth += 1
        yield
        self.depth -= 1
        self.line("}")

    def compare(self, predicate: str, a: Index, b: Index) -> str:
        result = self.fresh()
        self.line(f"{result} = arith.cmpi {predicate}, {self.value(a)}, {self.value(b)} : index")
        return result

    def alloc(
        self,
        name: str,
        space: str,
        shape: Sequence[int],
        dtype: str,
        slots: int = 1,
        address: int | None = None,
    ) -> Tensor:
        """A buffer at `address` (bytes), else behind those before it in its space."""
        extents = list(shape)
        if space in FRACTAL_SPACES:
            columns = 16 if space == "l0c" else 32 // BYTES[dtype]
            extents[-1] = -(-extents[-1] // columns) * columns
            extents[-2] = -(-extents[-2] // 16) * 16
        size = BYTES[dtype]
        for extent in extents:
            size *= extent
        if address is None:
            address = self.used.get(space, 0)
        self.used[space] = max(self.used.get(space, 0), address + slots * (-(-size // 32) * 32))
        tensor = Tensor(f"%{name}", tuple(shape), dtype, space, slots)
        self.line(
            f'{tensor.name} = npu.alloc "{name}" {{slots = {slots}, address = {address}}}'
            f" : {tensor.type}"
        )
        return tensor

    def advance(self, tensor: Tensor) -> None:
        self.line(f"npu.advance {tensor.name} : {tensor.type}")

    def boxes(self, *parts: Box) -> str:
        texts = []
        for part in parts:
            offsets = ", ".join(self.value(i) for i in part.offsets)
            sizes = ", ".join(self.value(i) for i in part.sizes)
            texts.append(f"{part.tensor.name}[{offsets}] [{sizes}] : {part.tensor.type}")
        return "(" + ", ".join(texts) + ")"

    def load(self, target: Box, source: Box, bypass_l2: bool = False) -> None:
        self.line(f"npu.load {self.boxes(target, source)}" + (" {bypass_l2}" if bypass_l2 else ""))

    def store(self, target: Box, source: Box) -> None:
        self.line(f"npu.store {self.boxes(target, source)}")

    def fixpipe(self, target: Box, source: Box) -> None:
        self.line(f"npu.fixpipe {self.boxes(target, source)}")

    def mmad(self, c: Box, a: Box, b: Box, init: str, transpose_b: bool = False) -> None:
        self.line(
            f"npu.mmad {self.boxes(c, a, b)} init {init}"
            + (" {transpose_b}" if transpose_b else "")
        )

    def elementwise(self, fn: str, parts: Sequence[Box], maps: Sequence[Sequence[int]]) -> None:
        """Applies `fn`; `maps` name for each box the dimensions of the domain that it follows."""
        texts = ", ".join("array<i64: " + ", ".join(map(str, m)) + ">" for m in maps)
        self.line(f"npu.elementwise <{fn}> {self.boxes(*parts)} {{maps = [{texts}]}}")

    def scaled(self, fn: str, target: Box, source: Box, number: str) -> None:
        """`fn` of a tile and a number of f32."""
        scalar = self.fresh()
        self.line(f"{scalar} = arith.constant {number} : f32")
        rank = ", ".join(map(str, range(len(target.sizes))))
        maps = f"[array<i64: {rank}>, array<i64: {rank}>]"
        self.line(
            f"npu.elementwise <{fn}> {self.boxes(target, source)} scalar {scalar} : f32"
            f" {{maps = {maps}}}"
        )

    def set_flag(
        self, source: str, target: str, flag: int, rotate: Tensor | None = None, unit: bool = False
    ) -> None:
        """With `unit`, M and FIX follow each other by blocks of 512 bytes."""
        self.flag("set_flag", source, target, flag, rotate, " {unit}" if unit else "")

    def wait_flag(self, source: str, target: str, flag: int, rotate: Tensor | None = None) -> None:
        self.flag("wait_flag", source, target, flag, rotate)

    def flag(
        self, op: str, source: str, target: str, flag: int, rotate: Tensor | None, extra: str = ""
    ) -> None:
        tail = f" rotate {rotate.name} : {rotate.type}" if rotate else ""
        self.line(f"npu.{op} <{source}> to <{target}> id {flag}{tail}{extra}")

    def barrier(self, pipe: str) -> None:
        self.line(f"npu.barrier <{pipe}>")

    def block_set(self, pipe: str, flag: int) -> None:
        self.line(f"npu.block_set <{pipe}> id {flag}")

    def block_wait(self, pipe: str, flag: int) -> None:
        self.line(f"npu.block_wait <{pipe}> id {flag}")

    def text(self, name: str) -> str:
        arguments = ", ".join(
            f'{t.name}: {t.type} {{npu.name = "{t.name[1:]}"}}' for t in self.arguments
        )
        constants = [
            f"  {name} = arith.constant {number} : index"
            for number, name in sorted(self.constants.items())
        ]
        workspace = self.used.get("workspace", 0)
        extra = f", npu.workspace = {workspace} : i64" if workspace else ""
        return "\n".join(
            [
                f"func.func @{name}({arguments})"
                f" attributes {{npu.core = #npu.core<{self.core}>{extra}}} {{",
                *constants,
                *self.lines,
                "  return",
                "}",
            ]
        )


def module(functions: Sequence[Function]) -> str:
    """A host function that launches an AIC and/or an AIV function, and these."""
    arguments = functions[0].arguments
    names = ", ".join(t.name for t in arguments)
    types = ", ".join(t.host_type for t in arguments)
    parameters = ", ".join(f"{t.name}: {t.host_type}" for t in arguments)
    targets = " ".join(f"{f.core} @kernel_{f.core}" for f in functions)
    launch = f"npu.launch {targets}({names}) : {types}"
    host = f"func.func @kernel({parameters}) {{\n  {launch}\n  return\n}}"
    return "\n".join([host, *(f.text(f"kernel_{f.core}") for f in functions)]) + "\n"
