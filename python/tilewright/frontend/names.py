# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which names a stretch of statements assigns, and which it reads before it assigns them."""

from __future__ import annotations

import ast
from collections.abc import Iterable

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


class _Assigned(ast.NodeVisitor):
    """Collects names bound in this scope, in order; nested scopes are not entered."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            self.names[node.id] = None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.names[node.name] = None

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]
    visit_ClassDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_Lambda(self, node: ast.Lambda) -> None:
        pass

    def _comprehension(self, node: ast.AST) -> None:
        for child in ast.walk(node):
            if isinstance(child, ast.NamedExpr):
                self.names[child.target.id] = None

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension


def assigned(statements: Iterable[ast.AST]) -> tuple[str, ...]:
    """Names that the statements bind in their own scope."""
    visitor = _Assigned()
    for statement in statements:
        visitor.visit(statement)
    return tuple(visitor.names)


def _reads(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _targets(node: ast.AST) -> set[str]:
    return {
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def exposed(statements: list[ast.stmt]) -> set[str]:
    """Names that the statements may read before they have assigned them."""
    found: set[str] = set()
    _exposed(statements, set(), found)
    return found


def _exposed(statements: list[ast.stmt], done: set[str], found: set[str]) -> None:
    """Adds to `found`; `done` holds what is surely assigned and is updated."""
    for node in statements:
        if isinstance(node, (ast.If, ast.While)):
            found |= _reads(node.test) - done
            then, other = set(done), set(done)
            _exposed(node.body, then, found)
            _exposed(node.orelse, other, found)
            if isinstance(node, ast.If):
                done |= then & other
        elif isinstance(node, ast.For):
            found |= _reads(node.iter) - done
            inner = done | _targets(node.target)
            found |= _reads(node.target) - done
            _exposed(node.body, inner, found)
        elif isinstance(node, ast.With):
            for item in node.items:
                found |= _reads(item.context_expr) - done
                if item.optional_vars is not None:
                    done |= _targets(item.optional_vars)
            _exposed(node.body, done, found)
        elif isinstance(node, ast.AugAssign):
            names = _targets(node.target)
            found |= (_reads(node.value) | _reads(node.target) | names) - done
            done |= names
        elif isinstance(node, SCOPES):
            found |= _reads(node) - done
            done.add(getattr(node, "name", ""))
        else:
            found |= _reads(node) - done
            done |= _targets(node)


def jumps(statements: Iterable[ast.stmt]) -> set[str]:
    """Which of `break` and `continue` the statements hold that belong to the loop around them."""
    found: set[str] = set()
    stack: list[ast.AST] = list(statements)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Break):
            found.add("break")
        elif isinstance(node, ast.Continue):
            found.add("continue")
        elif not isinstance(node, (ast.For, ast.While, *SCOPES)):
            stack.extend(ast.iter_child_nodes(node))
    return found
