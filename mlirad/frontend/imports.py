"""import inside a function: names for modules, and for what is in them.

Reads: ast, and the modules of this process. Writes: nothing. Leaves: the names bound; what is read of a module whose
attributes may be rebound is guarded.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from types import ModuleType

from mlirad.frontend.captures import Path, is_settled
from mlirad.frontend.objects import Objects
from mlirad.frontend.values import Value

_QUIET = ("numpy", "scipy")
"""Besides Python's own, packages whose modules may be imported for the first time while a function is compiled."""


class Imports(Objects):
    """`import_modules` and `import_names`."""

    def import_modules(self, node: ast.Import) -> None:
        for alias in node.names:
            module = self.imported(alias.name)
            name = alias.name.split(".")[0]
            self.bind(alias.asname or name, self.module_value(module if alias.asname else sys.modules[name]))

    def import_names(self, node: ast.ImportFrom) -> None:
        package = self.frame.source.function.__globals__.get("__package__")
        try:
            name = importlib.util.resolve_name("." * node.level + (node.module or ""), package or "")
        except ImportError as error:
            raise self.refusal(str(error)) from None
        module = self.imported(name)
        for alias in node.names:
            if not hasattr(module, alias.name):
                self.imported(f"{name}.{alias.name}")  # a module of a package
            self.bind(alias.asname or alias.name, self.attribute(self.module_value(module), alias.name))

    def imported(self, name: str) -> ModuleType:
        """A module that has been imported, or whose first import has no effect that a user could notice."""
        home = name.split(".")[0]
        if name not in sys.modules and home not in sys.stdlib_module_names and home not in _QUIET:
            hint = "import it at the top of the file"
            raise self.refusal(f"the first import of {name} would run its code while this is compiled", hint)
        try:
            return importlib.import_module(name)
        except ImportError as error:
            raise self.refusal(str(error)) from None

    def module_value(self, module: ModuleType) -> Value:
        # A module stays what it is. What is read of it is guarded, unless its attributes are settled.
        return self.object_value(module, None if is_settled(module) else Path(module, ""))
