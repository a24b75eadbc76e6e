# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The syntax tree of a function, with the positions it has in its file."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import linecache
import types

from ..errors import CompileError, Location, compile_error

#: Fields of statements that hold statements.
BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")


class SourceError(CompileError):
    """The source text of a function cannot be found or read."""


@functools.lru_cache(maxsize=64)
def _parse(filename: str, text: str) -> ast.Module:
    return ast.parse(text, filename)


def _functions(tree: ast.AST, name: str) -> list[ast.FunctionDef]:
    """The functions of that name, in order. Only statements are searched, which is a tenth."""
    found = []
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef) and node.name == name:
            found.append(node)
        inner = [getattr(node, field, ()) for field in BLOCKS]
        stack.extend(child for block in reversed(inner) for child in reversed(block))
    return found


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])


def load(function: types.FunctionType) -> ast.FunctionDef:
    """The `def` of a function. The whole file is parsed, so lines and columns are the file's own.

    Works for files, notebook cells and anything else that linecache knows.
    """
    code = function.__code__
    if code.co_name == "<lambda>":
        raise compile_error(
            "error[E0101]: a lambda cannot be a kernel; write it as a function with `def`",
            Location(code.co_filename, code.co_firstlineno),
        )
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise SourceError(
            f"error[E0101]: the source of function '{function.__name__}' is not available (it "
            f"comes from {code.co_filename!r}); the front end reads a kernel's source, so define "
            "it in a file or a notebook cell, or register the text that was passed to exec() with "
            "linecache"
        )
    try:
        tree: ast.AST = _parse(code.co_filename, "".join(lines))
        candidates = _functions(tree, code.co_name)
    except SyntaxError:
        candidates = _from_block(function)
    found = [n for n in candidates if _first_line(n) == code.co_firstlineno]
    if not found:
        found = [n for n in candidates if n.lineno == code.co_firstlineno]
    if not found:
        raise SourceError(
            f"error[E0101]: function '{function.__name__}' is not at line {code.co_firstlineno} of "
            f"{code.co_filename}: the file has changed since it was imported"
        )
    return found[0]


def load_own(function: types.FunctionType) -> ast.FunctionDef:
    """Like `load`, but a tree that the caller may change."""
    node = load(function)
    filename = function.__code__.co_filename
    first, last = _first_line(node), node.end_lineno or node.lineno
    lines = linecache.getlines(filename, function.__globals__)[first - 1 : last]
    indented = lines[0][:1].isspace()
    text = ("if True:\n" if indented else "") + "".join(lines)
    try:
        tree = ast.parse(text, filename)
    except SyntaxError:  # the lines hold more than the function
        return copy.deepcopy(node)
    ast.increment_lineno(tree, first - 1 - indented)
    found = _functions(tree, node.name)
    return found[0] if found else copy.deepcopy(node)


def _from_block(function: types.FunctionType) -> list[ast.FunctionDef]:
    """Parses the function's own lines only, for files that are not plain Python as a whole."""
    try:
        block, first = inspect.getsourcelines(function)
        indented = block[0][:1].isspace()
        text = ("if True:\n" if indented else "") + "".join(block)
        tree = ast.parse(text, function.__code__.co_filename)
    except (OSError, SyntaxError) as error:
        raise SourceError(
            f"error[E0101]: the source of function '{function.__name__}' cannot be read: {error}"
        ) from None
    ast.increment_lineno(tree, first - 1 - indented)
    return _functions(tree, function.__code__.co_name)
