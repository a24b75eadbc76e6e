# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernel that is being built. Thin: every check and promotion is in the C++ builder."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ..dtypes import PACKED, DType, check_supported, check_usable, dtype
from .symbols import Symbolic, size_text, size_tokens

if TYPE_CHECKING:
    from .buffer import Buffer, TensorType
    from .expr import Expr

_local = threading.local()


class NoBuilderError(RuntimeError):
    """A kernel statement ran outside a kernel."""


def active() -> Builder | None:
    """The innermost builder of this thread, or None."""
    stack = getattr(_local, "stack", None)
    return stack[-1] if stack else None


def current() -> Builder:
    """The innermost builder of this thread; raises NoBuilderError outside a kernel."""
    found = active()
    if found is None:
        raise NoBuilderError(
            "error[E0102]: this T.* statement works only inside a kernel: in a function under "
            "@T.prim_func, @T.macro or @tilelang.jit"
        )
    return found


class Builder:
    """Builds one kernel function; a context manager that makes itself current."""

    def __init__(self, name: str) -> None:
        from .. import _core

        self.name = name
        self.core = _core.KernelBuilder(name)
        #: Names used by the kernel that only Expert authors use ("alloc_ub", "Scope", ...).
        self.expert_names: set[str] = set()
        self.by_core = False  #: inside T.Cores
        self.outputs: list[Buffer] = []
        #: Tensors that the runtime provides and no call returns: T.alloc_global, views of tensors.
        self.aliases: list[Buffer] = []
        self.parameter_names: set[str] = set()

    def __enter__(self) -> Builder:
        stack = getattr(_local, "stack", None)
        if stack is None:
            stack = _local.stack = []
        stack.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _local.stack.remove(self)

    # -- places ---------------------------------------------------------------------------------

    def set_location(
        self, file: str, line: int, col: int = 0, end_line: int = 0, end_col: int = 0
    ) -> None:
        """Source position of what is built next."""
        self.core.set_location(file, line, col)

    # -- parameters -----------------------------------------------------------------------------

    def add_tensor_param(self, name: str, annotation: TensorType) -> Buffer:
        self.parameter_names.add(name)
        return self._tensor(name, annotation.shape, annotation.dtype, False)

    def add_output(self, name: str, shape: Any, element: Any) -> Buffer:
        """A tensor that the runtime allocates and the call returns (T.empty)."""
        found = self._tensor(name, shape, dtype(element), True)
        self.outputs.append(found)
        return found

    def add_scratch(self, shape: Any, element: Any) -> Buffer:
        """A tensor that the runtime allocates for each call (T.alloc_global)."""
        found = self._tensor(f"global{len(self.aliases)}", shape, dtype(element), True)
        self.aliases.append(found)
        return found

    def add_scalar_param(self, name: str, element: Any) -> Expr:
        from .expr import Expr

        self.parameter_names.add(name)
        return Expr(self.core.add_scalar(name, check_supported(dtype(element))))

    def _tensor(self, name: str, shape: Any, element: DType, output: bool) -> Buffer:
        from .buffer import Buffer

        dims = [size_tokens(d) for d in shape]
        for position, tokens in enumerate(dims):
            if tokens is None:
                raise TypeError(
                    f"error[E0301]: dimension {position} of tensor {name} is {shape[position]!r}; "
                    "a shape holds Python integers and sizes made by T.dynamic, T.symbolic or "
                    "T.const"
                )
        sizes = tuple(_plain(d) for d in shape)
        if check_usable(element) in PACKED:
            from .packed import BYTE, FourBitTensor

            halved = size_tokens(shape[-1] // 2)
            core = self.core.add_tensor(name, BYTE, [*dims[:-1], halved], output, element)
            return FourBitTensor(core, sizes, element)
        return Buffer(self.core.add_tensor(name, element, dims, output), sizes)

    def size(self, symbolic: Symbolic) -> Expr:
        """The run-time value of a symbolic size."""
        from .expr import Expr

        return Expr(self.core.size(list(symbolic.tokens)))

    # -- control flow ---------------------------------------------------------------------------

    def begin_if(self, cond: Any) -> None:
        from .expr import to_value

        self.core.begin_if(to_value(cond))

    def begin_else(self) -> None:
        self.core.begin_else()

    def end_if(self) -> None:
        self.core.end_if()

    def begin_while(self) -> None:
        """Starts the part of a while loop that computes its condition."""
        self.core.begin_while()

    def while_condition(self, cond: Any) -> None:
        """Ends the condition; what follows is the loop's body."""
        from .expr import to_value

        self.core.while_condition(to_value(cond))

    def end_while(self) -> None:
        self.core.end_while()

    def assert_(self, cond: Any, msg: str = "") -> None:
        from .expr import to_value

        self.core.assert_op(to_value(cond), str(msg))

    def finish(self) -> Any:
        """Checks the whole function and gives its module; the builder is used up."""
        return self.core.finish()


def _plain(size: Any) -> Any:
    """A dimension as users see it: int or Symbolic."""
    return size if isinstance(size, Symbolic) else int(size)


def shape_text(shape: Any) -> str:
    """A shape for messages."""
    return "(" + ", ".join(size_text(size_tokens(d) or (repr(d),)) for d in shape) + ")"
