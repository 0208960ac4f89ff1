"""Finds the arguments of a call that the callee certainly needs while compiling, before its body is interpreted.

Reads: the callee's ast, and the values of its parameters. Writes: nothing. Leaves: NeedStatic for arguments of the
compiled function that are known only at run time.

Their values become static, and the function is built again. Otherwise the attempt would end only where the value is
needed, and everything before that would be interpreted in vain:

    def network(x, n, features):
        x = pooled(convolved(x))               # loops
        return np.reshape(x, (n, features))    # n and features must be known

Only statements that every call reaches count, so no value is required in vain. A shape counts only if several of its
axes are long: in `np.reshape(x, (n, 1))`, n may stay a run-time length.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from mlirad.contract.captures import lookup
from mlirad.frontend.numpy import declarations
from mlirad.frontend.program.scope import assigned, nodes_in, parameter_names, scope_of
from mlirad.frontend.program.source import FunctionNode, Source
from mlirad.frontend.values.traced import NeedStatic, Traced
from mlirad.frontend.values.values import Static, Value
from mlirad.xdsl_support.once_per_object import once


def require_known(node: FunctionNode, source: Source, bound: Mapping[str, Value]) -> None:
    """Raise NeedStatic if parameters must be known, but are run-time arguments of the compiled function."""
    origins: set[Any] = set()
    needed: ast.Call | None = None
    for call, parameters in _calls_reached(node):
        for shape in _known_shapes(source, call):
            values = {name: bound.get(name) for name in _names(shape) if name in parameters}
            unknown = [each for each in values.values() if isinstance(each, Traced) and _is_argument(each)]
            if unknown and sum(_is_long(axis, values) for axis in shape.elts) > 1:
                origins.update(*(each.origins for each in unknown))
                needed = needed or call
    if needed is not None:
        need = NeedStatic(origins, f"an argument of {ast.unparse(needed.func)}")
        need.place(source.location(needed))
        raise need


def _is_argument(value: Traced) -> bool:
    return bool(value.origins) and all(isinstance(each, tuple) and each[0] == "argument" for each in value.origins)


def _known_shapes(source: Source, call: ast.Call) -> Iterator[ast.Tuple | ast.List]:
    """The arguments of a call `module.function(...)` that are shapes, written out, which must be known."""
    assert isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
    try:
        module = lookup(source.function, call.func.value.id)
    except NameError:
        return
    if isinstance(module, ModuleType) and not any(isinstance(each, ast.Starred) for each in call.args):
        for position in declarations.of(vars(module).get(call.func.attr)).known_shapes:
            yield from (each for each in call.args[position : position + 1] if isinstance(each, ast.Tuple | ast.List))


def _names(shape: ast.Tuple | ast.List) -> set[str]:
    return {each.id for each in shape.elts if isinstance(each, ast.Name)}


def _is_long(axis: ast.expr, values: Mapping[str, Value | None]) -> bool:
    """Whether an entry of a shape is certainly not the constant 1."""
    match axis:
        case ast.Name(id=name):
            value = values.get(name)
            return isinstance(value, Traced) or (isinstance(value, Static) and value.value != 1)
        case ast.Constant(value=int() as size):
            return size != 1
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return True  # -1
    return False


@once
def _calls_reached(node: FunctionNode) -> tuple[tuple[ast.Call, frozenset[str]], ...]:
    """The calls `module.function(...)` that every call of a function reaches. With each come the function's parameters
    that are never bound again."""
    if not isinstance(node, ast.FunctionDef):
        return ()
    parameters = frozenset(parameter_names(node.args)).difference(*map(assigned, node.body))
    found: list[tuple[ast.Call, frozenset[str]]] = []
    for statement in node.body:
        if isinstance(statement, ast.Assign | ast.Return | ast.Expr) and statement.value is not None:
            for call in _calls(statement.value):
                match call.func:
                    case ast.Attribute(value=ast.Name(id=module)) if module not in scope_of(node).local:
                        found.append((call, parameters))
        if any(isinstance(each, ast.Return | ast.Raise) for each in nodes_in(statement)):
            break  # some calls end here
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
