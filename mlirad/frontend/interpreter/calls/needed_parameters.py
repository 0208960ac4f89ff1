"""Finds at a call which arguments the callee certainly needs while compiling, before its body is interpreted.

Reads: the callee's ast, and the values of its parameters. Writes: nothing. Leaves: NeedStatic for arguments of the
compiled function that are known only at run time.

Their values become static, and the function is built again. Without this file the attempt ends where the value is
needed, after everything before it has been interpreted in vain:

    def network(x, n, features):
        x = pooled(convolved(x))               # loops
        return np.reshape(x, (n, features))    # n and features must be known

Only statements that every call reaches count, so a value is never required in vain.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mlirad.contract.captures import lookup
from mlirad.frontend.numpy import declarations
from mlirad.frontend.program.scope import assigned, nodes_in, parameter_names, scope_of
from mlirad.frontend.program.source import FunctionNode, Source
from mlirad.frontend.values.traced import NeedStatic, Traced
from mlirad.frontend.values.values import Value
from mlirad.xdsl_support.once_per_object import once


def require_known(node: FunctionNode, source: Source, bound: Mapping[str, Value]) -> None:
    """Raise NeedStatic if parameters must be known, and are arguments of the compiled function that are not."""
    origins: set[Any] = set()
    needed: ast.Call | None = None
    for call, names in _calls_on_parameters(node):
        unknown = [value for name in names if isinstance(value := bound.get(name), Traced) and _is_argument(value)]
        if unknown and _needs(source, call, names):
            origins.update(*(value.origins for value in unknown))
            needed = needed or call
    if needed is not None:
        need = NeedStatic(origins, f"an argument of {ast.unparse(needed.func)}")
        need.place(source.location(needed))
        raise need


def _is_argument(value: Traced) -> bool:
    return bool(value.origins) and all(isinstance(each, tuple) and each[0] == "argument" for each in value.origins)


def _needs(source: Source, call: ast.Call, names: Iterable[str]) -> bool:
    """Whether a call `module.function(...)` is one of a function that must know the arguments with these names."""
    assert isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
    try:
        module = lookup(source.function, call.func.value.id)
    except NameError:
        return False
    positions = declarations.of(getattr(module, call.func.attr, None)).known_arguments
    return any(name in names for position in positions for name in _names(call.args[position : position + 1]))


@once
def _calls_on_parameters(node: FunctionNode) -> tuple[tuple[ast.Call, frozenset[str]], ...]:
    """The calls `module.function(...)` that each call of a function reaches, with parameters among their arguments,
    bare or in tuples, that are never bound again."""
    if not isinstance(node, ast.FunctionDef):
        return ()
    rebound = frozenset().union(*map(assigned, node.body))
    parameters = frozenset(parameter_names(node.args)) - rebound
    found: list[tuple[ast.Call, frozenset[str]]] = []
    for statement in node.body:
        if isinstance(statement, ast.Assign | ast.Return | ast.Expr) and statement.value is not None:
            for call in _calls(statement.value):
                names = parameters & set(_names(call.args))
                match call.func:
                    case ast.Attribute(value=ast.Name(id=module)) if names and module not in scope_of(node).local:
                        found.append((call, names))
        if any(isinstance(each, ast.Return | ast.Raise) for each in nodes_in(statement)):
            break  # a call may not get further
    return tuple(found)


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls that evaluating an expression certainly makes."""
    match node:
        case ast.Call():
            yield node
            yield from (call for each in (node.func, *node.args) for call in _calls(each))
        case ast.BinOp():
            yield from (call for each in (node.left, node.right) for call in _calls(each))
        case ast.UnaryOp():
            yield from _calls(node.operand)
        case ast.Attribute() | ast.Subscript() | ast.Starred():
            yield from _calls(node.value)
        case ast.Tuple() | ast.List():
            yield from (call for each in node.elts for call in _calls(each))


def _names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names among some expressions, bare or in tuples."""
    for node in nodes:
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Tuple | ast.List):
            yield from _names(node.elts)
