# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rewriter and the trace runtime, against a builder that records."""

from __future__ import annotations

import linecache
import sys
import textwrap
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import fake_core
import tilewright
import tilewright.language as T
from tilewright.errors import CompileError
from tilewright.frontend import function, macro, prim_func

_texts = 0


@pytest.fixture(autouse=True)
def recording(monkeypatch):
    """Replaces the extension by the recorder."""
    fake = fake_core.module()
    monkeypatch.setattr(tilewright, "_core", fake, raising=False)
    monkeypatch.setitem(sys.modules, "tilewright._core", fake)
    function._core_error.cache_clear()
    yield
    function._core_error.cache_clear()


def log() -> list[str]:
    return fake_core.KernelBuilder.last.log


def body(text: str, parameters: str = "A: T.Tensor((8, 8), 'float16'), n: T.int32", **names):
    """Defines a kernel from text (known to linecache, as in a notebook) and traces it."""
    global _texts
    _texts += 1
    file = f"<kernel {_texts}>"
    source = f"@prim_func\ndef main({parameters}):\n" + textwrap.indent(
        textwrap.dedent(text), "    "
    )
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = {"T": T, "prim_func": prim_func, "macro": macro, **names}
    exec(compile(source, file, "exec"), space)
    return space["main"]


def lines(text: str, *args, **names) -> list[str]:
    body(text, *args, **names)
    return [line.strip() for line in log()][1:]


def message(text: str, *args, **names) -> str:
    with pytest.raises(CompileError) as caught:
        body(text, *args, **names)
    return str(caught.value)


# -- assignment ---------------------------------------------------------------------------------


def test_element_is_read_when_assigned():
    assert lines("x = A[0, 1]\nA[0, 0] = 5\nA[0, 2] = x") == [
        "%0 = load A[0, 1]",
        "store 5 to A[0, 0]",
        "store %0 to A[0, 2]",
    ]


def test_swap_reads_first():
    assert lines("a, b = A[0, 0], A[0, 1]\na, b = b, a\nA[1, 0] = a")[-1] == "store %1 to A[1, 0]"


def test_tile_takes_the_variables_name():
    assert "name tile" in lines("tile = T.alloc_shared((8, 8), 'float16')")


def test_alias_does_not_rename():
    text = "tile = T.alloc_shared((8, 8), 'float16')\nother = tile"
    assert [line for line in lines(text) if line.startswith("name")] == ["name tile"]


def test_variable_is_stored_to():
    found = lines("v = T.alloc_var('int32')\nv = 3\nv += n\nw = v\nv = 4\nA[0, 0] = w")
    assert "store 3 to v[]" in found
    assert found[-1] == "store %2 to A[0, 0]"  # w keeps the value it read


def test_chained_assignment():
    assert lines("A[0, 0] = A[0, 1] = n") == ["store n to A[0, 0]", "store n to A[0, 1]"]


def test_augmented_element_evaluates_its_index_once():
    found = lines("A[n + 1, 0] += 2")
    assert found == [
        "%0 = add n, 1",
        "%1 = load A[%0, 0]",
        "%2 = add %1, 2",
        "store %2 to A[%0, 0]",
    ]


def test_scalar_rebinding_shadows():
    assert lines("t = n - 1\nt = t - 2\nA[0, 0] = t")[-1] == "store %1 to A[0, 0]"


# -- branches -----------------------------------------------------------------------------------


def test_python_condition_traces_one_branch():
    text = """
    if name == "max":
        A[0, 0] = 1
    elif name == "min":
        A[0, 0] = 2
    else:
        raise ValueError("unknown")
    """
    assert lines(text, name="min") == ["store 2 to A[0, 0]"]


def test_run_time_branch():
    text = "if n > 3:\n    A[0, 0] = 1\nelif n > 2:\n    A[0, 0] = 2\nelse:\n    A[0, 0] = 3"
    assert lines(text) == [
        "%0 = gt n, 3",
        "if %0",
        "store 1 to A[0, 0]",
        "else",
        "%1 = gt n, 2",
        "if %1",
        "store 2 to A[0, 0]",
        "else",
        "store 3 to A[0, 0]",
        "end",
        "end",
    ]


def test_else_sees_the_values_from_before():
    text = "x = n\nif n > 3:\n    x = n + 1\nelse:\n    A[0, 0] = x"
    assert "store n to A[0, 0]" in lines(text)


def test_name_assigned_in_a_run_time_branch_is_gone():
    text = message("if n > 3:\n    x = 1\nelse:\n    x = 2\nA[0, 0] = x")
    assert "'x' was assigned inside the `if` at line 3" in text
    assert "T.alloc_var" in text
    assert ":7:" in text and "^" in text


def test_name_unchanged_in_a_branch_survives():
    assert lines("x = n\nif n > 3:\n    A[0, 1] = x\nA[0, 0] = x")[-1] == "store n to A[0, 0]"


def test_logic_and_choice():
    found = lines("if n > 1 and not n > 5 or flag:\n    A[0, 0] = 1 if n == 2 else n", flag=False)
    assert found[:4] == ["%0 = gt n, 1", "%1 = gt n, 5", "%2 = not %1", "%3 = choose %0, %2, False"]
    assert "%5 = choose %4, 1, n" in found or any(line.endswith("1, n") for line in found)


def test_logic_of_python_values_stays_python():
    assert lines("x = None or 3\ny = 0 and 1 / 0\nA[0, 0] = x") == ["store 3 to A[0, 0]"]


def test_chained_comparison_reads_the_middle_once():
    assert lines("A[0, 0] = 0 < A[1, 1] < n")[:1] == ["%0 = load A[1, 1]"]


# -- loops --------------------------------------------------------------------------------------


def test_range_is_a_loop_of_the_kernel():
    assert lines("for i in range(4):\n    A[i, 0] = i") == [
        "for i0 in 0..4 step 1",
        "store i0 to A[i0, 0]",
        "end",
    ]


def test_range_of_run_time_values():
    assert lines("for i in range(1, n, 2):\n    A[i, 0] = 0")[0] == "for i0 in 1..n step 2"


def test_python_iterable_is_unrolled():
    text = "total = 0\nfor k in [1, 2]:\n    total = total + k\nA[0, 0] = total"
    assert lines(text) == ["store 3 to A[0, 0]"]


def test_break_of_an_unrolled_loop():
    text = "for k in (1, 2, 3):\n    if k == 2:\n        break\n    A[0, k] = k"
    assert lines(text) == ["store 1 to A[0, 1]"]


def test_parallel_unpacks():
    assert lines("for i, j in T.Parallel(8, 8):\n    A[i, j] *= 2")[0] == "parallel 8, 8"


def test_value_lost_between_iterations():
    text = message("t = n\nfor i in range(4):\n    A[i, 0] = t\n    t = t + 1")
    assert "'t' is used and then reassigned" in text and "T.alloc_var" in text
    assert ":6:" in text


def test_name_of_a_loop_is_gone_after_it():
    assert "assigned inside the loop" in message("for i in range(4):\n    t = i\nA[0, 0] = t")


def test_name_reassigned_in_each_iteration():
    assert "end" in lines("t = n\nfor i in range(4):\n    t = i * 2\n    A[i, 0] = t")


def test_while_evaluates_its_condition_inside():
    found = lines("v = T.alloc_var('int32')\nwhile v < n:\n    v += 1")
    at = found.index("while")
    assert found[at + 1 :] == [
        "%2 = load v[]",
        "%3 = lt %2, n",
        "condition %3",
        "%4 = load v[]",
        "%5 = add %4, 1",
        "store %5 to v[]",
        "end",
    ]


def test_while_of_python_values_is_unrolled():
    text = "s = 4\nwhile s > 1:\n    A[0, s] = s\n    s //= 2"
    assert lines(text) == ["store 4 to A[0, 4]", "store 2 to A[0, 2]"]


def test_break_on_the_device_is_lowered():
    text = "for i in range(4):\n    if n > i:\n        break\n    A[i, 0] = 1\nA[1, 1] = 7"
    assert [line.strip() for line in lines(text)] == [
        "alloc int32 [] local",
        "store 0 to alloc_var[]",
        "name break_taken",
        "for i0 in 0..4 step 1",
        "%1 = load break_taken[]",
        "%2 = eq %1, 0",
        "if %2",
        "%3 = gt n, i0",
        "if %3",
        "store 1 to break_taken[]",
        "end",
        "%4 = load break_taken[]",
        "%5 = eq %4, 0",
        "if %5",
        "store 1 to A[i0, 0]",
        "end",
        "end",
        "end",
        "store 7 to A[1, 1]",
    ]


def test_continue_and_while():
    text = """
    v = T.alloc_var("int32", 0)
    while v < n:
        v += 1
        if v == 2:
            continue
        A[v, 0] = 1
    """
    found = lines(text)
    at = found.index("store 1 to continue_taken[]")
    assert found[at + 1 : at + 4] == ["end", "%8 = load continue_taken[]", "%9 = eq %8, 0"]


def test_break_in_parallel():
    assert "whose points have no order" in message("for i in T.Parallel(4):\n    break")


# -- with, functions, macros --------------------------------------------------------------------


@pytest.mark.parametrize("target", ["bx", "(bx,)", "(bx, by)"])
def test_kernel_targets(target):
    grid = "4, 2" if "by" in target else "4"
    assert (
        "launch" in lines(f"with T.Kernel({grid}, threads=128) as {target}:\n    A[bx, 0] = 1")[0]
    )


def test_several_contexts_in_one_with():
    text = "with T.Kernel(4, is_npu=True) as (cid, _), T.If(cid > 1), T.Then:\n    A[cid, 0] = 1"
    assert lines(text)[-3:] == ["store 1 to A[bx, 0]", "end", "end"]


def test_nested_function_and_lambda_are_rewritten():
    text = """
    def pick(x):
        if x > 2:
            A[0, 0] = x
        return x + 1
    later = lambda y: y if y > 0 else 0
    A[0, 1] = pick(n)
    A[0, 2] = later(n)
    """
    found = lines(text)
    assert "if %0" in found and any(line.startswith("%3 = choose") for line in found)


def test_closure_and_default_values():
    def make(k, scale=3):
        @prim_func
        def main(A: T.Tensor((k, 8), "float16")):
            A[0, 0] = scale

        return main

    make(4)
    assert log()[-1] == "store 3 to A[0, 0]"


def test_macro_with_values_and_references():
    @macro
    def clip(x, limit, out: T.Ref):
        if x > limit:
            out = limit
        return x + 1

    found = lines("y = clip(n, 3, A[0, 0])\nA[0, 1] = y", clip=clip)
    assert "store 3 to A[0, 0]" in found and found[-1] == "store %1 to A[0, 1]"


def test_macro_inside_a_kernel():
    text = """
    @macro
    def put(buffer, i):
        buffer[i, 0] = 1
    put(A, n)
    """
    assert lines(text) == ["store 1 to A[n, 0]"]


def test_assertions():
    assert lines("assert n > 0, 'positive'")[-1] == "assert %0 positive"
    with pytest.raises(AssertionError, match="never"):
        body("assert 1 > 2, 'never'")


def test_comprehension_makes_tiles():
    text = "tiles = [T.alloc_shared((8,), 'float16') for _ in range(2)]\ntiles[1][0] = n"
    assert len([line for line in lines(text) if line.startswith("alloc")]) == 2


# -- places and errors --------------------------------------------------------------------------


def test_places_are_the_users():
    body("x = n + 1\nA[0, 0] = T.max(x,\n    n)")
    places = fake_core.KernelBuilder.last.places
    assert places[1][1:] == (3, 5)
    assert places[2][1:] == (4, 15)  # the call of T.max


def test_error_of_the_builder_has_a_caret(monkeypatch):
    def refuse(self, *args):
        raise fake_core.BuildError("tiles differ")

    monkeypatch.setattr(fake_core.KernelBuilder, "copy", refuse)
    text = message("t = T.alloc_shared((4, 4), 'float16')\nT.copy(A, t)")
    assert text.splitlines()[0] == "tiles differ"
    assert text.splitlines()[-2].endswith("T.copy(A, t)")
    assert text.splitlines()[-1].endswith("| ^~~~~~~~~~~~")


def test_wrong_call_is_reported_at_the_call():
    text = message("A[0, 0] = T.copy()")
    assert "^" in text and "T.copy misses the argument `src`" in text


def test_users_own_exception_keeps_its_class():
    with pytest.raises(KeyError) as caught:
        body("A[0, 0] = table['b']", table={"a": 1})
    assert any("while building kernel 'main'" in note for note in caught.value.__notes__)


def test_unknown_name_of_the_language():
    with pytest.raises(AttributeError) as caught:
        body("T.no_such_thing(A)")
    assert "no_such_thing" in str(caught.value)


def test_source_that_is_not_available():
    space = {"T": T, "prim_func": prim_func}
    with pytest.raises(CompileError, match="source of function 'main' is not available"):
        exec("@prim_func\ndef main(A: T.Tensor((8,), 'float16')):\n    A[0] = 1", space)


def test_missing_annotation():
    assert "'A' of kernel 'main' has no annotation" in message("A[0] = 1", "A")


def test_text_annotations_use_local_names():
    size = 16

    @prim_func
    def main(A: T.Tensor((size, 8), "float16")):
        A[0, 0] = 1

    assert main.params[0].shape == (16, 8)


def test_run_time_value_steers_python_only_through_statements():
    assert "cannot steer Python" in message("x = [1, 2][0 if bool(n) else 1]")


@pytest.mark.parametrize(
    "text", ["yield n", "for i in range(3):\n    A[0, 0] = 1\nelse:\n    pass"]
)
def test_refused_statements(text):
    assert "^" in message(text)


def test_return_in_a_run_time_branch():
    assert "`return` inside a branch" in message("if n > 2:\n    return\nA[0, 0] = 1")


def test_decorators_can_be_stacked():
    def outer(inner):
        return inner

    @outer
    @prim_func
    def main(A: T.Tensor((8,), "float16")):
        A[0] = 1

    assert main.__name__ == "main"
