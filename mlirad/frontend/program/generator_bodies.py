"""Rewrites generators, and the loops that consume them, as functions that call one another.

Reads: ast. Writes: new nodes, in the lines of the old ones. Leaves: the nodes that it reads.

    def gen(x):                  def gen($each, x):
        for v in x:                  for v in x:
            yield v * v                  $code = $each(v * v)
                                         if $code: return $code
                                     return 0

    for w in gen(x):             def each($item):
        if w > t:                    nonlocal w, s
            break                    w = $item
        s += w                       if w > t:
                                         return 1
                                     s += w
                                     return 0

So the generator runs up to each yield, then the body of the loop, as in Python. A `break` returns `LEFT` through the
generator, and a `return` hands its value to the function of the loop and returns `RETURNED`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mlirad.frontend.program.scope import RESULT, Names, assigned, children_in_order
from mlirad.xdsl_support.once_per_object import once

WENT_ON, LEFT, RETURNED = 0, 1, 2
EACH, _ITEM, _YIELDED, _CODE = "$each", "$item", "$yielded", "$code"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class HandOn(ast.stmt):
    """Makes a value the result of the function that many levels around this one."""

    _fields = ("value",)

    def __init__(self, value: ast.expr, levels: int):
        self.value = value
        self.levels = levels


@once
def is_generator_function(node: ast.FunctionDef | ast.Lambda) -> bool:
    """Whether a function has a yield of its own."""
    work: list[ast.AST] = list(node.body) if isinstance(node, ast.FunctionDef) else [node.body]
    for each in work:  # which grows
        if isinstance(each, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(each, _SCOPES):
            work += children_in_order(each)
    return False


@once
def as_function(node: ast.FunctionDef) -> ast.FunctionDef:
    """The function that calls `EACH` where a generator yields."""
    arguments = _with_fields(node.args, args=[*node.args.args, ast.arg(EACH)], defaults=[*node.args.defaults])
    body = [*_Yielding().block(node.body), _returning(WENT_ON, node)]
    return _placed(ast.FunctionDef(node.name, arguments, body, []), node)


@once
def as_body(loop: ast.For) -> ast.FunctionDef:
    """The function that runs the body of a loop for an item."""
    names = assigned(_placed(ast.For(loop.target, loop.iter, loop.body, []), loop)) | _stored(loop.target) | {RESULT}
    take = _placed(ast.Assign([loop.target], _named(_ITEM, ast.Load(), loop.target)), loop.target)
    declared = _placed(ast.Nonlocal(sorted(names)), loop)
    body = [declared, take, *_Leaving().block(loop.body), _returning(WENT_ON, loop)]
    item = ast.arguments(posonlyargs=[], args=[ast.arg(_ITEM)], kwonlyargs=[], kw_defaults=[], defaults=[])
    return _placed(ast.FunctionDef("each", item, body, []), loop)


@once
def names_in_body(loop: ast.For) -> Names:
    """The names that the function of the body sees outside."""
    found: set[str] = set(_stored(loop.target)) | {RESULT}
    work: list[ast.AST] = [*loop.body, loop.target]
    for each in work:  # which grows
        if isinstance(each, ast.Name):
            found.add(each.id)
        work += children_in_order(each)
    return frozenset(found) | assigned(loop)


@once
def may_break(loop: ast.For) -> bool:
    """Whether a loop has a break of its own."""
    work: list[ast.AST] = [*loop.body]
    for each in work:  # which grows
        if isinstance(each, ast.Break):
            return True
        if isinstance(each, ast.For | ast.While):
            work += each.orelse
        elif not isinstance(each, _SCOPES):
            work += children_in_order(each)
    return False


class _Rewriting:
    """Copies statements; those that a subclass rewrites become several."""

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [new for each in statements for new in self.statement(each)]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.If():
                return [_with_fields(node, body=self.block(node.body), orelse=self.block(node.orelse))]
            case ast.For() | ast.While():
                return [self.loop(node)]
            case ast.Match():
                return [_with_fields(node, cases=[_with_fields(c, body=self.block(c.body)) for c in node.cases])]
        return [node]

    def loop(self, node: ast.For | ast.While) -> ast.stmt:
        return _with_fields(node, body=self.block(node.body), orelse=self.block(node.orelse))


class _Yielding(_Rewriting):
    """A yield inside `try` or `with` stays, and is refused: an exception in the loop's body would reach it."""

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.Expr(value=ast.Yield(value=value)):
                return self.calls(_none(node) if value is None else value, node)
            case ast.Expr(value=ast.YieldFrom(value=iterable)):
                calls = self.calls(_named(_YIELDED, ast.Load(), iterable), node)
                return [_placed(ast.For(_named(_YIELDED, ast.Store(), iterable), iterable, calls, []), node)]
            case ast.Return():
                value = [] if node.value is None else [_placed(ast.Expr(node.value), node)]
                return [*value, _returning(WENT_ON, node)]
        return super().statement(node)

    def calls(self, value: ast.expr, at: ast.stmt) -> list[ast.stmt]:
        call = _placed(ast.Call(_named(EACH, ast.Load(), at), [value], []), at)
        keep = _placed(ast.Assign([_named(_CODE, ast.Store(), at)], call), at)
        leave = _placed(ast.Return(_named(_CODE, ast.Load(), at)), at)
        return [keep, _placed(ast.If(_named(_CODE, ast.Load(), at), [leave], []), at)]


class _Leaving(_Rewriting):
    """depth: the number of loops around, inside the body."""

    def __init__(self, depth: int = 0):
        self.depth = depth

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.Break() if self.depth == 0:
                return [_returning(LEFT, node)]
            case ast.Continue() if self.depth == 0:
                return [_returning(WENT_ON, node)]
            case ast.Return():
                value = _none(node) if node.value is None else node.value
                return [_placed(HandOn(value, 1), node), _returning(RETURNED, node)]
            case HandOn():
                return [_placed(HandOn(node.value, node.levels + 1), node)]
            case ast.With():
                return [_with_fields(node, body=self.block(node.body))]
            case ast.Try():
                handlers = [_with_fields(each, body=self.block(each.body)) for each in node.handlers]
                parts = {name: self.block(getattr(node, name)) for name in ("body", "orelse", "finalbody")}
                return [_with_fields(node, handlers=handlers, **parts)]
        return super().statement(node)

    def loop(self, node: ast.For | ast.While) -> ast.stmt:
        return _with_fields(node, body=_Leaving(self.depth + 1).block(node.body), orelse=self.block(node.orelse))


def _stored(target: ast.expr) -> Names:
    return frozenset(
        each.id for each in ast.walk(target) if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)
    )


def _with_fields(node, **fields):
    """A copy of a node with other fields."""
    made = type(node)(**{name: fields.get(name, getattr(node, name, None)) for name in node._fields})
    return _placed(made, node)


def _placed(made, at):
    for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
        if hasattr(at, name):
            setattr(made, name, getattr(at, name))
    return made


def _named(name: str, context: ast.expr_context, at: ast.AST) -> ast.Name:
    return _placed(ast.Name(name, context), at)


def _none(at: ast.AST) -> ast.expr:
    return _placed(ast.Constant(None), at)


def _returning(code: int, at: ast.AST) -> ast.stmt:
    return _placed(ast.Return(_placed(ast.Constant(code), at)), at)
