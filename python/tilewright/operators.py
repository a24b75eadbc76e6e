# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of users: macros with a reference meaning, and files of IR."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from . import env
from .frontend import macro
from .frontend.prim_func import Built
from .language.alloc import alloc_shared
from .language.buffer import Buffer, TensorType, operand
from .language.builder import Builder, current
from .language.kernel import Kernel as Launch
from .language.tile_ops import copy


class Operator:
    """Work on tiles with a name, as `@tilelang.operator` or `tilelang.operator_from` makes it."""

    def __init__(
        self, build: Callable[..., Any], name: str, reference: Callable[..., Any] | None
    ) -> None:
        self.build = build
        self.name = name
        self.reference = reference
        self.__doc__ = build.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The statements of the operator, at this place of the kernel."""
        return self.build(*args, **kwargs)

    def run(
        self, inputs: Sequence[Any], outputs: Sequence[tuple[Any, Any]], **kwargs: Any
    ) -> list[np.ndarray]:
        """Runs the operator by itself: arrays in tiles, then tiles of `outputs` (shape, dtype).

        The results are arrays, as the engine of the settings computes them.
        """
        from .jit import compile_built
        from .kernel import Kernel

        arrays = [np.ascontiguousarray(a) for a in inputs]
        kinds = [TensorType(a.shape, str(a.dtype)) for a in arrays]
        with Builder(self.name) as builder:
            code = getattr(self.build, "__code__", None)
            builder.set_location(code.co_filename if code else self.name, 1)
            given = [builder.add_tensor_param(f"in{i}", kind) for i, kind in enumerate(kinds)]
            made = [builder.add_output(f"out{i}", *output) for i, output in enumerate(outputs)]
            with Launch(1):
                tiles = [self._tile(tensor) for tensor in (*given, *made)]
                for tensor, tile in zip(given, tiles, strict=False):
                    copy(tensor, tile)
                with self._part("body"):
                    self(*tiles, **kwargs)
                for tensor, tile in zip(made, tiles[len(given) :], strict=True):
                    copy(tile, tensor)
            built = Built(builder.finish(), bool(builder.expert_names))
        core = compile_built(built, self.name, env.compile_settings())
        found = Kernel(core)(*arrays)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    def _tile(self, tensor: Buffer) -> Buffer:
        return alloc_shared(tensor.shape, tensor.dtype)

    def check(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[tuple[Any, Any]],
        rtol: float = 1e-3,
        atol: float = 1e-3,
        **kwargs: Any,
    ) -> list[np.ndarray]:
        """Runs the operator and holds the results against its reference; gives the results.

        The reference takes the input arrays and gives the outputs in their order. Raises
        AssertionError with the first elements that are further apart than
        atol + rtol * |expected|.
        """
        if self.reference is None:
            raise ValueError(
                f"error[E0462]: operator {self.name} has no reference to be held against; give it "
                "one: reference=function of arrays"
            )
        found = self.run(inputs, outputs, **kwargs)
        with self._part("reference"):
            expected = self.reference(*inputs, **kwargs)
        expected = list(expected) if isinstance(expected, (list, tuple)) else [expected]
        if len(expected) != len(found):
            raise ValueError(
                f"error[E0463]: the reference of operator {self.name} gives {len(expected)} arrays "
                f"for {len(found)} outputs; return one array for each output, in their order"
            )
        for number, (have, want) in enumerate(zip(found, expected, strict=True)):
            if have.shape != np.shape(want):
                raise ValueError(
                    f"error[E0463]: output {number} of operator {self.name} is declared with shape "
                    f"{have.shape}, and the reference gives {np.shape(want)}; change `outputs` or "
                    "the reference"
                )
            np.testing.assert_allclose(
                np.asarray(have, np.float64) if have.dtype.kind == "f" else have,
                np.asarray(want, np.float64) if have.dtype.kind == "f" else want,
                rtol=rtol,
                atol=atol,
                err_msg=f"output {number} of operator {self.name}",
            )
        return found

    @contextmanager
    def _part(self, part: str) -> Iterator[None]:
        """What the user's own code raises here, with a code and the operator's name."""
        try:
            yield
        except Exception as error:
            if "error[E" in str(error):
                raise
            raise RuntimeError(
                f"error[E0463]: the {part} of operator {self.name} raised "
                f"{type(error).__name__}: {error}"
            ) from error

    def __repr__(self) -> str:
        return f"<operator {self.name}>"


def operator(
    function: Callable[..., Any] | None = None, *, reference: Callable[..., Any] | None = None
) -> Any:
    """Makes an operator of a function that takes tiles and is written in the kernel language.

    `reference` is its meaning on NumPy arrays: from the inputs to the outputs.
    """

    def make(body: Callable[..., Any]) -> Operator:
        return Operator(macro(body), body.__name__, reference)

    return make if function is None else make(function)


def operator_from(
    path: str | os.PathLike[str], *, reference: Callable[..., Any] | None = None
) -> Operator:
    """Makes an operator of a file of IR: a function of the tile dialect with open sizes and types.

    Its first lines say what the parameters are (docs/guides/custom-operators.md). Raises OSError
    for a file that cannot be read; what does not fit is an error where the operator is used.
    """
    file = Path(path)
    text = file.read_text()

    def build(*tiles: Any) -> None:
        current().core.inline_template(
            text, str(file), [operand(t, f"a tile of {file.name}") for t in tiles]
        )

    build.__doc__ = f"The operator of {file.name}."
    return Operator(build, file.stem, reference)
