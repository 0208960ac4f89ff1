"""The requirements for emitting an op: its type rule, and the NumPy functions that it implements.

`spell` registers an op under its functions, and `op_of` finds it: IR values emit ops by NumPy's names, so that no file
below the op families imports one of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation

from mlirad.dialect.core import types
from mlirad.dialect.core.attributes import attribute_of
from mlirad.errors import DTypeError

Properties = Mapping[str, Attribute]
Function = Callable[..., Any]
COMPLEX = "compute with the real and the imaginary part, z.real and z.imag"
"""The hint for an op that does not support complex numbers."""


class TypedOp(IRDLOperation):
    """An op with a type rule."""

    # Attributes that `@op` sets on the class, after xDSL has processed it.
    if TYPE_CHECKING:
        spellings: ClassVar[tuple[Function, ...]]
        takes_complex: ClassVar[bool]

    @classmethod
    @abstractmethod
    def infer(
        cls, operands: Sequence[Attribute], properties: Properties, result_type: Attribute | None = None
    ) -> list[Attribute]:
        """The result types. Raises ShapeError or DTypeError if the operands do not fit.

        result_type is the requested type, for the ops whose operands do not determine it; the others ignore it.
        """

    @classmethod
    def require_taken(cls, values: Iterable[Attribute]) -> None:
        """Raises DTypeError for complex elements, unless the op supports them; by default, no op does."""
        if not cls.takes_complex and any(map(types.is_complex, values)):
            name = cls.spellings[0].__name__ if cls.spellings else cls.name.partition(".")[2]
            raise DTypeError(f"{name} of complex numbers is not compiled", hint=COMPLEX)

    @classmethod
    def properties_of(cls, attributes: Mapping[str, Any]) -> dict[str, Attribute]:
        """MLIR attributes for plain Python ones: ints, strings, and sequences of ints."""
        return {name: attribute_of(value) for name, value in attributes.items()} if attributes else {}


_spelled: dict[Function, type[TypedOp]] = {}


def require_free(spellings: Sequence[Function], name: str) -> None:
    """Raises TypeError if one of the functions already has an op."""
    for spelling in spellings:
        if spelling in _spelled:
            raise TypeError(f"{spelling!r} spells both {_spelled[spelling].__name__} and {name}")


def spell(op_class: type[TypedOp], spellings: Sequence[Function]) -> None:
    """Let `op_of` find an op under each of these functions."""
    _spelled.update(dict.fromkeys(spellings, op_class))


def spelled() -> Mapping[Function, type[TypedOp]]:
    """The op of each NumPy (or math) function."""
    return _spelled


def op_of(function: Function) -> type[TypedOp]:
    """The op of a NumPy (or math) function. Its family must be imported: `nd.py` imports them all."""
    return _spelled[function]
