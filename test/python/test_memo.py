# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels remembered in the process: whatever a kernel depends on may change between two calls."""

from __future__ import annotations

import argparse
import importlib
import linecache
import sys
import textwrap
import threading
import types

import numpy as np
import pytest

from tilewright.fingerprint import Fingerprint

pytest.importorskip("tilewright._core")

#: A module that each test writes and changes. `size` is what the kernel adds.
HEAD = """
import tilewright as tilelang
import tilewright.language as T
"""
KERNEL = """
@tilelang.jit(out_idx=-1)
def make(n):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(n):
                B[i] = A[i] + {size}

    return kernel
"""


@pytest.fixture(autouse=True)
def interpreter(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_ENGINE", "interpreter")


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module of the user's and imports it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made: list[str] = []

    def write(name: str, text: str) -> types.ModuleType:
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
        importlib.invalidate_caches()
        made.append(name)
        return importlib.import_module(name)

    yield write
    for name in made:
        sys.modules.pop(name, None)


def user(module, before: str, size: str, **words: str) -> types.ModuleType:
    return module("users", HEAD + textwrap.dedent(before) + KERNEL.format(size=size))


def added(kernel) -> float:
    return float(kernel(np.zeros(4, np.float32))[0])


#: Name -> what stands before the kernel, what it adds, a change, and the sums before and after.
CHANGES = {
    "global": ("N = 1", "N", "N = 2", 1, 2),
    "sign of zero": ("N = 0.0", "(3 if str(N)[0] == '-' else 4)", "N = -0.0", 4, 3),
    "type of a number": ("N = 1", "(1 if type(N) is int else 2)", "N = True", 1, 2),
    "list": ("N = [1]", "N[0]", "N[0] = 2", 1, 2),
    "nested dictionary": ("N = {'a': {'b': 1}}", "N['a']['b']", "N['a']['b'] = 2", 1, 2),
    "order of a dictionary": (
        "N = {'a': 1, 'b': 2}",
        "next(iter(N.values()))",
        "N['a'] = N.pop('a')",
        1,
        2,
    ),
    "helper": ("def f(): return 1", "f()", "def f(): return 2", 1, 2),
    "helper's default": ("def f(x=1): return x", "f()", "f.__defaults__ = (2,)", 1, 2),
    "helper's keyword": ("def f(*, x=1): return x", "f()", "f.__kwdefaults__ = {'x': 2}", 1, 2),
    "helper's global": ("N = 1\ndef f(): return N", "f()", "N = 2", 1, 2),
    "helper's helper's global": (
        "N = 1\ndef g(): return N\ndef f(): return g()",
        "f()",
        "N = 2",
        1,
        2,
    ),
    "same code, other closure": (
        "def outer(n):\n    def f(): return n\n    return f\nf = outer(1)",
        "f()",
        "f = outer(2)",
        1,
        2,
    ),
    "variable of a closure": (
        "def outer():\n    n = 1\n    def f(): return n\n    def to(v):\n        nonlocal n\n"
        "        n = v\n    return f, to\nf, to = outer()",
        "f()",
        "to(2)",
        1,
        2,
    ),
    "partial": (
        "import functools\ndef g(x): return x\nf = functools.partial(g, 1)",
        "f()",
        "f = functools.partial(g, 2)",
        1,
        2,
    ),
    "remembering helper": (
        "import functools\nN = 1\n@functools.lru_cache\ndef f(): return N",
        "f()",
        "f.cache_clear(); N = 2",
        1,
        2,
    ),
    "class": ("class C:\n    N = 1", "C.N", "C.N = 2", 1, 2),
    "base class": ("class B:\n    N = 1\nclass C(B): pass", "C.N", "B.N = 2", 1, 2),
    "object": (
        "class C: pass\nc = C()\nc.n = 1",
        "c.n",
        "c.n = 2",
        1,
        2,
    ),
    "object with slots": (
        "class C:\n    __slots__ = ('n',)\nc = C()\nc.n = 1",
        "c.n",
        "c.n = 2",
        1,
        2,
    ),
    "frozen object replaced": (
        "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass C:\n    n: int\nc = C(1)",
        "c.n",
        "c = C(2)",
        1,
        2,
    ),
    "method": (
        "class C:\n    def f(self): return 1\nc = C()",
        "c.f()",
        "def g(self): return 2\nC.f = g",
        1,
        2,
    ),
    "operator": (
        "class C:\n    def __index__(self): return 1\nimport operator\nc = C()",
        "operator.index(c)",
        "def g(self): return 2\nC.__index__ = g",
        1,
        2,
    ),
    "property": (
        "N = 1\nclass C:\n    @property\n    def n(self): return N\nc = C()",
        "c.n",
        "N = 2",
        1,
        2,
    ),
    "name space": (
        "import types\nc = types.SimpleNamespace(n=1)",
        "c.n",
        "c.n = 2",
        1,
        2,
    ),
    "command line": (
        "import argparse\nc = argparse.Namespace(n=1)",
        "c.n",
        "c.n = 2",
        1,
        2,
    ),
    "list of a library": (
        "import collections\nN = collections.deque([1])",
        "N[0]",
        "N[0] = 2",
        1,
        2,
    ),
    "array": (
        "import numpy\nN = numpy.array([1, 5])",
        "int(N[0])",
        "N[0] = 2",
        1,
        2,
    ),
    "environment": (
        "import os\nos.environ['USERS_N'] = '1'",
        "int(os.environ['USERS_N'])",
        "os.environ['USERS_N'] = '2'",
        1,
        2,
    ),
    "getenv": (
        "import os\nos.environ['USERS_N'] = '1'",
        "int(os.getenv('USERS_N'))",
        "os.environ['USERS_N'] = '2'",
        1,
        2,
    ),
    "name put together": ("N_1 = 1", "globals()['N_' + str(1)]", "N_1 = 2", 1, 2),
    "attribute put together": (
        "class C:\n    n_1 = 1",
        "getattr(C, 'n_' + str(1))",
        "C.n_1 = 2",
        1,
        2,
    ),
    "name that hides a builtin": ("", "max(1, 2)", "def max(a, b): return 7", 2, 7),
    "macro": (
        "N = 1\n@T.macro\ndef f(x): return x + N",
        "f(0)",
        "N = 2",
        1,
        2,
    ),
    "another macro": (
        "@T.macro\ndef f(x): return x + 1",
        "f(0)",
        "@T.macro\ndef g(x): return x + 2\nf = g",
        1,
        2,
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen(module, monkeypatch, name):
    before, size, change, first, second = CHANGES[name]
    monkeypatch.setenv("USERS_N", "")  # restored afterwards
    users = user(module, before, size)
    kernel = users.make(4)
    assert users.make(4) is kernel and added(kernel) == first
    text = "import tilewright as tilelang, tilewright.language as T\n" + change
    # Functions that are traced need a source.
    linecache.cache["<change>"] = (len(text), None, text.splitlines(keepends=True), "<change>")
    exec(compile(text, "<change>", "exec"), vars(users))
    assert added(users.make(4)) == second


def test_a_module_by_its_attributes(module):
    config = module("config", "N = 1\nOTHER = 1\n")
    users = user(module, "import config", "config.N")
    kernel = users.make(4)
    config.OTHER = 5  # no function names it
    assert users.make(4) is kernel
    config.N = 2
    assert added(users.make(4)) == 2


def test_a_module_imported_by_the_kernel_itself(module):
    config = module("config", "N = 1\n")
    users = user(module, "def f():\n    import config\n    return config.N", "f()")
    assert added(users.make(4)) == 1
    config.N = 2
    assert added(users.make(4)) == 2
    users = module(
        "users2",
        HEAD + "def f():\n    from config import N\n    return N\n" + KERNEL.format(size="f()"),
    )
    assert added(users.make(4)) == 2
    config.N = 3
    assert added(users.make(4)) == 3


def test_a_module_that_is_loaded_again(module, tmp_path):
    helper = module("helper", "def f():\n    return 1\n")
    users = user(module, "import helper", "helper.f()")
    assert added(users.make(4)) == 1
    (tmp_path / "helper.py").write_text("def f():\n    return 1 + 1\n")
    importlib.reload(helper)
    assert added(users.make(4)) == 2
    (tmp_path / "users.py").write_text(HEAD + "import helper\n" + KERNEL.format(size="7"))
    assert added(importlib.reload(users).make(4)) == 7


EAGER = """
KIND = "float32"

@tilelang.jit
def make(A):
    A: T.Tensor((4,), KIND)
    B = T.empty((4,), "float32")
    with T.Kernel(1):
        for i in T.Parallel(4):
            B[i] = T.cast(A[i], "float32")
    return B
"""


@pytest.mark.parametrize("future", ["", "from __future__ import annotations"])
def test_names_of_annotations_alone(module, future):
    users = module("users", future + HEAD + EAGER)
    first = users.make.compile()
    assert first.parameters[0]["dtype"] == "float32"
    users.KIND = "float16"
    assert users.make.compile().parameters[0]["dtype"] == "float16"


def test_annotations_of_the_inner_kernel_as_texts(module):
    text = "from __future__ import annotations\n" + HEAD + "KIND = 'float32'\n"
    text += KERNEL.format(size="1").replace(
        'A: T.Tensor((n,), "float32")', "A: T.Tensor((n,), KIND)"
    )
    users = module("users", text)
    assert users.make(4).parameters[0]["dtype"] == "float32"
    users.KIND = "float16"
    assert users.make(4).parameters[0]["dtype"] == "float16"


def test_arguments_are_compared_by_content(module):
    text = (HEAD + KERNEL).replace("make(n)", "make(n, more)").format(size="more.n")
    users = module("users", text)
    more = argparse.Namespace(n=1)
    first = users.make(4, more)
    assert users.make(4, argparse.Namespace(n=1)) is first
    more.n = 2
    assert added(users.make(4, more)) == 2
    assert users.make(4, argparse.Namespace(n=1)) is first


def test_what_is_too_large_to_compare_is_not_remembered(module):
    users = user(module, "import numpy\nN = numpy.ones(100_000)", "int(N[0])")
    assert added(users.make(4)) == 1
    users.N[0] = 2
    assert added(users.make(4)) == 2
    assert users.make(4) is not users.make(4)


def test_local_names_are_not_global_ones(module):
    """The large array has the name of a tile."""
    text = HEAD + "import numpy\na = numpy.ones(100_000)\n" + KERNEL.format(size="a[0]")
    users = module("users", text.replace("        with T.", "        a = [1]\n        with T."))
    kernel = users.make(4)
    assert users.make(4) is kernel


def test_things_that_refer_to_themselves(module):
    users = user(module, "N = [1]\nN.append(N)\nclass C: pass\nc = C()\nc.me = c", "N[1][1][0]")
    kernel = users.make(4)
    assert users.make(4) is kernel
    users.N[0] = 2
    assert added(users.make(4)) == 2


def test_tensors_of_a_library(module):
    torch = pytest.importorskip("torch")
    users = user(module, "import torch\nN = torch.ones(2)", "int(N[0])")
    kernel = users.make(4)
    assert users.make(4) is kernel
    users.N[0] = 2
    assert added(users.make(4)) == 2
    users.N = torch.full((2,), 3)
    assert added(users.make(4)) == 3


def test_logger_and_types_do_not_count(module):
    before = "import logging, torch\nlog = logging.getLogger('x')\nKIND = torch.float32"
    pytest.importorskip("torch")
    users = user(module, before, "(log.debug('x') or 1 if KIND else 2)")
    kernel = users.make(4)
    assert users.make(4) is kernel


def test_a_chip_file_that_changes(module, tmp_path, monkeypatch):
    from pathlib import Path

    chips = Path(__file__).resolve().parents[2] / "tilewright" / "machine" / "chips"
    chip = tmp_path / "mine.json"
    chip.write_text((chips / "910b3.json").read_text())
    monkeypatch.setenv("TILEWRIGHT_CHIP", str(chip))
    users = user(module, "", "1")
    kernel = users.make(4)
    assert users.make(4) is kernel
    chip.write_text((chips / "910b3.json").read_text() + "\n")
    assert users.make(4) is not kernel


def test_the_tuner_sees_changes_too(module, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_ENGINE", "simulator")
    text = (
        HEAD
        + "N = 1\nCONFIGS = [{'threads': 128}]\n@tilelang.autotune(configs=lambda *_: CONFIGS)\n"
    )
    text += KERNEL.strip().replace("make(n)", "make(n, threads=1)").format(size="N")
    users = module("users", text)
    kernel = users.make(4)
    assert users.make(4) is kernel and added(kernel) == 1
    users.N = 2
    assert added(users.make(4)) == 2
    second = users.make(4)
    users.CONFIGS = [{"threads": 64}]
    assert users.make(4) is not second


def test_threads_find_the_same(module):
    """What one thread has half compared is nothing to another."""
    users = user(
        module, "DEEP = [[[k] * 20 for k in range(20)] for _ in range(20)]", "DEEP[0][0][0]"
    )
    fingerprint = Fingerprint(users.make.function)
    expected = fingerprint(4)
    wrong: list[object] = []

    def ask() -> None:
        for _ in range(30):
            if fingerprint(4) != expected:
                wrong.append(threading.current_thread())

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert wrong == []


def test_finding_a_kernel_is_cheap(module):
    """Comparing is done again at each call, so it must not grow with the program."""
    users = user(module, "N = list(range(100))\nT2 = T", "N[1]")
    users.make(4)
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        users.make(4)
    finally:
        sys.setprofile(None)
    assert calls < 400
