"""The instructions that compute one tile.

Reads: the body of a `linalg.generic`, scalar by scalar. Writes: a `TileProgram`: vector instructions on tiles, not yet
in buffers. Leaves: the op unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Operation, SSAValue

from mlirad.targets.ascend.tiles.nest import BufferKind


@dataclass(eq=False)
class TileValue:
    """A value of a tile: `kind` says which of its elements exist."""

    element: Attribute
    kind: BufferKind = BufferKind.TILE


@dataclass(frozen=True)
class Scalar:
    """A number that is the same for the whole kernel: a constant, or a value of the kernel."""

    value: SSAValue | float
    element: Attribute


Value = TileValue | Scalar
Maker = Callable[[Sequence[SSAValue], SSAValue], Operation]
"""Creates an instruction from the buffers and scalars that it reads, and the buffer that it writes."""


@dataclass(frozen=True, eq=False)
class VectorStep:
    """One vector instruction. in_place: whether its output may be a buffer that it reads."""

    make: Maker
    inputs: tuple[Value, ...]
    output: TileValue
    location: LocationAttr
    in_place: bool = True


@dataclass(eq=False)
class TileProgram:
    """loaded: the tiles that transfers load, by the buffer's number. steps: in order. stored: the tile to be stored."""

    loaded: dict[int, TileValue] = field(default_factory=dict)
    steps: list[VectorStep] = field(default_factory=list)

    def tiles(self) -> list[TileValue]:
        """All tiles, each once."""
        found = dict.fromkeys(self.loaded.values())
        for step in self.steps:
            found |= dict.fromkeys(each for each in (*step.inputs, step.output) if isinstance(each, TileValue))
        return list(found)
