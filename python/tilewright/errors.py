# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors that users see, and the text that shows the place in their source.

Each message has a code, which `tilewright explain E0411` explains from the catalogue `errors.toml`.
In Python a message begins with `error[E0411]: `, in C++ with `E0411: `.
"""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass

_CODE = re.compile(r"(?:\berror\[(E\d{4})\]|\b(E\d{4})): ")


def with_code(message: str) -> str:
    """The message with its code in front, as `error[E0411]: ...`.

    A message that quotes another one takes the code of that: it names the cause. One without a code
    stays as it is.
    """
    codes = [python or core for python, core in _CODE.findall(message)]
    return f"error[{codes[-1]}]: {_CODE.sub('', message)}" if codes else message


class TilewrightError(Exception):
    """Base of all errors of this package."""

    @property
    def code(self) -> str:
        """The code in the catalogue, such as "E0411"; empty for an error without one."""
        found = _CODE.match(str(self))
        return found[1] if found and found[1] else ""


class CompileError(TilewrightError, ValueError):
    """The kernel cannot be compiled as written. The text names the line and shows a caret."""

    location: Location | None = None


class InternalError(TilewrightError, RuntimeError):
    """A fault of the compiler itself, not of the kernel."""


class ArgumentError(TilewrightError, ValueError):
    """An argument of a call does not fit the kernel's parameter."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument has a wrong type or element type."""


class RunError(TilewrightError, RuntimeError):
    """The kernel stopped: an assertion, a deadlock, an access out of bounds, the watchdog."""


class TimingOnlyError(RunError):
    """Times cannot be told without data: what the kernel does depends on values it computes."""


class NotAvailableError(TilewrightError, NotImplementedError):
    """A name of the TileLang world that has no meaning here."""


class MissingPackageError(TilewrightError, ImportError):
    """`what` needs a package that is not installed; `source` is what pip takes."""

    def __init__(self, what: str, package: str, source: str) -> None:
        super().__init__(
            f"error[E0908]: {what} needs {package}, which is not installed; "
            f'install it with: pip install "{source}"'
        )


class MissingTorchError(MissingPackageError):
    """PyTorch is needed for this and is not installed."""

    def __init__(self, what: str) -> None:
        super().__init__(what, "PyTorch", "tilewright[torch]")


@dataclass(frozen=True)
class Location:
    """A place in the user's source. Lines and columns count from 1; 0 means unknown."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return (
            f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"
        )

    def excerpt(self) -> str:
        """The source line with a caret under the place; empty when the source is unknown."""
        text = linecache.getline(self.file, self.line).rstrip("\n")
        if not text.strip():
            return ""
        stripped = text.lstrip()
        removed = len(text) - len(stripped)
        start = max(self.column - 1 - removed, 0)
        if self.end_line == self.line and self.end_column > self.column:
            width = self.end_column - self.column
        elif self.end_line > self.line:
            width = len(stripped) - start
        else:
            width = 1
        width = max(1, min(width, len(stripped) - start))
        marks = "^" + "~" * (width - 1)
        gutter = f"{self.line:5} | "
        return f"{gutter}{stripped.expandtabs(1)}\n{' ' * (len(gutter) - 2)}| {' ' * start}{marks}"


def describe(message: str, location: Location | None, notes: tuple[str, ...] = ()) -> str:
    """Message, place, excerpt and notes as one text, the form of every compile error."""
    parts = [with_code(message)]
    if location is not None and location.line:
        parts.append(f"  at {location}")
        excerpt = location.excerpt()
        if excerpt:
            parts.append(excerpt)
    parts.extend(notes)
    return "\n".join(parts)


def compile_error(
    message: str,
    location: Location | None = None,
    cause: BaseException | None = None,
    notes: tuple[str, ...] = (),
) -> CompileError:
    """A `CompileError` that is an instance of the cause's class too, so that both can be caught."""
    cls: type[CompileError] = CompileError
    if cause is not None and not isinstance(cause, CompileError):
        kind = type(cause)
        if kind.__module__ == "builtins" and issubclass(kind, Exception):
            try:
                cls = type("CompileError", (CompileError, kind), {"__module__": __name__})
            except TypeError:  # the two classes have different layouts
                cls = CompileError
    error = cls(describe(message, location, notes))
    error.location = location
    return error
