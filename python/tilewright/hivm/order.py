# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a lowered text is the program that was exported: moves, products and flags in order.

Both texts give, function by function, a list of what they do in the order of their lines: moves and
products by their pipe, flags with pipes and number, barriers of all pipes. Vector instructions are
left out: one may become several, with barriers in between, and they all share a pipe.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: Operations of HIVM, and calls of its library by the start of their names, with their pipe.
OPERATIONS = {
    "load": "MTE2",
    "nd2nz": "MTE2",
    "store": "MTE3",
    "mmadL1": "M",
    "fixpipe": "FIX",
}
CALLS = {
    "load_gm_to_ubuf": "MTE2",
    "nd2nz": "MTE2",
    "store_ubuf_to_gm": "MTE3",
    "mma_tile": "M",
    "fixpipe": "FIX",
}
_FUNCTION = re.compile(r"\bfunc\.func @(\w+)\(")
_CALL = re.compile(r"\bcall @(\w+)\(")
_OPERATION = re.compile(r'"?hivm\.hir\.(\w+)"?(.*)')
_WORDS = re.compile(r"<(?:PIPE_)?(CUBE|VECTOR|S|V|M|MTE1|MTE2|MTE3|FIX|ALL|EVENT_ID\d)>")


def order(text: str) -> list[tuple[str, ...]]:
    """What a text does, in order; each function begins with an entry of its name."""
    found: list[tuple[str, ...]] = []
    for line in text.splitlines():
        if function := _FUNCTION.search(line):
            found.append(("function", function.group(1)))
        elif call := _CALL.search(line):
            pipes = [pipe for start, pipe in CALLS.items() if call.group(1).startswith(start)]
            found += [("move", pipe) for pipe in pipes]
        elif operation := _OPERATION.search(line):
            found += _entry(operation.group(1), operation.group(2))
    return found


def _entry(name: str, rest: str) -> Iterator[tuple[str, ...]]:
    if name in OPERATIONS:
        yield ("move", OPERATIONS[name])
    elif name in ("set_flag", "wait_flag"):
        words = _WORDS.findall(rest)
        pipes = [word for word in words if not word.startswith("EVENT")]
        if '" <{' in rest or "<{" in rest:  # generic: set_pipe, static_event_id, wait_pipe
            pipes = [_value(rest, key) for key in ("set_pipe", "wait_pipe")]
        event = [word for word in words if word.startswith("EVENT")]
        yield (name, *pipes, *(event or ["run time"]))
    elif name in ("sync_block_set", "sync_block_wait"):
        if "<{" in rest:
            words = [_value(rest, key) for key in ("tcore_type", "tpipe", "pipe")]
        else:
            words = _WORDS.findall(rest)[:3]
        flag = re.search(r"flag(?:_id)? = (\d+)", rest)
        yield (name, *words, flag.group(1) if flag else "run time")
    elif name == "pipe_barrier" and "PIPE_ALL" in rest:
        yield (name, "ALL")


def _value(rest: str, key: str) -> str:
    found = re.search(rf"\b{key} = #hivm\.\w+<(?:PIPE_)?(\w+)>", rest)
    return found.group(1) if found else ""


def difference(ours: str, theirs: str) -> str:
    """The first place where the lowered text `theirs` does something else than `ours`; empty if
    there is none."""
    names = {entry[1] for entry in order(ours) if entry[0] == "function"}
    first, second = ([*_inside(text, names), ("the end",)] for text in (ours, theirs))
    for number, (given, found) in enumerate(zip(first, second, strict=False)):
        if given != found:
            place = next((e[1] for e in reversed(first[:number]) if e[0] == "function"), "")
            return f"in @{place}, {' '.join(found)} stands where {' '.join(given)} was"
    return ""


def foreign_address(ours: str, theirs: str) -> str:
    """The first address in a lowered planned text that is neither of the plan nor behind it.

    Behind the plan, from the function's `tilewright.free_ub` on, lie temporaries. Empty if there is
    none.
    """
    plan, found = _addresses(ours), _addresses(theirs)
    for name, (known, free) in plan.items():
        for address, shape in sorted(found.get(name, (set(), 0))[0]):
            places = {place for place, _ in known}
            if address not in places and address < free and not shape.startswith("0x"):
                return f"in @{name}, memref<{shape}> lies at {address}, inside the plan"
    return ""


def _addresses(text: str) -> dict[str, tuple[set[tuple[int, str]], int]]:
    """By function: constant addresses with the shapes there, and the first free byte of UB."""
    result = {}
    for part in re.split(r"(?=\bfunc\.func @)", text)[1:]:
        numbers = dict(re.findall(r"(%\w+) = arith\.constant (\d+) : i64", part))
        casts = re.findall(r'pointer_cast"?\((%\w+)\).*memref<([^,>]+)', part)
        places = {(int(numbers[value]), shape) for value, shape in casts if value in numbers}
        free = re.search(r"tilewright\.free_ub = array<i64: (\d+)", part)
        result[part.split("@", 1)[1].split("(", 1)[0]] = places, int(free.group(1)) if free else 0
    return result


def _inside(text: str, names: set[str]) -> list[tuple[str, ...]]:
    """The entries of the named functions, in the order of their names."""
    parts: dict[str, list[tuple[str, ...]]] = {}
    name = ""
    for entry in order(text):
        if entry[0] == "function":
            name = entry[1]
        parts.setdefault(name, []).append(entry)
    return [entry for name in sorted(names) for entry in parts.get(name, [])]
