# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrites a kernel's syntax tree so that running it calls the trace functions.

Every statement first tells its place; assignments, loops, branches and calls go through the
`Runtime` of frontend/trace.py, which decides at trace time whether a value belongs to Python or to
the kernel. What is not mentioned here keeps its Python meaning.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..errors import Location, compile_error
from .names import assigned, exposed, jumps

RUNTIME = "__tw__"
LOCALS = "__tw_locals__"
#: Builtins that look at their caller's frame.
FRAME_CALLS = {"locals", "globals", "vars", "dir", "eval", "exec", "super"}
OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.MatMult: "@",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


@dataclass
class Rewritten:
    """The result for one function: its code, the places it names, and facts of its body."""

    code: types.CodeType
    locations: list[Location]
    parameters: tuple[str, ...]
    declared: tuple[str, ...]  #: parameters that the body annotates (`A: T.Tensor(...)`)
    free: tuple[str, ...] = field(default=())


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _runtime(method: str, *args: ast.expr, keywords: Sequence[ast.keyword] = ()) -> ast.Call:
    return ast.Call(ast.Attribute(_load(RUNTIME), method, ast.Load()), list(args), list(keywords))


def _method(variable: str, method: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(_load(variable), method, ast.Load()), list(args), [])


def _locals() -> ast.Call:
    return ast.Call(_load(LOCALS), [], [])


def _strings(values: Sequence[str]) -> ast.Tuple:
    return ast.Tuple([ast.Constant(v) for v in values], ast.Load())


def _thunk(body: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


class _Rewriter(ast.NodeTransformer):
    """One function with all nested functions that have no decorator of their own."""

    def __init__(self, filename: str, parameters: tuple[str, ...]) -> None:
        self.filename = filename
        self.parameters = parameters
        self.locations: list[Location] = []
        self.declared: dict[str, None] = {}
        self.count = 0
        self.depth = 0  # nesting of function definitions
        self.regions: list[str] = []  # variables of the branches and loops around
        self.loops: list[tuple[str, int]] = []  # innermost loop: variable, regions outside

    # -- helpers --------------------------------------------------------------------------------

    def place(self, node: ast.AST) -> ast.Constant:
        """Registers the position of a node; the constant is its number."""
        self.locations.append(self.location(node))
        return ast.Constant(len(self.locations) - 1)

    def location(self, node: ast.AST) -> Location:
        return Location(
            self.filename,
            node.lineno,  # type: ignore[attr-defined]
            node.col_offset + 1,  # type: ignore[attr-defined]
            node.end_lineno or 0,  # type: ignore[attr-defined]
            (node.end_col_offset or 0) + 1,  # type: ignore[attr-defined]
        )

    def refuse(self, node: ast.AST, message: str) -> Exception:
        return compile_error(message, self.location(node))

    def fresh(self, kind: str) -> str:
        self.count += 1
        return f"__tw_{kind}{self.count}"

    def at(self, node: ast.AST) -> ast.stmt:
        return ast.Expr(_runtime("at", self.place(node)))

    def done(self, node: ast.AST, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Gives new nodes the position of the node they come from."""
        stack: list[ast.AST] = list(statements)
        while stack:
            child = stack.pop()
            if "lineno" in child._attributes:
                if hasattr(child, "lineno"):
                    continue  # an original node, or one that has its position already
                ast.copy_location(child, node)
            stack.extend(ast.iter_child_nodes(child))
        return statements

    def expression(self, node: ast.AST, new: ast.expr) -> ast.expr:
        self.done(node, [new])  # type: ignore[list-item]
        return new

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for position, statement in enumerate(statements):
            new = self.visit(statement)
            result.extend(new if isinstance(new, list) else [new] if new is not None else [])
            if self.loops and jumps([statement]):
                result.extend(self.guarded(statements[position + 1 :]))
                break
        return result or [ast.Pass()]

    def guarded(self, rest: list[ast.stmt]) -> list[ast.stmt]:
        """Statements behind a `break` or `continue`: they run unless it was taken."""
        if not rest:
            return []
        names = assigned(rest)
        variable = self.fresh("if")
        loop = _load(self.loops[-1][0])
        made = _runtime("guard", self.place(rest[0]), loop, _strings(names), _locals())
        self.regions.append(variable)
        body = self.block(rest)
        self.regions.pop()
        test = ast.Attribute(_load(variable), "then", ast.Load())
        result: list[ast.stmt] = [ast.Assign([_store(variable)], made), ast.If(test, body, [])]
        result.extend(self.drop(variable, names))
        return self.done(rest[0], result)

    def loop_body(self, variable: str, statements: list[ast.stmt]) -> list[ast.stmt]:
        """The body of a loop; after a `break` on the device the remaining iterations do nothing."""
        self.loops.append((variable, len(self.regions)))
        self.regions.append(variable)
        broken = "break" in jumps(statements)
        body = self.guarded(statements) if broken else self.block(statements)
        self.regions.pop()
        self.loops.pop()
        return body

    def drop(self, variable: str, names: Sequence[str]) -> list[ast.stmt]:
        """Unbinds the names whose values do not outlive a run-time region."""
        if not names:
            return [ast.Expr(_method(variable, "end", _locals()))]
        gone = self.fresh("gone")
        result: list[ast.stmt] = [ast.Assign([_store(gone)], _method(variable, "end", _locals()))]
        for name in names:
            result.append(
                ast.If(
                    ast.Compare(ast.Constant(name), [ast.In()], [_load(gone)]),
                    [ast.Delete([ast.Name(name, ast.Del())])],
                    [],
                )
            )
        return result

    # -- functions ------------------------------------------------------------------------------

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """The function itself: decorators, annotations and defaults are those of the original."""
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        for argument in [*every, arguments.vararg, arguments.kwarg]:
            if argument is not None:
                argument.annotation = None
        arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
        arguments.kw_defaults = [d and ast.Constant(None) for d in arguments.kw_defaults]
        node.decorator_list = []
        node.returns = None
        node.body = self.block(node.body)
        ast.fix_missing_locations(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.decorator_list:
            return node  # the decorator reads the source by itself
        saved = self.regions, self.loops
        self.regions, self.loops, self.depth = [], [], self.depth + 1
        node.body = self.block(node.body)
        (self.regions, self.loops), self.depth = saved, self.depth - 1
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node.body = self.visit(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def _refuse_kind(self, node: ast.AST) -> ast.AST:
        raise self.refuse(
            node, "error[E0108]: a kernel cannot be a generator or coroutine: remove this"
        )

    visit_Yield = visit_YieldFrom = visit_Await = visit_AsyncFor = _refuse_kind
    visit_AsyncWith = visit_AsyncFunctionDef = _refuse_kind

    # -- simple statements ----------------------------------------------------------------------

    def visit_Expr(self, node: ast.Expr) -> list[ast.stmt] | ast.stmt:
        if isinstance(node.value, ast.Constant):
            return node  # a docstring
        start = self.at(node)
        node.value = self.visit(node.value)
        return self.done(node, [start, node])

    def _simple(self, node: ast.stmt) -> list[ast.stmt]:
        start = self.at(node)
        self.generic_visit(node)
        return self.done(node, [start, node])

    visit_Delete = visit_Raise = _simple

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        result = [self.at(node)]
        value = self.visit(node.value)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            result.append(self.assign_name(node.targets[0], value))
            return self.done(node, result)
        if isinstance(node.value, ast.Tuple) and isinstance(node.targets[0], ast.Tuple):
            value = _runtime("values", value)
        temporary = self.fresh("value")
        result.append(ast.Assign([_store(temporary)], value))
        for target in node.targets:
            result.extend(self.assign(target, _load(temporary)))
        return self.done(node, result)

    def assign_name(self, target: ast.Name, value: ast.expr) -> ast.stmt:
        new = _runtime("assign", ast.Constant(target.id), value, _locals())
        return ast.copy_location(ast.Assign([target], new), target)

    def assign(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """Statements that store `value` (cheap to evaluate) into any target."""
        if isinstance(target, ast.Name):
            return self.done(target, [self.assign_name(target, value)])
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = [self.fresh("part") for _ in target.elts]
            pattern: list[ast.expr] = []
            for part, element in zip(parts, target.elts, strict=True):
                starred = isinstance(element, ast.Starred)
                pattern.append(ast.Starred(_store(part), ast.Store()) if starred else _store(part))
            starred_count = sum(isinstance(e, ast.Starred) for e in target.elts)
            count = -1 if starred_count else len(parts)
            new = _runtime("unpack", ast.Constant(count), value)
            result: list[ast.stmt] = [ast.Assign([ast.Tuple(pattern, ast.Store())], new)]
            for part, element in zip(parts, target.elts, strict=True):
                inner = element.value if isinstance(element, ast.Starred) else element
                result.extend(self.assign(inner, _load(part)))
            return self.done(target, result)
        if isinstance(target, ast.Subscript):
            place = self.place(target)
            owner, index = self.visit(target.value), self.visit(target.slice)
            store = ast.Expr(_runtime("set_item", place, owner, _index(index), value))
            return self.done(target, [store])
        assert isinstance(target, ast.Attribute)
        owner = self.visit(target.value)
        store = ast.Expr(_runtime("set_attribute", owner, ast.Constant(target.attr), value))
        return self.done(target, [store])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        target = node.target
        result = [self.at(node)]
        if not isinstance(target, ast.Name):
            return self.done(
                node,
                result
                + ([] if node.value is None else self.assign(target, self.visit(node.value))),
            )
        annotation = _thunk(self.visit(node.annotation))
        name = ast.Constant(target.id)
        if node.value is None:
            if self.depth or target.id not in self.parameters:
                return self.done(node, result)
            self.declared[target.id] = None
            new = _runtime("declare", self.place(node), name, annotation, _load(target.id))
        else:
            value = self.visit(node.value)
            new = _runtime("assign_annotated", name, value, annotation, _locals())
        result.append(ast.Assign([target], new))
        return self.done(node, result)

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        result = [self.at(node)]
        operator = ast.Constant(OPERATORS[type(node.op)])
        target = node.target
        if isinstance(target, ast.Name):
            new = _runtime(
                "update",
                ast.Constant(target.id),
                operator,
                _load(target.id),
                self.visit(node.value),
            )
            result.append(ast.Assign([target], new))
        elif isinstance(target, ast.Subscript):
            place = self.place(target)
            owner, index = self.visit(target.value), self.visit(target.slice)
            value = self.visit(node.value)
            result.append(
                ast.Expr(_runtime("update_item", place, operator, owner, _index(index), value))
            )
        else:
            assert isinstance(target, ast.Attribute)
            owner = self.visit(target.value)
            name = ast.Constant(target.attr)
            value = self.visit(node.value)
            result.append(ast.Expr(_runtime("update_attribute", operator, owner, name, value)))
        return self.done(node, result)

    def visit_Assert(self, node: ast.Assert) -> list[ast.stmt]:
        message = _thunk(self.visit(node.msg) if node.msg else ast.Constant(""))
        new = _runtime("assert_", self.place(node), self.visit(node.test), message)
        return self.done(node, [self.at(node), ast.Expr(new)])

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        value = self.visit(node.value) if node.value else ast.Constant(None)
        regions = ast.Tuple([_load(r) for r in self.regions], ast.Load())
        new = _runtime("return_", self.place(node), regions, value)
        return self.done(node, [self.at(node), ast.Return(new)])

    # -- branches and loops ---------------------------------------------------------------------

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        names = assigned([*node.body, *node.orelse])
        variable = self.fresh("if")
        test = self.visit(node.test)
        made = _runtime("if_", self.place(node.test), test, _strings(names), _locals())
        result = [self.at(node.test), ast.Assign([_store(variable)], made)]
        self.regions.append(variable)
        body = self.block(node.body)
        result.append(ast.If(ast.Attribute(_load(variable), "then", ast.Load()), body, []))
        if node.orelse:
            restore: list[ast.stmt] = []
            for name in names:
                has = _method(variable, "had", ast.Constant(name))
                old = ast.Assign([_store(name)], _method(variable, "old", ast.Constant(name)))
                bound = ast.Compare(ast.Constant(name), [ast.In()], [_locals()])
                gone = ast.If(bound, [ast.Delete([ast.Name(name, ast.Del())])], [])
                restore.append(ast.If(has, [old], [gone]))
            orelse = restore + self.block(node.orelse)
            result.append(ast.If(_method(variable, "otherwise", _locals()), orelse, []))
        self.regions.pop()
        result.extend(self.drop(variable, names))
        return self.done(node, result)

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        if node.orelse:
            raise self.refuse(
                node, "error[E0107]: `else` after a loop is not supported in a kernel"
            )
        names = assigned([ast.Assign([node.target], ast.Constant(None)), *node.body])
        read_first = exposed(node.body) & set(assigned(node.body))
        variable, item = self.fresh("for"), self.fresh("item")
        iterable = self.visit(node.iter)
        made = _runtime(
            "loop",
            self.place(node),
            iterable,
            _strings(names),
            _strings(sorted(read_first)),
            _strings(sorted(jumps(node.body))),
            _locals(),
        )
        result = [self.at(node), ast.Assign([_store(variable)], made)]
        body = self.bind(node.target, _load(item)) + self.loop_body(variable, node.body)
        result.append(ast.For(_store(item), _load(variable), body, []))
        result.extend(self.drop(variable, names))
        return self.done(node, result)

    def bind(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """Like `assign`, but always a new binding: loop variables and `with ... as`."""
        if isinstance(target, ast.Name):
            new = _runtime("bind", ast.Constant(target.id), value)
            return self.done(target, [ast.Assign([target], new)])
        if isinstance(target, (ast.Tuple, ast.List)):
            if any(isinstance(e, ast.Starred) for e in target.elts):
                return self.assign(target, value)
            parts = [self.fresh("part") for _ in target.elts]
            new = _runtime("unpack", ast.Constant(len(parts)), value)
            pattern = ast.Tuple([_store(p) for p in parts], ast.Store())
            result: list[ast.stmt] = [ast.Assign([pattern], new)]
            for part, element in zip(parts, target.elts, strict=True):
                result.extend(self.bind(element, _load(part)))
            return self.done(target, result)
        return self.assign(target, value)

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        if node.orelse:
            raise self.refuse(
                node, "error[E0107]: `else` after a loop is not supported in a kernel"
            )
        names = assigned(node.body)
        read_first = (exposed(node.body) | exposed([ast.Expr(node.test)])) & set(names)
        variable = self.fresh("while")
        test = _thunk(self.visit(node.test))
        made = _runtime(
            "while_",
            self.place(node.test),
            test,
            _strings(names),
            _strings(sorted(read_first)),
            _strings(sorted(jumps(node.body))),
            _locals(),
        )
        result = [self.at(node.test), ast.Assign([_store(variable)], made)]
        body = self.loop_body(variable, node.body)
        result.append(ast.For(_store(self.fresh("item")), _load(variable), body, []))
        result.extend(self.drop(variable, names))
        return self.done(node, result)

    def _jump(self, node: ast.Break | ast.Continue) -> list[ast.stmt]:
        """`break` and `continue`: Python's own in a loop that Python runs, else a flag is set."""
        if not self.loops:
            return [node]
        variable, outside = self.loops[-1]
        regions = ast.Tuple([_load(r) for r in self.regions[outside:]], ast.Load())
        word = ast.Constant("break" if isinstance(node, ast.Break) else "continue")
        taken = _method(variable, "jump", self.place(node), word, regions)
        return self.done(node, [self.at(node), ast.If(taken, [node], [])])

    visit_Break = visit_Continue = _jump

    def visit_With(self, node: ast.With) -> list[ast.stmt]:
        item = node.items[0]
        rest = node.items[1:]
        start = self.at(item.context_expr)
        target = item.optional_vars
        made = item.context_expr
        if isinstance(made, ast.Call) and _last_name(made.func) == "While" and made.args:
            made.args[0] = ast.copy_location(_thunk(made.args[0]), made.args[0])
        shape = (
            len(target.elts)
            if isinstance(target, (ast.Tuple, ast.List))
            else int(target is not None)
        )
        named = isinstance(target, (ast.Tuple, ast.List))
        context = _runtime(
            "context",
            self.place(item.context_expr),
            self.visit(item.context_expr),
            ast.Constant(shape),
            ast.Constant(named),
        )
        value = self.fresh("with")
        body: list[ast.stmt] = []
        if target is not None:
            body.extend(self.bind(target, _load(value)))
        if rest:
            inner = ast.copy_location(ast.With(rest, node.body), rest[0].context_expr)
            body.extend(self.visit_With(inner))
        else:
            body.extend(self.block(node.body))
        new = ast.With([ast.withitem(context, _store(value))], body)
        return self.done(node, [start, new])

    # -- expressions ----------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in FRAME_CALLS:
            return node
        new = _runtime("call", self.place(node), node.func, *node.args, keywords=node.keywords)
        return self.expression(node, new)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        place = self.place(node)
        values = [self.visit(v) for v in node.values]
        method = "and_" if isinstance(node.op, ast.And) else "or_"
        return self.expression(node, _runtime(method, place, values[0], *map(_thunk, values[1:])))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        node.operand = self.visit(node.operand)
        if not isinstance(node.op, ast.Not):
            return node
        return self.expression(node, _runtime("not_", self.place(node), node.operand))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) == 1:
            self.generic_visit(node)
            return node
        place = self.place(node)
        left = self.visit(node.left)
        rest: list[ast.expr] = []
        for operator, right in zip(node.ops, node.comparators, strict=True):
            rest.append(ast.Constant(OPERATORS[type(operator)]))
            rest.append(_thunk(self.visit(right)))
        return self.expression(node, _runtime("compare", place, left, *rest))

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        place = self.place(node)
        test, then, other = self.visit(node.test), self.visit(node.body), self.visit(node.orelse)
        return self.expression(node, _runtime("choose", place, test, _thunk(then), _thunk(other)))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return node  # text is made by Python

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        node.value = self.visit(node.value)
        return node


def _last_name(function: ast.expr) -> str:
    """`Kernel` of `T.Kernel` or of plain `Kernel`."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _index(index: ast.expr) -> ast.expr:
    """A subscript as an expression: slices are spelled as calls of slice()."""
    if isinstance(index, ast.Slice):
        parts = [index.lower, index.upper, index.step]
        return _runtime("slice_", *[p or ast.Constant(None) for p in parts])
    if isinstance(index, ast.Tuple):
        return ast.Tuple([_index(e) for e in index.elts], ast.Load())
    return index


def rewrite(node: ast.FunctionDef, filename: str, free: tuple[str, ...]) -> Rewritten:
    """Rewrites a function definition and compiles it, keeping its file, lines and columns.

    `free` names the variables of enclosing functions; they stay free variables of the result. The
    node is used up.
    """
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every.extend(a for a in (arguments.vararg, arguments.kwarg) if a is not None)
    parameters = tuple(a.arg for a in every)
    rewriter = _Rewriter(filename, parameters)
    function = rewriter.function(node)
    outer_names = dict.fromkeys([RUNTIME, LOCALS, *free])
    outer = ast.FunctionDef(
        "__tw_outer__",
        ast.arguments([], [ast.arg(n) for n in outer_names], None, [], [], None, []),
        [function],
        [],
        None,
    )
    ast.copy_location(outer, function)
    module = ast.fix_missing_locations(ast.Module([outer], []))
    compiled = compile(module, filename, "exec", dont_inherit=True)
    code = _nested(_nested(compiled, "__tw_outer__"), function.name)
    return Rewritten(
        code, rewriter.locations, parameters, tuple(rewriter.declared), code.co_freevars
    )


def _nested(code: types.CodeType, name: str) -> types.CodeType:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType) and constant.co_name == name:
            return constant
    raise KeyError(name)
