# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random attention kernels as source: a family of kernel_fuzz.py.

Each is an online softmax between two products, or nearly one: masks, biases, scales and
statements that follow the scores come and go, sums may forget to be scaled, and blocks may be
larger than what the memory of a vector core holds. So some loops are fused, some must not be, and
some work is done in slices.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, ClassVar

from kernel_cases import HEAD, Case, Statement

from harness import randn


@dataclass
class AttentionCase(Case):
    """Sizes: S rows of queries, L of keys and values, D wide; blocks of bq and bk rows; H heads."""

    names: ClassVar[tuple[str, ...]] = ("O", "E", "W", "Q", "K", "V", "X")

    def text(self) -> str:
        s = self.sizes
        S, L = ("S", "L") if self.dynamic else (str(s["S"]), str(s["L"]))
        H, D = s["H"], s["D"]
        lines = ["@tilelang.jit", "def kernel(Q, K, V, X, count):"]
        if self.dynamic:
            lines.append('    S, L = T.dynamic("S, L")')
        lines += [
            f'    Q: T.Tensor(({H}, {S}, {D}), "float16")',
            f'    K: T.Tensor(({H}, {L}, {D}), "float16")',
            f'    V: T.Tensor(({H}, {L}, {D}), "float16")',
            f'    X: T.Tensor(({S}, {L}), "float32")',
            "    count: T.int32",
            f'    O = T.empty(({H}, {S}, {D}), "float16")',
            f'    E = T.empty(({H}, {S}), "float32")',
            f'    W = T.empty(({H}, {S}, {L}), "float32")',
            f"    grid = T.ceildiv({S}, {s['bq']}), {H}",
            "    with T.Kernel(*grid, threads=128) as (b, h):",
        ]
        lines += ["        " + line for line in self.prologue]
        for statement in self.body:
            lines += statement.lines(2)
        lines.append("    return O, E, W")
        return HEAD + "\n".join(lines) + "\n"

    @property
    def grid(self) -> tuple[int, int]:
        return -(-self.sizes["S"] // self.sizes["bq"]), self.sizes["H"]

    def inputs(self) -> list[Any]:
        S, L, D, H = (self.sizes[n] for n in ("S", "L", "D", "H"))
        queries, keys, values = (
            randn((H, rows, D), seed=seed) for rows, seed in ((S, 1), (L, 2), (L, 3))
        )
        return [queries, keys, values, randn((S, L), "float32", 4), self.count]


class AttentionGenerator:
    """Makes the kernel of a seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def pick(self, *options: Any) -> Any:
        return self.random.choice(options)

    def make(self) -> AttentionCase:
        large = self.chance(0.15)
        bq = self.pick(96, 128) if large else self.pick(16, 32, 48, 64, 20)
        bk = self.pick(128, 256) if large else self.pick(16, 32, 32, 64, 24)
        D = self.pick(64, 128) if large else self.pick(16, 32, 64)
        turns = self.random.randint(1, 5 if large else 12)
        S = self.random.randint(1, 2) * bq - self.pick(0, 0, 5)
        L = turns * bk - self.pick(0, 0, 3, bk // 2)
        sizes = {"S": S, "L": L, "D": D, "H": self.pick(1, 1, 2), "bq": bq, "bk": bk}
        case = AttentionCase(
            self.seed, sizes, self.chance(0.25), self.random.randint(1, turns), 0, 0, 0
        )
        case.waves = self.random.randint(1, 2) if self.chance(0.5) else 0
        self.length = "L" if case.dynamic else str(L)
        self.bq, self.bk, self.D = bq, bk, D
        self.scale = self.pick(0.25, 0.125, 1.0)
        self.mask = self.pick("none", "none", "diagonal", "tail", "first")
        case.prologue = self.tiles()
        case.body = [*self.start(), self.loop(), *self.end()]
        return case

    def tiles(self) -> list[str]:
        bq, bk, D = self.bq, self.bk, self.D
        found = [
            f'q = T.alloc_shared(({bq}, {D}), "float16")',
            f'k = T.alloc_shared(({bk}, {D}), "float16")',
            f'v = T.alloc_shared(({bk}, {D}), "float16")',
            f'score = T.alloc_fragment(({bq}, {bk}), "float32")',
            f'weight = T.alloc_shared(({bq}, {bk}), "float16")',
            f'bias = T.alloc_shared(({bq}, {bk}), "float32")',
            f'out = T.alloc_fragment(({bq}, {D}), "float32")',
        ]
        rows = ("top", "before", "shrink", "part", "total", "more")
        return found + [f'{row} = T.alloc_fragment(({bq},), "float32")' for row in rows]

    # -- statements -----------------------------------------------------------------------------

    def rows(self, line: str) -> Statement:
        return Statement(f"for i in T.Parallel({self.bq}):", [Statement(line)])

    def scores(self, line: str) -> Statement:
        return Statement(f"for i, j in T.Parallel({self.bq}, {self.bk}):", [Statement(line)])

    def outs(self, line: str) -> Statement:
        return Statement(f"for i, j in T.Parallel({self.bq}, {self.D}):", [Statement(line)])

    def start(self) -> list[Statement]:
        least = self.pick("-1e30", '-T.infinity("float32")', "-10.0")
        lines = [
            f"T.copy(Q[h, b * {self.bq}, 0], q)",
            "T.clear(out)",
            "T.clear(total)",
            f"T.fill(top, {least})",
        ]
        if self.chance(0.7):
            lines.append("T.clear(more)")
        return [Statement(line) for line in lines]

    def loop(self) -> Statement:
        turns = f"T.ceildiv({self.length}, {self.bk})"
        bounds = [turns, turns, turns, f"T.min(count, {turns})"]
        if self.mask == "diagonal":
            bounds.append(f"T.min({turns}, T.ceildiv((b + 1) * {self.bq}, {self.bk}))")
        bound = self.pick(*bounds)
        head = self.pick(
            f"T.serial({bound})", f"T.Pipelined({bound}, num_stages={self.random.randint(0, 3)})"
        )
        body = self.first_product()
        if self.chance(0.3):
            body.append(self.scores(f"score[i, j] = {self.changed()}"))
        body += self.softmax()
        second = [
            Statement(f"T.copy(V[h, n * {self.bk}, 0], v)"),
            Statement(f"T.gemm(weight, v, out{self.pick('', '', ', clear_accum=False')})"),
        ]
        if self.chance(0.2):
            body.append(self.extra())
        if self.chance(0.2):
            body.insert(0, second.pop(0))
        return Statement(f"for n in {head}:", body + second)

    def allowed(self) -> str:
        """Whether a score counts."""
        column = f"n * {self.bk} + j"
        if self.mask == "diagonal":
            return f"{column} <= b * {self.bq} + i"
        if self.mask == "tail":
            return f"{column} < {self.length}"
        return f"{column} >= 3"

    def first_product(self) -> list[Statement]:
        found = [Statement(f"T.copy(K[h, n * {self.bk}, 0], k)")]
        product = "T.gemm(q, k, score, transpose_B=True"
        least = self.pick("-1e30", '-T.infinity("float32")')
        if self.mask == "none":
            if self.chance(0.5):
                return [*found, Statement("T.clear(score)"), Statement(product + ")")]
            return [*found, Statement(product + ", clear_accum=True)")]
        if self.chance(0.5):
            initial = f"score[i, j] = T.if_then_else({self.allowed()}, 0.0, {least})"
            return [self.scores(initial), *found, Statement(product + ")")]
        masked = f"score[i, j] = T.if_then_else({self.allowed()}, score[i, j], {least})"
        return [*found, Statement(product + ", clear_accum=True)"), self.scores(masked)]

    def changed(self) -> str:
        """Scores that are more than a product."""
        return self.pick(
            "score[i, j] * 0.5",
            "score[i, j] + j * 0.125",
            "score[i, j] - i * 0.25",
            "score[i, j] + n * 0.5",
            "T.max(score[i, j], -1.0)",
            f"score[i, j] + X[b * {self.bq} + i, n * {self.bk} + j]",
            "score[i, j] + k[j, 0]",
        )

    def softmax(self) -> list[Statement]:
        scale = self.scale
        rate = self.scale if self.chance(0.9) else 0.5
        found = [Statement("T.copy(top, before)")]
        if self.chance(0.7):
            found.append(Statement("T.reduce_max(score, top, dim=1, clear=False)"))
        else:
            found.append(Statement("T.reduce_max(score, part, dim=1)"))
            found.append(self.rows("top[i] = T.max(before[i], part[i])"))
        if self.chance(0.5):
            shrink = f"T.exp((before[i] - top[i]) * {rate})"
            weight = f"T.exp((score[i, j] - top[i]) * {scale})"
        else:
            shrink = f"T.exp2(before[i] * {rate} - top[i] * {rate})"
            weight = f"T.exp2(score[i, j] * {scale} - top[i] * {scale})"
        found += [
            self.rows(f"shrink[i] = {shrink}"),
            self.scores(f"score[i, j] = {weight}"),
        ]
        if self.chance(0.1):
            found.append(self.scores(f"score[i, j] = {self.changed()}"))
        total = "total[i] * shrink[i]" if self.chance(0.93) else "total[i]"
        rest = [
            [
                Statement("T.reduce_sum(score, part, dim=1)"),
                self.rows(f"total[i] = {total} + part[i]"),
            ],
            [Statement("T.copy(score, weight)")],
            [self.outs("out[i, j] *= shrink[i]" if self.chance(0.93) else "out[i, j] *= 0.5")],
        ]
        self.random.shuffle(rest)
        return found + [statement for group in rest for statement in group]

    def extra(self) -> Statement:
        """Something that the softmax has no use for."""
        return self.pick(
            self.rows("more[i] += part[i]"),
            self.rows("more[i] = more[i] + 1.0"),
            self.rows("more[i] = T.max(more[i], shrink[i])"),
            self.rows("more[i] = n"),
            self.rows("total[i] = total[i] + n"),
            Statement(f"T.copy(score, W[h, b * {self.bq}, n * {self.bk}])"),
            Statement("T.reduce_max(score, more, dim=1, clear=False)"),
            Statement("T.copy(score, bias)"),
        )

    def end(self) -> list[Statement]:
        more = self.pick("more[i]", "top[i] + total[i]", "top[i] + total[i]")
        if self.chance(0.1):
            more = self.pick("part[i]", "shrink[i]")
        found = [
            self.outs(self.pick("out[i, j] /= total[i]", "out[i, j] = out[i, j] / total[i]")),
            self.rows(f"more[i] = {more}"),
            Statement(f"T.copy(more, E[h, b * {self.bq}])"),
        ]
        if self.chance(0.05):
            found.append(Statement(f"T.copy(bias, W[h, b * {self.bq}, 0])"))
        return [*found, Statement(f"T.copy(out, O[h, b * {self.bq}, 0])")]
