# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The documentation: every snippet and command runs, every generated page is up to date."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
UTILS = ROOT / "utils"


def load(name: str) -> ModuleType:
    """A module of utils/, without leaving that folder on the path."""
    spec = importlib.util.spec_from_file_location(name, UTILS / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(UTILS))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(UTILS))
    return module


doc_blocks = load("doc_blocks")
#: Files that guides tell how to make.
MADE_UP = re.compile(r"fold-clears|FoldClears|/NAME\.")
PAGES = doc_blocks.pages()
ALL_PAGES = sorted([*PAGES, *(ROOT / "docs").glob("d*/*.md")])


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def build_tree() -> Path:
    """The build tree that `tilewright` comes from, or the one where it would be."""
    spec = importlib.util.find_spec("tilewright._core")
    if spec and spec.origin:
        return Path(spec.origin).parents[2]
    return ROOT / "build"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_page_prints_what_it_says(page: Path) -> None:
    text = page.read_text()
    now = doc_blocks.run_page(page, build_tree())
    assert now.splitlines() == text.splitlines(), f"run `make docs` ({name_of(page)})"


@pytest.mark.parametrize("page", ALL_PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), f"{name_of(page)} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_are_named_exist(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    folders = "tilewright|python|test|utils|docs|tools|examples|cmake|bench"
    for name in re.findall(rf"`((?:{folders})/[\w./-]+\.\w+)`", text):
        if not MADE_UP.search(name):
            assert (ROOT / name).exists(), f"{name_of(page)} names {name}"


def test_dialect_pages_are_up_to_date() -> None:
    if not shutil.which("llvm-tblgen-19"):
        pytest.skip("llvm-tblgen 19 is not installed")
    check("gen_dialect_docs.py")


def test_name_table_is_up_to_date() -> None:
    check("gen_api_table.py")


def check(script: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(build_tree() / "python")}
    done = subprocess.run(
        [sys.executable, UTILS / script, "--check"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_passes_page_is_in_the_order_of_the_pipeline() -> None:
    listed = re.findall(r"^## `([\w-]+)`", (ROOT / "docs/passes.md").read_text(), re.M)
    pipeline = (ROOT / "tilewright/passes/Pipelines.cpp").read_text()
    stages = re.findall(r'on(?:Functions|Module)\("((?:tile|convert|npu)-[\w-]+)"', pipeline)

    def workers(names: list[str]) -> list[str]:  # checkers run where there is something to check
        return [name for name in names if "-verify-" not in name]

    assert workers(listed) == workers(stages)
    assert set(listed) == set(stages)


def test_a_skipped_block_needs_a_reason() -> None:
    with pytest.raises(doc_blocks.BlockError, match="reason in words"):
        doc_blocks.blocks('```sh skip="slow"\nls\n```\n')


def test_a_fence_needs_a_language() -> None:
    with pytest.raises(doc_blocks.BlockError, match="names no language"):
        doc_blocks.blocks("```\nls\n```\n")
