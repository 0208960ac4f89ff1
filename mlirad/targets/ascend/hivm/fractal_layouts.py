"""The layout of a matrix in the buffers of the cube core.

Reads: matrices, or indices in them. Writes: fractals, or offsets. Leaves: nothing.

A fractal has 16 rows of 32 bytes, `c0` elements each; in L0C it is 16 x 16. The first letter of a layout gives the
order of the elements in a fractal, the second that of the fractals: by rows (z, Z) or by columns (n, N).

    zN  (columns / c0, rows / 16, 16, c0)    L1, where it is called NZ; L0C
    zZ  (rows / 16, columns / c0, 16, c0)    L0A
    nZ  (rows / c0, columns / 16, 16, c0)    L0B: its fractals hold transposed blocks, of c0 rows and 16 columns

The matrix is padded to whole fractals.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

FRACTAL = 16
FRACTAL_ROW_BYTES = 32


@dataclass(frozen=True)
class FractalLayout:
    """rows, columns: the axes of the fractals' array along which the matrix's rows and columns continue.

    is_transposed: whether a fractal holds the transpose of its block.
    """

    name: str
    rows: int
    columns: int
    is_transposed: bool

    def block(self, c0: int) -> tuple[int, int]:
        """The numbers of the matrix's rows and columns in one fractal."""
        return (c0, FRACTAL) if self.is_transposed else (FRACTAL, c0)

    def shape(self, rows: int, columns: int, c0: int) -> tuple[int, int, int, int]:
        """The shape of the fractals of a matrix."""
        counts = [0, 0]
        for axis, size, step in zip((self.rows, self.columns), (rows, columns), self.block(c0), strict=True):
            counts[axis] = -(-size // step)
        return (counts[0], counts[1], FRACTAL, c0)

    def matrix_shape(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """The rows and columns of fractals of that shape, including padding."""
        rows, columns = self.block(shape[3])
        return shape[self.rows] * rows, shape[self.columns] * columns

    def index(self, row: int, column: int, c0: int) -> tuple[int, int, int, int]:
        """The index of a matrix element in the fractals."""
        rows, columns = self.block(c0)
        outer = [0, 0]
        outer[self.rows], outer[self.columns] = row // rows, column // columns
        inner = (column % columns, row % rows) if self.is_transposed else (row % rows, column % columns)
        return (*outer, *inner)  # pyright: ignore[reportReturnType]: two and two

    def offset(self, row: int, column: int, rows: int, columns: int, c0: int) -> int:
        """The offset of an element in the fractals of a matrix of that shape."""
        return int(np.ravel_multi_index(self.index(row, column, c0), self.shape(rows, columns, c0)))

    def pack(self, matrix: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """The matrix as fractals of that shape, with zeros as padding."""
        padded = np.zeros(self.matrix_shape(shape), matrix.dtype)
        padded[: matrix.shape[0], : matrix.shape[1]] = matrix
        rows, columns = self.block(shape[3])
        blocks = padded.reshape(shape[self.rows], rows, shape[self.columns], columns)
        return blocks.transpose(self._order())

    def unpack(self, fractals: np.ndarray) -> np.ndarray:
        """The whole matrix, padding included."""
        order = self._order()
        return fractals.transpose([order.index(axis) for axis in range(4)]).reshape(self.matrix_shape(fractals.shape))

    def _order(self) -> tuple[int, ...]:
        """The permutation from (row of blocks, row in it, column of blocks, column in it) to the axes of the
        fractals."""
        outer = (0, 2) if self.rows < self.columns else (2, 0)
        return (*outer, *((3, 1) if self.is_transposed else (1, 3)))

    def bytes(self, rows: int, columns: int, itemsize: int) -> int:
        """The bytes of the fractals of a matrix in L1, L0A or L0B."""
        return prod(self.shape(rows, columns, FRACTAL_ROW_BYTES // itemsize)) * itemsize


NZ = FractalLayout("zN", rows=1, columns=0, is_transposed=False)
"""The layout of L1, and of L0C with c0 = 16."""
ZZ = FractalLayout("zZ", rows=0, columns=1, is_transposed=False)
"""Of L0A."""
ZN = FractalLayout("nZ", rows=0, columns=1, is_transposed=True)
"""Of L0B."""
