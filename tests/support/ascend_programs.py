"""Programs whose kernels are damaged: what the compiler emits for them, and some written by hand.

Reads: functions. Writes: text of stage hivm-physical. Leaves: nothing. The chips have few cores and little memory, so
that small arrays are several tiles, of which the last is shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from io import StringIO
from typing import Any

import ascend_kernels
import ascend_matmuls
import numpy as np
from ascend_launches import GivenLaunch, launches
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

import mlirad
from mlirad.pipeline import run
from mlirad.targets.ascend import soc as socs
from mlirad.targets.ascend.cube.matmul_tiles import Matmul, MatmulTiles
from mlirad.targets.ascend.simulator.simulated_program import SimulatedProgram
from mlirad.targets.ascend.soc import Soc, for_soc

_WHOLE = for_soc("Ascend910B1")
UNIFIED_BUFFER = 20 * 1024
"""Its bytes on the chips with little memory."""


def chip(cores: int) -> Soc:
    """A chip with so many cores of each kind."""
    return replace(_WHOLE, name=f"Small{cores}", vector_cores=cores, cube_cores=cores, ub_bytes=UNIFIED_BUFFER)


@contextmanager
def known(*chips: Soc) -> Iterator[None]:
    """The compiler knows these chips by their names."""
    before = dict(socs._SOCS)
    socs._SOCS.update({each.name: each for each in chips})
    try:
        yield
    finally:
        socs._SOCS.clear()
        socs._SOCS.update(before)


@dataclass(frozen=True)
class Case:
    """A program: a function that is compiled for the chip, or text.

    is_sorted: the numbers of the arguments are, so that each tile has the largest one so far.
    """

    name: str
    source: Callable[..., Any] | str
    shapes: tuple[tuple[int, ...], ...]
    dtype: type = np.float32
    soc: Soc = _WHOLE
    is_sorted: bool = False
    flags_count: bool = False

    def values(self) -> list[np.ndarray]:
        rng = np.random.default_rng(0)
        drawn = [rng.standard_normal(shape).astype(self.dtype) for shape in self.shapes]
        return [np.sort(each, axis=None).reshape(each.shape) for each in drawn] if self.is_sorted else drawn

    def stages(self) -> dict[str, ModuleOp]:
        """The compiler's output for the function."""
        assert callable(self.source)
        with known(self.soc):
            lowered = mlirad.jit(self.source, target="ascend", soc=self.soc.name).lower(*self.values())
            return {name: value.clone() for name, value in run(lowered.module.clone(), lowered.target)}

    @cache
    def text(self) -> str:
        """Of stage hivm-physical."""
        return self.source if isinstance(self.source, str) else generic(self.stages()["hivm-physical"])

    def program(self, text: str | ModuleOp) -> SimulatedProgram:
        return SimulatedProgram(text, self.soc, self.flags_count)

    def launches(self) -> list[GivenLaunch]:
        """Of one call; where numbers are sorted, also of one on reversed arrays."""
        calls = [self.values()]
        if self.is_sorted:
            calls.append([np.flip(each).copy() for each in self.values()])
        return [launch for values in calls for launch in launches(self.program(self.text()), values)]


def generic(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    return stream.getvalue()


def compiled(
    name: str,
    function: Callable[..., Any],
    *shapes: tuple[int, ...],
    dtype: type = np.float32,
    cores: int = 1,
    is_sorted: bool = False,
) -> Case:
    return Case(name, function, shapes, dtype, chip(cores), is_sorted)


def written(name: str, text: str, *shapes: tuple[int, ...], dtype: type = np.float32) -> Case:
    """By hand. The chip has two cores."""
    return Case(name, text, shapes, dtype, chip(2))


def softmax(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def layer_norm(x, g):
    centred = x - np.mean(x, axis=1, keepdims=True)
    return g * centred / np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + 1e-3)


def layer_norm_loss(x, g):
    return np.sum(layer_norm(x, g) ** 2)


def cross_entropy(x, y):
    shifted = x - np.max(x, axis=1, keepdims=True)
    return -np.sum(y * (shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))))


def mean_square(x, y):
    return np.mean((x - y) ** 2)


def attention(q, k, v):
    return softmax(q @ k.T * np.float32(0.35)) @ v


def dense(x, w, b):
    return np.maximum(x @ w + b, 0)


def steps(x, w):
    for _ in range(3):
        x = np.tanh(x * w) + x
    return x


def in_place(x, y):
    for i in range(2):
        x[i] = x[i] * y + x[i + 1]
    return x


MATMUL = Matmul(1, 40, 16, 50, "f16")
"""Three tiles on one core, of two parts of k in L1, of two in L0 each; the last of all is ragged."""
_MATMUL_CHIP = replace(ascend_matmuls.SOC, cube_cores=1)

N, M = (3000,), (90, 30)
_CASES = (
    written("exp of a sum by hand", ascend_kernels.exp_of_sum(), (256,), (256,)),
    written("softmax by hand", ascend_kernels.softmax(), (32, 64)),
    written("tail by hand", ascend_kernels.tail(), (200,)),
    written(
        "matmul by hand",
        ascend_matmuls.program(MATMUL, MatmulTiles(16, 16, 32, 16), _MATMUL_CHIP),
        *ascend_matmuls.shapes(MATMUL)[:2],
        dtype=np.float16,
    ),
    compiled("exp of a sum", lambda x, y: np.exp(x + y), N, N),
    compiled("on three cores", lambda x, y: np.exp(x + y), (5003,), (5003,), cores=3),
    compiled("choice", lambda x, y: np.where(x > y, x, y * y), (1500,), (1500,)),
    compiled("tanh", np.tanh, (800,)),
    compiled("sigmoid", lambda x: 1 / (1 + np.exp(-x)), N),
    compiled("quotient in f16", lambda x, y: x / (1 + y * y), N, N, dtype=np.float16),
    compiled("root", lambda x: np.sqrt(np.abs(x)), N),
    compiled("logarithm", lambda x: np.log(1 + x * x), N),
    compiled("extremes", lambda x, y: np.maximum(x, y) - np.minimum(x, y), N, N),
    compiled("sum", lambda x: np.sum(x * x), (6000,)),
    compiled("row sums", lambda x: np.sum(np.exp(x), axis=1), (9, 1500)),
    compiled("row sums on three cores", lambda x: np.sum(np.exp(x), axis=1), (50, 300), cores=3),
    compiled("column sums", lambda x: np.sum(x, axis=0), (600, 20)),
    compiled("row maxima", lambda x: np.max(x, axis=1), (9, 1500), is_sorted=True),
    compiled("largest", np.max, (3001,), is_sorted=True),
    compiled("transpose", lambda x: x.T + 1, (90, 48)),
    compiled("transpose of three axes", lambda x: np.transpose(x, (2, 0, 1)) * 2, (5, 12, 33)),
    compiled("bias", lambda x, b: np.maximum(x + b, 0), M, (30,)),
    compiled("outer", lambda x, y: x[:, None] * y[None, :], (90,), (40,)),
    compiled("slices", lambda x: x[1:, 3:] * x[:-1, :-3], (40, 60)),
    compiled("softmax", softmax, (50, 33)),
    compiled("softmax in f16", softmax, (50, 33), dtype=np.float16),
    compiled("layer norm", layer_norm, M, (30,)),
    compiled("cross entropy", cross_entropy, M, M),
    compiled("mean square", mean_square, M, M),
    compiled("gradient of mean square", mlirad.grad(mean_square), M, M),
    compiled("gradient of cross entropy", mlirad.grad(cross_entropy), (21, 30), (21, 30)),
    compiled("gradient of tanh", mlirad.grad(lambda x: np.sum(np.tanh(x))), (800,)),
    compiled("gradient of layer norm", mlirad.grad(layer_norm_loss, argnums=(0, 1)), (21, 30), (30,)),
    compiled("attention", attention, (33, 16), (40, 16), (40, 24)),
    compiled("matmul with bias", dense, (40, 50), (50, 30), (30,)),
    compiled("matmul in f16", lambda x, y: x @ y, (40, 50), (50, 30), dtype=np.float16),
    compiled("batched matmul", lambda x, y: x @ y, (3, 20, 33), (3, 33, 18)),
    compiled("transposed matmul on three cores", lambda x, y: x.T @ y, (40, 90), (40, 70), cores=3),
    compiled("host loop", steps, (700,), (700,)),
    compiled("rows in place", in_place, (4, 900), (900,)),
)
CORPUS = {each.name: each for each in _CASES}
