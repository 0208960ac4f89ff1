"""The names of functions: which are local, which are free, and where they are live.

Reads: ast. Writes: nothing. Leaves: a Scope for each function, with plain backward liveness.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from mlirad.xdsl_support.once_per_object import once

Names = frozenset[str]
ScopeNode = ast.FunctionDef | ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp
_FUNCTIONS = (ast.FunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)
_SCOPES = (*_FUNCTIONS, *_COMPREHENSIONS)
NONE: Names = frozenset()
RESULT = "$return"
"""The name of a function's result in its frame."""


@dataclass(frozen=True, eq=False)
class Scope:
    """local: names bound in the function itself. nonlocals, globals: names declared so. free: names that it and its
    inner functions take from outside. captured: its own names that inner functions see; those may be called at any
    time. escaping: names that inner functions (the function itself, if it is one) take from outside."""

    node: ScopeNode
    local: Names
    nonlocals: Names
    globals: Names
    free: Names
    captured: Names
    escaping: Names
    liveness: Liveness


@dataclass(eq=False)
class Liveness:
    """before, after: live names by id of the statement. header: by id of the loop, the names live before its test."""

    before: dict[int, Names] = field(default_factory=dict)
    after: dict[int, Names] = field(default_factory=dict)
    header: dict[int, Names] = field(default_factory=dict)


@once
def scope_of(node: ScopeNode) -> Scope:
    bound: set[str] = set(parameter_names(node.args)) if isinstance(node, _FUNCTIONS) else set()
    used: set[str] = set()
    nonlocals: set[str] = set()
    globals_: set[str] = set()
    inner: list[Scope] = []
    for child in _own_nodes(node):
        if isinstance(child, ast.Name):
            (used if isinstance(child.ctx, ast.Load) else bound).add(child.id)
            if not isinstance(child.ctx, ast.Load):
                used.add(child.id)
        elif isinstance(child, ast.Nonlocal):
            nonlocals.update(child.names)
        elif isinstance(child, ast.ClassDef):
            bound.add(child.name)
        elif isinstance(child, ast.Global):
            globals_.update(child.names)
        elif (name := bound_by(child)) is not None:
            bound.add(name)
        elif isinstance(child, _SCOPES):
            inner.append(scope_of(child))
            if isinstance(child, ast.FunctionDef):
                bound.add(child.name)
    local = frozenset(bound - nonlocals - globals_)
    wanted = frozenset(used).union(*(scope.free for scope in inner)) | nonlocals
    escaping = frozenset().union(*(scope.escaping for scope in inner))
    captured, escaping = escaping & local, escaping - local
    liveness = Liveness()
    if isinstance(node, ast.FunctionDef):
        _Backward(liveness).block(node.body, NONE, _Exits(NONE, NONE))
    free = wanted - local
    escaping = free if isinstance(node, _FUNCTIONS) else escaping
    return Scope(node, local, frozenset(nonlocals), frozenset(globals_), free, captured, escaping, liveness)


def bound_by(node: ast.AST) -> str | None:
    """The name that an import or a pattern binds at this very node."""
    match node:
        case ast.alias():
            return (node.asname or node.name).split(".")[0]
        case ast.MatchAs() | ast.MatchStar() | ast.ExceptHandler():
            return node.name
        case ast.MatchMapping():
            return node.rest
    return None


def parameter_names(arguments: ast.arguments) -> list[str]:
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return names + [a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None]


def _own_nodes(scope: ScopeNode) -> Iterator[ast.AST]:
    """The nodes evaluated in a scope: without the bodies of inner scopes, but with their defaults and first
    iterables."""
    work: list[ast.AST]
    if isinstance(scope, ast.FunctionDef):
        work = list(scope.body)
    elif isinstance(scope, ast.Lambda):
        work = [scope.body]
    else:
        parts = [scope.key, scope.value] if isinstance(scope, ast.DictComp) else [scope.elt]
        generators = scope.generators
        work = [*parts, *(g.target for g in generators), *(c for g in generators for c in g.ifs)]
        work += [g.iter for g in generators[1:]]
    while work:
        node = work.pop()
        yield node
        if isinstance(node, _FUNCTIONS):
            work += [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
            work += node.decorator_list if isinstance(node, ast.FunctionDef) else []
        elif isinstance(node, _COMPREHENSIONS):
            work.append(node.generators[0].iter)
        elif isinstance(node, ast.ClassDef):  # its methods see no variable of the function: local_classes.py
            work += [*node.bases, *node.decorator_list]
        else:
            work += children_in_order(node)


@cache
def _fields_with_nodes(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a class of nodes that may hold nodes, without the contexts."""
    return tuple(name for name in kind._fields if name not in ("ctx", "id", "attr", "arg", "kind", "type_comment"))


def children_in_order(node: ast.AST) -> list[ast.AST]:
    """The children of a node, in order: `ast.iter_child_nodes`, in a fifth of the time. A half of all nodes of a
    function are contexts (`ast.Load`); they are left out."""
    found: list[ast.AST] = []
    for name in _fields_with_nodes(node.__class__):
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def nodes_in(node: ast.AST) -> list[ast.AST]:
    """A node and all nodes in it, breadth first."""
    found = [node]
    for each in found:  # which grows
        found += children_in_order(each)
    return found


@once
def uses(node: ast.AST) -> Names:
    """The names that evaluating an expression may read (including reads by the functions in it)."""
    return frozenset(child.id for child in nodes_in(node) if isinstance(child, ast.Name))


@once
def assigned(node: ast.AST) -> Names:
    """The names that a statement may bind in its own scope, including the statements inside it."""
    found: set[str] = set()
    work: list[ast.AST] = [node]
    while work:
        child = work.pop()
        if isinstance(child, ast.Name) and not isinstance(child.ctx, ast.Load):
            found.add(child.id)
        elif isinstance(child, ast.FunctionDef | ast.ClassDef):
            found.add(child.name)
        elif (name := bound_by(child)) is not None:
            found.add(name)
        if not isinstance(child, (*_SCOPES, ast.ClassDef)):
            work += children_in_order(child)
    return frozenset(found)


@once
def written(node: ast.AST) -> Names:
    """The names of arrays whose elements a statement may write by an assignment: `x[i] = y`, `x[i] += y`, `x += y`."""
    found: set[str] = set()
    for child in nodes_in(node):
        if isinstance(child, ast.AugAssign) and isinstance(child.target, ast.Name):
            found.add(child.target.id)
        elif isinstance(child, ast.Subscript) and not isinstance(child.ctx, ast.Load):
            found |= uses(child.value) if isinstance(child.value, ast.Name) else NONE
    return frozenset(found)


@once
def calls_in_a_row(node: ScopeNode) -> dict[tuple[int, int, int | None, int | None], int]:
    """How many calls of the same name the simple statements of a block contain, by the place of each call."""
    found: dict[tuple[int, int, int | None, int | None], int] = {}
    blocks: list[list[ast.AST]] = [list(node.body)] if isinstance(node, ast.FunctionDef) else []
    for block in blocks:  # which grows
        calls: dict[str, list[ast.Call]] = {}
        work = list(block)
        while work:
            child = work.pop()
            if isinstance(child, _SCOPES):
                continue
            if bodies := [each for _, each in ast.iter_fields(child) if _is_block(each)]:
                blocks += bodies
                continue
            if isinstance(child, ast.Call) and isinstance(child.func, ast.Name | ast.Attribute):
                calls.setdefault(ast.unparse(child.func), []).append(child)
            work += children_in_order(child)
        for alike in calls.values():
            for call in alike:
                found[call.lineno, call.col_offset, call.end_lineno, call.end_col_offset] = len(alike)
    return found


def _is_block(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], ast.stmt)


def always_leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether a block certainly ends by break, continue, return or raise."""
    for statement in block:
        if isinstance(statement, ast.Return | ast.Break | ast.Continue | ast.Raise):
            return True
        if isinstance(statement, ast.If) and always_leaves(statement.body) and always_leaves(statement.orelse):
            return True
        if isinstance(statement, ast.With) and always_leaves(statement.body):
            return True
        if isinstance(statement, ast.Try) and (
            always_leaves(statement.finalbody)
            or all(
                map(always_leaves, (statement.orelse or statement.body, *(each.body for each in statement.handlers)))
            )
        ):
            return True
    return False


@once
def may_leave(loop: ast.For | ast.While) -> bool:
    """Whether a loop's body may end the loop from inside, by return or by a break of its own."""

    def search(node: ast.AST, is_inner: bool) -> bool:
        if isinstance(node, ast.Return):
            return True
        if isinstance(node, ast.Break):
            return not is_inner
        if isinstance(node, _SCOPES):
            return False
        if isinstance(node, ast.For | ast.While):
            return any(search(child, True) for child in node.body) or any(
                search(child, is_inner) for child in node.orelse
            )
        return any(search(child, is_inner) for child in ast.iter_child_nodes(node))

    return any(search(node, False) for node in loop.body)


@dataclass(frozen=True)
class _Exits:
    """The names live at the targets of a break and a continue."""

    on_break: Names
    on_continue: Names


class _Backward:
    """Backward liveness over the statements of one function."""

    def __init__(self, found: Liveness):
        self.found = found
        self.on_error: Names = NONE  # the names live at the target of an exception

    def block(self, statements: Sequence[ast.stmt], after: Names, exits: _Exits) -> Names:
        for statement in reversed(statements):
            self.found.after[id(statement)] = after = after | self.on_error
            after = self.statement(statement, after, exits)
            self.found.before[id(statement)] = after
        return after

    def statement(self, statement: ast.stmt, after: Names, exits: _Exits) -> Names:
        match statement:
            case ast.Return():
                return uses(statement)
            case ast.Raise():
                return uses(statement)
            case ast.Break():
                return exits.on_break
            case ast.Continue():
                return exits.on_continue
            case ast.If():
                body = self.block(statement.body, after, exits)
                return uses(statement.test) | body | self.block(statement.orelse, after, exits)
            case ast.For():
                bound = _plain_targets(statement.target)
                orelse = self.block(statement.orelse, after, exits)

                def before_body(header: Names) -> Names:
                    body = self.block(statement.body, header, _Exits(after, header))
                    return orelse | (body - bound) | (uses(statement.target) - bound)

                return self.loop(statement, before_body) | uses(statement.iter)
            case ast.While():
                orelse = self.block(statement.orelse, after, exits)

                def before_test(header: Names) -> Names:
                    body = self.block(statement.body, header, _Exits(after, header))
                    # `while True` never ends by its condition: after it, names are bound as at its breaks.
                    ends = not (isinstance(statement.test, ast.Constant) and statement.test.value)
                    return (orelse if ends else NONE) | body | uses(statement.test)

                return self.loop(statement, before_test)
            case ast.Assign() | ast.AnnAssign():
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                bound = frozenset().union(*(_plain_targets(target) for target in targets))
                read = uses(statement.value) if statement.value is not None else NONE
                return (after - bound) | read | (frozenset().union(*map(uses, targets)) - bound)
            case ast.FunctionDef() | ast.ClassDef():
                return (after - {statement.name}) | uses(statement)
            case ast.With():
                return self.block(statement.body, after, exits).union(*map(uses, statement.items))
            case ast.Try():
                return self.trying(statement, after, exits)
            case ast.Match():
                bodies = [self.block(case.body, after, exits) for case in statement.cases]
                read = [
                    uses(part) for case in statement.cases for part in (case.pattern, case.guard) if part is not None
                ]
                return after.union(uses(statement.subject), *bodies, *read)
        return after | uses(statement)

    def trying(self, statement: ast.Try, after: Names, exits: _Exits) -> Names:
        """The names live before a try: those that the handlers and the finally need are live throughout its body."""
        outer = self.on_error
        final = self.block(statement.finalbody, after, exits)
        if statement.finalbody:
            self.on_error = outer | final
            exits = _Exits(exits.on_break | final, exits.on_continue | final)
        types = [uses(each.type) for each in statement.handlers if each.type is not None]
        handled = final.union(*types, *(self.block(each.body, final, exits) for each in statement.handlers))
        orelse = self.block(statement.orelse, final, exits)
        self.on_error |= handled
        body = self.block(statement.body, orelse, exits)
        self.on_error = outer
        return body | handled

    def loop(self, statement: ast.For | ast.While, before: Callable[[Names], Names]) -> Names:
        header: Names = NONE
        while True:
            new = header | before(header)
            if new == header:
                self.found.header[id(statement)] = header
                return header
            header = new


def _plain_targets(target: ast.expr) -> Names:
    """The names that an assignment to a target certainly binds."""
    if isinstance(target, ast.Name):
        return frozenset({target.id})
    if isinstance(target, ast.Tuple | ast.List):
        return frozenset().union(*(_plain_targets(item) for item in target.elts))
    if isinstance(target, ast.Starred):
        return _plain_targets(target.value)
    return NONE
