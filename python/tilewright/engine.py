# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilelang.lower`: the compiled program as text."""

from __future__ import annotations

from typing import Any


def lower(function: Any, *_: Any, **options: Any) -> str:
    """Compiles a kernel and gives the text of the final program."""
    from .jit import compile as compile_kernel

    allowed = {k: v for k, v in options.items() if k in ("out_idx", "target", "pass_configs")}
    return compile_kernel(function, **allowed).get_kernel_source()
