# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments that a function does not take: an error that names what it takes.

An ignored keyword would hide a misspelling, so none is. What TileLang's own functions take for GPUs
is listed where our function is defined (`@hints`).
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def hints(*names: str, shown: str = "") -> Callable[[F], F]:
    """Lets a function take keywords that advise a GPU compiler, and drops them.

    Other keywords that it does not have raise TypeError with the nearest name. `shown` is what
    users call the function, where that is not its own name.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            for name in names:
                kwargs.pop(name, None)
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                raise mistake(call, args, kwargs) or error from None

        call.shown = shown  # type: ignore[attr-defined]
        signature = inspect.signature(function)
        extra = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=None) for n in names]
        call.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*signature.parameters.values(), *extra]
        )
        return call  # type: ignore[return-value]

    return decorate


def advice(name: str, known: Sequence[str], otherwise: str) -> str:
    """The end of a message about an unknown name: the nearest known one, then `otherwise`."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    folded = {k.lower().replace("_", ""): k for k in known}
    same = folded.get(name.lower().replace("_", "")) or _ALIASES.get(name)
    found = same if same in known else close[0] if close else None
    if found is None:
        return f"; {otherwise}"
    return f"; did you mean `{found}`? {otherwise[0].upper()}{otherwise[1:]}"


#: Names that other libraries have for the same thing.
_ALIASES = {
    "axis": "dim",
    "axes": "dim",
    "dims": "dim",
    "transA": "transpose_A",
    "transB": "transpose_B",
    "trans_a": "transpose_A",
    "trans_b": "transpose_B",
    "accumulate": "clear_accum",
    "stages": "num_stages",
    "num_warps": "threads",
    "grid": "blocks",
    "element": "dtype",
    "type": "dtype",
    "output": "out_idx",
    "outputs": "out_idx",
}


def mistake(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> TypeError | None:
    """What is wrong with the arguments of a call; None when they fit the function's signature."""
    try:
        signature = inspect.signature(function)
        signature.bind(*args, **kwargs)
    except ValueError:  # a function without a signature
        return None
    except TypeError as error:
        return TypeError(_text(shown_name(function), signature, args, kwargs, str(error)))
    return None


def _text(
    name: str,
    signature: inspect.Signature,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    otherwise: str,
) -> str:
    takes = list(signature.parameters.values())
    keywords = [p.name for p in takes if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    by_place = [p for p in takes if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    allowed = f"it takes {', '.join(keywords)}" if keywords else "it takes no keywords"
    kinds = {"T": "E0123", "tilelang": "E0911"}
    code = f"error[{kinds.get(name.partition('.')[0], 'E0125')}]"
    for given in kwargs:
        if given not in keywords:
            end = advice(given, keywords, allowed)
            return f"{code}: {name} has no argument `{given}`{end}"
    variable = any(p.kind is p.VAR_POSITIONAL for p in takes)
    if len(args) > len(by_place) and not variable:
        return (
            f"{code}: {name} takes at most {len(by_place)} arguments by position, found "
            f"{len(args)}; {allowed}"
        )
    for parameter in by_place[: len(args)]:
        if parameter.name in kwargs:
            return f"{code}: {name} got `{parameter.name}` twice, by position and by name"
    for parameter in takes:
        missing = parameter.name not in kwargs and parameter not in by_place[: len(args)]
        needed = parameter.default is parameter.empty and parameter.name in keywords
        if missing and needed:
            return f"{code}: {name} misses the argument `{parameter.name}`; {allowed}"
    return f"{code}: {name}: {otherwise}"


def shown_name(function: Callable[..., Any]) -> str:
    """The name under which users know a function: T.copy, tilelang.jit."""
    import tilewright
    from tilewright import language

    if shown := getattr(function, "shown", ""):
        return str(shown)

    own = getattr(function, "__name__", type(function).__name__)
    for prefix, place in (("T", language), ("tilelang", tilewright)):
        for name in (own, own.rstrip("_")):
            if vars(place).get(name) is function:
                return f"{prefix}.{name}"
    for name, value in vars(language).items():
        if value is function:
            return f"T.{name}"
    module = getattr(function, "__module__", "") or ""
    if not module.startswith(tilewright.__name__):
        return f"{own}()"
    return f"T.{own}" if module.startswith(language.__name__) else f"tilelang.{own}"
