"""The functions that read arrays through windows, and the sizes that they need.

Reads: values. Writes: nd ops. Leaves: Traced values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlirad.dialect.core import types
from mlirad.dialect.core.expr import emit
from mlirad.dialect.layers.windows import OverlapOp, WindowsOp
from mlirad.frontend.numpy.declarations import compiles
from mlirad.frontend.values.traced import Traced, as_traced, require_static
from mlirad.library.nn import geometry
from mlirad.library.nn.windowing import overlap, windows


def _compile_windows(function: Callable[..., Any], op: type[WindowsOp | OverlapOp]) -> None:
    def made(x: Any, axes: Any, steps: Any, shape: Any) -> Traced:
        source = as_traced(x)
        source.static_shape(function.__name__)
        require_static((axes, steps, shape), "windows of an array")
        asked = types.tensor(shape, source.expr.element)
        return Traced(emit(op, source.contents, axes=axes, steps=steps, result_type=asked))

    compiles(function, is_row_major=True, is_made=True)(made)


_compile_windows(windows, WindowsOp)
_compile_windows(overlap, OverlapOp)


@compiles(*geometry.SIZES)
def sizes_of_windows(*numbers: Any) -> Any:
    """Functions of sizes alone: Python runs them when the sizes are known."""
    return require_static(numbers, "the sizes of images and windows")


@compiles(geometry.images_at_once)
def images_at_once(*_: Any) -> int:
    """One image at a time if only the run knows how many there are."""
    return 1
