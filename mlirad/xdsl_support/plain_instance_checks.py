"""Makes `isinstance` on xDSL's values, attributes and ops as fast as on any other class.

They are abstract base classes. Every isinstance check that does not succeed at once searches for virtual subclasses,
which took a tenth of a compilation. None of them has a virtual subclass.

Reads and writes: the metaclass of these classes, once, when the package is imported; later classes inherit it.
Leaves: abstract methods.
"""

from __future__ import annotations

from abc import ABCMeta

from xdsl.ir import Attribute, Operation, SSAValue


class _PlainChecks(ABCMeta):
    """A metaclass of abstract classes whose only subclasses are those that inherit from them."""

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__


def check_plainly() -> None:
    """Make these classes, and all that inherit from them, check instances without searching for virtual subclasses."""
    classes: list[type] = [SSAValue, Attribute, Operation]
    for each in classes:  # the list grows
        classes += type.__subclasses__(each)
        if type(each) is ABCMeta:
            type.__setattr__(each, "__class__", _PlainChecks)
