"""Programs that write through a view, or a copy, of what a NumPy function gives for an array that lies in some way.

Reads: nothing. Gives: each program's text, and its arguments.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

# How the argument lies; `B` of the program is the argument.
ARGUMENTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "row-major": lambda x: x.copy(),
    "column-major": lambda x: np.asfortranarray(x.copy()),
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "rotated": lambda x: np.ascontiguousarray(np.moveaxis(x, 0, -1)).transpose(-1, *range(x.ndim - 1)),
    "reversed": lambda x: x[::-1].copy()[::-1],
    "reversed along the last": lambda x: x[..., ::-1].copy()[..., ::-1],
    "every second": lambda x: np.repeat(x, 2, axis=0)[::2],
    "every second of the last": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "sliced": lambda x: np.concatenate([x, x], axis=-1)[..., : x.shape[-1]],
    "read-only": lambda x: np.broadcast_to(x, x.shape),
}
# The same within the program, of the argument A, where all strides are known.
INSIDE = (
    "A.T",
    "A[::-1]",
    "A[..., ::-1]",
    "A[::2]",
    "A[..., 1:]",
    "A[None]",
    "A[..., None]",
    "A.T[::-1]",
    "np.swapaxes(A, 0, -1)",
)
SHAPES = ((4,), (3, 4), (3, 3), (1, 4), (4, 1), (2, 3, 4), (2, 1, 3), ())
FUNCTIONS = (
    *("B", "B.T", "B[::-1]", "B[1:]", "B[..., None]", "B[None]", "B[[0, -1]]", "B[:, [1, 0]]", "B[B > 0.0]"),
    *("B.copy()", "np.copy(B)", "np.array(B)", "np.array(B, order='C')", "np.array(B.T, order='C')", "np.asarray(B)"),
    *("np.ascontiguousarray(B)", "B.astype(np.float32)", "B.astype(float, order='C')", "np.float64(B)"),
    *("B + 1.0", "-B", "B * np.ones(B.shape)", "np.ones(B.shape) - B", "B * B.T", "np.sin(B)", "np.maximum(B, 1.0)"),
    *("np.where(B > 0.0, B, 1.0)", "np.clip(B, 0.0, 9.0)", "B.clip(0.0, 9.0)", "np.divmod(B, 2.0)[0]", "abs(B)"),
    *("np.concatenate([B, B])", "np.concatenate((B, B), axis=-1)", "np.stack([B, B])", "np.stack([B, B], axis=-1)"),
    *("np.vstack((B, B))", "np.hstack([B, B])", "np.column_stack([B, B])", "np.append(B, B, axis=0)"),
    *("np.roll(B, 1)", "np.roll(B, 1, axis=0)", "np.tile(B, 2)", "np.tile(B, (1, 1))", "np.repeat(B, 2, axis=0)"),
    *("np.diff(B, axis=0)", "np.diff(B)", "np.zeros_like(B) + 2.0", "np.full_like(B, 2.0)", "np.array([B, B])"),
    *(
        "B.sum(axis=0)",
        "np.max(B, axis=-1)",
        "np.mean(B, axis=0, keepdims=True)",
        "B.argmax(axis=0, keepdims=True) * 1.0",
    ),
    *("np.expand_dims(B, 0)", "np.squeeze(B)", "np.atleast_2d(B)", "np.atleast_3d(B)", "np.moveaxis(B, 0, -1)"),
    *("np.flip(B)", "np.rot90(B)", "np.broadcast_to(B, (2, *B.shape))", "np.diagonal(B)", "np.tril(B)", "np.diag(B)"),
    *(
        "B @ B.T",
        "np.dot(B, B.T)",
        "np.outer(B, B)",
        "np.inner(B, B)",
        "np.tensordot(B, B, axes=1)",
        "np.take(B, [0], axis=-1)",
    ),
    *("np.einsum('ij->ji', B)", "np.einsum('ii->i', B)", "np.einsum('ij,kj->ki', B, B)", "np.einsum('ij->j', B)"),
    *(
        "np.einsum('ijk->kij', B)",
        "np.einsum('ij', B)",
        "np.einsum('i->i', B)",
        "np.add.outer(B, B)",
        "np.add.reduce(B)",
    ),
    *("B.flatten()", "B.flatten('F')", "B.ravel()", "B.ravel('F')", "B.ravel('K')", "B.reshape(B.shape[::-1])"),
)
THROUGH = (
    *("R.reshape(-1)", "R.ravel()", "np.ravel(R)", "R.T", "R.flatten()", "R.T.reshape(-1)", "R.T.ravel()", "R"),
    *("R.reshape(R.shape[::-1])", "R.ravel('F')", "R.ravel('K')", "R.reshape(-1, order='F')", "R[::-1].reshape(-1)"),
)
HOWS = ("jit", "grad", "vjp", "jvp", "grad in a kernel")


@dataclass(frozen=True)
class Case:
    shape: tuple[int, ...]
    argument: str
    inside: str
    function: str
    through: str

    @property
    def text(self) -> str:
        return f"""
import numpy as np
import mlirad

def f(A):
    B = {self.inside}
    R = {self.function}
    w = {self.through}
    w[(-1,) * w.ndim] = 7.0 * w[(0,) * w.ndim] + 1.0
    first, second = np.arange(1.0, A.size + 1.0), np.sqrt(np.arange(2.0, R.size + 2.0))
    return np.sum(A * first.reshape(A.shape)) + np.sum(R * second.reshape(R.shape))

def within(A):
    return mlirad.value_and_grad(f)(A)[0]
"""

    def functions(self, directory: Path, number: int) -> dict[str, Any]:
        """`f` and `within`, defined in a file."""
        path = directory / f"case_{number}.py"
        path.write_text(self.text)
        found: dict[str, Any] = {}
        exec(compile(self.text, str(path), "exec"), found)
        return found

    def array(self) -> np.ndarray:
        size = int(np.prod(self.shape))
        return ARGUMENTS[self.argument](np.sin(np.arange(1.0, size + 1.0)).reshape(self.shape))


def cases() -> Iterator[Case]:
    for shape, function, through in itertools.product(SHAPES, FUNCTIONS, THROUGH):
        if shape == ():
            yield Case(shape, "row-major", "A", function, through)
            continue
        for argument in ARGUMENTS:
            yield Case(shape, argument, "A", function, through)
        for inside in INSIDE:
            yield Case(shape, "row-major", inside, function, through)
