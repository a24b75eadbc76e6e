# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What happens where a kernel under the interpreter comes to `breakpoint()`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# NumPy is imported where it is used: it takes as long as all the rest of an import.


def numpy_type(name: str) -> Any:
    """The type of NumPy, or of ml_dtypes for the floats that NumPy lacks."""
    import numpy as np

    if hasattr(np, name):
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))


def variables(block: Sequence[int], visible: Sequence[Any]) -> dict[str, Any]:
    """Tensors and tiles as arrays, scalar variables as numbers, by their names in the kernel.

    `block` is the block's index in the grid, as a tuple (x, y, z). The arrays are copies.
    """
    import numpy as np

    found: dict[str, Any] = {"block": tuple(block)}
    for name, element, shape, data in visible:
        array = np.frombuffer(data, dtype=numpy_type(element)).reshape(shape)
        found[name.replace(".", "_")] = array.copy() if shape else array.reshape(())[()]
    return found


def stop(location: tuple[str, int, int], block: Sequence[int], visible: Sequence[Any]) -> None:
    """Calls Python's breakpoint() in a frame at the kernel's line that holds its variables.

    So sys.breakpointhook and PYTHONBREAKPOINT decide what opens: pdb, or the debugger of an IDE.
    """
    file, line, _ = location
    code = "\n" * max(line - 2, 0) + "breakpoint()\npass"
    exec(
        compile(code, file or "<kernel>", "exec"),
        {"__name__": "kernel", **variables(block, visible)},
    )
