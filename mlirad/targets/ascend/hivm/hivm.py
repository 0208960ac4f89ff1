"""The dialects `hivm` and `hacc`: the subset of Huawei's that mlirad emits, under its real names.

Reads: the modules beside this one. Writes: dialects for xDSL, of all ops and attributes that these define. Leaves:
nothing. Text that these dialects print in generic form is what `bishengir-opt` of AscendNPU-IR accepts.
"""

from __future__ import annotations

from types import ModuleType
from typing import TypeVar

from xdsl.ir import Attribute, Dialect, Operation

from mlirad.targets.ascend.hivm import (
    choosing_instructions,
    cube_instructions,
    cube_intrinsics,
    elementwise_instructions,
    hivm_attributes,
    rearranging_instructions,
    synchronisation,
    transfers,
)

_Kind = TypeVar("_Kind", Operation, Attribute)


def _defined(kind: type[_Kind], dialect: str, *modules: ModuleType) -> list[type[_Kind]]:
    """The ops or the attributes of a dialect in modules, in their order there; classes without a name are base
    classes."""
    return [
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type)
        and issubclass(each, kind)
        and each.__module__ == module.__name__
        and getattr(each, "name", "").startswith(f"{dialect}.")
    ]


_INSTRUCTIONS = (
    transfers,
    elementwise_instructions,
    choosing_instructions,
    rearranging_instructions,
    synchronisation,
    cube_instructions,
    cube_intrinsics,
)
HIVM = Dialect("hivm", _defined(Operation, "hivm", *_INSTRUCTIONS), _defined(Attribute, "hivm", hivm_attributes))
ANNOTATION = Dialect("annotation", _defined(Operation, "annotation", synchronisation), [])
HACC = Dialect("hacc", [], _defined(Attribute, "hacc", hivm_attributes))
