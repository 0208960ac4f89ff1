"""Which complex numbers a transform takes and returns: JAX's rules and texts.

Reads: leaves of arguments and results. Writes: nothing. Leaves: DifferentiationErrors.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlirad.errors import DifferentiationError
from mlirad.frontend.interpreter.context import Context
from mlirad.frontend.values.traced import Traced
from mlirad.frontend.values.values import Ref, Value

_HOLOMORPHIC = "for holomorphic differentiation, pass holomorphic=True; else use mlirad.{}"


@dataclass(frozen=True)
class Domain:
    """A transform by name, and whether complex derivatives are requested."""

    transform: str
    holomorphic: bool

    def require_input(self, context: Context, leaf: Value) -> Value:
        """Raise DifferentiationError for an argument with a derivative that would not be what it seems."""
        if not isinstance(leaf, Ref | Traced):
            return leaf
        is_complex = leaf.dtype.kind == "c"
        if self.holomorphic and not is_complex:
            what = f"{self.transform} with holomorphic=True requires inputs with complex dtype, but got {leaf.dtype}"
            raise DifferentiationError(what, context.location, "pass x.astype(complex)")
        if is_complex and self.transform == "jacfwd" and not self.holomorphic:
            what = f"jacfwd requires real-valued inputs, but got {leaf.dtype}"
            raise DifferentiationError(what, context.location, _HOLOMORPHIC.format("jvp"))
        return leaf

    def require_output(self, context: Context, leaf: Ref | Traced, name: str) -> None:
        """The same for a result of the function `name`."""
        is_complex = leaf.dtype.kind == "c"
        location = context.returned.get(name, context.location)
        if self.holomorphic and not is_complex:
            what = f"{self.transform} with holomorphic=True requires outputs with complex dtype, but got {leaf.dtype}"
            raise DifferentiationError(what, location, "leave out holomorphic=True: the value is real")
        if is_complex and not self.holomorphic:
            instead = "jvp" if self.transform == "jacfwd" else "vjp"
            what = f"{self.transform} requires real-valued outputs, but got {leaf.dtype}"
            raise DifferentiationError(what, location, _HOLOMORPHIC.format(instead))
