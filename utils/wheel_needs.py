# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a wheel or an extension needs of the C and C++ libraries of the machine it is loaded on.

    python utils/wheel_needs.py dist/*.whl [--glibc 2.34]

Prints libraries and the newest version of each family of symbols; the exit code is 1 when glibc
must be newer than allowed, or when a library other than those of every Linux is needed.
"""

from __future__ import annotations

import argparse
import re
import struct
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

#: What a wheel may be linked to: the C and C++ libraries, which every Linux with Python has.
ALLOWED = re.compile(r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so\.\d+|ld-linux-[\w-]+\.so\.\d+")
SHT_DYNAMIC, SHT_VERNEED, DT_NEEDED = 6, 0x6FFFFFFE, 1


@dataclass
class Needs:
    """Of one ELF file: libraries by name, and the symbol versions that it asks of each."""

    libraries: list[str] = field(default_factory=list)
    versions: dict[str, list[str]] = field(default_factory=dict)

    def newest(self, family: str) -> tuple[int, ...]:
        """The newest version such as GLIBC_2.34 that is asked for, as numbers; () for none."""
        found = [v for names in self.versions.values() for v in names]
        parts = [v.removeprefix(f"{family}_") for v in found if v.startswith(f"{family}_")]
        return max((numbers(p) for p in parts if p[0].isdigit()), default=())


def numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def needs(data: bytes) -> Needs:
    """Reads an ELF file of 64 bits. ValueError for anything else."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a little-endian ELF file of 64 bits")
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + size * i) for i in range(count)]

    def text(section: int, at: int) -> str:
        start = sections[section][4] + at
        return data[start : data.index(b"\0", start)].decode()

    found = Needs()
    for _, kind, _, _, offset, length, link, info, _, _ in sections:
        if kind == SHT_DYNAMIC:
            for at in range(offset, offset + length, 16):
                tag, value = struct.unpack_from("<QQ", data, at)
                if tag == DT_NEEDED:
                    found.libraries.append(text(link, value))
        elif kind == SHT_VERNEED:
            at = offset
            for _ in range(info):
                _, entries, name, first, following = struct.unpack_from("<HHIII", data, at)
                names = found.versions.setdefault(text(link, name), [])
                entry = at + first
                for _ in range(entries):
                    _, _, _, version, step = struct.unpack_from("<IHHII", data, entry)
                    names.append(text(link, version))
                    entry += step
                at += following
    return found


def extensions(path: Path) -> dict[str, bytes]:
    """The shared objects of a wheel, or the one that `path` is."""
    if path.suffix != ".whl":
        return {path.name: path.read_bytes()}
    with zipfile.ZipFile(path) as wheel:
        return {n: wheel.read(n) for n in wheel.namelist() if n.endswith(".so")}


def problems(found: Needs, glibc: tuple[int, ...]) -> list[str]:
    """What stands against loading it on a machine with that glibc."""
    result = [f"needs {name}" for name in found.libraries if not ALLOWED.fullmatch(name)]
    for library, versions in found.versions.items():
        for version in versions:
            name, _, number = version.partition("_")
            if name == "GLIBC" and number[:1].isdigit() and numbers(number) > glibc:
                result.append(f"needs {version} of {library}")
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="wheels or extensions")
    parser.add_argument("--glibc", default="2.34", help="newest glibc that may be needed")
    options = parser.parse_args()
    bad = 0
    for path in options.files:
        objects = extensions(path)
        if not objects:
            print(f"{path}: holds no extension", file=sys.stderr)
            bad = 1
        for name, data in objects.items():
            found = needs(data)
            newest = [
                f"{family} {'.'.join(map(str, found.newest(family)))}"
                for family in ("GLIBC", "GLIBCXX", "CXXABI", "GCC")
                if found.newest(family)
            ]
            print(
                f"{name}: {len(data) / 2**20:.1f} MiB, {', '.join(found.libraries)}; "
                f"{', '.join(newest)}"
            )
            for problem in problems(found, numbers(options.glibc)):
                print(f"{name}: {problem}", file=sys.stderr)
                bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
