# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random vector programs planned for a small memory must compute what they do without sharing.

    python test/fuzz/plan_fuzz.py --bin build/bin --count 100

Each program is planned twice, for the chip as it is and for one whose UB is a fraction of that,
gets barriers everywhere and runs on the simulator; the results must agree, and npu-verify-plan must
accept both plans. Prints the seeds that fail and keeps their programs. Exit status 1 if any does.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHIP = ROOT / "tilewright" / "machine" / "chips" / "910b3.json"
TILE = 1024
GM = "memref<262144xf32, #npu.space<gm>>"
MAPS = "{maps = [" + ", ".join(["array<i64: 0>"] * 3) + "]}"


class Program:
    """Text of one launch; every tile that is read was written on every path before."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.stores = self.loops = 0
        self.tiles = {
            f"t{i}": self.random.choice([1, 1, 2]) for i in range(self.random.randint(5, 10))
        }
        self.ivs: list[str] = ["%block"]
        self.recent: list[str] = []

    def type_of(self, tile: str) -> str:
        return f"memref<{TILE * self.tiles[tile]}xf32, #npu.space<ub>>"

    def box(self, tile: str, size: str) -> str:
        return f"%{tile}[%c0] [{size}] : {self.type_of(tile)}"

    def write(self, written: set[str], indent: str) -> None:
        tile = self.random.choice(sorted(t for t in self.tiles if t[0] == "t"))
        fresh = [t for t in self.recent[-3:] if t in written]
        sources = [t for t in fresh if self.tiles[t] >= self.tiles[tile]]
        kind = self.random.random()
        if kind < 0.45 or not sources:
            at = f"%c{self.random.randrange(8) * TILE}"
            size = f"%c{TILE * self.tiles[tile]}"
            if kind < 0.1:  # filled where it is clipped, then loaded
                other = self.random.choice(self.ivs)
                name = f"%k{len(self.lines)}"
                self.lines += [
                    f"{indent}{name}m = arith.muli {other}, %c100 : index",
                    f"{indent}{name}a = arith.addi {name}m, %c100 : index",
                    f"{indent}{name} = arith.minsi {name}a, {size} : index",
                    f"{indent}{name}c = arith.cmpi ne, {name}, {size} : index",
                    f"{indent}scf.if {name}c {{",
                    f"{indent}  npu.fill %one : f32, ({self.box(tile, size)})",
                    f"{indent}}}",
                ]
                size = name
            self.lines.append(
                f"{indent}npu.load ({self.box(tile, size)}, %A[{at}] [{size}] : {GM})"
            )
        else:
            size = f"%c{TILE * self.tiles[tile]}"
            boxes = ", ".join(
                self.box(t, size)
                for t in [tile, self.random.choice(sources), self.random.choice(sources)]
            )
            fn = self.random.choice(["add", "sub", "max"])
            self.lines.append(f"{indent}npu.elementwise <{fn}> ({boxes}) {MAPS}")
        written.add(tile)
        self.recent.append(tile)

    def store(self, written: set[str], indent: str) -> None:
        fresh = [t for t in self.recent[-3:] if t in written]
        if not fresh:
            return
        tile = self.random.choice(fresh)
        at = f"%s{self.stores}"
        self.lines.append(f"{indent}{at} = arith.constant {self.stores * 2 * TILE} : index")
        self.stores += 1
        size = f"%c{TILE * self.tiles[tile]}"
        self.lines.append(f"{indent}npu.store (%C[{at}] [{size}] : {GM}, {self.box(tile, size)})")

    def carry(self, written: set[str], indent: str) -> None:
        """A loop that hands a tile from turn to turn, which nothing outside of it touches."""
        fresh = [t for t in self.recent[-3:] if t in written and self.tiles[t] == 1]
        if not fresh:
            return
        self.loops += 1
        tile, iv = f"carried{self.loops}", f"%i{self.loops}"
        self.tiles[tile] = 1
        source, size = self.random.choice(fresh), f"%c{TILE}"
        boxes = ", ".join(self.box(t, size) for t in (source, source, tile))
        back = ", ".join(self.box(t, size) for t in (tile, source, source))
        self.lines += [
            f"{indent}scf.for {iv} = %c0 to %c3 step %c1 {{",
            f"{indent}  {iv}l = arith.cmpi ne, {iv}, %c0 : index",
            f"{indent}  scf.if {iv}l {{",
            f"{indent}    npu.elementwise <add> ({boxes}) {MAPS}",
            f"{indent}  }}",
        ]
        self.ivs.append(iv)
        self.body(self.random.randint(2, 5), written, indent + "  ")
        self.ivs.pop()
        self.lines += [
            f"{indent}  npu.elementwise <max> ({back}) {MAPS}",
            f"{indent}}}",
        ]

    def body(self, budget: int, written: set[str], indent: str) -> None:
        while budget > 0:
            budget -= 1
            kind = self.random.random()
            if kind < 0.04 and len(indent) < 8:
                self.carry(written, indent)
            elif kind < 0.15 and len(indent) < 10:
                self.loops += 1
                iv = f"%i{self.loops}"
                turns = self.random.choice(["%c1", "%c2", "%c3"])
                self.lines.append(f"{indent}scf.for {iv} = %c0 to {turns} step %c1 {{")
                self.ivs.append(iv)
                self.body(self.random.randint(2, 6), written, indent + "  ")
                self.ivs.pop()
                self.lines.append(f"{indent}}}")
            elif kind < 0.25 and len(indent) < 10:
                test = f"%b{len(self.lines)}"
                self.lines.append(
                    f"{indent}{test} = arith.cmpi eq, {self.random.choice(self.ivs)}, %c1 : index"
                )
                self.lines.append(f"{indent}scf.if {test} {{")
                then, other = set(written), set(written)
                self.body(self.random.randint(1, 4), then, indent + "  ")
                if self.random.random() < 0.6:
                    self.lines.append(f"{indent}}} else {{")
                    self.body(self.random.randint(1, 4), other, indent + "  ")
                self.lines.append(f"{indent}}}")
                written |= then & other
            elif kind < 0.45:
                self.store(written, indent)
            else:
                self.write(written, indent)

    def text(self) -> str:
        written: set[str] = set()
        self.body(self.random.randint(8, 20), written, "    ")
        self.store(written, "    ")
        host = "memref<262144xf32>"
        constants = sorted({0, 1, 2, 3, 100, *(i * TILE for i in range(9))})
        lines = [
            f'func.func @k(%A: {host} {{tile.name = "A"}},',
            f'             %C: {host} {{tile.name = "C", tile.output}}) {{',
            f"  npu.launch aiv @k_aiv(%A, %C) : {host}, {host}",
            "  return",
            "}",
            f"func.func @k_aiv(%A: {GM}, %C: {GM}) attributes {{npu.core = #npu.core<aiv>}} {{",
            *(f"  %c{c} = arith.constant {c} : index" for c in constants),
            "  %one = arith.constant 1.0 : f32",
            *(f'  %{t} = npu.alloc "{t}" : {self.type_of(t)}' for t in self.tiles),
            "  %id = npu.core_id",
            "  %isFirst = arith.cmpi eq, %id, %c0 : index",
            "  %last = arith.select %isFirst, %c2, %c0 : index",
            "  scf.for %block = %c0 to %last step %c1 {",
            "    npu.begin_block %c0",
            *self.lines,
            "  }",
            "  return",
            "}",
        ]
        return "\n".join(lines) + "\n"


def small_chip(folder: Path, bytes_: int) -> Path:
    chip = json.loads(CHIP.read_text())
    chip["ub_bytes"] = {**chip["ub_bytes"], "value": bytes_, "range": [bytes_, bytes_]}
    path = folder / f"small{bytes_}.json"
    path.write_text(json.dumps(chip))
    return path


def run(tools: Path, source: Path, chip: str) -> tuple[str, str]:
    """Printed result, or an empty string with the message of the planner."""
    passes = (
        f"builtin.module(npu-plan-memory{{chip={chip}}},npu-verify-plan{{chip={chip}}},"
        "func.func(npu-insert-sync{mode=barrier-all}))"
    )
    plan = subprocess.run(
        [tools / "tilewright-opt", source, f"--pass-pipeline={passes}"],
        capture_output=True,
        text=True,
    )
    if plan.returncode:
        return "", plan.stderr
    planned = source.with_suffix(".planned.mlir")
    planned.write_text(plan.stdout)
    result = subprocess.run(
        [tools / "tilewright-sim", planned, "--checksums", "--check", f"--chip={chip}"],
        capture_output=True,
        text=True,
    )
    return result.stdout + result.stderr, plan.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, default=ROOT / "build" / "bin")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="plan-fuzz-"))
    failed = shared = refused = 0
    for seed in range(options.first, options.first + options.count):
        program = Program(seed)
        source = folder / f"{seed}.mlir"
        source.write_text(program.text())
        total = sum(program.tiles.values()) * TILE * 4
        expected, messages = run(options.bin, source, "910b3")
        if not expected or "checksum" not in expected or "finding" in expected:
            print(f"seed {seed}: {source}\n{expected}{messages[:2000]}")
            failed += 1
            continue
        for fraction in (0.85, 0.7, 0.55, 0.4):
            chip = small_chip(folder, max(4096, int(total * fraction) // 32 * 32))
            got, messages = run(options.bin, source, str(chip))
            if not got and "do not fit" in messages:
                refused += 1
                break
            shared += 1
            if got != expected:
                print(f"seed {seed}: {source} with {chip}\n{expected}{got}{messages[:2000]}")
                failed += 1
                break
    print(
        f"{options.count} programs, {shared} shared plans, {refused} did not fit, {failed} failed"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
