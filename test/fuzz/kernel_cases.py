# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels as source: the generator behind kernel_fuzz.py."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from harness import randn

HEAD = """# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import tilewright as tilelang
import tilewright.language as T


"""


@dataclass
class Statement:
    """A line of the kernel, with a body when it opens a block."""

    line: str
    body: list[Statement] | None = None

    def lines(self, depth: int) -> Iterator[str]:
        yield "    " * depth + self.line
        for inner in self.body or ():
            yield from inner.lines(depth + 1)
        if self.body == []:
            yield "    " * (depth + 1) + "pass"


@dataclass
class Case:
    """A kernel and its sizes."""

    seed: int
    sizes: dict[str, int]  #: M, N, K, bm, bn, bk
    dynamic: bool
    count: int  #: the run-time bound
    scores: int  #: numbers of tiles of each kind, all of which are stored at the end
    halves: int
    rows: int
    waves: int = (
        0  #: blocks of each core; 0: on the chip as it is, which has more cores than blocks
    )
    prologue: list[str] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)

    #: The outputs, and then the tensors among the inputs.
    names: ClassVar[tuple[str, ...]] = ("O", "H", "Q", "P", "A", "B", "X", "V", "R")

    def text(self) -> str:
        s = self.sizes
        shape = {n: n if self.dynamic else str(s[n]) for n in ("M", "N", "K")}
        lines = ["@tilelang.jit", "def kernel(A, B, X, V, R, count):"]
        if self.dynamic:
            lines.append('    M, N, K = T.dynamic("M, N, K")')
        M, N, K = shape["M"], shape["N"], shape["K"]
        lines += [
            f'    A: T.Tensor(({M}, {K}), "float16")',
            f'    B: T.Tensor(({K}, {N}), "float16")',
            f'    X: T.Tensor(({M}, {N}), "float32")',
            f'    V: T.Tensor(({N},), "float32")',
            "    count: T.int32",
            f'    R: T.Tensor(({M},), "float32")',
            f'    O = T.empty(({self.scores}, {M}, {N}), "float32")',
            f'    H = T.empty(({self.halves}, {M}, {N}), "float16")',
            f'    Q = T.empty((T.ceildiv({N}, {s["bn"]}), {M}, {s["bk"]}), "float32")',
            f'    P = T.empty((T.ceildiv({N}, {s["bn"]}), {self.rows}, {M}), "float32")',
            f"    grid = T.ceildiv({N}, {s['bn']}), T.ceildiv({M}, {s['bm']})",
            "    with T.Kernel(*grid, threads=128) as (bx, by):",
        ]
        lines += ["        " + line for line in self.prologue]
        for statement in self.body:
            lines += statement.lines(2)
        lines.append("    return O, H, Q, P")
        return HEAD + "\n".join(lines) + "\n"

    @property
    def grid(self) -> tuple[int, int]:
        s = self.sizes
        return -(-s["N"] // s["bn"]), -(-s["M"] // s["bm"])

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1]

    def inputs(self) -> list[Any]:
        M, N, K = (self.sizes[n] for n in ("M", "N", "K"))
        rows = [randn((M, K), seed=1), randn((K, N), seed=2), randn((M, N), "float32", 3)]
        return [*rows, randn(N, "float32", 4), randn(M, "float32", 5), self.count]


class Generator:
    """Makes the kernel of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        pick = self.random.choice
        bm, bn, bk = (
            pick([8, 16, 24, 32, 5, 20]),
            pick([8, 16, 32, 48, 12, 7]),
            pick([8, 16, 32, 13]),
        )
        size = {
            "M": self.random.randint(1, 2 * bm + 3),
            "N": self.random.randint(1, 2 * bn + 3),
            "K": self.random.randint(1, 4 * bk),
        }
        if self.random.random() < 0.3:
            size = {"M": 2 * bm, "N": 2 * bn, "K": 3 * bk}
        self.bm, self.bn, self.bk = bm, bn, bk
        self.loops: list[str] = []
        self.depth = 0
        self.number = 0
        # Tiles by what they are: f32 and f16 (bm, bn), f32 (bm, bk), rows and columns.
        self.scores = [f"s{i}" for i in range(self.random.randint(1, 3))]
        self.halves = ["h0", "h1"][: self.random.randint(1, 2)]
        self.rows = ["r0", "r1", "r2"][: self.random.randint(1, 3)]
        self.columns = ["c0", "c1"]
        self.outs = ["q0"]
        self.case = Case(
            seed,
            {**size, "bm": bm, "bn": bn, "bk": bk},
            self.random.random() < 0.3,
            self.random.randint(0, 3),
            len(self.scores),
            len(self.halves),
            len(self.rows),
        )
        self.has_cube = self.random.random() < 0.7
        self.has_variable = self.random.random() < 0.4
        self.has_integers = self.random.random() < 0.4
        self.sums = self.random.random() < 0.3  #: adds to a tensor, atomically
        # Of a generator of its own: kernels stay what they were.
        waves = random.Random(~seed)
        self.case.waves = waves.randint(1, 4) if waves.random() < 0.5 else 0

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def make(self) -> Case:
        pick = self.random.choice
        for names, shape, kind in (
            (self.scores, (self.bm, self.bn), "float32"),
            (self.halves, (self.bm, self.bn), "float16"),
            (self.outs, (self.bm, self.bk), "float32"),
            (self.rows, (self.bm,), "float32"),
            (self.columns, (self.bn,), "float32"),
        ):
            for name in names:
                scope = pick(["alloc_shared", "alloc_fragment"])
                self.case.prologue.append(f'{name} = T.{scope}({shape}, "{kind}")')
        self.case.prologue += [
            f'a = T.alloc_shared(({self.bm}, {self.bk}), "float16")',
            f'b = T.alloc_shared(({self.bk}, {self.bn}), "float16")',
        ]
        if self.has_integers:
            self.case.prologue.append(f'n0 = T.alloc_shared(({self.bm}, {self.bn}), "int32")')
        if self.has_variable:
            self.case.prologue.append('v = T.alloc_var("int32", init=count)')
        body = self.start() + self.block(self.random.randint(4, 9))
        body += [Statement(f"T.copy({t}, {self.here('O', n)})") for n, t in enumerate(self.scores)]
        body += [Statement(f"T.copy({t}, {self.here('H', n)})") for n, t in enumerate(self.halves)]
        body += [
            Statement(f"T.copy({t}, P[bx, {n}, by * {self.bm}])") for n, t in enumerate(self.rows)
        ]
        body.append(Statement(f"T.copy(q0, Q[bx, by * {self.bm}, 0])"))
        if self.sums:
            body.append(Statement(f"T.atomic_add(R[by * {self.bm}], {pick(self.rows)})"))
        self.case.body = body
        return self.case

    def start(self) -> list[Statement]:
        """First values of most tiles; the others are read as zeros, or written first."""
        found = [
            *[f"T.copy({self.here('X')}, {t})" for t in self.scores + self.halves],
            *[f"T.copy(V[bx * {self.bn}], {c})" for c in self.columns],
            f"T.copy(A[by * {self.bm}, 0], a)",
            f"T.copy(B[0, bx * {self.bn}], b)",
        ]
        rows = [
            Statement(
                f"for i in T.Parallel({self.bm}):",
                [Statement(f"{r}[i] = i * {0.25 * (n + 1)} - 1.0")],
            )
            for n, r in enumerate(self.rows)
        ]
        return [s for s in [*map(Statement, found), *rows] if self.chance(0.75)]

    def here(self, tensor: str, number: int | None = None) -> str:
        lead = "" if number is None else f"{number}, "
        return f"{tensor}[{lead}by * {self.bm}, bx * {self.bn}]"

    def block(self, count: int) -> list[Statement]:
        found: list[Statement] = []
        for _ in range(count):
            found += self.statement()
        return found

    def statement(self) -> list[Statement]:
        pick = self.random.random()
        if pick < 0.05:
            return [self.region()]
        if pick < 0.08 and self.has_variable:
            return [self.variable()]
        if pick < 0.11 and self.has_integers:
            return [self.integers()]
        if pick < 0.30:
            return [self.parallel()]
        if pick < 0.42:
            return [self.reduction()]
        if pick < 0.60 and self.has_cube:
            return [self.round_trip()] if self.depth < 2 and self.chance(0.25) else self.product()
        if pick < 0.70:
            return [self.load()]
        if pick < 0.77:
            return [self.fill()]
        if pick < 0.82:
            return [self.move()]
        if pick < 0.86:
            return [self.store()]
        if self.depth < 2:
            return [self.branch() if self.chance(0.25) else self.loop()]
        return [self.parallel()]

    # -- structure ------------------------------------------------------------------------------

    def bound(self) -> str:
        options = ["1", "2", "3", "4", "count", "by + 1", "bx + by", "T.min(count, bx + 1)", "0"]
        if self.loops:
            options += [f"{self.loops[-1]} + 1", f"3 - {self.loops[-1]}"]
        if self.has_variable:
            options.append("v")
        return self.random.choice(options)

    def loop(self) -> Statement:
        name = f"k{self.number}"
        self.number += 1
        kind = self.random.choice(["Pipelined", "Pipelined", "serial"])
        hint = f", num_stages={self.random.randint(0, 3)}" if kind == "Pipelined" else ""
        line = f"for {name} in T.{kind}({self.bound()}{hint}):"
        self.loops.append(name)
        self.depth += 1
        body = self.block(self.random.randint(1, 4))
        self.depth -= 1
        self.loops.pop()
        return Statement(line, body)

    def branch(self) -> Statement:
        options = ["count > 1", "bx == 0", "(bx + by) % 2 == 0"]
        if self.loops:
            options.append(f"{self.loops[-1]} == 0")
        if self.has_variable:
            options.append("v == 1")
        self.depth += 1
        body = self.block(self.random.randint(1, 2))
        self.depth -= 1
        return Statement(f"if {self.random.choice(options)}:", body)

    # -- statements -----------------------------------------------------------------------------

    def product(self) -> list[Statement]:
        pick = self.random.random()
        options = self.random.choice(["", "", ", clear_accum=True"])
        if pick < 0.25:
            return [
                Statement(
                    f"T.gemm({self.random.choice(self.halves)}, b, q0, transpose_B=True{options})"
                )
            ]
        target = self.random.choice(self.scores)
        if pick < 0.4:
            return [Statement(f"T.gemm(a, b, {target}{options})")]
        name = f"k{self.number}"
        self.number += 1
        K = "K" if self.case.dynamic else str(self.case.sizes["K"])
        body = [
            Statement(f"T.copy(A[by * {self.bm}, {name} * {self.bk}], a)"),
            Statement(f"T.copy(B[{name} * {self.bk}, bx * {self.bn}], b)"),
            Statement(f"T.gemm(a, b, {target})"),
        ]
        if self.chance(0.2):
            self.loops.append(name)
            body.insert(self.random.randint(0, 3), self.parallel())
            self.loops.pop()
        stages = self.random.randint(0, 3)
        loop = Statement(
            f"for {name} in T.Pipelined(T.ceildiv({K}, {self.bk}), num_stages={stages}):", body
        )
        return [Statement(f"T.clear({target})"), loop] if self.chance(0.7) else [loop]

    def round_trip(self) -> Statement:
        """A loop in which the cube core multiplies what the vector core makes of its product."""
        name = f"k{self.number}"
        self.number += 1
        bound = self.random.choice(["2", "4", self.bound()])
        score, half = self.random.choice(self.scores), self.random.choice(self.halves)
        self.loops.append(name)
        self.depth += 1
        body = [
            Statement(f"T.copy(B[{name} * {self.bk}, bx * {self.bn}], b)"),
            Statement(f"T.gemm(a, b, {score}, clear_accum=True)"),
            self.reduction(),
            Statement(f"T.copy({score}, {half})"),
            Statement(f"T.gemm({half}, b, q0, transpose_B=True)"),
        ]
        for _ in range(self.random.randint(0, 3)):
            at = self.random.randint(0, len(body))
            body[at:at] = self.statement()
        if self.chance(0.5):
            body.append(self.parallel())
        self.depth -= 1
        self.loops.pop()
        return Statement(f"for {name} in T.Pipelined({bound}, num_stages=2):", body)

    def region(self) -> Statement:
        """Parts of tiles: copies between rows or columns, and running sums."""
        s, t = self.random.choice(self.scores), self.random.choice(self.scores + self.halves)
        low, high = sorted(self.random.sample(range(self.bn + 1), 2))
        row = self.random.randrange(self.bm)
        if self.chance(0.3):
            return Statement(f"T.cumsum({s}, dim={self.random.randint(0, 1)})")
        if s == t or self.chance(0.4):
            return Statement(f"T.copy({s}[{row}, 0:{self.bn}], {self.random.choice(self.columns)})")
        if self.chance(0.5):
            return Statement(f"T.copy({s}[:, {low}:{high}], {t}[:, {low}:{high}])")
        return Statement(f"T.copy({self.random.choice(self.columns)}, {t}[{row}, 0:{self.bn}])")

    def variable(self) -> Statement:
        """A scalar that the kernel changes; both kinds of core follow it."""
        step = self.random.choice(["v + 1", "3 - v", "T.min(v, 2)", "bx", *self.loops])
        if self.chance(0.3):
            self.depth += 1
            self.has_variable = False  # a body that sets v might never end
            body = self.block(1)
            self.has_variable = True
            self.depth -= 1
            return Statement("while v > 0:", [*body, Statement("v = v - 1")])
        return Statement(f"v = {step}")

    def integers(self) -> Statement:
        head = f"for i, j in T.Parallel({self.bm}, {self.bn}):"
        other = self.random.choice(["i", "j", "count", "n0[i, j]", "i * 5 + j"])
        value = self.random.choice(
            [
                f"n0[i, j] + {other}",
                f"({other} - 7) // 3",
                f"({other} - 7) % 5",
                f"T.max(n0[i, j], {other} * 2)",
                f"T.cast(T.clamp({self.scores[0]}[i, j], -100.0, 100.0), 'int32')",
            ]
        )
        if self.chance(0.4):
            return Statement(
                head, [Statement(f"{self.scores[0]}[i, j] = n0[i, j] * 0.5 + {other}")]
            )
        return Statement(head, [Statement(f"n0[i, j] = {value}")])

    def reduction(self) -> Statement:
        kind = self.random.choice(["sum", "max", "min", "abssum", "absmax"])
        clear = ", clear=False" if kind in ("max", "min", "sum") and self.chance(0.25) else ""
        dim = int(self.chance(0.75))
        source = self.random.choice(self.scores)
        target = self.random.choice(self.rows if dim else self.columns)
        return Statement(f"T.reduce_{kind}({source}, {target}, dim={dim}{clear})")

    def load(self) -> Statement:
        pick = self.random.random()
        if pick < 0.3:
            return Statement(
                f"T.copy({self.here('X')}, {self.random.choice(self.scores + self.halves)})"
            )
        if pick < 0.45:
            return Statement(f"T.copy(V[bx * {self.bn}], {self.random.choice(self.columns)})")
        step = f"{self.loops[-1]} * {self.bk}" if self.loops else "0"
        if pick < 0.7:
            return Statement(f"T.copy(A[by * {self.bm}, {step}], a)")
        return Statement(f"T.copy(B[{step}, bx * {self.bn}], b)")

    def fill(self) -> Statement:
        tile = self.random.choice(self.scores + self.halves + self.rows + self.columns + self.outs)
        return Statement(f"T.fill({tile}, {self.random.choice(['0', '0', '1.5', '-0.25'])})")

    def move(self) -> Statement:
        group = self.random.choice([self.scores + self.halves, self.rows, ["q0", "a"]])
        source, target = self.random.choice(group), self.random.choice(group)
        if source == target:
            return self.fill()
        return Statement(f"T.copy({source}, {target})")

    def store(self) -> Statement:
        # What the cube core may have stored, the vector core may not load.
        if self.chance(0.02 if self.has_cube else 0.2):
            return Statement(f"T.copy({self.here('O', 0)}, {self.random.choice(self.scores)})")
        return Statement(f"T.copy({self.random.choice(self.scores)}, {self.here('O', 0)})")

    def parallel(self) -> Statement:
        pick = self.random.random()
        if pick < 0.2:
            targets = [(f"{r}[i]", self.row_leaf) for r in self.rows]
            head = f"for i in T.Parallel({self.bm}):"
        elif pick < 0.3:
            targets = [("q0[i, j]", self.out_leaf)]
            head = f"for i, j in T.Parallel({self.bm}, {self.bk}):"
        else:
            targets = [(f"{t}[i, j]", self.score_leaf) for t in self.scores + self.halves]
            head = f"for i, j in T.Parallel({self.bm}, {self.bn}):"
        body = []
        for _ in range(self.random.choice([1, 1, 2])):
            target, leaf = self.random.choice(targets)
            body.append(Statement(f"{target} = {self.expression(leaf, self.random.randint(1, 3))}"))
        if self.chance(0.15):
            body = [Statement(f"if {self.condition(targets[0][1])}:", body)]
        return Statement(head, body)

    # -- expressions ----------------------------------------------------------------------------

    def scalar(self) -> str:
        return self.random.choice(["0.5", "2.0", "-1.0", "0.125", "count", "bx", *self.loops])

    def row_leaf(self) -> str:
        return self.random.choice([f"{r}[i]" for r in self.rows] + [self.scalar(), "i"])

    def out_leaf(self) -> str:
        return self.random.choice(
            ["q0[i, j]", "q0[i, j]", "a[i, j]", f"{self.rows[0]}[i]", self.scalar()]
        )

    def score_leaf(self) -> str:
        tiles = [f"{t}[i, j]" for t in self.scores + self.halves]
        others = [f"{r}[i]" for r in self.rows] + [f"{c}[j]" for c in self.columns]
        shifted = [
            f"{self.columns[0]}[(j + 3) % {self.bn}]",
            f"X[by * {self.bm} + i, bx * {self.bn} + j]",
        ]
        return self.random.choice(tiles * 3 + others * 2 + shifted + [self.scalar(), "i", "j"])

    def condition(self, leaf: Any) -> str:
        if self.chance(0.5):
            bound = self.random.choice(["3", "count", "bx + 2"])
            return f"i {self.random.choice(['<', '>=', '!='])} {bound}"
        return f"{leaf()} {self.random.choice(['<', '>'])} {self.random.choice(['0.0', '1.0'])}"

    def expression(self, leaf: Any, depth: int) -> str:
        if depth == 0 or self.chance(0.15):
            return leaf()
        x, y = self.expression(leaf, depth - 1), self.expression(leaf, depth - 1)
        return self.random.choice(
            [
                f"({x} + {y})",
                f"({x} - {y})",
                f"({x} * {y})",
                f"T.max({x}, {y})",
                f"T.min({x}, {y})",
                f"({x}) * 0.5",
                f"T.exp(-T.abs(T.cast({x}, 'float32')))",
                f"T.abs({x})",
                f"T.if_then_else({self.condition(leaf)}, {x}, {y})",
                f"({x} / (T.abs({y}) + 1.0))",
            ]
        )


class PartGenerator(Generator):
    """Kernels with more statements of some kinds: tiles that are shifted in place, values that
    repeat or stay for some elements, sums that each turn of a loop takes out and clears, and sums
    that start anew in some turns."""

    def statement(self) -> list[Statement]:
        if self.chance(0.6):
            return super().statement()
        sums = [self.flushed, self.restarted] if self.has_cube else []
        return [self.random.choice([self.shift, self.repeat, *sums])()]

    def shift(self) -> Statement:
        tile = self.random.choice(self.scores + self.halves)
        row = self.random.choice(self.rows)
        extents, line = self.random.choice(
            [
                (f"{self.bm - 1}, {self.bn}", f"{tile}[i, j] = {tile}[i + 1, j]"),
                (f"{self.bm - 1}, {self.bn}", f"{tile}[i + 1, j] = {tile}[i, j] * 0.5"),
                (f"{self.bm}, {self.bn - 1}", f"{tile}[i, j + 1] = {tile}[i, j]"),
                (f"{self.bm}, {self.bn - 2}", f"{tile}[i, j] = {tile}[i, j + 2] + j"),
                (f"{self.bm - 1}", f"{row}[i] = {row}[i + 1] - 0.25"),
            ]
        )
        names = "i, j" if "," in extents else "i"
        return Statement(f"for {names} in T.Parallel({extents}):", [Statement(line)])

    def repeat(self) -> Statement:
        tile, size = self.random.choice(self.scores + self.halves), self.random.randint(2, 8)
        row, column = self.random.choice(self.rows), self.random.choice(self.columns)
        value = self.random.choice(
            [
                f"{column}[j % {min(size, self.bn)}]",
                f"{column}[j // {size}]",
                f"{row}[i % {min(size, self.bm)}]",
                f"{row}[i // {size}]",
                f"{tile}[i // {size}, j]",
            ]
        )
        line = f"{tile}[i, j] = {tile}[i, j] * 0.5 + {value}"
        return Statement(f"for i, j in T.Parallel({self.bm}, {self.bn}):", [Statement(line)])

    def flushed(self) -> Statement:
        name = f"k{self.number}"
        self.number += 1
        score, half = self.random.choice(self.scores), self.random.choice(self.halves)
        self.loops.append(name)
        self.depth += 1
        body = [
            Statement(f"T.copy(B[{name} * {self.bk}, bx * {self.bn}], b)"),
            Statement(f"T.gemm(a, b, {score})"),
            self.random.choice([self.reduction(), Statement(f"T.copy({score}, {half})")]),
            Statement(f"T.clear({score})"),
        ]
        if self.chance(0.5):
            body.insert(self.random.randint(1, 4), self.parallel())
        self.depth -= 1
        self.loops.pop()
        return Statement(f"for {name} in T.Pipelined({self.bound()}, num_stages=2):", body)

    def restarted(self) -> Statement:
        """A sum over the turns since the last one that cleared it."""
        name = f"k{self.number}"
        self.number += 1
        score = self.random.choice(self.scores)
        conditions = [f"{name} == 1", f"{name} % 2 == 0", f"{name} > bx", "count > 1"]
        clear = Statement(f"if {self.random.choice(conditions)}:", [Statement(f"T.clear({score})")])
        body = [
            Statement(f"T.copy(B[{name} * {self.bk}, bx * {self.bn}], b)"),
            Statement(f"T.gemm(a, b, {score})"),
        ]
        body.insert(self.random.randint(0, 2), clear)
        return Statement(f"for {name} in T.Pipelined({self.bound()}, num_stages=2):", body)
