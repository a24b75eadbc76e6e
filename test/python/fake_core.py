# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stand-in for the extension that records what the front end builds, one line a call."""

from __future__ import annotations

import types
from typing import Any


class BuildError(RuntimeError):
    pass


class Value:
    def __init__(self, text: str, dtype: str = "int32", constant: Any = None) -> None:
        self.text, self.dtype, self.constant = text, dtype, constant

    @property
    def is_constant(self) -> bool:
        return self.constant is not None

    @staticmethod
    def number(value: Any) -> Value:
        kind = (
            "bool" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32"
        )
        return Value(str(value), kind, value)

    @staticmethod
    def typed(value: Any, dtype: str) -> Value:
        return Value(str(value), dtype, value)


class Core:
    """A buffer."""

    def __init__(self, name: str, dtype: str) -> None:
        self.name, self.dtype = name, dtype


class Operand:
    def __init__(self, buffer: Core, text: str = "") -> None:
        self.buffer, self.text = buffer, text or buffer.name

    @staticmethod
    def corner(buffer: Core, indices: list[Value]) -> Operand:
        return Operand(buffer, f"{buffer.name}[{', '.join(v.text for v in indices)}]")


class KernelBuilder:
    """Records; results are named %0, %1, ..."""

    last: KernelBuilder

    def __init__(self, name: str) -> None:
        self.name, self.log, self.count, self.depth = name, [], 0, 0
        self.place = ("", 0, 0)
        self.places: list[tuple[str, int, int]] = []
        KernelBuilder.last = self

    def _put(self, text: str) -> None:
        self.log.append("  " * self.depth + text)
        self.places.append(self.place)

    def _value(self, text: str, dtype: str = "int32") -> Value:
        name = f"%{self.count}"
        self.count += 1
        self._put(f"{name} = {text}")
        return Value(name, dtype)

    def set_location(self, file: str, line: int, column: int) -> None:
        self.place = (file, line, column)

    def add_tensor(self, name: str, dtype: str, dims: Any, output: bool) -> Core:
        self._put(
            f"{'output' if output else 'tensor'} {name} {dtype} {['.'.join(d) for d in dims]}"
        )
        return Core(name, dtype)

    def add_scalar(self, name: str, dtype: str) -> Value:
        return Value(name, str(dtype))

    def size(self, tokens: list[str]) -> Value:
        return Value(" ".join(tokens))

    def begin_launch(self, grid: list[Value]) -> list[Value]:
        self._put(f"launch {', '.join(v.text for v in grid)}")
        self.depth += 1
        return [Value(n) for n in ("bx", "by", "bz")[: len(grid)]]

    def begin_for(self, start: Value, stop: Value, step: Value, stages: int) -> Value:
        name = f"i{self.count}"
        self.count += 1
        self._put(f"for {name} in {start.text}..{stop.text} step {step.text}")
        self.depth += 1
        return Value(name)

    def begin_parallel(self, extents: list[Value]) -> list[Value]:
        self._put(f"parallel {', '.join(v.text for v in extents)}")
        self.depth += 1
        return [Value(f"p{i}") for i in range(len(extents))]

    def begin_if(self, cond: Value) -> None:
        self._put(f"if {cond.text}")
        self.depth += 1

    def begin_else(self) -> None:
        self.depth -= 1
        self._put("else")
        self.depth += 1

    def begin_while(self) -> None:
        self._put("while")
        self.depth += 1

    def while_condition(self, cond: Value) -> None:
        self._put(f"condition {cond.text}")

    def _end(self) -> None:
        self.depth -= 1
        self._put("end")

    end_launch = end_for = end_parallel = end_if = end_while = _end

    def binary(self, function: str, left: Value, right: Value) -> Value:
        logical = function in ("eq", "ne", "lt", "le", "gt", "ge")
        return self._value(
            f"{function} {left.text}, {right.text}", "bool" if logical else left.dtype
        )

    def unary(self, function: str, value: Value) -> Value:
        return self._value(f"{function} {value.text}", value.dtype)

    def cast(self, value: Value, dtype: str, rounding: str) -> Value:
        return self._value(f"cast {value.text} to {dtype}", str(dtype))

    def if_then_else(self, cond: Value, then: Value, other: Value) -> Value:
        return self._value(f"choose {cond.text}, {then.text}, {other.text}", then.dtype)

    def alloc(self, name: str, dtype: str, shape: Any, scope: str) -> Core:
        self._put(f"alloc {dtype} {list(shape)} {scope}")
        return Core(name, dtype)

    def parallel_lanes(self) -> tuple[list[Value], list[int]]:
        return [], []

    def alloc_lanes(self, name: str, dtype: str, extents: Any) -> Core:
        return self.alloc(name, dtype, extents, "local")

    def rename(self, buffer: Core, name: str) -> None:
        buffer.name = name
        self._put(f"name {name}")

    def name_of(self, buffer: Core) -> str:
        return buffer.name

    def element_indices(self, buffer: Core, indices: list[Value]) -> list[Value]:
        return indices

    def load(self, buffer: Core, indices: list[Value]) -> Value:
        return self._value(
            f"load {buffer.name}[{', '.join(v.text for v in indices)}]", buffer.dtype
        )

    def store(self, value: Value, buffer: Core, indices: list[Value]) -> None:
        self._put(f"store {value.text} to {buffer.name}[{', '.join(v.text for v in indices)}]")

    def copy(self, src: Operand, dst: Operand, size: Any) -> None:
        self._put(f"copy {src.text} to {dst.text}")

    def assert_op(self, cond: Value, message: str) -> None:
        self._put(f"assert {cond.text} {message}")

    def finish(self) -> KernelBuilder:
        return self


def module() -> types.ModuleType:
    made = types.ModuleType("tilewright._core")
    for name, value in globals().items():
        if isinstance(value, type):
            setattr(made, name, value)
    return made
