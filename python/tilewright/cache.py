# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled kernels that are kept: in the process by what they depend on, on disk by their IR."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

from . import env

#: Endings of the files that the extension makes in the folder.
SUFFIXES = (".twk", ".twk-new")
_enabled = True
_memos: weakref.WeakSet[Memo] = weakref.WeakSet()
#: Folders that a warning was printed about; nothing is kept there by this process.
_unusable: set[str] = set()


class Memo:
    """A thread-safe map from keys to kernels that `clear_cache` empties; None is no key."""

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}
        self.lock = threading.Lock()
        _memos.add(self)

    def get(self, key: Any) -> Any:
        return self.entries.get(key) if _enabled and key is not None else None

    def put(self, key: Any, value: Any) -> None:
        if _enabled and key is not None:
            with self.lock:
                self.entries[key] = value


def clear_cache() -> None:
    """Forgets all compiled kernels, on disk too. Other processes may be using the folder."""
    for memo in list(_memos):
        with memo.lock:
            memo.entries.clear()
    for path in entries():
        path.unlink(missing_ok=True)


def enable_cache() -> None:
    global _enabled
    _enabled = True


def disable_cache() -> None:
    """Every call compiles anew."""
    global _enabled
    _enabled = False


def is_cache_enabled() -> bool:
    return _enabled


def set_cache_dir(path: str | os.PathLike[str]) -> None:
    """Where kernels are kept from now on, by child processes too."""
    os.environ[env.PREFIX + "CACHE_DIR"] = os.path.abspath(path)


def get_cache_dir() -> Path:
    """The folder on disk; it need not exist."""
    return Path(env.cache_settings().folder)


def entries() -> list[Path]:
    """Files of the cache on disk. Those of other programs are left out."""
    try:
        return [p for p in get_cache_dir().iterdir() if p.name.endswith(SUFFIXES)]
    except OSError:
        return []


def disk() -> tuple[str, int]:
    """Folder and size limit in bytes for a compile of now; ("", 0): nothing is kept on disk."""
    settings = env.cache_settings()
    if not _enabled or not settings.enabled or settings.folder in _unusable:
        return "", 0
    return settings.folder, settings.max_bytes


def note_use(core: Any, folder: str) -> None:
    """Warns once when `core` (a `_core.Kernel`) could not be kept in `folder`."""
    if core.cache_use != "unusable" or folder in _unusable:
        return
    _unusable.add(folder)
    print(
        f"warning: compiled kernels are not kept on disk: {core.cache_problem}; name another "
        f"folder with {env.PREFIX}CACHE_DIR, or set {env.PREFIX}CACHE=0",
        file=sys.stderr,
    )


def cached(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Compiles a kernel, remembering the result."""
    from .jit import compile as compile_kernel

    return compile_kernel(function, *args, **kwargs)
