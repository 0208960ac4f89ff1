"""import inside a function: binds names to modules, and to objects in them.

Reads: ast, and the modules of this process. Writes: nothing. Leaves: bound names, and guards on attributes that may be
rebound.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from types import ModuleType

from mlirad.contract.captures import Path, is_settled
from mlirad.frontend.interpreter import attribute_access, outside_objects, variables
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values.values import Value

_QUIET = ("numpy", "scipy")
"""Packages, besides Python's own, with modules that may be imported for the first time while a function is compiled."""


def import_modules(context: Context, node: ast.Import) -> None:
    for alias in node.names:
        module = imported(context, alias.name)
        name = alias.name.split(".")[0]
        variables.bind(
            context, alias.asname or name, module_value(context, module if alias.asname else sys.modules[name])
        )


def import_names(context: Context, node: ast.ImportFrom) -> None:
    package = context.frame.source.function.__globals__.get("__package__")
    try:
        name = importlib.util.resolve_name("." * node.level + (node.module or ""), package or "")
    except ImportError as error:
        raise context.refusal(str(error)) from None
    module = imported(context, name)
    for alias in node.names:
        if not hasattr(module, alias.name):
            imported(context, f"{name}.{alias.name}")  # a module of a package
        variables.bind(
            context,
            alias.asname or alias.name,
            attribute_access.attribute(context, module_value(context, module), alias.name),
        )


def imported(context: Context, name: str) -> ModuleType:
    """A module that is already imported, or has a first import without an effect that a user could notice."""
    home = name.split(".")[0]
    if name not in sys.modules and home not in sys.stdlib_module_names and home not in _QUIET:
        hint = "import it at the top of the file"
        raise context.refusal(f"the first import of {name} would run its code while this is compiled", hint)
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise context.refusal(str(error)) from None


def module_value(context: Context, module: ModuleType) -> Value:
    # A module itself never changes. Attributes read from it are guarded, unless they are settled.
    return outside_objects.object_value(context, module, None if is_settled(module) else Path(module, ""))
