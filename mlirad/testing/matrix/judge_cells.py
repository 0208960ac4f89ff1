"""The cells of the matrix: a transform of a transform of a program, and the verdict on each.

Reads: programs and transforms. Writes: nothing. Gives: verdicts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mlirad
from mlirad.testing.matrix.digits import digits
from mlirad.testing.matrix.kinds_of_programs import PROGRAMS, Program
from mlirad.testing.matrix.transforms_of_numbers import TRANSFORMS, Transform

AT = np.array([0.8, 1.1, 0.6])
TOLERANCE = 1e-9

RIGHT, WRONG = "right", "wrong"


@dataclass(frozen=True)
class Reason:
    """Why a cell is refused, as a letter. message: in the error. documented: in docs/transforms.md."""

    letter: str
    message: str
    documented: str


REASONS = (
    Reason("m", "sparse matrices are not compiled", "Sparse Jacobians and Hessians inside compiled functions"),
    Reason("o", "a transform inside a compiled function has no option 'checkpoint'", "transform except the outermost"),
    Reason("p", "the sparsity pattern cannot be found", "there is no such pattern"),
    Reason("s", "needs this array again in every trip, and its size has no bound", "gradients of a recursive function"),
)


@dataclass(frozen=True)
class Cell:
    program: Program
    outer: Transform
    inner: Transform

    def __str__(self) -> str:
        return f"{self.outer.name} of {self.inner.name} of {self.program.name}"

    def expected(self) -> float:
        x = digits(AT)
        return float(self.outer.reference(self.inner.reference(self.program.reference))(x, x).value)

    def found(self, compiled: Callable[..., Any] = mlirad.jit) -> float:
        """In a kernel, if the outer transform is allowed in one."""
        function = self.outer.of(self.inner.of(self.program.function))
        return float((compiled(function) if self.outer.is_for_kernels else function)(AT))

    def verdict(self, compiled: Callable[..., Any] = mlirad.jit) -> str:
        """RIGHT, WRONG with both numbers, the letter of a reason, or the error."""
        try:
            found = self.found(compiled)
        except mlirad.CompileError as error:
            letters = [reason.letter for reason in REASONS if reason.message in str(error)]
            return letters[0] if letters else f"{type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001 - the matrix looks for any other exception
            return f"{type(error).__name__}: {error}"
        expected = self.expected()
        is_right = abs(found - expected) <= TOLERANCE * max(1.0, abs(expected))
        return RIGHT if is_right else f"{WRONG}: {found!r}, and {expected!r} is right"


CELLS = tuple(Cell(program, outer, inner) for program in PROGRAMS for outer in TRANSFORMS for inner in TRANSFORMS)
