# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled kernels on disk: what hits, what must not, and what broken folders do."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import tilewright as tilelang
import tilewright.language as T

_core = pytest.importorskip("tilewright._core")
CHIPS = Path(__file__).resolve().parents[2] / "tilewright" / "machine" / "chips"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A cache of its own."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", "1")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def shift(offset: int, n: int = 64):
    """A fresh kernel: nothing in the process remembers it."""

    @tilelang.jit(out_idx=-1)
    def make(n):
        @T.prim_func
        def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
            with T.Kernel(1, threads=128):
                a = T.alloc_shared((n,), "float32")
                T.copy(A, a)
                for i in T.Parallel(n):
                    a[i] = a[i] + offset
                T.copy(a, B)

        return kernel

    return make(n)


def result(kernel) -> float:
    found = kernel(np.zeros(64, np.float32))
    assert (found == found[0]).all()
    return float(found[0])


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.twk"))


# -- hits and misses ----------------------------------------------------------------------------


def test_a_hit_is_the_same_kernel(folder, monkeypatch):
    first = shift(3)
    assert first.core.cache_use == "stored" and len(entries(folder)) == 1
    again = shift(3)
    assert again.core.cache_use == "hit" and result(again) == 3
    assert len(entries(folder)) == 1
    for stage in first.stages:
        assert again.text(stage) == first.text(stage), stage
    assert again.remarks == first.remarks and first.remarks
    for fact in ("buffers", "statements", "sync_points"):
        assert getattr(again.core, fact)() == getattr(first.core, fact)()
    monkeypatch.setenv("TILEWRIGHT_TIME", "1")
    for kernel in (first, again):
        result(kernel)
    assert first.last_report == again.last_report


def test_what_a_hit_says_again(folder, monkeypatch, capsys):
    """The row split that saves a plan at level 0 is part of the entry."""
    monkeypatch.setenv("TILEWRIGHT_OPT_LEVEL", "0")
    first, again = shift(1), shift(1)
    assert again.core.cache_use == "hit"
    assert first.stages == again.stages and first.text("npu") == again.text("npu")


@pytest.mark.parametrize(
    ("name", "value"),
    [("OPT_LEVEL", "0"), ("STRICT", "1"), ("DISABLE", "sync"), ("CHIP", "910b1")],
)
def test_each_option_has_an_entry(folder, monkeypatch, name, value):
    shift(3)
    monkeypatch.setenv("TILEWRIGHT_" + name, value)
    assert shift(3).core.cache_use == "stored" and len(entries(folder)) == 2
    assert shift(3).core.cache_use == "hit"


def test_a_changed_number_is_another_kernel(folder):
    shift(3)
    other = shift(4)
    assert other.core.cache_use == "stored" and result(other) == 4
    assert shift(3, 128).core.cache_use == "stored" and len(entries(folder)) == 3


def test_a_changed_chip_file_is_another_chip(folder, monkeypatch, tmp_path):
    chip = tmp_path / "mine.json"
    text = (CHIPS / "910b3.json").read_text()
    chip.write_text(text)
    monkeypatch.setenv("TILEWRIGHT_CHIP", str(chip))
    assert shift(3).core.cache_use == "stored"
    assert shift(3).core.cache_use == "hit"
    chip.write_text(text.replace("A2", "A2 of mine") + "\n")
    assert shift(3).core.cache_use == "stored"


@pytest.mark.parametrize(("name", "value"), [("VERIFY_EACH", "1"), ("DUMP_IR", "here")])
def test_whoever_watches_the_stages_sees_them_run(folder, monkeypatch, tmp_path, name, value):
    shift(3)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILEWRIGHT_" + name, value)
    assert shift(3).core.cache_use == "off"


@pytest.mark.parametrize(
    "switch", [("TILEWRIGHT_CACHE", "0"), ("TILELANG_DISABLE_CACHE", "1"), "disable_cache"]
)
def test_switched_off(folder, monkeypatch, switch):
    if switch == "disable_cache":
        tilelang.disable_cache()
    else:
        monkeypatch.setenv(*switch)
    try:
        assert shift(3).core.cache_use == "off" and not folder.exists()
    finally:
        tilelang.enable_cache()


def test_the_folder_by_its_other_names(monkeypatch, tmp_path):
    monkeypatch.delenv("TILEWRIGHT_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert tilelang.cache.get_cache_dir() == tmp_path / "xdg" / "tilewright"
    monkeypatch.setenv("TILELANG_CACHE_DIR", str(tmp_path / "theirs"))
    assert tilelang.cache.get_cache_dir() == tmp_path / "theirs" / "tilewright"
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "")  # restored afterwards
    tilelang.cache.set_cache_dir(tmp_path / "ours")
    assert tilelang.cache.get_cache_dir() == tmp_path / "ours"
    shift(3)
    assert len(entries(tmp_path / "ours")) == 1


def test_clear_leaves_what_is_not_ours(folder):
    shift(3)
    (folder / "notes.txt").write_text("mine")
    tilelang.cache.clear_cache()
    assert [p.name for p in folder.iterdir()] == ["notes.txt"]
    assert shift(3).core.cache_use == "stored"


def test_bad_size_limit(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_MB", "lots")
    with pytest.raises(ValueError, match="TILEWRIGHT_CACHE_MB='lots' is not an integer"):
        shift(3)


# -- broken entries -----------------------------------------------------------------------------


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) * 2 // 3] ^= 1
    path.write_bytes(content)


def rename_another(path: Path) -> None:
    shift(9)
    other = next(p for p in entries(path.parent) if p != path)
    shutil.copy(other, path)


def other_version(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"tilewright kernel 1", b"tilewright kernel 0", 1))


DAMAGE = {
    "empty": lambda p: p.write_bytes(b""),
    "cut short": cut,
    "one bit": flip,
    "longer": lambda p: p.write_bytes(p.read_bytes() + b"x"),
    "of another kernel": rename_another,
    "of another format": other_version,
    "not ours": lambda p: p.write_text("tilewright kernel\n" * 100),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_broken_entry_is_refused_and_made_anew(folder, damage):
    shift(3)
    (path,) = entries(folder)
    sound = path.read_bytes()
    DAMAGE[damage](path)
    again = shift(3)
    assert again.core.cache_use == "stored" and result(again) == 3
    assert path.read_bytes() == sound  # compiling is deterministic
    assert shift(3).core.cache_use == "hit"


# -- broken folders -----------------------------------------------------------------------------


def test_a_file_in_place_of_the_folder(folder, capsys):
    folder.write_text("")
    kernel = shift(3)
    assert kernel.core.cache_use == "unusable" and result(kernel) == 3
    assert shift(4).core.cache_use == "off"
    said = capsys.readouterr().err
    assert said.count("warning: compiled kernels are not kept on disk: the folder") == 1
    assert "TILEWRIGHT_CACHE_DIR" in said


def test_a_folder_in_place_of_an_entry(folder, capsys):
    shift(3)
    (path,) = entries(folder)
    path.unlink()
    (path / "inside").mkdir(parents=True)
    kernel = shift(3)
    assert kernel.core.cache_use == "unusable" and result(kernel) == 3
    assert "warning: compiled kernels are not kept" in capsys.readouterr().err
    assert [p.name for p in folder.iterdir()] == [path.name]  # nothing is left beside it


def test_a_full_disk(folder, capsys):
    """A limit on the size of files stands in for a disk that takes no more."""
    code = """
    import resource, signal, sys
    import test_disk_cache as t
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    kernel = t.shift(3)
    assert kernel.core.cache_use == "unusable" and t.result(kernel) == 3
    assert t.shift(4).core.cache_use == "off"
    """
    done = child(code)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("warning: compiled kernels are not kept on disk") == 1
    assert "File too large" in done.stderr and not list(folder.iterdir())


def test_a_folder_that_may_only_be_read_still_hits(folder, capsys):
    shift(3)
    folder.chmod(0o500)
    try:
        if os.access(folder, os.W_OK):
            pytest.skip("this user may write everywhere")
        assert shift(3).core.cache_use == "hit"
        assert shift(4).core.cache_use == "unusable"
    finally:
        folder.chmod(0o700)


# -- size ---------------------------------------------------------------------------------------


def test_the_least_recently_used_go_first(folder, monkeypatch):
    """Entries as large as a third of a MiB against a limit of one."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_MB", "1")
    shift(3)
    (used,) = entries(folder)
    old = []
    for number in range(4):
        path = folder / f"{number:064x}.twk"
        path.write_bytes(b"x" * (350 << 10))
        os.utime(path, (1000 + number, 1000 + number))
        old.append(path)
    os.utime(used, (1000, 1000))
    assert shift(3).core.cache_use == "hit"  # is now the newest
    left = folder / "dead.twk-new"
    left.write_text("of a process that was killed")
    os.utime(left, (1000, 1000))
    for number in range(5, 60):  # each process looks at the sum now and then
        shift(number)
    assert used.exists() and not left.exists()
    assert [p.exists() for p in old] == [False, False, True, True]
    assert sum(p.stat().st_size for p in entries(folder)) <= 1 << 20


# -- many processes -----------------------------------------------------------------------------


def child(code: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(code), capture_output=True, text=True, timeout=120, **options)


def command(code: str) -> list[str]:
    here = str(Path(__file__).resolve().parent)
    return [
        sys.executable,
        "-c",
        f"import sys; sys.path.insert(0, {here!r})\n{textwrap.dedent(code)}",
    ]


WORKER = """
import random, sys
import test_disk_cache as t
random.seed(int(sys.argv[1]))
for turn in range(12):
    offset = random.randrange(6)
    kernel = t.shift(offset)
    assert kernel.core.cache_use in ("hit", "stored"), kernel.core.cache_problem
    assert t.result(kernel) == offset
    if turn == 5 and sys.argv[1] in ("0", "8"):
        t.tilelang.cache.clear_cache()
print("done")
"""


def test_sixteen_processes_of_which_some_are_killed(folder):
    """The same and different kernels at once, entries cleared under way; no entry is torn."""
    random.seed(1)
    workers = [
        subprocess.Popen(
            [*command(WORKER), str(number)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(16)
    ]
    killed = random.sample(range(16), 6)
    for number in killed:
        time.sleep(random.uniform(0.02, 0.4))
        workers[number].send_signal(signal.SIGKILL)
    for number, worker in enumerate(workers):
        out, err = worker.communicate(timeout=200)
        if number not in killed:
            assert worker.returncode == 0 and out == "done\n", err
    for offset in range(6):
        kernel = shift(offset)
        assert kernel.core.cache_use in ("hit", "stored") and result(kernel) == offset
    assert len(entries(folder)) == 6
    sizes = {p.stat().st_size for p in entries(folder)}
    assert 0 not in sizes


def test_other_processes_hit(folder):
    """Also from another order of building: the key does not count what was built before."""
    shift(3)
    code = """
    import test_disk_cache as t
    assert t.shift(4).core.cache_use == "stored"
    assert t.shift(3).core.cache_use == "hit"
    """
    done = child(code)
    assert done.returncode == 0, done.stderr
    assert shift(4).core.cache_use == "hit" and len(entries(folder)) == 2
