# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilewright bug-report`: everything that is needed to see a fault again, in one zip."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .. import env

PACKAGES = ("numpy", "ml_dtypes", "torch", "tilelang", "ascendnpu-ir")
#: Seconds that an interrupted script has to end.
PATIENCE = 5
README = """\
Made by `tilewright bug-report`. To run it again, in the folder of this file:

    {command}

report.json   versions, settings, exit code, kernels and the shapes of their arguments
output.txt    what the script printed
files/        the script and the modules of its own that it loaded
ir/           IR of each kernel after every stage; the last file of a folder is where a stage failed
data/         with --data: the tensors that kernels were called with
"""


def bug_report(options: argparse.Namespace) -> int:
    """Runs the script and writes the zip. The exit code is 1 when no report could be written."""
    target = Path(options.target)
    stem = options.target.rpartition(".")[2] if options.module else target.stem
    output = Path(options.output or f"tilewright-report-{stem}.zip").absolute()
    if not options.module and not target.is_file():
        print(f"tilewright: error[E0910]: no file {options.target}", file=sys.stderr)
        return 1
    try:
        # Beside the goal, so that the finished report appears there in one step; and now, so that
        # a folder that cannot be written is known before the script runs.
        handle, aside = tempfile.mkstemp(prefix=".tilewright-report-", dir=output.parent)
    except OSError as error:
        print(f"tilewright: error[E0914]: cannot write {output}: {error.strerror}", file=sys.stderr)
        return 1
    try:
        with os.fdopen(handle, "wb") as file, tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            ran = _run(options, folder)
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                _fill(archive, options, folder, ran)
        os.replace(aside, output)
    except OSError as error:
        print(
            f"tilewright: error[E0914]: cannot write {output}: {error.strerror or error}",
            file=sys.stderr,
        )
        return 1
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside)
    print(f"the script {ran['ended']}; wrote {output}")
    return 0


def _words(options: argparse.Namespace) -> list[str]:
    """The words behind `tilewright run` that repeat this run."""
    words = []
    for name in ("chip", "opt_level"):
        value = getattr(options, name)
        if value is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    words += ["--check"] if options.check else []
    return [*words, *(["-m"] if options.module else []), options.target, *options.arguments]


def _run(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Runs the script in a child process: what it printed, how it ended, how long it took."""
    collect = ["-X", "faulthandler", "-m", "tilewright.report.collect", str(folder)]
    command = [sys.executable, *collect, str(int(options.data)), *_words(options)]
    start = time.monotonic()
    with (folder / "output.txt").open("wb") as sink:
        child = subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT)
        ended = ""
        try:
            code = child.wait()
        except KeyboardInterrupt:
            ended = "was interrupted"
            try:
                code = child.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()
                code = child.wait()
    if not ended:
        ended = f"ended with exit code {code}"
        if code < 0:
            ended = f"was killed by {signal.Signals(-code).name}"
    seconds = round(time.monotonic() - start, 3)
    return {
        "command": ["tilewright", "run", *_words(options)],
        "exit_code": code,
        "ended": ended,
        "seconds": seconds,
    }


def _fill(
    archive: zipfile.ZipFile, options: argparse.Namespace, folder: Path, ran: dict[str, Any]
) -> None:
    notes = _notes(folder / "notes.jsonl")
    files, roots = _sources(options, notes)
    for path, name in files.items():
        archive.write(path, name)
    for part in ("ir", "data"):
        for path in sorted((folder / part).rglob("*")):
            if path.is_file():
                archive.write(path, str(path.relative_to(folder)))
    archive.write(folder / "output.txt", "output.txt")
    report = {
        **ran,
        "versions": _versions(),
        "environment": _environment(),
        "kernels": [note for note in notes if "kernel" in note],
        "files": sorted(files.values()),
    }
    archive.writestr("report.json", json.dumps(report, indent=2) + "\n")
    archive.writestr("README.txt", README.format(command=_command(options, roots)))


def _notes(path: Path) -> list[dict[str, Any]]:
    """What the child wrote down; it may have died in the middle of a line."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        with contextlib.suppress(json.JSONDecodeError):
            found.append(json.loads(line))
    return found


def _sources(
    options: argparse.Namespace, notes: list[dict[str, Any]]
) -> tuple[dict[str, str], list[str]]:
    """The user's files with their names in the zip, and the folders there that hold modules.

    What lies under the script's folder keeps its place; each other folder of the module path
    becomes `path0`, `path1`, ...
    """
    home = os.getcwd() if options.module else str(Path(options.target).resolve().parent)
    files: dict[str, str] = {}
    roots: dict[str, str] = {}
    found = [(note["file"], note["root"]) for note in notes if "file" in note]
    if not options.module:
        found.append((os.path.abspath(options.target), home))
    for path, root in found:
        real = os.path.realpath(path)
        if real.startswith(home.rstrip(os.sep) + os.sep):
            base, folder = home, "files"
        else:
            base = os.path.realpath(root or os.path.dirname(path))
            folder = roots.setdefault(base, f"path{len(roots)}")
        if os.path.isfile(real):
            files[real] = f"{folder}/{os.path.relpath(real, base)}"
    for path in list(files):  # packages need the files that make them packages
        marker = os.path.join(os.path.dirname(path), "__init__.py")
        if os.path.isfile(marker) and marker not in files:
            files[marker] = f"{os.path.dirname(files[path])}/__init__.py"
    return files, list(roots.values())


def _command(options: argparse.Namespace, roots: list[str]) -> str:
    """A line of shell that runs the script of the zip with the same settings."""
    settings = [f"{k}={shlex.quote(v)}" for k, v in _environment().items()]
    if roots:
        settings.append(f"PYTHONPATH={os.pathsep.join(f'../{root}' for root in roots)}")
    words = _words(options)
    if not options.module:
        words[words.index(options.target)] = Path(options.target).name
    return " ".join(["cd files &&", *settings, "tilewright run", shlex.join(words)])


def _environment() -> dict[str, str]:
    """The settings of tilewright and of TileLang."""
    prefixes = (env.PREFIX, "TILELANG_")
    skipped = {env.PREFIX + name for name in ("CACHE_DIR", "RUN", "DUMP_IR")}
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith(prefixes) and name not in skipped
    }


def _versions() -> dict[str, str]:
    found = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "machine": platform.machine(),
    }
    try:
        from .. import _core

        found |= {"compiler": _core.version(), "build": _core.build_id()}
    except ImportError as error:
        found["compiler"] = f"cannot be loaded: {error}"
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
