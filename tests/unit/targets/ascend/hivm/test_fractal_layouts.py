"""The layouts of the cube core's buffers, against the NumPy expressions in Huawei's guide."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mlirad.targets.ascend.hivm.fractal_layouts import NZ, ZN, ZZ, FractalLayout


def guides_nz(padded: np.ndarray, c0: int) -> np.ndarray:
    """(M, N) -> (M1, M0, N1, N0) -> (N1, M1, M0, N0)."""
    rows, columns = padded.shape
    return padded.reshape(rows // 16, 16, columns // c0, c0).transpose(2, 0, 1, 3)


def guides_zz(padded: np.ndarray, c0: int) -> np.ndarray:
    rows, columns = padded.shape
    return padded.reshape(rows // 16, 16, columns // c0, c0).transpose(0, 2, 1, 3)


def guides_zn(padded: np.ndarray, c0: int) -> np.ndarray:
    """(K, N) -> (K1, K0, N1, N0) -> (K1, N1, N0, K0): the zZ layout of the transpose, its fractals in rows of k."""
    rows, columns = padded.shape
    return padded.reshape(rows // c0, c0, columns // 16, 16).transpose(0, 2, 3, 1)


@pytest.mark.parametrize(("layout", "guide"), [(NZ, guides_nz), (ZZ, guides_zz), (ZN, guides_zn)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_ragged_matrices(layout: FractalLayout, guide: Callable[..., np.ndarray], dtype: type) -> None:
    c0 = 32 // np.dtype(dtype).itemsize
    generator = np.random.default_rng(7)
    for rows, columns in ((1, 1), (16, 16), (17, 8), (35, 50), (1, 33), (64, 7), (48, 96)):
        matrix = generator.standard_normal((rows, columns)).astype(dtype)
        shape = layout.shape(rows, columns, c0)
        packed = layout.pack(matrix, shape)
        padded = np.zeros(layout.matrix_shape(shape), dtype)
        padded[:rows, :columns] = matrix
        np.testing.assert_array_equal(packed, guide(padded, c0))
        np.testing.assert_array_equal(layout.unpack(packed), padded)
        flat = np.ascontiguousarray(packed).reshape(-1)
        places = [(row, column) for row in range(rows) for column in range(columns)]
        offsets = [layout.offset(row, column, rows, columns, c0) for row, column in places]
        assert len(set(offsets)) == matrix.size
        np.testing.assert_array_equal(flat[offsets], matrix.reshape(-1))
        assert layout.bytes(rows, columns, matrix.itemsize) == packed.nbytes
        assert packed.nbytes % 512 == 0 and np.count_nonzero(packed) == np.count_nonzero(matrix)
