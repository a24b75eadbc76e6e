# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command `tilewright`."""

from __future__ import annotations

import argparse
import contextlib
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from . import __version__
from .catalogue import is_code
from .env import ENGINES, PREFIX, RunSettings
from .errors import ArgumentError, MissingTorchError, TilewrightError

#: Commands that run a script; the words after its name are the script's own.
SCRIPTED = ("run", "explain", "port", "bug-report", "export")
TAKES_VALUE = (
    *("--chip", "--sarif", "--delay", "--trace", "--dump-ir", "--engine", "--opt-level"),
    *("-o", "--output", "--ulp", "--emit", "--hivm", "--form", "--kit", "--budget"),
)
PACKAGE = os.path.dirname(os.path.abspath(__file__))


#: Exit code for a wrong command line; 2 is for what `--check` finds.
USAGE = 64


class Parser(argparse.ArgumentParser):
    """Leaves exit code 2 to findings."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: error[E0910]: {message}\n")


def parser() -> argparse.ArgumentParser:
    top = Parser(
        prog="tilewright",
        description="Compiles and simulates TileLang-style kernels for Ascend NPUs.",
    )
    top.add_argument("--version", action="version", version=f"tilewright {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")
    run = scripted(
        commands, "run", "run a TileLang script or module, unmodified, on the simulated NPU"
    )
    check_options(run)
    run.add_argument("--dump-ir", metavar="DIR", help="write the IR of every stage")
    run.add_argument(
        "--compare",
        action="store_true",
        help="run beside exact arithmetic and name where the kernel departs; exit code 2",
    )
    run.add_argument(
        "--ulp",
        metavar="N",
        help="--compare, with this limit in units in the last place, not 64",
    )
    run.add_argument(
        "--emit",
        choices=("expert",),
        help="print each kernel as Python of its program; the script's output goes to stderr",
    )
    run.add_argument("--engine", choices=ENGINES, help="what runs the kernels (default simulator)")
    explain = scripted(
        commands,
        "explain",
        "say what an error code means; or run a script and say what limits its kernels, and why",
    )
    explain.usage = (
        "tilewright explain [CODE]\n       "
        "tilewright explain [options] (script.py | -m module) [arguments]"
    )
    explain.add_argument(
        "--json",
        action="store_true",
        help="print JSON; the script's own output goes to the error stream",
    )
    explain.add_argument(
        "--ablate", action="store_true", help="also compile without each automatic stage in turn"
    )
    ported = scripted(
        commands, "port", "run a script made for GPUs and say how well its kernels fit the NPU"
    )
    port_options(ported)
    report = scripted(
        commands, "bug-report", "run a script and write all that is needed to run it again to a zip"
    )
    report.add_argument(
        "-o", "--output", metavar="FILE", help="the zip (default tilewright-report-<script>.zip)"
    )
    report.add_argument("--data", action="store_true", help="the tensors of kernel calls too")
    report.add_argument("--check", action="store_true", help="look for races and other faults")
    export = scripted(
        commands, "export", "run a script and write its kernels as text for the published compiler"
    )
    export.add_argument("--hivm", metavar="DIR", help="folder for the texts and launch plans")
    export.add_argument(
        "--form",
        choices=("a", "b", "c", "flags", "planned", "plain"),
        default="a",
        help="a, flags: no addresses (default); b, planned: addresses too; c, plain: neither",
    )
    export.add_argument(
        "--bisheng", action="store_true", help="also run the package ascendnpu-ir on each text"
    )
    export.add_argument(
        "--kit",
        metavar="DIR",
        help="folder for all that a machine with an NPU needs to run and compare the kernels",
    )
    imported = commands.add_parser(
        "import-result", help="put what a kit measured on an NPU beside what was predicted"
    )
    imported.add_argument("file", metavar="DIR", help="the kit, or its result.json")
    simulation = commands.add_parser(
        "simulate", help="run, time and check the program of a text of npu or HIVM"
    )
    simulation.add_argument("file", help="an .mlir file")
    simulation.add_argument("--chip", help="chip to simulate (default 910b3), or a chip file")
    simulation.add_argument("--args", metavar="FILE", help="arguments by name, an .npz file")
    simulation.add_argument(
        *("--size", "-s"),
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="elements of a generated tensor, a symbol of the plan beside the file, or a scalar",
    )
    simulation.add_argument("--seed", type=int, default=0, help="of generated tensors")
    simulation.add_argument("--output", metavar="FILE", help="write all tensors to an .npz file")
    check_options(simulation)
    commands.add_parser("doctor", help="say what is installed, what is missing and what to do")
    for command in (run, explain, ported, report, export):
        script_words(command)
    return top


def port_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--budget",
        type=seconds,
        default=30.0,
        metavar="SECONDS",
        help="time for each kernel's comparison, and again for the search (default 30)",
    )
    command.add_argument("--no-advice", action="store_true", help="look for no other tile sizes")
    command.add_argument(
        "--json",
        action="store_true",
        help="print JSON; the script's own output goes to the error stream",
    )


def seconds(text: str) -> float:
    """A positive number of seconds."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value


def scripted(commands: Any, name: str, text: str) -> argparse.ArgumentParser:
    """A command that runs a script under options of the compiler."""
    usage = f"tilewright {name} [options] (script.py | -m module) [arguments]"
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, usage=usage)
    command.add_argument(
        "--chip", help="chip to compile for and simulate (default 910b3), or a chip file"
    )
    return command


def check_options(command: argparse.ArgumentParser) -> None:
    """What is wanted of a run on the simulator."""
    command.add_argument("--time", action="store_true", help="print predicted times of launches")
    command.add_argument(
        "--check", action="store_true", help="report races and other faults; exit code 2"
    )
    command.add_argument("--sarif", metavar="FILE", help="--check, with findings as SARIF 2.1.0")
    command.add_argument(
        "--delay", type=int, metavar="SEED", help="let instructions take effect out of order"
    )
    command.add_argument("--trace", metavar="FILE", help="write a Perfetto trace of each run")


def script_words(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--opt-level", type=int, choices=(0, 2), help="0: the plain form of every stage"
    )
    command.add_argument(
        "-m", dest="module", action="store_true", help="the next word names a module"
    )
    command.add_argument("target", help=argparse.SUPPRESS)


def split(words: list[str]) -> tuple[list[str], list[str]]:
    """Words up to the script or module of a command, and those that are for the script itself."""
    if not words or words[0] not in SCRIPTED:
        return words, []
    at = 1
    while at < len(words):
        word = words[at]
        if word == "-m" or not word.startswith("-"):
            end = at + (2 if word == "-m" else 1)
            return words[:end], words[end:]
        at += 2 if word in TAKES_VALUE else 1
    return words, []


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["explain"] and (len(words) == 1 or is_code(words[1])):
        return explain_code(words[1:])
    own, rest = split(words)
    options = parser().parse_args(own)
    options.arguments = rest
    if options.command == "doctor":
        from .report.doctor import doctor

        return doctor()
    if options.command == "bug-report":
        from .report.bug_report import bug_report

        return bug_report(options)
    if options.command == "simulate":
        return simulate(options)
    if options.command == "export":
        if not options.hivm and not options.kit:
            late = any(word.split("=")[0] == "--hivm" for word in rest)
            where = "options stand in front of the script, as in" if late else "as in"
            example = f"tilewright export --hivm DIR {options.target}"
            print(
                f"tilewright export: error[E0910]: --hivm DIR is missing; {where} '{example}'",
                file=sys.stderr,
            )
            return USAGE
        return export_kit(options) if options.kit else export(options)
    if options.command == "import-result":
        return import_result(options)
    if options.command == "port":
        return port(options)
    if options.command == "run" and options.emit:
        return emit(options)
    return explain(options) if options.command == "explain" else run(options)


def simulate(options: argparse.Namespace) -> int:
    """Runs a text. Exit codes as for run()."""
    from . import env
    from .hivm.simulate import simulate as run_text
    from .report import session

    sarif = options.sarif and os.path.abspath(options.sarif)
    set_environment(options)
    try:
        code = run_text(options, env.compile_settings().chip)
    except (TilewrightError, OSError, UnicodeDecodeError, ValueError) as error:
        print(f"tilewright: {error}", file=sys.stderr)
        code = 1
    if sarif and (problem := session.write_sarif(sarif)):
        print(f"tilewright: {problem}", file=sys.stderr)
        return code or 1
    return code


def _run_writing(options: argparse.Namespace, folder: str, attach: Callable[[Path], Any]) -> int:
    """Runs a script with a writer of its kernels, which `attach` makes for the folder. The exit
    code is the script's, or 1 when a kernel could not be written."""
    try:
        writer = attach(Path(os.path.abspath(folder)))
        code = run(options)
    except OSError as error:
        print(
            f"tilewright: error[E0914]: {folder} cannot be written: {error.strerror}",
            file=sys.stderr,
        )
        return 1
    print(writer.text(), file=sys.stderr)
    return code or int(writer.failed)


def export(options: argparse.Namespace) -> int:
    """Runs a script and writes its kernels as HIVM text. Exit codes as of _run_writing()."""
    from .hivm import Exporter
    from .report import session

    def attach(folder: Path) -> Exporter:
        exporter = Exporter(folder, options.form, options.bisheng)
        session.compiled.append(exporter)
        return exporter

    return _run_writing(options, options.hivm, attach)


def export_kit(options: argparse.Namespace) -> int:
    """Runs a script and writes a kit of the kernels that it calls. Exit codes as of export()."""
    from .hivm.kit import Kit
    from .report import session

    def attach(folder: Path) -> Kit:
        kit = Kit(folder)
        session.observers.append(kit)
        return kit

    return _run_writing(options, options.kit, attach)


def import_result(options: argparse.Namespace) -> int:
    """Prints predicted and measured times; 1 for what is no result of a kit."""
    from .hivm.kit import import_result as table

    try:
        print(table(Path(options.file)))
    except (TilewrightError, OSError, KeyError, ValueError) as error:
        print(f"tilewright: {error}", file=sys.stderr)
        return 1
    return 0


def emit(options: argparse.Namespace) -> int:
    """Runs a script and prints its kernels as Expert source, one module. The exit code is the
    script's, or 1 where a kernel has no such source."""
    from .report import session

    kernels: list[Any] = []
    session.compiled.append(kernels.append)
    with contextlib.redirect_stdout(sys.stderr):
        code = run(options)
    sources: list[str] = []
    count: dict[str, int] = {}
    for kernel in kernels:
        count[kernel.name] = count.get(kernel.name, 0) + 1
        number = f"_{count[kernel.name]}" if count[kernel.name] > 1 else ""
        name = f"{kernel.name}_kernel{number}" if len(kernels) > 1 else "kernel"
        try:
            source = kernel.expert_source(name)
        except TilewrightError as error:
            print(f"tilewright: {error}", file=sys.stderr)
            code = code or 1
            continue
        header, _, body = source.partition("\n\n\n")
        sources.append(body if sources else f"{header}\n\n\n{body}")
    print("\n\n".join(sources), end="")
    return code


def explain(options: argparse.Namespace) -> int:
    """Runs a script and prints what limits its kernels. The exit code is the script's."""
    from .report import session
    from .report.explain import Explainer

    explainer = Explainer(ablate=options.ablate)
    session.observers.append(explainer)
    with contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext():
        code = run(options)
    print(explainer.to_json() if options.json else explainer.text())
    return code


def port(options: argparse.Namespace) -> int:
    """Runs a script and prints how well its kernels fit. The exit code is the script's."""
    from .report.port_command import port as run_port

    return run_port(options, run, set_environment)


def explain_code(words: list[str]) -> int:
    """Prints the catalogue's entries of error codes; without a code, all titles."""
    from . import catalogue

    if not words:
        print(catalogue.listing())
        return 0
    for word in words:
        try:
            print(catalogue.text(word))
        except ArgumentError as error:
            print(f"tilewright explain: {error}", file=sys.stderr)
            return USAGE
    return 0


def check_text(settings: RunSettings) -> str:
    """What a check without findings says: only the simulator checks."""
    if settings.engine == "interpreter":
        return "nothing was checked, since the interpreter ran the kernels"
    if settings.compare:
        return "nothing was checked, since kernels were compared with exact arithmetic"
    return "nothing found"


def set_environment(options: argparse.Namespace) -> None:
    """Makes the options hold for every kernel and child process: environment variables."""
    given = vars(options)
    if given.get("sarif"):
        given["check"] = True
    values = {name: given.get(name.lower()) for name in ("CHIP", "DELAY", "ENGINE", "OPT_LEVEL")}
    values |= {name: "1" if given.get(name.lower()) else None for name in ("TIME", "CHECK")}
    for name in ("TRACE", "DUMP_IR"):
        values[name] = given.get(name.lower()) and os.path.abspath(given[name.lower()])
    if given.get("compare") or given.get("ulp"):
        values["COMPARE"] = given.get("ulp") or "64"
    values["RUN"] = "1"
    for name, value in values.items():
        if value is not None:
            os.environ[PREFIX + name] = str(value)
    site = str(Path(PACKAGE) / "compat" / "site")
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if site not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([site, *[p for p in paths if p]])


def run(options: argparse.Namespace) -> int:
    """Runs a script or module as `python` would. The exit code is its own, or 2 after findings."""
    sarif = getattr(options, "sarif", None) and os.path.abspath(options.sarif)
    set_environment(options)
    from . import compat

    compat.install()
    sys.argv = [options.target, *options.arguments]
    try:
        if options.module:
            sys.path[0] = os.getcwd()
            runpy.run_module(options.target, run_name="__main__", alter_sys=True)
        else:
            if not Path(options.target).exists():
                print(f"tilewright: error[E0910]: no file {options.target}", file=sys.stderr)
                return 1
            sys.path[0] = str(Path(options.target).resolve().parent)
            runpy.run_path(options.target, run_name="__main__")
        code = 0
    except SystemExit as stop:
        code = exit_status(stop)
    except MissingTorchError as error:
        print(f"tilewright: {error}", file=sys.stderr)
        code = 1
    except Exception as error:
        print_error(error)
        code = 1
    return finish(code, sarif)


def exit_status(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    if isinstance(stop.code, int):
        return stop.code
    print(stop.code, file=sys.stderr)
    return 1


def finish(code: int, sarif: str | None = None) -> int:
    """Writes what is still to be written; 1 when that fails, 2 after findings, else `code`."""
    from .env import run_settings
    from .report import session

    problem = session.write_sarif(sarif) if sarif else ""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more
        problem = problem or f"error[E0914]: standard output cannot be written: {error.strerror}"
    if problem:
        print(f"tilewright: {problem}", file=sys.stderr)
        return code or 1
    settings = run_settings()
    if settings.check and not session.findings and code == 0:
        print(f"check: {check_text(settings)}", file=sys.stderr)
    if settings.compare and not session.findings and code == 0:
        print("compare: nothing departs", file=sys.stderr)
    return code or session.exit_code()


def print_error(error: BaseException) -> None:
    """The traceback of the script's frames; ours are left out for errors of the user's kernel."""
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    text = traceback.TracebackException.from_exception(error)
    hide = isinstance(error, TilewrightError)
    frames = [
        f
        for f in text.stack
        if f.filename not in ("<frozen runpy>",)
        and not f.filename.endswith("/tilewright/cli.py")
        and not (hide and f.filename.startswith(PACKAGE))
    ]
    text.stack = traceback.StackSummary.from_list(frames)
    sys.stderr.write("".join(text.format(chain=not hide)))


if __name__ == "__main__":
    sys.exit(main())
