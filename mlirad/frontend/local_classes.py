"""class statements inside a function: plain classes and dataclasses whose code needs nothing of the function around it.

Reads: ast, and the code that Python has compiled of the class. Writes: nothing. Leaves: the name, bound to a class of
Python's, which is one for all calls.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence
from types import BuiltinMethodType, CodeType, FunctionType
from typing import Any

from mlirad.frontend.codes import codes_in
from mlirad.frontend.objects import Objects
from mlirad.frontend.values import Static

_OUTSIDE = "define the class outside"
_METHODS = (staticmethod, classmethod, property)
_SCALARS = (bool, int, float, str, type(None))


class LocalClasses(Objects):
    """`class_statement(node)`."""

    def class_statement(self, node: ast.ClassDef) -> None:
        body = self.code_of(node, self.frame.source.code)
        bases = tuple(map(self.base_class, node.bases))
        key = self.frame.source.function, body, bases
        kind = self.found.classes.get(key)
        if kind is None:
            kind = self.found.classes[key] = self.made_class(node, body, bases)
        self.found.unkeyed.append(f"the class {node.name}, which the function makes")
        self.bind(node.name, Static(kind))

    def base_class(self, node: ast.expr) -> type:
        """A base: a class that runs no code when another one is derived from it."""
        with self.at(node):
            base = self.static(self.expression(node), "a base class")
            if type(base) is not type or not isinstance(base.__init_subclass__, BuiltinMethodType):
                raise self.refusal("this base of a class made in a function runs code of its own", _OUTSIDE)
            return base

    def made_class(self, node: ast.ClassDef, body: CodeType, bases: tuple[type, ...]) -> type:
        """The class that a statement makes."""
        if node.keywords:
            raise self.refusal("the keywords of a class made in a function are not compiled", _OUTSIDE)
        function = self.frame.source.function
        namespace: dict[str, Any] = {
            "__module__": function.__module__,
            "__qualname__": f"{function.__qualname__}.<locals>.{node.name}",
            "__doc__": ast.get_docstring(node, clean=False),
            "__annotations__": {},
        }
        for statement in node.body:
            with self.at(statement):
                self.add_to_class(namespace, statement, body)
        with self.at(node):
            try:
                kind = type(node.name, bases, namespace)
            except TypeError as error:
                raise self.refusal(f"this class cannot be made here: {error}", _OUTSIDE) from None
        for decorator in reversed(node.decorator_list):
            with self.at(decorator):
                kind = self.decorated_class(decorator, kind)
        return kind

    def add_to_class(self, namespace: dict[str, Any], statement: ast.stmt, body: CodeType) -> None:
        match statement:
            case ast.FunctionDef():
                namespace[statement.name] = self.method_of_class(statement, namespace, body)
            case ast.AnnAssign(target=ast.Name(id=name)):
                namespace["__annotations__"][name] = ast.unparse(statement.annotation)
                if statement.value is not None:
                    namespace[name] = self.constant_of_class(statement.value)
            case ast.Assign(targets=[ast.Name(id=name)]):
                namespace[name] = self.constant_of_class(statement.value)
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case _:
                hint = f"a class made in a function holds methods and constants; {_OUTSIDE}"
                raise self.refusal("this statement of a class is not compiled", hint)

    def constant_of_class(self, node: ast.expr) -> Any:
        """The value of an attribute: what is written out, as every call finds the same."""
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError):
            value = ...
        if not isinstance(value, _SCALARS):
            hint = f"write the number itself, or give it to __init__; or {_OUTSIDE}"
            with self.at(node):
                raise self.refusal("an attribute of a class made in a function must be a constant", hint)
        return value

    def method_of_class(self, node: ast.FunctionDef, namespace: dict[str, Any], body: CodeType) -> Any:
        code = self.code_of(node, body)
        if code.co_freevars:
            names = ", ".join(repr(name) for name in code.co_freevars)
            why = f"a method of a class made in a function uses {names} of the code around the class"
            raise self.refusal(why, f"give it to __init__ and keep it in self; or {_OUTSIDE}")
        defaults = tuple(self.constant_of_class(default) for default in node.args.defaults)
        made: Any = FunctionType(code, self.frame.source.function.__globals__, node.name, defaults or None)
        made.__module__, made.__qualname__ = namespace["__module__"], f"{namespace['__qualname__']}.{node.name}"
        pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        made.__kwdefaults__ = {
            each.arg: self.constant_of_class(default) for each, default in pairs if default is not None
        } or None
        for decorator in reversed(node.decorator_list):
            with self.at(decorator):
                found = self.static(self.expression(decorator), "the decorator of a method")
                if not any(found is each for each in _METHODS):
                    hint = f"staticmethod, classmethod and property are compiled; or {_OUTSIDE}"
                    raise self.refusal("this decorator of a method is not compiled", hint)
                made = found(made)
        return made

    def decorated_class(self, node: ast.expr, kind: type) -> type:
        """`@dataclass`, with keywords that are written out."""
        keywords: Sequence[ast.keyword] = ()
        if isinstance(node, ast.Call) and not node.args:
            node, keywords = node.func, node.keywords
        if self.static(self.expression(node), "the decorator of a class") is not dataclasses.dataclass:
            raise self.refusal("this decorator of a class is not compiled", f"@dataclass is; or {_OUTSIDE}")
        options = {str(each.arg): self.constant_of_class(each.value) for each in keywords}
        try:
            return dataclasses.dataclass(**options)(kind)
        except (TypeError, ValueError) as error:
            raise self.refusal(str(error)) from None

    def code_of(self, node: ast.ClassDef | ast.FunctionDef, around: CodeType) -> CodeType:
        """What Python has compiled of a class or method."""
        first = min(each.lineno for each in (node, *node.decorator_list))
        for code in codes_in(around):
            if code.co_name == node.name and code.co_firstlineno == first and code is not around:
                return code
        raise self.refusal(f"the code of {node.name} is not found", _OUTSIDE)
