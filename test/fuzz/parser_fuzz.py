# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fuzzes the readers of tile, npu and HIVM text under AddressSanitizer and UBSan.

    cmake --preset fuzz && cmake --build --preset fuzz
    python test/fuzz/parser_fuzz.py [--minutes 60] [--parsers tile,npu,hivm] [--work DIR]
        [--more DIR]

The seeds are the modules of the lit tests, the texts kept in test/fuzz/corpus and those of a folder
with more, such as `bench/hivm_readback.py --keep` fills. A program per
reader (test/fuzz/parser_fuzz.cpp) changes them and aborts on memory errors, undefined behaviour,
more than 2 GiB, a text that takes longer than 20 s, and text that is refused without a place. What
made it abort stays in the work folder: once mended, it belongs into test/fuzz/corpus. Prints the
CPU minutes of each; the exit code is 1 after a find.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "test" / "fuzz" / "corpus"
#: Folders of lit tests that hold text of each reader.
FOLDERS = {
    "tile": ["tile", "interp", "passes"],
    "npu": ["npu", "to_sim", "passes", "to_hivm"],
    "hivm": ["from_hivm"],
}
MOST = 32768  #: bytes of a text
OPTIONS = ["-rss_limit_mb=2048", "-timeout=20", f"-max_len={MOST}", "-len_control=0"]


def seeds(parser: str, folder: Path, more: Path | None) -> int:
    """Writes the seeds of a reader to a folder, a module in each file; their number."""
    kept = sorted((CORPUS / parser).glob("*"))
    if more and parser == "hivm":
        kept += sorted(path for path in more.glob("*.mlir") if path.stat().st_size < MOST)
    texts = [path.read_text() for path in kept]
    for name in FOLDERS[parser]:
        for path in sorted((ROOT / "test" / name).rglob("*.mlir")):
            for part in path.read_text().split("// -----"):
                lines = [line for line in part.splitlines() if not line.lstrip().startswith("//")]
                if any(f"{word}." in part for word in ("tile", "npu", "hivm")):
                    texts.append("\n".join(lines) + "\n")
    for number, text in enumerate(texts):
        (folder / f"seed-{number}").write_text(text)
    return len(texts)


def fuzz(parser: str, minutes: float, work: Path, build: Path, more: Path | None) -> bool:
    """Runs a reader's program for so many CPU minutes; true if nothing was found."""
    corpus, finds = work / parser / "corpus", work / parser / "finds"
    for folder in (corpus, finds):
        folder.mkdir(parents=True, exist_ok=True)
    count = seeds(parser, corpus, more)
    # MLIR's libraries are not instrumented: what containers and allocators say of their memory is
    # true on one side only.
    quiet = "detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0"
    environment = os.environ | {"ASAN_OPTIONS": quiet}
    limit = int(60 * minutes)
    done = subprocess.Popen(
        [
            str(build / "bin" / f"fuzz-{parser}"),
            *OPTIONS,
            f"-artifact_prefix={finds}/",
            f"-max_total_time={10 * limit}",
            str(corpus),
        ],
        env=environment,
        stderr=(work / parser / "log").open("w"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5)),
    )
    _, status, usage = os.wait4(done.pid, 0)
    spent = usage.ru_utime + usage.ru_stime
    found = sorted(path.name for path in finds.iterdir())
    print(
        f"{parser}: {count} seeds, {spent / 60:.1f} CPU minutes, "
        f"{usage.ru_maxrss / 1024:.0f} MiB, finds: {', '.join(found) or 'none'}",
        flush=True,
    )
    timed_out = os.WIFSIGNALED(status) or spent >= limit - 5
    return not found and timed_out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1, help="of CPU time for each reader")
    parser.add_argument("--parsers", default=",".join(FOLDERS))
    parser.add_argument("--work", type=Path, help="folder for corpora, finds and logs")
    parser.add_argument("--more", type=Path, help="folder with more texts of HIVM")
    parser.add_argument("--build", type=Path, default=ROOT / "build-fuzz")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        results = [
            fuzz(name, options.minutes, work, options.build, options.more)
            for name in options.parsers.split(",")
        ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
