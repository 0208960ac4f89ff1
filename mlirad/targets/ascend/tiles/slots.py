"""Assigns buffers to the tiles of a program: a buffer is reused once its tile is dead.

Reads: a `TileProgram`. Writes: the slot of each tile. Leaves: the program unchanged.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xdsl.ir import Attribute

from mlirad.targets.ascend.tiles.nest import BufferKind
from mlirad.targets.ascend.tiles.tile_program import TileProgram, TileValue


@dataclass(eq=False)
class Slot:
    """A buffer for tiles of one element type and kind. copies: 2 if a transfer fills one while the other is used."""

    element: Attribute
    kind: BufferKind
    copies: int = 1


def slots_of(program: TileProgram, stored: TileValue | None, kept: Collection[TileValue]) -> dict[TileValue, Slot]:
    """The slot of each tile. stored: the tile that a transfer stores. kept: the tiles that outlive the program.

    The slots of loaded tiles are not reused: their contents come only from memory.
    """
    last = {tile: number for number, step in enumerate(program.steps) for tile in (*step.inputs, step.output)}
    slots = {tile: Slot(tile.element, tile.kind, 2) for tile in program.loaded.values()}
    slots |= {tile: Slot(tile.element, tile.kind) for tile in kept}
    free: list[Slot] = []
    if stored is not None:
        slots[stored] = Slot(stored.element, stored.kind, 2)
    lasting = {*program.loaded.values(), *kept, stored}
    for number, step in enumerate(program.steps):
        ending = [
            slots[tile]
            for tile in dict.fromkeys(step.inputs)
            if isinstance(tile, TileValue) and last[tile] == number and tile not in lasting
        ]
        if step.in_place:
            free += ending
        if step.output not in slots:
            slots[step.output] = _taken(free, step.output) or Slot(step.output.element, step.output.kind)
        if not step.in_place:
            free += ending
        if last[step.output] == number and step.output not in lasting:
            free.append(slots[step.output])
    return slots


def _taken(free: list[Slot], tile: TileValue) -> Slot | None:
    """A free slot for a tile, if there is one."""
    found = next((slot for slot in reversed(free) if (slot.element, slot.kind) == (tile.element, tile.kind)), None)
    if found is not None:
        free.remove(found)
    return found
