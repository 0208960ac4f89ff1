"""class statements inside a function: plain classes and dataclasses that use nothing of the function around them.

Reads: ast, and the code that Python has compiled for the class. Writes: nothing. Leaves: the name, bound to a Python
class that all calls share.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence
from functools import partial
from types import BuiltinMethodType, CellType, CodeType, FunctionType
from typing import Any

from mlirad.frontend.interpreter import dispatch, storage, variables
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.program.codes import codes_in
from mlirad.frontend.values.values import Static

_OUTSIDE = "define the class outside"
_METHODS = (staticmethod, classmethod, property)
_SCALARS = (bool, int, float, str, type(None))


def class_statement(context: Context, node: ast.ClassDef) -> None:
    body = code_of(context, node, context.frame.source.code)
    bases = tuple(map(partial(base_class, context), node.bases))
    key = context.frame.source.function, body, bases
    kind = context.findings.classes.get(key)
    if kind is None:
        kind = context.findings.classes[key] = made_class(context, node, body, bases)
    context.findings.unkeyed.append(f"the class {node.name}, which the function makes")
    variables.bind(context, node.name, Static(kind))


def base_class(context: Context, node: ast.expr) -> type:
    """A base class. It may not run code when another class is derived from it."""
    with context.at(node):
        base = storage.static(context, dispatch.expression(context, node), "a base class")
        if type(base) is not type or not isinstance(base.__init_subclass__, BuiltinMethodType):
            raise context.refusal("this base of a class made in a function runs code of its own", _OUTSIDE)
        return base


def made_class(context: Context, node: ast.ClassDef, body: CodeType, bases: tuple[type, ...]) -> type:
    """The class that a statement creates."""
    if node.keywords:
        raise context.refusal("the keywords of a class made in a function are not compiled", _OUTSIDE)
    function = context.frame.source.function
    namespace: dict[str, Any] = {
        "__module__": function.__module__,
        "__qualname__": f"{function.__qualname__}.<locals>.{node.name}",
        "__doc__": ast.get_docstring(node, clean=False),
        "__annotations__": {},
    }
    for statement in node.body:
        with context.at(statement):
            add_to_class(context, namespace, statement, body)
    with context.at(node):
        try:
            kind = type(node.name, bases, namespace)
        except TypeError as error:
            raise context.refusal(f"this class cannot be made here: {error}", _OUTSIDE) from None
    for decorator in reversed(node.decorator_list):
        with context.at(decorator):
            kind = decorated_class(context, decorator, kind)
    return kind


def add_to_class(context: Context, namespace: dict[str, Any], statement: ast.stmt, body: CodeType) -> None:
    match statement:
        case ast.FunctionDef():
            namespace[statement.name] = method_of_class(context, statement, namespace, body)
        case ast.AnnAssign(target=ast.Name(id=name)):
            namespace["__annotations__"][name] = ast.unparse(statement.annotation)
            if statement.value is not None:
                namespace[name] = constant_of_class(context, statement.value)
        case ast.Assign(targets=[ast.Name(id=name)]):
            namespace[name] = constant_of_class(context, statement.value)
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            pass
        case _:
            hint = f"a class made in a function holds methods and constants; {_OUTSIDE}"
            raise context.refusal("this statement of a class is not compiled", hint)


def constant_of_class(context: Context, node: ast.expr) -> Any:
    """The value of an attribute: only literals, which every call finds the same."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        value = ...
    if not isinstance(value, _SCALARS):
        hint = f"write the number itself, or give it to __init__; or {_OUTSIDE}"
        with context.at(node):
            raise context.refusal("an attribute of a class made in a function must be a constant", hint)
    return value


def method_of_class(context: Context, node: ast.FunctionDef, namespace: dict[str, Any], body: CodeType) -> Any:
    code = code_of(context, node, body)
    around = [name for name in code.co_freevars if name != "__class__"]
    if around:
        names = ", ".join(map(repr, around))
        why = f"a method of a class made in a function uses {names} of the code around the class"
        raise context.refusal(why, f"give it to __init__ and keep it in self; or {_OUTSIDE}")
    defaults = tuple(constant_of_class(context, default) for default in node.args.defaults)
    cells = (namespace.setdefault("__classcell__", CellType()),) if code.co_freevars else None
    made: Any = FunctionType(code, context.frame.source.function.__globals__, node.name, defaults or None, cells)
    made.__module__, made.__qualname__ = namespace["__module__"], f"{namespace['__qualname__']}.{node.name}"
    pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    made.__kwdefaults__ = {
        each.arg: constant_of_class(context, default) for each, default in pairs if default is not None
    } or None
    for decorator in reversed(node.decorator_list):
        with context.at(decorator):
            found = storage.static(context, dispatch.expression(context, decorator), "the decorator of a method")
            if not any(found is each for each in _METHODS):
                hint = f"staticmethod, classmethod and property are compiled; or {_OUTSIDE}"
                raise context.refusal("this decorator of a method is not compiled", hint)
            made = found(made)
    return made


def decorated_class(context: Context, node: ast.expr, kind: type) -> type:
    """`@dataclass`, with literal keywords."""
    keywords: Sequence[ast.keyword] = ()
    if isinstance(node, ast.Call) and not node.args:
        node, keywords = node.func, node.keywords
    if (
        storage.static(context, dispatch.expression(context, node), "the decorator of a class")
        is not dataclasses.dataclass
    ):
        raise context.refusal("this decorator of a class is not compiled", f"@dataclass is; or {_OUTSIDE}")
    options = {str(each.arg): constant_of_class(context, each.value) for each in keywords}
    try:
        return dataclasses.dataclass(**options)(kind)
    except (TypeError, ValueError) as error:
        raise context.refusal(str(error)) from None


def code_of(context: Context, node: ast.ClassDef | ast.FunctionDef, around: CodeType) -> CodeType:
    """The code that Python has compiled for a class or method."""
    first = min(each.lineno for each in (node, *node.decorator_list))
    for code in codes_in(around):
        if code.co_name == node.name and code.co_firstlineno == first and code is not around:
            return code
    raise context.refusal(f"the code of {node.name} cannot be found", _OUTSIDE)
