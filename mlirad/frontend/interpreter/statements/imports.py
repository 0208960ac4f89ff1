"""import inside a function: names for modules, and for what is in them.

Reads: ast, and the modules of this process. Writes: nothing. Leaves: the names bound; what is read of a module whose
attributes may be rebound is guarded.
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


"""Besides Python's own, packages whose modules may be imported for the first time while a function is compiled."""


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
    """A module that has been imported, or whose first import has no effect that a user could notice."""
    home = name.split(".")[0]
    if name not in sys.modules and home not in sys.stdlib_module_names and home not in _QUIET:
        hint = "import it at the top of the file"
        raise context.refusal(f"the first import of {name} would run its code while this is compiled", hint)
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise context.refusal(str(error)) from None


def module_value(context: Context, module: ModuleType) -> Value:
    # A module stays what it is. What is read of it is guarded, unless its attributes are settled.
    return outside_objects.object_value(context, module, None if is_settled(module) else Path(module, ""))
