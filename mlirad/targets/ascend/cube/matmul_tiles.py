"""How a matmul is divided between cores, and within a core between L1, L0A, L0B and L0C.

Reads: the sizes of a matmul, the numbers of a chip. Writes: `MatmulTiles`. Leaves: nothing.

A core computes one tile of C at a time, in L0C. Along k it transfers `l1_depth` columns of A and rows of B to L1 at
once, and `l0_depth` of these to L0A and L0B. Each of the five buffers exists twice, so that a pipe fills one while
another pipe reads the other. The sizes of tiles are multiples of a fractal; the last tiles are padded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mlirad.errors import CompileError
from mlirad.targets.ascend.hivm.fractal_layouts import FRACTAL
from mlirad.targets.ascend.hivm.hivm_attributes import AddressSpace
from mlirad.targets.ascend.soc import Soc

Element = Literal["f16", "f32"]
COPIES = 2
_BYTES = {"f16": 2, "f32": 4}
_L0C_ITEM = 4


@dataclass(frozen=True)
class Matmul:
    """`batches` products C[m, n] = A[m, k] @ B[k, n], accumulated in f32.

    element: of A and B. result: of C. With `a_transposed`, the buffer holds A's transpose, (k, m); likewise for b.
    """

    batches: int
    m: int
    n: int
    k: int
    element: Element
    result: Element = "f32"
    a_transposed: bool = False
    b_transposed: bool = False

    @property
    def itemsize(self) -> int:
        return _BYTES[self.element]


@dataclass(frozen=True)
class MatmulTiles:
    """rows, columns: of a tile of C. l1_depth, l0_depth: the part of k that is in L1, and in L0A and L0B, at once."""

    rows: int
    columns: int
    l1_depth: int
    l0_depth: int

    def counts(self, matmul: Matmul) -> tuple[int, int]:
        """The number of tiles of one C along its rows and its columns."""
        return _quotient(matmul.m, self.rows), _quotient(matmul.n, self.columns)

    def tiles(self, matmul: Matmul) -> int:
        """The number of tiles of all products together."""
        down, across = self.counts(matmul)
        return matmul.batches * down * across

    def blocks(self, matmul: Matmul, soc: Soc) -> int:
        """The number of cores on which the kernel is launched."""
        return min(soc.cube_cores, self.tiles(matmul))

    def l1_bytes(self, itemsize: int) -> tuple[int, int]:
        """The bytes of one copy of A's and B's parts in L1."""
        return self.rows * self.l1_depth * itemsize, self.columns * self.l1_depth * itemsize

    def l0_bytes(self, itemsize: int) -> tuple[int, int, int]:
        """The bytes of one copy of A's part in L0A, B's in L0B and the tile in L0C."""
        l0a, l0b = self.rows * self.l0_depth * itemsize, self.columns * self.l0_depth * itemsize
        return l0a, l0b, self.rows * self.columns * _L0C_ITEM

    def buffers(self, itemsize: int) -> tuple[tuple[AddressSpace, int, int], ...]:
        """The parts of A and B in L1, A in L0A, B in L0B, the tile in L0C: the addresses of the copies, the bytes of
        one."""
        (a, b), (l0a, l0b, l0c) = self.l1_bytes(itemsize), self.l0_bytes(itemsize)
        return (
            (AddressSpace.L1, 0, a),
            (AddressSpace.L1, COPIES * a, b),
            (AddressSpace.L0A, 0, l0a),
            (AddressSpace.L0B, 0, l0b),
            (AddressSpace.L0C, 0, l0c),
        )


def check_tiles(tiles: MatmulTiles, matmul: Matmul, soc: Soc) -> list[str]:
    """The problems of these tiles, each with the arithmetic; empty if there are none."""
    problems = [
        f"{name} = {size} is no positive multiple of a fractal's {FRACTAL}"
        for name, size in _sizes(tiles)
        if size <= 0 or size % FRACTAL
    ]
    if tiles.l1_depth % max(tiles.l0_depth, 1):
        problems.append(f"l1_depth = {tiles.l1_depth} is no multiple of l0_depth = {tiles.l0_depth}")
    if problems:
        return problems
    item, rows, columns = matmul.itemsize, tiles.rows, tiles.columns
    l0a, l0b, l0c = tiles.l0_bytes(item)
    needed = (
        ("L1", COPIES * sum(tiles.l1_bytes(item)), soc.l1_bytes, f"({rows} + {columns}) x {tiles.l1_depth} x {item} B"),
        ("L0A", COPIES * l0a, soc.l0a_bytes, f"{rows} x {tiles.l0_depth} x {item} B"),
        ("L0B", COPIES * l0b, soc.l0b_bytes, f"{tiles.l0_depth} x {columns} x {item} B"),
        ("L0C", COPIES * l0c, soc.l0c_bytes, f"{rows} x {columns} x {_L0C_ITEM} B"),
    )
    return [
        f"{name}: {COPIES} buffers x {product} = {size} B > {room} B"
        for name, size, room, product in needed
        if size > room
    ]


def require_tiles(tiles: MatmulTiles, matmul: Matmul, soc: Soc) -> None:
    """Raise a CompileError that shows the arithmetic and the largest depth that fits, unless the tiles fit."""
    problems = check_tiles(tiles, matmul, soc)
    if not problems:
        return
    fitting = _with_depth(tiles.rows, tiles.columns, matmul, soc)
    if fitting is None or check_tiles(fitting, matmul, soc):
        fitting = solve(matmul, soc)
    listed = ", ".join(f"{name} = {size}" for name, size in _sizes(fitting))
    raise CompileError(f"tiles of a matmul do not fit on {soc.name}: {'; '.join(problems)}", hint=f"these do: {listed}")


def solve(matmul: Matmul, soc: Soc) -> MatmulTiles:
    """The tiles with the least modelled time; among equals, the largest."""
    found = min(
        (tiles for tiles in _candidates(matmul, soc)),
        key=lambda tiles: (modelled_cycles(tiles, matmul, soc), -tiles.rows * tiles.columns, tiles.rows),
    )
    assert not check_tiles(found, matmul, soc)
    return found


def modelled_cycles(tiles: MatmulTiles, matmul: Matmul, soc: Soc) -> float:
    """Cycles (model) of the core with the most tiles: its multiplications, or its transfers if they take longer.

    The rates are those of `Soc`, uncalibrated; only their ratios matter here.
    """
    rounds = _quotient(tiles.tiles(matmul), soc.cube_cores)
    depth = _up(matmul.k)
    slowdown = matmul.itemsize**2 / 4  # [docs] f32 has a quarter of the rate of f16
    products = tiles.rows * tiles.columns * depth / FRACTAL**3 * slowdown
    bytes = (tiles.rows + tiles.columns) * depth * matmul.itemsize + tiles.rows * tiles.columns * _BYTES[matmul.result]
    active = tiles.blocks(matmul, soc)
    rate = min(soc.gm_read_bytes_per_cycle, soc.gm_bytes_per_second / soc.cube_clock_hz / active)
    return rounds * max(products, bytes / rate)


def _candidates(matmul: Matmul, soc: Soc) -> Iterator[MatmulTiles]:
    for rows in _lengths(matmul.m):
        for columns in _lengths(matmul.n):
            tiles = _with_depth(rows, columns, matmul, soc)
            if tiles is not None:
                yield tiles


def _lengths(size: int) -> list[int]:
    """Tile lengths to try along an axis: the axis itself, and powers of two with half steps."""
    whole = _up(size)
    return sorted({min(whole, each) for each in (16, 32, 48, 64, 96, 128, 192, 256, 512)})


def _with_depth(rows: int, columns: int, matmul: Matmul, soc: Soc) -> MatmulTiles | None:
    """Tiles of that size with as much of k as fits; None if not even one fractal fits."""
    item, whole = matmul.itemsize, _up(matmul.k)
    if COPIES * rows * columns * _L0C_ITEM > soc.l0c_bytes:
        return None
    l0 = min(whole, _down(soc.l0a_bytes // (COPIES * rows * item)), _down(soc.l0b_bytes // (COPIES * columns * item)))
    l1 = _down(soc.l1_bytes // (COPIES * (rows + columns) * item))
    if min(l0, l1) < FRACTAL:
        return None
    l0 = min(l0, l1)
    return MatmulTiles(rows, columns, min(l1 // l0, _quotient(whole, l0)) * l0, l0)


def _sizes(tiles: MatmulTiles) -> tuple[tuple[str, int], ...]:
    return (
        ("rows", tiles.rows),
        ("columns", tiles.columns),
        ("l1_depth", tiles.l1_depth),
        ("l0_depth", tiles.l0_depth),
    )


def _quotient(size: int, step: int) -> int:
    return -(-size // step)


def _up(size: int) -> int:
    return _quotient(size, FRACTAL) * FRACTAL


def _down(size: int) -> int:
    return size // FRACTAL * FRACTAL
