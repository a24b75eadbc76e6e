# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches, loops and `with` of a kernel: by Python, or as regions of the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import compile_error
from ..language import expr as values
from ..language.alloc import alloc_var
from ..language.expr import Expr, Var
from ..language.loops import ParallelFrame, as_loop
from ..language.symbols import Symbolic

if TYPE_CHECKING:
    from .trace import Runtime

ABSENT = object()


#: Turns after which a loop that Python runs while it traces counts as endless.
LONGEST_UNROLLED = 10_000


class Region:
    """Common part of branches and loops: remembers the names they may rebind."""

    def __init__(
        self, runtime: Runtime, place: int, names: tuple[str, ...], scope: Mapping[str, Any]
    ):
        self.runtime = runtime
        self.place = place
        self.names = names
        self.before = {n: scope[n] for n in names if n in scope}
        self.static = True
        self.changed: set[str] = set()

    def had(self, name: str) -> bool:
        return name in self.before

    def old(self, name: str) -> Any:
        return self.before[name]

    def note(self, scope: Mapping[str, Any]) -> None:
        """Records the names whose values are not those from before the region."""
        for name in self.names:
            if scope.get(name, ABSENT) is not self.before.get(name, ABSENT):
                self.changed.add(name)

    def gone(self, scope: Mapping[str, Any], what: str) -> set[str]:
        """Names to unbind after a run-time region; using one later is an error that says why."""
        self.note(scope)
        for name in self.changed:
            self.runtime.lost[name] = (what, self.runtime.locations[self.place].line)
        return {n for n in self.changed if n in scope}


class Branch(Region):
    """`if`: by Python when the condition is a Python value, else a branch of the kernel."""

    then: bool

    def __init__(self, runtime: Runtime, place: int, cond: Any, names: Any, scope: Any) -> None:
        super().__init__(runtime, place, names, scope)
        if values.is_runtime(cond):
            self.static = False
            self.then = True
            runtime.builder.begin_if(cond)
        else:
            self.then = bool(cond)

    def otherwise(self, scope: Mapping[str, Any]) -> bool:
        if self.static:
            return not self.then
        self.note(scope)
        self.runtime.builder.begin_else()
        return True

    def end(self, scope: Mapping[str, Any]) -> set[str]:
        if self.static:
            return set()
        self.runtime.builder.end_if()
        return self.gone(scope, "`if`")


class Guard(Branch):
    """The statements behind a `break` or `continue` that was taken on the device or not."""

    def __init__(self, runtime: Runtime, place: int, loop: Loop, names: Any, scope: Any) -> None:
        cond: Any = True
        for variable in loop.flags.values():
            here = values.compare("eq", variable, 0)
            cond = here if cond is True else values.logical_and(here, cond)
        super().__init__(runtime, place, cond, names, scope)

    def end(self, scope: Mapping[str, Any]) -> set[str]:
        gone = super().end(scope)
        for name in gone:
            line = self.runtime.lost[name][1]
            self.runtime.lost[name] = "part behind `break` or `continue`", line
        return gone


class Loop(Region):
    """`for`: a loop of the kernel over range and the T.* loops, by Python over anything else."""

    def __init__(
        self,
        runtime: Runtime,
        place: int,
        iterable: Any,
        names: Any,
        read_first: Any,
        jumps: tuple[str, ...],
        scope: Any,
    ) -> None:
        super().__init__(runtime, place, names, scope)
        self.read_first = read_first
        self.frame = as_loop(iterable)
        self.static = self.frame is None
        self.iterable = iterable
        self.flags: dict[str, Var] = {}
        if self.static and isinstance(iterable, (Expr, Symbolic)):
            raise TypeError(
                "error[E0114]: a number cannot be iterated; write `for i in T.serial(n)` or `for i "
                "in range(n)`"
            )
        if jumps and isinstance(self.frame, ParallelFrame):
            raise compile_error(
                f"error[E0106]: `{jumps[0]}` in T.Parallel, whose points have no order; use an "
                "`if` around the rest",
                runtime.locations[place],
            )
        self.make_flags(jumps)

    def make_flags(self, jumps: tuple[str, ...]) -> None:
        """One variable of the kernel for each of `break` and `continue` that the body holds."""
        if not self.static:
            for word in jumps:
                self.flags[word] = alloc_var("int32", 0)
                self.flags[word].rename(f"{word}_taken")

    def __iter__(self) -> Iterator[Any]:
        if self.frame is None:
            yield from self.iterable
            return
        # Not a `with`: after an error in the body the builder must not be touched again.
        item = self.frame.__enter__()
        self.start_iteration()
        yield item
        self.frame.__exit__(None, None, None)

    def start_iteration(self) -> None:
        if "continue" in self.flags:
            self.flags["continue"].store(0)

    def jump(self, place: int, word: str, regions: tuple[Region, ...]) -> bool:
        """True when Python itself shall `break` or `continue`."""
        if not self.static:
            self.flags[word].store(1)
            return False
        if any(not r.static for r in regions):
            raise compile_error(
                f"error[E0106]: `{word}` under a condition that is known only on the device, in a "
                "loop over Python values; loop with T.serial or range instead",
                self.runtime.locations[place],
            )
        return True

    def end(self, scope: Mapping[str, Any]) -> set[str]:
        if self.static:
            return set()
        return self.finish(scope, "loop")

    def finish(self, scope: Mapping[str, Any], what: str) -> set[str]:
        gone = self.gone(scope, what)
        carried = [n for n in self.read_first if n in self.changed and n in self.before]
        if carried:
            name = carried[0]
            old = self.before[name]
            kind = getattr(old, "dtype", "float32" if isinstance(old, float) else "int32")
            raise compile_error(
                f"error[E0110]: '{name}' is used and then reassigned in a {what} that runs on the "
                "device, so its new value would be lost at the next iteration; make it a variable "
                f'that keeps its value: {name} = T.alloc_var("{kind}", init=...)',
                self.runtime.assigned_at.get(name) or self.runtime.locations[self.place],
            )
        return gone


class WhileLoop(Loop):
    """`while`: by Python when the condition is a Python value, else a loop of the kernel."""

    def __init__(
        self,
        runtime: Runtime,
        place: int,
        test: Any,
        names: Any,
        read_first: Any,
        jumps: tuple[str, ...],
        scope: Any,
    ) -> None:
        Region.__init__(self, runtime, place, names, scope)
        self.read_first = read_first
        self.test = test
        self.first = test()
        self.static = not values.is_runtime(self.first)
        self.flags = {}
        self.make_flags(jumps)

    def __iter__(self) -> Iterator[None]:
        if self.static:
            cond = self.first
            turns = 0
            while cond:
                turns += 1
                if turns > LONGEST_UNROLLED:
                    raise TypeError(
                        "error[E0113]: this `while` has a Python condition, so its turns are "
                        f"written out, and after {LONGEST_UNROLLED} turns it has not ended; make "
                        "the condition a run-time value with T.alloc_var"
                    )
                yield None
                cond = self.test()
                if values.is_runtime(cond):
                    raise TypeError(
                        "error[E0113]: the condition of this `while` was a Python value first and "
                        "became a run-time value; make it a run-time value from the start with "
                        "T.alloc_var"
                    )
            return
        builder = self.runtime.builder
        builder.begin_while()
        self.runtime.at(self.place)
        if "break" in self.flags:
            cond = values.logical_and(values.compare("eq", self.flags["break"], 0), self.test)
        else:
            cond = self.test()
        builder.while_condition(cond)
        self.start_iteration()
        yield None
        builder.end_while()

    def end(self, scope: Mapping[str, Any]) -> set[str]:
        return set() if self.static else self.finish(scope, "`while` loop")


class Context:
    """`with`: passes through, but an error while unwinding does not hide the first one."""

    def __init__(self, inner: Any, count: int, tuple_target: bool) -> None:
        self.inner = inner
        self.count = count
        self.tuple_target = tuple_target

    def __enter__(self) -> Any:
        value = self.inner.__enter__()
        if self.tuple_target and self.count == 1 and not isinstance(value, (tuple, list)):
            return (value,)
        if not self.tuple_target and isinstance(value, (tuple, list)) and len(value) == 1:
            return value[0]
        return value

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        try:
            return self.inner.__exit__(kind, error, trace)
        except Exception:
            if error is None:
                raise
            return False
