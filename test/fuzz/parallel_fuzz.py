# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random `tile.parallel` programs, interpreted before and after tile-vectorize-parallel.

    python test/fuzz/parallel_fuzz.py --bin build/bin --count 200

Prints the seeds that differ and keeps their programs. Exit status 1 if there are any.
"""

import argparse
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

EXTENT = 24  # of every tile dimension; indices of 2 * iv + 1 and iv + 8 stay inside
FLOATS = ["f32", "f16", "bf16"]
INTS = ["i32", "i8", "i64"]
GLOBAL, TILE, LOCAL = "#tile.scope<global>", "#tile.scope<shared>", "#tile.scope<local>"


class Buffer:
    def __init__(self, name: str, rank: int, element: str, scope: str) -> None:
        self.name, self.rank, self.element, self.scope = name, rank, element, scope
        self.type = f"memref<{f'{EXTENT}x' * rank}{element}, {scope}>"
        self.scalar = re.sub(r"^[su]i", "i", element)


class Program:
    """Text of one function; values are (name, type)."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.depth = 1
        self.counter = 0
        self.ivs: list[tuple[str, int]] = []  # name, least upper bound
        self.uniforms: list[str] = []
        self.variables: list[Buffer] = []
        self.values: list[tuple[str, str]] = []
        self.nesting = 0

    def emit(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    def new(self) -> str:
        self.counter += 1
        return f"%v{self.counter}"

    def op(self, text: str) -> str:
        name = self.new()
        self.emit(f"{name} = {text}")
        return name

    def constant(self, value: object, kind: str) -> str:
        return self.op(f"arith.constant {value} : {kind}")

    def index(self, value: int) -> str:
        return self.constant(value, "index")

    # Indices. Tiles need indices that are in bounds, tensors take any.

    def inside(self) -> str:
        """An index in [0, EXTENT) for every lane."""
        pick = self.random.random()
        if not self.ivs or pick < 0.08:
            return self.index(self.random.randrange(EXTENT))
        iv, bound = self.random.choice(self.ivs)
        if pick < 0.14 and len(self.ivs) > 1:
            other = self.random.choice([other for other, _ in self.ivs if other != iv])
            twice = self.op(f"arith.muli {iv}, {self.index(self.random.choice([1, 2]))} : index")
            return self.op(f"arith.addi {twice}, {other} : index")
        if pick < 0.55:
            return iv
        if pick < 0.7:
            return self.op(
                f"arith.addi {iv}, {self.index(self.random.randint(0, EXTENT - bound))} : index"
            )
        if pick < 0.75:
            return self.op(f"arith.subi {self.index(bound - 1)}, {iv} : index")
        if pick < 0.8:
            twice = self.op(f"arith.muli {iv}, {self.index(2)} : index")
            return self.op(f"arith.addi {twice}, {self.index(self.random.randint(0, 1))} : index")
        if pick < 0.87:
            return self.op(
                f"arith.floordivsi {iv}, {self.index(self.random.choice([2, 3, 4]))} : index"
            )
        if pick < 0.93:
            return self.op(f"arith.remsi {iv}, {self.index(self.random.choice([2, 3, 4]))} : index")
        table = self.random.choice([b for b in self.buffers if b.element == "i32" and b.rank == 1])
        loaded = self.load(table, [iv])
        wide = self.op(f"arith.index_cast {loaded} : i32 to index")
        return self.op(f"arith.remui {wide}, {self.index(EXTENT)} : index")

    def anywhere(self) -> str:
        base = self.inside()
        if self.random.random() < 0.5:
            return base
        offset = self.random.choice([self.index(self.random.randint(-6, 20)), "%off"])
        return self.op(f"arith.addi {base}, {offset} : index")

    def indices(self, buffer: Buffer) -> list[str]:
        make = self.anywhere if buffer.scope == GLOBAL else self.inside
        if self.ivs and buffer.rank == len(self.ivs) and self.random.random() < 0.6:
            return [iv for iv, _ in self.ivs]
        return [make() for _ in range(buffer.rank)]

    def load(self, buffer: Buffer, indices: list[str]) -> str:
        pad = (
            " {pad = 2.0 : f64}"
            if buffer.scope == GLOBAL and buffer.element != "i1" and self.random.random() < 0.2
            else ""
        )
        return self.op(
            f"tile.load {buffer.name}[{', '.join(indices)}]{pad} : {buffer.type} -> {buffer.scalar}"
        )

    # Values.

    def convert(self, value: str, have: str, want: str) -> str:
        if have == want:
            return value
        width = {
            "f32": 32,
            "f16": 16,
            "bf16": 16,
            "i1": 1,
            "i8": 8,
            "i32": 32,
            "i64": 64,
            "index": 64,
        }
        isFloat = have in FLOATS
        if want == "i1":
            if isFloat:
                return self.op(f"arith.cmpf ogt, {value}, {self.constant('0.0', have)} : {have}")
            return self.op(f"arith.cmpi ne, {value}, {self.constant(1, have)} : {have}")
        if have == "index" or want == "index":
            if isFloat or want in FLOATS:
                middle = self.convert(value, have, "i32")
                return self.convert(middle, "i32", want)
            if have == "i1":
                return self.op(f"arith.index_castui {value} : i1 to index")
            return self.op(f"arith.index_cast {value} : {have} to {want}")
        if isFloat and want in FLOATS:
            if width[have] == width[want]:
                return self.convert(self.convert(value, have, "f32"), "f32", want)
            name = "extf" if width[want] > width[have] else "truncf"
            return self.op(f"arith.{name} {value} : {have} to {want}")
        if isFloat:
            return self.op(
                f"arith.{self.random.choice(['fptosi', 'fptoui'])} {value} : {have} to {want}"
            )
        if want in FLOATS:
            name = "uitofp" if have == "i1" or self.random.random() < 0.2 else "sitofp"
            return self.op(f"arith.{name} {value} : {have} to {want}")
        if width[want] > width[have]:
            return self.op(
                f"arith.{self.random.choice(['extsi', 'extui'])} {value} : {have} to {want}"
            )
        return self.op(f"arith.trunci {value} : {have} to {want}")

    def leaf(self, kind: str) -> str:
        pick = self.random.random()
        usable = [v for v, t in self.values if t == kind]
        if usable and pick < 0.15:
            return self.random.choice(usable)
        if pick < 0.6:
            buffer = self.random.choice(self.buffers)
            return self.convert(self.load(buffer, self.indices(buffer)), buffer.scalar, kind)
        if pick < 0.7 and self.variables:
            buffer = self.random.choice(self.variables)
            loaded = self.op(f"tile.load {buffer.name}[] : {buffer.type} -> {buffer.scalar}")
            return self.convert(loaded, buffer.scalar, kind)
        if pick < 0.85 and self.ivs:
            return self.convert(self.random.choice(self.ivs)[0], "index", kind)
        if kind in FLOATS:
            return self.constant(self.random.choice(["0.5", "-1.25", "2.0", "0.0"]), kind)
        if kind == "i1":
            return self.condition()
        return self.constant(self.random.randint(-7, 7) if kind != "i1" else 1, kind)

    def value(self, kind: str, depth: int = 2) -> str:
        if depth == 0 or self.random.random() < 0.2:
            return self.leaf(kind)
        pick = self.random.random()
        if kind == "i1":
            return self.condition()
        if pick < 0.12:
            a, b = self.value(kind, depth - 1), self.value(kind, depth - 1)
            return self.op(f"arith.select {self.condition()}, {a}, {b} : {kind}")
        if pick < 0.22:
            return self.convert(
                self.value(other := self.random.choice(FLOATS + INTS), depth - 1), other, kind
            )
        if pick < 0.3 and self.nesting < 2:
            return self.ifValue(kind)
        a = self.value(kind, depth - 1)
        if kind in FLOATS:
            if pick < 0.5:
                name = self.random.choice(
                    [
                        "math.exp",
                        "math.absf",
                        "arith.negf",
                        "math.floor",
                        "math.tanh",
                        "math.erf",
                        "math.roundeven",
                        "math.ceil",
                        "math.cos",
                    ]
                )
                return self.op(f"{name} {a} : {kind}")
            name = self.random.choice(
                ["addf", "subf", "mulf", "divf", "maximumf", "minnumf", "maxnumf", "minimumf"]
            )
            return self.op(f"arith.{name} {a}, {self.value(kind, depth - 1)} : {kind}")
        if pick < 0.4 and kind != "index":
            return self.op(f"math.{self.random.choice(['absi', 'ctpop'])} {a} : {kind}")
        name = self.random.choice(
            [
                "addi",
                "subi",
                "muli",
                "divsi",
                "divui",
                "remsi",
                "remui",
                "floordivsi",
                "andi",
                "ori",
                "xori",
                "maxsi",
                "maxui",
                "minsi",
                "minui",
                "shli",
                "shrsi",
                "shrui",
            ]
        )
        b = self.value(kind, depth - 1)
        if name.startswith("sh"):
            b = self.op(f"arith.andi {b}, {self.constant(7, kind)} : {kind}")
        return self.op(f"arith.{name} {a}, {b} : {kind}")

    def condition(self) -> str:
        pick = self.random.random()
        compare = self.random.choice(["slt", "sle", "sgt", "sge", "eq", "ne"])
        if pick < 0.4 and self.ivs:
            iv, bound = self.random.choice(self.ivs)
            limit = self.random.choice([self.index(self.random.randint(-1, bound + 1)), "%limit"])
            return self.op(f"arith.cmpi {compare}, {iv}, {limit} : index")
        if pick < 0.55 and len(self.ivs) >= 2:
            (a, _), (b, _) = self.random.sample(self.ivs, 2)
            shifted = self.op(f"arith.addi {a}, {self.random.choice(['%off', '%id'])} : index")
            return self.op(f"arith.cmpi {compare}, {shifted}, {b} : index")
        if pick < 0.7:
            a, b = self.condition(), self.condition()
            return self.op(f"arith.{self.random.choice(['andi', 'ori', 'xori'])} {a}, {b} : i1")
        kind = self.random.choice(FLOATS + INTS)
        a, b = self.leaf(kind), self.leaf(kind)
        if kind in FLOATS:
            names = ["oeq", "une", "olt", "oge", "ogt", "ole", "ult", "uno", "ord", "one", "ueq"]
            return self.op(f"arith.cmpf {self.random.choice(names)}, {a}, {b} : {kind}")
        return self.op(
            f"arith.cmpi {self.random.choice([compare, 'ult', 'uge'])}, {a}, {b} : {kind}"
        )

    def scoped(self, body) -> None:
        """Runs `body` one level deeper; values made there stay there."""
        values = list(self.values)
        self.depth += 1
        self.nesting += 1
        body()
        self.depth -= 1
        self.nesting -= 1
        self.values = values

    def ifValue(self, kind: str) -> str:
        condition, name = self.condition(), self.new()
        self.emit(f"{name} = scf.if {condition} -> ({kind}) {{")
        self.scoped(lambda: self.emit(f"scf.yield {self.value(kind, 1)} : {kind}"))
        self.emit("} else {")
        self.scoped(lambda: self.emit(f"scf.yield {self.value(kind, 1)} : {kind}"))
        self.emit("}")
        return name

    # Statements.

    def store(self) -> None:
        if self.variables and self.random.random() < 0.15:
            buffer = self.random.choice(self.variables)
            self.storeTo(buffer, [])
            return
        buffer = self.random.choice(self.buffers)
        self.storeTo(buffer, self.indices(buffer))

    def storeTo(self, buffer: Buffer, indices: list[str]) -> None:
        value = self.value(buffer.scalar)
        place = f"{buffer.name}[{', '.join(indices)}]"
        self.emit(f"tile.store {value}, {place} : {buffer.scalar}, {buffer.type}")

    def guarded(self) -> None:
        """A load or store that is in bounds under its condition only."""
        iv = self.random.choice(self.ivs)[0]
        shift = self.random.randint(1, 3)
        tile = self.random.choice([b for b in self.buffers if b.scope == TILE and b.rank == 1])
        condition = self.op(f"arith.cmpi sge, {iv}, {self.index(shift)} : index")
        if self.random.random() < 0.3:
            condition = self.op(f"arith.andi {condition}, {self.condition()} : i1")
        self.emit(f"scf.if {condition} {{")

        def body() -> None:
            moved = self.op(f"arith.subi {iv}, {self.index(shift)} : index")
            value = self.load(tile, [moved])
            self.emit(f"tile.store {value}, {tile.name}[{iv}] : {tile.scalar}, {tile.type}")

        self.scoped(body)
        self.emit("}")

    def atomic(self) -> None:
        buffer = self.random.choice([b for b in self.buffers if b.element in ("f32", "i32")])
        indices = self.indices(buffer)
        ones = ", ".join([self.index(1) for _ in indices])
        kind = self.random.choice(["sum", "max", "min"])
        value = self.value(buffer.scalar)
        box = f"{buffer.name}[{', '.join(indices)}] [{ones}] : {buffer.type}"
        self.emit(f"tile.atomic <{kind}> ({box}) scalar {value} : {buffer.scalar}")

    def statement(self) -> None:
        pick = self.random.random()
        if pick < 0.5 or self.nesting > 2:
            self.store()
        elif pick < 0.55:
            kind = self.random.choice(FLOATS + INTS)
            self.values.append((self.value(kind), kind))
        elif pick < 0.62:
            self.guarded()
        elif pick < 0.68:
            self.atomic()
        elif pick < 0.85:
            self.emit(f"scf.if {self.condition()} {{")
            self.scoped(self.block)
            if self.random.random() < 0.5:
                self.emit("} else {")
                self.scoped(self.block)
            self.emit("}")
        elif pick < 0.93:
            self.loop()
        else:
            self.parallel()

    def loop(self) -> None:
        iv, name, acc, kind = self.new(), self.new(), self.new(), self.random.choice(["f32", "i32"])
        start, end, step = self.index(0), self.index(self.random.randint(0, 3)), self.index(1)
        if self.random.random() < 0.15 and self.ivs:
            end = self.op(f"arith.minsi {self.random.choice(self.ivs)[0]}, {self.index(3)} : index")
        initial = self.value(kind, 1)
        self.emit(
            f"{name} = scf.for {iv} = {start} to {end} step {step} "
            f"iter_args({acc} = {initial}) -> ({kind}) {{"
        )

        def body() -> None:
            self.values.append((acc, kind))
            self.values.append((iv, "index"))
            self.block()
            more = self.op(
                f"arith.{'addf' if kind == 'f32' else 'addi'} {acc}, {self.value(kind, 1)} : {kind}"
            )
            self.emit(f"scf.yield {more} : {kind}")

        self.scoped(body)
        self.emit("}")
        self.values.append((name, kind))

    def block(self) -> None:
        for _ in range(self.random.randint(1, 2)):
            self.statement()

    def parallel(self) -> None:
        if len(self.ivs) > 2:
            return
        count = self.random.choice([1, 2, 2, 3]) if not self.ivs else 1
        ivs, extents = [], []
        for _ in range(count):
            bound = self.random.choice([1, 4, 6, 8, 8])
            extent = self.index(bound)
            if self.random.random() < 0.25:
                extent = self.op(f"arith.minsi {extent}, %n : index")
            ivs.append((self.new(), bound))
            extents.append(extent)
        self.emit(f"tile.parallel ({', '.join(iv for iv, _ in ivs)}) in ({', '.join(extents)}) {{")
        outer, variables, nested = self.ivs, self.variables, bool(self.ivs)
        self.ivs = outer + ivs
        if nested:
            self.variables = []  # one per lane of the inner loop: another meaning
        self.scoped(lambda: [self.statement() for _ in range(self.random.randint(1, 3))])
        self.ivs, self.variables = outer, variables
        self.emit("}")

    def text(self) -> str:
        elements = [
            "f32",
            "f16",
            "i32",
            self.random.choice(["bf16", "i8", "ui8", "ui32", "i64", "si32", "i1"]),
        ]
        tensors = [
            Buffer(f"%g{i}", self.random.choice([1, 2, 2]), e, GLOBAL)
            for i, e in enumerate(elements)
        ]
        tensors.append(Buffer("%g4", 1, "i32", GLOBAL))
        tiles = []
        for i, tensor in enumerate(tensors):
            tiles.append(Buffer(f"%t{i}", tensor.rank, tensor.element, TILE))
        tiles.append(Buffer("%t5", 1, "f32", TILE))
        self.buffers = tensors + tiles
        arguments = ", ".join(f"{t.name}: {t.type}" for t in tensors)
        self.emit("%two = arith.constant 2 : index")
        self.emit("%zero = arith.constant 0 : index")
        self.emit(f"%all = arith.constant {EXTENT} : index")
        self.emit("tile.launch (%id) in (%two) {")
        self.depth += 1
        for tile in tiles:
            self.emit(f'{tile.name} = tile.alloc "t" : {tile.type}')
        boxes = {}
        for tensor, tile in zip(tensors, tiles, strict=False):
            zeros, sizes = ", ".join(["%zero"] * tile.rank), ", ".join(["%all"] * tile.rank)
            boxes[tile] = (
                f"{tile.name}[{zeros}] [{sizes}] : {tile.type}",
                f"{tensor.name}[{zeros}] [{sizes}] : {tensor.type}",
            )
            self.emit(f"tile.copy ({boxes[tile][0]}, {boxes[tile][1]})")
        for i, element in enumerate(self.random.sample(["f32", "i32", "f16"], 1)):
            variable = Buffer(f"%x{i}", 0, element, LOCAL)
            variable.type = f"memref<{element}, {LOCAL}>"
            self.emit(f'{variable.name} = tile.alloc "x" : {variable.type}')
            self.variables.append(variable)
        for _ in range(self.random.randint(1, 3)):
            self.parallel()
        for variable in self.variables:
            loaded = self.op(f"tile.load {variable.name}[] : {variable.type} -> {variable.scalar}")
            final = self.convert(loaded, variable.scalar, "f32")
            self.emit(f"tile.store {final}, %t5[%zero] : f32, {tiles[5].type}")
        for mine, theirs in boxes.values():
            self.emit(f"tile.copy ({theirs}, {mine})")
        self.emit(
            f"tile.copy (%out[%id, %zero] [%c1, %all] : memref<2x{EXTENT}xf32, {GLOBAL}>, "
            f"%t5[%zero] [%all] : {tiles[5].type})"
        )
        self.depth -= 1
        self.emit("}")
        head = (
            f"func.func @main({arguments}, %out: memref<2x{EXTENT}xf32, {GLOBAL}>, "
            "%n: index, %off: index, %limit: index) {\n  %c1 = arith.constant 1 : index\n"
        )
        return head + "\n".join(self.lines) + "\n  return\n}\n"


def run(command: list[str], text: str) -> tuple[int, str, str]:
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def values(output: str) -> str:
    """The printed elements, without checksums: those depend on the bits of a NaN."""
    return re.sub(r" checksum .*", "", output).replace("-nan", "nan")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", default="build/bin", help="folder of the tools")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--plain", action="store_true", help="test the form without whole-tile ops")
    parser.add_argument("--keep", default=None, help="folder for failing programs")
    options = parser.parse_args()
    keep = Path(options.keep or tempfile.mkdtemp(prefix="parallel_fuzz_"))
    keep.mkdir(parents=True, exist_ok=True)
    vectorize = "--tile-vectorize-parallel" + ("=plain" if options.plain else "")
    failures = skipped = fallbacks = 0
    for seed in range(options.seed, options.seed + options.count):
        text = Program(seed).text()
        scalars = [f"--set=6={seed % 9}", f"--set=7={seed % 7 - 2}", f"--set=8={seed % 5 + 1}"]
        runner = [f"{options.bin}/tilewright-run", f"--seed={seed}", *scalars]
        code, before, error = run(runner, text)
        if code != 0:
            skipped += 1
            print(f"seed {seed}: the program itself fails: {error.strip().splitlines()[:1]}")
            (keep / f"{seed}-skipped.mlir").write_text(text)
            continue
        code, lowered, error = run([f"{options.bin}/tilewright-opt", vectorize], text)
        fallbacks += error.count("fallback:")
        problem = ""
        if code != 0:
            problem = "the pass fails: " + "; ".join(error.strip().splitlines()[:2])
        elif "tile.parallel" in lowered:
            problem = "a tile.parallel is left"
        else:
            code, after, error = run(runner, lowered)
            if code != 0:
                problem = "the result fails: " + "; ".join(error.strip().splitlines()[:2])
            elif before != after and values(before) != values(after):
                problem = "other values"
        if problem:
            failures += 1
            (keep / f"{seed}.mlir").write_text(text)
            print(f"seed {seed}: {problem} ({keep / f'{seed}.mlir'})", flush=True)
    print(
        f"{options.count} programs, {failures} failures, {skipped} skipped, {fallbacks} fallbacks"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
