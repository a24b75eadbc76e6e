# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random device functions through npu-insert-sync and npu-verify-sync.

    python test/fuzz/sync_fuzz.py --bin build/bin --count 200 [--ids 3] [--mutate]

Prints the seeds that fail and keeps their programs. With --mutate, one flag or barrier at a time is
taken out; those that the checker does not miss are counted. Exit status 1 if a program fails.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

EXTENT = 64  # of every dimension
SLOT_BYTES = 4 * EXTENT * EXTENT


class Buffer:
    def __init__(self, name: str, space: str, slots: int = 1, address: int | None = None) -> None:
        self.name, self.space, self.slots, self.address = name, space, slots, address
        self.type = f"memref<{EXTENT}x{EXTENT}xf32, #npu.space<{space}>>"


class Program:
    """Text of one device function."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.depth = 1
        self.counter = 0
        self.nesting = 0
        self.ivs: list[str] = []
        self.size = self.random.choice([4, 8, 16])
        self.is_cube = self.random.random() < 0.4

    def emit(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    def op(self, text: str) -> str:
        self.counter += 1
        self.emit(f"%v{self.counter} = {text}")
        return f"%v{self.counter}"

    def box(self, buffer: Buffer) -> str:
        row, rows = "%c0", "%c64"
        kind = self.random.random()
        if kind < 0.2:
            row, rows = self.random.choice(["%c0", "%c32"]), "%c32"
        elif kind < 0.3:
            row, rows = self.random.choice(["%half", "%c0"]), "%c32"
        elif kind < 0.45 and self.ivs:
            row, rows = self.op(f"arith.muli {self.random.choice(self.ivs)}, %c32 : index"), "%c32"
        elif kind < 0.5 and self.ivs:
            row, rows = self.random.choice(self.ivs), "%clipped"
        return f"%{buffer.name}[{row}, %c0] [{rows}, %c64] : {buffer.type}"

    def pick(self, space: str) -> Buffer:
        return self.random.choice([b for b in self.buffers if b.space == space])

    def boxes(self, *spaces: str) -> str:
        return "(" + ", ".join(self.box(self.pick(space)) for space in spaces) + ")"

    def access(self) -> None:
        choice = self.random.random
        if self.is_cube:
            kind = choice()
            if kind < 0.35:
                self.emit(
                    f"npu.load {self.boxes('l1', self.random.choice(['gm', 'gm', 'workspace']))}"
                )
            elif kind < 0.4:
                self.emit(f"npu.fill_l1 %zero : f32, {self.boxes('l1')}")
            elif kind < 0.75:
                self.emit(f"npu.mmad {self.boxes('l0c', 'l1', 'l1')} init %true")
            else:
                target = self.random.choice(["gm", "workspace", "l1"])
                self.emit(f"npu.fixpipe {self.boxes(target, 'l0c')}")
            return
        kind = choice()
        if kind < 0.3:
            self.emit(f"npu.load {self.boxes('ub', self.random.choice(['gm', 'gm', 'workspace']))}")
        elif kind < 0.5:
            self.emit(
                f"npu.store {self.boxes(self.random.choice(['gm', 'gm', 'workspace']), 'ub')}"
            )
        elif kind < 0.53:
            self.emit(f"npu.atomic <sum> {self.boxes('gm', 'ub')}")
        elif kind < 0.85:
            maps = ", ".join(["array<i64: 0, 1>"] * 3)
            boxes = self.boxes("ub", "ub", "ub")
            self.emit(f"npu.elementwise <add> {boxes} {{maps = [{maps}]}}")
        elif kind < 0.9:
            self.emit(f"npu.fill %zero : f32, {self.boxes('ub')}")
        else:
            buffer = self.pick(self.random.choice(["ub", "ub", "gm"]))
            at = f"%{buffer.name}[{self.random.choice(['%c0', '%c32', *self.ivs])}, %c0]"
            if choice() < 0.6:
                self.op(f"npu.scalar_load {at} : {buffer.type} -> f32")
            else:
                self.emit(f"npu.scalar_store %zero, {at} : f32, {buffer.type}")

    def advance(self, buffer: Buffer) -> None:
        self.emit(f"npu.advance %{buffer.name} : {buffer.type}")

    def body(self, budget: int) -> None:
        for buffer in self.buffers:
            if buffer.slots > 1 and self.random.random() < 0.4:
                self.advance(buffer)
        while budget > 0:
            kind = self.random.random()
            if kind < 0.12 and self.nesting < 3:
                self.loop(budget // 2)
                budget //= 2
            elif kind < 0.2 and self.nesting < 3:
                self.branch(budget // 2)
                budget //= 2
            elif kind < 0.22 and self.nesting < 3:
                self.while_loop(budget // 2)
                budget //= 2
            elif kind < 0.26:
                rotating = [b for b in self.buffers if b.slots > 1]
                if rotating:
                    self.advance(self.random.choice(rotating))
            else:
                self.access()
            budget -= 1

    def nested(self, budget: int) -> None:
        self.depth += 1
        self.nesting += 1
        self.body(budget)
        self.nesting -= 1
        self.depth -= 1

    def loop(self, budget: int, is_persistent: bool = False) -> None:
        self.counter += 1
        iv = f"%i{self.counter}"
        last = "%t" if is_persistent else self.random.choice(["%t", "%t", "%c3"])
        self.emit(f"scf.for {iv} = %c0 to {last} step %c1 {{")
        if is_persistent:
            self.emit(f"  npu.begin_block {iv}")
        self.ivs.append(iv)
        self.nested(budget)
        self.ivs.pop()
        self.emit("}")

    def branch(self, budget: int) -> None:
        self.emit("scf.if %flag {")
        self.nested(budget)
        if self.random.random() < 0.5:
            self.emit("} else {")
            self.nested(budget)
        self.emit("}")

    def while_loop(self, budget: int) -> None:
        self.emit("scf.while : () -> () {")
        self.depth += 1
        for _ in range(self.random.randint(0, 2)):
            self.access()
        self.emit("scf.condition(%flag)")
        self.depth -= 1
        self.emit("} do {")
        self.nested(budget)
        self.emit("  scf.yield")
        self.emit("}")

    def choose_buffers(self) -> None:
        self.buffers = [Buffer("g0", "gm"), Buffer("g1", "gm"), Buffer("g2", "gm")]
        shares = self.random.random() < 0.3
        for space, most in (
            [("l1", 5), ("l0c", 2), ("workspace", 2)]
            if self.is_cube
            else [("ub", 6), ("workspace", 2)]
        ):
            address = 0
            for number in range(self.random.randint(1, most)):
                slots = self.random.choice([1, 1, 2, 2, 3])
                self.buffers.append(Buffer(f"{space}{number}", space, slots, address))
                address += SLOT_BYTES * slots
                if shares and self.random.random() < 0.4:
                    address -= SLOT_BYTES * self.random.randint(1, slots)

    def text(self, name: str) -> str:
        self.choose_buffers()
        for buffer in self.buffers:
            if buffer.address is not None:
                self.emit(
                    f'%{buffer.name} = npu.alloc "{buffer.name}" {{slots = {buffer.slots} : i64, '
                    f"address = {buffer.address} : i64}} : {buffer.type}"
                )
        for value in [0, 1, 3, 32, 64]:
            self.emit(f"%c{value} = arith.constant {value} : index")
        self.emit("%zero = arith.constant 0.0 : f32")
        self.emit("%true = arith.constant true")
        self.emit("%sub = npu.sub_core_id")
        self.emit("%half = arith.muli %sub, %c32 : index")
        self.emit("%clipped = arith.minsi %t, %c1 : index")
        if self.random.random() < 0.7:
            self.loop(self.size, is_persistent=True)
        else:
            self.body(self.size)
        self.emit("return")
        pointers = ", ".join(f"%g{i}: {self.buffers[i].type}" for i in range(3))
        core = "aic" if self.is_cube else "aiv"
        attributes = f"attributes {{npu.core = #npu.core<{core}>}}"
        head = f"func.func @{name}({pointers}, %t: index, %flag: i1) {attributes} {{"
        return "\n".join([head, *self.lines, "}"])


def run(tool: str, passes: str, text: str) -> tuple[int, str, str]:
    command = [
        tool,
        "--mlir-print-op-generic=false",
        f"--pass-pipeline=builtin.module(func.func({passes}))",
        "-",
    ]
    result = subprocess.run(command, input=text, capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


def mutants(text: str) -> list[str]:
    """The program without one barrier, or without all the sets and waits of one event."""
    lines = text.splitlines()
    result = [
        "\n".join(lines[:i] + lines[i + 1 :])
        for i, line in enumerate(lines)
        if "npu.barrier" in line
    ]
    events = {
        match.group(0)
        for match in re.finditer(
            r"_flag <\w+> to <\w+> id \d+ rotate %\w+|_flag <\w+> to <\w+> id \d+$", text, re.M
        )
    }
    for event in sorted(events):
        if "rotate" not in event:
            result.append("\n".join(line for line in lines if not line.rstrip().endswith(event)))
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default="build/bin")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--ids", type=int, default=8, help="event ids per pair of pipes")
    parser.add_argument("--mutate", action="store_true")
    parser.add_argument("--keep", default=None, help="folder for failing programs")
    options = parser.parse_args()
    keep = Path(options.keep or tempfile.mkdtemp(prefix="sync_fuzz_"))
    keep.mkdir(parents=True, exist_ok=True)
    tool = f"{options.bin}/tilewright-opt"
    insert, verify = (
        f"npu-insert-sync{{ids={options.ids}}}",
        f"npu-verify-sync{{ids={options.ids}}}",
    )
    failures = flags = barriers = fallbacks = tried = survived = 0
    for seed in range(options.seed, options.seed + options.count):
        text = Program(seed).text(f"f{seed}")
        code, output, error = run(tool, insert, text)
        flags += output.count("set_flag")
        barriers += output.count("npu.barrier")
        fallbacks += error.count("fallback:")
        if code == 0:
            code, _, error = run(tool, verify, output)
        if code != 0:
            failures += 1
            (keep / f"{seed}.mlir").write_text(text)
            problem = next(
                (line for line in error.splitlines() if "error:" in line), f"exit status {code}"
            )
            print(f"seed {seed}: {problem} ({keep / f'{seed}.mlir'})", flush=True)
        elif options.mutate:
            for mutant in mutants(output):
                tried += 1
                code, _, error = run(tool, verify, mutant)
                if code == 0:
                    survived += 1
                    (keep / f"{seed}-mutant{survived}.mlir").write_text(mutant)
    print(
        f"{options.count} programs, {failures} failures, "
        f"{flags} flags, {barriers} barriers, {fallbacks} fallbacks"
    )
    if options.mutate:
        print(f"{tried} mutants, {survived} not missed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
