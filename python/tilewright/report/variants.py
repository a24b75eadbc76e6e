# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What may be chosen otherwise in a kernel's source, and the kernel made again with it.

A choice is an argument of the kernel's factory, or a number or the kind of a loop in its text. What
counts is what a name is used for: the names that reach the shape of a tile or of a T.Parallel, or
the number of a loop's stages. Whether another value is allowed is found out by making the kernel.
"""

from __future__ import annotations

import ast
import linecache
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..frontend import source
from ..origin import Origin

#: Calls whose first argument is the shape of a tile.
TILES = ("alloc_shared", "alloc_fragment", "alloc_local", "alloc_ub", "alloc_L1", "alloc_L0C")
SERIAL = ("range", "serial", "unroll", "vectorized")
#: Calls that move or multiply whole tiles.
WHOLE = ("copy", "gemm", "Pipelined", "Kernel", "atomic_add")
PARALLEL, PIPELINED = "Parallel", "Pipelined"
WIDER = "float32"


@dataclass(frozen=True)
class Place:
    """A stretch of one line of the source, columns from 0 in characters."""

    line: int
    start: int
    end: int


@dataclass(frozen=True)
class Knob:
    """One thing that may be chosen: its name, its value, and where it stands.

    `place` is None for an argument; `kind` is "size", "grid", "stages", "loop" or "type".
    """

    name: str
    value: Any
    kind: str
    line: int
    place: Place | None = None

    def neighbours(self, value: Any) -> list[Any]:
        """What to try next to a value, larger sizes first."""
        if self.kind == "stages":
            return [v for v in (value + 1, value - 1) if 1 <= v <= 4]
        if self.kind in ("size", "grid"):
            return [v for v in (2 * value, value // 2) if v >= 1 and v != value]
        if self.kind == "type":
            return [WIDER] if str(value) in ("float16", "bfloat16") else []
        return [self.name] if value != self.name else []


Choice = Mapping[Knob, Any]


def knobs(origin: Origin) -> list[Knob]:
    """What may be chosen in a kernel, in the order of its source; empty when it has no source."""
    try:
        node = source.load(origin.function)
    except source.SourceError:
        return []
    text = _Text(origin.function)
    wanted = _wanted(node)
    found = list(_arguments(origin, node, wanted))
    for child in ast.walk(node):
        if isinstance(child, ast.Assign) and len(child.targets) == 1:
            found += _literals(child, text, wanted)
        elif isinstance(child, ast.Call) and _called(child) == PIPELINED:
            found += _stages(child, text)
        elif isinstance(child, ast.For):
            found += _loop(child, node, text)
    return sorted(found, key=lambda knob: (knob.line, knob.name))


def make(origin: Origin, choice: Choice) -> Any:
    """The kernel with another choice. Raises what making it raises."""
    arguments = {
        **origin.arguments,
        **{knob.name: value for knob, value in choice.items() if knob.place is None},
    }
    edits = [(knob.place, str(value)) for knob, value in choice.items() if knob.place is not None]
    function = edited(origin.function, edits) if edits else origin.function
    return origin.make(function, arguments)


def edited(function: types.FunctionType, edits: list[tuple[Place, str]]) -> types.FunctionType:
    """The function with other text in some places of its lines; it shares globals and closure."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)[:]
    for place, new in sorted(edits, key=lambda edit: (edit[0].line, edit[0].start), reverse=True):
        line = lines[place.line - 1]
        lines[place.line - 1] = line[: place.start] + new + line[place.end :]
    text = "".join(lines)
    name = f"<{code.co_filename} with {sorted((p.line, p.start, new) for p, new in edits)}>"
    linecache.cache[name] = (len(text), None, lines, name)
    tree = ast.parse(text, name)
    node = next(
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.FunctionDef)
        and n.name == code.co_name
        and min([n.lineno, *(d.lineno for d in n.decorator_list)]) == code.co_firstlineno
    )
    first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
    node.decorator_list = []
    around = ast.FunctionDef("around", _parameters(code.co_freevars), [node], [])
    module = ast.fix_missing_locations(ast.Module([around], []))
    outer = compile(module, name, "exec").co_consts[0]
    inner = next(
        c for c in outer.co_consts if isinstance(c, types.CodeType) and c.co_name == node.name
    )
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    made = types.FunctionType(
        inner.replace(co_firstlineno=first),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[n] for n in inner.co_freevars),
    )
    made.__kwdefaults__, made.__annotations__ = function.__kwdefaults__, function.__annotations__
    made.__module__, made.__qualname__ = function.__module__, function.__qualname__
    return made


def _parameters(names: tuple[str, ...]) -> ast.arguments:
    return ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])


class _Text:
    """The lines of a function's file: columns of the syntax tree count bytes."""

    def __init__(self, function: types.FunctionType) -> None:
        self.lines = linecache.getlines(function.__code__.co_filename, function.__globals__)

    def place(self, first: tuple[int, int], last: tuple[int, int]) -> Place | None:
        """A stretch of one line; None when it goes over several."""
        if first[0] != last[0]:
            return None
        data = self.lines[first[0] - 1].encode()
        start, end = (len(data[:column].decode()) for column in (first[1], last[1]))
        return Place(first[0], start, end)

    def of(self, node: ast.expr) -> Place | None:
        end = (node.end_lineno or 0, node.end_col_offset or 0)
        return self.place((node.lineno, node.col_offset), end)

    def at(self, place: Place) -> str:
        return self.lines[place.line - 1][place.start : place.end]


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _stage_count(node: ast.Call) -> ast.expr | None:
    """The number of stages that a T.Pipelined is given by name."""
    return next((k.value for k in node.keywords if k.arg == "num_stages"), None)


def _wanted(node: ast.FunctionDef) -> dict[str, set[str]]:
    """Names by what they reach: the shape of a tile or of a T.Parallel ("size"), the grid, a number
    of stages, or a tile's element type."""
    found: dict[str, set[str]] = {"stages": set(), "size": set(), "grid": set(), "type": set()}
    made: list[tuple[set[str], set[str]]] = []
    for child in ast.walk(node):
        if isinstance(child, ast.Assign):
            made.append((set().union(*map(_names, child.targets)), _names(child.value)))
        if not isinstance(child, ast.Call):
            continue
        name = _called(child)
        if name in TILES:
            given = [*child.args, *(k.value for k in child.keywords)]
            for kind, value in zip(("size", "type"), given, strict=False):
                found[kind] |= _names(value)
        elif name in (PARALLEL, "Kernel"):
            found["size" if name == PARALLEL else "grid"].update(*map(_names, child.args))
        elif name == PIPELINED and (count := _stage_count(child)) is not None:
            found["stages"] |= _names(count)
    for names in found.values():
        before = -1
        while before != len(names):
            before = len(names)
            for targets, sources in made:
                names |= sources if targets & names else set()
    return found


def _arguments(
    origin: Origin, node: ast.FunctionDef, wanted: dict[str, set[str]]
) -> Iterator[Knob]:
    places = {a.arg: a.lineno for a in [*node.args.args, *node.args.kwonlyargs]}
    for name, value in origin.arguments.items():
        kind = _kind(name, value, wanted)
        if kind:
            line = places.get(name) or _assigned(origin.function, name) or node.lineno
            yield Knob(name, value, kind, line)


def _kind(name: str, value: Any, wanted: dict[str, set[str]]) -> str:
    """What a name with a value is for; empty when it is nothing to choose."""
    if isinstance(value, str):
        return "type" if name in wanted["type"] - wanted["size"] else ""
    if type(value) is not int or value < 1:
        return ""
    return next((kind for kind in ("stages", "size", "grid") if name in wanted[kind]), "")


def _assigned(function: types.FunctionType, name: str) -> int:
    """The last line above a function's end that gives a value to a name around it, or 0."""
    filename = function.__code__.co_filename
    found = 0
    for node in ast.walk(ast.parse("".join(linecache.getlines(filename)))):
        named = isinstance(node, ast.arg) and node.arg == name
        if isinstance(node, ast.Assign):
            named = name in set().union(*map(_names, node.targets))
        if named and found < node.lineno <= function.__code__.co_firstlineno:
            found = node.lineno
    return found


def _literals(node: ast.Assign, text: _Text, wanted: dict[str, set[str]]) -> Iterator[Knob]:
    """Numbers that are assigned to wanted names: `block = 64`, `m, n = 64, 128`."""
    target, value = node.targets[0], node.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=False))
    for name, number in pairs:
        if not isinstance(name, ast.Name) or not isinstance(number, ast.Constant):
            continue
        kind = _kind(name.id, number.value, wanted)
        place = text.of(number) if kind and type(number.value) is int else None
        if place is not None:
            yield Knob(name.id, number.value, kind, place.line, place)


def _stages(node: ast.Call, text: _Text) -> Iterator[Knob]:
    count = _stage_count(node)
    if isinstance(count, ast.Constant) and type(count.value) is int and count.value >= 0:
        place = text.of(count)
        if place is not None:
            yield Knob("num_stages", max(count.value, 1), "stages", place.line, place)


def _loop(node: ast.For, function: ast.FunctionDef, text: _Text) -> Iterator[Knob]:
    """A serial loop that only computes elements could be T.Parallel, one that loads and multiplies
    tiles T.Pipelined."""
    call = node.iter
    if not isinstance(call, ast.Call) or _called(call) not in SERIAL or len(call.args) != 1:
        return
    calls = {_called(c) for s in node.body for c in ast.walk(s) if isinstance(c, ast.Call)}
    place, alias = text.of(call.func), _alias(function)
    if place is None or alias is None or _jumps(node):
        return
    if not calls & {*WHOLE, PARALLEL} and not any(c.startswith(("reduce_", "cum")) for c in calls):
        yield Knob(f"{alias}.{PARALLEL}", text.at(place), "loop", place.line, place)
    elif {"copy", "gemm"} <= calls and "Pipelined" not in calls:
        yield Knob(f"{alias}.{PIPELINED}", text.at(place), "loop", place.line, place)


def _jumps(node: ast.For) -> bool:
    return any(isinstance(c, (ast.Break, ast.Continue, ast.While)) for c in ast.walk(node))


def _alias(function: ast.FunctionDef) -> str | None:
    """What the source calls the language: `T` of `T.Kernel`."""
    for child in ast.walk(function):
        if isinstance(child, ast.Call) and _called(child) == "Kernel":
            place = child.func
            if isinstance(place, ast.Attribute) and isinstance(place.value, ast.Name):
                return place.value.id
    return None
