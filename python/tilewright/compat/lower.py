# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tilelang.engine.lower`: a module that holds the function of its name, and is called like it."""

from __future__ import annotations

import sys
import types
from typing import Any

from ..engine import lower


class _Callable(types.ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> str:
        return lower(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
__all__ = ["lower"]
